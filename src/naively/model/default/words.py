"""Words of texts: how much more frequent than by chance they are in the texts of a class, and coefficients of words.

By chance a class has its proportion of all words. A word counts for it by how much more frequent it is in the class,
and by how much rarer in all others; the second counts the more, the more classes differ in it. Single words and
sequences are weighted apart. The contributions of the words of a text are divided by the root of their number: a long
text is no surer for its length alone.

Words are not independent; a coefficient for each corrects that, by penalized logistic regression on top of the held-out
scores of all terms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy import sparse

from ... import _kernels
from ..._kernels import Scorer
from ..._linear_algebra import dot
from ..._threads import threads_here
from ..._types import AnyArray, Codes, Floats, Hashes, Longs, Mask, Matrix, Places, Singles, SparseMatrix
from ...counting.arrays import distinct_cells
from ...data.column import Column
from ...data.model_file.parts import dense_matrix, table_of_bytes, table_to_bytes
from ...data.schema import Schema
from ...families import Words
from ...families.words import ModelWords, kept_tokens
from ...stats import Axis, Counts, WordTable
from ...stats.arithmetic import mix_hashes
from ...text import TextReader
from ..column_parts import INSIDE
from ..recipe import Recipe
from .likelihoods import VECTORS
from .rows import CrossFit, FittingRows, Term, Terms, TermValues, is_clear, mean_loss

if TYPE_CHECKING:
    from .coefficients import MeasuredScores

# The terms of words: single words by their frequency in a class, and by their rarity in others; sequences.
WORD_TERMS = ("words", "words that others lack", "sequences", "sequences that others lack")


def is_word_term(term: Term) -> bool:
    """Tell whether a term is of words, whose weights are pulled towards 0."""
    return term.kind in WORD_TERMS or term.kind == "counts"


def start_weight(block: Term) -> float:
    """Return the weight of a kind before any row is seen: each column counts once."""
    return 1.0 if block.kind == VECTORS else 1 / len(WORD_TERMS) if block.kind in WORD_TERMS else 0.0


def column_alone(term: Term) -> bool:
    """Tell whether a term stands for its column where each column counts by itself."""
    return term.kind in (VECTORS, WORD_TERMS[0])


def spread(term: Term, values: TermValues) -> float:
    """Return what the values of a term are divided by: of words, how far they differ between classes on average."""
    if not is_word_term(term):
        return 1.0
    return float(np.sqrt(np.mean((values - values.mean(axis=0)) ** 2))) + 1e-9


def word_family(column: Column) -> Words | None:
    """Return the family of a column of texts or of counts, if its words have these terms: no other form was set."""
    family = column.family
    if not isinstance(family, Words):
        return None
    return None if family.complement or family.bernoulli or family.idf else family


@dataclass(frozen=True)
class DocumentRows:
    """Rows of a matrix of counts as texts: a row holds the words whose columns are above 0."""

    words: SparseMatrix  # 1 for each word that a row holds
    threads: int

    @classmethod
    def of(cls, x: Matrix, threads: int) -> DocumentRows:
        """Return the words of the rows of a matrix, sparse or dense."""
        x = sparse.csr_array(distinct_cells(x))
        x = x if (x.data > 0).all() else sparse.csr_array(x > 0)
        return cls(sparse.csr_array((np.ones(x.nnz, dtype=np.float32), x.indices, x.indptr), shape=x.shape), threads)

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and words there are."""
        rows, words = self.words.shape
        return rows, words

    def __len__(self) -> int:
        return int(self.words.shape[0])

    def __getitem__(self, rows: slice | AnyArray) -> DocumentRows:
        """Return some of the rows."""
        return DocumentRows(self.words[rows], self.threads)

    def cells(self, columns: Codes, times: str) -> tuple[Longs, Codes, Singles]:
        """Return starts of rows, columns and values; all columns of a matrix are words of its model."""
        return self.words.indptr.astype(np.int64), columns[self.words.indices], self.words.data

    def measured(self, table: Singles, lengths: Floats, times: str) -> tuple[Floats, Floats]:
        """Return the sums of a table [word, class] and of lengths [word] over the words of each row."""
        return np.asarray(self.words @ table, dtype=np.float64), np.asarray(self.words @ lengths)

    def hashes(self) -> Hashes:
        """Return a number for each row that follows from its words."""
        mixed = np.cumsum(mix_hashes(self.words.indices.astype(np.uint64)))
        sums = np.concatenate([np.zeros(1, dtype=np.uint64), mixed])
        return mix_hashes(sums[self.words.indptr[1:]] - sums[self.words.indptr[:-1]])


