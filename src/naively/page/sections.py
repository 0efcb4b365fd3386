"""The static parts of the tabs Row, Model, Words and Files: HTML from the plain values of `PageData`."""

from __future__ import annotations

from collections.abc import Collection
from math import isfinite, isnan

from .._types import JsonObject
from .content import PageData, RowView
from .numbers import count_text, probability_text, probability_texts, signed
from .pictures import distribution_picture, fill_class, share_bar, signed_bar, swatch
from .tags import Html, joined, label, number, row, scrolled, table, tag

# Classes of a row that have a line, and words of a class that do where scripts do not run.
SHOWN_CLASSES, STATIC_WORDS = 6, 12
# Columns that are drawn where scripts do not run, and those that have a line there.
DRAWN_COLUMNS, LISTED_COLUMNS = 30, 60
# Texts of more characters are cut.
LONG_TEXT = 40


# -- row ---------------------------------------------------------------------------------------------------------------


def row_section(data: PageData) -> Html:
    """Return the static part of the tab Row."""
    if data.first_view is None:
        return tag("p", data.say("row.static.none"))
    return joined(row_view(data, data.first_view), tag("p", data.say("row.exact"), css="muted"))


def row_view(data: PageData, view: RowView) -> Html:
    """Return one row: the predicted class, the most probable classes, and the contributions to the log-odds."""
    names, texts = [str(name) for name in data.classes], probability_texts(view.probabilities)
    order = sorted(range(len(names)), key=lambda k: -view.probabilities[k])[:SHOWN_CLASSES]
    probabilities = [
        row(_cut(names[k]), number(texts[k]), tag("td", share_bar(view.probabilities[k], k), css="bars")) for k in order
    ]
    head = [data.say(f"row.head.{key}") for key in ("column", "cell", "contribution")]
    head += [tag("span", data.say("row.text.bar"), css="hidden"), data.say("row.head.counts")]
    longest = (
        max((abs(line.lead) for line in view.lines if line.kind != "sum" and isfinite(line.lead)), default=0.0) or 1.0
    )
    lines = []
    for line in view.lines:
        bar = Html("") if isnan(line.lead) else signed_bar(line.lead, longest)
        text = view.undefined if isnan(line.lead) else signed(line.lead, view.digits)
        cells = tag("td", _cut(line.value), dir="auto"), number(text), tag("td", bar, css="bars")
        name = tag("span", _cut(line.name.strip()), css="nv-in") if line.name.startswith("  ") else _cut(line.name)
        lines.append(row(name, *cells, tag("td", line.note, css="muted", dir="auto")))
    caption = data.say("row.static", of=names[view.predicted], against=names[view.against])
    answer = data.say("row.static.answer", label=names[view.predicted], p=texts[view.predicted])
    target = data.say("row.probabilities", target=data.target or data.say("page.the_class"))
    return joined(
        tag("p", tag("strong", answer), dir="auto"),
        [tag("p", note, css="muted") for note in view.notes],
        table([], probabilities, caption=target),
        scrolled(table(head, lines, css="contributions", caption=caption), name=data.say("row.head.contribution")),
        [tag("p", text, css="colored", dir="auto") for text in view.texts],
    )


def _cut(text: str) -> str:
    """Return a text of the data, in a span that shows all of it if it is long."""
    return text if len(text) < LONG_TEXT else label(text)


# -- model -------------------------------------------------------------------------------------------------------------


def model_section(data: PageData, drawn: int = DRAWN_COLUMNS) -> Html:
    """Return the static part of the tab Model: the classes, what each column tells about them, its distribution."""
    lines = [tag("li", line, dir="auto") for line in data.fitting]
    fitting = tag("details", tag("summary", data.say("model.fitting")), tag("ul", lines)) if lines else Html("")
    cards = [_column_card(data, facts) for facts in data.columns[:drawn]]
    return joined(
        tag("p", data.say("model.intro"), css="muted"),
        class_table(data),
        fitting,
        tag("h3", data.say("model.columns")),
        tag("p", data.say("model.columns.note"), css="muted"),
        tag("div", cards, css="cards"),
        _other_columns(data, drawn),
    )


def class_table(data: PageData, most: int | None = None) -> Html:
    """Return the classes with their numbers of rows and their proportions, and their priors if these are known."""
    total = sum(data.class_rows) or 1.0
    order = sorted(range(len(data.classes)), key=lambda k: -data.class_rows[k])[:most]
    rows = []
    for k in order:
        shares = [data.class_rows[k] / total, *([data.priors[k]] if data.priors else [])]
        cells = number(count_text(data.class_rows[k])), *(number(probability_text(share)) for share in shares)
        bar = tag("td", _bar(shares[0], fill_class(k)))
        rows.append(row(joined(swatch(fill_class(k)), str(data.classes[k])), *cells, bar))
    keys = ("class", "rows", "share", "prior") if data.priors else ("class", "rows", "share")
    head = [data.say(f"model.{key}") for key in keys]
    shown = table([*head, tag("span", data.say("model.share"), css="hidden")], rows, css="m-classes")
    left = len(data.classes) - len(order)
    return joined(shown, tag("p", data.say("quality.more_classes", n=left), css="muted") if left else "")


