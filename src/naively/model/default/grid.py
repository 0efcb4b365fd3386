"""How columns are laid out to be counted together: bins of numbers, codes of labels. Fixed once, so that counts add."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import compress
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ... import _kernels
from ..._types import Codes, Floats, Json, JsonObject, Label, Mask, Places
from ...stats.accumulators import offsets_of

# Numbers on the common scale are rounded to multiples of 1 / LEVEL_STEPS of a standard deviation, so that sums of them
# and of their products are exact, in any order. They are less than 16 in size: at least 0.5 % of the rows are clipped
# at either end (`clipped` of the recipe), and p · level² <= 1 for a share p of rows at a level. So a product is less
# than 2**32 steps of 2**-24, and 2**53 is reached by no sum of less than 2**21 rows; of numbers that spread as those of
# the sample, by none of less than 2**29.
LEVEL_STEPS = 1 << 12


class LabelPlaces(NamedTuple):
    """The code on the grid of each code of each column, -1 for none; and where each column begins."""

    codes: Codes
    offsets: npt.NDArray[np.int64]


NO_PLACES = LabelPlaces(np.zeros(0, dtype=np.int32), np.zeros(1, dtype=np.int64))


@dataclass(frozen=True)
class NumberBins:
    """The bins of a column of numbers, and how its numbers are brought to one scale."""

    name: str
    cuts: tuple[float, ...]  # of the fine bins
    coarse: tuple[int, ...]  # the coarse bin of each fine one
    wider: tuple[int, ...]  # fine bins put together to about twelve
    middles: tuple[float, ...]  # the number in the middle of those in each fine bin, on the common scale
    low: float
    high: float
    center: float
    scale: float

    @property
    def size(self) -> int:
        """How many coarse bins there are; a single one would tell nothing."""
        return self.coarse[-1] + 1 if self.coarse[-1:] > (0,) else 0


@dataclass(frozen=True)
class LabelValues:
    """The labels of a column that are distinguished."""

    name: str
    labels: tuple[Label, ...]

    @property
    def size(self) -> int:
        """How many labels are distinguished."""
        return len(self.labels)


@dataclass(frozen=True)
class Grid:
    """All columns that are counted together: numbers first, then labels."""

    numbers: tuple[NumberBins, ...]
    labels: tuple[LabelValues, ...]

    @cached_property
    def columns(self) -> tuple[NumberBins | LabelValues, ...]:
        """How each column is laid out."""
        return (*self.numbers, *self.labels)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns in their order."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def offsets(self) -> npt.NDArray[np.int64]:
        """Where the codes of each column begin among all."""
        return offsets_of(np.array([column.size for column in self.columns], dtype=np.int64))

    @cached_property
    def fine_offsets(self) -> npt.NDArray[np.int64]:
        """Where the fine bins of each column of numbers begin among all."""
        return offsets_of(np.array([len(bins.coarse) for bins in self.numbers], dtype=np.int64))

    @property
    def fine_bins(self) -> int:
        """How many fine bins there are."""
        return int(self.fine_offsets[-1])

    @property
    def features(self) -> int:
        """How many features there are: 1, a flag for each code, the numbers."""
        return 1 + int(self.offsets[-1]) + len(self.numbers)

    def places_among(self, numbers: Sequence[str], labels: Sequence[str]) -> tuple[Places, Places] | None:
        """Return where the columns of the grid stand among all numbers and all labels; None if they are all of them."""
        if len(self.numbers) == len(numbers) and len(self.labels) == len(labels):
            return None
        places = [{name: index for index, name in enumerate(names)} for names in (numbers, labels)]
        own = [places[0][bins.name] for bins in self.numbers], [places[1][values.name] for values in self.labels]
        return np.array(own[0], dtype=np.intp), np.array(own[1], dtype=np.intp)

    def only(self, names: Collection[str]) -> tuple[Grid, list[int], list[int]]:
        """Return the grid of some columns, and which fine bins and which features are theirs."""
        used = [at for at, name in enumerate(self.names) if name in set(names)]
        wide = len(self.numbers)
        numbers, labels = [at for at in used if at < wide], [at - wide for at in used if at >= wide]
        fine = [b for at in numbers for b in range(int(self.fine_offsets[at]), int(self.fine_offsets[at + 1]))]
        flags = [f for at in used for f in range(self.flags(at).start, self.flags(at).stop)]
        levels = [self.features - wide + at for at in numbers]
        grid = Grid(tuple(self.numbers[at] for at in numbers), tuple(self.labels[at] for at in labels))
        return grid, fine, [0, *flags, *levels]

    def with_used_labels(self, used: Mask) -> tuple[Grid, Places]:
        """Return the grid of those labels whose features are used, and which features are left."""
        left, labels = used.copy(), []
        left[: self.flags(len(self.numbers)).start if self.labels else len(used)] = True
        left[1 + int(self.offsets[-1]) :] = True
        for index, values in enumerate(self.labels, len(self.numbers)):
            there = left[self.flags(index)].tolist()
            labels.append(LabelValues(values.name, tuple(compress(values.labels, there))))
        return Grid(self.numbers, tuple(labels)), np.flatnonzero(left)

    def flags(self, at: int) -> slice:
        """Return which features are the flags of a column."""
        return slice(1 + int(self.offsets[at]), 1 + int(self.offsets[at + 1]))

    @cached_property
    def _cuts(self) -> tuple[Floats, npt.NDArray[np.int64]]:
        cuts = [np.array(bins.cuts, dtype=np.float64) for bins in self.numbers]
        return np.concatenate([*cuts, np.zeros(0)]), offsets_of(np.array([len(c) for c in cuts], dtype=np.int64))

    @cached_property
    def _coarse(self) -> LabelPlaces:
        """The coarse bin of each fine one."""
        coarse = (bins.coarse if bins.size else (-1,) * len(bins.coarse) for bins in self.numbers)
        return label_places([np.array(to, dtype=np.int32) for to in coarse])

    @cached_property
    def _same(self) -> LabelPlaces:
        """Labels that come as codes of the grid."""
        return label_places([np.arange(values.size, dtype=np.int32) for values in self.labels])

    @cached_property
    def _scale(self) -> Floats:
        """The bounds, the center, and how many steps a unit is, of each number."""
        scale = np.array([(b.low, b.high, b.center, b.scale * LEVEL_STEPS) for b in self.numbers]).reshape(-1, 4).T
        return np.ascontiguousarray(scale, dtype=np.float64)

    def encode(self, numbers: Floats, labels: Codes, threads: int = 1, places: LabelPlaces | None = None) -> Cells:
        """Return rows as they are counted together, given their numbers and the codes of their labels.

        Codes of labels are those of the grid, unless `places` has the code on the grid of each.
        """
        rows, wide = len(labels), len(self.numbers)
        if not wide and not labels.shape[1]:  # a single text is answered in less time than empty arrays take
            return Cells(np.empty((rows, 0), dtype=np.int32), labels, np.empty((rows, 0)))
        fine, level = np.empty((rows, wide), dtype=np.int32), np.empty((rows, wide))
        codes = np.empty((wide + labels.shape[1], rows), dtype=np.int32)
        result = (self._same if labels.shape[1] else NO_PLACES) if places is None else places
        given = (*self._cuts, *self._coarse, self._scale, 1 / LEVEL_STEPS, *result)
        _kernels.lay_out(numbers, labels, *given, fine, codes, level, threads)
        return Cells(fine, codes.T, level)

    def to_json(self) -> JsonObject:
        """Return the grid as plain data."""
        from ...data.model_file.statistics import labels_in_json

        numbers = [{n: list(v) if isinstance(v, tuple) else v for n, v in asdict(b).items()} for b in self.numbers]
        return {
            "numbers": numbers,
            "labels": [{"name": v.name, "labels": labels_in_json(v.labels)} for v in self.labels],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Json]) -> Grid:
        """Return the grid that to_json described."""
        from ...data.model_file.statistics import from_json

        laid: Iterable[JsonObject] = (
            {n: tuple(v) if isinstance(v, list) else v for n, v in b.items()} for b in data["numbers"]
        )
        numbers = [NumberBins(**part) for part in laid]
        labels = [LabelValues(values["name"], tuple(map(from_json, values["labels"]))) for values in data["labels"]]
        grid = cls(tuple(numbers), tuple(labels))
        distinct = [grid.names, *([(type(label), label) for label in values.labels] for values in labels)]
        if not all(map(are_bins, numbers)) or any(len(set(names)) < len(names) for names in distinct):
            raise ValueError("a grid is none")
        return grid


def are_bins(bins: NumberBins) -> bool:
    """Tell whether bins from a file can be those of a column: other ones would be read beyond their end."""
    on_scale = np.array([*bins.middles, bins.low, bins.high, bins.center, bins.scale], dtype=np.float64)
    whole = len(bins.coarse) == len(bins.wider) == len(bins.middles) == len(bins.cuts) + 1
    in_order = bool((np.diff(np.array(bins.cuts, dtype=np.float64)) > 0).all())
    merged = all(
        all(type(place) is int for place in places) and places[0] == 0 and set(np.diff(places).tolist()) <= {0, 1}
        for places in (bins.coarse, bins.wider)
    )
    return whole and in_order and merged and bool(np.isfinite([*on_scale, *bins.cuts]).all()) and bins.scale >= 0


def label_places(places: Sequence[Codes]) -> LabelPlaces:
    """Return tables of codes, one after the other, and where each begins."""
    offsets = offsets_of(np.array([len(part) for part in places], dtype=np.int64))
    return LabelPlaces(np.concatenate([*places, np.zeros(0, dtype=np.int32)]), offsets)


@dataclass(frozen=True)
class Cells:
    """Rows as they are counted together."""

    fine: Codes  # [row, column of numbers]; -1 is a missing value, here and below
    codes: Codes  # [row, column]
    level: Floats  # [row, column of numbers], on one scale; a missing value lies at the center, 0

    def take(self, rows: Places | Mask | slice) -> Cells:
        """Return some of the rows."""
        return Cells(self.fine[rows], self.codes[rows], self.level[rows])

    def __len__(self) -> int:
        return len(self.codes)
