"""Which columns of a wide table are counted together, chosen on its rows; and which of them are shown in each row.

A column that was chosen because of a row looks better in that row than it is. So the choice is made again without each
of ten folds of the rows. Kept is what most of these choices agree on; and where weights are fitted, a column counts as
missing in the rows of every fold without which it was not chosen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .choosing import chosen
from .counting import Rows
from .engines.tables import TableCounter
from .families.family import Codes
from .grid import Grid, Places
from .joint.look import most_features
from .joint.screen import BINS, Rating, beyond_chance, cut_numbers
from .read.block import codes_of, numbers_of
from .read.frame import Frame, frame_of
from .resample import hard
from .resample import narrow as narrowest
from .schema import Schema
from .statistics import Counts
from .statistics.axis import Floats

# Tables of at most so many columns are never screened; nor are those that have so many rows for each column, where
# noise costs less than what pairs of columns may show that predict the class only together.
NARROW, ROWS_OF_A_COLUMN = 100, 50
# Folds of the rows without which the choice is made again: without a tenth of the rows it is nearly the same choice.
FOLDS = 10
# Cells that are looked at in all, and at once; but some rows in any case.
CELLS, BLOCK, SOME = 1 << 25, 1 << 20, 1000

Mask = npt.NDArray[np.bool_]
Used = Sequence[str] | None  # the columns that are counted together; None for all of them


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
        shown: Mask = np.column_stack([self.shown, np.ones(len(self.shown), dtype=np.bool_)])[:, known][self.fold]
        return shown

    def remarked(self, hints: tuple[str, ...], grid: Grid, shared: bool) -> tuple[str, ...]:
        """Return remarks with one on the columns that are not on the grid; it says whether they share a weight."""
        left = self.looked_at - len(grid.names)
        told = f"{left:,} of {self.looked_at:,} columns show no gain on their own and "
        said = [told + ("share one weight." if shared else "are not used.")] * bool(left)
        return (*(hint for hint in hints if not hint.startswith(told)), *said)


def screened_of(counter: TableCounter, rows: Rows, missing: bool, threads: int) -> Screened | None:
    """Return which columns are kept, from rows with their classes; None where all are counted together.

    Columns that are counted together already were chosen then; missing says whether missing values count.
    """
    columns = len(counter.of_numbers) + len(counter.of_labels)
    if counter.together is not None:
        wide = len(counter.together.grid.columns) < columns
    else:
        few = counter.rows.sum() < ROWS_OF_A_COLUMN * columns
        wide = columns > NARROW and (few or columns >= most_features(len(hard(rows).labels)))
    return screen(counter, rows, missing, threads) if wide else None


def screen(counter: TableCounter, rows: Rows, missing: bool, threads: int) -> Screened:
    """Return which columns are kept, from rows with their classes."""
    frame, target = frame_of(rows.source), hard(rows)
    names = [column.name for column in (*counter.of_numbers, *counter.of_labels)]
    most = max(CELLS // len(names), SOME)
    at = chosen(counter, frame, target.codes, min(most, frame.rows), threads)
    weights = np.ones(frame.rows) if rows.weights is None else rows.weights
    fold = dealt(target.codes[at])
    rating = Rating(target.codes[at], weights[at], len(target.labels), fold, FOLDS, missing)
    kept, shown = choice(Columns(counter, frame.take(at), threads), rating, most_features(rating.classes) - 1)
    everywhere = np.full(frame.rows, FOLDS, dtype=np.int32)
    everywhere[at] = fold
    return Screened(tuple(names[column] for column in kept), len(names), everywhere, shown)


def dealt(y: Codes) -> Codes:
    """Return a fold for each of some rows, whose order says nothing: each fold has its share of every class."""
    fold = np.empty(len(y), dtype=np.int32)
    fold[np.argsort(narrowest(y), kind="stable")] = np.arange(len(y)) % FOLDS
    return fold


def choice(columns: Columns, rating: Rating, most: int) -> tuple[Places, Mask]:
    """Return the columns that are kept, in their order, and those shown in the rows of each fold, [fold, column]."""
    gains = columns.gains(np.arange(columns.size), rating, apart=False)
    first = beyond_chance(gains, columns.tried, most)
    # Without a tenth of the rows no column gains twice as much as with it: the others need no second look.
    weakest = gains[first[-1]] if len(first) else np.log(columns.tried)
    likely = np.flatnonzero(gains > weakest / 2)
    likely = likely[np.argsort(-gains[likely], kind="stable")][: 2 * most]
    shown = np.zeros((FOLDS + 1, columns.size), dtype=np.bool_)
    for fold, found in enumerate(columns.gains(likely, rating, apart=True)):
        shown[fold, likely[beyond_chance(found, columns.tried, most)]] = True
    shown[FOLDS, first] = True
    often = shown[:FOLDS].sum(axis=0)
    kept = likely[np.argsort(-often[likely], kind="stable")][:most]
    kept = np.sort(kept[often[kept] > FOLDS / 2])
    return kept, shown[:, kept]


# -- several choices over the same counts ------------------------------------------------------------------------------


def union_of(choices: Sequence[Used], classes: int) -> Used:
    """Return the columns that one of several choices uses, the commonest if they are too many; None if that is all."""
    met = Counter(name for names in choices for name in names or ())
    return None if None in choices else [name for name, _ in met.most_common(most_features(classes) - 1)]


def narrowed(counts: Counts, used: Used) -> Counts:
    """Return counts with only some columns counted together."""
    if used is None or counts.joint is None:
        return counts
    joint = counts.joint.only(used)
    schema = None if counts.schema is None else replace(counts.schema, grid=joint.grid)
    return Counts(counts.classes, counts.rows, counts.columns, schema, joint)


def narrow(counter: TableCounter, used: Used) -> Counts:
    """Let a counter count only some columns together from now on; return what it has counted before."""
    before = counter.value()
    joint = narrowed(before, used).joint
    if joint is not None:
        counter.schema, counter.together = replace(counter.schema, grid=joint.grid), counter.of_grid(joint.grid)
        counter.together.take(joint, list(counter.classes.places))
    return before


def anew(schema: Schema) -> Schema:
    """Return a schema whose columns are chosen anew: the choice that it holds has seen the classes of some rows."""
    columns = len(schema.of_kind("numbers")) + len(schema.of_kind("labels"))
    chosen_before = schema.grid is not None and len(schema.grid.columns) < columns
    return replace(schema, grid=None) if chosen_before else schema


# -- columns as they are rated -----------------------------------------------------------------------------------------


class Columns:
    """The columns of some rows as they are rated: numbers first, then labels, a block of them at a time."""

    def __init__(self, counter: TableCounter, frame: Frame, threads: int) -> None:
        self.counter, self.frame, self.threads, self.numbers = counter, frame, threads, len(counter.of_numbers)
        self.codes = np.array([BINS + 1] * self.numbers + [len(words) for words in counter.words], dtype=np.int64)

    @property
    def size(self) -> int:
        """How many columns there are."""
        return len(self.codes)

    @property
    def tried(self) -> int:
        """How many gains are looked at: numbers are rated in two ways."""
        return self.size + self.numbers

    def gains(self, which: Places, rating: Rating, apart: bool) -> Floats:
        """Return the gains of some columns, [column]; apart, without each fold in turn, [fold, column]."""
        out = np.empty((rating.folds, len(which)) if apart else len(which))
        for at in self._blocks(which, rating.classes * (rating.folds if apart else 1)):
            codes, bins, gain = self._coded(which[at], rating)
            if apart:
                out[:, at] = [gain(n) for n in rating.without_folds(codes, bins)]
            else:
                out[at] = gain(rating.counts(codes, bins))
        return out

    def _coded(self, which: Places, rating: Rating) -> tuple[Codes, int, Callable[[Floats], Floats]]:
        """Return the codes of columns of one kind, how many there are, and what makes gains of their counts."""
        if which[0] < self.numbers:
            columns = [self.counter.of_numbers[at] for at in which]
            numbers = np.asarray(numbers_of(self.frame, columns, 0, self.frame.rows), dtype=np.float64)
            codes, middles = cut_numbers(numbers, rating.weights, self.threads)
            return codes, BINS + 1, partial(rating.of_numbers, middles=middles)
        coders = [self.counter.coders[at - self.numbers] for at in which]
        codes, _ = codes_of(self.frame, coders, 0, self.frame.rows, self.threads)
        return codes, int(codes.max(initial=0)) + 1, rating.of_labels

    def _blocks(self, which: Places, groups: int) -> Iterator[Places]:
        """Give places of columns in blocks of one kind, as many as can be afforded; codes grow along each kind."""
        labels = which >= self.numbers
        order = np.lexsort((self.codes[which], labels))
        begin = 0
        while begin < len(order):
            part = order[begin:]
            part = part[labels[part] == labels[part[0]]]
            costs = np.maximum(groups * self.codes[which[part]], self.frame.rows) * np.arange(1, len(part) + 1)
            part = part[: max(int(np.searchsorted(costs, BLOCK, "right")), 1)]
            yield part
            begin += len(part)
