"""Tasks that read Arrow batches and return parts, and parts that are added in two levels: in groups, then all.

A part is whatever bytes a task makes of its rows. The driver gets as many parts as there are groups, not as many as
there are partitions.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from ..data.encoding import ROWS
from ..errors import NaivelyError
from .session import parallel_tasks, plain_errors, without_pandas_notice

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ArrowBatches: TypeAlias = Iterator[pa.RecordBatch]
MakePart: TypeAlias = Callable[[ArrowBatches], bytes]  # of the rows of a task; there is at least one
AddParts: TypeAlias = Callable[[Sequence[bytes]], bytes]

# What a task returns: where it stands among all, a part, or an error instead.
PART = "place int, part binary, error binary"
PART_TYPES = pa.schema([("place", pa.int32()), ("part", pa.binary()), ("error", pa.binary())])
# Rows are put together to blocks of this size; long texts to smaller ones, by their bytes.
MOST_BYTES = 1 << 26
# So many parts the driver adds by itself. How many partitions a DataFrame has, Connect does not tell: it is taken for
# so many times the tasks that run at a time.
FEW, ROUNDS = 8, 8


class UnlikeSpark(Exception):
    """A file that Spark may read otherwise than Arrow does: the rows have to come from Spark."""


def map_batches(frame: DataFrame, function: Callable[[ArrowBatches], ArrowBatches], types: object) -> DataFrame:
    """Return what a function makes of the Arrow batches of each partition."""
    with without_pandas_notice():
        return frame.mapInArrow(function, types)


def added_parts(frame: DataFrame, make: MakePart, add: AddParts, number: int | None = None) -> bytes | None:
    """Return the sum of the parts that tasks make of the partitions of a DataFrame; None if it has no row.

    Where the number of partitions is known and small, the driver adds all parts.
    """
    parts = map_batches(frame, lambda batches: _made(make, batches), PART)
    if number is None or number > FEW:
        groups = group_count(frame.sparkSession, number)
        parts = map_batches(parts.repartition(groups), lambda batches: _added(add, batches), PART)
    with plain_errors(), without_pandas_notice():
        found = parts.toArrow()
    return _sum_of_rows(add, found.to_pylist())


def group_count(session: SparkSession, parts: int | None = None) -> int:
    """Return in how many groups parts are added before the driver gets them: the root of their number."""
    return math.ceil(math.sqrt(ROUNDS * parallel_tasks(session) if parts is None else parts))


def regrouped(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield the rows of small batches as larger tables: Spark's own hold 10,000 rows."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if held and (rows + batch.num_rows > ROWS or size + batch.nbytes > MOST_BYTES):
            yield pa.Table.from_batches(held)
            held, rows, size = [], 0, 0
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
    if held:
        yield pa.Table.from_batches(held)


# -- in the tasks ----------------------------------------------------------------------------------------------------


def _made(make: MakePart, batches: ArrowBatches) -> ArrowBatches:
    """Yield one part of the rows of a task; nothing if it has none."""
    from pyspark import TaskContext

    context = TaskContext.get()
    place = 0 if context is None else context.partitionId()
    filled = (batch for batch in batches if batch.num_rows)
    first = next(filled, None)
    if first is not None:
        yield _row(place, lambda: make(chain([first], filled)))
        for _ in filled:  # what an error left unread
            pass


def _added(add: AddParts, batches: ArrowBatches) -> ArrowBatches:
    """Yield the sum of some parts, in their order; the first error, if there is one."""
    rows = [row for batch in batches for row in batch.to_pylist()]
    if rows:
        first = min(row["place"] for row in rows)
        yield _row(first, lambda: _sum_of_rows(add, rows))


def _sum_of_rows(add: AddParts, rows: list[dict[str, object]]) -> bytes | None:
    """Return the sum of parts in the order of their tasks, so that it is the same whichever came first."""
    ordered = sorted(rows, key=lambda row: row["place"])  # type: ignore[arg-type, return-value]  # numbers
    for row in ordered:
        if row["error"] is not None:
            raise pickle.loads(row["error"])  # type: ignore[arg-type]  # our own, of a task of ours
    parts = [row["part"] for row in ordered]
    return None if not parts else parts[0] if len(parts) == 1 else add(parts)  # type: ignore[arg-type, return-value]


def _row(place: int, make: Callable[[], bytes | None]) -> pa.RecordBatch:
    """Return one row: a part, or the error in its stead, which the driver raises without Spark's trace."""
    part = error = None
    try:
        part = make()
    except (NaivelyError, UnlikeSpark) as found:
        error = pickle.dumps(found)
    return pa.RecordBatch.from_pylist([{"place": place, "part": part, "error": error}], PART_TYPES)
