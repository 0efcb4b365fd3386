"""Rows in memory: their columns, classes, weights and content hashes; and what is decided before they are counted.

That is where bins are cut, and whether pairs of words are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._types import Codes, DType, Floats, Hashes, Label, Places
from ..data.column import Column, FamilySettings
from ..data.dict_rows import FewRows
from ..data.frame import Frame
from ..data.joining import joined_frames, owned_frame
from ..data.schema import Schema
from ..data.target import Target, check_kinds, type_for
from ..data.values import ColumnValues
from ..errors.message import Message
from ..families import Bins, Gaussian, Words
from ..files.columns import TextsReadAsMissing
from ..stats import Counts
from . import row_hash
from .arrays import check_vector_width, counted_width
from .counter import EncodedRows, TableCounter
from .notes import about_cells, hints_of
from .row_hash import RowHasher, frame_hashes, smallest_places, target_hashes

# Pairs of words are counted beside single words if all texts of a column take up to so many bytes: of more, they would
# be too many, and single words tell nearly as much.
PAIRED = 1 << 26


def with_word_pairs(schema: Schema, size: Callable[[str], float]) -> Schema:
    """Return the schema with pairs of words set where that is open; `size` returns the bytes of a column."""
    families = {}
    for column in schema.of_kind("vectors"):
        if isinstance(column.family, Words) and column.type == "text" and column.family.may_pair:
            families[column.name] = replace(column.family, pairs=size(column.name) <= PAIRED)
    return schema.with_families(families)


def uncut_columns(schema: Schema) -> tuple[Column, ...]:
    """Return the columns of bins without cuts, as columns of numbers."""
    result = (column for column in schema if isinstance(column.family, Bins) and column.family.cuts is None)
    return tuple(replace(column, family=Gaussian()) for column in result)


def with_cuts(schema: Schema, frame: Frame, weights: Floats | None) -> Schema:
    """Return the schema with all bins cut: about equally many of these rows fall into each."""
    names = [column.name for column in uncut_columns(schema)]
    if not names:
        return schema
    at = np.arange(frame.rows) if weights is None else np.flatnonzero(weights > 0)
    if len(at) > 2 * row_hash.KEPT:
        at = smallest_places(cell_hashes(frame, uncut_columns(schema), weights), row_hash.KEPT, weights)
    w = np.ones(len(at)) if weights is None else weights[at]
    families = {}
    for name in names:
        values = frame.columns[name]
        values.check(schema[name])
        families[name] = schema[name].family.cut(values.numbers(0, frame.rows)[at], w)  # type: ignore[attr-defined]  # only bins are cut
    return schema.with_families(families)


def cell_hashes(frame: Frame, columns: Sequence[Column], weights: Floats | None) -> Hashes:
    """Return hashes of rows by some columns and their weights; not by their classes, which must not place cuts."""
    hasher = RowHasher(TableCounter(Schema(tuple(columns))))
    return frame_hashes(hasher, frame, np.zeros(frame.rows, dtype=np.uint64), weights, 1)


# Rows on which the mutual information of numbers is measured, at most; of wide tables fewer, for all cells together are
# bounded, but some in any case.
MEASURED, CELLS, FEWEST = 1 << 14, 1 << 22, 1 << 11
# The proportions of a row sum to 1 up to rounding; its weight is a whole number then.
ROUNDING = 1e-9

ByClass = Mapping[Label, float]  # the weight of a row of each class


@dataclass
class Rows:
    """Rows to count: a frame, with the class and the weight of each."""

    source: Frame
    target: Target
    weights: Floats | None = None
    called: str | None = None  # the column of the classes, if it is one of the table
    by_class: ByClass | None = None  # the weight of a row of each class, if its weight was multiplied by that
    own: Floats | None = None  # then, the weights before
    hashes: Hashes | None = None  # of the content of each row, once they were needed
    folds: Codes | None = None  # which fold each row is in, if they are split

    @property
    def own_weights(self) -> Floats | None:
        """The weights of the rows without those of their classes."""
        return self.weights if self.by_class is None else self.own

    @property
    def named(self) -> bool:
        """Whether the columns have names."""
        return self.source.named

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return self.source.cells

    @property
    def label_type(self) -> DType:
        """The type to give labels back in."""
        return self.target.dtype

    def take(self, at: Places) -> Rows:
        """Return some of the rows, in this order."""
        arrays = {name: getattr(self, name) for name in ("weights", "own", "hashes", "folds")}
        taken = {name: None if array is None else array[at] for name, array in arrays.items()}
        return replace(self, source=self.source.take(at), target=self.target.take(at), **taken)

    def schema(self, families: FamilySettings | Schema | None, pairs: bool = True) -> Schema:
        """Return what the columns are; families may say otherwise, or be a whole schema; pairs of words if they may."""
        if isinstance(families, Schema):
            schema = replace(families, target=self.called or families.target)
            self.source = self.source.on(schema)
        else:
            schema = replace(self.source.schema(families).with_families(families), target=self.called)
            self.source = self.source.on(schema)
            if pairs:
                schema = with_word_pairs(schema, self.source.text_bytes)
        return with_cuts(schema, self.source, self.weights)

    # -- counting -----------------------------------------------------------------------------------------------

    def count(self, counter: TableCounter, threads: int, sampling: bool = False) -> None:
        """Count the rows; an error leaves the counter as it was. If they will be sampled, many are hashed as well."""
        check_new_classes(counter, self.target.labels)
        if isinstance(self.source, FewRows) and not self.target.soft:
            codes = counter.classes.codes(self.target.labels)
            counter.add_dicts(self.source.dicts, codes[self.target.codes], self.weights)
            return
        hashes, also = None, None
        if sampling and not self.target.soft and self.target.rows > measured_rows(len(counter.of_numbers)):
            hashes = np.zeros(self.target.rows, dtype=np.uint64)
            also = self._hashing(counter, hashes, threads)
        counter.add(self.source, self.target, self.weights, threads, also)
        self.hashes = self.hashes if hashes is None else hashes

    def _hashing(self, counter: TableCounter, hashes: Hashes, threads: int) -> Callable[[EncodedRows], None]:
        """Return what hashes the rows of one block after the other, into zeros."""
        hasher, begin, weights = RowHasher(counter), 0, self.own_weights
        codes = counter.classes.codes(self.target.labels)

        def add_block(block: EncodedRows) -> None:
            nonlocal begin
            rows = slice(begin, begin + block.rows)
            y = codes[self.target.codes[rows]]
            hasher.hashes(block, y, None if weights is None else weights[rows], threads, hashes[rows])
            begin = rows.stop

        return add_block

    def hashed(self, schema: Schema, threads: int) -> Hashes:
        """Return the hash of each row's content; rows that were hashed when they were counted are not hashed again."""
        if self.hashes is None:
            hasher = RowHasher(TableCounter(schema))
            y = target_hashes(self.target, hasher.counter)
            self.hashes = frame_hashes(hasher, self.source.on(schema), y, self.own_weights, threads)
        return self.hashes

    def hints(self, counter: TableCounter) -> tuple[Message, ...]:
        """Return remarks on columns that look odd, once they were counted."""
        missing: TextsReadAsMissing = {coder.column.name: coder.found for coder in counter.coders if coder.found}
        columns = self.source.columns.items()
        missing |= {name: one.none for name, one in columns if isinstance(one, ColumnValues) and one.none}
        return (*about_cells(counter.schema, missing), *hints_of(counter, self.source))

    def heaviest(self, counter: TableCounter) -> ByClass | None:
        """Return the weight of the heaviest row of each class; None if weights, if there are some, count copies."""
        target, labels = self.target, list(counter.classes.places)
        if target.soft or self.weights is None or are_copies(self.weights, target.codes):
            return None
        places = np.append(counter.classes.codes(target.labels), 0)  # a row without a label weighs nothing
        heaviest = np.zeros(len(labels))
        np.maximum.at(heaviest, places[target.codes], self.weights)
        return dict(zip(labels, heaviest.tolist(), strict=False))

    # -- as other rows ------------------------------------------------------------------------------------------

    def owned(self, schema: Schema, at: Places | None = None) -> Rows:
        """Return rows, or some of them, that share no memory with the table they came in, and weigh their own weights.

        A few rows as dicts stay dicts, of the columns of the schema.
        """
        rows = replace(self, weights=self.own_weights, own=None, by_class=None)
        if isinstance(self.source, FewRows):
            cells = [{name: row.get(name) for name in schema.names} for row in self.source.dicts]
            return replace(rows, source=FewRows(cells, schema), hashes=None)
        rows.source = self.source.on(schema)
        rows = rows.take(np.arange(self.target.rows) if at is None else at)
        return replace(rows, source=owned_frame(rows.source))

    @staticmethod
    def joined(parts: Sequence[Rows], schema: Schema) -> Rows:
        """Return the rows of several parts, one after the other; the type of the labels is that of the first."""
        if len(parts) == 1:
            return parts[0]
        target = Target.joined([part.target for part in parts])
        weights = [np.ones(part.target.rows) if part.weights is None else part.weights for part in parts]
        hashes = [part.hashes for part in parts if part.hashes is not None]
        folds = [part.folds for part in parts if part.folds is not None]
        return Rows(
            joined_frames([part.source.on(schema) for part in parts]),
            target,
            None if all(part.weights is None for part in parts) else np.concatenate(weights),
            next((part.called for part in parts if part.called is not None), None),
            hashes=np.concatenate(hashes) if len(hashes) == len(parts) else None,
            folds=np.concatenate(folds) if len(folds) == len(parts) else None,
        )

    def most_probable(self, schema: Schema, threads: int) -> Rows:
        """Return rows with soft labels as rows of the most probable class, which weigh what all their classes do.

        Samples are the same, whichever of both they are drawn from.
        """
        proportions = self.target.proportions
        if proportions is None:
            return self
        total = proportions.sum(axis=1)
        weights = total if self.weights is None else total * self.weights
        whole = np.rint(weights)
        weights = np.where(np.abs(weights - whole) <= ROUNDING * whole, whole, weights)
        plain = None if self.weights is None and (weights == 1).all() else weights
        hard = self.target._replace(proportions=None)
        return replace(self, target=hard, weights=plain, hashes=self.hashed(schema, threads))

    def blocks(self, counter: TableCounter) -> Iterator[tuple[Frame, Codes, Floats | None]]:
        """Give the rows with the codes of their classes: soft labels for each class, weighted by its proportions."""
        codes = counter.classes.codes(self.target.labels)
        for y, weights in self.target.pairs(self.weights):
            heavy = None if weights is None or not self.target.soft else np.flatnonzero(weights)
            if weights is None or heavy is None or len(heavy) == len(y):
                yield self.source, codes[y], weights
            else:
                yield self.source.take(heavy), codes[y[heavy]], weights[heavy]


