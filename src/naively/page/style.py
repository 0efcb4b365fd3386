"""The look of pages and notebook views: the colors of Okabe and Ito, light and dark, and the style sheets.

Readers of every color vision tell these colors apart. On light backgrounds the palest are darkened, on dark ones all
are lightened, so that shapes have a contrast of at least 3:1 with their background and texts 4.5:1; the tests compute
it.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from .tags import Child, Html, tag

ASSETS = Path(__file__).parent / "assets"


class Theme(NamedTuple):
    """The colors of light or of dark pictures."""

    background: str
    raised: str  # the background of headings and codes
    ink: str
    muted: str  # secondary text
    line: str  # borders, which carry no meaning
    classes: tuple[str, ...]
    positive: str  # contributions for the predicted class
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
# How notebooks and pages say that they are light or dark, whatever the reader's system prefers.
LIGHT_PLACES = ('[data-jp-theme-light="true"]', "body.vscode-light", 'html[theme="light"]', 'html[data-theme="light"]')
DARK_PLACES = ('[data-jp-theme-light="false"]', "body.vscode-dark", 'html[theme="dark"]', 'html[data-theme="dark"]')

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def class_color(k: int, theme: Theme = LIGHT) -> str:
    """Return the color of the class at index k.

    >>> class_color(0), class_color(8)
    ('#0072B2', '#0072B2')
    """
    return theme.classes[k % COLORS]


def theme_css(scope: str, in_notebook: bool = False) -> str:
    """Return the rules that give a selector the colors of its theme as CSS variables; what is printed is light.

    Parameters
    ----------
    scope : str
        The selector, such as ``.naively`` or ``:root``.
    in_notebook : bool, default=False
        Whether the theme of a notebook around it comes before what the reader's system prefers.
    """

    def declarations(theme: Theme, scheme: str) -> str:
        colors = {"bg": theme.background, "raised": theme.raised, "ink": theme.ink, "muted": theme.muted}
        colors |= {"line": theme.line, "for": theme.positive, "against": theme.negative}
        for letter, first, series in (
            ("c", 0, theme.classes),
            ("f", 1, theme.for_tints),
            ("a", 1, theme.against_tints),
        ):
            colors |= {f"{letter}{number}": color for number, color in enumerate(series, first)}
        return "".join(f"--nv-{name}:{color};" for name, color in colors.items()) + f"color-scheme:{scheme}"

    def within(places: tuple[str, ...]) -> str:
        return ",".join(f"{place} {scope}" for place in places)

    dark = declarations(DARK, "dark")
    preferred = f"{scope}:not({within(LIGHT_PLACES)})" if in_notebook else scope
    chosen = f"{within(DARK_PLACES)}{{{dark}}}" if in_notebook else ""
    rules = f"{chosen}@media (prefers-color-scheme:dark){{{preferred}{{{dark}}}}}"
    return f"{scope}{{{declarations(LIGHT, 'light')}}}\n@media screen{{{rules}}}"


def section_css() -> str:
    """Return the rules of sections and their pictures: those of `sections.css`, and the colors of classes and words."""
    rules = [(ASSETS / "sections.css").read_text("utf-8")]
    for k in range(COLORS):
        color = f"var(--nv-c{k})"
        rules.append(f".nv-c{k}{{fill:{color}}}")
        rules.append(f".nv-s{k}{{fill:none;stroke:{color};stroke-width:1.5;vector-effect:non-scaling-stroke}}")
        rules.append(f".q-k{k}{{fill:{color};fill-opacity:.16;stroke:{color};stroke-width:1.5}}")
    rules += [f".nv-{side}{level}{{background:var(--nv-{side}{level})}}" for side in "fa" for level in (1, 2, 3)]
    return "\n".join(rules)


def shorter_style(style: str) -> str:
    """Return a style sheet without comments, indentation, and blanks that nothing needs.

    >>> shorter_style("a:hover, p { color: red; margin: 0 1px; }")
    'a:hover,p{color:red;margin:0 1px}'
    """
    text = "\n".join(line.strip() for line in COMMENT.sub("", style).splitlines() if line.strip())
    for blank, short in ((" {", "{"), ("{ ", "{"), (": ", ":"), ("; ", ";"), (";}", "}"), (" }", "}"), (", ", ",")):
        text = text.replace(blank, short)
    return text


@cache
def notebook_css() -> str:
    """Return the style sheet of notebook views: the rules of sections, nested so that they reach nothing outside."""
    rules = section_css() + (ASSETS / "notebook.css").read_text("utf-8")
    # Three times the class: these rules must outweigh those that notebooks have for all tables.
    return shorter_style(f"{theme_css('.naively', in_notebook=True)}\n.naively.naively.naively{{{rules}}}")


def notebook_view(*body: Child) -> Html:
    """Return sections in the box of a notebook view, with its style sheet."""
    return tag("div", Html(f"<style>{notebook_css()}</style>"), *body, css="naively")
