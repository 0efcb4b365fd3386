"""The default model: terms of columns, of pairs and of all columns at once, each with a weight, and coefficients."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from ..._linear_algebra import product
from ..._types import Codes, Floats, Matrices
from ...data.frame import Frame
from ...data.schema import Schema
from ...families import Settings
from ...families.categorical import LogTable
from ...families.family import ScoreTerm, scores_of
from ...stats import Counts
from ..column_parts import INSIDE, LABELS
from ..recipe import RECIPE, Recipe
from ..scorer import AdditiveModel
from ..table_model import Contributions, TableModel
from .fit import DefaultFit
from .grid import Cells, Grid, LabelPlaces, NumberBins, label_places
from .joint_counts import JointCounts, log_shares
from .likelihoods import COUNTS, REST, VECTORS, LikelihoodTerm, other_terms, vector_term
from .pairs import Columns
from .rows import FittingRows, Term
from .tables import ModelTables, TableBuilder, TermCounts
from .words import DocumentRows, WordAssociations, word_associations

CODES, LEVEL, INTERACTIONS, CELLS = (INSIDE + name for name in ("codes", "level", "interactions", "cells"))


class DefaultModel(TableModel):
    """P(class | row) by weighted terms, estimated from counts under a schema with a grid.

    Without a fit there are no weights yet: the model then gives the terms that weights are fitted to.
    """

    joint_terms = "linear term of all columns"
    has_credible_interval = False

    def __init__(
        self,
        counts: Counts,
        schema: Schema,
        settings: Settings,
        log_prior: Floats,
        max_categories: int | None,
        fit: DefaultFit | None,
        joint: JointCounts,
        prior_shift: Floats | None = None,
        scale: float = 1.0,
        recipe: Recipe = RECIPE,
    ) -> None:
        super().__init__(counts, schema, settings, log_prior, max_categories)
        self.recipe, self.joint, joint = recipe, joint, joint.on(counts.classes).only(schema.names)
        names = ([column.name for column in schema.of_kind(kind)] for kind in ("numbers", "labels"))
        # Where the columns on the grid stand among all of them, if not all are.
        self._on = joint.grid.places_among(*names)
        tables = self._grid_tables
        ordered = [table.level_count for table in tables]
        places = self._places_on(joint.grid)
        joint = as_rows_are_read(joint, places)
        self.counts = TermCounts(joint, [table.n for table in tables], ordered, recipe, places)
        self.fit, self.all_counts, self._max_categories, self._settings = fit, counts, max_categories, settings
        self.copies = fit is None or fit.copies  # whether row weights count copies of a row
        self.pseudo_texts: dict[str, float] = {}  # by column of texts, how many pseudo-texts hold every word
        if fit is not None:
            if any(not 0 <= column < len(self.owners) for term in fit.weights for column in term.columns):
                raise KeyError("weights")  # of columns that are not there
            known = (column.name for column in schema.of_kind("vectors"))
            usual = recipe.word_pseudo_count
            self.pseudo_texts = {name: fit.settings.get(f"words of {name}", usual) for name in known}
            self.tables: ModelTables = TableBuilder.of(
                self.counts, fit.weights, fit.settings, fit.coefficients, fit.bias
            )
            if self.tables.quadratic is not None:
                self.joint_terms = "linear and quadratic terms of all columns"
            self.scorer = self._scorer_of(fit, prior_shift, scale)

    def pseudo_texts_of(self, name: str) -> float:
        """Return how many pseudo-texts hold every word of a column of texts."""
        return self.pseudo_texts.get(name, self.recipe.word_pseudo_count)

    @property
    def weights(self) -> Mapping[Term, float]:
        """The weights of terms; none before they are fitted."""
        return {} if self.fit is None else self.fit.weights

    @cached_property
    def _used(self) -> tuple[list[int], list[int]]:
        """The columns of labels on the grid, and the flags of missing numbers whose numbers are."""
        if self._on is None:
            return list(range(len(self.labels))), list(range(len(self.missing_flags)))
        known = {number: at for at, (number, _) in enumerate(self.missing_flags)}
        return self._on[1].tolist(), [known[at] for at in self._on[0].tolist() if at in known]

    @property
    def _grid_tables(self) -> list[LogTable]:
        labels, flags = self._used
        return [*(self.labels[at].table for at in labels), *(self.missing_flags[at][1] for at in flags)]

    def _places_on(self, grid: Grid) -> list[Codes]:
        """Return the place on the grid of each label of each column; whether a number is missing has none."""
        known = [{label: index for index, label in enumerate(values.labels)} for values in grid.labels]
        known += [{} for _ in self._used[1]]
        tables = zip(known, self._grid_tables, strict=True)
        return [np.array([k.get(v, -1) for v in table.values.labels], dtype=np.int32) for k, table in tables]

    # -- terms of texts, vectors and other columns ----------------------------------------------------------------

    @cached_property
    def word_associations(self) -> dict[str, WordAssociations]:
        """The words of each column of texts that has terms of words."""
        return word_associations(self.schema, self.all_counts, self.classes)

    @cached_property
    def vector_terms(self) -> list[LikelihoodTerm]:
        """The columns of vectors, of texts in another form, and of counts whose words have terms, too."""
        words, terms = self.word_associations, list[LikelihoodTerm]()
        for column in self.schema.of_kind("vectors"):
            of_matrix = column.name in words and words[column.name].matrix != column.name
            if column.name not in words or of_matrix:  # of texts, words stand in the place of the likelihood
                kind = COUNTS if of_matrix else VECTORS
                terms.append(vector_term(self, column, self.all_counts, self._settings, kind))
        return terms

    @cached_property
    def others(self) -> Mapping[str, LikelihoodTerm]:
        """The columns that are not on the grid, by matrix; none where they are not used."""
        unused = self.fit is not None and not self.fit.weights.get(REST)
        if self._on is None or unused:
            return {}
        return other_terms(self, self.all_counts, set(self.counts.grid.names), self._max_categories)

    def _scorer_of(self, fit: DefaultFit, prior_shift: Floats | None, scale: float) -> AdditiveModel[ScoreTerm]:
        tables = self.tables
        terms: dict[str, ScoreTerm] = {CODES: tables.codes, LEVEL: tables.slopes, INTERACTIONS: tables.interactions}
        if tables.quadratic is not None:
            terms[CELLS] = tables.quadratic
        for name, words in self.word_associations.items():
            mix = {term.kind: weight for term, weight in fit.weights.items() if term.level == name}
            scores = words.scores(mix, self.pseudo_texts_of(name))
            if name in fit.words:
                fit.words[name].add_to(words.words, scores.word_scores)
            terms[words.matrix] = scores
        terms |= {one.key: one.score_term(fit.weights.get(one.term, 0.0)) for one in self.vector_terms}
        terms |= {key: one.score_term(fit.weights[REST]) for key, one in self.others.items()}
        # Rows that came or went since moved the priors of classes.
        prior = tables.bias + (log_shares(self.all_counts.rows) - log_shares(fit.joint.on(self.classes).rows))
        prior = prior if prior_shift is None else prior + prior_shift
        return AdditiveModel(self.classes, prior, terms, scale=scale, floor=self._floor(prior_shift))

    def _floor(self, prior_shift: Floats | None) -> Floats:
        """Return the least probability of each class: a share of its prior that falls with the rows."""
        rows = self.all_counts.rows
        prior = np.log(rows + 1.0) if prior_shift is None else np.log(rows + 1.0) + prior_shift
        weights = np.exp(prior - prior.max())
        return np.asarray(self.recipe.floor_rows / (float(rows.sum()) + 1.0) * weights / weights.sum())

    # -- rows -----------------------------------------------------------------------------------------------------

    def read(self, frame: Frame, begin: int, end: int, threads: int) -> Matrices:
        """Return some rows of a frame, a matrix for each term of both models."""
        return self._with_grid(super().read(frame, begin, end, threads), end - begin, threads)

    def read_rows(self, rows: Sequence[Mapping[str, object]]) -> Matrices:
        """Return rows given as dicts, a matrix for each term of both models."""
        return self._with_grid(super().read_rows(rows), len(rows), 1)

    def _with_grid(self, columns: Matrices, rows: int, threads: int) -> Matrices:
        cells, labels = self.cells(columns, rows, threads)
        codes = np.empty((rows, cells.fine.shape[1] + labels.shape[1]), dtype=np.int32, order="F")
        codes[:, : cells.fine.shape[1]], codes[:, cells.fine.shape[1] :] = cells.fine, labels
        more = {key: one.matrix(columns) for key, one in self.others.items()}
        for name, words in self.word_associations.items():
            if words.matrix != name:
                more[words.matrix] = DocumentRows.of(columns[name], threads)
        pairs = cells.codes if self.fit is None else self.tables.interactions.codes(cells.codes)
        return {**columns, **more, CODES: codes, LEVEL: cells.level, INTERACTIONS: pairs, CELLS: cells}

    def cells(self, columns: Matrices, rows: int, threads: int) -> tuple[Cells, Codes]:
        """Return rows as they lie on the grid, and the places of their labels."""
        labels = self._labels_of(columns, rows)
        on_grid = labels[:, : len(self._used[0])]
        return self.counts.grid.encode(self._numbers_of(columns, rows), on_grid, threads, self._laid_places), labels

    @cached_property
    def _laid_places(self) -> LabelPlaces:
        """The same, one after the other; a missing label and one never seen have no place."""
        return label_places(self.counts.places[: len(self._used[0])])

    def _labels_of(self, columns: Matrices, rows: int) -> Codes:
        """Return the codes of the labels on the grid, and after them whether numbers are missing."""
        labels: Codes = columns.get(LABELS, np.empty((rows, 0), dtype=np.int32))
        used, flags = self._used
        return labels if self._on is None else labels[:, [*used, *(len(self.labels) + at for at in flags)]]

    def _numbers_of(self, columns: Matrices, rows: int) -> Floats:
        """Return the numbers on the grid side by side, in the order of the schema."""
        numbers = self._all_numbers_of(columns, rows)
        return numbers if self._on is None else np.asfortranarray(numbers[:, self._on[0]])

    def _all_numbers_of(self, columns: Matrices, rows: int) -> Floats:
        """Return the numbers of all families side by side, in the order of the schema."""
        if len(self.numbers) == 1:
            only: Floats = columns[next(iter(self.numbers))]
            return only
        place = {column.name: index for index, column in enumerate(self.schema.of_kind("numbers"))}
        out = np.empty((rows, len(place)), order="F")
        for key, (_, group) in self.numbers.items():
            out[:, [place[column.name] for column in group]] = columns[key]
        return out

    def fitting_rows(
        self, columns: Matrices, y: Codes, weights: Floats, effective: Floats, folds: tuple[slice, ...]
    ) -> FittingRows:
        """Return rows that were counted, in the order of their folds, as weights are fitted on them."""
        labels = self._labels_of(columns, len(y))
        return FittingRows(columns[CELLS], labels, columns, y, weights, effective, folds)

    # -- why ------------------------------------------------------------------------------------------------------

    def contributions(self, columns: Matrices, threads: int) -> Contributions:
        """Return the contribution of each column, and then of each interaction, to the score of each row.

        The joint part comes from what is fitted to all columns at once, and from interactions. Contributions are
        relative to the average row.
        """
        codes, cells, tables, size = columns[CODES], columns[CELLS], self.tables, len(self.classes)
        names = self.names
        out, joint = (np.zeros((len(codes), len(names), size)) for _ in range(2))
        place = {name: index for index, name in enumerate(names)}
        for column, (name, table) in enumerate(zip(self.owners, tables.codes.tables, strict=True)):
            known = np.flatnonzero((codes[:, column] >= 0) & (codes[:, column] < len(table)))
            out[known, place[name]] += table[codes[known, column]]
            joint[known, place[name]] += tables.joint[column][codes[known, column]]
        of_all = [(name, scores) for name, scores in self._of_all_columns(cells)]
        of_all += [(self.pair_names[c], s) for c, s in self._of_interactions(columns)]
        for name, scores in of_all:
            out[:, place[name]] += scores
            joint[:, place[name]] += scores
        for name, scores in self._of_wide_columns(columns, threads):
            out[:, place[name]] += scores
        averages, of_joint = self.averages
        return Contributions(out - averages, joint - of_joint)

    def _of_all_columns(self, cells: Cells) -> Iterator[tuple[str, Floats]]:
        """Give what slopes and the quadratic term contribute, [row, class], by column."""
        grid, tables = self.counts.grid, self.tables
        for column, bins in enumerate(grid.numbers):
            yield bins.name, cells.level[:, column : column + 1] * tables.slopes.table[column]
        if tables.quadratic is not None:
            yield from zip(grid.names, tables.quadratic.contributions(cells).transpose(1, 0, 2), strict=True)

    def _of_interactions(self, columns: Matrices) -> Iterator[tuple[Columns, Floats]]:
        """Give the contribution of each interaction, [row, class], by its columns."""
        interactions = self.tables.interactions
        if len(interactions):
            scores = interactions.contributions(columns[INTERACTIONS])
            yield from zip(interactions.all_columns, scores.transpose(1, 0, 2), strict=True)

    def _of_wide_columns(self, columns: Matrices, threads: int) -> Iterator[tuple[str, Floats]]:
        """Give the contribution of texts, vectors and columns that are not on the grid, [row, class]."""
        for name, words in self.word_associations.items():
            yield name, scores_of(self.scorer.terms[words.matrix], columns[words.matrix], threads)
        for one in (*self.vector_terms, *self.others.values()):
            if weight := self.weights.get(one.term):
                yield from one.contributions(columns, weight)

    @cached_property
    def averages(self) -> tuple[Floats, Floats]:
        """The mean contribution of each column and interaction over the rows that were counted, [name, class].

        The second is of the joint part alone. Of texts and vectors nothing is taken off: their mean is in no count.
        """
        names, joint, tables = self.names, self.counts.joint, self.tables
        place, size = {name: index for index, name in enumerate(names)}, len(self.classes)
        out, of_joint = np.zeros((len(names), size)), np.zeros((len(names), size))
        products, grid = joint.products.sum(axis=0), self.counts.grid
        rows, numbers = max(float(products[0, 0]), 1e-300), len(grid.numbers)
        fine = joint.fine.sum(axis=0)
        n = [fine[begin:end] for begin, end in zip(grid.fine_offsets[:-1], grid.fine_offsets[1:], strict=True)]
        n += [table.sum(axis=0) for table in self.counts.tables]
        total = max(float(self.all_counts.rows.sum()), 1e-300)
        for column, name in enumerate(self.owners):
            share = n[column] / (rows if column < numbers else total)
            out[place[name]] += product(share, tables.codes.tables[column])
            of_joint[place[name]] += product(share, tables.joint[column])
        levels = products[0, grid.features - numbers :] / rows
        means = [(bins.name, levels[column] * tables.slopes.table[column]) for column, bins in enumerate(grid.numbers)]
        if tables.quadratic is not None:
            first = len(products) - len(tables.quadratic.components)
            of_columns = tables.quadratic.means(np.ascontiguousarray(products[first:, first:]), rows)
            means += list(zip(grid.names, of_columns, strict=True))
        means += [(self.pair_names[c], mean) for c, mean in tables.interactions.means(products, grid.offsets, rows)]
        if self.fit is not None and self.fit.coefficients is not None:
            triples = self.fit.coefficients.triples, self.fit.coefficients.triple_means
            means += [(self.pair_names[c], mean) for c, mean in zip(*triples, strict=True)]
        for name, mean in means:
            out[place[name]] += mean
            of_joint[place[name]] += mean
        return out, of_joint

    @property
    def fine_bins(self) -> Mapping[str, tuple[NumberBins, Floats]]:
        """The bins of each number on the grid, and the rows of each class in them."""
        joint = self.counts.joint
        bounds = zip(joint.grid.numbers, pairwise(joint.grid.fine_offsets.tolist()), strict=True)
        return {bins.name: (bins, joint.fine[:, begin:end]) for bins, (begin, end) in bounds}

    @property
    def names(self) -> list[str]:
        """What has contributions: the columns, then the interactions."""
        return [*self.schema.names, *self.pairs]

    @property
    def base(self) -> Floats:
        """The scores of an average row."""
        return np.asarray(self.scorer.log_prior + self.averages[0].sum(axis=0))

    @cached_property
    def pairs(self) -> Mapping[str, tuple[str, ...]]:
        """The interactions with a contribution beyond their columns, by the name under which they are shown."""
        names = self.counts.grid.names
        return {shown: tuple(names[at] for at in columns) for columns, shown in self.pair_names.items()}

    @cached_property
    def pair_names(self) -> dict[Columns, str]:
        """The names of the interactions by the places of their columns on the grid."""
        names, result, used = self.counts.grid.names, dict[Columns, str](), set(self.schema.names)
        for columns in self.tables.interactions.all_columns:
            shown = " × ".join(names[at] for at in columns)
            while shown in used:  # a column, or another interaction, may be named so
                shown += " (pair)"
            used.add(shown)
            result[columns] = shown
        return result

    @cached_property
    def owners(self) -> list[str]:
        """The columns of terms by their place: those of the grid, and those of missing numbers."""
        numbers = self.schema.of_kind("numbers")
        return [*self.counts.grid.names, *(numbers[self.missing_flags[at][0]].name for at in self._used[1])]

    def summary_lines(self) -> list[str]:
        """Return which terms have a weight, and the log loss of held-out rows with them."""
        return [] if self.fit is None else self.fit.describe(self.owners)


def as_rows_are_read(joint: JointCounts, places: Sequence[Codes]) -> JointCounts:
    """Return counts in which a label that no row is read as is a missing value: rare ones may count as one."""
    grid, read = joint.grid, np.ones(joint.grid.features, dtype=bool)
    for index, known in enumerate(places[: len(grid.labels)], len(grid.numbers)):
        flags = grid.flags(index)
        read[flags] = np.isin(np.arange(flags.stop - flags.start), known)
    if read.all():
        return joint
    return replace(joint, products=joint.products * (read[:, None] & read))
