"""Charts: their values, their files, and the errors where nothing can be drawn."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn.datasets import load_iris

import naively as nv
from naively.errors import InvalidInput, NotInstalled
from naively.explain.plots import jeffreys_interval, reliability_points

ROOT = Path(__file__).resolve().parents[1]
SVG = "{http://www.w3.org/2000/svg}"
RNG = np.random.default_rng(5)
SURE = RNG.uniform(0.5, 1.0, 3000)
HONEST = nv.Scores(np.column_stack([SURE, 1 - SURE]), (RNG.random(3000) > SURE).astype(int), ("no", "yes"))
TABLE = {"sky": ["rain", "sunny", "rain", "sunny", "rain", None], "wind": [3.0, 1.0, 4.0, 1.5, 5.0, 2.0]}
DAYS = ["in", "out", "in", "out", "in", "out"]


def marks(chart, role, path):
    """Return how many marks of a role an SVG of the chart holds."""
    chart.save(path)
    found = [g for g in ElementTree.parse(path).iter(f"{SVG}g") if role in (g.get("class") or "").split()]
    return sum(len(list(group.iter(f"{SVG}path"))) for group in found)


def test_a_diagram_has_a_point_a_rule_and_a_bar_for_each_confidence(tmp_path):
    """Of each model; the points are those of the reliability table."""
    others = HONEST.baseline
    chart = nv.plots.calibration({"honest": HONEST, "baseline": others})

    both = len(HONEST.reliability()) + len(others.reliability())
    assert both == 9
    assert marks(chart, "mark-symbol", tmp_path / "a.svg") == both + 2  # with those of the legend
    assert marks(chart, "mark-rect", tmp_path / "a.svg") == both
    few = nv.plots.calibration({"honest": HONEST, "baseline": others}, least=1000)
    assert marks(few, "mark-symbol", tmp_path / "b.svg") == 1 + 2
    assert marks(few, "mark-rect", tmp_path / "b.svg") == both


def test_points_are_those_of_the_table():
    """How many rows, how sure, how many right; and the share lies in its interval."""
    points, table = reliability_points("a", HONEST, 0.9, 0.0), HONEST.reliability()

    for name in ("rows", "confidence", "accuracy"):
        np.testing.assert_allclose([point[name] for point in points], table[name])
    assert all(point["low"] <= point["accuracy"] <= point["high"] for point in points)
    assert sum(point["share"] for point in points) == pytest.approx(1.0)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.97])
def test_nine_intervals_of_ten_hold_the_accuracy(share):
    """That of the rows that were drawn from; there is one also where all or none were right."""
    right = np.random.default_rng(1).binomial(400, share, 4000).astype(float)
    low, high = jeffreys_interval(np.full(4000, 400.0), right, 0.9)

    assert 0.85 <= np.mean((low <= share) & (share <= high)) <= 0.95
    ends = jeffreys_interval(np.array([3.0, 3.0]), np.array([0.0, 3.0]), 0.9)
    assert (ends[0][0], ends[1][1]) == (0.0, 1.0)
    assert ends[0][1] > 0.3


def test_evidence_is_drawn_with_its_values(tmp_path):
    """A bar for the prior and each column, as long as its lead; one without an end is as long as the longest."""
    nb = nv.NaiveBayes(estimate="mle").fit(TABLE, DAYS)
    evidence = nb.explain({"sky": "rain", "wind": 1.2})
    chart = nv.plots.evidence(evidence)

    (told,) = chart.to_dict()["datasets"].values()
    finite = dict(lead for lead in evidence.bars() if np.isfinite(lead[1]))
    drawn = {bar["column"].split("  ")[0]: bar["lead"] for bar in told}
    assert {name: drawn[name] for name in finite} == pytest.approx(finite)
    assert abs(drawn["sky"]) == pytest.approx(max(map(abs, finite.values())))
    assert marks(chart, "mark-rect", tmp_path / "a.svg") == 3


def test_importance_has_a_bar_for_each_column(tmp_path):
    """Save those of vectors, of which there is no single figure."""
    nb = nv.NaiveBayes().fit(TABLE | {"words": np.ones((6, 2))}, DAYS)

    assert marks(nv.plots.importance(nb), "mark-rect", tmp_path / "a.svg") == 2


def test_charts_are_written_as_pictures(tmp_path):
    """Of points, too; twice the same to the last byte."""
    for name in ("a.png", "b.png"):
        nv.plots.calibration(HONEST).save(tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda: nv.plots.calibration({}), "Give Scores, or a dict such as"),
        (lambda: nv.plots.calibration([HONEST]), "Give Scores, or a dict such as"),
        (lambda: nv.plots.calibration(HONEST, level=90), "level=90 must lie between 0 and 1"),
        (lambda: nv.plots.evidence(nv.NaiveBayes().fit(TABLE, DAYS).explain(TABLE), 6), "row=6 is none of the 6 rows"),
    ],
)
def test_what_cannot_be_drawn_is_refused(draw, words):
    """With what was found and what to do."""
    with pytest.raises(InvalidInput, match=words):
        draw()


def test_without_altair_one_line_says_what_to_install(monkeypatch):
    """Only when a chart is asked for."""
    monkeypatch.setitem(sys.modules, "altair", None)

    with pytest.raises(NotInstalled, match=r'drawn by Altair, which is not installed: pip install "naively\[plots\]"'):
        nv.plots.calibration(HONEST)


def test_the_package_does_not_load_what_draws():
    """Neither with its name nor with that of the charts."""
    program = "import sys, naively as nv; nv.plots.calibration; sys.exit('altair' in sys.modules)"
    src = str(Path(nv.__file__).parents[1])
    assert (
        subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": src}, check=False).returncode
        == 0
    )


def test_the_picture_of_the_page_is_what_is_drawn():
    """docs/images/calibration.svg has a diagram and bars of three models on two tables."""
    tree = ElementTree.parse(ROOT / "docs" / "images" / "calibration.svg")

    texts = [text.text for text in tree.iter(f"{SVG}text")]
    assert {"digits", "breast cancer", "scikit-learn", "textbook", 'model="auto"'} <= set(texts)
    assert texts.count("probability of the answer") == 2


def test_the_picture_of_the_page_can_be_made(tmp_path, monkeypatch):
    """From the scores of three models to a point and a bar for each confidence, on smaller tables than the page's."""
    spec = importlib.util.spec_from_file_location("make_images", ROOT / "docs" / "images" / "make_images.py")
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    scores = make.compared(*load_iris(return_X_y=True))
    monkeypatch.setattr(make, "compared", lambda X, y: scores)

    chart = make.calibration()

    rows = np.concatenate([one.reliability()["rows"] for one in scores.values()])
    assert marks(chart, "mark-symbol", tmp_path / "a.svg") == 2 * (rows >= 5).sum() + 3  # with those of the legend
    assert marks(chart, "mark-rect", tmp_path / "a.svg") == 2 * len(rows)
