"""Leave-one-out of the default model: rows are left out of the weights, too."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine

import naively as nv
from naively.model.joint.associations import HeldOutRows
from naively.model.joint.influence import WeightInfluence
from naively.model.joint.newton import WeightProblem
from naively.model.joint.terms import Term
from naively.model.recipe import RECIPE

from .retuned import retune

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def with_all_weights(nb, X, y):
    """Return leave-one-out scores under weights that every row helped to fit."""
    before = nb.tuning_
    retune(nb, replace(before, learned=replace(before.learned, influence=None)))
    scores = nb.leave_one_out(X, y)
    retune(nb, before)
    return scores


def chance(seed, rows=60, columns=10):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, columns)), rng.integers(0, 2, rows)


# -- the closed form ---------------------------------------------------------------------------------------------------


def evidence(seed, classes=3, rows=60, terms=6):
    """Return terms of evidence [class, row] that tell something of classes, and those."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows).astype(np.int32)
    said = [rng.normal(size=(classes, rows)) for _ in range(terms)]
    for at, part in enumerate(said):
        part[y, np.arange(rows)] += 0.3 * at
    return [part.astype(np.float32) for part in said], y


@pytest.mark.parametrize("seed", range(3))
def test_weights_without_a_row_are_those_that_refitting_finds(seed):
    terms, y = evidence(seed)
    rows, prior, start = np.ones(len(y)), np.full(3, -np.log(3)), np.full(len(terms), 0.2)
    fit = WeightProblem(terms, y, rows, prior, RECIPE).solve(start, start, 1.0, 1.0)
    names = [Term("value", at) for at in range(len(terms))]
    influence = WeightInfluence.of(names, {}, fit.weights > 0, fit.curve, 1.0)
    scores = np.einsum("p,pcn->cn", fit.weights, terms) + fit.bias[:, None]
    x = np.array(terms).transpose(2, 1, 0)[:, :, list(influence.free)]
    found = influence.without_own(scores, x, HeldOutRows(y, rows), RECIPE.influence_classes)
    refitted = np.empty_like(scores)
    for row in range(len(y)):
        others = np.delete(np.arange(len(y)), row)
        some = [part[:, others] for part in terms]
        anew = WeightProblem(some, y[others], rows[others], prior, RECIPE).solve(start, start, 1.0)
        refitted[:, row] = np.einsum("p,pc->c", anew.weights, np.array(terms)[:, :, row]) + anew.bias
    found, fixed, refitted = (part - part[0] for part in (found, scores, refitted))
    moved = np.abs(fixed - refitted).mean()
    assert moved > 0.02
    assert np.abs(found - refitted).mean() < 0.35 * moved  # a weight may come to 0 without a row
    assert np.median(np.abs(found - refitted)) < 0.05 * moved


def test_of_many_classes_the_likely_ones_are_enough():
    terms, y = evidence(1, classes=40, rows=300, terms=8)
    start, prior = np.full(8, 0.5), np.full(40, -np.log(40))
    fit = WeightProblem(terms, y, np.ones(300), prior, RECIPE).solve(start, start, 1.0, 1.0)
    influence = WeightInfluence.of([Term("value", at) for at in range(8)], {}, fit.weights > 0, fit.curve, 1.0)
    scores = np.einsum("p,pcn->cn", fit.weights, terms) + fit.bias[:, None]
    x = np.array(terms).transpose(2, 1, 0)[:, :, list(influence.free)]
    rows = HeldOutRows(y, np.ones(300))
    few = influence.without_own(scores, x, rows, RECIPE.influence_classes)
    every = influence.without_own(scores, x, rows, 40)
    assert np.abs(few - every).max() < 0.3 * np.abs(every - scores).max()
    assert np.abs(few - every).mean() < 0.1 * np.abs(every - scores).mean()


def test_a_row_alone_is_answered_as_among_all():
    X, y = load_iris(return_X_y=True)
    nb = nv.NaiveBayes().fit(X, y)
    whole, one = nb.leave_one_out(X, y), nb.leave_one_out(X[70:71], y[70:71])
    assert np.allclose(one.posterior[0], whole.posterior[70], atol=1e-9)


def test_a_loaded_model_leaves_out_the_same(tmp_path):
    X, y = load_wine(return_X_y=True, as_frame=True)
    nb = nv.NaiveBayes().fit(X, y)
    nb.save(tmp_path / "model.parquet")
    twin = nv.load(tmp_path / "model.parquet")
    assert np.allclose(twin.leave_one_out(X, y).posterior, nb.leave_one_out(X, y).posterior, atol=1e-9)
    assert twin.leave_one_out(X, y).tuning == "adjusted"


