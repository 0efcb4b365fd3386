"""Expectation-maximization: rows without a label count for every class by its probability.

A step has two halves. *Expectation*: the probabilities of the classes of each row without a label, under the model.
*Maximization*: rows are counted with these as weights, and the model is estimated anew from the counts of the labeled
rows and these. No step makes all rows together less probable, priors included (Dempster, Laird and Rubin, 1977), and
that is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from .._linear_algebra import dot, product
from .._types import Floats, JsonObject, Label, Longs, Mask, Matrices
from ..counting.counter import TableCounter
from ..counting.rows import Rows
from ..data.frame import Frame, frame_of
from ..data.target import SoftLabels
from ..errors import ConvergenceError, InvalidInput, InvalidSetting
from ..errors.message import Setting
from ..families import Ordinal
from ..stats import Axis, Counts
from .column_parts import LABELS
from .recipe import RECIPE, Recipe
from .table_model import TableModel

# What rounding may take from a log-likelihood, as a proportion of it, and at all. Numerical.
ROUNDING, LEAST_ROUNDING = 1e-8, 1e-6
# Steps of each start without labels, and the rows they are taken on. Limits of time.
START_STEPS, START_ROWS = 10, 5_000

# A seed, or a generator of scikit-learn's kind.
RandomState: TypeAlias = int | np.random.RandomState | None


@dataclass(frozen=True)
class Expected:
    """The expected counts of rows without a label, by expectation-maximization: an estimate beside what was counted.

    Parameters
    ----------
    counts : Counts
        How many of these rows each class is expected to have, and their statistics: fractions of rows.
    labelled : float
        How many rows had a label; weights added up.
    unlabelled : float
        How many rows had none; weights added up.
    log_likelihood : tuple of float
        The log-likelihood of all rows after each step, with the log densities of the priors under ``map``; up to a
        constant. It never falls.
    converged : bool
        Whether the last step changed next to nothing.
    stale : bool, default=False
        Whether rows were added or forgotten since.
    losses : tuple of float, optional
        Of the default model, whose expected labels are counted once: the log loss of held-out labeled rows without
        these counts, and with them.

    Examples
    --------
    >>> import naively as nv
    >>> rows = {"color": ["red", "blue", "red", "blue"] * 3}
    >>> labels = ["a", "b", None, None] * 3
    >>> nb = nv.NaiveBayes(unlabelled="em", estimate="mle", model="textbook").fit(rows, labels)
    >>> nb.expected_.labelled, nb.expected_.unlabelled
    (6.0, 6.0)
    """

    counts: Counts
    labelled: float
    unlabelled: float
    log_likelihood: tuple[float, ...]
    converged: bool
    stale: bool = False
    losses: tuple[float, float] | None = None

    @property
    def steps(self) -> int:
        """The number of steps."""
        return len(self.log_likelihood)

    def describe(self) -> str:
        """Return how many rows were used in which way, in words."""
        end = "" if self.converged else ", and was still changing"
        old = "; rows were added or removed since" if self.stale else ""
        if self.losses is not None:
            return (
                f"{self.labelled:.10g} rows had a label; {self.unlabelled:.10g} had none. Their expected labels are "
                f"counted, too: the log loss of held-out labelled rows is {self.losses[1]:.3g}, without them "
                f"{self.losses[0]:.3g}{old}."
            )
        return (
            f"{self.labelled:.10g} rows had a label; {self.unlabelled:.10g} had none and were used by "
            f"expectation-maximization, which took {self.steps} steps{end}{old}."
        )

    def about(self) -> JsonObject:
        """Return all but the counts, as JSON can hold it."""
        figures: JsonObject = {"labelled": self.labelled, "unlabelled": self.unlabelled, "converged": self.converged}
        figures |= {"log_likelihood": list(self.log_likelihood), "stale": self.stale}
        return figures if self.losses is None else figures | {"losses": list(self.losses)}

    @classmethod
    def of(cls, counts: Counts, about: JsonObject) -> Expected:
        """Return what `about` described."""
        tuples: JsonObject = {name: tuple(about[name]) for name in ("log_likelihood", "losses") if name in about}
        return cls(counts, **about | tuples)

    def __repr__(self) -> str:
        return f"Expected: {self.describe()}"


class EMSettings(NamedTuple):
    """How counts become a model."""

    model_of: Callable[[Counts], TableModel]
    pseudo_rows: float  # pseudo-counts of each class in the prior; 0 if the prior is given
    in_order: bool  # whether classes without a label are alike beforehand, and so may be put in order
    random_state: RandomState
    threads: int
    recipe: Recipe = RECIPE


class LabeledRows(NamedTuple):
    """The rows with a label, and the place of each one's class."""

    frame: Frame
    places: Longs
    weights: Floats