class WordAssociations:
    """The words of a column of texts, by the number of texts of each class that they are in.

    Rows of a matrix of counts are texts, too; what reads them is then another matrix than that of the column itself.
    """

    def __init__(self, name: str, family: Words, table: WordTable, rows: Floats, classes: Axis) -> None:
        self.name, self.classes, self.rows = name, classes, rows
        table = table.on(classes)
        self.matrix = f"{INSIDE}words of {name}" if table.of_matrix else name
        numbers = np.flatnonzero(kept_tokens(family, table, float(rows.sum()))).astype(np.int32)
        self.words = ModelWords(table, numbers)
        self.group = table.lexicon.sequences(table.size)[numbers].astype(np.uint8)
        self.cells = table.cells.take(numbers)
        self.totals = self.cells.documents

    @property
    def terms(self) -> tuple[str, ...]:
        """The terms there are."""
        return WORD_TERMS if self.group.any() else WORD_TERMS[:2]

    @cached_property
    def _counts(self) -> tuple[Longs, Codes, Floats, Floats, npt.NDArray[np.uint8], Floats]:
        """The counts as the kernels read them; last how many words the texts of each class hold, [group, class]."""
        groups = self.group[self.cells.words]
        sums = [np.bincount(self.cells.classes, self.cells.texts * (groups == g), len(self.classes)) for g in (0, 1)]
        mass = np.stack(sums).astype(np.float64)
        return self.cells.starts, self.cells.classes, self.cells.texts, self.totals, self.group, mass

    def texts_of(self, words: Codes | Places) -> Singles:
        """Return how many texts of each class hold some of the words, [word, class]."""
        cells = self.cells.take(words)
        out = np.zeros((len(words), len(self.classes)), dtype=np.float32)
        out[cells.words, cells.classes] = cells.texts
        return out

    def words_of(self, x: Matrix) -> tuple[Longs, Codes]:
        """Return where the words of each row begin, and the words that it holds."""
        starts, words, _ = x.cells(self.words.columns, "once")
        return starts, words

    def cross(self, cross: CrossFit, words: tuple[Longs, Codes], pseudo: float, folds: int | None = None) -> Terms:
        """Return each term for the words of rows by the counts without their fold, [class, row]; of the first folds."""
        out = np.empty((len(WORD_TERMS), len(self.classes), len(cross.rows)), dtype=np.float32)
        folds = len(cross.rows.folds) if folds is None else folds
        about: tuple[Any, ...] = (*words, *self._counts, *cross.folded, pseudo, folds, out, threads_here())
        _kernels.cross_words(*about)
        return {Term(name, self.name): values for name, values in zip(self.terms, out, strict=False)}

    def scores(self, mix: Mapping[str, float], pseudo: float) -> WordScores:
        """Return the contribution of words under the weights of the terms."""
        weights = np.array([mix.get(term, 0.0) for term in WORD_TERMS]).reshape(2, 2)
        table = np.zeros((len(self.words), len(self.classes)), dtype=np.float32)
        _kernels.word_weights(*self._counts, weights, pseudo, table)
        return WordScores(self.classes, self.words, table, self.totals > 0)


def word_associations(schema: Schema, counts: Counts, classes: Axis) -> dict[str, WordAssociations]:
    """Return the words of each column of texts that has terms of words."""
    families = {column.name: word_family(column) for column in schema.of_kind("vectors")}
    return {
        name: WordAssociations(name, family, counts.columns[name], counts.rows, classes)
        for name, family in families.items()
        if family is not None and isinstance(counts.columns[name], WordTable)
    }


