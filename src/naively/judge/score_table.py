"""Scores as text, as a frame and as plain data; how far their figures spread, and when not to believe them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._frames import frame
from .drawing import aligned
from .metrics import (
    DECISIONS,
    PROBABILITIES,
    error_over_folds,
    error_over_rows,
    one_class,
    plain,
    whole,
    written,
)

# In the order in which they are shown where every mistake costs the same, and decisions follow the probabilities.
FIGURES = ("accuracy", "balanced_accuracy", "log_loss", "brier", "calibration_error", "auc", "mean_cost")
# What is said below the figures if something was fitted on the rows that were asked about.
FITTED = {
    "fixed": ("weights and temperature were fitted on these rows; cross_validate fits them anew in each fold",),
    "adjusted": (
        "weights were fitted on these rows, each row's part in them taken out to first order;",
        "with few rows prefer cross_validate, which fits them anew in each fold",
    ),
}


def figures_of(scores: Any) -> tuple[str, ...]:
    """Return the names of the figures that say something of these scores."""
    if not is_decided(scores):
        names = FIGURES if scores.posterior is not None else DECISIONS[1:4]
        return ("coverage", *names) if scores._may_abstain else names
    accurate = DECISIONS[1:3] if not math.isnan(scores.accuracy) else ()
    decisions = [*DECISIONS[:1], *accurate, "mean_cost"] if scores._may_abstain else [*accurate, "mean_cost"]
    more = ["skill"] if scores._in_numbers else []
    return (*decisions, *more, *(PROBABILITIES if scores.posterior is not None else ()))


def is_decided(scores: Any) -> bool:
    """Tell whether answers weigh costs, and so need not be the most probable classes."""
    return scores.cost is not None or scores.reject is not None


# -- spread ------------------------------------------------------------------------------------------------------------


def spread_of(scores: Any) -> dict[str, float]:
    """Return the standard error of each figure: over folds if there are, each of several rows; else over rows."""
    names = figures_of(scores)
    if is_over_folds(scores):
        parts = scores._of_folds.values()
        return {name: error_over_folds(getattr(part, name) for part in parts) for name in names}
    nan, weights = float("nan"), scores._w
    answered = scores._w * scores._answered
    by_row = {"coverage": (scores._answered, weights), "mean_cost": (scores._paid, weights)}
    if not math.isnan(scores.accuracy):
        by_row["accuracy"] = (scores._right, answered)
    if scores.posterior is not None:
        by_row |= {"log_loss": (scores._losses, weights), "brier": (scores._distances, weights)}
    return {name: error_over_rows(*by_row[name]) if name in by_row else nan for name in names}


def is_over_folds(scores: Any) -> bool:
    """Tell whether figures of folds can be compared: those of a single row, as in leave-one-out, are rows."""
    return scores.folds is not None and 2 * len(np.unique(scores.folds)) <= len(scores.truth)


def places_by_fold(folds: Any) -> dict[int, Any]:
    """Return the places of the rows of each fold, by its number."""
    order = np.argsort(folds, kind="stable")
    numbers, begins = np.unique(folds[order], return_index=True)
    return dict(zip(numbers.tolist(), np.split(order, begins[1:]), strict=True))


def by_fold(scores: Any) -> Any:
    """Return the figures of each fold as a frame; without folds all rows are one."""
    names, parts = figures_of(scores), fold_parts(scores)
    columns = {name: [getattr(part, name) for part in parts.values()] for name in names}
    return frame({"fold": list(parts), "rows": [part.rows for part in parts.values()], **columns})


def fold_parts(scores: Any) -> dict[int, Any]:
    """Return the scores of each fold by its number."""
    return {0: scores} if scores.folds is None else scores._of_folds


# -- writing -----------------------------------------------------------------------------------------------------------


def notes_of(scores: Any) -> tuple[str, ...]:
    """Return whether there is anything to distinguish."""
    met = np.unique(scores.truth[scores._w > 0])
    if len(met) > 1:
        return ()
    label = scores.classes[int(met[0])]
    if len(scores.classes) == 1:
        return (one_class(label),)
    return (
        f"All rows are of one class, {label!r}: the figures do not say how well it is distinguished from the others.",
    )


def always(scores: Any) -> str:
    """Return what the baseline does: always the same answer, or none."""
    constant = scores.baseline.answers[0]
    if not scores.baseline._answered[0]:
        return "never answering"
    return f"always {constant:.6g}" if scores._in_numbers else f"always {scores.choices[int(constant)]}"


def lines_of(scores: Any) -> list[tuple[str, str | None]]:
    """Return a title for each line of figures, and the name of its figure; a heading has none."""
    names = figures_of(scores)
    if not is_decided(scores) or scores.posterior is None:
        return [(name.replace("_", " "), name) for name in names]
    found: list[tuple[str, str | None]] = []
    for title, group in (("of the decisions", DECISIONS), ("of the probabilities", PROBABILITIES)):
        found.append((title, None))
        found += [(f"  {name.replace('_', ' ')}", name) for name in names if name in group]
    return found


def text_of(scores: Any) -> str:
    """Return the figures with their standard errors beside the baseline's, as lines."""
    notes = list(scores.notes)
    if len(scores.classes) == 1:
        return "\n".join([f"{scores.rows:.10g} rows", *notes])
    lines = [(f"{scores.rows:.10g} rows", "model", always(scores))]
    for title, name in lines_of(scores):
        if name is None:
            lines.append((title, "", ""))
            continue
        said = written(name, getattr(scores, name), scores.spread[name])
        lines.append((title, said, written(name, getattr(scores.baseline, name))))
    below = FITTED.get(scores.tuning or "", ())
    return "\n".join([*notes, *(line.rstrip() for line in aligned(lines, right=(1, 2))), *below])


