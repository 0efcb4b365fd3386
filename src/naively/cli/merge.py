"""``naively merge``: one model of the rows of several."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from . import arguments, options, views
from .exits import warnings_as_notes
from .render import print_json, row_count_text

if TYPE_CHECKING:
    from ..estimator.fitted_classifier import FittedClassifier

EXAMPLE = """\b
Example:
  naively merge monday.parquet tuesday.parquet -o week.parquet
"""


@click.command("merge", epilog=EXAMPLE)
@click.argument("models", nargs=-1, required=True, type=click.Path(), metavar="MODEL...")
@options.OUT
@options.keep_rows("Whether the new file holds rows as they are; by default if all models do.")
@options.QUIET
@options.JSON
@options.DEBUG
def merge_command(models: tuple[str, ...], out: str, keep_rows: bool | None, quiet: bool, as_json: bool) -> None:
    """Merge models into one by adding their counts.

    The result is the model of all their rows, with the settings of the first. The models must have the same columns
    with the same families. So several sites can fit one model without sharing rows. If all files hold rows (fit
    --keep-rows), weights are fitted to these; without them they are the mean of the models' weights, by rows.
    """
    from ..estimator.load import save_model
    from ..estimator.merge import merge_models
    from ..estimator.update import up_to_date
    from ..judge.metrics import as_row_count

    loaded = [arguments.load_with_settings(model) for model in models]
    if keep_rows:
        for model, one in zip(models, loaded, strict=True):
            refuse_file_without_rows(model, one)
    with warnings_as_notes(quiet):
        fitted = up_to_date(merge_models(loaded, models))
    kept = fitted.state.kept is not None if keep_rows is None else keep_rows
    save_model(fitted, out, rows=kept)
    rows = float(fitted.counts.rows.sum())
    if as_json:
        said = {"models": list(models), "rows": as_row_count(rows), "model": out}
        print_json(said | views.kept_rows_as_json(fitted, in_file=kept))
    elif not quiet:
        held = f" It holds {views.rows_in_file(fitted)}." if kept else ""
        click.echo(f"Wrote {out}: {row_count_text(rows)} rows of {len(models)} model{'s' * (len(models) > 1)}.{held}")


def refuse_file_without_rows(model: str, fitted: FittedClassifier) -> None:
    """Refuse to write the rows of a file that holds none."""
    from ..estimator.rows_in_files import refuse_rows_of_textbook

    refuse_rows_of_textbook(fitted.parameters)
    if fitted.state.kept is None:
        raise click.UsageError(
            f"{model} holds no row, so that the new file cannot hold those of all models. Leave out --keep-rows, or "
            "fit that model anew with it."
        )
