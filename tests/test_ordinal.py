"""Levels that have an order: neighbours share strength, and all that is true of other families stays true."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import naively as nv
from naively.errors import IncompatibleCounts, InvalidInput, InvalidSetting
from naively.families.ordinal import natural_order

from .tables import book

LEVELS = ("low", "mid", "high", "top")
GRADES = ["low", "mid", "mid", "high", None, "top", "low", "mid", "top", "high", "low", "mid"]
Y = ["a", "a", "b", "b", "a", "b", "a", "a", "b", "b", "a", "b"]
ORDERED = pd.CategoricalDtype(list(LEVELS), ordered=True)
TABLE = nv.Table(["a", "b"], list(LEVELS), [[1, 5, 3, 0], [0, 2, 4, 14]])


def estimated(family, table=TABLE, **settings):
    (found,) = family.estimate(table, table.n.sum(axis=1), table.classes, nv.Settings(**settings)).tables
    return found


def simulated(seed, rows, levels=8):
    """Return places of levels and classes: higher levels are evidence for the second class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    lean = np.exp(np.outer([-1, 1], np.linspace(-1, 1, levels)))
    x = np.stack([[rng.choice(levels, p=lean[k] / lean[k].sum()) for k in y] for _ in range(3)], axis=1)
    return x, y


def as_frame(x, ordered, levels=8):
    """Return places as categories, whose names do not tell their order."""
    names = [f"level {name}" for name in "hgfedcba"[:levels]]
    kind = pd.CategoricalDtype(names, ordered=ordered)
    return pd.DataFrame({f"c{j}": pd.Categorical(np.array(names)[column], dtype=kind) for j, column in enumerate(x.T)})


# -- the formula --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("estimate", "imagined"), [("bayes", 2.0), ("map", 1.0), ("mle", 0.0)])
@pytest.mark.parametrize("tie", [0.5, 1.0, 4.0])
def test_a_level_is_laplaces_formula_of_counts_shared_with_its_neighbours(estimate, imagined, tie):
    got = np.exp(estimated(nv.Ordinal(levels=LEVELS, tie=tie), estimate=estimate, smoothing=2.0).log_p)
    n = np.array([TABLE.n[:, TABLE.values.place(level)] for level in LEVELS]).T
    around = np.concatenate([n[:, :1], n, n[:, -1:]], axis=1)  # beyond the ends lie the ends themselves
    rows = n.sum(axis=1, keepdims=True)
    strength = tie * imagined * 4**2
    t = strength / (rows + strength)
    shared = (1 - t) * n + t * (around[:, :-2] / 4 + n / 2 + around[:, 2:] / 4)
    assert_allclose(got, (shared + imagined) / (rows + 4 * imagined))
    assert_allclose(got.sum(axis=1), 1.0)


@pytest.mark.parametrize("unseen", ["skip", "smooth"])
@pytest.mark.parametrize("missing", ["skip", "value"])
@pytest.mark.parametrize("estimate", ["bayes", "map", "mle"])
def test_probabilities_sum_to_one_with_missing_and_unseen_levels(estimate, missing, unseen):
    table = nv.Table(["a", "b"], [*LEVELS, None], [[1, 5, 3, 0, 2], [0, 2, 4, 14, 1]])
    how = {"estimate": estimate, "smoothing": 1.5, "missing": missing, "unseen": unseen}
    found = estimated(nv.Ordinal(levels=LEVELS), table, **how)
    rest = np.exp(found.log_unseen) if unseen == "smooth" else 0.0
    assert_allclose(np.exp(found.log_p).sum(axis=1) + rest, 1.0)
    assert found.values.labels[:4] == LEVELS


# -- the order -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "order"),
    [
        ([10, 2, -1], [-1, 2, 10]),
        (["10", "9", "-1.5"], ["-1.5", "9", "10"]),
        (["grade 10", "grade 9"], ["grade 9", "grade 10"]),
        (["65+", "18-40", "41-64"], ["18-40", "41-64", "65+"]),
        ([True, False], [False, True]),
    ],
)
def test_numbers_and_texts_with_numbers_have_an_order_of_their_own(given, order):
    assert natural_order(given) == order


def test_a_cell_that_is_no_level_is_refused_and_changes_nothing():
    nb = book(families={"x": nv.Ordinal(levels=LEVELS)}).fit({"x": GRADES}, Y)
    before = nb.counts_
    for rows in ({"x": "huge"}, {"x": ["low", "huge"] * 20}, pd.DataFrame({"x": ["huge", "low"] * 20})):
        y = "a" if isinstance(rows["x"], str) else ["a", "b"] * 20
        with pytest.raises(InvalidInput, match="Column 'x' holds 'huge', which is none of its levels 'low' < 'mid'"):
            nb.partial_fit(rows, y)
    assert nb.counts_ == before
    with pytest.raises(InvalidInput, match="holds 'huge'"):  # nor is it known afterwards
        nb.partial_fit(pd.DataFrame({"x": ["huge"] * 40}), ["a"] * 40)
    assert_allclose(
        nb.predict_proba({"x": "huge"}), nb.predict_proba({"x": None})
    )  # when asked, it contributes nothing


ORDERED_COLUMNS = {
    "pandas": pd.Series(GRADES, dtype=ORDERED),
    "Polars": pl.Series(GRADES, dtype=pl.Enum(LEVELS)),
    "Arrow": pa.DictionaryArray.from_arrays(
        pa.array([None if g is None else LEVELS.index(g) for g in GRADES]), pa.array(LEVELS), ordered=True
    ),
}


