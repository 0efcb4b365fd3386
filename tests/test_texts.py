"""Texts as they are: the answers of a vectoriser and a model of counts, however the texts are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB

import naively as nv
from naively.counting import files as engine
from naively.data import values
from naively.errors import InvalidInput, InvalidSetting
from naively.files import file

from .tables import CLASSES, NEW, TEXTS, Y


def textbook(family: Any = None, **settings: Any) -> nv.NaiveBayes:
    """Return a textbook model of texts; the prior is that of scikit-learn."""
    families = None if family is None else {"text": family}
    return nv.NaiveBayes(families=families, model="textbook", prior_smoothing=0.0, **settings)


def prior_of(model: Any) -> str:
    """Return how frequent the classes are to a model of scikit-learn: to complements they are alike."""
    return "uniform" if isinstance(model, ComplementNB) else "empirical"


def reference(model: Any, vectorizer: Any = None, tf_idf: bool = False, change: Any = None) -> Any:
    """Return what scikit-learn answers to the new texts."""
    vectorizer = CountVectorizer() if vectorizer is None else vectorizer
    X, Z = vectorizer.fit_transform(TEXTS), vectorizer.transform(NEW)
    if change is not None:
        X, Z = (M.astype(float) for M in (X, Z))
        X.data, Z.data = change(X.data), change(Z.data)
    if tf_idf:
        weigh = TfidfTransformer(norm=None).fit(X)
        X, Z = weigh.transform(X), weigh.transform(Z)
    return model.fit(X, Y).predict_log_proba(Z)


# -- the answers of scikit-learn --------------------------------------------------------------------------------------

STOP = ("the", "you", "of")
KEPT = ("free", "the", "money", "lunch", "never", "said")
AGREEING = {
    "multinomial": (nv.Words(cjk="words"), MultinomialNB(), {}),
    "complement": (nv.Words(complement=True, cjk="words"), ComplementNB(), {}),
    "complement, norm": (nv.Words(complement=True, norm=True, cjk="words"), ComplementNB(norm=True), {}),
    "bernoulli": (nv.Words(bernoulli=True, cjk="words"), BernoulliNB(), {}),
    "smoothing": (nv.Words(smoothing=0.25, cjk="words"), MultinomialNB(alpha=0.25), {}),
    "pairs": (nv.Words(ngram_range=(1, 2), cjk="words"), MultinomialNB(), {"ngram_range": (1, 2)}),
    "only pairs": (nv.Words(complement=True, ngram_range=[2, 2], cjk="words"), ComplementNB(), {"ngram_range": (2, 2)}),
    "characters": (
        nv.Words(unit="characters", ngram_range=(1, 3)),
        MultinomialNB(),
        {"analyzer": "char", "ngram_range": (1, 3)},
    ),
    "inside": (
        nv.Words(unit="inside", ngram_range=(2, 4), bernoulli=True),
        BernoulliNB(),
        {"analyzer": "char_wb", "ngram_range": (2, 4)},
    ),
    "stop words": (nv.Words(stop_words=STOP, cjk="words"), MultinomialNB(), {"stop_words": list(STOP)}),
    "as written": (nv.Words(lowercase=False, cjk="words"), MultinomialNB(), {"lowercase": False}),
    "min_df": (nv.Words(min_df=3, cjk="words"), MultinomialNB(), {"min_df": 3}),
    "min_df, a share": (nv.Words(min_df=0.05, bernoulli=True, cjk="words"), BernoulliNB(), {"min_df": 0.05}),
    "max_df": (nv.Words(max_df=20, complement=True, cjk="words"), ComplementNB(), {"max_df": 20}),
    "max_df, a share": (nv.Words(max_df=0.2, min_df=2, cjk="words"), MultinomialNB(), {"max_df": 0.2, "min_df": 2}),
    "max_words": (nv.Words(max_words=9, cjk="words"), MultinomialNB(), {"max_features": 9}),
    "vocabulary": (nv.Words(vocabulary=KEPT, cjk="words"), MultinomialNB(), {"vocabulary": KEPT}),
    "vocabulary, flags": (nv.Words(vocabulary=KEPT, bernoulli=True), BernoulliNB(), {"vocabulary": KEPT}),
    "once": (nv.Words(times="once", cjk="words"), MultinomialNB(), {"binary": True}),
    "tokenizer": (nv.Words(tokenizer=str.split), MultinomialNB(), {"tokenizer": str.split, "token_pattern": None}),
    "preprocessor": (nv.Words(preprocessor=str.swapcase, cjk="words"), MultinomialNB(), {"preprocessor": str.lower}),
}


@pytest.mark.parametrize("name", AGREEING)
def test_texts_are_answered_as_by_a_vectoriser_and_a_model_of_counts(name):
    """Both models see the same words, and give the same probabilities."""
    family, model, vectorizer = AGREEING[name]
    nb = textbook(family, prior=prior_of(model)).fit(TEXTS, Y)

    assert_allclose(nb.predict_log_proba(NEW), reference(model, CountVectorizer(**vectorizer)), atol=1e-9)
    assert_array_equal(nb.classes_, CLASSES)


WEIGHED = {
    "log": (nv.Words(times="log", cjk="words"), MultinomialNB(), {"change": np.log1p}),
    "idf": (nv.Words(idf=True, cjk="words"), MultinomialNB(), {"tf_idf": True}),
    "idf, complement": (nv.Words(idf=True, complement=True, cjk="words"), ComplementNB(), {"tf_idf": True}),
    "idf, log": (nv.Words(idf=True, times="log", cjk="words"), MultinomialNB(), {"tf_idf": True, "change": np.log1p}),
}


@pytest.mark.parametrize("name", WEIGHED)
def test_words_are_weighed_as_by_transformers(name):
    """What is counted of a word, and how much a rare one counts, are as after the usual steps."""
    family, model, steps = WEIGHED[name]

    nb = textbook(family, prior=prior_of(model)).fit(TEXTS, Y)

    assert_allclose(nb.predict_log_proba(NEW), reference(model, **steps), atol=1e-9)


# -- every way to give texts ------------------------------------------------------------------------------------------


def as_views(texts: list[str]) -> Any:
    """Return texts as Arrow's views."""
    return pa.array(texts, pa.string_view())


