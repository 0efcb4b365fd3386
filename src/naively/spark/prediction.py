"""Answers to rows of Spark: a DataFrame with the answer, its probability, and what else is asked for."""

from __future__ import annotations

from functools import lru_cache
from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from ..data.schema import Schema
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
    strongest_contributions,
)
from ..families import Words
from .arrow_tasks import ArrowBatches, map_batches
from .column_types import check_columns
from .rows import SparkRows, SparkSource, frame_of_source
from .session import import_pyspark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

CONTRIBUTIONS = "contributions"
CONTRIBUTION_TYPE = pa.list_(pa.struct([("column", pa.string()), ("value", pa.string()), ("log_odds", pa.float64())]))
# What the columns of answers are called in Spark.
SPARK_TYPES = {
    pa.string(): "string",
    pa.int64(): "bigint",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.date32(): "date",
    CONTRIBUTION_TYPE: "array<struct<column:string,value:string,log_odds:double>>",
}


class SentModel(NamedTuple):
    """A model as tasks get it: the bytes of its file, and functions that a file cannot hold."""

    data: bytes
    functions: tuple[tuple[str, object], ...] = ()


class WantedAnswers(NamedTuple):
    """Which columns are added to the rows."""

    probabilities: bool = False  # one for each class
    contributions: int = 0  # how many of the strongest
    prefix: str = ""  # put before the names of the columns that are added


def predict(
    model: NaiveBayes,
    source: SparkSource,
    *,
    probabilities: bool = False,
    contributions: int = 0,
    prefix: str = "",
    session: SparkSession | None = None,
) -> DataFrame:
    """Return rows of Spark with their answers, as a DataFrame; nothing runs until Spark needs the rows.

    Each task answers its rows with one thread. A value that the model never saw contributes nothing, as everywhere.

    Parameters
    ----------
    model : NaiveBayes
        The fitted model.
    source : DataFrame of Spark, str, Path or list of str
        The rows; or the path of Parquet files, or several.
    probabilities : bool, default=False
        Whether there is a column for each class, such as ``P(spam)``, with its probability.
    contributions : int, default=0
        How many of the strongest contributions to the answer a column `contributions` holds, as an array of the
        column, its value and the log-odds that it adds.
    prefix : str, default=""
        What is put before the names of the columns that are added.
    session : SparkSession, optional
        Where files are read; by default the session that is running.

    Returns
    -------
    DataFrame
        The columns of the rows, then `answer`, `probability` and those asked for.

    Raises
    ------
    InvalidInput
        If a column of the model is missing, or a name is already taken.

    Examples
    --------
    ``nv_spark.predict(nb, frame, contributions=3).write.parquet("answers")`` writes rows with answers and reasons.
    """
    fitted = model.fitted_
    frame, certain = frame_of_source(source, session)
    wanted = WantedAnswers(probabilities, contributions, prefix)
    check_columns(frame, fitted.model.schema.names)
    types = answer_types(fitted, wanted)
    for name in types.names:
        if name in frame.columns:
            raise InvalidInput(
                f"The rows have a column {name!r} already. Give the columns that are added another name, such as ",
                Setting("prefix", "new_"),
                ".",
                column=name,
            )
    sent = sent_model(model)
    rows = SparkRows.of_all(frame, certain)
    over, answers = rows.in_batches(lambda batches: answered(sent, wanted, types, batches))
    return map_batches(over, answers, with_answers(frame.schema, types))


def sent_model(model: NaiveBayes) -> SentModel:
    """Return a model as it is sent to tasks; it holds no row."""
    fitted = model.fitted_
    sink = BytesIO()
    save_model(fitted, sink)
    return SentModel(sink.getvalue(), functions_of(fitted.schema))


