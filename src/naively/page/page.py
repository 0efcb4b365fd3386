"""The page as one HTML file: style, static sections, data and scripts, under a strict Content-Security-Policy."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from ..flat import SCORER
from ..markup.numbers import count_text
from ..markup.script_data import json_for_script
from ..markup.style import picture_css, theme_css
from ..markup.tags import Html, joined, tag
from .compare_section import compare_section
from .model_section import model_section
from .packed import LOADER, packed_text, shorter_script, shorter_style
from .page_data import PageData
from .page_strings import ASSETS, PageStrings, page_strings
from .quality_section import quality_section
from .row_section import row_section
from .server_section import server_section
from .words_section import words_section

# A section returns its static HTML, or None where the model has nothing to show in it.
SectionMaker: TypeAlias = Callable[[PageData, PageStrings], Html | None]


class PageSection(NamedTuple):
    """One tab of the page: its name, which is its id, and how its static part is made."""

    name: str
    make: SectionMaker


SECTIONS = (
    PageSection("row", row_section),
    PageSection("model", model_section),
    PageSection("quality", quality_section),
    PageSection("words", words_section),
    PageSection("compare", compare_section),
    PageSection("server", server_section),
)
# What each tab runs, after the shell and the scorer; what a page does not need is not in it.
SCRIPTS = {
    "row": ("axes.js", "cells.js", "texts.js", "row.js"),
    "model": ("model.js",),
    "quality": ("quality.js",),
    "words": ("words.js",),
    "compare": ("compare.js",),
    "server": ("server.js",),
}
# The style of the static page, and what only the living one has, which is packed with the scripts.
STYLES, LIVE_STYLES = ("page.css", "quality.css"), ("row.css",)
# Classes that the footer names; of more, it gives their number.
NAMED_CLASSES = 12


def report_page(data: PageData, sections: Sequence[PageSection] = SECTIONS) -> str:
    """Return the whole page as one HTML file that needs nothing else.

    Parameters
    ----------
    data : PageData
        What the page shows.
    sections : sequence of PageSection
        The tabs; those that have nothing to show are left out.

    Returns
    -------
    html : str
        The page, which can be written to a file as UTF-8.
    """
    strings = page_strings(data.language)
    made = {section.name: section.make(data, strings) for section in sections}
    shown = {name: html for name, html in made.items() if html is not None}
    style, script = page_style(), page_script(list(shown), has_texts(data))
    policy = content_security_policy(style, script, data.server is not None)
    packed = packed_text(script, _embedded(data, strings, script))
    head = joined(
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", f"{data.title} · naively"),
        Html(f"<style>{style}</style>"),
    )
    body = joined(
        _header(data, strings, list(shown)),
        tag("main", [_section(name, html, strings) for name, html in shown.items()]),
        _footer(data, strings),
        Html(f'<script type="text/plain" id="naively-packed">{packed}</script><script>{LOADER}</script>'),
    )
    language = {"en": "en", "zh": "zh-CN"}[data.language]
    return f"<!doctype html>\n{tag('html', tag('head', head), tag('body', body), lang=language)}\n"


def page_style() -> str:
    """Return the style sheet of the page: the palette for light and dark, then the rules."""
    return shorter_style("\n".join([theme_css(":root"), picture_css("body"), *_assets(STYLES)]))


def page_script(names: Sequence[str], with_texts: bool) -> str:
    """Return the scripts of some tabs, one after the other: the shell and the scorer first."""
    own = [name for tab in names for name in SCRIPTS.get(tab, ()) if with_texts or name != "texts.js"]
    return shorter_script("\n".join([*_assets(["page.js"]), SCORER.read_text("utf-8"), *_assets(own)]))


def has_texts(data: PageData) -> bool:
    """Tell whether the model has a column of texts."""
    return any(column["kind"] == "text" for column in data.flat["columns"])


def content_security_policy(style: str, script: str, served: bool = False) -> str:
    """Return the policy that allows one style sheet, one script and what unpacks it, and nothing else.

    Parameters
    ----------
    style, script : str
        The style sheet and the script of the page.
    served : bool
        Whether the page comes from a server, which its script may query.

    Returns
    -------
    policy : str
        The value of the header Content-Security-Policy.
    """
    scripts = f"script-src {_digest(LOADER)} {_digest(script)}"
    parts = ["default-src 'none'", scripts, f"style-src {_digest(style)}"]
    parts += ["img-src data:", "base-uri 'none'", "form-action 'none'"]
    return "; ".join([*parts, "connect-src 'self'"] if served else parts)


def _assets(names: Sequence[str]) -> list[str]:
    """Return the texts of those files that there are."""
    return [path.read_text("utf-8") for path in (ASSETS / name for name in names) if path.exists()]


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _embedded(data: PageData, strings: PageStrings, script: str) -> str:
    """Return the data of the page, with the texts that its scripts name, whole or by how they begin."""
    begins = tuple(re.findall(r"`([a-z_]+\.[a-z_.]*)\$\{", script))
    said = {key: text for key, text in strings.texts.items() if f'"{key}"' in script or key.startswith(begins)}
    style = shorter_style("\n".join(_assets(LIVE_STYLES)))
    return json_for_script(data.to_json() | {"strings": said, "style": style})


def _header(data: PageData, strings: PageStrings, names: Sequence[str]) -> Html:
    """Return the title, the tabs, and the place of the row's answer."""
    size, rows = len(data.flat["columns"]), count_text(sum(data.class_rows))
    columns = strings.say("page.column" if size == 1 else "page.columns", n=count_text(size))
    target = data.flat["target"] or strings.say("page.the_class")
    about = strings.say("page.about", target=target, rows=rows, columns=columns, classes=len(data.classes))
    links = [tag("a", strings.say(f"page.tab.{name}"), href=f"#{name}", id=f"tab-{name}") for name in names]
    title = tag("div", tag("h1", data.title, dir="auto"), tag("p", about, css="muted", dir="auto"), css="title")
    nav = tag("nav", tag("div", links, css="tabs"), aria_label=strings.say("page.parts"))
    sticky = tag(
        "div",
        nav,
        tag("div", id="answer", css="answer", role="region", aria_label=strings.say("page.answer")),
        css="sticky",
    )
    return joined(tag("header", title), sticky)


