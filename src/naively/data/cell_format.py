"""How the cells of a column are written: which texts stand for no value, and how numbers look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from types import EllipsisType

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
