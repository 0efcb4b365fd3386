"""How right and how honest NaiveBayes is on real texts: ``python3 chores.py bench text_accuracy``.

Sets, folds and peers are those of ../shared, beside the repository. No setting is chosen for a set by hand. The peers
take minutes on the larger sets: ``--peers`` asks for them, in the same folds.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import smoke
from accuracy import answering, asked
from protocol import folds, load, run_one, sets, shared_models

OURS: dict[str, dict[str, Any]] = {"textbook": {}, "auto": {"model": "auto"}}
PEERS = ("mnb", "mnb-2gram*", "cnb-tfidf*", "tfidf-logistic", "tfidf-svc")
FIGURES = {"accuracy": "{:.1%}", "logloss": "{:.3f}"}
# The mean accuracy and log-loss of the default, over all ten sets: 1.5 points below linear support vectors on tf-idf,
# and at most what logistic regression on tf-idf has.
LEAST, MOST = 0.8983, 0.329


def main() -> int:
    """Print a line for each set and the means; the exit code says whether the targets were met."""
    options = asked(__doc__, smoke.TEXTS, peers="measure scikit-learn's pipelines, too")
    if options is None:
        return 0
    models = {name: answering(settings) for name, settings in OURS.items()}
    others = shared_models(options.shared) if options.peers else None
    models |= {} if others is None else {name: others.MODELS["text"][name] for name in PEERS}
    hard = set() if others is None else others.HARD
    print(f"{'accuracy / log-loss':<24}" + "".join(f"{name:>18}" for name in models))
    found: dict[str, list[dict[str, float]]] = {name: [] for name in models}
    for name, spec in sets(options.shared, options.only, "text").items():
        X, y, part, info = load(options.shared / "data", spec)
        dealt = folds(y, part, "text", options.repeats)
        for model, answer in models.items():
            found[model].append(run_one(answer, X, y, dealt, info, model in hard))
        print(f"{name:<24}" + "".join(f"{told(found[model][-1]):>18}" for model in models), flush=True)
    means = {model: mean(lines) for model, lines in found.items()}
    print(f"{'mean':<24}" + "".join(f"{told(means[model]):>18}" for model in models))
    met = means["auto"]["accuracy"] >= LEAST and means["auto"]["logloss"] <= MOST
    return 0 if options.only or met else 1


def mean(lines: list[dict[str, float]]) -> dict[str, float]:
    """Return the mean of each figure that all lines have."""
    return {figure: float(np.mean([line[figure] for line in lines])) for figure in FIGURES if figure in lines[0]}


def told(line: dict[str, float]) -> str:
    """Return the figures of a line; who answers without probabilities has no log-loss."""
    return " / ".join(form.format(line[figure]) if figure in line else "–" for figure, form in FIGURES.items())


if __name__ == "__main__":
    sys.exit(main())
