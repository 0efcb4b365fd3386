"""Texts made of parts, which Python and the command line write differently.

A `Message` is the text that Python shows. Its `parts` are plain text, and values: the number of a row, a setting,
columns to ignore. The command line writes these values in its own way and leaves the plain text as it is; no code
searches a finished text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from types import EllipsisType
from typing import TYPE_CHECKING, NoReturn, Self

if TYPE_CHECKING:
    from .._types import Json


@dataclass(frozen=True)
class MessagePart:
    """A value within a message; `str` writes it as in Python."""

    def __format__(self, spec: str) -> NoReturn:
        raise TypeError(f"{type(self).__name__} within an f-string would lose its value; pass it as a part of its own.")


@dataclass(frozen=True)
class RowNumber(MessagePart):
    """A row, counted from 0, of a table or of a file; Python counts from 0 and the command line from 1."""

    row: int
    path: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "row", int(self.row))  # also NumPy's integers

    def __str__(self) -> str:
        return f"row {self.row}" if self.path is None else f"{self.path}, row {self.row}"


@dataclass(frozen=True)
class Setting(MessagePart):
    """A setting, such as ``limit=3``, maybe of a call such as ``nv.File(...)``; without a value, its name."""

    name: str
    value: object | EllipsisType = ...
    of: str = ""
    more: bool = False  # whether a list or dict is longer than shown

    @property
    def given(self) -> object:
        """The value, None if there is none."""
        return None if self.value is ... else self.value

    def __str__(self) -> str:
        if self.value is ...:
            return self.name
        value = repr(self.value)
        if self.more:
            value = f"{value[:-1]}, …{value[-1]}"
        call, comma = self.of.removesuffix(")"), "" if self.of.endswith("()") else ", "
        return f"{call}{comma}{self.name}={value})" if self.of else f"{self.name}={value}"


@dataclass(frozen=True)
class IgnoredColumns(MessagePart):
    """Columns that a fit should ignore."""

    names: Sequence[str]
    more: bool = False

    def __str__(self) -> str:
        return f"columns=[...] without {', '.join(map(repr, self.names))}{', …' * self.more}"


@dataclass(frozen=True)
class MissingTexts(MessagePart):
    """Texts that should be read as missing values, in addition to the default ones."""

    texts: Sequence[str]
    more: bool = False

    def __str__(self) -> str:
        return f"nv.File(..., null=[..., {', '.join(map(repr, self.texts))}{', …' * self.more}])"


@dataclass(frozen=True)
class PythonOnly(MessagePart):
    """Advice for Python only."""

    text: str

    def __str__(self) -> str:
        return self.text


class Code(str):
    """A Python expression as the value of a setting: it is shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


# Stands for a value that users choose.
ANY_VALUE = Code("…")
# The family of a column whose levels are to be named.
OPEN_LEVELS = Code("nv.Ordinal(levels=[…])")
KINDS: Mapping[str, type[MessagePart]] = {
    kind.__name__: kind for kind in (RowNumber, Setting, IgnoredColumns, MissingTexts, PythonOnly)
}


class Message(str):
    """The text that Python shows, with its parts.

    Parameters
    ----------
    *parts : str, MessagePart or Message
        The parts of the text, in order; those of messages among them are inserted.

    Examples
    --------
    >>> message = Message(RowNumber(3), " has no label; set ", Setting("unlabelled", "skip"), ".")
    >>> print(message)
    Row 3 has no label; set unlabelled='skip'.
    """

    parts: tuple[str | MessagePart, ...]

    def __new__(cls, *parts: str | MessagePart) -> Self:
        """Compose the text."""
        flat = tuple(inner for part in parts for inner in (part.parts if isinstance(part, Message) else (part,)))
        text = "".join(map(str, flat))
        if flat and isinstance(flat[0], RowNumber) and flat[0].path is None:
            text = text[0].upper() + text[1:]
        self = super().__new__(cls, text)
        self.parts = flat
        return self

    def with_place(self, begin: int, path: str | None = None) -> Message:
        """Return the same message with rows counted from `begin`, in a file if its path is given."""
        parts = [replace(part, row=part.row + begin) if isinstance(part, RowNumber) else part for part in self.parts]
        if path is not None:
            if parts and isinstance(parts[0], RowNumber):
                parts[0] = replace(parts[0], path=path)
            else:
                parts.insert(0, f"{path}: ")
        return Message(*parts)

    def to_json(self) -> Json:
        """Return the message for JSON: its text, or a list of its parts if it has others than text."""
        if all(isinstance(part, str) for part in self.parts):
            return str(self)
        return [part if isinstance(part, str) else _fields_of(part) for part in self.parts]

    @classmethod
    def from_json(cls, data: Json) -> Message:
        """Return the message from the result of `to_json`."""
        if isinstance(data, str):
            return cls(data)
        return cls(*(part if isinstance(part, str) else _part_of(dict(part)) for part in data))

    def __reduce__(self) -> tuple[type[Message], tuple[str | MessagePart, ...]]:
        return type(self), self.parts


def _fields_of(part: MessagePart) -> dict[str, Json]:
    fields = {name: value for name, value in asdict(part).items() if value is not ...}
    return {"kind": type(part).__name__, **fields}


def _part_of(fields: dict[str, Json]) -> MessagePart:
    if fields.get("value") == ANY_VALUE:  # JSON knows no expressions
        fields["value"] = ANY_VALUE
    return KINDS[fields.pop("kind")](**fields)
