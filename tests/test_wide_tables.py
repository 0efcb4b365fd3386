"""Wide tables and files: columns that predict are used, noise stays noise, and costs grow with the columns alone."""

from __future__ import annotations

import gzip
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import log_loss

import naively as nv
from naively.errors import UnreadableRows
from naively.files import delimited
from naively.files.dialect import HEAD
from naively.model.default.likelihoods import REST
from naively.model.recipe import RECIPE

from .tables import instructions

pytestmark = pytest.mark.thorough

NEW = 500


def numbers(rows, columns, seed, kind="five"):
    """Return numbers with few columns that tell two classes, and as many rows again as are asked about."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows + NEW, columns))
    y = rng.integers(0, 2, rows + NEW)
    if kind == "five":
        y = (X[:, :5].sum(axis=1) > 0).astype(int)
    elif kind == "wider":  # the classes differ in spread alone
        X[:, :5] *= np.where(y, 2.5, 1.0)[:, None]
    elif kind == "alike":  # ten columns repeat each of five
        X[:, :50] = 0.9 * np.repeat(X[:, :5], 10, axis=1) + 0.44 * X[:, :50]
        y = (X[:, :50].sum(axis=1) > 0).astype(int)
    elif kind == "many weak":
        X[:, : columns // 4] += 0.25 * y[:, None]
    elif kind == "four classes":
        y = rng.integers(0, 4, rows + NEW)
        X[:, :10] += (1.2 * rng.normal(size=(4, 10)))[y]
    return X[:rows], y[:rows], X[rows:], y[rows:]


def labels(rows, columns, seed):
    """Return columns of four labels as strings, the first three of which often follow the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows + NEW)
    X = rng.integers(0, 4, (rows + NEW, columns))
    for at in range(3):
        X[:, at] = np.where(rng.random(rows + NEW) < 0.6, y, X[:, at])
    X = pd.DataFrame(X.astype(str)).add_prefix("w")
    return X[:rows], y[:rows], X[rows:], y[rows:]


@pytest.fixture(scope="module", autouse=True)
def narrow():
    """Let columns be screened as if they were a thousand: where they are more than sixty, thirty are kept."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nv.NaiveBayes, "_recipe", replace(RECIPE, most_features=60))
        yield


def scored(nb, X, y):
    p = nb.predict_proba(X)
    return (nb.classes_[p.argmax(axis=1)] == y).mean(), log_loss(y, p, labels=nb.classes_)


def entropy(y):
    p = np.bincount(y) / len(y)
    return float(-(p * np.log(p)).sum())


def used(nb):
    return nb.tuning_.learned.joint.grid.names


# Of each: rows, columns, and which accuracy is reached on rows never shown.
SHAPES = {
    "five": (300, 600, 0.9),
    "wider": (300, 600, 0.8),
    "alike": (300, 600, 0.9),
    "many weak": (300, 800, 0.8),
    "four classes": (300, 600, 0.9),
}


@pytest.mark.parametrize("kind", SHAPES)
def test_few_columns_that_tell_are_found_among_many(kind):
    rows, columns, right = SHAPES[kind]
    X, y, asked, truth = numbers(rows, columns, 1, kind)
    nb = nv.NaiveBayes().fit(X, y)
    accuracy, loss = scored(nb, asked, truth)
    assert accuracy > right
    assert loss < 0.75 * entropy(truth)
    assert len(used(nb)) == 30


NOISE = {"300 × 500": (300, 500, 4), "200 × 2,000": (200, 2000, 2)}
MUCH_NOISE = {"300 × 5,000": (300, 5000, 4), "200 × 20,000": (200, 20_000, 3)}


@pytest.mark.parametrize("name", [*NOISE, *(pytest.param(n, marks=pytest.mark.slow) for n in MUCH_NOISE)])
def test_noise_stays_noise_and_the_model_knows_it(name):
    rows, columns, seeds = (NOISE | MUCH_NOISE)[name]
    found, said = [], []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(rows, columns)), rng.integers(0, 2, rows)
        nb = nv.NaiveBayes().fit(X, y)
        asked, truth = rng.normal(size=(NEW, columns)), rng.integers(0, 2, NEW)
        found.append(scored(nb, asked, truth)[1])
        said.append(nb.tuning_.loss_after)
    assert abs(np.mean(found) - np.log(2)) < 0.03
    assert abs(np.mean(said) - np.mean(found)) < 0.04


@pytest.mark.parametrize("kind", ["five", "many weak"])
def test_what_the_model_expects_of_itself_is_what_it_finds(kind):
    said, found = [], []
    for seed in range(4):
        X, y, asked, truth = numbers(300, 300, seed, kind)
        nb = nv.NaiveBayes().fit(X, y)
        said.append(nb.tuning_.loss_after)
        found.append(scored(nb, asked, truth)[1])
    assert np.mean(said) > np.mean(found) - 0.05


def test_folds_choose_their_columns_anew():
    """With columns chosen on all rows, random labels would look as if they were predicted."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(120, 800)), rng.integers(0, 2, 120)
    assert abs(nv.cross_validate(X, y, cv=5).log_loss - np.log(2)) < 0.06
    best = np.abs(np.corrcoef(X.T, y)[-1, :-1]).argsort()[-60:]  # what a leak would do
    assert nv.cross_validate(X[:, best], y, cv=5).log_loss < 0.55


