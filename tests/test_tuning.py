"""What is chosen on top of the counts: smoothing and temperature, judged by leaving each row out."""

import copy
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from palmerpenguins import load_penguins
from scipy.optimize import minimize_scalar
from sklearn.base import clone

import naively as nv
from naively import NaiveBayes, StaleWarning
from naively.errors import InvalidInput, InvalidSetting
from naively.estimator.fitted_classifier import FittedClassifier
from naively.model.recipe import RECIPE
from naively.model.scorer import softened
from naively.model.tuning import LEAST_SCALE, CalibrationRows, fit_calibration

from .table_cases import KINDS, LABELS, WEIGHTS
from .tables import book


def retune(nb, tuning):
    """Give a fitted classifier this tuning, under its settings as they are."""
    state = nb.fitted_.state
    nb.fitted_ = FittedClassifier(nb.parameters, state.tuned(tuning, nb.parameters))
    return nb


each_kind = pytest.mark.parametrize("kind", KINDS)


def redundant(rows, seed=0, copies=6):
    """Return a table whose columns all say the same, and the classes: certainty that the rows do not bear out."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, rows)
    said = np.where(rng.random(rows) < 0.5, y, rng.integers(0, 3, rows))
    size = y + rng.normal(0, 2, rows)
    table = {f"said{i}": np.char.add("v", said.astype(str)) for i in range(copies)} | {
        f"size{i}": size for i in range(3)
    }
    return pd.DataFrame(table), np.array(["a", "b", "c"])[y]


FRAME, Y = redundant(600)
NEW, NEW_Y = redundant(4_000, seed=1)


def learned(kind, weights=None, **settings):
    table, families = KINDS[kind]
    return book(families=families, **settings).fit(table, LABELS, sample_weight=weights), table


def loss(nb, X, y, weights=None):
    return nb.leave_one_out(X, y, sample_weight=weights).log_loss


# -- a scale and biases for log joints ---------------------------------------------------------------------------------


def log_joints(rows, classes, seed=0):
    """Return log joints that are three times too sure and off by a bias, and classes drawn from the honest ones."""
    rng = np.random.default_rng(seed)
    honest = rng.normal(0, 1.5, (rows, classes))
    p = np.exp(honest) / np.exp(honest).sum(axis=1, keepdims=True)
    truth = (p.cumsum(axis=1) > rng.random((rows, 1))).argmax(axis=1).astype(np.int32)
    return 3 * (honest + np.linspace(-1, 1, classes)), truth


def test_the_scale_and_the_biases_are_found():
    """Log joints three times too sure, with classes favoured: a third, and the favours taken back."""
    fit = fit_calibration(CalibrationRows.of(*log_joints(20_000, 4)))

    assert fit.scale == pytest.approx(1 / 3, rel=0.05)
    assert_allclose(fit.bias - fit.bias.mean(), -np.linspace(-1, 1, 4), atol=0.1)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("rows", "classes"), [(1, 2), (5, 3), (30, 2), (400, 5)])
def test_a_fit_is_where_nothing_near_is_better(seed, rows, classes):
    """The scale alone is the one that a search over all scales finds, and pays no more than leaving all as it is."""
    joint, truth = log_joints(rows, classes, seed)
    rated = CalibrationRows.of(joint, truth)

    fit = fit_calibration(rated, biased=False)

    found = minimize_scalar(
        lambda log: rated.loss(np.exp(log)) + log**2 / 2,
        bounds=(np.log(LEAST_SCALE), np.log(10)),
        method="bounded",
    )
    assert fit.penalized_loss <= found.fun + 1e-9
    assert fit.bias is None
    assert fit_calibration(rated).penalized_loss <= fit.penalized_loss <= rated.loss()


# -- calibrate ---------------------------------------------------------------------------------------------------------


@pytest.mark.pairwise
@each_kind
@pytest.mark.parametrize("estimate", ["bayes", "map", "mle"])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weighted"])
def test_calibration_never_makes_the_loss_worse(kind, estimate, weights):
    """For every family and estimate, missing values and a class of one row among them."""
    if (kind, estimate) == ("labels, overall", "map"):
        pytest.skip("an m-estimate has no mode")
    nb, table = learned(kind, weights, estimate=estimate)
    before = loss(nb, table, LABELS, weights)

    after = loss(nb.calibrate(table, LABELS, sample_weight=weights), table, LABELS, weights)

    assert after <= before + 1e-9
    assert nb.tuning_.loss_before == pytest.approx(before, rel=1e-6)
    assert nb.tuning_.loss_after == pytest.approx(after, rel=1e-6)


@each_kind
def test_calibrated_evidence_adds_up(kind):
    """To the log joint of the calibrated model, and every answer goes the same way."""
    nb, table = learned(kind)
    plain = nb.predict_joint_log_proba(table)
    nb.calibrate(table, LABELS)
    retune(nb, replace(nb.tuning_, scale=0.4, bias=np.array([0.3, -0.2, 0.5])))  # biases, which so few rows do not buy

    evidence = nb.explain(table)
    joint = nb.predict_joint_log_proba(table)

    assert_allclose(joint, nb.tuning_.scale * plain + nb.tuning_.bias, rtol=1e-9, atol=1e-9)
    assert_allclose(evidence.base + evidence.scores.sum(axis=1), joint, rtol=1e-9, atol=1e-9)
    assert_allclose(evidence.probabilities, nb.predict_proba(table), rtol=1e-9, atol=1e-12)
    assert_allclose(np.exp(nb.predict_log_proba(table)), nb.predict_proba(table), rtol=1e-9, atol=1e-12)
    assert_array_equal(nb.classes_[evidence.answer], nb.predict(table))
    assert_array_equal(nb.predict(table), nb.classes_[nb.predict_proba(table).argmax(axis=1)])


def test_fractions_say_what_becomes_of_the_products():
    """The arithmetic of the textbook model stays as it is; the last line says the power and the factors."""
    nb, table = learned("labels")
    row = {"colour": "red", "shape": "flat"}
    before = nb.explain(row).fractions()
    nb.calibrate(table, LABELS)
    retune(nb, replace(nb.tuning_, scale=0.5, bias=np.array([0.0, np.log(2), 0.0])))
    evidence = nb.explain(row)

    *lines, last = evidence.fractions().splitlines()
    assert sorted(lines) == sorted(before.splitlines())
    assert last == "calibrated: each to the power 0.5, then times 1 for a, 2 for b, 1 for c"
    products = {}
    for line in lines:
        label, product = line.split("  ")
        products[label] = eval(product.replace("·", "*"))
    p = np.array([products[k] ** 0.5 for k in "abc"]) * [1, 2, 1]
    assert_allclose(nb.predict_proba(row)[0], p / p.sum(), rtol=1e-9)
    assert str(evidence).splitlines()[0].endswith(", softened by 2")


def test_held_out_rows_are_asked_as_they_are():
    """Rows that were never counted: the fit is that of their log joints, and weights stand for rows."""
    nb = book().fit(FRAME, Y)
    joint = nb.predict_joint_log_proba(NEW[:900])
    weights = np.where(np.arange(900) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(900), weights.astype(int))
    nb.calibrate(NEW[:900], NEW_Y[:900], sample_weight=weights, held_out=True)
    fit = fit_calibration(CalibrationRows.of(joint, nb.classes_.searchsorted(NEW_Y[:900]).astype(np.int32), weights))
    other = book().fit(FRAME, Y).calibrate(NEW.iloc[twice], NEW_Y[twice], held_out=True)

    assert nb.tuning_.scale == pytest.approx(fit.scale, rel=1e-9)
    assert nb.temperature_ == pytest.approx(other.temperature_, rel=1e-9)
    assert "on held-out rows" in nb.summary()
    again = NaiveBayes.from_counts(nb.counts_, nb.schema_).calibrate(NEW[:900], NEW_Y[:900], held_out=True)
    assert again.calibrated_


def test_calibrate_and_temperature_auto_are_one():
    by_hand = book(smoothing="auto").fit(FRAME, Y).calibrate(FRAME, Y)
    at_once = book(smoothing="auto", temperature="auto").fit(FRAME, Y)

    assert by_hand.smoothing_ == at_once.smoothing_
    assert_array_equal(by_hand.predict_proba(NEW), at_once.predict_proba(NEW))


def test_a_temperature_may_be_set_by_hand():
    """It acts at once, without rows, and goes before one that was fitted; density and counts stay as they are."""
    nb = book().fit(FRAME, Y)
    joint, density = nb.predict_joint_log_proba(NEW[:50]), nb.score_samples(NEW[:50])
    nb.calibrate(FRAME, Y).temperature = 4.0

    assert nb.temperature_ == 4.0
    assert_allclose(nb.predict_joint_log_proba(NEW[:50]), joint / 4, rtol=1e-12)
    assert_allclose(nb.score_samples(NEW[:50]), density, rtol=1e-12)
    with pytest.raises(InvalidSetting, match=r"temperature=4\.0 is set by hand"):
        nb.calibrate(FRAME, Y)


# -- fresh and stale ---------------------------------------------------------------------------------------------------

CHANGES = {
    "partial_fit": lambda nb: nb.partial_fit(FRAME[:5], Y[:5]),
    "one row": lambda nb: nb.partial_fit(FRAME[:1].to_dict("records")[0], Y[0]),
    "forget": lambda nb: nb.forget(FRAME[:5], Y[:5]),
    "smoothing": lambda nb: nb.set_params(smoothing=3.0).predict(FRAME[:1]),
    "prior": lambda nb: nb.set_params(prior="uniform").predict(FRAME[:1]),
    "columns": lambda nb: nb.set_params(columns=["said0"]).predict(FRAME[:1]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_the_model_makes_its_calibration_stale_with_one_warning(change):
    """The old temperature is still used; calibrating again makes it fresh."""
    nb = book().fit(FRAME, Y).calibrate(FRAME, Y)
    temperature = nb.temperature_
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            CHANGES[change](nb)
            nb.predict(FRAME[:2])

    assert [w.category for w in caught] == [StaleWarning]
    assert caught[0].filename == __file__
    assert "have changed since the model was calibrated" in str(caught[0].message)
    assert not nb.calibrated_
    assert nb.temperature_ == temperature
    assert "; rows or settings have changed since" in nb.summary()
    if change in ("smoothing", "prior", "columns"):
        assert nb.calibrate(FRAME, Y).calibrated_


@pytest.mark.parametrize("settings", [{"smoothing": "auto"}, {"temperature": "auto"}, {"temperature": 2.5}], ids=str)
@pytest.mark.parametrize("way", ["file", "pickle", "copy", "deepcopy"])
def test_what_was_chosen_is_kept(settings, way, tmp_path):
    """In files and copies; a clone starts anew."""
    nb = book(**settings).fit(FRAME, Y)
    nb.save(tmp_path / "nb", rows=nb.kept_rows_.rows > 0)
    ways = {"pickle": lambda: pickle.loads(pickle.dumps(nb)), "copy": lambda: copy.copy(nb)}
    ways |= {"file": lambda: nv.load(tmp_path / "nb"), "deepcopy": lambda: copy.deepcopy(nb)}
    again = ways[way]()

    assert again.get_params() == nb.get_params() == clone(nb).get_params()
    assert (again.smoothing_, again.temperature_) == (nb.smoothing_, nb.temperature_)
    assert again.calibrated_ == nb.calibrated_ == ("auto" in settings.values() and "temperature" in settings)
    assert_array_equal(again.predict_proba(NEW), nb.predict_proba(NEW))
    assert again.summary() == nb.summary()


# -- smoothing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"estimate": "map"}, {"missing": "value"}, {"unseen": "smooth"}], ids=str)
@pytest.mark.parametrize("column", ["said0", "size0"])
@pytest.mark.parametrize("rows", [12, 60, 600])
def test_the_smoothing_of_one_column_is_the_best_of_the_grid(column, rows, settings):
    """As trying every λ by hand and leaving each row out."""
    X, y = FRAME[[column]][:rows], Y[:rows]
    nb = book(smoothing="auto", **settings).fit(X, y)
    grid = [by for by in RECIPE.smoothing_grid if by >= 1 or "estimate" not in settings]

    losses = [loss(book(smoothing=by, **settings).fit(X, y), X, y) for by in grid]
    best = grid[int(np.argmin(np.round(losses, 12)))]
    assert nb.smoothing_ == best
    assert nb.tuning_.loss_after == pytest.approx(min(losses), rel=1e-9)
    assert_array_equal(nb.predict_proba(X), book(smoothing=best, **settings).fit(X, y).predict_proba(X))


def test_the_summary_says_what_was_chosen():
    nb = book(smoothing="auto", temperature="auto").fit(FRAME[["said0", "said1"]], Y)
    lines = nb.summary().splitlines()[-3:]

    assert lines[0].startswith("smoothing: ")
    assert lines[1].startswith("calibrated: probabilities are softened by ")
    assert lines[2].startswith("with that, the log loss of 600 rows is ")
    assert (softened(0.5), softened(2.0)) == ("softened by 2", "sharpened by 2")
    assert (
        "smoothing: 1, for there were no rows"
        in NaiveBayes.from_counts(nb.counts_, smoothing="auto", model="textbook").summary()
    )
    assert "smoothing" not in book().fit(FRAME, Y).summary()


# -- hostile input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("temperature", [0, -1.0, np.nan, np.inf, 1e9, "hot", True, [2.0], b"auto"], ids=repr)
def test_a_temperature_that_is_none_is_refused(temperature):
    with pytest.raises(InvalidSetting, match=r"temperature=.* must be a number from 0\.01 to 1000, 'auto' or None"):
        book(temperature=temperature).fit(FRAME, Y)


def test_there_is_nothing_to_choose_without_smoothing():
    with pytest.raises(InvalidSetting, match="smoothing='auto' has nothing to choose"):
        book(smoothing="auto", estimate="mle").fit(FRAME, Y)
    with pytest.raises(InvalidSetting, match="prior_smoothing='auto' must be one number"):
        book(prior_smoothing="auto").fit(FRAME, Y)


def test_rows_that_were_never_counted_are_refused():
    nb = book().fit(FRAME, Y)
    with pytest.raises(InvalidInput, match=r"some of these rows were never counted.* value 'new' the count is 0"):
        nb.calibrate(FRAME.assign(said0="new"), Y)
    with pytest.raises(InvalidInput, match="class 'z' the number of rows is 0"):
        nb.calibrate(FRAME, ["z"] * len(Y))
    with pytest.raises(InvalidInput, match="single row"):
        book().fit({"x": [1.0]}, ["a"]).calibrate({"x": [1.0]}, ["a"])
    assert not nb.calibrated_


def test_the_default_refuses_to_calibrate_with_rows_that_were_never_counted():
    birds = load_penguins().dropna().drop_duplicates()
    X, y = birds.drop(columns="species"), birds.species
    nb = nv.NaiveBayes().fit(X[:250], y[:250])
    with pytest.raises(
        InvalidInput, match=r"^Row 0 was never counted.*To learn from these rows, too: partial_fit"
    ) as e:
        nb.calibrate(X[250:], y[250:])
    assert e.value.row == 0
    before = nb.predict_proba(X)
    assert np.allclose(nb.calibrate(X[:250], y[:250]).predict_proba(X), before, rtol=0, atol=1e-7)
