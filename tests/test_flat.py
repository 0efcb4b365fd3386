"""The flat model scores rows as the model does: by the scorer of the docs, and by that of the page in a browser."""

import collections
import doctest
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from scipy import sparse

import naively as nv
from naively.errors import InvalidInput, InvalidSetting
from naively.flat import SCORER

from .flat_cases import (
    FAMILIES,
    MODELS,
    MORE_TEXTS,
    SETTINGS,
    TEXT_FAMILIES,
    asked,
    fitted,
    joint_model,
    letters,
    plain_rows,
    table_of,
    text_models,
    wide_model,
)
from .text_reference import comparable

PAGE = Path(__file__).resolve().parents[1] / "docs" / "guide" / "flat-model.md"
each_model = pytest.mark.parametrize("model", MODELS)
# What is asked of the scorer in the browser: probabilities, and contributions of columns and pairs or, where these are
# not compared, the sums of the sizes of all finite scores of each class.
IN_BROWSER = """([flat, rows, sums]) => {
    const model = Naively.model(JSON.parse(flat));
    return rows.map((row) => {
        const { probabilities, columns, pairs } = model.score(row);
        const named = [...columns.map((part) => [[part.name], part.scores]),
                       ...pairs.map((part) => [part.columns, part.scores])];
        const size = (k) => named.reduce((sum, [, s]) => sum + (Number.isFinite(s[k]) ? Math.abs(s[k]) : 0), 0);
        const parts = sums ? [[["all"], probabilities.map((_, k) => size(k))]] : named;
        return [[...probabilities], parts.map(([names, scores]) => [names, [...scores]])];
    });
}"""


def source_of_scorer() -> str:
    """Return the scorer as the page has it: from its imports to its last function."""
    examples = doctest.DocTestParser().get_examples(PAGE.read_text(encoding="utf-8"))
    sources = [example.source for example in examples]
    begin = next(at for at, source in enumerate(sources) if source.startswith("import base64"))
    end = next(at for at, source in enumerate(sources) if source.startswith("def probabilities"))
    return "".join(sources[begin : end + 1])


PLAIN: dict[str, Any] = {}
exec(source_of_scorer(), PLAIN)


def read(flat):
    """Return a flat model as the scorer of the docs takes it."""
    return json.loads(flat.json(), object_hook=PLAIN["decoded"])


def in_plain_python(flat, rows):
    """Return the probabilities of rows that JSON can hold, and the scores of terms, by the names of their columns."""
    model = json.loads(flat, object_hook=PLAIN["decoded"])
    for row in json.loads(json.dumps(rows)):
        scores = collections.defaultdict(lambda: 0.0)
        for term, part in zip(model["terms"], PLAIN["contributions"](model, row), strict=True):
            scores[tuple(model["columns"][at]["name"] for at in term["columns"])] += np.array(part)
        yield PLAIN["probabilities"](model, row), scores


class Scorer:
    """A scorer of flat models: what it says of rows is compared with the model."""

    def __init__(self, page):
        self.page = page

    def parts(self, nb, rows, single=False, sums=False):
        """Return probabilities and contributions of each row, or the sums of their sizes."""
        flat = nb.flat().json(single=single)
        if self.page is None:
            return in_plain_python(flat, rows)
        answers = self.page.evaluate(IN_BROWSER, [flat, rows, sums])
        return ((p, {tuple(names): np.array(part) for names, part in scores}) for p, scores in answers)

    def probabilities(self, nb, rows):
        """Return the probabilities of rows."""
        return np.array([p for p, _ in self.parts(nb, rows, sums=True)])

    def check(self, nb, rows, single=False):
        """Compare with `predict_proba`.

        In single precision a score s is off by |s| / 2^24 at most, and a class by the sum of these; a probability p
        gets no further off than 2 p (1 - p) <= 1/2 of the largest of these sums. Scores of a column that are sums
        themselves are off by more, which is why 1e-6 is allowed in any case.
        """
        for (p, scores), expected in zip(self.parts(nb, rows, single, True), nb.predict_proba(rows), strict=True):
            sizes = sum(np.abs(np.where(np.isfinite(part), part, 0.0)) for part in scores.values())
            within = max(1e-6, np.max(sizes) / 2**24) if single else 1e-9
            assert np.abs(p - expected).max() < within


@pytest.fixture(scope="module")
def in_browser(chromium):
    """Return the scorer of the page."""
    page = chromium.new_page()
    page.add_script_tag(content=SCORER.read_text(encoding="utf-8"))
    yield Scorer(page)
    page.close()


@pytest.fixture(scope="module", params=["plain Python", "browser"])
def scorer(request):
    """Return a scorer; that of the page is skipped where there is no browser."""
    return Scorer(None) if request.param == "plain Python" else request.getfixturevalue("in_browser")


