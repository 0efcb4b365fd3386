"""Tables as lines of text, for a terminal or a text file."""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import east_asian_width


def aligned_lines(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> list[str]:
    """Return one line per row with aligned columns; the columns in `right` are aligned to the right.

    >>> aligned_lines([("rows", "4"), ("accuracy", "75.0 %")], right=(1,))
    ['rows           4', 'accuracy  75.0 %']
    """
    widths = [max(display_width(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = ([_padded(cell, widths[at], at in right) for at, cell in enumerate(row)] for row in rows)
    return ["  ".join(line).rstrip() for line in lines]


def truncated_line(text: str, width: int) -> str:
    """Return the beginning of a text as one line of at most `width` terminal cells.

    >>> truncated_line("one two  three", 8)
    'one two…'
    """
    line = " ".join(text.split())
    if display_width(line) <= width:
        return line
    while display_width(line) > width - 1:
        line = line[:-1] if len(line) < 2 * width else line[: 2 * width - 1]
    return line + "…"


def display_width(text: str) -> int:
    """Return the number of terminal cells that a text takes: wide characters, such as Chinese ones, take two."""
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)


def _padded(text: str, width: int, right: bool = False) -> str:
    space = " " * (width - display_width(text))
    return space + text if right else text + space
