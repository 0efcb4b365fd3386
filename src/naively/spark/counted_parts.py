"""What a task counts of its rows, and how that is added: looks at rows, and counts under a schema."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa

from ..counting.counter import TableCounter
from ..counting.files import FileRows
from ..counting.rows import count_rows
from ..data.files import File
from ..data.schema import Schema
from ..data.streams import stream_of_table
from ..estimator.look import Look
from ..estimator.look import look as look_at_rows
from ..stats import Counts
from ..stats.adding import add
from .arrow_tasks import ArrowBatches, regrouped


class CountPlan(NamedTuple):
    """How rows are counted: which columns they have, which are the class and the weight, what becomes of the others."""

    schema: Schema
    target: str
    weight: str | None = None
    unlabelled: str = "error"


def look_of_part(plan: CountPlan, batches: ArrowBatches) -> bytes:
    """Return a look at the rows of a task, as bytes; one thread counts."""
    found = look_at_rows(
        tables_of_part(batches),
        target=plan.target,
        schema=plan.schema,
        sample_weight=plan.weight,
        unlabelled=plan.unlabelled,
        n_jobs=1,
    )
    return found.to_bytes()


def count_of_part(plan: CountPlan, batches: ArrowBatches) -> bytes:
    """Return the counts of the rows of a task, as bytes; there may be none that has a label."""
    file = File.of_stream(stream_of_table(tables_of_part(batches)))
    rows = FileRows(file, plan.target, plan.weight, (), plan.unlabelled, may_be_empty=True)
    file.keep_no_more()
    counter = TableCounter(rows.schema(plan.schema))
    count_rows(counter, rows, 1)
    return counter.value().to_bytes()


def tables_of_part(batches: ArrowBatches) -> Iterator[pa.Table]:
    """Yield the rows of a task in blocks of our size."""
    yield from regrouped(batches)


def add_looks(parts: Sequence[bytes]) -> bytes:
    """Return the look at the rows of several parts."""
    return add([Look.from_bytes(part) for part in parts]).to_bytes()


def add_counts(parts: Sequence[bytes]) -> bytes:
    """Return the counts of the rows of several parts."""
    return add([Counts.from_bytes(part) for part in parts]).to_bytes()
