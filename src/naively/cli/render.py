"""Output on a terminal: tables, bars, percentages; and as JSON for programs."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from ..page.numbers import count_text
from .exits import command_text

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from .._types import Json, JsonObject, Label
    from ..estimator.fitted_classifier import FittedClassifier
    from ..judge.scores import Scores
    from ..stats import Counts

# Width of the output if stdout is not a terminal, and the length of the longest bar.
WIDE, LONGEST = 120, 12
# Of more than these, only the first are shown.
MOST_CLASSES, MOST_COLUMNS, MOST_CONFUSED = 10, 20, 12


def print_blocks(*blocks: Sequence[Table | Text | str]) -> None:
    """Print blocks of tables and lines with an empty line between two; a terminal has colors, and its own width."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else WIDE
    page = Console(file=sys.stdout, width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)
    for number, block in enumerate(blocks):
        if number:
            page.print()
        for part in block:
            page.print(part, soft_wrap=not hasattr(part, "columns"))


def bold(text: str) -> Text:
    """Return a line in bold."""
    from rich.text import Text

    return Text(printable(text), style="bold")


def print_json(data: JsonObject) -> None:
    """Print one JSON object; NaN and infinity become null."""
    from ..explain.evidence import finite

    def fallback(value: object) -> Json:  # NumPy's numbers as Python's, other values as text
        return finite(value.item()) if hasattr(value, "item") else str(value)

    click.echo(json.dumps(finite(data), ensure_ascii=False, indent=2, allow_nan=False, default=fallback))


# -- texts -------------------------------------------------------------------------------------------------------------


def printable(text: Label) -> str:
    """Return a text with a dot in place of each control character, which could change the terminal."""
    return "".join(character if character.isprintable() else "·" for character in str(text))


def text_bar(length: float) -> str:
    """Return a bar, given its length as a proportion of the longest."""
    return "█" * max(round(length * LONGEST), int(length > 0.02))


def percent(proportion: float) -> str:
    """Return a proportion in percent, with at least one significant digit.

    >>> percent(0.442), percent(0.00002), percent(1.0)
    ('44.2 %', '0.002 %', '100.0 %')
    """
    if proportion >= 0.0005 or not proportion:
        return f"{proportion:.1%}".replace("%", " %")
    return f"{proportion * 100:.1g} %"


