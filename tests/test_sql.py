"""Counts made inside a database are those of the same rows in memory, and so are the models fitted to its tables."""

import datetime
import sys
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import naively as nv
from naively.errors import InvalidInput, InvalidSetting, NotInstalled, NumberTooLarge

from .databases import ENGINES, FOREIGN_WARNINGS, database

pytestmark = [pytest.mark.alone, FOREIGN_WARNINGS]
nan, inf = float("nan"), float("inf")
ODD = ['"; drop table x; --', "a'b", "select", "größe 大", 'say "hi"', "with space", "y", "w", "v", "n", "%s {0}"]


@pytest.fixture(scope="module", params=ENGINES)
def db(request):
    with database(request.param) as found:
        yield found


def check_counts(db, table, target="y", name=None, **given):
    """Check that counts are those of memory: tables exactly, moments to 1e-12; return both."""
    found = nv.sql.count(db.put(table, name), target, **given)
    expected = nv.count(table, target=target, **given)
    assert found.classes == expected.classes
    assert list(found.columns) == list(expected.columns)
    assert found.agrees(expected, 1e-12)
    for column, statistic in expected.columns.items():
        exact = isinstance(statistic, nv.Table) and given.get("sample_weight") != "share"  # sums of fractions round
        assert found.columns[column] == statistic if exact else found.columns[column].agrees(statistic, 1e-12), column
    return found, expected


