"""Counts as HTML for a notebook: classes, columns with their commonest values, tables with proportions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from .._types import Floats, Label
from ..markup.numbers import count_text, counted, number_text, probability_text
from ..markup.style import notebook_view
from ..markup.svg import share_bar, swatch
from ..markup.tags import Html, details, joined, label, scrolled, table, tag
from .arithmetic import commonest
from .moments import Moments
from .table import Table
from .word_table import WordTable

if TYPE_CHECKING:
    from .counts import ColumnStatistic, Counts

# Of more classes, columns and values than these, only the first are shown.
MOST_CLASSES, MOST_COLUMNS, MOST_VALUES = 12, 30, 20
# Classes and values that are named in one line.
NAMED_CLASSES, NAMED_VALUES = 4, 3


def counts_html(counts: Counts) -> Html:
    """Return the rows of each class, and a line for each column."""
    rows, names = counts.rows, counts.classes.labels
    width = counted(len(counts.columns), "column")
    head = tag("p", counted(float(rows.sum()), "row"), tag("span", f", {width}", css="nv-m"), css="nv-head")
    columns = [_column_row(name, statistic, names) for name, statistic in list(counts.columns.items())[:MOST_COLUMNS]]
    hidden = len(counts.columns) - MOST_COLUMNS
    more = [tag("p", f"… and {counted(hidden, 'more column')}", css="nv-m")] if hidden > 0 else []
    joint = [tag("small", "Pairs of columns and fine bins of numbers are counted beside them.")] if counts.joint else []
    return notebook_view(
        head, class_table(names, rows), table(("column", "counted in each class"), columns), more, joint
    )


def class_table(names: Sequence[Label], rows: Floats, shares: Sequence[float] | None = None, title: str = "") -> Html:
    """Return the rows of each class with bars, the most frequent first; shares stand for those of the rows if given."""
    total = float(rows.sum()) or 1.0
    each = [float(n) / total for n in rows] if shares is None else list(shares)
    order = sorted(range(len(rows)), key=lambda k: (-each[k], k))
    body = [
        tag(
            "tr",
            tag("td", class_key(k, names[k])),
            tag("td", count_text(float(rows[k])), css="nv-n"),
            tag("td", probability_text(each[k]), css="nv-n"),
            tag("td", share_bar(each[k], k), css="nv-w"),
        )
        for k in order[:MOST_CLASSES]
    ]
    shown = table(("class", "rows", title or "proportion", "0 to 100 %"), body, numbers=(1, 2))
    hidden = len(order) - MOST_CLASSES
    if hidden <= 0:
        return shown
    return joined(shown, tag("p", f"… and {counted(hidden, 'more class', 'more classes')}", css="nv-m"))


def class_key(k: int, name: Label) -> Html:
    """Return a class with its color."""
    return tag("span", swatch(k), label(_shown(name)), css="nv-key")


def table_html(counts: Table) -> Html:
    """Return the counts of each value by class with their proportions of the class, the commonest values first."""
    head = tag("p", f"{count_text(float(counts.n.sum()))} counted", css="nv-head")
    return notebook_view(head, value_table(counts))


def value_table(counts: Table) -> Html:
    """Return a line for each value, a column for each class; of many, those that are counted most."""
    classes, values = commonest(counts.n.sum(axis=1), MOST_CLASSES), commonest(counts.n.sum(axis=0), MOST_VALUES)
    total = counts.n.sum(axis=1)
    body = []
    for at in values:
        cells = [_count_cell(float(counts.n[k, at]), float(total[k])) for k in classes]
        body.append(tag("tr", tag("th", label(_shown(counts.values.labels[at])), scope="row"), cells))
    sums = [tag("td", count_text(float(total[k])), css="nv-n") for k in classes]
    body.append(tag("tr", tag("th", "sum", scope="row"), sums, css="nv-sum"))
    head = [tag("span", "value ↓ class →"), *(label(_shown(counts.classes.labels[k]), 24) for k in classes)]
    hidden = [
        (len(counts.values) - len(values), "value", "values"),
        (len(counts.classes) - len(classes), "class", "classes"),
    ]
    more = [f"{count_text(n)} more {one if n == 1 else many}" for n, one, many in hidden if n > 0]
    below = tag("p", f"… and {' and '.join(more)}", css="nv-m") if more else ""
    return joined(scrolled(table(head, body, css="nv-fit nv-matrix"), "Counts of values by class"), below)


def _count_cell(n: float, of: float) -> Html:
    share = tag("small", probability_text(n / of)) if n and of else ""
    return tag("td", count_text(n), share, css="nv-n")


def _column_row(name: str, statistic: ColumnStatistic, names: Sequence[Label]) -> Html:
    told = "; ".join(_described(statistic))
    more = details("as a table", value_table(statistic)) if isinstance(statistic, Table) and statistic.n.size else ""
    return tag("tr", tag("td", label(name)), tag("td", told, more))


def _described(statistic: ColumnStatistic) -> Iterable[str]:
    """Return what was counted of a column in each class, in words; of many classes the first."""
    labels = list(statistic.classes.labels) if hasattr(statistic, "classes") else []
    for k, one in enumerate(labels[:NAMED_CLASSES]):
        yield f"{_shown(one)}: {_of_class(statistic, k)}"
    if len(labels) > NAMED_CLASSES:
        yield f"{counted(len(labels) - NAMED_CLASSES, 'more class', 'more classes')}"
    if not labels:
        yield type(statistic).__name__


def _of_class(statistic: ColumnStatistic, k: int) -> str:
    if isinstance(statistic, Moments):
        if statistic.n.shape[1] > 1:
            return f"vectors of {statistic.n.shape[1]:,} numbers"
        if not statistic.n[k, 0]:
            return "none"
        spread = number_text(float(np.sqrt(statistic.variance[k, 0])), 2)
        return f"{number_text(float(statistic.mean[k, 0]))} ± {spread} ({count_text(float(statistic.n[k, 0]))})"
    if isinstance(statistic, WordTable):
        return _words_of_class(statistic, k)
    n = statistic.n[k]
    best = commonest(n, NAMED_VALUES) if len(n) > NAMED_VALUES else np.argsort(-n, kind="stable")
    said = ", ".join(
        f"{_cut(_shown(statistic.values.labels[at]))} {count_text(float(n[at]))}" for at in best if n[at] > 0
    )
    rest = int((n > 0).sum()) - int((n[best] > 0).sum())
    return f"{said or 'none'}{f', … {rest} more' if rest > 0 else ''}"


def _words_of_class(statistic: WordTable, k: int) -> str:
    """Return how many words the texts of a class have, and the commonest; from cells, for a table may not fit."""
    cells = statistic.cells
    at = np.flatnonzero(cells.classes == k)
    best = at[np.argsort(-cells.times[at], kind="stable")[:NAMED_VALUES]]
    numbers = np.asarray(cells.words[best], dtype=np.int32)
    names = map(str, numbers.tolist()) if statistic.numbered else statistic.lexicon.names(numbers)
    said = ", ".join(f"{_cut(name)} {count_text(float(n))}" for name, n in zip(names, cells.times[best], strict=True))
    return f"{counted(float(cells.times[at].sum()), 'word')}{f', as {said}' if said else ''}"


def _shown(value: Label) -> str:
    return "(missing)" if value is None else str(value)


def _cut(text: str) -> str:
    return text if len(text) <= 30 else f"{text[:29]}…"
