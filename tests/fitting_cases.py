"""Rows on a small grid, dealt out to folds, and what is counted of them by the plain definition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from hypothesis import strategies as st

from naively import _kernels as kernels
from naively.model.default.grid import Cells, Grid, LabelValues, NumberBins
from naively.model.default.joint_counts import JointCounts
from naively.model.default.rows import CrossFit, FittingRows, deal_out, fold_slices
from naively.model.default.tables import ModelTables, TableBuilder, TermCounts
from naively.model.recipe import RECIPE, Recipe
from naively.stats import Axis

FEW_COMPONENTS = replace(RECIPE, quadratic_components=(2, 3))


def grid_of(numbers: int, labels: tuple[int, ...]) -> Grid:
    """Return a grid of numbers with four fine bins and columns with so many categories."""
    bins = ((-1.0, 0.0, 1.0), (0, 0, 1, 2), (0, 1, 1, 2), (-2.0, -0.5, 0.5, 2.0), -9.0, 9.0, 0.0, 1.0)
    return Grid(
        tuple(NumberBins(f"n{at}", *bins) for at in range(numbers)),
        tuple(LabelValues(f"l{at}", tuple(range(size))) for at, size in enumerate(labels)),
    )


def features(grid: Grid, cells: Cells) -> np.ndarray:
    """Return the features of rows, [row, feature]: 1, an indicator of each code, the numbers."""
    out = np.zeros((len(cells), grid.features))
    out[:, 0] = 1.0
    for column in range(len(grid.names)):
        known = np.flatnonzero(cells.codes[:, column] >= 0)
        out[known, grid.flags(column).start + cells.codes[known, column]] = 1.0
    out[:, grid.features - len(grid.numbers) :] = cells.level
    return out


@dataclass
class Case:
    """Rows in folds, some of which may measure; and what is left of the counts without some of the rows."""

    grid: Grid
    rows: FittingRows
    test: slice | None = None
    classes: int = 3
    ordered: tuple[int, ...] = ()
    recipe: Recipe = FEW_COMPONENTS
    settings: dict[str, float] = field(default_factory=dict)

    def counts(self, kept: np.ndarray) -> TermCounts:
        """Count the rows of a mask, by the plain definition."""
        grid, rows, x = self.grid, self.rows, features(self.grid, self.rows.cells)
        parts = np.eye(self.classes)[:, rows.y] * np.where(kept, rows.weights, 0.0)
        products = np.array([(x * part[:, None]).T @ x for part in parts])
        fine = np.zeros((self.classes, grid.fine_bins))
        tables = [np.zeros((self.classes, values.size)) for values in grid.labels]
        columns = [fine[:, a:b] for a, b in zip(grid.fine_offsets[:-1], grid.fine_offsets[1:], strict=True)]
        for table, codes in zip([*columns, *tables], [*rows.cells.fine.T, *rows.labels.T], strict=True):
            for k, part in enumerate(parts):
                np.add.at(table[k], codes[codes >= 0], part[codes >= 0])
        joint = JointCounts(Axis(tuple(range(self.classes))), grid, fine, products)
        places = [np.arange(values.size, dtype=np.int32) for values in grid.labels]
        return TermCounts(joint, tables, self.ordered, self.recipe, places)

    @cached_property
    def cross(self) -> CrossFit:
        """The rows to be scored by the counts without their fold."""
        return CrossFit(self.counts(np.ones(len(self.rows), bool)), self.rows, self.settings, self.test)

    def counts_without_folds(self) -> Iterator[tuple[slice, TermCounts]]:
        """Give each fold, and the counts of all rows but those and the rows that measure."""
        whole = self.cross.counts.features
        for fold in self.rows.folds:
            kept = np.ones(len(self.rows), bool)
            kept[fold] = False
            if self.test is not None:
                kept[self.test] = False
            counts = self.counts(kept)
            # The directions of the features follow from all rows: no class is looked at for them.
            vars(counts.features).update(directions=whole.directions, components=whole.components)
            yield fold, counts


@st.composite
def cases(draw, recipe: Recipe = FEW_COMPONENTS) -> Case:
    """Draw rows of two to four classes, some of fractional weight, with missing values, in folds."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    numbers, labels = draw(st.integers(0, 3)), tuple(draw(st.lists(st.integers(1, 4), max_size=3)))
    rows, classes = draw(st.integers(2, 40)), draw(st.integers(2, 4))
    case = drawn_case(rng, numbers, labels, rows, classes, 0.2 * draw(st.booleans()), draw(st.integers(2, 5)))
    weights = rng.random(rows) * 3 if draw(st.booleans()) else rng.integers(1, 4, rows).astype(float)
    ordered = tuple(draw(st.integers(0, size)) for size in labels)
    rows = replace(case.rows, weights=weights, effective=weights)
    test = draw(st.sampled_from([None, *rows.folds]))
    return replace(case, rows=rows, test=test, ordered=ordered, recipe=recipe)


def drawn_case(rng, numbers, labels, rows, classes=3, missing=0.0, folds=5, test=None, recipe=FEW_COMPONENTS) -> Case:
    """Draw rows whose classes differ in the means and the spread of columns; `test` is the fold that measures."""
    grid = grid_of(numbers, labels)
    y = rng.permutation(np.arange(rows, dtype=np.int32) % classes)
    x = rng.normal(size=(rows, numbers)) * (1 + 0.5 * y[:, None]) + 0.4 * y[:, None]
    codes = np.array([rng.integers(0, size, rows) for size in labels], dtype=np.int32).reshape(len(labels), rows).T
    codes[y == 1] //= 2
    x[rng.random(x.shape) < missing] = np.nan
    codes = np.ascontiguousarray(np.where(rng.random(codes.shape) < missing, np.int32(-1), codes))
    order, slices = fold_slices(deal_out(y, folds))
    cells = grid.encode(np.asfortranarray(x[order]), np.ascontiguousarray(codes[order]))
    cells = Cells(cells.fine, cells.codes.reshape(rows, -1), cells.level.reshape(rows, numbers))
    ones = np.ones(rows)
    found = FittingRows(cells, np.ascontiguousarray(codes[order]), {}, y[order], ones, ones, slices)
    return Case(grid, found, None if test is None else slices[test], classes, recipe=recipe)


def scores_by(tables: ModelTables, rows: FittingRows, threads: int = 1) -> np.ndarray:
    """Return the scores of rows that are looked up in tables, [row, class]."""
    scorer = kernels.Scorer(np.ascontiguousarray(tables.bias))
    tables.codes.add_to(scorer, np.asfortranarray(np.column_stack([rows.cells.fine, rows.labels]).astype(np.int32)))
    tables.slopes.add_to(scorer, np.ascontiguousarray(rows.cells.level))
    tables.interactions.add_to(scorer, np.asfortranarray(tables.interactions.codes(rows.cells.codes)))
    if tables.quadratic is not None:
        tables.quadratic.add_to(scorer, rows.cells)
    out = np.empty((len(rows), len(tables.bias)))
    assert scorer.log_joint(out, threads) == -1
    return out


def some_rows(rows: FittingRows, part: slice) -> FittingRows:
    """Return some of the rows, without folds."""
    about = (of[part] for of in (rows.y, rows.weights, rows.effective))
    return FittingRows(rows.cells.take(part), rows.labels[part], {}, *about, ())


def tables_of(counts: TermCounts, weights, settings=None, coefficients=None) -> ModelTables:
    """Return the tables of some terms."""
    return TableBuilder.of(counts, weights, settings or {}, coefficients, np.zeros(len(counts.prior)))
