"""Errors of requests as `application/problem+json` (RFC 9457)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from http import HTTPStatus

from .._types import JsonObject
from ..errors import NaivelyError

MEDIA_TYPE = "application/problem+json"
# Names of statuses as RFC 9110 has them; Python's vary by version.
TITLES = {413: "Content Too Large", 422: "Unprocessable Content"}


class Problem(Exception):
    """A request that is refused: its status, what was found, and what to do.

    Parameters
    ----------
    status : int
        The status of the answer.
    detail : str
        One or two sentences.
    headers : dict, optional
        More headers of the answer.
    **fields : object
        More members of the JSON object, such as `row` and `column`; those that are None are left out.
    """

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None, **fields: object) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, dict(headers or {})
        self.fields = {name: value for name, value in fields.items() if value is not None}

    def to_json(self) -> JsonObject:
        """Return the members of the JSON object."""
        title = TITLES.get(self.status) or HTTPStatus(self.status).phrase
        return {"type": "about:blank", "title": title, "status": self.status, "detail": self.detail, **self.fields}

    def content(self) -> bytes:
        """Return the JSON object as bytes; characters that UTF-8 cannot hold are escaped."""
        return json.dumps(self.to_json(), default=str).encode()


def problem_of_error(error: NaivelyError, *, row: int | None = None, shown: Mapping[str, str] | None = None) -> Problem:
    """Return the problem of rows that the library refuses, with the library's own sentence.

    `row` is where an error about one row of many was found. `shown` maps paths of the server, which are nobody's
    business, to what stands for them.
    """
    detail, row = str(error), error.row if row is None else row
    for own, instead in (shown or {}).items():
        detail = detail.replace(own, instead)
    value = error.value if isinstance(error.value, (str, int, float, bool)) else None
    if value != value or value in (math.inf, -math.inf):  # JSON has no such numbers
        value = str(value)
    return Problem(422, detail, row=row, line=error.line, column=error.column, value=value, classes=error.classes)
