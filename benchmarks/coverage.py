"""How often sets and intervals of the default model hold the truth: ``python3 chores.py bench coverage``.

Real tables of ../shared with 500 rows and more, and three sets of texts, are split 70/30, several times; without that
folder they are skipped. Simulated tables, whose P(class | row) is known, follow. That sets are nested, and intervals
contain the probability, is checked before anything is counted.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import smoke
from accuracy import SHARED
from protocol import load, sets
from scipy.special import softmax

import naively as nv
from naively.estimator.held_out import scores_in_use

LEVELS = (0.8, 0.9, 0.95)
FEWEST, ROWS, ASKED, GROUPS = 500, (500, 2000, 10_000), 3000, 10
TEXTS = ("sms-spam", "trec-questions", "movie-polarity2")
# How far from its level coverage may lie on average over all tables, and how far below it that of one table.
ON_AVERAGE, OF_ONE = 0.01, 0.05


def main() -> int:
    """Print both tables; the exit code says whether sets cover what they say."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="these tables alone, by name, with commas")
    parser.add_argument("--seeds", type=int, default=5, help="how often each table is split, or drawn")
    parser.add_argument("--shared", type=Path, default=SHARED, help="the folder with the tables")
    options = smoke.parsed(parser, shared=smoke.shared, only=f"{smoke.TABLE},{smoke.TEXTS}", seeds=1)
    warnings.simplefilter("ignore", nv.TextbookFallbackWarning)
    met = measure_tables(options) if (options.shared / "data" / "datasets.json").exists() else skipped(options.shared)
    if options.only is None or options.smoke:
        measure_simulated(options.seeds, ROWS[: 1 if options.smoke else None])
    return 0 if met or options.smoke else 1


def skipped(shared: Path) -> bool:
    """Say that there are no real tables."""
    print(f"skipped: {shared} does not hold the tables; give their folder with --shared")
    return True


# -- real tables -------------------------------------------------------------------------------------------------------


class Found(NamedTuple):
    """What was measured in one split."""

    accuracy: float
    coverage: list[float]
    size: list[float]
    worst: float  # coverage of the class that is covered least, of 20 rows and more, by class
    within: list[float]  # groups of rows whose frequency lies within the mean interval: level 0.9, Venn–Abers
    error: list[float]  # calibration error: of the probability, of the middle of the Venn–Abers interval
    bare: list[float]  # coverage of sets that may be empty


def measure_tables(options: argparse.Namespace) -> bool:
    """Print coverage and size of sets, and how intervals agree with frequencies, for each table."""
    print("| table | rows | accuracy | " + " | ".join(f"set {level:g}" for level in LEVELS), end="")
    print(" | by class 0.9: worst class | frequency within interval 0.9 | … Venn–Abers | error of P | … Venn–Abers |")
    print("|---|" + "---:|" * (len(LEVELS) + 7))
    every: list[Found] = []
    for name, X, y in tables(options):
        every.append(mean_of([measured(X, y, seed) for seed in range(options.seeds)]))
        print(line(name, f"{len(y):,}", every[-1]), flush=True)
    mean = mean_of(every)
    print(line("mean", "", mean))
    lowest, highest = (of([found.bare for found in every], axis=0) for of in (np.min, np.max))
    print("\nIf sets could be empty, they would hold the true class (mean, least and most of all tables):")
    for level, *figures in zip(LEVELS, mean.bare, lowest, highest, strict=True):
        print(f"level {level:g}: " + ", ".join(f"{figure:.1%}" for figure in figures))
    return all(
        abs(cover - level) <= ON_AVERAGE and least >= level - OF_ONE
        for level, cover, least in zip(LEVELS, mean.bare, lowest, strict=True)
    )


