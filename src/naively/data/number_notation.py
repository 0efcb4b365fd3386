"""Numbers as people write them, $1,234.50 or 34,1 % or (12): how a column writes them, and what they are."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from .cell_format import CellFormat

# Units that say what is measured, not how much: the number is the same without them. 34.1 % is read as 34.1.
CURRENCIES = r"[$€£¥₹₽₩₺₴₫₪₱₦฿]|US\$|R\$|USD|EUR|GBP|CHF|JPY|CNY|INR"
UNITS = rf"{CURRENCIES}|[%‰]"
# Blanks within numbers: plain, without a break, narrow, thin.
BLANK = "[ \u00a0\u202f\u2009]"
BLANKS = "[\\s\u00a0\u202f\u2009]*"
WITHIN = "[()\\s\u00a0\u202f\u2009]"  # what is left of a notation when units and groups are gone
SIGN = "[+\u2212-]"  # the true minus, too
GROUPS = {",": ",", ".": r"\.", " ": BLANK, "'": "['\u2019]"}
# Whatever may be a number in some notation: a quick test before the slow ones.
LIKELY = re.compile(
    rf"{BLANKS}\(?{BLANKS}{SIGN}?{BLANKS}(?P<prefix>(?:{UNITS}){BLANKS})?{SIGN}?"
    rf"(?P<core>[.,]?\d(?:[\d.,'\u2019]|{BLANK}(?=\d))*(?:[eE][+-]?\d+)?|(?i:inf|infinity))"
    rf"(?P<suffix>{BLANKS}(?:{UNITS}))?{BLANKS}\)?{BLANKS}",
    re.ASCII,
)


class Unclear(NamedTuple):
    """Numbers that may mean two things, such as 1,234."""

    example: str
    sign: str  # that is either the decimal sign or groups thousands


@lru_cache(maxsize=256)
def grammar(written: CellFormat) -> str:
    """Return the regular expression of a number that is written so; all of it lies between ^ and $."""
    point = re.escape(written.decimal)
    whole = r"0|[1-9]\d*"
    if written.thousands:
        whole = rf"{whole}|[1-9]\d{{0,2}}(?:{GROUPS[written.thousands]}\d{{3}})+"
    core = rf"(?:(?:{whole})(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?|(?i:inf(?:inity)?)"
    unit, behind = (re.escape(part.strip()) for part in (written.prefix, written.suffix))
    before = rf"(?:{SIGN}?{BLANKS}{unit}{BLANKS}|{unit}{BLANKS}{SIGN})" if unit else f"{SIGN}?"
    behind = f"{BLANKS}{behind}" if behind else ""
    inner = f"{unit}{BLANKS}" if unit else ""
    return rf"^{BLANKS}(?:{before}(?:{core}){behind}|\({BLANKS}{inner}(?:{core}){behind}{BLANKS}\)){BLANKS}$"


# Numbers with a point that groups no thousands, whatever a point means elsewhere: 1.234 may, 1.2 and 1234.5 do not.
POINTED = rf"^{BLANKS}{SIGN}?(?:0\.\d+|[1-9]\d*\.(?:\d{{1,2}}|\d{{4,}})|[1-9]\d{{3,}}\.\d+){BLANKS}$"


@lru_cache(maxsize=256)
def readable_grammar(written: CellFormat) -> str:
    """Return the regular expression of what is read in a column whose numbers are written so: plain numbers as well.

    A unit may be left out, but not a percent sign: what is 34.1 with it may be 0.341 without. Where a comma comes
    before fractions, 1.234 may mean two things and is none.
    """
    own = grammar(written)
    if written.plain or (written.prefix + written.suffix).strip() in ("%", "‰"):
        return own
    if written.decimal == ".":
        return f"{own}|{grammar(replace(written, prefix='', suffix=''))}"
    return f"{own}|{grammar(replace(written, prefix='', suffix='', thousands=''))}|{POINTED}"


@lru_cache(maxsize=256)
def compiled(written: CellFormat) -> re.Pattern[str]:
    """Return the same for a single text."""
    return re.compile(readable_grammar(written), re.ASCII)


def are_numbers(texts: pa.Array, written: CellFormat) -> pa.Array:
    """Return which texts of an Arrow array are numbers that are written so."""
    return pc.match_substring_regex(texts, grammar(written))


def are_readable(texts: pa.Array, written: CellFormat) -> pa.Array:
    """Return which texts of an Arrow array are read as numbers in a column whose numbers are written so."""
    return pc.match_substring_regex(texts, readable_grammar(written))


def numbers_from(texts: pa.Array, written: CellFormat) -> pa.Array:
    """Return texts that are numbers written so, or plain ones, as float64."""
    if written.decimal == ",":
        pointed = pc.match_substring_regex(texts, POINTED)
        if pc.any(pointed).as_py():
            absent = pa.nulls(len(texts), texts.type)
            own = numbers_as(pc.if_else(pointed, absent, texts), written)
            return pc.coalesce(own, floats(pc.if_else(pointed, texts, absent)))
    return numbers_as(texts, written)


def numbers_as(texts: pa.Array, written: CellFormat) -> pa.Array:
    """Return texts that are numbers written so as float64."""
    if not written.plain:
        below = pc.starts_with(pc.utf8_trim_whitespace(texts), "(")
        for unit in filter(None, (written.prefix.strip(), written.suffix.strip())):
            texts = pc.replace_substring(texts, unit, "")
        if written.thousands:
            texts = pc.replace_substring_regex(texts, GROUPS[written.thousands], "")
        texts = pc.replace_substring(texts, written.decimal, ".") if written.decimal != "." else texts
        texts = pc.replace_substring_regex(texts, WITHIN, "")
        numbers = floats(texts)
        return pc.if_else(below, pc.negate(numbers), numbers)
    return floats(texts)


def floats(texts: pa.Array) -> pa.Array:
    """Return texts that are plain numbers as float64."""
    texts = pc.replace_substring(pc.utf8_trim_whitespace(texts), "\u2212", "-")
    try:
        return texts.cast(pa.float64())
    except pa.ArrowInvalid:  # too large for a float: Python says infinity
        return pa.array([None if text is None else float(text) for text in texts.to_pylist()], pa.float64())


def number_from(text: str, written: CellFormat) -> float | None:
    """Return the number that a single text is, None if it is not written so."""
    if compiled(written).fullmatch(text) is None:
        return None
    pointed = written.decimal == "," and re.fullmatch(POINTED, text, re.ASCII) is not None
    if not written.plain and not pointed:
        below = text.strip().startswith("(")
        for unit in filter(None, (written.prefix.strip(), written.suffix.strip())):
            text = text.replace(unit, "")
        if written.thousands:
            text = re.sub(GROUPS[written.thousands], "", text)
        text = ("-" if below else "") + re.sub(WITHIN, "", text.replace(written.decimal, "."))
    return float(text.strip().replace("\u2212", "-"))


# -- which notation a column has ---------------------------------------------------------------------------------------


def notation(texts: pa.Array, decimal: str | None = None, thousands: str | None = None) -> CellFormat | Unclear | None:
    """Return how all of these texts, an Arrow array without nulls, are numbers; what is unclear, if two ways fit.

    The unit must be the same in all cells. What a comma or a point is, all cells decide together: 1,23 or 12,3456 says
    that it is the decimal sign, 1,234,567 or 1,234.5 that it groups thousands; where there is only 1,234, nobody knows.
    """
    first = LIKELY.fullmatch(texts[0].as_py())
    if first is None:
        return None
    prefix, suffix = ((first[side] or "") for side in ("prefix", "suffix"))
    if prefix and suffix:
        return None
    below = bool(pc.any(pc.match_substring(texts, "(")).as_py())
    styles = [
        CellFormat(None, point, group, prefix, suffix, below)
        for group, point in signs(texts, decimal)
        if decimal in (None, point) and (thousands in (None, group) or not group) and point != thousands
    ]
    fit = [style for style in styles if all_are(texts, style) and (thousands or is_grouping(texts, style))]
    if len(fit) > 1 and not is_settled(fit):
        sign = fit[0].decimal if fit[0].decimal == fit[1].thousands else fit[1].decimal
        return Unclear(texts[0].as_py() if sign in texts[0].as_py() else example(texts, sign), sign)
    return fit[0] if fit else None


def signs(texts: pa.Array, decimal: str | None) -> list[tuple[str, str]]:
    """Return what may group thousands and what may come before fractions, by the signs that occur."""
    there = {sign for sign, form in GROUPS.items() if pc.any(pc.match_substring_regex(texts, rf"\d{form}\d")).as_py()}
    points = "".join(sorted(there & {",", "."}))
    blank = "".join(there - {",", "."})
    if len(blank) > 1 or (blank and len(points) > 1):
        return []
    if blank:
        return [(blank, points or decimal or ".")]
    usual = {"": [("", decimal or ".")], ".": [("", "."), (".", ",")], ",": [("", ","), (",", ".")]}
    return usual.get(points, [(",", "."), (".", ",")])


def all_are(texts: pa.Array, written: CellFormat) -> bool:
    """Return whether all texts are numbers that are written so."""
    return bool(pc.all(are_numbers(texts, written)).as_py())


def is_grouping(texts: pa.Array, written: CellFormat) -> bool:
    """Return whether a sign groups thousands rather than the digits of numbers that name something.

    Numbers of telephones, accounts and persons are grouped, too, but all alike and without fractions. A comma is not
    used for that.
    """
    if written.thousands in ("", ","):
        return True
    if bool(pc.any(pc.match_substring_regex(texts, r"^\s*\+")).as_py()):
        return False
    groups = pc.count_substring_regex(texts, GROUPS[written.thousands] + r"\d")
    return bool(pc.any(pc.match_substring(texts, written.decimal)).as_py()) or len(pc.unique(groups)) > 1


def is_settled(fit: list[CellFormat]) -> bool:
    """Return whether of two ways that fit the first is meant: a point before fractions, unless it may group money."""
    money = re.fullmatch(CURRENCIES, (fit[0].prefix + fit[0].suffix).strip()) is not None
    return fit[0].decimal == "." and not fit[0].thousands and not money


def example(texts: pa.Array, sign: str) -> str:
    """Return the first text with such a sign."""
    return str(texts.filter(pc.match_substring(texts, sign))[0].as_py())
