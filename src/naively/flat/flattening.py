"""From a fitted model, textbook or default, to its flat form; the tables of the default model are read here alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .._types import JsonObject
from ..data.column import Column
from ..errors import InvalidInput
from ..families import Words
from ..families.categorical import LogTables
from ..model.column_parts import LABELS
from ..model.default.grid import NumberBins
from ..model.default.likelihoods import LEAST_SCORE, LikelihoodTerm
from ..model.default.model import DefaultModel
from ..model.default.normal import QuadraticTable
from ..model.table_model import TableModel
from .columns import FlatColumn, contributes, label_json, relative, table_columns, text_column
from .flat_model import FORMAT, VERSION, FlatModel


def add_default_terms(model: DefaultModel, columns: Mapping[str, FlatColumn]) -> list[JsonObject]:
    """Add the terms of single columns, and return those of several columns."""
    scale, grid, tables = model.scorer.scale, model.counts.grid, model.tables
    numbers, names = len(grid.numbers), grid.names
    if len(tables.interactions) or tables.quadratic is not None:
        _set_codes(model, columns)
    for place, table in enumerate(tables.codes.tables):
        column = columns[model.owners[place]]
        if place < numbers:  # a missing number contributes nothing
            column.table[: len(table)] += table
        elif place < len(names):
            column.add_labels(table)
        else:
            column.add_missing(table)
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


def flat_model(model: TableModel, *, words: int | None = None) -> FlatModel:
    """Return a fitted model as plain tables.

    Parameters
    ----------
    model : TableModel
        The fitted model: textbook or default.
    words : int, optional
        How many words of each column of texts are kept, the most frequent; by default all.

    Returns
    -------
    FlatModel
        The model as a value that JSON can hold.

    Raises
    ------
    InvalidInput
        If a column cannot be written as tables: vectors, hashed words, or words split by a function of Python.
    """
    for column in model.schema:
        _check_flat(column)
    scorer, bins = model.scorer, tuple[NumberBins, ...]()
    if isinstance(model, DefaultModel):
        bins = model.counts.grid.numbers
    by_name = table_columns(model, {number.name: number for number in bins})
    by_name |= {name: text_column(model, name, scorer.scale, words) for name in model.words}
    columns = {column.name: by_name[column.name] for column in model.schema}
    shared: list[JsonObject] = []
    if isinstance(model, DefaultModel):
        kind, shared = "default", add_default_terms(model, columns)
    else:
        kind = "textbook"
        _add_textbook_terms(model, columns)
    # Columns in their order, and all terms: those of columns first.
    place = {name: index for index, name in enumerate(columns)}
    finished = [column.finished(place[name], scorer.scale) for name, column in columns.items()]
    terms = [term for _, of_column in finished for term in of_column]
    terms += [term | {"columns": [place[name] for name in term["columns"]]} for term in shared]
    prior = np.array(scorer.temper(scorer.log_prior), dtype=np.float64)
    top = prior.max()
    content: JsonObject = {
        "format": FORMAT,
        "version": VERSION,
        "model": kind,
        "target": model.schema.target,
        "classes": [label_json(label) for label in model.classes.labels],
        "prior": prior,
        "fallback": prior - top - np.log(np.exp(prior - top).sum()),  # of a row that rules out every class
        "floor": np.zeros(len(prior)) if scorer.floor is None else np.array(scorer.floor),
        "least": None if kind == "textbook" else LEAST_SCORE,
        "columns": [fields for fields, _ in finished],
        "terms": terms,
    }
    return FlatModel(content)


def _add_textbook_terms(model: TableModel, columns: Mapping[str, FlatColumn]) -> None:
    """Add the log-likelihood of each column of labels and numbers."""
    for name, table in model.label_tables.items():
        columns[name].add_labels(np.vstack([table.log_p.T, table.log_unseen]))
    for name, numbers in model.number_parts.items():
        if numbers.missing is not None:
            columns[name].add_missing(numbers.missing.likelihood.tables[0].log_p.T)
        columns[name].add_density(numbers.likelihood, model.scorer.scale)


def _check_flat(column: Column) -> None:
    """Refuse a column that cannot be written as tables."""
    family = column.family
    if column.type == "vector":
        why = "holds vectors, whose cells have no names. Give each of its columns a name, such as those of a data frame"
    elif not isinstance(family, Words):
        return
    elif family.hash_width is not None:
        why = "has words that are known by their hash alone. Fit with hash_width=None"
    elif family.tokenizer is not None or family.preprocessor is not None:
        name = "tokenizer" if family.tokenizer is not None else "preprocessor"
        why = f"is read by a function of Python ({name}), which JSON cannot hold. Fit without it"
    else:
        return
    raise InvalidInput(
        f"Column {column.name!r} {why}; or leave the column out, then flatten the model.", column=column.name
    )
