"""Parts of a model work together: what was chosen before, columns beside others, remarks, names, and light weights."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import naively as nv
from naively.counting.reading import labeled_rows
from naively.counting.sample import Sample
from naively.data.frame import frame_of
from naively.errors import InvalidInput, InvalidSetting, RowRefused, TextbookFallbackWarning
from naively.estimator import folds
from naively.estimator.update import up_to_date
from naively.explain.evidence import explained
from naively.families import Settings
from naively.model.column_parts import empirical_prior
from naively.model.default.likelihoods import REST
from naively.model.default.model import DefaultModel
from naively.model.leave_one_out import empirical_without, leave_one_out_posterior, truth_of
from naively.model.recipe import RECIPE
from naively.model.scorer import AdditiveModel
from naively.model.table_model import Contributions, TableModel
from naively.sklearn import TextCounter


@pytest.fixture
def narrow(monkeypatch):
    """Let columns be screened as if they were a thousand: all that are more than thirty."""
    monkeypatch.setattr(nv.NaiveBayes, "_recipe", replace(RECIPE, most_features=60))


def weak(rows=400, columns=150, seed=3, missing=True):
    """Return many columns of numbers, each of which tells a little by being missing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    X = rng.normal(size=(rows, columns))
    if missing:
        X[rng.random(X.shape) < np.where(y, 0.22, 0.08)[:, None]] = np.nan
    else:
        X += 0.15 * y[:, None]
    return pd.DataFrame(X).add_prefix("n"), y


# -- columns beside others ---------------------------------------------------------------------------------------------


def test_other_columns_tell_by_missing_values_where_these_count(narrow):
    X, y = weak()
    nb = nv.NaiveBayes(missing="value").fit(X[:300], y[:300])
    assert nb.tuning_.learned.weights.get(REST)
    model = nb.fitted_.model
    assert sum(len(one.names) for one in model.others.values()) == 2 * (150 - len(model.counts.grid.names))
    assert (nb.predict(X[300:]) == y[300:]).mean() > 0.8
    assert np.allclose(nb.predict_proba(X[:3]), nb.predict_proba(X[:3].to_dict("records")))


# -- light weights -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [(5.0, 0.5), (9.0, 1.0), None], ids=["by class", "whole", "by chance"])
def test_heavy_rows_tell_no_more_than_light_ones(weights):
    """Weights that follow from the class, or have fractions, are a row's own: noise tells nothing under any of them."""
    rng = np.random.default_rng(0)
    y = rng.choice(["no", "yes"], 400, p=[0.9, 0.1])
    table = pd.DataFrame({"id": [f"i{at}" for at in range(400)], "noise": rng.normal(size=400)})
    given = rng.exponential(size=400) if weights is None else np.where(y == "yes", *weights)
    for model in ("auto", "textbook"):
        told = nv.NaiveBayes(model=model).fit(table, y, sample_weight=given).importance()
        assert max(told["bits"]) < 0.06


# -- small tables ------------------------------------------------------------------------------------------------------


def both_or_neither(rows, seed=0):
    """Return a table whose class follows from two columns together, and from neither alone."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 2, (2, rows))
    X = pd.DataFrame({"a": np.array(["x", "y"])[a], "b": np.array(["u", "v"])[b], "n": rng.normal(size=rows)})
    return X, np.where(a ^ b, "odd", "even")


def flowers_tables(rows=150):
    """Return irises in mixed order, with a column of labels."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    at = np.random.default_rng(0).permutation(150)[:rows]
    X = X.iloc[at].reset_index(drop=True)
    return X.assign(wide=np.where(X.iloc[:, 1] > 3, "yes", "no")), np.array(["a", "b", "c"])[y.to_numpy()[at]]


def kind(nb):
    return type(nb.fitted_.model)


# -- folds -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [50, 55, 62])
def test_folds_are_answered_by_the_kind_of_model_that_is_kept(rows, monkeypatch):
    X, y = both_or_neither(rows)
    kinds, before = [], folds._posterior_of
    monkeypatch.setattr(folds, "_posterior_of", lambda f, *rest: kinds.append(type(f.model)) or before(f, *rest))
    scores = nv.cross_validate(X, y, cv=10)
    assert kinds == [kind(nv.NaiveBayes().fit(X, y))] * 10 == [DefaultModel] * 10
    others, truth = both_or_neither(500, seed=1)
    kept = np.mean(nv.NaiveBayes().fit(X, y).predict(others) == truth)
    assert abs(scores.accuracy - kept) < 0.1  # the textbook would be right in about half


