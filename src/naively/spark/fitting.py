"""Counts and models of rows of Spark: look, count, weigh.

Tasks look at their rows: single columns are counted, and the rows of smallest hash kept. The driver lays out bins by
the sample that follows from all of them, tasks count pairs of columns on that grid, and the driver fits the weights on
the sample. The sample is the same rows however the data are partitioned, and so is the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ..counting.first_look import uncut_columns, with_word_pairs
from ..data.schema import Schema, schema_of_types
from ..errors import InvalidInput
from ..estimator.fit import warn_of_target
from ..estimator.look import Look
from ..estimator.naive_bayes import NaiveBayes
from ..estimator.settings import FamiliesLike, Parameters, check_choice, check_no_em
from ..families import Words
from ..stats import Counts
from .arrow_tasks import AddParts, MakePart
from .counted_parts import CountPlan, add_counts, add_looks, count_of_part, look_of_part, unpacked_counts
from .rows import SparkRows, SparkSource, spark_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def fit(
    source: SparkSource,
    *,
    target: str,
    weight: str | None = None,
    ignore: Sequence[str] = (),
    session: SparkSession | None = None,
    **settings: Any,
) -> NaiveBayes:
    """Return the classifier of rows of Spark: the same as one `NaiveBayes.fit` of all of them.

    The default model takes two jobs: one looks at the rows, one counts pairs of columns; weights are fitted on the
    driver, on up to 50,000 rows. The textbook model takes one job.

    Parameters
    ----------
    source : DataFrame of Spark, str, Path or list of str
        The rows; or the path of Parquet files, or several. A DataFrame that is a plain read of Parquet files in a file
        system that the executors have mounted is read by the tasks themselves, which is several times faster.
    target : str
        The column of the classes.
    weight : str, optional
        The column of the row weights.
    ignore : sequence of str, default=()
        Columns that are not used.
    session : SparkSession, optional
        Where files are read; by default the session that is running.
    **settings
        The settings of `NaiveBayes`, such as ``model="textbook"`` or ``unlabelled="skip"``.

    Returns
    -------
    NaiveBayes
        The fitted classifier, on the driver.

    Raises
    ------
    InvalidInput
        If a column cannot be counted, a row has no label, or there are no rows; nothing of Spark's trace is shown.

    Examples
    --------
    ``nv_spark.fit(frame, target="species")`` is the default model, and ``nv_spark.fit("rows/*.parquet",
    target="species", model="textbook")`` the textbook model of files.
    """
    parameters = NaiveBayes(**settings).parameters
    parameters.check()
    check_no_em(parameters)
    job = CountJob.of(source, target, weight, ignore, parameters.families, parameters.unlabelled, session)
    if not parameters.leaves_choices and job.is_decided(pairs=False):
        counts = job.count(job.plan.schema)
        nb = NaiveBayes.from_counts(counts, **settings)
    else:
        look = job.look(job.plan.schema)
        if uncut_columns(job.plan.schema):
            look = job.look(look.schema_for(parameters))
        counts = job.count(look.schema_for(parameters))
        nb = NaiveBayes.from_counts(counts, look=look, **settings)
    warn_of_target(counts)
    return nb


def count(
    source: SparkSource,
    *,
    target: str,
    schema: FamiliesLike = None,
    weight: str | None = None,
    ignore: Sequence[str] = (),
    unlabelled: str = "error",
    session: SparkSession | None = None,
) -> Counts:
    """Return the counts of rows of Spark: the rows of each class, and a statistic for each column, as `nv.count` does.

    Counts add and subtract: those of a new day are added to those of the days before.

    Parameters
    ----------
    source : DataFrame of Spark, str, Path or list of str
        The rows; or the path of Parquet files, or several.
    target : str
        The column of the classes.
    schema : Schema or dict, optional
        The columns, such as the `schema_` of a model, or the families of some columns by name.
    weight : str, optional
        The column of the row weights.
    ignore : sequence of str, default=()
        Columns that are not used.
    unlabelled : {"error", "skip"}, default="error"
        What to do with rows without a label: refuse them, or skip them.
    session : SparkSession, optional
        Where files are read; by default the session that is running.

    Returns
    -------
    Counts
        The counts of all rows.

    Raises
    ------
    InvalidInput
        If a column cannot be counted, a row has no label, or there are no rows.

    Examples
    --------
    ``nv_spark.count(frame, target="species") + before`` are the counts of these rows and of those before.
    """
    check_choice("unlabelled", unlabelled, ("error", "skip"))
    job = CountJob.of(source, target, weight, ignore, schema, unlabelled, session)
    own = job.plan.schema
    if not job.is_decided(pairs=True):
        look = job.look(own)
        own = look.schema_for(Parameters(model="textbook"))
        own = with_word_pairs(own, lambda name: (look.seen.text_bytes or {}).get(name, 0.0))
    return job.count(own)


@dataclass(frozen=True)
class CountJob:
    """Rows of Spark that are counted, and how."""

    rows: SparkRows
    plan: CountPlan

    @classmethod
    def of(
        cls,
        source: SparkSource,
        target: str,
        weight: str | None,
        ignore: Sequence[str],
        families: FamiliesLike,
        unlabelled: str,
        session: SparkSession | None,
    ) -> CountJob:
        """Return how the rows of a source are counted; what its columns are follows from their types alone."""
        beside = [target, *([] if weight is None else [weight])]
        known = list(families.names) if isinstance(families, Schema) else None
        rows, types = spark_rows(source, session, beside=beside, ignore=ignore, columns=known)
        if isinstance(families, Schema):
            schema = replace(families, target=target, weight=weight)
        else:
            schema = schema_of_types(types, families, target=target, weight=weight)
        if not len(schema):
            raise InvalidInput(f"There is no column to learn from beside {', '.join(map(repr, [*beside, *ignore]))}.")
        return cls(rows, CountPlan(schema, target, weight, unlabelled))

    def is_decided(self, *, pairs: bool) -> bool:
        """Tell whether the types decide everything: no bins need cuts, nor must it be decided on pairs of words."""
        texts = (column.family for column in self.plan.schema.of_kind("vectors") if column.type == "text")
        open_pairs = pairs and any(isinstance(family, Words) and family.may_pair for family in texts)
        return not open_pairs and not uncut_columns(self.plan.schema)

    def look(self, schema: Schema) -> Look:
        """Return the look at all rows."""
        plan = self.plan._replace(schema=schema)
        return Look.from_bytes(self._added(partial(look_of_part, plan), add_looks))

    def count(self, schema: Schema) -> Counts:
        """Return the counts of all rows, of which one at least has a label."""
        plan = self.plan._replace(schema=schema)
        counts = unpacked_counts(self._added(partial(count_of_part, plan), add_counts))
        if not counts.rows.any():
            raise InvalidInput("No row has a label and a weight above 0: there is nothing to learn from.")
        return counts

    def _added(self, make: MakePart, add: AddParts) -> bytes:
        total = self.rows.added(make, add)
        if total is None:
            raise InvalidInput("There are no rows, only names of columns. There is nothing to learn from.")
        return total
