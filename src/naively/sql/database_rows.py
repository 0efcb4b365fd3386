"""The rows of a table in a database: its columns as a schema, its cells as SQL expressions of what is counted.

Literals are written as ratios of whole numbers. A database reads those exactly, but reads 0.30000000000000004 as a
decimal number that it converts, and may be off by the last bit: a number on a cut would fall into another bin.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import Parameter, Signature
from typing import Any, TypeAlias

import pyarrow as pa

from .._kernels import LARGEST_NUMBER, LARGEST_WEIGHT
from ..data.column import NOUNS, Column, FamilySettings, same_kind
from ..data.schema import Schema, schema_of_types
from ..data.values import type_of_arrow
from ..errors import InvalidInput, InvalidSetting, NotInstalled
from ..errors.message import Setting
from ..families import Bernoulli, Bins
from ..files.file import File
from ..files.streams import stream_of

# Tables, columns and types of Ibis, which is imported when it is first needed.
IbisTable: TypeAlias = Any
IbisValue: TypeAlias = Any
IbisType: TypeAlias = Any

# What the class and the weight of a row are called in queries, and a number of rows; columns are numbered there.
CLASS, WEIGHT, COUNT = "y", "w", "n"
# The largest power of 2 that every database holds as a whole number.
POWER = 62


@dataclass(frozen=True)
class DatabaseRows:
    """A table of Ibis, the schema of the columns that are counted, and the columns of the classes and the weights."""

    table: IbisTable
    schema: Schema
    target: str
    weight: str | None

    @classmethod
    def of(
        cls,
        table: IbisTable,
        target: str,
        families: FamilySettings | Schema | None,
        weight: str | None,
        ignore: Sequence[str],
    ) -> DatabaseRows:
        """Return the rows of a table, if it has these columns, and none of another type than can be counted."""
        if not isinstance(table, ibis_module().Table):
            raise InvalidInput(
                "Expected a table of Ibis, such as ibis.duckdb.connect(path).table('name'); got "
                f"{type(table).__name__}. For a table in memory use nv.count or NaiveBayes.fit."
            )
        if isinstance(ignore, str):
            raise InvalidSetting(Setting("ignore", ignore), " must be a list of columns.")
        if not (weight is None or isinstance(weight, str)):
            raise InvalidSetting(
                Setting("sample_weight"),
                " is the name of a column: weights in memory cannot be joined to rows in a database.",
            )
        if weight == target:
            raise InvalidInput(f"{weight!r} is the column of the classes, and cannot be that of the weights, too.")
        schema = schema_of_table(table, families, target, weight, set(ignore))
        if not len(schema):
            raise InvalidInput("The table has 0 feature(s): it needs a column besides the classes.")
        return cls(table, schema, target, weight)

    @property
    def engine(self) -> str:
        """The database, such as "duckdb", "postgres" or "sqlite"."""
        return str(self.table.get_backend().name)

    def stream(self) -> File:
        """Return the rows as a stream, to be read like a file: each column with the type that the database declares."""
        names = [*self.schema.names, self.target, *([] if self.weight is None else [self.weight])]
        rows = self.table.select(**{name: self.exact_cell(name) for name in names})
        stream = stream_of(rows)
        assert stream is not None, "a table of Ibis can be read batch by batch"
        whole = (name for name in names if self.table[name].type().is_integer() and rows[name].type().is_string())
        texts = (name for name in names if self.table[name].type().is_string())
        return File.of_stream(stream).but(types=dict.fromkeys(texts, "text") | dict.fromkeys(whole, "whole"))

    # -- expressions ----------------------------------------------------------------------------------------------

    def exact_cell(self, name: str) -> IbisValue:
        """Return a cell that reaches Python unchanged: Ibis would round large whole numbers of SQLite."""
        kind = self.table[name].type()
        as_text = kind.is_null() or (kind.is_integer() and self.engine == "sqlite")
        return self.table[name].cast("string") if as_text else self.table[name]

    def exact_answer(self, cells: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
        """Return fetched cells of a column with its type: whole numbers may have come as texts."""
        whole = self.table[name].type().is_integer() and pa.types.is_string(cells.type)
        return cells.cast(pa.int64()) if whole else cells

    def number(self, name: str) -> IbisValue:
        """Return a cell as float64, NULL if it is NaN, infinite or too large; times are seconds."""
        number = self._float(name)
        low, high = (ibis_module().literal(bound).cast("float64") for bound in (-LARGEST_NUMBER, LARGEST_NUMBER))
        return ibis_module().ifelse((number >= low) & (number <= high), number, None)

    def label(self, column: Column) -> IbisValue:
        """Return what the rows are grouped by to count a column of labels: its cell, its bin, or its flag."""
        family = column.family
        if isinstance(family, Bins):
            return bin_of_number(self.number(column.name), family.cuts or ())
        if isinstance(family, Bernoulli) and column.type != "boolean":
            return self._without_nan(self._float(column.name)) > (family.threshold or 0.0)
        return self.exact_cell(column.name)

    def selected(self, values: Mapping[str, IbisValue]) -> IbisTable:
        """Return the class, the weight and some values of each row that has a class and a weight above 0."""
        rows = self.table.select(**self.class_and_weight(), **values)
        rows = rows.filter(rows[CLASS].notnull())
        return rows if self.weight is None else rows.filter(rows[WEIGHT] > 0)

    def class_and_weight(self) -> dict[str, IbisValue]:
        """Return the class of a row, NULL where it is NaN, and its weight, NULL where no row can have it."""
        kind = self.table[self.target].type()
        label = self._without_nan(self.table[self.target]) if kind.is_floating() else self.exact_cell(self.target)
        if self.weight is None:
            return {CLASS: label}
        weight = self._float(self.weight)
        valid = (weight >= 0) & (weight <= exact_literal(LARGEST_WEIGHT))
        return {CLASS: label, WEIGHT: ibis_module().ifelse(valid, weight, None)}

    def count_of(self, rows: IbisTable) -> IbisValue:
        """Return the number of rows, by their weight."""
        return rows.count() if self.weight is None else rows[WEIGHT].sum()

    def _float(self, name: str) -> IbisValue:
        cell = self.table[name]
        if cell.type().is_temporal():
            return seconds_of(cell, self.engine)
        number = cell if cell.type().is_float64() else cell.cast("float64")
        if self.engine == "sqlite":  # a column of numbers may hold texts there, which a cast turns into 0
            return ibis_module().ifelse(cell.typeof().isin(["integer", "real"]), number, None)
        return number

    def _without_nan(self, number: IbisValue) -> IbisValue:
        """Return a number, NULL where it is NaN, which SQLite has not."""
        return number if self.engine == "sqlite" else ibis_module().ifelse(number.isnan(), None, number)


def ibis_module() -> Any:
    """Return the module ibis, or say how to install it."""
    try:
        import ibis
    except ImportError:
        raise NotInstalled("Counting inside a database needs Ibis", "sql") from None
    return ibis


def fetched(expression: IbisTable) -> pa.Table:
    """Return the result of a query."""
    table: pa.Table = expression.to_pyarrow()
    return table.combine_chunks()


# -- types -----------------------------------------------------------------------------------------------------------


def schema_of_table(
    table: IbisTable, families: FamilySettings | Schema | None, target: str, weight: str | None, ignore: set[str]
) -> Schema:
    """Return what the columns are by the types that the database declares; families may say otherwise."""
    given, unused = (None if isinstance(families, Schema) else families), ignore
    if isinstance(families, Schema):
        unused = ignore | (set(table.columns) - {target, weight, *families.names})
    engine = table.get_backend().name
    types = {
        name: pa.null() if name in unused or name == target else arrow_type(name, kind, engine)
        for name, kind in table.schema().items()
    }
    schema = schema_of_types(pa.schema(types), given, target=target, weight=weight, ignore=unused)
    held = None if weight is None else type_of_arrow(weight, types[weight])
    if held in ("text", "time"):
        raise InvalidInput(
            f"The column {weight!r} of the weights holds {NOUNS[held]}; a row weighs a number of 0 or more.",
            column=weight,
        )
    if not isinstance(families, Schema):
        return schema
    columns = tuple(column for column in families if column.name not in {target, weight, *ignore})
    for column in columns:
        result = schema[column.name].type
        if not same_kind(result, column.type):
            raise InvalidInput(
                f"Column {column.name!r} holds {NOUNS[column.type]} in the schema, and {NOUNS[result]} in the table. "
                f"Convert it in the query, e.g. table.mutate(**{{{column.name!r}: "
                f"table[{column.name!r}].cast('float64')}}).",
                column=column.name,
            )
    return replace(schema, columns=columns)


def arrow_type(name: str, kind: IbisType, engine: str) -> pa.DataType:
    """Return the Arrow type that stands for a type of the database; refuse types that cannot be counted."""
    if kind.is_null():
        return pa.null()
    if kind.is_boolean():
        return pa.bool_()
    if kind.is_integer():
        return pa.int64()
    if kind.is_floating() or kind.is_decimal():
        return pa.float64()
    if kind.is_string():
        return pa.string()
    if kind.is_date() or kind.is_timestamp() or (kind.is_time() and engine != "sqlite"):
        return pa.timestamp("us")
    raise InvalidInput(
        f"Column {name!r} is of the type {kind}, which is neither text nor a number nor a time. Leave it out: ",
        Setting("ignore", [name]),
        ", or convert it in the query.",
        column=name,
    )


# -- expressions of numbers --------------------------------------------------------------------------------------------


def exact_literal(number: float) -> IbisValue:
    """Return a number as a literal of exactly this value."""
    ibis = ibis_module()
    numerator, denominator = float(number).as_integer_ratio()
    shift = max(numerator.bit_length() - POWER, 0)
    literal = ibis.literal(numerator >> shift, type="int64").cast("float64")
    for exponent, multiplies in ((shift, True), (denominator.bit_length() - 1, False)):
        for power in (min(POWER, exponent - done) for done in range(0, exponent, POWER)):
            factor = ibis.literal(1 << power, type="int64").cast("float64")
            literal = literal * factor if multiplies else literal / factor
    return literal


def bin_of_number(number: IbisValue, cuts: Sequence[float]) -> IbisValue:
    """Return the bin of a number, by binary search: how many cuts lie below it; NULL where there is none."""
    ibis = ibis_module()

    def search(low: int, high: int) -> IbisValue:
        if low == high:
            return ibis.literal(low, type="int32")
        middle = (low + high) // 2
        return ibis.ifelse(number <= exact_literal(cuts[middle]), search(low, middle), search(middle + 1, high))

    return ibis.ifelse(number.isnull(), None, search(0, len(cuts)))


def seconds_of(cell: IbisValue, engine: str) -> IbisValue:
    """Return times as seconds with their fraction: since 1970 (UTC), or since midnight."""
    if engine == "duckdb":
        unit = "epoch_ns" if getattr(cell.type(), "scale", None) == 9 else "epoch_us"
        return call_builtin(unit, [cell], "int64").cast("float64") / (1e9 if unit == "epoch_ns" else 1e6)
    if engine == "postgres":  # seconds with a fraction, whatever type Ibis expects
        return call_builtin("date_part", [ibis_module().literal("epoch"), cell], "float64")
    if engine == "sqlite":
        return sqlite_seconds(cell)
    if cell.type().is_date():
        return cell.epoch_days().cast("float64") * 86_400
    return (cell.epoch_seconds().cast("int64") * 1_000_000 + cell.microsecond()).cast("float64") / 1e6


def sqlite_seconds(cell: IbisValue) -> IbisValue:
    """Return times of SQLite, which are texts such as "2024-05-01 10:00:00.25+02:00", as seconds.

    Its own functions round to milliseconds, so whole seconds and the fraction are read separately.
    """
    literal = ibis_module().literal
    rest = call_builtin("substr", [cell, literal(20)], "string")
    zone = call_builtin("ltrim", [rest, literal(".0123456789")], "string")
    start = call_builtin("substr", [cell, literal(1), literal(19)], "string")
    whole = call_builtin("strftime", [literal("%s"), start + zone], "string").cast("int64")
    micros = ((literal("0") + rest).cast("float64") * 1e6).round()  # a cast reads the digits, and stops at a zone
    return (whole * 1_000_000 + micros).cast("float64") / 1e6


def call_builtin(name: str, arguments: Sequence[IbisValue], returns: str) -> IbisValue:
    """Return a call of a function of the database that Ibis has no name for."""

    def function(*_: object) -> None: ...

    places = [Parameter(f"argument{index}", Parameter.POSITIONAL_OR_KEYWORD) for index in range(len(arguments))]
    function.__signature__ = Signature(places)  # type: ignore[attr-defined]  # Ibis reads it
    types = tuple(argument.type() for argument in arguments)
    return ibis_module().udf.scalar.builtin(function, name=name, signature=(types, returns))(*arguments)