def in_chunks(texts: list[str]) -> Any:
    """Return texts in several pieces, one of them empty."""
    middle = len(texts) // 2
    return pa.chunked_array([texts[:middle], [], texts[middle:]], pa.string())


def in_the_middle(texts: list[str]) -> Any:
    """Return a slice of a longer array."""
    return pa.array(["before", *texts, "behind"])[1:-1]


GIVEN = {
    "list": list,
    "tuple": tuple,
    "array of strings": np.array,
    "array of objects": lambda texts: np.array(texts, object),
    "array of new strings": lambda texts: np.array(texts, np.dtypes.StringDType()),
    "pandas": lambda texts: pd.Series(texts),
    "pandas, objects": lambda texts: pd.Series(texts, dtype=object),
    "pandas, Arrow": lambda texts: pd.Series(texts, dtype="string[pyarrow]"),
    "pandas, another index": lambda texts: pd.Series(texts, index=range(len(texts))[::-1]),
    "pandas, categories": lambda texts: pd.Series(texts, dtype="category"),
    "Polars": lambda texts: pl.Series(texts),
    "Polars, categories": lambda texts: pl.Series(texts, dtype=pl.Categorical),
    "string": lambda texts: pa.array(texts, pa.string()),
    "large_string": lambda texts: pa.array(texts, pa.large_string()),
    "string_view": as_views,
    "dictionary": lambda texts: pa.array(texts).dictionary_encode(),
    "chunked": in_chunks,
    "sliced": in_the_middle,
    "dict of a list": lambda texts: {"text": texts},
    "dicts": lambda texts: [{"text": text} for text in texts],
    "pandas frame": lambda texts: pd.DataFrame({"text": texts}),
    "Polars frame": lambda texts: pl.DataFrame({"text": texts}),
    "Arrow table": lambda texts: pa.table({"text": texts}),
}


