"""Cells that are texts → values: what a column of them holds, and each cell as that."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from .cell_format import (
    LIKELY,
    USUAL,
    CellFormat,
    is_no_number,
    is_one_of,
    names_of_classes,
    notation,
    number_from,
    numbers_from,
    readable_grammar,
    tally,
    without_value,
)
from .column import Type

# What cells are read as. Prose is text that is tokenized: as long as it likes.
TEXT, PROSE, BOOLEAN, WHOLE, NUMBER = pa.string(), pa.large_string(), pa.bool_(), pa.int64(), pa.float64()
DAY, TIME, ZONED_TIME = pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC")
TIMES = {
    DAY: r"^\d{4}-\d{2}-\d{2}$",
    TIME: r"^\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?)?$",
    ZONED_TIME: r"^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}(:?\d{2})?)$",
}
ONLY_TEXT = frozenset({TEXT})
# What columns that are read so hold; the narrowest of the types that all cells can be read as is the one they have.
TYPES: dict[pa.DataType, Type] = {WHOLE: "whole", NUMBER: "number", BOOLEAN: "boolean", DAY: "time", TIME: "time"}
TYPES |= {ZONED_TIME: "time", TEXT: "text", PROSE: "text"}
# What the columns that a schema has are read as.
READ_AS: dict[str, pa.DataType] = {"text": TEXT, "boolean": BOOLEAN, "whole": WHOLE, "number": NUMBER, "time": TIME}
# Cells of a column that show at once that it holds labels.
FEW = 100


class CellType(NamedTuple):
    """What the cells of a column are read as, and how they are written."""

    kind: pa.DataType
    written: CellFormat = USUAL


class TypeGuess(NamedTuple):
    """What all cells of a column can be read as; nothing, if there are none."""

    kinds: frozenset[pa.DataType]
    strict: frozenset[pa.DataType]  # the same if the column is the target: only plain cells, and fewer names
    written: CellFormat

    def beside(self, other: TypeGuess) -> TypeGuess:
        """Return what the cells of both can be read as."""
        if not self.kinds or not other.kinds:
            return self if self.kinds else other
        strict = self.strict & other.strict
        if self.written == other.written:
            return TypeGuess(self.kinds & other.kinds, strict, self.written)
        return TypeGuess(ONLY_TEXT, strict, CellFormat(self.written.missing))


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
    if kinds := plain_kinds(there, decimal):
        return TypeGuess(kinds, kinds, written)
    labels = TypeGuess(ONLY_TEXT, ONLY_TEXT, written)
    if not may_be_numbers(there.slice(0, FEW).to_pylist(), written):
        return labels
    dropped = without_value(there, written, loose=True)
    raw = there.filter(pc.invert(dropped))
    rest = pc.utf8_trim_whitespace(raw)
    # Cells are plain without blanks around, and with those names for missing values that a target has, too.
    plain = is_all(pc.equal(raw, rest)) and is_all(is_one_of(there.filter(dropped), names_of_classes(missing)))
    if not len(rest):  # labels, if some may be
        kinds = frozenset() if is_all(without_value(there, written, loose=False)) else ONLY_TEXT
    elif not (kinds := plain_kinds(rest, decimal) or times(rest) or booleans(there, written)):
        result = notation(rest, decimal, thousands)
        if not isinstance(result, CellFormat):
            return labels
        whole = as_type(numbers_from(rest, result), WHOLE) is not None
        kinds, written = ONLY_TEXT | {NUMBER} | ({WHOLE} if whole else set()), replace(result, missing=missing)
        plain = plain and decimal == "," == result.decimal and replace(result, decimal=".").plain  # as it was said
    return TypeGuess(kinds, kinds if plain else ONLY_TEXT, written)


def plain_kinds(texts: pa.Array, decimal: str | None) -> frozenset[pa.DataType]:
    """Return which numbers all texts are, as programs write them; nothing that begins with a zero, as names do."""
    numbers = as_type(texts, NUMBER)
    if numbers is None or is_any(pc.is_nan(numbers)) or is_any(pc.match_substring_regex(texts, r"^[+-]?0\d")):
        return frozenset()
    if as_type(texts, WHOLE) is not None:
        return ONLY_TEXT | {NUMBER, WHOLE}
    return frozenset() if decimal == "," else ONLY_TEXT | {NUMBER}


def as_type(array: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """Return an array as one of a type; None if it holds anything else."""
    try:
        return array.cast(kind)
    except pa.ArrowInvalid:
        return None


def is_all(flags: pa.Array) -> bool:
    """Return whether all flags are set; missing ones do not count."""
    return bool(pc.all(flags, min_count=0).as_py())


def is_any(flags: pa.Array) -> bool:
    """Return whether a flag is set."""
    return bool(pc.any(flags, min_count=0).as_py())


def may_be_numbers(some: list[str], written: CellFormat) -> bool:
    """Return whether some texts look like numbers, times or booleans, or stand for no value; soon no, for labels."""
    return all(
        LIKELY.fullmatch(text)
        or is_no_number(text, written)
        or text.strip()[:10].replace("-", "").isdecimal()
        or text.lower() in ("true", "false")
        for text in some
    )


def times(texts: pa.Array) -> frozenset[pa.DataType]:
    """Return which times all texts are; what looks like a day may be none: 2023-02-29."""
    result = {kind for kind, form in TIMES.items() if is_all(pc.match_substring_regex(texts, form))}
    result = {kind for kind in result if parsed_times(texts, kind) is not None}
    return ONLY_TEXT | result if result else frozenset()


def booleans(texts: pa.Array, written: CellFormat) -> frozenset[pa.DataType]:
    """Return whether all texts are true or false, in small letters, in large ones or with a large first."""
    rest = texts.filter(pc.invert(without_value(texts, written, loose=False)))
    are = len(rest) and is_all(pc.match_substring_regex(rest, r"^(true|false|True|False|TRUE|FALSE)$"))
    return ONLY_TEXT | {BOOLEAN} if are else frozenset()


# -- each cell as what its column holds --------------------------------------------------------------------------------


def convert_cells(texts: pa.Array, cell: CellType) -> tuple[pa.Array, Counter[str]]:
    """Return texts as values of a type, and how often each text stood for none; one that is neither is `NotRead`."""
    kind, written = cell
    if kind in (WHOLE, NUMBER) and written.plain and (plain := convert_plain(texts, kind)) is not None:
        return plain, tally(texts)
    dropped = without_value(texts, written, loose=kind not in (TEXT, PROSE, BOOLEAN))
    result = tally(texts, dropped)
    rest = pc.if_else(dropped, pa.nulls(len(texts), texts.type), texts) if is_any(dropped) else texts
    if kind in (WHOLE, NUMBER):
        refuse_text(rest, pc.match_substring_regex(rest, readable_grammar(written)))
        numbers = numbers_from(rest, written)
        return (numbers if kind == NUMBER else whole_numbers(rest, numbers)), result
    if kind == BOOLEAN:
        small = pc.utf8_lower(rest)
        refuse_text(rest, pc.or_(is_one_of(small, ("true", "false")), pc.is_null(small)))
        return small.cast(BOOLEAN), result
    return (times_in(rest, kind) if kind in TIMES else rest), result


def convert_plain(texts: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """Return texts as numbers, if all of them are plain ones; what begins with a zero is none, as in `plain_kinds`."""
    numbers = as_type(texts, kind)
    zeros = texts.filter(pc.or_(pc.starts_with(texts, "0"), pc.starts_with(texts, "-0")))  # most are not, and soon seen
    if numbers is None or is_any(pc.match_substring_regex(zeros, r"^-?0\d")):
        return None
    return None if kind == NUMBER and is_any(pc.is_nan(numbers)) else numbers


def refuse_text(texts: pa.Array, fine: pa.Array) -> None:
    """Refuse the first text that is not fine; of one that is not there nothing is known."""
    if not is_all(fine):
        row = pc.index(fine, False).as_py()
        raise NotRead(row, texts[row].as_py())


def whole_numbers(texts: pa.Array, numbers: pa.Array) -> pa.Array:
    """Return whole numbers as such, to the last digit where they are written without anything else."""
    plain = as_type(pc.utf8_trim_whitespace(texts), WHOLE)
    if plain is not None:
        return plain
    refuse_text(texts, pc.and_(pc.equal(pc.floor(numbers), numbers), pc.less(pc.abs(numbers), pa.scalar(2.0**63))))
    return numbers.cast(WHOLE)


def times_in(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return texts as times, if they are."""
    texts = pc.utf8_trim_whitespace(texts)
    refuse_text(texts, pc.match_substring_regex(texts, TIMES[kind]))
    result = parsed_times(texts, kind)
    if result is None:
        row = next(row for row in range(len(texts)) if parsed_times(texts.slice(row, 1), kind) is None)
        raise NotRead(row, texts[row].as_py())
    return result


def parsed_times(texts: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """Return texts as times to the microsecond; None if one is no time, such as the 29th of February of 2023."""
    return as_type(pc.replace_substring_regex(texts, r"(\.\d{6})\d+", r"\1"), kind)


def one_number(text: str, written: CellFormat) -> float | None:
    """Return the number that a single text is: NaN if it stands for no value, None if it is neither."""
    result = number_from(text, written)
    return float("nan") if result is None and is_no_number(text, written) else result
