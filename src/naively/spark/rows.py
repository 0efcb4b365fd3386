"""Rows of Spark: a DataFrame, or Parquet files that tasks read themselves, without the JVM.

Moving rows from the JVM to Python takes several times as long as counting them. Tasks read the files of a DataFrame
only if these certainly hold its rows: Spark says that its plan is a plain read of these files, the driver can open
each of them, and each has the types that Spark says. Otherwise the rows come from Spark.

Tasks make parts of their rows, which are bytes. Where they are many, other tasks add them within groups first: the
driver gets one part from each group, and not one from each partition.
"""

from __future__ import annotations

import math
import pickle
import re
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from itertools import chain, groupby
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from ..data.encoding import ROWS
from ..data.schema import likely
from ..data.values import is_text_type
from ..errors import InvalidInput, NaivelyError, NotInstalled
from ..errors.message import Setting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


ArrowBatches: TypeAlias = Iterator[pa.RecordBatch]
MakePart: TypeAlias = Callable[[ArrowBatches], bytes | None]  # of at least one row
AddParts: TypeAlias = Callable[[Sequence[bytes]], bytes]

# What a task returns: its place among all tasks, and a part or an error.
PART = "place int, part binary, error binary"
PART_TYPES = pa.schema([("place", pa.int32()), ("part", pa.binary()), ("error", pa.binary())])
# Up to this many parts are added by the driver alone.
FEW = 8
# Connect does not tell how many partitions a DataFrame has: they are taken for this many times the tasks at a time.
ROUNDS = 8


def import_pyspark(module: str = "pyspark.sql") -> Any:
    """Return a module of PySpark, or say how to install it."""
    try:
        with without_pandas_notice():
            return import_module(module)
    except ImportError:
        raise NotInstalled("DataFrames of Spark are read through PySpark", "spark") from None


@contextmanager
def without_pandas_notice() -> Iterator[None]:
    """Silence PySpark's warning about pandas 3, which it gives for all functions of Arrow batches; none uses pandas."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


def parallel_tasks(session: SparkSession) -> int:
    """Return about how many tasks run at a time."""
    if ".connect." not in type(session).__module__:
        return max(int(session.sparkContext.defaultParallelism), 1)
    functions = import_pyspark("pyspark.sql.functions")  # a range has as many partitions as tasks run at a time
    return int(session.range(1 << 20).select(functions.spark_partition_id()).distinct().count()) or 1


def map_batches(frame: DataFrame, function: Callable[[ArrowBatches], ArrowBatches], types: object) -> DataFrame:
    """Return a DataFrame of what a function makes of the Arrow batches of each partition."""
    with without_pandas_notice():
        return frame.mapInArrow(function, types)


def parts_of_tasks(frame: DataFrame, make: MakePart, add: AddParts, tasks: int | None = None) -> list[bytes]:
    """Return the parts that are made of the partitions of a DataFrame; where they are many, added within groups."""

    def made(batches: ArrowBatches) -> ArrowBatches:
        from pyspark import TaskContext

        context = TaskContext.get()
        filled = (batch for batch in batches if batch.num_rows)

        def part() -> bytes | None:
            first = next(filled, None)
            return None if first is None else make(chain([first], filled))

        yield part_or_error(0 if context is None else context.partitionId(), part)
        for _ in filled:  # Spark needs all batches to be read, also after an error
            pass

    def added(batches: ArrowBatches) -> ArrowBatches:
        rows = [row for batch in batches for row in batch.to_pylist()]

        def part() -> bytes | None:
            parts = ordered_parts(rows)
            return add(parts) if parts else None

        yield part_or_error(min((row["place"] for row in rows), default=0), part)

    parts = map_batches(frame, made, PART)
    if tasks is None or tasks > FEW:
        number = ROUNDS * parallel_tasks(frame.sparkSession) if tasks is None else tasks
        parts = map_batches(parts.repartition(math.ceil(math.sqrt(number))), added, PART)
    try:
        with without_pandas_notice():
            return ordered_parts(parts.toArrow().to_pylist())
    except import_pyspark("pyspark.errors").PySparkException as error:
        lacking = re.search(r"ModuleNotFoundError: No module named '(naively|pyarrow|numpy|scipy)", str(error))
        if lacking is None:
            raise
        raise InvalidInput(
            f"The Python of Spark's executors has no module {lacking[1]!r}. Install Naively there as here: in the "
            "image of the cluster, or as an archive of the environment (spark-submit --archives); PYSPARK_PYTHON says "
            "which Python they start."
        ) from None


def part_or_error(place: int, make: Callable[[], bytes | None]) -> pa.RecordBatch:
    """Return a row with a part, or with the error that the driver raises without Spark's trace."""
    part = error = None
    try:
        part = make()
    except NaivelyError as raised:
        error = pickle.dumps(raised)
    return pa.RecordBatch.from_pylist([{"place": place, "part": part, "error": error}], PART_TYPES)


