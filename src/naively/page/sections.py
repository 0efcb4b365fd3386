"""The static parts of all tabs: HTML from the plain values of `PageData`. Scripts of the page add to them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import isfinite, isnan, log

from .._types import JsonObject
from .content import PageData, QualityView, RowView
from .numbers import count_text, number_text, probability_text, probability_texts, signed
from .pictures import calibration_picture, distribution_picture, dumbbell, fill_class, share_bar, signed_bar, swatch
from .tags import Child, Html, joined, label, number, row, scrolled, table, tag

# Classes of a row that have a line, and words of a class that do where scripts do not run.
SHOWN_CLASSES, STATIC_WORDS = 6, 12
# Columns that are drawn where scripts do not run, and those that have a line there.
DRAWN_COLUMNS, LISTED_COLUMNS = 30, 60
# Texts of more characters are cut.
LONG_TEXT = 40

# A change of at least this many standard errors is hardly chance.
CLEAR = 3.0
# Lines on mutual information.
MOST_COLUMNS = 30


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


# -- quality -----------------------------------------------------------------------------------------------------------


def quality_section(data: PageData) -> Html:
    """Return the static part of the tab Quality; without figures, how to get some."""
    quality, view = data.quality, data.quality_view
    if quality is None:
        return tag("p", data.say("quality.none"))
    head = joined(tag("p", _source_text(data, quality), css="q-source"), _figure_list(data, quality))
    if view is None:
        return head
    return joined(
        head,
        tag("p", _rates_text(data, view), css="q-words", aria_live="polite"),
        tag("div", _decisions(data, view), _calibration(data, view), css="q-grid"),
        _confusion(data, quality) if len(data.classes) > 2 else Html(""),
    )


def _source_text(data: PageData, quality: JsonObject) -> str:
    """Return which rows figures were measured on, and how these were held out."""
    source, rows = quality["source"], count_text(quality["rows"])
    if source["of"]:
        rows = data.say("quality.some", n=rows, of=count_text(source["of"]))
    return data.say(f"quality.source.{source['kind']}", n=rows, folds=source["folds"])


def _figure_list(data: PageData, quality: JsonObject) -> Html:
    """Return the figures that depend on no threshold, each with its standard error and what it means."""
    constant, parts = max(quality["sizes"]) / (sum(quality["sizes"]) or 1.0), []
    for name in ("accuracy", "log_loss", "auc"):
        value, error = quality["figures"][name]
        text = "–" if value is None else probability_text(value) if name == "accuracy" else f"{value:.4f}"
        text = "> 0.9999" if text == "1.0000" and value < 1 else text
        if value is not None and error is not None:
            text += f" ± {100 * error:.1f}" if name == "accuracy" else f" ± {error:.4f}"
        note = data.say(f"quality.{name}.note", constant=probability_text(constant))
        parts.append(tag("div", tag("dt", data.say(f"quality.{name}")), tag("dd", tag("b", text), " ", note)))
    return tag("dl", parts, css="q-figures")


def _rates_text(data: PageData, view: QualityView) -> str:
    """Return the decisions at a probability of one half as a sentence."""
    flagged = view.hit + view.false_alarm
    rows = flagged + view.missed + view.left_alone
    rates = {
        "recall": view.hit / (view.hit + view.missed),
        "accuracy": (view.hit + view.left_alone) / rows,
        "precision": view.hit / flagged if flagged else float("nan"),
    }
    values = {name: probability_text(rate) for name, rate in rates.items()}
    cost = number_text((view.missed + view.false_alarm) / rows, 3)
    return data.say("quality.rates", t="0.5", label=data.classes[view.label], cost=cost, **values)


def _decisions(data: PageData, view: QualityView) -> Html:
    """Return the rows of a class and all others that are above and below a probability of one half."""

    def cell(key: str, n: float, css: str) -> Html:
        return number(count_text(n), tag("small", data.say(f"quality.{key}")), css=css, data_cell=key)

    label = tag("span", data.say("quality.is", label=data.classes[view.label]), css="q-is")
    hits = cell("hit", view.hit, "q-right"), cell("missed", view.missed, "q-wrong")
    others = cell("false_alarm", view.false_alarm, "q-wrong"), cell("left_alone", view.left_alone, "q-right")
    lines = [row(label, *hits), row(data.say("quality.is_not"), *others)]
    rows = view.hit + view.missed + view.false_alarm + view.left_alone
    right = 100 * (view.hit + view.left_alone) / (rows or 1.0)
    head = [data.say(f"quality.{key}") for key in ("true_decision", "flagged", "not_flagged")]
    listed = data.rows is not None and data.rows["posterior"] is not None
    note = tag("p", data.say("quality.click" if listed else "quality.no_rows"), css="muted q-click")
    caption = tag("figcaption", data.say("quality.cells.title", right=number_text(right, 3)))
    return tag("figure", caption, table(head, lines, css="confusion"), note, css="q-cells")


def _calibration(data: PageData, view: QualityView) -> Html:
    """Return how often the class was true, by the probability that it was given."""
    label, (rows, point) = data.classes[view.label], view.largest
    values = {"n": count_text(rows)}
    values |= {"given": probability_text(point.given, 0), "found": probability_text(point.found, 0)}
    title = data.say("quality.calibration.title", **values, label=label)
    across, up = (data.say(f"quality.axis.{name}", label=label) for name in ("given", "found"))
    chart = calibration_picture(view.points, across, up, title)
    note = tag("p", data.say("quality.calibration.note"), css="muted")
    return tag("figure", tag("figcaption", title, dir="auto"), chart, note, data_picture="calibration")


def _confusion(data: PageData, quality: JsonObject) -> Html:
    """Return the numbers of rows by true class and most probable class."""
    n = len(quality["confusion"])
    names = [str(label) for label in data.classes[:n]]
    lines = []
    for k, name in enumerate(names):
        cells = []
        for j in range(n):
            rows = quality["confusion"][k][j]
            css = "q-right" if j == k else "q-wrong" if rows else ""
            cells.append(number(count_text(rows), css=css, data_cell=f"{k},{j}"))
        lines.append(row(name, cells))
    caption, left = data.say("quality.confusion.caption"), len(data.classes) - n
    more = tag("p", data.say("quality.more_classes", n=left), css="muted") if left else Html("")
    matrix = table([data.say("quality.true_answer"), *names], lines, css="confusion", caption=caption)
    return scrolled(matrix, more, name=caption, css="scroll")


# -- compare -----------------------------------------------------------------------------------------------------------


def compare_section(data: PageData) -> Html | None:
    """Return the tab Compare: what changed between two models, and how certain that is; None without a comparison."""
    comparison = data.compare
    if comparison is None:
        return None
    names = dict(zip(("a", "b"), comparison["names"], strict=True))
    rows = dict(zip(("n", "m"), map(count_text, comparison["rows"]), strict=True))
    legend = [tag("li", swatch(css), name) for css, name in zip(("nv-c6", "nv-c0"), comparison["names"], strict=True)]
    classes = [_change_line(data, change, change["value"]) for change in comparison["classes"]]
    values = [_change_line(data, change, f"{change['column']}: {change['value']}") for change in comparison["changes"]]
    left = data.say("compare.left", n=count_text(comparison["left"]))
    return joined(
        tag("p", data.say("compare.intro", **names, **rows), dir="auto"),
        tag("p", _headline(data, comparison), css="q-words", dir="auto"),
        tag("ul", legend, css="m-legend", dir="auto"),
        _table(data, "compare.classes", classes),
        _table(data, "compare.changes", values),
        tag("p", left, css="muted") if comparison["left"] else "",
        _one_sided(data, comparison["appeared"], "appeared", names["b"]),
        _one_sided(data, comparison["gone"], "gone", names["a"]),
        _table(data, "compare.bits", _information_lines(data, comparison["bits"])),
    )


def _headline(data: PageData, comparison: JsonObject) -> str:
    """Return the strongest change as a sentence, and how many changes are hardly chance."""
    if not comparison["clear"]:
        return data.say("compare.nothing")
    first = max([*comparison["changes"], *comparison["classes"]], key=lambda change: abs(change["strength"]))
    values = {"column": first["column"], "value": first["value"], "a": _amount(first, "before")}
    return data.say("compare.headline", **values, b=_amount(first, "after"), n=count_text(comparison["clear"]))


def _amount(change: JsonObject, side: str) -> str:
    return number_text(change[side]) if change["spread"] else probability_text(change[side])


def _change_line(data: PageData, change: JsonObject, name: str) -> Html:
    """Return one change with its 95 % interval: of proportions in points of a percent."""
    if change["spread"]:
        # Means lie within two standard deviations of the middle of both.
        low = (change["before"] + change["after"]) / 2 - 2 * change["spread"]
        places = [min(max((change[side] - low) / (4 * change["spread"]), 0.0), 1.0) for side in ("before", "after")]
        moved, *limits = (number_text(change[key], 3) for key in ("change", "low", "high"))
        moved = f"{'+' * (change['change'] > 0)}{moved}"
    else:
        # Proportions between 0.1 % and 99.9 %, in equal steps of log-odds.
        inside = (min(max(change[side], 0.001), 0.999) for side in ("before", "after"))
        places = [0.5 + log(share / (1 - share)) / (2 * log(999)) for share in inside]
        moved, *limits = (signed(100 * change[key], 1) for key in ("change", "low", "high"))
    amounts = _amount(change, "before"), _amount(change, "after")
    return _line(data, name, amounts, places, (moved, *limits), change["strength"], data_column=change["column"])


def _information_lines(data: PageData, bits: Sequence[JsonObject]) -> list[Html]:
    """Return how the mutual information of each column changed."""
    most = max((max(line["before"], line["after"]) for line in bits), default=0) or 1.0
    lines = []
    for line in bits[:MOST_COLUMNS]:
        sides = line["before"], line["after"]
        moved = tuple(signed(line[key], 3) for key in ("change", "low", "high"))
        amounts, places = [f"{side:.3f}" for side in sides], [side / most for side in sides]
        lines.append(_line(data, line["column"], amounts, places, moved, line["strength"]))
    return lines


def _line(
    data: PageData, name: str, amounts: Sequence[str], places: Sequence[float], moved: Sequence[str], strength: float,
    **more: str,
) -> Html:  # fmt: skip
    """Return a row of a table: before, after, both drawn, the difference with its interval, whether it is clear."""
    difference, low, high = moved
    cells = [*map(number, amounts), tag("td", dumbbell(*places), css="q-bell")]
    cells.append(number(f"{difference} [{low},\N{NO-BREAK SPACE}{high}]"))
    clear = abs(strength) >= CLEAR
    verdict = tag("td", data.say("compare.clear" if clear else "compare.chance"), css="" if clear else "muted")
    return row(name, *cells, verdict, **more)


def _table(data: PageData, key: str, rows: Sequence[Html]) -> Html:
    if not rows or data.compare is None:
        return Html("")
    drawn, verdict = (tag("span", data.say(f"compare.{name}"), css="hidden") for name in ("drawn", "verdict"))
    heads: list[Child] = [
        data.say("compare.what"), *data.compare["names"], drawn, data.say("compare.change"), verdict
    ]  # fmt: skip
    return scrolled(table(heads, rows, css="q-compare", caption=data.say(key)), name=data.say(key), css="scroll")


def _one_sided(data: PageData, sided: JsonObject, key: str, name: str) -> Html:
    """Return values that occur on one side only."""
    if not sided["values"]:
        return Html("")
    names = ", ".join(f"{column}: {value} ({probability_text(share)})" for column, value, share in sided["values"])
    rest = data.say("compare.more", n=count_text(sided["more"])) if sided["more"] else ""
    return tag("p", tag("b", data.say(f"compare.{key}", name=name)), " ", names, rest, dir="auto")
