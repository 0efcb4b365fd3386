"""Held-out scores as a table of counts: by class and by bins of probability. Sets and intervals follow from it.

The table holds no row. Its bins are the same for every model, so tables of rows that were scored apart add up.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np

from .._types import Floats, JsonObject, Label, Mask, Places
from ..errors import InvalidSetting
from ..errors.message import Setting
from ..stats import Axis
from .calibration_intervals import ScoreCounts

# Bins of log-odds, all of one width: at a probability of 0.5 a bin is 0.008 wide, near 0 and 1 it is 3 % of the
# distance to them. Probabilities beyond 2e-9 and 1 - 2e-9 share the outermost bins.
BINS_PER_UNIT, FARTHEST = 32, 20
BINS = 2 * FARTHEST * BINS_PER_UNIT + 2

# Limits of some bins of one class, [2, bin], from its held-out scores and those of the model that counted the rows.
Limits: TypeAlias = Callable[[ScoreCounts, ScoreCounts, Places], Floats]


def log_odds(log_probability: Floats) -> Floats:
    """Return log(p / (1 - p)) of log p; rounding may have raised p above 1."""
    with np.errstate(divide="ignore"):
        return np.asarray(log_probability - np.log(-np.expm1(np.minimum(log_probability, 0.0))))


def score_bins(log_probability: Floats) -> Places:
    """Return the bin of each probability, given as its logarithm."""
    scaled = np.clip(log_odds(log_probability), -FARTHEST - 1, FARTHEST) * BINS_PER_UNIT
    return np.maximum(np.floor(scaled).astype(np.intp) + FARTHEST * BINS_PER_UNIT + 1, 0)


def check_level(level: float) -> float:
    """Return the level of a set or an interval, if it is one."""
    if isinstance(level, bool) or not isinstance(level, (int, float, np.number)) or not 0 < level < 1:
        raise InvalidSetting(
            Setting("level", level),
            " must lie between 0 and 1, both left out, such as 0.9. For the probability itself use predict_proba.",
        )
    return float(level)


class ClassCounts(NamedTuple):
    """Rows by the bin of the probability of each class, [class, bin]: those of the class, and those of all others."""

    own: Floats
    other: Floats

    @classmethod
    def of(cls, log_posterior: Floats, memberships: Places | Floats, weights: Floats) -> ClassCounts:
        """Return the counts of rows, given the place of their class or, of soft labels, the proportion of each."""
        bins = score_bins(log_posterior)
        own, every = np.empty((2, bins.shape[1], BINS))
        for k in range(bins.shape[1]):
            part = np.equal(memberships, k) if memberships.ndim == 1 else memberships[:, k]
            own[k] = np.bincount(bins[:, k], weights * part, BINS)
            every[k] = np.bincount(bins[:, k], weights, BINS)
        return cls(own, np.maximum(every - own, 0.0))

    def plus(self, more: ClassCounts) -> ClassCounts:
        """Return the counts of the rows of both."""
        return ClassCounts(self.own + more.own, self.other + more.other)

    def at(self, places: Places) -> ClassCounts:
        """Return the counts of the classes at these places; at -1 stands a class that has no row and no probability."""
        own, other = (np.where(places[:, None] >= 0, part[places], 0.0) for part in self)
        other[places < 0, 0] = self.own.sum()
        return ClassCounts(own, other)


@dataclass(frozen=True, eq=False)
class HeldOutScores:
    """How probable each class was in rows that had no part in the answer, counted by bins of log-odds.

    Attributes
    ----------
    classes : Axis
        The classes.
    held_out : ClassCounts
        The weight of rows by the probabilities of a model without them.
    counted : ClassCounts
        The weight of the same rows by the probabilities of the model that answers, which may have counted them.
    squares : float
        The sum of the weight of each row times what of it was left out at once. Divided by the weight of all rows it is
        what a row weighs: 1 without weights, and where weights count copies.
    """

    classes: Axis
    held_out: ClassCounts
    counted: ClassCounts
    squares: float
    _by_class: dict[int, tuple[ScoreCounts, ScoreCounts]] = field(default_factory=dict, init=False, repr=False)

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
        """What one row weighs: so does the row that is asked about."""
        return self.squares / self.rows if self.rows else 1.0

    # -- sets and intervals ---------------------------------------------------------------------------------------

    def p_values(self, log_posterior: Floats, *, by_class: bool = False) -> Floats:
        """Return the conformal p-value of each row and class.

        It is the proportion of rows, the one asked about included, whose own class was no more probable than this class
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
        """Return the Venn–Abers interval of each row and class."""
        return self._limits(log_posterior, lambda held_out, _, bins: held_out.venn_abers(bins))

    def confidence(self, log_posterior: Floats, level: float) -> tuple[Floats, Floats]:
        """Return a confidence interval of how frequent each class is in rows with this probability.

        It contains the interval by held-out scores and that by the scores of the model that counted the rows. The first
        is too narrow where many rows are alike: without itself, a row of the class has a lower score than one of
        another class. The second is where there are many columns: with itself, a row has too good a score.
        """
        tail = (1 - check_level(level)) / 2

        def widest(held_out: ScoreCounts, counted: ScoreCounts, bins: Places) -> Floats:
            one, other = (counts.confidence(bins, tail) for counts in (held_out, counted))
            return np.stack([np.minimum(one[0], other[0]), np.maximum(one[1], other[1])])

        return self._limits(log_posterior, widest)

    def _limits(self, log_posterior: Floats, limits: Limits) -> tuple[Floats, Floats]:
        """Return limits of each row and class; those of a bin are found once."""
        bins, out = score_bins(log_posterior), np.empty((2, *log_posterior.shape))
        for k in range(len(self.classes)):
            if k not in self._by_class:
                own = ((part.own[k], part.own[k] + part.other[k]) for part in (self.held_out, self.counted))
                held_out, counted = (ScoreCounts(*part, self.row_weight) for part in own)
                self._by_class[k] = held_out, counted
            found, back = np.unique(bins[:, k], return_inverse=True)
            out[:, :, k] = limits(*self._by_class[k], found)[:, back]
        return out[0], out[1]

    # -- files ----------------------------------------------------------------------------------------------------

    def to_json(self) -> JsonObject:
        """Return the table as plain data; its numbers are compressed, since most of them are 0."""
        numbers = np.stack([*self.held_out, *self.counted]).astype("<f8").tobytes()
        packed = base64.b64encode(zlib.compress(numbers, 9)).decode("ascii")
        return {"bins": BINS, "counts": packed, "squares": self.squares}

    @classmethod
    def from_json(cls, data: JsonObject, classes: Axis) -> HeldOutScores:
        """Return what to_json described."""
        shape = (4, len(classes), BINS)
        size, squares = 8 * int(np.prod(shape)), float(data["squares"])
        numbers = zlib.decompressobj().decompress(base64.b64decode(data["counts"], validate=True), size + 1)
        if data["bins"] != BINS or len(numbers) != size:
            raise ValueError(f"held-out scores have {data['bins']} bins and {len(numbers)} bytes")
        counts = np.frombuffer(numbers, "<f8").astype(np.float64).reshape(shape)
        if not (np.isfinite(counts).all() and counts.min() >= 0 and 0 < squares < np.inf):
            raise ValueError("held-out scores hold a number that is no count")
        return cls(classes, ClassCounts(*counts[:2]), ClassCounts(*counts[2:]), squares)
