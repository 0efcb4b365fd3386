"""How the cells of a column are written: which texts stand for no value, and how numbers look.

Numbers may be written as people do it: $1,234.50 or 34,1 % or (12).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from .._types import AnyArray, Json, JsonObject


@dataclass(frozen=True)
class CellFormat:
    """How cells that are texts are read, decided once for a column and kept with the model.

    `missing` are the texts that stand for no value; None means the usual ones (`EXACT`, `AMONG_NUMBERS`). The rest says
    how numbers look: the decimal sign, what groups thousands, a unit before or behind, parentheses for numbers below 0.

    >>> print(CellFormat(thousands=",", prefix="$"))
    $1,234.5
    >>> CellFormat.from_json(CellFormat(suffix=" €", decimal=",").to_json()).suffix
    ' €'
    """

    missing: tuple[str, ...] | None = None
    decimal: str = "."
    thousands: str = ""
    prefix: str = ""
    suffix: str = ""
    parentheses: bool = False

    @property
    def plain(self) -> bool:
        """Whether numbers are written as programs write them."""
        return not (self.thousands or self.prefix or self.suffix or self.parentheses) and self.decimal == "."

    def __str__(self) -> str:
        number = f"{self.prefix}1{self.thousands}234{self.decimal}5{self.suffix}"
        return f"({number})" if self.parentheses else number

    def to_json(self) -> JsonObject:
        """Return what differs from the usual, as plain data."""
        usual = asdict(USUAL)
        own = {name: value for name, value in asdict(self).items() if value != usual[name]}
        return own | {"missing": list(self.missing)} if self.missing is not None else own

    @classmethod
    def from_json(cls, data: Mapping[str, Json]) -> CellFormat:
        """Return what to_json described."""
        missing = data.get("missing")
        return cls(**{**data, "missing": None if missing is None else tuple(missing)})


USUAL = CellFormat()


# In the column of the classes, and in texts whose words are counted: there most words are meant.
OF_CLASSES = ("", "NA", "N/A", "NaN", "null", "?")
# In any other column, spelled exactly so: what pandas reads as missing (`pandas.read_csv`), and "?" of the UCI archive.
EXACT = (
    *OF_CLASSES,
    *("n/a", "nan", "NULL", "None", "<NA>", "#N/A", "#N/A N/A", "#NA"),
    *("-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)
# Where all other cells are numbers or times: the same in any case, with blanks around, and what is no label there.
AMONG_NUMBERS = (
    *EXACT,
    *("-", "--", "–", "—", ".", "..", "unknown", "missing", "n.a.", "nil"),
    *("#DIV/0!", "#NUM!", "#REF!", "#VALUE!"),  # errors of spreadsheets
)
LOOSE = frozenset(text.casefold() for text in AMONG_NUMBERS)

# Among the texts that someone names: the usual ones, too. No cell is that.
AND_USUAL = "\x01usual"


def named_texts(missing: tuple[str, ...] | None, usual: tuple[str, ...]) -> tuple[str, ...]:
    """Return the texts that stand for no value, given those that someone named and the usual ones."""
    names = (AND_USUAL,) if missing is None else missing
    return tuple(text for name in names for text in (usual if name == AND_USUAL else (name,)))


def names_of_classes(missing: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the texts that stand for no value in the column of the classes."""
    return named_texts(missing, OF_CLASSES)


def exact_names(written: CellFormat | None) -> tuple[str, ...]:
    """Return the texts that stand for no value in a column of labels; none if nothing is said about it."""
    return () if written is None else named_texts(written.missing, EXACT)


def is_no_number(text: str, written: CellFormat) -> bool:
    """Return whether a text stands for no value in a column of numbers or times."""
    trimmed, named = text.strip(), written.missing or ()
    usual = written.missing is None or AND_USUAL in named
    return (usual and trimmed.casefold() in LOOSE) or text in named or trimmed in named


def without_value(texts: pa.Array, written: CellFormat, *, loose: bool) -> pa.Array:
    """Return which texts of an Arrow array stand for no value; those of numbers and times are compared loosely."""
    if not loose:
        return is_one_of(texts, exact_names(written))
    trimmed, named = pc.utf8_trim_whitespace(texts), written.missing or ()
    usual = tuple(LOOSE) if written.missing is None or AND_USUAL in named else ()
    result = is_one_of(pc.utf8_lower(trimmed), usual)
    return pc.or_(result, pc.or_(is_one_of(texts, named), is_one_of(trimmed, named))) if named else result


def is_one_of(texts: pa.Array, names: tuple[str, ...]) -> pa.Array:
    """Return which texts of an Arrow array are among some."""
    return pc.is_in(texts, value_set=arrow_names(names, texts.type), skip_nulls=True)


@lru_cache(maxsize=64)
def arrow_names(names: tuple[str, ...], kind: pa.DataType) -> pa.Array:
    """Return texts as an Arrow array of a type of texts."""
    return arrow_strings(names).cast(kind)


def tally(texts: pa.Array, holds_none: pa.Array | None = None) -> Counter[str]:
    """Return how often each text that stands for no value occurs, given which do; an empty cell is ''."""
    result = Counter({"": texts.null_count} if texts.null_count else {})
    if holds_none is not None and pc.any(holds_none).as_py():
        for pair in pc.value_counts(texts.filter(holds_none)).to_pylist():
            result[pair["values"].strip()] += pair["counts"]
    return result


