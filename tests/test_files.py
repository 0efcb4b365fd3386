"""Files are counted as tables in memory are: the same rows, the same counts, whatever the format."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import naively as nv
from naively.counting import files as engine
from naively.data.target import arrow_target
from naively.errors import InvalidSetting
from naively.estimator import cross_validation
from naively.files import columns as columns
from naively.files import file as read
from naively.judge.stratified_folds import StratifiedFolds

from . import file_cases as cases
from .tables import book

ROWS = cases.table()
FEATURES = [name for name in ROWS.column_names if name not in ("label", "weight")]


@pytest.fixture(params=cases.ENGINES)
def source(request, tmp_path):
    """Return the same rows in memory and in files of all formats."""
    return cases.ENGINES[request.param](tmp_path, ROWS)


def counted(source, **how):
    """Return the counts of the rows without their weights."""
    if isinstance(source, pa.Table):
        weights = ROWS["weight"].to_numpy() if how.pop("weight", None) else None
        return nv.count(ROWS.drop(["weight"]), target="label", sample_weight=weights, **how)
    return nv.count(source, target="label", ignore=() if how.get("weight") else ["weight"], **how)


# Whatever reads the rows gives the same table; what comes after it is asked of one format of each reader by day.
FEW = {"memory", "CSV", "Parquet", "JSON lines", "DuckDB table"}
each_reader = pytest.mark.parametrize(
    "source",
    [name if name in FEW else pytest.param(name, marks=pytest.mark.slow) for name in cases.ENGINES],
    indirect=True,
)

# -- one truth over all engines ------------------------------------------------------------------------------------


def test_every_engine_counts_the_same(source):
    """All values are exact in binary, so that sums are equal to the last bit."""
    whole = nv.count(ROWS.drop(["weight"]), target="label")
    found = counted(source)

    assert found == whole
    assert found.schema == whole.schema


def test_blocks_are_the_same_however_the_reader_cuts(tmp_path, monkeypatch):
    """Tables of exactly so many rows come out, whatever the batches of the reader."""
    path = cases.write_csv(tmp_path / "t.csv", ROWS)
    sizes = [len(part) for part in nv.File(path).batches(rows=150)]
    pieces = [ROWS.slice(begin, size) for begin, size in ((0, 7), (7, 290), (297, 3), (300, 100))]

    assert sizes == [150, 150, 100]
    assert [len(t) for t in read.rebatched([b for p in pieces for b in p.to_batches()], 150)] == [150, 150, 100]
    assert pa.concat_tables(read.rebatched([b for p in pieces for b in p.to_batches()], 150)).equals(ROWS)


# -- which files -----------------------------------------------------------------------------------------------------


def test_globs_lists_and_folders_are_the_files_they_mean(tmp_path):
    folder = cases.write_parts(tmp_path / "parts", ROWS)
    (folder / "_SUCCESS").write_text("")
    paths = tuple(str(folder / f"part-{at}.csv") for at in range(4))

    assert nv.File(folder).paths == paths
    assert nv.File(str(folder / "part-*.csv")).paths == paths
    assert nv.File(list(paths)).paths == paths
    assert nv.count([folder / "part-1.csv", folder / "part-0.csv"], target="label", ignore=["weight"]).rows.sum() == 200


def test_names_of_folders_are_columns(tmp_path):
    """As Hive, Spark and DuckDB lay out files."""
    for year in (2023, 2024):
        part = tmp_path / "data" / f"year={year}" / "t.parquet"
        part.parent.mkdir(parents=True)
        cases.write_parquet(part, ROWS.slice(0, 100 * (year - 2022)))
    counts = nv.count(tmp_path / "data", target="label", ignore=["weight"])
    numbers = nv.File(tmp_path / "data", types={"year": "whole"})

    assert numbers.columns()[-1] == "year"
    assert counts.columns["year"].values.labels == ("2023", "2024")
    assert counts.columns["year"].n.sum(axis=0).tolist() == [100, 200]
    assert nv.count(numbers, target="label").columns["year"].mean[0, 0] > 2023.5


def test_what_is_piped_in_is_read(tmp_path, monkeypatch):
    data = cases.gzipped(cases.write_csv(tmp_path / "t.csv", ROWS)).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    file = nv.File("-")

    assert nv.count(file, target="label") == nv.count(ROWS, target="label")
    assert file.paths == ("-",)


# -- what columns are ------------------------------------------------------------------------------------------------


def types_of(path, **how):
    return {column.name: column.type for column in nv.File(path, **how).schema()}


def test_types_follow_from_how_cells_are_written(tmp_path):
    """Words stay words, numbers that begin with a zero are names, and signs for no value contribute nothing."""
    path = tmp_path / "t.csv"
    path.write_text(
        "whole,number,exponent,zip,flag,yes,day,at,zone,odd,nothing\n"
        "1,1.5,1e3,00123,true,yes,2024-02-29,2024-02-29 12:30:00,2024-02-29T12:30:00Z,1,\n"
        "-20,.5,2E-3,12345,FALSE,no,2024-03-01,2024-03-01 00:00,2024-03-01 00:00:00+02:00,x,NA\n"
        "NA,?,NaN,N/A,null,,NA,?,NA,2,?\n"
    )
    assert types_of(path) == {
        "whole": "whole",
        "number": "number",
        "exponent": "number",
        "zip": "text",
        "flag": "boolean",
        "yes": "text",
        "day": "time",
        "at": "time",
        "zone": "time",
        "odd": "text",
        "nothing": "text",
    }
    assert types_of(path, null=[""])["whole"] == "text"


def test_a_model_reads_files_by_what_it_learned(tmp_path):
    """Numbers in a Parquet file are texts to a model that learned texts, and only its columns are read."""
    path = tmp_path / "t.csv"
    path.write_text("zip,y\n10,a\n7,b\n")
    nb = book(families={"zip": "categorical"}).fit(path, target="y")
    new = cases.write_parquet(tmp_path / "new.parquet", pa.table({"other": [[1], [2]], "zip": [7, 10]}))

    assert nb.predict(new).tolist() == ["b", "a"]


# -- identifiers -----------------------------------------------------------------------------------------------------


@each_reader
def test_a_column_with_too_many_values_is_set_aside_and_named(source, monkeypatch):
    """Whether the limit is passed in the first block or a later one, and in every fold."""
    if isinstance(source, pa.Table):
        pytest.skip("tables in memory keep all their columns")
    monkeypatch.setattr(engine, "MOST_LABELS", 20)
    nb = book()
    done = nv.fit_files(nb, source, "label", ignore=["weight"], cv=3)
    kept = ROWS.drop(["weight", "zip"])

    assert done.set_aside == ("zip",)
    assert nb.counts_ == nv.count(kept, target="label")
    assert "'zip' has more than 20 different values" in nb.schema_.hints[-1]
    asked = book(families={"zip": "categorical"})
    assert nv.fit_files(asked, source, "label", ignore=["weight"]).set_aside == ()
    assert "zip" in asked.counts_.columns


# -- folds -----------------------------------------------------------------------------------------------------------


def test_scores_of_folds_are_those_of_models_without_the_fold(tmp_path, monkeypatch):
    """The same as fitting anew without each fold, and the model is that of all rows."""
    path = cases.write_parquet(tmp_path / "t.parquet", ROWS)
    nb = book()
    done = nv.fit_files(nb, path, "label", ignore=["weight"], cv=4)
    rows = ROWS.drop(["weight"])
    labels = arrow_target(rows["label"])
    fold = StratifiedFolds(4, 0).assign(labels.labels, labels.codes)
    expected = np.zeros((400, 3))
    for at in range(4):
        rest = book().fit(rows.filter(pa.array(fold != at)), target="label")
        expected[fold == at] = rest.predict_proba(rows.filter(pa.array(fold == at)))

    assert nb.counts_ == nv.count(rows, target="label")
    assert_allclose(done.scores.posterior, expected, rtol=1e-9)
    assert np.ptp(np.bincount(fold)) <= 2
    assert done.rows == 400
    assert done.missing == sum(rows[name].null_count for name in FEATURES)


def test_folds_of_many_rows_score_some_of_them(tmp_path, monkeypatch, keep):
    path = cases.write_parquet(tmp_path / "t.parquet", ROWS)
    monkeypatch.setattr(cross_validation, "SCORED", 300)
    keep(50)
    done = nv.fit_files(book(), path, "label", cv=2)

    assert 60 < len(done.scores.truth) < 140
    assert done.rows == 400


def test_progress_tells_rows_and_bytes(tmp_path, keep):
    """Where the rows are few, all is known after the first pass, and that is said."""
    folder = cases.write_parts(tmp_path / "parts", ROWS)
    told, few = [], []
    nv.fit_files(book(), folder, "label", cv=2, progress=lambda *facts: few.append(facts))
    keep(50)
    nv.fit_files(book(), folder, "label", cv=2, progress=lambda *facts: told.append(facts))
    size = sum(path.stat().st_size for path in folder.iterdir())

    assert [rows for rows, _, _ in told] == [100, 200, 300, 400] * 2
    assert {of for _, _, of in told} == {2 * size}
    assert [rows for rows, _, _ in few] == [100, 200, 300, 400, 400]
    assert few[-1] == (400, size, size)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert told[-1][1] <= 2 * size
    assert told[-1][1] > 1.8 * size


# -- memory ----------------------------------------------------------------------------------------------------------

# The peak is read from /proc: the ru_maxrss of a child begins with the memory of the process that started it.
PROGRAM = """
import sys
import naively as nv
counts = nv.count(sys.argv[1], target="y")
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(int(counts.rows.sum()), peak)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak of a process is read from /proc")
def test_memory_does_not_grow_with_the_file(tmp_path):
    """Four times the rows take hardly more memory."""
    peaks = []
    for copies in (2, 8):
        path = tmp_path / f"{copies}.csv"
        text = "".join(f"{i % 97}.25,word{i % 1013},{'ab'[i % 2]}\n" for i in range(500_000))
        path.write_text("x,s,y\n" + text * copies)
        done = subprocess.run([sys.executable, "-c", PROGRAM, str(path)], capture_output=True, text=True, check=True)
        rows, peak = map(int, done.stdout.split())
        assert rows == 500_000 * copies
        peaks.append(peak)
    assert peaks[1] < 1.35 * peaks[0]


