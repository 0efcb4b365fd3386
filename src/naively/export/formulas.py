"""A flat model as formulas of the cells of a row, which every export writes in a language of its own.

Cells become codes and levels, these become scores, and scores probabilities. An array stands for one number per class;
a formula that holds arrays has a value for each class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp
from typing import TypeAlias

import numpy as np
from scipy.special import gammaln

from .._types import AnyArray, Floats, JsonObject
from ..errors import InvalidInput

RULED_OUT = -1e300  # stands for minus infinity, which not every database can write
BEYOND = -1e295  # a sum below this has ruled a class out
LARGE = 1e290  # the largest number that a density subtracts
# Added to and subtracted from a number less than 2**51, it rounds the number to a whole one, halves to the even one.
ROUNDING = 1.5 * 2.0**52
LEAST_EXPONENT = -700.0  # PostgreSQL refuses the exponential of less
# Stirling's formula is used from here on; its first terms leave less than 1e-14.
STIRLING_FROM = 16
HALF_LOG_2_PI = 0.9189385332046727


# `eq=False`: formulas hold arrays, which cannot be compared by ==.


@dataclass(frozen=True, eq=False)
class Number:
    """A number, or one per class; whole ones may be codes."""

    value: float | int | AnyArray


@dataclass(frozen=True, eq=False)
class Named:
    """The value of a formula of an earlier step."""

    name: str


@dataclass(frozen=True, eq=False)
class Cell:
    """The cell of a column: a floating point number, missing if there is none, or a category."""

    column: JsonObject


@dataclass(frozen=True, eq=False)
class CategoryCode:
    """The code of a categorical cell: of each known category, of a missing cell and of any other category."""

    cell: Named
    column: JsonObject
    codes: dict[str | int | float | bool, int]
    no_value: tuple[str, ...]  # texts that stand for a missing cell


@dataclass(frozen=True, eq=False)
class BinCode:
    """How many of some rising cuts are less than a number that is not missing."""

    number: Named
    cuts: AnyArray


@dataclass(frozen=True, eq=False)
class Lookup:
    """The line of a table [code] or [code, class]; the first line is that of the code -1."""

    code: Named
    values: AnyArray


@dataclass(frozen=True, eq=False)
class Call:
    """A function of numbers: one of + - * / max ln log1p exp < = missing, or none (no number)."""

    function: str
    arguments: tuple[Formula, ...]


@dataclass(frozen=True, eq=False)
class Choice:
    """A formula if a condition holds, else another one."""

    condition: Formula
    then: Formula
    otherwise: Formula


@dataclass(frozen=True, eq=False)
class QuadraticForm:
    """The sum of the products of any two of some numbers, each times the line of a table [number, number, class].

    The table is symmetric.
    """

    numbers: tuple[Formula, ...]
    table: AnyArray


@dataclass(frozen=True, eq=False)
class Total:
    """The sum of formulas with a value for each class; those relative to the first class have none for it."""

    whole: tuple[Formula, ...]
    relative: tuple[Formula, ...]


Formula: TypeAlias = Number | Named | Cell | CategoryCode | BinCode | Lookup | Call | Choice | QuadraticForm | Total
NO_NUMBER = Call("no number", ())
# Names with their formulas, which may use the names of the steps before.
Step: TypeAlias = dict[str, Formula]


def call(function: str, *arguments: Formula | float | AnyArray) -> Formula:
    """Return a function of formulas and numbers."""
    return Call(function, tuple(Number(a) if isinstance(a, (int, float, np.ndarray)) else a for a in arguments))


def within(number: Named, low: float, high: float) -> Formula:
    """Return a number clipped to a range."""
    return Choice(call("<", number, low), Number(low), Choice(call("<", high, number), Number(high), number))


def combined(function: str, parts: Sequence[Formula]) -> Formula:
    """Return the sum or the maximum of formulas, by halves: databases limit how deep an expression may be."""
    if len(parts) < 2:
        return parts[0] if parts else Number(0.0)
    half = len(parts) // 2
    return call(function, combined(function, parts[:half]), combined(function, parts[half:]))


def of_class(formula: Formula, k: int, classes: int) -> Formula:
    """Return the formula of a class alone; arrays may lack the first class."""
    match formula:
        case Number(np.ndarray() as values):
            return Number(values[k - classes].item())
        case Lookup(code, values) if values.ndim == 2:
            return Lookup(code, values[:, k - classes])
        case Call(function, arguments):
            return Call(function, tuple(of_class(argument, k, classes) for argument in arguments))
        case Choice(Number(np.ndarray() as flags), then, otherwise):
            return of_class(then if flags[k - classes] else otherwise, k, classes)
        case Choice(condition, then, otherwise):
            return Choice(*(of_class(part, k, classes) for part in (condition, then, otherwise)))
        case QuadraticForm(numbers, table):
            lines = (np.tril(table[..., k - classes]) * (2 - np.eye(len(numbers)))).tolist()
            sums = [
                combined("+", [call("*", number, by) for number, by in zip(numbers[: i + 1], line, strict=False)])
                for i, line in enumerate(lines)
            ]
            return combined("+", [call("*", number, part) for number, part in zip(numbers, sums, strict=True)])
        case Total(whole, relative):
            parts = whole + relative if k else whole
            return combined("+", [of_class(part, k, classes) for part in parts])
    return formula


def parts_of(formula: Formula) -> tuple[Formula, ...]:
    """Return the formulas that a formula is made of."""
    match formula:
        case CategoryCode(cell=part) | BinCode(number=part) | Lookup(code=part):
            return (part,)
        case Call(arguments=parts) | QuadraticForm(numbers=parts):
            return parts
        case Choice(condition, then, otherwise):
            return condition, then, otherwise
        case Total(whole, relative):
            return whole + relative
    return ()


def names_in(formula: Formula) -> set[str]:
    """Return the names that a formula uses."""
    return {formula.name} if isinstance(formula, Named) else set().union(*map(names_in, parts_of(formula)))


# -- densities of numbers, written so that neither large numbers nor small ones lose digits ----------------------------


def student_or_normal(x: Named, table: Floats) -> Formula:
    """Return the logarithms of Student-t densities, or of normal ones where the power is 0."""
    center, precision, power, base = table.T
    far = call("-", x, center)
    square = call("*", call("*", far, far), precision)
    student = call("*", power, call("log1p", square))
    return call("-", base, Choice(Number(power != 0), student, square) if power.any() else square)


def poisson(x: Named, table: Floats) -> Formula:
    """Return the logarithms of Poisson probabilities; 0 events have one even where the rate is 0."""
    weight, rate, log_rate = table.T
    never = np.isneginf(log_rate)
    usual = call("*", weight, call("-", call("*", x, np.where(never, 0.0, log_rate)), rate))
    if not never.any():
        return usual
    return Choice(Number(never), Choice(call("=", x, 0.0), Number(-weight * rate), Number(RULED_OUT)), usual)


def negative_binomial(x: Named, table: Floats) -> Formula:
    """Return the logarithms of negative binomial probabilities, up to what all classes share."""
    weight, events, rows = table.T
    both = call("+", x, events)
    of_none = gammaln(events) + events * np.log1p(1 / rows)
    few = call("-", call("-", few_log_gamma(both), of_none), call("*", x, np.log(rows + 1)))
    return call("*", weight, Choice(call("<", both, float(STIRLING_FROM)), few, many_events(x, both, events, rows)))


def few_log_gamma(z: Formula) -> Formula:
    """Return log Γ of a number less than 16, from that of the number plus 16."""
    product = z
    for more in range(1, STIRLING_FROM):
        product = call("*", product, call("+", z, float(more)))
    far = call("+", z, float(STIRLING_FROM))
    stirling = call("-", call("*", call("-", far, 0.5), call("ln", far)), far)
    return call("-", call("+", call("+", stirling, HALF_LOG_2_PI), stirling_rest(far)), call("ln", product))


def many_events(x: Named, both: Formula, events: Floats, rows: Floats) -> Formula:
    """Return the same for many events, without large logarithms that cancel: as in flat/scorer.js."""
    near = call("*", events, call("log1p", call("/", call("-", call("*", x, rows), events), events * (rows + 1))))
    slope = call("-", call("ln", call("/", both, rows + 1)), 1.0)
    far = call("-", call("*", x, slope), call("/", call("ln", call("/", both, events)), 2.0))
    lacks = gammaln(events) - ((events - 0.5) * np.log(events) - events + HALF_LOG_2_PI)
    series = (1 / 12 - (1 / 360 - (1 / 1260 - 1 / 1680 / events**2) / events**2) / events**2) / events
    lacks = np.where(events >= STIRLING_FROM, series, lacks)  # the difference of large numbers would lose digits
    return call("-", call("+", call("+", near, far), stirling_rest(both)), lacks)


def stirling_rest(z: Formula) -> Formula:
    """Return what Stirling's formula for log Γ lacks, of a number that is not small."""
    square = call("*", z, z)
    rest = call("-", 1 / 1260, call("/", 1 / 1680, square))
    rest = call("-", 1 / 360, call("/", rest, square))
    return call("/", call("-", 1 / 12, call("/", rest, square)), z)


