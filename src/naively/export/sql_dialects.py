"""What dialects of SQL write differently: quotes, cells as numbers, codes of categories, tables to look up in.

Arrays are the quickest to look up in, where a dialect has them: with 20 tables of 100 lines and two classes, DuckDB
took 0.08 s for 50,000 rows (a join with VALUES 0.26, CASE 1.3), PostgreSQL 0.10 s (1.1, 18). SQLite has none; CASE by
halves took 0.53 s there, a join 6.1.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Literal

from .._types import Json
from .formulas import CategoryCode


def number_sql(value: float | int) -> str:
    """Return a literal; with an exponent it is a floating point number in every dialect, and of all digits."""
    text = repr(value).removesuffix(".0")
    return text if isinstance(value, int) or "e" in text else f"{text}e0"


def case_sql(choices: Iterable[tuple[str, str]], otherwise: str, cell: str = "") -> str:
    """Return CASE: the second of the first pair whose first holds, or equals a cell."""
    branches = " ".join(f"WHEN {condition} THEN {value}" for condition, value in choices)
    return f"CASE {cell + ' ' if cell else ''}{branches} ELSE {otherwise} END"


def halves_sql(cell: str, ends: Sequence[str], values: Sequence[str], below: str = "<") -> str:
    """Return the first value if a cell is below the first end, else the second if …: by halves, so that it is quick.

    There is one value more than ends.
    """
    if not ends:
        return values[0]
    half = len(ends) // 2
    first = halves_sql(cell, ends[:half], values[: half + 1], below)
    second = halves_sql(cell, ends[half + 1 :], values[half + 1 :], below)
    return case_sql([(f"{cell} {below} {ends[half]}", first)], second)


class DuckDB:
    """How DuckDB writes a query; other dialects change what they write differently."""

    name = "duckdb"  # as sqlglot calls it
    double, string, boolean = "DOUBLE", "TEXT", "BOOLEAN"  # types
    greatest = "GREATEST"
    # Which steps are computed by themselves. DuckDB would put all formulas into one where a query groups by the
    # predicted class, unless the last step is; PostgreSQL and SQLite compute a step as often as it is used, unless
    # each is.
    materialized: Literal["none", "last", "all"] = "last"
    most_columns = 10_000

    def __init__(self) -> None:
        from sqlglot import Dialect, exp

        self._exp, self._generator = exp, Dialect.get_or_raise(self.name).generator()

    # -- names and literals -------------------------------------------------------------------------------------------

    def identifier(self, name: str) -> str:
        """Return a quoted name."""
        return str(self._generator.generate(self._exp.to_identifier(name, quoted=True)))

    def literal(self, value: Json) -> str:
        """Return a class or a category, each number as floating point."""
        if isinstance(value, bool):
            return str(value).upper()
        if isinstance(value, str):
            return str(self._generator.generate(self._exp.Literal.string(value)))
        return number_sql(float(value))

    def scalar(self, value: float) -> str:
        """Return a literal as a floating point number."""
        return number_sql(value)

    # -- cells --------------------------------------------------------------------------------------------------------

    def number(self, cell: str) -> str:
        """Return a cell as a floating point number; NaN is missing."""
        return f"NULLIF(CAST({cell} AS {self.double}), CAST('NaN' AS {self.double}))"

    def seconds(self, cell: str) -> str:
        """Return a time as seconds since 1970."""
        return f"EPOCH({cell})"

    def category(self, cell: str, kind: str) -> str:
        """Return a cell as a category of a type."""
        return f"CAST({cell} AS {self.string if kind == 'text' else self.boolean})"

    # -- codes and tables ---------------------------------------------------------------------------------------------

    position = "LIST_POSITION"  # the function that finds a value in an array

    def array(self, values: Iterable[str], kind: str) -> str:
        """Return an array of a type."""
        return f"CAST([{', '.join(values)}] AS {kind}[])"

    def code(self, cell: str, formula: CategoryCode) -> str:
        """Return the code of a category that is not missing: by its position in an array."""
        if not formula.codes or formula.column["type"] == "boolean":
            return self.code_by_case(cell, formula)
        kind = self.string if formula.column["type"] == "text" else self.double
        categories = self.array(map(self.literal, formula.codes), kind)
        place = f"COALESCE({self.position}({categories}, {cell}), 0)"
        codes = [int(formula.column["unseen"]), *formula.codes.values()]
        if codes == list(range(-1, len(codes) - 1)):
            return f"{place} - 1"
        return f"({self.array(map(number_sql, codes), 'INT')})[{place} + 1]"

    def code_by_case(self, cell: str, formula: CategoryCode) -> str:
        """Return the code of a category by comparing it with one after another."""
        unseen = number_sql(int(formula.column["unseen"]))
        pairs = [(self.literal(category), number_sql(code)) for category, code in formula.codes.items()]
        return case_sql(pairs, unseen, cell) if pairs else unseen

    def value(self, code: str, values: Sequence[float]) -> str:
        """Return the value of a code, of which the first is -1; arrays begin with 1."""
        kind = self.double if isinstance(values[0], float) else "INT"
        return f"({self.array(map(number_sql, values), kind)})[{code} + 2]"


class PostgreSQL(DuckDB):
    """How PostgreSQL writes a query."""

    name = "postgres"
    double = "DOUBLE PRECISION"
    materialized = "all"
    most_columns = 1600
    position = "ARRAY_POSITION"

    def scalar(self, value: float) -> str:  # noqa: D102
        return f"CAST({number_sql(value)} AS {self.double})"  # else it would be a decimal number

    def seconds(self, cell: str) -> str:  # noqa: D102
        return f"CAST(EXTRACT(EPOCH FROM {cell}) AS {self.double})"

    def array(self, values: Iterable[str], kind: str) -> str:  # noqa: D102
        return f"CAST(ARRAY[{', '.join(values)}] AS {kind}[])"

    def code(self, cell: str, formula: CategoryCode) -> str:
        """Return the code of a category: of a text by the keys of a binary JSON object, which are sorted."""
        if formula.column["type"] != "text":
            return super().code(cell, formula)
        # No text of PostgreSQL holds U+0000, and no JSON object of it can.
        codes = {str(text): code for text, code in formula.codes.items() if "\0" not in str(text)}
        keys = self.literal(json.dumps(codes, ensure_ascii=False))
        code = f"CAST(JSONB_OBJECT_FIELD_TEXT(CAST({keys} AS JSONB), {cell}) AS INT)"
        return f"COALESCE({code}, {number_sql(int(formula.column['unseen']))})"


class SQLite(DuckDB):
    """How SQLite writes a query: without arrays, and any column may hold texts."""

    name = "sqlite"
    double = "REAL"
    greatest = "MAX"
    materialized = "all"
    most_columns = 2000

    def number(self, cell: str) -> str:  # noqa: D102
        is_number = (
            f"TYPEOF({cell}) IN ('integer', 'real') OR {cell} GLOB '*[0-9]*'"  # texts without digits are missing
        )
        return f"CASE WHEN {is_number} THEN CAST({cell} AS REAL) END"

    def seconds(self, cell: str) -> str:  # noqa: D102
        whole, second, fraction = (f"CAST(STRFTIME('%{part}', {cell}) AS REAL)" for part in "sSf")
        is_number = f"TYPEOF({cell}) IN ('integer', 'real')"  # else a text such as 2026-02-28 12:30:00.5
        return case_sql([(is_number, f"CAST({cell} AS REAL)")], f"{whole} + ({fraction} - {second})")

    def category(self, cell: str, kind: str) -> str:
        """Return a category: texts by their characters whatever the collation of a column, booleans as numbers."""
        return f"CAST({cell} AS TEXT) COLLATE BINARY" if kind == "text" else self.number(cell)

    def code(self, cell: str, formula: CategoryCode) -> str:
        """Return the code of a category by halves: texts are in the order of their bytes, that is, code points."""
        convert = str if formula.column["type"] == "text" else float
        pairs = sorted((convert(category), code) for category, code in formula.codes.items())
        unseen, literals = number_sql(int(formula.column["unseen"])), [self.literal(category) for category, _ in pairs]
        codes = [
            case_sql([(literal, number_sql(code))], unseen, cell)
            for literal, (_, code) in zip(literals, pairs, strict=True)
        ]
        return halves_sql(cell, literals[1:], codes) if pairs else unseen

    def value(self, code: str, values: Sequence[float]) -> str:
        """Return the value of a code by halves; neighbors of the same value are one."""
        begins = [index for index in range(len(values)) if index == 0 or values[index] != values[index - 1]]
        ends = [number_sql(index - 1) for index in begins[1:]]
        return halves_sql(code, ends, [number_sql(values[index]) for index in begins])


class BigQuery(DuckDB):
    """How BigQuery writes a query."""

    name = "bigquery"
    double, string, boolean = "FLOAT64", "STRING", "BOOL"
    materialized = "none"

    def number(self, cell: str) -> str:  # noqa: D102
        number = f"CAST({cell} AS FLOAT64)"
        return case_sql([(f"IS_NAN({number})", "NULL")], number)

    def seconds(self, cell: str) -> str:  # noqa: D102
        return f"UNIX_MICROS(TIMESTAMP({cell})) / 1e6"

    def code(self, cell: str, formula: CategoryCode) -> str:  # noqa: D102
        return self.code_by_case(cell, formula)

    def value(self, code: str, values: Sequence[float]) -> str:  # noqa: D102
        return f"[{', '.join(map(number_sql, values))}][OFFSET({code} + 1)]"


DIALECTS = {dialect.name: dialect for dialect in (DuckDB, PostgreSQL, SQLite, BigQuery)}
