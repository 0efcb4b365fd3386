"""``naively show``: what a model file holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from . import options
from . import parse as inputs
from .messages import command_text
from .render import amount, clean, console, filled, print_json, table

if TYPE_CHECKING:
    from ..estimator.fitted_classifier import FittedClassifier

# Columns that are shown; of wide models there are thousands.
MOST_COLUMNS = 100

EXAMPLE = """\b
Example:
  naively show income.parquet
  naively show income.parquet --column education
  naively show income.parquet --sql | duckdb
"""


@click.command("show", epilog=EXAMPLE)
@options.MODEL
@click.option("--column", metavar="NAME", help="Show the probabilities of one column instead.")
@click.option("--sql", is_flag=True, help="Print queries for DuckDB that read the counts from the file.")
@options.JSON
@options.DEBUG
def command(model: str, column: str | None, sql: bool, as_json: bool) -> None:
    """Show what a model holds.

    Rows, classes, columns with their mutual information, settings. A model is one Parquet table of counts, which
    DuckDB, pandas and others read, too: --sql prints the queries.
    """
    fitted = inputs.loaded(model)
    if sql:
        click.echo(queries(model, fitted))
    elif column is not None:
        one_column(fitted, column, as_json)
    elif as_json:
        print_json(facts(fitted, model))
    else:
        whole(fitted, model)


def facts(fitted: FittedClassifier, model: str) -> dict[str, Any]:
    """Return what a model holds as data."""
    from .. import __version__
    from ..counting.notes import about_target
    from ..judge.metrics import whole
    from . import views

    counts = fitted.counts
    return {
        "model": model,
        "version": __version__,
        "rows": whole(counts.rows.sum()),
        "target": fitted.schema.target,
        "classes": views.class_facts(counts),
        "columns": views.column_facts(fitted),
        "notes": [command_text(hint) for hint in (*about_target(counts.classes.labels), *fitted.schema.hints)],
        "settings": settings_of(fitted),
    }


def settings_of(fitted: FittedClassifier) -> dict[str, Any]:
    """Return the settings as plain data; costs by pairs become texts."""
    found = {name: value for name, value in fitted.parameters.to_dict().items() if name != "families"}
    for name in ("cost", "prior"):
        if isinstance(found[name], dict):
            found[name] = {",".join(map(str, k)) if isinstance(k, tuple) else str(k): v for k, v in found[name].items()}
    return found


def whole(fitted: FittedClassifier, model: str) -> None:
    """Print rows, classes, columns and settings."""
    from ..counting.notes import about_target
    from . import views

    page, told = console(), views.column_facts(fitted)
    rows = amount(fitted.counts.rows.sum())
    target = f" of {clean(fitted.schema.target)}" if fitted.schema.target else ""
    page.print(f"{clean(model)}: {rows} rows, {len(fitted.counts.classes)} classes{target}\n", style="bold")
    page.print(views.classes(fitted.counts))
    page.print()
    page.print(views.columns(told, MOST_COLUMNS, ": --json"))
    page.print()
    for line in views.chosen(fitted):
        page.print(clean(line), soft_wrap=True)
    for hint in (*about_target(fitted.counts.classes.labels), *fitted.schema.hints):
        page.print(f"Note: {clean(command_text(hint))}", soft_wrap=True)
    said = (f"{name}={value}" for name, value in settings_of(fitted).items() if value is not None)
    page.print(f"Settings: {', '.join(map(clean, said))}", soft_wrap=True)


def one_column(fitted: FittedClassifier, name: str, as_json: bool) -> None:
    """Print P(value | class) of one column."""
    from ..estimator.reports import column_probabilities

    frame = column_probabilities(fitted, name)
    data = frame.to_pydict() if hasattr(frame, "to_pydict") else frame.to_dict("list")
    if as_json:
        print_json({"column": name, "probabilities": lines_of(data, fitted)})
        return
    made = table(*map(str, data), right=range(1, len(data)))
    rows = zip(*data.values(), strict=True)
    console().print(filled(made, ([c if isinstance(c, str) else f"{c:.4g}" for c in row] for row in rows)))


def lines_of(data: dict[str, Any], fitted: FittedClassifier) -> list[dict[str, Any]]:
    """Return the lines of such a table as data: labels of classes as they are, numbers of rows as whole numbers."""
    from ..judge.metrics import whole

    labels = {str(label): label for label in fitted.counts.classes.labels}
    kept = {"class": lambda label: labels.get(label, label), "numbers": whole}
    columns = {title: [kept[title](cell) if title in kept else cell for cell in cells] for title, cells in data.items()}
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def queries(model: str, fitted: FittedClassifier) -> str:
    """Return queries that read a model file: classes, a column of labels, a column of numbers."""
    path, found = text(model), fitted.counts.columns
    parts = [f'-- How many rows has each class?\nselect class, n from {path} where "column" is null order by n desc;']
    labels = next((name for name, statistic in found.items() if hasattr(statistic, "values")), None)
    if labels is not None:
        parts.append(
            f"-- How often does each class have each value of {clean(labels)}, and which share of its rows is that?\n"
            f'select class, value, n, n / sum(n) over (partition by class) as share\nfrom {path} where "column" = '
            f"{text(labels)} order by class, n desc;"
        )
    numbers = next((name for name, statistic in found.items() if hasattr(statistic, "squares")), None)
    if numbers is not None:
        parts.append(
            f"-- Where do the numbers of {clean(numbers)} lie in each class, and how far do they spread?\n"
            "select class, n, shift + sum / n as mean, sqrt(greatest(squares / n - (sum / n) ** 2, 0)) as deviation\n"
            f'from {path} where "column" = {text(numbers)} order by class;'
        )
    return "\n\n".join(parts)


def text(value: str) -> str:
    """Return a text as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"
