"""What words say beside other evidence: how much more often than by chance they come with a class.

A class would have its share of all words by chance. A word speaks for it by how much more often the class has it, and
by how much more rarely all others do; the second counts the more, the more classes differ in it. Single words and
sequences are weighed apart. What the words of a text say is divided by the root of how many they are: a long text is
not surer for its length alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ... import _kernels
from ..._kernels import Scorer
from ..._threads import allowed
from ..._types import Codes, Floats
from ...data.column import Column
from ...data.schema import Schema
from ...families import Words
from ...families.family import padded
from ...families.texts import Kept, chosen
from ...stats import Axis, Counts, WordTable

# The ways in which words speak: single words by how often their class has them, and by how rarely others do; sequences.
WAYS = ("words", "words that others lack", "sequences", "sequences that others lack")
# Texts that are imagined with every word: usually, and those numbers of them that are tried on rows left out.
USUAL, TRIED = 1.0, (0.1, 0.3, 1.0, 3.0)


def speaks(column: Column) -> bool:
    """Tell whether the words of a column speak in these ways, and in no other that was asked for."""
    family = column.family
    plain = isinstance(family, Words) and not (family.complement or family.bernoulli or family.idf)
    return plain and column.type == "text"


class Wording:
    """The words of a column of texts, by the number of texts of each class that they were met in."""

    def __init__(self, column: Column, table: WordTable, rows: Floats, classes: Axis) -> None:
        self.name, self.classes = column.name, classes
        table = table.on(classes)
        numbers = np.flatnonzero(chosen(column.family, table, float(rows.sum()))).astype(np.int32)  # type: ignore[arg-type]
        self.kept = Kept(table, numbers)
        self.group = table.lexicon.sequences(table.size)[numbers].astype(np.uint8)
        self.texts = padded(self.kept.of(table.texts).T)
        self.totals = np.ascontiguousarray(self.texts.sum(axis=1))

    @cached_property
    def mass(self) -> Floats:
        """How many words the texts of each class hold, [group, class]."""
        return np.stack([self.texts[self.group == g, : len(self.classes)].sum(axis=0) for g in (0, 1)])

    @property
    def ways(self) -> tuple[str, ...]:
        """The ways in which there is something to say."""
        return WAYS if self.group.any() else WAYS[:2]

    def flags(self, x: Any) -> Any:
        """Return which words the rows hold, divided by the root of how many they are, as a sparse matrix."""
        starts, words, _ = x.cells(self.kept.columns, "once")
        known = np.diff(starts).astype(np.float64)
        values = np.repeat(1 / np.sqrt(np.maximum(known, 1.0)), np.diff(starts))
        return sparse.csr_array((values, words, starts), shape=(len(x), len(self.kept)))

    def left(self, x: Any, y: Codes, weights: Floats, imagined: float = USUAL) -> dict[str, Floats]:
        """Return what the words of rows say in each way, [class, row], so much of each row left out of the counts."""
        starts, words, _ = x.cells(self.kept.columns, "once")
        out = np.empty((len(WAYS), len(self.classes), len(x)), dtype=np.float32)
        taken = np.ascontiguousarray(weights, dtype=np.float64)
        told = (self.texts, self.totals, self.group, self.mass, imagined)
        _kernels.leave_one_out_words(starts, words, y, taken, *told, out, allowed(x.threads))
        return dict(zip(self.ways, out, strict=False))

    def weighed(self, mix: Mapping[str, float], imagined: float = USUAL, moved: Floats | None = None) -> Worded:
        """Return what words say if each way counts as much as is said, and each word was moved by so much."""
        by = np.array([mix.get(way, 0.0) for way in WAYS]).reshape(2, 2)
        table = np.zeros((len(self.kept), len(self.classes)))
        _kernels.word_weights(self.texts, self.totals, self.group, self.mass, by, imagined, table)
        table = table if moved is None else table + moved
        return Worded(self.classes, self.kept, table, self.totals > 0)


def wordings(schema: Schema, counts: Counts, classes: Axis) -> dict[str, Wording]:
    """Return what is counted of the words of each column of texts."""
    of = (column for column in schema.of_kind("vectors") if speaks(column))
    return {column.name: Wording(column, counts.columns[column.name], counts.rows, classes) for column in of}


@dataclass(frozen=True)
class Worded:
    """What each word says, times one over the root of how many words a text has."""

    classes: Axis
    words: Kept
    table: Floats  # [column, class]
    known: npt.NDArray[np.bool_]

    @cached_property
    def _laid(self) -> tuple[Floats, Floats]:
        """The same by number: what each says, and whether it is counted as a word."""
        return self.words.by_number(self.table), self.words.by_number(self.known.astype(np.float64))

    def add_to(self, scorer: Scorer, x: Any, holes: bool = True) -> None:
        """Have what the words say added to the scores, as the texts are read."""
        scores, squares = x.measured(*self._laid, "once")
        scores /= np.sqrt(np.maximum(squares, 1.0))[:, None]
        scorer.given(scores)

    def by_word(self, x: Any) -> tuple[Codes, Floats]:
        """Return the numbers of the words of a single row, and what each says about each class, [word, class]."""
        _, words, _ = x.cells(self.words.columns, "once")
        length = np.sqrt(max(float(self.known[words].sum()), 1.0))
        return self.words.numbers[words], self.table[words] / length
