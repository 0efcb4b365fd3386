"""What was fitted beside the counts: the weights of terms, and their leave-one-out log loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..._types import Floats, JsonObject
from .cell_offsets import CellOffsets
from .influence import WeightInfluence
from .loss_near import LossNear
from .summary import described_terms, described_weights
from .terms import Term
from .word_offsets import WordOffsets, described_offsets

WordOffsetsOf = Callable[[str, JsonObject], WordOffsets]  # of a column of texts, given what a file says of them

WITH_OFFSETS, WITH_WORD_OFFSETS = "offsets of values", "offsets of words"  # what `JointFit.loss` calls losses with them


@dataclass(frozen=True)
class JointFit:
    """The weights of terms, fitted by leave-one-out log loss."""

    weights: Mapping[Term, float]
    ridges: Mapping[str, float]  # of linear terms; of words, how many pseudo-texts hold each
    bias: Floats
    loss: Mapping[str, float]  # leave-one-out, corrected for weights fitted on these rows; by what is considered
    rows: int
    accuracy: float = float("nan")  # the proportion of these rows, each left out, that are predicted correctly
    influence: WeightInfluence | None = None  # how far the weights would move without a row
    copies: bool = True  # whether row weights count copies of a row, of which one is left out at a time
    near: LossNear | None = None  # the loss of the rows near the weights, to combine fits when the rows are gone
    parts: int = 1  # how many fits these weights were combined of, without the rows
    offsets: CellOffsets | None = None  # of values and pairs of values, where they gain on held-out rows
    word_offsets: Mapping[str, WordOffsets] = field(default_factory=dict)  # by column of texts, where they pay

    def describe(self, owners: Sequence[str]) -> list[str]:
        """Return which kinds of terms have a weight, and the loss with them; owners are columns by place."""
        parts = described_terms(self.weights, owners)
        stages = ", ".join(f"{loss:.3g} with {what}" for what, loss in self.loss.items())
        how = "fitted by leave-one-out log loss"
        how = how if self.parts == 1 else f"combined of {self.parts} fits by leave-one-out log loss, without their rows"
        weighted = f"terms of {', '.join(parts)}, with weights {how}"
        return [
            f"joint model: {weighted if parts else 'no term held up in leave-one-out, so that the prior answers'}",
            f"weights: {described_weights(self.weights)}",
            *described_offsets(self.word_offsets),
            f"leave-one-out log loss of {self.rows:,} rows, corrected for weights fitted on these rows: {stages}",
        ]

    def without_offsets(self) -> JointFit:
        """Return the weights alone, with the loss they had; how often they alone were right is not known."""
        if self.offsets is None and not self.word_offsets:
            return self
        loss = {what: loss for what, loss in self.loss.items() if what not in (WITH_OFFSETS, WITH_WORD_OFFSETS)}
        return replace(self, offsets=None, word_offsets={}, loss=loss, accuracy=float("nan"))

    def to_json(self) -> JsonObject:
        """Return it as plain data."""
        weights = [[term.kind, term.level, list(term.columns), weight] for term, weight in self.weights.items()]
        return {
            "weights": weights, "ridges": dict(self.ridges), "bias": self.bias.tolist(), "loss": dict(self.loss),
            "rows": self.rows, "right": self.accuracy,
            "doubt": None if self.influence is None else self.influence.to_json(), "copies": self.copies,
            "near": None if self.near is None else self.near.to_json(), "parts": self.parts,
            "offsets": None if self.offsets is None else self.offsets.to_json(),
            "words": {name: found.to_json() for name, found in self.word_offsets.items()},
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: JsonObject, classes: int, word_offsets: WordOffsetsOf | None = None) -> JointFit:
        """Return what to_json described; offsets of words are stored elsewhere, and made from what it says of them."""
        if any(len(one) != 4 for one in data["weights"]):
            raise KeyError("weights")
        weights = {Term(kind, level, tuple(columns)): float(by) for kind, level, columns, by in data["weights"]}
        bias = np.array([float(by) for by in data["bias"]])
        if len(bias) != classes or not np.isfinite([*weights.values(), *data["ridges"].values(), *bias]).all():
            raise KeyError("weights")
        influence = None if data.get("doubt") is None else WeightInfluence.from_json(data["doubt"], classes)
        about = (data["loss"], int(data["rows"]), float(data["right"]), influence, bool(data.get("copies", True)))
        near = None if data.get("near") is None else LossNear.from_json(data["near"], classes)
        cells = None if data.get("offsets") is None else CellOffsets.from_json(data["offsets"], classes)
        words = {name: word_offsets(name, said) for name, said in data.get("words", {}).items()} if word_offsets else {}
        return cls(weights, data["ridges"], bias, *about, near, int(data.get("parts", 1)), cells, words)
