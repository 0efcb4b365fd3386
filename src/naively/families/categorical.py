"""One label a row: a colour, a country, a code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import _kernels
from .._kernels import Scorer
from .._types import Codes, Floats, Label, Longs, Numeric
from ..errors import InvalidInput, InvalidSetting
from ..errors.message import RowNumber, Setting
from ..stats import Axis, Table, Tables
from ..stats.accumulators import as_codes, as_weights, offsets_of
from ..stats.arithmetic import divide, subtract
from ..stats.axis import is_missing
from . import proportions
from .cumulants import Cumulants, proportion_cumulants, with_ruled_out
from .family import Settings, Smoothing, check_scored, listed_parts, padded, row_weights, scores_of, shown_label
from .wide import Split


@dataclass(frozen=True)
class Categorical:
    """One label a row: P(value | class) = (n + λ) / (N + S·λ) under ``bayes``, Laplace's rule.

    Parameters
    ----------
    smoothing : float, optional
        The pseudo-count λ of this column; by default the model's.
    spread : {"even", "overall"}, default="even"
        Whether each value gets λ, or λ is distributed by how frequent the values are overall (the m-estimate; a
        declared value that was never seen counts as one row then, so that it stays possible).

    Examples
    --------
    >>> import naively as nv
    >>> nb = nv.NaiveBayes(families={"color": nv.Categorical(smoothing=0.5)}, model="textbook")
    >>> nb.fit({"color": ["red", "blue", "red"]}, ["a", "b", "a"]).predict({"color": "red"})
    array(['a'], dtype='<U1')
    """

    smoothing: Smoothing | None = None
    spread: Literal["even", "overall"] = "even"

    name: ClassVar[str] = "categorical"
    statistic: ClassVar[type[Table]] = Table

    def __post_init__(self) -> None:
        if self.spread not in ("even", "overall"):
            raise InvalidSetting(Setting("spread", self.spread), " is unknown; use 'even' or 'overall'.")

    def estimate(self, statistic: Table, rows: Floats, classes: Axis, settings: Settings) -> LogTable:
        """Return log P(value | class)."""
        settings = settings.alone(self.smoothing)
        if self.spread == "overall" and settings.estimate == "map":
            raise InvalidSetting("spread='overall' gives rare values a λ below 1, which estimate='map' cannot use.")
        return LogTable(self, settings, classes, *scored_values(statistic, classes, settings))

    def estimate_all(self, statistic: Tables, rows: Floats, classes: Axis, settings: Settings) -> LogTables:
        """Return log P(value | class) for each column of a matrix of codes."""
        return LogTables(classes, tuple(self.estimate(table, rows, classes, settings) for table in statistic.tables))


def once_at_least(met: Floats) -> Floats:
    """Return the counts of values, taking those never seen as seen once."""
    return np.where(met > 0, met, 1.0)


def scored_values(table: Table, classes: Axis, settings: Settings) -> tuple[Axis, Floats]:
    """Return the values that are scored, and their counts [class, value]: without the missing one if it is skipped."""
    n, missing = table.on(classes), table.values.place(None)
    if settings.missing == "value" or missing < 0:
        return table.values, n
    keep = np.arange(len(table.values)) != missing
    known = Axis.ordered((v for v in table.values.labels if v is not None), set(table.values.fixed) - {None})
    return known, n[:, keep]


class LeaveOneOutCounts(NamedTuple):
    """What a row of one column is taken out of; the last line stands for values never seen."""

    n: Floats  # counts of each value with each class, [value, class]
    seen: Floats  # how often in all
    kept: Floats  # whether it stays known without any row
    total: Floats  # rows of each class
    column: Floats  # pseudo-count, number of values, sum of frequencies; whether λ is spread, has a slot, refuses


@dataclass(frozen=True)
class LogTable:
    """The likelihood of one column of labels, given as codes: a value's place on the axis, -1 if missing."""

    family: Categorical
    settings: Settings
    classes: Axis
    values: Axis
    n: Floats

    leaves_out_in_python: ClassVar[bool] = False  # whether leaving a row out is more than the compiled form can do

    @property
    def level_count(self) -> int:
        """How many values are levels that have an order; they come first."""
        return 0

    @cached_property
    def log_p(self) -> Floats:
        """Logarithms of P(value | class), [class, value]."""
        total, common = self.n.sum(axis=1, keepdims=True), self._common
        return self._log_share(self.n, total, len(self.values), divide(common, common.sum() + self._slot))

    @cached_property
    def log_unseen(self) -> Floats:
        """The log-likelihood of a value never seen."""
        return self._log_unseen(self.n.sum(axis=1), len(self.values), self._common.sum() + self._slot)

    @cached_property
    def _slot(self) -> bool:
        """Whether there is one more value, for all that were never seen."""
        return self.settings.unseen == "smooth"

    @cached_property
    def _common(self) -> Floats:
        """How common each value is overall, as λ is spread; those never seen, and the slot, as if seen in one row."""
        return once_at_least(self.n.sum(axis=0))

    def _log_share(self, n: Numeric, total: Numeric, size: Numeric, overall: Numeric) -> Floats:
        """Return log P(value | class), given counts, the number of values and the value's overall proportion."""
        pseudo_counts = proportions.PSEUDO_COUNTS[self.settings.estimate](self.settings.column_smoothing)
        return proportions.log_proportion(*self._sides(n, total, size, overall, pseudo_counts), size + self._slot)

    def _sides(
        self, n: Numeric, total: Numeric, size: Numeric, overall: Numeric, pseudo_counts: Numeric
    ) -> tuple[Numeric, Numeric]:
        """Return the rows of a value and of its class, both with pseudo-counts."""
        if self.family.spread == "even":
            return n + pseudo_counts, total + (size + self._slot) * pseudo_counts
        return n + pseudo_counts * overall, total + pseudo_counts

    @cached_property
    def cumulants(self) -> Cumulants:
        """The cumulants of log P(value | class), [value, class]; the last line is for values never seen."""
        common, total = np.append(self._common, 1.0), self.n.sum(axis=1, keepdims=True)
        overall = common / (self._common.sum() + self._slot or 1.0)
        n = np.column_stack([self.n, np.zeros(len(self.n))])
        sides = self._sides(n, total, len(self.values), overall, self.settings.column_smoothing)
        part, whole = proportion_cumulants(*sides)
        silent = (np.arange(len(common)) == len(self.values)) & (not self._slot)
        return Cumulants(*(np.where(silent, 0.0, figure).T for figure in part - whole))

    def _log_unseen(self, total: Floats, size: Numeric, common: Numeric) -> Floats:
        if not self._slot:
            return np.zeros(total.shape)
        return self._log_share(0.0, total, size, 1 / common)

    def codes(self, labels: Iterable[Label]) -> Longs:
        """Return the code of each label: its place, the number of values if never seen, -1 if missing and skipped."""
        unseen, scored = len(self.values), self.settings.missing == "value"
        return np.fromiter(
            (-1 if is_missing(v) and not scored else self._place(v) % (unseen + 1) for v in labels),
            dtype=np.int64,
        )

    def _place(self, label: Label) -> int:
        return self.values.place(None if is_missing(label) else label)

    @cached_property
    def _alone(self) -> LogTables:
        return LogTables(self.classes, (self,))

    @cached_property
    def names(self) -> list[str]:
        """What the values are called."""
        return [shown_label(label) for label in self.values.labels]

    def where(self, code: int) -> str:
        """Return more on rows with this code, for the end of a phrase: nothing, the value is enough."""
        return ""

    def add_to(self, scorer: Scorer, x: Longs, missing: bool = True) -> None:
        """Have log P(value | class) of each code added to the scores."""
        self._alone.add_to(scorer, np.asarray(x).reshape(-1, 1), missing)

    def log_likelihood(self, x: Longs, threads: int = 1) -> Floats:
        """Return log P(value | class) of each code as [row, class]."""
        return self._alone.log_likelihood(np.asarray(x).reshape(-1, 1), threads)

    def check(self, x: Longs) -> None:
        """Refuse codes never seen, if the settings demand it."""
        self.check_none(np.flatnonzero(x >= len(self.values)))

    def check_none(self, unseen: npt.NDArray[np.intp]) -> None:
        """Refuse these rows, whose values were never seen, if the settings demand it and there are any."""
        if self.settings.unseen == "error" and len(unseen):
            raise InvalidInput(
                RowNumber(unseen[0]),
                " holds a value that was not seen in training. Set ",
                Setting("unseen", "skip"),
                " to ignore such values, or ",
                Setting("unseen", "smooth"),
                " to smooth them.",
            )

    def uncertainty(self, x: Longs, threads: int = 1) -> Cumulants:
        """Return the cumulants of log P(value | class), under a Dirichlet posterior."""
        return self._alone.uncertainty(np.asarray(x).reshape(-1, 1), threads)

    def leave_one_out(self, x: Longs, y: Codes, weights: Floats | None = None, threads: int = 1) -> Floats:
        """Return log P(value | class) of each code as if its row had never been counted."""
        return self._alone.leave_one_out(np.asarray(x).reshape(-1, 1), y, weights, threads)

    @cached_property
    def left(self) -> LeaveOneOutCounts:
        """What a row is taken out of."""
        known, pseudo_counts = (
            self.values.kept(np.zeros(len(self.values), dtype=bool)),
            proportions.PSEUDO_COUNTS[self.settings.estimate],
        )
        whole = (
            float(pseudo_counts(self.settings.column_smoothing)),
            len(self.values) + self._slot,
            self._common.sum() + self._slot,
        )
        rules = (self.family.spread == "overall", self._slot, self.settings.unseen == "error")
        return LeaveOneOutCounts(
            n=np.vstack([self.n.T, np.zeros((1, len(self.classes)))]),
            seen=np.append(self.n.sum(axis=0), 0.0),
            kept=np.append(known, True).astype(np.float64),
            total=self.n.sum(axis=1),
            column=np.array([*whole, *rules], dtype=np.float64),
        )

    def check_counted(self, x: Longs, y: Codes, w: Floats) -> None:
        """Refuse rows that cannot have been counted, and values that are an error once their only row is left out."""
        self.check(x)
        n, met, kept, code = self.left.n, self.left.seen, self.left.kept, np.minimum(x, len(self.values))
        never = np.flatnonzero((subtract(n[code, y], w) < 0) & (code >= 0))
        if len(never):
            raise InvalidInput(
                RowNumber(never[0]), " was never counted: its value was not counted as often with its class."
            )
        self.check_none(np.flatnonzero((subtract(met[code], w) == 0) & (w > 0) & (kept[code] == 0) & (code >= 0)))

    def log_prior_density(self) -> float:
        """Return the logarithm of the Dirichlet density at the probabilities, up to a constant."""
        pseudo_counts = float(proportions.PSEUDO_COUNTS[self.settings.estimate](self.settings.column_smoothing))
        if self.settings.estimate != "map" or not pseudo_counts:
            return 0.0
        return pseudo_counts * float(self.log_p.sum() + self._slot * self.log_unseen.sum())

    def fraction(self, k: int, code: int) -> str:
        """Return P(value | class k) as the textbook writes it; nothing for a code that contributes nothing."""
        size, unseen = len(self.values), code >= len(self.values)
        if code < 0 or (unseen and not self._slot):
            return ""
        pseudo_counts = float(proportions.PSEUDO_COUNTS[self.settings.estimate](self.settings.column_smoothing))
        n, total = 0.0 if unseen else float(self.n[k, code]), float(self.n[k].sum())
        if self.family.spread == "even" or pseudo_counts == 0:
            return proportions.fraction(n, total, pseudo_counts, size + self._slot)
        common = 1.0 if unseen else self._common[code]
        whole = self._common.sum() + self._slot
        return f"({n:.10g}+{pseudo_counts:.10g}·{common:.10g}/{whole:.10g})/({total:.10g}+{pseudo_counts:.10g})"

    def table(self, labels: Sequence[str]) -> Mapping[str, object]:
        """Return P(value | class) as columns of a frame, a line for each value."""
        return {"value": self.names, **dict(zip(labels, np.exp(self.log_p), strict=True))}

    def describe(self, column: str) -> str:
        """Return a sentence on which value is the most frequent in each class."""
        parts = [
            f"{self.names[int(line.argmax())]} for {label} ({line.max():.10g} of {line.sum():.10g})"
            for label, line in zip(self.classes.labels, self.n, strict=True)
            if line.sum() > 0
        ]
        return f"{column}: most frequent is {listed_parts(parts)}." if parts else f"{column}: nothing was counted."


