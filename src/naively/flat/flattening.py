"""From a fitted model to its flat form: one function for each kind of model."""

from __future__ import annotations

import numpy as np

from .._types import Floats, JsonObject
from ..data.column import Column
from ..data.grid import NumberBins
from ..errors import InvalidInput
from ..families import Words
from ..model.default.model import DefaultModel
from ..model.default.weighted_terms import LEAST_SCORE
from ..model.table_model import TableModel
from .columns import flat_columns, label_json
from .flat_model import FORMAT, VERSION, FlatModel
from .joint import add_joint_terms
from .terms import FlatColumn
from .textbook import add_textbook_terms
from .texts import text_column


def flat_model(model: TableModel, *, words: int | None = None) -> FlatModel:
    """Return a fitted model as plain tables.

    Parameters
    ----------
    model : TableModel
        The fitted model: textbook or joint.
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
        check_flat(column)
    scorer, columns = model.scorer, empty_columns(model, words)
    kind, pairs = add_terms(model, columns)
    prior = np.array(scorer.temper(scorer.log_prior), dtype=np.float64)
    content: JsonObject = {
        "format": FORMAT,
        "version": VERSION,
        "model": kind,
        "target": model.schema.target,
        "classes": [label_json(label) for label in model.classes.labels],
        "prior": prior,
        "fallback": fallback_of(prior),
        "floor": np.zeros(len(prior)) if scorer.floor is None else np.array(scorer.floor),
        "least": None if kind == "textbook" else LEAST_SCORE,
    }
    return FlatModel(content | columns_and_terms(columns, pairs, scorer.scale))


def empty_columns(model: TableModel, words: int | None) -> dict[str, FlatColumn]:
    """Return all columns in their order, those of texts with their terms and the others without."""
    bins: tuple[NumberBins, ...] = ()
    if isinstance(model, DefaultModel):
        bins = model.counts.grid.numbers
    found = flat_columns(model, {one.name: one for one in bins})
    found |= {name: text_column(model, name, model.scorer.scale, words) for name in model.words}
    return {column.name: found[column.name] for column in model.schema}


def add_terms(model: TableModel, columns: dict[str, FlatColumn]) -> tuple[str, list[JsonObject]]:
    """Add the terms of a model to its columns, and return its kind and its terms of pairs."""
    if isinstance(model, DefaultModel):
        return "joint", add_joint_terms(model, columns)
    add_textbook_terms(model, columns)
    return "textbook", []


def fallback_of(prior: Floats) -> Floats:
    """Return the logarithms of the probabilities of a row that rules out every class."""
    top = prior.max()
    return np.asarray(prior - top - np.log(np.exp(prior - top).sum()))


def columns_and_terms(columns: dict[str, FlatColumn], pairs: list[JsonObject], scale: float) -> JsonObject:
    """Return columns in their order, and all terms: those of columns first."""
    place = {name: at for at, name in enumerate(columns)}
    paired = {name for term in pairs for name in term["columns"]}
    found = [one.finished(place[name], scale, name in paired) for name, one in columns.items()]
    together = [term | {"columns": [place[name] for name in term["columns"]]} for term in pairs]
    terms = [term for _, own in found for term in own]
    return {"columns": [fields for fields, _ in found], "terms": [*terms, *together]}


def check_flat(column: Column) -> None:
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
