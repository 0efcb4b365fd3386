"""The counts of a fitted model: a value that never changes, and a counter that goes on counting rows in place."""

from __future__ import annotations

import copy
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from .._types import Label
from ..counting.counter import TableCounter
from ..counting.files import FileRows
from ..counting.rows import Rows, count_rows
from ..data.schema import Schema
from ..errors import InvalidInput
from ..stats import Counts

# Counts of at most so many bytes are copied before rows are added to them, to go back to if that is interrupted. A copy
# takes some 50 microseconds; of larger ones rows that were added are taken away again.
COPIED = 1 << 20


class CounterSums(NamedTuple):
    """Copies of what a counter changes while it counts: attributes of its accumulators, and of itself."""

    accumulators: Mapping[str, Mapping[str, object]]
    others: Mapping[str, object]


class CountsBackup(NamedTuple):
    """Counts before rows are added: their value, or copies of the sums of their counter."""

    value: Counts | None
    sums: CounterSums | None


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
        saved = CountsBackup(self._value, _copied_sums(self.counter) if copies else None)
        self._can_restore, self._added = copies or saved.value is not None, False
        return saved

    def restore(self, saved: CountsBackup, error: BaseException) -> None:
        """Go back to what the counts were, after an error while rows were added."""
        self.version += 1
        if saved.sums is not None:
            self._counter = _with_sums(self.counter, saved.sums)
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
            self._add_whole(
                lambda: count_rows(counter, rows, threads), lambda: _counted(counter.empty_like(), rows, threads)
            )
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
    count_rows(counter, rows, threads)
    return counter


def _copied_sums(counter: TableCounter) -> CounterSums:
    """Return copies of all that a counter changes while it counts, beside codes of new labels, which do no harm."""
    parts = {"labels": counter.labels, "numbers": counter.numbers}
    vectors = {name: copy.copy(part) for name, part in counter.vectors.items()}
    others = {"rows": counter.rows.copy(), "vectors": vectors, "schema": counter.schema, "declared": counter.declared}
    accumulators = {name: _copied_attributes(part) for name, part in parts.items()}
    return CounterSums(accumulators, others)


def _copied_attributes(part: object) -> dict[str, object]:
    """Return the attributes of an accumulator, its arrays copied."""
    return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in vars(part).items()}


def _with_sums(counter: TableCounter, saved: CounterSums) -> TableCounter:
    """Return a counter of the same codes that has counted what was saved."""
    other = copy.copy(counter)
    for name, attributes in saved.accumulators.items():
        part = copy.copy(getattr(counter, name))
        vars(part).update(attributes)
        setattr(other, name, part)
    vars(other).update(saved.others)
    return other


def _bytes_of(counter: TableCounter) -> int:
    """Return about how many bytes the sums of a counter take."""
    size = counter.labels.n.nbytes + counter.numbers.sums.nbytes
    widths: int = sum(part.width for part in counter.vectors.values())
    return size + 16 * len(counter.classes) * widths
