"""Models that are current: what was chosen on top of the counts is chosen anew when enough rows came or went.

Where all rows are kept, the model is then that of one `fit` of all of them. Where some are kept, the counts are exact,
and weights are fitted to them on the rows that are kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..counting.kept_rows import KeptRows
from ..counting.rows import Rows
from ..counting.weights import with_class_weights
from ..data.schema import Schema
from .fit import fit_rows
from .fitted_classifier import FittedClassifier
from .settings import Parameters
from .state import FittedState
from .tuner import Tuner


def current_model(fitted: FittedClassifier) -> FittedClassifier:
    """Return the model with everything chosen anew, if enough rows came or went; the same one if not."""
    share = fitted.parameters.recipe.refit_share
    return up_to_date(fitted) if fitted.state.is_due(share) else fitted


def up_to_date(fitted: FittedClassifier) -> FittedClassifier:
    """Return the model with everything chosen anew, if any row came or went since."""
    state = fitted.state
    if state.kept is None or not (state.due or state.changed):
        return fitted
    return FittedClassifier(fitted.parameters, refitted(fitted.parameters, state, state.kept))


def refitted(parameters: Parameters, state: FittedState, kept: KeptRows) -> FittedState:
    """Return the state with everything chosen anew on the rows that are kept."""
    kept = kept.in_order(parameters.threads)
    if not kept.total:
        return replace(state, kept=kept, due=False)
    if kept.complete:
        return fitted_anew(parameters, replace(state, kept=kept), kept.rows())
    rows = with_class_weights(kept.rows(), state.class_weights)
    after = Tuner(parameters, state).fit(rows)
    total = float(after.counts.counter.rows.sum())
    return replace(after, kept=kept, fitted_rows=total, changed=0.0, due=False)


def fitted_anew(parameters: Parameters, state: FittedState, rows: Rows) -> FittedState:
    """Return the state of one fit of all rows, whose columns are what they were."""
    balanced = isinstance(parameters.class_weight, str) and state.class_weights is not None
    how = replace(
        parameters,
        families=bare_schema(parameters, state.schema),
        class_weight=parameters.class_weight if balanced else state.class_weights,
        classes=list(state.counts.counter.declared) or None,
    )
    after = fit_rows(how, rows, list(state.class_weights or ()), kept=state.kept)
    return replace(after, label_type=state.label_type, has_names=state.has_names)


def bare_schema(parameters: Parameters, schema: Schema) -> Schema:
    """Return what the columns are, without what was laid out from the rows: bins are cut anew."""
    given = parameters.families
    bare = replace(schema, grid=None, hints=())
    return bare.with_families(given) if isinstance(given, Mapping) else bare
