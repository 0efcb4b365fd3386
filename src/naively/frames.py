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
