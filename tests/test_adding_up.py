"""What is learned adds up: merging, learning in batches and forgetting end where one fit of the rows ends."""

from __future__ import annotations

import copy
import itertools
import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

import naively as nv
from naively.counting import row_hash
from naively.errors import InvalidInput, NotASubset
from naively.estimator.update import up_to_date
from naively.model.recipe import RECIPE

SIZE = 120
RNG = np.random.default_rng(17)
CLASS = RNG.integers(2, size=SIZE)
LABELS = np.array(["no", "yes"])[CLASS]
WORDS = ["apple", "pear", "plum", "fig", "nut", "oak"]


def with_gaps(values, every=9):
    """Return values of which some are missing."""
    return [None if at % every == 4 else value for at, value in enumerate(values)]


def texts(n, rng, shift):
    """Return texts whose words depend on a class."""
    return [" ".join(rng.choice(WORDS[k : k + 4], 5)) for k in shift]


NUMBERS = pd.DataFrame({"a": RNG.normal(size=SIZE) + CLASS, "b": RNG.normal(size=SIZE).round(1), "c": CLASS * 0.5 + 1})
MIXED = pd.DataFrame(
    {
        "size": with_gaps((RNG.normal(size=SIZE) + CLASS).tolist()),
        "colour": with_gaps(RNG.choice(["red", "blue", "", "字"], SIZE).tolist(), 11),
        "flag": RNG.integers(2, size=SIZE) == CLASS,
        "year": RNG.integers(2000, 2010, SIZE),
        "when": pd.Timestamp("2026-01-01") + pd.to_timedelta(RNG.integers(0, 90, SIZE) + 20 * CLASS, unit="D"),
        "level": pd.Categorical(RNG.choice(["low", "high"], SIZE), ["low", "mid", "high"], ordered=True),
        "nothing": [None] * SIZE,
    }
)
TEXTS = MIXED[["size", "colour"]].assign(text=with_gaps(texts(SIZE, RNG, CLASS), 13))
BAGS = RNG.poisson(1 + np.outer(CLASS, [0, 1, 2]) + 0.5)
FAMILIES = {"a": "poisson", "b": "bernoulli", "c": nv.Bins(4), "d": nv.Ordinal(["s", "m", "l"]), "e": "categorical"}
OF_FAMILIES = {
    "a": RNG.poisson(2 + CLASS),
    "b": RNG.integers(2, size=SIZE),
    "c": RNG.normal(size=SIZE) + CLASS,
    "d": RNG.choice(["s", "m", "l"], SIZE),
    "e": RNG.integers(3, size=SIZE) + CLASS,
}


@dataclass
class Case:
    """A table with its classes, and how a model of it is made."""

    X: Any
    y: Any = field(default_factory=lambda: LABELS)
    settings: dict[str, Any] = field(default_factory=dict)
    weights: Any = None
    known: dict[tuple[int, bytes], nv.NaiveBayes] = field(default_factory=dict)  # by how many rows they keep, and which

    def rows(self, at):
        """Return some of the rows, their classes, and their weights as arguments."""
        at = np.arange(SIZE)[at]
        X = self.X.iloc[at] if hasattr(self.X, "iloc") else self.X[at]
        y = self.y.iloc[at] if hasattr(self.y, "iloc") else self.y[at]
        return X, y, {} if self.weights is None else {"sample_weight": self.weights[at]}

    def new(self):
        """Return a classifier that was not fitted."""
        return nv.NaiveBayes(**self.settings)

    def fitted(self, at=slice(None)):
        """Return a copy of the model of one fit of some rows; a part of one class is no reason to warn here."""
        key = row_hash.KEPT, np.arange(SIZE)[at].tobytes()
        if key not in self.known:
            X, y, how = self.rows(at)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", nv.TargetWarning)
                self.known[key] = self.new().fit(X, y, **how)
        return copy.deepcopy(self.known[key])

    def answers(self, nb):
        """Return the probabilities of all rows, once everything is up to date."""
        nb.fitted_ = up_to_date(nb.fitted_)
        return nb.predict_proba(self.X)


