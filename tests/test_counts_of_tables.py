"""Counts of tables are a value: they add, subtract and fade, and no order or grouping of rows matters."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

import naively as nv
from naively import NaiveBayes
from naively.data.column import Column
from naively.data.schema import Schema
from naively.errors import IncompatibleCounts, InvalidInput, InvalidSetting

from .strategies import Choices, cells_of, checked, scale_of, state_of
from .tables import LABELS, TABLE, book, part, rows

# -- tables of every family -------------------------------------------------------------------------------------------

COLOURS = np.array(["red", "blue", "green", None], dtype=object)
NUMBERS = np.array([0.0, 0.1, -3.5, 1e6, 1e8, 1e8 + 0.5, 2.0, np.nan])
EVENTS = np.array([0.0, 1, 2, 3, 50, np.nan])
FLAGS = np.array([True, False, None], dtype=object)
WEIGHTS = np.array([0.1, 0.2, 0.3, 1 / 3, 1, 7.7, 1e-3, 999.9])
CLASSES = np.array(["ham", "spam", "eggs"])
SIZE = 12


def schema(*columns: tuple[Any, ...]) -> Schema:
    return Schema(tuple(Column(*column) for column in columns))


SIZES, WORDS_ = ("size", "number"), ("words", "vector")
FAMILIES: dict[str, Schema] = {
    "categorical": schema(("colour", "text")),
    "bernoulli": schema(("flag", "boolean", nv.Bernoulli())),
    "gaussian": schema(SIZES),
    "poisson": schema(("events", "number", nv.Poisson())),
    "bins": schema((*SIZES, nv.Bins(cuts=[-1.0, 0.0, 2.5]))),
    "words": schema(WORDS_),
    "flags": schema((*WORDS_, nv.Bernoulli())),
    "vectors": schema((*WORDS_, nv.Gaussian())),
    "mixed": schema(
        ("colour", "text"),
        SIZES,
        ("flag", "boolean"),
        ("events", "number", nv.Poisson()),
        ("level", "text", None, ("low", "high")),
    ),
    "everything": schema(("colour", "text"), SIZES, WORDS_),
}
EXACT = ("categorical", "bernoulli", "bins", "words", "flags")
each_family = pytest.mark.parametrize("family", FAMILIES)
single = pytest.mark.parametrize("family", [f for f in FAMILIES if not FAMILIES[f].of_kind("vectors")])


@dataclass(frozen=True)
class Drawn:
    """A few rows of a table with their classes and weights."""

    columns: dict[str, Any]
    y: np.ndarray
    weights: np.ndarray | None

    def __len__(self) -> int:
        return len(self.y)

    def only(self, which: Any) -> "Drawn":
        """Return some of the rows."""
        which = np.asarray(which, dtype=int)
        columns = {name: column[which] for name, column in self.columns.items()}
        return Drawn(columns, self.y[which], None if self.weights is None else self.weights[which])

    def frame(self) -> Any:
        """Return the rows as a data frame, or as a dict of columns if some are vectors."""
        return self.columns if "words" in self.columns else pd.DataFrame(self.columns)

    def dicts(self) -> list[dict[str, Any]]:
        """Return the rows as dicts."""
        return rows({name: list(column) for name, column in self.columns.items()})


def drawn(choices: Choices, family: str, weighted: bool) -> Drawn:
    """Make a few rows of the columns of a family."""
    size = int(choices.of(range(1, SIZE + 1), 1)[0])
    made = {
        "colour": choices.of(COLOURS, size),
        "size": choices.of(NUMBERS, size),
        "flag": choices.of(FLAGS, size),
        "events": choices.of(EVENTS, size),
        "level": choices.of(["low", "high"], size),
        "words": sparse.csr_array(choices.of([0.0, 0, 0, 1, 2, 5], size, 4)),
    }
    if family == "vectors":
        made["words"] = choices.of(NUMBERS, size, 4)
    columns = {column.name: made[column.name] for column in FAMILIES[family]}
    return Drawn(columns, choices.of(CLASSES, size), choices.of(WEIGHTS, size) if weighted else None)


def tables(family: str, weighted: bool | None = None) -> st.SearchStrategy[Drawn]:
    """Draw the rows of a table."""
    room = st.binary(min_size=20 * SIZE, max_size=20 * SIZE)
    flags = st.booleans() if weighted is None else st.just(weighted)
    return st.builds(lambda bytes_, flag: drawn(Choices(bytes_), family, flag), room, flags)


def fitted(table: Drawn, family: str, **parameters: Any) -> NaiveBayes:
    """Return the classifier of these rows."""
    return book(families=FAMILIES[family], **parameters).fit(table.frame(), table.y, sample_weight=table.weights)


def counted(table: Drawn, family: str) -> nv.Counts:
    """Return the counts of these rows."""
    return nv.count(table.frame(), table.y, schema=FAMILIES[family], sample_weight=table.weights)


def same(found: nv.Counts, expected: nv.Counts, exact: bool, whole: nv.Counts | None = None) -> None:
    """See that counts are equal; moments and weights to 1e-12 of what was summed."""
    whole = expected if whole is None else whole
    if exact:
        assert found == expected
    assert found.classes == expected.classes
    cells, meant, scale = cells_of(found, whole), cells_of(expected, whole), scale_of(whole)
    assert cells.keys() == meant.keys()
    for key, cell in meant.items():
        assert np.all(np.abs(cells[key] - cell) <= 1e-12 * np.abs(scale[key])), key


def is_exact(table: Drawn, family: str) -> bool:
    return family in EXACT and table.weights is None


# -- order and grouping -----------------------------------------------------------------------------------------------


@each_family
@checked
@given(data=st.data())
def test_rows_in_any_order_and_grouping_give_the_same_counts(family, data):
    table = data.draw(tables(family))
    order = data.draw(st.permutations(range(len(table))))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(table)), max_size=3)))
    batches = [batch for batch in np.split(np.array(order), cuts) if len(batch)]
    nb = book(families=FAMILIES[family])
    for batch in map(table.only, batches):
        nb.partial_fit(batch.frame(), batch.y, sample_weight=batch.weights)
    same(nb.counts_, fitted(table, family).counts_, is_exact(table, family))


@single
@checked
@given(data=st.data())
def test_one_row_at_a_time_as_a_dict_or_a_frame_is_the_table_at_once(family, data):
    table = data.draw(tables(family))
    whole = fitted(table, family)
    weights = [None] * len(table) if table.weights is None else [[weight] for weight in table.weights]
    for make in (dict, lambda row: pd.DataFrame([row], columns=list(row)), lambda row: pl.DataFrame([row])):
        nb = book(families=FAMILIES[family])
        for row, label, weight in zip(table.dicts(), table.y, weights, strict=True):
            nb.partial_fit(make(row), label if make is dict else [label], sample_weight=weight)
        same(nb.counts_, whole.counts_, is_exact(table, family))
        assert_array_equal(nb.classes_, whole.classes_)


# -- arithmetic -------------------------------------------------------------------------------------------------------


@each_family
@checked
@given(data=st.data(), weighted=st.booleans())
def test_counts_add_and_subtract(family, data, weighted):
    one, two = data.draw(tables(family, weighted)), data.draw(tables(family, weighted))
    a, b = counted(one, family), counted(two, family)
    before = state_of(a), state_of(b)
    both = book(families=FAMILIES[family]).fit(one.frame(), one.y, sample_weight=one.weights)
    both.partial_fit(two.frame(), two.y, sample_weight=two.weights)
    exact = is_exact(one, family)
    same(a + b, both.counts_, exact)
    same(b + a, a + b, exact)
    same((a + b) - b, a, exact, a + b)
    assert sum([a, b]) == a + b
    assert sum([a]) == a
    assert (state_of(a), state_of(b)) == before


@each_family
@checked
@given(data=st.data(), weight=st.sampled_from([0.5, 0.9, 2, 1.0, 3]))
def test_fading_is_weighing_every_row(family, data, weight):
    """What is multiplied by 0.9 are the counts of rows that weigh 0.9."""
    table = data.draw(tables(family, weighted=False))
    weighed = Drawn(table.columns, table.y, np.full(len(table), float(weight)))
    same(counted(table, family) * weight, counted(weighed, family), exact=False)
    assert weight * counted(table, family) == counted(table, family) * weight
    assert (counted(table, family) * 0).rows.sum() == 0


@each_family
@checked
@given(data=st.data())
def test_from_counts_is_the_same_model(family, data):
    table = data.draw(tables(family))
    nb = fitted(table, family)
    again = NaiveBayes.from_counts(nb.counts_)
    assert again.counts_ == nb.counts_
    assert again.schema_ == nb.schema_
    assert_array_equal(again.classes_, nb.classes_)
    assert_array_equal(again.predict_proba(table.frame()), nb.predict_proba(table.frame()))
    more = again.partial_fit(table.frame(), table.y, sample_weight=table.weights).counts_
    same(more, nb.counts_ + nb.counts_, is_exact(table, family))


MISFITS = {
    "a column less": ({"colour": ["red"]}, "Column 'member' is counted on one side only"),
    "another family": (
        {**part(TABLE, [0]), "size": ["large"]},
        "Column 'size' (is counted in two ways, Moments and Table|holds numbers and text)",
    ),
    "codes of another type": ({**part(TABLE, [0]), "colour": [True]}, "Column 'colour' holds text and booleans"),
}


@pytest.mark.parametrize("kind", MISFITS)
def test_counts_that_do_not_fit_say_why(kind):
    (X, words), whole = MISFITS[kind], nv.count(TABLE, LABELS)
    with pytest.raises(IncompatibleCounts, match=words):
        whole + nv.count(X, ["yes"])
    with pytest.raises(IncompatibleCounts, match="Column"):
        nv.count(X, ["yes"]) + whole
    with pytest.raises(InvalidInput, match=r"[Cc]olumn"):
        whole - nv.count(X, ["yes"])


def test_classes_of_two_types_vectors_of_two_lengths_and_weights_that_are_none_are_refused():
    both = nv.count(TABLE, LABELS) + nv.count(TABLE, [1] * 8)
    with pytest.raises(InvalidInput, match="labels must be all numbers or all texts"):
        NaiveBayes.from_counts(both)
    a, b = (nv.count({"w": sparse.csr_array(np.eye(4, width))}, list("abab")) for width in (4, 9))
    with pytest.raises(IncompatibleCounts, match=r"'w'.*4.*9"):
        a + b
    for weight in (-1, np.nan, np.inf):
        with pytest.raises(InvalidSetting, match="Rows cannot weigh"):
            a * weight


# -- forgetting -------------------------------------------------------------------------------------------------------


@each_family
@checked
@given(data=st.data())
def test_forgetting_restores_the_model_never_shown_those_rows(family, data):
    table = data.draw(tables(family))
    gone = data.draw(st.sets(st.integers(0, len(table) - 1), max_size=len(table) - 1))
    rest = [row for row in range(len(table)) if row not in gone]
    nb, whole = fitted(table, family), fitted(table, family).counts_
    # Fractions are restored to 1e-12 of the sums before each step, so they go in one.
    for batch in np.array_split(sorted(gone), data.draw(st.integers(1, 3)) if table.weights is None else 1):
        if len(batch):
            away = table.only(batch)
            as_dict = len(batch) == 1 and "words" not in table.columns  # a single row may be given as one
            nb.forget(away.dicts()[0] if as_dict else away.frame(), away.y[0] if as_dict else away.y, away.weights)
    never = fitted(table.only(rest), family)
    same(nb.counts_, never.counts_, is_exact(table, family), whole)
    assert_array_equal(nb.classes_, never.classes_)
    if is_exact(table, family):
        assert_array_equal(nb.predict_proba(table.frame()), never.predict_proba(table.frame()))


# -- failures change nothing ------------------------------------------------------------------------------------------

MIXED = {"colour": ["red", "blue"] * 4, "size": np.arange(8.0), "words": sparse.csr_array(np.eye(8, 3))}
FAILING = {
    "infinity": ({**MIXED, "size": np.r_[np.arange(7.0), np.inf], "colour": ["new"] * 8}, ["new"] * 8, {}),
    "a number too large": ({**MIXED, "size": np.full(8, 1e200)}, ["new"] * 8, {}),
    "negative words": ({**MIXED, "words": sparse.csr_array(-np.eye(8, 3))}, ["new"] * 8, {}),
    "other width": ({**MIXED, "words": sparse.csr_array(np.eye(8, 4))}, ["new"] * 8, {}),
    "another type": ({**MIXED, "colour": [1, 2] * 4}, ["new"] * 8, {}),
    "a missing column": ({name: MIXED[name] for name in ("colour", "size")}, ["new"] * 8, {}),
    "too few labels": (MIXED, ["new"] * 7, {}),
    "a missing label": (MIXED, ["new"] * 7 + [None], {}),
    "a negative weight": (MIXED, ["new"] * 8, {"sample_weight": [-1] * 8}),
    "labels of another type": (MIXED, [1] * 8, {}),
}
ALONE_FINE = ("other width", "another type", "a missing column", "labels of another type")


@pytest.mark.parametrize("kind", FAILING)
def test_what_fails_changes_nothing(kind):
    X, y, more = FAILING[kind]
    nb = book().fit(MIXED, ["a", "b"] * 4)
    state, answers = state_of(nb.counts_), nb.predict_proba(MIXED)
    for attempt in (
        lambda: nb.partial_fit(X, y, **more),
        lambda: nb.partial_fit(X, y, classes=["newer"], **more),
        lambda: nb.forget(X, y, **more),
        lambda: nb.forget(MIXED, ["b", "a"] * 4),
        *([lambda: nb.fit(X, y, **more)] if kind not in ALONE_FINE else []),
    ):
        with pytest.raises(InvalidInput):
            attempt()
        assert state_of(nb.fitted_.state.counts.counter.value()) == state_of(nb.counts_) == state
        assert list(nb.classes_) == ["a", "b"]
        assert_array_equal(nb.predict_proba(MIXED), answers)
    assert nb.partial_fit(MIXED, ["a", "b"] * 4).counts_.rows.tolist() == [8, 8]


def test_a_block_that_is_refused_takes_the_earlier_ones_with_it():
    """Infinity in row 200,000 leaves nothing of the rows before."""
    X = {"size": np.zeros(200_001), "colour": np.full(200_001, "new", dtype=object)}
    nb = book().fit({"size": [1.0, 2.0], "colour": ["red", "blue"]}, ["a", "b"])
    before = state_of(nb.counts_)
    X["size"][-1] = np.inf
    with pytest.raises(InvalidInput, match="Row 200000, column 'size' holds infinity"):
        nb.partial_fit(X, ["c"] * 200_001)
    assert state_of(nb.fitted_.state.counts.counter.value()) == state_of(nb.counts_) == before
    assert list(nb.classes_) == ["a", "b"]
