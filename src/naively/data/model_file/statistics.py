"""A statistic as rows of the table and a line of the footer, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..._types import Floats, JsonObject, Label, Mask
from ...errors import InvalidInput, InvalidSetting
from ...stats import Axis, Moments, Table, WordTable
from ...stats.counts import ColumnStatistic
from ...text import TextReader, Tokens
from ..arrow_arrays import arrow_places, numpy_flags, numpy_floats, numpy_integers
from .labels import decode_labels, encode_labels, from_json, labels_in_json

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
    (found,) = dense_arrays(pieces, (len(classes), 1), np.zeros(1, np.intp), 1)
    return found[:, 0]


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
    found = [] if name == "declared" and entry[name] is True else entry[name]
    need(isinstance(found, list), f"{name} is no list")
    return [from_json(label) for label in found]


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
    place = {text: at for at, text in enumerate(class_texts(classes).to_pylist())}
    places = np.array([place[text] for text in words.dictionary.to_pylist()], np.int32)
    found: Integers = places[numpy_integers(words.indices)]
    return found


def column_without_nulls(rows: pa.Table, name: str) -> pa.Array:
    """Return one column of the rows in one piece."""
    return rows.column(name).combine_chunks()


def need(truth: bool | np.bool_, otherwise: str) -> None:
    """Refuse what a file says where it cannot be true."""
    if not truth:
        raise ValueError(otherwise)
