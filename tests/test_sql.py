"""Counts made inside a database are those of the same rows in memory, and so are the models fitted to its tables."""

from __future__ import annotations

import datetime
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import naively as nv
from naively.errors import InvalidInput, InvalidSetting, NotInstalled, NumberTooLarge

from .databases import ENGINES, FOREIGN_WARNINGS, database

pytestmark = [pytest.mark.alone, FOREIGN_WARNINGS]
nan = float("nan")
ODD = ['"; drop table x; --', "a'b", "select", "größe 大", 'say "hi"', "with space", "y", "w", "v", "n", "%s {0}"]


@pytest.fixture(scope="module", params=ENGINES)
def db(request):
    """Return one database after the other."""
    with database(request.param) as found:
        yield found


def same(found, expected):
    """Check that counts are equal: tables exactly, moments to 1e-12."""
    assert found.classes == expected.classes
    assert np.array_equal(found.rows, expected.rows)
    assert list(found.columns) == list(expected.columns)
    for name, statistic in expected.columns.items():
        if isinstance(statistic, nv.Table):
            assert found.columns[name] == statistic, name
        else:
            assert found.columns[name].agrees(statistic, 1e-12), name
    assert found.agrees(expected, 1e-12)


def mixed(rows=200):
    """Return a table with a column of every type, with missing values, and three classes."""
    rng = np.random.default_rng(5)
    there = lambda: rng.random(rows) < 0.9  # noqa: E731
    day = np.datetime64("2021-03-04T05:06:07.891011").item()
    times = [day + datetime.timedelta(microseconds=int(step)) for step in rng.integers(-(10**12), 10**12, rows)]
    texts = np.array(["red", "green", "", "NA", "it's", "né", "?"], dtype=object)[rng.integers(0, 7, rows)]
    columns = {
        "text": pa.array(texts, mask=~there()),
        "flag": pa.array(rng.random(rows) < 0.4, mask=~there()),
        "whole": pa.array(rng.integers(-5, 6, rows), mask=~there()),
        "number": pa.array(rng.normal(3, 2, rows), mask=~there()),
        "with NaN": pa.array(np.where(there(), rng.normal(size=rows), nan)),
        "single": pa.array(rng.normal(size=rows).astype(np.float32), mask=~there()),
        "decimal": pa.array([Decimal(int(n)) / 4 for n in rng.integers(-90, 90, rows)], pa.decimal128(10, 2)),
        "day": pa.array([time.date() for time in times], mask=~there()),
        "time": pa.array(times, pa.timestamp("us"), mask=~there()),
        "nothing": pa.nulls(rows, pa.float64()),
        "class": pa.array(np.array(["a", "b", "c"])[rng.integers(0, 3, rows)]),
        "weight": pa.array(rng.integers(0, 4, rows).astype(np.float64)),
        "share": pa.array(rng.random(rows)),
    }
    return pa.table(columns)


# -- counts -----------------------------------------------------------------------------------------------------------


def test_columns_of_every_type_and_weights_are_counted_as_in_memory(db):
    table = mixed()
    put = db.put(table)
    same(nv.sql.count(put, "class"), nv.count(table, target="class"))
    found = nv.sql.count(put, "class", sample_weight="weight", ignore=["share"])
    same(found, nv.count(table.drop(["share"]), target="class", sample_weight="weight"))
    found = nv.sql.count(put, "class", sample_weight="share", ignore=["weight"])
    assert found.agrees(nv.count(table.drop(["weight"]), target="class", sample_weight="share"), 1e-12)


