"""What is chosen on top of the counts: smoothing, temperature, weights and coefficients of the default model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._types import ColumnLike, TableLike
from ..counting.counter import TableCounter
from ..counting.reading import labeled_rows, with_class_weights
from ..counting.rows import Rows, check_widths
from ..errors import InvalidInput, InvalidSetting, NotASubset
from ..errors.message import RowNumber, Setting
from ..files.file import file_of
from ..model.default.fitting import enough, fit_to_rows, without_fit_remarks
from ..model.leave_one_out import rows_with_weight, truth_of
from ..model.recipe import RECIPE
from ..model.scorer import AdditiveModel
from ..model.tuning import (
    MOST_SCORES,
    UNTUNED,
    Calibration,
    CalibrationRows,
    Tuning,
    TuningTask,
    fit_calibration,
    tune_on_held_out_rows,
    tune_smoothing_and_temperature,
    tuning_sample,
)
from ..stats import Counts
from .fitted_classifier import FittedClassifier, default_model, prior_without_row, smoothed_model
from .settings import Parameters
from .state import FittedState


def fits_weights(parameters: Parameters, state: FittedState, rows: Rows, fewest: int = RECIPE.fewest_rows) -> bool:
    """Tell whether weights are fitted on these rows; not where rows without a label took part."""
    if parameters.model == "textbook" or state.expected is not None:
        return False
    return enough(rows, fewest, parameters.recipe)


def tuned_to_rows(
    parameters: Parameters, state: FittedState, rows: Rows, fewest: int = RECIPE.fewest_rows
) -> FittedState:
    """Return the state with what the settings leave to rows that were counted, all of them or a sample.

    Weights are fitted from so many rows on: a fold has fewer of them than its table.
    """
    rows = rows_with_weight(rows)
    weighted = fits_weights(parameters, state, rows, fewest)
    calibrated = parameters.chooses_temperature and not weighted
    if calibrated or parameters.chooses_smoothing:
        several = rows.target.rows > 1
        tuning = _smoothing_and_temperature(parameters, state, rows, calibrated=calibrated) if several else UNTUNED
        state = state.tuned(tuning, parameters)
    if weighted:
        state = _with_weights(parameters, state, rows)
    return replace(state, tuned_with=parameters.snapshot())


def _smoothing_and_temperature(parameters: Parameters, state: FittedState, rows: Rows, *, calibrated: bool) -> Tuning:
    """Return the smoothing and the temperature of least leave-one-out log loss."""
    if state.expected is not None:
        raise InvalidInput(
            "Leave-one-out is not defined after expectation-maximization: each row's own label took part in it. "
            "Set smoothing and temperature by hand, or calibrate with held-out rows: "
            "calibrate(X, y, held_out=True)."
        )

    def calibration(rated: CalibrationRows) -> Calibration:
        if calibrated:
            return fit_calibration(rated, parameters.has_empirical_prior)
        temperature = parameters.given_temperature()
        scale = 1.0 if temperature is None else 1.0 / temperature
        return Calibration(scale, None, rated.loss(scale))

    fitted = FittedClassifier(parameters, state)
    task = TuningTask(
        lambda smoothing: smoothed_model(fitted, smoothing),
        fitted.counts,
        rows,
        prior_without_row(parameters, fitted.all_counts),
        parameters.threads,
        [by for by in parameters.recipe.smoothing_grid if by >= 1 or parameters.estimate != "map"],
        parameters.recipe,
        calibration,
    )
    given = None if isinstance(parameters.smoothing, str) else float(parameters.smoothing)
    return tune_smoothing_and_temperature(task, given, calibrated)


def _with_weights(parameters: Parameters, state: FittedState, given: Rows) -> FittedState:
    """Return the state with the weights and coefficients of the default model, fitted to rows or a sample of them."""
    fitted = FittedClassifier(parameters, state)
    fit, remarks = fit_to_rows(
        lambda joint: default_model(fitted, None, joint),
        state.counts.counter,
        given,
        None if parameters.columns is None else list(parameters.columns),
        parameters.missing == "value",
        parameters.threads,
        parameters.recipe,
    )
    hints = (*without_fit_remarks(state.schema.hints), *remarks)
    # What was chosen before on top of other counts, or for another model, is over.
    tuning = replace(
        UNTUNED,
        smoothing=state.tuning.smoothing,
        classes=tuple(fitted.counts.classes.labels),
        calibrated=True,
        held_out=True,
        learned=fit,
        rows=float(fit.rows),
        loss_before=next(iter(fit.loss.values())),
        loss_after=fit.last_loss,
    )
    return replace(state, schema=replace(state.schema, hints=hints)).tuned(tuning, parameters)


# -- calibration with rows that are given ------------------------------------------------------------------------------


def calibrated_state(
    fitted_model: FittedClassifier,
    X: TableLike,
    y: ColumnLike,
    sample_weight: ColumnLike,
    target: str | None,
    *,
    held_out: bool,
) -> FittedState:
    """Return the state with probabilities calibrated on these rows; `NaiveBayes.calibrate` says how."""
    parameters, state = fitted_model.parameters, fitted_model.state
    if parameters.given_temperature() is not None:
        raise InvalidSetting(
            Setting("temperature", parameters.temperature),
            " is set by hand, so there is none to fit; set it to None or 'auto'.",
        )
    if file_of(X) is not None:
        raise InvalidInput("Calibration takes the rows in memory; read the file into a table first.")
    given = labeled_rows(X, y, target, sample_weight, parameters.unlabelled, state.schema)
    rows = rows_with_weight(with_class_weights(given, state.class_weights))
    check_widths(rows.source, fitted_model.model.schema, fitted_model.counts)
    if held_out:
        return _calibrated_on_held_out_rows(fitted_model, rows)
    _check_counted(fitted_model, given, rows)
    if not fits_weights(parameters, state, rows):
        return state.tuned(_smoothing_and_temperature(parameters, state, rows, calibrated=True), parameters)
    _check_all(fitted_model, rows)
    return _with_weights(parameters, state, rows)


def _calibrated_on_held_out_rows(fitted: FittedClassifier, rows: Rows) -> FittedState:
    """Return the state with a temperature for rows that were never counted; the smoothing stays."""
    parameters, state = fitted.parameters, fitted.state
    if parameters.model != "textbook" and state.tuning.learned is not None:
        raise InvalidSetting(
            Setting("model", parameters.model),
            " fits its weights on the rows that were counted: calibrate(X, y) with those. To calibrate the "
            "textbook model on held-out rows, set ",
            Setting("model", "textbook"),
            ".",
        )
    counts, threads = fitted.all_counts, parameters.threads
    rows = tuning_sample(rows, MOST_SCORES // len(counts.classes), state.schema, threads, parameters.recipe)
    model = smoothed_model(fitted, fitted.smoothing)
    joint = model.answer(AdditiveModel.log_joint, rows.source, threads)
    joint[np.isneginf(joint).all(axis=1)] = model.scorer.log_prior
    scored = CalibrationRows.of(joint, truth_of(rows, counts), rows.weights)
    tuning = tune_on_held_out_rows(scored, model.classes, parameters.has_empirical_prior)
    return state.tuned(replace(tuning, smoothing=state.tuning.smoothing), parameters)


def _check_all(fitted_model: FittedClassifier, rows: Rows) -> None:
    """Refuse rows that are not all that were counted: the default model is fitted to all of them."""
    counted = fitted_model.counts.rows.sum()
    given = sum(
        float(w.sum()) if w is not None else len(y) for _, y, w in rows.blocks(fitted_model.state.counts.counter)
    )
    if not np.isclose(given, counted):
        raise InvalidInput(
            f"{rows.target.rows} rows were given, but {counted:.10g} were counted, and the default model needs all of "
            "them. Give all rows that the model was fitted with, or set ",
            Setting("model", "textbook"),
            ".",
        )


def _check_counted(fitted_model: FittedClassifier, given: Rows, rows: Rows) -> None:
    """Refuse rows that were never counted: folds are subtracted from the counts, so each row must be among them."""
    state, threads = fitted_model.state, fitted_model.parameters.threads
    first = None if state.kept is None else state.kept.first_unknown(given, threads)
    if first is None:
        part = TableCounter(state.schema)
        rows.count(part, threads)
        counts = state.counts.value
        try:
            Counts(counts.classes, counts.rows, counts.columns, state.schema) - part.value()
        except NotASubset as error:
            raise InvalidInput(
                "Calibration leaves each row out of the counts, but some of these rows were never counted. ",
                error.message,
                *_for_others(fitted_model.parameters.model),
                column=error.column,
            ) from None
        return
    raise InvalidInput(
        RowNumber(first),
        " was never counted, and calibration leaves each row out of the counts.",
        *_for_others(fitted_model.parameters.model),
    )


def _for_others(model: str) -> list[str]:
    """Return what to do with rows that were never counted."""
    if model == "textbook":
        return [" For rows that were held out: calibrate(X, y, held_out=True)."]
    return [" To learn from these rows, too: partial_fit(X, y)."]
