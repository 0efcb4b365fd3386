"""Models out of Python: as SQL, PMML, ONNX, JavaScript and JSON. All are written from the flat model alone.

Libraries that a format needs are imported when it is written.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .export_file import write
from .javascript_module import javascript, json
from .pmml_file import pmml
from .sql_query import sql

__all__ = ["javascript", "json", "pmml", "sql", "write"]


def __getattr__(name: str) -> Any:
    if name != "onnx":
        raise AttributeError(f"module 'naively.export' has no attribute {name!r}")
    # The module has the name of the function, and takes its place when it is imported.
    globals()["onnx"] = import_module(".onnx", __name__).onnx
    return globals()["onnx"]
