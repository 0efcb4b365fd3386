"""Estimators keep their rows to themselves: a failed call adds none, and copies of a model do not share counts."""

import numpy as np
import pandas as pd
import pytest

import naively as nv
from naively.counting.kept_rows import KeptRows
from naively.errors import InvalidInput, InvalidSetting, RowRefused
from naively.sklearn import TextCounter


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
        patched.setattr(KeptRows, "plus", lambda *given: (_ for _ in ()).throw(MemoryError))
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
