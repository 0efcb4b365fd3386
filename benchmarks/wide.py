"""Tables with more columns than rows: `NaiveBayes()` beside scikit-learn, ``python3 chores.py bench wide``.

Made tables of several shapes, nothing set for any of them, each answered on rows of its own by the default model, by a
logistic regression with an L1 penalty, and by one of the 20 columns of the highest F value. The answers are checked
first: noise must be answered with the prior, and all else about as well as the L1 penalty answers it. Means of several
seeds; times are those of learning and answering.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import smoke
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import naively as nv

FRESH = 1000  # rows that are asked about
NOISE = 0.02  # how far the log loss of noise may lie above the entropy of the classes
WORSE = 0.06  # how far the accuracy may lie below that of the L1 penalty
SECONDS = 10.0  # for learning from 300 × 5,000 and answering

Table = tuple[Any, Any]
Make = Callable[[np.random.Generator, int, int], Table]


def main() -> int:
    """Print a line for each shape; the exit code says whether every target was met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", default="", help="shapes whose name holds this")
    options = smoke.parsed(parser, seeds=1, only="five of 500")
    warnings.filterwarnings("ignore", message=".*penalty.*")
    print("accuracy, log loss and seconds: default; L1 logistic; 20 columns of the highest F, logistic")
    met = [measured(name, options.seeds) for name in SHAPES if options.only in name]
    return 0 if all(met) else 1


def five(rng: np.random.Generator, rows: int, columns: int) -> Table:
    """Return classes that the sum of five columns decides."""
    X = rng.normal(size=(rows, columns))
    return X, (X[:, :5].sum(axis=1) > 0).astype(int)


def shifted(informative: int, by: float) -> Make:
    """Return what makes classes that differ in the mean of some columns."""

    def make(rng: np.random.Generator, rows: int, columns: int) -> Table:
        X, y = noise(rng, rows, columns)
        X[:, :informative] += by * y[:, None]
        return X, y

    return make


def alike(rng: np.random.Generator, rows: int, columns: int) -> Table:
    """Return classes that five columns decide, each of which is there ten times with some noise."""
    X = rng.normal(size=(rows, columns))
    hidden = rng.normal(size=(rows, 5))
    X[:, :50] = 0.9 * np.repeat(hidden, 10, axis=1) + 0.44 * X[:, :50]
    return X, (hidden.sum(axis=1) > 0).astype(int)


def spread(rng: np.random.Generator, rows: int, columns: int) -> Table:
    """Return classes that differ in the spread of five columns, which no straight line sees."""
    X, y = noise(rng, rows, columns)
    X[:, :5] *= np.where(y, 2.5, 1.0)[:, None]
    return X, y


def several(rng: np.random.Generator, rows: int, columns: int) -> Table:
    """Return four classes that differ in the mean of ten columns."""
    X, y = rng.normal(size=(rows, columns)), rng.integers(0, 4, rows)
    X[:, :10] += (1.2 * np.random.default_rng(0).normal(size=(4, 10)))[y]
    return X, y


def flags(rng: np.random.Generator, rows: int, columns: int) -> Table:
    """Return columns of labels 0 and 1, five of which often follow the class; as text for the default model."""
    y = rng.integers(0, 2, rows)
    X = rng.integers(0, 2, (rows, columns))
    X[:, :5] = np.where(rng.random((rows, 5)) < 0.5, y[:, None], X[:, :5])
    return X, y


def noise(rng: np.random.Generator, rows: int, columns: int) -> Table:
    """Return classes that no column knows of."""
    return rng.normal(size=(rows, columns)), rng.integers(0, 2, rows)


SHAPES: dict[str, tuple[Make, int, int]] = {
    "five of 500": (five, 300, 500),
    "five of 1,000": (five, 300, 1000),
    "five of 5,000": (five, 300, 5000),
    "50 weak of 2,000": (shifted(50, 0.4), 300, 2000),
    "500 very weak of 2,000": (shifted(500, 0.2), 300, 2000),
    "alike, 50 of 2,000": (alike, 300, 2000),
    "spread, five of 2,000": (spread, 300, 2000),
    "four classes, ten of 2,000": (several, 300, 2000),
    "flags, five of 500": (flags, 300, 500),
    "noise, 300 × 5,000": (noise, 300, 5000),
    "noise, 200 × 20,000": (noise, 200, 20_000),
}


def measured(name: str, seeds: int) -> bool:
    """Print how well and how fast a shape is answered; tell whether that is good enough."""
    make, rows, columns = SHAPES[name]
    found = []
    for seed in range(seeds):
        X, y = make(np.random.default_rng(seed), rows + FRESH, columns)
        found.append([answered(model(), X, y, rows) for model in models(make is flags)])
    mean = np.mean(found, axis=0)
    met = good(name, mean, np.log(2))
    times = f"{mean[0, 2] / mean[1, 2]:.1f} × L1's time"
    print(f"{name}: {'; '.join(said(line) for line in mean)}; {times}{'' if met else ' ✗'}", flush=True)
    return met


def models(labels: bool) -> Sequence[Callable[[], Any]]:
    """Return what makes each of the models; the default one reads labels as text."""
    lasso = LogisticRegression(penalty="l1", solver="liblinear", C=0.1)
    return (
        AsText if labels else nv.NaiveBayes,
        lambda: make_pipeline(StandardScaler(), OneVsRestClassifier(lasso)),
        lambda: make_pipeline(StandardScaler(), SelectKBest(f_classif, k=20), LogisticRegression()),
    )


class AsText:
    """The default model of columns of labels that come as numbers."""

    def fit(self, X: Any, y: Any) -> AsText:
        """Learn."""
        self.model = nv.NaiveBayes().fit(X.astype(str).astype(object), y)
        self.classes_ = self.model.classes_
        return self

    def predict_proba(self, X: Any) -> Any:
        """Answer."""
        return self.model.predict_proba(X.astype(str).astype(object))


def answered(model: Any, X: Any, y: Any, rows: int) -> tuple[float, float, float]:
    """Return accuracy, log loss and seconds of a model that learns from the first rows, on the others."""
    start = time.perf_counter()
    p = model.fit(X[:rows], y[:rows]).predict_proba(X[rows:])
    seconds = time.perf_counter() - start
    scores = nv.Scores(p, y[rows:], model.classes_)
    return scores.accuracy, scores.log_loss, seconds


def good(name: str, mean: Any, entropy: float) -> bool:
    """Tell whether answers are as good, and as quick, as they shall be."""
    (right, loss, seconds), (lasso, _, _), _ = mean
    if name.startswith("noise"):
        return bool(loss < entropy + NOISE)
    return bool(right > lasso - WORSE and (name != "five of 5,000" or (right > 0.85 and seconds < SECONDS)))


def said(line: Any) -> str:
    """Return figures as text."""
    return f"{line[0]:.1%} {line[1]:.3f} {line[2]:.2f} s"


if __name__ == "__main__":
    sys.exit(main())
