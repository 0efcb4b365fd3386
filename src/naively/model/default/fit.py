"""What was fitted to held-out scores: the weights of terms, and coefficients of values, cells and words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from ..._types import Floats, JsonObject
from . import normal, values
from .coefficients import Coefficients
from .joint_counts import JointCounts
from .likelihoods import COUNTS, REST, VECTORS
from .pairs import PAIRS
from .rows import Term
from .words import WORD_TERMS, WordCoefficients

WordCoefficientsOf = Callable[[str], WordCoefficients]  # of a column of texts

WITH_WORDS = "coefficients of words"  # what `DefaultFit.loss` calls the loss with them


class FitParts(NamedTuple):
    """What a file holds of a fit beside its plain data."""

    joint: JointCounts
    coefficients: Coefficients | None
    words: WordCoefficientsOf


@dataclass(frozen=True)
class DefaultFit:
    """The weights of terms and the coefficients, fitted on held-out scores."""

    weights: Mapping[Term, float]
    settings: Mapping[str, float]  # ridges and shrinkage of terms; of words, how many pseudo-texts hold each
    bias: Floats
    loss: Mapping[str, float]  # of held-out rows, by what is considered
    rows: int
    joint: JointCounts  # what was counted of several columns at once in these rows
    copies: bool = True  # whether row weights count copies of a row
    coefficients: Coefficients | None = None
    words: Mapping[str, WordCoefficients] = field(default_factory=dict)  # by column of texts

    def describe(self, owners: Sequence[str]) -> list[str]:
        """Return which kinds of terms have a weight, and the loss with them; owners are columns by place."""
        kinds = described_terms(self.weights, owners)
        stages = ", ".join(f"{loss:.3g} with {what}" for what, loss in self.loss.items())
        weighted = f"terms of {', '.join(kinds)}, with weights fitted on held-out rows"
        no_term = "no term held up on held-out rows, so the prior predicts"
        coefficients = [] if self.coefficients is None else self.coefficients.describe()
        return [
            f"default model: {weighted if kinds else no_term}",
            f"weights: {described_weights(self.weights)}",
            *([f"coefficients: of {', '.join(coefficients)}"] if coefficients else []),
            *described_words(self.words),
            f"log loss of held-out rows, of {self.rows:,} in all: {stages}",
        ]

    @property
    def last_loss(self) -> float:
        """The log loss of held-out rows with all that was fitted."""
        return list(self.loss.values())[-1]

    def without_coefficients(self) -> DefaultFit:
        """Return the weights alone, with the loss they had."""
        loss = {what: by for what, by in self.loss.items() if "coefficients" not in what}
        return replace(self, coefficients=None, words={}, loss=loss)

    def to_json(self) -> JsonObject:
        """Return it as plain data."""
        return {
            "weights": [[term.kind, term.level, list(term.columns), weight] for term, weight in self.weights.items()],
            "settings": {name: float(value) for name, value in self.settings.items()},
            "bias": self.bias.tolist(),
            "loss": dict(self.loss),
            "rows": self.rows,
            "copies": self.copies,
            "words": list(self.words),
        }

    @classmethod
    def from_json(cls, data: JsonObject, classes: int, beside: FitParts) -> DefaultFit:
        """Return what to_json described; joint counts and coefficients are stored elsewhere."""
        if any(len(one) != 4 for one in data["weights"]):
            raise KeyError("weights")
        weights = {Term(kind, level, tuple(columns)): float(by) for kind, level, columns, by in data["weights"]}
        settings = {str(name): float(value) for name, value in data["settings"].items()}
        bias = np.array([float(by) for by in data["bias"]])
        loss = {str(name): float(value) for name, value in data["loss"].items()}
        finite = np.isfinite([*weights.values(), *settings.values(), *bias, *loss.values()]).all() and loss
        if len(bias) != classes or not finite:
            raise KeyError("weights")
        joint, cells, words = beside
        of_words = {name: words(name) for name in data["words"]}
        if cells is not None and not cells.fits(joint.grid):
            raise KeyError("coefficients")
        return cls(weights, settings, bias, loss, int(data["rows"]), joint, bool(data["copies"]), cells, of_words)


def described_terms(weights: Mapping[Term, float], owners: Sequence[str]) -> list[str]:
    """Return which columns, pairs and other terms have a weight; owners are columns by place."""
    columns = {owners[column] for term in weights for column in term.columns}
    columns |= {str(term.level) for term in weights if term.kind in (VECTORS, COUNTS, *WORD_TERMS)}
    kinds = [f"{counted(len(columns), 'column')} alone"] * bool(columns)
    kinds += ["pairs of columns"] * (PAIRS in weights)
    kinds += ["all columns at once"] * (normal.LINEAR in weights or normal.QUADRATIC in weights)
    return kinds + ["all other columns"] * (REST in weights)


def counted(number: int, thing: str) -> str:
    """Return a number of things, in words."""
    return f"{number} {thing}{'s' * (number != 1)}"


def described_weights(weights: Mapping[Term, float]) -> str:
    """Return each kind of term with its weight, or with the least and the greatest where they differ."""
    kinds: dict[str, list[float]] = {}
    for term, weight in weights.items():
        kinds.setdefault(title(term), []).append(weight)
    order = sorted(kinds, key=lambda name: (-max(kinds[name]), name))
    return "; ".join(f"{name} {span(kinds[name])}" for name in order) or "none"


def title(term: Term) -> str:
    """Return what a term is, in words."""
    if term.kind == values.VALUES and isinstance(term.level, int):
        return f"each number by {f'{term.level} bins' if term.level else 'its finest bins'}"
    names = {
        values.VALUES: "each category" if term.level == values.EACH else "each level with a neighbor",
        PAIRS.kind: "pairs of columns",
        normal.LINEAR.kind: "all columns at once",
        normal.QUADRATIC.kind: "all columns at once, with a covariance for each class",
        REST.kind: "all other columns",
        VECTORS: f"column {term.level}",
    }
    return names.get(term.kind, f"{term.kind} of {term.level}")


def span(weights: Iterable[float]) -> str:
    """Return weights as one number if they are equal, and by the least and the greatest otherwise."""
    least, greatest = (f"{edge:.2g}" for edge in (np.min(list(weights)), np.max(list(weights))))
    return least if least == greatest else f"{least} to {greatest}"


def described_words(words: Mapping[str, WordCoefficients]) -> list[str]:
    """Return how many words have a coefficient, by column of texts."""
    parts = [f"{len(result.numbers):,} words of {name} (ridge {result.ridge:.3g})" for name, result in words.items()]
    return [f"coefficients: of {', '.join(parts)}"] if parts else []
