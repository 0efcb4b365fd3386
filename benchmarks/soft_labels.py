"""Soft labels with the default model: ``python3 chores.py bench soft_labels [--repeats N]``.

The labels of training rows are replaced by soft ones, in three ways. *Ambiguity*: five votes are drawn from the
probabilities that a model of other rows gives the classes of the row. *Reliability*: a row's label is right with a
known probability between 0.5 and 1, and the other classes share the rest. *Errors*: five annotators vote, each wrong in
20 % of the rows. Compared are the default and the textbook model with the soft labels, and the default with the most
probable label of each row. Held-out rows have their true labels, and soft labels of the same kind: log loss and
accuracy by the first, cross-entropy by the second.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
from accuracy import asked
from protocol import load, sets

import naively as nv

FEWEST, MOST = 500, 6_000  # rows of a table; of larger ones so many are drawn
VOTES, WRONG = 5, 0.2
MODELS = ("default, soft", "textbook, soft", "default, hardened")


def main() -> int:
    """Print a line for each table and way, and the means."""
    options = asked(__doc__)
    if options is None:
        return 0
    warnings.simplefilter("ignore")
    found = dict[str, list[Any]]()
    print(f"{'log loss / accuracy / cross-entropy':<36}" + "".join(f"{name:>26}" for name in MODELS))
    for table, spec in sets(options.shared, options.only, "tabular").items():
        X, y, _, info = load(options.shared / "data", spec)
        if len(y) < FEWEST:
            continue
        for way in WAYS:
            runs = [measured(X, y, info.n_classes, way, seed) for seed in range(options.repeats)]
            found.setdefault(way, []).append(line := np.mean(runs, axis=0))
            print(shown(f"{table}, {way}", line), flush=True)
    for way, lines in found.items():
        print(shown(f"mean, {way}", np.mean(lines, axis=0)))
        for figure, at in (("log loss", 0), ("cross-entropy", 2)):
            best = [sum(line[0, at] < line[other, at] for line in lines) for other in (1, 2)]
            print(
                f"  {figure}: of {len(lines)} tables the default with soft labels is better in {best[0]} and {best[1]}"
            )
    return 0


def shown(name: str, line: Any) -> str:
    """Return the figures of all models in one line."""
    return f"{name:<36}" + "".join(f"{a:>10.4f} /{b:>6.1%} /{c:>6.3f}" for a, b, c in line)


def by_reliability(y: Any, p: Any, rng: Any) -> Any:
    """Return soft labels whose most probable class is right with the probability that they say."""
    classes, right = p.shape[1], rng.uniform(0.5, 1.0, len(y))
    wrong = (y + rng.integers(1, classes, len(y))) % classes
    out = np.repeat((1 - right)[:, None] / (classes - 1), classes, axis=1)
    out[np.arange(len(y)), np.where(rng.random(len(y)) < right, y, wrong)] = right
    return out


def by_errors(y: Any, p: Any, rng: Any) -> Any:
    """Return the proportions of the votes of annotators who err."""
    votes = np.where(np.eye(p.shape[1])[y] > 0, 1 - WRONG, WRONG / (p.shape[1] - 1))
    return by_ambiguity(y, votes, rng)


def by_ambiguity(y: Any, p: Any, rng: Any) -> Any:
    """Return the proportions of votes that are drawn from the probabilities of the classes."""
    return np.array([rng.multinomial(VOTES, line) / VOTES for line in p.astype(np.float64)])


WAYS = {"ambiguity": by_ambiguity, "reliability": by_reliability, "errors": by_errors}


def measured(X: Any, y: Any, classes: int, way: str, seed: int) -> Any:
    """Return log loss, accuracy and cross-entropy of held-out rows, [model, figure]."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))[:MOST]
    other, train, test = np.split(order, [len(order) * 3 // 10, len(order) * 7 // 10])
    names = [f"class {k:02d}" for k in range(classes)]
    known, asked_about = (X.iloc[part].reset_index(drop=True) for part in (train, test))
    p = np.full((len(y), classes), 1 / classes)
    if way == "ambiguity":
        teacher = nv.NaiveBayes(classes=names).fit(X.iloc[other], np.array(names)[y[other]])
        p[train], p[test] = (teacher.predict_proba(part) for part in (known, asked_about))
    soft = pd.DataFrame(WAYS[way](y[train], p[train], rng), columns=names)
    fresh = WAYS[way](y[test], p[test], rng)
    hard = np.array(names)[soft.to_numpy().argmax(axis=1)]
    out = []
    for model, labels in (("auto", soft), ("textbook", soft), ("auto", hard)):
        nb = nv.NaiveBayes(model=model, classes=names).fit(known, labels)
        p = nb.predict_proba(asked_about)
        assert np.allclose(p.sum(axis=1), 1)
        p = np.clip(p, 1e-15, 1.0)
        own = p[np.arange(len(test)), y[test]]
        accuracy = (p.argmax(axis=1) == y[test]).mean()
        out.append((-np.log(own).mean(), accuracy, -(fresh * np.log(p)).sum(axis=1).mean()))
    return np.array(out)


if __name__ == "__main__":
    sys.exit(main())
