"""A fitted model as plain tables: one JSON object that any language scores rows with by looking values up."""

from .flat_model import FlatModel
from .flattening import flat_model

__all__ = ["FlatModel", "flat_model"]