def _column_card(data: PageData, facts: JsonObject) -> Html:
    """Return one column: its name, its mutual information as a bar, the sentence, the picture."""
    most = max((column["bits"] or 0.0 for column in data.columns), default=0.0) or 1.0
    bits = tag("div", _bar((facts["bits"] or 0.0) / most), _bits_text(data, facts), css="m-bits")
    shown, picture = facts["distribution"], Html("")
    if shown is not None:
        title = data.say(f"model.picture.{shown['kind']}")
        others = data.say("model.others", n=count_text(shown.get("others", 0)))
        picture = distribution_picture(shown, len(data.classes), title, others)
    note = tag("p", data.say("model.even"), css="muted") if shown is not None and shown.get("even") else Html("")
    head = tag("h4", facts["name"], dir="auto")
    return tag("article", head, bits, tag("p", facts["sentence"]), picture, note, css="card")


def _bits_text(data: PageData, facts: JsonObject) -> str:
    """Return the mutual information of a column with its standard error."""
    if facts["bits"] is None:
        return data.say("model.no_bits")
    return data.say("model.bits", bits=f"{facts['bits']:.3f}", error=f"{facts['error'] or 0:.3f}")


def _bar(share: float, css: str = "") -> Html:
    line = tag("path", css=css, d=f"M0 0h{round(100 * share, 1):g}v1H0z")
    return tag("svg", line, css="m-bar", viewBox="0 0 100 1", preserveAspectRatio="none", aria_hidden="true")


def _other_columns(data: PageData, drawn: int) -> Html:
    """Return the columns that are not drawn as a table; scripts draw them when they are asked for."""
    others = data.columns[drawn:]
    if not others:
        return Html("")
    rows = [row(facts["name"], tag("td", _bits_text(data, facts))) for facts in others[:LISTED_COLUMNS]]
    left = len(others) - len(rows)
    more = tag("p", data.say("model.left", n=count_text(left)), css="muted") if left else Html("")
    head = [data.say("model.column"), data.say("model.information")]
    return tag("div", table(head, rows, css="m-others"), more, css="m-more")


# -- words -------------------------------------------------------------------------------------------------------------


def words_section(data: PageData, classes: Collection[int] | None = None) -> Html | None:
    """Return the words that contribute most to each class, or to some; None where the model has no texts."""
    if data.words is None:
        return None
    shown = range(len(data.classes)) if classes is None else sorted(classes)
    parts = [tag("p", data.say("words.intro"))]
    for column in data.words["columns"]:
        if len(data.words["columns"]) > 1:
            parts.append(tag("h3", column["name"], dir="auto"))
        parts.append(tag("div", [_class_words(data, column, k) for k in shown], css="cards"))
    return joined(parts)


def _class_words(data: PageData, column: JsonObject, k: int) -> Html:
    """Return the strongest words of one class as a table."""
    strongest = column["strongest"][k][:STATIC_WORDS]
    longest = max((lead for _, lead in strongest), default=1.0)
    totals = count_text(data.class_rows[k]), count_text(sum(data.class_rows) - data.class_rows[k])
    lines = []
    for place, lead in strongest:
        here = column["counts"][k][place]
        others = sum(line[place] for line in column["counts"]) - here
        counts = (number(f"{count_text(n)} / {total}") for n, total in zip((here, others), totals, strict=True))
        bar = tag("td", signed_bar(lead, longest), css="bars")
        lines.append(row(label(column["words"][place]), number(signed(lead)), bar, *counts))
    heads = [data.say(f"words.head.{key}") for key in ("word", "lead", "bar", "here", "others")]
    heads[2] = tag("span", heads[2], css="hidden")
    name = str(data.classes[k])
    words = table(heads, lines, caption=joined(swatch(fill_class(k)), name))
    return tag("div", scrolled(words, name=name), css="card", dir="auto")


# -- files -------------------------------------------------------------------------------------------------------------


def server_section(data: PageData) -> Html | None:
    """Return the static part of the tab Files: addresses for programs; None where no server serves the page."""
    if data.server is None or data.flat is None:
        return None
    api = str(data.server["api"])
    links = [tag("a", f"{api}/{name}", href=f"{api}/{name}") for name in ("openapi.json", "model")]
    token = ' -H "Authorization: Bearer $NAIVELY_TOKEN"' if data.server.get("token") else ""
    # The script puts the page's own address before the path.
    command = f"curl -H 'Content-Type: text/csv'{token} --data-binary @rows.csv {api}/file -o answers.csv"
    return joined(
        tag("p", data.say("server.intro", columns=", ".join(column["name"] for column in data.flat["columns"]))),
        tag(
            "div",
            tag("h3", data.say("server.programs")),
            tag("p", data.say("server.api"), " ", joined(links[0], " · ", links[1]), dir="auto"),
            tag("pre", command, css="colored", tabindex=0, id="naively-curl"),
            css="card",
        ),
    )
