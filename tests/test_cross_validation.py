"""Scores without refitting are those of refitting, in folds that are the same in a file and in memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pyarrow import csv
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    TimeSeriesSplit,
)

import naively as nv
from naively import _kernels
from naively.data.target import target_of
from naively.errors import InvalidInput, InvalidSetting
from naively.judge.stratified_folds import StratifiedFolds, seed_from_random_state

from .table_cases import CASES, KINDS, LABELS, ROWS, WEIGHTS, learned, name_of, some
from .tables import book, crossed


def without_row(nb, table, labels, i, weights=None, **params):
    """Return P(class | row i) by the classifier of the counts less that row, in the order of nb's classes."""
    one, weight = some(table, [i]), None if weights is None else weights[[i]]
    rest = nb.counts_ - nv.count(one, [labels[i]], schema=nb.schema_, sample_weight=weight)
    settings = {n: v for n, v in nb.get_params().items() if n not in ("families", "classes")} | params
    other = nv.NaiveBayes.from_counts(rest, nb.schema_, **settings)
    out = np.zeros(len(nb.classes_))
    out[np.searchsorted(nb.classes_, other.classes_)] = other.predict_proba(one)[0]
    return out


@pytest.mark.pairwise
@pytest.mark.parametrize("weighted", [False, True], ids=["whole", "weighted"])
@pytest.mark.parametrize(("kind", "settings"), CASES, ids=name_of)
def test_leaving_a_row_out_is_taking_it_from_the_counts(kind, settings, weighted):
    """Also where its value, its class or a column's spread vanishes with it; for every family, estimate and setting."""
    weights = WEIGHTS if weighted else None
    nb, table = learned(kind, settings, weights)

    scores = nb.leave_one_out(table, LABELS, sample_weight=weights)

    expected = [without_row(nb, table, LABELS, i, weights) for i in range(ROWS)]
    np.testing.assert_allclose(scores.posterior, expected, rtol=1e-9, atol=1e-9)
    assert [nb.classes_[k] for k in scores.truth] == LABELS


# -- refused -------------------------------------------------------------------------------------------------------


def test_rows_that_were_never_counted_are_refused():
    nb, table = learned("labels", {})
    with pytest.raises(InvalidInput, match="Row 0 was never counted: it weighs 9, and all rows of 'a' together only 7"):
        nb.leave_one_out(table, LABELS, sample_weight=np.full(ROWS, 9.0))
    with pytest.raises(InvalidInput, match=r"The label 'z' was never counted\. Give the rows"):
        nb.leave_one_out(table, ["z", *LABELS[1:]])
    swapped = ["c", *LABELS[1:]]
    with pytest.raises(
        InvalidInput, match="Row 0 was never counted: its value in column 'colour' was not counted as often"
    ):
        nb.leave_one_out(table, swapped)
    numbers = np.arange(10.0).reshape(-1, 1)
    fitted = book().fit(numbers, [0, 1] * 5)
    with pytest.raises(InvalidInput, match="Row 3 was never counted: 'x0' is infinite"):
        fitted.leave_one_out(np.where(numbers == 3, np.inf, numbers), [0, 1] * 5)


def test_where_unseen_values_are_errors_a_value_of_one_row_is_one():
    nb, table = learned("labels", {"unseen": "error"})
    with pytest.raises(
        InvalidInput,
        match="Row 5 is the only one with its value in column 'colour': without it, the value was not seen",
    ):
        nb.leave_one_out(table, LABELS)
    twice = {name: column * 2 for name, column in table.items()}
    scores = book(unseen="error").fit(twice, LABELS * 2).leave_one_out(twice, LABELS * 2)
    skips = book().fit(twice, LABELS * 2).leave_one_out(twice, LABELS * 2)
    np.testing.assert_array_equal(scores.posterior, skips.posterior)


@pytest.mark.parametrize("ask", [nv.cross_validate, lambda X, y: book().fit(X, y).leave_one_out(X, y)])
def test_soft_labels_have_no_truth_to_score_against(ask):
    shares = pd.DataFrame({"a": [0.5, 1.0, 0.2], "b": [0.5, 0.0, 0.8]})
    with pytest.raises(InvalidInput, match="Soft labels have no single true class to score against"):
        ask({"x": ["p", "q", "p"]}, shares)


