"""Which terms the joint model of some counts has, known without any rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from .label_terms import LABELS
from .levels import LEVEL_TERMS
from .linear_terms import LINEAR, linear_features
from .number_terms import STUDENT_T, VALUE
from .pair_terms import PAIR, column_pairs
from .quadratic_terms import QUADRATIC, quadratic_is_affordable
from .term_counts import TermCounts
from .term_kinds import kinds_of, term_kind
from .terms import Term


@dataclass(frozen=True)
class WeighableTerms:
    """The terms of a joint model that may have a weight."""

    counts: TermCounts

    @cached_property
    def singles(self) -> list[Term]:
        """The terms of single columns."""
        counts, numbers, recipe = self.counts, self.counts.grid.numbers, self.counts.recipe
        found = [
            Term(VALUE, width, (at,))
            for width in recipe.value_bins
            for at in range(len(numbers))
            if counts.bins(at, width)[-1] > 0
        ]
        found += [Term(VALUE, STUDENT_T, (at,)) for at, bins in enumerate(numbers) if bins.scale]
        for at in range(len(counts.tables)):
            names = (LABELS,) if counts.levels_of(at) is None else LEVEL_TERMS
            found += [Term(VALUE, name, (len(numbers) + at,)) for name in names]
        return [term for term in found if term_kind(term) in kinds_of(recipe)]

    @cached_property
    def _of_columns(self) -> set[Term]:
        """The terms of single columns and of pairs."""
        levels = self.counts.recipe.pair_bins
        pairs = (Term(PAIR, level, pair) for level in levels for pair in column_pairs(self.counts.grid, level, levels))
        return {*self.singles, *pairs}

    def __contains__(self, term: Term) -> bool:
        """Tell whether a term, or a block of terms, is one of the model."""
        if term_kind(term) not in kinds_of(self.counts.recipe):
            return False
        if term.columns:
            return term in self._of_columns
        if term == QUADRATIC:
            return quadratic_is_affordable(self.counts)
        return term.kind != LINEAR or term.level in linear_features(self.counts.grid)
