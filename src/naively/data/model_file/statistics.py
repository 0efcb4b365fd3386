"""Labels as texts, and a statistic as rows of the table and a line of the footer; and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..._frames import is_of_pandas
from ..._types import CellLike, Floats, Json, JsonObject, Label, Mask
from ...errors import InvalidInput, InvalidSetting
from ...stats import Axis, Moments, Table, WordTable
from ...stats.axis import sort_key
from ...stats.counts import ColumnStatistic
from ...text import TextReader, Tokens
from ..cell_format import arrow_places, arrow_strings, numpy_flags, numpy_floats, numpy_integers

MIXED = "mixed"
NUMPY_KINDS = "biufU"  # scalars of NumPy that count as Python's own: booleans, whole numbers, numbers, texts


class Kind(NamedTuple):
    """A type of labels: its name in files, how Python writes one as text, and what Arrow reads the texts as."""

    name: str
    text: Callable[[CellLike], str]
    arrow: pa.DataType


KINDS = {
    str: Kind("text", str, pa.large_string()),
    int: Kind("int", str, pa.int64()),
    float: Kind("float", repr, pa.float64()),
    bool: Kind("bool", lambda label: "true" if label else "false", pa.bool_()),
    date: Kind("date", date.isoformat, pa.date32()),
    datetime: Kind("datetime", datetime.isoformat, pa.timestamp("us")),
}
BY_NAME = {kind.name: kind for kind in KINDS.values()}


def python_labels_of(labels: Iterable[Label]) -> list[Label]:
    """Return the labels as values of Python's own types, if a file can hold them."""
    result = list(labels)
    return result if set(map(type, result)) == {str} else [plain_label(label) for label in result]


def plain_label(label: Label) -> Label:
    """Return one label as a value of Python's own types."""
    if isinstance(label, np.generic) and label.dtype.kind in NUMPY_KINDS:
        label = label.item()
    # A time zone has rules that a file cannot hold; a number that is none equals no label, not even itself.
    in_zone = isinstance(label, datetime) and label.tzinfo is not None
    if pandas_kind(label) and label == label:
        return label
    if label is not None and (type(label) not in KINDS or in_zone or label != label):
        raise InvalidInput(
            f"a file cannot hold the label {label!r} ({type(label).__name__}); "
            "labels may be text, numbers, True and False, dates, times without a zone, and pandas' periods and "
            "intervals of numbers."
        )
    return label


def pandas_kind(label: CellLike) -> str | None:
    """Return whether a label is an interval of numbers or a period of pandas, which JSON describes; None if neither."""
    if is_of_pandas(label, "Interval") and isinstance(label.left, (int, float, np.integer, np.floating)):
        return "interval"
    return "period" if is_of_pandas(label, "Period") else None


def encode_labels(labels: Iterable[Label]) -> tuple[str, pa.Array]:
    """Return the name of the type that all labels have, and their texts as an Arrow array."""
    values = python_labels_of(labels)
    types = {type(label) for label in values if label is not None}
    kind = KINDS.get(types.pop() if types else str) if len(types) < 2 else None
    if kind is KINDS[int] and not all(-(2**63) <= label < 2**63 for label in values if isinstance(label, int)):
        kind = None  # Arrow has no room for them; JSON has
    text = json_text if kind is None else kind.text
    try:
        texts = arrow_strings([None if label is None else text(label) for label in values])
    except UnicodeEncodeError as error:
        raise InvalidInput(f"a file cannot hold the text {error.object!r}: it is no valid Unicode.") from None
    return (MIXED if kind is None else kind.name), texts


def decode_labels(name: str, texts: pa.Array) -> Sequence[Label] | pa.Array:
    """Return the labels of these texts, an Arrow array or a tuple; they must be in order, so that each stands once."""
    if name == MIXED:
        labels = tuple(None if text is None else from_json(json.loads(text)) for text in texts.to_pylist())
        in_order = all(sort_key(a) < sort_key(b) for a, b in pairwise(labels))
    else:
        labels = texts.cast(BY_NAME[name].arrow)
        known = labels[: len(labels) - labels.null_count]
        in_order = known.null_count == 0 and labels.null_count < 2  # the missing one is the last
        in_order = in_order and pc.all(pc.less(known[:-1], known[1:])).as_py() is not False
        in_order = in_order and not (name == "float" and pc.any(pc.is_nan(known)).as_py())
    if not in_order:
        raise ValueError("labels are not in order")
    return labels


