"""``naively evaluate``: scores of a model on rows of known classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .._progress import ProgressBar
from . import arguments, options
from .render import console, print_json, printable, row_count_text, short_list

if TYPE_CHECKING:
    from ..estimator.fitted_classifier import FittedClassifier
    from ..judge.scores import Scores

EXAMPLE = """\b
Examples:
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
def evaluate_command(
    model: str,
    files: tuple[str, ...],
    target: str | None,
    weight: str | None,
    settings: options.OptionValues,
    reading: options.OptionValues,
    n_jobs: int | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Score a model on rows of known classes.

    Accuracy, confusion matrix and mean cost are of the answers that `naively predict` gives with the same --cost and
    --reject; log loss, Brier score, calibration error, AUC and reliability are of the probabilities. The last column
    has the scores of the constant answer of least cost; ± is the standard error over rows. Use rows that the model was
    not fitted with; `naively fit` reports cross-validated scores of those that it was. The probabilities of all rows
    are held in memory, 8 bytes for each row and class.
    """
    from ..estimator import predict_files
    from ..judge.metrics import as_row_count

    fitted = arguments.load_with_settings(model, settings, n_jobs)
    file = arguments.open_files(files, reading)
    name = arguments.resolve_known_target(fitted, file, target)
    weight = None if weight is None else arguments.resolve_column(file, weight, "--weight")
    with ProgressBar("Predicting", quiet) as bar:
        found = predict_files.scores_of_files(fitted, file, name, weight, bar)
    if as_json:
        rows, confidence, correct = (part.tolist() for part in found._bins)
        table = [
            {"rows": as_row_count(n), "confidence": sure / n, "accuracy": right / n}
            for n, sure, right in zip(rows, confidence, correct, strict=True)
            if n
        ]
        print_json({**found.to_dict(), "reliability": table})
    elif not quiet:
        print_evaluation(fitted, found, files)


def print_evaluation(fitted: FittedClassifier, found: Scores, files: tuple[str, ...]) -> None:
    """Print the scores, the confusion matrix and the reliability table."""
    from . import views

    page = console()
    page.print(f"{row_count_text(found.rows)} rows of {short_list(files, 3)}\n", style="bold")
    for note in found.notes:
        page.print(printable(note), style="bold", soft_wrap=True)
    if len(found.classes) == 1:
        return
    page.print(views.score_table(found))
    unknown = [label for label in found.classes if label not in fitted.classes.tolist()]
    if unknown:
        page.print(f"\nClasses that the model was not fitted with, and never predicts: {short_list(unknown)}")
    if found.confusion.size:
        page.print("\nConfusion matrix", style="bold")
        page.print(views.confusion_table(found))
    page.print("\nReliability: confidence and accuracy of the most probable class", style="bold")
    page.print(views.reliability_table(found))
