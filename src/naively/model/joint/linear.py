"""Joint evidence: a linear score of all features at once, which does not count twice what two columns both say.

With one scatter within the classes for all of them, the log-density of a normal distribution is linear in the features
up to what all classes share: so it splits into columns. A ridge on the scatter, chosen on rows left out, keeps what few
rows show from being trusted. What is added to all rows splits into columns, too, so that a hole says nothing at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..._types import Floats
from ...data.grid import Grid
from ...stats.pairs import JointCounts
from .values import Taken

RIDGES = (1.0, 10.0, 100.0)
# Rows on which the ridge is chosen, and how strongly the evidence may be believed there.
ROWS, BELIEF = 5000, np.geomspace(0.05, 1.5, 8)


@dataclass(frozen=True)
class Centring:
    """Flags of a column measured from their shares among the rows that have one: a hole then says nothing at all."""

    columns: tuple[tuple[slice, Floats], ...]  # the flags of each column, and their shares

    def of(self, x: Floats) -> Floats:
        """Return features [..., feature] with the flags of each column measured so."""
        out = np.array(x, dtype=np.float64)
        for flags, shares in self.columns:
            out[..., flags] -= out[..., flags].sum(axis=-1, keepdims=True) * shares
        return out

    def back(self, slopes: Floats) -> Floats:
        """Return the slopes [feature, ...] of the features as they are, given those of the measured ones."""
        out = np.array(slopes)
        for flags, shares in self.columns:
            out[flags] -= np.tensordot(shares, out[flags], 1)
        return out


class Turned(NamedTuple):
    """Rows along the axes of the scatter, and which of their columns are holes, [row, column]."""

    rows: Floats
    holes: Floats

    def some(self, rows: npt.NDArray[np.intp]) -> Turned:
        """Return some of the rows."""
        return Turned(self.rows[rows], self.holes[rows])


def by_column(grid: Grid, constants: Floats) -> Floats:
    """Return the sum of what is said of the features of each column, [column, class]."""
    out = np.array([constants[grid.flags(at)].sum(axis=0) for at in range(len(grid.names))]).reshape(
        -1, constants.shape[1]
    )
    out[: len(grid.numbers)] += constants[grid.features - len(grid.numbers) :]
    return out


@dataclass(frozen=True)
class Linear:
    """Linear scores of some of the features."""

    joint: JointCounts
    features: npt.NDArray[np.intp]

    @cached_property
    def rows(self) -> Floats:
        """How many rows each class has."""
        return np.asarray(self.joint.products[:, 0, 0])

    @cached_property
    def centring(self) -> Centring:
        """How flags are measured."""
        grid, first, columns = self.joint.grid, int(self.features[0]), []
        met = self.joint.products[:, 0].sum(axis=0)
        for at in range(len(grid.names)):
            flags = grid.flags(at)
            if flags.start >= first and flags.stop > flags.start:
                shares = met[flags] / max(met[flags].sum(), 1e-300)
                columns.append((slice(flags.start - first, flags.stop - first), shares))
        return Centring(tuple(columns))

    @cached_property
    def means(self) -> Floats:
        """The mean of each feature, [class, feature]; a class of less than two rows has that of all rows."""
        sums = self.centring.of(self.joint.products[:, 0][:, self.features])
        overall = sums.sum(axis=0) / max(self.rows.sum(), 1e-300)
        enough = (self.rows >= 2)[:, None]
        return np.where(enough, sums / np.where(enough, self.rows[:, None], 1.0), overall)

    @cached_property
    def _axes(self) -> tuple[Floats, Floats]:
        """The scatter within classes, by its own axes: how wide each is, and which features it is made of."""
        inner, enough = np.ix_(self.features, self.features), self.rows >= 2
        products = self.centring.of(self.joint.products[enough].sum(axis=0)[inner])
        means, rows = self.means[enough], self.rows[enough]
        scatter = self.centring.of(products.T) - (means * rows[:, None]).T @ means
        width, axes = np.linalg.eigh(scatter)
        return np.maximum(width, 0.0), axes

    def turned(self, x: Floats, holes: Floats) -> Turned:
        """Return rows of features along the axes of the scatter; the axes are centred, which is as good."""
        return Turned(x @ self.centring.back(self._axes[1]).astype(x.dtype), holes)

    def left(self, rows: Turned, taken: Taken, ridge: float) -> Floats:
        """Return the score of each class and row as if the row had not been counted, up to what all classes share."""
        turned, holes = rows
        narrow, means, y = 1 / (self._axes[0] + ridge), self.means @ self._axes[1], taken.y
        own, enough = self.rows[y], self.rows[y] >= 2
        more = np.where(enough, own / np.maximum(own - taken.weights, 1e-9), 1.0)  # how much further the own mean lies
        lost = np.where(enough, taken.weights * more, 0.0)  # of the scatter, in the direction of the row
        # Products under the narrowed scatter: of rows with themselves, with means, and of means with each other.
        squares, crossed, between = (turned * turned) @ narrow, (means * narrow) @ turned.T, (means * narrow) @ means.T
        mine = crossed.reshape(-1)[taken.own]
        far = squares - 2 * crossed + np.diag(between)[:, None]
        along = squares - crossed - mine + between[:, y]
        rest = np.maximum(1 - lost * far.reshape(-1)[taken.own], 1e-3)
        far += (lost / rest) * along**2
        far.reshape(-1)[taken.own] *= more**2
        scores = np.asarray(-0.5 * self.rows.sum() * (far - far.min(axis=0)))
        return scores - self.by_column(self.coefficients(ridge)[1]).T @ holes.T if holes.any() else scores

    def best_ridge(self, turned: Turned, taken: Taken, weights: Floats, prior: Floats) -> float:
        """Return the ridge under which rows left out are answered best, however strongly the scores are believed."""
        losses = []
        for ridge in RIDGES:
            scores = self.left(turned, taken, ridge)
            losses.append(min(log_loss(prior[:, None] + belief * scores, taken.y, weights) for belief in BELIEF))
        return RIDGES[int(np.argmin(losses))]

    def coefficients(self, ridge: float) -> tuple[Floats, Floats]:
        """Return what each feature adds to each class, [feature, class]: by its size, and by being there."""
        width, axes = self._axes
        slopes = self.rows.sum() * axes @ (self.means @ axes / (width + ridge)).T
        return self.centring.back(slopes), -0.5 * self.means.T * slopes

    def by_column(self, constants: Floats) -> Floats:
        """Return what is added if a column is there, [column, class], given the same of each feature."""
        whole = np.zeros((self.joint.grid.features, len(self.rows)))
        whole[self.features] = constants
        return by_column(self.joint.grid, whole)


def log_loss(scores: Floats, y: Any, weights: Floats) -> float:
    """Return the mean log-loss of scores [class, row]."""
    below = scores - scores.max(axis=0)
    own = below[y, np.arange(len(y))]
    return float(weights @ (np.log(np.exp(below).sum(axis=0)) - own) / weights.sum())
