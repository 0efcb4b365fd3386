"""Colors, numbers, elements and pictures: what notebooks and pages are made of."""

import re
from html.parser import HTMLParser
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from naively.markup import charts, palette, style, svg
from naively.markup.numbers import (
    count_text,
    counted,
    number_text,
    probability_text,
    probability_texts,
    signed,
    with_true_minus,
)
from naively.markup.tags import Html, details, escape, joined, label, scrolled, table, tag

THEMES = [palette.LIGHT, palette.DARK]
THEME_NAMES = ["light", "dark"]
NASTY = "<img src=x onerror=alert(1)>"


class Texts(HTMLParser):
    """The texts and attributes of a document."""

    def __init__(self, page):
        super().__init__()
        self.texts, self.attributes = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        """Note the attributes."""
        self.attributes += attrs

    def handle_data(self, data):
        """Note a text."""
        self.texts.append(data)


# -- colors ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("theme", THEMES, ids=THEME_NAMES)
def test_texts_and_shapes_have_enough_contrast(theme):
    """4.5:1 for texts and 3:1 for shapes, on every background they may lie on (WCAG 2, level AA)."""
    for behind in (theme.background, theme.raised):
        for ink in (theme.ink, theme.muted):
            assert palette.contrast_ratio(ink, behind) >= 4.5
        for color in (*theme.classes, theme.positive, theme.negative):
            assert palette.contrast_ratio(color, behind) >= 3.0
    for tint in (*theme.for_tints, *theme.against_tints):
        assert palette.contrast_ratio(theme.ink, tint) >= 4.5


def test_contrast_is_that_of_the_standard():
    assert palette.contrast_ratio("#767676", "#ffffff") == pytest.approx(4.54, abs=0.005)
    assert palette.contrast_ratio("#ffffff", "#767676") == palette.contrast_ratio("#767676", "#ffffff")


@pytest.mark.parametrize("theme", THEMES, ids=THEME_NAMES)
def test_colors_of_classes_differ_and_repeat(theme):
    """Both themes have the same number of them, so that a class is the same color in words."""
    assert len({*theme.classes}) == len(theme.classes) == palette.COLORS
    assert palette.class_colors(palette.COLORS + 1, theme)[-1] == palette.class_color(0, theme)


@pytest.mark.parametrize("theme", THEMES, ids=THEME_NAMES)
def test_for_and_against_differ_for_every_color_vision(theme):
    """Blue and orange: their order by the blue part of the color holds for protanopes and deuteranopes, too."""
    blue_of = [int(color[5:7], 16) - int(color[1:3], 16) for color in (theme.positive, theme.negative)]
    assert blue_of[0] > 100
    assert blue_of[1] < -100


# -- numbers -----------------------------------------------------------------------------------------------------------


@given(st.floats(0, 1))
def test_a_probability_is_what_its_text_says(p):
    """To half a unit of the last digit, or beyond the bound that is given."""
    text = probability_text(p)
    number = float(re.sub(r"[<> %]", "", text)) / 100
    if text.startswith(">"):
        assert p > number
    elif text.startswith("<"):
        assert 0 < p < number
    else:
        assert p == pytest.approx(number, abs=0.000501)
    assert (text == "0 %") == (p == 0)
    assert (text == "100 %") == (p == 1)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=5).filter(lambda ps: sum(ps) > 0))
def test_no_class_is_certain_while_another_is_possible(weights):
    shares = [weight / sum(weights) for weight in weights]
    texts = probability_texts(shares)
    possible = sum(share > 0 for share in shares)
    assert texts.count("100 %") == (possible == 1)
    assert texts.count("0 %") == len(shares) - possible


@given(st.floats(allow_nan=False))
def test_signs_are_true(value):
    text = signed(value)
    assert "-" not in text
    if "∞" in text:
        assert text == ("+∞" if value > 0 else "−∞")
    else:
        assert float(text.replace("−", "-")) == pytest.approx(value, abs=0.00501, rel=1e-9)
        assert text[0] in "+−" or set(text) == {"0", "."}


