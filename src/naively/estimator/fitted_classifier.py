"""A fitted model as a value: settings and fitted state. All answers follow from it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from .._types import AnyArray
from ..data.schema import Schema
from ..data.target import typed
from ..model.default.fit import DefaultFit
from ..model.table_model import TableModel
from ..model.tuning import Smoothing, Tuning
from ..stats import Counts
from .freshness import (
    ESTIMATING,
    has_weighted_columns,
    is_calibrated,
    tuning_in_use,
    warn_if_outdated,
    weights_in_use,
)
from .models import estimated_model, scale_and_bias, smoothing_in_use
from .settings import Parameters
from .state import FittedState

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
    cache: ModelCache = field(default_factory=ModelCache, init=False, repr=False)

    def with_parameters(self, **changes: Any) -> FittedClassifier:
        """Return the same with some settings changed; those of estimating and deciding need no data."""
        return self.under(replace(self.parameters, **changes))

    def under(self, parameters: Parameters) -> FittedClassifier:
        """Return the same state under other settings; what they do not change is not made anew."""
        other = FittedClassifier(parameters, self.state)
        object.__setattr__(other, "cache", self.cache)
        return other

    def followed_by(self, state: FittedState) -> FittedClassifier:
        """Return the model after rows came; as long as they are very few, the same tables answer."""
        other = FittedClassifier(self.parameters, state)
        object.__setattr__(other, "cache", self.cache)
        return other

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
    def tuning(self) -> Tuning:
        """What was tuned, as far as the model as it is set uses it."""
        return tuning_in_use(self.parameters, self.state.tuning)

    @property
    def weights(self) -> DefaultFit | None:
        """The weights of the joint model; None if the textbook model answers."""
        return weights_in_use(self.parameters, self.state.tuning)

    @property
    def is_calibrated(self) -> bool:
        """Whether the probabilities are calibrated, for the counts and the settings as they are now."""
        return is_calibrated(self.parameters, self.state)

    @property
    def has_weighted_columns(self) -> bool:
        """Whether the columns and classes are those that weights were fitted for."""
        return has_weighted_columns(self.parameters, self.state)

    @property
    def smoothing(self) -> Smoothing:
        """The λ in effect: one for all columns, or a dict with one for each."""
        return smoothing_in_use(self.parameters, self.state.tuning)

    @property
    def temperature(self) -> float:
        """The temperature in effect: log joints are divided by it."""
        return 1.0 / scale_and_bias(self)[0]