def functions_of(schema: Schema) -> tuple[tuple[str, object], ...]:
    """Return the functions of Python that texts are split with; refuse different ones, which tasks cannot assign."""
    found: dict[str, object] = {}
    for column in schema.of_kind("vectors"):
        for name in ("tokenizer", "preprocessor"):
            given = getattr(column.family, name, None) if isinstance(column.family, Words) else None
            if callable(given) and found.setdefault(name, given) is not given:
                raise InvalidInput(
                    f"Columns of texts have different functions as their {name}; on Spark all must have the same.",
                    column=column.name,
                )
    return tuple(found.items())


@lru_cache(maxsize=4)
def received_model(sent: SentModel) -> FittedClassifier:
    """Return the model that a task was sent; a worker that is used again keeps it. One thread answers."""
    return stored_classifier(sent).with_parameters(n_jobs=1)


def classifier_of(sent: SentModel) -> NaiveBayes:
    """Return the classifier that was sent, or saved."""
    return NaiveBayes.from_fitted(stored_classifier(sent))


def stored_classifier(sent: SentModel) -> FittedClassifier:
    """Return the fitted model in the bytes of a file."""
    return load_model(BytesIO(sent.data), dict(sent.functions))  # type: ignore[arg-type]  # functions by name


def answered(sent: SentModel, wanted: WantedAnswers, types: pa.Schema, batches: ArrowBatches) -> ArrowBatches:
    """Yield the rows of a task with their answers."""
    fitted = received_model(sent)
    for batch in batches:
        if batch.num_rows:
            added = added_columns(fitted, wanted, batch)
            arrays = [one.cast(kind) for one, kind in zip(added, types.types, strict=True)]
            yield pa.RecordBatch.from_arrays([*batch.columns, *arrays], names=[*batch.schema.names, *types.names])


def added_columns(fitted: FittedClassifier, wanted: WantedAnswers, batch: pa.RecordBatch) -> list[pa.Array]:
    """Return the columns that are added to some rows."""
    asked = AnswerColumns(probabilities=wanted.probabilities, only=True)
    found = next(answered_batches(fitted, [batch], asked))
    arrays = [column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column for column in found.columns]
    arrays = [one.dictionary_decode() if pa.types.is_dictionary(one.type) else one for one in arrays]
    if wanted.contributions:
        evidence, _ = evidence_of_decisions(fitted, evidence_of(fitted, known_columns(fitted, batch)))
        names = ("column", "value", "log_odds")
        strongest = strongest_contributions(evidence, wanted.contributions)
        rows = [[dict(zip(names, one, strict=True)) for one in row] for row in strongest]
        arrays.append(pa.array(rows, CONTRIBUTION_TYPE))
    return arrays


def answer_types(fitted: FittedClassifier, wanted: WantedAnswers) -> pa.Schema:
    """Return the names and Arrow types of the columns that are added."""
    empty = pa.table({name: pa.nulls(0) for name in fitted.model.schema.names}).to_batches()
    batch = empty[0] if empty else pa.RecordBatch.from_pydict({name: [] for name in fitted.model.schema.names})
    asked = AnswerColumns(probabilities=wanted.probabilities, only=True)
    found = next(answered_batches(fitted, [batch], asked)).schema
    types = [(field.name, _spark_able(field.type)) for field in found]
    more = [(CONTRIBUTIONS, CONTRIBUTION_TYPE)] if wanted.contributions else []
    return pa.schema([(wanted.prefix + name, kind) for name, kind in [*types, *more]])


def _spark_able(kind: pa.DataType) -> pa.DataType:
    """Return the type that a column of answers has in Spark."""
    own = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_integer(own):
        return pa.int64()
    return pa.string() if pa.types.is_large_string(own) else own


def with_answers(rows: StructType, types: pa.Schema) -> StructType:
    """Return the types of Spark that rows with answers have."""
    of_spark = import_pyspark("pyspark.sql.types")
    added = [of_spark.StructField(f.name, of_spark.DataType.fromDDL(SPARK_TYPES[f.type]), True) for f in types]
    found: StructType = of_spark.StructType([*rows.fields, *added])
    return found