# -- what stays --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wide(request):
    X, y, asked, truth = numbers(300, 200, 2, request.param)
    frames = [pd.DataFrame(part).add_prefix("n") for part in (X, asked[:100])]
    return nv.NaiveBayes().fit(frames[0], y), frames[0], y, frames[1], truth[:100]


each_wide = pytest.mark.parametrize("wide", ["five", "many weak"], indirect=True)


@each_wide
def test_columns_that_are_not_used_are_reported(wide):
    nb = wide[0]
    shared = bool(nb.tuning_.learned.weights.get(REST))
    end = "share one weight." if shared else "are not used."
    assert f"{200 - len(used(nb))} of 200 columns tell less of the class on their own and {end}" in nb.summary()
    assert ("all other columns" in nb.summary()) == shared


@each_wide
def test_contributions_add_up_and_unused_columns_have_none(wide):
    nb, _, _, asked, _ = wide
    evidence = nb.explain(asked[:20])
    assert np.allclose(evidence.log_joint, nb.predict_joint_log_proba(asked[:20]), atol=1e-9)
    none = [name not in used(nb) for name in nb.schema_.names]
    own = evidence.scores[:, : len(none)][:, none]
    assert own.shape[1] == 200 - len(used(nb))
    assert (own == 0).all() == (not nb.tuning_.learned.weights.get(REST))


# -- files of very many columns ----------------------------------------------------------------------------------------


def written(path, rows, columns, seed=0, names=None):
    """Write whole numbers and a label at the end of each row."""
    table = np.random.default_rng(seed).integers(0, 1000, (rows, columns))
    names = names or [f"c{at}" for at in range(columns)]
    with path.open("w", encoding="utf-8") as file:
        file.write(",".join([*names, "label"]) + "\n")
        for at, line in enumerate(table.tolist()):
            file.write(",".join(map(str, line)) + f",{'ab'[at % 2]}\n")
    return table


@pytest.mark.parametrize("packed", [False, True])
def test_a_wide_file_holds_what_the_same_table_in_memory_holds(tmp_path, packed):
    table = written(tmp_path / "t.csv", 40, 1500)
    path = tmp_path / "t.csv"
    if packed:
        path = tmp_path / "t.csv.gz"
        path.write_bytes(gzip.compress((tmp_path / "t.csv").read_bytes()))
    memory = {f"c{at}": table[:, at] for at in range(1500)}
    labels = ["ab"[at % 2] for at in range(40)]

    assert nv.count(path, target="label") == nv.count(memory, labels)


ODD = 'one,"two, three","""four""",,five\n1,"a, b","say ""x""",NA,\n2,"two\nlines",天气,?,-\n3,"",\' \',NULL,2.5\n'


