"""Weights of terms: logistic regression on held-out scores, with a ridge that is chosen on held-out rows.

Each row is scored by the counts without its fold. A weight for each kind of term comes first; then each column and pair
gets its own, as far from that of its kind as held-out rows want it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from ..._linear_algebra import cholesky, dot, product, solve, solve_by_root, squared
from ..._threads import in_threads
from ..._types import Floats, Singles
from ..recipe import Recipe
from .coefficients import is_clear
from .cross_fit import CrossFit, chosen_ridges, log_loss, measured_parts
from .joint_fit import JointFit
from .left_out import precision_of, row_blocks
from .pairs import PAIR, PairScores, TermGains, column_pairs, pair_terms, partners
from .sample import FittingRows
from .soft_rows import RowClasses
from .term_counts import TermCounts
from .term_kinds import term_kind
from .terms import Term, Terms, TermValues

# Multiplications from which on it pays to share them among threads.
SHARED_PRODUCTS = 1 << 20
# Newton's method: steps at most, steps on the same curvature, and the gain per row at which it ends; where a ridge is
# chosen by gains of more than a nat, the gain in nats. Numerical.
STEPS, SAME_CURVATURE, TOLERANCE, ENOUGH = 60, 8, 1e-9, 0.02

Found = TypeVar("Found")


class WeightFit(NamedTuple):
    """Weights of terms, biases of classes, and the curvature of the loss there."""

    weights: Floats
    bias: Floats
    curve: Floats

    @property
    def both(self) -> Floats:
        """Weights, then biases."""
        return np.concatenate([self.weights, self.bias])


class WeightProblem:
    """Minimize the log loss of rows over weights (not negative) and biases, near given values.

    Each term is [class, row]; rows have a class, or a soft label, and a weight.
    """

    def __init__(
        self, terms: Sequence[Singles | Floats], truth: RowClasses, rows: Floats, prior: Floats, recipe: Recipe
    ) -> None:
        self.truth, self.rows, self.prior = truth, rows, prior
        self.size, self.classes, self.count = len(terms), len(prior), len(rows)
        self.recipe, self.precision = recipe, precision_of(self.count * self.size * self.classes)
        # Only differences to the first class matter. Biases are as if there were a flag for each class, too.
        self._blocks = in_threads(
            lambda rows: TermBlock.of(terms, rows, self.classes, self.precision), row_blocks(self.count)
        )

    def scores(self, v: Floats) -> Floats:
        """Return the score of each class and row, less that of the highest."""
        weights, bias = v[: self.size].astype(self.precision), v[self.size :]
        z = np.zeros((self.classes, self.count))

        def fill(block: TermBlock) -> None:
            z[1:, block.rows] = product(weights, block.x)

        self._each(fill, 1)
        z += (bias - bias[0])[:, None]
        z -= z.max(axis=0)
        return z

    def probabilities(self, v: Floats) -> tuple[Floats, Floats]:
        """Return the probability of each class and row, and the logarithm of its own class's."""
        z = self.scores(v)
        own = self.truth.mean_of(z)
        p = np.exp(z, out=z)
        whole = p.sum(axis=0)
        p /= whole
        return p, own - np.log(whole)

    def losses(self, fit: WeightFit) -> Floats:
        """Return the log loss of each row."""
        return -self.probabilities(fit.both)[1]

    def loss(self, v: Floats, v0: Floats, ridge: Floats, rows: Floats) -> tuple[float, Floats]:
        """Return the loss with its ridge, and the probabilities."""
        p, own = self.probabilities(v)
        return 0.5 * dot(ridge * (v - v0), v - v0) - dot(rows, own), p

    def slope(self, p: Floats, rows: Floats) -> Floats:
        """Return the slope of the loss without its ridge."""
        error = p * rows
        self.truth.add_to(error, -rows)
        slopes = self._each(lambda block: block.along(error), 1)
        return np.concatenate([sum(slopes, np.zeros(self.size)), error.sum(axis=1)])

    def curve(self, p: Floats, rows: Floats) -> Floats:
        """Return the curvature of the loss without its ridge."""
        parts = self._each(lambda block: block.curve(p, rows), self.size)
        return sum(parts, np.zeros((self.size + self.classes,) * 2))

    def _each(self, work: Callable[[TermBlock], Found], size: int) -> list[Found]:
        """Return what a function returns for each block; by several threads if there is much to multiply."""
        if len(self._blocks) == 1:
            return [work(self._blocks[0])]
        products = self.count * self.size * self.classes * size
        return in_threads(work, self._blocks, None if products >= SHARED_PRODUCTS else 1)

    def solve(
        self,
        start: Floats,
        towards: Floats,
        ridge: float,
        near: WeightFit | None = None,
        without: slice | None = None,
        enough: float = 0.0,
    ) -> WeightFit:
        """Return the best weights and biases; the ridge pulls each weight towards a value.

        Rows may be left out. The curvature of a fit nearby saves computing it again, and a fall of the loss that is
        enough ends the steps.
        """
        recipe, rows = self.recipe, self.rows
        pull = np.concatenate([np.full(self.size, ridge), np.full(self.classes, recipe.bias_ridge)])
        v0 = np.concatenate([towards, self.prior])
        v = np.concatenate([start, self.prior if near is None else near.bias])
        curve, total = None if near is None else near.curve, float(rows.sum())
        if without is not None:
            rows = rows.copy()
            rows[without] = 0.0
        (loss, p), roots = self.loss(v, v0, pull, rows), dict[bytes, Floats | None]()
        for step in range(STEPS):
            if curve is None or step % SAME_CURVATURE == SAME_CURVATURE - 1:
                curve, roots = self.curve(p, rows), {}
            before = loss
            v, loss, p = self._step(v, v0, pull, curve, (loss, p), rows, roots)
            if before - loss <= max(enough, TOLERANCE * total):
                break
        assert curve is not None
        return WeightFit(v[: self.size], v[self.size :], curve)

    def _step(
        self,
        v: Floats,
        v0: Floats,
        pull: Floats,
        curve: Floats,
        here: tuple[float, Floats],
        rows: Floats,
        roots: dict[bytes, Floats | None],
    ) -> tuple[Floats, float, Floats]:
        """Go one step of Newton's method; weights that are 0 and would fall are held there."""
        loss, p = here
        slope = self.slope(p, rows) + pull * (v - v0)
        free = np.ones(len(v), dtype=bool)
        free[: self.size] = (v[: self.size] > 0) | (slope[: self.size] < 0)
        if (key := free.tobytes()) not in roots:
            roots[key] = cholesky((curve + np.diag(pull))[np.ix_(free, free)])
        root, move = roots[key], np.zeros(len(v))
        if root is None:
            move[free] = -solve((curve + np.diag(pull))[np.ix_(free, free)], slope[free])
        else:
            move[free] = -solve_by_root(root, slope[free][:, None])[:, 0]
        length = 1.0
        while length > 1e-4:
            tried = v + length * move
            tried[: self.size] = np.maximum(tried[: self.size], 0.0)
            found, probabilities = self.loss(tried, v0, pull, rows)
            if found <= loss + 1e-4 * dot(slope, tried - v):
                return tried, found, probabilities
            length /= 2
        return v, loss, p


