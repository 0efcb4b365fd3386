"""Prediction sets and intervals by held-out scores: laws, coverage on drawn rows, and agreement with exact ranks."""

import json
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.isotonic import IsotonicRegression

import naively as nv
from naively.cli import main
from naively.counting.reading import labeled_rows
from naively.errors import InvalidInput, UnreadableFile
from naively.estimator.held_out import held_out_scores, scores_in_use
from naively.judge.held_out_scores import BINS, HeldOutScores, log_odds, score_bins
from naively.stats import Axis

pytestmark = pytest.mark.thorough

LEVELS = (0.05, 0.5, 0.8, 0.9, 0.95, 0.99)


def drawn(rows, seed=0, classes=3, columns=4, apart=0.6):
    """Return rows of normal numbers and a label, their classes, and P(class | row)."""
    own = np.random.default_rng(99)
    means, labels = own.normal(size=(classes, columns)) * apart, own.dirichlet(np.ones(3), classes)
    rng = np.random.default_rng([seed, rows])
    y = rng.integers(classes, size=rows)
    x, c = rng.normal(means[y]), np.array([rng.choice(3, p=labels[k]) for k in y])
    log = np.stack([-0.5 * ((x - means[k]) ** 2).sum(axis=1) + np.log(labels[k][c]) for k in range(classes)], axis=1)
    p = np.exp(log - log.max(axis=1, keepdims=True))
    table = pd.DataFrame(x, columns=[f"x{j}" for j in range(columns)]).assign(c=np.array(list("abc"))[c])
    return table, y, p / p.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def fitted():
    X, y, _ = drawn(600)
    return nv.NaiveBayes().fit(X, y), X, y


def scores_of(nb):
    return scores_in_use(nb.fitted_)


def tables_of(scores):
    return np.stack([*scores.held_out, *scores.counted])


# -- sets --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by_class", [False, True])
def test_sets_are_nested_in_the_level_and_never_empty(fitted, by_class):
    nb, asked = fitted[0], drawn(300, 1)[0]
    sets = [nb.predict_set(asked, level, by_class=by_class) for level in LEVELS]
    assert all((small <= large).all() for small, large in pairwise(sets))
    assert all(one[np.arange(300), nb.predict_proba(asked).argmax(axis=1)].all() for one in sets)
    assert (sets[0].dtype, sets[0].shape, sets[0].sum()) == (bool, (300, 3), 300)
    assert sets[-1].sum() > sets[2].sum() > 300


@pytest.mark.parametrize("model", ["auto", "textbook"])
@pytest.mark.parametrize("held_out", [False, True])
def test_sets_contain_the_true_class_as_often_as_they_say(model, held_out):
    """Over 12 draws of 300 rows, the mean is within three standard errors of the level, or above it by a bin."""
    covered, size = {level: [] for level in LEVELS[2:5]}, 400
    for seed in range(12):
        X, y, _ = drawn(300, seed, apart=0.4)
        asked, truth, _ = drawn(size, seed + 100, apart=0.4)
        nb = nv.NaiveBayes(model=model).fit(X, y)
        rest = drawn(300, seed + 200, apart=0.4)
        nb.conformalize(*(rest[:2] if held_out else (X, y)), held_out=held_out)
        for level, found in covered.items():
            found.append(nb.predict_set(asked, level)[np.arange(size), truth].mean())
    for level, found in covered.items():
        error = np.sqrt(level * (1 - level) * (1 / 300 + 1 / size) / len(found))
        assert level - 3 * error < np.mean(found) < level + 3 * error + 0.012


def test_the_table_agrees_with_the_ranks_of_the_rows(fitted):
    nb, X, y = fitted
    asked, _, _ = drawn(500, 3)
    own = np.sort(log_odds(np.log(nb.leave_one_out(X, y).posterior[np.arange(len(y)), y])))
    log_p = nb.predict_log_proba(asked)

    def exact(bins):
        ranks = np.searchsorted(own, log_odds(log_p) + bins / 32, side="right")
        return (ranks + 1) / (len(own) + 1)

    binned = scores_of(nb).p_values(log_p)
    assert (binned >= exact(0) - 1e-9).all()
    assert (binned <= exact(1) + 1e-9).all()


# -- intervals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["numbers", "few values", "many columns"])
def test_an_interval_contains_the_true_probability(kind):
    """The model is right but for what the rows leave unknown, so P(class | row) itself is covered."""
    inside = []
    for seed in range(4 if kind == "many columns" else 6):
        columns = 25 if kind == "many columns" else 4
        (X, y, _), (asked, _, p) = (drawn(rows, seed, 2, columns, 0.3) for rows in (800, 1000))
        if kind == "few values":
            rng = np.random.default_rng(seed)
            q = rng.dirichlet(np.ones(2), 5)
            X, asked = ({"c": rng.integers(5, size=rows).astype(str)} for rows in (800, 1000))
            y, p = (rng.random(800) < q[X["c"].astype(int), 1]).astype(int), q[asked["c"].astype(int)]
        low, high = nv.NaiveBayes().fit(X, y).predict_interval(asked)
        inside.append(((low <= p) & (p <= high)).mean())
    assert np.mean(inside) > 0.87


