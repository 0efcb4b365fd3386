"""Terms of the score times a weight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._kernels import Scorer
from ..._types import Codes, Floats, Matrix
from ...families.family import ScoreTerm, TextTerm
from ...families.words import ModelWords
from ...stats import Axis

# A class that a likelihood rules out keeps a finite score under a weight: the least that all terms together can hold.
LEAST_SCORE = -1e290


@dataclass(frozen=True)
class WeightedTerm:
    """A term times a weight."""

    term: ScoreTerm
    weight: float

    @property
    def classes(self) -> Axis:
        """The classes, in the order of the scores."""
        return self.term.classes

    def add_to(self, scorer: Scorer, x: Matrix, missing: bool = True) -> None:
        """Have weight · log P(x | class) added to the scores."""
        own = Scorer(np.zeros(len(self.term.classes)))
        self.term.add_to(own, x, missing)
        out = np.empty((x.shape[0], len(self.term.classes)))
        own.log_joint(out, 1)
        scorer.given(np.ascontiguousarray(self.weight * np.maximum(out, LEAST_SCORE)))


@dataclass(frozen=True)
class WeightedTextTerm(WeightedTerm):
    """A term of texts times a weight."""

    term: TextTerm

    @property
    def words(self) -> ModelWords:
        """The words, in the order of their columns."""
        return self.term.words

    @property
    def word_scores(self) -> Floats:
        """The contribution of one occurrence of each word, [word, class]."""
        return np.asarray(self.weight * self.term.word_scores)

    def by_word(self, x: Matrix) -> tuple[Codes, Floats]:
        """Return the numbers of the words of a single row, and the contribution of each, [word, class]."""
        numbers, scores = self.term.by_word(x)
        return numbers, self.weight * scores