@pytest.fixture(scope="module")
def expected():
    """Return the answers to the new texts, and the counts, of a list."""
    nb = textbook("words").fit(list(TEXTS), Y)
    return nb.predict_log_proba(NEW), nb.counts_


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("way", GIVEN)
def test_texts_are_the_same_however_they_are_given(way, threads, expected):
    """The counts are equal, and so are the answers to many rows, to some and to one, in that form and as a list."""
    give, (answers, counts) = GIVEN[way], expected
    nb = textbook("words", n_jobs=threads).fit(give(TEXTS), Y)

    assert nb.counts_ == counts
    assert_allclose(nb.predict_log_proba(give(NEW)), answers, atol=1e-12)
    assert_allclose(nb.predict_log_proba(NEW), answers, atol=1e-12)
    for rows in (slice(2, 5), slice(3, 4)):
        assert_allclose(nb.predict_log_proba(give(NEW[rows])), answers[rows], atol=1e-12)


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_texts_in_a_file_are_the_same(kind, tmp_path, expected):
    """A file is fitted with its column of texts named, and answered as a list of texts is."""
    table, path = pd.DataFrame({"text": TEXTS, "label": Y}), tmp_path / f"mails.{kind}"
    new, other = pd.DataFrame({"text": NEW}), tmp_path / f"new.{kind}"
    for part, to in ((table, path), (new, other)):
        if kind == "csv":
            part.to_csv(to, index=False)
        elif kind == "parquet":
            part.to_parquet(to)
        else:
            part.to_json(to, orient="records", lines=True, force_ascii=False)
    nb = textbook("words").fit(path, target="label")
    answers, counts = expected

    assert nb.counts_ == counts
    assert_allclose(nb.predict_log_proba(NEW), answers, atol=1e-12)
    assert_allclose(nb.predict_log_proba(other), answers, atol=1e-12)


# -- a column of texts beside others ----------------------------------------------------------------------------------


def test_columns_of_texts_stand_beside_others():
    """Each column adds what it would say alone, and texts of two columns keep their words apart."""
    rng = np.random.default_rng(0)
    hour, sender = rng.normal(size=len(TEXTS)), rng.choice(["a", "b"], len(TEXTS))
    subject = [text[:12] for text in TEXTS]
    table = {"body": TEXTS, "subject": subject, "sender": sender, "hour": hour}
    families = {"body": "words", "subject": nv.Words(ngram_range=(1, 2)), "sender": "categorical", "hour": "gaussian"}
    nb = nv.NaiveBayes(families=families, model="textbook").fit(table, Y)
    alone = [
        nv.NaiveBayes(families={name: family}, model="textbook").fit({name: table[name]}, Y)
        for name, family in families.items()
    ]
    prior = np.log(np.exp(nb.predict_joint_log_proba({name: [None] for name in table})))
    parts = [one.predict_joint_log_proba({name: table[name]}) - prior for one, name in zip(alone, table, strict=True)]

    assert_allclose(nb.predict_joint_log_proba(table), prior + sum(parts), atol=1e-8)
    assert set(nb.counts_.columns["subject"].values.labels) != set(nb.counts_.columns["body"].values.labels)


# -- settings that make no sense --------------------------------------------------------------------------------------

