"""Every family with rows to count and to score, and the settings it is tried with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from naively import Bernoulli, Bins, Categorical, Gaussian, Ordinal, Poisson, Settings, Words
from naively.counting import arrays as memory
from naively.stats import Axis, MomentsAccumulator, Table, TableAccumulator

CLASSES = Axis.declared(["a", "b", "c", "d"])  # no row is of class d


@dataclass(frozen=True)
class Rows:
    """Rows of one column, their class and what they weigh; cells are labels or lines of a matrix."""

    cells: Any
    y: np.ndarray
    weights: np.ndarray

    def __getitem__(self, which: Any) -> Rows:
        cells = self.cells[which] if not isinstance(self.cells, list) else [self.cells[i] for i in which]
        return Rows(cells, self.y[which], self.weights[which])


@dataclass(frozen=True)
class Case:
    """A family under settings, with the kind of rows it reads."""

    family: Any
    settings: Settings
    declared: bool = True
    as_sparse: bool = False

    def __str__(self) -> str:
        parts = [self.settings.estimate, f"λ={self.settings.smoothing}"]
        parts += [text for text in (self.settings.missing, self.settings.unseen) if text != "skip"]
        changed = {name: value for name, value in vars(self.family).items() if value != vars(type(self.family)())[name]}
        parts += [f"{name}={value}" for name, value in changed.items()]
        parts += ["declared" if self.declared else "met"] + ["sparse"] * self.as_sparse
        return f"{self.family.name} {' '.join(parts)}"

    # -- rows ------------------------------------------------------------------------------------------------------

    def rows(self, weighted: bool = False) -> Rows:
        """Return rows with singletons, missing values, a class of one row and a class of two."""
        rng = np.random.default_rng(4)
        y = np.array([0, 0, 0, 0, 0, 0, 1, 1, 2, 0, 1], dtype=np.int32)[:11]
        y[9:] = 0
        weights = rng.choice([0.25, 0.7, 1.0, 2.0, 3.1], size=len(y)) if weighted else np.ones(len(y))
        return Rows(getattr(self, f"_{self.family.name}")(rng), y, weights)

    def _categorical(self, rng: Any) -> list[Any]:
        return ["red", "red", "blue", None, "red", "once", "blue", "only b", "red", None, "blue"]

    def _ordinal(self, rng: Any) -> list[Any]:
        return self._categorical(rng) if self.family.levels else [3, 3, 1, None, 3, 2, 1, 5, 3, None, 1]

    def _bernoulli(self, rng: Any) -> Any:
        x = (rng.random((11, 5)) < 0.4).astype(float)
        x[:, 3], x[:, 4] = np.eye(11)[5], np.eye(11)[8]  # flags of one row each
        return x * rng.choice([0.25, 0.5, 1.0], size=x.shape) if self.family.threshold is None else x

    def _words(self, rng: Any) -> Any:
        x = rng.poisson(0.8, (11, 6)).astype(float)
        x[:, 4], x[:, 5] = 2 * np.eye(11)[5], np.eye(11)[8]  # words of one row each
        x[2] = 0.0  # a row without any word
        return x

    def _gaussian(self, rng: Any) -> Any:
        x = np.round(rng.normal(3, 2, (11, 5)), 2)
        x[:, 2] = 7.1  # constant, as is the next but for one row
        x[:, 3] = np.where(np.arange(11) == 4, 0.3, 0.1)
        x[1, 0] = x[6, 1] = x[8, 4] = np.nan
        x[:, 1] += 1e6
        return x

    def _bins(self, rng: Any) -> Any:
        return np.array([1.0, 2.0, 7.5, np.nan, -4.0, 50.0, 2.5, 2.75, 1.5, np.nan, 3.5])  # one bin has a single row

    def _poisson(self, rng: Any) -> Any:
        x = rng.poisson(3, (11, 4)).astype(float)
        x[:, 2] = 0.0
        x[:, 3] = np.eye(11)[3] * 4  # events in one row alone
        x[1, 0] = x[6, 1] = np.nan
        return x

    # -- counting and scoring ----------------------------------------------------------------------------------------

    def count(self, rows: Rows, classes: Axis = CLASSES) -> Any:
        """Return the statistic of these rows."""
        if self.family.name in ("categorical", "ordinal"):
            return table_of(rows, classes, self.declared)
        if self.family.name == "bins":
            return table_of_bins(self.family, rows, classes)
        accumulator = self._accumulator(classes, rows.cells.shape[1])
        memory.add_column(accumulator, self.matrix(rows.cells), rows.y, rows.weights, 1)
        return accumulator.value()

    def _accumulator(self, classes: Axis, width: int) -> Any:
        if self.family.name in ("gaussian", "poisson"):
            return MomentsAccumulator(classes, Axis.numbered(width))
        values = Axis.numbered(width) if self.declared else Axis(range(width))
        return TableAccumulator(classes, values, getattr(self.family, "threshold", None))

    def matrix(self, cells: Any) -> Any:
        """Return the cells as the kernels read them."""
        return sparse.csr_array(cells) if self.as_sparse else np.ascontiguousarray(cells)

    def estimate(self, statistic: Any, rows: Rows, classes: Axis = CLASSES) -> Any:
        """Return the likelihood; an array of λ loses the values that nothing is left of."""
        family, given = self.family, self.settings.smoothing
        settings = self.settings
        if np.ndim(given):
            settings = replace(settings, smoothing=np.asarray(given)[list(statistic.values.labels)])
        n = np.bincount(rows.y, rows.weights, minlength=len(classes))
        return family.estimate(statistic, n, classes, settings)

    def read(self, likelihood: Any, rows: Rows) -> Any:
        """Return the rows as the likelihood reads them: codes, or only the columns it knows."""
        if self.family.name in ("categorical", "ordinal"):
            return codes_of(likelihood, rows.cells)
        if self.family.name == "bins":
            bins = self.family.codes(rows.cells).tolist()
            return codes_of(likelihood, [None if place < 0 else place for place in bins])
        if self.family.name in ("gaussian", "poisson"):
            return rows.cells
        return self.matrix(rows.cells[:, list(likelihood.features.labels)])

    def learn(self, rows: Rows) -> Any:
        """Return the likelihood of these rows."""
        return self.estimate(self.count(rows), rows)


def codes_of(likelihood: Any, labels: list[Any]) -> np.ndarray:
    """Return labels as a column of codes: -1 if missing and skipped, the number of values if never seen."""
    (table,) = likelihood.tables
    skipped = {None: -1} if table.settings.missing == "skip" else {}
    known = {label: place for place, label in enumerate(table.values.labels)} | skipped
    return np.array([[known.get(label, len(table.values))] for label in labels])


def table_of(rows: Rows, classes: Axis, declared: bool) -> Table:
    """Count labels by hand; those declared stay when nothing is left of them."""
    known = [1, 2, 3, 5, 9] if any(isinstance(cell, int) for cell in rows.cells) else LEVELS
    values = Axis(rows.cells, known if declared else ())
    n = np.zeros((len(classes), len(values)))
    np.add.at(n, (rows.y, values.places(rows.cells)), rows.weights)
    return Table(classes, values, n)


def table_of_bins(family: Bins, rows: Rows, classes: Axis) -> Table:
    """Count bins by hand: all of them are declared."""
    bins = [None if np.isnan(x) else sum(x > cut for cut in family.cuts) for x in rows.cells]
    values = Axis(bins, family.values)
    n = np.zeros((len(classes), len(values)))
    np.add.at(n, (rows.y, values.places(bins)), rows.weights)
    return Table(classes, values, n)


def cases() -> list[Case]:
    """Return every family × every estimate × the settings that concern it."""
    found = []
    levels = [("mle", 1.0), ("map", 1.0), ("map", 2.5), ("bayes", 0.0), ("bayes", 0.3), ("bayes", 1.0), ("bayes", 4.0)]
    for how, smoothing in levels:
        plain = Settings(how, smoothing)
        for declared in (True, False):
            for missing in ("skip", "value"):
                found += [Case(BINS, Settings(how, smoothing, missing, unseen="error"))] if declared else []
                for unseen in ("skip", "smooth"):
                    settings = Settings(how, smoothing, missing, unseen)
                    spreads = ["even"] if how == "map" else ["even", "overall"]
                    found += [Case(Categorical(spread=spread), settings, declared) for spread in spreads]
                    found += [Case(family, settings, declared) for family in ORDINALS]
            found += [Case(Bernoulli(threshold=threshold), plain, declared) for threshold in (0.0, None)]
            found += [Case(family, plain, declared) for family in WORDS]
        found += [Case(Bernoulli(), plain, as_sparse=True), Case(Words(), plain, as_sparse=True)]
        found += [Case(Words(complement=True, norm=True), plain, False, as_sparse=True)]
        found += [Case(Gaussian(epsilon=epsilon), plain) for epsilon in (0.0, 0.5)]
        found += [Case(Poisson(), plain)]
    for declared in (True, False):
        found += [Case(family, Settings("bayes", [0.5, 1, 2, 0.1, 0, 3]), declared) for family in WORDS]
        found += [Case(Bernoulli(), Settings("bayes", [0.5, 0, 2, 0.1, 3]), declared)]
    return found


LEVELS = ("blue", "once", "red", "only b", "never")
ORDINALS = (Ordinal(), Ordinal(levels=LEVELS, tie=3.0))
BINS = Bins(cuts=(0.0, 2.0, 3.0, 9.0, 11.0))
WORDS = (Words(), Words(complement=True), Words(complement=True, norm=True))
CASES = cases()