def _section(name: str, html: Html, strings: PageStrings) -> Html:
    heading = tag("h2", strings.say(f"page.tab.{name}"), id=f"heading-{name}")
    return tag("section", heading, tag("div", html, css="life"), id=name, aria_labelledby=f"heading-{name}")


def _footer(data: PageData, strings: PageStrings) -> Html:
    """Return what the file holds, so that whoever passes it on knows."""
    names = [str(label) for label in data.classes]
    listed = ", ".join(names[:NAMED_CLASSES]) + (" …" if len(names) > NAMED_CLASSES else "")
    labels = sum(len(column["values"]) for column in data.flat["columns"] if column["kind"] == "label")
    words = sum(len(column["words"]) for column in data.flat["columns"] if isinstance(column.get("words"), list))
    parts = [strings.say("page.holds.classes", n=len(names), names=listed)]
    parts += [strings.say("page.holds.labels", n=count_text(labels))] if labels else []
    parts += [strings.say("page.holds.words", n=count_text(words))] if words else []
    left_out = sum(column.get("left_out", 0) for column in data.flat["columns"])
    parts += [strings.say("page.holds.fewer_words", n=count_text(left_out))] if left_out else []
    parts += [rows_note(data, strings)]
    made = strings.say("page.made" if data.server is None else "server.made", version=data.version)
    return tag("footer", tag("p", strings.say("page.holds"), " ", " ".join(parts), dir="auto"), tag("p", made))


def rows_note(data: PageData, strings: PageStrings) -> str:
    """Return which rows the page holds, and whether the model was fitted on them."""
    rows = data.rows
    if rows is None or not len(rows):
        return strings.say("page.holds.no_rows")
    key = "page.holds.all_rows" if len(rows) == rows.total else "page.holds.some_rows"
    source = rows.source or strings.say("page.the_table")
    note = strings.say(key, n=count_text(len(rows)), total=count_text(rows.total), source=source)
    if rows.fitted_on is None:
        return note
    return f"{note} {strings.say('page.holds.fitted' if rows.fitted_on else 'page.holds.not_fitted')}"
