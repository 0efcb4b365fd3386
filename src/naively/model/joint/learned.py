"""From counts and a sample of rows to weights: how strongly each piece of evidence is believed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._types import Codes, Floats, Singles
from ...counting.weights import left_out_weights
from ...data.grid import Grid
from .influence import Doubt, Gathered
from .levels import EACH, KINDS
from .linear import log_loss
from .summary import BESIDE, said_of_weights
from .terms import OF_NUMBERS, OF_PAIRS, Counted, Left, Piece, Sample, linear_kinds, pairs_of
from .weights import Fit, Problem
from .words import TRIED, WAYS, Wording

# Rows on which weights are fitted.
ROWS = 20_000
# The ridge on the weights of whole blocks; those tried on weights of single pieces, and how often the correction for
# having fitted them is taken.
BLOCK_RIDGE, RIDGES, CAUTION = 1.0, (100.0, 10.0, 1.0), 6.0
# Columns at all levels, and pairs of a level, that may have a weight of their own.
OWN_VALUES, OWN_PAIRS = 300, 200

Pieces = dict[Piece, Singles]


@dataclass(frozen=True)
class Learned:
    """How strongly each piece of evidence is believed; fitted on rows left out, beside the counts."""

    weights: Mapping[Piece, float]
    ridges: Mapping[str, float]  # of the joint evidence; of words, how many texts are imagined with each
    bias: Floats
    loss: Mapping[str, float]  # of rows left out, corrected for weights fitted on them; by what is looked at
    rows: int
    right: float = float("nan")  # the share of these rows, each left out, that are answered rightly
    doubt: Doubt | None = None  # how far the weights would move without a row
    copies: bool = True  # whether row weights count copies of a row, of which one is left out at a time

    def say(self, owners: Sequence[str]) -> list[str]:
        """Say which kinds of evidence are believed, and what that bought; owners are columns by place in it."""
        met = {piece.kind for piece in self.weights}
        columns = {owners[piece.columns[0]] for piece in self.weights if piece.kind == "value"}
        columns |= {piece.level for piece in self.weights if piece.kind in ("vectors", *WAYS)}
        pairs = {piece.columns for piece in self.weights if piece.kind == "pair"}
        parts = [f"{so_many(len(columns), 'column')} alone"] * bool(columns)
        parts += [f"{so_many(len(pairs), 'pair')} of columns"] * bool(pairs)
        parts += [name for kind, name in BESIDE.items() if kind in met]
        stages = ", ".join(f"{loss:.3g} with {what}" for what, loss in self.loss.items())
        weighed = f"the evidence of {', '.join(parts)}, with weights fitted by leave-one-out log loss"
        return [
            f"columns together: {weighed if parts else 'nothing held up in leave-one-out, so that the prior answers'}",
            f"weights: {said_of_weights(self.weights)}",
            f"leave-one-out log loss of {self.rows:,} rows, corrected for weights fitted on these rows: {stages}",
        ]

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        weights = [[p.kind, p.level, list(p.columns), weight] for p, weight in self.weights.items()]
        return {
            "weights": weights, "ridges": dict(self.ridges), "bias": self.bias.tolist(), "loss": dict(self.loss),
            "rows": self.rows, "right": self.right, "doubt": None if self.doubt is None else self.doubt.to_json(),
            "copies": self.copies,
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: Mapping[str, Any], classes: int) -> Learned:
        """Return what to_json described."""
        if any(len(one) != 4 for one in data["weights"]):
            raise KeyError("weights")
        weights = {Piece(kind, level, tuple(columns)): float(by) for kind, level, columns, by in data["weights"]}
        bias = np.array([float(by) for by in data["bias"]])
        if len(bias) != classes or not np.isfinite([*weights.values(), *data["ridges"].values(), *bias]).all():
            raise KeyError("weights")
        doubt = None if data.get("doubt") is None else Doubt.from_json(data["doubt"], classes)
        about = (data["loss"], int(data["rows"]), float(data["right"]), doubt, bool(data.get("copies", True)))
        return cls(weights, data["ridges"], bias, *about)


def so_many(number: int, thing: str) -> str:
    """Return so many things, in words."""
    return f"{number} {thing}{'s' * (number != 1)}"


def learn(counted: Counted, sample: Sample) -> Learned:
    """Return the weights under which the rows of a sample, each left out, are answered best."""
    left, y, w = Left(counted, sample), sample.y, fitting(sample.weights, sample.copies)
    singles: Pieces = dict(left.values())
    alone = whole({**singles, **sample.wide}, len(y))
    loss = {"each column alone": log_loss(counted.prior[:, None] + alone, y, w)}
    ridges: dict[str, float] = dict(sample.imagined)
    for which in linear_kinds(counted.grid):
        singles[Piece("linear", which)], ridges[which] = left.linear(which)
    singles |= dict(left.rare())
    sizes = {piece: size_of_words(said) if piece.kind in WAYS else 1.0 for piece, said in sample.wide.items()}
    singles |= {piece: np.asarray(said / sizes[piece], dtype=np.float32) for piece, said in sample.wide.items()}
    if not singles:
        right = float(w @ (y == counted.prior.argmax()) / w.sum())
        return Learned({}, {}, counted.prior, loss, len(y), right, copies=sample.copies)
    blocks = totals(singles)
    start = at_first(blocks)
    rated = rated_by(Problem(list(blocks.values()), y, w, counted.prior), start)
    own, together = chosen_pairs(left, rated)
    blocks |= together
    start = at_first(blocks)
    usual = np.array([0.0 if block.kind in WAYS else at for block, at in zip(blocks, start, strict=True)])
    tied = Problem(list(blocks.values()), y, w, counted.prior).solve(start, usual, BLOCK_RIDGE, CAUTION)
    loss["a weight for each kind of evidence"] = tied.corrected
    by_block = dict(zip(blocks, tied.weights, strict=True))
    pieces = {**few(singles, rated), **together, **own}
    towards = np.array([0.0 if piece in own else by_block[Piece(*piece.block)] for piece in pieces])
    problem = Problem(list(pieces.values()), y, w, counted.prior)
    best = freed(problem, tied._replace(weights=towards))
    loss["weights of their own"] = best.corrected
    fitted, free = (blocks, tied.weights > 0) if best.weights is towards else (pieces, best.weights > 0)
    share = float(w.sum() / counted.joint.products[:, 0, 0].sum())  # of a sample, what a row weighs on average
    doubt = Doubt.of(list(fitted), sizes, free, best.curve, share)
    weights = {piece: float(by) / sizes.get(piece, 1.0) for piece, by in zip(pieces, best.weights, strict=True)}
    out = spread_out(counted, singles, weights)
    return Learned(out, ridges, best.bias, loss, len(y), problem.right(best), doubt, sample.copies)


def fitting(weights: Floats, copies: bool = True) -> Floats:
    """Return what rows weigh while weights of the evidence are fitted: copies of a row no less than there are rows.

    The ridges are measured in rows. Rows that weigh 1 together would leave the weights where they began; rows whose
    weights differ are worth as many as their effective number, (Σw)² / Σw².
    """
    by = max(1.0, len(weights) / weights.sum()) if copies else weights.sum() / (weights @ weights)
    return np.asarray(weights * by)


def imagined_of(words: Wording, x: Any, y: Codes, w: Floats, prior: Floats, copies: bool = True) -> float:
    """Return how many texts are imagined with every word so that rows, each left out, are answered best."""
    losses = {}
    for imagined in TRIED:
        said = words.left(x, y, left_out_weights(w, copies), imagined).values()
        pieces: list[Singles] = [np.asarray(part / size_of_words(part), dtype=np.float32) for part in said]
        start = np.full(len(pieces), 1 / len(WAYS))
        losses[imagined] = Problem(pieces, y, w, prior).solve(start, 0 * start, BLOCK_RIDGE, CAUTION).expected
    return min(losses, key=lambda imagined: losses[imagined])


def whole(pieces: Mapping[Piece, Any], rows: int) -> Floats:
    """Return what single columns say of so many rows together, each by its wider bins."""
    levels, kinds = (OF_NUMBERS[0], "labels", EACH), ("vectors", WAYS[0])
    of_values = (piece.kind == "value" and piece.level in levels for piece in pieces)
    said = [pieces[piece] for piece, alone in zip(pieces, of_values, strict=True) if alone or piece.kind in kinds]
    return np.asarray(np.sum(said, axis=0, dtype=np.float64)) if said else np.zeros((1, rows))


def size_of_words(said: Floats) -> float:
    """Return how far what words say differs between classes, in the mean: by that the ridge is measured."""
    return float(np.sqrt(np.mean((said - said.mean(axis=0)) ** 2))) + 1e-9


def totals(pieces: Pieces) -> Pieces:
    """Return what the pieces of each block say together."""
    out: Pieces = {}
    for piece, said in pieces.items():
        add_to(out, Piece(*piece.block), said)
    return out


def add_to(totals: Pieces, block: Piece, said: Singles) -> None:
    """Add what a piece says to what its block does."""
    if block in totals:
        totals[block] += said
    else:
        totals[block] = said.copy()


def at_first(blocks: Pieces) -> Floats:
    """Return the weights of blocks before any row is seen: columns count once, what goes beyond them not at all.

    A rare class is taken as in the textbook model until its rows show otherwise.
    """
    levels = sum(is_shared(block) and block.level in KINDS for block in blocks)
    numbers = sum(map(is_shared, blocks)) - levels
    of = {"value": 1.0, "vectors": 1.0, "rare": 1.0, **dict.fromkeys(("linear", "pair", "rest"), 0.0)}
    of |= dict.fromkeys(WAYS, 1 / len(WAYS))
    shared = {block: 1 / levels if block.level in KINDS else 1 / numbers for block in blocks if is_shared(block)}
    return np.array([shared.get(block, of[block.kind]) for block in blocks])


def is_shared(block: Piece) -> bool:
    """Tell whether several kinds of evidence say the same of a column: numbers and levels have several."""
    return block.kind == "value" and block.level != "labels"


def few(singles: Pieces, rated: Rated) -> Pieces:
    """Return what is said of single columns: if there are too many, those of least gain only together."""
    values = [piece for piece in singles if piece.kind == "value"]
    if len(values) <= OWN_VALUES:
        return singles
    gains = {piece: abs(rated.gain(singles[piece])) for piece in values}
    least = set(sorted(values, key=lambda piece: (-gains[piece], str(piece)))[OWN_VALUES:])
    kept = {piece: said for piece, said in singles.items() if piece not in least}
    return kept | totals({piece: singles[piece] for piece in values if piece in least})


def chosen_pairs(left: Left, rated: Rated) -> tuple[Pieces, Pieces]:
    """Return the pairs that would clearly gain by a weight of their own, and all pairs of each level together."""
    own: Pieces = {}
    together: Pieces = {}
    for bins in OF_PAIRS:
        number, wide = size_of(left.grid, bins)
        found = []
        for piece, said in left.pairs(bins):
            add_to(together, Piece(*piece.block), said / np.float32(wide))
            gain = rated.gain(said)
            if gain > max(0.5, np.log(number)):
                found.append((gain, piece, said))
        found.sort(key=lambda one: (-one[0], one[1].columns))
        own |= {piece: said for _, piece, said in found[:OWN_PAIRS]}
    return own, together


def size_of(grid: Grid, bins: int) -> tuple[int, int]:
    """Return how many pairs there are at a level, and with how many others each column is taken together."""
    pairs = pairs_of(grid, OF_PAIRS[0])
    return len(pairs_of(grid, bins)), max(len({at for pair in pairs for at in pair}) - 1, 1)


class Rated:
    """Rows as they are answered so far, [class, row], to tell what one more piece of evidence would gain."""

    def __init__(self, p: Singles, y: Codes, rows: Floats) -> None:
        self.p, self.rows = p, rows.astype(np.float32)
        self.error = -p * self.rows
        self.error[y, np.arange(len(y))] += self.rows

    def gain(self, said: Singles) -> float:
        """Return by how much the loss would fall if a piece of evidence had a weight, to the second order."""
        slope, weighed = float(np.vdot(self.error, said)), self.p * said
        mean = weighed.sum(axis=0)
        weighed *= said
        curve = float(self.rows @ (weighed.sum(axis=0) - mean * mean)) + 1.0
        return slope * abs(slope) / (2 * curve)


def rated_by(problem: Problem, start: Floats) -> Rated:
    """Return rows as a weight for each kind of evidence answers them."""
    fit = problem.solve(start, start, BLOCK_RIDGE)
    p, _ = problem.probabilities(np.concatenate([fit.weights, fit.bias]))
    return Rated(p.astype(np.float32), problem.y, problem.rows)


def freed(problem: Problem, tied: Fit) -> Fit:
    """Return weights of single pieces, as far from those of their blocks as they are expected to gain."""
    best, towards = tied, tied.weights
    for ridge in RIDGES:
        found = problem.solve(best.weights, towards, ridge, CAUTION)
        if found.expected >= best.expected:
            break
        best = found
    return best


def spread_out(counted: Counted, singles: Pieces, weights: Mapping[Piece, float]) -> dict[Piece, float]:
    """Return the weights that are not 0, those of columns or pairs together shared out to each."""
    out = {piece: weights.get(piece, weights.get(Piece(*piece.block), 0.0)) for piece in singles}
    out |= {piece: weight for piece, weight in weights.items() if piece.kind == "pair" and piece.columns}
    for bins in OF_PAIRS:
        shared = weights.get(Piece("pair", bins), 0.0) / size_of(counted.grid, bins)[1]
        for pair in pairs_of(counted.grid, bins):
            piece = Piece("pair", bins, pair)
            out[piece] = out.get(piece, 0.0) + shared
    return {piece: weight for piece, weight in out.items() if weight > 0}


def left_scores(counted: Counted, learned: Learned, sample: Sample) -> Floats:
    """Return the scores of rows that were counted, each left out, [class, row]; of the weights, too, to first order."""
    total, weight, doubt = np.tile(learned.bias[:, None], len(sample.y)), learned.weights.get, learned.doubt
    gathered = None if doubt is None else Gathered(doubt, len(total), len(sample.y))
    for piece, said, shared in evidence(counted, learned, sample):
        total += weight(piece, 0.0) * said
        if gathered is not None:
            gathered.add(piece, said, shared)
    if doubt is None or gathered is None:
        return total
    return doubt.without_own(total, gathered.x, sample.y, sample.out)


def evidence(counted: Counted, learned: Learned, sample: Sample) -> Iterator[tuple[Piece, Any, float]]:
    """Give every piece of evidence of rows, each left out, and what part of it its block has."""
    left = Left(counted, sample)
    yield from ((piece, said, 1.0) for piece, said in left.values())
    yield from ((piece, said, 1.0) for piece, said in left.rare())
    for which, ridge in learned.ridges.items():
        if learned.weights.get(Piece("linear", which)):
            yield Piece("linear", which), left.linear_under(which, ridge), 1.0
    for bins in OF_PAIRS:
        shared = 1 / size_of(counted.grid, bins)[1]
        yield from ((piece, said, shared) for piece, said in left.pairs(bins))
    yield from ((piece, wide, 1.0) for piece, wide in sample.wide.items())
