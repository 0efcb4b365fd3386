"""Fitting offsets of words: a ridge chosen on held-out rows, and a fit to all rows if it pays there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ... import _kernels
from ..._types import Codes, Floats, Mask, Matrices, Matrix, Singles
from ...counting.weights import left_out_weights
from ..recipe import Recipe
from .cross_fit import log_loss
from .joint_fit import WITH_WORD_OFFSETS, JointFit
from .model import JointModel
from .sample import FittingRows, RowClasses, effective_weights
from .word_offsets import WordOffsets, WordOffsetScores, WordsOfRows, padded_singles, word_scales
from .word_terms import WordAssociations

WORD_OFFSETS = "offsets of words"  # for `Recipe.left_out`
# Visits of each row at most, the mean change of a row's residual at which they end, and the size below which an offset
# is 0. Numerical.
PASSES, TOLERANCE, LEAST_OFFSET = 12, 2e-3, 1e-3
# The share of its variance by which a row moves its own score, at most: more would be a sign of few held-out rows.
MOST_OWN_SHARE = 2.0
# Words times classes of the rows on which the ridge is chosen; but some rows in any case. Limits of time.
MOST_WORK, FEWEST_ROWS = 1 << 25, 500
# Offsets of words at most: of more words, the more frequent ones have some. A limit of memory.
MOST_OFFSETS = 1 << 24


@dataclass(frozen=True)
class WordOffsetProblem:
    """Minimize the log loss of rows whose scores are known but for the offsets of their words, plus a ridge."""

    words: WordsOfRows
    scores: Singles  # without offsets, [row, class]
    targets: Singles  # the proportions of the classes, [row, class]
    weights: Singles
    recipe: Recipe
    threads: int

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return int(self.scores.shape[1])

    def take(self, rows: Codes) -> WordOffsetProblem:
        """Return the problem of some rows."""
        parts = (self.scores[rows], self.targets[rows], self.weights[rows])
        return WordOffsetProblem(self.words.take(rows), *parts, self.recipe, self.threads)

    def losses(self, scores: Singles, rows: Codes) -> Floats:
        """Return the log loss of some rows, given the scores of all."""
        z = scores[rows].astype(np.float64)
        z -= z.max(axis=1, keepdims=True)
        own = np.einsum("nk,nk->n", self.targets[rows], z)
        return np.asarray(self.weights[rows] * (np.log(np.exp(z).sum(axis=1)) - own))


class WordOffsetState(NamedTuple):
    """Offsets so far: [word, class], what each row adds to them, and the ridge and the scales that they obey."""

    table: Singles
    residuals: Singles
    ridge: float
    scales: Singles

    def under(self, ridge: float, scales: Singles) -> WordOffsetState:
        """Return the start for another ridge and other scales: the rows add the same, times what each word takes."""
        by = (self.ridge / ridge) * (scales / self.scales)
        return WordOffsetState(self.table * by[:, None].astype(np.float32), self.residuals.copy(), ridge, scales)

    def fit(self, problem: WordOffsetProblem, rows: Codes) -> None:
        """Move the offsets to the least loss of some rows, from where they are."""
        words = problem.words
        cells = (words.starts, words.words, words.lengths, self.scales, words.squares(self.scales))
        of_rows = (problem.scores, problem.targets, problem.weights, rows)
        how = (self.ridge, PASSES, TOLERANCE)
        _kernels.fit_word_offsets(*cells, *of_rows, *how, self.table, self.residuals)


class ChosenWordOffsets(NamedTuple):
    """The ridge of least held-out loss, the offsets under it, what they save by row, and the share of a row's own."""

    state: WordOffsetState
    saved: float
    own: float


