"""From a fitted model, textbook or default, to its flat form."""

from __future__ import annotations

import numpy as np

from .._types import JsonObject
from ..data.column import Column
from ..errors import InvalidInput
from ..families import Words
from ..model.default.grid import NumberBins
from ..model.default.likelihoods import LEAST_SCORE
from ..model.default.model import DefaultModel
from ..model.table_model import TableModel
from .columns import FlatColumn, label_json, table_columns
from .default import add_default_terms
from .flat_model import FORMAT, VERSION, FlatModel
from .texts import text_column


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


def _add_textbook_terms(model: TableModel, columns: dict[str, FlatColumn]) -> None:
    """Add the log-likelihood of each column of labels and numbers."""
    for name, table in model.label_tables.items():
        columns[name].add_labels(np.vstack([table.log_p.T, table.log_unseen]))
    for name, part in model.number_parts.items():
        if part.missing is not None:
            columns[name].add_missing(part.missing.likelihood.tables[0].log_p.T)
        columns[name].add_density(part.likelihood, model.scorer.scale)


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
