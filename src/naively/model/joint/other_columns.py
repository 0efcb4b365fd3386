"""The columns that get no weight of their own: the textbook's evidence of all of them, with one weight.

Where hundreds of columns each tell next to nothing, none of them shows a gain on its own, and yet all of them together
may predict the class well. Where they hold nothing but noise, their weight is 0 and they are not used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..._types import Codes, Floats, Places
from ...counting.column_moments import joined_moments
from ...families import Settings
from ...families.categorical import LogTables
from ...families.family import scores_of
from ...stats import Axis, Counts
from ..estimate import likelihood
from ..table_model import INSIDE, LABELS, LabelColumn, TableModel, gap_table
from .terms import Piece

REST = Piece("rest", None)
# Evidence that no chance makes so well once in fifty, in nats (half of a χ² of one degree of freedom, of one sign).
CLEAR = 2.0


class Part(NamedTuple):
    """Some columns that are read as one matrix: what they say, where they stand in it, and their names."""

    likelihood: Any
    places: Places
    names: tuple[str, ...]

    def each(self) -> Iterator[Any]:
        """Give what each column says alone."""
        if isinstance(self.likelihood, LogTables):
            yield from (LogTables(self.likelihood.classes, (table,)) for table in self.likelihood.tables)
        else:
            yield from (self.likelihood.column(at) for at in range(len(self.places)))


@dataclass(frozen=True)
class Rest:
    """What the textbook model says of columns that are not on the grid, by the matrix that they are read from."""

    classes: Axis
    parts: Mapping[str, Part]

    def cells(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        """Return the matrices of these columns alone, given those of all."""
        return {
            f"{INSIDE}rest {key}": np.asfortranarray(columns[key][:, part.places]) for key, part in self.parts.items()
        }

    def left(self, columns: Mapping[str, Any], y: Codes, weights: Floats) -> Floats:
        """Return what these columns say of rows, so much of each left out of the counts, [class, row]."""
        found = (
            part.likelihood.leave_one_out(columns[f"{INSIDE}rest {key}"], y, weights)
            for key, part in self.parts.items()
        )
        return np.asarray(sum(found, np.zeros((len(y), len(self.classes)))).T)

    def said(self, columns: Mapping[str, Any], threads: int) -> Iterator[tuple[str, Floats]]:
        """Give what each of these columns says of rows, [row, class], with its name; numbers may speak twice."""
        for key, part in self.parts.items():
            for at, (name, alone) in enumerate(zip(part.names, part.each(), strict=True)):
                yield (
                    name,
                    scores_of(alone, np.ascontiguousarray(columns[f"{INSIDE}rest {key}"][:, at : at + 1]), threads),
                )


def rest_of(book: TableModel, counts: Counts, used: set[str], missing: Any, most: int | None) -> Rest:
    """Return what the textbook says of the columns that are not used, under its usual settings.

    Where missing values count, a number that is not used says that it is missing, too: among the labels, by its name.
    """
    settings, parts = Settings(missing=missing), {}
    for key, (family, columns) in book.numbers.items():
        at = np.array([at for at, column in enumerate(columns) if column.name not in used], dtype=np.intp)
        if len(at):
            names = tuple(columns[place].name for place in at)
            moments = joined_moments([counts.columns[name] for name in names], counts.classes)
            parts[key] = Part(likelihood(family, moments, counts, settings), at, names)
    labels = [(at, one.column) for at, one in enumerate(book.labels) if one.column.name not in used]
    tables = [LabelColumn(column, counts.columns[column.name], counts, settings, most).table for _, column in labels]
    numbers = book.schema.of_kind("numbers")
    gaps = [(at, numbers[number]) for at, (number, _) in enumerate(book.gaps, len(book.labels))]
    gaps = [(at, column) for at, column in gaps if column.name not in used]
    tables += [gap_table(counts, column, settings) for _, column in gaps]
    if tables:
        places, names = zip(*((at, column.name) for at, column in (*labels, *gaps)), strict=True)
        parts[LABELS] = Part(LogTables(counts.classes, tuple(tables)), np.array(places, dtype=np.intp), names)
    return Rest(counts.classes, parts)
