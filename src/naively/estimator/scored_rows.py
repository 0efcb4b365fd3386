"""The rows that a report holds, with honest probabilities: leave-one-out for rows that the model was fitted on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from .._types import TableLike
from ..counting.files import Progress
from ..counting.rows import count
from ..data.files import File
from ..judge.scores import Scores
from .evaluation import scores_by_leave_one_out
from .fitted_classifier import FittedClassifier
from .predict_files import file_as_fitted, scores_of_files

# How the probabilities of rows were made: each without the row itself, or by the model as it is.
How = Literal["leave-one-out", "given"]


@dataclass(frozen=True)
class ScoredRows:
    """Labelled rows, the probabilities of their classes, and how these were made.

    Attributes
    ----------
    scores : Scores
        Probabilities and true classes, row by row.
    how : {"leave-one-out", "given"}
        "leave-one-out" where the rows are those that the model was fitted on, "given" otherwise.
    """

    scores: Scores
    how: How


def scored_rows(
    fitted: FittedClassifier, file: File, target: str, weight: str | None = None, progress: Progress | None = None
) -> ScoredRows:
    """Return the scores of the rows of files; rows that the model was fitted on are left out one at a time."""
    if weight is None and are_rows_of_fit(fitted, file, target):
        return ScoredRows(scores_by_leave_one_out(fitted, file, None, None, target), "leave-one-out")
    return ScoredRows(scores_of_files(fitted, file, target, weight, progress), "given")


def are_rows_of_fit(fitted: FittedClassifier, source: TableLike, target: str) -> bool:
    """Tell whether rows are all those that the model was fitted on: whether counting them gives its counts."""
    if fitted.state.expected is not None or fitted.state.row_weights is not None or fitted.state.has_soft_labels:
        return False
    found = count(source, target=target, schema=fitted.schema, n_jobs=fitted.parameters.n_jobs)
    known = fitted.counts
    if found.classes.labels != known.classes.labels or (found.rows != known.rows).any():
        return False
    return all(found.columns[name].agrees(statistic) for name, statistic in known.columns.items())


def first_rows(fitted: FittedClassifier, file: File, limit: int) -> pa.Table:
    """Return the first rows of files, read with the types that were fitted."""
    parts = [table for table in file_as_fitted(fitted, file.but(limit=limit)).batches() if table.num_rows]
    return pa.concat_tables(parts, promote_options="default") if parts else pa.table({})