def test_families_are_counted_as_in_memory(db):
    table = mixed().append_column("grade", pa.array(["low", "mid", None, "high"] * 50))
    families = {
        "whole": nv.Bernoulli(threshold=2),
        "flag": "bernoulli",
        "number": nv.Bins(cuts=[0.1, 2.5, 4.75]),
        "with NaN": "bernoulli",
        "single": nv.Bernoulli(threshold=0.25),
        "decimal": "categorical",
        "share": "poisson",
        "weight": nv.Bins(cuts=[]),
        "day": "categorical",
        "time": nv.Bins(cuts=[1.6e9]),
        "grade": nv.Ordinal(levels=["low", "mid", "high"]),
        "nothing": "categorical",
    }
    found = nv.sql.count(db.put(table), "class", schema=families)
    if db.name == "sqlite":  # where a decimal is a number like any other
        table = table.set_column(6, "decimal", table["decimal"].cast(pa.float64()))
    same(found, nv.count(table, target="class", schema=families))
    assert found.schema["grade"].family == families["grade"]


def test_a_schema_says_what_the_columns_are(db):
    table = mixed()
    schema = nv.count(table, target="class", schema={"whole": "categorical"}).schema.only(["number", "text", "whole"])
    found = nv.sql.count(db.put(table), "class", schema=schema)
    same(found, nv.count(table, target="class", schema=schema))
    assert found.schema == schema


@pytest.mark.parametrize(
    "labels", [[3, -1, 2**60 + 1], [True, False, True], [datetime.date(2020, 1, 2)] * 3, [1.0, 2.0, 3.0]]
)
def test_classes_are_of_any_type(db, labels):
    table = pa.table({"x": [1.0, 2.0, 4.0, 8.0, 5.0, 3.0], "y": pa.array([*labels, *labels])})
    put = db.put(table)
    same(nv.sql.count(put, "y"), nv.count(table, target="y"))
    for model in ("auto", "textbook"):
        found, one = nv.sql.fit(put, "y", model=model), nv.NaiveBayes(model=model).fit(table, target="y")
        assert found.classes_.tolist() == one.classes_.tolist()


def test_variances_keep_their_digits_at_large_means(db):
    rng = np.random.default_rng(0)
    y = np.repeat(["near", "far", "one"], [300, 300, 1])
    x = np.round(rng.normal(size=601) * 64) / 64 + np.where(y == "near", 1e8, -3e11)
    table = pa.table({"x": x, "whole": (x * 64).astype(np.int64), "y": y})
    found = nv.sql.count(db.put(table), "y")
    same(found, nv.count(table, target="y"))
    for label in ("near", "far", "one"):
        numbers = [Fraction(float(number)) for number in x[y == label]]
        mean = sum(numbers) / len(numbers)
        exact = sum((number - mean) ** 2 for number in numbers) / len(numbers)
        place = found.classes.place(label)
        assert abs(Fraction(float(found.columns["x"].mean[place, 0])) - mean) <= Fraction(1e-15) * abs(mean)
        assert abs(Fraction(float(found.columns["x"].variance[place, 0])) - exact) <= Fraction(1e-12) * exact


def test_numbers_far_from_those_of_the_first_rows_keep_their_digits(db, monkeypatch):
    monkeypatch.setattr("naively.sql.counting.FIRST_ROWS", 50)
    x = np.concatenate([np.zeros(50), 1e9 + np.arange(64.0)])
    table = pa.table({"x": x, "y": np.where(np.arange(len(x)) % 2, "odd", "even"), "w": np.arange(len(x)) % 3 + 0.5})
    same(nv.sql.count(db.put(table), "y"), nv.count(table, target="y"))
    found = nv.sql.count(db.con.table(f"table {db.tables}"), "y", sample_weight="w")
    assert found.agrees(nv.count(table, target="y", sample_weight="w"), 1e-12)


def test_bins_are_cut_at_the_last_bit(db):
    bits = np.random.default_rng(3).integers(0, 2**63, 60).view(np.float64)
    cuts = [0.1 + 0.2, 1 / 3, 1e-300, 5e-324, -1.5, 1e23, 2.0**62, 123456789.12345679, *bits[np.isfinite(bits)]]
    cuts = np.unique([cut for cut in cuts if abs(cut) < 1e100])
    x = np.concatenate([np.nextafter(cuts, -np.inf), cuts, np.nextafter(cuts, np.inf)])
    table = pa.table({"x": x, "y": np.where(np.arange(len(x)) % 2, "odd", "even")})
    families = {"x": nv.Bins(cuts=cuts.tolist())}
    same(nv.sql.count(db.put(table), "y", schema=families), nv.count(table, target="y", schema=families))