@dataclass(frozen=True)
class LogTables:
    """The likelihood of a matrix of codes: a LogTable for each of its columns, scored in one pass."""

    classes: Axis
    tables: tuple[LogTable, ...]

    @cached_property
    def offsets(self) -> Longs:
        """Where the lines of each column start in the stack."""
        return offsets_of(np.array([len(table.values) + 1 for table in self.tables], dtype=np.int64))

    @cached_property
    def stack(self) -> Floats:
        """All tables one below the other, [value, class]; the last line of each is for values never seen."""
        lines = [np.vstack([table.log_p.T, table.log_unseen]) for table in self.tables]
        return np.concatenate([np.zeros((0, len(self.classes))), *lines])

    @cached_property
    def _split(self) -> tuple[Floats, Floats | None]:
        """The stack as the kernels read it: the finite part, and where it rules a class out."""
        split = Split.of(self.stack)
        return padded(split.finite), padded(split.ruled_out) if split.ruled_out.any() else None

    def add_to(self, scorer: Scorer, x: Longs, missing: bool = True) -> None:
        """Have log P(value | class) of each cell added to the scores."""
        for column, table in enumerate(self.tables):
            if table.settings.unseen == "error":
                table.check(x[:, column])
        finite, ruled_out = self._split
        scorer.codes(x, self.offsets, finite, allow_missing=missing)
        if ruled_out is not None:
            scorer.codes(x, self.offsets, ruled_out, against=True)

    def log_likelihood(self, x: Longs, threads: int = 1) -> Floats:
        """Return log P(row | class) as [row, class]."""
        return scores_of(self, x, threads)

    @cached_property
    def _cumulants(self) -> Floats:
        """Those of all tables one below the other, [value, 4 · class]: side by side they are summed in one pass."""
        lines = [np.hstack(table.cumulants) for table in self.tables]
        return padded(np.concatenate([np.zeros((0, 4 * len(self.classes))), *lines]))

    @cached_property
    def _full(self) -> LogTables:
        """The same tables under the estimate that holds the whole posterior."""
        return LogTables(self.classes, tuple(replace(one, settings=one.settings.full()) for one in self.tables))

    def uncertainty(self, x: Longs, threads: int = 1) -> Cumulants:
        """Return the cumulants of log P(row | class); missing values add nothing."""
        scorer, out = Scorer(np.zeros(4 * len(self.classes))), np.empty((len(x), 4 * len(self.classes)))
        scorer.codes(x, self.offsets, self._cumulants)
        check_scored(scorer.log_joint(out, threads))
        found = Cumulants(*np.split(out, 4, axis=1))
        light = any(table.settings.column_smoothing == 0 for table in self.tables)
        return with_ruled_out(found, self._full, x, threads) if light else found

    def leave_one_out(self, x: Longs, y: Codes, weights: Floats | None = None, threads: int = 1) -> Floats:
        """Return log P(row | class) of each row as if it had never been counted."""
        if any(table.leaves_out_in_python for table in self.tables):
            return self._left_apart(x, y, weights, threads)
        out, y, weights = np.zeros((len(x), len(self.classes))), as_codes(np.asarray(y)), as_weights(weights)
        tables = self.offsets, padded(self.stack), *self._left
        if _kernels.leave_one_out_codes(x, y, weights, *tables, out, threads) >= 0:
            for column, table in enumerate(self.tables):
                table.check_counted(np.asarray(x[:, column]), y, row_weights(weights, len(x)))
        return out

    def _left_apart(self, x: Longs, y: Codes, weights: Floats | None, threads: int) -> Floats:
        """Return the same where some columns leave rows out by themselves."""
        rest = [at for at, table in enumerate(self.tables) if not table.leaves_out_in_python]
        out = np.zeros((len(x), len(self.classes)))
        if rest:
            others = LogTables(self.classes, tuple(self.tables[at] for at in rest))
            out = others.leave_one_out(np.asarray(x)[:, rest], y, weights, threads)
        for at, table in enumerate(self.tables):
            if table.leaves_out_in_python:
                out += table.leave_one_out(np.asarray(x)[:, at], y, weights, threads)
        return out

    @cached_property
    def _left(self) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """What a row is taken out of, all columns one below the other, as the kernels read it."""
        parts = [table.left for table in self.tables]
        n, met, kept = (np.concatenate([np.asarray(part[at]) for part in parts]) for at in range(3))
        return padded(n), met, kept, np.stack([part.total for part in parts]), np.stack([part.column for part in parts])

    def log_prior_density(self) -> float:
        """Return the logarithm of the prior's density at all shares, up to a constant."""
        return sum(table.log_prior_density() for table in self.tables)

    def column(self, at: int) -> LogTables:
        """Return the likelihood of one of the columns."""
        return LogTables(self.classes, (self.tables[at],))

    def table(self, labels: Sequence[str]) -> Mapping[str, object]:
        """Return P(value | class) as columns of a frame, a line for each column and value."""
        names = [(at, name) for at, table in enumerate(self.tables) for name in table.names]
        shares = np.concatenate([np.zeros((len(labels), 0)), *(np.exp(table.log_p) for table in self.tables)], axis=1)
        columns, values = ([name[at] for name in names] for at in (0, 1))
        return {"column": columns, "value": values, **dict(zip(labels, shares, strict=True))}

    def describe(self, column: str) -> str:
        """Return a sentence on which value is the most frequent in each class, column by column."""
        return "\n".join(table.describe(f"{column}[{at}]") for at, table in enumerate(self.tables))
