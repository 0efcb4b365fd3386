"""All kinds of terms of the default model. A new kind is one more file, and its line here."""

from __future__ import annotations

from functools import lru_cache

from ..recipe import Recipe
from .normal import NormalTerms
from .other_columns import RestTerm
from .pairs import PairTerms
from .terms import Term, TermKind
from .values import ValueTerms
from .wide_terms import WideTerms

# In the order in which they are added to tables: products of labels join those of pairs.
TERM_KINDS: list[TermKind] = [ValueTerms(), WideTerms(), RestTerm(), PairTerms(), NormalTerms()]


def kinds_of(recipe: Recipe) -> list[TermKind]:
    """Return the kinds of terms that a recipe has."""
    return [kind for kind in TERM_KINDS if kind.name not in recipe.left_out]


@lru_cache(maxsize=4096)  # of each term it is needed many times in a fit
def term_kind(term: Term) -> TermKind:
    """Return the kind of a term."""
    found = next((kind for kind in TERM_KINDS if kind.holds(term)), None)
    if found is None:
        raise KeyError(f"no kind of term holds {term}")
    return found
