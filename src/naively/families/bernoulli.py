"""Flags: whether each feature is present."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from .._kernels import Scorer
from .._types import Codes, Floats, Mask, Matrix, Numeric, Places
from ..errors import InvalidSetting
from ..errors.message import Setting
from ..stats import Axis, Table
from ..stats.arithmetic import subtract
from . import proportions
from .cumulants import Cumulants, proportion_cumulants, with_ruled_out
from .family import FeatureAxis, Settings, Smoothing, listed_parts, padded, row_blocks, row_weights, scores_of
from .wide import Split, add_products, entries, known_by_this_row_alone, presence, stored_cells, weighted_row_sums

# A flag present in the proportion v of a row contributes v·log θ + (1 - v)·log(1 - θ). For each cumulant, the powers of
# v and what they are multiplied with of the cumulants of both logarithms; beside the row without any flag.
POWERS = (
    ((1, 1, -1),),
    ((2, 1, 1), (1, 0, -2)),
    ((3, 1, -1), (2, 0, 3), (1, 0, -3)),
    ((4, 1, 1), (3, 0, -4), (2, 0, 6), (1, 0, -4)),
)


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
        if self.threshold is not None and not self.threshold >= 0:
            raise InvalidSetting(
                Setting("threshold", self.threshold),
                " must be 0 or more: cells a sparse matrix leaves out are 0, and absent.",
            )

    def estimate(self, statistic: Table, rows: Floats, classes: Axis, settings: Settings) -> FlagLikelihood:
        """Return the likelihood of the flags."""
        settings = settings.each(len(statistic.values), self.smoothing)
        return FlagLikelihood(self, settings, classes, statistic.values, statistic.on(classes), np.asarray(rows, float))


@dataclass(frozen=True)
class FlagLikelihood:
    """The likelihood of a matrix of flags, dense or sparse."""

    family: Bernoulli
    settings: Settings
    classes: Axis
    values: FeatureAxis
    n: Floats
    rows: Floats

    @cached_property
    def pseudo_counts(self) -> Floats:
        """The pseudo-counts of rows with each flag, and as many without it."""
        return np.asarray(proportions.PSEUDO_COUNTS[self.settings.estimate](self.settings.value_smoothing))

    def _log_share(self, n: Numeric, total: Numeric, pseudo_counts: Numeric) -> Floats:
        return proportions.log_proportion(n + pseudo_counts, total + 2 * pseudo_counts, 2.0)

    @cached_property
    def log_there(self) -> Floats:
        """Logarithms of P(there | class), [class, flag]."""
        return self._log_share(self.n, self.rows[:, None], self.pseudo_counts)

    @cached_property
    def log_absent(self) -> Floats:
        """Logarithms of P(absent | class), [class, flag]: from the absent rows, so that no digits are lost near 1."""
        return self._log_share(
            subtract(np.broadcast_to(self.rows[:, None], self.n.shape), self.n), self.rows[:, None], self.pseudo_counts
        )

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

        Where cells are shares of a row, any share there can rule a class out, and so can any share absent.
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
        """The score of a row without flags, and what each flag adds, [flag, class]; if none rules a class out."""
        rules_out = bool(self._base.ruled_out.any() or self._ruled_out)
        return self._base.finite, None if rules_out else self._change[:, : len(self.classes)]

    def add_to(self, scorer: Scorer, x: Matrix, missing: bool = True) -> None:
        """Have log P(flags | class) added to the scores."""
        scorer.constant(self._base.finite)
        add_products(scorer, x, self._change, self.family.threshold)
        if self._base.ruled_out.any() or self._ruled_out:
            scorer.constant(self._base.ruled_out, against=True)
        for threshold, table in self._ruled_out:
            add_products(scorer, x, table, threshold, against=True)

    def log_likelihood(self, x: Matrix, threads: int = 1) -> Floats:
        """Return log P(flags | class) as [row, class]."""
        return scores_of(self, x, threads)

    def _parts(self, x: Matrix) -> Split:
        """Return the same in two parts."""
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
        n, rows, pseudo_counts = self.n, self.rows[:, None], self.settings.value_smoothing
        whole = np.broadcast_to(rows, n.shape) + 2 * pseudo_counts
        present, of_whole = proportion_cumulants(n + pseudo_counts, whole)
        return (
            present,
            proportion_cumulants(subtract(np.broadcast_to(rows, n.shape), n) + pseudo_counts, whole)[0],
            of_whole,
        )

    def uncertainty(self, x: Matrix, threads: int = 1) -> Cumulants:
        """Return the cumulants of log P(flags | class), under a Beta posterior of each flag."""
        flags, whole_rows = presence(x, self.family.threshold), self.family.threshold is not None
        figures = []
        for powers, of_there, absent, whole in zip(POWERS, *self._sides, strict=True):
            figure = np.tile((absent - whole).sum(axis=1), (x.shape[0], 1))
            for power, a, b in POWERS[0] if whole_rows else powers:
                figure += weighted_row_sums(flags, (a * of_there + b * absent).T, power, threads)
            figures.append(figure)
        found, full = Cumulants(*figures), replace(self, settings=self.settings.full())
        return with_ruled_out(found, full, x, threads) if np.any(self.settings.value_smoothing == 0) else found

    def leave_one_out(self, x: Matrix, y: Codes, weights: Floats | None = None, threads: int = 1) -> Floats:
        """Return log P(flags | class) of each row as if it had never been counted."""
        w, y = row_weights(weights, x.shape[0]), np.asarray(y)
        none, out = self._all_absent(y, w), np.empty((x.shape[0], len(self.classes)))
        for rows in row_blocks(x.shape[0], stored_cells(x) // max(x.shape[0], 1) + 1):
            absent = Split(*(part[rows] for part in none))
            out[rows] = self._without_own(x[rows], y[rows], w[rows], absent)
        return out

    def _without_own(self, x: Matrix, y: Codes, w: Floats, none: Split) -> Floats:
        """Return the scores of a block of rows, given those of their own classes if no flag were there."""
        rows, columns, values = entries(x, self.family.threshold)
        gone = known_by_this_row_alone(*self._met, columns, w[rows] * values)
        parts = self._parts(x) - self._flags(rows[gone], columns[gone], values[gone], x.shape[0])
        own = none + self._changes(columns, y[rows], w[rows], values, gone).row_sums(rows, x.shape[0])
        at = np.arange(x.shape[0]), y
        parts.finite[at], parts.ruled_out[at] = own
        return parts.whole()

    @cached_property
    def _met(self) -> tuple[Floats, Mask]:
        """How often each flag was there, and whether it stays known if it was not."""
        return np.asarray(self.n.sum(axis=0)), self.values.kept(np.zeros(len(self.values), dtype=bool))

    def _flags(self, rows: Places, columns: Places, values: Floats, n_rows: int) -> Split:
        """Return the contributions of these entries, added up for each row and class."""
        present, absent = (Split.of(table.T[columns]) for table in (self.log_there, self.log_absent))
        return (present * values[:, None] + absent * (1 - values)[:, None]).row_sums(rows, n_rows)

    def _all_absent(self, y: Codes, w: Floats) -> Split:
        """Return the score of each row's own class without it, as if no flag were there."""
        kinds, kind = np.unique(w, return_inverse=True)
        pairs, which = np.unique(y + len(self.classes) * kind, return_inverse=True)
        flags, sums = np.arange(len(self.values)), [Split(np.zeros(0), np.zeros(0))]
        for block in row_blocks(len(pairs), len(flags)):
            k, weight = pairs[block] % len(self.classes), kinds[pairs[block] // len(self.classes)]
            sums.append(self._absent(flags, k[:, None], weight[:, None]).sum(axis=1))
        return Split(*(np.concatenate(part)[which] for part in zip(*sums, strict=True)))

    def _changes(self, columns: Places, k: Codes, w: Floats, values: Floats, gone: Mask) -> Split:
        """Return what entries change in the score of their own class, without their row, over absent flags."""
        if (w != 1).any() or (values != 1).any():
            return self._there(columns, k, w, values).only(~gone) - self._absent(columns, k, w)
        present, absent = self._whole_rows
        changes = Split(*(table[k, columns] for table in present))
        for part, table in zip(changes, absent, strict=True):
            part[gone] = -table[k[gone], columns[gone]]
        return changes

    @cached_property
    def _whole_rows(self) -> tuple[Split, Split]:
        """What a flag that is there changes over an absent one, and that one, [class, flag], for rows of weight 1."""
        flags, of_class, one = np.arange(len(self.values)), np.arange(len(self.classes))[:, None], np.ones(self.n.shape)
        absent = self._absent(flags, of_class, one)
        return self._there(flags, of_class, one, one) - absent, absent

    def _absent(self, columns: Places, k: Codes | Places, w: Floats) -> Split:
        """Return the contribution of an absent flag to class k when w rows without the flag are left out of it."""
        total = subtract(*np.broadcast_arrays(self.rows[k], w))
        n = subtract(*np.broadcast_arrays(total, self.n[k, columns]))
        return Split.of(self._log_share(n, total, self.pseudo_counts[columns]))

    def _there(self, columns: Places, k: Codes | Places, w: Floats, values: Floats) -> Split:
        """Return the contributions of these entries to class k when their own row is left out of it."""
        total = subtract(*np.broadcast_arrays(self.rows[k], w))
        met = subtract(self.n[k, columns], w * values)
        counts = (met, subtract(total, met))
        present, absent = (Split.of(self._log_share(n, total, self.pseudo_counts[columns])) for n in counts)
        return present * values + absent * (1 - values)

    def log_prior_density(self) -> float:
        """Return the logarithm of the beta density at the probabilities, up to a constant."""
        if self.settings.estimate != "map":
            return 0.0
        both = self.log_there + self.log_absent
        return float(np.where(self.pseudo_counts > 0, self.pseudo_counts * both, 0.0).sum())

    def table(self, labels: Sequence[str]) -> Mapping[str, object]:
        """Return P(there | class) as columns of a frame, a line for each flag."""
        return {"feature": np.arange(len(self.values)), **dict(zip(labels, np.exp(self.log_there), strict=True))}

    def describe(self, column: str) -> str:
        """Return a sentence on which flags are more frequent in each class than in the others."""
        if not len(self.values):
            return f"{column}: nothing was counted."
        p = np.exp(self.log_there)
        lead = p - (p.sum(axis=0) - p) / max(len(self.classes) - 1, 1)
        parts = [
            f"{label} has {self.values.labels[j]} in {p[k, j]:.0%} of its rows"
            for k, label in enumerate(self.classes.labels)
            for j in [int(lead[k].argmax())]
        ]
        return f"{column}: {listed_parts(parts)}."
