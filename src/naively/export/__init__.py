"""Models for other programs: a flat model comes in, SQL, PMML, ONNX, JavaScript or JSON goes out.

`scoring.py` turns the flat model into formulas, which SQL, PMML and ONNX write in their own languages. Imports `flat`
and below; libraries that a format needs are imported when it is written.
"""

from __future__ import annotations

from .export_file import write
from .flat_file import javascript, json
from .onnx_model import onnx
from .pmml_file import pmml
from .sql_query import sql

__all__ = ["javascript", "json", "onnx", "pmml", "sql", "write"]
