"""DataFrames that are plain reads of Parquet files: their tasks read the files themselves, without the JVM.

Moving rows from the JVM to Python costs several times what counting them does. It is spared only where it is certain
that a DataFrame is what its files hold: Spark must say that its plan is that of a plain read, and each file must have
the types that Spark says. In doubt, rows come from Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from ..data.encoding import ROWS
from ..data.values import is_text_type
from .arrow_tasks import ArrowBatches, UnlikeSpark
from .session import parallel_tasks, selected

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Types that mean the same to Arrow and to Spark, whoever wrote the file. Times do not: calendars and zones differ.
SAME_TYPES = (pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.string())
# Of each column so many bytes are read ahead; otherwise Arrow would fetch the whole file and keep it.
READ_AHEAD = 1 << 22
# Pieces of files for each task that runs at a time, at least; and tasks, at most.
PIECES, TASKS = 2, 2


class FilePiece(NamedTuple):
    """A part of a Parquet file: of so many equal numbers of row groups, the one at this place."""

    path: str
    at: int = 0
    of: int = 1


class FileTasks(NamedTuple):
    """Parquet files that hold the rows of a DataFrame, in pieces for each task, and the types of all columns."""

    pieces: tuple[tuple[FilePiece, ...], ...]
    types: pa.Schema

    def frame(self, session: SparkSession) -> DataFrame:
        """Return a DataFrame with a partition for each task, whose one row is the number of the task."""
        return session.range(0, len(self.pieces), 1, len(self.pieces))

    def batches(self, numbers: ArrowBatches, *, coded: bool) -> ArrowBatches:
        """Yield the rows of the tasks of these numbers; texts may come as codes with a dictionary, or as they are."""
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                for piece in self.pieces[number]:
                    yield from piece_batches(piece, self.types, coded=coded)


def file_tasks(frame: DataFrame, types: pa.Schema, certain: bool = False) -> FileTasks | None:
    """Return the files of columns of a DataFrame if these certainly hold its rows; None if they may not."""
    if not all(kind in SAME_TYPES or pa.types.is_decimal(kind) for kind in types.types) or frame.is_cached:
        return None
    found = [local_path(address) for address in frame.inputFiles()]
    paths = [path for path in found if path is not None]
    if not paths or len(paths) < len(found) or not (certain or is_plain_read(frame, paths)):
        return None
    return FileTasks(split_files([str(path) for path in paths], parallel_tasks(frame.sparkSession)), types)


def local_path(address: str) -> Path | None:
    """Return the path of a file that every executor can open; None for other systems, or folders that are columns.

    >>> local_path("file:///data/a%20b.parquet"), local_path("s3a://bucket/a.parquet")
    (PosixPath('/data/a b.parquet'), None)
    """
    parts = urlsplit(address)
    path = Path(unquote(parts.path))
    return path if parts.scheme in ("", "file") and not any("=" in folder for folder in path.parts) else None


def is_plain_read(frame: DataFrame, paths: Sequence[Path]) -> bool:
    """Tell whether Spark says that a DataFrame is the same as reading these files, and some of their columns."""
    read, folder = frame.sparkSession.read, paths[0].parent
    likely = [[str(path) for path in paths], frame.inputFiles()]
    if all(path.parent == folder for path in paths):
        own = Path.cwd()
        likely += [[str(folder)], [f"{folder}/*.parquet"], [f"file://{folder}"]]
        likely += [[str(folder.relative_to(own))]] if folder.is_relative_to(own) and folder != own else []
    for given in likely:
        try:
            if frame.sameSemantics(selected(read.parquet(*given), frame.columns)):
                return True
        except Exception as error:  # Spark's own: there is no such file, or it has other columns
            if not type(error).__module__.startswith("pyspark."):
                raise
    return False


def split_files(paths: Sequence[str], tasks: int) -> tuple[tuple[FilePiece, ...], ...]:
    """Return which pieces of files each task reads: enough pieces for all tasks, in no more tasks than are useful.

    >>> split_files(["a", "b"], 2)[1]
    (FilePiece(path='a', at=1, of=2),)
    """
    times = -(-PIECES * tasks // len(paths))
    pieces = [FilePiece(path, at, times) for path in paths for at in range(times)]
    number = min(len(pieces), TASKS * tasks)
    return tuple(tuple(pieces[at::number]) for at in range(number))


def piece_batches(piece: FilePiece, types: pa.Schema, *, coded: bool) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a piece of a file; refuse a file whose columns have other types, or which cannot be read."""
    import pyarrow.parquet as pq

    texts = [field.name for field in types if coded and is_text_type(field.type)]
    try:
        file = pq.ParquetFile(piece.path, read_dictionary=texts, pre_buffer=False, buffer_size=READ_AHEAD)
        check_types(pq.read_schema(piece.path), types, piece.path)
        total = file.num_row_groups
        groups = list(range(total * piece.at // piece.of, total * (piece.at + 1) // piece.of))
        if groups:
            for batch in file.iter_batches(ROWS, row_groups=groups, columns=types.names, use_threads=False):
                yield (
                    batch
                    if coded
                    else pa.RecordBatch.from_arrays(
                        [batch.column(field.name).cast(field.type) for field in types], schema=types
                    )
                )
    except (pa.ArrowException, OSError) as error:
        raise UnlikeSpark(str(error)) from None


def check_types(found: pa.Schema, types: pa.Schema, path: str) -> None:
    """Refuse a file whose columns are not exactly those that Spark says."""
    for field in types:
        if found.get_field_index(field.name) < 0 or not is_same_type(found.field(field.name).type, field.type):
            raise UnlikeSpark(f"{path} has other columns than the first file: {field.name!r}")


def is_same_type(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Tell whether a column of a file is what Spark says; texts may be long, or coded by a dictionary."""
    own = found.value_type if pa.types.is_dictionary(found) else found
    return own == wanted or (is_text_type(own) and is_text_type(wanted))
