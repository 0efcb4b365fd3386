"""Coefficients of values, pairs, triples and words: a fit ends at the optimum, they are used where they gain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

import naively as nv
from naively import _kernels as kernels
from naively._threads import shared_threads
from naively.data.model_file import arrays_of_bytes, arrays_to_bytes
from naively.errors import UnreadableFile
from naively.model.default.coefficients import NO_CLASS, CellLayout, Coefficients, Problem, State
from naively.model.default.rows import CrossFit, FittingRows, deal_out, fold_slices
from naively.model.default.words import WordAssociations, WordRows, WordState
from naively.model.recipe import RECIPE
from naively.text import TextRows

from .fitting_cases import cases, drawn_case, scores_by, tables_of
from .tables import CLASSES, TEXTS, Y
from .test_store import reforged

# -- the kernel --------------------------------------------------------------------------------------------------------


class Small:
    """A small problem, and its loss by NumPy: numbers with lines and neighbors, categories, a bias, missing cells."""

    def __init__(self, rows=60, classes=3, numbers=(4, 3), labels=(3,), seed=0):
        rng = np.random.default_rng(seed)
        self.sizes, self.numbers = [*numbers, *labels, 1], len(numbers)
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)])
        codes = np.array([rng.integers(0, size, rows) for size in self.sizes])
        codes[:-1][rng.random((len(codes) - 1, rows)) < 0.05] = -1
        sizes = np.array(self.sizes)[:, None]
        self.codes = np.ascontiguousarray(np.where(codes < 0, sizes, codes), dtype=np.int32)
        self.y, self.weights = rng.integers(0, classes, rows).astype(np.int32), rng.random(rows) * 2
        self.classes, self.width = classes, 1 if classes == 2 else -(-classes // 4) * 4
        self.scores = rng.normal(size=(rows, self.width))
        if classes > 2:
            self.scores[:, classes:] = NO_CLASS
        self.positions = np.concatenate([np.linspace(-1.5, 1.5, size) for size in self.sizes])
        self.pulls = np.zeros((len(self.sizes), 3))
        self.pulls[:, 0] = 0.05 + rng.random(len(self.sizes))
        self.pulls[: self.numbers, 1:] = 0.3, 0.5

    def fitted(self, cycles=4000, enough=0.0, threads=1):
        """Return coefficients of cells and of lines, and the scores with them, as the kernel finds them."""
        values, lines = np.zeros((self.starts[-1], self.width)), np.zeros((len(self.sizes), self.width))
        scores, about = self.scores.copy(), (self.codes, self.y, self.weights, self.starts, self.pulls, self.positions)
        kernels.fit_coefficients(*about, scores, values, lines, cycles, enough, threads)
        return values, lines, scores

    def scores_with(self, values, lines):
        """Return the scores of rows with coefficients."""
        out = self.scores.copy()
        for table, codes in enumerate(self.codes):
            begin, end = self.starts[table : table + 2]
            whole = values[begin:end] + self.positions[begin:end, None] * lines[table]
            out += np.vstack([whole, np.zeros(self.width)])[codes]
        return out

    def penalized(self, flat):
        """Return the loss with its penalty, and its slope in each parameter."""
        width = min(self.width, self.classes)
        values, lines = np.zeros((self.starts[-1], self.width)), np.zeros((len(self.sizes), self.width))
        values[:, :width] = flat[: values.shape[0] * width].reshape(-1, width)
        lines[:, :width] = flat[values.shape[0] * width :].reshape(-1, width)
        z = self.scores_with(values, lines)[:, :width]
        if width == 1:
            p, own = 1 / (1 + np.exp(-z)), np.logaddexp(0, np.where(self.y == 1, -z[:, 0], z[:, 0]))
            error = p - self.y[:, None]
        else:
            own, error = -log_softmax(z, axis=1)[np.arange(len(z)), self.y], softmax(z, axis=1)
            error[np.arange(len(z)), self.y] -= 1
        loss, of_values, of_lines = self.weights @ own, [], []
        for table, (size, codes) in enumerate(zip(self.sizes, self.codes, strict=True)):
            begin, end = self.starts[table : table + 2]
            slope = np.zeros((size + 1, width))
            np.add.at(slope, codes, error * self.weights[:, None])
            pull, line_pull, neighbor_pull = self.pulls[table]
            v, line, apart = values[begin:end, :width], lines[table, :width], np.diff(values[begin:end, :width], axis=0)
            loss += 0.5 * (pull * (v**2).sum() + line_pull * (line**2).sum() + neighbor_pull * (apart**2).sum())
            towards = np.vstack([np.zeros((1, width)), apart]) - np.vstack([apart, np.zeros((1, width))])
            of_values.append(slope[:-1] + pull * v + neighbor_pull * towards)
            lined = table < self.numbers
            of_lines.append(lined * (self.positions[begin:end] @ slope[:-1] + line_pull * line))
        return loss, np.concatenate([*map(np.ravel, of_values), *map(np.ravel, of_lines)])

    def flat(self, values, lines):
        """Return parameters as SciPy takes them, of classes alone."""
        width = min(self.width, self.classes)
        return np.concatenate([values[:, :width].ravel(), lines[:, :width].ravel()])


SMALL = {
    "numbers and categories": {},
    "two classes": {"classes": 2, "seed": 1},
    "nine classes": {"classes": 9, "seed": 2},
    "no numbers": {"numbers": (), "labels": (2, 5), "seed": 3},
    "one number": {"numbers": (12,), "labels": (), "seed": 4},
    "one row": {"rows": 1, "seed": 5},
    "many rows": {"rows": 600, "numbers": (20, 9), "labels": (6, 2), "seed": 6},
}


@pytest.mark.parametrize("name", SMALL)
def test_a_fit_ends_where_its_slope_is_zero_and_scipy_ends(name, level):
    small = Small(**SMALL[name])
    values, lines, scores = small.fitted()
    found, slope = small.penalized(small.flat(values, lines))
    start = np.zeros(len(slope))
    best = minimize(small.penalized, start, jac=True, method="L-BFGS-B", options={"maxiter": 5000, "gtol": 1e-9})
    assert found == pytest.approx(best.fun, rel=1e-6)
    assert np.abs(slope).max() < 1e-4 * max(1.0, best.fun)
    assert_allclose(scores[:, : small.classes], small.scores_with(values, lines)[:, : small.classes], atol=1e-8)
    assert not values[:, small.classes :].any()  # lines are filled up with classes that are not there


GOOD = {"codes": np.zeros((2, 5), np.int32), "y": np.zeros(5, np.int32), "weights": np.ones(5)}
GOOD |= {"starts": np.array([0, 3, 4]), "pulls": np.ones((2, 3)), "positions": np.zeros(4), "scores": np.zeros((5, 4))}
GOOD |= {"values": np.zeros((4, 4)), "lines": np.zeros((2, 4))}
WRONG = {
    "a cell beyond": ("codes", np.full((2, 5), 4, np.int32), "A cell has no coefficient"),
    "a negative cell": ("codes", np.full((2, 5), -1, np.int32), "A cell has no coefficient"),
    "cells of fewer rows": ("codes", np.zeros((2, 4), np.int32), "Rows differ"),
    "a class beyond": ("y", np.full(5, 4, np.int32), "no such class"),
    "too few weights": ("weights", np.ones(4), "Rows differ"),
    "scores that are not padded": ("scores", np.zeros((5, 3)), "multiple of four"),
    "tables that overlap": ("starts", np.array([0, 5, 4]), "Tables overlap"),
    "coefficients of other tables": ("starts", np.array([0, 3, 5]), "Tables differ"),
    "too few pulls": ("pulls", np.ones((1, 3)), "Tables differ"),
    "too few positions": ("positions", np.zeros(3), "Tables differ"),
    "values of other classes": ("values", np.zeros((4, 8)), "Tables differ"),
    "lines of other tables": ("lines", np.zeros((3, 4)), "Tables differ"),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_kernel_refuses_what_does_not_fit(name):
    key, wrong, words = WRONG[name]
    kernels.fit_coefficients(*(part.copy() for part in GOOD.values()), 5, 1e-9)
    with pytest.raises(ValueError, match=words):
        kernels.fit_coefficients(*(part.copy() for part in (GOOD | {key: wrong}).values()), 5, 1e-9)


# -- cells -------------------------------------------------------------------------------------------------------------


def layout_of(grid):
    """Return coefficients of some pairs and triples of a grid."""
    columns = range(len(grid.names))
    pairs = tuple((i, j) for i in columns for j in columns if i < j)[:3]
    triples = tuple((i, j, k) for i in columns for j in columns for k in columns if i < j < k)[:2]
    return CellLayout(grid, pairs, triples, merged_bins=2, most_merged=2)


@settings(max_examples=30, deadline=None)
@given(cases())
def test_a_row_has_the_coefficients_of_its_values_pairs_and_triples(case):
    """By tables that are looked up, as by the cells they are fitted to; a missing value has none."""
    layout = layout_of(case.grid)
    table = np.random.default_rng(0).normal(size=(int(layout.starts[-1]), case.classes))
    if case.classes == 2:
        table[:, 0] = -table[:, 1]
    about = layout.merged_bins, layout.most_merged, np.zeros((len(layout.triples), case.classes))
    found = Coefficients(layout.pairs, layout.triples, table, {}, *about)
    assert found.fits(case.grid)
    expected = np.zeros((len(case.rows), case.classes))
    for place, codes in enumerate(layout.codes(case.rows.cells)):
        expected += np.vstack([table[layout.part(place)], np.zeros((1, case.classes))])[codes]
    scores = scores_by(tables_of(case.cross.counts, {}, coefficients=found), case.rows)
    assert_allclose(scores, expected, atol=1e-9)
    twin = Coefficients.of_bytes(found.to_bytes(), case.classes)
    assert_array_equal(twin.table, table.astype(np.float32))
    assert (twin.pairs, twin.triples, twin.merged_bins, twin.most_merged) == (found.pairs, found.triples, 2, 2)


# -- whole numbers -----------------------------------------------------------------------------------------------------


def frame(x):
    return pd.DataFrame(x, columns=list("abcde")[: x.shape[1]])


def sums(rows, rng):
    x = rng.integers(0, 10, (rows, 5))
    return frame(x), (x.sum(axis=1) > 22).astype(int)


def weighted_sums(rows, rng):
    x = rng.integers(0, 10, (rows, 5))
    total = x @ np.array([1, 2, 3, 4, 5])
    return frame(x), (total > 55).astype(int) + (total > 80)


def labels_and_numbers(rows, rng):
    """Return the same with two columns of labels."""
    x = rng.integers(0, 10, (rows, 5))
    X = frame(x).assign(a=[f"a{v}" for v in x[:, 0]], b=[f"b{v}" for v in x[:, 1]])
    return X, (x @ np.array([5, 4, 3, 2, 1]) > 68).astype(int)


def agreements(rows, rng):
    """Return labels of which two of three pairs must be equal."""
    x = rng.integers(0, 3, (rows, 6))
    same = x[:, ::2] == x[:, 1::2]
    return pd.DataFrame(x).add_prefix("c").astype(str), (same @ np.array([2, 2, 1]) > 2).astype(int)


def either_or(rows, rng):
    """Return columns of which three tell the class together, and two of them little."""
    x = (rng.random((rows, 5)) < 0.7).astype(int)
    return pd.DataFrame(x).add_prefix("c").astype(str), x[:, :3].sum(axis=1) % 2


MADE = {
    "a sum, 300 rows": (sums, 300),
    "a weighted sum": (weighted_sums, 1000),
    "labels": (labels_and_numbers, 1000),
    "pairs that agree": (agreements, 600),
}
WithoutCoefficients = type(
    "WithoutCoefficients", (nv.NaiveBayes,), {"_recipe": replace(RECIPE, excluded=("coefficients",))}
)


def drawn_rows(name, seed=0, new=2000):
    """Return rows to fit, and new ones."""
    draw, rows = MADE[name]
    rng = np.random.default_rng(seed)
    return draw(rows, rng), draw(new, rng)


def coefficients_of(nb):
    """Return the coefficients that a model uses; None if there are none."""
    learned = nb.tuning_.learned
    return None if learned is None else learned.coefficients


def log_loss(nb, X, y):
    """Return the mean log loss of rows; the classes are their own places."""
    return -nb.predict_log_proba(X)[np.arange(len(y)), y].mean()


def test_triples_tell_what_no_pair_does():
    """Whether one or three of three are set."""
    rng = np.random.default_rng(0)
    (X, y), (new, truth) = either_or(800, rng), either_or(2000, rng)
    nb = nv.NaiveBayes().fit(X, y)
    assert (0, 1, 2) in coefficients_of(nb).triples
    assert (nb.predict(new) == truth).all()
    pairs = type("Pairs", (nv.NaiveBayes,), {"_recipe": replace(RECIPE, excluded=("coefficients of triples",))})().fit(
        X, y
    )
    assert (pairs.predict(new) == truth).mean() < 0.9
    evidence = nb.explain(new[:200])
    assert_allclose(evidence.log_joint, nb.predict_joint_log_proba(new[:200]), atol=1e-9)
    assert "c0 × c1 × c2" in evidence.columns
    assert_allclose(nb.explain(X).scores.mean(axis=0), 0.0, atol=1e-9)  # contributions are relative to the average row


# -- the gate ----------------------------------------------------------------------------------------------------------


def chance(rows, rng):
    return rng.integers(0, 8, (rows, 5)), rng.integers(0, 3, rows)


def naive_numbers(rows, rng):
    y = rng.integers(0, 2, rows)
    return rng.binomial(9, np.where(y == 1, 0.6, 0.4)[:, None], (rows, 5)), y


def naive_labels(rows, rng):
    y = rng.integers(0, 2, rows)
    x = np.where(rng.random((rows, 4)) < 0.6, 2 * y[:, None], rng.integers(0, 4, (rows, 4)))
    return frame(x).astype(str), y


@pytest.mark.parametrize("rows", [200, 600, 1500])
@pytest.mark.parametrize("draw", [chance, naive_numbers, naive_labels])
def test_hardly_any_coefficients_are_used_where_there_is_nothing_to_gain(draw, rows):
    """Where classes are drawn at random, and where columns are independent within a class.

    A fall of the loss of more than one nat and one standard error happens by chance: in 16 of 120 such fits of 200 and
    600 rows, which raised the loss of new rows by 0.013 on average and by 0.055 at most.
    """
    used = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = draw(rows, rng)
        nb = nv.NaiveBayes().fit(X, y)
        assert ("coefficients" in nb.summary()) == (coefficients_of(nb) is not None)
        if coefficients_of(nb) is not None:
            used += 1
            new, truth = draw(4000, rng)
            assert log_loss(nb, new, truth) < log_loss(WithoutCoefficients().fit(X, y), new, truth) + 0.06
    assert used <= 2


# -- files -------------------------------------------------------------------------------------------------------------


def changed(change):
    """Return what changes the arrays and the plain data of the part of coefficients in the rows of a file."""

    def change_part(groups):
        (row,) = (group[0] for group in groups if group[0]["column"] == "(part) coefficients")
        arrays, said = arrays_of_bytes(row["data"])
        arrays = {name: array.copy() for name, array in arrays.items()}
        change(arrays, said)
        row["data"] = arrays_to_bytes(arrays, said)

    return change_part


def with_nan(arrays, _):
    arrays["table"][0] = np.nan


DAMAGE = {
    "a cell too few": lambda arrays, _: arrays.update(table=arrays["table"][1:]),
    "a cell too many": lambda arrays, _: arrays.update(table=np.append(arrays["table"], 0.0)),
    "no cell": lambda arrays, _: arrays.update(table=arrays["table"][:0]),
    "no number": with_nan,
    "no table": lambda arrays, _: arrays.update(other=arrays.pop("table")),
    "a pair too many": lambda _, said: said["pairs"].append([0, 2]),
    "a pair of no columns": lambda _, said: said["pairs"].append([0, 99]),
    "a pair of three": lambda _, said: said["pairs"].append([0, 1, 2]),
    "no ridge": lambda _, said: said.pop("ridges"),
    "a triple of two": lambda _, said: said["triples"].append([0, 1]),
    "a triple too many": lambda _, said: (said["triples"].append([0, 1, 2]), said["triple_means"].append([0.0, 0.0])),
    "means of no triple": lambda _, said: said["triple_means"].append([0.0, 0.0]),
}


@pytest.fixture(scope="module")
def in_a_file(tmp_path_factory):
    """Return the bytes of a model with coefficients of values and of pairs, and what it answers."""
    path = tmp_path_factory.mktemp("coefficients") / "model.parquet"
    (X, y), (new, _) = drawn_rows("pairs that agree")
    nb = nv.NaiveBayes().fit(X, y)
    nb.save(path)
    return path.read_bytes(), new, nb.predict_proba(new)


@pytest.mark.parametrize("name", DAMAGE)
def test_a_file_whose_coefficients_are_damaged_is_refused(in_a_file, tmp_path, name):
    path = tmp_path / "model.parquet"
    path.write_bytes(in_a_file[0])
    reforged(path, rows=changed(DAMAGE[name]))
    with pytest.raises(UnreadableFile, match="fit the model again"):
        nv.load(path)


# -- what is promised --------------------------------------------------------------------------------------------------


def test_the_stated_loss_is_near_that_of_new_rows():
    """Coefficients without a fold are fitted to fewer rows, so that it is rather too large."""
    found = []
    for seed in range(3):
        (X, y), (new, truth) = drawn_rows("a weighted sum", seed)
        nb = nv.NaiveBayes().fit(X, y)
        assert coefficients_of(nb) is not None
        found.append((nb.tuning_.loss_after, log_loss(nb, new, truth)))
    held, fresh = np.sum(found, axis=0)
    assert 0.8 < held / fresh < 1.6


# -- rows that come and go ---------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::naively.StaleWarning")
def test_coefficients_of_labels_that_were_forgotten_without_the_rows_are_dropped(tmp_path):
    """The coefficients of other labels must not be read in their place: what is left predicts as weights alone do."""
    (X, y), (new, truth) = drawn_rows("labels")
    nb = nv.NaiveBayes().fit(X, y)
    nb.save(tmp_path / "model.parquet")
    alone, gone = nv.load(tmp_path / "model.parquet"), (X["a"] == "a3").to_numpy()
    alone.forget(X[gone], y[gone])
    assert coefficients_of(alone) is None
    assert "coefficients" not in alone.summary()
    without = WithoutCoefficients().fit(X, y)
    without.save(tmp_path / "without.parquet")
    weights = nv.load(tmp_path / "without.parquet").forget(X[gone], y[gone])
    assert_allclose(alone.predict_proba(new), weights.predict_proba(new), rtol=0, atol=1e-12)
    kept = nv.load(tmp_path / "model.parquet").forget(X[:5], y[:5])  # no label goes with them
    assert coefficients_of(kept) is not None
    assert (kept.predict(new) == truth).mean() > 0.97


# -- words in the default model ----------------------------------------------------------------------------------------

COPIES = 6


def redundant_texts(rows: int, seed: int, classes: int = 2) -> tuple[list[str], np.ndarray]:
    """Return texts in which one word counts as several that always come with it: counts are far too sure of them."""
    rng = np.random.default_rng(seed)
    texts, y = [], rng.integers(0, classes, rows)
    for own in y:
        said = int(own) if rng.random() < 0.7 else int(rng.integers(classes))
        words = [f"topic{said}x{copy}" for copy in range(COPIES)]
        for at in range(8):  # single words, each on its own
            right = int(own) if rng.random() < 0.55 else int(rng.integers(classes))
            words.append(f"word{at}of{right}")
        words += [f"noise{rng.integers(400)}" for _ in range(6)]
        texts.append(" ".join(rng.permutation(words)))
    return texts, np.array([f"class {own}" for own in y])


def coefficients_of_words(nb: nv.NaiveBayes):
    return nb.tuning_.learned.words


def log_loss_of_texts(nb: nv.NaiveBayes, texts: list[str], y: np.ndarray) -> float:
    logs = nb.predict_log_proba(texts)
    return float(-logs[np.arange(len(y)), np.searchsorted(nb.classes_, y)].mean())


# -- terms -------------------------------------------------------------------------------------------------------------


def texts_in_folds(family, weights, test=None):
    """Return a model, its texts as cross-fitting reads them, and the texts in that order."""
    nb = nv.NaiveBayes(families={"text": family}, model="textbook").fit(TEXTS, Y, sample_weight=weights)
    y = np.array([CLASSES.index(label) for label in Y], dtype=np.int32)
    order, folds = fold_slices(deal_out(y, 4))
    rows = FittingRows(None, None, {}, y[order], weights[order], weights[order], folds)
    cross = CrossFit(None, rows, {}, None if test is None else folds[test])
    return nb, cross, [TEXTS[at] for at in order]


def associations_of(family, counts):
    return WordAssociations("text", family, counts.columns["text"], counts.rows, counts.classes)


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("family", [nv.Words(pairs=True), nv.Words(ngram_range=(1, 1))], ids=["pairs", "words"])
@pytest.mark.parametrize(("weighted", "test"), [(False, None), (True, None), (True, 1)])
def test_texts_are_scored_as_by_a_model_that_was_counted_without_their_fold(family, weighted, test):
    weights = np.where(np.arange(len(TEXTS)) % 2, 0.5, 1.0) if weighted else np.ones(len(TEXTS))
    nb, cross, texts = texts_in_folds(family, weights, test)
    family, reader = nb.schema_["text"].family, nb.counts_.columns["text"].lexicon
    whole = associations_of(family, nb.counts_)
    found = whole.cross(cross, whole.words_of(TextRows(reader, texts)), 1.0)
    assert len(found) == (4 if whole.group.any() else 2)
    for fold in cross.rows.folds:
        gone = np.zeros(len(texts), bool)
        gone[fold] = True
        if cross.test is not None:
            gone[cross.test] = True
        labels = [CLASSES[k] for k in cross.rows.y[gone]]
        part = [text for text, out in zip(texts, gone, strict=True) if out]
        rest = nb.counts_ - nv.count(part, labels, schema=nb.schema_, sample_weight=cross.rows.weights[gone])
        of_rest, read = associations_of(family, rest), TextRows(reader, texts[fold])
        for term, values in found.items():
            one = of_rest.scores({term.kind: 1.0}, 1.0)
            scores, squares = read.measured(*one._by_number, "once")
            expected = (scores / np.sqrt(np.maximum(squares, 1.0))[:, None]).T
            own = values[:, fold] - values[:, fold].mean(axis=0)
            np.testing.assert_allclose(own, expected - expected.mean(axis=0), atol=1e-5, err_msg=str(term))


# -- coefficients ------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("classes", [2, 5])
def test_a_fit_ends_where_the_slope_of_the_penalized_loss_is_zero(classes, monkeypatch):
    """The coefficient of a word is its variance over the ridge times the residuals of the rows that hold it.

    A row is left where its residual is off by a thousandth.
    """
    monkeypatch.setattr("naively.model.default.words.PASSES", 500)
    monkeypatch.setattr("naively.model.default.words.TOLERANCE", 1e-7)
    rng = np.random.default_rng(classes)
    held = rng.random((80, 12)) < 0.3
    starts = np.concatenate([[0], np.cumsum(held.sum(axis=1))])
    lengths = (1 / np.sqrt(np.maximum(held.sum(axis=1), 1))).astype(np.float32)
    words = WordRows(starts, np.nonzero(held)[1].astype(np.int32), lengths)
    y, weights = rng.integers(0, classes, 80).astype(np.int32), rng.random(80) + 0.5
    scales, scores = (rng.random(12) + 0.2).astype(np.float32), rng.normal(size=(classes, 80))
    visited = np.flatnonzero(np.arange(80) % 4).astype(np.int32)
    state = WordState(words, scales, scores, y, weights, visited)
    for ridge in (3.0, 0.3):
        state.fit(ridge)
    z = state.all_scores().astype(float)
    p = np.exp(z - z.max(axis=1, keepdims=True))
    residual = (np.eye(classes)[y] - p / p.sum(axis=1, keepdims=True)) * weights[:, None]
    x = (held * lengths[:, None])[visited]
    slope = state.table[:, :classes] * state.ridge / scales[:, None] - x.T @ residual[visited]
    assert (np.abs(slope) < 2e-3 * x.sum(axis=0)[:, None]).all()
    assert np.abs(state.table).max() > 0.5


@pytest.fixture(scope="module")
def fitted() -> nv.NaiveBayes:
    return nv.NaiveBayes().fit(*redundant_texts(1500, 1, 3))


def test_coefficients_lower_the_loss_on_new_texts(fitted):
    texts, y = redundant_texts(1500, 2, 3)
    recipe = replace(RECIPE, excluded=("coefficients of words",))
    without = type("WithoutCoefficients", (nv.NaiveBayes,), {"_recipe": recipe})().fit(*redundant_texts(1500, 1, 3))
    assert coefficients_of_words(fitted)
    assert not coefficients_of_words(without)
    assert log_loss_of_texts(fitted, texts, y) < log_loss_of_texts(without, texts, y) - 0.01


def test_cycles_lower_the_loss_and_end_where_they_gain_little():
    small = Small(**SMALL["many rows"])
    losses = [small.penalized(small.flat(*small.fitted(cycles)[:2]))[0] for cycles in (0, 1, 2, 5, 100)]
    assert losses == sorted(losses, reverse=True)
    early = small.penalized(small.flat(*small.fitted(100, 3e-3)[:2]))[0]
    assert losses[-1] < early < losses[-1] * (1 + 1e-2)


def test_a_table_that_is_pulled_without_end_has_no_coefficients():
    small = Small()
    small.pulls[1] = np.inf, 0.0, 0.0
    values, lines, _ = small.fitted()
    assert not values[small.starts[1] : small.starts[2]].any() + lines[1].any()
    assert values[: small.starts[1]].any()


def test_threads_do_not_change_a_bit(level):
    for classes in (3, 2):
        small = Small(rows=40_000, classes=classes, numbers=(30, 10), labels=(7, 7), seed=7)
        for one, other in zip(small.fitted(3, threads=1), small.fitted(3, threads=4), strict=True):
            assert one.any()
            assert_array_equal(one, other)


def test_levels_give_the_same_bits():
    found = []
    for name in kernels.levels():
        kernels.use_level(name)
        found.append([part for classes in (2, 5) for part in Small(classes=classes).fitted(20)])
    kernels.use_level(kernels.levels()[0])
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            assert_array_equal(one, two)


def test_the_scores_of_a_fit_are_those_of_its_tables():
    """Numbers by a line and what deviates from it, whatever the order of the columns' names."""
    for classes in (3, 2):
        case = drawn_case(np.random.default_rng(0), 3, (3, 4), 300, classes, missing=0.1)
        names = [replace(bins, name=name) for bins, name in zip(case.grid.numbers, "zca", strict=True)]
        case = replace(case, grid=replace(case.grid, numbers=tuple(names)))
        layout, start = layout_of(case.grid), np.zeros((classes, 300))
        state = State.start(Problem.of(layout, case.cross.counts, case.rows), start, case.rows.weights)
        state = state.fitted([3.0]).fitted([3.0, 30.0]).fitted([3.0, 30.0, 10.0])
        means = np.zeros((len(layout.triples), classes))
        found = Coefficients(layout.pairs, layout.triples, state.table(classes), {}, 2, 2, means)
        scores = scores_by(tables_of(case.cross.counts, {}, coefficients=found), case.rows)
        losses = -log_softmax(scores, axis=1)[np.arange(300), case.rows.y]
        assert_allclose(losses, state.losses(slice(None)), atol=1e-9)
        assert losses.mean() < np.log(classes) - 0.1


