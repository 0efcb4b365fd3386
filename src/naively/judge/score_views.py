"""Scores as the page and a notebook show them: the plain values of the tab Quality, and the view of `Scores`."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from .._types import Floats, JsonObject, Label
from ..page.content import QualityView
from ..page.numbers import count_text, counted, probability_text, with_true_minus
from ..page.pictures import CalibrationPoint, calibration_picture
from ..page.style import notebook_view
from ..page.tags import Html, label, scrolled, table, tag
from .held_out_scores import clopper_pearson_interval
from .histograms import BINS, CUTS, TAIL, QualityCounts
from .metrics import NO_ANSWER, as_row_count, reliability_of_bins, score_text
from .scores import Scores, baseline_title, has_comparable_folds, score_lines, tuning_notes

# Of more classes, only the largest have a histogram, and can be looked at one by one; and only the first are shown with
# those that they are confused with.
MOST_CLASSES, SHOWN_CLASSES = 40, 26
# Probabilities that are put together to a point of the calibration, and how often its interval fails.
GROUPS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
TAIL_OF_INTERVAL = 0.025
# Rows that a point of the calibration has at least.
FEWEST_ROWS = 10
# In a notebook: classes of the confusion matrix, the most frequent ones; the level of intervals; titles of scores.
MOST_CONFUSED, LEVEL = 12, 0.9
TITLES = {"brier": "Brier score", "auc": "area under the ROC curve"}


# -- the tab Quality ---------------------------------------------------------------------------------------------------


def quality_data(counts: QualityCounts) -> JsonObject:
    """Return what the tab Quality reads, as plain data.

    Of two classes, the second has a histogram alone: that of the first is its mirror image. `classes` are those that
    can be compared with the rest, and `first` is the one with the fewest rows.
    """
    size, sizes = len(counts.classes), counts.confusion.sum(axis=1)
    drawn = {1} if size == 2 else set(np.argsort(-sizes, kind="stable")[:MOST_CLASSES].tolist())
    comparable = [k for k in range(size) if (size == 2 or k in drawn) and 0 < sizes[k] < counts.rows]
    return {
        "rows": _count(counts.rows),
        "classes": comparable,
        "first": min(comparable, key=lambda k: (sizes[k], -k), default=None),
        "source": asdict(counts.source),
        "figures": {name: [_figure(value), _figure(counts.errors[name])] for name, value in counts.figures.items()},
        "sizes": [_count(n) for n in sizes],
        "confusion": [[_count(cell) for cell in line[:SHOWN_CLASSES]] for line in counts.confusion[:SHOWN_CLASSES]],
        "tail": list(TAIL),
        "histograms": [[packed(counts.own[k]), packed(counts.other[k])] if k in drawn else None for k in range(size)],
        "intervals": [_intervals(counts, k) if k in drawn else None for k in range(size)],
    }


def quality_view(counts: QualityCounts, quality: JsonObject) -> QualityView | None:
    """Return the decisions and the calibration of the class that `quality_data` names first; None without one."""
    k, half = quality["first"], BINS // 2
    if k is None:
        return None
    own, other, intervals = counts.own[k], counts.other[k], quality["intervals"][k]
    if intervals is None:  # of two classes, the one that mirrors the other
        own, other = counts.other[1 - k][::-1], counts.own[1 - k][::-1]
        mirrored = reversed(quality["intervals"][1 - k])
        intervals = [[BINS - end, BINS - begin, 1 - high, 1 - low] for begin, end, low, high in mirrored]
    ends = np.array([0.0, *CUTS, 1.0])
    middles, points, sizes = (ends[1:] + ends[:-1]) / 2, [], []
    for begin, end, low, high in intervals:
        both = own[begin:end] + other[begin:end]
        if rows := float(both.sum()):
            mean = float((both * middles[begin:end]).sum()) / rows
            points.append(CalibrationPoint(mean, float(own[begin:end].sum()) / rows, low, high))
            sizes.append(rows)
    # A point at either end says little: nearly all of its rows are as probable as can be.
    largest = max(range(len(points)), key=lambda i: (0.1 < points[i].given < 0.95, sizes[i], points[i].given))
    hit, missed, false_alarm, left_alone = (
        float(part.sum()) for part in (own[half:], own[:half], other[half:], other[:half])
    )
    return QualityView(k, hit, missed, false_alarm, left_alone, points, (sizes[largest], points[largest]))


def packed(counts: Floats) -> list[int | float]:
    """Return counts of bins, with runs of empty bins as the negative number of them.

    >>> packed(np.array([3.0, 0.0, 0.0, 1.5]))
    [3, -2, 1.5]
    """
    out: list[int | float] = []
    for cell in counts.tolist():
        if cell:
            out.append(_count(cell))
        elif out and out[-1] < 0:
            out[-1] -= 1
        else:
            out.append(-1)
    return out


def calibration_groups(counts: QualityCounts, k: int) -> list[tuple[int, int]]:
    """Return the groups of bins, each by its first bin and its end, that are points of the calibration of a class.

    Groups of fewer rows than are needed to tell something are put together with the next ones.
    """
    bounds = [0, *(int(index) + 1 for index in np.searchsorted(CUTS, np.array(GROUPS) - 1e-9)), BINS]
    rows = (counts.own[k] + counts.other[k]) / counts.row_weight
    groups: list[tuple[int, int]] = []
    begin = 0
    for end in bounds[1:]:
        if rows[begin:end].sum() >= FEWEST_ROWS:
            groups.append((begin, end))
            begin = end
    return [*groups[:-1], (groups[-1][0], BINS)] if groups else [(0, BINS)]


def _intervals(counts: QualityCounts, k: int) -> list[list[float]]:
    """Return the first bin and the end of each group of probabilities, and the interval of the class in it."""
    groups = calibration_groups(counts, k)
    own, other = (
        np.array([part[k, begin:end].sum() for begin, end in groups]) / counts.row_weight
        for part in (counts.own, counts.other)
    )
    limits = clopper_pearson_interval(own + other, own, TAIL_OF_INTERVAL)
    return [[*group, *(round(float(limit), 4) for limit in pair)] for group, pair in zip(groups, limits.T, strict=True)]


def _count(value: float) -> int | float:
    return as_row_count(float(f"{value:.6g}")) if value < 1e6 else as_row_count(round(value, 1))


def _figure(value: float) -> float | None:
    return float(f"{value:.6g}") if np.isfinite(value) else None


# -- in a notebook -----------------------------------------------------------------------------------------------------


def scores_html(scores: Scores) -> Html:
    """Return scores as HTML: next to those of the best constant prediction, the reliability diagram, the confusion."""
    folds = counted(len(set(scores.folds.tolist())), "fold") if scores.folds is not None else ""
    where = f", each held out in one of {folds}" if folds and has_comparable_folds(scores) else ""
    head = tag("p", counted(scores.rows, "row"), tag("span", where, css="muted"), css="nv-head")
    notes = [tag("p", note) for note in scores.notes]
    if len(scores.classes) == 1:
        return notebook_view(head, notes)
    lines = []
    for title, name in score_lines(scores):
        if name is None:
            lines.append(tag("tr", tag("td", title, colspan=3, css="muted")))
            continue
        model = score_text(name, getattr(scores, name), scores.spread[name])
        constant = score_text(name, getattr(scores.baseline, name))
        cells = (tag("td", with_true_minus(text), css="nv-n") for text in (model, constant))
        lines.append(tag("tr", tag("td", TITLES.get(name, title.strip())), cells))
    over = "folds" if has_comparable_folds(scores) else "rows"
    figures = table((f"± standard error over {over}", "model", label(baseline_title(scores))), lines, css="q-compare")
    below = [tag("p", f"{note[0].upper()}{note[1:]}.", css="muted") for note in tuning_notes(scores)]
    return notebook_view(
        head, notes, tag("div", tag("div", figures, below), _reliability(scores), css="nv-side"), _confusion(scores)
    )


def _reliability(scores: Scores) -> Html:
    """Return the reliability diagram, if there are probabilities."""
    if scores.posterior is None:
        return Html("")
    bins = reliability_of_bins(scores, LEVEL)
    points = [CalibrationPoint(point.confidence, point.accuracy, point.low, point.high) for point in bins]
    listed = "; ".join(f"{probability_text(point.given)}: {probability_text(point.found)}" for point in points)
    title = f"Reliability diagram, probability of the predicted class and accuracy: {listed}"
    chart = calibration_picture(points, "probability of the predicted class", "accuracy", title)
    note = "On the dashed line, predictions are right as often as their probability says;"
    return tag("figure", chart, tag("p", f"{note} with {100 * LEVEL:.0f} % intervals.", css="muted"))


def _confusion(scores: Scores) -> Html:
    """Return the confusion matrix: right predictions blue, others orange, with their share of the true class."""
    if scores._number_cost is not None:
        return Html("")
    rows, columns = scores.confusion.sum(axis=1), scores.confusion_columns
    order = sorted(range(len(rows)), key=lambda k: (-rows[k], k))[:MOST_CONFUSED]
    place: dict[Label, int] = {choice: column for column, choice in reversed(list(enumerate(columns)))}
    shown = [place[scores.classes[k]] for k in order if scores.classes[k] in place]
    shown += [column for column, choice in enumerate(columns) if choice not in scores.classes]
    lines = []
    for k in order:
        cells = []
        for column in shown:
            n, css = scores.confusion[k, column], "nv-n"
            if n:
                level = int(np.searchsorted((0.1, 0.4), n / rows[k], side="right")) + 1
                css += f" nv-{'f' if column == place.get(scores.classes[k]) else 'a'}{level}"
            share = tag("small", probability_text(n / rows[k])) if n else ""
            cells.append(tag("td", count_text(n), share, css=css))
        lines.append(tag("tr", tag("th", label(scores.classes[k], 24), scope="row"), cells))
    names = (NO_ANSWER if columns[column] is None else columns[column] for column in shown)
    caption = "Confusion: rows of each true class by prediction"
    matrix = table(["true ↓ predicted →", *(label(name, 24) for name in names)], lines, "confusion", caption)
    hidden = len(rows) - len(order)
    more = tag("p", f"… and {counted(hidden, 'more class', 'more classes')}", css="muted") if hidden > 0 else ""
    return scrolled(matrix, more, name=caption)
