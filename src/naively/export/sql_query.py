"""A model as one SELECT: formulas as SQL, a common table expression for each step."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

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
)
from .scoring import scoring_steps
from .sql_dialects import DIALECTS, DuckDB, case_sql, halves_sql, number_sql

CAN = "SQL holds numbers, categories and booleans"


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
