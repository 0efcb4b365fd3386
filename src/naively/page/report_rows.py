"""Which rows a report holds: all of them if they are few, else the most surprising ones and some of the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .._types import Floats, Json, JsonObject, Longs

# Rows that a report holds unless a number is given.
DEFAULT_ROWS = 200


@dataclass(frozen=True)
class ReportRows:
    """The rows that a report holds.

    Parameters
    ----------
    cells : mapping of str to sequence
        The cells of each column, as JSON; None where a cell is missing.
    truth : sequence of int
        The place of each row's true class among the classes, -1 where it is not known.
    numbers : sequence of int
        The number of each row in its table; the first row is 1.
    total : int
        The number of rows of the table.
    source : str
        The name of the table, such as a file name.
    fitted_on : bool, optional
        Whether the model was fitted on these rows; None if that is not known.
    posterior : sequence of sequence of float, optional
        The probability of each class, row by row, as the quality was measured: by a model without the row, if it was
        fitted on these rows.
    """

    cells: Mapping[str, Sequence[Json]]
    truth: Sequence[int]
    numbers: Sequence[int]
    total: int
    source: str = ""
    fitted_on: bool | None = None
    posterior: Sequence[Sequence[float]] | None = None

    def __len__(self) -> int:
        return len(self.truth)

    def row(self, at: int) -> JsonObject:
        """Return the cells of one row by column."""
        return {name: column[at] for name, column in self.cells.items()}

    def to_json(self) -> JsonObject:
        """Return the rows as the scripts of the page read them."""
        return {
            "columns": list(self.cells),
            "cells": [list(column) for column in self.cells.values()],
            "truth": list(self.truth),
            "numbers": list(self.numbers),
            "total": self.total,
            "source": self.source,
            "fitted_on": self.fitted_on,
            "posterior": None if self.posterior is None else [[round(p, 6) for p in row] for row in self.posterior],
        }


def places_of_report_rows(probabilities: Floats, truth: Longs, most: int = DEFAULT_ROWS) -> Longs:
    """Return the places of the rows that a report holds, in the order of the table.

    Of more rows than `most`, half are those whose true class was given the lowest probability, and the rest are
    spread evenly over the other rows.

    Parameters
    ----------
    probabilities : ndarray of shape (n_samples, n_classes)
        The predicted probabilities.
    truth : ndarray of shape (n_samples,)
        The place of each row's true class, -1 where it is not known.
    most : int
        The number of rows to hold at most.

    Returns
    -------
    places : ndarray of int
        The places of the rows.
    """
    n = len(truth)
    if n <= most:
        return np.arange(n)
    known = np.flatnonzero(truth >= 0)
    surprise = known[np.argsort(probabilities[known, truth[known]], kind="stable")][: most // 2]
    others = np.setdiff1d(np.arange(n), surprise)
    spread = np.linspace(0, len(others) - 1, most - len(surprise)).round().astype(np.int64)
    return np.asarray(np.union1d(surprise, others[spread]), dtype=np.int64)
