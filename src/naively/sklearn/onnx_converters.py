"""Converters to ONNX for skl2onnx: of the five classifiers and of NaiveBayes, alone and in pipelines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from .._types import AnyArray, Floats, JsonObject
from ..errors import InvalidInput, NotInstalled
from ..export.exported import flat_of
from ..export.onnx_columns import OnnxColumn, onnx_columns
from ..export.onnx_densities import normal_densities
from ..export.onnx_graph import OnnxGraph, Tensor, parts_of_row
from ..export.onnx_model import joint_scores, label_and_probabilities, with_fallback
from ..families.bernoulli import FlagLikelihood
from ..families.categorical import LogTables
from ..families.gaussian import GaussianLikelihood
from ..families.wide import Split
from ..families.word_counts import WordLikelihood
from .base import BaseNB
from .bernoulli import BernoulliNB
from .categorical import CategoricalNB
from .gaussian import GaussianNB
from .multinomial import ComplementNB, MultinomialNB

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
    >>> [one.name for one in model.graph.output]
    ['label', 'probabilities']
    """
    try:
        from skl2onnx import update_registered_converter
        from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes
    except ImportError:
        raise NotInstalled("Converting classifiers needs the library skl2onnx", "onnx") from None
    from .. import NaiveBayes  # by its public name: this package and that of the class do not import each other

    for kind in (BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB, NaiveBayes):
        alias, shapes = f"Naively{kind.__name__}", calculate_linear_classifier_output_shapes
        update_registered_converter(kind, alias, shapes, convert_classifier, options=OPTIONS)


class ContainerGraph(OnnxGraph):
    """A graph whose nodes and constants are those of skl2onnx."""

    def __init__(self, scope: Scope, container: Container) -> None:
        super().__init__()
        self.scope, self.container = scope, container

    def unused_name(self, wanted: str) -> str:
        """Return a name that nothing else in the graph has, and take it."""
        return str(self.scope.get_unique_variable_name(wanted))

    def add_node(
        self, kind: str, inputs: Sequence[Tensor], output: Tensor, domain: str, attributes: dict[str, object]
    ) -> None:
        """Add a node that computes a given output."""
        name = self.scope.get_unique_operator_name(kind)
        self.container.add_node(kind, list(inputs), [output], op_domain=domain, name=name, **attributes)

    def add_constant(self, name: str, array: AnyArray) -> None:
        """Add an array under a given name."""
        from onnx import TensorProto, helper

        texts = array.dtype == object
        kind = TensorProto.STRING if texts else helper.np_dtype_to_tensor_dtype(array.dtype)
        content = [text.encode("utf-8") for text in array.ravel()] if texts else array.ravel()
        self.container.add_initializer(name, kind, list(array.shape), content)


def convert_classifier(scope: Scope, operator: Operator, container: Container) -> None:
    """Add the nodes of a fitted classifier."""
    from onnx import TensorProto
    from skl2onnx.common.data_types import guess_proto_type
    from skl2onnx.common.utils_classifier import get_label_classes

    graph, classifier = ContainerGraph(scope, container), operator.raw_operator
    x = graph.node("Cast", operator.inputs[0].full_name, to=TensorProto.DOUBLE)
    if isinstance(classifier, BaseNB):
        scores, content = joint_scores_of(graph, x, classifier), {"floor": 0.0}
    else:
        content = flat_of(classifier).content
        scores = joint_scores(graph, columns_of_matrix(graph, x, classifier, content), content)
    classes = np.asarray(get_label_classes(scope, classifier))
    classes = classes.astype(object if classes.dtype.kind in "UO" else np.int64)
    label, probabilities = label_and_probabilities(graph, scores, content, classes)
    graph.add_node("Identity", [label], operator.outputs[0].full_name, "", {})
    kind = guess_proto_type(operator.outputs[1].type)
    graph.add_node("Cast", [probabilities], operator.outputs[1].full_name, "", {"to": kind})


def columns_of_matrix(graph: OnnxGraph, x: Tensor, model: Any, content: JsonObject) -> list[OnnxColumn]:
    """Return the columns that a NaiveBayes uses, each read from the matrix of all."""
    known = getattr(model, "feature_names_in_", None)
    names = [f"x{at}" for at in range(model.n_features_in_)] if known is None else [str(name) for name in known]
    found = list[OnnxColumn]()
    for column in onnx_columns(content["columns"]):
        if column.is_label:
            raise InvalidInput(
                f"Column {column.name!r} holds labels, and the input of a converted pipeline is a matrix of numbers. "
                "Export the model by naively.export.onnx, whose inputs are columns of any kind.",
                column=column.name,
            )
        found.append(replace(column, tensor=graph.picked(x, [names.index(column.name)], len(names))))
    return found


