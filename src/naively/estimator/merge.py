"""Models of the same columns, added up: what was counted in several places becomes one model."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, overload

from .._types import Label
from ..data.schema import Schema
from ..errors import IncompatibleCounts, InvalidInput, LargestFitWarning, levels_to_caller
from ..errors.message import Message, Setting
from ..stats import Counts
from .fitted_classifier import FittedClassifier, outdated, warn_of_new_rows
from .held_out import merged_scores
from .reports import measured_information
from .state import FittedState, NumberInformation
from .update import bare_schema, merged_state, with_types_of_others

if TYPE_CHECKING:
    from .naive_bayes import NaiveBayes

# Merged without rows, 4 parts have so many times the log loss of one fit, on held-out rows: the median of public tables
# where each part has at least so many rows, and where one has fewer.
ENOUGH_ROWS, RATIO_OF_LARGE_PARTS, RATIO_OF_SMALL_PARTS = 5_000, 1.13, 1.42


@overload
def merge(models: Iterable[NaiveBayes], /, *, names: Sequence[Label] | None = None) -> NaiveBayes: ...
@overload
def merge(*models: NaiveBayes, names: Sequence[Label] | None = None) -> NaiveBayes: ...
def merge(*models: NaiveBayes | Iterable[NaiveBayes], names: Sequence[Label] | None = None) -> NaiveBayes:
    """Return the model of the rows of all models.

    The first model gives the columns and the settings; nothing has to be agreed on before. Where all models keep their
    rows, and these are up to 50,000, the result is the model of one fit of all rows. With more rows, counts are exact,
    and everything else is fitted anew to the rows that are retained. Models without rows, from files that hold none,
    have their counts added, and what was fitted is that of the largest; a `LargestFitWarning` says how good that
    is expected to be. ``0.9 * old`` lets the rows of a model fade.

    Parameters
    ----------
    *models : NaiveBayes
        Fitted classifiers, one by one or as a list.
    names : sequence, optional
        What an error calls the models, such as the files they came from; by default their numbers.

    Returns
    -------
    NaiveBayes
        A new classifier; the models stay as they are.

    Raises
    ------
    IncompatibleCounts
        If the models are not of the same columns, or not of the same target.

    Examples
    --------
    >>> import naively as nv
    >>> monday = nv.NaiveBayes().fit({"sky": ["rain", "sunny"]}, ["in", "out"])
    >>> tuesday = nv.NaiveBayes().fit({"sky": ["rain", "rain"]}, ["in", "out"])
    >>> nv.merge(monday, tuesday).counts_ == nv.merge([monday, tuesday]).counts_
    True
    >>> nv.merge(monday, tuesday).counts_
    Counts: 4 rows (in: 2, out: 2), 1 columns
    """
    given = _listed_models(models)
    return type(given[0]).from_fitted(merge_models([model._to_add() for model in given], names))


def merge_models(models: Sequence[FittedClassifier], names: Sequence[Label] | None = None) -> FittedClassifier:
    """Return the fitted model of the rows of all models."""
    models = with_types_of_others(models)
    first, called = models[0], list(names or (f"Model {index + 1}" for index in range(len(models))))
    every = all(model.state.kept is not None and model.state.kept.complete for model in models)
    schema = _schema_of(first, every)
    for other, name in zip(models[1:], called[1:], strict=True):
        try:
            _check_targets(first, other)
            schema = schema.beside(_schema_of(other, every))
            first.counts.check_columns(other.counts)
        except IncompatibleCounts as error:
            raise IncompatibleCounts(
                f"{called[0]} and {name} do not fit together. ", error.message, column=error.column
            ) from None
    families = first.parameters.families if every else first.schema.unusual() or None
    parameters = replace(first.parameters, families=families)
    state = merged_state(parameters, [model.state for model in models], schema)
    classes = tuple(state.counts.value.classes.labels)
    if state.counts.value.classes == first.counts.classes:
        state = replace(state, label_type=first.state.label_type)
    if state.kept is not None:
        return FittedClassifier(parameters, state)
    fits = [model for model in models if model.weights is None or model.state.tuning.classes == classes]
    largest = max(fits or models, key=lambda model: float(model.counts.rows.sum()))
    before = replace(_with_tuning_of(state, largest), held_out=merged_scores(models, parameters))
    merged = FittedClassifier(parameters, outdated(before))
    if any(model.weights is not None for model in models):
        before.notice.given = True
        _warn_of_lost_rows(models)
    warn_of_new_rows(before, merged)
    return merged


def _warn_of_lost_rows(models: Sequence[FittedClassifier]) -> None:
    """Warn that nothing could be fitted to the rows of all models, and say how good the result is expected to be."""
    fewest = min(float(model.counts.rows.sum()) for model in models)
    large = fewest >= ENOUGH_ROWS
    parts = f"parts of {ENOUGH_ROWS:,} rows or more" if large else f"parts of fewer than {ENOUGH_ROWS:,} rows"
    ratio = RATIO_OF_LARGE_PARTS if large else RATIO_OF_SMALL_PARTS
    warnings.warn(
        Message(
            "Not all of these models keep their rows: counts are added, and what was fitted is that of the largest "
            f"model; compared with one fit, {parts} gave {ratio:.2f} times its log loss in the median of public data. "
            "To merge exactly, write files with rows: ",
            Setting("rows", True, of="save(...)"),
            ".",
        ),
        LargestFitWarning,
        stacklevel=levels_to_caller(),
    )


def _schema_of(model: FittedClassifier, every: bool) -> Schema:
    """Return what the columns of a model are; where every row is kept, bins are cut anew."""
    return bare_schema(model.parameters, model.schema) if every else model.schema


def _with_tuning_of(state: FittedState, other: FittedClassifier) -> FittedState:
    """Return a state with what another model tuned, as if it had tuned it for the counts of this state."""
    measured, tuning = measured_information(other), other.state.tuning
    state = replace(state, information=None if measured is None else NumberInformation(measured=measured.stale))
    if not tuning.calibrated:
        return state
    return replace(state, tuning=replace(tuning, fresh=True), tuned_with=other.state.tuned_with)


def _listed_models(models: Sequence[NaiveBayes | Iterable[NaiveBayes]]) -> list[NaiveBayes]:
    """Return models as a list, whether they were given one by one or as one; an error names what is no model."""
    from .naive_bayes import NaiveBayes

    one = models[0] if len(models) == 1 and not isinstance(models[0], NaiveBayes) else models
    is_list = isinstance(one, Iterable) and not isinstance(one, (str, bytes, Mapping))
    given: list[NaiveBayes] = list(one) if is_list else [one]  # type: ignore[arg-type, list-item] # checked below
    if not given:
        raise InvalidInput("There is no model to merge; give one or more.")
    for index, model in enumerate(given):
        if not isinstance(model, NaiveBayes):
            file = " Load a model from its file first: nv.load(…)." if isinstance(model, (str, Path)) else ""
            raise InvalidInput(
                f"merge adds up models of nv.NaiveBayes, but number {index + 1} of those given is {model!r:.60} of "
                f"type {type(model).__name__}.{file}{' Counts add up by +.' if isinstance(model, Counts) else ''}"
            )
    return given


def _check_targets(a: FittedClassifier, b: FittedClassifier) -> None:
    """Refuse classes of different columns, and of different kinds."""
    names = {name for name in (a.schema.target, b.schema.target) if name is not None}
    if len(names) > 1:
        raise IncompatibleCounts(f"Their classes are those of the columns {' and '.join(sorted(map(repr, names)))}.")
    kinds = [{isinstance(label, str) for label in fitted.classes.tolist()} for fitted in (a, b)]
    if all(kinds) and kinds[0] != kinds[1]:
        raise IncompatibleCounts(
            f"Their classes are texts in one and numbers in the other: {a.classes.tolist()[:3]} and "
            f"{b.classes.tolist()[:3]}."
        )
