"""Commands on model files: ``naively show``, ``merge`` and ``forget``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..page.numbers import count_text
from . import arguments, options, render
from .exits import warnings_as_notes
from .options import Common, option
from .render import bold, print_json, printable

if TYPE_CHECKING:
    from .._types import JsonObject
    from ..estimator.fitted_classifier import FittedClassifier

# Columns that are shown; wide models have thousands.
MOST_COLUMNS = 100


@options.command(
    "show",
    """Examples:
  naively show income.parquet
  naively show income.parquet --column education
""",
    options.MODEL,
    option("--column NAME", "Show the probabilities of one column."),
    options.JSON,
)
def show_command(common: Common, column: str | None) -> None:
    """Show the contents of a model.

    Shows the classes, the columns with their mutual information, the settings, and how many rows the file holds as they
    are. A model file is one Parquet table of counts, which DuckDB, pandas and others can read.
    """
    fitted = common.load()
    if column is not None:
        print_column(fitted, column, common.as_json)
    else:
        print_model(fitted, common.model, common.as_json)


def print_model(fitted: FittedClassifier, model: str, as_json: bool) -> None:
    """Print rows, classes, columns and settings."""
    from .. import __version__
    from ..estimator.held_out import scores_at_hand
    from ..judge.metrics import as_row_count

    facts, scores = render.model_facts(fitted), scores_at_hand(fitted)
    settings = {name: value for name, value in fitted.parameters.to_dict().items() if name != "families"}
    for name in ("cost", "prior"):  # pairs of labels become texts
        if isinstance(pairs := settings[name], dict):
            settings[name] = {",".join(map(str, k)) if isinstance(k, tuple) else str(k): v for k, v in pairs.items()}
    if as_json:
        scored = None if scores is None else as_row_count(scores.rows)
        more = {"model": model, "version": __version__, "settings": settings, "scored_rows": scored}
        print_json(facts | more | render.kept_rows_as_json(fitted))
        return
    of = f" of {facts['target']}" if facts["target"] else ""
    lines = render.tuning_lines(fitted)
    if scores is not None:
        lines.append(f"Held-out scores of {count_text(scores.rows)} rows, for --set and --interval.")
    lines += [*(f"Note: {note}" for note in facts["notes"]), f"The file holds {render.rows_in_file(fitted)}."]
    lines.append("Settings: " + ", ".join(f"{name}={value}" for name, value in settings.items() if value is not None))
    render.print_blocks(
        [bold(f"{model}: {count_text(facts['rows'])} rows, {len(facts['classes'])} classes{of}")],
        [render.class_table(fitted.counts)],
        [render.column_table(facts["columns"], MOST_COLUMNS, ": --json")],
        list(map(printable, lines)),
    )


def print_column(fitted: FittedClassifier, name: str, as_json: bool) -> None:
    """Print P(value | class) of one column; in JSON labels keep their type, and numbers of rows are integers."""
    from ..estimator.reports import column_probabilities
    from ..judge.metrics import as_row_count

    frame = column_probabilities(fitted, name)
    data = frame.to_pydict() if hasattr(frame, "to_pydict") else frame.to_dict("list")
    if not as_json:
        rows = zip(*data.values(), strict=True)
        cells = ([cell if isinstance(cell, str) else f"{cell:.4g}" for cell in row] for row in rows)
        render.print_blocks([render.table([*map(str, data)], cells, range(1, len(data)))])
        return
    labels = {str(label): label for label in fitted.counts.classes.labels}
    if "class" in data:
        data["class"] = [labels.get(label, label) for label in data["class"]]
    if "numbers" in data:
        data["numbers"] = [as_row_count(n) for n in data["numbers"]]
    by_row = [dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)]
    print_json({"column": name, "probabilities": by_row})


@options.command(
    "merge",
    """Example:
  naively merge monday.parquet tuesday.parquet -o week.parquet
