"""How the cells of a column are written: which texts stand for no value, and how numbers look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from types import EllipsisType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .._types import Json, JsonObject


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
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        own["missing"] = None if self.missing is None else list(self.missing)
        return {name: value for name, value in own.items() if value != getattr(USUAL, name)}

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


def with_usual(names: Sequence[str | EllipsisType]) -> tuple[str, ...]:
    """Return texts that stand for no value; an ellipsis among them means the usual ones, too."""
    return tuple(AND_USUAL if name is ... else name for name in names)


def names_of_classes(missing: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the texts that stand for no value in the column of the classes."""
    if missing is None:
        return OF_CLASSES
    return (*OF_CLASSES, *(name for name in missing if name != AND_USUAL)) if AND_USUAL in missing else missing


def exact_names(written: CellFormat | None) -> tuple[str, ...]:
    """Return the texts that stand for no value in a column of labels; none if nothing is said about it."""
    if written is None:
        return ()
    if written.missing is None:
        return EXACT
    return (*EXACT, *written.missing) if AND_USUAL in written.missing else written.missing


def is_no_number(text: str, written: CellFormat) -> bool:
    """Return whether a text stands for no value in a column of numbers or times."""
    names = (AND_USUAL,) if written.missing is None else written.missing
    if AND_USUAL in names and text.strip().casefold() in LOOSE:
        return True
    return text in names or text.strip() in names


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
