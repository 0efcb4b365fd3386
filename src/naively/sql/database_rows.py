"""The rows of a table in a database: its columns, the class of each row and its weight, as one query selects them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from .._kernels import LARGEST_WEIGHT
from .._types import Floats, Label, Longs
from ..data.column import Column, FamilySettings
from ..data.schema import Schema
from ..data.target import Target, check_kinds, target_of
from ..errors import InvalidInput, InvalidSetting
from ..errors.message import Setting
from ..families import Bernoulli, Bins
from ..stats import Axis
from ..stats.arithmetic import WANTED
from .database_schema import counted_type, schema_of_table
from .engine import IbisTable, IbisValue, checked_table, engine_name, ibis_module
from .expressions import bin_of_number, exact_literal, finite_number, number_of_cell, number_without_nan

# What the class and the weight of a row are called in queries; columns are numbered there.
CLASS, WEIGHT, COUNT = "y", "w", "n"


@dataclass(frozen=True)
class DatabaseRows:
    """A table in a database, and which of its columns are counted, hold the classes, or hold the weights."""

    table: IbisTable
    schema: Schema
    target: str
    weight: str | None
    labelled: bool = False  # whether all rows are known to have a label and a weight

    @classmethod
    def of(
        cls,
        table: IbisTable,
        target: str,
        families: FamilySettings | Schema | None,
        weight: str | None,
        ignore: Sequence[str],
    ) -> DatabaseRows:
        """Return the rows of a table, if all of these are columns of it."""
        table, names = checked_table(table), table.columns
        if isinstance(ignore, str):
            raise InvalidSetting(Setting("ignore", ignore), " must be a list of columns.")
        for name in (target, *([] if weight is None else [weight]), *ignore):
            Schema(tuple(Column(known, "text") for known in names))[name]  # says which columns there are
        if weight == target:
            raise InvalidInput(f"{weight!r} is the column of the classes, and cannot be that of the weights, too.")
        apart = {target, *ignore} | ({weight} if weight is not None else set())
        schema = schema_of_table(table, families, apart)
        rows = cls(table, Schema(schema.columns, (), target, None, weight), target, weight)
        rows._check_weights_type()
        return rows

    def _check_weights_type(self) -> None:
        """Refuse weights that are no numbers."""
        kind = None if self.weight is None else counted_type(self.weight, self.table[self.weight].type(), self.table)
        if kind not in ("number", "whole", "boolean", None):
            raise InvalidInput(
                f"The column {self.weight!r} of the weights holds {kind}; a row weighs a number of 0 or more.",
                column=self.weight,
            )

    @cached_property
    def engine(self) -> str:
        """The database, such as "duckdb", "postgres" or "sqlite"."""
        return engine_name(self.table)

    # -- expressions ----------------------------------------------------------------------------------------------

    @property
    def class_cell(self) -> IbisValue:
        """The class of a row; NULL where it is NaN."""
        cell = self.table[self.target]
        if cell.type().is_floating():
            return number_without_nan(cell, self.engine)
        return self.exact_cell(cell)

    def class_literal(self, label: Label) -> IbisValue:
        """Return a class as a literal to compare with the class of a row."""
        return ibis_module().literal(str(label) if self.class_cell.type().is_string() else label)

    def exact_cell(self, cell: IbisValue) -> IbisValue:
        """Return a cell as it comes through unchanged: whole numbers of SQLite lose digits on their way if not."""
        kind = cell.type()
        if kind.is_null() or (kind.is_integer() and self.engine == "sqlite"):
            return cell.cast("string")
        return cell

    def number(self, name: str) -> IbisValue:
        """Return a column as numbers, NULL where there is none that can be counted."""
        return finite_number(number_of_cell(self.table, name))

    def label(self, column: Column) -> IbisValue:
        """Return a column as what its labels follow from: cells as they are, the bins of numbers, or flags."""
        family = column.family
        if isinstance(family, Bins):
            return bin_of_number(self.number(column.name), family.cuts or ())
        if isinstance(family, Bernoulli) and column.type != "boolean":
            number = number_without_nan(number_of_cell(self.table, column.name), self.engine)
            return number > (family.threshold or 0.0)
        return self.exact_cell(self.table[column.name])

    def selected(self, values: Mapping[str, IbisValue]) -> IbisTable:
        """Return the class, the weight and some values of each row that has a label and a weight."""
        beside = {CLASS: self.class_cell}
        if self.weight is not None:
            beside[WEIGHT] = self.weight_cell
        rows = self.table.select(**beside, **values)
        if not self.labelled:
            rows = rows.filter(rows[CLASS].notnull())
        return rows if self.weight is None else rows.filter(rows[WEIGHT] > 0)

    @property
    def weight_cell(self) -> IbisValue:
        """The weight of a row; NULL if no row can have it."""
        assert self.weight is not None
        weight = number_of_cell(self.table, self.weight)
        return ibis_module().ifelse((weight >= 0) & (weight <= exact_literal(LARGEST_WEIGHT)), weight, None)

    def count_of(self, rows: IbisTable) -> IbisValue:
        """Return what counts rows, by their weight."""
        return rows.count() if self.weight is None else rows[WEIGHT].sum()

    # -- answers --------------------------------------------------------------------------------------------------

    def classes_of(self, answer: pa.Table) -> Target:
        """Return the classes in an answer of the database; code -1 where there is none."""
        target = target_of(self.exact_answer(answer.column(CLASS), self.target))
        assert isinstance(target, Target), "a column holds labels"
        return target

    def labels_of(self, answer: pa.Table, alias: str, column: Column) -> pa.ChunkedArray:
        """Return the cells of a column of labels in an answer, numbers as one of those in their bin."""
        found = answer.column(alias)
        if isinstance(column.family, Bins):
            return numbers_in_bins(found, column.family.cuts or ())
        return self.exact_answer(found, column.name)

    def exact_answer(self, found: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
        """Return cells as they are in the table: whole numbers may have come as texts."""
        whole = self.table[name].type().is_integer() and pa.types.is_string(found.type)
        return found.cast(pa.int64()) if whole else found


def numbers_in_bins(bins: pa.ChunkedArray, cuts: Sequence[float]) -> pa.Array:
    """Return a number of each bin, so that it is put into that bin again; NULL stays what it is."""
    inside = np.array([*cuts, np.nextafter(cuts[-1], np.inf)] if len(cuts) else [0.0])
    codes = bins.fill_null(0).to_numpy().astype(np.intp)
    return pa.array(inside[codes], mask=np.asarray(bins.is_null()))


class ClassRows(NamedTuple):
    """The classes of all rows, and how many rows there are of each, by weight."""

    axis: Axis
    rows: Floats


def checked_class_rows(rows: DatabaseRows, overview: pa.Table, unlabelled: str, declared: Sequence[Label]) -> ClassRows:
    """Return the classes and their rows, if there are some, and all have a weight and a label, or may be skipped."""
    target, met = rows.classes_of(overview), column_of(overview, "rows")
    total, there = int(met.sum()), target.codes >= 0
    if not total:
        raise InvalidInput("The table has no rows: there is nothing to count.")
    if rows.weight is not None and (wrong := int(column_of(overview, "weighed_wrongly").sum())):
        raise InvalidInput(
            f"{wrong:,} of {total:,} rows have a weight in column {rows.weight!r} that no row can have; {WANTED}",
            column=rows.weight,
        )
    if unlabelled != "skip" and not there.all():
        raise InvalidInput(
            f"{int(met[~there].sum()):,} of {total:,} rows have no label: column {rows.target!r} is NULL there. Leave "
            "these rows out, or set ",
            Setting("unlabelled", "skip"),
            ".",
            column=rows.target,
        )
    if not there.any():
        raise InvalidInput("No row has a label: there is nothing to learn from.", column=rows.target)
    check_kinds([*declared, *target.labels] if declared else [])
    axis = Axis(target.labels, declared)
    counted = np.zeros(len(axis))
    np.add.at(counted, axis.places(target.labels)[target.codes[there]], column_of(overview, COUNT)[there])
    if not counted.any():
        raise InvalidInput("Sample weights must contain at least one non-zero number.", column=rows.weight)
    return ClassRows(axis, counted)


def column_of(answer: pa.Table, name: str) -> Floats:
    """Return sums in an answer; a sum of no rows is 0."""
    found = answer.column(name)
    return np.asarray(found.cast(pa.float64()).fill_null(0.0).to_numpy(), dtype=np.float64)


def places_of(rows: DatabaseRows, answer: pa.Table, axis: Axis) -> Longs:
    """Return where the class of each line of an answer stands among all; -1 where it has none."""
    target = rows.classes_of(answer)
    return np.append(axis.places(target.labels), -1)[target.codes]
