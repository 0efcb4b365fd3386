"""``naively predict``: rows in, rows with predicted classes out, in files of any size."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from .._progress import ProgressBar
from . import arguments, options
from .render import print_json, row_count_text

if TYPE_CHECKING:
    from ..files.writer import Form

EXAMPLE = """\b
Examples:
  naively predict income.parquet new.csv -o answers.csv
  naively predict income.parquet new.parquet -o answers.parquet --probabilities --why 3
  naively predict income.parquet new.csv -o answers.csv --set 0.9 --interval 0.9
  cat new.csv | naively predict income.parquet - | head
"""


@click.command("predict", epilog=EXAMPLE)
@options.MODEL
@options.FILES
@click.option(
    "--out",
    "-o",
    default="-",
    type=click.Path(),
    metavar="FILE",
    help="File to write: .csv, .tsv, .parquet or .jsonl, with .gz to compress. Default: stdout, as CSV.",
)
@click.option(
    "--to",
    type=click.Choice(["csv", "tsv", "parquet", "jsonl"]),
    help="Format to write; by default by the file extension.",
)
@click.option("--probabilities", "-p", is_flag=True, help="Add the probability of each class: P(yes), P(no), …")
@click.option(
    "--why",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Add the N largest contributions, as text.",
)
@options.SET
@options.BY_CLASS
@options.INTERVAL
@click.option("--only-answers", is_flag=True, help="Write only the added columns.")
@click.option("--prefix", default="", metavar="TEXT", help="Prefix of the names of the added columns.")
@options.settings
@options.reading
@options.N_JOBS
@options.QUIET
@options.JSON
@options.DEBUG
def predict_command(
    model: str,
    files: tuple[str, ...],
    out: str,
    to: Form | None,
    settings: options.OptionValues,
    reading: options.OptionValues,
    n_jobs: int | None,
    quiet: bool,
    as_json: bool,
    probabilities: bool,
    why: int,
    set_level: float | None,
    by_class: bool,
    interval: float | str | None,
    only_answers: bool,
    prefix: str,
) -> None:
    """Predict the classes of the rows of files.

    Adds the columns `answer` (empty for rows without an answer, see --reject) and `probability`; with costs
    `expected_cost`; with options `low` and `high`, `P(class)`, `low(class)` and `high(class)`, `set` (classes separated
    by |) and `why`. Columns are matched by name; others are copied. The output file appears only when it is complete.
    """
    from ..estimator import predict_files

    if out == "-" and to == "parquet" and sys.stdout.isatty():
        raise click.UsageError("Parquet cannot be shown on a terminal; write it to a file: -o answers.parquet.")
    if out == "-" and as_json:
        raise click.UsageError("--json and the answers cannot both go to stdout; write the answers to a file by -o.")
    if by_class and set_level is None:
        raise click.UsageError("--by-class is about sets; give their level by --set, such as --set 0.9.")
    file = arguments.open_files(files, reading)
    arguments.refuse_overwriting(out, file, model)
    fitted = arguments.load_with_settings(model, settings, n_jobs)
    wanted = predict_files.AnswerColumns(
        probabilities,
        fitted.parameters.cost is not None or fitted.parameters.reject is not None,
        why,
        only_answers,
        prefix,
        predict_files.Certainty(set_level, by_class, interval),
    )
    with ProgressBar("Predicting", quiet) as bar:
        rows = predict_files.write_answers(fitted, file, out, to, wanted, bar)
    if as_json:
        print_json({"rows": rows, "out": out})
    elif not quiet and out != "-":
        click.echo(f"Wrote {row_count_text(rows)} rows with answers to {out}.", err=True)
