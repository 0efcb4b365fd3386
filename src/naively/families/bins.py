"""Numbers of any shape: how many of each class fall into each bin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from numbers import Integral
from typing import ClassVar

import numpy as np

from .. import _kernels
from .._kernels import CUT_SHARE
from .._types import Codes, Floats
from ..errors import IncompatibleCounts, InvalidSetting
from ..errors.message import Setting
from ..stats import Axis, Table
from .categorical import Categorical, LogTable, LogTables, scored_values
from .family import Settings, rounded_number, shown_label

# One bin for this many rows, but at least and at most these numbers of bins.
ROWS_OF_A_BIN, FEWEST, MOST = 25, 5, 20
TINY = float(np.finfo(np.float64).tiny)
# The widest gap between whole numbers whose cut is recognized.
WIDEST_GAP = 256


@dataclass(frozen=True)
class Bins:
    """Numbers in bins: P(bin | class) = (n + λ) / (N + B·λ) under ``bayes``, which follows any shape.

    The outermost bins have no end. Within a bin all classes have the same density; it is constant there, and falls with
    the square of the distance beyond the outermost cuts.

    Parameters
    ----------
    bins : int, optional
        The number of bins, at most; by default one for 25 rows, at least 5 and at most 20.
    cuts : sequence of float, optional
        Where one bin ends and the next begins; a number on a cut lies below it. By default quantiles of the first rows
        that are counted, whatever their classes; a number that fills a bin has it for itself.
    smoothing : float, optional
        The pseudo-count λ of this column; by default the model's.

    Examples
    --------
    >>> import naively as nv
    >>> nb = nv.NaiveBayes(families={"age": nv.Bins(cuts=[18, 65])}, model="textbook")
    >>> nb.fit({"age": [10, 30, 40, 80]}, ["a", "b", "b", "a"]).predict({"age": 35})
    array(['b'], dtype='<U1')
    """

    bins: int | None = None
    cuts: tuple[float, ...] | None = None
    smoothing: float | None = None

    name: ClassVar[str] = "bins"
    statistic: ClassVar[type[Table]] = Table

    def __post_init__(self) -> None:
        whole = isinstance(self.bins, Integral) and not isinstance(self.bins, bool)
        if self.bins is not None and not (whole and self.bins >= 2):
            raise InvalidSetting(Setting("bins", self.bins, of="Bins()"), " must be a whole number of 2 or more.")
        if self.cuts is not None:
            object.__setattr__(self, "cuts", valid_cuts(self.cuts))

    @property
    def values(self) -> range:
        """The bins, which are known by their numbers."""
        return range(len(self._edges) + 1)

    @property
    def _edges(self) -> Floats:
        if self.cuts is None:
            raise InvalidSetting(
                "The family 'bins' has no cuts yet, and there are no rows to find them with; fit first, or give them: "
                "nv.Bins(cuts=[...])."
            )
        return np.array(self.cuts, dtype=np.float64)

    def cut(self, numbers: Floats, weights: Floats) -> Bins:
        """Return the same with cuts at the quantiles of some numbers."""
        return self if self.cuts is not None else replace(self, cuts=tuple(quantile_cuts(numbers, weights, self.bins)))

    def codes(self, numbers: Floats) -> Codes:
        """Return the bin of each number; -1 for one that is missing."""
        out = np.empty((len(numbers), 1), dtype=np.int32)
        _kernels.bin_numbers(numbers[:, None], self._edges, np.array([0, len(self._edges)]), out)
        return out[:, 0]

    def names(self) -> list[str]:
        """Return what the bins are called."""
        return bin_names(self._edges.tolist())

    def log_within(self, numbers: Floats) -> Floats:
        """Return the logarithm of the density of each number within its bin; 0 for one that is missing."""
        edges, there = self._edges, ~np.isnan(numbers)
        out = np.zeros(len(numbers))
        if len(edges):
            x, widths = numbers[there], bin_widths(edges)[self.codes(numbers[there])]
            beyond = np.maximum(np.maximum(edges[0] - x, x - edges[-1]), 0.0)
            out[there] = -np.log(widths) - 2 * np.log1p(beyond / widths)
        return out

    def estimate(self, statistic: Table, rows: Floats, classes: Axis, settings: Settings) -> LogTables:
        """Return log P(bin | class); every number has a bin, so that none is unseen."""
        known = Table(values=Axis.declared(self.values)) + statistic
        if len(known.values) > len(self.values) + (None in known.values.labels):
            raise IncompatibleCounts(
                f"There are {len(self.values)} bins, but others were counted: {list(known.values.labels)}."
            )
        settings = replace(settings.alone(self.smoothing), unseen="skip")
        result = scored_values(known, classes, settings)
        return LogTables(classes, (BinTable(Categorical(self.smoothing), settings, classes, *result, self._edges),))


@dataclass(frozen=True)
class BinTable(LogTable):
    """The log-likelihoods of one column of numbers, given as the codes of their bins."""

    edges: Floats

    @cached_property
    def names(self) -> list[str]:
        """The bins in words."""
        return [*bin_names(self.edges.tolist()), *[shown_label(None)] * (None in self.values.labels)]

    def where(self, code: int) -> str:
        """Return which bin a code is, for the end of a phrase."""
        return f" {self.names[code]}" if len(self.edges) else ""


def valid_cuts(cuts: Iterable[float]) -> tuple[float, ...]:
    """Return cuts as plain numbers, if bins can lie between them."""
    try:
        result = np.asarray(list(cuts), dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidSetting(Setting("cuts", cuts, of="Bins()"), " must be numbers such as [18, 40, 65].") from None
    if result.ndim != 1 or not np.isfinite(result).all() or not (np.diff(result) > 0).all():
        raise InvalidSetting(Setting("cuts", cuts, of="Bins()"), " must be finite and rise, each above the one before.")
    return tuple(result.tolist())


def bin_names(edges: Sequence[float]) -> list[str]:
    """Return bins in words; those between whole numbers by the whole numbers that they hold.

    >>> bin_names([18, 65])
    ['up to 18', '18 to 65', 'above 65']
    >>> bin_names([17.4494897427831781, 64.4494897427831781])
    ['up to 17', '18 to 64', '65 or more']
    """
    if (neighbors := whole_neighbors(np.array(edges, dtype=np.float64))) is not None:
        below, above = ([rounded_number(edge, 12) for edge in side.tolist()] for side in neighbors)
        inner = (a if a == b else f"{a} to {b}" for a, b in zip(above, below[1:], strict=False))
        return [f"up to {below[0]}", *inner, f"{above[-1]} or more"]
    texts = [rounded_number(edge, 6) for edge in edges]
    if not texts:
        return ["any number"]
    return [f"up to {texts[0]}", *(f"{a} to {b}" for a, b in pairwise(texts)), f"above {texts[-1]}"]


def bin_widths(edges: Floats) -> Floats:
    """Return how wide the bins are; the outermost, which have no end, are measured by their neighbors."""
    inner = np.diff(edges) if len(edges) > 1 else np.array([abs(edges[0]) or 1.0])
    return np.concatenate([inner[:1], inner if len(edges) > 1 else inner[:0], inner[-1:]])


# -- where to cut ---------------------------------------------------------------------------------------------------


def quantile_cuts(column: Floats, weights: Floats, bins: int | None = None) -> list[float]:
    """Return where to cut a column of numbers, so that about equally many fall into each bin."""
    finite = np.where(np.isfinite(column), column, np.nan)  # infinite numbers are refused when they are counted
    rows = float(weights[~np.isnan(finite)].sum())
    most = bins or int(np.clip(rows / ROWS_OF_A_BIN + 1e-9, FEWEST, MOST))
    result: list[float] = _kernels.quantile_cuts(finite, weights, most, TINY, even=False).tolist()
    return result


def whole_neighbors(cuts: Floats) -> tuple[Floats, Floats] | None:
    """Return the whole numbers below and above each cut; None unless every cut lies between two whole numbers.

    The share at which a cut lies is irrational, so a cut tells both of its neighbors: no other whole numbers, and no
    numbers of a few decimals, have a cut at the same place.

    >>> from naively._kernels import quantile_cuts
    >>> whole_neighbors(quantile_cuts(np.array([61.0, 62.0, 62.0]), np.ones(3), 2))
    (array([61.]), array([62.]))
    >>> whole_neighbors(np.array([18.0, 65.0]))
    """
    if not len(cuts) or _gaps_at(cuts[:1]) is None:
        return None
    result = _gaps_at(cuts)
    return None if result is None else (result[0], result[0] + result[1])


def _gaps_at(cuts: Floats) -> tuple[Floats, Floats] | None:
    """Return the whole number below each cut and the gap to the next one, if every cut lies in such a gap."""
    gaps = np.tile(np.arange(1.0, WIDEST_GAP + 1), 2)
    shares = gaps * np.repeat([CUT_SHARE, 1 - CUT_SHARE], WIDEST_GAP)
    below = np.rint(cuts[:, None] - shares)
    off = np.abs(below + shares - cuts[:, None])
    best = off.argmin(axis=1)
    at = np.arange(len(cuts)), best
    if (off[at] > 8 * np.spacing(np.maximum(np.abs(cuts), 1.0))).any():
        return None
    return below[at], gaps[best]
