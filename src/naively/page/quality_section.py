"""The tab Quality: how good the answers were on rows that the page names. `quality.js` adds thresholds and costs."""

from __future__ import annotations

from collections.abc import Sequence

from .._types import JsonObject
from ..judge.histograms import BINS
from ..markup.numbers import count_text, number_text, probability_text
from ..markup.tags import Html, joined, table, tag
from .calibration_picture import CalibrationPoint, calibration_picture
from .page_data import PageData
from .page_strings import PageStrings
from .quality import bin_middles


def quality_section(data: PageData, strings: PageStrings) -> Html:
    """Return the static part of the tab Quality; without figures, how to get some."""
    quality = data.quality
    if quality is None:
        return tag("p", strings.say("quality.none"))
    head = joined(tag("p", source_text(quality, strings), css="q-source"), figure_list(quality, strings))
    k = quality["first"]
    if k is None:
        return head
    own, other = histograms_of(quality, k)
    label = str(data.classes[k])
    grid = decision_table(data, own, other, label, strings), _calibration(quality, k, own, other, label, strings)
    return joined(
        head,
        tag("p", rates_text(own, other, label, strings), css="q-words", aria_live="polite"),
        tag("div", grid, css="q-grid"),
        confusion_table(data, quality, strings) if len(data.classes) > 2 else Html(""),
    )


def halves(own: list[float], other: list[float]) -> dict[str, float]:
    """Return the decisions at a probability of one half."""
    half = BINS // 2
    counts = {"hit": sum(own[half:]), "missed": sum(own[:half])}
    return counts | {"false_alarm": sum(other[half:]), "left_alone": sum(other[:half])}


def rates_text(own: list[float], other: list[float], label: str, strings: PageStrings) -> str:
    """Return the decisions at a probability of one half as a sentence."""
    n = halves(own, other)
    flagged, rows = n["hit"] + n["false_alarm"], sum(n.values())
    rates = {"recall": n["hit"] / (n["hit"] + n["missed"]), "accuracy": (n["hit"] + n["left_alone"]) / rows}
    rates["precision"] = n["hit"] / flagged if flagged else float("nan")
    said = {name: probability_text(rate) for name, rate in rates.items()}
    cost = number_text((n["missed"] + n["false_alarm"]) / rows, 3)
    return strings.say("quality.rates", t="0.5", label=label, cost=cost, **said)


def decision_table(data: PageData, own: list[float], other: list[float], label: str, strings: PageStrings) -> Html:
    """Return the rows of a class and all others that are above and below a probability of one half."""
    counts = halves(own, other)

    def cell(key: str) -> Html:
        css = "nv-n q-right" if key in ("hit", "left_alone") else "nv-n q-wrong"
        note = tag("small", strings.say(f"quality.{key}"))
        return tag("td", count_text(counts[key]), note, css=css, data_cell=key)

    rows = [
        tag(
            "tr",
            tag("th", strings.say("quality.is", label=label), scope="row", css="q-is"),
            cell("hit"),
            cell("missed"),
        ),
        tag("tr", tag("th", strings.say("quality.is_not"), scope="row"), cell("false_alarm"), cell("left_alone")),
    ]
    right = 100 * (counts["hit"] + counts["left_alone"]) / (sum(counts.values()) or 1.0)
    head = [strings.say("quality.true_decision"), strings.say("quality.flagged"), strings.say("quality.not_flagged")]
    listed = data.rows is not None and data.rows.posterior is not None
    note = tag("p", strings.say("quality.click" if listed else "quality.no_rows"), css="muted q-click")
    caption = tag("figcaption", strings.say("quality.cells.title", right=number_text(right, 3)))
    return tag("figure", caption, table(head, rows, css="confusion"), note, css="q-cells")


def source_text(quality: JsonObject, strings: PageStrings) -> str:
    """Return which rows figures were measured on, and how these were held out."""
    source, rows = quality["source"], count_text(quality["rows"])
    if source["of"]:
        rows = strings.say("quality.some", n=rows, of=count_text(source["of"]))
    return strings.say(f"quality.source.{source['kind']}", n=rows, folds=source["folds"])


