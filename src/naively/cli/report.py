"""``naively report``: a model as one HTML file that scores any row offline."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .._progress import ProgressBar
from . import arguments, options
from .render import print_json, printable

if TYPE_CHECKING:
    from ..estimator.fitted_classifier import FittedClassifier
    from ..estimator.html_report import RowSource

EXAMPLE = """\b
Examples:
  naively report income.parquet -o report.html
  naively report income.parquet test.csv -o report.html --rows 50
  naively report june.parquet --compare may.parquet -o report.html
"""


@click.command("report", epilog=EXAMPLE)
@options.MODEL
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("--out", "-o", type=click.Path(), required=True, metavar="FILE", help="HTML file to write.")
@click.option(
    "--rows",
    type=click.IntRange(0),
    default=200,
    show_default=True,
    metavar="N",
    help="Rows to hold, at most: the most surprising ones and others spread over the files. 0 holds none.",
)
@click.option(
    "--words",
    type=click.IntRange(0),
    metavar="N",
    help="Words of each text column to hold, the commonest; by default 600,000 divided by the number of classes.",
)
@click.option("--compare", metavar="MODEL", type=click.Path(), help="An earlier model; shows what has changed since.")
@click.option("--title", metavar="TEXT", help="Title of the page; by default the name of the model file.")
@click.option(
    "--language",
    type=click.Choice(["en", "zh"]),
    default="en",
    show_default=True,
    help="Language of the page: English or Chinese.",
)
@click.option("--open", "show", is_flag=True, help="Open the file in the browser.")
@options.TARGET
@options.WEIGHT
@options.settings
@options.reading
@options.N_JOBS
@options.QUIET
@options.JSON
@options.DEBUG
def report_command(
    model: str,
    files: tuple[str, ...],
    out: str,
    rows: int,
    words: int | None,
    compare: str | None,
    title: str | None,
    language: str,
    show: bool,
    target: str | None,
    weight: str | None,
    settings: options.OptionValues,
    reading: options.OptionValues,
    n_jobs: int | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Write a model as one HTML file.

    The file needs no network and no server. It shows what the model learned and how good it is, and scores any row
    that is typed in exactly as `naively predict` does, with the contribution of each column. FILE is rows of known or
    unknown classes to look at; their classes are in the model's target, or --target. Rows that the model was fitted on
    are each scored without themselves. The file holds the labels and words of the model, and up to --rows rows.
    """
    from ..estimator.html_report import ReportOptions, report_of

    fitted = arguments.load_with_settings(model, settings, n_jobs)
    source = rows_of_files(fitted, files, reading, target, weight)
    names = (Path(model).name, Path(compare).name if compare else "")
    other = None if compare is None else (arguments.load_with_settings(compare, settings), names[1], names[0])
    refuse_to_overwrite(out, model, compare, source)
    wanted = ReportOptions(rows, words, title or Path(model).name, language)
    with ProgressBar("Predicting", quiet or not files) as bar:
        report = report_of(fitted, source, wanted, other, bar)
    size = report.save(out).stat().st_size
    if as_json:
        print_json({"out": out, "bytes": size})
    elif not quiet:
        click.echo(f"Wrote {printable(out)}, {size / 1000:,.0f} KB. Open it in any browser.", err=True)
    if show:
        webbrowser.open(Path(out).resolve().as_uri())


def rows_of_files(
    fitted: FittedClassifier,
    files: tuple[str, ...],
    reading: options.OptionValues,
    target: str | None,
    weight: str | None,
) -> RowSource | None:
    """Return the rows to look at, if files are given; without a column of the classes they are rows of unknown ones."""
    from ..estimator.html_report import row_source

    if not files:
        if target is not None or weight is not None:
            option = "--weight" if target is None else "--target"
            raise click.UsageError(f"{option} names a column of files; give files, or leave it out.")
        return None
    file = arguments.open_files(files, reading)
    target = None if target is None else arguments.resolve_column(file, target)
    weight = None if weight is None else arguments.resolve_column(file, weight, "--weight")
    return row_source(fitted, file, None, target, weight)


def refuse_to_overwrite(out: str, model: str, compare: str | None, source: RowSource | None) -> None:
    """Refuse to overwrite a model or a file of rows."""
    read = [model, *([compare] if compare else []), *([] if source is None else source.rows.paths)]
    for path in read:
        if path != "-" and Path(out).exists() and Path(path).exists() and Path(path).samefile(out):
            raise click.BadParameter(f"{out} would be overwritten: it is read. Name another file.", param_hint="--out")
