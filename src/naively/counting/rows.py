"""Rows with their classes and weights, from any source → counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from .._progress import progress_shown
from .._threads import allowed
from .._types import CellLike, Codes, ColumnLike, DType, Floats, Hashes, Label, Places, TableLike
from ..data.column import NOUNS, FamilySettings
from ..data.dict_rows import few_rows
from ..data.frame import Frame, frame_of
from ..data.schema import Schema, likely
from ..data.target import SoftLabels, Target, check_kinds, target_of, type_for
from ..data.values import ColumnValues
from ..errors import InvalidInput, InvalidSetting
from ..errors.message import ANY_VALUE, Message, RowNumber, Setting
from ..files.columns import TextsReadAsMissing
from ..files.file import File, file_of
from ..stats import Counts
from ..stats.arithmetic import checked_row_weights, weights_of_column
from .counter import EncodedRows, TableCounter
from .files import ByClass, FileRows, Progress, measured_rows, set_aside_hint
from .first_look import with_cuts, with_word_pairs
from .notes import about_cells, hints_of
from .row_hash import RowHasher, soft_label_hashes
from .wide import check_vector_width, counted_width


@dataclass
class Rows:
    """Rows to count: a frame, or a few dicts, with the class and the weight of each."""

    source: Frame | Sequence[Mapping[str, CellLike]]
    target: Target | SoftLabels
    weights: Floats | None
    called: str | None = None  # the column of the classes, if it is one of the table
    by_class: ByClass | None = None  # the weight of a row of each class, if its weight was multiplied by that
    own: Floats | None = None  # then, the weights before
    hashes: Hashes | None = None  # of the content of each row, once they were needed

    @property
    def own_weights(self) -> Floats | None:
        """The weights of the rows without those of their classes."""
        return self.weights if self.by_class is None else self.own

    def take(self, at: Places) -> Rows:
        """Return some of the rows, in this order."""
        source = self.source.take(at) if isinstance(self.source, Frame) else [self.source[i] for i in at]
        weights, own = (None if part is None else part[at] for part in (self.weights, self.own))
        hashes = None if self.hashes is None else self.hashes[at]
        if isinstance(self.target, SoftLabels):
            target: Target | SoftLabels = self.target._replace(
                proportions=np.ascontiguousarray(self.target.proportions[at])
            )
        else:
            target = self.target._replace(codes=np.ascontiguousarray(self.target.codes[at]))
        return replace(self, source=source, target=target, weights=weights, own=own, hashes=hashes)

    @property
    def named(self) -> bool:
        """Whether the columns have names."""
        return not isinstance(self.source, Frame) or self.source.named

    @property
    def cells(self) -> int:
        """How many cells there are, at most a few too many."""
        return self.source.rows * len(self.source.columns) if isinstance(self.source, Frame) else 0

    @property
    def label_type(self) -> DType:
        """The type to give labels back in."""
        return self.target.dtype

    def schema(self, families: FamilySettings | Schema | None, pairs: bool = True) -> Schema:
        """Return what the columns are; families may say otherwise, or be a whole schema; pairs of words if they may."""
        if isinstance(families, Schema):
            self.source = frame = frame_of(self.source).on(families)
            schema = replace(families, target=self.called or families.target)
        else:
            frame = frame_of(self.source)
            schema = replace(frame.schema(families).with_families(families), target=self.called)
            self.source = frame = frame.on(schema)
            if pairs:
                schema = with_word_pairs(schema, frame.text_bytes)
        return with_cuts(schema, frame, self.weights)


# `Rows` of a table or `FileRows`: which of both follows from what was given, and callers that take no files know it.
AnyRows: TypeAlias = Any


def with_hints(counter: TableCounter, rows: Rows | FileRows) -> Schema:
    """Return the schema of what was counted, with remarks on columns that look odd or were set aside."""
    if isinstance(rows, FileRows):
        aside, file = map(set_aside_hint, rows.set_aside), rows.source
        cells = about_cells(counter.schema, rows.found, file.decimal, file.thousands)
        return replace(counter.schema, hints=(*file.notes(), *cells, *hints_of(counter, rows.first), *aside))
    cells = about_cells(counter.schema, read_as_missing(counter, rows.source))
    return replace(counter.schema, hints=(*cells, *hints_of(counter, rows.source)))


def read_as_missing(counter: TableCounter, source: Frame | Sequence[Mapping[str, CellLike]]) -> TextsReadAsMissing:
    """Return which texts of a table stood for no value, by column: in labels as they were counted, in numbers."""
    found = {coder.column.name: coder.found for coder in counter.coders if coder.found}
    values = source.columns.items() if isinstance(source, Frame) else ()
    return found | {name: one.none for name, one in values if isinstance(one, ColumnValues) and one.none}


def labeled_rows(
    X: TableLike,
    y: ColumnLike,
    target: str | None,
    weights: ColumnLike | str | None,
    unlabelled: str = "error",
    schema: Schema | None = None,
) -> AnyRows:
    """Return the rows of any table or file, with their classes: given apart, or as a column of the table."""
    file = file_of(X)
    if file is not None and file.is_stream and y is not None:
        X, file = whole_stream(file), None
    if file is not None:
        return rows_of_file(file, y, target, weights, unlabelled, schema)
    few = None if schema is None or target is not None or isinstance(weights, str) else few_rows(X, schema)
    source: Frame | list[Mapping[str, CellLike]] = [] if few is None else few
    if few is None or schema is None or not schema.single:
        frame = frame_of(X)
        y = [y] if schema is None and frame.rows == 1 and isinstance(y, (str, int, bool)) else y  # one row, one label
        if target is not None:
            if y is not None:
                raise InvalidInput("Give the classes as y, or the name of their column as target; not both.")
            frame, y = split_column(frame, target)
        if isinstance(weights, str):
            frame, weights = split_weights(frame, weights, target)
        source = frame if schema is None else frame.on(schema)
    alone = type(X) is dict or type(X).__name__ == "Series"
    if alone and target is None and is_label(y) and few_rows(X, schema) is not None:
        y = [y]  # one row, one label
    n = source.rows if isinstance(source, Frame) else len(source)
    found = no_labels(n) if y is None and unlabelled == "keep" else target_of(y)
    if not n:
        raise InvalidInput("Found array with 0 sample(s) while a minimum of 1 is required by NaiveBayes.")
    if isinstance(source, Frame) and not source.columns:
        raise InvalidInput(f"Found array with 0 feature(s) (shape=({n}, 0)) while a minimum of 1 is required.")
    if found.rows != n:
        raise InvalidInput(
            f"Found input variables with inconsistent numbers of samples: {n} rows and {found.rows} labels."
        )
    return with_labels_only(Rows(source, found, checked_row_weights(weights, n), target), unlabelled)


def whole_stream(file: File) -> pa.Table:
    """Return all rows of a stream as a table: their classes are in memory, and so can the rows be."""
    return pa.Table.from_batches([batch for table in file.batches() for batch in table.to_batches()])


def rows_of_file(
    file: File,
    y: ColumnLike,
    target: str | None,
    weight: ColumnLike | str | None,
    unlabelled: str = "error",
    schema: Schema | None = None,
) -> FileRows:
    """Return the rows of files, whose classes and weights are columns of theirs."""
    if y is not None or target is None:
        raise InvalidInput(
            "The classes of rows in a file are a column of the file: give its name as ",
            Setting("target", ANY_VALUE),
            ".",
        )
    if not (weight is None or isinstance(weight, str)):
        raise InvalidInput("The weights of rows in a file are a column of the file: give its name.")
    return FileRows(file, target, weight, unlabelled=unlabelled, asked=schema or ())


def no_labels(rows: int) -> Target:
    """Return the classes of rows none of which has a label."""
    return Target([], np.full(rows, -1, dtype=np.int32), np.dtype(object))


def is_label(y: ColumnLike) -> bool:
    """Return whether this is the label of one row rather than those of several."""
    return isinstance(y, str) or not (y is None or hasattr(y, "__len__") or np.ndim(y))


def split_column(frame: Frame, target: str) -> tuple[Frame, ColumnLike]:
    """Return a frame without the column of the classes, and those."""
    if target not in frame.columns:
        Schema(tuple(frame.schema()))[target]  # says which columns there are
    columns = {name: values for name, values in frame.columns.items() if name != target}
    return Frame(columns, frame.rows, named=frame.named), frame.columns[target].data


def split_weights(frame: Frame, name: str, target: str | None) -> tuple[Frame, Floats]:
    """Return a frame without the column of the weights, and those."""
    if name == target:
        raise InvalidInput(f"{name!r} is the column of the classes, and cannot be that of the weights, too.")
    if not frame.named:
        raise InvalidInput(
            Setting("sample_weight", name),
            " names a column, but the columns of X have no names; give a weight for each row.",
        )
    rest, _ = split_column(frame, name)
    values = frame.columns[name]
    if not isinstance(values, ColumnValues) or values.type not in ("number", "whole", "boolean", None):
        found = NOUNS[values.type] if isinstance(values, ColumnValues) and values.type else "vectors"
        raise InvalidInput(
            f"The column {name!r} of the weights holds {found}; a row weighs a number of 0 or more.", column=name
        )
    weights = np.asarray(values.numbers(0, frame.rows), dtype=np.float64)
    return rest, weights_of_column(weights, name)


def with_labels_only(rows: Rows, unlabelled: str) -> Rows:
    """Return the rows that have a label, if it may be that some have none; to keep those is to say nothing of them."""
    if isinstance(rows.target, SoftLabels) or unlabelled == "keep":
        return rows
    codes = rows.target.codes
    if len(codes) == 1 and codes[0] >= 0:
        return rows  # at once, for those who learn row by row
    none = codes < 0
    if not none.any():
        return rows
    if unlabelled != "skip":
        skip = Message("set ", Setting("unlabelled", "skip"))
        raise InvalidInput(
            RowNumber(int(np.argmax(none))),
            f" has no label: y contains NaN or None in {int(none.sum())} of {len(codes)}. Leave these rows out, or ",
            "use `fit`, the only method that learns from them" if unlabelled == "em" else skip,
            ".",
        )
    if none.all():
        raise InvalidInput("No row has a label: there is nothing to learn from.")
    return weightless(rows)


def weightless(rows: Rows, declared: Sequence[Label] = ()) -> Rows:
    """Return the same rows, those without a label weighing nothing; for a class that is declared, if none has one."""
    if isinstance(rows.target, SoftLabels) or not (none := rows.target.codes < 0).any():
        return rows
    labels, codes, dtype = rows.target
    if not labels:
        labels = list(declared[:1]) or [0]
        dtype = type_for(labels, np.array(declared).dtype)
    weights = np.where(none, 0.0, 1.0 if rows.weights is None else rows.weights)
    target = Target(labels, np.where(none, 0, codes).astype(np.int32), dtype)
    own = None if rows.own is None else np.where(none, 0.0, rows.own)
    return replace(rows, target=target, weights=weights, own=own, hashes=None)


def checked_classes(classes: Iterable[Label] | None, rows: Rows | FileRows) -> list[Label]:
    """Return the classes that are declared, if they can be classes of these rows."""
    declared = [] if classes is None else list(classes)
    check_kinds([*declared, *rows.target.labels] if declared else [])
    return declared


def check_new_classes(counter: TableCounter, labels: Sequence[Label]) -> None:
    """Refuse new classes of another kind than those that were counted before."""
    known = counter.classes.places
    new = [label for label in labels if getattr(label, "__hash__", None) is None or label not in known]
    if new and known:
        check_kinds([next(iter(known)), *new])


def count_rows(counter: TableCounter, rows: Rows | FileRows, threads: int, sampling: bool = False) -> None:
    """Count the rows; an error leaves the counter as it was. If they will be sampled, many are hashed on the way."""
    if isinstance(rows, FileRows):
        apart = counter.empty_like() if counter.rows.any() else counter
        rows.count(apart, threads)
        if apart is not counter:
            counter.absorb(apart)
        return
    check_new_classes(counter, rows.target.labels)
    target, codes = rows.target, counter.classes.codes(rows.target.labels)
    if isinstance(target, SoftLabels):
        counter.add_soft_labels(frame_of(rows.source), codes, target.proportions, rows.weights, threads)
    elif isinstance(rows.source, Frame):
        same = np.array_equal(codes, np.arange(len(codes)))  # as in a first fit, where the counter knew no class
        y = target.codes if same else codes[target.codes]
        if sampling and len(y) > measured_rows(len(counter.of_numbers)):
            found = np.zeros(len(y), dtype=np.uint64)
            counter.add(rows.source, y, rows.weights, threads, hashing(counter, y, rows.own_weights, found, threads))
            rows.hashes = found
        else:
            counter.add(rows.source, y, rows.weights, threads)
    else:
        counter.add_dicts(rows.source, codes[target.codes], rows.weights)


def hashing(
    counter: TableCounter, y: Codes, weights: Floats | None, found: Hashes, threads: int
) -> Callable[[EncodedRows], None]:
    """Return what hashes the rows of one block after the other, given their classes and weights, into zeros."""
    hasher, begin = RowHasher(counter), 0

    def add_block(block: EncodedRows) -> None:
        nonlocal begin
        rows = slice(begin, begin + block.rows)
        hasher.hashes(block, y[rows], None if weights is None else weights[rows], threads, found[rows])
        begin = rows.stop

    return add_block


def hashed_classes(rows: Rows, counter: TableCounter) -> Codes | Hashes:
    """Return the classes of rows as they are hashed: codes that the counter gives them, or hashes of soft labels."""
    if isinstance(rows.target, SoftLabels):
        return soft_label_hashes(rows.target.labels, rows.target.proportions)
    return np.append(counter.classes.codes(rows.target.labels), counter.classes.code(None))[rows.target.codes]


def check_widths(frame: Frame, schema: Schema, counts: Counts) -> None:
    """Refuse vectors of another length than those that were counted."""
    for column in schema.of_kind("vectors"):
        if column.type == "vector":
            check_vector_width(column, frame.vectors(column.name).shape[1], counted_width(counts.columns[column.name]))


def count(
    source: TableLike,
    y: ColumnLike = None,
    *,
    target: str | None = None,
    schema: FamilySettings | Schema | None = None,
    sample_weight: ColumnLike = None,
    ignore: Sequence[str] = (),
    weight: str | None = None,
    unlabelled: str = "error",
    classes: Sequence[Label] = (),
    progress: Progress | bool | None = None,
    n_jobs: int | None = None,
) -> Counts:
    """Count a table, a stream or files: the rows of each class, and a statistic for each column.

    Counts of the same columns add and subtract. `NaiveBayes.from_counts` makes a classifier of them.

    Parameters
    ----------
    source : data frame, array, dict of columns, Arrow stream, path or File
        The rows. Under a `Schema` there may be none, as in a part of a table: the counts are then zero.
    y : array-like of shape (n_rows,), optional
        The class of each row. For files, and instead for tables, give `target`.
    target : str, optional
        The column of the classes.
    schema : Schema or dict, optional
        The columns, or the families of some columns by name. By default they follow from the types.
    sample_weight : array-like of shape (n_rows,) or str, optional
        The weight of each row, or the column of the weights.
    ignore : sequence of str, default=()
        Columns that are not counted.
    weight : str, optional
        The column of the weights; another name of `sample_weight` for files.
    unlabelled : {"error", "skip"}, default="error"
        What to do with rows without a label: refuse them, or skip them.
    classes : sequence of labels, default=()
        Classes that are counted though no row has them, such as those of other parts.
    progress : callable or bool, optional
        Called with the rows and bytes read so far, and the bytes of all files; None if that is not known. True shows a
        bar on stderr, if that is a terminal, from the second second on.
    n_jobs : int, optional
        How many threads count. By default as many as there are processors.

    Returns
    -------
    counts : Counts
        The counts of all rows.

    Examples
    --------
    >>> import naively as nv
    >>> monday = nv.count({"sky": ["rain", "sunny"]}, ["in", "out"])
    >>> tuesday = nv.count({"sky": ["rain", "rain"]}, ["in", "out"])
    >>> monday + tuesday
    Counts: 4 rows (in: 2, out: 2), 1 columns
    >>> (monday + tuesday) - tuesday == monday
    True
    """
    if unlabelled not in ("error", "skip"):
        raise InvalidSetting(Setting("unlabelled", unlabelled), " must be 'error' or 'skip'.")
    weights = sample_weight if weight is None else weight
    file = file_of(source)
    if file is not None and (y is None or not file.is_stream):
        rows = rows_of_file(file, y, target, weights, unlabelled, None)
        rows.ignore, rows.may_be_empty = tuple(ignore), isinstance(schema, Schema)
        with progress_shown(progress, "counting") as rows.progress:
            return counted_file(rows, schema, classes, n_jobs)
    frame = without_ignored(frame_of(source if file is None else whole_stream(file)), ignore)
    if not frame.rows and isinstance(schema, Schema):
        return TableCounter(schema, tuple(classes)).value()
    found: Rows = labeled_rows(frame, y, target, weights, unlabelled)
    counter = TableCounter(found.schema(schema), tuple(classes))
    count_rows(counter, found, allowed(n_jobs))
    counter.drop_types(schema or ())
    with progress_shown(progress, "counting") as report:
        if report is not None:
            report(frame.rows, 0, None)
    return counter.value()


def counted_file(
    rows: FileRows, schema: FamilySettings | Schema | None, classes: Sequence[Label], n_jobs: int | None
) -> Counts:
    """Return the counts of rows of files or of a stream, in one pass if the schema needs no other."""
    if rows.source.is_empty and isinstance(schema, Schema):
        return TableCounter(schema, tuple(classes)).value()
    counter = TableCounter(rows.schema(schema), tuple(classes))
    rows.source.keep_no_more()
    count_rows(counter, rows, allowed(n_jobs))
    counter.drop_types(schema or ())
    return counter.value()


def without_ignored(frame: Frame, ignore: Sequence[str]) -> Frame:
    """Return a frame without some of its columns."""
    for name in ignore:
        if name not in frame.columns:
            raise InvalidInput(f"The table has no column {name!r}{likely(name, frame.names)}", column=name)
    return frame.only([name for name in frame.names if name not in set(ignore)]) if ignore else frame
