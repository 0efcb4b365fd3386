"""How often each word occurs in each class, and in how many texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from .._types import Codes, Floats, Longs
from ..errors import DoesNotFit, NotAPart
from .arithmetic import checked_weight, frozen, subtract
from .axis import Axis
from .table import table_as_text
from .word_cells import WordCells, sum_of_cells

ArrowNames: TypeAlias = Any  # an Arrow array of bytes


class Lexicon(Protocol):
    """Words with their numbers, 0, 1, …; it may grow, but no word ever gets another number."""

    tokens: Any  # `text.tokens.Tokens`: the text package is above this one
    fixed: bool  # whether its words were declared, and no others are learned

    def __len__(self) -> int: ...
    def names(self, numbers: Codes | None = None) -> list[str]:
        """Return the names of some words, or of all."""

    def sequences(self, size: int, *, spaced: bool = False) -> npt.NDArray[np.bool_]:
        """Tell which of the first words are sequences of several, or of several with spaces between."""

    def order(self) -> Codes:
        """Return all numbers in the order of their names."""

    def numbers(self, names: Iterable[str]) -> Codes:
        """Return the numbers of words, -1 for those that are not known."""

    def names_as_bytes(self, numbers: Codes) -> ArrowNames:
        """Return the names of some words as an Arrow array."""

    def united(self, named: Sequence[ArrowNames]) -> tuple[Lexicon, list[Codes]]:
        """Return a lexicon that knows these words, too, and their numbers in it; those of its own words stay."""

    def of(self, numbers: Codes) -> Lexicon:
        """Return a lexicon that knows some of these words only, numbered in this order."""


@dataclass(frozen=True, eq=False, repr=False)
class WordTable:
    """Counts [class, word] of a column of texts: how often each word occurs, and in how many texts.

    Of a matrix of counts, columns are words and rows are texts.

    A word is known by its number in a lexicon. Since that only grows, a table of its first words stays what it is; and
    tables of one lexicon add without a look at a name. Counts come as tables or as lists of cells; each is made of the
    other when it is asked for.
    """

    classes: Axis
    lexicon: Lexicon
    size: int  # how many words of the lexicon have a place

    def __init__(self, classes: Axis, lexicon: Lexicon, times: Floats, texts: Floats) -> None:
        if times.shape != texts.shape or times.shape[0] != len(classes) or times.shape[1] > len(lexicon):
            raise DoesNotFit(f"{times.shape} and {texts.shape} counts do not fit {len(classes)} classes and the words.")
        keep = classes.kept((texts != 0).any(axis=1))
        if not keep.all():
            times, texts = times[keep], texts[keep]
        object.__setattr__(self, "classes", classes.only(keep))
        object.__setattr__(self, "lexicon", lexicon)
        object.__setattr__(self, "size", int(times.shape[1]))
        for part in (times, texts):
            part.flags.writeable = False  # taken over, for a copy may take hundreds of megabytes
        self.__dict__.update(times=times, texts=texts)

    @classmethod
    def of_cells(cls, classes: Axis, lexicon: Lexicon, cells: WordCells) -> WordTable:
        """Return the counts of cells; tables of them are made only where they are needed."""
        if not classes.kept(cells.has_class(len(classes))).all():
            tables = (cells.table(part, len(classes)) for part in (cells.times, cells.texts))
            return cls(classes, lexicon, *tables)
        made = cls.__new__(cls)
        for name, value in (("classes", classes), ("lexicon", lexicon), ("size", len(cells))):
            object.__setattr__(made, name, value)
        made.__dict__["cells"] = cells
        return made

    @cached_property
    def cells(self) -> WordCells:
        """The counts that are not 0, word by word."""
        return WordCells.of(self.times, self.texts)

    @cached_property
    def times(self) -> Floats:
        """How often each word occurs, [class, word]."""
        return self.cells.table(self.cells.times, len(self.classes))

    @cached_property
    def texts(self) -> Floats:
        """In how many texts each word occurs, [class, word]."""
        return self.cells.table(self.cells.texts, len(self.classes))

    def times_of(self, numbers: Codes) -> Floats:
        """Return how often some words occur, [class, word]."""
        cells = self.cells.take(numbers)
        return cells.table(cells.times, len(self.classes))

    def texts_of(self, numbers: Codes) -> Floats:
        """Return in how many texts some words occur, [class, word]."""
        cells = self.cells.take(numbers)
        return cells.table(cells.texts, len(self.classes))

    @property
    def documents(self) -> Floats:
        """How many texts hold each word."""
        return self.cells.documents

    @property
    def numbered(self) -> bool:
        """Whether words are columns of a hash, and have no names."""
        return self.lexicon.tokens.hash_width is not None

    @property
    def of_matrix(self) -> bool:
        """Whether words are the columns of a matrix, and texts its rows: such words are declared by their numbers."""
        return self.numbered and self.lexicon.fixed

    @cached_property
    def seen(self) -> npt.NDArray[np.bool_]:
        """Which words are known: those that occurred, and declared ones."""
        if self.numbered or self.lexicon.fixed:
            return np.ones(self.size, dtype=bool)
        return self.cells.seen

    @cached_property
    def numbers(self) -> Codes:
        """The numbers of the words that are known, in the order of their names."""
        if self.numbered:
            return np.arange(self.size, dtype=np.int32)
        order = self.lexicon.order()
        order = order[order < self.size]
        return order[self.seen[order]]

    @cached_property
    def ranks(self) -> npt.NDArray[np.int64]:
        """The place of each number in the order of names, which does not depend on that of the rows."""
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
        """In how many texts each word occurs, [class, word] in the order of the names."""
        return frozen(self.texts_of(self.numbers))

    def on(self, classes: Axis) -> WordTable:
        """Return the same counts laid out for these classes, zero where there are none."""
        if self.classes == classes:
            return self
        place = Axis.declared(classes.labels)
        return WordTable(place, self.lexicon, *(on_words(part, self.classes, place, self.size) for part in self._parts))

    @property
    def _parts(self) -> tuple[Floats, Floats]:
        return self.times, self.texts

    def __add__(self, other: WordTable) -> WordTable:
        if not isinstance(other, WordTable):
            return NotImplemented
        classes, lexicon, mine, theirs = on_one_lexicon(self, other)
        return WordTable(classes, lexicon, *(a + b for a, b in zip(mine, theirs, strict=True)))

    def __radd__(self, other: object) -> WordTable:
        return self if other == 0 else NotImplemented  # so that sum() works

    def __sub__(self, part: WordTable) -> WordTable:
        if not isinstance(part, WordTable):
            return NotImplemented
        classes, lexicon, mine, theirs = on_one_lexicon(self, part)
        rest = [subtract(a, b) for a, b in zip(mine, theirs, strict=True)]
        for what, before, taken, left in zip(("count", "number of texts"), mine, theirs, rest, strict=True):
            if np.any(left < 0):
                k, v = (int(i) for i in np.unravel_index(np.argmin(left), left.shape))
                word = v if self.numbered else lexicon.names(np.array([v], dtype=np.int32))[0]
                raise NotAPart(None, classes.labels[k], word, before[k, v], taken[k, v], what)
        return WordTable(classes.declaring(self.classes), lexicon, *rest)

    def without_unused_words(self) -> WordTable:
        """Return the same counts by a lexicon of their own words: nothing stays of texts that were subtracted."""
        if self.numbered or self.lexicon.fixed:
            return self
        left = np.flatnonzero(self.seen).astype(np.int32)
        if len(left) == len(self.lexicon):
            return self
        return WordTable(self.classes, self.lexicon.of(left), self.times[:, left], self.texts[:, left])

    def __mul__(self, weight: float) -> WordTable:
        w = checked_weight(weight)
        return WordTable(self.classes, self.lexicon, self.times * w, self.texts * w)

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WordTable):
            return NotImplemented
        if not are_split_alike(self, other) or self.classes != other.classes:
            return False
        same = self.values == other.values and np.array_equal(self.n, other.n)
        return same and np.array_equal(self.n_texts, other.n_texts)

    def agrees(self, other: WordTable, tolerance: float = 1e-12) -> bool:
        """Tell whether all counts are equal up to rounding."""
        if not are_split_alike(self, other):
            return False
        _, _, mine, theirs = on_one_lexicon(self, other)
        pairs = zip(mine, theirs, strict=True)
        return all(bool(np.all(np.abs(a - b) <= tolerance * np.maximum(np.abs(a), np.abs(b)))) for a, b in pairs)

    def __repr__(self) -> str:
        return f"WordTable: {self.times.sum():.10g} words counted\n" + table_as_text(self.classes, self.values, self.n)


def sum_of_word_tables(tables: Sequence[WordTable]) -> WordTable:
    """Return the sum of tables; words of all lexicons are put together once, and not for each table anew."""
    first, classes = tables[0], tables[0].classes
    for table in tables[1:]:
        check_tokens(first, table)
        classes = classes | table.classes
    if first.numbered or all(table.lexicon is first.lexicon for table in tables):
        lexicon, places = first.lexicon, [np.arange(table.size, dtype=np.int64) for table in tables[1:]]
    else:
        lexicon, places = united_lexicon(first, tables[1:])
    places = [np.arange(first.size, dtype=np.int64), *places]
    size = max((int(place.max(initial=-1)) + 1 for place in places), default=0)
    cells = sum_of_cells(
        [(t.cells, classes.places(t.classes.labels), p) for t, p in zip(tables, places, strict=True)], size
    )
    return WordTable.of_cells(classes, lexicon, cells)


def are_split_alike(a: WordTable, b: WordTable) -> bool:
    """Tell whether texts were split in the same way, with a vocabulary or without."""
    return bool(a.lexicon.tokens == b.lexicon.tokens and a.lexicon.fixed == b.lexicon.fixed)


def check_tokens(a: WordTable, b: WordTable) -> None:
    """Refuse texts that were split in different ways."""
    if not are_split_alike(a, b):
        raise DoesNotFit(
            f"Texts were split in two ways, {a.lexicon.tokens} and {b.lexicon.tokens}; give both the same family."
        )


def united_lexicon(first: WordTable, others: Sequence[WordTable]) -> tuple[Lexicon, list[Longs]]:
    """Return a lexicon of the words of all tables, and the place in it of each word of the others, -1 if not seen."""
    seen = [np.flatnonzero(table.seen).astype(np.int32) for table in others]
    names = [table.lexicon.names_as_bytes(own) for table, own in zip(others, seen, strict=True)]
    lexicon, found = first.lexicon.united(names)
    if first.lexicon.fixed and lexicon is not first.lexicon:
        raise DoesNotFit("Texts were counted by two vocabularies; only counts of the same one add up.")
    places = []
    for table, own, numbers in zip(others, seen, found, strict=True):
        place = np.full(table.size, -1, dtype=np.int64)
        place[own] = numbers
        places.append(place)
    return lexicon, places


def on_one_lexicon(a: WordTable, b: WordTable) -> tuple[Axis, Lexicon, list[Floats], list[Floats]]:
    """Return the counts of two tables laid out for the classes and words of both."""
    check_tokens(a, b)
    classes, lexicon, place = a.classes | b.classes, a.lexicon, np.arange(b.size, dtype=np.int64)
    if a.lexicon is not b.lexicon and not a.numbered:
        lexicon, (place,) = united_lexicon(a, [b])
    size = max(a.size, int(place.max(initial=-1)) + 1)
    mine = [on_words(part, a.classes, classes, size) for part in a._parts]
    return classes, lexicon, mine, [on_words(part, b.classes, classes, size, place) for part in b._parts]


def on_words(n: Floats, old: Axis, new: Axis, size: int, place: Longs | None = None) -> Floats:
    """Return counts [class, number] laid out for other classes and so many words, each at its place if that changes."""
    out = np.zeros((len(new), size))
    at = new.places(old.labels)
    found = np.flatnonzero(at >= 0)
    if place is None or np.array_equal(place, np.arange(n.shape[1])):
        out[at[found], : n.shape[1]] = n[found]
    else:
        words = np.flatnonzero(place >= 0)
        out[np.ix_(at[found], place[words])] = n[np.ix_(found, words)]
    return out
