"""Weights of terms: logistic regression on held-out scores, with a ridge that is chosen on held-out rows.

Each row is scored by the counts without its fold. A weight for each kind of term comes first; then each column gets its
own, as far from that of its kind as held-out rows want it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ... import _kernels
from ..._linear_algebra import dot
from ..._threads import threads_here
from ..._types import Codes, Floats, Singles
from ..recipe import Recipe
from . import pairs, values, words
from .pairs import PAIRS, PairColumns
from .rows import CrossFit, Term, Terms, TermValues, is_clear, log_loss, mean_loss, row_losses

# A gain, in nats, that ends a fit where a ridge is chosen by gains of more than a nat. Numerical.
ENOUGH = 0.02


class WeightFit(NamedTuple):
    """Weights of terms, then biases of classes; and the curvature of the loss near them, if it is known."""

    both: Floats
    curve: Floats | None = None


class WeightProblem:
    """Minimize the log loss of rows over weights (not negative) and biases, near given values."""

    def __init__(self, terms: Sequence[TermValues], y: Codes, rows: Floats, prior: Floats, recipe: Recipe) -> None:
        self.y, self.weights, self.prior, self.recipe = y, rows, prior, recipe
        self.size, self.classes = len(terms), len(prior)
        # Only differences to the first class matter. Biases are as if there were an indicator of each class, too.
        self._x = np.empty((self.classes - 1, self.size, len(rows)), dtype=np.float32)
        for place, term in enumerate(terms):
            np.subtract(term[1:], term[0], out=self._x[:, place])
        self._truth = np.zeros((self.classes, len(rows)))
        self._truth[y, np.arange(len(rows))] = 1.0

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
        return row_losses(self.scores(fit.both), self.y)

    def solve(self, start: WeightFit, towards: Floats, ridge: float, enough: float = 0.0) -> WeightFit:
        """Return the best weights and biases; the ridge pulls each weight towards a value.

        The curvature of a fit nearby saves computing it again, and a fall of the loss that is enough ends the steps.
        """
        pulls = np.concatenate([np.full(self.size, ridge), np.full(self.classes, self.recipe.bias_ridge)])
        v, known = start.both.copy(), start.curve is not None
        curve = np.empty((len(pulls),) * 2) if start.curve is None else start.curve.copy()
        near = np.concatenate([towards, self.prior])
        about = (self._x, self._truth, self.weights, pulls, near, enough, known, curve, v)
        _kernels.fit_term_weights(*about, threads_here())
        return WeightFit(v, curve)


# -- kinds -------------------------------------------------------------------------------------------------------------


def start_weight(block: Term, blocks: Iterable[Term]) -> float:
    """Return the weight of a kind before any row is seen: each column counts once, what goes beyond not at all."""
    if block.kind == values.VALUES:
        widths = sum(isinstance(other.level, int) and other.kind == values.VALUES for other in blocks)
        return 1 / widths if isinstance(block.level, int) else float(block.level == values.EACH)
    return words.start_weight(block)


def column_alone(term: Term, recipe: Recipe) -> bool:
    """Tell whether a term stands for its column where each column counts by itself."""
    return term.level in (recipe.value_bins[0], values.EACH) or words.column_alone(term)


class Candidates(NamedTuple):
    """The terms of rows that may have weights of their own, and the weights of their kinds."""

    cross: CrossFit
    problem: WeightProblem
    terms: tuple[Term, ...]
    sizes: Mapping[Term, float]  # what the values of terms were divided by
    tied: WeightFit  # the weights of the kinds
    losses: Mapping[str, float]
    pairs: PairColumns
    gains: Floats  # of each pair

    @classmethod
    def of(cls, cross: CrossFit, terms: Terms) -> Candidates | None:
        """Return the candidates, given all terms but pairs by counts without folds; None if there are none."""
        counts, rows, recipe = cross.counts, cross.rows, cross.counts.recipe
        columns = PairColumns.of(counts)
        paired = len(columns) > 0 and "pairs" not in recipe.excluded
        if not terms and not paired:
            return None
        none = np.zeros((len(counts.prior), len(rows)))
        alone = sum((term for name, term in terms.items() if column_alone(name, recipe)), none)
        losses = {"each column alone": log_loss(counts.prior[:, None] + alone, rows.y, rows.effective)}
        sizes = {name: words.spread(name, term) for name, term in terms.items()}
        terms = {name: np.asarray(term / np.float32(sizes[name]), np.float32) for name, term in terms.items()}

        def problem_of(terms: Terms) -> WeightProblem:
            return WeightProblem(list(terms.values()), rows.y, cross.weights, counts.prior, recipe)

        def tied(blocks: Terms) -> tuple[WeightProblem, WeightFit]:
            start = np.array([start_weight(block, blocks) for block in blocks])
            pulls = np.array(
                [0.0 if words.is_word_term(block) else at for block, at in zip(blocks, start, strict=True)]
            )
            problem = problem_of(blocks)
            return problem, problem.solve(WeightFit(np.concatenate([start, counts.prior])), pulls, recipe.block_ridge)

        blocks, gains = block_sums(terms), np.zeros(0)
        problem, fit = tied(blocks)
        if paired:
            total, gains = pairs.cross_pairs(cross, columns, problem.probabilities(fit.both))
            terms[PAIRS] = total
            problem, fit = tied(blocks | {PAIRS: total})
        by_block = dict(zip([*blocks, PAIRS], fit.both.tolist(), strict=False))
        terms = strongest(terms, problem.probabilities(fit.both), cross, recipe)
        towards = np.array([by_block[term.block] for term in terms])
        kinds = WeightFit(np.concatenate([towards, fit.both[problem.size :]]))
        return cls(cross, problem_of(terms), tuple(terms), sizes, kinds, losses, columns, gains)

    def solve(self, near: WeightFit, ridge: float, enough: float = 0.0) -> WeightFit:
        """Return weights as far from those of their kinds as a ridge lets them."""
        return self.problem.solve(near, self.tied.both[: self.problem.size], ridge, enough)

    def measured(self, fit: WeightFit) -> Floats:
        """Return the log loss of each row that measures."""
        assert self.cross.test is not None
        return self.problem.losses(fit)[self.cross.test]

    def weights(self, fit: WeightFit) -> dict[Term, float]:
        """Return the weight of each term that has one above 0, those of whole kinds given to each of their terms."""
        known = {term: float(by) / self.sizes.get(term, 1.0) for term, by in zip(self.terms, fit.both, strict=False)}
        out = {term: known.get(term, known.get(term.block, 0.0)) for term in (*self.sizes, PAIRS)}
        return {term: weight for term, weight in out.items() if weight > 0}


def block_sums(terms: Terms) -> Terms:
    """Return the sum of the terms of each kind."""
    out: Terms = {}
    for term, scores in terms.items():
        if term.block in out:
            out[term.block] += scores
        else:
            out[term.block] = scores.copy()
    return out


def strongest(terms: Terms, p: Floats, cross: CrossFit, recipe: Recipe) -> Terms:
    """Return the terms that may have a weight of their own; of too many columns, those of least gain are summed."""
    single = [term for term in terms if term.columns]
    if len(single) <= recipe.own_weights:
        return terms
    weights = cross.weights.astype(np.float32)
    p32 = p.astype(np.float32)
    error = -p32 * weights
    error[cross.rows.y, np.arange(len(weights))] += weights

    def gain(scores: Singles) -> float:
        """Return by how much the log loss would fall if the term had a weight, to the second order."""
        weighted = p32 * scores
        mean = weighted.sum(axis=0)
        curve = dot(weights, (weighted * scores).sum(axis=0) - mean * mean) + 1.0
        slope = dot(error.ravel(), np.ascontiguousarray(scores).ravel())
        return slope * slope / (2 * curve)

    gains = {term: gain(np.asarray(terms[term], np.float32)) for term in single}
    least = set(sorted(single, key=lambda term: (-gains[term], str(term)))[recipe.own_weights :])
    return {t: s for t, s in terms.items() if t not in least} | block_sums({t: terms[t] for t in single if t in least})


# -- own weights -------------------------------------------------------------------------------------------------------


def own_ridge(
    parts: Sequence[Candidates], recipe: Recipe
) -> tuple[float | None, Sequence[WeightFit], dict[str, float]]:
    """Return the ridge of weights of single columns that held-out rows want, the weights of each part, and losses.

    A weaker ridge is chosen only for a clear gain; None where the weights of the kinds stay.
    """
    if not parts:
        return None, [], {}
    weights = np.concatenate([part.cross.rows.effective[part.cross.test] for part in parts])

    def losses_of(fits: Sequence[WeightFit]) -> Floats:
        return np.concatenate([part.measured(fit) for part, fit in zip(parts, fits, strict=True)])

    chosen, best = None, [part.tied for part in parts]
    least = losses_of(best)
    losses = {"a weight for each kind of term": mean_loss(least, weights)}
    fits, lowest = best, dot(weights, least)
    for ridge in recipe.own_ridges if "own weights" not in recipe.excluded else ():
        fits = [part.solve(fit, ridge, ENOUGH) for part, fit in zip(parts, fits, strict=True)]
        here = losses_of(fits)
        if is_clear(least - here, weights):
            chosen, best, least = ridge, fits, here
        lowest = min(lowest, dot(weights, here))
        if dot(weights, here) > lowest * (1 + recipe.loss_rise):
            break
    return chosen, best, losses | {"weights of their own": mean_loss(least, weights)}
