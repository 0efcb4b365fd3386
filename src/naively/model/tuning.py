"""What is tuned on top of the counts: smoothing and temperature, by leave-one-out log loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .._linear_algebra import dot, product, solve
from .._types import Codes, Floats, JsonObject, Label, Matrices
from ..counting.rows import Rows
from ..counting.sample import sample_places
from ..data.schema import Schema
from ..judge.metrics import LEAST_PROBABILITY
from ..stats import Axis, Counts
from .column_parts import ColumnPart
from .default.fit import DefaultFit, FitParts
from .leave_one_out import PriorWithout, leave_one_out_log_joint, remaining_rows, rows_at, truth_of
from .recipe import RECIPE, Recipe
from .scorer import softened
from .table_model import TableModel

# Scores of rows and classes that are computed at once to fit a temperature, and of rows, columns and classes to choose
# λ: with many classes or columns, fewer rows are used than the recipe allows.
MOST_SCORES, MOST_COLUMN_SCORES = 1 << 22, 1 << 20
# Rounds over all columns to choose a λ for each, rows at most, and rows in any case. Limits of time.
ROUNDS, COLUMN_ROWS, FEWEST_ROWS = 3, 5_000, 256

Smoothing = float | dict[str, float]  # one λ for all columns, or one for each


@dataclass(frozen=True, eq=False)
class Tuning:
    """What was chosen on top of the counts: log P(class | row) = bias + scale · log joint, up to a constant.

    Attributes
    ----------
    smoothing : float, dict or None
        The λ of all columns, or of each; None unless it was chosen.
    scale : float
        The inverse of the temperature.
    bias : array or None
        What is added to the log joint of each of `classes`.
    calibrated : bool
        Whether a temperature or weights were fitted.
    fresh : bool
        Whether no row came or went since.
    held_out : bool
        Whether the rows were held out, and not left out one by one.
    loss_before, loss_after : float or None
        The mean log loss of `rows` rows: with nothing chosen, and with all that was.
    learned : DefaultFit or None
        The weights of the default model.
    """

    smoothing: Smoothing | None = None
    scale: float = 1.0
    bias: Floats | None = None
    classes: tuple[Label, ...] = ()
    calibrated: bool = False
    fresh: bool = True
    held_out: bool = False
    loss_before: float | None = None
    loss_after: float | None = None
    rows: float = 0.0
    learned: DefaultFit | None = None

    def bias_of(self, classes: Axis) -> Floats | None:
        """Return the bias of each of these classes; one that came later has none."""
        if self.bias is None:
            return None
        known = dict(zip(self.classes, self.bias.tolist(), strict=True))
        return np.array([known.get(label, 0.0) for label in classes.labels])

    def to_json(self, classes: Axis) -> JsonObject:
        """Return it as plain data, its biases in the order of these classes."""
        bias = self.bias_of(classes)
        beside: JsonObject = {}
        if self.learned is not None:
            beside = {"learned": self.learned.to_json()}
        return {
            "smoothing": self.smoothing, "scale": self.scale, "bias": None if bias is None else bias.tolist(),
            "calibrated": self.calibrated, "fresh": self.fresh, "held_out": self.held_out,
            "loss_before": self.loss_before, "loss_after": self.loss_after, "rows": self.rows,
        } | beside  # fmt: skip

    @classmethod
    def from_json(cls, data: JsonObject, classes: Axis, beside: FitParts | None) -> Tuning:
        """Return the tuning that `to_json` described; joint counts and coefficients are stored elsewhere."""
        bias = None if data["bias"] is None else np.array([float(by) for by in data["bias"]])
        if (bias is not None and len(bias) != len(classes)) or not LEAST_SCALE <= data["scale"] <= LARGEST_SCALE:
            raise KeyError("bias or scale")
        own: JsonObject = {"bias": bias, "classes": tuple(classes.labels), "rows": float(data["rows"])}
        own |= {name: bool(data[name]) for name in ("calibrated", "fresh", "held_out")}
        own |= {name: None if (by := data[name]) is None else float(by) for name in ("loss_before", "loss_after")}
        if isinstance(chosen := data["smoothing"], dict):
            own["smoothing"] = {str(name): float(by) for name, by in chosen.items()}
        else:
            own["smoothing"] = None if chosen is None else float(chosen)
        if "learned" in data:
            if beside is None:
                raise KeyError("joint")
            own["learned"] = DefaultFit.from_json(data["learned"], len(classes), beside)
        return cls(**(dict(data) | own))

    def smoothing_lines(self) -> list[str]:
        """Return which smoothing was chosen, in words; nothing if none was."""
        if isinstance(self.smoothing, dict):
            each = ", ".join(f"{name} {by:g}" for name, by in list(self.smoothing.items())[:8])
            return [f"smoothing: chosen for each column: {each}{', …' * (len(self.smoothing) > 8)}"]
        if self.smoothing is not None:
            return [f"smoothing: {self.smoothing:g} for every column, chosen by leave-one-out log loss"]
        return []

    def summary_lines(self) -> list[str]:
        """Return what was chosen, and by how much it lowered the log loss, in words."""
        lines = self.smoothing_lines()
        if self.calibrated:
            biases = ", with a bias for each class" if self.bias is not None else ""
            stale = "" if self.fresh else "; rows or settings have changed since"
            lines.append(f"calibrated: probabilities are {softened(self.scale)}{biases}{stale}")
        if lines and self.rows and self.loss_after is not None:
            how = "on held-out rows" if self.held_out else "in leave-one-out"
            lines.append(
                f"with that, the log loss of {self.rows:.10g} rows is {self.loss_after:.3g} instead of "
                f"{self.loss_before:.3g} {how}"
            )
        return lines


UNTUNED = Tuning()


# -- temperature --------------------------------------------------------------------------------------------------


class TuningTask(NamedTuple):
    """Rows that were counted, and how a model of their counts is made and calibrated."""

    make: Callable[[Smoothing], TableModel]
    counts: Counts
    rows: Rows
    prior: PriorWithout
    threads: int
    grid: Sequence[float]
    recipe: Recipe
    fit: Callable[[CalibrationRows], Calibration]  # fits the scale, or gives the one that is set

    def scored(self, smoothing: Smoothing) -> CalibrationRows:
        """Return the leave-one-out log joints of a sample of the rows under some smoothing."""
        most = MOST_SCORES // len(self.counts.classes)
        rows = tuning_sample(self.rows, most, self.make(1.0).schema, self.threads, self.recipe)
        truth = truth_of(rows, self.counts)
        joint = leave_one_out_log_joint(self.make(smoothing), self.counts, rows, truth, self.prior, self.threads)
        return CalibrationRows.of(joint, truth, rows.weights)


def tune_smoothing_and_temperature(task: TuningTask, smoothing: float | None, calibrated: bool) -> Tuning:
    """Return the smoothing and the temperature of least log loss; a smoothing that is set stays.

    A smoothing that was chosen on fewer rows is taken only if it lowers the loss on more, too.
    """
    usual = task.scored(1.0 if smoothing is None else smoothing)
    rated, fit = usual, task.fit(usual)
    result: Smoothing | None = 1.0 if smoothing is None else None
    if smoothing is None and (chosen := _best_smoothing(task)) != 1.0:
        other = task.scored(chosen)
        if (better := task.fit(other)).penalized_loss < fit.penalized_loss:
            rated, fit, result = other, better, chosen
    return _tuning_of_fit(usual, rated, fit, task.counts.classes, calibrated, result)


def _tuning_of_fit(
    before: CalibrationRows,
    after: CalibrationRows,
    fit: Calibration,
    classes: Axis,
    calibrated: bool,
    smoothing: Smoothing | None,
) -> Tuning:
    """Return a fit with the log loss of the same rows before and after it."""
    rows = float(before.weights.sum())
    losses = (before.loss() / rows, after.loss(fit.scale, fit.bias) / rows)
    scale, bias = (fit.scale, fit.bias) if calibrated else (1.0, None)
    labels = tuple(classes.labels)
    return Tuning(smoothing, scale, bias, labels, calibrated, True, False, losses[0], losses[1], rows)


def tune_on_held_out_rows(rows: CalibrationRows, classes: Axis, biased: bool) -> Tuning:
    """Return the temperature of least log loss on rows that were never counted."""
    result = _tuning_of_fit(rows, rows, fit_calibration(rows, biased), classes, True, None)
    return replace(result, held_out=True)


def tuning_sample(rows: Rows, most: int, schema: Schema, threads: int, recipe: Recipe) -> Rows:
    """Return a sample of the rows by content; all, if they are few enough."""
    most = min(max(most, FEWEST_ROWS), recipe.calibration_rows)
    return rows if rows.target.rows <= most else rows_at(rows, sample_places(rows, most, schema, threads))


# -- smoothing ----------------------------------------------------------------------------------------------


class ColumnScores(NamedTuple):
    """Leave-one-out log-likelihoods of each column under each λ of the grid, [row, class], and the log prior."""

    prior: Floats
    by_grid: Sequence[Sequence[Floats]]  # by λ, then by column
    truth: Codes
    weights: Floats | None

    def scored(self, which: Sequence[int]) -> CalibrationRows:
        """Return the log joints with such a λ for each column."""
        return self.with_column(self.without(which, None), np.zeros(()))

    def without(self, which: Sequence[int], column: int | None) -> Floats:
        """Return the log prior and the log-likelihoods of all columns but one."""
        parts = [self.by_grid[index][place] for place, index in enumerate(which) if place != column]
        return np.asarray(sum(parts, self.prior))

    def with_column(self, others: Floats, scores: Floats) -> CalibrationRows:
        """Return the log joints with the log-likelihoods of one column added to all others."""
        joint = others + scores
        ruled_out = np.isneginf(joint).all(axis=1)
        joint[ruled_out] = self.prior[ruled_out]
        return CalibrationRows.of(joint, self.truth, self.weights)


def _best_smoothing(task: TuningTask) -> Smoothing:
    """Return the λ of least log loss: one for all, or one for each column where that lowers it enough."""
    grid, schema, recipe = task.grid, task.make(1.0).schema, task.recipe
    cells = len(task.counts.classes) * max(len(schema), 1)
    most = min(MOST_COLUMN_SCORES // cells, COLUMN_ROWS)
    small = task._replace(rows=tuning_sample(task.rows, most, schema, task.threads, recipe))
    free = [column.name for column in schema if column.family.smoothing is None]
    if small.rows.target.rows * cells > MOST_COLUMN_SCORES or len(free) < 2:
        costs = [task.fit(small.scored(by)).penalized_loss for by in grid]
        return grid[_first_least(costs)]
    scores = _column_scores(small, grid)
    costs = [task.fit(scores.scored([at] * len(schema))).penalized_loss for at in range(len(grid))]
    best = _first_least(costs)
    which = _coordinate_descent(task, scores, [best] * len(schema), [column.name in free for column in schema])
    own = sum(at != best for at in which)
    if not own or task.fit(scores.scored(which)).penalized_loss + recipe.smoothing_price * own >= costs[best] - 1e-9:
        return grid[best]
    return {column.name: grid[at] for column, at in zip(schema, which, strict=True) if column.name in free}


def _first_least(costs: Sequence[float]) -> int:
    """Return the place of the least cost; of those that differ by rounding alone, the first."""
    least = min(costs)
    return next(index for index, cost in enumerate(costs) if cost <= least + 1e-9 * max(abs(least), 1.0))


def _coordinate_descent(task: TuningTask, scores: ColumnScores, start: list[int], free: list[bool]) -> list[int]:
    """Return a λ for each column that may have its own, one column after the other, at the scale of the start."""
    scale, bias, _ = task.fit(scores.scored(start))
    price = task.recipe.smoothing_price
    which = list(start)
    for _ in range(ROUNDS):
        before = list(which)
        for column in (index for index, may in enumerate(free) if may):
            others = scores.without(which, column)
            costs = [
                scores.with_column(others, columns[column]).loss(scale, bias) + price * (index != start[column])
                for index, columns in enumerate(scores.by_grid)
            ]
            least = _first_least(costs)
            which[column] = least if costs[least] < costs[which[column]] - 1e-9 else which[column]
        if which == before:
            break
    return which


def _column_scores(task: TuningTask, grid: Sequence[float]) -> ColumnScores:
    """Return the leave-one-out log-likelihoods of each column under each λ."""
    truth, weights = truth_of(task.rows, task.counts), task.rows.weights
    w = np.ones(len(truth)) if weights is None else weights
    by_grid = []
    for smoothing in grid:
        model = task.make(smoothing)
        likelihoods = list(model.parts.values())

        def of_block(at: slice, columns: Matrices, parts: Sequence[ColumnPart] = likelihoods) -> list[Floats]:
            return [part.leave_one_out(columns, truth[at], w[at]) for part in parts]

        blocks = model.each_block(of_block, task.rows.source, task.threads)
        by_grid.append([np.concatenate(parts) for parts in zip(*blocks, strict=True)])
    return ColumnScores(task.prior(remaining_rows(task.counts, truth, w)), by_grid, truth, weights)


def with_column_smoothing(schema: Schema, smoothing: Smoothing) -> Schema:
    """Return the schema with a λ for each column that has none of its own; one for all columns is no part of it."""
    if not isinstance(smoothing, dict):
        return schema
    own = {c.name: replace(c.family, smoothing=smoothing[c.name]) for c in schema if c.name in smoothing}
    return schema.with_families(own)


# -- calibration -------------------------------------------------------------------------------------------------------


# The score below the best beyond which a class is out in any case, and steps at most. Numerical.
FARTHEST_SCORE, STEPS = 1e5, 60
# Bounds of the scale of log joints. Numerical.
LEAST_SCALE, LARGEST_SCALE = 1e-3, 1e2


class Calibration(NamedTuple):
    """log P(class | row) = bias + scale · log joint, up to a constant of the row.

    `penalized_loss` is the log loss of all rows plus the penalty of the fit itself, in nats: less is better.
    """

    scale: float
    bias: Floats | None
    penalized_loss: float


class CalibrationRows(NamedTuple):
    """Log joints of rows beside their classes; every row has a weight above 0.

    They are [class, row], because a sum over few classes is quicker that way.
    """

    joint: Floats
    truth: Codes
    weights: Floats
    recipe: Recipe

    @classmethod
    def of(cls, joint: Floats, truth: Codes, weights: Floats | None = None, recipe: Recipe = RECIPE) -> CalibrationRows:
        """Return log joints [row, class] below the best of each row; classes that are ruled out stay so."""
        below = np.ascontiguousarray(joint.T)
        below = below - below.max(axis=0)
        below = np.where(np.isneginf(below), below, np.maximum(below, -FARTHEST_SCORE))
        return cls(below, truth, np.ones(len(truth)) if weights is None else weights, recipe)

    def posterior(self, scale: float = 1.0, bias: Floats | None = None) -> Floats:
        """Return P(class | row) under a scale and biases, [class, row]."""
        scores = scale * self.joint
        if bias is not None:
            scores += bias[:, None]
            scores -= scores.max(axis=0)
        p = np.exp(scores, out=scores)
        p /= p.sum(axis=0)
        return p

    def of_truth(self, figures: Floats) -> Floats:
        """Return the figure of each row's own class."""
        return np.asarray(figures[self.truth, np.arange(len(self.truth))])

    def loss(self, scale: float = 1.0, bias: Floats | None = None) -> float:
        """Return the log loss of all rows together, in nats."""
        return -float((self.weights * np.log(self.of_truth(self.posterior(scale, bias)) + LEAST_PROBABILITY)).sum())


