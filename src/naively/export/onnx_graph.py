"""A graph of ONNX while it is made: nodes, constants, and names that nothing else has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np

from .._types import AnyArray, Floats

Tensor: TypeAlias = str  # the name of what a node computes
T = TypeVar("T")

# The domain of the operators for machine learning.
LEARNING = "ai.onnx.ml"
# Steps that hold many numbers a row are done in parts of so many: memory stays in proportion to the rows.
CELLS_OF_ROW = 128


class OnnxGraph:
    """Nodes and constants of a graph; equal constants are kept once."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.nodes: list[Any] = []  # NodeProto, which is imported late
        self.constants: list[Any] = []  # TensorProto
        self._taken = set(taken)
        self._known: dict[tuple[str, tuple[int, ...], bytes], Tensor] = {}

    def unused_name(self, wanted: str) -> str:
        """Return a name that nothing else in the graph has, and take it."""
        name, number = wanted, 0
        while not name or name in self._taken:
            number += 1
            name = f"{wanted}_{number}"
        self._taken.add(name)
        return name

    def node(self, kind: str, *inputs: Tensor, domain: str = "", **attributes: object) -> Tensor:
        """Add a node, and return its output."""
        output = self.unused_name(kind.lower())
        self.add_node(kind, inputs, output, domain, attributes)
        return output

    def constant(self, values: AnyArray | float) -> Tensor:
        """Return an array that is kept with the graph."""
        array = np.asarray(values)
        key = (array.dtype.str, array.shape, array.tobytes())
        if array.dtype == object:  # texts
            key = ("texts", array.shape, repr(array.tolist()).encode())
        if key not in self._known:
            self._known[key] = self.unused_name("constant")
            self.add_constant(self._known[key], array)
        return self._known[key]

    def add_node(
        self, kind: str, inputs: Sequence[Tensor], output: Tensor, domain: str, attributes: dict[str, object]
    ) -> None:
        """Add a node that computes a given output."""
        from onnx import helper

        name = f"{kind} {len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [output], name, domain=domain, **attributes))

    def add_constant(self, name: str, array: AnyArray) -> None:
        """Add an array under a given name."""
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name))

    # -- steps that several terms need ----------------------------------------------------------------------------

    def joined(self, parts: Sequence[Tensor]) -> Tensor:
        """Return matrices side by side."""
        return parts[0] if len(parts) == 1 else self.node("Concat", *parts, axis=1)

    def picked(self, matrix: Tensor, places: Sequence[int], width: int) -> Tensor:
        """Return some columns of a matrix that has so many."""
        if list(places) == list(range(width)):
            return matrix
        return self.node("Gather", matrix, self.constant(np.array(places, dtype=np.int64)), axis=1)

    def axis_added(self, tensor: Tensor) -> Tensor:
        """Return a tensor with one more axis, the last, of length 1."""
        return self.node("Unsqueeze", tensor, self.constant(np.array([-1], dtype=np.int64)))

    def summed(self, tensor: Tensor, axis: int) -> Tensor:
        """Return the sums along an axis, which is gone then."""
        return self.node("ReduceSum", tensor, self.constant(np.array([axis], dtype=np.int64)), keepdims=0)

    def total(self, parts: Sequence[Tensor]) -> Tensor:
        """Return the sum of tensors of one shape."""
        return parts[0] if len(parts) == 1 else self.node("Sum", *parts)

    def logarithm_of_one_plus(self, u: Tensor) -> Tensor:
        """Return log(1 + u), with all digits where u is small: ONNX has no such operator.

        What rounding adds to y = 1 + u is in y - 1, too, so that u · log(y) / (y - 1) is free of it (Kahan).
        """
        one = self.constant(1.0)
        y = self.node("Add", u, one)
        rounded = self.node("Sub", y, one)
        is_tiny = self.node("Equal", rounded, self.constant(0.0))
        ratio = self.node("Div", u, self.node("Where", is_tiny, one, rounded))
        return self.node("Where", is_tiny, u, self.node("Mul", self.node("Log", y), ratio))


def parts_of_row(items: Sequence[T], cells: int) -> Iterator[list[T]]:
    """Give the items in parts whose cells together, so many for each item, are not too many for a row."""
    step = max(CELLS_OF_ROW // max(cells, 1), 1)
    for begin in range(0, len(items), step):
        yield list(items[begin : begin + step])


def widened(table: Floats, width: int) -> Floats:
    """Return scores [..., class] for so many classes: those that are relative to the first class get its 0."""
    table = np.asarray(table, dtype=np.float64)
    lacking = width - table.shape[-1]
    return np.pad(table, [(0, 0)] * (table.ndim - 1) + [(lacking, 0)]) if lacking else table
