"""Single values adjusted: the fit is what it claims to be, pulls to naive Bayes, and stays beside the counts."""

import pickle
import warnings

import click.testing
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import LogisticRegression

import naively as nv
from naively import cli as commands
from naively.data.grid import Grid
from naively.errors import StaleWarning, UnreadableFile
from naively.model.lbfgs import minimize_lbfgs
from naively.model.recipe import RECIPE
from naively.model.refined.features import row_hashes, scaled_words
from naively.model.refined.fitting import fold_hashes
from naively.model.refined.model import RefinedModel
from naively.model.refined.offset_problem import (
    NaiveWeights,
    OffsetParameters,
    OffsetProblem,
    OffsetRows,
    value_statistics,
)

RNG = np.random.default_rng(7)


def table(rows=700, seed=1):
    """Return rows of three classes whose columns repeat each other, with missing values."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, rows)
    shown = np.where(rng.random(rows) < 0.6, y, rng.integers(0, 3, rows))
    X = pd.DataFrame({f"same {at}": np.array(list("pqr"))[shown] for at in range(4)})
    X["other"] = np.array(list("uvw"))[np.where(rng.random(rows) < 0.7, y, rng.integers(0, 3, rows))]
    X["noise"] = rng.choice(list("xyz"), rows)
    X["size"] = rng.normal(y + 0.3 * shown, 1.0)
    X["skewed"] = rng.exponential(1.0 + y)
    X.loc[::9, "same 1"] = None
    X.loc[::7, "size"] = np.nan
    return X, np.array(["a", "b", "c"])[y]


def texts(rows=400, words=120, seed=2):
    """Return bags of words of two classes: some words of each, said in bursts, and each in company of two others."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    rate = np.full((2, words), 0.04)
    rate[0, :15], rate[1, 15:30] = 0.12, 0.12
    x = rng.poisson(rate[y] * rng.gamma(0.5, 2.0, (rows, words)))
    x[:, 30:60] = x[:, 60:90] = x[:, :30]
    return sparse.csr_array(x.astype(np.float64)), np.array(["no", "yes"])[y]


X, Y = table()
WORDS, LABELS = texts()


def fitted(**settings):
    return nv.NaiveBayes(model="refined", **settings).fit(X, Y)


def loss_of(nb, x, y):
    """Return the log-loss of rows that the model was not shown."""
    return nv.Scores(nb.predict_proba(x), np.searchsorted(nb.classes_, y), nb.classes_).log_loss


# -- the fit -----------------------------------------------------------------------------------------------------------


def block(rows=60, values=9, kinds=2, classes=3):
    rng = np.random.default_rng(5)
    features = sparse.csr_array(rng.normal(size=(rows, values)) * (rng.random((rows, values)) < 0.5))
    weights = rng.integers(1, 4, rows).astype(float)
    return OffsetRows(features, rng.normal(size=(kinds, rows, classes)), rng.integers(0, classes, rows), weights)


def problem(one, ridge=0.7, scale=None):
    kinds, _, classes = one.naive.shape
    values = one.features.shape[1]
    seen = value_statistics(lambda: [one], values, classes, 1)
    scale = seen.scale(np.zeros(values, bool), RECIPE.offset_least_scale) if scale is None else scale
    naive = NaiveWeights.of(np.full(kinds, 0.6), np.ones(kinds), one, np.zeros((len(one.y), classes)))
    return OffsetProblem(lambda: [one], np.log(np.full(classes, 1 / classes)), naive, scale, ridge, seen, RECIPE)


def test_the_slope_is_the_slope_of_the_loss():
    made = problem(block())
    v = RNG.normal(size=2 + 3 + 9 * 3)
    steps = np.eye(len(v)) * 1e-6
    numeric = [(made.value(v + step)[0] - made.value(v - step)[0]) / 2e-6 for step in steps]

    assert_allclose(made.value(v)[1], numeric, rtol=1e-5, atol=1e-6)


