"""The page in Chromium: its tabs Row and Words, its keys, and its scorer."""

from __future__ import annotations

import json
import math
import warnings

import numpy as np
import pandas as pd
import pytest

import naively as nv
from naively.flat import SCORER
from naively.page import numbers

from .browser import DESK, PHONE, assert_accessible, assert_narrow, silent_page
from .flat_cases import MODELS, MORE_TEXTS, asked, fitted, plain_rows, table_of, text_models
from .tables import HOSTILE, SHARED, penguin_table, shared_table
from .test_flat import Scorer


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


class Shown:
    """A model and the file of its page."""

    def __init__(self, folder, name, nb, table=None, **options):
        self.nb = nb
        path = folder / f"{name}.html"
        nb.report(table, **options).save(path)
        self.url = path.as_uri()


@pytest.fixture(scope="module")
def penguins(folder):
    table = penguin_table()
    return Shown(folder, "penguins", nv.NaiveBayes().fit(table, target="species"), table, rows=40)


@pytest.fixture(scope="module")
def chinese(folder):
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"城市": rng.choice(["北京", "上海", "广州"], 200), "年龄": rng.integers(18, 80, 200)})
    table["类别"] = np.where(table["年龄"] + 20 * (table["城市"] == "北京") > 55, "是", "否")
    nb = nv.NaiveBayes().fit(table, target="类别")
    return Shown(folder, "chinese", nb, table, language="zh", title="模型")


@pytest.fixture(scope="module")
def hostile(folder):
    rng = np.random.default_rng(0)
    classes = np.array(HOSTILE[:3], dtype=object)[rng.integers(0, 3, 300)]
    columns = {name: np.array([*HOSTILE, ""], dtype=object)[rng.integers(0, 10, 300)] for name in HOSTILE}
    columns["1e308"] = np.where(rng.random(300) < 0.5, 1e100, -1e100)
    return Shown(folder, "hostile", nv.NaiveBayes(model="textbook").fit(columns, classes))


def opened(page, url):
    page.goto(url)
    page.wait_for_selector(".alive .lines", state="attached")


@pytest.fixture
def page(chromium, penguins):
    """Return the page of the penguins."""
    with silent_page(chromium) as page:
        opened(page, penguins.url)
        yield page


def current(page):
    """Return the row that is shown, its probabilities and the classes that are compared."""
    return page.evaluate(
        "() => { const now = Naively.currentRow(); return {...now, result: undefined,"
        " probabilities: [...now.result.probabilities], joint: [...now.result.joint]}; }"
    )


def row_of(page):
    return current(page)["row"]


def values(page, where):
    """Return the numbers that elements hold."""
    return page.evaluate("(where) => [...document.querySelectorAll(where)].map((e) => Number(e.dataset.value))", where)


def assert_as_python(page, shown):
    """Assert that the page has the probabilities of Python, and that its bars add up to its log-odds."""
    now = current(page)
    np.testing.assert_allclose(now["probabilities"], shown.nb.predict_proba(now["row"])[0], atol=1e-6)
    for k, text in enumerate(numbers.probability_texts(now["probabilities"])):
        assert page.locator(f'[data-class="{k}"]').text_content() == text
    assert_adds_up(page, now)


def assert_adds_up(page, now):
    total = now["joint"][now["of"]] - now["joint"][now["against"]]
    assert values(page, ".part .total") == [pytest.approx(total, abs=1e-9)]
    assert math.isclose(sum(values(page, ".lines .sum > .value")), total, abs_tol=1e-6)


# -- the row -----------------------------------------------------------------------------------------------------------


