"""Which columns of a wide table are counted together, chosen on its rows; and which of them each row may speak about.

A column that was chosen because of a row looks better in that row than it is. So the choice is made again without each
of ten folds of the rows: kept is what most of these choices agree on, and where weights are fitted, a column is missing
in the rows of each fold whose absence would have left it out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .choosing import chosen
from .counting import Rows
from .engines.tables import TableCounter
from .families.family import Codes
from .grid import Grid
from .joint.look import most_features
from .joint.screen import BINS, Places, Rating, beyond_chance, cut_numbers
from .read.block import codes_of, numbers_of
from .read.frame import Frame, frame_of
from .resample import hard, narrow
from .statistics.axis import Floats

# Tables of fewer columns are never screened: all of them are counted together.
NARROW = 100
# Folds of the rows without which the choice is made again.
FOLDS = 10
# Cells that are looked at, and at once; but some rows in any case.
CELLS, BLOCK, SOME = 1 << 25, 1 << 20, 1000

Mask = npt.NDArray[np.bool_]


class Screened(NamedTuple):
    """Which columns are kept, and which of them are shown in each row where weights are fitted."""

    names: tuple[str, ...]  # numbers first, then labels, each in the order of the table
    looked_at: int
    fold: Codes  # of each row; FOLDS for rows that were not looked at
    shown: Mask  # [fold, kept column]

    def of(self, rows: Any) -> Screened:
        """Return the same of some of the rows."""
        return self._replace(fold=self.fold[rows])

    def mask(self, grid: Grid) -> Mask:
        """Return which columns of a grid are shown in each row, [row, column].

        One that is on the grid from an earlier choice, and not kept by this one, is shown in all: nothing in these rows
        has favoured it.
        """
        place = {name: at for at, name in enumerate(self.names)}
        known = [place.get(name, len(place)) for name in grid.names]
        return np.column_stack([self.shown, np.ones(len(self.shown), dtype=np.bool_)])[:, known][self.fold]

    @property
    def remark(self) -> str:
        """What becomes of the other columns, in words."""
        left = self.looked_at - len(self.names)
        return f"{left:,} of {self.looked_at:,} columns show no gain on their own and are not used."


class Look(NamedTuple):
    """Columns of one kind as they are rated: which, how many codes each has, and how often each is tried."""

    kind: str
    sizes: Floats
    tried: int


def screened_of(counter: TableCounter, rows: Rows, missing: bool, threads: int) -> Screened | None:
    """Return which columns are kept, from rows with their classes; None where all can be counted together.

    Columns that are counted together already were chosen then; missing says whether missing values count.
    """
    grid = None if counter.together is None else counter.together.grid
    columns = len(counter.of_numbers) + len(counter.of_labels)
    wide = is_wide(counter, len(hard(rows).labels)) if grid is None else len(grid.columns) < columns
    return screen(counter, rows, missing, threads) if wide else None


def is_wide(counter: TableCounter, classes: int) -> bool:
    """Tell whether there are too many columns to count all of them together."""
    columns = len(counter.of_numbers) + len(counter.of_labels)
    return columns > NARROW and columns >= most_features(classes)


def screen(counter: TableCounter, rows: Rows, missing: bool, threads: int) -> Screened:
    """Return which columns are kept, from rows with their classes; missing says whether missing values count."""
    frame, target = frame_of(rows.source), hard(rows)
    names = (*(c.name for c in counter.of_numbers), *(c.name for c in counter.of_labels))
    most = int(np.clip(CELLS // max(len(names), 1), SOME, max(frame.rows, SOME)))
    at = chosen(counter, frame, target.codes, min(most, frame.rows), threads)
    weights = np.ones(frame.rows) if rows.weights is None else rows.weights
    fold = dealt(target.codes[at])
    rated = Columns(counter, frame.take(at), threads)
    rating = Rating(target.codes[at], weights[at], len(target.labels), fold, FOLDS, missing)
    kept, shown = choice(rated, rating, most_features(rating.classes) - 1)
    everywhere = np.full(frame.rows, FOLDS, dtype=np.int32)
    everywhere[at] = fold
    return Screened(tuple(names[column] for column in kept), len(names), everywhere, shown)


def dealt(y: Codes) -> Codes:
    """Return a fold for each of some rows, whose order says nothing: each fold has its share of every class."""
    fold = np.empty(len(y), dtype=np.int32)
    fold[np.argsort(narrow(y), kind="stable")] = np.arange(len(y)) % FOLDS
    return fold


class Columns:
    """The columns of some rows, cut into bins or coded, a block of them at a time."""

    def __init__(self, counter: TableCounter, frame: Frame, threads: int) -> None:
        self.counter, self.frame, self.threads = counter, frame, threads
        self.numbers, self.labels = len(counter.of_numbers), len(counter.of_labels)
        self.sizes = np.array([len(words) for words in counter.words], dtype=np.int64)

    @property
    def tried(self) -> int:
        """How many gains are looked at: numbers are rated in two ways."""
        return 2 * self.numbers + self.labels

    def gains(self, which: Places, rating: Rating, apart: bool) -> Floats:
        """Return the gains of some columns, [column]; apart, without each fold in turn, [fold, column]."""
        out = np.empty((rating.folds, len(which)) if apart else len(which))
        for at in self._blocks(which, rating):
            if which[at[0]] < self.numbers:
                numbers = self._numbers(which[at])
                codes, middles = cut_numbers(numbers, rating.weights, self.threads)
                found: Any = lambda n, m=middles: rating.of_numbers(n, m)  # noqa: E731
                bins = BINS + 1
            else:
                codes, found = self._codes(which[at] - self.numbers), rating.of_labels
                bins = int(codes.max(initial=0)) + 1
            if apart:
                out[:, at] = [found(n) for n in rating.without_folds(codes, bins)]
            else:
                out[at] = found(rating.counts(codes, bins))
        return out

    def _blocks(self, which: Places, rating: Rating) -> Iterator[Places]:
        """Give some columns in blocks of one kind, as many at a time as can be afforded."""
        numbers, labels = np.flatnonzero(which < self.numbers), np.flatnonzero(which >= self.numbers)
        labels = labels[np.argsort(self.sizes[which[labels] - self.numbers], kind="stable")]
        for part, sizes in (
            (numbers, np.full(len(numbers), BINS + 1)),
            (labels, self.sizes[which[labels] - self.numbers]),
        ):
            begin = 0
            while begin < len(part):
                # Sizes grow along the block: the last column of it decides.
                cost = np.maximum(rating.classes * rating.folds * sizes[begin:], self.frame.rows)
                fits = cost * np.arange(1, len(cost) + 1) <= BLOCK
                end = begin + max(int(np.count_nonzero(np.logical_and.accumulate(fits))), 1)
                yield part[begin:end]
                begin = end

    def _numbers(self, which: Places) -> Floats:
        columns = [self.counter.of_numbers[at] for at in which]
        return np.asarray(numbers_of(self.frame, columns, 0, self.frame.rows), dtype=np.float64)

    def _codes(self, which: Places) -> Codes:
        coders = [self.counter.coders[at] for at in which]
        return codes_of(self.frame, coders, 0, self.frame.rows, self.threads)[0]


def choice(columns: Columns, rating: Rating, most: int) -> tuple[Places, Mask]:
    """Return the columns that are kept, in their order, and those shown in the rows of each fold, [fold, column]."""
    everything = np.arange(columns.numbers + columns.labels)
    gains = columns.gains(everything, rating, apart=False)
    first = beyond_chance(gains, columns.tried, most)
    # Without a tenth of the rows no column gains twice as much as with it: the others need no second look.
    weakest = gains[first[-1]] if len(first) else np.log(columns.tried)
    likely = np.flatnonzero(gains > weakest / 2)
    likely = likely[np.argsort(-gains[likely], kind="stable")][: 2 * most]
    apart = columns.gains(likely, rating, apart=True)
    shown = np.zeros((FOLDS + 1, len(everything)), dtype=np.bool_)
    for fold, found in zip(shown, apart, strict=False):
        fold[likely[beyond_chance(found, columns.tried, most)]] = True
    shown[FOLDS, first] = True
    often = shown[:FOLDS].sum(axis=0)
    kept = likely[np.argsort(-often[likely], kind="stable")]
    kept = np.sort(kept[often[kept] > FOLDS / 2][:most])
    return kept, shown[:, kept]
