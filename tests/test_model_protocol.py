"""A new model is one class with the protocol of models: nobody asks for its type."""

from __future__ import annotations

import numpy as np
import pandas as pd

import naively as nv
from naively.counting.reading import labeled_rows
from naively.data.frame import frame_of
from naively.explain.evidence import explained
from naively.families import Settings
from naively.model.column_parts import empirical_prior
from naively.model.leave_one_out import empirical_without, leave_one_out_posterior, truth_of
from naively.model.scorer import AdditiveModel
from naively.model.table_model import Contributions, TableModel


def table(rows=400, seed=0):
    """Return labels whose first and last values are those of one class, and a number."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    edge = np.where(rng.random(rows) < 0.85, y, 1 - y).astype(bool)
    X = pd.DataFrame({"label": np.where(edge, rng.choice(["a", "f"], rows), rng.choice(list("bcde"), rows))})
    return X.assign(number=rng.normal(size=rows) + 0.3 * y), np.array(["no", "yes"])[y]


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
    model: TableModel = PriorModel(counts, nb.schema_, settings, empirical_prior(counts.rows, settings))

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