def test_a_fold_that_cannot_be_fitted_is_answered_by_the_textbook_with_a_warning():
    X, y = both_or_neither(60)
    with pytest.warns(TextbookFallbackWarning, match="A fold leaves 6 rows of 2 classes"):
        nv.cross_validate(X, y, cv=[(np.arange(6), np.arange(6, 60))])


# -- rows that come bit by bit -----------------------------------------------------------------------------------------


def test_batches_of_ten_rows_reach_the_default_model():
    X, y = flowers_tables(100)
    nb, kinds = nv.NaiveBayes(), []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for begin in range(0, 100, 10):
            nb.partial_fit(X[begin : begin + 10], y[begin : begin + 10])
            kinds.append(kind(nb))
    assert kinds == [TableModel] * 4 + [DefaultModel] * 6
    whole = nv.NaiveBayes().fit(X, y)
    assert nb.calibrated_  # fitted anew, as more than one row in twenty came
    assert np.allclose(nb.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-9)


def test_one_row_at_a_time_after_five_reaches_it_too():
    X, y = flowers_tables(52)
    nb = nv.NaiveBayes().partial_fit(X[:5], y[:5], classes=["a", "b", "c"])
    for row in range(5, 50):
        assert kind(nb) is TableModel
        nb.partial_fit(X.iloc[row].to_dict(), y[row])
    whole = nv.NaiveBayes().fit(X[:50], y[:50])
    nb.fitted_ = up_to_date(nb.fitted_)  # it would be by itself one row in twenty later
    assert np.allclose(nb.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-9)
    weights = nb.tuning_.learned
    nb.partial_fit(X.iloc[50].to_dict(), y[50])
    assert nb.counts_.rows.sum() == 51
    assert nb.calibrated_
    assert nb.fitted_.state.tuning.learned is weights  # one row in fifty: weights are those of the other fifty


# -- a new model is one class with the protocol of models --------------------------------------------------------------


def table(rows=400, seed=0):
    """Return labels whose first and last values are those of one class, and a number."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    edge = np.where(rng.random(rows) < 0.85, y, 1 - y).astype(bool)
    X = pd.DataFrame({"label": np.where(edge, rng.choice(["a", "f"], rows), rng.choice(list("bcde"), rows))})
    return X.assign(number=rng.normal(size=rows) + 0.3 * y), np.array(["no", "yes"])[y]


class PriorModel(TableModel):
    """A model of its own: the prior, whatever the row."""

    joint_terms = "no term at all"
    has_credible_interval = False

    def __init__(self, *given):
        super().__init__(*given)
        self.scorer = AdditiveModel(self.classes, self.textbook.log_prior, {}, scale=1.0)

    @property
    def pairs(self):
        """The pairs of columns: none."""
        return {}

    @property
    def leaves_out_weights(self):
        """Whether rows are left out of weights, too."""
        return True

    def contributions(self, columns, threads):
        """Return nothing for each column."""
        scores = super().contributions(columns, threads).scores
        return Contributions(0.0 * scores, 0.0 * scores)

    def leave_one_out(self, rows):
        """Return the log prior without each row."""
        before, which = rows.priors()
        return before[which]

    def summary_lines(self):
        """Return what was fitted, in words."""
        return ["the prior alone"]


def test_a_new_model_is_explained_and_left_out_by_its_protocol():
    X, y = table()
    nb = nv.NaiveBayes(model="textbook").fit(X, y)
    counts, settings = nb.counts_, Settings()
    model: TableModel = PriorModel(counts, nb.schema_, settings, empirical_prior(counts.rows, settings))

    source = frame_of(X).on(model.schema)
    evidence = explained(model, counts.rows, source, 1, None, 1.0)
    np.testing.assert_allclose(evidence.probabilities, np.tile(np.exp(model.scorer.log_prior), (len(y), 1)))
    assert evidence.provenance.joint == "no term at all"

    rows = labeled_rows(X, y, None, None)
    truth = truth_of(rows, counts)
    left = leave_one_out_posterior(model, counts, rows, truth, empirical_without(settings), 1)
    n = counts.rows - np.eye(2)[truth] + 1
    np.testing.assert_allclose(left, n / n.sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(
        model.answer(AdditiveModel.most_probable, source, 1), np.full(len(y), counts.rows.argmax())
    )
    assert model.log_density(source, 1).shape == (len(y),)


# -- estimators keep their rows to themselves --------------------------------------------------------------------------


def some_rows(n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a small table and its classes."""
    rng = np.random.default_rng(n)
    return pd.DataFrame({"a": rng.normal(size=n), "b": rng.choice(list("xyz"), n)}), rng.choice(["p", "q"], n)