def test_venn_abers_is_isotonic_regression_with_one_row_more(fitted):
    nb, _, _ = fitted
    asked, _, _ = drawn(20, 2)
    scores, log_p = scores_of(nb), nb.predict_log_proba(asked)
    low, high = nb.predict_interval(asked, None)
    assert (low < high).all()
    for k in range(3):
        own, other = scores.held_out.own[k], scores.held_out.other[k]
        bins = np.repeat(np.arange(BINS), (own + other).astype(int))
        labels = np.concatenate([[1] * int(a) + [0] * int(b) for a, b in zip(own, other, strict=True)])
        for row, at in enumerate(score_bins(log_p)[:, k]):
            for end, label in ((low, 0), (high, 1)):
                model = IsotonicRegression().fit(np.append(bins, at), np.append(labels, label))
                assert end[row, k] == pytest.approx(model.predict([at])[0], abs=1e-9)


# -- rows of every kind ------------------------------------------------------------------------------------------------


def test_files_are_scored_and_answered_as_tables(tmp_path):
    X, y, _ = drawn(500)
    path = tmp_path / "rows.csv"
    X.assign(y=y).to_csv(path, index=False)
    one = nv.NaiveBayes(model="textbook").fit(X, y).conformalize(X, y)
    other = nv.NaiveBayes(model="textbook").fit(path, target="y").conformalize(path, target="y")
    assert np.allclose(tables_of(scores_of(one)), tables_of(scores_of(other)))
    assert np.array_equal(one.predict_set(X), other.predict_set(path))
    assert np.allclose(one.predict_interval(X, None), other.predict_interval(path, None))


# -- weights and labels ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["auto", "textbook"])
def test_a_weight_stands_for_copies_of_a_row(model):
    X, y, _ = drawn(200)
    times = np.random.default_rng(1).integers(0, 4, size=200)
    many = X.loc[np.repeat(np.arange(200), times)]
    a = nv.NaiveBayes(model=model).fit(X, y, sample_weight=times).conformalize(X, y, times)
    b = nv.NaiveBayes(model=model).fit(many, np.repeat(y, times)).conformalize(many, np.repeat(y, times))
    assert np.allclose(tables_of(scores_of(a)), tables_of(scores_of(b)))
    assert scores_of(a).row_weight == scores_of(b).row_weight == 1


def test_rows_with_soft_labels_or_without_a_label_need_held_out_rows():
    X, y, p = drawn(300)
    nb = nv.NaiveBayes(model="textbook").fit(X, y)
    asked, _, soft = drawn(100, 7)
    nb.conformalize(asked, pd.DataFrame(soft, columns=[0, 1, 2]), held_out=True)
    assert np.allclose(scores_of(nb).held_out.own.sum(axis=1), soft.sum(axis=0))
    with pytest.raises(InvalidInput, match="held_out=True"):
        nb.conformalize(X, pd.DataFrame(p, columns=[0, 1, 2]))
    known = pd.Series(y).astype(object)
    known[:50] = None
    nb = nv.NaiveBayes(model="textbook", unlabelled="em", estimate="map").fit(X, known)
    with pytest.raises(InvalidInput, match="held_out=True"):
        nb.conformalize(X[50:], y[50:])
    assert nb.conformalize(*drawn(200, 3)[:2], held_out=True).predict_set(X).any(axis=1).all()


def test_rows_that_were_never_counted_are_refused(fitted):
    nb, X, y = fitted
    with pytest.raises(InvalidInput, match="counted"):
        nb.conformalize(pd.concat([X, X]), np.append(y, y))
    other = X.copy()
    other.iloc[3, 0] += 0.001
    with pytest.raises(InvalidInput, match=r"Row 3 was never counted, .* held_out=True"):
        nb.conformalize(other, y)
    with pytest.raises(InvalidInput, match="does not know the label 'x'"):
        nb.conformalize(X, ["x"] * len(X), held_out=True)


# -- models that change, files, merging --------------------------------------------------------------------------------