def joint_scores_of(graph: OnnxGraph, x: Tensor, classifier: BaseNB) -> Tensor:
    """Return the log prior plus the log-likelihood of the cells, [row, class]; the prior where all are ruled out."""
    likelihood, assumptions = classifier._likelihood, classifier._assumptions
    if isinstance(likelihood, GaussianLikelihood):
        found = normal_scores(graph, x, likelihood)
    elif isinstance(likelihood, LogTables):
        found = code_scores(graph, x, likelihood)
    elif isinstance(likelihood, FlagLikelihood):
        found = flag_scores(graph, x, likelihood)
    else:
        found = word_scores(graph, x, likelihood)
    scores = graph.node("Add", found, graph.constant(np.asarray(assumptions.log_prior, dtype=np.float64)))
    return with_fallback(graph, scores, np.asarray(assumptions.fallback, dtype=np.float64))


def normal_scores(graph: OnnxGraph, x: Tensor, likelihood: GaussianLikelihood) -> Tensor:
    """Return the sum of the normal densities of all columns."""
    tables: Floats = np.stack([np.asarray(part, dtype=np.float64) for part in likelihood.density], axis=-1)
    columns, classes = tables.shape[:2]
    parts = [
        normal_densities(graph, graph.picked(x, part, columns), list(tables[part]))
        for part in parts_of_row(range(columns), classes)
    ]
    return graph.total(parts)


def code_scores(graph: OnnxGraph, x: Tensor, likelihood: LogTables) -> Tensor:
    """Return the sum of the lines at all codes; one that was never counted, or is negative or NaN, is unseen."""
    from onnx import TensorProto

    stack = likelihood.stack
    sizes = np.array([len(table.values) for table in likelihood.tables], dtype=np.float64)
    begins = np.asarray(likelihood.offsets[: len(sizes)], dtype=np.float64)
    known = graph.node("Floor", x)
    is_known = graph.node("GreaterOrEqual", known, graph.constant(0.0))
    places = graph.node("Where", is_known, graph.node("Min", known, graph.constant(sizes)), graph.constant(sizes))
    lines = graph.node("Cast", graph.node("Add", places, graph.constant(begins)), to=TensorProto.INT64)
    parts = [
        graph.summed(graph.node("Gather", graph.constant(stack), graph.picked(lines, part, len(sizes)), axis=0), 1)
        for part in parts_of_row(range(len(sizes)), stack.shape[1])
    ]
    return graph.total(parts)


def word_scores(graph: OnnxGraph, x: Tensor, likelihood: WordLikelihood) -> Tensor:
    """Return counts times weights; a word that is there may rule classes out."""
    split = Split.of(np.asarray(likelihood.each, dtype=np.float64))
    scores = graph.node("MatMul", x, graph.constant(split.finite))
    if not split.ruled_out.any():
        return scores
    times = flags_times(graph, x, 0.0, split.ruled_out)
    return without_ruled_out(graph, scores, times, np.zeros(split.finite.shape[1]))


def flag_scores(graph: OnnxGraph, x: Tensor, likelihood: FlagLikelihood) -> Tensor:
    """Return the score of a row without flags, and what each flag changes in it; either may rule classes out."""
    there, absent = Split.of(likelihood.log_there.T), Split.of(likelihood.log_absent.T)
    threshold, change = likelihood.family.threshold, there.finite - absent.finite
    changed = (
        graph.node("MatMul", x, graph.constant(change))
        if threshold is None
        else flags_times(graph, x, threshold, change)
    )
    scores = graph.node("Add", changed, graph.constant(absent.finite.sum(axis=0)))
    if not (there.ruled_out.any() or absent.ruled_out.any()):
        return scores
    # Without a threshold cells are proportions: any above 0 is there, and any below 1 is absent.
    at_all, in_full = (0.0, float(np.nextafter(1.0, 0.0))) if threshold is None else (threshold, threshold)
    times = graph.total(
        [flags_times(graph, x, at_all, there.ruled_out), flags_times(graph, x, in_full, -absent.ruled_out)]
    )
    return without_ruled_out(graph, scores, times, absent.ruled_out.sum(axis=0))


def flags_times(graph: OnnxGraph, x: Tensor, threshold: float, table: Floats) -> Tensor:
    """Return the sum of the lines of a table [flag, class] whose flags are there."""
    from onnx import TensorProto

    flags = graph.node("Cast", graph.node("Greater", x, graph.constant(threshold)), to=TensorProto.DOUBLE)
    return graph.node("MatMul", flags, graph.constant(table))


def without_ruled_out(graph: OnnxGraph, scores: Tensor, times: Tensor, base: Floats) -> Tensor:
    """Return scores, minus infinity where log 0 was added at least once."""
    is_ruled_out = graph.node("Greater", graph.node("Add", times, graph.constant(base)), graph.constant(0.5))
    return graph.node("Where", is_ruled_out, graph.constant(-np.inf), scores)
