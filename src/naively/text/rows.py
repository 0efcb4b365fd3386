"""Rows of a column of text, which are read when it is known what for: sums, scores or a matrix."""

from __future__ import annotations

from functools import cached_property
from hashlib import blake2b

import numpy as np
from scipy import sparse

from .._kernels import ClassWords, TokenRows
from .._threads import allowed
from .._types import AnyArray, Codes, ColumnLike, Floats, Hashes, Longs, Places
from .column import kernel_texts, strings_of
from .reader import TextReader


class TextRows:
    """Texts with the reader that tokenizes them; a missing text contributes nothing.

    To models they are what a sparse matrix is, but that is made only where its cells are looked at one by one.
    """

    def __init__(
        self, reader: TextReader, texts: ColumnLike, first: int = 0, threads: int | None = None, source: object = None
    ) -> None:
        self.reader, self.texts, self.first, self.threads = reader, texts, first, threads
        self.source = source  # the column that they are of: it lives as long as they do
        self._learned: TokenRows | None = None
        self._cells: tuple[Codes, str, tuple[Longs, Codes, Floats]] | None = None  # those asked for last

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows there are, and how many words are known."""
        return len(self.texts), len(self.reader)

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, rows: slice | AnyArray) -> TextRows:
        """Return some of the rows."""
        at = rows if isinstance(rows, slice) else np.arange(len(self))[rows]
        part = TextRows(self.reader, take_texts(self.texts, at), threads=self.threads)
        if self._cells is not None and isinstance(rows, slice) and rows.step is None:
            columns, times, (starts, words, values) = self._cells
            begins = starts[rows.start or 0 : len(self) + 1 if rows.stop is None else rows.stop + 1]
            inside = slice(int(begins[0]), int(begins[-1]))
            part._cells = columns, times, (begins - begins[0], words[inside], values[inside])
        return part

    def check(self) -> None:
        """Refuse what is no text, before anything is counted."""
        if self.reader.tokens.calls:
            self.learn()  # a function may fail at any row
        else:
            for texts in kernel_texts(self.texts, allow_missing=True, first=self.first):
                texts.check(allowed(self.threads))

    def learn(self) -> None:
        """Read the texts once for all, and learn their words: for those who count them several times."""
        if self._learned is None:
            self._learned = self._read(learn=True)

    def count(self, y: Codes, n_classes: int, weights: Floats | None, times: str, sums: ClassWords) -> None:
        """Add the rows to sums of classes; new words are learned."""
        if self.reader.tokens.calls:
            self.learn()
        if self._learned is not None:
            self.reader.add(self._learned, y, n_classes, weights, times=times, sums=sums, threads=self.threads)
            return
        first, threads = self.first, self.threads
        self.reader.count(self.texts, y, n_classes, weights, times=times, sums=sums, first=first, threads=threads)

    def scores(self, table: Floats, times: str) -> Floats:
        """Return Σ table[number, class] over the words of each row, [row, class]."""
        return self.reader.score(self.texts, table, times=times, first=self.first, threads=self.threads)[0]

    def measured(self, table: Floats, lengths: Floats, times: str) -> tuple[Floats, Floats | None]:
        """Return the same beside Σ times² · lengths[number] of each row."""
        first, threads = self.first, self.threads
        return self.reader.score(self.texts, table, times=times, lengths=lengths, first=first, threads=threads)

    @cached_property
    def _tokens(self) -> TokenRows:
        return self._read(learn=False)

    def _read(self, learn: bool) -> TokenRows:
        return self.reader.read(self.texts, learn=learn, allow_missing=True, first=self.first, threads=self.threads)

    def cells(self, columns: Codes, times: str) -> tuple[Longs, Codes, Floats]:
        """Return starts of rows, columns and values; number i becomes columns[i], or nothing if that is negative."""
        if self._cells is not None and self._cells[0] is columns and self._cells[1] == times:
            return self._cells[2]
        beyond = np.full(len(self.reader) - len(columns), -1, dtype=np.int32)  # words that were learned since
        known = np.concatenate([columns, beyond]) if len(beyond) else columns
        self._cells = columns, times, self._tokens.matrix(np.ascontiguousarray(known), times, allowed(self.threads))
        return self._cells[2]

    def matrix(self, columns: Codes, width: int, times: str) -> sparse.csr_array:
        """Return the same as a sparse matrix."""
        starts, at, values = self.cells(columns, times)
        return sparse.csr_array((values, at, starts), shape=(len(self), width))

    def hashes(self) -> Hashes:
        """Return a number for each row that follows from its text."""
        return text_hashes(self.texts)


def take_texts(texts: ColumnLike, at: slice | Places) -> ColumnLike:
    """Return some texts of a list or an array."""
    if isinstance(texts, list):
        return texts[at] if isinstance(at, slice) else [texts[i] for i in at.tolist()]
    return texts.take(at) if hasattr(texts, "take") and not isinstance(at, slice) else texts[at]


def plain_strings(texts: ColumnLike) -> bool:
    """Tell whether texts are a list of strings, and none is missing."""
    return isinstance(texts, list) and set(map(type, texts)) == {str}


def text_hashes(texts: ColumnLike) -> Hashes:
    """Return a number for each text that looks random and follows from it.

    It has 64 bits of a cryptographic hash, so that no two texts that somebody has are taken for copies of each other.
    """
    found: list[bytes] = []
    texts = texts.tolist() if isinstance(texts, np.ndarray) else texts
    for batch in [texts] if plain_strings(texts) else strings_of(texts, allow_missing=True):
        coded = (text.encode("utf-8", "surrogatepass") for text in batch)
        found += [blake2b(text, digest_size=8).digest() for text in coded]
    return np.frombuffer(b"".join(found), dtype="<u8").astype(np.uint64)
