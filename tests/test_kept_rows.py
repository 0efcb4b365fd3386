"""Rows that are kept beside the counts: weights, labels that are soft or missing, copies, and answers that lag."""

from __future__ import annotations

from zlib import crc32

import numpy as np
import pandas as pd
import pytest

import naively as nv
from naively.counting import sample
from naively.text.reader import text_hashes

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


def test_a_part_of_the_weight_of_faded_rows_is_forgotten(keep):
    keep(KEPT)
    X, y = table()
    nb = 0.5 * nv.NaiveBayes().fit(X, y)
    before = len(kept_of(nb))
    nb.forget(X, y, sample_weight=np.full(N, 0.25))
    assert len(kept_of(nb)) == before
    assert np.allclose(nb.fitted_.state.kept.rows().weights, 0.25)


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


@pytest.mark.filterwarnings("ignore::naively.StaleWarning", "ignore::naively.LargestFitWarning")
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


def test_models_with_rows_without_a_label_merge_beyond_the_sample(keep):
    keep(N)
    parts = [nv.NaiveBayes(unlabelled="em", estimate="map").fit(*half_labelled(300, seed)) for seed in (0, 1)]
    merged = nv.merge(parts)
    assert merged.counts_.rows.sum() == 300
    assert merged.tuning_.learned.joint.rows.sum() == merged.kept_rows_.rows < 300


def test_merged_models_know_the_classes_that_each_declared():
    X, y = table()
    a, b = (nv.NaiveBayes(classes=["0", "1", other]).fit(X, y) for other in ("2", "7"))
    assert nv.merge(a, b).classes_.tolist() == nv.merge(b, a).classes_.tolist() == ["0", "1", "2", "7"]


# -- copies ------------------------------------------------------------------------------------------------------------


def test_texts_of_one_length_and_checksum_are_no_copies():
    texts = ["29c0c48d67785ae0", "0df989beb6e9ec7f"]
    assert crc32(texts[0].encode()) == crc32(texts[1].encode())
    assert len(set(text_hashes(texts).tolist())) == 2


@pytest.mark.parametrize("as_dicts", [False, True])
def test_texts_that_are_too_long_to_be_kept_are_noticed_as_they_come(as_dicts, monkeypatch):
    """No question need come between two batches."""
    monkeypatch.setattr(sample, "BYTES", 4000)
    monkeypatch.setattr(sample, "FEWEST", 50)
    X, y = table()
    X = X.assign(text=[f"{a} {b} and so on" for a, b in zip(X["colour"], y, strict=True)])
    nb = nv.NaiveBayes(families={"text": "words"}).fit(X[:5], y[:5])
    for at in range(5, N, 5):
        rows = X[at : at + 5]
        nb.partial_fit(rows.to_dict("records") if as_dicts else rows, y[at : at + 5])
    nb.predict(X)
    assert 50 < nb.kept_rows_.rows < N
    assert nb.tuning_.learned.joint.rows.sum() == nb.kept_rows_.rows
    assert nb.counts_.rows.sum() == N


# -- answers that lag --------------------------------------------------------------------------------------------------


def test_counts_do_not_lag_and_answers_lag_together_with_what_explains_them():
    X, y = table(2000)
    nb = nv.NaiveBayes().fit(X, y)
    first, few = nb.predict_proba(X[:5]), len(nb.probabilities("colour"))
    new = pd.DataFrame({"size": [9.0], "colour": ["violet"]})
    nb.partial_fit(new, ["1"])
    assert nb.counts_.rows.sum() == nb.kept_rows_.rows == 2001
    assert "violet" in nb.counts_.columns["colour"].values.labels
    assert np.array_equal(nb.predict_proba(X[:5]), first)
    assert len(nb.probabilities("colour")) == few
    more = pd.concat([new] * 100)
    nb.partial_fit(more, ["1"] * 100)  # more than 5 %
    assert "violet" in list(nb.probabilities("colour")["value"])
    assert not np.array_equal(nb.predict_proba(X[:5]), first)


# -- other models ------------------------------------------------------------------------------------------------------


def test_another_model_is_fitted_to_kept_rows_after_loading(tmp_path):
    X, y = table()
    nv.NaiveBayes(model="textbook", smoothing="auto").fit(X, y).save(tmp_path / "a.parquet", rows=True)
    nb = nv.load(tmp_path / "a.parquet").set_params(model="auto")
    whole = nv.NaiveBayes(smoothing="auto").fit(X, y)
    assert np.allclose(nb.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-9)


def test_what_is_kept_of_one_file_is_a_model_of_it(tmp_path):
    X, y = table()
    for name, at in (("a", slice(0, 100)), ("b", slice(100, None))):
        X[at].assign(label=y[at]).to_csv(tmp_path / f"{name}.csv", index=False)
    nv.fit_files(nv.NaiveBayes(), tmp_path / "*.csv", "label", keep_counts=tmp_path / "kept")
    found = [nv.load(path) for path in (tmp_path / "kept").glob("*.parquet")]
    found = [nb.predict_proba(X) for nb in sorted(found, key=lambda nb: nb.counts_.rows.sum())]
    whole = [nv.NaiveBayes().fit(tmp_path / f"{name}.csv", target="label").predict_proba(X) for name in "ab"]
    assert np.allclose(found, whole, rtol=0, atol=1e-7)
    assert not np.allclose(whole[0], whole[1], rtol=0, atol=1e-3)
