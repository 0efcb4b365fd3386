"""Whatever finite rows come, every posterior is a probability: no NaN, no +infinity, a sum of 1."""

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from naively import Bernoulli, Categorical, Gaussian, Poisson, Settings, Words
from naively.counting import arrays as memory
from naively.model.column_parts import empirical_prior, estimate
from naively.model.scorer import log_posterior, posterior
from naively.stats import (
    Axis,
    CodesAccumulator,
    CountsAccumulator,
    MomentsAccumulator,
    TableAccumulator,
)

FAMILIES = [
    Categorical(),
    Categorical(spread="overall"),
    Bernoulli(),
    Words(),
    Words(complement=True),
    Words(complement=True, norm=True),
    Gaussian(),
    Gaussian(epsilon=1e-9),
    Poisson(),
]
SETTINGS = [
    Settings("mle"),
    Settings("map", 1.0),
    Settings("map", 2.0),
    Settings("bayes", 1e-10),
    Settings("bayes", 1.0),
]


def named(part):
    return f"{part.estimate} λ={part.smoothing}" if isinstance(part, Settings) else repr(part)


def has_estimate(family, how):
    """Tell whether the estimate exists: λ spread by overall frequencies has no mode."""
    return how.estimate != "map" or getattr(family, "spread", "even") == "even"


each = pytest.mark.parametrize(
    ("family", "how"), [(f, how) for f in FAMILIES for how in SETTINGS if has_estimate(f, how)], ids=named
)


def accumulator(family, classes, x):
    if family.name == "categorical":
        return CodesAccumulator(classes, np.maximum(x.max(axis=0, initial=-1) + 1, 0))
    if family.name in ("gaussian", "poisson"):
        return MomentsAccumulator(classes, Axis.numbered(x.shape[1]))
    return TableAccumulator(classes, Axis.numbered(x.shape[1]), getattr(family, "threshold", None))


def fitted(family, x, y, classes, how, weights=None):
    """Return the model of these rows."""
    axis = Axis.numbered(classes)
    counts = CountsAccumulator(axis, {"x": accumulator(family, axis, x)})
    memory.add(counts, {"x": x}, np.asarray(y, np.int32), weights)
    value = counts.value()
    return estimate(value, {"x": family}, how, empirical_prior(value.rows, how))


def check(model, x, y=None, weights=None):
    """Assert that scores and posteriors are what they must be, for new rows and for held-out rows."""
    joint = model.log_joint({"x": x})
    check_joint(joint, model.log_prior)
    if y is not None:
        left_out = model.terms["x"].leave_one_out(x, np.asarray(y, np.int32), weights)
        check_joint(left_out + model.log_prior, model.log_prior)
    return joint


def check_joint(joint, log_prior):
    assert not np.isnan(joint).any()
    assert not np.isposinf(joint).any()
    p = posterior(joint, log_prior)
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    logs = log_posterior(joint, log_prior)
    assert not np.isnan(logs).any()
    assert (logs <= 0).all()


def rows_for(family, cells):
    """Return the cells in the form the family reads: codes, numbers of events, anything."""
    cells = np.asarray(cells, float)
    if family.name == "categorical":
        return np.where(np.isnan(cells), -1, np.abs(np.nan_to_num(cells)) % 5).astype(np.int64)
    if family.name in ("words", "bernoulli", "poisson"):
        cells = np.abs(cells)
        return np.nan_to_num(cells) if family.name != "poisson" else cells
    return cells