def test_without_naive_bayes_it_is_logistic_regression():
    """A constant feature stands for the biases, whose ridge is another."""
    one, ridge = block(rows=200, kinds=0), 0.7
    made = problem(one, ridge, np.ones(9))
    start = np.zeros(3 + 9 * 3)
    v, _ = minimize_lbfgs(made.value, start, made.steps(), 500, 1e-15, 6)
    constant = np.full((200, 1), np.sqrt(ridge / RECIPE.offset_bias_ridge))
    peer = LogisticRegression(C=1 / ridge, fit_intercept=False, tol=1e-12, max_iter=10_000)
    peer.fit(np.hstack([one.features.toarray(), constant]), one.y, one.weights)

    found = made.named(v)
    assert_allclose(found.offsets.T, peer.coef_[:, :9], atol=1e-5)
    assert_allclose(found.bias, peer.coef_[:, 9] * constant[0], atol=1e-5)


def test_a_strong_ridge_leaves_naive_bayes_with_its_temperature():
    one = block(rows=150)
    made = problem(one, 1e9)
    start = OffsetParameters(np.ones(2), np.zeros(3), np.zeros((9, 3))).flat()
    v, _ = minimize_lbfgs(made.value, start, made.steps(), 500, 1e-15, 6)
    found = made.named(v)
    said = made.prior + np.einsum("t,tnk->nk", found.naive, one.naive)
    assert np.abs(found.offsets).max() < 1e-6
    assert_allclose(made.scores(one, found), said + found.bias, atol=1e-5)


def test_rows_cut_into_blocks_have_the_same_loss_and_slope():
    one = block()
    made = problem(one)
    parts = [one.take(slice(0, 25)), one.take(slice(25, 60))]
    v = RNG.normal(size=2 + 3 + 9 * 3)
    cut = OffsetProblem(lambda: parts, made.prior, made.naive, made.scale, made.ridge, made.seen, RECIPE)

    assert cut.value(v)[0] == pytest.approx(made.value(v)[0], rel=1e-12)
    assert_allclose(cut.value(v)[1], made.value(v)[1], rtol=1e-9, atol=1e-9)


def test_values_that_tell_classes_apart_move_more_easily():
    features = sparse.csr_array(np.array([[1.0, 1, 0], [1, 1, 0], [1, 0, 1], [1, 0, 1]]))
    one = OffsetRows(features, np.zeros((0, 4, 2)), np.array([0, 0, 1, 1]), np.ones(4))
    scale = value_statistics(lambda: [one], 3, 2, 1).scale(np.zeros(3, bool), RECIPE.offset_least_scale)

    assert scale[1] == pytest.approx(scale[2])
    assert scale[0] < scale[1] / 4


# -- what naive Bayes says of a row left out ---------------------------------------------------------------------------


def refined_model(nb):
    model = nb.fitted_.model
    assert isinstance(model, RefinedModel)
    return model


def test_words_of_a_row_left_out_are_those_of_a_model_without_it():
    nb = nv.NaiveBayes(model="refined").fit(WORDS, LABELS)
    model, y = refined_model(nb), (LABELS == "yes").astype(np.int32)
    (said,) = model._naive_left_out(model.read(nv_frame(nb), 0, len(y), 1), y, np.ones(len(y)), 1)
    for row in (0, 7, 123):
        rest = np.arange(len(y)) != row
        other = nv.NaiveBayes(model="textbook").fit(WORDS[rest], LABELS[rest])
        log_p = other.fitted_.model.textbook.likelihoods["X"].log_p
        expected = (scaled_words(WORDS[[row]]) @ log_p.T)[0]
        assert_allclose(said[row] - said[row].mean(), expected - expected.mean(), atol=1e-9)


def nv_frame(nb):
    from naively.data.frame import frame_of

    return frame_of(WORDS).on(nb.schema_)


