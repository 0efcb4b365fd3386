"""Pairs of columns counted inside a database, and models fitted to a table there."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import naively as nv
from naively.data.grid import Grid
from naively.errors import InvalidInput, InvalidSetting
from naively.sql.column_blocks import covering_blocks
from naively.sql.database_rows import DatabaseRows
from naively.sql.row_sample import drawn_rows

from .databases import ENGINES, FOREIGN_WARNINGS, database

pytestmark = [pytest.mark.alone, FOREIGN_WARNINGS]


@pytest.fixture(scope="module", params=ENGINES)
def db(request):
    """Return one database after the other."""
    with database(request.param) as found:
        yield found


@cache
def dependent(rows=500, seed=2):
    """Return a table like those of people's records: columns that depend on each other, missing values, rare labels."""
    rng = np.random.default_rng(seed)
    age = rng.gamma(9, 4.5, rows).round()
    school = np.clip(rng.normal(10, 3, rows).round(), 1, 16)
    hours = np.where(rng.random(rows) < 0.5, 40, rng.integers(5, 80, rows)).astype(float)
    work = np.array(["private", "state", "own", "none"])[rng.choice(4, rows, p=[0.7, 0.15, 0.1, 0.05])]
    town = np.array([f"town {at}" for at in range(90)])[np.minimum(rng.zipf(1.4, rows) - 1, 89)]
    score = 0.08 * (age - 40) * (age < 55) + 0.4 * (school - 10) + 0.05 * (hours - 40) + (work == "own") * (school > 11)
    rich = score + rng.logistic(size=rows) > 1
    return pa.table(
        {
            "age": pa.array(age, mask=rng.random(rows) < 0.05),
            "school": pa.array(school.astype(np.int64)),
            "hours": pa.array(np.where(rng.random(rows) < 0.03, np.nan, hours)),
            "work": pa.array(work, mask=rng.random(rows) < 0.05),
            "town": pa.array(town),
            "owner": pa.array(rng.random(rows) < 0.3 + 0.3 * rich),
            "rich": pa.array(np.where(rich, "yes", "no")),
            "copies": pa.array(rng.integers(0, 4, rows)),
            "share": pa.array(rng.random(rows)),
        }
    )


@pytest.fixture(scope="module")
def model():
    """Return the default model of the first rows, whose schema has a grid."""
    nb = nv.NaiveBayes().fit(dependent().drop(["copies", "share"]), target="rich")
    assert nb.schema_.grid is not None
    return nb


@cache
def one_fit(rows, columns=(), **settings):
    """Return the model of one fit in memory to a table as above without some columns."""
    return nv.NaiveBayes(**settings).fit(dependent(rows).drop(list(columns)), target="rich")


def in_memory(table, schema, **weights):
    """Return the counts of a table with pairs of columns, as the kernels count them."""
    return nv.count(table, target="rich", schema=schema, **weights)


# -- pairs ------------------------------------------------------------------------------------------------------------


def test_pairs_are_those_of_the_same_rows_in_memory(db, model):
    table = dependent(seed=3)
    found = nv.sql.count(db.put(table), "rich", schema=model.schema_, pairs=True)
    expected = in_memory(table.drop(["copies", "share"]), model.schema_)
    assert found.joint == expected.joint  # to the last bit: levels are whole numbers of steps
    assert found == expected
    assert found.schema.grid == model.schema_.grid


def test_pairs_of_weighted_rows(db, model):
    table, schema = dependent(seed=4), model.schema_
    put = db.put(table)
    found = nv.sql.count(put, "rich", schema=schema, pairs=True, sample_weight="copies")
    assert found == in_memory(table, schema, sample_weight="copies")
    found = nv.sql.count(put, "rich", schema=schema, pairs=schema.grid, sample_weight="share")
    assert found.joint.agrees(in_memory(table, schema, sample_weight="share").joint, 1e-12)


def test_pairs_of_bins_flags_and_levels(db):
    table = dependent()
    families = {
        "age": nv.Bins(cuts=[25.5, 40.0, 60]),
        "school": "ordinal",
        "hours": nv.Bernoulli(threshold=40),
        "town": "categorical",
    }
    schema = nv.NaiveBayes(families=families).fit(table.drop(["copies", "share"]), target="rich").schema_
    found = nv.sql.count(db.put(table), "rich", schema=schema, pairs=True)
    assert found == in_memory(table, schema)


