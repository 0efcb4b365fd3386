"""Whatever comes in, there is a right answer or one clear error, and a fitted classifier survives it unchanged."""

import pickle
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import NotFittedError

from naively.errors import InvalidInput, InvalidSetting, NumberTooLarge
from naively.sklearn import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB

ALL = [GaussianNB, MultinomialNB, ComplementNB, BernoulliNB, CategoricalNB]
WIDE = [MultinomialNB, ComplementNB, BernoulliNB]
DENSE = [GaussianNB, CategoricalNB]

ROWS = np.random.default_rng(0).integers(0, 4, (12, 3)).astype(float)
CLASSES = np.arange(12) % 2

each_of_all = pytest.mark.parametrize("classifier", ALL)
each_wide = pytest.mark.parametrize("classifier", WIDE)


def refused(words, error=ValueError):
    """Expect an error that says this."""
    return pytest.raises(error, match=words)


def answer(classifier, X=ROWS, y=CLASSES, **parameters):
    return classifier(**parameters).fit(X, y).predict_joint_log_proba(X)


def with_cell(value, dtype=float):
    X = ROWS.astype(dtype)
    X[3, 1] = value
    return X


# -- rows that are refused ---------------------------------------------------------------------------------------------


def old_matrix():
    """Return rows in NumPy's class of old, which warns of itself, and would so end the collection of this file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return np.matrix(ROWS)


REFUSED_ROWS = {
    "one dimension": (ROWS[:, 0], "Expected 2D array, got 1D array instead"),
    "three dimensions": (ROWS[None], "Found array with dim 3"),
    "a number": (3.0, "Expected 2D array, got scalar array instead"),
    "nothing": (None, "Expected 2D array, got None instead"),
    "no rows": (ROWS[:0], r"Found array with 0 sample\(s\)"),
    "an empty list": ([], "Expected 2D array, got 1D array instead"),
    "no columns": (ROWS[:, :0], r"Found array with 0 feature\(s\)"),
    "rows of different length": ([[1, 2], [3]], "inhomogeneous shape"),
    "a hole": (with_cell(np.nan), "Input X contains NaN"),
    "a hole in objects": (with_cell(None, object), "NaN|not 'NoneType'"),
    "infinity": (with_cell(np.inf), "Input X contains infinity"),
    "minus infinity": (with_cell(-np.inf), "Input X contains infinity"),
    "texts": (np.full((12, 3), "red"), "not compatible with arrays of bytes/strings|X holds texts: .*OrdinalEncoder"),
    "texts in objects": (with_cell("red", object), "could not convert string to float: 'red'|X holds texts: .*'red'"),
    "texts in a frame": (pd.DataFrame({"a": ["red"] * 12}), "could not convert string|X holds texts"),
    "objects": (with_cell({}, object), "argument must be a string.* or a real number, not 'dict'"),
    "complex numbers": (ROWS + 1j, "Complex data not supported"),
    "hidden cells": (np.ma.masked_array(ROWS, ROWS == 1), "X is a masked array with hidden cells"),
    "a matrix of old": (old_matrix(), "np.matrix is not supported"),
    "dates": (np.full((12, 1), "2026-11-01", "M8[D]"), r"X holds dates or times \(datetime64\[D\]\)"),
    "dates in a frame": (pd.DataFrame({"a": pd.date_range("2026", periods=12), "b": 1}), "X holds dates or times"),
    "times between": (np.full((12, 1), 5, "m8[s]"), r"X holds dates or times \(timedelta64\[s\]\)"),
}


@each_of_all
@pytest.mark.parametrize("kind", REFUSED_ROWS)
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.filterwarnings("ignore:X has feature names:UserWarning")
def test_rows_that_cannot_be_counted_are_refused(classifier, kind):
    """The error says what was found; TypeError where scikit-learn's contract asks for it."""
    X, words = REFUSED_ROWS[kind]
    nb = classifier()

    with refused(words, (ValueError, TypeError)):
        nb.fit(X, CLASSES)
    assert vars(nb) == vars(classifier())
    with refused(words + "|X has . features?, but", (ValueError, TypeError)):
        classifier().fit(ROWS, CLASSES).predict(X)


