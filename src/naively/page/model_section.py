"""The tab Model: the classes, what each column tells about them, and its distribution within each class."""

from __future__ import annotations

from .._types import JsonObject
from ..markup.numbers import count_text, probability_text
from ..markup.svg import fill_class, swatch
from ..markup.tags import Html, joined, table, tag
from .distribution_pictures import distribution_picture
from .page_data import PageData
from .page_strings import PageStrings

# Columns that are drawn where scripts do not run, and those that have a line there.
DRAWN_COLUMNS, LISTED_COLUMNS = 30, 60


def model_section(data: PageData, strings: PageStrings) -> Html:
    """Return the static part of the tab Model."""
    return joined(
        tag("p", strings.say("model.intro"), css="muted"),
        class_table(data, strings),
        _fitting(data, strings),
        tag("h3", strings.say("model.columns")),
        tag("p", strings.say("model.columns.note"), css="muted"),
        tag(
            "div", [column_card(data, at, strings) for at in range(min(len(data.columns), DRAWN_COLUMNS))], css="cards"
        ),
        _other_columns(data, strings),
    )


def class_table(data: PageData, strings: PageStrings) -> Html:
    """Return the classes with their numbers of rows and their proportions."""
    total = sum(data.class_rows) or 1.0
    priors = data.priors or [n / total for n in data.class_rows]
    order = sorted(range(len(data.classes)), key=lambda k: -data.class_rows[k])
    rows = [
        tag(
            "tr",
            tag("th", swatch(k), str(data.classes[k]), scope="row"),
            tag("td", count_text(data.class_rows[k]), css="nv-n"),
            tag("td", probability_text(data.class_rows[k] / total), css="nv-n"),
            tag("td", probability_text(priors[k]), css="nv-n"),
            tag("td", _bar(data.class_rows[k] / total, fill_class(k))),
        )
        for k in order
    ]
    head = [strings.say(f"model.{key}") for key in ("class", "rows", "share", "prior")]
    return table([*head, tag("span", strings.say("model.share"), css="hidden")], rows, css="m-classes")


def _fitting(data: PageData, strings: PageStrings) -> Html:
    """Return how the model was fitted, to be opened."""
    if not data.fitting:
        return Html("")
    lines = tag("ul", [tag("li", line, dir="auto") for line in data.fitting])
    return tag("details", tag("summary", strings.say("model.fitting")), lines)


def column_card(data: PageData, at: int, strings: PageStrings) -> Html:
    """Return one column: its name, its mutual information as a bar, the sentence, the picture."""
    facts = data.columns[at]
    head = tag("h4", facts["name"], dir="auto")
    shown = facts["distribution"]
    picture = Html("")
    if shown is not None:
        title = strings.say(f"model.picture.{shown['kind']}")
        others = strings.say("model.others", n=count_text(shown.get("others", 0)))
        picture = distribution_picture(shown, [str(label) for label in data.classes], title, others)
    note = tag("p", strings.say("model.even"), css="muted") if shown is not None and shown.get("even") else Html("")
    return tag("article", head, _bits(data, facts, strings), tag("p", facts["sentence"]), picture, note, css="card")


def bits_text(facts: JsonObject, strings: PageStrings) -> str:
    """Return the mutual information of a column with its standard error, as text."""
    if facts["bits"] is None:
        return strings.say("model.no_bits")
    return strings.say("model.bits", bits=f"{facts['bits']:.3f}", error=f"{facts['error'] or 0:.3f}")


def _bits(data: PageData, facts: JsonObject, strings: PageStrings) -> Html:
    most = max((one["bits"] or 0.0 for one in data.columns), default=0.0) or 1.0
    return tag("div", _bar((facts["bits"] or 0.0) / most), bits_text(facts, strings), css="m-bits")


def _bar(share: float, css: str = "") -> Html:
    line = tag("path", css=css, d=f"M0 0h{round(100 * share, 1):g}v1H0z")
    return tag("svg", line, css="m-bar", viewBox="0 0 100 1", preserveAspectRatio="none", aria_hidden="true")


def _other_columns(data: PageData, strings: PageStrings) -> Html:
    """Return the columns that are not drawn as a table; scripts draw them when they are asked for."""
    others = data.columns[DRAWN_COLUMNS:]
    if not others:
        return Html("")
    rows = [
        tag("tr", tag("th", one["name"], scope="row", dir="auto"), tag("td", bits_text(one, strings)))
        for one in others[:LISTED_COLUMNS]
    ]
    left = len(others) - len(rows)
    more = tag("p", strings.say("model.left", n=count_text(left)), css="muted") if left else Html("")
    head = [strings.say("model.column"), strings.say("model.information")]
    return tag("div", table(head, rows, css="m-others"), more, css="m-more")
