"""Evidence adds up to the prediction, says what stands behind it, and shows the arithmetic of the textbook model."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import naively as nv
from naively.errors import InvalidInput

from . import worked_table
from .table_cases import CASES, ROWS, learned, name_of, some
from .tables import book, penguins
from .worked_table import COLUMNS, RAINY, TODAY

NEW = {  # rows never learned: a missing value, a value never seen, a far number, many words
    "colour": ["red", None, "green"], "shape": ["odd", "flat", "square"], "size": [1.0, None, 1e6],
    "weight": [1e3, -50.0, None], "visits": [0, None, 12], "member": [None, True, False],
}  # fmt: skip


def more_rows(table):
    """Return the rows of a table and three new ones."""
    found = {}
    for name, column in table.items():
        if isinstance(column, list):
            found[name] = column + NEW[name]
        else:
            found[name] = column[[*range(ROWS), 0, 2, 5]] * np.append(np.ones(ROWS), [3, 1, 2])[:, None]
    return found


@pytest.mark.pairwise
@pytest.mark.parametrize(("kind", "settings"), CASES, ids=name_of)
def test_contributions_of_columns_add_up_to_the_prediction(kind, settings):
    """For every family, estimate and setting; and each column contributes what it does alone."""
    nb, table = learned(kind, settings)
    X = more_rows(table)
    evidence = nb.explain(X)

    joint = nb.predict_joint_log_proba(X)
    assert_allclose(evidence.base + evidence.scores.sum(axis=1), joint, rtol=1e-9, atol=1e-9)
    assert_array_equal(evidence.log_joint, evidence.base + evidence.scores.sum(axis=1))
    assert_allclose(evidence.probabilities, nb.predict_proba(X), rtol=1e-9, atol=1e-12)
    assert_array_equal(nb.classes_[evidence.answer], nb.predict(X))
    for at, name in enumerate(table):
        alone = nb.set_params(columns=[name]).predict_joint_log_proba(X)
        assert_allclose(evidence.base + evidence.scores[:, at], alone, rtol=1e-9, atol=1e-9)


# -- the worked table --------------------------------------------------------------------------------------------------


def dates(rows=worked_table.ROWS, **settings):
    """Return the classifier of the worked table."""
    return book(**settings).fit([day(row[:-1]) for row in rows], [row[-1] for row in rows])


def day(values):
    return dict(zip(COLUMNS, values, strict=True))


@pytest.mark.parametrize(
    ("settings", "values", "lines"),
    [
        (
            {"estimate": "mle"},
            TODAY,
            ["否  9/17 · 3/9 · 4/9 · 3/9 · 4/9 · 2/9 · 3/9", "是  8/17 · 3/8 · 3/8 · 2/8 · 1/8 · 5/8 · 2/8"],
        ),
        (
            {"estimate": "mle"},
            RAINY,
            ["否  9/17 · 3/9 · 4/9 · 2/9 · 4/9 · 2/9 · 3/9", "是  8/17 · 3/8 · 3/8 · 0/8 · 1/8 · 5/8 · 2/8"],
        ),
        (
            {},
            TODAY,
            [
                "否  (9+1)/(17+2) · (3+1)/(9+3) · (4+1)/(9+3) · (3+1)/(9+3) · (4+1)/(9+3) · (2+1)/(9+3) · (3+1)/(9+2)",
                "是  (8+1)/(17+2) · (3+1)/(8+3) · (3+1)/(8+3) · (2+1)/(8+3) · (1+1)/(8+3) · (5+1)/(8+3) · (2+1)/(8+2)",
            ],
        ),
        (
            {"columns": ["天气", "电视"], "smoothing": 0.5, "prior": "uniform", "unseen": "smooth"},
            ["周六", "逛街", "大雪", "适中", "清零", None],
            ["是  0.5 · (0+0.5)/(8+2)", "否  0.5 · (0+0.5)/(9+2)"],
        ),
        (
            {"columns": ["天气"], "estimate": "map", "smoothing": 3.0, "prior_smoothing": 1.0},
            TODAY,
            ["否  9/17 · (3+2)/(9+6)", "是  8/17 · (2+2)/(8+6)"],
        ),
    ],
    ids=["plain", "plain, rain", "λ = 1", "half a row, a new value, a hole", "map"],
)
def test_the_arithmetic_is_that_of_the_textbook_model(settings, values, lines):
    assert dates(**settings).explain(day(values)).fractions().splitlines() == lines


@pytest.mark.pairwise
@pytest.mark.parametrize(
    ("kind", "settings"), [case for case in CASES if case[0] in ("labels", "labels, overall", "flags")], ids=name_of
)
@pytest.mark.parametrize("prior", ["empirical", "uniform"])
def test_the_fractions_multiply_to_the_joint(kind, settings, prior):
    """For every estimate and setting of labels, λ spread evenly or as the values are overall; d has no rows."""
    nb, table = learned(kind, settings, classes=["a", "b", "c", "d"], prior=prior)
    evidence = nb.explain(more_rows(table))
    for row in range(len(evidence)):
        found = dict(line.split("  ") for line in evidence.fractions(row).splitlines())
        with np.errstate(divide="ignore"):
            got = np.log([eval(found[label].replace("·", "*")) for label in evidence.classes])
        assert_allclose(got, evidence.log_joint[row], rtol=1e-9, atol=1e-9)


# -- pictures ----------------------------------------------------------------------------------------------------------


def lines_of(evidence):
    """Return the lines of the picture by their first word."""
    return {line.split()[0]: line for line in str(evidence).splitlines()[1:]}


def test_the_picture_shows_the_lead_of_each_column_and_the_rows_behind_it():
    evidence = dates(estimate="mle").explain(day(TODAY))
    first, prior, strongest, second, *_ = str(evidence).splitlines()
    assert first == "否 (72.7 %) against 是 (27.3 %)"
    assert " ".join(prior.split()) == "(prior) +0.118 │█ 9 of 17 rows are 否, 8 是"
    assert " ".join(strongest.split()) == "课业 适中 +1.269 │██████████ 4 of 9 rows of 否, 1 of 8 of 是"
    assert " ".join(second.split()) == "疫情 清零 −1.034 ████████│ 2 of 9 rows of 否, 5 of 8 of 是"
    assert repr(evidence) == str(evidence)
    leads, joint = dict(evidence.bars()), evidence.log_joint[0]
    assert sum(leads.values()) == pytest.approx(joint[0] - joint[1], abs=1e-12)
    assert leads["课业"] == pytest.approx(np.log(4 / 9) - np.log(1 / 8))
    strengths = [abs(lead) for lead in leads.values()][1:]
    assert strengths == sorted(strengths, reverse=True)


def test_missing_and_unseen_cells_contribute_nothing_unless_they_are_values():
    sky, wind = ["sun", "sun", "rain", None], [3.0, 4.0, 9.0, None]
    nb = book().fit({"sky": sky, "wind": wind, "sea": ["calm", "calm", "calm", "high"]}, ["out", "out", "in", "in"])
    row = {"sky": None, "wind": None, "sea": "frozen"}

    lines = {name: " ".join(line.split()) for name, line in lines_of(nb.explain(row)).items()}
    assert lines["sky"] == "sky (missing) │ contributes nothing"
    assert lines["wind"] == "wind (missing) │ contributes nothing"
    assert lines["sea"] == "sea frozen │ contributes nothing: never seen"
    assert nb.explain(row).fractions().splitlines() == ["in  (2+1)/(4+2)", "out  (2+1)/(4+2)"]

    evidence = nb.set_params(missing="value", unseen="smooth").explain(row)
    assert lines_of(evidence)["sky"].endswith("1 of 2 rows of in, 0 of 2 of out")
    assert "contributes nothing" not in str(evidence)
    assert lines_of(evidence)["sea"].endswith("never seen")


def test_the_prediction_is_compared_with_another_class():
    nb = book().fit({"x": ["p", "q", "r", "p", "q", "r", "p"]}, ["a", "b", "c", "a", "b", "b", "a"])
    rows = {"x": ["p", "q", "r"]}
    joint, runner_up, given = nb.predict_joint_log_proba(rows), nb.explain(rows), nb.explain(rows, against="b")
    assert (runner_up.against == np.argsort(joint, axis=1)[:, -2]).all()
    for row, answer in enumerate(nb.predict(rows)):
        expected = "b" if answer != "b" else given.classes[runner_up.against[row]]
        assert given.classes[given.against[row]] == expected
        difference = joint[row, given.answer[row]] - joint[row, given.against[row]]
        assert sum(lead for _, lead in given.bars(row)) == pytest.approx(difference)
    with pytest.raises(InvalidInput, match=r"against='z' is no class; the classes are \['a', 'b', 'c'\]"):
        nb.explain(rows, against="z")
    # Where all others are ruled out, with the most frequent of them; a single class has no other.
    table, labels = {"x": ["p", "q", "q", "r", "r", "r"]}, ["a", "b", "b", "c", "c", "c"]
    evidence = book(estimate="mle").fit(table, labels).explain({"x": ["p", "r"]})
    assert [evidence.classes[k] for k in evidence.against] == ["c", "b"]
    evidence = book().fit({"x": ["p", "q"]}, ["a", "a"]).explain({"x": "p"})
    assert str(evidence).splitlines()[0] == "a (100 %)"
    assert "1 of 2 rows of a" in str(evidence)


def test_costs_change_decisions_and_not_the_evidence():
    nb = dates()
    before = str(nb.explain(day(TODAY)))
    assert nb.set_params(cost={("是", "否"): 5}).predict(day(TODAY)) == ["是"]
    assert str(nb.explain(day(TODAY))) == before


def test_the_evidence_comes_as_a_frame():
    nb, table = learned("all", {})
    evidence = nb.explain(some(table, [0, 3]))
    frame, scores = pd.DataFrame(evidence.frame()), [f"score of {label}" for label in "abc"]

    assert list(frame.columns) == ["row", "column", "part", "value", *scores]
    assert frame["part"].tolist() == ["base", *(["own"] * 7)] * 2
    assert frame["column"].tolist() == ["(prior)", *table] * 2
    assert frame["row"].tolist() == [0] * 8 + [1] * 8
    assert frame["value"].tolist()[:8] == ["", "red", "1.5", "(vector)", "1", "True", "round", "1003"]
    assert frame["value"].tolist()[8:] == ["", "(missing)", "(missing)", "(vector)", "2", "(missing)", "flat", "1002"]
    assert_allclose(frame.groupby("row")[scores].sum(), evidence.log_joint, rtol=1e-9)


# -- own values and joint terms ----------------------------------------------------------------------------------------


def of_penguins(model="auto", **params):
    X, y = penguins()
    return nv.NaiveBayes(model=model, **params).fit(X, y), X


@pytest.mark.parametrize("params", [{}, {"missing": "value"}, {"prior": "uniform"}, {"temperature": 2.0}], ids=str)
def test_parts_add_up_to_the_log_joint(params):
    """Own values, joint terms, pairs and the prior: their sum is what predict_proba is made of."""
    nb, X = of_penguins(**params)
    evidence, joint = nb.explain(X), nb.predict_joint_log_proba(X)
    assert_allclose(evidence.own + evidence.joint, evidence.scores, atol=1e-9)
    assert_allclose(evidence.base + (evidence.own + evidence.joint).sum(axis=1), joint, atol=1e-9)
    for row in (0, 100, 200):
        parts, bars = evidence.parts(row), evidence.bars(row)[1:]
        assert [name for name, _, _ in parts] == [name for name, _ in bars]
        assert_allclose([own + joint for _, own, joint in parts], [lead for _, lead in bars], atol=1e-9)
    # The frame says which part a line is; the lines of a column add up to its contribution.
    frame, labels = pd.DataFrame(nb.explain(X[:5]).frame()), [f"score of {label}" for label in nb.classes_]
    pairs = [name for name in evidence.columns if " × " in name]
    assert frame["part"].value_counts().to_dict() == {
        "own": 35, "joint": 35, "base": 5, "pair": 5 * len(pairs),
    }  # fmt: skip
    assert_allclose(frame.groupby("row")[labels].sum(), joint[:5], atol=1e-9)
    of_sex = frame[frame["column"] == "sex"]
    assert of_sex["part"].tolist() == ["own", "joint"] * 5
    at = evidence.columns.index("sex")
    assert_allclose(of_sex.groupby("row")[labels].sum(), evidence.scores[:5, at], atol=1e-9)
    # The own part is the same multiple of what counts say, whichever row holds the value.
    for value in ("male", "female"):
        same = np.flatnonzero(X["sex"] == value)
        assert_allclose(evidence.own[same, at], np.broadcast_to(evidence.own[same[0], at], (len(same), 3)), atol=1e-12)
        assert np.ptp(evidence.own[same[0], at]) < 0.1  # sexes are as frequent in every species


@pytest.mark.parametrize(
    ("settings", "products", "p"),
    [
        ({"estimate": "mle"}, {"是": Fraction(45, 139264), "否": Fraction(32, 37179)}, 0.7270488325),
        ({}, {"是": Fraction(7776, 15299845), "否": Fraction(125, 135432)}, 0.6448882914),
    ],
    ids=["plain", "λ = 1"],
)
def test_the_fractions_multiply_to_the_products_of_the_notes(settings, products, p):
    evidence = dates(**settings).explain(day(TODAY))
    for label, text in (line.split("  ") for line in evidence.fractions().splitlines()):
        product = Fraction(1)
        for share in text.split(" · "):
            above, below = (sum(map(int, part.strip("()").split("+"))) for part in share.split("/"))
            product *= Fraction(above, below)
        assert product == products[label]
    assert evidence.probabilities[0, 0] == pytest.approx(p, abs=1e-10)
    assert evidence.classes[evidence.answer[0]] == "否"


@pytest.mark.parametrize(
    ("how", "lines"), [("mle", ["是  17/17", "否  0/17"]), ("bayes", ["是  (17+1)/(17+2)", "否  (0+1)/(17+2)"])]
)
def test_a_declared_class_without_rows_has_its_fraction(how, lines):
    """With seventeen rows of 是: 0/17, and 1/19 with λ = 1; where it has no rows all values are alike."""
    rows = [(*row[:-1], "是") for row in worked_table.ROWS]
    nb = dates(rows, estimate=how, classes=["是", "否"], columns=[])
    assert nb.explain(day(TODAY)).fractions().splitlines() == lines
    lines = nb.set_params(columns=["电视"]).explain(day(TODAY)).fractions().splitlines()
    assert lines[1].endswith("1/2" if how == "mle" else "(0+1)/(0+2)")