def to_json(label: CellLike) -> Json:
    """Return a label as JSON: itself, but for dates, times, intervals and periods, which name their type."""
    if pandas_kind(label) == "interval":
        return {"interval": [plain_label(label.left), plain_label(label.right), label.closed]}
    if pandas_kind(label) == "period":
        return {"period": [str(label), label.freqstr]}
    kind = KINDS.get(type(label))
    return {kind.name: kind.text(label)} if kind and isinstance(label, date) else label


def from_json(value: Json) -> Label:
    """Return the label that was written as this JSON."""
    if isinstance(value, dict):
        ((name, text),) = value.items()
        if name in ("interval", "period"):
            pandas = import_module("pandas")
            label: Label = pandas.Interval(*text) if name == "interval" else pandas.Period(*text)
            return label
        return {"date": date, "datetime": datetime}[name].fromisoformat(text)
    return plain_label(value)


def json_text(label: Label) -> str:
    """Return a label as the text of its JSON."""
    return json.dumps(to_json(label), ensure_ascii=False)


def labels_in_json(labels: Iterable[Label]) -> list[Json]:
    """Return labels as a list for JSON."""
    return [to_json(label) for label in python_labels_of(labels)]


WORD = pa.dictionary(pa.int32(), pa.string())
TEXT = pa.large_string()
WORDS = ["column", "class"]
PARTS = {"n": "n", "shift": "shift", "sum": "total", "squares": "squares"}  # columns of numbers, and what they hold
SCHEMA = pa.schema(
    [("column", WORD), ("value", TEXT), ("class", WORD)]
    + [(name, pa.float64()) for name in PARTS]
    + [("data", pa.large_binary())]
)
# What is read of each kind; columns that are empty anyway would only cost room.
COUNTED = ["column", "value", "class", "n"]
NEEDED = {"rows": COUNTED, "table": COUNTED, "moments": [*COUNTED, "shift", "sum", "squares"]}
NEEDED |= {"words": [*COUNTED, "sum"]}
# Where the numbers of each kind stand.
PLACES = {"table": ["n"], "moments": [*PARTS], "words": ["n", "sum"]}

Integers = npt.NDArray[np.integer[Any]]

# -- to rows ------------------------------------------------------------------------------------------------------


def statistic_rows(name: str, statistic: ColumnStatistic, classes: JsonObject) -> tuple[JsonObject, pa.Table]:
    """Return what the footer says about a column, and its rows of the table."""
    if isinstance(statistic, WordTable):
        kind, values, arrays = "words", statistic.values, [statistic.n, statistic.n_texts]
    elif isinstance(statistic, Table):
        kind, values, arrays = "table", statistic.values, [statistic.n]
    elif isinstance(statistic, Moments):
        kind, values, arrays = "moments", statistic.columns, [getattr(statistic, part) for part in PARTS.values()]
    else:
        raise InvalidInput(
            f"column {name!r} is counted as {type(statistic).__name__}; a file holds tables and moments, so "
            "count each column of the matrix by itself.",
            column=name,
        )
    if not sound(*arrays):
        raise InvalidInput(f"column {name!r} holds counts that are negative or not finite.", column=name)
    of, texts = in_text(values)
    rows = cell_rows(name, statistic.classes, texts, arrays, PLACES[kind])
    seen = np.any([stored(array).any(axis=0) for array in arrays], axis=0)
    entry = {"name": name, "kind": kind, "rows": len(rows), "values": described(values, of, seen)}
    if isinstance(statistic, WordTable):
        entry |= {"tokens": statistic.lexicon.tokens.to_json(), "fixed": statistic.lexicon.fixed}
    own = described(statistic.classes)
    # Compared as text, because for Python 1 is True and both are 1.0.
    return (entry if json.dumps(own) == json.dumps(classes) else entry | {"classes": own}), rows


def rows_of_classes(classes: Axis, rows: Floats, name: str | None = None) -> pa.Table:
    """Return the rows of the table that say how many rows each class has."""
    if not sound(rows):
        raise InvalidInput("numbers of rows are negative or not finite.")
    return cell_rows(name, classes, pa.nulls(1, TEXT), [rows[:, None]])


def row_groups(rows: pa.Table, most: int) -> Iterable[pa.Table]:
    """Return the rows in groups of about so many, none of which begins amid the rows of a value."""
    start, values = 0, column_without_nulls(rows, "value")
    while start < len(rows):
        end = start + most
        while end < len(rows) and values[end] == values[end - 1]:
            end += 1
        yield rows.slice(start, end - start)
        start = end