def balance():
    """Return all 625 balance scales, and on which side they fall."""
    x = np.array(np.meshgrid(*[np.arange(1, 6)] * 4)).reshape(4, -1).T
    return frame(x), np.sign(x[:, 0] * x[:, 1] - x[:, 2] * x[:, 3])


@pytest.fixture(scope="module", params=MADE)
def made(request):
    """Return a model with coefficients, its rows, and new ones."""
    (X, y), new = drawn_rows(request.param)
    nb = nv.NaiveBayes().fit(X, y)
    assert coefficients_of(nb) is not None
    return nb, (X, y), new


def test_comparisons_of_sums_are_learned(made):
    """At least 97 % of new rows are right, and fewer without coefficients."""
    nb, rows, (X, y) = made
    accuracy = (nb.predict(X) == y).mean()
    without = WithoutCoefficients().fit(*rows)
    assert coefficients_of(without) is None
    assert accuracy >= 0.97
    assert accuracy > (without.predict(X) == y).mean()
    assert log_loss(nb, X, y) < log_loss(without, X, y)


def test_compared_products_are_learned():
    """Balance scales in five folds: at least 97 % right, less without coefficients."""
    X, y = balance()
    fold = np.random.default_rng(0).permutation(len(y)) % 5
    right = {}
    for kind in (nv.NaiveBayes, WithoutCoefficients):
        found = [kind().fit(X[fold != k], y[fold != k]).predict(X[fold == k]) == y[fold == k] for k in range(5)]
        right[kind] = np.concatenate(found).mean()
    assert right[nv.NaiveBayes] >= 0.97
    assert right[WithoutCoefficients] < 0.95


def test_threads_and_levels_change_no_bit_of_a_term():
    nb, cross, texts = texts_in_folds(nv.Words(pairs=True), np.ones(len(TEXTS)), 2)
    whole = associations_of(nb.schema_["text"].family, nb.counts_)
    words, found = whole.words_of(TextRows(nb.counts_.columns["text"].lexicon, texts)), []
    for name, threads in [(name, threads) for name in kernels.levels() for threads in (1, 4)]:
        kernels.use_level(name)
        with shared_threads(threads):
            found.append([*whole.cross(cross, words, 0.3).values()])
    kernels.use_level(kernels.levels()[0])
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


def test_words_of_forgotten_texts_have_no_coefficient():
    texts, y = redundant_texts(800, 11)
    secret = [f"topic0x0 topic0x1 secretword{at % 3} secretword" for at in range(12)]
    nb = nv.NaiveBayes().fit([*texts, *secret], np.append(y, ["class 0"] * 12))
    nb.forget(secret, np.array(["class 0"] * 12))
    nb.predict(texts[:1])
    assert nb.tuning_.learned.words
    for found in nb.tuning_.learned.words.values():
        assert not any("secret" in str(label) for label in found.labels)
        assert not any("secret" in name for name in found.lexicon.names())
