"""One table as every kind of stream that is read: readers, generators, datasets, lazy frames of other engines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import narwhals as nw
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

SMALL = 70  # rows of a batch: not a divisor of the rows of any table here


class Exporter:
    """An object that is known by Arrow's protocol alone."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)


def batches(table: pa.Table) -> Iterator[pa.RecordBatch]:
    """Yield a table batch by batch, with an empty one between them."""
    for at, batch in enumerate(table.to_batches(max_chunksize=SMALL)):
        if at == 1:
            yield batch.slice(0, 0)
        yield batch


def tables_of_pandas(table: pa.Table) -> Iterator[Any]:
    """Yield data frames of pandas, some rows each."""
    return (table.slice(begin, SMALL).to_pandas(types_mapper=None) for begin in range(0, len(table), SMALL))


def ibis_table(table: pa.Table) -> Any:
    """Return a table of Ibis, in memory."""
    return pytest.importorskip("ibis", reason="Ibis is not installed").memtable(table)


def dask_frame(table: pa.Table) -> Any:
    """Return a data frame of Dask in several partitions."""
    frames = pytest.importorskip("dask.dataframe", reason="Dask is not installed")
    return frames.from_pandas(table.to_pandas(), npartitions=3, sort=False)


def daft_frame(table: pa.Table) -> Any:
    """Return a data frame of Daft."""
    return pytest.importorskip("daft", reason="Daft is not installed").from_arrow(table)


STREAMS: dict[str, Callable[[pa.Table], Any]] = {
    "reader": lambda table: table.to_reader(max_chunksize=SMALL),
    "generator of batches": batches,
    "generator of pandas": tables_of_pandas,
    "generator of Polars": lambda table: (pl.from_arrow(batch) for batch in batches(table)),
    "generator of dicts": lambda table: (batch.to_pydict() for batch in table.to_batches(max_chunksize=SMALL)),
    "iterator of tables": lambda table: iter([table.slice(0, SMALL), table.slice(SMALL)]),
    "dataset": lambda table: ds.dataset(table.to_batches(max_chunksize=SMALL), schema=table.schema),
    "scanner": lambda table: ds.dataset(table).scanner(batch_size=SMALL),
    "exporter": Exporter,
    "Polars": lambda table: pl.from_arrow(table).lazy(),
    "DuckDB": duckdb.from_arrow,
    "narwhals over Polars": lambda table: nw.from_native(pl.from_arrow(table).lazy()),
    "narwhals over DuckDB": lambda table: nw.from_native(duckdb.from_arrow(table)),
    "Ibis": ibis_table,
    "Dask": dask_frame,
    "Daft": daft_frame,
}
