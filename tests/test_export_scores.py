"""Exported models give the probabilities of `predict_proba`, whatever program scores the rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import naively as nv
from naively.errors import InvalidInput

from .export_cases import SCORERS, opened
from .flat_cases import (
    FAMILIES,
    MODELS,
    SETTINGS,
    asked,
    fitted,
    joint_model,
    letters,
    penguin_rows,
    plain_rows,
    table_of,
)
from .tables import penguins

pytestmark = pytest.mark.alone
ODD = [
    "select",
    'a"b',
    "it's <&>",
    "a b",
    "naïve 名",
    "x;--",
    "$1",
    "%s",
    "a.b",
    "`tick`",
    "back\\slash",
    "nv_x",
    "1st",
]


@pytest.fixture(scope="module", params=SCORERS)
def scorer(request):
    """Return one program after the other."""
    if request.param in ("duckdb", "sqlite", "postgres"):
        pytest.importorskip("sqlglot", reason="needs sqlglot: pip install sqlglot")
    with opened(request.param) as program:
        yield program


@pytest.mark.parametrize("model", MODELS)
def test_penguins(scorer, model):
    nb = nv.NaiveBayes(model=model, missing="value").fit(*penguins())
    scorer.check(nb, [*penguin_rows(), dict.fromkeys(nb.feature_names_in_)])


# The terms of the default model are the same for most families, and settings change the numbers of tables alone.
@pytest.mark.parametrize(
    ("model", "families"), [*(("textbook", name) for name in FAMILIES), ("auto", "counts"), ("auto", "bins")]
)
def test_every_family(scorer, model, families):
    scorer.check(fitted(table_of(2), model, FAMILIES[families], missing="value"), asked(table_of(2)))


@pytest.mark.parametrize(("model", "how"), [*(("textbook", name) for name in SETTINGS), ("auto", "rare values")])
def test_every_setting(scorer, model, how):
    scorer.check(fitted(table_of(1), model, {"visits": "poisson"}, **SETTINGS[how]), asked(table_of(1)))


def test_terms_of_several_columns(scorer):
    scorer.check(*joint_model(missing="value"))


@pytest.mark.parametrize("classes", [2, 26])
def test_any_number_of_classes(scorer, classes):
    scorer.check(*letters(classes))


def test_classes_that_are_ruled_out_have_probability_0_and_all_of_them_give_the_prior(scorer):
    nb = nv.NaiveBayes(model="textbook", estimate="mle", classes=["1", "2", "none"])
    nb.fit({"a": ["x", "y", "y"], "b": ["p", "q", "q"]}, ["1", "2", "2"])
    rows = [{"a": "x", "b": "p"}, {"a": "x", "b": "q"}, {"a": None, "b": "q"}, {"a": "new", "b": None}]
    scorer.check(nb, rows)
    labels, found = scorer.score(nb, rows)
    assert labels[1] == "2"
    assert found[0, 1] < 1e-300  # 0, but for how a runtime computes exp(-inf)
    assert np.allclose(found[1], [1 / 3, 2 / 3, 0.0], atol=1e-15)


def test_large_numbers_of_events_lose_no_digits(scorer):
    y = np.arange(200) % 2
    table = pd.DataFrame({"events": np.random.default_rng(0).poisson(1_000_000 + 2_000 * y)})
    nb = nv.NaiveBayes(model="textbook", families={"events": "poisson"}).fit(table, y)
    scorer.check(nb, plain_rows(table), within=1e-7)


def test_halves_of_levels_are_rounded_to_the_even_one(scorer):
    """Levels are 4096ths; a column of numbers in 8192nds of them has many halves."""
    nb = nv.NaiveBayes().fit(pd.DataFrame({"x": np.arange(400.0), "z": np.arange(400.0) % 7}), np.arange(400) // 200)
    column = next(column for column in nb.flat().content["columns"] if column["name"] == "x")
    assert column["steps"]
    halves = [column["center"] + (number + 0.5) / column["steps"] for number in range(-40, 40)]
    scorer.check(nb, [{"x": x, "z": None} for x in halves])


@pytest.mark.parametrize("model", MODELS)
def test_what_predict_refuses_contributes_nothing(scorer, model):
    table = table_of(10)
    nb = fitted(table, model, {"visits": "poisson"}, unseen="error")
    row = asked(table)[0]
    for name, cell in (("visits", -1), ("color", "pink")):  # a negative number of events, and an unseen category
        with pytest.raises(InvalidInput):
            nb.predict_proba([row | {name: cell}])
        found = scorer.score(nb, [row | {name: cell}])[1]
        assert np.abs(found - nb.predict_proba([row | {name: None}])).max() < 1e-9


@pytest.mark.parametrize("model", MODELS)
def test_names_categories_and_classes_of_any_characters(scorer, model):
    categories = [f"{name}'); DROP TABLE rows; -- ]]> </script>" for name in ODD] + ["", " blank ", "`${1}`", "{}"]
    random = np.random.default_rng(0)
    table = pd.DataFrame({name: random.choice(categories, 90) for name in ODD})
    y = np.array(['cl"ass', "<cl'ass>", "三"])[np.arange(90) % 3]
    nb = nv.NaiveBayes(model=model, families=dict.fromkeys(ODD, "categorical")).fit(table, y)
    scorer.check(nb, plain_rows(table))
