"""Words and how often they occur: a bag of words is one wide column."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln, xlogy

from .._kernels import Scorer
from ..errors import InvalidSetting
from ..statistics import Axis, Table
from ..statistics.arithmetic import take_away
from ..statistics.axis import Floats
from . import shares
from .cumulants import Cumulants, of_share, ruled_out
from .family import Codes, Settings, blocks, enumerated, padded, row_weights, scores_of
from .wide import Split, add_up, entries, row_sums, total


@dataclass(frozen=True)
class Words:
    """Counts of words. Each class draws its words one by one: P(word | class) = (n + λ) / (N + V·λ) under ``bayes``.

    Parameters
    ----------
    complement : bool
        Score a class by how little the words fit all *other* classes (Rennie et al., 2003): better where classes
        are many and of different size. The scores are then no logarithms of a probability.
    norm : bool
        With ``complement``, divide the weights of each class by their sum.
    smoothing : float or array, optional
        λ of this column, one for all words or one each; by default the model's.
    """

    complement: bool = False
    norm: bool = False
    smoothing: Any = None

    name: ClassVar[str] = "words"
    statistic: ClassVar[type[Table]] = Table

    def estimate(self, statistic: Table, rows: Floats, classes: Axis, settings: Settings) -> WordWeights:
        """Return what each word says about each class."""
        settings = settings.each(len(statistic.values), self.smoothing)
        return WordWeights(self, settings, classes, statistic.values, statistic.on(classes))


@dataclass(frozen=True)
class WordWeights:
    """The likelihood of a matrix of word counts, dense or sparse."""

    family: Words
    settings: Settings
    classes: Axis
    words: Axis
    n: Floats

    @cached_property
    def told(self) -> Floats:
        """The counts that tell about a class: its own, or those of all others."""
        if not self.family.complement:
            return self.n
        return np.asarray(np.maximum(self.n.sum(axis=0) - self.n, 0.0))  # fractions may dip below 0 by rounding

    @cached_property
    def imagined(self) -> Floats:
        """The rows imagined of each word."""
        return np.asarray(shares.IMAGINED[self.settings.estimate](self.settings.smoothing))

    @cached_property
    def log_p(self) -> Floats:
        """Logarithms of P(word | class), or of P(word | all other classes), [class, word]."""
        whole = self.told.sum(axis=1, keepdims=True) + self.imagined.sum()
        return shares.log_share(self.told + self.imagined, whole, len(self.words))

    @cached_property
    def weights(self) -> Floats:
        """What one occurrence of each word adds to the score of each class, [class, word]."""
        if not self.family.complement:
            return self.log_p
        if not self.family.norm:
            return -self.log_p
        return normed(-self.log_p, -finite_sum(self.log_p)[:, None])

    @cached_property
    def _table(self) -> Split:
        """The weights as the kernels read them, [word, class]."""
        if not self.family.complement:
            return Split(*(padded(part.T) for part in Split.of(self.log_p)))
        # A word met in one class only rules out the others; one never met says nothing.
        certain = np.isneginf(self.log_p)
        elsewhere = ~certain & certain.any(axis=0)
        return Split(padded(np.where(certain, 0.0, self.weights).T), padded(elsewhere.T.astype(np.float64)))

    @cached_property
    def _rules_out(self) -> bool:
        return bool(self._table.ruled_out.any())

    def add_to(self, scorer: Scorer, x: Any, holes: bool = True) -> None:
        """Have occurrences times weight of each word added to the scores."""
        add_up(scorer, x, self._table.finite, None)
        if self._rules_out:
            add_up(scorer, x, self._table.ruled_out, 0.0, against=True)

    def log_likelihood(self, x: Any, threads: int = 1) -> Floats:
        """Return log P(words | class) as [row, class]: the multinomial coefficient included, save for complements."""
        scores = scores_of(self, x, threads)
        return scores if self.family.complement else scores + coefficient(x)[:, None]

    @cached_property
    def _full(self) -> WordWeights:
        """The same words under the estimate that holds the whole posterior."""
        return replace(self, settings=self.settings.full())

    @cached_property
    def _sides(self) -> tuple[Cumulants, Cumulants]:
        """How little is known of each word [word, class], and of the whole all are shares of [class]."""
        imagined = self.settings.smoothing
        part, whole = of_share(self.told + imagined, self.told.sum(axis=1, keepdims=True) + imagined.sum())
        return Cumulants(*(figure.T for figure in part)), Cumulants(*(figure[:, 0] for figure in whole))

    def uncertainty(self, x: Any, threads: int = 1) -> Cumulants:
        """Return how little is known of the score of the words, under a Dirichlet posterior of each class.

        Complements of several classes share rows, but are taken as if they did not; what norms them is taken as known.
        """
        met = self.told.T + self.settings.smoothing[:, None] > 0
        length = total(x, met.astype(np.float64), 1, threads)
        found = Cumulants(
            *(
                total(x, part, order, threads) - length**order * whole
                for order, (part, whole) in enumerate(zip(*self._sides, strict=True), 1)
            )
        )
        if self.family.complement:
            found = found.times(-self._divided)
        light = np.any(self.settings.smoothing == 0)
        return ruled_out(found, self._full, x, threads) if light else found

    @cached_property
    def _divided(self) -> Floats:
        """What the weights of each class are multiplied with to norm them."""
        if not self.family.norm:
            return np.ones(len(self.classes))
        return normed(np.ones(len(self.classes)), -finite_sum(self._full.log_p))

    def leave_one_out(self, x: Any, y: Codes, weights: Floats | None = None, threads: int = 1) -> Floats:
        """Return the log-likelihood of each row as if it had never been counted."""
        out = np.zeros((x.shape[0], len(self.classes)))
        w = row_weights(weights, x.shape[0])
        per_row = max(1, int(np.ceil(len(entries(x)[0]) / max(x.shape[0], 1))))
        for rows in blocks(x.shape[0], per_row * len(self.classes)):
            out[rows] = self._without_own(x[rows], np.asarray(y)[rows], w[rows])
        return out if self.family.complement else out + self._coefficient_without(x, w)[:, None]

    def _gone(self, columns: Any, taken: Floats) -> Any:
        """Tell which entries are of words that nobody else used and nobody declared: unknown without this row."""
        used = self.n.sum(axis=0)[columns]
        return (take_away(used, taken) == 0) & ~self.words.kept(np.zeros(len(self.words), dtype=bool))[columns]

    def _coefficient_without(self, x: Any, w: Floats) -> Floats:
        rows, columns, values = entries(x)
        known = ~self._gone(columns, w[rows] * values)
        return log_orders(rows[known], values[known], x.shape[0])

    def _without_own(self, x: Any, y: Codes, w: Floats) -> Floats:
        """Return the scores of a block of rows, each from the counts without it."""
        n_rows = x.shape[0]
        rows, columns, values = entries(x)
        taken = w[rows] * values
        own = np.zeros((n_rows, len(self.classes)), dtype=bool)
        own[np.arange(n_rows), y] = True
        affected = ~own if self.family.complement else own  # the classes whose counts hold this row
        told = self.told.T[columns]
        told = np.where(affected[rows], take_away(told, np.broadcast_to(taken[:, None], told.shape)), told)
        total = np.broadcast_to(self.told.sum(axis=1), own.shape)
        total = take_away(total, np.where(affected, row_sums(rows, taken, n_rows)[:, None], 0.0))
        gone = self._gone(columns, taken)
        imagined = self.imagined.sum() - row_sums(rows, np.where(gone, self.imagined[columns], 0.0), n_rows)
        whole = total + imagined[:, None]
        size = len(self.words) - row_sums(rows, gone.astype(np.float64), n_rows)[:, None]
        log_p = shares.log_share(told + self.imagined[columns][:, None], whole[rows], size[rows])
        log_p[gone] = 0.0
        scores = self._added_up(rows, values, log_p, n_rows)
        if self.family.complement and self.family.norm:
            scores = normed(scores, -self._norms(rows, columns, log_p, whole, size))
        return scores

    def _added_up(self, rows: Any, values: Floats, log_p: Floats, n_rows: int) -> Floats:
        """Add up occurrences times weight over the entries of each row, given their logarithms [entry, class]."""
        ruled_out, sign = np.isneginf(log_p), 1.0
        if self.family.complement:  # see _table: a word met in one class only rules out the others
            ruled_out, sign = ~ruled_out & ruled_out.any(axis=1, keepdims=True), -1.0
        scores = sign * row_sums(rows, values[:, None] * np.where(np.isneginf(log_p), 0.0, log_p), n_rows)
        return np.where(row_sums(rows, ruled_out.astype(np.float64), n_rows) > 0, -np.inf, scores)

    def _norms(self, rows: Any, columns: Any, log_p: Floats, whole: Floats, size: Floats) -> Floats:
        """Return the sum over all words of their logarithms: those of the row are given, the whole changes for all."""
        n_rows, before = len(whole), self.log_p.T
        old, new = before[columns], np.where(np.isfinite(log_p), log_p, 0.0)
        others = finite_sum(self.log_p) - row_sums(rows, np.where(np.isfinite(old), old, 0.0), n_rows)
        number = np.isfinite(before).sum(axis=0) - row_sums(rows, np.isfinite(old).astype(np.float64), n_rows)
        some = np.where(whole > 0, whole, 1.0)
        change = np.log(np.maximum(self.told.sum(axis=1) + self.imagined.sum(), some)) - np.log(some)
        norms = others + number * change + row_sums(rows, new, n_rows)
        return np.asarray(np.where(whole > 0, norms, -xlogy(size, size)))  # all words are alike where none was met

    def log_belief(self) -> float:
        """Return the logarithm of the Dirichlet's density at the shares, up to a constant."""
        if self.family.complement:
            raise InvalidSetting(
                "Words(complement=True) scores a class by the words of all others, and such scores are no logarithms "
                "of a probability that could be maximised. To learn from rows without a label, set complement=False."
            )
        if self.settings.estimate != "map":
            return 0.0
        return float(np.where(self.imagined > 0, self.imagined * self.log_p, 0.0).sum())

    def say(self, column: str) -> str:
        """Say which words speak most for each class, against the others."""
        shown = np.where(np.isfinite(self.log_p), self.log_p, -50.0) * (-1.0 if self.family.complement else 1.0)
        lead = shown - (shown.sum(axis=0) - shown) / max(len(self.classes) - 1, 1)
        said = [[self.words.labels[j] for j in np.argsort(-line, kind="stable")[:3] if line[j] > 1e-9] for line in lead]
        parts = [
            f"{', '.join(map(str, words))} for {label}"
            for label, words in zip(self.classes.labels, said, strict=True)
            if words
        ]
        return (
            f"{column}: most telling are {enumerated(parts, '; ')}." if parts else f"{column}: all classes are alike."
        )


def normed(scores: Floats, total: Floats) -> Floats:
    """Return the scores divided by the sum of all weights; where only one word is possible it says nothing.

    The sum is then 0 up to rounding, while two possible words bring it to log 2 or more.
    """
    alone = total < 0.5
    return np.where(alone & np.isfinite(scores), 0.0, scores / np.where(alone, 1.0, total))


def finite_sum(log_p: Floats) -> Floats:
    """Return the sum over the words of each class, of the finite terms."""
    return np.asarray(np.where(np.isfinite(log_p), log_p, 0.0).sum(axis=1))


def coefficient(x: Any) -> Floats:
    """Return the logarithm of how many orders of the words there are, (Σx)! / Πx!, for each row."""
    rows, _, values = entries(x)
    return log_orders(rows, values, x.shape[0])


def log_orders(rows: Any, values: Floats, n_rows: int) -> Floats:
    """Return log (Σx)! / Πx! for the entries of each row."""
    return np.asarray(gammaln(row_sums(rows, values, n_rows) + 1) - row_sums(rows, gammaln(values + 1), n_rows))
