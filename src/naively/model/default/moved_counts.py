"""Joint counts moved from one grid to another, without their rows.

All rows of a fine bin are taken to lie at its middle, and move to the bin of the new grid that this number lies in.
Of rows in a coarse bin, each class moves the proportion that its fine bins show, whatever the other columns say. So
each feature of the new grid is a sum of features of the old one, with proportions of its own for each class, and
products of features move along: P' = Mᵀ P M. What the counts of single columns show in addition is set exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import ndtr

from ..._linear_algebra import dot
from ..._types import Codes, Floats, Longs
from ...data.grid import Grid, LabelValues, NumberBins
from ...errors import IncompatibleCounts
from ...stats import Counts, Moments, Table
from ...stats.arithmetic import divide
from ...stats.pairs import JointCounts

# A bin is split for each class as its own rows are, and as those of all classes, which count as so many rows of it.
SPLIT_ROWS = 2.0


def moved_counts(counts: Counts, grid: Grid, rows: KnownRows | None = None) -> JointCounts:
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
    rows : KnownRows, optional
        Some of the rows, which tell how the numbers in a bin are spread.

    Returns
    -------
    JointCounts
        The joint counts on that grid.

    Raises
    ------
    IncompatibleCounts
        If a column of the grid was not counted, or as labels where the grid has numbers.
    """
    joint = joint_or_rows(counts)
    if joint.grid == grid:
        return joint
    move = GridMove(counts, joint, grid, rows)
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


class KnownRows(NamedTuple):
    """Some of the rows that were counted: their numbers by column, the places of their classes, their weights."""

    numbers: Mapping[str, Floats]
    y: Codes
    weights: Floats


class MovedNumber(NamedTuple):
    """The fine bins that a number was counted in: the bin of the new grid, the old feature and the level of each."""

    to: Longs  # fine bins of the new grid
    of: Longs  # features of the old grid: the flag of the coarse bin, or 1
    n: Floats  # [class, fine bin of the old grid]
    level: Floats  # on the scale of the new grid
    before: Floats  # the same on the scale of the old one


