"""Columns → a data frame of the library that the program uses, and what is of pandas without importing it."""

from __future__ import annotations

import sys
from typing import Any


def frame(columns: dict[str, Any]) -> Any:
    """Return columns as a data frame: of pandas or Polars if the program uses one of them, else of PyArrow."""
    for library in ("pandas", "polars"):
        if library in sys.modules:
            return sys.modules[library].DataFrame(columns)
    import pyarrow as pa

    return pa.table(columns)


def frame_of_arrow(table: Any) -> Any:
    """Return an Arrow table as a data frame of the same library: quicker where there are many lines."""
    if "pandas" in sys.modules:
        return table.to_pandas()
    return sys.modules["polars"].from_arrow(table) if "polars" in sys.modules else table


def is_of_pandas(value: Any, *names: str) -> bool:
    """Tell whether a value, or a type, is one of these classes of pandas."""
    kind = value if isinstance(value, type) else type(value)
    return kind.__name__ in names and kind.__module__.partition(".")[0] == "pandas"
