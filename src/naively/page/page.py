"""The page as one HTML file: style, static sections, data and scripts, under a strict Content-Security-Policy.

Scripts and data are compressed, and a loader of a few lines unpacks them. The policy names the digests of the loader
and of the script, and so allows both and nothing else. Without JavaScript, or in a browser without
`DecompressionStream`, the static page stays as it is.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from base64 import b64encode
from collections.abc import Callable, Sequence

from .._types import JsonObject
from .content import PageData, page_texts
from .numbers import count_text
from .sections import compare_section, model_section, quality_section, row_section, server_section, words_section
from .style import ASSETS, section_css, shorter_style, theme_css
from .tags import Html, joined, json_for_script, tag

# The tabs: a section is None where the model has nothing to show in it.
SECTIONS: dict[str, Callable[[PageData], Html | None]] = {
    "row": row_section,
    "model": model_section,
    "quality": quality_section,
    "words": words_section,
    "compare": compare_section,
    "server": server_section,
}
# What each tab runs, after the shell and the scorer; a page holds the scripts of its tabs only.
SCRIPTS = {"row": ("axes.js", "cells.js", "texts.js", "row.js")}
# Classes that the footer names; of more, it gives their number.
NAMED_CLASSES = 12
# Lines that only explain; the others lose the blanks before them. No text of several lines is in the scripts.
COMMENT_LINE = re.compile(r"^\s*(//.*)?$")
LOADER = """
(async () => {
if (!window.DecompressionStream) return;
const bytes = Uint8Array.from(atob(document.getElementById("naively-packed").textContent), (c) => c.charCodeAt(0));
const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
const text = await new Response(stream).text();
const head = text.indexOf("\\n") + 1, end = head + parseInt(text, 10);
for (const [type, content] of [["application/json", text.slice(end)], ["", text.slice(head, end)]]) {
const element = document.createElement("script");
if (type) { element.type = type; element.id = "naively-data"; }
element.textContent = content;
document.body.append(element);
}
})();
"""


def report_page(data: PageData) -> str:
    """Return the whole page as one HTML file that needs nothing else.

    Parameters
    ----------
    data : PageData
        What the page shows.

    Returns
    -------
    html : str
        The page, which can be written to a file as UTF-8.
    """
    sections = {name: make(data) for name, make in SECTIONS.items()}
    shown = {name: html for name, html in sections.items() if html is not None}
    style = shorter_style("\n".join([theme_css(":root"), section_css(), _asset("page.css")]))
    script = page_script(list(shown), any(column["kind"] == "text" for column in _flat_columns(data)))
    policy = content_security_policy(style, script, data.server is not None)
    # Of the texts, those that scripts name, whole or by how they begin.
    begins = tuple(re.findall(r"`([a-z_]+\.[a-z_.]*)\$\{", script))
    texts = page_texts(data.language).items()
    strings = {key: text for key, text in texts if f'"{key}"' in script or key.startswith(begins)}
    content = data.to_json() | {"strings": strings, "style": shorter_style(_asset("live.css"))}
    head = joined(
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", f"{data.title} · naively"),
        Html(f"<style>{style}</style>"),
    )
    packed = packed_text(script, json_for_script(content))
    body = joined(
        _header(data, list(shown)),
        tag("main", [_section(data, name, html) for name, html in shown.items()]),
        _footer(data),
        Html(f'<script type="text/plain" id="naively-packed">{packed}</script><script>{LOADER}</script>'),
    )
    language = {"en": "en", "zh": "zh-CN"}[data.language]
    return f"<!doctype html>\n{tag('html', tag('head', head), tag('body', body), lang=language)}\n"


# -- scripts and data --------------------------------------------------------------------------------------------------


def _asset(name: str) -> str:
    return (ASSETS / name).read_text("utf-8")


def page_script(tabs: Sequence[str], with_texts: bool) -> str:
    """Return the scripts of some tabs, without the lines and blanks that only people need."""
    names = [name for tab in tabs for name in SCRIPTS.get(tab, (f"{tab}.js",)) if with_texts or name != "texts.js"]
    lines = "\n".join(map(_asset, ["page.js", "scorer.js", *names])).splitlines()
    return "\n".join(line.strip() for line in lines if not COMMENT_LINE.match(line))


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

    def digest(text: str) -> str:
        return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    scripts = f"script-src {digest(LOADER)} {digest(script)}"
    parts = ["default-src 'none'", scripts, f"style-src {digest(style)}"]
    parts += ["img-src data:", "base-uri 'none'", "form-action 'none'"]
    return "; ".join([*parts, "connect-src 'self'"] if served else parts)


def packed_text(script: str, data: str) -> str:
    """Return the script and the data, which is JSON, compressed and in base64; the same bytes for the same texts."""
    head = f"{len(script.encode('utf-16-le')) // 2}\n"  # JavaScript counts in units of UTF-16
    return b64encode(gzip.compress(f"{head}{script}{data}".encode(), 9, mtime=0)).decode("ascii")


# -- the shell ---------------------------------------------------------------------------------------------------------


def _flat_columns(data: PageData) -> Sequence[JsonObject]:
    return [] if data.flat is None else data.flat["columns"]


def _header(data: PageData, names: Sequence[str]) -> Html:
    """Return the title, the tabs, and the place of the row's prediction."""
    size, rows = len(_flat_columns(data)), count_text(sum(data.class_rows))
    columns = data.say("page.column" if size == 1 else "page.columns", n=count_text(size))
    target = data.target or data.say("page.the_class")
    about = data.say("page.about", target=target, rows=rows, columns=columns, classes=len(data.classes))
    links = [tag("a", data.say(f"page.tab.{name}"), href=f"#{name}", id=f"tab-{name}") for name in names]
    title = tag("div", tag("h1", data.title, dir="auto"), tag("p", about, css="muted", dir="auto"), css="title")
    nav = tag("nav", tag("div", links, css="tabs"), aria_label=data.say("page.parts"))
    answer = tag("div", id="answer", css="answer", role="region", aria_label=data.say("page.answer"))
    return joined(tag("header", title), tag("div", nav, answer, css="sticky"))