@pytest.mark.parametrize(("weight", "share"), [(0.5, 2.0), (1.0, 1.0), (2.0, 1.0)])
def test_rows_of_little_weight_are_left_out_of_the_weights_as_much_as_they_fitted_them(weight, share):
    X, y = load_iris(return_X_y=True)
    nb = nv.NaiveBayes().fit(X, y, sample_weight=np.full(150, weight))
    assert nb.tuning_.learned.influence.share == pytest.approx(share)


def test_texts_are_left_out_of_the_weights_too():
    rng = np.random.default_rng(0)
    words = np.array(["red", "green", "blue", "warm", "cold", "soft"])
    texts = [" ".join(rng.choice(words, 4)) for _ in range(80)]
    X, y = pd.DataFrame({"text": texts, "n": rng.normal(size=80)}), rng.integers(0, 2, 80)
    nb = nv.NaiveBayes(families={"text": nv.Words()}).fit(X, y)
    if nb.tuning_.learned is not None:
        assert nb.leave_one_out(X, y).log_loss > with_all_weights(nb, X, y).log_loss


# -- how honest it is --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_random_labels_look_less_learnable_than_under_fitted_weights():
    found = []
    for seed in range(12):
        X, y = chance(seed)
        nb = nv.NaiveBayes().fit(X, y)
        if nb.tuning_.learned is not None:
            parts = with_all_weights(nb, X, y), nb.leave_one_out(X, y)
            found.append([figure for part in parts for figure in (part.log_loss, part.auc)])
    fixed, fixed_auc, adjusted, auc = np.mean(found, axis=0)
    assert adjusted > fixed + 0.025
    assert auc < fixed_auc - 0.08


def test_what_the_summary_states_is_what_leave_one_out_finds():
    X, y = load_iris(return_X_y=True)
    nb = nv.NaiveBayes().fit(X, y)
    assert nb.tuning_.loss_after == pytest.approx(nb.leave_one_out(X, y).log_loss, rel=0.05)
    assert nb.tuning_.loss_after > with_all_weights(nb, X, y).log_loss


@pytest.mark.slow
@pytest.mark.skipif(not DATA.exists(), reason="needs the data sets of ../shared/data beside the repository")
def test_glass_is_as_good_as_folds_find():
    table = pd.read_csv(DATA / "glass.csv")
    X, y = table.iloc[:, :-1], table.iloc[:, -1]
    nb = nv.NaiveBayes().fit(X, y)
    folds = np.mean([nv.cross_validate(X, y, random_state=seed).log_loss for seed in range(3)])
    assert abs(nb.leave_one_out(X, y).log_loss - folds) < 0.03
    assert with_all_weights(nb, X, y).log_loss < folds - 0.02


# -- what it is called -------------------------------------------------------------------------------------------------


def test_scores_say_that_weights_were_fitted_on_these_rows():
    X, y = load_iris(return_X_y=True)
    nb = nv.NaiveBayes().fit(X, y)
    scores = nb.leave_one_out(X, y)
    assert scores.tuning == "adjusted"
    assert "weights were fitted on these rows" in str(scores)
    assert "cross_validate" in str(scores)
    assert "fitted on these rows" in str(nv.cross_validate(X, y, tuning="fixed"))
    for honest in (nv.cross_validate(X, y), nv.NaiveBayes(model="textbook").fit(X, y).leave_one_out(X, y)):
        assert "fitted" not in str(honest)


def test_the_summary_names_what_its_losses_are():
    X, y = load_iris(return_X_y=True)
    said = nv.NaiveBayes().fit(X, y).summary()
    assert "leave-one-out log loss of 150 rows, corrected for weights fitted on these rows" in said
    assert "cross_validate, which fits weights in each fold" in said


def test_a_model_from_an_older_file_still_answers_and_says_fixed():
    X, y = load_iris(return_X_y=True)
    nb = nv.NaiveBayes().fit(X, y)
    data = nb.tuning_.learned.to_json()
    del data["doubt"]
    learned = type(nb.tuning_.learned).from_json(data, 3)
    retune(nb, replace(nb.tuning_, learned=learned))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert nb.leave_one_out(X, y).tuning == "fixed"