# -- one path ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [["no", "yes", "maybe"], ("no", "yes", "maybe"), np.array(["no", "yes", "maybe"])])
def test_fit_and_fit_files_are_one_path(classes, tmp_path):
    """The same classes, in whichever way they are listed, the same model to the bit, the same checks."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"a": rng.normal(size=80), "b": rng.choice(list("xyz"), 80), "y": rng.choice(["no", "yes"], 80)}
    )
    table.to_csv(tmp_path / "t.csv", index=False)
    fitted = nv.NaiveBayes(classes=classes).fit(tmp_path / "t.csv", target="y")
    told, scored, kept = (nv.NaiveBayes(classes=classes) for _ in range(3))
    done = nv.fit_files(told, tmp_path / "t.csv", "y")
    nv.fit_files(scored, tmp_path / "t.csv", "y", cv=3)
    nv.fit_files(kept, tmp_path / "t.csv", "y", keep_counts=tmp_path / "kept")
    assert (done.rows, done.scores, done.read) == (80, None, (str(tmp_path / "t.csv"),))
    for nb in (told, scored):
        assert nb.classes_.tolist() == ["maybe", "no", "yes"]
        assert nb.predict_proba(table).tobytes() == fitted.predict_proba(table).tobytes()
        assert nb.summary() == fitted.summary()
    assert kept.classes_.tolist() == ["maybe", "no", "yes"]
    for refused in (
        lambda nb: nb.fit(tmp_path / "t.csv", target="y"),
        lambda nb: nv.fit_files(nb, tmp_path / "t.csv", "y"),
    ):
        with pytest.raises(InvalidSetting, match="takes a table in memory"):
            refused(nv.NaiveBayes(unlabelled="em", estimate="map"))


@each_reader
def test_every_engine_fits_the_same_model(source):
    nb, there = book(families={"visits": "poisson"}), book(families={"visits": "poisson"})
    there.fit(ROWS.drop(["weight"]), target="label")
    if isinstance(source, pa.Table):
        nb.fit(source.drop(["weight"]), target="label")
    else:
        nv.fit_files(nb, source, "label", ignore=["weight"])

    assert nb.counts_ == there.counts_
    assert nb.schema_ == there.schema_
    assert nb.schema_.hints == there.schema_.hints
    assert_array_equal(nb.classes_, there.classes_)
    assert_allclose(nb.predict_proba(source), there.predict_proba(ROWS), rtol=1e-12)
    assert_array_equal(nb.predict(source), there.predict(ROWS))
    assert_allclose(nb.score_samples(source), there.score_samples(ROWS), rtol=1e-12)


SCORED_FIT = """
import sys
import naively as nv
nb = nv.NaiveBayes(n_jobs=2)  # each thread that reads has a buffer
done = nv.fit_files(nb, sys.argv[1], "y", cv=5)
done.scores.to_dict(), done.textbook_scores.to_dict()
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(done.rows, len(done.scores.truth), peak, nb.fitted_.weights is not None)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak of a process is read from /proc")
def test_a_scored_fit_of_many_rows_takes_bounded_memory(tmp_path):
    """With the scores of all rows of this file, and of its folds apart, it took 1.2 GiB."""
    path, some = tmp_path / "t.csv", 100_000
    text = "".join(f"c{i * 7919 % 2000},{i * 31 % 997 / 8},{'abc'[i * 13 % 101 % 3]}\n" for i in range(some))
    path.write_text("city,x,y\n" + text * 20)
    done = subprocess.run([sys.executable, "-c", SCORED_FIT, str(path)], capture_output=True, text=True, check=True)
    rows, scored, peak, joint = done.stdout.split()

    assert (int(rows), joint) == (20 * some, "True")
    assert 100_000 < int(scored) <= cross_validation.SCORED
    assert int(peak) < 512 * 1024