def measured_rows(columns: int) -> int:
    """Return on how many rows the mutual information of so many columns of numbers is measured."""
    return int(np.clip(CELLS // max(columns, 1), FEWEST, MEASURED))


def are_copies(weights: Floats | None, y: Codes) -> bool:
    """Return whether row weights count copies of rows, as whole numbers do unless they follow from the class alone."""
    if weights is None:
        return True
    if (weights != np.floor(weights)).any():
        return False
    first = np.zeros(int(y.max()) + 1)
    first[y] = weights
    return bool((weights != first[y]).any() or np.ptp(weights) == 0)


def weightless(rows: Rows, declared: Sequence[Label] = ()) -> Rows:
    """Return the same rows, those without a label weighing nothing; for a class that is declared, if none has one."""
    target, none = rows.target, rows.target.codes < 0
    if not none.any():
        return rows
    labels, dtype = target.labels, target.dtype
    if not labels:
        labels = list(declared[:1]) or [0]
        dtype = type_for(labels, np.array(declared).dtype)
    weights = np.where(none, 0.0, 1.0 if rows.weights is None else rows.weights)
    target = Target(labels, np.where(none, 0, target.codes).astype(np.int32), dtype)
    own = None if rows.own is None else np.where(none, 0.0, rows.own)
    return replace(rows, target=target, weights=weights, own=own, hashes=None)


def check_new_classes(counter: TableCounter, labels: Sequence[Label]) -> None:
    """Refuse new classes of another kind than those that were counted before."""
    known = counter.classes.places
    new = [label for label in labels if getattr(label, "__hash__", None) is None or label not in known]
    if new and known:
        check_kinds([next(iter(known)), *new])


def check_widths(frame: Frame, schema: Schema, counts: Counts) -> None:
    """Refuse vectors of another length than those that were counted."""
    for column in schema.of_kind("vectors"):
        if column.type == "vector":
            check_vector_width(column, frame.vectors(column.name).shape[1], counted_width(counts.columns[column.name]))
