"""Rows without a label: learned by steps that never go down, and kept beside what was counted."""

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
from naively.stats import Axis, Moments, Table

from .strategies import checked
from .textbook import book

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


@pytest.mark.parametrize("estimate", ESTIMATES)
def test_what_was_counted_is_the_labelled_rows_alone(estimate):
    """What is expected stands beside it, a whole row for each row without a label."""
    nb = book(unlabelled="em", estimate=estimate).fit(X, FEW)
    known = few_of(Y)

    assert nb.counts_ == nv.count(X.iloc[known], Y[known])
    assert nb.expected_.counts.rows.sum() == pytest.approx(len(Y) - len(known))
    assert nb.expected_.counts.columns["t0"].n.sum() == pytest.approx(len(Y) - len(known))
    assert (nb.expected_.labelled, nb.expected_.unlabelled) == (len(known), len(Y) - len(known))
    assert_array_equal(nb.classes_, ["a", "b", "c"])


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


TWO = Axis.declared(["a", "b"])
NUMBERS = np.array([1.0, 2.5, 4.0, 4.5, 7.0, 11.0])


def moments(split: np.ndarray) -> Moments:
    """Return the moments of the same numbers, shared out among two classes in some way."""
    parts = np.stack([split, 1 - split])
    n = parts.sum(axis=1)
    mean = parts @ NUMBERS / n
    variance = np.stack([w @ (NUMBERS - m) ** 2 for w, m in zip(parts, mean, strict=True)]) / n
    return Moments.of(TWO, ["x"], n=n[:, None], mean=mean[:, None], variance=variance[:, None])


SPLITS = (np.array([0.9, 0.8, 0.4, 0.6, 0.3, 0.05]), np.array([0.2, 0.5, 0.5, 0.9, 0.1, 0.5]))
TABLES = [Table(TWO, Axis.numbered(3), n) for n in ([[3, 1, 2.5], [0, 4, 1]], [[1, 3, 0.5], [2, 2, 3]])]
BELIEFS = {
    "gaussian": (nv.Gaussian(), [moments(split) for split in SPLITS], {}),
    "poisson": (nv.Poisson(), [moments(split) for split in SPLITS], {}),
    "categorical": (nv.Categorical(), TABLES, {}),
    "with a place for unseen values": (nv.Categorical(), TABLES, {"unseen": "smooth"}),
    "bernoulli": (nv.Bernoulli(), TABLES, {}),
    "words": (nv.Words(), TABLES, {}),
}


@pytest.mark.parametrize("case", BELIEFS)
def test_the_belief_is_the_density_of_the_prior(case):
    """Up to a constant: between two estimates it differs as much as SciPy's densities do."""
    family, statistics, more = BELIEFS[case]
    settings = Settings("map", 2.5, marginal=True, **more)
    likelihoods = [family.estimate(s, np.array([8.0, 7.0]), TWO, settings) for s in statistics]

    beliefs, densities = (
        [f(one) for one in likelihoods] for f in (lambda x: x.log_prior_density(), lambda x: density(x, settings))
    )
    assert beliefs[0] - beliefs[1] == pytest.approx(densities[0] - densities[1], rel=1e-9)
    assert abs(beliefs[0] - beliefs[1]) > 1e-3
    plain = family.estimate(statistics[0], np.array([8.0, 7.0]), TWO, Settings("mle"))
    assert plain.log_prior_density() == 0


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


def test_a_rate_that_cannot_be_maximized_is_refused():
    """Less than one event a row: the prior has its mode at no events at all."""
    nb = book(unlabelled="em", estimate="map", families={"events": "poisson"}, classes=["a", "b"])
    with pytest.raises(InvalidSetting, match=r"nv\.Poisson\(smoothing="):
        nb.fit({"events": [0, 1, 0, 1, 0]}, ["a", "b", None, None, None])


def test_nothing_is_expected_where_every_row_has_a_label():
    assert book(unlabelled="em", estimate="map").fit({"x": [1.0, 2.0, 3.0]}, ["a", "b", "a"]).expected_ is None


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


def test_a_prior_that_follows_the_classes_would_go_down(monkeypatch):
    """What has a weight of numbers must not move with the classes; this is why it comes from the whole column."""
    from naively.families.gaussian import GaussianPrior

    monkeypatch.setattr(GaussianPrior, "of_column", GaussianPrior.of)
    nb, x = book(**EM, smoothing=20.0), np.random.default_rng(0).normal(size=30)
    with pytest.raises(ConvergenceError):
        nb.fit({"x": x}, hidden(np.arange(30) % 3, [0, 1, 2]))


# -- what does not matter -----------------------------------------------------------------------------------------


def same(a: NaiveBayes, b: NaiveBayes, tolerance: float = 1e-6) -> None:
    assert a.expected_.counts.agrees(b.expected_.counts, tolerance)
    assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=tolerance)


@pytest.mark.parametrize("estimate", ESTIMATES)
def test_the_order_of_rows_does_not_matter(estimate):
    order = np.random.default_rng(2).permutation(len(Y))
    same(*(book(unlabelled="em", estimate=estimate).fit(X.iloc[o], FEW[o]) for o in (np.arange(len(Y)), order)))


