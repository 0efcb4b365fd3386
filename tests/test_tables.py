"""NaiveBayes on tables: the same table in any clothes is the same model, and every answer can be recomputed by hand."""

import datetime as dt
from decimal import Decimal
from itertools import product
from math import log2

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.integrate import quad

import naively as nv
from naively.errors import InvalidInput, InvalidSetting

from .strategies import checked
from .tables import CLOTHES, LABELS, TABLE, book, part, rows

NEW = {
    "colour": ["blue", "puce", None],
    "size": [2.2, None, 1e3],
    "visits": [4, 0, 1],
    "member": [False, True, None],
}
each_clothes = pytest.mark.parametrize("kind", CLOTHES)


def learned(**parameters):
    return book(**parameters).fit(pd.DataFrame(TABLE), LABELS)


# -- any table in -----------------------------------------------------------------------------------------------------


@each_clothes
def test_the_same_table_gives_the_same_counts(kind):
    """Whatever library holds it; an array has no names, so the schema gives them."""
    X, plain = CLOTHES[kind](TABLE), learned()
    nb = book(families=plain.schema_ if kind in ("an array of objects", "a list of lists") else None)

    assert nb.fit(X, LABELS).counts_ == plain.counts_
    assert nb.schema_ == plain.schema_
    assert nb.partial_fit(X, LABELS).counts_ == plain.counts_ * 2
    assert nb.forget(X, LABELS).counts_ == plain.counts_


@each_clothes
@pytest.mark.parametrize("table", [TABLE, NEW], ids=["known rows", "new rows"])
def test_the_same_rows_get_the_same_answers(kind, table):
    """Learned from one library, asked through another."""
    nb = learned()
    expected = nb.predict_proba(pd.DataFrame(table))

    assert_array_equal(nb.predict_proba(CLOTHES[kind](table)), expected)
    assert_array_equal(nb.predict(CLOTHES[kind](table)), nb.classes_[expected.argmax(axis=1)])
    assert_array_equal(book().fit(CLOTHES[kind](TABLE), LABELS).predict_proba(CLOTHES[kind](table)), expected)


@pytest.mark.parametrize("table", [TABLE, NEW], ids=["known rows", "new rows"])
@pytest.mark.parametrize("missing", ["skip", "value"])
def test_one_row_as_a_dict_is_a_row_of_the_table(table, missing):
    """Also as a frame of one row, and with the scalars of NumPy and pandas."""
    nb = learned(missing=missing)
    frame = pd.DataFrame(table)
    for ask in (nb.predict_proba, nb.predict_joint_log_proba, nb.score_samples):
        expected = ask(frame)
        for at, row in enumerate(rows(table)):
            assert_array_equal(ask(row), expected[at : at + 1])
            assert_array_equal(ask([row]), expected[at : at + 1])
            assert_array_equal(ask(frame.iloc[at : at + 1]), expected[at : at + 1])
            assert_array_equal(ask(pl.DataFrame(table)[at : at + 1]), expected[at : at + 1])
            assert_array_equal(ask(dict(frame.iloc[at])), expected[at : at + 1])


@each_clothes
def test_order_of_columns_and_more_of_them_do_not_matter(kind):
    """Columns align by name."""
    if kind in ("an array of objects", "a list of lists"):
        pytest.skip("an array has no names")
    turned = {name: TABLE[name] for name in reversed(TABLE)}
    wider = {"more": list("abcdefgh"), **turned, "nested": [1] * 8}
    nb = learned()

    for table in (turned, wider):
        assert_array_equal(nb.predict_proba(CLOTHES[kind](table)), nb.predict_proba(TABLE))
        assert_array_equal(nb.predict_proba(CLOTHES[kind](part(table, [3]))), nb.predict_proba(TABLE)[3:4])
    assert learned().partial_fit(CLOTHES[kind](wider), LABELS).counts_ == nb.counts_ * 2
    assert learned().forget(CLOTHES[kind](part(wider, [0])), LABELS[:1]).counts_.rows.sum() == 7


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, dict, rows, lambda t: rows(t)[0]])
def test_a_missing_column_is_an_error_with_the_likely_name(make):
    """A misspelt column is told, whatever holds the table."""
    misspelt = {"color" if name == "colour" else name: column for name, column in TABLE.items()}

    with pytest.raises(InvalidInput, match=r"The table has no column 'colour'; did you mean 'color'\?"):
        learned().predict(make(misspelt))


