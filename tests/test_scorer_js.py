"""The scorer of the page says in a browser what Python says: probabilities, contributions, and where words lie."""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import naively as nv
from naively.flat import SCORER

from .flat_cases import (
    FAMILIES,
    MODELS,
    MORE_TEXTS,
    SETTINGS,
    TEXT_FAMILIES,
    asked,
    fitted,
    letters,
    plain_rows,
    table_of,
    text_models,
)

ROOT = Path(__file__).resolve().parents[1]
# Beside the repository; beside a folder of worktrees, for one of these.
PLACES = [parent / "shared" / "data" for parent in ROOT.parents[:2]]
DATA = next((place for place in PLACES if (place / "datasets.json").exists()), PLACES[0])
SETS = json.loads((DATA / "datasets.json").read_text("utf-8")) if (DATA / "datasets.json").exists() else {}
MOST = 800  # rows of a set that a model is fitted with: what is compared does not get truer with more
ASKED = 100
# Sets that have each kind of column, many classes, missing values and texts; the others are for the night.
BY_DAY = {"votes", "glass", "hepatitis", "balance-scale", "trec-questions"}
each_model = pytest.mark.parametrize("model", MODELS)

# What is asked of the scorer in the chromium, of each row of a model.
ASK = """([flat, rows]) => {
    const model = Naively.model(JSON.parse(flat));
    const plain = (part) => ({ ...part, scores: Array.from(part.scores) });
    return rows.map((row) => {
        const state = model.score(row);
        return {
            joint: Array.from(state.joint), probabilities: Array.from(state.probabilities),
            prior: Array.from(state.prior), columns: state.columns.map(plain), pairs: state.pairs.map(plain),
            words: state.words.map(plain),
        };
    });
}"""
# Beside probabilities, the sums of the sizes of all finite scores of each class.
PROBABILITIES = """([flat, rows]) => {
    const model = Naively.model(JSON.parse(flat));
    return rows.map((row) => {
        const { probabilities, columns, pairs } = model.score(row);
        const sizes = new Float64Array(probabilities.length), parts = [...columns, ...pairs];
        for (const { scores } of parts)
            scores.forEach((score, k) => { sizes[k] += Number.isFinite(score) ? Math.abs(score) : 0; });
        return { probabilities: Array.from(probabilities), sizes: Array.from(sizes) };
    });
}"""
# The same row by moves from another one, a cell at a time.
MOVE = """([flat, from, to]) => {
    const model = Naively.model(JSON.parse(flat));
    let state = model.score(from);
    for (const column of model.columns) state = model.move(state, column.name, to[column.name]);
    const scored = model.score(to);
    const parts = (all) => JSON.stringify(all.map((part) => [part.name || part.columns, Array.from(part.scores)]));
    return parts(state.columns) === parts(scored.columns) && parts(state.pairs) === parts(scored.pairs) &&
        state.probabilities.every((p, k) => p === scored.probabilities[k]);
}"""


@pytest.fixture(scope="module")
def page(chromium):
    """Return an empty page that has the scorer."""
    found = chromium.new_page()
    found.add_script_tag(content=SCORER.read_text(encoding="utf-8"))
    yield found
    found.close()


def ask(page, nb, rows, *, single=False):
    return page.evaluate(ASK, [nb.flat().json(single=single), rows])


def check(page, nb, rows, single=False, within=1e-9):
    answers = page.evaluate(PROBABILITIES, [nb.flat().json(single=single), rows])
    off = np.abs([answer["probabilities"] for answer in answers] - nb.predict_proba(rows)).max(axis=1)
    most = np.array([of_rounding(answer["sizes"]) for answer in answers]) if single else within
    assert (off < most).all()


def of_rounding(sizes):
    """Return how far off probabilities may be when tables of scores are rounded to single precision.

    A score s is off by |s| / 2^24 at most, and a class by the sum of these, its size; a probability p gets no further
    off than 2 p (1 - p) <= 1/2 of the largest of these sums. Scores of a column that are sums themselves are off by
    more, which is why 1e-6 is allowed in any case.
    """
    return max(1e-6, max(sizes) / 2**24)


# -- every model, family and setting -----------------------------------------------------------------------------------


@each_model
@pytest.mark.parametrize("families", FAMILIES)
def test_every_family_gets_the_probabilities_of_python(page, model, families):
    table = table_of(2)
    check(page, fitted(table, model, FAMILIES[families], missing="value"), asked(table))


