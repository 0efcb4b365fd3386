"""The fitted state of a classifier: all that its answers follow from beside its settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from .._types import Label
from ..counting.kept_rows import KeptRows
from ..counting.sampled_rows import NumberSample
from ..data.schema import Schema
from ..data.target import check_kinds
from ..judge.held_out_scores import HeldOutScores
from ..judge.histograms import QualityCounts
from ..model.em import Expected
from ..model.measured_information import MeasuredInformation, measure_information
from ..model.tuning import UNTUNED, Tuning
from ..stats import Counts
from .live_counts import LiveCounts
from .settings import Parameters, families_of_counts


class NumberInformation:
    """The mutual information of numbers and the class, measured on some rows of `fit` when somebody needs it."""

    def __init__(self, rows: NumberSample | None = None, measured: MeasuredInformation | None = None) -> None:
        self._rows, self._measured = rows, measured

    @property
    def measured(self) -> MeasuredInformation:
        """What was measured; the rows are dropped then."""
        if self._measured is None:
            assert self._rows is not None, "there are rows, or what was measured on them"
            self._measured = measure_information(self._rows)
            self._rows = None
        return self._measured

    @property
    def is_current(self) -> bool:
        """Whether no row came or went since `fit`."""
        return not self._rows.stale if self._measured is None and self._rows is not None else self.measured.fresh

    def outdated(self) -> NumberInformation:
        """Return the same after rows were added or removed."""
        if self._measured is None and self._rows is not None:
            return NumberInformation(self._rows._replace(stale=True))
        return NumberInformation(measured=self.measured.stale)

    def __getstate__(self) -> dict[str, MeasuredInformation | None]:
        return {"_rows": None, "_measured": self.measured}  # figures are kept, and not the rows behind them


@dataclass
class StaleNotice:
    """Whether somebody was warned that what was tuned is out of date: once is enough."""

    given: bool = False


@dataclass
class HeldOutCache:
    """Held-out scores, made when somebody needs them, and the settings that they were made with."""

    scores: HeldOutScores | None = None
    parameters: Parameters | None = None
    quality: QualityCounts | None = None  # of held-out rows, with the settings and the rows by weight that it is of
    quality_with: Parameters | None = None
    quality_of: float = 0.0

    def keep_quality(self, quality: QualityCounts, parameters: Parameters, rows: float) -> None:
        """Keep the quality of a model of so many rows under these settings."""
        self.quality, self.quality_with, self.quality_of = quality, parameters.snapshot(), rows

    def keep(self, scores: HeldOutScores, parameters: Parameters) -> None:
        """Keep scores that were made under these settings."""
        self.scores, self.parameters = scores, parameters.snapshot()


@dataclass(frozen=True, eq=False)
class FittedState:
    """What a classifier learned.

    A new state is made for each change of it, and an estimator takes it over at the very end: whatever is raised
    before, also by Ctrl-C, leaves the estimator as it was.
    """

    counts: LiveCounts  # all rows that were counted
    schema: Schema
    label_type: np.dtype[np.generic]  # of the labels, as they were given
    has_names: bool = True  # whether the columns had names
    tuning: Tuning = UNTUNED  # what was chosen on top of the counts
    tuned_with: Parameters | None = None  # the settings at that time
    class_weights: Mapping[Label, float] | None = None  # of a row of each class, when it was counted
    row_weights: Mapping[Label, float] | None = None  # of the heaviest row of each class; None if no row had a weight
    expected: Expected | None = None  # counts that are expected of rows without a label
    information: NumberInformation | None = None  # of numbers, where their bins are not counted
    has_soft_labels: bool = False  # whether rows belonged to several classes by proportions
    kept: KeptRows | None = None  # rows to fit anew on what was chosen on top of the counts
    fitted_rows: float = 0.0  # how many rows there were when that was chosen, by weight
    changed: float = 0.0  # how many rows came or went since; ∞ if it is to be chosen anew however few they are
    held_out: HeldOutCache = field(default_factory=HeldOutCache)
    notice: StaleNotice = field(default_factory=StaleNotice)

    def tuned(self, tuning: Tuning, parameters: Parameters) -> FittedState:
        """Return the same state with what was chosen on top of the counts, under these settings."""
        with_settings = parameters.snapshot()
        return replace(self, tuning=tuning, tuned_with=with_settings, held_out=HeldOutCache(), notice=StaleNotice())

    def changed_by(self, rows: float) -> FittedState:
        """Return the same state after so many rows came or went."""
        return replace(self, changed=self.changed + rows)

    def is_due(self, share: float) -> bool:
        """Tell whether what was fitted is to be fitted anew: more than such a share of the rows came or went.

        A new class cannot wait.
        """
        if self.kept is None or not self.changed:
            return False
        known = self.tuning.learned is None or len(self.counts.counter.classes) == len(self.tuning.classes)
        return self.changed > share * self.fitted_rows or not known

    def apart(self) -> FittedState:
        """Return a state to which rows can be added without changing this one."""
        measured = None if self.information is None else NumberInformation(measured=self.information.measured)
        state = replace(self, held_out=replace(self.held_out), notice=replace(self.notice))
        return replace(state, counts=self.counts.apart(), information=measured)


def state_of_counts(
    parameters: Parameters, counts: Counts, schema: Schema | None = None, has_names: bool = True
) -> FittedState:
    """Return the state of counts that were made elsewhere; without a schema, columns are what their counts suggest."""
    schema = schema or Schema.of_counts(counts)
    parameters.check()
    check_kinds(list(counts.classes.labels))
    schema = schema.with_families(families_of_counts(parameters.families, schema))
    labels = np.array(counts.classes.labels)
    weights = parameters.class_weight
    return FittedState(
        LiveCounts(schema, value=counts),
        schema,
        labels.dtype if labels.dtype.kind in "biufU" else np.dtype(object),
        has_names,
        class_weights=dict(weights) if isinstance(weights, Mapping) else None,
    )
