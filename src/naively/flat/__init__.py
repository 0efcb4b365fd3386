"""A fitted model as plain tables: one JSON object that any language scores rows with by table lookup and addition.

Comes in: a fitted model. Goes out: `FlatModel`, which the page, the server and all exports read. May import: `model`
and what is below it; `flattening.py` alone reads the tables of the default model.
"""

from ..page.style import ASSETS
from .flat_model import FlatModel

# Scores rows by any flat model in JavaScript; the page and exported modules hold its text.
SCORER = ASSETS / "scorer.js"

__all__ = ["SCORER", "FlatModel"]
