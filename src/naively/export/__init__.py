"""Models out of Python: as SQL, PMML, ONNX, JavaScript and JSON. All are written from the flat model alone.

Libraries that a format needs are imported when it is written.
"""

from __future__ import annotations

from .export_file import write
from .javascript_module import javascript, json
from .onnx_model import onnx
from .pmml_file import pmml
from .sql_query import sql

__all__ = ["javascript", "json", "onnx", "pmml", "sql", "write"]
