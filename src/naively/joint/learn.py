"""From counts and a sample of rows to weights: how strongly each piece of evidence is believed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from ..families.family import Codes
from ..statistics.axis import Floats
from ..statistics.joint import Joint
from .grid import Cells, Grid
from .linear import Linear, log_loss
from .tables import Taken, of_pairs, of_pairs_left, of_values, of_values_left
from .weights import Fit, Problem

# Middle-sized bins of a number: what single numbers say is read off these and off the fine ones.
MIDDLE = 12
# Rows on which weights are fitted, and what their evidence may take together (float32).
ROWS, CELLS = 20_000, 1 << 25
# Ridges on weights of single columns and pairs; how often the correction for having fitted them is taken.
RIDGES, CAUTION = (100.0, 10.0, 1.0), 3.0
# Pairs with a weight of their own, at most.
OWN_PAIRS = 200
Pair = tuple[int, int]


@dataclass(frozen=True)
class Sample:
    """Rows that were counted, as they are scored."""

    labels: Codes  # [row, column of labels]: places among all labels of the column
    cells: Cells
    y: Codes
    weights: Floats
    vectors: Mapping[str, Floats]  # what columns of vectors say, each row left out, [row, class]

    @property
    def taken(self) -> Taken:
        """The rows one at a time: of a row that weighs more than one, one is taken out."""
        return Taken(self.y, np.minimum(self.weights, 1.0))


@dataclass(frozen=True)
class Learned:
    """How strongly each piece of evidence is believed."""

    bias: Floats
    middle: Floats  # by column, numbers first
    fine: Floats  # by column of numbers
    linear: tuple[tuple[str, float, float], ...]  # which features, ridge, weight
    pairs: Mapping[Pair, float]
    vectors: Mapping[str, float]
    loss: Mapping[str, float]  # on rows left out: of each stage
    rows: int


class Evidence:
    """Pieces of evidence of a sample of rows, each row left out."""

    def __init__(self, joint: Joint, tables: Sequence[Floats], sample: Sample) -> None:
        self.joint, self.grid, self.tables, self.sample = joint, joint.grid, tables, sample
        self.taken = sample.taken
        rows = joint.products[:, 0, 0]
        self.prior: Floats = np.log((rows + 1) / (rows.sum() + len(rows)))

    def middle(self) -> list[Floats]:
        """Return what each column says alone, numbers by middle-sized bins."""
        cells, out = self.sample.cells, []
        for at, n in enumerate(fine_tables(self.joint)):
            to = middle_of(n)
            out.append(of_values_left(summed(n, to), np.append(to, -1)[cells.fine[:, at]], self.taken))
        for at, n in enumerate(self.tables):
            out.append(of_values_left(n, self.sample.labels[:, at], self.taken))
        return out

    def fine(self) -> list[Floats]:
        """Return what each number says alone, by fine bins."""
        fine = self.sample.cells.fine
        return [of_values_left(n, fine[:, at], self.taken) for at, n in enumerate(fine_tables(self.joint))]

    def linear(self, which: str) -> tuple[Floats, float]:
        """Return the joint evidence of some features, and its ridge."""
        linear = Linear(self.joint, features_of(self.grid, which))
        turned = linear.turned(flat(self.grid, self.sample.cells)[:, linear.features])
        few = slice(0, 5000)
        taken = Taken(self.taken.y[few], self.taken.weights[few])
        ridge = linear.best_ridge(turned[few], taken, self.sample.weights[few], self.prior)
        return linear.left(turned, self.taken, ridge), ridge

    def pairs(self) -> Iterator[tuple[Pair, Floats]]:
        """Give what each pair of columns says beyond both."""
        codes = self.sample.cells.codes
        for i, j in pairs_of(self.grid):
            n = self.joint.products[:, self.grid.flags(i), self.grid.flags(j)]
            yield (i, j), of_pairs_left(n, of_pairs(n), codes[:, i], codes[:, j], self.taken)


def learn(joint: Joint, tables: Sequence[Floats], sample: Sample) -> Learned:
    """Return the weights; tables hold the counts of each column of labels, [class, label]."""
    evidence = Evidence(joint, tables, sample)
    y, w, prior = sample.y, sample.weights, evidence.prior
    middle, fine = evidence.middle(), evidence.fine()
    blocks: dict[str, list[Floats]] = {"middle": middle, "fine": fine}
    ridges = {}
    for which in linear_blocks(joint.grid):
        score, ridges[which] = evidence.linear(which)
        blocks[which] = [score]
    blocks |= {f"vectors {name}": [said] for name, said in sample.vectors.items()}
    blocks = {name: parts for name, parts in blocks.items() if parts}
    singles = sum(name in ("middle", "fine") for name in blocks)

    def tied_to() -> Floats:
        return np.array([1 / singles if name in ("middle", "fine") else float(name.startswith("vectors")) for name in blocks])

    def totals() -> npt.NDArray[np.float32]:
        return np.stack([sum(parts) for parts in blocks.values()], axis=1).astype(np.float32)

    start = tied_to()
    loss = {"single columns": log_loss(prior + sum(middle, np.zeros(prior.shape)), y, w)}
    first = Problem(totals(), y, w, prior)
    fit = first.solve(start, start, 0.1)
    own, together = chosen_pairs(evidence, first, fit)
    if together is not None:
        blocks["pairs"] = [together]
    start = tied_to()
    tied = Problem(totals(), y, w, prior)
    fit = tied.solve(start, start, 0.1, CAUTION)
    loss["one weight for each kind"] = fit.expected
    sizes = [len(parts) for parts in blocks.values()]
    pieces = np.stack([part for parts in blocks.values() for part in parts] + [said for _, said in own], axis=1)
    towards = np.concatenate([np.repeat(fit.weights, sizes), np.zeros(len(own))])
    best = Fit(towards, fit.bias, fit.expected)
    freed = Problem(pieces.astype(np.float32), y, w, prior)
    for ridge in RIDGES:
        found = freed.solve(best.weights, towards, ridge, CAUTION)
        if found.expected >= best.expected:
            break
        best = found
    loss["own weights"] = best.expected
    return named(joint.grid, blocks, ridges, own, best, loss, len(y))


def chosen_pairs(evidence: Evidence, problem: Problem, fit: Fit) -> tuple[list[tuple[Pair, Floats]], Floats | None]:
    """Return the pairs that would gain clearly by a weight of their own, best first, and all pairs together."""
    z = problem.scores(fit.weights, fit.bias)
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    error = -p
    error[np.arange(len(p)), problem.y] += 1.0
    error *= problem.rows[:, None]
    number = len(pairs_of(evidence.grid))
    wide = max(len({at for pair in pairs_of(evidence.grid) for at in pair}) - 1, 1)
    together: Floats | None = None
    found = []
    for pair, said in evidence.pairs():
        slope = float((error * said).sum())
        mean = (p * said).sum(axis=1, keepdims=True)
        curve = float((problem.rows[:, None] * p * (said - mean) ** 2).sum()) + 1.0
        gain = slope * abs(slope) / (2 * curve)
        if gain > max(0.5, np.log(number)):
            found.append((gain, pair, said.astype(np.float32)))
        together = said / wide if together is None else together + said / wide
    found.sort(key=lambda one: (-one[0], one[1]))
    return [(pair, said) for _, pair, said in found[:OWN_PAIRS]], together


def named(
    grid: Grid, blocks: Mapping[str, Any], ridges: Mapping[str, float], own: Any, fit: Fit, loss: Any, rows: int
) -> Learned:
    """Return the weights by what they weigh."""
    parts = np.split(fit.weights, np.cumsum([*(len(b) for b in blocks.values())]))
    found = dict(zip(blocks, parts, strict=False))
    zero = np.zeros(0)
    pairs: dict[Pair, float] = {}
    if "pairs" in found:
        used = pairs_of(grid)
        wide = max(len({at for pair in used for at in pair}) - 1, 1)
        pairs = dict.fromkeys(used, float(found["pairs"][0]) / wide)
        for (pair, _), weight in zip(own, parts[-1], strict=True):
            pairs[pair] += float(weight)
    linear = tuple((which, ridge, float(found[which][0])) for which, ridge in ridges.items())
    vectors = {name.removeprefix("vectors "): float(w[0]) for name, w in found.items() if name.startswith("vectors ")}
    kept = {pair: weight for pair, weight in pairs.items() if weight > 0}
    return Learned(fit.bias, found.get("middle", zero), found.get("fine", zero), linear, kept, vectors, loss, rows)


# -- how the grid's columns are read ---------------------------------------------------------------------------------


def fine_tables(joint: Joint) -> list[Floats]:
    """Return the counts of the fine bins of each number, [class, bin]."""
    offsets = joint.grid.fine_offsets
    return [joint.fine[:, a:b] for a, b in zip(offsets[:-1], offsets[1:], strict=True)]


def middle_of(n: Floats) -> Codes:
    """Return the middle-sized bin of each fine one, given their counts."""
    from .look import grouped

    return grouped(n.sum(axis=0), MIDDLE).astype(np.int32) if n.any() else np.zeros(n.shape[1], dtype=np.int32)


def summed(n: Floats, to: Codes) -> Floats:
    """Return counts [class, bin] of bins put together."""
    out = np.zeros((len(n), int(to.max()) + 1))
    np.add.at(out, (slice(None), to), n)
    return out


def pairs_of(grid: Grid) -> list[Pair]:
    """Return the pairs of columns that are counted together."""
    told = [at for at in range(len(grid.names)) if grid.offsets[at + 1] - grid.offsets[at] > 1]
    return list(combinations(told, 2))


def linear_blocks(grid: Grid) -> tuple[str, ...]:
    """Return which joint evidence there is: of the numbers as they are, and of their bins, too."""
    bins = any(column.size for column in grid.numbers)
    flags = any(column.size for column in grid.labels)
    if not grid.numbers:
        return ("bins",) if flags else ()
    return ("numbers", "bins") if bins else ("numbers",)


def features_of(grid: Grid, which: str) -> npt.NDArray[np.intp]:
    """Return the features that a kind of joint evidence looks at."""
    first = 1 if which == "bins" else 1 + int(grid.offsets[len(grid.numbers)])
    return np.arange(first, grid.features)


def flat(grid: Grid, cells: Cells) -> Floats:
    """Return the features of rows, [row, feature]."""
    out = np.zeros((len(cells), grid.features))
    out[:, 0] = 1.0
    for at in range(len(grid.names)):
        known = np.flatnonzero(cells.codes[:, at] >= 0)
        out[known, grid.flags(at).start + cells.codes[known, at]] = 1.0
    out[:, grid.features - len(grid.numbers) :] = cells.level
    return out
