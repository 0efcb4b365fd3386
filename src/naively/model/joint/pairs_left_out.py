"""Leave-one-out terms of pairs of columns, all of them in a few calls of the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..._kernels import leave_one_out_pairs
from ..._threads import threads_here
from ..._types import Floats, Singles
from ...families.family import padded
from .pair_tables import PairTermArrays
from .term_gains import TermGains
from .terms import LeaveOneOut, Term


class PairsLeftOut:
    """Some terms of pairs, of rows that each have one class."""

    def __init__(self, held: LeaveOneOut, terms: Sequence[Term]) -> None:
        self.held, self.terms = held, terms
        arrays = PairTermArrays.of(held.counts, {pair_and_level(term): 1.0 for term in terms})
        self._which = arrays.bins, arrays.first, arrays.second, arrays.level

    @cached_property
    def _shape(self) -> tuple[int, int]:
        """The rows, and the classes."""
        return len(self.held.sample.y), len(self.held.counts.joint.classes)

    def _run(self, **request: Any) -> None:
        counts, sample, rows = self.held.counts, self.held.sample, self.held.rows
        left_out = np.ascontiguousarray(rows.weights, dtype=np.float64)
        pseudo = counts.recipe.pair_pseudo_count
        about = counts.joint.products, counts.grid.offsets, *self._which, left_out, pseudo
        leave_one_out_pairs(sample.cells.codes, rows.y, *about, **request, threads=threads_here())

    def sums_and_gains(self, gains: TermGains) -> tuple[Singles, Floats]:
        """Return the sum of all terms, [class, row], and the gain of each."""
        n, classes = self._shape
        total = padded(np.zeros((n, classes)))
        slope, curve = np.zeros(len(self.terms)), np.zeros(len(self.terms))
        p, error = (padded(np.ascontiguousarray(part.T, dtype=np.float64)) for part in (gains.p, gains.error))
        weights = gains.rows.astype(np.float64)
        self._run(sum=total, p=p, error=error, weights=weights, slope=slope, curve=curve)
        return total[:, :classes].T.astype(np.float32), slope * np.abs(slope) / (2 * (curve + 1.0))

    def values(self) -> Singles:
        """Return the values of all terms, [term, class, row]."""
        n, classes = self._shape
        out = np.empty((len(self.terms), classes, n), dtype=np.float32)
        self._run(values=out)
        return out

    def weighted(self, weights: Floats) -> Floats:
        """Return the sum of all terms, each times its weight, [class, row]."""
        n, classes = self._shape
        total = padded(np.zeros((n, classes)))
        self._run(by=weights, total=total)
        return np.asarray(total[:, :classes].T)


def pair_and_level(term: Term) -> tuple[int, int, int]:
    """Return the columns and the level of a term of a pair."""
    (i, j), level = term.columns, term.level
    assert isinstance(level, int)
    return i, j, level
