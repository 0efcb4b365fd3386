"""How models are compared on real sets: reading a set, dealing out its rows, and scoring predictions."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

LARGE = "kdd99-10pct"  # of another size than the rest, and not in the mean
Folds = list[tuple[Any, Any]]  # rows to learn from, rows to predict


def sets(shared: Path, only: str | None, task: str, absent_ok: bool = False) -> dict[str, Any]:
    """Return the sets to measure: tables, or texts; those asked for may be of either task."""
    listed: dict[str, Any] = json.loads((shared / "data" / "datasets.json").read_text(encoding="utf-8"))
    known = {name: spec for name, spec in listed.items() if spec["task"] == task and name != LARGE}
    return known if only is None else {name: known[name] for name in only.split(",") if name in known or not absent_ok}


def load(folder: Path, spec: dict[str, Any]) -> tuple[Any, Any, Any, SimpleNamespace]:
    """Return the rows of a set, their classes by number, the part that each row is in, and facts about the set."""
    files = [spec[name] for name in ("file", "test_file") if spec.get(name)]
    tables = [pd.read_csv(folder / file, dtype=str, keep_default_na=False) for file in files]
    whole = pd.concat(tables, ignore_index=True)
    part = np.repeat(["train", "test"][: len(tables)], [len(table) for table in tables])
    if spec.get("split_column"):
        part = whole[spec["split_column"]].to_numpy()
    classes, y = np.unique(whole[spec["target"]].to_numpy(dtype=str), return_inverse=True)
    kinds = {name: kind for name, kind in spec.get("kinds", {}).items() if kind != "id"}
    facts = SimpleNamespace(n_classes=len(classes), kinds=kinds, lang=spec.get("lang"), cost=None)
    if spec["task"] == "text":
        return whole["text"].tolist(), y, part, facts
    cells = whole if not spec.get("missing") else whole.where(whole != spec["missing"], None)
    read = {name: pd.to_numeric(cells[name]) if kinds[name] == "num" else cells[name].astype(object) for name in kinds}
    return pd.DataFrame(read), y, part, facts


def folds(y: Any, part: Any, task: str = "tabular", most: int = 99) -> Folds:
    """Return the official split or folds, or stratified 5-fold cross-validation, repeated more often for few rows.

    Of more than 100,000 rows a tenth is fitted once, and the others are predicted.
    """
    parts = sorted(set(part))
    if len(parts) > 1:
        tested = ["test"] if parts == ["test", "train"] else parts
        return [(np.flatnonzero(part != name), np.flatnonzero(part == name)) for name in tested]
    if len(y) > 100_000:
        strata = np.where(np.bincount(y)[y] > 1, y, -1)
        return [next(iter(StratifiedShuffleSplit(1, train_size=0.1, random_state=0).split(y, strata)))]
    repeats = min(most, 1 if task == "text" or len(y) > 10_000 else 5 if len(y) <= 2_000 else 2)
    dealt = (StratifiedKFold(5, shuffle=True, random_state=seed) for seed in range(repeats))
    return [fold for one in dealt for fold in one.split(y, y)]


def run_one(
    model: Callable[..., Any], X: Any, y: Any, dealt: Folds, facts: Any, hard: bool = False
) -> dict[str, float]:
    """Return the mean scores of the probabilities that a model predicts; a hard one predicts classes alone."""
    found = []
    for train, test in dealt:
        p = np.asarray(model(rows_of(X, train), y[train], rows_of(X, test), facts), dtype=float)
        assert p.shape == (len(test), facts.n_classes)
        assert np.allclose(p.sum(axis=1), 1.0), "probabilities do not sum to 1"
        found.append(scores(p, y[test], hard))
    return {name: float(np.mean([one[name] for one in found])) for name in found[0]}


def rows_of(X: Any, rows: Any) -> Any:
    """Return some rows of a table, or some texts."""
    return X.iloc[rows].reset_index(drop=True) if isinstance(X, pd.DataFrame) else [X[row] for row in rows]


def scores(p: Any, y: Any, hard: bool = False) -> dict[str, float]:
    """Return accuracy, log loss, Brier score and expected calibration error, in 15 bins of the highest probability."""
    right, highest = p.argmax(axis=1) == y, p.max(axis=1)
    if hard:
        return {"accuracy": float(right.mean())}
    own = np.clip(p[np.arange(len(y)), y], 1e-15, 1)
    bins = np.minimum((highest * 15).astype(int), 14)
    gaps = np.bincount(bins, weights=right.astype(float) - highest)
    brier = ((p - np.eye(p.shape[1])[y]) ** 2).sum(axis=1).mean()
    losses = {"logloss": float(-np.log(own).mean()), "brier": float(brier), "ece": float(np.abs(gaps).sum() / len(y))}
    return {"accuracy": float(right.mean()), **losses}


def shared_models(shared: Path) -> ModuleType | None:
    """Return the module of ../shared that has the models of others, None where it is not there."""
    path = shared / "bench" / "accuracy.py"
    if not path.exists():
        print(f"the models of others are left out: {path} is not there")
        return None
    spec = importlib.util.spec_from_file_location("shared_accuracy", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
