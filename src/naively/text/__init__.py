"""From texts to numbers of words.

In: columns of texts in whatever they come, and `Tokens`, which say what a token is. Out: numbers of tokens, their sums
by class and their scores, from a `TextReader`; `TextRows` are texts that are read when it is known what for. It may
import the kernels, `errors` and threads.
"""

from typing import TYPE_CHECKING

from .tokens import Tokens

if TYPE_CHECKING:
    from .reader import TextReader, TextRows, Token

__all__ = ["TextReader", "TextRows", "Token", "Tokens"]


def __getattr__(name: str) -> object:
    """Return what reads texts, on first use: it imports PyArrow, which families of words do without."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import reader

    return getattr(reader, name)