def test_editing_moves_everything_to_what_python_says(page, penguins):
    assert_as_python(page, penguins)
    sex = row_of(page)["sex"]
    page.get_by_role("spinbutton", name="bill_length_mm").fill("49.5")
    assert row_of(page)["bill_length_mm"] == 49.5
    assert_as_python(page, penguins)
    page.get_by_role("combobox", name="island").fill("Dre")
    page.keyboard.press("Enter")
    assert row_of(page)["island"] == "Dream"
    assert_as_python(page, penguins)
    page.get_by_role("slider", name="body_mass_g").fill("4200")
    assert_as_python(page, penguins)
    page.get_by_role("switch", name="sex: missing").check()
    assert row_of(page)["sex"] is None
    assert_as_python(page, penguins)
    page.get_by_role("switch", name="sex: missing").uncheck()
    assert row_of(page)["sex"] == sex
    page.get_by_role("combobox", name="island").fill("an island of its own")
    page.keyboard.press("Tab")
    assert row_of(page)["island"] == "an island of its own"
    assert "Never counted" in page.locator(".column", has_text="island").first.inner_text()
    assert_as_python(page, penguins)


def test_every_class_is_explained_against_every_other_and_pairs_add_up_to_their_sum(page):
    for of, against in [("2", "0"), ("1", "2"), ("0", "1")]:
        page.get_by_label("Class whose log-odds are shown").select_option(of)
        page.get_by_label("Class it is compared with").select_option(against)
        now = current(page)
        assert (now["of"], now["against"]) == (int(of), int(against))
        assert_adds_up(page, now)
    page.locator(".together > summary").click()
    page.wait_for_selector(".pairs li")
    leads = values(page, ".pairs .value")
    assert len(leads) == 21
    assert [pytest.approx(sum(leads), abs=1e-9)] == values(page, ".together > summary .value")
    assert [abs(lead) for lead in leads] == sorted(map(abs, leads), reverse=True)


def test_a_link_restores_everything_in_a_new_page(chromium, penguins):
    with silent_page(chromium) as page:
        opened(page, penguins.url)
        page.get_by_role("button", name="Next").click()
        page.get_by_role("spinbutton", name="bill_depth_mm").fill("15.25")
        page.get_by_role("combobox", name="island").fill("#&=%'\"<é企鹅")
        page.keyboard.press("Tab")
        page.get_by_label("Class whose log-odds are shown").select_option("2")
        before, link = current(page), page.evaluate("Naively.link()")
        page.wait_for_function("link => location.href === link", arg=link)
    with silent_page(chromium) as page:
        opened(page, link)
        assert current(page) == before


def test_many_classes_are_folded_and_of_many_columns_those_that_a_search_finds_are_shown(chromium, folder):
    rng = np.random.default_rng(2)
    table = pd.DataFrame({f"x{at}": rng.normal(size=140) for at in range(80)})
    y = np.array(list("abcdefg"))[np.digitize(table["x70"] + rng.normal(size=140), [-2, -1, -0.5, 0, 0.5, 1])]
    shown = Shown(folder, "many", nv.NaiveBayes(model="textbook").fit(table, y), table)
    with silent_page(chromium) as page:
        opened(page, shown.url)
        assert page.locator(".card ul.classes").first.locator("li").count() == 5
        assert "2 more classes" in page.locator(".card").first.inner_text()
        assert page.locator(".column[role=group]:visible").count() == 60
        page.get_by_role("searchbox", name="Search columns").fill("x7")
        assert page.locator(".column[role=group]:visible").count() == 11
        page.get_by_role("spinbutton", name="x70").fill("1.5")
        page.wait_for_selector(".column[aria-label=x70] .plot .line[d^=M]", state="attached")
        assert_as_python(page, shown)


# -- the shell ---------------------------------------------------------------------------------------------------------


def test_hostile_names_are_text(chromium, hostile):
    with silent_page(chromium) as page:
        page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
        opened(page, hostile.url)
        for name in HOSTILE:
            assert page.get_by_role("group", name=name, exact=True).count() == 1
        page.get_by_role("combobox", name="🐧").fill("<img")
        page.keyboard.press("Enter")
        assert row_of(page)["🐧"] == HOSTILE[1]
        page.get_by_role("spinbutton", name="1e308").fill("1e308")
        assert all(math.isfinite(p) for p in current(page)["probabilities"])
        assert page.locator("img").count() == 0


