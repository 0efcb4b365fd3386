"""The colors of all pictures: those of Okabe and Ito, which readers of every color vision tell apart.

On light backgrounds the palest of them are darkened, on dark ones all are lightened, so that each has a contrast of at
least 3:1 with its background; texts have at least 4.5:1. The tests compute these ratios.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Theme(NamedTuple):
    """The colors of light or of dark pictures."""

    background: str
    raised: str  # the background of headings and codes
    ink: str
    muted: str  # secondary text
    line: str  # borders, which carry no meaning
    classes: tuple[str, ...]
    positive: str  # contributions for the answer
    negative: str  # contributions against it
    for_tints: tuple[str, ...]  # backgrounds of text, the strongest last
    against_tints: tuple[str, ...]


LIGHT = Theme(
    background="#ffffff",
    raised="#f5f6f8",
    ink="#1b1e22",
    muted="#586069",
    line="#d5d9de",
    classes=("#0072B2", "#D55E00", "#009E73", "#B65A8E", "#B07A00", "#2F8FC4", "#595959", "#857A00"),
    positive="#0072B2",
    negative="#D55E00",
    for_tints=("#dcecf8", "#a9d2ef", "#72b8e6"),
    against_tints=("#fde6d8", "#f8c29d", "#f29b64"),
)
DARK = Theme(
    background="#16191d",
    raised="#22262c",
    ink="#e9ebee",
    muted="#a3abb5",
    line="#3b424b",
    classes=("#56B4E9", "#FF9955", "#2BC79A", "#E59BC6", "#EDB23C", "#A8D8F5", "#C4C4C4", "#D9CE4A"),
    positive="#56B4E9",
    negative="#FF9955",
    for_tints=("#15324a", "#12486e", "#0b5c94"),
    against_tints=("#47291a", "#6a3816", "#8a4510"),
)
# How many colors there are; class number k has the color k modulo this.
COLORS = len(LIGHT.classes)
CLASS_COLORS = LIGHT.classes
CLASS_COLORS_DARK = DARK.classes


def class_color(k: int, theme: Theme = LIGHT) -> str:
    """Return the color of the class at place k.

    >>> class_color(0), class_color(8)
    ('#0072B2', '#0072B2')
    """
    return theme.classes[k % len(theme.classes)]


def class_colors(size: int, theme: Theme = LIGHT) -> list[str]:
    """Return the colors of the first classes."""
    return [class_color(k, theme) for k in range(size)]


def css_variables(theme: Theme) -> str:
    """Return the colors of a theme as declarations of CSS variables.

    >>> css_variables(LIGHT)[:36]
    '--nv-bg:#ffffff;--nv-raised:#f5f6f8;'
    """
    plain = {"bg": theme.background, "raised": theme.raised, "ink": theme.ink, "muted": theme.muted}
    plain |= {"line": theme.line, "for": theme.positive, "against": theme.negative}
    named = plain | _numbered("c", theme.classes, 0) | _numbered("f", theme.for_tints, 1)
    return "".join(f"--nv-{name}:{color};" for name, color in (named | _numbered("a", theme.against_tints, 1)).items())


def contrast_ratio(first: str, second: str) -> float:
    """Return the contrast of two colors as WCAG 2 defines it, from 1 to 21.

    >>> round(contrast_ratio("#000000", "#ffffff"), 1)
    21.0
    """
    low, high = sorted((_luminance(first), _luminance(second)))
    return (high + 0.05) / (low + 0.05)


def _numbered(letter: str, colors: Sequence[str], first: int) -> dict[str, str]:
    return {f"{letter}{at}": color for at, color in enumerate(colors, first)}


def _luminance(color: str) -> float:
    parts = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
