"""Tables of any library, arrays and dicts → a Frame."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from scipy import sparse

from .._threads import WORTHWHILE, in_threads
from .._types import AnyArray, CellLike, Codes, ColumnLike, Label, Matrix, Objects, Places, TableLike
from ..errors import InvalidInput
from ..errors.message import RowNumber
from ..families import Ordinal
from ..stats.axis import is_missing
from . import cells
from .cell_format import USUAL
from .column import NOUNS, Column, FamilyLike, FamilySettings, family_of, wants_text
from .schema import Schema, likely
from .values import ColumnValues, another_type, arrow_labels, known_objects

# A column of single values, or of vectors.
FrameColumn = ColumnValues | Matrix
# The name of the only column of a sparse matrix, and of a list of texts.
MATRIX, TEXT = "X", "text"


class EncodedCells(NamedTuple):
    """What a counter has made of the cells of a frame: codes and numbers, [row, column]; known by its vocabularies."""

    words: object
    codes: Codes | None
    numbers: AnyArray | None

    def take(self, at: Places) -> EncodedCells:
        """Return the cells of some rows."""
        codes, numbers = (None if part is None else columnwise(part, at) for part in (self.codes, self.numbers))
        return EncodedCells(self.words, codes, numbers)


def columnwise(matrix: AnyArray, rows: Places) -> AnyArray:
    """Return some rows of a matrix, which lies column by column as before."""
    return np.asfortranarray(matrix[rows]) if matrix.flags.c_contiguous else matrix.T[:, rows].T


class Frame:
    """Named columns of the same length, where they lie. A matrix of numbers is kept whole, too."""

    encoded: EncodedCells | None = None  # while a model is fitted to rows that were counted
    is_storable = True  # whether Arrow can hold the cells

    def __init__(
        self,
        columns: Mapping[str, FrameColumn],
        rows: int,
        *,
        named: bool = True,
        matrix: AnyArray | None = None,
        texts: bool = False,
    ) -> None:
        self.columns, self.rows, self.named, self.matrix = dict(columns), rows, named, matrix
        self.texts = texts  # whether it is but a column of texts, which are to be tokenized

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.columns)

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return self.rows * len(self.columns)

    def schema(self, families: FamilySettings | Schema | None = None) -> Schema:
        """Return what the columns are, by their types alone; one that is empty yet is what its family says."""
        given = families if isinstance(families, Mapping) else {}
        if self.texts:
            return Schema(tuple(Column.of(name, "text", "words") for name in self.columns))
        return Schema(tuple(self._column(name, values, given.get(name)) for name, values in self.columns.items()))

    def _column(self, name: str, values: FrameColumn, asked: FamilyLike | None) -> Column:
        """Return what a column is, by the type of its values, or by its family if it has none.

        Texts that are all numbers are these, but not in arrays; one row does not show what a column holds.
        """
        if not isinstance(values, ColumnValues):
            return Column.of(name, "vector", None if sparse.issparse(values) else "gaussian")
        family = None if asked is None else family_of(name, asked)
        if values.type is None and family is not None and family.name in ("gaussian", "poisson", "bins"):
            return Column(name, "number")
        categories = Ordinal(levels=values.levels) if values.ordered else "categorical" if values.categorical else None
        column = Column.of(name, values.type or "text", categories, values.levels)
        words = family is not None and family.name == "words"
        if not self.named or values.type != "text" or values.categorical or words:
            return column
        numbers = values.written() if self.rows > 1 and (family is None or not wants_text(family)) else None
        if numbers is None:
            return replace(column, written=USUAL)
        return Column(name, "whole" if cells.WHOLE in numbers.kinds else "number", written=numbers.written)

    def on(self, schema: Schema) -> Frame:
        """Return the columns of a schema, by name, or by position where one of the two has no names.

        Vectors are refused where single values were learned, and the reverse; texts are read as the numbers they are.
        """
        frame = self.aligned(schema)
        columns = dict(frame.columns)
        for column in schema:
            name, values = column.name, columns[column.name]
            if column.type == "empty":
                values = ColumnValues(name, pa.nulls(self.rows))
            elif isinstance(values, ColumnValues) and values.type == "text" and column.of_texts:
                values = values.as_in(column)
            if isinstance(values, ColumnValues) is (column.type == "vector"):
                now = NOUNS[values.type or "text"] if isinstance(values, ColumnValues) else "vectors"
                raise another_type(column, now)
            columns[name] = values
        same = all(columns[name] is values for name, values in frame.columns.items())
        return frame if same else Frame(columns, self.rows, named=frame.named)

    def aligned(self, schema: Schema) -> Frame:
        """Return the columns of a schema as they are, by name or by position."""
        if self.names == schema.names:
            return self
        if not self.named or () != schema.names == tuple(f"x{index}" for index in range(len(schema))) != self.names:
            return self._by_position(schema)
        missing = [name for name in schema.names if name not in self.columns]
        if missing:
            more = f" ({len(missing)} columns are missing in all)" if len(missing) > 1 else ""
            raise InvalidInput(
                f"The table has no column {missing[0]!r}{more}{likely(missing[0], self.names)}", column=missing[0]
            )
        return Frame({name: self.columns[name] for name in schema.names}, self.rows)

    def _by_position(self, schema: Schema) -> Frame:
        whole = [not isinstance(values, ColumnValues) for values in self.columns.values()] == [True]
        vectors = [column.type == "vector" for column in schema]
        if self.matrix is not None and vectors == [True]:
            return Frame({schema.names[0]: self.matrix}, self.rows)
        if whole and not any(vectors):
            raise InvalidInput(
                f"X is a sparse matrix, but NaiveBayes is expecting {len(schema)} features as single columns: give "
                "X.toarray(), or learn from a sparse matrix, too."
            )
        if len(self.columns) != len(schema):
            raise InvalidInput(
                f"X has {len(self.columns)} features, but NaiveBayes is expecting {len(schema)} features as input."
            )
        return Frame(dict(zip(schema.names, self.columns.values(), strict=True)), self.rows, matrix=self.matrix)

    def take(self, at: Places) -> Frame:
        """Return some rows, in this order."""
        matrix = None if self.matrix is None else self.matrix.take(at, axis=0)
        if matrix is not None and matrix.shape[1] == len(self.columns):  # its columns lie there
            columns = {n: v.on(matrix[:, j]) for j, (n, v) in enumerate(self.columns.items())}
        else:
            several = None if len(at) * len(self.columns) >= WORTHWHILE else 1
            values = self.columns.values()
            taken = in_threads(lambda v: v.take(at) if isinstance(v, ColumnValues) else v[at], values, several)
            columns = dict(zip(self.columns, taken, strict=True))
        some = Frame(columns, len(at), named=self.named, matrix=matrix)
        some.encoded = None if self.encoded is None else self.encoded.take(at)
        return some

    def text_bytes(self, name: str) -> float:
        """Return about how many bytes the values of a column take."""
        values = self.columns[name]
        return values.bytes if isinstance(values, ColumnValues) else float(values.nbytes)

    def vectors(self, name: str) -> Matrix:
        """Return a column of vectors."""
        return self.columns[name]

    @property
    def nbytes(self) -> int:
        """How many bytes the cells take."""
        if self.matrix is not None:
            return int(self.matrix.nbytes)
        return sum(int(getattr(values.data, "nbytes", 0)) for values in self.columns.values())

    def without_types(self, names: Collection[str]) -> Frame:
        """Return the same, some columns without a type, as all their cells are missing."""
        empty = {name: ColumnValues(name, pa.nulls(self.rows)) for name in names}
        return Frame(self.columns | empty, self.rows, named=self.named)

    def only(self, names: Sequence[str]) -> Frame:
        """Return some of the columns."""
        if len(names) == len(self.columns):
            return self
        return Frame({name: self.columns[name] for name in names}, self.rows, named=self.named)

    def coded(self) -> Frame:
        """Return the same, to be read again and again: texts as codes."""
        columns = {n: v.coded() if isinstance(v, ColumnValues) else v for n, v in self.columns.items()}
        return Frame(columns, self.rows, named=self.named, matrix=self.matrix)


def frame_of(X: TableLike) -> Frame:
    """Return a table as a Frame: a data frame of any library, an array, a dict of columns, dicts as rows."""
    if isinstance(X, Frame):
        return X
    if sparse.issparse(X):
        return Frame({MATRIX: X.tocsr()}, X.shape[0], named=False)
    if (texts := column_of_texts(X)) is not None:
        return Frame({texts.name: texts}, len(texts), named=False, texts=True)
    if isinstance(X, Mapping):
        return frame_of_dict(X)
    if isinstance(X, (pa.Table, pa.RecordBatch)):
        refuse_twice(X.schema.names)
        columns = {name: arrow_values(name, X.column(index)) for index, name in enumerate(X.schema.names)}
        return Frame(columns, X.num_rows)
    if isinstance(X, np.ndarray):
        return frame_of_array(X)
    if hasattr(type(X), "columns") or hasattr(X, "__dataframe__") or hasattr(X, "__narwhals_dataframe__"):
        return frame_of_any(X)
    if isinstance(X, Sequence) and not isinstance(X, (str, bytes)):
        return frame_of_rows(X)
    if hasattr(X, "__array__"):
        return frame_of_array(np.asarray(X))
    raise InvalidInput(
        f"Expected a table: a data frame, a 2D array, a dict of columns or a list of dicts; got {type(X).__name__}."
    )


def column_of_texts(X: TableLike) -> ColumnValues | None:
    """Return a list or a column of texts, None if this is something else."""
    if isinstance(X, (list, tuple)):
        return text_list(X)
    if isinstance(X, (pa.Array, pa.ChunkedArray)) or (
        isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype.kind in "UTO" and len(X)
    ):
        result = ColumnValues(TEXT, X)
    elif hasattr(X, "dtype") and hasattr(X, "name") and np.ndim(X) == 1 and len(X):  # a series
        result = series_values(X.name if isinstance(X.name, str) and X.name else TEXT, X)
    else:
        return None
    return result if result.type == "text" or (result.type is None and not result.floating) else None


def text_list(X: Sequence[CellLike]) -> ColumnValues | None:
    """Return a list of texts, some or all of which may be missing; None if it is a list of something else."""
    if not any(isinstance(text, (str, bytes)) for text in X):
        empty = X and all(is_missing(text) and not isinstance(text, float) for text in X)
        return ColumnValues(TEXT, pa.nulls(len(X), pa.large_string())) if empty else None
    if set(map(type, X)) == {str}:  # looked at in one go, for there may be millions
        return ColumnValues(TEXT, object_array(X), kind="text")
    for row, text in enumerate(X):
        if not (isinstance(text, str) or is_missing(text)):
            by = "bytes.decode('utf-8')" if isinstance(text, bytes) else "str()"
            result = f"{text!r} of type {type(text).__name__}"
            raise InvalidInput(
                RowNumber(row), f" holds {result}, which is no text, as others are. Convert it, e.g. by {by}."
            )
    try:
        return ColumnValues(TEXT, pa.array(X, pa.large_string(), from_pandas=True))
    except UnicodeEncodeError:  # halves of surrogate pairs are read as they are
        return ColumnValues(TEXT, object_array(X))


def frame_of_array(X: TableLike) -> Frame:
    """Return the columns of an array; they are called x0, x1, … unless the array names them."""
    if isinstance(X, np.ma.MaskedArray):
        X = X.filled(np.nan) if X.dtype.kind == "f" else np.ma.filled(X.astype(object), None)
    if X.dtype.names:
        return frame_with_columns(
            {name: ColumnValues(name, np.ascontiguousarray(X[name])) for name in X.dtype.names}, len(X)
        )
    if X.ndim != 2:
        raise InvalidInput(
            f"Expected 2D array, got {X.ndim}D array instead: shape {X.shape}. Reshape your data: array.reshape(-1, 1) "
            "if it has a single column, array.reshape(1, -1) if it is a single row."
        )
    if X.dtype.kind in "cSV":
        kind = "Complex data" if X.dtype.kind == "c" else f"Data of type {X.dtype}"
        raise InvalidInput(f"{kind} not supported: X must hold numbers, texts, booleans or times.")
    X = X if X.dtype.isnative else X.astype(X.dtype.newbyteorder("="))
    columns = {f"x{index}": ColumnValues(f"x{index}", X[:, index]) for index in range(X.shape[1])}
    return Frame(columns, len(X), named=False, matrix=X if X.dtype.kind in "iuf" else None)


def frame_of_dict(X: Mapping[Label, ColumnLike]) -> Frame:
    """Return a dict of columns as a frame; a dict of single values is one row."""
    if not any(is_sequence(value) for value in X.values()):
        return frame_of_rows([X])
    refuse_twice([str(name) for name in X])
    for name, value in X.items():
        if not is_sequence(value):
            raise InvalidInput(
                f"Column {name!r} is a single {type(value).__name__} among columns; give all values, or none.",
                column=name,
            )
    columns = {str(name): values_of(str(name), value) for name, value in X.items()}
    lengths = {name: value.shape[0] if hasattr(value, "shape") else len(value) for name, value in columns.items()}
    if len(set(lengths.values())) > 1:
        raise InvalidInput(f"The columns have different lengths: {lengths}.")
    return frame_with_columns(columns, next(iter(lengths.values())))


def is_sequence(value: CellLike) -> bool:
    """Return whether something is a column rather than a cell."""
    if isinstance(value, (str, bytes)) or not (hasattr(value, "__len__") or sparse.issparse(value)):
        return False
    return isinstance(value, (list, tuple)) or sparse.issparse(value) or np.ndim(value) > 0


def values_of(name: str, value: ColumnLike) -> FrameColumn:
    """Return something with a value for each row as Values; a matrix is one column of vectors."""
    if sparse.issparse(value):
        return numbers_only(name, value.tocsr())
    if isinstance(value, (pa.Array, pa.ChunkedArray)):
        return arrow_values(name, value)
    if isinstance(value, np.ndarray) or (hasattr(value, "__array__") and not hasattr(value, "dtype")):
        array = np.asarray(value)
        return numbers_only(name, array) if array.ndim != 1 else ColumnValues(name, array)
    if hasattr(value, "dtype"):
        return series_values(name, value)
    return ColumnValues(name, object_array(list(value)))


def numbers_only(name: str, vectors: Matrix) -> Matrix:
    """Return a column of vectors, if they hold numbers."""
    if vectors.ndim != 2:
        raise InvalidInput(f"Column {name!r} has {vectors.ndim} dimensions; a column of vectors has two.", column=name)
    if vectors.dtype.kind not in "biuf":
        raise InvalidInput(
            f"Column {name!r} holds vectors of {vectors.dtype}; vectors hold numbers. Give other values as "
            "columns of their own.",
            column=name,
        )
    return vectors


def object_array(values: Sequence[CellLike]) -> Objects:
    """Return a list as an array of objects, whatever they are."""
    return np.fromiter(values, dtype=object, count=len(values))


def frame_of_rows(X: Sequence[TableLike]) -> Frame:
    """Return rows as a frame: dicts, or sequences without names."""
    if not len(X):
        raise InvalidInput("Found array with 0 sample(s) (an empty list) while a minimum of 1 is required.")
    if all(isinstance(row, Mapping) for row in X):
        names = list(dict.fromkeys(name for row in X for name in row))
        refuse_twice([str(name) for name in names])
        columns = {str(n): ColumnValues(str(n), object_array([row.get(n) for row in X])) for n in names}
        return frame_with_columns(columns, len(X))
    try:
        array = np.asarray(X)
    except ValueError:
        raise InvalidInput("The rows have different lengths; give every row the same number of values.") from None
    if array.dtype.kind in "US" and array.ndim == 2 and not all(isinstance(v, str) for row in X for v in row):
        array = np.array([list(row) for row in X], dtype=object)  # numbers beside texts would become texts
    return frame_of_array(array)


def frame_of_any(X: TableLike) -> Frame:
    """Return a data frame of any library that narwhals reads."""
    import narwhals.stable.v2 as nw

    if not hasattr(type(X), "collect"):  # the names of a lazy frame are known when it is collected
        refuse_twice([str(name) for name in getattr(X, "columns", ())])
    try:
        frame = nw.from_native(X)
    except TypeError as error:
        raise InvalidInput(f"{type(X).__name__} is no table that can be read: {error}") from None
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if frame.implementation.is_pandas():  # which gives its columns in a third of the time itself
        pairs = frame.to_native().items()
    else:  # by name: to take a column by its place, narwhals makes a list of all names each time
        pairs = ((name, frame.get_column(name).to_native()) for name in frame.columns)
    return Frame({str(name): series_values(str(name), series) for name, series in pairs}, len(frame))


def series_values(name: str, series: ColumnLike) -> ColumnValues:
    """Return a series of any library as Values, with its declared levels, if it has some."""
    if isinstance(series, (pa.Array, pa.ChunkedArray)):
        return arrow_values(name, series)
    kind = series.dtype
    if isinstance(kind, np.dtype):  # pandas over NumPy: as it lies
        return ColumnValues(name, np.asarray(series))
    if hasattr(series, "to_arrow"):  # Polars: turned to Arrow a block at a time
        # The categories of its Categorical are those seen so far, by any column; an Enum declares them in order.
        levels = tuple(series.dtype.categories) if type(kind).__name__ == "Enum" else None
        newest = import_module("polars").CompatLevel.newest()
        return ColumnValues(name, series, levels, newest, ordered=levels is not None)
    if (known := pandas_values(name, series)) is not None:
        return known
    if getattr(kind, "tz", None) is not None:  # Arrow would ask pandas for it in a way that warns
        times: ColumnLike = getattr(series, "dt", series)  # an index is its own
        moments = times.tz_convert(None).to_numpy()
        return arrow_values(name, pa.array(moments, pa.timestamp(kind.unit, str(kind.tz)), from_pandas=True))
    return arrow_values(name, pa.array(series, from_pandas=True))


def pandas_values(name: str, series: ColumnLike) -> ColumnValues | None:
    """Return a series of a type that only pandas has; None if it is of another."""
    kind = type(series.dtype).__name__
    if kind == "SparseDtype":
        return ColumnValues(name, np.asarray(series))
    if kind == "CategoricalDtype":  # codes, and categories that a file can hold
        categories = np.asarray(series.dtype.categories)
        with suppress(pa.ArrowInvalid, pa.ArrowTypeError):  # of several types: whoever reads the cells says so
            objects = categories.dtype.kind == "O"
            labels = pa.array(known_objects(categories)[0] if objects else categories, from_pandas=True)
            codes = np.asarray(series.cat.codes if hasattr(series, "cat") else series.codes)
            data = pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), labels)
            return ColumnValues(name, data, arrow_labels(labels), ordered=bool(series.dtype.ordered))
    objects = kind in ("PeriodDtype", "IntervalDtype", "CategoricalDtype")
    return ColumnValues(name, np.asarray(series, dtype=object)) if objects else None


def arrow_values(name: str, array: pa.Array) -> ColumnValues:
    """Return an Arrow array as Values; a dictionary that has an order declares its levels."""
    if not (pa.types.is_dictionary(array.type) and array.type.ordered):
        return ColumnValues(name, array)
    chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
    levels = dict.fromkeys(level for chunk in chunks for level in arrow_labels(chunk.dictionary) if level is not None)
    return ColumnValues(name, array, tuple(levels), ordered=True)


def frame_with_columns(columns: dict[str, FrameColumn], rows: int) -> Frame:
    """Return a frame, if it has columns."""
    if not columns:
        raise InvalidInput("The table has 0 feature(s): there must be at least one column.")
    return Frame(columns, rows)


def refuse_twice(names: list[str]) -> None:
    """Refuse columns of the same name."""
    if len(set(names)) < len(names):
        name = next(name for name in names if names.count(name) > 1)
        raise InvalidInput(f"Two columns are called {name!r}; give each a name of its own.")
