"""What was fitted to held-out scores: the weights of terms, and coefficients of values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..._types import Floats, JsonObject
from .coefficients import Coefficients
from .pairs import PAIR
from .term_kinds import TERM_KINDS, term_kind
from .terms import Term
from .word_offsets import WordOffsets, described_offsets

WordOffsetsOf = Callable[[str, JsonObject], WordOffsets]  # of a column of texts, given what a file says of them

WITH_WORD_OFFSETS = "offsets of words"  # what `JointFit.loss` calls the loss with them


@dataclass(frozen=True)
class JointFit:
    """The weights of terms and the coefficients of values, fitted on held-out scores."""

    weights: Mapping[Term, float]
    ridges: Mapping[str, float]  # of linear terms; of words, how many pseudo-texts hold each
    bias: Floats
    loss: Mapping[str, float]  # of held-out rows, by what is considered
    rows: int
    own: tuple[Term, ...] = ()  # pairs that have a weight of their own
    copies: bool = True  # whether row weights count copies of a row
    parts: int = 1  # how many fits these weights were combined of, without the rows
    coefficients: Coefficients | None = None  # of values and pairs of values, where held-out rows want them
    word_offsets: Mapping[str, WordOffsets] = field(default_factory=dict)  # by column of texts, where they pay

    def describe(self, owners: Sequence[str]) -> list[str]:
        """Return which kinds of terms have a weight, and the loss with them; owners are columns by place."""
        parts = described_terms(self.weights, owners)
        stages = ", ".join(f"{loss:.3g} with {what}" for what, loss in self.loss.items())
        how = "fitted on held-out rows" if self.parts == 1 else f"the mean of {self.parts} fits, without their rows"
        weighted = f"terms of {', '.join(parts)}, with weights {how}"
        found = self.coefficients
        what = [] if found is None else [f"values and {len(found.pairs):,} pairs" if found.pairs else "values"]
        return [
            f"joint model: {weighted if parts else 'no term held up on held-out rows, so that the prior answers'}",
            f"weights: {described_weights(self.weights)}",
            *(f"coefficients: of {of} (ridge {found.ridge:.3g})" for of in what if found is not None),
            *described_offsets(self.word_offsets),
            f"log loss of held-out rows, of {self.rows:,} in all: {stages}",
        ]

    def without_coefficients(self) -> JointFit:
        """Return the weights alone, with the loss they had."""
        loss = {what: by for what, by in self.loss.items() if what != WITH_WORD_OFFSETS and "coefficients" not in what}
        return replace(self, coefficients=None, word_offsets={}, loss=loss)

    def to_json(self) -> JsonObject:
        """Return it as plain data."""
        weights = [[term.kind, term.level, list(term.columns), weight] for term, weight in self.weights.items()]
        return {
            "weights": weights, "ridges": dict(self.ridges), "bias": self.bias.tolist(), "loss": dict(self.loss),
            "rows": self.rows, "own": [[term.kind, term.level, list(term.columns)] for term in self.own],
            "copies": self.copies, "parts": self.parts,
            "coefficients": None if self.coefficients is None else self.coefficients.to_json(),
            "words": {name: found.to_json() for name, found in self.word_offsets.items()},
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: JsonObject, classes: int, word_offsets: WordOffsetsOf | None = None) -> JointFit:
        """Return what to_json described; offsets of words are stored elsewhere, and made from what it says of them."""
        if any(len(one) != 4 for one in data["weights"]) or any(len(one) != 3 for one in data["own"]):
            raise KeyError("weights")
        weights = {Term(kind, level, tuple(columns)): float(by) for kind, level, columns, by in data["weights"]}
        own = tuple(Term(kind, level, tuple(columns)) for kind, level, columns in data["own"])
        bias = np.array([float(by) for by in data["bias"]])
        if len(bias) != classes or not np.isfinite([*weights.values(), *data["ridges"].values(), *bias]).all():
            raise KeyError("weights")
        cells = None if data["coefficients"] is None else Coefficients.from_json(data["coefficients"], classes)
        words = {name: word_offsets(name, said) for name, said in data["words"].items()} if word_offsets else {}
        about = own, bool(data["copies"]), int(data["parts"]), cells, words
        return cls(weights, data["ridges"], bias, data["loss"], int(data["rows"]), *about)


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
