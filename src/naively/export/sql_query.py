"""A model as one SELECT."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING

from .._types import Json, JsonObject
from ..errors import InvalidInput, InvalidSetting, NotInstalled
from ..errors.message import Setting
from .exported import HasFlat, flat_of, refuse_texts, written
from .scoring import scoring_steps

if TYPE_CHECKING:
    from .sql_dialects import Sql
    from .sql_writer import QueryWriter

SQL_DIALECTS = ("duckdb", "postgres", "sqlite", "bigquery")
CAN = "SQL holds numbers, labels and booleans; texts can be exported as JavaScript or JSON"


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
    """Return a model as one SELECT, which gives the answer and the probabilities of each row of a table.

    The query needs nothing but the table: it reads the columns of the model by their names. NULL is a missing value.
    The answer is the most probable class; costs and rejection are not part of it. Needs sqlglot:
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
        The table with the rows. Dots part the names of catalog, schema and table; a sequence gives them one by one.
    keep : sequence of str, default=()
        Columns of the table that are carried through, such as the key of a row.
    probabilities : bool, default=True
        Whether the probability of each class is a column: `P(class)`, in BigQuery `P_class`.
    prefix : str, default=""
        What is put before the names of the columns that are added: `answer`, `probability` and those of the classes.

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
    try:
        from .sql_dialects import DIALECTS
        from .sql_writer import QueryWriter
    except ImportError:
        raise NotInstalled("SQL is written by sqlglot", "sql") from None
    if dialect not in DIALECTS:
        known = ", ".join(map(repr, DIALECTS))
        raise InvalidSetting(Setting("dialect", dialect), f" is no dialect that SQL is written in; there are {known}.")
    content = flat_of(model).content
    refuse_texts(content, CAN)
    refuse_times_as_labels(content)
    names = answer_names(content["classes"] if probabilities else [], dialect, prefix)
    refuse_repeated([*keep, *names])
    writer = QueryWriter(DIALECTS[dialect], table.split(".") if isinstance(table, str) else table, keep)
    steps = scoring_steps(content)
    refuse_wide(writer.widest(steps), DIALECTS[dialect].most_columns, dialect)
    query = writer.query(steps, dict(zip(names, answers_sql(writer, content["classes"]), strict=False)))
    return written(query, path)


def answer_names(classes: Sequence[Json], dialect: str, prefix: str) -> list[str]:
    """Return the names of the columns that are added."""
    if dialect != "bigquery":
        return [prefix + name for name in ("answer", "probability", *(f"P({label})" for label in classes))]
    found = [prefix + "answer", prefix + "probability"]  # names of BigQuery are letters, digits and underscores
    for label in classes:
        name = prefix + "P_" + "".join(sign if sign.isalnum() else "_" for sign in str(label))
        found.append(name if name not in found else f"{name}_{len(found) - 2}")
    return found


def answers_sql(writer: QueryWriter, classes: Sequence[Json]) -> list[Sql]:
    """Return the most probable class, the first of several, its probability, and those of all classes."""
    from sqlglot import exp

    from .sql_dialects import choice_sql

    own = [writer.column(f"p{k}") for k in range(len(classes))]
    labels = [exp.convert(label) for label in classes]
    most_probable = [exp.EQ(this=p.copy(), expression=writer.column("best")) for p in own]
    cases = list(zip(most_probable, labels, strict=True))
    return [choice_sql(cases[:-1], labels[-1].copy()) if len(cases) > 1 else labels[0], writer.column("best"), *own]


# -- what is refused --------------------------------------------------------------------------------------------------


def refuse_times_as_labels(content: JsonObject) -> None:
    """Refuse labels that are times: databases write them in different ways."""
    for column in content["columns"]:
        if column["kind"] == "label" and column["type"] == "time":
            name = column["name"]
            why = f"Column {name!r} holds times as labels, which databases write in different ways; {CAN}."
            raise InvalidInput(why, column=name)


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


def refuse_wide(columns: int, most: int, dialect: str) -> None:
    """Refuse a query with more columns than a database can have."""
    if columns > most:
        raise InvalidInput(
            f"The model needs {columns:,} columns in a step of the query, and {dialect} allows {most:,}. Export it as "
            "JavaScript, JSON or ONNX, or fit it with fewer columns."
        )