@each_model
@pytest.mark.parametrize("how", SETTINGS)
def test_every_setting_gets_the_probabilities_of_python(page, model, how):
    table = table_of(1)
    check(page, fitted(table, model, {"visits": "poisson"}, **SETTINGS[how]), asked(table))


@pytest.mark.parametrize("name", TEXT_FAMILIES)
def test_texts_get_the_probabilities_of_python(page, name):
    for _, nb in text_models(name):
        check(page, nb, [{"text": text} for text in [*MORE_TEXTS, None]])


@pytest.mark.parametrize("classes", [2, 3, 5, 13, 26])
def test_any_number_of_classes_gets_the_probabilities_of_python(page, classes):
    nb, rows = letters(classes)
    check(page, nb, rows)
    check(page, nb, rows, single=True)


def test_words_that_rule_classes_out_do_so(page):
    for family in ({}, {"bernoulli": True}, {"complement": True}):
        nb = nv.NaiveBayes(model="textbook", estimate="mle", families={"text": nv.Words(**family)})
        nb.fit({"text": ["good day", "good night", "bad day", "bad bad luck"]}, ["p", "p", "n", "n"])
        check(page, nb, [{"text": text} for text in ("good", "bad day", "good bad", "day", "", "luck night")])


def test_large_numbers_of_events_lose_no_digits(page):
    random = np.random.default_rng(0)
    y = np.arange(400) % 2
    table = pd.DataFrame({"events": random.poisson(1_000_000 + 2_000 * y)})
    nb = nv.NaiveBayes(model="textbook", families={"events": "poisson"}).fit(table, y)
    check(page, nb, plain_rows(table), within=1e-7)


# -- real tables and texts ---------------------------------------------------------------------------------------------


def rows_of(name):
    """Return some rows of a set, and its target."""
    facts = SETS[name]
    marks = [facts["missing"]] if "missing" in facts else []
    frame = pd.read_csv(DATA / facts["file"], na_values=marks).drop(columns=facts.get("split_column", []))
    frame = frame.drop(columns=[column for column, kind in facts.get("kinds", {}).items() if kind == "id"])
    most = 200 if facts["task"] == "text" else MOST
    return frame.sample(min(len(frame), most), random_state=0).reset_index(drop=True), facts["target"]


@pytest.mark.skipif(not SETS, reason="needs the data sets of ../shared/data beside the repository")
@pytest.mark.parametrize(
    "name", [name if name in BY_DAY else pytest.param(name, marks=pytest.mark.slow) for name in SETS]
)
def test_rows_of_real_sets_get_the_probabilities_of_python(page, name):
    frame, target = rows_of(name)
    texts = SETS[name]["task"] == "text"
    models = MODELS if len(frame) < 1_000 or texts else ("auto", "textbook")
    some = plain_rows(frame.drop(columns=target).sample(min(len(frame), 30 if texts else ASKED), random_state=1))
    for model in models:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # classes of a row or two in a sample
            nb = nv.NaiveBayes(model=model, families={"text": "words"} if texts else None).fit(frame, target=target)
        check(page, nb, some)
        check(page, nb, some, single=True)


# -- contributions and words -------------------------------------------------------------------------------------------


def differences(scores):
    return np.asarray(scores) - np.asarray(scores)[..., :1]


@each_model
def test_contributions_are_those_of_explain_and_add_up(page, model):
    table = table_of(6)
    nb, rows = fitted(table, model, {"visits": "poisson"}, missing="value"), asked(table)[:15]
    names = nb.fitted_.model.pairs or {}
    for row, answer in zip(rows, ask(page, nb, rows), strict=True):
        evidence = nb.explain(row)
        found = {(part["name"],): part["scores"] for part in answer["columns"]}
        assert [name for (name,) in found] == list(nb.feature_names_in_)
        found |= {tuple(part["columns"]): part["scores"] for part in answer["pairs"]}
        for name, scores in zip(evidence.columns, evidence.scores[0], strict=True):
            own = found.get(names.get(name, (name,)), [0.0] * 3)
            assert np.abs(differences(own) - differences(scores)).max() < 1e-9, name
        assert np.allclose(np.sum([answer["prior"], *found.values()], axis=0), answer["joint"], rtol=0, atol=1e-9)