def cell_rows(
    name: str | None, classes: Axis, texts: pa.Array, arrays: list[Floats], parts: Iterable[str] = tuple(PARTS)
) -> pa.Table:
    """Return the rows of the table for arrays [class, value]: value by value, and class by class."""
    at_value, at_class = np.nonzero(np.any([stored(array).T for array in arrays], axis=0))
    columns = {field.name: pa.nulls(len(at_value), field.type) for field in SCHEMA}
    if name is not None:
        columns["column"] = pa.DictionaryArray.from_arrays(np.zeros(len(at_value), np.int32), [name])
    columns["value"] = texts.take(pa.array(at_value))
    columns["class"] = pa.DictionaryArray.from_arrays(at_class.astype(np.int32), class_texts(classes))
    columns |= {part: pa.array(array[at_class, at_value]) for part, array in zip(parts, arrays, strict=False)}
    return pa.table(columns, SCHEMA)


def described(axis: Axis, of: str | None = None, seen: Mask | None = None) -> JsonObject:
    """Return what the footer says about an axis, with those of its labels that no row has."""
    if isinstance(axis.labels, range):
        return {"numbered": len(axis)}
    without_rows = (
        axis.labels if seen is None else [label for label, row in zip(axis.labels, seen, strict=True) if not row]
    )
    whole = len(axis.fixed) == len(axis)
    declared = whole or labels_in_json([label for label in axis.labels if label in axis.fixed])
    return {"type": of or in_text(axis)[0], "labels": labels_in_json(without_rows), "declared": declared}


def in_text(axis: Axis) -> tuple[str, pa.Array]:
    """Return the name of the type of an axis, and its labels as texts."""
    if isinstance(axis.labels, range):
        return "int", pa.array(np.arange(len(axis))).cast(TEXT)
    return encode_labels(axis.labels)


def class_texts(classes: Axis) -> pa.Array:
    """Return the classes as texts."""
    texts = in_text(classes)[1]
    if texts.null_count:
        raise InvalidInput("a class is None; give it a name.")
    return texts.cast(pa.string())


def stored(array: Floats) -> Mask:
    """Tell which cells need a row: all but those that are zero to the last bit, which -0.0 is not."""
    bits: Mask = np.ascontiguousarray(array).view(np.int64) != 0
    return bits


def sound(n: Floats, *others: Floats) -> bool:
    """Return whether these can be counts, alone or with numbers of texts, or with shifts, sums and squares."""
    finite = all(np.isfinite(array).all() for array in (n, *others))
    return finite and all((array >= 0).all() for array in (n, *(others if len(others) == 1 else others[2:])))


# -- from rows ----------------------------------------------------------------------------------------------------


class RowGroup(NamedTuple):
    """Rows of the table, of one row group: the places of their classes and values, their numbers, and the values."""

    classes: Integers
    values: Integers
    numbers: list[Floats]
    texts: pa.Array


def class_axis(entry: JsonObject) -> Axis:
    """Return the axis of the classes, all of which the footer lists."""
    return axis_of(entry, [])[0]


def row_group(rows: pa.Table, name: str | None, classes: Axis) -> RowGroup:
    """Return the rows of one row group, of whose texts only the different ones are kept: that saves most room."""
    need(
        column_without_nulls(rows, "column").unique().to_pylist() == [name],
        f"rows of column {name!r} are not where they should be",
    )
    numbers = [numpy_floats(column_without_nulls(rows, part)) for part in PARTS if part in rows.column_names]
    index, texts = run_lengths(column_without_nulls(rows, "value").cast(TEXT))
    return RowGroup(class_codes(column_without_nulls(rows, "class"), classes), index, numbers, texts)


def rows_by_class(classes: Axis, pieces: list[RowGroup]) -> Floats:
    """Return how many rows each class has."""
    (result,) = dense_arrays(pieces, (len(classes), 1), np.zeros(1, np.intp), 1)
    return result[:, 0]


def stored_statistic(entry: JsonObject, classes: Axis, pieces: list[RowGroup]) -> Table | Moments | WordTable:
    """Return the statistic of a column from its line in the footer and its rows."""
    values, places = axis_of(entry["values"], [part.texts for part in pieces])
    shape = len(classes), len(values)
    if entry["kind"] == "words":
        return stored_words(entry, classes, values, dense_arrays(pieces, shape, places, 2))
    if entry["kind"] == "table":
        return Table(classes, values, *dense_arrays(pieces, shape, places, 1))
    return Moments(classes, values, *dense_arrays(pieces, shape, places, len(PARTS)))


