"""``naively evaluate``: how good a model's answers are on rows whose classes are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from . import options
from . import parse as inputs
from .progress import Bar
from .render import amount, clean, console, listed, print_json

if TYPE_CHECKING:
    from ..estimator.fitted_classifier import FittedClassifier

EXAMPLE = """\b
Example:
  naively evaluate income.parquet test.csv
  naively evaluate credit.parquet test.csv --cost bad,good=5 --reject 0.4
"""


@click.command("evaluate", epilog=EXAMPLE)
@options.MODEL
@options.FILES
@options.TARGET
@options.WEIGHT
@options.settings
@options.reading
@options.N_JOBS
@options.QUIET
@options.JSON
@options.DEBUG
def command(
    model: str,
    files: tuple[str, ...],
    target: str | None,
    weight: str | None,
    settings: dict[str, Any],
    reading: dict[str, Any],
    n_jobs: int | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Say how good the answers to known rows are.

    Accuracy, confusion and mean cost are of the answers that `naively predict` gives with the same --cost and --reject;
    log loss, Brier score, calibration error, AUC and reliability are of the probabilities. Beside them stand the scores
    of the constant answer that costs least. ± is the standard error over rows. Give rows that the model was not fitted
    with; for those it was, the report of `naively fit` has cross-validated scores. The probabilities of all rows are
    held in memory, 8 bytes for each row and class.
    """
    from ..estimator import predict_files as streaming
    from ..judge.metrics import whole

    fitted = inputs.loaded(model, settings, n_jobs)
    file = inputs.opened(files, reading)
    name = inputs.known_target(fitted, file, target)
    weight = None if weight is None else inputs.column_of(file, weight, "--weight")
    with Bar("Answering", quiet) as bar:
        found = streaming.scores_of_files(fitted, file, name, weight, bar)
    if as_json:
        rows, sure, right = (part.tolist() for part in found._bins)
        table = [
            {"rows": whole(n), "said": s / n, "right": r / n} for n, s, r in zip(rows, sure, right, strict=True) if n
        ]
        print_json({**found.to_dict(), "reliability": table})
    elif not quiet:
        report(fitted, found, files)


def report(fitted: FittedClassifier, found: Any, files: tuple[str, ...]) -> None:
    """Print the scores and the two tables."""
    from . import views

    page = console()
    page.print(f"{amount(found.rows)} rows of {listed(files, 3)}\n", style="bold")
    for note in found.notes:
        page.print(clean(note), style="bold", soft_wrap=True)
    if len(found.classes) == 1:
        return
    page.print(views.scores(found))
    strangers = [label for label in found.classes if label not in fitted.classes.tolist()]
    if strangers:
        page.print(f"\nClasses that the model never met, and so never answers: {listed(strangers)}")
    if found.confusion.size:
        page.print("\nConfusion", style="bold")
        page.print(views.confusion(found))
    page.print("\nReliability: of classes that probable, how many were true", style="bold")
    page.print(views.reliability(found))
