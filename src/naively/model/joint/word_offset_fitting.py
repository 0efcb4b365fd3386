"""Fitting offsets of words: a ridge chosen on held-out rows, and a fit to all rows if it pays there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import optimize

from ... import _kernels
from ..._types import Codes, Floats, Mask, Matrices, Matrix, Singles
from ..recipe import Recipe
from .joint_fit import JointFit
from .model import JointModel
from .soft_rows import RowClasses
from .terms import JointSample
from .weight_fitting import effective_weights, joint_scores_left_out
from .word_offsets import OffsetScores, WordOffsets, WordsOfRows, padded_singles, word_scales
from .word_terms import WordAssociations

# Words times classes of the rows on which the ridge is chosen; but some rows in any case. Limits of time.
MOST_WORK, FEWEST_ROWS = 1 << 25, 500
# Offsets of words at most: of more words, the more frequent ones have some. A limit of memory.
MOST_OFFSETS = 1 << 24


@dataclass(frozen=True)
class OffsetProblem:
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
        return self.scores.shape[1]

    def losses(self, scores: Singles, rows: Codes) -> Floats:
        """Return the log loss of some rows, given the scores of all."""
        z = scores[rows].astype(np.float64)
        z -= z.max(axis=1, keepdims=True)
        own = np.einsum("nk,nk->n", self.targets[rows], z)
        return np.asarray(self.weights[rows] * (np.log(np.exp(z).sum(axis=1)) - own))


class OffsetState(NamedTuple):
    """Offsets so far: [word, class], what each row adds to them, and the ridge and the scales that they obey."""

    table: Singles
    residuals: Singles
    ridge: float
    scales: Singles

    def under(self, ridge: float, scales: Singles) -> OffsetState:
        """Return the start for another ridge and other scales: the rows add the same, times what each word takes."""
        by = (self.ridge / ridge) * (scales / self.scales)
        return OffsetState(self.table * by[:, None].astype(np.float32), self.residuals, ridge, scales)

    def fitted(self, problem: OffsetProblem, rows: Codes) -> OffsetState:
        """Return the offsets of least loss of some rows, from here on."""
        words, recipe = problem.words, problem.recipe
        table, residuals = self.table.copy(), self.residuals.copy()
        cells = (words.starts, words.words, words.lengths, self.scales, words.squares(self.scales))
        of_rows = (problem.scores, problem.targets, problem.weights, rows)
        how = (self.ridge, recipe.word_offset_passes, recipe.word_offset_tolerance)
        _kernels.fit_word_offsets(*cells, *of_rows, *how, table, residuals)
        return OffsetState(table, residuals, self.ridge, self.scales)


class ChosenOffsets(NamedTuple):
    """The ridge of least held-out loss, the offsets under it, what they save by row, and the share of a row's own."""

    state: OffsetState
    saved: float
    own: float


def fit_word_offsets(
    model: JointModel, columns: Matrices, sample: JointSample, fit: JointFit, threads: int
) -> JointFit:
    """Return the fit with offsets of words, for each column of texts where they lower the loss of held-out rows."""
    scores = joint_scores_left_out(model.counts, replace(fit, influence=None), sample)
    truth, w = RowClasses(sample.y, sample.soft), effective_weights(sample.weights, sample.copies)
    targets = np.zeros(scores.shape)
    truth.add_to(targets, np.ones(len(sample.y)))
    found: dict[str, WordOffsets] = {}
    saved = 0.0
    for name, words in model.word_associations.items():
        by_row = (np.ascontiguousarray(part.T, dtype=np.float32) for part in (scores, targets))
        fitting = ColumnFitting(words, columns[name], sample.out, model.recipe, threads)
        made = fitting.offsets(*by_row, w)
        if made is None:
            continue
        found[name], beyond, gain = made
        scores, saved = beyond.without_own(scores, truth, sample.out), saved + gain
    if not found:
        return fit
    loss = dict(fit.loss) | {"offsets of words": list(fit.loss.values())[-1] - saved}
    accuracy = float(w @ truth.agreement(scores.argmax(axis=0)) / w.sum())
    return replace(fit, word_offsets=found, loss=loss, accuracy=accuracy)


