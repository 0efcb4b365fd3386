"""Formulas of the cells of a row: what every export computes scores by, each in a language of its own.

An array stands for one number per class. A formula that holds arrays has a value for each class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from .._types import AnyArray, JsonObject

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
