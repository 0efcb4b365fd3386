"""What notebooks show of models, evidence, scores and counts: true, escaped, small, and fit for dark and for phones."""

import html
import json
import re
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import naively as nv
from naively.page.style import notebook_css

from .browser import DESK, PHONE, assert_accessible, assert_narrow, silent_page
from .tables import penguins, shared_table

NASTY = "<img src=x onerror=alert(1)>"
CHINESE = {"色泽": ["青绿", "乌黑", "乌黑", "青绿", "浅白"] * 12, "密度": list(np.linspace(0.2, 0.8, 60))}
RNG = np.random.default_rng(3)
TEXTS = ["free money now", "free cash prize", "lunch at home", "lunch soon at noon"] * 15


class Page:
    """The elements, texts and cells of a view, without its style sheet; what stands below in a cell is a line of it."""

    def __init__(self, page):
        elements = list(ElementTree.fromstring(re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)).iter())
        self.tags = {element.tag for element in elements}
        self.attributes = [pair for element in elements for pair in element.attrib.items()]
        self.texts = [text for element in elements for text in element.itertext()]
        rows = [row for row in elements if row.tag == "tr"]
        self.rows = [["\n".join(filter(None, cell.itertext())) for cell in row] for row in rows]


def number(text):
    """Return the number of a cell; 0 for an empty one."""
    found = text.strip().replace(",", "").replace("−", "-").replace("+", "").replace("∞", "inf")
    return float(found) if found else 0.0


def contributions(evidence):
    """Return the lines of the table of contributions: name, value, log-odds, bar, what is behind it."""
    rows = Page(evidence._repr_html_()).rows
    return [row for row in rows if len(row) == 5][1:]


@pytest.fixture(scope="module")
def views():
    """Return a view of every kind, also of hostile and of Chinese labels."""
    X, y = penguins()
    nb = nv.NaiveBayes().fit(X, y)
    words = nv.NaiveBayes(families={"text": "words"}).fit({"text": TEXTS}, ["spam", "spam", "ham", "ham"] * 15)
    chinese = nv.NaiveBayes().fit(CHINESE, ["好瓜", "坏瓜", "好瓜"] * 20)
    hostile = nv.NaiveBayes().fit({NASTY: [NASTY, "b"] * 40, "n": RNG.normal(size=80)}, [NASTY, "</style>"] * 40)
    rows = {NASTY: [NASTY, "never"], "n": [0.0, None]}
    shown = {
        "model": nb,
        "evidence": nb.explain(X[:2]),
        "scores": nv.Scores(nb.predict_proba(X), y, nb.classes_),
        "counts": nb.counts_,
        "table": nb.counts_.columns["island"],
        "text model": words,
        "text evidence": words.explain({"text": ["free <b>lunch</b> now"]}),
        "Chinese model": chinese,
        "Chinese evidence": chinese.explain({"色泽": "青绿", "密度": 0.3}),
        "hostile model": hostile,
        "hostile evidence": hostile.explain(rows),
        "hostile counts": hostile.counts_,
        "hostile table": hostile.counts_.columns[NASTY],
        "hostile scores": nv.Scores(hostile.predict_proba(rows), [NASTY, NASTY], hostile.classes_),
    }
    assert list(shown) == KINDS
    return {kind: one._repr_html_() for kind, one in shown.items()}