def test_leaving_rows_out_is_what_the_fit_looked_at():
    nb = fitted()
    scores = nb.leave_one_out(X, Y)

    assert scores.log_loss < nv.NaiveBayes(model="textbook").fit(X, Y).leave_one_out(X, Y).log_loss
    rows = nb.predict_proba(X)
    assert -np.log(rows[np.arange(len(Y)), np.searchsorted(nb.classes_, Y)]).mean() < scores.log_loss


# -- what it is for ----------------------------------------------------------------------------------------------------


def test_columns_that_repeat_each_other_are_not_counted_again_and_again():
    X_new, y_new = table(seed=11)
    losses = {}
    for model in ("textbook", "refined"):
        nb = nv.NaiveBayes(model=model).fit(X, Y)
        losses[model] = loss_of(nb, X_new, y_new)

    assert losses["refined"] < losses["textbook"] - 0.1


def test_words_are_answered_better_than_by_the_textbook_model():
    x_new, y_new = texts(seed=21)
    losses = {}
    for model in ("textbook", "refined"):
        nb = nv.NaiveBayes(model=model).fit(WORDS, LABELS)
        losses[model] = loss_of(nb, x_new, y_new)

    assert losses["refined"] < losses["textbook"] - 0.1


def test_columns_that_are_independent_are_left_as_they_are():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 3000)
    independent = pd.DataFrame(
        {f"c{at}": np.where((rng.random(3000) < 0.7) == (y == 1), "yes", "no") for at in range(5)}
    )
    learn, ask = independent[:1500], independent[1500:]
    losses = []
    for model in ("textbook", "refined"):
        nb = nv.NaiveBayes(model=model).fit(learn, y[:1500])
        losses.append(loss_of(nb, ask, y[1500:]))

    assert losses[1] < losses[0] + 0.003


def test_labels_of_pure_chance_do_not_move():
    """Left out one by one, rows of the same rare label tell their classes apart; nothing may learn from that."""
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 4000)
    chance = pd.DataFrame({"id": np.char.add("v", rng.integers(0, 400, 4000).astype(str)), "size": rng.normal(y, 1.0)})
    nb = nv.NaiveBayes(model="refined").fit(chance[:2000], y[:2000])
    alone = nv.NaiveBayes(model="textbook").fit(chance[["size"]][:2000], y[:2000])

    assert loss_of(nb, chance[2000:], y[2000:]) < loss_of(alone, chance[["size"]][2000:], y[2000:]) + 0.01


# -- rows, in any order and of any weight ------------------------------------------------------------------------------


def test_the_order_of_rows_does_not_matter():
    order = RNG.permutation(len(Y))
    other = nv.NaiveBayes(model="refined").fit(X.iloc[order], Y[order])

    assert_allclose(fitted().predict_proba(X), other.predict_proba(X), atol=1e-6)
    order = RNG.permutation(len(LABELS))
    one, two = (nv.NaiveBayes(model="refined").fit(WORDS[at], LABELS[at]) for at in (np.arange(len(order)), order))
    assert_allclose(one.predict_proba(WORDS), two.predict_proba(WORDS), atol=1e-6)


def test_a_weight_of_two_is_two_rows_and_one_of_zero_none():
    weights = RNG.integers(0, 4, len(Y))
    often = np.repeat(np.arange(len(Y)), weights)
    one = nv.NaiveBayes(model="refined").fit(X, Y, sample_weight=weights.astype(float))
    two = nv.NaiveBayes(model="refined").fit(X.iloc[often], Y[often])

    assert one.tuning_.refined.ridge is not None
    assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-6)


def test_rows_alike_have_the_same_hash_wherever_they_stand():
    nb = fitted()
    model, again = refined_model(nb), pd.concat([X, X[::-1]])
    from naively.data.frame import frame_of

    hashed = fold_hashes(model, frame_of(again).on(nb.schema_), 1)
    assert_array_equal(hashed[: len(X)], hashed[len(X) :][::-1])
    assert len(np.unique(hashed)) > 0.9 * len(X.drop_duplicates())
    assert len(np.unique(row_hashes([WORDS]) % np.uint64(5))) == 5


