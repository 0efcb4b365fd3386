"""A fitted model as plain tables: one JSON object that any language scores rows with by looking values up."""

from pathlib import Path

from .flat_model import FlatModel

# Scores rows by any flat model in JavaScript; the page and exported modules hold its text.
SCORER = Path(__file__).parent / "scorer.js"

__all__ = ["SCORER", "FlatModel"]
