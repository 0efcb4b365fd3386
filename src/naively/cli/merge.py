"""``naively merge``: one model of the rows of several."""

from __future__ import annotations

import click

from . import arguments, options
from .exits import warnings_as_notes
from .render import print_json, row_count_text

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
def merge_command(models: tuple[str, ...], out: str, quiet: bool, as_json: bool) -> None:
    """Merge models into one by adding their counts.

    The result is the model of all their rows, with the settings of the first. The models must have the same columns
    with the same families. So several sites can fit one model without sharing rows.
    """
    from ..estimator.load import save_model
    from ..estimator.merge import merge_models
    from ..judge.metrics import as_row_count

    with warnings_as_notes(quiet):
        fitted = merge_models([arguments.load_with_settings(model) for model in models], models)
    save_model(fitted, out)
    rows = float(fitted.counts.rows.sum())
    if as_json:
        print_json({"models": list(models), "rows": as_row_count(rows), "model": out})
    elif not quiet:
        click.echo(f"Wrote {out}: {row_count_text(rows)} rows of {len(models)} models.")
