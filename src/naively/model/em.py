"""Rows without a label, learned by expectation-maximisation: each counts for every class by how probable that class is.

A step has two halves. *Expect*: the model says how probable each class is for each row without a label. *Maximise*:
the rows are counted by these shares, and the model is estimated anew from the counts of the labelled rows and these. No
step makes all rows together less probable, priors included (Dempster, Laird and Rubin, 1977), and that is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._types import Floats, Longs
from ..counting.counter import TableCounter
from ..counting.rows import Rows
from ..data.frame import Frame, frame_of
from ..errors import InvalidInput, InvalidSetting, LikelihoodFell
from ..errors.message import Setting
from ..families import Ordinal
from ..stats import Axis, Counts
from .table_model import LABELS, TableModel

# At most so many steps; they end when one gains less than this share of the log-likelihood.
MOST_STEPS, ENOUGH = 200, 1e-6
# What rounding may take from a log-likelihood, as a share of it, and at all.
ROUNDING, SPECK = 1e-8, 1e-6
# Classes without any label begin somewhere by chance: the best of so many starts of a few steps, on so many rows.
STARTS, FEW_STEPS, SOME_ROWS = 10, 10, 5_000
# What a row weighs that such a class begins with, beside one row like the whole table.
SEED = 5.0


@dataclass(frozen=True)
class Expected:
    """What was learned from rows without a label: an estimate beside what was counted.

    Attributes
    ----------
    counts : Counts
        How many of these rows each class is expected to have, and their statistics: fractions of rows.
    labelled, unlabelled : float
        How many rows had a label, and how many had none; weights added up.
    log_likelihood : tuple of float
        The logarithm of how probable all rows were after each step, with that of the priors' densities under ``map``;
        up to a constant. It never falls.
    converged : bool
        Whether the last step changed next to nothing.
    stale : bool
        Whether rows were learned or forgotten since.
    """

    counts: Counts
    labelled: float
    unlabelled: float
    log_likelihood: tuple[float, ...]
    converged: bool
    stale: bool = False

    @property
    def steps(self) -> int:
        """How many steps it took."""
        return len(self.log_likelihood)

    def say(self) -> str:
        """Say how many rows were learned in which way."""
        end = "" if self.converged else ", and was still changing"
        old = "; rows have come or gone since" if self.stale else ""
        return (
            f"{self.labelled:.10g} rows had a label; {self.unlabelled:.10g} had none and were learned by "
            f"expectation-maximisation, which took {self.steps} steps{end}{old}."
        )

    def about(self) -> dict[str, Any]:
        """Return all but the counts, as JSON can hold it."""
        figures = {"labelled": self.labelled, "unlabelled": self.unlabelled, "converged": self.converged}
        return figures | {"log_likelihood": list(self.log_likelihood), "stale": self.stale}

    @classmethod
    def of(cls, counts: Counts, about: dict[str, Any]) -> Expected:
        """Return what `about` described."""
        return cls(counts, **about | {"log_likelihood": tuple(about["log_likelihood"])})

    def __repr__(self) -> str:
        return f"Expected: {self.say()}"


class Estimator(NamedTuple):
    """From counts to a model, by the settings of a classifier."""

    model_of: Callable[[Counts], TableModel]
    imagined: float  # rows of each class that the prior imagines; 0 if the prior is given
    in_order: bool  # whether classes without a label are alike beforehand, and so may be put in order
    random_state: Any
    threads: int


class Known(NamedTuple):
    """The rows with a label, and the place of each one's class."""

    frame: Frame
    places: Longs
    weights: Floats


