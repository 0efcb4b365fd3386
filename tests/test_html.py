"""Colors, numbers, elements and pictures: what notebook views and pages are made of."""

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from naively.page import pictures, style
from naively.page.numbers import count_text, counted, number_text, probability_text, probability_texts, signed
from naively.page.tags import escape, tag

NASTY = "<img src=x onerror=alert(1)>"
each_theme = pytest.mark.parametrize("theme", [style.LIGHT, style.DARK], ids=["light", "dark"])


class Texts(HTMLParser):
    """The texts of a document."""

    def __init__(self, page):
        super().__init__()
        self.texts = []
        self.feed(page)

    def handle_data(self, data):
        """Note a text."""
        self.texts.append(data)


# -- colors ------------------------------------------------------------------------------------------------------------


def contrast(first, second):
    """Return the contrast of two colors as WCAG 2 defines it, from 1 to 21."""

    def luminance(color):
        parts = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


@each_theme
def test_texts_and_shapes_have_enough_contrast(theme):
    """4.5:1 for texts and 3:1 for shapes, on every background they may lie on (WCAG 2, level AA)."""
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.005)
    for behind in (theme.background, theme.raised):
        assert min(contrast(ink, behind) for ink in (theme.ink, theme.muted)) >= 4.5
        assert min(contrast(color, behind) for color in (*theme.classes, theme.positive, theme.negative)) >= 3.0
    assert min(contrast(theme.ink, tint) for tint in (*theme.for_tints, *theme.against_tints)) >= 4.5


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


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (signed(float("nan")) + number_text(float("nan")), ""),
        (probability_text(float("nan")), "–"),
        *[(count_text(n), text) for n, text in [(0, "0"), (1e6, "1,000,000"), (2.5, "2.5"), (-3, "−3")]],
        (count_text(123456.75), "123,456.8"),
        *[(number_text(x), text) for x, text in [(123456.0, "123500"), (1e12, "1e+12"), (-2e-7, "−2e−07")]],
        (number_text(float("-inf")), "−∞"),
        (counted(1, "row") + counted(0, "row"), "1 row0 rows"),
    ],
)
def test_numbers_are_written_as_people_read_them(text, written):
    assert text == written


# -- elements ----------------------------------------------------------------------------------------------------------


@given(st.text())
def test_every_text_is_shown_as_it_is(text):
    """In elements and in attributes; characters that HTML cannot hold are shown as one that says so."""
    page = tag("p", text, title=text)
    page.encode("utf-8")
    shown = "".join(Texts(page).texts)
    assert len(shown) == len(text)
    assert all(a == b or b == "\ufffd" or b == "?" for a, b in zip(text, shown, strict=True))
    assert not {"<", ">"} & set(escape(text))


# -- pictures ----------------------------------------------------------------------------------------------------------

BINS = {"kind": "bins", "cuts": [10.0, 30.0], "low": 0.0, "high": 100.0, "even": False, "counts": [[2, 5, 3], [0] * 3]}
NORMAL = {"kind": "normal", "n": [5, 5, 0], "mean": [0.0, 3.0, 0.0], "sd": [1.0, 0.0, 0.0]}
LABELS = {"kind": "labels", "values": [NASTY, "b"], "counts": [[1, 3], [2, 0]], "others": 2, "other_counts": [1, 4]}
WORDS = {"kind": "words", "words": ["free", "now"], "counts": [[1, 0], [2, 7]], "totals": [9, 9]}
DISTRIBUTIONS = {
    "bins": BINS,
    "single bin": BINS | {"cuts": [], "low": 7.0, "high": 7.0, "counts": [[4]]},
    "even bins": BINS | {"even": True},
    "whole numbers": BINS | {"whole": True, "cuts": [10.5, 30.5]},
    "values": BINS | {"values": [1, 2, 3], "whole": True},
    "normal": NORMAL,
    "times": NORMAL | {"mean": [1e9, 1.1e9, 0.0], "sd": [1e8, 1e8, 0.0], "time": True},
    "nothing": NORMAL | {"n": [0, 0, 0]},
    "labels": LABELS,
    "words": WORDS,
    "no words": WORDS | {"words": [], "counts": [[], []]},
}
POINTS = [pictures.CalibrationPoint(0.2, 0.3, 0.1, 0.5), pictures.CalibrationPoint(0.9, 0.8, 0.7, 0.9)]
PICTURES = {
    "share": pictures.share_bar(0.4, 3),
    "signed": pictures.signed_bar(float("-inf"), 1.0),
    "swatch": pictures.swatch("nv-c1"),
    "dumbbell": pictures.dumbbell(0.2, 0.9),
    "calibration": pictures.calibration_picture(POINTS, NASTY, "y", "Calibration"),
    **{
        name: pictures.distribution_picture(one, len(one.get("counts", one.get("n"))), name)
        for name, one in DISTRIBUTIONS.items()
    },
}


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_well_formed_without_styles_scripts_or_links(name):
    tree = ElementTree.fromstring(PICTURES[name])
    for element in tree.iter():
        assert element.tag in {"svg", "rect", "line", "path", "g", "text"}
        assert not {"style", "id", "href", "fill", "stroke"} & set(element.attrib)
        for css in element.get("class", "").split():
            assert f".{css}" in style.notebook_css()
    assert ("aria-label" in tree.attrib) != ("aria-hidden" in tree.attrib)
    assert "nan" not in PICTURES[name]
    assert "inf" not in PICTURES[name]