@dataclass(frozen=True)
class ColumnFitting:
    """Offsets of the words of one column of texts."""

    words: WordAssociations
    x: Matrix
    left_out: Floats
    recipe: Recipe
    threads: int

    def offsets(
        self, scores: Singles, targets: Singles, weights: Floats
    ) -> tuple[WordOffsets, OffsetScores, float] | None:
        """Return the offsets, what they add to the scores of the rows, and what they save by row; None if nothing."""
        all_words = WordsOfRows.of(self.words, self.x, self.left_out, None)
        kept = frequent_words(all_words.words, len(self.words.words), scores.shape[1])
        if not len(kept):
            return None
        places = np.full(len(self.words.words), -1, dtype=np.intp)
        places[kept] = np.arange(len(kept))
        words = WordsOfRows.of(self.words, self.x, self.left_out, places)
        problem = OffsetProblem(words, scores, targets, weights.astype(np.float32), self.recipe, self.threads)
        hashes = self.x.hashes()
        order = np.argsort(hashes, kind="stable").astype(np.int32)
        # Copies of a text fall into the same fold.
        held = (hashes >> np.uint64(20)) % np.uint64(self.recipe.word_offset_folds) == 0
        texts = self.words.texts[kept, : scores.shape[1]]
        chosen = self._chosen(problem, order, held, texts)
        if chosen is None:
            return None
        scales = word_scales(texts, self.words.rows, self.recipe.word_offset_least_scale)
        state = chosen.state.under(chosen.state.ridge, scales).fitted(problem, order)
        table = state.table[:, : scores.shape[1]]
        table[np.abs(table) < self.recipe.least_word_offset] = 0.0
        variance = chosen.own / state.ridge
        beyond = OffsetScores(
            words.scores(state.table, problem.classes, self.threads), np.float32(variance) * words.squares(scales)
        )
        there = table.any(axis=1)
        numbers, lexicon = self.words.words.numbers[kept[there]], self.words.words.lexicon
        made = WordOffsets(lexicon, numbers, table[there], state.ridge, variance)
        return made, beyond, chosen.saved

    def _chosen(self, problem: OffsetProblem, order: Codes, held: Mask, texts: Floats) -> ChosenOffsets | None:
        """Return the offsets of some rows under the ridge of least loss of held-out rows; None if none pays."""
        recipe, words = self.recipe, problem.words
        work = max(len(words.words) * problem.classes // max(len(order), 1), 1)
        order = order[: max(MOST_WORK // work, FEWEST_ROWS)]
        train, asked = order[~held[order]], order[held[order]]
        if not len(asked) or not len(train):
            return None
        texts, rows = self._without(asked, texts, problem)
        scales = word_scales(texts, rows, recipe.word_offset_least_scale)
        # Rows have length 1 on average, so that one ridge means the same everywhere.
        unit = float(np.mean(words.squares(scales)[train], dtype=np.float64))
        if not unit > 0:
            return None
        state = OffsetState(
            padded_singles(len(scales), problem.classes), padded_singles(len(held), problem.classes), unit, scales
        )
        before = float(problem.losses(problem.scores, asked).sum())
        best, least = None, before
        for ridge in recipe.word_offset_ridges:
            state = state.under(ridge * unit, scales).fitted(problem, train)
            scores = problem.scores + words.scores(state.table, problem.classes, problem.threads)
            loss = float(problem.losses(scores, asked).sum())
            if loss < least - recipe.offset_price:
                best, least = (state, scores), loss
            if loss > least * (1 + recipe.offset_loss_rise):
                break
        if best is None:
            return None
        total = float(problem.weights[asked].sum(dtype=np.float64))
        saved = (before - least) / total
        return ChosenOffsets(best[0], saved, self._own_share(problem, *best, train, saved))

    def _without(self, held: Codes, texts: Floats, problem: OffsetProblem) -> tuple[Floats, Floats]:
        """Return the texts of each class that hold each word, and the rows of each class, without some rows.

        How far classes differ in a word would tell whether the held-out rows that hold it are of the same class.
        """
        words, taken = problem.words, problem.targets * self.left_out[:, None].astype(np.float32)
        sizes = np.diff(words.starts)[held]
        rows = np.repeat(held, sizes)
        first = np.repeat(words.starts[held] - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes)
        at = words.words[first + np.arange(len(rows))]
        out = texts.copy()
        for k in range(out.shape[1]):
            out[:, k] -= np.bincount(at, taken[rows, k], len(out))
        return np.maximum(out, 0.0), np.maximum(self.words.rows - taken[held].sum(axis=0), 0.0)

    def _own_share(
        self, problem: OffsetProblem, state: OffsetState, scores: Singles, train: Codes, saved: float
    ) -> float:
        """Return which share of its variance a row moves its own score by.

        It is the one with which the rows that offsets were fitted to, each without its own part, gain by the offsets
        what held-out rows gain.
        """
        squares = problem.words.squares(state.scales) / np.float32(state.ridge)
        z = scores.astype(np.float64)
        p = np.exp(z - z.max(axis=1, keepdims=True))
        own = (problem.targets - p / p.sum(axis=1, keepdims=True)) * (self.left_out * squares)[:, None]
        total = float(problem.weights[train].sum(dtype=np.float64))
        before = float(problem.losses(problem.scores, train).sum())

        def excess(share: float) -> float:
            return (before - float(problem.losses((z - share * own).astype(np.float32), train).sum())) / total - saved

        most = self.recipe.most_own_share
        if excess(0.0) <= 0:
            return 0.0
        if excess(most) >= 0:
            return most
        return float(optimize.brentq(excess, 0.0, most, xtol=1e-3))


def frequent_words(words: Codes, size: int, classes: int) -> Codes:
    """Return the words that have offsets: those that two rows hold, or more if there would be too many."""
    met = np.bincount(words, minlength=size)
    most, least = MOST_OFFSETS // classes, 2
    at_least = np.cumsum(np.bincount(met)[::-1])[::-1]  # how many words so many rows hold, or more
    while least < len(at_least) and at_least[least] > most:
        least += 1
    return np.flatnonzero(met >= least).astype(np.int32)
