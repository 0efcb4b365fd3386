"""Bar charts and highlighted texts: as text for a terminal and as HTML for a notebook."""

from __future__ import annotations

import html
from collections.abc import Sequence
from math import copysign, isfinite, isnan
from typing import NamedTuple

from ..judge.text_table import aligned_lines

# Length of the longest bar: in terminal cells, and in pixels.
LONGEST, PIXELS = 10, 120
# Style of a line that details the line above it.
INDENTED = " style='padding-left:2em'"
# Background colors of text for and against the answer, the strongest last: as terminal colors, and as RGB.
FOR, AGAINST = (195, 153, 111), (230, 223, 215)
HTML_FOR, HTML_AGAINST = "42, 157, 143", "231, 111, 81"
# Characters whose contribution is below this proportion of the largest are not colored.
FAINT = 0.05


class ChartLine(NamedTuple):
    """A line of a bar chart: a name, its value, its contribution to the log-odds, the length of its bar, and a note.

    The length is between -1 and 1, a proportion of the longest bar.
    """

    name: str
    value: str
    contribution: str
    length: float
    note: str


def bar_length(contribution: float, longest: float) -> float:
    """Return the length of the bar of a contribution, given the largest finite one."""
    if isfinite(contribution):
        return contribution / longest if longest else 0.0
    return 0.0 if isnan(contribution) else copysign(1.0, contribution)


def signed_log_odds(contribution: float) -> str:
    """Return a contribution to the log-odds with its sign; an empty text where both classes are ruled out."""
    if isfinite(contribution):
        return f"{contribution:+.3f}"
    return "" if isnan(contribution) else "+∞" if contribution > 0 else "-∞"


def text_bar_chart(title: str, lines: Sequence[ChartLine]) -> str:
    """Return a bar chart as text: bars to the right are for the answer, bars to the left against it."""
    rows = [(line.name, line.value, line.contribution, _text_bar(line.length), line.note) for line in lines]
    return "\n".join([title, *aligned_lines(rows, right=(2,))])


def html_bar_chart(title: str, lines: Sequence[ChartLine]) -> str:
    """Return a bar chart as an HTML table without scripts or style sheets; texts of the data are escaped."""
    rows = "".join(
        f"<tr><td{INDENTED * line.name.startswith('  ')}>{html.escape(line.name)}</td>"
        f"<td>{html.escape(line.value)}</td>"
        f"<td style='text-align:right'>{html.escape(line.contribution)}</td><td>{_html_bar(line.length)}</td>"
        f"<td style='text-align:left'>{html.escape(line.note)}</td></tr>"
        for line in lines
    )
    return f"<table><caption style='text-align:left'>{html.escape(title)}</caption>{rows}</table>"


def highlighted_text(text: str, contributions: Sequence[float]) -> str:
    """Return a text for a terminal, colored by the contribution of each character to the log-odds."""
    parts = []
    for piece, strength in _equal_spans(text, contributions):
        level = min(int(abs(strength) * 3), 2)
        color = (FOR if strength > 0 else AGAINST)[level]
        parts.append(f"\x1b[30;48;5;{color}m{piece}\x1b[0m" if abs(strength) >= FAINT else piece)
    return "".join(parts)


def highlighted_html(text: str, contributions: Sequence[float]) -> str:
    """Return a text as HTML, colored by the contribution of each character to the log-odds."""
    parts = []
    for piece, strength in _equal_spans(text, contributions):
        color = HTML_FOR if strength > 0 else HTML_AGAINST
        escaped = html.escape(piece)
        style = f"background:rgba({color}, {abs(strength):.2f})"
        parts.append(f"<span style='{style}'>{escaped}</span>" if abs(strength) >= FAINT else escaped)
    return f"<p style='white-space:pre-wrap;text-align:left'>{''.join(parts)}</p>"


def _text_bar(length: float) -> str:
    cells = round(abs(length) * LONGEST)
    left, right = ("█" * cells, "") if length < 0 else ("", "█" * cells)
    return f"{left:>{LONGEST}}│{right:<{LONGEST}}"


def _html_bar(length: float) -> str:
    """Return a bar in colors that are visible on light and on dark backgrounds."""
    color, start = ("#2a9d8f", PIXELS) if length >= 0 else ("#e76f51", PIXELS * (1 + length))
    return (
        f"<div style='width:{2 * PIXELS}px'><div style='margin-left:{start:.0f}px;width:{abs(length) * PIXELS:.0f}px;"
        f"height:0.8em;background:{color}'></div></div>"
    )


def _equal_spans(text: str, contributions: Sequence[float]) -> list[tuple[str, float]]:
    """Return the longest pieces of equal contribution, each with its contribution as a proportion of the largest."""
    longest = max((abs(contribution) for contribution in contributions), default=0.0) or 1.0
    spans: list[tuple[str, float]] = []
    for character, contribution in zip(text, contributions, strict=True):
        strength = round(contribution / longest, 3)
        if spans and spans[-1][1] == strength:
            spans[-1] = (spans[-1][0] + character, strength)
        else:
            spans.append((character, strength))
    return spans
