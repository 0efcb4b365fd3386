"""What Spark is asked for, by public calls of PySpark alone: its modules, and what its tasks return.

Tasks make parts of their rows, which are bytes. Where they are many, other tasks add them within groups first: the
driver gets one part from each group, and not one from each partition.
"""

from __future__ import annotations

import math
import pickle
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from ..errors import InvalidInput, NaivelyError, NotInstalled

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ArrowBatches: TypeAlias = Iterator[pa.RecordBatch]
MakePart: TypeAlias = Callable[[ArrowBatches], bytes | None]  # of at least one row
AddParts: TypeAlias = Callable[[Sequence[bytes]], bytes]

# What a task returns: its place among all tasks, and a part or an error.
PART = "place int, part binary, error binary"
PART_TYPES = pa.schema([("place", pa.int32()), ("part", pa.binary()), ("error", pa.binary())])
# Up to this many parts are added by the driver alone.
FEW = 8
# Connect does not tell how many partitions a DataFrame has: they are taken for this many times the tasks at a time.
ROUNDS = 8


def import_pyspark(module: str = "pyspark.sql") -> Any:
    """Return a module of PySpark, or say how to install it."""
    try:
        with without_pandas_notice():
            return import_module(module)
    except ImportError:
        raise NotInstalled("DataFrames of Spark are read through PySpark", "spark") from None


@contextmanager
def without_pandas_notice() -> Iterator[None]:
    """Silence PySpark's warning about pandas 3, which it gives for all functions of Arrow batches; none uses pandas."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


def parallel_tasks(session: SparkSession) -> int:
    """Return about how many tasks run at a time."""
    if ".connect." not in type(session).__module__:
        return max(int(session.sparkContext.defaultParallelism), 1)
    functions = import_pyspark("pyspark.sql.functions")  # a range has as many partitions as tasks run at a time
    return int(session.range(1 << 20).select(functions.spark_partition_id()).distinct().count()) or 1


def map_batches(frame: DataFrame, function: Callable[[ArrowBatches], ArrowBatches], types: object) -> DataFrame:
    """Return a DataFrame of what a function makes of the Arrow batches of each partition."""
    with without_pandas_notice():
        return frame.mapInArrow(function, types)


def parts_of_tasks(frame: DataFrame, make: MakePart, add: AddParts, tasks: int | None = None) -> list[bytes]:
    """Return the parts that are made of the partitions of a DataFrame; where they are many, added within groups."""

    def made(batches: ArrowBatches) -> ArrowBatches:
        from pyspark import TaskContext

        context = TaskContext.get()
        filled = (batch for batch in batches if batch.num_rows)

        def part() -> bytes | None:
            first = next(filled, None)
            return None if first is None else make(chain([first], filled))

        yield part_or_error(0 if context is None else context.partitionId(), part)
        for _ in filled:  # Spark needs all batches to be read, also after an error
            pass

    def added(batches: ArrowBatches) -> ArrowBatches:
        rows = [row for batch in batches for row in batch.to_pylist()]

        def part() -> bytes | None:
            parts = ordered_parts(rows)
            return add(parts) if parts else None

        yield part_or_error(min((row["place"] for row in rows), default=0), part)

    parts = map_batches(frame, made, PART)
    if tasks is None or tasks > FEW:
        number = ROUNDS * parallel_tasks(frame.sparkSession) if tasks is None else tasks
        parts = map_batches(parts.repartition(math.ceil(math.sqrt(number))), added, PART)
    try:
        with without_pandas_notice():
            return ordered_parts(parts.toArrow().to_pylist())
    except import_pyspark("pyspark.errors").PySparkException as error:
        lacking = re.search(r"ModuleNotFoundError: No module named '(naively|pyarrow|numpy|scipy)", str(error))
        if lacking is None:
            raise
        raise InvalidInput(
            f"The Python of Spark's executors has no module {lacking[1]!r}. Install Naively there as here: in the "
            "image of the cluster, or as an archive of the environment (spark-submit --archives); PYSPARK_PYTHON says "
            "which Python they start."
        ) from None


def part_or_error(place: int, make: Callable[[], bytes | None]) -> pa.RecordBatch:
    """Return a row with a part, or with the error that the driver raises without Spark's trace."""
    part = error = None
    try:
        part = make()
    except NaivelyError as raised:
        error = pickle.dumps(raised)
    return pa.RecordBatch.from_pylist([{"place": place, "part": part, "error": error}], PART_TYPES)


def ordered_parts(rows: Sequence[dict[str, Any]]) -> list[bytes]:
    """Return parts in the order of their tasks, so that their sum is the same whichever came first."""
    ordered = sorted(rows, key=lambda row: int(row["place"]))
    for row in ordered:
        if row["error"] is not None:
            raise pickle.loads(row["error"])  # our own, from a task of ours
    return [row["part"] for row in ordered if row["part"] is not None]
