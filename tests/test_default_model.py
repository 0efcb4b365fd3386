"""The default model: how it is fitted, kept, changed, merged and described."""

from __future__ import annotations

import copy
import json
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import naively as nv
from naively.cli import main
from naively.data.model_file import file as store_file
from naively.errors import InvalidInput, InvalidSetting, StaleWarning, UnreadableFile
from naively.model.default.model import DefaultModel
from naively.model.default.normal import LINEAR

from .tables import penguins

SETTINGS = [
    {},
    {"missing": "value"},
    {"columns": ["island", "bill_length_mm", "sex"]},
    {"prior": "uniform"},
    {"max_categories": 2},
    {"cost": {("Adelie", "Gentoo"): 5}},
    {"families": {"year": "categorical"}},
]


@pytest.mark.parametrize("params", SETTINGS, ids=str)
def test_evidence_adds_up_by_columns_and_pairs(params):
    X, y = penguins()
    nb = nv.NaiveBayes(model="auto", **params).fit(X, y)
    assert isinstance(nb.fitted_.model, DefaultModel)
    evidence = nb.explain(X)
    assert np.allclose(evidence.log_joint, nb.predict_joint_log_proba(X), atol=1e-9)
    assert np.allclose(evidence.probabilities, nb.predict_proba(X), atol=1e-9)
    assert np.allclose(nb.predict_proba(X).sum(axis=1), 1)
    assert any(" × " in name for name in evidence.columns)
    assert str(nb.explain(X.iloc[:1]))


def test_rows_and_columns_in_any_order_units_and_weights_change_nothing(fitted):
    nb, X, y = fitted
    before, order = nb.predict_proba(X), np.random.default_rng(0).permutation(len(X))

    def answers(table, labels, asked=X, **how):
        return nv.NaiveBayes(model="auto").fit(table, labels, **how).predict_proba(asked)

    assert np.allclose(answers(X.iloc[order], y.iloc[order]), before, atol=1e-6)
    assert np.allclose(answers(X[X.columns[::-1]], y), before, atol=1e-6)
    other = X.assign(body_mass_g=X["body_mass_g"] / 453.6 + 5)
    assert np.allclose(answers(other, y, other), before, atol=1e-6)
    renamed = X.assign(island=X["island"].map({"Torgersen": "a", "Biscoe": "z", "Dream": "m"}))
    assert np.allclose(answers(renamed, y, renamed), before, atol=1e-6)
    twice = answers(pd.concat([X, X]), pd.concat([y, y]))
    assert np.allclose(answers(X, y, sample_weight=np.full(len(X), 2.0)), twice, atol=1e-6)
    weights = np.where(np.arange(len(X)) % 3 == 0, 0.0, 1.0)
    kept = weights > 0
    assert np.allclose(answers(X, y, sample_weight=weights), answers(X[kept], y[kept]), atol=1e-6)


def test_rows_that_come_later_are_learned_from_at_the_next_question(fitted):
    whole, X, y = fitted
    nb = nv.NaiveBayes(model="auto").fit(X.iloc[:300], y.iloc[:300])
    weights = nb.tuning_.learned
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nb.partial_fit(X.iloc[300:310], y.iloc[300:310])  # one row in thirty: weights stay
        assert nb.calibrated_
        assert nb.fitted_.weights is weights
        nb.partial_fit(X.iloc[310:], y.iloc[310:])
        assert nb.calibrated_
    assert nb.fitted_.weights is not weights
    assert np.allclose(nb.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-9)


def test_pairs_of_columns_are_counted_in_all_rows_or_in_none(fitted):
    _, X, y = fitted
    nb = nv.NaiveBayes.from_counts(nv.count(X, y), model="auto")
    with pytest.raises(InvalidInput, match=r"100 rows were given, but 344 were counted"):
        nb.calibrate(X.iloc[100:200], y.iloc[100:200])
    nb.calibrate(X, y)
    assert nb.calibrated_


def test_few_rows_are_left_to_the_textbook_model():
    X, y = penguins()
    few = nv.NaiveBayes(model="auto").fit(X.iloc[140:170], y.iloc[140:170])
    book = nv.NaiveBayes(model="textbook").fit(X.iloc[140:170], y.iloc[140:170])
    assert np.array_equal(few.predict_proba(X), book.predict_proba(X))


# -- keeping ---------------------------------------------------------------------------------------------------------


def kept(nb, folder):
    nb.save(folder / "model.parquet")
    return nv.load(folder / "model.parquet")


