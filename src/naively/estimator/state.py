"""The fitted state of a classifier: all that its answers follow from beside its settings."""

from __future__ import annotations

import copy
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from .._types import Codes, Floats, JsonObject, Label
from ..counting.counter import TableCounter
from ..counting.files import FileRows
from ..counting.rows import Rows, are_copies
from ..counting.sample import Sample
from ..data.schema import Schema
from ..data.target import check_kinds
from ..errors import InvalidInput
from ..judge.held_out_scores import HeldOutScores
from ..judge.histograms import QualityCounts
from ..model.default.bins import fine_bins
from ..model.default.rows import effective_weights
from ..model.em import Expected
from ..model.recipe import RECIPE
from ..model.tuning import UNTUNED, Tuning
from ..stats import Counts
from ..stats.arithmetic import Information, heaviest_rows, information_of_bins
from .settings import Parameters, families_of_counts


class NumberInformation:
    """The mutual information of numbers and the class, measured on some rows of `fit` when somebody needs it."""

    def __init__(
        self,
        rows: Rows | None = None,
        total: float = 0.0,
        *,
        measured: MeasuredInformation | None = None,
        is_current: bool = True,
    ) -> None:
        self._rows, self._total, self._measured, self._current = rows, total, measured, is_current

    @property
    def measured(self) -> MeasuredInformation:
        """What was measured; the rows are dropped then."""
        if self._measured is None:
            assert self._rows is not None, "there are rows, or what was measured on them"
            self._measured = measure_information(self._rows, self._total, fresh=self._current)
            self._rows = None
        return self._measured

    @property
    def is_current(self) -> bool:
        """Whether no row came or went since `fit`."""
        return self._current if self._measured is None else self._measured.fresh

    def outdated(self) -> NumberInformation:
        """Return the same after rows were added or removed."""
        if self._measured is None:
            return NumberInformation(self._rows, self._total, is_current=False)
        return NumberInformation(measured=self.measured.stale)

    def __getstate__(self) -> dict[str, object]:
        figures = self.measured  # they are kept, and not the rows behind them
        return {"_rows": None, "_total": 0.0, "_measured": figures, "_current": True}


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
    kept: Sample | None = None  # rows to fit anew on what was chosen on top of the counts
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


# -- the counts of a fitted model --------------------------------------------------------------------------------------


# Counts of at most so many bytes are copied before rows are added to them, to go back to if that is interrupted. A copy
# takes some 50 microseconds; of larger ones rows that were added are taken away again.
COPIED = 1 << 20


class CountsBackup(NamedTuple):
    """Counts before rows are added: their value, or a copy of their counter."""

    value: Counts | None
    counter: TableCounter | None


class LiveCounts:
    """Counts of all rows so far.

    `value` is made from the counter when it is needed, and the counter from the value. `version` changes whenever rows
    are added, so that what was made of the counts can be told from what is to be made anew.
    """

    def __init__(self, schema: Schema, *, counter: TableCounter | None = None, value: Counts | None = None) -> None:
        self.schema, self.version = schema, 0
        self._counter, self._value, self._can_restore, self._added = counter, value, False, False

    @property
    def counter(self) -> TableCounter:
        """The counter of these rows."""
        if self._counter is None:
            assert self._value is not None, "counts are held as a value or as a counter"
            self._counter = TableCounter.of(self._value, self.schema)
        return self._counter

    @property
    def value(self) -> Counts:
        """The counts of all rows so far."""
        if self._value is None:
            self._value = self.counter.value()
        return self._value

    def apart(self) -> LiveCounts:
        """Return the same counts with a counter of their own, so that rows added to one are not added to the other."""
        return LiveCounts(self.schema, value=self.value)

    def add_row(self, row: Mapping[str, object], label: Label) -> None:
        """Add one row given as a dict: one call of a kernel, which no interrupt can split."""
        counter = self.counter
        self._value = None
        self.version += 1
        counter.add_row(row, label)
        self._added = True

    def backup(self, *, copied: bool = False) -> CountsBackup:
        """Return what the counts are now, for `restore`, before rows are added to them.

        It is their value, if somebody used it since the last rows came, or else a copy. Of large counts there is no
        copy, unless `copied` asks for one: then `add` does not let Ctrl-C stop it half-way.
        """
        copies = self._value is None and (copied or _bytes_of(self.counter) <= COPIED)
        saved = CountsBackup(self._value, _copied(self.counter) if copies else None)
        self._can_restore, self._added = copies or saved.value is not None, False
        return saved

    def restore(self, saved: CountsBackup, error: BaseException) -> None:
        """Go back to what the counts were, after an error while rows were added."""
        self.version += 1
        if saved.counter is not None:
            self._counter = saved.counter
        elif saved.value is not None and (self._added or not isinstance(error, InvalidInput)):
            # A row that is refused changes nothing; an error after rows were added must undo them.
            self._counter = None
        self._value = saved.value

    def add(self, rows: Rows | FileRows, threads: int) -> None:
        """Count more rows, after a `backup`."""
        counter = self.counter
        self._value = None
        self.version += 1
        if isinstance(rows, FileRows) and counter.rows.any():
            part = counter.empty_like()
            rows.count(part, threads)
            self._add_whole(lambda: counter.absorb(part), lambda: part)
        elif isinstance(rows, FileRows):
            rows.count(counter, threads)
        else:
            self._add_whole(lambda: rows.count(counter, threads), lambda: _counted(counter.empty_like(), rows, threads))
        self._added = True

    def _add_whole(self, add: Callable[[], None], part: Callable[[], TableCounter]) -> None:
        """Add a part to the counter; if there is nothing to restore it from, Ctrl-C has to wait, and undoes it."""
        if self._can_restore:
            add()
            return
        with _delayed_interrupts() as interrupts:
            add()
            if interrupts:
                rest = self.counter.less(part())
                self._counter = TableCounter.of(rest, self.schema)


