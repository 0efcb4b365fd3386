"""States of a model and what may happen to its rows: in each state, what each event, and each two of them, leave."""

from __future__ import annotations

import copy
import itertools
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import naively as nv
from naively.model.recipe import RECIPE

N, SAMPLE = 240, 80
FIRST, LATER, OTHERS, GONE = np.arange(120), np.arange(120, 180), np.arange(180, N), np.arange(20, 50)
RNG = np.random.default_rng(4)
Y = np.array(["no", "yes"])[RNG.integers(2, size=N)]
X = pd.DataFrame(
    {
        "size": RNG.normal(size=N) + (Y == "yes"),
        "other": np.where(np.arange(N) % 13, RNG.normal(size=N), np.nan),
        "colour": np.where(RNG.random(N) < 0.7, Y, RNG.choice(["red", "blue"], N)),
    }
)
STATES = ("all rows", "a sample", "no row")
# What was told before is not told here again; what is to be told has tests below.
pytestmark = pytest.mark.filterwarnings(
    "ignore::naively.StaleWarning", "ignore::naively.LargestFitWarning", "ignore::naively.WeightWarning"
)


class Story:
    """A model, and what each row weighs that it has counted."""

    def __init__(self, state, folder):
        self.state, self.folder = state, folder
        self.weights, self.nb = np.zeros(N), self.model_of(FIRST)
        self.weights[FIRST] = 1.0
        self.learned = self.nb.tuning_.learned

    def model_of(self, at):
        """Return the model of some rows, in the state of this one."""
        nb = nv.NaiveBayes().fit(X.iloc[at], Y[at])
        return nb.drop_rows() if self.state == "no row" else nb

    def come(self):
        """Let rows come."""
        self.nb.partial_fit(X.iloc[LATER], Y[LATER])
        self.weights[LATER] = 1.0

    def go(self):
        """Let rows go, with the weight that they have."""
        self.nb.forget(X.iloc[GONE], Y[GONE], sample_weight=self.weights[GONE])
        self.weights[GONE] = 0.0

    def merge(self):
        """Merge it with a smaller model."""
        self.nb = nv.merge(self.nb, self.model_of(OTHERS))
        self.weights[OTHERS] = 1.0

    def fade(self):
        """Let all rows weigh half of what they did."""
        self.nb = 0.5 * self.nb
        self.weights *= 0.5

    def file(self):
        """Save and load it."""
        self.nb.save(self.folder / "m.parquet", rows=self.state != "no row")
        self.nb = nv.load(self.folder / "m.parquet")

    def once(self, **settings):
        """Return the model of one fit of the rows that are there."""
        at = np.flatnonzero(self.weights)
        weights = None if (self.weights[at] == 1).all() else self.weights[at]
        return nv.NaiveBayes(**settings).fit(X.iloc[at], Y[at], sample_weight=weights)


EVENTS = ("come", "go", "merge", "fade", "file")


@pytest.fixture
def begun(tmp_path, keep, monkeypatch):
    """Return a function that begins a story in some state; a sample is that of one fit, too."""

    def begin(state):
        if state == "a sample":
            keep(SAMPLE)
            monkeypatch.setattr(nv.NaiveBayes, "_recipe", replace(RECIPE, sample_rows=SAMPLE))
        return Story(state, tmp_path)

    return begin


