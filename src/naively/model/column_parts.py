"""Single columns of a model: the contribution of one column, with and without the row itself, and its estimates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .._types import Codes, Floats, Matrices, Matrix
from ..data.column import Column
from ..families import Likelihood
from ..families.categorical import LogTable, LogTables
from ..families.family import scores_of
from ..families.numbers import NumberLikelihood
from ..stats import Counts
from ..stats.mutual_information import NOTHING_KNOWN, Information, information_of_bins, information_of_values

# Matrices of several columns have names that begin with a mark that no column's name does: one of texts may be named
# "labels", and its words lie beside them.
INSIDE = "\0"
LABELS = INSIDE + "labels"


@dataclass(frozen=True)
class InformationSource:
    """What the mutual information of columns and the class is computed from."""

    counts: Counts
    bins: Mapping[str, Floats]  # counts of the bins of numbers, [class, bin], where they were counted
    measured: Mapping[str, Information]  # of other numbers, as measured on some rows
    heaviest: Floats | float  # the weight of the heaviest row of each class


class ColumnPart(Protocol):
    """One column of a model."""

    @property
    def column(self) -> Column:
        """The column."""

    def contributions(self, columns: Matrices, threads: int) -> Floats:
        """Return the contribution of the column to the score of each row, [row, class]."""

    def leave_one_out(self, columns: Matrices, y: Codes, weights: Floats) -> Floats:
        """Return the same, each row left out of the counts."""

    def describe(self) -> str:
        """Return a sentence on what was estimated."""

    def table(self, labels: Sequence[str]) -> Mapping[str, object]:
        """Return the estimates as columns of a frame, given the names of the classes."""

    def information(self, source: InformationSource) -> Information:
        """Return the mutual information of the column and the class."""


@dataclass(frozen=True)
class LabelPart:
    """A column of labels; or whether a number is missing, which is a label too."""

    column: Column
    place: int  # among the columns of the matrix of codes
    likelihood: LogTable

    def _codes(self, columns: Matrices) -> Matrix:
        return np.ascontiguousarray(columns[LABELS][:, self.place : self.place + 1])

    def _alone(self) -> LogTables:
        return LogTables(self.likelihood.classes, (self.likelihood,))

    def contributions(self, columns: Matrices, threads: int) -> Floats:
        """Return the contribution of the column to the score of each row, [row, class]."""
        return scores_of(self._alone(), self._codes(columns), threads)

    def leave_one_out(self, columns: Matrices, y: Codes, weights: Floats) -> Floats:
        """Return the same, each row left out of the counts."""
        return self._alone().leave_one_out(self._codes(columns), y, weights)

    def describe(self) -> str:
        """Return a sentence on which value is the most frequent in each class."""
        return self.likelihood.describe(self.column.name)

    def table(self, labels: Sequence[str]) -> Mapping[str, object]:
        """Return P(value | class) as columns of a frame."""
        return self.likelihood.table(labels)

    def information(self, source: InformationSource) -> Information:
        """Return the mutual information of the values and the class."""
        n = self.likelihood.n
        return information_of_values(n, source.heaviest).of_known(float(n.sum()), float(source.counts.rows.sum()))


@dataclass(frozen=True)
class NumberPart:
    """A column of numbers and, where missing values count, whether its numbers are missing."""

    column: Column
    key: str  # of the matrix of all columns of the same family
    place: int  # among its columns
    likelihoods: NumberLikelihood
    missing: LabelPart | None

    @property
    def summary(self) -> tuple[Floats, Floats, Floats]:
        """How many numbers each class has, their means and their sums of squared deviations, [class]."""
        n, mean, ssd, _ = self.likelihoods.summary
        return n[self.place], mean[self.place], ssd[self.place]

    def _numbers(self, columns: Matrices) -> Matrix:
        return np.ascontiguousarray(columns[self.key][:, self.place : self.place + 1])

    def contributions(self, columns: Matrices, threads: int) -> Floats:
        """Return the contribution of the column to the score of each row, [row, class]."""
        scores = scores_of(self.likelihoods.column(self.place), self._numbers(columns), threads)
        return scores if self.missing is None else scores + self.missing.contributions(columns, threads)

    def leave_one_out(self, columns: Matrices, y: Codes, weights: Floats) -> Floats:
        """Return the same, each row left out of the counts."""
        scores = self.likelihoods.column(self.place).leave_one_out(self._numbers(columns), y, weights)
        return scores if self.missing is None else scores + self.missing.leave_one_out(columns, y, weights)

    def describe(self) -> str:
        """Return a sentence on where the numbers of each class lie."""
        return self.likelihoods.column(self.place).describe(self.column.name)

    def table(self, labels: Sequence[str]) -> Mapping[str, object]:
        """Return how many numbers each class has, their mean and their deviation, as columns of a frame."""
        n, mean, ssd = self.summary
        spread = np.sqrt(np.divide(ssd, n, out=np.zeros_like(ssd), where=n > 0))
        return {"class": list(labels), "numbers": n, "mean": mean, "deviation": spread}

    def information(self, source: InformationSource) -> Information:
        """Return the mutual information of the numbers and the class, by counted bins or as measured on some rows."""
        name, rows = self.column.name, float(source.counts.rows.sum())
        known = float(source.counts.columns[name].n.sum())
        found = source.measured.get(name, NOTHING_KNOWN)
        if name in source.bins:
            found = information_of_bins(source.bins[name], source.heaviest)
        found = found.of_known(known, rows)
        return (
            found if self.missing is None else information_of_values(self.missing.likelihood.n, source.heaviest) + found
        )


@dataclass(frozen=True)
class VectorPart:
    """A column of vectors or texts."""

    column: Column
    likelihood: Likelihood

    def contributions(self, columns: Matrices, threads: int) -> Floats:
        """Return the contribution of the column to the score of each row, [row, class]."""
        return scores_of(self.likelihood, columns[self.column.name], threads)

    def leave_one_out(self, columns: Matrices, y: Codes, weights: Floats) -> Floats:
        """Return the same, each row left out of the counts."""
        return self.likelihood.leave_one_out(columns[self.column.name], y, weights)

    def describe(self) -> str:
        """Return a sentence on what was estimated."""
        return self.likelihood.describe(self.column.name)

    def table(self, labels: Sequence[str]) -> Mapping[str, object]:
        """Return the estimates as columns of a frame."""
        return self.likelihood.table(labels)

    def information(self, source: InformationSource) -> Information:
        """Return that nothing is known: vectors and texts have no figure."""
        return NOTHING_KNOWN