CASES = {
    "mixed": Case(MIXED),
    "mixed, textbook": Case(MIXED, settings={"model": "textbook"}),
    "mixed, tuned": Case(MIXED, settings={"model": "textbook", "smoothing": "auto", "temperature": "auto"}),
    "mixed, missing values count": Case(MIXED, settings={"missing": "value", "unseen": "smooth", "smoothing": "auto"}),
    "numbers without names": Case(NUMBERS.to_numpy(), CLASS),
    "narrow numbers": Case(NUMBERS.to_numpy().astype(np.float32), CLASS.astype(bool)),
    "texts": Case(TEXTS, settings={"families": {"text": "words"}}),
    "texts, pairs": Case(TEXTS, settings={"families": {"text": nv.Words(ngram_range=(1, 2))}}),
    "sparse vectors": Case(sparse.csr_array(BAGS), CLASS),
    "families": Case(pd.DataFrame(OF_FAMILIES), CLASS * 7, {"families": FAMILIES}),
    "families, textbook": Case(
        pd.DataFrame(OF_FAMILIES), settings={"families": FAMILIES | {"c": nv.Bins(cuts=[0, 1])}, "model": "textbook"}
    ),
    "whole weights": Case(MIXED, weights=1.0 + np.arange(SIZE) % 3),
    "weights": Case(MIXED, weights=0.5 + RNG.random(SIZE)),
    "class weights": Case(MIXED, settings={"class_weight": {"no": 3.0}}),
    "three classes": Case(MIXED, (CLASS + (np.arange(SIZE) % 5 == 0)).astype(object)),
    "declared classes": Case(NUMBERS, settings={"classes": ["no", "maybe", "yes"]}),
    "soft labels": Case(NUMBERS, pd.DataFrame({"no": 0.9 - 0.8 * CLASS, "yes": 0.1 + 0.8 * CLASS})),
}


CLOSE = {"rtol": 0, "atol": 1e-7}  # Newton's method ends where a step gains next to nothing
# Nothing below may warn: neither of weights that are stale, nor of a textbook model instead of the joint one.
pytestmark = [pytest.mark.filterwarnings("error::naively.StaleWarning")]


def same_counts(a, b, *, exact=True):
    """Assert that models have counted the same rows: single columns to the bit where sums are exact."""
    a, b = a.counts_, b.counts_
    assert a.classes.labels == b.classes.labels
    assert a.columns.keys() == b.columns.keys()
    assert np.array_equal(a.rows, b.rows) if exact else np.allclose(a.rows, b.rows, rtol=1e-12, atol=0)
    for name, column in a.columns.items():
        assert (exact and column == b.columns[name]) or column.agrees(b.columns[name], 1e-9), name


def is_exact(case):
    """Return whether sums of weights are exact."""
    return not isinstance(case.y, pd.DataFrame) and (case.weights is None or (case.weights % 1 == 0).all())


# -- merging -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_models_merge_into_the_model_of_all_rows(name):
    case = CASES[name]
    whole = case.fitted()
    parts = [case.fitted(at) for at in (slice(0, 37), slice(37, 75), slice(75, None))]
    before = [part.predict_proba(case.X) for part in parts]
    merged = nv.merge(parts)
    same_counts(merged, whole, exact=is_exact(case))
    assert np.allclose(case.answers(merged), whole.predict_proba(case.X), **CLOSE)
    assert merged.classes_.dtype == whole.classes_.dtype
    for part, answers in zip(parts, before, strict=True):  # the parts stay as they are
        assert np.array_equal(part.predict_proba(case.X), answers)
    if name in ("mixed", "texts"):
        for a, b, c in (parts, parts[::-1]):
            for other in (nv.merge(a, b, c), nv.merge(nv.merge(a, b), c), nv.merge(a, nv.merge(b, c))):
                assert np.allclose(case.answers(other), case.answers(merged), rtol=0, atol=1e-12)


@given(st.lists(st.integers(0, 5), min_size=60, max_size=60), st.randoms())
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_partition_merges_in_any_order(owner, random):
    case = CASES["mixed"]
    owner = np.array(owner)
    parts = [np.flatnonzero(owner == part) for part in np.unique(owner)]
    random.shuffle(parts)
    merged = nv.merge([case.fitted(at) for at in parts])
    whole = case.fitted(slice(0, 60))
    same_counts(merged, whole)
    assert np.allclose(case.answers(merged), whole.predict_proba(MIXED), **CLOSE)


