"""The log-likelihoods of textbook naive Bayes as terms of a flat model."""

from __future__ import annotations

from collections.abc import Mapping

from ..model.table_model import TableModel
from .densities import add_density
from .terms import FlatColumn


def add_textbook_terms(model: TableModel, columns: Mapping[str, FlatColumn]) -> None:
    """Add the log-likelihood of each column of labels and numbers."""
    scale = model.scorer.scale
    for name, table in model.label_tables.items():
        columns[name].add_labels(table.lines)
    for name, part in model.number_parts.items():
        if part.missing is not None:
            columns[name].add_missing(part.missing.likelihood.log_p.T)
        add_density(columns[name], part.likelihoods.column(part.place), scale)