def stored_words(entry: JsonObject, classes: Axis, values: Axis, arrays: list[Floats]) -> WordTable:
    """Return the counts of words, which are numbered in the order of their names from now on."""
    tokens = stored_tokens(entry["tokens"])
    numbered = isinstance(values.labels, range)
    need(numbered == (tokens.hash_width is not None), "words have numbers and names")
    need(not numbered or len(values) == tokens.hash_width, "a hash has another width")
    names = () if numbered else [str(name) for name in values.labels]
    reader = TextReader(tokens, names, fixed=bool(entry["fixed"]))
    need(len(reader) == len(values), "a word stands twice")
    return WordTable(classes, reader, *arrays)


def stored_tokens(entry: JsonObject) -> Tokens:
    """Return how texts were taken apart, as the footer says."""
    try:
        tokens = Tokens.from_json(entry)
    except InvalidSetting as error:
        raise ValueError(str(error)) from None
    functions = (function for function in (tokens.preprocessor, tokens.tokenizer) if function is not None)
    need(all(map(callable, functions)), "texts are split into words by what is no function")
    return tokens


def dense_arrays(pieces: list[RowGroup], shape: tuple[int, int], places: Integers, parts: int) -> list[Floats]:
    """Return the arrays [class, value] of the rows, zero where there is none; places are those of the seen values."""
    arrays, taken, seen = [np.zeros(shape) for _ in range(parts)], np.zeros(shape, np.bool_), 0
    for classes, values, numbers, texts in pieces:
        at = classes.astype(np.intp) * shape[1] + places[seen : seen + len(texts)][values]
        taken.ravel()[at] = True
        for array, given in zip(arrays, numbers, strict=True):
            array.ravel()[at] = given
        seen += len(texts)
    need(np.count_nonzero(taken) == sum(len(part.values) for part in pieces), "a cell stands twice")
    need(sound(*arrays), "counts are negative or not finite")
    for array in arrays:
        array.flags.writeable = False  # so that the statistic need not copy it
    return arrays


def axis_of(entry: JsonObject, groups: list[pa.Array]) -> tuple[Axis, Integers]:
    """Return the axis that the footer describes, with the labels that are seen, and their places."""
    texts = pa.chunked_array(groups, TEXT)
    texts.validate(full=True)  # what is no text is found now, and not when the labels are asked for
    if "numbered" in entry:
        axis, places = Axis.numbered(entry["numbered"]), numpy_integers(texts.cast(pa.int64()).combine_chunks())
        need(len(texts) == 0 or 0 <= places.min() <= places.max() < len(axis), "a number lies outside its axis")
        return axis, places
    seen = Axis.ordered(decode_labels(entry["type"], texts))
    without_rows, declared = (stored_labels(entry, name) for name in ("labels", "declared"))
    if not without_rows and not declared:  # the usual case, in which no label need become a value of Python
        axis = Axis.ordered(seen.labels, seen.labels) if entry["declared"] is True else seen
        return axis, np.arange(len(seen), dtype=np.int32)
    known = (*seen.labels, *without_rows)
    axis = Axis(known, known if entry["declared"] is True else declared)
    need(len(axis) == len(known) == len({*known}), "a label stands twice, or is declared and not there")
    return axis, axis.places(seen.labels)


def stored_labels(entry: JsonObject, name: str) -> list[Label]:
    """Return the labels listed under this name; that all are declared is said without a list."""
    result = [] if name == "declared" and entry[name] is True else entry[name]
    need(isinstance(result, list), f"{name} is no list")
    return [from_json(label) for label in result]


def run_lengths(texts: pa.Array) -> tuple[Integers, pa.Array]:
    """Return which of the different texts each row has, and these: equal ones stand together, missing ones last."""
    known = texts[: len(texts) - texts.null_count]
    need(known.null_count == 0, "a missing value is not the last")
    new = np.zeros(len(texts), np.bool_)
    new[:1], new[len(known) : len(known) + 1] = True, True
    new[1 : len(known)] = numpy_flags(pc.not_equal(known[1:], known[:-1]))
    return np.cumsum(new, dtype=np.int32) - 1, texts.take(arrow_places(np.flatnonzero(new)))


def class_codes(words: pa.Array, classes: Axis) -> Integers:
    """Return the place of each row's class."""
    need(words.null_count == 0, "a row has no class")
    place = {text: index for index, text in enumerate(class_texts(classes).to_pylist())}
    places = np.array([place[text] for text in words.dictionary.to_pylist()], np.int32)
    result: Integers = places[numpy_integers(words.indices)]
    return result


def column_without_nulls(rows: pa.Table, name: str) -> pa.Array:
    """Return one column of the rows in one piece."""
    return rows.column(name).combine_chunks()


def need(truth: bool | np.bool_, otherwise: str) -> None:
    """Refuse what a file says where it cannot be true."""
    if not truth:
        raise ValueError(otherwise)
