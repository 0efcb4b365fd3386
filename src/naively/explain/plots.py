"""Charts of Altair: calibration, ROC and precision–recall, contributions of columns, distributions.

Needs the extra ``plots``: ``pip install "naively[plots]"``. Every function returns a chart, to change, to show in a
notebook, or to write: ``chart.save("calibration.svg")`` or ``.png``. ``theme="dark"`` draws it for dark pages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from math import copysign, isfinite, isnan
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import narwhals.stable.v1 as nw

from .._types import Floats, JsonObject, Label
from ..errors import InvalidInput, NotInstalled
from ..errors.message import Setting
from ..judge.metrics import RELIABILITY_BINS, ClassCurve, class_curve, reliability_of_bins
from ..judge.scores import Scores
from ..page.numbers import counted, signed
from ..page.pictures import density_lines, histogram_lines, shown_values
from ..page.style import COLORS, DARK, LIGHT, Theme, class_color
from ..stats.arithmetic import commonest
from .distributions import column_distributions
from .evidence import Evidence
from .evidence_lines import evidence_picture

if TYPE_CHECKING:
    from ..estimator.naive_bayes import NaiveBayes

__all__ = [
    "calibration",
    "columns",
    "importance",
    "precision_recall",
    "roc",
    "waterfall",
]

# A chart of Altair, which is imported only when one is drawn.
Chart: TypeAlias = Any
ThemeName: TypeAlias = Literal["light", "dark"]

# The width of a chart, the height of a distribution, and the pixels that labels of an axis may take: Vega cuts at 180.
SIZE, HEIGHT, LABEL_PIXELS = 300, 110, 600
# Fonts with Chinese characters, where the system has them.
CHART_FONT = "sans-serif, PingFang SC, Microsoft YaHei, Noto Sans CJK SC, WenQuanYi Zen Hei"
# Columns that are drawn unless they are named.
DRAWN_COLUMNS = 12


# -- scores ------------------------------------------------------------------------------------------------------------


def calibration(
    scores: Scores | Mapping[str, Scores], level: float = 0.9, least: float = 1.0, theme: ThemeName = "light"
) -> Chart:
    """Return a reliability diagram: the accuracy of predictions of similar confidence.

    Parameters
    ----------
    scores : Scores or dict of str to Scores
        The scores of one model, or of several to compare.
    level : float, default=0.9
        The level of the interval of each point (Jeffreys').
    least : float, default=1.0
        The least number of rows of a point. The diagram omits points of fewer rows; the bars below it do not.
    theme : {"light", "dark"}, default="light"
        The colors.

    Returns
    -------
    altair.VConcatChart
        The diagram, and below it how many rows there are of each confidence.

    Examples
    --------
    >>> import naively as nv
    >>> scores = nv.Scores([[0.9, 0.1], [0.3, 0.7], [0.6, 0.4]], [0, 1, 1], ("no", "yes"))
    >>> chart = nv.plots.calibration({"a": scores, "b": scores.baseline})
    >>> len(chart.to_dict()["vconcat"])  # the diagram, and how many rows there are of each confidence
    2
    """
    if not 0 < level < 1:
        raise InvalidInput(Setting("level", level), " must lie between 0 and 1, such as 0.9.")
    named, look, alt = _named_scores(scores), theme_called(theme), import_altair()
    width, points = 1 / RELIABILITY_BINS / len(named), list[JsonObject]()
    for index, (name, of_model) in enumerate(named.items()):
        for point in reliability_of_bins(of_model, level):  # the bars of models stand next to each other in a bin
            share, begin = point.rows / of_model.rows, point.start + index * width
            points.append({"model": name, "share": share, "from": begin, **point._asdict()})
    whole = alt.Chart(alt.InlineData(values=points)).encode(color=colors_of(alt, "model", list(named), look))
    base = whole.transform_filter(f"datum.rows >= {float(least)}")
    sure = alt.X("confidence:Q", title="probability of the predicted class", scale=alt.Scale(domain=[0, 1]))
    accuracy = alt.Y("accuracy:Q", title="accuracy", scale=alt.Scale(domain=[0, 1]))
    layers = [
        _diagonal(alt, "confidence", "accuracy", look),
        base.mark_rule(opacity=0.5).encode(x=sure, y="low:Q", y2="high:Q"),
        base.mark_line(opacity=0.3).encode(x=sure, y=accuracy),
        base.mark_point(filled=True, opacity=1).encode(
            x=sure, y=accuracy, size=alt.Size("share:Q", legend=None, scale=alt.Scale(domain=[0, 1], range=[20, 120])),
            tooltip=["model:N", "rows:Q", "confidence:Q", "accuracy:Q"],
        ),
    ]  # fmt: skip
    bars = (
        whole.transform_calculate(to=f"datum.from + {width}")
        .mark_rect()
        .encode(
            x=alt.X("from:Q", title=None, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(labels=False)),
            x2="to:Q",
            y=alt.Y("rows:Q", scale=alt.Scale(type="symlog"), axis=alt.Axis(values=[1, 10, 100, 1000, 10**4, 10**6])),
            y2=alt.datum(0),
        )
    )
    diagram = alt.layer(*layers).properties(width=SIZE, height=SIZE)
    return with_theme(alt.vconcat(diagram, bars.properties(width=SIZE, height=SIZE / 5)), look)


def roc(scores: Scores | Mapping[str, Scores], label: Label = None, theme: ThemeName = "light") -> Chart:
    """Return ROC curves: the rows of a class that are found, against the others that are taken for it.

    Parameters
    ----------
    scores : Scores or dict of str to Scores
        The scores of one model, or of several to compare.
    label : label, optional
        The class to be found. By default the second of two; of more, one model has a curve for each class.
    theme : {"light", "dark"}, default="light"
        The colors.

    Returns
    -------
    altair.LayerChart
        A curve for each model or class, named with the area under it.

    Examples
    --------
    >>> import naively as nv
    >>> scores = nv.Scores([[0.9, 0.1], [0.3, 0.7], [0.6, 0.4]], ["no", "yes", "yes"], ("no", "yes"))
    >>> chart = nv.plots.roc(scores)
    """
    curves, look, alt = _named_curves(scores, label), theme_called(theme), import_altair()
    points = {f"{name} (AUC {curve.area:.3f})": (curve.fall_out, curve.recall) for name, curve in curves.items()}
    of = _found_class(curves)
    lines = _rate_lines(alt, points, "fall_out", "false positive rate", "recall", f"true positive rate{of}", look)
    chart = alt.layer(_diagonal(alt, "fall_out", "recall", look), lines)
    return with_theme(chart.properties(width=SIZE, height=SIZE), look)


def precision_recall(scores: Scores | Mapping[str, Scores], label: Label = None, theme: ThemeName = "light") -> Chart:
    """Return precision–recall curves: how many of the rows taken for a class are of it, against how many are found.

    Parameters
    ----------
    scores : Scores or dict of str to Scores
        The scores of one model, or of several to compare.
    label : label, optional
        The class to be found. By default the second of two; of more, one model has a curve for each class.
    theme : {"light", "dark"}, default="light"
        The colors.

    Returns
    -------
    altair.LayerChart
        A curve for each model or class, and a dashed line where rows are taken at random.

    Examples
    --------
    >>> import naively as nv
    >>> scores = nv.Scores([[0.9, 0.1], [0.3, 0.7], [0.6, 0.4]], ["no", "yes", "yes"], ("no", "yes"))
    >>> chart = nv.plots.precision_recall(scores)
    """
    curves, look, alt = _named_curves(scores, label), theme_called(theme), import_altair()
    points = {name: (curve.recall[1:], curve.precision[1:]) for name, curve in curves.items()}
    rates = sorted({round(curve.base_rate, 6) for curve in curves.values()})
    chance = alt.Chart(alt.InlineData(values=[{"precision": rate} for rate in rates]))
    random = chance.mark_rule(strokeDash=[4, 4], color=look.muted).encode(y="precision:Q")
    of = _found_class(curves)
    lines = _rate_lines(alt, points, "recall", f"recall{of}", "precision", f"precision{of}", look)
    return with_theme(alt.layer(random, lines).properties(width=SIZE, height=SIZE), look)


# -- one row -----------------------------------------------------------------------------------------------------------


def waterfall(evidence: Evidence, row: int = 0, theme: ThemeName = "light") -> Chart:
    """Return the contributions to one row as a waterfall: each bar begins where the one above it ended.

    Parameters
    ----------
    evidence : Evidence
        What `NaiveBayes.explain` returns.
    row : int, default=0
        The row, counted from 0.
    theme : {"light", "dark"}, default="light"
        The colors.

    Returns
    -------
    altair.LayerChart
        A step for the prior, for each column and for all pairs of columns together, and a bar for their sum: the
        log-odds of the predicted class.

    Examples
    --------
    >>> import naively as nv
    >>> nb = nv.NaiveBayes().fit({"sky": ["sunny", "rain", "sunny"]}, ["out", "in", "out"])
    >>> chart = nv.plots.waterfall(nb.explain({"sky": "rain"}))
    """
    if not 0 <= row < len(evidence):
        raise InvalidInput(Setting("row", row), f" is none of the {len(evidence)} rows that were explained.")
    alt, look, title = import_altair(), theme_called(theme), evidence_picture(evidence, row).title
    return with_theme(contribution_chart(alt, waterfall_steps(evidence, row), title, look, 1.4 * SIZE), look)


# -- the model ---------------------------------------------------------------------------------------------------------


def columns(nb: NaiveBayes, names: Sequence[str] | None = None, theme: ThemeName = "light") -> Chart:
    """Return the distribution of columns within each class: histograms of numbers, proportions of labels.

    Parameters
    ----------
    nb : NaiveBayes
        A fitted classifier.
    names : list of str, optional
        The columns; by default up to twelve, those of the highest mutual information with the class.
    theme : {"light", "dark"}, default="light"
        The colors.

    Returns
    -------
    altair.VConcatChart
        A chart for each column. Numbers of the default model are drawn by the bins that they were counted in, those of
        others by normal densities.

    Examples
    --------
    >>> import naively as nv
    >>> nb = nv.NaiveBayes().fit({"sky": ["sunny", "rain", "sunny"]}, ["out", "in", "out"])
    >>> chart = nv.plots.columns(nb)
    """
    model, counts = nb.fitted_.model, nb.fitted_.all_counts
    in_use = list(model.schema.names)
    unknown = [name for name in names or () if name not in in_use]
    if unknown:
        raise InvalidInput(f"Column {unknown[0]!r} is not used: the columns in use are {in_use}.", column=unknown[0])
    alt, look = import_altair(), theme_called(theme)
    wanted = [name for name, _ in _strongest_columns(nb)] if names is None else list(names)
    shown = {
        name: distribution
        for name, distribution in column_distributions(model, counts, wanted).items()
        if distribution is not None and distribution["kind"] != "words"
    }
    if not shown:
        raise InvalidInput("There is no column of labels or numbers to draw: vectors and texts have no distribution.")
    charts = [
        column_chart(alt, name, shown[name], counts.classes.labels, counts.rows, look)
        for name in list(shown)[: DRAWN_COLUMNS if names is None else None]
    ]
    return with_theme(alt.vconcat(*charts).resolve_scale(color="shared"), look)


def importance(nb: NaiveBayes, theme: ThemeName = "light") -> Chart:
    """Return a chart of the mutual information of each column and the class, in bits, the highest first.

    Parameters
    ----------
    nb : NaiveBayes
        A fitted classifier.
    theme : {"light", "dark"}, default="light"
        The colors.

    Returns
    -------
    altair.Chart
        A bar for each column.

    Examples
    --------
    >>> import naively as nv
    >>> nb = nv.NaiveBayes().fit({"sky": ["sunny", "rain", "sunny"]}, ["out", "in", "out"])
    >>> chart = nv.plots.importance(nb)
    """
    alt, look = import_altair(), theme_called(theme)
    bars = [{"column": column, "bits": bits} for column, bits in _strongest_columns(nb) if bits == bits]
    base = alt.Chart(alt.InlineData(values=bars)).encode(
        x=alt.X("bits:Q", title="mutual information with the class (bits)"),
        y=alt.Y("column:N", axis=name_axis(alt), sort=None),
    )
    return with_theme(base.mark_bar(color=look.positive).properties(width=SIZE), look)


# -- what they are made of ---------------------------------------------------------------------------------------------


def _named_scores(scores: Scores | Mapping[str, Scores]) -> Mapping[str, Scores]:
    """Return scores by the names of their models."""
    named = {"model": scores} if isinstance(scores, Scores) else scores
    if not isinstance(named, Mapping) or not named or not all(isinstance(part, Scores) for part in named.values()):
        raise InvalidInput("Give Scores, or a dict such as {'textbook': scores, 'auto': others}.")
    return named


def _named_curves(scores: Scores | Mapping[str, Scores], label: Label) -> dict[str, ClassCurve]:
    """Return the curve of each model; or of each class, where one model has more than two and none is named."""
    named = _named_scores(scores)
    first = next(iter(named.values()))
    if label is None and len(first.classes) == 2:
        label = first.classes[1]
    if label is not None:
        single = len(named) == 1
        return {str(label) if single else name: class_curve(of_model, label) for name, of_model in named.items()}
    if len(named) > 1:
        raise InvalidInput(
            Setting("label", None), f" leaves open which class is to be found; give one of {list(first.classes)}."
        )
    there = [of_class for k, of_class in enumerate(first.classes) if (first.truth == k).any()]
    return dict(zip(distinct_names(there), (class_curve(first, of_class) for of_class in there), strict=True))


def _found_class(curves: Mapping[str, ClassCurve]) -> str:
    """Return the class that all curves are about, for titles of axes; nothing if they are about several."""
    labels = {curve.label for curve in curves.values()}
    return f" of {labels.pop()}" if len(labels) == 1 else ""


def _rate_lines(
    alt: ModuleType,
    curves: Mapping[str, tuple[Floats, Floats]],
    x: str,
    x_title: str,
    y: str,
    y_title: str,
    theme: Theme,
) -> Chart:
    """Return curves of rates between 0 and 1; axes are given as field and title."""
    points = [
        {"curve": name, x: a, y: b, "at": index}
        for name, (xs, ys) in curves.items()
        for index, (a, b) in enumerate(zip(xs.tolist(), ys.tolist(), strict=True))
    ]
    return (
        alt.Chart(alt.InlineData(values=points))
        .mark_line(interpolate="linear")
        .encode(
            x=alt.X(f"{x}:Q", title=x_title, scale=alt.Scale(domain=[0, 1])),
            y=alt.Y(f"{y}:Q", title=y_title, scale=alt.Scale(domain=[0, 1])),
            order="at:Q",
            color=colors_of(alt, "curve", list(curves), theme),
        )
    )


def _diagonal(alt: ModuleType, x: str, y: str, theme: Theme) -> Chart:
    """Return a dashed line from corner to corner."""
    ends = alt.InlineData(values=[{x: 0, y: 0}, {x: 1, y: 1}])
    return alt.Chart(ends).mark_line(color=theme.muted, strokeDash=[4, 4]).encode(x=f"{x}:Q", y=f"{y}:Q")


def _strongest_columns(nb: NaiveBayes) -> list[tuple[str, float]]:
    """Return the columns with their mutual information in bits, the highest first."""
    table = nw.from_native(nb.importance(), eager_only=True)
    return [(str(name), bits) for name, bits in zip(table["column"].to_list(), table["bits"].to_list(), strict=True)]


# -- the look ----------------------------------------------------------------------------------------------------------


def import_altair() -> ModuleType:
    """Return the library that draws, if it is there."""
    try:
        return import_module("altair")
    except ImportError:
        raise NotInstalled("Charts are drawn by Altair", "plots") from None


def theme_called(name: ThemeName) -> Theme:
    """Return the colors of a theme; an error if there is none of that name."""
    if name not in get_args(ThemeName):
        raise InvalidInput(Setting("theme", name), " is not known; give 'light' or 'dark'.")
    return DARK if name == "dark" else LIGHT


def with_theme(chart: Chart, theme: Theme) -> Chart:
    """Return a chart in the colors of a theme.

    A light one is returned as it is: charts with a configuration of their own cannot be put next to each other.
    """
    if theme is LIGHT:
        return chart
    texts = {"labelColor": theme.muted, "titleColor": theme.ink, "labelFont": CHART_FONT, "titleFont": CHART_FONT}
    lines = {"domainColor": theme.line, "tickColor": theme.line, "gridColor": theme.line}
    return chart.configure(
        background=theme.background,
        axis=texts | lines,
        legend=texts,
        header=texts,
        title={"color": theme.ink, "font": CHART_FONT, "subtitleColor": theme.muted},
        text={"color": theme.ink, "font": CHART_FONT},
        view={"stroke": theme.line},
    )


def name_axis(alt: ModuleType) -> Chart:
    """Return the axis of names, which are not cut."""
    return alt.Axis(labelLimit=LABEL_PIXELS, title=None)


def colors_of(alt: ModuleType, field: str, names: Sequence[str], theme: Theme) -> Chart:
    """Return a color for each name, and no legend for a single one."""
    scale = alt.Scale(domain=list(names), range=[class_color(k, theme) for k in range(len(names))])
    legend = alt.Legend(labelLimit=LABEL_PIXELS, symbolOpacity=1) if len(names) > 1 else None
    return alt.Color(f"{field}:N", title=None, scale=scale, legend=legend)


def distinct_names(labels: Sequence[Label]) -> list[str]:
    """Return labels as texts; those that read alike, as 1 and "1", are told apart by their type."""
    texts = [str(label) for label in labels]
    return [
        text if texts.count(text) == 1 else f"{text} ({type(label).__name__})"
        for text, label in zip(texts, labels, strict=True)
    ]


# -- contributions -----------------------------------------------------------------------------------------------------


def contribution_chart(alt: ModuleType, steps: Sequence[JsonObject], title: str, theme: Theme, width: float) -> Chart:
    """Return bars from `start` to `end` with their numbers, in the color of their `side`."""
    base = alt.Chart(alt.InlineData(values=steps)).encode(y=alt.Y("column:N", axis=name_axis(alt), sort=None))
    colors = alt.Scale(domain=["for", "against", "sum"], range=[theme.positive, theme.negative, theme.muted])
    bars = base.mark_bar().encode(
        # Room for the numbers.
        x=alt.X("start:Q", title="log-odds for the predicted class", scale=alt.Scale(padding=50)),
        x2="end:Q",
        color=alt.Color("side:N", scale=colors, legend=None),
        tooltip=["column:N", "said:N", "why:N"],
    )
    right, left = (
        base.transform_filter(f"datum.end {sign} datum.start")
        .mark_text(align=align, dx=dx, color=theme.ink)
        .encode(x="end:Q", text="said:N")
        for sign, align, dx in ((">=", "left", 3), ("<", "right", -3))
    )
    zero = alt.Chart(alt.InlineData(values=[{"start": 0}])).mark_rule(color=theme.muted).encode(x="start:Q")
    return alt.layer(zero, bars, right, left).properties(title=title, width=width)


def waterfall_steps(evidence: Evidence, row: int) -> list[JsonObject]:
    """Return a step for the base, each column and all pairs together: where it begins and where it ends.

    A step without an end, where a class is ruled out, goes as far as the others together, and the rest stays there.
    """
    lines = [
        (f"{line.name}  {line.value}".strip(), line.lead, line.note)
        for line in evidence_picture(evidence, row).lines
        if line.kind in ("base", "column", "other columns")
    ]
    pairs = [lead for name, lead in evidence.bars(row) if name in (evidence.provenance.pairs or {})]
    if pairs:
        lines.append((f"together ({counted(len(pairs), 'pair')})", float(sum(pairs)), "pairs of columns, beyond both"))
    far = sum(abs(lead) for _, lead, _ in lines if isfinite(lead)) or 1.0
    steps, total, end = [], 0.0, 0.0
    for name, lead, note in lines:
        start, moved = end, 0.0 if isnan(lead) else lead
        total += moved
        end += moved if isfinite(moved) else copysign(far, moved)
        steps.append(_step(name, start, end, lead, note))
    return [*steps, _step("sum", 0.0, end, total, "") | {"side": "sum"}]


def _step(column: str, start: float, end: float, lead: float, note: str) -> JsonObject:
    side = "against" if lead < 0 else "for"
    return {"column": column, "start": start, "end": end, "said": signed(lead, 3), "why": note, "side": side}


# -- distributions -----------------------------------------------------------------------------------------------------


def column_chart(
    alt: ModuleType, name: str, distribution: JsonObject, classes: Sequence[Label], rows: Floats, theme: Theme
) -> Chart | None:
    """Return the chart of a distribution of numbers or labels. Of many classes the most frequent are drawn."""
    names = distinct_names(classes)
    drawn = sorted(commonest(rows, COLORS).tolist())
    in_order = [names[k] for k in drawn]
    points = distribution_points(distribution, names, drawn)
    base = alt.Chart(alt.InlineData(values=points)).encode(color=colors_of(alt, "class", in_order, theme))
    if "value" in points[0]:
        bars = base.mark_bar().encode(
            y=alt.Y("value:N", axis=name_axis(alt), sort=None),
            yOffset=alt.YOffset("class:N", sort=in_order),
            x=alt.X("share:Q", title="proportion of the class", axis=alt.Axis(format="%")),
        )
        return bars.properties(title=name, width=SIZE)
    plain = alt.Axis(format=".12~g")  # years without separators
    x = alt.X("x:Q", title=None, scale=alt.Scale(zero=False, nice=False), axis=plain)
    y = alt.Y("density:Q", title="density", stack=None)
    step = "step-after" if distribution["kind"] == "bins" else "linear"
    area = base.mark_area(opacity=0.15, interpolate=step).encode(x=x, y=y)
    line = base.mark_line(interpolate=step).encode(x=x, y=y)
    return alt.layer(area, line).properties(title=name, width=SIZE, height=HEIGHT)


def distribution_points(distribution: JsonObject, names: Sequence[str], drawn: Sequence[int]) -> list[JsonObject]:
    """Return the points of a chart for each class that is drawn: proportions of values, or densities."""
    if distribution["kind"] == "labels" or "values" in distribution:
        values, counts, totals = shown_values(distribution, f"({distribution.get('others', 0):,} others)")
        return [
            {"class": names[k], "value": value, "share": counts[k][place] / (totals[k] or 1.0)}
            for place, value in enumerate(values)
            for k in drawn
        ]
    if distribution["kind"] == "normal":
        points, lines = density_lines(distribution)
    else:
        points, lines = histogram_lines(distribution)
        lines = [[*line, 0.0] for line in lines]
    return [
        {"class": names[k], "x": x, "density": y} for k in drawn for x, y in zip(points, lines[k], strict=True)
    ] or [{"class": names[k], "x": 0.0, "density": 0.0} for k in drawn]
