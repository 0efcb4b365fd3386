"""The joint model: terms of columns, of pairs and of all columns at once, each with a weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from ..._types import Codes, Floats, Matrices
from ...counting.weights import left_out_weights
from ...data.frame import Frame
from ...data.grid import Cells, Grid, LabelPlaces, label_places
from ...data.schema import Schema
from ...families import Settings
from ...families.categorical import LogTable
from ...families.family import ScoreTerm
from ...stats import Counts
from ...stats.pairs import JointCounts
from ..column_parts import INSIDE, LABELS
from ..protocols import Contributions
from ..recipe import RECIPE, Recipe
from ..scorer import AdditiveModel
from ..table_model import TableModel
from .document_rows import DocumentRows
from .joint_fit import JointFit
from .left_out import HeldOutRows
from .other_columns import REST, OtherColumns, other_columns
from .sample import FittingRows, SoftRows
from .tables import JointTables, TableBuilder, TermCounts
from .term_kinds import kinds_of
from .terms import CELLS, Term
from .wide_terms import COUNTS, VECTORS, TextColumn, VectorColumn, WideColumn
from .word_offsets import WordOffsets
from .word_terms import WordAssociations, word_associations

CODES, LEVEL, PAIRS = (INSIDE + name for name in ("codes", "level", "pairs"))


class JointModel(TableModel):
    """P(class | row) by weighted terms, estimated from counts under a schema with a grid.

    Without a fit there are no weights yet: the model then computes the terms that weights are fitted to.
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
        fit: JointFit | None,
        prior_shift: Floats | None = None,
        scale: float = 1.0,
        recipe: Recipe = RECIPE,
    ) -> None:
        super().__init__(counts, schema, settings, log_prior, max_categories)
        self.recipe, joint = recipe, joint_of(counts, schema)
        names = ([column.name for column in schema.of_kind(kind)] for kind in ("numbers", "labels"))
        # Where the columns on the grid stand among all of them, if not all are.
        self._on = joint.grid.places_among(*names)
        tables = self._grid_tables
        ordered = [table.level_count for table in tables]
        places = self._places_on(joint.grid)
        joint = as_rows_are_read(joint, places)
        self.counts = TermCounts(joint, [table.n for table in tables], ordered, recipe, places)
        self.fit, self._all_counts, self._how = fit, counts, (settings.missing, max_categories)
        self.copies = fit is None or fit.copies  # whether row weights count copies of a row
        self.pseudo_texts: dict[str, float] = {}  # by column of texts, how many pseudo-texts hold every word
        if fit is not None:
            known = (column.name for column in schema.of_kind("vectors"))
            usual = recipe.word_pseudo_count
            self.pseudo_texts = {name: fit.ridges.get(f"words of {name}", usual) for name in known}
            self.tables = self._tables(fit)
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

    @property
    def word_offsets(self) -> Mapping[str, WordOffsets]:
        """The offsets of words, by column of texts."""
        return {} if self.fit is None else self.fit.word_offsets

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
        known = [{label: at for at, label in enumerate(values.labels)} for values in grid.labels]
        known += [{} for _ in self._used[1]]
        tables = zip(known, self._grid_tables, strict=True)
        return [np.array([k.get(v, -1) for v in table.values.labels], dtype=np.int32) for k, table in tables]

    @cached_property
    def word_associations(self) -> dict[str, WordAssociations]:
        """The words of each column of texts that has terms of words."""
        return word_associations(self.schema, self._all_counts, self.classes)

    @cached_property
    def wide_columns(self) -> dict[str, WideColumn]:
        """The columns of texts and vectors, by the matrix that is read."""
        words, texts, out = self.word_associations, self._textbook_texts, dict[str, WideColumn]()
        for name in (column.name for column in self.schema.of_kind("vectors")):
            kind = COUNTS if name in words else VECTORS
            out[name] = VectorColumn(name, self.textbook.likelihoods[name], texts.get(name), kind)
            if name in words:  # of texts it stands in the place of the likelihood, of counts next to it
                out[words[name].matrix] = TextColumn(words[name], self.word_offsets.get(name))
        return out

    @cached_property
    def others(self) -> OtherColumns | None:
        """The columns that have no weight of their own; None where there are none, or they are not used."""
        unused = self.fit is not None and not self.fit.weights.get(REST)
        if self._on is None or unused:
            return None
        return other_columns(self, self._all_counts, set(self.counts.grid.names), *self._how)

    def _tables(self, fit: JointFit) -> JointTables:
        builder = TableBuilder(self.counts, fit.weights, fit.ridges, fit.coefficients)
        for kind in kinds_of(self.recipe):
            kind.add_tables(builder)
        return builder.tables(fit.bias)

    def _scorer_of(self, fit: JointFit, prior_shift: Floats | None, scale: float) -> AdditiveModel[ScoreTerm]:
        tables = self.tables
        terms: dict[str, ScoreTerm] = {CODES: tables.codes, LEVEL: tables.slopes, PAIRS: tables.pairs}
        for kind in kinds_of(self.recipe):
            terms |= kind.score_terms(self, fit.weights)
        prior = tables.bias if prior_shift is None else tables.bias + prior_shift
        floor = self._floor(prior_shift)
        return AdditiveModel(self.classes, prior, terms, scale=scale, floor=floor)

    def _floor(self, prior_shift: Floats | None) -> Floats:
        """Return the least probability of each class: a share of its prior that falls with the rows."""
        rows = self._all_counts.rows
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
        others = {} if self.others is None else self.others.cells(columns)
        for name, words in self.word_associations.items():
            if words.matrix != name:
                others[words.matrix] = DocumentRows.of(columns[name], threads)
        return {**columns, **others, CODES: codes, LEVEL: cells.level, PAIRS: cells.codes, CELLS: cells}

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
        place = {column.name: at for at, column in enumerate(self.schema.of_kind("numbers"))}
        out = np.empty((rows, len(place)), order="F")
        for key, (_, group) in self.numbers.items():
            out[:, [place[column.name] for column in group]] = columns[key]
        return out

    def fitting_rows(
        self, columns: Matrices, y: Codes, weights: Floats, folds: tuple[slice, ...], soft: SoftRows | None = None
    ) -> FittingRows:
        """Return rows that were counted, in the order of their folds, as weights are fitted on them."""
        out, wide = HeldOutRows(y, left_out_weights(weights, self.copies), soft), dict[Term, Floats]()
        for kind in kinds_of(self.recipe):
            wide |= dict(kind.cell_terms(self, columns, out))
        labels = self._labels_of(columns, len(y))
        return FittingRows(labels, columns[CELLS], y, weights, wide, folds, soft, self.copies)

    # -- why ------------------------------------------------------------------------------------------------------

    def contributions(self, columns: Matrices, threads: int) -> Contributions:
        """Return the contribution of each column, and then of each pair, to the score of each row.

        The joint part comes from linear terms of all columns at once, and from pairs.
        """
        codes, level, grid, tables = columns[CODES], columns[LEVEL], self.counts.grid, self.tables
        names = [*self.schema.names, *self.pairs]
        out, joint = (np.zeros((len(codes), len(names), len(self.classes))) for _ in range(2))
        place = {name: at for at, name in enumerate(names)}
        for at, (name, table) in enumerate(zip(self.owners, tables.codes.tables, strict=True)):
            known = np.flatnonzero((codes[:, at] >= 0) & (codes[:, at] < len(table)))
            out[known, place[name]] += table[codes[known, at]]
            joint[known, place[name]] += tables.linear[at][codes[known, at]]
        for at, bins in enumerate(grid.numbers):
            sloping = level[:, at : at + 1] * tables.slopes.table[at]
            out[:, place[bins.name]] += sloping
            joint[:, place[bins.name]] += sloping
        for kind in kinds_of(self.recipe):
            for name, scores in kind.contributions(self, columns, threads):
                out[:, place[name]] += scores
                if kind.joint:
                    joint[:, place[name]] += scores
        shown = [place[self.pair_names[pair]] for pair in tables.pairs.pairs]
        of_pairs = tables.pairs.contributions(columns[PAIRS])
        out[:, shown] += of_pairs
        joint[:, shown] += of_pairs
        return Contributions(out, joint)

    @cached_property
    def pairs(self) -> Mapping[str, tuple[str, str]]:
        """The pairs of columns with a contribution beyond both, by the name under which they are shown."""
        names = self.counts.grid.names
        return {shown: (names[i], names[j]) for (i, j), shown in self.pair_names.items()}

    @cached_property
    def pair_names(self) -> dict[tuple[int, int], str]:
        """The names of these pairs by the places of their columns on the grid."""
        names, found, quadratic = self.counts.grid.names, dict[tuple[int, int], str](), self.tables.quadratic
        used = set(self.schema.names)
        for i, j in dict.fromkeys([*self.tables.pairs.pairs, *(quadratic.pairs if quadratic is not None else ())]):
            shown = f"{names[i]} × {names[j]}"
            while shown in used:  # a column, or another pair, may be named so
                shown += " (pair)"
            used.add(shown)
            found[i, j] = shown
        return found

    @cached_property
    def owners(self) -> list[str]:
        """The columns of terms by their place: those of the grid, and those of missing numbers."""
        numbers = self.schema.of_kind("numbers")
        return [*self.counts.grid.names, *(numbers[self.missing_flags[at][0]].name for at in self._used[1])]

    def summary_lines(self) -> list[str]:
        """Return which terms have a weight, and the log loss of held-out rows with them."""
        return [] if self.fit is None else self.fit.describe(self.owners)


def joint_of(counts: Counts, schema: Schema) -> JointCounts:
    """Return the counts of pairs of the columns of a schema."""
    assert counts.joint is not None
    return counts.joint.only(schema.names)


def as_rows_are_read(joint: JointCounts, places: Sequence[Codes]) -> JointCounts:
    """Return counts in which a label that no row is read as is a missing value: rare ones may count as one."""
    grid, read = joint.grid, np.ones(joint.grid.features, dtype=bool)
    for at, known in enumerate(places[: len(grid.labels)], len(grid.numbers)):
        flags = grid.flags(at)
        read[flags] = np.isin(np.arange(flags.stop - flags.start), known)
    if read.all():
        return joint
    return replace(joint, products=joint.products * (read[:, None] & read))