KINDS = [
    *("model", "evidence", "scores", "counts", "table", "text model", "text evidence", "Chinese model"),
    *("Chinese evidence", "hostile model", "hostile evidence", "hostile counts", "hostile table", "hostile scores"),
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_view_is_small_and_holds_nothing_that_runs_or_loads(views, kind):
    """No script, no address, no style but the style sheet; whatever people wrote is text."""
    page = Page(views[kind])

    html_tags = {"div", "p", "span", "small", "code", "ul", "li", "details", "summary", "mark", "strong", "article"}
    html_tags |= {"h3", "h4", "figure", "table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert page.tags <= html_tags | {"svg", "rect", "line", "path", "g", "text"}
    names = {name for name, _ in page.attributes}
    assert not {name for name in names if name.startswith("on")} | ({"style", "href", "src", "id"} & names)
    assert "http" not in views[kind]
    assert views[kind].count("<style>") == views[kind].count("</style>") == 1
    assert f"<style>{notebook_css()}</style>" in views[kind]
    if kind.startswith("hostile"):
        assert any(NASTY in text for text in page.texts)
    assert len(views[kind].encode()) < 30_000


# -- evidence ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["auto", "textbook"])
def test_the_bars_of_evidence_add_up(model):
    """Prior, columns and pairs to the sum; pairs to the line above them; the sum is that of the scores.

    And bars are as long as their numbers.
    """
    X, y = penguins()
    evidence = nv.NaiveBayes(model=model).fit(X, y).explain(X[:1])
    leads = {row[0]: number(row[2]) for row in contributions(evidence)}

    pairs = evidence.provenance.pairs or {}
    shown = {name: lead for name, lead in leads.items() if name in pairs or name.startswith("(16 other")}
    top = [lead for name, lead in leads.items() if name not in (*shown, "sum")]
    k, other = evidence.answer[0], evidence.against[0]
    assert len(top) == 8 + bool(pairs)
    assert sum(top) == pytest.approx(leads["sum"], abs=0.0006 * len(top))
    assert leads["sum"] == pytest.approx(evidence.log_joint[0, k] - evidence.log_joint[0, other], abs=0.0006)
    if model == "auto":
        assert sum(shown.values()) == pytest.approx(leads["together"], abs=0.0006 * len(shown))
    bars = re.findall(r'<rect class="nv-(for|against)"[^>]*?width="([\d.]+)"', evidence._repr_html_())
    longest = max(abs(lead) for name, lead in leads.items() if name != "sum")
    assert len(bars) == len(leads)
    for (side, width), lead in list(zip(bars, leads.values(), strict=True))[:-1]:
        assert side == ("for" if lead >= 0 else "against") or lead == 0
        assert float(width) == pytest.approx(100 * abs(lead) / longest, abs=1.1)  # one unit is the thinnest


def test_words_stand_below_their_text_and_are_colored():
    nb = nv.NaiveBayes(families={"text": "words"}, model="textbook").fit({"text": TEXTS}, list("sshh") * 15)
    page = nb.explain({"text": ["Free <b> lunch?"]})._repr_html_()

    assert set(re.findall(r'<span class="nv-in">([^<]+)</span>', page)) == {"free", "lunch"}
    shown = re.search(r'<p class="colored"[^>]*>(.*?)</p>', page)[1]
    assert html.unescape(re.sub(r"</?mark[^>]*>", "", shown)) == "Free <b> lunch?"
    colors = dict(re.findall(r'<mark class="(nv-[fa])\d">(\w+)</mark>', shown))
    assert {colors["nv-f"].lower(), colors["nv-a"].lower()} == {"free", "lunch"}
    long = nb.explain({"text": ["free lunch " * 50_000]})._repr_html_()
    assert len(long) < 120_000
    assert "546,000 more characters" in long


# -- scores ------------------------------------------------------------------------------------------------------------


def test_scores_without_probabilities_or_with_numbers_have_a_view():
    answers = nv.Scores.from_labels(["a", "b", "b"], ["a", "a", None])
    assert "(no answer)" in answers._repr_html_()
    assert "<figure" not in answers._repr_html_()
    numbers = nv.Scores([[0.5, 0.5], [0.1, 0.9]], [1, 2], (1, 2), cost="squared")
    assert "Confusion" not in numbers._repr_html_()
    assert "All rows are of one class" in nv.Scores([[1.0]], ["a"], ("a",))._repr_html_()


# -- counts ------------------------------------------------------------------------------------------------------------


def test_counts_show_every_kind_of_column():
    """Values with their counts, also as a table; means of numbers as densities; words; the size of vectors."""
    table = {"text": ["a", None], "n": [1.0, 3.0], "words": ["free money", "lunch"], "v": np.ones((2, 3))}
    counts = nv.NaiveBayes(families={"words": "words"}).fit(table, ["p", "q"]).counts_
    page = Page(counts._repr_html_())
    assert {"a", "(missing)", "free", "lunch", "vectors of 3 numbers"} <= set(page.texts)
    assert ["(missing)", "0", "1\n100 %"] in page.rows
    titles = [value for name, value in page.attributes if name == "aria-label"]
    assert titles.count("Normal density of each class") == titles.count("Words that distinguish the classes") == 1


# -- models ------------------------------------------------------------------------------------------------------------


def test_a_fitted_model_shows_what_was_learned():
    X, y = penguins()
    nb = nv.NaiveBayes(prior_smoothing=0.0, class_weight={"Adelie": 1.0}).fit(X, y)
    page = Page(nb._repr_html_())

    text = " ".join(page.texts)
    assert "344 rows, 3 classes, 7 columns: default model, held-out log loss" in text
    assert ["Adelie", "152", "44.2 %", "44.2 %", ""] in page.rows
    told = nb.importance()
    bits = [f"{bits:.3f} ± {error:.3f} bits" for bits, error in zip(told["bits"], told["error"], strict=True)]
    assert [text for text in dict.fromkeys(page.texts) if " bits" in text and "±" in text] == list(dict.fromkeys(bits))
    assert [text for text in dict.fromkeys(page.texts) if text in set(X)] == list(told["column"])
    assert "How it was fitted" in text
    assert "class_weight={'Adelie': 1.0}" in text
    assert "prior_smoothing=0.0" in text
    assert "families=" not in text.replace("families={'year': 'categorical'}", "")
    assert nb.tuning_.loss_after == pytest.approx(float(re.search(r"log loss ([\d.]+)", text)[1]), rel=0.01)


@pytest.mark.parametrize(("kind", "most"), [("wide", 60_000), ("words", 60_000), ("adult", 60_000)])
def test_views_of_large_models_are_bounded(kind, most):
    if kind == "wide":
        page = nv.NaiveBayes(model="textbook").fit(RNG.normal(size=(200, 400)), RNG.integers(0, 8, 200))._repr_html_()
        assert "… and 330 more columns" in page
    elif kind == "words":
        texts = [" ".join(f"w{n}" for n in RNG.integers(0, 100_000, 60)) for _ in range(2000)]
        nb = nv.NaiveBayes(families={"t": "words"}, model="textbook").fit({"t": texts}, RNG.integers(0, 30, 2000))
        page = nb._repr_html_()
        assert "… and 24 more classes" in page
    else:
        page = nv.NaiveBayes().fit(shared_table("adult-train.csv.gz"), target="income")._repr_html_()
    assert len(page.encode()) < most


@pytest.mark.parametrize(
    ("table", "labels"),
    [
        ({"a": ["x"] * 3}, ["only"] * 3),
        ({"a": [None] * 3, "b": [np.nan] * 3}, ["p", "q", "q"]),
        ({"a": [1.0] * 4}, ["p", "q", "q", "q"]),
        ({"a": [1e149, -1e149, 1.0, 1e140]}, ["p", "q", "q", "p"]),
        ({"d": pd.to_datetime(["2020-01-01", "2021-05-05"] * 30), "b": [True, False] * 30}, ["p", "q"] * 30),
        (np.ones((6, 2)), [0, 1, 2, 0, 1, 2]),
    ],
    ids=["one class", "all missing", "constant", "huge", "dates", "array"],
)
@pytest.mark.parametrize("model", ["auto", "textbook"])
def test_every_model_has_a_view(table, labels, model):
    nb = nv.NaiveBayes(model=model).fit(table, labels)
    assert "NaiveBayes" in nb._repr_html_()
    assert nb._repr_mimebundle_()["text/html"] == nb._repr_html_()
    assert "nan" not in re.sub(r"[a-z]*nan[a-z]+|[a-z]+nan", "", nb._repr_html_())


def test_settings_that_cannot_be_used_get_a_sentence():
    nb = nv.NaiveBayes(model="textbook").fit({"a": ["x", "y"]}, [0, 1])
    nb.estimate = "guess"
    assert "estimate=&#x27;guess&#x27; is unknown" in nb._repr_html_()


# -- scikit-learn ------------------------------------------------------------------------------------------------------


def test_a_model_that_is_not_fitted_shows_its_settings():
    page = nv.NaiveBayes(model="textbook")._repr_html_()
    assert "not fitted yet" in page
    assert "textbook" in page


def test_scikit_learn_still_draws_pipelines():
    X, y = RNG.normal(size=(60, 3)), RNG.integers(0, 2, 60)
    pipe = make_pipeline(StandardScaler(), nv.NaiveBayes()).fit(X, y)
    for drawn in (pipe._repr_html_(), pipe._repr_mimebundle_()["text/html"]):
        assert "NaiveBayes" in drawn
        assert "StandardScaler" in drawn
        assert 'class="naively"' not in drawn


def test_scikit_learns_setting_to_show_text_is_kept():
    nb = nv.NaiveBayes().fit({"a": ["x", "y"]}, [0, 1])
    with config_context(display="text"):
        assert not hasattr(nb, "_repr_html_")
        assert set(nb._repr_mimebundle_()) == {"text/plain"}
    assert set(nb._repr_mimebundle_()) == {"text/plain", "text/html"}


def test_a_view_needs_no_scikit_learn():
    program = (
        "import json, sys; import naively as nv\n"
        "nb = nv.NaiveBayes(model='textbook').fit({'a': ['x', 'y']}, ['in', 'out'])\n"
        "page = nb._repr_html_(); found = ['sklearn' in sys.modules, 'class=\"naively\"' in page]\n"
        "print(json.dumps([*found, 'sklearn' in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [False, True, False]


# -- in a browser ------------------------------------------------------------------------------------------------------

DOCUMENT = '<!doctype html><html lang="en"><head><title>views</title></head><body{}><main>{}</main></body></html>'


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_view_is_wider_than_a_phone_and_axe_finds_nothing(views, chromium, scheme):
    """Nor does it find too little contrast, in either theme."""
    with silent_page(chromium, viewport=PHONE, color_scheme=scheme) as page:
        for kind in KINDS:
            page.set_content(DOCUMENT.format("", views[kind]))
            page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
            assert_narrow(page)
        page.set_viewport_size(DESK)
        every = "".join(f"<h1>{kind}</h1><section><h2>{kind}</h2>{views[kind]}</section>" for kind in KINDS)
        page.set_content(DOCUMENT.format("", every))
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
        assert_accessible(page)


@pytest.mark.parametrize(
    ("where", "scheme", "dark"),
    [
        ("", "light", False),
        ("", "dark", True),
        (' data-jp-theme-light="true"', "dark", False),
        (' data-jp-theme-light="false"', "light", True),
        (' class="vscode-light"', "dark", False),
        (' class="vscode-dark"', "light", True),
    ],
)
def test_a_view_follows_the_theme_of_its_notebook_and_changes_nothing_outside(views, chromium, where, scheme, dark):
    """And is light on paper. Tables around it keep the rules of the notebook, which its own tables do not get."""
    outside = "<style>table.other td, .naively td { text-align: right; padding: 9px } tr { background: red }</style>"
    outside += '<table class="other"><tr><td>x</td></tr></table><p>x</p>'

    def style(page, where):
        css = "['textAlign', 'padding', 'fontSize', 'margin', 'backgroundColor', 'display']"
        return page.eval_on_selector(where, f"e => {css}.map((name) => getComputedStyle(e)[name])")

    with silent_page(chromium, color_scheme=scheme) as page:
        page.set_content(DOCUMENT.format(where, outside))
        before = [style(page, where) for where in (".other td", "p")]
        page.set_content(DOCUMENT.format(where, outside + views["counts"]))
        assert [style(page, where) for where in (".other td", "main > p")] == before
        assert style(page, ".naively tr")[4] == "rgba(0, 0, 0, 0)"
        assert style(page, ".naively td")[1] != "9px"
        assert style(page, ".naively")[4] == ("rgb(22, 25, 29)" if dark else "rgb(255, 255, 255)")
        page.emulate_media(media="print", color_scheme=scheme)
        assert style(page, ".naively")[4] == "rgb(255, 255, 255)"