@pytest.mark.parametrize("library", ORDERED_COLUMNS)
def test_types_with_an_order_become_ordinal_by_themselves(library):
    asked = book(families={"x": nv.Ordinal(levels=LEVELS)}).fit({"x": GRADES}, Y)
    nb = book().fit({"x": ORDERED_COLUMNS[library]}, Y)
    assert nb.schema_["x"].family == nv.Ordinal(levels=LEVELS)
    assert str(nb.schema_) == "x  text  ordinal, 'low' < 'mid' < 'high' < 'top'"
    assert nb.counts_.columns["x"] == asked.counts_.columns["x"]
    assert_array_equal(nb.predict_proba({"x": ORDERED_COLUMNS[library]}), asked.predict_proba({"x": GRADES}))
    named = book(families={"x": "ordinal"}).fit({"x": ORDERED_COLUMNS[library]}, Y)
    assert named.schema_["x"].family.levels == LEVELS


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: nv.Ordinal(levels="low"), r"Ordinal\(levels='low'\) must be a list of levels, lowest first"),
        (lambda: nv.Ordinal(levels=["low", "low"]), "must name each level once"),
        (lambda: nv.Ordinal(levels=["low", None]), "must name each level once, and no missing value"),
        (lambda: nv.Ordinal(tie=-1.0), r"Ordinal\(tie=-1.0\) must be finite and not negative"),
        (lambda: book(families={"v": "ordinal"}).fit({"v": np.eye(4)}, list("abab")), "which are no single levels"),
    ],
)
def test_what_cannot_be_levels_is_refused(make, words):
    with pytest.raises(InvalidSetting, match=words):
        make()


# -- a model like any other --------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::naively.StaleWarning")
@pytest.mark.parametrize("model", ["textbook", "auto"])
def test_rows_add_and_go_merge_and_keep_in_a_file(model, tmp_path):
    x, y = simulated(0, 120)
    table = as_frame(x, ordered=True)
    nb = nv.NaiveBayes(model=model).fit(table, y)
    p = nb.predict_proba(table)
    assert_allclose(nb.predict_proba(table.iloc[3]), p[[3]])
    assert_allclose(nb.predict_proba(dict(table.iloc[3])), p[[3]])
    nb.save(tmp_path / "model.parquet")
    same = nv.load(tmp_path / "model.parquet")
    assert same.schema_["c0"].family == nb.schema_["c0"].family
    assert_array_equal(same.predict_proba(table), p)
    assert nv.Schema.from_json(json.loads(json.dumps(nb.schema_.to_json()))) == nb.schema_
    counts = nb.counts_
    more = nb.partial_fit(table.iloc[:7], y[:7]).forget(table.iloc[:7], y[:7])
    assert more.counts_ == counts
    assert "c0: most frequent is" in nb.summary()


def test_models_of_levels_in_another_order_do_not_merge():
    a, b = (book(families={"x": nv.Ordinal(levels=order)}).fit({"x": GRADES}, Y) for order in (LEVELS, LEVELS[::-1]))
    assert nv.merge(a, a).counts_ == a.counts_ + a.counts_
    with pytest.raises(IncompatibleCounts, match=r"Column 'x' has the levels \['low'.*give both the same"):
        nv.merge(a, b)


def test_levels_are_left_out_of_learning_without_labels_where_they_maximise_nothing():
    y = [*Y[:6], *[None] * 6]
    families = {"x": nv.Ordinal(levels=LEVELS)}
    nv.NaiveBayes(families=families, unlabelled="em", estimate="mle", model="textbook").fit({"x": GRADES}, y)
    with pytest.raises(InvalidSetting, match=r"Of 'x': levels .* maximize no likelihood.*'categorical'"):
        book(families=families, unlabelled="em", estimate="map", smoothing=2.0).fit({"x": GRADES}, y)


@pytest.mark.parametrize(
    ("model", "rows", "gain"),
    [("textbook", 100, 0.01), ("textbook", 1000, 0.0), ("auto", 100, 0.0), ("auto", 1000, -0.005)],
)
def test_an_order_that_tells_something_is_worth_rows(model, rows, gain):
    losses = []
    for ordered in (True, False):
        of = []
        for seed in range(3):
            x, y = simulated(seed, rows + 2000)
            table = as_frame(x, ordered)
            p = nv.NaiveBayes(model=model).fit(table[:rows], y[:rows]).predict_proba(table[rows:])
            of.append(-np.log(p[np.arange(2000), y[rows:]]).mean())
        losses.append(np.mean(of))
    assert losses[0] < losses[1] - gain


# -- files and the command line ---------------------------------------------------------------------------------------


@pytest.fixture
def csv(tmp_path):
    """Return a file of grades, as words and as numbers."""
    rows = pd.DataFrame({"grade": GRADES * 6, "number": [1, 2, 10, 3] * 18, "y": Y * 6})
    rows.to_csv(tmp_path / "grades.csv", index=False)
    return tmp_path / "grades.csv", rows


def test_levels_are_named_on_the_command_line(csv, tmp_path):
    from click.testing import CliRunner

    from naively.cli import main

    def ran(*words):
        return CliRunner().invoke(
            main, ["fit", str(csv[0]), "--target", "y", "-o", str(tmp_path / "m.parquet"), *words]
        )

    done = ran("--family", "grade=ordinal:low,mid,high,top", "--family", "number=ordinal")
    assert done.exit_code == 0, done.output
    assert nv.load(tmp_path / "m.parquet").schema_["grade"].family == nv.Ordinal(levels=LEVELS)
    assert nv.load(tmp_path / "m.parquet").schema_["number"].family == nv.Ordinal()
    asked = ran("--family", "grade=ordinal")
    assert asked.exit_code != 0
    assert "--family grade=ordinal:LOWEST,…,HIGHEST" in asked.output
    assert (
        "must name its levels, lowest first, such as ordinal:low,mid,high" in ran("--family", "grade=ordinal:").output
    )
