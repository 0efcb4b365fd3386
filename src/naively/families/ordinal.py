"""One level a row, of levels that have an order: school grades, answers from "never" to "always", groups of age."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from .._types import Codes, Floats, Label, Longs, Places
from ..errors import InvalidInput, InvalidSetting
from ..errors.message import OPEN_LEVELS, PythonOnly, Setting
from ..stats import Axis, Table
from ..stats.accumulators import as_codes
from ..stats.arithmetic import subtract
from . import proportions
from .categorical import Categorical, LogTable, scored_values
from .cumulants import Cumulants, proportion_cumulants
from .family import Settings, row_weights

NUMBER = re.compile(r"(\d+(?:\.\d+)?)")
# What a row that is shared keeps at its own level, and gives to each neighbor: the narrowest symmetric kernel.
OWN, NEIGHBOR = 0.5, 0.25
# Of more rows than these it pays to look for those that are alike.
MANY = 1 << 12


@dataclass(frozen=True)
class Ordinal:
    """One level a row: P(level | class) = (ñ + λ) / (N + S·λ) under ``bayes``, where neighbors share their counts.

    ñ = (1 − t)·n + t·(n₋ / 4 + n / 2 + n₊ / 4), with n₋ and n₊ the counts of the levels below and above (beyond the
    ends, of the end itself) and t = M / (N + M), M = tie·λ·S². So few rows are smoothed, and many hardly.

    Parameters
    ----------
    levels : sequence, optional
        The levels in their order, lowest first. By default those of a type that has an order, or numbers by size.
    smoothing : float, optional
        The pseudo-count λ of this column; by default the model's.
    tie : float, default=1.0
        How strongly counts are smoothed across neighbors: 0 is ``categorical``.

    Examples
    --------
    >>> import naively as nv
    >>> size = nv.Ordinal(levels=["small", "medium", "large"])
    >>> nb = nv.NaiveBayes(families={"size": size}, model="textbook")
    >>> nb.fit({"size": ["small", "large", "large"]}, ["a", "b", "b"]).predict({"size": "medium"})
    array(['b'], dtype='<U1')
    """

    levels: tuple[Label, ...] | None = None
    smoothing: float | None = None
    tie: float = 1.0

    name: ClassVar[str] = "ordinal"
    statistic: ClassVar[type[Table]] = Table

    def __post_init__(self) -> None:
        if not (isinstance(self.tie, Real) and 0 <= self.tie < np.inf):
            raise InvalidSetting(
                Setting("tie", self.tie, of="Ordinal()"), " must be finite and not negative; 0 for no tie."
            )
        if self.levels is not None:
            object.__setattr__(self, "levels", valid_levels(self.levels))

    def ordered(self, labels: Iterable[Label]) -> list[Label]:
        """Return labels in their order, the missing one left out; an error if they have none."""
        known = [label for label in labels if label is not None]
        met = set(known)
        return natural_order(known) if self.levels is None else [label for label in self.levels if label in met]

    def check(self, column: str, labels: Iterable[Label]) -> None:
        """Refuse labels that have no place among the levels."""
        known = [label for label in labels if label is not None]
        if self.levels is None:
            natural_order(known, column)
            return
        named = frozenset(self.levels)
        if strange := [label for label in known if label not in named]:
            raise InvalidInput(
                f"Column {column!r} holds {strange[0]!r}, which is none of its levels {shown_levels(self.levels)}. "
                "Correct the cell, or name all levels: ",
                Setting("families", {column: OPEN_LEVELS}),
                ".",
                column=column,
            )

    def estimate(self, statistic: Table, rows: Floats, classes: Axis, settings: Settings) -> OrdinalTable:
        """Return log P(level | class); the values of the table stand in the order of the levels."""
        settings = settings.alone(self.smoothing)
        known = Table(values=Axis.declared(self.levels or ())) + statistic
        values, n = scored_values(known, classes, settings)
        levels = self.ordered(values.labels)
        placed = set(levels)
        others = [label for label in values.labels if label not in placed]  # these have no neighbors
        laid = Axis.ordered([*levels, *others], values.fixed)
        family = Categorical(self.smoothing)
        return OrdinalTable(family, settings, classes, laid, n[:, values.places(laid.labels)], len(levels), self.tie)


@dataclass(frozen=True)
class OrdinalTable(LogTable):
    """The likelihood of one column of levels, given as codes: the levels first, in their order."""

    ordered: int = 0  # how many values are levels; others, such as the missing one, have no neighbors
    tie: float = 1.0

    @property
    def level_count(self) -> int:
        """How many values are levels that have an order; they come first."""
        return self.ordered

    leaves_out_in_python: ClassVar[bool] = True  # the counts of neighbors change, too

    def _strength(self, pseudo_counts: float) -> float:
        """Return how many rows the neighborhood is worth; two levels are neighbors in any order."""
        return self.tie * pseudo_counts * self.ordered**2 if self.ordered > 2 else 0.0

    def _share(self, n: Floats, pseudo_counts: float) -> Floats:
        """Return the part of the counts that is shared, given how many rows have a level."""
        strength = self._strength(pseudo_counts)
        return strength / (n + strength) if strength else np.zeros(np.shape(n))

    @cached_property
    def _with_level(self) -> Floats:
        """How many rows of each class have a level."""
        return np.asarray(self.n[:, : self.ordered].sum(axis=1))

    def mixed(self, x: Floats, pseudo_counts: float, power: int = 1) -> Floats:
        """Return what neighbors share of [class, value]: each value times its part of it, the parts to a power.

        Only neighbors share, so that the parts are three for each level; values beyond the levels keep all.
        """
        share, own = self._share(self._with_level, pseudo_counts)[:, None], np.full(self.ordered, OWN)
        own[:1] += NEIGHBOR  # beyond the ends there is nobody to give to
        own[-1:] += NEIGHBOR
        level, near, out = x[:, : self.ordered], (share * NEIGHBOR) ** power, np.array(x)
        out[:, : self.ordered] = (1 - share + share * own) ** power * level
        out[:, 1 : self.ordered] += near * level[:, :-1]
        out[:, : max(self.ordered - 1, 0)] += near * level[:, 1:]
        return out

    def shared(self, pseudo_counts: float) -> Floats:
        """Return the counts after neighbors have shared, [class, value]."""
        return self.mixed(self.n, pseudo_counts)

    @cached_property
    def _pseudo_count(self) -> float:
        return float(proportions.PSEUDO_COUNTS[self.settings.estimate](self.settings.column_smoothing))

    @cached_property
    def log_p(self) -> Floats:
        """Logarithms of P(value | class), [class, value]."""
        n = self.shared(self._pseudo_count)
        return self._log_share(n, self.n.sum(axis=1, keepdims=True), len(self.values), np.ones(1))

    @cached_property
    def cumulants(self) -> Cumulants:
        """The cumulants of log P(value | class), [value, class]; the last line is for values never seen.

        P is a mixture of a Dirichlet's shares; the Beta of the same mean and variance stands for it.
        """
        plain, pseudo_counts = super().cumulants, self.settings.column_smoothing
        if not self._strength(pseudo_counts):
            return plain
        whole = self.n.sum(axis=1) + (len(self.values) + self._slot) * pseudo_counts
        share = (self.n + pseudo_counts) / whole[:, None]
        mean, second = self.mixed(share, pseudo_counts), self.mixed(share, pseudo_counts, 2)
        rows = mean * (1 - mean) * (whole[:, None] + 1) / (second - mean**2) - 1
        part, of = proportion_cumulants(mean * rows, rows)
        return Cumulants(*(np.vstack([own.T, old[-1:]]) for own, old in zip(part - of, plain, strict=True)))

    def leave_one_out(self, x: Longs, y: Codes, weights: Floats | None = None, threads: int = 1) -> Floats:
        """Return log P(value | class) of each code as if its row had never been counted."""
        x, y, w = np.asarray(x).reshape(-1), as_codes(np.asarray(y)), row_weights(weights, len(x))
        if len(x) > MANY and w.min() == w.max():  # rows of the same value and class are alike
            _, first, which = np.unique(x * np.int64(len(self.classes)) + y, return_index=True, return_inverse=True)
            with suppress(InvalidInput):  # of a row that is refused the number is found below
                return np.asarray(self._left(x[first], y[first], w[first])[which])
        return self._left(x, y, w)

    def _left(self, x: Longs, y: Codes, w: Floats) -> Floats:
        self.check_counted(x, y, w)
        lines = np.vstack([self.log_p.T, self.log_unseen, np.zeros(len(self.classes))])
        code = np.where(x < 0, -1, np.minimum(x, len(self.values)))
        out = lines[code]
        counted = (code >= 0) & (w > 0)
        gone = counted & (subtract(self.left.seen[code], w) == 0) & (self.left.kept[code] == 0)
        stays = np.flatnonzero(counted & ~gone)
        out[stays, y[stays]] = self._own(code[stays], y[stays], w[stays])
        for row in np.flatnonzero(gone):  # rows whose value nobody else has: no more than there are values
            total = self.left.total.copy()
            total[y[row]] = subtract(total[y[row]], w[row])
            out[row] = self._log_unseen(total, len(self.values) - 1, np.ones(1))
        return out

    def _own(self, code: Places, y: Codes, w: Floats) -> Floats:
        """Return log P(value | own class) of values that stay known without the row."""
        n, total, level = subtract(self.n[y, code], w), subtract(self.left.total[y], w), code < self.ordered
        below, above = np.maximum(code - 1, 0), np.minimum(code + 1, max(self.ordered - 1, 0))
        near = [np.where(side == code, n, self.n[y, side]) for side in (below, above)]
        rows = subtract(self._with_level[y], np.where(level, w, 0.0))
        share = np.where(level, self._share(rows, self._pseudo_count), 0.0)
        spread = OWN * n + NEIGHBOR * (near[0] + near[1])
        return self._log_share((1 - share) * n + share * spread, total, len(self.values), np.ones(1))

    def log_prior_density(self) -> float:
        """Return 0 without a prior; counts that neighbors share are the mode of no prior."""
        if self._strength(self._pseudo_count):
            raise InvalidSetting(
                "levels that share with their neighbors maximize no likelihood. To learn from rows without a "
                "label set ",
                Setting("smoothing", 1),
                " or ",
                Setting("estimate", "mle"),
                ", ",
                Setting("tie", 0, of="nv.Ordinal()"),
                ", or the family 'categorical'.",
            )
        return super().log_prior_density()

    def fraction(self, k: int, code: int) -> str:
        """Return P(value | class k) as the textbook writes it, of the counts after neighbors have shared."""
        if not 0 <= code < self.ordered:
            return super().fraction(k, code)
        n = float(self.shared(self._pseudo_count)[k, code])
        return proportions.fraction(n, float(self.n[k].sum()), self._pseudo_count, len(self.values) + self._slot)


def valid_levels(levels: Iterable[Label]) -> tuple[Label, ...]:
    """Return levels as a tuple, if they are several and each stands once."""
    if isinstance(levels, (str, bytes)) or not hasattr(levels, "__iter__"):
        raise InvalidSetting(
            Setting("levels", levels, of="Ordinal()"),
            " must be a list of levels, lowest first: ['low', 'mid', 'high'].",
        )
    found = tuple(label.item() if isinstance(label, np.generic) else label for label in levels)
    if None in found or len(set(found)) < len(found):
        raise InvalidSetting(
            Setting("levels", list(found), of="Ordinal()"), " must name each level once, and no missing value."
        )
    return found


def natural_order(labels: Sequence[Any], column: str = "…") -> list[Any]:
    """Return numbers by size, and texts by the numbers in them; an error about this column if they have none.

    >>> natural_order(["grade 10", "grade 2"]), natural_order(["10", "-2.5"]), natural_order(["65+", "18-40"])
    (['grade 2', 'grade 10'], ['-2.5', '10'], ['18-40', '65+'])
    """
    if not all(isinstance(label, str) for label in labels):
        return sorted(labels)
    try:
        return sorted(labels, key=float)
    except ValueError:
        pass
    parts = {label: NUMBER.split(label) for label in labels}
    if len({cut[0] for cut in parts.values()}) > 1 or not all(len(cut) > 1 for cut in parts.values()):
        raise InvalidSetting(
            f"Column {column!r} is to be ordinal, but texts such as {', '.join(map(repr, sorted(labels)[:3]))} "
            "have no order of their own. Name the levels, lowest first: ",
            Setting("families", {column: OPEN_LEVELS}),
            PythonOnly(", or give a type that has an order, such as pandas.CategoricalDtype([…], ordered=True)"),
            ".",
            column=column,
        )
    return sorted(labels, key=lambda label: [float(p) if at % 2 else p for at, p in enumerate(parts[label])])


def shown_levels(levels: Sequence[Label]) -> str:
    """Return the first of some levels as they are written."""
    return " < ".join([repr(level) for level in levels[:6]] + ["…"] * (len(levels) > 6))
