"""The calibration of one class as a static picture of few bytes; `quality.js` draws the same plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..markup.numbers import number_text
from ..markup.tags import Html, tag

# The picture, and its plane: where it begins, how wide and how high it is.
WIDTH, HEIGHT = 320, 232
LEFT, TOP, WIDE, HIGH = 44, 10, 264, 186
MARKS = (0.0, 0.25, 0.5, 0.75, 1.0)


class CalibrationPoint(NamedTuple):
    """Rows of similar probability: their mean, how many were of the class, and the limits of that proportion."""

    given: float
    found: float
    low: float
    high: float


def calibration_picture(points: Sequence[CalibrationPoint], across: str, up: str, title: str) -> Html:
    """Return the proportion of the class by the probability that it was given, beside the line where both are equal."""
    grid = "".join(f"M{_x(mark)} {TOP}v{HIGH}M{LEFT} {_y(mark)}h{WIDE}" for mark in MARKS)
    marks = [tag("text", number_text(mark), x=_x(mark), y=HIGH + 24) for mark in MARKS]
    marks += [tag("text", across, x=LEFT + WIDE // 2, y=227)]
    marks += [tag("text", up, x=11, y=103, transform="rotate(-90 11 103)")]
    sides = [tag("text", number_text(mark), x=LEFT - 5, y=_y(mark) + 4) for mark in MARKS]
    line = "M" + "L".join(f"{_x(point.given)} {_y(point.found)}" for point in points)
    line += "".join(f"M{_x(point.given)} {_y(point.low)}V{_y(point.high)}" for point in points)
    dots = "".join(f"M{_x(point.given) - 3} {_y(point.found)}a3 3 0 1 0 6 0a3 3 0 1 0-6 0" for point in points)
    return tag(
        "svg",
        tag("path", css="nv-grid", d=grid),
        tag("path", css="nv-dashed", d=f"M{LEFT} {TOP + HIGH}L{LEFT + WIDE} {TOP}"),
        tag("path", css="nv-s0", d=line),
        tag("path", css="nv-c0", d=dots),
        tag("g", marks, css="nv-t", text_anchor="middle"),
        tag("g", sides, css="nv-t", text_anchor="end"),
        css="nv-chart",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=title,
    )


def _x(value: float) -> int:
    return round(LEFT + WIDE * value)


def _y(value: float) -> int:
    return round(TOP + HIGH * (1 - value))