def test_rows_without_a_label_are_refused_or_skipped(db):
    table = pa.table({"x": [1.0, 2.0, 3.0, 4.0], "k": ["a", "b", "c", "d"], "y": ["u", None, "v", None]})
    put = db.put(table)
    message = r"2 of 4 rows have no label: column 'y' is NULL there.*unlabelled='skip'"
    with pytest.raises(InvalidInput, match=message) as error:
        nv.sql.count(put, "y")
    assert error.value.column == "y"
    same(nv.sql.count(put, "y", unlabelled="skip"), nv.count(table.take([0, 2]), target="y"))
    with pytest.raises(InvalidInput, match="No row has a label"):
        nv.sql.count(put.filter(put.y.isnull()), "y", unlabelled="skip")


def test_declared_classes_stay_without_rows(db):
    put = db.put(pa.table({"k": ["a", "b"], "y": ["u", "v"]}))
    found = nv.sql.count(put, "y", classes=["u", "v", "w"])
    assert list(found.classes.labels) == ["u", "v", "w"]
    assert found.rows.tolist() == [1, 1, 0]
    with pytest.raises(InvalidInput, match="Unknown label type"):
        nv.sql.count(put, "y", classes=[1])


def test_odd_names_and_values_are_only_names_and_values(db):
    values = ["'); drop table x; --", "a\\'b", 'quo"te', "new\nline", None, "% {} $1 :name", "\\", "''"]
    columns = {name: pa.array(np.roll(values, at).tolist()) for at, name in enumerate(ODD)}
    columns["number'; --"] = pa.array(np.arange(8.0))
    columns["target'; --"] = pa.array(["x'; --", 'y"', "x'; --", 'y"'] * 2)
    columns["weight)"] = pa.array([1.0, 2.0] * 4)
    table = pa.table(columns)
    put = db.put(table, "x'; drop table \"x")
    expected = nv.count(table, target="target'; --", sample_weight="weight)")
    same(nv.sql.count(put, "target'; --", sample_weight="weight)"), expected)
    assert put.count().to_pyarrow().as_py() == 8


def test_dozens_of_classes_and_hundreds_of_columns(db):
    rng, rows = np.random.default_rng(1), 300
    numbers = {f"x{at}": rng.normal(at, 1, rows) for at in range(205)}
    labels = {f"k{at}": np.array(list("abcdefgh"))[rng.integers(0, 8, rows)] for at in range(8)}
    table = pa.table(numbers | labels | {"y": rng.integers(0, 40, rows)})
    same(nv.sql.count(db.put(table), "y"), nv.count(table, target="y"))


def test_texts_with_too_many_values_are_set_aside(db, monkeypatch):
    monkeypatch.setattr("naively.sql.counting.MOST_LABELS", 20)
    table = pa.table({"id": [f"n{at}" for at in range(60)], "k": list("abc") * 20, "y": list("uv") * 30})
    put = db.put(table)
    found = nv.sql.count(put, "y")
    assert list(found.columns) == ["k"]
    assert "'id' has more than" in found.schema.hints[0]
    same(nv.sql.count(put, "y", schema={"id": "categorical"}), nv.count(table, target="y"))


def test_times_do_not_depend_on_the_time_zone_of_the_session(db):
    if db.name == "sqlite":
        pytest.skip("SQLite has no times with a zone")
    zoned = pa.array([datetime.datetime(2020, 7, 1, 12, tzinfo=datetime.UTC), None], pa.timestamp("us", "UTC"))
    table = pa.table({"t": zoned, "y": ["a", "b"]})
    put = db.put(table)
    db.con.raw_sql("set timezone = 'America/New_York'")
    same(nv.sql.count(put, "y"), nv.count(table, target="y"))


cells = {
    pa.float64(): st.none() | st.floats(-1e9, 1e9) | st.sampled_from([0.0, -0.0, 1e8 + 0.1, 1e8 + 0.7]),
    pa.int64(): st.none() | st.integers(-(2**53), 2**53),
    pa.string(): st.none() | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=3),
    pa.bool_(): st.none() | st.booleans(),
}


