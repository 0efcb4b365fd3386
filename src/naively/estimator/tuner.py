"""What is chosen on top of the counts: smoothing, temperature, weights of the joint model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from .._types import ColumnLike, TableLike
from ..counting.counter import TableCounter
from ..counting.rows import Rows, check_widths, count_rows, labeled_rows
from ..counting.second_pass import Blocks
from ..counting.soft_labels import most_probable
from ..counting.weights import are_copies, with_class_weights
from ..data.frame import Frame
from ..data.grid import Grid
from ..data.schema import Schema
from ..errors import InvalidInput, InvalidSetting, NotASubset
from ..errors.message import RowNumber, Setting
from ..files.file import file_of
from ..model.calibration import Calibration, CalibrationRows, fit_calibration
from ..model.default.fit import DefaultFit
from ..model.default.fitting import count_together, enough, fit_default, fitted_grid, fitting_rows
from ..model.default.likelihoods import REST
from ..model.default.screening import Screening, narrow_counter, screen, screened_of, without_screening_remarks
from ..model.leave_one_out import (
    hard_labels,
    rows_with_weight,
    soft_truth,
    truth_of,
)
from ..model.recipe import RECIPE
from ..model.scorer import AdditiveModel
from ..model.tuning import (
    MOST_SCORES,
    UNTUNED,
    Tuning,
    TuningTask,
    tune_on_held_out_rows,
    tune_smoothing_and_temperature,
    tuning_sample,
)
from ..stats import Counts
from ..stats.pairs import JointCounts
from .fitted_classifier import FittedClassifier
from .live_counts import LiveCounts
from .models import joint_model, untuned_model
from .priors_and_costs import prior_without_row
from .settings import Parameters
from .state import FittedState

Again = Callable[[], Blocks]  # gives all rows, once more
JointOnGrid = Callable[[Grid], JointCounts]  # what was counted of pairs of columns, on some bins


class Tuner:
    """Chooses from rows what the settings leave open; the state it was given stays as it is."""

    def __init__(self, parameters: Parameters, state: FittedState) -> None:
        self.parameters, self.state = parameters, state
        self.joint_on: JointOnGrid | None = None

    # -- what is to be chosen -------------------------------------------------------------------------------------

    def fit(
        self,
        rows: Rows,
        again: Again | None = None,
        fewest: int = RECIPE.fewest_rows,
        joint_on: JointOnGrid | None = None,
    ) -> FittedState:
        """Return the state with what the settings leave to the rows that were just counted.

        The rows may be a sample; then `again` gives all of them, or `joint_on` what was counted of pairs of columns.
        Weights are fitted from so many rows on: a fold has fewer of them than its table.
        """
        self.joint_on = joint_on
        rows = rows_with_weight(rows)
        weighted = self.fits_weights(rows, fewest)
        calibrated = self.parameters.chooses_temperature and not weighted
        if calibrated or self.parameters.chooses_smoothing:
            self._keep(self._tuned(rows, calibrated=calibrated) if rows.target.rows > 1 else UNTUNED)
        if weighted:
            self._keep(self._weights(rows, again))
        return self.state

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
        model = untuned_model(fitted_model, fitted_model.smoothing)
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
            lambda smoothing: untuned_model(fitted_model, smoothing),
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

    def _weights(self, given: Rows, again: Again | None = None) -> Tuning:
        """Return the weights of the joint model; pairs of columns are counted first, if they were not.

        Of many columns, those that clearly tell of the class by themselves are tried alone, too.
        """
        parameters, threads, recipe = self.parameters, self.parameters.threads, self.parameters.recipe
        counter = self.state.counts.counter
        rows = most_probable(given, counter, threads)
        how = (parameters.missing == "value", are_copies(rows.weights, hard_labels(rows).codes), threads, recipe)
        screened = screened_of(counter, rows, *how)
        if counter.together is None:
            columns = None if parameters.columns is None else list(parameters.columns)
            used = None if screened is None else screened.beside(self.state.schema, columns)
            self._count_pairs(given, used, again)
        found = self._fitted(given, rows, screened)
        counter = self.state.counts.counter
        if screened is None and len(counter.of_numbers) + len(counter.of_labels) >= recipe.many_columns:
            fewer, whole = screen(counter, rows, *how, clear=True), self.state
            if 0 < len(fewer.names) <= recipe.many_columns:
                self._narrow(fewer.names)
                alone = self._fitted(given, rows, fewer)
                better, self.state = last_loss(alone) < (1 - recipe.least_fall) * last_loss(found), whole
                if better:  # what half of the rows chose was measured on the others; now all of them choose
                    screened = screen(counter, rows, *how, clear=True, half=False)
                    self._narrow(screened.names)
                    found = replace(self._fitted(given, rows, None), loss=alone.loss)
        schema = self.state.schema
        hints = without_screening_remarks(schema.hints)
        if screened is not None and schema.grid is not None:
            hints += screened.remarks(schema.grid, bool(found.weights.get(REST)))
        self.state = replace(self.state, schema=replace(schema, hints=hints))
        # What was chosen before on top of other counts, or for another model, is over.
        return replace(
            UNTUNED,
            smoothing=self.state.tuning.smoothing,
            classes=tuple(counter.value().classes.labels),
            calibrated=True,
            held_out=True,
            learned=found,
            rows=float(found.rows),
            loss_before=next(iter(found.loss.values())),
            loss_after=last_loss(found),
        )

    def _fitted(self, given: Rows, rows: Rows, screened: Screening | None) -> DefaultFit:
        """Return the weights for the columns that are counted in pairs; columns may have been chosen by some rows."""
        fitted_model, threads = FittedClassifier(self.parameters, self.state), self.parameters.threads
        counts, counter = fitted_model.counts, self.state.counts.counter
        model = joint_model(fitted_model, None)
        model.copies = are_copies(rows.weights, hard_labels(rows).codes)
        proportions, idle = soft_truth(given, counts), None if screened is None else screened.chose
        found = fitting_rows(model, counter, rows, truth_of(rows, counts), proportions, threads, idle)
        return fit_default(model, found)

    def _narrow(self, used: Sequence[str]) -> None:
        """Count only some columns in pairs from now on, by a counter next to the one of the state."""
        counter = self.state.counts.counter.twin()
        narrow_counter(counter, list(used))
        schema = replace(self.state.schema, grid=counter.schema.grid)
        self.state = replace(self.state, counts=LiveCounts(schema, counter=counter), schema=schema)

    def _count_pairs(self, rows: Rows, used: list[str] | None, again: Again | None) -> None:
        """Count pairs of columns, of the used columns if not of all, by a counter beside the one of the state."""
        counter, schema = self.state.counts.counter.twin(), self.state.schema
        if self.joint_on is not None:
            grid, remark = fitted_grid(counter, rows, self.parameters.threads, used, self.parameters.recipe)
            counter.take_joint(self.joint_on(grid))
        else:
            blocks = None if again is None else again()
            remark = count_together(counter, rows, self.parameters.threads, blocks, used, self.parameters.recipe)
        hints = tuple(dict.fromkeys([*schema.hints, *([] if remark is None else [remark])]))
        schema = replace(schema, grid=counter.schema.grid, hints=hints)
        self.state = replace(self.state, counts=LiveCounts(schema, counter=counter), schema=schema)


def last_loss(fit: DefaultFit) -> float:
    """Return the log loss of held-out rows with all that was fitted."""
    return list(fit.loss.values())[-1]


def grid_of_rows(parameters: Parameters, counter: TableCounter, schema: Schema, rows: Rows) -> Grid | None:
    """Return the bins and labels by which pairs are counted, from a sample of rows; None if weights are not fitted."""
    rows, threads, recipe = rows_with_weight(rows), parameters.threads, parameters.recipe
    if not enough(rows, recipe=recipe):
        return None
    copies = are_copies(rows.weights, hard_labels(rows).codes)
    screened = screened_of(counter, rows, parameters.missing == "value", copies, threads, recipe)
    columns = None if parameters.columns is None else list(parameters.columns)
    used = None if screened is None else screened.beside(schema, columns)
    return fitted_grid(counter, rows, threads, used, recipe)[0]


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
    if state.unkept is not None:  # these weights are of all rows, whether they are kept or not
        tuner = Tuner(parameters, replace(state, kept=None, unkept=None))
    return tuner.calibrate(rows)


def _check_counted(fitted_model: FittedClassifier, given: Rows, rows: Rows) -> None:
    """Refuse rows that were never counted: folds are subtracted from the counts, so each row must be among them."""
    state, threads = fitted_model.state, fitted_model.parameters.threads
    first = None if state.all_kept is None else state.all_kept.first_unknown(given, threads)
    if first is None:
        part = TableCounter(replace(state.schema, grid=None))
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
