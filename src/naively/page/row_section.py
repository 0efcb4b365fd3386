"""The static part of the tab Row: one row, the probabilities of its classes, and what each column contributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite, isnan, nan

import numpy as np

from .._types import Json, JsonObject
from ..markup.numbers import count_text, number_text, probability_texts, signed
from ..markup.svg import share_bar, signed_bar
from ..markup.tags import Html, joined, label, table, tag
from .page_data import PageData, RowExplanation
from .page_strings import PageStrings

# Classes, columns and pairs of columns that have a line; a table may have thousands.
SHOWN_CLASSES, SHOWN_COLUMNS, SHOWN_PAIRS = 6, 40, 2
# Classes whose counts are listed behind a bar; of more classes, the two that are compared.
COUNTED_CLASSES = 4
# Texts of more characters are cut.
LONG_TEXT = 40


def row_section(data: PageData, strings: PageStrings) -> Html:
    """Return the static part of the tab Row."""
    if data.first is None:
        return tag("p", strings.say("row.static.none"))
    names, texts = [str(one) for one in data.classes], probability_texts(data.first.probabilities)
    order = np.argsort(-np.array(data.first.probabilities), kind="stable").tolist()
    of, against = compared_classes(data.first)
    head = [strings.say(f"row.head.{key}") for key in ("column", "cell", "contribution")]
    head += [tag("span", strings.say("row.text.bar"), css="hidden"), strings.say("row.head.counts")]
    lines = StaticContributions(data, data.first, strings, of, against).lines()
    title = strings.say("row.static", of=names[of], against=names[against])
    contributions = table(head, lines, caption=title)
    return joined(
        tag("p", tag("strong", strings.say("row.static.answer", label=names[of], p=texts[of])), dir="auto"),
        _probabilities(data, strings, order[:SHOWN_CLASSES], texts),
        tag(
            "div", contributions, css="wide", tabindex=0, role="region", aria_label=strings.say("row.head.contribution")
        ),
        tag("p", strings.say("row.exact"), css="muted"),
    )


def compared_classes(row: RowExplanation) -> tuple[int, int]:
    """Return the most probable class of a row, and the class with the highest score among the others."""
    scores = np.array([row.prior, *(part for _, part in row.columns), *(part for *_, part in row.pairs)]).sum(axis=0)
    of = int(np.argmax(row.probabilities))
    others = [k for k in range(len(scores)) if k != of]
    return of, max(others, key=lambda k: (scores[k], -k), default=of)


def _probabilities(data: PageData, strings: PageStrings, order: list[int], texts: list[str]) -> Html:
    assert data.first is not None
    lines = [
        tag(
            "tr",
            _text_cell("th", str(data.classes[k]), scope="row"),
            tag("td", texts[k], css="number"),
            tag("td", share_bar(data.first.probabilities[k], k), css="bars"),
        )
        for k in order
    ]
    return table([], lines, caption=strings.say("row.probabilities", target=data.flat["target"]))


@dataclass(frozen=True)
class StaticContributions:
    """The table of contributions to the log-odds of one class against another."""

    data: PageData
    row: RowExplanation
    strings: PageStrings
    of: int
    against: int

    def lines(self) -> list[Html]:
        """Return the lines of the table: prior, columns, pairs, and their sum."""
        own = [(name, self._lead(scores)) for name, scores in self.row.columns]
        pairs = [(f"{a} × {b}", self._lead(scores)) for a, b, scores in self.row.pairs]
        pairs.sort(key=lambda pair: -_size(pair[1]))
        prior = self._lead(self.row.prior)
        longest = max((abs(value) for _, value in [*own, *pairs, ("", prior)] if isfinite(value)), default=0.0) or 1.0
        kept = {name for name, _ in sorted(own, key=lambda one: -_size(one[1]))[:SHOWN_COLUMNS]}
        lines = [self._line(self.strings.say("row.prior"), prior, longest)]
        lines += [self._column(name, value, longest) for name, value in own if name in kept]
        lines += [self._line(name, value, longest) for name, value in pairs[:SHOWN_PAIRS]]
        if rest := pairs[SHOWN_PAIRS:]:
            title = self.strings.say("row.together", n=count_text(len(rest)))
            lines.append(self._line(title, sum(value for _, value in rest), longest))
        total = prior + sum(value for _, value in [*own, *pairs])
        return [*lines, self._line(self.strings.say("row.sum.total"), total, longest)]

    def _lead(self, scores: Sequence[float]) -> float:
        """Return by how much the class leads the other; NaN if both are ruled out."""
        score, other = scores[self.of], scores[self.against]
        return nan if score == other == -inf else score - other

    def _column(self, name: str, value: float, longest: float) -> Html:
        cell, size = self.row.cells.get(name), len(self.data.classes)
        classes = list(range(size)) if size <= COUNTED_CLASSES else [self.of, self.against]
        counts = counts_behind(self.data, self.strings, name, cell, classes)
        return self._line(name, value, longest, cell_text(cell, self.strings), counts)

    def _line(self, name: str, value: float, longest: float, cell: str = "", counts: str = "") -> Html:
        bar = Html("") if isnan(value) else signed_bar(value, longest)
        return tag(
            "tr",
            _text_cell("th", name, scope="row"),
            _text_cell("td", cell),
            tag("td", self.strings.say("row.both_out") if isnan(value) else signed(value), css="number"),
            tag("td", bar, css="bars"),
            tag("td", counts, css="muted", dir="auto") if counts else tag("td"),
        )


def _text_cell(kind: str, text: str, **attributes: str) -> Html:
    """Return a cell of the table with a text of the data, whichever way it is written."""
    if not text:
        return tag(kind, **attributes)
    return tag(kind, text if len(text) < LONG_TEXT else label(text), dir="auto", **attributes)


def cell_text(cell: Json, strings: PageStrings) -> str:
    """Return a cell as text."""
    if cell is None:
        return strings.say("row.missing")
    return number_text(cell, 6) if isinstance(cell, float) else str(cell)


def counts_behind(data: PageData, strings: PageStrings, name: str, cell: Json, classes: list[int]) -> str:
    """Return the counts behind a contribution: of the label, of the bin, or mean and deviation of numbers."""
    facts = data.column_facts(name)
    distribution = None if facts is None else facts.get("distribution")
    if cell is None or distribution is None:
        return ""
    texts = _count_texts(data, strings, distribution, cell)
    return " · ".join(texts[k] for k in classes) if texts else ""


def _count_texts(data: PageData, strings: PageStrings, distribution: JsonObject, cell: Json) -> list[str]:
    """Return the text of each class; none where the cell was never counted."""
    names = [str(one) for one in data.classes]
    if distribution["kind"] == "normal":
        parts = zip(distribution["n"], distribution["mean"], distribution["sd"], names, strict=True)
        return [
            strings.say("row.counts.normal", mean=number_text(mean), sd=number_text(sd, 2), label=name)
            if n
            else strings.say("row.counts.none", label=name)
            for n, mean, sd, name in parts
        ]
    counts = _counts_of_cell(distribution, cell)
    return [
        strings.say("row.counts.of", n=count_text(n), total=count_text(rows), label=name)
        for n, rows, name in zip(counts, data.class_rows, names, strict=False)
    ]


def _counts_of_cell(distribution: JsonObject, cell: Json) -> list[float]:
    """Return the rows of each class with the label or in the bin of a cell; none where it was never counted."""
    if distribution["kind"] == "bins" and isinstance(cell, (int, float)):
        place = int(np.searchsorted(distribution["cuts"], cell))
        return [line[place] for line in distribution["counts"]]
    for part in (distribution, distribution.get("rest")):
        if part is not None and distribution["kind"] == "labels" and str(cell) in part["values"]:
            return [line[part["values"].index(str(cell))] for line in part["counts"]]
    return []


def _size(value: float) -> float:
    return inf if isnan(value) else abs(value)
