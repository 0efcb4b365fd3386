"""Charts: their values, their files, and the errors where nothing can be drawn."""

import importlib.util
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
from sklearn.datasets import load_iris

import naively as nv
from naively.errors import InvalidInput, NotInstalled
from naively.explain.column_distributions import column_distribution
from naively.explain.nomogram import nomogram_axes
from naively.explain.nomogram_chart import labelled_marks
from naively.explain.plots import reliability_points
from naively.explain.waterfall_chart import waterfall_steps
from naively.judge.curves import class_curve, jeffreys_interval
from naively.markup.palette import DARK, LIGHT

from .tables import penguins

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


# -- curves, waterfalls, nomograms and columns -------------------------------------------------------------------------

PENGUIN = {"island": "Dream", "bill_length_mm": 43.0, "sex": "male"}


def values_of(chart, at=0):
    """Return the data of a chart."""
    return list(chart.to_dict()["datasets"].values())[at]


def learned(model="auto", columns=tuple(PENGUIN)):
    """Return a model of some columns of the penguins."""
    X, y = penguins()
    return nv.NaiveBayes(model=model).fit(X[list(columns)], y)


def test_a_roc_curve_is_that_of_scikit_learn():
    """Its points lie on it, and the area under it is that of the scores."""
    weights = RNG.uniform(0.5, 2.0, 3000)
    scores = nv.Scores(HONEST.posterior, HONEST.truth, HONEST.classes, weights)
    curve = class_curve(scores, "yes")
    fall_out, recall, _ = metrics.roc_curve(
        HONEST.truth, HONEST.posterior[:, 1], sample_weight=weights, drop_intermediate=False
    )

    assert curve.area == pytest.approx(
        metrics.roc_auc_score(HONEST.truth, HONEST.posterior[:, 1], sample_weight=weights)
    )
    whole = {(round(x, 9), round(y, 9)) for x, y in zip(fall_out, recall, strict=True)}
    assert {(round(x, 9), round(y, 9)) for x, y in zip(curve.fall_out, curve.recall, strict=True)} <= whole
    assert len(curve.recall) <= 403
    assert np.trapezoid(curve.recall, curve.fall_out) == pytest.approx(curve.area, abs=1e-3)  # fewer points


def test_precision_and_recall_are_those_of_their_threshold():
    curve = class_curve(HONEST, "no")
    p, own = HONEST.posterior[:, 0], HONEST.truth == 0
    for at in range(1, len(curve.threshold), 37):
        taken = p >= curve.threshold[at]
        assert curve.recall[at] == pytest.approx((taken & own).sum() / own.sum())
        assert curve.precision[at] == pytest.approx((taken & own).sum() / taken.sum())
    assert curve.base_rate == pytest.approx(own.mean())


def test_curves_are_named_by_model_or_by_class():
    both = nv.plots.roc({"honest": HONEST, "constant": HONEST.baseline})
    assert {point["curve"] for point in values_of(both, 1)} == {
        f"honest (AUC {HONEST.auc:.3f})",
        "constant (AUC 0.500)",
    }
    X, y = penguins()
    nb = nv.NaiveBayes().fit(X, y)
    three = nv.Scores(nb.predict_proba(X), y, nb.classes_)
    assert {point["curve"] for point in values_of(nv.plots.precision_recall(three), 1)} == {*nb.classes_}
    one = nv.plots.precision_recall(three, label="Gentoo").to_dict()
    assert one["layer"][1]["encoding"]["y"]["title"] == "precision of Gentoo"


@pytest.mark.parametrize("model", ["auto", "textbook"])
def test_a_waterfall_ends_at_the_log_odds(model):
    """Each step begins where the one above it ended."""
    evidence = learned(model).explain(PENGUIN)
    steps = waterfall_steps(evidence, 0)

    k, other = evidence.answer[0], evidence.against[0]
    assert steps[0]["start"] == 0
    for step, after in pairwise(steps[:-1]):
        assert after["start"] == step["end"]
    assert steps[-1]["column"] == "sum"
    assert steps[-1]["end"] == pytest.approx(steps[-2]["end"])
    assert steps[-1]["end"] == pytest.approx(evidence.log_joint[0, k] - evidence.log_joint[0, other])
    assert any(step["column"].startswith("together (") for step in steps) == (model == "auto")


