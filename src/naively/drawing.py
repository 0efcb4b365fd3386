"""Small tables and bars, as text for a terminal and as HTML for a notebook."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import NamedTuple
from unicodedata import east_asian_width

# How many places the longest bar takes; on a page, how many pixels.
LONGEST, PIXELS = 10, 120


class Line(NamedTuple):
    """A line of a picture: what, how much it says (as text and as a share of the longest bar), and why."""

    name: str
    value: str
    lead: str
    share: float
    note: str


def text_picture(title: str, lines: Sequence[Line]) -> str:
    """Return lines with bars as text: to the right of the middle for the answer, to the left against it."""
    rows = [(line.name, line.value, line.lead, text_bar(line.share), line.note) for line in lines]
    return "\n".join([title, *aligned(rows, right=(2,))])


def text_bar(share: float) -> str:
    """Return a bar between -1 and 1."""
    length = round(abs(share) * LONGEST)
    left, right = ("█" * length, "") if share < 0 else ("", "█" * length)
    return f"{left:>{LONGEST}}│{right:<{LONGEST}}"


def html_picture(title: str, lines: Sequence[Line]) -> str:
    """Return lines with bars as a table of HTML that needs nothing else; whatever people wrote is escaped."""
    rows = "".join(
        f"<tr><td>{html.escape(line.name)}</td><td>{html.escape(line.value)}</td>"
        f"<td style='text-align:right'>{html.escape(line.lead)}</td><td>{html_bar(line.share)}</td>"
        f"<td style='text-align:left'>{html.escape(line.note)}</td></tr>"
        for line in lines
    )
    return f"<table><caption style='text-align:left'>{html.escape(title)}</caption>{rows}</table>"


def html_bar(share: float) -> str:
    """Return a bar between -1 and 1, in colours that can be seen on light and on dark."""
    colour, start = ("#2a9d8f", PIXELS) if share >= 0 else ("#e76f51", PIXELS * (1 + share))
    return (
        f"<div style='width:{2 * PIXELS}px'><div style='margin-left:{start:.0f}px;width:{abs(share) * PIXELS:.0f}px;"
        f"height:0.8em;background:{colour}'></div></div>"
    )


def aligned(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> list[str]:
    """Return rows of cells as lines whose columns stand below each other, some of them to the right."""
    widths = [max(places(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = ([filled(cell, widths[at], at in right) for at, cell in enumerate(row)] for row in rows)
    return ["  ".join(line).rstrip() for line in lines]


def filled(text: str, width: int, right: bool = False) -> str:
    """Return a text filled up to so many places."""
    space = " " * (width - places(text))
    return space + text if right else text + space


def places(text: str) -> int:
    """Return how many places a text takes on a terminal: Chinese characters take two."""
    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text)