@dataclass(frozen=True)
class WordScores:
    """The contribution of each word, divided by the root of how many words a text has."""

    classes: Axis
    words: ModelWords
    word_scores: Singles  # [word, class]
    known: Mask

    @cached_property
    def _by_number(self) -> tuple[Singles, Floats]:
        """The same by number: the contribution of each, and whether it counts as a word."""
        return self.words.by_number(self.word_scores), self.words.by_number(self.known.astype(np.float64))

    def add_to(self, scorer: Scorer, x: Matrix, missing: bool = True) -> None:
        """Have the contributions of the words added to the scores, as the texts are read."""
        scores, squares = x.measured(*self._by_number, "once")
        scores /= np.sqrt(np.maximum(squares, 1.0))[:, None]
        scorer.given(scores)

    def by_word(self, x: Matrix) -> tuple[Codes, Floats]:
        """Return the numbers of the words of a single row, and the contribution of each, [word, class]."""
        _, words, _ = x.cells(self.words.columns, "once")
        length = np.sqrt(max(float(self.known[words].sum()), 1.0))
        return self.words.numbers[words], self.word_scores[words].astype(np.float64) / length


# -- coefficients ------------------------------------------------------------------------------------------------------

# Visits of each row at most, the mean change of a row's residual at which they end, and the size below which a
# coefficient is 0. Numerical.
PASSES, TOLERANCE, LEAST = 12, 2e-3, 1e-3
# Coefficients of words at most: of more words, the more frequent ones have some. A limit of memory.
MOST_COEFFICIENTS = 1 << 24


@dataclass(frozen=True, eq=False)
class WordCoefficients:
    """The coefficients of words of one column of texts."""

    lexicon: TextReader
    numbers: Codes  # of the words in the lexicon, rising
    table: Singles  # [word, class]
    ridge: float

    def add_to(self, words: ModelWords, table: Singles) -> None:
        """Add the coefficients to the contributions of all words of a model, [word, class]."""
        if self.lexicon is words.lexicon:
            known = self.numbers < len(words.columns)
            places = np.where(known, words.columns[np.where(known, self.numbers, 0)], -1).astype(np.intp)
        else:
            places = np.asarray(words.places(self.labels))
        table[places[places >= 0]] += self.table[places >= 0]

    @property
    def labels(self) -> list[str] | list[int]:
        """The names of the words; of the columns of a hash, their numbers."""
        numbered = self.lexicon.tokens.hash_width is not None
        return self.numbers.tolist() if numbered else self.lexicon.names(self.numbers)

    def of_rest(self, table: WordTable) -> WordCoefficients:
        """Return the coefficients of those words that some text is left of, by the lexicon of what is left."""
        places = self.numbers.astype(np.int64)
        if not table.numbered and self.lexicon is not table.lexicon:
            places = table.lexicon.numbers([str(label) for label in self.labels]).astype(np.int64)
        there = (places >= 0) & (places < table.size)
        there[there] = table.seen[places[there]]
        order = np.argsort(places[there])
        numbers, coefficients = places[there][order].astype(np.int32), self.table[there][order]
        return WordCoefficients(table.lexicon, numbers, coefficients, self.ridge)

    def to_bytes(self) -> bytes:
        """Return the coefficients as bytes, for a file."""
        labels = pa.array(self.labels, pa.int32() if self.lexicon.tokens.hash_width is not None else pa.large_string())
        cells = pa.array(np.ascontiguousarray(self.table).ravel())
        lists = pa.FixedSizeListArray.from_arrays(cells, self.table.shape[1])
        return table_to_bytes(pa.table({"word": labels, "coefficients": lists}), {"ridge": self.ridge})

    @classmethod
    def of_bytes(cls, data: bytes, lexicon: TextReader, classes: int) -> WordCoefficients:
        """Return the coefficients that `to_bytes` wrote, of so many classes."""
        result, said = table_of_bytes(data)
        ridge, labels = float(said["ridge"]), result.column("word").to_pylist()
        hashed = lexicon.tokens.hash_width is not None
        numbers = np.array(labels, dtype=np.int32) if hashed else lexicon.numbers([str(name) for name in labels])
        lists = result.column("coefficients")
        table = dense_matrix(lists, classes).astype(np.float32)
        known = (numbers >= 0) & (numbers < len(lexicon))
        whole = np.isfinite(table).all() and len(np.unique(numbers)) == len(numbers)
        if not (known.all() and whole and 0 < ridge < np.inf):
            raise KeyError("words")
        order = np.argsort(numbers)
        return cls(lexicon, numbers[order].astype(np.int32), np.ascontiguousarray(table[order]), ridge)


