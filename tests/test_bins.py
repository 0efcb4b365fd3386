"""Numbers in bins: how they are cut, that they count as labels do, and that units change no answer."""

from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naively as nv
from naively.counting.row_hash import KEPT, smallest_places
from naively.counting.rows import cell_hashes
from naively.data.column import Column
from naively.data.frame import frame_of
from naively.errors import IncompatibleCounts, InvalidInput, InvalidSetting
from naively.families.bins import Bins, bin_names, quantile_cuts

from .strategies import checked

RNG = np.random.default_rng(3)
LABELS = RNG.choice(["in", "out"], 400, p=[0.4, 0.6])
HUMPS = np.where(LABELS == "in", RNG.choice([-3.0, 3.0], 400), RNG.choice([-6.0, 0.0, 6.0], 400)) + RNG.normal(
    0, 0.6, 400
)
TABLE = pd.DataFrame(
    {
        "humps": np.where(RNG.random(400) < 0.1, np.nan, HUMPS),
        "skewed": np.exp(1.5 * RNG.normal(0, 1, 400) + (LABELS == "in")),
        "often zero": np.where(RNG.random(400) < 0.4, 0.0, RNG.gamma(2, 3, 400)),
    }
)
FAMILIES = dict.fromkeys(TABLE, "bins")


# The default model has bins of its own, so these are the textbook model's.
NaiveBayes, cross_validate, from_counts = (
    partial(make, model="textbook") for make in (nv.NaiveBayes, nv.cross_validate, nv.NaiveBayes.from_counts)
)


def learned(table=TABLE, labels=LABELS, **settings):
    return NaiveBayes(**{"families": FAMILIES, **settings}).fit(table, labels)


# -- cuts -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "bins"), [(60, 5), (250, 10), (4000, 20)])
def test_about_equally_many_rows_fall_into_each_bin(rows, bins):
    """A bin for 25 rows, at least 5 and at most 20."""
    x = RNG.normal(size=rows)
    found = np.bincount(Bins(cuts=quantile_cuts(x, np.ones(rows))).codes(x))
    assert len(found) == bins
    assert found.min() >= 0.5 * rows / bins
    assert found.max() <= 1.5 * rows / bins


@pytest.mark.parametrize("column", [[], [np.nan, np.nan], [4.0, 4.0, np.nan]], ids=["none", "holes", "constant"])
def test_without_different_numbers_there_is_one_bin(column):
    assert quantile_cuts(np.array(column), np.ones(len(column))) == []
    if len(column):
        nb = NaiveBayes(families={"x": "bins"}).fit(
            {"x": column, "y": [1.0] * len(column)}, list("abab")[: len(column)]
        )
        assert (nb.explain({"x": 9.0, "y": 1.0}).scores[0, 0] == 0).all()


def test_a_large_table_is_cut_by_some_of_its_rows_as_a_file_is(tmp_path):
    table = pd.DataFrame({"x": RNG.normal(size=110_000), "y": RNG.choice(["a", "b"], 110_000)})
    table.to_parquet(tmp_path / "rows.parquet")
    families = {"x": nv.Bins(bins=7)}
    here = NaiveBayes(families=families).fit(table, target="y")
    there = NaiveBayes(families=families).fit(tmp_path / "rows.parquet", target="y")
    assert here.schema_ == there.schema_
    assert here.counts_ == there.counts_
    assert len(here.schema_["x"].family.cuts) == 6
    # Cuts are quantiles of 50,000 rows: exact in the sample, and within its standard errors (2 % of a bin) in all rows.
    hashes = cell_hashes(frame_of(table[["x"]]), (Column("x", "number"),), None)
    sampled = table["x"].to_numpy()[smallest_places(hashes, KEPT)]
    family = here.schema_["x"].family
    np.testing.assert_allclose(np.bincount(family.codes(sampled)), KEPT / 7, atol=1)
    np.testing.assert_allclose(here.counts_.columns["x"].n.sum(axis=0), 110_000 / 7, rtol=0.06)


# -- as labels --------------------------------------------------------------------------------------------------------


def coded(nb, table=TABLE):
    """Return a table with the bin of each number in its place."""
    codes = {name: nb.schema_[name].family.codes(table[name].to_numpy()) for name in table}
    return pd.DataFrame({n: pd.array(np.where(c < 0, None, c), dtype="Int64") for n, c in codes.items()})