@pytest.mark.parametrize("how", SETTINGS, ids=named)
@pytest.mark.parametrize("family", [Gaussian(), Gaussian(epsilon=1e-9), Poisson()], ids=repr)
@pytest.mark.parametrize(
    "column",
    [
        [1e150, -1e150, 1e150, 3.0, 1e-300],
        [1e-300, 2e-300, 3e-300, 4e-300, 5e-300],
        [1e-160, 2e-160, 1e150, 1e-140, 0.0],
        [0.0, 0.0, 1e-150, 1e-20, 1e-20],
        [1e150, 1e150, 1e150, 1e150, -1e150],
        [1e-300, 1e-300, 1e10, 1e10, 1e10 + 1],
        [5e-324, 0.0, 1.0, 1.0, 1e150],
    ],
    ids=str,
)
def test_numbers_of_any_size(family, how, column):
    x, y = rows_for(family, np.array(column)[:, None]), [0, 0, 1, 1, 2]
    new = np.array([[0.0], [1.0], [1e-310], [1e150], [1.7e308]])
    model = fitted(family, x, y, 4, how)
    check(model, x, y)
    check(model, new)
    check(model, rows_for(family, -new))


@pytest.mark.parametrize(
    ("family", "x", "row"),
    [
        (Categorical(), [[0, 1], [0, 1], [0, 0], [1, 0]], [[1, 1]]),
        (Bernoulli(), [[1, 0], [1, 0], [1, 1], [1, 1]], [[0, 1]]),
        (Words(), [[1, 0, 0], [2, 1, 0], [0, 1, 0], [1, 1, 0]], [[1, 0, 1]]),
        (Words(complement=True), [[1, 0, 1], [1, 0, 2], [0, 1, 2], [0, 1, 1]], [[1, 1, 0]]),
        (Words(complement=True, norm=True), [[1, 0, 1], [1, 0, 2], [0, 1, 2], [0, 1, 1]], [[1, 1, 0]]),
        (Poisson(), [[0, 1], [0, 2], [1, 0], [3, 0]], [[1, 1]]),
    ],
    ids=named,
)
def test_when_every_class_is_ruled_out_the_posterior_is_the_prior(family, x, row):
    kind = np.int64 if family.name == "categorical" else np.float64
    model = fitted(family, np.array(x, kind), [0, 0, 1, 1], 2, Settings("mle"), np.array([1.0, 1.0, 1.0, 0.5]))
    joint = check(model, np.array(row, kind))
    assert np.isneginf(joint).all()
    np.testing.assert_allclose(posterior(joint, model.log_prior), [[4 / 7, 3 / 7]], rtol=1e-14)
    np.testing.assert_allclose(log_posterior(joint, model.log_prior), [model.log_prior], rtol=1e-14)


EXTREMES = [0.0, 1.0, -1.0, 0.1, 2.0, 1e150, -1e150, 1e-300, -1e-300, 1e-160, 1e75, 1e8, 1e8 + 1, np.nan]
cell = st.one_of(st.sampled_from(EXTREMES), st.floats(-1e150, 1e150), st.integers(-5, 5).map(float))


@st.composite
def drawn_rows(draw):
    """Return a small matrix, the class of each row and what it weighs."""
    rows, columns = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    line = st.lists(cell, min_size=columns, max_size=columns)
    x = np.array(draw(st.lists(line, min_size=rows, max_size=rows)))
    y = np.array(draw(st.lists(st.integers(0, 2), min_size=rows, max_size=rows)))
    weight = st.one_of(st.sampled_from([1.0, 1.0, 2.0, 0.0, 1e-3]), st.floats(1e-6, 1e6))
    weights = draw(st.one_of(st.none(), st.lists(weight, min_size=rows, max_size=rows).map(np.array)))
    return x, y, weights


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
@settings(deadline=None, max_examples=40)
@given(rows=drawn_rows(), how=st.sampled_from(SETTINGS), new=st.lists(cell, min_size=3, max_size=3))
@example((np.array([[1e150], [-1e150]]), np.array([0, 1]), None), SETTINGS[0], [0.0, 1.0, 2.0])
def test_any_finite_rows(family, rows, how, new):
    assume(has_estimate(family, how))
    x, y, weights = rows
    x, new = rows_for(family, x), rows_for(family, [new[: x.shape[1]]])
    model = fitted(family, x, y, 4, how, weights)
    check(model, x, y, weights)
    check(model, new)
