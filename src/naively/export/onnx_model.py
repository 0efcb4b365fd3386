"""A fitted model as a model of ONNX, in double precision."""

from __future__ import annotations

import json
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import __version__
from .._types import AnyArray, Floats, Json, JsonObject
from ..errors import NotInstalled
from .exported import HasFlat, flat_of
from .onnx_columns import OnnxColumn, onnx_columns
from .onnx_graph import LEARNING, OnnxGraph, Tensor
from .onnx_terms import DENSITIES, check_terms, sums_of_terms

if TYPE_CHECKING:
    from onnx import ModelProto, ValueInfoProto

# The oldest versions that have all operators: runtimes of 2022 and later know them.
OPSET, IR_VERSION, LEARNING_OPSET = 17, 8, 3
# Numbers are looked up by LabelEncoder since this version of its domain (2024).
NUMBER_LABELS_OPSET = 4
LABEL, PROBABILITIES = "label", "probabilities"
DECISION = "the most probable class; costs and rejection are not applied"


def onnx(model: HasFlat, path: str | PathLike[str] | None = None, *, name: str | None = None) -> ModelProto:
    """Return a fitted model as an ONNX model, whose probabilities are those of `predict_proba`.

    Needs the extra ``onnx``: ``pip install "naively[onnx]"``. Every column of the model is an input of shape [rows, 1]
    with the name of the column. Numbers, and labels that are numbers or truth values, are doubles, NaN if missing;
    other labels are texts, empty if missing. The outputs are `label`, the most probable class whatever costs are set,
    and `probabilities`, [rows, classes] in the order of `classes_`.

    Parameters
    ----------
    model : NaiveBayes or FlatModel
        The fitted model, or what its method `flat` returned.
    path : str or Path, optional
        A file that the model is written to, too; it is replaced if it exists.
    name : str, optional
        The name of the graph; by default that of the target.

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
    >>> [one.name for one in model.graph.output]
    ['label', 'probabilities']
    """
    try:
        from onnx import checker
    except ImportError:
        raise NotInstalled("Exporting to ONNX needs the library onnx", "onnx") from None
    content = flat_of(model).content
    made = onnx_model(content, onnx_columns(content["columns"]), name or str(content["target"] or "naively"))
    checker.check_model(made, full_check=True)
    if path is not None:
        save_bytes(path, made.SerializeToString())
    return made


def save_bytes(path: str | PathLike[str], data: bytes) -> None:
    """Write a file, whole or not at all."""
    from ..data.model_file.places import unwritable, write_place  # which imports much

    with unwritable(path):
        write_place(path, data)


# -- the graph --------------------------------------------------------------------------------------------------------


def onnx_model(content: JsonObject, columns: Sequence[OnnxColumn], name: str) -> ModelProto:
    """Return the fields of a flat model as an ONNX model."""
    from onnx import helper

    check_terms(content["terms"])
    graph = OnnxGraph(column.name for column in columns)
    outputs = [graph.unused_name(LABEL), graph.unused_name(PROBABILITIES)]
    classes = class_array(content["classes"])
    scores = joint_scores(graph, columns, content)
    for made, wanted in zip(label_and_probabilities(graph, scores, content, classes), outputs, strict=True):
        graph.add_node("Identity", [made], wanted, "", {})
    made = helper.make_graph(
        graph.nodes, name, list(map(input_of, columns)), outputs_of(outputs, classes), graph.constants
    )
    learning = LEARNING_OPSET if all(c.takes_texts for c in columns if c.is_label) else NUMBER_LABELS_OPSET
    versions = [helper.make_opsetid("", OPSET), helper.make_opsetid(LEARNING, learning)]
    found = helper.make_model(made, opset_imports=versions, ir_version=IR_VERSION)
    describe(found, content, columns, outputs)
    return found


def joint_scores(graph: OnnxGraph, columns: Sequence[OnnxColumn], content: JsonObject) -> Tensor:
    """Return prior plus terms, [row, class]; the scores of a row that rules out every class are its fallback."""
    terms, prior, classes = content["terms"], np.asarray(content["prior"], dtype=np.float64), len(content["classes"])
    if not terms:
        return graph.node("Expand", graph.constant(prior), shape_of_answer(graph, columns[0].tensor, classes))
    # Scores of all terms may be relative to the first class: it is left out until the end.
    widths = {classes if term["kind"] in DENSITIES else term["table"].shape[-1] for term in terms}
    total = sums_of_terms(graph, columns, terms, max(widths))
    if max(widths) < classes:
        total = graph.node("Pad", total, graph.constant(np.array([0, 1, 0, 0], dtype=np.int64)), graph.constant(0.0))
    if content["least"] is not None:
        total = graph.node("Max", total, graph.constant(float(content["least"])))
    scores = graph.node("Add", total, graph.constant(prior))
    if content["least"] is not None or all_finite(prior, terms):
        return scores
    return with_fallback(graph, scores, np.asarray(content["fallback"], dtype=np.float64))


def all_finite(prior: Floats, terms: Sequence[JsonObject]) -> bool:
    """Tell whether no class can be ruled out."""
    return bool(np.isfinite(prior).all()) and all(np.isfinite(term["table"]).all() for term in terms)


