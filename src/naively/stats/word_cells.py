"""Counts of words as lists: most words occur in few classes, so that a table of all classes is nearly empty."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from .._types import Codes, Floats, Longs, Mask, Places

# Cells are added in a table of all words and classes if that has at most so many places for each cell.
DENSE = 2


class WordCells:
    """The counts of each word, class by class, where there are any: how often it occurs, and in how many texts."""

    def __init__(self, starts: Longs, classes: Codes, times: Floats, texts: Floats) -> None:
        self.starts, self.classes, self.times, self.texts = starts, classes, times, texts
        for part in (starts, classes, times, texts):
            part.flags.writeable = False

    @classmethod
    def of(cls, times: Floats, texts: Floats) -> WordCells:
        """Return the cells of tables [class, word]."""
        words, classes = np.nonzero(((texts != 0) | (times != 0)).T)
        starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.bincount(words, minlength=texts.shape[1]))])
        return cls(starts, classes.astype(np.int32), times[classes, words], texts[classes, words])

    def __len__(self) -> int:
        """Return how many words there are."""
        return len(self.starts) - 1

    @cached_property
    def words(self) -> Places:
        """The word of each cell."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @cached_property
    def documents(self) -> Floats:
        """How many texts hold each word."""
        return np.bincount(self.words, self.texts, len(self)).astype(np.float64)  # of no cell it would be whole

    @cached_property
    def seen(self) -> Mask:
        """Which words some text holds."""
        found = np.zeros(len(self), dtype=bool)
        found[self.words[self.texts != 0]] = True
        return found

    def has_class(self, classes: int) -> Mask:
        """Tell of which classes there are texts."""
        return np.bincount(self.classes[self.texts != 0], minlength=classes) > 0

    def take(self, words: Codes | Places) -> WordCells:
        """Return some of the words."""
        if len(words) == len(self) and np.array_equal(words, np.arange(len(self))):
            return self
        sizes = np.diff(self.starts)[words]
        starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])
        at = np.repeat(self.starts[words] - starts[:-1], sizes) + np.arange(starts[-1])
        return WordCells(starts, self.classes[at], self.times[at], self.texts[at])

    def table(self, counts: Floats, classes: int) -> Floats:
        """Return counts of the cells as a table [class, word]."""
        out = np.zeros((classes, len(self)))
        out[self.classes, self.words] = counts
        return out


def sum_of_cells(parts: Sequence[tuple[WordCells, Places, Longs]], size: int) -> WordCells:
    """Return the sum of cells, each part with the places of its classes and words among so many words of all."""
    words = np.concatenate([place[cells.words] for cells, _, place in parts])
    classes = np.concatenate([place[cells.classes] for cells, place, _ in parts])
    times, texts = (np.concatenate([getattr(cells, name) for cells, _, _ in parts]) for name in ("times", "texts"))
    known = words >= 0
    width = int(classes.max(initial=0)) + 1
    keys = (words * width + classes)[known]
    if width * size <= DENSE * len(keys):
        dense = [np.bincount(keys, part[known], width * size).astype(np.float64) for part in (times, texts)]
        return WordCells.of(*(part.reshape(size, width).T for part in dense))
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    found = keys[first]
    sums: list[Floats] = [np.add.reduceat(part[known][order], first) for part in (times, texts)]
    starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.bincount(found // width, minlength=size))])
    return WordCells(starts, (found % width).astype(np.int32), *sums)
