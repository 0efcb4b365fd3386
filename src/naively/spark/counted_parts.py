"""What a task counts of its rows, and how that is added: looks at rows, and counts under a schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ..counting.rows import count
from ..data.schema import Schema
from ..estimator.look import Look
from ..estimator.look import look as look_at_rows
from ..stats import Counts
from ..stats.counts import add
from ..stats.pairs import JointCounts
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
    """Return counts as tasks send them: single columns as a file, joint counts as plain arrays."""
    single = Counts(counts.classes, counts.rows, counts.columns, counts.schema).to_bytes()
    joint = counts.joint
    if joint is None:
        arrays = b""
    else:
        numbers = np.concatenate([joint.fine.ravel(), joint.products.ravel()])
        arrays = pa.compress(numbers.tobytes(), codec="zstd", asbytes=True)
    return len(single).to_bytes(8, "little") + single + arrays


def unpacked_counts(data: bytes) -> Counts:
    """Return the counts that a task sent."""
    end = 8 + int.from_bytes(data[:8], "little")
    single, grid = Counts.from_bytes(data[8:end]), None
    if end == len(data) or (grid := single.schema.grid) is None:
        return single
    classes, features, bins = single.classes, grid.features, grid.fine_bins
    size = len(classes) * (bins + features**2)
    numbers = np.frombuffer(pa.decompress(data[end:], 8 * size, codec="zstd", asbytes=True))
    fine = numbers[: len(classes) * bins].reshape(len(classes), bins)
    products = numbers[len(classes) * bins :].reshape(len(classes), features, features)
    joint = JointCounts(classes, grid, fine.copy(), products.copy())
    return Counts(classes, single.rows, single.columns, single.schema, joint)
