"""Formulas of numbers: what databases and PMML compute the scores of a row by, written by each in its own way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from .._types import JsonObject


@dataclass(frozen=True)
class Number:
    """A number; whole ones may be codes."""

    value: float | int


@dataclass(frozen=True)
class Named:
    """The value of a formula of an earlier step."""

    name: str


@dataclass(frozen=True)
class NumberCell:
    """The cell of a column of numbers as a floating point number; missing if there is none."""

    column: JsonObject


@dataclass(frozen=True)
class LabelCell:
    """The cell of a column of labels."""

    column: JsonObject


@dataclass(frozen=True)
class LabelCode:
    """The code of the cell of a column of labels: of each of its labels, of a missing and of any other one."""

    cell: Named
    column: JsonObject
    codes: dict[str | int | float | bool, int]  # of labels
    no_value: tuple[str, ...]  # texts that stand for a missing value


@dataclass(frozen=True)
class BinCode:
    """How many of some rising cuts are less than a number that is not missing."""

    number: Named
    cuts: tuple[float, ...]


@dataclass(frozen=True)
class Lookup:
    """The number at the place of a code, of which the first is -1."""

    code: Named
    values: tuple[float, ...] | tuple[int, ...]


@dataclass(frozen=True)
class Call:
    """A function of numbers: one of + - * / max ln log1p exp < = missing, or none (no number)."""

    function: str
    arguments: tuple[Formula, ...]


@dataclass(frozen=True)
class Choice:
    """A formula if a condition holds, else another one."""

    condition: Formula
    then: Formula
    otherwise: Formula


Formula: TypeAlias = Number | Named | NumberCell | LabelCell | LabelCode | BinCode | Lookup | Call | Choice
NO_NUMBER = Call("no number", ())
# Names with their formulas, which may use the names of the steps before.
Step: TypeAlias = dict[str, Formula]


def call(function: str, *arguments: Formula | float) -> Formula:
    """Return a function of formulas and numbers."""
    return Call(function, tuple(Number(one) if isinstance(one, (int, float)) else one for one in arguments))


def total(parts: Sequence[Formula]) -> Formula:
    """Return the sum of some formulas, halved again and again: databases limit how deep an expression may be."""
    if not parts:
        return Number(0.0)
    half = len(parts) // 2
    return parts[0] if len(parts) == 1 else call("+", total(parts[:half]), total(parts[half:]))


def greatest(parts: Sequence[Formula]) -> Formula:
    """Return the greatest of some formulas, which are not missing."""
    half = len(parts) // 2
    return parts[0] if len(parts) == 1 else call("max", greatest(parts[:half]), greatest(parts[half:]))


def unless_missing(number: Named, then: Formula, otherwise: float | int = 0.0) -> Formula:
    """Return a formula of a number, or what stands for it if the number is missing."""
    return Choice(call("missing", number), Number(otherwise), then)


def names_in(formula: Formula) -> set[str]:
    """Return the names that a formula uses."""
    match formula:
        case Named(name):
            return {name}
        case BinCode(number=Named(name)) | Lookup(code=Named(name)) | LabelCode(cell=Named(name)):
            return {name}
        case Call(arguments=parts):
            return set().union(*map(names_in, parts))
        case Choice(condition, then, otherwise):
            return names_in(condition) | names_in(then) | names_in(otherwise)
    return set()
