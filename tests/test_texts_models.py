"""Counts of words are counts: they add up, forget, are left out, saved and estimated anew, in every model."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from typing import Any

import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

import naively as nv
from naively.errors import InvalidInput, NotASubset, UnreadableFile
from naively.stats import Counts

from .tables import NEW, TEXTS, Y, written
from .test_store import reforged, refused

MODELS = ["textbook", "auto"]
FAMILIES: dict[str, Any] = {
    "words": nv.Words(),
    "pairs": nv.Words(ngram_range=(1, 2), times="log"),
    "complement": nv.Words(complement=True, norm=True),
    "bernoulli": nv.Words(bernoulli=True),
    "characters": nv.Words(unit="inside", ngram_range=(1, 3), times="once"),
    "vocabulary": nv.Words(vocabulary=("free", "the", "lunch", "never")),
    "hash": nv.Words(hash_width=32),
    "idf": nv.Words(idf=True),
    "function": nv.Words(tokenizer=str.split, lowercase=False),
}
every_family = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
every_model = pytest.mark.parametrize("model", MODELS)


def fitted(family: Any = None, model: str = "textbook", texts: Any = TEXTS, y: Any = Y, **settings: Any) -> Any:
    """Return a model of texts, some settings given."""
    weights = settings.pop("sample_weight", None)
    families = None if family is None else {"text": family}
    return nv.NaiveBayes(families=families, model=model, **settings).fit(texts, y, sample_weight=weights)


# -- counts add up ----------------------------------------------------------------------------------------------------


@every_family
def test_rows_learned_one_by_one_are_rows_learned_at_once(family):
    """As a list of one text, as a dict, in two halves, and merged from two models; forgotten, they were never there."""
    whole = fitted(family)
    first, second = fitted(family, texts=TEXTS[:60], y=Y[:60]), fitted(family, texts=TEXTS[60:], y=Y[60:])
    one_by_one = fitted(family, texts=TEXTS[:60], y=Y[:60])
    for at, (text, label) in enumerate(zip(TEXTS[60:], Y[60:], strict=True)):
        if at % 2:
            one_by_one.partial_fit({"text": text}, label)
        else:
            one_by_one.partial_fit([text], [label])
    halves = copy.deepcopy(first).partial_fit(TEXTS[60:], Y[60:])
    rest = copy.deepcopy(whole).forget(TEXTS[60:], Y[60:])

    same = Counts.agrees if family.times == "log" else Counts.__eq__
    for nb in (one_by_one, halves, nv.merge([first, second]), nv.merge([second, first])):
        assert same(nb.counts_, whole.counts_)
    assert same(rest.counts_, first.counts_)
    for nb, other in ((one_by_one, whole), (nv.merge([second, first]), whole), (rest, first)):
        assert_allclose(nb.predict_proba(NEW), other.predict_proba(NEW), atol=1e-12)


def test_all_texts_may_be_forgotten_but_no_others():
    """What was never learned is refused, with its word, and nothing changes."""
    nb = fitted()
    before = nb.counts_
    with pytest.raises(
        NotASubset, match="column 'text', class 'ham', value 'zebra' the count is 0, and 2 would be subtracted"
    ):
        nb.forget(["zebra zebra"], ["ham"])
    assert nb.counts_ == before
    nb.forget(TEXTS, Y)
    assert nb.counts_.rows.sum() == 0
    with pytest.raises(InvalidInput, match="The model has no rows left"):
        nb.predict(NEW)


ESTIMATED = {
    "min_df": {"min_df": 3},
    "max_df": {"max_df": 0.2},
    "complement": {"complement": True},
    "bernoulli": {"bernoulli": True},
    "idf": {"idf": True},
    "max_words": {"max_words": 5},
    "smoothing": {"smoothing": 0.1},
}


@pytest.mark.parametrize("settings", ESTIMATED.values(), ids=ESTIMATED)
@pytest.mark.parametrize("counted", [nv.Words(), nv.Words(ngram_range=(1, 2)), nv.Words(pairs=True)], ids=str)
def test_what_is_estimated_may_change_without_the_texts(counted, settings):
    """Counts under other settings are the model that was fitted with them."""
    nb, family = fitted(counted), replace(counted, **settings)
    other = nv.NaiveBayes.from_counts(nb.counts_, nb.schema_, model="textbook", families={"text": nv.Words(**settings)})

    assert_allclose(other.predict_log_proba(NEW), fitted(family).predict_log_proba(NEW), atol=1e-9)
    assert other.schema_["text"].family == family


# -- held-out rows ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in FAMILIES if name != "idf"])
@pytest.mark.parametrize("estimate", ["bayes", "map", "mle"])
def test_leaving_a_text_out_is_taking_it_from_the_counts(name, estimate):
    """Also where words are known by this text alone. By idf it is not: how much a rare word counts stays."""
    family, texts, y = FAMILIES[name], TEXTS[:40], Y[:40]
    nb = fitted(family, texts=texts, y=y, estimate=estimate)
    scores = nb.leave_one_out(texts, y)
    for i in range(0, len(texts), 3):
        rest = nb.counts_ - nv.count([texts[i]], [y[i]], schema=nb.schema_)
        other = nv.NaiveBayes.from_counts(rest, nb.schema_, model="textbook", estimate=estimate)
        assert_allclose(scores.posterior[i], other.predict_proba([texts[i]])[0], rtol=1e-9, atol=1e-9)


# -- kept -------------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::naively.errors.StaleWarning")
@every_model
@every_family
def test_a_model_is_the_same_after_a_file_a_pickle_and_a_copy(family, model, tmp_path):
    """Counts, answers and what each word says; functions are given again, and learning goes on."""
    nb = fitted(family, model)
    nb.save(tmp_path / "m.parquet")
    functions = {"tokenizer": family.tokenizer} if family.tokenizer else {}
    others = [nv.load(tmp_path / "m.parquet", **functions), pickle.loads(pickle.dumps(nb)), copy.copy(nb)]
    others += [copy.deepcopy(nb), clone(nb).fit(TEXTS, Y)]
    texts, labels = written(7, 5)
    for other in others:
        assert other.counts_ == nb.counts_
        assert_allclose(other.predict_proba(NEW), nb.predict_proba(NEW), atol=1e-6)
        assert str(other.schema_) == str(nb.schema_)
        assert other.partial_fit(texts, labels).counts_ == nb.counts_ + nv.count(texts, labels, schema=nb.schema_)


SETTINGS = {
    "all": nv.Words(
        complement=True, norm=True, smoothing=0.5, times="log", min_df=2, max_df=0.9, max_words=30, idf=True,
        ngram_range=(1, 3), lowercase=False, cjk="words", marks=True, stop_words=("the",),
    ),
    "pairs": nv.Words(pairs=True, bernoulli=True, min_df=0.01),
    "no pairs": nv.Words(pairs=False),
    "smoothing of each": nv.Words(vocabulary=("lunch", "free"), smoothing=[0.5, 2.0]),
    "smoothing of each flag": nv.Words(vocabulary=("lunch", "free", "the"), smoothing=[0.5, 2.0, 1.0], bernoulli=True),
}  # fmt: skip


@pytest.mark.parametrize("family", SETTINGS.values(), ids=SETTINGS)
def test_all_settings_are_kept_in_a_file(family, tmp_path):
    """A schema that comes back is the one that was saved, and prints what differs from the usual."""
    nb = fitted(family)
    nb.save(tmp_path / "m.parquet")
    back = nv.load(tmp_path / "m.parquet")

    assert str(back.schema_) == str(nb.schema_)
    assert_allclose(back.predict_proba(NEW), nb.predict_proba(NEW), atol=1e-12)


def test_a_model_without_its_function_says_which_one(tmp_path):
    """Whoever forgets the function is told the line to write; counts can be looked at all the same."""
    fitted(nv.Words(tokenizer=str.split)).save(tmp_path / "m.parquet")
    nb = nv.load(tmp_path / "m.parquet")

    assert nb.counts_.rows.sum() == len(TEXTS)
    for ask in (nb.predict, lambda X: nb.partial_fit(X, ["ham"] * len(X)), nb.explain):
        with pytest.raises(InvalidInput, match=r"split.*naively.load\(path, tokenizer=…\)"):
            ask(NEW)


# -- files of words ----------------------------------------------------------------------------------------------------

# The row groups are: rows of the classes, words. Of a word that classes share, each has a row.
FORGED_ROWS = {
    "negative": lambda groups: groups[1][0].update(n=-1.0),
    "nan": lambda groups: groups[1][0].update(n=float("nan")),
    "negative texts": lambda groups: groups[1][0].update(sum=-1.0),
    "infinite texts": lambda groups: groups[1][0].update(sum=float("inf")),
    "no texts": lambda groups: groups[1][0].update(sum=None),
    "no class": lambda groups: groups[1][0].update({"class": None}),
    "unknown class": lambda groups: groups[1][0].update({"class": "egg"}),
    "no word": lambda groups: groups[1][0].update(value=None),
    "another column": lambda groups: groups[1][0].update(column="body"),
    "out of order": lambda groups: groups[1].reverse(),
    "one less": lambda groups: groups[1].pop(),
    "no groups": list.clear,
    "a word twice": lambda groups: groups[1].append(groups[1].pop(0)),
}
FORGED_FOOTERS = {
    "no tokens": lambda column: column.pop("tokens"),
    "tokens are a list": lambda column: column.update(tokens=[]),
    "an unknown unit": lambda column: column.update(tokens={"unit": "letters"}),
    "an unknown setting": lambda column: column.update(tokens={"odd": 1}),
    "ngram_range backwards": lambda column: column.update(tokens={"ngram_range": [2, 1]}),
    "ngram_range of texts": lambda column: column.update(tokens={"ngram_range": ["a", "b"]}),
    "a hash": lambda column: column.update(tokens={"hash_width": 16}),
    "a hash that is none": lambda column: column.update(tokens={"hash_width": "wide"}),
    "stop words that are none": lambda column: column.update(tokens={"stop_words": [1, 2]}),
    "a function without a name": lambda column: column.update(tokens={"tokenizer": {}}),
    "a function that is none": lambda column: column.update(tokens={"tokenizer": 3}),
    "no word on being fixed": lambda column: column.pop("fixed"),
    "another kind": lambda column: column.update(kind="moments"),
    "numbers for names": lambda column: column["values"].update(type="int"),
    "columns for names": lambda column: column.update(values={"numbered": 9}),
}


@pytest.fixture
def path(tmp_path):
    """Return the file of a model of texts."""
    nv.NaiveBayes(model="textbook").fit(TEXTS[:20], Y[:20]).save(tmp_path / "m.parquet")
    return tmp_path / "m.parquet"


@pytest.mark.parametrize("change", FORGED_ROWS)
def test_rows_that_cannot_be_words_are_refused(path, change):
    """By one error that names the file."""
    refused(reforged(path, rows=FORGED_ROWS[change]), "is not what Naively writes")


@pytest.mark.parametrize("change", FORGED_FOOTERS)
def test_a_footer_that_cannot_be_of_words_is_refused(path, change):
    """By one error that names the file."""
    refused(reforged(path, said=lambda said: FORGED_FOOTERS[change](said["columns"][0])), "is not what Naively writes")


FORGED_SCHEMAS = {
    "an unknown setting": lambda column: column["settings"].update(odd=1),
    "a setting that makes no sense": lambda column: column["settings"].update(times="twice"),
    "an unknown family": lambda column: column.update(family="word"),
    "another family": lambda column: column.update(family="categorical"),
    "another type": lambda column: column.update(type="number"),
    "words that are taken apart otherwise": lambda column: column["settings"].update(ngram_range=[1, 3]),
    "a vocabulary that was not counted": lambda column: column["settings"].update(vocabulary=["zebra"]),
}


@pytest.mark.parametrize("change", FORGED_SCHEMAS)
def test_a_schema_that_does_not_fit_its_words_is_refused(path, change):
    """What says how texts are read must be what counted them."""

    def said(footer: Any) -> None:
        FORGED_SCHEMAS[change](footer["about"]["schema"]["columns"][0])

    with pytest.raises(UnreadableFile):
        nv.load(reforged(path, said=said)).predict(NEW)


def test_words_keep_their_names_and_their_order_in_a_file(tmp_path):
    """Names with spaces, quotes, halves of surrogate pairs and signs of every kind come back as they were."""
    family = nv.Words(tokenizer=lambda text: text.split("|"), lowercase=False)
    texts = ['a b|"c"|,|\n|\x00|é|你好|🎉', "null|None|NaN|1|1.0|true|x|x", "İ|i̇|ß|ss| | ", "[1]|{}|\\|'"]
    nb = nv.NaiveBayes(families={"text": family}, model="textbook").fit(texts, list("abab"))
    nb.save(tmp_path / "m.parquet")
    back = nv.load(tmp_path / "m.parquet", tokenizer=family.tokenizer)

    assert back.counts_ == nb.counts_
    assert back.counts_.columns["text"].values.labels == nb.counts_.columns["text"].values.labels
    assert_allclose(back.predict_proba(texts), nb.predict_proba(texts), atol=1e-12)