def with_word_offsets(
    model: JointModel, columns: Matrices, sample: FittingRows, fit: JointFit, scores: Floats, threads: int
) -> JointFit:
    """Return the fit with offsets of words, for each column of texts where they lower the loss of held-out rows.

    Scores are of left-out rows without these offsets, [class, row].
    """
    if WORD_OFFSETS in model.recipe.left_out or not fit.weights:
        return fit
    truth, w = RowClasses(sample.y, sample.soft), effective_weights(sample.weights, sample.copies)
    targets = np.zeros(scores.shape)
    truth.add_to(targets, np.ones(len(sample.y)))
    before = list(fit.loss.values())[-1] - list(fit.without_coefficients().loss.values())[-1]
    before += log_loss(scores, truth, w)  # of all rows: few of them measured the weights
    found: dict[str, WordOffsets] = {}
    saved = 0.0
    out = left_out_weights(sample.weights, sample.copies)
    for name, words in model.word_associations.items():
        rows, wanted = (np.ascontiguousarray(part.T, dtype=np.float32) for part in (scores, targets))
        fitting = WordOffsetFitting(words, columns[words.matrix], out, model.recipe, threads)
        made = fitting.offsets(rows, wanted, w)
        if made is None:
            continue
        found[name], beyond, gain = made
        scores, saved = beyond.without_own(scores, truth, out), saved + gain
    if not found:
        return fit
    loss = dict(fit.loss) | {WITH_WORD_OFFSETS: before - saved}
    return replace(fit, word_offsets=found, loss=loss)


