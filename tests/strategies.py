"""What hypothesis draws: statistics of every kind, and matrices of every type and layout the kernels read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from naively.counting.arrays import matrix_columns
from naively.stats import Axis, Counts, Moments, MomentsAccumulator, Table, Tables, WordTable
from naively.text import TextReader, Tokens

# A shared machine may pause any example; how long one takes means nothing.
checked = settings(deadline=None, max_examples=12)

# -- statistics ---------------------------------------------------------------------------------------------------

CLASSES = ("ham", "spam", 3, 1.5)
VALUES = ("cheap", "hello", 7, -2.5, None)  # texts, numbers, and the value of a missing cell
COLUMNS = ("height", "weight")
WORDS = ("cheap", "hello", "cheap hello", "été", "free")  # a pair is known by the numbers of its words
IN_PAIRS, HASHED = Tokens(ngram_range=(1, 2)), Tokens(hash_width=5)
DECLARED = frozenset(("spam", "win"))

WHOLE = np.array([0, 0, 1, 2, 3, 1000, 2**31 + 1, 2**40 + 1], float)
FRACTIONS = np.array([0, 0, 0.1, 0.2, 0.3, 1 / 3, 1, 7.7, 1e-3, 999.9])
NUMBERS = np.array([0, 0.1, 0.1, -3, 1e-3, 1e6, 1e8, 1e8 + 0.1, 1e8 + 0.3, np.nan])


class Choices:
    """Reads bytes as choices: one draw makes a whole statistic, and simpler bytes make a simpler one."""

    def __init__(self, drawn: bytes) -> None:
        self.left = np.frombuffer(drawn, np.uint8)

    def of(self, pool: Any, *shape: int) -> np.ndarray:
        """Return an array of this shape with items of the pool."""
        chosen, self.left = np.split(self.left, [int(np.prod(shape))])
        return np.asarray(pool)[chosen.reshape(shape) % len(pool)]

    def axis(self, labels: tuple[Any, ...], fixed: frozenset[Any]) -> Axis:
        """Return an axis of some of the labels as met, next to those that are declared."""
        met = self.of([False, True], len(labels))
        return Axis([label for label, there in zip(labels, met, strict=True) if there], fixed)


def table(choices: Choices, weighted: bool, fixed: frozenset[Any]) -> Table:
    """Make a table of whole rows, or of weighted ones."""
    classes, values = choices.axis(CLASSES, fixed), choices.axis(VALUES, fixed)
    return Table(classes, values, choices.of(FRACTIONS if weighted else WHOLE, len(classes), len(values)))


def tables(choices: Choices, weighted: bool, fixed: frozenset[Any]) -> Tables:
    """Make two tables, side by side."""
    return Tables((table(choices, weighted, fixed), table(choices, weighted, fixed)))


def moments(choices: Choices, weighted: bool, fixed: frozenset[Any]) -> Moments:
    """Make moments of a few rows of two columns, some cells of which are missing values."""
    classes = choices.axis(CLASSES, fixed)
    rows = int(choices.of(range(10), 1)[0]) if len(classes) else 0
    x, y = choices.of(NUMBERS, rows, len(COLUMNS)), choices.of(range(max(len(classes), 1)), rows)
    return counted_moments(classes, COLUMNS, y, x, choices.of(FRACTIONS, rows) if weighted else None)


def shuffled(choices: Choices) -> list[str]:
    """Return the words in some order."""
    return [WORDS[at] for at in np.argsort(choices.of(range(255), len(WORDS)), kind="stable")]


def words(choices: Choices, weighted: bool, fixed: frozenset[Any]) -> WordTable:
    """Make counts of words; every lexicon has met them in an order of its own, and some not at all."""
    names = shuffled(choices)
    return worded(choices, weighted, fixed, TextReader(IN_PAIRS, names[: int(choices.of(range(1, 6), 1)[0])]))


def declared_words(choices: Choices, weighted: bool, fixed: frozenset[Any]) -> WordTable:
    """Make counts of a vocabulary; its words may stand in any order."""
    return worded(choices, weighted, fixed, TextReader(IN_PAIRS, shuffled(choices), fixed=True))


def worded(choices: Choices, weighted: bool, fixed: frozenset[Any], lexicon: TextReader) -> WordTable:
    """Make counts of some words of a lexicon: of each at least as often as there are texts with it."""
    classes = choices.axis(CLASSES, fixed)
    pool, shape = FRACTIONS if weighted else WHOLE, (len(classes), len(lexicon))
    texts, more = choices.of(pool, *shape).astype(float), choices.of(pool, *shape)
    return WordTable(classes, lexicon, np.where(texts > 0, texts + more, 0.0), texts)


def no_words(lexicon: TextReader) -> WordTable:
    """Return counts of no text."""
    return WordTable(Axis(), lexicon, np.zeros((0, len(lexicon))), np.zeros((0, len(lexicon))))


def counts(choices: Choices, weighted: bool, fixed: frozenset[Any]) -> Counts:
    """Make counts with a column of every kind."""
    classes = choices.axis(CLASSES, fixed)
    columns = {"word": table, "codes": tables, "size": moments, "body": words}
    rows = choices.of(FRACTIONS if weighted else WHOLE, len(classes))
    return Counts(classes, rows, {name: make(choices, weighted, fixed) for name, make in columns.items()})


@dataclass(frozen=True)
class Kind:
    """A kind of statistic: how to make some, and what is the zero of it."""

    name: str
    make: Callable[[Choices, bool, frozenset[Any]], Any]
    zero: Any
    exact: bool  # whole rows are restored to the last bit
    choices: int  # how many, at most, make one

    def parts(self, size: int, weighted: bool = False, declared: bool = True) -> st.SearchStrategy[tuple[Any, ...]]:
        """Draw several statistics that declare the same labels, or none."""

        def parts(drawn: bytes, fixed: frozenset[Any]) -> tuple[Any, ...]:
            choices = Choices(drawn)
            return tuple(self.make(choices, weighted, fixed) for _ in range(size))

        room = self.choices * size
        fixed = st.sampled_from([frozenset(), DECLARED] if declared else [frozenset()])
        return st.builds(parts, st.binary(min_size=room, max_size=room), fixed)


NO_WORDS = no_words(TextReader(IN_PAIRS))
NOTHING = Counts((), (), {"word": Table(), "codes": Tables((Table(), Table())), "size": Moments(), "body": NO_WORDS})
KINDS = {
    "Table": Kind("Table", table, Table(), exact=True, choices=51),
    "Tables": Kind("Tables", tables, Tables((Table(), Table())), exact=True, choices=102),
    "Moments": Kind("Moments", moments, Moments(), exact=False, choices=41),
    "WordTable": Kind("WordTable", words, NO_WORDS, exact=True, choices=60),
    "WordTable, a vocabulary": Kind(
        "WordTable", declared_words, no_words(TextReader(IN_PAIRS, WORDS, fixed=True)), exact=True, choices=59
    ),
    "WordTable, a hash": Kind(
        "WordTable", lambda *how: worded(*how, TextReader(HASHED)), no_words(TextReader(HASHED)), exact=True, choices=54
    ),
    "WordTable, a matrix": Kind(
        "WordTable", lambda *how: worded(*how, matrix_columns(5)), no_words(matrix_columns(5)), exact=True, choices=54
    ),
    "Counts": Kind("Counts", counts, NOTHING, exact=False, choices=264),
}


def counted_moments(classes: Axis, columns: Any, y: Any, x: Any, weights: Any = None, threads: int = 1) -> Moments:
    """Return the moments of rows counted in one batch."""
    accumulator = MomentsAccumulator(classes, Axis(columns))
    x = np.asarray(x, dtype=None if len(x) else float).reshape(-1, len(columns))
    weights = None if weights is None else np.asarray(weights, float)
    accumulator.add(x, np.asarray(y, np.int32), weights, threads)
    return accumulator.value()


# -- what statistics are made of ----------------------------------------------------------------------------------


def parts_of(statistic: Any) -> list[Any]:
    """Return the tables and moments that a statistic is made of, in order."""
    if isinstance(statistic, Counts):
        return [part for name in sorted(statistic.columns) for part in parts_of(statistic.columns[name])]
    return list(statistic.tables) if isinstance(statistic, Tables) else [statistic]


def axes_of(statistic: Any) -> list[Axis]:
    """Return all axes of a statistic."""
    own = [statistic.classes] if isinstance(statistic, Counts) else []
    return own + [a for p in parts_of(statistic) for a in (p.classes, labels_of(p))]


def labels_of(part: Any) -> Axis:
    """Return what a table or moments hold beside the classes: values, words or columns."""
    return part.columns if isinstance(part, Moments) else part.values


def arrays_of(statistic: Any) -> list[np.ndarray]:
    """Return all arrays of a statistic."""
    own = [statistic.rows] if isinstance(statistic, Counts) else []
    names = {Table: ("n",), WordTable: ("n", "n_texts"), Moments: ("n", "shift", "total", "squares")}
    return own + [getattr(part, name) for part in parts_of(statistic) for name in names[type(part)]]


def state_of(statistic: Any) -> list[Any]:
    """Return everything in a statistic to the last bit, to see whether it changed."""
    labels = [(list(axis.labels), set(axis.fixed)) for axis in axes_of(statistic)]
    return labels + [(array.shape, array.tobytes()) for array in arrays_of(statistic)]


def cells_of(statistic: Any, origin: Any) -> dict[Any, np.ndarray]:
    """Return what must add up: number, sum and squares of each cell, measured from the shifts of the origin."""
    cells: dict[Any, np.ndarray] = defaultdict(lambda: np.zeros(3))
    if isinstance(statistic, Counts):
        cells |= {
            ("rows", k): np.array([n, 0, 0]) for k, n in zip(statistic.classes.labels, statistic.rows, strict=True)
        }
    for at, (part, whole) in enumerate(zip(parts_of(statistic), parts_of(origin), strict=True)):
        if isinstance(part, Table):
            n, others, total, squares = part.n, part.values, np.zeros(part.n.shape), np.zeros(part.n.shape)
        elif isinstance(part, WordTable):
            n, others, total, squares = part.n, part.values, part.n_texts, np.zeros(part.n.shape)
        else:
            n, others = part.n, part.columns
            gap = part.shift - whole.on(part.classes, part.columns).shift
            total, squares = part.total + n * gap, part.squares + 2 * gap * part.total + n * gap * gap
        for i, j in np.argwhere(n):
            cells[at, part.classes.labels[i], others.labels[j]] = np.array([n[i, j], total[i, j], squares[i, j]])
    return cells


def scale_of(whole: Any) -> dict[Any, np.ndarray]:
    """Return what rounding is measured by in each cell: its number, the size of its sum, its squares."""
    scale = cells_of(whole, whole)
    for at, part in enumerate(parts_of(whole)):
        for i, j in np.argwhere(part.n) if isinstance(part, Moments) else ():
            least = np.finfo(float).eps * abs(part.shift[i, j])  # differences below this are none
            n, _, squares = scale[at, part.classes.labels[i], part.columns.labels[j]]
            squares += n * least**2
            scale[at, part.classes.labels[i], part.columns.labels[j]] = np.array([n, np.sqrt(n * squares), squares])
    return scale


# -- rows for the kernels -----------------------------------------------------------------------------------------


threads = st.sampled_from([1, 2, 7, 1000, 0, -1])


def laid_out(x: np.ndarray, layout: str) -> np.ndarray:
    """Return the same matrix in another layout of memory."""
    rows, columns = x.shape
    if layout == "F":
        return np.asfortranarray(x)
    if layout == "flipped":
        return np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1]
    if layout == "stepped":
        wide = np.zeros((2 * rows, 3 * columns), x.dtype)
        wide[::2, ::3] = x
        return wide[::2, ::3]
    if layout == "inside":
        wide = np.zeros((rows + 2, columns + 3), x.dtype)
        wide[1:-1, 2:-1] = x
        return wide[1:-1, 2:-1]
    if layout == "repeated":  # all rows are one in memory
        return np.broadcast_to(x[:1], x.shape)
    x = np.ascontiguousarray(x)
    x.flags.writeable = layout != "read-only"
    return x


def choices(size: int) -> st.SearchStrategy[Choices]:
    """Draw so many choices at once."""
    return st.binary(min_size=size, max_size=size).map(Choices)
