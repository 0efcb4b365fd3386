"""How accurate and how fast the default model is on all shared sets: ``python3 chores.py bench default_model``.

Sets and folds are those of ../shared (`protocol.py`). Every fold is a task of its own on one thread, so CPU seconds
compare; ``--jobs`` of them run at a time. With ``--peer`` LightGBM fits the same rows. Nothing is set for a set by
hand.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NAIVELY_THREADS"), "1")  # NumPy reads them

import numpy as np
import smoke
from accuracy import SHARED
from protocol import folds, load, rows_of, scores, sets

from naively import NaiveBayes
from naively.model.recipe import RECIPE

# Tables whose shape the default was weak on: hundreds of columns, thousands of categories, many rows.
WEAK = (
    "arrhythmia",
    "pd-speech",
    "mnist-5k",
    "amazon-access",
    "electricity",
    "covertype-15k",
    "hotel-bookings",
    "anneal",
)
GROUPS = ("21 older tables", "19 newer tables", "8 weak shapes", "10 texts")
# Mean accuracy and log loss of each group, at least and at most.
TARGETS = {GROUPS[0]: (0.908, 0.218), GROUPS[1]: (0.899, 0.280), GROUPS[3]: (0.918, 0.235)}
MOST_FIT, MOST_PREDICT = 1.0, 0.25  # CPU time over LightGBM's, geometric mean


def main() -> int:
    """Print a line for each set and each group; the exit code says whether the targets were met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="these sets alone, by name, with commas")
    parser.add_argument("--task", choices=["tabular", "text"], help="tables alone, or texts alone")
    parser.add_argument("--repeats", type=int, default=1, help="how often the rows are dealt out again, at most")
    parser.add_argument("--jobs", type=int, default=1, help="how many folds are fitted at a time")
    parser.add_argument("--peer", action="store_true", help="fit LightGBM on the same rows of tables, too")
    parser.add_argument("--recipe", type=json.loads, default={}, help='other constants, such as {"folds": 10}')
    parser.add_argument("--json", type=Path, help="a file for the figures of each set")
    parser.add_argument("--shared", type=Path, default=SHARED, help="the folder of the sets")
    options = smoke.parsed(parser, shared=smoke.shared, task="tabular", only=smoke.TABLE)
    if not (options.shared / "data" / "datasets.json").exists():
        print(f"skipped: {options.shared} does not hold the sets; give their folder with --shared")
        return 0
    tasks = [task for kind in ("tabular", "text") if options.task in (None, kind) for task in all_tasks(options, kind)]
    tasks.sort(key=lambda task: -task[2])  # the longest first
    with ProcessPoolExecutor(options.jobs) as pool:
        found = list(pool.map(measured, *zip(*((options, name, fold) for name, fold, _ in tasks), strict=True)))
    by_set: dict[str, list[dict[str, float]]] = {}
    for (name, *_), figures in zip(tasks, found, strict=True):
        by_set.setdefault(name, []).append(figures)
    means = {name: {what: mean_of(what, lines) for what in lines[0]} for name, lines in by_set.items()}
    if options.json:
        options.json.write_text(json.dumps(means, indent=1), encoding="utf-8")
    return 0 if report(options, means) or options.smoke or options.only or options.recipe else 1


def all_tasks(options: argparse.Namespace, kind: str) -> Iterator[tuple[str, int, int]]:
    """Give each fold of each set, and about how long it takes."""
    for name, spec in sets(options.shared, options.only, kind, absent_ok=True).items():
        _, y, part, _ = load(options.shared / "data", spec)
        cells = len(y) * max(len(spec.get("kinds", {})), 20) * len(spec.get("classes", "ab"))
        yield from ((name, fold, cells) for fold in range(len(folds(y, part, kind, options.repeats))))


