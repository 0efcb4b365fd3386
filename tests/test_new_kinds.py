"""A new kind of term and a new model: one class each, and nobody asks for their types."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from naively.model.joint.term_kinds import TERM_KINDS
from naively.model.joint.terms import Term, TermKind

import naively as nv
from naively.counting.rows import labeled_rows
from naively.data.frame import frame_of
from naively.explain.contributions import explained
from naively.families import Settings
from naively.model.estimate import empirical_prior
from naively.model.leave_one_out import empirical_without, leave_one_out_posterior, truth_of
from naively.model.protocols import Contributions, FittedModel
from naively.model.recipe import RECIPE
from naively.model.scorer import AdditiveModel
from naively.model.table_model import TableModel


def table(rows=400, seed=0):
    """Return labels whose first and last values are those of one class, and a number."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    edge = np.where(rng.random(rows) < 0.85, y, 1 - y).astype(bool)
    X = pd.DataFrame({"label": np.where(edge, rng.choice(["a", "f"], rows), rng.choice(list("bcde"), rows))})
    return X.assign(number=rng.normal(size=rows) + 0.3 * y), np.array(["no", "yes"])[y]


def log_ratios(n):
    """Return by how much more often than in all classes each value is met in a class, [class, value]."""
    expected = n.sum(axis=1, keepdims=True) * n.sum(axis=0) / n.sum()
    return np.log((n + 0.5) / (expected + 0.5))


class EdgeTerms(TermKind):
    """Whether a label is the first or the last of its column: two values instead of many."""

    name = "edges"
    beside = "labels at the edges"

    def holds(self, term):
        """Tell whether a term is of edges."""
        return term.kind == "edge"

    def title(self, term):
        """Return what a term is, in words."""
        return "each column by its edges"

    def _merged(self, n):
        edge = np.zeros(n.shape[1], dtype=np.int32)
        edge[[0, -1]] = 1
        return np.stack([n[:, edge == at].sum(axis=1) for at in (0, 1)], axis=1), edge

    def values(self, held):
        """Give the terms of rows by counts."""
        for at, n in enumerate(held.counts.tables):
            merged, edge = self._merged(n)
            codes = np.append(edge, np.int32(2))[held.rows.labels[:, at]]
            scores = np.column_stack([log_ratios(merged), np.zeros(len(n))])
            yield Term("edge", None, (at + len(held.counts.grid.numbers),)), scores[:, codes]

    def start(self, block):
        """Return the weight before any row is seen."""
        return 0.5

    def add_tables(self, tables):
        """Add the weighted log ratios."""
        for at, n in enumerate(tables.counts.tables, len(tables.counts.grid.numbers)):
            if by := tables.weights.get(Term("edge", None, (at,))):
                merged, edge = self._merged(n)
                tables.add(at, by * log_ratios(merged)[:, edge].T)


@pytest.fixture
def registered():
    TERM_KINDS.append(EdgeTerms())
    yield TERM_KINDS[-1]
    TERM_KINDS.pop()


def test_a_new_kind_of_term_is_fitted_scored_explained_and_kept(registered, tmp_path):
    X, y = table()
    nb = nv.NaiveBayes().fit(X, y)
    weight = nb.tuning_.learned.weights[Term("edge", None, (1,))]
    assert weight > 0.1
    assert "labels at the edges" in nb.summary()
    assert f"each column by its edges {weight:.2g}" in nb.summary()

    evidence = nb.explain(X)
    np.testing.assert_allclose(evidence.log_joint, nb.predict_joint_log_proba(X), atol=1e-9)

    nb.save(tmp_path / "model.parquet")
    np.testing.assert_array_equal(nv.load(tmp_path / "model.parquet").predict_proba(X), nb.predict_proba(X))


def test_a_recipe_leaves_a_kind_of_term_out(registered, monkeypatch):
    X, y = table()
    with_term = nv.NaiveBayes().fit(X, y).predict_proba(X)
    monkeypatch.setattr(nv.NaiveBayes, "_recipe", replace(RECIPE, left_out=("edges",)))
    without = nv.NaiveBayes().fit(X, y)
    assert not any(term.kind == "edge" for term in without.tuning_.learned.weights)
    TERM_KINDS.remove(registered)
    np.testing.assert_array_equal(nv.NaiveBayes().fit(X, y).predict_proba(X), without.predict_proba(X))
    TERM_KINDS.append(registered)
    assert np.abs(with_term - without.predict_proba(X)).max() > 1e-3


class PriorModel(TableModel):
    """A model of its own: the prior, whatever the row."""

    joint_terms = "no term at all"
    has_credible_interval = False

    def __init__(self, *given):
        super().__init__(*given)
        self.scorer = AdditiveModel(self.classes, self.textbook.log_prior, {}, scale=1.0)

    @property
    def pairs(self):
        """The pairs of columns: none."""
        return {}

    @property
    def leaves_out_weights(self):
        """Whether rows are left out of weights, too."""
        return True

    def contributions(self, columns, threads):
        """Return nothing for each column."""
        scores = super().contributions(columns, threads).scores
        return Contributions(0.0 * scores, 0.0 * scores)

    def leave_one_out(self, rows):
        """Return the log prior without each row."""
        before, which = rows.priors()
        return before[which]

    def summary_lines(self):
        """Return what was fitted, in words."""
        return ["the prior alone"]


def test_a_new_model_is_explained_and_left_out_by_its_protocol():
    X, y = table()
    nb = nv.NaiveBayes(model="textbook").fit(X, y)
    counts, settings = nb.counts_, Settings()
    model: FittedModel = PriorModel(counts, nb.schema_, settings, empirical_prior(counts.rows, settings))

    source = frame_of(X).on(model.schema)
    evidence = explained(model, counts.rows, source, 1, None, 1.0)
    np.testing.assert_allclose(evidence.probabilities, np.tile(np.exp(model.scorer.log_prior), (len(y), 1)))
    assert evidence.provenance.joint == "no term at all"

    rows = labeled_rows(X, y, None, None)
    truth = truth_of(rows, counts)
    left = leave_one_out_posterior(model, counts, rows, truth, empirical_without(settings), 1)
    n = counts.rows - np.eye(2)[truth] + 1
    np.testing.assert_allclose(left, n / n.sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(
        model.answer(AdditiveModel.most_probable, source, 1), np.full(len(y), counts.rows.argmax())
    )
    assert model.log_density(source, 1).shape == (len(y),)
