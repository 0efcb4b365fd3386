"""The tabs Model, Quality and Compare in Chromium: every figure is what Python says, at every threshold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import naively as nv
from naively.estimator.reports import information_of_columns
from naively.judge.histograms import CUTS, QualitySource
from naively.markup.numbers import number_text, probability_text
from naively.page.comparison import comparison_of
from naively.page.page import report_page
from naively.page.quality import quality_of

from .browser import silent_page
from .page_cases import page_data, penguin_table

PHONE = {"width": 390, "height": 844}
HOSTILE = '"><img src=x onerror=alert(1)></script><script>throw 1</script>'
CELLS = ("hit", "missed", "false_alarm", "left_alone")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


class Measured:
    """A model with the leave-one-out scores of its rows, and the file of its page."""

    def __init__(self, folder, name, nb, table, target, **more):
        self.table, self.scores = table, nb.leave_one_out(table, target=target)
        posterior, truth, classes = self.scores.posterior, self.scores.truth, self.scores.classes
        self.p, self.truth, self.labels = posterior, truth, [str(label) for label in classes]
        quality = quality_of(posterior, truth, classes, source=QualitySource("leave_one_out"))
        data = page_data(nb, table, target, quality=quality, **more)
        if data.rows is not None:  # with the probabilities that were measured
            measured = posterior[np.array(data.rows.numbers) - 1].tolist()
            data = replace(data, rows=replace(data.rows, posterior=measured))
        self.data = data
        path = folder / f"{name}.html"
        path.write_text(report_page(self.data), "utf-8")
        self.url = path.as_uri()


def two_classes(rows=3_000):
    rng = np.random.default_rng(7)
    bad = rng.random(rows) < 0.2
    table = pd.DataFrame({"age": rng.normal(40 + 6 * bad, 9), "score": rng.normal(-1.2 * bad), "city": "Rome"})
    table["city"] = np.where(rng.random(rows) < 0.3 + 0.3 * bad, "Oslo", "Rome")
    return table.assign(paid=np.where(bad, "late", "on time"))


@pytest.fixture(scope="module")
def loans(folder):
    table = two_classes()
    return Measured(folder, "loans", nv.NaiveBayes().fit(table, target="paid"), table, "paid", rows=80)


@pytest.fixture(scope="module")
def penguins(folder):
    table = penguin_table()
    a, b = (nv.NaiveBayes().fit(part, target="species") for part in (table[:170], table[170:]))
    told = information_of_columns(a.fitted_), information_of_columns(b.fitted_)
    compare = comparison_of(a.counts_, b.counts_, ("first", "second"), told)
    nb = nv.NaiveBayes().fit(table, target="species")
    return Measured(folder, "penguins", nb, table, "species", rows=344, compare=compare)


@pytest.fixture(scope="module")
def hostile(folder):
    rng = np.random.default_rng(2)
    y = rng.choice([HOSTILE, "</table><script>1</script>"], 300)
    table = pd.DataFrame({HOSTILE: rng.normal(size=300) + (y == HOSTILE), "x": rng.choice([HOSTILE, "b", "c"], 300)})
    table["y"] = y
    return Measured(folder, "hostile", nv.NaiveBayes().fit(table, target="y"), table, "y")


def opened(page, shown, tab="quality"):
    page.goto(f"{shown.url}#{tab}")
    page.wait_for_selector("html.alive")
    page.wait_for_selector(f"#{tab}.open")


def control(page, name, value):
    page.locator(f".q-controls [name={name}]").fill(str(value))


def cells(page):
    return [float(page.locator(f"[data-cell={name}]").get_attribute("data-value")) for name in CELLS]


def decided(shown, k, flagged, posterior=None, weights=None):
    """Return the scores of decisions for a class or against it, as a table of two classes."""
    p = shown.p[:, k] if posterior is None else posterior
    two, truth = np.column_stack([1 - p, p]), (shown.truth == k).astype(int)
    return nv.Scores.from_indices(two, truth, ("rest", "class"), weights, decided=flagged.astype(int))


def in_order(scores):
    (left, alarm), (missed, hit) = scores.confusion
    return [hit, missed, alarm, left]


# -- threshold, costs, base rate ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [0, 1])
def test_decisions_at_each_threshold_are_those_of_scores(chromium, loans, k):
    """Of either class: one has a histogram of its own, the other its mirror image."""
    with silent_page(chromium) as page:
        opened(page, loans)
        page.locator(".q-controls [name=k]").select_option(loans.labels[k])
        for t in (0.001, 0.05, 0.2, 0.5, 0.731, 0.9, 0.999):
            control(page, "t", t)
            scores = decided(loans, k, loans.p[:, k] > t)
            assert cells(page) == in_order(scores)
            hit, missed, alarm, _ = in_order(scores)
            words = page.locator(".q-words").inner_text()
            assert f"{probability_text(hit / (hit + missed))} of {loans.labels[k]} are found" in words
            precision = probability_text(hit / (hit + alarm)) if hit + alarm else "–"
            assert f"{precision} of those flagged are right" in words
            assert f"Accuracy {probability_text(scores.accuracy)}" in words
            assert f"mean cost {number_text(scores.mean_cost, 3)}." in words


def test_the_rarer_class_is_looked_at_first(chromium, loans):
    with silent_page(chromium) as page:
        opened(page, loans)
        assert page.locator(".q-controls [name=k]").input_value() == str(loans.labels.index("late"))
        assert page.locator(".q-controls [name=t]").input_value() == "0.5"
        assert cells(page) == in_order(decided(loans, 0, loans.p[:, 0] > 0.5))


def test_costs_decide_as_scores_do(chromium, loans):
    """The threshold moves to the least expected cost, and the mean cost is that of the decisions there."""
    with silent_page(chromium) as page:
        opened(page, loans)
        for miss, alarm in [(4, 1), (1, 4), (9, 1), (19, 1)]:
            cost = {("late", "on time"): miss, ("on time", "late"): alarm}
            scores = nv.Scores.from_indices(loans.p, loans.truth, loans.labels, cost=cost)
            control(page, "miss", miss)
            control(page, "alarm", alarm)
            (hit, missed), (false_alarm, left) = scores.confusion
            assert cells(page) == [hit, missed, false_alarm, left]
            mean = f"ean cost {number_text(scores.mean_cost, 3)}"
            assert f"m{mean}." in page.locator(".q-words").inner_text()
            said = page.locator("[data-picture=costs] figcaption").inner_text()
            assert said.startswith(f"M{mean} at this threshold")


@pytest.fixture(scope="module")
def loans_page(chromium, loans):
    """Return a page of the loans, which each test leaves as it was."""
    with silent_page(chromium) as page:
        opened(page, loans)
        yield page


@pytest.mark.parametrize("percent", [1, 10, 50, 90])
def test_another_base_rate_weighs_rows_and_shifts_probabilities(loans_page, loans, percent):
    """As scores of weighed rows do, whose odds are multiplied by the ratio of both odds."""
    k, base = 0, percent / 100
    own = (loans.truth == k).mean()
    ratio = base / (1 - base) / (own / (1 - own))
    shifted = loans.p[:, k] * ratio / (loans.p[:, k] * ratio + 1 - loans.p[:, k])
    weights = np.where(loans.truth == k, base / own, (1 - base) / (1 - own))
    page = loans_page
    control(page, "base", percent)
    for wanted in (0.5, 0.2):
        control(page, "t", wanted)
        at = int(page.locator(".q-controls [name=at]").input_value())
        cut = CUTS[at - 1]
        scores = decided(loans, k, loans.p[:, k] > cut, shifted, weights)
        assert cut * ratio / (cut * ratio + 1 - cut) == pytest.approx(wanted, abs=0.03)
        assert ((shifted > wanted) == (loans.p[:, k] > cut)).mean() > 0.99
        assert cells(page) == pytest.approx(in_order(scores), rel=1e-9)
        words = page.locator(".q-words").inner_text()
        assert f"Accuracy {probability_text(scores.accuracy)}" in words
        assert f"Base rate {probability_text(base)} instead of the {probability_text(own)} of these rows" in words
    page.locator("[name=reset]").click()
    assert cells(page) == in_order(decided(loans, k, loans.p[:, k] > 0.5))
    assert "Base rate" not in page.locator(".q-words").inner_text()


def test_pictures_say_what_they_show(chromium, loans):
    """The area under the ROC curve, and how often rows of a probability were of the class."""
    with silent_page(chromium) as page:
        opened(page, loans)
        control(page, "t", 0.35)
        k, p = 0, loans.p[:, 0]
        titles = {
            name: page.locator(f"[data-picture={name}] figcaption").inner_text()
            for name in ("histogram", "calibration", "roc", "precision", "costs")
        }
        assert f"area {loans.scores.auc:.3f}" in titles["roc"]
        groups = loans.data.quality["intervals"][1]  # those of the other class, mirrored
        begin, end = next((1024 - e, 1024 - b) for b, e, *_ in groups if 1024 - e <= 362 < 1024 - b)
        there = (np.searchsorted(CUTS, p) >= begin) & (np.searchsorted(CUTS, p) < end)
        given, found = (probability_text(value, 0) for value in (p[there].mean(), (loans.truth[there] == k).mean()))
        assert titles["calibration"] == f"Of {there.sum()} rows given about {given}, {found} were late"
        costs = [decided(loans, k, p > cut).mean_cost for cut in CUTS[12:-12:5]]
        shown = titles["costs"].split("the lowest on these rows is ")[1].split(" ")[0]
        assert float(shown) <= min(costs) + 5e-4
        for name in titles:
            picture = page.locator(f"[data-picture={name}] svg")
            assert picture.get_attribute("aria-label") == titles[name]
            assert picture.locator("path").count() >= 2


# -- confusion and rows ------------------------------------------------------------------------------------------------


def test_a_cell_lists_its_rows_by_surprise_and_a_row_opens(chromium, penguins):
    with silent_page(chromium) as page:
        opened(page, penguins)
        for a in range(3):
            for b in range(3):
                n = float(page.locator(f"[data-cell='{a},{b}']").inner_text())
                assert n == penguins.scores.confusion[a, b]
        rows = penguins.data.rows
        page.locator("[data-cell='0,0'] button").click()
        shown = [int(text) for text in page.locator(".q-rows tbody button").all_inner_texts()]
        assert page.evaluate("document.activeElement.className") == "q-rows"
        assert len(shown) == 40
        p = np.array(rows.posterior)
        inside = np.flatnonzero((np.array(rows.truth) == 0) & (p.argmax(axis=1) == 0))
        chances = p[[rows.numbers.index(number) for number in shown], 0]
        assert (np.diff(chances.round(6)) >= 0).all()
        assert chances.max() <= np.sort(p[inside, 0])[39] + 1e-6
        page.locator(".q-rows tbody button").nth(3).click()
        assert page.locator("#row").is_visible()
        held = rows.row(list(rows.numbers).index(shown[3]))
        assert page.evaluate("Naively.currentRow().row") == held


def test_a_cell_of_the_threshold_lists_its_rows(chromium, loans):
    """And another threshold takes the list away: its rows are others then."""
    rows = loans.data.rows
    with silent_page(chromium) as page:
        opened(page, loans)
        control(page, "t", 0.3)
        p = np.array(rows.posterior)[:, 0]
        truth = np.array(rows.truth)
        page.locator("[data-cell=missed] button").click()
        shown = [int(text) for text in page.locator(".q-rows tbody button").all_inner_texts()]
        inside = np.flatnonzero((truth == 0) & (p <= 0.3))
        expected = [rows.numbers[at] for at in inside[np.argsort(p[inside], kind="stable")]]
        assert shown == expected[:40]
        assert f"{len(inside)} of the {len(rows)} rows" in page.locator(".q-rows p").first.inner_text()
        control(page, "t", 0.6)
        assert page.locator(".q-rows tbody").count() == 0


def test_a_page_without_rows_has_no_cell_to_choose(chromium, folder):
    table = two_classes(400)
    shown = Measured(folder, "no rows", nv.NaiveBayes().fit(table, target="paid"), table, "paid", rows=0)
    with silent_page(chromium) as page:
        opened(page, shown)
        control(page, "t", 0.4)
        assert cells(page) == in_order(decided(shown, 0, shown.p[:, 0] > 0.4))
        assert page.locator("[data-cell] button").count() == 0
        assert "holds no rows" in page.locator(".q-click").inner_text()


# -- the page around them ----------------------------------------------------------------------------------------------


def test_a_link_restores_what_was_set(chromium, loans):
    with silent_page(chromium) as page:
        opened(page, loans)
        page.locator(".q-controls [name=k]").select_option("on time")
        control(page, "miss", 3)
        control(page, "base", 40)
        before, link = cells(page), page.evaluate("Naively.link()")
    with silent_page(chromium) as page:
        page.goto(link)
        page.wait_for_selector(".q-controls")
        assert cells(page) == before
        assert page.locator(".q-controls [name=miss]").input_value() == "3"


def test_everything_is_reached_with_the_keyboard(chromium, penguins):
    with silent_page(chromium) as page:
        opened(page, penguins)
        page.locator("#tab-quality").focus()
        names = []
        for _ in range(8):
            page.keyboard.press("Tab")
            names.append(page.evaluate("document.activeElement.name"))
            if names[-1] == "at":
                before = float(page.locator(".q-controls [name=t]").input_value())
                page.keyboard.press("ArrowRight")
                assert float(page.locator(".q-controls [name=t]").input_value()) == pytest.approx(before + 0.001)
        assert names == ["k", "at", "t", "miss", "alarm", "bases", "base", "reset"]
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")  # the first cell
        assert page.locator(".q-rows tbody tr").count() > 0
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")  # its first row
        assert page.locator("#row").is_visible()


@pytest.mark.parametrize("script", [True, False])
@pytest.mark.parametrize("tab", ["model", "quality", "compare"])
def test_a_phone_shows_the_tabs_without_scrolling_sideways(chromium, penguins, hostile, tab, script):
    for shown in (penguins, hostile):
        if tab == "compare" and shown is hostile:
            continue
        with silent_page(chromium, viewport=PHONE, java_script_enabled=script) as page:
            if script:
                opened(page, shown, tab)
            else:
                page.goto(shown.url)
            assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


TABS = [("penguins", "model"), ("penguins", "quality"), ("penguins", "compare"), ("hostile", "model"),
        ("hostile", "quality")]  # fmt: skip
LOOKS = [("light", {"width": 1280, "height": 900}), ("dark", PHONE)]


@pytest.mark.parametrize(
    ("which", "tab", "scheme", "viewport"),
    [
        pytest.param(
            *shown, *look, marks=[] if (i + j) % 2 == 0 else [pytest.mark.slow]
        )  # by day, the looks take turns
        for i, shown in enumerate(TABS)
        for j, look in enumerate(LOOKS)
    ],
)
def test_axe_finds_nothing_in_the_tabs(chromium, which, tab, scheme, viewport, request):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe: axe-playwright-python").Axe()
    with silent_page(chromium, color_scheme=scheme, viewport=viewport) as page:
        opened(page, request.getfixturevalue(which), tab)
        if tab == "quality":
            page.locator("[data-cell=left_alone] button").click()
        found = axe.run(page, context="body")
        assert not found.response["violations"], found.generate_report()


def test_hostile_names_are_text_in_all_tabs(chromium, hostile):
    with silent_page(chromium) as page:
        for tab in ("model", "quality"):
            opened(page, hostile, tab)
            assert page.locator("main img, main script").count() == 0
            assert HOSTILE[:12] in page.locator(f"#{tab}").inner_text()


def test_without_scripts_figures_and_pictures_are_there(chromium, penguins):
    with silent_page(chromium, java_script_enabled=False) as page:
        page.goto(penguins.url)
        assert page.locator("#model article").count() == 7
        assert page.locator("#quality .q-controls").count() == 0
        assert page.locator("#quality svg").count() == 1
        k = penguins.labels.index("Chinstrap")
        found = [float(page.locator(f"[data-cell={name}]").inner_text().split()[0]) for name in CELLS]
        assert found == in_order(decided(penguins, k, penguins.p[:, k] > 0.5))
        assert "leave-one-out" in page.locator(".q-source").inner_text()
        assert page.locator("#compare tbody tr").count() > 20


def test_of_many_columns_the_first_are_drawn_and_others_open(chromium, folder):
    rng = np.random.default_rng(4)
    y = rng.choice(["a", "b"], 200)
    table = pd.DataFrame({f"c{at}": rng.normal(size=200) + 0.02 * at * (y == "a") for at in range(150)}).assign(y=y)
    shown = Measured(folder, "many", nv.NaiveBayes(model="textbook").fit(table, target="y"), table, "y", rows=0)
    with silent_page(chromium) as page:
        opened(page, shown, "model")
        assert page.locator("#model article").count() == 30
        assert page.locator("#model details").count() == 100
        page.locator("#model details summary").first.click()
        assert "±" in page.locator("#model details table").first.inner_text()
        page.locator(".m-more > button").click()
        assert page.locator("#model details").count() == 120
        assert not page.locator(".m-more > button").is_visible()


def test_changes_of_one_column_can_be_looked_at(chromium, penguins):
    with silent_page(chromium) as page:
        opened(page, penguins, "compare")
        page.locator("#compare select").select_option("island")
        visible = page.locator("#compare tr[data-column]:visible")
        assert {visible.nth(at).get_attribute("data-column") for at in range(visible.count())} == {"(class)", "island"}
