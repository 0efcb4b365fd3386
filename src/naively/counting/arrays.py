"""Counts matrices through the compiled kernels: single columns, and wide ones (vectors, flags, words of texts)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, TypedDict
from weakref import WeakValueDictionary

import numpy as np
from scipy import sparse

from .. import _kernels
from .._types import AnyArray, Codes, DType, Floats, Label, Matrix
from ..data.column import Column
from ..data.frame import Frame
from ..data.values import ColumnValues
from ..errors import InvalidInput, NumberTooLarge, RowRefused
from ..errors.message import RowNumber
from ..families import Bernoulli, Words
from ..families.family import row_blocks
from ..families.numbers import DENSE
from ..stats import (
    Axis,
    CodesAccumulator,
    CountsAccumulator,
    Moments,
    MomentsAccumulator,
    Table,
    TableAccumulator,
    WordTable,
)
from ..stats.accumulators import as_codes, as_weights
from ..stats.counts import ColumnStatistic
from ..stats.word_table import WordCells
from ..text import TextReader, TextRows, Tokens

# The square of a larger number, summed over rows, would overflow.
LARGEST = _kernels.LARGEST_NUMBER
# Counts beyond this cannot be summed.
LARGEST_COUNT = _kernels.LARGEST_COUNT
READABLE = frozenset(np.dtype(kind) for kind in ("f8", "f4", "i8", "i4", "u1", "?"))

AnyAccumulator = TableAccumulator | CodesAccumulator | MomentsAccumulator


def add(
    counts: CountsAccumulator, batch: dict[str, Matrix], y: AnyArray, weights: Floats | None = None, threads: int = 1
) -> None:
    """Count a batch: a matrix for each column, the class code of each row, and the weight of each row.

    An error leaves the counts as they were. A single column is checked while it is counted; of several, each is looked
    through before the first is counted.
    """
    matrices = {name: kernel_matrix(matrix) for name, matrix in batch.items()}
    codes, weights = checked_rows(y, weights)
    for name, accumulator in counts.columns.items():
        check_column(name, accumulator, matrices.get(name), len(y))
    if len(counts.columns) > 1:
        for name, accumulator in counts.columns.items():
            add_column(accumulator.fresh(), matrices[name], codes, weights, threads, name)
    for name, accumulator in counts.columns.items():
        add_column(accumulator, matrices[name], codes, weights, threads, name)
    counts.add_rows(codes, weights)  # last: it cannot fail


def checked_rows(y: AnyArray, weights: Floats | None) -> tuple[Codes, Floats | None]:
    """Return class codes and weights as the kernels read them; whether there are such classes the kernels will see."""
    if y.ndim != 1 or y.dtype.kind not in "iu":
        raise InvalidInput(f"Classes must be one whole number for each row; found {y.dtype} of shape {y.shape}.")
    if weights is not None and np.shape(weights) != y.shape:
        raise InvalidInput(f"Weights of shape {np.shape(weights)} do not fit {len(y)} rows; give one for each row.")
    return as_codes(y), as_weights(weights)


def check_column(name: str, accumulator: AnyAccumulator, x: Matrix, rows: int) -> None:
    """Refuse a matrix that its accumulator cannot count."""
    wanted = (rows, accumulator.width)
    if x is None or x.shape != wanted:
        result = "nothing" if x is None else f"shape {x.shape}"
        raise InvalidInput(f"Column {name!r} needs shape {wanted}; found {result}.", column=name)
    if x.dtype.kind not in "biuf":
        raise InvalidInput(f"Column {name!r} holds {x.dtype}; convert it to numbers first.", column=name)
    if isinstance(accumulator, TableAccumulator):
        return
    if is_sparse(x):
        raise InvalidInput(
            f"Column {name!r} is sparse, but {type(accumulator).__name__} counts dense rows.", column=name
        )
    if isinstance(accumulator, CodesAccumulator) and x.dtype.kind not in "iub":
        raise InvalidInput(f"Column {name!r} holds {x.dtype}, but its codes must be whole numbers.", column=name)


def add_column(
    accumulator: AnyAccumulator, x: Matrix, y: Codes, weights: Floats | None, threads: int, name: str = "X"
) -> None:
    """Count one column, which may be a whole matrix; a row that is refused changes nothing."""
    row = accumulator.add(x, y, weights, threads)
    if row >= 0:
        raise refused_cell(name, accumulator, x, row)


def refused_cell(name: str, accumulator: AnyAccumulator, x: Matrix, row: int) -> InvalidInput:
    """Return the error that says which cell of a refused row cannot be counted, and why."""
    entries = slice(*x.indptr[row : row + 2]) if is_sparse(x) else row
    cells = (x.data if is_sparse(x) else x)[entries].astype(np.float64)
    columns = x.indices[entries] if is_sparse(x) else np.arange(len(cells))
    if isinstance(accumulator, CodesAccumulator):
        at = int(np.argmax((cells >= accumulator.sizes) | ((cells < 0) & ~np.bool_(accumulator.allow_missing))))
        return RowRefused(row, at, f"{cells[at]:.0f}", f"its codes are 0 … {accumulator.sizes[at] - 1}.")
    if isinstance(accumulator, MomentsAccumulator):
        at = int(np.argmax(~(np.abs(cells) <= LARGEST) & ~(accumulator.allow_missing & np.isnan(cells))))
        if not np.isnan(cells[at]):
            return NumberTooLarge(accumulator.columns.labels[at], float(cells[at]))
        return RowRefused(row, accumulator.columns.labels[at], cells[at], "only numbers can be counted.")
    wrong = ~np.isfinite(cells) | (cells < (-np.inf if accumulator.least is None else accumulator.least))
    if accumulator.threshold is None:
        wrong |= cells > LARGEST_COUNT
    if not wrong.any():
        return InvalidInput(
            RowNumber(row), f" of the sparse matrix {name!r} has column indices outside its {x.shape[1]} columns."
        )
    at = int(np.argmax(wrong))
    return RowRefused(
        row, int(columns[at]), cells[at], "counts must be finite numbers that can be summed, and not negative."
    )


def is_sparse(x: Matrix) -> bool:
    """Return whether x is a sparse matrix; plain arrays, the most frequent case, are recognized at once."""
    return type(x) is not np.ndarray and bool(sparse.issparse(x))


def kernel_matrix(x: Matrix) -> Matrix:
    """Return the matrix in a type the kernels read, itself where it already is."""
    if is_sparse(x):
        x = x if x.format == "csr" else x.tocsr()
        if x.indices.dtype != x.indptr.dtype:
            x = sparse.csr_array((x.data, x.indices.astype(np.int64), x.indptr.astype(np.int64)), shape=x.shape)
        kind = readable_dtype(x.data.dtype)
        x = x if x.data.dtype == kind else x.astype(kind)
        return x if is_aligned(x) else x.copy()
    array = np.asarray(x)
    plain = array.dtype in READABLE and array.dtype.isnative and array.flags.aligned
    return array if plain else array.astype(readable_dtype(array.dtype))


def distinct_cells(x: Matrix) -> Matrix:
    """Return a matrix each cell of which lies at one place: parts of a cell of a sparse matrix are added."""
    if not is_sparse(x):
        return x
    x = x.tocsr()
    if not x.has_canonical_format:
        x = x.copy()
        x.sum_duplicates()
    return x


def is_aligned(x: Matrix) -> bool:
    """Return whether the numbers of a sparse matrix lie where the kernels can read them."""
    return bool(x.indptr.flags.aligned and x.indices.flags.aligned and x.data.flags.aligned)


def readable_dtype(dtype: DType) -> DType:
    """Return the type in which the kernels read data of this one, without loss."""
    if dtype in READABLE and dtype.isnative:
        return dtype
    if dtype.kind in "iu" and dtype not in (np.int32, np.uint8):
        return np.dtype(np.float64) if dtype == np.uint64 else np.dtype(np.int64)
    if dtype.kind == "f":
        return np.dtype(np.float32) if dtype.itemsize <= 4 else np.dtype(np.float64)
    return dtype.newbyteorder("=")


def ranges(x: AnyArray, threads: int = 1) -> tuple[Floats, Floats]:
    """Return the least and the largest value of each column."""
    least, largest = np.empty(x.shape[1]), np.empty(x.shape[1])
    _kernels.column_ranges(x, least, largest, threads)
    return least, largest


# -- moments of one column and of several ------------------------------------------------------------------------------


def moments_of_column(moments: Moments, at: int, name: str) -> Moments:
    """Return the moments of one of the columns, under its name."""
    parts = (part[:, at : at + 1] for part in (moments.n, moments.shift, moments.total, moments.squares))
    return Moments(moments.classes, Axis.declared([name]), *parts)


def joined_moments(columns: Sequence[Moments], classes: Axis) -> Moments:
    """Return the moments of several columns as those of a matrix."""
    laid = [column.on(classes) for column in columns]
    parts = zip(*((m.n, m.shift, m.total, m.squares) for m in laid), strict=True)
    return Moments(classes, Axis.numbered(len(columns)), *(np.concatenate(part, axis=1) for part in parts))


# -- wide columns: vectors of numbers, of flags or of words, and texts -------------------------------------------------


# Some rows of a wide column: a matrix, or texts beside their reader, which are indexed as a matrix is.
WideCells: TypeAlias = Matrix

# Texts that somebody holds, by their column, reader and rows: who asks for the same ones finds them tokenized.
READ_TEXTS: WeakValueDictionary[tuple[int, ...], TextRows] = WeakValueDictionary()


class GrowingWordsState(TypedDict):
    """What it is pickled as."""

    reader: TextReader
    times: str
    classes: int
    tables: tuple[Floats, Floats]


class GrowingWords:
    """Fills a WordTable: the words of texts, by a reader that others may share."""

    def __init__(self, reader: TextReader, times: str) -> None:
        self.reader, self.times, self.classes, self.sums = reader, times, 0, _kernels.ClassWords()

    @property
    def width(self) -> int:
        """How many words are known."""
        return len(self.reader)

    def make_room(self, classes: int) -> None:
        """Make room for so many classes."""
        self.classes = max(self.classes, classes)

    def add(self, x: TextRows, y: Codes, weights: Floats | None) -> None:
        """Count the words of some texts."""
        x.count(y, self.classes, weights, self.times, self.sums)

    def value(self, axis: Axis, classes: Sequence[Label]) -> WordTable:
        """Return the counts of all rows so far, the classes sorted."""
        place = axis.places(classes).tolist()
        return WordTable.of_cells(axis, self.reader, WordCells(*self.sums.cells(len(axis), len(self.reader), place)))

    def take(self, table: WordTable, classes: Sequence[Label]) -> None:
        """Hold these counts from now on, the classes by their codes; the words are those of the table's lexicon."""
        assert isinstance(table.lexicon, TextReader)
        self.reader, self.sums = table.lexicon, _kernels.ClassWords()
        self.make_room(len(classes))
        laid = table.on(Axis.declared(classes))
        order = laid.classes.places(classes)
        self.sums.add(*(np.ascontiguousarray(part[order]) for part in (laid.times, laid.texts)))

    def absorb(self, other: GrowingWords, classes: int) -> None:
        """Take in what another one of the same reader has counted."""
        self.sums.add(*other.sums.tables(classes, len(self.reader)))

    def __getstate__(self) -> GrowingWordsState:
        tables = self.sums.tables(self.classes, len(self.reader))
        return {"reader": self.reader, "times": self.times, "classes": self.classes, "tables": tables}

    def __setstate__(self, state: GrowingWordsState) -> None:
        self.reader, self.times, self.classes = state["reader"], state["times"], state["classes"]
        self.sums = _kernels.ClassWords()
        self.sums.add(*state["tables"])