@pytest.mark.parametrize(
    ("folds", "words"),
    [
        (1, "cv=1 must lie between 2 and the number of rows, 14"),
        (15, "cv=15 must lie between 2 and the number of rows, 14"),
        ("ten", "cv='ten' means nothing here; give a number, a splitter of scikit-learn, or pairs"),
        (True, "cv=True means nothing here"),
        ([[0, 1, 2]], r"cv must hold pairs \(train, test\) of places among the 14 rows"),
        ([([0, 1], [14])], r"cv must hold pairs \(train, test\) of places among the 14 rows"),
        ([([0, 1], [0.5])], r"cv must hold pairs \(train, test\) of places among the 14 rows"),
        ([([0, 1], [])], "No row is held out: every fold is empty"),
        ([([], [3])], "A fold leaves no rows to learn from"),
    ],
    ids=str,
)
def test_folds_that_mean_nothing_are_refused(folds, words):
    with pytest.raises(InvalidInput, match=words):
        crossed(KINDS["labels"][0], LABELS, cv=folds)


# -- folds ---------------------------------------------------------------------------------------------------------


def many_rows():
    """Return a mixed table with rare values and a class of two rows, its labels, weights and groups."""
    rng = np.random.default_rng(3)
    n = 90
    labels = np.where(np.arange(n) < 2, "rare", rng.choice(["yes", "no", "perhaps"], n, p=[0.5, 0.3, 0.2]))
    table = pd.DataFrame(
        {
            "word": rng.choice([*"abcdefgh", None], n, p=[0.3, 0.2, 0.15, 0.1, 0.1, 0.05, 0.04, 0.03, 0.03]),
            "size": np.where(rng.random(n) < 0.1, np.nan, rng.normal(2, 3, n) + (labels == "yes")),
            "visits": rng.poisson(3, n),
        }
    )
    return table, labels, rng.choice([0.0, 0.5, 1.0, 3.0], n), rng.integers(0, 6, n)


def refitted(table, labels, splits, weights, params):
    """Return the places asked about and P(class | row), each model fitted from its rows alone; classes in order."""
    classes, rows, answers = np.unique(labels), [], []
    for train, test in splits:
        test = test if weights is None else test[weights[test] > 0]
        if not len(test):
            continue
        w = None if weights is None else weights[train]
        nb = book(families={"visits": "poisson"}, **params)
        nb.fit(table.iloc[train], labels[train], sample_weight=w)
        p = np.zeros((len(test), len(classes)))
        p[:, np.searchsorted(classes, nb.classes_)] = nb.predict_proba(table.iloc[test])
        rows.append(test)
        answers.append(p)
    order = np.argsort(np.concatenate(rows), kind="stable")
    return np.concatenate(rows)[order], np.concatenate(answers)[order]


SPLITTERS = {
    "stratified": StratifiedKFold(2, shuffle=True, random_state=1),
    "plain": KFold(7),
    "groups": GroupKFold(4),
    "time": TimeSeriesSplit(5),
    "one by one": LeaveOneOut(),
    "repeated": RepeatedStratifiedKFold(n_splits=2, n_repeats=3, random_state=0),
}


@pytest.mark.pairwise
@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize("weighted", [False, True], ids=["whole", "weighted"])
@pytest.mark.parametrize("params", [{}, {"estimate": "mle", "missing": "value"}, {"unseen": "smooth"}], ids=str)
def test_folds_taken_from_the_counts_are_folds_never_shown(splitter, weighted, params):
    """Classes vanish with some folds; learning only from the past stays learning only from the past."""
    table, labels, weights, groups = many_rows()
    folds, weights = SPLITTERS[splitter], weights if weighted else None
    groups = groups if splitter == "groups" else None

    scores = crossed(
        table, labels, cv=folds, groups=groups, sample_weight=weights, families={"visits": "poisson"}, **params
    )

    rows, expected = refitted(table, labels, folds.split(table, labels, groups), weights, params)
    np.testing.assert_allclose(scores.posterior, expected, rtol=1e-9, atol=1e-9)
    assert [scores.classes[k] for k in scores.truth] == labels[rows].tolist()
    if weighted:
        np.testing.assert_array_equal(scores.weights, weights[rows])


