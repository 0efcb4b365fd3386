"""Folds are alike everywhere: each class evenly, of nearly equal size, and the same in a file and in memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pyarrow import csv
from sklearn.model_selection import KFold

import naively as nv
from naively import _kernels
from naively.data.target import target_of
from naively.errors import InvalidInput, InvalidSetting
from naively.judge.stratified_folds import StratifiedFolds, seed_from_random_state


def folds_of(labels, folds, seed=0, weights=None):
    """Return the fold of each row, all split at once."""
    target = target_of(np.asarray(labels))
    return StratifiedFolds(folds, seed).assign(target.labels, target.codes, weights)


def mixed_rows(n=300, seed=0):
    """Return a table of numbers, labels, flags and missing values, whose columns tell something of the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return pd.DataFrame(
        {
            "length": np.where(rng.random(n) < 0.1, np.nan, rng.normal(y, 1.0)).round(3),
            "visits": rng.poisson(1.0 + y),
            "color": np.array(["red", "green", "blue", "grey"])[(y + (rng.random(n) < 0.3)) % 4],
            "member": rng.random(n) < 0.2 + 0.3 * y,
            "weight": rng.integers(1, 4, n),
            "kind": np.array(["low", "middle", "high"])[y],
        }
    )


# -- how rows are split ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folds", [2, 3, 5, 10])
@pytest.mark.parametrize("order", ["sorted", "shuffled", "in turn"])
@pytest.mark.parametrize("sizes", [[47, 13, 3], [1, 1, 1, 1, 1, 1, 1], [152, 68, 124], [2] * 60], ids=str)
def test_every_fold_has_its_proportion_of_each_class_and_of_all_rows(folds, order, sizes):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    if order == "shuffled":
        labels = np.random.default_rng(1).permutation(labels)
    elif order == "in turn":
        labels = labels[np.argsort(np.concatenate([np.arange(n) / n for n in sizes]), kind="stable")]
    dealt = folds_of(labels, folds)
    for k in range(len(sizes)):
        assert np.ptp(np.bincount(dealt[labels == k], minlength=folds)) <= 1
    assert np.ptp(np.bincount(dealt, minlength=folds)) <= 2


def test_rows_are_split_alike_block_by_block_and_all_at_once():
    """Also where classes are first seen in a later block, under other codes."""
    rng = np.random.default_rng(2)
    labels = np.array(list("abcdefgh"))[np.sort(rng.integers(0, 7, 500)) ^ rng.integers(0, 2, 500)]
    stratified, known, found = StratifiedFolds(5, 7), {}, []
    for part in np.split(labels, [3, 200, 201, 450]):
        codes = np.array([known.setdefault(label, len(known)) for label in part.tolist()], dtype=np.int32)
        found.append(stratified.assign(list(known), codes))
    assert_array_equal(np.concatenate(found), folds_of(labels, 5, 7))


BAD = {
    "a class that is not there": ({"classes": np.array([0, 2], np.int32)}, "Class codes must lie in 0 … 1"),
    "a row without a fold": ({"out": np.zeros(3, np.int32)}, "There must be a fold for each row"),
    "no fold": ({"fold_rows": np.zeros(0, np.int64), "used": np.zeros((2, 0), np.uint8)}, "a place for each fold"),
    "folds that differ": ({"used": np.zeros((2, 4), np.uint8)}, "a place for each fold"),
    "a class without a key": ({"keys": np.zeros(1, np.uint64)}, "a key and a line for each class"),
    "a block without its rows": ({"class_rows": np.array([1, 0])}, "The open blocks do not fit"),
    "a row without a weight": ({"weights": np.ones(1)}, "one weight for each row"),
}


@pytest.mark.parametrize("name", BAD)
def test_rows_that_cannot_be_split_are_refused(name):
    """The compiled loop writes nowhere but where it was told to."""
    known = {"classes": np.array([0, 1], np.int32), "weights": None, "keys": np.zeros(2, np.uint64)}
    known |= {
        "fold_rows": np.zeros(3, np.int64),
        "class_rows": np.zeros(2, np.int64),
        "used": np.zeros((2, 3), np.uint8),
    }
    wrong, words = BAD[name]
    with pytest.raises(ValueError, match=words):
        _kernels.assign_folds(**{**known, "out": np.zeros(2, np.int32), **wrong})


def test_a_random_state_splits_anew():
    rows = mixed_rows()
    known = {"target": "kind", "cv": 5, "model": "textbook"}
    same, again, other = (nv.cross_validate(rows, random_state=seed, **known).posterior for seed in (0, 0, 1))
    assert_array_equal(same, again)
    assert (same != other).any()
    drawn = [nv.cross_validate(rows, random_state=np.random.RandomState(5), **known).posterior for _ in range(2)]
    assert_array_equal(*drawn)
    assert len({seed_from_random_state(None) for _ in range(5)}) > 1
    assert seed_from_random_state(np.random.default_rng(1)) == seed_from_random_state(np.random.default_rng(1))