@pytest.mark.parametrize("estimate", ESTIMATES)
def test_a_weight_is_a_number_of_rows(estimate):
    """A row of weight 2 is two rows, and one of weight 0 is none."""
    weights = np.random.default_rng(3).integers(3, size=len(Y)).astype(float)
    weights[few_of(Y)] = [0, 1, 2] * 3
    repeated = np.repeat(np.arange(len(Y)), weights.astype(int))
    weighted = book(unlabelled="em", estimate=estimate).fit(X, FEW, sample_weight=weights)
    rows = book(unlabelled="em", estimate=estimate).fit(X.iloc[repeated], FEW[repeated])

    same(weighted, rows)
    assert weighted.expected_.steps == rows.expected_.steps
    assert weighted.counts_ == rows.counts_


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


def test_how_labels_and_tables_are_given_does_not_matter():
    """NaN among numbers is no label, a target may be a column, rows may be dicts."""
    codes = np.array([np.nan if label is None else "abc".index(label) for label in FEW])
    by_number = book(**EM).fit(X, codes)
    by_column = book(**EM).fit(X.assign(y=FEW), target="y")
    by_dicts = book(**EM).fit(X.to_dict("records"), FEW)

    whole = book(**EM).fit(X, FEW)
    for nb in (by_number, by_column, by_dicts):
        assert_allclose(nb.predict_proba(X), whole.predict_proba(X), atol=1e-9)
    assert_array_equal(by_number.classes_, [0.0, 1.0, 2.0])


# -- classes without any label ------------------------------------------------------------------------------------


def test_a_class_beside_those_that_have_labels_is_found():
    """Declared, and no row has it: it begins as the whole table does."""
    y = hidden(Y, np.flatnonzero(Y != "c"))
    nb = book(**EM, classes=["a", "b", "c"]).fit(X, y)

    assert (nb.predict(X)[Y == "c"] == "c").mean() > 0.8
    assert nb.counts_.on(Axis.declared(["a", "b", "c"]))[2] == 0


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


# -- what is asked of it -------------------------------------------------------------------------------------------


def test_the_summary_says_what_was_learned_without_labels():
    nb = book(**EM).fit(X, FEW)
    steps = nb.expected_.steps
    said = f"9 rows had a label; 1491 had none and were used by expectation-maximization, which took {steps} steps."
    assert nb.summary().splitlines()[:2][1] == said
    assert nb.summary().startswith("1500 rows, 3 classes: a ")
    assert repr(nb.expected_) == f"Expected: {said}"
    assert nb.expected_.converged


def test_questions_are_answered_from_counted_and_expected_rows():
    """Explanations add up, and probabilities and importances are those of the model."""
    nb = book(**EM).fit(X, FEW)
    assert_allclose(nb.explain(X).probabilities, nb.predict_proba(X), atol=1e-12)
    assert "/1500" in nb.explain(X[:1]).fractions()
    shares = nb.probabilities("t0")
    assert_allclose(shares[["a", "b", "c"]].sum(), 1.0)
    both = nb.counts_ + nb.expected_.counts
    expected = both.columns["t0"].n / both.columns["t0"].n.sum(axis=1, keepdims=True)
    assert_allclose(shares[["a", "b", "c"]].to_numpy().T, expected)
    assert set(nb.importance()["column"]) == set(X)


def test_a_column_may_be_silenced_before_and_after():
    """Only the columns that may speak are climbed with; all are counted."""
    nb = book(**EM, columns=["n0", "t0"]).fit(X, FEW)
    assert nb.expected_.log_likelihood == pytest.approx(book(**EM).fit(X[["n0", "t0"]], FEW).expected_.log_likelihood)
    assert nb.set_params(columns=None).predict_proba(X).shape == (len(Y), 3)


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


def test_a_fit_with_labels_forgets_what_was_expected():
    nb = book(**EM).fit(X, FEW).fit(X, Y)
    assert nb.expected_ is None


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


def test_a_first_partial_fit_is_a_fit():
    assert book(**EM).partial_fit(X, FEW).expected_.log_likelihood == book(**EM).fit(X, FEW).expected_.log_likelihood


def test_a_cell_that_cannot_be_counted_is_named_and_changes_nothing():
    nb = book(**EM).fit(X, FEW)
    before = nb.predict_proba(X)
    with pytest.raises(InvalidInput, match="'n1'"):
        nb.fit(X.assign(n1=np.where(np.arange(len(Y)) == 1000, np.inf, X.n1)), FEW)
    assert_array_equal(nb.predict_proba(X), before)


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


def test_strange_tables_are_learned():
    """One row, rows that are all alike, columns that hold nothing."""
    same_cells = {"x": [1.0] * 6, "t": ["u"] * 6, "none": [None] * 6}
    p = book(**EM).fit(same_cells, ["a", None, None, "b", None, None]).predict_proba(same_cells)
    assert_allclose(p.sum(axis=1), 1.0)
    one = book(**EM).fit({"x": [1.0, 1.0], "t": ["u", "u"]}, ["a", None])
    assert_allclose(one.predict_proba({"x": 1.0, "t": "u"}).sum(), 1.0)
    with pytest.raises(InvalidInput, match="0 sample"):
        book(**EM).fit({"x": []}, [])
