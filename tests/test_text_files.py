"""Texts in files: read in blocks by their bytes, gone over no more often than needed, and answered as in memory."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import naively as nv
from naively.counting import files as engine
from naively.data import values
from naively.files import file

ROWS = 2_000


@pytest.fixture(scope="module")
def letters():
    """Return a table of letters: some words, mostly of their class, and long ones among short ones."""
    random = np.random.default_rng(0)
    y = random.integers(3, size=ROWS)
    common, own = np.array(["the", "of", "and", "to", "it"]), np.array([f"word{at}" for at in range(90)])
    texts = []
    for label, length in zip(y, random.integers(5, 60, size=ROWS), strict=True):
        words = own[random.integers(30, size=length // 3) + 30 * label]
        texts.append(" ".join([*random.choice(common, length), *words]))
    texts[17], texts[1400] = None, 'spam, "ham"\nand eggs'
    return pa.table({"label": np.array(["a", "b", "c"])[y], "body": texts})


@pytest.fixture(scope="module", params=["csv", "csv.gz", "parquet", "json", "duckdb"])
def path(request, letters, tmp_path_factory):
    path = tmp_path_factory.mktemp("letters") / f"letters.{request.param}"
    if request.param == "parquet":
        pq.write_table(letters, path, row_group_size=800)
    elif request.param == "json":
        letters.to_pandas().to_json(path, orient="records", lines=True, force_ascii=False)
    elif request.param == "duckdb":
        import duckdb

        with duckdb.connect(str(path)) as con:
            con.execute("create table letters as select * from letters")
    else:
        letters.to_pandas().to_csv(path, index=False)
    return path


def blocks_of(path, **how):
    source = nv.File(path, **how)
    schema = source.schema({"body": "words"}, ["label"])
    return list(source.blocks([0], schema, ["label"]))


def test_blocks_of_long_texts_have_fewer_rows(path, letters, monkeypatch):
    whole = blocks_of(path)
    assert [block.table.num_rows for block in whole] == [ROWS]
    monkeypatch.setattr(file, "PIECE", 100)
    monkeypatch.setattr(file, "BYTES", 30_000)
    parts = blocks_of(path)
    assert len(parts) > 5
    for part in parts[:-1]:
        held = [len(text.encode()) if text else 0 for text in part.table.column("body").to_pylist()]
        assert sum(held) >= 30_000 > sum(held[:-100])
        assert part.table.num_rows % 100 == 0
    assert [part.begin for part in parts] == np.cumsum([0, *(p.table.num_rows for p in parts[:-1])]).tolist()
    assert pa.concat_tables(part.table for part in parts).column("body").to_pylist() == letters["body"].to_pylist()
    assert [part.table.num_rows for part in blocks_of(path, limit=250)][-1:] != [0]
    assert sum(part.table.num_rows for part in blocks_of(path, limit=250)) == 250


@pytest.mark.pairwise
@pytest.mark.parametrize("how", [{"ngram_range": (1, 2)}, {"hash_width": 1 << 10}])
@pytest.mark.parametrize("model", ["textbook", "auto"])
def test_where_blocks_end_does_not_matter(path, model, how, letters, monkeypatch):
    def fitted(source):
        nb = nv.NaiveBayes(model=model, families={"body": nv.Words(**how)})
        return nb.fit(source, target="label")

    kept = letters.filter(pa.compute.is_valid(letters["body"]))
    whole = fitted(str(path))
    monkeypatch.setattr(file, "PIECE", 128)
    monkeypatch.setattr(file, "BYTES", 20_000)
    parts = fitted(str(path))
    assert parts.counts_ == whole.counts_ == fitted(letters).counts_
    np.testing.assert_array_equal(*(nb.predict_proba({"body": kept["body"]}) for nb in (parts, whole)))
    np.testing.assert_array_equal(parts.predict_proba(str(path)), whole.predict_proba(letters.select(["body"])))


def test_only_texts_are_gone_over_once(path, letters, monkeypatch, keep):
    read = []
    monkeypatch.setattr(engine.FileRows, "report_progress", lambda self, part: read.append(part.frame.names))
    nb = nv.NaiveBayes(families={"body": "words"})
    done = nv.fit_files(nb, path, "label")
    assert (done.passes, len(read)) == (1, 1)
    assert nb.tuning_.learned is not None  # the words were weighed all the same
    memory = nv.NaiveBayes(families={"body": "words"}).fit(letters, target="label")
    assert nb.counts_ == memory.counts_
    assert nb.tuning_.learned.to_json() == memory.tuning_.learned.to_json()
    few = nv.fit_files(nv.NaiveBayes(families={"body": "words"}), path, "label", cv=3)
    assert (few.passes, len(read)) == (1, 2)  # all rows were kept
    keep(100)
    many = nv.fit_files(nv.NaiveBayes(families={"body": "words"}), path, "label", cv=3)
    assert (many.passes, len(read)) == (2, 4)
    assert min(few.scores.accuracy, many.scores.accuracy) > 0.9


def test_a_column_of_many_bytes_stays_whole(monkeypatch):
    """Arrow puts no more than 2 GiB of short texts into one array; such a column is read as long texts."""
    monkeypatch.setattr(values, "LONGEST", 20)
    column = values.ColumnValues("body", pa.chunked_array([["some words"], ["and others"], ["in chunks"]]))
    found = column.arrow(0, 3)
    assert found.type == pa.large_string()
    assert found.to_pylist() == ["some words", "and others", "in chunks"]