@pytest.mark.parametrize(
    "setting", [{"columns": ["nope"]}, {"prior": {"p": 1.0}}, {"smoothing": -1.0}, {"estimate": "foo"}], ids=str
)
def test_settings_that_fail_at_a_question_leave_the_rows_counted_once(setting):
    """Rows are counted as they come, and the model is fitted anew when somebody asks; a retry finds all rows there."""
    (X, y), (more, labels) = some_rows(30), some_rows(35)
    nb = nv.NaiveBayes().fit(X, y)
    usual = {name: getattr(nb, name) for name in setting}
    nb.set_params(**setting).partial_fit(more, labels)
    for _ in range(2):
        with pytest.raises(InvalidInput):
            nb.predict(X)
    nb.set_params(**usual)

    assert nb.counts_.rows.sum() == 65
    whole = nv.NaiveBayes().fit(pd.concat([X, more]), np.concatenate([y, labels]))
    assert np.allclose(nb.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-9)
    assert nb.counts_ == whole.counts_


def test_a_failed_partial_fit_adds_no_rows(monkeypatch):
    """Also where the rows were counted before the error came; a retry counts them once."""
    (X, y), (more, labels) = some_rows(60), some_rows(35)
    nb = nv.NaiveBayes().fit(X, y)
    before = nb.predict_proba(X)
    with monkeypatch.context() as patched:
        patched.setattr(Sample, "plus", lambda *given: (_ for _ in ()).throw(MemoryError))
        with pytest.raises(MemoryError):
            nb.partial_fit(more, labels)
    assert np.array_equal(nb.predict_proba(X), before)
    assert nb.counts_.rows.sum() == nb.kept_rows_.rows == 60
    nb.partial_fit(more, labels)

    whole = nv.NaiveBayes().fit(pd.concat([X, more]), np.concatenate([y, labels]))
    assert np.allclose(nb.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-9)
    assert nb.counts_ == whole.counts_


def test_a_refused_row_of_a_file_with_folds_keeps_its_number(tmp_path):
    X, y = some_rows(60)
    X.loc[41, "a"] = np.inf
    X.assign(y=y).to_csv(path := tmp_path / "t.csv", index=False)
    for refused in (
        lambda: nv.fit_files(nv.NaiveBayes(), path, "y", cv=5),
        lambda: nv.cross_validate(path, target="y", cv=5),
    ):
        with pytest.raises(RowRefused) as caught:
            refused()
        assert caught.value.row == 41


@pytest.mark.parametrize("n_jobs", [0, 1.5, "2", float("nan")])
def test_a_number_of_jobs_must_be_whole_and_not_zero(n_jobs):
    with pytest.raises(InvalidSetting) as caught:
        TextCounter(n_jobs=n_jobs).fit(["a b", "c d"])
    assert caught.value.setting == "n_jobs"


def test_a_model_made_of_a_fitted_one_has_its_own_counts():
    (X, y), (more, labels) = some_rows(80), some_rows(20)
    first = nv.NaiveBayes().fit(X, y)
    second = nv.NaiveBayes.from_fitted(first.fitted_)
    second.partial_fit(more, labels)

    assert (first.kept_rows_.rows, second.kept_rows_.rows) == (80, 100)
    assert first.counts_.rows.sum() == 80
    assert second.counts_.rows.sum() == 100