MEASURED = """
import sys
import naively as nv
counts = nv.count(sys.argv[1], target="label")
with open("/proc/self/status") as status:  # of this program alone: getrusage would count the parent's memory, too
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
print(len(counts.columns), counts.rows.sum(), peak / 2**10)
"""


def written(path, rows, columns, seed=0, names=None):
    """Write whole numbers and a label at the end of each row."""
    table = np.random.default_rng(seed).integers(0, 1000, (rows, columns))
    names = names or [f"c{at}" for at in range(columns)]
    with path.open("w", encoding="utf-8") as file:
        file.write(",".join([*names, "label"]) + "\n")
        for at, line in enumerate(table.tolist()):
            file.write(",".join(map(str, line)) + f",{'ab'[at % 2]}\n")
    return table


def measured(path):
    """Return the columns and rows that a process of its own counts, and its megabytes."""
    env = {**os.environ, "OMP_NUM_THREADS": "1", "NAIVELY_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(path)], capture_output=True, text=True, env=env, check=True
    )
    columns, rows, megabytes = map(float, done.stdout.split())
    return int(columns), int(rows), megabytes


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc to measure the memory of a process")
def test_three_thousand_columns_take_little_memory(tmp_path):
    """60 rows of 3,000 numbers are 700 KB; twice the 300 MB that they take are let through."""
    written(tmp_path / "t.csv", 60, 3000)
    columns, rows, megabytes = measured(tmp_path / "t.csv")
    assert (columns, rows) == (3000, 60)
    assert megabytes < 600
