"""What dialects of SQL write differently: tables to look up in, codes of labels, cells as numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from sqlglot import exp

from .._types import JsonObject
from .formulas import LabelCode

# The classes of sqlglot have changed their base; all that is done with them here is to nest them.
Sql: TypeAlias = Any


def number_sql(value: float | int) -> Sql:
    """Return a literal; with an exponent it is a floating point number in every dialect, and of all digits."""
    if isinstance(value, int):
        return exp.Literal.number(value)
    text = repr(abs(value)).removesuffix(".0")
    literal = exp.Literal.number(text if "e" in text else f"{text}e0")
    return exp.Neg(this=literal) if value < 0 else literal


def text_sql(text: str) -> Sql:
    """Return a literal of text."""
    return exp.Literal.string(text)


def cast_sql(value: Sql, kind: str) -> Sql:
    """Return a value as one of another type."""
    return exp.Cast(this=value, to=exp.DataType.build(kind))


def array_sql(values: Iterable[Sql], kind: str | None = None) -> Sql:
    """Return an array, of a type if one is given."""
    found = exp.Array(expressions=list(values), bracket_notation=True)
    return found if kind is None else cast_sql(found, f"array<{kind}>")


def function_sql(name: str, *arguments: Sql) -> Sql:
    """Return a call that is written as it stands, in any dialect."""
    return exp.Anonymous(this=name, expressions=list(arguments))


def binary_sql(kind: type, left: Sql, right: Sql) -> Sql:
    """Return an operation, with parentheses where an operand is one, too."""
    return kind(this=in_parentheses(left), expression=in_parentheses(right))


def in_parentheses(part: Sql) -> Sql:
    """Return an operand so that it stays one."""
    return exp.Paren(this=part) if isinstance(part, exp.Binary) else part


def choice_sql(choices: Sequence[tuple[Sql, Sql]], otherwise: Sql, cell: Sql | None = None) -> Sql:
    """Return CASE: the second of the first pair whose first holds, or equals a cell."""
    branches = [exp.If(this=condition, true=value) for condition, value in choices]
    return exp.Case(this=cell, ifs=branches, default=otherwise)


def halves(cell: Sql, ends: Sequence[Sql], values: Sequence[Sql], below: type = exp.LT) -> Sql:
    """Return the first value if a cell is below the first end, else the second if …: by halves, so that it is quick.

    There is one value more than ends.
    """
    if not ends:
        return values[0]
    half = len(ends) // 2
    first = halves(cell, ends[:half], values[: half + 1], below)
    second = halves(cell, ends[half + 1 :], values[half + 1 :], below)
    return choice_sql([(binary_sql(below, cell.copy(), ends[half]), first)], second)


# -- cells ------------------------------------------------------------------------------------------------------------


def plain_double(cell: Sql) -> Sql:
    """Return a cell as a floating point number, where NaN equals NaN."""
    return exp.Nullif(this=cast_sql(cell, "double"), expression=cast_sql(text_sql("NaN"), "double"))


def bigquery_double(cell: Sql) -> Sql:
    """Return a cell as a floating point number in BigQuery."""
    return choice_sql([(function_sql("IS_NAN", cast_sql(cell, "double")), exp.null())], cast_sql(cell.copy(), "double"))


def sqlite_double(cell: Sql) -> Sql:
    """Return a cell as a floating point number in SQLite, where any column may hold texts: without digits, none."""
    typed = exp.In(this=function_sql("TYPEOF", cell), expressions=[text_sql("integer"), text_sql("real")])
    digits = exp.Glob(this=cell.copy(), expression=text_sql("*[0-9]*"))
    return exp.Case(ifs=[exp.If(this=exp.Or(this=typed, expression=digits), true=cast_sql(cell.copy(), "double"))])


def sqlite_seconds(cell: Sql) -> Sql:
    """Return a time as seconds in SQLite: a number as it is, and a text such as 2026-02-28 12:30:00.5 by its date."""
    typed = exp.In(this=function_sql("TYPEOF", cell), expressions=[text_sql("integer"), text_sql("real")])
    whole, second, fraction = (
        cast_sql(function_sql("STRFTIME", text_sql(part), cell.copy()), "double") for part in ("%s", "%S", "%f")
    )
    seconds = exp.Add(this=whole, expression=exp.Paren(this=exp.Sub(this=fraction, expression=second)))
    return choice_sql([(typed, cast_sql(cell.copy(), "double"))], seconds)


def postgres_seconds(cell: Sql) -> Sql:
    """Return a time as seconds in PostgreSQL."""
    return cast_sql(exp.Extract(this=exp.var("EPOCH"), expression=cell), "double")


def bigquery_seconds(cell: Sql) -> Sql:
    """Return a time as seconds in BigQuery."""
    micros = function_sql("UNIX_MICROS", function_sql("TIMESTAMP", cell))
    return exp.Div(this=micros, expression=number_sql(1e6))


# -- labels -----------------------------------------------------------------------------------------------------------


def label_sql(column: JsonObject, label: object) -> Sql:
    """Return a label of a column as a literal."""
    if column["type"] == "boolean":
        return exp.true() if label else exp.false()
    if column["type"] == "text":
        return text_sql(str(label))
    assert isinstance(label, (int, float))
    return number_sql(float(label))


def code_by_case(cell: Sql, known: LabelCode) -> Sql:
    """Return the code of a label by comparing it with one after another."""
    pairs = [(label_sql(known.column, label), number_sql(code)) for label, code in known.codes.items()]
    return choice_sql(pairs, number_sql(int(known.column["unseen"])), cell) if pairs else unseen_sql(known)


def code_by_halves(cell: Sql, known: LabelCode) -> Sql:
    """Return the code of a label by halves: texts are in the order of their bytes, which is that of code points."""
    labels = sorted(known.codes, key=lambda label: str(label) if known.column["type"] == "text" else float(label))
    if not labels:
        return unseen_sql(known)
    literals = {label: sqlite_label(known.column, label) for label in labels}
    pairs = [(literals[label].copy(), number_sql(known.codes[label])) for label in labels]
    return halves(
        cell, list(literals.values())[1:], [choice_sql([one], unseen_sql(known), cell.copy()) for one in pairs]
    )


def sqlite_label(column: JsonObject, label: object) -> Sql:
    """Return a label as SQLite has it, where booleans are numbers."""
    return number_sql(float(bool(label))) if column["type"] == "boolean" else label_sql(column, label)


def code_by_position(position: str) -> Callable[[Sql, LabelCode], Sql]:
    """Return what finds the code of a label by its position in an array, by a function of that name."""

    def code(cell: Sql, known: LabelCode) -> Sql:
        if not known.codes or known.column["type"] == "boolean":
            return code_by_case(cell, known)
        labels = [label_sql(known.column, label) for label in known.codes]
        among = array_sql(labels, "text" if known.column["type"] == "text" else "double")
        found = function_sql("COALESCE", function_sql(position, among, cell), number_sql(0))
        if list(known.codes.values()) == list(range(len(known.codes))) and known.column["unseen"] == -1:
            return exp.Sub(this=found, expression=number_sql(1))
        codes = [number_sql(code) for code in (int(known.column["unseen"]), *known.codes.values())]
        return exp.Bracket(this=array_sql(codes), expressions=[exp.Add(this=found, expression=number_sql(1))])

    return code


def postgres_code(cell: Sql, known: LabelCode) -> Sql:
    """Return the code of a label in PostgreSQL: of a text by the keys of a binary JSON object, which are sorted."""
    if known.column["type"] != "text":
        return code_by_position("ARRAY_POSITION")(cell, known)
    # No text of PostgreSQL holds U+0000, and no JSON object of it can.
    codes = {str(label): code for label, code in known.codes.items() if "\0" not in str(label)}
    keys = cast_sql(text_sql(json.dumps(codes, ensure_ascii=False)), "jsonb")
    found = cast_sql(function_sql("JSONB_OBJECT_FIELD_TEXT", keys, cell), "int")
    return function_sql("COALESCE", found, unseen_sql(known))


def unseen_sql(known: LabelCode) -> Sql:
    """Return the code of a label that was not seen in training."""
    return number_sql(int(known.column["unseen"]))


# -- tables -----------------------------------------------------------------------------------------------------------


def element_of_array(code: Sql, values: Sequence[float]) -> Sql:
    """Return the element of an array; the first is that of the code -1, and arrays begin with 1."""
    table = array_sql(map(number_sql, values), "double" if isinstance(values[0], float) else None)
    return exp.Bracket(this=exp.Paren(this=table), expressions=[exp.Add(this=code, expression=number_sql(2))])


def bigquery_element(code: Sql, values: Sequence[float]) -> Sql:
    """Return the element of an array in BigQuery."""
    place = function_sql("OFFSET", exp.Add(this=code, expression=number_sql(1)))
    return exp.Bracket(this=array_sql(map(number_sql, values)), expressions=[place])


def value_by_halves(code: Sql, values: Sequence[float]) -> Sql:
    """Return the value of a code by halves; neighbors of the same value are one."""
    begins = [at for at in range(len(values)) if at == 0 or values[at] != values[at - 1]]
    ends = [number_sql(at - 1) for at in begins[1:]]
    return halves(code, ends, [number_sql(values[at]) for at in begins])


# -- dialects ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Dialect:
    """How a dialect writes what others write differently.

    Arrays are the quickest to look up in, where there are any: with 20 tables of 100 lines and two classes, DuckDB took
    0.08 s for 50,000 rows (a join with VALUES 0.26, CASE 1.3), PostgreSQL 0.10 s (1.1, 18). SQLite has none; CASE by
    halves took 0.53 s there, a join 6.1.
    """

    name: str  # as sqlglot calls it
    double: Callable[[Sql], Sql]
    seconds: Callable[[Sql], Sql]
    code: Callable[[Sql, LabelCode], Sql]
    value: Callable[[Sql, Sequence[float]], Sql]
    scalar: Callable[[Sql], Sql] = lambda literal: literal  # a literal as a floating point number
    greatest: str = "GREATEST"
    # Which steps are to be computed by themselves. DuckDB puts all formulas into one where a query groups by the
    # answer, unless the last step is; PostgreSQL and SQLite compute a step as often as it is used, unless each is.
    materialized: Literal["none", "last", "all"] = "none"
    most_columns: int = 10_000


DIALECTS = {
    "duckdb": Dialect(
        "duckdb",
        plain_double,
        lambda cell: function_sql("EPOCH", cell),
        code_by_position("LIST_POSITION"),
        element_of_array,
        materialized="last",
    ),
    "postgres": Dialect(
        "postgres",
        plain_double,
        postgres_seconds,
        postgres_code,
        element_of_array,
        scalar=lambda literal: cast_sql(literal, "double"),
        materialized="all",
        most_columns=1600,
    ),
    "sqlite": Dialect(
        "sqlite",
        sqlite_double,
        sqlite_seconds,
        code_by_halves,
        value_by_halves,
        greatest="MAX",
        materialized="all",
        most_columns=2000,
    ),
    "bigquery": Dialect("bigquery", bigquery_double, bigquery_seconds, code_by_case, bigquery_element),
}
