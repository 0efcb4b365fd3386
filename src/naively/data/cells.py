"""Cells that are texts → values: what a column of them holds, and each cell as that."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .cell_format import AND_USUAL, LOOSE, USUAL, CellFormat, exact_names, is_no_number, names_of_classes
from .number_notation import LIKELY, Unclear, are_readable, notation, number_from, numbers_from

TIMES = {
    "DATE": r"^\d{4}-\d{2}-\d{2}$",
    "TIMESTAMP": r"^\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?)?$",
    "TIMESTAMPTZ": r"^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}(:?\d{2})?)$",
}
ARROW: dict[str, pa.DataType] = {
    "BOOLEAN": pa.bool_(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us"),
    "TIMESTAMPTZ": pa.timestamp("us", "UTC"),
}
NUMBERS = ("BIGINT", "DOUBLE")
# Cells of a column that show at once that it holds labels.
FEW = 100
TEXT = frozenset({"VARCHAR"})


class CellType(NamedTuple):
    """What the cells of a column are read as: a type of DuckDB, and how they are written."""

    kind: str
    written: CellFormat = USUAL


class TypeGuess(NamedTuple):
    """What all cells of a column can be read as; nothing, if there are none."""

    kinds: frozenset[str]
    strict: frozenset[str]  # the same if the column is the target: nothing but plain cells and the names of old
    written: CellFormat

    def beside(self, other: TypeGuess) -> TypeGuess:
        """Return what the cells of both can be read as."""
        if not self.kinds or not other.kinds:
            return self if self.kinds else other
        strict = self.strict & other.strict
        if self.written == other.written:
            return TypeGuess(self.kinds & other.kinds, strict, self.written)
        return TypeGuess(TEXT, strict, CellFormat(self.written.missing))


class NotRead(Exception):  # told to whoever knows the place
    """A cell that is not what its column holds."""

    def __init__(self, row: int, text: str) -> None:
        super().__init__(row, text)
        self.row, self.text = row, text


# -- what a column holds -----------------------------------------------------------------------------------------------


def guess_type(
    texts: pa.Array, missing: tuple[str, ...] | None = None, decimal: str | None = None, thousands: str | None = None
) -> TypeGuess:
    """Return what all texts of an Arrow array, or of a chunked one, can be read as."""
    there, written = texts.drop_null() if texts.null_count else texts, CellFormat(missing)
    if not len(there):
        return TypeGuess(frozenset(), frozenset(), written)
    if (kinds := plain_kinds(there)) and (decimal != "," or "BIGINT" in kinds):
        return TypeGuess(kinds, kinds, written)
    if not may_be_numbers(there.slice(0, FEW).to_pylist(), written):
        return TypeGuess(TEXT, TEXT, written)
    dropped = without_value(there, written, loose=True)
    rest = pc.utf8_trim_whitespace(there.filter(pc.invert(dropped)))
    if not len(rest):
        return only_missing(there, written)
    strict = is_strict(there, rest, dropped, missing)
    if (kinds := plain_kinds(rest)) and (decimal != "," or "BIGINT" in kinds):
        return TypeGuess(kinds, kinds if strict else TEXT, written)
    if kinds := times(rest) or booleans(there, written):
        return TypeGuess(kinds, kinds if strict else TEXT, written)
    found = notation(rest, decimal, thousands)
    if not isinstance(found, CellFormat):
        return TypeGuess(TEXT, TEXT, written)
    kinds = TEXT | {"DOUBLE"} | ({"BIGINT"} if are_whole(numbers_from(rest, found)) else set())
    comma = decimal == "," == found.decimal and replace(found, decimal=".").plain  # as it was said
    return TypeGuess(kinds, kinds if strict and comma else TEXT, replace(found, missing=missing))


def plain_kinds(texts: pa.Array) -> frozenset[str]:
    """Return which numbers all texts are, as programs write them; nothing that begins with a zero, as names do."""
    try:
        numbers = texts.cast(pa.float64())
    except pa.ArrowInvalid:
        return frozenset()
    if pc.any(pc.is_nan(numbers)).as_py() or pc.any(pc.match_substring_regex(texts, r"^[+-]?0\d")).as_py():
        return frozenset()
    try:
        texts.cast(pa.int64())
    except pa.ArrowInvalid:
        return TEXT | {"DOUBLE"}
    return TEXT | {"DOUBLE", "BIGINT"}


def are_whole(numbers: pa.Array) -> bool:
    """Return whether all numbers are whole, and none too large for that."""
    try:
        numbers.cast(pa.int64())
    except pa.ArrowInvalid:
        return False
    return True


def may_be_numbers(some: list[str], written: CellFormat) -> bool:
    """Return whether some texts look like numbers, times or booleans, or stand for no value; soon no, for labels."""
    return all(
        LIKELY.fullmatch(text)
        or is_no_number(text, written)
        or text.strip()[:10].replace("-", "").isdecimal()
        or text.lower() in ("true", "false")
        for text in some
    )


def only_missing(texts: pa.Array, written: CellFormat) -> TypeGuess:
    """Return the guess about texts that would all stand for no value, were there numbers: labels, if some may be."""
    exact = pc.all(without_value(texts, written, loose=False)).as_py()
    kinds = frozenset() if exact else TEXT
    return TypeGuess(kinds, kinds if named_of_old(texts, written.missing) else TEXT, written)


def is_strict(texts: pa.Array, trimmed: pa.Array, dropped: pa.Array, missing: tuple[str, ...] | None) -> bool:
    """Return whether cells are read strictly: without blanks around, and with few names for missing values."""
    raw = texts.filter(pc.invert(dropped))
    return bool(pc.all(pc.equal(raw, trimmed)).as_py()) and named_of_old(texts.filter(dropped), missing)


def named_of_old(texts: pa.Array, missing: tuple[str, ...] | None) -> bool:
    """Return whether all texts stand for no value in the column of the classes, too."""
    old = CellFormat(names_of_classes(missing))
    return not len(texts) or bool(pc.all(without_value(texts, old, loose=False)).as_py())


def times(texts: pa.Array) -> frozenset[str]:
    """Return which times all texts are; what looks like a day may be none: 2023-02-29."""
    found = {kind for kind, form in TIMES.items() if pc.all(pc.match_substring_regex(texts, form)).as_py()}
    for kind in tuple(found):
        try:
            parsed_times(texts, kind)
        except pa.ArrowInvalid:
            found.discard(kind)
    return TEXT | found if found else frozenset()


def booleans(texts: pa.Array, written: CellFormat) -> frozenset[str]:
    """Return whether all texts are true or false, in small letters, in large ones or with a large first."""
    rest = texts.filter(pc.invert(without_value(texts, written, loose=False)))
    are = len(rest) and pc.all(pc.match_substring_regex(rest, r"^(true|false|True|False|TRUE|FALSE)$")).as_py()
    return TEXT | {"BOOLEAN"} if are else frozenset()


# -- each cell as what its column holds --------------------------------------------------------------------------------


def convert_cells(texts: pa.Array, cell: CellType) -> tuple[pa.Array, Counter[str]]:
    """Return texts as values of a type, and how often each text stood for none; one that is neither is `NotRead`."""
    kind, written = cell
    if kind in NUMBERS and written.plain and (plain := convert_plain(texts, kind)) is not None:
        return plain, tally(texts)
    dropped = without_value(texts, written, loose=kind not in ("VARCHAR", "TEXT", "BOOLEAN"))
    found = tally(texts, dropped)
    rest = pc.if_else(dropped, pa.nulls(len(texts), texts.type), texts) if pc.any(dropped).as_py() else texts
    if kind in NUMBERS:
        refuse_text(rest, are_readable(rest, written))
        numbers = numbers_from(rest, written)
        return (numbers if kind == "DOUBLE" else whole_numbers(rest, numbers)), found
    if kind == "BOOLEAN":
        small = pc.utf8_lower(rest)
        refuse_text(rest, pc.or_(is_one_of(small, ("true", "false")), pc.is_null(small)))
        return small.cast(pa.bool_()), found
    return (times_in(rest, kind) if kind in TIMES else rest), found


def convert_plain(texts: pa.Array, kind: str) -> pa.Array:
    """Return texts as numbers, if all of them are plain ones; what begins with a zero is none, as in `plain_kinds`."""
    try:
        numbers = texts.cast(ARROW[kind])
    except pa.ArrowInvalid:
        return None
    zeros = texts.filter(pc.or_(pc.starts_with(texts, "0"), pc.starts_with(texts, "-0")))  # most are not, and soon seen
    if pc.any(pc.match_substring_regex(zeros, r"^-?0\d")).as_py():
        return None
    return None if kind == "DOUBLE" and pc.any(pc.is_nan(numbers)).as_py() else numbers


def refuse_text(texts: pa.Array, fine: pa.Array) -> None:
    """Refuse the first text that is not fine; of one that is not there nothing is known."""
    if pc.all(fine).as_py() is False:
        row = pc.index(fine, False).as_py()
        raise NotRead(row, texts[row].as_py())


def whole_numbers(texts: pa.Array, numbers: pa.Array) -> pa.Array:
    """Return whole numbers as such."""
    try:
        return pc.utf8_trim_whitespace(texts).cast(pa.int64())  # to the last digit
    except pa.ArrowInvalid:
        pass
    if not are_whole(numbers):
        refuse_text(texts, pc.and_(pc.equal(pc.floor(numbers), numbers), pc.less(pc.abs(numbers), pa.scalar(2.0**63))))
    return numbers.cast(pa.int64())


def times_in(texts: pa.Array, kind: str) -> pa.Array:
    """Return texts as times, if they are."""
    texts = pc.utf8_trim_whitespace(texts)
    refuse_text(texts, pc.match_substring_regex(texts, TIMES[kind]))
    try:
        return parsed_times(texts, kind)
    except pa.ArrowInvalid:
        for row in range(len(texts)):
            try:
                parsed_times(texts.slice(row, 1), kind)
            except pa.ArrowInvalid:
                raise NotRead(row, texts[row].as_py()) from None
        raise


def parsed_times(texts: pa.Array, kind: str) -> pa.Array:
    """Return texts as times to the microsecond."""
    return pc.replace_substring_regex(texts, r"(\.\d{6})\d+", r"\1").cast(ARROW[kind])


def one_number(text: str, written: CellFormat) -> float | None:
    """Return the number that a single text is: NaN if it stands for no value, None if it is neither."""
    found = number_from(text, written)
    return float("nan") if found is None and is_no_number(text, written) else found


__all__ = ["CellType", "NotRead", "TypeGuess", "Unclear", "convert_cells", "guess_type", "one_number"]


# -- texts that stand for no value -------------------------------------------------------------------------------------


def without_value(texts: pa.Array, written: CellFormat, *, loose: bool) -> pa.Array:
    """Return which texts of an Arrow array stand for no value; those of numbers and times are compared loosely."""
    if not loose:
        return is_one_of(texts, exact_names(written))
    trimmed = pc.utf8_trim_whitespace(texts)
    if written.missing is None:
        return is_one_of(pc.utf8_lower(trimmed), tuple(LOOSE))
    named = pc.or_(is_one_of(texts, written.missing), is_one_of(trimmed, written.missing))
    if AND_USUAL not in written.missing:
        return named
    return pc.or_(named, is_one_of(pc.utf8_lower(trimmed), tuple(LOOSE)))


def is_one_of(texts: pa.Array, names: tuple[str, ...]) -> pa.Array:
    """Return which texts of an Arrow array are among some."""
    return pc.is_in(texts, value_set=arrow_names(names, texts.type), skip_nulls=True)


@lru_cache(maxsize=64)
def arrow_names(names: tuple[str, ...], kind: pa.DataType | None = None) -> pa.Array:
    """Return texts as an Arrow array of a type of texts; by Arrow's own way pandas would be imported."""
    data = [name.encode() for name in names]
    ends = np.cumsum([0, *map(len, data)], dtype=np.int32)
    found = pa.StringArray.from_buffers(len(data), pa.py_buffer(ends), pa.py_buffer(b"".join(data)))
    return found if kind is None else found.cast(kind)


def tally(texts: pa.Array, holds_none: pa.Array | None = None) -> Counter[str]:
    """Return how often each text that stands for no value occurs, given which do; an empty cell is ''."""
    found: Counter[str] = Counter()
    if texts.null_count:
        found[""] += texts.null_count
    if holds_none is not None and pc.any(holds_none).as_py():
        for pair in pc.value_counts(texts.filter(holds_none)).to_pylist():
            found[pair["values"].strip()] += pair["counts"]
    return found
