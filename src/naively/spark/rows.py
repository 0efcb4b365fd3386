"""Rows of Spark: a DataFrame, or Parquet files by their path; they come from Spark, or from the files themselves."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from os import PathLike, fspath
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import pyarrow as pa

from ..errors import InvalidInput
from .arrow_tasks import AddParts, ArrowBatches, MakePart, UnlikeSpark, added_parts
from .column_types import arrow_types_of, check_columns, check_names
from .parquet_files import FileTasks, file_tasks
from .session import active_session, import_pyspark, is_spark_frame, selected

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Batches = TypeVar("Batches")

SparkSource: TypeAlias = "DataFrame | str | PathLike[str] | Sequence[str]"


@dataclass(frozen=True)
class SparkRows:
    """Some columns of a DataFrame, and the files that hold them if it is a plain read of such."""

    frame: DataFrame
    files: FileTasks | None = None

    @classmethod
    def of_all(cls, frame: DataFrame, certain: bool) -> SparkRows:
        """Return all columns of a DataFrame, whatever they hold."""
        try:
            types = arrow_types_of(frame, ())
        except InvalidInput:  # a column that cannot be counted may be there all the same
            return cls(frame)
        return cls(frame, file_tasks(frame, types, certain))

    def in_batches(
        self, function: Callable[[ArrowBatches], Batches], *, coded: bool = False
    ) -> tuple[DataFrame, Callable[[ArrowBatches], Batches]]:
        """Return the DataFrame that tasks go over, and the function as it takes the batches of that.

        Texts of files may come as codes with a dictionary, which is faster; Spark takes no such columns back.
        """
        files = self.files
        if files is None:
            return self.frame, function
        return files.frame(self.frame.sparkSession), lambda numbers: function(files.batches(numbers, coded=coded))

    def added(self, make: MakePart, add: AddParts) -> bytes | None:
        """Return the sum of the parts that tasks make of these rows; None if there are none."""
        if self.files is None:
            return added_parts(self.frame, make, add)
        try:
            over, of_files = self.in_batches(make, coded=True)
            return added_parts(over, of_files, add, len(self.files.pieces))
        except UnlikeSpark:  # Spark reads these files in its own way
            return replace(self, files=None).added(make, add)


def frame_of_source(source: SparkSource, session: SparkSession | None) -> tuple[DataFrame, bool]:
    """Return the DataFrame of a source, and whether it is certainly a plain read of Parquet files."""
    import_pyspark()
    if is_spark_frame(source):
        check_names(source)
        return source, False
    paths = [source] if isinstance(source, (str, PathLike)) else source
    if not isinstance(paths, (list, tuple)) or not all(isinstance(path, (str, PathLike)) for path in paths):
        raise InvalidInput(
            f"Expected a DataFrame of Spark or the path of Parquet files, and got a {type(source).__name__}. Rows in "
            "memory need no Spark: NaiveBayes().fit(rows)."
        )
    return active_session(session).read.parquet(*map(fspath, paths)), True


def spark_rows(
    source: SparkSource,
    session: SparkSession | None,
    *,
    beside: Sequence[str] = (),
    ignore: Collection[str] = (),
    columns: Collection[str] | None = None,
) -> tuple[SparkRows, pa.Schema]:
    """Return the rows of a source, and the Arrow types of their columns: all but those ignored, or some and others."""
    frame, certain = frame_of_source(source, session)
    check_columns(frame, [*beside, *ignore, *(columns or ())])
    wanted = frame.columns if columns is None else [*columns, *beside]
    names = [name for name in frame.columns if name in wanted and name not in ignore]
    types = arrow_types_of(frame, [name for name in frame.columns if name not in names])
    kept = frame if names == frame.columns else selected(frame, names)
    return SparkRows(kept, file_tasks(frame, types, certain)), types
