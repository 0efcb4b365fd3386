"""``naively forget``: rows are taken out of a model again."""

from __future__ import annotations

from typing import Any

import click

from . import inputs, options
from .ending import noted
from .render import amount, print_json

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
@options.reading
@options.THREADS
@options.QUIET
@options.JSON
@options.DEBUG
def command(
    model: str,
    files: tuple[str, ...],
    out: str,
    target: str | None,
    weight: str | None,
    reading: dict[str, Any],
    threads: int | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Take rows out of a model again.

    It is then as if they had never been shown. Rows that cannot have been among those counted are refused, and
    nothing is changed. No file of the rows that stay is needed.
    """
    from ..figures import whole

    nb = inputs.loaded(model, threads=threads)
    before = float(nb.counts_.rows.sum())
    file = inputs.opened(files, reading)
    name = inputs.known_target(nb, file, target)
    weight = None if weight is None else inputs.column_of(file, weight, "--weight")
    with noted(quiet):
        nb.forget(file, target=name, sample_weight=weight)
    nb.save(out)
    left = float(nb.counts_.rows.sum())
    if as_json:
        print_json({"forgotten": whole(before - left), "rows": whole(left), "model": out})
    elif not quiet:
        click.echo(f"Wrote {out}: {amount(before - left)} rows forgotten, {amount(left)} left.")