def test_rows_halfway_between_steps_are_rounded_as_in_memory(db):
    x = np.arange(-40, 40) / 8192 + 3  # every second one is half a step away from the next
    table = pa.table({"x": x, "k": ["a", "b"] * 40, "rich": (["yes"] * 3 + ["no"] * 5) * 10})
    schema = nv.NaiveBayes().fit(table, target="rich").schema_
    bins = schema.grid.numbers[0]
    bins = bins.__class__(**(vars(bins) | {"center": 3.0, "scale": 1.0, "low": 2.9961, "high": 3.004}))
    grid = Grid((bins,), schema.grid.labels)
    schema = schema.__class__(schema.columns, grid=grid)
    assert nv.sql.count(db.put(table), "rich", schema=schema, pairs=True).joint == in_memory(table, schema).joint


def test_blocks_cover_all_pairs_within_their_bounds():
    sizes = [3, 40, 5, 7, 500, 12, 2, 9]
    uncounted = np.triu(np.ones((8, 8), dtype=bool), 1)
    for block in covering_blocks(uncounted, sizes, 400):
        assert len(block) == 2 or np.prod([sizes[at] for at in block]) <= 400
        before = uncounted.sum()
        uncounted[np.ix_(block, block)] = False
        assert uncounted.sum() < before


# -- models -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"model": "textbook"}, {"class_weight": "balanced"}])
def test_few_rows_are_fitted_as_in_memory(db, settings):
    if settings and db.name != "duckdb":
        pytest.skip("rows are fetched alike, and what is done with them was seen on DuckDB")
    table = dependent().drop(["copies", "share"])
    found = nv.sql.fit(db.put(table), "rich", **settings)
    one = nv.NaiveBayes(**settings).fit(table, target="rich")
    assert np.abs(found.predict_proba(table) - one.predict_proba(table)).max() <= 1e-9
    assert found.classes_.tolist() == one.classes_.tolist()
    assert found.classes_.dtype == one.classes_.dtype
    assert found.get_params()["families"] is None


def test_few_weighted_rows_some_without_a_label(db):
    table = dependent()
    rich = [None if at % 9 == 0 else label for at, label in enumerate(table["rich"].to_pylist())]
    table = table.set_column(6, "rich", pa.array(rich))
    put = db.put(table)
    with pytest.raises(InvalidInput, match="rows have no label"):
        nv.sql.fit(put, "rich")
    settings = {"unlabelled": "skip", "classes": ["yes", "no", "maybe"]}
    found = nv.sql.fit(put, "rich", sample_weight="copies", ignore=["share"], **settings)
    plain = table.drop(["share"])
    one = nv.NaiveBayes(**settings).fit(plain, target="rich", sample_weight="copies")
    assert np.abs(found.predict_proba(plain) - one.predict_proba(plain)).max() <= 1e-9


@pytest.fixture
def fewer_kept(keep):
    """Keep few rows, so that a small table has more of them."""
    keep(600)


def log_loss(nb, table):
    """Return the log loss of a model on a table."""
    truth = np.searchsorted(nb.classes_, table["rich"].to_pylist())
    return float(-np.log(nb.predict_proba(table)[np.arange(len(truth)), truth]).mean())


@pytest.mark.parametrize("weights", [{}, {"sample_weight": "copies"}])
def test_many_rows_are_counted_in_the_database(db, fewer_kept, weights):
    table = dependent(2000).drop(["share"])
    table = table if weights else table.drop(["copies"])
    found, one = nv.sql.fit(db.put(table), "rich", **weights), nv.count(table, target="rich", **weights)
    assert found.counts_.rows.tolist() == one.rows.tolist()
    assert found.counts_.columns == one.columns
    assert found.counts_.joint == in_memory(table, found.schema_, **weights).joint


@pytest.mark.parametrize(("kept", "share"), [(600, 1.0), (1500, 0.5)])
def test_the_model_of_many_rows_is_as_good_as_one_fit(db, keep, kept, share):
    """Counts are those of all rows; weights fitted on half of these lose less than half of what is gained by them."""
    table, held_out = dependent(3000).drop(["copies", "share"]), dependent(3000, seed=9)
    one, textbook = (nv.NaiveBayes(model=model).fit(table, target="rich") for model in ("auto", "textbook"))
    keep(kept)
    found = nv.sql.fit(db.put(table), "rich")
    assert 0.9 * kept < found.tuning_.learned.rows < 1.1 * kept
    gain = log_loss(textbook, held_out) - log_loss(one, held_out)
    assert gain > 0.015
    assert log_loss(found, held_out) < log_loss(one, held_out) + gain * share


