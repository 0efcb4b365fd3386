"""The choice of least expected cost, or no answer."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from naively import decide, expected_cost
from naively.errors import InvalidInput

P = np.array([[0.2, 0.8], [0.05, 0.95], [0.5, 0.5]])


@st.composite
def posteriors(draw, classes):
    """Return a few rows of probabilities, some of them 0."""
    weight = st.one_of(st.just(0.0), st.floats(1e-3, 1.0))
    line = st.lists(weight, min_size=classes, max_size=classes).filter(any)
    p = np.array(draw(st.lists(line, min_size=1, max_size=4)))
    return p / p.sum(axis=1, keepdims=True)


@st.composite
def problems(draw):
    """Return probabilities and costs, with as many choices as it pleases."""
    classes, choices = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    line = st.lists(st.floats(-10, 10), min_size=choices, max_size=choices)
    return draw(posteriors(classes)), np.array(draw(st.lists(line, min_size=classes, max_size=classes)))


# -- costs ----------------------------------------------------------------------------------------------------------


def test_the_choice_of_least_expected_cost_is_made():
    """Choices need not be classes; a tie goes to the first."""
    cost = [[0, 10], [1, 0]]
    assert expected_cost(P, cost) == pytest.approx(np.array([[0.8, 2.0], [0.95, 0.5], [0.5, 5.0]]))
    for posterior, cost, choices in (
        (P, [[0, 10], [1, 0]], [0, 1, 0]),
        (P, [[0, 3, 10], [20, 4, 0]], [2, 2, 1]),
        (P, [[7], [9]], [0, 0, 0]),
        ([[0.5, 0.5]], None, [0]),
        ([[0.25, 0.375, 0.375]], None, [1]),
        ([[0.5, 0.5]], [[1, 1, 1], [1, 1, 1]], [0]),
        ([[0.5, 0.5]], [[1, 0, 2], [1, 2, 0]], [0]),
    ):
        assert decide(posterior, cost).tolist() == choices
    assert expected_cost(P, [[0, 3, 10], [20, 4, 0]]).shape == (3, 3)


@settings(deadline=None)
@given(problem=problems(), data=st.data(), shift=st.floats(-5, 5), scale=st.floats(0.1, 10))
def test_no_other_choice_is_cheaper_in_any_unit_of_cost(problem, data, shift, scale):
    p, cost = problem
    costs, row = expected_cost(p, cost), np.arange(len(p))
    other = data.draw(st.lists(st.integers(0, cost.shape[1] - 1), min_size=len(p), max_size=len(p)))
    np.testing.assert_allclose(costs, [[line @ column for column in cost.T] for line in p], atol=1e-12)
    assert (costs[row, decide(p, cost)] <= costs[row, other]).all()
    np.testing.assert_allclose(costs[row, decide(p, cost * scale + shift)], costs.min(axis=1), atol=1e-9)


# -- abstaining -------------------------------------------------------------------------------------------------------


def test_a_row_whose_expected_cost_is_above_reject_gets_no_answer():
    """The decision is -1 where abstaining is cheaper, and stands where it costs as much."""
    cost = [[0, 10], [1, 0]]
    for reject, choices in ((0.19, [-1, 1, -1]), (0.5, [1, 1, 0]), (0, [-1, -1, -1])):
        assert decide(P, reject=reject).tolist() == choices
    assert decide(P, cost, reject=0.7).tolist() == [-1, 1, 0]
    assert decide([[0.0, 1.0]], reject=0).tolist() == [1]


# -- numbers ----------------------------------------------------------------------------------------------------------

values_and_posteriors = st.integers(1, 5).flatmap(
    lambda size: st.tuples(
        st.lists(st.floats(-100, 100), min_size=size, max_size=size, unique=True).map(np.array), posteriors(size)
    )
)


def best_on_a_grid(p, values, loss):
    """Return the least expected loss over all numbers, found numerically."""

    def expected(answer):
        return float(p @ loss(values - answer))

    found = [minimize_scalar(expected, bounds=(a, a + 5), method="bounded").fun for a in np.arange(-101, 100, 5.0)]
    return min([*found, *(expected(value) for value in values)])


@settings(deadline=None, max_examples=15)
@given(drawn=values_and_posteriors)
def test_the_mean_has_the_least_squared_cost_and_the_median_the_least_absolute(drawn):
    values, p = drawn
    means, medians = decide(p, "squared", values=values), decide(p, "absolute", values=values)
    np.testing.assert_allclose(means, p @ values, atol=1e-9)
    assert (decide(p, values=values) == means).all()
    assert np.isin(medians, values).all()
    for answer, loss in ((means[0], np.square), (medians[0], np.abs)):
        least = best_on_a_grid(p[0], values, loss)
        assert p[0] @ loss(values - answer) <= least + 1e-9 * (1 + abs(least))


# -- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("posterior", "words"),
    [
        ([0.5, 0.5], r"must be \[row, class\]; found an array of shape \(2,\). A single row is a list of one row"),
        ([[]], r"must be \[row, class\]; found an array of shape \(1, 0\)"),
        ([[0.5, 0.5], [0.4, 0.5]], r"Row 1 of the posterior is \[0.4 0.5\].*divide each row by its sum"),
        ([[1.5, -0.5]], r"Row 0 of the posterior is \[ 1.5 -0.5\], which are not probabilities.*predict_proba"),
        ([[np.nan, 1.0]], "Row 0 of the posterior is .*not probabilities that sum to 1"),
    ],
)
def test_what_are_no_probabilities_is_refused(posterior, words):
    for function in (decide, expected_cost):
        with pytest.raises(InvalidInput, match=words):
            function(posterior)


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        ([0, 1], r"cost must be \[true class, choice\] with 2 rows, one for each class; found shape \(2,\)"),
        (1 - np.eye(3), r"with 2 rows, one for each class; found shape \(3, 3\)"),
        ([[], []], r"found shape \(2, 0\)"),
        ([[0, 1], [np.nan, 0]], r"cost\[1, 0\] is nan; give every choice a finite cost"),
        ([[0, np.inf], [1, 0]], r"cost\[0, 1\] is inf; .*a large one to a choice that must not be made"),
        ("squared", r"cost='squared' needs the classes as numbers: use decide\(posterior, cost, values=...\)"),
        ("absolute", "needs the classes as numbers"),
    ],
)
def test_what_is_no_cost_matrix_is_refused(cost, words):
    for function in (decide, expected_cost):
        with pytest.raises(InvalidInput, match=words):
            function(P, cost)


def test_what_are_no_costs_of_abstaining_and_no_values_is_refused():
    for reject in (-0.1, float("nan")):
        with pytest.raises(InvalidInput, match="is not a cost; give the cost of no answer, 0 or more, or None"):
            decide(P, reject=reject)
    for values in ([1, 2, 3], [1, np.inf]):
        with pytest.raises(InvalidInput, match="values must be a finite number for each of the 2 classes"):
            decide(P, values=values)
    for cost in ([[0, 1], [1, 0]], "cubic"):
        with pytest.raises(InvalidInput, match="With values, cost must be 'squared' or 'absolute'"):
            decide(P, cost, values=[1, 2])


def test_no_rows_need_no_decision():
    assert decide(np.zeros((0, 2))).shape == (0,)
    assert decide(np.zeros((0, 2)), [[0, 1], [1, 0]], reject=0.5).shape == (0,)
    assert decide(np.zeros((0, 2)), values=[1, 2]).shape == (0,)
    assert expected_cost(np.zeros((0, 2)), [[0, 1, 2], [1, 0, 2]]).shape == (0, 3)