@contextmanager
def _delayed_interrupts() -> Iterator[list[int]]:
    """Hold back Ctrl-C until the end, and list what came meanwhile. It interrupts the main thread alone."""
    before, came = signal.getsignal(signal.SIGINT), list[int]()
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield came
        return
    signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        before(came[0], None)


def _counted(counter: TableCounter, rows: Rows, threads: int) -> TableCounter:
    """Return a counter that has counted some rows."""
    rows.count(counter, threads)
    return counter


def _copied(counter: TableCounter) -> TableCounter:
    """Return a counter with sums of its own; codes of new labels are shared, which do no harm."""
    other = copy.copy(counter)
    other.rows, other.vectors = counter.rows.copy(), {name: copy.copy(part) for name, part in counter.vectors.items()}
    other.labels, other.numbers = copy.copy(counter.labels), copy.copy(counter.numbers)
    for part in (vars(other.labels), vars(other.numbers)):
        part.update((name, value.copy()) for name, value in part.items() if isinstance(value, np.ndarray))
    return other


def _bytes_of(counter: TableCounter) -> int:
    """Return about how many bytes the sums of a counter take."""
    size = counter.labels.n.nbytes + counter.numbers.sums.nbytes
    widths: int = sum(part.width for part in counter.vectors.values())
    return size + 16 * len(counter.classes) * widths


# -- the mutual information of numbers and the class where only their moments were counted -----------------------------


@dataclass(frozen=True)
class MeasuredInformation:
    """The mutual information of columns of numbers and the class, by name; stale once rows were added or removed."""

    told: Mapping[str, Information]
    of: float  # the weight of all rows that were there to choose from
    fresh: bool = True

    @property
    def stale(self) -> MeasuredInformation:
        """The same, after rows were added or removed."""
        return replace(self, fresh=False)

    def to_json(self) -> JsonObject:
        """Return it as plain data."""
        return {"told": {name: list(one) for name, one in self.told.items()}, "of": self.of, "fresh": self.fresh}

    @classmethod
    def from_json(cls, data: JsonObject) -> MeasuredInformation:
        """Return what to_json described."""
        if not all(isinstance(figure, (int, float)) for one in data["told"].values() for figure in one):
            raise TypeError("what was measured is no number")
        told = {str(name): Information(*map(float, one)) for name, one in data["told"].items()}
        return cls(told, float(data["of"]), bool(data["fresh"]))

    def known(self, rows: float) -> Mapping[str, Information]:
        """Return the mutual information by column; nothing, if most of the rows were added since it was measured."""
        return self.told if self.fresh or rows <= 2 * self.of else {}


def measure_information(rows: Rows, total: float, *, fresh: bool = True) -> MeasuredInformation:
    """Return the mutual information of the numbers and the classes of rows, which stand for so much weight."""
    y, shares = rows.target.codes, rows.target.proportions
    each: Floats | float = 1.0
    weights = np.ones(len(y)) if rows.weights is None else rows.weights
    if shares is None and not are_copies(weights, y):
        each = heaviest_rows(y, weights, int(y.max(initial=0)) + 1)
    told = {}
    for name, values in rows.source.columns.items():
        numbers = np.ascontiguousarray(values.numbers(0, len(y)))
        told[name] = information_of_bins(bin_counts(numbers, y, shares, weights), each)
    return MeasuredInformation(told, total, fresh)


def bin_counts(x: Floats, y: Codes | Floats, shares: Floats | None, weights: Floats) -> Floats:
    """Return counts [class, bin] of numbers, given the code of each class, or how much of a row belongs to each."""
    cuts = fine_bins(
        x, effective_weights(weights) if weights.any() else weights, RECIPE
    )  # as fine as the rows, however light they are
    there = np.flatnonzero(~np.isnan(x))
    bins, size = np.searchsorted(cuts, x[there]), len(cuts) + 1
    if shares is not None:
        each = (shares[there] * weights[there, None]).T
        return np.array([np.bincount(bins, part, size) for part in each])
    classes = int(y.max(initial=0)) + 1
    counted = np.bincount(y[there] * size + bins, weights[there], classes * size)
    return np.asarray(counted, dtype=np.float64).reshape(classes, size)