def frame_of(scores: Any) -> Any:
    """Return the same as a frame."""
    names = figures_of(scores)
    model, baseline = ([getattr(one, name) for name in names] for one in (scores, scores.baseline))
    errors = [scores.spread[name] for name in names]
    return frame({"score": list(names), "model": model, "spread": errors, "baseline": baseline})


def reliability_of(scores: Any) -> Any:
    """Return the reliability table as a frame, without bins that have no rows."""
    rows, sure, right = scores._bins
    met = rows > 0
    parts = {"rows": rows[met], "confidence": sure[met] / rows[met], "right": right[met] / rows[met]}
    return frame({"from": (np.arange(len(rows)) / len(rows))[met], **parts})


def data_of(scores: Any) -> dict[str, Any]:
    """Return the figures as plain data; None where one cannot be given."""
    names = ("coverage", *FIGURES, "skill")
    constant = scores.baseline.answers[0] if scores.baseline._answered[0] else None
    if constant is not None and not scores._in_numbers:
        constant = scores.choices[int(constant)]
    spread = {name: plain(scores.spread.get(name, float("nan"))) for name in names}
    parts = fold_parts(scores) if scores.folds is not None else {}
    table = None if scores._in_numbers else whole(scores.confusion)
    return {
        "rows": whole(scores.rows),
        **{name: plain(getattr(scores, name)) for name in names},
        "spread": spread,
        "spread_over": "folds" if is_over_folds(scores) else "rows",
        "folds": [
            {"fold": number, "rows": whole(part.rows), **{name: plain(getattr(part, name)) for name in names}}
            for number, part in parts.items()
        ],
        "baseline": {
            "answer": None if constant is None else plain(constant),
            **{name: plain(getattr(scores.baseline, name)) for name in names},
        },
        "classes": [plain(label) for label in scores.classes],
        "choices": None if scores._in_numbers else [None if k is None else plain(k) for k in scores.confusion_columns],
        "confusion": table,
        "notes": [*scores.notes, *([" ".join(FITTED[scores.tuning])] if scores.tuning in FITTED else [])],
    }