@pytest.mark.parametrize("by", ["at random", "sorted by a column", "sorted by class"])
def test_parts_larger_than_the_sample_merge_into_one_fit_of_the_same_sample(by, keep, monkeypatch):
    keep(300)
    monkeypatch.setattr(nv.NaiveBayes, "_recipe", replace(RECIPE, sample_rows=300))
    rng = np.random.default_rng(5)
    y = rng.integers(3, size=3000)
    X = pd.DataFrame({"a": rng.normal(size=3000) + y, "b": rng.normal(size=3000), "c": rng.choice(list("xyz"), 3000)})
    X["d"] = X["b"] * (1 - 2 * (y == 1)) + rng.normal(size=3000)
    order = {"at random": rng.permutation(3000), "sorted by a column": np.argsort(X["a"]), "sorted by class": None}[by]
    order = np.argsort(y, kind="stable") if order is None else order
    train = order[np.sort(rng.permutation(3000)[:2000])]
    test = np.setdiff1d(np.arange(3000), train)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nv.TargetWarning)
        parts = [nv.NaiveBayes().fit(X.iloc[at], y[at]) for at in np.array_split(np.asarray(train), 3)]
    whole, merged = nv.NaiveBayes().fit(X.iloc[train], y[train]), nv.merge(parts)
    assert not merged.kept_rows_.complete
    assert merged.kept_rows_.rows == 300
    same_counts(merged, whole)
    for nb in (merged, nv.merge(parts[::-1])):
        assert np.allclose(nb.predict_proba(X.iloc[test]), whole.predict_proba(X.iloc[test]), **CLOSE)


# -- batches -----------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", CASES)
def test_batches_end_where_one_fit_ends(name):
    case = CASES[name]
    nb, ends = case.new(), [0, 5, 6, 47, 90, SIZE]
    for begin, end in itertools.pairwise(ends):
        X, y, how = case.rows(slice(begin, end))
        nb.partial_fit(X, y, **how)
        assert np.isfinite(nb.predict_proba(case.X)).all()  # somebody asks in between
    whole = case.fitted()
    same_counts(nb, whole, exact=is_exact(case))
    assert np.allclose(case.answers(nb), whole.predict_proba(case.X), **CLOSE)


@pytest.mark.filterwarnings("error")
def test_rows_as_dicts_one_by_one_end_where_one_fit_ends():
    case = CASES["mixed"]
    X = MIXED.astype(object).where(MIXED.notna(), None)
    nb = nv.NaiveBayes(families=case.fitted().schema_.unusual()).partial_fit(MIXED[:1], LABELS[:1])
    for row in range(1, SIZE):
        nb.partial_fit(X.iloc[row].to_dict(), LABELS[row])
        assert nb.counts_.rows.sum() == row + 1
        if row % 17 == 0:
            nb.predict(MIXED[:5])
    whole = case.fitted()
    same_counts(nb, whole)
    assert np.allclose(case.answers(nb), whole.predict_proba(MIXED), **CLOSE)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kept", [20_000, 50])
def test_files_as_batches_end_where_one_fit_ends(kept, tmp_path, keep):
    keep(kept)
    table = MIXED.drop(columns=["level", "nothing"]).assign(label=LABELS)
    paths = [tmp_path / f"{part}.csv" for part in range(3)]
    for path, at in zip(paths, (slice(0, 30), slice(30, 80), slice(80, None)), strict=True):
        table[at].to_csv(path, index=False)
    nb = nv.NaiveBayes()
    for path in paths:
        nb.partial_fit(path, target="label")
    table.to_csv(tmp_path / "all.csv", index=False)
    whole = nv.NaiveBayes().fit(tmp_path / "all.csv", target="label")
    same_counts(nb, whole)
    if kept > SIZE:
        found = Case(table.drop(columns="label")).answers(nb)
        assert np.allclose(found, whole.predict_proba(table.drop(columns="label")), **CLOSE)
    nb.forget(paths[1], target="label")
    table.drop(index=range(30, 80)).to_csv(tmp_path / "rest.csv", index=False)
    same_counts(nb, nv.NaiveBayes().fit(tmp_path / "rest.csv", target="label"))


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.booleans())
@settings(max_examples=6, deadline=None)
def test_batches_of_any_size_count_exactly_at_every_moment(sizes, asked):
    case, nb, seen = CASES["mixed"], nv.NaiveBayes(), 0
    for size in sizes:
        X, y, _ = case.rows(slice(seen % SIZE, seen % SIZE + size))
        nb.partial_fit(X, y)
        seen += len(X)
        assert nb.counts_.rows.sum() == nb.kept_rows_.rows == seen
        if asked:
            nb.predict(MIXED[:3])
    at = np.arange(seen) % SIZE
    if seen <= SIZE:
        same_counts(nb, case.fitted(at))
        assert np.allclose(case.answers(nb), case.fitted(at).predict_proba(MIXED), **CLOSE)


