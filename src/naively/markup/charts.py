"""Charts with axes as SVG: lines with points and intervals, the reliability diagram, the waterfall."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .numbers import number_text, signed
from .svg import fill_class, picture, stroke_class
from .tags import Html, tag

# The plane of a square chart within its picture: its left, top, width and height.
LEFT, TOP, SIDE = 40.0, 8.0, 220.0
WIDTH, HEIGHT = 270.0, 268.0
# Heights of the lines of a waterfall, and where its bars begin and end.
STEP, NAMES, STEPS_WIDTH = 22.0, 150.0, 520.0


class ChartPoint(NamedTuple):
    """A point of a line with the ends of its interval, and how large it is drawn (0 to 1)."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    size: float = 0.3


class ChartAxis(NamedTuple):
    """An axis: its title, its ends, and the values that have a mark."""

    title: str
    low: float = 0.0
    high: float = 1.0
    marks: Sequence[float] = (0.0, 0.25, 0.5, 0.75, 1.0)

    def share(self, value: float) -> float:
        """Return where a value lies, as a proportion of the axis."""
        return min(max((value - self.low) / ((self.high - self.low) or 1.0), 0.0), 1.0)


class WaterfallStep(NamedTuple):
    """A step of a waterfall: what contributes, and how much."""

    name: str
    value: float


def line_chart(
    lines: Sequence[Sequence[ChartPoint]], across: ChartAxis, up: ChartAxis, title: str, diagonal: bool = False
) -> Html:
    """Return lines with their points and intervals over two axes, each in the color of its place.

    Parameters
    ----------
    lines : sequence of sequence of ChartPoint
        The lines; a point of size 0 is not drawn.
    across, up : ChartAxis
        The axes.
    title : str
        What a screen reader says.
    diagonal : bool
        Whether a dashed line shows where both are equal.
    """
    body = [*_axes(across, up)]
    if diagonal:
        body.append(tag("line", css="nv-dashed", x1=LEFT, y1=TOP + SIDE, x2=LEFT + SIDE, y2=TOP))
    for k, points in enumerate(lines):
        body += _line(k, points, across, up)
    return picture(WIDTH, HEIGHT, *body, title=title)


def reliability_diagram(points: Sequence[ChartPoint], title: str = "Reliability diagram") -> Html:
    """Return the accuracy of answers by their probability, beside the diagonal of calibrated ones."""
    across, up = ChartAxis("probability of the answer"), ChartAxis("accuracy")
    return line_chart([points], across, up, title, diagonal=True)


def waterfall(steps: Sequence[WaterfallStep], title: str) -> Html:
    """Return steps from zero to their sum, each bar from where the last one ended; infinite steps end at the border.

    Parameters
    ----------
    steps : sequence of WaterfallStep
        The steps in their order.
    title : str
        What a screen reader says.
    """
    totals = [0.0]
    for step in steps:
        totals.append(totals[-1] + step.value)
    finite = [total for total in totals if abs(total) < float("inf")]
    low, high = min(finite), max(finite)
    axis = ChartAxis("", low - 0.05 * (high - low), high + 0.05 * (high - low))
    room = STEPS_WIDTH - NAMES - 70

    def x(value: float) -> float:
        return NAMES + room * axis.share(value)

    height, body = STEP * (len(steps) + 1), []
    for at, (step, start, end) in enumerate(zip(steps, totals, totals[1:], strict=False)):
        begin, stop = sorted((x(start), x(end)))
        css = "nv-for" if step.value >= 0 else "nv-against"
        body.append(_text(NAMES - 8, at * STEP + 15, step.name, "end"))
        body.append(tag("rect", css=css, x=begin, y=at * STEP + 4, width=max(stop - begin, 1.0), height=STEP - 8))
        body.append(_text(STEPS_WIDTH - 4, at * STEP + 15, signed(step.value), "end"))
        body.append(tag("line", css="nv-grid", x1=x(end), x2=x(end), y1=at * STEP + 4, y2=(at + 2) * STEP - 4))
    last = len(steps) * STEP
    body.append(_text(NAMES - 8, last + 15, "sum", "end"))
    body.append(_text(STEPS_WIDTH - 4, last + 15, signed(totals[-1]), "end"))
    body.append(tag("line", css="nv-zero", x1=x(0), x2=x(0), y1=0, y2=height))
    return picture(STEPS_WIDTH, height, *body, title=title)


def _axes(across: ChartAxis, up: ChartAxis) -> list[Html]:
    bottom, right = TOP + SIDE, LEFT + SIDE
    parts = []
    for value in across.marks:
        x = LEFT + SIDE * across.share(value)
        parts.append(tag("line", css="nv-grid", x1=x, x2=x, y1=TOP, y2=bottom))
        parts.append(_text(x, bottom + 14, number_text(value), "middle"))
    for value in up.marks:
        y = bottom - SIDE * up.share(value)
        parts.append(tag("line", css="nv-grid", x1=LEFT, x2=right, y1=y, y2=y))
        parts.append(_text(LEFT - 5, y + 4, number_text(value), "end"))
    parts.append(_text(LEFT + SIDE / 2, bottom + 32, across.title, "middle"))
    middle = TOP + SIDE / 2
    turned = f"rotate(-90 9 {middle:g})"
    parts.append(tag("text", up.title, css="nv-t", x=9, y=middle, text_anchor="middle", transform=turned))
    return parts


def _line(k: int, points: Sequence[ChartPoint], across: ChartAxis, up: ChartAxis) -> list[Html]:
    def place(x: float, y: float) -> tuple[float, float]:
        return LEFT + SIDE * across.share(x), TOP + SIDE * (1 - up.share(y))

    parts = []
    if len(points) > 1:
        ends = " ".join("{:.1f},{:.1f}".format(*place(point.x, point.y)) for point in points)
        parts.append(tag("polyline", css=stroke_class(k), points=ends))
    for point in points:
        x, y = place(point.x, point.y)
        if point.low is not None and point.high is not None:
            (_, bottom), (_, top) = place(point.x, point.low), place(point.x, point.high)
            parts.append(tag("line", css=stroke_class(k), x1=x, x2=x, y1=bottom, y2=top))
        if point.size > 0:
            parts.append(tag("circle", css=fill_class(k), cx=x, cy=y, r=2 + 4 * point.size))
    return parts


def _text(x: float, y: float, text: str, anchor: str) -> Html:
    return tag("text", text, css="nv-t", x=x, y=y, text_anchor=anchor)
