"""Decisions from probabilities: the choice of least expected cost, or abstention."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from .._linear_algebra import product
from .._types import AnyArray, Floats, Label, Places
from ..errors import InvalidInput
from ..errors.message import RowNumber, Setting

# Costs of predictions that are numbers: by their distance from the true number.
NumberCost: TypeAlias = Literal["squared", "absolute"]
Cost: TypeAlias = npt.ArrayLike | NumberCost | None
# Costs as users give them: a matrix, a data frame that names its choices, or the costs of pairs (true, chosen).
LabelledCost: TypeAlias = Cost | Mapping[tuple[Label, Label], float]


class CostMatrix(NamedTuple):
    """A cost matrix [class, choice] and the labels of the choices; NaN in the row of a class without known costs."""

    matrix: Floats
    choices: tuple[Label, ...]


def decide(
    posterior: npt.ArrayLike, cost: Cost = None, reject: float | None = None, values: npt.ArrayLike | None = None
) -> AnyArray:
    """Return the choice of least expected cost for each row.

    Parameters
    ----------
    posterior : array of shape (rows, classes)
        Probability of each class; each row sums to 1.
    cost : array of shape (classes, choices), "squared" or "absolute", optional
        The cost of each choice when a class is true; by default every mistake costs 1. Choices need not be classes. In
        lecture notes that write J[i, j] for choosing i when j is true, this is the transpose of J.
    reject : float, optional
        The cost of abstaining. A row whose best choice has a higher expected cost gets -1, or NaN with `values`.
    values : array of shape (classes,), optional
        The classes as numbers. The decision is then a number: the conditional mean for squared cost (the default), the
        conditional median for absolute cost.

    Returns
    -------
    decisions : array of shape (rows,)
        The index of each row's choice; with `values`, a number.

    Examples
    --------
    Deleting good mail costs ten times as much as reading spam:

    >>> ham_spam = [[0.2, 0.8], [0.05, 0.95]]
    >>> decide(ham_spam)
    array([1, 1])
    >>> decide(ham_spam, cost=[[0, 10], [1, 0]])
    array([0, 1])
    >>> expected_cost(ham_spam, cost=[[0, 10], [1, 0]])
    array([[0.8 , 2.  ],
           [0.95, 0.5 ]])

    With abstaining at a cost of 0.7, the first message gets no decision:

    >>> decide(ham_spam, cost=[[0, 10], [1, 0]], reject=0.7)
    array([-1,  1])

    Ratings from 1 to 3, with the squared or the absolute error as the cost:

    >>> stars = [[0.6, 0.1, 0.3]]
    >>> decide(stars, values=[1, 2, 3]), decide(stars, cost="absolute", values=[1, 2, 3])
    (array([1.7]), array([1.]))
    """
    p = checked_posterior(posterior)
    if reject is not None and not cost_numbers(reject, "reject") >= 0:
        raise InvalidInput(Setting("reject", reject), " is not a cost; give the cost of no answer, 0 or more, or None.")
    if values is not None:
        return number_decisions(p, cost, reject, values)
    costs = expected_cost(p, cost)
    choice = most_probable(p) if cost is None else costs.argmin(axis=1)
    return choice if reject is None else np.where(costs.min(axis=1) > reject, -1, choice)


def most_probable(scores: Floats) -> Places:
    """Return the class with the highest probability or joint log-probability: the choice under 0/1 cost."""
    return np.asarray(scores.argmax(axis=1), dtype=np.intp)


def expected_cost(posterior: npt.ArrayLike, cost: Cost = None) -> Floats:
    """Return the expected cost of each choice for each row.

    Parameters
    ----------
    posterior : array of shape (rows, classes)
        Probability of each class; each row sums to 1.
    cost : array of shape (classes, choices), optional
        The cost of each choice when a class is true; by default every mistake costs 1.

    Returns
    -------
    costs : array of shape (rows, choices)
        The expected cost of each choice.

    Examples
    --------
    >>> import naively as nv
    >>> nv.expected_cost([[0.2, 0.8]])  # every mistake costs 1
    array([[0.8, 0.2]])
    """
    p = checked_posterior(posterior)
    if cost is None:
        return 1.0 - p
    return product(p, checked_cost(cost, p.shape[1]))


def number_decisions(p: Floats, cost: Cost, reject: float | None, values: npt.ArrayLike) -> Floats:
    """Return the number of least expected cost: the mean for squared cost, the median for absolute cost."""
    v = np.asarray(values, dtype=np.float64)
    if v.shape != (p.shape[1],) or not np.isfinite(v).all():
        raise InvalidInput(f"values must be a finite number for each of the {p.shape[1]} classes; found {values!r}.")
    if cost is None or (isinstance(cost, str) and cost == "squared"):
        decision = product(p, v)
        costs = (p * (v - decision[:, None]) ** 2).sum(axis=1)
    elif isinstance(cost, str) and cost == "absolute":
        order = np.argsort(v)
        decision = v[order[(p[:, order].cumsum(axis=1) >= 0.5 - 1e-12).argmax(axis=1)]]
        costs = (p * np.abs(v - decision[:, None])).sum(axis=1)
    else:
        raise InvalidInput("With values, cost must be 'squared' or 'absolute'; values take no cost matrix.")
    return decision if reject is None else np.where(costs > reject, np.nan, decision)


def cost_and_choices(cost: LabelledCost, classes: AnyArray) -> tuple[Floats | None, AnyArray]:
    """Return a cost matrix in the order of the classes, and the choices that its columns stand for.

    A dict gives the costs of pairs (true, chosen); other mistakes cost 1. A data frame may name its choices.

    >>> cost_and_choices({("bad", "good"): 5}, np.array(["bad", "good"]))
    (array([[0., 5.],
           [1., 0.]]), array(['bad', 'good'], dtype='<U4'))
    """
    if cost is None:
        return None, classes
    if isinstance(cost, Mapping):
        return cost_matrix_from_pairs(cost, classes), classes
    choices = getattr(cost, "columns", None)
    matrix = checked_cost(cost, len(classes))
    if choices is not None and len(choices) == matrix.shape[1]:
        return matrix, np.asarray(list(choices))
    return matrix, classes if matrix.shape[1] == len(classes) else np.arange(matrix.shape[1])


def cost_matrix_from_pairs(cost: Mapping[tuple[Label, Label], float], classes: AnyArray) -> Floats:
    """Return the cost matrix of a dict of pairs (true, chosen)."""
    matrix, indices = 1.0 - np.eye(len(classes)), {label: index for index, label in enumerate(classes.tolist())}
    for pair, price in cost.items():
        if not isinstance(pair, tuple) or len(pair) != 2 or any(label not in indices for label in pair):
            raise InvalidInput(
                f"cost has the key {pair!r}; give pairs (true, chosen) of the classes {list(indices)}, such as "
                f"{{{(classes[0], classes[-1])!r}: 5}}."
            )
        matrix[indices[pair[0]], indices[pair[1]]] = cost_numbers(price)
    return checked_cost(matrix, len(classes))


def checked_posterior(posterior: npt.ArrayLike) -> Floats:
    """Return the probabilities as an array [row, class]; raise an error if they are none."""
    p = np.asarray(posterior, dtype=np.float64)
    if p.ndim != 2 or p.shape[1] == 0:
        raise InvalidInput(
            f"The posterior must be [row, class]; found an array of shape {p.shape}. A single row is a list of one row."
        )
    wrong = np.flatnonzero(~((p >= 0).all(axis=1) & (np.abs(p.sum(axis=1) - 1) < 1e-6)))
    if len(wrong):
        raise InvalidInput(
            RowNumber(wrong[0]),
            f" of the posterior is {p[wrong[0]]}, which are not probabilities that sum to 1. Give "
            "the result of predict_proba, or divide each row by its sum.",
        )
    return p


def checked_cost(cost: Cost, classes: int) -> Floats:
    """Return the cost matrix [class, choice]; raise an error if it does not fit the number of classes."""
    if isinstance(cost, str):
        raise InvalidInput(
            Setting("cost", cost),
            " needs the classes as numbers: use decide(posterior, cost, values=...).",
        )
    matrix = cost_numbers(cost)
    if matrix.ndim != 2 or matrix.shape[0] != classes or matrix.shape[1] == 0:
        raise InvalidInput(
            f"cost must be [true class, choice] with {classes} rows, one for each class; found shape {matrix.shape}."
        )
    if not np.isfinite(matrix).all():
        true, chosen = (int(i) for i in np.argwhere(~np.isfinite(matrix))[0])
        raise InvalidInput(
            f"cost[{true}, {chosen}] is {matrix[true, chosen]}; give every choice a finite cost, and a large one to a "
            "choice that must not be made."
        )
    return matrix


def cost_numbers(cost: Cost, name: str = "cost") -> Floats:
    """Return costs as an array of numbers; raise an error if they are none."""
    try:
        return np.asarray(cost, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"{name} holds {cost!r}; give numbers.", setting=name, value=cost) from None
