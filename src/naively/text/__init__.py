"""From texts to numbers of words: what a token is, where texts come from, and who reads them."""

from .reader import TextReader, Token
from .rows import TextRows
from .tokens import Tokens

__all__ = ["TextReader", "TextRows", "Token", "Tokens"]
