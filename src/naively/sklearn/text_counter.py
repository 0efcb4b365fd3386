"""Texts to counts of words: a fast ``CountVectorizer``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral, Real
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from sklearn.utils import Tags

from .._kernels import TokenRows
from .._threads import allowed
from .._types import Codes, ColumnLike, Matrix, Objects, TableLike
from ..errors import InvalidInput, InvalidSetting
from ..errors.message import Setting
from ..text import TextReader, Tokens
from ..text.tokens import Unit

ENGLISH = "english"
UNITS: dict[str, Unit] = {"word": "words", "char": "characters", "char_wb": "inside"}


class KnownWords(NamedTuple):
    """The words of a fitted counter: who reads them, and which of his numbers each column holds (None: its own)."""

    reader: TextReader
    numbers: Codes | None = None
    given: tuple[str, ...] | None = None

    @property
    def width(self) -> int:
        """How many columns there are."""
        return len(self.reader) if self.numbers is None else len(self.numbers)

    @property
    def names(self) -> list[str]:
        """The words in the order of their columns."""
        return self.reader.names(self.numbers) if self.given is None else list(self.given)

    @property
    def columns(self) -> Codes | None:
        """The column of each number; -1 where it has none."""
        if self.numbers is None:
            return None
        columns = np.full(len(self.reader), -1, dtype=np.int32)
        columns[self.numbers] = np.arange(len(self.numbers), dtype=np.int32)
        return columns

    def small(self) -> KnownWords:
        """Return the same words without those that have no column."""
        return self if self.numbers is None else KnownWords(self.reader.of(self.numbers))


class TextCounter(TransformerMixin, BaseEstimator):
    """Counts the words of texts, as a sparse matrix with a column for each word.

    A fast ``CountVectorizer``: with ``cjk="words"`` it gives the same vocabulary and the same counts. Texts come as a
    list of strings or a column of strings of any library, and are read where they lie, on several threads.

    Parameters
    ----------
    analyzer : {"word", "char", "char_wb"}, default="word"
        Words (two letters, digits or underscores or more), characters in a row, or those within words.
    ngram_range : (int, int), default=(1, 1)
        The fewest and the most words or characters that make one token together.
    lowercase : bool, default=True
        Make letters small first, as ``str.lower`` does.
    cjk : {"pairs", "words"}, default="pairs"
        A run of Chinese or Japanese characters becomes its characters and its pairs of neighbors, or stays one word.
    marks : bool, default=False
        Keep marks that are written with a letter in the word, as Hindi needs it.
    rules : {"python", "unicode"}, default="python"
        What a word is: by the pattern of scikit-learn, or as models of texts have it: marks belong to their word,
        emoji are words, and Thai, Lao, Khmer and Burmese are read as Chinese is. See `naively.text.Tokens`.
    preprocessor : callable, optional
        A function from text to text that is called first; as in scikit-learn it replaces `lowercase`.
    tokenizer : callable, optional
        A function from text to its words, instead of the rules above.
    stop_words : "english" or list of str, optional
        Words that are passed over.
    vocabulary : mapping or iterable of str, optional
        The words to count, or their columns, instead of all that occur in ``fit``.
    hash_width : int, optional
        So many columns; each token goes into one by its hash. No word is kept, so memory is bounded and nothing is
        learned.
    binary : bool, default=False
        Count a word once in each text.
    log : bool, default=False
        Give log(1 + count) instead of the count.
    min_df, max_df : int or float, default=1 and 1.0
        The fewest and the most texts that a word may occur in, as a number or as a proportion.
    max_features : int, optional
        Keep so many words, the most frequent ones.
    dtype : type, optional
        The type of the counts: int64 by default, float64 with ``log``.
    n_jobs : int, optional
        How many threads to use; all CPUs by default.

    Attributes
    ----------
    vocabulary_ : dict
        The column of each word.

    Examples
    --------
    >>> from naively.sklearn import TextCounter
    >>> counter = TextCounter()
    >>> counter.fit_transform(["To be, or not to be", "他在北京"]).toarray()
    array([[2, 1, 1, 2, 0, 0, 0, 0, 0, 0, 0],
           [0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1]])
    >>> counter.get_feature_names_out()
    array(['be', 'not', 'or', 'to', '京', '他', '他在', '北', '北京', '在', '在北'], dtype=object)
    """

    def __init__(
        self,
        *,
        analyzer: str = "word",
        ngram_range: tuple[int, int] = (1, 1),
        lowercase: bool = True,
        cjk: Literal["pairs", "words"] = "pairs",
        marks: bool = False,
        rules: Literal["python", "unicode"] = "python",
        preprocessor: Callable[[str], str] | None = None,
        tokenizer: Callable[[str], Iterable[str]] | None = None,
        stop_words: str | Iterable[str] | None = None,
        vocabulary: Mapping[str, int] | Iterable[str] | None = None,
        hash_width: int | None = None,
        binary: bool = False,
        log: bool = False,
        min_df: float = 1,
        max_df: float = 1.0,
        max_features: int | None = None,
        dtype: npt.DTypeLike | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.analyzer = analyzer
        self.ngram_range = ngram_range
        self.lowercase = lowercase
        self.cjk = cjk
        self.marks = marks
        self.rules = rules
        self.preprocessor = preprocessor
        self.tokenizer = tokenizer
        self.stop_words = stop_words
        self.vocabulary = vocabulary
        self.hash_width = hash_width
        self.binary = binary
        self.log = log
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.dtype = dtype
        self.n_jobs = n_jobs

    def fit(self, X: TableLike, y: ColumnLike = None) -> TextCounter:
        """Learn the vocabulary.

        Parameters
        ----------
        X : iterable of str, or a column of a data frame
            The texts.
        y : object, optional
            Ignored; it is there for pipelines.

        Returns
        -------
        TextCounter
            The fitted counter.
        """
        self._learn(X)
        return self

    def fit_transform(self, X: TableLike, y: ColumnLike = None, **fit_params: object) -> Matrix:
        """Learn the vocabulary and count its words in each text.

        Parameters
        ----------
        X : iterable of str, or a column of a data frame
            The texts.
        y : object, optional
            Ignored; it is there for pipelines.
        **fit_params : dict
            Ignored.

        Returns
        -------
        sparse matrix of shape (n_samples, n_words)
            How often each word occurs in each text.
        """
        return self._matrix(*self._learn(X))

    def transform(self, X: TableLike) -> Matrix:
        """Count the known words of each text; unknown words are ignored.

        Parameters
        ----------
        X : iterable of str, or a column of a data frame
            The texts.

        Returns
        -------
        sparse matrix of shape (n_samples, n_words)
            How often each word occurs in each text.
        """
        known = self._ready()
        return self._matrix(known.reader.read(X), known)

    def get_feature_names_out(self, input_features: ColumnLike = None) -> Objects:
        """Return the words in the order of their columns.

        Parameters
        ----------
        input_features : object, optional
            Ignored; it is there for pipelines.

        Returns
        -------
        ndarray of str objects
            The words.
        """
        return np.array(self._ready().names, dtype=object)

    @property
    def vocabulary_(self) -> dict[str, int]:
        """The column of each word."""
        if self.hash_width is not None or not hasattr(self, "_known"):
            raise AttributeError("vocabulary_ is there once the counter is fitted, and never with hash_width.")
        return {name: column for column, name in enumerate(self._known.names)}

    def inverse_transform(self, X: TableLike) -> list[Objects]:
        """Return the words that were counted in each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_words)
            Counts of words, as `transform` returns them.

        Returns
        -------
        list of ndarray
            The words of each row.
        """
        names, rows = self.get_feature_names_out(), sparse.csr_matrix(X)
        if rows.shape[1] != len(names):
            raise InvalidInput(f"X has {rows.shape[1]} columns, but there are {len(names)} words.")
        return [names[rows[[row]].nonzero()[1]] for row in range(rows.shape[0])]

    def _learn(self, X: TableLike) -> tuple[TokenRows, KnownWords]:
        """Return what was read of the texts, and the words of the columns; keep the words."""
        given = self._given()
        if given is not None:
            self._known = given
            return given.reader.read(X), given
        self._check_limits()
        reader = TextReader(self._tokens(), threads=self.n_jobs)
        rows = reader.read(X, learn=True)
        if not len(reader):
            raise InvalidInput(
                "empty vocabulary; perhaps the documents only contain stop words: no text holds a word to count."
            )
        known = KnownWords(reader, self._limited(rows, reader.order()))
        self._known = known if known.width == len(reader) else known.small()
        return rows, known

    def _ready(self) -> KnownWords:
        """Return the words of a fitted counter; of one with a vocabulary or a hash there is nothing to fit."""
        known = getattr(self, "_known", None) or self._given()
        if known is None:
            raise NotFittedError("This TextCounter does not know any word yet. Call fit with texts, or set vocabulary.")
        return known

    def _given(self) -> KnownWords | None:
        """Return the words that need no texts to be known."""
        if self.hash_width is not None:
            if self.vocabulary is not None:
                raise InvalidSetting("vocabulary and hash_width exclude each other; set one of them.")
            return KnownWords(TextReader(self._tokens(), threads=self.n_jobs))
        if self.vocabulary is None:
            return None
        names = vocabulary_names(self.vocabulary)
        return KnownWords(TextReader(self._tokens(), names, threads=self.n_jobs), given=names)

    def _tokens(self) -> Tokens:
        """Return the settings that say what a token is."""
        unit = UNITS.get(self.analyzer)
        if unit is None:
            raise InvalidSetting(Setting("analyzer", self.analyzer), " is not known; give 'word', 'char' or 'char_wb'.")
        return Tokens(
            unit=unit,
            ngram_range=self.ngram_range,
            lowercase=self.lowercase and self.preprocessor is None,
            cjk=self.cjk,
            marks=self.marks,
            rules=self.rules,
            stop_words=stop_words_of(self.stop_words),
            hash_width=self.hash_width,
            preprocessor=self.preprocessor,
            tokenizer=self.tokenizer,
        )

    def _check_limits(self) -> None:
        for name in ("min_df", "max_df"):
            value = getattr(self, name)
            whole, least = isinstance(value, Integral), int(name == "max_df")
            good = int(value) >= least if whole else isinstance(value, Real) and 0.0 <= float(value) <= 1.0
            if isinstance(value, bool) or not good:
                raise InvalidSetting(
                    Setting(name, value), " is no number of texts; give a whole number, or a fraction of all texts."
                )
        most = self.max_features
        if most is not None and (isinstance(most, bool) or not isinstance(most, Integral) or most < 1):
            raise InvalidSetting(Setting("max_features", most), " is no number of words; give 1 or more, or None.")

    def _limited(self, rows: TokenRows, order: Codes) -> Codes:
        """Return the numbers of the words to keep, in order: by document frequency and total frequency."""
        least, most = (v if isinstance(v, Integral) else v * len(rows) for v in (self.min_df, self.max_df))
        if most < least:
            raise InvalidSetting(
                f"max_df corresponds to < documents than min_df: of {len(rows)} texts, words shall be in "
                f"{least:g} or more and in {most:g} or less."
            )
        if least <= 1 and most >= len(rows) and self.max_features is None:
            return order
        of_rows, times = (numbers[order] for numbers in rows.totals(len(order)))
        kept = np.flatnonzero((of_rows >= least) & (of_rows <= most))
        if self.max_features is not None and len(kept) > self.max_features:
            often = of_rows if self.binary else times
            kept = np.sort(kept[(-often[kept]).argsort()[: self.max_features]])
        if not len(kept):
            raise InvalidInput("After pruning, no terms remain. Try a lower min_df or a higher max_df.")
        return order[kept]

    def _matrix(self, rows: TokenRows, known: KnownWords) -> Matrix:
        """Return what was read as a sparse matrix."""
        times = "once" if self.binary else "log" if self.log else "all"
        starts, columns, values = rows.matrix(known.columns, times, allowed(self.n_jobs))
        if self.binary and self.log:
            values = np.log1p(values)
        values = values.view(np.float64 if self.log else np.int64)  # by its usual name, whatever C++ calls it
        values = values if self.dtype is None else values.astype(self.dtype, copy=False)
        index = np.int32 if len(values) < 2**31 else np.int64
        made = sparse.csr_matrix((len(rows), known.width), dtype=values.dtype)
        made.indptr, made.indices = starts.astype(index, copy=False), columns.astype(index, copy=False)
        made.data, made.has_sorted_indices, made.has_canonical_format = values, True, True
        return made

    def __getstate__(self) -> dict[str, object]:
        state = dict(super().__getstate__())
        return state | {"_known": state["_known"].small()} if "_known" in state else state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        tags.requires_fit = self.vocabulary is None and self.hash_width is None
        return tags


def stop_words_of(given: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return the words to pass over."""
    if given is None:
        return ()
    if isinstance(given, str):
        if given != ENGLISH:
            raise InvalidSetting(Setting("stop_words", given), " is not a built-in list; give 'english' or words.")
        return tuple(sorted(ENGLISH_STOP_WORDS))
    words = tuple(given)
    if not all(isinstance(word, str) for word in words):
        raise InvalidSetting("stop_words holds what is no string; give a list of words.")
    return words


def vocabulary_names(vocabulary: ColumnLike) -> tuple[str, ...]:
    """Return the words of a given vocabulary in the order of their columns."""
    if isinstance(vocabulary, Mapping):
        columns = set(vocabulary.values())
        if len(columns) != len(vocabulary):
            raise InvalidSetting("Vocabulary contains repeated indices: give each word a column of its own.")
        if columns != set(range(len(vocabulary))):
            raise InvalidSetting(
                f"Vocabulary of size {len(vocabulary)} does not have the columns 0 … {len(vocabulary) - 1}."
            )
        names = tuple(sorted(vocabulary, key=vocabulary.__getitem__))
    else:
        names = tuple(sorted(vocabulary) if isinstance(vocabulary, (set, frozenset)) else vocabulary)
    if not names:
        raise InvalidSetting("empty vocabulary passed to fit: give at least one word.")
    if not all(isinstance(name, str) for name in names):
        raise InvalidSetting("vocabulary holds what is no string; give words.")
    if len(set(names)) != len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise InvalidSetting(f"Duplicate term in vocabulary: {twice!r}.")
    return names
