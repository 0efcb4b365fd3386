"""Joint counts of columns by GROUP BY: pairs of values, and sums of numbers on the scale of a grid.

The features of a grid are 1, a flag for each value or bin, and the levels of numbers. Products of flags are numbers of
rows, products of a flag and a level are sums within the groups of one column, and products of levels are sums within a
class. Levels are whole numbers of steps, so that sums of rows whose weights are whole numbers are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, combinations_with_replacement

import numpy as np
import pyarrow as pa

from .._types import Floats, Longs
from ..data.encoding import Coder, block_codes
from ..data.frame import frame_of
from ..data.grid import LEVEL_STEPS, Grid, LabelValues, NumberBins
from ..data.schema import Schema
from ..stats import Counts
from ..stats.pairs import JointCounts
from .column_blocks import covering_blocks, grouped_columns
from .database_rows import CLASS, COUNT, WEIGHT, DatabaseRows, column_of, places_of
from .engine import IbisTable, IbisValue, evaluated_once, fetched, ibis_module
from .expressions import bin_of_number, steps_of_number
from .label_counts import as_answered
from .number_sums import in_parts

# Lines that an answer about several columns may have, and sums in one query.
LINES, SUMS = 1 << 14, 200
# Types of labels that a query can name; others are fetched with all their values.
NAMED_TYPES = ("text", "whole", "boolean")


def counted_pairs(rows: DatabaseRows, counts: Counts, grid: Grid) -> JointCounts:
    """Return what was counted of columns jointly, on a grid; single columns were counted before."""
    sums = JointSums(rows, counts, grid)
    sums.add_levels()
    for at in range(len(grid.numbers)):
        sums.add_number(at)
    most = LINES // max(len(counts.classes), 1)
    sizes = [sums.size(at) for at in range(len(grid.columns))]
    labels = {at: sizes[at] for at in range(len(grid.numbers), len(sizes)) if grid.columns[at].size}
    for block in grouped_columns(labels, most):
        sums.add_labels(block)
    for block in covering_blocks(sums.uncounted, sizes, most):
        sums.add_pairs(block)
    return sums.value()


class JointSums:
    """Fills the sums of joint counts, one query after the other; columns go by their places on the grid."""

    def __init__(self, rows: DatabaseRows, counts: Counts, grid: Grid) -> None:
        self.rows, self.counts, self.grid, self.axis = rows, counts, grid, counts.classes
        self.fine: Floats = np.zeros((len(self.axis), grid.fine_bins))
        self.products: Floats = np.zeros((len(self.axis), grid.features, grid.features))
        self.products[:, 0, 0] = counts.rows
        self.levels = [at for at, bins in enumerate(grid.numbers) if bins.scale]
        used = np.array([column.size > 0 for column in grid.columns], dtype=np.bool_)
        self.uncounted = np.triu(np.outer(used, used), 1)  # pairs of columns

    # -- what a query selects -------------------------------------------------------------------------------------

    def size(self, at: int) -> int:
        """Return about how many values a column has in an answer, a missing one included."""
        values = self.grid.columns[at]
        return values.size + 1 if isinstance(values, NumberBins) or self.is_cut(values) else self.known_values(values)

    def known_values(self, values: LabelValues) -> int:
        """Return how many values a column of labels has."""
        return len(self.counts.columns[values.name].values)

    def is_cut(self, values: LabelValues) -> bool:
        """Return whether a query fetches the labels of the grid alone, as there are many others."""
        named = self.rows.schema[values.name].type in NAMED_TYPES
        return named and not self.by_size(values.name) and self.known_values(values) > 2 * values.size

    def by_size(self, name: str) -> bool:
        """Return whether labels are bins of numbers, or flags."""
        return self.rows.schema[name].family.name in ("bins", "bernoulli")

    def cell(self, at: int) -> IbisValue:
        """Return what rows are grouped by: the coarse bin of a number, or a label."""
        values = self.grid.columns[at]
        if isinstance(values, NumberBins):
            return bin_of_number(self.rows.number(values.name), coarse_cuts(values))
        cell = self.rows.label(self.rows.schema[values.name])
        if not self.is_cut(values):
            return cell
        labels = [str(label) if cell.type().is_string() else label for label in values.labels]
        return ibis_module().ifelse(cell.isin(labels), cell, None)

    def level(self, at: int) -> IbisValue:
        """Return the level of a number, in steps."""
        bins = self.grid.numbers[at]
        return steps_of_number(self.rows.number(bins.name), bins)

    def level_feature(self, at: int) -> int:
        """Return which feature is the level of a number."""
        return self.grid.features - len(self.grid.numbers) + at

    def grouped(self, cells: dict[str, IbisValue], levels: Sequence[int]) -> IbisTable:
        """Return the query for the rows of each class and group, and the sums of some levels there."""
        table = self.rows.selected(cells | {f"l{at}": self.level(at) for at in levels})
        table = evaluated_once(table) if levels else table
        sums = {f"l{at}": self.weighed(table, table[f"l{at}"]) for at in levels}
        return table.group_by(CLASS, *cells).aggregate(**{COUNT: self.rows.count_of(table)}, **sums)

    def weighed(self, table: IbisTable, value: IbisValue) -> IbisValue:
        """Return the sum of a value, by the weights of the rows."""
        return (value if self.rows.weight is None else table[WEIGHT] * value).sum()

    # -- what an answer adds --------------------------------------------------------------------------------------

    def add_levels(self) -> None:
        """Add the sums of levels, and of products of two."""
        singles: list[tuple[int, ...]] = [(at,) for at in self.levels]
        for part in in_parts([*singles, *combinations_with_replacement(self.levels, 2)], SUMS):
            needed = sorted({at for factors in part for at in factors})
            table = evaluated_once(self.rows.selected({f"l{at}": self.level(at) for at in needed}))
            found = {}
            for number, factors in enumerate(part):
                first, *rest = (table[f"l{at}"] for at in factors)
                found[f"s{number}"] = self.weighed(table, first * rest[0] if rest else first)
            answer = fetched(table.group_by(CLASS).aggregate(**found))
            place = places_of(self.rows, answer, self.axis)
            for number, factors in enumerate(part):
                a, b = (0, *map(self.level_feature, factors))[-2:]
                self.products[place, a, b] += column_of(answer, f"s{number}") / LEVEL_STEPS ** len(factors)

    def add_number(self, at: int) -> None:
        """Add the fine bins of a number, and the sums of all levels within its coarse bins."""
        bins = self.grid.numbers[at]
        coarse = np.array([*bins.coarse, -1]) if bins.size else np.full(len(bins.coarse) + 1, -1)
        for part in in_parts(self.levels, SUMS) or [()]:
            fine = bin_of_number(self.rows.number(bins.name), bins.cuts)
            answer = fetched(self.grouped({"v0": fine}, part))
            place, code = places_of(self.rows, answer, self.axis), codes_of(answer.column("v0"))
            if not len(self.levels) or part[0] == self.levels[0]:
                there, begin = code >= 0, int(self.grid.fine_offsets[at])
                np.add.at(self.fine, (place[there], begin + code[there]), column_of(answer, COUNT)[there])
                self.add_flags(answer, place, at, coarse[code])
            self.add_flag_levels(answer, place, at, coarse[code], part)

    def add_labels(self, block: Sequence[int]) -> None:
        """Add the labels of some columns, pairs among them, and the sums of all levels for each label."""
        cells = {f"v{number}": self.cell(at) for number, at in enumerate(block)}
        for part in in_parts(self.levels, SUMS) or [()]:
            answer = fetched(self.grouped(cells, part))
            place, codes = places_of(self.rows, answer, self.axis), self.codes(answer, block)
            for at, code in zip(block, codes, strict=True):
                if not len(self.levels) or part[0] == self.levels[0]:
                    self.add_flags(answer, place, at, code)
                self.add_flag_levels(answer, place, at, code, part)
            if not len(self.levels) or part[0] == self.levels[0]:
                self.add_flag_pairs(answer, place, block, codes)

    def add_pairs(self, block: Sequence[int]) -> None:
        """Add all pairs of some columns that were not counted before."""
        answer = fetched(self.grouped({f"v{number}": self.cell(at) for number, at in enumerate(block)}, ()))
        self.add_flag_pairs(answer, places_of(self.rows, answer, self.axis), block, self.codes(answer, block))

    def add_flags(self, answer: pa.Table, place: Longs, at: int, code: Longs) -> None:
        """Add how many rows have each value of a column."""
        there, flag = code >= 0, self.grid.flags(at).start + code
        k, f, n = place[there], flag[there], column_of(answer, COUNT)[there]
        np.add.at(self.products, (k, np.zeros_like(f), f), n)
        np.add.at(self.products, (k, f, f), n)

    def add_flag_levels(self, answer: pa.Table, place: Longs, at: int, code: Longs, levels: Sequence[int]) -> None:
        """Add the sums of some levels for each value of a column."""
        there, flag = code >= 0, self.grid.flags(at).start + code
        for other in levels:
            sums = column_of(answer, f"l{other}")[there] / LEVEL_STEPS
            levels_at = np.full(len(sums), self.level_feature(other))
            np.add.at(self.products, (place[there], flag[there], levels_at), sums)

    def add_flag_pairs(self, answer: pa.Table, place: Longs, block: Sequence[int], codes: Sequence[Longs]) -> None:
        """Add how many rows have each pair of values of columns that were not paired before."""
        n = column_of(answer, COUNT)
        for (a, first), (b, second) in combinations(sorted(zip(block, codes, strict=True), key=lambda one: one[0]), 2):
            if self.uncounted[a, b]:
                there = (first >= 0) & (second >= 0)
                flags = self.grid.flags(a).start + first[there], self.grid.flags(b).start + second[there]
                np.add.at(self.products, (place[there], *flags), n[there])
                self.uncounted[a, b] = False

    def codes(self, answer: pa.Table, block: Sequence[int]) -> list[Longs]:
        """Return the codes on the grid of the columns of an answer; -1 for none."""
        return [self._codes_of_column(answer, f"v{number}", self.grid.columns[at]) for number, at in enumerate(block)]

    def _codes_of_column(self, answer: pa.Table, alias: str, values: NumberBins | LabelValues) -> Longs:
        if isinstance(values, NumberBins):
            return codes_of(answer.column(alias))
        column = as_answered(self.rows.schema[values.name])
        coder = Coder(column, {label: code for code, label in enumerate(values.labels)}, -1, -1)
        frame = frame_of(pa.table({column.name: self.rows.labels_of(answer, alias, column)}))
        codes, _ = block_codes(frame.on(Schema((column,))), [coder], 0, frame.rows, 1)
        return codes[:, 0].astype(np.int64)

    def value(self) -> JointCounts:
        """Return the sums of all rows."""
        upper = np.triu(self.products, 1)
        whole = self.products * np.eye(self.grid.features) + upper + upper.transpose(0, 2, 1)
        return JointCounts(self.axis, self.grid, self.fine, whole)


def coarse_cuts(bins: NumberBins) -> tuple[float, ...]:
    """Return the cuts between the coarse bins of a number."""
    return tuple(cut for at, cut in enumerate(bins.cuts) if bins.coarse[at] != bins.coarse[at + 1])


def codes_of(bins: pa.ChunkedArray) -> Longs:
    """Return the bins in an answer; -1 where there is none."""
    return np.asarray(bins.cast(pa.int64()).fill_null(-1).to_numpy(), dtype=np.int64)
