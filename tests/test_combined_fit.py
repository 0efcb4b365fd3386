"""Weights of several fits, combined without their rows: what adds up, and that the model works as any other."""

import json
from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np
import pandas as pd
import pytest

import naively as nv
from naively.estimator.fitted_classifier import FittedClassifier
from naively.estimator.live_counts import LiveCounts
from naively.estimator.models import joint_model
from naively.model.joint.combined_fit import (
    ENOUGH_ROWS,
    PartFit,
    combined_fit,
    expected_quality,
    expected_ratio,
)
from naively.model.joint.combined_loss import CombinedLoss, least_quadratic
from naively.model.joint.joint_fit import JointFit
from naively.model.joint.loss_near import LossNear
from naively.model.joint.model import JointModel
from naively.model.joint.moved_counts import moved_counts
from naively.model.joint.number_terms import VALUE
from naively.model.joint.pooled_grid import pooled_grid
from naively.model.joint.terms import Term
from naively.model.recipe import RECIPE
from naively.stats import Counts


def table_of(rows, seed):
    """Return numbers and labels that depend on each other within the classes, and classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, rows)
    x = rng.normal(size=(rows, 3)) + 0.8 * y[:, None]
    x[:, 2] = x[:, 0] * np.where(y == 1, 1, -1) + 0.5 * x[:, 2]
    first, noise = rng.integers(0, 3, rows), rng.random(rows)
    second = np.where(noise < 0.7, (first + y) % 3, rng.integers(0, 3, rows))
    table = pd.DataFrame(x).add_prefix("n").assign(a=first.astype(str), b=second.astype(str))
    return table.mask(rng.random(table.shape) < 0.03), np.array(["no", "yes", "perhaps"])[y]


def part_of(nb):
    model = nb.fitted_.model
    return PartFit.of(model) if isinstance(model, JointModel) else None


def with_fit(nb, counts, schema, fit):
    """Return a classifier like another one, with other counts and weights."""
    fitted = nb.fitted_
    tuning = replace(fitted.state.tuning, classes=tuple(counts.classes.labels), learned=fit)
    state = replace(fitted.state, counts=LiveCounts(schema, value=counts), schema=schema, tuning=tuning)
    absent = {name: None for name in ("first_rows", "kept") if hasattr(state, name)}
    return nv.NaiveBayes.from_fitted(FittedClassifier(fitted.parameters, replace(state, **absent)))


def merged(models):
    """Return the model of the rows of all, from their counts and weights alone."""
    counts = [nb.counts_ for nb in models]
    grid, _ = pooled_grid(counts)
    joint = reduce(add, (moved_counts(part, grid) for part in counts))
    single = reduce(add, (Counts(c.classes, c.rows, c.columns, replace(c.schema, grid=None)) for c in counts))
    schema = replace(models[0].schema_, grid=grid)
    whole = Counts(single.classes, single.rows, single.columns, schema, joint)
    model = joint_model(with_fit(models[0], whole, schema, None).fitted_, None)
    return with_fit(models[0], whole, schema, combined_fit([part_of(nb) for nb in models], model))


def log_loss(nb, X, y):
    p = nb.predict_proba(X)
    return -np.log(p[np.arange(len(y)), np.searchsorted(nb.classes_, y)]).mean()


@pytest.fixture(scope="module")
def parts():
    X, y = table_of(2400, 0)
    return [nv.NaiveBayes().fit(X[at::4], y[at::4]) for at in range(4)]


@pytest.fixture(scope="module")
def whole(parts):
    return merged(parts)


def test_a_merged_model_is_nearly_as_good_as_one_fit(whole):
    """And better than any of its parts."""
    (X, y), (T, t) = table_of(2400, 0), table_of(4000, 1)
    one = log_loss(nv.NaiveBayes().fit(X, y), T, t)
    part = log_loss(nv.NaiveBayes().fit(X[::4], y[::4]), T, t)
    assert log_loss(whole, T, t) < 1.03 * one
    assert log_loss(whole, T, t) < part


def test_the_order_of_parts_changes_nothing(parts, whole):
    X, _ = table_of(300, 2)
    other = merged([parts[0], *parts[:0:-1]])
    assert np.abs(other.predict_proba(X) - whole.predict_proba(X)).max() < 1e-9


def test_the_model_works_as_any_other(whole, tmp_path):
    X, y = table_of(2400, 0)
    few = X.iloc[:50]
    left = whole.leave_one_out(few, y[:50]).posterior
    assert np.abs(left - whole.predict_proba(few)).max() < 0.2
    assert not np.array_equal(left, whole.predict_proba(few))
    assert "combined of 4 fits" in str(whole.summary())
    explained = whole.explain(X.iloc[0].to_dict())
    assert "n0" in str(explained)
    whole.save(tmp_path / "model.parquet")
    again = nv.load(tmp_path / "model.parquet")
    assert np.array_equal(again.predict_proba(few), whole.predict_proba(few))
    assert again.fitted_.state.tuning.learned.parts == 4


def test_a_merged_model_is_merged_again(parts):
    """Two by two it is as good as all at once."""
    T, t = table_of(4000, 1)
    twice = merged([merged(parts[:2]), merged(parts[2:])])
    assert log_loss(twice, T, t) < 1.02 * log_loss(merged(parts), T, t)


def test_models_read_from_files_merge_as_those_in_memory(parts, whole, tmp_path):
    read = []
    for at, nb in enumerate(parts):
        nb.save(tmp_path / f"{at}.parquet")
        read.append(nv.load(tmp_path / f"{at}.parquet"))
    X, _ = table_of(300, 2)
    assert np.abs(merged(read).predict_proba(X) - whole.predict_proba(X)).max() < 1e-9


def test_columns_in_another_order_have_the_same_weights(parts, whole):
    X, y = table_of(2400, 0)
    turned = nv.NaiveBayes().fit(X[X.columns[::-1]][1::4], y[1::4])
    asked, _ = table_of(300, 2)
    other = merged([parts[0], turned, *parts[2:]])
    assert np.abs(other.predict_proba(asked) - whole.predict_proba(asked)).max() < 1e-6


def test_a_part_without_a_class_or_without_weights_is_no_obstacle(parts):
    X, y = table_of(2400, 0)
    T, t = table_of(2000, 1)
    some = np.flatnonzero(y != "perhaps")[::4]
    two = nv.NaiveBayes().fit(X.iloc[some], y[some])
    few = nv.NaiveBayes().fit(X.iloc[:20], y[:20])
    assert part_of(few) is None
    found = merged([*parts[:2], two, few])
    assert found.classes_.tolist() == ["no", "perhaps", "yes"]
    assert log_loss(found, T, t) < 1.1 * log_loss(merged(parts), T, t)
    assert merged([few, few]).fitted_.state.tuning.learned is None


def test_weights_of_an_older_file_are_averaged(parts):
    T, t = table_of(2000, 1)
    whole = merged(parts)
    models = [nb.fitted_.model for nb in parts]
    old = [PartFit.of(model)._replace(fit=replace(model.fit, near=None)) for model in models]
    fit = combined_fit(old, joint_model(whole.fitted_, None))
    averaged = with_fit(parts[0], whole.counts_, whole.schema_, fit)
    assert log_loss(averaged, T, t) < 1.1 * log_loss(whole, T, t)
    term = next(iter(fit.weights))
    assert (
        min(m.fit.weights.get(term, 0) for m in models)
        <= fit.weights[term]
        <= max(m.fit.weights.get(term, 0) for m in models)
    )


# -- the arithmetic --------------------------------------------------------------------------------------------------


def test_losses_add_up_to_that_of_all_rows():
    """One fit and two parts of it, the slope and curvature of which are halves, have the same weights."""
    X, y = table_of(1200, 3)
    nb = nv.NaiveBayes().fit(X, y)
    model = nb.fitted_.model
    part = PartFit.of(model)
    near = part.fit.near
    half = part._replace(
        fit=replace(part.fit, near=LossNear(near.terms, near.at, near.slope / 2, near.curve / 2)), rows=part.rows / 2
    )
    once, twice = (combined_fit(some, joint_model(nb.fitted_, None)) for some in ([part], [half, half]))
    assert once.weights.keys() == twice.weights.keys()
    assert np.allclose(list(once.weights.values()), list(twice.weights.values()), atol=1e-9)
    T, t = table_of(2000, 1)
    assert log_loss(with_fit(nb, nb.counts_, nb.schema_, once), T, t) < 1.02 * log_loss(nb, T, t)


def test_a_term_that_a_part_did_not_consider_is_no_evidence():
    """Two columns; the second is known to one part only, and gets the weight that this part gave it."""
    a, b = Term(VALUE, "labels", (0,)), Term(VALUE, "labels", (1,))
    both = LossNear((a, b), np.array([0.4, 0.8, 0.0]), np.zeros(3), np.diag([500.0, 1e7, 1.0]))
    one = LossNear((a,), np.array([0.8, 0.0]), np.zeros(2), np.diag([500.0, 1.0]))
    whole = CombinedLoss.of([both, one], [np.array([0]), np.array([0])], [a, b], 1)
    fit = whole.fit(replace(RECIPE, own_ridges=(1e-6,), combined_caution=0.0))
    assert np.allclose(fit.at[:2], [0.6, 0.8], atol=1e-3)


def test_a_sum_of_terms_is_known_by_the_mean_of_their_weights():
    a, b = Term(VALUE, "labels", (0,)), Term(VALUE, "labels", (1,))
    tied = LossNear((a.block,), np.array([0.5, 0.0]), np.zeros(2), np.diag([1e6, 1.0]))
    apart = LossNear((a, b), np.array([0.2, 0.8, 0.0]), np.zeros(3), np.diag([1e6, 1e6, 1.0]))
    whole = CombinedLoss.of([tied, apart], [np.array([0]), np.array([0])], [a, b], 1)
    fit = whole.fit(replace(RECIPE, own_ridges=(1e-6,), combined_caution=0.0))
    assert np.allclose(fit.at[:2], [0.2, 0.8], atol=1e-3)


@pytest.mark.parametrize("seed", range(20))
def test_least_of_a_quadratic_with_bounds(seed):
    """Where it is least, slopes of what is free are 0, and those of what is held are not negative."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(12, 12))
    curve, linear, bounded = root @ root.T + 0.1 * np.eye(12), rng.normal(size=12) * 3, np.arange(12) < 9
    u = least_quadratic(curve, linear, bounded)
    slope = curve @ u - linear
    assert (u[bounded] >= 0).all()
    assert np.abs(slope[~bounded | (u > 0)]).max() < 1e-6
    assert (slope[bounded & (u == 0)] > -1e-6).all()


def test_the_loss_near_the_weights_survives_a_file(parts):
    fit = parts[0].fitted_.state.tuning.learned
    again = JointFit.from_json(json.loads(json.dumps(fit.to_json())), 3)
    assert again.near.terms == fit.near.terms
    for name in ("at", "slope", "curve"):
        assert np.array_equal(getattr(again.near, name), getattr(fit.near, name))
    data = fit.to_json()
    data["near"]["slope"] = data["near"]["slope"][:-1]
    with pytest.raises(KeyError):
        JointFit.from_json(data, 3)


def test_the_expected_quality_follows_the_smallest_part():
    assert expected_ratio(ENOUGH_ROWS) < expected_ratio(ENOUGH_ROWS - 1)
    assert "5,000 rows or more gave 1.0" in expected_quality(ENOUGH_ROWS)
    assert "fewer than 5,000 rows gave 1.2" in expected_quality(100)
