"""The page as a text: what it may load, what it holds, and that counts, figures and changes are what labels say."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import warnings
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import naively as nv
from naively.errors import IncompatibleCounts
from naively.estimator.held_out import held_out_quality, quality_at_hand
from naively.judge.histograms import CUTS, QualityCounts, QualitySource, quality_of_scores
from naively.judge.score_views import quality_data, quality_view
from naively.page.content import LANGUAGES, page_texts
from naively.page.page import page_script, report_page
from naively.page.sections import model_section, quality_section
from naively.page.style import ASSETS
from naively.page.tags import json_for_script

from .tables import EXAMPLES, HOSTILE, page_data, penguin_table, shared_table, unpacked_data


class Elements(HTMLParser):
    """The elements of a page with their attributes, and its visible text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, name, attributes):
        """Keep an element."""
        self.found.append((name, dict(attributes)))

    def handle_data(self, text):
        """Keep a text."""
        self.texts.append(text)


@pytest.fixture(scope="module")
def penguins():
    table = penguin_table()
    return nv.NaiveBayes().fit(table, target="species"), table


@pytest.fixture(scope="module")
def hostile():
    """Return a model whose columns, labels and classes are what an attacker would choose."""
    rng = np.random.default_rng(0)
    classes = np.array(HOSTILE[:3], dtype=object)[rng.integers(0, 3, 300)]
    columns = {name: np.array(HOSTILE, dtype=object)[rng.integers(0, len(HOSTILE), 300)] for name in HOSTILE}
    columns["1e308"] = np.where(rng.random(300) < 0.5, 1e100, -1e100)
    return nv.NaiveBayes(model="textbook").fit(columns, classes)


def digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_the_policy_allows_this_style_and_these_scripts_and_nothing_else(penguins):
    page = penguins[0].report().html
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1])
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    loader = re.search(r"<script>(.*?)</script>", page, re.DOTALL)[1]
    assert rules["default-src"] == "'none'"
    assert rules["style-src"] == digest(re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1])
    assert rules["script-src"].split() == [digest(loader), digest(page_script(["row", "model", "quality"], False))]
    assert rules["base-uri"] == rules["form-action"] == "'none'"
    assert "connect-src" not in rules
    served = report_page(page_data(penguins[0], server={"api": "api/v1", "learn": False}))
    assert "connect-src &#x27;self&#x27;" in served


def test_what_people_wrote_is_text_and_nothing_is_loaded(hostile):
    page = hostile.report(title="</title><script>alert(1)</script>").html
    found, shown = Elements(page), "".join(Elements(page).texts)
    assert [name for name, _ in found.found].count("script") == 2
    assert all(text in shown for text in HOSTILE[:3])
    assert unpacked_data(page)["title"] == "</title><script>alert(1)</script>"
    assert {column["name"] for column in unpacked_data(page)["columns"]} == {*HOSTILE, "1e308"}
    for name, attributes in found.found:
        assert name not in {"link", "img", "iframe", "object", "base", "form"}
        assert not {key for key in attributes if key == "style" or key.startswith("on")}
        assert not (attributes.get("src") or "").strip()
        assert (attributes.get("href") or "#").startswith("#")


@pytest.mark.parametrize("text", [*HOSTILE, "\ud800 half a pair", "\x00", "<!--"])
def test_json_within_a_script_element_is_the_value_and_ends_nothing(text):
    written = json_for_script({"text": text})
    assert json.loads(written) == {"text": text}
    assert not re.search("[<>&\u2028\u2029\ud800-\udfff]", written)


def test_the_footer_says_what_the_file_holds(penguins, tmp_path):
    nb, table = penguins
    without = nb.report(rows=0).html
    shown = "".join(Elements(without).texts)
    assert "3 classes (Adelie, Chinstrap, Gentoo)" in shown
    assert "holds no rows" in shown
    assert f"naively {nv.__version__}" in shown
    assert 'id="words"' not in without  # this model has no texts
    assert unpacked_data(without)["rows"] is None
    table.to_csv(tmp_path / "table.csv", index=False)
    some = "".join(Elements(nb.report(tmp_path / "table.csv", rows=20).html).texts)
    assert "20 of 344 rows of table.csv" in some
    assert "fitted on them" in some


