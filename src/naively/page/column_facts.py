"""What a page says about each column: its mutual information with the class, a sentence, its distribution by class."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from .._types import Floats, JsonObject, Label, Places
from ..data.column import Column
from ..data.grid import NumberBins
from ..explain.column_distributions import holds_whole_numbers, single_numbers
from ..explain.report import fine_bins_of, strongest_first
from ..families import Bins, Ordinal
from ..families.family import shown_label
from ..judge.metrics import as_row_count
from ..markup.numbers import date_text, number_text
from ..model.protocols import FittedModel
from ..stats import Axis, Counts, Table, WordTable
from ..stats.mutual_information import Information

# A histogram has about so many bins, and a column of labels so many values of their own.
HISTOGRAM_BINS, SHOWN_VALUES = 24, 8
# A sentence is no longer than this.
MOST_LETTERS = 400
# Values without a bar of their own whose counts are known to the tab Row.
COUNTED_VALUES = 300
# Words that are shown of each class.
SHOWN_WORDS = 4
# Where four fifths of the rows lie within this part of the axis, bins are drawn with equal widths.
CROWDED = 0.15


def column_facts(model: FittedModel, counts: Counts, told: Mapping[str, Information]) -> list[JsonObject]:
    """Return what is known about each column, the one with the highest mutual information first.

    Parameters
    ----------
    model : FittedModel
        The model.
    counts : Counts
        What it was estimated from.
    told : mapping of str to Information
        The mutual information of each column and the class.

    Returns
    -------
    facts : list of dict
        Name, kind, bits and their standard error, the sentence on what was estimated, and the distribution by class.
    """
    fine = {} if counts.joint is None else fine_bins_of(counts.joint)
    layouts = {} if counts.joint is None else {bins.name: bins for bins in counts.joint.grid.numbers}
    facts = []
    for name in strongest_first(told):
        part = model.parts[name]
        sentence = part.describe().removeprefix(f"{name}: ")[:MOST_LETTERS]
        if name in fine:
            shown: JsonObject | None = _bins_of_grid(
                part.column, layouts[name], fine[name], model.number_summaries[name]
            )
        else:
            shown = _distribution(model, counts, part.column)
        if part.column.type == "time" and shown is not None and name in model.number_summaries:
            shown, sentence = shown | {"time": True}, _times(counts.classes, *model.number_summaries[name])
        facts.append(
            {
                "name": name,
                "kind": part.column.kind,
                "bits": _figure(told[name].bits),
                "error": _figure(told[name].error),
                "sentence": sentence[:1].upper() + sentence[1:],
                "distribution": shown,
            }
        )
    return facts


def _times(classes: Axis, n: Floats, mean: Floats, ssd: Floats) -> str:
    """Return where the times of each class lie, in words."""
    each = [
        f"{date_text(mean[k])} ± {number_text(float(np.sqrt(ssd[k] / n[k])) / 86400, 2)} days for {label}"
        for k, label in enumerate(classes.labels)
        if n[k] > 0
    ]
    return f"{', '.join(each)}."[:MOST_LETTERS]


def _figure(value: float) -> float | None:
    """Return a figure as JSON can hold it, to four digits behind the point."""
    return round(float(value), 4) if np.isfinite(value) else None


def _counts_as_json(n: Floats) -> list[list[int | float]]:
    """Return counts [class][value]; those of weights are rounded."""
    return [[as_row_count(round(float(cell), 3)) for cell in line] for line in n]


def _distribution(model: FittedModel, counts: Counts, column: Column) -> JsonObject | None:
    """Return the distribution of a column that has no fine bins; None of vectors."""
    statistic = counts.columns[column.name]
    if isinstance(statistic, WordTable):
        return _words(statistic.on(counts.classes))
    if isinstance(statistic, Table):
        return _values(statistic, counts.classes, column)
    if column.name in model.number_summaries:
        n, mean, ssd = model.number_summaries[column.name]
        spread = np.sqrt(np.divide(ssd, n, out=np.zeros_like(ssd), where=n > 0))
        figures = ([float(f"{x:.6g}") for x in part] for part in (n, mean, spread))
        return dict(zip(("kind", "n", "mean", "sd"), ("normal", *figures), strict=True))
    return None


# -- labels ------------------------------------------------------------------------------------------------------------


def _values(table: Table, classes: Axis, column: Column) -> JsonObject:
    """Return the counts of values: the most frequent ones, or all of a few that have an order."""
    n, family = table.on(classes), column.family
    if isinstance(family, Bins) and family.cuts is not None and len(family.cuts):
        cuts = np.array(family.cuts)
        places = np.array([int(label) for label in table.values.labels if isinstance(label, int)], dtype=np.intp)
        binned = np.zeros((len(n), len(cuts) + 1))
        binned[:, places] = n[:, : len(places)]
        return _histogram(cuts, binned, whole=holds_whole_numbers(column, family.cuts))
    labels, order = list(table.values.labels), np.argsort(-n.sum(axis=0), kind="stable")
    if isinstance(family, Ordinal) and len(labels) <= 2 * SHOWN_VALUES:
        order = np.argsort([_level(label, column) for label in labels], kind="stable")
    most = SHOWN_VALUES if len(labels) > SHOWN_VALUES + 1 and not isinstance(family, Ordinal) else len(labels)
    shown, rest = order[: min(most, 2 * SHOWN_VALUES)], order[min(most, 2 * SHOWN_VALUES) :]
    return {
        "kind": "labels",
        "values": [shown_label(labels[at]) for at in shown],
        "counts": _counts_as_json(n[:, shown]),
        "others": len(rest),
        "other_counts": [as_row_count(round(float(x), 3)) for x in n[:, rest].sum(axis=1)],
        "rest": {
            "values": [shown_label(labels[at]) for at in rest[:COUNTED_VALUES]],
            "counts": _counts_as_json(n[:, rest[:COUNTED_VALUES]]),
        },
    }


def _level(label: Label, column: Column) -> int:
    """Return where a label stands among the levels of its column."""
    declared = column.family.levels if isinstance(column.family, Ordinal) else None
    levels = list(declared or column.levels or ())
    return levels.index(label) if label in levels else len(levels)


# -- numbers -----------------------------------------------------------------------------------------------------------


def _bins_of_grid(column: Column, bins: NumberBins, n: Floats, summary: tuple[Floats, Floats, Floats]) -> JsonObject:
    """Return the histogram of a number whose fine bins were counted; of one value alone, one bin that ends there."""
    if column.type != "time" and (values := single_numbers(bins, n, summary)):
        found = {"kind": "bins", "cuts": _between(np.array(bins.cuts)).tolist(), "low": values[0], "high": values[-1]}
        return found | {"even": False, "whole": True, "values": values, "counts": _counts_as_json(n)}
    wider, whole = np.array(bins.wider, dtype=np.intp), holds_whole_numbers(column, bins.cuts)
    found = _histogram(np.array(bins.cuts), n, wider, whole)
    if not bins.cuts:
        known, mean, _ = summary
        found["low"] = found["high"] = float(mean[known > 0][0]) if known.any() else 0.0
    return found


def _between(cuts: Floats) -> Floats:
    """Return cuts halfway between two whole numbers: every whole number stays on its side."""
    return np.asarray(np.floor(cuts) + 0.5)


def _histogram(cuts: Floats, n: Floats, wider: Places | None = None, whole: bool = False) -> JsonObject:
    """Return counts [class, bin] in fewer bins, of about equal widths; of equal numbers of rows where most crowd.

    The outermost bins have no end. They are drawn as wide as their neighbours, and from 0 on where no cut is negative.
    """
    if whole and (np.diff(_between(cuts)) > 0).all():
        cuts = _between(cuts)
    else:
        whole = False
    edges = _edges(cuts)
    if not len(cuts):
        return {"kind": "bins", "cuts": [], "low": None, "high": None, "even": True, "counts": _counts_as_json(n)}
    even = bool(_is_crowded(edges, n.sum(axis=0)))
    groups = _groups_by_width(edges) if not even else _groups_by_rows(n.sum(axis=0)) if wider is None else wider
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    merged = np.add.reduceat(n, starts, axis=1)
    return {
        "kind": "bins",
        "cuts": [float(cuts[at - 1] if whole else f"{cuts[at - 1]:.5g}") for at in starts[1:]],
        "low": float(np.ceil(edges[0]) if whole else f"{edges[0]:.5g}"),
        "high": float(np.floor(edges[-1]) if whole else f"{edges[-1]:.5g}"),
        "even": even,
        "counts": _counts_as_json(merged),
    } | ({"whole": True} if whole else {})


def _edges(cuts: Floats) -> Floats:
    """Return the borders of bins, with ends of the outermost ones."""
    if not len(cuts):
        return cuts
    if len(cuts) == 1:
        before = after = max(abs(float(cuts[0])), 1.0)
    else:
        before, after = float(cuts[1] - cuts[0]), float(cuts[-1] - cuts[-2])
    first, last = cuts[0] - before, cuts[-1] + after
    return np.array([0.0 if first < 0 <= cuts[0] else first, *cuts, last])


def _is_crowded(edges: Floats, rows: Floats) -> bool:
    """Tell whether most rows lie within a small part of the axis."""
    share = np.cumsum(rows) / max(float(rows.sum()), 1e-300)
    low, high = np.searchsorted(share, [0.1, 0.9])
    return bool(edges[min(high + 1, len(edges) - 1)] - edges[low] < CROWDED * (edges[-1] - edges[0]))


def _groups_by_width(edges: Floats) -> Places:
    """Return the group of each bin, so that each but the last is at least a part of the axis wide."""
    least, group, begin, groups = (edges[-1] - edges[0]) / HISTOGRAM_BINS * 0.75, 0, edges[0], []
    for left, right in pairwise(edges):
        if left - begin >= least:
            group, begin = group + 1, left
        groups.append(group)
        del right
    return np.array(groups, dtype=np.intp)


def _groups_by_rows(rows: Floats) -> Places:
    """Return the group of each bin, so that groups have about as many rows."""
    middle = (np.cumsum(rows) - rows / 2) / max(float(rows.sum()), 1e-300)
    return np.unique((middle * HISTOGRAM_BINS / 2).astype(np.intp), return_inverse=True)[1]


# -- words -------------------------------------------------------------------------------------------------------------


def _words(table: WordTable) -> JsonObject:
    """Return the words that distinguish each class most, by what their occurrences add to the log-likelihood ratio."""
    n = table.n
    if not n.size:
        return {"kind": "words", "words": [], "counts": []}
    total = n.sum(axis=1, keepdims=True)
    p = (n + 0.5) / (total + 0.5 * n.shape[1])
    rest = (n.sum(axis=0) - n + 0.5) / (total.sum() - total + 0.5 * n.shape[1])
    lead = n * np.log(p / rest)
    places = np.unique(np.argsort(-lead, axis=1, kind="stable")[:, :SHOWN_WORDS].T.ravel())
    order = places[np.lexsort((-lead[:, places].max(axis=0), lead[:, places].argmax(axis=0)))]
    order = order[:24]
    labels = table.values.labels
    return {
        "kind": "words",
        "words": [str(labels[at]) for at in order],
        "counts": _counts_as_json(n[:, order]),
        "totals": [as_row_count(round(float(x), 3)) for x in total[:, 0]],
    }
