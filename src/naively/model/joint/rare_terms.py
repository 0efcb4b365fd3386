"""Terms of rare classes: the log-likelihoods of textbook naive Bayes for classes of few rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..._types import Singles
from .label_terms import LABELS
from .number_terms import STUDENT_T, density_left_out
from .rare_classes import label_scores, label_scores_left_out, rarity
from .tables import TableBuilder
from .terms import LeaveOneOut, Term, TermKind

RARE = "rare"
TITLES = {
    STUDENT_T: "numbers of rare classes by textbook naive Bayes",
    LABELS: "labels of rare classes by textbook naive Bayes",
}


class RareTerms(TermKind):
    """The contribution of all columns to rare classes, numbers and labels apart; to other classes nothing."""

    name = "rare classes"
    beside = "rare classes as in textbook naive Bayes"
    sum_rank, table_rank = 3, 3

    def holds(self, term: Term) -> bool:
        """Tell whether a term is of rare classes."""
        return term.kind == RARE

    def title(self, term: Term) -> str:
        """Return what a term is, in words."""
        return TITLES[str(term.level)]

    def start(self, block: Term) -> float:
        """Return the weight before any row is seen: that of textbook naive Bayes."""
        return 1.0

    def fit(self, held: LeaveOneOut) -> Iterator[tuple[Term, Singles]]:
        """Give the leave-one-out terms of rows."""
        rare = held.counts.rare
        if not rare.classes:
            return
        by = rare.rarity_left_out(held.rows)
        for level, values in ((STUDENT_T, self._numbers(held)), (LABELS, self._labels(held))):
            if values.any():
                yield Term(RARE, level), values * by

    def _numbers(self, held: LeaveOneOut) -> Singles:
        out = np.zeros((len(held.counts.prior), len(held.sample.y)), dtype=np.float32)
        for at, number in enumerate(held.counts.grid.numbers):
            if number.scale:
                values = held.counts.rare.against_mean(density_left_out(held, at))
                out += np.where(held.sample.cells.fine[:, at] >= 0, values, np.float32(0.0))
        return out

    def _labels(self, held: LeaveOneOut) -> Singles:
        out = np.zeros((len(held.counts.prior), len(held.sample.y)), dtype=np.float32)
        for at, n in enumerate(held.counts.tables):
            for label in held.counts.rare.classes:
                out[label] += label_scores_left_out(n, label, held.sample.labels[:, at], held.rows)
        return out

    def add_tables(self, tables: TableBuilder) -> None:
        """Add the weighted log-likelihoods of each fine bin and label."""
        counts = tables.counts
        few, numbers = rarity(counts.rare.rows, counts.recipe.rare_rows), counts.grid.numbers
        if by := tables.weights.get(Term(RARE, STUDENT_T)):
            for at, number in enumerate(numbers):
                if number.scale:
                    tables.add(at, by * few * counts.rare.against_mean(counts.density(at).scores()).T)
        if by := tables.weights.get(Term(RARE, LABELS)):
            for at, n in enumerate(counts.tables, len(numbers)):
                tables.add(at, by * few * label_scores(n).T)
