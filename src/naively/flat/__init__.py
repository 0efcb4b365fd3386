"""A fitted model as plain tables: one JSON object that any language scores rows with by looking values up."""

from .flat_model import FlatModel

__all__ = ["FlatModel"]