@pytest.mark.parametrize("asked", [False, True], ids=["", "asked"])
@pytest.mark.parametrize("events", [*itertools.permutations(EVENTS, 2)], ids="-".join)
@pytest.mark.parametrize("state", STATES)
def test_counts_are_exact_and_answers_those_of_one_fit_as_far_as_rows_are_there(state, events, asked, begun):
    story = begun(state)
    for event in events:
        getattr(story, event)()
        if asked:
            assert np.isfinite(story.nb.predict_proba(X)).all()
    nb, once = story.nb, story.once(model="textbook")
    assert nb.counts_.agrees(once.counts_, 1e-9)
    p, kept = nb.predict_proba(X), nb.kept_rows_
    assert np.allclose(p.sum(axis=1), 1.0)
    if state == "all rows":
        assert (kept.complete, kept.rows) == (True, np.count_nonzero(story.weights))
        assert np.allclose(p, story.once().predict_proba(X), rtol=0, atol=1e-7)
        assert nb.calibrated_
    elif state == "a sample":
        assert not kept.complete
        assert 0 < kept.rows <= SAMPLE
        sizes = nb.fitted_.state.kept.rows().source.columns["size"].numbers(0, kept.rows)
        assert np.isin(sizes, X["size"][story.weights > 0]).all()
        if not {"go", "fade"} & {*events}:  # fewer rows are retained, or rows that were chosen when they were heavier
            assert np.allclose(p, story.once().predict_proba(X), rtol=0, atol=1e-7)
        assert nb.calibrated_
    else:
        assert kept.rows == 0
        assert not nb.calibrated_
        if events in (("come", "go"), ("merge", "go")):  # many that may be in the fit or not
            assert nb.tuning_.learned is None
        else:
            assert nb.tuning_.learned.weights == story.learned.weights


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("twin", [copy.copy, copy.deepcopy, lambda nb: pickle.loads(pickle.dumps(nb))])
def test_copies_go_their_own_ways(state, twin, begun):
    story = begun(state)
    before = story.nb.predict_proba(X)
    other = twin(story.nb)
    other.partial_fit(X.iloc[LATER], Y[LATER]).forget(X.iloc[LATER[:5]], Y[LATER[:5]])
    assert np.array_equal(story.nb.predict_proba(X), before)
    assert story.nb.counts_.agrees(story.once(model="textbook").counts_)
    assert other.counts_.rows.sum() == len(FIRST) + len(LATER) - 5


# -- when a fit follows ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", STATES)
def test_a_fit_follows_once_more_than_a_twentieth_of_the_rows_came(state, begun):
    story = begun(state)
    before, few = story.nb.predict_proba(X), slice(0, len(FIRST) // 20)
    story.nb.partial_fit(X.iloc[LATER[few]], Y[LATER[few]])
    assert np.array_equal(story.nb.predict_proba(X), before) == (state != "no row")
    assert story.nb.tuning_.learned is story.learned
    assert story.nb.counts_.rows.sum() == len(FIRST) + 6
    story.nb.partial_fit(X.iloc[LATER[6:7]], Y[LATER[6:7]])
    assert (story.nb.tuning_.learned is story.learned) == (state == "no row")


@pytest.mark.parametrize("state", STATES)
def test_another_model_is_fitted_when_it_is_set_if_there_are_rows(state, begun):
    story = begun(state)
    first, book = story.nb.predict_proba(X), story.once(model="textbook").predict_proba(X)
    assert np.array_equal(story.nb.set_params(model="textbook").predict_proba(X), book)
    assert np.allclose(story.nb.set_params(model="auto").predict_proba(X), first, rtol=0, atol=1e-9)
    story.nb.set_params(model="textbook")
    story.come()
    story.nb.predict(X)
    story.nb.set_params(model="auto")
    if state != "no row":
        assert np.allclose(story.nb.predict_proba(X), story.once().predict_proba(X), rtol=0, atol=1e-7)


# -- what is said ------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("event", ["come", "go", "merge"])
@pytest.mark.parametrize("state", STATES)
def test_a_model_without_rows_says_once_that_its_fit_is_stale(state, event, begun):
    story = begun(state)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        getattr(story, event)()
        for _ in range(2):
            story.nb.predict(X)
            story.nb.partial_fit(X.iloc[:2], Y[:2])
    kinds = [warning.category for warning in told]
    stale = [nv.LargestFitWarning] if event == "merge" else [nv.StaleWarning]
    assert kinds == (stale if state == "no row" else [])
