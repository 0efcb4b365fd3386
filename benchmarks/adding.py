"""What is learned adds up: models merged, fitted in batches, and without rows again, beside one fit.

    python3 chores.py bench adding [--data DIR] [--only SET,SET] [--quick] [--jobs N] [--json FILE] [--markdown FILE]

On every table of ../shared with at least 500 rows, and on three sets of texts, 70 % of the rows are learned in several
ways and 30 % are asked about. A ratio is (log loss + 0.001) / (log loss of one fit of the same rows + 0.001). Every
figure has a bound; the exit status is 1 if one is missed. Only what the package exports is used.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import smoke

import naively as nv

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
TEXTS = ("sms-spam", "trec-questions", "reuters-r8")
LARGE = ("kdd99-10pct",)  # left out by --quick
WHOLE = ("adult", "bank-marketing")  # the largest tables
FEWEST_ROWS, ENOUGH, KEPT = 500, 5_000, 20_000
PARTS, BATCHES, FIRST_BATCH, SMALL_BATCHES = 4, 20, 5, 100
STREAMED, STREAM_FROM = 2_000, 10_000  # rows that come one by one, after so many
ASKED_BETWEEN = 10  # rows that are asked about after each batch
OUTDATED = {"StaleWarning", "TextbookFallbackWarning"}  # no way of learning should need them


class Bound(NamedTuple):
    """The most that the mean and the worst of a figure may be; None: anything."""

    mean: float | None
    worst: float | None


# In the order of the table. Ratios of log loss first, then differences of probabilities.
RATIOS = {
    "merged": ("4 parts fitted apart and merged", Bound(1.01, 1.05)),
    "merged_rows": ("the same from files with rows", Bound(1.01, 1.05)),
    "merged_files": ("the same from files without rows", Bound(1.25, None)),
    "merged_files_large": (f"the same, parts of at least {ENOUGH:,} rows", Bound(1.03, None)),
    "whole": ("adult and bank-marketing, 4 random parts", Bound(1.01, 1.03)),
    "sorted": ("adult and bank-marketing, 4 parts sorted by a column", Bound(1.01, 1.03)),
    "batches": ("20 batches by partial_fit, asked at the end", Bound(1.01, 1.05)),
    "asked": ("20 batches, asked after each", Bound(1.02, 1.20)),
    "small": ("a first batch of 5 rows, then 100 small ones", Bound(1.01, 1.05)),
    "forgotten": ("a random third forgotten", Bound(1.01, 1.05)),
    "forgotten_lowest": ("the lowest third by a column forgotten", Bound(1.01, 1.05)),
}
DIFFERENCES = {
    "order": ("order of merging, largest change of a probability", Bound(None, 1e-9)),
    "same_merged": (f"merged beside one fit, up to {KEPT:,} rows", Bound(None, 1e-6)),
    "same_batches": (f"20 batches beside one fit, up to {KEPT:,} rows", Bound(None, 1e-6)),
    "same_forgotten": (f"a third forgotten beside a fit of the rest, up to {KEPT:,} rows", Bound(None, 1e-6)),
}
COSTS = {
    "row_ms": ("partial_fit of one row of adult, ms", Bound(1.0, None)),
    "question_ms": ("a question after it, ms", Bound(5.0, None)),
    "kept_bytes": (f"{KEPT:,} kept rows of adult, times their size in Arrow", Bound(2.0, None)),
    "stale": ("ways of learning that warn of stale weights, or fall back to the textbook model", Bound(0.0, 0.0)),
}


@dataclass
class Found:
    """The figures of one set, by measure; and what could not be measured, with the reason."""

    name: str
    rows: int = 0
    loss: float = float("nan")
    fit_seconds: float = float("nan")
    figures: dict[str, float] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    warned: dict[str, list[str]] = field(default_factory=dict)


class Learned(NamedTuple):
    """Rows and their classes."""

    X: pd.DataFrame
    y: Any

    def take(self, rows: Any) -> Learned:
        """Return some of the rows."""
        return Learned(self.X.iloc[rows].reset_index(drop=True), self.y[rows])

    def __len__(self) -> int:
        return len(self.y)


def main() -> int:
    """Print the table; the exit status says whether every bound was met."""
    options = asked()
    known = json.loads((options.data / "datasets.json").read_text(encoding="utf-8"))
    names = [name for name in wanted(known, options.quick) if not options.only or name in options.only.split(",")]
    if options.only and len(names) < len(options.only.split(",")):
        raise SystemExit(f"--only {options.only}: only these are measured: {', '.join(wanted(known, False))}")
    jobs = [(name, known[name], options.data, options.seed, options.quick) for name in names]
    found = []
    if options.jobs > 1:
        with ProcessPoolExecutor(options.jobs) as pool:
            found = [shown(one) for one in pool.map(measured, jobs)]
    else:
        found = [shown(measured(job)) for job in jobs]
    lines = [*table(found, options.smoke)]
    print("\n".join(["", *lines]))
    if options.markdown:
        options.markdown.write_text("\n".join(lines) + "\n", encoding="utf-8")
    if options.json:
        options.json.write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n", encoding="utf-8")
    return 1 if any("✗" in line for line in lines) or any(one.failed for one in found) else 0


def asked() -> argparse.Namespace:
    """Return what was asked for on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=SHARED, help="the folder with the sets and datasets.json")
    parser.add_argument("--only", help="these sets alone, by name, with commas")
    parser.add_argument("--quick", action="store_true", help="no large set, and a third of the stream")
    parser.add_argument("--seed", type=int, default=0, help="how rows are split")
    parser.add_argument("--jobs", type=int, default=1, help="sets measured at the same time; times need 1")
    parser.add_argument("--json", type=Path, help="write all figures there")
    parser.add_argument("--markdown", type=Path, help="write the table there")
    options = smoke.parsed(parser, data=smoke.data, only=smoke.TABLE, quick=True)
    if not (options.data / "datasets.json").exists():
        print(f"skipped: {options.data} does not hold the sets; give their folder with --data")
        raise SystemExit(0)
    return options


