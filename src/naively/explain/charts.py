"""Charts of Altair, if it is there, in the colors of the palette: contributions, distributions, nomograms, rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from math import copysign, isfinite, isnan, log
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from .._types import Floats, JsonObject, Label, TableLike
from ..data.dict_rows import is_one_row
from ..errors import InvalidInput, NotInstalled
from ..errors.message import Setting
from ..judge.metrics import display_width, truncated_line
from ..page.numbers import counted, number_text, signed
from ..page.pictures import density_lines, histogram_lines, scale_ticks, shown_values
from ..page.style import COLORS, DARK, LIGHT, Theme, class_color
from ..stats.arithmetic import commonest
from .evidence import Evidence
from .evidence_lines import bar_length, evidence_picture

if TYPE_CHECKING:
    from ..estimator.naive_bayes import NaiveBayes
from .distributions import column_distributions

# A chart of Altair, which is imported only when one is drawn.
Chart: TypeAlias = Any
ThemeName: TypeAlias = Literal["light", "dark"]

# The width of a chart, the height of a distribution, and the pixels that labels of an axis may take: Vega cuts at 180.
SIZE, HEIGHT, LABEL_PIXELS = 300, 110, 600
# Fonts with Chinese characters, where the system has them.
CHART_FONT = "sans-serif, PingFang SC, Microsoft YaHei, Noto Sans CJK SC, WenQuanYi Zen Hei"
# Of a nomogram: values of labels and of numbers that have a mark on their axis; of two classes, probabilities that do.
MARKED_LABELS, MARKED_NUMBERS = 12, 9
PROBABILITIES = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)
# Of a nomogram: its width, the height of an axis, the pixels of a character of a label, and the longest label.
WIDTH, STEP, CHARACTER, LONGEST_MARK = 1.6 * SIZE, 40, 5.5, 18


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


def evidence_steps(evidence: Evidence, row: int) -> list[JsonObject]:
    """Return a bar from zero for each line of the picture; one without an end is as long as the longest."""
    _, lines, longest = evidence_picture(evidence, row)
    steps, above = [], ""
    for line in lines:
        is_part = line.kind == "part"  # every column has these: bars are distinguished by their names
        above = above if is_part else f"{line.name}  {line.value}".strip()
        end = bar_length(line.lead, longest or 1.0) * (longest or 1.0)
        steps.append(_step(f"{above}: {line.name.strip()}" if is_part else above, 0.0, end, line.lead, line.note))
    return steps


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


# -- nomograms ---------------------------------------------------------------------------------------------------------


class NomogramAxes(NamedTuple):
    """The classes that are compared, the row's own log-odds, and the marks of all axes, the widest axis first.

    A mark is a value: its `column`, how it is written, the log-odds with it as `odds`, and whether it is the row's
    `own`.
    """

    label: Label
    against: Label
    log_odds: float
    marks: list[JsonObject]


def nomogram_axes(nb: NaiveBayes, row: TableLike, label: Label, against: Label) -> NomogramAxes:
    """Return the axes of one row, which is a dict of its cells.

    Every mark is a prediction of the model itself, pairs of columns and all, so that it holds for any model.
    """
    if not (isinstance(row, Mapping) and is_one_row(row)):
        raise InvalidInput("Give one row as a dict such as {'age': 28, 'sex': 'male'}.")
    first = nb.explain(row, against)
    k = int(first.answer[0]) if label is None else _place(first, label)
    other = int(first.against[0]) if against is None else _place(first, against)
    if k == other:
        other = int(np.argmax(np.where(np.arange(len(first.classes)) == k, -np.inf, first.probabilities[0])))
    cells = _cells_to_try(nb, row)
    tried = nb.explain([dict(row), *({**row, name: value} for name, value, _ in cells)]).log_joint
    with np.errstate(invalid="ignore"):  # both classes may be ruled out
        total, *leads = (tried[:, k] - tried[:, other]).tolist()
    own = {name: first.texts(name)[0] for name in dict.fromkeys(name for name, _, _ in cells)}
    marks: list[JsonObject] = [
        {"column": name, "value": shown, "odds": total, "own": True} for name, shown in own.items()
    ]
    for (name, _, shown), lead in zip(cells, leads, strict=True):
        if np.isfinite(lead) and shown != own[name]:
            marks.append({"column": name, "value": shown, "odds": lead, "own": False})
    odds = {name: [mark["odds"] for mark in marks if mark["column"] == name] for name in own}
    order = sorted(odds, key=lambda name: min(odds[name]) - max(odds[name]))
    marks.sort(key=lambda mark: order.index(mark["column"]))
    if len(first.classes) == 2:  # probabilities within what the axes reach; the floor under them included
        least, most = (end((mark["odds"] for mark in marks), default=0.0) for end in (min, max))
        floor = np.zeros(2) if first.floor is None else first.floor
        for probability in PROBABILITIES:
            share = (probability - float(floor[k])) / (1 - float(floor.sum()))
            if 0 < share < 1 and least <= (lead := log(share / (1 - share))) <= most:
                mark = {"column": "probability", "value": f"{100 * probability:g} %", "odds": lead, "own": False}
                marks.append(mark)
    return NomogramAxes(first.classes[k], first.classes[other], total, marks)


def _place(evidence: Evidence, label: Label) -> int:
    if label not in evidence.classes:
        raise InvalidInput(
            f"{label!r} is no class; the classes are {list(evidence.classes)}.", classes=list(evidence.classes)
        )
    return evidence.classes.index(label)


def _cells_to_try(nb: NaiveBayes, row: Mapping[str, Label]) -> list[tuple[str, Label, str]]:
    """Return column, value and its text for each mark: the commonest labels, and round numbers over the range."""
    model, cells = nb.fitted_.model, list[tuple[str, Label, str]]()
    shown = column_distributions(model, nb.fitted_.all_counts, model.schema.names)
    for column in model.schema:
        name, distribution = column.name, shown[column.name]
        if distribution is None or distribution["kind"] == "words":
            continue
        if distribution["kind"] == "labels":
            table = model.label_tables[name]
            labels = [table.values.labels[place] for place in commonest(table.n.sum(axis=0), MARKED_LABELS).tolist()]
            cells += [(name, value, str(value)) for value in labels if value is not None]
        elif column.type != "time" and name in row:
            numbers = [x for _, x in scale_ticks(*_range_of(distribution), MARKED_NUMBERS)]
            cells += [(name, x, number_text(x)) for x in numbers if x.is_integer() or column.type != "whole"]
    return cells


def _range_of(distribution: JsonObject) -> tuple[float, float]:
    """Return where the numbers of a column lie."""
    if distribution["kind"] == "bins":
        return distribution["low"], distribution["high"]
    ends = [
        mean + side * 3 * deviation
        for n, mean, deviation in zip(distribution["n"], distribution["mean"], distribution["sd"], strict=True)
        for side in (-1, 1)
        if n
    ]
    return min(ends, default=0.0), max(ends, default=0.0)


def nomogram_chart(alt: ModuleType, axes: NomogramAxes, theme: Theme) -> Chart:
    """Return the axes below each other, a rule at the row's own log-odds, and its own values filled."""
    marks = labelled_marks(axes)
    order = list(dict.fromkeys(str(mark["column"]) for mark in marks))
    base = alt.Chart(alt.InlineData(values=marks)).encode(
        x=alt.X("odds:Q", title=f"log-odds of {axes.label} against {axes.against}, all other cells held"),
        y=alt.Y("column:N", axis=name_axis(alt), sort=order),
        tooltip=["column:N", "value:N", "odds:Q"],
    )
    line = base.mark_line(color=theme.muted, strokeWidth=1).encode(detail="column:N", order="odds:Q")
    ticks = base.transform_filter("!datum.own").mark_tick(color=theme.ink, thickness=1, height=8)
    own = base.transform_filter("datum.own").mark_point(color=theme.positive, filled=True, opacity=1, size=60)
    here = alt.Chart(alt.InlineData(values=[{"odds": axes.log_odds}]))
    rule = here.mark_rule(color=theme.positive, strokeDash=[4, 4], opacity=0.4).encode(x="odds:Q")
    labels = (
        base.transform_filter(f"datum.place == {place} && datum.own == {str(is_own).lower()}")
        .mark_text(dy=dy, fontSize=9, color=theme.ink, fontWeight="bold" if is_own else "normal")
        .encode(text="shown:N")
        for place, dy in ((0, -11), (1, 12))
        for is_own in (False, True)
    )
    return alt.layer(rule, line, ticks, own, *labels).properties(width=WIDTH, height=STEP * max(len(order), 1))


def labelled_marks(axes: NomogramAxes) -> list[JsonObject]:
    """Return the marks, each with its label above (0) or below (1) its axis; one that would lie on another has none."""
    odds = [mark["odds"] for mark in axes.marks]
    per_pixel = (max(odds, default=1.0) - min(odds, default=0.0)) / WIDTH or 1.0
    marks, taken = list[JsonObject](), dict[tuple[str, int], list[tuple[float, float]]]()
    columns = list(dict.fromkeys(mark["column"] for mark in axes.marks))
    # The row's own value first, so that no other mark takes the place of its label.
    for mark in sorted(axes.marks, key=lambda mark: (columns.index(mark["column"]), not mark["own"], mark["odds"])):
        shown = truncated_line(mark["value"], LONGEST_MARK)
        half = (display_width(shown) + 1) * CHARACTER * per_pixel / 2
        begin, end = mark["odds"] - half, mark["odds"] + half
        place = -1
        for side in (1, 0):
            spans = taken.setdefault((mark["column"], side), [])
            place = side if all(end < left or right < begin for left, right in spans) else place
        if place >= 0:
            taken[mark["column"], place].append((begin, end))
        marks.append(mark | {"shown": shown, "place": place})
    return marks
