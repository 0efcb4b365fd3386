"""A fitted model as an ONNX model, in double precision."""

from __future__ import annotations

import json
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import __version__
from .._types import AnyArray, Json, JsonObject
from ..errors import InvalidInput, NotInstalled
from ..flat.flat_model import save_bytes
from .flat_file import HasFlat, flat_of, refuse_texts
from .formulas import (
    BEYOND,
    ScoreFormulas,
    finite,
)
from .onnx_graph import LEARNING, OnnxGraph, Tensor, missing_text, takes_texts

if TYPE_CHECKING:
    from onnx import ModelProto, ValueInfoProto

# The oldest versions that have all operators: runtimes of 2022 and later know them.
OPSET, IR_VERSION, LEARNING_OPSET = 17, 8, 3
# Numbers are looked up by LabelEncoder since this version of its domain (2024).
NUMBER_LABELS_OPSET = 4
DECISION = "the most probable class; costs and rejection are not applied"


def onnx(model: HasFlat, path: str | PathLike[str] | None = None, *, name: str | None = None) -> ModelProto:
    """Return a fitted model as an ONNX model, whose probabilities are those of `predict_proba`.

    Needs the extra ``onnx``: ``pip install "naively[onnx]"``. Every column of the model is an input of shape [rows, 1]
    with the name of the column. Numbers, and categories that are numbers or booleans, are doubles, NaN if missing;
    other categories are strings, empty if missing. The outputs are `label`, the most probable class whatever costs are
    set, and `probabilities`, [rows, classes] in the order of `classes_`.

    Parameters
    ----------
    model : NaiveBayes or FlatModel
        The fitted model.
    path : str or Path, optional
        The file to write, which is replaced if it exists.
    name : str, optional
        The name of the graph; by default the name of the target.

    Returns
    -------
    ModelProto
        The model, checked by ONNX.

    Raises
    ------
    InvalidInput
        If the model has a column of texts or vectors, or no column.
    UnwritableFile
        If the file cannot be written.

    Examples
    --------
    >>> import naively as nv
    >>> nb = nv.NaiveBayes().fit("examples/penguins.csv", target="species")
    >>> model = nv.export.onnx(nb)
    >>> [output.name for output in model.graph.output]
    ['label', 'probabilities']
    """
    try:
        from onnx import checker
    except ImportError:
        raise NotInstalled("Exporting to ONNX needs the library onnx", "onnx") from None
    content = flat_of(model).content
    columns = content["columns"]
    refuse_texts(columns, "ONNX has no operators that count words as Naively does")
    if not all(column["name"] for column in columns):
        raise InvalidInput("A column has no name, and an input of ONNX needs one. Name it, then fit.", column="")
    if not columns:
        raise InvalidInput("The model uses no column, so an ONNX model of it would have no input. Fit with a column.")
    made = onnx_model(content, name or str(content["target"] or "naively"))
    checker.check_model(made, full_check=True)
    if path is not None:
        save_bytes(path, made.SerializeToString())
    return made


# -- the graph --------------------------------------------------------------------------------------------------------


def onnx_model(content: JsonObject, name: str) -> ModelProto:
    """Return the fields of a flat model as an ONNX model."""
    from onnx import TensorProto, helper

    columns, classes = content["columns"], class_array(content["classes"])
    graph = OnnxGraph(column["name"] for column in columns)
    for index, column in enumerate(columns):
        graph.add_matrix(column["name"], [f"n{index}" if column["kind"] == "number" else f"v{index}"])
    outputs = [graph.unused_name("label"), graph.unused_name("probabilities")]
    probabilities = graph.node("Softmax", joint_scores(graph, content), axis=1)
    if content["floor"].any():
        above = graph.node("Mul", probabilities, graph.constant(1.0 - content["floor"].sum()))
        probabilities = graph.node("Add", above, graph.constant(content["floor"]))
    best = graph.node("ArgMax", probabilities, axis=1, keepdims=0)  # the first of equal ones
    label = graph.node("Gather", graph.constant(classes), best, axis=0)
    for result, wanted in zip((label, probabilities), outputs, strict=True):
        graph.nodes.append(helper.make_node("Identity", [result], [wanted], wanted))
    kind = TensorProto.STRING if classes.dtype == object else helper.np_dtype_to_tensor_dtype(classes.dtype)
    results = [
        helper.make_tensor_value_info(outputs[0], kind, ["rows"]),
        helper.make_tensor_value_info(outputs[1], TensorProto.DOUBLE, ["rows", len(classes)]),
    ]
    learning = LEARNING_OPSET if all(takes_texts(c) for c in columns if c["kind"] == "label") else NUMBER_LABELS_OPSET
    model = helper.make_model(
        helper.make_graph(graph.nodes, name, list(map(input_of, columns)), results, graph.constants),
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(LEARNING, learning)],
        ir_version=IR_VERSION,
    )
    describe(model, content, outputs)
    return model


