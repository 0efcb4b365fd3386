"""The joint model in words: each kind of term with its weight."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from .pairs import PAIR
from .term_kinds import TERM_KINDS, term_kind
from .terms import Term


def described_terms(weights: Mapping[Term, float], owners: Sequence[str]) -> list[str]:
    """Return which columns, pairs and other terms have a weight; owners are columns by place."""
    columns = {name for term in weights for name in term_kind(term).columns_of(term, owners)}
    pairs = {term.columns for term in weights if term.kind == PAIR}
    parts = [f"{so_many(len(columns), 'column')} alone"] * bool(columns)
    parts += [f"{so_many(len(pairs), 'pair')} of columns"] * bool(pairs)
    return parts + [kind.beside for kind in TERM_KINDS if kind.beside and any(map(kind.holds, weights))]


def so_many(number: int, thing: str) -> str:
    """Return so many things, in words."""
    return f"{number} {thing}{'s' * (number != 1)}"


def described_weights(weights: Mapping[Term, float]) -> str:
    """Return each kind of term with its weight, or with the least and the greatest where they differ."""
    kinds: dict[str, list[float]] = {}
    for term, weight in weights.items():
        kinds.setdefault(term_kind(term).title(term), []).append(weight)
    order = sorted(kinds, key=lambda name: (-max(kinds[name]), name))
    return "; ".join(f"{name} {span(kinds[name])}" for name in order) or "none"


def span(weights: Iterable[float]) -> str:
    """Return weights as one number if they are equal, and by the least and the greatest otherwise."""
    least, greatest = (f"{edge:.2g}" for edge in (np.min(list(weights)), np.max(list(weights))))
    return least if least == greatest else f"{least} to {greatest}"