def test_what_is_no_number_is_no_text():
    assert signed(float("nan")) == number_text(float("nan")) == ""
    assert probability_text(float("nan")) == "–"


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (1e6, "1,000,000"), (2.5, "2.5"), (123456.75, "123,456.8"), (-3, "−3")]
)
def test_counts_have_separators(value, text):
    assert count_text(value) == text


def test_large_numbers_are_written_out():
    assert [number_text(x) for x in (123456.0, 1e12, -2e-7, float("-inf"))] == ["123500", "1e+12", "−2e−07", "−∞"]
    assert (counted(1, "row"), counted(0, "row"), with_true_minus("-1")) == ("1 row", "0 rows", "−1")


# -- elements ----------------------------------------------------------------------------------------------------------


@given(st.text())
def test_every_text_is_shown_as_it_is(text):
    """In elements and in attributes; characters that HTML cannot hold are shown as one that says so."""
    page = tag("p", text, title=text)
    page.encode("utf-8")
    parsed = Texts(page)
    shown = "".join(parsed.texts)
    assert len(shown) == len(text)
    assert all(a == b or b == "\ufffd" or b == "?" for a, b in zip(text, shown, strict=True))
    assert not {"<", ">"} & set(escape(text))


def test_html_is_escaped_once():
    assert tag("p", tag("b", NASTY)).count("&lt;img") == 1
    assert tag("p", [NASTY, Html("<br>")]) == "<p>&lt;img src=x onerror=alert(1)&gt;<br></p>"
    assert "<img" not in joined(NASTY, label(NASTY), details(NASTY, NASTY))


@pytest.mark.parametrize("name", ["style", "onclick", "onload"])
def test_attributes_that_a_policy_forbids_are_refused(name):
    with pytest.raises(ValueError, match="Content-Security-Policy"):
        tag("p", "x", **{name: "x"})


def test_attributes_may_be_left_out():
    assert tag("details", open=False, title=None) == "<details></details>"
    assert tag("details", open=True) == "<details open></details>"
    assert tag("rect", width=1 / 3, css="nv-c0") == '<rect class="nv-c0" width="0.33"/>'


def test_long_texts_are_cut_and_bounded():
    shown = label("x" * 10_000)
    assert len(shown) < 600
    assert Texts(shown).texts == ["x" * 39 + "…"]


def test_tables_have_headings_and_wide_ones_can_be_scrolled_by_keys():
    page = scrolled(table(("a", "b"), [tag("tr", tag("td", "1"))], numbers=(1,)), "Counts")
    assert 'tabindex="0"' in page
    assert 'aria-label="Counts"' in page
    assert page.count('scope="col"') == 2
    assert page.count('class="nv-n"') == 1


# -- pictures ----------------------------------------------------------------------------------------------------------

POINTS = [charts.ChartPoint(0.2, 0.3, 0.1, 0.5), charts.ChartPoint(0.9, 0.8, size=0.0)]
PICTURES = {
    "share": svg.share_bar(0.4, 3, "40 %"),
    "stack": svg.stacked_bar([1, 2, 3]),
    "signed": svg.signed_bar(-0.5, 1.0),
    "span": svg.span_bar(1.0, float("inf"), -1.0, 3.0),
    "bars": svg.grouped_bars([[0.1, 0.9], [], [0.5, 0.5]], NASTY),
    "steps": svg.step_histogram([0, 1, 1, 5], [[0.2, 0.3, 0.5], []]),
    "curves": svg.curves([[0.0, 1.0, 0.0], []]),
    "swatch": svg.swatch(9),
    "lines": charts.line_chart([POINTS, []], charts.ChartAxis(NASTY), charts.ChartAxis("y"), "Lines", True),
    "reliability": charts.reliability_diagram(POINTS),
    "waterfall": charts.waterfall(
        [charts.WaterfallStep(NASTY, 1.0), charts.WaterfallStep("b", -3.0), charts.WaterfallStep("c", float("inf"))],
        "w",
    ),
    "no bars": svg.grouped_bars([]),
    "no steps": svg.step_histogram([1.0, 1.0], [[0.0]]),
}


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_well_formed_without_styles_scripts_or_links(name):
    tree = ElementTree.fromstring(PICTURES[name])
    for element in tree.iter():
        assert element.tag in {"svg", "rect", "line", "path", "circle", "polyline", "text"}
        assert not {"style", "id", "href", "fill", "stroke"} & set(element.attrib)
    assert ("aria-label" in tree.attrib) != ("aria-hidden" in tree.attrib)
    assert "nan" not in PICTURES[name]
    assert "inf" not in PICTURES[name]


