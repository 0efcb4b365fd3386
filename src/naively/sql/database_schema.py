"""What the columns of a table in a database are: their declared types are taken as they are."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from ..data.cell_format import USUAL
from ..data.column import NOUNS, Column, FamilyLike, FamilySettings, Type, family_of, same_kind
from ..data.schema import Schema
from ..errors import InvalidInput, InvalidSetting
from ..errors.message import Setting
from ..families import Bins, Words
from .engine import IbisTable, IbisType


def schema_of_table(table: IbisTable, families: FamilySettings | Schema | None, apart: Collection[str]) -> Schema:
    """Return what the columns are, apart from some; families may say otherwise, or be a whole schema."""
    types = {name: kind for name, kind in table.schema().items() if name not in apart}
    if isinstance(families, Schema):
        schema = families.only(name for name in families.names if name not in apart)
        for column in schema:
            _check_column(column, types, table)
    else:
        given = families or {}
        columns = (_column_of_type(name, kind, given.get(name), table) for name, kind in types.items())
        schema = Schema(tuple(columns)).with_families(families)
    if not schema.columns:
        raise InvalidInput("The table has 0 feature(s): there must be at least one column beside the classes.")
    for column in schema:
        _check_family(column)
    return schema


def _column_of_type(name: str, kind: IbisType, family: FamilyLike | None, table: IbisTable) -> Column:
    """Return the column of a declared type; some texts stand for no value, as in other tables."""
    of_type = counted_type(name, kind, table)
    if of_type is None:
        numbers = family is not None and family_of(name, family).name in ("gaussian", "poisson", "bins")
        return Column(name, "number" if numbers else "text")
    if of_type == "text" and family is not None and family_of(name, family).name in ("gaussian", "poisson", "bins"):
        raise _text_in_place_of_numbers(name)
    return Column(name, of_type, written=USUAL if of_type == "text" else None)


def counted_type(name: str, kind: IbisType, table: IbisTable) -> Type | None:
    """Return the type of values of a type of the database; None if it has no values at all."""
    if kind.is_null():
        return None
    if kind.is_boolean():
        return "boolean"
    if kind.is_integer():
        return "whole"
    if kind.is_floating() or kind.is_decimal():
        return "number"
    if kind.is_string():
        return "text"
    if kind.is_date() or kind.is_timestamp() or (kind.is_time() and table.get_backend().name != "sqlite"):
        return "time"
    raise InvalidInput(
        f"Column {name!r} is of the type {kind}, which is neither text nor a number nor a time. Leave it out: ",
        Setting("ignore", [name]),
        ", or convert it in the query.",
        column=name,
    )


def _check_column(column: Column, types: Mapping[str, IbisType], table: IbisTable) -> None:
    """Refuse a column of a schema that the table does not have, or has with values of another type."""
    if column.name not in types:
        Schema(tuple(Column(name, "text") for name in types))[column.name]  # says which columns there are
    found = counted_type(column.name, types[column.name], table)
    if found is None or same_kind(found, column.type):
        return
    if found == "text" and column.type in ("whole", "number"):
        raise _text_in_place_of_numbers(column.name)
    raise InvalidInput(
        f"Column {column.name!r} holds {NOUNS[column.type]} in the schema, and {NOUNS[found]} in the table. Convert it "
        "in the query.",
        column=column.name,
    )


def _text_in_place_of_numbers(name: str) -> InvalidInput:
    """Return the error about a column of texts where numbers are wanted."""
    return InvalidInput(
        f"Column {name!r} is declared as text in the database, whose types are taken as they are. Convert it in the "
        f"query, e.g. table.mutate(**{{{name!r}: table[{name!r}].cast('float64')}}).",
        column=name,
    )


def _check_family(column: Column) -> None:
    """Refuse what no GROUP BY can count."""
    if isinstance(column.family, Words):
        raise InvalidSetting(
            f"Column {column.name!r} has the family 'words', and a database cannot count words by GROUP BY. Stream the "
            f"rows instead: nv.count(table.to_pyarrow(), target=…) or NaiveBayes().fit(…); or leave the column out: ",
            Setting("ignore", [column.name]),
            ".",
            column=column.name,
        )


def check_cuts(schema: Schema) -> None:
    """Refuse bins without cuts: where to cut follows from rows, which stay in the database."""
    for column in schema:
        if isinstance(column.family, Bins) and column.family.cuts is None:
            raise InvalidSetting(
                f"Column {column.name!r} has bins without cuts, which follow from rows; give them: ",
                Setting("schema"),
                f"={{{column.name!r}: nv.Bins(cuts=[…])}}.",
                column=column.name,
            )


def without_columns(schema: Schema, names: Collection[str]) -> Schema:
    """Return a schema without some columns, which were set aside."""
    return replace(schema, columns=tuple(column for column in schema if column.name not in names))
