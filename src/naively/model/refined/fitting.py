"""How single values are adjusted: a ridge chosen on rows held out, then a fit to all rows in a few passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..._types import Codes, Floats
from ...counting.rows import Rows
from ...counting.sampled_rows import sample_places
from ...counting.second_pass import Blocks
from ...data.block import ROWS
from ...data.frame import Frame, frame_of
from ...data.grid import Grid
from ...data.values import ColumnValues
from ...text import TextRows
from ..joint.binning import binned, coarse_bins, fine_bins
from ..joint.weights import Problem as Tied
from .features import row_hashes
from .model import BINS, NUMBERS, RefinedModel
from .offsets import Refined
from .optimize import BOOK_RIDGE, Adjusted, Block, Book, Problem, descended, look

# Rows on which the ridge is chosen, and what they may cost: cells times classes; but some rows in any case.
CHOOSING, WORK, SOME = 20_000, 1 << 25, 500
# A fifth of those rows is held out at a time, until so many were.
FOLDS, HELD = 5, 2_000
# The ridges that are tried, the strongest first; where the loss has risen by such a share, no weaker one is.
RIDGES, RISEN = (30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003), 0.02
# What a weaker ridge must save, in nats: where two are as good as equal the stronger one is safer.
PRICE = 1.0
# Looks at all rows, at most, if they are kept in memory and if they are read again each time; on which gain a fit ends.
LOOKS, PASSES, ENOUGH, ROUGHLY = 40, 12, 1e-6, 3e-4
# Cells of rows that are kept in memory rather than made anew for each look.
KEPT = 1 << 25
# Cells times squares of classes of the rows on which it is fitted how much naive Bayes counts.
TIED = 1 << 25

Make = Callable[[Grid], RefinedModel]
Again = Callable[[], Blocks]


class Chosen(NamedTuple):
    """The ridge, None if none pays; how much naive Bayes counts; where to begin; and losses of rows held out."""

    ridge: float | None
    book: Book
    start: Adjusted
    loss: dict[str, float]
    rows: int


def refine(make: Make, rows: Rows, y: Codes, threads: int, again: Again | None, place: Codes) -> Refined:
    """Return how far values are adjusted, from rows that were counted; again gives all of them, if these are some.

    Those that are read again have codes of their own for classes; place says which each is here.
    """
    first, frame = make(Grid((), ())), frame_of(rows.source)
    weights = np.ones(frame.rows) if rows.weights is None else rows.weights
    at = sample_places(rows, affordable(first, frame), first.schema, threads)
    part = frame if len(at) == frame.rows else frame.take(at)
    hashed = hashes_of(first, part.on(first.schema), threads)
    model = make(laid_out(first, part, weights[at], threads))
    sample = joined(list(encoded(model, part, y[at], weights[at], threads)))
    prior = model.model.log_prior
    chosen = choose(model, sample, hashed // np.uint64(1 << 20) % np.uint64(FOLDS), prior, threads)
    if again is None:
        blocks, most = blocks_of(model, sample, frame, y, weights, threads)
    else:
        blocks, most = partial(read_again, model, again, place, threads), PASSES
    if most < LOOKS and chosen.ridge is not None:  # few looks at all rows are spared by many at some of them
        chosen = chosen._replace(start=adjusted(model, lambda: [sample], chosen, LOOKS, threads)[0])
    start, looks = adjusted(model, blocks, chosen, most, threads)
    book = dict(zip(model.kinds, start.book.tolist(), strict=True))
    moved = model.moved(start.moved)
    return Refined(book, prior + start.bias, model.grid, moved, chosen.ridge, chosen.loss, chosen.rows, looks)


# -- rows --------------------------------------------------------------------------------------------------------------


def hashes_of(model: RefinedModel, frame: Frame, threads: int) -> Any:
    """Return a number for each row that follows from what it holds."""
    parts = []
    for begin in range(0, frame.rows, ROWS):
        columns = model.read(frame, begin, min(begin + ROWS, frame.rows), threads)
        cells = [columns[name] for name in model.book.likelihoods]
        cells = [x.hashes()[:, None] if isinstance(x, TextRows) else x for x in cells]
        parts.append(row_hashes(cells or [columns[BINS]]))
    return np.concatenate(parts)


def affordable(model: RefinedModel, frame: Frame) -> int:
    """Return on how many rows the ridge is chosen."""
    return int(np.clip(WORK // (cells_of_row(model, frame) * len(model.classes)), SOME, CHOOSING))


def cells_of_row(model: RefinedModel, frame: Frame) -> int:
    """Return how many values a row holds, in the mean."""
    there = sum(cells_in(frame.columns[column.name]) for column in model.schema.of_kind("vectors")) // max(
        frame.rows, 1
    )
    return len(model.labels) + 2 * len(model.schema.of_kind("numbers")) + there + 1


def cells_in(x: Any) -> int:
    """Return how many cells a wide column has, about: a text has a word and a pair for every six bytes."""
    if isinstance(x, ColumnValues):
        return int(x.bytes / 3)
    return int(x.nnz if sparse.issparse(x) else x.size)


def laid_out(model: RefinedModel, frame: Frame, weights: Floats, threads: int) -> Grid:
    """Return the bins of numbers, from rows without their classes."""
    bins, wanted = [], coarse_bins(weights)
    columns = model.read(frame.on(model.schema), 0, frame.rows, threads)
    for column in model.schema.of_kind("numbers"):
        key, at = model.part_of_number(column.name)
        x = np.asarray(columns[key][:, at], dtype=np.float64)
        bins.append(binned(column.name, fine_bins(x, weights), x, weights, wanted))
    return Grid(tuple(bins), ())


def encoded(model: RefinedModel, frame: Frame, y: Codes, weights: Floats, threads: int) -> Iterator[Block]:
    """Return rows as values to be adjusted, so many at a time; those of no weight are left out."""
    frame, step = frame.on(model.schema), max(ROWS // len(model.classes), 256)
    for begin in range(0, frame.rows, step):
        rows = slice(begin, min(begin + step, frame.rows))
        columns = model.read(frame, rows.start, rows.stop, threads)
        block = model.block(columns, y[rows], np.maximum(weights[rows], 0.0), threads)
        heavy = np.flatnonzero(block.weights > 0)
        if len(heavy):
            yield block if len(heavy) == len(block.y) else block.take(heavy)


def joined(blocks: list[Block]) -> Block:
    """Return all rows as one block."""
    features = sparse.csr_array(sparse.vstack([block.features for block in blocks], format="csr"))
    book = np.concatenate([block.book for block in blocks], axis=1)
    return Block(features, book, *(np.concatenate([getattr(b, part) for b in blocks]) for part in ("y", "weights")))


def read_again(model: RefinedModel, again: Again, place: Codes, threads: int) -> Iterator[Block]:
    """Return all rows of files as values to be adjusted: one pass."""
    for frame, y, weights, _ in again():
        yield from encoded(model, frame, place[y], np.ones(frame.rows) if weights is None else weights, threads)


def blocks_of(
    model: RefinedModel, sample: Block, frame: Frame, y: Codes, weights: Floats, threads: int
) -> tuple[Callable[[], Any], int]:
    """Return what goes over all rows, and how often it may: they are kept in memory if few enough, else made anew."""
    if len(sample.y) == np.count_nonzero(weights):
        return lambda: [sample], LOOKS
    cells = frame.rows * (cells_of_row(model, frame) + len(model.classes) * len(model.kinds))
    if cells <= KEPT:
        kept = list(encoded(model, frame, y, weights, threads))
        return lambda: kept, LOOKS
    return lambda: encoded(model, frame, y, weights, threads), PASSES


# -- fitting -----------------------------------------------------------------------------------------------------------


def choose(model: RefinedModel, sample: Block, fold: Any, prior: Floats, threads: int) -> Chosen:
    """Return the ridge under which rows held out are answered best."""
    asked, alone, tempered = 0.0, 0.0, 0.0
    losses: dict[float, float] = dict.fromkeys(RIDGES, 0.0)
    starts: dict[float, Adjusted] = {}
    for at in range(FOLDS):
        learn, held = sample.take(np.flatnonzero(fold != at)), sample.take(np.flatnonzero(fold == at))
        if not len(held.y) or len(np.unique(learn.y)) < 2:
            continue
        problem, start = begun(model, learn, prior, threads)
        alone += problem.loss(held, Adjusted(np.ones(len(model.kinds)), np.zeros(len(prior)), start.moved))
        tempered += problem.loss(held, start)
        asked += float(held.weights.sum())
        losses = {ridge: losses[ridge] + by for ridge, by in path(problem, held, start, list(losses), starts)}
        if asked >= HELD:
            break
    stages = {"by naive Bayes": alone, "with its temperature": tempered}
    least = min(losses.values())
    best = next(ridge for ridge in RIDGES if losses[ridge] <= least + PRICE)
    problem, start = begun(model, sample, prior, threads)
    if not asked or losses[best] > tempered - PRICE or not len(model.kept):
        return Chosen(None, problem.book, start, means(stages, asked), round(asked))
    stages["with values adjusted"] = losses[best]
    return Chosen(best, problem.book, starts[best], means(stages, asked), round(asked))


def means(losses: dict[str, float], rows: float) -> dict[str, float]:
    """Return losses by row; none, if no row could be asked."""
    return {what: loss / rows for what, loss in losses.items()} if rows else {}


def path(
    problem: Problem, held: Block, start: Adjusted, ridges: list[float], starts: dict[float, Adjusted]
) -> Iterator[tuple[float, float]]:
    """Return the loss of rows held out under each ridge, from the strongest down until it rises."""
    v, least = start.flat(), np.inf
    for ridge in ridges:
        under = problem.under(ridge)
        v, _ = descended(under.value, v, under.steps(), LOOKS, ROUGHLY)
        found = under.named(v)
        starts.setdefault(ridge, found._replace(moved=found.moved * problem.scale[:, None]))
        loss = problem.loss(held, found)
        yield ridge, loss
        least = min(least, loss)
        if loss > least * (1 + RISEN):
            return


def begun(model: RefinedModel, learn: Block, prior: Floats, threads: int) -> tuple[Problem, Adjusted]:
    """Return the problem of some rows, and where it begins: naive Bayes as much as it counts alone."""
    classes = len(prior)
    seen = look(lambda: [learn], len(model.kept), classes, threads)
    few = learn.take(slice(0, max(TIED // (classes * (classes + len(model.kinds))), SOME)))
    ones = np.ones(len(model.kinds))
    tied = Tied([said.T for said in few.book], few.y, few.weights, prior).solve(ones, ones, BOOK_RIDGE)
    free = np.array([kind == NUMBERS for kind in model.kinds], dtype=np.float64)
    book = Book.of(tied.weights, free, few, tied.bias + np.einsum("t,tnk->nk", tied.weights, few.book))
    problem = Problem(lambda: [learn], prior, book, seen.scale(model.levels), RIDGES[0], seen, threads)
    return problem, Adjusted(tied.weights, tied.bias - prior, np.zeros((len(model.kept), classes)))


def adjusted(
    model: RefinedModel, blocks: Callable[[], Any], chosen: Chosen, most: int, threads: int
) -> tuple[Adjusted, int]:
    """Return how far values move under the ridge that was chosen, and how many looks at the rows that took."""
    prior, start = model.model.log_prior, chosen.start
    if chosen.ridge is None:
        return start, 0
    seen = look(blocks, len(model.kept), len(prior), threads)
    scale = seen.scale(model.levels)
    problem = Problem(blocks, prior, chosen.book, scale, chosen.ridge, seen, threads)
    begin = Adjusted(chosen.book.times, start.bias, start.moved / scale[:, None])
    v, looks = descended(problem.value, begin.flat(), problem.steps(), most, ENOUGH)
    found = problem.named(v)
    return found._replace(moved=found.moved * scale[:, None]), looks + 1
