"""Contributions of columns, taken apart: by their own values, which counts stand behind, and through joint terms."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from naively.model.joint.model import CODES
from naively.model.joint.tables import CodeTables
from numpy.testing import assert_allclose, assert_array_equal

import naively as nv
from naively.cli import main
from naively.explain.evidence_lines import JOINT, OWN
from naively.markup.numbers import signed

from .tables import penguins

AFAR = {
    "island": "Dream", "bill_length_mm": 43.0, "bill_depth_mm": None, "flipper_length_mm": 193.0, "body_mass_g": None,
    "sex": "male", "year": 2009,
}  # fmt: skip


def learned(model="auto", **params):
    X, y = penguins()
    return nv.NaiveBayes(model=model, **params).fit(X, y), X


@pytest.mark.parametrize("params", [{}, {"missing": "value"}, {"prior": "uniform"}, {"temperature": 2.0}], ids=str)
def test_parts_add_up_to_the_log_joint(params):
    """Own values, joint terms, pairs and the prior: their sum is what predict_proba is made of."""
    nb, X = learned(**params)
    evidence = nb.explain(X)

    assert_allclose(evidence.own + evidence.joint, evidence.scores, atol=1e-9)
    assert_allclose(
        evidence.prior + (evidence.own + evidence.joint).sum(axis=1), nb.predict_joint_log_proba(X), atol=1e-9
    )
    for row in (0, 100, 200):
        parts, bars = evidence.parts(row), evidence.bars(row)[1:]
        assert [name for name, _, _ in parts] == [name for name, _ in bars]
        assert_allclose([own + joint for _, own, joint in parts], [lead for _, lead in bars], atol=1e-9)


def test_the_frame_says_which_part_a_line_is():
    """The lines of a row add up to its log joint, and those of a column to its contribution."""
    nb, X = learned()
    evidence = nb.explain(X[:5])
    frame, labels = pd.DataFrame(evidence.frame()), [f"score of {label}" for label in nb.classes_]
    pairs = [name for name in evidence.columns if " × " in name]

    assert frame["part"].value_counts().to_dict() == {
        "own": 35, "joint": 35, "prior": 5, "pair": 5 * len(pairs),
    }  # fmt: skip
    assert_allclose(frame.groupby("row")[labels].sum(), nb.predict_joint_log_proba(X[:5]), atol=1e-9)
    of_sex = frame[frame["column"] == "sex"]
    assert of_sex["part"].tolist() == ["own", "joint"] * 5
    totals = of_sex.groupby("row")[labels].sum()
    assert_allclose(totals, evidence.scores[:, evidence.columns.index("sex")], atol=1e-9)


def test_own_values_are_worth_what_their_counts_say():
    """73 of 146 rows beside 34 of 68 is even: the bar beside these counts is none, whatever joint terms say."""
    nb, _ = learned()
    evidence = nb.explain(AFAR)
    _, own, joint = next(part for part in evidence.parts() if part[0] == "sex")

    assert abs(own) < 0.01 < abs(joint)
    lines = str(evidence).splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith("sex "))
    assert "73 of 146" not in lines[at]
    assert lines[at + 1].startswith(f"{OWN} ")
    assert lines[at + 1].endswith("73 of 146 rows of Adelie, 34 of 68 of Chinstrap")
    assert lines[at + 2].startswith(f"{JOINT} ")
    assert lines[at + 2].endswith("linear and quadratic terms of all columns")


def test_counts_stand_beside_own_values_alone():
    """In no line of the picture do counts stand beside a bar that is not theirs."""
    nb, X = learned()
    for row in range(0, len(X), 50):
        for line in str(nb.explain(X[row : row + 1])).splitlines()[2:]:
            assert line.startswith(OWN) or (" rows of " not in line and " ± " not in line), line


def test_own_values_of_labels_are_a_weight_of_their_counts():
    """The own part is the same multiple of what counts say, whichever row holds the value."""
    nb, X = learned()
    evidence = nb.explain(X)
    at = evidence.columns.index("sex")
    for value in ("male", "female"):
        same = np.flatnonzero(X["sex"] == value)
        assert_allclose(evidence.own[same, at], np.broadcast_to(evidence.own[same[0], at], (len(same), 3)), atol=1e-12)
        assert np.ptp(evidence.own[same[0], at]) < 0.1  # sexes are as frequent in every species


def test_a_column_that_is_missing_has_no_part():
    nb, _ = learned()
    evidence = nb.explain(AFAR)
    for name in ("bill_depth_mm", "body_mass_g"):
        at = evidence.columns.index(name)
        assert not evidence.own[0, at].any()
        assert not evidence.joint[0, at].any()
    assert str(evidence).count("contributes nothing") == 2


def test_the_textbook_has_no_joint_terms():
    """Its pictures have one line for each column, and its frame own parts alone."""
    nb, X = learned("textbook")
    evidence = nb.explain(X[:2])

    assert evidence.joint is None
    assert_array_equal(evidence.own, evidence.scores)
    assert OWN not in str(evidence)
    assert set(pd.DataFrame(evidence.frame())["part"]) == {"prior", "own"}
    assert all(joint == 0 for _, _, joint in evidence.parts())


def test_a_notebook_shows_the_parts_below_the_bar_of_their_column():
    nb, _ = learned()
    evidence = nb.explain(AFAR)
    page = evidence._repr_html_()
    own, joint = {name: lead for name, *lead in evidence.parts()}["sex"]

    behind = "73 of 146 rows of Adelie, 34 of 68 of Chinstrap"
    assert f"own values {signed(own, 3)} ({behind}), joint terms {signed(joint, 3)}" in page
    assert page.count("own values") == page.count("joint terms") == 5
    assert page.index("sex</span> = ") < page.index(behind)


def test_the_command_shows_parts_as_text_and_as_data(tmp_path):
    nb, _ = learned()
    nb.save(tmp_path / "m.parquet")
    pd.DataFrame([AFAR]).to_csv(tmp_path / "new.csv", index=False)
    asked = ["explain", str(tmp_path / "m.parquet"), str(tmp_path / "new.csv")]

    text, data = (CliRunner().invoke(main, [*asked, *more]) for more in ([], ["--json"]))

    assert "linear and quadratic terms of all columns" in text.output
    columns = {column["name"]: column for column in json.loads(data.output)["columns"]}
    for label, score in columns["sex"]["scores"].items():
        assert columns["sex"]["own"][label] + columns["sex"]["joint"][label] == pytest.approx(score, abs=1e-9)
    pair = next(column for name, column in columns.items() if " × " in name)
    assert "own" not in pair


def test_a_chart_has_a_bar_for_each_part():
    pytest.importorskip("altair")
    nb, _ = learned()
    chart = nv.plots.evidence(nb.explain(AFAR)).to_dict()
    (bars,) = chart["datasets"].values()
    names = [bar["column"] for bar in bars]

    assert len(names) == len(set(names))
    assert {"sex  male", "sex  male: own values", "sex  male: joint terms"} <= set(names)


def test_answers_look_up_no_more_tables_than_before():
    """Parts are kept for explanations; a score is still a single look at the sum of both."""
    nb, _ = learned()
    tables = nb.fitted_.model.tables

    assert isinstance(nb.fitted_.model.scorer.terms[CODES], CodeTables)
    assert nb.fitted_.model.scorer.terms[CODES] is tables.codes
    assert len(tables.codes.tables) == len(tables.linear)


def test_of_many_columns_the_strongest_are_drawn():
    """The others have one line together, so that the picture still adds up."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 100))
    nb = nv.NaiveBayes(model="textbook").fit(X, X[:, 3] > 0)
    lines = str(nb.explain(X[:1])).splitlines()

    assert len(lines) == 1 + 1 + 30 + 1
    assert lines[-1].startswith("(70 other columns) ")
    leads = (re.search(r" ([+−]?[0-9]+[.][0-9]{3}) ", line)[1] for line in lines[1:])
    shown = sum(float(lead.replace("−", "-")) for lead in leads)
    joint = nb.predict_joint_log_proba(X[:1])[0]
    assert shown == pytest.approx(abs(joint[0] - joint[1]), abs=0.05)