@dataclass(frozen=True)
class Mixture:
    """Rows without a label beside those that have one, to be climbed with."""

    hard: Counts
    known: LabeledRows
    frame: Frame
    weights: Floats
    counter: TableCounter
    classes: Axis
    how: EMSettings

    @cached_property
    def weight(self) -> float:
        """What all rows weigh."""
        return float(self.known.weights.sum() + self.weights.sum())

    @cached_property
    def base(self) -> Counts:
        """The labeled rows, and for each class one more row that is like the whole table: nothing is ruled out."""
        alike = self.counted(np.full((self.frame.rows, len(self.classes)), 1 / self.weights.sum()))
        return self.hard + alike

    def some(self, at: Longs) -> Mixture:
        """Return the same with some of the rows without a label."""
        return replace(self, frame=self.frame.take(at), weights=self.weights[at])

    # -- the two halves of a step -------------------------------------------------------------------------------

    def counted(self, shares: Floats) -> Counts:
        """Return the counts of the rows without a label, shared out among the classes."""
        counter, codes = self.counter.empty_like(), self.counter.classes.codes(self.classes.labels)
        counter.add_soft_labels(self.frame, codes, shares, self.weights, self.how.threads)
        return counter.value()

    def expect(self, model: TableModel, shares: Floats) -> float:
        """Fill in the shares under a model, and return the log-likelihood of the rows without a label there."""
        heights = []

        def fill(rows: slice, columns: Matrices) -> None:
            part = np.ascontiguousarray(model.scorer.log_joint(columns, self.how.threads).T)  # [class, row]
            top = part.max(axis=0)
            lost = np.isneginf(top)
            part[:, lost] = model.scorer.log_prior[:, None]  # every class is ruled out, by a first guess
            np.exp(np.subtract(part, np.where(lost, 0.0, top), out=part), out=part)
            total = part.sum(axis=0)
            np.divide(part.T, total[:, None], out=shares[rows])
            heights.append(dot(self.weights[rows], top + np.log(total)))

        model.each_block(fill, self.frame, self.how.threads)
        return sum(heights)

    def of_known(self, model: TableModel) -> float:
        """Return the log-likelihood of the rows with a label."""
        certain = np.isfinite(model.scorer.log_prior)  # a class that the given prior rules out costs the same always

        def add(rows: slice, columns: Matrices) -> float:
            places = self.known.places[rows]
            own = model.scorer.log_joint(columns, self.how.threads)[np.arange(len(places)), places]
            return dot(self.known.weights[rows], np.where(certain[places], own, 0.0))

        return sum(model.each_block(add, self.known.frame, self.how.threads)) if self.known.frame.rows else 0.0

    def log_prior_density(self, model: TableModel) -> float:
        """Return the logarithm of the priors' densities at the model."""
        prior = self.how.pseudo_rows * float(model.scorer.log_prior.sum()) if self.how.pseudo_rows else 0.0
        return prior + sum(log_prior_density(model, key) for key in model.textbook.terms)

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

    def seeded(self, rng: np.random.RandomState) -> Counts:
        """Return counts to begin with: each class without a label gets a row by chance, far from those before it."""
        counts, taken = self.base, self.hard.on(self.classes) > 0
        for k in self.free:
            far = self.weights * (self._far(self.how.model_of(counts), taken) if taken.any() else 1.0)
            far = far if far.any() else self.weights
            row = rng.choice(len(far), p=far / far.sum())
            alone = replace(
                self, frame=self.frame.take(np.array([row])), weights=np.array([self.how.recipe.em_start_weight])
            )
            counts = counts + alone.counted(np.eye(len(self.classes))[[k]])
            taken[k] = True
        return counts

    def _far(self, model: TableModel, taken: Mask) -> Floats:
        """Return how much less probable each row is than the best one, in the class that fits it best."""
        blocks = model.each_block(lambda _, columns: model.scorer.log_joint(columns), self.frame, self.how.threads)
        scores = np.concatenate(blocks)[:, taken]
        with np.errstate(invalid="ignore"):
            gaps = np.nan_to_num(scores.max(axis=0) - scores, nan=0.0, posinf=1e6)
        return np.asarray(gaps.min(axis=1))


def log_prior_density(model: TableModel, key: str) -> float:
    """Return the logarithm of the prior's density at one part of the model; an error names its columns."""
    try:
        return model.textbook.terms[key].log_prior_density()
    except InvalidSetting as error:
        if key == LABELS:  # of all labels, only levels may have no density
            columns = tuple(one.column for one in model.labels if isinstance(one.column.family, Ordinal))
        else:
            columns = model.numbers[key][1] if key in model.numbers else (model.schema[key],)
        names = ", ".join(repr(column.name) for column in columns)
        raise InvalidSetting(f"Of {names}: ", error.message, column=columns[0].name) from None


