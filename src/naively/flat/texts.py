"""Columns of texts: how a text becomes words, and what each word contributes."""

from __future__ import annotations

from ..model.table_model import TableModel
from .terms import FlatColumn


def text_column(model: TableModel, name: str, scale: float, most: int | None) -> FlatColumn:
    """Return a column of texts with its terms."""
    raise NotImplementedError
