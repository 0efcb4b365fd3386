"""How far values are adjusted: least log-loss of rows left out, with a ridge that pulls towards naive Bayes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..._types import Codes, Floats
from ...families.wide import weighted_row_sums

# The ridges on the biases of the classes, around their log prior, and on how much naive Bayes counts.
BIAS_RIDGE, BOOK_RIDGE = 3.0, 0.1
# However alike classes are in a value, it may move a little.
LEAST_SCALE = 0.1
# Steps that are remembered to guess the curvature.
REMEMBERED = 6


@dataclass(frozen=True)
class Block:
    """Some rows: their values as features, what naive Bayes says of them, left out, their classes and weights."""

    features: Any  # [row, value]
    book: Floats  # [kind of column, row, class]
    y: Codes
    weights: Floats

    @cached_property
    def back(self) -> Any:
        """The features, transposed."""
        return sparse.csr_array(self.features.T.tocsr())

    def take(self, rows: Any) -> Block:
        """Return some of the rows."""
        return Block(self.features[rows], self.book[:, rows], self.y[rows], self.weights[rows])


Blocks = Callable[[], Iterable[Block]]


class Seen(NamedTuple):
    """How often rows of each class hold each value [value, class], their squares [value], and rows of each class."""

    held: Floats
    squares: Floats
    rows: Floats

    def scale(self, levels: Any) -> Floats:
        """Return how easily each value is adjusted: as far as classes differ in how often they hold it.

        Levels of numbers, which every row has, are told apart by places. Rows have length 1 in the mean, so that one
        ridge means the same everywhere.
        """
        logs = np.log((self.held + 1) / (self.rows + 2))
        spread = np.sqrt(((logs - logs.mean(axis=1, keepdims=True)) ** 2).mean(axis=1))
        scale = np.where(levels, 1.0, np.hypot(spread, LEAST_SCALE))
        length = dot(scale**2, self.squares) / max(float(self.rows.sum()), 1e-300)
        return np.asarray(scale / np.sqrt(length) if length > 0 else scale)


def look(blocks: Blocks, values: int, classes: int, threads: int) -> Seen:
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
    return Seen(held, squares, rows)


class Adjusted(NamedTuple):
    """How much naive Bayes counts, by kind of column, the biases of classes, and how far each value moves."""

    book: Floats  # [kind]
    bias: Floats  # [class], beyond the log prior
    moved: Floats  # [value, class], over its scale

    def flat(self) -> Floats:
        """Return all numbers in a row."""
        return np.concatenate([self.book, self.bias, self.moved.ravel()])


class Book(NamedTuple):
    """How much naive Bayes counts, by kind of column, whether that may change, and the curvature of the loss by row."""

    times: Floats
    free: Any
    curves: Floats

    @classmethod
    def of(cls, times: Floats, free: Any, block: Block, scores: Floats) -> Book:
        """Return it with the curvature among some rows, given their scores."""
        p, mean = np.exp(log_shares(scores)), np.zeros((len(times), len(block.y)))
        np.einsum("nk,tnk->tn", p, block.book, out=mean)
        curves = np.einsum("nk,tnk,n->t", p, block.book**2, block.weights) - np.einsum(
            "tn,n->t", mean**2, block.weights
        )
        return cls(times, free, np.maximum(curves, 0.0) / max(float(block.weights.sum()), 1e-300))


@dataclass(frozen=True)
class Problem:
    """Minimise the log-loss of rows, each left out of naive Bayes, plus ridges.

    How much naive Bayes counts is given, for columns whose values move one by one. Fitted along with them it would go
    astray: of rows that share a label, left out one by one, naive Bayes expects less of the class that each has, and so
    tells which that is. With numbers no such thing happens, and it may change.
    """

    blocks: Blocks
    prior: Floats
    book: Book
    scale: Floats
    ridge: float
    seen: Seen
    threads: int = 1

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self.prior)

    def under(self, ridge: float) -> Problem:
        """Return the same problem under another ridge."""
        return replace(self, ridge=ridge)

    def named(self, v: Floats) -> Adjusted:
        """Return numbers in a row as what they mean."""
        first, second = len(self.book.times), len(self.book.times) + self.classes
        return Adjusted(v[:first], v[first:second], v[second:].reshape(len(self.scale), self.classes))

    def scores(self, block: Block, at: Adjusted) -> Floats:
        """Return the scores of rows, [row, class]."""
        moved = weighted_row_sums(block.features, at.moved * self.scale[:, None], 1, self.threads)
        return np.asarray(self.prior + at.bias + np.einsum("t,tnk->nk", at.book, block.book) + moved)

    def loss(self, block: Block, at: Adjusted) -> float:
        """Return the log-loss of the rows of a block, summed."""
        return -dot(block.weights, log_shares(self.scores(block, at))[np.arange(len(block.y)), block.y])

    @property
    def ridges(self) -> tuple[float, float, float]:
        """What pulls naive Bayes to count as much as alone, biases and values not to move."""
        return BOOK_RIDGE, BIAS_RIDGE, self.ridge

    def value(self, v: Floats) -> tuple[float, Floats]:
        """Return the loss with its ridges, and its slope: one pass."""
        at, slope, loss = self.named(v), np.zeros(len(v)), 0.0
        to = self.named(slope)
        for block in self.blocks():
            logs, row = log_shares(self.scores(block, at)), np.arange(len(block.y))
            loss -= dot(block.weights, logs[row, block.y])
            error = np.exp(logs, out=logs) * block.weights[:, None]
            error[row, block.y] -= block.weights
            to.book[:] += np.einsum("tnk,nk->t", block.book, error)
            to.bias[:] += error.sum(axis=0)
            to.moved[:] += weighted_row_sums(block.back, error, 1, self.threads)
        to.moved[:] *= self.scale[:, None]
        away = at._replace(book=at.book - self.book.times)
        for part, here, ridge in zip(to, away, self.ridges, strict=True):
            loss += 0.5 * ridge * dot(here.ravel(), here.ravel())
            part += ridge * here
        to.book[:] *= self.book.free
        return loss, slope

    def steps(self) -> Floats:
        """Return how far to go along each number, by its own curvature as the shares of classes let guess it."""
        share = self.seen.rows / max(float(self.seen.rows.sum()), 1e-300)
        spread = share * (1 - share)
        rows = float(self.seen.rows.sum())
        of_values = np.outer(self.scale**2 * self.seen.squares, spread)
        curves = Adjusted(self.book.curves * rows, spread * rows, of_values)
        pulled = Adjusted(*(part + ridge for part, ridge in zip(curves, self.ridges, strict=True)))
        return np.asarray(1.0 / pulled.flat())


def dot(a: Floats, b: Floats) -> float:
    """Return the sum of products: always in the same order, whatever the threads."""
    return float(np.einsum("i,i->", a, b))


def log_shares(scores: Floats) -> Floats:
    """Return the logarithms of the shares of each row."""
    scores -= scores.max(axis=1, keepdims=True)
    return np.asarray(scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)))


def descended(
    value: Callable[[Floats], tuple[float, Floats]], v: Floats, steps: Floats, passes: int, enough: float
) -> tuple[Floats, int]:
    """Return where a function is least, by so many looks at most (L-BFGS), and how many were taken.

    It ends when a step gains less than a share of what is left.
    """
    (loss, slope), looks = value(v), 1
    past: list[tuple[Floats, Floats, float]] = []
    while looks < passes:
        move = direction(slope, steps, past)
        fall, length = dot(slope, move), 1.0
        while True:
            tried = v + length * move
            found, there = value(tried)
            looks += 1
            if found <= loss + 1e-4 * length * fall or looks >= passes:
                break
            length *= 0.4
        if not found < loss:
            break
        change, bend = tried - v, there - slope
        if (along := dot(change, bend)) > 1e-12 * dot(bend, bend) ** 0.5:
            past = [*past, (change, bend, along)][-REMEMBERED:]
        gain, v, loss, slope = loss - found, tried, found, there
        if gain <= enough * abs(loss):
            break
    return v, looks


def direction(slope: Floats, steps: Floats, past: list[tuple[Floats, Floats, float]]) -> Floats:
    """Return where to go from here, by the slope and the last steps."""
    move, back, room = -slope, [], np.empty_like(slope)
    for change, bend, along in reversed(past):
        back.append(dot(change, move) / along)
        move -= np.multiply(bend, back[-1], out=room)
    move *= steps
    if past:
        _, bend, along = past[-1]
        move *= along / dot(bend, np.multiply(steps, bend, out=room))
    for (change, bend, along), by in zip(past, reversed(back), strict=True):
        move += np.multiply(change, by - dot(bend, move) / along, out=room)
    return move
