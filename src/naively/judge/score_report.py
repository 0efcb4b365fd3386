"""Scores as text, as a data frame and as JSON; their standard errors, and when not to trust them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from .._frames import frame
from .._types import AnyArray, FrameLike, JsonObject, Label, Longs, Places
from .metrics import (
    DECISION_SCORES,
    PROBABILITY_SCORES,
    aligned_lines,
    as_row_count,
    json_value,
    score_text,
    single_class_note,
    standard_error_over_folds,
    standard_error_over_rows,
)

if TYPE_CHECKING:
    from .scores import Scores

# In the order in which they are shown where every mistake costs the same, and decisions follow the probabilities.
ALL_SCORES = ("accuracy", "balanced_accuracy", "log_loss", "brier", "calibration_error", "auc", "mean_cost")


def score_names(scores: Scores) -> tuple[str, ...]:
    """Return the names of the scores that are defined for these rows, costs and decisions."""
    if not uses_costs(scores):
        names = ALL_SCORES if scores.posterior is not None else DECISION_SCORES[1:4]
        return ("coverage", *names) if scores._may_abstain else names
    accurate = DECISION_SCORES[1:3] if not math.isnan(scores.accuracy) else ()
    decisions = [*DECISION_SCORES[:1], *accurate, "mean_cost"] if scores._may_abstain else [*accurate, "mean_cost"]
    more = ["skill"] if scores._number_cost is not None else []
    return (*decisions, *more, *(PROBABILITY_SCORES if scores.posterior is not None else ()))


def uses_costs(scores: Scores) -> bool:
    """Tell whether decisions depend on costs, and so need not be the most probable classes."""
    return scores.cost is not None or scores.reject is not None


# -- standard errors ---------------------------------------------------------------------------------------------------


def standard_errors(scores: Scores) -> dict[str, float]:
    """Return the standard error of each score: over folds if there are folds of several rows each, else over rows."""
    names = score_names(scores)
    if has_comparable_folds(scores):
        folds = scores._fold_scores.values()
        return {name: standard_error_over_folds(fold[name] for fold in folds) for name in names}
    nan, weights = float("nan"), scores.row_weights
    answered = scores.row_weights * scores._answered
    by_row: dict[str, tuple[AnyArray, AnyArray]] = {
        "coverage": (scores._answered, weights),
        "mean_cost": (scores._costs, weights),
    }
    if not math.isnan(scores.accuracy):
        by_row["accuracy"] = (scores._correct, answered)
    if scores.posterior is not None:
        by_row |= {"log_loss": (scores._losses, weights), "brier": (scores._distances, weights)}
    return {name: standard_error_over_rows(*by_row[name]) if name in by_row else nan for name in names}


def has_comparable_folds(scores: Scores) -> bool:
    """Tell whether scores of folds can be compared: folds of a single row, as in leave-one-out, count as rows."""
    return scores.folds is not None and 2 * len(np.unique(scores.folds)) <= len(scores.truth)


def rows_by_fold(folds: Longs) -> dict[int, Places]:
    """Return the indices of the rows of each fold, by its number."""
    order = np.argsort(folds, kind="stable")
    numbers, begins = np.unique(folds[order], return_index=True)
    return dict(zip(numbers.tolist(), np.split(order, begins[1:]), strict=True))


def fold_frame(scores: Scores) -> FrameLike:
    """Return the scores of each fold as a data frame; without folds all rows are one."""
    names = ("rows", *score_names(scores))
    folds = {0: scores_by_name(scores)} if scores.folds is None else scores._fold_scores
    return frame({"fold": list(folds), **{name: [fold[name] for fold in folds.values()] for name in names}})


def scores_by_name(scores: Scores) -> dict[str, float]:
    """Return the number of rows and every score."""
    return {name: getattr(scores, name) for name in ("rows", "coverage", *ALL_SCORES, "skill")}


# -- writing -----------------------------------------------------------------------------------------------------------


def score_notes(scores: Scores) -> tuple[str, ...]:
    """Return a note if all rows are of one class."""
    seen = np.unique(scores.truth[scores.row_weights > 0])
    if len(seen) > 1:
        return ()
    label = scores.classes[int(seen[0])]
    if len(scores.classes) == 1:
        return (single_class_note(label),)
    return (f"All rows are of one class, {label!r}: the scores do not measure how well it is distinguished.",)


def tuning_notes(scores: Scores) -> list[str]:
    """Return the note below the scores if weights were fitted on the rows that are scored."""
    note = "weights and temperature were fitted on these rows; cross_validate fits them again in each fold"
    return [note] if scores.tuning == "fixed" else []


def baseline_title(scores: Scores) -> str:
    """Return a title for the baseline: always the same prediction, or none."""
    constant = constant_prediction(scores)
    if constant is None:
        return "never answering"
    return f"always {constant:.6g}" if scores._number_cost is not None else f"always {constant}"


def constant_prediction(scores: Scores) -> Label:
    """Return what the baseline always predicts; None if it abstains."""
    if not scores.baseline._answered[0]:
        return None
    constant = scores.baseline.answers[0]
    return constant if scores._number_cost is not None else scores.choices[int(constant)]


def score_lines(scores: Scores) -> list[tuple[str, str | None]]:
    """Return a title for each line of a report, and the name of its score; None for a heading."""
    names = score_names(scores)
    if not uses_costs(scores) or scores.posterior is None:
        return [(name.replace("_", " "), name) for name in names]
    found: list[tuple[str, str | None]] = []
    for title, group in (("of the decisions", DECISION_SCORES), ("of the probabilities", PROBABILITY_SCORES)):
        found.append((title, None))
        found += [(f"  {name.replace('_', ' ')}", name) for name in names if name in group]
    return found


def scores_as_text(scores: Scores) -> str:
    """Return the scores with their standard errors next to the baseline's, as lines of text."""
    notes = list(scores.notes)
    if len(scores.classes) == 1:
        return "\n".join([f"{scores.rows:.10g} rows", *notes])
    lines = [(f"{scores.rows:.10g} rows", "model", baseline_title(scores))]
    for title, name in score_lines(scores):
        if name is None:
            lines.append((title, "", ""))
            continue
        model = score_text(name, getattr(scores, name), scores.spread[name])
        lines.append((title, model, score_text(name, getattr(scores.baseline, name))))
    return "\n".join([*notes, *aligned_lines(lines, right=(1, 2)), *tuning_notes(scores)])


