"""Counts of single files are kept: only what is new or changed is read, and the result is always the same."""

from __future__ import annotations

import os

import pytest

import naively as nv
from naively.errors import InvalidInput, InvalidSetting

from . import file_cases as cases
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


# -- killed at any moment ----------------------------------------------------------------------------------------------
