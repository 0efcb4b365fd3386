"""Figures come with their standard errors: over folds where there are, over rows otherwise."""

import json
import math
import re

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.model_selection import KFold

import naively as nv
from naively.cli import main

FIGURES = ("accuracy", "balanced_accuracy", "log_loss", "brier", "calibration_error", "auc", "mean_cost")


def drawn(rows=200, seed=0):
    rng = np.random.default_rng(seed)
    posterior = rng.dirichlet(np.ones(3), rows)
    truth = np.array([rng.choice(3, p=0.5 * p + 1 / 6) for p in posterior])
    return posterior, truth, rng.integers(0, 5, rows), rng.uniform(0.5, 2, rows)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_spread_over_folds_is_the_standard_error_of_their_figures(weighted):
    posterior, truth, folds, weights = drawn()
    w = weights if weighted else None
    scores = nv.Scores(posterior, truth, "abc", w, folds=folds)
    parts = [
        nv.Scores(posterior[at], truth[at], "abc", None if w is None else w[at])
        for at in (folds == number for number in range(5))
    ]
    table = pd.DataFrame(scores.by_fold())
    assert table["fold"].tolist() == [0, 1, 2, 3, 4]
    assert table["rows"].tolist() == pytest.approx([part.rows for part in parts])
    for name in FIGURES:
        values = [getattr(part, name) for part in parts]
        assert table[name].tolist() == pytest.approx(values)
        assert scores.spread[name] == pytest.approx(np.std(values, ddof=1) / math.sqrt(5))


def test_the_spread_over_rows_is_the_standard_error_of_their_mean():
    posterior, truth, _, _ = drawn()
    scores = nv.Scores(posterior, truth, "abc")
    right = posterior.argmax(axis=1) == truth
    losses = -np.log(posterior[np.arange(200), truth])
    assert scores.spread["accuracy"] == pytest.approx(np.std(right, ddof=1) / math.sqrt(200))
    assert scores.spread["log_loss"] == pytest.approx(np.std(losses, ddof=1) / math.sqrt(200))
    assert scores.spread["mean_cost"] == pytest.approx(scores.spread["accuracy"])
    assert math.isnan(scores.spread["auc"])


def test_no_spread_is_claimed_where_all_are_alike():
    scores = nv.Scores([[0.9, 0.1]] * 100, ["a"] * 50 + ["a"] * 50, "ab", folds=[0] * 50 + [1] * 50)
    rows = nv.Scores([[0.9, 0.1]] * 100, ["a"] * 100, "ab")
    for found in (scores, rows):
        assert found.accuracy == 1
        assert math.isnan(found.spread["accuracy"])
        assert "100.0 % ±" not in str(found)
        assert found.to_dict()["spread"]["accuracy"] is None


def test_accuracy_with_reject_varies_by_its_answered_rows():
    posterior, truth, _, _ = drawn()
    scores = nv.Scores(posterior, truth, "abc", reject=0.4)
    answered = posterior.max(axis=1) >= 0.6
    right = (posterior.argmax(axis=1) == truth)[answered]
    assert scores.spread["accuracy"] == pytest.approx(np.std(right, ddof=1) / math.sqrt(answered.sum()))
    assert scores.spread["coverage"] == pytest.approx(np.std(answered, ddof=1) / math.sqrt(200))


def test_cross_validation_returns_the_fold_of_each_row():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    splits = list(KFold(4, shuffle=True, random_state=0).split(X))
    scores = nv.cross_validate(X, y, cv=splits, model="textbook")
    for number, (_, test) in enumerate(splits):
        assert (scores.folds[test] == number).all()
    dealt = nv.cross_validate(X, y, cv=5, model="textbook")
    assert np.bincount(dealt.folds).tolist() == [12] * 5
    twice = nv.cross_validate(X, y, cv=[(np.arange(30), np.arange(30, 60))] * 2, model="textbook")
    assert sorted(twice.folds.tolist()) == [0] * 30 + [1] * 30


def test_a_report_of_fit_shows_accuracy_with_its_spread(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = rng.choice(["ham", "spam"], 200)
    pd.DataFrame({"a": rng.normal(size=200) + 2 * (y == "ham"), "y": y}).to_csv("t.csv", index=False)
    said = CliRunner().invoke(main, ["fit", "t.csv", "-t", "y", "--cv", "4"]).stdout
    assert re.search(
        r"Accuracy \d+\.\d % ± \d+\.\d on held-out rows \(4-fold cross-validation\); always \w+: \d+\.\d %", said
    )
    assert re.search(r"log loss +0\.\d{4} ± 0\.\d{4} +0\.\d{4} ± 0\.\d{4} +0\.\d{4}\n", said)
    told = json.loads(CliRunner().invoke(main, ["fit", "t.csv", "-t", "y", "--cv", "4", "--json"]).stdout)
    assert len(told["scores"]["folds"]) == len(told["textbook_scores"]["folds"]) == 4
    assert sum(part["rows"] for part in told["scores"]["folds"]) == 200
    losses = [part["log_loss"] for part in told["scores"]["folds"]]
    assert told["scores"]["spread"]["log_loss"] == pytest.approx(np.std(losses, ddof=1) / 2)
