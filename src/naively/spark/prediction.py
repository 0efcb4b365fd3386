"""Predictions and scores of rows of Spark: each task predicts its rows with one thread, and adds up their scores."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from functools import lru_cache
from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import InvalidInput
from ..errors.message import Setting
from ..estimator.answers import evidence_of
from ..estimator.fitted_classifier import FittedClassifier
from ..estimator.load import load_model, save_model
from ..estimator.naive_bayes import NaiveBayes
from ..estimator.predict_files import (
    AnswerColumns,
    answered_batches,
    evidence_of_decisions,
    known_columns,
    scores_of_rows,
    strongest_contributions,
)
from ..judge.histograms import ScoreSums
from .rows import (
    ArrowBatches,
    SparkRows,
    SparkSource,
    check_columns,
    frame_of_source,
    import_pyspark,
    map_batches,
    spark_rows,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CONTRIBUTION = pa.struct([("column", pa.string()), ("value", pa.string()), ("log_odds", pa.float64())])


class SentModel(NamedTuple):
    """A model as tasks get it: the bytes of its file, without rows, and functions that a file cannot hold."""

    data: bytes
    functions: tuple[tuple[str, object], ...] = ()


def predict(
    model: NaiveBayes,
    source: SparkSource,
    *,
    probabilities: bool = False,
    contributions: int = 0,
    prefix: str = "",
    session: SparkSession | None = None,
) -> DataFrame:
    """Return rows of Spark with their predictions, as a DataFrame; no row is read until Spark needs it.

    Each task predicts its rows with one thread. A value that the model never saw does not change a prediction.

    Parameters
    ----------
    model : NaiveBayes
        The fitted model.
    source : DataFrame of Spark, str, Path or list of str
        The rows, or the path of Parquet files, or several paths.
    probabilities : bool, default=False
        Whether there is a column for each class, such as ``P(spam)``, with its probability.
    contributions : int, default=0
        How many of the strongest contributions to the prediction a column `contributions` holds, as an array of the
        column, its value and the log-odds that it adds.
    prefix : str, default=""
        What is put before the names of the columns that are added.
    session : SparkSession, optional
        The session that reads files; by default the one that is running.

    Returns
    -------
    DataFrame
        The columns of the rows, then `answer`, `probability` and the others that were asked for.

    Raises
    ------
    InvalidInput
        If a column of the model is missing, or a name is already taken.

    Examples
    --------
    ``nv_spark.predict(nb, frame, contributions=3).write.parquet("answers")`` writes rows with predictions and reasons.
    """
    fitted, sent = model.fitted_, sent_model(model)
    frame, certain = frame_of_source(source, session)
    names = fitted.model.schema.names
    check_columns(frame, names)
    wanted = AnswerColumns(probabilities=probabilities, only=True, prefix=prefix)
    no_rows = pa.RecordBatch.from_arrays([pa.nulls(0) for _ in names], names)
    types = predicted(fitted, wanted, contributions, no_rows).schema
    for name in types.names:
        if name in frame.columns:
            raise InvalidInput(
                f"The rows have a column {name!r} already. Give the columns that are added another name, such as ",
                Setting("prefix", "new_"),
                ".",
                column=name,
            )
    one_row = pa.Table.from_pylist([{}], schema=types)  # of no rows, Connect does not tell the types
    fields = frame.sparkSession.createDataFrame(one_row).schema.fields
    row_type = import_pyspark("pyspark.sql.types").StructType([*frame.schema.fields, *fields])
    rows = SparkRows.of(frame, certain=certain)
    over, predict_batches = rows.in_batches(lambda batches: predicted_batches(sent, wanted, contributions, batches))
    return map_batches(over, predict_batches, row_type)


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
        The rows, or the path of Parquet files, or several paths.
    target : str
        The column of the classes. A class that the model never saw has no probability.
    weight : str, optional
        The column of the row weights.
    session : SparkSession, optional
        The session that reads files; by default the one that is running.

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
    rows = spark_rows(source, session, target, weight, columns=model.fitted_.model.schema.names)
    sent = sent_model(model)
    parts = rows.parts(
        lambda batches: scored_part(sent, target, weight, batches), lambda parts: pickle.dumps(sum_of_scores(parts))
    )
    if not parts:
        raise InvalidInput("There are no rows to score.")
    return sum_of_scores(parts)


# -- models on their way to tasks ----------------------------------------------------------------------------------


def sent_model(model: NaiveBayes) -> SentModel:
    """Return a model as it is sent to tasks; refuse different functions of texts, which tasks could not assign."""
    fitted, sink, functions = model.fitted_, BytesIO(), dict[str, object]()
    save_model(fitted, sink)
    for column in fitted.schema.of_kind("vectors"):
        for name in ("tokenizer", "preprocessor"):
            function = getattr(column.family, name, None)
            if callable(function) and functions.setdefault(name, function) is not function:
                raise InvalidInput(
                    f"Columns of texts have different functions as their {name}; on Spark all must have the same.",
                    column=column.name,
                )
    return SentModel(sink.getvalue(), tuple(functions.items()))


def stored_classifier(sent: SentModel) -> FittedClassifier:
    """Return the fitted model that was sent, or saved."""
    return load_model(BytesIO(sent.data), dict(sent.functions))  # type: ignore[arg-type]  # functions by name


@lru_cache(maxsize=4)
def received_model(sent: SentModel) -> FittedClassifier:
    """Return the model that a task was sent, for one thread; a worker that is used again keeps it."""
    return stored_classifier(sent).with_parameters(n_jobs=1)


# -- in the tasks --------------------------------------------------------------------------------------------------


def predicted_batches(
    sent: SentModel, wanted: AnswerColumns, contributions: int, batches: ArrowBatches
) -> ArrowBatches:
    """Yield the rows of a task with their predictions."""
    fitted = received_model(sent)
    for batch in batches:
        if batch.num_rows:
            result = predicted(fitted, wanted, contributions, batch)
            names = [*batch.schema.names, *result.schema.names]
            yield from pa.table([*batch.columns, *result.columns], names).to_batches()


def predicted(fitted: FittedClassifier, wanted: AnswerColumns, contributions: int, batch: pa.RecordBatch) -> pa.Table:
    """Return the columns that are added to some rows, with types that Spark has."""
    result = next(answered_batches(fitted, [batch], wanted))
    result = result.cast(pa.schema([(field.name, spark_type(field.type)) for field in result.schema]))
    if not contributions:
        return result
    rows: list[list[dict[str, object]]] = []
    if batch.num_rows:
        evidence, _ = evidence_of_decisions(fitted, evidence_of(fitted, known_columns(fitted, batch)))
        strongest = strongest_contributions(evidence, contributions)
        rows = [[dict(zip(CONTRIBUTION.names, one, strict=True)) for one in row] for row in strongest]
    return result.append_column(f"{wanted.prefix}contributions", pa.array(rows, pa.list_(CONTRIBUTION)))


def spark_type(kind: pa.DataType) -> pa.DataType:
    """Return the type that a column of predictions has in Spark."""
    own = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_integer(own):
        return pa.int64()
    return pa.string() if pa.types.is_large_string(own) else own


def scored_part(sent: SentModel, target: str, weight: str | None, batches: ArrowBatches) -> bytes | None:
    """Return the scores of the rows of a task; None if none of them is to be scored."""
    fitted, parts = received_model(sent), []
    for batch in batches:
        if fitted.parameters.unlabelled == "skip":
            batch = batch.filter(pc.is_valid(batch.column(target)))
        if batch.num_rows:
            parts.append(ScoreSums.of(scores_of_rows(fitted, batch, target, weight)))
    return pickle.dumps(ScoreSums.sum_of(parts)) if parts else None


def sum_of_scores(parts: Sequence[bytes]) -> ScoreSums:
    """Return the scores of the rows of several tasks."""
    return ScoreSums.sum_of([pickle.loads(part) for part in parts])