SENSELESS = {
    "bernoulli and complement": ({"bernoulli": True, "complement": True}, "complement=True is for how often"),
    "bernoulli and idf": ({"bernoulli": True, "idf": True}, "idf=True is for how often"),
    "times": ({"times": "twice"}, "times='twice' is unknown"),
    "times, a list": ({"times": ["once"]}, "is unknown"),
    "min_df": ({"min_df": -1}, "min_df=-1 is neither"),
    "min_df, more than all": ({"min_df": 1.5}, "min_df=1.5 is neither"),
    "min_df, nan": ({"min_df": float("nan")}, "min_df=nan is neither"),
    "min_df, True": ({"min_df": True}, "min_df=True is neither"),
    "max_df": ({"max_df": "half"}, "max_df='half' is neither"),
    "max_words": ({"max_words": 0}, "max_words=0 is no number of words"),
    "max_words, a share": ({"max_words": 0.5}, "max_words=0.5 is no number"),
    "vocabulary, a text": ({"vocabulary": "free money"}, "is no list"),
    "vocabulary twice": ({"vocabulary": ["free", "free"]}, "each of them once"),
    "vocabulary of numbers": ({"vocabulary": [1, 2]}, "must be strings"),
    "vocabulary of lists": ({"vocabulary": [["free"]]}, "must be strings"),
    "vocabulary and hash": ({"vocabulary": ["free"], "hash_width": 4}, "not both"),
    "vocabulary and pairs": ({"vocabulary": ["free"], "pairs": True}, "not pairs=True"),
    "no vocabulary": ({"vocabulary": []}, "vocabulary"),
    "hash": ({"hash_width": 0}, "is no number of columns"),
    "hash, a text": ({"hash_width": "wide"}, "is no number of columns"),
    "hash, infinite": ({"hash_width": float("inf")}, "is no number of columns"),
    "unit": ({"unit": "letters"}, "unit='letters' is not known"),
    "unit, a list": ({"unit": ["words"]}, "is not known"),
    "cjk": ({"cjk": "chars"}, "cjk='chars' is not known"),
    "ngram_range": ({"ngram_range": (2, 1)}, "is no range"),
    "ngram_range, a number": ({"ngram_range": 2}, "is no list"),
    "ngram_range, many": ({"ngram_range": (1, 10**9)}, "is no range"),
    "ngram_range, half": ({"ngram_range": (1, 1.5)}, "is no range"),
    "stop words, a text": ({"stop_words": "english"}, "is no list"),
    "stop words of numbers": ({"stop_words": [1]}, "stop_words"),
    "stop words of characters": ({"stop_words": ["the"], "unit": "characters"}, "stop_words are words"),
    "tokenizer": ({"tokenizer": "split"}, "tokenizer"),
    "preprocessor": ({"preprocessor": 3}, "preprocessor"),
    "tokenizer of characters": ({"tokenizer": str.split, "unit": "characters"}, "tokenizer finds words"),
    "smoothing": ({"smoothing": -1}, "smoothing"),
    "smoothing of each": ({"smoothing": [1.0, 2.0]}, "so it needs a vocabulary of as many words"),
    "smoothing of too few": ({"smoothing": [1.0], "vocabulary": ["free", "the"]}, "vocabulary of as many words"),
}


@pytest.mark.parametrize("name", SENSELESS)
def test_settings_that_make_no_sense_are_refused(name):
    """The error names the setting and what it was."""
    settings, words = SENSELESS[name]
    with pytest.raises(InvalidSetting, match=words):
        textbook(nv.Words(**settings)).fit(TEXTS, Y).predict(NEW)


def test_settings_of_texts_are_not_for_vectors():
    """Vectors of counts hold no texts to be taken apart."""
    with pytest.raises(InvalidInput, match=r"whose words are counted already: Words\(ngram_range=…\)"):
        nv.NaiveBayes(families={"X": nv.Words(ngram_range=(1, 2))}).fit(CountVectorizer().fit_transform(TEXTS), Y)


# -- texts in files ----------------------------------------------------------------------------------------------------

ROWS = 2_000


