"""Counts of single files are kept: only what is new or changed is read, and the result is always the same."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys

import pytest

import naively as nv
from naively.counting import files as engine
from naively.data import model_file as store
from naively.errors import InvalidInput, InvalidSetting
from naively.estimator import fit_files

from . import file_cases as cases
from .textbook import book

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


def test_only_new_files_are_read(folder, tmp_path):
    kept, moved = tmp_path / "kept", tmp_path / "day-5.csv"
    shutil.move(folder / "day-5.csv", moved)
    _, first = fitted(folder, kept)
    shutil.move(moved, folder / "day-5.csv")
    nb, second = fitted(folder, kept)
    _, third = fitted(folder, kept)

    assert names(first.read) == [f"day-{day}.csv" for day in range(5)]
    assert names(second.read) == ["day-5.csv"]
    assert names(second.cached) == [f"day-{day}.csv" for day in range(5)]
    assert third.read == ()
    assert (second.rows, third.rows) == (600, 600)
    assert second.missing == third.missing == sum(ROWS[n].null_count for n in ROWS.column_names)
    assert nb.counts_ == nv.count(ROWS.drop(["weight"]), target="label")
    assert nb.counts_.agrees(nv.count(folder, target="label", ignore=["weight"]))


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


def test_a_window_holds_the_newest_files(folder, tmp_path):
    nb, done = fitted(folder, tmp_path / "kept", window=2)
    assert names(done.read) == ["day-4.csv", "day-5.csv"]
    assert nb.counts_ == nv.count(ROWS.slice(400).drop(["weight"]), target="label")
    nb, done = fitted(folder, tmp_path / "kept", window=3)
    assert names(done.read) == ["day-3.csv"]
    assert nb.counts_.rows.sum() == 300
    assert fitted(folder, tmp_path / "kept", window=99)[1].rows == 600


def test_the_schema_is_that_of_the_first_run(folder, tmp_path):
    """A later file cannot change what a column is; what does not fit is refused as in a single file."""
    kept = tmp_path / "kept"
    nb, _ = fitted(folder, kept)
    text = (folder / "day-0.csv").read_text()
    (folder / "a-new.csv").write_text(text.splitlines()[0] + "\n" + ",,,word,,,,,,ham\n")
    with pytest.raises(InvalidInput, match=r"a-new\.csv, line 2: column 'size' holds 'word' here"):
        fitted(folder, kept)
    (folder / "a-new.csv").write_text(text.splitlines()[0] + "\n" + "x,yes,1,7,,,,,,ham\n")
    more, done = fitted(folder, kept)
    assert names(done.read) == ["a-new.csv"]
    assert more.schema_ == nb.schema_


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


def test_a_column_of_too_many_values_is_set_aside_wherever_they_are(folder, tmp_path, monkeypatch):
    """No file alone has too many values here, only all of them together."""
    each = max(len({*ROWS.slice(100 * day, 100)["zip"].to_pylist()} - {None}) for day in range(6))
    most = len({*ROWS["zip"].to_pylist()} - {None})
    assert each + 1 <= most
    monkeypatch.setattr(engine, "MOST_LABELS", most)
    monkeypatch.setattr(fit_files, "MOST_LABELS", most)
    nb, done = fitted(folder, tmp_path / "kept")

    assert done.set_aside == ("zip",)
    assert nb.counts_ == nv.count(ROWS.drop(["weight", "zip"]), target="label")
    assert nb.schema_.hints[-1].startswith("'zip' has more than")
    monkeypatch.setattr(engine, "MOST_LABELS", 10)
    fewer, done = fitted(folder, tmp_path / "fewer")
    assert done.set_aside == ("zip",)
    assert bits(fewer)[0] == bits(nb)[0]


def test_a_file_that_changes_while_it_is_read_is_not_kept(folder, tmp_path):
    def meddle(rows, done, of):
        with (folder / "day-0.csv").open("a") as file:
            file.write("x,yes,1,7,,,,,1,ham\n")

    with pytest.raises(InvalidInput, match=r"day-0\.csv changed while it was read"):
        fitted(folder, tmp_path / "kept", progress=meddle)
    assert not list((tmp_path / "kept").glob("*.parquet"))


# -- killed at any moment ----------------------------------------------------------------------------------------------

# The process dies at the n-th file that it puts in its place, just before or just after.
PROGRAM = """
import os, signal, sys
from pathlib import Path
import naively as nv
replace, moment, seen = Path.replace, sys.argv[3], 0
def dies(made, path):
    global seen
    seen += path.suffix == ".parquet"
    if (seen, moment) == (3, "before"):
        os.kill(os.getpid(), signal.SIGKILL)
    replace(made, path)
    if (seen, moment) == (3, "after"):
        os.kill(os.getpid(), signal.SIGKILL)
Path.replace = dies
nv.fit_files(nv.NaiveBayes(model='textbook'), sys.argv[1], "label", keep_counts=sys.argv[2], ignore=['weight'])
"""


@pytest.mark.skipif(os.name != "posix", reason="needs a signal that cannot be caught")
@pytest.mark.parametrize(("moment", "whole"), [("before", 2), ("after", 3)])
def test_killing_the_process_loses_nothing(moment, whole, folder, tmp_path):
    """What is kept is whole, and going on reads the other files alone and ends as if nobody had disturbed."""
    kept = tmp_path / "kept"
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(folder / "*.csv"), str(kept), moment])
    assert done.returncode == -signal.SIGKILL
    files = [*kept.glob("*.parquet")]
    assert [store.read_counts(path)[0].rows.sum() for path in files] == [100] * whole
    nb, done = fitted(folder, kept)
    assert names(done.read) == [f"day-{day}.csv" for day in range(whole, 6)]
    assert bits(nb) == bits(fitted(folder, tmp_path / "undisturbed")[0])
