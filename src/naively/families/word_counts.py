"""The likelihood of a bag of words: a matrix of word counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import gammaln, xlogy

from .._kernels import Scorer
from .._types import Codes, Floats, Matrix, Places
from ..errors import InvalidSetting
from ..errors.message import Setting
from ..stats.arithmetic import subtract
from .family import Cumulants, listed_parts, log_proportion, padded, proportion_cumulants, with_ruled_out
from .wide import Split, WideLikelihood, add_products, cells_of, entries, product_sums, row_sums, with_cells


@dataclass(frozen=True)
class WordLikelihood(WideLikelihood):
    """The likelihood of a matrix of word counts, or of the words of texts."""

    @cached_property
    def scored_counts(self) -> Floats:
        """The counts that a class is scored by: its own, or those of all others."""
        if not self.family.complement:
            return self.n
        return np.asarray(np.maximum(self.n.sum(axis=0) - self.n, 0.0))  # fractions may dip below 0 by rounding

    @cached_property
    def log_p(self) -> Floats:
        """Logarithms of P(word | class), or of P(word | all other classes), [class, word]."""
        pseudo_counts = self.settings.pseudo_counts
        whole = self.scored_counts.sum(axis=1, keepdims=True) + pseudo_counts.sum()
        part = self.scored_counts + pseudo_counts
        return log_proportion(part, whole, len(self.features), out=part)

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

    def _add_matrix(self, scorer: Scorer, x: Matrix) -> None:
        add_products(scorer, x, self._table.finite, None)
        if self._rules_out:
            add_products(scorer, x, self._table.ruled_out, 0.0, against=True)

    def log_likelihood(self, x: Matrix, threads: int = 1) -> Floats:
        """Return log P(words | class) as [row, class]: with the multinomial coefficient, except for complements."""
        x = self.matrix(x)
        scores = self.matrix_scores(x, threads)
        if self.family.complement:
            return scores
        rows, _, values = entries(x)
        return scores + log_multinomial_coefficient(rows, values, x.shape[0])[:, None]

    @cached_property
    def _full(self) -> WordLikelihood:
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
        x = self.matrix(x)
        possible = self.scored_counts.T + self.settings.value_smoothing[:, None] > 0
        length = product_sums(x, possible.astype(np.float64), None, threads)
        figures = []
        for order, (part, whole) in enumerate(zip(*self._sides, strict=True), 1):
            raised = x if order == 1 else with_cells(x, cells_of(x) ** order)
            figures.append(product_sums(raised, part, None, threads) - length**order * whole)
        result = Cumulants(*figures)
        if self.family.complement:
            result = result.times(-self._divided)
        light = np.any(self.settings.value_smoothing == 0)
        return with_ruled_out(result, self._full.matrix_scores(x, threads)) if light else result

    @cached_property
    def _divided(self) -> Floats:
        """What the weights of each class are multiplied with to norm them."""
        if not self.family.norm:
            return np.ones(len(self.classes))
        return normalized_weights(np.ones(len(self.classes)), -finite_sum(self._full.log_p))

    def _without_rows(self, x: Matrix, y: Codes, w: Floats, threads: int) -> Floats:
        n_rows, (rows, columns, values) = x.shape[0], entries(x)
        taken, pseudo_counts = w[rows] * values, self.settings.pseudo_counts
        # The scored counts that hold a row: those of its class or, of complements, those of all others.
        holds = (np.arange(len(self.classes)) == y[:, None]) != self.family.complement
        total = subtract(self._total, np.where(holds, row_sums(rows, taken, n_rows)[:, None], 0.0))
        gone = self.known_by_row_alone(columns, taken)
        smoothing = pseudo_counts.sum() - row_sums(rows, np.where(gone, pseudo_counts[columns], 0.0), n_rows)
        whole = total + smoothing[:, None]
        size = len(self.features) - row_sums(rows, gone.astype(np.float64), n_rows)[:, None]
        n = subtract(self.scored_counts.T[columns], np.where(holds[rows], taken[:, None], 0.0))
        log_p = log_proportion(n + pseudo_counts[columns][:, None], whole[rows], size[rows])
        log_p[gone] = 0.0
        if not self.family.complement:
            scores = row_sums(rows, values[:, None] * log_p, n_rows)
            return scores + log_multinomial_coefficient(rows[~gone], values[~gone], n_rows)[:, None]
        scores = complement_scores(rows, values, log_p, n_rows)
        if not self.family.norm:
            return scores
        return normalized_weights(scores, -self._norms(rows, columns, log_p, whole, size))

    @cached_property
    def _total(self) -> Floats:
        return np.asarray(self.scored_counts.sum(axis=1))

    def _norms(self, rows: Places, columns: Places, log_p: Floats, whole: Floats, size: Floats) -> Floats:
        """Return the sum over all words of their logarithms: those of the row are given, the whole changes for all."""
        n_rows, before = len(whole), self.log_p.T
        old, new = before[columns], np.where(np.isfinite(log_p), log_p, 0.0)
        others = finite_sum(self.log_p) - row_sums(rows, np.where(np.isfinite(old), old, 0.0), n_rows)
        number = np.isfinite(before).sum(axis=0) - row_sums(rows, np.isfinite(old).astype(np.float64), n_rows)
        some = np.where(whole > 0, whole, 1.0)
        change = np.log(np.maximum(self._total + self.settings.pseudo_counts.sum(), some)) - np.log(some)
        norms = others + number * change + row_sums(rows, new, n_rows)
        return np.asarray(np.where(whole > 0, norms, -xlogy(size, size)))  # all words are equal where none was counted

    def log_prior_density(self) -> float:
        """Return the logarithm of the Dirichlet density at the probabilities, up to a constant."""
        if self.family.complement:
            raise InvalidSetting(
                Setting("complement", True, of="Words()"),
                " scores a class by the words of all others, and such scores are not logarithms of a probability "
                "that could be maximized. To learn from rows without a label, set ",
                Setting("complement", False),
                ".",
            )
        if self.settings.estimate != "map":
            return 0.0
        pseudo_counts = self.settings.pseudo_counts
        some = pseudo_counts > 0  # elsewhere log 0 would count nothing times
        return float((pseudo_counts[some] * self.log_p[:, some]).sum())

    def table(self, labels: Sequence[str]) -> Mapping[str, object]:
        """Return the weight of each word as columns of a frame; P(word | class), except for complements."""
        return self.feature_table(labels, np.exp(self.weights))

    def describe(self, column: str) -> str:
        """Return a sentence on the words with the largest contribution to each class, all occurrences together."""
        shown = np.where(np.isfinite(self.log_p), self.log_p, -50.0) * (-1.0 if self.family.complement else 1.0)
        lead = (shown - (shown.sum(axis=0) - shown) / max(len(self.classes) - 1, 1)) * self.n
        leading = [leading_words(line, self.features.labels) for line in lead]
        parts = [
            f"{', '.join(map(str, words))} for {label}"
            for label, words in zip(self.classes.labels, leading, strict=True)
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


def normalized_weights(scores: Floats, total: Floats) -> Floats:
    """Return the scores divided by the sum of all weights; where only one word is possible it contributes nothing.

    The sum is then 0 up to rounding, while two possible words bring it to log 2 or more.
    """
    alone = total < 0.5
    return np.where(alone & np.isfinite(scores), 0.0, scores / np.where(alone, 1.0, total))


def finite_sum(log_p: Floats) -> Floats:
    """Return the sum over the words of each class, of the finite terms."""
    return np.asarray(np.where(np.isfinite(log_p), log_p, 0.0).sum(axis=1))


def log_multinomial_coefficient(rows: Places, values: Floats, n_rows: int) -> Floats:
    """Return log (Σx)! / Πx! for the entries of each row."""
    often = np.flatnonzero(values != 1)  # 1! is 1
    below = row_sums(rows[often], gammaln(values[often] + 1), n_rows)
    return np.asarray(gammaln(row_sums(rows, values, n_rows) + 1) - below)
