"""Terms of wide columns: the words of texts, and the log-likelihoods of vectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ..._linear_algebra import dot
from ..._types import Floats, Matrices, Matrix, Singles
from ...families import Likelihood
from ...families.family import ScoreTerm, TextTerm, scores_of
from ..recipe import Recipe
from .left_out import HeldOutRows, likelihood_left_out
from .sample import RowClasses
from .terms import Term, TermKind, TermValues
from .weighted_terms import WeightedTerm, WeightedTextTerm
from .word_offsets import WordOffsets
from .word_terms import WORD_TERMS, WordAssociations

if TYPE_CHECKING:
    from .model import JointModel

VECTORS = "vectors"
COUNTS = "counts"  # the log-likelihood of counts whose words have terms, too


class WideColumn(Protocol):
    """A column of texts or vectors in the joint model."""

    @property
    def name(self) -> str:
        """The name of the column."""

    def leave_one_out(self, x: Matrix, out: HeldOutRows, pseudo: float) -> dict[Term, Floats]:
        """Return the terms of rows, so much of each left out of the counts, [class, row]."""

    def score_term(self, weights: Mapping[Term, float], pseudo: float) -> ScoreTerm:
        """Return the column as a term of the score, under the weights of its terms."""

    def fitted_pseudo_count(
        self, x: Matrix, out: HeldOutRows, weights: Floats, prior: Floats, recipe: Recipe
    ) -> float | None:
        """Return the pseudo-texts with every word of least leave-one-out log loss; None if there are none."""


@dataclass(frozen=True)
class VectorColumn:
    """A column of vectors, or of texts in another form: its log-likelihood is a term."""

    name: str
    likelihood: Likelihood
    text: TextTerm | None = None  # the same, if the column is one of texts
    kind: str = VECTORS

    def leave_one_out(self, x: Matrix, out: HeldOutRows, pseudo: float) -> dict[Term, Floats]:
        """Return the log-likelihood of rows, so much of each left out of the counts, [class, row]."""
        return {Term(self.kind, self.name): likelihood_left_out(self.likelihood, x, out).T}

    def score_term(self, weights: Mapping[Term, float], pseudo: float) -> ScoreTerm:
        """Return the log-likelihood times its weight."""
        weight = weights.get(Term(self.kind, self.name), 0.0)
        return WeightedTerm(self.likelihood, weight) if self.text is None else WeightedTextTerm(self.text, weight)

    def fitted_pseudo_count(
        self, x: Matrix, out: HeldOutRows, weights: Floats, prior: Floats, recipe: Recipe
    ) -> float | None:
        """Return None: the likelihood has a smoothing of its own."""
        return None


@dataclass(frozen=True)
class TextColumn:
    """A column of texts, or of counts, with terms of its words."""

    words: WordAssociations
    offsets: WordOffsets | None = None

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.words.name

    def leave_one_out(self, x: Matrix, out: HeldOutRows, pseudo: float) -> dict[Term, Floats]:
        """Return the terms of rows, so much of each left out of the counts, [class, row]."""
        found = self.words.leave_one_out(x, out, pseudo)
        return {Term(name, self.words.name): values for name, values in found.items()}

    def score_term(self, weights: Mapping[Term, float], pseudo: float) -> ScoreTerm:
        """Return the contribution of each word under the weights of its terms."""
        mix = {term.kind: by for term, by in weights.items() if term.level == self.words.name}
        scores = self.words.scores(mix, pseudo)
        if self.offsets is not None:
            self.offsets.add_to(self.words.words, scores.word_scores)
        return scores

    def fitted_pseudo_count(
        self, x: Matrix, out: HeldOutRows, weights: Floats, prior: Floats, recipe: Recipe
    ) -> float | None:
        """Return the pseudo-texts with every word of least leave-one-out log loss."""
        from .weights import WeightFit, WeightProblem

        losses = {}
        for pseudo in recipe.word_pseudo_counts:
            found = self.words.leave_one_out(x, out, pseudo).values()
            terms: list[Singles] = [np.asarray(part / spread_of_words(part), dtype=np.float32) for part in found]
            start = np.full(len(terms), 1 / len(WORD_TERMS))
            problem = WeightProblem(terms, RowClasses(out.y, out.soft), weights, prior, recipe)
            losses[pseudo] = dot(
                weights,
                problem.losses(problem.solve(WeightFit(np.concatenate([start, prior])), 0 * start, recipe.block_ridge)),
            )
        return min(losses, key=lambda pseudo: losses[pseudo])


def spread_of_words(values: TermValues) -> float:
    """Return how far terms of words differ between classes, on average: the unit of their ridge."""
    return float(np.sqrt(np.mean((values - values.mean(axis=0)) ** 2))) + 1e-9


class WideTerms(TermKind):
    """Terms of texts and vectors."""

    name = "texts and vectors"

    def holds(self, term: Term) -> bool:
        """Tell whether a term is of a column of texts or vectors."""
        return term.kind in (VECTORS, COUNTS, *WORD_TERMS)

    def title(self, term: Term) -> str:
        """Return what a term is, in words."""
        return f"column {term.level}" if term.kind == VECTORS else f"{term.kind} of {term.level}"

    def start(self, block: Term) -> float:
        """Return the weight before any row is seen: each column counts once."""
        return {VECTORS: 1.0, COUNTS: 0.0}.get(block.kind, 1 / len(WORD_TERMS))

    def column_alone(self, term: Term, recipe: Recipe) -> bool:
        """Tell whether a term stands for its column."""
        return term.kind in (VECTORS, WORD_TERMS[0])

    def cell_terms(self, model: JointModel, columns: Matrices, out: HeldOutRows) -> Iterator[tuple[Term, Floats]]:
        """Give the terms of each column, each row left out, [class, row]."""
        for key, column in model.wide_columns.items():
            yield from column.leave_one_out(columns[key], out, model.pseudo_texts_of(column.name)).items()

    def score_terms(self, model: JointModel, weights: Mapping[Term, float]) -> dict[str, ScoreTerm]:
        """Return each column as a term of the score."""
        columns = model.wide_columns.items()
        return {key: column.score_term(weights, model.pseudo_texts_of(column.name)) for key, column in columns}

    def contributions(self, model: JointModel, columns: Matrices, threads: int) -> Iterator[tuple[str, Floats]]:
        """Give the contribution of each column."""
        for key, column in model.wide_columns.items():
            yield column.name, scores_of(model.scorer.terms[key], columns[key], threads)

    def columns_of(self, term: Term, owners: Sequence[str]) -> set[str]:
        """Return the column of a term."""
        return {str(term.level)}

    # The ridge on terms of words and counts is measured by how far they differ between classes, and pulls towards 0.

    def scaled(self, term: Term, values: TermValues) -> tuple[Singles, float]:
        """Return values as weights are fitted to them, and what they were divided by."""
        size = 1.0 if term.kind == VECTORS else spread_of_words(values)
        return np.asarray(values / size, dtype=np.float32), size

    def pull(self, block: Term, start: float) -> float:
        """Return the value that the ridge pulls the weight of a block towards."""
        return start if block.kind == VECTORS else 0.0