@st.composite
def tables(draw):
    """Return a small table of random columns, with a class and a weight for each row."""
    rows = draw(st.integers(1, 8))
    kinds = draw(st.lists(st.sampled_from(list(cells)), min_size=1, max_size=4))
    column = lambda values, kind: pa.array(draw(st.lists(values, min_size=rows, max_size=rows)), kind)  # noqa: E731
    columns = {f"c{at}": column(cells[kind], kind) for at, kind in enumerate(kinds)}
    return pa.table(
        columns | {"y": column(st.sampled_from("abc"), pa.string()), "w": column(st.integers(1, 3), pa.float64())}
    )


@settings(max_examples=8, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(table=tables(), whole=st.sampled_from(["gaussian", "categorical"]))
def test_random_tables_are_counted_as_in_memory(db, table, whole):
    kinds = {pa.string(): "categorical", pa.int64(): whole}
    families = {f.name: kinds[f.type] for f in table.schema if f.type in kinds and f.name != "y"}
    found = nv.sql.count(db.put(table), "y", schema=families, sample_weight="w")
    same(found, nv.count(table, target="y", schema=families, sample_weight="w"))


# -- models -----------------------------------------------------------------------------------------------------------


def records(rows=500):
    """Return records of people: columns that depend on each other, missing values, rare labels, codes in texts."""
    rng = np.random.default_rng(2)
    age, school = rng.gamma(9, 4.5, rows).round(), np.clip(rng.normal(10, 3, rows).round(), 1, 16)
    work = np.array(["private", "state", "own", "none"])[rng.choice(4, rows, p=[0.7, 0.15, 0.1, 0.05])]
    score = 0.08 * (age - 40) * (age < 55) + 0.4 * (school - 10) + (work == "own") * (school > 11)
    rich = score + rng.logistic(size=rows) > 1
    return pa.table(
        {
            "age": pa.array(age, mask=rng.random(rows) < 0.05),
            "school": pa.array(school.astype(np.int64), mask=rng.random(rows) < 0.05),
            "work": pa.array(work, mask=rng.random(rows) < 0.05),
            "code": pa.array([f"{n % 7}" for n in range(rows)]),
            "owner": pa.array(rng.random(rows) < 0.3 + 0.3 * rich),
            "note": pa.array([("good day", "bad day", "good night")[int(n)] for n in rng.integers(0, 2, rows) + rich]),
            "rich": pa.array(np.where(rich, "yes", "no")),
            "copies": pa.array(rng.integers(0, 4, rows)),
        }
    )


def check_fit(db, table, tolerance=1e-9, source=lambda table: table, **settings):
    """Check that a fit is that of the same rows elsewhere, where texts of digits are called categories; return it."""
    weight = settings.pop("sample_weight", None)
    table = table if weight else table.drop(["copies"])
    found = nv.sql.fit(db.put(table), "rich", sample_weight=weight, **settings)
    families = {"code": "categorical"} | settings.get("families", {})
    one = nv.NaiveBayes(**(settings | {"families": families}))
    one.fit(source(table), target="rich", sample_weight=weight)
    assert np.abs(found.predict_proba(table) - one.predict_proba(table)).max() <= tolerance
    assert found.counts_.agrees(one.counts_, 1e-12)
    assert found.classes_.dtype == one.classes_.dtype
    assert found.get_params()["families"] == settings.get("families")
    return found


@pytest.mark.parametrize(
    "given",
    [
        {"families": {"age": "poisson", "school": nv.Bins(cuts=[8, 11])}},
        {"class_weight": {"yes": 2.0}, "sample_weight": "copies"},
        {"class_weight": "balanced"},
    ],
)
def test_the_textbook_model_fetches_no_rows(db, given, monkeypatch):
    monkeypatch.setattr("naively.files.streams._ibis_batches", None)
    check_fit(db, records(), 1e-12, model="textbook", **given)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"class_weight": "balanced"},
        {"sample_weight": "copies"},
        {"families": {"note": "words", "age": "bins"}},
        {"families": {"age": "bins"}, "model": "textbook"},
        {"model": "textbook", "smoothing": "auto"},
    ],
)
def test_other_models_are_fitted_to_the_stream_of_rows(db, given):
    check_fit(db, records(), **given)