def wanted(known: dict[str, Any], quick: bool) -> list[str]:
    """Return the names of the sets that are measured."""
    tables = [name for name, spec in known.items() if spec["task"] == "tabular" and all_rows(spec) >= FEWEST_ROWS]
    return [name for name in (*tables, *TEXTS) if not (quick and name in LARGE)]


def all_rows(spec: dict[str, Any]) -> int:
    """Return how many rows a set has."""
    return int(spec["rows"]) + int(spec.get("test_rows") or 0)


def loaded(spec: dict[str, Any], folder: Path) -> Learned:
    """Return the rows of a set, those of its test file among them, and their classes."""
    kinds, target = spec.get("kinds", {}), spec["target"]
    types = {name: str for name, kind in kinds.items() if kind == "cat"} | {target: str}
    missing = [spec["missing"]] if spec.get("missing") else []
    files = [folder / spec[file] for file in ("file", "test_file") if spec.get(file)]
    how: dict[str, Any] = {"dtype": types, "na_values": ["", *missing], "keep_default_na": False}
    whole = pd.concat([pd.read_csv(file, skipinitialspace=bool(kinds), **how) for file in files], ignore_index=True)
    whole = whole.drop(columns=[name for name in (spec.get("split_column"),) if name])
    return Learned(whole.drop(columns=[target]), whole[target].to_numpy(dtype=str))


def split(y: Any, seed: int) -> tuple[Any, Any]:
    """Return 70 % of the rows of each class, one at least, and the others; both in random order."""
    random = np.random.default_rng(seed)
    ranks, order = np.empty(len(y)), random.permutation(len(y))
    for label in np.unique(y):
        own = order[y[order] == label]
        ranks[own] = np.arange(len(own)) / len(own)
    first = ranks[order] < 0.7
    return order[first], order[~first]


def measured(job: tuple[str, dict[str, Any], Path, int, bool]) -> Found:
    """Return the figures of one set."""
    name, spec, folder, seed, quick = job
    rows = loaded(spec, folder)
    train, test = (rows.take(at) for at in split(rows.y, seed))
    found = Found(name, len(train))
    Measures(found, train, test, seed, quick).run()
    return found


