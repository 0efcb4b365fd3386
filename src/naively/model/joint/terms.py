"""Terms of the default model: their names, and what every kind of term provides."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from ..._types import Floats, Matrices, Singles
from ...families.family import ScoreTerm
from ..column_parts import INSIDE
from ..recipe import Recipe
from .left_out import HeldOutRows

if TYPE_CHECKING:
    from .cross_fit import CrossFit
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


class TermKind(ABC):
    """One kind of term: the scores of rows by counts, the tables that rows are scored by, and its start.

    A new kind is a class of its own in a file of its own, registered in `term_kinds`.
    """

    name: ClassVar[str]  # for `Recipe.left_out`
    # Whether terms are of single columns: of very many, only those of the largest gain have a weight of their own.
    single: ClassVar[bool] = False
    # What the terms are beside those of single columns and pairs, for the summary.
    beside: ClassVar[str] = ""
    # Whether contributions that are not in the tables come from several columns at once.
    joint: ClassVar[bool] = False

    @abstractmethod
    def holds(self, term: Term) -> bool:
        """Tell whether a term is of this kind."""

    @abstractmethod
    def title(self, term: Term) -> str:
        """Return what a term is, in words."""

    # -- fitting weights ----------------------------------------------------------------------------------------

    def values(self, cross: CrossFit) -> Iterator[tuple[Term, TermValues]]:
        """Give the terms of rows by counts without their fold, [class, row]."""
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

    def column_alone(self, term: Term, recipe: Recipe) -> bool:
        """Tell whether a term stands for its column where each column counts by itself."""
        return False

    # -- scoring ------------------------------------------------------------------------------------------------

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
