"""Rows → answers as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from .._types import Floats, Label
from ..data.dict_rows import FEW
from ..errors import InvalidInput
from ..estimator.answers import probabilities_of
from ..estimator.fitted_classifier import FittedClassifier
from ..estimator.predict_files import decision_columns
from .problems import problem_of_error
from .request_rows import JsonRow

Result = TypeVar("Result")


class AnswerWriter:
    """Writes answers of one model as JSON.

    Where nothing but probabilities decides, the text is put together from parts made before: this is the answer to
    thousands of requests a second.

    Parameters
    ----------
    fitted : FittedClassifier
        The model.
    labels : list
        Its classes.
    revision : int
        The number that each answer has.
    """

    def __init__(self, fitted: FittedClassifier, labels: list[Label], revision: int) -> None:
        self.fitted, parameters = fitted, fitted.parameters
        self.plain = parameters.cost is None and parameters.reject is None
        self.answers = [json.dumps(label, default=str) for label in labels]
        self.names = [json.dumps(str(label)) for label in labels]
        self.end = f', "revision": {revision}}}'

    def of_row(self, row: JsonRow) -> bytes:
        """Return the answer to one row."""
        return (self._texts(self._asked([row]))[0][:-1] + self.end).encode()

    def of_rows(self, rows: list[JsonRow]) -> bytes:
        """Return the answers to rows."""
        texts = ", ".join(self._texts(self._asked(rows)))
        return f'{{"answers": [{texts}]{self.end}'.encode()

    def _asked(self, rows: list[JsonRow]) -> Floats:
        """Return the probabilities of each row and class."""
        if len(rows) == 1:
            found: Floats = about_rows(rows, 0, lambda some: probabilities_of(self.fitted, some[0]))
            return found
        parts = in_parts(rows, lambda some: probabilities_of(self.fitted, some))
        return np.concatenate(parts)

    def _texts(self, probabilities: Floats) -> list[str]:
        """Return each answer as a JSON object."""
        if not self.plain:
            return self._decided(probabilities)
        texts = []
        for each in probabilities.tolist():
            best = max(each)
            by_class = ", ".join([f"{name}: {p!r}" for name, p in zip(self.names, each, strict=True)])
            answer = self.answers[each.index(best)]
            texts.append(f'{{"answer": {answer}, "probability": {best!r}, "probabilities": {{{by_class}}}}}')
        return texts

    def _decided(self, probabilities: Floats) -> list[str]:
        """Return each answer, which costs decide, with what it is expected to cost."""
        columns = {
            name: found.to_pylist() for name, found in decision_columns(self.fitted, probabilities, True).items()
        }
        labels = [json.loads(name) for name in self.names]
        texts = []
        for at, each in enumerate(probabilities.tolist()):
            found = {name: values[at] for name, values in columns.items()}
            found["probabilities"] = dict(zip(labels, each, strict=True))
            texts.append(json.dumps(finite_json(found), default=str))
        return texts


def in_parts(rows: list[JsonRow], ask: Callable[[list[JsonRow]], Result]) -> list[Result]:
    """Return what is asked about rows, a few at a time: each is read value by value, as a row alone is."""
    return [about_rows(rows[at : at + FEW], at, ask) for at in range(0, len(rows), FEW)]


def about_rows(rows: list[JsonRow], begin: int, ask: Callable[[list[JsonRow]], Result]) -> Result:
    """Return what is asked about a few rows; an error names the one that it is about."""
    try:
        return ask(rows)
    except InvalidInput as error:
        if len(rows) == 1:
            raise problem_of_error(error, row=begin) from None
        for at, row in enumerate(rows):
            try:
                ask([row])
            except InvalidInput as found:
                raise problem_of_error(found, row=begin + at) from None
        raise problem_of_error(error) from None


def finite_json(data: Any) -> Any:
    """Return data with null for what JSON has no number for."""
    if isinstance(data, dict):
        return {name: finite_json(value) for name, value in data.items()}
    if isinstance(data, list):
        return [finite_json(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data
