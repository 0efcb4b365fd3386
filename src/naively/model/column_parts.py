"""Single columns of a model: the contribution of one column, with and without the row itself, and its estimates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt

from .._types import CellLike, Codes, Floats, Label, Matrices, Matrix
from ..data.column import Column
from ..data.dict_rows import Reader, label_reader
from ..data.encoding import Coder, unseen_error
from ..errors import InvalidSetting
from ..families import Bernoulli, Bins, Categorical, Family, Likelihood, Ordinal, Settings
from ..families.categorical import LogTable, LogTables
from ..families.family import log_proportion, scores_of
from ..families.numbers import NumberLikelihood
from ..stats import Axis, Counts, Moments, Table
from ..stats.arithmetic import NOTHING_KNOWN, Information, divide, information_of_bins, information_of_values
from ..stats.table import axis_and_order
from .scorer import NaiveModel

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


@dataclass(frozen=True)
class ColumnPart:
    """One column of a model by itself, such as one of texts or vectors."""

    column: Column
    key: str  # of the matrix that it is read in
    place: int | None  # among the columns of that matrix; None if the matrix is all its own
    likelihood: Likelihood

    def _cells(self, columns: Matrices) -> Matrix:
        x = columns[self.key]
        return x if self.place is None else np.ascontiguousarray(x[:, self.place : self.place + 1])

    def contributions(self, columns: Matrices, threads: int) -> Floats:
        """Return the contribution of the column to the score of each row, [row, class]."""
        return scores_of(self.likelihood, self._cells(columns), threads)

    def leave_one_out(self, columns: Matrices, y: Codes, weights: Floats) -> Floats:
        """Return the same, each row left out of the counts."""
        return self.likelihood.leave_one_out(self._cells(columns), y, weights)

    def describe(self) -> str:
        """Return a sentence on what was estimated."""
        return self.likelihood.describe(self.column.name)

    def table(self, labels: Sequence[str]) -> Mapping[str, object]:
        """Return the estimates as columns of a frame, given the names of the classes."""
        return self.likelihood.table(labels)

    def information(self, source: InformationSource) -> Information:
        """Return the mutual information of the column and the class: vectors and texts have no figure."""
        return NOTHING_KNOWN


@dataclass(frozen=True)
class LabelPart(ColumnPart):
    """A column of labels; or whether a number is missing, which is a label too."""

    likelihood: LogTables

    def information(self, source: InformationSource) -> Information:
        """Return the mutual information of the values and the class."""
        n = self.likelihood.tables[0].n
        return information_of_values(n, source.heaviest).of_known(float(n.sum()), float(source.counts.rows.sum()))


@dataclass(frozen=True)
class NumberPart(ColumnPart):
    """A column of numbers and, where missing values count, whether its numbers are missing."""

    likelihood: NumberLikelihood
    missing: LabelPart | None

    @property
    def summary(self) -> tuple[Floats, Floats, Floats]:
        """How many numbers each class has, their means and their sums of squared deviations, [class]."""
        n, mean, ssd, _ = self.likelihood.summary
        return n[0], mean[0], ssd[0]

    def contributions(self, columns: Matrices, threads: int) -> Floats:
        """Return the contribution of the column to the score of each row, [row, class]."""
        scores = super().contributions(columns, threads)
        return scores if self.missing is None else scores + self.missing.contributions(columns, threads)

    def leave_one_out(self, columns: Matrices, y: Codes, weights: Floats) -> Floats:
        """Return the same, each row left out of the counts."""
        scores = super().leave_one_out(columns, y, weights)
        return scores if self.missing is None else scores + self.missing.leave_one_out(columns, y, weights)

    def table(self, labels: Sequence[str]) -> Mapping[str, object]:
        """Return how many numbers each class has, their mean and their deviation, as columns of a frame."""
        n, mean, ssd = self.summary
        return {"class": list(labels), "numbers": n, "mean": mean, "deviation": np.sqrt(divide(ssd, n))}

    def information(self, source: InformationSource) -> Information:
        """Return the mutual information of the numbers and the class, by counted bins or as measured on some rows."""
        name, rows = self.column.name, float(source.counts.rows.sum())
        known = float(source.counts.columns[name].n.sum())
        result = source.measured.get(name, NOTHING_KNOWN)
        if name in source.bins:
            result = information_of_bins(source.bins[name], source.heaviest)
        result = result.of_known(known, rows)
        if self.missing is None:
            return result
        return information_of_values(self.missing.likelihood.tables[0].n, source.heaviest) + result


# -- from counts to naive Bayes under some settings --------------------------------------------------------------------


def estimate(
    counts: Counts,
    families: Mapping[str, Family],
    settings: Settings,
    log_prior: Floats,
    fallback: Floats | None = None,
) -> NaiveModel:
    """Return the model of these counts: each column by its family, under the same settings."""
    likelihoods = {
        name: likelihood(families[name], statistic, counts, settings) for name, statistic in counts.columns.items()
    }
    return NaiveModel(counts.classes, log_prior, likelihoods, fallback)


def likelihood(family: Family, statistic: object, counts: Counts, settings: Settings) -> Likelihood:
    """Return the likelihood of one column; a matrix of codes has a table for each of its columns."""
    return family.estimate(statistic, counts.rows, counts.classes, settings)


def label_likelihood(family: Family, table: Table, counts: Counts, settings: Settings) -> LogTable:
    """Return the likelihood of a column of labels."""
    # Every family of labels (categorical, ordinal, bins) estimates a table of logarithms.
    return cast(LogTables, family.estimate(table, counts.rows, counts.classes, settings)).tables[0]


def number_likelihoods(family: Family, moments: Moments, counts: Counts, settings: Settings) -> NumberLikelihood:
    """Return the likelihood of columns of numbers that are read as one matrix."""
    # Every family of numbers (gaussian, poisson) estimates from moments, column by column.
    return cast(NumberLikelihood, family.estimate(moments, counts.rows, counts.classes, settings))


def empirical_prior(rows: Floats, settings: Settings) -> Floats:
    """Return log P(class): (n + λ) / (N + K·λ) under ``bayes``, so that a declared class without rows has a chance.

    >>> import numpy as np
    >>> np.exp(empirical_prior(np.array([17.0, 0.0]), Settings(smoothing=1.0)))
    array([0.94736842, 0.05263158])
    >>> np.exp(empirical_prior(np.array([17.0, 0.0]), Settings(estimate="mle")))
    array([1., 0.])
    """
    pseudo_counts = float(settings.alone().pseudo_counts)
    return log_proportion(rows + pseudo_counts, rows.sum() + len(rows) * pseudo_counts, len(rows))


def uniform_prior(classes: int) -> Floats:
    """Return log P(class), the same for all."""
    return np.full(classes, -np.log(classes))


def given_prior(prior: npt.ArrayLike, classes: int) -> Floats:
    """Return the logarithms of these probabilities, if they are probabilities of so many classes."""
    given = np.asarray(prior, dtype=np.float64)
    if given.shape != (classes,):
        raise InvalidSetting(
            f"Number of priors must match number of classes. Found {given.size} for {classes} classes.", setting="prior"
        )
    if not np.all(given >= 0):  # nor NaN
        raise InvalidSetting(f"Priors must be non-negative. Found {given.min():g}.", setting="prior")
    if not np.isclose(given.sum(), 1.0):
        raise InvalidSetting(
            f"The sum of the priors should be 1. Found {given.sum():.10g}; divide them by it.", setting="prior"
        )
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(given / given.sum()))  # so that they sum to 1 to the last digit


# -- columns of labels as a model reads them ---------------------------------------------------------------------------


class RareValues:
    """The label that stands for all rare values of a column."""

    def __repr__(self) -> str:
        return "(rare)"


RARE = RareValues()


class LabelColumn:
    """A column of labels as it is scored: which code each label has."""

    def __init__(self, column: Column, table: Table, counts: Counts, settings: Settings, most: int | None) -> None:
        self.column, self.settings = column, settings
        merged, rare = merge_rare(table, None if isinstance(column.family, (Bins, Ordinal)) else most)
        flags = isinstance(column.family, Bernoulli)
        family = Categorical(column.family.smoothing) if flags else column.family
        self.table = label_likelihood(family, merged, counts, settings)
        self.places = {label: index for index, label in enumerate(self.table.values.labels)}
        self.places |= dict.fromkeys(rare, self.places.get(RARE, 0))
        self.unseen = len(self.table.values)
        if settings.missing == "skip" or None not in self.places:
            self.places[None] = -1 if settings.missing == "skip" else self.unseen
        self.read, refuse = label_reader(column), settings.unseen == "error"
        self.coder = Coder(column, self.places, self.places[None], self.unseen, refuse=refuse)

    def code_reader(self) -> Reader:
        """Return what makes the code of a value as people write it."""
        places, read, code, none = self.places, self.read, self.code, frozenset(self.coder.none)
        plain = self.column.type == "text" and not isinstance(self.column.family, (Bernoulli, Bins))

        def code_of(value: CellLike) -> int:
            # A text that is a label needs nothing else: most cells of most rows are such.
            known = places.get(value) if plain and type(value) is str and value not in none else None
            return code(read(value)) if known is None else known

        return code_of

    def code(self, label: Label) -> int:
        """Return the code of a label; of one that was never seen, the last, if that is no error."""
        code = self.places.get(label, self.unseen)
        if code == self.unseen and self.settings.unseen == "error" and label is not None:
            raise unseen_error(self.column.name, label)
        return code


def merge_rare(table: Table, most: int | None) -> tuple[Table, list[Label]]:
    """Return the table with its rarest values as one, if it has more than so many; and which those are."""
    if most is None or len(table.values) <= most:
        return table, []
    known = [at for at, label in enumerate(table.values.labels) if label is not None]
    if len(known) <= most:
        return table, []
    mantissa, power = np.frexp(table.n.sum(axis=0))
    often = np.ldexp(np.round(np.ldexp(mantissa, 40)), power)  # shares of rows add up to whole ones but for rounding
    kept = {*sorted(known, key=lambda at: (-often[at], at))[: most - 1]}
    rare = [at for at in known if at not in kept]
    stay = [at for at, label in enumerate(table.values.labels) if label is None or at in kept]
    labels = [*(table.values.labels[at] for at in stay), RARE]
    _, order = axis_and_order(labels)
    n = np.column_stack([table.n[:, stay], table.n[:, rare].sum(axis=1)])[:, order]
    return Table(table.classes, Axis.declared(labels), n), [table.values.labels[at] for at in rare]