DENSITIES: dict[str, Callable[[Named, Floats], Formula]] = {
    "density": student_or_normal,
    "poisson": poisson,
    "negative binomial": negative_binomial,
}


def density(kind: str, x: Named, table: Floats) -> Formula:
    """Return logarithms of densities; a missing number contributes nothing."""
    return Choice(call("missing", x), Number(0.0), DENSITIES[kind](x, table))


def bounded(cell: Named, tables: Sequence[Floats]) -> Formula:
    """Return a number clipped so that its densities [class, (center, precision, …)] do not overflow."""
    precision = max((table[:, 1].max() for table in tables), default=0.0)
    most = min(1e140, float(np.sqrt(LARGE / max(precision, 1e-10))) / 2)
    return within(cell, -most, most)


# -- scores -----------------------------------------------------------------------------------------------------------


class ScoreFormulas:
    """The formulas of a flat model: steps of named ones, and the scores of the classes, one formula with arrays.

    A name is a letter and a number, that of a column: cells of numbers `n` and of categories `v`; numbers within bounds
    `x`, levels `l`, codes `c`; codes in tables of pairs `q` and of triples `m`, where they differ. Or that of a term:
    lines of tables of pairs and triples `t`; or that of a component `z`.
    """

    def __init__(self, content: JsonObject) -> None:
        self.columns, self.terms, classes = content["columns"], content["terms"], len(content["classes"])
        self.cells: Step = {}
        self.codes: Step = {}
        self.interaction_codes: Step = {}
        self.lines: Step = {}
        self.components: Step = {}
        self.sizes: dict[str, int] = {}  # one more than the largest code, by the name of the code
        for index, column in enumerate(self.columns):
            self._add_number(index, column) if column["kind"] == "number" else self._add_category(index, column)
        whole, relative = list[Formula](), list[Formula]()
        for place, term in enumerate(self.terms):
            width = classes if term["kind"] in DENSITIES else term["table"].shape[-1]
            (whole if width == classes else relative).append(self._scores(place, term))
        scores: Formula = Total(tuple(whole), tuple(relative))
        if content["least"] is not None:
            scores = call("max", scores, float(content["least"]))
        self.joint = call("+", finite(content["prior"]), scores)

    def steps(self) -> list[Step]:
        """Return the named formulas that are used: cells, codes, codes in pairs and triples, components, lines."""
        used, steps = names_in(self.joint), list[Step]()
        for step in (self.lines, self.components, self.interaction_codes, self.codes, self.cells):
            steps.insert(0, {name: formula for name, formula in step.items() if name in used})
            used = used.union(*map(names_in, steps[0].values()))
        return steps

    # -- cells --------------------------------------------------------------------------------------------------------

    def _add_number(self, index: int, column: JsonObject) -> None:
        """Add the number of a cell, within bounds, its code and its level."""
        cell, cuts = Named(f"n{index}"), column["cuts"]
        self.cells[cell.name] = Cell(column)
        x = bounded(cell, [t["table"] for t in self.terms if t["kind"] == "density" and t["columns"] == [index]])
        code: Formula = BinCode(cell, cuts) if len(cuts) else Number(0)
        low, high, center = (float(column[field]) for field in ("low", "high", "center"))
        level = call("*", call("-", within(cell, low, high), center), float(column["steps"]))
        level = call("/", call("-", call("+", level, ROUNDING), ROUNDING), 4096.0)
        for name, value, if_missing, if_refused in (
            (f"x{index}", x, NO_NUMBER, NO_NUMBER),
            (f"c{index}", code, Number(int(column["missing"])), Number(-1)),
            (f"l{index}", level, Number(0.0), Number(0.0)),
        ):
            if "refuses" in column:  # a negative number, which contributes nothing
                value = Choice(call("<", cell, 0.0), if_refused, value)
            self.codes[name] = Choice(call("missing", cell), if_missing, value)
        self._add_interaction_codes(index, column, [len(cuts), column["missing"]])

    def _add_category(self, index: int, column: JsonObject) -> None:
        """Add the code of a category."""
        values = column["values"]
        codes = dict(zip(values, map(int, column.get("codes", range(len(values)))), strict=True))
        no_value = tuple(text for text in column.get("no_value", ()) if text not in codes)
        self.cells[f"v{index}"] = Cell(column)
        self.codes[f"c{index}"] = CategoryCode(Named(f"v{index}"), column, codes, no_value)
        self._add_interaction_codes(index, column, [*codes.values(), column["missing"], column["unseen"]])

    def _add_interaction_codes(self, index: int, column: JsonObject, codes: Sequence[int]) -> None:
        """Add the codes in tables of pairs and triples, where they are others, and how many codes there are."""
        self.sizes[f"c{index}"] = size = int(max(codes)) + 1
        for name, field in ((f"q{index}", "pair_codes"), (f"m{index}", "triple_codes")):
            if field in column:
                lookup = np.full(size + 1, -1)
                lookup[1 : len(column[field]) + 1] = column[field]
                self.interaction_codes[name] = Lookup(Named(f"c{index}"), lookup)
                self.sizes[name] = int(lookup.max()) + 1

    def _interaction_code(self, letter: str, index: int) -> Named:
        """Return the code of a column in tables of pairs `q` or of triples `m`."""
        name = f"{letter}{index}"
        return Named(name if name in self.interaction_codes else f"c{index}")

    # -- terms --------------------------------------------------------------------------------------------------------

    def _scores(self, place: int, term: JsonObject) -> Formula:
        """Return the scores of a term."""
        kind, columns, table = term["kind"], term["columns"], term["table"]
        if kind in DENSITIES:
            return density(kind, Named(f"x{columns[0]}"), table)
        match kind:
            case "table":
                return self._line(Named(f"c{columns[0]}"), table)
            case "pair" | "triple":
                letter = "q" if kind == "pair" else "m"
                codes = [self._interaction_code(letter, index) for index in columns]
                return self._line_of_codes(Named(f"t{place}"), codes, table)
            case "slope":
                return call("*", Named(f"l{columns[0]}"), table)
            case "quadratic":
                return QuadraticForm(self._add_components(columns, term["components"], len(table)), table)
        raise InvalidInput(f"The model has a term of kind {kind!r}, which only JavaScript and JSON can hold.")

    def _add_components(self, columns: Sequence[int], components: Sequence[Floats], size: int) -> tuple[Named, ...]:
        """Add the components of a row: sums over numbers, which have levels, and over categories, which have codes."""
        total = Total(
            tuple(
                call("*", Named(f"l{index}"), part)
                if part.ndim == 1
                else self._line(self._interaction_code("q", index), part)
                for index, part in zip(columns, components, strict=True)
            ),
            (),
        )
        self.components = {f"z{i}": of_class(total, i, size) for i in range(size)}
        return tuple(map(Named, self.components))

    def _line(self, code: Named, table: Floats) -> Lookup:
        """Return the line of a code; those of -1 and of codes beyond the end are 0."""
        lines = np.zeros((max(self.sizes[code.name], len(table)) + 1, *table.shape[1:]))
        lines[1 : len(table) + 1] = finite(table)
        return Lookup(code, lines)

    def _line_of_codes(self, name: Named, codes: Sequence[Named], table: Floats) -> Lookup:
        """Return the line of two or three codes; those of codes that are -1 or beyond the end are 0."""
        *shape, width = table.shape
        sizes = [max(self.sizes[code.name], size) + 1 for code, size in zip(codes, shape, strict=True)]
        lines = np.zeros((*sizes, width))
        lines[tuple(slice(1, size + 1) for size in shape)] = finite(table)
        line: Formula = codes[0]
        for code, size in zip(codes[1:], sizes[1:], strict=True):
            line = call("+", call("*", call("+", line, 1), size), code)
        self.lines[name.name] = line
        return Lookup(name, lines.reshape(-1, width))