@dataclass(frozen=True)
class WordOffsetFitting:
    """Offsets of the words of one column of texts."""

    words: WordAssociations
    x: Matrix
    left_out: Floats
    recipe: Recipe
    threads: int

    def offsets(
        self, scores: Singles, targets: Singles, weights: Floats
    ) -> tuple[WordOffsets, WordOffsetScores, float] | None:
        """Return the offsets, what they add to the scores of the rows, and what they save by row; None if nothing."""
        kept = frequent_words(self.words.words_of(self.x)[1], len(self.words.words), scores.shape[1])
        if not len(kept):
            return None
        places = np.full(len(self.words.words), -1, dtype=np.int32)
        places[kept] = np.arange(len(kept), dtype=np.int32)
        words = WordsOfRows.of(self.words, self.x, self.left_out, places)
        problem = WordOffsetProblem(words, scores, targets, weights.astype(np.float32), self.recipe, self.threads)
        hashes = self.x.hashes()
        order = np.argsort(hashes, kind="stable").astype(np.int32)
        # Copies of a text fall into the same fold.
        held = (hashes >> np.uint64(20)) % np.uint64(self.recipe.word_folds) == 0
        texts = self.words.texts_of(kept)
        work = max(len(words.words) * problem.classes // max(len(order), 1), 1)
        some = order[: max(MOST_WORK // work, FEWEST_ROWS)]
        scales = word_scales(texts, self.words.rows, self.recipe.word_least_scale)
        part, left_out = problem.take(some), self.left_out[some]
        asked = np.flatnonzero(held[some]).astype(np.int32)
        chosen = self._chosen(part, held[some], self._scales_without(asked, texts, scales, part, left_out), left_out)
        if chosen is None:
            return None
        residuals = padded_singles(len(order), problem.classes)
        residuals[some] = chosen.state.residuals
        state = chosen.state._replace(residuals=residuals).under(chosen.state.ridge, scales)
        state.fit(problem, order)
        table, variance = state.table[:, : problem.classes], chosen.own / state.ridge
        table[np.abs(table) < LEAST_OFFSET] = 0.0
        moved = words.scores(state.table, problem.classes, self.threads)
        there = table.any(axis=1)
        numbers, lexicon = self.words.words.numbers[kept[there]], self.words.words.lexicon
        made = WordOffsets(lexicon, numbers, table[there], state.ridge, variance)
        return made, WordOffsetScores(moved, np.float32(variance) * words.squares(scales)), chosen.saved

    def _chosen(
        self, problem: WordOffsetProblem, held: Mask, scales: Singles, left_out: Floats
    ) -> ChosenWordOffsets | None:
        """Return the offsets of some rows under the ridge of least loss of held-out rows; None if none pays."""
        recipe, words = self.recipe, problem.words
        train, asked = (np.flatnonzero(part).astype(np.int32) for part in (~held, held))
        if not len(asked) or not len(train):
            return None
        # Rows have length 1 on average, so that one ridge means the same everywhere.
        unit = float(np.mean(words.squares(scales)[train], dtype=np.float64))
        if not unit > 0:
            return None
        table, residuals = (padded_singles(lines, problem.classes) for lines in (len(scales), len(held)))
        state = WordOffsetState(table, residuals, unit, scales)
        before = float(problem.losses(problem.scores, asked).sum())
        best, least = None, before
        for ridge in recipe.word_ridges:
            state = state.under(ridge * unit, scales)
            state.fit(problem, train)
            scores = problem.scores + words.scores(state.table, problem.classes, problem.threads)
            loss = float(problem.losses(scores, asked).sum())
            if loss < least - 1.0:
                best, least = (state, scores), loss
            if loss > least * (1 + recipe.loss_rise):
                break
        if best is None:
            return None
        saved = (before - least) / float(problem.weights[asked].sum(dtype=np.float64))
        return ChosenWordOffsets(best[0], saved, self._own_share(problem, *best, train, left_out, saved))

    def _scales_without(
        self, held: Codes, texts: Singles, scales: Singles, problem: WordOffsetProblem, left_out: Floats
    ) -> Singles:
        """Return the scales of words as they are without some rows.

        How far classes differ in a word would tell whether the held-out rows that hold it are of the same class.
        """
        words, taken = problem.words.take(held), problem.targets[held] * left_out[held, None].astype(np.float32)
        row, k = np.nonzero(taken)
        sizes = np.diff(words.starts)[row]
        met, at = np.unique(words.take(row.astype(np.int32)).words, return_inverse=True)
        left = texts[met]
        np.subtract.at(left, (at, np.repeat(k, sizes)), np.repeat(taken[row, k], sizes))
        out = scales.copy()
        out[met] = word_scales(np.maximum(left, 0), self.words.rows, self.recipe.word_least_scale)
        return out

    def _own_share(
        self,
        problem: WordOffsetProblem,
        state: WordOffsetState,
        scores: Singles,
        train: Codes,
        left_out: Floats,
        saved: float,
    ) -> float:
        """Return which share of its variance a row moves its own score by.

        It is the one with which the rows that offsets were fitted to, each without its own part, gain by the offsets
        what held-out rows gain.
        """
        squares = problem.words.squares(state.scales) / np.float32(state.ridge)
        z = scores.astype(np.float64)
        p = np.exp(z - z.max(axis=1, keepdims=True))
        own = (problem.targets - p / p.sum(axis=1, keepdims=True)) * (left_out * squares)[:, None]
        total = float(problem.weights[train].sum(dtype=np.float64))
        before = float(problem.losses(problem.scores, train).sum())

        def excess(share: float) -> float:
            return (before - float(problem.losses((z - share * own).astype(np.float32), train).sum())) / total - saved

        most = MOST_OWN_SHARE
        if excess(0.0) <= 0:
            return 0.0
        if excess(most) >= 0:
            return most
        from scipy.optimize import brentq  # slow to import, and needed in fits alone

        return float(brentq(excess, 0.0, most, xtol=1e-3))


def frequent_words(words: Codes, size: int, classes: int) -> Codes:
    """Return the words that have offsets: those that two rows hold, or more if there would be too many."""
    met = np.bincount(words, minlength=size)
    most, least = MOST_OFFSETS // classes, 2
    at_least = np.cumsum(np.bincount(met)[::-1])[::-1]  # how many words so many rows hold, or more
    while least < len(at_least) and at_least[least] > most:
        least += 1
    return np.flatnonzero(met >= least).astype(np.int32)
