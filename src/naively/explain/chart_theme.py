"""Altair, if it is there, and the look of all charts: the palette, light and dark, labels that are not cut."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any, Literal, TypeAlias, get_args

from .._types import Label
from ..errors import InvalidInput, NotInstalled
from ..errors.message import Setting
from ..markup.palette import DARK, LIGHT, Theme, class_colors

# A chart of Altair, which is imported only when one is drawn.
Chart: TypeAlias = Any
ThemeName: TypeAlias = Literal["light", "dark"]

# The width of a chart, and the pixels that labels of an axis may take: Vega cuts them at 180.
SIZE, LABEL_PIXELS = 300, 600
# Fonts with Chinese characters, where the system has them.
CHART_FONT = "sans-serif, PingFang SC, Microsoft YaHei, Noto Sans CJK SC, WenQuanYi Zen Hei"


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

    A light one is left as it is, for charts with a configuration of their own cannot be put beside each other.
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


def colors_of(alt: ModuleType, field: str, names: list[str], theme: Theme) -> Chart:
    """Return a color for each name, and no legend for one alone."""
    scale = alt.Scale(domain=names, range=class_colors(len(names), theme))
    legend = alt.Legend(labelLimit=LABEL_PIXELS, symbolOpacity=1) if len(names) > 1 else None
    return alt.Color(f"{field}:N", title=None, scale=scale, legend=legend)


def distinct_names(labels: list[Label]) -> list[str]:
    """Return labels as texts; those that read alike, as 1 and "1", are told apart by their type."""
    texts = [str(label) for label in labels]
    return [
        text if texts.count(text) == 1 else f"{text} ({type(label).__name__})"
        for text, label in zip(texts, labels, strict=True)
    ]
