"""Answers stay what they were: those of small tables, texts and files are compared with recorded ones.

tests/recorded_answers.py says how they are recorded, and when they may be recorded anew.
"""

from __future__ import annotations

import functools
import json

import pytest
from numpy.testing import assert_allclose

from .recorded_answers import FILES, MODELS, RECORDED, SETS, file_answers, table_answers

KNOWN = json.loads(RECORDED.read_text("utf-8"))
# Other machines round the last bits of logarithms and sums in other ways. Where weights are fitted, the last
# step of the fit carries such bits on: with the matrix products of older processors, 2e-8 was measured.
NEAR = {"textbook": {"rtol": 1e-9, "atol": 1e-11}, "auto": {"rtol": 1e-6, "atol": 1e-9}}

tables = pytest.mark.parametrize("name", SETS)
models = pytest.mark.parametrize("model", MODELS)
files = pytest.mark.parametrize(("name", "ending"), [(name, end) for name, ends in FILES.items() for end in ends])


@functools.cache
def answered(name, model, ending=None):
    """Return the answers of today and those recorded."""
    if ending is None:
        return table_answers(name, model), KNOWN[f"{name}, {model}"]
    return file_answers(name, ending, model), KNOWN[f"{name}.{ending}, {model}"]


def assert_figures_equal(found, known, model):
    assert found.keys() == known.keys()
    assert found["confusion"] == known["confusion"]
    for name in found.keys() - {"confusion"}:
        assert_allclose(found[name], known[name], **NEAR[model], err_msg=name)


@models
@tables
def test_probabilities_and_predicted_classes_are_those_recorded(name, model):
    found, known = answered(name, model)
    assert_allclose(found["log_proba"], known["log_proba"], **NEAR[model])
    assert found["labels"] == known["labels"]


@models
@tables
def test_contributions_of_columns_are_those_recorded(name, model):
    found, known = answered(name, model)
    assert_allclose(found["prior"], known["prior"], **NEAR[model])
    assert_allclose(found["contributions"], known["contributions"], **NEAR[model])


@models
@tables
def test_leave_one_out_gives_the_figures_recorded(name, model):
    found, known = answered(name, model)
    assert_figures_equal(found["leave_one_out"], known["leave_one_out"], model)


@models
@tables
def test_cross_validation_gives_the_figures_recorded(name, model):
    found, known = answered(name, model)
    assert_figures_equal(found["cross_validate"], known["cross_validate"], model)


@models
@tables
def test_a_model_file_holds_the_counts_recorded(name, model):
    found, known = answered(name, model)
    assert found["counts"] == known["counts"]


@models
@files
def test_a_model_of_a_file_gives_the_answers_recorded(name, ending, model):
    found, known = answered(name, model, ending)
    assert_allclose(found["log_proba"], known["log_proba"], **NEAR[model])
    assert_figures_equal(found["cross_validate"], known["cross_validate"], model)
    assert found["counts"] == known["counts"]


def test_every_recorded_answer_is_compared():
    compared = {f"{name}, {model}" for name in SETS for model in MODELS}
    compared |= {f"{name}.{end}, {model}" for name, ends in FILES.items() for end in ends for model in MODELS}
    assert compared == set(KNOWN)
