"""Streams of Arrow batches where a file may stand: readers, datasets, generators of tables, frames of lazy engines.

A stream is read once. What was read is held in memory while it is little, and then in a temporary file, so that it can
be read again: to guess types from the first rows, and to count pairs of columns after single columns.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from types import GeneratorType
from typing import Any

import pyarrow as pa

from .._types import TableLike
from ..data.encoding import ROWS
from ..errors import InvalidInput, UnreadableRows
from .typed import Kinds, Typed, some_rows

# Batches are held in memory up to so many bytes; more are written to a temporary file.
HELD = 1 << 26
# Batches are asked for until every column has a type, but no more than so many rows.
LOOKED_AT = 50_000
# Libraries whose tables lie in memory, though they can be streamed, too.
EAGER = frozenset({"cudf", "modin", "narwhals", "numpy", "pandas", "polars", "pyarrow", "scipy"})

Tables = Iterable[TableLike]  # tables of any library, one after the other


# -- which objects are streams -------------------------------------------------------------------------------------


def stream_of(X: TableLike) -> StreamPart | DatasetPart | None:
    """Return what can be read batch by batch as a part of a `File`; None if it is something else."""
    library, name = library_of(X)
    if library == "pyarrow" and name.endswith("Dataset"):
        return DatasetPart(X, f"<{name}>")
    native = X.to_native() if (library, name) == ("narwhals", "LazyFrame") else X
    if library_of(native)[0] == "pyspark":
        raise InvalidInput(
            "A DataFrame of Spark is not read into one process. Use naively.spark: spark.fit(df, target=…), "
            "spark.count, spark.predict(model, df) and spark.evaluate; or give df.toArrow(), if it fits into memory."
        )
    opener = OPENERS.get(library_of(native))
    if opener is not None:
        return StreamPart(lambda: opener(native), f"<{name}>")
    if isinstance(X, GeneratorType) or (isinstance(X, Iterator) and not hasattr(X, "read")):
        return StreamPart(lambda: X, f"<{name}>")
    if library not in EAGER and hasattr(X, "__arrow_c_stream__"):
        return StreamPart(lambda: pa.RecordBatchReader.from_stream(X), f"<{name}>")
    return None


def library_of(X: Any) -> tuple[str, str]:
    """Return the library and the name of the class of an object."""
    return type(X).__module__.partition(".")[0], type(X).__name__


def _polars_batches(frame: Any) -> Tables:
    """Return the rows of a lazy frame of Polars batch by batch; before version 1.34, all at once."""
    if not hasattr(frame, "collect_batches"):
        return [frame.collect(engine="streaming")]
    result: Tables = frame.collect_batches(chunk_size=ROWS, maintain_order=True)
    return result


def _duckdb_batches(relation: Any) -> Tables:
    """Return the rows of a relation of DuckDB batch by batch, whatever this version calls it."""
    names = ("to_arrow_reader", "fetch_arrow_reader", "fetch_record_batch")
    result: Tables = getattr(relation, next(name for name in names if hasattr(relation, name)))(ROWS)
    return result


def _ibis_batches(table: Any) -> Tables:
    """Return the rows of a table of Ibis batch by batch; Ibis 12 has no such reader for DuckDB 2, which has its own."""
    backend = table.get_backend()
    if hasattr(backend, "_to_duckdb_relation"):
        return _duckdb_batches(backend._to_duckdb_relation(table))
    result: Tables = table.to_pyarrow_batches(chunk_size=ROWS)
    return result


def _dask_batches(frame: Any) -> Tables:
    """Return the partitions of a frame of Dask one by one."""
    return (frame.get_partition(index).compute() for index in range(frame.npartitions))


def _ray_batches(dataset: Any) -> Tables:
    """Return the rows of a dataset of Ray batch by batch."""
    result: Tables = dataset.iter_batches(batch_size=ROWS, batch_format="pyarrow")
    return result


# The classes whose objects are streams, by library and name, with what opens them.
OPENERS: dict[tuple[str, str], Callable[[Any], Tables]] = {
    ("pyarrow", "RecordBatchReader"): lambda reader: reader,
    ("pyarrow", "Scanner"): lambda scanner: scanner.to_batches(),
    ("polars", "LazyFrame"): _polars_batches,
    ("duckdb", "DuckDBPyRelation"): _duckdb_batches,
    ("_duckdb", "DuckDBPyRelation"): _duckdb_batches,
    ("ibis", "Table"): lambda table: _ibis_batches(table),
    ("dask", "DataFrame"): _dask_batches,
    ("dask_expr", "DataFrame"): _dask_batches,
    ("daft", "DataFrame"): lambda frame: frame.to_arrow_iter(),
    ("ray", "Dataset"): _ray_batches,
    ("ray", "MaterializedDataset"): _ray_batches,
}


# -- the rows of a stream ------------------------------------------------------------------------------------------


class StreamPart(Typed):
    """A stream as a part of a `File`. Tables come only once, so those that came are kept, to be read again."""

    def __init__(self, opened: Callable[[], Tables], shown: str) -> None:
        self.shown, self._opened = shown, opened
        self._first: list[pa.RecordBatch] = []  # in memory
        self._bytes = 0
        self._file: tempfile._TemporaryFileWrapper[bytes] | None = None  # where more of them lie
        self._writer: pa.ipc.RecordBatchStreamWriter | None = None
        self._keeping, self._lost = True, False  # whether batches that come are kept, and whether some were not

    def keep_no_more(self) -> None:
        """Let the next reading be the last: rows that come are not kept to be read again."""
        self._keeping = False

    @cached_property
    def _tables(self) -> Tables:
        return self._opened()

    @cached_property
    def _coming(self) -> Iterator[pa.RecordBatch]:
        return record_batches(self._tables, self.shown)

    @cached_property
    def _types(self) -> pa.Schema:
        """The types of the columns: those of the first batches in which a column has one."""
        result: list[pa.RecordBatch] = []
        types: pa.Schema | None = None
        for batch in self._coming:
            result.append(batch)
            types = batch.schema if types is None else _with_known_types(types, batch.schema)
            open_ones = any(pa.types.is_null(field.type) for field in types)
            if not open_ones or sum(one.num_rows for one in result) >= LOOKED_AT:
                break
        if types is None:  # there is no batch; who knows the types of others can tell them
            return getattr(self._tables, "schema", None) or pa.schema([])  # as a reader has it before any batch
        for index, batch in enumerate(result):
            self._keep(conformed(batch, types, index, self.shown))
        return types.remove_metadata()

    def batches(self, types: Kinds, rows: int, limit: int | None, threads: int | None) -> Iterator[pa.RecordBatch]:
        """Return the rows of some columns from the first on."""
        keeping = limit is not None or self._keeping  # a look at the first rows, which are read again in any case
        yield from some_rows(self._again(keeping), types, limit)

    def _again(self, keeping: bool) -> Iterator[pa.RecordBatch]:
        """Yield all batches from the first on; those that come now are kept, or else this is the last time."""
        schema, number = self._types, 0
        if self._lost:
            raise UnreadableRows(self.shown, None, "it was read to its end, and can be read only once.")
        for batch in self._kept():
            yield batch
            number += 1
        for index, batch in enumerate(self._coming, number):
            now = conformed(batch, schema, index, self.shown)
            if keeping:
                self._keep(now)
            self._lost = not keeping
            yield now
        if self._lost:  # nobody can read what was kept any more
            self._first.clear()
            self._writer = self._file = None

    def _kept(self) -> Iterator[pa.RecordBatch]:
        """Yield what is kept, also what is put there while it is read by somebody else."""
        yield from self._first
        if self._file is not None:
            self._file.flush()
            with pa.OSFile(self._file.name) as file:
                yield from pa.ipc.open_stream(file)

    def _keep(self, batch: pa.RecordBatch) -> None:
        size = batch_bytes(batch)
        if self._file is None and self._bytes + size <= HELD:
            self._first.append(batch)
            self._bytes += size
            return
        if self._writer is None:
            self._file = tempfile.NamedTemporaryFile(prefix="naively-", suffix=".arrows")  # noqa: SIM115  it goes with this object
            options = pa.ipc.IpcWriteOptions(compression="lz4" if pa.Codec.is_available("lz4") else None)
            self._writer = pa.ipc.new_stream(self._file, batch.schema, options=options)
        self._writer.write_batch(batch)


class DatasetPart(Typed):
    """A dataset of PyArrow as a part of a `File`; it can be read again, and only the columns that are needed."""

    def __init__(self, dataset: Any, shown: str) -> None:
        self.shown, self._dataset = shown, dataset

    @property
    def _types(self) -> pa.Schema:
        return self._dataset.schema

    def batches(self, types: Kinds, rows: int, limit: int | None, threads: int | None) -> Iterator[pa.RecordBatch]:
        """Return the rows of some columns."""
        try:
            result = self._dataset.to_batches(columns=list(types), batch_size=rows, use_threads=threads != 1)
            yield from some_rows((batch for batch in result if batch.num_rows), types, limit)
        except (pa.ArrowException, OSError) as error:
            raise UnreadableRows(self.shown, None, f"it cannot be read ({error}).") from None


def _with_known_types(known: pa.Schema, found: pa.Schema) -> pa.Schema:
    """Return a schema whose columns without a type have that of another."""
    fields = [
        found.field(field.name) if pa.types.is_null(field.type) and field.name in found.names else field
        for field in known
    ]
    return pa.schema(fields)


def batch_bytes(batch: pa.RecordBatch) -> int:
    """Return how many bytes a batch takes; Arrow before version 18 cannot tell it of a part of views of texts."""
    try:
        return int(batch.nbytes)
    except pa.ArrowException:
        return int(batch.get_total_buffer_size())


def record_batches(tables: Tables, shown: str) -> Iterator[pa.RecordBatch]:
    """Yield the rows of tables of any library as record batches; empty ones tell types only if they come first."""
    first = True
    for index, table in enumerate(tables):
        result = arrow_table(table, index, shown)
        batches = result.to_batches(max_chunksize=ROWS) if isinstance(result, pa.Table) else [result]
        if first and not batches:
            batches = [pa.RecordBatch.from_pylist([], schema=result.schema)]
        for batch in batches:
            if batch.num_rows or first:
                yield batch
            first = False


def arrow_table(table: TableLike, at: int, shown: str) -> pa.Table | pa.RecordBatch:
    """Return a table of any library as one of Arrow; an error says which of the stream it is."""
    if isinstance(table, (pa.RecordBatch, pa.Table)):
        return table
    try:
        if isinstance(table, Mapping):
            return pa.table(dict(table))
        if type(table).__module__.partition(".")[0] == "pandas":
            return pa.Table.from_pandas(table, preserve_index=False)
        if hasattr(table, "__arrow_c_stream__"):
            return pa.RecordBatchReader.from_stream(table).read_all()
        if hasattr(table, "__arrow_c_array__"):
            return pa.record_batch(table)
        import narwhals.stable.v2 as nw

        return nw.from_native(table, eager_only=True).to_arrow()
    except (pa.ArrowException, TypeError, ValueError, AttributeError) as error:
        texts = " Texts are given as a list." if isinstance(table, str) else ""
        raise InvalidInput(
            f"{shown}: item {at} of the stream is a {type(table).__name__}, which cannot be read as a table ({error}). "
            f"Yield tables of PyArrow, pandas or Polars, or dicts of columns.{texts}"
        ) from None


def conformed(batch: pa.RecordBatch, schema: pa.Schema, at: int, shown: str) -> pa.RecordBatch:
    """Return a batch with the columns and types of the first ones; say which column of which batch has others."""
    if batch.schema.equals(schema):
        return batch
    arrays = []
    for field in schema:
        if field.name not in batch.schema.names:
            raise UnreadableRows(
                shown, None, f"batch {at} has no column {field.name!r}, which the first has.", column=field.name
            )
        array = batch.column(batch.schema.get_field_index(field.name))
        try:
            arrays.append(array if array.type == field.type else array.cast(field.type))
        except pa.ArrowException:
            held = f"column {field.name!r} holds {array.type} in batch {at}, and {field.type} in the first"
            raise UnreadableRows(shown, None, f"{held}. Give all batches the same types.", column=field.name) from None
    return pa.RecordBatch.from_arrays(arrays, names=schema.names)