@pytest.mark.parametrize("missing", ["skip", "value"])
@pytest.mark.parametrize(("estimate", "smoothing"), [("mle", 1.0), ("map", 2.0), ("bayes", 0.5)])
def test_bins_are_scored_as_labels_are(missing, estimate, smoothing):
    how = {"missing": missing, "estimate": estimate, "smoothing": smoothing}
    nb = learned(**how)
    labels = coded(nb)
    categories = NaiveBayes(families=dict.fromkeys(TABLE, "categorical"), **how).fit(labels, LABELS)
    for ask in ("predict_proba", "predict_joint_log_proba", "predict_interval"):
        np.testing.assert_array_equal(getattr(nb, ask)(TABLE), getattr(categories, ask)(labels))
    np.testing.assert_array_equal(nb.explain(TABLE).scores, categories.explain(labels).scores)
    np.testing.assert_array_equal(
        nb.leave_one_out(TABLE, LABELS).posterior, categories.leave_one_out(labels, LABELS).posterior
    )
    np.testing.assert_array_equal(nb.importance()["bits"], categories.importance()["bits"])


def test_bins_of_other_cuts_do_not_add():
    a, b = learned(TABLE[:200], LABELS[:200]), learned(TABLE[200:], LABELS[200:])
    with pytest.raises(
        IncompatibleCounts, match="'humps' is cut into other bins on each side; give both the same schema"
    ):
        nv.merge([a, b])
    with pytest.raises(IncompatibleCounts, match="cut into other bins"):
        a.counts_ + b.counts_
    with pytest.raises(IncompatibleCounts, match="There are 2 bins, but others were counted"):
        from_counts(a.counts_, families={"humps": nv.Bins(cuts=[0.0])}).predict(TABLE)


@pytest.mark.parametrize("model", ["textbook", "auto"])
def test_files_are_fitted_and_scored_fold_by_fold(tmp_path, model):
    TABLE.assign(label=LABELS).to_csv(tmp_path / "rows.csv", index=False)
    nb, seen = NaiveBayes(families=FAMILIES, model=model), []
    done = nv.fit_files(nb, tmp_path / "rows.csv", "label", cv=5, progress=lambda *at: seen.append(at))
    assert done.rows == 400
    assert done.scores.accuracy > 0.85
    assert nb.counts_.agrees(learned(model=model).counts_)
    assert seen[-1][1] == pytest.approx(seen[-1][2], rel=0.01)  # the bar is full at the end
    assert (np.diff([done for _, done, _ in seen]) > 0).all()


# -- density ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cuts", [[0.5], [-2.0], [0.0], [1.0, 4.0], [-3.0, 0.0, 0.25, 0.26, 7.0]])
@pytest.mark.parametrize("estimate", ["mle", "bayes"])
def test_the_density_of_a_row_integrates_to_one(cuts, estimate):
    """Numerically: the inner bins by a fine grid, the tails by the substitution x = cut ± s·(1/t - 1)."""
    nb = NaiveBayes(families={"x": nv.Bins(cuts=cuts)}, estimate=estimate).fit(
        {"x": [0.1, 0.2, 5.0, -9.0]}, list("aabb")
    )
    t = (np.arange(20_000) + 0.5) / 20_000
    away = 1 / t - 1

    def mass(x, dx):
        return float(np.sum(np.exp(nb.score_samples({"x": x})) * dx))

    inner = [mass(a + (b - a) * t, (b - a) / len(t)) for a, b in pairwise(cuts)]
    tails = [mass(cuts[0] - away, t**-2 / len(t)), mass(cuts[-1] + away, t**-2 / len(t))]
    assert sum(inner) + sum(tails) == pytest.approx(1.0, abs=1e-4)


# -- words ------------------------------------------------------------------------------------------------------------


def test_bins_are_shown_as_ranges():
    assert bin_names([]) == ["any number"]
    nb = NaiveBayes(families={"age": nv.Bins(cuts=[18, 65])}).fit({"age": [3, 17, 40, 70]}, ["a", "a", "b", "b"])
    assert nb.probabilities("age")["value"].tolist() == ["up to 18", "18 to 65", "above 65"]
    assert "most frequent is up to 18 for a (2 of 2)" in nb.summary()
    assert "2 of 2 rows of a up to 18, 0 of 2 of b" in str(nb.explain({"age": 4}))
    assert nb.explain({"age": 4}).fractions().splitlines()[0].endswith("(2+1)/(2+3)")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Bins(bins=1), r"Bins\(bins=1\) must be a whole number of 2 or more"),
        (lambda: Bins(bins=2.5), "must be a whole number"),
        (lambda: Bins(cuts=[3, 1]), "must be finite and rise"),
        (lambda: Bins(cuts=[1, np.inf]), "must be finite and rise"),
        (lambda: Bins(cuts=["a"]), "must be numbers such as"),
        (lambda: Bins().codes(np.zeros(1)), "has no cuts yet"),
        (lambda: nv.Column("x", "text", "bins"), "holds text, but the family 'bins' counts numbers"),
        (lambda: nv.Column("x", "vector", "bins"), "holds vectors, which are no single numbers"),
    ],
)
def test_what_cannot_be_bins_is_refused(make, words):
    with pytest.raises(InvalidSetting, match=words):
        make()


