"""How right and how honest the answers of NaiveBayes are on real tables: ``python3 chores.py bench accuracy``.

The tables and the peer are those of ../shared, next to the repository; `protocol.py` says how rows are dealt out. No
setting is chosen for a table by hand. Without ../shared there is nothing to measure.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import smoke
from protocol import folds, load, run_one, sets, shared_models

from naively import NaiveBayes

SHARED = Path(__file__).resolve().parents[2] / "shared"
MODELS: dict[str, dict[str, Any]] = {
    "textbook": {},
    "smoothing": {"smoothing": "auto"},
    "temperature": {"temperature": "auto"},
    "both": {"smoothing": "auto", "temperature": "auto"},
    "together": {"model": "auto"},
}
PEER = "sk-gauss+cat"
FIGURES = {"accuracy": "{:.1%}", "logloss": "{:.3f}", "ece": "{:.3f}"}
TARGET = 0.47  # the mean log-loss of both, at most


def main() -> int:
    """Print a line for each table and the means; the exit code says whether the target was met."""
    options = asked(__doc__)
    if options is None:
        return 0
    others = shared_models(options.shared)
    models = {} if others is None else {PEER: others.MODELS["tabular"][PEER]}
    models |= {name: answering(MODELS[name]) for name in MODELS}
    print(f"{'log-loss':<16}" + "".join(f"{name:>14}" for name in models))
    found: dict[str, list[dict[str, float]]] = {name: [] for name in models}
    for table, spec in sets(options.shared, options.only, "tabular").items():
        X, y, part, info = load(options.shared / "data", spec)
        dealt = folds(y, part, "tabular", options.repeats)
        for name, model in models.items():
            found[name].append(run_one(model, X, y, dealt, info))
        print(f"{table:<16}" + "".join(f"{found[name][-1]['logloss']:>14.3f}" for name in models), flush=True)
    means = {name: {f: float(np.mean([line[f] for line in lines])) for f in FIGURES} for name, lines in found.items()}
    for figure, form in FIGURES.items():
        print(f"{'mean ' + figure:<16}" + "".join(f"{form.format(means[name][figure]):>14}" for name in models))
    return 0 if options.only or means["both"]["logloss"] <= TARGET else 1


def asked(about: str, tiny: str = smoke.TABLE, **flags: str) -> argparse.Namespace | None:
    """Return what was asked for on the command line, with some flags; None, with a word, if the sets are not there."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--only", help="these tables alone, by name, with commas")
    parser.add_argument("--repeats", type=int, default=1, help="how often the rows are dealt out anew, at most")
    parser.add_argument("--shared", type=Path, default=SHARED, help="the folder of the sets")
    for name, words in flags.items():
        parser.add_argument(f"--{name}", action="store_true", help=words)
    options = smoke.parsed(parser, shared=smoke.shared, only=tiny)
    if (options.shared / "data" / "datasets.json").exists():
        return options
    print(f"skipped: {options.shared} does not hold the tables; give their folder with --shared")
    return None


def answering(
    settings: dict[str, Any], classifier: type[NaiveBayes] = NaiveBayes
) -> Callable[[Any, Any, Any, Any], Any]:
    """Return what answers rows after fitting others, a column for each class of the whole table."""

    def answer(X: Any, y: Any, asked: Any, info: Any) -> Any:
        nb = classifier(**({"model": "textbook"} | settings)).fit(X, y)
        out = np.zeros((len(asked), info.n_classes))
        out[:, nb.classes_] = nb.predict_proba(asked)
        return out

    return answer


if __name__ == "__main__":
    sys.exit(main())