def test_offline_the_page_asks_for_nothing(chromium, penguins):
    asked = []
    with silent_page(chromium) as page:
        page.context.set_offline(True)
        page.on("request", lambda request: asked.append(request.url))
        opened(page, penguins.url)
        for name in page.evaluate("[...document.querySelectorAll('[role=tab]')].map((tab) => tab.id)"):
            page.locator(f"#{name}").click()
        page.locator("#tab-row").click()
        page.get_by_role("button", name="Next").click()
        assert_as_python(page, penguins)
    assert asked == [penguins.url]


@pytest.mark.parametrize("script", [True, False])
def test_a_phone_shows_it_without_scrolling_sideways(chromium, penguins, chinese, hostile, script):
    for shown in (penguins, chinese, hostile):
        with silent_page(chromium, viewport=PHONE, java_script_enabled=script) as page:
            if script:
                opened(page, shown.url)
                page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
            else:
                page.goto(shown.url)
            assert_narrow(page)


LOOKS = [
    *[("penguins", "light", DESK), ("chinese", "dark", PHONE), ("hostile", "dark", DESK)],
    *(
        pytest.param(*look, marks=pytest.mark.slow)
        for look in [("penguins", "dark", PHONE), ("chinese", "light", DESK), ("hostile", "light", PHONE)]
    ),
]


@pytest.mark.parametrize(("which", "scheme", "viewport"), LOOKS)
def test_axe_finds_nothing(chromium, which, scheme, viewport, request):
    with silent_page(chromium, color_scheme=scheme, viewport=viewport) as page:
        opened(page, request.getfixturevalue(which).url)
        page.evaluate("document.querySelectorAll('#row details').forEach((one) => { one.open = true; })")
        assert_accessible(page)


def test_everything_can_be_done_with_the_keyboard(page, penguins):
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "tab-row"
    page.keyboard.press("ArrowRight")
    assert page.locator("#tab-model").get_attribute("aria-selected") == "true"
    assert page.locator("#model").is_visible()
    assert not page.locator("#row").is_visible()
    page.keyboard.press("Home")
    assert page.locator("#row").is_visible()
    reached = set()
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body || document.activeElement.id === 'tab-row'"):
            break
        here = page.evaluate(
            "() => { const e = document.activeElement; return [e.getAttribute('role') || e.type || e.tagName,"
            " e.labels?.[0]?.textContent ?? e.getAttribute('aria-label') ?? e.textContent]; }"
        )
        reached.add(tuple(here))
        if here == ["combobox", "island"]:
            for key in ("ArrowDown", "ArrowDown", "Enter"):
                page.keyboard.press(key)
        if here == ["range", "bill_length_mm"]:
            page.keyboard.press("End")
    changed = row_of(page)
    assert changed["island"] == "Biscoe"
    assert changed["bill_length_mm"] > 55
    assert_as_python(page, penguins)
    assert {("switch", f"{name}: missing") for name in changed} <= reached
    assert {("number", "year"), ("range", "year")} <= reached


# -- texts -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def messages(folder):
    table = shared_table("sms-spam.csv").dropna()
    nb = nv.NaiveBayes(families={"text": "words"}).fit(table, target="label")
    return Shown(folder, "messages", nb, table[["text"]], rows=20)


@pytest.fixture(scope="module")
def hotels(folder):
    table = shared_table("zh-hotel-chnsenticorp.csv.gz").dropna().sample(2_000, random_state=0)
    nb = nv.NaiveBayes(families={"text": "words"}).fit(table, target="label")
    return Shown(folder, "hotels", nb, table[["text"]], rows=20, language="zh")


def words_of(page):
    """Return the words of the text that is shown, each with its lead."""
    return page.evaluate(
        "() => { const { result, of, against } = Naively.currentRow(); return result.words.map("
        "({ word, begin, end, scores }) => [word, begin, end, scores[of] - scores[against]]); }"
    )


@pytest.mark.parametrize("which", ["messages", "hotels"])
def test_texts_are_scored_as_in_python_and_words_add_up(chromium, which, request):
    shown = request.getfixturevalue(which)
    with silent_page(chromium) as page:
        opened(page, shown.url)
        for _ in range(10):
            assert_as_python(page, shown)
            total = values(page, ".column.text .value")[0]
            assert math.isclose(sum(lead for *_, lead in words_of(page)), total, abs_tol=1e-5)
            assert page.locator(".colored").inner_text().strip() == row_of(page)["text"].strip()
            page.locator(".toolbar button").nth(1).click()


