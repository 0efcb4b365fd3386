"""All kinds of terms of the joint model. A new kind is one more file, and its line here."""

from __future__ import annotations

from functools import lru_cache

from ..recipe import Recipe
from .label_terms import LabelTerms
from .linear_terms import LinearTerms
from .number_terms import BinTerms, DensityTerms
from .other_columns import RestTerm
from .pair_terms import PairTerms
from .quadratic_terms import QuadraticTerms
from .rare_terms import RareTerms
from .terms import Term, TermKind
from .wide_terms import WideTerms

# In the order in which weights are fitted.
TERM_KINDS: list[TermKind] = [
    BinTerms(),
    DensityTerms(),
    LabelTerms(),
    LinearTerms(),
    QuadraticTerms(),
    RareTerms(),
    WideTerms(),
    RestTerm(),
    PairTerms(),
]


def kinds_of(recipe: Recipe) -> list[TermKind]:
    """Return the kinds of terms that a recipe has."""
    return [kind for kind in TERM_KINDS if kind.name not in recipe.left_out]


def kinds_in_sums(recipe: Recipe) -> list[TermKind]:
    """Return the same in the order in which their values are added up."""
    return sorted(kinds_of(recipe), key=lambda kind: kind.sum_rank)


def kinds_in_tables(recipe: Recipe) -> list[TermKind]:
    """Return the same in the order in which they are added to tables."""
    return sorted(kinds_of(recipe), key=lambda kind: kind.table_rank)


@lru_cache(maxsize=4096)  # of each term it is needed many times in a fit
def term_kind(term: Term) -> TermKind:
    """Return the kind of a term."""
    found = next((kind for kind in TERM_KINDS if kind.holds(term)), None)
    if found is None:
        raise KeyError(f"no kind of term holds {term}")
    return found
