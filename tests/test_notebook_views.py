"""What notebooks show of models, evidence, scores and counts: true, escaped, small, and fit for dark and for phones."""

import html
import json
import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import naively as nv
from naively.markup.numbers import signed
from naively.markup.style import notebook_css

from .browser import silent_page
from .page_cases import shared_table
from .tables import penguins

NASTY = "<img src=x onerror=alert(1)>"
CHINESE = {"色泽": ["青绿", "乌黑", "乌黑", "青绿", "浅白"] * 12, "密度": list(np.linspace(0.2, 0.8, 60))}
RNG = np.random.default_rng(3)
TEXTS = ["free money now", "free cash prize", "lunch at home", "lunch soon at noon"] * 15


class Page(HTMLParser):
    """The elements and cells of a view, without its style sheet."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.rows, self.texts, self._open = set(), [], [], [], None
        self.feed(re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL))

    def handle_starttag(self, tag, attrs):
        """Note an element, and begin a row or a cell."""
        self.tags.add(tag)
        self.attributes += attrs
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th") and self.rows:
            self.rows[-1].append("")
            self._open = tag
        elif tag == "small" and self._open:
            self.rows[-1][-1] += "\n"  # what stands below

    def handle_endtag(self, tag):
        """End a cell."""
        if tag == self._open:
            self._open = None

    def handle_data(self, data):
        """Note a text, and in which cell it stands."""
        self.texts.append(data)
        if self._open:
            self.rows[-1][-1] += data


def number(text):
    """Return the number of a cell; 0 for an empty one."""
    found = text.strip().replace(",", "").replace("−", "-").replace("+", "").replace("∞", "inf")
    return float(found) if found else 0.0


@pytest.fixture(scope="module")
def views():
    """Return a view of every kind, also of hostile and of Chinese labels."""
    X, y = penguins()
    nb = nv.NaiveBayes().fit(X, y)
    posterior = nb.predict_proba(X)
    words = nv.NaiveBayes(families={"text": "words"}).fit({"text": TEXTS}, ["spam", "spam", "ham", "ham"] * 15)
    chinese = nv.NaiveBayes().fit(CHINESE, ["好瓜", "坏瓜", "好瓜"] * 20)
    hostile = nv.NaiveBayes().fit({NASTY: [NASTY, "b"] * 40, "n": RNG.normal(size=80)}, [NASTY, "</style>"] * 40)
    rows = {NASTY: [NASTY, "never"], "n": [0.0, None]}
    return {
        "model": nb._repr_html_(),
        "evidence": nb.explain(X[:2])._repr_html_(),
        "scores": nv.Scores(posterior, y, nb.classes_)._repr_html_(),
        "counts": nb.counts_._repr_html_(),
        "table": nb.counts_.columns["island"]._repr_html_(),
        "text model": words._repr_html_(),
        "text evidence": words.explain({"text": ["free <b>lunch</b> now"]})._repr_html_(),
        "Chinese model": chinese._repr_html_(),
        "Chinese evidence": chinese.explain({"色泽": "青绿", "密度": 0.3})._repr_html_(),
        "hostile model": hostile._repr_html_(),
        "hostile evidence": hostile.explain(rows)._repr_html_(),
        "hostile counts": hostile.counts_._repr_html_(),
        "hostile table": hostile.counts_.columns[NASTY]._repr_html_(),
        "hostile scores": nv.Scores(hostile.predict_proba(rows), [NASTY, NASTY], hostile.classes_)._repr_html_(),
    }


KINDS = [
    *("model", "evidence", "scores", "counts", "table", "text model", "text evidence", "Chinese model"),
    *("Chinese evidence", "hostile model", "hostile evidence", "hostile counts", "hostile table", "hostile scores"),
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_view_holds_nothing_that_runs_or_loads(views, kind):
    """No script, no address, no style but the style sheet; whatever people wrote is text."""
    page = Page(views[kind])

    html_tags = {"div", "p", "span", "small", "code", "ul", "li", "details", "summary"}
    html_tags |= {"table", "thead", "tbody", "tr", "th", "td"}
    assert page.tags <= html_tags | {"svg", "rect", "line", "path", "circle", "polyline", "text"}
    names = {name for name, _ in page.attributes}
    assert not {name for name in names if name.startswith("on")} | ({"style", "href", "src", "id"} & names)
    assert "http" not in views[kind]
    assert views[kind].count("<style>") == views[kind].count("</style>") == 1
    assert f"<style>{notebook_css()}</style>" in views[kind]
    if kind.startswith("hostile"):
        assert any(NASTY in text for text in page.texts)


@pytest.mark.parametrize("kind", KINDS)
def test_a_view_is_small_and_has_a_class_for_every_rule(views, kind):
    assert len(views[kind].encode()) < 30_000
    used = {name for key, value in Page(views[kind]).attributes if key == "class" for name in (value or "").split()}
    assert {name for name in used if not re.search(rf"\.{name}\b", notebook_css())} == set()


# -- evidence ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["auto", "textbook"])
def test_the_bars_of_evidence_add_up(model):
    """Prior, columns and pairs to the sum; pairs and words to the line above them; the sum is that of the scores."""
    X, y = penguins()
    evidence = nv.NaiveBayes(model=model).fit(X, y).explain(X[:1])
    rows = Page(evidence._repr_html_()).rows[1:]

    leads = {row[0].strip(): number(row[1]) for row in rows}
    names = ["(prior)", *(name for name, _ in evidence.bars()[1:] if name not in (evidence.behind.pairs or {}))]
    top = [lead for name, lead in leads.items() if name.split(" = ")[0] in (*names, "together")]
    k, other = evidence.answer[0], evidence.against[0]
    assert sum(top) == pytest.approx(leads["sum"], abs=0.0006 * len(top))
    assert leads["sum"] == pytest.approx(evidence.log_joint[0, k] - evidence.log_joint[0, other], abs=0.0006)
    if model == "auto":
        pairs = [lead for name, lead in leads.items() if " × " in name or name.startswith("(16 other")]
        assert sum(pairs) == pytest.approx(leads["together"], abs=0.0006 * len(pairs))


def test_bars_are_as_long_as_their_numbers():
    X, y = penguins()
    page = nv.NaiveBayes(model="textbook").fit(X, y).explain(X[:1])._repr_html_()
    found = re.findall(
        r'<td class="nv-n">([^<]+)</td><td class="nv-w"><svg[^>]*><rect class="nv-(\w+)"[^>]*?width="([\d.]+)"', page
    )
    leads = [number(lead) for lead, _, _ in found]
    longest = max(map(abs, leads))
    assert len(found) == 8
    for (_, side, width), lead in zip(found, leads, strict=True):
        assert side == ("for" if lead >= 0 else "against")
        assert float(width) == pytest.approx(100 * abs(lead) / longest, abs=1.1)  # one unit is the thinnest


def test_words_stand_below_their_text_and_are_colored():
    nb = nv.NaiveBayes(families={"text": "words"}, model="textbook").fit({"text": TEXTS}, list("sshh") * 15)
    evidence = nb.explain({"text": ["Free <b> lunch?"]})
    page = evidence._repr_html_()

    words = {html.unescape(word) for word in re.findall(r'<td class="nv-in"><span>([^<]+)</span>', page)}
    assert words == {"free", "lunch"}
    shown = re.search(r'<p class="nv-text">(.*?)</p>', page)[1]
    assert html.unescape(re.sub(r"</?span[^>]*>", "", shown)) == "Free <b> lunch?"
    colors = dict(re.findall(r'<span class="(nv-[fa])\d">(\w+)</span>', shown))
    assert {colors["nv-f"].lower(), colors["nv-a"].lower()} == {"free", "lunch"}


def test_probabilities_are_bounds_where_rounding_would_make_them_certain():
    """Only what is ruled out has 0 %; terminal and notebook say the same."""
    n = np.repeat([0.0, 100.0], 40) + np.tile(np.linspace(-1, 1, 40), 2)
    evidence = nv.NaiveBayes(model="textbook").fit({"n": n}, ["a"] * 40 + ["b"] * 40).explain({"n": 0.0})
    assert str(evidence).startswith("a (> 99.9 %) against b (< 0.1 %)\n")
    assert "> 99.9 %" in Page(evidence._repr_html_()).texts[1]

    table = {"sky": ["sunny", "rain", "sunny", "rain"]}
    certain = nv.NaiveBayes(estimate="mle").fit(table, ["out", "in", "out", "out"]).explain({"sky": "sunny"})
    assert str(certain).startswith("out (100 %) against in (0 %)\n")
    assert ["sky = sunny", "+∞"] in [row[:2] for row in Page(certain._repr_html_()).rows]


def test_a_minus_is_a_true_minus_everywhere():
    X, y = penguins()
    evidence = nv.NaiveBayes().fit(X, y).explain(X[:3])
    negative = [signed(lead, 3) for row in range(3) for _, lead in evidence.bars(row) if round(lead, 3) < 0][:3]
    assert negative
    for shown in (str(evidence), evidence._repr_html_()):
        assert negative[0] in shown
        assert not re.search(r"[ >]-\d", re.sub(r"<style>.*?</style>|<svg.*?</svg>", "", shown, flags=re.DOTALL))


def test_a_long_text_is_cut():
    nb = nv.NaiveBayes(families={"text": "words"}, model="textbook").fit({"text": TEXTS}, list("sshh") * 15)
    page = nb.explain({"text": ["free lunch " * 50_000]})._repr_html_()
    assert len(page) < 120_000
    assert "546,000 more characters" in page


# -- scores ------------------------------------------------------------------------------------------------------------


def test_scores_show_their_figures_beside_those_of_the_best_constant_answer():
    P = [[0.9, 0.1], [0.3, 0.7], [0.6, 0.4], [0.8, 0.2]]
    scores = nv.Scores(P, ["no", "yes", "yes", "no"], ("no", "yes"))
    rows = Page(scores._repr_html_()).rows

    assert ["accuracy", "75.0 % ± 25.0", "50.0 %"] in rows
    assert ["log loss", f"{scores.log_loss:.4f} ± {scores.spread['log_loss']:.4f}", "0.6931"] in rows
    assert rows[0][2] == "always no"
    confusion = {row[0]: [cell.split("\n")[0] for cell in row[1:]] for row in rows if row[0] in ("no", "yes")}
    assert confusion == {"no": ["2", "0"], "yes": ["1", "1"]}


def test_the_points_of_the_diagram_are_those_of_the_reliability_table():
    sure = RNG.uniform(0.5, 1.0, 500)
    scores = nv.Scores(np.column_stack([sure, 1 - sure]), (RNG.random(500) > sure).astype(int), ("no", "yes"))
    found = re.findall(r'<circle class="nv-c0" cx="([\d.]+)" cy="([\d.]+)"', scores._repr_html_())
    x, y = np.array(found, dtype=float).T

    np.testing.assert_allclose((x - 40) / 220, scores.reliability()["confidence"], atol=1e-4)
    np.testing.assert_allclose(1 - (y - 8) / 220, scores.reliability()["accuracy"], atol=1e-4)


def test_scores_without_probabilities_or_with_numbers_have_a_view():
    answers = nv.Scores.from_labels(["a", "b", "b"], ["a", "a", None])
    assert "(no answer)" in answers._repr_html_()
    assert "circle" not in answers._repr_html_()
    numbers = nv.Scores([[0.5, 0.5], [0.1, 0.9]], [1, 2], (1, 2), cost="squared")
    assert "Confusion" not in numbers._repr_html_()
    assert "All rows are of one class" in nv.Scores([[1.0]], ["a"], ("a",))._repr_html_()


@pytest.mark.parametrize("classes", [("no", "yes"), (0, 1), (3, 7), (False, True), (1.5, 2.5)], ids=str)
@pytest.mark.parametrize(
    "as_column", [list, tuple, np.array, pd.Series, pl.Series, lambda x: pd.Series(x).to_frame()], ids=range(6)
)
def test_scores_take_labels_in_every_form(classes, as_column):
    """And are those of the same labels as a list."""
    P = [[0.9, 0.1], [0.3, 0.7], [0.6, 0.4]]
    truth = [classes[0], classes[1], classes[1]]
    scores = nv.Scores(P, as_column(truth), classes)
    assert scores.truth.tolist() == [0, 1, 1]
    assert scores.accuracy == pytest.approx(2 / 3)


# -- counts ------------------------------------------------------------------------------------------------------------


def test_a_table_shows_counts_with_their_proportions_of_the_class():
    table = nv.Table(["ham", "spam"], ["cheap", "hello", None], [[1, 3, 0], [6, 1, 1]])
    rows = Page(table._repr_html_()).rows

    assert rows[0] == ["value ↓ class →", "ham", "spam"]
    assert rows[1:] == [
        ["cheap", "1\n25.0 %", "6\n75.0 %"],
        ["hello", "3\n75.0 %", "1\n12.5 %"],
        ["(missing)", "0", "1\n12.5 %"],
        ["sum", "4", "8"],
    ]


def test_of_many_values_and_classes_the_commonest_are_shown_and_the_rest_is_counted():
    n = RNG.integers(1, 9, (50, 5000))
    page = nv.Table(list(range(50)), list(range(5000)), n)._repr_html_()
    assert len(page) < 40_000
    assert "… and 4,980 more values and 38 more classes" in page
    counts = nv.count({f"c{at:03d}": ["x", "y"] for at in range(100)}, ["a", "b"])
    assert "… and 70 more columns" in counts._repr_html_()


def test_counts_show_every_kind_of_column():
    """Pairs of words are counted as words."""
    table = {"text": ["a", None], "n": [1.0, 3.0], "words": ["free money", "lunch"]}
    counts = nv.NaiveBayes(families={"words": "words"}).fit(table, ["p", "q"]).counts_
    texts = " ".join(Page(counts._repr_html_()).texts)
    assert texts.endswith("q: 1 word, as lunch 1")
    for told in ("p: a 1; q: (missing) 1", "p: 1 ± 0 (1); q: 3 ± 0 (1)", "p: 3 words, as free 1, "):
        assert told in texts


# -- models ------------------------------------------------------------------------------------------------------------


def test_a_fitted_model_shows_what_was_learned():
    X, y = penguins()
    nb = nv.NaiveBayes(prior_smoothing=0.0, class_weight={"Adelie": 1.0}).fit(X, y)
    page = Page(nb._repr_html_())

    text = " ".join(page.texts)
    assert "344 rows, 3 classes, 7 columns: joint model, held-out log loss" in text
    assert ["Adelie", "152", "44.2 %", ""] in page.rows
    told = dict(zip(nb.importance()["column"], nb.importance()["bits"], strict=True))
    shown = {row[0].split("\n")[0]: row[1] for row in page.rows if len(row) == 3 and row[0].split("\n")[0] in told}
    assert shown == {name: f"{bits:.3f} bits" for name, bits in told.items()}
    assert list(shown) == list(told)
    assert "class_weight={'Adelie': 1.0}" in text
    assert "prior_smoothing=0.0" in text
    assert "families=" not in text.replace("families={'year': 'categorical'}", "")
    assert nb.tuning_.loss_after == pytest.approx(float(re.search(r"log loss ([\d.]+)", text)[1]), rel=0.01)


def test_pictures_of_columns_are_their_counts():
    """Bars of a column of labels are the proportions of its values in each class."""
    nb = nv.NaiveBayes(model="textbook").fit({"sky": ["rain"] * 3 + ["sun"] * 5}, ["in", "in", "out", *["out"] * 5])
    bars = re.findall(r'<path class="nv-c(\d)" d="([^"]*)"', nb._repr_html_())
    tall = {(k, at): float(y) for k, path in bars for at, y in enumerate(re.findall(r"v([\d.]+)", path))}
    assert tall == {("0", 0): 36.0, ("1", 0): 6.0, ("1", 1): 30.0}  # 2 of 2; 1 and 5 of 6


def test_a_view_of_a_wide_table_and_of_many_words_is_bounded():
    X = RNG.normal(size=(200, 400))
    wide = nv.NaiveBayes(model="textbook").fit(X, RNG.integers(0, 8, 200))._repr_html_()
    assert len(wide.encode()) < 60_000
    assert "… and 376 more columns" in wide
    texts = [" ".join(f"w{n}" for n in RNG.integers(0, 100_000, 60)) for _ in range(2000)]
    nb = nv.NaiveBayes(families={"t": "words"}, model="textbook").fit({"t": texts}, RNG.integers(0, 30, 2000))
    many = nb._repr_html_()
    assert len(many.encode()) < 20_000
    assert "… and 22 more classes" in many


def test_a_model_of_adult_is_bounded():
    nb = nv.NaiveBayes().fit(shared_table("adult-train.csv.gz"), target="income")
    assert len(nb._repr_html_().encode()) < 60_000


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


def test_an_unfitted_model_shows_its_settings():
    page = nv.NaiveBayes(model="textbook")._repr_html_()
    assert "sk-" in page
    assert "textbook" in page


def test_a_pipeline_still_draws():
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
        "print(json.dumps([*found, 'sk-' in nv.NaiveBayes()._repr_html_()]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [False, True, True]


# -- in a browser ------------------------------------------------------------------------------------------------------

DOCUMENT = '<!doctype html><html lang="en"><head><title>views</title></head><body{}><main>{}</main></body></html>'


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_view_is_wider_than_a_phone(views, chromium, scheme):
    with silent_page(chromium, viewport={"width": 390, "height": 800}, color_scheme=scheme) as page:
        for kind in KINDS:
            page.set_content(DOCUMENT.format("", views[kind]))
            page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), kind


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(views, chromium, scheme):
    """Nor does it find too little contrast, in either theme."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python").Axe()
    with silent_page(chromium, viewport={"width": 900, "height": 800}, color_scheme=scheme) as page:
        every = "".join(f"<h1>{kind}</h1><section>{views[kind]}</section>" for kind in KINDS)
        page.set_content(DOCUMENT.format("", every))
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
        found = axe.run(page).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []


def background(page):
    """Return the background of a view."""
    return page.evaluate("getComputedStyle(document.querySelector('.naively')).backgroundColor")


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
def test_a_view_follows_the_theme_of_its_notebook(views, chromium, where, scheme, dark):
    with silent_page(chromium, color_scheme=scheme) as page:
        page.set_content(DOCUMENT.format(where, views["model"]))
        assert background(page) == ("rgb(22, 25, 29)" if dark else "rgb(255, 255, 255)")


def test_a_view_is_light_on_paper(views, chromium):
    with silent_page(chromium, color_scheme="dark") as page:
        page.set_content(DOCUMENT.format(' class="vscode-dark"', views["model"]))
        page.emulate_media(media="print", color_scheme="dark")
        assert background(page) == "rgb(255, 255, 255)"