class TermBlock(NamedTuple):
    """The terms of some rows, less those of the first class: [class, term, row].

    What is computed of a block is added up in the order of the blocks, so that it does not depend on the threads.
    """

    rows: slice
    x: Singles | Floats

    @classmethod
    def of(cls, terms: Sequence[Singles | Floats], rows: slice, classes: int, precision: npt.DTypeLike) -> TermBlock:
        """Return the block of terms [class, row] in some rows."""
        x = np.empty((classes - 1, len(terms), rows.stop - rows.start), dtype=precision)
        for at, term in enumerate(terms):
            np.subtract(term[1:, rows], term[0, rows], out=x[:, at])
        return cls(rows, x)

    def along(self, error: Floats) -> Floats:
        """Return the sum over rows and classes of each term times an error, [class, row]."""
        own = error[1:, self.rows].astype(self.x.dtype)
        return sum((product(*of) for of in zip(self.x, own, strict=True)), np.zeros(self.x.shape[1]))

    def curve(self, p: Floats, weights: Floats) -> Floats:
        """Return the curvature of the loss of these rows, by terms and biases."""
        kind, size = self.x.dtype, self.x.shape[1]
        p, weights = p[:, self.rows], weights[self.rows]
        heavy, classes = p * weights, len(p)
        out, mean = np.empty((size + classes,) * 2), np.zeros(self.x.shape[1:], dtype=kind)
        terms, beside = np.zeros((size, size)), np.zeros((size, classes))
        for k, part in enumerate(self.x, 1):
            own = heavy[k] * (1 - p[k]) if classes == 2 else heavy[k]
            terms += squared(part * np.sqrt(own).astype(kind))
            mean += part * p[k].astype(kind)
            beside[:, k] = product(part, heavy[k].astype(kind))
        if classes > 2:
            terms -= squared(mean * np.sqrt(weights).astype(kind))
        out[:size, :size], out[:size, size:] = terms, beside - product(mean, heavy.T.astype(kind))
        out[size:, :size] = out[:size, size:].T
        out[size:, size:] = np.diag(heavy.sum(axis=1)) - squared(p * np.sqrt(weights))
        return out


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
        tied = problem.solve(start, start, recipe.block_ridge, without=test)
        together, own = Terms(), Terms()
        if pairs:
            scores, divisor = PairScores(cross, pairs), np.float32(partners(counts))
            together, gains = scores.sums_and_gains(problem.probabilities(tied.both)[0])
            together = {block: total / divisor for block, total in together.items()}
            own = PairScores(cross, most_gaining_pairs(pairs, gains, recipe)).values()
            blocks |= together
            start, problem = start_weights(blocks), problem_of(blocks)
            pulls = [term_kind(block).pull(block, at) for block, at in zip(blocks, start.tolist(), strict=True)]
            tied = problem.solve(start, np.array(pulls), recipe.block_ridge, without=test)
        by_block = dict(zip(blocks, tied.weights.tolist(), strict=True))
        gain_of = TermGains(problem.probabilities(tied.both)[0].astype(np.float32), rows.truth, cross.weights)
        terms = {**most_gaining(singles, gain_of, recipe), **together, **own}
        towards = np.array([0.0 if term in own else by_block[term.block] for term in terms])
        return cls(cross, problem_of(terms), tuple(terms), own.keys(), sizes, towards, tied.bias, losses)

    def tied(self) -> WeightFit:
        """Return the weights of the kinds."""
        p, _ = self.problem.probabilities(np.concatenate([self.towards, self.bias]))
        return WeightFit(self.towards, self.bias, self.problem.curve(p, self.cross.weights))

    def solve(self, near: WeightFit, ridge: float, enough: float = 0.0) -> WeightFit:
        """Return weights as far from those of their kinds as a ridge lets them, of the rows that do not measure."""
        return self.problem.solve(near.weights, self.towards, ridge, near, self.cross.test, enough)

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
    weights = {term: float(by) / found.sizes.get(term, 1.0) for term, by in zip(found.terms, best.weights, strict=True)}
    out = weights_of_terms(counts, found.sizes, weights)
    own, loss = (() if ridge is None else tuple(found.own)), {**found.losses, **losses}
    fit = JointFit(out, cross.ridges, best.bias, loss, len(rows), own=own, copies=rows.copies)
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
        near = [fit._replace(curve=one.curve) for fit, one in zip(fits, start, strict=True)]
        fits = [part.solve(fit, ridge, ENOUGH) for part, fit in zip(parts, near, strict=True)]
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
