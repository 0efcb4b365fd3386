"""Rows that are kept beside the counts: weights, labels that are soft or missing, copies, and answers that lag."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import naively as nv

N, KEPT = 400, 150


def table(n=N, seed=0):
    """Return rows of numbers and labels, and their classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    colour = np.array(["red", "green", "blue"])[(y + rng.integers(2, size=n)) % 3]
    return pd.DataFrame({"size": y + rng.normal(size=n), "colour": colour}), y.astype(str)


def kept_of(nb):
    """Return the numbers of the rows that a model keeps."""
    source = nb.fitted_.state.kept.rows().source
    return source.columns["size"].numbers(0, source.rows)


# -- weights -----------------------------------------------------------------------------------------------------------


def test_faded_rows_of_a_sample_are_forgotten(keep):
    keep(KEPT)
    X, y = table()
    nb = 0.5 * nv.NaiveBayes().fit(X, y)
    gone = X["size"].to_numpy()[: N // 2]
    assert np.isin(kept_of(nb), gone).any()
    nb.forget(X[: N // 2], y[: N // 2], sample_weight=np.full(N // 2, 0.5))
    assert not np.isin(kept_of(nb), gone).any()
    assert len(kept_of(nb)) > KEPT / 3
    assert nb.counts_.rows.sum() == N / 4


@pytest.mark.parametrize("kept", [KEPT, N])
def test_faded_rows_are_known_to_calibrate(kept, keep):
    keep(kept)
    X, y = table()
    nb = 0.5 * nv.NaiveBayes().fit(X, y)
    p = nb.predict_proba(X)
    assert nb.calibrate(X, y, sample_weight=np.full(N, 0.5)).predict_proba(X).shape == p.shape


@pytest.mark.filterwarnings("ignore::naively.WeightWarning")
@pytest.mark.parametrize("weight", [0.01, 1000.0])
def test_a_model_is_fitted_anew_by_the_weight_of_the_rows_that_came(weight):
    (X, y), (more, labels) = table(), table(N, 1)
    weights = np.full(N, weight)
    nb = nv.NaiveBayes().fit(X, y, sample_weight=weights)
    nb.predict(X)
    nb.partial_fit(more, labels, sample_weight=weights)
    whole = nv.NaiveBayes().fit(pd.concat([X, more]), [*y, *labels], sample_weight=[*weights, *weights])
    assert np.allclose(nb.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-9)


@pytest.mark.filterwarnings("ignore::naively.StaleWarning", "ignore::naively.CombinedWeightsWarning")
def test_of_models_without_rows_that_one_answers_whose_rows_weigh_most():
    (X, y), (more, labels) = table(1000), table(800, 1)
    old = nv.NaiveBayes().fit(X, y).drop_rows()
    new = nv.NaiveBayes().fit(more, labels).drop_rows()
    for weight, heaviest in ((1.0, old), (0.5, new)):
        for parts in ((weight * old, new), (new, weight * old)):
            merged = nv.merge(*parts)
            assert merged.counts_.rows.sum() == 1000 * weight + 800
            assert merged.tuning_.learned.weights == heaviest.tuning_.learned.weights


def test_classes_may_weigh_nothing_in_models_that_are_merged(keep):
    keep(KEPT)
    X, y = table()
    y[:60] = "2"
    parts = [nv.NaiveBayes(class_weight={"0": 1.0, "1": 2.0, "2": 0.0}).fit(X[at], y[at]) for at in halves()]
    merged = nv.merge(parts)
    assert merged.counts_.rows.tolist() == [np.sum(y == "0"), 2 * np.sum(y == "1")]
    assert np.isfinite(merged.predict_proba(X)).all()


def halves():
    """Return two halves of the rows, which come one by one."""
    return slice(0, N, 2), slice(1, N, 2)


# -- labels ------------------------------------------------------------------------------------------------------------


def soft_labels(n, seed=0):
    """Return proportions of two classes."""
    p = np.random.default_rng(seed).uniform(size=n)
    return pd.DataFrame({"0": p, "1": 1 - p})


@pytest.mark.parametrize("first", ["plain", "soft"])
def test_plain_and_soft_labels_of_one_model_are_forgotten(first):
    (X, y), (more, _), soft = table(), table(100, 1), soft_labels(100)
    nb = nv.NaiveBayes()
    if first == "plain":
        nb.fit(X, y).partial_fit(more, soft)
    else:
        nb.fit(more, soft).partial_fit(X, y)
    nb.forget(X[:50], y[:50]).forget(more[:20], soft[:20])
    assert nb.kept_rows_.rows == N + 100 - 70
    assert nb.counts_.rows.sum() == pytest.approx(N + 100 - 70)
    nb.forget(X[50:], y[50:])
    whole = nv.NaiveBayes().fit(more[20:], soft[20:])
    assert np.allclose(nb.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-9)


def half_labelled(n, seed=0):
    """Return rows of which every second has no label; their columns do not belong together, so they are not used."""
    X, y = table(n, seed)
    size = X["size"].to_numpy(copy=True)
    size[::2] = np.random.default_rng(seed).permutation(size[::2])
    return X.assign(size=size), [label if at % 2 else None for at, label in enumerate(y)]


def test_rows_without_a_label_are_counted_for_no_class_once_some_rows_are_dropped(keep):
    keep(N)
    X, y = half_labelled(N - 10)
    nb = nv.NaiveBayes(unlabelled="em", estimate="map").fit(X, y)
    assert nb.expected_ is None
    assert nb.kept_rows_.rows == N - 10
    assert nb.predict_set(X[:5]).shape == (5, 2)
    more, labels = table(50, 1)
    nb.partial_fit(more, labels)
    assert nb.counts_.rows.sum() == N / 2 - 5 + 50
    assert not nb.kept_rows_.complete
    assert nb.tuning_.learned.joint.rows.sum() == nb.kept_rows_.rows
    assert (nb.fitted_.state.kept.rows().target.codes >= 0).all()
    assert np.isfinite(nb.partial_fit(*table(200, 2)).predict_proba(X)).all()


# -- copies ------------------------------------------------------------------------------------------------------------


# -- answers that lag --------------------------------------------------------------------------------------------------


# -- other models ------------------------------------------------------------------------------------------------------
