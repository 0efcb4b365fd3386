"""Densities of numbers as nodes of ONNX: normal, Student-t, Poisson and negative binomial."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._types import Floats
from .onnx_graph import OnnxGraph, Tensor

# Numbers and squared distances beyond these are taken for these, as the kernels do: all sums stay finite.
LARGEST_NUMBER, LARGEST_SQUARE = 1e150, 1e300
# Lanczos' approximation of the gamma function with g = 7 and nine coefficients (P. Godfrey), of relative error 2e-13:
# Γ(z) = √(2π) · (z + 6.5)^(z - 1/2) · e^-(z + 6.5) · (c0 + c1 / z + … + c8 / (z + 7)).
LANCZOS_SHIFT = 6.5
LANCZOS = (
    0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
    12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
)  # fmt: skip
# The last coefficients as more cells of a row.
LANCZOS_CELLS = len(LANCZOS) - 1


def normal_densities(graph: OnnxGraph, x: Tensor, tables: Sequence[Floats]) -> Tensor:
    """Return the sum of normal or Student-t densities of x, [row, class]; a table [class, 4] for each column."""
    center, precision, power, base = np.moveaxis(np.stack(tables), -1, 0)  # [column, class] each
    inside = graph.node("Max", graph.node("Min", x, graph.constant(LARGEST_NUMBER)), graph.constant(-LARGEST_NUMBER))
    gap = graph.node("Sub", graph.axis_added(inside), graph.constant(center))
    far = graph.node("Mul", graph.node("Mul", gap, gap), graph.constant(precision))
    far = penalty = graph.node("Min", far, graph.constant(LARGEST_SQUARE))
    if power.any():
        penalty = graph.node("Mul", graph.logarithm_of_one_plus(far), graph.constant(power))
        if not power.all():
            penalty = graph.node("Where", graph.constant(power == 0), far, penalty)
    return sum_where_present(graph, x, graph.node("Sub", graph.constant(base), penalty))


def sum_where_present(graph: OnnxGraph, x: Tensor, scores: Tensor) -> Tensor:
    """Return scores [row, column, class] summed over the columns whose number is there."""
    is_missing = graph.axis_added(graph.node("IsNaN", x))
    return graph.summed(graph.node("Where", is_missing, graph.constant(0.0), scores), 1)


def events_in(graph: OnnxGraph, x: Tensor) -> Tensor:
    """Return numbers of events [row, column, 1], none of them too large."""
    return graph.axis_added(graph.node("Min", x, graph.constant(LARGEST_NUMBER)))


def poisson_densities(graph: OnnxGraph, x: Tensor, tables: Sequence[Floats]) -> Tensor:
    """Return the sum of Poisson distributions of numbers of events x, [row, class]; a table [class, 3] for each."""
    weight, rate, log_rate = np.moveaxis(np.stack(tables), -1, 0)
    never = np.isneginf(log_rate)  # a class without any event is ruled out by one
    slope, base = weight * np.where(never, 0.0, log_rate), weight * rate
    # Only differences between classes matter, and smaller numbers keep more digits.
    slope, base = slope - slope[:, :1], base - base[:, :1]
    events = events_in(graph, x)
    scores = graph.node("Sub", graph.node("Mul", events, graph.constant(slope)), graph.constant(base))
    if never.any():
        happened = graph.node("Greater", events, graph.constant(0.0))
        excluded = graph.constant(np.where(never & (weight > 0), -np.inf, 0.0))
        scores = graph.node("Add", scores, graph.node("Where", happened, excluded, graph.constant(0.0)))
    return sum_where_present(graph, x, scores)


def negative_binomials(graph: OnnxGraph, x: Tensor, tables: Sequence[Floats]) -> Tensor:
    """Return the sum of negative binomial distributions of x, [row, class]; a table [class, 3] for each column.

    The scores are -e·log(1 + (e - x·r) / ((e + x)·r)) - x·log(1 + (x·r - e) / (e + x)) - log((e + x) / e) / 2, plus
    what Stirling's formula lacks for e + x, less that for e: no large logarithms cancel. What all classes share, such
    as log x!, is left out.
    """
    weight, e, r = np.moveaxis(np.stack(tables), -1, 0)
    least = graph.constant(np.nextafter(-1.0, 0.0))  # log 0 times 0 events would be no number
    events = events_in(graph, x)
    both = graph.node("Add", events, graph.constant(e))
    excess = graph.node("Div", graph.node("Sub", graph.node("Mul", events, graph.constant(r)), graph.constant(e)), both)
    of_events = graph.logarithm_of_one_plus(graph.node("Max", excess, least))
    of_rows = graph.logarithm_of_one_plus(graph.node("Max", graph.node("Div", excess, graph.constant(-r)), least))
    ratio = graph.node("Log", graph.node("Div", both, graph.constant(e)))
    taken = graph.total(
        [
            graph.node("Mul", of_events, events),
            graph.node("Mul", of_rows, graph.constant(e)),
            graph.node("Mul", ratio, graph.constant(0.5)),
        ]
    )
    rest = graph.node("Sub", stirling_rest(graph, both), graph.constant(stirling_rest_of(e)))
    return sum_where_present(graph, x, graph.node("Mul", graph.node("Sub", rest, taken), graph.constant(weight)))


def stirling_rest(graph: OnnxGraph, z: Tensor) -> Tensor:
    """Return what Stirling's formula (z - 1/2)·log z - z + log(2π)/2 lacks for log Γ(z), by Lanczos' approximation."""
    first, *others = LANCZOS
    shifted = graph.node("Add", graph.axis_added(z), graph.constant(np.arange(float(LANCZOS_CELLS))))
    terms = graph.summed(graph.node("Div", graph.constant(np.array(others)), shifted), -1)
    series = graph.node("Log", graph.node("Add", terms, graph.constant(first)))
    shift = graph.constant(LANCZOS_SHIFT)
    log = graph.logarithm_of_one_plus(graph.node("Div", shift, z))
    near = graph.node("Sub", graph.node("Mul", log, graph.node("Sub", z, graph.constant(0.5))), shift)
    return graph.node("Add", series, near)


def stirling_rest_of(z: Floats) -> Floats:
    """Return the same of numbers that are known already."""
    first, *others = LANCZOS
    series = first + (np.array(others) / (z[..., None] + np.arange(LANCZOS_CELLS))).sum(axis=-1)
    return np.asarray(np.log(series) + (z - 0.5) * np.log1p(LANCZOS_SHIFT / z) - LANCZOS_SHIFT)
