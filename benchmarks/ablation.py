"""What each kind of term is worth: ``python3 chores.py bench ablation``, the means with one of them left out.

The tables and the folds are those of `accuracy.py`. Every variant is another recipe of the same method.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
from accuracy import answering, asked
from protocol import folds, load, run_one, sets

from naively import NaiveBayes
from naively.model.recipe import RECIPE, Recipe

FIGURES = {"accuracy": "{:.2%}", "logloss": "{:.4f}", "brier": "{:.4f}", "ece": "{:.4f}"}
SHARED = replace(RECIPE, own_pairs=0, own_ridges=())  # one weight for each kind of term

VARIANTS: dict[str, tuple[dict[str, Any], Recipe]] = {
    "all terms": ({}, RECIPE),
    "one weight for each kind": ({}, SHARED),
    "no pair with a weight of its own": ({}, replace(RECIPE, own_pairs=0)),
    "no pairs": ({}, replace(RECIPE, left_out=("pairs",))),
    "no linear terms": ({}, replace(RECIPE, left_out=("linear",))),
    "no quadratic term": ({}, replace(RECIPE, left_out=("quadratic",))),
    "no linear and quadratic terms": ({}, replace(RECIPE, left_out=("linear", "quadratic"))),
    "single columns": ({}, replace(RECIPE, left_out=("pairs", "linear", "quadratic"))),
    "single columns, one weight for each kind": ({}, replace(SHARED, left_out=("pairs", "linear", "quadratic"))),
    "no Student-t densities": ({}, replace(RECIPE, left_out=("densities",))),
    "Student-t densities and no bins": ({}, replace(RECIPE, left_out=("bins",))),
    "numbers in 12 bins alone": ({}, replace(RECIPE, left_out=("densities",), value_bins=(12,))),
    "Takeuchi's correction once": ({}, replace(RECIPE, caution=1.0)),
    "textbook naive Bayes": ({"model": "textbook"}, RECIPE),
}


def by_recipe(recipe: Recipe) -> type[NaiveBayes]:
    """Return the classifier with other constants."""
    return type("Variant", (NaiveBayes,), {"_recipe": recipe})


def main() -> int:
    """Print a line of means for each variant, as a table of the docs."""
    options = asked(__doc__)
    if options is None:
        return 0
    wanted = sets(options.shared, options.only, "tabular")
    found: dict[str, list[dict[str, float]]] = {name: [] for name in VARIANTS}
    for table, spec in wanted.items():
        print(f"{table} ...", file=sys.stderr, flush=True)
        X, y, part, info = load(options.shared / "data", spec)
        dealt = folds(y, part, "tabular", options.repeats)
        for name, (settings, recipe) in VARIANTS.items():
            model = answering({"model": "auto"} | settings, by_recipe(recipe))
            found[name].append(run_one(model, X, y, dealt, info))
    print("| terms | accuracy | log loss | Brier | calibration error |\n|---|---|---|---|---|")
    for name, lines in found.items():
        means = (form.format(np.mean([line[figure] for line in lines])) for figure, form in FIGURES.items())
        print(f"| {name} | {' | '.join(means)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
