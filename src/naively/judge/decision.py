"""From probabilities to answers: the choice of least expected cost, and the right to abstain."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from .._types import AnyArray, Floats
from ..errors import InvalidInput
from ..errors.message import RowNumber, Setting

Cost = npt.ArrayLike | Literal["squared", "absolute"] | None


class Priced(NamedTuple):
    """A cost matrix [class, choice] with its choices by name; a class that no price is known of has a line of NaN."""

    matrix: Floats
    choices: tuple[Any, ...]


def decide(
    posterior: npt.ArrayLike, cost: Cost = None, reject: float | None = None, values: npt.ArrayLike | None = None
) -> AnyArray:
    """Pick the choice with the least expected cost for each row.

    Parameters
    ----------
    posterior : array of shape (rows, classes)
        Probability of each class; each row sums to 1.
    cost : array of shape (classes, choices), "squared" or "absolute", optional
        What a choice costs when a class is true; by default every mistake costs 1. Choices need not be classes. In
        lecture notes that write J[i, j] for choosing i when j is true, this is the transpose of J.
    reject : float, optional
        The price of not answering; a row whose best choice is expected to cost more gets -1 (NaN with values).
    values : array of shape (classes,), optional
        The classes as numbers. The answer is then a number: the conditional mean for squared cost (the default), the
        conditional median for absolute cost.

    Returns
    -------
    array of shape (rows,)
        The index of each row's choice, or with values the number itself.

    Examples
    --------
    Throwing away good mail costs ten times as much as reading spam:

    >>> ham_spam = [[0.2, 0.8], [0.05, 0.95]]
    >>> decide(ham_spam)
    array([1, 1])
    >>> decide(ham_spam, cost=[[0, 10], [1, 0]])
    array([0, 1])
    >>> expected_cost(ham_spam, cost=[[0, 10], [1, 0]])
    array([[0.8 , 2.  ],
           [0.95, 0.5 ]])

    Asking the owner costs 0.7, so it pays for the first message:

    >>> decide(ham_spam, cost=[[0, 10], [1, 0]], reject=0.7)
    array([-1,  1])

    Stars from 1 to 3, of which the squared error or the distance matters:

    >>> stars = [[0.6, 0.1, 0.3]]
    >>> decide(stars, values=[1, 2, 3]), decide(stars, cost="absolute", values=[1, 2, 3])
    (array([1.7]), array([1.]))
    """
    p = checked_posterior(posterior)
    if reject is not None and not numbers_of(reject, "reject") >= 0:
        raise InvalidInput(Setting("reject", reject), " is no price; give what a refusal costs, 0 or more, or None.")
    if values is not None:
        return decide_number(p, cost, reject, values)
    costs = expected_cost(p, cost)
    choice = most_probable(p) if cost is None else costs.argmin(axis=1)
    return choice if reject is None else np.where(costs.min(axis=1) > reject, -1, choice)


def most_probable(scores: Floats) -> npt.NDArray[np.intp]:
    """Return the class of the highest probability, or of the highest log joint: the choice under 0/1 cost."""
    return np.asarray(scores.argmax(axis=1), dtype=np.intp)


def expected_cost(posterior: npt.ArrayLike, cost: Cost = None) -> Floats:
    """Return what each choice is expected to cost, as [row, choice].

    >>> expected_cost([[0.2, 0.8]])  # every mistake costs 1
    array([[0.8, 0.2]])
    """
    p = checked_posterior(posterior)
    if cost is None:
        return 1.0 - p
    return np.asarray(p @ checked_cost(cost, p.shape[1]))


def decide_number(p: Floats, cost: Cost, reject: float | None, values: npt.ArrayLike) -> Floats:
    """Return the number of least expected cost: the mean for squared cost, the median for absolute cost."""
    v = np.asarray(values, dtype=np.float64)
    if v.shape != (p.shape[1],) or not np.isfinite(v).all():
        raise InvalidInput(f"values must be a finite number for each of the {p.shape[1]} classes; found {values!r}.")
    if cost is None or (isinstance(cost, str) and cost == "squared"):
        answer = p @ v
        costs = (p * (v - answer[:, None]) ** 2).sum(axis=1)
    elif isinstance(cost, str) and cost == "absolute":
        order = np.argsort(v)
        answer = v[order[(p[:, order].cumsum(axis=1) >= 0.5 - 1e-12).argmax(axis=1)]]
        costs = (p * np.abs(v - answer[:, None])).sum(axis=1)
    else:
        raise InvalidInput("With values, cost is 'squared' or 'absolute'; a matrix of costs chooses among its columns.")
    return answer if reject is None else np.where(costs > reject, np.nan, answer)


def labelled_cost(cost: Any, classes: AnyArray) -> tuple[Any, AnyArray]:
    """Return a cost matrix in the order of the classes, and the choices that its columns stand for.

    A dict names pairs (true, chosen); mistakes it does not name cost 1. A data frame may name its choices.

    >>> labelled_cost({("bad", "good"): 5}, np.array(["bad", "good"]))
    (array([[0., 5.],
           [1., 0.]]), array(['bad', 'good'], dtype='<U4'))
    """
    if cost is None:
        return None, classes
    if isinstance(cost, dict):
        return cost_of_pairs(cost, classes), classes
    choices = getattr(cost, "columns", None)
    matrix = checked_cost(cost, len(classes))
    if choices is not None and len(choices) == matrix.shape[1]:
        return matrix, np.asarray(list(choices))
    return matrix, classes if matrix.shape[1] == len(classes) else np.arange(matrix.shape[1])


def cost_of_pairs(cost: dict[Any, Any], classes: AnyArray) -> Floats:
    """Return the matrix of costs that a dict of pairs (true, chosen) describes."""
    matrix, places = 1.0 - np.eye(len(classes)), {label: at for at, label in enumerate(classes.tolist())}
    for pair, price in cost.items():
        if not isinstance(pair, tuple) or len(pair) != 2 or any(label not in places for label in pair):
            raise InvalidInput(
                f"cost names {pair!r}; give pairs (true, chosen) of the classes {list(places)}, such as "
                f"{{{(classes[0], classes[-1])!r}: 5}}."
            )
        matrix[places[pair[0]], places[pair[1]]] = numbers_of(price)
    return checked_cost(matrix, len(classes))


def checked_posterior(posterior: npt.ArrayLike) -> Floats:
    """Return the probabilities as [row, class], if they are."""
    p = np.asarray(posterior, dtype=np.float64)
    if p.ndim != 2 or p.shape[1] == 0:
        raise InvalidInput(
            f"The posterior must be [row, class]; found an array of shape {p.shape}. A single row is a list of one row."
        )
    wrong = np.flatnonzero(~((p >= 0).all(axis=1) & (np.abs(p.sum(axis=1) - 1) < 1e-6)))
    if len(wrong):
        raise InvalidInput(
            RowNumber(wrong[0]),
            f" of the posterior is {p[wrong[0]]}, which are no probabilities that sum to 1. Give what "
            "predict_proba returns, or divide each row by its sum.",
        )
    return p


def checked_cost(cost: Cost, classes: int) -> Floats:
    """Return the cost matrix [class, choice], if it is one for so many classes."""
    if isinstance(cost, str):
        raise InvalidInput(
            Setting("cost", cost),
            " needs the classes as numbers: use decide(posterior, cost, values=...).",
        )
    matrix = numbers_of(cost)
    if matrix.ndim != 2 or matrix.shape[0] != classes or matrix.shape[1] == 0:
        raise InvalidInput(
            f"cost must be [true class, choice] with {classes} rows, one for each class; found shape {matrix.shape}."
        )
    if not np.isfinite(matrix).all():
        true, chosen = (int(i) for i in np.argwhere(~np.isfinite(matrix))[0])
        raise InvalidInput(
            f"cost[{true}, {chosen}] is {matrix[true, chosen]}; give every choice a finite cost, and one that must not "
            "be made a large one."
        )
    return matrix


def numbers_of(cost: Any, name: str = "cost") -> Floats:
    """Return costs as numbers, if they are."""
    try:
        return np.asarray(cost, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"{name} holds {cost!r}; give numbers.", setting=name, value=cost) from None
