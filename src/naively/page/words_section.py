"""The static part of the tab Words: the words that contribute most to each class, with their counts."""

from __future__ import annotations

from .._types import JsonObject
from ..markup.numbers import count_text, signed
from ..markup.svg import signed_bar, swatch
from ..markup.tags import Html, joined, label, table, tag
from .page_data import PageData
from .page_strings import PageStrings

# Words of each class that have a line; scripts show more.
STATIC_WORDS = 12


def words_section(data: PageData, strings: PageStrings) -> Html | None:
    """Return the static part of the tab Words; None where the model has no texts."""
    if data.words is None:
        return None
    parts = [tag("p", strings.say("words.intro"))]
    for column in data.words["columns"]:
        if len(data.words["columns"]) > 1:
            parts.append(tag("h3", column["name"], dir="auto"))
        cards = [_class_words(data, strings, column, k) for k in range(len(data.classes))]
        parts.append(tag("div", cards, css="cards"))
    return joined(parts)


def _class_words(data: PageData, strings: PageStrings, column: JsonObject, k: int) -> Html:
    """Return the strongest words of one class as a table."""
    strongest = column["strongest"][k][:STATIC_WORDS]
    longest = max((lead for _, lead in strongest), default=1.0)
    rest = sum(data.class_rows) - data.class_rows[k]
    lines = []
    for at, lead in strongest:
        others = sum(line[at] for line in column["counts"]) - column["counts"][k][at]
        here = f"{count_text(column['counts'][k][at])} / {count_text(data.class_rows[k])}"
        there = f"{count_text(others)} / {count_text(rest)}"
        lines.append(
            tag(
                "tr",
                tag("th", label(column["words"][at]), scope="row", dir="auto"),
                tag("td", signed(lead), css="number"),
                tag("td", signed_bar(lead, longest), css="bars"),
                tag("td", here, css="number"),
                tag("td", there, css="number"),
            )
        )
    heads = [strings.say(f"words.head.{key}") for key in ("word", "lead", "bar", "here", "others")]
    heads[2] = tag("span", heads[2], css="hidden")
    name = str(data.classes[k])
    title = joined(swatch(k), name)
    wide = tag("div", table(heads, lines, caption=title), css="wide", tabindex=0, role="region", aria_label=name)
    return tag("div", wide, css="card", dir="auto")
