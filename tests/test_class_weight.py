"""A class weight is the weight of every row of the class, wherever the rows are, and scores do not know of it."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import ShuffleSplit
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.estimator_checks import check_class_weight_classifiers

import naively as nv
from naively.cli import main
from naively.errors import InvalidInput, InvalidSetting

from .test_folds import mixed_rows

ROWS = mixed_rows(240, seed=5).drop(columns="weight")
Y = ROWS["kind"].to_numpy(dtype=object)
X = ROWS.drop(columns="kind")
GIVEN = {"low": 3.0, "high": 0.5}
MODELS = ("auto", "textbook")


def weights_of(setting, labels=Y):
    """Return the weights of rows as scikit-learn gives them."""
    return compute_sample_weight("balanced" if setting == "balanced" else {"middle": 1.0, **setting}, labels)


@pytest.fixture
def path(tmp_path):
    ROWS.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


# -- the same as weights of rows ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("setting", [GIVEN, "balanced"], ids=str)
@pytest.mark.parametrize("model", MODELS)
def test_a_class_weight_is_the_weight_of_its_rows(model, setting, path):
    """In memory, in a file, and where folds are scored."""
    expected = nv.NaiveBayes(model=model).fit(X, Y, sample_weight=weights_of(setting))
    nb = nv.NaiveBayes(model=model, class_weight=setting)
    scored = nv.NaiveBayes(model=model, class_weight=setting)
    nv.fit_files(scored, path, "kind", cv=3)
    for other in (nb.fit(X, Y), nv.NaiveBayes(model=model, class_weight=setting).fit(path, target="kind"), scored):
        assert_allclose(other.predict_proba(X), expected.predict_proba(X), atol=1e-9)
        assert other.counts_.agrees(expected.counts_, 1e-9)


@pytest.mark.parametrize("model", MODELS)
def test_class_weights_and_weights_of_rows_are_multiplied(model):
    """Balanced by weight: a row that weighs 2 is two rows."""
    own = np.random.default_rng(0).integers(0, 3, len(Y)).astype(float)
    nb = nv.NaiveBayes(model=model, class_weight="balanced").fit(X, Y, sample_weight=own)
    share = {label: own.sum() / (3 * own[label == Y].sum()) for label in set(Y)}
    expected = nv.NaiveBayes(model=model).fit(X, Y, sample_weight=own * [share[label] for label in Y])
    assert_allclose(nb.predict_proba(X), expected.predict_proba(X), atol=1e-9)
    assert_allclose(nb.counts_.rows, own.sum() / 3)


@pytest.mark.parametrize("model", MODELS)
def test_texts_are_weighed_by_class(model, tmp_path):
    rng = np.random.default_rng(1)
    y = np.where(rng.random(120) < 0.25, "spam", "ham")
    texts = [" ".join(rng.choice(["win", "money", "now"] if k == "spam" else ["see", "you", "now"], 4)) for k in y]
    expected = nv.NaiveBayes(model=model).fit(texts, y, sample_weight=np.where(y == "spam", 3.0, 1.0))
    nb = nv.NaiveBayes(model=model, class_weight={"spam": 3.0}).fit(texts, y)
    assert_allclose(nb.predict_proba(texts), expected.predict_proba(texts), atol=1e-9)
    pd.DataFrame({"text": texts, "y": y}).to_csv(tmp_path / "t.csv", index=False)
    families = {"text": "words"}
    of_file = nv.NaiveBayes(model=model, class_weight={"spam": 3.0}, families=families)
    of_file.fit(tmp_path / "t.csv", target="y")
    assert_allclose(of_file.predict_proba({"text": texts}), nb.predict_proba(texts), atol=1e-9)


def test_soft_labels_and_rows_without_a_label_are_weighed_by_class():
    soft = pd.DataFrame({"low": [0.2, 0.9, 0.5], "high": [0.8, 0.1, 0.5]})
    table = {"x": ["a", "b", "b"]}
    nb = nv.NaiveBayes(model="textbook", class_weight={"low": 2.0}).fit(table, soft)
    assert_allclose(nb.counts_.rows, [1.4, 3.2])
    labels = [None if at % 5 == 0 else label for at, label in enumerate(Y)]
    skipped = nv.NaiveBayes(class_weight=GIVEN, unlabelled="skip").fit(X, labels)
    there = np.array([label is not None for label in labels])
    assert_allclose(
        skipped.predict_proba(X), nv.NaiveBayes(class_weight=GIVEN).fit(X[there], Y[there]).predict_proba(X)
    )
    em = {"unlabelled": "em", "estimate": "map", "model": "textbook"}
    assert nv.NaiveBayes(class_weight=GIVEN, **em).fit(X, labels).expected_ is not None


def test_counts_of_every_kind_are_weighed_by_class():
    """As if every row had been counted with the weight of its class; a class of no weight vanishes."""
    table = X.assign(text="so what").to_dict("list") | {"bag": np.random.default_rng(2).poisson(1.0, (len(X), 3))}
    families = {"text": "words", "bag": nv.Words(), "visits": "poisson"}
    for weights in ({"high": 2.0, "low": 0.25, "middle": 1.0}, {"high": 0.0, "low": 1.0, "middle": 3.0}):
        nb = nv.NaiveBayes(families=families, class_weight=weights).fit(table, Y)
        each = np.array([weights[label] for label in Y])
        assert nb.counts_.agrees(nv.count(table, Y, schema=nb.schema_, sample_weight=each))
        assert np.allclose(nb.tuning_.learned.joint.on(nb.counts_.classes).rows, nb.counts_.rows)


# -- learning on, forgetting, keeping ----------------------------------------------------------------------------------


def test_rows_come_and_go_with_the_weights_of_their_classes():
    """Also before a class has come, row by row, and under weights that were set since."""
    whole = nv.NaiveBayes(model="textbook", class_weight=GIVEN).fit(X, Y)
    first = np.flatnonzero(Y != "high")[:100]
    rest = np.setdiff1d(np.arange(len(Y)), first)
    nb = nv.NaiveBayes(model="textbook", class_weight=GIVEN, families=whole.schema_)
    nb.partial_fit(X.iloc[first], Y[first]).set_params(class_weight={"low": 9.0})
    for row in rest[:5]:
        nb.partial_fit(X.iloc[row].to_dict(), Y[row])
    nb.partial_fit(X.iloc[rest[5:]], Y[rest[5:]])
    assert nb.counts_.agrees(whole.counts_, 1e-9)
    nb.forget(X.iloc[rest], Y[rest])
    alone = nv.NaiveBayes(model="textbook", class_weight={"low": 3.0}, families=whole.schema_)
    alone.fit(X.iloc[first], Y[first])
    assert nb.counts_.agrees(alone.counts_, 1e-9)


@pytest.mark.parametrize("setting", [GIVEN, "balanced"], ids=str)
def test_rows_are_left_out_with_the_weights_of_their_classes(setting, tmp_path, path):
    """Of a loaded model too, and scored without them."""
    nb, weights = nv.NaiveBayes(class_weight=setting).fit(X, Y), weights_of(setting)
    expected = nv.NaiveBayes().fit(X, Y, sample_weight=weights).leave_one_out(X, Y, sample_weight=weights)
    nb.save(tmp_path / "m.parquet")
    loaded = nv.load(tmp_path / "m.parquet")
    assert loaded.class_weight == setting
    for scores in (nb.leave_one_out(X, Y), loaded.leave_one_out(X, Y), loaded.leave_one_out(path, target="kind")):
        assert_allclose(scores.posterior, expected.posterior, atol=1e-9)
        assert scores.weights is None
    assert_allclose(loaded.calibrate(X, Y).predict_proba(X), nb.predict_proba(X), atol=1e-9)


# -- folds -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("setting", [GIVEN, "balanced"], ids=str)
@pytest.mark.parametrize("model", MODELS)
def test_each_fold_is_weighed_by_the_rows_it_learns_from(model, setting, path, keep):
    """As scikit-learn does; scores are those of rows as they are. A file has the same, few rows or many."""
    folds = [(np.flatnonzero(np.arange(len(Y)) % 3 != at), np.arange(at, len(Y), 3)) for at in range(3)]
    scores = nv.cross_validate(X, Y, cv=folds, model=model, class_weight=setting)
    for train, test in folds:
        nb = nv.NaiveBayes(model=model).fit(X.iloc[train], Y[train], sample_weight=weights_of(setting, Y[train]))
        assert_allclose(scores.posterior[test], nb.predict_proba(X.iloc[test]), atol=1e-9)
    assert scores.weights is None
    found = nv.cross_validate(X, Y, cv=4, model=model, class_weight=setting)
    nb = nv.NaiveBayes(model=model, class_weight=setting)
    assert_allclose(nv.fit_files(nb, path, "kind", cv=4).scores.posterior, found.posterior, atol=1e-9)
    if model == "textbook":
        keep(30)
        assert_allclose(nv.fit_files(nb, path, "kind", cv=4).scores.posterior, found.posterior, atol=1e-9)


def test_rows_of_a_class_without_weight_are_scored_all_the_same(path):
    for source in (ROWS, path):
        scores = nv.cross_validate(source, target="kind", cv=3, class_weight={"low": 0}, model="textbook")
        assert len(scores.truth) == len(Y)
        assert scores.confusion[list(scores.classes).index("low")].sum() == (Y == "low").sum()


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("equal", "class_weight='equal' must be 'balanced', a dict of weights by class"),
        (3.0, "class_weight=3.0 must be 'balanced'"),
        ({"low": -1.0}, "gives the class 'low' the weight -1.0; give a finite number of 0 or more"),
        ({"low": float("nan")}, "gives the class 'low' the weight nan"),
        ({"low": float("inf")}, "gives the class 'low' the weight inf"),
        ({"low": "much"}, "gives the class 'low' the weight 'much'"),
        ({"lo": 2.0}, "class_weight names the class 'lo', which no row has; the classes are"),
        (dict.fromkeys(("low", "middle", "high"), 0.0), "a row weighs nothing; give other weights"),
        ({"low": 1e200}, r"a row weighs 1e\+200; give other weights"),
    ],
    ids=str,
)
def test_class_weights_that_mean_nothing_are_refused(setting, words, path):
    with pytest.raises(InvalidInput, match=words):
        nv.NaiveBayes(class_weight=setting).fit(X, Y)
    with pytest.raises(InvalidInput, match=words):
        nv.cross_validate(X, Y, class_weight=setting)
    if words.startswith(("class_weight", "gives")):
        with pytest.raises(InvalidInput, match=words):
            nv.fit_files(nv.NaiveBayes(class_weight=setting), path, "kind")


def test_balanced_weights_are_refused_where_not_all_rows_are_known(path, tmp_path):
    nb = nv.NaiveBayes(class_weight="balanced")
    with pytest.raises(InvalidSetting, match=r"'balanced' follows from all rows, so partial_fit cannot know it"):
        nb.partial_fit(X, Y)
    with pytest.raises(InvalidSetting, match=r"class_weight='balanced' changes what is counted.*keep_counts"):
        nv.fit_files(nb, path, "kind", keep_counts=tmp_path / "kept")
    with pytest.raises(InvalidSetting, match="so forget cannot know it"):
        nb.fit(X, Y).forget(X[:5], Y[:5])


# -- the command line and scikit-learn ---------------------------------------------------------------------------------


def test_the_command_line_takes_class_weights(path, tmp_path):
    out = tmp_path / "m.parquet"

    def run(*options, table=path, target="kind"):
        return CliRunner().invoke(main, ["fit", str(table), "-t", target, "-o", str(out), "--json", *options])

    report = json.loads(run("--class-weight", "low=3", "--class-weight", "high=0.5").stdout)
    nb = nv.load(out)
    assert nb.class_weight == GIVEN
    assert_allclose(nb.predict_proba(X), nv.NaiveBayes(class_weight=GIVEN).fit(X, Y).predict_proba(X), atol=1e-9)
    assert report["scores"]["rows"] == len(Y)
    report = json.loads(run("--class-weight", "balanced").stdout)
    assert nv.load(out).class_weight == "balanced"
    assert_allclose([label["rows"] for label in report["classes"]], len(Y) / 3)
    refused = {"lo=3": "which no row has", "low": "not a pair NAME=NUMBER", "low=-1": "give a finite number"}
    for option, words in refused.items():
        done = run("--class-weight", option)
        assert done.exit_code == 2
        assert words in done.stderr
    numbers = tmp_path / "n.csv"
    numbers.write_text("x,y\n" + "1,0\n2,1\n3,1\n" * 20)
    report = json.loads(run("--class-weight", "0=2", table=numbers, target="y").stdout)
    assert [label["rows"] for label in report["classes"]] == [40, 40]


@pytest.mark.parametrize("model", MODELS)
def test_class_weights_pass_the_checks_of_scikit_learn(model):
    check_class_weight_classifiers("NaiveBayes", nv.NaiveBayes(model=model))


def test_arrow_tables_and_numbers_as_labels_are_weighed():
    codes = (Y == "low").astype(np.int64)
    nb = nv.NaiveBayes(class_weight={np.int64(1): 2, np.int64(5): 9}, classes=[0, 1, 5], model="textbook")
    nb.fit(pa.Table.from_pandas(X), codes)
    assert_array_equal(nb.counts_.rows, [(codes == 0).sum(), 2 * codes.sum(), 0])


def test_heavy_rows_do_not_vouch_for_themselves():
    """A row that weighs more than one is left out whole, so that balanced classes are learned and not memorised."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 10))
    score = X[:, 0] + rng.normal(size=1200)
    y = np.where(score > np.quantile(score, 0.95), "p", "q")
    found = {m: nv.cross_validate(X, y, cv=5, class_weight="balanced", model=m) for m in MODELS}
    assert found["auto"].balanced_accuracy > 0.75  # 0.5 where one copy of each was left out
    assert found["auto"].auc > found["textbook"].auc - 0.03
    plain = nv.cross_validate(X, y, cv=5, model="textbook")
    assert found["textbook"].balanced_accuracy > plain.balanced_accuracy + 0.1
    noise = (rng.random(400) < 0.1).astype(int)
    nb = nv.NaiveBayes(class_weight="balanced").fit(X[:400], noise)
    assert nb.leave_one_out(X[:400], noise).log_loss > 0.55  # 0.012 where one copy of each was left out


def test_a_splitter_that_asks_twice_is_no_partition():
    """As many rows as there are, but not each of them once."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 2, 200)
    folds = list(ShuffleSplit(n_splits=10, test_size=0.1, random_state=0).split(X))
    for model in MODELS:
        nb = nv.NaiveBayes(model=model)
        losses = [nv.Scores(nb.fit(X[a], y[a]).predict_proba(X[b]), y[b], (0, 1)).log_loss for a, b in folds]
        assert nv.cross_validate(X, y, cv=folds, model=model).log_loss == pytest.approx(np.mean(losses))
