"""Rows → explanations as JSON: contributions that add up."""

from __future__ import annotations

import json

import numpy as np

from .._types import Floats, JsonObject, Label
from ..estimator.answers import evidence_of
from ..estimator.predict_files import evidence_of_decisions
from ..explain.evidence import Evidence
from .answer_writer import finite_json, in_parts
from .problems import Problem
from .request_rows import JsonRow, RequestRows, label_place
from .served_model import Snapshot


def explanation_json(snapshot: Snapshot, asked: RequestRows, cells: int) -> bytes:
    """Return the contributions to the log joint of each class, for each row; they add up."""
    fitted, rows = snapshot.fitted, asked.rows
    size = len(rows) * len(snapshot.schema) * len(snapshot.labels)
    if size > cells:
        raise Problem(413, f"There are {size:,} contributions, and one request may have {cells:,}; send fewer rows.")
    against = asked.more.get("against")
    rival = None if against is None else _label(snapshot, against)

    def explained(some: list[JsonRow]) -> list[JsonObject]:
        evidence, answers = evidence_of_decisions(fitted, evidence_of(fitted, some, rival), rival)
        return [row_evidence(evidence, at, answers[at], row) for at, row in enumerate(some)]

    found = [one for part in in_parts(rows, explained) for one in part]
    if asked.alone:
        return json.dumps({**found[0], "revision": snapshot.revision}, default=str).encode()
    return json.dumps({"explanations": found, "revision": snapshot.revision}, default=str).encode()


def _label(snapshot: Snapshot, given: object) -> Label:
    """Return the class that a request names."""
    return snapshot.labels[label_place({label: k for k, label in enumerate(snapshot.labels)}, given, None, None)]


def row_evidence(evidence: Evidence, at: int, answer: Label, row: JsonRow) -> JsonObject:
    """Return the evidence of one row: `base` and the `scores` of all `columns` add up to `log_joint`."""
    names, pairs = list(map(str, evidence.classes)), evidence.provenance.pairs or {}

    def by_class(numbers: Floats) -> JsonObject:
        return dict(zip(names, finite_json(numbers.tolist()), strict=True))

    columns = []
    for place, name in enumerate(evidence.columns):
        of: JsonObject = {"columns": list(pairs[name])} if name in pairs else {"value": row.get(name)}
        columns.append({"name": name, **of, "scores": by_class(evidence.scores[at, place])})
    return {
        "answer": answer,
        "against": evidence.classes[int(evidence.against[at])],
        "probabilities": by_class(evidence.probabilities[at]),
        "log_joint": by_class(evidence.log_joint[at]),
        "base": by_class(np.asarray(evidence.base)),
        "columns": columns,
        "floor": None if evidence.floor is None else by_class(np.asarray(evidence.floor)),
    }
