"""Terms of the joint model: their names, and what every kind of term provides."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from ..._types import Codes, Floats, Mask, Matrices, Singles
from ...counting.weights import left_out_weights
from ...data.grid import Cells
from ...families.family import ScoreTerm
from ..column_parts import INSIDE
from .associations import HeldOutRows
from .soft_rows import SoftRows
from .term_counts import TermCounts
from .term_gains import TermGains
from .word_offsets import WordOffsetScores

if TYPE_CHECKING:
    from .influence import WeightedValues
    from .model import JointModel
    from .tables import TableBuilder


class Term(NamedTuple):
    """The name of a term: its kind, at which resolution it is read, and its columns by place on the grid."""

    kind: str
    level: str | int | None
    columns: tuple[int, ...] = ()

    @property
    def block(self) -> Term:
        """The block of terms that share a weight at first."""
        return Term(self.kind, self.level)


CELLS = INSIDE + "cells"  # the matrix of rows as they lie on the grid

TermValues = Singles | Floats  # the values of a term for some rows, [class, row]
Terms = dict[Term, Singles]


@dataclass(frozen=True)
class JointSample:
    """Rows that were counted, as they are scored."""

    labels: Codes  # [row, column of labels]: places among all labels of the column, -1 if missing
    cells: Cells
    y: Codes
    weights: Floats
    wide: Mapping[Term, Floats]  # terms of vectors and texts, each row left out, [class, row]
    pseudo_texts: Mapping[str, float]  # by column of texts, how many pseudo-texts hold each word
    copies: bool = True  # whether a weight of 2 stands for two rows, of which one is left out at a time
    soft: SoftRows | None = None  # the rows of several classes, if there are some
    word_offsets: tuple[WordOffsetScores, ...] = ()  # what offsets of words add, by column of texts

    def shown(self, mask: Mask) -> JointSample:
        """Return the same rows with some cells missing, given which are there, [row, column of the grid]."""
        cells, numbers = self.cells, self.cells.fine.shape[1]
        fine = np.where(mask[:, :numbers], cells.fine, np.int32(-1))
        codes, level = np.where(mask, cells.codes, np.int32(-1)), np.where(mask[:, :numbers], cells.level, 0.0)
        labels, kept = self.labels.copy(), mask[:, numbers:]
        labels[:, : kept.shape[1]][~kept] = -1
        return replace(self, labels=labels, cells=Cells(fine, np.asfortranarray(codes), level))

    def without(self, terms: Collection[Term]) -> JointSample:
        """Return the same rows without some terms of vectors and texts."""
        return replace(self, wide={term: values for term, values in self.wide.items() if term not in terms})

    @property
    def out(self) -> Floats:
        """How much of each row is left out."""
        return left_out_weights(self.weights, self.copies)


@dataclass(frozen=True)
class LeaveOneOut:
    """A sample of rows, each left out of the counts: what the values of terms are computed from."""

    counts: TermCounts
    sample: JointSample
    ridges: dict[str, float] = field(default_factory=dict)  # what terms choose on these rows, or chose before
    cache: dict[Term, Singles] = field(default_factory=dict)  # values that several kinds of terms need

    @property
    def rows(self) -> HeldOutRows:
        """The rows as they are left out."""
        return HeldOutRows(self.sample.y, self.sample.out, self.sample.soft)


class TermKind(ABC):
    """One kind of term: its leave-one-out values, its place in the scores, and how its weight is fitted.

    A new kind is a class of its own in a file of its own, registered in `term_kinds`.
    """

    name: ClassVar[str]  # for `Recipe.left_out`
    # Whether terms are of single columns: of very many, only those of the largest gain have a weight of their own.
    single: ClassVar[bool] = False
    # Whether there are too many terms to hold at once: those of clear gain get a weight of their own, all share
    # another.
    selected: ClassVar[bool] = False
    # Whether there must be a clear gain on rows where columns were screened.
    screened: ClassVar[bool] = False
    # What the terms are beside those of single columns and pairs, for the summary.
    beside: ClassVar[str] = ""
    # Whether contributions that are not in the tables come from several columns at once.
    joint: ClassVar[bool] = False
    # The order in which kinds are added up, to leave-one-out scores and to tables: bits of a sum depend on its order.
    sum_rank: ClassVar[int] = 9
    table_rank: ClassVar[int] = 9

    @abstractmethod
    def holds(self, term: Term) -> bool:
        """Tell whether a term is of this kind."""

    @abstractmethod
    def title(self, term: Term) -> str:
        """Return what a term is, in words."""

    # -- fitting weights ----------------------------------------------------------------------------------------

    def fit(self, held: LeaveOneOut) -> Iterator[tuple[Term, TermValues]]:
        """Give the leave-one-out terms of rows; what is chosen on these rows is put into `held.ridges`."""
        yield from ()

    def start_group(self, block: Term) -> str | None:
        """Return the group of blocks that describe the same columns and start with a weight of 1 together."""
        return None

    def start(self, block: Term) -> float:
        """Return the weight of a block before any row is seen, if it is in no group."""
        return 0.0

    def pull(self, block: Term, start: float) -> float:
        """Return the value that the ridge pulls the weight of a block towards."""
        return start

    def scaled(self, term: Term, values: TermValues) -> tuple[Singles, float]:
        """Return values as weights are fitted to them, and what they were divided by."""
        return np.asarray(values, dtype=np.float32), 1.0

    def column_alone(self, term: Term, held: LeaveOneOut) -> bool:
        """Tell whether a term stands for its column where each column counts by itself."""
        return False

    # -- selected kinds -----------------------------------------------------------------------------------------

    def levels(self, counts: TermCounts) -> Sequence[int]:
        """Return the resolutions at which terms are selected."""
        return ()

    def at_level(self, held: LeaveOneOut, level: int) -> Iterator[tuple[Term, Singles]]:
        """Give the terms of a resolution, each row left out."""
        yield from ()

    def gaining(
        self, held: LeaveOneOut, level: int, gains: TermGains, least: float
    ) -> tuple[Singles, list[tuple[float, Term, Singles]]]:
        """Return the sum of the terms of a resolution, and those that gain more than the least, with their gain."""
        total: Singles = np.zeros((len(held.counts.joint.classes), len(held.sample.y)), dtype=np.float32)
        found = []
        for term, values in self.at_level(held, level):
            total += values
            if (gain := gains.of(values)) > least:
                found.append((gain, term, values))
        return total, found

    def all_at_level(self, counts: TermCounts, level: int) -> list[Term]:
        """Return all terms of a resolution."""
        return []

    def divisor(self, counts: TermCounts) -> int:
        """Return what terms are divided by where all share a weight."""
        return 1

    # -- scoring ------------------------------------------------------------------------------------------------

    def leave_one_out(self, held: LeaveOneOut, weights: Mapping[Term, float]) -> Iterator[tuple[Term, TermValues]]:
        """Give the leave-one-out terms of rows, as fitted before; those without a weight may be left out."""
        yield from self.fit(held)

    def add_left_out(
        self, held: LeaveOneOut, weights: Mapping[Term, float], total: Floats, gathered: WeightedValues | None
    ) -> None:
        """Add the weighted leave-one-out terms of rows to scores [class, row], and each to what its weight counts."""
        shared = 1 / self.divisor(held.counts)
        for term, values in self.leave_one_out(held, weights):
            total += weights.get(term, 0.0) * values
            if gathered is not None:
                gathered.add(term, values, shared)

    def add_tables(self, tables: TableBuilder) -> None:
        """Add the weighted terms to the tables that rows are scored by."""
        return  # a kind may have terms of the score instead

    def cell_terms(self, model: JointModel, columns: Matrices, out: HeldOutRows) -> Iterator[tuple[Term, Floats]]:
        """Give terms that are computed from cells rather than from the grid, each row left out, [class, row]."""
        yield from ()

    def score_terms(self, model: JointModel, weights: Mapping[Term, float]) -> dict[str, ScoreTerm]:
        """Return the terms of the score that are not in the tables, by the matrix that each reads."""
        return {}

    def contributions(self, model: JointModel, columns: Matrices, threads: int) -> Iterator[tuple[str, Floats]]:
        """Give the contributions that are not in the tables, [row, class], by column."""
        yield from ()

    # -- the summary --------------------------------------------------------------------------------------------

    def columns_of(self, term: Term, owners: Sequence[str]) -> set[str]:
        """Return the columns that a term is of, if it is of single columns; owners are columns by place."""
        return {owners[term.columns[0]]} if self.single else set()