# -- what columns are -------------------------------------------------------------------------------------------------

DATE = dt.datetime(2026, 5, 17, 12)  # noqa: DTZ001  # without a zone, as most are
KINDS = {
    "texts": (["a", "b", None], "text", "categorical"),
    "texts of NumPy": (np.array(["a", "b", "c"]), "text", "categorical"),
    "texts of NumPy, variable": (np.array(["a", "b", "c"], np.dtypes.StringDType()), "text", "categorical"),
    "texts of pandas": (pd.Series(["a", None, "c"], dtype="string"), "text", "categorical"),
    "texts of Arrow": (pa.array(["a", None, "c"], pa.large_string()), "text", "categorical"),
    "views of Arrow": (pa.array(["a", None, "c"], pa.string_view()), "text", "categorical"),
    "a dictionary of Arrow": (pa.array(["a", None, "c"]).dictionary_encode(), "text", "categorical"),
    "categories of pandas": (pd.Series(["a", None, "c"], dtype="category"), "text", "categorical"),
    "categories of Polars": (pl.Series(["a", None, "c"], dtype=pl.Categorical), "text", "categorical"),
    "Enum of Polars": (pl.Series(["a", None, "c"], dtype=pl.Enum(["c", "b", "a"])), "text", "ordinal"),
    "booleans": ([True, False, None], "boolean", "categorical"),
    "booleans of NumPy": (np.array([True, False, True]), "boolean", "categorical"),
    "booleans of pandas": (pd.Series([True, None, False], dtype="boolean"), "boolean", "categorical"),
    "integers": ([1, 2, None], "whole", "gaussian"),
    "integers of NumPy": (np.array([1, 2, 3], np.uint8), "whole", "gaussian"),
    "integers of pandas": (pd.Series([1, None, 3], dtype="Int16"), "whole", "gaussian"),
    "floats": ([1.0, 2.5, None], "number", "gaussian"),
    "floats of Polars": (pl.Series([1.0, None, 2.5], dtype=pl.Float32), "number", "gaussian"),
    "integers and floats": ([1, 2.5, None], "number", "gaussian"),
    "Decimal": ([Decimal("1.5"), None, Decimal(2)], "number", "gaussian"),
    "dates": ([DATE.date(), None, DATE.date()], "time", "gaussian"),
    "moments": ([DATE, None, DATE], "time", "gaussian"),
    "moments with a zone": (pd.Series([DATE, None, DATE]).dt.tz_localize("Europe/Berlin"), "time", "gaussian"),
    "durations": ([dt.timedelta(1), None, dt.timedelta(2)], "time", "gaussian"),
    "durations of NumPy": (np.array([1, 2, 3], "m8[s]"), "time", "gaussian"),
    "times of day": ([dt.time(1), None, dt.time(2)], "time", "gaussian"),
    "sparse vectors": (sparse.csr_array(np.eye(3)), "vector", "words"),
    "dense vectors": (np.eye(3), "vector", "gaussian"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_kind_of_a_column_follows_its_type(kind):
    """Strings and booleans are categories, numbers and times are Gaussian, sparse vectors are words."""
    values, found, family = KINDS[kind]
    nb = book().fit({"x": values, "z": [1.0, 2.0, 3.0]}, ["a", "b", "a"])

    assert (nb.schema_["x"].type, nb.schema_["x"].family.name) == (found, family)
    assert_allclose(nb.predict_proba({"x": values, "z": [1.0, 2.0, 3.0]}).sum(axis=1), 1.0)


@pytest.mark.parametrize(
    "values",
    [
        pd.Series(["no", "yes", "no"], dtype=pd.CategoricalDtype(["no", "yes", "maybe"])),
        pl.Series(["no", "yes", "no"], dtype=pl.Enum(["no", "yes", "maybe"])),
    ],
    ids=["pandas", "Polars"],
)
def test_declared_levels_are_values_that_may_come(values):
    """A level that no row has has its share of the smoothing: (0 + 1) / (N + 3)."""
    nb = book(families={"x": "categorical"}).fit({"x": values}, ["a", "a", "b"])

    assert nb.schema_["x"].levels == ("no", "yes", "maybe")
    assert nb.counts_.columns["x"].values.labels == ("maybe", "no", "yes")
    assert_allclose(nb.predict_proba({"x": "maybe"}), [[3 / 5 * 1 / 5, 2 / 5 * 1 / 4]] / np.sum([3 / 25, 2 / 20]))
    assert_allclose(np.exp(nb.score_samples({"x": ["maybe", "no", "yes"]})).sum(), 1.0)
    assert nb.forget({"x": ["yes"]}, ["a"]).counts_.columns["x"].values.labels == ("maybe", "no", "yes")


@pytest.mark.parametrize("family", ["poisson", nv.Poisson, nv.Poisson(), nv.Poisson(smoothing=2.0)])
def test_families_override_the_kind(family):
    """By name, by class, by value with settings of its own."""
    nb = learned(families={"visits": family, "size": "gaussian"})

    assert nb.schema_["visits"].family.name == "poisson"
    assert nb.schema_["visits"].family.smoothing == getattr(family, "smoothing", None)
    assert nb.schema_["colour"].family == nv.Categorical()
    assert not np.allclose(nb.predict_proba(TABLE), learned().predict_proba(TABLE))


def test_a_schema_can_be_printed_edited_kept_and_used_again():
    """It is a plain value: lines of text, JSON, another family, back into a model."""
    schema = learned().schema_
    edited = schema.with_families({"visits": nv.Poisson(smoothing=0.5)})

    assert str(schema).splitlines()[0].split() == ["colour", "text", "categorical"]
    assert "visits  whole numbers  poisson (smoothing=0.5)" in str(edited)
    assert nv.Schema.from_json(edited.to_json()) == edited
    nb = learned(families=nv.Schema.from_json(edited.to_json()))
    assert nb.schema_ == edited
    assert_array_equal(
        nb.predict_proba(TABLE), learned(families={"visits": nv.Poisson(smoothing=0.5)}).predict_proba(TABLE)
    )
    assert nv.count(part(TABLE, [0]), LABELS[:1], schema=schema).schema == schema


def test_odd_columns_are_reported_with_the_line_to_write():
    """Identifiers, constants, whole numbers that look like codes, and columns without anything."""
    each = np.arange(60)
    frame = pd.DataFrame(
        {
            "record": [f"r{at}" for at in each],
            "same": ["x"] * 60,
            "always": [1.5] * 60,
            "zip": each % 5,
            "nothing": [None] * 60,
            "flag": each % 2,
            "height": each * 1.5,
            "sky": ["rain", "sun"] * 30,
        }
    )
    nb = book().fit(frame, each % 3)
    hints = "\n".join(nb.schema_.hints)

    assert "'record' has a value of its own in almost every row" in hints
    assert "2 columns ('same', 'always') hold the same value in every row, and" in hints
    assert "families={'zip': 'categorical'}" in hints
    assert "'nothing' holds nothing" in hints
    assert not any(f"'{name}'" in hints for name in ("flag", "height", "sky"))
    assert "Note: 'record'" in nb.summary()
    assert "- 'record'" in str(nb.schema_)
    (only,) = book().fit(frame[:20], (each % 3)[:20]).schema_.hints  # few rows tell no more than this
    assert "'nothing' holds nothing" in only


# -- settings act at once ---------------------------------------------------------------------------------------------

SETTINGS = {
    "estimate": ["mle", "map"],
    "smoothing": [0.5, 3, np.float64(2.0)],
    "prior": ["uniform", [0.2, 0.8], {"yes": 0.9, "no": 0.1}, np.array([0.5, 0.5])],
    "prior_smoothing": [0.0, 10.0],
    "columns": [["colour"], ["visits", "member"], [], ("size",)],
    "missing": ["value"],
    "unseen": ["smooth"],
    "max_categories": [1, 2],
    "cost": [[[0, 9], [1, 0]], {("no", "yes"): 30}, pd.DataFrame({"stay": [0.0, 2], "go": [1.0, 0]})],
    "reject": [0.3, 0],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in SETTINGS.items() for value in values])
@pytest.mark.parametrize("way", ["set_params", "an attribute"])
def test_settings_act_at_once(name, value, way):
    """Changed after fitting, the model is the one that had them from the start; changed back, it is as before."""
    table = {key: TABLE[key] + NEW[key] for key in TABLE}
    fitted, fresh = learned(), learned(**{name: value})
    before = fitted.predict_proba(table)
    fitted.expected_cost(table)

    if way == "set_params":
        fitted.set_params(**{name: value})
    else:
        setattr(fitted, name, value)

    assert_array_equal(fitted.predict_proba(table), fresh.predict_proba(table))
    assert_array_equal(fitted.predict(table), fresh.predict(table))
    assert_array_equal(fitted.score_samples(table), fresh.score_samples(table))
    assert_array_equal(fitted.expected_cost(table), fresh.expected_cost(table))
    assert fitted.summary() == fresh.summary()
    if name not in ("cost", "reject"):
        assert not np.array_equal(fitted.predict_proba(table), before)
    setattr(fitted, name, book().get_params()[name])
    assert_array_equal(fitted.predict_proba(table), before)


def test_a_value_never_seen_is_an_error_if_so_configured():
    """With unseen="error" the column and the value are named, also for a single row."""
    nb = learned().set_params(unseen="error")

    for make in (pd.DataFrame, rows, pa.table, lambda table: rows(table)[1]):
        with pytest.raises(InvalidInput, match="olumn 'colour' holds 'puce', which was not seen in training"):
            nb.predict(make(NEW))
    assert_array_equal(nb.predict_proba(TABLE), learned().predict_proba(TABLE))  # a missing one is no new one


# -- probabilities ----------------------------------------------------------------------------------------------------

VALUES = {"colour": ["red", "blue", None], "member": [True, False, None], "size": ["S", "M", "L", None]}
small_rows = st.lists(
    st.tuples(*(st.sampled_from(v) for v in VALUES.values()), st.sampled_from("ab")), min_size=1, max_size=9
)


def domain(nb):
    """Return every row that the columns of a model can hold."""
    levels = {name: list(nb.counts_.columns[name].values.labels) for name in nb.schema_.names}
    if nb.missing == "skip":
        levels = {name: [label for label in labels if label is not None] for name, labels in levels.items()}
    if nb.unseen == "smooth":
        levels = {name: [*labels, "never met"] for name, labels in levels.items()}
    return [dict(zip(levels, row, strict=True)) for row in product(*levels.values())]


@checked
@given(drawn=small_rows, missing=st.sampled_from(["skip", "value"]), smoothing=st.sampled_from([0.1, 1.0, 7.0]))
def test_probabilities_of_all_rows_sum_to_one(drawn, missing, smoothing):
    """P(row), summed over every row there can be, is 1."""
    *columns, y = zip(*drawn, strict=True)
    table = dict(zip(VALUES, map(list, columns), strict=True))
    table = {name: column for name, column in table.items() if any(v is not None for v in column)}
    if not table:
        return
    nb = book(missing=missing, smoothing=smoothing).fit(table, list(y))
    everything = domain(nb)

    assert_allclose(np.exp(nb.score_samples(everything)).sum(), 1.0, rtol=1e-12)
    assert_allclose(np.exp(nb.predict_joint_log_proba(everything)).sum(), 1.0, rtol=1e-12)


@pytest.mark.parametrize("family", ["gaussian", "poisson"])
@pytest.mark.parametrize("estimate", ["bayes", "map", "mle"])
def test_densities_of_numbers_sum_to_one(family, estimate):
    """P(x) integrates to 1 over all numbers, or sums to 1 over all numbers of events."""
    nb = book(families={"x": family}, estimate=estimate).fit({"x": [1, 0, 3, 2, 7, 4]}, list("ababab"))

    if family == "poisson":
        total = np.exp(nb.score_samples({"x": np.arange(20_000)})).sum()
    else:

        def density(x):
            return float(np.exp(nb.score_samples({"x": x}))[0])

        total = quad(density, -np.inf, 2, limit=200)[0] + quad(density, 2, np.inf, limit=200)[0]
    assert total == pytest.approx(1.0, rel=1e-4 if family == "poisson" else 1e-7)


# -- weights and soft labels ------------------------------------------------------------------------------------------

FAMILIES = {"visits": "poisson"}


@checked
@given(weights=st.lists(st.integers(0, 3), min_size=8, max_size=8).filter(any), data=st.data())
def test_a_weight_of_two_is_two_rows_and_of_none_is_none(weights, data):
    """In counts, exactly, and so in answers; also where a class or a category is left with nothing."""
    repeated = [row for row in range(8) for _ in range(weights[row])]
    weighted = book(families=FAMILIES).fit(TABLE, LABELS, sample_weight=weights)

    schema = weighted.schema_
    plain = book(families=schema).fit(part(TABLE, repeated), [LABELS[row] for row in repeated])
    assert weighted.counts_.agrees(plain.counts_)
    assert_array_equal(weighted.classes_, plain.classes_)
    assert_allclose(weighted.predict_proba(NEW), plain.predict_proba(NEW), rtol=1e-9)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_soft_labels_are_a_frame_whose_columns_are_the_classes(make):
    """Each row counts for every class by its share; whole shares are labels."""
    shares = {"no": [0.25, 1, 0, 0.5, 0, 1, 0.75, 0], "yes": [0.75, 0, 1, 0.5, 1, 0, 0.25, 1]}
    soft = book().fit(TABLE, make(shares))
    twice = {name: column * 2 for name, column in TABLE.items()}
    hard = book().fit(twice, ["no"] * 8 + ["yes"] * 8, sample_weight=shares["no"] + shares["yes"])
    certain = {label: [float(one == label) for one in LABELS] for label in ("yes", "no")}

    assert soft.counts_.agrees(hard.counts_)
    assert soft.counts_.rows.tolist() == [3.5, 4.5]
    assert book().fit(TABLE, make(certain)).counts_ == learned().counts_
    assert soft.partial_fit(TABLE, make(shares)).counts_.agrees(hard.counts_ * 2)
    assert soft.forget(TABLE, make(shares)).counts_.agrees(hard.counts_)
    assert list(soft.predict(TABLE)) == list(hard.predict(TABLE))


# -- decisions --------------------------------------------------------------------------------------------------------


def test_the_least_expected_cost_decides():
    """cost[true, chosen] in the order of the classes, or as a dict whose other mistakes cost 1."""
    nb = learned(cost=[[0, 5], [1, 0]])
    p = nb.predict_proba(NEW)

    assert_allclose(nb.expected_cost(NEW), np.column_stack([p[:, 1], 5 * p[:, 0]]), rtol=1e-12)
    assert_array_equal(nb.predict(NEW), nb.classes_[nb.expected_cost(NEW).argmin(axis=1)])
    assert_array_equal(nb.expected_cost(NEW), learned(cost={("no", "yes"): 5}).expected_cost(NEW))
    assert_array_equal(learned().expected_cost(NEW), 1 - p)
    assert set(learned(cost={("yes", "no"): 1000}).predict(NEW)) == {"yes"}


def test_a_price_for_not_answering():
    """Where the best answer is expected to cost more there is none."""
    nb = learned(reject=0.3)
    p = nb.predict_proba(TABLE)
    answers = nb.predict(TABLE)

    assert answers.tolist() == [None if 1 - line.max() > 0.3 else nb.classes_[line.argmax()] for line in p]
    assert None in answers.tolist()
    assert {"yes", "no"} & set(answers.tolist())


@pytest.mark.parametrize("reject", [None, 0.4])
def test_numbers_as_labels_can_be_averaged(reject):
    """With squared cost the answer is E[y | x], with absolute cost the median."""
    stars = [1, 2, 3, 4, 5, 1, 5, 3]
    nb = book(reject=reject).fit(TABLE, stars)
    p = nb.predict_proba(NEW)

    mean, median = (nb.set_params(cost=cost).predict(NEW) for cost in ("squared", "absolute"))
    variance = p @ nb.classes_**2 - (p @ nb.classes_) ** 2
    assert_allclose(mean, np.where(variance > (reject or np.inf), np.nan, p @ nb.classes_), rtol=1e-9)
    if reject is None:
        assert_array_equal(median, nb.classes_[(p.cumsum(axis=1) >= 0.5).argmax(axis=1)])
    with pytest.raises(InvalidSetting, match="need numbers as labels"):
        learned(cost="squared").predict(NEW)


# -- reports ----------------------------------------------------------------------------------------------------------


def test_probabilities_of_a_column_are_a_frame():
    """A line for each value and a column for each class, which sums to 1; for numbers a line for each class."""
    nb = learned()
    colours, sizes = nb.probabilities("colour"), nb.probabilities("size")

    assert colours["value"].tolist() == ["blue", "green", "red"]
    assert_allclose(colours["no"], [3 / 7, 1 / 7, 3 / 7])
    assert_allclose(colours["yes"], [1 / 6, 2 / 6, 3 / 6])
    assert sizes["class"].tolist() == ["no", "yes"]
    assert_allclose(sizes["mean"], [5.5 / 3, 0.25])
    assert_allclose(sizes["deviation"], [np.std([2.5, 2, 1]), np.std([1.5, 3, 0.5, -4])])
    assert_allclose(learned(estimate="mle").probabilities("colour")["no"], [0.5, 0, 0.5])
    with pytest.raises(InvalidInput, match="no column 'color'; did you mean 'colour'"):
        nb.probabilities("color")


def test_probabilities_of_columns_that_are_left_out_are_none():
    """The error says that the column does not speak."""
    nb = learned(columns=["size"])

    for name in ("colour", "visits"):
        with pytest.raises(InvalidInput, match=f"Column '{name}' is not used"):
            nb.probabilities(name)
    assert len(nb.probabilities("size")) == 2


def told(shares, prior):
    """Return the mutual information of a value and a class in bits, by its definition."""
    overall = [sum(prior[k] * shares[k][v] for k in range(len(prior))) for v in range(len(shares[0]))]
    return sum(
        prior[k] * p * log2(p / overall[v]) for k, line in enumerate(shares) for v, p in enumerate(line) if p > 0
    )


@checked
@given(
    drawn=st.lists(st.tuples(st.sampled_from("rgb"), st.booleans(), st.sampled_from("xyz")), min_size=2, max_size=20)
)
@pytest.mark.parametrize("estimate", ["bayes", "mle"])
def test_importance_is_mutual_information(estimate, drawn):
    """Of many rows, Σ P(class, value) log2 P(class, value) / P(class) P(value), counted by hand; never more."""
    colour, flag, y = map(list, zip(*drawn, strict=True))
    prior, bits = [y.count(label) / len(y) for label in sorted(set(y))], {}
    for name, column in (("colour", colour), ("flag", flag)):
        rows = [[value for value, one in zip(column, y, strict=True) if one == label] for label in sorted(set(y))]
        bits[name] = told([[own.count(v) / len(own) for v in sorted(set(column))] for own in rows], prior)

    few, many = (
        book(estimate=estimate).fit({"colour": colour * n, "flag": flag * n}, y * n).importance() for n in (1, 500)
    )

    assert dict(zip(many["column"], many["bits"], strict=True)) == pytest.approx(bits, abs=2e-2)
    for found in (few, many):
        assert found["bits"].is_monotonic_decreasing
        assert (found["bits"] >= 0).all()
        assert all(one <= sum(-p * log2(p) for p in prior) + 1e-9 for one in found["bits"])


def test_a_summary_says_what_was_learned():
    """Rows, shares of the classes, each column with its bits, and K·ΣS against K·ΠS parameters."""
    lines = learned().summary().splitlines()

    assert lines[0] == "8 rows, 2 classes: no 50.0%, yes 50.0%"
    assert {line.split(":")[0].split()[-1] for line in lines[2:6]} == set(TABLE)
    assert "10 probabilities stand for the columns of labels (K·ΣS); all combinations would take 12 (K·ΠS)." in lines
    big = book().fit({f"c{at}": list("abcdefghij") for at in range(20)}, list("yn" * 5)).summary()
    assert "400 probabilities" in big
    assert "10^20" in big


def test_compare_says_what_changed_strongest_first():
    """Shares of labels and of classes, means of numbers, in standard errors."""
    may = nv.count({"sky": ["rain"] * 60 + ["sun"] * 40, "wind": [1.0, 3.0] * 50}, ["in", "out"] * 50)
    june = nv.count({"sky": ["rain"] * 20 + ["sun"] * 80, "wind": [1.0, 3.2] * 50}, ["in", "out"] * 50)
    found = nv.compare(may, june)

    first = found.iloc[0]
    assert (first["column"], first["value"] in ("rain", "sun")) == ("sky", True)
    assert found["strength"].abs().is_monotonic_decreasing
    line = found[(found["column"] == "sky") & (found["value"] == "rain")].iloc[0]
    assert (line["before"], line["after"]) == (0.6, 0.2)
    assert line["change"] == pytest.approx(-0.4)
    assert line["strength"] == pytest.approx(-0.4 / np.sqrt(0.4 * 0.6 * 2 / 100))
    wind = found[found["column"] == "wind"].iloc[0]
    assert (wind["before"], wind["after"]) == pytest.approx((2.0, 2.1))
    assert wind["strength"] == pytest.approx(0.1 / np.sqrt((1.0 + 1.1**2) / 100))
    classes = found[found["column"] == "(class)"]
    assert dict(zip(classes["value"], classes["strength"], strict=True)) == {"in": 0.0, "out": 0.0}
    with pytest.raises(InvalidInput, match="Column 'sky' is counted on one side only"):
        nv.compare(may, nv.count({"wind": [1.0]}, ["in"]))