class GrowingWordCounts:
    """Fills a WordTable of a matrix of counts: its columns are the words, and its rows the texts."""

    def __init__(self, width: int) -> None:
        self.width, self.times, self.texts = width, empty_table(width, None), empty_table(width, 0.0)

    def make_room(self, classes: int) -> None:
        """Make room for so many classes."""
        self.times.make_room(classes)
        self.texts.make_room(classes)

    def value(self, axis: Axis, classes: Sequence[Label]) -> WordTable:
        """Return the counts of all rows so far, the classes sorted."""
        times, texts = (part.value(axis, classes).on(axis) for part in (self.times, self.texts))
        return WordTable(axis, matrix_columns(self.width), times, texts)

    def take(self, table: WordTable | Table, classes: Sequence[Label]) -> None:
        """Hold these counts from now on, the classes by their codes; of a plain table, each count is a row."""
        self.make_room(len(classes))
        times, texts = (table.n, table.n) if isinstance(table, Table) else (table.times, table.texts)
        for part, n in ((self.times, times), (self.texts, texts)):
            part.take(Table(table.classes, part.values, n), classes)


WideAccumulator = GrowingWords | GrowingWordCounts | MomentsAccumulator | TableAccumulator


def empty_table(width: int, threshold: float | None) -> TableAccumulator:
    """Return an accumulator of a table with this many columns, and room for one class."""
    return TableAccumulator(Axis.numbered(1), Axis.numbered(width), threshold)


