"""How the cells of a column are written: which texts mean that a value is missing, and how numbers look."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from .._types import Json, JsonObject


@dataclass(frozen=True)
class CellFormat:
    """How cells that are texts are read, decided once for a column and kept with the model.

    `missing` are the texts that stand for no value; None means the usual ones (`data.missing_values`). The rest says
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