@pytest.fixture(scope="module")
def letters():
    """Return a table of letters: some words, mostly of their class, and long ones among short ones."""
    random = np.random.default_rng(0)
    y = random.integers(3, size=ROWS)
    common, own = np.array(["the", "of", "and", "to", "it"]), np.array([f"word{at}" for at in range(90)])
    texts = []
    for label, length in zip(y, random.integers(5, 60, size=ROWS), strict=True):
        words = own[random.integers(30, size=length // 3) + 30 * label]
        texts.append(" ".join([*random.choice(common, length), *words]))
    texts[17], texts[1400] = None, 'spam, "ham"\nand eggs'
    return pa.table({"label": np.array(["a", "b", "c"])[y], "body": texts})


@pytest.fixture(scope="module", params=["csv", "csv.gz", "parquet", "json", "duckdb"])
def path(request, letters, tmp_path_factory):
    path = tmp_path_factory.mktemp("letters") / f"letters.{request.param}"
    if request.param == "parquet":
        pq.write_table(letters, path, row_group_size=800)
    elif request.param == "json":
        letters.to_pandas().to_json(path, orient="records", lines=True, force_ascii=False)
    elif request.param == "duckdb":
        import duckdb

        with duckdb.connect(str(path)) as con:
            con.execute("create table letters as select * from letters")
    else:
        letters.to_pandas().to_csv(path, index=False)
    return path


def blocks_of(path, **how):
    source = nv.File(path, **how)
    schema = source.schema({"body": "words"}, ["label"])
    return list(source.blocks([0], schema, ["label"]))


def test_blocks_of_long_texts_have_fewer_rows(path, letters, monkeypatch):
    whole = blocks_of(path)
    assert [block.table.num_rows for block in whole] == [ROWS]
    monkeypatch.setattr(file, "PIECE", 100)
    monkeypatch.setattr(file, "BYTES", 30_000)
    parts = blocks_of(path)
    assert len(parts) > 5
    for part in parts[:-1]:
        held = [len(text.encode()) if text else 0 for text in part.table.column("body").to_pylist()]
        assert sum(held) >= 30_000 > sum(held[:-100])
        assert part.table.num_rows % 100 == 0
    assert [part.begin for part in parts] == np.cumsum([0, *(p.table.num_rows for p in parts[:-1])]).tolist()
    assert pa.concat_tables(part.table for part in parts).column("body").to_pylist() == letters["body"].to_pylist()
    assert [part.table.num_rows for part in blocks_of(path, limit=250)][-1:] != [0]
    assert sum(part.table.num_rows for part in blocks_of(path, limit=250)) == 250


@pytest.mark.pairwise
@pytest.mark.parametrize("how", [{"ngram_range": (1, 2)}, {"hash_width": 1 << 10}])
@pytest.mark.parametrize("model", ["textbook", "auto"])
def test_where_blocks_end_does_not_matter(path, model, how, letters, monkeypatch):
    def fitted(source):
        nb = nv.NaiveBayes(model=model, families={"body": nv.Words(**how)})
        return nb.fit(source, target="label")

    kept = letters.filter(pa.compute.is_valid(letters["body"]))
    whole = fitted(str(path))
    monkeypatch.setattr(file, "PIECE", 128)
    monkeypatch.setattr(file, "BYTES", 20_000)
    parts = fitted(str(path))
    assert parts.counts_ == whole.counts_ == fitted(letters).counts_
    np.testing.assert_array_equal(*(nb.predict_proba({"body": kept["body"]}) for nb in (parts, whole)))
    np.testing.assert_array_equal(parts.predict_proba(str(path)), whole.predict_proba(letters.select(["body"])))


def test_only_texts_are_gone_over_once(path, letters, monkeypatch, keep):
    read = []
    monkeypatch.setattr(engine.FileRows, "report_progress", lambda self, part: read.append(part.frame.names))
    nb = nv.NaiveBayes(families={"body": "words"})
    done = nv.fit_files(nb, path, "label")
    assert (done.passes, len(read)) == (1, 1)
    assert nb.tuning_.learned is not None  # the words were weighed all the same
    memory = nv.NaiveBayes(families={"body": "words"}).fit(letters, target="label")
    assert nb.counts_ == memory.counts_
    assert nb.tuning_.learned.to_json() == memory.tuning_.learned.to_json()
    few = nv.fit_files(nv.NaiveBayes(families={"body": "words"}), path, "label", cv=3)
    assert (few.passes, len(read)) == (1, 2)  # all rows were kept
    keep(100)
    many = nv.fit_files(nv.NaiveBayes(families={"body": "words"}), path, "label", cv=3)
    assert (many.passes, len(read)) == (2, 4)
    assert min(few.scores.accuracy, many.scores.accuracy) > 0.9


def test_a_column_of_many_bytes_stays_whole(monkeypatch):
    """Arrow puts no more than 2 GiB of short texts into one array; such a column is read as long texts."""
    monkeypatch.setattr(values, "LONGEST", 20)
    column = values.ColumnValues("body", pa.chunked_array([["some words"], ["and others"], ["in chunks"]]))
    found = column.arrow(0, 3)
    assert found.type == pa.large_string()
    assert found.to_pylist() == ["some words", "and others", "in chunks"]