def matrix_columns(width: int) -> TextReader:
    """Return the columns of a matrix as words: like those of a hash they have numbers and no names."""
    return TextReader(Tokens(hash_width=width), fixed=True)


def text_reader(column: Column) -> TextReader:
    """Return what tokenizes the texts of a column; it knows no word yet but those that are declared."""
    family = column.family
    assert isinstance(family, Words)
    return TextReader(family.tokens, family.vocabulary or (), fixed=family.vocabulary is not None)


def counts_words(column: Column) -> bool:
    """Return whether a column holds texts that are tokenized."""
    return column.type == "text" and isinstance(column.family, Words)


def wide_cells(
    frame: Frame, column: Column, reader: TextReader | None, begin: int, end: int, threads: int
) -> WideCells:
    """Return some rows of a wide column: texts beside their reader, or a matrix."""
    values = frame.columns[column.name]
    if reader is not None and isinstance(values, ColumnValues):
        key = (id(values), id(reader), len(reader), begin, end, threads)
        result = READ_TEXTS.get(key)
        if result is None or result.source is not values:
            result = TextRows(reader, values.prose(column, begin, end), begin, threads, source=values)
            READ_TEXTS[key] = result
        return result
    return kernel_matrix(distinct_cells(frame.vectors(column.name)[begin:end]))


