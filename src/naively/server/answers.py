"""Rows → predictions and explanations as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from .._types import Floats, Json, JsonObject
from ..data.dict_rows import FEW
from ..errors import InvalidInput
from ..estimator.answers import evidence_of, probabilities_of
from ..estimator.predict_files import decision_columns, evidence_of_decisions
from ..explain.evidence_json import evidence_json, finite
from .exchange import Problem, problem_of_error
from .request_rows import JsonRow, RequestRows, label_index
from .served_model import Snapshot

Result = TypeVar("Result")


def predictions(snapshot: Snapshot, request: RequestRows) -> bytes:
    """Return the predictions of rows."""
    texts = _texts(
        snapshot, np.concatenate(in_blocks(request.rows, lambda rows: probabilities_of(snapshot.fitted, rows)))
    )
    end = f', "revision": {snapshot.revision}}}'
    return (texts[0][:-1] + end if request.alone else f'{{"answers": [{", ".join(texts)}]{end}').encode()


def _texts(snapshot: Snapshot, probabilities: Floats) -> list[str]:
    """Return each prediction as a JSON object.

    Without costs, the text is joined from strings: this is the response to thousands of requests a second.
    """
    if snapshot.has_costs:
        columns = {
            name: column.to_pylist() for name, column in decision_columns(snapshot.fitted, probabilities, True).items()
        }
        names = [str(label) for label in snapshot.labels]
        columns["probabilities"] = [dict(zip(names, each, strict=True)) for each in probabilities.tolist()]
        rows = (dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True))
        return [json.dumps(finite(row), default=str) for row in rows]
    texts = []
    for each in probabilities.tolist():
        highest = max(each)
        by_class = ", ".join([f"{name}: {p!r}" for name, p in zip(snapshot.json_names, each, strict=True)])
        label = snapshot.json_labels[each.index(highest)]
        texts.append(f'{{"answer": {label}, "probability": {highest!r}, "probabilities": {{{by_class}}}}}')
    return texts


def explanations(snapshot: Snapshot, request: RequestRows, cells: int) -> bytes:
    """Return the contributions of each column to the log joint of each class, for each row; they add up."""
    fitted, against = snapshot.fitted, request.more.get("against")
    size = len(request.rows) * len(snapshot.schema) * len(snapshot.labels)
    if size > cells:
        raise Problem(413, f"There are {size:,} contributions, and one request may have {cells:,}; send fewer rows.")
    rival = None if against is None else snapshot.labels[label_index(snapshot.labels, snapshot.indices, against)]

    def explained(rows: list[JsonRow]) -> list[JsonObject]:
        evidence, labels = evidence_of_decisions(fitted, evidence_of(fitted, rows, rival), rival)
        return [{"answer": labels[k], **evidence_json(evidence, k, row)} for k, row in enumerate(rows)]

    each = [one for block in in_blocks(request.rows, explained) for one in block]
    result: Json = each[0] if request.alone else {"explanations": each}
    return json.dumps({**result, "revision": snapshot.revision}, default=str).encode()


def in_blocks(rows: list[JsonRow], call: Callable[[list[JsonRow]], Result]) -> list[Result]:
    """Return the results for blocks of rows, so few that each is read value by value, as a single row is.

    The problem of a refused block names the row.
    """
    results = []
    for begin in range(0, len(rows), FEW):
        block = rows[begin : begin + FEW]
        try:
            results.append(call(block))
        except InvalidInput as refused:
            for k, row in enumerate(block, begin):
                try:
                    call([row])
                except InvalidInput as error:
                    raise problem_of_error(error, k) from None
            raise problem_of_error(refused) from None
    return results
