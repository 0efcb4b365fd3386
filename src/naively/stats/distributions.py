"""The distribution of a counted column within each class, as plain values; and counts as HTML for a notebook.

A distribution is a dict, and its `kind` says what it holds: "labels" (the counts of values, and of all others),
"normal" (number, mean and standard deviation) or "words"; `explain.distributions` adds "bins". Counts are
[class][value].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._types import Floats, Json, JsonObject, Label, Places
from ..page.content import PageData
from ..page.numbers import count_text, counted, probability_text
from ..page.pictures import distribution_picture
from ..page.sections import class_table
from ..page.style import notebook_view
from ..page.tags import Html, joined, label, number, row, scrolled, table, tag
from .arithmetic import commonest
from .moments import Moments
from .table import Table
from .word_table import WordTable

if TYPE_CHECKING:
    from .counts import ColumnStatistic, Counts

# Values of a column that are shown, and others whose counts are held; words of each class and of all classes.
SHOWN_VALUES, COUNTED_VALUES, SHOWN_WORDS, MOST_WORDS = 8, 300, 4, 24
# Cells of a table of words that fits into memory.
MOST_CELLS = 1 << 24
# Of more classes, columns and values than these, a notebook shows only the first; of many classes, whose pictures are
# large, fewer columns.
MOST_CLASSES, MOST_COLUMNS, MOST_VALUES, MOST_CURVES = 12, 30, 20, 240


def counts_json(n: Floats) -> list[Json]:
    """Return counts, of one class or [class][value]; those of weights are rounded.

    >>> counts_json(np.array([[1.0, 0.33333]]))
    [[1, 0.333]]
    """
    if np.ndim(n) > 1:
        return [counts_json(line) for line in n]
    return [int(x) if x.is_integer() else x for x in (round(float(x), 3) for x in n)]


def value_distribution(n: Floats, labels: Sequence[Label], order: Places | None = None) -> JsonObject:
    """Return the counts of values [class, value]: the most frequent ones, or the first in an order of their own."""
    most = 2 * SHOWN_VALUES
    if order is None:
        order = np.argsort(-n.sum(axis=0), kind="stable")
        most = SHOWN_VALUES if len(labels) > SHOWN_VALUES + 1 else len(labels)
    shown, rest = order[:most], order[most:]
    held = rest[:COUNTED_VALUES]
    return {
        "kind": "labels",
        "values": [shown_value(labels[place]) for place in shown],
        "counts": counts_json(n[:, shown]),
        "others": len(rest),
        "other_counts": counts_json(n[:, rest].sum(axis=1)),
        "rest": {"values": [shown_value(labels[place]) for place in held], "counts": counts_json(n[:, held])},
    }


def normal_distribution(n: Floats, mean: Floats, ssd: Floats) -> JsonObject:
    """Return the number of values of each class, their mean and their standard deviation."""
    deviation = np.sqrt(np.divide(ssd, n, out=np.zeros_like(ssd), where=n > 0))
    parts = {"n": n, "mean": mean, "sd": deviation}
    return {"kind": "normal", **{key: [float(f"{x:.6g}") for x in part] for key, part in parts.items()}}


def word_distribution(words: WordTable) -> JsonObject:
    """Return the words that distinguish each class most, by what their occurrences add to the log-likelihood ratio."""
    n, labels = words.n, words.values.labels
    if not n.size:
        return {"kind": "words", "words": [], "counts": []}
    total = n.sum(axis=1, keepdims=True)
    p = (n + 0.5) / (total + 0.5 * n.shape[1])
    rest = (n.sum(axis=0) - n + 0.5) / (total.sum() - total + 0.5 * n.shape[1])
    lead = n * np.log(p / rest)
    places = np.unique(np.argsort(-lead, axis=1, kind="stable")[:, :SHOWN_WORDS].T.ravel())
    order = places[np.lexsort((-lead[:, places].max(axis=0), lead[:, places].argmax(axis=0)))][:MOST_WORDS]
    names = [str(labels[place]) for place in order]
    return {"kind": "words", "words": names, "counts": counts_json(n[:, order]), "totals": counts_json(total[:, 0])}


def shown_value(value: Label) -> str:
    """Return a value as it is shown; a missing value is not the text "None"."""
    return "(missing)" if value is None else str(value)


# -- in a notebook -----------------------------------------------------------------------------------------------------


def counts_html(counts: Counts) -> Html:
    """Return the rows of each class, and the distribution of each column."""
    columns = tag("span", f", {counted(len(counts.columns), 'column')}", css="muted")
    head = tag("p", counted(float(counts.rows.sum()), "row"), columns, css="nv-head")
    classes = PageData([shown_value(label) for label in counts.classes.labels], counts.rows.tolist(), [])
    drawn = list(counts.columns.items())[: min(MOST_COLUMNS, MOST_CURVES // len(counts.classes))]
    cards = [tag("article", tag("h4", name), *_distribution(counts, column), css="card") for name, column in drawn]
    hidden = len(counts.columns) - len(drawn)
    more = tag("p", f"… and {counted(hidden, 'more column')}", css="muted") if hidden else ""
    below = tag("h3", "Counted in each class"), tag("div", cards, css="cards")
    return notebook_view(head, class_table(classes, MOST_CLASSES), *below, more)


def _distribution(counts: Counts, statistic: ColumnStatistic) -> list[Html]:
    """Return the picture of a column, and of values the table."""
    classes = len(counts.classes)
    if isinstance(statistic, WordTable):
        if statistic.size * classes > MOST_CELLS:
            return [tag("p", counted(statistic.size, "word"))]
        words = word_distribution(statistic.on(counts.classes))
        return [distribution_picture(words, classes, "Words that distinguish the classes")]
    if isinstance(statistic, Table):
        shown = value_distribution(statistic.on(counts.classes), statistic.values.labels)
        picture = distribution_picture(shown, classes, "Values within each class", f"{shown['others']:,} others")
        return [picture, tag("details", tag("summary", "as a table"), value_table(statistic))]
    moments: Moments = statistic.on(counts.classes)
    if moments.n.shape[1] != 1:
        return [tag("p", f"vectors of {moments.n.shape[1]:,} numbers")]
    shown = normal_distribution(*(part[:, 0] for part in (moments.n, moments.mean, moments.ssd)))
    return [distribution_picture(shown, classes, "Normal density of each class")]


def table_html(counts: Table) -> Html:
    """Return the counts of each value by class with their proportions of the class, the commonest values first."""
    return notebook_view(tag("p", f"{count_text(float(counts.n.sum()))} counted", css="nv-head"), value_table(counts))


def value_table(counts: Table) -> Html:
    """Return a line for each value, a column for each class; of many, those that are counted most."""
    totals = counts.n.sum(axis=1)
    classes, values = commonest(totals, MOST_CLASSES), commonest(counts.n.sum(axis=0), MOST_VALUES)
    lines = []
    for value in values:
        cells = []
        for k in classes:
            n = float(counts.n[k, value])
            cells.append(number(count_text(n), tag("small", probability_text(n / float(totals[k]))) if n else ""))
        lines.append(row(label(shown_value(counts.values.labels[value])), cells))
    lines.append(row("sum", [number(count_text(float(totals[k]))) for k in classes]))
    hidden: list[tuple[int, Any]] = [
        (len(counts.values) - len(values), ("value", "values")),
        (len(counts.classes) - len(classes), ("class", "classes")),
    ]
    left = [f"{count_text(n)} more {nouns[n != 1]}" for n, nouns in hidden if n > 0]
    head = ["value ↓ class →", *(label(shown_value(counts.classes.labels[k]), 24) for k in classes)]
    more = tag("p", f"… and {' and '.join(left)}", css="muted") if left else ""
    return joined(scrolled(table(head, lines, "confusion"), name="Counts of values by class"), more)
