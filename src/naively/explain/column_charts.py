"""The distribution of a column within each class as a chart of Altair."""

from __future__ import annotations

from itertools import pairwise
from types import ModuleType

from .._types import JsonObject
from ..markup.palette import COLORS, Theme
from ..model.protocols import FittedModel
from ..stats import Counts
from ..stats.arithmetic import commonest
from .chart_theme import SIZE, Chart, colors_of, distinct_names, name_axis
from .column_distributions import BinnedDistribution, Distribution, ValueDistribution, column_distribution

HEIGHT = 110


def column_chart(alt: ModuleType, model: FittedModel, counts: Counts, name: str, theme: Theme) -> Chart | None:
    """Return the chart of a column; None for vectors and texts. Of many classes the most frequent are drawn."""
    found = column_distribution(model, counts, name)
    if found is None:
        return None
    names = distinct_names(list(counts.classes.labels))
    drawn = sorted(commonest(counts.rows, COLORS).tolist())
    data = alt.InlineData(values=distribution_points(found, names, drawn))
    colors = colors_of(alt, "class", [names[k] for k in drawn], theme)
    base = alt.Chart(data).encode(color=colors)
    if isinstance(found, ValueDistribution):
        return (
            base.mark_bar()
            .encode(
                y=alt.Y("value:N", axis=name_axis(alt), sort=None),
                yOffset=alt.YOffset("class:N", sort=[names[k] for k in drawn]),
                x=alt.X("share:Q", title="proportion of the class", axis=alt.Axis(format="%")),
            )
            .properties(title=name, width=SIZE)
        )
    plain = alt.Axis(format=".12~g")  # years without separators
    x = alt.X("x:Q", title=None, scale=alt.Scale(zero=False, nice=False), axis=plain)
    y = alt.Y("density:Q", title="density", stack=None)
    step = "step-after" if isinstance(found, BinnedDistribution) else "linear"
    area = base.mark_area(opacity=0.15, interpolate=step).encode(x=x, y=y)
    return alt.layer(area, base.mark_line(interpolate=step).encode(x=x, y=y)).properties(
        title=name, width=SIZE, height=HEIGHT
    )


def distribution_points(found: Distribution, names: list[str], drawn: list[int]) -> list[JsonObject]:
    """Return the points of a chart for each class that is drawn; densities are proportions divided by widths."""
    if isinstance(found, ValueDistribution):
        return [
            {"class": names[k], "value": value, "share": float(found.shares[k, at])}
            for at, value in enumerate(found.values)
            for k in drawn
        ]
    if isinstance(found, BinnedDistribution):
        widths = [right - left for left, right in pairwise(found.edges)]
        widest = (found.edges[-1] - found.edges[0]) or 1.0
        density = [found.shares[k] / [max(width, widest / 60) for width in widths] for k in drawn]
        return [
            {"class": names[k], "x": x, "density": float(y)}
            for k, line in zip(drawn, density, strict=True)
            for x, y in zip(found.edges, [*line, 0.0], strict=True)
        ]
    return [
        {"class": names[k], "x": x, "density": float(y)}
        for k in drawn
        for x, y in zip(found.points, found.density[k], strict=True)
    ]