def test_a_number_of_folds_is_refitting():
    table, labels, _, _ = many_rows()
    target = target_of(labels)
    dealt = StratifiedFolds(5, 0).assign(target.labels, target.codes)
    splits = [(np.flatnonzero(dealt != fold), np.flatnonzero(dealt == fold)) for fold in range(5)]

    scores = crossed(table, labels, cv=5, families={"visits": "poisson"})

    np.testing.assert_allclose(scores.posterior, refitted(table, labels, splits, None, {})[1], rtol=1e-9, atol=1e-9)
    again = crossed(table, labels, cv=splits, families={"visits": "poisson"})
    np.testing.assert_array_equal(scores.posterior, again.posterior)
    masks = [(dealt != fold, dealt == fold) for fold in range(5)]
    by_masks = crossed(table, labels, cv=masks, families={"visits": "poisson"})
    np.testing.assert_array_equal(scores.posterior, by_masks.posterior)


@pytest.mark.parametrize("kind", KINDS)
def test_every_family_is_cross_validated(kind):
    """Sparse columns, flags and matrices too: one fold a row is leaving one out."""
    table, families = KINDS[kind]
    nb, _ = learned(kind, {})
    scores = crossed(table, LABELS, cv=LeaveOneOut(), families=families)
    np.testing.assert_allclose(scores.posterior, nb.leave_one_out(table, LABELS).posterior, rtol=1e-9, atol=1e-9)


def test_settings_and_costs_reach_the_scores():
    table, labels, _, _ = many_rows()
    cost = {("yes", "no"): 7}
    scores = crossed(table, labels, cv=4, cost=cost, reject=0.4)
    nb = book(cost=cost, reject=0.4).fit(table, labels)
    alone = nb.leave_one_out(table, labels)

    for found in (scores, alone):
        assert found.cost[list(found.classes).index("yes"), list(found.classes).index("no")] == 7
        assert found.reject == 0.4
    with pytest.raises(InvalidInput, match="cost='squared' and cost='absolute' need numbers as labels"):
        crossed(table, labels, cost="squared")
    with pytest.raises(InvalidInput, match="estimate='mode' is unknown"):
        crossed(table, labels, estimate="mode")


@pytest.mark.parametrize("folds", [5, KFold(5), TimeSeriesSplit(3)], ids=str)
def test_an_error_in_a_fold_names_the_row_of_the_table(folds):
    """Also where folds are counted apart, each from its first row."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    X[37, 1] = np.inf
    with pytest.raises(InvalidInput, match="Row 37"):
        crossed(X, np.arange(40) % 2, cv=folds)


# -- folds are alike everywhere ----------------------------------------------------------------------------------------


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


MODELS_OF_FILES = {
    "auto": {},
    "textbook": {"model": "textbook"},
    "smoothing": {"model": "textbook", "smoothing": "auto", "temperature": "auto"},
    "bins": {"model": "textbook", "families": {"length": "bins", "visits": "poisson"}},
    "classes": {"classes": ["high", "low", "middle", "none"], "prior": "uniform", "random_state": 3},
}


@pytest.mark.parametrize(
    ("case", "weight"), [(case, (None, "weight")[at % 2]) for at, case in enumerate(MODELS_OF_FILES)]
)
def test_a_file_and_the_same_table_in_memory_have_the_same_scores(tmp_path, case, weight):
    """Read by pandas and by pyarrow; the textbook model beside it, too."""
    path, rows = tmp_path / "t.csv", mixed_rows()
    rows.to_csv(path, index=False)
    nb = nv.NaiveBayes(**MODELS_OF_FILES[case])
    done = nv.fit_files(nb, path, "kind", weight=weight, cv=4, ignore=[] if weight else ["weight"])
    other = {"model": "textbook"} if done.textbook_scores is not None else {}
    assert (done.textbook_scores is not None) is (nb.model == "auto")
    for table in (pd.read_csv(path), csv.read_csv(path)):
        weights = None if weight is None else table["weight"].to_numpy()
        X = table.drop(columns="weight") if isinstance(table, pd.DataFrame) else table.drop(["weight"])
        known = {"target": "kind", "cv": 4, "sample_weight": weights, **MODELS_OF_FILES[case]}
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
