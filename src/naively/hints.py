"""Remarks on columns that are counted as told, but look as if something else was meant."""

from __future__ import annotations

from typing import Any

import numpy as np

from .engines.tables import TableCounter
from .read.frame import Frame
from .read.values import Values

# Fewer rows say little about what a column is.
ENOUGH = 30
# Whole numbers with at most so many different values may be codes; so many rows are looked at.
FEW, LOOKED_AT = 12, 10_000


def hints_of(counter: TableCounter, source: Any) -> tuple[str, ...]:
    """Return a remark for each column that looks odd, with the line to write."""
    rows = float(counter.rows.sum())
    if rows < ENOUGH or not isinstance(source, Frame):
        return ()
    return (*about_labels(counter, rows), *about_numbers(counter, source))


def about_labels(counter: TableCounter, rows: float) -> list[str]:
    """Return remarks on columns of labels."""
    remarks = []
    for at, (column, words) in enumerate(zip(counter.of_labels, counter.words, strict=True)):
        met = counter.labels.part(at, len(words), len(counter.classes)).sum(axis=1)
        values = int((met[1:] > 0).sum())  # without the missing ones
        if met[0] >= rows:
            remarks.append(f"{column.name!r} holds nothing: every cell is missing.")
        elif values == 1 and met[0] == 0:
            remarks.append(f"{column.name!r} holds the same value in every row and says nothing.")
        elif values > 0.9 * (rows - met[0]) and column.type == "text":
            remarks.append(
                f"{column.name!r} has a value of its own in almost every row, as names and numbers of records have; "
                f"leave it out: columns=[...] without {column.name!r}."
            )
    return remarks


def about_numbers(counter: TableCounter, frame: Frame) -> list[str]:
    """Return remarks on columns of numbers."""
    remarks = []
    for column in counter.of_numbers:
        values = frame.columns[column.name]
        if not isinstance(values, Values):
            continue
        numbers = values.numbers(0, min(frame.rows, LOOKED_AT))
        different = np.unique(numbers[~np.isnan(numbers)])
        if len(different) == 1:
            remarks.append(f"{column.name!r} holds the same number in every row looked at, and says nothing.")
        elif column.type == "whole" and 2 < len(different) <= FEW and column.family.name == "gaussian":
            remarks.append(
                f"{column.name!r} holds only {len(different)} different whole numbers; if they are codes rather than "
                f'amounts: families={{{column.name!r}: "categorical"}}.'
            )
    return remarks