def tables(options: argparse.Namespace) -> Iterator[tuple[str, pd.DataFrame, Any]]:
    """Give the name, the rows and the classes of each table that is large enough, and of some sets of texts."""
    every = {task: sets(options.shared, None, task) for task in ("tabular", "text")}
    chosen = options.only.split(",") if options.only else [*every["tabular"], *TEXTS]
    for name in chosen:
        spec = every["text" if name in TEXTS else "tabular"][name]
        X, y, _, _ = load(options.shared / "data", spec)
        if len(y) >= FEWEST:
            yield name, X if name not in TEXTS else pd.DataFrame({"text": np.ravel(X).astype(str)}), np.asarray(y)


def mean_of(found: list[Found]) -> Found:
    """Return the mean of each figure."""
    return Found(*(np.nanmean(np.array(part), axis=0).tolist() for part in zip(*found, strict=True)))


def line(name: str, rows: str, found: Found) -> str:
    """Return a line of the table."""
    pairs = (f"{cover:.1%} ({size:.2f})" for cover, size in zip(found.coverage, found.size, strict=True))
    within, error = (f"{part:.0%}" for part in found.within), (f"{part:.3f}" for part in found.error)
    return f"| {name} | {rows} | {found.accuracy:.1%} | {' | '.join([*pairs, f'{found.worst:.1%}', *within, *error])} |"


def measured(X: Any, y: Any, seed: int) -> Found:
    """Return the figures of one split."""
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = np.split(order, [int(0.7 * len(y))])
    asked, at = X.iloc[test], np.arange(len(test))
    families = {"text": "words"} if [*X] == ["text"] else None
    nb = nv.NaiveBayes(families=families).fit(X.iloc[train], y[train])
    # A class that the model never saw is in no set: it stands behind the others.
    truth = np.array([*map({label: k for k, label in enumerate(nb.classes_.tolist())}.get, y[test].tolist())])
    truth = np.where(truth == None, len(nb.classes_), truth).astype(int)  # noqa: E711 # element by element
    p = nb.predict_proba(asked)
    found = [np.pad(nb.predict_set(asked, level), [(0, 0), (0, 1)]) for level in LEVELS]
    assert all((a <= b).all() for a, b in pairwise(found))
    assert found[0].any(axis=1).all()
    each = np.pad(nb.predict_set(asked, 0.9, by_class=True), [(0, 0), (0, 1)])
    classes = [k for k in range(len(nb.classes_)) if (truth == k).sum() >= 20]
    low, high = nb.predict_interval(asked)
    assert ((low <= p + 1e-12) & (p <= high + 1e-12)).all()
    venn = nb.predict_interval(asked, None)
    hits = (truth[:, None] == np.arange(len(nb.classes_))).astype(float)
    ends = [frequencies(p, hits, low, high), frequencies(p, hits, *venn)]
    return Found(
        float((p.argmax(axis=1) == truth).mean()),
        [float(one[at, truth].mean()) for one in found],
        [float(one.sum(axis=1).mean()) for one in found],
        float(min(each[truth == k, k].mean() for k in classes)),
        [float(((a <= f) & (f <= b)).mean()) for f, _, a, b in ends],
        [calibration_error(one, hits) for one in (p, np.mean(venn, axis=0))],
        [float(one[at, truth].mean()) for one in bare_sets(nb, asked)],
    )


def bare_sets(nb: nv.NaiveBayes, asked: Any) -> list[Any]:
    """Return the sets of p-values alone, from which the most probable class may be missing."""
    values = scores_in_use(nb.fitted_).p_values(nb.predict_log_proba(asked))
    return [np.pad(values > 1 - level, [(0, 0), (0, 1)]) for level in LEVELS]


def frequencies(p: Any, hits: Any, low: Any, high: Any) -> Any:
    """Return frequency, probability and mean ends of ten groups of rows for each class, by probability."""
    groups = [(k, part) for k in range(p.shape[1]) for part in np.array_split(np.argsort(p[:, k]), GROUPS)]
    return np.array([[one[part, k].mean() for one in (hits, p, low, high)] for k, part in groups]).T


def calibration_error(stated: Any, hits: Any) -> float:
    """Return how far frequencies lie from the mean of what is stated, in ten groups for each class."""
    frequency, mean, _, _ = frequencies(stated, hits, stated, stated)
    return float(np.abs(frequency - mean).mean())


