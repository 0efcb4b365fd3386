"""Small tables of every family, with missing values, values of one row and a class of one row; and settings to try."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

import naively as nv

ROWS = 14
LABELS = ["a", "a", "b", "b", "a", "b", "a", "c", "a", "b", "b", "a", "b", "a"]  # a single row is of class c
_rng = np.random.default_rng(7)
WEIGHTS = _rng.choice([0.25, 0.7, 1.0, 2.0, 3.1], ROWS)

COLOURS = ["red", "red", "blue", None, "red", "once", "blue", "only c", "red", None, "blue", "blue", "red", "red"]
SHAPES = ["round", "flat", None, "flat", "flat", "round", "round", "flat", "round", "flat", "flat", None, "flat", "odd"]
SIZES = [1.5, 2.5, 3.25, None, 0.5, 2.0, 1.0, -4.0, 2.75, 3.5, 8.0, 1.25, None, 0.75]
WEIGHED = [1e3 + x for x in (3.0, 1.0, 2.0, 2.0, 5.0, 4.0, 1.5, 2.5, 0.5, 6.0, 3.5, 2.0, 1.0, 7.0)]
VISITS = [1, 0, 3, 2, None, 7, 0, 1, 2, 4, 3, 0, 5, 1]
MEMBERS = [True, False, True, None, False, False, True, False, True, True, False, True, True, False]
BAGS = _rng.poisson(0.7, (ROWS, 6)).astype(float)
BAGS[:, 4], BAGS[:, 5], BAGS[2] = 2 * np.eye(ROWS)[5], np.eye(ROWS)[7], 0.0  # words of one row each, a row of none

# What a table holds, and which families its columns have.
KINDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "labels": ({"colour": COLOURS, "shape": SHAPES}, {}),
    "labels, overall": (
        {"colour": COLOURS, "shape": SHAPES},
        {name: nv.Categorical(spread="overall") for name in ("colour", "shape")},
    ),
    "levels": (
        {"colour": COLOURS, "shape": SHAPES, "visits": VISITS},
        {"colour": nv.Ordinal(levels=["blue", "once", "red", "only c", "never"]), "visits": nv.Ordinal(tie=2.0)},
    ),
    "flags": ({"member": MEMBERS, "visits": VISITS}, {"member": "bernoulli", "visits": "bernoulli"}),
    "numbers": ({"size": SIZES, "weight": WEIGHED}, {}),
    "numbers with ε": ({"size": SIZES, "weight": WEIGHED}, {"size": nv.Gaussian(epsilon=0.5)}),
    "bins": (
        {"size": SIZES, "weight": WEIGHED},
        {"size": nv.Bins(cuts=[0.9, 2.2, 5.0, 6.0]), "weight": nv.Bins(cuts=[1002.2], smoothing=2.0)},
    ),
    "events": ({"visits": VISITS}, {"visits": "poisson"}),
    "words": ({"words": sparse.csr_array(BAGS)}, {}),
    "complement": ({"words": sparse.csr_array(BAGS)}, {"words": nv.Words(complement=True)}),
    "complement, normed": ({"words": sparse.csr_array(BAGS)}, {"words": nv.Words(complement=True, norm=True)}),
    "many flags": ({"words": sparse.csr_array(BAGS)}, {"words": nv.Bernoulli()}),
    "vectors": ({"words": BAGS + 0.5}, {"words": "gaussian"}),
    "all": (
        {"colour": COLOURS, "size": SIZES, "words": sparse.csr_array(BAGS), "visits": VISITS, "member": MEMBERS,
         "shape": SHAPES, "weight": WEIGHED},
        {"visits": "poisson", "member": "bernoulli", "shape": nv.Categorical(smoothing=2.5)},
    ),
}  # fmt: skip

ESTIMATES = [("mle", 1.0), ("map", 1.0), ("map", 2.5), ("bayes", 0.0), ("bayes", 0.3), ("bayes", 1.0)]
SETTINGS = [
    {"estimate": estimate, "smoothing": smoothing, "prior_smoothing": smoothing, "missing": missing, "unseen": unseen}
    for estimate, smoothing in ESTIMATES
    for missing in ("skip", "value")
    for unseen in ("skip", "smooth")
]
NOT = ("labels, overall", "map")  # an m-estimate has no mode
CASES = [(kind, settings) for kind in KINDS for settings in SETTINGS if (kind, settings["estimate"]) != NOT]


def name_of(case: Any) -> str:
    """Return what a case is called in the list of tests."""
    return case if isinstance(case, str) else " ".join(str(v) for v in case.values()) if isinstance(case, dict) else "x"


def learned(kind: str, settings: dict[str, Any], weights: Any = None, **more: Any) -> tuple[Any, dict[str, Any]]:
    """Return a classifier that was shown a table, and the table."""
    table, families = KINDS[kind]
    return nv.NaiveBayes(families=families, **settings, **more).fit(table, LABELS, sample_weight=weights), table


def some(table: dict[str, Any], which: Any) -> dict[str, Any]:
    """Return some rows of a table."""
    at = np.asarray(which)
    return {n: [v[i] for i in at] if isinstance(v, list) else v[at] for n, v in table.items()}
