"""The refined model: naive Bayes with an offset for each value, fitted by leave-one-out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import cast

import numpy as np
from scipy import sparse

from ..._types import Codes, Floats, Longs, Mask, Matrices, SparseMatrix
from ...counting.wide import counts_words
from ...data.column import Column
from ...data.frame import Frame
from ...data.grid import Cells, Grid
from ...data.schema import Schema
from ...families import Bernoulli, Settings, Words
from ...families.categorical import LogTable
from ...families.family import ScoreTerm, TextTerm, scores_of
from ...families.texts import TextWeights
from ...families.wide import weighted_row_sums
from ...families.word_counts import WordWeights
from ...stats import Axis, Counts
from ..column_parts import INSIDE, LABELS
from ..joint.tables import CodeTables, Slopes
from ..joint.weighted_terms import WeightedTerm
from ..joint.word_terms import WordAssociations, word_associations
from ..protocols import Contributions, CountedRows
from ..recipe import RECIPE, Recipe
from ..scorer import AdditiveModel
from ..table_model import RARE, TableModel
from .features import LEVEL, OffsetColumn, flags_of, value_places, values_with_offsets
from .offset_problem import OffsetRows
from .refined_fit import Offsets, RefinedFit
from .wide_columns import (
    FlagOffsets,
    RefinedColumn,
    TextOffsets,
    VectorTerm,
    WordOffsets,
    bounded_below,
    vector_offsets,
    word_offsets,
)

BINS, LEVELS, NUMBERS = INSIDE + "bins", INSIDE + "levels", "numbers"
# Offsets that are fitted: one for each value and class. A limit of memory.
MOST_OFFSETS = 1 << 21


class RefinedModel(TableModel):
    """P(class | row) by naive Bayes with offsets of single values.

    Without a fit there are no offsets yet: the model then computes what they are fitted to.
    """

    joint_terms = "offsets of its values, fitted jointly"
    has_credible_interval = False

    def __init__(
        self,
        counts: Counts,
        schema: Schema,
        settings: Settings,
        log_prior: Floats,
        max_categories: int | None,
        grid: Grid,
        fit: RefinedFit | None = None,
        prior_shift: Floats | None = None,
        scale: float = 1.0,
        recipe: Recipe = RECIPE,
    ) -> None:
        super().__init__(counts, schema, settings, log_prior, max_categories)
        names = {column.name for column in schema.of_kind("numbers")}
        self.grid = Grid(tuple(bins for bins in grid.numbers if bins.name in names), ())
        self.counts, self.fit, self.shift, self.recipe = counts, fit, prior_shift, recipe
        self._texts: dict[str, TextTerm] = {}
        if fit is not None:
            self.scorer = self._scorer_of(fit, scale)

    # -- values with offsets --------------------------------------------------------------------------------------

    @property
    def _flag_tables(self) -> list[tuple[str, LogTable]]:
        """The columns of labels, and whether numbers are missing, by the names of their offsets."""
        numbers = self.schema.of_kind("numbers")
        return [
            *((label.column.name, label.table) for label in self.labels),
            *((f"{numbers[at].name} (missing)", table) for at, table in self.missing_flags),
        ]

    @cached_property
    def _label_offsets(self) -> list[OffsetColumn]:
        return [label_offsets(name, table) for name, table in self._flag_tables]

    @cached_property
    def _number_offsets(self) -> list[OffsetColumn]:
        return [number_offsets(bins.name, bins.size) for bins in self.grid.numbers]

    @cached_property
    def word_associations(self) -> dict[str, WordAssociations]:
        """The words of each column of texts that has terms of words."""
        return word_associations(self.schema, self.counts, self.classes)

    @cached_property
    def wide_columns(self) -> list[RefinedColumn]:
        """The columns of texts and vectors."""
        return [self._wide_column(column) for column in self.schema.of_kind("vectors")]

    def _wide_column(self, column: Column) -> RefinedColumn:
        name, family, table = column.name, column.family, self.counts.columns[column.name]
        likelihood = self.textbook.likelihoods[name]
        if name in self.word_associations:
            return TextOffsets(self.word_associations[name], table, self.recipe)
        if isinstance(family, Bernoulli):
            return FlagOffsets(name, likelihood, table, family.threshold)
        if not isinstance(family, Words):
            return VectorTerm(name, likelihood)
        # What the family Words estimates: of texts a likelihood of texts, which holds that of their words.
        text = cast(TextWeights, likelihood) if counts_words(column) else None
        words = likelihood if text is None else text.inner
        offsets = vector_offsets(name, table) if text is None else word_offsets(name, text.words, table)
        bag = None if family.complement or family.bernoulli else cast(WordWeights, words)
        return WordOffsets(name, likelihood, bag, text, offsets, self.recipe)

    @cached_property
    def offset_columns(self) -> list[OffsetColumn]:
        """The columns whose values have offsets, as their features stand side by side."""
        wide = (column.offset_column for column in self.wide_columns)
        return [*self._label_offsets, *self._number_offsets, *(one for one in wide if one is not None)]

    @cached_property
    def kinds(self) -> list[str]:
        """The terms of naive Bayes that have a weight: labels, numbers, each column of vectors, the terms of words."""
        kinds = ["labels"] * (LABELS in self.textbook.likelihoods) + [NUMBERS] * bool(self.numbers)
        return kinds + [kind for column in self.wide_columns for kind in column.kinds]

    @cached_property
    def kept(self) -> Longs:
        """Which of all values have offsets."""
        return values_with_offsets(self.offset_columns, max(MOST_OFFSETS // max(len(self.classes), 1), 1))

    @cached_property
    def levels(self) -> Mask:
        """Whether each of the values kept is the level of a number."""
        whole: Mask = np.concatenate([*(column.levels for column in self.offset_columns), np.zeros(0, dtype=bool)])
        return whole[self.kept]

    def offsets(self, by: Floats) -> dict[str, Offsets]:
        """Return the offsets of each column, given [value kept, class]."""
        found, begin = {}, 0
        for column in self.offset_columns:
            at = np.flatnonzero((self.kept >= begin) & (self.kept < begin + len(column)))
            at = at[by[at].any(axis=1)]
            own = [column.values[place - begin] for place in self.kept[at].tolist()]
            if own:
                axis = Axis.declared(own)
                # Single precision is plenty, and takes half the room in a file.
                table = by[at].astype(np.float32).astype(np.float64)
                laid = np.zeros((len(self.classes), len(own)))
                laid[:, axis.places(own)] = table.T
                found[column.name] = Offsets(axis, laid)
            begin += len(column)
        return found

    def _offsets_of(self, fit: RefinedFit, column: OffsetColumn) -> Floats:
        """Return the offset of each value of a column, [value, class]."""
        out = np.zeros((len(column), len(self.classes)))
        if column.name in fit.offsets:
            offsets = fit.offsets[column.name]
            places = column.places(offsets.values.labels)
            out[places[places >= 0]] = offsets.table.T[places >= 0]
        return out

    # -- rows -----------------------------------------------------------------------------------------------------

    def read(self, frame: Frame, begin: int, end: int, threads: int) -> Matrices:
        """Return some rows of a frame, a matrix for each term of both models."""
        return self._with_bins(super().read(frame, begin, end, threads), end - begin, threads)

    def read_rows(self, rows: Sequence[Mapping[str, object]]) -> Matrices:
        """Return rows given as dicts, a matrix for each term of both models."""
        return self._with_bins(super().read_rows(rows), len(rows), 1)

    def _with_bins(self, columns: Matrices, rows: int, threads: int) -> Matrices:
        cells, out = self._cells(columns, rows, threads), dict(columns)
        out |= {BINS: cells.codes, LEVELS: cells.level}
        for column in self.wide_columns:
            out |= column.cells(columns)
        return out

    def _cells(self, columns: Matrices, rows: int, threads: int) -> Cells:
        """Return the bins and levels of numbers."""
        out = np.empty((rows, len(self.grid.numbers)), order="F")
        for at, bins in enumerate(self.grid.numbers):
            part = self.number_parts[bins.name]
            out[:, at] = columns[part.key][:, part.place]
        return self.grid.encode(out, np.empty((rows, 0), dtype=np.int32), threads)

    def features(self, columns: Matrices) -> SparseMatrix:
        """Return the values of rows that have offsets, [row, value kept]."""
        codes = columns.get(LABELS, np.empty((len(columns[BINS]), 0), dtype=np.int32))
        parts = [flags_of(codes, [len(column) for column in self._label_offsets])]
        parts.append(flags_of(columns[BINS], [bins.size for bins in self.grid.numbers], columns[LEVELS]))
        parts += [column.features(columns) for column in self.wide_columns if column.offset_column is not None]
        whole = sparse.csr_array(sparse.hstack([part for part in parts if part.shape[1]] or parts[:1], format="csr"))
        return whole if len(self.kept) == whole.shape[1] else whole[:, self.kept]

    def offset_rows(self, columns: Matrices, y: Codes, weights: Floats, threads: int) -> OffsetRows:
        """Return rows that were counted as they are left out."""
        naive = [self._centred(part) for part in self._naive_left_out(columns, y, np.minimum(weights, 1.0), threads)]
        stacked = np.stack(naive) if naive else np.zeros((0, len(y), len(self.classes)))
        return OffsetRows(self.features(columns), stacked, y, weights)

    def _naive_left_out(self, columns: Matrices, y: Codes, w: Floats, threads: int) -> list[Floats]:
        """Return the terms of naive Bayes for rows, each left out, [row, class], in the order of `kinds`."""
        out, likelihoods = [], self.textbook.likelihoods
        if LABELS in likelihoods:
            out.append(likelihoods[LABELS].leave_one_out(columns[LABELS], y, w, threads))
        if self.numbers:
            each = (likelihoods[key].leave_one_out(columns[key], y, w, threads) for key in self.numbers)
            out.append(np.asarray(sum(each)))
        for column in self.wide_columns:
            out += column.leave_one_out(columns, y, w, threads)
        return out

    def _centred(self, scores: Floats) -> Floats:
        """Return scores [row, class] without what all classes share, none of which rules out a class."""
        scores = bounded_below(scores, self.recipe.strongest_value) if np.isneginf(scores).any() else scores
        return np.asarray(scores - scores.mean(axis=1, keepdims=True))

    # -- answers --------------------------------------------------------------------------------------------------

    def _scorer_of(self, fit: RefinedFit, scale: float) -> AdditiveModel[ScoreTerm]:
        terms: dict[str, ScoreTerm] = {}
        if LABELS in self.textbook.likelihoods:
            terms[LABELS] = self._label_term
        for key in self.numbers:
            terms[key] = WeightedTerm(self.textbook.likelihoods[key], fit.naive_weights[NUMBERS])
        terms[BINS], terms[LEVELS] = self._bin_term, self._level_term
        for column in self.wide_columns:
            values = column.offset_column
            offsets = np.zeros((0, len(self.classes))) if values is None else self._offsets_of(fit, values)
            found, text = column.score_terms(fit.naive_weights, offsets)
            terms |= found
            self._texts |= {} if text is None else {column.name: text}
        prior = fit.bias if self.shift is None else fit.bias + self.shift
        return AdditiveModel(self.classes, prior, terms, scale=scale)

    @cached_property
    def _label_term(self) -> CodeTables:
        """The contribution of each label: weighted naive Bayes, and its offset; values never seen last."""
        assert self.fit is not None
        weight, out = self.fit.naive_weights["labels"], []
        for (_, table), column in zip(self._flag_tables, self._label_offsets, strict=True):
            logs = bounded_below(np.vstack([table.log_p.T, table.log_unseen]), self.recipe.strongest_value)
            offsets = np.vstack([self._offsets_of(self.fit, column), np.zeros((1, len(self.classes)))])
            out.append(weight * logs + offsets)
        return CodeTables(self.classes, tuple(out))

    @cached_property
    def _bin_term(self) -> CodeTables:
        """The offsets of the bins of numbers."""
        assert self.fit is not None
        offsets = (self._offsets_of(self.fit, column)[:-1] for column in self._number_offsets)
        return CodeTables(self.classes, tuple(offsets))

    @cached_property
    def _level_term(self) -> Slopes:
        """The offsets of the levels of numbers."""
        assert self.fit is not None
        offsets = [self._offsets_of(self.fit, column)[-1] for column in self._number_offsets]
        return Slopes(self.classes, np.array(offsets).reshape(-1, len(self.classes)))

    # -- why, and how good ----------------------------------------------------------------------------------------

    def leave_one_out(self, rows: CountedRows) -> Floats:
        """Return the log joint of rows that were counted, each left out; the offsets stay as they are."""
        assert self.fit is not None
        naive = self._naive_left_out(rows.columns, rows.y, np.minimum(rows.row_weights, 1.0), 1)
        weighted = (
            self.fit.naive_weights[kind] * self._centred(part) for kind, part in zip(self.kinds, naive, strict=True)
        )
        tables = [self._offsets_of(self.fit, column) for column in self.offset_columns]
        offsets = np.vstack([*tables, np.zeros((0, len(self.classes)))])[self.kept]
        scores = sum(weighted, 0.0)
        features = self.features(rows.columns)
        return np.asarray(self.scorer.log_prior + scores + weighted_row_sums(features, offsets))

    def contributions(self, columns: Matrices, threads: int) -> Contributions:
        """Return the contribution of each column to the score of each row.

        The joint part comes from offsets of labels and numbers, which were fitted for all columns at once; those of
        words stand beside each word.
        """
        assert self.fit is not None
        out, joint = (np.zeros((len(columns[BINS]), len(self.schema), len(self.classes))) for _ in range(2))
        place = {name: at for at, name in enumerate(self.schema.names)}
        self._add_labels(out, joint, columns, place)
        bins, levels = self._bin_term, self._level_term
        for at, number in enumerate(self.grid.numbers):
            own = np.ascontiguousarray(columns[BINS][:, at : at + 1])
            by = scores_of(bins.column(at), own, threads) + columns[LEVELS][:, at : at + 1] * levels.table[at]
            out[:, place[number.name]] += by
            joint[:, place[number.name]] += by
        for name, part in self.number_parts.items():
            naive = WeightedTerm(part.likelihoods.column(part.place), self.fit.naive_weights[NUMBERS])
            own = np.ascontiguousarray(columns[part.key][:, part.place : part.place + 1])
            out[:, place[name]] += scores_of(naive, own, threads)
        for column in self.wide_columns:
            for key in column.matrices:
                if key in self.scorer.terms:
                    out[:, place[column.name]] += scores_of(self.scorer.terms[key], columns[key], threads)
        return Contributions(out, joint)

    def _add_labels(self, out: Floats, joint: Floats, columns: Matrices, place: Mapping[str, int]) -> None:
        """Add the contributions of labels, and their part by offsets."""
        assert self.fit is not None
        numbers = self.schema.of_kind("numbers")
        owners = [*(label.column.name for label in self.labels), *(numbers[at].name for at, _ in self.missing_flags)]
        tables = self._label_term.tables if owners else ()
        for at, (name, table) in enumerate(zip(owners, tables, strict=True)):
            offsets, codes = self._offsets_of(self.fit, self._label_offsets[at]), columns[LABELS][:, at]
            known = np.flatnonzero((codes >= 0) & (codes < len(table)))
            out[known, place[name]] += table[codes[known]]
            known = known[codes[known] < len(offsets)]
            joint[known, place[name]] += offsets[codes[known]]

    def text_terms(self) -> dict[str, TextTerm]:
        """Return the terms that are sums over words, by column of texts."""
        return dict(self._texts)

    @property
    def pairs(self) -> Mapping[str, tuple[str, str]] | None:
        """The pairs of columns with a contribution beyond both: none."""
        return {}

    def summary_lines(self) -> list[str]:
        """Return how many values have offsets, and the held-out log loss with them."""
        return [] if self.fit is None else self.fit.describe()


def label_offsets(name: str, table: LogTable) -> OffsetColumn:
    """Return the labels of a column with offsets: not the one that stands for all rare values."""
    labels = table.values.labels
    rare = np.array([value is RARE for value in labels], dtype=bool)
    met = np.where(rare, 0.0, table.n.sum(axis=0))
    return OffsetColumn(name, labels, met, np.zeros(len(labels), dtype=bool), value_places(labels))


def number_offsets(name: str, bins: int) -> OffsetColumn:
    """Return the bins of a number and its level, which all have offsets."""
    values = [*map(str, range(bins)), LEVEL]
    return OffsetColumn(name, values, None, np.array([v == LEVEL for v in values]), value_places(values))
