"""``naively merge``: models of different rows become one."""

from __future__ import annotations

import click

from . import options
from . import parse as inputs
from .exits import noted
from .render import amount, print_json

EXAMPLE = """\b
Example:
  naively merge monday.parquet tuesday.parquet -o week.parquet
"""


@click.command("merge", epilog=EXAMPLE)
@click.argument("models", nargs=-1, required=True, type=click.Path(), metavar="MODEL...")
@options.OUT
@options.QUIET
@options.JSON
@options.DEBUG
def command(models: tuple[str, ...], out: str, quiet: bool, as_json: bool) -> None:
    """Make one model of several, of all their rows.

    Counts add up. The models must be of the same columns, taken as the same; settings are those of the first. So
    several places can learn together without sharing a row.
    """
    from ..estimator.load import save_model
    from ..estimator.merge import merge_models
    from ..judge.metrics import whole

    with noted(quiet):
        fitted = merge_models([inputs.loaded(model) for model in models], models)
    save_model(fitted, out)
    rows = float(fitted.counts.rows.sum())
    if as_json:
        print_json({"models": list(models), "rows": whole(rows), "model": out})
    elif not quiet:
        click.echo(f"Wrote {out}: {amount(rows)} rows of {len(models)} models.")
