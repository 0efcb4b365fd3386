"""Charts: their values, their files, and the errors where nothing can be drawn."""

import json
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn import metrics

import naively as nv
from naively.errors import InvalidInput, NotInstalled
from naively.judge.metrics import class_curve
from naively.page.style import DARK, LIGHT

from .tables import penguins

SVG = "{http://www.w3.org/2000/svg}"
RNG = np.random.default_rng(5)
SURE = RNG.uniform(0.5, 1.0, 3000)
HONEST = nv.Scores(np.column_stack([SURE, 1 - SURE]), (RNG.random(3000) > SURE).astype(int), ("no", "yes"))
TABLE = {"sky": ["rain", "sunny", "rain", "sunny", "rain", None], "wind": [3.0, 1.0, 4.0, 1.5, 5.0, 2.0]}
DAYS = ["in", "out", "in", "out", "in", "out"]
PENGUIN = {"island": "Dream", "bill_length_mm": 43.0, "sex": "male"}


def learned(model="auto", columns=tuple(PENGUIN)):
    """Return a model of some columns of the penguins."""
    X, y = penguins()
    return nv.NaiveBayes(model=model).fit(X[list(columns)], y)


def marks(chart, role, path):
    """Return how many marks of a role an SVG of the chart holds."""
    chart.save(path)
    found = [g for g in ElementTree.parse(path).iter(f"{SVG}g") if role in (g.get("class") or "").split()]
    return sum(len(list(group.iter(f"{SVG}path"))) for group in found)


def values_of(chart, field):
    """Return the data of a chart that have a field."""
    return [one for data in chart.to_dict()["datasets"].values() for one in data if field in one]


# -- scores ------------------------------------------------------------------------------------------------------------


def test_a_diagram_has_a_point_a_rule_and_a_bar_for_each_confidence(tmp_path):
    """Of each model; the points are those of the reliability table, and the share lies in its interval."""
    others = HONEST.baseline
    chart = nv.plots.calibration({"honest": HONEST, "baseline": others})
    both = len(HONEST.reliability()) + len(others.reliability())
    assert both == 9
    assert marks(chart, "mark-symbol", tmp_path / "a.svg") == both + 2  # with those of the legend
    assert marks(chart, "mark-rect", tmp_path / "a.svg") == both
    few = nv.plots.calibration({"honest": HONEST, "baseline": others}, least=1000)
    assert marks(few, "mark-symbol", tmp_path / "b.svg") == 1 + 2
    assert marks(few, "mark-rect", tmp_path / "b.svg") == both
    points, table = values_of(nv.plots.calibration(HONEST), "rows"), HONEST.reliability()
    for name in ("rows", "confidence", "accuracy"):
        np.testing.assert_allclose([point[name] for point in points], table[name])
    assert all(point["low"] <= point["accuracy"] <= point["high"] for point in points)
    assert sum(point["share"] for point in points) == pytest.approx(1.0)


def test_a_roc_curve_is_that_of_scikit_learn():
    """Its points lie on it, and the area under it is that of the scores."""
    weights, p = RNG.uniform(0.5, 2.0, 3000), HONEST.posterior[:, 1]
    curve = class_curve(nv.Scores(HONEST.posterior, HONEST.truth, HONEST.classes, weights), "yes")
    fall_out, recall, _ = metrics.roc_curve(HONEST.truth, p, sample_weight=weights, drop_intermediate=False)

    assert curve.area == pytest.approx(metrics.roc_auc_score(HONEST.truth, p, sample_weight=weights))
    whole = {(round(x, 9), round(y, 9)) for x, y in zip(fall_out, recall, strict=True)}
    assert {(round(x, 9), round(y, 9)) for x, y in zip(curve.fall_out, curve.recall, strict=True)} <= whole
    assert len(curve.recall) <= 403
    assert np.trapezoid(curve.recall, curve.fall_out) == pytest.approx(curve.area, abs=1e-3)  # fewer points