def test_cells_are_the_same_whoever_reads_them(tmp_path, monkeypatch):
    """Quotes, cells of several lines, empty cells, a column without a name, texts for no value."""
    path = tmp_path / "t.csv"
    path.write_text(ODD, encoding="utf-8")
    narrow = next(nv.File(path).batches()).to_pydict()
    monkeypatch.setattr(delimited, "WIDE", 2)
    wide = next(nv.File(path).batches())

    assert wide.to_pydict() == narrow
    assert wide.column_names == ["one", "two, three", '"four"', "column 4", "five"]
    assert wide["five"].to_pylist() == [None, None, 2.5]
    assert next(nv.File(path, limit=2).batches()).num_rows == 2


REFUSED = {
    "too few cells": ("a,b,c\n" + "1,2,x\n" * 20 + "3,y\n", r"line 22: 2 cells, but the header names 3 columns\. Mend"),
    "a quote in a cell": ('a,b,c\n5" pipe,"x,y"\n', "line 2: 2 cells, but the header names 3 columns"),
    "an open quote": ('a,b,c\n1,2,3\n1,"x,3\n' + "4,5,6\n" * 5, "line 3: a quote that is opened here is never closed"),
    "an open quote at the end": ('a,b,c\n1,2,3\n1,"x,3\n', "line 3: a quote that is opened here is never closed"),
    "latin-1 unsaid": ("a,b,c\n1,Grüße,x\n", "not UTF-8"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_read_is_refused_in_wide_files_too(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(delimited, "WIDE", 2)
    text, words = REFUSED[kind]
    (tmp_path / "t.csv").write_text(text, encoding="latin-1")
    with pytest.raises(UnreadableRows, match=words):
        nv.count(tmp_path / "t.csv", target="c")


def test_a_wide_file_in_another_encoding_is_rewritten_once(tmp_path, monkeypatch):
    copied, once = [], delimited.rewritten
    monkeypatch.setattr(delimited, "WIDE", 2)
    monkeypatch.setattr(delimited, "rewritten", lambda *given: copied.append(given) or once(*given))
    (tmp_path / "t.csv").write_text("a,b,y\n1,é,u\n2,à,v\n", encoding="latin-1")
    file = nv.File(tmp_path / "t.csv", encoding="latin-1")
    for _ in range(3):
        assert pa.concat_tables(file.batches()).to_pydict()["b"] == ["é", "à"]
    assert len(copied) == 1


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_wide_file_with_a_header_alone_has_no_rows(tmp_path, monkeypatch, end):
    monkeypatch.setattr(delimited, "WIDE", 2)
    (tmp_path / "t.csv").write_text(f"a,b,c{end}")
    file = nv.File(tmp_path / "t.csv")
    assert list(file.batches()) == []
    assert file.columns() == ("a", "b", "c")


def test_names_may_be_longer_than_the_head_that_is_looked_at(tmp_path):
    names = [f"{'a_long_name_of_a_column_':<60}{at}".replace(" ", "_") for at in range(1 + HEAD // 50)]
    table = written(tmp_path / "t.csv", 3, len(names), names=names)
    file = nv.File(tmp_path / "t.csv")

    assert file.columns() == (*names, "label")
    assert_array_equal(next(file.batches())[names[-1]].to_pylist(), table[:, -1])


def counted(kind, columns, path):
    """Return the instructions that counting a table of two classes takes, of this kind and of so many columns."""
    X, y = pd.DataFrame(np.random.default_rng(0).normal(size=(20, columns))).add_prefix("n"), np.arange(20) % 2
    if kind == "frame":
        return instructions(lambda: nv.count(X, y))
    write = {"csv": pd.DataFrame.to_csv, "parquet": pd.DataFrame.to_parquet}[kind]
    write(X.assign(label=y), path, index=False)
    return instructions(lambda: nv.count(path, target="label"))


@pytest.mark.parametrize("kind", ["frame", "csv", "parquet"])
def test_the_work_of_counting_is_proportional_to_the_columns(kind, tmp_path):
    """Were names listed again for every column, it would grow by the square of their number."""
    few, many = (counted(kind, columns, tmp_path / f"{columns}.{kind}") for columns in (100, 400))
    assert many < 4.4 * few
