"""What a token is: the settings of the tokenizer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from numbers import Integral
from typing import Literal, NoReturn

from .. import _kernels
from .._types import Json, JsonObject
from ..errors import InvalidInput, InvalidSetting
from ..errors.message import Setting

Unit = Literal["words", "characters", "inside"]
MOST_IN_A_ROW = 256
WIDEST = 2**30 - 1


@dataclass(frozen=True)
class Tokens:
    r"""How a text becomes tokens, as a value.

    By default as ``str.lower`` and the pattern ``\w\w+`` of Python have it, but a run of Chinese or Japanese
    characters (ideographs, hiragana, katakana) becomes its characters and its pairs of neighbors, since no spaces show
    where its words end. Korean is written with spaces and stays in words. Models of texts use ``rules="unicode"``.

    Parameters
    ----------
    unit : "words", "characters" or "inside"
        Words, characters in a row, or characters in a row that do not cross the end of a word.
    ngram_range : pair of int
        The fewest and the most words (or characters) that make one token together.
    lowercase : bool
        Whether letters are made small first.
    cjk : "pairs" or "words"
        What becomes of a run of Chinese or Japanese characters; as "words", it stays whole.
    marks : bool
        Whether marks that are written with a letter are part of the word, as vowels of Hindi are; always so with
        ``rules="unicode"``.
    rules : "python" or "unicode"
        "python": letters, digits and underscores make words, as in the pattern above. "unicode": combining marks, and
        joiners between letters, belong to their word, as in UAX #29; an emoji is one token, be it joined of several,
        with a skin tone, a flag or a key; and Thai, Lao, Khmer, Burmese and other scripts of South East Asia that put
        no spaces between words become clusters (a letter and its marks) and pairs of them, if ``cjk`` is "pairs".
        Variation selectors, which choose how a sign is drawn, are left out. Texts without marks and emoji give the
        same tokens either way.
    stop_words : tuple of str
        Words that are passed over.
    hash_width : int, optional
        So many columns, one of which each token gets by its hash, instead of a growing list of words.
    preprocessor, tokenizer : callable, optional
        Functions of a string that are called first, and instead of all rules above but ``ngram_range`` and
        ``lowercase``.
    """

    unit: Unit = "words"
    ngram_range: tuple[int, int] = (1, 1)
    lowercase: bool = True
    cjk: Literal["pairs", "words"] = "pairs"
    marks: bool = False
    rules: Literal["python", "unicode"] = "python"
    stop_words: tuple[str, ...] = ()
    hash_width: int | None = None
    preprocessor: Callable[[str], str] | None = None
    tokenizer: Callable[[str], Iterable[str]] | None = None

    def __post_init__(self) -> None:
        for name, known, advice in (
            ("unit", ("words", "characters", "inside"), "'words', 'characters' or 'inside'"),
            ("cjk", ("pairs", "words"), "'pairs' or 'words'"),
            ("rules", ("python", "unicode"), "'python' or 'unicode'"),
        ):
            if getattr(self, name) not in known:
                raise InvalidSetting(Setting(name, getattr(self, name)), f" is not known; give {advice}.")
        check_ngrams(self.ngram_range)
        width = self.hash_width
        whole = isinstance(width, Integral) and not isinstance(width, bool)
        if width is not None and not (whole and 1 <= width <= WIDEST):
            raise InvalidSetting(
                Setting("hash_width", width), f" is no number of columns; give one of 1 … {WIDEST:,}, such as 2**20."
            )
        if self.unit != "words" and (self.stop_words or self.tokenizer is not None):
            what = "stop_words are" if self.stop_words else "tokenizer finds"
            raise InvalidSetting(f"{what} words, but the unit is {self.unit!r}; give one of the two.")

    @property
    def in_parts(self) -> bool:
        """Whether the name of a token may be several words with spaces between them."""
        return self.unit == "words" and self.ngram_range[1] > 1 and self.tokenizer is None

    @property
    def calls(self) -> bool:
        """Whether functions of Python take part, which may fail at any row."""
        return self.preprocessor is not None or self.tokenizer is not None

    def reader(self) -> _kernels.TokenReader:
        """Return a compiled reader that knows no word yet."""
        least, most = self.ngram_range
        pairs, width = self.cjk == "pairs", self.hash_width or 0
        manner = (self.unit, bool(self.lowercase), bool(self.marks), pairs, least, most, width)
        return _kernels.TokenReader(*manner, self.rules == "unicode")

    def to_json(self) -> JsonObject:
        """Return what differs from the usual as plain data; of a function its name."""
        return {f.name: setting_to_json(own) for f in fields(self) if (own := getattr(self, f.name)) != f.default}

    @classmethod
    def from_json(cls, data: JsonObject) -> Tokens:
        """Return what to_json described."""
        return cls(**{name: setting_from_json(name, value) for name, value in data.items()})


@dataclass(frozen=True)
class UnsavedFunction:
    """Stands for a function that a file cannot hold."""

    setting: str
    name: str

    def __call__(self, text: str) -> NoReturn:
        """Refuse to be called."""
        raise InvalidInput(
            f"This model splits texts by the function {self.name!r}, and a file cannot hold a function. Give it "
            f"again: naively.load(path, {self.setting}=…)."
        )


def setting_to_json(value: object) -> Json:
    """Return a setting as plain data."""
    if isinstance(value, UnsavedFunction):
        return {"function": value.name}
    if callable(value):
        module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", repr(value))
        return {"function": f"{module}.{name}" if module else name}
    return list(value) if isinstance(value, tuple) else value


def setting_from_json(name: str, value: Json) -> Json:
    """Return the setting that setting_to_json described."""
    if isinstance(value, dict):
        return UnsavedFunction(name, str(value["function"]))
    return tuple(value) if isinstance(value, list) else value


def check_ngrams(ngram_range: tuple[int, int]) -> None:
    """Refuse what is no range of numbers of words."""
    try:
        least, most = ngram_range
        good = int(least) == least and int(most) == most and 1 <= least <= most <= MOST_IN_A_ROW
    except (TypeError, ValueError):
        good = False
    if not good:
        raise InvalidSetting(
            Setting("ngram_range", ngram_range),
            f" is no range; give the fewest and the most words in a row, such as (1, 2), up to {MOST_IN_A_ROW}.",
        )
