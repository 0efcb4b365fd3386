"""What a folder keeps of each file, counts and rows: only what is new is read, and the result is always the same."""

from __future__ import annotations

import os
import shutil
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

import naively as nv
from naively.counting import files as engine
from naively.errors import InvalidInput, InvalidSetting, LargestFitWarning
from naively.estimator import fit_files

from . import file_cases as cases
from .commands import bad, good, told
from .tables import book

pytestmark = pytest.mark.thorough

ROWS = cases.table(600)


@pytest.fixture
def folder(tmp_path):
    """Return a folder with six files, a day each."""
    made = tmp_path / "days"
    made.mkdir()
    for day in range(6):
        cases.write_csv(made / f"day-{day}.csv", ROWS.slice(100 * day, 100))
    return made


def fitted(folder, kept, **how):
    """Return the model of the files in a folder, and what was done."""
    nb = book()
    return nb, nv.fit_files(nb, str(folder / "*.csv"), "label", ignore=["weight"], keep_counts=kept, **how)


def names(paths):
    return [os.path.basename(path) for path in paths]  # noqa: PTH119


def bits(nb):
    """Return all that a model has learned, to the last bit."""
    parts = [("rows", nb.counts_.classes.labels, nb.counts_.rows.tolist())]
    for name, statistic in nb.counts_.columns.items():
        fields = ("n", "shift", "total", "squares") if hasattr(statistic, "squares") else ("n",)
        parts.append((name, [getattr(statistic, field).tolist() for field in fields]))
        parts.append((name, getattr(statistic, "values", nb.counts_.classes).labels))
    return parts, str(nb.schema_), nb.classes_.dtype


def test_kept_counts_give_the_same_model_to_the_last_bit(folder, tmp_path):
    """However the files came in, and whatever was kept."""
    whole, _ = fitted(folder, tmp_path / "at once")
    again, done = fitted(folder, tmp_path / "at once")
    for day in (3, 0, 5):
        nv.fit_files(book(), folder / f"day-{day}.csv", "label", ignore=["weight"], keep_counts=tmp_path / "some")
    mixed, some = fitted(folder, tmp_path / "some")

    assert not done.read
    assert names(some.read) == ["day-1.csv", "day-2.csv", "day-4.csv"]
    assert bits(again) == bits(whole)
    assert bits(mixed) == bits(whole)


def test_a_changed_file_is_counted_anew(folder, tmp_path):
    kept = tmp_path / "kept"
    fitted(folder, kept)
    path = folder / "day-2.csv"
    times = path.stat()
    cases.write_csv(path, ROWS.slice(0, 40))
    nb, done = fitted(folder, kept)
    assert names(done.read) == ["day-2.csv"]
    assert nb.counts_.rows.sum() == 540

    text = path.read_text().replace("ham", "dog")  # of the same size, and with the same time
    path.write_text(text)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    nb, done = fitted(folder, kept)
    assert names(done.read) == ["day-2.csv"]
    assert "dog" in nb.classes_

    os.utime(path)
    assert names(fitted(folder, kept)[1].read) == ["day-2.csv"]


def test_other_ways_of_counting_need_another_folder(folder, tmp_path):
    kept = tmp_path / "kept"
    fitted(folder, kept)
    path = str(folder / "*.csv")
    with pytest.raises(InvalidSetting, match=r"keeps counts with ignore=\['weight'\], and now ignore=\[\]"):
        nv.fit_files(book(), path, "label", keep_counts=kept)
    nb = book(families={"visits": "poisson"})
    with pytest.raises(InvalidSetting, match="keeps counts with families="):
        nv.fit_files(nb, path, "label", ignore=["weight"], keep_counts=kept)
    with pytest.raises(InvalidSetting, match="keeps counts with null="):
        nv.fit_files(book(), nv.File(path, null=["-"]), "label", ignore=["weight"], keep_counts=kept)
    with pytest.raises(InvalidSetting, match="limit counts a part"):
        nv.fit_files(book(), nv.File(path, limit=5), "label", keep_counts=tmp_path / "other")
    with pytest.raises(InvalidSetting, match="what is piped in has no name"):
        nv.fit_files(book(), nv.File("-"), "label", keep_counts=tmp_path / "other")