# -- why ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"missing": "value"},
        {"unseen": "smooth"},
        {"estimate": "mle"},
        {"prior": "uniform"},
        {"temperature": 2.0},
        {"smoothing": "auto"},
        {"max_categories": 2},
        {"columns": ["same 1", "size"]},
        {"families": {"skewed": nv.Gaussian(), "same 2": nv.Categorical(spread="overall")}},
    ],
    ids=str,
)
def test_evidence_adds_up(settings):
    nb = fitted(**settings)
    asked = pd.concat([X[:50], X[:1].assign(**{"same 0": "never met"})])
    evidence = nb.explain(asked)

    assert_allclose(evidence.log_joint, nb.predict_joint_log_proba(asked), atol=1e-9)
    assert_allclose(evidence.probabilities, nb.predict_proba(asked), atol=1e-9)


@pytest.mark.parametrize("family", [nv.Words(), nv.Words(complement=True), nv.Bernoulli()], ids=repr)
def test_evidence_of_wide_columns_adds_up_too(family):
    nb = nv.NaiveBayes(model="refined", families={"X": family}).fit(WORDS, LABELS)
    evidence = nb.explain(WORDS[:30])

    assert_allclose(evidence.log_joint, nb.predict_joint_log_proba(WORDS[:30]), atol=1e-9)
    assert nb.score(WORDS, LABELS) > 0.75


def test_the_summary_tells_the_offsets_and_the_loss_with_them():
    nb = fitted()
    said = nb.summary().splitlines()[-2:]

    assert said[0].startswith("refined model: ")
    assert "values of 8 columns have offsets" in said[0]
    before, after = nb.tuning_.loss_before, nb.tuning_.loss_after
    assert after < before
    assert f"{before:.3g} by naive Bayes" in said[1]
    assert f"{after:.3g} with offsets of values" in said[1]


def test_one_row_as_a_dict_is_answered_as_in_a_table():
    nb = fitted()
    row = {name: None if value != value else value for name, value in X.iloc[3].to_dict().items()}

    assert_allclose(nb.predict_proba(row), nb.predict_proba(X.iloc[3:4]), atol=1e-12)


# -- beside the counts -------------------------------------------------------------------------------------------------


def test_counts_are_those_of_the_textbook_model():
    assert fitted().counts_ == nv.NaiveBayes(model="textbook").fit(X, Y).counts_


@pytest.mark.parametrize(("x", "y"), [(X, Y), (WORDS, LABELS)], ids=["table", "words"])
def test_it_comes_back_from_a_file_and_from_a_pickle(tmp_path, x, y):
    nb = nv.NaiveBayes(model="refined").fit(x, y).drop_rows()
    nb.save(tmp_path / "model.parquet")
    back = nv.load(tmp_path / "model.parquet")

    assert back.tuning_.refined.ridge == nb.tuning_.refined.ridge
    assert_array_equal(back.predict_proba(x), nb.predict_proba(x))
    assert_array_equal(pickle.loads(pickle.dumps(nb)).predict_proba(x), nb.predict_proba(x))
    assert back.summary() == nb.summary()
    back.save(tmp_path / "again.parquet")
    assert (tmp_path / "again.parquet").read_bytes() == (tmp_path / "model.parquet").read_bytes()


def test_adjustments_stand_in_the_file_as_rows(tmp_path):
    nb = fitted()
    nb.save(tmp_path / "model.parquet")
    rows = pd.read_parquet(tmp_path / "model.parquet")
    own = rows[rows["column"].astype(str) == "(refined) same 0"]
    moved = nb.tuning_.refined.offsets["same 0"]

    assert len(own) == moved.table.size
    for value, label, n in zip(own["value"], own["class"], own["n"], strict=True):
        at = moved.values.place(value), list(nb.classes_).index(label)
        assert n == moved.table[at[1], at[0]]


