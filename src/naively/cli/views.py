"""What the commands show: classes, columns, scores, confusion, reliability."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .render import amount, bar, clean, filled, listed, percent, table

if TYPE_CHECKING:
    from rich.table import Table

    from ..estimator.fitted_classifier import FittedClassifier
    from ..judge.scores import Scores
    from ..stats import Counts
    from ..stats.mutual_information import Information

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


def column_facts(fitted: FittedClassifier) -> list[dict[str, Any]]:
    """Return what is known of each column, that of the most mutual information first."""
    from ..data.column import NOUNS, family_text
    from ..estimator.reports import information_of_columns
    from ..judge.metrics import whole

    told = information_of_columns(fitted)
    facts = [
        {
            "name": column.name,
            "holds": NOUNS[column.type],
            "family": family_text(column),
            "written": None if column.written is None or column.written.plain else str(column.written),
            "missing": None if (gaps := missing_in(fitted.counts, column.name)) is None else whole(gaps),
            "bits": known(told.get(column.name)),
        }
        for column in fitted.schema
    ]
    return sorted(facts, key=lambda fact: -(fact["bits"] or 0.0))


def class_facts(counts: Counts) -> list[dict[str, Any]]:
    """Return the rows of each class, as whole numbers if weights do not make them fractions."""
    from ..judge.metrics import whole

    return [{"class": k, "rows": n} for k, n in zip(counts.classes.labels, whole(counts.rows), strict=True)]


def known(told: Information | None) -> float | None:
    """Return the mutual information of a column and the class, None if there is no such figure."""
    return None if told is None or math.isnan(told.bits) else told.bits


def missing_in(counts: Counts, name: str) -> float | None:
    """Return in how many rows a column holds nothing, by weight; None where a column is a vector, or texts."""
    statistic, rows = counts.columns[name], float(counts.rows.sum())
    if hasattr(statistic, "lexicon"):
        return None
    if hasattr(statistic, "values"):
        at = statistic.values.place(None) if None in statistic.values.labels else None
        return 0.0 if at is None else float(statistic.n[:, at].sum())
    return max(rows - float(statistic.n.sum()), 0.0) if statistic.n.shape[1] == 1 else None


def columns(facts: list[dict[str, Any]], most: int = MOST_COLUMNS, where: str = "") -> Table:
    """Return what each column is, how much of it is missing, and its mutual information with the class."""
    longest = max((fact["bits"] or 0.0 for fact in facts), default=0.0) or 1.0
    shown = table("column", "holds", "taken as", "missing", "mutual information (bits)", "", right=(3, 4))
    for fact in facts[:most]:
        bits, missing = fact["bits"], fact["missing"]
        cells = (f"{bits:.3f}", bar(bits / longest)) if bits is not None else ("", "")
        gaps = "" if missing is None else amount(missing)
        filled(shown, [(fact["name"], fact["holds"], fact["family"], gaps, *cells)])
    if len(facts) > most:
        shown.add_row(f"… and {len(facts) - most:,} more{where}")
    return shown


def scores(found: Scores, book: Scores | None = None) -> Table:
    """Return the scores with their spread, beside those of the textbook, if known, and of always the same answer."""
    from ..judge.metrics import written
    from ..judge.score_table import always, is_over_folds, lines_of

    columns = {"model": found, "textbook": book, clean(always(found)): found.baseline}
    beside = {title: one for title, one in columns.items() if one is not None}
    shown = table("", *beside, right=range(1, len(beside) + 1))
    for title, name in lines_of(found):
        if name is None:
            shown.add_row(title)
            continue
        spreads = [{} if one is found.baseline else one.spread for one in beside.values()]
        figures = [getattr(one, name) for one in beside.values()]
        cells = [written(name, f, s.get(name, math.nan)) for f, s in zip(figures, spreads, strict=True)]
        shown.add_row(title, *cells)
    over = "folds" if is_over_folds(found) else "rows"
    shown.caption, shown.caption_justify = f"± is the standard error over {over}", "left"
    return shown


def confusion(found: Scores) -> Table:
    """Return how many rows of each true class were given each answer; of many classes, the most frequent.

    Choices that are no classes, and no answer, have their columns behind those of the classes.
    """
    from ..judge.metrics import NO_ANSWER

    rows, answers = found.confusion.sum(axis=1), found.confusion_columns
    order = sorted(range(len(rows)), key=lambda k: (-rows[k], k))[:MOST_CONFUSED]
    mine = {label: at for at, label in reversed(list(enumerate(answers)))}
    at = [mine[found.classes[k]] for k in order if found.classes[k] in mine]
    others = [j for j, label in enumerate(answers) if label not in found.classes]
    columns = [*at, *others]
    names = [NO_ANSWER if answers[j] is None else clean(str(answers[j])) for j in columns]
    shown = table("true ↓  answer →", *names, "right", right=range(1, len(names) + 2))
    for k in order:
        answered = rows[k] - (found.confusion[k, -1] if answers[-1] is None else 0.0)
        own = mine.get(found.classes[k])
        right = percent(found.confusion[k, own] / answered) if own is not None and answered else "–"
        filled(shown, [(str(found.classes[k]), *(amount(found.confusion[k, j]) for j in columns), right)])
    return shown


def reliability(found: Scores) -> Table:
    """Return, for rows of like confidence, how probable their likeliest class was and how often it was true."""
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


def chosen(fitted: FittedClassifier) -> list[str]:
    """Return what was tuned on top of the counts, a sentence for each."""
    from ..estimator.reports import summary_of_tuning

    return [f"{line[:1].upper()}{line[1:]}." for line in summary_of_tuning(fitted)]


__all__ = [
    "chosen",
    "class_facts",
    "classes",
    "column_facts",
    "columns",
    "confusion",
    "listed",
    "quoted",
    "reliability",
    "scores",
]