class Measures:
    """All measures of one set."""

    def __init__(self, found: Found, train: Learned, test: Learned, seed: int, quick: bool) -> None:
        self.found, self.train, self.test, self.quick = found, train, test, quick
        self.random = np.random.default_rng(seed + 1)
        started = time.process_time()
        self.one = fitted(train)
        found.fit_seconds = time.process_time() - started
        self.p = self.one.predict_proba(test.X)
        found.loss = self.loss(self.one, self.p)

    def run(self) -> None:
        """Measure everything; what cannot be measured is noted."""
        self.found.figures["stale"] = 0.0
        parts = [self.train.take(at) for at in np.array_split(self.random.permutation(len(self.train)), PARTS)]
        models = [fitted(part) for part in parts]
        self.measure("merged", lambda: self.merged(models))
        self.measure("merged_rows", lambda: self.from_files(models, rows=True))
        self.measure("merged_files", lambda: self.from_files(models))
        self.measure("batches", lambda: self.batches(ask=False))
        self.measure("asked", lambda: self.batches(ask=True))
        self.measure("small", self.small_batches)
        self.measure("forgotten", lambda: self.forgotten(self.random.permutation(len(self.train)), "same_forgotten"))
        self.measure("forgotten_lowest", lambda: self.forgotten(lowest_first(self.train.X)))
        if self.found.name in WHOLE:
            self.measure("sorted", self.sorted_parts)
        if self.found.name == "adult":
            self.measure("question_ms", self.stream)
            self.measure("kept_bytes", self.kept_rows)

    def measure(self, name: str, measure: Callable[[], float]) -> None:
        """Note one figure and the warnings that came; or why there is none."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                self.found.figures[name] = measure()
            except (AttributeError, TypeError, ValueError, nv.errors.NaivelyError) as error:
                self.found.failed[name] = f"{type(error).__name__}: {error}"
        said = sorted({warning.category.__name__ for warning in caught})
        if said:
            self.found.warned[name] = said
            self.found.figures["stale"] += bool({*said} & OUTDATED)

    def loss(self, model: Any, p: Any) -> float:
        """Return the log loss of probabilities of the rows that are asked about."""
        return float(nv.Scores(p, self.test.y, model.classes_).log_loss)

    def ratio(self, model: Any, one: Any = None, same: str = "") -> float:
        """Return the ratio to one fit; and note how far probabilities are from it, if the rows are all kept."""
        p = model.predict_proba(self.test.X)
        whole = self.p if one is None else one.predict_proba(self.test.X)
        if same and len(self.train) <= KEPT:
            self.found.figures[same] = float(np.abs(p - whole).max())
        loss = self.found.loss if one is None else self.loss(one, whole)
        return (self.loss(model, p) + 0.001) / (loss + 0.001)

    def merged(self, models: Sequence[Any]) -> float:
        """Merge models in memory, in two orders."""
        model, other = nv.merge(*models), nv.merge(*(models[at] for at in (2, 0, 3, 1)))
        p, q = (each.predict_proba(self.test.X) for each in (model, other))
        self.found.figures["order"] = float(np.abs(p - q).max())
        found = self.ratio(model, same="same_merged")
        if self.found.name in WHOLE:
            self.found.figures["whole"] = found
        return found

    def from_files(self, models: Sequence[Any], **how: bool) -> float:
        """Save models, load them and merge them."""
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder, f"part{at}.naively") for at in range(len(models))]
            for model, path in zip(models, paths, strict=True):
                model.save(path, **how)
            found = self.ratio(nv.merge(*(nv.load(path) for path in paths)))
        if not how and len(self.train) // PARTS >= ENOUGH:
            self.found.figures["merged_files_large"] = found
        return found

    def sorted_parts(self) -> float:
        """Merge models of parts that are sorted by a column."""
        parts = np.array_split(lowest_first(self.train.X), PARTS)
        return self.ratio(nv.merge(*(fitted(self.train.take(part)) for part in parts)))

    def batches(self, ask: bool) -> float:
        """Learn in batches of the same size."""
        model = empty_model(self.train.X)
        for part in np.array_split(np.arange(len(self.train)), BATCHES):
            model.partial_fit(*self.train.take(part))
            if ask:
                model.predict_proba(self.test.X[:ASKED_BETWEEN])
        return self.ratio(model, same="" if ask else "same_batches")

    def small_batches(self) -> float:
        """Learn a few rows, then the others in many small batches."""
        model = empty_model(self.train.X).partial_fit(*self.train.take(np.arange(FIRST_BATCH)))
        for part in np.array_split(np.arange(FIRST_BATCH, len(self.train)), SMALL_BATCHES):
            model.partial_fit(*self.train.take(part))
        return self.ratio(model)

    def forgotten(self, order: Any, same: str = "") -> float:
        """Learn all rows and forget the first third in this order; one fit is that of the others."""
        gone, left = np.split(order, [len(order) // 3])
        model = fitted(self.train).forget(*self.train.take(gone))
        return self.ratio(model, fitted(self.train.take(left)), same)

    def stream(self) -> float:
        """Learn rows one by one and ask after each; note the time of both, amortised over all."""
        begin = min(STREAM_FROM, len(self.train) // 2)
        size = min(STREAMED // (3 if self.quick else 1), (len(self.train) - begin) // 10)
        model, some = fitted(self.train.take(np.arange(begin))), self.train.take(np.arange(begin, begin + size))
        rows, adding, asking = [*as_dicts(some.X)], 0.0, 0.0
        for row, label in zip(rows, some.y.tolist(), strict=True):
            started = time.process_time()
            model.partial_fit(row, label)
            added = time.process_time()
            model.predict_proba(row)
            adding, asking = adding + added - started, asking + time.process_time() - added
        self.found.figures["row_ms"] = adding / size * 1e3
        return asking / size * 1e3

    def kept_rows(self) -> float:
        """Return how many times their size in Arrow the rows take that a model of as many keeps."""
        most = self.train.take(np.arange(min(KEPT, len(self.train))))
        table = pa.Table.from_pandas(most.X.assign(target=most.y), preserve_index=False)
        return float(fitted(most).kept_rows_.nbytes) / table.nbytes


def empty_model(X: pd.DataFrame) -> Any:
    """Return the default model, without a row; words of texts are counted."""
    return nv.NaiveBayes(families={"text": "words"} if [*X.columns] == ["text"] else None)


def fitted(rows: Learned) -> Any:
    """Return the default model of some rows."""
    return empty_model(rows.X).fit(*rows)


def lowest_first(X: pd.DataFrame) -> Any:
    """Return rows by their first column of numbers, or else by the first one; texts by their length."""
    numbers = X.select_dtypes("number")
    column = numbers.iloc[:, 0] if numbers.shape[1] else X.iloc[:, 0]
    if X.shape[1] == 1:
        column = column.str.len()
    return np.argsort(column.rank(method="first", na_option="top").to_numpy(), kind="stable")


def as_dicts(X: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Give each row as a dict of plain values."""
    yield from X.astype(object).where(X.notna(), None).to_dict("records")


