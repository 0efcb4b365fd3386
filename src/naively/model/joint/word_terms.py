"""Terms of the words of texts: how much more frequent than by chance they are in the texts of a class.

By chance a class has its proportion of all words. A word counts for it by how much more frequent it is in the class,
and by how much rarer in all others; the second counts the more, the more classes differ in it. Single words and
sequences are weighted apart. The contributions of the words of a text are divided by the root of their number: a long
text is no surer for its length alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ... import _kernels
from ..._kernels import Scorer
from ..._threads import allowed
from ..._types import Codes, Floats, Longs, Mask, Matrix, Places, Singles
from ...data.column import Column
from ...data.schema import Schema
from ...families import Words
from ...families.words import ModelWords, kept_tokens
from ...stats import Axis, Counts, WordTable
from ..column_parts import INSIDE
from .left_out import HeldOutRows

# The terms of words: single words by their frequency in a class, and by their rarity in others; sequences.
WORD_TERMS = ("words", "words that others lack", "sequences", "sequences that others lack")


def word_family(column: Column) -> Words | None:
    """Return the family of a column of texts or of counts, if its words have these terms: no other form was set."""
    family = column.family
    if not isinstance(family, Words):
        return None
    return None if family.complement or family.bernoulli or family.idf else family


class WordAssociations:
    """The words of a column of texts, by the number of texts of each class that they are in.

    Rows of a matrix of counts are texts, too; what reads them is then another matrix than that of the column itself.
    """

    def __init__(self, name: str, family: Words, table: WordTable, rows: Floats, classes: Axis) -> None:
        self.name, self.classes, self.rows = name, classes, rows
        table = table.on(classes)
        self.matrix = document_key(name) if table.of_matrix else name
        numbers = np.flatnonzero(kept_tokens(family, table, float(rows.sum()))).astype(np.int32)
        self.words = ModelWords(table, numbers)
        self.group = table.lexicon.sequences(table.size)[numbers].astype(np.uint8)
        self.cells = table.cells.take(numbers)
        self.totals = self.cells.documents

    @cached_property
    def mass(self) -> Floats:
        """How many words the texts of each class hold, [group, class]."""
        of_cells = self.group[self.cells.words]
        sums = [np.bincount(self.cells.classes, self.cells.texts * (of_cells == g), len(self.classes)) for g in (0, 1)]
        return np.stack(sums).astype(np.float64)

    def texts_of(self, words: Codes | Places) -> Singles:
        """Return how many texts of each class hold some of the words, [word, class]."""
        cells = self.cells.take(words)
        out = np.zeros((len(words), len(self.classes)), dtype=np.float32)
        out[cells.words, cells.classes] = cells.texts
        return out

    @property
    def _counts(self) -> tuple[Longs, Codes, Floats, Floats, npt.NDArray[np.uint8], Floats]:
        """The counts as the kernels read them."""
        return self.cells.starts, self.cells.classes, self.cells.texts, self.totals, self.group, self.mass

    @property
    def terms(self) -> tuple[str, ...]:
        """The terms there are."""
        return WORD_TERMS if self.group.any() else WORD_TERMS[:2]

    def words_of(self, x: Matrix) -> tuple[Longs, Codes]:
        """Return where the words of each row begin, and the words that it holds."""
        starts, words, _ = x.cells(self.words.columns, "once")
        return starts, words

    def leave_one_out(self, x: Matrix, rows: HeldOutRows, pseudo: float) -> dict[str, Floats]:
        """Return each term for the words of rows, [class, row], so much of each row left out of the counts."""
        starts, words = self.words_of(x)
        out = np.empty((len(WORD_TERMS), len(self.classes), len(x)), dtype=np.float32)
        taken = np.ascontiguousarray(rows.weights, dtype=np.float64)
        proportions = None if rows.soft is None else rows.soft.of_all(rows.y)
        counts, threads = (*self._counts, pseudo), allowed(x.threads)
        _kernels.leave_one_out_words(starts, words, rows.y, taken, *counts, out, threads, proportions)
        return dict(zip(self.terms, out, strict=False))

    def scores(self, mix: Mapping[str, float], pseudo: float) -> WordScores:
        """Return the contribution of words under the weights of the terms."""
        by = np.array([mix.get(term, 0.0) for term in WORD_TERMS]).reshape(2, 2)
        table = np.zeros((len(self.words), len(self.classes)), dtype=np.float32)
        _kernels.word_weights(*self._counts, by, pseudo, table)
        return WordScores(self.classes, self.words, table, self.totals > 0)


def word_associations(schema: Schema, counts: Counts, classes: Axis) -> dict[str, WordAssociations]:
    """Return the words of each column of texts that has terms of words."""
    families = {column.name: word_family(column) for column in schema.of_kind("vectors")}
    return {
        name: WordAssociations(name, family, counts.columns[name], counts.rows, classes)
        for name, family in families.items()
        if family is not None and isinstance(counts.columns[name], WordTable)
    }


def document_key(name: str) -> str:
    """Return the key of the words of a matrix of counts among the matrices of rows."""
    return f"{INSIDE}words of {name}"


@dataclass(frozen=True)
class WordScores:
    """The contribution of each word, divided by the root of how many words a text has."""

    classes: Axis
    words: ModelWords
    word_scores: Singles  # [word, class]
    known: Mask

    @cached_property
    def _laid(self) -> tuple[Singles, Floats]:
        """The same by number: the contribution of each, and whether it counts as a word."""
        return self.words.by_number(self.word_scores), self.words.by_number(self.known.astype(np.float64))

    def add_to(self, scorer: Scorer, x: Matrix, missing: bool = True) -> None:
        """Have the contributions of the words added to the scores, as the texts are read."""
        scores, squares = x.measured(*self._laid, "once")
        scores /= np.sqrt(np.maximum(squares, 1.0))[:, None]
        scorer.given(scores)

    def by_word(self, x: Matrix) -> tuple[Codes, Floats]:
        """Return the numbers of the words of a single row, and the contribution of each, [word, class]."""
        _, words, _ = x.cells(self.words.columns, "once")
        length = np.sqrt(max(float(self.known[words].sum()), 1.0))
        return self.words.numbers[words], self.word_scores[words].astype(np.float64) / length
