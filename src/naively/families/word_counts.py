"""The likelihood of a bag of words: a matrix of word counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import gammaln, xlogy

from .._kernels import Scorer
from .._types import Codes, Floats, Mask, Matrix, Numeric, Places
from ..errors import InvalidSetting
from ..errors.message import Setting
from ..stats import Axis
from ..stats.arithmetic import subtract
from . import proportions
from .cumulants import Cumulants, proportion_cumulants, with_ruled_out
from .family import FeatureAxis, Settings, check_scored, listed_parts, padded, row_blocks, row_weights, scores_of
from .wide import Split, add_products, entries, known_by_this_row_alone, row_sums, stored_cells, weighted_row_sums

if TYPE_CHECKING:
    from .words import Words


@dataclass(frozen=True)
class WordWeights:
    """The likelihood of a matrix of word counts, dense or sparse."""

    family: Words
    settings: Settings
    classes: Axis
    words: FeatureAxis
    n: Floats

    @cached_property
    def scored_counts(self) -> Floats:
        """The counts that a class is scored by: its own, or those of all others."""
        if not self.family.complement:
            return self.n
        return np.asarray(np.maximum(self.n.sum(axis=0) - self.n, 0.0))  # fractions may dip below 0 by rounding

    @cached_property
    def pseudo_counts(self) -> Floats:
        """The pseudo-counts of each word."""
        return np.asarray(proportions.PSEUDO_COUNTS[self.settings.estimate](self.settings.value_smoothing))

    @cached_property
    def log_p(self) -> Floats:
        """Logarithms of P(word | class), or of P(word | all other classes), [class, word]."""
        whole = self.scored_counts.sum(axis=1, keepdims=True) + self.pseudo_counts.sum()
        part = self.scored_counts + self.pseudo_counts
        return proportions.log_proportion(part, whole, len(self.words), out=part)

    @cached_property
    def weights(self) -> Floats:
        """What one occurrence of each word adds to the score of each class, [class, word]."""
        if not self.family.complement:
            return self.log_p
        if not self.family.norm:
            return -self.log_p
        return normalized_weights(-self.log_p, -finite_sum(self.log_p)[:, None])

    @cached_property
    def _table(self) -> Split:
        """The weights as the kernels read them, [word, class]."""
        if not self.family.complement:
            return Split(*(padded(part.T) for part in Split.of(self.log_p)))
        # A word seen in one class only rules out the others; one never seen contributes nothing.
        certain = np.isneginf(self.log_p)
        elsewhere = ~certain & certain.any(axis=0)
        return Split(padded(np.where(certain, 0.0, self.weights).T), padded(elsewhere.T.astype(np.float64)))

    @cached_property
    def _rules_out(self) -> bool:
        if self.family.complement:
            return bool(self._table.ruled_out.any())
        return bool(np.isneginf(self.log_p.min(initial=0.0)))  # the table itself may not be needed

    @property
    def each(self) -> Floats:
        """The contribution of one occurrence of each word, [word, class]; minus infinity where it rules a class out."""
        return self.log_p.T if not self.family.complement else self._table.whole()[:, : len(self.classes)]

    @property
    def linear(self) -> tuple[Floats, Floats | None]:
        """The score of no words, and what each word adds, [word, class]; no table if some rule a class out."""
        return np.zeros(len(self.classes)), None if self._rules_out else self.weights.T

    def add_to(self, scorer: Scorer, x: Matrix, missing: bool = True) -> None:
        """Have occurrences times weight of each word added to the scores."""
        add_products(scorer, x, self._table.finite, None)
        if self._rules_out:
            add_products(scorer, x, self._table.ruled_out, 0.0, against=True)

    def log_likelihood(self, x: Matrix, threads: int = 1) -> Floats:
        """Return log P(words | class) as [row, class]: the multinomial coefficient included, save for complements."""
        scores = scores_of(self, x, threads)
        return scores if self.family.complement else scores + multinomial_coefficients(x)[:, None]

    @cached_property
    def _full(self) -> WordWeights:
        """The same words under the estimate that holds the whole posterior."""
        return replace(self, settings=self.settings.full())

    @cached_property
    def _sides(self) -> tuple[Cumulants, Cumulants]:
        """The cumulants of each word [word, class], and of the whole that all are proportions of [class]."""
        pseudo_counts = self.settings.value_smoothing
        part, whole = proportion_cumulants(
            self.scored_counts + pseudo_counts, self.scored_counts.sum(axis=1, keepdims=True) + pseudo_counts.sum()
        )
        return Cumulants(*(figure.T for figure in part)), Cumulants(*(figure[:, 0] for figure in whole))

    def uncertainty(self, x: Matrix, threads: int = 1) -> Cumulants:
        """Return the cumulants of the score of the words, under a Dirichlet posterior of each class.

        Complements of several classes share rows, but are taken as if they did not; what norms them is taken as known.
        """
        met = self.scored_counts.T + self.settings.value_smoothing[:, None] > 0
        length = weighted_row_sums(x, met.astype(np.float64), 1, threads)
        found = Cumulants(
            *(
                weighted_row_sums(x, part, order, threads) - length**order * whole
                for order, (part, whole) in enumerate(zip(*self._sides, strict=True), 1)
            )
        )
        if self.family.complement:
            found = found.times(-self._divided)
        light = np.any(self.settings.value_smoothing == 0)
        return with_ruled_out(found, self._full, x, threads) if light else found

    @cached_property
    def _divided(self) -> Floats:
        """What the weights of each class are multiplied with to norm them."""
        if not self.family.norm:
            return np.ones(len(self.classes))
        return normalized_weights(np.ones(len(self.classes)), -finite_sum(self._full.log_p))

    def leave_one_out(self, x: Matrix, y: Codes, weights: Floats | None = None, threads: int = 1) -> Floats:
        """Return the log-likelihood of each row as if it had never been counted."""
        y, w = np.asarray(y), row_weights(weights, x.shape[0])
        out = np.empty((x.shape[0], len(self.classes)))
        per_row = stored_cells(x) // max(x.shape[0], 1) + 1
        for rows in row_blocks(x.shape[0], per_row * (len(self.classes) if self.family.complement else 1)):
            if self.family.complement:
                out[rows] = self._complement_without(x[rows], y[rows], w[rows])
            else:
                out[rows] = self._said_without(x[rows], y[rows], w[rows], threads)
        return out

    def _gone(self, columns: Places, taken: Floats) -> Mask:
        """Tell which entries are of words that no other row has and nobody declared: unknown without this row."""
        return known_by_this_row_alone(*self._used, columns, taken)

    @cached_property
    def _used(self) -> tuple[Floats, Mask]:
        """How often each word was used, and whether it stays known if it was not."""
        return np.asarray(self.n.sum(axis=0)), self.words.kept(np.zeros(len(self.words), dtype=bool))

    @cached_property
    def _total(self) -> Floats:
        return np.asarray(self.scored_counts.sum(axis=1))

    def _said_without(self, x: Matrix, y: Codes, w: Floats, threads: int) -> Floats:
        """Return the scores of rows without them: of their own class anew, of others where words go with the row."""
        n_rows, (rows, columns, values) = x.shape[0], entries(x)
        taken, total = w[rows] * values, self._total
        gone, left = self._gone(columns, taken), subtract(total[y], row_sums(rows, taken, n_rows))
        lost = (Split.of(self.log_p.T[columns[gone]]) * values[gone][:, None]).row_sums(rows[gone], n_rows)
        pseudo_counts = self.pseudo_counts.sum() - row_sums(rows[gone], self.pseudo_counts[columns[gone]], n_rows)
        size = len(self.words) - row_sums(rows[gone], np.ones(gone.sum()), n_rows)
        if gone.any():
            (rows, columns), (values, taken) = (rows[~gone], columns[~gone]), (values[~gone], taken[~gone])
        number = row_sums(rows, values, n_rows)
        parts, fewer = self._parts(x, threads) - lost, np.flatnonzero(size < len(self.words))
        before = log_whole(total + self.pseudo_counts.sum(), len(self.words))
        after = log_whole(total + pseudo_counts[fewer, None], size[fewer, None])
        parts.finite[fewer] += number[fewer, None] * (before - after)
        n, whole = subtract(self.n[y[rows], columns], taken) + self.pseudo_counts[columns], left + pseudo_counts
        own, at = log_products(rows, values, n, n_rows).only(whole > 0), (np.arange(n_rows), y)
        parts.finite[at], parts.ruled_out[at] = own.finite - number * log_whole(whole, size), own.ruled_out
        return np.asarray(parts.whole() + log_multinomial_coefficient(rows, values, n_rows)[:, None])

    def _parts(self, x: Matrix, threads: int) -> Split:
        """Return the scores of rows with them, in two parts."""
        parts = Split(*(np.zeros((x.shape[0], len(self.classes))) for _ in range(2)))
        for part, table, threshold in zip(parts, self._table, (None, 0.0), strict=True):
            if threshold is None or self._rules_out:
                scorer = Scorer(np.zeros(len(self.classes)))
                add_products(scorer, x, table, threshold)
                check_scored(scorer.log_joint(part, threads))
        return parts

    def _complement_without(self, x: Matrix, y: Codes, w: Floats) -> Floats:
        """Return the scores of a block of rows, each from the counts without it: those of all classes but its own."""
        n_rows = x.shape[0]
        rows, columns, values = entries(x)
        taken = w[rows] * values
        others = np.ones((n_rows, len(self.classes)), dtype=bool)
        others[np.arange(n_rows), y] = False
        told = self.scored_counts.T[columns]
        told = np.where(others[rows], subtract(told, np.broadcast_to(taken[:, None], told.shape)), told)
        total = np.broadcast_to(self._total, others.shape)
        total = subtract(total, np.where(others, row_sums(rows, taken, n_rows)[:, None], 0.0))
        gone = self._gone(columns, taken)
        pseudo_counts = self.pseudo_counts.sum() - row_sums(
            rows, np.where(gone, self.pseudo_counts[columns], 0.0), n_rows
        )
        whole = total + pseudo_counts[:, None]
        size = len(self.words) - row_sums(rows, gone.astype(np.float64), n_rows)[:, None]
        log_p = proportions.log_proportion(told + self.pseudo_counts[columns][:, None], whole[rows], size[rows])
        log_p[gone] = 0.0
        scores = complement_scores(rows, values, log_p, n_rows)
        return (
            normalized_weights(scores, -self._norms(rows, columns, log_p, whole, size)) if self.family.norm else scores
        )

    def _norms(self, rows: Places, columns: Places, log_p: Floats, whole: Floats, size: Floats) -> Floats:
        """Return the sum over all words of their logarithms: those of the row are given, the whole changes for all."""
        n_rows, before = len(whole), self.log_p.T
        old, new = before[columns], np.where(np.isfinite(log_p), log_p, 0.0)
        others = finite_sum(self.log_p) - row_sums(rows, np.where(np.isfinite(old), old, 0.0), n_rows)
        number = np.isfinite(before).sum(axis=0) - row_sums(rows, np.isfinite(old).astype(np.float64), n_rows)
        some = np.where(whole > 0, whole, 1.0)
        change = np.log(np.maximum(self.scored_counts.sum(axis=1) + self.pseudo_counts.sum(), some)) - np.log(some)
        norms = others + number * change + row_sums(rows, new, n_rows)
        return np.asarray(np.where(whole > 0, norms, -xlogy(size, size)))  # all words are equal where none was counted

    def log_prior_density(self) -> float:
        """Return the logarithm of the Dirichlet density at the probabilities, up to a constant."""
        if self.family.complement:
            raise InvalidSetting(
                Setting("complement", True, of="Words()"),
                " scores a class by the words of all others, and such scores are no logarithms of a probability "
                "that could be maximized. To learn from rows without a label, set ",
                Setting("complement", False),
                ".",
            )
        if self.settings.estimate != "map":
            return 0.0
        some = self.pseudo_counts > 0  # elsewhere log 0 would count nothing times
        return float((self.pseudo_counts[some] * self.log_p[:, some]).sum())

    def table(self, labels: Sequence[str]) -> Mapping[str, object]:
        """Return the weight of each word as columns of a frame; P(word | class), save for complements."""
        return {"feature": np.arange(self.weights.shape[1]), **dict(zip(labels, np.exp(self.weights), strict=True))}

    def describe(self, column: str) -> str:
        """Return a sentence on the words with the largest contribution to each class, all occurrences together."""
        shown = np.where(np.isfinite(self.log_p), self.log_p, -50.0) * (-1.0 if self.family.complement else 1.0)
        lead = (shown - (shown.sum(axis=0) - shown) / max(len(self.classes) - 1, 1)) * self.n
        said = [leading_words(line, self.words.labels) for line in lead]
        parts = [
            f"{', '.join(map(str, words))} for {label}"
            for label, words in zip(self.classes.labels, said, strict=True)
            if words
        ]
        return (
            f"{column}: most indicative are {listed_parts(parts, '; ')}."
            if parts
            else f"{column}: all classes are equal."
        )


def leading_words(lead: Floats, names: Sequence[Any], most: int = 3) -> list[Any]:
    """Return the words of the largest leads, if they have some; of equal ones the first by name, not by row.

    Names are texts, or the numbers of hash columns: whatever has an order.
    """
    bound = max(*np.sort(lead)[-most:][:1].tolist(), 1e-9, 0.0)
    return [name for _, name in sorted((-lead[j], names[j]) for j in np.flatnonzero(lead >= bound).tolist())][:most]


def complement_scores(rows: Places, values: Floats, log_p: Floats, n_rows: int) -> Floats:
    """Add up occurrences times weight over the entries of each row, given their logarithms [entry, class]."""
    certain = np.isneginf(log_p)
    ruled_out = ~certain & certain.any(axis=1, keepdims=True)  # a word seen in one class only rules out the others
    scores = -row_sums(rows, values[:, None] * np.where(certain, 0.0, log_p), n_rows)
    return np.where(row_sums(rows, ruled_out.astype(np.float64), n_rows) > 0, -np.inf, scores)


def log_products(rows: Places, values: Floats, numbers: Floats, n_rows: int) -> Split:
    """Return the logarithm of the product of the numbers of each row, each to the power of its value."""
    some = numbers > 0
    ruled_out = np.zeros(n_rows) if some.all() else row_sums(rows, (~some).astype(np.float64), n_rows)
    return Split(row_sums(rows, values * np.log(np.where(some, numbers, 1.0)), n_rows), ruled_out)


def log_whole(whole: Numeric, size: Numeric) -> Floats:
    """Return the logarithm of what shares are divided by: where nothing was counted, of the number of words."""
    return np.asarray(np.log(np.where(whole > 0, whole, np.maximum(size, 1.0))))


def normalized_weights(scores: Floats, total: Floats) -> Floats:
    """Return the scores divided by the sum of all weights; where only one word is possible it contributes nothing.

    The sum is then 0 up to rounding, while two possible words bring it to log 2 or more.
    """
    alone = total < 0.5
    return np.where(alone & np.isfinite(scores), 0.0, scores / np.where(alone, 1.0, total))


def finite_sum(log_p: Floats) -> Floats:
    """Return the sum over the words of each class, of the finite terms."""
    return np.asarray(np.where(np.isfinite(log_p), log_p, 0.0).sum(axis=1))


def multinomial_coefficients(x: Matrix) -> Floats:
    """Return the logarithm of how many orders of the words there are, (Σx)! / Πx!, for each row."""
    rows, _, values = entries(x)
    return log_multinomial_coefficient(rows, values, x.shape[0])


def log_multinomial_coefficient(rows: Places, values: Floats, n_rows: int) -> Floats:
    """Return log (Σx)! / Πx! for the entries of each row."""
    often = np.flatnonzero(values != 1)  # 1! is 1
    below = row_sums(rows[often], gammaln(values[often] + 1), n_rows)
    return np.asarray(gammaln(row_sums(rows, values, n_rows) + 1) - below)
