"""A model of each file of several: fitted, kept in a folder, and merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike

from .._types import JsonObject
from ..counting.counter import TableCounter
from ..counting.files import FileRows
from ..counting.kept_rows import KeptRows
from ..counting.rows import with_hints
from ..counting.weights import row_weights_of
from .fit import counted_state
from .fitted_classifier import FittedClassifier
from .live_counts import LiveCounts
from .load import save_model
from .merge import merge_models
from .settings import Parameters
from .state import FittedState
from .update import times_weight, up_to_date


def model_of_rows(
    parameters: Parameters, counter: TableCounter, rows: FileRows, *, keep_rows: bool
) -> FittedClassifier:
    """Return the model of the rows of a file that were counted, with the rows that are kept of it if they are to be.

    Where all rows are kept, nothing is fitted to them: it is fitted to those of all files.
    """
    counter.drop_types(parameters.families or ())
    kept = KeptRows.of_file(rows, counter, parameters.threads)
    if not (keep_rows and kept.complete):
        state = counted_state(parameters, counter, rows)
        return FittedClassifier(parameters, replace(state, kept=kept if keep_rows else None))
    schema = with_hints(counter, rows)
    state = FittedState(
        LiveCounts(schema, counter=counter),
        schema,
        rows.label_type,
        row_weights=row_weights_of(counter, rows),
        kept=kept,
        fitted_rows=float(counter.rows.sum()),
    )
    return FittedClassifier(parameters, state)


def write_file_model(
    fitted: FittedClassifier, place: str | PathLike[str], entry: JsonObject, *, keep_rows: bool
) -> None:
    """Write the model of a file; settings that do not matter to what is fitted are left out."""
    bare = fitted.with_parameters(n_jobs=None, random_state=0, cost=None, reject=None, prior="empirical")
    save_model(bare, place, rows=keep_rows, beside=entry)


def merged_files(
    models: Sequence[FittedClassifier], weights: Sequence[float], names: Sequence[str]
) -> FittedClassifier:
    """Return the model of the rows of all files, those of each weighing so much."""
    pairs = zip(models, weights, strict=True)
    faded = [one if weight == 1 else times_weight(one, weight) for one, weight in pairs]
    return up_to_date(merge_models(faded, names))