class WordRows(NamedTuple):
    """The words of rows that have coefficients, and the length of each row: a word counts 1 / √(number of words)."""

    starts: Longs
    words: Codes
    lengths: Singles

    @classmethod
    def of(cls, starts: Longs, words: Codes, totals: Floats, kept: Codes) -> WordRows:
        """Return the rows of some words, given those that have coefficients."""
        places = np.full(len(totals), -1, dtype=np.int32)
        places[kept] = np.arange(len(kept), dtype=np.int32)
        return cls(*_kernels.words_with_offsets(starts, words, totals, places))

    def subtract(self, texts: Singles, rows: FittingRows, some: slice) -> None:
        """Take some of the rows out of the texts of each class that hold each word, [word, class]."""
        starts = self.starts[some.start : some.stop + 1]
        classes = np.repeat(rows.y[some], np.diff(starts))
        weights = np.repeat(rows.weights[some], np.diff(starts))
        np.subtract.at(texts, (self.words[starts[0] : starts[-1]], classes), weights.astype(np.float32))

    def squares(self, scales: Singles) -> Singles:
        """Return the sum of the scales of the words of each row, times its squared length."""
        out = np.empty(len(self.lengths), dtype=np.float32)
        _kernels.word_offset_squares(self.starts, self.words, self.lengths, scales, out)
        return out

    def scores(self, table: Singles, classes: int) -> Singles:
        """Return the sum of coefficients of each row, [row, class], given a padded table."""
        out = np.empty((len(self.lengths), classes), dtype=np.float32)
        _kernels.score_word_offsets(self.starts, self.words, self.lengths, table, out, threads_here())
        return out


class WordState:
    """Coefficients of words while they are fitted to some rows: the table, and what each row adds to it."""

    def __init__(
        self, words: WordRows, scales: Singles, scores: Floats, y: Codes, weights: Floats, visited: Codes
    ) -> None:
        self.words, self.scales, self.squares = words, scales, words.squares(scales)
        self.scores = np.ascontiguousarray(scores.T, dtype=np.float32)
        self.targets = np.zeros_like(self.scores)
        self.targets[np.arange(len(y)), y] = 1.0
        self.weights, self.visited, self.y = weights.astype(np.float32), visited, y
        width = -(-self.scores.shape[1] // 4) * 4
        self.table = np.zeros((len(scales), width), dtype=np.float32)
        self.residuals = np.zeros((len(y), width), dtype=np.float32)
        # Rows have length 1 on average, so that one ridge means the same everywhere.
        self.unit = float(np.mean(self.squares[visited], dtype=np.float64)) if len(visited) else 0.0
        self.ridge = self.unit

    def fit(self, ridge: float) -> None:
        """Go from the coefficients so far to those under a ridge: the rows add the same, times what each word takes."""
        after = ridge * self.unit
        self.table *= np.float32(self.ridge / after)
        self.ridge = after
        of_words = (*self.words, self.scales, self.squares)
        of_rows = (self.scores, self.targets, self.weights, self.visited)
        _kernels.fit_word_offsets(*of_words, *of_rows, after, PASSES, TOLERANCE, self.table, self.residuals)

    def coefficients(self, words: ModelWords, places: Codes) -> WordCoefficients:
        """Return the coefficients that are not next to 0, given the places of their words."""
        table = self.table[:, : self.scores.shape[1]]
        table[np.abs(table) < LEAST] = 0.0
        there = table.any(axis=1)
        return WordCoefficients(words.lexicon, words.numbers[places[there]], table[there], self.ridge)

    def all_scores(self) -> Singles:
        """Return the scores of all rows with the coefficients, [row, class]."""
        return self.scores + self.words.scores(self.table, self.scores.shape[1])

    def losses(self, rows: slice) -> Floats:
        """Return the log loss of some rows."""
        scores = self.all_scores()[rows].astype(np.float64)
        scores -= scores.max(axis=1, keepdims=True)
        y = self.y[rows]
        return np.asarray(np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(y)), y])