def test_adjustments_of_other_classes_are_refused(tmp_path, monkeypatch):
    nb = fitted()
    broken = nb.tuning_.refined.to_json() | {"bias": [0.0]}
    monkeypatch.setattr(type(nb.tuning_.refined), "to_json", lambda self: broken)
    nb.save(tmp_path / "model.parquet")

    with pytest.raises(UnreadableFile, match="bias"):
        nv.load(tmp_path / "model.parquet")


def test_rows_that_come_are_learned_from_once_they_are_more_than_one_in_twenty():
    nb = fitted()
    few, more = X[:5], X[: len(Y) // 10]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        offsets = nb.partial_fit(few, Y[:5]).fitted_.weights
        assert offsets is nb.tuning_.refined
        nb.partial_fit(more, Y[: len(more)])
        assert nb.calibrated_
    assert nb.fitted_.weights is not offsets
    whole = nv.NaiveBayes(model="refined").fit(pd.concat([X, few, more]), np.concatenate([Y, Y[:5], Y[: len(more)]]))
    assert_allclose(nb.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-9)


def test_rows_that_come_make_it_stale_if_none_are_kept_until_it_is_fitted_anew():
    nb = fitted().drop_rows()
    with pytest.warns(StaleWarning, match="The old offsets are still used"):
        nb.partial_fit(X[:5], Y[:5])
    assert not nb.calibrated_
    assert "rows or settings have changed" in nb.summary()
    nb.calibrate(pd.concat([X, X[:5]]), np.append(Y, Y[:5]))

    assert nb.calibrated_
    whole = nv.NaiveBayes(model="refined").fit(pd.concat([X, X[:5]]), np.append(Y, Y[:5]))
    assert_allclose(nb.predict_proba(X), whole.predict_proba(X), atol=1e-9)


def test_values_that_come_later_are_not_mistaken_for_others():
    nb = fitted().drop_rows()  # so that offsets stay
    before = nb.tuning_.refined.offsets["same 0"]
    with pytest.warns(StaleWarning):
        nb.partial_fit(X[:3].assign(**{"same 0": "a new first label"}), Y[:3])
    model = refined_model(nb)
    table_now = model._offsets_of(model.fit, model.offset_columns[0])

    assert not table_now[0].any()
    assert_array_equal(table_now[1:4].T, before.table)


def test_a_new_class_leaves_it_to_the_textbook_model():
    nb = fitted().drop_rows()
    with pytest.warns(StaleWarning):
        nb.partial_fit(X[:1], ["d"])
    assert not isinstance(nb.fitted_.model, RefinedModel)


def test_merged_models_are_the_model_of_all_rows():
    half = len(Y) // 2
    parts = [nv.NaiveBayes(model="refined").fit(X[at], Y[at]) for at in (slice(0, half), slice(half, None))]
    assert_allclose(nv.merge(parts).predict_proba(X), fitted().predict_proba(X), rtol=0, atol=1e-9)


def test_merged_models_that_keep_no_rows_are_the_textbook_model_until_calibrated():
    half = len(Y) // 2
    parts = [nv.NaiveBayes(model="refined").fit(X[at], Y[at]).drop_rows() for at in (slice(0, half), slice(half, None))]
    nb = nv.merge(parts)

    assert_allclose(nb.predict_proba(X), nv.NaiveBayes(model="textbook").fit(X, Y).predict_proba(X), atol=1e-12)
    assert_allclose(nb.calibrate(X, Y).predict_proba(X), fitted().predict_proba(X), atol=1e-9)


# -- where it cannot be ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "y", "why"),
    [
        ({"a": list("xyxyx")}, list("mnmnm"), "there are 5 rows"),
        ({"a": ["x"] * 80}, ["m"] * 80, "all rows are of one class"),
        (
            {"a": [str(at) for at in range(2000)]},
            [f"class {at % 1000}" for at in range(2000)],
            "there are 1,000 classes",
        ),
        (X, np.tile([0.2, 0.5, 0.3], (len(Y), 1)), "labels are soft"),
    ],
    ids=["five rows", "one class", "1,000 classes", "soft labels"],
)
def test_what_teaches_too_little_is_left_to_the_textbook_model(x, y, why):
    y = pd.DataFrame(y, columns=["a", "b", "c"]) if np.ndim(y) == 2 else y
    nb = nv.NaiveBayes(model="refined").fit(x, y)

    assert_allclose(nb.predict_proba(x), nv.NaiveBayes(model="textbook").fit(x, y).predict_proba(x), atol=1e-12)
    assert f"offsets of values were not fitted: {why}" in nb.summary()