def test_a_sample_of_all_rows_gives_the_model_of_one_fit(db, monkeypatch, keep):
    table = dependent(900).drop(["copies", "share"])
    put, one = db.put(table), one_fit(900, ("copies", "share"))
    monkeypatch.setattr("naively.sql.row_sample.EXPECTED", 1e9)  # all rows are drawn, and counted in the database
    keep(899)
    monkeypatch.setattr("naively.sql.row_sample.proportional_copies", lambda copies, most: copies)
    monkeypatch.setattr("naively.sql.row_sample.places_of_contents", lambda hashes, most: np.arange(len(hashes)))
    found = nv.sql.fit(put, "rich")
    assert found.counts_.joint == one.counts_.joint
    assert np.abs(found.predict_proba(table) - one.predict_proba(table)).max() <= 1e-9


def test_the_textbook_model_fetches_no_rows(db, fewer_kept, monkeypatch):
    table = dependent(1000).drop(["copies", "share"])
    monkeypatch.setattr("naively.sql.fitting.drawn_rows", None)
    settings = {"model": "textbook", "class_weight": {"yes": 2.0}, "families": {"hours": "poisson"}}
    found = nv.sql.fit(db.put(table), "rich", **settings)
    one = nv.NaiveBayes(**settings).fit(table, target="rich")
    assert np.abs(found.predict_proba(table) - one.predict_proba(table)).max() <= 1e-12


def test_bins_are_cut_and_classes_weighed_on_the_sample(db, fewer_kept):
    table = dependent(2000).drop(["copies", "share"])
    found = nv.sql.fit(db.put(table), "rich", class_weight="balanced", families={"age": "bins"})
    assert found.schema_["age"].family.cuts
    assert np.ptp(found.counts_.rows) < 1e-9
    one = nv.NaiveBayes(class_weight="balanced", families=found.schema_).fit(table, target="rich")
    assert found.counts_.agrees(one.counts_, 1e-9)


def test_a_model_of_many_rows_learns_more_and_is_saved(db, fewer_kept, tmp_path):
    table = dependent(2000).drop(["copies", "share"])
    found = nv.sql.fit(db.put(table), "rich")
    before = found.predict_proba(table)
    found.save(tmp_path / "model.parquet")
    assert np.abs(nv.load(tmp_path / "model.parquet").predict_proba(table) - before).max() <= 1e-12
    found.partial_fit(table.slice(0, 50), target="rich")
    assert found.counts_.rows.sum() == 2050


def test_the_sample_follows_from_the_rows_alone(db, fewer_kept):
    table = dependent(2500).drop(["share"])
    shuffled = table.take(np.random.default_rng(0).permutation(2500))
    parts = [drawn_rows(DatabaseRows.of(db.put(t), "rich", None, None, ()), 2500) for t in (table, shuffled)]
    first, second = (sorted(map(repr, part.table.to_pylist())) for part in parts)
    assert first == second
    assert 400 < len(first) < 750
    assert not parts[0].complete


def test_few_contents_with_many_copies_keep_their_proportions(db, fewer_kept):
    rng = np.random.default_rng(1)
    table = pa.table(
        {
            "k": np.array(list("aab"))[rng.integers(0, 3, 3000)],
            "rich": np.array(["yes", "no"])[rng.integers(0, 2, 3000)],
        }
    )
    rows = DatabaseRows.of(db.put(table), "rich", None, None, ())
    drawn = drawn_rows(rows, 3000)
    assert drawn.copies.sum() == 3000
    assert drawn.table.num_rows == 4
    assert drawn.rows(rows, "error").target.rows == 600


def test_settings_that_need_all_rows_in_memory_are_refused(db):
    put = db.put(pa.table({"t": ["a", "b"], "rich": ["yes", "no"]}))
    with pytest.raises(InvalidSetting, match="cannot count words by GROUP BY"):
        nv.sql.fit(put, "rich", families={"t": "words"})
    with pytest.raises(InvalidSetting, match="takes a table in memory"):
        nv.sql.fit(put, "rich", unlabelled="em", estimate="map")
    with pytest.raises(InvalidSetting, match="model='x'"):
        nv.sql.fit(put, "rich", model="x")