class EMRun(NamedTuple):
    """The result of some steps."""

    soft: Counts
    path: tuple[float, ...]
    converged: bool


def run_em(rows: Mixture, shares: Floats, most: int, path: tuple[float, ...] = ()) -> EMRun:
    """Take steps from these probabilities, which are changed, until they gain next to nothing; at most so many."""
    soft, converged = rows.hard, False
    while len(path) < most and not converged:
        soft = rows.counted(shares)
        model = rows.how.model_of(rows.hard + soft)
        height = rows.log_prior_density(model) + rows.of_known(model) + rows.expect(model, shares)
        check_risen(path, height, rows.weight, rows.how.recipe)
        converged = bool(path) and height - path[-1] < rows.how.recipe.em_tolerance * (abs(height) + rows.weight)
        path = (*path, height)
    return EMRun(soft, path, converged)


def check_risen(path: Sequence[float], height: float, weight: float, recipe: Recipe) -> None:
    """Refuse a step that went down by more than rounding."""
    before = path[-1] if path else -np.inf
    rounding = ROUNDING * (abs(height) + weight) + LEAST_ROUNDING
    if not height >= before - rounding:
        raise ConvergenceError(len(path) + 1, before, height)


def fit_em(rows: Rows, hard: Counts, declared: Sequence[Label], how: EMSettings) -> Expected | None:
    """Return the expected counts of rows without a label, beside the counts of the others; None if all have one."""
    mixture = mixture_of(rows, hard, declared, how)
    if mixture is None:
        return None
    free = mixture.free
    shares = mixture.begin(best_start(mixture) if len(free) else mixture.base)
    found = run_em(mixture, shares, how.recipe.em_steps)
    if len(free) > 1 and how.in_order:
        by_name = mixture.classes.places([k for k in dict.fromkeys(declared) if mixture.classes.place(k) in free])
        sizes = product(mixture.weights, shares[:, free])
        shares[:, by_name] = shares[:, free[np.argsort(-sizes, kind="stable")]]
        last = run_em(mixture, shares, len(found.path) + 1, found.path)
        found = EMRun(last.soft, last.path, found.converged)
    if not found.converged:
        warn_unsettled(found.path, mixture.weight)
    labelled, unlabelled = (float(w.sum()) for w in (mixture.known.weights, mixture.weights))
    return Expected(found.soft, labelled, unlabelled, found.path, found.converged)


def mixture_of(rows: Rows, hard: Counts, declared: Sequence[Label], how: EMSettings) -> Mixture | None:
    """Return rows and counts as they are climbed with; None if every row that weighs something has a label."""
    if isinstance(rows.target, SoftLabels):  # soft labels are labels, too
        return None
    codes = rows.target.codes
    weights = np.ones(len(codes)) if rows.weights is None else rows.weights
    without, having = (np.flatnonzero((weights > 0) & part) for part in (codes < 0, codes >= 0))
    if not len(without):
        return None
    classes = Axis.declared([*hard.classes.labels, *declared])
    if not len(classes):
        raise InvalidInput(
            "No row has a label, and the number of classes is not given: set ",
            Setting("classes", 3),
            ", say, or list their names.",
        )
    frame = frame_of(rows.source)
    places = classes.places(rows.target.labels)[codes[having]]
    known = LabeledRows(frame.take(having).coded(), places, weights[having])
    counter = TableCounter(hard.schema, tuple(classes.labels))
    return Mixture(hard, known, frame.take(without).coded(), weights[without], counter, classes, how)


def best_start(mixture: Mixture) -> Counts:
    """Return counts to begin with, where some classes have no label: the most probable of several short climbs."""
    from sklearn.utils import check_random_state

    rng = check_random_state(mixture.how.random_state)
    size, recipe = mixture.frame.rows, mixture.how.recipe
    most = START_ROWS
    some = mixture if size <= most else mixture.some(np.sort(rng.permutation(size)[:most]))
    runs = [run_em(some, some.begin(some.seeded(rng)), START_STEPS) for _ in range(recipe.em_starts)]
    return mixture.base + max(runs, key=lambda found: found.path[-1]).soft


def warn_unsettled(path: Sequence[float], weight: float) -> None:
    """Warn, as scikit-learn does, that the steps ended before they converged."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    warnings.warn(
        f"Learning without labels was still changing after {len(path)} steps: the last gained "
        f"{(path[-1] - path[-2]) / weight:.2g} for each row. Give some more labels, or a larger smoothing.",
        ConvergenceWarning,
        stacklevel=4,
    )