def empty_accumulator(column: Column, width: int, reader: TextReader | None = None) -> WideAccumulator:
    """Return an empty accumulator for vectors of this width, or for the words of texts."""
    if reader is not None:
        assert isinstance(column.family, Words)
        return GrowingWords(reader, column.family.times)
    if column.family.statistic is Moments:
        return MomentsAccumulator(Axis.numbered(1), Axis.numbered(width))
    if isinstance(column.family, Words):
        return GrowingWordCounts(width)
    return empty_table(width, column.family.threshold if isinstance(column.family, Bernoulli) else None)


def absorb_accumulator(mine: WideAccumulator, theirs: WideAccumulator, classes: int) -> None:
    """Take in what another accumulator of the same column has counted."""
    mine.make_room(classes)
    if isinstance(mine, GrowingWords) and isinstance(theirs, GrowingWords):
        mine.absorb(theirs, classes)
    elif isinstance(mine, GrowingWordCounts) and isinstance(theirs, GrowingWordCounts):
        for own, other in ((mine.times, theirs.times), (mine.texts, theirs.texts)):
            own.n[:classes] += other.n[:classes]
    elif isinstance(mine, TableAccumulator) and isinstance(theirs, TableAccumulator):
        mine.n[:classes] += theirs.n[:classes]
    elif isinstance(mine, MomentsAccumulator) and isinstance(theirs, MomentsAccumulator):
        axis = Axis.numbered(classes)
        mine.take(mine.value(axis, axis.labels) + theirs.value(axis, axis.labels), axis.labels)


def add_wide(
    accumulator: WideAccumulator, name: str, x: WideCells, y: Codes, weights: Floats | None, threads: int
) -> None:
    """Count a wide column; an error names the column."""
    if isinstance(accumulator, GrowingWords):
        accumulator.add(x, y, weights)
        return
    if isinstance(accumulator, MomentsAccumulator) and is_sparse(x):
        add_sparse(accumulator, name, x, y, weights, threads)
        return
    if isinstance(accumulator, GrowingWordCounts):
        add_wide(accumulator.times, name, x, y, weights, threads)  # first: it refuses what cannot be counted
        add_wide(accumulator.texts, name, x, y, weights, threads)
        return
    try:
        add_column(accumulator, x, y, weights, threads, name)
    except NumberTooLarge as error:
        at = error.column
        row = int(np.argmax(~(np.abs(x[:, at]) <= LARGEST)))
        needed = "only finite numbers up to ±1e150 can be counted."
        raise RowRefused(row, f"{name}[{at}]", f"{error.value:g}", needed) from None
    except RowRefused as error:
        raise error.in_column(f"{name}[{error.column}]") from None


def add_sparse(
    accumulator: MomentsAccumulator, name: str, x: Matrix, y: Codes, weights: Floats | None, threads: int
) -> None:
    """Count the numbers of a sparse matrix, whose empty cells are zeros, some rows at a time."""
    large = np.flatnonzero(np.abs(x.data) > LARGEST)
    if len(large):  # before anything is counted
        row = int(np.searchsorted(x.indptr, large[0], side="right")) - 1
        needed = "only finite numbers up to ±1e150 can be counted."
        raise RowRefused(row, f"{name}[{x.indices[large[0]]}]", f"{x.data[large[0]]:g}", needed)
    for rows in row_blocks(x.shape[0], x.shape[1], DENSE):
        own = None if weights is None else weights[rows]
        add_column(accumulator, kernel_matrix(x[rows].toarray()), y[rows], own, threads, name)


def check_vector_width(column: Column, width: int, known: int) -> None:
    """Refuse vectors of another length than those that were counted."""
    if width != known:
        raise InvalidInput(
            f"Column {column.name!r} has vectors of {width} features, but NaiveBayes is expecting {known} "
            "features as input.",
            column=column.name,
        )


def counted_width(statistic: ColumnStatistic) -> int:
    """Return how many columns a wide column was counted with."""
    if isinstance(statistic, WordTable):
        return statistic.size
    return len(statistic.columns if isinstance(statistic, Moments) else statistic.values)