def test_damaged_counts_are_counted_anew(folder, tmp_path):
    kept = tmp_path / "kept"
    nb, _ = fitted(folder, kept)
    damaged = sorted(kept.glob("*.parquet"))[2]
    damaged.write_bytes(damaged.read_bytes()[:-100])
    again, done = fitted(folder, kept)

    assert len(done.read) == 1
    assert bits(again) == bits(nb)


def test_a_file_that_changes_while_it_is_read_is_not_kept(folder, tmp_path):
    def meddle(rows, done, of):
        with (folder / "day-0.csv").open("a") as file:
            file.write("x,yes,1,7,,,,,1,ham\n")

    with pytest.raises(InvalidInput, match=r"day-0\.csv changed while it was read"):
        fitted(folder, tmp_path / "kept", progress=meddle)
    assert not list((tmp_path / "kept").glob("*.parquet"))


# -- the default model from what a folder keeps of each file -----------------------------------------------------------

DAYS, EACH = 6, 100


def learnable(rows):
    """Return a table whose labels follow from some of its columns, more or less."""
    size = np.nan_to_num(rows["size"].to_numpy(zero_copy_only=False)) / 20
    points = size + 1.5 * (np.array(rows["yes"].to_pylist()) == "yes") + np.random.default_rng(1).normal(size=len(rows))
    labels = np.array(["ham", "junk", "spam"])[np.digitize(points, [-0.5, 1.5])]
    return rows.drop(["weight", "label"]).append_column("label", pa.array(labels))


LEARNABLE = learnable(cases.table(DAYS * EACH))
HOW = {"families": {"zip": "categorical"}}


@pytest.fixture
def learnable_folder(tmp_path):
    """Return a folder with six files, a day each."""
    made = tmp_path / "days"
    made.mkdir()
    for day in range(DAYS):
        cases.write_csv(made / f"day-{day}.csv", LEARNABLE.slice(EACH * day, EACH))
    return made


def fitted_default(learnable_folder, kept, cv=0, window=None, fade=1.0, keep_rows=True, **settings):
    """Return the model of the files in a folder, and what was done."""
    nb = nv.NaiveBayes(**HOW | settings)
    how = {"cv": cv, "window": window, "fade": fade, "keep_rows": keep_rows}
    return nb, nv.fit_files(nb, str(learnable_folder / "*.csv"), "label", keep_counts=kept, **how)


def one_fit(rows=LEARNABLE, weights=None, **settings):
    """Return the model of one fit of a table."""
    return nv.NaiveBayes(**HOW | settings).fit(rows, target="label", sample_weight=weights)


def same_columns(one, other):
    """Compare the counts of single columns; those of pairs stand on bins that may differ in the last bit."""
    assert one.counts_.columns.keys() == other.counts_.columns.keys()
    for name, counts in one.counts_.columns.items():
        assert counts.agrees(other.counts_.columns[name])


def near(one, other, most=1e-9):
    """Compare the answers of two models."""
    difference = np.abs(one.predict_proba(LEARNABLE) - other.predict_proba(LEARNABLE)).max()
    assert difference <= most, difference


def test_the_model_is_that_of_one_fit(learnable_folder, tmp_path):
    nb, done = fitted_default(learnable_folder, tmp_path / "kept")
    again, second = fitted_default(learnable_folder, tmp_path / "kept")
    whole = one_fit()

    assert nb.fitted_.weights is not None
    assert nb.kept_rows_.complete
    assert nb.kept_rows_.rows == done.rows == DAYS * EACH
    assert second.read == ()
    near(nb, whole)
    same_columns(nb, whole)
    assert_array_equal(again.predict_proba(LEARNABLE), nb.predict_proba(LEARNABLE))
    assert [str(hint) for hint in nb.schema_.hints] == [str(hint) for hint in again.schema_.hints]
    assert not any("textbook" in hint for hint in nb.schema_.hints)


def test_only_new_files_are_read_and_the_order_does_not_matter(learnable_folder, tmp_path):
    whole, _ = fitted_default(learnable_folder, tmp_path / "at once")
    kept, moved = tmp_path / "kept", tmp_path / "day-2.csv"
    shutil.move(learnable_folder / "day-2.csv", moved)
    fitted_default(learnable_folder, kept)
    shutil.move(moved, learnable_folder / "day-2.csv")
    nb, done = fitted_default(learnable_folder, kept)
    assert names(done.read) == ["day-2.csv"]
    assert_array_equal(nb.predict_proba(LEARNABLE), whole.predict_proba(LEARNABLE))


