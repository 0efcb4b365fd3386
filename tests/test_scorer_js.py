"""What the scorer of the page has beyond that of the docs: cells as fields hold them, moves, and where words lie.

That it gives the probabilities and contributions of Python is in test_flat.py; here, with tables and texts of people.
"""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

import naively as nv
from naively.flat import SCORER

from .flat_cases import MODELS, MORE_TEXTS, asked, fitted, joint_model, plain_rows, table_of, text_models
from .tables import SHARED
from .test_flat import Scorer

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
    opened = chromium.new_page()
    opened.add_script_tag(content=SCORER.read_text(encoding="utf-8"))
    yield opened
    opened.close()


def ask(page, nb, rows):
    return page.evaluate(ASK, [nb.flat().json(), rows])


def statuses(answer):
    return {part["name"]: part["status"] for part in answer["columns"]}


@pytest.mark.skipif(not SETS, reason="needs the data sets of ../shared/data beside the repository")
@pytest.mark.parametrize(
    "name", [name if name in BY_DAY else pytest.param(name, marks=pytest.mark.slow) for name in SETS]
)
def test_rows_of_real_sets_get_the_probabilities_of_python(page, name):
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
        Scorer(page).check(nb, some)
        Scorer(page).check(nb, some, single=True)


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
    text = "👍🏽 İstanbul Good day, 酒店"
    (answer,) = ask(page, dict(text_models("usual words"))["auto"], [{"text": text}])
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


@each_model
def test_moving_a_cell_is_scoring_the_row_with_it(page, model):
    table = table_of(7).assign(text=(MORE_TEXTS * 5)[:120])
    nb, rows = fitted(table, model, {"text": "words", "visits": "poisson"}), asked(table)
    flat = nb.flat().json(single=True)
    for row, other in zip(rows[:10], rows[-10:], strict=True):
        assert page.evaluate(MOVE, [flat, row | {"text": "good day"}, other | {"text": "酒店 bad"}])
    nb, rows = joint_model() if model == "auto" else (nb, rows)
    for row, other in zip(rows[:5], rows[-5:], strict=True):
        assert page.evaluate(MOVE, [nb.flat().json(), row, other])


def test_the_status_says_why_a_cell_has_no_usual_value(page):
    table = table_of(8)
    nb = fitted(table, "textbook", {"visits": "poisson"}, unseen="error")
    row = {"size": None, "visits": -1, "color": "pink", "shape": "round", "grade": "no number", "member": True}
    (answer,) = ask(page, nb, [row])
    assert statuses(answer) == {
        "size": "missing", "wide": "missing", "visits": "refused", "color": "refused", "shape": "", "member": "",
        "grade": "refused", "code": "missing",
    }  # fmt: skip
    (answer,) = ask(page, fitted(table, "textbook", {"visits": "poisson"}), [row])
    assert statuses(answer)["color"] == "unknown"


def test_cells_may_be_texts_as_fields_of_a_page_hold_them(page):
    """And an empty field is missing."""
    table = table_of(9)
    nb, row = fitted(table, "auto", {"grade": "categorical"}), asked(table)[0]
    one, other = ask(page, nb, [row, {name: cell if cell is None else str(cell) for name, cell in row.items()}])
    assert one["probabilities"] == other["probabilities"]
    nb = fitted(table, "auto", missing="value")
    for name in ("size", "color", "member"):
        empty, missing = ask(page, nb, [row | {name: ""}, row | {name: None}])
        assert empty == missing
        assert statuses(empty)[name] == "missing"


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
