"""Formulas as nodes of an ONNX graph: formulas of one form are computed at once, [row, formula, class]."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np

from .._types import AnyArray, Json, JsonObject
from .formulas import (
    BinCode,
    Call,
    CategoryCode,
    Choice,
    Formula,
    Lookup,
    Named,
    Number,
    QuadraticForm,
    Step,
    Total,
    parts_of,
)

Tensor: TypeAlias = str  # the name of what a node computes

# Formulas of one form are computed in parts with this many numbers per row: memory stays in proportion to the rows.
NUMBERS_OF_ROW = 128
# Whole numbers up to this are doubles without rounding.
LARGEST_WHOLE = 2**53
LEARNING = "ai.onnx.ml"  # the domain of the operators for machine learning
OPERATORS = {
    "+": "Add",
    "-": "Sub",
    "*": "Mul",
    "/": "Div",
    "<": "Less",
    "=": "Equal",
    "max": "Max",
    "ln": "Log",
    "exp": "Exp",
    "missing": "IsNaN",
}


class OnnxGraph:
    """The nodes and constants of a graph; equal ones are added once."""

    def __init__(self, taken: Iterable[str]) -> None:
        self.nodes: list[Any] = []  # NodeProto
        self.constants: list[Any] = []  # TensorProto
        self._taken = set(taken)
        self._outputs: dict[bytes, Tensor] = {}  # of each node and constant
        # Named formulas are columns of matrices [row, name], or computed where they are used.
        self._place: dict[str, tuple[Tensor, int]] = {}
        self._width: dict[Tensor, int] = {}
        self._inline: Step = {}

    def unused_name(self, wanted: str) -> str:
        """Return a name that nothing else in the graph has, and take it."""
        name, number = wanted, 0
        while not name or name in self._taken:
            number += 1
            name = f"{wanted}_{number}"
        self._taken.add(name)
        return name

    def node(self, kind: str, *inputs: Tensor, domain: str = "", **attributes: object) -> Tensor:
        """Add a node and return its output."""
        from onnx import helper

        proto = helper.make_node(kind, inputs, [], domain=domain, **attributes)
        key = proto.SerializeToString()
        if key not in self._outputs:
            self._outputs[key] = self.unused_name(kind.lower())
            proto.output.append(self._outputs[key])
            proto.name = f"{kind} {len(self.nodes)}"
            self.nodes.append(proto)
        return self._outputs[key]

    def constant(self, values: AnyArray | float) -> Tensor:
        """Return an array that is kept with the graph."""
        from onnx import numpy_helper

        proto = numpy_helper.from_array(np.ascontiguousarray(values).reshape(np.shape(values)))
        key = proto.SerializeToString()
        if key not in self._outputs:
            self._outputs[key] = proto.name = self.unused_name("constant")
            self.constants.append(proto)
        return self._outputs[key]

    def joined(self, matrices: Sequence[Tensor]) -> Tensor:
        """Return matrices side by side."""
        return matrices[0] if len(matrices) == 1 else self.node("Concat", *matrices, axis=1)

    def squeezed(self, tensor: Tensor, axis: int = -1) -> Tensor:
        """Return a tensor without an axis of length 1."""
        return self.node("Squeeze", tensor, self.constant(np.array([axis])))

    def unsqueezed(self, tensor: Tensor, axis: int = -1) -> Tensor:
        """Return a tensor with one more axis, of length 1."""
        return self.node("Unsqueeze", tensor, self.constant(np.array([axis])))

    def summed(self, tensor: Tensor, axis: int) -> Tensor:
        """Return sums along an axis, which is of length 1 then."""
        return self.node("ReduceSum", tensor, self.constant(np.array([axis])))

    def total(self, tensors: Sequence[Tensor]) -> Tensor:
        """Return the sum of tensors of one shape."""
        return tensors[0] if len(tensors) == 1 else self.node("Sum", *tensors)

    def log_of_one_plus(self, u: Tensor) -> Tensor:
        """Return log(1 + u), with all digits where u is small: ONNX has no such operator.

        What rounding adds to y = 1 + u is in y - 1, too, so that u · log(y) / (y - 1) is free of it (Kahan).
        """
        one = self.constant(1.0)
        y = self.node("Add", u, one)
        rounded = self.node("Sub", y, one)
        is_tiny = self.node("Equal", rounded, self.constant(0.0))
        ratio = self.node("Div", u, self.node("Where", is_tiny, one, rounded))
        return self.node("Where", is_tiny, u, self.node("Mul", self.node("Log", y), ratio))

    # -- named formulas ------------------------------------------------------------------------------------------------

    def add_matrix(self, matrix: Tensor, names: Sequence[str]) -> None:
        """Name the columns of a matrix."""
        self._place |= {name: (matrix, index) for index, name in enumerate(names)}
        self._width[matrix] = len(names)

    def add_steps(self, steps: Sequence[Step], inline: Step) -> None:
        """Compute named formulas, as a matrix for each first letter of names; some only where they are used."""
        for step in steps:
            for letter in sorted({name[0] for name in step}):
                names = [name for name in step if name[0] == letter]
                parts = list(self._parts([step[name] for name in names]))
                values = [self.squeezed(self.values([step[names[index]] for index in part])) for part in parts]
                self.add_matrix(self.joined(values), [names[index] for part in parts for index in part])
        self._inline = inline

    def _named(self, names: Sequence[str]) -> Tensor:
        if names[0] in self._inline:
            return self.values([self._inline[name] for name in names])
        matrices = list(dict.fromkeys(self._place[name][0] for name in names))
        ends = list(accumulate((self._width[matrix] for matrix in matrices), initial=0))
        begin = dict(zip(matrices, ends[:-1], strict=True))
        columns = [begin[matrix] + index for matrix, index in map(self._place.__getitem__, names)]
        joined = self.joined(matrices)
        if columns != list(range(ends[-1])):
            joined = self.node("Gather", joined, self.constant(np.array(columns)), axis=1)
        return self.unsqueezed(joined)

    # -- formulas ------------------------------------------------------------------------------------------------------

    def values(self, formulas: Sequence[Any]) -> Tensor:
        """Return formulas of one form, [row, formula, class]; without arrays the last axis is of length 1."""
        match formulas[0]:
            case Number():
                return self.constant(np.stack([np.atleast_1d(formula.value) for formula in formulas]))
            case Named():
                return self._named([formula.name for formula in formulas])
            case CategoryCode():
                return self.unsqueezed(self.joined([self._code_of_category(formula) for formula in formulas]))
            case Lookup():
                return self._lines(formulas)
            case QuadraticForm(numbers, table):
                z = self.squeezed(self.values(numbers))
                return self.unsqueezed(self.node("Einsum", z, self.constant(table), z, equation="ni,ijk,nj->nk"), 1)
            case Total(whole, relative):
                return self._total(whole, relative)
        parts = list(map(self.values, zip(*map(parts_of, formulas), strict=True)))
        match formulas[0]:
            case BinCode():
                return self._bins(parts[0], [formula.cuts for formula in formulas])
            case Choice():
                return self.node("Where", *parts)
            case Call("no number"):
                return self.constant(np.array([[np.nan]]))
            case Call("log1p"):
                return self.log_of_one_plus(*parts)
            case Call(function):
                return self.node(OPERATORS[function], *parts)
        raise AssertionError(formulas[0])

    def _code_of_category(self, formula: CategoryCode) -> Tensor:
        from onnx import numpy_helper

        cell, column = self._place[formula.cell.name][0], formula.column
        missing, unseen = int(column["missing"]), int(column["unseen"])
        if takes_texts(column):
            codes = {str(label): code for label, code in formula.codes.items()}
            codes |= dict.fromkeys((*formula.no_value, missing_text(column)), missing)
            how: JsonObject = {"keys_strings": list(codes), "values_int64s": list(codes.values())}
            return self.node("LabelEncoder", cell, domain=LEARNING, default_int64=unseen, **how)
        pairs = [(float(label), code) for label, code in formula.codes.items()]
        pairs += [(-0.0, code) for label, code in pairs if label == 0.0]  # keys are compared bit by bit
        keys, values = zip(*pairs, (np.nan, missing), strict=True)
        tables = {
            "keys_tensor": np.array(keys),
            "values_tensor": np.array(values),
            "default_tensor": np.array([unseen]),
        }
        how = {name: numpy_helper.from_array(table, name) for name, table in tables.items()}
        return self.node("LabelEncoder", cell, domain=LEARNING, **how)

    def _bins(self, x: Tensor, cuts: Sequence[AnyArray]) -> Tensor:
        """Return how many cuts are less than each number."""
        from onnx import TensorProto

        table = np.full((len(cuts), max(map(len, cuts))), np.inf)
        for line, of_number in zip(table, cuts, strict=True):
            line[: len(of_number)] = of_number
        is_above = self.node("Cast", self.node("Greater", x, self.constant(table)), to=TensorProto.INT32)
        return self.node("Cast", self.summed(is_above, -1), to=TensorProto.INT64)

    def _lines(self, formulas: Sequence[Lookup]) -> Tensor:
        """Return lines of tables, which are one table below another."""
        tables = [formula.values for formula in formulas]
        begins = np.array(list(accumulate(map(len, tables[:-1]), initial=1)))  # the first code is -1
        codes = self.node("Add", self.values([formula.code for formula in formulas]), self.constant(begins[:, None]))
        lines = self.node("Gather", self.constant(np.concatenate(tables)), self.squeezed(codes), axis=0)
        return lines if tables[0].ndim == 2 else self.unsqueezed(lines)

    def _total(self, whole: Sequence[Formula], relative: Sequence[Formula]) -> Tensor:
        sums = self._sums(whole)
        if relative:  # the scores of the first class are 0
            before = self.constant(np.array([0, 0, 1, 0, 0, 0]))
            sums.append(self.node("Pad", self.total(self._sums(relative)), before, self.constant(0.0)))
        return self.total(sums) if sums else self.constant(np.zeros((1, 1, 1)))

    def _sums(self, formulas: Sequence[Formula]) -> list[Tensor]:
        """Return the sum of each form, [row, 1, class]; numbers times constants are a product of matrices."""
        sums = list[Tensor]()
        for part in self._parts(formulas):
            match [formulas[index] for index in part]:
                case [Call("*", (_, Number(np.ndarray()))), *_] as products:
                    numbers, constants = zip(*map(parts_of, products), strict=True)
                    matrix = self.squeezed(self.values(numbers))
                    sums.append(self.unsqueezed(self.node("MatMul", matrix, self.values(constants)), 1))
                case others:
                    sums.append(self.summed(self.values(others), 1))
        return sums

    def _parts(self, formulas: Sequence[Formula]) -> Iterator[list[int]]:
        """Yield the places of formulas of one form, in parts that do not take too much memory."""
        places: dict[object, list[int]] = {}
        for index, formula in enumerate(formulas):
            places.setdefault(self._form(formula), []).append(index)
        for group in places.values():
            size = max(NUMBERS_OF_ROW // max(numbers_of(formulas[index]) for index in group), 1)
            yield from (group[begin : begin + size] for begin in range(0, len(group), size))

    def _form(self, formula: Formula) -> object:
        """Return what formulas have in common that are computed at once."""
        match formula:
            case Number(value):
                detail: object = np.shape(value), np.asarray(value).dtype.kind
            case Named(name):
                detail = self._form(self._inline[name]) if name in self._inline else None
            case Lookup(values=values):
                detail = values.ndim, values.dtype.kind
            case Call(function):
                detail = function
            case _:
                detail = None
        return type(formula), detail, *map(self._form, parts_of(formula))


def numbers_of(formula: Formula) -> int:
    """Return how many numbers of 8 bytes a formula takes per row while it is computed."""
    match formula:
        case Number(np.ndarray() as values):
            return len(values)
        case Lookup(values=values):
            return values.shape[1] if values.ndim == 2 else 1
        case BinCode(cuts=cuts):
            return len(cuts) // 2 + 1
        case Call("*", (factor, Number(np.ndarray()))):  # a factor of a product of matrices
            return numbers_of(factor)
    return max(map(numbers_of, parts_of(formula)), default=1)


# -- categories as inputs ---------------------------------------------------------------------------------------------


def takes_texts(column: JsonObject) -> bool:
    """Tell whether the cells of a column are given as texts; numbers and truth values are given as doubles."""
    if column["kind"] != "label":
        return False
    if column["type"] not in ("whole", "number", "boolean"):
        return True
    return any(isinstance(value, int) and abs(value) > LARGEST_WHOLE for value in column["values"])


def missing_text(column: JsonObject) -> str:
    """Return the text of a missing cell: an empty one, unless that is a category."""
    categories: set[Json] = {str(value) for value in column["values"]} - set(column.get("no_value", ()))
    text = ""
    while text in categories:
        text = f"<{text or 'missing'}>"
    return text
