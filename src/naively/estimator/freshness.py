"""Whether what was tuned on top of the counts is of use to the settings, and current: rows and settings may change."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import StaleWarning, levels_to_caller
from ..model.default.fit import DefaultFit
from ..model.tuning import UNTUNED, Tuning
from .settings import Parameters
from .state import FittedState

if TYPE_CHECKING:
    from .fitted_classifier import FittedClassifier

# Settings that a model is estimated with; a change of them acts at once, without the data.
ESTIMATING = ("estimate", "smoothing", "prior", "prior_smoothing", "columns", "missing", "unseen", "max_categories")
# Those of them that weights of the joint model depend on.
WEIGHTED = ("columns", "missing", "max_categories")
ROWS, SETTINGS = "The rows that were counted", "Settings of estimating"


def weights_in_use(parameters: Parameters, tuning: Tuning) -> DefaultFit | None:
    """Return the weights of the joint model; None for the textbook model."""
    return None if parameters.model == "textbook" else tuning.learned


def tuning_in_use(parameters: Parameters, tuning: Tuning) -> Tuning:
    """Return what of a tuning the model as it is set uses: weights fitted for one model are of no use to another."""
    of_another = tuning.learned is not None and weights_in_use(parameters, tuning) is None
    return replace(UNTUNED, smoothing=tuning.smoothing) if of_another else tuning


def depends_on_rows(parameters: Parameters, tuning: Tuning) -> bool:
    """Tell whether the model as it is set was calibrated: whether a temperature or weights were fitted."""
    return tuning_in_use(parameters, tuning).calibrated


def is_since_tuned(parameters: Parameters, state: FittedState, names: Sequence[str]) -> bool:
    """Tell whether some settings are still what they were when something was tuned."""
    return state.tuned_with is not None and state.tuned_with.is_same(parameters, names)


def is_tuned_with(parameters: Parameters, state: FittedState) -> bool:
    """Tell whether the settings are those of the tuning, as far as they matter to it."""
    return is_since_tuned(parameters, state, ESTIMATING if state.tuning.learned is None else WEIGHTED)


def is_calibrated(parameters: Parameters, state: FittedState) -> bool:
    """Tell whether the probabilities are calibrated, for the counts and the settings as they are now."""
    used = tuning_in_use(parameters, state.tuning)
    return used.calibrated and state.tuning.fresh and is_tuned_with(parameters, state)


def has_weighted_columns(parameters: Parameters, state: FittedState) -> bool:
    """Tell whether the columns and classes are those that weights were fitted for."""
    known = tuple(state.counts.value.classes.labels) == state.tuning.classes
    return is_since_tuned(parameters, state, WEIGHTED) and known


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
    newly = before.tuning.fresh and not fitted.state.tuning.fresh
    if newly and depends_on_rows(fitted.parameters, fitted.state.tuning):
        _warn(ROWS, fitted)


def warn_if_outdated(fitted: FittedClassifier) -> None:
    """Warn if rows or settings have changed since the model was tuned, and no warning was given yet."""
    parameters, state = fitted.parameters, fitted.state
    used = tuning_in_use(parameters, state.tuning)
    if depends_on_rows(parameters, state.tuning) and not used.fresh:
        _warn(ROWS, fitted)
    elif used.calibrated and not is_tuned_with(parameters, state):
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
    parameters, state = fitted.parameters, fitted.state
    if weights_in_use(parameters, state.tuning) is None:
        return "The old temperature is"
    if not has_weighted_columns(parameters, state):
        return "The textbook model is"
    return "The old weights of the default model are"
