"""The static part of the tab Row: one row, the probabilities of its classes, and what each column contributes."""

from __future__ import annotations

from math import inf, isfinite, isnan

import numpy as np

from .._types import Json, JsonObject
from ..markup.numbers import count_text, number_text, probability_texts, signed
from ..markup.svg import share_bar, signed_bar, swatch
from ..markup.tags import Html, joined, label, table, tag
from .page_data import PageData, RowExplanation
from .page_strings import PageStrings

# Classes, columns and pairs of columns that have a line; a table may have thousands.
SHOWN_CLASSES, SHOWN_COLUMNS, SHOWN_PAIRS = 6, 40, 10
# Classes whose counts are listed behind a bar; of more classes, the two that are compared.
COUNTED_CLASSES = 4


def row_section(data: PageData, strings: PageStrings) -> Html:
    """Return the static part of the tab Row."""
    if data.first is None:
        return tag("p", strings.say("row.static.none"))
    order = np.argsort(-np.array(data.first.probabilities), kind="stable").tolist()
    of, against = order[0], order[min(1, len(order) - 1)]
    names = [str(one) for one in data.classes]
    texts = probability_texts(data.first.probabilities)
    title = strings.say("row.static", of=names[of], against=names[against])
    return joined(
        tag("p", tag("strong", strings.say("row.static.answer", label=names[of], p=texts[of])), dir="auto"),
        _probabilities(data, strings, order, texts),
        table(
            [strings.say(f"row.head.{key}") for key in ("column", "cell", "contribution")]
            + ["", strings.say("row.head.counts")],
            _contribution_lines(data, data.first, strings, of, against),
            caption=title,
        ),
        tag("p", strings.say("row.exact"), css="muted"),
    )


def _probabilities(data: PageData, strings: PageStrings, order: list[int], texts: list[str]) -> Html:
    assert data.first is not None
    lines = [
        tag(
            "tr",
            tag("th", label(data.classes[k]), scope="row", dir="auto"),
            tag("td", texts[k], css="number"),
            tag("td", share_bar(data.first.probabilities[k], k), css="bars"),
        )
        for k in order[:SHOWN_CLASSES]
    ]
    return table([], lines, caption=strings.say("row.probabilities", target=data.flat["target"]))


def _contribution_lines(
    data: PageData, first: RowExplanation, strings: PageStrings, of: int, against: int
) -> list[Html]:
    """Return the lines of the table: prior, columns, pairs, and their sum."""
    own = [(name, lead(scores[of], scores[against])) for name, scores in first.columns]
    pairs = [(f"{a} × {b}", lead(scores[of], scores[against])) for a, b, scores in first.pairs]
    prior = lead(first.prior[of], first.prior[against])
    total = prior + sum(value for _, value in own) + sum(value for _, value in pairs)
    longest = max((abs(value) for _, value in [*own, *pairs, ("", prior)] if isfinite(value)), default=1.0) or 1.0

    def line(name: str, cell: Json, value: float, counts: Html) -> Html:
        shown = strings.say("row.both_out") if isnan(value) else signed(value)
        bar = Html("") if isnan(value) else signed_bar(value, longest)
        return tag(
            "tr",
            tag("th", label(name), scope="row", dir="auto"),
            tag("td", label(cell_text(cell, strings)) if cell != "" else "", dir="auto"),
            tag("td", shown, css="number"),
            tag("td", bar, css="bars"),
            tag("td", counts, css="muted", dir="auto"),
        )

    shown = list(range(len(data.classes))) if len(data.classes) <= COUNTED_CLASSES else [of, against]
    strongest = sorted(pairs, key=lambda pair: -_size(pair[1]))[:SHOWN_PAIRS]
    kept = {name for name, _ in sorted(own, key=lambda one: -_size(one[1]))[:SHOWN_COLUMNS]}
    lines = [line(strings.say("row.prior"), "", prior, Html(""))]
    for name, value in own:
        if name in kept:
            counts = counts_behind(data, strings, name, first.cells.get(name), shown)
            lines.append(line(name, first.cells.get(name), value, counts))
    lines += [line(name, "", value, Html("")) for name, value in strongest]
    return [*lines, line(strings.say("row.sum.total"), "", total, Html(""))]


def lead(score: float, other: float) -> float:
    """Return by how much a class leads another; NaN if both are ruled out."""
    return float("nan") if score == other == -inf else score - other


def cell_text(cell: Json, strings: PageStrings) -> str:
    """Return a cell as text."""
    if cell is None:
        return strings.say("row.missing")
    return number_text(cell, 6) if isinstance(cell, float) else str(cell)


def counts_behind(data: PageData, strings: PageStrings, name: str, cell: Json, classes: list[int]) -> Html:
    """Return the counts behind a contribution: of the label, of the bin, or mean and deviation of numbers."""
    facts = data.column_facts(name)
    distribution = None if facts is None else facts.get("distribution")
    if cell is None or distribution is None:
        return Html("")
    texts = _count_texts(data, strings, distribution, cell)
    return joined([tag("span", swatch(k), texts[k], " ", css="count") for k in classes] if texts else [])


def _count_texts(data: PageData, strings: PageStrings, distribution: JsonObject, cell: Json) -> list[str]:
    """Return the text of each class; none where the cell was never counted."""
    names, kind = [str(one) for one in data.classes], distribution["kind"]
    if kind == "normal":
        columns = zip(distribution["mean"], distribution["sd"], distribution["n"], names, strict=True)
        return [
            strings.say("row.counts.normal", mean=number_text(mean), sd=number_text(sd, 2), label=name)
            if n
            else strings.say("row.counts.none", label=name)
            for mean, sd, n, name in columns
        ]
    if kind == "labels":
        place = distribution["values"].index(str(cell)) if str(cell) in distribution["values"] else -1
    elif kind == "bins" and isinstance(cell, (int, float)):
        place = int(np.searchsorted(distribution["cuts"], cell))
    else:
        place = -1
    if place < 0:
        return []
    return [
        strings.say("row.counts.of", n=count_text(line[place]), total=count_text(rows), label=name)
        for line, rows, name in zip(distribution["counts"], data.class_rows, names, strict=True)
    ]


def _size(value: float) -> float:
    return inf if isnan(value) else abs(value)
