"""The log-likelihoods of textbook naive Bayes as terms of a flat model."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .._types import Floats
from ..families.categorical import LogTable
from ..model.table_model import TableModel
from .densities import add_density
from .terms import FlatColumn


def lines_of(table: LogTable) -> Floats:
    """Return log P(value | class), [value, class]; the last line is that of values never seen."""
    return np.vstack([table.log_p.T, table.log_unseen])


def add_textbook_terms(model: TableModel, columns: Mapping[str, FlatColumn]) -> None:
    """Add the log-likelihood of each column of labels and numbers."""
    scale = model.scorer.scale
    for name, table in model.label_tables.items():
        columns[name].add_labels(lines_of(table))
    for name, part in model.number_parts.items():
        if part.missing is not None:
            columns[name].add_missing(part.missing.likelihood.log_p.T)
        add_density(columns[name], part.likelihoods.column(part.place), scale)