def test_the_scorer_of_the_docs_has_less_than_65_lines_and_needs_the_standard_library_alone():
    source = source_of_scorer().splitlines()
    assert len(source) < 65
    assert max(map(len, source)) <= 120
    assert [line for line in source if line.startswith(("import", "from"))] == [
        "import base64, bisect, collections, functools, itertools, json, re, sys, unicodedata",
        "from math import exp, inf, lgamma, log, log1p, sqrt",
    ]


# -- tables -----------------------------------------------------------------------------------------------------------


@each_model
@pytest.mark.parametrize("how", SETTINGS)
def test_every_setting_is_in_the_flat_model(scorer, model, how):
    table = table_of(1)
    scorer.check(fitted(table, model, {"visits": "poisson"}, **SETTINGS[how]), asked(table))


@each_model
@pytest.mark.parametrize("families", FAMILIES)
@pytest.mark.parametrize("missing", ["skip", "value"])
def test_every_family_is_in_the_flat_model(scorer, model, families, missing):
    table = table_of(2)
    scorer.check(fitted(table, model, FAMILIES[families], missing=missing), asked(table))


@pytest.mark.parametrize("estimate", ["bayes", "map", "mle"])
@pytest.mark.parametrize("families", [name for name in FAMILIES if name != "common values"])
def test_every_estimate_of_every_family_is_in_the_flat_model(scorer, estimate, families):
    table = table_of(3)
    scorer.check(fitted(table, "textbook", FAMILIES[families], estimate=estimate), asked(table))


def test_a_class_that_is_ruled_out_has_probability_0_and_a_row_that_rules_out_all_gets_the_prior(scorer):
    table = pd.DataFrame({"sky": ["rain", "rain", "sun", "fog"], "wind": ["no", "yes", "no", "yes"]})
    nb = nv.NaiveBayes(model="textbook", estimate="mle").fit(table, ["in", "in", "out", "out"])
    rows = [{"sky": "rain", "wind": "no"}, {"sky": "sun", "wind": "yes"}, {"sky": "fog", "wind": None}]
    scorer.check(nb, rows)
    assert scorer.probabilities(nb, rows)[0].tolist() == [1.0, 0.0]
    both = nv.NaiveBayes(model="textbook", estimate="mle").fit({"a": ["x", "y"], "b": ["p", "q"]}, ["1", "2"])
    assert scorer.probabilities(both, [{"a": "x", "b": "q"}]).tolist() == [[0.5, 0.5]]
    scorer.check(both, [{"a": "x", "b": "q"}])


@pytest.mark.parametrize("classes", [2, 3, 5, 13, 26])
def test_any_number_of_classes_can_be_flattened(scorer, classes):
    nb, rows = letters(classes)
    scorer.check(nb, rows)
    scorer.check(nb, rows, single=True)


def test_columns_without_a_weight_of_their_own_are_in_the_flat_model(scorer):
    for missing in ("skip", "value"):
        scorer.check(*wide_model(missing=missing))


@pytest.mark.parametrize("how", [{}, {"temperature": 2.0, "missing": "value"}])
def test_terms_of_several_columns_are_in_the_flat_model(scorer, how):
    nb, rows = joint_model(**how)
    scorer.check(nb, rows)
    scorer.check(nb, rows, single=True)


cells = st.one_of(st.none(), st.integers(-3, 3).map(float), st.floats(-1e6, 1e6))
values = st.one_of(st.none(), st.sampled_from(["a", "b", "c", "ä", ""]))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), model=st.sampled_from(MODELS), missing=st.sampled_from(["skip", "value"]))
def test_random_tables_get_the_probabilities_of_the_model(data, model, missing):
    size = data.draw(st.integers(4, 40))
    kinds = {"x": cells, "y": cells, "label": values, "other": values}
    table = {name: data.draw(st.lists(kind, min_size=size, max_size=size)) for name, kind in kinds.items()}
    classes = data.draw(st.lists(st.sampled_from("pqrs"), min_size=size, max_size=size))
    frame = pd.DataFrame(table).astype({"x": float, "y": float, "label": object, "other": object})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a single class, columns without values
        nb = nv.NaiveBayes(model=model, missing=missing).fit(frame, classes)
    Scorer(None).check(nb, plain_rows(frame))


# -- contributions ----------------------------------------------------------------------------------------------------


def differences(scores):
    return np.asarray(scores) - np.asarray(scores)[..., :1]


