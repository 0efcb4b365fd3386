"""Remarks on columns that are counted as told, but look as if something else was meant."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from .engines.tables import TableCounter
from .figures import one_class
from .read.frame import Frame
from .read.values import Values
from .statistics.axis import Axis

# Fewer rows say little about what a column is.
ENOUGH = 30
# Whole numbers with at most so many different values may be codes; so many rows are looked at.
FEW, LOOKED_AT = 12, 10_000
# More whole numbers than this, as a target, may be amounts; more than hundreds hardly are anything else.
MANY_NUMBERS, HUNDREDS = 20, 100
# Words that make a label a sentence, and characters of a language that is written without spaces.
SEVERAL, UNSPACED = 4, 8


def hints_of(counter: TableCounter, source: Any) -> tuple[str, ...]:
    """Return a remark for each column that looks odd, with the line to write."""
    rows = float(counter.rows.sum())
    if rows < ENOUGH or not isinstance(source, Frame):
        return ()
    return (*about_labels(counter, rows), *about_numbers(counter, source))


def about_target(labels: Sequence[Any]) -> list[str]:
    """Return remarks on a target that can hardly be meant: one class alone, or more numbers than there are classes."""
    if len(labels) == 1:
        return [one_class(labels[0])]
    if len(labels) <= MANY_NUMBERS or not isinstance(labels[0], (int, float, np.number)):
        return []
    remark = (
        f"The target holds {len(labels)} different numbers, and each of them is a class. If they are amounts, this is "
        "regression: cut them into a few ranges first, such as low, middle and high, or set cost='squared' to be "
        "answered by their mean, cost='absolute' by their median."
    )
    return [remark]


def is_doubtful(labels: Sequence[Any]) -> bool:
    """Tell whether a target deserves a warning rather than a remark."""
    return bool(about_target(labels)) and (len(labels) == 1 or len(labels) > HUNDREDS)


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
        elif column.type == "text" and have_commas(list(words.places)):
            remarks.append(
                f"{column.name!r} holds numbers with a decimal comma, which are taken as labels; convert them, or read "
                "the file with decimal=','"
            )
        elif values > 0.9 * (rows - met[0]) and column.type == "text" and are_sentences(list(words.places)):
            remarks.append(
                f"{column.name!r} holds texts of several words, and each is taken as a whole, which says next to "
                f'nothing. To count their words: families={{{column.name!r}: "words"}}.'
            )
        elif values > 0.9 * (rows - met[0]) and column.type == "text":
            remarks.append(
                f"{column.name!r} has a value of its own in almost every row, as names and numbers of records have; "
                f"leave it out: columns=[...] without {column.name!r}."
            )
    return remarks


def have_commas(labels: list[Any]) -> bool:
    """Tell whether most labels are numbers with a decimal comma."""
    some = [label for label in labels[:LOOKED_AT] if isinstance(label, str)]
    return sum(re.fullmatch(r"[-+]?\d+,\d+", label) is not None for label in some) > len(some) / 2


def are_sentences(labels: list[Any]) -> bool:
    """Tell whether most labels are texts of several words."""
    some = [label for label in labels[:LOOKED_AT] if isinstance(label, str)]
    return sum(is_sentence(label) for label in some) > len(some) / 2


def is_sentence(label: str) -> bool:
    """Tell whether a label is a text of several words."""
    unspaced = sum("\u3040" <= sign <= "\u9fff" for sign in label[: 4 * UNSPACED])
    return unspaced >= UNSPACED or len(label.split(None, SEVERAL)) >= SEVERAL


def about_numbers(counter: TableCounter, frame: Frame) -> list[str]:
    """Return remarks on columns of numbers."""
    remarks, varied = [], do_vary(counter)
    where = f" in the first {LOOKED_AT:,} rows" if float(counter.rows.sum()) > LOOKED_AT else ""
    for column, varies in zip(counter.of_numbers, varied, strict=True):
        values = frame.columns[column.name]
        if not isinstance(values, Values):
            continue
        numbers = values.numbers(0, min(frame.rows, LOOKED_AT))
        different = np.unique(numbers[~np.isnan(numbers)])
        if len(different) == 1 and not varies:
            remarks.append(f"{column.name!r} holds the same number in every row, and says nothing.")
        elif column.type == "whole" and 2 < len(different) <= FEW and column.family.name == "gaussian":
            remarks.append(
                f"{column.name!r} holds only {len(different)} different whole numbers{where}; if they are codes rather "
                f'than amounts: families={{{column.name!r}: "categorical"}}.'
            )
    return remarks


def do_vary(counter: TableCounter) -> list[bool]:
    """Tell of each column of numbers whether it holds different ones, by all rows that were counted."""
    if not counter.of_numbers:
        return []
    met = list(counter.classes.places)
    overall = counter.numbers.moments(met, Axis(met)).overall()
    spread: list[bool] = (overall.variance[0] > 1e-18 * overall.mean[0] ** 2).tolist()
    return spread
