"""Formulas as one SELECT, a common table expression for each step; sqlglot writes names, literals and operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from .._types import JsonObject
from .formulas import (
    BinCode,
    Call,
    Choice,
    Formula,
    LabelCell,
    LabelCode,
    Lookup,
    Named,
    Number,
    NumberCell,
    Step,
    names_in,
)
from .sql_dialects import (
    Dialect,
    Sql,
    binary_sql,
    cast_sql,
    choice_sql,
    function_sql,
    halves,
    number_sql,
    text_sql,
)

OPERATORS = {"+": exp.Add, "-": exp.Sub, "*": exp.Mul, "/": exp.Div, "<": exp.LT, "=": exp.EQ}


class QueryWriter:
    """Writes the steps of a model as a query over a table."""

    def __init__(self, dialect: Dialect, table: Sequence[str], keep: Sequence[str]) -> None:
        self.dialect, self.table, self.keep = dialect, table, keep
        self.prefix = "nv_"  # of the names within the query
        while any(name.casefold().startswith(self.prefix) for name in (*keep, *table)):
            self.prefix += "_"

    def query(self, steps: Sequence[Step], answers: Mapping[str, Sql]) -> str:
        """Return the query: the columns that are kept, then the answers, which use the names of the steps."""
        used = {column.name for answer in answers.values() for column in answer.find_all(exp.Column)}
        ctes: list[Sql] = []
        for at, passed in enumerate(self._passed(steps, used)):
            own = [self._aliased(self._formula(formula), self._full(name)) for name, formula in steps[at].items()]
            columns = [*self._kept(at), *map(self.column, passed), *own]
            ctes.append(self._cte(at, len(steps), _select(columns, self._source(at))))
        final = [*self._kept(len(steps)), *(self._aliased(value, name) for name, value in answers.items())]
        query = _select(final, self._source(len(steps)))
        *steps_sql, last = [str(part.sql(dialect=self.dialect.name, copy=False)) for part in [*ctes, query]]
        return "WITH " + ",\n".join(steps_sql) + "\n" + last  # a line for each step

    def column(self, name: str) -> Sql:
        """Return the value of a formula of an earlier step."""
        return exp.Column(this=_identifier(self._full(name)))

    def widest(self, steps: Sequence[Step]) -> int:
        """Return how many columns the widest step has."""
        passed = self._passed(steps, set())
        return len(self.keep) + max(len(step) + len(more) for step, more in zip(steps, passed, strict=True))

    # -- parts of the query --------------------------------------------------------------------------------------------

    def _passed(self, steps: Sequence[Step], used: set[str]) -> list[list[str]]:
        """Return the names that each step passes on, because later ones use them."""
        later = {name.removeprefix(self.prefix) for name in used}
        found: list[list[str]] = []
        for step in reversed(steps):
            found.insert(0, sorted(later - set(step)))
            later = later - set(step) | set[str]().union(*map(names_in, step.values()))
        return found

    def _full(self, name: str) -> str:
        return self.prefix + name

    def _source(self, at: int) -> Sql:
        """Return what a step reads: the table, or the step before."""
        if at > 0:
            return exp.Table(this=_identifier(self._full(f"step{at}")))
        parts = dict(zip(("this", "db", "catalog"), map(_identifier, reversed(self.table)), strict=False))
        return exp.Table(**parts, alias=exp.TableAlias(this=_identifier(self._full("rows"))))

    def _cte(self, at: int, steps: int, select: Sql) -> Sql:
        name, alone = exp.TableAlias(this=_identifier(self._full(f"step{at + 1}"))), self.dialect.materialized
        materialized = alone == "all" or (alone == "last" and at == steps - 1)
        return exp.CTE(this=select, alias=name, materialized=materialized or None)

    def _kept(self, at: int) -> list[Sql]:
        return [self._cell(name) if at == 0 else exp.Column(this=_identifier(name)) for name in self.keep]

    def _cell(self, name: str) -> Sql:
        """Return a column of the table; SQLite would take a name alone that is not there for a text."""
        return exp.Column(this=_identifier(name), table=_identifier(self._full("rows")))

    def _aliased(self, value: Sql, name: str) -> Sql:
        return exp.Alias(this=value, alias=_identifier(name))

    # -- formulas ------------------------------------------------------------------------------------------------------

    def _formula(self, formula: Formula) -> Sql:
        """Return a formula as SQL."""
        match formula:
            case Number(value):
                return number_sql(value) if isinstance(value, int) else self.dialect.scalar(number_sql(value))
            case Named(name):
                return self.column(name)
            case NumberCell(column):
                return self._number_cell(column)
            case LabelCell(column):
                return self._label_cell(column)
            case LabelCode():
                return self._label_code(formula)
            case BinCode(number, cuts):  # a number that equals a cut is below it
                ends = [number_sql(cut) for cut in cuts]
                return halves(self._formula(number), ends, [number_sql(at) for at in range(len(cuts) + 1)], exp.LTE)
            case Lookup(code, values):
                return self.dialect.value(self._formula(code), values)
            case Choice(condition, then, otherwise):
                pairs = [(self._formula(condition), self._formula(then))]
                return choice_sql(pairs, self._formula(otherwise))
            case Call(function, arguments):
                return self._call(function, [self._formula(one) for one in arguments])

    def _call(self, function: str, arguments: list[Sql]) -> Sql:
        """Return a function of numbers."""
        if function in OPERATORS:
            return binary_sql(OPERATORS[function], *arguments)
        if function == "log1p":
            return _log1p(*arguments)
        if function == "missing":
            return exp.Is(this=arguments[0], expression=exp.null())
        if function == "no number":
            return cast_sql(exp.null(), "double")
        return function_sql(self.dialect.greatest if function == "max" else function.upper(), *arguments)

    def _number_cell(self, column: JsonObject) -> Sql:
        cell = self._cell(column["name"])
        return self.dialect.seconds(cell) if column["type"] == "time" else self.dialect.double(cell)

    def _label_cell(self, column: JsonObject) -> Sql:
        """Return a cell of labels, by the type of the labels."""
        cell = self._cell(column["name"])
        if column["type"] == "text":
            text = cast_sql(cell, "text")
            # Whatever the column's collation is, labels are equal if their characters are.
            binary = exp.Collate(this=text, expression=exp.var("BINARY"))
            return binary if self.dialect.name == "sqlite" else text
        if column["type"] == "boolean" and self.dialect.name != "sqlite":
            return cast_sql(cell, "boolean")
        return self.dialect.double(cell)

    def _label_code(self, known: LabelCode) -> Sql:
        """Return the code of a label; of a missing one first, because comparisons with it are unknown."""
        cell = self.column(known.cell.name)
        missing: Sql = exp.Is(this=cell, expression=exp.null())
        if known.no_value and known.column["type"] == "text":
            named = exp.In(
                this=cell.copy(), expressions=[text_sql(text) for text in known.no_value if "\0" not in text]
            )
            missing = exp.Or(this=missing, expression=named)
        none = number_sql(int(known.column["missing"]))
        return choice_sql([(missing, none)], self.dialect.code(cell.copy(), known))


def _log1p(y: Sql) -> Sql:
    """Return log(1 + y) to the last digits: that of the rounded sum, and what rounding took away."""
    above = binary_sql(exp.Add, number_sql(1.0), y)
    lost = binary_sql(exp.Sub, y.copy(), binary_sql(exp.Sub, above.copy(), number_sql(1.0)))
    return binary_sql(exp.Add, function_sql("LN", above), binary_sql(exp.Div, lost, above.copy()))


def _select(columns: Sequence[Sql], source: Sql) -> Sql:
    """Return a query; its parts are not copied, which would take most of the time."""
    return exp.Select().select(*columns, copy=False).from_(source, copy=False)


def _identifier(name: str) -> Sql:
    """Return a quoted name."""
    return exp.to_identifier(name, quoted=True)
