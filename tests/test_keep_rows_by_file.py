"""The default model from what a folder keeps of each file: its counts and some of its rows."""

from __future__ import annotations

import shutil
import warnings

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

import naively as nv
from naively.counting import files as engine
from naively.data import model_file as store
from naively.errors import CombinedWeightsWarning, InvalidSetting
from naively.estimator import cached_counts

from . import file_cases as cases
from .test_keep_counts import names

pytestmark = pytest.mark.thorough

DAYS, EACH = 6, 100


def learnable(rows):
    """Return a table whose labels follow from some of its columns, more or less."""
    size = np.nan_to_num(rows["size"].to_numpy(zero_copy_only=False)) / 20
    points = size + 1.5 * (np.array(rows["yes"].to_pylist()) == "yes") + np.random.default_rng(1).normal(size=len(rows))
    labels = np.array(["ham", "junk", "spam"])[np.digitize(points, [-0.5, 1.5])]
    return rows.drop(["weight", "label"]).append_column("label", pa.array(labels))


ROWS = learnable(cases.table(DAYS * EACH))
HOW = {"families": {"zip": "categorical"}}


@pytest.fixture
def folder(tmp_path):
    """Return a folder with six files, a day each."""
    made = tmp_path / "days"
    made.mkdir()
    for day in range(DAYS):
        cases.write_csv(made / f"day-{day}.csv", ROWS.slice(EACH * day, EACH))
    return made


def fitted(folder, kept, cv=0, window=None, fade=1.0, keep_rows=True, **settings):
    """Return the model of the files in a folder, and what was done."""
    nb = nv.NaiveBayes(**HOW | settings)
    how = {"cv": cv, "window": window, "fade": fade, "keep_rows": keep_rows}
    return nb, nv.fit_files(nb, str(folder / "*.csv"), "label", keep_counts=kept, **how)


def one_fit(rows=ROWS, weights=None, **settings):
    """Return the model of one fit of a table."""
    return nv.NaiveBayes(**HOW | settings).fit(rows, target="label", sample_weight=weights)


def same_columns(one, other):
    """Compare the counts of single columns; those of pairs stand on bins that may differ in the last bit."""
    assert one.counts_.columns.keys() == other.counts_.columns.keys()
    for name, counts in one.counts_.columns.items():
        assert counts.agrees(other.counts_.columns[name])


def near(one, other, most=1e-9):
    """Compare the answers of two models."""
    difference = np.abs(one.predict_proba(ROWS) - other.predict_proba(ROWS)).max()
    assert difference <= most, difference


def test_the_model_is_that_of_one_fit(folder, tmp_path):
    nb, done = fitted(folder, tmp_path / "kept")
    again, second = fitted(folder, tmp_path / "kept")
    whole = one_fit()

    assert nb.fitted_.weights is not None
    assert nb.kept_rows_.complete
    assert nb.kept_rows_.rows == done.rows == DAYS * EACH
    assert second.read == ()
    near(nb, whole)
    same_columns(nb, whole)
    assert_array_equal(again.predict_proba(ROWS), nb.predict_proba(ROWS))
    assert [str(hint) for hint in nb.schema_.hints] == [str(hint) for hint in again.schema_.hints]
    assert not any("textbook" in hint for hint in nb.schema_.hints)


def test_only_new_files_are_read_and_the_order_does_not_matter(folder, tmp_path):
    whole, _ = fitted(folder, tmp_path / "at once")
    kept, moved = tmp_path / "kept", tmp_path / "day-2.csv"
    shutil.move(folder / "day-2.csv", moved)
    fitted(folder, kept)
    shutil.move(moved, folder / "day-2.csv")
    nb, done = fitted(folder, kept)
    assert names(done.read) == ["day-2.csv"]
    assert_array_equal(nb.predict_proba(ROWS), whole.predict_proba(ROWS))


