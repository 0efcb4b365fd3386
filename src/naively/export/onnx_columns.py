"""How the cells of columns are read in ONNX: inputs become slots, which are lines of tables, and levels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._types import Floats, Json, JsonObject, Longs
from ..errors import InvalidInput
from .onnx_graph import LEARNING, OnnxGraph, Tensor, parts_of_row

LEVELS_OF_STEP = 4096.0  # by which the flat model divides levels
# Whole numbers up to this are doubles without rounding.
LARGEST_WHOLE = 2**53


@dataclass(frozen=True)
class OnnxColumn:
    """A column of a flat model as an input."""

    fields: JsonObject
    tensor: Tensor  # its cells, [row, 1]

    @property
    def name(self) -> str:
        """The name of the input."""
        return str(self.fields["name"])

    @property
    def is_label(self) -> bool:
        """Whether its cells are labels."""
        return bool(self.fields["kind"] == "label")

    @cached_property
    def takes_texts(self) -> bool:
        """Whether its cells are given as texts; numbers and truth values are given as doubles."""
        if not self.is_label:
            return False
        if self.fields["type"] not in ("whole", "number", "boolean"):
            return True
        return any(isinstance(value, int) and abs(value) > LARGEST_WHOLE for value in self.fields["values"])

    @cached_property
    def missing_text(self) -> str:
        """The text of a missing cell: an empty one, unless that is a label."""
        known = {str(value) for value in self.fields["values"]} - set(self.fields.get("no_value", ()))
        text = ""
        while text in known:
            text = f"<{text or 'missing'}>"
        return text

    @cached_property
    def size(self) -> int:
        """How many codes there are; a cell without any code is read as this."""
        codes = [self.fields["missing"]]
        codes += [*self._codes, self.fields["unseen"]] if self.is_label else [len(self.fields["cuts"])]
        return int(max(codes)) + 1

    @property
    def _codes(self) -> Sequence[int]:
        codes = self.fields.get("codes", range(len(self.fields["values"])))
        return [int(code) for code in codes]

    def slot(self, code: int) -> int:
        """Return the slot of a code: the last one, if it is -1."""
        return int(code) if code >= 0 else self.size

    def slots_of_labels(self) -> dict[Json, int]:
        """Return the slot of each label and of each text that stands for a missing cell."""
        found = dict(zip(self.fields["values"], map(self.slot, self._codes), strict=True))
        missing = self.slot(self.fields["missing"])
        if not self.takes_texts:
            return {float(label): slot for label, slot in found.items()} | {float("nan"): missing}
        known = {str(label): slot for label, slot in found.items()}
        return known | dict.fromkeys((*self.fields.get("no_value", ()), self.missing_text), missing)

    def pair_slots(self, size: int) -> Longs:
        """Return for each slot the code in pairs, where there are so many; the size itself stands for none."""
        codes = self.fields.get("pair_codes", range(self.size))
        found = np.full(self.size + 1, size, dtype=np.int64)
        for slot, code in zip(range(self.size), codes, strict=False):
            found[slot] = code if 0 <= code < size else size
        return found


class RowReader:
    """Reads the columns of a row as the terms need them; whatever several terms read is computed once."""

    def __init__(self, graph: OnnxGraph, columns: Sequence[OnnxColumn], coded: Iterable[int]) -> None:
        self.graph, self.columns = graph, columns
        # Labels first, then numbers: the order of the columns of `slots`.
        self.coded = sorted(coded, key=lambda place: (not columns[place].is_label, place))
        self.position = {place: at for at, place in enumerate(self.coded)}
        sizes = [columns[place].size + 1 for place in self.coded]
        ends = np.cumsum([0, *sizes], dtype=np.int64)
        self.begin = dict(zip(self.coded, ends[:-1].tolist(), strict=True))
        self.total = int(ends[-1])
        self._numbers: dict[int, Tensor] = {}

    def number(self, place: int) -> Tensor:
        """Return the numbers of a column; those that `predict` refuses for their sign are missing."""
        column, graph = self.columns[place], self.graph
        if column.fields.get("refuses") != "negative":
            return column.tensor
        if place not in self._numbers:
            refused = graph.node("Less", column.tensor, graph.constant(0.0))
            self._numbers[place] = graph.node("Where", refused, graph.constant(np.nan), column.tensor)
        return self._numbers[place]

    def numbers(self, places: Sequence[int]) -> Tensor:
        """Return numbers of several columns, [row, column]."""
        return self.graph.joined([self.number(place) for place in places])

    def fields(self, places: Sequence[int], name: str) -> Floats:
        """Return a field of several columns."""
        return np.array([self.columns[place].fields[name] for place in places], dtype=np.float64)

    # -- slots ----------------------------------------------------------------------------------------------------

    @cached_property
    def slots(self) -> Tensor:
        """The line of the cell of each column, [row, column], counted from the lines of the first column."""
        labels = [place for place in self.coded if self.columns[place].is_label]
        numbers = [place for place in self.coded if not self.columns[place].is_label]
        widest = max((len(self.columns[place].fields["cuts"]) for place in numbers), default=0)
        parts = [self._slots_of_labels(place) for place in labels]
        parts += [self._slots_of_numbers(part) for part in parts_of_row(numbers, widest // 2)]  # of a few bytes each
        return self.graph.joined(parts)

    def slots_of(self, places: Sequence[int]) -> Tensor:
        """Return the lines of the cells of some columns."""
        return self.graph.picked(self.slots, [self.position[place] for place in places], len(self.coded))

    def _slots_of_labels(self, place: int) -> Tensor:
        column, begin = self.columns[place], self.begin[place]
        slots = {label: begin + slot for label, slot in column.slots_of_labels().items()}
        unseen = begin + column.slot(column.fields["unseen"])
        if column.takes_texts:
            how: dict[str, object] = {"keys_strings": list(slots), "values_int64s": list(slots.values())}
            return self.graph.node("LabelEncoder", column.tensor, domain=LEARNING, default_int64=unseen, **how)
        return self._slots_of_number_labels(column.tensor, slots, unseen)

    def _slots_of_number_labels(self, x: Tensor, slots: Mapping[Json, int], unseen: int) -> Tensor:
        from onnx import numpy_helper

        pairs = [*slots.items(), *([(-0.0, slots[0.0])] if 0.0 in slots else [])]  # keys are compared bit by bit
        keys, values = np.array([key for key, _ in pairs], dtype=np.float64), np.array([slot for _, slot in pairs])
        return self.graph.node(
            "LabelEncoder",
            x,
            domain=LEARNING,
            keys_tensor=numpy_helper.from_array(keys, "keys"),
            values_tensor=numpy_helper.from_array(values, "values"),
            default_tensor=numpy_helper.from_array(np.array([unseen], dtype=np.int64), "default"),
        )

    def _slots_of_numbers(self, places: Sequence[int]) -> Tensor:
        """Return the lines of bins: as many cuts as are less than the number come before it."""
        from onnx import TensorProto

        graph, columns = self.graph, [self.columns[place] for place in places]
        cuts = np.full((len(places), max(1, *(len(column.fields["cuts"]) for column in columns))), np.inf)
        for line, column in zip(cuts, columns, strict=True):
            line[: len(column.fields["cuts"])] = column.fields["cuts"]
        begin = np.array([self.begin[place] for place in places], dtype=np.int64)
        missing = begin + [column.slot(column.fields["missing"]) for column in columns]
        x = self.numbers(places)
        is_above = graph.node("Greater", graph.axis_added(x), graph.constant(cuts))
        number = graph.summed(graph.node("Cast", is_above, to=TensorProto.INT32), 2)
        slots = graph.node("Add", graph.node("Cast", number, to=TensorProto.INT64), graph.constant(begin))
        return graph.node("Where", graph.node("IsNaN", x), graph.constant(missing), slots)

    # -- levels ---------------------------------------------------------------------------------------------------

    def levels_of(self, places: Sequence[int]) -> Tensor:
        """Return the levels of numbers, [row, column]; 0 where one is missing."""
        graph, x = self.graph, self.numbers(places)
        low, high, center, steps = (
            graph.constant(self.fields(places, name)) for name in ("low", "high", "center", "steps")
        )
        inside = graph.node("Min", graph.node("Max", x, low), high)
        scaled = graph.node("Mul", graph.node("Sub", inside, center), steps)
        levels = graph.node("Div", graph.node("Round", scaled), graph.constant(LEVELS_OF_STEP))
        return graph.node("Where", graph.node("IsNaN", x), graph.constant(0.0), levels)


def onnx_columns(fields: Sequence[JsonObject]) -> list[OnnxColumn]:
    """Return the columns of a flat model as inputs, if they can be."""
    for column in fields:
        name = column["name"]
        if column["kind"] == "text":
            raise InvalidInput(
                f"Column {name!r} holds texts, whose words no ONNX model can count. Export to JSON or JavaScript, "
                "which can hold them; or fit without the column, then export.",
                column=name,
            )
        if not str(name):
            raise InvalidInput("A column has no name, and an input of ONNX needs one. Name it, then fit.", column=name)
    if not fields:
        raise InvalidInput("The model uses no column, so an ONNX model of it would have no input. Fit with a column.")
    return [OnnxColumn(column, str(column["name"])) for column in fields]
