"""What each kind of term and each choice is worth: ``python3 chores.py bench ablation``.

The tables and the folds are those of `accuracy.py`. Every variant is another recipe of the same method: a kind of term
is missing, or something that cross-validation chooses is fixed.
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

# What differs from the default: settings of the classifier, and constants of the recipe.
VARIANTS: dict[str, tuple[dict[str, Any], Recipe]] = {
    "all": ({}, RECIPE),
    # Kinds of terms.
    "no values": ({}, replace(RECIPE, excluded=("values",))),
    "no pairs": ({}, replace(RECIPE, excluded=("pairs",))),
    "no linear or quadratic term": ({}, replace(RECIPE, excluded=("normal",))),
    "no coefficients": ({}, replace(RECIPE, excluded=("coefficients",))),
    "coefficients of values only": ({}, replace(RECIPE, most_tables=0)),
    "no coefficients of triples": ({}, replace(RECIPE, excluded=("triples",))),
    "values alone": ({}, replace(RECIPE, excluded=("pairs", "normal", "coefficients"))),
    "linear and quadratic terms alone": ({}, replace(RECIPE, excluded=("values", "pairs", "coefficients"))),
    "numbers in 12 bins only": ({}, replace(RECIPE, value_bins=(12,))),
    "numbers in fine bins only": ({}, replace(RECIPE, value_bins=(0,))),
    "coarse bins: 16 at most": ({}, replace(RECIPE, most_coarse_bins=16)),
    # Choices, each fixed at its strongest penalty or left out.
    "one weight for each kind": ({}, replace(RECIPE, own_ridges=())),
    "λ of the linear term 100": ({}, replace(RECIPE, linear_ridges=RECIPE.linear_ridges[:1])),
    "five components of the quadratic term": ({}, replace(RECIPE, quadratic_components=(5,))),
    "α of the quadratic term 0.7": ({}, replace(RECIPE, quadratic_shrinkages=RECIPE.quadratic_shrinkages[:1])),
    "ρ of coefficients 1,000 or none": ({}, replace(RECIPE, coefficient_ridges=RECIPE.coefficient_ridges[:1])),
    # Folds and rows.
    "ten folds": ({}, replace(RECIPE, folds=10)),
    "choices on a single fold": ({}, replace(RECIPE, most_measured=1)),
    "choices on all folds": ({}, replace(RECIPE, measured_rows=sys.maxsize, most_measured=RECIPE.folds)),
    "weights and coefficients of 20,000 rows": ({}, replace(RECIPE, sample_rows=20_000)),
    "no floor": ({}, replace(RECIPE, floor_rows=0.0)),
    "textbook naive Bayes": ({"model": "textbook"}, RECIPE),
}


def by_recipe(recipe: Recipe) -> type[NaiveBayes]:
    """Return the classifier with other constants."""
    return type("Variant", (NaiveBayes,), {"_recipe": recipe})


def main() -> int:
    """Print a line of means for each variant, as a table."""
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
    print("| variant | accuracy | log loss | Brier | calibration error |\n|---|---|---|---|---|")
    for name, lines in found.items():
        means = (form.format(np.mean([line[figure] for line in lines])) for figure, form in FIGURES.items())
        print(f"| {name} | {' | '.join(means)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
