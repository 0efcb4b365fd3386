"""The counts of a fitted model: a value that never changes, and a counter that goes on counting rows in place."""

from __future__ import annotations

import copy
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

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


class LiveCounts:
    """Counts of all rows so far.

    `value` is made from the counter when it is needed, and the counter from the value. `version` changes whenever rows
    are added, so that what was made of the counts can be told from what is to be made anew.
    """

    def __init__(self, schema: Schema, *, counter: TableCounter | None = None, value: Counts | None = None) -> None:
        self.schema, self.version = schema, 0
        self._counter, self._value, self._can_restore = counter, value, False

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

    @contextmanager
    def adding(self, *, copied: bool = False) -> Iterator[TableCounter]:
        """Lend the counter to add rows to; whatever is raised meanwhile leaves the counts as they were.

        They are restored from their value, if somebody used it since the last rows came, or else from a copy. Of large
        counts there is no copy, unless `copied` asks for one: then `add` does not let Ctrl-C stop it half-way.
        """
        counter, value = self.counter, self._value
        copies = value is None and (copied or _bytes_of(counter) <= COPIED)
        saved = _copied_sums(counter) if copies else None
        self._value, self._can_restore = None, saved is not None or value is not None
        self.version += 1
        try:
            yield counter
        except BaseException as error:
            if saved is not None:
                self._counter = _with_sums(counter, saved)
            elif value is not None and not isinstance(error, InvalidInput):  # a row that is refused changes nothing
                self._counter = None
            self._value = value
            raise

    def add(self, rows: Rows | FileRows, threads: int) -> None:
        """Count rows while the counter is lent."""
        counter = self.counter
        if isinstance(rows, FileRows) and counter.rows.any():
            part = counter.fresh()
            rows.count(part, threads)
            self._add_whole(lambda: counter.absorb(part), lambda: part)
        elif isinstance(rows, FileRows):
            rows.count(counter, threads)
        else:
            self._add_whole(
                lambda: count_rows(counter, rows, threads), lambda: _counted(counter.fresh(), rows, threads)
            )

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


# What a counter changes while it counts, beside the codes of new labels, which do no harm without counts.
CHANGING = ("rows", "labels", "numbers", "vectors", "together", "schema", "declared")


def _copied_sums(counter: TableCounter) -> dict[str, object]:
    """Return copies of all that a counter changes while it counts."""
    return {name: _with_own_arrays(getattr(counter, name)) for name in CHANGING}


def _with_sums(counter: TableCounter, saved: Mapping[str, object]) -> TableCounter:
    """Return a counter of the same codes that has counted what was saved."""
    other = copy.copy(counter)
    for name, sums in saved.items():
        setattr(other, name, sums)
    return other


def _with_own_arrays(sums: object) -> object:
    """Return a copy with arrays of its own."""
    if isinstance(sums, np.ndarray):
        return sums.copy()
    if isinstance(sums, dict):
        return {name: _with_own_arrays(one) for name, one in sums.items()}
    if sums is None or isinstance(sums, (tuple, Schema)):
        return sums
    other = copy.copy(sums)
    for name, value in vars(other).items():
        if isinstance(value, np.ndarray):
            setattr(other, name, value.copy())
    return other


def _bytes_of(counter: TableCounter) -> int:
    """Return about how many bytes the sums of a counter take."""
    parts = (counter.labels, counter.numbers, counter.together, *counter.vectors.values())
    arrays = (value for part in parts if part is not None for value in vars(part).values())
    words = sum(len(counter.classes) * len(reader) for reader in counter.readers.values())
    return 16 * words + sum(value.nbytes for value in arrays if isinstance(value, np.ndarray))
