"""The row that a page explains where scripts do not run: which cells it has, and what they contribute."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._types import Json, JsonObject
from ..explain.evidence import Evidence
from ..families.family import shown_label
from .page_data import RowExplanation


def row_explanation(cells: JsonObject, evidence: Evidence, row: int = 0) -> RowExplanation:
    """Return a row with the contributions behind its answer.

    Parameters
    ----------
    cells : dict
        The cells of the row by column, as JSON.
    evidence : Evidence
        The evidence of the row, maybe among others.
    row : int, default=0
        Which row of the evidence it is.

    Returns
    -------
    explanation : RowExplanation
        Plain values.
    """
    pairs = evidence.behind.pairs or {}
    scores = dict(zip(evidence.columns, evidence.scores[row].tolist(), strict=True))
    return RowExplanation(
        cells=cells,
        prior=evidence.prior.tolist(),
        columns=[(name, score) for name, score in scores.items() if name not in pairs],
        pairs=[(*pairs[name], score) for name, score in scores.items() if name in pairs],
        probabilities=evidence.probabilities[row].tolist(),
    )


def typical_row(columns: Sequence[JsonObject], flat: JsonObject) -> JsonObject:
    """Return the middle of each column: the median number, the commonest label, no text.

    Parameters
    ----------
    columns : sequence of dict
        What is known about each column, with its distribution.
    flat : dict
        The flat model, whose labels have their types.

    Returns
    -------
    cells : dict
        The cells by column; None where nothing is known.
    """
    labels = {
        column["name"]: {shown_label(value): value for value in column.get("values", ())} for column in flat["columns"]
    }
    cells = {column["name"]: _typical_cell(column.get("distribution")) for column in columns}
    return {name: labels[name].get(cell) if isinstance(cell, str) else cell for name, cell in cells.items()}


def _typical_cell(distribution: JsonObject | None) -> Json:
    if distribution is None or distribution["kind"] == "words":
        return None
    if distribution["kind"] == "normal":
        n = np.array(distribution["n"], dtype=np.float64)
        means = np.array([0.0 if mean is None else mean for mean in distribution["mean"]])
        return float(f"{np.average(means, weights=n):.4g}") if n.sum() else None
    counts = np.sum(np.array(distribution["counts"], dtype=np.float64), axis=0)
    if not counts.sum():
        return None
    if distribution["kind"] == "labels":
        return distribution["values"][int(counts.argmax())]
    if "values" in distribution:
        return float(distribution["values"][int(np.searchsorted(np.cumsum(counts), counts.sum() / 2))])
    return _middle_of_bins(
        counts, [distribution["low"], *distribution["cuts"], distribution["high"]], distribution.get("whole", False)
    )


def _middle_of_bins(counts: np.ndarray[tuple[int], np.dtype[np.float64]], edges: Sequence[float], whole: bool) -> float:
    """Return the median of binned numbers, as if they lay evenly within their bin; whole if the range is."""
    below = np.concatenate([[0.0], np.cumsum(counts)])
    middle = float(np.interp(below[-1] / 2, below, edges))
    whole |= float(edges[0]).is_integer() and float(edges[-1]).is_integer() and edges[-1] - edges[0] >= 10
    return float(round(middle)) if whole else float(f"{middle:.4g}")
