"""Flags: whether each feature is present."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from .._kernels import Scorer
from .._types import Codes, Floats, Matrix, Numeric, Places
from ..errors.message import Setting
from ..stats import Axis, Table
from ..stats.arithmetic import subtract
from .family import (
    Cumulants,
    Settings,
    Smoothing,
    listed_parts,
    log_proportion,
    padded,
    proportion_cumulants,
    refuse,
    with_ruled_out,
)
from .wide import Split, WideLikelihood, add_products, cells_of, entries, product_sums, with_cells


@dataclass(frozen=True)
class Bernoulli:
    """Flags, each present or absent: P(present | class) = (n + λ) / (N + 2·λ) under ``bayes``.

    Dividing by N + d·λ, with d the number of flags, as some lecture notes do, gives two probabilities that do not sum
    to 1 unless d is 2.

    Parameters
    ----------
    threshold : float or None, default=0.0
        A cell above it is present. None: cells are 0 or 1 already, or the proportion of a row in which the flag is
        present.
    smoothing : float or array-like of shape (n_features,), optional
        The pseudo-count λ of this column, one for all flags or one each; by default the model's.

    Examples
    --------
    >>> import numpy as np
    >>> import naively as nv
    >>> nb = nv.NaiveBayes(families={"X": nv.Bernoulli()}, model="textbook")
    >>> nb.fit({"X": np.array([[1, 0], [0, 1], [1, 1]])}, ["a", "b", "a"]).predict({"X": np.array([[1, 0]])})
    array(['a'], dtype='<U1')
    """

    threshold: float | None = 0.0
    smoothing: Smoothing | None = None

    name: ClassVar[str] = "bernoulli"
    statistic: ClassVar[type[Table]] = Table

    def __post_init__(self) -> None:
        refuse(
            self.threshold is not None and not self.threshold >= 0,
            Setting("threshold", self.threshold),
            " must be 0 or more: cells a sparse matrix leaves out are 0, and absent.",
        )

    def estimate(self, statistic: Table, rows: Floats, classes: Axis, settings: Settings) -> FlagLikelihood:
        """Return the likelihood of the flags."""
        settings = settings.each(len(statistic.values), self.smoothing)
        n = statistic.on(classes)
        return FlagLikelihood(self, settings, classes, statistic.values, n, np.asarray(rows, float))


@dataclass(frozen=True)
class FlagLikelihood(WideLikelihood):
    """The likelihood of a matrix of flags, or of which words texts hold."""

    rows: Floats  # of each class

    def _log_share(self, n: Numeric, total: Numeric, columns: Places | slice = slice(None)) -> Floats:
        pseudo_counts = self.settings.pseudo_counts[columns]
        return log_proportion(n + pseudo_counts, total + 2 * pseudo_counts, 2.0)

    @cached_property
    def log_there(self) -> Floats:
        """Logarithms of P(there | class), [class, flag]."""
        return self._log_share(self.n, self.rows[:, None])

    @cached_property
    def log_absent(self) -> Floats:
        """Logarithms of P(absent | class), [class, flag]: from the absent rows, so that no digits are lost near 1."""
        return self._log_share(subtract(self.rows[:, None], self.n), self.rows[:, None])

    @cached_property
    def _base(self) -> Split:
        """The score of a row without any flag."""
        return Split.of(self.log_absent).sum(axis=1)

    @cached_property
    def _change(self) -> Floats:
        """What a flag that is there changes in that, [flag, class]."""
        return padded((Split.of(self.log_there).finite - Split.of(self.log_absent).finite).T)

    @cached_property
    def _ruled_out(self) -> list[tuple[float, Floats]]:
        """What a flag above a threshold changes in how often log 0 was added, [flag, class].

        Where cells are proportions of a row, any proportion there can rule a class out, and so can any one absent.
        """
        present, absent = (padded(Split.of(logs).ruled_out.T) for logs in (self.log_there, self.log_absent))
        given = self.family.threshold
        at_all, in_full = (0.0, float(np.nextafter(1.0, 0.0))) if given is None else (given, given)
        return [(above, table) for above, table in ((at_all, present), (in_full, -absent)) if table.any()]

    @property
    def each(self) -> Floats:
        """What each flag that is there adds to a row without flags, [flag, class]."""
        with np.errstate(invalid="ignore"):  # of a flag that is always there, absence rules out
            return np.asarray(np.nan_to_num((self.log_there - self.log_absent).T, nan=0.0, posinf=0.0, neginf=-np.inf))

    @property
    def linear(self) -> tuple[Floats, Floats | None]:
        """The score of a row without flags, and what each flag adds, [flag, class]; None if some rule a class out."""
        rules_out = bool(self._base.ruled_out.any() or self._ruled_out)
        return self._base.finite, None if rules_out else self._change[:, : len(self.classes)]

    def _add_matrix(self, scorer: Scorer, x: Matrix) -> None:
        scorer.constant(self._base.finite)
        add_products(scorer, x, self._change, self.family.threshold)
        if self._base.ruled_out.any() or self._ruled_out:
            scorer.constant(self._base.ruled_out, against=True)
        for threshold, table in self._ruled_out:
            add_products(scorer, x, table, threshold, against=True)

    def _parts(self, x: Matrix) -> Split:
        """Return the scores of rows in two parts."""
        shape = (x.shape[0], len(self.classes))
        parts = Split(np.empty(shape), np.empty(shape))
        of_finite, of_ruled_out = (Scorer(part) for part in self._base)
        add_products(of_finite, x, self._change, self.family.threshold)
        for threshold, table in self._ruled_out:
            add_products(of_ruled_out, x, table, threshold)
        of_finite.log_joint(parts.finite)
        of_ruled_out.log_joint(parts.ruled_out)
        return parts

    @cached_property
    def _sides(self) -> tuple[Cumulants, Cumulants, Cumulants]:
        """The cumulants of a present flag, of an absent one, and of the whole both are proportions of."""
        rows, pseudo_counts = np.broadcast_to(self.rows[:, None], self.n.shape), self.settings.value_smoothing
        whole = rows + 2 * pseudo_counts
        present, of_whole = proportion_cumulants(self.n + pseudo_counts, whole)
        return present, proportion_cumulants(subtract(rows, self.n) + pseudo_counts, whole)[0], of_whole

    def uncertainty(self, x: Matrix, threads: int = 1) -> Cumulants:
        """Return the cumulants of log P(flags | class), under a Beta posterior of each flag.

        A flag present in the proportion v of a row contributes v·log θ + (1 - v)·log(1 - θ).
        """
        x, threshold = self.matrix(x), self.family.threshold
        v = cells_of(x) if threshold is None else (cells_of(x) > threshold).astype(np.float64)
        figures = []
        for order, (there, absent, whole) in enumerate(zip(*self._sides, strict=True), 1):
            figure = product_sums(with_cells(x, v**order), there.T, None, threads)
            figure += product_sums(with_cells(x, (1 - v) ** order - 1), absent.T, None, threads)
            figures.append(figure + (absent - whole).sum(axis=1))
        if np.all(self.settings.value_smoothing > 0):
            return Cumulants(*figures)
        full = replace(self, settings=self.settings.full())
        return with_ruled_out(Cumulants(*figures), full.matrix_scores(x, threads))

    def _without_rows(self, x: Matrix, y: Codes, w: Floats, threads: int) -> Floats:
        rows, columns, values = entries(x, self.family.threshold)
        gone = self.known_by_row_alone(columns, w[rows] * values)
        present, absent = (Split.of(logs.T[columns[gone]]) for logs in (self.log_there, self.log_absent))
        lost = present * values[gone][:, None] + absent * (1 - values[gone])[:, None]
        parts = self._parts(x) - lost.row_sums(rows[gone], len(y))
        # The own class changes in every flag: those of a row without flags first, then those that are there.
        absent = self._left_out(y[rows], columns, w[rows], np.zeros(len(rows)))
        there = self._left_out(y[rows], columns, w[rows], values) * (~gone).astype(np.float64)
        change = (there - absent).row_sums(rows, len(y))
        for row, (k, weight) in enumerate(zip(y.tolist(), w.tolist(), strict=True)):
            empty = self._empty_row(k, weight)
            parts.finite[row, k] = empty.finite + change.finite[row]
            parts.ruled_out[row, k] = empty.ruled_out + change.ruled_out[row]
        return parts.whole()

    def _empty_row(self, k: int, weight: float) -> Split:
        """Return the score of class k for a row without flags when it is left out; of each class and weight once."""
        if (k, weight) not in self._empty_rows:
            flags, none = np.arange(len(self.features)), np.zeros(len(self.features))
            self._empty_rows[k, weight] = self._left_out(0 * flags + k, flags, none + weight, none).sum(axis=0)
        return self._empty_rows[k, weight]

    @cached_property
    def _empty_rows(self) -> dict[tuple[int, float], Split]:
        return {}

    def _left_out(self, k: Codes | Places, columns: Places, w: Floats, values: Floats) -> Split:
        """Return the contributions of flags to class k, present by these values, when their own row is left out."""
        total = subtract(self.rows[k], w)
        there = subtract(self.n[k, columns], w * values)
        present, absent = (self._log_share(n, total, columns) for n in (there, subtract(total, there)))
        return Split.of(present) * values + Split.of(absent) * (1 - values)

    def log_prior_density(self) -> float:
        """Return the logarithm of the beta density at the probabilities, up to a constant."""
        if self.settings.estimate != "map":
            return 0.0
        both, pseudo_counts = self.log_there + self.log_absent, self.settings.pseudo_counts
        return float(np.where(pseudo_counts > 0, pseudo_counts * both, 0.0).sum())

    def table(self, labels: Sequence[str]) -> Mapping[str, object]:
        """Return P(there | class) as columns of a frame, a line for each flag."""
        return self.feature_table(labels, np.exp(self.log_there))

    def describe(self, column: str) -> str:
        """Return a sentence on which flags are more frequent in each class than in the others."""
        if not len(self.features):
            return f"{column}: nothing was counted."
        p = np.exp(self.log_there)
        lead = p - (p.sum(axis=0) - p) / max(len(self.classes) - 1, 1)
        parts = [
            f"{label} has {self.features.labels[j]} in {p[k, j]:.0%} of its rows"
            for k, label in enumerate(self.classes.labels)
            for j in [int(lead[k].argmax())]
        ]
        return f"{column}: {listed_parts(parts)}."