def test_rows_that_come_and_go_are_scored_with_the_model(fitted):
    _, X, y = fitted
    asked, _, _ = drawn(50, 1)
    nb = nv.NaiveBayes().fit(X[:300], y[:300])
    nb.predict_set(asked)
    nb.partial_fit(X[300:], y[300:])
    whole = nv.NaiveBayes().fit(X, y)
    assert np.array_equal(nb.predict_set(asked), whole.predict_set(asked))
    nb.forget(X[300:], y[300:])
    assert nb.fitted_.state.held_out.scores is None
    assert np.array_equal(nb.predict_set(asked), nv.NaiveBayes().fit(X[:300], y[:300]).predict_set(asked))
    textbook = nv.NaiveBayes(model="textbook").fit(X, y).conformalize(X, y)
    with pytest.raises(InvalidInput, match="no held-out scores"):
        textbook.forget(X[:1], y[:1]).predict_set(X)


def test_other_settings_need_other_scores(fitted, tmp_path):
    _, X, y = fitted
    nb = nv.NaiveBayes().fit(X, y)
    usual = nb.predict_set(X)
    nb.save(tmp_path / "model.parquet")
    nb.prior = {0: 0.9, 1: 0.05, 2: 0.05}
    anew = nv.NaiveBayes(prior=nb.prior).fit(X, y)
    assert np.array_equal(nb.predict_set(X), anew.predict_set(X))
    loaded = nv.load(tmp_path / "model.parquet")
    assert np.array_equal(loaded.predict_set(X), usual)
    loaded.prior = "uniform"
    with pytest.raises(InvalidInput, match="other settings"):
        loaded.predict_set(X)
    loaded.prior = "empirical"
    loaded.cost = {(0, 1): 5}  # decides, and estimates nothing
    assert np.array_equal(loaded.predict_set(X), usual)


def test_a_file_holds_the_scores_that_were_made(fitted, tmp_path):
    nb, X, y = fitted
    path, fresh = tmp_path / "model.parquet", nv.NaiveBayes().fit(X, y)
    fresh.save(path, rows=True)
    assert np.array_equal(nv.load(path).predict_set(X), nb.predict_set(X))
    nv.NaiveBayes().fit(X, y).save(path)
    with pytest.raises(InvalidInput, match=r"no held-out scores.*conformalize\(X, y\)"):
        nv.load(path).predict_set(X)
    nb.predict_set(X)
    nb.save(path)
    loaded = nv.load(path)
    assert np.array_equal(tables_of(scores_of(loaded)), tables_of(scores_of(nb)))
    for level in (0.9, None):
        assert np.allclose(loaded.predict_interval(X, level), nb.predict_interval(X, level))


@pytest.mark.parametrize(
    "change",
    [{"bins": 7}, {"counts": "!"}, {"counts": "eJwDAAAAAAE="}, *({"squares": n} for n in (-1.0, np.inf, "many"))],
    ids=str,
)
def test_a_damaged_table_makes_no_model(fitted, change, tmp_path, monkeypatch):
    nb, scores = fitted[0], scores_of(fitted[0])
    damaged = scores.to_json() | change
    with pytest.raises((ValueError, TypeError)):
        HeldOutScores.from_json(damaged, scores.classes)
    with pytest.raises(ValueError, match="bytes"):
        HeldOutScores.from_json(scores.to_json(), Axis([0, 1, 2, 3]))
    monkeypatch.setattr(HeldOutScores, "to_json", lambda self: json.loads(json.dumps(damaged).replace("Infinity", "0")))
    nb.save(tmp_path / "model.parquet")
    with pytest.raises(UnreadableFile, match="makes no classifier"):
        nv.load(tmp_path / "model.parquet")


def scores_of_parts(nb, X, y, bounds):
    return [
        held_out_scores(nb.fitted_, labeled_rows(X[begin:end], y[begin:end], None, None, "error", nb.schema_))
        for begin, end in pairwise(bounds)
    ]


def test_tables_of_parts_add_up_to_that_of_all_rows(fitted):
    """Scored in folds, all but the held-out scores do; these keep the weights of all rows, and lie near those refitted.

    Scores under weights that know the rows are no lower on average.
    """
    joint, X, y = fitted
    nb = nv.NaiveBayes(model="textbook").fit(X, y)
    one, other = scores_of_parts(nb, X, y, (0, 200, 600))
    whole = scores_of(nb.conformalize(X, y))
    assert np.allclose(tables_of(one + other), tables_of(whole))
    assert (one + other).squares == whole.squares
    whole, (one, other) = scores_of(joint), scores_of_parts(joint, X, y, (0, 200, 600))
    both, log_p = one + other, joint.predict_log_proba(drawn(500, 3)[0])
    assert np.allclose(tables_of(other + one), tables_of(both))
    assert np.allclose(np.stack(both.counted), np.stack(whole.counted))
    for mine, theirs in zip(both.held_out, whole.held_out, strict=True):
        assert np.allclose(mine.sum(axis=1), theirs.sum(axis=1))
    assert both.squares == whole.squares
    known, refitted = (scores.p_values(log_p) for scores in (both, whole))
    assert np.abs(known - refitted).max() < 0.06
    assert known.mean() <= refitted.mean() + 1e-3


