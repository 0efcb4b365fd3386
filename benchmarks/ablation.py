"""What each kind of term and each choice is worth: ``python3 chores.py bench ablation``.

The folds are those of `accuracy.py`, the tables those of at most 1,500 rows. Every variant is another recipe of the
same method: a kind of term is excluded, or something that held-out rows choose is fixed.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
from accuracy import answering, asked
from protocol import folds, load, run_one, sets

from naively import NaiveBayes
from naively.model.recipe import RECIPE

MOST_ROWS = 1_500

# What differs from the recipe, by variant.
VARIANTS: dict[str, dict[str, Any]] = {
    "all": {},
    **{
        f"no {what}": {"excluded": names}
        for what, names in {
            "values": ("values",),
            "pairs": ("pairs",),
            "linear and quadratic terms": ("normal",),
            "quadratic term": ("quadratic",),
            "coefficients": ("coefficients",),
            "coefficients of values": ("coefficients of values",),
            "coefficients of pairs": ("coefficients of pairs",),
            "coefficients of triples": ("coefficients of triples",),
            "weights of their own": ("own weights",),
        }.items()
    },
    "values alone": {"excluded": ("pairs", "normal", "coefficients")},
    "numbers in 12 bins only": {"value_bins": (12,)},
    "numbers in fine bins only": {"value_bins": (0,)},
    "at most 16 coarse bins": {"most_coarse_bins": 16},
    "ridge of the linear term 100": {"linear_ridges": RECIPE.linear_ridges[:1]},
    "five principal components": {"quadratic_components": RECIPE.quadratic_components[:1]},
    "quadratic shrinkage 0.3": {"quadratic_shrinkages": (RECIPE.first_shrinkage,)},
    "ridge of coefficients 1,000": {"coefficient_ridges": RECIPE.coefficient_ridges[:1]},
    "ten folds": {"folds": 10},
    "choices on a single fold": {"most_measured": 1},
    "no floor": {"floor_rows": 0.0},
}


def main() -> int:
    """Print a line of means for each variant, as a table."""
    options = asked(__doc__)
    if options is None:
        return 0
    wanted = sets(options.shared, options.only, "tabular")
    wanted = {name: spec for name, spec in wanted.items() if options.only or spec["rows"] <= MOST_ROWS}
    found: dict[str, list[dict[str, float]]] = {name: [] for name in [*VARIANTS, "textbook"]}
    for table, spec in wanted.items():
        print(f"{table} ...", file=sys.stderr, flush=True)
        X, y, part, info = load(options.shared / "data", spec)
        dealt = folds(y, part, "tabular", options.repeats)
        found["textbook"].append(run_one(answering({}), X, y, dealt, info))
        for name, changed in VARIANTS.items():
            variant = type("Variant", (NaiveBayes,), {"_recipe": replace(RECIPE, **changed)})
            found[name].append(run_one(answering({"model": "auto"}, variant), X, y, dealt, info))
    print("| variant | accuracy | log loss |\n|---|---|---|")
    for name, lines in found.items():
        accuracy, loss = (np.mean([line[figure] for line in lines]) for figure in ("accuracy", "logloss"))
        print(f"| {name} | {accuracy:.2%} | {loss:.4f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
