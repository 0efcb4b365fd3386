"""A fitted model as a value: settings and fitted state. All answers follow from it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .._types import AnyArray, Floats, Label
from ..data.schema import Schema
from ..data.target import typed
from ..errors import InvalidInput, InvalidSetting, StaleWarning, levels_to_caller
from ..errors.message import Setting
from ..families import Settings
from ..families.family import Unseen
from ..judge.decision import CostMatrix, cost_and_choices
from ..model.column_parts import empirical_prior, given_prior, uniform_prior
from ..model.default.fit import DefaultFit
from ..model.default.joint_counts import JointCounts
from ..model.default.model import DefaultModel
from ..model.leave_one_out import PriorWithout, empirical_without, given_without
from ..model.table_model import TableModel
from ..model.tuning import UNTUNED, Smoothing, Tuning, with_column_smoothing
from ..stats import Counts
from .settings import Parameters, check_choice
from .state import FittedState, NumberInformation

# Settings that a model is estimated with; a change of them acts at once, without the data.
ESTIMATING = ("estimate", "smoothing", "prior", "prior_smoothing", "columns", "missing", "unseen", "max_categories")
# Those of them that weights of the default model depend on.
WEIGHTED = ("columns", "missing", "max_categories")
ROWS, SETTINGS = "The rows that were counted", "Settings of estimating"
# Settings that the estimated model depends on; the others are about counting, or decide about its answers.
MODELLING = (*ESTIMATING, "temperature", "model")


@dataclass
class ModelCache:
    """What was made of a fitted state, until rows come or settings change."""

    version: int = -1  # of the counts
    counts: Counts | None = None  # of all rows, those without a label included
    model: TableModel | None = None
    tuning: Tuning | None = None  # that the model was made with
    parameters: Parameters | None = None  # that the model was estimated with, copied
    unchanging: Parameters | None = None  # the same as they were given, if nobody can change them in place


@dataclass(frozen=True, eq=False)
class FittedClassifier:
    """Settings and what was learned. Answers, explanations, reports and scores are functions of it.

    Attributes
    ----------
    parameters : Parameters
        The settings.
    state : FittedState
        What was learned.
    """

    parameters: Parameters
    state: FittedState
    # Shared by whoever is made by `replace`: what settings and rows do not change is not made again.
    cache: ModelCache = field(default_factory=ModelCache, repr=False)

    def with_parameters(self, **changes: Any) -> FittedClassifier:
        """Return the same with some settings changed; those of estimating and deciding need no data."""
        return replace(self, parameters=replace(self.parameters, **changes))

    @property
    def counts(self) -> Counts:
        """Everything that was counted."""
        return self.state.counts.value

    @property
    def all_counts(self) -> Counts:
        """What the model is estimated from: what was counted, and what is expected of rows without a label."""
        expected = self.state.expected
        if expected is None:
            return self.state.counts.value
        cache = self._current_cache()
        if cache.counts is None:
            cache.counts = self.counts + expected.counts
        return cache.counts

    @property
    def schema(self) -> Schema:
        """What each column is, with remarks on what looks odd."""
        return self.state.schema

    @property
    def classes(self) -> AnyArray:
        """The labels, sorted."""
        return typed(list(self.all_counts.classes.labels), self.state.label_type)

    @property
    def model(self) -> TableModel:
        """The model under the settings as they are now."""
        cache, parameters = self._current_cache(), self.parameters
        model = cache.model  # other threads may empty the cache meanwhile
        if model is not None and cache.unchanging is parameters:
            return model
        if model is None or cache.parameters is None or not cache.parameters.is_same(parameters, MODELLING):
            parameters.check()
            warn_if_outdated(self)
            model = cache.model = estimated_model(self)
            cache.parameters = parameters.snapshot()
        cache.unchanging = parameters if parameters.is_plain(MODELLING) else None
        return model

    def _current_cache(self) -> ModelCache:
        """Return the cache, emptied if rows were counted since."""
        cache, state = self.cache, self.state
        if cache.tuning is not state.tuning:
            cache.model, cache.tuning = None, state.tuning
        if cache.version != state.counts.version:
            if state.kept is None or self.weights is None:  # a default model waits for the next fit to its sample
                cache.model = None
            cache.version, cache.counts = state.counts.version, None
        return cache

    def __getstate__(self) -> dict[str, object]:
        return {"parameters": self.parameters, "state": self.state, "cache": ModelCache()}  # models are made anew

    # -- what was tuned -------------------------------------------------------------------------------------------

    @property
    def weights(self) -> DefaultFit | None:
        """The weights of the default model; None if the textbook model answers."""
        return None if self.parameters.model == "textbook" else self.state.tuning.learned

    @property
    def tuning(self) -> Tuning:
        """What of the tuning the model as it is set uses: weights fitted for one model are of no use to another."""
        tuning = self.state.tuning
        of_another = tuning.learned is not None and self.weights is None
        return replace(UNTUNED, smoothing=tuning.smoothing) if of_another else tuning

    def _has_settings_of_tuning(self, names: Sequence[str]) -> bool:
        """Tell whether some settings are still what they were when something was tuned."""
        before = self.state.tuned_with
        return before is not None and before.is_same(self.parameters, names)

    @property
    def is_tuned_for_settings(self) -> bool:
        """Whether the settings are those of the tuning, as far as they matter to it."""
        return self._has_settings_of_tuning(ESTIMATING if self.state.tuning.learned is None else WEIGHTED)

    @property
    def is_calibrated(self) -> bool:
        """Whether the probabilities are calibrated, for the counts and the settings as they are now."""
        return self.tuning.calibrated and self.state.tuning.fresh and self.is_tuned_for_settings

    @property
    def has_weighted_columns(self) -> bool:
        """Whether the columns and classes are those that weights were fitted for."""
        known = tuple(self.state.counts.value.classes.labels) == self.state.tuning.classes
        return known and self._has_settings_of_tuning(WEIGHTED)

    @property
    def smoothing(self) -> Smoothing:
        """The λ in effect: one for all columns, or a dict with one for each; 1 if there were no rows to choose it."""
        given, chosen = self.parameters.smoothing, self.state.tuning.smoothing
        if not isinstance(given, str):
            return float(given)
        return 1.0 if chosen is None else chosen

    @property
    def temperature(self) -> float:
        """The temperature in effect: log joints are divided by it."""
        given = self.parameters.given_temperature()
        return 1.0 / self.tuning.scale if given is None else given


# -- whether what was tuned is current ---------------------------------------------------------------------------------


def outdated(state: FittedState) -> FittedState:
    """Return the state after rows were added or removed; the same one, if it was out of date already.

    Where rows are kept, what was tuned is not out of date: it is tuned anew when enough rows came or went.
    """
    information, tuning = state.information, state.tuning
    if information is not None and information.is_current:
        state = replace(state, information=information.outdated())
    if state.kept is None and tuning.fresh and tuning.calibrated:
        state = replace(state, tuning=replace(tuning, fresh=False))
    return state


def warn_of_new_rows(before: FittedState, fitted: FittedClassifier) -> None:
    """Warn, once, that rows were added or removed since the model was tuned; not if rows are kept to tune it anew."""
    if before.tuning.fresh and not fitted.state.tuning.fresh and fitted.tuning.calibrated:
        _warn(ROWS, fitted)


def warn_if_outdated(fitted: FittedClassifier) -> None:
    """Warn if rows or settings have changed since the model was tuned, and no warning was given yet."""
    if not fitted.tuning.calibrated:
        return
    if not fitted.state.tuning.fresh:
        _warn(ROWS, fitted)
    elif not fitted.is_tuned_for_settings:
        _warn(SETTINGS, fitted)


def _warn(what: str, fitted: FittedClassifier) -> None:
    """Warn that something changed since the model was tuned, unless a warning was given before."""
    notice = fitted.state.notice
    if notice.given:
        return
    notice.given = True
    # Rows are kept to fit weights anew; a model from a file has none, unless they were saved with it.
    without = " It holds no row to do so by itself, as one from a file of save(path, rows=True) does."
    kept = what == SETTINGS or fitted.state.kept is not None
    warnings.warn(
        f"{what} have changed since the model was calibrated. {_used_meanwhile(fitted)} still used; call "
        f"calibrate(X, y) with the rows that are counted now to fit it anew.{'' if kept else without}",
        StaleWarning,
        stacklevel=levels_to_caller(),
    )


def _used_meanwhile(fitted: FittedClassifier) -> str:
    """Return what a model that is out of date goes on with."""
    tuning = fitted.state.tuning
    if fitted.weights is None and not (tuning.scale == 1.0 and tuning.bias is None):
        return "The old temperature is"
    if not fitted.has_weighted_columns:
        return "The textbook model is"
    return "The old weights of the default model are"


# -- from a state to the model that answers ----------------------------------------------------------------------------


def estimated_model(fitted: FittedClassifier) -> TableModel:
    """Return the model under the settings as they are, with what was tuned."""
    if not len(fitted.all_counts.classes):
        raise InvalidInput("The model has no rows left: all were forgotten. Add some with partial_fit first.")
    if fitted.weights is not None and fitted.has_weighted_columns:
        return default_model(fitted, fitted.weights, fitted.weights.joint)
    if (temperature := fitted.parameters.given_temperature()) is not None:
        scale, bias = 1.0 / temperature, None
    else:
        scale, bias = fitted.tuning.scale, fitted.tuning.bias_of(fitted.all_counts.classes)
    return smoothed_model(fitted, fitted.smoothing, fitted.parameters.unseen, scale, bias)


def smoothed_model(
    fitted: FittedClassifier,
    smoothing: Smoothing,
    unseen: Unseen | None = None,
    scale: float = 1.0,
    bias: Floats | None = None,
) -> TableModel:
    """Return the textbook model of all rows under some smoothing; by default a value never seen is no error."""
    parameters = fitted.parameters
    if unseen is None:
        unseen = "skip" if parameters.unseen == "error" else parameters.unseen
    settings = parameters.settings(1.0 if isinstance(smoothing, dict) else smoothing)
    settings = replace(settings, unseen=unseen, marginal=fitted.state.expected is not None)
    schema = with_column_smoothing(fitted.schema, smoothing)
    return textbook_model(parameters, fitted.all_counts, schema, settings, scale, bias)


def textbook_model(
    parameters: Parameters,
    counts: Counts,
    schema: Schema,
    settings: Settings,
    scale: float = 1.0,
    bias: Floats | None = None,
) -> TableModel:
    """Return the textbook model of some counts."""
    schema = schema if parameters.columns is None else schema.only(parameters.columns)
    return TableModel(counts, schema, settings, log_prior(parameters, counts), parameters.max_categories, scale, bias)


def default_model(fitted: FittedClassifier, weights: DefaultFit | None, joint: JointCounts) -> DefaultModel:
    """Return the default model of what was counted jointly; without weights, what they are fitted to."""
    parameters, smoothing, schema = fitted.parameters, fitted.smoothing, fitted.schema
    prior = log_prior(parameters, fitted.all_counts)
    # How far a prior that was set lies from the usual one.
    shift = None if parameters.has_empirical_prior else prior - empirical_prior(fitted.counts.rows, Settings())
    temperature = None if weights is None else parameters.given_temperature()
    return DefaultModel(
        fitted.all_counts,
        schema if parameters.columns is None else schema.only(parameters.columns),
        parameters.settings(1.0 if isinstance(smoothing, dict) else smoothing),
        prior,
        parameters.max_categories,
        weights,
        joint,
        shift,
        1.0 if temperature is None else 1.0 / temperature,
        parameters.recipe,
    )


# -- the class prior and the costs of mistakes -------------------------------------------------------------------------


def log_prior(parameters: Parameters, counts: Counts) -> Floats:
    """Return the logarithm of the prior probability of each class that was counted."""
    prior, labels = parameters.prior, list(counts.classes.labels)
    if isinstance(prior, str):
        if prior == "empirical":
            return empirical_prior(counts.rows, parameters.settings(parameters.prior_smoothing))
        check_choice("prior", prior, ("empirical", "uniform"))
        return uniform_prior(len(labels))
    if isinstance(prior, Mapping):
        if set(prior) != set(labels):
            raise InvalidSetting(
                Setting("prior"),
                f" names the classes {sorted(map(str, prior))}; give one for each of {labels}.",
                value=prior,
                classes=labels,
            )
        return given_prior(_numbers_of([prior[label] for label in labels]), len(labels))
    return given_prior(_numbers_of(prior), len(labels))


def prior_pseudo_counts(parameters: Parameters) -> float | None:
    """Return the pseudo-count of each class in the empirical prior; None if the prior was given."""
    if not parameters.has_empirical_prior:
        return None
    return float(parameters.settings(parameters.prior_smoothing).pseudo_counts)


def prior_without_row(parameters: Parameters, counts: Counts) -> PriorWithout:
    """Return what gives the log prior of the classes for each row, leaving that row out."""
    if parameters.has_empirical_prior:
        return empirical_without(parameters.settings(parameters.prior_smoothing))
    return given_without(log_prior(parameters, counts))


def costs_of_scores(
    parameters: Parameters, classes: Sequence[Label], known: int | None = None
) -> tuple[str | CostMatrix | None, float | None]:
    """Return the costs of the choices in the order of the classes, and the price of not answering.

    Only the first `known` classes are the model's: it cannot choose the others. By a dict of costs every mistake about
    those costs 1; a matrix of costs has no line for them, so their cost is unknown.
    """
    if isinstance(parameters.cost, str):
        numeric_classes(np.array(classes))
        return parameters.cost, parameters.reject
    labels = np.empty(len(classes), dtype=object)
    labels[:] = classes
    matrix, choices = cost_and_choices(parameters.cost, labels[:known])
    if matrix is None:
        return None, parameters.reject
    price = 1.0 if isinstance(parameters.cost, dict) else np.nan
    more = np.full((len(labels) - len(matrix), matrix.shape[1]), price)
    return CostMatrix(np.vstack([matrix, more]), tuple(choices.tolist())), parameters.reject


def numeric_classes(classes: AnyArray) -> AnyArray:
    """Return the labels if they are numbers, as costs of numbers need them."""
    if classes.dtype.kind not in "biuf":
        raise InvalidSetting(
            Setting("cost", "squared"),
            " and ",
            Setting("cost", "absolute"),
            f" need numbers as labels; found {classes[:3].tolist()}.",
            classes=list(classes),
        )
    return classes


def _numbers_of(values: npt.ArrayLike) -> Floats:
    """Return the probabilities of a prior, if they are numbers."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidSetting(Setting("prior", values), " must hold numbers.") from None