# -- numbers as people write them -----------------------------------------------------------------------------------

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


def numbers_from(texts: pa.Array, written: CellFormat) -> pa.Array:
    """Return texts that are numbers written so, or plain ones, as float64."""
    pointed = pc.match_substring_regex(texts, POINTED) if written.decimal == "," else None
    if pointed is not None and pc.any(pointed).as_py():
        absent = pa.nulls(len(texts), texts.type)
        own = numbers_as(pc.if_else(pointed, absent, texts), written)
        return pc.coalesce(own, numbers_as(pc.if_else(pointed, texts, absent), USUAL))
    return numbers_as(texts, written)


def numbers_as(texts: pa.Array, written: CellFormat) -> pa.Array:
    """Return texts that are numbers written so as float64."""
    below = pc.starts_with(pc.utf8_trim_whitespace(texts), "(")
    if not written.plain:
        for unit in filter(None, (written.prefix.strip(), written.suffix.strip())):
            texts = pc.replace_substring(texts, unit, "")
        if written.thousands:
            texts = pc.replace_substring_regex(texts, GROUPS[written.thousands], "")
        texts = pc.replace_substring_regex(pc.replace_substring(texts, written.decimal, "."), WITHIN, "")
    texts = pc.replace_substring(pc.utf8_trim_whitespace(texts), "\u2212", "-")
    try:
        numbers = texts.cast(pa.float64())
    except pa.ArrowInvalid:  # too large for a float: Python says infinity
        numbers = pa.array([None if text is None else float(text) for text in texts.to_pylist()], pa.float64())
    return numbers if written.plain else pc.if_else(below, pc.negate(numbers), numbers)


def number_from(text: str, written: CellFormat) -> float | None:
    """Return the number that a single text is, None if it is not written so."""
    if re.fullmatch(readable_grammar(written), text, re.ASCII) is None:
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
    fit = []
    for style in styles:
        fits = pc.all(pc.match_substring_regex(texts, grammar(style))).as_py()
        if fits and (thousands or is_grouping(texts, style)):
            fit.append(style)
    # A point comes before fractions, unless it may group money.
    money = re.fullmatch(CURRENCIES, (prefix + suffix).strip()) is not None
    if len(fit) > 1 and (money or fit[0].thousands or fit[0].decimal != "."):
        sign = fit[0].decimal if fit[0].decimal == fit[1].thousands else fit[1].decimal
        return Unclear(texts.filter(pc.match_substring(texts, sign))[0].as_py(), sign)
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


# -- arrow arrays to and from NumPy and Python by their buffers --------------------------------------------------------


def numpy_values(array: pa.Array, kind: npt.DTypeLike) -> AnyArray:
    """Return the numbers of an Arrow array that has no nulls, without a copy and without importing pandas."""
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    data = array.buffers()[1]
    if data is None or not len(array):
        return np.empty(0, dtype=kind)
    return np.frombuffer(data, dtype=kind)[array.offset : array.offset + len(array)]


def numpy_floats(array: pa.Array) -> AnyArray:
    """Return the numbers of an Arrow array as NumPy's; NaN where there is none."""
    if array.null_count or array.type != pa.float64():
        return np.asarray(array.to_numpy(zero_copy_only=False))
    return numpy_values(array, np.float64)


def numpy_integers(array: pa.Array) -> AnyArray:
    """Return the whole numbers of an Arrow array, such as the indices of a dictionary, as NumPy's."""
    kinds = {pa.int8(): np.int8, pa.int32(): np.int32, pa.int64(): np.int64}
    if array.null_count or array.type not in kinds:
        return np.asarray(array.to_numpy(zero_copy_only=False))
    return numpy_values(array, kinds[array.type])


def numpy_flags(array: pa.Array) -> AnyArray:
    """Return the flags of an Arrow array that has no nulls."""
    return numpy_values(array.cast(pa.uint8()), np.uint8).astype(np.bool_)


def arrow_places(places: AnyArray) -> pa.Array:
    """Return whole numbers of 64 bits as an Arrow array, without a copy."""
    return pa.Array.from_buffers(pa.int64(), len(places), [None, pa.py_buffer(np.ascontiguousarray(places, np.int64))])


def arrow_strings(texts: Sequence[str | None]) -> pa.Array:
    """Return strings as an Arrow array of large strings; one that is no valid Unicode is a UnicodeEncodeError."""
    if None in texts:
        return pa.array(texts, pa.large_string())
    data = [text.encode() for text in texts if text is not None]
    ends = np.cumsum([0, *map(len, data)], dtype=np.int64)
    return pa.LargeStringArray.from_buffers(len(data), pa.py_buffer(ends), pa.py_buffer(b"".join(data)))


def arrow_choices(labels: AnyArray) -> pa.Array:
    """Return labels of any type as an Arrow array."""
    if labels.dtype == np.int64:
        return arrow_numbers(labels)
    values = labels.tolist()
    texts = all(type(value) is str for value in values)
    return arrow_strings(values).cast(pa.string()) if texts else pa.array(values)


def arrow_text(text: str) -> pa.Scalar:
    """Return one string as Arrow's functions take it."""
    return arrow_strings([text])[0]


def arrow_numbers(values: AnyArray, missing: AnyArray | None = None) -> pa.Array:
    """Return numbers of NumPy as an Arrow array of their type, null where they are missing."""
    if missing is not None and missing.any():
        return pa.array(values, mask=missing)
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])
