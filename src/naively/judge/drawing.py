"""Small tables and bars, as text for a terminal and as HTML for a notebook."""

from __future__ import annotations

import html
from collections.abc import Sequence
from math import copysign, isfinite, isnan
from typing import NamedTuple
from unicodedata import east_asian_width

# How many places the longest bar takes; on a page, how many pixels.
LONGEST, PIXELS = 10, 120
# Of a part of the line above.
INDENTED = " style='padding-left:2em'"


class Line(NamedTuple):
    """A line of a picture: what, how much it says (as text and as a share of the longest bar), and why."""

    name: str
    value: str
    lead: str
    share: float
    note: str


def share(lead: float, longest: float) -> float:
    """Return a lead as a share of the longest that is finite."""
    if isfinite(lead):
        return lead / longest if longest else 0.0
    return 0.0 if isnan(lead) else copysign(1.0, lead)


def amount(lead: float) -> str:
    """Return a lead in logarithms, with its sign; nothing where both classes are ruled out."""
    if isfinite(lead):
        return f"{lead:+.3f}"
    return "" if isnan(lead) else "+∞" if lead > 0 else "-∞"


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
        f"<tr><td{INDENTED * line.name.startswith('  ')}>{html.escape(line.name)}</td>"
        f"<td>{html.escape(line.value)}</td>"
        f"<td style='text-align:right'>{html.escape(line.lead)}</td><td>{html_bar(line.share)}</td>"
        f"<td style='text-align:left'>{html.escape(line.note)}</td></tr>"
        for line in lines
    )
    return f"<table><caption style='text-align:left'>{html.escape(title)}</caption>{rows}</table>"


# Colours of what speaks for the answer and against it, the strongest last: as numbers of a terminal, and for a page.
FOR, AGAINST = (195, 153, 111), (230, 223, 215)
PAGE_FOR, PAGE_AGAINST = "42, 157, 143", "231, 111, 81"


def runs(text: str, strengths: Sequence[float]) -> list[tuple[str, float]]:
    """Return pieces of a text, each with how strongly it speaks as a share of the strongest."""
    longest = max((abs(strength) for strength in strengths), default=0.0) or 1.0
    out: list[tuple[str, float]] = []
    for sign, strength in zip(text, strengths, strict=True):
        share = round(strength / longest, 3)
        if out and out[-1][1] == share:
            out[-1] = (out[-1][0] + sign, share)
        else:
            out.append((sign, share))
    return out


def painted(text: str, strengths: Sequence[float]) -> str:
    """Return a text for a terminal, its signs coloured by how strongly they speak, and for whom."""
    parts = []
    for piece, share in runs(text, strengths):
        level = min(int(abs(share) * 3), 2)
        colour = (FOR if share > 0 else AGAINST)[level]
        parts.append(f"\x1b[30;48;5;{colour}m{piece}\x1b[0m" if abs(share) >= 0.05 else piece)
    return "".join(parts)


def html_painted(text: str, strengths: Sequence[float]) -> str:
    """Return the same as HTML."""
    parts = []
    for piece, share in runs(text, strengths):
        colour = PAGE_FOR if share > 0 else PAGE_AGAINST
        told = html.escape(piece)
        style = f"background:rgba({colour}, {abs(share):.2f})"
        parts.append(f"<span style='{style}'>{told}</span>" if abs(share) >= 0.05 else told)
    return f"<p style='white-space:pre-wrap;text-align:left'>{''.join(parts)}</p>"


def shortened(text: str, most: int) -> str:
    """Return the beginning of a text in one line."""
    line = " ".join(text.split())
    if places(line) <= most:
        return line
    while places(line) > most - 1:
        line = line[:-1] if len(line) < 2 * most else line[: 2 * most - 1]
    return line + "…"


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