@each_model
@pytest.mark.parametrize("name", ["usual words", "up to three words", "characters", "inside words", "logarithms"])
def test_words_lie_where_they_are_found_and_add_up_to_their_column(page, model, name):
    nb = dict(text_models(name))[model]
    answers = ask(page, nb, [{"text": text} for text in MORE_TEXTS])
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


def test_places_of_words_are_those_of_utf_16(page):
    nb = dict(text_models("usual words"))["auto"]
    text = "👍🏽 İstanbul Good day, 酒店"
    (answer,) = ask(page, nb, [{"text": text}])
    units = text.encode("utf-16-le")
    found = {word["word"]: units[2 * word["begin"] : 2 * word["end"]].decode("utf-16-le") for word in answer["words"]}
    assert found["👍🏽"] == "👍🏽"
    assert found["i̇stanbul"] == "İstanbul"
    assert found["good"] == "Good"
    assert found["good day"] == "Good day"
    assert found["酒店"] == "酒店"
    assert found["店"] == "店"


# -- single cells ------------------------------------------------------------------------------------------------------


@each_model
def test_moving_a_cell_is_scoring_the_row_with_it(page, model):
    table = table_of(7).assign(text=(MORE_TEXTS * 5)[:120])
    nb, rows = fitted(table, model, {"text": "words", "visits": "poisson"}), asked(table)
    flat = nb.flat().json(single=True)
    for row, other in zip(rows[:10], rows[-10:], strict=True):
        assert page.evaluate(MOVE, [flat, row | {"text": "good day"}, other | {"text": "酒店 bad"}])


def test_the_status_says_why_a_cell_has_no_usual_value(page):
    table = table_of(8)
    nb = fitted(table, "textbook", {"visits": "poisson"}, unseen="error")
    row = {"size": None, "visits": -1, "color": "pink", "shape": "round", "grade": "no number", "member": True}
    (answer,) = page.evaluate(ASK, [nb.flat().json(), [row]])
    status = {part["name"]: part["status"] for part in answer["columns"]}
    assert status == {
        "size": "missing", "wide": "missing", "visits": "refused", "color": "refused", "shape": "", "member": "",
        "grade": "refused", "code": "missing",
    }  # fmt: skip
    skips = fitted(table, "textbook", {"visits": "poisson"}).flat().json()
    (answer,) = page.evaluate(ASK, [skips, [row]])
    assert {part["name"]: part["status"] for part in answer["columns"]}["color"] == "unknown"


def test_cells_may_be_texts_as_fields_of_a_page_hold_them(page):
    table = table_of(9)
    nb = fitted(table, "auto", {"grade": "categorical"})
    row = asked(table)[0]
    texts = {name: value if value is None else str(value) for name, value in row.items()}
    one, other = page.evaluate(ASK, [nb.flat().json(), [row, texts]])
    assert one["probabilities"] == other["probabilities"]


def test_an_empty_field_is_missing(page):
    table = table_of(11)
    nb, row = fitted(table, "auto", missing="value"), asked(table)[0]
    for name in ("size", "color", "member"):
        empty, missing = ask(page, nb, [row | {name: ""}, row | {name: None}])
        assert empty == missing
        assert {part["name"]: part["status"] for part in empty["columns"]}[name] == "missing"


def test_times_may_be_seconds_or_texts(page):
    days = pd.date_range("2024-01-01", periods=40, freq="36h")
    nb = nv.NaiveBayes().fit({"when": days}, ["a"] * 20 + ["b"] * 20)
    expected = nb.predict_proba({"when": days})
    for when in (str, pd.Timestamp.timestamp, lambda day: day.isoformat() + "Z", lambda day: day.isoformat(" ")):
        answers = ask(page, nb, [{"when": when(day)} for day in days])
        assert np.abs(np.array([answer["probabilities"] for answer in answers]) - expected).max() < 1e-9


def test_columns_tell_what_a_page_needs_for_its_fields(page):
    table = table_of(10)
    flat = fitted(table, "auto", max_categories=4).flat().to_json(single=True)
    columns = page.evaluate("(flat) => Naively.model(flat).columns.map(({codeOf, none, ...rest}) => rest)", flat)
    known = {column["name"]: column for column in columns}
    assert set(known["color"]["values"]) == {"red", "green", "blue"}  # a question mark stands for no value
    assert set(known["code"]["values"]) == set(table["code"])  # those that are rare, too
    assert known["size"]["low"] < known["size"]["high"]
    types = [known[name]["type"] for name in ("size", "visits", "member", "shape")]
    assert types == ["number", "whole", "boolean", "text"]
