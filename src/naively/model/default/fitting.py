"""Fitting the default model to a sample of rows: bins, counts of pairs, weights and coefficients on held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import compress

import numpy as np

from ..._linear_algebra import dot
from ..._threads import in_threads
from ..._types import Codes, Floats, Mask
from ...counting.counter import TableCounter
from ...counting.row_hash import content_order
from ...counting.rows import Rows, are_copies
from ...counting.sample import sample_places
from ...data.column import Column
from ...data.frame import frame_of
from ..leave_one_out import hard_labels, soft_truth, truth_of
from ..recipe import RECIPE, Recipe
from .bins import IN_PAIRS, TOO_MANY, Categories, grid_of, most_features
from .coefficients import MeasuredScores, fitted_coefficients
from .fit import WITH_WORDS, DefaultFit
from .grid import Grid
from .joint_counts import JointCounts, count_jointly
from .likelihoods import REST
from .model import DefaultModel
from .normal import NormalRows, chosen_settings, cross_terms
from .rows import CrossFit, FittingRows, Terms, deal_out, effective_weights, fold_slices, log_loss, row_losses
from .screening import NO_GAIN, Screening, screen
from .values import cross_values
from .weights import Candidates, WeightFit, WeightProblem, own_ridge, start_weight
from .words import fitted_words, spread

# What the terms of the sample may take together, in numbers of 4 bytes; but some rows in any case. Limits of memory.
MOST_CELLS, FEWEST_SAMPLED = 1 << 28, 250
# Probabilities that are computed in each step: of many classes fewer rows are used.
MOST_PROBABILITIES = 1 << 22


def enough(rows: Rows, fewest: int | None = None, recipe: Recipe = RECIPE) -> bool:
    """Tell whether rows are enough to fit weights: many, of several classes."""
    fewest = recipe.fewest_rows if fewest is None else fewest
    if rows.target.rows < fewest:
        return False
    classes = int(rows.target.used.sum()) + bool((rows.target.codes < 0).any())
    return 1 < classes <= recipe.most_classes


def why_textbook(rows: Floats, labeled: bool, recipe: Recipe = RECIPE) -> str:
    """Return that textbook naive Bayes predicts, and why weights were not fitted.

    Rows are those of each class; labeled says whether all of them have a label.
    """
    why = obstacle_to_fitting(rows, labeled, recipe)
    return f"columns: each contributes by itself, as in textbook naive Bayes; joint terms were not fitted: {why}"


def obstacle_to_fitting(rows: Floats, labeled: bool, recipe: Recipe) -> str:
    """Return why weights were not fitted."""
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


# -- rows to fit to ----------------------------------------------------------------------------------------------------


def fit_to_rows(
    model_of: Callable[[JointCounts], DefaultModel],
    counter: TableCounter,
    given: Rows,
    columns: Sequence[str] | None,
    missing: bool,
    threads: int,
    recipe: Recipe,
) -> tuple[DefaultFit, tuple[str, ...]]:
    """Return what is fitted to rows that were counted, or to a sample of them, and remarks on columns.

    Parameters
    ----------
    model_of : callable
        Returns the model without a fit, given what is counted jointly.
    counter : TableCounter
        What was counted of all rows, with codes for their classes and labels.
    given : Rows
        The rows, with class weights.
    columns : sequence of str or None
        The columns that are used, by name; None for all.
    missing : bool
        Whether a missing value is a value like any other.
    threads : int
        How many threads to use.
    recipe : Recipe
        The constants of the method.

    Returns
    -------
    tuple of DefaultFit and tuple of str
        The fit and the remarks.
    """
    places = sample_places(given, recipe.sample_rows, counter.schema, threads)
    given = given if len(places) == given.target.rows else given.take(places)
    rows = given.most_probable(counter.schema, threads)
    how = (missing, are_copies(rows.weights, hard_labels(rows).codes), threads, recipe)
    wide = sum(columns is None or column.name in columns for column in (*counter.of_numbers, *counter.of_labels))
    screened = None
    if wide >= most_features(len(hard_labels(rows).labels), recipe):
        screened = screen(counter, rows, *how)
    used = columns if screened is None else screened.beside(counter.schema, columns)
    grid, remark = fitted_grid(counter, rows, used, threads, recipe)
    joint = count_jointly(counter, given.blocks(counter), grid, threads)

    def fitted(joint: JointCounts, screened: Screening | None) -> DefaultFit:
        model = model_of(joint)
        model.copies = how[1]
        counts = model.all_counts
        proportions, idle = soft_truth(given, counts), None if screened is None else screened.chose
        result = fitting_rows(model, counter, rows, truth_of(rows, counts), proportions, threads, idle)
        return fit_default(model, result)

    result = fitted(joint, screened)
    if screened is None and wide >= recipe.many_columns:  # those that clearly tell of the class are tried alone, too
        fewer = screen(counter, rows, *how, clear=True)
        if 0 < len(fewer.names) <= recipe.many_columns:
            alone = fitted(joint.only(fewer.names), fewer)
            if alone.last_loss < (1 - recipe.least_fall) * result.last_loss:
                # What half of the rows chose was measured on the others; now all of them choose.
                screened = screen(counter, rows, *how, clear=True, half=False)
                result = replace(fitted(joint.only(screened.names), None), loss=alone.loss)
    remarks: tuple[str, ...] = () if remark is None else (remark,)
    if screened is not None:
        remarks += screened.remarks(result.joint.grid, bool(result.weights.get(REST)))
    return result, remarks


def without_fit_remarks(hints: Sequence[str]) -> list[str]:
    """Return remarks without those that an earlier fit left."""
    return [hint for hint in hints if NO_GAIN not in hint and not hint.startswith((IN_PAIRS, TOO_MANY))]


def fitted_grid(
    counter: TableCounter, rows: Rows, used: Sequence[str] | None, threads: int, recipe: Recipe
) -> tuple[Grid, str | None]:
    """Return the bins and categories that are counted in pairs, and a remark if not all can be afforded."""
    frame, wanted = frame_of(rows.source), None if used is None else set(used)
    weights = np.ones(frame.rows) if rows.weights is None else rows.weights
    named = [wanted is None or column.name in wanted for column in counter.of_numbers]
    of_numbers = list(compress(counter.of_numbers, named))
    numbers = counter.encoded_cells(frame, 0, frame.rows, threads)[1][:, named]
    labels = [place for place, column in enumerate(counter.of_labels) if wanted is None or column.name in wanted]
    # Bins are as fine as the rows are many, however light they are.
    return grid_of_sample(counter, of_numbers, numbers, effective_weights(weights), labels, recipe)


def grid_of_sample(
    counter: TableCounter,
    of_numbers: Sequence[Column],
    numbers: Floats,
    weights: Floats,
    of_labels: Sequence[int],
    recipe: Recipe,
) -> tuple[Grid, str | None]:
    """Return the bins from some of the rows; categories from all that were counted."""
    categories = []
    for place in of_labels:
        column, words = counter.of_labels[place], counter.words[place]
        rows = counter.labels.part(place, len(words), len(counter.classes)).sum(axis=1)
        known = {label: n for label, n in zip(words.places, rows.tolist(), strict=True) if label is not None and n > 0}
        order = sorted(known, key=lambda label: (-known[label], str(label)))  # by frequency, then by name
        categories.append(Categories(column.name, order))
    names = [column.name for column in of_numbers]
    columns = [(column, weights) for column in numbers.T]
    return grid_of(names, columns, float(weights.sum()), categories, len(counter.classes), recipe)


def fitting_rows(
    model: DefaultModel,
    counter: TableCounter,
    rows: Rows,
    y: Codes,
    proportions: Floats | None,
    threads: int,
    idle: Mask | None = None,
) -> FittingRows:
    """Return the rows that weights are fitted on, by fold, given the class of each.

    Rows with soft labels have proportions, [class, row]: they become several rows of the same fold. Idle rows are those
    by which columns were chosen: nothing is fitted on them.
    """
    frame, recipe, most = frame_of(rows.source), model.recipe, affordable_rows(model)
    places = sample_places(rows, most, counter.schema, threads)
    # Folds follow from the content of rows, whatever the order of the table.
    seen = frame if len(places) == frame.rows else frame.take(places)
    weights = np.ones(frame.rows) if rows.weights is None else rows.weights
    places = places[content_order(counter, seen, y[places], threads, weights[places])]
    weights = weights[places]
    if model.copies and weights.sum() <= most:  # a weight of 2 is two rows, which may lie in two folds
        places, weights = np.repeat(places, weights.astype(np.int64)), np.ones(int(weights.sum()))
    fold, labels, effective = deal_out(y[places], recipe.folds), y[places], effective_weights(weights, model.copies)
    if proportions is not None:
        which, labels = (part.astype(np.int32) for part in np.nonzero(proportions[:, places].T))
        shares = proportions[labels, places[which]]
        places, fold, weights, effective = (
            places[which],
            fold[which],
            weights[which] * shares,
            effective[which] * shares,
        )
    order, folds = fold_slices(fold)
    places, weights, effective = places[order], np.ascontiguousarray(weights[order]), effective[order]
    effective = effective if idle is None else np.where(idle[places], 0.0, effective)
    part = rows.take(places)
    columns = model.read(frame_of(part.source).on(model.schema), 0, len(places), threads)
    return model.fitting_rows(columns, labels[order], weights, effective, folds)


def affordable_rows(model: DefaultModel) -> int:
    """Return on how many rows weights can be fitted."""
    grid, recipe = model.counts.grid, model.recipe
    terms = (len(recipe.value_bins) + 1) * len(grid.numbers) + len(grid.labels) + 8
    most = min(MOST_CELLS // terms, MOST_PROBABILITIES) // len(model.classes)
    return int(np.clip(most, FEWEST_SAMPLED, recipe.sample_rows))


# -- fitting -----------------------------------------------------------------------------------------------------------


def fit_default(model: DefaultModel, rows: FittingRows) -> DefaultFit:
    """Return the weights of terms and the coefficients, from rows that were counted."""
    counts, recipe = model.counts, model.recipe
    settings = dict(chosen_pseudo_counts(model, CrossFit(counts, rows, {})))
    along = NormalRows(counts.features, rows)
    cells = counts.layout.cells_of(rows)
    if "normal" not in recipe.excluded:
        settings |= chosen_settings(CrossFit(counts, rows, settings), along)

    def candidates(cross: CrossFit) -> Candidates | None:
        return Candidates.of(cross, terms_of(model, cross, cells, along))

    whole = candidates(CrossFit(counts, rows, settings))
    if whole is None:
        scores = np.tile(counts.prior[:, None], len(rows))
        none = log_loss(scores, rows.y, rows.effective)
        return DefaultFit({}, {}, counts.prior, {"each column alone": none}, len(rows), model.joint, model.copies)
    tried = in_threads(candidates, CrossFit(counts, rows, settings).parts())
    parts = [part for part in tried if part is not None]
    ridge, near, losses = own_ridge(parts, recipe)
    best = whole.tied if ridge is None else whole.solve(whole.tied, ridge)
    measured = MeasuredScores(None, whole.problem.scores(best.both), whole.gains)
    measured_parts = [
        MeasuredScores(part.cross.test, part.problem.scores(fit.both), part.gains)
        for part, fit in zip(parts, near, strict=True)
    ]
    bias = best.both[whole.problem.size :]
    loss = {**whole.losses, **losses}
    fit = DefaultFit(whole.weights(best), settings, bias, loss, len(rows), model.joint, model.copies)
    if not fit.weights:
        return fit
    pairs = whole.pairs
    if (coefficients := fitted_coefficients(counts, rows, pairs, measured, measured_parts)) is not None:
        fit = replace(fit, coefficients=coefficients[0], loss={**fit.loss, **coefficients[1]})
    for name, associations in model.word_associations.items():
        result = fitted_words(associations, rows.columns[associations.matrix], rows, measured, measured_parts, recipe)
        if result is not None:
            made, with_words, (measured, *measured_parts) = result
            fit = replace(fit, words={**fit.words, name: made}, loss={**fit.loss, WITH_WORDS: with_words})
    return fit


def terms_of(model: DefaultModel, cross: CrossFit, cells: Codes, along: NormalRows) -> Terms:
    """Return all terms but those of pairs by the counts without each row's fold, given the cells of their values."""
    excluded, terms = model.recipe.excluded, Terms()
    if "values" not in excluded:
        terms |= cross_values(cross, cells)
    for name, associations in model.word_associations.items() if "words" not in excluded else ():
        words = associations.words_of(cross.rows.columns[associations.matrix])
        terms |= associations.cross(cross, words, model.pseudo_texts_of(name))
    for one in model.vector_terms:
        terms[one.term] = one.cross(cross)
    if model.others:
        terms[REST] = np.sum([one.cross(cross) for one in model.others.values()], axis=0)
    return terms | (cross_terms(cross, along) if "normal" not in excluded else {})


