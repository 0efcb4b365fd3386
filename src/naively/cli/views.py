"""Tables of the reports: classes, columns, scores, confusion matrix, reliability."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .render import empty_table, percent, printable, row_count_text, text_bar, with_rows

if TYPE_CHECKING:
    from rich.table import Table

    from .._types import JsonObject
    from ..estimator.fitted_classifier import FittedClassifier
    from ..judge.scores import Scores
    from ..stats import Counts
    from ..stats.mutual_information import Information

# Of more than these, only the first are shown.
MOST_CLASSES, MOST_COLUMNS, MOST_CONFUSED = 10, 20, 12


def class_table(counts: Counts) -> Table:
    """Return the table of classes, the most frequent first."""
    order = sorted(zip(counts.classes.labels, counts.rows, strict=True), key=lambda pair: -pair[1])
    total, most = max(counts.rows.sum(), 1e-300), max(order[0][1], 1e-300) if order else 1.0
    shown = with_rows(
        empty_table("class", "rows", "proportion", "", right=(1, 2)),
        ((str(label), row_count_text(n), percent(n / total), text_bar(n / most)) for label, n in order[:MOST_CLASSES]),
    )
    if len(order) > MOST_CLASSES:
        shown.add_row(f"… and {len(order) - MOST_CLASSES} more")
    return shown


def column_summaries(fitted: FittedClassifier) -> list[JsonObject]:
    """Return the type, the family, the missing values and the mutual information of each column, the largest first."""
    from ..data.column import NOUNS, family_text
    from ..estimator.reports import information_of_columns
    from ..judge.metrics import as_row_count

    information = information_of_columns(fitted)
    summaries = [
        {
            "name": column.name,
            "type": NOUNS[column.type],
            "family": family_text(column),
            "notation": None if column.written is None or column.written.plain else str(column.written),
            "missing": None if (gaps := missing_row_count(fitted.counts, column.name)) is None else as_row_count(gaps),
            "bits": information_bits(information.get(column.name)),
        }
        for column in fitted.schema
    ]
    return sorted(summaries, key=lambda summary: -(summary["bits"] or 0.0))


def class_summaries(counts: Counts) -> list[JsonObject]:
    """Return the rows of each class, as integers unless weights make them fractions."""
    from ..judge.metrics import as_row_count

    pairs = zip(counts.classes.labels, counts.rows.tolist(), strict=True)
    return [{"class": label, "rows": as_row_count(n)} for label, n in pairs]


def information_bits(information: Information | None) -> float | None:
    """Return the mutual information of a column and the class in bits; None if it is unknown."""
    return None if information is None or math.isnan(information.bits) else information.bits


def missing_row_count(counts: Counts, name: str) -> float | None:
    """Return the weighted number of rows in which a column is missing; None for vectors and texts."""
    statistic, rows = counts.columns[name], float(counts.rows.sum())
    if hasattr(statistic, "lexicon"):
        return None
    if hasattr(statistic, "values"):
        at = statistic.values.place(None) if None in statistic.values.labels else None
        return 0.0 if at is None else float(statistic.n[:, at].sum())
    return max(rows - float(statistic.n.sum()), 0.0) if statistic.n.shape[1] == 1 else None


def column_table(summaries: list[JsonObject], most: int = MOST_COLUMNS, where: str = "") -> Table:
    """Return the table of columns: type, family, missing values, and mutual information with the class."""
    longest = max((summary["bits"] or 0.0 for summary in summaries), default=0.0) or 1.0
    shown = empty_table("column", "type", "family", "missing", "mutual information (bits)", "", right=(3, 4))
    for summary in summaries[:most]:
        bits, missing = summary["bits"], summary["missing"]
        cells = (f"{bits:.3f}", text_bar(bits / longest)) if bits is not None else ("", "")
        gaps = "" if missing is None else row_count_text(missing)
        with_rows(shown, [(summary["name"], summary["type"], summary["family"], gaps, *cells)])
    if len(summaries) > most:
        shown.add_row(f"… and {len(summaries) - most:,} more{where}")
    return shown


def score_table(found: Scores, textbook: Scores | None = None) -> Table:
    """Return the scores with their standard errors, beside those of the textbook model, if known, and the baseline."""
    from ..judge.metrics import score_text
    from ..judge.score_report import baseline_title, has_comparable_folds, score_lines

    columns = {"model": found, "textbook": textbook, printable(baseline_title(found)): found.baseline}
    beside = {title: one for title, one in columns.items() if one is not None}
    shown = empty_table("", *beside, right=range(1, len(beside) + 1))
    for title, name in score_lines(found):
        if name is None:
            shown.add_row(title)
            continue
        errors = [{} if one is found.baseline else one.spread for one in beside.values()]
        values = [getattr(one, name) for one in beside.values()]
        cells = [score_text(name, v, e.get(name, math.nan)) for v, e in zip(values, errors, strict=True)]
        shown.add_row(title, *cells)
    over = "folds" if has_comparable_folds(found) else "rows"
    shown.caption, shown.caption_justify = f"± is the standard error over {over}", "left"
    return shown


def confusion_table(found: Scores) -> Table:
    """Return the confusion matrix with the recall of each class; of many classes, the most frequent.

    Choices that are not classes, and no answer, follow after the classes.
    """
    from ..judge.metrics import NO_ANSWER

    rows, answers = found.confusion.sum(axis=1), found.confusion_columns
    order = sorted(range(len(rows)), key=lambda k: (-rows[k], k))[:MOST_CONFUSED]
    column_of_class = {label: at for at, label in reversed(list(enumerate(answers)))}
    at = [column_of_class[found.classes[k]] for k in order if found.classes[k] in column_of_class]
    columns = [*at, *(j for j, label in enumerate(answers) if label not in found.classes)]
    names = [NO_ANSWER if answers[j] is None else printable(answers[j]) for j in columns]
    shown = empty_table("true ↓  answer →", *names, "recall", right=range(1, len(names) + 2))
    for k in order:
        answered = rows[k] - (found.confusion[k, -1] if answers[-1] is None else 0.0)
        own = column_of_class.get(found.classes[k])
        recall = percent(found.confusion[k, own] / answered) if own is not None and answered else "–"
        counts = (row_count_text(found.confusion[k, j]) for j in columns)
        with_rows(shown, [(str(found.classes[k]), *counts, recall)])
    return shown


def reliability_table(found: Scores) -> Table:
    """Return the mean confidence and the accuracy of the most probable class in each bin of confidence."""
    rows, confidence, correct = found._bins
    shown = empty_table("confidence", "accuracy", "rows", "", right=(0, 1, 2))
    for n, sure, right in zip(rows, confidence, correct, strict=True):
        if n:
            shown.add_row(percent(sure / n), percent(right / n), row_count_text(n), text_bar(n / rows.max()))
    return shown


def tuning_lines(fitted: FittedClassifier) -> list[str]:
    """Return what was tuned in addition to the counts, one sentence per line."""
    from ..estimator.reports import summary_of_tuning

    return [f"{line[:1].upper()}{line[1:]}." for line in summary_of_tuning(fitted)]


def rows_in_file(fitted: FittedClassifier, *, in_file: bool = True) -> str:
    """Return which rows the file of a model holds, in words."""
    from ..estimator.rows_in_files import kept_row_count

    return str(kept_row_count(fitted)) if in_file else "no row"


def kept_rows_as_json(fitted: FittedClassifier, *, in_file: bool = True) -> JsonObject:
    """Return how many rows the file of a model holds, and whether they are all, for JSON."""
    from ..estimator.rows_in_files import kept_row_count

    found = kept_row_count(fitted)
    return {"kept_rows": found.rows if in_file else 0, "kept_rows_complete": in_file and found.complete}
