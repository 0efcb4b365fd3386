"""Classes of few rows: balanced accuracy and log loss of the default model and of the textbook model.

    python3 chores.py bench rare [--seeds 20]

Tables of normal numbers and labels in which some classes have 2 to 16 rows. As many new rows of every class are asked
about; the figures of all rows weigh the classes as frequent as they were learned.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import smoke

import naively as nv

ASKED = 150


class Case(NamedTuple):
    """How many rows each class has, how many columns there are, and how far classes lie apart."""

    rows: tuple[int, ...]
    numbers: int
    labels: int
    apart: float


CASES = (
    Case((200, 200, 2, 4), 6, 0, 0.8),
    Case((200, 200, 2, 4), 6, 0, 1.5),
    Case((300, 200, 8, 3), 4, 4, 0.8),
    Case((150, 150, 150, 2, 2, 4), 5, 3, 1.0),
    Case((400, 100, 2), 3, 0, 1.5),
    Case((300, 300, 4, 4), 2, 6, 1.0),
    Case((200, 200, 200, 16, 8), 8, 0, 0.6),
    Case((500, 3), 5, 5, 1.0),
    Case((100, 100, 100, 100, 2, 2), 10, 0, 0.6),
)


def drawn(rng: Any, case: Case) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Return rows to learn from and rows to ask about, of the same classes."""
    classes = len(case.rows)
    means = rng.normal(size=(classes, case.numbers)) * case.apart
    shares = rng.dirichlet(np.full(4, 0.6), (case.labels, classes))

    def rows(sizes: Any) -> tuple[Any, Any]:
        y = np.repeat(np.arange(classes), sizes)
        columns: dict[str, Any] = {f"x{at}": rng.normal(means[y, at]) for at in range(case.numbers)}
        for at, p in enumerate(shares):
            columns[f"c{at}"] = ["abcd"[rng.choice(4, p=p[k])] for k in y]
        return pd.DataFrame(columns), y

    return rows(case.rows), rows([ASKED] * classes)


def scored(model: str, case: Case, seed: int) -> list[float]:
    """Return balanced accuracy, accuracy, log loss, and log loss with all classes alike."""
    (X, y), (asked, truth) = drawn(np.random.default_rng(seed), case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nv.TextbookFallbackWarning)
        p = nv.NaiveBayes(model=model).fit(X, y).predict_proba(asked)
    assert np.allclose(p.sum(axis=1), 1)
    right = p.argmax(axis=1) == truth
    lost = -np.log(np.clip(p[np.arange(len(truth)), truth], 1e-15, None))
    each = [(right[truth == k].mean(), lost[truth == k].mean()) for k in range(len(case.rows))]
    often = np.array(case.rows) / sum(case.rows)
    accuracy, loss = np.array(each).T
    return [accuracy.mean(), often @ accuracy, often @ loss, loss.mean()]


def main() -> int:
    """Print the means over all cases and seeds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    options = smoke.parsed(parser, seeds=1)
    cases, seeds = CASES[: 3 if options.smoke else None], options.seeds
    print(f"{len(cases)} tables, {seeds} draws each")
    print(f"{'model':10}{'balanced accuracy':>20}{'accuracy':>12}{'log loss':>12}{'log loss per class':>22}")
    for model in ("textbook", "auto"):
        found = [scored(model, case, 1000 * at + seed) for at, case in enumerate(cases) for seed in range(seeds)]
        balanced, accuracy, loss, by_class = np.mean(found, axis=0)
        print(f"{model:10}{balanced:20.1%}{accuracy:12.1%}{loss:12.4f}{by_class:22.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
