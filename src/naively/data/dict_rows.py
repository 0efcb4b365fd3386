"""A few rows as dicts, read value by value: for one row this is much quicker than making columns of it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from .._types import CellLike, ColumnLike, Places, TableLike
from ..errors import InvalidInput, infinite_cell
from ..families import Bernoulli, Bins, Poisson
from ..families.poisson import NEVER_NEGATIVE
from ..stats.axis import is_missing
from .cell_format import USUAL, exact_names
from .cells import CellType, NotRead, convert_cells, one_number
from .column import Column, same_kind
from .frame import Frame, FrameColumn, frame_of_rows, is_sequence
from .schema import Schema, likely
from .values import another_type, kind_for, plain_cell, seconds, time_texts, type_of_value

# More rows than this are quicker as columns.
FEW = 16

Reader = Callable[[CellLike], CellLike]  # from a cell to its code or number
PLAIN = frozenset((str, float, int, bool, type(None)))


class FewRows(Frame):
    """A few rows as dicts, which are counted value by value; columns are made of them when they are asked for."""

    def __init__(self, dicts: Sequence[Mapping[str, CellLike]], schema: Schema) -> None:
        self.dicts, self.of_dicts, self.rows = dicts, schema, len(dicts)
        self.named, self.matrix, self.texts = True, None, False

    @cached_property
    def columns(self) -> dict[str, FrameColumn]:  # type: ignore[override]  # made when they are asked for
        """The columns of the schema."""
        return frame_of_rows(self.dicts).on(self.of_dicts).columns

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.of_dicts.names

    @property
    def cells(self) -> int:
        """How many cells there are, which are too few to share among threads."""
        return 0

    @property
    def nbytes(self) -> int:
        """About how many bytes the cells take."""
        return 64 * sum(map(len, self.dicts))

    @property
    def is_storable(self) -> bool:  # type: ignore[override]  # it is looked for when somebody asks
        """Whether Arrow can hold the cells: half a pair of surrogates it cannot."""
        texts = (cell for row in self.dicts for cell in row.values() if isinstance(cell, str) and not cell.isascii())
        return not any("\ud800" <= letter <= "\udfff" for text in texts for letter in text)

    def on(self, schema: Schema) -> Frame:
        """Return the columns of a schema."""
        return self if schema.columns == self.of_dicts.columns else super().on(schema)

    def take(self, at: Places) -> FewRows:
        """Return some rows, in this order."""
        return FewRows([self.dicts[row] for row in at], self.of_dicts)


def few_rows(X: TableLike, schema: Schema | None) -> list[Mapping[str, CellLike]] | None:
    """Return a row, or a few, as dicts of single values; None if X is something else or more."""
    if type(X) is dict:
        return [X] if is_one_row(X) else None
    if type(X) is list:
        if not 0 < len(X) <= FEW:
            return None
        return X if all(type(row) is dict for row in X) else few_texts(X, schema)
    if schema is not None and type(X).__name__ == "Series" and hasattr(X, "index"):
        return row_of_series(X, schema)
    if schema is None or type(X).__name__ != "DataFrame" or not 0 < X.shape[0] <= FEW:
        return None
    return rows_of_frame(X, schema)


def few_texts(X: list[CellLike], schema: Schema | None) -> list[Mapping[str, CellLike]] | None:
    """Return a few texts as rows of the only column there is, if that holds texts."""
    if schema is None or len(schema) != 1 or schema.columns[0].type != "text":
        return None
    name = schema.columns[0].name
    return [{name: text} for text in X] if all(type(text) is str or is_missing(text) for text in X) else None


def is_one_row(X: TableLike) -> bool:
    """Return whether this is one row: a dict of single values."""
    return type(X) is dict and (PLAIN.issuperset(map(type, X.values())) or not any(map(is_sequence, X.values())))


def is_labelled_row(X: TableLike, y: ColumnLike) -> bool:
    """Return whether this is one row with its label: a series whose index names columns, such as ``frame.iloc[0]``."""
    return hasattr(X, "index") and hasattr(X, "items") and np.ndim(X) == 1 and np.ndim(y) == 0 and y is not None


def rows_of_frame(X: TableLike, schema: Schema) -> list[Mapping[str, CellLike]] | None:
    """Return the rows of a small data frame of pandas or Polars as dicts, if it has all columns by name."""
    names, library = [str(name) for name in X.columns], type(X).__module__.partition(".")[0]
    if len(set(names)) < len(names) or not set(schema.names) <= set(names) or library not in ("pandas", "polars"):
        return None  # the code for larger frames raises the error
    rows = X.rows() if library == "polars" else X.to_numpy(dtype=object)
    return [dict(zip(names, row, strict=True)) for row in rows]


def row_of_series(X: TableLike, schema: Schema) -> list[Mapping[str, CellLike]] | None:
    """Return a row that is a series, such as frame.iloc[0]: it knows columns by name; None if it is a column."""
    names = list(X.index)
    if len(set(names)) < len(names):
        return None
    if all(isinstance(name, str) for name in names):
        row = any(name in schema for name in names)  # a column that it lacks is an error with its name, as in a dict
    else:  # numbers may be names of columns, or the index of texts
        alone = len(schema) == 1 and schema.columns[0].type == "text"
        row = not alone and set(schema.names) <= set(map(str, names))
    return [dict(zip(map(str, names), X.to_numpy(dtype=object), strict=True))] if row else None


def label_reader(column: Column) -> Reader:
    """Return what makes a label of a value: None if it is missing, an error if it is of another type."""
    family = column.family
    if column.type == "empty":
        return lambda value: None
    if isinstance(family, Bins) or (isinstance(family, Bernoulli) and column.type != "boolean"):
        number = number_reader(column)

        def bin_or_flag(value: CellLike) -> CellLike:
            result = number(value)
            if result != result:
                return None
            if not isinstance(family, Bins):
                return result > (family.threshold or 0.0)
            if result in (np.inf, -np.inf):
                raise infinite_cell(0, column.name)
            return bisect_left(family.cuts or (), result)

        return bin_or_flag

    none = frozenset(exact_names(column.written))

    def label(value: CellLike) -> CellLike:
        if type(value) is str and column.type == "text":
            return None if value in none else value
        value = typed_cell(column, value)
        if value is None:
            return None
        return time_texts(pa.array([value]))[0].as_py() if column.type == "time" else value

    return label


def number_reader(column: Column) -> Reader:
    """Return what makes a number of a value: NaN if it is missing, an error if it is of another type."""
    if column.type == "empty":
        return lambda value: np.nan
    of_numbers = same_kind("whole", column.type)

    def number(value: CellLike) -> float:
        if type(value) is float:
            return value
        if not (type(value) is int and of_numbers):
            value = typed_cell(column, value)
            if value is None:
                return np.nan
            if column.type == "time":
                return float(seconds(pa.array([value]))[0])
        try:
            return float(value)
        except OverflowError:
            why = f"Column {column.name!r} holds a whole number too large for a float."
            raise InvalidInput(f"{why} Rescale it, or take its logarithm.", column=column.name) from None

    def events(value: CellLike) -> float:
        result = number(value)
        if result < 0:
            raise InvalidInput(f"Column {column.name!r} holds {result:g}; {NEVER_NEGATIVE}", column=column.name)
        return result

    return events if isinstance(column.family, Poisson) else number


def typed_cell(column: Column, value: CellLike) -> CellLike:
    """Return a value as one of the type that the column was learned with, None if it is missing; refuse others."""
    if isinstance(value, str) and column.of_texts:
        value = value_of(column, value)
    if is_missing(value):
        return None
    value = plain_cell(value)
    result = type_of_value(value)
    if result is None or not same_kind(result, column.type):
        raise another_type(column, repr(value))
    return value


def value_of(column: Column, text: str) -> CellLike:
    """Return the value that a text is in a column of anything but texts, None if it stands for none."""
    written = column.written or USUAL
    if column.measured and column.type != "time":  # the quick way, for predictions row by row
        result = one_number(text, written)
        return text if result is None else result
    texts = pa.array([text], pa.string())
    try:
        return convert_cells(texts, CellType(kind_for(column, texts), written))[0][0].as_py()
    except NotRead:
        return text  # of another type than the column: check_value raises the error


def texts_of_rows(rows: Sequence[Mapping[str, CellLike]], column: Column) -> list[str | None]:
    """Return the texts of a few rows in one column."""
    return [text for (text,) in cells_of(rows, [(column.name, label_reader(column))])]


def cells_of(rows: Sequence[Mapping[str, CellLike]], readers: Sequence[tuple[str, Reader]]) -> list[list[CellLike]]:
    """Return what each row holds in some columns, each read by its reader; a column that no row has is an error."""
    cells = []
    for row in rows:
        try:
            cells.append([read(row[name]) for name, read in readers])
        except KeyError:
            row = {str(name): value for name, value in row.items()}  # a number is a name, too
            cells.append([read(row[name] if name in row else absent(rows, name)) for name, read in readers])
    return cells


def absent(rows: Sequence[Mapping[str, CellLike]], name: str) -> CellLike:
    """Return None for a value that a row leaves out, if another row has it."""
    if not any(name in map(str, row) for row in rows):
        known = tuple(dict.fromkeys(str(key) for row in rows for key in row))
        raise InvalidInput(f"The table has no column {name!r}{likely(name, known)}", column=name)
    return None
