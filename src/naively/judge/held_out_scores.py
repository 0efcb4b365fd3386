"""Held-out scores as a table of counts: by class and by bins of log-odds. Prediction sets and intervals follow from it.

The table holds no row. Its bins are the same for every model, so tables of rows that were scored apart add up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from scipy.special import betaincinv

from .._types import Floats, JsonObject, Label, Mask, Places
from ..errors import InvalidSetting
from ..errors.message import Setting
from ..stats import Axis
from .histograms import ClassHistograms, packed_counts, unpacked_counts

# Bins of log-odds, all of one width: at a probability of 0.5 a bin is 0.008 wide, near 0 and 1 it is 3 % of the
# distance to them. Probabilities beyond 2e-9 and 1 - 2e-9 share the outermost bins.
BINS_PER_UNIT, FARTHEST = 32, 20
BINS = 2 * FARTHEST * BINS_PER_UNIT + 2
# Limits come from a window of n to this power of all n rows: then what it holds of other scores and what it has by
# chance shrink at the same rate, as they do in isotonic regression.
WINDOW = 2 / 3


def log_odds(log_probability: Floats) -> Floats:
    """Return log(p / (1 - p)) of log p; rounding may have raised p above 1."""
    with np.errstate(divide="ignore"):
        return np.asarray(log_probability - np.log(-np.expm1(np.minimum(log_probability, 0.0))))


def score_bins(log_probability: Floats) -> Places:
    """Return the bin of each probability, given as its logarithm."""
    scaled = np.clip(log_odds(log_probability), -FARTHEST - 1, FARTHEST) * BINS_PER_UNIT
    return np.maximum(np.floor(scaled).astype(np.intp) + FARTHEST * BINS_PER_UNIT + 1, 0)


def class_scores(log_posterior: Floats, members: Places | Floats, weights: Floats) -> ClassHistograms:
    """Return the scores of rows, given the place of their class or, of soft labels, the proportion of each."""
    return ClassHistograms.of(score_bins(log_posterior), members, weights, BINS)


def check_level(level: float) -> float:
    """Return the level of a set or an interval, if it is one."""
    if isinstance(level, bool) or not isinstance(level, (int, float, np.number)) or not 0 < level < 1:
        raise InvalidSetting(
            Setting("level", level),
            " must lie strictly between 0 and 1, such as 0.9. For the probability itself use predict_proba.",
        )
    return float(level)


@dataclass(frozen=True, eq=False)
class HeldOutScores:
    """How probable each class was in held-out rows, counted by bins of log-odds.

    Attributes
    ----------
    classes : Axis
        The classes.
    held_out : ClassHistograms
        The weight of rows by the probabilities of a model without them.
    counted : ClassHistograms
        The weight of the same rows by the probabilities of the model that predicts, which may have counted them.
    squares : float
        The sum of the weight of each row times what of it was left out at once. Divided by the weight of all rows it is
        what a row weighs: 1 without weights, and where weights count copies.
    """

    classes: Axis
    held_out: ClassHistograms
    counted: ClassHistograms
    squares: float
    _venn_abers: dict[tuple[int, int], tuple[float, float]] = field(default_factory=dict, init=False, repr=False)

    # -- tables add up --------------------------------------------------------------------------------------------

    def __add__(self, more: HeldOutScores) -> HeldOutScores:
        """Return the table of the rows of both. A class that one of them does not know had no probability there."""
        classes = self.classes | more.classes
        a, b = self.of_classes(classes.labels), more.of_classes(classes.labels)
        held_out, counted = a.held_out.plus(b.held_out), a.counted.plus(b.counted)
        return HeldOutScores(classes, held_out, counted, a.squares + b.squares)

    def of_classes(self, labels: Sequence[Label]) -> HeldOutScores:
        """Return the table of these classes in this order; rows of other classes count against each of them."""
        places = self.classes.places(labels)
        if len(places) == len(self.classes) and (places == np.arange(len(places))).all():
            return self
        return HeldOutScores(Axis.ordered(labels), self.held_out.at(places), self.counted.at(places), self.squares)

    @property
    def rows(self) -> float:
        """The weight of all rows."""
        return float(self.held_out.own.sum())

    @property
    def row_weight(self) -> float:
        """What one row weighs, also the row that is predicted."""
        return self.squares / self.rows if self.rows else 1.0

    # -- sets and intervals ---------------------------------------------------------------------------------------

    def p_values(self, log_posterior: Floats, *, by_class: bool = False) -> Floats:
        """Return the conformal p-value of each row and class.

        It is the proportion of rows, the predicted one included, whose own class was no more probable than this class
        is here; `by_class` compares with the rows of this class alone. A class without rows has 1.
        """
        below = np.cumsum(self.held_out.own, axis=1)
        if not by_class:
            below = np.broadcast_to(below.sum(axis=0), below.shape)
        unit = self.row_weight
        proportions = (below + unit) / (below[:, -1:] + unit)
        return np.asarray(proportions[np.arange(len(proportions)), score_bins(log_posterior)])

    def sets(self, log_posterior: Floats, level: float, *, by_class: bool = False) -> Mask:
        """Return which classes cannot be ruled out at this level, [row, class]; the most probable one never is."""
        chosen = self.p_values(log_posterior, by_class=by_class) > 1 - check_level(level)
        chosen[np.arange(len(chosen)), log_posterior.argmax(axis=1)] = True
        return np.asarray(chosen)

    def venn_abers(self, log_posterior: Floats) -> tuple[Floats, Floats]:
        """Return the Venn–Abers interval of each row and class.

        Its limits are isotonic regressions with one row more, of another class or of this one. One of both is
        calibrated, whatever the distribution of the rows: the one whose class is true.
        """
        own, every = self.held_out.own, self.held_out.own + self.held_out.other

        def limits(k: int, bins: Places) -> Floats:
            for place in bins.tolist():
                if (k, place) not in self._venn_abers:
                    self._venn_abers[k, place] = (
                        isotonic_with_row(own[k], every[k], place, 0.0, self.row_weight),
                        isotonic_with_row(own[k], every[k], place, self.row_weight, self.row_weight),
                    )
            return np.array([self._venn_abers[k, place] for place in bins.tolist()]).T

        return limits_of_bins(log_posterior, limits)

    def confidence(self, log_posterior: Floats, level: float) -> tuple[Floats, Floats]:
        """Return a confidence interval of how frequent each class is in rows with this probability.

        It contains the interval by held-out scores and that by the scores of the model that counted the rows. The first
        is too narrow where many rows are alike: without itself, a row of the class has a lower score than one of
        another class. The second is where there are many columns: with itself, a row has too good a score.
        """
        tail = (1 - check_level(level)) / 2

        def widest(k: int, bins: Places) -> Floats:
            limits = [
                confidence_limits(part.own[k], part.own[k] + part.other[k], self.row_weight, bins, tail)
                for part in (self.held_out, self.counted)
            ]
            return np.stack([np.minimum(*(low for low, _ in limits)), np.maximum(*(high for _, high in limits))])

        return limits_of_bins(log_posterior, widest)

    # -- files ----------------------------------------------------------------------------------------------------

    def to_json(self) -> JsonObject:
        """Return the table as plain data."""
        return {"bins": BINS, "counts": packed_counts(*self.held_out, *self.counted), "squares": self.squares}

    @classmethod
    def from_json(cls, data: JsonObject, classes: Axis) -> HeldOutScores:
        """Return what to_json described."""
        squares, shape = float(data["squares"]), (len(classes), int(data["bins"]))
        counts = unpacked_counts(data["counts"], *[shape] * 4)
        if data["bins"] != BINS or not 0 < squares < np.inf:
            raise ValueError(f"held-out scores have {data['bins']} bins and squares of {squares}")
        return cls(classes, ClassHistograms(*counts[:2]), ClassHistograms(*counts[2:]), squares)


# Limits of some bins of one class, [2, bin].
Limits: TypeAlias = Callable[[int, Places], Floats]


def limits_of_bins(log_posterior: Floats, limits: Limits) -> tuple[Floats, Floats]:
    """Return limits of each row and class; those of a bin are computed once."""
    bins, out = score_bins(log_posterior), np.empty((2, *log_posterior.shape))
    for k in range(log_posterior.shape[1]):
        result, back = np.unique(bins[:, k], return_inverse=True)
        out[:, :, k] = limits(k, result)[:, back]
    return out[0], out[1]


def isotonic_with_row(own: Floats, every: Floats, place: int, of_class: float, weight: float) -> float:
    """Return the isotonic regression at a bin, with one row more there that is of the class by this weight."""
    from scipy.optimize import isotonic_regression  # slow to import; few models are asked for intervals

    own, every = own.copy(), every.copy()
    own[place] += of_class
    every[place] += weight
    used = np.flatnonzero(every)
    fitted = isotonic_regression(own[used] / every[used], weights=every[used]).x
    return float(fitted[np.searchsorted(used, place)])


def confidence_limits(own: Floats, every: Floats, row_weight: float, bins: Places, tail: float) -> Floats:
    """Return the limits of each bin, [2, bin], each wrong with about this probability at most.

    A class is no more frequent in rows of lower scores, and no less frequent in rows of higher ones. So the limit of
    Clopper and Pearson for a window of rows below a bin is a lower limit for the bin, and an upper one for a window
    above it. The scores alone say which rows they hold.
    """
    others, mirrored = (every - own)[::-1], len(own) - 1 - bins
    lower = lower_limits(own, every, row_weight, bins, tail)
    return np.stack([lower, 1 - lower_limits(others, every[::-1], row_weight, mirrored, tail)])


def lower_limits(own: Floats, every: Floats, row_weight: float, bins: Places, tail: float) -> Floats:
    """Return the lower limits of bins, given the weight of the rows of the class and of all rows by bin."""
    own, every = (np.append(0.0, np.cumsum(part)) / row_weight for part in (own, every))
    end = bins + 1
    begin = np.maximum(np.searchsorted(every, every[end] - every[-1] ** WINDOW, side="right") - 1, 0)
    rows = every[end] - every[begin]
    return clopper_pearson_lower(rows, np.minimum(own[end] - own[begin], rows), tail)


def clopper_pearson_lower(rows: Floats, hits: Floats, tail: float) -> Floats:
    """Return the lower limits of proportions of hits among rows, each too high with this probability.

    >>> clopper_pearson_lower(np.array([10.0, 10.0]), np.array([0.0, 10.0]), 0.025).round(2).tolist()
    [0.0, 0.69]
    """
    return np.where(hits > 0, betaincinv(np.maximum(hits, 1e-9), rows - hits + 1, tail), 0.0)


def clopper_pearson_interval(rows: Floats, hits: Floats, tail: float) -> Floats:
    """Return both limits of proportions, [2, proportion]."""
    return np.stack([clopper_pearson_lower(rows, hits, tail), 1 - clopper_pearson_lower(rows, rows - hits, tail)])