def test_curves_are_named_by_model_or_by_class():
    both = nv.plots.roc({"honest": HONEST, "constant": HONEST.baseline})
    names = {f"honest (AUC {HONEST.auc:.3f})", "constant (AUC 0.500)"}
    assert {point["curve"] for point in values_of(both, "curve")} == names
    X, y = penguins()
    nb = nv.NaiveBayes().fit(X, y)
    three = nv.Scores(nb.predict_proba(X), y, nb.classes_)
    assert {point["curve"] for point in values_of(nv.plots.precision_recall(three), "curve")} == {*nb.classes_}
    one = nv.plots.precision_recall(three, label="Gentoo").to_dict()
    assert one["layer"][1]["encoding"]["y"]["title"] == "precision of Gentoo"
    with pytest.raises(InvalidInput, match="label=None leaves open which class is to be found; give one of"):
        nv.plots.roc({"a": three, "b": three})


# -- one row -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["auto", "textbook"])
def test_a_waterfall_ends_at_the_log_odds(model):
    """Each step begins where the one above it ended; a class that is ruled out is said to be."""
    evidence = learned(model).explain(PENGUIN)
    steps = values_of(nv.plots.waterfall(evidence), "end")

    k, other = evidence.answer[0], evidence.against[0]
    assert steps[0]["start"] == 0
    assert all(after["start"] == step["end"] for step, after in pairwise(steps[:-1]))
    assert steps[-1]["column"] == "sum"
    assert steps[-1]["end"] == pytest.approx(steps[-2]["end"])
    assert steps[-1]["end"] == pytest.approx(evidence.log_joint[0, k] - evidence.log_joint[0, other])
    assert any(step["column"].startswith("together (") for step in steps) == (model == "auto")
    ruled_out = nv.NaiveBayes(estimate="mle").fit(TABLE, DAYS).explain({"sky": "rain", "wind": 1.2})
    steps = values_of(nv.plots.waterfall(ruled_out), "end")
    assert {step["said"] for step in steps if step["column"] in ("sky  rain", "sum")} == {"+∞"}
    assert all(np.isfinite([step["start"], step["end"]]).all() for step in steps)


# -- the model ---------------------------------------------------------------------------------------------------------


def test_columns_are_drawn_by_their_counts(tmp_path):
    X, y = penguins()
    nb = nv.NaiveBayes().fit(X, y)
    chart = nv.plots.columns(nb, ["island", "bill_length_mm"])
    share = {(bar["class"], bar["value"]): bar["share"] for bar in values_of(chart, "share")}
    assert share["Adelie", "Dream"] == pytest.approx(56 / 152)
    assert share["Gentoo", "Biscoe"] == 1.0
    for label in nb.classes_:
        points = [(step["x"], step["density"]) for step in values_of(chart, "density") if step["class"] == label]
        area = sum((right - left) * tall for (left, tall), (right, _) in pairwise(points))
        assert area == pytest.approx(1.0, abs=0.01)
    chart.save(tmp_path / "columns.svg")
    book = nv.NaiveBayes(model="textbook").fit(X, y)
    points = values_of(nv.plots.columns(book, ["bill_length_mm"]), "density")
    x, density = (
        np.array([point[name] for point in points if point["class"] == "Gentoo"]) for name in ("x", "density")
    )
    assert np.trapezoid(density, x) == pytest.approx(1.0, abs=0.01)
    assert np.trapezoid(density * x, x) == pytest.approx(X["bill_length_mm"][y == "Gentoo"].mean(), abs=0.1)
    many = nv.plots.columns(nv.NaiveBayes(model="textbook").fit(RNG.normal(size=(60, 20)), [0, 1] * 30))
    assert len(many.to_dict()["vconcat"]) == 12


# -- looks, files, errors ----------------------------------------------------------------------------------------------