def test_every_text_is_there_in_every_language():
    assert len({frozenset(page_texts(language)) for language in LANGUAGES}) == 1
    for path in (ASSETS / "strings").glob("*.json"):
        for key, versions in json.loads(path.read_text("utf-8")).items():
            assert set(versions) == set(LANGUAGES), key
            places = {language: sorted(re.findall(r"\{(\w+)\}", text)) for language, text in versions.items()}
            assert places["en"] == places["zh"], key


def test_scripts_name_only_texts_that_there_are_and_never_write_html():
    for path in ASSETS.glob("*.js"):
        text = path.read_text("utf-8")
        assert set(re.findall(r'say\("([\w.]+)"', text)) <= set(page_texts("en")), path.name
        for forbidden in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
            assert forbidden not in text, (path.name, forbidden)


def test_pages_without_rows_are_small(penguins):
    """Of adult: tables of 91 pairs of columns, of which each number has 21 bins, and of 40 triples; 259,000 bytes."""
    assert len(penguins[0].report().html.encode()) <= 80 * 1024
    table = shared_table("adult-train.csv.gz").iloc[:10_000]
    assert len(nv.NaiveBayes().fit(table, target="income").report().html.encode()) <= 280 * 1000


# -- what the tabs model, quality and compare show ---------------------------------------------------------------------