@dataclass(frozen=True)
class Mixture:
    """Rows without a label beside those that have one, to be climbed with."""

    hard: Counts
    known: Known
    frame: Frame
    weights: Floats
    counter: TableCounter
    classes: Axis
    how: Estimator

    @cached_property
    def weight(self) -> float:
        """What all rows weigh."""
        return float(self.known.weights.sum() + self.weights.sum())

    @cached_property
    def base(self) -> Counts:
        """The labelled rows, and for each class one more row that is like the whole table: nothing is ruled out."""
        alike = self.counted(np.full((self.frame.rows, len(self.classes)), 1 / self.weights.sum()))
        return self.hard + alike

    def some(self, at: Longs) -> Mixture:
        """Return the same with some of the rows without a label."""
        return replace(self, frame=self.frame.take(at), weights=self.weights[at])

    # -- the two halves of a step -------------------------------------------------------------------------------

    def counted(self, shares: Floats) -> Counts:
        """Return the counts of the rows without a label, shared out among the classes."""
        counter, codes = self.counter.fresh(), self.counter.classes.codes(self.classes.labels)
        counter.add_soft_labels(self.frame, codes, shares, self.weights, self.how.threads)
        return counter.value()

    def expect(self, model: TableModel, shares: Floats) -> float:
        """Fill in the shares under a model, and return the log-likelihood of the rows without a label there."""
        heights = []

        def fill(rows: slice, columns: dict[str, Any]) -> None:
            part = np.ascontiguousarray(model.model.log_joint(columns, self.how.threads).T)  # [class, row]
            top = part.max(axis=0)
            lost = np.isneginf(top)
            part[:, lost] = model.model.log_prior[:, None]  # every class is ruled out, by a first guess
            np.exp(np.subtract(part, np.where(lost, 0.0, top), out=part), out=part)
            total = part.sum(axis=0)
            np.divide(part.T, total[:, None], out=shares[rows])
            heights.append(float(self.weights[rows] @ (top + np.log(total))))

        model.each_block(fill, self.frame, self.how.threads)
        return sum(heights)

    def of_known(self, model: TableModel) -> float:
        """Return the log-likelihood of the rows with a label."""
        certain = np.isfinite(model.model.log_prior)  # a class that the given prior rules out costs the same always

        def add(rows: slice, columns: dict[str, Any]) -> float:
            places = self.known.places[rows]
            own = model.model.log_joint(columns, self.how.threads)[np.arange(len(places)), places]
            return float(self.known.weights[rows] @ np.where(certain[places], own, 0.0))

        return sum(model.each_block(add, self.known.frame, self.how.threads)) if self.known.frame.rows else 0.0

    def believed(self, model: TableModel) -> float:
        """Return the logarithm of the priors' densities at the model."""
        prior = self.how.imagined * float(model.model.log_prior.sum()) if self.how.imagined else 0.0
        return prior + sum(belief(model, key) for key in model.model.likelihoods)

    # -- where to begin -----------------------------------------------------------------------------------------

    @property
    def free(self) -> Longs:
        """The places of the classes of which no row has the label."""
        return np.flatnonzero(self.hard.on(self.classes) == 0)

    def begin(self, counts: Counts) -> Floats:
        """Return the shares under the model of these counts."""
        shares = np.empty((len(self.classes), self.frame.rows)).T  # a class lies in one piece, as it is counted
        self.expect(self.how.model_of(counts), shares)
        return shares

    def seeded(self, rng: Any) -> Counts:
        """Return counts to begin with: each class without a label gets a row by chance, far from those before it."""
        counts, taken = self.base, self.hard.on(self.classes) > 0
        for k in self.free:
            far = self.weights * (self._far(self.how.model_of(counts), taken) if taken.any() else 1.0)
            far = far if far.any() else self.weights
            row = rng.choice(len(far), p=far / far.sum())
            alone = replace(self, frame=self.frame.take(np.array([row])), weights=np.array([SEED]))
            counts = counts + alone.counted(np.eye(len(self.classes))[[k]])
            taken[k] = True
        return counts

    def _far(self, model: TableModel, taken: npt.NDArray[np.bool_]) -> Floats:
        """Return how much less probable each row is than the best one, in the class that fits it best."""
        blocks = model.each_block(lambda _, columns: model.model.log_joint(columns), self.frame, self.how.threads)
        scores = np.concatenate(blocks)[:, taken]
        with np.errstate(invalid="ignore"):
            gaps = np.nan_to_num(scores.max(axis=0) - scores, nan=0.0, posinf=1e6)
        return np.asarray(gaps.min(axis=1))


def belief(model: TableModel, key: str) -> float:
    """Return the logarithm of the prior's density at one part of the model; an error says which columns it is about."""
    try:
        return model.model.likelihoods[key].log_belief()
    except InvalidSetting as error:
        if key == LABELS:  # of all labels, only levels may have no density
            columns = tuple(one.column for one in model.labels if isinstance(one.column.family, Ordinal))
        else:
            columns = model.numbers[key][1] if key in model.numbers else (model.schema[key],)
        names = ", ".join(repr(column.name) for column in columns)
        raise InvalidSetting(f"Of {names}: ", error.message, column=columns[0].name) from None


