"""The page as a text: what it may load, what is escaped, what it says it holds, how large it is, which rows."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import naively as nv
from naively.estimator.html_report import places_of_report_rows
from naively.page.content import LANGUAGES, page_texts
from naively.page.page import page_script, report_page
from naively.page.style import ASSETS
from naively.page.tags import json_for_script

from .tables import HOSTILE, page_data, penguin_table, shared_table, unpacked_data


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


def test_without_scripts_the_row_is_explained(penguins):
    nb, table = penguins
    cells = {name: cell for name, cell in table.iloc[0].items() if name != "species"}
    shown = " ".join(Elements(nb.report(table, rows=344).html).texts)
    assert "Prediction: Adelie, > 99.9 %." in shown
    assert "52 of 152 Adelie · 0 of 68 Chinstrap · 0 of 124 Gentoo" in shown
    evidence = nb.explain(cells, against="Chinstrap")
    assert f"+{evidence.log_joint[0, 0] - evidence.log_joint[0, 1]:.2f}" in shown


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


# -- which rows --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "truth", "most", "held"),
    [(5, 0, 10, [0, 1, 2, 3, 4]), (100, -1, 5, [0, 25, 50, 74, 99]), (100, -1, 0, [])],
)
def test_few_rows_are_all_held_and_rows_of_unknown_class_are_spread(rows, truth, most, held):
    places = places_of_report_rows(np.full((rows, 2), 0.5), np.full(rows, truth, dtype=np.int64), most)
    assert places.tolist() == held
