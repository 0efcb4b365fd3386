"""The static parts of the tabs Quality and Compare; `quality.js` adds thresholds, costs and base rates to the first."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from .._types import JsonObject
from .content import PageData, QualityView
from .numbers import count_text, number_text, probability_text, signed
from .pictures import calibration_picture, dumbbell, swatch
from .tags import Child, Html, joined, number, row, scrolled, table, tag

# A change of at least this many standard errors is hardly chance.
CLEAR = 3.0
# Lines on mutual information.
MOST_COLUMNS = 30


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