def test_the_strongest_words_are_those_of_python_and_all_can_be_searched(chromium, messages):
    with silent_page(chromium) as page:
        opened(page, f"{messages.url}#words")
        for k, label in enumerate(["ham", "spam"]):
            expected = messages.nb.words(label, top=12)
            table = page.locator("#words .card").nth(k)
            assert table.get_by_role("rowheader").all_inner_texts() == expected["word"].tolist()
            rows = messages.nb.fitted_.all_counts.rows[k]
            here = [f"{int(n):,} / {int(rows):,}" for n in expected[f"texts of {label}"]]
            assert table.locator("tr td:nth-child(4)").all_inner_texts() == here
            leads = table.locator("tr td:nth-child(2)").all_inner_texts()
            assert leads == [numbers.signed(lead) for lead in expected["lead"]]
        table.get_by_role("button").click()
        assert table.get_by_role("rowheader").count() > 100
        page.get_by_role("searchbox", name="Search words").fill("PRIZE")
        first = page.locator("#words table").first
        found = first.get_by_role("rowheader").all_inner_texts()
        assert found[0] == "prize"
        assert all("prize" in word for word in found)
        assert "spam" in first.locator("tbody tr").first.inner_text()
        page.get_by_role("searchbox", name="Search words").fill("no such word <b>")
        assert "0 words hold “no such word <b>”." in page.locator("#words").inner_text()