def chosen_pseudo_counts(model: DefaultModel, cross: CrossFit) -> dict[str, float]:
    """Return how many pseudo-texts hold every word of each column of texts, by the loss of held-out rows."""
    recipe, prior, out = model.recipe, model.counts.prior, dict[str, float]()
    end = cross.rows.folds[cross.measuring_folds() - 1].stop
    y, weights = cross.rows.y[:end], cross.rows.effective[:end]
    for name, associations in model.word_associations.items():
        words, losses = associations.words_of(cross.rows.columns[associations.matrix]), dict[float, float]()
        for pseudo in recipe.word_pseudo_counts:
            terms = associations.cross(cross, words, pseudo, cross.measuring_folds())
            seen = [
                np.asarray(values[:, :end] / np.float32(spread(t, values[:, :end])), np.float32)
                for t, values in terms.items()
            ]
            start = np.array([start_weight(term, terms) for term in terms])
            problem = WeightProblem(seen, y, weights, prior, recipe)
            fit = problem.solve(WeightFit(np.concatenate([start, prior])), 0 * start, recipe.block_ridge)
            losses[pseudo] = dot(weights, row_losses(problem.scores(fit.both), y))
        out[f"words of {name}"] = model.pseudo_texts[name] = min(losses, key=lambda pseudo: losses[pseudo])
    return out