def test_a_window_holds_the_newest_files(learnable_folder, tmp_path):
    nb, done = fitted_default(learnable_folder, tmp_path / "kept", window=2)
    assert names(done.read) == ["day-4.csv", "day-5.csv"]
    near(nb, one_fit(LEARNABLE.slice(4 * EACH)))
    assert names(fitted_default(learnable_folder, tmp_path / "kept", window=3)[1].read) == ["day-3.csv"]


@pytest.mark.parametrize(("moment", "whole"), [("before", 2), ("after", 3)])
def test_a_stop_loses_nothing_that_was_kept(moment, whole, learnable_folder, tmp_path, monkeypatch):
    """What is kept is whole, and going on reads the other files alone and ends as if nobody had disturbed."""
    kept, replace, written = tmp_path / "kept", Path.replace, []

    def stop(made, path):
        written.extend([path] if path.suffix == ".parquet" else [])
        if moment == "after" or len(written) < 3:
            replace(made, path)
        if len(written) == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", stop)
        with pytest.raises(KeyboardInterrupt):
            fitted_default(learnable_folder, kept)
    assert len(list(kept.glob("*.parquet"))) == whole
    nb, done = fitted_default(learnable_folder, kept)
    assert names(done.read) == [f"day-{day}.csv" for day in range(whole, DAYS)]
    near(nb, fitted_default(learnable_folder, tmp_path / "undisturbed")[0], 0)


@pytest.mark.parametrize("most", [250, 60])
def test_more_rows_than_are_kept_are_merged(most, learnable_folder, tmp_path, keep):
    """All files together, or each of them, have more rows than are kept: their models are merged."""
    keep(most)
    nb, _ = fitted_default(learnable_folder, tmp_path / "kept")
    merged = nv.merge([one_fit(LEARNABLE.slice(EACH * day, EACH)) for day in range(DAYS)])
    assert nb.fitted_.weights is not None
    assert not nb.kept_rows_.complete
    assert nb.kept_rows_.rows <= most
    assert nb.counts_.rows.sum() == DAYS * EACH
    assert_array_equal(nb.predict_proba(LEARNABLE), merged.predict_proba(LEARNABLE))
    assert_array_equal(
        fitted_default(learnable_folder, tmp_path / "kept")[0].predict_proba(LEARNABLE), nb.predict_proba(LEARNABLE)
    )


def test_files_of_all_sizes_come_together(tmp_path):
    """A file may have a single row, a single class, or values that no other has."""
    days = tmp_path / "days"
    days.mkdir()
    parts = [LEARNABLE.slice(0, 1), LEARNABLE.slice(1, 300), LEARNABLE.slice(301, 299)]
    one_class = np.flatnonzero(np.array(parts[2]["label"].to_pylist()) == parts[2]["label"][0].as_py())
    parts[2:] = [parts[2].take(pa.array(one_class))]
    for at, part in enumerate(parts):
        cases.write_csv(days / f"{at}.csv", part)
    nb, done = fitted_default(days, tmp_path / "kept")
    assert done.rows == sum(map(len, parts))
    near(nb, one_fit(pa.concat_tables(parts)))


# -- fading ------------------------------------------------------------------------------------------------------------


def weights_of_days(share):
    """Return the weight of each row if each day counts such a share of the next."""
    return np.repeat(share ** np.arange(DAYS - 1, -1, -1.0), EACH)


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_faded_counts_are_weighted_sums(share, learnable_folder, tmp_path):
    nb, _ = fitted_default(learnable_folder, tmp_path / "kept", fade=share, model="textbook")
    whole = one_fit(weights=weights_of_days(share), model="textbook")
    assert nb.counts_.agrees(whole.counts_)
    near(nb, whole)


def test_the_default_model_fades_too(learnable_folder, tmp_path):
    """It is that of one fit of rows that weigh less, the older they are."""
    nb, _ = fitted_default(learnable_folder, tmp_path / "kept", fade=0.8)
    whole = one_fit(weights=weights_of_days(0.8))
    same_columns(nb, whole)
    near(nb, whole)


