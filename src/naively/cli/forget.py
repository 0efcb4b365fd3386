"""``naively forget``: rows are taken out of a model again."""

from __future__ import annotations

from typing import Any

import click

from . import options
from . import parse as inputs
from .exits import noted
from .render import amount, clean, print_json

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
    help="Whether a row without a class is an error, or skipped; by default as the model was fitted.",
)
@options.reading
@options.N_JOBS
@options.QUIET
@options.JSON
@options.DEBUG
def command(
    model: str,
    files: tuple[str, ...],
    out: str,
    target: str | None,
    weight: str | None,
    unlabelled: str | None,
    reading: dict[str, Any],
    n_jobs: int | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Take rows out of a model again.

    It is then as if they had never been shown. Rows that cannot have been among those counted are refused, and
    nothing is changed. No file of the rows that stay is needed.
    """
    from ..estimator.incremental import forget
    from ..estimator.load import save_model
    from ..judge.metrics import whole

    file = inputs.opened(files, reading)
    inputs.spare(out, file)
    fitted = inputs.loaded(model, n_jobs=n_jobs)
    before = float(fitted.counts.rows.sum())
    name = inputs.known_target(fitted, file, target)
    weight = None if weight is None else inputs.column_of(file, weight, "--weight")
    if weight is None and fitted.schema.weight is not None and not quiet:
        of = clean(fitted.schema.weight)
        click.echo(
            f"Note: rows were counted with the weights of {of}, and these count once each: --weight {of}?", err=True
        )
    # Which rows to leave out is said of these rows alone.
    how = fitted.with_parameters(unlabelled=unlabelled or fitted.parameters.unlabelled)
    with noted(quiet):
        rest = forget(how, file, target=name, sample_weight=weight)
    save_model(rest.with_parameters(unlabelled=fitted.parameters.unlabelled), out)
    left = float(rest.counts.rows.sum())
    if as_json:
        print_json({"forgotten": whole(before - left), "rows": whole(left), "model": out})
    elif not quiet:
        click.echo(f"Wrote {out}: {amount(before - left)} rows forgotten, {amount(left)} left.")