def size_text(n: int) -> str:
    """Return a number of bytes with its unit.

    >>> size_text(412), size_text(4096), size_text(2_500_000)
    ('412 B', '4.1 KB', '2.5 MB')
    """
    units = ("B", "KB", "MB", "GB")
    power = min((len(str(n)) - 1) // 3, len(units) - 1)
    return f"{n / 1000**power:.{int(power > 0)}f} {units[power]}"


def short_list(names: Sequence[Label], most: int = 8) -> str:
    """Return the first names, and the number of the others.

    >>> short_list(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    shown = ", ".join(printable(name) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


# -- tables ------------------------------------------------------------------------------------------------------------


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = (), more: str = "") -> Table:
    """Return a table; the columns in `right` are aligned to the right, and `more` follows the rows.

    Control characters in cells are replaced.
    """
    from rich.table import Table

    made = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for place, name in enumerate(columns):
        made.add_column(name, justify="right" if place in right else "left", no_wrap=True, overflow="ellipsis")
    for row in [*rows, *([[more]] if more else [])]:
        made.add_row(*map(printable, row))
    return made


def class_table(counts: Counts) -> Table:
    """Return the table of classes, the most frequent first."""
    order = sorted(zip(counts.classes.labels, counts.rows, strict=True), key=lambda pair: -pair[1])
    total, most = max(counts.rows.sum(), 1e-300), max(order[0][1], 1e-300) if order else 1.0
    rows = [(str(label), count_text(n), percent(n / total), text_bar(n / most)) for label, n in order]
    more = f"… and {len(rows) - MOST_CLASSES} more" if len(rows) > MOST_CLASSES else ""
    return table(("class", "rows", "proportion", ""), rows[:MOST_CLASSES], (1, 2), more)


def model_facts(fitted: FittedClassifier, missing: Mapping[str, int] | None = None) -> JsonObject:
    """Return what the JSON of a fit and of a model have in common; rows are integers unless weights make fractions."""
    from ..counting.notes import about_target
    from ..judge.metrics import as_row_count

    counts = fitted.counts
    pairs = zip(counts.classes.labels, counts.rows.tolist(), strict=True)
    return {
        "rows": as_row_count(counts.rows.sum()),
        "target": fitted.schema.target,
        "classes": [{"class": label, "rows": as_row_count(n)} for label, n in pairs],
        "columns": column_summaries(fitted, missing),
        "notes": [command_text(note) for note in (*about_target(counts.classes.labels), *fitted.schema.hints)],
    }


def column_summaries(fitted: FittedClassifier, missing: Mapping[str, int] | None = None) -> list[JsonObject]:
    """Return the type, the family, the missing values and the mutual information of each column, the largest first.

    Numbers of missing values are weighted unless they are given.
    """
    from ..data.column import NOUNS, family_text
    from ..estimator.reports import information_of_columns
    from ..judge.metrics import as_row_count

    information, summaries = information_of_columns(fitted), []
    for column in fitted.schema:
        count, measured = missing_row_count(fitted.counts, column.name), information.get(column.name)
        if count is not None and missing is not None:
            count = missing.get(column.name, 0)
        summaries.append(
            {
                "name": column.name,
                "type": NOUNS[column.type],
                "family": family_text(column),
                "notation": None if column.written is None or column.written.plain else str(column.written),
                "missing": None if count is None else as_row_count(count),
                "bits": None if measured is None or math.isnan(measured.bits) else measured.bits,
            }
        )
    return sorted(summaries, key=lambda summary: -(summary["bits"] or 0.0))


def missing_row_count(counts: Counts, name: str) -> float | None:
    """Return the weighted number of rows in which a column is missing; None for vectors and texts."""
    statistic = counts.columns[name]
    if hasattr(statistic, "lexicon"):
        return None
    if hasattr(statistic, "values"):
        there = None in statistic.values.labels
        return float(statistic.n[:, statistic.values.place(None)].sum()) if there else 0.0
    return max(float(counts.rows.sum()) - float(statistic.n.sum()), 0.0) if statistic.n.shape[1] == 1 else None


def column_table(summaries: list[JsonObject], most: int = MOST_COLUMNS, where: str = "") -> Table:
    """Return the table of columns: type, family, missing values, and mutual information with the class."""
    longest, rows = max((summary["bits"] or 0.0 for summary in summaries), default=0.0) or 1.0, list[list[str]]()
    for summary in summaries[:most]:
        bits, missing = summary["bits"], summary["missing"]
        cells = ["", ""] if bits is None else [f"{bits:.3f}", text_bar(bits / longest)]
        count = "" if missing is None else count_text(missing)
        rows.append([summary["name"], summary["type"], summary["family"], count, *cells])
    more = f"… and {len(summaries) - most:,} more{where}" if len(summaries) > most else ""
    return table(("column", "type", "family", "missing", "mutual information (bits)", ""), rows, (3, 4), more)


def score_table(scores: Scores, textbook: Scores | None = None) -> Table:
    """Return the scores with their standard errors, next to those of the textbook model, if given, and the baseline."""
    from ..judge.metrics import score_text
    from ..judge.scores import baseline_title, has_comparable_folds, score_lines

    columns = {"model": scores, "textbook": textbook, printable(baseline_title(scores)): scores.baseline}
    shown = {title: one for title, one in columns.items() if one is not None}
    rows = []
    for title, name in score_lines(scores):
        cells = []
        for one in shown.values():
            if name is not None:
                error = math.nan if one is scores.baseline else one.spread.get(name, math.nan)
                cells.append(score_text(name, getattr(one, name), error))
        rows.append([title, *cells])
    made = table(("", *shown), rows, range(1, len(shown) + 1))
    made.caption, made.caption_justify = (
        f"± is the standard error over {'folds' if has_comparable_folds(scores) else 'rows'}",
        "left",
    )
    return made


def confusion_table(scores: Scores) -> Table:
    """Return the confusion matrix with the recall of each class; of many classes, the most frequent.

    Choices that are not classes, and no answer, follow after the classes.
    """
    from ..judge.metrics import NO_ANSWER

    totals, choices = scores.confusion.sum(axis=1), scores.confusion_columns
    order = sorted(range(len(totals)), key=lambda k: (-totals[k], k))[:MOST_CONFUSED]
    column_of = {label: column for column, label in reversed(list(enumerate(choices)))}
    columns = [column_of[scores.classes[k]] for k in order if scores.classes[k] in column_of]
    columns += [column for column, label in enumerate(choices) if label not in scores.classes]
    names = [NO_ANSWER if choices[column] is None else printable(choices[column]) for column in columns]
    rows = []
    for k in order:
        answered = totals[k] - (scores.confusion[k, -1] if choices[-1] is None else 0.0)
        right = column_of.get(scores.classes[k])
        recall = percent(scores.confusion[k, right] / answered) if right is not None and answered else "–"
        rows.append([str(scores.classes[k]), *(count_text(scores.confusion[k, j]) for j in columns), recall])
    return table(("true ↓  answer →", *names, "recall"), rows, range(1, len(names) + 2))


def reliability_table(scores: Scores) -> Table:
    """Return the mean confidence and the accuracy of the most probable class in each bin of confidence."""
    bins = [(n, sure / n, right / n) for n, sure, right in zip(*scores._bins, strict=True) if n]
    most = max((n for n, _, _ in bins), default=1)
    rows = [(percent(sure), percent(right), count_text(n), text_bar(n / most)) for n, sure, right in bins]
    return table(("confidence", "accuracy", "rows", ""), rows, (0, 1, 2))


# -- models ------------------------------------------------------------------------------------------------------------


def tuning_lines(fitted: FittedClassifier) -> list[str]:
    """Return what was tuned in addition to the counts, one sentence per line."""
    from ..estimator.reports import summary_of_tuning

    return [f"{line[:1].upper()}{line[1:]}." for line in summary_of_tuning(fitted)]


def rows_in_file(fitted: FittedClassifier, *, in_file: bool = True) -> str:
    """Return which rows the file of a model holds, in words."""
    from ..estimator.fitted_classifier import kept_row_count

    return str(kept_row_count(fitted)) if in_file else "no row"


def kept_rows_as_json(fitted: FittedClassifier, *, in_file: bool = True) -> JsonObject:
    """Return how many rows the file of a model holds, and whether they are all, for JSON."""
    from ..estimator.fitted_classifier import kept_row_count

    kept = kept_row_count(fitted)
    return {"kept_rows": kept.rows if in_file else 0, "kept_rows_complete": in_file and kept.complete}
