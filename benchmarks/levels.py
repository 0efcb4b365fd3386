"""What an order of levels is worth: simulated tables, log loss on rows that were not learned from.

    python3 chores.py bench levels [--seeds 20]

Three columns of levels. Their effect on two classes is monotone, a step, or different for each level (no order); levels
are alike in frequency or not. Beside `ordinal` stand `categorical` and the places of the levels as numbers.
"""

from __future__ import annotations

import argparse
import sys
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import smoke

import naively as nv

COLUMNS, ASKED = 3, 3000


def table(rng: Any, levels: int, rows: int, frequent: str, effect: str) -> tuple[Any, Any]:
    """Return places of levels, [row, column], and classes."""
    y, x = rng.integers(0, 2, rows), np.zeros((rows, COLUMNS), dtype=int)
    z = np.linspace(-1, 1, levels)
    for at in range(COLUMNS):
        overall = np.ones(levels) if frequent == "alike" else rng.gamma(0.7, 1, levels) + 0.02
        lean = {
            "monotone": lambda: 0.8 * z,
            "step": lambda: np.where(z > rng.uniform(-0.5, 0.5), 0.6, -0.6),
            "no order": lambda: rng.normal(0, 0.6, levels),
        }[effect]()
        for k in (0, 1):
            p = overall * np.exp(lean * (2 * k - 1))
            x[y == k, at] = rng.choice(levels, (y == k).sum(), p=p / p.sum())
    return x, y


def frames(x: Any, levels: int) -> dict[str, Any]:
    """Return places as categories, as ordered ones, and as numbers; names do not tell the order."""
    names = np.array([f"level {letter}" for letter in "lkjihgfedcba"[:levels]])
    plain = pd.DataFrame({f"c{at}": names[column] for at, column in enumerate(x.T)})
    ordered = {
        kind: pd.CategoricalDtype(names.tolist(), ordered=kind == "ordinal") for kind in ("categorical", "ordinal")
    }
    numbers = pd.DataFrame(x.astype(float), columns=plain.columns)
    return {kind: plain.astype(dtype) for kind, dtype in ordered.items()} | {"numbers": numbers}


def main() -> int:
    """Print the mean log loss of every family and model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    options = smoke.parsed(parser, seeds=1)
    every = product((5, 10), (100, 300, 1000), ("alike", "uneven"), ("monotone", "step", "no order"))
    for levels, rows, frequent, effect in [*every][: 3 if options.smoke else None]:
        losses: dict[Any, list[float]] = {}
        for seed in range(options.seeds):
            x, y = table(np.random.default_rng(seed), levels, rows + ASKED, frequent, effect)
            for (family, frame), model in product(frames(x, levels).items(), ("textbook", "auto")):
                p = nv.NaiveBayes(model=model).fit(frame[:rows], y[:rows]).predict_proba(frame[rows:])  # type: ignore[arg-type]
                assert np.allclose(p.sum(axis=1), 1)
                losses.setdefault((model, family), []).append(float(-np.log(p[np.arange(ASKED), y[rows:]]).mean()))
        said = ", ".join(f"{model} {family} {np.mean(of):.4f}" for (model, family), of in losses.items())
        print(f"{levels} levels {frequent}, {rows} rows, {effect}: {said}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
