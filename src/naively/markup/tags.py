"""HTML elements from texts: whatever is not HTML already is escaped, and nothing that could run is made."""

from __future__ import annotations

import html
from collections.abc import Collection, Iterable, Sequence
from typing import TypeAlias

# Elements that have no content: those of HTML have no end, those of SVG end themselves.
VOID = frozenset({"br", "hr", "img", "input", "meta", "link", "wbr"})
SHAPES = frozenset({"rect", "line", "path", "circle", "polyline"})
# Characters that HTML and XML cannot hold; they are shown as the replacement character.
UNREADABLE = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127, 65534, 65535), "�")


class Html(str):
    """A text that is HTML already, and is not escaped again."""

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
    """Return an element; `css` is its classes, an underscore in the name of an attribute is a hyphen.

    Attributes that are None or False are left out, and those that are True have no value.

    >>> tag("td", "a < b", css="nv-n", colspan=2)
    '<td class="nv-n" colspan="2">a &lt; b</td>'
    >>> tag("svg", tag("rect", width=3), aria_label="3 of 5")
    '<svg aria-label="3 of 5"><rect width="3"/></svg>'
    """
    opened = f"<{element}{_attributes({'class': css or None, **attributes})}"
    if element in SHAPES and not children:
        return Html(f"{opened}/>")
    return Html(f"{opened}>" if element in VOID else f"{opened}>{joined(*children)}</{element}>")


def joined(*children: Child) -> Html:
    """Return texts and elements one after the other."""
    parts: list[str] = []
    for child in children:
        parts += [escape(child)] if isinstance(child, str) else [escape(one) for one in child]
    return Html("".join(parts))


def label(text: object, longest: int = 40, css: str = "") -> Html:
    """Return a text of the data as a span; a long one is cut, and shown whole when it is pointed at.

    >>> label("abcdef", longest=4)
    '<span title="abcdef">abc…</span>'
    """
    whole = " ".join(str(text).split())
    if len(whole) <= longest:
        return tag("span", whole, css=css)
    # A text may be a whole book: the title shows its beginning.
    return tag("span", whole[: longest - 1] + "…", css=css, title=whole[:400])


def details(summary: Child, *children: Child, opened: bool = False) -> Html:
    """Return what is folded away until its summary is clicked, which needs no script."""
    return tag("details", tag("summary", summary), *children, open=opened)


def table(
    head: Sequence[Child], rows: Iterable[Html], css: str = "", numbers: Collection[int] = (), caption: Child = ""
) -> Html:
    """Return a table of rows that are HTML, below a line of headings; those above numbers are aligned as these are."""
    heads = [tag("th", one, scope="col", css="nv-n" if at in numbers else "") for at, one in enumerate(head)]
    body = (tag("thead", tag("tr", heads)), tag("tbody", list(rows)))
    return tag("table", tag("caption", caption) if caption else "", *body, css=css)


def scrolled(what: Html, name: str) -> Html:
    """Return something that may be wider than the page in a box of its own that scrolls, by keys as well."""
    return tag("div", what, css="nv-scroll", tabindex=0, role="group", aria_label=name)


def _attributes(given: dict[str, Attribute]) -> str:
    parts = []
    for name, value in given.items():
        if name == "style" or name.startswith("on"):
            raise ValueError(f"The attribute {name!r} is against the Content-Security-Policy: use a class of the style")
        if value is None or value is False:
            continue
        # viewBox and its kin are the only names with capitals; hyphens are underscores in Python.
        written = name.rstrip("_").replace("_", "-")
        parts.append(f" {written}" if value is True else f' {written}="{escape(_plain(value))}"')
    return "".join(parts)


def _plain(value: Attribute) -> str:
    return f"{round(value, 2):g}" if isinstance(value, float) else str(value)