def mixed(rows=200, labelled=True):
    """Return a table with a column of every type, with missing values, and three classes that depend on some."""
    rng = np.random.default_rng(5)
    day = np.datetime64("2021-03-04T05:06:07.891011").item()
    times = [day + datetime.timedelta(microseconds=int(step)) for step in rng.integers(-(10**12), 10**12, rows)]
    codes, number = rng.integers(0, 7, rows), rng.normal(3, 2, rows)
    y = np.clip(((number > 3) + (codes > 3) + rng.normal(0, 0.5, rows)).round().astype(int), 0, 2)
    some = lambda share=0.1: rng.random(rows) < share  # noqa: E731
    columns = {
        "text": pa.array(np.array(["red", "green", "", "NA", "it's", "né", "?"], dtype=object)[codes], mask=some()),
        "code": pa.array([str(code) for code in codes], mask=some()),
        "note": pa.array([("good day", "bad day", "good night")[k] for k in y], mask=some(0.5)),
        "flag": pa.array(some(0.4), mask=some()),
        "whole": pa.array(rng.integers(-5, 6, rows), mask=some()),
        "number": pa.array(number, mask=some()),
        "with NaN": pa.array(np.where(some(), nan, rng.normal(y))),
        "single": pa.array(rng.normal(size=rows).astype(np.float32)),
        "day": pa.array([time.date() for time in times]),
        "time": pa.array(times, pa.timestamp("us"), mask=some()),
        "nothing": pa.nulls(rows, pa.float64()),
        "grade": pa.array(["low", "mid", None, "high"] * (rows // 4)),
        "weight": pa.array(rng.integers(0, 4, rows).astype(np.float64)),
        "share": pa.array(rng.random(rows)),
        "y": pa.array(np.array(["a", "b", "c"])[y], mask=np.arange(rows) % 9 == (9 if labelled else 0)),
        "decimal": pa.array([Decimal(int(n)) / 4 for n in rng.integers(-90, 90, rows)], pa.decimal128(10, 2)),
    }
    return pa.table(columns)


def test_columns_of_every_type_are_counted_as_in_memory(db):
    table = mixed().drop(["code"])
    for weight in (None, "weight", "share"):
        check_counts(db, table, sample_weight=weight)
    schema = nv.count(table, target="y", schema={"whole": "categorical"}).schema.only(["number", "text", "whole"])
    assert check_counts(db, table, schema=schema)[0].schema == schema


def test_families_are_counted_as_in_memory(db):
    table = mixed().drop(["code"])
    if db.name == "sqlite":  # where a decimal is a number like any other
        table = table.set_column(14, "decimal", table["decimal"].cast(pa.float64()))
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
    assert check_counts(db, table, schema=families)[0].schema["grade"].family == families["grade"]


@pytest.mark.parametrize(
    "labels", [[3, -1, 2**60 + 1], [True, False, True], [datetime.date(2020, 1, 2)] * 3, [1.0, 2.0, 3.0]]
)
def test_classes_are_of_any_type(db, labels):
    table = pa.table({"x": [1.0, 2.0, 4.0, 8.0, 5.0, 3.0], "y": pa.array([*labels, *labels])})
    _, expected = check_counts(db, table, classes=labels)
    for model in ("auto", "textbook"):
        found = nv.sql.fit(db.con.table(f"table {db.tables}"), "y", model=model)
        assert found.classes_.tolist() == list(expected.classes.labels)


def test_rows_without_a_label_are_refused_or_skipped(db):
    table = pa.table({"x": [1.0, 2.0, 3.0, 4.0], "k": ["a", "b", "c", "d"], "y": ["u", None, "v", None]})
    put = db.put(table)
    message = r"2 of 4 rows have no label: column 'y' is NULL there.*unlabelled='skip'"
    with pytest.raises(InvalidInput, match=message) as error:
        nv.sql.count(put, "y")
    assert error.value.column == "y"
    found = nv.sql.count(put, "y", unlabelled="skip", classes=["u", "v", "w"])
    assert found == nv.count(table.take([0, 2]), target="y", classes=["u", "v", "w"])
    assert found.rows.tolist() == [1, 1, 0]
    with pytest.raises(InvalidInput, match="No row has a label"):
        nv.sql.count(put.filter(put.y.isnull()), "y", unlabelled="skip")


def test_odd_names_and_values_are_only_names_and_values(db):
    values = ["'); drop table x; --", "a\\'b", 'quo"te', "new\nline", None, "% {} $1 :name", "\\", "''"]
    columns = {name: pa.array(np.roll(values, shift).tolist()) for shift, name in enumerate(ODD)}
    columns["target'; --"] = pa.array(["x'; --", 'y"', "x'; --", 'y"'] * 2)
    columns["number'; --"], columns["weight)"] = pa.array(np.arange(8.0)), pa.array([1.0, 2.0] * 4)
    table, name = pa.table(columns), "x'; drop table \"x"
    check_counts(db, table, "target'; --", name, sample_weight="weight)")
    assert db.con.table(name).count().to_pyarrow().as_py() == 8


cells = {
    pa.float64(): st.none() | st.floats(-1e9, 1e9) | st.sampled_from([0.0, -0.0, 1e8 + 0.1, 1e8 + 0.7, 1e-200, 5e-324]),
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
    columns["y"], columns["w"] = column(st.sampled_from("abc"), pa.string()), column(st.integers(1, 3), pa.float64())
    return pa.table(columns)


@settings(max_examples=8, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(table=tables(), whole=st.sampled_from(["gaussian", "categorical"]))
def test_random_tables_are_counted_as_in_memory(db, table, whole):
    kinds = {pa.string(): "categorical", pa.int64(): whole}
    families = {f.name: kinds[f.type] for f in table.schema if f.type in kinds and f.name != "y"}
    check_counts(db, table, schema=families, sample_weight="w")


def check_fit(db, table, tolerance=1e-9, source=lambda table: table, **given):
    """Check that a fit is that of the same rows elsewhere, where texts of digits are called categories; return it."""
    weight = given.pop("sample_weight", None)
    found = nv.sql.fit(db.put(table), "y", sample_weight=weight, **given)
    one = nv.NaiveBayes(**(given | {"families": {"code": "categorical"} | given.get("families", {})}))
    one.fit(source(table), target="y", sample_weight=weight)
    assert np.abs(found.predict_proba(table) - one.predict_proba(table)).max() <= tolerance
    assert found.counts_.agrees(one.counts_, 1e-12)
    assert found.classes_.dtype == one.classes_.dtype
    assert found.get_params()["families"] == given.get("families")
    return found


SKIP = {"unlabelled": "skip", "classes": ["a", "b", "c", "d"]}


@pytest.mark.parametrize(
    "given",
    [
        {"families": {"weight": "poisson", "number": nv.Bins(cuts=[1, 3])}},
        {"class_weight": {"a": 2.0}, "sample_weight": "weight"},
        {"class_weight": "balanced"},
        SKIP,
    ],
)
def test_the_textbook_model_fetches_no_rows(db, given, monkeypatch):
    monkeypatch.setattr("naively.files.streams._ibis_batches", None)
    check_fit(db, mixed(labelled=given is not SKIP), 1e-12, model="textbook", **given)


@pytest.mark.parametrize(
    "given",
    [
        {"class_weight": "balanced", "sample_weight": "weight"},
        {"families": {"note": "words", "number": "bins"}},
        {"families": {"number": "bins"}, "model": "textbook"},
        {"model": "textbook", "smoothing": "auto"},
        SKIP,
    ],
)
def test_other_models_are_fitted_to_the_stream_of_rows(db, given):
    check_fit(db, mixed(labelled=given is not SKIP), **given)


def test_a_model_of_more_rows_than_are_kept_learns_more_and_is_saved(db, keep, tmp_path):
    keep(600)
    table = mixed(2000)
    found = check_fit(db, table, source=pa.Table.to_reader)
    found.save(tmp_path / "model.parquet")
    before = found.predict_proba(table)
    assert np.abs(nv.load(tmp_path / "model.parquet").predict_proba(table) - before).max() <= 1e-12
    found.partial_fit(table.slice(0, 50), target="y")
    assert found.counts_.rows.sum() == 2050


SOME = {"t": ["some words", "more", "t"], "x": [1.0, -2.0, nan], "w": [1.0, -1.0, None], "y": ["a", "b", "a"]}
REFUSED = [
    ({"x": [1.0, -inf, None]}, {}, InvalidInput, "Column 'x' holds infinity; give a finite"),
    ({"x": [1.0, inf, 2.0]}, {"schema": {"x": nv.Bins(cuts=[3])}}, InvalidInput, "holds infinity"),
    ({"x": [1.0, 1e200, nan]}, {}, NumberTooLarge, "Column 'x' holds 1e.200; numbers beyond"),
    ({}, {"schema": {"x": "poisson"}}, InvalidInput, "'x' holds -2; a number of events"),
    ({}, {"schema": {"t": "words"}}, InvalidSetting, "'t'.*cannot count words by GROUP BY.*Stream the rows"),
    ({}, {"schema": {"x": "bins"}}, InvalidSetting, r"bins without cuts.*nv.Bins\(cuts="),
    ({}, {"schema": {"t": "gaussian"}}, InvalidSetting, "'t' holds text, but the family 'gaussian' counts numbers"),
    ({}, {"schema": {"t": nv.Ordinal(levels=["more"])}}, InvalidInput, "none of its levels"),
    ({}, {"schema": nv.Schema.of(pa.schema({"t": "f8"}))}, InvalidInput, r"'t' holds numbers in.*cast\('float64'\)"),
    ({}, {"schema": nv.Schema.of(pa.schema({"t": "bool"}))}, InvalidInput, "'t' holds booleans in the schema, and tex"),
    ({}, {"schema": {"z": "gaussian"}}, InvalidInput, "There is no column 'z'"),
    ({}, {"target": "yy"}, InvalidInput, "There is no column 'yy'; did you mean 'y'"),
    ({}, {"ignore": ["z"]}, InvalidInput, "There is no column 'z'"),
    ({}, {"ignore": "x"}, InvalidSetting, "must be a list"),
    ({}, {"ignore": ["x", "t", "w"]}, InvalidInput, "0 feature"),
    ({}, {"sample_weight": "y"}, InvalidInput, "'y' is the column of the classes, and cannot"),
    ({}, {"sample_weight": [1, 2]}, InvalidSetting, "name of a column"),
    ({}, {"sample_weight": "w"}, InvalidInput, "2 of 3 rows have a weight in column 'w' that no row can have"),
    ({}, {"sample_weight": "t"}, InvalidInput, "of the weights holds text"),
    ({"w": [0.0, 0.0, 0.0]}, {"sample_weight": "w"}, InvalidInput, "at least one non-zero"),
    ({}, {"unlabelled": "em"}, InvalidSetting, "use 'error' or 'skip'"),
    ({}, {"classes": [1]}, InvalidInput, "Unknown label type"),
    ({"y": [0.5, 1.25, 1.0]}, {}, InvalidInput, "Unknown label type: continuous"),
    ({"y": pa.array([0, 1, 2], pa.timestamp("us"))}, {}, InvalidInput, "Unknown label type.*found times"),
]


def test_what_cannot_be_counted_is_refused_in_a_sentence(db):
    put = db.put(pa.table(SOME))
    for columns, asked, kind, message in REFUSED:
        with pytest.raises(kind, match=message):
            nv.sql.count(db.put(pa.table(SOME | columns)) if columns else put, **({"target": "y"} | asked))
    with pytest.raises(InvalidInput, match="no rows"):
        nv.sql.count(put.filter(put.y == "c"), "y")
    with pytest.raises(InvalidSetting, match="takes a table in memory"):
        nv.sql.fit(put, "y", unlabelled="em", estimate="map")
    for model in ("auto", "textbook"):
        with pytest.raises(InvalidInput, match="no label"):
            nv.sql.fit(db.put(mixed(labelled=False)), "y", model=model)


def test_types_that_are_not_single_values_are_refused():
    with database("duckdb") as db:
        db.con.raw_sql("create table q as select [1, 2] as list, interval 1 day as gap, 'a' as y")
        for call in (nv.sql.count, nv.sql.fit):
            with pytest.raises(InvalidInput, match=r"'list' is of the type array<int32>.*ignore=\['list'\]") as error:
                call(db.con.table("q"), "y")
            assert error.value.column == "list"
            with pytest.raises(InvalidInput, match="'gap' is of the type interval"):
                call(db.con.table("q"), "y", ignore=["list"])


def test_cells_of_sqlite_that_are_not_of_their_type_are_refused():
    with database("sqlite") as db:
        db.con.con.execute("create table q (x integer, t timestamp, y text)")
        db.con.con.execute("insert into q values (1, '2020-01-01 10:00:00+00:00', 'a'), (2, null, 'b')")
        assert nv.sql.count(db.con.table("q"), "y").columns["t"].mean[0, 0] == 1577872800.0
        db.con.con.execute("insert into q values ('abc', null, 'a')")
        with pytest.raises(InvalidInput, match="'x' holds 'abc', which is not a number"):
            nv.sql.count(db.con.table("q"), "y")
        with pytest.raises(InvalidInput, match="'abc'"):
            nv.sql.fit(db.con.table("q"), "y")
        db.con.con.execute("update q set x = 3, t = 'yesterday' where x = 'abc'")
        with pytest.raises(InvalidInput, match="'t' holds 'yesterday', which is not a time"):
            nv.sql.count(db.con.table("q"), "y")


@pytest.mark.parametrize("call", [nv.sql.count, nv.sql.fit])
def test_what_is_not_a_table_of_ibis_is_refused(call, monkeypatch):
    pytest.importorskip("ibis")
    with pytest.raises(InvalidInput, match=r"Expected a table of Ibis.*got dict"):
        call({"x": [1]}, "y")
    monkeypatch.setitem(sys.modules, "ibis", None)
    with pytest.raises(NotInstalled, match=r'pip install "naively\[sql\]"'):
        call(None, "y")