def test_columns_that_contribute_nothing_do_no_harm():
    y = np.array(["m", "n"] * 60)
    nb = nv.NaiveBayes(model="refined").fit({"a": ["x"] * 120, "b": [1.0] * 120, "c": [None] * 120}, y)

    assert_allclose(nb.predict_proba({"a": "x", "b": 1.0, "c": None}), [[0.5, 0.5]], atol=1e-6)
    assert "no value has an offset" in nb.summary()


# -- folds and files ---------------------------------------------------------------------------------------------------


def test_each_fold_adjusts_anew():
    refined = nv.cross_validate(X, Y, model="refined", cv=3)

    assert refined.log_loss < nv.cross_validate(X, Y, cv=3, model="textbook").log_loss


def test_files_of_few_rows_are_fitted_as_tables_are(tmp_path):
    path = tmp_path / "rows.csv"
    X.assign(label=Y).to_csv(path, index=False)
    nb = nv.NaiveBayes(model="refined")
    done = nv.fit_files(nb, path, "label")

    assert done.rows == len(Y)
    assert_allclose(nb.predict_proba(X), fitted().predict_proba(X), atol=1e-9)


def test_larger_files_are_read_a_bounded_number_of_times(tmp_path, keep):
    X_all, y_all = table(6000)
    path = tmp_path / "rows.csv"
    X_all.assign(label=y_all).to_csv(path, index=False)
    keep(1000)
    told = []
    nb = nv.NaiveBayes(model="refined")
    nv.fit_files(nb, path, "label", progress=lambda rows, done, whole: told.append((rows, done, whole)))
    passes = sum(rows == len(y_all) for rows, _, _ in told)

    assert nb.tuning_.refined.passes == passes - 1 <= RECIPE.offset_passes + 1
    assert all(done <= whole for _, done, whole in told)
    whole = nv.NaiveBayes(model="refined").fit(X_all, y_all)
    X_new, y_new = table(seed=31)
    assert loss_of(nb, X_new, y_new) < loss_of(whole, X_new, y_new) + 0.01


def test_the_help_says_how_often_files_are_read():
    help_ = " ".join(click.testing.CliRunner().invoke(commands.main, ["fit", "--help"]).output.split())
    assert f"reads the file up to {RECIPE.offset_passes + 1} more times" in help_


def test_the_command_line_fits_it(tmp_path):
    path = tmp_path / "rows.csv"
    X.assign(label=Y).to_csv(path, index=False)
    how = [
        "fit",
        str(path),
        "--target",
        "label",
        "--model",
        "refined",
        "--cv",
        "3",
        "-o",
        str(tmp_path / "m.parquet"),
    ]
    done = click.testing.CliRunner().invoke(commands.main, how)

    assert done.exit_code == 0, done.output
    assert nv.load(tmp_path / "m.parquet").tuning_.refined is not None


def test_a_grid_without_numbers_is_empty():
    nb = nv.NaiveBayes(model="refined").fit(WORDS, LABELS)

    assert nb.tuning_.refined.grid == Grid((), ())
