"""Counting inside a database, through Ibis: only counts leave it."""

from .counting import count
from .fitting import fit

__all__ = ["count", "fit"]
