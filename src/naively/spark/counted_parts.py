"""What a task counts of its rows, and how that is added: looks at rows, and counts under a schema."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from ..counting.rows import count
from ..data.schema import Schema
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
        regrouped(batches),
        target=plan.target,
        schema=plan.schema,
        sample_weight=plan.weight,
        unlabelled=plan.unlabelled,
        n_jobs=1,
    )
    return found.to_bytes()


def count_of_part(plan: CountPlan, batches: ArrowBatches) -> bytes:
    """Return the counts of the rows of a task, as bytes; there may be none that has a label."""
    counts = count(
        regrouped(batches),
        target=plan.target,
        schema=plan.schema,
        weight=plan.weight,
        unlabelled=plan.unlabelled,
        n_jobs=1,
    )
    return packed_counts(counts)


def add_looks(parts: Sequence[bytes]) -> bytes:
    """Return the look at the rows of several parts."""
    return add([Look.from_bytes(part) for part in parts]).to_bytes()


def add_counts(parts: Sequence[bytes]) -> bytes:
    """Return the counts of the rows of several parts."""
    return packed_counts(add([unpacked_counts(part) for part in parts]))


def packed_counts(counts: Counts) -> bytes:
    """Return counts as tasks send them: a pickle, which takes a tenth of the time that the model file takes.

    Tasks run the code of the driver, which was sent to them as a pickle, too.
    """
    data = pickle.dumps(counts, protocol=5)
    packed: bytes = pa.compress(data, codec="zstd", asbytes=True)
    return len(data).to_bytes(8, "little") + packed


def unpacked_counts(data: bytes) -> Counts:
    """Return the counts that a task sent."""
    size = int.from_bytes(data[:8], "little")
    counts: Counts = pickle.loads(pa.decompress(memoryview(data)[8:], size, codec="zstd"))
    return counts
