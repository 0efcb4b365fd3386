"""Wide columns whose values are adjusted: what words say of rows left out, and adjustments as they are scored."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ..._kernels import Scorer
from ..._types import Codes, Floats
from ...families.family import padded
from ...families.texts import TextWeights, Vocabulary
from ...families.wide import add_products, entries, known_by_this_row_alone, row_sums, weighted_row_sums
from ...stats import Axis
from ...stats.arithmetic import take_away
from .features import scaled_words


def words_without(said: Any, x: Any, scaled: Any, y: Codes, w: Floats, threads: int) -> Floats:
    """Return what words, as they are weighed, say of each row, left out of the counts of its words.

    A word that nobody else used and nobody declared is unknown without its row, and says nothing.
    """
    n_rows, imagined = x.shape[0], np.maximum(said.imagined, 1e-10)
    scaled, (rows, columns, values) = scaled.sorted_indices(), entries(sparse.csr_array(x).sorted_indices())
    taken, weighed = w[rows] * values, scaled.data[scaled.data != 0]
    gone = known_by_this_row_alone(
        said.n.sum(axis=0), said.words.kept(np.zeros(len(said.words), dtype=bool)), columns, taken
    )
    logs = np.log(said.n + imagined).T
    parts = weighted_row_sums(scaled, logs, 1, threads) - row_sums(
        rows[gone], weighed[gone, None] * logs[columns[gone]], n_rows
    )
    own = take_away(said.n[y[rows], columns], taken) + imagined[columns]
    change = np.where(gone, 0.0, weighed * (np.log(own) - logs[columns, y[rows]]))
    parts[np.arange(n_rows), y] += row_sums(rows, change, n_rows)
    lost = row_sums(rows[gone], imagined[columns[gone]], n_rows)
    whole = said.n.sum(axis=1) + (imagined.sum() - lost)[:, None]
    whole[np.arange(n_rows), y] -= row_sums(rows, taken, n_rows)
    length = row_sums(rows, np.where(gone, 0.0, weighed), n_rows)
    return np.asarray(parts - length[:, None] * np.log(np.maximum(whole, 1e-10)))


@dataclass(frozen=True)
class Wide:
    """What each value of a wide column says, times how much of it there is."""

    classes: Axis
    table: Floats  # [value, class]
    threshold: float | None = None

    @cached_property
    def _laid(self) -> Floats:
        return padded(self.table)

    def add_to(self, scorer: Scorer, x: Any, holes: bool = True) -> None:
        """Have what the values say added to the scores."""
        add_products(scorer, x, self._laid, self.threshold)


@dataclass(frozen=True)
class Scaled:
    """The words of texts one by one, as they are weighed, beside what they say as they are, if they do."""

    bag: TextWeights
    weighed: Wide
    plain: Any = None

    @property
    def words(self) -> Vocabulary:
        """The words, in the order of their columns."""
        return self.bag.words

    @property
    def table(self) -> Floats:
        """What one of each word says, at its strongest, [word, class]."""
        plain = 0.0 if self.plain is None else self.plain.weight * self.bag.inner.each
        return np.asarray(self.weighed.table + plain)

    def by_word(self, x: Any) -> tuple[Codes, Floats]:
        """Return the numbers of the words of a single row, and what each says about each class, [word, class]."""
        row = scaled_words(self.bag.matrix(x))
        scores = row.data[:, None] * self.weighed.table[row.indices]
        plain = 0.0 if self.plain is None else self.plain.by_word(x)[1]
        return self.words.numbers[row.indices], scores + plain


@dataclass(frozen=True)
class Both:
    """Two likelihoods of the same column."""

    first: Any
    second: Any

    @property
    def classes(self) -> Axis:
        """The classes, in the order of the scores."""
        classes: Axis = self.first.classes
        return classes

    def add_to(self, scorer: Scorer, x: Any, holes: bool = True) -> None:
        """Have what both say added to the scores."""
        self.first.add_to(scorer, x, holes)
        self.second.add_to(scorer, x, holes)
