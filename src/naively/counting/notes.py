"""Remarks on columns that were probably meant to have another type or family."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from .._types import Floats, Label
from ..data.cell_format import LIKELY, OF_CLASSES, USUAL, Unclear, arrow_strings, is_no_number, notation, number_from
from ..data.frame import Frame
from ..data.schema import Schema
from ..data.values import ColumnValues
from ..errors.message import ANY_VALUE, IgnoredColumns, Message, MissingTexts, Setting
from ..files.columns import TextsReadAsMissing
from ..judge.metrics import single_class_note
from ..stats.axis import Axis
from .counter import TableCounter

# Fewer rows say little about what a column is.
ENOUGH = 30
# Whole numbers with at most so many different values may be codes; so many rows are looked at.
FEW, LOOKED_AT = 12, 10_000
# More whole numbers than this, as a target, may be amounts; more than hundreds hardly are anything else.
MANY_NUMBERS, HUNDREDS = 20, 100
# Words that make a label a sentence, and characters of a language that is written without spaces.
SEVERAL, UNSPACED = 4, 8
# An amount with a sign before it or a unit behind it, or with separators; a date or a time.
AMOUNT = re.compile(r"[^\w\s]{0,3}\s?\d[\d.,' \u00a0]*(e[-+]?\d+)?\s?[^\W\d_]{0,4}[^\w\s]{0,3}", re.IGNORECASE)
MOMENT = re.compile(r"\d+([-/.:]\d+)+([T ]\d+(:\d+)*([.,]\d+)?)?\s?(z|am|pm|[-+]\d+:?\d*)?", re.IGNORECASE)

Said = Callable[[Sequence[str]], Message]  # from the names of columns to a sentence about them


def hints_of(counter: TableCounter, source: Frame | None) -> tuple[Message, ...]:
    """Return remarks on columns that look odd, each with the line to write; one for all columns of the same kind."""
    rows = float(counter.rows.sum())
    if source is None:
        return ()
    result: list[tuple[Said, str]] = [(remark_empty, name) for name in counter.without_values()]
    if rows >= ENOUGH:
        result += [*found_in_labels(counter, rows), *found_in_numbers(counter, source)]
    return tuple(grouped_remarks(result))


def grouped_remarks(found: Sequence[tuple[Said, str]]) -> list[Message]:
    """Return a sentence for all columns of which the same is to be said, in the order in which they came up."""
    columns: dict[Said, list[str]] = {}
    for said, name in found:
        columns.setdefault(said, []).append(name)
    return [said(names) for said, names in columns.items()]


def about_target(labels: Sequence[Label]) -> list[Message]:
    """Return remarks on a target that can hardly be meant: one class alone, or more numbers than there are classes."""
    if len(labels) == 1:
        return [Message(single_class_note(labels[0]))]
    if len(labels) <= MANY_NUMBERS or not isinstance(labels[0], (int, float, np.number)):
        return []
    remark = Message(
        f"The target holds {len(labels)} different numbers, and each of them is a class. If they are amounts, this is "
        "regression: cut them into a few ranges first, such as low, middle and high, or set ",
        Setting("cost", "squared"),
        " to predict their mean, ",
        Setting("cost", "absolute"),
        " their median.",
    )
    return [remark]


def is_doubtful(labels: Sequence[Label]) -> bool:
    """Return whether a target deserves a warning rather than a remark."""
    return bool(about_target(labels)) and (len(labels) == 1 or len(labels) > HUNDREDS)


def about_labels(counter: TableCounter, rows: float) -> list[Message]:
    """Return remarks on columns of labels."""
    return grouped_remarks(found_in_labels(counter, rows))


def found_in_labels(counter: TableCounter, rows: float) -> list[tuple[Said, str]]:
    """Return what is to be said of columns of labels, with their names."""
    result: list[tuple[Said, str]] = []
    for index, (column, words) in enumerate(zip(counter.of_labels, counter.words, strict=True)):
        seen = counter.labels.part(index, len(words), len(counter.classes)).sum(axis=1)
        values, labels = int((seen[1:] > 0).sum()), list(words.places)  # without the missing ones
        own = values > 0.9 * (rows - seen[0]) and column.type == "text"
        if values == 1 and seen[0] == 0:
            result.append((remark_constant, column.name))
        elif column.type == "text" and (unclear := unclear_numbers(column.name, labels, seen)):
            result.append((partial(remark_found, unclear), column.name))
        elif own and most_are(labels, is_sentence):
            result.append((remark_sentences, column.name))
        elif own and most_are(labels, is_amount):
            result.append((remark_amounts, column.name))
        elif own:
            result.append((remark_identifiers, column.name))
    return result


def found_in_numbers(counter: TableCounter, frame: Frame) -> list[tuple[Said, str]]:
    """Return what is to be said of columns of numbers, with their names."""
    result: list[tuple[Said, str]] = []
    different: dict[str, int] = {}
    where = f" in the first {LOOKED_AT:,} rows" if float(counter.rows.sum()) > LOOKED_AT else ""

    def codes(names: Sequence[str]) -> Message:
        """Say that columns hold few different whole numbers."""
        least, most = (edge(different[name] for name in names) for edge in (min, max))
        many = f"{least}" if least == most else f"{least} to {most}"
        return Message(
            f"{subject_of(names)} {'holds' if len(names) == 1 else 'hold'} only {many} different whole numbers{where}; "
            "if they are codes rather than amounts: ",
            families_as(names, "categorical"),
            ".",
        )

    for column, varies in zip(counter.of_numbers, do_vary(counter), strict=True):
        values = frame.columns[column.name]
        if not isinstance(values, ColumnValues):
            continue
        if varies and column.type != "whole":
            continue
        numbers = values.numbers(0, min(frame.rows, LOOKED_AT))
        different[column.name] = len(np.unique(numbers[~np.isnan(numbers)]))
        if different[column.name] == 1 and not varies:
            result.append((remark_constant, column.name))
        elif column.type == "whole" and 2 < different[column.name] <= FEW and column.family.name == "gaussian":
            result.append((codes, column.name))
    return result


def do_vary(counter: TableCounter) -> list[bool]:
    """Tell of each column of numbers whether it holds different ones, by all rows that were counted."""
    if not counter.of_numbers:
        return []
    seen = list(counter.classes.places)
    overall = counter.numbers.value(Axis(seen), seen).overall()
    spread: list[bool] = (overall.variance[0] > 1e-18 * overall.mean[0] ** 2).tolist()
    return spread


# -- what labels look like ---------------------------------------------------------------------------------------------


def most_are(labels: list[Label], such: Callable[[str], bool]) -> bool:
    """Return whether most of the first labels are such."""
    some = [label for label in labels[:LOOKED_AT] if isinstance(label, str)]
    return sum(map(such, some)) > len(some) / 2


def is_sentence(label: str) -> bool:
    """Return whether a label is a text of several words."""
    unspaced = sum("\u3040" <= sign <= "\u9fff" for sign in label[: 4 * UNSPACED])
    return unspaced >= UNSPACED or len(label.split(None, SEVERAL)) >= SEVERAL


def is_amount(label: str) -> bool:
    """Return whether a label is a measurement, a date or a time; digits alone may as well be a number of a record.

    >>> [is_amount(label) for label in ("$62.39", "41.11 €", "34.1%", "12 kg", "2020-01-31", "9:30 am")]
    [True, True, True, True, True, True]
    >>> [is_amount(label) for label in ("A00312", "000312", "7f3a", "Smith", "k7")]
    [False, False, False, False, False]
    """
    text = label.strip()
    if text.isdigit() or not any(sign.isdigit() for sign in text):
        return False
    return AMOUNT.fullmatch(text) is not None or MOMENT.fullmatch(text) is not None


# -- what is said of columns -------------------------------------------------------------------------------------------


def subject_of(names: Sequence[str]) -> str:
    """Return columns as the subject of a sentence: a single one by name, of many how many and the first few.

    >>> subject_of(["a"]), subject_of(["a", "b"]), subject_of(["a", "b", "c", "d"])
    ("'a'", "2 columns ('a', 'b')", "4 columns ('a', 'b', 'c', …)")
    """
    return f"{names[0]!r}" if len(names) == 1 else f"{len(names):,} columns ({name_list(names)})"


def families_as(names: Sequence[str], family: str) -> Setting:
    """Return the setting that takes columns as another family."""
    return Setting("families", dict.fromkeys(names[:SHOWN], family), more=len(names) > SHOWN)


def remark_empty(names: Sequence[str]) -> Message:
    """Say that columns hold nothing."""
    one = len(names) == 1
    return Message(
        f"{subject_of(names)} {'holds' if one else 'hold'} nothing: every cell is missing, so that "
        f"{'it contributes' if one else 'they contribute'} nothing to predictions."
    )


def remark_constant(names: Sequence[str]) -> Message:
    """Say that columns hold the same in every row."""
    one = len(names) == 1
    return Message(
        f"{subject_of(names)} {'holds' if one else 'hold'} the same value in every row, and {'has' if one else 'have'} "
        "no information on the class."
    )


def remark_found(remark: Message, names: Sequence[str]) -> Message:
    """Say what was found in a single column."""
    return remark


def remark_sentences(names: Sequence[str]) -> Message:
    """Say that columns hold texts, and how their words are counted."""
    return Message(
        f"{subject_of(names)} {'holds' if len(names) == 1 else 'hold'} texts of several words, and each is taken as a "
        "whole, which hardly predicts anything. To count their words: ",
        families_as(names, "words"),
        ".",
    )


def remark_amounts(names: Sequence[str]) -> Message:
    """Say that columns hold amounts or times that are taken as labels."""
    return Message(
        f"{subject_of(names)} {'holds' if len(names) == 1 else 'hold'} what looks like amounts, dates or times written "
        "as text, which is taken as labels, and almost every row has one of its own; convert them to numbers or dates."
    )


def remark_identifiers(names: Sequence[str]) -> Message:
    """Say that columns hold what only names rows."""
    one = len(names) == 1
    own, them = ("has a value of its own", "it") if one else ("have a value of their own", "them")
    return Message(
        f"{subject_of(names)} {own} in almost every row, as identifiers have, which predicts nothing for other rows; "
        f"ignore {them}: ",
        IgnoredColumns(names[:SHOWN], len(names) > SHOWN),
        ".",
    )


# -- remarks on cells --------------------------------------------------------------------------------------------------


# How the note begins on texts that were read as missing values.
READ_AS_MISSING = "Read as missing: "
# So many labels are looked at, and so many names listed; labels are almost numbers if so many of the rows hold one.
SHOWN, ALMOST = 3, 0.9
# So few other texts are marks rather than labels, up to half of the cells: most of them are numbers still.
FEW_OTHERS, HALF = 3, 0.5


def about_cells(
    schema: Schema, found: TextsReadAsMissing, decimal: str | None = None, thousands: str | None = None
) -> list[Message]:
    """Return notes on numbers that are written as nobody said they were, and on texts that were read as missing."""
    odd = ((c.name, c.written) for c in schema if c.type in ("whole", "number") and c.written and not c.written.plain)
    remarks = [
        Message(
            f"{name!r} holds numbers written as {written}, and they are read as numbers; to take them as labels: ",
            Setting("families", {name: "categorical"}),
            ".",
        )
        for name, written in odd
        if not replace(
            written,
            decimal="." if written.decimal == decimal else written.decimal,
            thousands="" if written.thousands == thousands else written.thousands,
        ).plain
    ]
    missing = about_missing(found)
    return remarks if missing is None else [*remarks, missing]


def about_missing(found: TextsReadAsMissing) -> Message | None:
    """Return a remark on texts that were read as missing, if they are not those that everybody knows."""
    names = {text: [name for name, none in found.items() if text in none] for text in missing_texts(found)}
    told = [
        f"{text!r} ({times:,} {'cell' if times == 1 else 'cells'} of {name_list(names[text], ' columns')})"
        for text, times in missing_texts(found).items()
        if text not in OF_CLASSES
    ]
    if not told:
        return None
    return Message(
        f"{READ_AS_MISSING}{', '.join(told)}; in files, ",
        Setting("null", ANY_VALUE),
        " sets which texts are, and no others.",
    )


def missing_texts(found: TextsReadAsMissing) -> Counter[str]:
    """Return how often each text was read as missing, the most frequent first."""
    every: Counter[str] = sum(found.values(), Counter())
    return Counter(dict(every.most_common()))


def name_list(names: Sequence[str], what: str | None = None) -> str:
    """Return a few names; how many more there are, if it is said of what.

    >>> name_list(["a", "b", "c", "d"]), name_list(["a", "b", "c", "d"], " columns")
    ("'a', 'b', 'c', …", "'a', 'b', 'c' and 1 more columns")
    """
    more = ", …" if what is None else f" and {len(names) - SHOWN} more{what}"
    return ", ".join(map(repr, names[:SHOWN])) + (more if len(names) > SHOWN else "")


def unclear_numbers(name: str, labels: list[Label], seen: Floats) -> Message | None:
    """Return a note on labels that may be numbers: all of them, in two ways, or almost all of them in one."""
    some = [(label, n) for label, n in zip(labels, seen.tolist(), strict=True) if isinstance(label, str) and n]
    some = [(label, n) for label, n in some[:LOOKED_AT] if not is_no_number(label, USUAL)]
    numbers = [label for label, _ in some if LIKELY.fullmatch(label)]
    if not numbers:
        return None
    if len(numbers) == len(some) and isinstance(result := notation(arrow_strings(numbers)), Unclear):
        return Message(
            f"{name!r} holds numbers such as {result.example!r}, and nothing shows what {result.sign!r} means, so that "
            "they are taken as labels. Convert the column, or read the file with ",
            Setting("thousands", result.sign),
            " or ",
            Setting("decimal", result.sign),
        )
    plain = [(label, n) for label, n in some if number_from(label, USUAL) is None]
    if any(LIKELY.fullmatch(label) for label, _ in plain):
        return None  # codes such as 00123, or notations that do not agree
    share = HALF if len(plain) <= FEW_OTHERS else 1 - ALMOST
    if plain and sum(n for _, n in plain) <= share * sum(n for _, n in some) and len(numbers) > 1:
        others = [label for label, _ in plain]
        return Message(
            f"{name!r} holds numbers, but also {name_list(others, '')}, and is taken as labels. If those stand for "
            "missing values: ",
            MissingTexts(others[:SHOWN], len(others) > SHOWN),
            "; if they are mistakes, correct them.",
        )
    return None
