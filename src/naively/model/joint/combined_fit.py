"""Weights for the rows of several fits, combined without the rows.

Where each part has many rows, each determines the weights well, and their mean is as good as one fit (Zhang, Duchi and
Wainwright, 2013). Parts of fewer rows hold the slope and curvature of their log loss, which add up to those of all
rows, as far as terms of the parts are those of the whole. The weights of least loss are then found as on rows: first
one for each block of terms, then for single terms where that gains. A term that a part did not consider is no evidence
against it. Curvature is not used for many rows: where classes are nearly separable, the loss is no quadratic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..._types import Floats
from ...stats import Axis
from ...stats.arithmetic import divide
from .combined_loss import CombinedLoss
from .influence import WeightInfluence
from .joint_fit import JointFit
from .loss_near import LossNear
from .model import JointModel
from .term_kinds import term_kind
from .terms import Term
from .weighable_terms import WeighableTerms
from .weight_fitting import weights_of_terms

# Merged without rows, a model has so many times the log loss of one fit, on held-out rows: where each part has at least
# so many rows, and where one has fewer. Measured on public sets of at least 500 rows in four random parts each, the
# mean of (log loss + 0.001) / (that of one fit + 0.001): 3 tables with large parts, 13 tables and 3 sets of texts.
ENOUGH_ROWS, RATIO_OF_LARGE_PARTS, RATIO_OF_SMALL_PARTS = 5_000, 1.05, 1.28

Owner = tuple[str, bool]  # a column, and whether it is meant or whether it is missing


class PartFit(NamedTuple):
    """The weights that were fitted to one part of the rows, and what their terms are of."""

    fit: JointFit
    owners: tuple[Owner, ...]  # by the places that terms name
    classes: Axis
    rows: Floats  # of each class
    prior: Floats

    @classmethod
    def of(cls, model: JointModel) -> PartFit | None:
        """Return the weights of a model; None if it has none."""
        rows = model.counts.joint.products[:, 0, 0]
        if model.fit is None:
            return None
        # Offsets are of no use beside other rows: what is said of the weights must hold without them.
        return cls(model.fit.without_offsets(), owners_of(model), model.classes, rows, model.counts.prior)

    def times(self, weight: float) -> PartFit:
        """Return the weights of the same rows, each weighing so many times as much."""
        return self._replace(fit=faded_fit(self.fit, weight), rows=weight * self.rows)


def faded_fit(fit: JointFit, weight: float) -> JointFit:
    """Return the same weights; beside those of others, their rows weigh so many times as much."""
    return fit if fit.near is None else replace(fit, near=fit.near.times(weight))


def owners_of(model: JointModel) -> tuple[Owner, ...]:
    """Return what the places that terms name are of: columns of the grid, then whether numbers are missing."""
    known = len(model.counts.grid.names)
    return tuple((name, at >= known) for at, name in enumerate(model.owners))


def combined_fit(parts: Sequence[PartFit | None], model: JointModel) -> JointFit | None:
    """Return the weights for the rows of all parts, without these rows.

    Parameters
    ----------
    parts : sequence of PartFit or None
        What was fitted to each part; None where nothing was: for too few rows, or because the textbook model was
        better.
    model : JointModel
        The model of all rows, without weights: its counts are those of all parts, on a common grid.

    Returns
    -------
    JointFit or None
        The weights; None if no part has any.
    """
    known = [part for part in parts if part is not None]
    if not known:
        return None
    counts, places = model.counts, {owner: at for at, owner in enumerate(owners_of(model))}
    weighable = WeighableTerms(counts)
    near = [renamed_loss(part, places, weighable) for part in known]
    found = [one for one in near if one is not None]
    ridges, copies = mean_ridges(known), all(part.fit.copies for part in known)
    large = min(float(part.rows.sum()) for part in known) >= ENOUGH_ROWS
    if large or len(found) < len(known):  # a part of an older file holds weights alone
        weights, bias = mean_weights(known, places, weighable), mean_bias(known, model)
        return JointFit(weights, ridges, bias, *scores_of_parts(known), copies=copies, parts=len(parts))
    classes = [model.classes.places(part.classes.labels) for part in known]
    whole = CombinedLoss.of(found, classes, weighable.singles, len(model.classes))
    fit = whole.fit(counts.recipe)
    size = len(fit.terms)
    found_of = dict(zip(fit.terms, fit.at[:size].tolist(), strict=True))
    weights = weights_of_terms(counts, [term for term in whole.terms if not term_kind(term).selected], found_of)
    on = np.concatenate([fit.at[:size] > 0, np.ones(len(model.classes), dtype=np.bool_)])
    influence = WeightInfluence.of(fit.terms, {}, on[:size], fit.curve[np.ix_(on, on)], 1.0)
    about = (*scores_of_parts(known), influence, copies, fit.near, len(parts))
    return JointFit(weights, ridges, counts.prior + fit.at[size:], *about)


def renamed(term: Term, owners: Sequence[Owner], places: Mapping[Owner, int]) -> Term | None:
    """Return a term of a part under the places of its columns in the whole; None if one of them is not there."""
    at = [places.get(owners[column], -1) for column in term.columns]
    return None if -1 in at else term._replace(columns=tuple(sorted(at)))


def renamed_loss(part: PartFit, places: Mapping[Owner, int], weighable: WeighableTerms) -> LossNear | None:
    """Return the loss near the weights of a part, by terms of the whole; other weights stay what they are."""
    near = part.fit.near
    if near is None:
        return None
    found = [renamed(term, part.owners, places) for term in near.terms]
    terms = {at: term for at, term in enumerate(found) if term is not None and term in weighable}
    at = np.array([*terms, *range(len(near.terms), len(near.at))], dtype=np.intp)
    return LossNear(tuple(terms.values()), near.at[at], near.slope[at], near.curve[np.ix_(at, at)])


# -- what is averaged --------------------------------------------------------------------------------------------------


def mean_ridges(parts: Sequence[PartFit]) -> dict[str, float]:
    """Return the ridges of linear terms and pseudo-counts of words: their geometric mean, by rows."""
    out = {}
    for name in dict.fromkeys(name for part in parts for name in part.fit.ridges):
        some = [part for part in parts if name in part.fit.ridges]
        out[name] = float(np.exp(mean([np.log(part.fit.ridges[name]) for part in some], some)))
    return out


def mean_weights(parts: Sequence[PartFit], places: Mapping[Owner, int], weighable: WeighableTerms) -> dict[Term, float]:
    """Return the mean of the weights of each term, by rows."""
    by_part = [
        {renamed(term, part.owners, places): weight for term, weight in part.fit.weights.items()} for part in parts
    ]
    terms = dict.fromkeys(term for weights in by_part for term in weights)
    known = [term for term in terms if term is not None and term in weighable]
    return {term: mean([weights.get(term, 0.0) for weights in by_part], parts) for term in known}


def mean_bias(parts: Sequence[PartFit], model: JointModel) -> Floats:
    """Return the prior of each class and the mean of how far its bias lies from it, by the rows of the class."""
    rows, sums = np.zeros(len(model.classes)), np.zeros(len(model.classes))
    for part in parts:
        at = model.classes.places(part.classes.labels)
        rows[at] += part.rows
        sums[at] += part.rows * (part.fit.bias - part.prior)
    return np.asarray(model.counts.prior + divide(sums, rows))


def scores_of_parts(parts: Sequence[PartFit]) -> tuple[dict[str, float], int, float]:
    """Return the mean leave-one-out log loss of the parts, their rows, and the mean of their accuracies."""
    loss = mean([list(part.fit.loss.values())[-1] for part in parts], parts)
    accuracy = mean([part.fit.accuracy for part in parts], parts)
    return {"the weights of each part": loss}, sum(part.fit.rows for part in parts), accuracy


def mean(values: Sequence[float], parts: Sequence[PartFit]) -> float:
    """Return the mean over parts, by rows."""
    return float(np.average(values, weights=[part.rows.sum() for part in parts]))


# -- in words ----------------------------------------------------------------------------------------------------------


def expected_ratio(fewest_rows: float) -> float:
    """Return how many times the log loss of one fit is expected, given the rows of the smallest part."""
    return RATIO_OF_LARGE_PARTS if fewest_rows >= ENOUGH_ROWS else RATIO_OF_SMALL_PARTS


def expected_quality(fewest_rows: float) -> str:
    """Return how good weights are that were combined without rows, given the rows of the smallest part.

    >>> expected_quality(8000)[-56:]
    'parts of 5,000 rows or more gave 1.05 times its log loss'
    """
    large = fewest_rows >= ENOUGH_ROWS
    parts = f"parts of {ENOUGH_ROWS:,} rows or more" if large else f"parts of fewer than {ENOUGH_ROWS:,} rows"
    ratio = expected_ratio(fewest_rows)
    how = "weights were combined without rows; compared with one fit on public tables"
    return f"{how}, {parts} gave {ratio:.2f} times its log loss"
