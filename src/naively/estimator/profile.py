"""From the counts of parts and their profile to a fitted state."""

from __future__ import annotations

from dataclasses import replace

from ..counting.counter import TableCounter
from ..counting.profile import Profile
from ..counting.weights import weighted_counts
from ..errors import IncompatibleCounts
from ..stats import Counts
from .fit import counted_state
from .settings import Parameters, check_no_em
from .state import FittedState


def state_of_profile(parameters: Parameters, counts: Counts, profile: Profile) -> FittedState:
    """Return the state of rows that were profiled and counted; what the settings leave open the sample decides."""
    parameters.check()
    check_no_em(parameters)
    check_same_rows(counts, profile)
    schema = replace(counts.schema or profile.schema_for(parameters), hints=())
    weighted, by_class = weighted_counts(counts, parameters.class_weight)
    counter = TableCounter.of(Counts(weighted.classes, weighted.rows, weighted.columns, schema), schema)
    counter.drop_types(parameters.families or ())
    rows = profile.file_rows(list(counter.classes.places))
    rows.by_class = by_class
    return counted_state(parameters, counter, rows)


def check_same_rows(counts: Counts, profile: Profile) -> None:
    """Refuse counts of other rows than were profiled."""
    counted = dict(zip(counts.classes.labels, counts.rows.tolist(), strict=True))
    seen = dict(zip(profile.counts.classes.labels, profile.counts.rows.tolist(), strict=True))
    for label in {**counted, **seen}:
        a, b = counted.get(label, 0.0), seen.get(label, 0.0)
        if abs(a - b) > 1e-9 * max(a, b):
            raise IncompatibleCounts(
                f"{a:.10g} rows of class {label!r} were counted, and {b:.10g} were profiled. Profile all rows that "
                "are counted, and at no others."
            )
