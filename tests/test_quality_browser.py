"""The tabs Model, Quality and Compare in Chromium: every figure is what Python says, at every threshold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import naively as nv
from naively.judge.histograms import CUTS
from naively.page.numbers import number_text, probability_text

from .browser import DESK, PHONE, assert_accessible, assert_narrow, silent_page
from .tables import penguin_table, unpacked_data

HOSTILE = '"><img src=x onerror=alert(1)></script><script>throw 1</script>'
CELLS = ("hit", "missed", "false_alarm", "left_alone")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


class Measured:
    """A model with the scores of its rows, each by a model without it, and the file of its page."""

    def __init__(self, folder, name, nb, table, target, **options):
        self.scores = nb.leave_one_out(table, target=target)
        self.p, self.truth = self.scores.posterior, self.scores.truth
        self.labels = [str(label) for label in self.scores.classes]
        report = nb.report(table, **options)
        self.data, path = unpacked_data(report.html), folder / f"{name}.html"
        report.save(path)
        self.url = path.as_uri()


def two_classes(rows=3_000):
    rng = np.random.default_rng(7)
    bad = rng.random(rows) < 0.2
    table = pd.DataFrame({"age": rng.normal(40 + 6 * bad, 9), "score": rng.normal(-1.2 * bad)})
    table["city"] = np.where(rng.random(rows) < 0.3 + 0.3 * bad, "Oslo", "Rome")
    return table.assign(paid=np.where(bad, "late", "on time"))


@pytest.fixture(scope="module")
def loans(folder):
    table = two_classes()
    return Measured(folder, "loans", nv.NaiveBayes().fit(table, target="paid"), table, "paid", rows=80)


@pytest.fixture(scope="module")
def penguins(folder):
    table = penguin_table()
    early, nb = (nv.NaiveBayes().fit(part, target="species") for part in (table[:170], table))
    return Measured(folder, "penguins", nb, table, "species", rows=344, compare=early)


@pytest.fixture(scope="module")
def hostile(folder):
    rng = np.random.default_rng(2)
    y = rng.choice([HOSTILE, "</table><script>1</script>"], 300)
    table = pd.DataFrame({HOSTILE: rng.normal(size=300) + (y == HOSTILE), "x": rng.choice([HOSTILE, "b", "c"], 300)})
    return Measured(folder, "hostile", nv.NaiveBayes().fit(table.assign(y=y), target="y"), table.assign(y=y), "y")


def opened(page, shown, tab="quality"):
    page.goto(f"{shown.url}#{tab}")
    page.wait_for_selector(f".alive #{tab}.open")


@pytest.fixture
def page(chromium, loans):
    """Return the page of the loans."""
    with silent_page(chromium) as page:
        opened(page, loans)
        yield page


def control(page, name, value):
    page.locator(f".q-controls [name={name}]").fill(str(value))


def cells(page):
    return [float(page.locator(f"[data-cell={name}]").get_attribute("data-value")) for name in CELLS]


def sentence(page):
    return page.locator(".q-words").inner_text()


def listed(page):
    """Return the numbers of the rows that are listed."""
    return [int(text) for text in page.locator(".q-rows tbody button").all_inner_texts()]


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
def test_decisions_at_each_threshold_are_those_of_scores(page, loans, k):
    """Of either class: one has a histogram of its own, the other its mirror image. The rarer one comes first."""
    assert page.locator(".q-controls [name=k]").input_value() == str(loans.labels.index("late"))
    assert page.locator(".q-controls [name=t]").input_value() == "0.5"
    page.locator(".q-controls [name=k]").select_option(loans.labels[k])
    for t in (0.5, 0.001, 0.05, 0.2, 0.731, 0.9, 0.999):
        control(page, "t", t)
        scores = decided(loans, k, loans.p[:, k] > t)
        hit, missed, alarm, _ = in_order(scores)
        assert cells(page) == in_order(scores)
        precision = probability_text(hit / (hit + alarm)) if hit + alarm else "–"
        for words in (
            f"{probability_text(hit / (hit + missed))} of {loans.labels[k]} are found",
            f"{precision} of those flagged are right",
            f"Accuracy {probability_text(scores.accuracy)}",
            f"mean cost {number_text(scores.mean_cost, 3)}.",
        ):
            assert words in sentence(page)


@pytest.mark.parametrize("percent", [1, 10, 50, 90])
def test_another_base_rate_weighs_rows_and_shifts_probabilities(page, loans, percent):
    """As scores of weighed rows do, whose odds are multiplied by the ratio of both odds."""
    k, base = 0, percent / 100
    own = (loans.truth == k).mean()
    ratio = base / (1 - base) / (own / (1 - own))
    shifted = loans.p[:, k] * ratio / (loans.p[:, k] * ratio + 1 - loans.p[:, k])
    weights = np.where(loans.truth == k, base / own, (1 - base) / (1 - own))
    control(page, "base", percent)
    for wanted in (0.5, 0.2):
        control(page, "t", wanted)
        cut = CUTS[int(page.locator(".q-controls [name=at]").input_value()) - 1]
        scores = decided(loans, k, loans.p[:, k] > cut, shifted, weights)
        assert cut * ratio / (cut * ratio + 1 - cut) == pytest.approx(wanted, abs=0.03)
        assert ((shifted > wanted) == (loans.p[:, k] > cut)).mean() > 0.99
        assert cells(page) == pytest.approx(in_order(scores), rel=1e-9)
        assert f"Accuracy {probability_text(scores.accuracy)}" in sentence(page)
        rates = f"Base rate {probability_text(base)} instead of the {probability_text(own)} of these rows"
        assert rates in sentence(page)
    page.locator("[name=reset]").click()
    assert cells(page) == in_order(decided(loans, k, loans.p[:, k] > 0.5))
    assert "Base rate" not in sentence(page)


# -- confusion and rows ------------------------------------------------------------------------------------------------


def test_a_cell_lists_its_rows_by_surprise_and_a_row_opens(chromium, penguins):
    rows = penguins.data["rows"]
    with silent_page(chromium) as page:
        opened(page, penguins)
        for a in range(3):
            for b in range(3):
                n = float(page.locator(f"[data-cell='{a},{b}']").inner_text())
                assert n == penguins.scores.confusion[a, b]
        page.locator("[data-cell='0,0'] button").click()
        shown = listed(page)
        assert page.evaluate("document.activeElement.className") == "q-rows"
        assert len(shown) == 40
        p = np.array(rows["posterior"])
        inside = np.flatnonzero((np.array(rows["truth"]) == 0) & (p.argmax(axis=1) == 0))
        chances = p[[rows["numbers"].index(number) for number in shown], 0]
        assert (np.diff(chances.round(6)) >= 0).all()
        assert chances.max() <= np.sort(p[inside, 0])[39] + 1e-6
        page.locator(".q-rows tbody button").nth(3).click()
        assert page.locator("#row").is_visible()
        held = [column[rows["numbers"].index(shown[3])] for column in rows["cells"]]
        assert page.evaluate("Naively.currentRow().row") == dict(zip(rows["columns"], held, strict=True))


# -- the page around them ----------------------------------------------------------------------------------------------


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


TABS = [("penguins", "model"), ("penguins", "quality"), ("penguins", "compare"), ("hostile", "model"),
        ("hostile", "quality")]  # fmt: skip


@pytest.mark.parametrize("script", [True, False])
@pytest.mark.parametrize(("which", "tab"), TABS)
def test_a_phone_shows_the_tabs_without_scrolling_sideways(chromium, which, tab, script, request):
    shown = request.getfixturevalue(which)
    with silent_page(chromium, viewport=PHONE, java_script_enabled=script) as page:
        if script:
            opened(page, shown, tab)
        else:
            page.goto(shown.url)
        assert_narrow(page)


@pytest.mark.parametrize(
    ("which", "tab", "scheme", "viewport"),
    [
        # By day, the looks take turns.
        pytest.param(*shown, *look, marks=[] if (i + j) % 2 == 0 else [pytest.mark.slow])
        for i, shown in enumerate(TABS)
        for j, look in enumerate([("light", DESK), ("dark", PHONE)])
    ],
)
def test_axe_finds_nothing_in_the_tabs(chromium, which, tab, scheme, viewport, request):
    with silent_page(chromium, color_scheme=scheme, viewport=viewport) as page:
        opened(page, request.getfixturevalue(which), tab)
        if tab == "quality":
            page.locator("[data-cell=left_alone] button").click()
        assert_accessible(page)
