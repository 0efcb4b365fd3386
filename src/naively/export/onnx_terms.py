"""The terms of a flat model as nodes of ONNX: lines of tables that are looked up, products of levels, densities."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .._types import Floats, JsonObject
from ..errors import InvalidInput
from .onnx_columns import OnnxColumn, RowReader
from .onnx_densities import LANCZOS_CELLS, negative_binomials, normal_densities, poisson_densities
from .onnx_graph import OnnxGraph, Tensor, parts_of_row, widened

LOOKED_UP = ("table", "pair", "slopes")
LEVELED = ("slope", "product", "slopes")
DENSITIES: dict[str, tuple[Callable[[OnnxGraph, Tensor, Sequence[Floats]], Tensor], int]] = {
    "density": (normal_densities, 1),
    "poisson": (poisson_densities, 1),
    "negative binomial": (negative_binomials, LANCZOS_CELLS),
}


def sums_of_terms(graph: OnnxGraph, columns: Sequence[OnnxColumn], terms: Sequence[JsonObject], width: int) -> Tensor:
    """Return the sum of all terms, [row, class]; there is at least one, and so many classes."""
    builder = TermBuilder(graph, columns, terms, width)
    parts = [*builder.tables(), *builder.pairs(), *builder.slopes(), *builder.products(), *builder.level_lines()]
    return graph.total([*parts, *builder.densities()])


def check_terms(terms: Sequence[JsonObject]) -> None:
    """Refuse kinds of terms that nobody knows here."""
    for term in terms:
        if term["kind"] not in (*LOOKED_UP, *LEVELED, *DENSITIES):
            raise InvalidInput(f"The model has a term of kind {term['kind']!r}, which ONNX cannot hold.")


class TermBuilder:
    """Adds the nodes of all terms, each kind at once; every method returns sums of scores, [row, class]."""

    def __init__(
        self, graph: OnnxGraph, columns: Sequence[OnnxColumn], terms: Sequence[JsonObject], width: int
    ) -> None:
        self.graph, self.columns, self.width = graph, columns, width
        self.by_kind = {term["kind"]: [one for one in terms if one["kind"] == term["kind"]] for term in terms}
        coded = {term["columns"][0] for term in self._of("table")}
        self.paired = sorted({place for term in self._of("pair") for place in term["columns"]})
        self.paired = sorted({*self.paired, *(term["columns"][1] for term in self._of("slopes"))})
        self.reader = RowReader(graph, columns, coded | {*self.paired})
        self.leveled = sorted({place for term in self._leveled() for place in term})
        self.levels = self.reader.levels_of(self.leveled) if self.leveled else ""
        self.pair_size = {place: self._pair_size(place) for place in self.paired}
        self.pair_codes = self._pair_codes() if self.paired else ""

    def _of(self, kind: str) -> list[JsonObject]:
        return self.by_kind.get(kind, [])

    def _leveled(self) -> list[list[int]]:
        """Return the columns whose levels are multiplied, term by term."""
        return [
            *(term["columns"] for kind in ("slope", "product") for term in self._of(kind)),
            *(term["columns"][:1] for term in self._of("slopes")),
        ]

    # -- what is looked up ----------------------------------------------------------------------------------------

    def tables(self) -> list[Tensor]:
        """Return the sums of the lines at the codes of columns."""
        lines, places = np.zeros((self.reader.total, self.width)), []
        for term in self._of("table"):
            place, table = term["columns"][0], widened(term["table"], self.width)
            begin = self.reader.begin[place]
            lines[begin : begin + len(table)] += table
            places.append(place)
        return [
            self.graph.summed(self._gathered(lines, self.reader.slots_of(part)), 1)
            for part in parts_of_row(places, self.width)
        ]

    def pairs(self) -> list[Tensor]:
        """Return the sums of the lines at the codes of pairs of columns."""
        return [self._pairs(part) for part in parts_of_row(self._of("pair"), self.width)]

    def _pairs(self, terms: Sequence[JsonObject]) -> Tensor:
        lines, begins, places = list[Floats](), list[int](), np.zeros((len(self.paired), len(terms)))
        for at, term in enumerate(terms):
            i, j = term["columns"]
            table = widened(term["table"], self.width)
            whole = np.zeros((self.pair_size[i] + 1, self.pair_size[j] + 1, self.width))
            whole[: table.shape[0], : table.shape[1]] = table  # a code that is in no pair contributes nothing
            places[self.paired.index(i), at], places[self.paired.index(j), at] = whole.shape[1], 1.0
            begins.append(sum(map(len, lines)))
            lines.append(whole.reshape(-1, self.width))
        return self.graph.summed(self._pair_lines(np.concatenate(lines), places, begins), 1)

    def level_lines(self) -> list[Tensor]:
        """Return the sums of levels times the lines at codes in pairs of other columns."""
        return [self._level_lines(part) for part in parts_of_row(self._of("slopes"), self.width)]

    def _level_lines(self, terms: Sequence[JsonObject]) -> Tensor:
        lines, begins, places = list[Floats](), list[int](), np.zeros((len(self.paired), len(terms)))
        for at, term in enumerate(terms):
            j = term["columns"][1]
            table, size = widened(term["table"], self.width), self.pair_size[j]
            places[self.paired.index(j), at] = 1.0
            begins.append(sum(map(len, lines)))
            lines.append(np.pad(table, [(0, size + 1 - len(table)), (0, 0)]))
        levels = self.graph.axis_added(self._levels_of([term["columns"][0] for term in terms]))
        found = self._pair_lines(np.concatenate(lines), places, begins)
        return self.graph.summed(self.graph.node("Mul", found, levels), 1)

    def _pair_lines(self, lines: Floats, places: Floats, begins: Sequence[int]) -> Tensor:
        """Return lines [row, term, class]: the numbers of the lines are sums of codes in pairs times places, exactly.

        A product of matrices is faster than to pick codes.
        """
        from onnx import TensorProto

        graph = self.graph
        line = graph.node("MatMul", self.pair_codes, graph.constant(places))
        line = graph.node("Add", line, graph.constant(np.array(begins, dtype=np.float64)))
        return self._gathered(lines, graph.node("Cast", line, to=TensorProto.INT64))

    def _gathered(self, lines: Floats, at: Tensor) -> Tensor:
        """Return lines [row, term, class] of a table by their numbers [row, term]."""
        return self.graph.node("Gather", self.graph.constant(lines), at, axis=0)

    def _pair_size(self, place: int) -> int:
        """Return how many codes a column has in tables of pairs."""
        sizes = [term["table"].shape[at] for term in self._of("pair") for at in (0, 1) if term["columns"][at] == place]
        sizes += [len(term["table"]) for term in self._of("slopes") if term["columns"][1] == place]
        return int(max(sizes))

    def _pair_codes(self) -> Tensor:
        """Return the codes in pairs of all columns that have some, [row, column], as doubles."""
        whole = np.zeros(self.reader.total)
        for place in self.paired:
            codes = self.columns[place].pair_slots(self.pair_size[place])
            whole[self.reader.begin[place] : self.reader.begin[place] + len(codes)] = codes
        return self.graph.node("Gather", self.graph.constant(whole), self.reader.slots_of(self.paired), axis=0)

    # -- products of levels ---------------------------------------------------------------------------------------

    def _levels_of(self, places: Sequence[int]) -> Tensor:
        return self.graph.picked(self.levels, [self.leveled.index(place) for place in places], len(self.leveled))

    def slopes(self) -> list[Tensor]:
        """Return what is in proportion to levels, and to their squares."""
        found = list[Tensor]()
        for part in parts_of_row(self._of("slope"), 1):
            levels = self._levels_of([term["columns"][0] for term in part])
            tables = [widened(term["table"], self.width) for term in part]
            found.append(self._product(levels, np.stack([table[0] for table in tables])))
            if any(len(table) > 1 for table in tables):
                squares = [table[1] if len(table) > 1 else np.zeros(self.width) for table in tables]
                found.append(self._product(self.graph.node("Mul", levels, levels), np.stack(squares)))
        return found

    def products(self) -> list[Tensor]:
        """Return what is in proportion to products of two levels."""
        found = list[Tensor]()
        for part in parts_of_row(self._of("product"), 1):
            first, second = (self._levels_of([term["columns"][at] for term in part]) for at in (0, 1))
            table = np.stack([widened(term["table"], self.width) for term in part])
            found.append(self._product(self.graph.node("Mul", first, second), table))
        return found

    def _product(self, matrix: Tensor, table: Floats) -> Tensor:
        return self.graph.node("MatMul", matrix, self.graph.constant(table))

    # -- densities ------------------------------------------------------------------------------------------------

    def densities(self) -> list[Tensor]:
        """Return the densities of numbers."""
        found = list[Tensor]()
        for kind, (densities, cells) in DENSITIES.items():
            # Those with a power are Student-t densities, whose nodes others do not need.
            for powers in (False, True):
                terms = [term for term in self._of(kind) if (kind == "density" and term["table"][:, 2].any()) == powers]
                for part in parts_of_row(terms, cells * self.width):
                    x = self.reader.numbers([term["columns"][0] for term in part])
                    found.append(densities(self.graph, x, [term["table"] for term in part]))
        return found
