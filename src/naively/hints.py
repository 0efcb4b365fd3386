"""Remarks on columns that are counted as told, but look as if something else was meant."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from .engines.tables import TableCounter
from .read.batches import Found
from .read.frame import Frame
from .read.missing import OF_CLASSES, arrow_of, is_no_number
from .read.notation import LIKELY, Unclear, notation, number_from
from .read.values import Values
from .schema import Schema
from .statistics.axis import Axis, Floats
from .written import USUAL

# Fewer rows say little about what a column is.
ENOUGH = 30
# Whole numbers with at most so many different values may be codes; so many rows are looked at.
FEW, LOOKED_AT = 12, 10_000
# Words that make a label a sentence, and characters of a language that is written without spaces.
SEVERAL, UNSPACED = 4, 8
# So many names are listed; labels are almost numbers if so many of the rows hold one.
SHOWN, ALMOST = 3, 0.9


def hints_of(counter: TableCounter, source: Any) -> tuple[str, ...]:
    """Return a remark for each column that looks odd, with the line to write."""
    rows = float(counter.rows.sum())
    if rows < ENOUGH or not isinstance(source, Frame):
        return ()
    return (*about_labels(counter, rows), *about_numbers(counter, source))


def about_cells(schema: Schema, found: Found, decimal: str | None = None, thousands: str | None = None) -> list[str]:
    """Return remarks on numbers that are written as nobody said they were, and on texts that were read as missing."""
    odd = ((c.name, c.written) for c in schema if c.type in ("whole", "number") and c.written and not c.written.plain)
    remarks = [
        f"{name!r} holds numbers written as {written}, and they are read as numbers; to take them as labels: "
        f'families={{{name!r}: "categorical"}}.'
        for name, written in odd
        if not replace(
            written,
            decimal="." if written.decimal == decimal else written.decimal,
            thousands="" if written.thousands == thousands else written.thousands,
        ).plain
    ]
    missing = about_missing(found)
    return remarks if missing is None else [*remarks, missing]


def about_missing(found: Found) -> str | None:
    """Return a remark on texts that were read as missing, if they are not those that everybody knows."""
    names = {text: [name for name, none in found.items() if text in none] for text in texts_in(found)}
    told = [
        f"{text!r} ({times:,} {'cell' if times == 1 else 'cells'} of {listed(names[text])})"
        for text, times in texts_in(found).items()
        if text not in OF_CLASSES
    ]
    return f"Read as missing: {', '.join(told)}; in files, null= says which texts are, and no others." if told else None


def texts_in(found: Found) -> Counter[str]:
    """Return how often each text was read as missing, the most frequent first."""
    every: Counter[str] = sum(found.values(), Counter())
    return Counter(dict(every.most_common()))


def listed(names: list[str]) -> str:
    """Return a few names, and how many more there are."""
    more = f" and {len(names) - SHOWN} more columns" if len(names) > SHOWN else ""
    return ", ".join(map(repr, names[:SHOWN])) + more


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
        elif column.type == "text" and (unclear := unclear_numbers(column.name, list(words.places), met)):
            remarks.append(unclear)
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


def unclear_numbers(name: str, labels: list[Any], met: Floats) -> str | None:
    """Return a remark on labels that may be numbers: all of them, in two ways, or almost all of them in one."""
    some = [(label, n) for label, n in zip(labels, met.tolist(), strict=True) if isinstance(label, str) and n]
    some = [(label, n) for label, n in some[:LOOKED_AT] if not is_no_number(label, USUAL)]
    numbers = [label for label, _ in some if LIKELY.fullmatch(label)]
    if not numbers:
        return None
    if len(numbers) == len(some) and isinstance(found := notation(arrow_of(tuple(numbers))), Unclear):
        return (
            f"{name!r} holds numbers such as {found.example!r}, and nothing shows what {found.sign!r} means, so that "
            f"they are taken as labels. Convert the column, or read the file with thousands={found.sign!r} or "
            f"decimal={found.sign!r}"
        )
    plain = [(label, n) for label, n in some if number_from(label, USUAL) is None]
    if any(LIKELY.fullmatch(label) for label, _ in plain):
        return None  # codes such as 00123, or notations that do not agree
    if plain and sum(n for _, n in plain) <= (1 - ALMOST) * sum(n for _, n in some) and len(numbers) > 1:
        others = listed([label for label, _ in plain]).replace(" columns", "")
        return (
            f"{name!r} holds numbers, but also {others}, and is taken as labels. If those stand for no value, say so "
            "by null= (with all other texts that do); if they are mistakes, correct them."
        )
    return None


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