def score_frame(scores: Scores) -> FrameLike:
    """Return the scores with their standard errors next to the baseline's, as a data frame."""
    names = score_names(scores)
    model, baseline = ([getattr(one, name) for name in names] for one in (scores, scores.baseline))
    errors = [scores.spread[name] for name in names]
    return frame({"score": list(names), "model": model, "spread": errors, "baseline": baseline})


def reliability_frame(scores: Scores) -> FrameLike:
    """Return the reliability table as a data frame, without bins that have no rows."""
    rows, confidence, correct = scores._bins
    filled = rows > 0
    parts = {
        "rows": rows[filled],
        "confidence": confidence[filled] / rows[filled],
        "accuracy": correct[filled] / rows[filled],
    }
    return frame({"from": (np.arange(len(rows)) / len(rows))[filled], **parts})


def scores_as_json(scores: Scores) -> JsonObject:
    """Return the scores as values that JSON can hold; None for a score that is not defined."""
    names = ("coverage", *ALL_SCORES, "skill")
    in_numbers, constant = scores._number_cost is not None, constant_prediction(scores)

    def figures(given: Mapping[str, float]) -> JsonObject:
        return {name: json_value(given.get(name, float("nan"))) for name in names}

    return {
        "rows": as_row_count(scores.rows),
        **figures(scores_by_name(scores)),
        "spread": figures(scores.spread),
        "spread_over": "folds" if has_comparable_folds(scores) else "rows",
        "folds": [
            {"fold": number, "rows": as_row_count(fold["rows"]), **figures(fold)}
            for number, fold in scores._fold_scores.items()
        ],
        "baseline": {
            "answer": None if constant is None else json_value(constant),
            **figures(scores_by_name(scores.baseline)),
        },
        "classes": [json_value(label) for label in scores.classes],
        "choices": None if in_numbers else [None if k is None else json_value(k) for k in scores.confusion_columns],
        "confusion": None if in_numbers else [[as_row_count(n) for n in line] for line in scores.confusion.tolist()],
        "notes": [*scores.notes, *tuning_notes(scores)],
    }