@given(st.lists(st.floats(0.01, 10), min_size=1, max_size=9))
def test_stacked_bars_fill_the_cell(shares):
    rects = list(ElementTree.fromstring(svg.stacked_bar(shares)))
    assert sum(float(rect.get("width")) for rect in rects) == pytest.approx(svg.CELL_WIDTH, abs=0.05)


@given(st.floats(-5, 5), st.floats(-5, 5))
def test_a_bar_reaches_from_its_beginning_to_its_end(start, end):
    bar, zero = ElementTree.fromstring(svg.span_bar(start, end, -5.0, 5.0))
    left, width = float(bar.get("x")), float(bar.get("width"))
    assert left == pytest.approx(20 * (min(start, end) + 5), abs=0.01)
    assert width == pytest.approx(20 * abs(end - start), abs=svg.THINNEST)
    assert (bar.get("class") == "nv-for") == (end >= start)
    assert float(zero.get("x1")) == 100


def test_areas_of_a_histogram_are_the_proportions():
    """Whatever the widths of the bins."""
    edges, shares = [0.0, 10.0, 30.0, 100.0], [0.2, 0.5, 0.3]
    path = ElementTree.fromstring(svg.step_histogram(edges, [shares]))[0].get("d")
    steps = [(float(y), float(x)) for y, x in re.findall(r"V([\d.]+)H([\d.]+)", path)]
    ends = [0.0, *(x for _, x in steps)]
    areas = [(36.0 - y) * (right - left) for (y, _), (left, right) in zip(steps, pairwise(ends), strict=True)]
    assert [area / sum(areas) for area in areas] == pytest.approx(shares, abs=0.01)


def test_a_waterfall_ends_at_its_sum():
    steps = [charts.WaterfallStep("a", 2.0), charts.WaterfallStep("b", -0.5), charts.WaterfallStep("c", 1.0)]
    tree = ElementTree.fromstring(charts.waterfall(steps, "w"))
    texts = [text.text for text in tree.iter("text")]
    bars = [(float(bar.get("x")), float(bar.get("width"))) for bar in tree.iter("rect")]
    (a, wa), (b, wb), (c, wc) = bars
    assert texts[-2:] == ["sum", "+2.50"]
    assert b + wb == pytest.approx(a + wa, abs=0.1)
    assert c == pytest.approx(b, abs=0.1)
    assert wa / wc == pytest.approx(2.0, abs=0.02)
    assert c + wc > a + wa


# -- the style sheet ---------------------------------------------------------------------------------------------------


def test_rules_are_scoped_and_reach_nothing_outside():
    """So that a view changes nothing else in a notebook, and asks for nothing."""
    css = style.notebook_css()
    rules = re.findall(r"([^{}]+)\{[^{}]*\}", re.sub(r"@media[^{]*\{", "", css))
    selectors = [one.strip() for rule in rules for one in re.split(r",(?![^(]*\))", rule)]
    assert len(selectors) > 60
    assert [one for one in selectors if ".naively" not in one] == []
    assert not re.search(r"url\(|@import|@font-face|http|expression", css)
    assert len(css) < 9000


def test_every_class_of_a_picture_has_a_rule():
    css = style.picture_css(".naively")
    used = set(re.findall(r"nv-[a-z]+\d*", "".join(PICTURES.values())))
    assert {name for name in used if f".{name}{{" not in css} == set()


def test_the_theme_of_a_notebook_comes_before_that_of_the_system():
    css = style.theme_css(".naively", in_notebook=True)
    for place in (*style.LIGHT_PLACES, *style.DARK_PLACES):
        assert f"{place} .naively" in css
    assert css.count(palette.LIGHT.background) == 1
    assert css.count(palette.DARK.background) == 2
    assert style.theme_css(":root").count("prefers-color-scheme") == 1