@each_of_all
def test_nothing_can_be_asked_before_fitting(classifier):
    """Answers and attributes of a classifier that has learned nothing are a NotFittedError."""
    for ask in ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba"):
        with refused(f"This {classifier.__name__} instance is not fitted yet", NotFittedError):
            getattr(classifier(), ask)(ROWS)
    with refused("not fitted yet", AttributeError):
        classifier().class_count_  # noqa: B018
    assert not hasattr(classifier(), "class_count_")


# -- numbers at the edge -----------------------------------------------------------------------------------------------


def test_numbers_too_large_to_square_name_their_column():
    """GaussianNB refuses 1e151 in training, also where a weight makes it so, and clamps when predicting."""
    with refused(r"Column 1 holds 1e\+151; numbers beyond ±1e150 cannot be squared and summed", NumberTooLarge):
        GaussianNB().fit(with_cell(1e151), CLASSES)
    with refused(r"Column 1 holds 1e\+100 in rows that weigh up to 1e\+120; .* Rescale", InvalidInput):
        GaussianNB().fit(with_cell(1e100), CLASSES, np.full(12, 1e120))

    answers = GaussianNB().fit(ROWS, CLASSES).predict_proba([[1e308, 0, 0], [-1e308, 1e300, 1e308]])
    assert_allclose(answers.sum(axis=1), 1.0)


@pytest.mark.parametrize("classifier", [MultinomialNB, ComplementNB])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_counts_too_large_to_sum_are_refused(classifier, kind):
    """Beyond 1e290 sums of counts would be infinite, and differences of them no number."""
    with refused(r"X holds 1e\+308; counts beyond 1e\+290 cannot be summed", InvalidInput):
        classifier().fit(kind(with_cell(1e308)), CLASSES)
    with refused("cannot be summed", InvalidInput):
        classifier().fit(kind(ROWS), CLASSES).predict(kind(with_cell(1e308)))
    assert np.isfinite(answer(classifier, kind(with_cell(1e280)))).all()


@pytest.mark.parametrize("code", [10**12, 10**9, 2**62])
def test_codes_that_are_no_codes_are_refused(code):
    """A table as long as the largest code would not fit into memory: the error names column, code and remedy."""
    nb = CategoricalNB().fit(ROWS, CLASSES)

    with refused(r"Column 1 has \d+ codes; a table that long would not fit. .* use .*OrdinalEncoder", InvalidInput):
        nb.partial_fit(with_cell(code, np.int64), CLASSES)
    assert nb.n_categories_.max() == 4
    assert_allclose(nb.predict_proba(with_cell(code, np.int64)).sum(axis=1), 1.0)  # to ask about it is harmless


# -- rows in odd clothes -----------------------------------------------------------------------------------------------

WIDER = np.zeros((24, 6))
WIDER[::2, ::2] = ROWS
READ_ONLY = ROWS.copy()
READ_ONLY.flags.writeable = False

