"""Words and how often they occur: a bag of words is one wide column, and so is a column of texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from .._types import Codes, Floats, Mask, Places
from ..errors import InvalidSetting
from ..errors.message import Setting
from ..stats import Axis, Table, WordTable
from ..text.tokens import Tokens, Unit
from .bernoulli import Bernoulli, FlagLikelihood
from .family import Settings, Smoothing, refuse
from .word_counts import WordLikelihood

Number = TypeVar("Number", np.float32, np.float64)


@dataclass(frozen=True, repr=False)
class Words:
    """Counts of words, drawn one by one: P(word | class) = (n + λ) / (N + V·λ) under ``bayes``.

    All parameters after `smoothing` are for columns of texts.

    Parameters
    ----------
    complement : bool, default=False
        Score a class by how little the words fit all *other* classes (Rennie et al., 2003): better where classes are
        many and of different size. The scores are then no log probabilities.
    norm : bool, default=False
        With `complement`, divide the weights of each class by their sum.
    smoothing : float or array-like of shape (n_words,), optional
        The pseudo-count λ of this column, one for all words or one each; by default the model's.
    bernoulli : bool, default=False
        Count whether a word is present, not how often, and let absent words contribute, too.
    times : {"all", "once", "log"}, default="all"
        What a word that occurs n times in a text counts: n, 1, or log(1 + n).
    min_df : int or float, default=1
        Words in fewer texts contribute nothing; a fraction is a proportion of all texts. They are counted all the same.
    max_df : int or float, default=1.0
        Words in more texts contribute nothing; a fraction is a proportion of all texts.
    max_words : int, optional
        At most this many words contribute, the most frequent.
    idf : bool, default=False
        Weight words by their rarity, 1 + log((1 + texts) / (1 + texts with the word)).
    vocabulary : sequence of str, optional
        The only words that are counted.
    hash_width : int, optional
        So many columns, one of which each word gets by its hash: a bound on memory, but no names.
    unit : {"words", "characters", "inside"}, default="words"
        What a token is: words, characters, or characters inside words alone.
    ngram_range : tuple of int, optional
        The shortest and longest sequence of tokens that is counted; by default single words.
    pairs : bool, optional
        Whether pairs of words are counted in addition to single words, for the default model; the textbook model does
        not use them unless they are `ngram_range`. By default they are counted if all texts together are not too long.
    lowercase : bool, default=True
        Whether texts are converted to lower case.
    cjk : {"pairs", "words"}, default="pairs"
        Whether ideographs are counted one by one with their pairs, or as words.
    marks : bool, default=False
        With ``rules="python"``, whether combining marks are part of the word.
    rules : {"python", "unicode"}, default="unicode"
        What a word is. With "unicode" emoji are words, and no word ends at a vowel sign.
    stop_words : sequence of str, default=()
        Words that are not counted.
    preprocessor : callable, optional
        A function that changes each text before it is split.
    tokenizer : callable, optional
        A function that splits each text into words.

    Examples
    --------
    >>> import naively as nv
    >>> nb = nv.NaiveBayes(families={"text": nv.Words(complement=True)}, model="textbook")
    >>> nb.fit({"text": ["good day", "bad day", "good"]}, ["a", "b", "a"]).predict({"text": "good"})
    array(['a'], dtype='<U1')
    """

    complement: bool = False
    norm: bool = False
    smoothing: Smoothing | None = None
    bernoulli: bool = False
    times: str = "all"
    min_df: float = 1
    max_df: float = 1.0
    max_words: int | None = None
    idf: bool = False
    vocabulary: tuple[str, ...] | None = None
    hash_width: int | None = None
    unit: Unit = "words"
    ngram_range: tuple[int, int] | None = None
    pairs: bool | None = None
    lowercase: bool = True
    cjk: Literal["pairs", "words"] = "pairs"
    marks: bool = False
    rules: Literal["python", "unicode"] = "unicode"
    stop_words: tuple[str, ...] = ()
    preprocessor: Callable[[str], str] | None = None
    tokenizer: Callable[[str], Iterable[str]] | None = None

    name: ClassVar[str] = "words"
    statistic: ClassVar[type[Table]] = Table

    def __post_init__(self) -> None:
        for name in ("vocabulary", "stop_words", "ngram_range"):
            object.__setattr__(self, name, tuple_setting(name, getattr(self, name)))
        check_word_settings(self)
        family_tokens(self)  # refuses what makes no tokens

    def __repr__(self) -> str:
        given = ((f.name, repr(getattr(self, f.name))) for f in fields(self))
        usual = {f.name: repr(f.default) for f in fields(self)}
        return f"Words({', '.join(f'{name}={value}' for name, value in given if value != usual[name])})"

    @cached_property
    def tokens(self) -> Tokens:
        """How texts are taken apart."""
        return family_tokens(self)

    @property
    def aside(self) -> bool:
        """Whether pairs of words are counted that textbook naive Bayes leaves out."""
        return bool(self.pairs) and self.ngram_range is None

    @property
    def may_pair(self) -> bool:
        """Whether pairs of words may be counted: nobody set it, and no other setting rules it out."""
        open_ = self.pairs is None and self.ngram_range is None and self.vocabulary is None and self.hash_width is None
        return open_ and self.unit == "words" and self.tokenizer is None

    @property
    def scored(self) -> str:
        """What counts of a word that occurs several times in a text, when it is scored."""
        return "once" if self.bernoulli else self.times

    @property
    def of_texts(self) -> list[str]:
        """The settings that only texts have, of those that are set."""
        usual = Words()
        own = (f.name for f in fields(self) if f.name not in ("complement", "norm", "smoothing"))
        return [name for name in own if getattr(self, name) != getattr(usual, name)]

    def counted_as(self, other: Words) -> Words:
        """Return this family for texts that were counted by another: what is counted stays as it was."""
        tokens = {f.name: getattr(other, f.name) for f in fields(Tokens)}
        return replace(self, **tokens, pairs=other.pairs, vocabulary=other.vocabulary, times=other.times)

    def estimate(
        self, statistic: Table | WordTable, rows: Floats, classes: Axis, settings: Settings
    ) -> WordLikelihood | FlagLikelihood:
        """Return the likelihood of the words."""
        if isinstance(statistic, WordTable) and not statistic.of_matrix:
            return self._of_texts(statistic.on(classes), np.asarray(rows, float), classes, settings)
        n = statistic.on(classes).times if isinstance(statistic, WordTable) else statistic.on(classes)
        return WordLikelihood(self, settings.each(len(statistic.values), self.smoothing), classes, statistic.values, n)

    def _of_texts(
        self, table: WordTable, rows: Floats, classes: Axis, settings: Settings
    ) -> WordLikelihood | FlagLikelihood:
        keep = kept_tokens(self, table, float(rows.sum()))
        if self.aside:
            keep &= ~table.lexicon.sequences(table.size, spaced=True)
        words = ModelWords(table, np.flatnonzero(keep).astype(np.int32))
        settings = settings.each(len(words), word_smoothing(self, words))
        if self.bernoulli:
            flags, n = Bernoulli(smoothing=self.smoothing), table.texts_of(words.numbers)
            return FlagLikelihood(flags, settings, classes, words, n, rows, times=self.scored)
        n, idf = table.times_of(words.numbers), None
        if self.idf:
            idf = np.log((1 + rows.sum()) / (1 + table.documents[words.numbers])) + 1
            n = n * idf
        return WordLikelihood(self, settings, classes, words, n, times=self.scored, idf=idf)


class ModelWords:
    """The words of a model, in the order of their columns; their names are looked up when they are needed.

    A name is a text or, for the columns of a hash, a number.
    """

    def __init__(self, table: WordTable, numbers: Codes) -> None:
        self.lexicon, self.numbers, self.declared = table.lexicon, numbers, table.numbered or table.lexicon.fixed
        self.numbered, self.size = table.numbered, table.size

    @cached_property
    def columns(self) -> Codes:
        """The column of each number, -1 if it has none."""
        columns = np.full(self.size, -1, dtype=np.int32)
        columns[self.numbers] = np.arange(len(self), dtype=np.int32)
        return columns

    def by_number(self, table: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """Return a table [column, …] laid out by number; words that are not kept have 0."""
        if len(self) == self.size:
            return np.ascontiguousarray(table)
        out = np.zeros((self.size, *table.shape[1:]), dtype=table.dtype)
        out[self.numbers] = table
        return out

    def __len__(self) -> int:
        return len(self.numbers)

    @cached_property
    def labels(self) -> list[Any]:
        """The names of the words; of the columns of a hash, their numbers."""
        return self.numbers.tolist() if self.numbered else self.lexicon.names(self.numbers)

    def places(self, labels: Sequence[Any]) -> Places:
        """Return the column of each of these words, -1 for those that are not kept."""
        result = np.array(labels, dtype=np.int64) if self.numbered else self.lexicon.numbers(labels)
        columns = np.searchsorted(self.numbers, result)
        there = (columns < len(self.numbers)) & (result >= 0)
        there[there] = self.numbers[columns[there]] == result[there]
        return np.where(there, columns, -1)

    @property
    def stays(self) -> Mask:
        """Which words stay known without any count: the declared ones."""
        return np.full(len(self), self.declared)


def word_smoothing(family: Words, words: ModelWords) -> Smoothing | None:
    """Return λ for all words, or for each in the order of its column; it is given in that of the vocabulary."""
    if family.smoothing is None or isinstance(family.smoothing, (float, int)) or words.numbered:
        return family.smoothing
    if np.ndim(family.smoothing) == 0:
        return family.smoothing
    if family.vocabulary is None or len(family.vocabulary) != len(family.smoothing):
        raise InvalidSetting(
            Setting("smoothing", family.smoothing),
            " is a λ for each word of a text, so it needs a vocabulary of as many words.",
        )
    each = dict(zip(family.vocabulary, family.smoothing, strict=True))
    return np.array([each[word] for word in words.labels], dtype=np.float64)


def kept_tokens(family: Words, table: WordTable, rows: float) -> Mask:
    """Tell which tokens are words of the model: neither too rare nor too common, and of too many the most frequent."""
    documents = table.documents
    least, most = (document_limit(share, rows) for share in (family.min_df, family.max_df))
    least = least if least > 1 or isinstance(family.min_df, float) else 0.0  # one text is enough, whatever it weighs
    slack = 1e-9 * max(rows, 1.0)  # sums of weights are whole but for rounding
    keep = table.seen & (documents >= least - slack) & (documents <= most + slack)
    if table.lexicon.fixed:
        keep = table.seen.copy()
    if family.max_words is not None and np.count_nonzero(keep) > family.max_words:
        often = np.where(keep, table.times.sum(axis=0), -1.0)
        # Of equally frequent words the first by name stay, as everywhere where a choice must not depend on the rows.
        best = np.lexsort((table.ranks, -often))[: family.max_words]
        keep = np.zeros(table.size, dtype=bool)
        keep[best] = True
    return np.asarray(keep)


def document_limit(share: float, rows: float) -> float:
    """Return a number of texts: a whole number is itself, a fraction the share of all."""
    return float(share) if isinstance(share, (int, np.integer)) else share * rows


def tuple_setting(name: str, given: Any) -> Any:
    """Return a setting of several values as a tuple."""
    if given is None or isinstance(given, tuple):
        return given
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise InvalidSetting(Setting(name, given), " is no list; give its values one by one, such as ['a', 'b'].")
    return tuple(given)


def check_word_settings(family: Words) -> None:
    """Refuse settings of words that do not go together."""
    width, vocabulary, most = family.hash_width, family.vocabulary, family.max_words
    refuse(
        family.bernoulli and (family.complement or family.idf),
        Setting("bernoulli", True, of="Words()"),
        " looks at whether words are there; ",
        Setting("complement" if family.complement else "idf", True),
        " is for how often.",
    )
    times = Setting("times", family.times), " is unknown; give 'all', 'once' or 'log'."
    refuse(family.times not in ("all", "once", "log"), *times)
    for name in ("min_df", "max_df"):
        limit = getattr(family, name)
        whole = isinstance(limit, (int, np.integer)) and not isinstance(limit, bool) and limit >= 0
        refuse(
            not whole and not (isinstance(limit, float) and 0.0 <= limit <= 1.0),
            Setting(name, limit),
            " is neither a number of texts nor a proportion of them; give e.g. 2, or 0.5 for half of them.",
        )
    few = most is not None and (isinstance(most, bool) or not isinstance(most, (int, np.integer)) or most < 1)
    refuse(few, Setting("max_words", most), " is no number of words; give 1 or more.")
    for name in ("preprocessor", "tokenizer"):
        function = getattr(family, name)
        wanted = Setting(name, function), " is no function; give one that takes a text, such as str.split."
        refuse(function is not None and not callable(function), *wanted)
    texts = all(isinstance(word, str) for word in family.stop_words)
    refuse(not texts, Setting("stop_words", list(family.stop_words)), " must be strings.")
    wanted = Setting("hash_width", width), " is no number of columns; give a whole number, such as 2**20."
    refuse(width is not None and not isinstance(width, (int, np.integer)), *wanted)
    refuse(
        family.pairs and width is not None,
        "Columns of a hash have no names by which pairs could be distinguished; give ngram_range=(1, 2) instead.",
    )
    if vocabulary is not None:
        check_vocabulary(family, vocabulary)


def check_vocabulary(family: Words, vocabulary: tuple[str, ...]) -> None:
    """Refuse a vocabulary that holds no words, or does not go with other settings."""
    both = "Give a vocabulary or a hash_width, not both: columns of a hash have no words."
    refuse(family.hash_width is not None, both)
    refuse(family.pairs, "Give a vocabulary with the pairs that count, not ", Setting("pairs", True), ".")
    texts = all(isinstance(word, str) for word in vocabulary) and len(set(vocabulary)) == len(vocabulary)
    refuse(not texts, "vocabulary must be strings, each of them once.")
    empty = "vocabulary holds no words, so texts contribute nothing; leave it out to count all."
    refuse(not vocabulary, empty)


def family_tokens(family: Words) -> Tokens:
    """Return how texts are taken apart."""
    given = {f.name: getattr(family, f.name) for f in fields(Tokens)}
    return Tokens(**given | {"ngram_range": family.ngram_range or (1, 2 if family.pairs else longest_ngram(family))})


def longest_ngram(family: Words) -> int:
    """Return how many words in a row are counted by default: as many as names of a vocabulary have."""
    if family.vocabulary is None or family.unit != "words" or family.tokenizer is not None:
        return 1
    return max(len(name.split(" ")) for name in family.vocabulary)
