"""The labels of one side of a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from itertools import compress
from typing import Any

import numpy as np

from .._types import Label, Mask, Places


def is_missing(value: Label) -> bool:
    """Tell whether an object stands for no value, of whatever library: None, NaN, NaT, pandas' NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # NA cannot be compared, nor can an array
        return type(value).__name__ == "NAType"
    except ArithmeticError:  # a Decimal that signals
        return True


def sort_key(label: Label) -> tuple[int, str, Any]:  # of labels that Python can compare
    """Order labels of any types: numbers by size, then texts, then the rest by type, the missing one last."""
    if label is None:
        return (3, "", 0)
    if isinstance(label, (int, float, np.integer, np.floating, np.bool_)):
        return (0, "", label)
    if isinstance(label, str):
        return (1, "", label)
    if isinstance(label, Enum):
        return (2, type(label).__name__, list(type(label)).index(label))
    return (2, type(label).__name__, label)


def sorted_labels(labels: set[Label]) -> tuple[Label, ...]:
    """Return labels in the order of sort_key; texts alone, perhaps a million, are sorted without making keys."""
    if set(map(type, labels)) <= {str, type(None)}:
        missing = (None,) if None in labels else ()
        return (*sorted(label for label in labels if isinstance(label, str)), *missing)
    return tuple(sorted(labels, key=sort_key))


class Axis:
    """Labels in their sorted order, each once; declared labels stay when nothing is left of them.

    ``Axis(["b", "a"])`` holds counted labels; ``Axis.declared(["no", "yes"])`` holds labels known beforehand, such as
    the levels of a categorical type or the columns of a matrix (``Axis.numbered(100_000)`` takes no room). Labels that
    compare equal are the same label.
    """

    __slots__ = ("_labels", "_places", "fixed")
    fixed: frozenset[Label] | range

    def __init__(self, labels: Iterable[Label] = (), fixed: Iterable[Label] = ()) -> None:
        self.fixed = frozenset(fixed)
        self._labels: Any = sorted_labels({*labels, *self.fixed})  # a tuple, a range, or an Arrow array
        self._places: dict[Label, int] | None = None

    @classmethod
    def declared(cls, labels: Iterable[Label]) -> Axis:
        """Return an axis whose labels all stay."""
        return cls((), labels)

    @classmethod
    def numbered(cls, size: int) -> Axis:
        """Return the declared axis 0, 1, …, size - 1."""
        axis = cls()
        axis._labels = axis.fixed = range(size)
        return axis

    @classmethod
    def ordered(cls, labels: Iterable[Label], fixed: Iterable[Label] = ()) -> Axis:
        """Return the axis of labels that are sorted and distinct already, the declared ones among them.

        Of an Arrow array, Python values are made on first use, so that millions of labels cost nothing until then.
        """
        axis = cls()
        axis.fixed = frozenset(fixed)
        axis._labels = labels if hasattr(labels, "to_pylist") else tuple(labels)
        return axis

    @property
    def labels(self) -> Sequence[Label]:
        """The labels in their order: a tuple, or a range."""
        if not isinstance(self._labels, (tuple, range)):
            self._labels = tuple(self._labels.to_pylist())
        return self._labels

    def __len__(self) -> int:
        return len(self._labels)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Axis):
            return NotImplemented
        if self is other:
            return True
        if isinstance(self.labels, range) and isinstance(other.labels, range):
            return self.labels == other.labels
        return tuple(self.labels) == tuple(other.labels) and set(self.fixed) == set(other.fixed)

    def __repr__(self) -> str:
        return f"Axis.numbered({len(self)})" if isinstance(self.labels, range) else f"Axis({list(self.labels)!r})"

    def __or__(self, other: Axis) -> Axis:
        """Return the labels of both."""
        if self == other:
            return self
        if isinstance(self.labels, range) and isinstance(other.labels, range):
            return max(self, other, key=len)
        return Axis((*self.labels, *other.labels), (*self.fixed, *other.fixed))

    def place(self, label: Label) -> int:
        """Return where the label stands, or -1."""
        if isinstance(self._labels, range):
            return int(label) if isinstance(label, (int, float, np.integer)) and label in self._labels else -1
        if self._places is None:
            self._places = {known: place for place, known in enumerate(self.labels)}
        return self._places.get(label, -1)

    def places(self, labels: Iterable[Label]) -> Places:
        """Return where each of the labels stands, -1 for those that are not here."""
        if isinstance(self._labels, range):
            if isinstance(labels, range):  # both count from 0
                numbers = np.arange(len(labels))
                return np.where(numbers < len(self), numbers, -1)
            return np.fromiter(map(self.place, labels), dtype=np.intp)
        self.place(None)  # makes the dict, if there is none yet
        known = self._places or {}
        return np.fromiter((known.get(label, -1) for label in labels), dtype=np.intp)

    def declaring(self, other: Axis) -> Axis:
        """Return these labels, declared if the other axis declares them."""
        return self if self.fixed == other.fixed else Axis(self.labels, other.fixed)

    def kept(self, counted: Mask) -> Mask:
        """Tell which labels stay when only some of them are counted: those, and the declared ones."""
        if not self.fixed:
            return counted
        if len(self.fixed) == len(self):
            return np.ones(len(self), dtype=np.bool_)
        declared = np.fromiter((label in self.fixed for label in self.labels), dtype=np.bool_, count=len(self))
        return counted | declared

    @property
    def stays(self) -> Mask:
        """Which labels stay without any count: the declared ones."""
        return self.kept(np.zeros(len(self), dtype=bool))

    def only(self, keep: Mask) -> Axis:
        """Return the axis without the labels that are not kept."""
        if keep.all():
            return self
        labels = compress(self.labels, keep.tolist())
        return Axis(labels, self.fixed) if self.fixed else Axis.ordered(labels)
