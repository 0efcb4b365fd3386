"""Texts to counts of words: a fast ``CountVectorizer``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from numbers import Integral
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions

from .._kernels import TokenRows
from .._threads import allowed
from .._types import Codes, ColumnLike, Matrix, Objects, TableLike
from ..errors import InvalidInput, InvalidSetting
from ..text import TextReader, Tokens
from ..text.tokens import Unit

UNITS: dict[str, Unit] = {"word": "words", "char": "characters", "char_wb": "inside"}


class Columns(NamedTuple):
    """The words of the columns: their reader, its number of each word (None: its column), and their names, if given."""

    reader: TextReader
    numbers: Codes | None = None
    given: tuple[str, ...] | None = None

    def of_numbers(self) -> Codes | None:
        """Return the column of each number of the reader, -1 where it has none; None if the numbers are the columns."""
        if self.numbers is None:
            return None
        columns = np.full(len(self.reader), -1, dtype=np.int32)
        columns[self.numbers] = np.arange(len(self.numbers), dtype=np.int32)
        return columns


class TextCounter(TransformerMixin, BaseEstimator):
    """Convert texts to a sparse matrix of token counts.

    A fast ``CountVectorizer``: with ``cjk="words"`` it gives the same vocabulary and the same counts. Texts are a list
    of strings or a column of strings of any library; they are read without a copy, on several threads.

    Parameters
    ----------
    analyzer : {"word", "char", "char_wb"}, default="word"
        Whether tokens are words (two letters, digits or underscores or more), characters, or characters within words.
    ngram_range : (int, int), default=(1, 1)
        The fewest and the most words or characters that make one token.
    lowercase : bool, default=True
        Whether to convert texts to lower case first, as ``str.lower`` does.
    cjk : {"pairs", "words"}, default="pairs"
        Whether a run of Chinese or Japanese characters becomes its characters and pairs of neighbors, or one word.
    marks : bool, default=False
        Whether marks that are written with a letter stay in the word, as Hindi needs it.
    rules : {"python", "unicode"}, default="python"
        What a word is: by the pattern of scikit-learn, or as in models of texts: marks belong to their word, emoji are
        words, and Thai, Lao, Khmer and Burmese are read as Chinese is. See `naively.text.Tokens`.
    preprocessor : callable, optional
        A function from text to text that is called first; as in scikit-learn it replaces `lowercase`.
    tokenizer : callable, optional
        A function from text to its tokens, instead of the rules above.
    stop_words : "english" or list of str, optional
        Words to ignore.
    vocabulary : mapping or iterable of str, optional
        The tokens to count, or a mapping from tokens to columns. By default they are learned in ``fit``.
    hash_width : int, optional
        Number of columns of a hash of the tokens. No vocabulary is kept, so memory is bounded and nothing is learned.
    binary : bool, default=False
        Whether a token counts once per text.
    log : bool, default=False
        Whether to return log(1 + count) instead of the count.
    min_df, max_df : int or float, default=1 and 1.0
        Tokens in fewer or more texts are ignored: a number of texts, or a proportion of all.
    max_features : int, optional
        Keep at most this many tokens, the most frequent ones.
    dtype : type, optional
        The type of the counts: int64 by default, float64 with ``log``.
    n_jobs : int, optional
        Number of threads. None means `NAIVELY_THREADS`, or all CPUs that the process may use, like -1.

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

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        "analyzer": [StrOptions(set(UNITS))],
        "stop_words": [StrOptions({"english"}), "array-like", set, frozenset, None],
        "min_df": [Interval(RealNotInt, 0, 1, closed="both"), Interval(Integral, 0, None, closed="left")],
        "max_df": [Interval(RealNotInt, 0, 1, closed="both"), Interval(Integral, 1, None, closed="left")],
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
    }

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
        stop_words: str | Collection[str] | None = None,
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
        rows, columns = self._learn(X)
        return self._matrix(rows, columns, len(self._columns.reader))

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
        columns = self._ready()
        return self._matrix(columns.reader.read(X), columns.of_numbers(), len(columns.reader))

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
        reader, numbers, given = self._ready()
        return np.array(reader.names(numbers) if given is None else given, dtype=object)

    @property
    def vocabulary_(self) -> dict[str, int]:
        """The column of each word."""
        if self.hash_width is not None or not hasattr(self, "_columns"):
            raise AttributeError("vocabulary_ is there once the counter is fitted, and never with hash_width.")
        return {name: column for column, name in enumerate(self.get_feature_names_out())}

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

    def _learn(self, X: TableLike) -> tuple[TokenRows, Codes | None]:
        """Keep the words of the columns; return what was read of the texts, and the columns of its numbers."""
        given = self._given()
        if given is not None:
            rows = given.reader.read(X)
            self._columns = given
            return rows, None
        reader = TextReader(self._tokens(), threads=self.n_jobs)
        rows = reader.read(X, learn=True)
        if not len(reader):
            raise InvalidInput(
                "empty vocabulary; perhaps the documents only contain stop words: no text holds a word to count."
            )
        numbers = self._limited(rows, reader.order())
        columns = Columns(reader, numbers)
        self._columns = columns if len(numbers) == len(reader) else Columns(reader.of(numbers))
        return rows, columns.of_numbers()

    def _ready(self) -> Columns:
        """Return the words of a fitted counter; with a vocabulary or a hash there is nothing to fit."""
        columns = getattr(self, "_columns", None) or self._given()
        if columns is None:
            raise NotFittedError("This TextCounter does not know any word yet. Call fit with texts, or set vocabulary.")
        return columns

    def _given(self) -> Columns | None:
        """Return the words that need no texts to be known: of a vocabulary or a hash."""
        self._validate_params()
        if self.hash_width is not None:
            if self.vocabulary is not None:
                raise InvalidSetting("vocabulary and hash_width exclude each other; set one of them.")
            return Columns(TextReader(self._tokens(), threads=self.n_jobs))
        if self.vocabulary is None:
            return None
        try:  # in the order of their columns
            words = CountVectorizer(vocabulary=self.vocabulary).get_feature_names_out()
        except ValueError as error:
            raise InvalidSetting(f"{str(error).rstrip('.')}: give words, each with a column of its own.") from None
        names = strings("vocabulary", words)
        return Columns(TextReader(self._tokens(), names, threads=self.n_jobs), given=names)

    def _tokens(self) -> Tokens:
        """Return the settings that say what a token is."""
        stop_words = ENGLISH_STOP_WORDS if isinstance(self.stop_words, str) else self.stop_words
        return Tokens(
            unit=UNITS[self.analyzer],
            ngram_range=self.ngram_range,
            lowercase=self.lowercase and self.preprocessor is None,
            cjk=self.cjk,
            marks=self.marks,
            rules=self.rules,
            stop_words=() if stop_words is None else strings("stop_words", stop_words),
            hash_width=self.hash_width,
            preprocessor=self.preprocessor,
            tokenizer=self.tokenizer,
        )

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

    def _matrix(self, rows: TokenRows, columns: Codes | None, width: int) -> Matrix:
        """Return what was read as a sparse matrix."""
        times = "once" if self.binary else "log" if self.log else "all"
        starts, indices, values = rows.matrix(columns, times, allowed(self.n_jobs))
        if self.binary and self.log:
            values = np.log1p(values)
        values = values.view(np.float64 if self.log else np.int64)  # by its usual name, whatever C++ calls it
        values = values if self.dtype is None else values.astype(self.dtype, copy=False)
        index = np.int32 if len(values) < 2**31 else np.int64
        matrix = sparse.csr_matrix((len(rows), width), dtype=values.dtype)
        matrix.indptr, matrix.indices = starts.astype(index, copy=False), indices.astype(index, copy=False)
        matrix.data, matrix.has_sorted_indices, matrix.has_canonical_format = values, True, True
        return matrix

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        tags.requires_fit = self.vocabulary is None and self.hash_width is None
        return tags


def strings(setting: str, words: Iterable[object]) -> tuple[str, ...]:
    """Return words in a tuple, if all are strings."""
    words = tuple(words)
    if not all(isinstance(word, str) for word in words):
        raise InvalidSetting(f"{setting} holds what is not a string; give words.")
    return tuple(map(str, words))
