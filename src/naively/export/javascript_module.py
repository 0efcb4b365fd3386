"""A model as a module of JavaScript, and as JSON."""

from __future__ import annotations

from os import PathLike

from ..flat import SCORER
from ..markup.script_data import json_for_script
from .exported import HasFlat, flat_of, written

# The scorer adds itself to what it takes for globalThis: here that is an object of the module's own.
MODULE = """\
// A naive Bayes model that scores rows by itself, made by naively.
//   predict(row)       the most probable class
//   predictProba(row)  the probability of each class, in the order of `classes`
//   explain(row)       {{prior, columns, pairs, words, joint, probabilities}}: the contribution of each column
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
    all of them by default. Every model can be exported, with texts, too. The answer is the most probable class; costs
    and rejection are not part of it.

    Parameters
    ----------
    model : NaiveBayes or FlatModel
        The fitted model.
    path : str or Path, optional
        The file to write, such as "model.mjs", which is replaced if it exists.
    single : bool, default=False
        Whether tables are rounded to single precision, which takes half the room.

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
    return written(MODULE.format(scorer=SCORER.read_text("utf-8").rstrip(), flat=flat), path)


def json(model: HasFlat, path: str | PathLike[str] | None = None, *, single: bool = False) -> str:
    """Return a model as the JSON of its flat form: plain tables that anyone can look up in.

    Parameters
    ----------
    model : NaiveBayes or FlatModel
        The fitted model.
    path : str or Path, optional
        The file to write, which is replaced if it exists.
    single : bool, default=False
        Whether tables are rounded to single precision, which takes half the room.

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
    return written(flat_of(model).json(single=single), path)
