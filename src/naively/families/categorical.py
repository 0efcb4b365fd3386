"""One label a row: a colour, a country, a code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from .. import _kernels
from .._kernels import Scorer
from .._types import Codes, Floats, Longs, Matrix, Places
from ..errors import InvalidInput
from ..errors.message import RowNumber, Setting
from ..stats import Axis, Table, Tables
from ..stats.accumulators import as_codes, as_weights, offsets_of
from ..stats.arithmetic import divide, subtract
from .family import (
    ColumnLikelihoods,
    Cumulants,
    Settings,
    Smoothing,
    check_scored,
    fraction,
    listed_parts,
    log_proportion,
    padded,
    proportion_cumulants,
    refuse,
    row_weights,
    shown_label,
    with_ruled_out,
)
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
        known = self.spread in ("even", "overall")
        refuse(not known, Setting("spread", self.spread), " is unknown; use 'even' or 'overall'.")

    def estimate(self, statistic: Table | Tables, rows: Floats, classes: Axis, settings: Settings) -> LogTables:
        """Return log P(value | class), for each column of a matrix of codes if the statistic is one of such."""
        settings = settings.alone(self.smoothing)
        rare = "spread='overall' gives rare values a λ below 1, which estimate='map' cannot use."
        refuse(self.spread == "overall" and settings.estimate == "map", rare)
        tables = statistic.tables if isinstance(statistic, Tables) else (statistic,)
        made = (LogTable(self, settings, classes, *scored_values(table, classes, settings)) for table in tables)
        return LogTables(classes, tuple(made))


def scored_values(table: Table, classes: Axis, settings: Settings) -> tuple[Axis, Floats]:
    """Return the values that are scored, and their counts [class, value]: without the missing one if it is skipped."""
    n, missing = table.on(classes), table.values.place(None)
    if settings.missing == "value" or missing < 0:
        return table.values, n
    keep = np.arange(len(table.values)) != missing
    known = Axis.ordered((v for v in table.values.labels if v is not None), set(table.values.fixed) - {None})
    return known, n[:, keep]


class LeaveOneOutCounts(NamedTuple):
    """The counts of one column that a row is taken out of; the last line stands for values never seen."""

    n: Floats  # counts of each value with each class, [value, class]
    seen: Floats  # how often in all
    kept: Floats  # whether it stays known without any row
    total: Floats  # rows of each class
    column: Floats  # pseudo-count, number of values, sum of frequencies; whether λ is spread, has a slot, refuses


@dataclass(frozen=True)
class LogTable:
    """The log-likelihoods of one column of labels; a code is a value's place on the axis, -1 for a missing one."""

    family: Categorical
    settings: Settings
    classes: Axis
    values: Axis
    n: Floats

    neighbors_share: ClassVar[bool] = False  # whether leaving a row out changes more than its own value

    @property
    def level_count(self) -> int:
        """How many values are levels that have an order; they come first."""
        return 0

    @cached_property
    def lines(self) -> Floats:
        """Logarithms of P(value | class), [value, class]; the last line is for values never seen."""
        lines: Floats = log_proportion(*self._smoothed(self._pseudo_count), self.size).T
        unseen: Floats = lines[-1:] if self.slot else np.zeros((1, len(self.classes)))
        return np.vstack([lines[:-1], unseen])

    @cached_property
    def log_p(self) -> Floats:
        """Logarithms of P(value | class), [class, value]."""
        return np.ascontiguousarray(self.lines[:-1].T)

    @property
    def log_unseen(self) -> Floats:
        """The log-likelihood of a value never seen."""
        unseen: Floats = self.lines[-1]
        return unseen

    @property
    def slot(self) -> bool:
        """Whether there is one more value, for all that were never seen."""
        return self.settings.unseen == "smooth"

    @property
    def size(self) -> int:
        """How many values there are, with the one for those never seen."""
        return len(self.values) + self.slot

    @cached_property
    def _common(self) -> Floats:
        """How common each value is overall, as λ is spread; those never seen, and the slot, as if seen in one row."""
        rows = self.n.sum(axis=0)
        return np.where(rows > 0, rows, 1.0)

    @cached_property
    def _pseudo_count(self) -> float:
        return float(self.settings.pseudo_counts)

    @cached_property
    def _counted(self) -> Floats:
        """The counts that values are smoothed from, [class, value]."""
        return self.n

    def _smoothed(self, pseudo_count: float) -> tuple[Floats, Floats]:
        """Return the rows of each value, with one more for those never seen, and of the class, with pseudo-counts."""
        n, total = np.column_stack([self._counted, np.zeros(len(self.n))]), self.n.sum(axis=1, keepdims=True)
        if self.family.spread == "even":
            return n + pseudo_count, total + self.size * pseudo_count
        overall = divide(np.append(self._common, 1.0), np.array(self._common.sum() + self.slot))
        return n + pseudo_count * overall, total + pseudo_count

    @cached_property
    def cumulants(self) -> Cumulants:
        """The cumulants of log P(value | class), [value, class]; the last line is for values never seen."""
        part, whole = proportion_cumulants(*self._smoothed(self.settings.column_smoothing))
        silent = (np.arange(len(self.values) + 1) == len(self.values)) & (not self.slot)
        return Cumulants(*(np.where(silent, 0.0, figure).T for figure in part - whole))

    @cached_property
    def names(self) -> list[str]:
        """What the values are called."""
        return [shown_label(label) for label in self.values.labels]

    def where(self, code: int) -> str:
        """Return more on rows with this code, for the end of a phrase: nothing, the value is enough."""
        return ""

    def check(self, x: Longs) -> None:
        """Refuse codes never seen, if the settings demand it."""
        self._check_none(np.flatnonzero(x >= len(self.values)))

    def _check_none(self, unseen: Places) -> None:
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

    @cached_property
    def left(self) -> LeaveOneOutCounts:
        """The counts that a row is taken out of."""
        whole = self._pseudo_count, self.size, self._common.sum() + self.slot
        rules = self.family.spread == "overall", self.slot, self.settings.unseen == "error"
        return LeaveOneOutCounts(
            n=np.vstack([self.n.T, np.zeros((1, len(self.classes)))]),
            seen=np.append(self.n.sum(axis=0), 0.0),
            kept=np.append(self.values.stays, True).astype(np.float64),
            total=self.n.sum(axis=1),
            column=np.array([*whole, *rules], dtype=np.float64),
        )

    def check_counted(self, x: Longs, y: Codes, w: Floats) -> None:
        """Refuse rows that cannot have been counted, and values that are an error once their only row is left out."""
        self.check(x)
        n, seen, kept, code = self.left.n, self.left.seen, self.left.kept, np.minimum(x, len(self.values))
        never = np.flatnonzero((subtract(n[code, y], w) < 0) & (code >= 0))
        if len(never):
            raise InvalidInput(
                RowNumber(never[0]), " was never counted: its value was not counted as often with its class."
            )
        self._check_none(np.flatnonzero((subtract(seen[code], w) == 0) & (w > 0) & (kept[code] == 0) & (code >= 0)))

    def without_rows(self, x: Longs, y: Codes, w: Floats) -> Floats:
        """Return log P(value | class) of each code as if its row had never been counted, where neighbors share."""
        raise NotImplementedError("the kernel does this where no neighbors share")

    def log_prior_density(self) -> float:
        """Return the logarithm of the Dirichlet density at the probabilities, up to a constant."""
        if self.settings.estimate != "map" or not self._pseudo_count:
            return 0.0
        return self._pseudo_count * float(self.log_p.sum() + self.slot * self.log_unseen.sum())

    def fraction(self, k: int, code: int) -> str:
        """Return P(value | class k) as the textbook writes it; nothing for a code that contributes nothing."""
        unseen, pseudo_count = code >= len(self.values), self._pseudo_count
        if code < 0 or (unseen and not self.slot):
            return ""
        n, total = 0.0 if unseen else float(self._counted[k, code]), float(self.n[k].sum())
        if self.family.spread == "even" or pseudo_count == 0:
            return fraction(n, total, pseudo_count, self.size)
        common, whole = 1.0 if unseen else self._common[code], self._common.sum() + self.slot
        return f"({n:.10g}+{pseudo_count:.10g}·{common:.10g}/{whole:.10g})/({total:.10g}+{pseudo_count:.10g})"

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
class LogTables(ColumnLikelihoods):
    """The likelihood of a matrix of codes: a LogTable for each of its columns, scored in one pass."""

    classes: Axis
    tables: tuple[LogTable, ...]

    @cached_property
    def offsets(self) -> Longs:
        """Where the lines of each column start in the stack."""
        return offsets_of(np.array([len(table.values) + 1 for table in self.tables], dtype=np.int64))

    @cached_property
    def stack(self) -> Floats:
        """The lines of all tables one below the other, [value, class]."""
        return np.concatenate([np.zeros((0, len(self.classes))), *(table.lines for table in self.tables)])

    @cached_property
    def _split(self) -> tuple[Floats, Floats | None]:
        """The stack as the kernels read it: the finite part, and where it rules a class out."""
        split = Split.of(self.stack)
        return padded(split.finite), padded(split.ruled_out) if split.ruled_out.any() else None

    def add_to(self, scorer: Scorer, x: Matrix, missing: bool = True) -> None:
        """Have log P(value | class) of each cell added to the scores."""
        for column, table in enumerate(self.tables):
            if table.settings.unseen == "error":
                table.check(x[:, column])
        finite, ruled_out = self._split
        scorer.codes(x, self.offsets, finite, allow_missing=missing)
        if ruled_out is not None:
            scorer.codes(x, self.offsets, ruled_out, against=True)

    @cached_property
    def _cumulants(self) -> Floats:
        """The cumulants of all tables one below the other, [value, 4 · class]: they are summed in one pass."""
        lines = [np.hstack(table.cumulants) for table in self.tables]
        return padded(np.concatenate([np.zeros((0, 4 * len(self.classes))), *lines]))

    @cached_property
    def _full(self) -> LogTables:
        """The same tables under the estimate that holds the whole posterior."""
        return LogTables(self.classes, tuple(replace(table, settings=table.settings.full()) for table in self.tables))

    def uncertainty(self, x: Matrix, threads: int = 1) -> Cumulants:
        """Return the cumulants of log P(row | class) under Dirichlet posteriors; missing values add nothing."""
        scorer, out = Scorer(np.zeros(4 * len(self.classes))), np.empty((len(x), 4 * len(self.classes)))
        scorer.codes(x, self.offsets, self._cumulants)
        check_scored(scorer.log_joint(out, threads))
        result = Cumulants(*np.split(out, 4, axis=1))
        light = any(table.settings.column_smoothing == 0 for table in self.tables)
        return with_ruled_out(result, self._full.log_likelihood(x, threads)) if light else result

    def leave_one_out(self, x: Matrix, y: Codes, weights: Floats | None = None, threads: int = 1) -> Floats:
        """Return log P(row | class) of each row as if it had never been counted."""
        out, x, y = np.zeros((len(x), len(self.classes))), np.asarray(x), as_codes(np.asarray(y))
        apart = [place for place, table in enumerate(self.tables) if table.neighbors_share]
        others = tuple(table for table in self.tables if not table.neighbors_share)
        if others:
            codes = np.delete(x, apart, axis=1) if apart else x
            LogTables(self.classes, others)._leave_out(codes, y, as_weights(weights), out, threads)
        for place in apart:
            out += self.tables[place].without_rows(x[:, place], y, row_weights(weights, len(x)))
        return out

    def _leave_out(self, x: Matrix, y: Codes, weights: Floats | None, out: Floats, threads: int) -> None:
        parts = [table.left for table in self.tables]
        n, seen, kept = (np.concatenate([np.asarray(part[field]) for part in parts]) for field in range(3))
        total, column = np.stack([part.total for part in parts]), np.stack([part.column for part in parts])
        tables = self.offsets, padded(self.stack), padded(n), seen, kept, total, column
        if _kernels.leave_one_out_codes(x, y, weights, *tables, out, threads) >= 0:
            for place, table in enumerate(self.tables):
                table.check_counted(np.asarray(x[:, place]), y, row_weights(weights, len(x)))

    def log_prior_density(self) -> float:
        """Return the logarithm of the prior's density at all proportions, up to a constant."""
        return sum(table.log_prior_density() for table in self.tables)

    def column(self, place: int) -> LogTables:
        """Return the likelihood of one of the columns."""
        return LogTables(self.classes, (self.tables[place],))

    def table(self, labels: Sequence[str]) -> Mapping[str, object]:
        """Return P(value | class) as columns of a frame, a line for each value, or each column and value."""
        if len(self.tables) == 1:
            return self.tables[0].table(labels)
        names = [(column, name) for column, table in enumerate(self.tables) for name in table.names]
        shares = np.concatenate([np.zeros((len(labels), 0)), *(np.exp(table.log_p) for table in self.tables)], axis=1)
        columns, values = ([name[side] for name in names] for side in (0, 1))
        return {"column": columns, "value": values, **dict(zip(labels, shares, strict=True))}

    def describe(self, column: str) -> str:
        """Return a sentence on which value is the most frequent in each class, column by column."""
        if len(self.tables) == 1:
            return self.tables[0].describe(column)
        return "\n".join(table.describe(f"{column}[{place}]") for place, table in enumerate(self.tables))
