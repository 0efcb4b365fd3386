"""The page as a text: what it may load, what is escaped, what it says it holds, and how large it is."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import naively as nv
from naively.errors import InvalidSetting
from naively.flat import SCORER
from naively.markup.script_data import json_for_script
from naively.page.packed import unpacked_data
from naively.page.page import page_script, report_page
from naively.page.page_strings import ASSETS, LANGUAGES, page_strings
from naively.page.report_rows import ReportRows, places_of_report_rows
from naively.page.row_explanation import typical_row

from .page_cases import page_data, penguin_table, shared_table

HOSTILE = [
    "</script>", '"><img src=x onerror=alert(1)>', "it's \"quoted\"", "مرحبا", "🐧", "a & b <b>", "\u2028 line", "]]>",
    "{x}",
]  # fmt: skip


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
    page = report_page(page_data(penguins[0]))
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


def test_nothing_is_loaded_and_no_element_has_a_style_or_a_listener(hostile):
    for name, attributes in Elements(report_page(page_data(hostile))).found:
        assert name not in {"link", "img", "iframe", "object", "base", "form"}
        assert not {key for key in attributes if key == "style" or key.startswith("on")}
        assert not (attributes.get("src") or "").strip()
        assert (attributes.get("href") or "#").startswith("#")


def test_what_people_wrote_is_text(hostile):
    page = report_page(page_data(hostile, title="</title><script>alert(1)</script>"))
    found = Elements(page)
    assert [name for name, _ in found.found].count("script") == 2
    shown = "".join(found.texts)
    for text in HOSTILE[:3]:
        assert text in shown
    assert unpacked_data(page)["title"] == "</title><script>alert(1)</script>"
    assert {column["name"] for column in unpacked_data(page)["columns"]} == {*HOSTILE, "1e308"}


@pytest.mark.parametrize("text", [*HOSTILE, "\ud800 half a pair", "\x00", "<!--"])
def test_json_within_a_script_element_is_the_value_and_ends_nothing(text):
    written = json_for_script({"text": text})
    assert json.loads(written) == {"text": text}
    assert not re.search("[<>&\u2028\u2029\ud800-\udfff]", written)


def test_the_footer_says_what_the_file_holds(penguins):
    nb, table = penguins
    without = "".join(Elements(report_page(page_data(nb))).texts)
    assert "3 classes (Adelie, Chinstrap, Gentoo)" in without
    assert "holds no rows" in without
    assert f"naively {nv.__version__}" in without
    some = "".join(Elements(report_page(page_data(nb, table, "species", rows=20))).texts)
    assert "20 of 344 rows of table.csv" in some
    assert "fitted on them" in some


def test_without_scripts_the_row_is_explained(penguins):
    nb, table = penguins
    cells = {name: cell for name, cell in table.iloc[0].items() if name != "species"}
    shown = " ".join(Elements(report_page(page_data(nb, table, "species", rows=344))).texts)
    assert "Answer: Adelie, > 99.9 %." in shown
    assert "52 of 152 Adelie · 0 of 68 Chinstrap · 0 of 124 Gentoo" in shown
    evidence = nb.explain(cells, against="Chinstrap")
    total = evidence.log_joint[0, 0] - evidence.log_joint[0, 1]
    assert f"+{total:.2f}" in shown


def test_every_text_is_there_in_every_language():
    assert len({frozenset(page_strings(language).texts) for language in LANGUAGES}) == 1
    for path in (ASSETS / "strings").glob("*.json"):
        for key, versions in json.loads(path.read_text("utf-8")).items():
            assert set(versions) == set(LANGUAGES), key
            places = {language: sorted(re.findall(r"\{(\w+)\}", text)) for language, text in versions.items()}
            assert places["en"] == places["zh"], key


def test_scripts_name_only_texts_that_there_are():
    for path in [SCORER, *ASSETS.glob("*.js")]:
        for key in re.findall(r'say\("([\w.]+)"', path.read_text("utf-8")):
            assert key in page_strings("en").texts, (path.name, key)


def test_no_script_has_a_text_of_several_lines():
    """Indents and lines that are comments are left out of the page: that changes nothing but the size."""
    for path in [SCORER, *ASSETS.glob("*.js")]:
        within: list[str] = []  # texts and the expressions and blocks within them
        for line in path.read_text("utf-8").splitlines():
            code = re.sub(r'^\s*//.*|\\.|"[^"`]*"', "", line)
            for sign in re.findall(r"`|\$\{|\{|\}", code):
                if sign == "}" or (sign == "`" and within and within[-1] == "`"):
                    within.pop()
                else:
                    within.append(sign)
            assert not within or within[-1] != "`", (path.name, line)


def test_scripts_never_write_html():
    for path in [SCORER, *ASSETS.glob("*.js")]:
        text = path.read_text("utf-8")
        for forbidden in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
            assert forbidden not in text, (path.name, forbidden)


def test_a_language_that_is_not_there_is_refused(penguins):
    with pytest.raises(InvalidSetting, match="language='fr' is no language of the page"):
        report_page(page_data(penguins[0], language="fr"))


def test_penguins_without_rows_are_small(penguins):
    assert len(report_page(page_data(penguins[0])).encode()) <= 80 * 1024


def test_adult_without_rows_is_small():
    """Tables of 91 pairs of columns, of which each number has 21 bins, and scripts; 194,000 bytes were seen."""
    table = shared_table("adult-train.csv.gz").iloc[:10_000]
    page = report_page(page_data(nv.NaiveBayes().fit(table, target="income")))
    assert len(page.encode()) <= 200 * 1000


def test_the_words_are_there_only_where_the_model_has_texts(penguins):
    assert 'id="words"' not in report_page(page_data(penguins[0]))


# -- which rows --------------------------------------------------------------------------------------------------------


def test_few_rows_are_all_held():
    assert places_of_report_rows(np.full((5, 2), 0.5), np.zeros(5, dtype=np.int64), 10).tolist() == [0, 1, 2, 3, 4]


def test_of_many_rows_the_most_surprising_and_others_spread_evenly_are_held():
    surprise = np.linspace(0.99, 0.5, 1000)
    surprise[[7, 500]] = 0.01, 0.02
    probabilities = np.stack([surprise, 1 - surprise], axis=1)
    places = places_of_report_rows(probabilities, np.zeros(1000, dtype=np.int64), 40)
    assert len(places) == 40
    assert {7, 500} <= set(places.tolist())
    assert {0, *range(982, 1000)} <= set(places.tolist())
    assert np.all(np.diff(places) > 0)


def test_rows_of_unknown_class_are_spread_and_no_rows_are_none():
    truth = np.full(100, -1, dtype=np.int64)
    assert places_of_report_rows(np.full((100, 2), 0.5), truth, 5).tolist() == [0, 25, 50, 74, 99]
    assert places_of_report_rows(np.full((100, 2), 0.5), truth, 0).tolist() == []


def test_an_empty_choice_of_rows_is_no_rows(penguins):
    page = report_page(page_data(penguins[0]))
    assert unpacked_data(page)["rows"] is None
    empty = report_page(replace(page_data(penguins[0]), rows=ReportRows({"x": []}, [], [], 10)))
    assert unpacked_data(empty)["rows"] is None


def test_the_typical_row_is_the_middle_of_each_column():
    bins = {"kind": "bins", "cuts": [10.0, 20.0], "low": 0.0, "high": 30.0, "counts": [[10, 5, 0], [0, 5, 10]]}
    labels = {"kind": "labels", "values": ["a", "b"], "counts": [[1, 5], [3, 0]], "others": 0}
    normal = {"kind": "normal", "n": [10, 30], "mean": [1.0, 2.0], "sd": [1.0, 1.0]}
    columns = [{"name": str(at), "distribution": one} for at, one in enumerate([bins, labels, normal, None])]
    values = [{"name": "0"}, {"name": "1", "values": ["a", "b"]}, {"name": "2"}, {"name": "3"}]
    assert typical_row(columns, {"columns": values}) == {"0": 15.0, "1": "b", "2": 1.75, "3": None}


# -- columns of whole numbers -----------------------------------------------------------------------------------------


def whole_table(rows: int = 600) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return columns of whole numbers, of numbers and of times, and classes that follow from the age."""
    rng = np.random.default_rng(4)
    age = rng.integers(18, 72, rows)
    columns = {
        "age": age,
        "with gaps": np.where(rng.random(rows) < 0.1, np.nan, age),  # pandas makes floats of these
        "flag": rng.integers(0, 2, rows),
        "score": 5 * rng.integers(0, 4, rows),
        "halves": rng.integers(0, 9, rows) / 2,
        "weight": np.round(rng.normal(70, 9, rows), 1),
        "day": np.datetime64("2024-01-01") + rng.integers(0, 5, rows),
    }
    return columns, np.where(age + rng.normal(0, 9, rows) > 45, "old", "young")