@each_model
@pytest.mark.parametrize("how", [{}, {"temperature": 2.0, "missing": "value"}])
def test_contributions_of_columns_and_pairs_are_those_of_explain(in_browser, model, how):
    table = table_of(6)
    models = [(fitted(table, model, {"visits": "poisson"}, **how), asked(table)[:15])]
    for nb, rows in [*models, *([joint_model(**how)] if model == "auto" else [])]:
        pairs = nb.fitted_.model.pairs or {}
        for row, (_, found) in zip(rows, in_browser.parts(nb, rows), strict=True):
            evidence = nb.explain(row)
            for name, scores in zip(evidence.columns, evidence.scores[0], strict=True):
                own = found.pop(pairs.get(name, (name,)), np.zeros(3))
                assert np.abs(differences(own) - differences(scores)).max() < 1e-9, name
            assert not found


# -- texts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TEXT_FAMILIES)
def test_texts_get_the_probabilities_of_the_model(scorer, name):
    for _, nb in text_models(name):
        scorer.check(nb, [{"text": text} for text in [*MORE_TEXTS, None]])


@pytest.mark.parametrize("family", [{}, {"bernoulli": True}, {"complement": True}])
def test_words_rule_classes_out_where_frequencies_are_taken_as_they_are(scorer, family):
    nb = nv.NaiveBayes(model="textbook", estimate="mle", families={"text": nv.Words(**family)})
    nb.fit({"text": ["good day", "good night", "bad day", "bad bad luck"]}, ["p", "p", "n", "n"])
    texts = ("good", "bad day", "good bad", "day", "", "luck night", "good day night")
    scorer.check(nb, [{"text": text} for text in texts])


@settings(max_examples=60, deadline=None)
@given(
    text=st.text(max_size=40)
    | st.text(alphabet="aB1 \u0301\u200d\u200c\ufe0f\u20e3👍🏽🇩🇪ℹ↔酒店กำ\u17d2ខ_Σσİ#*", max_size=20)
)
@example("0\u200c\ufe0f🏻")  # a joiner drawn as a picture is none
def test_any_text_is_split_as_the_model_splits_it(text):
    if not comparable(text) or any(0xD800 <= ord(sign) < 0xE000 for sign in text):
        return
    nb = nv.NaiveBayes(model="textbook", families={"text": "words"}).fit({"text": [text, "other"]}, ["a", "b"])
    column, reader = read(nb.flat())["columns"][0], nb.fitted_.model.readers["text"]
    counts = {column["words"][at]: n for at, n in PLAIN["words_of"](column, text).items()}
    tokens = collections.Counter(number for number, _, _ in reader.spans(text))
    assert counts == {reader.names([number])[0]: n for number, n in tokens.items()}


# -- the format -------------------------------------------------------------------------------------------------------


def test_single_precision_rounds_tables_of_scores_and_nothing_else():
    flat = fitted(table_of(8), "auto", {"visits": "poisson"}).flat()
    exact, rounded = flat.to_json(), flat.to_json(single=True)
    assert {**rounded, "terms": []} == {**exact, "terms": []}
    kinds = {(term["kind"], term["table"]["type"]) for term in rounded["terms"]}
    assert ("table", "f4") in kinds
    assert ("density", "f4") not in kinds
    assert len(flat.json(single=True)) < len(flat.json())


def test_the_target_and_the_classes_are_named_and_what_is_refused_is_said():
    flat = fitted(table_of(9), "auto").flat().content
    assert (flat["target"], flat["classes"]) == ("class", ["high", "low", "mid"])
    flat = nv.NaiveBayes().fit({"x": [1.0, 2.0, 3.0, 4.0]}, [True, True, False, False]).flat().content
    assert (flat["target"], flat["classes"]) == (None, [False, True])
    flat = fitted(table_of(10), "textbook", {"visits": "poisson"}, unseen="error").flat().content
    refuses = {column["name"]: column.get("refuses") for column in flat["columns"]}
    assert (refuses["visits"], refuses["color"], refuses["size"]) == ("negative", "unseen", None)


def test_what_tables_cannot_hold_is_an_error_with_its_column():
    def split(text: str) -> list[str]:
        return text.split()

    vectors = nv.NaiveBayes().fit(sparse.csr_array(np.eye(4)), ["a", "a", "b", "b"])
    with pytest.raises(InvalidInput, match="holds vectors") as error:
        vectors.flat()
    assert error.value.column is not None
    texts = {"text": ["good day", "bad day"] * 5}
    for family, why in ((nv.Words(hash_width=64), "hash"), (nv.Words(tokenizer=split), "tokenizer")):
        nb = nv.NaiveBayes(model="textbook", families={"text": family}).fit(texts, ["p", "n"] * 5)
        with pytest.raises(InvalidInput, match=why) as error:
            nb.flat()
        assert error.value.column == "text"
    with pytest.raises(InvalidSetting, match="no number of words"):
        letters(2)[0].flat(words=-1)