def test_a_waterfall_of_a_class_that_is_ruled_out_says_so():
    nb = nv.NaiveBayes(estimate="mle").fit(TABLE, DAYS)
    steps = waterfall_steps(nb.explain({"sky": "rain", "wind": 1.2}), 0)
    assert {step["said"] for step in steps if step["column"] in ("sky  rain", "sum")} == {"+∞"}
    assert all(np.isfinite([step["start"], step["end"]]).all() for step in steps)


@pytest.mark.parametrize("model", ["auto", "textbook"])
def test_marks_of_a_nomogram_are_answers_of_the_model(model):
    """With one cell changed and all others held."""
    nb = learned(model)
    axes = nomogram_axes(nb, PENGUIN, "Chinstrap", "Adelie")

    at = [list(nb.classes_).index(label) for label in ("Chinstrap", "Adelie")]
    assert {mark.column for mark in axes.marks} == set(PENGUIN)
    for mark in axes.marks:
        value = PENGUIN[mark.column] if mark.own else mark.value
        row = PENGUIN | {mark.column: float(value) if mark.column == "bill_length_mm" else value}
        joint = nb.explain(row).log_joint[0]
        assert mark.log_odds == pytest.approx(joint[at[0]] - joint[at[1]], abs=1e-9)
    assert sum(mark.own for mark in axes.marks) == len(PENGUIN)


def test_the_probabilities_of_a_nomogram_are_those_of_the_model():
    """The floor under them included."""
    X, y = penguins()
    nb = nv.NaiveBayes().fit(X[["bill_length_mm", "sex"]], y == "Adelie")
    row = {"bill_length_mm": 42.0, "sex": "male"}
    axes = nomogram_axes(nb, row, True, False)
    assert axes.log_odds_of(nb.predict_proba(row)[0, 1]) == pytest.approx(axes.log_odds, abs=1e-6)
    assert "probability" in {mark["column"] for mark in labelled_marks(axes)}


def test_labels_of_a_nomogram_do_not_lie_on_each_other():
    nb = learned(columns=("island", "bill_length_mm", "flipper_length_mm", "body_mass_g", "sex"))
    row = PENGUIN | {"flipper_length_mm": 193.0, "body_mass_g": 4000.0}
    marks = labelled_marks(nomogram_axes(nb, row, None, None))
    wide = (max(mark["odds"] for mark in marks) - min(mark["odds"] for mark in marks)) / 480
    groups = {}
    for mark in marks:
        if mark["place"] >= 0:
            groups.setdefault((mark["column"], mark["place"]), []).append((mark["odds"], len(mark["shown"])))
    for group in groups.values():
        for (left, a), (right, b) in pairwise(sorted(group)):
            assert right - left > 5 * wide * (a + b) / 2
    assert all(mark["place"] >= 0 for mark in marks if mark["own"])


def test_columns_are_drawn_by_their_counts(tmp_path):
    X, y = penguins()
    nb = nv.NaiveBayes().fit(X, y)
    chart = nv.plots.columns(nb, ["island", "bill_length_mm"])
    bars, steps = values_of(chart, 0), values_of(chart, 1)

    share = {(bar["class"], bar["value"]): bar["share"] for bar in bars}
    assert share["Adelie", "Dream"] == pytest.approx(56 / 152)
    assert share["Gentoo", "Biscoe"] == 1.0
    for label in nb.classes_:
        points = [(step["x"], step["density"]) for step in steps if step["class"] == label]
        area = sum((right - left) * tall for (left, tall), (right, _) in pairwise(points))
        assert area == pytest.approx(1.0, abs=0.01)
    chart.save(tmp_path / "columns.svg")
    many = nv.plots.columns(nv.NaiveBayes(model="textbook").fit(RNG.normal(size=(60, 20)), [0, 1] * 30))
    assert len(many.to_dict()["vconcat"]) == 12


def charts(theme):
    """Return a chart of every kind."""
    nb = learned()
    evidence = nb.explain(PENGUIN)
    return {
        "calibration": nv.plots.calibration(HONEST, theme=theme),
        "roc": nv.plots.roc(HONEST, theme=theme),
        "precision_recall": nv.plots.precision_recall(HONEST, theme=theme),
        "evidence": nv.plots.evidence(evidence, theme=theme),
        "waterfall": nv.plots.waterfall(evidence, theme=theme),
        "nomogram": nv.plots.nomogram(nb, PENGUIN, theme=theme),
        "columns": nv.plots.columns(nb, theme=theme),
        "importance": nv.plots.importance(nb, theme=theme),
    }


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_chart_has_the_colors_of_its_theme(theme):
    """And no others; all public functions are among them."""
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


