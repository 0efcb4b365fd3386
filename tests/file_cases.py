"""One table in files of every format that is read, as streams of every kind, and in memory."""

from __future__ import annotations

import datetime as dt
import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import naively as nv

UTC = dt.UTC


def table(rows: int = 400, seed: int = 0) -> pa.Table:
    """Return texts, numbers, whole numbers, booleans, dates and times, all with missing values, and labels without."""
    rng = np.random.default_rng(seed)

    def holes(values: list[Any]) -> list[Any]:
        return [None if hole else value for value, hole in zip(values, rng.random(rows) < 0.1, strict=True)]

    start, first = dt.datetime(2024, 1, 1), dt.date(2024, 1, 1)  # noqa: DTZ001
    texts = ["plain", "with, comma", 'with "quotes"', "two\nlines", "Grüße", "天气", " spaces "]
    columns = {
        "text": pa.array(holes([texts[i] for i in rng.integers(len(texts), size=rows)]), pa.string()),
        "yes": pa.array(holes([("yes", "no")[i] for i in rng.integers(2, size=rows)]), pa.string()),
        "zip": pa.array(holes([f"{i:05d}" for i in rng.integers(90, 130, size=rows)]), pa.string()),
        "size": pa.array(holes((rng.integers(-400, 400, size=rows) / 8).tolist()), pa.float64()),
        "visits": pa.array(holes(rng.integers(0, 9, size=rows).tolist()), pa.int64()),
        "member": pa.array(holes((rng.random(rows) < 0.5).tolist()), pa.bool_()),
        "day": pa.array(holes([first + dt.timedelta(days=int(i)) for i in rng.integers(300, size=rows)]), pa.date32()),
        "at": pa.array(
            holes([start + dt.timedelta(minutes=int(i)) for i in rng.integers(9999, size=rows)]),
            pa.timestamp("us"),
        ),
        "weight": pa.array((rng.integers(1, 9, size=rows) / 4).tolist(), pa.float64()),
        "label": pa.array([("ham", "spam", "junk")[i] for i in rng.integers(3, size=rows)], pa.string()),
    }
    return pa.table(columns)


def cell(value: Any, delimiter: str, decimal: str = ".") -> str:
    """Return a value as a delimited file holds it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value).replace(".", decimal) if isinstance(value, float) else str(value)
    quoted = '"' + text.replace('"', '""') + '"'
    return quoted if any(mark in text for mark in (delimiter, '"', "\n", " ")) else text


def csv_text(rows: pa.Table, delimiter: str = ",", newline: str = "\n", decimal: str = ".") -> str:
    """Return a table as delimited text."""
    lines = [delimiter.join(rows.column_names)]
    lines += [delimiter.join(cell(v, delimiter, decimal) for v in row.values()) for row in rows.to_pylist()]
    return newline.join(lines) + newline


def write_csv(path: Path, rows: pa.Table, encoding: str = "utf-8", **how: Any) -> Path:
    """Write a table as delimited text."""
    path.write_bytes(csv_text(rows, **how).encode(encoding))
    return path


def write_json(path: Path, rows: pa.Table) -> Path:
    """Write a table as JSON lines; a missing value is a null or no key at all."""
    lines = []
    for at, row in enumerate(rows.to_pylist()):
        plain = {k: v.isoformat() if isinstance(v, (dt.date, dt.datetime)) else v for k, v in row.items()}
        lines.append(json.dumps({k: v for k, v in plain.items() if v is not None or at % 2 == 0 or at < 1}))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_database(path: Path, rows: pa.Table) -> Path:
    """Write a table into a DuckDB database."""
    con = duckdb.connect(str(path))
    con.register("given", rows)
    con.execute("create table rows as from given")
    con.close()
    return path


def write_parts(folder: Path, rows: pa.Table) -> Path:
    """Write a table as several CSV files, in a folder."""
    folder.mkdir()
    for at in range(4):
        write_csv(folder / f"part-{at}.csv", rows.slice(at * len(rows) // 4, len(rows) // 4))
    return folder


def write_parquet(path: Path, rows: pa.Table, **how: Any) -> Path:
    """Write a table as Parquet, in several row groups."""
    pq.write_table(rows, path, row_group_size=150, **how)
    return path


def gzipped(path: Path) -> Path:
    """Return a file packed by gzip."""
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    return packed


def zstd(path: Path) -> Path:
    """Return a file packed by Zstandard."""
    packed = path.with_name(path.name + ".zst")
    with pa.CompressedOutputStream(str(packed), "zstd") as out:
        out.write(path.read_bytes())
    return packed


TIMES = {"day": "time", "at": "time"}  # JSON has no times; a schema or types= says which texts are
ENGINES: dict[str, Callable[[Path, pa.Table], Any]] = {
    "memory": lambda folder, rows: rows,
    "CSV": lambda folder, rows: write_csv(folder / "t.csv", rows),
    "CSV of Windows": lambda folder, rows: write_csv(folder / "t.csv", rows, "utf-8-sig", newline="\r\n"),
    "CSV, gzip": lambda folder, rows: gzipped(write_csv(folder / "t.csv", rows)),
    "CSV, zstd": lambda folder, rows: zstd(write_csv(folder / "t.csv", rows)),
    "TSV": lambda folder, rows: write_csv(folder / "t.tsv", rows, delimiter="\t"),
    "CSV, decimal commas": lambda folder, rows: nv.File(
        write_csv(folder / "t.csv", rows, delimiter=";", decimal=","), decimal=","
    ),
    "CSV, GB18030": lambda folder, rows: nv.File(write_csv(folder / "t.csv", rows, "gb18030"), encoding="gb18030"),
    "CSV, UTF-16": lambda folder, rows: write_csv(folder / "t.csv", rows, "utf-16"),
    "several CSV": lambda folder, rows: write_parts(folder / "parts", rows),
    "Parquet": lambda folder, rows: write_parquet(folder / "t.parquet", rows),
    "Parquet without dictionaries": lambda folder, rows: write_parquet(
        folder / "t.parquet", rows, use_dictionary=False
    ),
    "JSON lines": lambda folder, rows: nv.File(write_json(folder / "t.jsonl", rows), types=TIMES),
    "JSON lines, gzip": lambda folder, rows: nv.File(gzipped(write_json(folder / "t.jsonl", rows)), types=TIMES),
    "DuckDB table": lambda folder, rows: write_database(folder / "t.duckdb", rows),
    "DuckDB query": lambda folder, rows: nv.File(
        write_database(folder / "t.duckdb", rows), query="select * from rows where true"
    ),
}


# -- one table as every kind of stream that is read --------------------------------------------------------------------

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
