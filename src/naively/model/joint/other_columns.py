"""The columns that get no weight of their own: their log-likelihoods in textbook naive Bayes, with one weight for all.

Where hundreds of columns each predict next to nothing, none of them shows a gain on its own, and yet all of them
together may predict the class well. Where they hold nothing but noise, their weight is 0 and they are not used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..._types import Floats, Matrices, Places
from ...counting.column_moments import joined_moments
from ...families import Settings
from ...families.categorical import LogTables
from ...families.family import ColumnLikelihoods, Missing, ScoreTerm, scores_of
from ...stats import Axis, Counts
from ..column_parts import INSIDE, LABELS
from ..estimate import number_likelihoods
from ..table_model import LabelColumn, TableModel, missing_table
from .left_out import HeldOutRows, likelihood_left_out
from .terms import Term, TermKind
from .weighted_terms import WeightedTerm

if TYPE_CHECKING:
    from .model import JointModel

REST = Term("rest", None)


@dataclass(frozen=True)
class OtherGroup:
    """Some columns that are read as one matrix: their likelihood, their places in it, and their names."""

    likelihood: ColumnLikelihoods
    places: Places
    names: tuple[str, ...]


@dataclass(frozen=True)
class OtherColumns:
    """Textbook naive Bayes for the columns that are not on the grid, by the matrix that they are read from."""

    classes: Axis
    groups: Mapping[str, OtherGroup]

    def cells(self, columns: Matrices) -> Matrices:
        """Return the matrices of these columns alone, given those of all."""
        return {
            matrix_name(key): np.asfortranarray(columns[key][:, group.places]) for key, group in self.groups.items()
        }

    def leave_one_out(self, columns: Matrices, out: HeldOutRows) -> Floats:
        """Return the log-likelihood of rows, so much of each left out of the counts, [class, row]."""
        found = (
            likelihood_left_out(group.likelihood, columns[matrix_name(key)], out) for key, group in self.groups.items()
        )
        return np.asarray(sum(found, np.zeros((len(out.y), len(self.classes)))).T)

    def contributions(self, columns: Matrices, threads: int) -> Iterator[tuple[str, Floats]]:
        """Give the log-likelihood of each of these columns, [row, class], by name; numbers may come twice."""
        for key, group in self.groups.items():
            for at, name in enumerate(group.names):
                cells = np.ascontiguousarray(columns[matrix_name(key)][:, at : at + 1])
                yield name, scores_of(group.likelihood.column(at), cells, threads)


def matrix_name(key: str) -> str:
    """Return the name of the matrix of the other columns among those of a matrix."""
    return f"{INSIDE}rest {key}"


class RestTerm(TermKind):
    """The log-likelihoods of all other columns."""

    name = "other columns"
    beside = "all other columns"

    def holds(self, term: Term) -> bool:
        """Tell whether a term is that of all other columns."""
        return term.kind == REST.kind

    def title(self, term: Term) -> str:
        """Return what a term is, in words."""
        return "all other columns"

    def cell_terms(self, model: JointModel, columns: Matrices, out: HeldOutRows) -> Iterator[tuple[Term, Floats]]:
        """Give the term of all other columns, if there are some."""
        if model.others is not None:
            yield REST, model.others.leave_one_out(columns, out)

    def score_terms(self, model: JointModel, weights: Mapping[Term, float]) -> dict[str, ScoreTerm]:
        """Return the weighted log-likelihood of each matrix."""
        if model.others is None:
            return {}
        groups = model.others.groups.items()
        return {matrix_name(key): WeightedTerm(group.likelihood, weights[REST]) for key, group in groups}

    def contributions(self, model: JointModel, columns: Matrices, threads: int) -> Iterator[tuple[str, Floats]]:
        """Give the weighted log-likelihood of each column."""
        if model.others is not None:
            weight = model.weights[REST]
            for name, scores in model.others.contributions(columns, threads):
                yield name, weight * scores


def other_columns(book: TableModel, counts: Counts, used: set[str], missing: Missing, most: int | None) -> OtherColumns:
    """Return textbook naive Bayes for the columns that are not used, under its default settings.

    Where missing values count, so does whether a number is missing: among the labels, under its name.
    """
    settings = Settings(missing=missing)
    groups: dict[str, OtherGroup] = {}
    for key, (family, columns) in book.numbers.items():
        at = np.array([at for at, column in enumerate(columns) if column.name not in used], dtype=np.intp)
        if len(at):
            names = tuple(columns[place].name for place in at)
            moments = joined_moments([counts.columns[name] for name in names], counts.classes)
            groups[key] = OtherGroup(number_likelihoods(family, moments, counts, settings), at, names)
    labels = [(at, one.column) for at, one in enumerate(book.labels) if one.column.name not in used]
    tables = [LabelColumn(column, counts.columns[column.name], counts, settings, most).table for _, column in labels]
    numbers = book.schema.of_kind("numbers")
    flags = [(at, numbers[number]) for at, (number, _) in enumerate(book.missing_flags, len(book.labels))]
    flags = [(at, column) for at, column in flags if column.name not in used]
    tables += [missing_table(counts, column, settings) for _, column in flags]
    if tables:
        places, names = zip(*((at, column.name) for at, column in (*labels, *flags)), strict=True)
        likelihood = LogTables(counts.classes, tuple(tables))
        groups[LABELS] = OtherGroup(likelihood, np.array(places, dtype=np.intp), names)
    return OtherColumns(counts.classes, groups)
