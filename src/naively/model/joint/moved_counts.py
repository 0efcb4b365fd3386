"""Joint counts moved from one grid to another, without their rows.

All rows of a fine bin are taken to lie at its middle, and move to the bin of the new grid that this number lies in.
Of rows in a coarse bin, each class moves the proportion that its fine bins show, whatever the other columns say. So
each feature of the new grid is a sum of features of the old one, with proportions of its own for each class, and
products of features move along: P' = Mᵀ P M. What the counts of single columns show in addition is set exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import ndtr

from ..._types import Floats, Longs
from ...data.grid import Grid, LabelValues, NumberBins
from ...errors import DoesNotFit
from ...stats import Counts, Moments, Table
from ...stats.arithmetic import divide
from ...stats.pairs import JointCounts


def moved_counts(counts: Counts, grid: Grid) -> JointCounts:
    """Return the joint counts of the same rows on another grid, as near as counts alone can tell.

    Rows, the values of single columns, and the mean and variance of numbers are preserved. A column that was not
    counted jointly, or labels that were not distinguished, move by the counts of the single column: independent of the
    others within a class. Columns that the new grid does not have fall away. On the same grid nothing changes.

    Parameters
    ----------
    counts : Counts
        What was counted, of single columns and of columns jointly.
    grid : Grid
        The grid to move to.

    Returns
    -------
    JointCounts
        The joint counts on that grid.

    Raises
    ------
    DoesNotFit
        If a column of the grid was not counted, or as labels where the grid has numbers.
    """
    joint = joint_or_rows(counts)
    if joint.grid == grid:
        return joint
    move = GridMove(counts, joint, grid)
    for at in range(len(grid.numbers)):
        move.number(at)
    for at in range(len(grid.labels)):
        move.label(at)
    return move.moved()


def joint_or_rows(counts: Counts) -> JointCounts:
    """Return the joint counts; where only single columns were counted, those of no columns at all."""
    if counts.joint is not None:
        return counts.joint
    return JointCounts(counts.classes, Grid((), ()), np.zeros((len(counts.rows), 0)), counts.rows[:, None, None])


class MovedNumber(NamedTuple):
    """The fine bins that a number was counted in: the bin of the new grid, the old feature and the level of each."""

    to: Longs  # fine bins of the new grid
    of: Longs  # features of the old grid: the flag of the coarse bin, or 1
    n: Floats  # [class, fine bin of the old grid]
    level: Floats  # on the scale of the new grid


class GridMove:
    """The way from one grid to another: which new features are made of which old ones, by class."""

    def __init__(self, counts: Counts, joint: JointCounts, grid: Grid) -> None:
        self.counts, self.joint, self.old, self.new = counts, joint, joint.grid, grid
        self.rows = joint.products[:, 0, 0]
        self.fine = np.zeros((len(self.rows), grid.fine_bins))
        self.flags = np.zeros((len(self.rows), grid.features))  # the rows of each flag of the new grid
        self.flags[:, 0] = self.rows
        self.apart: dict[int, Floats] = {}  # squares of numbers, by column, that do not follow from old ones
        self._same: set[int] = set()  # columns whose features stay what they are
        self._old: list[Longs] = [np.zeros(1, np.int64)]
        self._new: list[Longs] = [np.zeros(1, np.int64)]
        self._shares: list[Floats] = [np.ones((len(self.rows), 1))]
        self._numbers = {bins.name: at for at, bins in enumerate(self.old.numbers)}
        self._labels = {values.name: at for at, values in enumerate(self.old.labels)}

    def _add(self, old: Longs, new: Longs, shares: Floats) -> None:
        """Have so much of old features be part of new ones, [class, feature]."""
        self._old.append(np.asarray(old, np.int64))
        self._new.append(np.broadcast_to(np.asarray(new, np.int64), np.shape(old)))
        self._shares.append(np.broadcast_to(shares, (len(self.rows), len(old))))

    # -- numbers --------------------------------------------------------------------------------------------------

    def number(self, at: int) -> None:
        """Move a column of numbers."""
        bins, before = self.new.numbers[at], self._numbers.get(self.new.numbers[at].name)
        if before is not None and self.old.numbers[before] == bins:
            self._keep_number(at, before)
            return
        moved = self._unknown(bins) if before is None else self._known(bins, before)
        begin, flags = int(self.new.fine_offsets[at]), self.new.flags(at)
        np.add.at(self.fine, (slice(None), begin + moved.to), moved.n)
        whole = np.zeros((len(self.rows), self.old.features))
        np.add.at(whole, (slice(None), moved.of), moved.n)
        whole[:, 0] = self.rows
        shares = divide(moved.n, whole[:, moved.of])
        if bins.size:
            own = flags.start + np.array(bins.coarse)[moved.to]
            self._add(moved.of, own, shares)
            np.add.at(self.flags, (slice(None), own), moved.n)
        if bins.scale:
            self._level(at, before, moved, shares)

    def _keep_number(self, at: int, before: int) -> None:
        """Leave a number as it is: it has the same bins on both grids."""
        flags, level = self.old.flags(before), self.old.features - len(self.old.numbers) + before
        old = np.array([*range(flags.start, flags.stop), level])
        here = self.new.flags(at)
        to = np.array([*range(here.start, here.stop), self.new.features - len(self.new.numbers) + at])
        self._add(old, to, np.ones((1, len(old))))
        fine, into = (grid.fine_offsets[place : place + 2] for grid, place in ((self.old, before), (self.new, at)))
        self.fine[:, slice(*into)] = self.joint.fine[:, slice(*fine)]
        self.flags[:, here] = self.joint.products[:, 0, flags]
        self._same.add(at)

    def _known(self, bins: NumberBins, before: int) -> MovedNumber:
        """Return where the fine bins of a number move to."""
        old, begin = self.old.numbers[before], int(self.old.fine_offsets[before])
        n = self.joint.fine[:, begin : begin + len(old.coarse)]
        middles = original_middles(old, n.sum(axis=0), self._moments(old.name))
        of = self.old.flags(before).start + np.array(old.coarse) if old.size else np.zeros(len(old.coarse), np.int64)
        return MovedNumber(np.searchsorted(bins.cuts, middles), of, n, level_of(bins, middles))

    def _unknown(self, bins: NumberBins) -> MovedNumber:
        """Return a number that was not counted jointly: as a normal distribution in each class fills the new bins."""
        moments = self._moments(bins.name)
        mean, spread = moments.mean, np.sqrt(moments.variance)
        cuts = np.array(bins.cuts)[None, :]
        with np.errstate(divide="ignore", invalid="ignore"):
            below = np.where(spread > 0, ndtr((cuts - mean) / spread), mean <= cuts)
        shares = np.diff(below, prepend=0.0, append=1.0, axis=1)
        size = len(bins.coarse)
        return MovedNumber(
            np.arange(size), np.zeros(size, np.int64), moments.n * shares, np.array(bins.middles, dtype=np.float64)
        )

    def _moments(self, name: str) -> Moments:
        found = self.counts.columns.get(name)
        if not isinstance(found, Moments):
            raise DoesNotFit(
                f"Column {name!r} was not counted as numbers; count the same columns to combine them.", column=name
            )
        return found.on(self.joint.classes)

    def _level(self, at: int, before: int | None, moved: MovedNumber, shares: Floats) -> None:
        """Move a number itself: to the new center and scale; from its bins where it had no scale."""
        bins, level = self.new.numbers[at], self.new.features - len(self.new.numbers) + at
        if before is None or not self.old.numbers[before].scale:
            self._add(moved.of, np.full(len(moved.of), level), shares * moved.level)
            self.apart[at] = moved.n @ moved.level**2
            return
        old, own = self.old.numbers[before], self.old.features - len(self.old.numbers) + before
        self._add(np.array([own]), np.array([level]), np.full((1, 1), bins.scale / old.scale))
        far = (old.center / 2 - bins.center / 2) * 2 * bins.scale
        flags = self.old.flags(before)
        if old.size:
            self._add(np.arange(flags.start, flags.stop), np.full(old.size, level), np.full((1, 1), far))
        else:
            there = divide(moved.n.sum(axis=1), self.rows)[:, None]
            self._add(np.zeros(1, np.int64), np.array([level]), far * there)

    # -- labels ---------------------------------------------------------------------------------------------------

    def label(self, at: int) -> None:
        """Move a column of labels: those distinguished before by name, others by their counts in each class."""
        values, place = self.new.labels[at], len(self.new.numbers) + at
        before = self._labels.get(values.name)
        known: dict[object, int] = {}
        if before is not None:
            start = self.old.flags(len(self.old.numbers) + before).start
            known = {label: start + code for code, label in enumerate(self.old.labels[before].labels)}
        here, n = self.new.flags(place).start, self._table(values)
        flags = np.array([*known.values()], dtype=np.int64)
        rest = self.rows - self.joint.products[:, 0, flags].sum(axis=1)
        for code, label in enumerate(values.labels):
            if label in known:
                self._add(np.array([known[label]]), np.array([here + code]), np.ones((1, 1)))
                self.flags[:, here + code] = self.joint.products[:, 0, known[label]]
                continue
            share = np.clip(divide(n[:, code], rest), 0.0, 1.0)[:, None]
            sides = np.concatenate([[1.0], np.full(len(flags), -1.0)])
            self._add(np.concatenate([[0], flags]), np.full(len(sides), here + code), share * sides)
            self.flags[:, here + code] = n[:, code]

    def _table(self, values: LabelValues) -> Floats:
        """Return how many rows of each class hold each label, [class, label]."""
        found = self.counts.columns.get(values.name)
        if not isinstance(found, Table):
            raise DoesNotFit(
                f"Column {values.name!r} was not counted as labels; count the same columns to combine them.",
                column=values.name,
            )
        at = found.values.places(values.labels)
        return np.where(at >= 0, found.on(self.joint.classes)[:, at], 0.0)

    # -- all of it ------------------------------------------------------------------------------------------------

    def moved(self) -> JointCounts:
        """Return the joint counts on the new grid."""
        old, new = np.concatenate(self._old), np.concatenate(self._new)
        shares = np.concatenate(self._shares, axis=1)
        shape = (self.new.features, self.old.features)
        products = np.empty((len(self.rows), shape[0], shape[0]))
        for k, (own, share) in enumerate(zip(self.joint.products, shares, strict=True)):
            there = share != 0
            matrix = sparse.csr_array((share[there], (new[there], old[there])), shape=shape)
            products[k] = matrix @ (matrix @ own).T
        last = self.new.features - len(self.new.numbers)
        np.maximum(products[:, :last, :last], 0.0, out=products[:, :last, :last])
        products[:, 0, :last] = products[:, :last, 0] = self.flags[:, :last]
        for at in range(len(self.new.names)):
            self._set_own(products, at)
        upper = np.triu(products)
        whole = upper + np.triu(products, 1).transpose(0, 2, 1)
        return JointCounts(self.joint.classes, self.new, self.fine, whole)

    def _set_own(self, products: Floats, at: int) -> None:
        """Set the products of a column with itself: a row has one value of it."""
        flags = self.new.flags(at)
        n = self.flags[:, flags]
        products[:, flags, flags] = n[:, :, None] * np.eye(flags.stop - flags.start)
        if at >= len(self.new.numbers) or at in self._same:
            return
        bins, level = self.new.numbers[at], self.new.features - len(self.new.numbers) + at
        if at in self.apart:
            products[:, level, level] = self.apart[at]
        if bins.size and bins.scale:
            begin, end = self.new.fine_offsets[at : at + 2]
            sums = np.add.reduceat(
                self.fine[:, begin:end] * bins.middles, np.flatnonzero(np.diff(bins.coarse, prepend=-1)), axis=1
            )
            # The middles of bins are known but for what lies within; the sum of all is known better.
            sums += divide(n, n.sum(axis=1, keepdims=True)) * (products[:, 0, level] - sums.sum(axis=1))[:, None]
            products[:, flags, level] = sums


def original_middles(bins: NumberBins, n: Floats, moments: Moments) -> Floats:
    """Return the middle of each fine bin as the number it was, given the rows of the bins and the moments of all.

    Without a scale nearly all numbers are the same, their mean; others lie between cuts.
    """
    if bins.scale:
        return np.asarray(np.array(bins.middles) / bins.scale + bins.center)
    mean = float(moments.overall().mean[0, 0])
    cuts = np.array(bins.cuts)
    if not len(cuts):
        return np.array([mean])
    found = np.concatenate([cuts[:1], cuts[:-1] / 2 + cuts[1:] / 2, np.nextafter(cuts[-1:], np.inf)])
    usual = int(np.argmax(n))
    if np.searchsorted(cuts, mean) == usual:
        found[usual] = mean
    return found


def level_of(bins: NumberBins, numbers: Floats) -> Floats:
    """Return numbers on the common scale of a column."""
    return np.asarray((np.clip(numbers, bins.low, bins.high) - bins.center) * bins.scale)
