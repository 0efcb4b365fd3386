"""Counts and models of rows of Spark.

Tasks profile their rows: they count single columns and keep the rows of smallest content hash. The driver chooses bins
of columns of the family `bins` by the sample of all rows, tasks count these columns and texts, and the driver fits the
model to the sample. The sample does not depend on how the data are partitioned, and neither does the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ..counting.profile import Profile, profile
from ..counting.reading import count as count_rows
from ..counting.reading import weighted_counts
from ..counting.rows import uncut_columns, with_word_pairs
from ..data.schema import Schema, schema_of_types
from ..errors import InvalidInput
from ..estimator.fit import warn_of_target
from ..estimator.fitted_classifier import FittedClassifier
from ..estimator.naive_bayes import NaiveBayes
from ..estimator.settings import FamiliesLike, Parameters, check_choice, check_no_em
from ..estimator.state import state_of_counts
from ..families import Words
from ..stats import Counts
from ..stats.counts import add
from .rows import ArrowBatches, MakePart, SparkRows, SparkSource, spark_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Part = TypeVar("Part", Counts, Profile)


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

    One job counts the rows and samples up to 50,000 of them, to which the driver fits the default model. Texts, and
    bins without cuts, take a second job: they are counted once the first has shown how. The textbook model takes one
    job, and two with such bins.

    Parameters
    ----------
    source : DataFrame of Spark, str, Path or list of str
        The rows, or the path of Parquet files, or several paths. If a DataFrame is a plain read of Parquet files in a
        file system that the driver and the executors have mounted, the tasks read these files themselves, which is
        several times as fast.
    target : str
        The column of the classes.
    weight : str, optional
        The column of the row weights.
    ignore : sequence of str, default=()
        Columns that are not used.
    session : SparkSession, optional
        The session that reads files; by default the one that is running.
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
    nb = NaiveBayes(**settings)
    parameters = nb.parameters
    parameters.check()
    check_no_em(parameters)
    rows, plan = count_plan(source, target, weight, ignore, parameters.families, parameters.unlabelled, session)
    if parameters.leaves_choices or uncut_columns(plan.schema):
        profile = total(rows, plan.profile_bytes, Profile)
        schema = profile.schema_for(parameters)
        if uncut_columns(plan.schema) or schema.of_kind("vectors"):
            counts = total_counts(rows, plan._replace(schema=schema))
        else:
            counts = counts_of_profile(profile, schema)
        nb = NaiveBayes.from_counts(counts, profile=profile, **settings)
    else:
        counts, by_class = weighted_counts(total_counts(rows, plan), parameters.class_weight)
        state = state_of_counts(parameters, counts, counts.schema)
        nb.fitted_ = FittedClassifier(parameters, replace(state, class_weights=by_class))
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
        The rows, or the path of Parquet files, or several paths.
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
        The session that reads files; by default the one that is running.

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
    rows, plan = count_plan(source, target, weight, ignore, schema, unlabelled, session)
    texts = (column.family for column in plan.schema.of_kind("vectors") if column.type == "text")
    if uncut_columns(plan.schema) or any(isinstance(family, Words) and family.may_pair for family in texts):
        profile = total(rows, plan.profile_bytes, Profile)
        decided = profile.schema_for(Parameters(model="textbook"))
        decided = with_word_pairs(decided, lambda name: profile.text_bytes.get(name, 0.0))
        plan = plan._replace(schema=decided)
    return total_counts(rows, plan)


class CountPlan(NamedTuple):
    """How tasks count rows, with one thread each; what they return is bytes."""

    schema: Schema
    target: str
    weight: str | None
    unlabelled: str  # what to do with rows without a label

    def profile_bytes(self, batches: ArrowBatches) -> bytes:
        """Return the profile of the rows of a task."""
        schema, target, weight, unlabelled = self
        result = profile(batches, target=target, schema=schema, sample_weight=weight, unlabelled=unlabelled, n_jobs=1)
        return result.to_bytes()

    def count_bytes(self, batches: ArrowBatches) -> bytes:
        """Return the counts of the rows of a task, none of which may have a label."""
        schema, target, weight, unlabelled = self
        counts = count_rows(batches, target=target, schema=schema, weight=weight, unlabelled=unlabelled, n_jobs=1)
        return counts.to_bytes()


def count_plan(
    source: SparkSource,
    target: str,
    weight: str | None,
    ignore: Sequence[str],
    families: FamiliesLike,
    unlabelled: str,
    session: SparkSession | None,
) -> tuple[SparkRows, CountPlan]:
    """Return the rows of a source and how they are counted; what their columns are follows from their types alone."""
    names = families.names if isinstance(families, Schema) else None
    rows = spark_rows(source, session, target, weight, columns=names, ignore=ignore)
    if isinstance(families, Schema):
        schema = replace(families, target=target, weight=weight)
    else:
        schema = schema_of_types(rows.types, families, target=target, weight=weight)
    if not len(schema):
        unused = ", ".join(repr(name) for name in (target, weight, *ignore) if name is not None)
        raise InvalidInput(f"There is no column to learn from besides {unused}.")
    return rows, CountPlan(schema, target, weight, unlabelled)


def total_counts(rows: SparkRows, plan: CountPlan) -> Counts:
    """Return the counts of all rows, of which one at least has a label."""
    return counts_of_some_rows(total(rows, plan.count_bytes, Counts))


def counts_of_profile(profile: Profile, schema: Schema) -> Counts:
    """Return the counts of all rows that were profiled, under a schema without texts."""
    seen = profile.counts
    columns = {name: seen.columns[name] for name in schema.names}
    return counts_of_some_rows(Counts(seen.classes, seen.rows, columns, schema))


def counts_of_some_rows(counts: Counts) -> Counts:
    """Refuse counts of no rows."""
    if not counts.rows.any():
        raise InvalidInput("No row has a label and a weight above 0: there is nothing to learn from.")
    return counts


def total(rows: SparkRows, make: MakePart, kind: type[Part]) -> Part:
    """Return the sum of the counts or profiles that tasks make of their rows."""

    def added(parts: Sequence[bytes]) -> Part:
        return add([kind.from_bytes(part) for part in parts])

    parts = rows.parts(make, lambda parts: added(parts).to_bytes())
    if not parts:
        raise InvalidInput("There are no rows, only names of columns. There is nothing to learn from.")
    return added(parts)
