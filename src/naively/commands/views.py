"""What the commands show: classes, columns, scores, confusion, reliability."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .render import amount, bar, clean, filled, listed, percent, table

if TYPE_CHECKING:
    from rich.table import Table

    from ..classifier import Classifier
    from ..evaluate import Scores
    from ..statistics import Counts

# Of more than these, only the first are shown.
MOST_CLASSES, MOST_COLUMNS, MOST_CONFUSED = 10, 20, 12


def classes(counts: Counts) -> Table:
    """Return the rows of each class, the most frequent first."""
    order = sorted(zip(counts.classes.labels, counts.rows, strict=True), key=lambda pair: -pair[1])
    total, most = max(counts.rows.sum(), 1e-300), max(order[0][1], 1e-300) if order else 1.0
    shown = filled(
        table("class", "rows", "share", "", right=(1, 2)),
        ((str(label), amount(n), percent(n / total), bar(n / most)) for label, n in order[:MOST_CLASSES]),
    )
    if len(order) > MOST_CLASSES:
        shown.add_row(f"… and {len(order) - MOST_CLASSES} more")
    return shown


def column_facts(nb: Classifier) -> list[dict[str, Any]]:
    """Return what is known of each column, the one that tells most first."""
    from ..report import bits_of_columns
    from ..schema import NOUNS, said

    told = {name: bits for name, bits in bits_of_columns(nb._table_model, nb.counts_).items() if bits == bits}
    facts = [
        {
            "name": column.name,
            "holds": NOUNS[column.type],
            "family": said(column),
            "written": None if column.written is None or column.written.plain else str(column.written),
            "missing": missing_in(nb.counts_, column.name),
            "bits": known(told.get(column.name)),
        }
        for column in nb.schema_
    ]
    return sorted(facts, key=lambda fact: -(fact["bits"] or 0.0))


def known(bits: float | None) -> float | None:
    """Return how much a column tells, None if there is no such figure."""
    return None if bits is None or math.isnan(bits) else bits


def missing_in(counts: Counts, name: str) -> float | None:
    """Return in how many rows a column holds nothing, by weight; None where a column is a vector, or texts."""
    statistic, rows = counts.columns[name], float(counts.rows.sum())
    if hasattr(statistic, "lexicon"):
        return None
    if hasattr(statistic, "values"):
        at = statistic.values.place(None) if None in statistic.values.labels else None
        return 0.0 if at is None else float(statistic.n[:, at].sum())
    return max(rows - float(statistic.n.sum()), 0.0) if statistic.n.shape[1] == 1 else None


def columns(facts: list[dict[str, Any]], most: int = MOST_COLUMNS) -> Table:
    """Return what each column is, how much of it is missing, and how much it tells about the class."""
    longest = max((fact["bits"] or 0.0 for fact in facts), default=0.0) or 1.0
    shown = table("column", "holds", "taken as", "missing", "tells", "", right=(3, 4))
    for fact in facts[:most]:
        bits, missing = fact["bits"], fact["missing"]
        cells = (f"{bits:.3f} bits", bar(bits / longest)) if bits is not None else ("", "")
        gaps = "" if missing is None else amount(missing)
        filled(shown, [(fact["name"], fact["holds"], fact["family"], gaps, *cells)])
    if len(facts) > most:
        shown.add_row(f"… and {len(facts) - most} more")
    return shown


def scores(found: Scores, book: Scores | None = None) -> Table:
    """Return the scores beside those of the text book, if they are known, and of always giving the same answer."""
    from ..evaluate import FIGURES

    often = found.classes[int(found.baseline.answers[0])]
    columns = {"model": found, "text book": book, f"always {clean(str(often))}": found.baseline}
    beside = {title: one for title, one in columns.items() if one is not None}
    shown = table("", *beside, right=range(1, len(beside) + 1))
    for name in FIGURES:
        figures = (getattr(one, name) for one in beside.values())
        cells = [percent(f) if "accuracy" in name else f"{f:.4f}" if f == f else "–" for f in figures]
        shown.add_row(name.replace("_", " "), *cells)
    return shown


def confusion(found: Scores) -> Table:
    """Return how many rows of each true class were given each answer; of many classes, the most frequent."""
    rows = found.confusion.sum(axis=1)
    order = sorted(range(len(rows)), key=lambda k: (-rows[k], k))[:MOST_CONFUSED]
    names = [clean(str(found.classes[k])) for k in order]
    shown = table("true ↓  answer →", *names, "right", right=range(1, len(order) + 2))
    for k in order:
        right = percent(found.confusion[k, k] / rows[k]) if rows[k] else "–"
        filled(shown, [(str(found.classes[k]), *(amount(found.confusion[k, j]) for j in order), right)])
    return shown


def reliability(found: Scores) -> Table:
    """Return, for answers of like confidence, how sure they were and how many were right."""
    rows, sure, right = found._bins
    shown = table("said", "was right", "rows", "", right=(0, 1, 2))
    for n, confident, good in zip(rows, sure, right, strict=True):
        if n:
            shown.add_row(percent(confident / n), percent(good / n), amount(n), bar(n / rows.max()))
    return shown


def quoted(name: str) -> str:
    """Return a name as a shell takes it."""
    import shlex

    return shlex.quote(name)


def chosen(nb: Any) -> list[str]:
    """Return what a model chose beside its counts, a sentence for each."""
    return [f"{line[:1].upper()}{line[1:]}." for line in nb._said_of_tuning()]


__all__ = ["chosen", "classes", "column_facts", "columns", "confusion", "listed", "quoted", "reliability", "scores"]
