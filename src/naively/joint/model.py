"""A model of columns taken together: every piece of evidence times its weight, in tables that are looked up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .._kernels import Scorer
from ..families.family import Codes, padded
from ..statistics import Axis
from ..statistics.accumulators import offsets_of
from ..statistics.axis import Floats
from ..statistics.joint import Joint
from .learn import Learned, features_of, fine_tables, middle_of, summed
from .linear import Linear
from .tables import of_pairs, of_values

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Lookups:
    """What the code of each column says: a table [code, class] for each."""

    classes: Axis
    tables: tuple[Floats, ...]

    @cached_property
    def _laid(self) -> tuple[Indices, Floats]:
        lines = [np.vstack([table, np.zeros((1, len(self.classes)))]) for table in self.tables]  # unknown: nothing
        return offsets_of(np.array([len(part) for part in lines], dtype=np.int64)), padded(np.vstack(lines))

    def add_to(self, scorer: Scorer, x: Codes, holes: bool = True) -> None:
        """Have what the codes say added to the scores."""
        if self.tables:
            scorer.codes(x, *self._laid)


@dataclass(frozen=True)
class Slopes:
    """What the level of each number adds, [column, class]."""

    classes: Axis
    table: Floats

    def add_to(self, scorer: Scorer, x: Floats, holes: bool = True) -> None:
        """Have level times slope added to the scores."""
        if len(self.table):
            scorer.dense(x, None, padded(self.table))


@dataclass(frozen=True)
class PairTables:
    """What pairs of codes say: a table [code, code, class] for each pair of columns."""

    classes: Axis
    offsets: Indices
    pairs: tuple[tuple[int, int], ...]
    tables: tuple[Floats, ...]

    @cached_property
    def _laid(self) -> tuple[Indices, Indices, Indices, Floats]:
        holes = [np.pad(table, ((0, 1), (0, 1), (0, 0))).reshape(-1, len(self.classes)) for table in self.tables]
        lines = offsets_of(np.array([len(part) for part in holes], dtype=np.int64))[:-1]
        first, second = (np.array(part, dtype=np.int64) for part in zip(*self.pairs, strict=True))
        return first, second, lines, padded(np.vstack(holes))

    def add_to(self, scorer: Scorer, x: Codes, holes: bool = True) -> None:
        """Have what the pairs say added to the scores."""
        if self.pairs:
            scorer.pairs(x, self.offsets, *self._laid)


@dataclass(frozen=True)
class Scores:
    """All tables of a model, and what is believed of each class before."""

    bias: Floats
    codes: Lookups  # numbers by fine bins, then labels
    level: Slopes
    pairs: PairTables


def scores(joint: Joint, tables: Sequence[Floats], places: Sequence[Codes], learned: Learned) -> Scores:
    """Return the tables of a model.

    Tables hold the counts of each column of labels, [class, label], and places the code of each label on the grid.
    """
    grid, classes = joint.grid, joint.classes
    slopes, bias = joint_slopes(joint, learned)
    said: list[Floats] = []
    for at, (n, bins) in enumerate(zip(fine_tables(joint), grid.numbers, strict=True)):
        to = middle_of(n)
        table = learned.middle[at] * of_values(summed(n, to))[to] + learned.fine[at] * of_values(n)
        flags = slopes[grid.flags(at)]
        said.append(table + flags[np.array(bins.coarse)] if len(flags) else table)
    for at, (n, place) in enumerate(zip(tables, places, strict=True), len(grid.numbers)):
        flags = np.vstack([slopes[grid.flags(at)], np.zeros((1, len(classes)))])  # -1 finds the last: not on the grid
        said.append(learned.middle[at] * of_values(n) + flags[place])
    pairs = tuple(learned.pairs)
    weighed = [learned.pairs[i, j] * of_pairs(joint.products[:, grid.flags(i), grid.flags(j)]) for i, j in pairs]
    level = slopes[grid.features - len(grid.numbers) :]
    return Scores(
        learned.bias + bias,
        Lookups(classes, tuple(said)),
        Slopes(classes, level),
        PairTables(classes, grid.offsets, pairs, tuple(weighed)),
    )


def joint_slopes(joint: Joint, learned: Learned) -> tuple[Floats, Floats]:
    """Return what each feature adds to each class, measured from its mean over all rows, and what is added to all."""
    total, bias = np.zeros((joint.grid.features, len(joint.classes))), np.zeros(len(joint.classes))
    for which, ridge, weight in learned.linear:
        linear = Linear(joint, features_of(joint.grid, which))
        slopes, constant = linear.coefficients(ridge)
        total[linear.features] += weight * slopes
        bias += weight * constant
    # Only differences between classes matter; without what all share the numbers stay small.
    total -= total.mean(axis=1, keepdims=True)
    return total, bias - bias.mean()