def measured(options: argparse.Namespace, name: str, fold: int) -> dict[str, float]:
    """Return scores of a fold that is predicted, and CPU seconds of fit and prediction."""
    listed = json.loads((options.shared / "data" / "datasets.json").read_text(encoding="utf-8"))[name]
    X, y, part, facts = load(options.shared / "data", listed)
    train, test = folds(y, part, listed["task"], options.repeats)[fold]
    recipe = {key: tuple(value) if isinstance(value, list) else value for key, value in options.recipe.items()}
    classifier = type("Variant", (NaiveBayes,), {"_recipe": replace(RECIPE, **recipe)})
    some = train[:: max(len(train) // 60, 1)]
    classifier().fit(rows_of(X, some), y[some])  # what is imported and made once is no part of a fit
    known, fresh = rows_of(X, train), rows_of(X, test)
    start = time.process_time()
    nb = classifier().fit(known, y[train])
    nb.predict_proba(rows_of(X, test[:1]))
    fitted = time.process_time()
    own = nb.predict_proba(fresh)
    done = time.process_time()
    p = np.full((len(test), facts.n_classes), 1e-9)  # a class that no row has gets next to nothing, as from the peers
    p[:, nb.classes_] = np.maximum(own, 1e-9) if own.shape[1] < facts.n_classes else own
    p /= p.sum(axis=1, keepdims=True)
    out = scores(p, y[test]) | {"fit": fitted - start, "predict": done - fitted}
    if facts.n_classes == 2:
        out["auc"] = area(p[:, 1], y[test])
    return out | (
        lightgbm_seconds(known, y[train], fresh, facts) if options.peer and listed["task"] == "tabular" else {}
    )


def area(score: Any, y: Any) -> float:
    """Return the area under the ROC curve."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(y, score))


def lightgbm_seconds(known: Any, y: Any, fresh: Any, facts: Any) -> dict[str, float]:
    """Return the CPU seconds that LightGBM takes for the same rows, its defaults on one thread, categories as codes."""
    import lightgbm

    known, fresh = known.copy(), fresh.copy()
    texts = [name for name, kind in facts.kinds.items() if kind == "cat"]
    for name in texts:
        labels = {value: code for code, value in enumerate(known[name].dropna().unique())}
        known[name], fresh[name] = (part[name].map(labels).fillna(-1).astype(int) for part in (known, fresh))
    names = {name: f"c{at}" for at, name in enumerate(known.columns)}
    known, fresh = known.rename(columns=names), fresh.rename(columns=names)
    start = time.process_time()
    model = lightgbm.LGBMClassifier(verbose=-1, n_jobs=1, random_state=0)
    model.fit(known, y, categorical_feature=[names[name] for name in texts])
    fitted = time.process_time()
    p = model.predict_proba(fresh)
    assert np.allclose(p.sum(axis=1), 1.0)
    return {"peer fit": fitted - start, "peer predict": time.process_time() - fitted}


def mean_of(figure: str, lines: list[dict[str, float]]) -> float:
    """Return the mean of a figure over folds."""
    return float(np.mean([line[figure] for line in lines]))


def report(options: argparse.Namespace, means: dict[str, dict[str, float]]) -> bool:
    """Print all figures; tell whether the targets were met."""
    listed = json.loads((options.shared / "data" / "datasets.json").read_text(encoding="utf-8"))
    groups: dict[str, list[str]] = {group: [] for group in GROUPS}
    for name in [name for name in listed if name in means]:
        old = 0 if not listed[name].get("new") else 2 if name in WEAK else 1
        groups[GROUPS[3 if listed[name]["task"] == "text" else old]].append(name)
    met = True
    for group, names in groups.items():
        for name in names:
            print(
                f"{name:<24}"
                + "".join(f"{form.format(means[name][what])} " for what, form in FORMS.items() if what in means[name])
            )
        if names:
            mean = [float(np.mean([means[name][what] for name in names])) for what in ("accuracy", "logloss")]
            least, most = TARGETS.get(group, (0.0, np.inf))
            good = mean[0] >= least and mean[1] <= most
            print(f"== {group}: {mean[0]:.2%} · {mean[1]:.4f}{'' if good else f' ✗ (target {least:.1%} · {most:.3f})'}")
            met &= good
    timed = [line for line in means.values() if "peer fit" in line]
    for what, most in (("fit", MOST_FIT), ("predict", MOST_PREDICT)) if timed else ():
        ratios = np.array([line[what] / line[f"peer {what}"] for line in timed])
        good = float(np.exp(np.log(ratios).mean()))
        missed = "" if good <= most else f" ✗ (target {most})"
        print(f"== CPU of {what} over LightGBM's: {good:.2f}{missed}, at most {ratios.max():.1f}")
        met &= good <= most
    return met


FORMS = {
    "accuracy": "{:7.2%}", "logloss": "{:7.4f}", "ece": "ECE {:.3f}", "auc": "AUC {:.3f}", "fit": "fit {:8.3f}",
    "predict": "predict {:7.4f}", "peer fit": "LightGBM {:7.3f}", "peer predict": "{:7.4f}",
}  # fmt: skip

if __name__ == "__main__":
    sys.exit(main())
