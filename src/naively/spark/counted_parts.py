"""What a task counts of its rows, and how that is added: looks at rows, and counts under a schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

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
    return counts.to_bytes()


def add_looks(parts: Sequence[bytes]) -> bytes:
    """Return the look at the rows of several parts."""
    return add([Look.from_bytes(part) for part in parts]).to_bytes()


def add_counts(parts: Sequence[bytes]) -> bytes:
    """Return the counts of the rows of several parts."""
    return add([Counts.from_bytes(part) for part in parts]).to_bytes()