def test_light_charts_can_be_put_beside_each_other():
    alt = pytest.importorskip("altair")
    drawn = charts("light")
    assert len(alt.hconcat(*drawn.values()).to_dict()["hconcat"]) == len(drawn)


def test_long_and_chinese_names_are_not_cut(tmp_path):
    long = "a name of a column that is much longer than what Vega shows of it by default"
    nb = nv.NaiveBayes(model="textbook").fit({long: ["青绿", "乌黑"] * 5, "色泽": ["x", "y"] * 5}, ["是", "否"] * 5)
    evidence = nb.explain({long: "青绿", "色泽": "x"})
    for chart in (nv.plots.importance(nb), nv.plots.evidence(evidence), nv.plots.waterfall(evidence)):
        chart.save(tmp_path / "a.svg")
        texts = [text.text or "" for text in ElementTree.parse(tmp_path / "a.svg").iter(f"{SVG}text")]
        assert any(text.startswith(long) for text in texts)
        assert any(text.startswith("色泽") for text in texts)


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda: nv.plots.roc(HONEST, theme="blue"), "theme='blue' is not known; give 'light' or 'dark'"),
        (lambda: nv.plots.roc(HONEST, label="maybe"), "'maybe' is no class; the classes are"),
        (lambda: nv.plots.roc([HONEST]), "Give Scores, or a dict such as"),
        (lambda: nv.plots.roc(nv.Scores.from_labels(["a", "b"], ["a", "a"])), "without probabilities"),
        (lambda: nv.plots.roc(nv.Scores([[0.9, 0.1]], ["no"], ("no", "yes"))), "nothing to distinguish"),
        (lambda: nv.plots.waterfall(learned().explain(PENGUIN), 1), "row=1 is none of the 1 rows"),
        (lambda: nv.plots.nomogram(learned(), [PENGUIN]), "Give one row as a dict"),
        (lambda: nv.plots.nomogram(learned(), PENGUIN, "Emperor"), "'Emperor' is no class"),
        (lambda: nv.plots.columns(learned(), ["height"]), "Column 'height' is not used"),
        (
            lambda: nv.plots.columns(nv.NaiveBayes().fit(["a b", "c d"] * 9, [0, 1] * 9)),
            "no column of labels or numbers",
        ),
    ],
)
def test_what_no_chart_can_show_is_refused(draw, words):
    with pytest.raises(InvalidInput, match=words):
        draw()


def test_several_models_of_many_classes_need_a_label():
    X, y = penguins()
    nb = learned()
    scores = nv.Scores(nb.predict_proba(X[list(PENGUIN)]), y, nb.classes_)
    with pytest.raises(InvalidInput, match="label=None leaves open which class is to be found; give one of"):
        nv.plots.roc({"a": scores, "b": scores})


def test_the_pictures_of_the_guide_are_what_is_drawn():
    """Their texts are those of charts that are made now."""
    spec = importlib.util.spec_from_file_location("make_images", ROOT / "docs" / "images" / "make_images.py")
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    vl_convert = pytest.importorskip("vl_convert")
    for name, chart in make.penguin_charts().items():
        drawn = ElementTree.fromstring(vl_convert.vegalite_to_svg(chart.to_dict()))
        kept = ElementTree.parse(ROOT / "docs" / "images" / name)
        assert [text.text for text in kept.iter(f"{SVG}text")] == [text.text for text in drawn.iter(f"{SVG}text")]


def test_whole_numbers_are_charted_as_whole_numbers():
    """A few of them as bars of single values, others in bins whose edges lie halfway between two of them."""
    rng = np.random.default_rng(3)
    age = rng.integers(18, 72, 300)
    nb = nv.NaiveBayes().fit({"age": age, "flag": rng.integers(0, 2, 300)}, np.where(age > 44, "old", "young"))
    fitted = nb.fitted_
    of = {name: column_distribution(fitted.model, fitted.all_counts, name) for name in ("age", "flag")}
    assert of["flag"].values == ["0", "1"]
    assert of["age"].whole
    assert all(edge % 1 == 0.5 for edge in of["age"].edges)
