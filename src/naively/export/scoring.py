"""From a flat model to formulas, step by step: cells become codes and levels, these scores, these probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp

import numpy as np

from .._types import Floats, Json, JsonObject
from .densities import BEYOND, DENSITIES, farthest, finite
from .formulas import (
    NO_NUMBER,
    BinCode,
    Choice,
    Formula,
    LabelCell,
    LabelCode,
    Lookup,
    Named,
    Number,
    NumberCell,
    Step,
    call,
    greatest,
    names_in,
    total,
    unless_missing,
)

# Added to and subtracted from a number less than 2**51, it rounds the number to a whole one, halves to the even one.
ROUNDING = 1.5 * 2.0**52
LEAST_EXPONENT = -700.0  # PostgreSQL refuses the exponential of less


def scoring_steps(content: JsonObject) -> list[Step]:
    """Return the steps from the cells of a row to the probabilities: p0, p1 and so on, and the best of them."""
    scores = ScoreFormulas(content)
    joint = scores.joint()
    used = set[str]().union(*map(names_in, joint.values()))
    steps = [joint, *probability_steps(content)]
    for step in (scores.pairs, scores.pair_codes, scores.codes, scores.cells):
        kept = {name: formula for name, formula in step.items() if name in used}
        used |= set[str]().union(*map(names_in, kept.values()))
        steps.insert(0, kept)
    return [step for step in steps if step]


class ScoreFormulas:
    """The formulas of a flat model, up to the score of each class; those of cells are found by what uses them."""

    def __init__(self, content: JsonObject) -> None:
        self.content = content
        self.classes = len(content["classes"])
        self.cells: Step = {}
        self.codes: Step = {}
        self.pair_codes: Step = {}
        self.pairs: Step = {}
        for at, column in enumerate(content["columns"]):
            self._add_number(at, column) if column["kind"] == "number" else self._add_label(at, column)

    def joint(self) -> Step:
        """Return the score of each class: j0, j1 and so on."""
        parts: list[list[Formula]] = [[] for _ in range(self.classes)]
        for place, term in enumerate(self.content["terms"]):
            for own, part in zip(parts, self._scores(place, term), strict=True):
                own += [] if part is None else [part]
        least = self.content["least"]
        sums = map(total, parts) if least is None else (call("max", total(own), float(least)) for own in parts)
        prior = enumerate(map(float, self.content["prior"]))
        return {f"j{k}": call("+", p, own) for (k, p), own in zip(prior, sums, strict=True)}

    # -- cells --------------------------------------------------------------------------------------------------------

    def _add_number(self, at: int, column: JsonObject) -> None:
        """Add the number of a cell, within bounds, its code and its level."""
        name, cell = f"x{at}", Named(f"n{at}")
        self.cells[cell.name] = NumberCell(column)
        most = min((farthest(table) for table in self._densities(at)), default=1e140)
        bounded = Choice(call("missing", cell), NO_NUMBER, within(cell, -most, most))
        refused = call("<", cell, 0.0) if "refuses" in column else None
        if refused is not None:
            bounded = Choice(call("missing", cell), NO_NUMBER, Choice(refused, NO_NUMBER, bounded.otherwise))
        self.codes[name] = bounded
        cuts = tuple(map(float, column["cuts"]))
        code: Formula = BinCode(cell, cuts) if cuts else Number(0)
        code = code if refused is None else Choice(refused, Number(-1), code)
        self.codes[f"c{at}"] = unless_missing(cell, code, int(column["missing"]))
        low, high, center = (float(column[field]) for field in ("low", "high", "center"))
        level = call("*", call("-", within(cell, low, high), center), float(column["steps"]))
        rounded = call("-", call("+", level, ROUNDING), ROUNDING)
        self.codes[f"l{at}"] = unless_missing(cell, call("/", rounded, 4096.0))
        self._add_pair_codes(at, column)

    def _add_label(self, at: int, column: JsonObject) -> None:
        """Add the code of a label."""
        values = column["values"]
        codes = dict(zip(values, map(int, column.get("codes", range(len(values)))), strict=True))
        no_value = tuple(text for text in column.get("no_value", ()) if text not in codes)
        self.cells[f"v{at}"] = LabelCell(column)
        self.codes[f"c{at}"] = LabelCode(Named(f"v{at}"), column, codes, no_value)
        self._add_pair_codes(at, column)

    def _add_pair_codes(self, at: int, column: JsonObject) -> None:
        """Add the code in tables of pairs, where it is another one."""
        if "pair_codes" in column:
            known = [*map(int, column["pair_codes"])]
            known += [-1] * (greatest_code(column) + 1 - len(known))
            self.pair_codes[f"q{at}"] = Lookup(Named(f"c{at}"), (-1, *known))

    def _densities(self, at: int) -> Iterator[Floats]:
        for term in self.content["terms"]:
            if term["kind"] == "density" and term["columns"] == [at]:
                yield term["table"]

    def _pair_code(self, at: int) -> Named:
        return Named(f"q{at}" if f"q{at}" in self.pair_codes else f"c{at}")

    # -- terms --------------------------------------------------------------------------------------------------------

    def _scores(self, place: int, term: JsonObject) -> Iterator[Formula | None]:
        """Yield the score of each class; none where it is 0."""
        kind, columns, table = term["kind"], term["columns"], term["table"]
        if kind in DENSITIES:
            x = Named(f"x{columns[0]}")
            yield from (unless_missing(x, DENSITIES[kind](x, line)) for line in table)
            return
        yield from [None] * (self.classes - table.shape[-1])
        for k in range(table.shape[-1]):
            yield self._score(place, kind, columns, table[..., k])

    def _score(self, place: int, kind: str, columns: list[int], values: Floats) -> Formula:
        """Return the score of one class by its part of the table."""
        if kind == "table":
            return self._looked_up(Named(f"c{columns[0]}"), values)
        if kind == "pair":
            return self._pair(place, columns, values)
        level = Named(f"l{columns[0]}")
        if kind == "slope":
            slope = call("*", level, float(values[0]))
            return slope if len(values) == 1 else call("+", slope, call("*", call("*", level, level), float(values[1])))
        if kind == "product":
            return call("*", call("*", level, Named(f"l{columns[1]}")), float(values))
        assert kind == "slopes", kind
        return call("*", level, self._looked_up(self._pair_code(columns[1]), values))

    def _greatest(self, code: Named) -> int:
        """Return the greatest number that a code, or a code in pairs, may be."""
        known = self.pair_codes.get(code.name)
        if isinstance(known, Lookup):
            return int(max(known.values))
        return greatest_code(self.content["columns"][int(code.name[1:])])

    def _looked_up(self, code: Named, values: Floats) -> Lookup:
        """Return the value of a code; of -1 and of codes beyond the end it is 0."""
        beyond = max(self._greatest(code) + 1 - len(values), 0)
        return Lookup(code, (0.0, *map(finite, values), *[0.0] * beyond))

    def _pair(self, place: int, columns: list[int], values: Floats) -> Lookup:
        """Return the value of two codes; a line and a column of zeros stand for codes that are -1."""
        codes = [self._pair_code(at) for at in columns]
        sizes = [max(self._greatest(one) + 1, size) for one, size in zip(codes, values.shape, strict=True)]
        framed = np.zeros((sizes[0] + 1, sizes[1] + 1))
        framed[1 : values.shape[0] + 1, 1 : values.shape[1] + 1] = values
        lines = call("*", call("+", codes[0], 1), framed.shape[1])
        self.pairs[f"t{place}"] = call("+", lines, codes[1])
        return Lookup(Named(f"t{place}"), tuple(map(finite, framed.ravel())))


def within(cell: Named, low: float, high: float) -> Formula:
    """Return a number clipped to a range."""
    return Choice(call("<", cell, low), Number(low), Choice(call("<", high, cell), Number(high), cell))


def greatest_code(column: JsonObject) -> int:
    """Return the greatest code that a cell of a column may have."""
    codes: list[Json] = [column.get("missing", -1), column.get("unseen", -1)]
    if column["kind"] == "number":
        codes.append(len(column["cuts"]))
    else:
        codes.extend(column["codes"] if "codes" in column else [len(column["values"]) - 1])
    return int(max(codes))


def probability_steps(content: JsonObject) -> list[Step]:
    """Return the steps from scores to probabilities: softmax, mixed with the least probability of each class."""
    classes = range(len(content["classes"]))
    top, whole = Named("top"), Named("whole")
    ruled_out = call("<", top, BEYOND)
    odds: Step = {}
    for k, fallback in zip(classes, content["fallback"], strict=True):
        less = call("-", Named(f"j{k}"), top)
        own = Choice(call("<", less, LEAST_EXPONENT), Number(0.0), call("exp", less))
        odds[f"e{k}"] = Choice(ruled_out, Number(exp(fallback)), own)
    above = 1.0 - float(np.sum(content["floor"]))
    shares = [call("/", Named(f"e{k}"), whole) for k in classes]
    floor = [float(p) for p in content["floor"]]
    if any(floor):
        shares = [call("+", call("*", share, above), least) for share, least in zip(shares, floor, strict=True)]
    return [
        {"top": greatest([Named(f"j{k}") for k in classes])},
        odds,
        {"whole": total([Named(f"e{k}") for k in classes])},
        {f"p{k}": share for k, share in zip(classes, shares, strict=True)},
        {"best": greatest([Named(f"p{k}") for k in classes])},
    ]
