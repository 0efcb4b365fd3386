"""Laws of columns without any value: they contribute nothing, and take the type of rows that have values."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import naively as nv

ROWS = 40
RNG = np.random.default_rng(7)
LABELS = RNG.choice(["no", "yes"], ROWS)
TABLE = pd.DataFrame({"size": RNG.normal(size=ROWS) + (LABELS == "yes"), "sky": RNG.choice(["sun", "rain"], ROWS)})

EMPTY = {
    "object of NaN": pd.Series([np.nan] * ROWS, dtype=object),
    "object of None": pd.Series([None] * ROWS, dtype=object),
    "float": pd.Series([np.nan] * ROWS),
    "category": pd.Series([np.nan] * ROWS, dtype="category"),
    "category with levels": pd.Series([np.nan] * ROWS, dtype=pd.CategoricalDtype(["low", "high"])),
    "Int64": pd.Series([pd.NA] * ROWS, dtype="Int64"),
    "boolean": pd.Series([pd.NA] * ROWS, dtype="boolean"),
    "string": pd.Series([pd.NA] * ROWS, dtype="string"),
    "datetime": pd.Series([pd.NaT] * ROWS, dtype="datetime64[ns]"),
    "texts that stand for none": pd.Series(["NA", "?"] * (ROWS // 2)),
}
VALUES = {
    "texts": pd.Series(["x", "y"] * (ROWS // 2)),
    "numbers": pd.Series(RNG.normal(size=ROWS)),
    "whole numbers": pd.Series(range(ROWS)),
    "dates": pd.Series(pd.date_range("2024-01-01", periods=ROWS)),
    "booleans": pd.Series([True, False] * (ROWS // 2)),
}
LATER = VALUES | {"nothing": EMPTY["object of None"]}

each_empty = pytest.mark.parametrize("empty", EMPTY.values(), ids=EMPTY)
each_kind = pytest.mark.parametrize("kind", VALUES)
each_model = pytest.mark.parametrize("model", ["textbook", "auto"])


def with_extra(values, rows=slice(None)):
    """Return the table with one more column."""
    return TABLE.assign(extra=values)[rows]


def labelled(values):
    return with_extra(values).assign(label=LABELS)


@cache
def without_extra(model):
    """Return the model of the table without that column."""
    return nv.NaiveBayes(model=model).fit(TABLE, LABELS)


@cache
def one_fit(model, kind):
    """Return the model of all rows: those without a value, and those with one."""
    values = VALUES[kind]
    rows = pd.concat([TABLE, with_extra(values)], ignore_index=True)
    if values.dtype.kind in "bi":  # or pandas makes objects or floats of them
        rows["extra"] = pd.concat([pd.Series([pd.NA] * ROWS), values], ignore_index=True).astype(
            "Int64" if values.dtype.kind == "i" else "boolean"
        )
    return nv.NaiveBayes(model=model).fit(rows, np.tile(LABELS, 2))


def assert_same(found, expected, rows):
    """Check that two models are of the same rows, and answer the same."""
    assert found.counts_.agrees(expected.counts_)
    np.testing.assert_allclose(found.predict_proba(rows), expected.predict_proba(rows), rtol=1e-9)


def assert_ignored(nb):
    """Check that a model answers as one without the column does, and says that it is empty."""
    expected = without_extra(nb.model).predict_proba(TABLE)
    assert [str(hint) for hint in nb.schema_.hints if "'extra' holds nothing" in str(hint)]
    for values in LATER.values():
        rows = with_extra(values)
        np.testing.assert_allclose(nb.predict_proba(rows), expected, rtol=1e-12)
        one = dict(zip(rows.columns, rows.iloc[3].tolist(), strict=True))
        np.testing.assert_allclose(nb.predict_proba(one), expected[3:4], rtol=1e-12)


# -- one fit -----------------------------------------------------------------------------------------------------------


@each_model
@each_empty
def test_contributes_nothing_in_frames_of_pandas(model, empty):
    assert_ignored(nv.NaiveBayes(model=model).fit(with_extra(empty), LABELS))


@pytest.mark.parametrize(
    "kind", [pa.null(), pa.string(), pa.float64(), pa.date32(), pa.dictionary(pa.int8(), pa.string())], ids=str
)
@pytest.mark.parametrize("library", ["arrow", "polars", "parquet", "feather", "stream"])
def test_contributes_nothing_in_typed_tables(library, kind, tmp_path):
    table = pa.table(TABLE.assign(label=LABELS)).append_column("extra", pa.nulls(ROWS, kind))
    if library == "parquet":
        pq.write_table(table, tmp_path / "rows.parquet")
        table = tmp_path / "rows.parquet"
    elif library == "feather":
        feather.write_feather(table, tmp_path / "rows.arrow")
        table = tmp_path / "rows.arrow"
    elif library == "polars":
        table = pl.from_arrow(table)
    elif library == "stream":
        table = table.to_reader()
    assert_ignored(nv.NaiveBayes(model="textbook").fit(table, target="label"))


@each_model
def test_contributes_nothing_in_csv(model, tmp_path):
    labelled(EMPTY["float"]).to_csv(tmp_path / "rows.csv", index=False)
    nb = nv.NaiveBayes(model=model).fit(tmp_path / "rows.csv", target="label")
    expected = without_extra(model).predict_proba(TABLE)
    assert_ignored(nb)
    nb.save(tmp_path / "model.naively")
    assert_ignored(nv.load(tmp_path / "model.naively"))
    for name, values in LATER.items():
        path = tmp_path / f"{name}.csv"
        with_extra(values).to_csv(path, index=False)
        np.testing.assert_allclose(nb.predict_proba(path), expected, rtol=1e-9)
        with_extra(values).to_parquet(path.with_suffix(".parquet"))
        np.testing.assert_allclose(nb.predict_proba(path.with_suffix(".parquet")), expected, rtol=1e-9)


@each_model
@pytest.mark.parametrize("name", ["object of NaN", "float"])
def test_rows_without_a_label_may_hold_the_only_values(model, name):
    """Where they hold none either, whatever comes later is taken."""
    labels, unlabelled = LABELS.astype(object), np.arange(ROWS) % 3 == 0
    labels[unlabelled] = None
    nb = nv.NaiveBayes(model=model, unlabelled="em", estimate="map")
    assert_empty_after(nb.fit(with_extra(EMPTY[name]), labels))
    there = with_extra(np.where(unlabelled, VALUES["texts"], None))
    assert nb.fit(there, labels).schema_["extra"].type == "text"


# -- several parts -----------------------------------------------------------------------------------------------------


@pytest.mark.pairwise
@each_model
@each_kind
@pytest.mark.parametrize("name", ["object of NaN", "float", "category"])
def test_parts_are_one_fit_in_any_order(model, kind, name):
    parts, expected = (with_extra(EMPTY[name]), with_extra(VALUES[kind])), one_fit(model, kind)
    for first, second in (parts, parts[::-1]):
        fitted = [nv.NaiveBayes(model=model).fit(part, LABELS) for part in (first, second)]
        assert_same(nv.merge(fitted), expected, parts[1])
        batches = nv.NaiveBayes(model=model).partial_fit(first, LABELS).partial_fit(second, LABELS)
        assert_same(batches, expected, parts[1])


def assert_empty_after(nb):
    assert nb.schema_["extra"].type == "empty"
    for values in LATER.values():
        assert np.isfinite(nb.predict_proba(with_extra(values))).all()


@each_model
def test_batches_of_files_and_single_rows(model, tmp_path):
    labelled(EMPTY["float"]).to_parquet(tmp_path / "empty.parquet")
    labelled(VALUES["texts"]).to_csv(tmp_path / "texts.csv", index=False)
    nb = nv.NaiveBayes(model=model)
    for _ in range(2):
        assert_empty_after(nb.partial_fit(tmp_path / "empty.parquet", target="label"))
    nb.partial_fit({"size": 1.0, "sky": "sun", "extra": None}, "yes")
    assert_empty_after(nb)
    nb.partial_fit(tmp_path / "texts.csv", target="label")
    assert nb.schema_["extra"].type == "text"
    alone = nv.NaiveBayes(model=model).partial_fit(with_extra(EMPTY["float"]), LABELS)
    alone.partial_fit({"size": 1.0, "sky": "sun", "extra": "x"}, "yes")
    assert alone.schema_["extra"].type == "text"


@pytest.mark.parametrize("name", ["object of NaN", "float"])
def test_looks_add_up(name):
    parts = labelled(EMPTY[name]), labelled(VALUES["texts"])
    expected = one_fit("auto", "texts")
    for order in (parts, parts[::-1]):
        profiles = [nv.Profile.from_bytes(nv.profile(part, target="label").to_bytes()) for part in order]
        profile = nv.add(profiles)
        counts = nv.add([nv.count(part, target="label", schema=profile.schema) for part in order])
        assert_same(nv.NaiveBayes.from_counts(counts, profile=profile), expected, parts[1])
