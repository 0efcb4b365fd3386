"""What was learned, for people: probabilities of a column, mutual information, a summary, what changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from .._frames import frame
from .._types import Floats, FrameLike, Numeric
from ..data.column import Column
from ..data.schema import Schema
from ..model.column_parts import InformationSource
from ..model.protocols import FittedModel
from ..stats import Counts
from ..stats.mutual_information import Information
from ..stats.pairs import JointCounts
from .changes import changes_between

# Columns that have a line in the summary; of wide tables the others are left to `importance()`.
MOST_COLUMNS = 30


def probabilities(model: FittedModel, column: Column) -> FrameLike:
    """Return P(value | class) of one column as a frame, a line for each value; for numbers, a line for each class."""
    labels = [str(label) for label in model.classes.labels]
    return frame(dict(model.parts[column.name].table(labels)))


def importance_frame(told: Mapping[str, Information]) -> FrameLike:
    """Return the mutual information of each column and the class in bits, the highest first, with its error."""
    names = strongest_first(told)
    figures = {name: [getattr(told[column], name) for column in names] for name in Information._fields}
    return frame({"column": names, **figures})


def strongest_first(told: Mapping[str, Information]) -> list[str]:
    """Return the columns by their mutual information, the highest first; those without a figure last."""
    return sorted(told, key=lambda name: -told[name].bits if told[name].bits == told[name].bits else 1.0)


def information(
    model: FittedModel, counts: Counts, measured: Mapping[str, Information], heaviest: Numeric = 1.0
) -> dict[str, Information]:
    """Return the mutual information of each column and the class, from counts of values and bins.

    Of numbers whose bins were not counted it is what was measured on some rows; otherwise there is none, and none of
    vectors and texts. A missing value contributes nothing, unless it is a value like any other. `heaviest` is the
    weight of the heaviest row of each class.
    """
    bins = {} if counts.joint is None else fine_bins_of(counts.joint)
    source = InformationSource(counts, bins, measured, heaviest)
    return {name: part.information(source) for name, part in model.parts.items()}


def fine_bins_of(joint: JointCounts) -> dict[str, Floats]:
    """Return the counts of the fine bins of each number that was counted in bins, [class, bin]."""
    places = zip(joint.grid.numbers, pairwise(joint.grid.fine_offsets.tolist()), strict=True)
    return {bins.name: joint.fine[:, begin:end] for bins, (begin, end) in places}


def summary(
    model: FittedModel, counts: Counts, schema: Schema, told: Mapping[str, Information], remarks: Sequence[str] = ()
) -> str:
    """Return what was learned, in words; remarks come behind the number of rows."""
    rows = counts.rows.sum()
    shares = ", ".join(
        f"{label} {n / rows:.1%}" if rows else f"{label}"
        for label, n in sorted(zip(counts.classes.labels, counts.rows, strict=True), key=lambda pair: -pair[1])[:8]
    )
    lines = [f"{rows:.10g} rows, {len(counts.classes)} classes: {shares}{' …' if len(counts.classes) > 8 else ''}"]
    lines += remarks
    names = strongest_first(told)
    if any(one.bits == one.bits for one in told.values()):
        lines.append("Mutual information of each column and the class:")
    for name in names[:MOST_COLUMNS]:
        bits = told[name].bits
        lines.append(f"{f'{bits:.3f} bits' if bits == bits else '':10}  {model.parts[name].describe()}")
    if len(names) > MOST_COLUMNS:
        lines.append(f"… and {len(names) - MOST_COLUMNS:,} more columns: importance()")
    lines += parameter_lines(model, counts)
    lines += [f"Note: {hint}" for hint in schema.hints]
    return "\n".join(lines)


def parameter_lines(model: FittedModel, counts: Counts) -> list[str]:
    """Return how many numbers stand for the columns of labels, and how many a full table would take."""
    sizes = [len(table.values) for table in model.label_tables.values()]
    if not sizes:
        return []
    classes = len(counts.classes)
    full = classes * int(np.prod([float(s) for s in sizes])) if np.sum(np.log10(np.maximum(sizes, 1))) < 15 else None
    whole = (
        f"{full:,}"
        if full is not None
        else f"about 10^{np.sum(np.log10(np.maximum(sizes, 1))) + np.log10(classes):.0f}"
    )
    return [
        (
            f"{classes * sum(sizes):,} probabilities stand for the columns of labels (K·ΣS); "
            f"all combinations would take {whole} (K·ΠS)."
        )
    ]


def compare(a: Counts, b: Counts) -> FrameLike:
    """Return what changed between two counts as a data frame: proportions of labels, means of numbers.

    Parameters
    ----------
    a : Counts
        The counts before.
    b : Counts
        The counts after, of the same columns.

    Returns
    -------
    DataFrame
        A line for each value, the strongest change first. `strength` is the change in standard errors: beyond about 3
        it is hardly chance.

    Examples
    --------
    >>> import naively as nv
    >>> may = nv.count({"sky": ["rain"] * 6 + ["sunny"] * 2}, ["in"] * 8)
    >>> june = nv.count({"sky": ["rain"] * 1 + ["sunny"] * 9}, ["in"] * 10)
    >>> import pandas  # a frame is one of pandas' then
    >>> nv.compare(may, june).round(2)
        column  value  before  after  change  strength
    0      sky   rain    0.75    0.1   -0.65     -2.81
    1      sky  sunny    0.25    0.9    0.65      2.81
    2  (class)     in    1.00    1.0    0.00      0.00
    """
    changes = changes_between(a, b)
    columns = {name: [getattr(change, name) for change in changes] for name in ("column", "value", "before", "after")}
    moved = [change.after - change.before for change in changes]
    return frame(columns | {"change": moved, "strength": [change.strength for change in changes]})


__all__ = ["compare", "importance_frame", "information", "probabilities", "summary"]
