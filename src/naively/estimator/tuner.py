"""What is chosen on top of the counts: smoothing, temperature, weights and coefficients of the default model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._types import ColumnLike, TableLike
from ..counting.counter import TableCounter
from ..counting.rows import Rows, check_widths, count_rows, labeled_rows
from ..counting.sampled_rows import counted_blocks
from ..counting.weights import with_class_weights
from ..data.frame import Frame
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


class Tuner:
    """Chooses from rows what the settings leave open; the state it was given stays as it is."""

    def __init__(self, parameters: Parameters, state: FittedState) -> None:
        self.parameters, self.state = parameters, state

    # -- what is to be chosen -------------------------------------------------------------------------------------

    def fit(self, rows: Rows, fewest: int = RECIPE.fewest_rows) -> FittedState:
        """Return the state with what the settings leave to rows that were counted, all of them or a sample.

        Weights are fitted from so many rows on: a fold has fewer of them than its table.
        """
        rows = rows_with_weight(rows)
        weighted = self.fits_weights(rows, fewest)
        calibrated = self.parameters.chooses_temperature and not weighted
        if calibrated or self.parameters.chooses_smoothing:
            self._keep(self._tuned(rows, calibrated=calibrated) if rows.target.rows > 1 else UNTUNED)
        if weighted:
            self._keep(self._weights(rows))
        return replace(self.state, tuned_with=self.parameters.snapshot())

    def calibrate(self, rows: Rows) -> FittedState:
        """Return the state tuned anew on all rows that were counted."""
        if not self.fits_weights(rows):
            self._keep(self._tuned(rows, calibrated=True))
            return self.state
        self._keep(self._weights(rows))
        return self.state

    def calibrate_held_out(self, rows: Rows) -> FittedState:
        """Return the state with a temperature for rows that were never counted; the smoothing stays."""
        before, parameters = self.state.tuning, self.parameters
        if parameters.model != "textbook" and before.learned is not None:
            raise InvalidSetting(
                Setting("model", parameters.model),
                " fits its weights on the rows that were counted: calibrate(X, y) with those. To calibrate the "
                "textbook model on held-out rows, set ",
                Setting("model", "textbook"),
                ".",
            )
        fitted_model = FittedClassifier(parameters, self.state)
        counts, threads = fitted_model.all_counts, parameters.threads
        most = MOST_SCORES // len(counts.classes)
        rows = tuning_sample(rows, most, self.state.schema, threads, parameters.recipe)
        model = smoothed_model(fitted_model, fitted_model.smoothing)
        joint = model.answer(AdditiveModel.log_joint, rows.source, threads)
        out = np.isneginf(joint).all(axis=1)
        joint[out] = model.scorer.log_prior
        scored = CalibrationRows.of(joint, truth_of(rows, counts), rows.weights)
        found = tune_on_held_out_rows(scored, model.classes, parameters.has_empirical_prior)
        self._keep(replace(found, smoothing=before.smoothing))
        return self.state

    def fits_weights(self, rows: Rows, fewest: int = RECIPE.fewest_rows) -> bool:
        """Tell whether weights are fitted on these rows; not where rows without a label took part."""
        if self.parameters.model == "textbook" or self.state.expected is not None:
            return False
        return enough(rows, fewest, self.parameters.recipe)

    def _keep(self, tuning: Tuning) -> None:
        self.state = self.state.tuned(tuning, self.parameters)

    # -- smoothing and temperature --------------------------------------------------------------------------------

    def _tuned(self, rows: Rows, *, calibrated: bool) -> Tuning:
        """Return the smoothing and the temperature of least leave-one-out log loss."""
        if self.state.expected is not None:
            raise InvalidInput(
                "Leave-one-out is not defined after expectation-maximization: each row's own label took part in it. "
                "Set smoothing and temperature by hand, or calibrate with held-out rows: "
                "calibrate(X, y, held_out=True)."
            )
        parameters, fitted_model = self.parameters, FittedClassifier(self.parameters, self.state)
        task = TuningTask(
            lambda smoothing: smoothed_model(fitted_model, smoothing),
            fitted_model.counts,
            rows,
            prior_without_row(parameters, fitted_model.all_counts),
            parameters.threads,
            [by for by in parameters.recipe.smoothing_grid if by >= 1 or parameters.estimate != "map"],
            parameters.recipe,
            self._fitted_scale if calibrated else self._given_scale,
        )
        given = None if isinstance(parameters.smoothing, str) else float(parameters.smoothing)
        return tune_smoothing_and_temperature(task, given, calibrated)

    def _fitted_scale(self, rated: CalibrationRows) -> Calibration:
        return fit_calibration(rated, self.parameters.has_empirical_prior)

    def _given_scale(self, rated: CalibrationRows) -> Calibration:
        temperature = self.parameters.given_temperature()
        scale = 1.0 if temperature is None else 1.0 / temperature
        return Calibration(scale, None, rated.loss(scale))

    # -- weights --------------------------------------------------------------------------------------------------

    def _weights(self, given: Rows) -> Tuning:
        """Return the weights and coefficients of the default model, fitted to these rows or to a sample of them."""
        parameters, fitted_model = self.parameters, FittedClassifier(self.parameters, self.state)
        found, remarks = fit_to_rows(
            lambda joint: default_model(fitted_model, None, joint),
            self.state.counts.counter,
            given,
            None if parameters.columns is None else list(parameters.columns),
            parameters.missing == "value",
            parameters.threads,
            parameters.recipe,
        )
        schema = self.state.schema
        hints = (*without_fit_remarks(schema.hints), *remarks)
        self.state = replace(self.state, schema=replace(schema, hints=hints))
        # What was chosen before on top of other counts, or for another model, is over.
        return replace(
            UNTUNED,
            smoothing=self.state.tuning.smoothing,
            classes=tuple(fitted_model.counts.classes.labels),
            calibrated=True,
            held_out=True,
            learned=found,
            rows=float(found.rows),
            loss_before=next(iter(found.loss.values())),
            loss_after=found.last_loss,
        )


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
    if isinstance(rows.source, Frame):
        check_widths(rows.source, fitted_model.model.schema, fitted_model.counts)
    tuner = Tuner(parameters, state)
    if held_out:
        return tuner.calibrate_held_out(rows)
    _check_counted(fitted_model, given, rows)
    if tuner.fits_weights(rows):
        _check_all(fitted_model, rows)
    return tuner.calibrate(rows)


def _check_all(fitted_model: FittedClassifier, rows: Rows) -> None:
    """Refuse rows that are not all that were counted: the default model is fitted to all of them."""
    counted = fitted_model.counts.rows.sum()
    given = sum(
        float(w.sum()) if w is not None else len(y)
        for _, y, w in counted_blocks(fitted_model.state.counts.counter, rows)
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
        count_rows(part, rows, threads)
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
