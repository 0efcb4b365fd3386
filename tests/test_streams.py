"""Rows that come as a stream are counted, fitted, predicted and explained as the same rows in memory."""

import gc
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import naively as nv
from naively import _progress
from naively.errors import InvalidInput
from naively.files import streams

from .file_cases import STREAMS

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:dask", "ignore::FutureWarning:dask")


def table(rows: int = 400, seed: int = 3) -> pa.Table:
    """Return a small table with texts, numbers, whole numbers, booleans, missing values and classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=rows)
    size = np.where(rng.random(rows) < 0.1, np.nan, rng.normal(size=rows) + y)
    return pa.table(
        {
            "colour": pa.array([None if k == 5 else "rgbyk"[k] for k in rng.integers(6, size=rows)]),
            "size": pa.array(size, from_pandas=True),
            "visits": pa.array(rng.poisson(2 + y)),
            "member": pa.array(rng.random(rows) < 0.3),
            "label": pa.array([("ham", "spam", "junk")[k] for k in y]),
        }
    )


TABLE = table()


@pytest.fixture(scope="module")
def models():
    """Return the models of the table, by their kind."""
    return {kind: nv.NaiveBayes(model=kind).fit(TABLE, target="label") for kind in ("auto", "textbook")}


@pytest.fixture(scope="module")
def of_table(models):
    """Return the default model of the table."""
    return models["auto"]


@pytest.fixture(scope="module")
def table_scores():
    """Return the scores of the table by cross-validation."""
    return nv.cross_validate(TABLE, target="label", cv=2, model="textbook")


@pytest.fixture(params=STREAMS, ids=str)
def stream(request):
    """Return what makes the table as a stream, one after the other."""
    return lambda: STREAMS[request.param](TABLE)


def test_a_stream_is_counted_as_its_table(stream):
    assert nv.count(stream(), target="label") == nv.count(TABLE, target="label")


@pytest.mark.parametrize("model", ["auto", "textbook"])
def test_a_stream_gives_the_model_of_its_table(model, stream, models):
    found, known = nv.NaiveBayes(model=model).fit(stream(), target="label"), models[model]
    assert np.array_equal(found.predict_proba(TABLE), known.predict_proba(TABLE))
    assert found.counts_ == known.counts_


def test_rows_of_a_stream_get_the_answers_of_the_table(stream, of_table):
    assert np.array_equal(of_table.predict(stream()), of_table.predict(TABLE))
    assert np.array_equal(of_table.predict_proba(stream()), of_table.predict_proba(TABLE))
    assert np.array_equal(of_table.explain(stream()).scores, of_table.explain(TABLE).scores)


def test_batches_and_forgetting_take_streams(stream, models):
    whole = models["textbook"]
    twice = nv.NaiveBayes(model="textbook").fit(TABLE, target="label").partial_fit(stream(), target="label")
    assert twice.counts_ == whole.counts_ * 2
    assert twice.forget(stream(), target="label").counts_ == whole.counts_


def test_a_stream_is_scored_and_cross_validated_as_its_table(stream, of_table, table_scores):
    assert of_table.score(stream(), target="label") == of_table.score(TABLE, target="label")
    found = nv.cross_validate(stream(), target="label", cv=2, model="textbook")
    assert found.log_loss == pytest.approx(table_scores.log_loss, rel=1e-12)


# -- readings of a stream ----------------------------------------------------------------------------------------------


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Return a folder in which temporary files are made."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def long_table(rows: int = 105_000) -> pa.Table:
    """Return more rows than a sample keeps."""
    return table(rows, 5)


def test_a_long_stream_is_read_a_second_time_from_a_temporary_file(monkeypatch, temporary):
    """The default model needs two passes; of a generator, the second one is read from a file that goes afterwards."""
    rows, seen = long_table(), []
    monkeypatch.setattr(streams, "HELD", 1 << 16)

    def watched():
        for batch in rows.to_batches(max_chunksize=9_999):
            seen.append(sum(path.stat().st_size for path in temporary.iterdir()))
            yield batch

    found = nv.NaiveBayes().fit(watched(), target="label")
    assert len(seen) == 11
    assert seen[-1] > 0
    gc.collect()
    assert list(temporary.iterdir()) == []
    assert np.array_equal(found.predict_proba(TABLE), nv.NaiveBayes().fit(rows, target="label").predict_proba(TABLE))


def test_one_pass_keeps_nothing(monkeypatch, temporary):
    """Whatever reads rows once holds a few batches at a time, however many come."""
    monkeypatch.setattr(streams, "HELD", 0)
    rows, at_once, model = long_table(), [], nv.NaiveBayes(model="textbook").fit(TABLE, target="label")
    keep = streams.StreamPart._keep

    def counted(self, batch):
        at_once.append(batch.num_rows)
        keep(self, batch)

    monkeypatch.setattr(streams.StreamPart, "_keep", counted)
    schema = nv.Schema.of(rows.schema, target="label")
    nv.count((batch for batch in rows.to_batches(max_chunksize=1_000)), target="label", schema=schema)
    model.predict(batch for batch in rows.to_batches(max_chunksize=1_000))
    found = nv.NaiveBayes(model="textbook").fit((b for b in rows.to_batches(max_chunksize=1_000)), target="label")
    assert found.counts_.rows.sum() == rows.num_rows
    assert sum(at_once) <= 6_000  # the first batches tell the types
    assert list(temporary.iterdir()) == []


def test_a_bar_is_shown_for_long_streams(monkeypatch, capsys):
    """On a terminal, `progress=True` shows rows on stderr, and nothing on stdout."""
    monkeypatch.setattr(_progress, "PATIENCE", 0.0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    rows = long_table(140_000)
    nv.count(rows.to_reader(), target="label", progress=True)
    nv.profile(rows.to_reader(), target="label", progress=True)
    shown = capsys.readouterr()
    assert "140,000 rows" in shown.err
    assert shown.out == ""


# -- streams that cannot be read ---------------------------------------------------------------------------------------


def test_a_column_gets_its_type_from_the_first_batch_that_has_one():
    first = pa.table({"x": pa.nulls(2), "label": ["a", "b"]})
    second = pa.table({"x": [1.5, 2.5], "label": ["a", "b"]})
    counts = nv.count(iter([first, second]), target="label")
    assert isinstance(counts.columns["x"], nv.Moments)


NO_STREAMS = {
    "numbers that come as whole ones first": (
        lambda: iter([pd.DataFrame({"x": [1, 2], "label": ["a", "b"]}), pd.DataFrame({"x": [0.5], "label": ["a"]})]),
        r"<list_iterator>: column 'x' holds double in batch 1, and int64 in the",
    ),
    "a batch without a column": (
        lambda: iter([{"x": [1], "label": ["a"]}, {"label": ["a"]}]),
        r"<list_iterator>: batch 1 has no column 'x', which the first has\.",
    ),
    "no tables": (lambda: (n for n in range(3)), r"<generator>: item 0 of the stream is a int, which cannot be read"),
    "a frame of Spark": (
        type("DataFrame", (), {"__module__": "pyspark.sql.connect.dataframe"}),
        r"Use naively\.spark: spark\.fit\(df, target=…\)",
    ),
}


@pytest.mark.parametrize("kind", NO_STREAMS)
def test_what_is_no_stream_of_tables_is_refused_in_one_sentence(kind):
    made, words = NO_STREAMS[kind]
    for ask in (nv.count, nv.NaiveBayes().fit):
        with pytest.raises(InvalidInput, match=words):
            ask(made(), target="label")


@pytest.mark.parametrize("empty", [lambda: iter([]), lambda: TABLE.schema.empty_table().to_reader()])
def test_nothing_can_be_fitted_to_an_empty_stream(empty):
    with pytest.raises(InvalidInput, match=r"has no column 'label'|there are no rows"):
        nv.NaiveBayes().fit(empty(), target="label")


@pytest.mark.parametrize("empty", [lambda: iter([]), lambda: TABLE.schema.empty_table().to_reader(), TABLE.slice(0, 0)])
def test_no_rows_are_counted_as_zero(empty):
    """A part of a table may be empty; its counts change no sum."""
    whole, schema = nv.count(TABLE, target="label"), nv.Schema.of(TABLE.schema, target="label")
    none = nv.count(empty() if callable(empty) else empty, target="label", schema=schema)
    assert none.rows.sum() == 0
    assert whole + none == whole == nv.add([none, whole, none])


def test_counts_of_files_by_file_need_files(tmp_path):
    with pytest.raises(InvalidInput, match="stream"):
        nv.fit_files(nv.NaiveBayes(), TABLE.to_reader(), "label", keep_counts=Path(tmp_path))