def finite(scores: Floats) -> Floats:
    """Return scores with what stands for minus infinity."""
    return np.maximum(scores, RULED_OUT)


def scoring_steps(content: JsonObject) -> list[Step]:
    """Return the steps from the cells of a row to the probabilities: p0, p1 and so on, and the best of them."""
    scores, classes = ScoreFormulas(content), len(content["classes"])
    joint = {f"j{k}": of_class(scores.joint, k, classes) for k in range(classes)}
    return [step for step in (*scores.steps(), joint, *probability_steps(content)) if step]


def probability_steps(content: JsonObject) -> list[Step]:
    """Return the steps from scores to probabilities: softmax, mixed with the least probability of each class."""
    classes = range(len(content["classes"]))
    top, whole = Named("top"), Named("whole")
    odds: Step = {}
    for k, fallback in zip(classes, content["fallback"], strict=True):
        less = call("-", Named(f"j{k}"), top)
        odds_of_class = Choice(call("<", less, LEAST_EXPONENT), Number(0.0), call("exp", less))
        odds[f"e{k}"] = Choice(call("<", top, BEYOND), Number(exp(fallback)), odds_of_class)
    shares = [call("/", Named(f"e{k}"), whole) for k in classes]
    floor = [float(p) for p in content["floor"]]
    if any(floor):
        above = 1.0 - float(np.sum(floor))
        shares = [call("+", call("*", share, above), least) for share, least in zip(shares, floor, strict=True)]
    return [
        {"top": combined("max", [Named(f"j{k}") for k in classes])},
        odds,
        {"whole": combined("+", [Named(f"e{k}") for k in classes])},
        {f"p{k}": share for k, share in zip(classes, shares, strict=True)},
        {"best": combined("max", [Named(f"p{k}") for k in classes])},
    ]
