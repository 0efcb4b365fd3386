"""Columns → a data frame of the library that the program uses."""

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
