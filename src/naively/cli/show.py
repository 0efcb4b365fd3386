"""``naively show``: the contents of a model file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from . import arguments, options, views
from .messages import command_text
from .render import console, empty_table, print_json, printable, row_count_text, with_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._types import Json, JsonObject
    from ..estimator.fitted_classifier import FittedClassifier

# Columns that are shown; wide models have thousands.
MOST_COLUMNS = 100

EXAMPLE = """\b
Examples:
  naively show income.parquet
  naively show income.parquet --column education
  naively show income.parquet --sql | duckdb
"""


@click.command("show", epilog=EXAMPLE)
@options.MODEL
@click.option("--column", metavar="NAME", help="Show the probabilities of one column.")
@click.option("--sql", is_flag=True, help="Print SQL queries for DuckDB that read the counts from the file.")
@options.JSON
@options.DEBUG
def show_command(model: str, column: str | None, sql: bool, as_json: bool) -> None:
    """Show the contents of a model.

    Shows the classes, the columns with their mutual information, the settings, and how many rows the file holds as they
    are. A model file is one Parquet table of counts, which DuckDB, pandas and others can read: --sql prints queries.
    """
    fitted = arguments.load_with_settings(model)
    if sql:
        click.echo(sql_queries(model, fitted))
    elif column is not None:
        print_column(fitted, column, as_json)
    elif as_json:
        print_json(model_as_json(fitted, model))
    else:
        print_model(fitted, model)


def model_as_json(fitted: FittedClassifier, model: str) -> JsonObject:
    """Return the contents of a model for JSON."""
    from .. import __version__
    from ..counting.notes import about_target
    from ..estimator.uncertainty import scores_at_hand
    from ..judge.metrics import as_row_count

    counts = fitted.counts
    return {
        "model": model,
        "version": __version__,
        "rows": as_row_count(counts.rows.sum()),
        "target": fitted.schema.target,
        "classes": views.class_summaries(counts),
        "columns": views.column_summaries(fitted),
        "notes": [command_text(note) for note in (*about_target(counts.classes.labels), *fitted.schema.hints)],
        "settings": settings_as_json(fitted),
        "scored_rows": None if (scores := scores_at_hand(fitted)) is None else as_row_count(scores.rows),
        **views.kept_rows_as_json(fitted),
    }


def settings_as_json(fitted: FittedClassifier) -> JsonObject:
    """Return the settings for JSON; pairs of labels become texts."""
    found = {name: value for name, value in fitted.parameters.to_dict().items() if name != "families"}
    for name in ("cost", "prior"):
        if isinstance(found[name], dict):
            found[name] = {",".join(map(str, k)) if isinstance(k, tuple) else str(k): v for k, v in found[name].items()}
    return found


def print_model(fitted: FittedClassifier, model: str) -> None:
    """Print rows, classes, columns and settings."""
    from ..counting.notes import about_target
    from ..estimator.uncertainty import scores_at_hand

    page, columns = console(), views.column_summaries(fitted)
    rows = row_count_text(fitted.counts.rows.sum())
    target = f" of {printable(fitted.schema.target)}" if fitted.schema.target else ""
    page.print(f"{printable(model)}: {rows} rows, {len(fitted.counts.classes)} classes{target}\n", style="bold")
    page.print(views.class_table(fitted.counts))
    page.print()
    page.print(views.column_table(columns, MOST_COLUMNS, ": --json"))
    page.print()
    for line in views.tuning_lines(fitted):
        page.print(printable(line), soft_wrap=True)
    if (scores := scores_at_hand(fitted)) is not None:
        page.print(f"Held-out scores of {row_count_text(scores.rows)} rows, for --set and --interval.", soft_wrap=True)
    for note in (*about_target(fitted.counts.classes.labels), *fitted.schema.hints):
        page.print(f"Note: {printable(command_text(note))}", soft_wrap=True)
    page.print(f"The file holds {views.rows_in_file(fitted)}.", soft_wrap=True)
    settings = (f"{name}={value}" for name, value in settings_as_json(fitted).items() if value is not None)
    page.print(f"Settings: {', '.join(map(printable, settings))}", soft_wrap=True)


def print_column(fitted: FittedClassifier, name: str, as_json: bool) -> None:
    """Print P(value | class) of one column."""
    from ..estimator.reports import column_probabilities

    frame = column_probabilities(fitted, name)
    data = frame.to_pydict() if hasattr(frame, "to_pydict") else frame.to_dict("list")
    if as_json:
        print_json({"column": name, "probabilities": probability_rows(data, fitted)})
        return
    made = empty_table(*map(str, data), right=range(1, len(data)))
    rows = zip(*data.values(), strict=True)
    console().print(with_rows(made, ([c if isinstance(c, str) else f"{c:.4g}" for c in row] for row in rows)))


def probability_rows(data: JsonObject, fitted: FittedClassifier) -> list[JsonObject]:
    """Return the rows of a table of probabilities for JSON: labels with their type, numbers of rows as integers."""
    from ..judge.metrics import as_row_count

    labels = {str(label): label for label in fitted.counts.classes.labels}
    convert: dict[str, Callable[[Json], Json]] = {
        "class": lambda label: labels.get(label, label),
        "numbers": as_row_count,
    }
    columns = {
        title: [convert[title](cell) for cell in cells] if title in convert else cells for title, cells in data.items()
    }
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def sql_queries(model: str, fitted: FittedClassifier) -> str:
    """Return SQL queries that read a model file: classes, a column of labels, a column of numbers."""
    path, found = sql_string(model), fitted.counts.columns
    parts = [f'-- Number of rows of each class\nselect class, n from {path} where "column" is null order by n desc;']
    labels = next((name for name, statistic in found.items() if hasattr(statistic, "values")), None)
    if labels is not None:
        parts.append(
            f"-- Number and proportion of rows of each class with each value of {printable(labels)}\n"
            f'select class, value, n, n / sum(n) over (partition by class) as proportion\nfrom {path} where "column" = '
            f"{sql_string(labels)} order by class, n desc;"
        )
    numbers = next((name for name, statistic in found.items() if hasattr(statistic, "squares")), None)
    if numbers is not None:
        parts.append(
            f"-- Mean and standard deviation of {printable(numbers)} in each class\n"
            "select class, n, shift + sum / n as mean, sqrt(greatest(squares / n - (sum / n) ** 2, 0)) as deviation\n"
            f'from {path} where "column" = {sql_string(numbers)} order by class;'
        )
    return "\n\n".join(parts)


def sql_string(value: str) -> str:
    """Return a text as a literal of SQL."""
    return "'" + value.replace("'", "''") + "'"