# -- the rows that a model retains ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class KeptRowCount:
    """How many rows a model keeps beside its counts, to fit anew what was chosen on top of them.

    Parameters
    ----------
    rows : int
        Rows that are kept; those of the same content count one by one.
    complete : bool
        Whether these are all rows that were counted.
    nbytes : int
        How many bytes of memory their cells take.
    counted : float or None
        How many rows were counted; None if they have weights, so that their number is not known.
    """

    rows: int
    complete: bool
    nbytes: int
    counted: float | None

    def __str__(self) -> str:
        if not self.rows:
            return "no row"
        if self.complete:
            return "1 row, as it is" if self.rows == 1 else f"all {self.rows:,} rows, as they are"
        if self.counted is None:
            return f"{self.rows:,} of the rows, as they are"
        return f"{self.rows:,} of {self.counted:,.0f} rows, as they are"


def kept_row_count(fitted: FittedClassifier) -> KeptRowCount:
    """Return how many rows a model keeps."""
    state, kept = fitted.state, fitted.state.kept
    faded = kept is not None and kept.held is not None and kept.held.weights is not None
    weighted = faded or state.row_weights is not None or state.class_weights is not None
    counted = None if weighted else float(fitted.counts.rows.sum())
    if kept is None:
        return KeptRowCount(0, False, 0, counted)
    return KeptRowCount(kept.total, kept.complete, kept.nbytes, counted)


def without_kept_rows(fitted: FittedClassifier) -> FittedClassifier:
    """Return the model without the rows that it keeps: counts and weights stay."""
    state = fitted.state
    measured = None if state.information is None else NumberInformation(measured=state.information.measured)
    return FittedClassifier(fitted.parameters, replace(state, kept=None, information=measured))