SAME_ROWS = {
    "lists": ROWS.tolist(),
    "tuples": tuple(map(tuple, ROWS.tolist())),
    "column by column": np.asfortranarray(ROWS),
    "every second cell": WIDER[::2, ::2],
    "backwards": ROWS[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": READ_ONLY,
    "objects": ROWS.astype(object),
    "a frame": pd.DataFrame(ROWS),
    "a frame of small integers": pd.DataFrame(ROWS).astype("int8"),
    "a frame of nullable integers": pd.DataFrame(ROWS).astype("Int64"),
    "a frame of categories": pd.DataFrame(ROWS).astype("category"),
    "masked, but nothing hidden": np.ma.masked_array(ROWS),
    **{f"type {kind}": ROWS.astype(kind) for kind in ("f2", "f4", "g", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")},
    **{f"foreign bytes {kind}": ROWS.astype(kind) for kind in (">f4", ">f8", ">i2", ">i4", ">i8", ">u8")},
}


@each_of_all
@pytest.mark.parametrize("kind", SAME_ROWS)
def test_the_same_rows_in_other_clothes_give_the_same_answers(classifier, kind):
    """Layout and type of a matrix do not matter."""
    assert_allclose(answer(classifier, SAME_ROWS[kind]), answer(classifier), rtol=1e-6, atol=1e-6)


def astray(array):
    """Return a copy that begins one byte after where its type should, as a view into a file may."""
    array = np.asarray(array)
    copy = np.frombuffer(b"." + array.tobytes(), array.dtype, offset=1).reshape(array.shape)
    assert not copy.flags.aligned
    return copy


@each_of_all
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_arrays_astray_in_memory_are_read(classifier, dtype):
    """Rows, labels and weights may lie anywhere in memory."""
    y, weights = CLASSES.astype(dtype), np.linspace(1, 2, 12)
    wanted = classifier().fit(ROWS, y, weights)
    for nb in (
        classifier().fit(astray(ROWS), astray(y), astray(weights)),
        classifier().partial_fit(astray(ROWS), astray(y), astray([0, 1]), astray(weights)),
    ):
        assert_array_equal(nb.predict_proba(astray(ROWS)), wanted.predict_proba(ROWS))


# -- sparse matrices ---------------------------------------------------------------------------------------------------


@each_wide
@pytest.mark.parametrize("form", ["csr", "csc", "coo", "dia", "lil", "dok", "bsr"])
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_matrices_of_every_form_are_read(classifier, form, kind):
    """Arrays and matrices of SciPy in any form give what their dense form gives."""
    assert_allclose(answer(classifier, kind(ROWS).asformat(form)), answer(classifier), rtol=1e-12)


@pytest.mark.parametrize("classifier", DENSE)
def test_sparse_rows_are_refused_where_zeros_matter(classifier):
    """GaussianNB and CategoricalNB need dense rows, and say so."""
    with refused("Sparse data was passed for X, but dense data is required", TypeError):
        classifier().fit(sparse.csr_array(ROWS), CLASSES)


@each_wide
@pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
@pytest.mark.parametrize(("part", "value"), [("indices", 10**6), ("indices", -1), ("indptr", 10**6), ("indptr", -7)])
def test_indices_outside_the_shape_are_refused(classifier, form, part, value):
    """A sparse matrix put together wrongly is an error; nothing is read or written beyond its arrays."""
    X = sparse.csr_array(ROWS).asformat(form)
    getattr(X, part)[1] = value
    nb = classifier().fit(ROWS, CLASSES)

    with refused("The sparse matrix X has indices outside its shape", InvalidInput):
        nb.partial_fit(X, CLASSES)
    with refused("indices outside its shape", InvalidInput):
        nb.predict(X)


# -- labels ------------------------------------------------------------------------------------------------------------

REFUSED_LABELS = {
    "none at all": (None, "requires y to be passed"),
    "measurements": (CLASSES + np.linspace(0.1, 0.9, 12), "Unknown label type: continuous"),
    "holes": (np.where(CLASSES, np.nan, 1.0), "Input y contains NaN"),
    "infinity": (np.where(CLASSES, np.inf, 1.0), "Input y contains infinity"),
    "several for each row": (np.c_[CLASSES, 1 - CLASSES], r"y should be a 1d array, got an array of shape \(12, 2\)"),
    "texts and numbers": ([1, "a"] * 6, "labels must be all numbers or all texts; found objects of type int, str"),
    "texts and numbers in objects": (np.array([1, "a"] * 6, object), "all numbers or all texts; found .* int, str"),
    "texts and nothing": (np.array(["a", None] * 6, object), "all texts; found objects of type NoneType, str"),
    "texts and holes": (np.array(["a", np.nan] * 6, object), "Input y? ?contains NaN|found .* float, str"),
    "pairs": ([(1, 2), (3, 4)] * 6, "y should be a 1d array"),
    "one text": ("abababababab", "y should be a 1d array"),
    "complex numbers": (CLASSES + 1j, "Complex data not supported"),
    "hidden": (np.ma.masked_array(CLASSES, CLASSES == 1), "y is a masked array with hidden cells"),
    "sparse": (sparse.csr_array(CLASSES[None]), "Sparse data was passed for y"),
    "bytes": (np.array([b"a", b"b"] * 6), "Labels represented as bytes are not supported"),
}


@each_of_all
@pytest.mark.parametrize("kind", REFUSED_LABELS)
def test_labels_that_are_no_classes_are_refused(classifier, kind):
    """The error says what was found."""
    y, words = REFUSED_LABELS[kind]

    with refused(words, (ValueError, TypeError)):
        classifier().fit(ROWS, y)


@each_of_all
@pytest.mark.parametrize(
    ("classes", "words"),
    [
        (None, "classes must be passed on the first call to partial_fit"),
        ([], r"`classes=\[\]` must list all classes that will ever come"),
        (2, "`classes=2` must list all classes"),
        ([[0, 1]], "must list all classes"),
        ("ab", "`classes='ab'` must list all classes"),
        ([0, "a"], "labels must be all numbers or all texts"),
        (np.array([0, "a"], object), "labels must be all numbers or all texts"),
        ([0, np.nan], "The labels contain NaN or infinity"),
        ([0, 1, 2.5], "Unknown label type"),
    ],
)
def test_declared_classes_must_be_classes(classifier, classes, words):
    """What is declared at the first batch must be a list of labels."""
    with refused(words):
        classifier().partial_fit(ROWS, CLASSES, classes=classes)


# -- weights -----------------------------------------------------------------------------------------------------------

REFUSED_WEIGHTS = {
    "negative": (
        np.where(np.arange(12) == 4, -2.0, 1.0),
        r"sample_weight\[4\] is -2; a row weighs a finite number of 0 or more",
    ),
    "holes": (np.full(12, np.nan), "Input sample_weight contains NaN"),
    "infinite": (np.full(12, np.inf), "Input sample_weight contains infinity"),
    "nothing at all": (np.zeros(12), "Sample weights must contain at least one non-zero number"),
    "too many": (np.ones(13), r"sample_weight.shape == \(13,\), expected \(12,\)!"),
    "a table": (np.ones((12, 1)), "Sample weights must be 1D array or scalar, got 2D array"),
    "texts": (["a"] * 12, "could not convert string to float"),
    "too heavy": (
        np.full(12, 1e308),
        r"sample_weight\[0\] is 1e\+308; a row weighs a finite number of 0 or more, up to 1e\+150",
    ),
    "hidden": (np.ma.masked_array(np.ones(12), CLASSES == 1), "sample_weight is a masked array with hidden cells"),
}


@each_of_all
@pytest.mark.parametrize("kind", REFUSED_WEIGHTS)
def test_weights_that_rows_cannot_have_are_refused(classifier, kind):
    """The error says what was found."""
    weights, words = REFUSED_WEIGHTS[kind]

    with refused(words):
        classifier().fit(ROWS, CLASSES, sample_weight=weights)


# -- parameters --------------------------------------------------------------------------------------------------------


@each_of_all
@pytest.mark.parametrize(
    ("prior", "words"),
    [
        ([0.5, 0.6], r"The sum of the priors should be 1. Found 1.1"),
        ([-0.5, 1.5], "Priors must be non-negative. Found -0.5"),
        ([1.0], "Number of priors must match number of classes. Found 1 for 2 classes"),
        ([0.2, 0.3, 0.5], "Number of priors must match number of classes. Found 3 for 2 classes"),
        ([[0.5, 0.5]], "Number of priors must match number of classes"),
        ([np.nan, 1.0], "Priors must be non-negative|The sum of the priors should be 1"),
        (["a", "b"], "could not convert string to float"),
        (3, "parameter of .* must be an array-like or None. Got 3 instead"),
    ],
)
def test_priors_must_be_probabilities(classifier, prior, words):
    """The error says what was found."""
    name = "priors" if classifier is GaussianNB else "class_prior"

    with refused(words):
        classifier(**{name: prior}).fit(ROWS, CLASSES)


@pytest.mark.parametrize(
    ("alpha", "words"),
    [
        (-1, "The 'alpha' parameter of .* must be a float in the range"),
        (np.nan, "The 'alpha' parameter of .* must be a float in the range"),
        ([1.0, 2.0], r"When alpha is an array, it should contains `n_features`. Got shape \(2,\) instead of \(3,\)"),
        ([[1.0, 2.0, 3.0]], r"Got shape \(1, 3\) instead of \(3,\)"),
        ([1.0, -2.0, 3.0], "All values in alpha must be greater than 0"),
        ([1.0, np.nan, 3.0], "All values in alpha must be greater than 0"),
        ([1.0, np.inf, 3.0], "must be finite"),
        (["a", "b", "c"], "could not convert string to float"),
    ],
)
@each_wide
def test_smoothing_must_be_numbers(classifier, alpha, words):
    """The error says what was found, when fitting and not later."""
    with refused(words):
        classifier(alpha=alpha).fit(ROWS, CLASSES)


def test_flags_outside_0_and_1_are_refused():
    """With binarize=None the cells must be flags already; the error says which there are."""
    with refused("needs cells between 0 and 1; found 0 to 3. Set binarize", InvalidInput):
        BernoulliNB(binarize=None).fit(ROWS, CLASSES)
    with refused("needs cells between 0 and 1", InvalidInput):
        BernoulliNB(binarize=None).fit(ROWS > 1, CLASSES).predict(sparse.csr_array(ROWS))


def test_min_categories_must_be_whole_numbers():
    """The error says what was found; fewer than there are is no error."""
    with refused("'min_categories' should have integral type. Got float64 instead", InvalidSetting):
        CategoricalNB(min_categories=[5.0, 5.0, 5.0]).fit(ROWS, CLASSES)
    with refused(r"should have shape \(3,\) when an array-like is provided. Got \(2,\)", InvalidSetting):
        CategoricalNB(min_categories=[5, 5]).fit(ROWS, CLASSES)
    assert_array_equal(CategoricalNB(min_categories=[-5, 1, 9]).fit(ROWS, CLASSES).n_categories_, [4, 4, 9])


# -- nothing breaks ----------------------------------------------------------------------------------------------------


def failing_calls():
    """Return calls that must fail, whatever the classifier."""
    good = np.minimum(ROWS, 3)
    return {
        "a hole": lambda nb, learn: learn(nb, with_cell(np.nan), CLASSES),
        "other columns": lambda nb, learn: nb.partial_fit(good[:, :2], CLASSES),
        "a negative weight": lambda nb, learn: learn(nb, with_cell(7), CLASSES, sample_weight=-np.ones(12)),
        "no labels": lambda nb, learn: learn(nb, with_cell(7), None),
        "unknown labels": lambda nb, learn: nb.partial_fit(with_cell(7), CLASSES + 5),
        "other classes": lambda nb, learn: nb.partial_fit(good, CLASSES, classes=[0, 9]),
        "measurements": lambda nb, learn: nb.fit(with_cell(7), CLASSES + np.linspace(0.1, 0.9, 12)),
        "a number too large": lambda nb, learn: learn(nb, with_cell(-1e300), CLASSES),
        "a broken sparse matrix": lambda nb, learn: learn(nb, broken(), CLASSES),
        "a parameter": lambda nb, learn: learn(nb.set_params(**wrong(nb)), with_cell(7), CLASSES),
    }


def broken():
    X = sparse.csr_array(ROWS)
    X.indices[-1] = 99
    return X


def wrong(nb):
    return {"priors": [0.1, 0.1]} if isinstance(nb, GaussianNB) else {"class_prior": [0.1, 0.1]}


@pytest.mark.parametrize(
    ("classifier", "kind"),
    [pair for pair in product(ALL, failing_calls()) if pair != (BernoulliNB, "a number too large")],  # flags have none
)
@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_a_failed_call_changes_nothing(classifier, kind, learn):
    """After an error the classifier is what it was before, bit by bit, fitted or not."""
    call = failing_calls()[kind]
    fitted = classifier().partial_fit(ROWS, CLASSES, classes=[0, 1])
    fitted.predict(ROWS)
    before, parameters = pickle.dumps(fitted), fitted.get_params()

    with pytest.raises((ValueError, TypeError)):
        call(fitted, getattr(classifier, learn))
    assert pickle.dumps(fitted.set_params(**parameters)) == before
    fitted.partial_fit(ROWS, CLASSES)
    assert_array_equal(fitted.class_count_, [12.0, 12.0])

    fresh = classifier()
    with pytest.raises((ValueError, TypeError)):
        call(fresh, getattr(classifier, learn))
    assert not hasattr(fresh, "classes_")
    assert not hasattr(fresh, "n_features_in_")


@each_of_all
def test_attributes_can_be_written_on_without_harm(classifier):
    """What an attribute gives is a copy, or cannot be written to."""
    nb = classifier().fit(ROWS, CLASSES)
    expected = nb.predict_joint_log_proba(ROWS)
    names = [
        "class_count_",
        "theta_",
        "var_",
        "class_prior_",
        "class_log_prior_",
        "feature_count_",
        "feature_log_prob_",
    ]

    for name in [*names, "category_count_", "n_categories_", "feature_all_"]:
        found = getattr(nb, name, [])
        for array in found if isinstance(found, list) else [found]:
            if array.flags.writeable:
                array[...] = 77

    assert_array_equal(nb.predict_joint_log_proba(ROWS), expected)
    nb.partial_fit(ROWS[:0:-1], CLASSES[:0:-1])
    assert np.isfinite(nb.predict_joint_log_proba(ROWS)).all()