@pytest.mark.parametrize("most", [250, 60])
def test_more_rows_than_are_kept_are_merged(most, folder, tmp_path, keep):
    """All files together, or each of them, have more rows than are kept: their models are merged."""
    keep(most)
    nb, _ = fitted(folder, tmp_path / "kept")
    merged = nv.merge([one_fit(ROWS.slice(EACH * day, EACH)) for day in range(DAYS)])
    assert nb.fitted_.weights is not None
    assert not nb.kept_rows_.complete
    assert nb.kept_rows_.rows <= most
    assert nb.counts_.rows.sum() == DAYS * EACH
    assert_array_equal(nb.predict_proba(ROWS), merged.predict_proba(ROWS))
    assert_array_equal(fitted(folder, tmp_path / "kept")[0].predict_proba(ROWS), nb.predict_proba(ROWS))


def test_files_of_all_sizes_come_together(tmp_path):
    """A file may have a single row, a single class, or values that no other has."""
    days = tmp_path / "days"
    days.mkdir()
    parts = [ROWS.slice(0, 1), ROWS.slice(1, 300), ROWS.slice(301, 299)]
    one_class = np.flatnonzero(np.array(parts[2]["label"].to_pylist()) == parts[2]["label"][0].as_py())
    parts[2:] = [parts[2].take(pa.array(one_class))]
    for at, part in enumerate(parts):
        cases.write_csv(days / f"{at}.csv", part)
    nb, done = fitted(days, tmp_path / "kept")
    assert done.rows == sum(map(len, parts))
    near(nb, one_fit(pa.concat_tables(parts)))


# -- fading ------------------------------------------------------------------------------------------------------------


def weights_of_days(share):
    """Return the weight of each row if each day counts such a share of the next."""
    return np.repeat(share ** np.arange(DAYS - 1, -1, -1.0), EACH)


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_faded_counts_are_weighted_sums(share, folder, tmp_path):
    nb, _ = fitted(folder, tmp_path / "kept", fade=share, model="textbook")
    whole = one_fit(weights=weights_of_days(share), model="textbook")
    assert nb.counts_.agrees(whole.counts_)
    near(nb, whole)


def test_the_default_model_fades_too(folder, tmp_path):
    """It is that of one fit of rows that weigh less, the older they are."""
    nb, _ = fitted(folder, tmp_path / "kept", fade=0.8)
    whole = one_fit(weights=weights_of_days(0.8))
    same_columns(nb, whole)
    near(nb, whole)


def test_rows_that_fade_count_by_the_mean_of_their_weights(keep):
    """A row that two files hold, of which one is older, weighs as much as both."""
    keep(50)
    kept = one_fit(ROWS.slice(0, EACH)).fitted_.state.kept
    both = kept * 0.5 + kept
    assert not both.complete
    assert both.copies.tolist() == [2] * len(kept.hashes)
    assert both.held.weights.tolist() == [0.75] * len(kept.hashes)


@pytest.mark.parametrize("fade", [0, -1, 1.5, True, "half", float("nan")])
def test_shares_that_mean_nothing_are_refused(fade, folder, tmp_path):
    with pytest.raises(InvalidSetting, match=r"fade=.* must be a number above 0, and at most 1"):
        fitted(folder, tmp_path / "kept", fade=fade)


def test_fading_needs_counts_of_each_file(folder):
    with pytest.raises(InvalidSetting, match=r"fade=0.5 needs keep_counts"):
        nv.fit_files(nv.NaiveBayes(), folder, "label", fade=0.5)


# -- folds -------------------------------------------------------------------------------------------------------------


def test_scores_are_those_of_the_rows_that_are_kept(folder, tmp_path):
    nb, done = fitted(folder, tmp_path / "kept", cv=4)
    rows = nb.fitted_.state.kept.rows()
    columns = {name: values.arrow() for name, values in rows.source.columns.items()}
    y = np.array(rows.target.labels, dtype=object)[rows.target.codes]
    scores = nv.cross_validate(columns, y, cv=4, **HOW)
    assert len(done.scores.truth) == DAYS * EACH
    assert done.scores.log_loss == pytest.approx(scores.log_loss, rel=1e-9)
    assert done.scores.accuracy == scores.accuracy
    assert done.textbook_scores is not None
    again = fitted(folder, tmp_path / "kept", cv=4)[1]
    assert again.read == ()
    assert again.scores.log_loss == done.scores.log_loss


