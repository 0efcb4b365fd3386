"""Screening a wide table: which of its columns are counted in pairs, and which of them are shown in each row.

A column that was chosen because of a row looks better in that row than it is. So the choice is made again without each
of ten folds of the rows. Kept is what most of these choices agree on; and where weights are fitted, a column counts as
missing in the rows of every fold without which it was not chosen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..._types import Codes, Index, Mask, Places
from ...counting.counter import TableCounter
from ...counting.row_order import content_order
from ...counting.rows import Rows
from ...counting.sampled_rows import sample_places
from ...counting.weights import left_out_weights
from ...data.block import block_codes, block_numbers
from ...data.frame import Frame, frame_of
from ...data.grid import Grid
from ...data.schema import Schema
from ...stats import Counts
from ..leave_one_out import hard_labels, narrowest_codes
from ..recipe import RECIPE, Recipe
from .binning import most_features
from .column_screen import ColumnBlock, ScreeningRows, among, cut_numbers, found_in, screen_bins
from .weight_fitting import effective_weights

# Cells times classes that are rated in all, and at once; but some rows in any case. Limits of memory and time.
MOST_CELLS, BLOCK_CELLS, FEWEST_ROWS = 1 << 26, 1 << 20, 1000

# The remark on columns that are not kept, between their number and what becomes of them.
NO_GAIN = " columns show no gain on their own and "

Used = Sequence[str] | None  # the columns that are counted in pairs; None for all of them


class Screening(NamedTuple):
    """Which columns are kept, and which of them are shown in each row where weights are fitted."""

    names: tuple[str, ...]  # numbers first, then labels, each in the order of the table
    rated: int  # how many columns were rated
    fold: Codes  # of each row; after the last fold, for rows that were not considered
    shown: Mask  # [fold, kept column]
    recipe: Recipe

    def of(self, rows: Index) -> Screening:
        """Return the same of some of the rows."""
        return self._replace(fold=self.fold[rows])

    def mask(self, grid: Grid) -> Mask:
        """Return which columns of a grid are shown in each row, [row, column].

        One that is on the grid from an earlier choice, and not kept by this one, is shown in all: nothing in these rows
        has favored it.
        """
        place = {name: at for at, name in enumerate(self.names)}
        known = [place.get(name, len(place)) for name in grid.names]
        shown: Mask = np.column_stack([self.shown, np.ones(len(self.shown), dtype=np.bool_)])[:, known][self.fold]
        return shown

    def remarks(self, grid: Grid, shared: bool) -> tuple[str, ...]:
        """Return a remark on the columns that are not on the grid, if there are, and on whether they share a weight."""
        left = self.rated - len(grid.names)
        said = f"{left:,} of {self.rated:,}{NO_GAIN}{'share one weight.' if shared else 'are not used.'}"
        return (said,) * bool(left)

    def beside(self, schema: Schema, asked: Sequence[str] | None) -> list[str]:
        """Return the columns that are counted in pairs: those kept, and those asked for by name if they are few.

        Columns that predict the class only jointly show no gain on their own, so all of a few named columns are used.
        """
        named = [] if asked is None else [column.name for column in schema.only(asked) if column.kind != "vectors"]
        return list(dict.fromkeys([*self.names, *(named if len(named) <= self.recipe.unscreened_columns else [])]))


def without_screening_remarks(hints: tuple[str, ...]) -> tuple[str, ...]:
    """Return remarks without those that an earlier choice of columns left."""
    return tuple(hint for hint in hints if NO_GAIN not in hint)


def screened_of(
    counter: TableCounter, rows: Rows, missing: bool, copies: bool, threads: int, recipe: Recipe = RECIPE
) -> Screening | None:
    """Return which columns are kept, from rows with their classes; None where all are counted in pairs.

    Columns that are counted in pairs already were chosen then. `missing`: whether missing values count; `copies`:
    whether row weights count copies of a row.
    """
    columns = len(counter.of_numbers) + len(counter.of_labels)
    if counter.together is not None:
        wide = len(counter.together.grid.columns) < columns
    else:
        few = counter.rows.sum() < recipe.screened_rows_per_column * columns
        wide = columns > recipe.unscreened_columns
        wide = wide and (few or columns >= most_features(len(hard_labels(rows).labels), recipe))
    return screen(counter, rows, missing, copies, threads, recipe) if wide else None


def screen(
    counter: TableCounter, rows: Rows, missing: bool, copies: bool, threads: int, recipe: Recipe = RECIPE
) -> Screening:
    """Return which columns are kept, from rows with their classes."""
    frame, target = frame_of(rows.source), hard_labels(rows)
    names = [column.name for column in (*counter.of_numbers, *counter.of_labels)]
    most = max(MOST_CELLS // (len(names) * len(target.labels)), FEWEST_ROWS)
    at = sample_places(rows, most, counter.schema, threads)
    part = frame if len(at) == frame.rows else frame.take(at)
    at = at[content_order(counter, part, target.codes[at], threads)]  # folds follow the order of rows
    weights = np.ones(frame.rows) if rows.weights is None else rows.weights
    heavy = effective_weights(weights[at], copies)
    out = left_out_weights(heavy, copies)
    rating = ScreeningRows(target.codes[at], heavy, out, len(target.labels), missing, recipe)
    fold, blocks = (
        folds_by_class(rating.y, recipe.screen_folds),
        list(column_blocks(counter, frame.take(at), rating, threads)),
    )
    tried = len(names) + len(counter.of_numbers)  # numbers are rated in two ways
    kept, shown = choice(blocks, rating, fold, tried, most_features(rating.classes, recipe) - 1)
    everywhere = np.full(frame.rows, recipe.screen_folds, dtype=np.int32)
    everywhere[at] = fold
    return Screening(tuple(names[column] for column in kept), len(names), everywhere, shown, recipe)


def folds_by_class(y: Codes, folds: int) -> Codes:
    """Return a fold for each of some rows in random order: each fold has its proportion of every class."""
    fold = np.empty(len(y), dtype=np.int32)
    fold[np.argsort(narrowest_codes(y), kind="stable")] = np.arange(len(y)) % folds
    return fold


def choice(
    blocks: Sequence[ColumnBlock], rating: ScreeningRows, fold: Codes, tried: int, most: int
) -> tuple[Places, Mask]:
    """Return the columns that are kept, in their order, and those shown in the rows of each fold, [fold, column]."""
    size, folds = sum(len(block.places) for block in blocks), rating.recipe.screen_folds
    first, gains = found_in(blocks, rating, size, tried, most)
    # Without a tenth of the rows no column gains twice as much as with it: the others need no second look.
    weakest = gains[first].min() if len(first) else np.log(tried)
    likely = np.argsort(-gains, kind="stable")[: 2 * most]
    likely = likely[gains[likely] > weakest / 2]
    few = [part for block in blocks if len((part := block.some(among(likely, size))).places)]
    shown = np.zeros((folds + 1, size), dtype=np.bool_)
    for at in range(folds if few else 0):
        others = rating._replace(weights=np.where(fold == at, 0.0, rating.weights))
        shown[at, found_in(few, others, size, tried, most).columns] = True
    shown[folds, first] = True
    often = shown[:folds].sum(axis=0)
    kept = likely[np.argsort(-often[likely], kind="stable")][:most]
    kept = np.sort(kept[often[kept] > folds / 2])
    return kept, shown[:, kept]


# -- several choices over the same counts ------------------------------------------------------------------------------


def union_of(choices: Sequence[Used], classes: int, recipe: Recipe = RECIPE) -> Used:
    """Return the columns that one of several choices uses, of too many the most frequent; None if that is all."""
    met = Counter(name for names in choices for name in names or ())
    return None if None in choices else [name for name, _ in met.most_common(most_features(classes, recipe) - 1)]


def narrowed_counts(counts: Counts, used: Used) -> Counts:
    """Return counts with only some columns counted in pairs."""
    if used is None or counts.joint is None:
        return counts
    joint = counts.joint.only(used)
    schema = None if counts.schema is None else replace(counts.schema, grid=joint.grid)
    return Counts(counts.classes, counts.rows, counts.columns, schema, joint)


def narrow_counter(counter: TableCounter, used: Used) -> Counts:
    """Let a counter count only some columns in pairs from now on; return its counts before."""
    before = counter.value()
    joint = narrowed_counts(before, used).joint
    if joint is not None:
        counter.take_joint(joint)
    return before


def unscreened(schema: Schema) -> Schema:
    """Return a schema whose columns are chosen anew: the choice that it holds depends on the classes of some rows."""
    columns = len(schema.of_kind("numbers")) + len(schema.of_kind("labels"))
    chosen_before = schema.grid is not None and len(schema.grid.columns) < columns
    return replace(schema, grid=None) if chosen_before else schema


# -- columns as they are rated -----------------------------------------------------------------------------------------


def column_blocks(counter: TableCounter, frame: Frame, rating: ScreeningRows, threads: int) -> Iterator[ColumnBlock]:
    """Give the columns of some rows as they are rated, a block of them at a time: numbers first, then labels."""
    each = max(BLOCK_CELLS // (max(frame.rows, 2 * screen_bins(rating.recipe)) * rating.classes), 1)
    numbers = len(counter.of_numbers)
    for begin in range(0, numbers, each):
        columns = counter.of_numbers[begin : begin + each]
        x = np.asarray(block_numbers(frame, columns, 0, frame.rows), dtype=np.float64)
        yield cut_numbers(np.arange(begin, begin + len(columns)), x, rating.weights, rating.recipe, threads)
    sizes = np.array([len(words) for words in counter.words], dtype=np.int64)
    order = np.argsort(sizes, kind="stable")
    while len(order):  # labels in the order of how many there are: the last column of a block decides what it takes
        costs = np.maximum(sizes[order], frame.rows) * rating.classes * np.arange(1, len(order) + 1)
        part = order[: max(int(np.searchsorted(costs, BLOCK_CELLS, "right")), 1)]
        codes, _ = block_codes(frame, [counter.coders[at] for at in part], 0, frame.rows, threads)
        yield ColumnBlock(numbers + part, codes, None)
        order = order[len(part) :]