def joint_scores(graph: OnnxGraph, content: JsonObject) -> Tensor:
    """Return prior plus terms, [row, class]; the scores of a row that rules out every class are its fallback."""
    from onnx import TensorProto

    formulas = ScoreFormulas(content)
    _, *steps, lines = formulas.steps()
    graph.add_steps(steps, inline=lines)
    scores = graph.squeezed(graph.values([formulas.joint]), 1)
    if content["least"] is None:
        is_possible = graph.node("Cast", graph.node("Greater", scores, graph.constant(BEYOND)), to=TensorProto.INT32)
        is_lost = graph.node("Equal", graph.summed(is_possible, 1), graph.constant(np.array(0, dtype=np.int32)))
        scores = graph.node("Where", is_lost, graph.constant(finite(content["fallback"])), scores)
    if not content["terms"]:
        rows = graph.node("Shape", content["columns"][0]["name"], start=0, end=1)
        shape = graph.node("Concat", rows, graph.constant(np.array([len(content["classes"])])), axis=0)
        scores = graph.node("Expand", scores, shape)
    return scores


def class_array(labels: Sequence[Json]) -> AnyArray:
    """Return the classes as an array of one type: texts, unless all are booleans or whole numbers.

    >>> class_array([1, 2]), class_array([False, True]), class_array(["a", "b"])
    (array([1, 2]), array([False,  True]), array(['a', 'b'], dtype=object))
    """
    if all(isinstance(label, bool) for label in labels):
        return np.array(labels, dtype=np.bool_)
    if all(isinstance(label, int) and not isinstance(label, bool) and abs(label) < 2**63 for label in labels):
        return np.array(labels, dtype=np.int64)
    return np.array([str(label) for label in labels], dtype=object)


# -- what it says of itself -------------------------------------------------------------------------------------------


def input_of(column: JsonObject) -> ValueInfoProto:
    """Return the input of a column, with a sentence on its cells."""
    from onnx import TensorProto, helper

    if takes_texts(column):
        kind, cells = TensorProto.STRING, f"A category as text; {missing_text(column)!r} if it is missing."
    else:
        types = {"time": "A time in seconds: since 1970 (UTC), since midnight or of a duration"}
        types["boolean"] = "1 for true, 0 for false"
        kind, cells = TensorProto.DOUBLE, f"{types.get(column['type'], 'A number')}; NaN if it is missing."
    return helper.make_tensor_value_info(column["name"], kind, ["rows", 1], doc_string=cells)


def describe(model: ModelProto, content: JsonObject, outputs: Sequence[str]) -> None:
    """Fill in what tools show of a model: who made it, of what, and how cells are given."""
    from onnx import helper

    model.producer_name, model.producer_version, model.domain = "naively", __version__, "naively"
    model.model_version = content["version"]
    target = "" if content["target"] is None else f" of {content['target']!r}"
    model.doc_string = (
        f"Naive Bayes ({content['model']} model): probabilities of the {len(content['classes'])} classes{target}, from "
        f"{len(content['columns'])} columns. The label is {DECISION}."
    )
    columns = []
    for column in content["columns"]:
        kind, missing = ("string", missing_text(column)) if takes_texts(column) else ("double", "NaN")
        columns.append({"name": column["name"], "kind": column["kind"], "input": kind, "missing": missing})
    facts: dict[str, Any] = {
        "naively_version": __version__,
        "model": content["model"],
        "target": content["target"] or "",
        "classes": content["classes"],
        "columns": columns,
        "missing": "numbers: NaN; texts: the text that columns name, '' as a rule; each input must be given",
        "label": DECISION,
        "outputs": list(outputs),
    }
    texts = {
        key: fact if isinstance(fact, str) else json.dumps(fact, ensure_ascii=False) for key, fact in facts.items()
    }
    helper.set_model_props(model, texts)
