"""Weights of terms: logistic regression on held-out scores, with a ridge that is chosen on held-out rows.

Each row is scored by the counts without its fold. A weight for each kind of term comes first; then each column and pair
gets its own, as far from that of its kind as held-out rows want it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from ..._linear_algebra import cholesky, dot, product, solve, solve_by_root, squared
from ..._threads import in_threads
from ..._types import Floats, Singles
from ...families.family import padded
from ..recipe import Recipe
from .coefficients import is_clear
from .joint_fit import JointFit
from .left_out import precision_of, row_blocks
from .linear import linear_features
from .pairs import PAIR, PairScores, TermGains, column_pairs, pair_terms, partners
from .quadratic import ALPHA, RIDGE, Shrinkage, quadratic_is_affordable, quadratic_scores
from .sample import FittingRows, fold_groups
from .soft_rows import RowClasses
from .term_counts import TermCounts
from .term_kinds import kinds_of, term_kind
from .terms import HeldOut, Term, Terms, TermValues

# Multiplications from which on it pays to share them among threads.
SHARED_PRODUCTS = 1 << 20
# Newton's method: steps at most, steps on the same curvature, and the gain per row at which it ends; where a ridge is
# chosen by gains of more than a nat, the gain in nats. Numerical.
STEPS, SAME_CURVATURE, TOLERANCE, ENOUGH = 60, 8, 1e-9, 0.02
# Bytes of counts without each fold that are kept: of larger ones, they are made again for each use.
KEPT_BYTES = 1 << 26

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


# -- rows scored by the counts without their fold ----------------------------------------------------------------------


class CrossFit:
    """The terms of rows, each scored by the counts without its fold.

    A part of the rows may be taken out of all counts: what is fitted to the other rows can be measured on it.
    """

    def __init__(
        self, counts: TermCounts, rows: FittingRows, ridges: Mapping[str, float], test: slice | None = None
    ) -> None:
        self.counts, self.rows, self.ridges, self.test = counts, rows, dict(ridges), test
        self._base = counts if test is None else counts.without(rows.take(test))
        self._parts = [rows.take(fold) for fold in rows.folds]
        self._kept: list[TermCounts] | None = None
        if counts.joint.products.nbytes * len(rows.folds) <= KEPT_BYTES:
            self._kept = [self._without(at) for at in range(len(rows.folds))]

    @cached_property
    def weights(self) -> Floats:
        """What each row weighs while something is fitted: those that measure, nothing."""
        found = self.rows.effective.copy()
        if self.test is not None:
            found[self.test] = 0.0
        return found

    def _without(self, at: int) -> TermCounts:
        """Return the counts without a fold, and without the rows that measure."""
        fold, test = self.rows.folds[at], self.test
        return self._base if test is not None and fold_in(fold, test) else self._base.without(self._parts[at])

    def folds(self) -> Iterable[tuple[slice, HeldOut]]:
        """Give the rows of each fold with the counts of all others."""
        for at, (fold, part) in enumerate(zip(self.rows.folds, self._parts, strict=True)):
            counts = self._without(at) if self._kept is None else self._kept[at]
            yield fold, HeldOut(counts, part, self.ridges)

    def measured(self) -> list[HeldOut]:
        """Return the rows of some folds with the counts of all others: as many as measure a choice of settings."""
        found, seen = list[HeldOut](), 0.0
        for _, held in self.folds():
            if seen >= self.counts.recipe.measured_rows:
                break
            found.append(held)
            seen += float(held.rows.effective.sum())
        return found

    def choose_ridges(self) -> None:
        """Choose the ridges of linear terms, and the shrinkage of the quadratic one, on held-out rows."""
        recipe, kinds = self.counts.recipe, {kind.name for kind in kinds_of(self.counts.recipe)}
        wanted = linear_features(self.counts.grid) if "linear" in kinds else ()
        quadratic = "quadratic" in kinds and quadratic_is_affordable(self.counts)
        if not wanted and not quadratic:
            return
        folds = self.measured()
        seen = self.rows.take(slice(0, sum(len(held.rows) for held in folds)))  # the first folds, one after the other
        weights, prior = seen.effective, self.counts.prior[:, None]

        def losses(scored: Callable[[HeldOut], Floats]) -> Floats:
            """Return the loss of each row under the best of several weights of a term."""
            scores = np.hstack([scored(held) for held in folds])
            found = (row_losses(prior + by * scores, seen.truth) for by in recipe.term_weights)
            return min(found, key=lambda rows: dot(weights, rows))

        for which in wanted:

            def under(ridge: float, which: str = which) -> Floats:
                return losses(lambda held: held.counts.linear(which).scores(held.rows.cells, ridge))

            self.ridges[which] = first_clear(recipe.linear_ridges, under, weights)
        if quadratic:

            def shrunk(by: Shrinkage) -> Floats:
                return losses(lambda held: quadratic_scores(held, by))

            alpha = recipe.quadratic_alphas[0]
            ridge = first_clear(recipe.quadratic_ridges, lambda ridge: shrunk(Shrinkage(alpha, ridge)), weights)
            alpha = first_clear(recipe.quadratic_alphas, lambda alpha: shrunk(Shrinkage(alpha, ridge)), weights)
            self.ridges[ALPHA], self.ridges[RIDGE] = alpha, ridge

    def terms(self) -> tuple[dict[Term, TermValues], Terms]:
        """Return all terms but those of pairs, and the sums of those of pairs at each resolution, [class, row].

        Sums are divided by the number of others that a column is paired with.
        """
        out, sums = dict[Term, TermValues](), dict[Term, Singles]()
        shape, divisor = (len(self.counts.prior), len(self.rows)), np.float32(partners(self.counts))
        for fold, held in self.folds():
            for kind in kinds_of(self.counts.recipe):
                for term, values in kind.values(held):
                    if term not in out:
                        out[term] = np.zeros(shape, dtype=np.float32)
                    out[term][:, fold] = values
            for scores in self.pairs:
                total = sums.setdefault(scores.terms[0].block, np.zeros(shape, dtype=np.float32))
                total[:, fold] = scores.sums(held.counts, held.rows) / divisor
        return out | dict(self.rows.wide), sums

    @cached_property
    def pairs(self) -> list[PairScores]:
        """The terms of all pairs at each resolution."""
        if "pairs" in self.counts.recipe.left_out:
            return []
        found = (pair_terms(self.counts, level) for level in self.counts.recipe.pair_bins)
        return [PairScores(self.counts, terms) for terms in found if terms]

    def own_pairs(self, p: Floats) -> Terms:
        """Return the terms of pairs that clearly gain by a weight of their own, given probabilities [class, row]."""
        recipe, own = self.counts.recipe, list[Term]()
        if not self.pairs:
            return {}
        error = -p * self.weights
        self.rows.truth.add_to(error, self.weights)
        p, error = (padded(np.ascontiguousarray(part.T, dtype=np.float64)) for part in (p, error))
        along = [np.zeros((2, len(scores.terms))) for scores in self.pairs]  # the slope and the curvature
        for fold, held in self.folds():
            for scores, sums in zip(self.pairs, along, strict=True):
                sums += scores.gains(held.counts, held.rows, p[fold], error[fold], self.weights[fold])
        for scores, (slope, curve) in zip(self.pairs, along, strict=True):
            gain, least = slope * np.abs(slope) / (2 * (curve + 1)), max(recipe.least_gain, float(np.log(len(slope))))
            most = np.argsort(-gain, kind="stable")[: recipe.own_pairs]
            own += [scores.terms[int(at)] for at in most if gain[at] > least]
        if not own:
            return {}
        return self.pair_values(own)

    def pair_values(self, terms: Sequence[Term]) -> Terms:
        """Return some terms of pairs, [class, row]."""
        if not terms:
            return {}
        values = np.empty((len(terms), len(self.counts.prior), len(self.rows)), dtype=np.float32)
        scores = PairScores(self.counts, terms)
        for fold, held in self.folds():
            values[:, :, fold] = scores.values(held.counts, held.rows)
        return dict(zip(terms, values, strict=True))


def fold_in(fold: slice, test: slice) -> bool:
    """Tell whether a fold is part of some rows."""
    return bool(test.start <= fold.start and fold.stop <= test.stop)


def row_losses(scores: Floats, truth: RowClasses) -> Floats:
    """Return the log loss of each row, given scores [class, row]."""
    below = scores - scores.max(axis=0)
    return np.asarray(np.log(np.exp(below).sum(axis=0)) - truth.mean_of(below))


def log_loss(scores: Floats, truth: RowClasses, weights: Floats) -> float:
    """Return the mean log loss of scores [class, row]."""
    return dot(weights, row_losses(scores, truth)) / float(weights.sum())


def first_clear(choices: Sequence[float], losses: Callable[[float], Floats], weights: Floats) -> float:
    """Return the first of several choices, or a later one whose held-out loss is clearly less; none after a rise."""
    best, least = choices[0], losses(choices[0])
    for choice in choices[1:]:
        found = losses(choice)
        if is_clear(least - found, weights):
            best, least = choice, found
        elif dot(weights, found - least) > 0:
            break
    return best


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
        values, together = cross.terms()
        if not values and not together:
            return None
        alone = columns_alone(values, HeldOut(counts, rows, cross.ridges))
        losses = {"each column alone": log_loss(counts.prior[:, None] + alone, rows.truth, rows.effective)}
        scaled = {term: term_kind(term).scaled(term, found) for term, found in values.items()}
        singles: Terms = {term: found for term, (found, _) in scaled.items()}
        sizes = {term: size for term, (_, size) in scaled.items()}
        del values, scaled

        def problem_of(terms: Terms) -> WeightProblem:
            return WeightProblem(list(terms.values()), rows.truth, rows.effective, counts.prior, recipe)

        blocks = block_sums(singles)
        start, problem = start_weights(blocks), problem_of(blocks)
        first = problem.solve(start, start, recipe.block_ridge, without=test)
        own = cross.own_pairs(problem.probabilities(first.both)[0])
        blocks |= together
        start = start_weights(blocks)
        pulls = np.array([term_kind(block).pull(block, at) for block, at in zip(blocks, start.tolist(), strict=True)])
        problem = problem_of(blocks)
        tied = problem.solve(start, pulls, recipe.block_ridge, without=test)
        by_block = dict(zip(blocks, tied.weights.tolist(), strict=True))
        gains = TermGains(problem.probabilities(tied.both)[0].astype(np.float32), rows.truth, cross.weights)
        terms = {**most_gaining(singles, gains, recipe), **together, **own}
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
    cross.choose_ridges()
    found = Candidates.of(cross)
    if found is None:
        none = log_loss(np.tile(counts.prior[:, None], len(rows)), rows.truth, rows.effective)
        fit = JointFit({}, {}, counts.prior, {"each column alone": none}, len(rows), copies=rows.copies)
        return FittedWeights(fit, np.tile(counts.prior[:, None], len(rows)))
    parts = measured_parts(cross)
    ridge, near, losses = own_ridge(parts, counts.recipe)
    best = found.solve(found.tied(), counts.recipe.tied_ridge if ridge is None else ridge)
    weights = {term: float(by) / found.sizes.get(term, 1.0) for term, by in zip(found.terms, best.weights, strict=True)}
    out = weights_of_terms(counts, found.sizes, weights)
    own, loss = (() if ridge is None else tuple(found.own)), {**found.losses, **losses}
    fit = JointFit(out, cross.ridges, best.bias, loss, len(rows), own=own, copies=rows.copies)
    scores = ((part.cross.test, part.problem.scores(one.both)) for part, one in zip(parts, near, strict=True))
    known = tuple((test, part) for test, part in scores if test is not None)
    return FittedWeights(fit, found.problem.scores(best.both), known)


def measured_parts(cross: CrossFit) -> list[Candidates]:
    """Return all that is fitted without some of the rows, for as many of them as measure the choice of a ridge."""
    recipe, found, seen = cross.counts.recipe, list[Candidates](), 0.0
    for test in fold_groups(cross.rows, recipe.outer_folds)[: recipe.most_measured]:
        if seen < recipe.measured_rows and test.stop - test.start < len(cross.rows):
            part = Candidates.of(CrossFit(cross.counts, cross.rows, cross.ridges, test))
            found += [] if part is None else [part]
            seen += float(cross.rows.effective[test].sum())
    return found


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


def columns_alone(values: Mapping[Term, TermValues], held: HeldOut) -> Floats:
    """Return the sum of the terms in which each column counts by itself, [class, row]."""
    alone = [found for term, found in values.items() if term_kind(term).column_alone(term, held)]
    return np.asarray(np.sum(alone, axis=0, dtype=np.float64)) if alone else np.zeros((1, len(held.rows)))


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