def test_a_model_of_more_rows_than_are_kept_learns_more_and_is_saved(db, keep, tmp_path):
    keep(600)
    table = records(2000)
    found = check_fit(db, table, source=pa.Table.to_reader)
    found.save(tmp_path / "model.parquet")
    before = found.predict_proba(table)
    assert np.abs(nv.load(tmp_path / "model.parquet").predict_proba(table) - before).max() <= 1e-12
    found.partial_fit(table.drop(["copies"]).slice(0, 50), target="rich")
    assert found.counts_.rows.sum() == 2050


def test_models_of_rows_without_a_label(db):
    table = records().drop(["copies"])
    rich = [None if at % 9 == 0 else label for at, label in enumerate(table["rich"].to_pylist())]
    table = table.set_column(6, "rich", pa.array(rich))
    put = db.put(table)
    for model in ("auto", "textbook"):
        with pytest.raises(InvalidInput, match="no label"):
            nv.sql.fit(put, "rich", model=model)
        given = {"model": model, "unlabelled": "skip", "classes": ["yes", "no", "maybe"]}
        found = nv.sql.fit(put, "rich", ignore=["code"], **given)
        one = nv.NaiveBayes(**given).fit(table.drop(["code"]), target="rich")
        assert np.abs(found.predict_proba(table) - one.predict_proba(table)).max() <= 1e-9


def test_settings_that_cannot_be_fitted_are_refused(db):
    put = db.put(pa.table({"t": ["a", "b"], "rich": ["yes", "no"]}))
    with pytest.raises(InvalidSetting, match="takes a table in memory"):
        nv.sql.fit(put, "rich", unlabelled="em", estimate="map")
    with pytest.raises(InvalidSetting, match="model='x'"):
        nv.sql.fit(put, "rich", model="x")


# -- what is refused --------------------------------------------------------------------------------------------------


def refused(db, table, message, kind=InvalidInput, target="y", **settings):
    """Check that a table is refused in a sentence."""
    with pytest.raises(kind, match=message) as error:
        nv.sql.count(db.put(table), target, **settings)
    return error.value


def test_numbers_that_cannot_be_summed_are_refused(db):
    y = ["a", "b", "a"]
    error = refused(db, pa.table({"x": [1.0, float("-inf"), None], "y": y}), "Column 'x' holds infinity; give a finite")
    assert error.column == "x"
    refused(db, pa.table({"x": [1.0, 1e200, nan], "y": y}), "Column 'x' holds 1e.200; numbers beyond", NumberTooLarge)
    refused(db, pa.table({"x": [1.0, float("inf"), 2.0], "y": y}), "holds infinity", schema={"x": nv.Bins(cuts=[3])})
    refused(db, pa.table({"x": [1.0, -2.0, 2.0], "y": y}), "holds -2; a number of events", schema={"x": "poisson"})


def test_what_no_group_by_counts_is_refused(db):
    table = pa.table({"t": ["some words", "more"], "x": [1.0, 2.0], "y": ["a", "b"]})
    error = refused(db, table, "cannot count words by GROUP BY.*Stream the rows", InvalidSetting, schema={"t": "words"})
    assert error.column == "t"
    refused(db, table, r"bins without cuts.*nv.Bins\(cuts=", InvalidSetting, schema={"x": "bins"})
    refused(db, table, "'t' holds text, but the family 'gaussian' counts numbers", schema={"t": "gaussian"})
    for value, noun in ((1.5, "numbers"), (True, "booleans")):
        schema = nv.count({"t": [value] * 2, "x": [1.0, 2.0]}, ["a", "b"]).schema
        refused(db, table, rf"'t' holds {noun} in the schema, and text in the table.*cast\('float64'\)", schema=schema)
    refused(db, table, "none of its levels", schema={"t": nv.Ordinal(levels=["more"])})


