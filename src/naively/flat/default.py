"""The tables of the default model as terms of a flat model. This is the one place where they are read for that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .._types import JsonObject
from ..families.categorical import LogTables
from ..model.column_parts import LABELS
from ..model.default.likelihoods import LikelihoodTerm
from ..model.default.model import DefaultModel
from ..model.default.normal import QuadraticTable
from .columns import FlatColumn, contributes, relative


def add_default_terms(model: DefaultModel, columns: Mapping[str, FlatColumn]) -> list[JsonObject]:
    """Add the terms of single columns, and return those of several columns."""
    scale, grid, tables = model.scorer.scale, model.counts.grid, model.tables
    numbers, names = len(grid.numbers), grid.names
    if len(tables.interactions) or tables.quadratic is not None:
        _set_codes(model, columns)
    for place, table in enumerate(tables.codes.tables):
        column = columns[model.owners[place]]
        add = column.add_bins if place < numbers else column.add_labels if place < len(names) else column.add_missing
        add(table)
    for name, slope in zip(names, tables.slopes.table, strict=False):
        if contributes(slope):
            columns[name].add("slope", table=relative(scale * slope))
    for term in model.others.values():
        _add_other_columns(model, term, columns)
    terms = list(_interactions(model, scale))
    if tables.quadratic is not None:
        terms.append(_quadratic(tables.quadratic, scale))
    for name, average in zip(model.names, model.averages[0], strict=True):
        if name in columns and contributes(average):
            columns[name].fields["average"] = relative(scale * average)
    return terms


def _set_codes(model: DefaultModel, columns: Mapping[str, FlatColumn]) -> None:
    """Set the codes of columns in tables of pairs and triples."""
    grid = model.counts.grid
    for bins in grid.numbers:
        columns[bins.name].set_pair_codes(bins.coarse if bins.size else [-1] * len(bins.coarse))
    labels = {column.column.name: column.table.values.labels for column in model.labels}
    for values in grid.labels:
        code = {label: place for place, label in enumerate(values.labels)}
        columns[values.name].set_pair_codes([code.get(label, -1) for label in labels[values.name]])
    for column, merged in model.tables.interactions.merged:
        columns[grid.names[column]].set_triple_codes(merged)


def _add_other_columns(model: DefaultModel, term: LikelihoodTerm, columns: Mapping[str, FlatColumn]) -> None:
    """Add the weighted log-likelihoods of columns that have no weight of their own."""
    weight, numbers = model.weights[term.term], {column.name for column in model.schema.of_kind("numbers")}
    likelihood: Any = term.likelihood()
    for place, name in enumerate(term.names):
        if term.key != LABELS:
            columns[name].add_density(likelihood.column(place), model.scorer.scale * weight)
            continue
        assert isinstance(likelihood, LogTables)
        table = weight * likelihood.tables[place].log_p.T
        columns[name].add_missing(table) if name in numbers else columns[name].add_labels(table)


def _interactions(model: DefaultModel, scale: float) -> Iterator[JsonObject]:
    """Give the tables of pairs and triples that contribute."""
    interactions, names = model.tables.interactions, model.counts.grid.names
    averages = dict(zip(model.names, model.averages[0], strict=True))
    for place, columns in enumerate(interactions.all_columns):
        table = interactions.part(place)
        if contributes(table):
            yield {
                "kind": "pair" if len(columns) == 2 else "triple",
                "columns": [names[column] for column in columns],
                "average": relative(scale * averages[model.pair_names[columns]]),
                "table": relative(scale * table),
            }


def _quadratic(quadratic: QuadraticTable, scale: float) -> JsonObject:
    """Return the quadratic form of components: those of each number, and of each code in pairs of a category."""
    categories = [quadratic.of_codes[begin:end] for begin, end in quadratic.columns_of_codes]
    table = relative(scale * quadratic.squares.transpose(1, 2, 0))
    components = {
        name: part
        for name, part in zip(quadratic.grid.names, [*quadratic.of_numbers, *categories], strict=True)
        if part.any()
    }
    return {"kind": "quadratic", "columns": list(components), "components": [*components.values()], "table": table}
