"""Scores as HTML for a notebook: figures beside the best constant answer, confusion matrix, reliability diagram."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..markup.charts import ChartPoint, reliability_diagram
from ..markup.numbers import count_text, counted, probability_text, with_true_minus
from ..markup.style import notebook_view
from ..markup.tags import Html, label, scrolled, table, tag
from .curves import reliability_of_bins
from .metrics import NO_ANSWER, score_text
from .score_report import baseline_title, has_comparable_folds, score_lines, tuning_notes

if TYPE_CHECKING:
    from .scores import Scores

# Classes of the confusion matrix; of more, the most frequent are shown.
MOST_CONFUSED = 12
# Scores that are written otherwise than their names.
TITLES = {"brier": "Brier score", "auc": "area under the ROC curve"}
# The level of the intervals of the diagram.
LEVEL = 0.9


def scores_html(scores: Scores) -> Html:
    """Return scores as HTML."""
    folds = counted(len(set(scores.folds.tolist())), "fold") if scores.folds is not None else ""
    where = f", each held out in one of {folds}" if folds and has_comparable_folds(scores) else ""
    head = tag("p", counted(scores.rows, "row"), tag("span", where, css="nv-m"), css="nv-head")
    notes = [tag("p", note) for note in scores.notes]
    if len(scores.classes) == 1:
        return notebook_view(head, notes)
    below = [tag("small", f"{note[0].upper()}{note[1:]}.") for note in tuning_notes(scores)]
    side = tag("div", tag("div", _figures(scores), below), *_diagram(scores), css="nv-side")
    return notebook_view(head, notes, side, *_confusion(scores))


def _figures(scores: Scores) -> Html:
    """Return the scores with their standard errors beside those of the best constant answer."""
    rows = []
    for title, name in score_lines(scores):
        if name is None:
            rows.append(tag("tr", tag("td", title, colspan=3, css="nv-m")))
            continue
        model = score_text(name, getattr(scores, name), scores.spread[name])
        constant = score_text(name, getattr(scores.baseline, name))
        cells = (tag("td", with_true_minus(text), css="nv-n") for text in (model, constant))
        rows.append(tag("tr", tag("td", TITLES.get(name, title.strip())), cells))
    over = "folds" if has_comparable_folds(scores) else "rows"
    head = (tag("span", f"± standard error over {over}"), "model", label(baseline_title(scores)))
    return table(head, rows, numbers=(1, 2))


def _diagram(scores: Scores) -> list[Html]:
    """Return the reliability diagram, if there are probabilities."""
    if scores.posterior is None:
        return []
    found = reliability_of_bins(scores, LEVEL)
    points = [ChartPoint(p.confidence, p.accuracy, p.low, p.high, (p.rows / scores.rows) ** 0.5) for p in found]
    spoken = "; ".join(f"{probability_text(p.confidence)}: {probability_text(p.accuracy)}" for p in found)
    chart = reliability_diagram(points, f"Reliability diagram, probability of the answer and accuracy: {spoken}")
    below = "On the dashed line, answers are right as often as their probability says;"
    below += f" with {100 * LEVEL:.0f} % intervals."
    return [tag("div", chart, tag("small", below))]


def _confusion(scores: Scores) -> list[Html]:
    """Return the confusion matrix, colored by the proportion of the true class: right answers blue, others orange."""
    if scores._number_cost is not None:
        return []
    rows = scores.confusion.sum(axis=1)
    order = sorted(range(len(rows)), key=lambda k: (-rows[k], k))[:MOST_CONFUSED]
    own = {label: at for at, label in reversed(list(enumerate(scores.confusion_columns)))}
    shown = [own[scores.classes[k]] for k in order if scores.classes[k] in own]
    shown += [at for at, choice in enumerate(scores.confusion_columns) if choice not in scores.classes]
    names = [NO_ANSWER if scores.confusion_columns[at] is None else scores.confusion_columns[at] for at in shown]
    body = []
    for k in order:
        right = own.get(scores.classes[k], -1)
        cells = [_confusion_cell(scores.confusion[k, at], rows[k], at == right) for at in shown]
        body.append(tag("tr", tag("th", label(scores.classes[k], 24), scope="row"), cells))
    head = [tag("span", "true ↓ answer →"), *(label(name, 24) for name in names)]
    matrix = scrolled(table(head, body, css="nv-fit nv-matrix"), "Confusion matrix")
    hidden = len(rows) - len(order)
    more = [tag("small", f"… and {counted(hidden, 'more class', 'more classes')}")] if hidden > 0 else []
    return [tag("p", "Confusion: rows of each true class by answer", css="nv-cap"), matrix, *more]


def _confusion_cell(n: float, of: float, right: bool) -> Html:
    share = n / of if of else 0.0
    level = 0 if n == 0 else 1 if share < 0.1 else 2 if share < 0.4 else 3
    css = f"nv-n nv-{'f' if right else 'a'}{level}" if level else "nv-n"
    return tag("td", count_text(n), tag("small", probability_text(share)) if n else "", css=css)
