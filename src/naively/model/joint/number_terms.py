"""Terms of single numbers: by bins of several widths, and by Student-t densities."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..._threads import in_threads
from ..._types import Singles
from .associations import value_scores, value_scores_left_out
from .tables import TableBuilder
from .term_counts import merged
from .terms import LeaveOneOut, Term, TermKind

VALUE, STUDENT_T = "value", "student_t"


class BinTerms(TermKind):
    """Log ratios of the bins of each number: wide bins, and as fine as they are counted."""

    name = "bins"
    single = True
    sum_rank, table_rank = 0, 4

    def holds(self, term: Term) -> bool:
        """Tell whether a term is of bins: its level is how many there are, 0 for all."""
        return term.kind == VALUE and isinstance(term.level, int)

    def title(self, term: Term) -> str:
        """Return what a term is, in words."""
        return f"each number by {f'{term.level} bins' if term.level else 'its finest bins'}"

    def fit(self, held: LeaveOneOut) -> Iterator[tuple[Term, Singles]]:
        """Give the leave-one-out terms of rows."""
        counts, pseudo, fine = held.counts, held.counts.recipe.value_pseudo_count, held.sample.cells.fine

        def values_of(term: Term) -> Singles | None:
            (at,), width = term.columns, int(term.level or 0)
            to = counts.bins(at, width)
            n = merged(counts.fine(at), to, 1)
            codes = np.append(to, np.int32(-1))[fine[:, at]]
            return value_scores_left_out(n, codes, held.rows, pseudo) if n.shape[1] > 1 else None

        numbers = range(len(counts.grid.numbers))
        terms = [Term(VALUE, width, (at,)) for width in counts.recipe.value_bins for at in numbers]
        for term, values in zip(terms, in_threads(values_of, terms), strict=True):
            if values is not None:
                yield term, values

    def start_group(self, block: Term) -> str | None:
        """Return the group that all terms of numbers share."""
        return "numbers"

    def column_alone(self, term: Term, held: LeaveOneOut) -> bool:
        """Tell whether a term is of wide bins."""
        return term.level == held.counts.recipe.wide_bins

    def add_tables(self, tables: TableBuilder) -> None:
        """Add the weighted log ratios of each fine bin."""
        counts, pseudo = tables.counts, tables.counts.recipe.value_pseudo_count
        for at in range(len(counts.grid.numbers)):
            for width in counts.recipe.value_bins:
                if by := tables.weights.get(Term(VALUE, width, (at,))):
                    to = counts.bins(at, width)
                    tables.add(at, by * value_scores(merged(counts.fine(at), to, 1), pseudo)[to])


def density_left_out(held: LeaveOneOut, at: int) -> Singles:
    """Return the Student-t term of a number; kept where rare classes need it once more."""
    term = Term(VALUE, STUDENT_T, (at,))
    if term in held.cache:
        return held.cache[term]
    x, fine = held.sample.cells.level[:, at], held.sample.cells.fine[:, at]
    values = held.counts.density(at).scores_left_out(x, fine, held.rows)
    if held.counts.rare.classes:
        held.cache[term] = values
    return values


class DensityTerms(TermKind):
    """Student-t densities of each number."""

    name = "densities"
    single = True
    sum_rank, table_rank = 1, 1

    def holds(self, term: Term) -> bool:
        """Tell whether a term is a density of a number."""
        return term.kind == VALUE and term.level == STUDENT_T

    def title(self, term: Term) -> str:
        """Return what a term is, in words."""
        return "each number by a Student-t density"

    def fit(self, held: LeaveOneOut) -> Iterator[tuple[Term, Singles]]:
        """Give the leave-one-out terms of rows."""
        numbers = [at for at, number in enumerate(held.counts.grid.numbers) if number.scale]
        for at, values in zip(numbers, in_threads(lambda at: density_left_out(held, at), numbers), strict=True):
            yield Term(VALUE, STUDENT_T, (at,)), values

    def start_group(self, block: Term) -> str | None:
        """Return the group that all terms of numbers share."""
        return "numbers"

    def add_tables(self, tables: TableBuilder) -> None:
        """Add the weighted log density of each fine bin."""
        for at in range(len(tables.counts.grid.numbers)):
            if by := tables.weights.get(Term(VALUE, STUDENT_T, (at,))):
                tables.add(at, by * tables.counts.density(at).scores().T)
