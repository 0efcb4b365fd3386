"""Labels that are declared for a column, and the codes of labels in single rows."""

from __future__ import annotations

from .._types import CellLike, Label
from ..data.column import Column
from ..data.dict_rows import Reader, label_reader
from ..families import Bernoulli, Bins, Ordinal
from ..stats.accumulators import Vocabulary


def label_coder(column: Column, words: Vocabulary) -> Reader:
    """Return what makes a code of a value, a new one if its label is new."""
    read, family = label_reader(column), column.family
    if not isinstance(family, Ordinal):
        return lambda value: words.code(read(value))

    def level(value: CellLike) -> int:
        label = read(value)
        if label not in words.places:
            family.check(column.name, (*words.places, label))
        return words.code(label)

    return level


def declared_levels(column: Column) -> tuple[Label, ...]:
    """Return the labels that are declared for a column: bins, both values of a flag, levels of a categorical type."""
    if isinstance(column.family, Bernoulli):
        return (False, True)
    if isinstance(column.family, Bins):
        return tuple(column.family.values)
    if isinstance(column.family, Ordinal):
        if column.family.levels is None:
            column.family.check(column.name, column.levels or ())
        return column.family.levels or column.levels or ()
    return column.levels or ()
