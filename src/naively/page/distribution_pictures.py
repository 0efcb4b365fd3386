"""The distribution of a column within each class, as a static picture."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import exp, floor, log10, pi, sqrt

from .._types import JsonObject
from ..markup.numbers import count_text, date_text, number_text
from ..markup.palette import COLORS
from ..markup.svg import fill_class
from ..markup.tags import Html, joined, tag

# Of a picture: its width, the height of the plane of a histogram, and the room for names of values.
DAY = 86400.0  # seconds
WIDTH, PLANE, NAMES = 340.0, 84.0, 112.0
# Points of a curve.
CURVE_POINTS = 60
# Of more classes, bars are thin and without numbers.
FEW_CLASSES = 4


def distribution_picture(distribution: JsonObject, classes: Sequence[str], title: str, others: str = "…") -> Html:
    """Return the picture of a distribution of `column_facts`; `others` stands for values without a bar."""
    kind = distribution["kind"]
    if kind == "bins" and "values" not in distribution:
        return histogram_picture(distribution, title)
    if kind == "normal":
        return density_picture(distribution, title)
    return value_bars(distribution, classes, title, others)


# -- numbers -----------------------------------------------------------------------------------------------------------


def histogram_picture(bins: JsonObject, title: str) -> Html:
    """Return a stepped line for each class: its proportion of rows in each bin, divided by the bin's width.

    Where bins have equal widths on the picture, heights are the square roots of proportions.
    """
    counts: list[list[float]] = bins["counts"]
    size = len(counts[0])
    edges = [float(edge) for edge in range(size + 1)]
    if not bins["even"]:
        beyond = 0.5 if bins.get("whole") else 0.0
        edges = [bins["low"] - beyond, *bins["cuts"], bins["high"] + beyond]
    span = edges[-1] - edges[0] or 1.0
    at = [WIDTH * (edge - edges[0]) / span for edge in edges]
    widths = [max(right - left, 0.5) for left, right in pairwise(at)]
    shares = [[n / (sum(line) or 1.0) for n in line] for line in counts]  # within each class
    if bins["even"]:
        dense = [[sqrt(share) for share in line] for line in shares]
    else:
        dense = [[share / width for share, width in zip(line, widths, strict=True)] for line in shares]
    top = max((value for line in dense for value in line), default=0.0) or 1.0
    parts = []
    for k, line in enumerate(dense):
        heights = [round(PLANE - (PLANE - 4) * y / top) for y in line]
        parts.append(tag("path", css=area_class(k), d=stepped_path(heights, [round(x) for x in at[1:]])))
    ticks = bin_ticks(bins, at) if bins["even"] else scale_ticks(edges[0], edges[-1])
    if bins.get("whole"):
        ticks = [(x, floor(value)) for x, value in ticks if bins["even"] or value == floor(value)]
    if bins.get("time"):
        ticks = day_ticks(edges[0], edges[-1])
    return _picture(PLANE + 16, *parts, _axis(ticks, bins.get("time", False)), title=title)


def stepped_path(heights: Sequence[int], ends: Sequence[int]) -> str:
    """Return the path of steps from the floor back to it; steps of equal height are one.

    >>> stepped_path([40, 40, 84, 7], [10, 20, 30, 40])
    'M0 84v-44h20v44h10v-77h10v77'
    """
    parts, x, y = [f"M0 {PLANE:g}"], 0, int(PLANE)
    for at, (height, end) in enumerate(zip(heights, ends, strict=True)):
        if at + 1 < len(heights) and heights[at + 1] == height:
            continue
        parts.append(f"v{height - y}h{end - x}")
        x, y = end, height
    return "".join([*parts, f"v{int(PLANE) - y}"])


def density_picture(normal: JsonObject, title: str) -> Html:
    """Return the normal density of each class."""
    known = [(n, mean, sd) for n, mean, sd in zip(normal["n"], normal["mean"], normal["sd"], strict=True)]
    spread = [(mean - 3.2 * sd, mean + 3.2 * sd) for n, mean, sd in known if n > 0 and sd > 0]
    if not spread:
        return _picture(1, title=title)
    low, high = min(one[0] for one in spread), max(one[1] for one in spread)
    points = [low + (high - low) * at / (CURVE_POINTS - 1) for at in range(CURVE_POINTS)]
    lines = [[_density(x, *one) for x in points] for one in known]
    top = max(max(line) for line in lines) or 1.0
    parts = []
    for k, line in enumerate(lines):
        ends = "L".join(f"{_n(WIDTH * at / (CURVE_POINTS - 1))} {_n(PLANE - (PLANE - 4) * y / top)}" for at, y in
                        enumerate(line))  # fmt: skip
        parts.append(tag("path", css=area_class(k), d=f"M{ends}"))
    times = normal.get("time", False)
    ticks = day_ticks(low, high) if times else scale_ticks(low, high)
    return _picture(PLANE + 16, *parts, _axis(ticks, times), title=title)


def _density(x: float, n: float, mean: float, sd: float) -> float:
    if n <= 0 or sd <= 0:
        return 0.0
    return exp(-0.5 * ((x - mean) / sd) ** 2) / (sd * sqrt(2 * pi))


def scale_ticks(low: float, high: float) -> list[tuple[float, float]]:
    """Return round numbers between both ends, each with its place.

    >>> [value for _, value in scale_ticks(17.0, 93.0)]
    [20.0, 40.0, 60.0, 80.0]
    """
    if not high > low:
        return []
    unit = 10.0 ** int(log10((high - low) / 3) // 1)
    step = next(unit * m for m in (1, 2, 5, 10, 20) if (high - low) / (unit * m) <= 6)
    first = -int(-low // step) * step
    values = [first + at * step for at in range(int((high - first) // step) + 1)]
    return [(WIDTH * (value - low) / (high - low), value) for value in values]


def day_ticks(low: float, high: float) -> list[tuple[float, float]]:
    """Return the same of times, which are seconds since 1970: some days, few enough that their dates fit."""
    days = scale_ticks(low / DAY, high / DAY)
    return [(x, DAY * value) for x, value in days[:: 2 if len(days) > 3 else 1]]


def bin_ticks(bins: JsonObject, at: Sequence[float]) -> list[tuple[float, float]]:
    """Return some cuts of bins that are drawn with equal widths."""
    cuts = bins["cuts"]
    each = max(1, -(-len(cuts) // 5))
    return [(at[place + 1], cuts[place]) for place in range(0, len(cuts), each)]


def _axis(ticks: Sequence[tuple[float, float]], times: bool = False) -> Html:
    marks, text = [], date_text if times else number_text
    for x, value in ticks:
        anchor = "start" if x < 12 else "end" if x > WIDTH - 12 else None
        marks.append(tag("text", text(value), x=round(x), y=PLANE + 13, text_anchor=anchor))
    line = tag("path", css="nv-zero", d=f"M0 {_n(PLANE)}h{_n(WIDTH)}")
    return joined(line, tag("g", marks, css="nv-t", text_anchor="middle"))


# -- labels and words --------------------------------------------------------------------------------------------------


def value_bars(distribution: JsonObject, classes: Sequence[str], title: str, others: str = "…") -> Html:
    """Return a bar for each value and class: how frequent the value is in rows of the class, with its count."""
    values, counts, totals = shown_values(distribution, others)
    few = len(classes) <= FEW_CLASSES
    thick, gap = (10.0, 5.0) if few else (max(2.0, 36.0 / len(classes)), 6.0)
    shares = [[n / (totals[k] or 1.0) for n in line] for k, line in enumerate(counts)]
    top = max((share for line in shares for share in line), default=0.0) or 1.0
    room, height = WIDTH - NAMES - (44 if few else 4), len(classes) * thick + gap
    names, numbers, bars = [], [], ["" for _ in classes]
    for at, value in enumerate(values):
        y = at * height
        name = value if len(value) <= 18 else f"{value[:17]}…"
        names.append(tag("text", name, x=NAMES - 6, y=y + (height - gap) / 2 + 4))
        for k in range(len(classes)):
            n, share = counts[k][at], shares[k][at]
            width = max(room * share / top, 1.0 if n else 0.0)
            if n:
                bars[k] += f"M{_n(NAMES)} {y + k * thick:g}h{_n(width)}v{thick - 1:g}h-{_n(width)}z"
            if few:
                numbers.append(tag("text", count_text(n), x=round(NAMES + width + 4), y=y + k * thick + 8))
    parts = [tag("path", css=fill_class(k), d=d) for k, d in enumerate(bars)]
    texts = tag("g", names, css="nv-t", text_anchor="end"), tag("g", numbers, css="nv-t q-n")
    return _picture(max(len(values) * height - gap, 1.0), *parts, *texts, title=title)


def shown_values(distribution: JsonObject, others: str) -> tuple[list[str], list[list[float]], list[float]]:
    """Return the values with their counts [class][value], those of all others as one value, and the totals."""
    counts: list[list[float]] = [list(line) for line in distribution["counts"]]
    if distribution["kind"] == "words":
        return list(distribution["words"]), counts, list(distribution.get("totals", [sum(line) for line in counts]))
    if distribution["kind"] == "bins":
        return [number_text(value, 12) for value in distribution["values"]], counts, [sum(line) for line in counts]
    values = list(distribution["values"])
    if distribution["others"]:
        values.append(others)
        for line, n in zip(counts, distribution["other_counts"], strict=True):
            line.append(n)
    return values, counts, [sum(line) for line in counts]


def _picture(height: float, *body: Html, title: str) -> Html:
    """Return shapes as a picture that is as wide as its card."""
    return tag("svg", *body, css="nv-chart", viewBox=f"0 0 {WIDTH:g} {height:g}", role="img", aria_label=title)


def area_class(k: int) -> str:
    """Return the class of the style sheet for an area with an outline in the color of class k."""
    return f"q-k{k % COLORS}"


def _n(value: float) -> str:
    return f"{value:.0f}"