def ordered_parts(rows: Sequence[dict[str, Any]]) -> list[bytes]:
    """Return parts in the order of their tasks, so that their sum is the same whichever came first."""
    ordered = sorted(rows, key=lambda row: int(row["place"]))
    for row in ordered:
        if row["error"] is not None:
            raise pickle.loads(row["error"])  # our own, from a task of ours
    return [row["part"] for row in ordered if row["part"] is not None]


Result = TypeVar("Result")
SparkSource: TypeAlias = "DataFrame | str | PathLike[str] | Sequence[str]"
RowGroups: TypeAlias = tuple[tuple[str, int], ...]  # the path of a file, and the number of a row group in it

# Bytes of each column that are read ahead; otherwise Arrow would fetch the whole file and keep it.
READ_AHEAD = 1 << 22
# Tasks that read files, for each task that runs at a time.
TASKS = 2


@dataclass(frozen=True)
class SparkRows:
    """Some columns of a DataFrame and their Arrow types; the row groups of each task, if tasks read the files."""

    frame: DataFrame
    types: pa.Schema
    groups: tuple[RowGroups, ...] = ()

    @classmethod
    def of(cls, frame: DataFrame, *, certain: bool) -> SparkRows:
        """Return all rows of a DataFrame, which is certainly a plain read of Parquet files or may be one."""
        try:
            types = frame.limit(0).toArrow().schema
        except TypeError as error:  # PySpark's own
            raise InvalidInput(f"A column cannot be passed to Python: {error} Convert it, or leave it out.") from None
        groups = row_groups(plain_files(frame, types, certain=certain), types)
        size = math.ceil(len(groups) / (TASKS * parallel_tasks(frame.sparkSession))) if groups else 1
        return cls(frame, types, tuple(groups[begin : begin + size] for begin in range(0, len(groups), size)))

    def in_batches(
        self, function: Callable[[ArrowBatches], Result], *, coded: bool = False
    ) -> tuple[DataFrame, Callable[[ArrowBatches], Result]]:
        """Return the DataFrame that tasks go over, and the function that takes its batches.

        Texts of files may come as dictionary codes, which is faster; Spark does not take such columns back.
        """
        types, groups = self.types, self.groups  # what is sent to tasks holds no DataFrame
        if not groups:
            return self.frame, function

        def read(tasks: ArrowBatches) -> ArrowBatches:
            for batch in tasks:
                for task in batch.column(0).to_pylist():
                    yield from file_batches(groups[task], types, coded=coded)

        tasks = self.frame.sparkSession.range(0, len(groups), 1, len(groups))
        return tasks, lambda batches: function(read(batches))

    def parts(self, make: MakePart, add: AddParts) -> list[bytes]:
        """Return the parts that tasks make of these rows; where they are many, added within groups."""
        frame, of_batches = self.in_batches(make, coded=True)
        return parts_of_tasks(frame, of_batches, add, len(self.groups) or None)


def frame_of_source(source: SparkSource, session: SparkSession | None) -> tuple[DataFrame, bool]:
    """Return the DataFrame of a source, and whether it is certainly a plain read of Parquet files."""
    running = session or import_pyspark().SparkSession.getActiveSession()
    kind = type(source)
    if kind.__module__.startswith("pyspark.sql.") and kind.__name__ == "DataFrame":
        return source, False
    paths = [source] if isinstance(source, (str, PathLike)) else source
    if not isinstance(paths, (list, tuple)) or not all(isinstance(path, (str, PathLike)) for path in paths):
        raise InvalidInput(
            f"Expected a DataFrame of Spark or the path of Parquet files, and got a {kind.__name__}. Rows in memory "
            "need no Spark: NaiveBayes().fit(rows)."
        )
    if running is None:
        raise InvalidInput(
            "No session of Spark is running. Start one, SparkSession.builder.getOrCreate(), and give it: session=…."
        )
    return running.read.parquet(*map(fspath, paths)), True