def fit_calibration(rows: CalibrationRows, biased: bool = True) -> Calibration:
    """Return the scale of least log loss, with biases if they pay: never worse than leaving the log joints alone.

    The logarithm of the scale and the biases have a normal prior of mean 0 and deviation 1, so that rows which are all
    predicted correctly do not make probabilities extreme. Biases must save more than one nat for each class but one
    (Akaike's criterion).
    """
    classes, recipe = len(rows.joint), rows.recipe
    logs = np.append(np.linspace(np.log(LEAST_SCALE), np.log(10), 12), 0.0)
    start = min(logs, key=lambda log: (penalized_loss(rows, np.array([log])), abs(log)))
    plain = newton(rows, np.array([start]))
    alone = Calibration(float(np.exp(plain[0])), None, penalized_loss(rows, plain))
    if not biased or classes < 2 or rows.weights.sum() < recipe.rows_per_bias * classes:
        return alone
    both = newton(rows, np.append(plain, np.zeros(classes)))
    price = penalized_loss(rows, both) + classes - 1
    return alone if price >= alone.penalized_loss else Calibration(float(np.exp(both[0])), both[1:], price)


def penalized_loss(rows: CalibrationRows, at: Floats) -> float:
    """Return the log loss in nats and the penalty, at the logarithm of the scale and the biases, if any."""
    return rows.loss(float(np.exp(at[0])), at[1:] if len(at) > 1 else None) + dot(at, at) / 2


