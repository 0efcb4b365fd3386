"""``naively predict``: rows in, rows with answers out, however many."""

from __future__ import annotations

import sys
from typing import Any

import click

from . import options
from . import parse as inputs
from .progress import Bar
from .render import amount, print_json

EXAMPLE = """\b
Example:
  naively predict income.parquet new.csv -o answers.csv
  naively predict income.parquet new.parquet -o answers.parquet --probabilities --why 3
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
    help="Where to write: .csv, .tsv, .parquet or .jsonl, with .gz if packed. Left out: stdout, as CSV.",
)
@click.option("--to", type=click.Choice(["csv", "tsv", "parquet", "jsonl"]), help="What to write, whatever the ending.")
@click.option("--probabilities", "-p", is_flag=True, help="Add the probability of each class: P(yes), P(no), …")
@click.option(
    "--why", type=click.IntRange(0), default=0, metavar="N", help="Add the N columns that spoke most, in words."
)
@click.option("--only-answers", is_flag=True, help="Leave out the columns of the file.")
@click.option("--prefix", default="", metavar="TEXT", help="Put this before the names of the columns that are added.")
@options.settings
@options.reading
@options.N_JOBS
@options.QUIET
@options.JSON
@options.DEBUG
def command(
    model: str,
    files: tuple[str, ...],
    out: str,
    to: Any,
    settings: dict[str, Any],
    reading: dict[str, Any],
    n_jobs: int | None,
    quiet: bool,
    as_json: bool,
    probabilities: bool,
    why: int,
    only_answers: bool,
    prefix: str,
) -> None:
    """Add answers to the rows of files.

    Added are `answer` (empty where --reject lets the model abstain) and `probability`; with costs `expected_cost`; on
    request `P(class)` and `why`. Columns are found by name; those that the model does not know stay as they are. The
    output takes its name when it is whole.
    """
    from ..estimator import predict_files as streaming

    if out == "-" and to == "parquet" and sys.stdout.isatty():
        raise click.UsageError("Parquet is nothing to look at; write it to a file: -o answers.parquet.")
    if out == "-" and as_json:
        raise click.UsageError("--json and the answers both want stdout; write the answers to a file by -o.")
    file = inputs.opened(files, reading)
    inputs.spare(out, file, model)
    fitted = inputs.loaded(model, settings, n_jobs)
    wanted = streaming.AnswerColumns(
        probabilities,
        fitted.parameters.cost is not None or fitted.parameters.reject is not None,
        why,
        only_answers,
        prefix,
    )
    with Bar("Answering", quiet) as bar:
        rows = streaming.write_answers(fitted, file, out, to, wanted, bar)
    if as_json:
        print_json({"rows": rows, "out": out})
    elif not quiet and out != "-":
        click.echo(f"Wrote {amount(rows)} rows with answers to {out}.", err=True)