def spark_rows(
    source: SparkSource,
    session: SparkSession | None,
    target: str,
    weight: str | None,
    *,
    columns: Collection[str] | None = None,
    ignore: Collection[str] = (),
) -> SparkRows:
    """Return the rows of a source with the classes, the weights, and some columns or all but those ignored."""
    frame, certain = frame_of_source(source, session)
    beside = [target] if weight is None else [target, weight]
    check_columns(frame, [*beside, *ignore, *(columns or ())])
    wanted = {*beside, *(frame.columns if columns is None else columns)} - set(ignore)
    names = [name for name in frame.columns if name in wanted]
    frame = frame if names == frame.columns else selected(frame, names)
    for field in frame.schema.fields:
        if "vector" in type(field.dataType).__name__.lower():
            raise InvalidInput(
                f"Column {field.name!r} holds vectors of pyspark.ml. Give the columns that they were assembled from, "
                "or take them apart with pyspark.ml.functions.vector_to_array, and leave the vectors out: ",
                Setting("ignore", [field.name]),
                ".",
                column=field.name,
            )
    return SparkRows.of(frame, certain=certain)


def check_columns(frame: DataFrame, names: Collection[str]) -> None:
    """Refuse names that no column has, and columns of the same name."""
    for name, times in Counter(frame.columns).items():
        if times > 1:
            raise InvalidInput(f"{times} columns are called {name!r}. Rename them, or drop all but one.", column=name)
    for name in names:
        if name not in frame.columns:
            raise InvalidInput(f"There is no column {name!r}{likely(name, tuple(frame.columns))}", column=name)


def selected(frame: DataFrame, names: Collection[str]) -> DataFrame:
    """Return some columns of a DataFrame, whatever characters their names have."""
    column = import_pyspark("pyspark.sql.functions").col
    quoted = (name.replace("`", "``") for name in names)
    return frame.select(*(column(f"`{name}`") for name in quoted))


# -- Parquet files that tasks read ------------------------------------------------------------------------------------


def plain_files(frame: DataFrame, types: pa.Schema, *, certain: bool) -> list[Path]:
    """Return the files of a DataFrame if Spark says that it is a plain read of them; none if it may not be.

    Times do not mean the same to all programs: calendars and zones differ.
    """
    unlike = (pa.types.is_temporal, pa.types.is_nested, pa.types.is_null)
    if frame.is_cached or any(check(kind) for check in unlike for kind in types.types):
        return []
    addresses = frame.inputFiles()
    paths = [path for path in map(local_path, addresses) if path is not None]
    plain = bool(paths) and len(paths) == len(addresses) and (certain or is_plain_read(frame, paths))
    return paths if plain else []


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
    folder, here = paths[0].parent, Path.cwd()
    candidates = [list(map(str, paths)), frame.inputFiles()]
    if all(path.parent == folder for path in paths):
        candidates += [[str(folder)], [f"{folder}/*.parquet"], [f"file://{folder}"]]
        candidates += [[str(folder.relative_to(here))]] if here in folder.parents else []
    for candidate in candidates:
        with suppress(import_pyspark("pyspark.errors").PySparkException):  # there is no such file
            read = frame.sparkSession.read.parquet(*candidate)
            if set(frame.columns) <= set(read.columns) and frame.sameSemantics(selected(read, frame.columns)):
                return True
    return False


def row_groups(paths: Sequence[Path], types: pa.Schema) -> RowGroups:
    """Return the row groups of files; none if one of them cannot be opened, or has other types than Spark says."""
    import pyarrow.parquet as pq

    groups: list[tuple[str, int]] = []
    for path in paths:
        try:
            file = pq.read_metadata(path)
        except (pa.ArrowException, OSError):
            return ()
        result = {field.name: plain_type(field.type) for field in file.schema.to_arrow_schema()}
        if any(result.get(field.name) != plain_type(field.type) for field in types):
            return ()
        groups += [(str(path), group) for group in range(file.num_row_groups)]
    return tuple(groups)


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values of a column, one for all texts: those of files may be long, or dictionary codes."""
    own = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.string() if is_text_type(own) else own


def file_batches(groups: RowGroups, types: pa.Schema, *, coded: bool) -> ArrowBatches:
    """Yield the rows of some row groups."""
    import pyarrow.parquet as pq

    texts = [field.name for field in types if coded and is_text_type(field.type)]
    for path, of_file in groupby(groups, lambda group: group[0]):
        numbers = [number for _, number in of_file]
        try:
            file = pq.ParquetFile(path, read_dictionary=texts, pre_buffer=False, buffer_size=READ_AHEAD)
            for batch in file.iter_batches(ROWS, row_groups=numbers, columns=types.names, use_threads=False):
                yield batch if coded else batch.select(types.names).cast(types)
        except (pa.ArrowException, OSError) as error:
            raise InvalidInput(f"{path} cannot be read ({error}). Get the file again, or leave it out.") from None