def distributions(nb: nv.NaiveBayes) -> dict[str, dict]:
    """Return the distribution of each column of a page."""
    return {facts["name"]: facts["distribution"] for facts in page_data(nb).columns}


def test_columns_of_whole_numbers_have_bins_between_whole_numbers():
    """By their type, or by their values; every whole number is counted in its bin."""
    table, y = whole_table()
    found = distributions(nv.NaiveBayes().fit(table, y))
    for name in ("age", "with gaps"):
        shown = found[name]
        assert shown["whole"]
        assert all(cut % 1 == 0.5 for cut in shown["cuts"])
        assert shown["low"] % 1 == shown["high"] % 1 == 0
        places = np.searchsorted(shown["cuts"], table[name][~np.isnan(table[name])])
        assert np.bincount(places).tolist() == np.sum(shown["counts"], axis=0).tolist()
    assert not any("whole" in found[name] or "values" in found[name] for name in ("halves", "weight", "day"))


def test_few_different_whole_numbers_are_drawn_by_value():
    table, y = whole_table()
    nb = nv.NaiveBayes().fit(table, y)
    found = distributions(nb)
    for name, values in {"flag": [0, 1], "score": [0, 5, 10, 15]}.items():
        assert found[name]["values"] == values
        assert np.sum(found[name]["counts"], axis=0).tolist() == [(table[name] == value).sum() for value in values]
        assert (found[name]["low"], found[name]["high"]) == (values[0], values[-1])
    assert "values" not in found["age"]
    texts = Elements(nb.report(table, y).html).texts
    assert {"0", "5", "10", "15"} <= set(texts)


def test_rare_numbers_within_a_bin_are_not_drawn_as_another_value():
    """A bin of several whole numbers is not called by one of them."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.integers(0, 3, 400), [7, 9]])
    found = distributions(nv.NaiveBayes().fit({"x": x}, rng.integers(0, 2, len(x))))["x"]
    assert found["whole"]
    assert "values" not in found or found["values"] == [0, 1, 2, 7, 9]


def test_merged_models_know_whole_numbers():
    table, y = whole_table()
    parts = [{name: column[half] for name, column in table.items()} for half in (slice(0, 300), slice(300, 600))]
    merged = nv.merge(*(nv.NaiveBayes().fit(part, y[at : at + 300]) for part, at in zip(parts, (0, 300), strict=True)))
    found = distributions(merged)
    assert found["flag"]["values"] == [0, 1]
    assert found["age"]["whole"]


def test_the_typical_row_has_whole_numbers():
    table, y = whole_table()
    nb = nv.NaiveBayes().fit(table, y)
    cells = typical_row(page_data(nb).columns, nb.flat().to_json())
    assert cells["score"] in (0, 5, 10, 15)
    assert cells["age"] % 1 == 0
