"""Terms of single columns of labels: log ratios of each label; of ordinal columns, several terms."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..._threads import in_threads
from ..._types import Floats, Singles
from .associations import value_scores, value_scores_left_out
from .levels import DENSITY, EACH, LEVEL_TERMS, NEAR
from .number_terms import VALUE
from .tables import TableBuilder
from .terms import LeaveOneOut, Term, TermKind

LABELS = "labels"
TITLES = {
    LABELS: "each column of labels",
    EACH: "each level",
    NEAR: "each level with a neighbor",
    DENSITY: "each level by a density over all levels",
}


class LabelTerms(TermKind):
    """Log ratios of the labels of each column."""

    name = "labels"
    single = True
    sum_rank, table_rank = 2, 2

    def holds(self, term: Term) -> bool:
        """Tell whether a term is of labels or levels."""
        return term.kind == VALUE and term.level in TITLES

    def title(self, term: Term) -> str:
        """Return what a term is, in words."""
        return TITLES[str(term.level)]

    def fit(self, held: LeaveOneOut) -> Iterator[tuple[Term, Singles]]:
        """Give the leave-one-out terms of rows."""
        counts, pseudo = held.counts, held.counts.recipe.value_pseudo_count

        def terms_of(at: int) -> list[tuple[Term, Singles]]:
            column, codes = (len(counts.grid.numbers) + at,), held.sample.labels[:, at]
            if (levels := counts.levels_of(at)) is not None:
                found = levels.scores_left_out(codes, held.rows)
                return [(Term(VALUE, name, column), values) for name, values in found]
            values = value_scores_left_out(counts.tables[at], codes, held.rows, pseudo)
            return [(Term(VALUE, LABELS, column), values)]

        for found in in_threads(terms_of, range(len(counts.tables))):
            yield from found

    def start_group(self, block: Term) -> str | None:
        """Return the group that all terms of levels share; labels have a single term."""
        return None if block.level == LABELS else "levels"

    def start(self, block: Term) -> float:
        """Return the weight before any row is seen: each column counts once."""
        return 1.0

    def column_alone(self, term: Term, held: LeaveOneOut) -> bool:
        """Tell whether a term is of labels or single levels."""
        return term.level in (LABELS, EACH)

    def add_tables(self, tables: TableBuilder) -> None:
        """Add the weighted log ratios of each label."""
        numbers = len(tables.counts.grid.numbers)
        for at in range(len(tables.counts.tables)):
            tables.add(numbers + at, self._scores(tables, at, (numbers + at,)))

    def _scores(self, tables: TableBuilder, at: int, column: tuple[int, ...]) -> Floats:
        """Return the weighted terms of each value of a column, [value, class]."""
        levels, weight, recipe = tables.counts.levels_of(at), tables.weights.get, tables.counts.recipe
        if levels is None:
            scores = value_scores(tables.counts.tables[at], recipe.value_pseudo_count)
            return weight(Term(VALUE, LABELS, column), 0.0) * scores
        each = (weight(Term(VALUE, name, column), 0.0) * levels.scores(name) for name in LEVEL_TERMS)
        return np.asarray(sum(each))
