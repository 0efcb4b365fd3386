"""From a fitted state to the model that answers: every model of the estimator is made here."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .._types import Floats
from ..data.schema import Schema
from ..errors import InvalidInput
from ..families import Settings
from ..families.family import Unseen
from ..model.default.fit import DefaultFit
from ..model.default.joint_counts import JointCounts
from ..model.default.model import DefaultModel
from ..model.estimate import empirical_prior
from ..model.table_model import TableModel
from ..model.tuning import Smoothing, Tuning, with_column_smoothing
from ..stats import Counts
from .priors_and_costs import log_prior
from .settings import Parameters

if TYPE_CHECKING:
    from .fitted_classifier import FittedClassifier


def estimated_model(fitted: FittedClassifier) -> TableModel:
    """Return the model under the settings as they are, with what was tuned."""
    if not len(fitted.all_counts.classes):
        raise InvalidInput("The model has no rows left: all were forgotten. Add some with partial_fit first.")
    if fitted.weights is not None and fitted.has_weighted_columns:
        return default_model(fitted, fitted.weights, fitted.weights.joint)
    scale, bias = scale_and_bias(fitted)
    return _textbook_model(fitted, fitted.smoothing, fitted.parameters.unseen, scale, bias)


def untuned_model(fitted: FittedClassifier, smoothing: Smoothing) -> TableModel:
    """Return the textbook model under some smoothing, without a temperature; a value never seen is no error here."""
    unseen = fitted.parameters.unseen
    return _textbook_model(fitted, smoothing, "skip" if unseen == "error" else unseen)


def _textbook_model(
    fitted: FittedClassifier, smoothing: Smoothing, unseen: Unseen, scale: float = 1.0, bias: Floats | None = None
) -> TableModel:
    """Return the textbook model of all that was learned."""
    schema, settings = _with_smoothing(fitted, smoothing)
    settings = replace(settings, unseen=unseen, marginal=fitted.state.expected is not None)
    return textbook_model(fitted.parameters, fitted.all_counts, schema, settings, scale, bias)


def textbook_model(
    parameters: Parameters,
    counts: Counts,
    schema: Schema,
    settings: Settings,
    scale: float = 1.0,
    bias: Floats | None = None,
) -> TableModel:
    """Return the textbook model of some counts."""
    prior, most = log_prior(parameters, counts), parameters.max_categories
    return TableModel(counts, _used_columns(parameters, schema), settings, prior, most, scale, bias)


def default_model(fitted: FittedClassifier, weights: DefaultFit | None, joint: JointCounts) -> DefaultModel:
    """Return the default model of what was counted jointly; without weights, what they are fitted to."""
    parameters, counts, smoothing = fitted.parameters, fitted.counts, fitted.smoothing
    settings = parameters.settings(1.0 if isinstance(smoothing, dict) else smoothing)
    shift = _prior_shift(fitted, empirical_prior(counts.rows, Settings()))
    return DefaultModel(
        fitted.all_counts,
        _used_columns(parameters, fitted.schema),
        settings,
        log_prior(parameters, fitted.all_counts),
        parameters.max_categories,
        weights,
        joint,
        shift,
        _given_scale(parameters, weights),
        parameters.recipe,
    )


def smoothing_in_use(parameters: Parameters, tuning: Tuning) -> Smoothing:
    """Return the λ in effect: one for all columns, or one for each; 1 if there were no rows to choose it."""
    if not isinstance(parameters.smoothing, str):
        return float(parameters.smoothing)
    return 1.0 if tuning.smoothing is None else tuning.smoothing


def scale_and_bias(fitted: FittedClassifier) -> tuple[float, Floats | None]:
    """Return what log joints are multiplied by, and what is added to them for each class."""
    temperature = fitted.parameters.given_temperature()
    if temperature is not None:
        return 1.0 / temperature, None
    return fitted.tuning.scale, fitted.tuning.bias_of(fitted.all_counts.classes)


def _with_smoothing(fitted: FittedClassifier, smoothing: Smoothing) -> tuple[Schema, Settings]:
    """Return the schema and the settings under some smoothing; one for each column is a matter of the schema."""
    schema = with_column_smoothing(fitted.schema, smoothing)
    return schema, fitted.parameters.settings(1.0 if isinstance(smoothing, dict) else smoothing)


def _used_columns(parameters: Parameters, schema: Schema) -> Schema:
    """Return the schema of the columns that are used."""
    return schema if parameters.columns is None else schema.only(parameters.columns)


def _prior_shift(fitted: FittedClassifier, usual: Floats) -> Floats | None:
    """Return how far the prior that was set lies from the usual one; None if it is the usual one."""
    parameters = fitted.parameters
    return None if parameters.has_empirical_prior else log_prior(parameters, fitted.all_counts) - usual


def _given_scale(parameters: Parameters, fitted: DefaultFit | None) -> float:
    """Return what the scores of a model with weights are multiplied by: only a temperature that was set."""
    temperature = None if fitted is None else parameters.given_temperature()
    return 1.0 if temperature is None else 1.0 / temperature
