"""A model of columns taken together, over the same rows and the same reading as the text book's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..._kernels import Scorer
from ..._types import Codes, Floats
from ...counting.weights import left_out_weights
from ...data.frame import Frame
from ...data.grid import Cells
from ...data.schema import Schema
from ...families import Settings
from ...families.family import scores_of
from ...stats import Axis, Counts
from ..scorer import Model
from ..table_model import INSIDE, LABELS, TableModel
from .learned import Learned, left_scores
from .lookup import Tables, tables_of
from .other_columns import REST, Rest, rest_of
from .terms import Counted, Piece, Sample
from .words import USUAL, Wording, wordings

CODES, LEVEL, PAIRS, CELLS = (INSIDE + name for name in ("codes", "level", "pairs", "cells"))
# Rows that are left out at once: so many, or fewer if their evidence takes more numbers than that, but some.
LEFT, LEFT_CELLS, LEAST_LEFT = 1 << 13, 1 << 25, 64


@dataclass(frozen=True)
class Scores(Model):
    """Scores of columns taken together; how usual a row is, is asked of the text-book model."""

    book: Model | None = None

    def log_density(self, columns: Mapping[str, Any], threads: int = 1, *, dtype: Any = float) -> Floats:
        """Return log P(row), whatever its class, under the text-book model."""
        assert self.book is not None
        return self.book.log_density(columns, threads, dtype=dtype)


class TogetherModel(TableModel):
    """P(class | row) by weighed pieces of evidence, estimated from counts under a schema with a grid."""

    def __init__(
        self,
        counts: Counts,
        schema: Schema,
        settings: Settings,
        log_prior: Floats,
        max_categories: int | None,
        learned: Learned | None,
        prior_shift: Floats | None = None,
        scale: float = 1.0,
    ) -> None:
        super().__init__(counts, schema, settings, log_prior, max_categories)
        assert counts.joint is not None
        joint = joint_of(counts, schema)
        names = ([column.name for column in schema.of_kind(kind)] for kind in ("numbers", "labels"))
        # Where the columns that are used stand among all of them, if not all are.
        self._on = joint.grid.places_among(*names)
        ordered = [getattr(table, "ordered", 0) for table in self._label_tables]
        self.counted = Counted(joint, [table.n for table in self._label_tables], ordered)
        self.learned, self._counts, self._how = learned, counts, (settings.missing, max_categories)
        self.copies = learned is None or learned.copies  # whether row weights count copies of a row
        self.imagined: dict[str, float] = {}  # by column of texts, how many of them with every word
        if learned is not None:
            known = (column.name for column in schema.of_kind("vectors"))
            self.imagined = {name: learned.ridges.get(f"words of {name}", USUAL) for name in known}
            self.tables = tables_of(self.counted, self._places, learned)
            self.model = self._scores(self.tables, prior_shift, scale)

    @cached_property
    def _used(self) -> tuple[list[int], list[int]]:
        """The columns of labels that are used, and those of numbers of which it counts whether they are missing."""
        if self._on is None:
            return list(range(len(self.labels))), list(range(len(self.gaps)))
        known = {number: at for at, (number, _) in enumerate(self.gaps)}
        return self._on[1].tolist(), [known[at] for at in self._on[0].tolist() if at in known]

    @property
    def _label_tables(self) -> list[Any]:
        labels, gaps = self._used
        return [*(self.labels[at].table for at in labels), *(self.gaps[at][1] for at in gaps)]

    @cached_property
    def _places(self) -> list[Codes]:
        """The place on the grid of each label of each column; whether a number is missing has none."""
        known = [{label: at for at, label in enumerate(values.labels)} for values in self.counted.grid.labels]
        known += [{} for _ in self._used[1]]
        tables = zip(known, self._label_tables, strict=True)
        return [np.array([k.get(v, -1) for v in table.values.labels], dtype=np.int32) for k, table in tables]

    @cached_property
    def wording(self) -> dict[str, Wording]:
        """What is counted of the words of texts."""
        return wordings(self.schema, self._counts, self.classes)

    @cached_property
    def rest(self) -> Rest | None:
        """What the columns say that have no weight of their own; None where there are none, or they are not used."""
        unused = self.learned is not None and not self.learned.weights.get(REST)
        if self._on is None or unused:
            return None
        return rest_of(self, self._counts, set(self.counted.grid.names), *self._how)

    def _scores(self, tables: Tables, prior_shift: Floats | None, scale: float) -> Scores:
        said: dict[str, Any] = {CODES: tables.codes, LEVEL: tables.level, PAIRS: tables.pairs}
        weights: Any = self.learned.weights  # type: ignore[union-attr]
        for column in self.schema.of_kind("vectors"):
            if column.name in self.wording:
                mix = {piece.kind: by for piece, by in weights.items() if piece.level == column.name}
                said[column.name] = self.wording[column.name].weighed(mix, self.imagined.get(column.name, USUAL))
            else:
                weight = weights.get(Piece("vectors", column.name), 0.0)
                said[column.name] = Weighed(self.book.likelihoods[column.name], weight)
        if self.rest is not None:
            said |= {
                f"{INSIDE}rest {key}": Weighed(part.likelihood, weights[REST]) for key, part in self.rest.parts.items()
            }
        prior = tables.bias if prior_shift is None else tables.bias + prior_shift
        return Scores(self.classes, prior, said, scale=scale, book=self.book)

    def read(self, frame: Frame, begin: int, end: int, threads: int) -> dict[str, Any]:
        """Return some rows of a frame, a matrix for each part of both models."""
        return self._laid(super().read(frame, begin, end, threads), end - begin, threads)

    def read_rows(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return rows given as dicts, a matrix for each part of both models."""
        return self._laid(super().read_rows(rows), len(rows), 1)

    def _laid(self, columns: dict[str, Any], rows: int, threads: int) -> dict[str, Any]:
        cells, labels = self.cells(columns, rows, threads)
        codes = np.empty((rows, cells.fine.shape[1] + labels.shape[1]), dtype=np.int32, order="F")
        codes[:, : cells.fine.shape[1]], codes[:, cells.fine.shape[1] :] = cells.fine, labels
        rest = {} if self.rest is None else self.rest.cells(columns)
        return {**columns, **rest, CODES: codes, LEVEL: cells.level, PAIRS: cells.codes, CELLS: cells}

    def cells(self, columns: dict[str, Any], rows: int, threads: int) -> tuple[Cells, Codes]:
        """Return rows as they lie on the grid, and the places of their labels."""
        labels = self._labels_of(columns, rows)
        on_grid = np.empty((rows, len(self._used[0])), dtype=np.int32, order="F")
        for at, place in enumerate(self._places[: len(self._used[0])]):
            # A hole is -1 and a label never met comes last: both find a place that says nothing.
            np.take(
                np.append(place, np.array([-1, -1], dtype=np.int32)), labels[:, at], out=on_grid[:, at], mode="wrap"
            )
        return self.counted.grid.encode(self._numbers_of(columns, rows), on_grid, threads), labels

    def _labels_of(self, columns: dict[str, Any], rows: int) -> Codes:
        """Return the codes of the labels that are used, and after them whether numbers are missing."""
        labels: Codes = columns.get(LABELS, np.empty((rows, 0), dtype=np.int32))
        used, gaps = self._used
        return labels if self._on is None else labels[:, [*used, *(len(self.labels) + at for at in gaps)]]

    def _numbers_of(self, columns: dict[str, Any], rows: int) -> Any:
        """Return the numbers that are used side by side, in the order of the schema."""
        numbers = self._all_numbers_of(columns, rows)
        return numbers if self._on is None else np.asfortranarray(numbers[:, self._on[0]])

    def _all_numbers_of(self, columns: dict[str, Any], rows: int) -> Any:
        """Return the numbers of all families side by side, in the order of the schema."""
        if len(self.numbers) == 1:
            return next(columns[key] for key in self.numbers)
        place = {column.name: at for at, column in enumerate(self.schema.of_kind("numbers"))}
        out = np.empty((rows, len(place)), order="F")
        for key, (_, group) in self.numbers.items():
            out[:, [place[column.name] for column in group]] = columns[key]
        return out

    def sample(self, columns: dict[str, Any], y: Codes, weights: Floats) -> Sample:
        """Return rows that were counted as they are left out."""
        wide: dict[Piece, Any] = {}
        out = left_out_weights(weights, self.copies)
        for column in self.schema.of_kind("vectors"):
            x = columns[column.name]
            if column.name in self.wording:
                imagined = self.imagined.setdefault(column.name, USUAL)
                said = self.wording[column.name].left(x, y, out, imagined)
                wide |= {Piece(way, column.name): part for way, part in said.items()}
            else:
                left = self.book.likelihoods[column.name].leave_one_out(x, y, out)
                wide[Piece("vectors", column.name)] = left.T
        if self.rest is not None:
            wide[REST] = self.rest.left(columns, y, out)
        labels = self._labels_of(columns, len(y))
        usual = {f"words of {name}": self.imagined[name] for name in self.wording}
        return Sample(labels, columns[CELLS], y, weights, wide, usual, self.copies)

    @property
    def adjusts(self) -> bool:
        """Whether rows are left out of the weights, too."""
        return self.learned is not None and self.learned.doubt is not None

    # -- why, and how good --------------------------------------------------------------------------------------

    def left(self, columns: dict[str, Any], y: Codes, weights: Floats) -> Floats:
        """Return the scores of rows that were counted, each left out; of the weights, too, to first order."""
        assert self.learned is not None
        parts, doubt = [], self.learned.doubt
        cells = len(self.classes) * (1 if doubt is None else max(len(doubt.free), 1))
        each = int(np.clip(LEFT_CELLS // cells, LEAST_LEFT, LEFT))
        for begin in range(0, len(y), each):
            rows = slice(begin, begin + each)
            some = {name: matrix.take(rows) if name == CELLS else matrix[rows] for name, matrix in columns.items()}
            parts.append(left_scores(self.counted, self.learned, self.sample(some, y[rows], weights[rows])))
        return np.hstack(parts).T + (self.model.log_prior - self.tables.bias)

    def said(self, columns: dict[str, Any], threads: int) -> tuple[Floats, Floats]:
        """Return the contribution of each column, and then of each pair, to each class, [row, column, class].

        The second is the part of the first that comes from joint terms: all columns at once, and pairs.
        """
        codes, level, grid = columns[CODES], columns[LEVEL], self.counted.grid
        names = [*self.schema.names, *self.pairs]
        out, joint = (np.zeros((len(codes), len(names), len(self.classes))) for _ in range(2))
        place = {name: at for at, name in enumerate(names)}
        for at, (name, table) in enumerate(zip(self.owners, self.tables.codes.tables, strict=True)):
            known = np.flatnonzero((codes[:, at] >= 0) & (codes[:, at] < len(table)))
            out[known, place[name]] += table[codes[known, at]]
            joint[known, place[name]] += self.tables.linear[at][codes[known, at]]
        for at, bins in enumerate(grid.numbers):
            sloping = level[:, at : at + 1] * self.tables.level.table[at]
            out[:, place[bins.name]] += sloping
            joint[:, place[bins.name]] += sloping
        for column in self.schema.of_kind("vectors"):
            out[:, place[column.name]] = scores_of(self.model.likelihoods[column.name], columns[column.name], threads)
        for name, scores in () if self.rest is None else self.rest.said(columns, threads):
            out[:, place[name]] += self.learned.weights[REST] * scores  # type: ignore[union-attr]
        for name, (i, j), table in zip(self.pairs, self.tables.pairs.pairs, self.tables.pairs.tables, strict=True):
            a, b = columns[PAIRS][:, i], columns[PAIRS][:, j]
            known = np.flatnonzero((a >= 0) & (b >= 0))
            out[known, place[name]] = joint[known, place[name]] = table[a[known], b[known]]
        return out, joint

    @cached_property
    def pairs(self) -> dict[str, tuple[str, str]]:
        """The pairs of columns that say something beyond both, by the name under which they are shown."""
        names, found = self.counted.grid.names, dict[str, tuple[str, str]]()
        for i, j in self.tables.pairs.pairs:
            shown = f"{names[i]} × {names[j]}"
            while shown in self.schema.names or shown in found:  # a column, or another pair, may be named so
                shown += " (pair)"
            found[shown] = names[i], names[j]
        return found

    @cached_property
    def owners(self) -> list[str]:
        """The names of the columns behind evidence, by their place in it: those of the grid, and of missing numbers."""
        numbers = self.schema.of_kind("numbers")
        return [*self.counted.grid.names, *(numbers[self.gaps[at][0]].name for at in self._used[1])]


def joint_of(counts: Counts, schema: Schema) -> Any:
    """Return what was counted of the columns of a schema together."""
    assert counts.joint is not None
    return counts.joint.only(schema.names)


@dataclass(frozen=True)
class Weighed:
    """A likelihood that is believed more or less than the text book says."""

    likelihood: Any
    weight: float

    @property
    def classes(self) -> Axis:
        """The classes, in the order of the scores."""
        classes: Axis = self.likelihood.classes
        return classes

    def add_to(self, scorer: Scorer, x: Any, holes: bool = True) -> None:
        """Have weight · log P(x | class) added to the scores."""
        own = Scorer(np.zeros(len(self.likelihood.classes)))
        self.likelihood.add_to(own, x, holes)
        out = np.empty((x.shape[0], len(self.likelihood.classes)))
        own.log_joint(out, 1)
        scorer.given(np.ascontiguousarray(self.weight * np.maximum(out, -1e290)))

    def by_word(self, x: Any) -> tuple[Codes, Floats]:
        """Return the numbers of the words of a single row, and what each says about each class, [word, class]."""
        numbers, scores = self.likelihood.by_word(x)
        return numbers, self.weight * scores
