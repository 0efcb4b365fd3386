"""Columns counted together as rows of the table: the sums of products of their features, and fine bins of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from ..._types import Floats, JsonObject
from ...errors import InvalidInput
from ...stats import Axis
from ...stats.pairs import JointCounts
from ..arrow_arrays import numpy_floats, numpy_integers
from .labels import encode_labels
from .statistics import SCHEMA, TEXT, Integers, RowGroup, class_codes, class_texts, column_without_nulls, need, stored

if TYPE_CHECKING:
    from ..grid import Grid

MARK, EXPECTED_MARK, LEVEL = "(together)", "(expected together)", "level"

Name = tuple[str, str | None]


class Sums(NamedTuple):
    """What a file holds of columns jointly: names of features and bins, and what a Joint of them holds."""

    features: list[Name]
    bins: list[Name]
    fine: Floats
    products: Floats


def names_of(grid: Grid, mark: str = MARK) -> tuple[list[Name], list[Name]]:
    """Return the column and the value of each feature of a grid, and those of each fine bin."""
    flags = [(f"{mark} {bins.name}", str(at)) for bins in grid.numbers for at in range(bins.size)]
    for values in grid.labels:
        flags += [(f"{mark} {values.name}", text) for text in encode_labels(values.labels)[1].to_pylist()]
    levels = [(f"{mark} {bins.name}", LEVEL) for bins in grid.numbers]
    fine = [(f"{mark} {bins.name}", str(at)) for bins in grid.numbers for at in range(len(bins.coarse))]
    return [(mark, None), *flags, *levels], list(fine)


# -- to rows ------------------------------------------------------------------------------------------------------


def joint_rows(joint: JointCounts, mark: str = MARK) -> tuple[JsonObject, pa.Table]:
    """Return what the footer says about columns counted together, and their rows of the table."""
    features, bins = names_of(joint.grid, mark)
    if not all_sound(joint.fine, joint.products, len(joint.grid.numbers)):
        raise InvalidInput("joint counts of columns hold values that are negative or not finite.")
    fine = pair_rows(joint.classes, bins, None, joint.fine[:, :, None])
    products = pair_rows(joint.classes, features, features, np.triu(joint.products))
    rows = pa.concat_tables([fine, products]).unify_dictionaries()
    entry = {"rows": len(rows), "levels": len(joint.grid.numbers)}
    return entry | {"features": [list(name) for name in features], "bins": [list(name) for name in bins]}, rows


def pair_rows(classes: Axis, first: list[Name], second: list[Name] | None, array: Floats) -> pa.Table:
    """Return the rows of the table for an array [class, first, second]."""
    at_first, at_second, at_class = np.nonzero(stored(array).transpose(1, 2, 0))
    columns = {field.name: pa.nulls(len(at_first), field.type) for field in SCHEMA}
    columns["column"], columns["value"] = label_texts(first, at_first)
    if second is not None:
        columns["column2"], columns["value2"] = label_texts(second, at_second)
    columns["class"] = pa.DictionaryArray.from_arrays(at_class.astype(np.int32), class_texts(classes))
    columns["n"] = pa.array(array[at_class, at_first, at_second])
    return pa.table(columns, SCHEMA)


def label_texts(names: list[Name], at: Integers) -> tuple[pa.Array, pa.Array]:
    """Return the columns and the values of these names."""
    columns = list(dict.fromkeys(column for column, _ in names))
    place = {column: k for k, column in enumerate(columns)}
    which = np.array([place[column] for column, _ in names], dtype=np.int32)[at]
    values = pa.array([value for _, value in names], TEXT).take(pa.array(at))
    return pa.DictionaryArray.from_arrays(which, pa.array(columns, pa.string())), values


def all_sound(fine: Floats, products: Floats, levels: int) -> bool:
    """Return whether these can be sums over rows: only sums of the numbers themselves may lie below 0."""
    counts = products[:, : products.shape[1] - levels, : products.shape[1] - levels]
    squares = np.einsum("kff->kf", products)
    finite = np.isfinite(fine).all() and np.isfinite(products).all()
    return bool(finite and (fine >= 0).all() and (counts >= 0).all() and (squares >= 0).all())


# -- from rows ----------------------------------------------------------------------------------------------------


def pairs_piece(rows: pa.Table, said: JsonObject, classes: Axis) -> RowGroup:
    """Return the rows of one row group; their places are those of the fine bins, then of all products in a row."""
    features, bins = (names_in(said, part) for part in ("features", "bins"))
    first, second = (pair_codes(rows, part) for part in ("", "2"))
    alone = np.array([name is None for name, _ in second[1]])[second[0]]
    in_bins, in_features = ({name: at for at, name in enumerate(names)} for names in (bins, features))
    at = np.empty(len(rows), dtype=np.int64)
    at[alone] = codes_in_axis(in_bins, first, alone)
    both = (codes_in_axis(in_features, half, ~alone) for half in (first, second))
    row, column = both
    need((row <= column).all(), "a product stands below the diagonal")
    at[~alone] = len(bins) + row * len(features) + column
    numbers = numpy_floats(column_without_nulls(rows, "n"))
    return RowGroup(class_codes(column_without_nulls(rows, "class"), classes), at, [numbers], None)


def names_in(said: JsonObject, part: str) -> list[Name]:
    """Return the names of features or bins that the footer lists."""
    names = [(column, value) for column, value in said[part]]
    need(len(set(names)) == len(names), f"{part} have the same name")
    return names


def pair_codes(rows: pa.Table, part: str) -> tuple[Integers, list[Name]]:
    """Return which of the different names of a feature each row has, and these."""
    columns, values = (
        column_without_nulls(rows, name + part).cast(TEXT).dictionary_encode("encode") for name in ("column", "value")
    )
    width = max(len(values.dictionary), 1)
    seen, which = np.unique(
        numpy_integers(columns.indices).astype(np.int64) * width + numpy_integers(values.indices), return_inverse=True
    )
    names, texts = columns.dictionary.to_pylist(), values.dictionary.to_pylist()
    return which, [(names[pair // width], texts[pair % width]) for pair in seen.tolist()]


def codes_in_axis(known: Mapping[Name, int], half: tuple[Integers, list[Name]], where: Integers) -> Integers:
    """Return the place of the name of each of some rows; a name that is not known is a KeyError."""
    which = half[0][where]
    place = np.zeros(len(half[1]), dtype=np.int64)
    for at in np.unique(which).tolist():
        place[at] = known[half[1][at]]
    found: Integers = place[which]
    return found


def sums_of(said: JsonObject, classes: Axis, pieces: list[RowGroup]) -> Sums:
    """Return what was counted of columns jointly, from what the footer says and the rows."""
    features, bins = (names_in(said, part) for part in ("features", "bins"))
    size, cells = len(features), len(bins) + len(features) ** 2
    flat, filled, seen = np.zeros((len(classes), cells)), np.zeros((len(classes), cells), dtype=np.bool_), 0
    for piece in pieces:
        flat[piece.classes, piece.values] = piece.numbers[0]
        filled[piece.classes, piece.values] = True
        seen += len(piece.values)
    need(np.count_nonzero(filled) == seen, "a cell stands twice")
    half = flat[:, len(bins) :].reshape(len(classes), size, size)
    fine, products = flat[:, : len(bins)], half + np.triu(half, 1).transpose(0, 2, 1)
    need(0 <= said["levels"] < size and all_sound(fine, products, said["levels"]), "sums are negative or not finite")
    return Sums(features, bins, fine, products)


def joint_counts(sums: Sums, classes: Axis, grid: Grid | None, mark: str = MARK) -> JointCounts:
    """Return what was counted of columns jointly, if it fits how they are laid out."""
    if grid is None or names_of(grid, mark) != (sums.features, sums.bins):
        raise KeyError("columns counted together do not fit their bins")
    return JointCounts(classes, grid, sums.fine, sums.products)