def charts(theme):
    """Return a chart of every kind."""
    nb = learned()
    evidence = nb.explain(PENGUIN)
    return {
        "calibration": nv.plots.calibration(HONEST, theme=theme),
        "roc": nv.plots.roc(HONEST, theme=theme),
        "precision_recall": nv.plots.precision_recall(HONEST, theme=theme),
        "waterfall": nv.plots.waterfall(evidence, theme=theme),
        "columns": nv.plots.columns(nb, theme=theme),
        "importance": nv.plots.importance(nb, theme=theme),
    }


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_chart_has_the_colors_of_its_theme(theme):
    """And no others; all public functions are among them, and light ones can be put next to each other."""
    look = {"light": LIGHT, "dark": DARK}[theme]
    known = {color.lower() for part in look for color in ([part] if isinstance(part, str) else part)}
    drawn = charts(theme)
    assert {*drawn} == {*nv.plots.__all__}
    for name, chart in drawn.items():
        found = chart.to_dict()
        spec = json.dumps({key: part for key, part in found.items() if key != "config" or theme == "dark"})
        used = {color.lower() for color in re.findall(r"#[0-9A-Fa-f]{6}", spec)}
        assert used <= known, name
        assert used, name
        assert (found.get("config", {}).get("background") == look.background) == (theme == "dark")
    if theme == "light":
        alt = pytest.importorskip("altair")
        assert len(alt.hconcat(*drawn.values()).to_dict()["hconcat"]) == len(drawn)


def test_charts_are_written_as_pictures_and_names_are_not_cut(tmp_path):
    """Long and Chinese names, too; twice the same to the last byte."""
    for name in ("a.png", "b.png"):
        nv.plots.calibration(HONEST).save(tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    long = "a name of a column that is much longer than what Vega shows of it by default"
    nb = nv.NaiveBayes(model="textbook").fit({long: ["青绿", "乌黑"] * 5, "色泽": ["x", "y"] * 5}, ["是", "否"] * 5)
    evidence = nb.explain({long: "青绿", "色泽": "x"})
    for chart in (nv.plots.importance(nb), nv.plots.waterfall(evidence)):
        chart.save(tmp_path / "a.svg")
        texts = [text.text or "" for text in ElementTree.parse(tmp_path / "a.svg").iter(f"{SVG}text")]
        assert any(text.startswith(long) for text in texts)
        assert any(text.startswith("色泽") for text in texts)


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda: nv.plots.calibration({}), "Give Scores, or a dict such as"),
        (lambda: nv.plots.roc([HONEST]), "Give Scores, or a dict such as"),
        (lambda: nv.plots.calibration(HONEST, level=90), "level=90 must lie between 0 and 1"),
        (lambda: nv.plots.roc(HONEST, theme="blue"), "theme='blue' is not known; give 'light' or 'dark'"),
        (lambda: nv.plots.roc(HONEST, label="maybe"), "'maybe' is no class; the classes are"),
        (lambda: nv.plots.roc(nv.Scores.from_labels(["a", "b"], ["a", "a"])), "without probabilities"),
        (lambda: nv.plots.roc(nv.Scores([[0.9, 0.1]], ["no"], ("no", "yes"))), "nothing to distinguish"),
        (lambda: nv.plots.waterfall(nv.NaiveBayes().fit(TABLE, DAYS).explain(TABLE), 6), "row=6 is none of the 6 rows"),
        (lambda: nv.plots.waterfall(learned().explain(PENGUIN), 1), "row=1 is none of the 1 rows"),
        (lambda: nv.plots.columns(learned(), ["height"]), "Column 'height' is not used"),
        (lambda: nv.plots.columns(nv.NaiveBayes().fit(["a b", "c d"] * 9, [0, 1] * 9)), "no column of labels or"),
    ],
)
def test_what_no_chart_can_show_is_refused(draw, words):
    """With what was found and what to do."""
    with pytest.raises(InvalidInput, match=words):
        draw()


def test_altair_is_loaded_when_a_chart_is_drawn_and_one_line_says_what_to_install(monkeypatch):
    program = "import sys, naively as nv; nv.plots.calibration; sys.exit('altair' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(Path(nv.__file__).parents[1])}
    assert subprocess.run([sys.executable, "-c", program], env=environment, check=False).returncode == 0
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(NotInstalled, match=r'drawn by Altair, which is not installed: pip install "naively\[plots\]"'):
        nv.plots.calibration(HONEST)
