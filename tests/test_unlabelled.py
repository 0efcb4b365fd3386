"""Rows without a label: learned by steps that never go down, and used by the default model where held-out rows gain."""

from __future__ import annotations

import copy
import pickle
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats
from sklearn.exceptions import ConvergenceWarning

import naively as nv
from naively import NaiveBayes, Settings
from naively.errors import ConvergenceError, InvalidInput, InvalidSetting
from naively.model import em as unlabelled
from naively.model.recipe import RECIPE

from .strategies import checked
from .tables import book

EM = {"unlabelled": "em", "estimate": "map"}
ESTIMATES = ("map", "mle")


def drawn(rows: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Return rows of a known mixture of three classes, and the class of each; all columns tell a little."""
    rng = np.random.default_rng(seed)
    z = rng.choice(3, size=rows, p=[0.5, 0.3, 0.2])
    numbers = {f"n{at}": rng.normal(z * 1.5 * (-1) ** at, 1.0) for at in range(3)}
    words = np.array(["red", "green", "blue"])
    texts = {f"t{at}": words[np.where(rng.random(rows) < 0.6, z, rng.integers(3, size=rows))] for at in range(4)}
    return pd.DataFrame(numbers | texts), np.array(["a", "b", "c"])[z]


def hidden(y: Any, known: Any) -> np.ndarray:
    """Return the labels, of which only those at some places are known."""
    out = np.full(len(y), None, dtype=object)
    out[known] = np.asarray(y)[known]
    return out


def few_of(y: np.ndarray, each: int = 3) -> np.ndarray:
    """Return the places of the first rows of each class."""
    return np.concatenate([np.flatnonzero(y == label)[:each] for label in np.unique(y)])


X, Y = drawn(1500)
FEW = hidden(Y, few_of(Y))
KINDS = {"numbers": ["n0", "n1", "n2"], "texts": ["t0", "t1", "t2", "t3"], "both": list(X)}


@pytest.mark.parametrize("estimate", ESTIMATES)
@pytest.mark.parametrize("kind", KINDS)
def test_rows_without_a_label_make_answers_better(kind, estimate):
    """Of a known mixture with three labels a class, fresh rows are answered better than from the labels alone."""
    columns, (fresh, truth) = KINDS[kind], drawn(2000, seed=1)
    learned = book(unlabelled="em", estimate=estimate).fit(X[columns], FEW)
    alone = book(unlabelled="skip", estimate=estimate).fit(X[columns], FEW)

    better, worse = (float((nb.predict(fresh[columns]) == truth).mean()) for nb in (learned, alone))
    assert better > worse + 0.05
    whole = book(estimate=estimate).fit(X[columns], Y)
    assert better > float((whole.predict(fresh[columns]) == truth).mean()) - 0.05


# -- what is climbed ----------------------------------------------------------------------------------------------


def log_sum(joint: np.ndarray) -> np.ndarray:
    return np.log(np.exp(joint - joint.max(axis=1, keepdims=True)).sum(axis=1)) + joint.max(axis=1)


def by_hand(z: np.ndarray, shares: np.ndarray, known: np.ndarray, steps: int) -> tuple[list[float], np.ndarray]:
    """Return the log-likelihoods of steps as the books write them: normal columns, plain frequencies."""
    path = []
    for _ in range(steps):
        n = shares.sum(axis=0)
        mean = shares.T @ z / n[:, None]
        variance = np.stack([shares[:, k] @ (z - mean[k]) ** 2 / n[k] for k in range(len(n))])
        joint = np.log(n / n.sum()) + stats.norm.logpdf(z[:, None], mean, np.sqrt(variance)).sum(axis=2)
        own = shares.argmax(axis=1)
        path.append(float(np.where(known, joint[np.arange(len(z)), own], log_sum(joint)).sum()))
        soft = np.exp(joint - log_sum(joint)[:, None])
        shares = np.where(known[:, None], shares, soft)
    return path, shares


def test_the_steps_are_those_of_the_books(monkeypatch):
    """Ten steps by hand, from the same shares, have the same log-likelihoods."""
    begun = []
    begin = unlabelled.Mixture.begin
    monkeypatch.setattr(unlabelled.Mixture, "begin", lambda self: begun.append(begin(self).copy()) or begun[0].copy())
    numbers = X[KINDS["numbers"]]
    nb = book(unlabelled="em", estimate="mle").fit(numbers, FEW)

    known = np.array([label is not None for label in FEW])
    shares = np.zeros((len(Y), 3))
    shares[known] = (FEW[known, None] == np.array(["a", "b", "c"])).astype(float)
    shares[~known] = begun[0]
    path, _ = by_hand(numbers.to_numpy(), shares, known, nb.expected_.steps)
    assert_allclose(nb.expected_.log_likelihood, path, rtol=1e-10)


def density(likelihood: Any, settings: Settings) -> float:
    """Return the logarithm of the prior's density at an estimate, by SciPy."""
    likelihood = getattr(likelihood, "tables", [likelihood])[0]
    lam = settings.smoothing
    if isinstance(likelihood.family, nv.Gaussian):
        prior, bell = likelihood._prior(likelihood.summary), likelihood.density
        variance = 0.5 / bell.precision
        belief = stats.invgamma.logpdf(variance, lam / 2, scale=lam * prior.variance / 2)
        return float((belief + stats.norm.logpdf(bell.centre, prior.centre, np.sqrt(variance / lam))).sum())
    if isinstance(likelihood.family, nv.Poisson):
        usual = (likelihood.summary.n * likelihood.summary.mean).sum(axis=1) + 0.5
        usual = usual / (likelihood.summary.n.sum(axis=1) + 1)
        return float(stats.gamma.logpdf(likelihood.rate, lam * usual, scale=1 / lam).sum())
    if isinstance(likelihood.family, nv.Bernoulli):
        return float(stats.beta.logpdf(np.exp(likelihood.log_there), lam, lam).sum())
    p = np.exp(likelihood.log_p)
    if settings.unseen == "smooth":
        p = np.column_stack([p, np.exp(likelihood.log_unseen)])
    return float(sum(stats.dirichlet.logpdf(line / line.sum(), np.full(len(line), lam)) for line in p))


@st.composite
def tables(draw: Any) -> tuple[pd.DataFrame, np.ndarray, np.ndarray, dict[str, Any]]:
    """Return a small table with columns of any kind and missing values, labels of few rows, weights and settings."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, classes = draw(st.integers(4, 60)), draw(st.integers(1, 4))
    z = rng.integers(classes, size=rows)
    scale, offset = draw(st.sampled_from([(1.0, 0.0), (1e-6, 3.0), (1e5, 1e9), (2.0, -50.0)]))
    columns: dict[str, Any] = {
        "bell": np.where(rng.random(rows) < 0.1, np.nan, offset + scale * np.round(rng.normal(z, 1.0), 1)),
        "events": rng.poisson(1 + 3 * z).astype(float),
        "word": np.array(["x", "y", "w", "v"], dtype=object)[
            np.where(rng.random(rows) < 0.5, z, rng.integers(4, size=rows))
        ],
        "flag": rng.random(rows) < 0.2 + 0.2 * z,
        "same": np.full(rows, 7.25),
    }
    columns["word"][rng.random(rows) < 0.2] = None
    used = draw(st.lists(st.sampled_from(sorted(columns)), min_size=1, unique=True))
    y = np.where(rng.random(rows) < draw(st.sampled_from([0.1, 0.5])), z.astype(float), np.nan)
    y[:classes] = np.arange(min(classes, rows))
    weights = rng.choice([0.0, 0.3, 1.0, 2.5], size=rows)
    weights[:classes] = 1.0
    settings = {
        "estimate": draw(st.sampled_from(ESTIMATES)),
        "smoothing": draw(st.sampled_from([1.0, 1.5, 4.0])),
        "prior_smoothing": draw(st.sampled_from([1.0, 2.0])),
        "prior": draw(st.sampled_from(["empirical", "uniform"])),
        "missing": draw(st.sampled_from(["skip", "value"])),
        "unseen": draw(st.sampled_from(["skip", "smooth", "error"])),
        "max_categories": draw(st.sampled_from([None, 2])),
        "families": {"events": "poisson"} if "events" in used else None,
        "classes": list(range(classes)),
    }
    return pd.DataFrame({name: columns[name] for name in used}), y, weights, settings


@settings(checked, max_examples=15)
@given(drawn=tables())
def test_no_step_goes_down(drawn):
    """Whatever the columns, missing values.

    Weights, labels and settings; it is asserted in each step, and here again.
    """
    table, y, weights, settings = drawn
    nb = book(unlabelled="em", **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            nb.fit(table, y, sample_weight=weights)
        except InvalidSetting:  # the next test is about it
            return
    assert (nb.expected_ is None) == np.isfinite(y[weights > 0]).all()
    if nb.expected_ is None:
        return
    path = np.array(nb.expected_.log_likelihood)
    assert np.isfinite(path).all()
    assert (np.diff(path) >= -1e-7 * (1 + np.abs(path[1:]))).all()
    rows = nb.expected_.counts.rows.sum()
    assert rows == pytest.approx(weights[np.isnan(y)].sum())
    assert np.isfinite(nb.predict_proba(table[weights > 0])).all()  # values of the others were never seen


WIDE = (
    np.random.default_rng(5)
    .poisson(np.where(np.arange(200)[:, None] % 2, [3, 1, 0.2, 1], [0.2, 1, 3, 1]))
    .astype(float)
)


@pytest.mark.parametrize("estimate", ESTIMATES)
@pytest.mark.parametrize("family", [nv.Words(), nv.Bernoulli(), None, nv.Bernoulli(threshold=1.0)])
def test_matrices_are_climbed_with_too(family, estimate):
    """Words and flags of a sparse matrix, numbers of a dense one."""
    source: Any = WIDE if family is None else sparse.csr_array(WIDE)
    y = hidden(np.arange(200) % 2, [0, 1, 2, 3])
    families = None if family is None else {"X": family}
    nb = book(unlabelled="em", estimate=estimate, smoothing=1.5, families=families).fit(source, y)

    assert (np.diff(nb.expected_.log_likelihood) >= 0).all()
    assert (nb.predict(source) == np.arange(200) % 2).mean() > 0.8


def test_a_step_that_goes_down_is_an_error():
    """And says from where to where; what rounding takes is none."""
    unlabelled.check_risen((-100.0,), -100.0 - 1e-7, 10.0, RECIPE)
    with pytest.raises(ConvergenceError, match=r"Step 2 .* from -100 to -100\.01") as caught:
        unlabelled.check_risen((-100.0,), -100.01, 10.0, RECIPE)
    assert isinstance(caught.value, RuntimeError)
    assert (caught.value.step, caught.value.before) == (2, -100.0)
    with pytest.raises(ConvergenceError):
        unlabelled.check_risen((-100.0,), float("nan"), 10.0, RECIPE)


# -- what does not matter -----------------------------------------------------------------------------------------


def same(a: NaiveBayes, b: NaiveBayes, tolerance: float = 1e-6) -> None:
    assert a.expected_.counts.agrees(b.expected_.counts, tolerance)
    assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=tolerance)


@pytest.mark.parametrize("estimate", ESTIMATES)
def test_with_every_label_nothing_is_expected(estimate):
    """The model is the one of an ordinary fit, to the last bit."""
    nb = book(unlabelled="em", estimate=estimate).fit(X, Y)
    plain = book(estimate=estimate).fit(X, Y)

    assert nb.expected_ is None
    assert nb.counts_ == plain.counts_
    assert_array_equal(nb.predict_proba(X), plain.predict_proba(X))
    assert nb.summary() == plain.summary()
    weights = np.where([label is None for label in FEW], 0.0, 1.0)
    assert book(**EM).fit(X, FEW, sample_weight=weights).expected_ is None
    assert nb.leave_one_out(X, Y).accuracy == plain.leave_one_out(X, Y).accuracy


# -- classes without any label ------------------------------------------------------------------------------------


# -- what is asked of it -------------------------------------------------------------------------------------------


def test_it_survives_saving_copying_and_pickling(tmp_path):
    """What is expected lies in the file as rows of its own, to the last bit."""
    for nb in (book(**EM).fit(X, FEW), book(**EM, classes=[*"abcd"]).fit(X, FEW)):
        nb.save(tmp_path / "m.parquet")
        for other in (
            nv.load(tmp_path / "m.parquet"),
            copy.copy(nb),
            copy.deepcopy(nb),
            pickle.loads(pickle.dumps(nb)),
        ):
            assert_array_equal(other.predict_proba(X), nb.predict_proba(X))
            assert other.counts_ == nb.counts_
            assert other.expected_.counts == nb.expected_.counts
            assert other.expected_.about() == nb.expected_.about()
            assert other.summary() == nb.summary()
    names = set(pd.read_parquet(tmp_path / "m.parquet")["column"])
    assert {"(expected)", "(expected) n0", "(expected) t0"} <= names


def test_rows_that_come_later_are_counted_and_what_was_expected_grows_old():
    """It says so once, and again in the summary."""
    nb = book(**EM).fit(X, FEW)
    before = nb.expected_.counts
    with pytest.warns(UserWarning, match="rows without a label stays as it was; `fit` all rows again"):
        nb.partial_fit(X[:100], Y[:100])
    nb.forget(X[:50], Y[:50])  # no second warning
    nb.partial_fit(X.iloc[0].to_dict(), str(Y[0]))

    assert nb.expected_.counts is before
    assert nb.expected_.stale
    assert "rows were added or removed since" in nb.summary()
    rows = [*few_of(Y), *range(50, 100), 0]
    assert nb.counts_.agrees(nv.count(X.iloc[rows], Y[rows]))
    with pytest.warns(UserWarning, match="stays as it was"):
        book(**EM).fit(X, FEW).forget(X.iloc[few_of(Y)], Y[few_of(Y)])


# -- what is refused -----------------------------------------------------------------------------------------------


def refused(kind: type[Exception], words: str, y: Any = FEW, table: Any = X, **settings: Any) -> None:
    with pytest.raises(kind, match=words):
        book(**EM | settings).fit(table, y)


def test_settings_that_nothing_can_be_climbed_with_are_refused():
    refused(
        InvalidSetting,
        "'bayes' has none: it averages over them. Set estimate='map' or estimate='mle'",
        estimate="bayes",
    )
    refused(InvalidSetting, "needs smoothing of 1 or more", smoothing=0.5)
    refused(InvalidSetting, r"Of 'n0': Gaussian\(epsilon=0.1\) adds", families={"n0": nv.Gaussian(epsilon=0.1)})
    words = {"table": sparse.csr_array(WIDE), "y": hidden(np.arange(200) % 2, [0, 1])}
    refused(InvalidSetting, "Of 'X': .*set complement=False", **words, families={"X": nv.Words(complement=True)})
    refused(InvalidSetting, "spread='overall'", families={"t0": nv.Categorical(spread="overall")})
    rare = {"v": np.arange(100) % 5 == 0}
    events = {"table": {k: v.astype(float) for k, v in rare.items()}, "y": hidden(np.arange(100) % 2, [0, 1])}
    refused(InvalidSetting, r"Of 'v': .*nv.Poisson\(smoothing=5\)", **events, families={"v": "poisson"})
    book(**EM, families={"v": nv.Poisson(smoothing=5)}).fit(events["table"], events["y"])


def test_rows_without_a_label_are_learned_by_fit_alone():
    nb = book(**EM).fit(X, FEW)
    words = "Row 1 has no label.*or use `fit`, the only method that learns from them"
    for learn in (nb.partial_fit, nb.forget):
        with pytest.raises(InvalidInput, match=words):
            learn(X[:2], ["a", None])
    with pytest.raises(InvalidInput, match="use `fit`"):
        nv.cross_validate(X, FEW, **EM)
    with pytest.raises(InvalidInput, match="each row's own label took part in it"):
        nb.leave_one_out(X, Y)
    assert nv.cross_validate(X, Y, cv=3, **EM).accuracy > 0.8
    assert not nb.expected_.stale


def test_steps_that_come_to_no_end_are_warned_about(monkeypatch):
    monkeypatch.setattr(nv.NaiveBayes, "_recipe", replace(RECIPE, em_steps=2))
    with pytest.warns(ConvergenceWarning, match="still changing after 2 steps"):
        nb = book(**EM).fit(X, FEW)
    assert not nb.expected_.converged
    assert "2 steps, and was still changing" in nb.summary()


@pytest.mark.parametrize("estimate", ESTIMATES)
def test_a_class_that_closes_in_on_one_row_stays_finite(estimate):
    """A single number far off is no reason for an infinite density: a class is a thousandth as wide as its column."""
    table = {"x": np.array([0.0] * 5 + [1.0, 2.0, 3.0, 2.0, 1.0, 1000.0])}
    nb = book(unlabelled="em", estimate=estimate).fit(table, ["zero", *[None] * 6, "near", *[None] * 2, "far"])
    assert np.isfinite(nb.expected_.log_likelihood).all()
    assert np.isfinite(nb.predict_proba(table)).all()


# -- rows without a label in the default model -------------------------------------------------------------------------

LABELED = 80


def words(rows, seed=0):
    """Return texts of two classes with many rare words each, and the classes: few texts show few of the words."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    texts = [" ".join([*(f"w{k}x{at}" for at in rng.integers(0, 150, 4)), f"s{rng.integers(0, 30)}"]) for k in y]
    return pd.DataFrame({"text": texts}), np.array(["a", "b"])[y]


def misleading(rows, seed=0):
    """Return rows whose largest clusters are not their classes, and the classes."""
    rng = np.random.default_rng(seed)
    cluster, y = rng.integers(0, 2, rows), rng.integers(0, 2, rows)
    columns = {f"c{at}": 4 * cluster + rng.normal(size=rows) for at in range(6)}
    return pd.DataFrame(columns | {"x": 0.8 * y + rng.normal(size=rows)}), np.array(["a", "b"])[y]


def first_known(y, known=LABELED):
    """Return labels of which the first ones are known."""
    return np.where(np.arange(len(y)) < known, y, None)


def loss(nb, X, y):
    return nv.Scores(nb.predict_proba(X), y, nb.classes_).log_loss


@pytest.fixture(scope="module")
def gained():
    X, y = words(1_500)
    return X, y, nv.NaiveBayes(families={"text": nv.Words()}, **EM).fit(X, first_known(y))


def test_expected_labels_are_counted_where_held_out_rows_gain(gained):
    X, y, nb = gained
    fresh, truth = words(2_000, seed=1)
    alone = nv.NaiveBayes(families={"text": nv.Words()}).fit(X[:LABELED], y[:LABELED])
    without, beside = nb.expected_.losses
    assert beside < without
    assert loss(nb, fresh, truth) < 0.9 * loss(alone, fresh, truth)
    assert nb.tuning_.learned.weights == pytest.approx(alone.tuning_.learned.weights)  # the weights stay
    assert "Their expected labels are counted, too" in nb.summary()


def test_other_rows_are_not_used_where_held_out_rows_do_not_gain():
    X, y = misleading(1_000, seed=1)
    nb = nv.NaiveBayes(**EM).fit(X, first_known(y))
    alone = nv.NaiveBayes(estimate="map", unlabelled="skip").fit(X, first_known(y))
    assert nb.expected_ is None
    assert np.array_equal(nb.predict_proba(X), alone.predict_proba(X))
    assert "920 rows have no label and are not used" in nb.summary()
    scores = [one.leave_one_out(X[:LABELED], y[:LABELED]).log_loss for one in (nb, alone)]  # no label took part twice
    assert scores[0] == scores[1]


def test_a_saved_model_has_the_expected_counts_of_pairs(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1_200)
    columns = {
        f"c{at}": np.where(rng.random(1_200) < 0.7, y, rng.integers(0, 12, 1_200)).astype(str) for at in range(12)
    }
    X, y = pd.DataFrame(columns), np.array(["a", "b"])[y]
    nb = nv.NaiveBayes(**EM).fit(X, first_known(y, 50))
    assert nb.expected_ is not None
    pairs, rows = nb.tuning_.learned.joint, nb.counts_.rows + nb.expected_.counts.rows
    assert np.allclose(pairs.rows, rows)
    nb.save(tmp_path / "m.parquet")
    again = nv.load(tmp_path / "m.parquet")
    assert np.abs(again.predict_proba(X) - nb.predict_proba(X)).max() < 1e-12
    assert again.expected_.losses == nb.expected_.losses
    assert np.array_equal(again.tuning_.learned.joint.products, pairs.products)
    assert repr(again.expected_) == repr(nb.expected_)


def test_leave_one_out_is_refused_after_expected_labels(gained):
    X, y, nb = gained
    with pytest.raises(InvalidInput, match="Leave-one-out is not defined"):
        nb.leave_one_out(X[:LABELED], y[:LABELED])


def test_rows_without_a_label_are_learned_from_others():
    """Nothing tells two classes apart that have no label."""
    for y in (None, [None] * len(Y), np.full(len(Y), np.nan)):
        refused(InvalidInput, "No row has a label of any class", y)
        refused(
            InvalidInput,
            r"No row has a label of the classes \['p', 'q'\].*Label a few rows of each",
            y,
            classes=["p", "q"],
        )
    refused(InvalidSetting, "must be a list, or None", None, classes=3)
    refused(InvalidInput, "requires y to be passed", None, unlabelled="skip")