def newton(rows: CalibrationRows, at: Floats) -> Floats:
    """Return where the loss is least, by Newton's method."""
    now = penalized_loss(rows, at)
    for _ in range(STEPS):
        slope, bend = derivatives(rows, at)
        step = -solve(bend, slope)
        step *= min(1.0, 2.0 / max(np.abs(step).max(), 1e-300))  # not far at once
        for _ in range(40):
            there = at + step
            there[0] = np.clip(there[0], np.log(LEAST_SCALE), np.log(LARGEST_SCALE))
            then = penalized_loss(rows, there)
            if then <= now + 1e-12 * abs(now):  # as good as rounding lets one see
                break
            step /= 2
        else:
            return at
        moved, at, now = np.abs(there - at).max(), there, then
        if moved < 1e-10:
            break
    return at


def derivatives(rows: CalibrationRows, at: Floats) -> tuple[Floats, Floats]:
    """Return the slope of the penalized loss, and its curvature by Gauss and Newton, which is always positive."""
    scale, bias = float(np.exp(at[0])), at[1:]
    p = rows.posterior(scale, bias if len(bias) else None)
    own = rows.of_truth(p)
    w = rows.weights * (own / (own + LEAST_PROBABILITY))  # a row at the floor pulls no more
    joint = np.where(np.isneginf(rows.joint), 0.0, rows.joint)
    mean = (p * joint).sum(axis=0)
    apart = w * p * (joint - mean)
    slope, bend = at.copy(), np.eye(len(at))
    uphill = scale * float((w * (mean - rows.of_truth(joint))).sum())
    slope[0] += uphill
    bend[0, 0] += scale**2 * float((apart * joint).sum())
    bend[0, 0] += max(uphill, -bend[0, 0] / 2)
    if len(bias):
        weighted = w * p
        total = weighted.sum(axis=1)
        slope[1:] += total - np.bincount(rows.truth, w, len(bias))
        bend[1:, 1:] += np.diag(total) - product(weighted, p.T)
        bend[0, 1:] = bend[1:, 0] = scale * apart.sum(axis=1)
    return slope, bend