def test_rows_that_fade_count_by_the_mean_of_their_weights(keep):
    """A row that two files hold, of which one is older, weighs as much as both."""
    keep(50)
    kept = one_fit(LEARNABLE.slice(0, EACH)).fitted_.state.kept
    both = kept * 0.5 + kept
    assert not both.complete
    assert both.copies.tolist() == [2] * len(kept.hashes)
    assert both.held.weights.tolist() == [0.75] * len(kept.hashes)


@pytest.mark.parametrize("fade", [0, -1, 1.5, True, "half", float("nan")])
def test_shares_that_mean_nothing_are_refused(fade, learnable_folder, tmp_path):
    with pytest.raises(InvalidSetting, match=r"fade=.* must be a number above 0, and at most 1"):
        fitted_default(learnable_folder, tmp_path / "kept", fade=fade)


# -- folds -------------------------------------------------------------------------------------------------------------


def test_scores_are_those_of_the_rows_that_are_kept(learnable_folder, tmp_path):
    nb, done = fitted_default(learnable_folder, tmp_path / "kept", cv=4)
    rows = nb.fitted_.state.kept.rows()
    columns = {name: values.arrow() for name, values in rows.source.columns.items()}
    y = np.array(rows.target.labels, dtype=object)[rows.target.codes]
    scores = nv.cross_validate(columns, y, cv=4, **HOW)
    assert len(done.scores.truth) == DAYS * EACH
    assert done.scores.log_loss == pytest.approx(scores.log_loss, rel=1e-9)
    assert done.scores.accuracy == scores.accuracy
    assert done.textbook_scores is not None
    again = fitted_default(learnable_folder, tmp_path / "kept", cv=4)[1]
    assert again.read == ()
    assert again.scores.log_loss == done.scores.log_loss


def test_scores_of_a_sample_come_close(learnable_folder, tmp_path, keep):
    every = nv.cross_validate(LEARNABLE, target="label", cv=4, **HOW)
    keep(300)
    nb, done = fitted_default(learnable_folder, tmp_path / "kept", cv=4)
    assert not nb.kept_rows_.complete
    assert len(done.scores.truth) == nb.kept_rows_.rows <= 300
    assert done.scores.log_loss == pytest.approx(every.log_loss, rel=0.25)
    assert done.textbook_scores.accuracy == pytest.approx(every.accuracy, abs=0.1)


# -- what the folder holds ---------------------------------------------------------------------------------------------


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
def test_what_is_kept_is_not_mixed(first, then, words, learnable_folder, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LargestFitWarning)
        fitted_default(learnable_folder, tmp_path / "kept", **first)
    with pytest.raises(InvalidSetting, match=words):
        fitted_default(learnable_folder, tmp_path / "kept", **then)


def test_a_column_of_too_many_values_is_in_no_model(learnable_folder, tmp_path, monkeypatch):
    """No file alone has too many values, only all of them together: those that were counted are read again."""
    most = len({*LEARNABLE["zip"].to_pylist()} - {None})
    for module in (engine, fit_files):
        monkeypatch.setattr(module, "MOST_LABELS", most)
    nb, done = fitted_default(learnable_folder, tmp_path / "kept", families=None)
    again, second = fitted_default(learnable_folder, tmp_path / "kept", families=None)
    assert done.set_aside == second.set_aside == ("zip",)
    assert second.read == ()
    assert nb.schema_.hints[-1].startswith("'zip' has more than")
    near(nb, one_fit(LEARNABLE.drop(["zip"]), families=None))
    assert_array_equal(again.predict_proba(LEARNABLE), nb.predict_proba(LEARNABLE))


# -- the command line says what a file holds of the rows, and writes them if it is asked to ----------------------------