def figure_list(quality: JsonObject, strings: PageStrings) -> Html:
    """Return the figures that depend on no threshold, each with its standard error and what it means."""
    sizes = quality["sizes"]
    constant = max(sizes) / (sum(sizes) or 1.0)
    parts = []
    for name in ("accuracy", "log_loss", "auc"):
        value, error = quality["figures"][name]
        text = "–" if value is None else probability_text(value) if name == "accuracy" else f"{value:.4f}"
        text = "> 0.9999" if text == "1.0000" and value < 1 else text
        if value is not None and error is not None:
            text += f" ± {100 * error:.1f}" if name == "accuracy" else f" ± {error:.4f}"
        note = strings.say(f"quality.{name}.note", constant=probability_text(constant))
        parts.append(tag("div", tag("dt", strings.say(f"quality.{name}")), tag("dd", tag("b", text), " ", note)))
    return tag("dl", parts, css="q-figures")


def histograms_of(quality: JsonObject, k: int) -> tuple[list[float], list[float]]:
    """Return the rows of a class and of all others, by the bin of its probability."""
    if quality["histograms"][k] is None:
        own, other = (unpacked(part) for part in quality["histograms"][1 - k])
        return other[::-1], own[::-1]
    own, other = (unpacked(part) for part in quality["histograms"][k])
    return own, other


def unpacked(counts: Sequence[float]) -> list[float]:
    """Return the counts of all bins, as `packed` had them.

    >>> unpacked([3, -2, 1.5])
    [3.0, 0.0, 0.0, 1.5]
    """
    out: list[float] = []
    for cell in counts:
        out += [float(cell)] if cell > 0 else [0.0] * int(-cell)
    return out


def _calibration(
    quality: JsonObject, k: int, own: list[float], other: list[float], label: str, strings: PageStrings
) -> Html:
    """Return how often the class was true, by the probability that it was given."""
    middles, points, largest = bin_middles().tolist(), [], (False, 0.0, 0.0, 0.0)
    for begin, end, low, high in intervals_of_class(quality, k):
        hits, rows = sum(own[begin:end]), sum(own[begin:end]) + sum(other[begin:end])
        if not rows:
            continue
        mean = sum((own[b] + other[b]) * middles[b] for b in range(begin, end)) / rows
        points.append(CalibrationPoint(mean, hits / rows, low, high))
        largest = max(largest, (0.1 < mean < 0.95, rows, mean, hits / rows))
    given, found = (probability_text(p, 0) for p in largest[2:])
    said = {"n": count_text(largest[1]), "given": given, "found": found}
    title = strings.say("quality.calibration.title", **said, label=label)
    given, found = (strings.say(f"quality.axis.{name}", label=label) for name in ("given", "found"))
    chart = calibration_picture(points, given, found, title)
    note = tag("p", strings.say("quality.calibration.note"), css="muted")
    return tag("figure", tag("figcaption", title, dir="auto"), chart, note, data_picture="calibration")


def intervals_of_class(quality: JsonObject, k: int) -> list[tuple[int, int, float, float]]:
    """Return the groups of bins of a class with their intervals; of two classes, one mirrors the other."""
    found: list[list[float]] | None = quality["intervals"][k]
    if found is not None:
        return [(int(begin), int(end), low, high) for begin, end, low, high in found]
    mirrored = reversed(quality["intervals"][1 - k])
    return [(BINS - int(end), BINS - int(begin), 1 - high, 1 - low) for begin, end, low, high in mirrored]


def confusion_table(data: PageData, quality: JsonObject, strings: PageStrings) -> Html:
    """Return the numbers of rows by true class and most probable class."""
    n = len(quality["confusion"])
    names = [str(label) for label in data.classes[:n]]

    def cell(k: int, j: int) -> Html:
        rows = quality["confusion"][k][j]
        css = "nv-n q-right" if j == k else "nv-n q-wrong" if rows else "nv-n"
        return tag("td", count_text(rows), css=css, data_cell=f"{k},{j}")

    lines = [tag("tr", tag("th", name, scope="row"), [cell(k, j) for j in range(n)]) for k, name in enumerate(names)]
    caption, left = strings.say("quality.confusion.caption"), len(data.classes) - n
    more = tag("p", strings.say("quality.more_classes", n=left), css="muted") if left else Html("")
    cells = table([strings.say("quality.true_answer"), *names], lines, css="confusion", caption=caption)
    return tag("div", cells, more, css="scroll", tabindex=0, role="region", aria_label=caption)
