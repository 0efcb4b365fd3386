"""Offsets of values by least leave-one-out log loss, with a ridge penalty: L-BFGS in passes over blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ..._types import Codes, Floats, Index, Mask, SparseMatrix
from ...families.wide import weighted_row_sums
from ..lbfgs import dot
from ..recipe import Recipe


@dataclass(frozen=True)
class OffsetRows:
    """Some rows: their values as features, naive Bayes for them, each left out, their classes and weights."""

    features: SparseMatrix  # [row, value]
    naive: Floats  # [kind of column, row, class]
    y: Codes
    weights: Floats

    @cached_property
    def back(self) -> SparseMatrix:
        """The features, transposed."""
        return sparse.csr_array(self.features.T.tocsr())

    def take(self, rows: Index) -> OffsetRows:
        """Return some of the rows."""
        return OffsetRows(self.features[rows], self.naive[:, rows], self.y[rows], self.weights[rows])


RowBlocks = Callable[[], Iterable[OffsetRows]]


class ValueStatistics(NamedTuple):
    """How often rows of each class hold each value [value, class], their squares [value], and rows of each class."""

    held: Floats
    squares: Floats
    rows: Floats

    def scale(self, levels: Mask, least: float) -> Floats:
        """Return the scale of each offset: how far classes differ in how often they hold the value.

        Levels of numbers, which every row has, have the scale 1. Rows have length 1 on average, so that one ridge means
        the same everywhere.
        """
        logs = np.log((self.held + 1) / (self.rows + 2))
        spread = np.sqrt(((logs - logs.mean(axis=1, keepdims=True)) ** 2).mean(axis=1))
        scale = np.where(levels, 1.0, np.hypot(spread, least))
        length = dot(scale**2, self.squares) / max(float(self.rows.sum()), 1e-300)
        return np.asarray(scale / np.sqrt(length) if length > 0 else scale)


def value_statistics(blocks: RowBlocks, values: int, classes: int, threads: int) -> ValueStatistics:
    """Return how often classes hold values: one pass."""
    held, squares, rows = np.zeros((values, classes)), np.zeros(values), np.zeros(classes)
    for block in blocks():
        own = np.zeros((len(block.y), classes))
        own[np.arange(len(block.y)), block.y] = block.weights
        back = block.back
        held += weighted_row_sums(
            sparse.csr_array((np.ones(back.nnz), back.indices, back.indptr), shape=back.shape), own, 1, threads
        )
        squares += weighted_row_sums(back, block.weights[:, None], 2, threads)[:, 0]
        rows += own.sum(axis=0)
    return ValueStatistics(held, squares, rows)


class OffsetParameters(NamedTuple):
    """The weights of naive Bayes, by kind of column, the biases of classes, and the offset of each value."""

    naive: Floats  # [kind]
    bias: Floats  # [class], beyond the log prior
    offsets: Floats  # [value, class], over its scale

    def flat(self) -> Floats:
        """Return all parameters as a flat vector."""
        return np.concatenate([self.naive, self.bias, self.offsets.ravel()])


class NaiveWeights(NamedTuple):
    """The weights of naive Bayes, by kind of column, whether they may change, and the curvature of the loss by row."""

    weights: Floats
    free: Floats
    curves: Floats

    @classmethod
    def of(cls, weights: Floats, free: Floats, block: OffsetRows, scores: Floats) -> NaiveWeights:
        """Return it with the curvature among some rows, given their scores."""
        p, mean = np.exp(row_log_probabilities(scores)), np.zeros((len(weights), len(block.y)))
        np.einsum("nk,tnk->tn", p, block.naive, out=mean)
        curves = np.einsum("nk,tnk,n->t", p, block.naive**2, block.weights) - np.einsum(
            "tn,n->t", mean**2, block.weights
        )
        return cls(weights, free, np.maximum(curves, 0.0) / max(float(block.weights.sum()), 1e-300))


@dataclass(frozen=True)
class OffsetProblem:
    """Minimize the log loss of rows, each left out of naive Bayes, plus ridges.

    The weights of naive Bayes are given, for columns whose values have offsets. They cannot be fitted along with
    the offsets: the leave-one-out log-likelihood of a label is lower for the class of the row, so it reveals that
    class. This does not happen with numbers, whose weight may change.
    """

    blocks: RowBlocks
    prior: Floats
    naive: NaiveWeights
    scale: Floats
    ridge: float
    seen: ValueStatistics
    recipe: Recipe
    threads: int = 1

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self.prior)

    def under(self, ridge: float) -> OffsetProblem:
        """Return the same problem under another ridge."""
        return replace(self, ridge=ridge)

    def named(self, v: Floats) -> OffsetParameters:
        """Return a flat vector as parameters."""
        first, second = len(self.naive.weights), len(self.naive.weights) + self.classes
        return OffsetParameters(v[:first], v[first:second], v[second:].reshape(len(self.scale), self.classes))

    def scores(self, block: OffsetRows, at: OffsetParameters) -> Floats:
        """Return the scores of rows, [row, class]."""
        offsets = weighted_row_sums(block.features, at.offsets * self.scale[:, None], 1, self.threads)
        return np.asarray(self.prior + at.bias + np.einsum("t,tnk->nk", at.naive, block.naive) + offsets)

    def loss(self, block: OffsetRows, at: OffsetParameters) -> float:
        """Return the log loss of the rows of a block, summed."""
        return -dot(block.weights, row_log_probabilities(self.scores(block, at))[np.arange(len(block.y)), block.y])

    @property
    def ridges(self) -> tuple[float, float, float]:
        """The ridges on the weights of naive Bayes, on biases and on offsets."""
        return self.recipe.naive_weight_ridge, self.recipe.offset_bias_ridge, self.ridge

    def value(self, v: Floats) -> tuple[float, Floats]:
        """Return the loss with its ridges, and its slope: one pass."""
        at, slope, loss = self.named(v), np.zeros(len(v)), 0.0
        to = self.named(slope)
        for block in self.blocks():
            logs, row = row_log_probabilities(self.scores(block, at)), np.arange(len(block.y))
            loss -= dot(block.weights, logs[row, block.y])
            error = np.exp(logs, out=logs) * block.weights[:, None]
            error[row, block.y] -= block.weights
            to.naive[:] += np.einsum("tnk,nk->t", block.naive, error)
            to.bias[:] += error.sum(axis=0)
            to.offsets[:] += weighted_row_sums(block.back, error, 1, self.threads)
        to.offsets[:] *= self.scale[:, None]
        away = at._replace(naive=at.naive - self.naive.weights)
        for part, here, ridge in zip(to, away, self.ridges, strict=True):
            loss += 0.5 * ridge * dot(here.ravel(), here.ravel())
            part += ridge * here
        to.naive[:] *= self.naive.free
        return loss, slope

    def steps(self) -> Floats:
        """Return the step along each parameter, by its own curvature at the class proportions."""
        proportion = self.seen.rows / max(float(self.seen.rows.sum()), 1e-300)
        spread = proportion * (1 - proportion)
        rows = float(self.seen.rows.sum())
        of_values = np.outer(self.scale**2 * self.seen.squares, spread)
        curves = OffsetParameters(self.naive.curves * rows, spread * rows, of_values)
        pulled = OffsetParameters(*(part + ridge for part, ridge in zip(curves, self.ridges, strict=True)))
        return np.asarray(1.0 / pulled.flat())


def row_log_probabilities(scores: Floats) -> Floats:
    """Return the log probabilities of the classes of each row."""
    scores -= scores.max(axis=1, keepdims=True)
    return np.asarray(scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)))
