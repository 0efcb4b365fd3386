"""What all exports share, and the two that hold the flat model itself: JSON, and a module of JavaScript."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, TypeAlias

from .._types import JsonObject
from ..errors import InvalidInput
from ..flat import SCORER, FlatModel
from ..flat.flat_model import save_bytes
from ..page.tags import json_for_script

if TYPE_CHECKING:
    from .. import NaiveBayes

HasFlat: TypeAlias = "NaiveBayes | FlatModel"

# The scorer adds itself to what it takes for globalThis: here that is an object of the module's own.
MODULE = """\
// A naive Bayes model that scores rows by itself, made by naively.
//   predict(row)       the most probable class
//   predictProba(row)  the probability of each class, in the order of `classes`
//   explain(row)       {{base, columns, pairs, words, joint, probabilities}}: the contribution of each column
// A row is an object with the cells of `columns`; cells that are absent, null or NaN are missing.

const Naively = {{}};
(function (globalThis) {{
{scorer}
}})({{ Naively }});

const model = Naively.model({flat});

export const classes = model.classes;
export const columns = model.columns.map(({{ name }}) => name);

export function explain(row) {{
  return model.score(row);
}}

export function predictProba(row) {{
  return Array.from(model.score(row).probabilities);
}}

export function predict(row) {{
  const found = predictProba(row);
  return classes[found.indexOf(Math.max(...found))];
}}

export default {{ classes, columns, predict, predictProba, explain }};
"""


def javascript(model: HasFlat, path: str | PathLike[str] | None = None, *, single: bool = False) -> str:
    """Return a model as an ES module, which scores rows in browsers and in Node without any dependency.

    The module exports `predict(row)`, `predictProba(row)`, `explain(row)`, `classes` and `columns`, and an object with
    all of them by default. Every model can be exported, including models of texts. `predict` returns the most probable
    class; costs and rejection are not part of it.

    Parameters
    ----------
    model : NaiveBayes or FlatModel
        The fitted model.
    path : str or Path, optional
        The file to write, such as "model.mjs", which is replaced if it exists.
    single : bool, default=False
        Whether tables are rounded to single precision, which halves their size.

    Returns
    -------
    module : str
        The text of the module.

    Raises
    ------
    InvalidInput
        If the model cannot be written as tables; see `NaiveBayes.flat`.
    UnwritableFile
        If the file cannot be written.

    Examples
    --------
    >>> import naively as nv
    >>> nb = nv.NaiveBayes().fit({"sky": ["rain", "sun", "sun"]}, ["in", "out", "out"])
    >>> "export function predict(row)" in nv.export.javascript(nb)
    True
    """
    flat = json_for_script(flat_of(model).to_json(single=single))
    return saved(MODULE.format(scorer=SCORER.read_text("utf-8").rstrip(), flat=flat), path)


def json(model: HasFlat, path: str | PathLike[str] | None = None, *, single: bool = False) -> str:
    """Return a model as the JSON of its flat form: plain tables that any program can read.

    Parameters
    ----------
    model : NaiveBayes or FlatModel
        The fitted model.
    path : str or Path, optional
        The file to write, which is replaced if it exists.
    single : bool, default=False
        Whether tables are rounded to single precision, which halves their size.

    Returns
    -------
    text : str
        One JSON object, as of `FlatModel.json`.

    Raises
    ------
    InvalidInput
        If the model cannot be written as tables; see `NaiveBayes.flat`.
    UnwritableFile
        If the file cannot be written.

    Examples
    --------
    >>> import naively as nv
    >>> nb = nv.NaiveBayes().fit({"sky": ["rain", "sun", "sun"]}, ["in", "out", "out"])
    >>> nv.export.json(nb)[:30]
    '{"format":"naively flat model"'
    """
    return saved(flat_of(model).json(single=single), path)


# -- shared by all exports --------------------------------------------------------------------------------------------


def flat_of(model: HasFlat) -> FlatModel:
    """Return a model as plain tables."""
    if isinstance(model, FlatModel):
        return model
    if not hasattr(model, "flat"):
        kind = type(model).__name__
        raise InvalidInput(f"Expected a fitted NaiveBayes or a FlatModel to export, and found {kind}: {model!r:.60}.")
    return model.flat()


def refuse_texts(columns: Sequence[JsonObject], why: str) -> None:
    """Refuse a column of texts, with the reason."""
    for column in columns:
        if column["kind"] == "text":
            name = column["name"]
            raise InvalidInput(
                f"Column {name!r} holds texts, and {why}. Export the model as JavaScript or JSON, or fit it "
                "without the column.",
                column=name,
            )


def saved(text: str, path: str | PathLike[str] | None) -> str:
    """Write a text to a file, if there is a path, and return it."""
    if path is not None:
        save_bytes(path, text.encode("utf-8"))
    return text
