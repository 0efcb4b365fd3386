"""One level a row, of levels that have an order: school grades, "never" to "always", age groups."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from .._types import Codes, Floats, Label, Longs
from ..errors import InvalidInput, InvalidSetting
from ..errors.message import OPEN_LEVELS, PythonOnly, Setting
from ..stats import Axis, Table
from ..stats.arithmetic import subtract
from .categorical import Categorical, LogTable, LogTables, scored_values
from .family import Cumulants, Settings, proportion_cumulants

NUMBER = re.compile(r"(\d+(?:\.\d+)?)")
# What a row that is shared keeps at its own level, and gives to each neighbor: the narrowest symmetric kernel.
OWN, NEIGHBOR = 0.5, 0.25


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
        present = set(known)
        return natural_order(known) if self.levels is None else [label for label in self.levels if label in present]

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

    def estimate(self, statistic: Table, rows: Floats, classes: Axis, settings: Settings) -> LogTables:
        """Return log P(level | class); the values of the table stand in the order of the levels."""
        settings = settings.alone(self.smoothing)
        known = Table(values=Axis.declared(self.levels or ())) + statistic
        values, n = scored_values(known, classes, settings)
        levels = self.ordered(values.labels)
        placed = set(levels)
        others = [label for label in values.labels if label not in placed]  # these have no neighbors
        laid = Axis.ordered([*levels, *others], values.fixed)
        n = n[:, values.places(laid.labels)]
        return LogTables(
            classes, (OrdinalTable(Categorical(self.smoothing), settings, classes, laid, n, len(levels), self.tie),)
        )


@dataclass(frozen=True)
class OrdinalTable(LogTable):
    """The log-likelihoods of one column of levels, given as codes: the levels first, in their order."""

    ordered: int  # how many values are levels; others, such as the missing one, have no neighbors
    tie: float

    neighbors_share: ClassVar[bool] = True

    @property
    def level_count(self) -> int:
        """How many values are levels that have an order; they come first."""
        return self.ordered

    def _share(self, pseudo_count: float) -> Floats:
        """Return the part of the counts of each class that neighbors share; two levels are neighbors in any order."""
        strength = self.tie * pseudo_count * self.ordered**2 if self.ordered > 2 else 0.0  # in rows
        with_level = self.n[:, : self.ordered].sum(axis=1)
        return strength / (with_level + strength) if strength else np.zeros(len(self.n))

    def mixed(self, x: Floats, share: Floats, power: int = 1) -> Floats:
        """Return what neighbors share of [class, value]: each value times its part of it, the parts to a power.

        Only neighbors share, so that there are three parts for each level; values beyond the levels keep all.
        """
        share, own = share[:, None], np.full(self.ordered, OWN)
        own[:1] += NEIGHBOR  # the outermost levels have one neighbor
        own[-1:] += NEIGHBOR
        level, near, out = x[:, : self.ordered], (share * NEIGHBOR) ** power, np.array(x)
        out[:, : self.ordered] = (1 - share + share * own) ** power * level
        out[:, 1 : self.ordered] += near * level[:, :-1]
        out[:, : max(self.ordered - 1, 0)] += near * level[:, 1:]
        return out

    @cached_property
    def _counted(self) -> Floats:
        """The counts after neighbors have shared, [class, value]."""
        return self.mixed(self.n, self._share(self._pseudo_count))

    @cached_property
    def cumulants(self) -> Cumulants:
        """The cumulants of log P(value | class), [value, class]; the last line is for values never seen.

        P is a mixture of a Dirichlet's shares; the Beta of the same mean and variance stands for it.
        """
        pseudo_count, plain = self.settings.column_smoothing, super().cumulants
        shared = self._share(pseudo_count)
        if not shared.any():
            return plain
        whole = self.n.sum(axis=1) + self.size * pseudo_count
        share = (self.n + pseudo_count) / whole[:, None]
        mean, second = self.mixed(share, shared), self.mixed(share, shared, 2)
        rows = mean * (1 - mean) * (whole[:, None] + 1) / (second - mean**2) - 1
        part, of = proportion_cumulants(mean * rows, rows)
        return Cumulants(*(np.vstack([own.T, old[-1:]]) for own, old in zip(part - of, plain, strict=True)))

    def without_rows(self, x: Longs, y: Codes, w: Floats) -> Floats:
        """Return log P(value | class) of each code as if its row had never been counted."""
        self.check_counted(x, y, w)
        rows = np.stack([np.minimum(x, len(self.values)), y, w])
        alike, which = np.unique(rows, axis=1, return_inverse=True)
        result = [self._without_row(int(code), int(k), weight) for code, k, weight in alike.T]
        return np.reshape(result, (-1, len(self.classes)))[which.reshape(-1)]

    def _without_row(self, code: int, k: int, weight: float) -> Floats:
        """Return log P(value | class) of a code from the counts without its row."""
        if code < 0:
            return np.zeros(len(self.classes))
        if code == len(self.values) or not weight:
            return np.asarray(self.lines[code])
        n = np.array(self.n)
        n[k, code : code + 1] = subtract(n[k, code : code + 1], np.array([weight]))
        if n[:, code].any() or self.values.stays[code]:
            return np.asarray(replace(self, n=n).lines[code])
        others = np.arange(len(self.values)) != code  # no other row has the value, which is not known then
        ordered = self.ordered - (code < self.ordered)
        return replace(self, n=n[:, others], values=self.values.only(others), ordered=ordered).log_unseen

    def log_prior_density(self) -> float:
        """Return 0 without a prior; counts that neighbors share are not the mode of any prior."""
        if self._share(self._pseudo_count).any():
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


def valid_levels(levels: Iterable[Label]) -> tuple[Label, ...]:
    """Return levels as a tuple, if they are several and each stands once."""
    if isinstance(levels, (str, bytes)) or not hasattr(levels, "__iter__"):
        raise InvalidSetting(
            Setting("levels", levels, of="Ordinal()"),
            " must be a list of levels, lowest first: ['low', 'mid', 'high'].",
        )
    result = tuple(label.item() if isinstance(label, np.generic) else label for label in levels)
    if None in result or len(set(result)) < len(result):
        raise InvalidSetting(
            Setting("levels", list(result), of="Ordinal()"), " must name each level once, and no missing value."
        )
    return result


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
    return sorted(labels, key=lambda label: [float(p) if index % 2 else p for index, p in enumerate(parts[label])])


def shown_levels(levels: Sequence[Label]) -> str:
    """Return the first of some levels as they are written."""
    return " < ".join([repr(level) for level in levels[:6]] + ["…"] * (len(levels) > 6))
