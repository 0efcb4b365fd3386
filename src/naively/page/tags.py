"""HTML elements from texts: everything that is not HTML already is escaped, and nothing that could run is made."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from .._types import JsonObject

# Elements without content: those of HTML have no end tag, those of SVG close themselves.
VOID = frozenset({"br", "hr", "img", "input", "meta", "link", "wbr"})
SHAPES = frozenset({"rect", "line", "path", "circle", "polyline"})
# Characters that HTML and XML cannot hold; they are shown as the replacement character.
UNREADABLE = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127, 65534, 65535), "�")


class Html(str):
    """A text that is HTML already and is not escaped again."""

    __slots__ = ()


Child: TypeAlias = "str | Html | Iterable[str | Html]"
Attribute: TypeAlias = "str | int | float | bool | None"


def escape(text: object) -> Html:
    """Return any value's text as HTML that shows it, also within quotes of an attribute.

    >>> escape("<img src=x onerror=alert(1)>")
    '&lt;img src=x onerror=alert(1)&gt;'
    """
    if isinstance(text, Html):
        return text
    readable = str(text).translate(UNREADABLE).encode("utf-8", "replace").decode("utf-8")
    return Html(html.escape(readable))


def tag(element: str, *children: Child, css: str = "", **attributes: Attribute) -> Html:
    """Return an element; `css` holds its classes, an underscore in the name of an attribute is a hyphen.

    Attributes that are None or False are omitted, and those that are True have no value.

    >>> tag("td", "a < b", css="nv-n", colspan=2)
    '<td class="nv-n" colspan="2">a &lt; b</td>'
    >>> tag("svg", tag("rect", width=3), aria_label="3 of 5")
    '<svg aria-label="3 of 5"><rect width="3"/></svg>'
    """
    parts = [element]
    for name, value in {"class": css or None, **attributes}.items():
        if name == "style" or name.startswith("on"):
            raise ValueError(f"The attribute {name!r} is against the Content-Security-Policy: use a class of the style")
        if value is None or value is False:
            continue
        # viewBox and the like are the only names with capitals; hyphens are underscores in Python.
        written = name.rstrip("_").replace("_", "-")
        text = f"{round(value, 2):g}" if isinstance(value, float) else str(value)
        parts.append(written if value is True else f'{written}="{escape(text)}"')
    start = " ".join(parts)
    if element in SHAPES and not children:
        return Html(f"<{start}/>")
    return Html(f"<{start}>" if element in VOID else f"<{start}>{joined(*children)}</{element}>")


def joined(*children: Child) -> Html:
    """Return texts and elements one after the other."""
    parts: list[str] = []
    for child in children:
        parts += [escape(child)] if isinstance(child, str) else map(escape, child)
    return Html("".join(parts))


def label(text: object, longest: int = 40) -> Html:
    """Return a text of the data as a span; a long one is cut, and shown whole when it is pointed at.

    >>> label("abcdef", longest=4)
    '<span title="abcdef">abc…</span>'
    """
    line = " ".join(str(text).split())
    if len(line) <= longest:
        return tag("span", line)
    # A text may be a whole book: the title shows its beginning.
    return tag("span", line[: longest - 1] + "…", title=line[:400])


def table(head: Sequence[Child], rows: Iterable[Html], css: str = "", caption: Child = "") -> Html:
    """Return a table of rows that are HTML, below a line of headings."""
    headings = [tag("th", heading, scope="col") for heading in head]
    body = (tag("thead", tag("tr", headings)), tag("tbody", list(rows)))
    return tag("table", tag("caption", caption) if caption else "", *body, css=css)


def row(heading: Child, *cells: Child, **attributes: str) -> Html:
    """Return a row of a table: its heading, and cells that are elements."""
    return tag("tr", tag("th", heading, scope="row", dir="auto"), *cells, **attributes)


def number(text: str, *below: Child, css: str = "", **attributes: Attribute) -> Html:
    """Return a cell with a number, aligned to the end."""
    return tag("td", text, *below, css=f"nv-n {css}".rstrip(), **attributes)


def scrolled(*content: Child, name: str, css: str = "wide") -> Html:
    """Return content that may be wider than the page in a box of its own that scrolls, by keys as well."""
    return tag("div", *content, css=css, tabindex=0, role="group", aria_label=name)


def json_for_script(value: JsonObject) -> str:
    """Return JSON that ends no script element, whatever texts it holds."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Half of a surrogate pair cannot be written as UTF-8; as an escape JSON can hold it.
    return re.sub("[<>&\u2028\u2029\ud800-\udfff]", lambda match: f"\\u{ord(match[0]):04x}", text)