""",
    options.MODELS,
    options.OUT,
    options.keep_rows("Whether the new file holds rows as they are; by default if all models do."),
    options.QUIET,
    options.JSON,
)
def merge_command(common: Common, models: tuple[str, ...], out: str, keep_rows: bool | None) -> None:
    """Merge models into one by adding their counts.

    The result is the model of all their rows, with the settings of the first. The models must have the same columns
    with the same families. So several sites can fit one model without sharing rows. If all files hold rows (fit
    --keep-rows), the model is fitted to these; without them, what was fitted to the largest model stays.
    """
    from ..estimator.load import refuse_rows_of_textbook
    from ..estimator.merge import merge_models
    from ..estimator.update import up_to_date

    loaded = [arguments.load_with_settings(model) for model in models]
    for model, one in zip(models, loaded, strict=True) if keep_rows else ():
        refuse_rows_of_textbook(one.parameters)
        if one.state.kept is None:
            raise click.UsageError(
                f"{model} holds no row, so that the new file cannot hold those of all models. Leave out --keep-rows, "
                "or fit that model anew with it."
            )
    with warnings_as_notes(common.quiet):
        fitted = up_to_date(merge_models(loaded, models))
    rows = count_text(float(fitted.counts.rows.sum()))
    text = f"{rows} rows of {len(models)} model{'s' * (len(models) > 1)}."
    with_rows = fitted.state.kept is not None if keep_rows is None else keep_rows
    save(common, fitted, out, with_rows, text, {"models": list(models)})


@options.command(
    "forget",
    """Example:
  naively forget week.parquet leavers.csv -o week2.parquet
""",
    options.MODEL,
    options.FILES,
    options.OUT,
    options.TARGET,
    options.WEIGHT,
    option(
        "--unlabelled",
        "Rows without a class are an error, or skipped; by default as the model was fitted.",
        type=click.Choice(["error", "skip"]),
    ),
    options.keep_rows(
        "Whether the new file holds rows as they are; by default if the old one does. With rows, the model is fitted "
        "anew to those that are left."
    ),
    *options.READING_ROWS,
)
def forget_command(common: Common, out: str, unlabelled: str | None, keep_rows: bool | None) -> None:
    """Remove rows from a model by subtracting their counts.

    The result is the model of the remaining rows. If the file holds rows (fit --keep-rows), weights are fitted again;
    without them the counts are exact, and the weights stay as they were. Rows that cannot have been counted are
    refused, and no file is written.
    """
    from ..estimator.load import refuse_without_rows
    from ..estimator.update import forget
    from ..judge.metrics import as_row_count

    file = common.file()
    arguments.refuse_overwriting(out, file)
    fitted = common.load()
    if keep_rows:
        refuse_without_rows(fitted)
    with_rows = fitted.state.kept is not None if keep_rows is None else keep_rows
    target, weight = arguments.resolve_known_target(fitted, file, common.target), common.weight_column(file)
    if weight is None and fitted.schema.weight is not None and not common.quiet:
        of = printable(fitted.schema.weight)
        click.echo(
            f"Note: the model was fitted with the weights of {of}, but these rows count once each; to use their "
            f"weights: --weight {of}.",
            err=True,
        )
    # The option is about these rows alone: the model keeps its own setting.
    how = fitted.with_parameters(unlabelled=unlabelled or fitted.parameters.unlabelled)
    with warnings_as_notes(common.quiet):
        rest = forget(how, file, target=target, sample_weight=weight)
    rest = rest.with_parameters(unlabelled=fitted.parameters.unlabelled)
    left = float(rest.counts.rows.sum())
    gone = float(fitted.counts.rows.sum()) - left
    text = f"{count_text(gone)} rows removed, {count_text(left)} left."
    save(common, rest, out, with_rows, text, {"forgotten": as_row_count(gone)})


def save(common: Common, fitted: FittedClassifier, out: str, rows: bool, text: str, data: JsonObject) -> None:
    """Write a model to a file, with or without its rows, and print what it holds."""
    from ..estimator.load import save_model
    from ..judge.metrics import as_row_count

    save_model(fitted, out, rows=rows)
    data |= {"rows": as_row_count(float(fitted.counts.rows.sum())), "model": out}
    held = f" It holds {render.rows_in_file(fitted)}." if rows else ""
    common.finish(data | render.kept_rows_as_json(fitted, in_file=rows), f"Wrote {out}: {text}{held}")
