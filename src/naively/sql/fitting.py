"""`naively.sql.fit`: a classifier of a table in a database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._threads import shared_threads
from .._types import Label
from ..counting import sample
from ..counting.first_look import with_cuts
from ..counting.rows import Rows, with_hints
from ..counting.sampled_rows import numbers_to_measure
from ..counting.weights import row_weights_of, warn_of_scale, weighted_counts, with_class_weights
from ..data.frame import frame_of
from ..data.grid import Grid
from ..data.schema import Schema
from ..data.target import type_for
from ..estimator.fit import fit_rows, warn_of_target
from ..estimator.fitted_classifier import FittedClassifier
from ..estimator.live_counts import LiveCounts
from ..estimator.naive_bayes import NaiveBayes
from ..estimator.settings import Parameters, check_no_em
from ..estimator.state import FittedState, NumberInformation
from ..estimator.tuner import Tuner
from ..stats import Counts
from ..stats.pairs import JointCounts
from .counting import check_choices, counted_columns
from .database_rows import DatabaseRows, checked_class_rows, column_of
from .database_schema import check_cuts
from .engine import IbisTable, fetched
from .number_sums import class_rows_query
from .pair_counts import counted_pairs
from .row_sample import check_hashable, drawn_rows


def fit(
    table: IbisTable, target: str, *, sample_weight: str | None = None, ignore: Sequence[str] = (), **settings: Any
) -> NaiveBayes:
    """Fit a classifier to a table inside its database.

    The database counts single columns and pairs of columns. For what else is to be chosen, bins and weights, up to
    50,000 rows are fetched: all of them while they are no more, and then the model is that of one `NaiveBayes.fit`; or
    else a sample by a hash of their content. The textbook model needs no rows.

    Parameters
    ----------
    table : ibis.Table
        A table, a view or a query of Ibis, such as ``ibis.duckdb.connect(path).table("orders")``.
    target : str
        The column of the classes.
    sample_weight : str, optional
        The column of the row weights.
    ignore : sequence of str, default=()
        Columns that are not used.
    **settings
        The settings of `NaiveBayes`.

    Returns
    -------
    NaiveBayes
        A fitted classifier.

    Raises
    ------
    InvalidInput
        If the table or the settings cannot be used.
    NotInstalled
        If Ibis is not installed.

    Examples
    --------
    >>> import ibis
    >>> import naively as nv
    >>> con = ibis.duckdb.connect()
    >>> _ = con.raw_sql("create table days as from (values ('rain', 'in'), ('sun', 'out')) t(sky, go)")
    >>> nb = nv.sql.fit(con.table("days"), target="go")
    >>> nb.predict({"sky": "sun"})
    array(['out'], dtype=object)
    """
    nb = NaiveBayes(**settings)
    parameters = nb.parameters
    parameters.check()
    check_no_em(parameters)
    check_choices(parameters.unlabelled, sample_weight)
    rows = DatabaseRows.of(table, target, parameters.families, sample_weight, ignore)
    state = fitted_state(parameters, rows)
    nb.fitted_ = FittedClassifier(parameters, state)
    warn_of_target(state.counts.value)
    return nb


def fitted_state(parameters: Parameters, rows: DatabaseRows) -> FittedState:
    """Return the state of the rows of a database: of one fit if all of them can be fetched, or else counted there."""
    declared: list[Label] = [] if parameters.classes is None else list(parameters.classes)  # type: ignore[arg-type]
    overview = fetched(class_rows_query(rows))
    classes = checked_class_rows(rows, overview, parameters.unlabelled, declared)
    total = int(column_of(overview, "rows")[rows.classes_of(overview).codes >= 0].sum())
    if rows.weight is not None:
        warn_of_scale(total, float(classes.rows.sum()), "w * len(w) / w.sum()")
    with shared_threads(parameters.threads):
        if total <= sample.KEPT:
            drawn = drawn_rows(rows, total).rows(rows, parameters.unlabelled)
            return fit_rows(replace(parameters, families=rows.schema), drawn)
        return _counted_state(parameters, rows, total, declared)


def _counted_state(parameters: Parameters, rows: DatabaseRows, total: int, declared: Sequence[Label]) -> FittedState:
    """Return the state of rows that the database counts, with what the settings leave to a sample to choose."""
    drawn = None
    if parameters.leaves_choices:
        check_hashable(rows)
        drawn = drawn_rows(rows, total).rows(rows, parameters.unlabelled)
        rows = replace(rows, schema=with_cuts(rows.schema, frame_of(drawn.source), drawn.weights))
    check_cuts(rows.schema)
    families = parameters.families
    named = () if families is None else families.names if isinstance(families, Schema) else list(families)
    counts = counted_columns(rows, parameters.unlabelled, declared, named)
    rows = replace(rows, schema=counts.schema, labelled=parameters.unlabelled == "error")
    weighted, by_class = weighted_counts(counts, parameters.class_weight)
    state = FittedState(
        LiveCounts(counts.schema, value=weighted),
        counts.schema,
        type_for(list(counts.classes.labels), np.dtype(object)),
        class_weights=by_class,
        fitted_rows=float(weighted.rows.sum()),
        fitted_as=parameters.model,
    )
    return state if drawn is None else _tuned_state(parameters, state, rows, counts, drawn)


def _tuned_state(
    parameters: Parameters, state: FittedState, rows: DatabaseRows, counts: Counts, drawn: Rows
) -> FittedState:
    """Return the state with what is chosen on the rows of a sample; pairs of columns are counted in the database."""
    own = replace(drawn, source=frame_of(drawn.source).on(state.schema))
    own, counter = with_class_weights(own, state.class_weights), state.counts.counter
    schema = with_hints(counter, own)
    schema = replace(schema, hints=(*schema.hints, *state.schema.hints))
    state = replace(state, counts=LiveCounts(schema, counter=counter), schema=schema)

    def joint_on(grid: Grid) -> JointCounts:
        joint = counted_pairs(rows, counts, grid)
        whole = Counts(counts.classes, counts.rows, {}, joint=joint)
        found = weighted_counts(whole, parameters.class_weight)[0].joint
        assert found is not None
        return found

    state = Tuner(parameters, replace(state, row_weights=row_weights_of(counter, own))).fit(own, joint_on=joint_on)
    measured = numbers_to_measure(state.counts.counter, own, parameters.threads)
    return replace(state, information=None if measured is None else NumberInformation(measured))
