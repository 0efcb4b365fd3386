"""The tab Quality: how good the answers were on rows that the page names. `quality.js` adds thresholds and costs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from .._types import JsonObject
from ..markup.charts import ChartAxis, ChartPoint, line_chart
from ..markup.numbers import count_text, probability_text
from ..markup.tags import Html, joined, table, tag
from .page_data import PageData
from .page_strings import PageStrings
from .quality import bin_middles, group_bounds

# Points of a ROC curve that is drawn where scripts do not run, and classes of a confusion that is shown there.
CURVE_POINTS, SHOWN_CLASSES = 40, 12


def quality_section(data: PageData, strings: PageStrings) -> Html:
    """Return the static part of the tab Quality; without figures, how to get some."""
    quality = data.quality
    if quality is None:
        return tag("p", strings.say("quality.none"))
    k = class_of_interest(quality)
    own, other = histograms_of(quality, k)
    label = str(data.classes[k])
    pictures = tag(
        "div", _calibration(quality, k, own, other, label, strings), _roc(own, other, label, strings), css="q-grid"
    )
    return joined(
        tag("p", source_text(quality, strings), css="q-source"),
        figure_list(quality, strings),
        tag("div", pictures, confusion_table(data, quality, strings), css="q-still"),
    )


def source_text(quality: JsonObject, strings: PageStrings) -> str:
    """Return which rows figures were measured on, and how these were held out."""
    source, rows = quality["source"], count_text(quality["rows"])
    if source["of"]:
        rows = strings.say("quality.some", n=rows, of=count_text(source["of"]))
    return strings.say(f"quality.source.{source['kind']}", n=rows, folds=source["folds"])


def figure_list(quality: JsonObject, strings: PageStrings) -> Html:
    """Return the figures that depend on no threshold, each with its standard error and what it means."""
    sizes = [sum(line) for line in quality["confusion"]]
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


def class_of_interest(quality: JsonObject) -> int:
    """Return the class that is looked at first: the one with the fewest rows, of those that have some."""
    sizes = [sum(line) for line in quality["confusion"]]
    known = [k for k in range(len(sizes)) if sizes[k] > 0 and _has_histogram(quality, k)]
    return min(known, key=lambda k: (sizes[k], -k), default=0)


def _has_histogram(quality: JsonObject, k: int) -> bool:
    return len(quality["histograms"]) == 2 or quality["histograms"][k] is not None


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
    limits = interval_of_class(quality, k)
    for (begin, end), (low, high) in zip(pairwise(group_bounds()), limits, strict=True):
        hits, rows = sum(own[begin:end]), sum(own[begin:end]) + sum(other[begin:end])
        if not rows:
            continue
        mean = sum((own[b] + other[b]) * middles[b] for b in range(begin, end)) / rows
        points.append(ChartPoint(mean, hits / rows, low, high, 0.3))
        largest = max(largest, (0.5 < mean < 0.95, rows, mean, hits / rows))
    given, found = (probability_text(p, 0) for p in largest[2:])
    title = strings.say("quality.calibration.title", given=given, found=found, label=label)
    across = ChartAxis(strings.say("quality.axis.given", label=label))
    chart = line_chart([points], across, ChartAxis(strings.say("quality.axis.found", label=label)), title, True)
    return _figure(title, chart, strings.say("quality.calibration.note"))


def interval_of_class(quality: JsonObject, k: int) -> list[list[float]]:
    """Return the interval of each group of probabilities of a class; of two classes, one mirrors the other."""
    found: list[list[float]] | None = quality["intervals"][k]
    if found is not None:
        return found
    return [[1 - high, 1 - low] for low, high in reversed(quality["intervals"][1 - k])]


def _roc(own: list[float], other: list[float], label: str, strings: PageStrings) -> Html:
    """Return the proportion of the class that is found, by the proportion of other rows that is flagged with it."""
    found = [0.0, *accumulate(reversed(own))]
    flagged = [0.0, *accumulate(reversed(other))]
    total, rest = found[-1] or 1.0, flagged[-1] or 1.0
    points = [ChartPoint(0.0, 0.0, size=0)]
    for x, y in zip(flagged, found, strict=True):
        last = points[-1]
        if abs(x / rest - last.x) + abs(y / total - last.y) > 2 / CURVE_POINTS:
            points.append(ChartPoint(x / rest, y / total, size=0))
    points.append(ChartPoint(1.0, 1.0, size=0))
    area = sum((b - a) * (c + d) / 2 for (a, b), (c, d) in zip(pairwise(flagged), pairwise(found), strict=True))
    title = strings.say("quality.roc.title", auc=f"{area / (total * rest):.3f}", label=label)
    across = ChartAxis(strings.say("quality.axis.alarms"))
    return _figure(title, line_chart([points], across, ChartAxis(strings.say("quality.axis.recall")), title, True))


def _figure(title: str, picture: Html, note: str = "") -> Html:
    said = tag("p", note, css="muted") if note else Html("")
    return tag("figure", tag("figcaption", title, dir="auto"), picture, said)


def confusion_table(data: PageData, quality: JsonObject, strings: PageStrings) -> Html:
    """Return the numbers of rows by true class and most probable class."""
    n = min(len(data.classes), SHOWN_CLASSES)
    names = [str(label) for label in data.classes[:n]]
    rows = [
        tag(
            "tr",
            tag("th", name, scope="row"),
            [
                tag("td", count_text(quality["confusion"][k][j]), css="nv-n q-right" if j == k else "nv-n")
                for j in range(n)
            ],
        )
        for k, name in enumerate(names)
    ]
    head = [strings.say("quality.true_answer"), *names]
    left = len(data.classes) - n
    more = tag("p", strings.say("quality.more_classes", n=left), css="muted") if left else Html("")
    caption = strings.say("quality.confusion.caption")
    return tag("div", table(head, rows, caption, css="confusion"), more, css="scroll")
