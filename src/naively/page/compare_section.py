"""The tab Compare: what changed most between two models or periods, by how much, and how certain that is."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from .._types import JsonObject
from ..markup.numbers import count_text, number_text, probability_text, signed
from ..markup.svg import CELL_WIDTH, cell_picture
from ..markup.tags import Html, joined, table, tag
from .comparison import CLEAR
from .page_data import PageData
from .page_strings import PageStrings

DUMBBELL_HEIGHT = 16.0
# Lines on mutual information.
MOST_COLUMNS = 30


def compare_section(data: PageData, strings: PageStrings) -> Html | None:
    """Return the tab Compare; None if there is nothing to compare with."""
    found = data.compare
    if found is None:
        return None
    names = dict(zip(("a", "b"), found["names"], strict=True))
    rows = dict(zip(("n", "m"), map(count_text, found["rows"]), strict=True))
    return joined(
        tag("p", strings.say("compare.intro", **names, **rows), dir="auto"),
        tag("p", headline(found, strings), css="q-words", dir="auto"),
        _legend(found),
        _table("compare.classes", [_line(one, strings, with_column=False) for one in found["classes"]], found, strings),
        _table("compare.changes", [_line(one, strings) for one in found["changes"]], found, strings),
        tag("p", strings.say("compare.left", n=count_text(found["left"])), css="muted") if found["left"] else Html(""),
        _one_sided(found, strings),
        _information(found, strings),
    )


def headline(found: JsonObject, strings: PageStrings) -> str:
    """Return the strongest change as a sentence, and how many changes are hardly chance."""
    every = [*found["changes"], *found["classes"]]
    if not found["clear"]:
        return strings.say("compare.nothing")
    first = max(every, key=lambda one: abs(one["strength"]))
    said = {"column": first["column"], "value": first["value"], "a": _amount(first, "before")}
    return strings.say("compare.headline", **said, b=_amount(first, "after"), n=count_text(found["clear"]))


def _amount(change: JsonObject, side: str) -> str:
    return number_text(change[side]) if change["spread"] else probability_text(change[side])


def _difference(change: JsonObject) -> str:
    """Return a change with its 95 % interval: of proportions in points of a percent."""
    if change["spread"]:
        moved, low, high = (number_text(change[key], 3) for key in ("change", "low", "high"))
        return f"{'+' * (change['change'] > 0)}{moved} {_interval(low, high)}"
    low, high = (signed(100 * change[key], 1) for key in ("low", "high"))
    return f"{signed(100 * change['change'], 1)} {_interval(low, high)}"


def _bits_difference(one: JsonObject) -> str:
    moved, low, high = (signed(one[key], 3) for key in ("change", "low", "high"))
    return f"{moved} {_interval(low, high)}"


def _interval(low: str, high: str) -> str:
    """Return an interval that no line breaks."""
    return f"[{low},\N{NO-BREAK SPACE}{high}]"


def _line(change: JsonObject, strings: PageStrings, *, with_column: bool = True) -> Html:
    """Return one change as a row of a table: before, after, the dumbbell, the difference, its strength."""
    name = f"{change['column']}: {change['value']}" if with_column else change["value"]
    return tag(
        "tr",
        tag("th", name, scope="row", dir="auto"),
        tag("td", _amount(change, "before"), css="nv-n"),
        tag("td", _amount(change, "after"), css="nv-n"),
        tag("td", dumbbell(*_places(change)), css="q-bell"),
        tag("td", _difference(change), css="nv-n"),
        _verdict(change, strings),
        data_column=change["column"],
    )


def _verdict(change: JsonObject, strings: PageStrings) -> Html:
    """Return whether a change is hardly chance, as a cell."""
    clear = abs(change["strength"]) >= CLEAR
    return tag("td", strings.say("compare.clear" if clear else "compare.chance"), css="" if clear else "muted")


def _places(change: JsonObject) -> tuple[float, float]:
    """Return where both sides lie between 0 and 1: proportions by their log-odds, means within two deviations."""
    if not change["spread"]:
        before, after = (_log_odds_place(change[side]) for side in ("before", "after"))
        return before, after
    low = (change["before"] + change["after"]) / 2 - 2 * change["spread"]
    before, after = (min(max((change[side] - low) / (4 * change["spread"]), 0.0), 1.0) for side in ("before", "after"))
    return before, after


def _log_odds_place(share: float) -> float:
    """Return the place of a proportion between 0.1 % and 99.9 %, in equal steps of log-odds."""
    inside = min(max(share, 0.001), 0.999)
    return 0.5 + log(inside / (1 - inside)) / (2 * log(999))


def dumbbell(before: float, after: float) -> Html:
    """Return two bars joined by a line: where something was, and where it is."""
    room, middle = CELL_WIDTH - 8, DUMBBELL_HEIGHT / 2
    a, b = (4 + room * place for place in (before, after))
    return cell_picture(
        tag("line", css="nv-grid", x1=4, x2=CELL_WIDTH - 4, y1=middle, y2=middle),
        tag("rect", css="q-span", x=min(a, b), y=middle - 1.5, width=abs(b - a), height=3),
        tag("rect", css="nv-c6", x=a - 2, y=middle - 5, width=4, height=10),
        tag("rect", css="nv-c0", x=b - 2, y=middle - 6, width=4, height=12),
        height=DUMBBELL_HEIGHT,
    )


def _legend(found: JsonObject) -> Html:
    before, after = (
        tag("svg", tag("rect", css=css, width=10, height=10), css="nv-swatch", viewBox="0 0 10 10", aria_hidden="true")
        for css in ("nv-c6", "nv-c0")
    )
    a, b = found["names"]
    return tag("ul", tag("li", before, a), tag("li", after, b), css="m-legend", dir="auto")


def _table(key: str, rows: Sequence[Html], found: JsonObject, strings: PageStrings) -> Html:
    if not rows:
        return Html("")
    hidden = [tag("span", strings.say(f"compare.{name}"), css="hidden") for name in ("drawn", "verdict")]
    heads = [strings.say("compare.what"), *found["names"], hidden[0], strings.say("compare.change"), hidden[1]]
    caption = strings.say(key)
    return tag("div", table(heads, rows, css="q-compare", caption=caption), css="scroll", tabindex=0, role="region",
               aria_label=caption)  # fmt: skip


def _one_sided(found: JsonObject, strings: PageStrings) -> Html:
    """Return values that occur on one side only."""
    parts = []
    for key, at in (("appeared", 1), ("gone", 0)):
        values, more = found[key]["values"], found[key]["more"]
        if not values:
            continue
        names = ", ".join(f"{column}: {value} ({probability_text(share)})" for column, value, share in values)
        rest = strings.say("compare.more", n=count_text(more)) if more else ""
        title = tag("b", strings.say(f"compare.{key}", name=found["names"][at]))
        parts.append(tag("p", title, " ", names, rest, dir="auto"))
    return joined(parts)


def _information(found: JsonObject, strings: PageStrings) -> Html:
    """Return how the mutual information of each column changed."""
    lines, most = (
        found["bits"][:MOST_COLUMNS],
        max((max(one["before"], one["after"]) for one in found["bits"]), default=0),
    )
    rows = [
        tag(
            "tr",
            tag("th", one["column"], scope="row", dir="auto"),
            tag("td", f"{one['before']:.3f}", css="nv-n"),
            tag("td", f"{one['after']:.3f}", css="nv-n"),
            tag("td", dumbbell(one["before"] / (most or 1.0), one["after"] / (most or 1.0)), css="q-bell"),
            tag("td", _bits_difference(one), css="nv-n"),
            _verdict(one, strings),
        )
        for one in lines
    ]
    return _table("compare.bits", rows, found, strings)
