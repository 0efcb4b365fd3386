"""Sessions of Spark, classic and Connect, by public calls alone: nothing reaches into the JVM."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInput, NotInstalled

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# PySpark warns of pandas 3 whenever a function of Python gets Arrow batches, which never are pandas' here.
PANDAS_NOTICE = "PySpark does not yet fully support pandas"


def import_pyspark(module: str = "pyspark.sql") -> Any:
    """Return a module of PySpark; say what to install if there is none."""
    try:
        with without_pandas_notice():
            return import_module(module)
    except ImportError:
        raise NotInstalled("DataFrames of Spark are read through PySpark", "spark") from None


@contextmanager
def without_pandas_notice() -> Iterator[None]:
    """Keep PySpark's remark on the version of pandas away from callers who gave no pandas."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=PANDAS_NOTICE, category=FutureWarning)
        yield


def is_spark_frame(source: object) -> bool:
    """Tell whether something is a DataFrame of Spark, classic or of Connect."""
    kind = type(source)
    return kind.__module__.startswith("pyspark.sql.") and kind.__name__ == "DataFrame"


def active_session(given: SparkSession | None) -> SparkSession:
    """Return the session that is given, or the one that is running."""
    found: SparkSession | None = given or import_pyspark().SparkSession.getActiveSession()
    if found is None:
        raise InvalidInput(
            "No session of Spark is running. Start one, SparkSession.builder.getOrCreate(), and give it: session=…."
        )
    return found


def is_connected(session: SparkSession) -> bool:
    """Tell whether a session is one of Spark Connect: a client without a JVM of its own."""
    return ".connect." in type(session).__module__


def parallel_tasks(session: SparkSession) -> int:
    """Return about how many tasks run at a time."""
    if not is_connected(session):
        return max(int(session.sparkContext.defaultParallelism), 1)
    functions = import_pyspark("pyspark.sql.functions")  # a range has as many partitions as tasks run at a time
    return int(session.range(1 << 20).select(functions.spark_partition_id()).distinct().count()) or 1


def column_of(name: str) -> Any:
    """Return a column by its name, whatever characters that has."""
    quoted = name.replace("`", "``")
    return import_pyspark("pyspark.sql.functions").col(f"`{quoted}`")


def selected(frame: DataFrame, names: list[str]) -> DataFrame:
    """Return some columns of a DataFrame."""
    return frame.select(*map(column_of, names))


@contextmanager
def plain_errors() -> Iterator[None]:
    """Say in a sentence what a task of Spark lacks; other errors of Spark stay as they are."""
    try:
        yield
    except Exception as error:
        lacking = re.search(r"ModuleNotFoundError: No module named '(naively|pyarrow|numpy|scipy)", str(error))
        if lacking is None or not type(error).__module__.startswith("pyspark."):
            raise
        raise InvalidInput(
            f"The Python of Spark's executors has no module {lacking[1]!r}. Install Naively there as here: in the "
            "image of the cluster, or as an archive of the environment (spark-submit --archives); PYSPARK_PYTHON says "
            "which Python they start."
        ) from None
