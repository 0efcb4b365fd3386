"""`naively.sql.fit`: a classifier of a table in a database, counted there if it is textbook, else streamed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..counting.first_look import uncut_columns
from ..counting.weights import warn_of_scale, weighted_counts
from ..data.target import type_for
from ..estimator.fit import warn_of_target
from ..estimator.fitted_classifier import FittedClassifier
from ..estimator.naive_bayes import NaiveBayes
from ..estimator.settings import check_no_em
from ..estimator.state import state_of_counts
from .counting import counted
from .database_rows import DatabaseRows, IbisTable


def fit(
    table: IbisTable, target: str, *, sample_weight: str | None = None, ignore: Sequence[str] = (), **settings: Any
) -> NaiveBayes:
    """Fit a classifier to a table in a database.

    The textbook model is counted inside the database, and no row is fetched. For any other model the rows are
    streamed, as `NaiveBayes.fit` streams a table of Ibis; so they are where words of texts are counted, or numbers in
    bins that have no cuts yet.

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
    rows = DatabaseRows.of(table, target, parameters.families, sample_weight, ignore)
    if parameters.leaves_choices or uncut_columns(rows.schema) or rows.schema.of_kind("vectors"):
        return nb.fit(rows.stream(), target=target, sample_weight=sample_weight)
    declared = [] if parameters.classes is None else list(parameters.classes)
    counts, total = counted(rows, parameters.unlabelled, declared, parameters.families or ())
    if sample_weight is not None:
        warn_of_scale(total, float(counts.rows.sum()), "w * len(w) / w.sum()")
    weighted, by_class = weighted_counts(counts, parameters.class_weight)
    state = state_of_counts(parameters, weighted, weighted.schema)
    label_type = type_for(list(counts.classes.labels), np.dtype(object))
    nb.fitted_ = FittedClassifier(parameters, replace(state, class_weights=by_class, label_type=label_type))
    warn_of_target(weighted)
    return nb