def test_columns_that_are_not_there_are_named(db):
    table = pa.table({"x": [1.0, 2.0], "label": ["a", "b"]})
    refused(db, table, "There is no column 'lable'; did you mean 'label'", target="lable")
    refused(db, table, "There is no column 'z'", target="label", schema={"z": "gaussian"})
    refused(db, table, "There is no column 'z'", target="label", ignore=["z"])
    refused(db, table, "must be a list", InvalidSetting, target="label", ignore="x")
    refused(db, table, "0 feature", target="label", ignore=["x"])
    refused(db, table, "'label' is the column of the classes, and cannot", target="label", sample_weight="label")
    refused(db, table, "name of a column", InvalidSetting, target="label", sample_weight=[1, 2])
    refused(db, table, "use 'error' or 'skip'", InvalidSetting, target="label", unlabelled="em")


def test_rows_weights_and_labels_that_cannot_be_counted_are_refused(db):
    table = pa.table({"x": [1.0, 2.0, 3.0], "y": ["a", "b", "a"], "w": [1.0, -1.0, None], "k": ["u", "v", "u"]})
    refused(db, table, "2 of 3 rows have a weight in column 'w' that no row can have", sample_weight="w")
    refused(db, table, "of the weights holds text", sample_weight="k")
    table = table.set_column(2, "w", pa.array([0.0, 0.0, 0.0]))
    refused(db, table, "at least one non-zero", sample_weight="w")
    refused(db, table.slice(0, 0), "no rows")
    refused(db, pa.table({"x": [1.0, 2.0], "y": [0.5, 1.25]}), "Unknown label type: continuous")
    times = pa.array([0, 1], pa.timestamp("us"))
    refused(db, pa.table({"x": [1.0, 2.0], "y": times}), "Unknown label type.*found times")


def test_types_that_are_not_single_values_are_refused():
    with database("duckdb") as db:
        db.con.raw_sql("create table q as select [1, 2] as list, interval 1 day as gap, 'a' as y")
        for call in (nv.sql.count, nv.sql.fit):
            with pytest.raises(InvalidInput, match=r"'list' is of the type array<int32>.*ignore=\['list'\]"):
                call(db.con.table("q"), "y")
            with pytest.raises(InvalidInput, match="'gap' is of the type interval"):
                call(db.con.table("q"), "y", ignore=["list"])


def test_cells_of_sqlite_that_are_not_of_their_type_are_refused():
    with database("sqlite") as db:
        db.con.con.execute("create table q (x integer, t timestamp, y text)")
        db.con.con.execute("insert into q values (1, '2020-01-01 10:00:00+00:00', 'a'), (2, null, 'b')")
        counted = nv.sql.count(db.con.table("q"), "y")
        assert counted.columns["t"].mean[0, 0] == 1577872800.0
        db.con.con.execute("insert into q values ('abc', null, 'a')")
        with pytest.raises(InvalidInput, match="'x' holds 'abc', which is not a number"):
            nv.sql.count(db.con.table("q"), "y")
        with pytest.raises(InvalidInput, match="'abc'"):
            nv.sql.fit(db.con.table("q"), "y")
        db.con.con.execute("update q set x = 3, t = 'yesterday' where x = 'abc'")
        with pytest.raises(InvalidInput, match="'t' holds 'yesterday', which is not a time"):
            nv.sql.count(db.con.table("q"), "y")


def test_what_is_not_a_table_of_ibis_is_refused(monkeypatch):
    pytest.importorskip("ibis")
    for call in (nv.sql.count, nv.sql.fit):
        with pytest.raises(InvalidInput, match=r"Expected a table of Ibis.*got dict"):
            call({"x": [1]}, "y")
    monkeypatch.setitem(sys.modules, "ibis", None)
    for call in (nv.sql.count, nv.sql.fit):
        with pytest.raises(NotInstalled, match=r'pip install "naively\[sql\]"'):
            call(None, "y")