# -- forgetting --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_forgetting_is_never_having_seen_the_rows(name):
    case = CASES[name]
    nb, whole = case.fitted(), case.fitted()
    X, y, how = case.rows(slice(20, 60))
    rest = np.r_[0:20, 60:SIZE]
    nb.forget(X, y, **how)
    same_counts(nb, case.fitted(rest), exact=False)
    assert np.allclose(case.answers(nb), case.fitted(rest).predict_proba(case.X), **CLOSE)
    nb.partial_fit(X, y, **how)  # and as if nothing had been
    assert np.allclose(case.answers(nb), whole.predict_proba(case.X), **CLOSE)
    same_counts(nb, whole, exact=False)


@pytest.mark.parametrize("model", ["auto", "textbook"])
def test_all_rows_of_a_class_and_all_rows_at_all_can_be_forgotten(model):
    y = np.where(np.arange(SIZE) % 4 == 0, "rare", LABELS)
    case = Case(MIXED, y, {"model": model})
    nb, rare = case.fitted(), y == "rare"
    nb.forget(MIXED[rare], y[rare])
    assert nb.classes_.tolist() == ["no", "yes"]
    assert np.allclose(case.answers(nb), case.fitted(~rare).predict_proba(MIXED), **CLOSE)
    nb.forget(MIXED[~rare], y[~rare])
    assert nb.counts_.rows.sum() == nb.kept_rows_.rows == 0
    nb.partial_fit(MIXED, y)
    same_counts(nb, case.fitted())
    assert np.allclose(case.answers(nb), case.fitted().predict_proba(MIXED), **CLOSE)


@pytest.mark.parametrize("kept", [20_000, 50])
def test_rows_that_were_never_counted_are_refused_and_nothing_changes(kept, keep):
    keep(kept)
    case = CASES["mixed"]
    nb = case.fitted()
    before, counts = nb.predict_proba(MIXED), nb.counts_
    for X, y in (
        (MIXED[:3].assign(year=[2000, 2001, 1999]), LABELS[:3]),
        (MIXED[:3].assign(colour="never"), LABELS[:3]),
        (MIXED[:3], np.where(LABELS[:3] == "no", "yes", "no")),
        (pd.concat([MIXED[:1]] * 5), np.repeat(LABELS[:1], 5)),
    ):
        if kept < SIZE and "never" not in X["colour"].tolist():
            continue  # of rows that are not kept, counts alone tell, and they may hide one
        with pytest.raises((InvalidInput, NotASubset)) as caught:
            nb.forget(X, y)
        assert "Nothing was changed" in str(caught.value)
        assert np.array_equal(nb.predict_proba(MIXED), before)
        assert nb.counts_ is counts
        assert nb.kept_rows_.rows == min(kept, SIZE)


@pytest.mark.parametrize("name", ["mixed", "texts", "numbers without names", "sparse vectors"])
def test_models_beyond_the_sample_count_to_the_bit_what_is_left(name, keep):
    keep(40)
    case = CASES[name]
    nb = case.fitted()
    kept = nb._fitted.state.kept
    assert not nb.kept_rows_.complete
    assert len(kept.in_order().hashes) == 40  # contents; each with all its copies
    at = np.random.default_rng(2).permutation(SIZE)[:35]
    X, y, _ = case.rows(at)
    nb.forget(X, y)
    rest = case.fitted(np.setdiff1d(np.arange(SIZE), at))
    same_counts(nb, rest)
    left = nb._fitted.state.kept.in_order()
    assert set(left.hashes.tolist()) < set(kept.in_order().hashes.tolist())
    assert np.isfinite(nb.predict_proba(case.X)).all()
    nb.partial_fit(X, y)
    same_counts(nb, case.fitted())
    assert np.array_equal(nb._fitted.state.kept.in_order().hashes, kept.in_order().hashes)
