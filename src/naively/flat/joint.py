"""The terms of the joint model as those of a flat model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .._types import Floats, JsonObject, Label
from ..families.categorical import LogTables
from ..families.numbers import NumberLikelihood
from ..model.column_parts import LABELS
from ..model.default.likelihoods import REST
from ..model.default.model import DefaultModel
from ..model.default.quadratic_tables import QuadraticTable
from .densities import add_density
from .terms import FlatColumn, contributes, relative


def add_joint_terms(model: DefaultModel, columns: Mapping[str, FlatColumn]) -> list[JsonObject]:
    """Add the terms of single columns, and return those of pairs."""
    scale, grid, tables = model.scorer.scale, model.counts.grid, model.tables
    labels = {one.column.name: one.table.values.labels for one in model.labels}
    for at, name in enumerate(grid.names):
        column = columns[name]
        if at < len(grid.numbers):
            bins = grid.numbers[at]
            column.set_pair_codes(bins.coarse if bins.size else [-1] * len(bins.coarse))
            column.add_bins(tables.codes.tables[at])
        else:
            column.set_pair_codes(places_of(labels[name], grid.labels[at - len(grid.numbers)].labels))
            column.add_labels(tables.codes.tables[at])
    for at in range(len(grid.names), len(model.owners)):
        columns[model.owners[at]].add_missing(tables.codes.tables[at])
    squares = None if tables.quadratic is None else squares_of(tables.quadratic)
    for at, bins in enumerate(grid.numbers):
        add_slope(columns[bins.name], scale * tables.slopes.table[at], None if squares is None else scale * squares[at])
    add_other_columns(model, columns)
    return [*pair_terms(model), *([] if tables.quadratic is None else product_terms(tables.quadratic, scale))]


def places_of(labels: Sequence[Label], among: Sequence[Label]) -> list[int]:
    """Return where labels stand among others, -1 for those that do not."""
    known = {label: at for at, label in enumerate(among)}
    return [known.get(label, -1) for label in labels]


def add_slope(column: FlatColumn, slope: Floats, square: Floats | None = None) -> None:
    """Add what is in proportion to the level of a number, and to its square."""
    table = np.array([slope] if square is None or not contributes(square) else [slope, square])
    if contributes(table):
        column.add("slope", table=relative(table))


def add_other_columns(model: DefaultModel, columns: Mapping[str, FlatColumn]) -> None:
    """Add the weighted log-likelihoods of the columns that have no weight of their own."""
    if model.others is None:
        return
    weight = model.weights[REST]
    numbers = {column.name for column in model.schema.of_kind("numbers")}
    for key, group in model.others.groups.items():
        if key == LABELS:
            assert isinstance(group.likelihood, LogTables)
            for name, table in zip(group.names, group.likelihood.tables, strict=True):
                logs = weight * table.log_p.T
                columns[name].add_missing(logs) if name in numbers else columns[name].add_labels(logs)
        else:
            likelihood: NumberLikelihood = group.likelihood  # type: ignore[assignment]  # all groups but labels are
            for at, name in enumerate(group.names):
                add_density(columns[name], likelihood.column(at), model.scorer.scale * weight)


def pair_terms(model: DefaultModel) -> list[JsonObject]:
    """Return the tables of pairs of codes that contribute."""
    names, pairs = model.counts.grid.names, model.tables.pairs
    return [
        {"kind": "pair", "columns": [names[i], names[j]], "table": relative(model.scorer.scale * table)}
        for (i, j), table in zip(pairs.pairs, pairs.tables, strict=True)
        if contributes(table)
    ]


def squares_of(quadratic: QuadraticTable) -> Floats:
    """Return what the square of the level of each number contributes, [number, class]."""
    return np.asarray(np.einsum("kff->fk", quadratic.products)[-len(quadratic.grid.numbers) or None :])


def product_terms(quadratic: QuadraticTable, scale: float) -> list[JsonObject]:
    """Return the products of two numbers, and of a number and the labels of a column."""
    grid, found = quadratic.grid, list[JsonObject]()
    numbers = len(grid.numbers)
    first = quadratic.products.shape[1] - numbers
    begins = grid.offsets[numbers:] - grid.offsets[numbers]
    for i, j in quadratic.pairs:
        of_first = 2 * scale * quadratic.products[:, first + i]
        if j < numbers:
            kind, table = "product", of_first[:, first + j]
        else:
            kind, table = "slopes", of_first[:, int(begins[j - numbers]) : int(begins[j - numbers + 1])].T
        if contributes(table):
            found.append({"kind": kind, "columns": [grid.names[i], grid.names[j]], "table": relative(table)})
    return found
