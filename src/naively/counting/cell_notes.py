"""Remarks on cells: numbers that are written in some other way, texts that were read as missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from .._types import Floats, Label
from ..data.arrow_arrays import arrow_strings
from ..data.cell_format import LIKELY, OF_CLASSES, USUAL, Unclear, is_no_number, notation, number_from
from ..data.schema import Schema
from ..errors.message import ANY_VALUE, Message, MissingTexts, Setting
from ..files.columns import TextsReadAsMissing

# How the note begins on texts that were read as missing values.
READ_AS_MISSING = "Read as missing: "
# So many labels are looked at, and so many names listed; labels are almost numbers if so many of the rows hold one.
LOOKED_AT, SHOWN, ALMOST = 10_000, 3, 0.9
# So few other texts are marks rather than labels, up to half of the cells: most of them are numbers still.
FEW, HALF = 3, 0.5


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
    if len(numbers) == len(some) and isinstance(found := notation(arrow_strings(numbers)), Unclear):
        return Message(
            f"{name!r} holds numbers such as {found.example!r}, and nothing shows what {found.sign!r} means, so that "
            "they are taken as labels. Convert the column, or read the file with ",
            Setting("thousands", found.sign),
            " or ",
            Setting("decimal", found.sign),
        )
    plain = [(label, n) for label, n in some if number_from(label, USUAL) is None]
    if any(LIKELY.fullmatch(label) for label, _ in plain):
        return None  # codes such as 00123, or notations that do not agree
    share = HALF if len(plain) <= FEW else 1 - ALMOST
    if plain and sum(n for _, n in plain) <= share * sum(n for _, n in some) and len(numbers) > 1:
        others = [label for label, _ in plain]
        return Message(
            f"{name!r} holds numbers, but also {name_list(others, '')}, and is taken as labels. If those stand for "
            "missing values: ",
            MissingTexts(others[:SHOWN], len(others) > SHOWN),
            "; if they are mistakes, correct them.",
        )
    return None
