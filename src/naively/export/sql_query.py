"""A model as one SELECT: formulas as SQL, a common table expression for each step.

Arrays are the quickest to look up in, where a dialect has them: with 20 tables of 100 lines and two classes, DuckDB
took 0.08 s for 50,000 rows (a join with VALUES 0.26, CASE 1.3), PostgreSQL 0.10 s (1.1, 18). SQLite has none; CASE by
halves took 0.53 s there, a join 6.1.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Literal

from .._types import Json, JsonObject
from ..errors import InvalidInput, InvalidSetting, NotInstalled
from ..errors.message import Setting
from .flat_file import HasFlat, flat_of, refuse_texts, saved
from .formulas import (
    BinCode,
    Call,
    CategoryCode,
    Cell,
    Choice,
    Formula,
    Lookup,
    Named,
    Number,
    Step,
    names_in,
    scoring_steps,
)

CAN = "SQL holds numbers, categories and booleans"


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


# -- the query ---------------------------------------------------------------------------------------------------------


def sql(
    model: HasFlat,
    path: str | PathLike[str] | None = None,
    *,
    dialect: str = "duckdb",
    table: str | Sequence[str] = "rows",
    keep: Sequence[str] = (),
    probabilities: bool = True,
    prefix: str = "",
) -> str:
    """Return a model as one SELECT with the predicted class and the probabilities of each row of a table.

    The query needs nothing but the table: it reads the columns of the model by their names. NULL is a missing value.
    The predicted class is the most probable one; costs and rejection are not part of the query. Needs sqlglot:
    ``pip install "naively[sql]"``.

    Parameters
    ----------
    model : NaiveBayes or FlatModel
        The fitted model.
    path : str or Path, optional
        The file to write the query to, which is replaced if it exists.
    dialect : {"duckdb", "postgres", "sqlite", "bigquery"}, default="duckdb"
        The database that the query is for.
    table : str or sequence of str, default="rows"
        The table with the rows. Dots separate catalog, schema and table; a sequence gives these names one by one.
    keep : sequence of str, default=()
        Columns of the table to carry through, such as the key of a row.
    probabilities : bool, default=True
        Whether the probability of each class is a column: `P(class)`, in BigQuery `P_class`.
    prefix : str, default=""
        A prefix for the names of the added columns: `answer`, `probability` and those of the classes.

    Returns
    -------
    query : str
        The SELECT, without a semicolon.

    Raises
    ------
    InvalidInput
        If the model has a column that SQL cannot hold, such as one of texts.
    InvalidSetting
        If there is no such dialect, or if names of columns of the result are not distinct.
    NotInstalled
        If sqlglot is not installed.
    UnwritableFile
        If the file cannot be written.

    Examples
    --------
    >>> import duckdb
    >>> import naively as nv
    >>> nb = nv.NaiveBayes(model="textbook").fit({"sky": ["rain", "rain", "sun"]}, ["in", "in", "out"])
    >>> query = nv.export.sql(nb, table="days", keep=["day"])
    >>> days = duckdb.sql("CREATE OR REPLACE TABLE days AS SELECT 'Monday' AS day, 'sun' AS sky")
    >>> [(day, answer) for day, answer, *_ in duckdb.sql(query).fetchall()]
    [('Monday', 'out')]
    """
    if dialect not in DIALECTS:
        dialects = ", ".join(map(repr, DIALECTS))
        raise InvalidSetting(Setting("dialect", dialect), f" is not a dialect of SQL here; there are {dialects}.")
    content = flat_of(model).content
    classes = content["classes"]
    refuse_texts(content["columns"], CAN)
    refuse_times_as_categories(content["columns"])
    names = added_names(classes if probabilities else [], dialect, prefix)
    refuse_repeated([*keep, *names])
    try:
        writer = QueryWriter(DIALECTS[dialect](), table.split(".") if isinstance(table, str) else table, keep)
    except ImportError:
        raise NotInstalled("SQL is written by sqlglot", "sql") from None
    return saved(writer.query(scoring_steps(content), names, classes), path)


def added_names(classes: Sequence[Json], dialect: str, prefix: str) -> list[str]:
    """Return the names of the columns that are added."""
    if dialect != "bigquery":
        return [prefix + name for name in ("answer", "probability", *(f"P({label})" for label in classes))]
    names = [prefix + "answer", prefix + "probability"]  # names of BigQuery are letters, digits and underscores
    for label in classes:
        name = prefix + "P_" + "".join(sign if sign.isalnum() else "_" for sign in str(label))
        names.append(name if name not in names else f"{name}_{len(names) - 2}")
    return names


def refuse_times_as_categories(columns: Sequence[JsonObject]) -> None:
    """Refuse categories that are times: databases write them in different ways."""
    for column in columns:
        if column["kind"] == "label" and column["type"] == "time":
            raise InvalidInput(
                f"Column {column['name']!r} holds times as categories, which databases write in different ways; {CAN}. "
                "Export the model as JavaScript or JSON.",
                column=column["name"],
            )


def refuse_repeated(names: Sequence[str]) -> None:
    """Refuse two columns of one name in the result; most databases take A and a for the same."""
    seen = set[str]()
    for name in names:
        if name.casefold() in seen:
            raise InvalidSetting(
                Setting("keep"),
                f" and the columns that are added have two columns {name!r}. Give the added ones another name by ",
                Setting("prefix", "new_"),
                ".",
                column=name,
            )
        seen.add(name.casefold())


class QueryWriter:
    """Writes the steps of a model as a query over a table."""

    def __init__(self, dialect: DuckDB, table: Sequence[str], keep: Sequence[str]) -> None:
        self.dialect, self.keep = dialect, keep
        self.prefix = "nv_"  # of the names within the query
        while any(name.casefold().startswith(self.prefix) for name in (*keep, *table)):
            self.prefix += "_"
        self.table = f"{'.'.join(map(dialect.identifier, table))} AS {self._name('rows')}"

    def query(self, steps: Sequence[Step], names: Sequence[str], classes: Sequence[Json]) -> str:
        """Return the query: the columns that are kept, then the predicted class and probabilities by these names."""
        best, shares = self._name("best"), [self._name(f"p{k}") for k in range(len(classes))]
        *others, last = map(self._class, classes)
        choices = [(f"{share} = {best}", label) for share, label in zip(shares, others, strict=False)]
        added = dict(zip(names, [case_sql(choices, last) if choices else last, best, *shares], strict=False))
        used = {"best", *(f"p{k}" for k in range(len(classes)))}
        passed = list[list[str]]()  # names that each step passes on, because later ones use them
        for step in reversed(steps):
            passed.insert(0, sorted(used - set(step)))
            used = (used - set(step)).union(*map(names_in, step.values()))
        self._refuse_wide(max(len(step) + len(more) for step, more in zip(steps, passed, strict=True)))
        kept, source, ctes = [self._cell(name) for name in self.keep], self.table, list[str]()
        for index, step in enumerate(steps):
            columns = [f"{self._formula(formula)} AS {self._name(name)}" for name, formula in step.items()]
            alone = self.dialect.materialized in (["all", "last"] if index == len(steps) - 1 else ["all"])
            select = f"SELECT {', '.join([*kept, *map(self._name, passed[index]), *columns])} FROM {source}"
            kept, source = list(map(self.dialect.identifier, self.keep)), self._name(f"step{index + 1}")
            ctes.append(f"{source} AS {'MATERIALIZED ' if alone else ''}({select})")
        final = [*kept, *(f"{value} AS {self.dialect.identifier(name)}" for name, value in added.items())]
        return "WITH " + ",\n".join(ctes) + f"\nSELECT {', '.join(final)} FROM {source}"

    def _refuse_wide(self, columns: int) -> None:
        most, columns = self.dialect.most_columns, columns + len(self.keep)
        if columns > most:
            raise InvalidInput(
                f"The model needs {columns:,} columns in a step of the query, and {self.dialect.name} allows {most:,}. "
                "Export it as JavaScript, JSON or ONNX, or fit it with fewer columns."
            )

    def _name(self, name: str) -> str:
        """Return the quoted name of a step, or of a formula of an earlier one."""
        return self.dialect.identifier(self.prefix + name)

    def _cell(self, name: str) -> str:
        """Return a column of the table; SQLite would take a name alone that is not there for a text."""
        return f"{self._name('rows')}.{self.dialect.identifier(name)}"

    def _class(self, label: Json) -> str:
        whole = isinstance(label, int) and not isinstance(label, bool)
        return number_sql(label) if whole else self.dialect.literal(label)

    # -- formulas ------------------------------------------------------------------------------------------------------

    def _formula(self, formula: Formula) -> str:
        """Return a formula as SQL."""
        match formula:
            case Number(int() as value):
                return number_sql(value)
            case Number(float() as value):
                return self.dialect.scalar(value)
            case Named(name):
                return self._name(name)
            case Cell(column):
                cell, kind = self._cell(column["name"]), column["type"]
                if column["kind"] == "label" and kind in ("text", "boolean"):
                    return self.dialect.category(cell, kind)
                return self.dialect.seconds(cell) if kind == "time" else self.dialect.number(cell)
            case CategoryCode():
                return self._code(formula)
            case BinCode(number, cuts):  # a number that equals a cut is below it
                codes = list(map(str, range(len(cuts) + 1)))
                return halves_sql(self._formula(number), list(map(number_sql, cuts.tolist())), codes, "<=")
            case Lookup(code, values):
                return self.dialect.value(self._formula(code), values.tolist())
            case Choice(condition, then, otherwise):
                return case_sql([(self._formula(condition), self._formula(then))], self._formula(otherwise))
            case Call(function, arguments):
                return self._call(function, *map(self._formula, arguments))
        raise AssertionError(formula)

    def _call(self, function: str, *arguments: str) -> str:
        """Return a function of numbers."""
        match function:
            case "log1p":  # to the last digits: the logarithm of the rounded sum, and what rounding took away
                (y,) = arguments
                return f"(LN(1e0 + {y}) + (({y} - ((1e0 + {y}) - 1e0)) / (1e0 + {y})))"
            case "missing":
                return f"{arguments[0]} IS NULL"
            case "no number":
                return f"CAST(NULL AS {self.dialect.double})"
            case "max":
                return f"{self.dialect.greatest}({', '.join(arguments)})"
            case "ln" | "exp":
                return f"{function.upper()}({arguments[0]})"
        return f"({arguments[0]} {function} {arguments[1]})"

    def _code(self, formula: CategoryCode) -> str:
        """Return the code of a category; of a missing one first, because comparisons with it are unknown."""
        cell = self._formula(formula.cell)
        missing = f"{cell} IS NULL"
        if formula.no_value and formula.column["type"] == "text":
            texts = [self.dialect.literal(text) for text in formula.no_value if "\0" not in text]
            missing += f" OR {cell} IN ({', '.join(texts)})"
        return case_sql([(missing, number_sql(int(formula.column["missing"])))], self.dialect.code(cell, formula))
