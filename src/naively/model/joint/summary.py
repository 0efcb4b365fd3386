"""What is believed, in words: each kind of evidence with its weight."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from .levels import DENSITY, EACH, NEAR
from .terms import BELL, Piece
from .words import WAYS

NAMES = {
    ("value", BELL): "each number by a bell curve",
    ("value", 0): "each number by its finest bins",
    ("value", "labels"): "each column of labels",
    ("value", EACH): "each level",
    ("value", NEAR): "each level with a neighbour",
    ("value", DENSITY): "each level by a density over all levels",
    ("rare", BELL): "numbers of rare classes by the textbook",
    ("rare", "labels"): "labels of rare classes by the textbook",
    ("pair", 0): "each pair of columns",
    ("rest", None): "all other columns",
    ("linear", "numbers"): "all columns at once",
    ("linear", "bins"): "all columns at once, numbers by bins",
}
# What speaks beside single columns and pairs of them, by the kind of its pieces.
BESIDE = {
    "linear": "all columns at once",
    "rest": "all other columns together",
    "rare": "rare classes as in the textbook model",
}


def name_of(piece: Piece) -> str:
    """Return the kind of a piece of evidence, in words."""
    if piece.kind in WAYS:
        return f"{piece.kind} of {piece.level}"
    if piece.kind == "vectors":
        return f"column {piece.level}"
    usual = f"each {'number' if piece.kind == 'value' else 'pair of columns, numbers'} by {piece.level} bins"
    return NAMES.get(piece.block, usual)


def said_of_weights(weights: Mapping[Piece, float]) -> str:
    """Return each kind of evidence with its weight, or with the least and the greatest where they differ."""
    kinds: dict[str, list[float]] = {}
    for piece, weight in weights.items():
        kinds.setdefault(name_of(piece), []).append(weight)
    order = sorted(kinds, key=lambda name: (-max(kinds[name]), name))
    return "; ".join(f"{name} {span(kinds[name])}" for name in order) or "none"


def span(weights: Iterable[float]) -> str:
    """Return weights as one number if they are alike, and by the least and the greatest otherwise."""
    least, greatest = (f"{edge:.2g}" for edge in (np.min(list(weights)), np.max(list(weights))))
    return least if least == greatest else f"{least} to {greatest}"
