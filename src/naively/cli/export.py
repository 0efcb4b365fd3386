"""``naively export``: a model as a file that other programs score rows with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import arguments, options
from .render import print_json, printable

if TYPE_CHECKING:
    from ..estimator.fitted_classifier import FittedClassifier

EXAMPLE = """\b
Examples:
  naively export income.parquet -o income.onnx
  naively export income.parquet -o income.sql --dialect postgres --table people --keep id
  naively export income.parquet -o income.pmml
  naively export income.parquet -o income.mjs
  naively export income.parquet -o - --format sql | duckdb income.duckdb
"""
# The formats that each option is for; the other options are for all.
FORMATS_OF = {
    "dialect": ("sql",),
    "table": ("sql",),
    "keep": ("sql",),
    "prefix": ("sql",),
    "probabilities": ("sql",),
    "words": ("javascript", "json"),
    "single": ("javascript", "json"),
}
# Costs choose an answer by the probabilities; a format holds the probabilities alone.
settings = options.option_group(
    "settings", {name: option for name, option in options.SETTINGS.items() if name not in ("cost", "reject")}
)
of_formats = options.option_group(
    "of_formats",
    {
        "dialect": click.option(
            "--dialect",
            type=click.Choice(["duckdb", "postgres", "sqlite", "bigquery"]),
            help="Database that SQL is written for. Default: duckdb.",
        ),
        "table": click.option("--table", metavar="NAME", help="Table that SQL reads the rows from. Default: rows."),
        "keep": click.option(
            "--keep", multiple=True, metavar="COLUMN", help="Column of the table that SQL carries through. Repeatable."
        ),
        "prefix": click.option("--prefix", metavar="TEXT", help="Prefix of the names of the columns that SQL adds."),
        "probabilities": click.option(
            "--probabilities/--no-probabilities",
            "probabilities",
            default=None,
            help="Whether SQL adds the probability of each class: P(yes), P(no), … Default: it does.",
        ),
        "words": click.option(
            "--words",
            type=click.IntRange(0),
            metavar="N",
            help="Words of each text column that JavaScript and JSON hold, the commonest. Default: all.",
        ),
        "single": click.option(
            "--single",
            is_flag=True,
            default=None,
            help="Round the tables of JavaScript and JSON to single precision: half the size, probabilities within "
            "0.000001.",
        ),
    },
)


@click.command("export", epilog=EXAMPLE)
@options.MODEL
@click.option(
    "--out",
    "-o",
    type=click.Path(),
    required=True,
    metavar="FILE",
    help="File to write: .onnx, .sql, .pmml, .js, .mjs or .json; - is stdout.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["onnx", "sql", "pmml", "javascript", "json"]),
    help="Format to write; by default by the file extension.",
)
@of_formats
@settings
@options.QUIET
@options.JSON
@options.DEBUG
def export_command(
    model: str,
    out: str,
    form: str | None,
    of_formats: options.OptionValues,
    settings: options.OptionValues,
    quiet: bool,
    as_json: bool,
) -> None:
    """Write a model as a file that other programs score rows with.

    ONNX, PMML and SQL hold models of numbers and labels; JavaScript and JSON hold texts, too. All give the
    probabilities of `naively predict`, and the most probable class as the answer. The output file appears only when it
    is complete.
    """
    from ..export.export_file import format_of

    if out == "-" and (form in (None, "onnx") or as_json):
        raise click.UsageError(why_not_stdout(form))
    form = format_of(out, form)
    refuse_options_of_others(form, of_formats)
    if out != "-" and Path(out).exists() and Path(model).exists() and Path(model).samefile(out):
        raise click.BadParameter(
            f"{out} would be overwritten: it is the model in use. Name another file.", param_hint="--out"
        )
    fitted = arguments.load_with_settings(model, settings)
    export_model(fitted, out, form, of_formats)
    if not quiet and (fitted.parameters.cost is not None or fitted.parameters.reject is not None):
        click.echo("Note: the costs of the model are not exported; the answer is the most probable class.", err=True)
    if out == "-":
        return
    size = Path(out).stat().st_size
    if as_json:
        print_json({"out": out, "format": form, "bytes": size})
    elif not quiet:
        click.echo(f"Wrote {printable(out)}, {size / 1000:,.0f} KB.", err=True)


def export_model(fitted: FittedClassifier, out: str, form: str, given: options.OptionValues) -> None:
    """Write a model to a file, or to stdout."""
    from ..estimator.reports import flattened
    from ..export.export_file import WRITERS, write

    how = {name: list(value) if name == "keep" else value for name, value in given.items() if name != "words"}
    flat = flattened(fitted, given.get("words"))
    if out == "-":
        click.echo(WRITERS[form](flat, None, **how))
    else:
        write(flat, out, format=form, **how)


def why_not_stdout(form: str | None) -> str:
    """Return why nothing can go to stdout."""
    if form is None:
        return "stdout has no file extension; name the format by --format, such as --format sql."
    if form == "onnx":
        return "ONNX is no text; write it to a file: -o model.onnx."
    return "--json and the model cannot both go to stdout; write the model to a file by -o."


def refuse_options_of_others(form: str, given: options.OptionValues) -> None:
    """Refuse an option that is for other formats."""
    for name in given:
        if form not in FORMATS_OF[name]:
            known = " and ".join(FORMATS_OF[name])
            raise click.UsageError(f"--{name} is an option for {known}; leave it out for {form}.")