LOOKS_OF_TEXTS = [
    ("messages", "dark", PHONE, "a"),
    ("hotels", "light", DESK, "好"),
    pytest.param("messages", "light", DESK, "a", marks=pytest.mark.slow),
    pytest.param("hotels", "dark", PHONE, "好", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("which", "scheme", "viewport", "word"), LOOKS_OF_TEXTS)
def test_axe_finds_nothing_where_there_are_texts(chromium, which, scheme, viewport, word, request):
    shown = request.getfixturevalue(which)
    with silent_page(chromium, color_scheme=scheme, viewport=viewport) as page:
        opened(page, shown.url)
        assert_accessible(page)
        page.locator("#tab-words").click()
        page.get_by_role("searchbox").fill(word)
        assert_accessible(page)
        assert_narrow(page)


# -- what the scorer of the page has beyond that of the docs -----------------------------------------------------------

SETS = {} if SHARED is None else json.loads((SHARED / "datasets.json").read_text("utf-8"))
MOST = 800  # rows of a set that a model is fitted with: what is compared does not get truer with more
ASKED = 100
# Sets that have each kind of column, many classes, missing values and texts; the others are for the night.
BY_DAY = {"votes", "glass", "hepatitis", "balance-scale", "trec-questions"}
each_model = pytest.mark.parametrize("model", MODELS)

# What is asked of the scorer in the browser, of each row of a model.
ASK = """([flat, rows]) => {
    const model = Naively.model(JSON.parse(flat));
    const plain = (part) => ({ ...part, scores: Array.from(part.scores) });
    return rows.map((row) => {
        const state = model.score(row);
        return {
            joint: Array.from(state.joint), probabilities: Array.from(state.probabilities),
            base: Array.from(state.base), columns: state.columns.map(plain), pairs: state.pairs.map(plain),
            words: state.words.map(plain),
        };
    });
}"""


@pytest.fixture(scope="module")
def scorer_page(chromium):
    """Return an empty page that has the scorer."""
    opened = chromium.new_page()
    opened.add_script_tag(content=SCORER.read_text(encoding="utf-8"))
    yield opened
    opened.close()


def ask(scorer_page, nb, rows):
    return scorer_page.evaluate(ASK, [nb.flat().json(), rows])


def statuses(answer):
    return {part["name"]: part["status"] for part in answer["columns"]}


@pytest.mark.skipif(not SETS, reason="needs the data sets of ../shared/data beside the repository")
@pytest.mark.parametrize(
    "name", [name if name in BY_DAY else pytest.param(name, marks=pytest.mark.slow) for name in SETS]
)
def test_rows_of_real_sets_get_the_probabilities_of_python(scorer_page, name):
    facts = SETS[name]
    texts, target = facts["task"] == "text", facts["target"]
    marks = [facts["missing"]] if "missing" in facts else []
    frame = pd.read_csv(SHARED / facts["file"], na_values=marks).drop(columns=facts.get("split_column", []))
    frame = frame.drop(columns=[column for column, kind in facts.get("kinds", {}).items() if kind == "id"])
    frame = frame.sample(min(len(frame), 200 if texts else MOST), random_state=0).reset_index(drop=True)
    some = plain_rows(frame.drop(columns=target).sample(min(len(frame), 30 if texts else ASKED), random_state=1))
    for model in MODELS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # classes of a row or two in a sample
            nb = nv.NaiveBayes(model=model, families={"text": "words"} if texts else None).fit(frame, target=target)
        Scorer(scorer_page).check(nb, some)
        Scorer(scorer_page).check(nb, some, single=True)


@each_model
@pytest.mark.parametrize("name", ["usual words", "up to three words", "characters", "inside words", "logarithms"])
def test_words_lie_where_they_are_found_and_add_up_to_their_column(scorer_page, model, name):
    nb = dict(text_models(name))[model]
    answers = ask(scorer_page, nb, [{"text": text} for text in MORE_TEXTS])
    for text, answer in zip(MORE_TEXTS, answers, strict=True):
        units = text.encode("utf-16-le")
        for word in answer["words"]:
            found = units[2 * word["begin"] : 2 * word["end"]].decode("utf-16-le")
            if name == "usual words":
                assert " ".join(found.lower().replace("\ufe0f", "").split()).startswith(word["word"][:1])
            assert word["column"] == "text"
        if answer["words"]:
            total = np.sum([word["scores"] for word in answer["words"]], axis=0)
            assert np.allclose(total, answer["columns"][0]["scores"], rtol=0, atol=1e-9)


def test_places_of_words_are_those_of_utf_16(scorer_page):
    text = "👍🏽 İstanbul Good day, 酒店"
    (answer,) = ask(scorer_page, dict(text_models("usual words"))["auto"], [{"text": text}])
    units = text.encode("utf-16-le")
    found = {word["word"]: units[2 * word["begin"] : 2 * word["end"]].decode("utf-16-le") for word in answer["words"]}
    expected = {
        "👍🏽": "👍🏽",
        "i̇stanbul": "İstanbul",
        "good": "Good",
        "good day": "Good day",
        "酒店": "酒店",
        "店": "店",
    }
    assert expected.items() <= found.items()


def test_cells_may_be_texts_as_fields_of_a_page_hold_them(scorer_page):
    """And an empty field is missing."""
    table = table_of(9)
    nb, row = fitted(table, "auto", {"grade": "categorical"}), asked(table)[0]
    one, other = ask(scorer_page, nb, [row, {name: cell if cell is None else str(cell) for name, cell in row.items()}])
    assert one["probabilities"] == other["probabilities"]
    nb = fitted(table, "auto", missing="value")
    for name in ("size", "color", "member"):
        empty, missing = ask(scorer_page, nb, [row | {name: ""}, row | {name: None}])
        assert empty == missing
        assert statuses(empty)[name] == "missing"


def test_columns_tell_what_a_page_needs_for_its_fields(scorer_page):
    table = table_of(10)
    flat = fitted(table, "auto", max_categories=4).flat().to_json(single=True)
    columns = scorer_page.evaluate("(flat) => Naively.model(flat).columns.map(({codeOf, none, ...rest}) => rest)", flat)
    known = {column["name"]: column for column in columns}
    assert set(known["color"]["values"]) == {"red", "green", "blue"}  # a question mark stands for no value
    assert set(known["code"]["values"]) == set(table["code"])  # those that are rare, too
    assert known["size"]["low"] < known["size"]["high"]
    types = [known[name]["type"] for name in ("size", "visits", "member", "shape")]
    assert types == ["number", "whole", "boolean", "text"]
