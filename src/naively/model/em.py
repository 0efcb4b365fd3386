"""Expectation-maximization: rows without a label count for every class by its probability.

A step has two halves. *Expectation*: the probabilities of the classes of each row without a label, under the model.
*Maximization*: rows are counted with these as weights, and the model is estimated anew from the counts of the labeled
rows and these. No step makes all rows together less probable, priors included (Dempster, Laird and Rubin, 1977), and
that is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .._linear_algebra import dot
from .._types import Floats, JsonObject, Label, Longs, Matrices
from ..counting.counter import TableCounter
from ..counting.rows import Rows
from ..data.frame import Frame, frame_of
from ..data.target import Target
from ..errors import ConvergenceError, InvalidInput, InvalidSetting
from ..families import Ordinal
from ..stats import Axis, Counts
from .column_parts import LABELS
from .recipe import RECIPE, Recipe
from .table_model import TableModel

# What rounding may take from a log-likelihood, as a proportion of it, and at all. Numerical.
ROUNDING, LEAST_ROUNDING = 1e-8, 1e-6


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

    # -- the two halves of a step -------------------------------------------------------------------------------

    def counted(self, shares: Floats) -> Counts:
        """Return the counts of the rows without a label, shared out among the classes."""
        counter, labels = self.counter.empty_like(), list(self.classes.labels)
        target = Target.of_proportions(labels, shares, np.dtype(object))
        counter.add(self.frame, target, self.weights, self.how.threads)
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

    def begin(self) -> Floats:
        """Return the shares under the model of the labeled rows."""
        shares = np.empty((len(self.classes), self.frame.rows)).T  # a class lies in one piece, as it is counted
        self.expect(self.how.model_of(self.base), shares)
        return shares


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
    result = run_em(mixture, mixture.begin(), how.recipe.em_steps)
    if not result.converged:
        warn_unsettled(result.path, mixture.weight)
    labelled, unlabelled = (float(w.sum()) for w in (mixture.known.weights, mixture.weights))
    return Expected(result.soft, labelled, unlabelled, result.path, result.converged)


def mixture_of(rows: Rows, hard: Counts, declared: Sequence[Label], how: EMSettings) -> Mixture | None:
    """Return rows and counts as they are climbed with; None if every row that weighs something has a label."""
    codes = rows.target.codes
    weights = np.ones(len(codes)) if rows.weights is None else rows.weights
    without, having = (np.flatnonzero((weights > 0) & part) for part in (codes < 0, codes >= 0))
    if not len(without):
        return None
    classes = Axis.declared([*hard.classes.labels, *declared])
    missing = [label for label, n in zip(classes.labels, hard.on(classes), strict=True) if not n]
    if not len(classes) or len(missing) > 1:
        named = f"the classes {missing}" if missing else "any class"
        raise InvalidInput(
            f"No row has a label of {named}, and rows without a label are learned from others. Label a few rows of "
            "each."
        )
    frame = frame_of(rows.source)
    places = classes.places(rows.target.labels)[codes[having]]
    known = LabeledRows(frame.take(having).coded(), places, weights[having])
    counter = TableCounter(hard.schema, tuple(classes.labels))
    return Mixture(hard, known, frame.take(without).coded(), weights[without], counter, classes, how)


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
