"""Any table, stream or file → rows with their classes and weights; and their counts, in one call."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from .._progress import progress_shown
from .._threads import allowed
from .._types import ColumnLike, Floats, Label, TableLike
from ..data.column import NOUNS, FamilySettings
from ..data.dict_rows import FewRows, few_rows
from ..data.frame import Frame, frame_of
from ..data.schema import Schema, likely
from ..data.target import Target, check_kinds, target_of
from ..data.values import ColumnValues
from ..errors import InvalidInput, InvalidSetting, WeightWarning, levels_to_caller
from ..errors.message import ANY_VALUE, Message, MessagePart, RowNumber, Setting
from ..files.file import File, file_of
from ..stats import Counts
from ..stats.arithmetic import MOST_WEIGHT, checked_row_weights, weights_of_column
from ..stats.counts import times_class_weights
from .counter import TableCounter
from .files import FileRows, Progress, check_class_names
from .rows import ByClass, Rows, weightless

# `Rows` of a table or `FileRows`: which of both follows from what was given, and callers that take no files know it.
AnyRows: TypeAlias = Any


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
    if few is not None and schema is not None and schema.single:
        source: Frame = FewRows(few, schema)
    else:
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
    n = source.rows
    result = no_labels(n) if y is None and unlabelled == "keep" else target_of(y)
    if not n:
        raise InvalidInput("Found array with 0 sample(s) while a minimum of 1 is required by NaiveBayes.")
    if not source.names:
        raise InvalidInput(f"Found array with 0 feature(s) (shape=({n}, 0)) while a minimum of 1 is required.")
    if result.rows != n:
        raise InvalidInput(
            f"Found input variables with inconsistent numbers of samples: {n} rows and {result.rows} labels."
        )
    return with_labels_only(Rows(source, result, checked_row_weights(weights, n), target), unlabelled)


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
        result = NOUNS[values.type] if isinstance(values, ColumnValues) and values.type else "vectors"
        raise InvalidInput(
            f"The column {name!r} of the weights holds {result}; a row weighs a number of 0 or more.", column=name
        )
    weights = np.asarray(values.numbers(0, frame.rows), dtype=np.float64)
    return rest, weights_of_column(weights, name)


def with_labels_only(rows: Rows, unlabelled: str) -> Rows:
    """Return the rows that have a label, if it may be that some have none; to keep those is to say nothing of them."""
    if unlabelled == "keep":
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


def checked_classes(classes: int | Iterable[Label] | None, rows: Rows | FileRows) -> list[Label]:
    """Return the classes that are declared, if they can be classes of these rows."""
    if isinstance(classes, int | Integral):
        if rows.target.labels:
            raise InvalidSetting(
                Setting("classes", classes),
                " says how many classes there are where no row has a label, but some have one; list the classes "
                f"instead: the labels are {sorted(map(str, rows.target.labels))[:5]}.",
            )
        classes = range(int(classes))
    declared = [] if classes is None else list(classes)
    check_kinds([*declared, *rows.target.labels] if declared else [])
    return declared


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
    weights, file = sample_weight if weight is None else weight, file_of(source)
    frame = None
    if file is None or (y is not None and file.is_stream):
        frame = without_ignored(frame_of(source if file is None else whole_stream(file)), ignore)
    if isinstance(schema, Schema) and (not frame.rows if frame is not None else file is not None and file.is_empty):
        return TableCounter(schema, tuple(classes)).value()
    with progress_shown(progress, "counting") as report:
        rows: AnyRows = labeled_rows(file if frame is None else frame, y, target, weights, unlabelled)
        if frame is None:
            rows.ignore, rows.may_be_empty = tuple(ignore), isinstance(schema, Schema)
            rows.sampling, rows.progress = "nothing", report
        counter = TableCounter(rows.schema(schema), tuple(classes))
        if frame is None:
            rows.source.keep_no_more()
        rows.count(counter, allowed(n_jobs))
        if frame is not None and report is not None:
            report(frame.rows, 0, None)
    counter.drop_types(schema or ())
    return counter.value()


def without_ignored(frame: Frame, ignore: Sequence[str]) -> Frame:
    """Return a frame without some of its columns."""
    for name in ignore:
        if name not in frame.columns:
            raise InvalidInput(f"The table has no column {name!r}{likely(name, frame.names)}", column=name)
    return frame.only([name for name in frame.names if name not in set(ignore)]) if ignore else frame


# -- weights of rows ---------------------------------------------------------------------------------------------------

# Pseudo-counts are worth a row for each value: where ten rows weigh less than one, they say more than the rows do.
LEAST = 0.1

# Fewer rows say little under any weights, and no more than that is chosen from them.
FEW = 50

ClassWeight = str | ByClass | None  # the setting: "balanced", or a weight for each class


def left_out_weights(weights: Floats, copies: bool) -> Floats:
    """Return how much of each row is left out: all of it, but where weights count copies of a row, one of these."""
    return np.minimum(weights, 1.0) if copies else weights


# -- class weights -----------------------------------------------------------------------------------------------------


def class_weights(
    setting: ClassWeight, labels: Sequence[Label], rows: Floats, declared: Sequence[Label] = ()
) -> ByClass | None:
    """Return the weight of a row of each class, given how many rows there are of each; None if all weigh the same.

    "balanced" gives all classes the same weight in sum: N / (K n), as scikit-learn does.
    """
    if setting is None:
        return None
    if isinstance(setting, str):
        seen = rows > 0
        shares = rows.sum() / (np.count_nonzero(seen) * np.where(seen, rows, 1.0))
        return dict(zip(labels, np.where(seen, shares, 1.0).tolist(), strict=True))
    check_class_names(setting, [*labels, *declared])
    return dict(setting)


def class_weights_of(setting: ClassWeight, rows: Rows, declared: Sequence[Label] = ()) -> ByClass | None:
    """Return the weight of a row of each class, from the rows themselves."""
    if setting is None:
        return None
    return class_weights(setting, rows.target.labels, rows.target.totals(rows.weights), declared)


def with_class_weights(rows: Rows, weights: ByClass | None) -> Rows:
    """Return the rows with their weights multiplied by those of their classes; a class that is not named has 1."""
    if weights is None:
        return rows
    factors = np.array([weights.get(label, 1.0) for label in rows.target.labels])
    proportions = rows.target.proportions
    if proportions is not None:
        target = Target.of_proportions(rows.target.labels, proportions * factors, rows.target.dtype)
        return replace(rows, target=target, by_class=weights, own=rows.own_weights)
    product = np.append(factors, 1.0)[rows.target.codes]  # code -1, a row without a label, takes the last
    product = product if rows.weights is None else product * rows.weights
    if not product.any() or product.max() > MOST_WEIGHT:
        result = "nothing" if not product.any() else f"{product.max():g}"
        raise InvalidInput(
            "With ", Setting("class_weight", dict(weights)), f" a row weighs {result}; give other weights."
        )
    return replace(rows, weights=product, by_class=weights, own=rows.own_weights)


def weighted_counts(counts: Counts, setting: ClassWeight) -> tuple[Counts, ByClass | None]:
    """Return counts of rows as if they had been weighed by class, and what each class weighs."""
    if setting is None:
        return counts, None
    labels = counts.classes.labels
    weights = class_weights(setting, labels, counts.rows, () if isinstance(setting, str) else list(setting))
    assert weights is not None
    return times_class_weights(counts, np.array([weights.get(label, 1.0) for label in labels])), weights


def set_file_weights(
    rows: FileRows, setting: ClassWeight, declared: Sequence[Label] = (), normalize: bool = False
) -> None:
    """Let rows of files weigh what their classes do, and so much that their weights sum to the number of rows.

    What follows from all rows takes a pass of its own, which reads the classes and the weights alone.
    """
    if isinstance(setting, Mapping):
        rows.by_class, rows.expected = dict(setting), [label for label in setting if label not in set(declared)]
    normalize = normalize and rows.weight is not None
    if not (normalize or isinstance(setting, str)):
        return
    result = rows.survey()
    labels, sums = list(result.weights), np.array(list(result.weights.values()))
    rows.scale = result.rows / float(sums.sum()) if normalize else 1.0
    if isinstance(setting, str):
        rows.by_class = class_weights(setting, labels, sums)


def refuse_balanced(setting: ClassWeight, what: str) -> None:
    """Refuse to count some rows apart where the weight of each follows from all of them."""
    if isinstance(setting, str):
        raise InvalidSetting(
            Setting("class_weight", "balanced"),
            f" follows from all rows, so {what} cannot know it. Fit with given weights instead, such as ",
            Setting("class_weight", {"spam": 3.0}),
            ".",
        )


# -- the scale of weights ----------------------------------------------------------------------------------------------


def check_scale(weights: Floats | None) -> None:
    """Warn if the weights of rows stand for far fewer rows than there are."""
    if weights is not None:
        warn_of_scale(int(np.count_nonzero(weights)), float(weights.sum()), "w * len(w) / w.sum()")


def check_scale_of_file(rows: FileRows) -> None:
    """Warn if the weights in files stand for far fewer rows than there are."""
    if rows.weight is not None:
        warn_of_scale(*rows.weighed, Setting("normalize_weight", True, of="nv.fit_files(...)"))


def warn_of_scale(rows: int, total: float, normalized: str | MessagePart) -> None:
    """Warn of weights whose sum is far below the number of rows."""
    if rows < FEW or rows * LEAST <= total:
        return
    warnings.warn(
        Message(
            f"The weights of {rows:,} rows sum to {total:.6g}. A weight counts as that many rows; so few "
            "rows are outweighed by the smoothing. If the weights only compare rows, let them sum to the number of "
            "rows: ",
            normalized,
            ".",
        ),
        WeightWarning,
        stacklevel=levels_to_caller(),
    )
