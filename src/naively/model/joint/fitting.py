"""Fitting the joint model: bins from some rows, counts of pairs in a second pass, weights on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..._types import Codes, Floats, Mask, Places
from ...counting.counter import TableCounter
from ...counting.row_order import content_order
from ...counting.rows import Rows
from ...counting.sampled_rows import sample_places
from ...counting.second_pass import Blocks, count_jointly
from ...counting.soft_labels import blocks_by_class, most_probable
from ...counting.weights import left_out_weights
from ...data.column import Column
from ...data.encoding import block_numbers
from ...data.frame import frame_of
from ...data.grid import Grid
from ...data.target import SoftLabels
from ...errors import InvalidInput
from ...errors.message import Setting
from ...stats import Counts
from ..leave_one_out import rows_at
from ..recipe import RECIPE, Recipe
from .binning import grid_of
from .coefficient_fitting import CoefficientFitting
from .joint_fit import JointFit
from .left_out import HeldOutRows
from .model import JointModel
from .moved_counts import KnownRows
from .pairs import column_pairs
from .sample import SoftRows, deal_out, effective_weights
from .weights import fit_weights
from .word_offset_fitting import with_word_offsets

# What the terms of the sample may take together, in numbers of 4 bytes; but some rows in any case. Limits of memory.
MOST_CELLS, FEWEST_SAMPLED = 1 << 28, 250
# Probabilities that are computed in each step: of many classes fewer rows are used.
MOST_PROBABILITIES = 1 << 22


def enough(rows: Rows, fewest: int | None = None, recipe: Recipe = RECIPE) -> bool:
    """Tell whether rows are enough to fit weights: many, of several classes."""
    fewest = recipe.fewest_rows if fewest is None else fewest
    if rows.target.rows < fewest:
        return False
    if isinstance(rows.target, SoftLabels):
        classes = int(rows.target.proportions.any(axis=0).sum())
    else:
        codes = rows.target.codes  # -1 where there is no label
        classes = int(np.count_nonzero(np.bincount(codes + np.int32(1))))
    return 1 < classes <= recipe.most_classes


def why_textbook(rows: Floats, labeled: bool, recipe: Recipe = RECIPE) -> str:
    """Return that textbook naive Bayes answers, and why joint terms were not fitted.

    Rows are those of each class; labeled says whether all of them have a label.
    """
    why = obstacle_to_fitting(rows, labeled, recipe)
    return f"columns: each contributes by itself, as in textbook naive Bayes; joint terms were not fitted: {why}"


def obstacle_to_fitting(rows: Floats, labeled: bool, recipe: Recipe) -> str:
    """Return what stood in the way of fitting joint terms."""
    classes, total = int((rows > 0).sum()), float(rows.sum())
    if not labeled and total < recipe.fewest_rows:
        return f"{total:.10g} rows have a label, and at least {recipe.fewest_rows} are needed"
    if not labeled and classes < len(rows):
        return "a class has no row with a label"
    if not labeled:
        return "rows without a label were used, too"
    if classes < 2:
        return "all rows are of one class"
    if classes > recipe.most_classes:
        return f"there are {classes:,} classes, and at most {recipe.most_classes} can be"
    if total < recipe.fewest_rows:
        return f"there are {total:.10g} rows; fit, or calibrate with, at least {recipe.fewest_rows}"
    return "rows were counted column by column; calibrate(X, y) with all of them fits it"


def count_together(
    counter: TableCounter,
    rows: Rows,
    threads: int,
    blocks: Blocks | None = None,
    used: Sequence[str] | None = None,
    recipe: Recipe = RECIPE,
) -> str | None:
    """Count pairs of columns, after columns were counted one by one; return a remark if not all could be afforded.

    The rows are all that were counted, or a sample of them; then blocks give all of them again. Used are the columns
    that are counted in pairs, if not all are.
    """
    if blocks is None:
        blocks = list(blocks_of(counter, rows))
        check_all(counter, rows.target.rows, blocks)
    grid, remark = fitted_grid(counter, most_probable(rows, counter, threads), threads, used, recipe)
    count_jointly([counter], grid, blocks, threads)
    return remark


def blocks_of(counter: TableCounter, rows: Rows) -> Blocks:
    """Return rows with the codes of their classes; rows with soft labels come once for each of their classes."""
    if isinstance(rows.target, SoftLabels):
        return blocks_by_class(counter, rows, rows.target)
    codes = counter.classes.codes(rows.target.labels)[rows.target.codes]
    return [(frame_of(rows.source), codes, rows.weights, None)]


def check_all(counter: TableCounter, given: int, blocks: Blocks) -> None:
    """Refuse rows that are not all that were counted one by one: counts of pairs would not fit the others."""
    size = len(counter.rows)
    sums = sum((np.bincount(codes, weights, size) for _, codes, weights, _ in blocks), np.zeros(size))
    if not np.allclose(sums, counter.rows):
        raise InvalidInput(
            f"{given} rows were given, but {counter.rows.sum():.10g} were counted, and the joint "
            "model needs all of them. Give all rows that the model was fitted with, or set ",
            Setting("model", "textbook"),
            ".",
        )


def fitted_grid(
    counter: TableCounter, rows: Rows, threads: int, used: Sequence[str] | None = None, recipe: Recipe = RECIPE
) -> tuple[Grid, str | None]:
    """Return the bins and labels that are counted in pairs, and a remark if not all can be afforded."""
    frame, wanted = frame_of(rows.source), None if used is None else set(used)
    weights = np.ones(frame.rows) if rows.weights is None else rows.weights
    at = sample_places(rows, recipe.sample_rows, counter.schema, threads)
    seen = frame if len(at) == frame.rows else frame.take(at)
    of_numbers = [column for column in counter.of_numbers if wanted is None or column.name in wanted]
    numbers = np.asarray(block_numbers(seen, of_numbers, 0, seen.rows), dtype=np.float64)
    labels = [at for at, column in enumerate(counter.of_labels) if wanted is None or column.name in wanted]
    # Bins are as fine as the rows are many, however light they are.
    return grid_of_sample(counter, of_numbers, numbers, effective_weights(weights[at]), labels, recipe)


def grid_of_sample(
    counter: TableCounter,
    of_numbers: Sequence[Column],
    numbers: Floats,
    weights: Floats,
    of_labels: Sequence[int],
    recipe: Recipe,
) -> tuple[Grid, str | None]:
    """Return the bins from some of the rows; labels from all that were counted."""
    labels = []
    for at in of_labels:
        column, words = counter.of_labels[at], counter.words[at]
        met = counter.labels.part(at, len(words), len(counter.classes)).sum(axis=1)
        known = {label: n for label, n in zip(words.places, met.tolist(), strict=True) if label is not None}
        order = sorted(known, key=lambda label: (-known[label], str(label)))  # by frequency, then by name
        labels.append((column.name, order, np.array([known[label] for label in order])))
    names = [column.name for column in of_numbers]
    return grid_of(names, numbers, weights, labels, len(counter.classes), recipe)


def known_rows(rows: Rows, counts: Counts) -> KnownRows:
    """Return rows that were counted, to tell how the numbers in a bin of these counts are spread."""
    grid, frame, target = None if counts.joint is None else counts.joint.grid, frame_of(rows.source), rows.target
    codes = target.proportions.argmax(axis=1) if isinstance(target, SoftLabels) else target.codes
    names = [] if grid is None else [bins.name for bins in grid.numbers]
    numbers = {name: frame.columns[name].numbers(0, frame.rows) for name in names}
    y = counts.classes.places(target.labels)[codes].astype(np.int32)
    return KnownRows(numbers, y, np.ones(len(y)) if rows.weights is None else rows.weights)


def weight_sample(
    model: JointModel, counter: TableCounter, rows: Rows, y: Codes, threads: int
) -> tuple[Rows, Codes, Floats, Places, tuple[slice, ...]]:
    """Return the rows that weights are fitted on, by fold, their classes, their weights, which they are, the folds."""
    frame, recipe, most = frame_of(rows.source), model.recipe, affordable_rows(model)
    at = sample_places(rows, most, counter.schema, threads)
    # Folds follow from the content of rows, whatever the order of the table.
    at = at[content_order(counter, frame if len(at) == frame.rows else frame.take(at), y[at], threads)]
    weights = np.ones(len(at)) if rows.weights is None else rows.weights[at]
    if model.copies and weights.sum() <= most:  # a weight of 2 is two rows, which may lie in two folds
        at, weights = np.repeat(at, weights.astype(np.int64)), np.ones(int(weights.sum()))
    order, folds = deal_out(y[at], recipe.folds)
    at = at[order]
    return rows_at(rows, at), y[at], weights[order], at, folds


def fit_joint(
    model: JointModel,
    rows: Rows,
    y: Codes,
    weights: Floats,
    threads: int,
    folds: tuple[slice, ...],
    idle: Mask | None = None,
    soft: SoftRows | None = None,
) -> JointFit:
    """Return the weights of terms and the coefficients of values, from rows that were counted.

    Idle rows are those by which columns were chosen: nothing is fitted on them.
    """
    columns, recipe = model.read(frame_of(rows.source).on(model.schema), 0, len(y), threads), model.recipe
    some = slice(0, min(recipe.word_pseudo_rows, max(MOST_PROBABILITIES // (4 * len(model.classes)), FEWEST_SAMPLED)))
    for words in model.word_associations.values():
        words.words_of(columns[words.matrix])  # read once, all of them: parts of the rows have parts of these
    for key, column in model.wide_columns.items():
        part = soft if soft is None else soft.some(np.arange(len(y))[some], len(y))
        out = HeldOutRows(y[some], left_out_weights(weights[some], model.copies), part)
        pseudo = column.fitted_pseudo_count(columns[key][some], out, weights[some], model.counts.prior, recipe)
        if pseudo is not None:
            model.pseudo_texts[column.name] = pseudo
    sample = model.fitting_rows(columns, y, weights, folds, soft)
    if idle is not None:
        sample = replace(sample, idle=idle)
    usual = {f"words of {name}": model.pseudo_texts_of(name) for name in model.word_associations}
    fit, scores, parts = fit_weights(model.counts, sample, usual)
    found = CoefficientFitting(model.counts, sample, fit, scores, parts).fitted()
    if found is not None:
        fit = replace(fit, coefficients=found[0], loss={**fit.loss, **found[1]})
    return with_word_offsets(model, columns, sample, fit, scores, threads)


def affordable_rows(model: JointModel) -> int:
    """Return on how many rows weights can be fitted."""
    grid, recipe = model.counts.grid, model.recipe
    pairs = len(column_pairs(grid, recipe.pair_bins[0], recipe.pair_bins))
    terms = (
        (len(recipe.value_bins) + 1) * len(grid.numbers)
        + len(grid.labels)
        + min(pairs, recipe.own_pairs) * len(recipe.pair_bins)
        + 8
    )
    most = min(MOST_CELLS // terms, MOST_PROBABILITIES) // len(model.classes)
    return int(np.clip(most, FEWEST_SAMPLED, recipe.sample_rows))
