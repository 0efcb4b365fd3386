"""Weights of terms: logistic regression on held-out scores, with a ridge that is chosen on held-out rows.

Each row is scored by the counts without its fold. A weight for each kind of term comes first; then each column and pair
gets its own, as far from that of its kind as held-out rows want it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ... import _kernels
from ..._linear_algebra import dot
from ..._threads import threads_here
from ..._types import Floats, Singles
from ..recipe import Recipe
from .coefficients import is_clear
from .cross_fit import CrossFit, chosen_ridges, log_loss, measured_parts, row_losses
from .joint_fit import JointFit
from .pairs import PAIR, PairScores, TermGains, column_pairs, pair_terms, partners
from .sample import FittingRows, RowClasses
from .tables import TermCounts
from .term_kinds import term_kind
from .terms import Term, Terms, TermValues

# A gain, in nats, that ends a fit where a ridge is chosen by gains of more than a nat. Numerical.
ENOUGH = 0.02


class WeightFit(NamedTuple):
    """Weights of terms, then biases of classes; and the curvature of the loss near them, if it is known."""

    both: Floats
    curve: Floats | None = None


class WeightProblem:
    """Minimize the log loss of rows over weights (not negative) and biases, near given values.

    Each term is [class, row]; rows have a class, or a soft label, and a weight.
    """

    def __init__(
        self, terms: Sequence[Singles | Floats], truth: RowClasses, rows: Floats, prior: Floats, recipe: Recipe
    ) -> None:
        self.truth, self.weights, self.prior, self.recipe = truth, rows, prior, recipe
        self.size, self.classes = len(terms), len(prior)
        # Only differences to the first class matter. Biases are as if there were a flag for each class, too.
        self._x = np.empty((self.classes - 1, self.size, len(rows)), dtype=np.float32)
        for at, term in enumerate(terms):
            np.subtract(term[1:], term[0], out=self._x[:, at])
        self._truth = np.zeros((self.classes, len(rows)))
        truth.add_to(self._truth, np.ones(len(rows)))

    def scores(self, v: Floats) -> Floats:
        """Return the score of each class and row, less that of the highest."""
        out = np.empty_like(self._truth)
        _kernels.term_scores(self._x, self._truth, self.weights, v, out, threads_here())
        return out

    def probabilities(self, v: Floats) -> Floats:
        """Return the probability of each class and row."""
        p = np.exp(self.scores(v))
        return np.asarray(p / p.sum(axis=0))

    def losses(self, fit: WeightFit) -> Floats:
        """Return the log loss of each row."""
        return row_losses(self.scores(fit.both), self.truth)

    def solve(
        self, start: WeightFit, towards: Floats, ridge: float, without: slice | None = None, enough: float = 0.0
    ) -> WeightFit:
        """Return the best weights and biases; the ridge pulls each weight towards a value.

        Rows may be left out. The curvature of a fit nearby saves computing it again, and a fall of the loss that is
        enough ends the steps.
        """
        rows, known = self.weights, start.curve is not None
        if without is not None:
            rows = rows.copy()
            rows[without] = 0.0
        pulls = np.concatenate([np.full(self.size, ridge), np.full(self.classes, self.recipe.bias_ridge)])
        v, curve = start.both.copy(), np.empty((len(pulls),) * 2) if start.curve is None else start.curve.copy()
        near = np.concatenate([towards, self.prior])
        about = (self._x, self._truth, rows, pulls, near, enough, known, curve, v)
        _kernels.fit_term_weights(*about, threads_here())
        return WeightFit(v, curve)


# -- all weights -------------------------------------------------------------------------------------------------------


class Candidates(NamedTuple):
    """The terms of rows that may have weights of their own, and the weights of their kinds."""

    cross: CrossFit
    problem: WeightProblem
    terms: tuple[Term, ...]
    own: Collection[Term]  # pairs that clearly gain by a weight of their own
    sizes: Mapping[Term, float]  # what the values of terms were divided by
    towards: Floats  # the weight of each term's kind
    bias: Floats
    losses: Mapping[str, float]

    @classmethod
    def of(cls, cross: CrossFit) -> Candidates | None:
        """Return the terms of rows by counts without their folds; None if there are none."""
        counts, rows, test, recipe = cross.counts, cross.rows, cross.test, cross.counts.recipe
        values = cross.terms()
        pairs = [] if "pairs" in recipe.left_out else [
            term for level in recipe.pair_bins for term in pair_terms(counts, level)
        ]  # fmt: skip
        if not values and not pairs:
            return None
        alone = columns_alone(values, recipe, len(rows))
        losses = {"each column alone": log_loss(counts.prior[:, None] + alone, rows.truth, rows.effective)}
        scaled = {term: term_kind(term).scaled(term, found) for term, found in values.items()}
        singles: Terms = {term: found for term, (found, _) in scaled.items()}
        sizes = {term: size for term, (_, size) in scaled.items()}
        del values, scaled

        def problem_of(terms: Terms) -> WeightProblem:
            return WeightProblem(list(terms.values()), rows.truth, rows.effective, counts.prior, recipe)

        blocks = block_sums(singles)
        start, problem = start_weights(blocks), problem_of(blocks)
        first = WeightFit(np.concatenate([start, counts.prior]))
        tied = problem.solve(first, start, recipe.block_ridge, test)
        together, own = Terms(), Terms()
        if pairs:
            scores, divisor = PairScores(cross, pairs), np.float32(partners(counts))
            together, gains = scores.sums_and_gains(problem.probabilities(tied.both))
            together = {block: total / divisor for block, total in together.items()}
            own = PairScores(cross, most_gaining_pairs(pairs, gains, recipe)).values()
            blocks |= together
            start, problem = start_weights(blocks), problem_of(blocks)
            pulls = [term_kind(block).pull(block, at) for block, at in zip(blocks, start.tolist(), strict=True)]
            first = WeightFit(np.concatenate([start, counts.prior]))
            tied = problem.solve(first, np.array(pulls), recipe.block_ridge, test)
        by_block = dict(zip(blocks, tied.both.tolist(), strict=False))
        gain_of = TermGains(problem.probabilities(tied.both).astype(np.float32), rows.truth, cross.weights)
        terms = {**most_gaining(singles, gain_of, recipe), **together, **own}
        towards = np.array([0.0 if term in own else by_block[term.block] for term in terms])
        bias = tied.both[len(blocks) :]
        return cls(cross, problem_of(terms), tuple(terms), own.keys(), sizes, towards, bias, losses)

    def tied(self) -> WeightFit:
        """Return the weights of the kinds."""
        return WeightFit(np.concatenate([self.towards, self.bias]))

    def solve(self, near: WeightFit, ridge: float, enough: float = 0.0) -> WeightFit:
        """Return weights as far from those of their kinds as a ridge lets them, of the rows that do not measure."""
        return self.problem.solve(near, self.towards, ridge, self.cross.test, enough)

    def measured(self, fit: WeightFit) -> Floats:
        """Return the log loss of each row that measures."""
        assert self.cross.test is not None
        return self.problem.losses(fit)[self.cross.test]


class FittedWeights(NamedTuple):
    """Weights of terms, and the scores of rows under them, [class, row], up to a number that all classes share."""

    fit: JointFit
    scores: Floats
    parts: tuple[tuple[slice, Floats], ...] = ()  # rows that measure, and scores by what was fitted without these


def fit_weights(counts: TermCounts, rows: FittingRows, ridges: Mapping[str, float]) -> FittedWeights:
    """Return the weights of terms fitted on held-out scores of rows."""
    cross = CrossFit(counts, rows, ridges)
    cross.ridges |= chosen_ridges(cross)
    found = Candidates.of(cross)
    if found is None:
        none = log_loss(np.tile(counts.prior[:, None], len(rows)), rows.truth, rows.effective)
        fit = JointFit({}, {}, counts.prior, {"each column alone": none}, len(rows), copies=rows.copies)
        return FittedWeights(fit, np.tile(counts.prior[:, None], len(rows)))
    parts = [part for part in map(Candidates.of, measured_parts(cross)) if part is not None]
    ridge, near, losses = own_ridge(parts, counts.recipe)
    best = found.solve(found.tied(), counts.recipe.tied_ridge if ridge is None else ridge)
    weights = {term: float(by) / found.sizes.get(term, 1.0) for term, by in zip(found.terms, best.both, strict=False)}
    out = weights_of_terms(counts, found.sizes, weights)
    own, loss = (() if ridge is None else tuple(found.own)), {**found.losses, **losses}
    fit = JointFit(out, cross.ridges, best.both[len(found.terms) :], loss, len(rows), own=own, copies=rows.copies)
    scores = ((part.cross.test, part.problem.scores(one.both)) for part, one in zip(parts, near, strict=True))
    known = tuple((test, part) for test, part in scores if test is not None)
    return FittedWeights(fit, found.problem.scores(best.both), known)


def own_ridge(
    parts: Sequence[Candidates], recipe: Recipe
) -> tuple[float | None, Sequence[WeightFit], dict[str, float]]:
    """Return the ridge of weights of single terms that held-out rows want, the weights of each part, and the losses.

    A weaker ridge is chosen only for a clear gain; None where the weights of the kinds stay.
    """
    if not parts:
        return None, [], {}
    weights = np.concatenate([part.cross.rows.effective[part.cross.test] for part in parts])
    start = [part.tied() for part in parts]

    def losses_of(fits: Sequence[WeightFit]) -> Floats:
        return np.concatenate([part.measured(fit) for part, fit in zip(parts, fits, strict=True)])

    chosen, best, least = None, start, losses_of(start)
    told = {"a weight for each kind of term": dot(weights, least) / float(weights.sum())}
    fits, lowest = start, dot(weights, least)
    for ridge in recipe.own_ridges:
        fits = [part.solve(fit, ridge, ENOUGH) for part, fit in zip(parts, fits, strict=True)]
        here = losses_of(fits)
        if is_clear(least - here, weights):
            chosen, best, least = ridge, fits, here
        lowest = min(lowest, dot(weights, here))
        if dot(weights, here) > lowest * (1 + recipe.loss_rise):
            break
    return chosen, best, told | {"weights of their own": dot(weights, least) / float(weights.sum())}


def columns_alone(values: Mapping[Term, TermValues], recipe: Recipe, rows: int) -> Floats:
    """Return the sum of the terms in which each column counts by itself, [class, row]."""
    alone = [found for term, found in values.items() if term_kind(term).column_alone(term, recipe)]
    return np.asarray(np.sum(alone, axis=0, dtype=np.float64)) if alone else np.zeros((1, rows))


def block_sums(terms: Terms) -> Terms:
    """Return the sum of the terms of each block."""
    out: Terms = {}
    for term, values in terms.items():
        add_to(out, term.block, values)
    return out


def add_to(sums: Terms, name: Term, values: Singles) -> None:
    """Add a term to a sum of terms."""
    if name in sums:
        sums[name] += values
    else:
        sums[name] = values.copy()


def start_weights(blocks: Iterable[Term]) -> Floats:
    """Return the weights of blocks before any row is seen: columns count once, what goes beyond them not at all."""
    groups = {block: None if block.kind == PAIR else term_kind(block).start_group(block) for block in blocks}
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


def most_gaining_pairs(pairs: Sequence[Term], gains: Floats, recipe: Recipe) -> list[Term]:
    """Return the pairs at each resolution that clearly gain by a weight of their own."""
    out, levels = list[Term](), np.array([term.level for term in pairs])
    for level in dict.fromkeys(levels.tolist()):
        at = np.flatnonzero(levels == level)
        least = max(recipe.least_gain, float(np.log(len(at))))
        most = at[np.argsort(-gains[at], kind="stable")[: recipe.own_pairs]]
        out += [pairs[one] for one in most.tolist() if gains[one] > least]
    return out


def weights_of_terms(counts: TermCounts, singles: Iterable[Term], weights: Mapping[Term, float]) -> dict[Term, float]:
    """Return the weights that are not 0, those of whole blocks given to each of their terms."""
    out = {term: weights.get(term, weights.get(term.block, 0.0)) for term in singles}
    out |= {term: weight for term, weight in weights.items() if term.kind == PAIR and term.columns}
    divisor = partners(counts)
    for level in counts.recipe.pair_bins:
        shared = weights.get(Term(PAIR, level), 0.0) / divisor
        for pair in column_pairs(counts.grid, level, counts.recipe.pair_bins) if shared else ():
            term = Term(PAIR, level, pair)
            out[term] = out.get(term, 0.0) + shared
    return {term: weight for term, weight in out.items() if weight > 0}
