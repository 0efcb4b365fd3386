"""What must hold of columns taken together, on rows drawn from distributions that are known."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pandas as pd
import pytest

import naively as nv
from naively.errors import StaleWarning
from naively.joint.learn import Learned
from naively.joint.pieces import OF_PAIRS, Left, Piece, linear_kinds

CLASSES, FRESH = 3, 20_000


def drawn(seed):
    """Return the same distribution for the same seed."""
    return np.random.default_rng(seed)


def normals(rows, rng):
    """Return numbers that are normal and independent within a class, each with its own mean and spread there."""
    mean, spread = drawn(1).normal(size=(CLASSES, 6)) * 0.7, np.exp(drawn(2).normal(size=(CLASSES, 6)) * 0.3)
    y = rng.integers(0, CLASSES, rows)
    return pd.DataFrame(mean[y] + spread[y] * rng.normal(size=(rows, 6))).add_prefix("n"), y


def words(rows, rng, y=None, columns=6):
    """Return labels that are independent within a class."""
    shares = drawn(3).dirichlet(np.full(5, 2.0), size=(CLASSES, columns))
    y = rng.integers(0, CLASSES, rows) if y is None else y
    codes = (rng.random((rows, columns, 1)) > shares[y].cumsum(axis=2)).sum(axis=2).clip(max=4)
    return pd.DataFrame(codes).astype(str).add_prefix("w"), y


def mixed(rows, rng):
    """Return numbers and labels that are independent within a class."""
    mean, y = drawn(1).normal(size=(CLASSES, 4)) * 0.6, rng.integers(0, CLASSES, rows)
    numbers = pd.DataFrame(mean[y] + rng.normal(size=(rows, 4))).add_prefix("n")
    return numbers.join(words(rows, rng, y, 4)[0]), y


KINDS = {"normals": normals, "words": words, "mixed": mixed}


def auto(X, y, **how):
    return nv.NaiveBayes(model="auto").fit(X, y, **how)


def scored(nb, X, y):
    return nv.Scores(nb.predict_proba(X), y, nb.classes_)


# -- probabilities ---------------------------------------------------------------------------------------------------


def dependent(rows, rng):
    """Return rows whose columns hang together, and the true probability of each class."""
    mean = np.array([[0.0, 0, 0, 0], [1.0, 0.5, 0, 0.7], [0.0, -0.8, 0.9, 0]])
    within = np.linalg.cholesky(np.full((4, 4), 0.6) + 0.4 * np.eye(4))
    y = rng.choice(CLASSES, rows, p=[0.5, 0.3, 0.2])
    x = mean[y] + rng.normal(size=(rows, 4)) @ within.T
    # The second label repeats the first in three of four rows, whatever the class.
    shares = np.array([[0.6, 0.3, 0.1], [0.3, 0.3, 0.4], [0.2, 0.5, 0.3]])
    first = (rng.random((rows, 1)) > shares[y].cumsum(axis=1)).sum(axis=1).clip(max=2)
    second = np.where(rng.random(rows) < 0.75, first, rng.integers(0, 3, rows))
    gap = (x[:, None, :] - mean) @ np.linalg.inv(within).T
    joint = np.log([0.5, 0.3, 0.2]) - 0.5 * (gap**2).sum(axis=2) + np.log(shares.T[first])
    true = np.exp(joint - joint.max(axis=1, keepdims=True))
    table = pd.DataFrame(x).add_prefix("n").assign(first=first.astype(str), second=second.astype(str))
    return table, y, true / true.sum(axis=1, keepdims=True)


def pooled_error(reported, true, groups=20):
    """Return how far what is reported lies from what is true, in groups of rows with like reports, all classes pooled."""
    reported, true = reported.ravel(), true.ravel()
    parts = np.array_split(np.argsort(reported), groups)
    return sum(len(at) * abs(reported[at].mean() - true[at].mean()) for at in parts) / len(true)


def test_reported_probabilities_match_true_ones():
    rng = np.random.default_rng(4)
    X, y, _ = dependent(8000, rng)
    T, t, true = dependent(60_000, rng)
    reported = auto(X, y).predict_proba(T)
    frequency = np.eye(CLASSES)[t]
    # How often classes came out is itself a draw: so far off are the true probabilities, too.
    noise = pooled_error(true, frequency)
    assert noise < 0.004
    assert pooled_error(reported, frequency) < noise + 0.006
    assert pooled_error(reported, true) < 0.008
    assert np.abs(reported - true).mean() < 0.03
    book = nv.NaiveBayes(model="textbook").fit(X, y).predict_proba(T)
    assert pooled_error(reported, true) < pooled_error(book, true) / 3
