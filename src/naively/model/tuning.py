"""What is chosen on top of the counts: how much to smooth, how sure to be. Judged by leaving each row out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .._types import Codes, Floats
from ..counting.rows import Rows
from ..counting.sampled_rows import sample_places
from ..data.schema import Schema
from ..stats import Axis, Counts
from .calibration import Calibration, ScoredRows, fit_calibration
from .joint.joint_fit import JointFit
from .leave_one_out import PriorWithout, leave_one_out_log_joint, remaining_rows, rows_at, truth_of
from .recipe import RECIPE
from .refined.refined_fit import Offsets, RefinedFit
from .scorer import softened
from .table_model import TableModel

# The λ that are tried; where several are as good, the one nearest to 1 is taken.
GRID = (1.0, 0.3, 3.0, 0.1, 10.0, 0.03, 30.0, 0.01, 100.0)
# At most so many rows, and scores of rows and classes, are looked at when a scale is fitted.
MOST_ROWS, MOST_SCORES = 20_000, 1 << 22
# When a λ is chosen, so many rows, and scores of rows, columns and classes; but some rows in any case.
ROWS_FOR_SMOOTHING, MOST_TERMS, FEWEST_ROWS = 5_000, 1 << 20, 256
# What one choice more must save, in nats (Akaike's criterion); and the textbook model, to be kept.
PRICE = 1.0
SWEEPS = 3

Smoothing = float | dict[str, float]  # one λ for all columns, or one for each


class TextbookScores(NamedTuple):
    """How well the text-book model answers the rows that weights were fitted on, each left out."""

    log_loss: float
    accuracy: float


@dataclass(frozen=True, eq=False)
class Tuning:
    """What was chosen on top of the counts: log P(class | row) = bias + scale · log joint, up to a constant.

    `smoothing` is None unless it was chosen; `classes` are those that the biases belong to. The losses are the mean
    log-loss of so many rows, each left out: with nothing chosen, and with all that was.
    """

    smoothing: Smoothing | None = None
    scale: float = 1.0
    bias: Floats | None = None
    classes: tuple[Any, ...] = ()
    calibrated: bool = False
    fresh: bool = True
    held_out: bool = False
    loss_before: float | None = None
    loss_after: float | None = None
    rows: float = 0.0
    learned: JointFit | None = None  # how strongly columns taken together are believed
    textbook: TextbookScores | None = None  # beside it, the text book on the same rows
    refined: RefinedFit | None = None  # how far single values are adjusted
    declined: float | None = None  # the loss expected of the joint model, if the textbook's was no greater and is kept

    def bias_of(self, classes: Axis) -> Floats | None:
        """Return the bias of each of these classes; one that came later has none."""
        if self.bias is None:
            return None
        known = dict(zip(self.classes, self.bias.tolist(), strict=True))
        return np.array([known.get(label, 0.0) for label in classes.labels])

    def to_json(self, classes: Axis) -> dict[str, Any]:
        """Return it as plain data, its biases in the order of these classes."""
        bias = self.bias_of(classes)
        beside: dict[str, Any] = {} if self.refined is None else {"refined": self.refined.to_json()}
        if self.learned is not None:
            beside = {"learned": self.learned.to_json(), "textbook": list(self.textbook or ())}
        if self.declined is not None:
            beside = {"declined": self.declined, "textbook": list(self.textbook or ())}
        return {
            "smoothing": self.smoothing, "scale": self.scale, "bias": None if bias is None else bias.tolist(),
            "calibrated": self.calibrated, "fresh": self.fresh, "held_out": self.held_out,
            "loss_before": self.loss_before, "loss_after": self.loss_after, "rows": self.rows,
        } | beside  # fmt: skip

    @classmethod
    def from_json(cls, data: Mapping[str, Any], classes: Axis, moved: Mapping[str, Offsets] | None = None) -> Tuning:
        """Return the tuning that to_json described, with how far values moved."""
        bias = None if data["bias"] is None else np.array([float(by) for by in data["bias"]])
        if (bias is not None and len(bias) != len(classes)) or not RECIPE.least_scale <= data[
            "scale"
        ] <= RECIPE.largest_scale:
            raise KeyError("bias or scale")
        own: dict[str, Any] = {"bias": bias, "classes": tuple(classes.labels)}
        if "learned" in data:
            own["learned"] = JointFit.from_json(data["learned"], len(classes))
        if "textbook" in data:
            own["textbook"] = TextbookScores(*map(float, data["textbook"]))
        if "declined" in data:
            own["declined"] = float(data["declined"])
        if "refined" in data:
            own["refined"] = RefinedFit.from_json(data["refined"], len(classes), moved or {})
        return cls(**(dict(data) | own))

    def smoothing_lines(self) -> list[str]:
        """Say how much is smoothed, if that was chosen."""
        if isinstance(self.smoothing, dict):
            each = ", ".join(f"{name} {by:g}" for name, by in list(self.smoothing.items())[:8])
            return [f"smoothing: chosen for each column: {each}{', …' * (len(self.smoothing) > 8)}"]
        if self.smoothing is not None:
            return [f"smoothing: {self.smoothing:g} for every column, chosen by leaving each row out"]
        return []

    def textbook_lines(self, usual: bool) -> list[str]:
        """Compare the joint model with the textbook model; usual says whether the prior is the class proportions."""
        if self.learned is None or self.textbook is None:
            return []
        book = f"a leave-one-out log loss of {self.textbook.log_loss:.3g} and accuracy {self.textbook.accuracy:.1%}"
        ours = f"{self.loss_after:.3g} (corrected) and {self.learned.accuracy:.1%} (weights fitted on these rows)"
        other = "cross_validate, which fits weights anew in each fold, says how good it is on others"
        shares = "" if usual else ", classes being as frequent as they are among them,"
        return [f"on these rows{shares} the textbook model has {book}; the joint model has {ours}; {other}"]

    def declined_lines(self, usual: bool) -> list[str]:
        """Say why the textbook model is kept where a joint model was fitted; usual as above."""
        if self.declined is None or self.textbook is None:
            return []
        rows = "" if self.held_out else f" on {self.rows:.10g} rows"
        rows += "" if usual else ", classes being as frequent as they are among them,"
        kept = f"columns: each for itself, as in the textbook model: leave-one-out log loss{rows}"
        both = f"is {self.textbook.log_loss:.3g}, and {self.declined:.3g} for the joint model, corrected"
        more = "more rows, or weights that stand for numbers of rows, may help it"
        if not self.fresh:
            more = "rows have changed since: calibrate(X, y) with those that are counted now compares them anew"
        return [f"{kept} {both}, which was not kept; {more}"]

    def summary_lines(self) -> list[str]:
        """Say what was chosen, and what it was worth."""
        lines = self.smoothing_lines()
        if self.calibrated:
            biases = ", with a bias for each class" if self.bias is not None else ""
            stale = "" if self.fresh else "; rows or settings have changed since"
            lines.append(f"calibrated: probabilities are {softened(self.scale)}{biases}{stale}")
        if lines and self.rows and self.loss_after is not None:
            how = "on rows held out" if self.held_out else "in leave-one-out"
            lines.append(
                f"with that, the log-loss of {self.rows:.10g} rows is {self.loss_after:.3g} instead of "
                f"{self.loss_before:.3g} {how}"
            )
        return lines


UNTUNED = Tuning()


# -- how sure to be --------------------------------------------------------------------------------------------------


class Task(NamedTuple):
    """Rows that were counted, and how a model of their counts is made."""

    make: Callable[[Smoothing], TableModel]
    counts: Counts
    rows: Rows
    prior: PriorWithout
    threads: int
    grid: Sequence[float]
    fit: Callable[[ScoredRows], Calibration]  # how sure to be; fitted, or as it is set

    def rated(self, smoothing: Smoothing) -> ScoredRows:
        """Return the log joints of a sample of the rows, each left out, under some smoothing."""
        rows = sample(self.rows, MOST_SCORES // len(self.counts.classes), self.make(1.0).schema, self.threads)
        truth = truth_of(rows, self.counts)
        joint = leave_one_out_log_joint(self.make(smoothing), self.counts, rows, truth, self.prior, self.threads)
        return ScoredRows.of(joint, truth, rows.weights)


def tuned(task: Task, smoothing: float | None, calibrated: bool) -> Tuning:
    """Return what is best on top of these counts; a smoothing that is set is left alone.

    What was chosen on fewer rows must hold on more: it is taken only if it pays there, too.
    """
    usual = task.rated(1.0 if smoothing is None else smoothing)
    rated, fit = usual, task.fit(usual)
    found: Smoothing | None = 1.0 if smoothing is None else None
    if smoothing is None and (chosen := smoothing_of(task)) != 1.0:
        other = task.rated(chosen)
        if (better := task.fit(other)).penalized_loss < fit.penalized_loss:
            rated, fit, found = other, better, chosen
    return judged(usual, rated, fit, task.counts.classes, calibrated, found)


def judged(
    before: ScoredRows,
    after: ScoredRows,
    fit: Calibration,
    classes: Axis,
    calibrated: bool,
    smoothing: Smoothing | None,
) -> Tuning:
    """Return a fit beside what the same rows cost without it."""
    rows = float(before.weights.sum())
    losses = (before.loss() / rows, after.loss(fit.scale, fit.bias) / rows)
    scale, bias = (fit.scale, fit.bias) if calibrated else (1.0, None)
    labels = tuple(classes.labels)
    return Tuning(smoothing, scale, bias, labels, calibrated, True, False, losses[0], losses[1], rows)


def held_out(model: TableModel, joint: Floats, truth: Codes, weights: Floats | None, biased: bool) -> Tuning:
    """Return how sure to be about rows that were never counted."""
    rated = ScoredRows.of(joint, truth, weights)
    return replace(judged(rated, rated, fit_calibration(rated, biased), model.classes, True, None), held_out=True)


def sample(rows: Rows, most: int, schema: Schema, threads: int) -> Rows:
    """Return a sample of the rows: all, if they are few enough."""
    most = min(max(most, FEWEST_ROWS), MOST_ROWS)
    return rows if rows.target.rows <= most else rows_at(rows, sample_places(rows, most, schema, threads))


# -- how much to smooth ----------------------------------------------------------------------------------------------


class Terms(NamedTuple):
    """What is said of each row, left out, [row, class]: by the prior, and under each λ of the grid by each column."""

    before: Floats
    said: Sequence[Sequence[Floats]]
    truth: Codes
    weights: Floats | None

    def rated(self, which: Sequence[int]) -> ScoredRows:
        """Return the log joints with such a λ for each column."""
        return self.with_one(self.without(which, None), 0.0)

    def without(self, which: Sequence[int], column: int | None) -> Floats:
        """Return the prior and what all columns but one say."""
        parts = [self.said[at][place] for place, at in enumerate(which) if place != column]
        return np.asarray(sum(parts, self.before))

    def with_one(self, others: Floats, said: Any) -> ScoredRows:
        """Return the log joints with what one column says added to all others."""
        joint = others + said
        ruled_out = np.isneginf(joint).all(axis=1)
        joint[ruled_out] = self.before[ruled_out]
        return ScoredRows.of(joint, self.truth, self.weights)


def smoothing_of(task: Task) -> Smoothing:
    """Return the λ of least log-loss: one for all, or one for each column where that pays."""
    grid, schema = task.grid, task.make(1.0).schema
    cells = len(task.counts.classes) * max(len(schema), 1)
    small = task._replace(rows=sample(task.rows, min(MOST_TERMS // cells, ROWS_FOR_SMOOTHING), schema, task.threads))
    free = [column.name for column in schema if column.family.smoothing is None]
    if small.rows.target.rows * cells > MOST_TERMS or len(free) < 2:
        costs = [task.fit(small.rated(by)).penalized_loss for by in grid]
        return grid[first_least(costs)]
    terms = terms_of(small, grid)
    costs = [task.fit(terms.rated([at] * len(schema))).penalized_loss for at in range(len(grid))]
    best = first_least(costs)
    which = descended(terms, [best] * len(schema), [column.name in free for column in schema], task.fit)
    own = sum(at != best for at in which)
    if not own or task.fit(terms.rated(which)).penalized_loss + PRICE * own >= costs[best] - 1e-9:
        return grid[best]
    return {column.name: grid[at] for column, at in zip(schema, which, strict=True) if column.name in free}


def first_least(costs: Sequence[float]) -> int:
    """Return the place of the least cost; of those that differ by rounding alone, the first."""
    least = min(costs)
    return next(at for at, cost in enumerate(costs) if cost <= least + 1e-9 * max(abs(least), 1.0))


def descended(terms: Terms, start: list[int], free: list[bool], fit: Callable[[ScoredRows], Calibration]) -> list[int]:
    """Return a λ for each column that may have its own, column by column downhill, as sure as at the start."""
    scale, bias, _ = fit(terms.rated(start))
    which = list(start)
    for _ in range(SWEEPS):
        before = list(which)
        for column in (at for at, may in enumerate(free) if may):
            others = terms.without(which, column)
            costs = [
                terms.with_one(others, said[column]).loss(scale, bias) + PRICE * (at != start[column])
                for at, said in enumerate(terms.said)
            ]
            least = first_least(costs)
            which[column] = least if costs[least] < costs[which[column]] - 1e-9 else which[column]
        if which == before:
            break
    return which


def terms_of(task: Task, grid: Sequence[float]) -> Terms:
    """Return what each column says of each row, left out, under each λ."""
    truth, weights = truth_of(task.rows, task.counts), task.rows.weights
    w = np.ones(len(truth)) if weights is None else weights
    said = []
    for by in grid:
        model = task.make(by)
        blocks = model.each_block(
            lambda at, columns, model=model: [  # type: ignore[misc]
                part.leave_one_out(columns, truth[at], w[at]) for part in model.parts.values()
            ],
            task.rows.source,
            task.threads,
        )
        said.append([np.concatenate(parts) for parts in zip(*blocks, strict=True)])
    return Terms(task.prior(remaining_rows(task.counts, truth, w)), said, truth, weights)


def smoothed(schema: Schema, smoothing: Smoothing) -> Schema:
    """Return the schema with a λ for each column that has none of its own; one for all is no matter of columns."""
    if not isinstance(smoothing, dict):
        return schema
    own = {c.name: replace(c.family, smoothing=smoothing[c.name]) for c in schema if c.name in smoothing}
    return schema.with_families(own)