def test_scores_of_a_sample_come_close(folder, tmp_path, keep):
    every = nv.cross_validate(ROWS, target="label", cv=4, **HOW)
    keep(300)
    nb, done = fitted(folder, tmp_path / "kept", cv=4)
    assert not nb.kept_rows_.complete
    assert len(done.scores.truth) == nb.kept_rows_.rows <= 300
    assert done.scores.log_loss == pytest.approx(every.log_loss, rel=0.25)
    assert done.textbook_scores.accuracy == pytest.approx(every.accuracy, abs=0.1)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"model": "textbook"}, "model='textbook' keeps counts alone"),
        ({"keep_rows": False}, "keep_rows=False keeps no row"),
    ],
)
def test_scores_need_rows(how, words, folder, tmp_path):
    with pytest.raises(InvalidSetting, match=words):
        fitted(folder, tmp_path / "kept", cv=4, **how)


# -- what the folder holds ---------------------------------------------------------------------------------------------


def rows_in(path):
    """Return how many rows a file of the folder holds."""
    return store.rows_of_bytes(store.read_model(path).parts["rows"]).frame.rows


def test_a_folder_without_rows_holds_none(folder, tmp_path):
    with_rows, _ = fitted(folder, tmp_path / "rows")
    with pytest.warns(CombinedWeightsWarning, match="what was fitted is that of the largest model"):
        nb, _ = fitted(folder, tmp_path / "kept", keep_rows=False)
    for path in (tmp_path / "kept").glob("*.parquet"):
        assert "rows" not in store.read_model(path).parts
    for path in (tmp_path / "rows").glob("*.parquet"):
        assert rows_in(path) == EACH
    assert nb.kept_rows_.rows == 0
    assert nb.counts_.rows.sum() == DAYS * EACH
    assert nb.counts_.columns["size"].agrees(with_rows.counts_.columns["size"])


@pytest.mark.parametrize(
    ("first", "then", "words"),
    [
        ({"model": "textbook"}, {}, "keeps counts with model='textbook', and now model='auto'"),
        ({}, {"model": "textbook"}, "keeps counts with model='auto', and now model='textbook'"),
        ({"keep_rows": False}, {}, "keeps counts with keep_rows=False, and now keep_rows=True"),
        ({}, {"keep_rows": False}, "keeps counts with keep_rows=True, and now keep_rows=False"),
        ({"keep_rows": False}, {"keep_rows": False, "missing": "value"}, "missing='skip', and now missing='value'"),
    ],
)
def test_what_is_kept_is_not_mixed(first, then, words, folder, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CombinedWeightsWarning)
        fitted(folder, tmp_path / "kept", **first)
    with pytest.raises(InvalidSetting, match=words):
        fitted(folder, tmp_path / "kept", **then)


def test_damaged_rows_are_counted_anew(folder, tmp_path):
    kept = tmp_path / "kept"
    nb, _ = fitted(folder, kept)
    damaged = sorted(kept.glob("*.parquet"))[2]
    damaged.write_bytes(damaged.read_bytes()[:-100])
    again, done = fitted(folder, kept)
    assert len(done.read) == 1
    assert_array_equal(again.predict_proba(ROWS), nb.predict_proba(ROWS))


def test_a_column_of_too_many_values_is_in_no_model(folder, tmp_path, monkeypatch):
    """No file alone has too many values, only all of them together: those that were counted are read again."""
    most = len({*ROWS["zip"].to_pylist()} - {None})
    for module in (engine, cached_counts):
        monkeypatch.setattr(module, "MOST_LABELS", most)
    nb, done = fitted(folder, tmp_path / "kept", families=None)
    again, second = fitted(folder, tmp_path / "kept", families=None)
    assert done.set_aside == second.set_aside == ("zip",)
    assert second.read == ()
    assert nb.schema_.hints[-1].startswith("'zip' has more than")
    near(nb, one_fit(ROWS.drop(["zip"]), families=None))
    assert_array_equal(again.predict_proba(ROWS), nb.predict_proba(ROWS))


# -- rows of files and of tables ---------------------------------------------------------------------------------------


# -- killed at any moment ----------------------------------------------------------------------------------------------
