"""The distribution of each column of a model within each class, as plain values: for pages, notebook views and charts.

A distribution is a dict, as in `stats.distributions`; of the kind "bins" it has counts between cuts, or of single whole
`values`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from .._types import Floats, Json, JsonObject, Places
from ..data.column import Column
from ..families import Bins, Ordinal
from ..families.bins import whole_neighbors
from ..model.default.grid import NumberBins
from ..model.table_model import TableModel
from ..page.numbers import date_text, number_text
from ..stats import Axis, Counts, Table, WordTable
from ..stats.arithmetic import Information
from ..stats.distributions import SHOWN_VALUES, counts_json, normal_distribution, value_distribution, word_distribution

# Bins of a histogram, about.
HISTOGRAM_BINS = 24
# Columns of at most this many different whole numbers are drawn by value.
SINGLE_NUMBERS = 12
# Characters of a sentence, at most.
MOST_LETTERS = 400
# Where four fifths of the rows lie within this part of the axis, bins are drawn with equal widths.
CROWDED = 0.15


def strongest_first(measured: Mapping[str, Information]) -> list[str]:
    """Return the columns by their mutual information, the highest first; those without a figure last."""
    return sorted(
        measured, key=lambda name: -measured[name].bits if measured[name].bits == measured[name].bits else 1.0
    )


def column_facts(
    model: TableModel, counts: Counts, measured: Mapping[str, Information], most: int | None = None
) -> list[JsonObject]:
    """Return what is known about each column, the one with the highest mutual information first.

    Parameters
    ----------
    model : TableModel
        The model.
    counts : Counts
        What it was estimated from.
    measured : mapping of str to Information
        The mutual information of each column and the class.
    most : int, optional
        How many columns have a sentence and a distribution; by default all.

    Returns
    -------
    facts : list of dict
        Name, kind, bits and their standard error, the sentence on what was estimated, and the distribution by class.
    """
    names, facts = strongest_first(measured), []
    shown = column_distributions(model, counts, names[:most])
    for name in names:
        part, distribution, sentence = model.parts[name], shown.get(name), ""
        if distribution is not None and "time" in distribution:
            sentence = _times(counts.classes, *model.number_summaries[name])
        elif name in shown:
            sentence = part.describe().removeprefix(f"{name}: ")[:MOST_LETTERS]
        figures = {
            key: round(float(value), 4) if np.isfinite(value) else None
            for key, value in zip(("bits", "error"), measured[name], strict=False)
        }
        about: JsonObject = {"name": name, "kind": part.column.kind, **figures}
        facts.append(about | {"sentence": sentence[:1].upper() + sentence[1:], "distribution": distribution})
    return facts


def _times(classes: Axis, n: Floats, mean: Floats, ssd: Floats) -> str:
    """Return where the times of each class lie, in words."""
    of_classes = [
        f"{date_text(mean[k])} ± {number_text(float(np.sqrt(ssd[k] / n[k])) / 86400, 2)} days for {label}"
        for k, label in enumerate(classes.labels)
        if n[k] > 0
    ]
    return f"{', '.join(of_classes)}."[:MOST_LETTERS]


def column_distributions(model: TableModel, counts: Counts, names: Iterable[str]) -> dict[str, JsonObject | None]:
    """Return the distribution of some columns in each class of the counts; None for vectors."""
    fine, summaries, shown = model.fine_bins, model.number_summaries, dict[str, JsonObject | None]()
    for name in names:
        column, statistic = model.schema[name], counts.columns[name]
        if name in fine:
            shown[name] = _bins_of_grid(column, *fine[name], summaries[name])
        elif isinstance(statistic, WordTable):
            shown[name] = word_distribution(statistic.on(counts.classes))
        elif isinstance(statistic, Table):
            shown[name] = _values(statistic, counts.classes, column)
        else:
            shown[name] = normal_distribution(*summaries[name]) if name in summaries else None
        if column.type == "time" and name in summaries:
            shown[name] = (shown[name] or {}) | {"time": True}
    return shown


def typical_cell(distribution: JsonObject | None) -> Json:
    """Return the middle of a column: the median number, the commonest value, no text; None where nothing is known."""
    if distribution is None or distribution["kind"] == "words":
        return None
    if distribution["kind"] == "normal":
        n = np.array(distribution["n"], dtype=np.float64)
        return float(f"{np.average(distribution['mean'], weights=n):.4g}") if n.sum() else None
    counts = np.sum(np.array(distribution["counts"], dtype=np.float64), axis=0)
    if not counts.sum():
        return None
    if distribution["kind"] == "labels":
        return distribution["values"][int(counts.argmax())]
    if "values" in distribution:
        return float(distribution["values"][int(np.searchsorted(np.cumsum(counts), counts.sum() / 2))])
    # As if numbers lay evenly within their bin.
    low, high = distribution["low"], distribution["high"]
    below = np.concatenate([[0.0], np.cumsum(counts)])
    middle = float(np.interp(below[-1] / 2, below, [low, *distribution["cuts"], high]))
    whole_range = float(low).is_integer() and float(high).is_integer() and high - low >= 10
    return float(round(middle)) if whole_range or distribution.get("whole") else float(f"{middle:.4g}")


# -- labels ------------------------------------------------------------------------------------------------------------


def _values(table: Table, classes: Axis, column: Column) -> JsonObject:
    """Return the counts of values: the most frequent ones, or all of a few that have an order."""
    n, family, labels = table.on(classes), column.family, list(table.values.labels)
    if isinstance(family, Bins) and family.cuts is not None and len(family.cuts):
        places = np.array([int(label) for label in labels if isinstance(label, int)], dtype=np.intp)
        binned = np.zeros((len(n), len(family.cuts) + 1))
        binned[:, places] = n[:, : len(places)]
        return _histogram(np.array(family.cuts), binned, whole=holds_whole_numbers(column, family.cuts))
    order = None
    if isinstance(family, Ordinal):
        levels = list(family.levels or column.levels or ())
        level = {label: place for place, label in reversed(list(enumerate(levels)))}
        ranks = [level.get(label, len(levels)) for label in labels]
        order = np.argsort(ranks if len(labels) <= 2 * SHOWN_VALUES else -n.sum(axis=0), kind="stable")
    return value_distribution(n, labels, order)


# -- numbers -----------------------------------------------------------------------------------------------------------


def holds_whole_numbers(column: Column, cuts: Sequence[float]) -> bool:
    """Tell whether a column holds whole numbers: by its type, or because all its cuts lie between such numbers."""
    if column.type in ("whole", "time"):
        return column.type == "whole"
    return whole_neighbors(np.array(cuts, dtype=np.float64)) is not None


def single_numbers(bins: NumberBins, n: Floats, summary: tuple[Floats, Floats, Floats]) -> list[float]:
    """Return the whole number that each fine bin [class, bin] holds; none if a bin holds several, or if they are many.

    Cuts tell the numbers next to them. Beyond the outermost cuts nothing else lies if these numbers have the sum of
    squared deviations that was counted.
    """
    if not 1 < n.shape[1] <= SINGLE_NUMBERS or (sides := whole_neighbors(np.array(bins.cuts))) is None:
        return []
    below, above = sides
    rows, mean, ssd = (part[:, None] for part in summary)
    if (above[:-1] != below[1:]).any() or len(rows) != len(n):
        return []
    values = np.append(below, above[-1])
    apart = (n * (values - mean) ** 2).sum(axis=1)
    tolerance = 1e-6 * np.maximum(apart, 1e-3 * n.sum(axis=1))
    same = np.abs(apart - ssd[:, 0]) <= tolerance
    return values.tolist() if (same | (rows[:, 0] == 0)).all() else []


def _bins_of_grid(column: Column, bins: NumberBins, n: Floats, summary: tuple[Floats, Floats, Floats]) -> JsonObject:
    """Return the histogram of a number whose fine bins were counted; of one value alone, one bin that ends there."""
    cuts = np.array(bins.cuts)
    if column.type != "time" and (values := single_numbers(bins, n, summary)):
        ends = {"cuts": _between(cuts).tolist(), "low": values[0], "high": values[-1]}
        about = {"kind": "bins", "even": False, "whole": True, "values": values}
        return about | ends | {"counts": counts_json(n)}
    shown = _histogram(cuts, n, np.array(bins.wider, dtype=np.intp), holds_whole_numbers(column, bins.cuts))
    if not bins.cuts:
        rows, mean, _ = summary
        shown["low"] = shown["high"] = float(mean[rows > 0][0]) if rows.any() else 0.0
    return shown


def _between(cuts: Floats) -> Floats:
    """Return cuts halfway between two whole numbers: every whole number stays on its side."""
    return np.asarray(np.floor(cuts) + 0.5)


def _histogram(cuts: Floats, n: Floats, wider: Places | None = None, whole: bool = False) -> JsonObject:
    """Return counts [class, bin] in fewer bins, of about equal widths; of equal numbers of rows where most crowd.

    The outermost bins have no end. They are drawn as wide as their neighbours, and from 0 on where no cut is negative.
    """
    if not len(cuts):
        return {"kind": "bins", "cuts": [], "low": None, "high": None, "even": True, "counts": counts_json(n)}
    whole = whole and bool((np.diff(_between(cuts)) > 0).all())
    cuts = _between(cuts) if whole else cuts
    if len(cuts) == 1:
        before = after = max(abs(float(cuts[0])), 1.0)
    else:
        before, after = float(cuts[1] - cuts[0]), float(cuts[-1] - cuts[-2])
    first = cuts[0] - before
    edges = np.array([0.0 if first < 0 <= cuts[0] else first, *cuts, cuts[-1] + after])
    rows = n.sum(axis=0)
    share = np.cumsum(rows) / max(float(rows.sum()), 1e-300)
    tenth, last_tenth = np.searchsorted(share, [0.1, 0.9])
    middle = edges[min(last_tenth + 1, len(edges) - 1)] - edges[tenth]
    even = bool(middle < CROWDED * (edges[-1] - edges[0]))
    if not even:
        groups = _groups_by_width(edges)
    elif wider is not None:
        groups = wider
    else:  # of about as many rows each
        centers = (np.cumsum(rows) - rows / 2) / max(float(rows.sum()), 1e-300)
        groups = (centers * HISTOGRAM_BINS / 2).astype(np.intp)
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    kept = cuts[starts[1:] - 1]
    shown = {
        "kind": "bins",
        "cuts": kept.tolist() if whole else [float(f"{cut:.5g}") for cut in kept],
        "low": float(np.ceil(edges[0]) if whole else f"{edges[0]:.5g}"),
        "high": float(np.floor(edges[-1]) if whole else f"{edges[-1]:.5g}"),
        "even": even,
        "counts": counts_json(np.add.reduceat(n, starts, axis=1)),
    }
    return shown | {"whole": True} if whole else shown


def _groups_by_width(edges: Floats) -> Places:
    """Return the group of each bin, so that each but the last is at least a part of the axis wide."""
    least, group, begin, groups = (edges[-1] - edges[0]) / HISTOGRAM_BINS * 0.75, 0, edges[0], []
    for left in edges[:-1]:
        if left - begin >= least:
            group, begin = group + 1, left
        groups.append(group)
    return np.array(groups, dtype=np.intp)