HALF = len(LEARNABLE) // 2
PARTS = {"a": LEARNABLE.slice(0, HALF), "b": LEARNABLE.slice(HALF), "both": LEARNABLE}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Return a folder with two files of rows whose labels come in another order, both together, and their models."""
    folder = tmp_path_factory.mktemp("models")
    for name, rows in PARTS.items():
        cases.write_csv(folder / f"{name}.csv", rows)
        fit(folder / f"{name}.csv", folder / f"{name}.parquet", "--keep-rows")
        fit(folder / f"{name}.csv", folder / f"{name}-bare.parquet")
    return folder


@pytest.fixture
def among_models(models, monkeypatch):
    """Run tests in that folder."""
    monkeypatch.chdir(models)


def fit(path, out, *options):
    """Fit a model by the command, and return what it says."""
    return good("fit", path, "-t", "label", "--family", "zip=categorical", "-o", out, "--cv", "0", *options)


def difference(one, other):
    return np.abs(nv.load(one).predict_proba(LEARNABLE) - nv.load(other).predict_proba(LEARNABLE)).max()


@pytest.mark.usefixtures("among_models")
@pytest.mark.parametrize(
    ("options", "words", "rows"),
    [
        ((), "no row", 0),
        (("--keep-rows",), f"all {HALF} rows, as they are", HALF),
        (("--no-keep-rows",), "no row", 0),
    ],
)
def test_fit_and_show_say_what_the_file_holds(options, words, rows):
    assert f"which holds {words}." in fit("a.csv", "out.parquet", *options)
    assert nv.load("out.parquet").kept_rows_.rows == rows
    assert f"The file holds {words}." in good("show", "out.parquet")
    for said in (told("show", "out.parquet"), told("fit", "a.csv", "-t", "label", "-o", "x.parquet", *options)):
        assert (said["kept_rows"], said["kept_rows_complete"]) == (rows, rows > 0)


@pytest.mark.usefixtures("among_models")
def test_merged_and_forgotten_files_go_on_exactly_with_or_without_their_rows():
    assert f"It holds all {len(LEARNABLE)} rows, as they are." in good(
        "merge", "a.parquet", "b.parquet", "-o", "m.parquet"
    )
    assert difference("m.parquet", "both.parquet") < 1e-9
    assert f"It holds all {HALF} rows, as they are." in good("forget", "m.parquet", "b.csv", "-o", "rest.parquet")
    assert difference("rest.parquet", "a.parquet") < 1e-9
    assert told("forget", "m.parquet", "b.csv", "-o", "rest.parquet")["kept_rows"] == HALF

    assert "It holds" not in good("merge", "a.parquet", "b.parquet", "-o", "out.parquet", "--no-keep-rows")
    assert_array_equal(nv.load("out.parquet").predict_proba(LEARNABLE), nv.load("m.parquet").predict_proba(LEARNABLE))
    good("forget", "m.parquet", "b.csv", "-o", "rest.parquet", "--no-keep-rows")
    assert difference("rest.parquet", "a.parquet") < 1e-9
    assert nv.load("out.parquet").kept_rows_.rows == nv.load("rest.parquet").kept_rows_.rows == 0


@pytest.mark.usefixtures("among_models")
def test_rows_that_are_not_there_are_refused():
    to, book = ("-o", "never.parquet", "--keep-rows"), ("fit", "a.csv", "-t", "label", "--model", "textbook")
    assert "b-bare.parquet holds no row" in bad(2, "merge", "a.parquet", "b-bare.parquet", *to)
    assert "--keep-rows: the model keeps no row" in bad(2, "forget", "b-bare.parquet", "b.csv", *to)
    assert "--keep-rows: the textbook model needs no row" in bad(2, *book, *to)
    assert "--keep-rows writes rows into the model file" in bad(2, "fit", "a.csv", "-t", "label", "--keep-rows")
    assert not Path("never.parquet").exists()


def test_counts_are_kept_by_file_with_the_default_model(tmp_path):
    days, out = tmp_path / "days", tmp_path / "m.parquet"
    days.mkdir()
    for day in range(3):
        cases.write_csv(days / f"{day}.csv", LEARNABLE.slice(EACH * day, EACH))
    how = ("fit", days, "-t", "label", "-o", out, "--keep-counts", tmp_path / "kept")
    said = told(*how, "--cv", "3", "--fade", "0.5")
    assert said["rows"] == pytest.approx(EACH * 1.75)
    assert 0 < said["scores"]["log_loss"] < said["textbook_scores"]["log_loss"] + 0.1
    assert nv.load(out).kept_rows_.rows == 0
    assert told(*how, "--keep-rows")["read"] == []
    assert nv.load(out).kept_rows_.rows == 3 * EACH
    said = bad(2, *how, "--no-keep-rows")
    assert "keeps counts with --keep-rows, and now --no-keep-rows. Use the same, or another folder." in said
    assert "--fade" in bad(2, *how, "--fade", "2")
    assert "--fade 0.5 needs --keep-counts" in bad(2, "fit", days, "-t", "label", "--fade", "0.5")
