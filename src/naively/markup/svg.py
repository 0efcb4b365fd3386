"""Small pictures as SVG: bars in cells, distributions by class, and the frame of charts with axes.

Colors come from classes of the style sheet (`markup.style`): ``nv-c0`` to ``nv-c7`` fill with the colors of the classes
and ``nv-s0`` to ``nv-s7`` draw lines with them; ``nv-for`` and ``nv-against`` fill contributions. Pictures have no ids,
so that a document may hold the same one twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import isfinite

from .palette import COLORS
from .tags import Html, tag

# Units of the small pictures in cells, which the style sheet stretches to the width of their cell.
CELL_WIDTH, CELL_HEIGHT = 200.0, 14.0
# Heights of pictures in cells that the style sheet knows: bars of information, of contributions, distributions.
FIXED_HEIGHTS = (6.0, CELL_HEIGHT, 36.0)
# The least visible width of a bar that is not zero.
THINNEST = 1.0


def picture(width: float, height: float, *body: Html, title: str = "", css: str = "nv-chart") -> Html:
    """Return a picture with its shapes; without a title it is decoration that a screen reader leaves out."""
    spoken: dict[str, str] = {"role": "img", "aria_label": title} if title else {"aria_hidden": "true"}
    return tag("svg", *body, css=css, viewBox=f"0 0 {width:g} {height:g}", width=width, height=height, **spoken)


def cell_picture(*body: Html, height: float = CELL_HEIGHT, title: str = "") -> Html:
    """Return a picture that is as wide as its cell: shapes are stretched, so it may hold no text."""
    spoken: dict[str, str] = {"role": "img", "aria_label": title} if title else {"aria_hidden": "true"}
    box = f"0 0 {CELL_WIDTH:g} {height:g}"
    # Notebooks set the height of every picture to auto, which a class outweighs and an attribute does not.
    css = f"nv-bar nv-h{height:g}" if height in FIXED_HEIGHTS else "nv-bar"
    return tag("svg", *body, css=css, viewBox=box, preserveAspectRatio="none", height=height, **spoken)


def fill_class(k: int) -> str:
    """Return the class of the style sheet that fills with the color of class k."""
    return f"nv-c{k % COLORS}"


def stroke_class(k: int) -> str:
    """Return the class of the style sheet that draws lines in the color of class k."""
    return f"nv-s{k % COLORS}"


def share_bar(share: float, k: int = 0, title: str = "") -> Html:
    """Return a bar for a proportion between 0 and 1, in the color of class k."""
    width = _visible(share * CELL_WIDTH)
    return cell_picture(
        tag("rect", css="nv-track", width=CELL_WIDTH, height=CELL_HEIGHT),
        tag("rect", css=fill_class(k), width=width, height=CELL_HEIGHT),
        title=title,
    )


def stacked_bar(shares: Sequence[float], title: str = "") -> Html:
    """Return the proportions of the classes beside each other; they are divided by their sum."""
    total, start, parts = sum(shares) or 1.0, 0.0, []
    for k, share in enumerate(shares):
        width = share / total * CELL_WIDTH
        if width > 0:
            parts.append(tag("rect", css=fill_class(k), x=start, width=width, height=CELL_HEIGHT))
        start += width
    return cell_picture(*parts, title=title)


def signed_bar(value: float, longest: float, title: str = "") -> Html:
    """Return a bar to the right of a zero line for a positive value, to its left for a negative one.

    >>> signed_bar(-1.0, 2.0).count("nv-against")
    1
    """
    return span_bar(0.0, value, -longest, longest, title)


def span_bar(start: float, end: float, low: float, high: float, title: str = "") -> Html:
    """Return a bar from one value to another on an axis from low to high, with a line at zero: a step of a waterfall.

    Infinite values end at the border.
    """
    width = (high - low) or 1.0
    at = [CELL_WIDTH * min(max((value - low) / width, 0.0), 1.0) for value in (start, end)]
    left, size = min(at), abs(at[1] - at[0])
    shown = _visible(size) if end != start else 0.0
    bar = tag("rect", css="nv-for" if end >= start else "nv-against", x=left, y=1, width=shown, height=CELL_HEIGHT - 2)
    zero = CELL_WIDTH * min(max(-low / width, 0.0), 1.0)
    line = tag("line", css="nv-zero", x1=zero, x2=zero, y1=0, y2=CELL_HEIGHT)
    return cell_picture(bar, line, title=title)


def grouped_bars(shares: Sequence[Sequence[float]], title: str = "", height: float = 36.0) -> Html:
    """Return a group of thin bars for each value, one bar for each class: the proportion of the class's rows.

    Parameters
    ----------
    shares : sequence of sequence of float
        The proportions [class][value]; an empty line for a class that is not drawn.
    title : str
        What a screen reader says.
    height : float
        The height of the highest bar.
    """
    lines = [(k, line) for k, line in enumerate(shares) if line]
    top = max((share for _, line in lines for share in line), default=0.0) or 1.0
    step = CELL_WIDTH / max((len(line) for _, line in lines), default=1)
    width = step * 0.84 / max(len(lines), 1)
    parts = []
    for place, (k, line) in enumerate(lines):
        drawn = []
        for at, share in enumerate(line):
            tall = _visible(height * share / top)
            if tall > 0:
                drawn.append(_box(at * step + 0.08 * step + place * width, height - tall, width, tall))
        parts.append(tag("path", css=fill_class(k), d="".join(drawn)))
    return cell_picture(*parts, _floor(height), height=height, title=title)


def step_histogram(
    edges: Sequence[float], shares: Sequence[Sequence[float]], title: str = "", height: float = 36.0
) -> Html:
    """Return a histogram for each class as a stepped line: the height is the proportion divided by the bin's width.

    Parameters
    ----------
    edges : sequence of float
        The borders of the bins, increasing and finite; one more than there are bins.
    shares : sequence of sequence of float
        The proportions [class][bin]; an empty line for a class that is not drawn.
    title : str
        What a screen reader says.
    height : float
        The height of the highest step.
    """
    span = (edges[-1] - edges[0]) or 1.0
    at = [CELL_WIDTH * (edge - edges[0]) / span for edge in edges]
    # The density of a bin of next to no width, as of a single value, would flatten all others.
    widths = [max(right - left, CELL_WIDTH / 60) for left, right in pairwise(at)]
    dense = [[share / width for share, width in zip(line, widths, strict=True)] if line else [] for line in shares]
    top = max((value for line in dense for value in line), default=0.0) or 1.0
    parts = []
    for k, line in enumerate(dense):
        if not line:
            continue
        steps = [
            f"V{_n(height - (height - 1) * value / top)}H{_n(right)}" for right, value in zip(at[1:], line, strict=True)
        ]
        parts.append(_outline(k, f"M{_n(at[0])} {_n(height)}{''.join(steps)}V{_n(height)}"))
    return cell_picture(*parts, _floor(height), height=height, title=title)


def curves(heights: Sequence[Sequence[float]], title: str = "", height: float = 36.0) -> Html:
    """Return a curve for each class through values [class][place] at equal distances; none for an empty line."""
    top = max((value for line in heights for value in line if isfinite(value)), default=0.0) or 1.0
    parts = []
    for k, line in enumerate(heights):
        if not line:
            continue
        step = CELL_WIDTH / max(len(line) - 1, 1)
        points = [f"{_n(at * step)} {_n(height - (height - 1) * value / top)}" for at, value in enumerate(line)]
        parts.append(_outline(k, f"M0 {_n(height)}L{'L'.join(points)}L{_n(CELL_WIDTH)} {_n(height)}"))
    return cell_picture(*parts, _floor(height), height=height, title=title)


def swatch(k: int) -> Html:
    """Return a small square in the color of class k, for legends."""
    square = tag("rect", css=fill_class(k), width=10, height=10, rx=2)
    return tag("svg", square, css="nv-swatch", viewBox="0 0 10 10", width=10, height=10, aria_hidden="true")


def _outline(k: int, path: str) -> Html:
    return tag("path", css=f"{stroke_class(k)} nv-wash{k % COLORS}", d=path)


def _box(x: float, y: float, width: float, height: float) -> str:
    return f"M{_n(x)} {_n(y)}h{_n(width)}v{_n(height)}h{_n(-width)}z"


def _floor(height: float) -> Html:
    return tag("line", css="nv-zero", x1=0, x2=CELL_WIDTH, y1=height, y2=height)


def _visible(size: float) -> float:
    """Return the length of a bar, which is not too thin to be seen unless it is zero."""
    return max(size, THINNEST) if size > 0 else 0.0


def _n(value: float) -> str:
    return f"{round(value, 1):g}"
