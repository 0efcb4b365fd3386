"""The weighted log-likelihoods and the offsets of the refined model as terms of a flat model."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..model.column_parts import LABELS
from ..model.joint.tables import CodeTables, Slopes
from ..model.refined.model import BINS, LEVELS, NUMBERS, RefinedModel
from .densities import add_density
from .joint import add_slope
from .terms import FlatColumn


def add_refined_terms(model: RefinedModel, columns: Mapping[str, FlatColumn]) -> None:
    """Add the terms of each column of labels and numbers."""
    assert model.fit is not None
    scale, terms = model.scorer.scale, model.scorer.terms
    names = [*(one.column.name for one in model.labels)]
    numbers = [column.name for column in model.schema.of_kind("numbers")]
    if LABELS in terms:
        labels = terms[LABELS]
        assert isinstance(labels, CodeTables)
        flags = [numbers[at] for at, _ in model.missing_flags]
        for name, table in zip(names, labels.tables, strict=False):
            columns[name].add_labels(table)
        for name, table in zip(flags, labels.tables[len(names) :], strict=True):
            columns[name].add_missing(table)
    bins, slopes = terms[BINS], terms[LEVELS]
    assert isinstance(bins, CodeTables)
    assert isinstance(slopes, Slopes)
    for at, number in enumerate(model.grid.numbers):
        column = columns[number.name]
        if number.size:
            column.add_bins(bins.tables[at][np.array(number.coarse)])
        add_slope(column, scale * slopes.table[at])
    for name, part in model.number_parts.items():
        add_density(columns[name], part.likelihoods.column(part.place), scale * model.fit.naive_weights[NUMBERS])