def answers(rows=2_000, classes=3, seed=0):
    """Return probabilities that are about calibrated, some of them on a cut, and true classes."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(classes, 0.5), rows)
    p[:40] = 0.0
    p[:40, :2] = 0.5
    p[40:60] = np.eye(classes)[0]
    return p, np.array([rng.choice(classes, p=line) for line in p])


GIVEN = QualitySource("given")


def counts_of(p, truth, weights=None, source=GIVEN):
    """Return the counts of rows of classes a, b, …."""
    labels = tuple("abcdefghijklmnopqrstuvwxyz"[: p.shape[1]]) if p.shape[1] <= 26 else tuple(range(p.shape[1]))
    return quality_of_scores(nv.Scores.from_indices(p, truth, labels, weights), source)


def shown(counts, nb=None, language="en"):
    """Return the tab Quality of counts."""
    nb = nb or nv.NaiveBayes(model="textbook").fit({"x": ["u", "v"] * 3}, list(counts.classes)[:2] * 3)
    quality = quality_data(counts)
    data = page_data(nb, classes=counts.classes, quality=quality, quality_view=quality_view(counts, quality))
    return quality_section(replace(data, language=language))


# -- counts of held-out rows -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("classes", [2, 3, 26])
def test_counts_are_exact_at_every_cut(classes, weighted):
    """Rows of each class, and of all others, whose probability is above a cut; figures are those of scores."""
    p, truth = answers(classes=classes)
    w = np.random.default_rng(1).integers(1, 4, len(p)).astype(float) if weighted else np.ones(len(p))
    counts = counts_of(p, truth, w if weighted else None)

    for k in range(classes):
        for at in (0, 5, 11, 12, 260, 511, 512, 900, 1011, len(CUTS) - 1):
            above = p[:, k] > CUTS[at]
            assert counts.own[k, at + 1 :].sum() == w[above & (truth == k)].sum()
            assert counts.other[k, at + 1 :].sum() == w[above & (truth != k)].sum()
    assert counts.rows == w.sum()
    assert {0.001, 0.5, 0.999} <= set(CUTS.tolist())
    assert (np.diff(CUTS) > 0).all()
    scores = nv.Scores.from_indices(p, truth, counts.classes, w if weighted else None)
    for name in ("accuracy", "log_loss", "brier", "auc"):
        assert counts.figures[name] == getattr(scores, name)
    assert counts.errors["accuracy"] == scores.spread["accuracy"]
    assert np.array_equal(counts.confusion, scores.confusion)


def test_counts_are_written_and_read():
    counts = counts_of(*answers(), source=QualitySource("leave_one_out"))
    data = json.loads(json.dumps(counts.to_json()))
    again = QualityCounts.from_json(data, counts.classes)

    assert again is not None
    for name in ("own", "other", "confusion"):
        assert np.array_equal(getattr(again, name), getattr(counts, name))
    assert (again.figures, again.source) == (counts.figures, counts.source)
    assert QualityCounts.from_json(data | {"version": 2}, counts.classes) is None
    for damage in ({"bins": 7}, {"counts": data["counts"][:400]}, {"source": {"kind": "guess", "folds": 0, "of": 0}}):
        with pytest.raises(ValueError, match=r"bytes of counts|the quality"):
            QualityCounts.from_json(data | damage, counts.classes)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_says_which_rows_were_measured_and_how(language):
    told = set()
    for kind in ("folds", "leave_one_out", "given", "fitted"):
        html = shown(counts_of(*answers(200), source=QualitySource(kind, 5, 1_000)), language=language)
        assert "200" in html
        assert "1,000" in html
        told.add(html.split("</p>")[0])
        assert ("5-fold" in html or "5 折" in html) == (kind == "folds")
    assert len(told) == 4  # each way has a sentence of its own


def test_rows_of_one_class_have_no_threshold_and_without_rows_the_page_says_how_to_get_some():
    counts = counts_of(np.full((5, 2), 0.5), np.zeros(5, dtype=int))
    assert quality_data(counts)["first"] is None
    assert "<figure" not in shown(counts)
    nb = nv.NaiveBayes(model="textbook").fit({"x": ["u", "v"]}, ["a", "b"])
    assert "naively report" in quality_section(page_data(nb))


# -- kept with the model -----------------------------------------------------------------------------------------------


@pytest.fixture
def fitted():
    nb = nv.NaiveBayes()
    return nb, nv.fit_files(nb, EXAMPLES / "penguins.csv", "species", cv=5)


def test_a_model_file_without_rows_holds_the_quality_of_the_folds(fitted, tmp_path):
    nb, done = fitted
    nb.save(tmp_path / "m.parquet")
    found = held_out_quality(nv.load(tmp_path / "m.parquet").fitted_)

    assert found is not None
    assert (found.source, found.rows) == (QualitySource("folds", 5), 344)
    assert found.figures["log_loss"] == done.scores.log_loss
    assert np.array_equal(found.confusion, done.scores.confusion)
    assert len(json.dumps(found.to_json())) < 1_500


@pytest.mark.parametrize(("step", "source"), [(1, QualitySource("folds", 5)), (9, QualitySource("leave_one_out"))])
def test_without_a_cross_validation_kept_rows_are_scored_without_themselves(step, source):
    """In folds by the default model; too few rows for its weights are left out one at a time."""
    table = penguin_table()[::step]
    nb = nv.NaiveBayes().fit(table, target="species")
    scores, found = nb.leave_one_out(table, target="species"), held_out_quality(nb.fitted_)

    assert found is not None
    assert found.source == source
    assert found.figures["log_loss"] == pytest.approx(scores.log_loss, rel=1e-9)
    assert np.array_equal(found.confusion, scores.confusion)


def test_quality_is_of_these_counts_and_settings_alone(fitted, tmp_path):
    """Rows that come or go, other settings, merging: what was measured before says nothing about the model then."""
    nb, _ = fitted
    table = penguin_table()
    X, y = table.drop(columns="species"), table["species"]
    nb.save(tmp_path / "m.parquet")

    def loaded():
        return nv.load(tmp_path / "m.parquet")

    assert quality_at_hand(loaded().fitted_) is not None
    other = loaded()
    other.set_params(missing="value")
    assert quality_at_hand(other.fitted_) is None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert quality_at_hand(loaded().partial_fit(X[:1], y[:1]).fitted_) is None
        assert quality_at_hand(nv.merge(loaded(), loaded()).fitted_) is None
        less = loaded().forget(X[:1], y[:1])
    assert less.fitted_.state.held_out.quality is None
    less.save(tmp_path / "less.parquet")
    assert b'"quality"' not in (tmp_path / "less.parquet").read_bytes()
    assert held_out_quality(less.fitted_) is None


# -- columns -----------------------------------------------------------------------------------------------------------


def facts_of(nb):
    return {facts["name"]: facts for facts in page_data(nb).columns}


@pytest.mark.parametrize("model", ["auto", "textbook"])
def test_columns_come_by_their_information_with_all_their_rows(model):
    table = penguin_table()
    nb = nv.NaiveBayes(model=model).fit(table, target="species")
    facts, told = facts_of(nb), nb.importance()

    assert list(facts) == list(told["column"])
    assert [one["bits"] for one in facts.values()] == pytest.approx(list(told["bits"]), abs=1e-4)
    island = facts["island"]["distribution"]
    by_value = dict(zip(island["values"], np.sum(island["counts"], axis=0), strict=True))
    assert by_value == dict(table["island"].value_counts())
    mass = facts["body_mass_g"]["distribution"]
    known = table.groupby("species")["body_mass_g"].agg(["count", "mean"])
    if model == "textbook":
        assert mass["kind"] == "normal"
        assert mass["mean"] == pytest.approx(known["mean"].tolist(), rel=1e-5)
    else:
        assert np.sum(mass["counts"], axis=1).tolist() == known["count"].tolist()
        for (_, numbers), counts in zip(table.groupby("species")["body_mass_g"], mass["counts"], strict=True):
            bins = np.searchsorted(mass["cuts"], numbers.dropna())
            assert np.bincount(bins, minlength=len(counts)).tolist() == counts


def test_all_kinds_of_columns_have_a_distribution():
    rng = np.random.default_rng(0)
    y = rng.choice(["no", "yes"], 300)
    table = pd.DataFrame(
        {
            "many": rng.choice([f"v{at}" for at in range(30)], 300),
            "grade": rng.choice(["low", "mid", "high"], 300),
            "cut": rng.normal(size=300),
            "skewed": np.where(rng.random(300) < 0.95, 0.0, np.exp(rng.normal(6, 3, 300))),
            "same": 7.0,
            "text": np.where(y == "yes", "apple pie", "pear tart"),
        }
    )
    families = {"grade": nv.Ordinal(["low", "mid", "high"]), "cut": nv.Bins(cuts=[-1, 0, 1]), "text": "words"}
    nb = nv.NaiveBayes(families=families).fit(table, y)
    found = {name: facts["distribution"] for name, facts in facts_of(nb).items()}

    assert (len(found["many"]["values"]), found["many"]["others"]) == (8, 22)
    assert np.sum(found["many"]["counts"]) + np.sum(found["many"]["other_counts"]) == 300
    assert found["grade"]["values"] == ["low", "mid", "high"]
    assert np.sum(found["cut"]["counts"]) == 300
    assert found["cut"]["cuts"] == [-1, 0, 1]
    assert found["skewed"]["even"]
    assert found["skewed"]["low"] == 0
    assert {"apple", "pie", "pear", "tart"} <= set(found["text"]["words"])
    assert np.sum(found["text"]["counts"], axis=1)[1] == 3 * (y == "yes").sum()
    json.dumps(found, allow_nan=False)
    html = model_section(page_data(nb))
    assert html.count("<article") == 6
    assert html.count("<svg") >= 12
    assert "22 others" in html


# -- two models --------------------------------------------------------------------------------------------------------


def test_changes_have_their_interval_and_their_values():
    rng = np.random.default_rng(1)

    def period(rows, rain, mean, other):
        sky = rng.choice(["rain", "sun", other], rows, p=[rain, 0.9 - rain, 0.1])
        table = {"sky": sky, "x": rng.normal(mean, 2, rows)}
        return nv.NaiveBayes(model="textbook").fit(table, rng.choice(["in", "out"], rows))

    a, b = period(4_000, 0.3, 5.0, "hail"), period(3_000, 0.5, 5.5, "snow")
    page = b.report(compare=a).html
    found = unpacked_data(page)["compare"]

    by_name = {(one["column"], one["value"]): one for one in found["changes"]}
    assert found["rows"] == [4_000, 3_000]
    for key, true in ((("sky", "rain"), 0.2), (("x", "mean"), 0.5)):
        one = by_name[key]
        assert one["low"] < true < one["high"]
        assert one["change"] == pytest.approx(one["after"] - one["before"], abs=1e-4)
        assert one["strength"] > 3
    error = np.sqrt(0.3 * 0.7 / 4_000 + 0.5 * 0.5 / 3_000)
    rain = by_name["sky", "rain"]
    assert rain["high"] - rain["low"] == pytest.approx(2 * 1.96 * error, rel=0.03)
    assert [line[:2] for line in found["appeared"]["values"]] == [["sky", "snow"]]
    assert [line[:2] for line in found["gone"]["values"]] == [["sky", "hail"]]
    assert {one["column"] for one in found["bits"]} == {"sky", "x"}
    assert all(one["low"] <= 0 <= one["high"] for one in found["bits"])  # noise tells nothing, then and now
    assert "sky: rain" in page
    assert "Only in after:" in page
    assert page.count("hardly chance") >= 4


def test_models_of_other_columns_are_not_compared():
    a, b = (nv.NaiveBayes().fit({name: [1.0, 2.0] * 20}, ["u", "v"] * 20) for name in ("x", "y"))
    with pytest.raises(IncompatibleCounts, match="counted on one side only"):
        b.report(compare=a)
