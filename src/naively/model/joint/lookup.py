"""A model of columns taken together: every piece of evidence times its weight, in tables that are looked up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._kernels import Scorer
from ..._types import Codes, Floats, Longs
from ...families.family import padded
from ...stats import Axis
from ...stats.accumulators import offsets_of
from .learned import Learned
from .levels import KINDS
from .linear import by_column
from .rare_classes import of_labels, rarity
from .terms import BELL, OF_NUMBERS, Counted, Piece, summed
from .values import of_pairs as said_of_pairs
from .values import of_values


@dataclass(frozen=True)
class Lookups:
    """What the code of each column says: a table [code, class] for each."""

    classes: Axis
    tables: tuple[Floats, ...]

    @cached_property
    def _laid(self) -> tuple[Longs, Floats]:
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
    offsets: Longs
    pairs: tuple[tuple[int, int], ...]
    tables: tuple[Floats, ...]

    @cached_property
    def _laid(self) -> tuple[Longs, Longs, Longs, Floats]:
        holes = [np.pad(table, ((0, 1), (0, 1), (0, 0))).reshape(-1, len(self.classes)) for table in self.tables]
        lines = offsets_of(np.array([len(part) for part in holes], dtype=np.int64))[:-1]
        first, second = (np.array(part, dtype=np.int64) for part in zip(*self.pairs, strict=True))
        return first, second, lines, padded(np.vstack(holes))

    def add_to(self, scorer: Scorer, x: Codes, holes: bool = True) -> None:
        """Have what the pairs say added to the scores."""
        if self.pairs:
            scorer.pairs(x, self.offsets, *self._laid)


@dataclass(frozen=True)
class Tables:
    """All tables of a model, and what is believed of each class before."""

    bias: Floats
    codes: Lookups  # numbers by fine bins, then labels
    level: Slopes
    pairs: PairTables
    linear: tuple[Floats, ...]  # of codes, the part that is joint evidence: for explanations, scores need but the sum


def tables_of(counted: Counted, places: Sequence[Codes], learned: Learned) -> Tables:
    """Return the tables of a model; places hold the code on the grid of each label of each column."""
    grid, classes, weight = counted.grid, counted.joint.classes, learned.weights.get
    slopes, there = joint_slopes(counted, learned)
    linear, said = linear_tables(counted, places, slopes, there), []
    few = rarity(counted.rare.rows)
    for at, table in enumerate(linear[: len(grid.numbers)]):
        if by := weight(Piece("value", BELL, (at,))):
            table = table + by * counted.bell(at).said().T
        if (by := weight(Piece("rare", BELL))) and grid.numbers[at].scale:
            table = table + by * few * counted.rare.lifted(counted.bell(at).said()).T
        for level in OF_NUMBERS:
            if by := weight(Piece("value", level, (at,))):
                to = counted.levels(at, level)
                table = table + by * of_values(summed(counted.fine(at), to, 1))[to]
        said.append(table)
    for at, n in enumerate(counted.tables, len(grid.numbers)):
        said.append(said_of_labels(counted, at, learned) + linear[at])
        if by := weight(Piece("rare", "labels")):
            said[-1] += by * few * of_labels(n).T
    levels = slopes[grid.features - len(grid.numbers) :]
    pairs = pair_tables(counted, learned)
    lookups, of_pairs = Lookups(classes, tuple(said)), PairTables(classes, grid.offsets, *pairs)
    return Tables(learned.bias, lookups, Slopes(classes, levels), of_pairs, tuple(linear))


def linear_tables(counted: Counted, places: Sequence[Codes], slopes: Floats, there: Floats) -> list[Floats]:
    """Return what the code of each column adds to the joint evidence, [code, class]; the level of numbers adds more."""
    grid, none = counted.grid, np.zeros((1, len(counted.joint.classes)))
    out = []
    for at, bins in enumerate(grid.numbers):
        coarse = np.array(bins.coarse if bins.size else [-1] * len(bins.coarse))
        out.append(np.vstack([slopes[grid.flags(at)], none])[coarse] + there[at])
    for at, place in enumerate(places, len(grid.numbers)):
        own = slopes[grid.flags(at)] if at < len(grid.names) else slopes[:0]
        own = own + there[at] if len(own) else own
        out.append(np.vstack([own, none])[place])  # -1 finds the last: not on the grid
    return out


def said_of_labels(counted: Counted, at: int, learned: Learned) -> Floats:
    """Return what each value of a column of labels says alone, [value, class], all kinds of evidence together."""
    place = at - len(counted.grid.numbers)
    n, levels, weight = counted.tables[place], counted.levels_of(place), learned.weights.get
    if levels is None:
        return weight(Piece("value", "labels", (at,)), 0.0) * of_values(n)
    return np.asarray(sum(weight(Piece("value", kind, (at,)), 0.0) * levels.said(kind) for kind in KINDS))


def pair_tables(counted: Counted, learned: Learned) -> tuple[tuple[tuple[int, int], ...], tuple[Floats, ...]]:
    """Return the pairs that have a weight, and what each two of their codes say."""
    found: dict[tuple[int, int], Floats] = {}
    for piece, weight in learned.weights.items():
        if piece.kind == "pair":
            i, j = piece.columns
            to = np.ix_(*(counted.pair_levels(at, piece.level) for at in (i, j)))
            table = weight * said_of_pairs(counted.pair(i, j, piece.level)).transpose(1, 2, 0)[to]
            found[i, j] = found[i, j] + table if (i, j) in found else table
    return tuple(found), tuple(found.values())


def joint_slopes(counted: Counted, learned: Learned) -> tuple[Floats, Floats]:
    """Return what each feature adds to each class, [feature, class], and what each column does if it is no hole."""
    joint = counted.joint
    total, there = (np.zeros((joint.grid.features, len(joint.classes))) for _ in range(2))
    for which, ridge in learned.ridges.items():
        weight = learned.weights.get(Piece("linear", which), 0.0)
        if weight:
            linear = counted.linear(which)
            slopes, constants = linear.coefficients(ridge)
            total[linear.features] += weight * slopes
            there[linear.features] += weight * constants
    # Only differences between classes matter; without what all share the numbers stay small.
    total, there = (part - part.mean(axis=1, keepdims=True) for part in (total, there))
    return total, by_column(joint.grid, there)