class Climb(NamedTuple):
    """Where some steps led to."""

    soft: Counts
    path: tuple[float, ...]
    converged: bool


def climb(rows: Mixture, shares: Floats, most: int, path: tuple[float, ...] = ()) -> Climb:
    """Take steps from these shares, which are changed, until they gain next to nothing; at most so many."""
    soft, converged = rows.hard, False
    while len(path) < most and not converged:
        soft = rows.counted(shares)
        model = rows.how.model_of(rows.hard + soft)
        height = rows.believed(model) + rows.of_known(model) + rows.expect(model, shares)
        check_risen(path, height, rows.weight)
        converged = bool(path) and height - path[-1] < ENOUGH * (abs(height) + rows.weight)
        path = (*path, height)
    return Climb(soft, path, converged)


def check_risen(path: Sequence[float], height: float, weight: float) -> None:
    """Refuse a step that went down by more than rounding."""
    before = path[-1] if path else -np.inf
    if not height >= before - ROUNDING * (abs(height) + weight) - SPECK:
        raise LikelihoodFell(len(path) + 1, before, height)


def learned(rows: Rows, hard: Counts, declared: Sequence[Any], how: Estimator) -> Expected | None:
    """Return what rows without a label teach, beside the counts of those that have one; None if all have one."""
    mixture = mixture_of(rows, hard, declared, how)
    if mixture is None:
        return None
    free = mixture.free
    shares = mixture.begin(best_start(mixture) if len(free) else mixture.base)
    found = climb(mixture, shares, MOST_STEPS)
    if len(free) > 1 and how.in_order:
        by_name = mixture.classes.places([k for k in dict.fromkeys(declared) if mixture.classes.place(k) in free])
        sizes = mixture.weights @ shares[:, free]
        shares[:, by_name] = shares[:, free[np.argsort(-sizes, kind="stable")]]
        last = climb(mixture, shares, len(found.path) + 1, found.path)
        found = Climb(last.soft, last.path, found.converged)
    if not found.converged:
        warn_unsettled(found.path, mixture.weight)
    labelled, unlabelled = (float(w.sum()) for w in (mixture.known.weights, mixture.weights))
    return Expected(found.soft, labelled, unlabelled, found.path, found.converged)


def mixture_of(rows: Rows, hard: Counts, declared: Sequence[Any], how: Estimator) -> Mixture | None:
    """Return rows and counts as they are climbed with; None if every row that weighs something has a label."""
    codes = getattr(rows.target, "codes", None)
    if codes is None:  # shares of classes are labels, too
        return None
    weights = np.ones(len(codes)) if rows.weights is None else rows.weights
    without, having = (np.flatnonzero((weights > 0) & part) for part in (codes < 0, codes >= 0))
    if not len(without):
        return None
    classes = Axis.declared([*hard.classes.labels, *declared])
    if not len(classes):
        raise InvalidInput(
            "No row has a label, and how many classes there are is not said: set ",
            Setting("classes", 3),
            ", say, or list their names.",
        )
    frame = frame_of(rows.source)
    places = classes.places(rows.target.labels)[codes[having]]
    known = Known(frame.take(having).coded(), places, weights[having])
    counter = TableCounter(hard.schema, tuple(classes.labels))
    return Mixture(hard, known, frame.take(without).coded(), weights[without], counter, classes, how)


def best_start(mixture: Mixture) -> Counts:
    """Return counts to begin with, where some classes have no label: the most probable of several short climbs."""
    from sklearn.utils import check_random_state

    rng = check_random_state(mixture.how.random_state)
    size = mixture.frame.rows
    some = mixture if size <= SOME_ROWS else mixture.some(np.sort(rng.permutation(size)[:SOME_ROWS]))
    climbs = [climb(some, some.begin(some.seeded(rng)), FEW_STEPS) for _ in range(STARTS)]
    return mixture.base + max(climbs, key=lambda found: found.path[-1]).soft


def warn_unsettled(path: Sequence[float], weight: float) -> None:
    """Say, as scikit-learn does, that the steps came to an end before they changed nothing."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    warnings.warn(
        f"Learning without labels was still changing after {len(path)} steps: the last gained "
        f"{(path[-1] - path[-2]) / weight:.2g} for each row. Give some more labels, or a larger smoothing.",
        ConvergenceWarning,
        stacklevel=4,
    )