def test_a_model_comes_back_from_its_file(fitted, tmp_path):
    nb, X, y = copy.copy(fitted[0]).drop_rows(), *fitted[1:]
    twin = kept(nb, tmp_path)
    assert twin.counts_ == nb.counts_
    assert twin.schema_ == nb.schema_
    assert twin.summary() == nb.summary()
    assert np.array_equal(twin.predict_proba(X), nb.predict_proba(X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StaleWarning)
        twin.forget(X.iloc[:50], y.iloc[:50]).partial_fit(X.iloc[:50], y.iloc[:50])
        assert twin.counts_.agrees(nb.counts_, 1e-9)


def forged(path, change):
    """Write a file anew whose footer says something else, with a seal that fits."""
    table = pq.read_table(path)
    said = json.loads(pq.read_metadata(path).metadata[b"naively"])
    change(said)
    text = json.dumps({**said, "sha256": store_file.UNSEALED}, separators=(",", ":"))
    sink, groups = pa.BufferOutputStream(), pq.ParquetFile(path)
    with pq.ParquetWriter(sink, table.schema.remove_metadata(), use_dictionary=store_file.WORDS) as writer:
        for at in range(groups.num_row_groups):
            writer.write_table(groups.read_row_group(at), row_group_size=1 << 30)
        writer.add_key_value_metadata({"naively": text})
    path.write_bytes(store_file.sealed(sink.getvalue().to_pybytes()))


FORGERIES = {
    "nothing": lambda said: None,
    "a part that is not there": lambda said: said["parts"].append("words"),
    "biases": lambda said: said["about"]["tuning"]["learned"]["bias"].pop(),
    "weights": lambda said: said["about"]["tuning"]["learned"]["weights"].append(["values"]),
    "a column that is not there": lambda said: said["about"]["tuning"]["learned"]["weights"].append(
        ["values", 12, [99], 1.0]
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_file_that_cannot_be_true_is_refused(fitted, tmp_path, name):
    nb, X, _ = fitted
    path = tmp_path / "model.parquet"
    nb.save(path)
    forged(path, FORGERIES[name])
    if name == "nothing":
        assert np.array_equal(nv.load(path).predict_proba(X), nb.predict_proba(X))
        return
    with pytest.raises(UnreadableFile):
        nv.load(path)


# -- settings --------------------------------------------------------------------------------------------------------


def test_the_textbook_model_is_one_setting_away(fitted):
    _, X, y = fitted
    nb = nv.NaiveBayes(model="auto").fit(X, y)
    book = nv.NaiveBayes(model="textbook").fit(X, y)
    with pytest.raises(InvalidSetting, match="held-out"):
        nb.calibrate(X, y, held_out=True)
    nb.model = "textbook"
    assert np.array_equal(nb.predict_proba(X), book.predict_proba(X))
    assert np.array_equal(nb.predict_interval(X)[0], book.predict_interval(X)[0])
    assert np.array_equal(nb.score_samples(X), book.score_samples(X))


def test_a_row_of_missing_values_is_answered_as_frequent_as_the_classes_are():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = pd.DataFrame(rng.normal(size=(400, 4)) + 2 * y[:, None] * [1, 1, 0, 0]).add_prefix("n")
    X = X.assign(word=np.where(rng.random(400) < 0.8, y, 1 - y).astype(str)).mask(rng.random((400, 5)) < 0.1)
    nb = nv.NaiveBayes(model="auto").fit(X, y)
    nothing = dict.fromkeys(X)
    assert np.abs(nb.predict_proba(nothing)[0] - np.bincount(y) / 400).max() < 0.1


# -- the summary -------------------------------------------------------------------------------------------------------


def test_the_summary_tells_the_loss_of_held_out_rows_by_stage(fitted, tmp_path):
    nb, _, _ = fitted
    said, tuning = nb.summary(), nb.tuning_
    stages = tuning.learned.loss
    assert f"log loss of held-out rows, of 344 in all: {stages['each column alone']:.3g} with each column alone" in said
    assert (tuning.loss_before, tuning.loss_after) == (stages["each column alone"], list(stages.values())[-1])
    assert tuning.loss_after < tuning.loss_before
    weights = tuning.learned.weights
    assert f"all columns at once {weights[LINEAR]:.2g};" in said
    nb.save(tmp_path / "model.parquet", rows=True)
    assert nv.load(tmp_path / "model.parquet").summary() == said


# -- folds -----------------------------------------------------------------------------------------------------------


def test_a_tuning_that_means_nothing_is_refused():
    X, y = penguins()
    with pytest.raises(InvalidSetting, match="tuning='never' must be 'refit'"):
        nv.cross_validate(X, y, tuning="never")


# -- reports of files -------------------------------------------------------------------------------------------------


def test_folds_of_a_file_are_answered_by_the_textbook_model_as_well(in_a_file):
    done = nv.fit_files(nv.NaiveBayes(model="auto"), in_a_file, "species", cv=5)
    book = nv.fit_files(nv.NaiveBayes(model="textbook"), in_a_file, "species", cv=5)
    assert np.allclose(done.textbook_scores.posterior, book.scores.posterior, atol=1e-9)
    assert np.array_equal(done.textbook_scores.truth, done.scores.truth)
    assert done.scores.log_loss < done.textbook_scores.log_loss
    assert book.textbook_scores is None


def test_fit_reports_both_side_by_side(in_a_file):
    said = CliRunner().invoke(main, ["fit", str(in_a_file), "-t", "species", "--model", "auto"]).output
    lines = [line.split() for line in said.splitlines()]
    assert ["model", "textbook", "always", "Adelie"] in lines
    assert "The rows were read" not in said  # so few are read once
    figures = CliRunner().invoke(main, ["fit", str(in_a_file), "-t", "species", "--model", "auto", "--json"]).output
    facts = json.loads(figures)
    assert facts["passes"] == 1
    assert facts["scores"]["log_loss"] < facts["textbook_scores"]["log_loss"]
    accuracy = next(line for line in lines if line[:1] == ["accuracy"])
    assert accuracy[1] == f"{100 * facts['scores']['accuracy']:.1f}"
    assert accuracy[5] == f"{100 * facts['textbook_scores']['accuracy']:.1f}"
    plain = CliRunner().invoke(main, ["fit", str(in_a_file), "-t", "species", "--model", "textbook"]).output
    assert ["model", "always", "Adelie"] in [line.split() for line in plain.splitlines()]