def test_infinite_numbers_are_refused():
    with pytest.raises(InvalidInput, match="Row 1, column 'x' holds infinity"):
        NaiveBayes(families={"x": "bins"}).fit({"x": [1.0, np.inf, 2.0]}, list("aba"))
    nb = NaiveBayes(families={"x": "bins"}).fit({"x": [1.0, 3.0, 2.0]}, list("aba"))
    for asked in ({"x": -np.inf}, {"x": [-np.inf] * 20}):
        with pytest.raises(InvalidInput, match="column 'x' holds infinity"):
            nb.predict(asked)


def test_bins_of_whole_numbers_are_named_by_the_numbers_that_they_hold():
    x = np.repeat([0, 1, 2, 5, 9], 40)
    found = [f.names() for f in (nv.Bins(5).cut(x.astype(float), np.ones(len(x))), nv.Bins(cuts=[1.5, 6]))]
    assert found[0] == ["up to 0", "1", "2", "5", "9 or more"]
    assert found[1] == ["up to 1.5", "1.5 to 6", "above 6"]


# -- the unit and the sign of numbers change no answer -----------------------------------------------------------------

# A factor, and what is added: a number that is added must not take digits from numbers that lie close together.
UNITS = [(2.54, 0.0), (1 / 3, 0.0), (1000.0, 0.0), (-1.0, 0.0), (0.4536, 0.5)]
SAME = 1e-9


def simulated(kind):
    """Return a table of numbers with few decimals, whose values lie on each other's midpoints, and its classes."""
    rng = np.random.default_rng(17)
    rows, y = 900, rng.integers(0, 3, 900)
    x = rng.normal(size=(rows, 5)) + 0.7 * y[:, None] * rng.normal(size=5)
    if kind == "two decimals":
        return pd.DataFrame(x.round(2)).add_prefix("x"), y
    if kind == "whole numbers":
        return pd.DataFrame((x * 20).round()).add_prefix("x"), y
    if kind == "skewed":
        return pd.DataFrame(np.exp(2 * x).round(1)).add_prefix("x"), y
    holes = np.where(rng.random(x.shape) < 0.2, np.nan, x.round(1))
    return pd.DataFrame(holes).add_prefix("x").assign(city=rng.choice(["Rome", "Oslo", "Bern"], rows)), y


def in_other_units(table, by, plus):
    """Return the table with its numbers in other units."""
    numbers = table.select_dtypes("number").columns
    return table.assign(**{name: by * table[name].astype(float) + plus for name in numbers})


def check_units(table, y, **settings):
    """Check that two thirds of the rows answer for the last third as they do in other units."""
    learned = np.arange(len(y)) % 3 > 0
    asked = ~learned

    def answers(rows):
        return nv.NaiveBayes(**settings).fit(rows[learned], y[learned]).predict_proba(rows[asked])

    before = answers(table)
    for by, plus in UNITS:
        assert np.abs(answers(in_other_units(table, by, plus)) - before).max() <= SAME, (by, plus)


@pytest.mark.parametrize("kind", ["two decimals", "whole numbers", "skewed", "missing values"])
def test_units_change_no_answer(kind):
    check_units(*simulated(kind))


# -- where cuts lie --------------------------------------------------------------------------------------------------

numbers = st.floats(-1e150, 1e150) | st.floats(-10, 10) | st.integers(-1000, 1000).map(lambda n: n / 100)


def cuts_between(values, weights=None):
    """Return a cut between each two neighbors: of a million bins, each number has one for itself."""
    return quantile_cuts(values, np.ones(len(values)) if weights is None else weights, 10**6)


@checked
@given(st.lists(numbers, min_size=2, max_size=40, unique=True), st.integers(0, 2**32 - 1))
def test_cuts_lie_between_neighbors_and_on_no_number(found, seed):
    values = np.unique(np.array(found) + 0.0)
    weights = np.random.default_rng(seed).integers(1, 5, len(values)).astype(float)
    cuts = cuts_between(values, weights)
    for low, cut, high in zip(values[:-1], cuts, values[1:], strict=True):
        adjacent = np.nextafter(low, np.inf) == high
        assert cut == low if adjacent else low < cut < high
