"""From texts to numbers of words.

In: columns of texts in whatever they come, and `Tokens`, which say what a token is. Out: numbers of tokens, their sums
by class and their scores, from a `TextReader`; `TextRows` are texts that are read when it is known what for. It may
import the kernels, `errors` and threads.
"""

from .reader import TextReader, TextRows, Token
from .tokens import Tokens

__all__ = ["TextReader", "TextRows", "Token", "Tokens"]