@pytest.mark.filterwarnings("ignore::naively.errors.LargestFitWarning")
@pytest.mark.parametrize("model", ["textbook", "auto"])
def test_merged_models_add_up_their_scores(model, tmp_path):
    X, y, _ = drawn(1200)
    parts = []
    for at in (slice(0, 600), slice(600, 1200)):
        nb = nv.NaiveBayes(model=model).fit(X[at], y[at])
        if model == "textbook":
            nb.conformalize(X[at], y[at])
        nb.predict_set(X[:1])
        nb.save(tmp_path / "part.parquet")
        parts.append(nv.load(tmp_path / "part.parquet"))
    merged, (asked, truth, _) = nv.merge(parts), drawn(1200, 9)
    assert np.allclose(tables_of(scores_of(merged)), sum(tables_of(scores_of(part)) for part in parts))
    assert 0.86 < merged.predict_set(asked)[np.arange(1200), truth].mean() < 0.94
    if model == "textbook":
        parts[0].fit(X, y)
        with pytest.raises(InvalidInput, match="no held-out scores"):
            nv.merge(parts).predict_set(X)


# -- the command line --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("uncertainty")
    X, y, _ = drawn(300)
    X.assign(kind=np.array(["low", "mid", "high"])[y]).to_csv(folder / "rows.csv", index=False)
    for name, options in (("scored", ["--conformalize"]), ("plain", [])):
        run("fit", folder / "rows.csv", "-t", "kind", "--cv", "0", "-q", "-o", folder / f"{name}.parquet", *options)
    return folder


def run(*arguments, fails=False):
    done = CliRunner().invoke(main, [str(one) for one in arguments], obj={})
    assert (done.exit_code != 0) == fails, done.output
    return done.output


def test_predict_writes_sets_and_intervals(files):
    rows, model = files / "rows.csv", files / "scored.parquet"
    run("predict", model, rows, "-o", files / "out.csv", "-p", "--set", "0.95", "--interval", "0.9", "-q")
    found, nb, X = pd.read_csv(files / "out.csv"), nv.load(model), pd.read_csv(rows)
    sets, (low, high) = nb.predict_set(X, 0.95), nb.predict_interval(X)
    answer = np.searchsorted(nb.classes_, found["answer"])
    assert found["set"].tolist() == [" | ".join(nb.classes_[row]) for row in sets]
    assert np.allclose(found["low"], low[np.arange(300), answer])
    assert np.allclose(found["high(mid)"], high[:, 2])
    assert ((found["low"] <= found["probability"]) & (found["probability"] <= found["high"])).all()
    run("predict", model, rows, "-o", files / "out.csv", "--reject", "0.2", "--interval", "venn-abers", "-q")
    found = pd.read_csv(files / "out.csv")
    assert 0 < found["answer"].isna().sum() < 300
    assert (found["answer"].isna() == found["low"].isna()).all()


def test_explain_and_show_say_what_is_certain(files):
    rows, model = files / "rows.csv", files / "scored.parquet"
    said = run("explain", model, rows, "--set", "0.99", "--by-class", "--interval", "0.8")
    assert "Classes that cannot be ruled out at level 0.99: " in said
    assert "0.8 interval" in said
    found = json.loads(run("explain", model, rows, "--json", "--set", "0.99", "--interval", "venn-abers"))
    assert set(found["set"]) <= set(found["probabilities"]) == set(found["intervals"])
    assert all(low <= high for low, high in found["intervals"].values())
    assert "Held-out scores of 300 rows, for --set and --interval." in run("show", model)
    for name, scored in (("scored", 300), ("plain", None)):
        assert json.loads(run("show", files / f"{name}.parquet", "--json"))["scored_rows"] == scored


def test_what_cannot_be_told_is_said(files):
    for command, model, options, said in (
        ("predict", "plain", ["--set", "0.9"], "naively fit --conformalize"),
        ("predict", "scored", ["--by-class"], "--set 0.9"),
        ("explain", "scored", ["--by-class"], "--set 0.9"),
        ("predict", "scored", ["--interval", "90"], "0<x<1"),
        ("predict", "scored", ["--set", "1"], "range"),
    ):
        assert said in run(command, files / f"{model}.parquet", files / "rows.csv", *options, fails=True)


def test_a_textbook_model_of_files_is_scored_by_reading_them_again(files):
    model = files / "textbook.parquet"
    run("fit", files / "rows.csv", "-t", "kind", "--model", "textbook", "-q", "--conformalize", "-o", model)
    X = pd.read_csv(files / "rows.csv")
    nb = nv.NaiveBayes(model="textbook").fit(X.drop(columns="kind"), X["kind"]).conformalize(X, target="kind")
    assert np.allclose(tables_of(scores_of(nv.load(model))), tables_of(scores_of(nb)))
