"""What the columns of a DataFrame are in Arrow, and which of them can be counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..data.schema import likely
from ..errors import InvalidInput
from ..errors.message import Setting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Types of Spark, as they are called, that can be counted.
ARROW_TYPES: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "char": pa.string(),
    "varchar": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "daytimeinterval": pa.duration("us"),
    "void": pa.null(),
}


def arrow_type(name: str, kind: Any) -> pa.DataType:
    """Return the Arrow type of a column of Spark; say what to do with one that cannot be counted."""
    called = str(kind.typeName())
    if called == "decimal":
        return pa.decimal128(kind.precision, kind.scale)
    if called.startswith("interval "):
        called = "daytimeinterval"
    if called in ARROW_TYPES:
        return ARROW_TYPES[called]
    if "vector" in called or "vector" in type(kind).__name__.lower():
        raise InvalidInput(
            f"Column {name!r} holds vectors of pyspark.ml. Give the columns that they were assembled from, or take "
            "them apart with pyspark.ml.functions.vector_to_array, and leave the vectors out: ",
            Setting("ignore", [name]),
            ".",
            column=name,
        )
    raise InvalidInput(
        f"Column {name!r} holds {kind.simpleString()}, which is neither text nor a number nor a time. Take it apart "
        "into columns of their own, or leave it out: ",
        Setting("ignore", [name]),
        ".",
        column=name,
    )


def arrow_types_of(frame: DataFrame, ignore: Collection[str]) -> pa.Schema:
    """Return the Arrow types of the columns that are not ignored."""
    check_names(frame)
    fields = [field for field in frame.schema.fields if field.name not in ignore]
    return pa.schema([(field.name, arrow_type(field.name, field.dataType)) for field in fields])


def check_names(frame: DataFrame) -> None:
    """Refuse columns of the same name: nobody can say which of them is meant."""
    for name, times in Counter(frame.columns).items():
        if times > 1:
            raise InvalidInput(f"{times} columns are called {name!r}. Rename them, or drop all but one.", column=name)


def check_columns(frame: DataFrame, names: Collection[str]) -> None:
    """Refuse names that no column has."""
    known = tuple(frame.columns)
    for name in names:
        if name not in known:
            raise InvalidInput(f"There is no column {name!r}{likely(name, known)}", column=name)