class GridMove:
    """The way from one grid to another: which new features are made of which old ones, by class."""

    def __init__(self, counts: Counts, joint: JointCounts, grid: Grid, rows: KnownRows | None) -> None:
        self.rows_known = rows
        self.counts, self.joint, self.old, self.new = counts, joint, joint.grid, grid
        self.rows = joint.products[:, 0, 0]
        self.fine = np.zeros((len(self.rows), grid.fine_bins))
        self.flags = np.zeros((len(self.rows), grid.features))  # the rows of each flag of the new grid
        self.flags[:, 0] = self.rows
        # By number, what varies within features of the old grid: flags with the level, and the square of the level.
        self.within: dict[int, tuple[Floats, Floats]] = {}
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
        self.fine[:, begin : begin + len(bins.coarse)] += grouped(moved.n, moved.to, len(bins.coarse))
        if bins.size:
            own = flags.start + np.array(bins.coarse)[moved.to]
            whole = grouped(moved.n, moved.of, self.old.features)[:, moved.of]
            self._add(moved.of, own, divide(moved.n, self._whole(moved.of, whole)))
            self.flags += grouped(moved.n, own, self.new.features)
        if bins.scale:
            self._level(at, before, moved)

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

    def _known(self, bins: NumberBins, before: int) -> MovedNumber:
        """Return where the fine bins of a number move to."""
        old, begin = self.old.numbers[before], int(self.old.fine_offsets[before])
        n = self.joint.fine[:, begin : begin + len(old.coarse)]
        middles = original_middles(old)
        of = self.old.flags(before).start + np.array(old.coarse) if old.size else np.zeros(len(old.coarse), np.int64)
        levels = level_of(bins, middles), level_of(old, middles)
        moved = MovedNumber(np.searchsorted(bins.cuts, middles), of, n, *levels)
        return moved if self.rows_known is None else split_bins(moved, old, bins, self.rows_known)

    def _unknown(self, bins: NumberBins) -> MovedNumber:
        """Return a number that was not counted jointly: as a normal distribution in each class fills the new bins."""
        moments = self._moments(bins.name)
        mean, spread = moments.mean, np.sqrt(moments.variance)
        cuts = np.array(bins.cuts)[None, :]
        with np.errstate(divide="ignore", invalid="ignore"):
            below = np.where(spread > 0, ndtr((cuts - mean) / spread), mean <= cuts)
        shares = np.diff(below, prepend=0.0, append=1.0, axis=1)
        size = len(bins.coarse)
        level = np.array(bins.middles, dtype=np.float64)
        return MovedNumber(np.arange(size), np.zeros(size, np.int64), moments.n * shares, level, level)

    def _moments(self, name: str) -> Moments:
        found = self.counts.columns.get(name)
        if not isinstance(found, Moments):
            raise IncompatibleCounts(
                f"Column {name!r} was not counted as numbers; count the same columns to combine them.", column=name
            )
        return found.on(self.joint.classes)

    def _level(self, at: int, before: int | None, moved: MovedNumber) -> None:
        """Move a number itself: within a coarse bin by the slope that its fine bins show, and by their means.

        The slope is the ratio of the scales, unless the two grids clip numbers differently.
        """
        bins, level = self.new.numbers[at], self.new.features - len(self.new.numbers) + at
        of, groups = np.unique(moved.of, return_inverse=True)
        n, x, slope = grouped(moved.n, groups, len(of)), moved.before, 0.0
        if before is not None and (scale := self.old.numbers[before].scale):
            slope = slope_within(x, moved.level, moved.n.sum(axis=0), groups, bins.scale / scale)
            own = self.old.features - len(self.old.numbers) + before
            self._add(np.array([own]), np.array([level]), np.full((1, 1), slope))
        whole = self._whole(of, n)
        means, earlier = (divide(grouped(moved.n * one, groups, len(of)), whole) for one in (moved.level, x))
        self._add(of, np.full(len(of), level), means - slope * earlier)
        self._set_within(at, moved, means[:, groups], slope * earlier[:, groups], slope)

    def _set_within(self, at: int, moved: MovedNumber, means: Floats, earlier: Floats, slope: float) -> None:
        """Note how flags and the level vary together within an old feature, given the means there, [class, bin].

        Only what moving by features leaves out is added, so that products stay those of some rows.
        """
        flags, bins = self.new.flags(at), self.new.numbers[at]
        coarse = np.array(bins.coarse)[moved.to] if bins.size else np.zeros(len(moved.to), np.int64)
        together = grouped(moved.n * (moved.level - means), coarse, flags.stop - flags.start or 1)
        missing = self.rows[:, None] - moved.n.sum(axis=1, keepdims=True)  # at level 0, if they are told from no other
        lost = np.where(moved.of[:1] == 0, missing, 0.0)[:, 0]
        spread = (moved.n * (moved.level - means) ** 2).sum(axis=1) + lost * means[:, 0] ** 2
        known = (moved.n * (slope * moved.before - earlier) ** 2).sum(axis=1) + lost * earlier[:, 0] ** 2
        self.within[at] = together[:, : flags.stop - flags.start], np.maximum(spread - known, 0.0)

    def _whole(self, of: Longs, n: Floats) -> Floats:
        """Return the rows of old features that a number is part of, given those with the number: all rows for 1."""
        return np.where(of == 0, self.rows[:, None], n)

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
            raise IncompatibleCounts(
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
        if at in self.within:
            level, (together, spread) = self.new.features - len(self.new.numbers) + at, self.within[at]
            products[:, flags, level] += together
            products[:, level, level] += spread


def original_middles(bins: NumberBins) -> Floats:
    """Return the middle of each fine bin as the number it was.

    Without a scale nearly all rows have the number that is the center; others lie between cuts.
    """
    if bins.scale or not bins.cuts:
        return np.asarray(np.array(bins.middles) / (bins.scale or 1.0) + bins.center)
    cuts = np.array(bins.cuts)
    found = np.concatenate([cuts[:1], cuts[:-1] / 2 + cuts[1:] / 2, np.nextafter(cuts[-1:], np.inf)])
    found[np.searchsorted(cuts, bins.center)] = bins.center
    return found


def level_of(bins: NumberBins, numbers: Floats) -> Floats:
    """Return numbers on the common scale of a column."""
    return np.asarray((np.clip(numbers, bins.low, bins.high) - bins.center) * bins.scale)


def split_bins(moved: MovedNumber, old: NumberBins, new: NumberBins, rows: KnownRows) -> MovedNumber:
    """Return fine bins that are split as some of their rows are: a class as its own rows, the fewer the more as all."""
    x = rows.numbers[old.name]
    there = ~np.isnan(x) & (rows.weights > 0)
    x, y, w = x[there], rows.y[there], rows.weights[there]
    before, size = np.searchsorted(old.cuts, x), len(new.coarse)
    pairs, which = np.unique(before * size + np.searchsorted(new.cuts, x), return_inverse=True)
    bin_of, to = pairs // size, pairs % size
    own = np.zeros((len(moved.n), len(pairs)))
    np.add.at(own, (y, which), w)
    cells = own.sum(axis=0)
    level, earlier = (np.bincount(which, w * level_of(bins, x), len(pairs)) / cells for bins in (new, old))
    in_bin = grouped(own, bin_of, len(old.coarse))[:, bin_of]
    shares = (own + SPLIT_ROWS * cells / in_bin.sum(axis=0)) / (in_bin + SPLIT_ROWS)
    unknown = np.setdiff1d(np.arange(len(old.coarse)), bin_of)  # bins without any of these rows move whole
    return MovedNumber(
        np.concatenate([to, moved.to[unknown]]),
        np.concatenate([moved.of[bin_of], moved.of[unknown]]),
        np.concatenate([moved.n[:, bin_of] * shares, moved.n[:, unknown]], axis=1),
        np.concatenate([level, moved.level[unknown]]),
        np.concatenate([earlier, moved.before[unknown]]),
    )


def grouped(n: Floats, groups: Longs, size: int) -> Floats:
    """Return sums over bins of each of so many groups, [class, group]."""
    out = np.zeros((len(n), size))
    np.add.at(out.T, groups, n.T)
    return out


def slope_within(x: Floats, y: Floats, n: Floats, groups: Longs, usual: float) -> float:
    """Return the slope of y on x by least squares within groups; the usual one where x does not vary there."""
    size, sides = int(groups.max(initial=0)) + 1, np.stack([np.ones(len(n)), x, y])
    whole, *sums = grouped(n * sides, groups, size)
    x, y = (side - divide(of_group, whole)[groups] for side, of_group in zip((x, y), sums, strict=True))
    square = dot(n, x**2)
    return dot(n, x * y) / square if square > 1e-9 * n.sum() else usual
