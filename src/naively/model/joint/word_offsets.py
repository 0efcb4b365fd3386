"""Offsets of words: what each word of a text adds to the score of each class, beyond its contribution by counts.

The contribution of a word by counts takes words as independent. Where they are not, an offset corrects it: a logistic
regression on words that starts from the leave-one-out scores of the other terms (`word_offset_fitting`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ... import _kernels
from ..._threads import allowed
from ..._types import Codes, Floats, JsonObject, Longs, Matrix, Places, Singles
from ...families.words import ModelWords
from ...stats import Axis, WordTable
from ...text import TextReader
from .sample import RowClasses
from .word_terms import WordAssociations


@dataclass(frozen=True, eq=False)
class WordOffsets:
    """The offsets of words of one column of texts."""

    lexicon: TextReader
    numbers: Codes  # of the words in the lexicon, rising
    table: Singles  # [word, class]
    ridge: float
    variance: float  # by how much the row itself moves its own score, times its squared length: see `without_own`

    def of_words(self, words: ModelWords) -> Places:
        """Return where the words stand among those of a model, -1 for those that it does not have."""
        if self.lexicon is words.lexicon:
            beyond = self.numbers >= len(words.columns)
            return np.where(beyond, -1, words.columns[np.where(beyond, 0, self.numbers)]).astype(np.intp)
        return np.asarray(words.places(self.labels))

    def add_to(self, words: ModelWords, table: Singles) -> None:
        """Add the offsets to the contributions of all words of a model, [word, class]."""
        at = self.of_words(words)
        table[at[at >= 0]] += self.table[at >= 0]

    @property
    def labels(self) -> list[str] | list[int]:
        """The names of the words; of the columns of a hash, their numbers."""
        numbered = self.lexicon.tokens.hash_width is not None
        return self.numbers.tolist() if numbered else self.lexicon.names(self.numbers)

    def of_rest(self, table: WordTable) -> WordOffsets:
        """Return the offsets of those words that some text is left of, by the lexicon of what is left."""
        at = self._places_in(table)
        there = (at >= 0) & (at < table.size)
        there[there] = table.seen[at[there]]
        order = np.argsort(at[there])
        numbers, offsets = at[there][order].astype(np.int32), self.table[there][order]
        return WordOffsets(table.lexicon, numbers, offsets, self.ridge, self.variance)

    def _places_in(self, table: WordTable) -> Longs:
        if table.numbered or self.lexicon is table.lexicon:
            return self.numbers.astype(np.int64)
        return table.lexicon.numbers([str(label) for label in self.labels]).astype(np.int64)

    # -- as it is stored ------------------------------------------------------------------------------------------

    def named(self) -> tuple[Axis, Floats]:
        """Return the words and their offsets, [class, word], as a file holds them."""
        axis = Axis.declared(self.labels)
        out = np.empty((self.table.shape[1], len(axis)))
        out[:, axis.places(self.labels)] = self.table.T
        return axis, out

    def to_json(self) -> JsonObject:
        """Return the rest of it as plain data."""
        return {"ridge": self.ridge, "variance": self.variance}

    @classmethod
    def from_file(cls, data: JsonObject, lexicon: TextReader, values: Axis, table: Floats) -> WordOffsets:
        """Return what a file holds: plain data, and the offsets of words, [class, word]."""
        ridge, variance = float(data["ridge"]), float(data["variance"])
        hashed = lexicon.tokens.hash_width is not None
        numbers = (
            np.array(values.labels, dtype=np.int32)
            if hashed
            else lexicon.numbers([str(name) for name in values.labels])
        )
        known = (numbers >= 0) & (numbers < len(lexicon))
        if not (known.all() and len(np.unique(numbers)) == len(numbers) and 0 < ridge < np.inf and variance >= 0):
            raise KeyError("words")
        order = np.argsort(numbers)
        offsets = np.ascontiguousarray(table.T[order], dtype=np.float32)
        return cls(lexicon, numbers[order].astype(np.int32), offsets, ridge, variance)


def stored_word_offsets(offsets: Mapping[str, WordOffsets]) -> dict[str, tuple[Axis, Floats]]:
    """Return the offsets of each column as a file holds them."""
    return {name: found.named() for name, found in offsets.items()}


class WordsOfRows(NamedTuple):
    """The words of rows that have offsets, and the length of each row: a word counts 1 / √(number of words)."""

    starts: Longs
    words: Codes
    lengths: Singles

    @classmethod
    def of(cls, associations: WordAssociations, x: Matrix, left_out: Floats, places: Codes) -> WordsOfRows:
        """Return the words of rows that have a place, under it; words that no other row holds add no length."""
        starts, words = associations.words_of(x)
        taken = np.ascontiguousarray(left_out, dtype=np.float64)
        return cls(*_kernels.words_with_offsets(starts, words, associations.totals, taken, places))

    def take(self, rows: Codes) -> WordsOfRows:
        """Return some of the rows, in this order."""
        sizes = np.diff(self.starts)[rows]
        starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])
        at = np.repeat(self.starts[rows] - starts[:-1], sizes) + np.arange(starts[-1])
        return WordsOfRows(starts, self.words[at], self.lengths[rows])

    def squares(self, scales: Singles) -> Singles:
        """Return the sum of the scales of the words of each row, times its squared length."""
        out = np.empty(len(self.lengths), dtype=np.float32)
        _kernels.word_offset_squares(self.starts, self.words, self.lengths, scales, out)
        return out

    def scores(self, table: Singles, classes: int, threads: int | None) -> Singles:
        """Return the sum of offsets of each row, [row, class], given a table padded to a multiple of four classes."""
        out = np.empty((len(self.lengths), classes), dtype=np.float32)
        _kernels.score_word_offsets(self.starts, self.words, self.lengths, table, out, allowed(threads))
        return out


def padded_singles(lines: int, classes: int) -> Singles:
    """Return an empty table as the kernels read it: classes filled up with zeros to a multiple of four."""
    return np.zeros((lines, -(-classes // 4) * 4), dtype=np.float32)


def word_scales(texts: Singles, rows: Floats, least: float) -> Singles:
    """Return the variance of the offsets of words under a ridge of 1, given texts [word, class] and rows [class].

    It grows with how far classes differ in how often they hold the word: one that is everywhere alike has less to
    correct.
    """
    logs = np.log(texts + np.float32(1))
    logs -= np.log(rows + 2).astype(np.float32)
    logs -= logs.mean(axis=1, keepdims=True)
    return np.asarray(np.einsum("wk,wk->w", logs, logs) / np.float32(len(rows)) + np.float32(least**2))


class WordOffsetScores(NamedTuple):
    """What offsets add to the scores of rows, [row, class], and how far each row moved its own by itself."""

    scores: Singles
    variance: Singles  # [row]

    def without_own(self, scores: Floats, truth: RowClasses, weights: Floats) -> Floats:
        """Return scores [class, row] with these offsets, each as if its row had taken no part in fitting them.

        A row moved the offsets of its words towards its class until they moved its score by its residual, times the
        variance that offsets have without it (the cavity method: Opper and Winther, 2000). That is taken back.
        """
        moved = scores + self.scores.T
        p = np.exp(moved - moved.max(axis=0))
        p /= p.sum(axis=0)
        residual = -p
        truth.add_to(residual, np.ones(len(weights)))
        return np.asarray(moved - residual * (weights * self.variance))


def described_offsets(offsets: Mapping[str, WordOffsets]) -> list[str]:
    """Return how many words have offsets, in words; nothing if none has."""
    each = [f"{len(found.numbers):,} words of {name} (ridge {found.ridge:.3g})" for name, found in offsets.items()]
    return [f"offsets: of {', '.join(each)}"] if each else []
