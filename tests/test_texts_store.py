"""Files of words: what they hold comes back, and what no Naively wrote is refused."""

from __future__ import annotations

from typing import Any

import pytest
from numpy.testing import assert_allclose

import naively as nv
from naively.data import model_file as store
from naively.errors import UnreadableFile

from .tables import NEW, TEXTS, Y
from .test_store import reforged, refused

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


def test_a_file_that_is_sealed_again_is_the_same(path):
    """Nothing is wrong with it."""
    counts = nv.load(path).counts_

    assert store.read_counts(reforged(path))[0] == counts


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
