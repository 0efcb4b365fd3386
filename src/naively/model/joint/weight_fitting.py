"""Weights of terms by leave-one-out log loss: first one for each block, then for single terms where that gains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from ..._linear_algebra import dot
from ..._types import Floats, Singles
from ..recipe import Recipe
from .influence import WeightedValues, WeightInfluence
from .joint_fit import JointFit
from .linear import log_loss
from .loss_near import LossNear
from .newton import WeightFit, WeightProblem
from .soft_rows import RowClasses
from .term_counts import TermCounts
from .term_gains import TermGains
from .term_kinds import kinds_in_sums, kinds_of, term_kind
from .terms import JointSample, LeaveOneOut, Term, Terms, TermValues
from .word_offsets import plus_word_offsets


def fit_weights(counts: TermCounts, sample: JointSample) -> tuple[JointFit, Floats]:
    """Return the weights of least leave-one-out log loss on the rows of a sample, and their scores, [class, row].

    Scores are up to a number that all classes of a row share.
    """
    recipe, w = counts.recipe, effective_weights(sample.weights, sample.copies)
    y, soft, truth = sample.y, sample.soft, RowClasses(sample.y, sample.soft)
    held = LeaveOneOut(counts, sample, dict(sample.pseudo_texts))
    values = {term: found for kind in kinds_of(recipe) for term, found in kind.fit(held)}
    loss = {"each column alone": log_loss(counts.prior[:, None] + columns_alone(values, held), truth, w)}
    if not values:
        accuracy = dot(w, truth.agreement(np.full(len(y), counts.prior.argmax()))) / float(w.sum())
        fit = JointFit({}, {}, counts.prior, loss, len(y), accuracy, copies=sample.copies)
        return fit, np.tile(counts.prior[:, None], len(y))
    scaled = {term: term_kind(term).scaled(term, found) for term, found in values.items()}
    singles: Terms = {term: found for term, (found, _) in scaled.items()}
    sizes = {term: size for term, (_, size) in scaled.items()}
    del values, scaled
    blocks = block_sums(singles)
    problem = WeightProblem(list(blocks.values()), y, w, counts.prior, recipe, soft)
    gains = gains_beside(problem, start_weights(blocks))
    own, together = selected_terms(held, gains)
    blocks |= together
    start = start_weights(blocks)
    pulls = np.array([term_kind(block).pull(block, at) for block, at in zip(blocks, start.tolist(), strict=True)])
    problem = WeightProblem(list(blocks.values()), y, w, counts.prior, recipe, soft)
    tied = problem.solve(start, pulls, recipe.block_ridge, recipe.caution)
    loss["a weight for each kind of term"] = tied.corrected
    by_block = dict(zip(blocks, tied.weights, strict=True))
    terms = {**most_gaining(singles, gains, recipe), **together, **own}
    towards = np.array([0.0 if term in own else by_block[term.block] for term in terms])
    problem = WeightProblem(list(terms.values()), y, w, counts.prior, recipe, soft)
    best, nearest = own_weights(problem, tied._replace(weights=towards))
    loss["weights of their own"] = best.corrected
    fitted, free = (blocks, tied.weights > 0) if best.weights is towards else (terms, best.weights > 0)
    share = float(w.sum() / counts.joint.products[:, 0, 0].sum())  # of a sample, what a row weighs on average
    assert best.curve is not None  # every fit with caution has one
    influence = WeightInfluence.of(list(fitted), sizes, free, best.curve, share)
    weights = {term: float(by) / sizes.get(term, 1.0) for term, by in zip(terms, best.weights, strict=True)}
    out, accuracy = weights_of_terms(counts, singles, weights), problem.accuracy(best)
    near = None if nearest is None else loss_near(problem, nearest, list(terms), sizes, min(share, 1.0))
    fit = JointFit(out, held.ridges, best.bias, loss, len(y), accuracy, influence, sample.copies, near)
    return fit, problem.scores(np.concatenate([best.weights, best.bias]))


def loss_near(
    problem: WeightProblem, fit: WeightFit, terms: list[Term], sizes: Mapping[Term, float], share: float
) -> LossNear:
    """Return the loss of all rows near the weights of single terms, given the share of them that was looked at."""
    assert fit.whole_curve is not None  # every fit with caution has one
    at = np.concatenate([fit.weights, fit.bias - problem.prior])
    return LossNear.of(terms, sizes, at, problem.slope_at(fit) / share, fit.whole_curve / share)


def effective_weights(weights: Floats, copies: bool = True) -> Floats:
    """Return the weights of rows while weights of terms are fitted: copies of a row count no less than the rows.

    The ridges are measured in rows. Rows whose weights sum to 1 would leave the weights of terms where they started;
    rows whose weights differ are worth as many as their effective number, (Σw)² / Σw².
    """
    by = max(1.0, len(weights) / weights.sum()) if copies else weights.sum() / dot(weights, weights)
    return np.asarray(weights * by)


def columns_alone(values: Mapping[Term, TermValues], held: LeaveOneOut) -> Floats:
    """Return the sum of the terms in which each column counts by itself, [class, row]."""
    alone = [found for term, found in values.items() if term_kind(term).column_alone(term, held)]
    return np.asarray(np.sum(alone, axis=0, dtype=np.float64)) if alone else np.zeros((1, len(held.sample.y)))


def block_sums(terms: Terms) -> Terms:
    """Return the sum of the terms of each block."""
    out: Terms = {}
    for term, values in terms.items():
        add_to_block(out, term.block, values)
    return out


def add_to_block(sums: Terms, block: Term, values: Singles) -> None:
    """Add a term to the sum of its block."""
    if block in sums:
        sums[block] += values
    else:
        sums[block] = values.copy()


def start_weights(blocks: Iterable[Term]) -> Floats:
    """Return the weights of blocks before any row is seen: columns count once, what goes beyond them not at all.

    A rare class counts as in textbook naive Bayes until its rows show otherwise.
    """
    groups = {block: term_kind(block).start_group(block) for block in blocks}
    sizes = {group: sum(other == group for other in groups.values()) for group in groups.values()}
    return np.array(
        [term_kind(block).start(block) if group is None else 1 / sizes[group] for block, group in groups.items()]
    )


def most_gaining(singles: Terms, gains: TermGains, recipe: Recipe) -> Terms:
    """Return the terms that may have a weight of their own; of too many columns, those of least gain are summed."""
    single = [term for term in singles if term_kind(term).single]
    if len(single) <= recipe.own_values:
        return singles
    gain = {term: abs(gains.of(singles[term])) for term in single}
    least = set(sorted(single, key=lambda term: (-gain[term], str(term)))[recipe.own_values :])
    kept = {term: values for term, values in singles.items() if term not in least}
    return kept | block_sums({term: singles[term] for term in single if term in least})


def selected_terms(held: LeaveOneOut, gains: TermGains) -> tuple[Terms, Terms]:
    """Return the terms of selected kinds that clearly gain by a weight of their own, and the sums of all of them."""
    own: Terms = {}
    together: Terms = {}
    counts, recipe = held.counts, held.counts.recipe
    for kind in kinds_of(recipe):
        levels = kind.levels(counts)
        divisor = np.float32(kind.divisor(counts) if levels else 1)
        for level in levels:
            terms = kind.all_at_level(counts, level)
            if not terms:
                continue
            total, found = kind.gaining(held, level, gains, max(recipe.least_gain, float(np.log(len(terms)))))
            together[terms[0].block] = total / divisor
            found.sort(key=lambda one: (-one[0], one[1].columns))
            own |= {term: values for _, term, values in found[: recipe.own_pairs]}
    return own, together


def gains_beside(problem: WeightProblem, start: Floats) -> TermGains:
    """Return the gains beside terms that have a weight for each block."""
    fit = problem.solve(start, start, problem.recipe.block_ridge)
    p, _ = problem.probabilities(np.concatenate([fit.weights, fit.bias]))
    return TermGains(p.astype(np.float32), problem.truth, problem.rows)


def own_weights(problem: WeightProblem, tied: WeightFit) -> tuple[WeightFit, WeightFit | None]:
    """Return weights of single terms, as far from those of their blocks as they are expected to gain.

    Where no single term gains by a weight of its own, those of the blocks stay; the second fit is the nearest that had
    weights of single terms, None if the recipe has no ridge for them. Where weights near those of the blocks do not
    gain, those far from them may: so the weakest ridge is tried in any case.
    """
    best, towards, recipe, nearest, ridges = tied, tied.weights, problem.recipe, None, list(problem.recipe.own_ridges)
    while ridges:
        found = problem.solve(best.weights, towards, ridges.pop(0), recipe.caution)
        nearest = found if nearest is None or found.expected < best.expected else nearest
        if found.expected < best.expected:
            best = found
        else:
            ridges = ridges[-1:] if best is tied else []
    return best, nearest


def weights_of_terms(counts: TermCounts, singles: Iterable[Term], weights: Mapping[Term, float]) -> dict[Term, float]:
    """Return the weights that are not 0, those of whole blocks given to each of their terms."""
    out = {term: weights.get(term, weights.get(term.block, 0.0)) for term in singles}
    out |= {term: weight for term, weight in weights.items() if term_kind(term).selected and term.columns}
    for kind in kinds_of(counts.recipe):
        levels = kind.levels(counts)
        divisor = kind.divisor(counts) if levels else 1
        for term in (term for level in levels for term in kind.all_at_level(counts, level)):
            out[term] = out.get(term, 0.0) + weights.get(term.block, 0.0) / divisor
    return {term: weight for term, weight in out.items() if weight > 0}


# -- rows that were counted, scored without themselves ----------------------------------------------------------------


def joint_scores_left_out(counts: TermCounts, fit: JointFit, sample: JointSample) -> Floats:
    """Return the scores of rows, each left out of the counts and, to first order, of the weights, [class, row].

    Offsets are those that were fitted without the rows of its fold.
    """
    held = LeaveOneOut(counts, sample, dict(fit.ridges))
    total, influence = np.tile(fit.bias[:, None], len(sample.y)), fit.influence
    gathered = None if influence is None else WeightedValues(influence, len(total), len(sample.y))
    for kind in kinds_in_sums(counts.recipe):
        kind.add_left_out(held, fit.weights, total, gathered)
    if fit.offsets is not None:
        total += fit.offsets.without_fold(counts.grid, sample.cells)
    if influence is not None and gathered is not None:
        total = influence.without_own(total, gathered.x, held.rows, counts.recipe.influence_classes)
    return plus_word_offsets(sample.word_offsets, total, RowClasses(sample.y, sample.soft), sample.out)
