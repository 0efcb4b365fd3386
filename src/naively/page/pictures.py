"""Static pictures as SVG: bars in the cells of tables, the distribution of a column in each class, calibration.

Colors come from classes of the style sheet: ``nv-c0`` to ``nv-c7`` fill with the color of a class, ``nv-s0`` to
``nv-s7`` draw lines in it and ``q-k0`` to ``q-k7`` areas. Pictures have no ids, so a document may hold the same one
twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import exp, floor, log10, pi, sqrt
from typing import NamedTuple

from .._types import JsonObject
from .numbers import count_text, date_text, number_text
from .style import COLORS
from .tags import Html, joined, tag

# Units of bars in cells, which the style sheet stretches to the width of their cell; the least visible width.
CELL_WIDTH, CELL_HEIGHT, THINNEST = 200.0, 14.0, 1.0
# Of a distribution: its width, the height of the plane of a histogram, and the room for names of values.
WIDTH, PLANE, NAMES = 340.0, 84.0, 112.0
# Points of a normal density, and how many standard deviations it is drawn to either side.
CURVE_POINTS, CURVE_WIDTH = 60, 3.2
# Of more classes, bars are thin and without numbers.
FEW_CLASSES = 4
DAY = 86400.0  # seconds
# Of the calibration: the picture, its plane (where it begins, its width and height), and the marks of both axes.
CHART_WIDTH, CHART_HEIGHT = 320, 232
LEFT, TOP, WIDE, HIGH = 44, 10, 264, 186
MARKS = (0.0, 0.25, 0.5, 0.75, 1.0)


# -- bars in cells -----------------------------------------------------------------------------------------------------


def fill_class(k: int) -> str:
    """Return the class of the style sheet that fills with the color of class k."""
    return f"nv-c{k % COLORS}"


def swatch(css: str) -> Html:
    """Return a small square for legends, in the color of a class of the style sheet."""
    square = tag("rect", css=css, width=10, height=10, rx=2)
    return tag("svg", square, css="nv-swatch", viewBox="0 0 10 10", width=10, height=10, aria_hidden="true")


def cell_picture(*shapes: Html, height: float = CELL_HEIGHT) -> Html:
    """Return a picture that is as wide as its cell: shapes are stretched, so it may hold no text."""
    box = f"0 0 {CELL_WIDTH:g} {height:g}"
    return tag("svg", *shapes, css="nv-bar", viewBox=box, preserveAspectRatio="none", height=height, aria_hidden="true")


def share_bar(share: float, k: int) -> Html:
    """Return a bar for a proportion between 0 and 1, in the color of class k."""
    width = max(share * CELL_WIDTH, THINNEST) if share > 0 else 0.0
    track = tag("rect", css="nv-track", width=CELL_WIDTH, height=CELL_HEIGHT)
    return cell_picture(track, tag("rect", css=fill_class(k), width=width, height=CELL_HEIGHT))


def signed_bar(value: float, longest: float) -> Html:
    """Return a bar to the right of a zero line for a positive value, to its left for a negative one.

    Infinite values end at the border.

    >>> signed_bar(-1.0, 2.0).count("nv-against")
    1
    """
    middle = CELL_WIDTH / 2
    end = middle * (1 + min(max(value / (longest or 1.0), -1.0), 1.0))
    width = max(abs(end - middle), THINNEST) if value else 0.0
    css = "nv-for" if value >= 0 else "nv-against"
    bar = tag("rect", css=css, x=min(middle, end), y=1, width=width, height=CELL_HEIGHT - 2)
    return cell_picture(bar, tag("line", css="nv-zero", x1=middle, x2=middle, y1=0, y2=CELL_HEIGHT))


def dumbbell(before: float, after: float) -> Html:
    """Return two bars joined by a line: where something was, and where it is, both between 0 and 1."""
    middle = 8.0
    a, b = (4 + (CELL_WIDTH - 8) * place for place in (before, after))
    return cell_picture(
        tag("line", css="nv-grid", x1=4, x2=CELL_WIDTH - 4, y1=middle, y2=middle),
        tag("rect", css="q-span", x=min(a, b), y=middle - 1.5, width=abs(b - a), height=3),
        tag("rect", css="nv-c6", x=a - 2, y=middle - 5, width=4, height=10),
        tag("rect", css="nv-c0", x=b - 2, y=middle - 6, width=4, height=12),
        height=2 * middle,
    )


# -- distributions -----------------------------------------------------------------------------------------------------


def distribution_picture(distribution: JsonObject, classes: int, title: str, others: str = "…") -> Html:
    """Return the picture of a distribution (`explain.distributions`); `others` names the values without a bar."""
    if distribution["kind"] == "normal":
        return density_picture(distribution, title)
    if distribution["kind"] == "bins" and "values" not in distribution:
        return histogram_picture(distribution, title)
    return value_bars(distribution, classes, title, others)


def histogram_picture(bins: JsonObject, title: str) -> Html:
    """Return a stepped line for each class: its proportion of rows in each bin, divided by the bin's width.

    Where bins have equal widths on the picture, heights are the square roots of proportions.
    """
    edges, lines = histogram_lines(bins)
    if bins["even"]:
        edges = [float(edge) for edge in range(len(bins["counts"][0]) + 1)]
        lines = [[sqrt(n / (sum(of_class) or 1.0)) for n in of_class] for of_class in bins["counts"]]
    span = edges[-1] - edges[0] or 1.0
    places = [WIDTH * (edge - edges[0]) / span for edge in edges]
    top = max((value for line in lines for value in line), default=0.0) or 1.0
    ends = [round(x) for x in places[1:]]
    paths = [stepped_path([round(PLANE - (PLANE - 4) * y / top) for y in line], ends) for line in lines]
    if bins.get("time"):
        ticks = day_ticks(edges[0], edges[-1])
    elif bins["even"]:  # some of the cuts
        cuts, each = bins["cuts"], max(1, -(-len(bins["cuts"]) // 5))
        ticks = [(places[index + 1], cuts[index]) for index in range(0, len(cuts), each)]
    else:
        ticks = scale_ticks(edges[0], edges[-1])
    if bins.get("whole") and not bins.get("time"):
        ticks = [(x, floor(value)) for x, value in ticks if bins["even"] or value == floor(value)]
    return _plane(paths, ticks, bins.get("time", False), title)


def histogram_lines(bins: JsonObject) -> tuple[list[float], list[list[float]]]:
    """Return the edges of bins, and for each class the proportion of its rows in each bin divided by the bin's width.

    The density of a bin of next to no width, as of a single value, would flatten all others: it counts as wider.
    """
    beyond = 0.5 if bins.get("whole") else 0.0
    edges = [bins["low"] - beyond, *bins["cuts"], bins["high"] + beyond]
    least = (edges[-1] - edges[0] or 1.0) / WIDTH / 2
    widths = [max(right - left, least) for left, right in pairwise(edges)]
    lines = []
    for counts in bins["counts"]:
        total = sum(counts) or 1.0
        lines.append([n / total / width for n, width in zip(counts, widths, strict=True)])
    return edges, lines


def stepped_path(heights: Sequence[int], ends: Sequence[int]) -> str:
    """Return the path of steps from the floor back to it; steps of equal height are one.

    >>> stepped_path([40, 40, 84, 7], [10, 20, 30, 40])
    'M0 84v-44h20v44h10v-77h10v77'
    """
    parts, x, y = [f"M0 {PLANE:g}"], 0, int(PLANE)
    for index, (height, end) in enumerate(zip(heights, ends, strict=True)):
        if index + 1 < len(heights) and heights[index + 1] == height:
            continue
        parts.append(f"v{height - y}h{end - x}")
        x, y = end, height
    return "".join([*parts, f"v{int(PLANE) - y}"])


def density_picture(normal: JsonObject, title: str) -> Html:
    """Return the normal density of each class."""
    points, lines = density_lines(normal)
    if not points:
        return _picture(1, title=title)
    top = max(map(max, lines)) or 1.0
    paths = []
    for line in lines:
        heights = enumerate(PLANE - (PLANE - 4) * y / top for y in line)
        paths.append("M" + "L".join(f"{WIDTH * step / (CURVE_POINTS - 1):.0f} {y:.0f}" for step, y in heights))
    times, ends = normal.get("time", False), (points[0], points[-1])
    return _plane(paths, day_ticks(*ends) if times else scale_ticks(*ends), times, title)


def density_lines(normal: JsonObject) -> tuple[list[float], list[list[float]]]:
    """Return points of equal distance, and the normal density of each class at these; none without any spread."""
    classes = list(zip(normal["n"], normal["mean"], normal["sd"], strict=True))
    ends = [mean + side * CURVE_WIDTH * sd for n, mean, sd in classes if n > 0 and sd > 0 for side in (-1, 1)]
    if not ends:
        return [], []
    low, high = min(ends), max(ends)
    points = [low + (high - low) * step / (CURVE_POINTS - 1) for step in range(CURVE_POINTS)]
    lines = [
        [exp(-0.5 * ((x - mean) / sd) ** 2) / (sd * sqrt(2 * pi)) if n > 0 and sd > 0 else 0.0 for x in points]
        for n, mean, sd in classes
    ]
    return points, lines


def scale_ticks(low: float, high: float, most: int = 6) -> list[tuple[float, float]]:
    """Return about `most` round numbers between both ends, each with its place.

    >>> [value for _, value in scale_ticks(17.0, 93.0)]
    [20.0, 40.0, 60.0, 80.0]
    """
    if not high > low:
        return []
    unit = 10.0 ** int(log10(2 * (high - low) / most) // 1)
    step = next(unit * m for m in (1, 2, 5, 10, 20) if (high - low) / (unit * m) <= most)
    first = -int(-low // step) * step
    values = [first + index * step for index in range(int((high - first) // step) + 1)]
    return [(WIDTH * (value - low) / (high - low), value) for value in values]


def day_ticks(low: float, high: float) -> list[tuple[float, float]]:
    """Return the same of times, which are seconds since 1970: some days, few enough that their dates fit."""
    days = scale_ticks(low / DAY, high / DAY)
    return [(x, DAY * value) for x, value in days[:: 2 if len(days) > 3 else 1]]


def _plane(paths: Sequence[str], ticks: Sequence[tuple[float, float]], times: bool, title: str) -> Html:
    """Return an area for each class above an axis."""
    areas = [tag("path", css=f"q-k{k % COLORS}", d=path) for k, path in enumerate(paths)]
    marks, text = [], date_text if times else number_text
    for x, value in ticks:
        anchor = "start" if x < 12 else "end" if x > WIDTH - 12 else None
        marks.append(tag("text", text(value), x=round(x), y=PLANE + 13, text_anchor=anchor))
    line = tag("path", css="nv-zero", d=f"M0 {PLANE:.0f}h{WIDTH:.0f}")
    axis = joined(line, tag("g", marks, css="nv-t", text_anchor="middle"))
    return _picture(PLANE + 16, *areas, axis, title=title)


def value_bars(distribution: JsonObject, classes: int, title: str, others: str = "…") -> Html:
    """Return a bar for each value and class: how frequent the value is in rows of the class, with its count."""
    values, counts, totals = shown_values(distribution, others)
    few = classes <= FEW_CLASSES
    thick, gap = (10.0, 5.0) if few else (max(2.0, 36.0 / classes), 6.0)
    top = max((n / (totals[k] or 1.0) for k, line in enumerate(counts) for n in line), default=0.0) or 1.0
    room, height = WIDTH - NAMES - (44 if few else 4), classes * thick + gap
    names, numbers, bars = [], [], ["" for _ in range(classes)]
    for index, value in enumerate(values):
        y = index * height
        name = value if len(value) <= 18 else f"{value[:17]}…"
        names.append(tag("text", name, x=NAMES - 6, y=y + (height - gap) / 2 + 4))
        for k in range(classes):
            n = counts[k][index]
            width = max(room * (n / (totals[k] or 1.0)) / top, 1.0 if n else 0.0)
            if n:
                bars[k] += f"M{NAMES:.0f} {y + k * thick:g}h{width:.0f}v{thick - 1:g}h-{width:.0f}z"
            if few:
                numbers.append(tag("text", count_text(n), x=round(NAMES + width + 4), y=y + k * thick + 8))
    paths = [tag("path", css=fill_class(k), d=d) for k, d in enumerate(bars)]
    texts = tag("g", names, css="nv-t", text_anchor="end"), tag("g", numbers, css="nv-t")
    return _picture(max(len(values) * height - gap, 1.0), *paths, *texts, title=title)


def shown_values(distribution: JsonObject, others: str) -> tuple[list[str], list[list[float]], list[float]]:
    """Return the values, their counts [class][value], those of all others as one value, and the totals."""
    counts: list[list[float]] = [list(line) for line in distribution["counts"]]
    if distribution["kind"] == "words":
        return list(distribution["words"]), counts, list(distribution.get("totals", map(sum, counts)))
    if distribution["kind"] == "bins":
        return [number_text(value, 12) for value in distribution["values"]], counts, [*map(sum, counts)]
    values = list(distribution["values"])
    if distribution["others"]:
        values.append(others)
        counts = [[*line, n] for line, n in zip(counts, distribution["other_counts"], strict=True)]
    return values, counts, [*map(sum, counts)]


def _picture(height: float, *body: Html, title: str) -> Html:
    """Return shapes as a picture that is as wide as its card."""
    return tag("svg", *body, css="nv-chart", viewBox=f"0 0 {WIDTH:g} {height:g}", role="img", aria_label=title)


# -- calibration -------------------------------------------------------------------------------------------------------


class CalibrationPoint(NamedTuple):
    """Rows of similar probability: their mean, the proportion that was right, and the limits of that proportion."""

    given: float
    found: float
    low: float
    high: float


def calibration_picture(points: Sequence[CalibrationPoint], across: str, up: str, title: str) -> Html:
    """Return the proportion that was right by probability, next to the line where both are equal.

    `quality.js` draws the same plane.
    """

    def x(value: float) -> int:
        return round(LEFT + WIDE * value)

    def y(value: float) -> int:
        return round(TOP + HIGH * (1 - value))

    grid = "".join(f"M{x(mark)} {TOP}v{HIGH}M{LEFT} {y(mark)}h{WIDE}" for mark in MARKS)
    below = [tag("text", number_text(mark), x=x(mark), y=HIGH + 24) for mark in MARKS]
    below += [tag("text", across, x=LEFT + WIDE // 2, y=227)]
    below += [tag("text", up, x=11, y=103, transform="rotate(-90 11 103)")]
    sides = [tag("text", number_text(mark), x=LEFT - 5, y=y(mark) + 4) for mark in MARKS]
    line = "M" + "L".join(f"{x(point.given)} {y(point.found)}" for point in points)
    line += "".join(f"M{x(point.given)} {y(point.low)}V{y(point.high)}" for point in points)
    dots = "".join(f"M{x(point.given) - 3} {y(point.found)}a3 3 0 1 0 6 0a3 3 0 1 0-6 0" for point in points)
    return tag(
        "svg",
        tag("path", css="nv-grid", d=grid),
        tag("path", css="nv-dashed", d=f"M{LEFT} {TOP + HIGH}L{LEFT + WIDE} {TOP}"),
        tag("path", css="nv-s0", d=line),
        tag("path", css="nv-c0", d=dots),
        tag("g", below, css="nv-t", text_anchor="middle"),
        tag("g", sides, css="nv-t", text_anchor="end"),
        css="nv-chart",
        viewBox=f"0 0 {CHART_WIDTH} {CHART_HEIGHT}",
        role="img",
        aria_label=title,
    )
