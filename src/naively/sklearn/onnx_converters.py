"""Converters to ONNX for skl2onnx: of the five classifiers and of NaiveBayes, alone and in pipelines."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from .._types import Floats, JsonObject
from ..errors import InvalidInput, NotInstalled
from ..export.flat_file import flat_of
from ..export.formulas import Formula, Lookup, Named, Total
from ..export.onnx_graph import OnnxGraph, Tensor
from ..export.onnx_model import check_inputs, joint_scores, label_and_probabilities, with_fallback
from ..export.scoring import bounded, density, finite
from ..families.bernoulli import FlagLikelihood
from ..families.categorical import LogTables
from ..families.gaussian import GaussianLikelihood
from ..families.word_counts import WordLikelihood
from .base import BaseNB
from .categorical import CategoricalNB
from .discrete import BernoulliNB, ComplementNB, MultinomialNB
from .gaussian import GaussianNB

# What skl2onnx hands over; it has no types.
Scope: TypeAlias = Any
Operator: TypeAlias = Any
Container: TypeAlias = Any

OPTIONS = {"zipmap": [True, False, "columns"], "output_class_labels": [False, True], "nocl": [True, False]}


def register_onnx_converters() -> None:
    """Make skl2onnx convert the five classifiers and `NaiveBayes`, alone and in pipelines of scikit-learn.

    Needs the extra ``onnx``: ``pip install "naively[onnx]"``. Call it once, then `skl2onnx.to_onnx` and
    `skl2onnx.convert_sklearn` take them, with the options of any classifier (`zipmap`, `nocl`, `output_class_labels`).
    The arithmetic is in double precision whatever the input is; of an input of doubles, so are the probabilities. A
    `NaiveBayes` must have been fitted on numbers alone, which come as one matrix here; the inputs of
    `naively.export.onnx` are columns of any kind.

    Examples
    --------
    >>> import numpy as np
    >>> from skl2onnx import to_onnx
    >>> from naively.sklearn import GaussianNB, register_onnx_converters
    >>> register_onnx_converters()
    >>> X = np.array([[1.0], [1.2], [3.1], [2.9]])
    >>> model = to_onnx(GaussianNB().fit(X, ["a", "a", "b", "b"]), X, options={"zipmap": False})
    >>> [output.name for output in model.graph.output]
    ['label', 'probabilities']
    """
    try:
        from skl2onnx import update_registered_converter
        from skl2onnx._supported_operators import sklearn_classifier_list
        from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes
    except ImportError:
        raise NotInstalled("Converting classifiers needs the library skl2onnx", "onnx") from None
    from .. import NaiveBayes  # by its public name: this package and that of the class do not import each other

    for kind in (BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB, NaiveBayes):
        alias, shapes = f"Naively{kind.__name__}", calculate_linear_classifier_output_shapes
        update_registered_converter(kind, alias, shapes, convert_classifier, options=OPTIONS)
    if NaiveBayes not in sklearn_classifier_list:  # skl2onnx knows other classifiers by their base class
        sklearn_classifier_list.append(NaiveBayes)


def convert_classifier(scope: Scope, operator: Operator, container: Container) -> None:
    """Add the nodes of a fitted classifier."""
    from onnx import TensorProto, helper
    from skl2onnx.common.data_types import guess_proto_type
    from skl2onnx.common.utils_classifier import get_label_classes
    from skl2onnx.helpers import add_onnx_graph

    classifier, graph = operator.raw_operator, OnnxGraph(["X"])
    x = graph.node("Cast", "X", to=TensorProto.DOUBLE)
    if isinstance(classifier, BaseNB):
        scores, floor = scores_of_classifier(graph, x, classifier), np.zeros(1)
    else:
        content = flat_of(classifier).content
        name_columns(graph, x, classifier, content)
        scores, floor = joint_scores(graph, content), content["floor"]
    classes = np.asarray(get_label_classes(scope, classifier))
    classes = classes.astype(object if classes.dtype.kind in "UO" else np.int64)
    label, probabilities = label_and_probabilities(graph, scores, floor, classes)
    kind = guess_proto_type(operator.outputs[1].type)
    outputs = [(label, guess_proto_type(operator.outputs[0].type)), (graph.node("Cast", probabilities, to=kind), kind)]
    inputs = [helper.make_tensor_value_info("X", TensorProto.DOUBLE, None)]
    results = [helper.make_tensor_value_info(name, type_, None) for name, type_ in outputs]
    made = helper.make_graph(graph.nodes, "naively", inputs, results, graph.constants)
    versions = [helper.make_opsetid("", container.target_opset)]
    add_onnx_graph(scope, operator, container, helper.make_model(made, opset_imports=versions))


def name_columns(graph: OnnxGraph, x: Tensor, model: Any, content: JsonObject) -> None:
    """Name the columns of the matrix that the columns of a NaiveBayes are."""
    check_inputs(content["columns"])
    for column in content["columns"]:
        if column["kind"] != "number":
            raise InvalidInput(
                f"Column {column['name']!r} holds categories, and the input of a converted pipeline is a matrix of "
                "numbers. Export the model by naively.export.onnx, whose inputs are columns of any kind.",
                column=column["name"],
            )
    given = getattr(model, "feature_names_in_", None)
    names = [f"x{index}" for index in range(model.n_features_in_)] if given is None else list(map(str, given))
    cells = {column["name"]: f"n{index}" for index, column in enumerate(content["columns"])}
    graph.add_matrix(x, [cells.get(name, f"not used: {name}") for name in names])


# -- the five classifiers ---------------------------------------------------------------------------------------------


def scores_of_classifier(graph: OnnxGraph, x: Tensor, classifier: BaseNB) -> Tensor:
    """Return the log prior plus the log-likelihood of the cells, [row, class]; the prior where all are ruled out."""
    likelihood, model = classifier._likelihood, classifier._learned.model
    match likelihood:
        case GaussianLikelihood():
            scores = normal_scores(graph, x, np.stack(likelihood.density, axis=-1).astype(np.float64))
        case LogTables():
            scores = code_scores(graph, x, likelihood)
        case FlagLikelihood():
            scores = flag_scores(graph, x, likelihood)
        case WordLikelihood():
            scores = graph.node("MatMul", x, graph.constant(finite(likelihood.each)))
    joint = graph.node("Add", scores, graph.constant(finite(model.log_prior)))
    return with_fallback(graph, joint, model.log_prior if model.fallback is None else model.fallback)


def normal_scores(graph: OnnxGraph, x: Tensor, tables: Floats) -> Tensor:
    """Return the sum of the normal densities of all columns."""
    cells, names = zip(*((Named(f"n{index}"), Named(f"x{index}")) for index in range(len(tables))), strict=True)
    graph.add_matrix(x, [cell.name for cell in cells])
    steps = {name.name: bounded(cell, [table]) for name, cell, table in zip(names, cells, tables, strict=True)}
    graph.add_steps([steps], inline={})
    return total_of(graph, [density("density", name, table) for name, table in zip(names, tables, strict=True)])


def code_scores(graph: OnnxGraph, x: Tensor, likelihood: LogTables) -> Tensor:
    """Return the sum of the lines at all codes; one that was never counted, or is negative or NaN, is unseen."""
    from onnx import TensorProto

    sizes = graph.constant(np.array([len(table.values) for table in likelihood.tables], dtype=np.float64))
    whole = graph.node("Floor", x)
    is_code = graph.node("GreaterOrEqual", whole, graph.constant(0.0))
    codes = graph.node("Where", is_code, graph.node("Min", whole, sizes), sizes)
    names = [Named(f"c{index}") for index in range(len(likelihood.tables))]
    graph.add_matrix(graph.node("Cast", codes, to=TensorProto.INT64), [name.name for name in names])
    tables = [np.vstack([np.zeros(len(t.log_p)), t.log_p.T, t.log_unseen]) for t in likelihood.tables]
    return total_of(graph, [Lookup(name, finite(table)) for name, table in zip(names, tables, strict=True)])


def total_of(graph: OnnxGraph, formulas: list[Formula]) -> Tensor:
    """Return a sum of scores, [row, class]."""
    return graph.squeezed(graph.values([Total(tuple(formulas), ())]), 1)


def flag_scores(graph: OnnxGraph, x: Tensor, likelihood: FlagLikelihood) -> Tensor:
    """Return the sum of the scores of flags that are there and of absent ones; without a threshold cells are shares."""
    from onnx import TensorProto

    threshold = likelihood.family.threshold
    if threshold is not None:
        x = graph.node("Cast", graph.node("Greater", x, graph.constant(threshold)), to=TensorProto.DOUBLE)
    shares = graph.joined([x, graph.node("Sub", graph.constant(1.0), x)])
    tables = np.vstack([likelihood.log_there.T, likelihood.log_absent.T])
    return graph.node("MatMul", shares, graph.constant(finite(tables)))