def _section(data: PageData, name: str, html: Html) -> Html:
    heading = tag("h2", data.say(f"page.tab.{name}"), id=f"heading-{name}")
    return tag("section", heading, tag("div", html, css="life"), id=name, aria_labelledby=f"heading-{name}")


def _footer(data: PageData) -> Html:
    """Return what the file holds, so that whoever passes it on knows."""
    names, columns = [str(label) for label in data.classes], _flat_columns(data)
    listed = ", ".join(names[:NAMED_CLASSES]) + (" …" if len(names) > NAMED_CLASSES else "")
    sizes = {
        "labels": sum(len(column["values"]) for column in columns if column["kind"] == "label"),
        "words": sum(len(column["words"]) for column in columns if isinstance(column.get("words"), list)),
        "fewer_words": sum(column.get("left_out", 0) for column in columns),
    }
    parts = [data.say("page.holds.classes", n=len(names), names=listed)]
    parts += [data.say(f"page.holds.{key}", n=count_text(size)) for key, size in sizes.items() if size]
    made = data.say("page.made" if data.server is None else "server.made", version=data.version)
    holds = " ".join([*parts, _rows_note(data)])
    return tag("footer", tag("p", data.say("page.holds"), " ", holds, dir="auto"), tag("p", made))


def _rows_note(data: PageData) -> str:
    """Return which rows the page holds, and whether the model was fitted on them."""
    rows = data.rows
    if rows is None:
        return data.say("page.holds.no_rows")
    n, source = len(rows["truth"]), rows["source"] or data.say("page.the_table")
    key = "page.holds.all_rows" if n == rows["total"] else "page.holds.some_rows"
    note = data.say(key, n=count_text(n), total=count_text(rows["total"]), source=source)
    if rows["fitted_on"] is None:
        return note
    return f"{note} {data.say('page.holds.fitted' if rows['fitted_on'] else 'page.holds.not_fitted')}"
