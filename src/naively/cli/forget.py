"""``naively forget``: subtract rows from a model."""

from __future__ import annotations

import click

from . import arguments, options, views
from .exits import warnings_as_notes
from .render import print_json, printable, row_count_text

EXAMPLE = """\b
Example:
  naively forget week.parquet leavers.csv -o week2.parquet
"""


@click.command("forget", epilog=EXAMPLE)
@options.MODEL
@options.FILES
@options.OUT
@options.TARGET
@options.WEIGHT
@click.option(
    "--unlabelled",
    type=click.Choice(["error", "skip"]),
    help="Rows without a class are an error, or skipped; by default as the model was fitted.",
)
@options.keep_rows(
    "Whether the new file holds rows as they are; by default if the old one does. With rows, the model is fitted anew "
    "to those that are left."
)
@options.reading
@options.N_JOBS
@options.QUIET
@options.JSON
@options.DEBUG
def forget_command(
    model: str,
    files: tuple[str, ...],
    out: str,
    target: str | None,
    weight: str | None,
    unlabelled: str | None,
    keep_rows: bool | None,
    reading: options.OptionValues,
    n_jobs: int | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Remove rows from a model by subtracting their counts.

    The result is the model of the remaining rows. If the file holds rows (fit --keep-rows), weights are fitted again;
    without them the counts are exact, and the weights stay as they were. Rows that cannot have been counted are
    refused, and no file is written.
    """
    from ..estimator.load import save_model
    from ..estimator.rows_in_files import refuse_without_rows
    from ..estimator.update import forget
    from ..judge.metrics import as_row_count

    file = arguments.open_files(files, reading)
    arguments.refuse_overwriting(out, file)
    fitted = arguments.load_with_settings(model, n_jobs=n_jobs)
    if keep_rows:
        refuse_without_rows(fitted)
    rows = fitted.state.kept is not None if keep_rows is None else keep_rows
    before = float(fitted.counts.rows.sum())
    name = arguments.resolve_known_target(fitted, file, target)
    weight = None if weight is None else arguments.resolve_column(file, weight, "--weight")
    if weight is None and fitted.schema.weight is not None and not quiet:
        of = printable(fitted.schema.weight)
        click.echo(
            f"Note: the model was fitted with the weights of {of}, but these rows count once each; to use their "
            f"weights: --weight {of}.",
            err=True,
        )
    # The option is about these rows alone: the model keeps its own setting.
    how = fitted.with_parameters(unlabelled=unlabelled or fitted.parameters.unlabelled)
    with warnings_as_notes(quiet):
        rest = forget(how, file, target=name, sample_weight=weight)
    save_model(rest.with_parameters(unlabelled=fitted.parameters.unlabelled), out, rows=rows)
    left = float(rest.counts.rows.sum())
    if as_json:
        said = {"forgotten": as_row_count(before - left), "rows": as_row_count(left), "model": out}
        print_json(said | views.kept_rows_as_json(rest, in_file=rows))
    elif not quiet:
        held = f" It holds {views.rows_in_file(rest)}." if rows else ""
        click.echo(f"Wrote {out}: {row_count_text(before - left)} rows removed, {row_count_text(left)} left.{held}")