# -- files as tables in memory -----------------------------------------------------------------------------------------


CASES = {
    "auto": {},
    "textbook": {"model": "textbook"},
    "smoothing": {"model": "textbook", "smoothing": "auto", "temperature": "auto"},
    "bins": {"model": "textbook", "families": {"length": "bins", "visits": "poisson"}},
    "classes": {"classes": ["high", "low", "middle", "none"], "prior": "uniform", "random_state": 3},
}


@pytest.mark.parametrize(("case", "weight"), [(case, (None, "weight")[at % 2]) for at, case in enumerate(CASES)])
def test_a_file_and_the_same_table_in_memory_have_the_same_scores(tmp_path, case, weight):
    """Read by pandas and by pyarrow; the textbook model beside it, too."""
    path, rows = tmp_path / "t.csv", mixed_rows()
    rows.to_csv(path, index=False)
    nb = nv.NaiveBayes(**CASES[case])
    done = nv.fit_files(nb, path, "kind", weight=weight, cv=4, ignore=[] if weight else ["weight"])
    other = {"model": "textbook"} if done.textbook_scores is not None else {}
    assert (done.textbook_scores is not None) is (nb.model == "auto")
    for table in (pd.read_csv(path), csv.read_csv(path)):
        weights = None if weight is None else table["weight"].to_numpy()
        X = table.drop(columns="weight") if isinstance(table, pd.DataFrame) else table.drop(["weight"])
        known = {"target": "kind", "cv": 4, "sample_weight": weights, **CASES[case]}
        scores = nv.cross_validate(X, **known)
        assert_allclose(done.scores.posterior, scores.posterior, atol=1e-9)
        assert_array_equal(done.scores.truth, scores.truth)
        assert done.scores.log_loss == pytest.approx(scores.log_loss, abs=1e-9)
        assert done.scores.tuning == scores.tuning
        if other:
            assert_allclose(
                done.textbook_scores.posterior, nv.cross_validate(X, **{**known, **other}).posterior, atol=1e-9
            )


@pytest.mark.parametrize("weight", [None, "weight"])
def test_a_file_of_many_rows_is_split_as_in_memory_too(tmp_path, keep, weight):
    """More rows than are kept are answered in one more pass, in their order; the textbook has no more to choose."""
    keep(60)
    path, rows = tmp_path / "t.csv", mixed_rows()
    rows.to_csv(path, index=False)
    ignore = [] if weight else ["weight"]
    done = nv.fit_files(nv.NaiveBayes(model="textbook"), path, "kind", weight=weight, cv=4, ignore=ignore)
    weights = None if weight is None else rows["weight"].to_numpy()
    X = rows.drop(columns="weight")
    expected = nv.cross_validate(X, target="kind", cv=4, sample_weight=weights, model="textbook")
    assert done.passes == 2
    assert_allclose(done.scores.posterior, expected.posterior, atol=1e-9)
    assert_array_equal(done.scores.truth, expected.truth)
    auto = nv.fit_files(nv.NaiveBayes(), path, "kind", weight=weight, cv=4, ignore=ignore)
    assert_array_equal(auto.scores.truth, expected.truth)
    assert_allclose(auto.textbook_scores.posterior, expected.posterior, atol=1e-9)


# -- cross_validate of a path ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [str, Path, nv.File], ids=lambda form: form.__name__)
@pytest.mark.parametrize("tuning", ["refit", "fixed"])
def test_a_path_is_cross_validated(tmp_path, form, tuning):
    rows = mixed_rows()
    rows.to_csv(path := tmp_path / "t.csv", index=False)
    found = nv.cross_validate(form(path), target="kind", cv=5, sample_weight="weight", tuning=tuning)
    X, weights = rows.drop(columns="weight"), rows["weight"].to_numpy()
    expected = nv.cross_validate(X, target="kind", cv=5, sample_weight=weights, tuning=tuning)
    assert_allclose(found.posterior, expected.posterior, atol=1e-9)
    assert_array_equal(found.weights, weights)
    assert (found.tuning, found.classes) == (tuning, expected.classes)


def test_what_a_path_cannot_be_split_by_is_refused(tmp_path):
    mixed_rows(30).to_csv(path := tmp_path / "t.csv", index=False)
    for folds in (KFold(3), 1, "ten", True, [([0], [1])]):
        with pytest.raises(InvalidInput, match="rows of a file are split into a number of folds, 2 or more"):
            nv.cross_validate(path, target="kind", cv=folds)
    with pytest.raises(InvalidInput, match="read the table into memory first"):
        nv.cross_validate(path, target="kind", cv=3, groups=np.zeros(30))
    with pytest.raises(InvalidInput, match="cv=31 must lie between 2 and the number of rows, 30"):
        nv.cross_validate(path, target="kind", cv=31, model="textbook")
    with pytest.raises(InvalidInput, match="give its name as target="):
        nv.cross_validate(path)
    with pytest.raises(InvalidSetting, match="takes a table in memory"):
        nv.cross_validate(path, target="kind", unlabelled="em", estimate="map")