def with_fallback(graph: OnnxGraph, scores: Tensor, fallback: Floats) -> Tensor:
    """Return scores [row, class], with the fallback where all classes are ruled out."""
    from onnx import TensorProto

    is_possible = graph.node("Greater", scores, graph.constant(-np.inf))
    number = graph.summed(graph.node("Cast", is_possible, to=TensorProto.INT32), 1)
    is_none = graph.node("Equal", graph.axis_added(number), graph.constant(np.array(0, dtype=np.int32)))
    return graph.node("Where", is_none, graph.constant(fallback), scores)


def shape_of_answer(graph: OnnxGraph, column: Tensor, classes: int) -> Tensor:
    """Return the shape [rows, classes]."""
    rows = graph.node("Shape", column, start=0, end=1)
    return graph.node("Concat", rows, graph.constant(np.array([classes], dtype=np.int64)), axis=0)


def label_and_probabilities(
    graph: OnnxGraph, scores: Tensor, content: JsonObject, classes: AnyArray
) -> tuple[Tensor, Tensor]:
    """Return the most probable class of each row, and the probabilities of all; of equal ones the first is chosen."""
    floor = np.asarray(content["floor"], dtype=np.float64)
    probabilities = graph.node("Softmax", scores, axis=1)
    if floor.any():  # of classes that are all but equal, floors may decide
        above = graph.node("Mul", probabilities, graph.constant(1.0 - floor.sum()))
        scores = probabilities = graph.node("Add", above, graph.constant(floor))
    chosen = graph.node("ArgMax", scores, axis=1, keepdims=0)
    return graph.node("Gather", graph.constant(classes), chosen, axis=0), probabilities


def class_array(labels: Sequence[Json]) -> AnyArray:
    """Return the classes as an array of one type: texts, unless all are truth values or whole numbers.

    >>> class_array([1, 2]), class_array([False, True]), class_array(["a", "b"])
    (array([1, 2]), array([False,  True]), array(['a', 'b'], dtype=object))
    """
    if all(isinstance(label, bool) for label in labels):
        return np.array(labels, dtype=np.bool_)
    if all(isinstance(label, int) and not isinstance(label, bool) and abs(label) < 2**63 for label in labels):
        return np.array(labels, dtype=np.int64)
    return np.array([str(label) for label in labels], dtype=object)


# -- what it says of itself -------------------------------------------------------------------------------------------


def input_of(column: OnnxColumn) -> ValueInfoProto:
    """Return the input of a column, with what its cells are."""
    from onnx import TensorProto, helper

    kind = TensorProto.STRING if column.takes_texts else TensorProto.DOUBLE
    return helper.make_tensor_value_info(column.name, kind, ["rows", 1], doc_string=cells_of_input(column))


def cells_of_input(column: OnnxColumn) -> str:
    """Return a sentence on what the cells of an input are."""
    if column.takes_texts:
        return f"A label as text; {column.missing_text!r} if it is missing."
    what = {
        "time": "A time in seconds: since 1970 (UTC), since midnight or of a duration",
        "boolean": "1 for true, 0 for false",
    }
    return f"{what.get(column.fields['type'], 'A number')}; NaN if it is missing."


def outputs_of(names: Sequence[str], classes: AnyArray) -> list[ValueInfoProto]:
    """Return the outputs: the label and the probabilities of each row."""
    from onnx import TensorProto, helper

    kind = TensorProto.STRING if classes.dtype == object else helper.np_dtype_to_tensor_dtype(classes.dtype)
    return [
        helper.make_tensor_value_info(names[0], kind, ["rows"]),
        helper.make_tensor_value_info(names[1], TensorProto.DOUBLE, ["rows", len(classes)]),
    ]


def describe(model: ModelProto, content: JsonObject, columns: Sequence[OnnxColumn], outputs: Sequence[str]) -> None:
    """Fill in what tools show of a model: who made it, of what, and how cells are given."""
    from onnx import helper

    model.producer_name, model.producer_version, model.domain = "naively", __version__, "naively"
    model.model_version = content["version"]
    target = "" if content["target"] is None else f" of {content['target']!r}"
    model.doc_string = (
        f"Naive Bayes ({content['model']} model): probabilities of the {len(content['classes'])} classes{target}, from "
        f"{len(columns)} columns. The label is {DECISION}."
    )
    facts: dict[str, Any] = {
        "naively_version": __version__,
        "model": content["model"],
        "target": content["target"] or "",
        "classes": content["classes"],
        "columns": [column_facts(column) for column in columns],
        "missing": "numbers: NaN; texts: the text that columns name, '' as a rule; each input must be given",
        "label": DECISION,
        "outputs": list(outputs),
    }
    props = {
        key: fact if isinstance(fact, str) else json.dumps(fact, ensure_ascii=False) for key, fact in facts.items()
    }
    helper.set_model_props(model, props)


def column_facts(column: OnnxColumn) -> JsonObject:
    """Return what is said of a column."""
    kind = "string" if column.takes_texts else "double"
    missing = column.missing_text if column.takes_texts else "NaN"
    return {"name": column.name, "kind": column.fields["kind"], "input": kind, "missing": missing}