def word_scales(texts: Singles, rows: Floats, least: float) -> Singles:
    """Return the variance of the coefficients of words under a ridge of 1, given texts [word, class] and rows [class].

    It grows with how far classes differ in how often they hold the word: one that is equally frequent everywhere has
    less to correct.
    """
    logs = np.log(texts + np.float32(1))
    logs -= np.log(rows + 2).astype(np.float32)
    logs -= logs.mean(axis=1, keepdims=True)
    return np.asarray(np.einsum("wk,wk->w", logs, logs) / np.float32(len(rows)) + np.float32(least**2))


def frequent_words(words: Codes, size: int, classes: int) -> Codes:
    """Return the words that have coefficients: those that two rows hold, or more if there would be too many."""
    rows = np.bincount(words, minlength=size)
    most, least = MOST_COEFFICIENTS // classes, 2
    at_least = np.cumsum(np.bincount(rows)[::-1])[::-1]  # how many words a number of rows hold, or more
    while least < len(at_least) and at_least[least] > most:
        least += 1
    return np.flatnonzero(rows >= least).astype(np.int32)


def fitted_words(
    associations: WordAssociations,
    x: Matrix,
    rows: FittingRows,
    whole: MeasuredScores,
    parts: Sequence[MeasuredScores],
    recipe: Recipe,
) -> tuple[WordCoefficients, float, list[MeasuredScores]] | None:
    """Return the coefficients of words, the held-out log loss with them, and all scores with them.

    None where they do not clearly lower the loss.
    """
    starts, words = associations.words_of(x)
    kept = frequent_words(words, len(associations.words), len(associations.classes))
    if not len(kept) or not parts or "coefficients of words" in recipe.excluded:
        return None
    of_rows = WordRows.of(starts, words, associations.totals, kept)
    order = np.argsort(x.hashes(), kind="stable").astype(np.int32)

    def start(part: MeasuredScores) -> WordState:
        """Return the state of rows that do not measure; those that do are in no count either."""
        rest, visited = associations.texts_of(kept), order[rows.effective[order] > 0]
        if part.test is not None:
            visited = visited[(visited < part.test.start) | (visited >= part.test.stop)]
            of_rows.subtract(rest, rows, part.test)
        scales = word_scales(np.maximum(rest, 0), associations.rows, recipe.word_least_scale)
        return WordState(of_rows, scales, part.scores, rows.y, rows.effective, visited)

    tests = [part.test for part in parts if part.test is not None]
    weights = np.concatenate([rows.effective[test] for test in tests])
    states = [start(part) for part in parts]
    least = np.concatenate(list(map(WordState.losses, states, tests)))
    best, lowest, scores = None, np.inf, list[Singles]()
    for ridge in recipe.word_ridges if all(state.unit > 0 for state in states) else ():
        for state in states:
            state.fit(ridge)
        losses = np.concatenate(list(map(WordState.losses, states, tests)))
        if is_clear(least - losses, weights):
            best, least, scores = ridge, losses, [state.all_scores() for state in states]
        if dot(weights, losses) > lowest * (1 + recipe.loss_rise):
            break
        lowest = min(lowest, dot(weights, losses))
    if best is None:
        return None
    state = start(whole)
    for ridge in recipe.word_ridges[: recipe.word_ridges.index(best) + 1]:
        state.fit(ridge)
    made = state.coefficients(associations.words, kept)
    moved = [part._replace(scores=by.T.astype(np.float64)) for part, by in zip(parts, scores, strict=True)]
    return made, mean_loss(least, weights), [whole._replace(scores=state.all_scores().T.astype(np.float64)), *moved]