# -- what is printed ---------------------------------------------------------------------------------------------------


def shown(found: Found) -> Found:
    """Print the figures of one set."""
    ratios = " ".join(f"{name} {found.figures[name]:.3f}" for name in RATIOS if name in found.figures)
    print(f"{found.name} ({found.rows:,} rows, log loss {found.loss:.4f}, fit {found.fit_seconds:.2f} s): {ratios}")
    for name, reason in found.failed.items():
        print(f"  {name} could not be measured: {reason}")
    for name, said in found.warned.items():
        print(f"  {name} gave {', '.join(said)}")
    sys.stdout.flush()
    return found


def table(found: Sequence[Found], tiny: bool) -> Iterator[str]:
    """Give the lines of a Markdown table: mean and worst of each figure, and its bounds, on tiny data of equalities."""
    yield "| | mean | worst | bounds | |"
    yield "|---|---:|---|---|---|"
    for measures, form in ((RATIOS, "{:.3f}"), (DIFFERENCES, "{:.1e}"), (COSTS, "{:.2f}")):
        for name, (title, bound) in measures.items():
            figures = {one.name: one.figures[name] for one in found if name in one.figures}
            if figures:
                bounded = measures is DIFFERENCES or not tiny
                yield line(title, bound if bounded else Bound(None, None), figures, form)


def line(title: str, bound: Bound, figures: dict[str, float], form: str) -> str:
    """Return one line; ✗ marks a bound that was missed."""
    mean, worst = float(np.mean(list(figures.values()))), max(figures, key=lambda name: figures[name])
    met = all(
        most is None or value <= most for most, value in zip(bound, (mean, figures[worst]), strict=True)
    )  # a figure that is no number misses its bound
    bounds = " / ".join("–" if most is None else f"{most:g}" for most in bound)
    shown_worst = f"{form.format(figures[worst])} {worst}"
    return f"| {title} | {form.format(mean)} | {shown_worst} | {bounds} | {'' if met else '✗'} |"


if __name__ == "__main__":
    raise SystemExit(main())
