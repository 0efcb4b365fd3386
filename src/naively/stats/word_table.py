"""How often each word occurs in each class, and in how many documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._types import Codes, Floats, Longs, Mask, Places
from ..errors import IncompatibleCounts, NotASubset
from .arithmetic import ClassWeights, Statistic, frozen, most_negative, nearly_equal, subtract
from .axis import Axis
from .table import table_as_text

if TYPE_CHECKING:
    from ..text import TextReader

# Cells are added in an array of all words and classes if that has at most this many places for each cell.
DENSE = 2


class WordCells:
    """The counts of each word, class by class, where there are any: how often it occurs, and in how many documents.

    Most words occur in few classes, so that a table of all classes would be nearly empty.
    """

    def __init__(self, starts: Longs, classes: Codes, times: Floats, texts: Floats) -> None:
        self.starts, self.classes, self.times, self.texts = starts, classes, times, texts
        for part in (starts, classes, times, texts):
            part.flags.writeable = False

    @classmethod
    def of(cls, times: Floats, texts: Floats) -> WordCells:
        """Return the cells of tables [class, word]."""
        words, classes = np.nonzero(((texts != 0) | (times != 0)).T)
        starts = starts_of(words, texts.shape[1])
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
        """How many documents hold each word."""
        return sums_at(self.words, self.texts, len(self))

    @cached_property
    def seen(self) -> Mask:
        """Which words occur in some document."""
        seen = np.zeros(len(self), dtype=bool)
        seen[self.words[self.texts != 0]] = True
        return seen

    def has_class(self, classes: int) -> Mask:
        """Tell which classes have documents."""
        return np.bincount(self.classes[self.texts != 0], minlength=classes) > 0

    def take(self, words: Codes | Places) -> WordCells:
        """Return some of the words."""
        if len(words) == len(self) and np.array_equal(words, np.arange(len(self))):
            return self
        sizes = np.diff(self.starts)[words]
        starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])
        cells = np.repeat(self.starts[words] - starts[:-1], sizes) + np.arange(starts[-1])
        return WordCells(starts, self.classes[cells], self.times[cells], self.texts[cells])

    def with_classes(self, places: Places) -> WordCells:
        """Return the cells with each class at another place; those of a class at -1 are dropped."""
        classes = places[self.classes].astype(np.int32)
        kept = classes >= 0
        starts = self.starts if kept.all() else starts_of(self.words[kept], len(self))
        return WordCells(starts, classes[kept], self.times[kept], self.texts[kept])

    def table(self, counts: Floats, classes: int) -> Floats:
        """Return counts of the cells as a table [class, word]."""
        out = np.zeros((classes, len(self)))
        out[self.classes, self.words] = counts
        return out


@dataclass(frozen=True, eq=False, repr=False)
class WordTable(Statistic):
    """Counts [class, word] of a column of documents: how often each word occurs, and in how many documents.

    In a matrix of counts, columns are words and rows are documents.

    A word is known by its number in a lexicon. Since that only grows, a table of its first words stays valid, and
    tables with one lexicon are added without a look at the names.
    """

    classes: Axis
    lexicon: TextReader
    cells: WordCells  # the counts that are not 0, word by word

    def __init__(self, classes: Axis, lexicon: TextReader, times: Floats, texts: Floats) -> None:
        if times.shape != texts.shape or times.shape[0] != len(classes) or times.shape[1] > len(lexicon):
            raise IncompatibleCounts(
                f"{times.shape} and {texts.shape} counts do not fit {len(classes)} classes and the words."
            )
        self._hold(classes, lexicon, WordCells.of(times, texts))

    @classmethod
    def of_cells(cls, classes: Axis, lexicon: TextReader, cells: WordCells) -> WordTable:
        """Return the counts of cells."""
        made = cls.__new__(cls)
        made._hold(classes, lexicon, cells)
        return made

    def _hold(self, classes: Axis, lexicon: TextReader, cells: WordCells) -> None:
        keep = classes.kept(cells.has_class(len(classes)))
        if not keep.all():
            classes, cells = classes.only(keep), cells.with_classes(np.where(keep, np.cumsum(keep) - 1, -1))
        self.__dict__.update(classes=classes, lexicon=lexicon, cells=cells)

    @property
    def size(self) -> int:
        """How many words of the lexicon have a place."""
        return len(self.cells)

    @property
    def times(self) -> Floats:
        """How often each word occurs, [class, word]."""
        return self.cells.table(self.cells.times, len(self.classes))

    @property
    def texts(self) -> Floats:
        """In how many documents each word occurs, [class, word]."""
        return self.cells.table(self.cells.texts, len(self.classes))

    def times_of(self, numbers: Codes) -> Floats:
        """Return how often some words occur, [class, word]."""
        cells = self.cells.take(numbers)
        return cells.table(cells.times, len(self.classes))

    def texts_of(self, numbers: Codes) -> Floats:
        """Return in how many documents some words occur, [class, word]."""
        cells = self.cells.take(numbers)
        return cells.table(cells.texts, len(self.classes))

    @property
    def documents(self) -> Floats:
        """How many documents hold each word."""
        return self.cells.documents

    @property
    def numbered(self) -> bool:
        """Whether words are columns of a hash, and have no names."""
        return self.lexicon.tokens.hash_width is not None

    @property
    def of_matrix(self) -> bool:
        """Whether words are the columns of a matrix, and documents its rows: they are declared by their numbers."""
        return self.numbered and self.lexicon.fixed

    @cached_property
    def seen(self) -> Mask:
        """Which words are known: those that occurred, and declared ones."""
        return np.ones(self.size, dtype=bool) if self.numbered or self.lexicon.fixed else self.cells.seen

    @cached_property
    def numbers(self) -> Codes:
        """The numbers of the words that are known, in the order of their names."""
        if self.numbered:
            return np.arange(self.size, dtype=np.int32)
        order = self.lexicon.order()
        order = order[order < self.size]
        return order[self.seen[order]]

    @cached_property
    def ranks(self) -> Longs:
        """The place of each number in the order of names, which does not depend on the order of rows."""
        ranks = np.zeros(self.size, dtype=np.int64)
        ranks[self.numbers] = np.arange(len(self.numbers))
        return ranks

    @cached_property
    def values(self) -> Axis:
        """The words that are known, by name."""
        if self.numbered:
            return Axis.numbered(self.size)
        names = self.lexicon.names(self.numbers)
        return Axis.ordered(names, names if self.lexicon.fixed else ())

    @cached_property
    def n(self) -> Floats:
        """How often each word occurs, [class, word] in the order of the names."""
        return frozen(self.times_of(self.numbers))

    @cached_property
    def n_texts(self) -> Floats:
        """In how many documents each word occurs, [class, word] in the order of the names."""
        return frozen(self.texts_of(self.numbers))

    def on(self, classes: Axis) -> WordTable:
        """Return the same counts laid out for these classes, zero where there are none."""
        if self.classes == classes:
            return self
        declared = Axis.declared(classes.labels)
        return WordTable.of_cells(declared, self.lexicon, self.cells.with_classes(declared.places(self.classes.labels)))

    def __add__(self, other: WordTable) -> WordTable:
        return sum_of_word_tables([self, other]) if isinstance(other, WordTable) else NotImplemented

    def __sub__(self, part: WordTable) -> WordTable:
        if not isinstance(part, WordTable):
            return NotImplemented
        result = aligned_cells([self, part])
        (times, taken_times), (texts, taken_texts) = result.counts()
        rest = subtract(times, taken_times), subtract(texts, taken_texts)
        for what, before, taken, left in (
            ("count", times, taken_times, rest[0]),
            ("number of texts", texts, taken_texts, rest[1]),
        ):
            if (place := most_negative(left)) is not None:
                word, k = divmod(int(result.keys[place]), len(result.classes))
                name = word if self.numbered else result.lexicon.names(np.array([word], dtype=np.int32))[0]
                raise NotASubset(None, result.classes.labels[k], name, before[place], taken[place], what)
        return result._replace(classes=result.classes.declaring(self.classes)).table(*rest)

    def without_unused_words(self) -> WordTable:
        """Return the same counts by a lexicon of their own words: nothing stays of texts that were subtracted."""
        if self.numbered or self.lexicon.fixed:
            return self
        left = np.flatnonzero(self.seen).astype(np.int32)
        if len(left) == len(self.lexicon):
            return self
        return WordTable.of_cells(self.classes, self.lexicon.of(left), self.cells.take(left))

    def scaled(self, of: ClassWeights) -> WordTable:
        """Return the counts of each class times its weight."""
        cells, w = self.cells, of(self.classes)[self.cells.classes]
        return WordTable.of_cells(
            self.classes, self.lexicon, WordCells(cells.starts, cells.classes, cells.times * w, cells.texts * w)
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WordTable):
            return NotImplemented
        if not are_split_alike(self, other) or self.classes != other.classes or self.values != other.values:
            return False
        return np.array_equal(self.n, other.n) and np.array_equal(self.n_texts, other.n_texts)

    def agrees(self, other: WordTable, tolerance: float = 1e-12) -> bool:
        """Tell whether all counts are equal up to rounding."""
        if not are_split_alike(self, other):
            return False
        return all(nearly_equal(a, b, tolerance) for a, b in aligned_cells([self, other]).counts())

    def __repr__(self) -> str:
        counted = self.cells.times.sum()
        return f"WordTable: {counted:.10g} words counted\n" + table_as_text(self.classes, self.values, self.n)


class AlignedCells(NamedTuple):
    """The cells of several tables by common keys: the number of a word times the number of classes, plus the class."""

    classes: Axis
    lexicon: TextReader
    size: int
    keys: Longs  # all keys, in their order
    parts: list[tuple[Places, Floats, Floats]]  # of each table the places of its cells among the keys, and its counts

    def counts(self) -> tuple[list[Floats], list[Floats]]:
        """Return how often each key is counted in each table, and in how many documents."""
        times = [sums_at(place, times, len(self.keys)) for place, times, _ in self.parts]
        return times, [sums_at(place, texts, len(self.keys)) for place, _, texts in self.parts]

    def table(self, times: Floats, texts: Floats) -> WordTable:
        """Return the table of these counts of the keys."""
        some = (times != 0) | (texts != 0)
        words, classes = np.divmod(self.keys[some], max(len(self.classes), 1))
        cells = WordCells(starts_of(words, self.size), classes.astype(np.int32), times[some], texts[some])
        return WordTable.of_cells(self.classes, self.lexicon, cells)


def aligned_cells(tables: Sequence[WordTable]) -> AlignedCells:
    """Return the cells of tables by common keys; the words of all lexicons are united once."""
    first, classes = tables[0], tables[0].classes
    for table in tables[1:]:
        if not are_split_alike(first, table):
            split = f"{first.lexicon.tokens} and {table.lexicon.tokens}"
            raise IncompatibleCounts(f"Texts were split in two ways, {split}; give both the same family.")
        classes = classes | table.classes
    lexicon, places = first.lexicon, [np.arange(table.size, dtype=np.int64) for table in tables]
    if not first.numbered and any(table.lexicon is not lexicon for table in tables):
        lexicon, places[1:] = united_lexicon(first, tables[1:])
    size = max(int(place.max(initial=-1)) + 1 for place in places)
    parts = []
    for table, place in zip(tables, places, strict=True):
        words, cells = place[table.cells.words], table.cells
        keys = words * len(classes) + classes.places(table.classes.labels)[cells.classes]
        known = words >= 0
        parts.append((keys[known], cells.times[known], cells.texts[known]))
    given = np.concatenate([keys for keys, _, _ in parts])
    if len(classes) * size <= DENSE * len(given):
        return AlignedCells(classes, lexicon, size, np.arange(len(classes) * size), parts)
    keys, which = np.unique(given, return_inverse=True)
    ends = np.cumsum([len(keys) for keys, _, _ in parts])[:-1]
    places = np.split(which, ends)
    parts = [(place, times, texts) for place, (_, times, texts) in zip(places, parts, strict=True)]
    return AlignedCells(classes, lexicon, size, keys, parts)


def sum_of_word_tables(tables: Sequence[WordTable]) -> WordTable:
    """Return the sum of tables; words of all lexicons are united once, and not again for each table."""
    result = aligned_cells(tables)
    place, times, texts = (np.concatenate(parts) for parts in zip(*result.parts, strict=True))
    return result.table(*(sums_at(place, counts, len(result.keys)) for counts in (times, texts)))


def are_split_alike(a: WordTable, b: WordTable) -> bool:
    """Tell whether texts were split in the same way, with a vocabulary or without."""
    return bool(a.lexicon.tokens == b.lexicon.tokens and a.lexicon.fixed == b.lexicon.fixed)


def united_lexicon(first: WordTable, others: Sequence[WordTable]) -> tuple[TextReader, list[Longs]]:
    """Return a lexicon of the words of all tables, and the place in it of each word of the others, -1 if not seen."""
    seen = [np.flatnonzero(table.seen).astype(np.int32) for table in others]
    names = [table.lexicon.names_as_bytes(own) for table, own in zip(others, seen, strict=True)]
    lexicon, result = first.lexicon.united(names)
    if first.lexicon.fixed and lexicon is not first.lexicon:
        raise IncompatibleCounts("Texts were counted by two vocabularies; only counts of the same one add up.")
    places = []
    for table, own, numbers in zip(others, seen, result, strict=True):
        place = np.full(table.size, -1, dtype=np.int64)
        place[own] = numbers
        places.append(place)
    return lexicon, places


def sums_at(places: Places, counts: Floats, size: int) -> Floats:
    """Return the sum of the counts at each place."""
    return np.bincount(places, counts, size).astype(np.float64)  # without any counts they would be integers


def starts_of(words: Places, size: int) -> Longs:
    """Return where the cells of each word begin, given the word of each cell in order, and the end."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.bincount(words, minlength=size))])
