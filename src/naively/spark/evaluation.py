"""Scores of a model on rows of Spark: each task adds up those of its rows."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from ..errors import InvalidInput
from ..estimator.naive_bayes import NaiveBayes
from ..estimator.predict_files import scores_of_rows
from ..judge.histograms import ScoreSums
from .arrow_tasks import ArrowBatches, regrouped
from .prediction import SentModel, received_model, sent_model
from .rows import SparkSource, spark_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def evaluate(
    model: NaiveBayes,
    source: SparkSource,
    *,
    target: str,
    weight: str | None = None,
    session: SparkSession | None = None,
) -> ScoreSums:
    """Return the scores of a model on rows of Spark whose classes are known.

    Figures and standard errors are those of `nv.Scores`; no row leaves its task. The area under the ROC curve follows
    from histograms, and `auc_error` bounds its error.

    Parameters
    ----------
    model : NaiveBayes
        The fitted model.
    source : DataFrame of Spark, str, Path or list of str
        The rows; or the path of Parquet files, or several.
    target : str
        The column of the classes. A class that the model never saw has no probability.
    weight : str, optional
        The column of the row weights.
    session : SparkSession, optional
        Where files are read; by default the session that is running.

    Returns
    -------
    ScoreSums
        The scores.

    Raises
    ------
    InvalidInput
        If a row has no class and the model has not ``unlabelled="skip"``, or there are no rows.

    Examples
    --------
    ``nv_spark.evaluate(nb, frame, target="species").log_loss`` is the log loss of all rows.
    """
    fitted = model.fitted_
    beside = [target, *([] if weight is None else [weight])]
    rows, _ = spark_rows(source, session, beside=beside, columns=fitted.model.schema.names)
    sent = sent_model(model)
    total = rows.added(lambda batches: scored_part(sent, target, weight, batches), add_scores)
    found = None if total is None else pickle.loads(total)
    if found is None or not found.rows:
        raise InvalidInput("There are no rows to score.")
    scores: ScoreSums = found
    return scores


def scored_part(sent: SentModel, target: str, weight: str | None, batches: ArrowBatches) -> bytes:
    """Return the scores of the rows of a task, as bytes."""
    fitted = received_model(sent)
    total = None
    for table in regrouped(batches):
        known = table
        if fitted.parameters.unlabelled == "skip":
            known = table.filter(pc.is_valid(table.column(target)))
        if known.num_rows:
            part = ScoreSums.of(scores_of_rows(fitted, known, target, weight))
            total = part if total is None else total + part
    return pickle.dumps(total)


def add_scores(parts: Sequence[bytes]) -> bytes:
    """Return the scores of the rows of several tasks."""
    found = [part for part in map(pickle.loads, parts) if part is not None]
    return pickle.dumps(ScoreSums.sum_of(found) if found else None)