# -- simulated tables --------------------------------------------------------------------------------------------------

Drawn = tuple[pd.DataFrame, Any, Any]  # rows, classes, P(class | row)
Draw = Callable[[int], Drawn]


def measure_simulated(seeds: int, sizes: tuple[int, ...]) -> None:
    """Print how often intervals contain P(class | row), and how wide they are."""
    print("\n| simulated | rows | error of P | interval 0.9 | width | Venn–Abers | width | set 0.9 |")
    print("|---|" + "---:|" * 7)
    for rows in sizes:
        lines: dict[str, list[list[float]]] = {}
        for seed in range(seeds):
            for name, draw in cases(np.random.default_rng([seed, rows])):
                lines.setdefault(name, []).append(simulated(draw, rows))
        for name, found in lines.items():
            error, inside, width, inside_venn, width_venn, covered = np.mean(found, axis=0)
            print(
                f"| {name} | {rows:,} | {error:.3f} | {inside:.1%} | {width:.3f} | {inside_venn:.1%} | "
                f"{width_venn:.3f} | {covered:.1%} |",
                flush=True,
            )


def simulated(draw: Draw, rows: int) -> list[float]:
    """Return the figures of one drawn table."""
    (X, y, _), (asked, truth, true) = draw(rows), draw(ASKED)
    nb = nv.NaiveBayes().fit(X, y)
    found = [float(np.abs(nb.predict_proba(asked) - true).mean())]
    for level in (0.9, None):
        low, high = nb.predict_interval(asked, level)
        found += [float(((low <= true) & (true <= high)).mean()), float((high - low).mean())]
    return [*found, float(nb.predict_set(asked)[np.arange(ASKED), truth].mean())]


def cases(rng: Any) -> Iterator[tuple[str, Draw]]:
    """Give ways to draw rows."""
    for name, classes, columns, apart, correlation in (
        ("6 independent normal numbers", 2, 6, 0.5, 0.0),
        ("6 correlated normal numbers, 4 classes", 4, 6, 0.6, 0.3),
        ("30 correlated normal numbers", 2, 30, 0.15, 0.2),
    ):
        yield name, normal_rows(rng, rng.normal(size=(classes, columns)) * apart, correlation)
    yield "6 labels, one interaction", label_rows(rng, rng.normal(size=(6, 4)) * 0.6, rng.normal(size=(4, 4)) * 0.7)
    yield "2 labels", label_rows(rng, rng.normal(size=(2, 4)) * 0.6, np.zeros((4, 4)))


def normal_rows(rng: Any, means: Any, correlation: float) -> Draw:
    """Return what draws rows of normal numbers, all pairs of which have one correlation."""
    classes, columns = means.shape
    root = np.linalg.cholesky(np.full((columns, columns), correlation) + (1 - correlation) * np.eye(columns))

    def draw(rows: int) -> Drawn:
        y = rng.integers(classes, size=rows)
        x = means[y] + rng.normal(size=(rows, columns)) @ root.T
        apart = np.linalg.solve(root, (x[:, None] - means).reshape(-1, columns).T).T.reshape(rows, classes, columns)
        table = pd.DataFrame(x, columns=[f"x{j}" for j in range(columns)])
        return table, y, softmax(-0.5 * (apart**2).sum(axis=2), axis=1)

    return draw


def label_rows(rng: Any, effects: Any, interaction: Any) -> Draw:
    """Return what draws rows of labels with effects on the log-odds, the first two also jointly."""

    def draw(rows: int) -> Drawn:
        x = rng.integers(4, size=(rows, len(effects)))
        odds = effects[np.arange(len(effects)), x].sum(axis=1) + interaction[x[:, 0], x[:, 1]]
        true = softmax(np.stack([np.zeros(rows), odds], axis=1), axis=1)
        table = pd.DataFrame({f"c{j}": np.array(list("abcd"))[x[:, j]] for j in range(len(effects))})
        return table, (rng.random(rows) < true[:, 1]).astype(int), true

    return draw


if __name__ == "__main__":
    sys.exit(main())
