"""Fitting the refined model: a ridge chosen on held-out rows, then a fit to all rows in a few passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ..._types import Codes, Floats, Hashes, Longs, Matrix
from ...counting.rows import Rows
from ...counting.sampled_rows import sample_places
from ...counting.second_pass import Blocks
from ...data.block import ROWS
from ...data.frame import Frame, frame_of
from ...data.grid import Grid
from ...data.values import ColumnValues
from ...text import TextRows
from ..joint.binning import bins_of_column, coarse_bins, fine_bins
from ..joint.newton import WeightProblem
from ..lbfgs import minimize_lbfgs
from .features import row_hashes
from .model import BINS, NUMBERS, RefinedModel
from .offset_problem import (
    NaiveWeights,
    OffsetParameters,
    OffsetProblem,
    OffsetRows,
    RowBlocks,
    value_statistics,
)
from .refined_fit import RefinedFit

# Cells times classes of the rows on which the ridge is chosen; but some rows in any case. Limits of time.
MOST_WORK, FEWEST_ROWS = 1 << 25, 500
# Cells of rows that are kept in memory rather than made anew for each pass.
MOST_KEPT = 1 << 25
# Cells times squares of classes of the rows on which the weights of naive Bayes are fitted.
MOST_NAIVE_WORK = 1 << 25

Make = Callable[[Grid], RefinedModel]
Again = Callable[[], Blocks]


class ChosenRidge(NamedTuple):
    """The ridge, None if none pays; the weights of naive Bayes; where to start; and losses of held-out rows."""

    ridge: float | None
    naive: NaiveWeights
    start: OffsetParameters
    loss: dict[str, float]
    rows: int


def fit_refined(make: Make, rows: Rows, y: Codes, threads: int, again: Again | None, place: Codes) -> RefinedFit:
    """Return the offsets of values, from rows that were counted; again gives all of them, if these are some.

    Those that are read again have codes of their own for classes; place maps them to those here.
    """
    first, frame = make(Grid((), ())), frame_of(rows.source)
    recipe = first.recipe
    weights = np.ones(frame.rows) if rows.weights is None else rows.weights
    at = sample_places(rows, rows_for_ridge(first, frame), first.schema, threads)
    part = frame if len(at) == frame.rows else frame.take(at)
    hashed = fold_hashes(first, part.on(first.schema), threads)
    model = make(grid_of_numbers(first, part, weights[at], threads))
    sample = one_block(list(offset_row_blocks(model, part, y[at], weights[at], threads)))
    prior = model.scorer.log_prior
    folds = (hashed // np.uint64(1 << 20) % np.uint64(recipe.offset_folds)).astype(np.int64)
    chosen = chosen_ridge(model, sample, folds, prior, threads)
    if again is None:
        blocks, most = passes_over(model, sample, frame, y, weights, threads)
    else:
        blocks, most = partial(read_again, model, again, place, threads), recipe.offset_passes
    evaluations = recipe.offset_evaluations
    if most < evaluations and chosen.ridge is not None:  # many passes over some rows save passes over all
        chosen = chosen._replace(start=fitted_offsets(model, lambda: [sample], chosen, evaluations, threads)[0])
    start, passes = fitted_offsets(model, blocks, chosen, most, threads)
    naive = dict(zip(model.kinds, start.naive.tolist(), strict=True))
    offsets = model.offsets(start.offsets)
    return RefinedFit(naive, prior + start.bias, model.grid, offsets, chosen.ridge, chosen.loss, chosen.rows, passes)


# -- rows --------------------------------------------------------------------------------------------------------------


def fold_hashes(model: RefinedModel, frame: Frame, threads: int) -> Hashes:
    """Return a hash of the content of each row."""
    parts = []
    for begin in range(0, frame.rows, ROWS):
        columns = model.read(frame, begin, min(begin + ROWS, frame.rows), threads)
        cells = [columns[name] for name in model.textbook.likelihoods]
        cells = [x.hashes()[:, None] if isinstance(x, TextRows) else x for x in cells]
        parts.append(row_hashes(cells or [columns[BINS]]))
    return np.concatenate(parts)


def rows_for_ridge(model: RefinedModel, frame: Frame) -> int:
    """Return on how many rows the ridge is chosen."""
    return int(
        np.clip(MOST_WORK // (cells_of_row(model, frame) * len(model.classes)), FEWEST_ROWS, model.recipe.offset_rows)
    )


def cells_of_row(model: RefinedModel, frame: Frame) -> int:
    """Return how many values a row holds, on average."""
    there = sum(cells_in_column(frame.columns[column.name]) for column in model.schema.of_kind("vectors")) // max(
        frame.rows, 1
    )
    return len(model.labels) + 2 * len(model.schema.of_kind("numbers")) + there + 1


def cells_in_column(x: Matrix) -> int:
    """Return how many cells a wide column has, about: a text has a word and a pair for every six bytes."""
    if isinstance(x, ColumnValues):
        return int(x.bytes / 3)
    return int(x.nnz if sparse.issparse(x) else x.size)


def grid_of_numbers(model: RefinedModel, frame: Frame, weights: Floats, threads: int) -> Grid:
    """Return the bins of numbers, from rows without their classes."""
    bins, recipe = [], model.recipe
    wanted = coarse_bins(float(weights.sum()), recipe)
    columns = model.read(frame.on(model.schema), 0, frame.rows, threads)
    for column in model.schema.of_kind("numbers"):
        part = model.number_parts[column.name]
        x = np.asarray(columns[part.key][:, part.place], dtype=np.float64)
        cuts = fine_bins(x, weights, recipe)
        bins.append(bins_of_column(column.name, cuts, x, weights, wanted, recipe))
    return Grid(tuple(bins), ())


def offset_row_blocks(
    model: RefinedModel, frame: Frame, y: Codes, weights: Floats, threads: int
) -> Iterator[OffsetRows]:
    """Give rows as offsets are fitted to them, so many at a time; those without weight are skipped."""
    frame, step = frame.on(model.schema), max(ROWS // len(model.classes), 256)
    for begin in range(0, frame.rows, step):
        rows = slice(begin, min(begin + step, frame.rows))
        columns = model.read(frame, rows.start, rows.stop, threads)
        block = model.offset_rows(columns, y[rows], np.maximum(weights[rows], 0.0), threads)
        heavy = np.flatnonzero(block.weights > 0)
        if len(heavy):
            yield block if len(heavy) == len(block.y) else block.take(heavy)


def one_block(blocks: list[OffsetRows]) -> OffsetRows:
    """Return all rows as one block."""
    features = sparse.csr_array(sparse.vstack([block.features for block in blocks], format="csr"))
    naive = np.concatenate([block.naive for block in blocks], axis=1)
    y, weights = np.concatenate([block.y for block in blocks]), np.concatenate([block.weights for block in blocks])
    return OffsetRows(features, naive, y, weights)


def read_again(model: RefinedModel, again: Again, place: Codes, threads: int) -> Iterator[OffsetRows]:
    """Give all rows of files as offsets are fitted to them: one pass."""
    for frame, y, weights, _ in again():
        yield from offset_row_blocks(
            model, frame, place[y], np.ones(frame.rows) if weights is None else weights, threads
        )


def passes_over(
    model: RefinedModel, sample: OffsetRows, frame: Frame, y: Codes, weights: Floats, threads: int
) -> tuple[RowBlocks, int]:
    """Return what gives all rows, and how often it may: they are kept in memory if few enough, else made anew."""
    evaluations = model.recipe.offset_evaluations
    if len(sample.y) == np.count_nonzero(weights):
        return lambda: [sample], evaluations
    cells = frame.rows * (cells_of_row(model, frame) + len(model.classes) * len(model.kinds))
    if cells <= MOST_KEPT:
        kept = list(offset_row_blocks(model, frame, y, weights, threads))
        return lambda: kept, evaluations
    return lambda: offset_row_blocks(model, frame, y, weights, threads), model.recipe.offset_passes


# -- fitting -----------------------------------------------------------------------------------------------------------


def chosen_ridge(model: RefinedModel, sample: OffsetRows, fold: Longs, prior: Floats, threads: int) -> ChosenRidge:
    """Return the ridge of least held-out log loss."""
    asked, alone, tempered, recipe = 0.0, 0.0, 0.0, model.recipe
    losses: dict[float, float] = dict.fromkeys(recipe.offset_ridges, 0.0)
    starts: dict[float, OffsetParameters] = {}
    for at in range(recipe.offset_folds):
        train, held = sample.take(np.flatnonzero(fold != at)), sample.take(np.flatnonzero(fold == at))
        if not len(held.y) or len(np.unique(train.y)) < 2:
            continue
        problem, start = started_problem(model, train, prior, threads)
        alone += problem.loss(held, OffsetParameters(np.ones(len(model.kinds)), np.zeros(len(prior)), start.offsets))
        tempered += problem.loss(held, start)
        asked += float(held.weights.sum())
        losses = {ridge: losses[ridge] + by for ridge, by in ridge_path(problem, held, start, list(losses), starts)}
        if asked >= recipe.offset_held_out_rows:
            break
    stages = {"by naive Bayes": alone, "with its temperature": tempered}
    least = min(losses.values())
    best = next(ridge for ridge in recipe.offset_ridges if losses[ridge] <= least + recipe.offset_price)
    problem, start = started_problem(model, sample, prior, threads)
    if not asked or losses[best] > tempered - recipe.offset_price or not len(model.kept):
        return ChosenRidge(None, problem.naive, start, mean_losses(stages, asked), round(asked))
    stages["with offsets of values"] = losses[best]
    return ChosenRidge(best, problem.naive, starts[best], mean_losses(stages, asked), round(asked))


def mean_losses(losses: dict[str, float], rows: float) -> dict[str, float]:
    """Return losses by row; none, if there was no row."""
    return {what: loss / rows for what, loss in losses.items()} if rows else {}


def ridge_path(
    problem: OffsetProblem,
    held: OffsetRows,
    start: OffsetParameters,
    ridges: list[float],
    starts: dict[float, OffsetParameters],
) -> Iterator[tuple[float, float]]:
    """Give the loss of held-out rows under each ridge, from the strongest down until it rises."""
    v, least, recipe = start.flat(), np.inf, problem.recipe
    limits = (recipe.offset_evaluations, recipe.offset_rough_tolerance, recipe.lbfgs_memory)
    for ridge in ridges:
        under = problem.under(ridge)
        v, _ = minimize_lbfgs(under.value, v, under.steps(), *limits)
        found = under.named(v)
        starts.setdefault(ridge, found._replace(offsets=found.offsets * problem.scale[:, None]))
        loss = problem.loss(held, found)
        yield ridge, loss
        least = min(least, loss)
        if loss > least * (1 + recipe.offset_loss_rise):
            return


def started_problem(
    model: RefinedModel, train: OffsetRows, prior: Floats, threads: int
) -> tuple[OffsetProblem, OffsetParameters]:
    """Return the problem of some rows, and where it starts: naive Bayes with the weights that it has alone."""
    classes, recipe = len(prior), model.recipe
    seen = value_statistics(lambda: [train], len(model.kept), classes, threads)
    few = train.take(slice(0, max(MOST_NAIVE_WORK // (classes * (classes + len(model.kinds))), FEWEST_ROWS)))
    ones = np.ones(len(model.kinds))
    terms = WeightProblem([part.T for part in few.naive], few.y, few.weights, prior, recipe)
    tied = terms.solve(ones, ones, recipe.naive_weight_ridge)
    free = np.array([kind == NUMBERS for kind in model.kinds], dtype=np.float64)
    scores = tied.bias + np.einsum("t,tnk->nk", tied.weights, few.naive)
    naive = NaiveWeights.of(tied.weights, free, few, scores)
    scale = seen.scale(model.levels, recipe.offset_least_scale)
    problem = OffsetProblem(lambda: [train], prior, naive, scale, recipe.offset_ridges[0], seen, recipe, threads)
    return problem, OffsetParameters(tied.weights, tied.bias - prior, np.zeros((len(model.kept), classes)))


def fitted_offsets(
    model: RefinedModel, blocks: RowBlocks, chosen: ChosenRidge, most: int, threads: int
) -> tuple[OffsetParameters, int]:
    """Return the offsets under the ridge that was chosen, and how many passes over the rows that took."""
    prior, start, recipe = model.scorer.log_prior, chosen.start, model.recipe
    if chosen.ridge is None:
        return start, 0
    seen = value_statistics(blocks, len(model.kept), len(prior), threads)
    scale = seen.scale(model.levels, recipe.offset_least_scale)
    problem = OffsetProblem(blocks, prior, chosen.naive, scale, chosen.ridge, seen, recipe, threads)
    begin = OffsetParameters(chosen.naive.weights, start.bias, start.offsets / scale[:, None])
    limits = (most, recipe.offset_tolerance, recipe.lbfgs_memory)
    v, passes = minimize_lbfgs(problem.value, begin.flat(), problem.steps(), *limits)
    found = problem.named(v)
    return found._replace(offsets=found.offsets * scale[:, None]), passes + 1
