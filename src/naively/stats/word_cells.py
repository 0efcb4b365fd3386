"""Counts of words as lists: most words occur in few classes, so that a table of all classes is nearly empty."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from .._types import Codes, Floats, Longs, Mask, Places


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
