"""What is said of columns modeled jointly, and beside them of the textbook model in folds."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import naively as nv
from naively.cli import main
from naively.errors import InvalidSetting
from naively.model.default.fit import described_weights
from naively.model.default.normal import LINEAR, QUADRATIC
from naively.model.default.terms import Term

from .tables import penguins

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
    assert f"all columns at once, with a covariance for each class {weights[QUADRATIC]:.2g}" in said
    nb.save(tmp_path / "model.parquet", rows=True)
    assert nv.load(tmp_path / "model.parquet").summary() == said


def test_kinds_of_evidence_are_named_with_their_weights():
    weights = {
        Term("values", "each", (3,)): 1.0, Term("value", 5, (0,)): 0.25, Term("value", 5, (1,)): 0.5,
        Term("vectors", "words"): 0.75, Term("pair", 4, (0, 1)): 0.125, Term("value", "neighbors", (3,)): 0.9,
    }  # fmt: skip
    assert described_weights(weights) == (
        "each category 1; each level with a neighbour 0.9; column words 0.75; each number by 5 bins 0.25 to 0.5; "
        "each pair of columns, numbers by 4 bins 0.12"
    )
    assert described_weights({}) == "none"


# -- folds -----------------------------------------------------------------------------------------------------------


def test_folds_choose_weights_anew_or_hold_them(fitted):
    nb, X, y = fitted
    anew, held = (nv.cross_validate(X, y, cv=5, model="auto", tuning=how) for how in ("refit", "fixed"))
    assert (anew.tuning, held.tuning) == ("refit", "fixed")
    assert held.log_loss < anew.log_loss  # the weights have seen the rows asked about
    assert nb.leave_one_out(X, y).tuning == "refit"  # in folds, too


def test_where_nothing_is_chosen_nothing_is_held():
    X, y = penguins()
    anew, held = (nv.cross_validate(X, y, cv=5, model="textbook", tuning=how) for how in ("refit", "fixed"))
    assert anew.tuning is None
    assert np.array_equal(anew.posterior, held.posterior)


def test_a_temperature_is_held_too():
    X, y = penguins()
    held = nv.cross_validate(X, y, cv=5, model="textbook", temperature="auto", tuning="fixed")
    found = nv.NaiveBayes(model="textbook", temperature="auto").fit(X, y)
    as_set = nv.cross_validate(X, y, cv=5, model="textbook", temperature=found.temperature_)
    assert held.tuning == "fixed"
    assert found.tuning_.bias is None  # so that the temperature is all that was chosen
    assert np.allclose(held.posterior, as_set.posterior)


def test_a_fold_is_taken_out_of_pairs_as_well(fitted):
    nb, X, y = fitted
    given = nv.cross_validate(X, y, cv=5, model="auto", families=nb.schema_)
    assert given.log_loss == pytest.approx(nv.cross_validate(X, y, cv=5, model="auto").log_loss, abs=0.03)


def test_a_tuning_that_means_nothing_is_refused():
    X, y = penguins()
    with pytest.raises(InvalidSetting, match="tuning='never' must be 'refit'"):
        nv.cross_validate(X, y, tuning="never")


# -- files -----------------------------------------------------------------------------------------------------------


def test_folds_of_a_file_are_answered_by_the_textbook_model_as_well(in_a_file):
    done = nv.fit_files(nv.NaiveBayes(model="auto"), in_a_file, "species", cv=5)
    book = nv.fit_files(nv.NaiveBayes(model="textbook"), in_a_file, "species", cv=5)
    assert np.allclose(done.textbook_scores.posterior, book.scores.posterior, atol=1e-9)
    assert np.array_equal(done.textbook_scores.truth, done.scores.truth)
    assert done.scores.log_loss < done.textbook_scores.log_loss
    assert book.textbook_scores is None


def test_passes_are_counted(in_a_file, tmp_path, keep):
    """Few rows are kept while they are counted, and need no other pass."""

    def passes(model, **how):
        return nv.fit_files(nv.NaiveBayes(model=model), in_a_file, "species", **how).passes

    assert [passes("textbook"), passes("textbook", cv=5), passes("auto"), passes("auto", cv=5)] == [1, 1, 1, 1]
    keep(100)
    assert [passes("textbook"), passes("textbook", cv=5)] == [1, 2]
    assert [passes("auto"), passes("auto", cv=5)] == [2, 3]
    assert [passes("textbook", keep_counts=tmp_path / "kept") for _ in range(2)] == [1, 0]


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
