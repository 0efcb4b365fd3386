"""Texts → numbers of tokens, by a compiled reader whose lexicon grows or stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from scipy import sparse

from .. import _kernels
from .._kernels import ClassWords, TokenRows
from .._threads import allowed
from .._types import AnyArray, Codes, ColumnLike, Floats, Hashes, Longs, Mask, Places
from ..errors import InvalidInput
from ..errors.message import RowNumber
from .column import arrow_buffers, arrow_of_strings, kernel_texts, kernel_texts_of_arrow, strings_of
from .tokens import Tokens

# What a name looks like: it has spaces; several characters; two characters of Chinese or Japanese.
SPACED, LONG, IDEOGRAPHS = 1, 2, 4


class Token(NamedTuple):
    """A token of a text that has a number: which, and the characters where it begins and ends."""

    number: int
    begin: int
    end: int


class TextReader:
    """Reads texts by one set of settings; every different token gets a number, in the order of their first occurrence.

    The numbers do not depend on the number of threads. With ``names``, the reader knows these tokens from the start,
    numbered in their order; if they are fixed, it never learns others. Words that are read without learning and are not
    known contribute nothing.
    """

    def __init__(
        self, tokens: Tokens, names: Sequence[str] = (), *, fixed: bool = False, threads: int | None = None
    ) -> None:
        self.tokens, self.fixed, self.threads = tokens, fixed, threads
        self._numbers: dict[str, int] = {}
        self._words = tokens.reader()
        self._shapes = np.zeros(0, dtype=np.uint8)
        if tokens.stop_words:
            self._words.stop(kernel_texts_of_names(tokens.stop_words))
        if len(names):
            self._words.name(kernel_texts_of_names(names), tokens.in_parts)

    def __len__(self) -> int:
        """Return how many tokens have a number; of a hash, how many columns there are."""
        return len(self._words)

    def read(
        self,
        X: ColumnLike,
        *,
        learn: bool = False,
        allow_missing: bool = False,
        rows: TokenRows | None = None,
        first: int = 0,
        threads: int | None = None,
    ) -> TokenRows:
        """Return the numbers of all rows as ``TokenRows``, behind those of other rows if there are some."""
        threads = self.threads if threads is None else threads
        rows, learn = _kernels.TokenRows() if rows is None else rows, learn and not self.fixed
        if self.tokens.tokenizer is not None:
            for starts, result in self._lists(X, allow_missing, first):
                self._words.read_lists(starts, result, rows, learn, allowed(threads, result.bytes))
            return rows
        for texts in self._texts(X, allow_missing, first):
            self._words.read(texts, rows, learn, allowed(threads, texts.bytes))
        return rows

    def count(
        self,
        X: ColumnLike | TokenRows,
        classes: Codes,
        n_classes: int,
        weights: Floats | None = None,
        *,
        times: str = "all",
        learn: bool = True,
        sums: ClassWords | None = None,
        first: int = 0,
        threads: int | None = None,
    ) -> ClassWords:
        """Add each row to the sums of its class and return these. A missing text contributes nothing."""
        sums, learn = _kernels.ClassWords() if sums is None else sums, learn and not self.fixed
        threads = allowed(self.threads if threads is None else threads)
        if self.tokens.tokenizer is not None and not isinstance(X, TokenRows):
            X = self.read(X, learn=learn, allow_missing=True, first=first, threads=threads)
        if isinstance(X, TokenRows):
            self._words.add(X, classes, weights, n_classes, times, sums, threads)
            return sums
        begin = 0
        for texts in self._texts(X, True, first):
            part = slice(begin, begin + len(texts))
            of_part = None if weights is None else weights[part]
            self._words.count(texts, classes[part], of_part, n_classes, times, learn, sums, threads)
            begin = part.stop
        return sums

    def score(
        self,
        X: ColumnLike,
        table: Floats,
        *,
        times: str = "all",
        lengths: Floats | None = None,
        first: int = 0,
        threads: int | None = None,
    ) -> tuple[Floats, Floats | None]:
        """Return Σ table[number, class] over the tokens of each row, [row, class]. A missing text contributes nothing.

        With ``lengths`` of the tokens, Σ times² · lengths[number] of each row comes beside it.
        """
        threads = self.threads if threads is None else threads
        if self.tokens.tokenizer is not None:
            return self._score_rows(X, table, times, lengths, first, threads)
        result, squared = [], []
        for texts in self._texts(X, True, first):
            result.append(np.zeros((len(texts), table.shape[1])))
            squares = None if lengths is None else np.zeros(len(texts))
            self._words.score(texts, times, table, result[-1], lengths, squares, allowed(threads, texts.bytes))
            squared.append(squares)
        if len(result) == 1:
            return result[0], squared[0]
        scores = np.concatenate([np.zeros((0, table.shape[1])), *result])
        return scores, None if lengths is None else np.concatenate([np.zeros(0), *squared])

    def _score_rows(
        self, X: ColumnLike, table: Floats, times: str, lengths: Floats | None, first: int, threads: int | None
    ) -> tuple[Floats, Floats | None]:
        rows = self.read(X, allow_missing=True, first=first, threads=threads)
        known = np.arange(len(self), dtype=np.int32)
        columns = np.where(known < len(table), known, -1).astype(np.int32)  # those beyond the table contribute nothing
        starts, at, values = rows.matrix(columns, times, allowed(threads))
        cells = sparse.csr_matrix((values.astype(np.float64), at, starts), (len(rows), len(table)))
        return np.asarray(cells @ table), None if lengths is None else np.asarray(cells.multiply(cells) @ lengths)

    def spans(self, text: str) -> list[Token]:
        """Return the tokens of one text that have a number, and where they lie in it."""
        if self.tokens.calls:
            raise InvalidInput("Where tokens lie is known only without preprocessor and tokenizer.")
        result = self._words.spans(_kernels.TextColumn.strings([text]))
        if not text.isascii():
            coded = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)
            before = np.concatenate([[0], np.cumsum((coded & 0xC0) != 0x80)]).tolist()  # characters that begin before
            result = [(number, before[begin], before[end]) for number, begin, end in result]
        return [Token(*span) for span in result]

    def names(self, numbers: Codes | None = None) -> list[str]:
        """Return the names of some tokens, or of all in the order of their numbers."""
        if self.tokens.hash_width:
            raise InvalidInput("Columns of a hash have no names; leave out hash_width to know which words occurred.")
        numbers = np.arange(len(self), dtype=np.int32) if numbers is None else np.ascontiguousarray(numbers, np.int32)
        ends, data = self._words.names(numbers)
        ends = ends.tolist()
        places = zip([0, *ends], ends, strict=False)  # each begins where the one before ends
        if data.isascii():
            text = data.decode()
            return [text[begin:end] for begin, end in places]
        return [data[begin:end].decode("utf-8", "surrogatepass") for begin, end in places]

    def sequences(self, size: int, *, spaced: bool = False) -> Mask:
        """Tell which of the first tokens are sequences: of words, of characters, or pairs of ideographs.

        Only sequences of words, if only those written with spaces are wanted.
        """
        if self.tokens.hash_width or not size:
            return np.zeros(size, dtype=bool)
        if len(self._shapes) < size:  # what names look like; those of tokens stay what they are
            self._shapes = np.concatenate([self._shapes, self._words.name_shapes(len(self._shapes), size)])
        shapes = self._shapes[:size]
        if self.tokens.unit != "words":
            return np.zeros(size, dtype=bool) if spaced else (shapes & LONG) != 0
        looked_at = SPACED if spaced or self.tokens.cjk != "pairs" else SPACED | IDEOGRAPHS
        return np.asarray((shapes & looked_at) != 0)

    def order(self) -> Codes:
        """Return all numbers in the order of their names, by code points."""
        return np.asarray(self._words.order())

    def numbers(self, names: Iterable[str]) -> Codes:
        """Return the number of each of these tokens, -1 for those that are not known."""
        if len(self._numbers) < len(self):  # names stay what they are, so only new ones are looked up
            new = np.arange(len(self._numbers), len(self), dtype=np.int32)
            self._numbers |= zip(self.names(new), new.tolist(), strict=True)
        return np.array([self._numbers.get(name, -1) for name in names], dtype=np.int32)

    def united(self, named: Sequence[pa.Array]) -> tuple[TextReader, list[Codes]]:
        """Return a reader that knows these tokens, too, and their numbers in it; those of its own tokens stay."""
        every = [self.names_as_bytes(np.arange(len(self), dtype=np.int32)), *named]
        ends, every = np.cumsum([len(part) for part in every]), pa.concat_arrays(every).dictionary_encode()
        result, names = np.split(every.indices.to_numpy(), ends[:-1])[1:], every.dictionary
        if len(names) == len(self):
            return self, result
        both = TextReader(self.tokens, fixed=self.fixed, threads=self.threads)
        both._words.name(_kernels.TextColumn.buffer(*arrow_buffers(names), 0, True), self.tokens.in_parts)
        return both, result

    def names_as_bytes(self, numbers: Codes) -> pa.Array:
        """Return the names of some tokens as an Arrow array of bytes."""
        ends, data = self._words.names(np.ascontiguousarray(numbers, np.int32))
        starts = np.concatenate([np.zeros(1, np.int64), ends]).astype(np.int64)
        return pa.Array.from_buffers(pa.large_binary(), len(ends), [None, pa.py_buffer(starts), pa.py_buffer(data)])

    def of(self, numbers: Codes) -> TextReader:
        """Return a reader that knows some of these tokens only, numbered in this order."""
        return TextReader(self.tokens, self.names(numbers), threads=self.threads)

    def __getstate__(self) -> dict[str, Any]:
        return {
            "tokens": self.tokens,
            "threads": self.threads,
            "fixed": self.fixed,
            "names": [] if self.tokens.hash_width else self.names(),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = TextReader(**state).__dict__

    def _texts(self, X: ColumnLike, allow_missing: bool, first: int = 0) -> Iterable[_kernels.TextColumn]:
        change = self.tokens.preprocessor
        if change is None:
            yield from kernel_texts(X, allow_missing=allow_missing, first=first)
            return
        for batch in strings_of(X, allow_missing=allow_missing, first=first):
            changed = [self._changed(change, text, first + index) for index, text in enumerate(batch)]
            array, surrogates = arrow_of_strings(changed, first)
            yield kernel_texts_of_arrow(array, first, surrogates)
            first += len(batch)

    def _lists(self, X: ColumnLike, allow_missing: bool, first: int = 0) -> Iterable[tuple[Longs, _kernels.TextColumn]]:
        """Yield the tokens that a function finds, and where those of each row begin."""
        tokens = self.tokens
        assert tokens.tokenizer is not None, "only texts with a tokenizer of their own come here"
        for batch in strings_of(X, allow_missing=allow_missing, first=first):
            starts, result = [0], list[str]()
            for row, text in enumerate(batch, first):
                text = text if tokens.preprocessor is None else self._changed(tokens.preprocessor, text, row)
                given = tokens.tokenizer(text.lower() if tokens.lowercase else text)
                good = isinstance(given, Iterable) and not isinstance(given, (str, bytes))
                given = list(given) if good else given
                if not good or not all(isinstance(token, str) for token in given):
                    raise InvalidInput(RowNumber(row), f": tokenizer gave {given!r}; it must give strings.")
                result += given
                starts.append(len(result))
            yield np.array(starts, dtype=np.int64), kernel_texts_of_names(result)
            first += len(batch)

    @staticmethod
    def _changed(change: Callable[[str], str], text: str, row: int) -> str:
        changed = change(text)
        if not isinstance(changed, str):
            raise InvalidInput(RowNumber(row), f": preprocessor gave {changed!r}; it must give a string.")
        return changed


def kernel_texts_of_names(texts: Sequence[str]) -> _kernels.TextColumn:
    """Return strings as the kernels read them."""
    texts = list(texts)
    if all(map(str.isascii, texts)):
        return _kernels.TextColumn.strings(texts)
    data = [text.encode("utf-8", "surrogatepass") for text in texts]  # Arrow would import pandas for that
    starts = np.cumsum([0, *map(len, data)], dtype=np.int64)
    return _kernels.TextColumn.buffer(starts, np.frombuffer(b"".join(data), np.uint8), None, 0, 0, True)


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
        rows, first, threads = self.texts if self._learned is None else self._learned, self.first, self.threads
        self.reader.count(rows, y, n_classes, weights, times=times, sums=sums, first=first, threads=threads)

    def scores(self, table: Floats, times: str) -> Floats:
        """Return Σ table[number, class] over the words of each row, [row, class]."""
        return self.reader.score(self.texts, table, times=times, first=self.first, threads=self.threads)[0]

    def measured(self, table: Floats, lengths: Floats, times: str) -> tuple[Floats, Floats | None]:
        """Return the same beside Σ times² · lengths[number] of each row."""
        first, threads = self.first, self.threads
        return self.reader.score(self.texts, table, times=times, lengths=lengths, first=first, threads=threads)

    def _read(self, learn: bool) -> TokenRows:
        return self.reader.read(self.texts, learn=learn, allow_missing=True, first=self.first, threads=self.threads)

    @cached_property
    def _tokens(self) -> TokenRows:
        return self._read(learn=False)

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


def text_hashes(texts: ColumnLike) -> Hashes:
    """Return a number for each text that looks random and follows from it.

    It has 64 bits of a cryptographic hash, so that no two texts that somebody has are taken for copies of each other.
    """
    result: list[bytes] = []
    texts = texts.tolist() if isinstance(texts, np.ndarray) else texts
    plain = isinstance(texts, list) and set(map(type, texts)) == {str}
    for batch in [texts] if plain else strings_of(texts, allow_missing=True):
        coded = (text.encode("utf-8", "surrogatepass") for text in batch)
        result += [blake2b(text, digest_size=8).digest() for text in coded]
    return np.frombuffer(b"".join(result), dtype="<u8").astype(np.uint64)
