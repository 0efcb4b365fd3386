"""JSON of a request → rows as dicts, refused with a sentence where they are none."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, NoReturn

from .._types import CellLike, Json, JsonObject, Label
from ..data.schema import Schema, likely
from .limits import Limits
from .problems import Problem

SCALARS = frozenset((str, float, int, bool, type(None)))
NOUNS: dict[type, str] = {dict: "an object", list: "a list"}

JsonRow = dict[str, CellLike]


class DuplicateName(ValueError):
    """An object of JSON that has a name twice."""


def _members(pairs: list[tuple[str, Json]]) -> JsonObject:
    """Return an object of JSON; RFC 8259 leaves open what a name means that is there twice, so it is refused."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise DuplicateName(next(name for name in names if names.count(name) > 1))
    return found


def _no_number(text: str) -> NoReturn:
    raise Problem(400, f"{text} is not JSON; write null where a value is missing.")


DECODER = json.JSONDecoder(object_pairs_hook=_members, parse_constant=_no_number)


def parsed_json(body: bytes) -> Json:
    """Return the value of a JSON text; whatever is none is a problem."""
    try:
        data = DECODER.decode(body.decode())
    except DuplicateName as error:
        raise Problem(400, f"The name {str(error)!r} is there twice in one object.", column=str(error)) from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise Problem(400, f"The body is not JSON: {error.msg} ({where}).") from None
    except UnicodeDecodeError as error:
        raise Problem(400, f"The body is not UTF-8, at byte {error.start}.") from None
    except ValueError:
        raise Problem(400, "The body holds a whole number of thousands of digits.") from None
    except RecursionError:
        raise Problem(400, "The body is nested too deeply; a row is one object of single values.") from None
    if b"\\u" in body and b"\\ud" in body.lower():
        _check_surrogates(data)
    return data


def _check_surrogates(data: Json) -> None:
    """Refuse half characters: an escape of one half of a pair of UTF-16, which no text may hold."""
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise Problem(400, "A text holds half a character: an escape such as \\ud800 needs its other half.") from None


class RequestRows(NamedTuple):
    """The rows of a request."""

    rows: list[JsonRow]
    alone: bool  # whether the request was one row, and not a list of them
    more: JsonObject  # what else the request says


@dataclass(frozen=True)
class RowReader:
    """Reads the rows of requests to one model.

    Parameters
    ----------
    names : frozenset of str
        The columns that every row has.
    others : frozenset of str
        Columns that a row may have beside them: the classes, the weights, and those that are counted but not used.
    times : tuple of str
        Columns of times that were no texts when they were learned; JSON has no times but texts.
    """

    names: frozenset[str]
    others: frozenset[str]
    times: tuple[str, ...]
    order: tuple[str, ...]

    @classmethod
    def of_schema(cls, used: Schema, counted: Schema) -> RowReader:
        """Return the reader of rows of a model that uses some columns of those that were counted."""
        times = tuple(column.name for column in used if column.type == "time" and not column.of_texts)
        known = {*counted.names, counted.target, counted.weight}
        others = frozenset(name for name in known if name is not None and name not in used)
        return cls(frozenset(used.names), others, times, used.names)

    def read(self, body: bytes, limits: Limits, options: Mapping[str, type] = {}) -> RequestRows:
        """Return the rows of a request: one object, or ``{"rows": [...]}`` with some options beside it."""
        data = parsed_json(body)
        if type(data) is dict and type(data.get("rows")) is not list:
            return RequestRows([self.checked_row(data, None)], True, {})
        if type(data) is not dict:
            found = NOUNS.get(type(data), "a single value")
            raise Problem(422, f'The body is {found}; send one row as an object, or {{"rows": [...]}}.')
        rows, more = data.pop("rows"), data
        self._check_size(rows, limits)
        for name in more:
            if name not in options:
                raise Problem(422, f"There is no option {name!r}{likely(name, (*options, 'rows'), 'options')}")
            if not isinstance(more[name], options[name]):
                raise Problem(422, f"The option {name!r} is no {NOUNS.get(options[name], 'class').split()[-1]}.")
        return RequestRows([self.checked_row(row, at) for at, row in enumerate(rows)], False, more)

    def _check_size(self, rows: list[Json], limits: Limits) -> None:
        """Refuse no rows, and too many."""
        if not rows:
            raise Problem(422, "There are no rows; send at least one.")
        if len(rows) > limits.rows:
            raise Problem(
                413, f"There are {len(rows):,} rows, and one request may have {limits.rows:,}; send fewer, or a file."
            )
        cells = len(rows) * max(len(self.names), 1)
        if cells > limits.cells:
            raise Problem(
                413, f"There are {cells:,} cells, and one request may have {limits.cells:,}; send fewer rows at once."
            )

    def checked_row(self, row: Json, at: int | None) -> JsonRow:
        """Return a row of single values in all columns of the model, and in no others."""
        if type(row) is not dict:
            found = NOUNS.get(type(row), "a single value")
            raise Problem(422, f"{_row_text(at)} is {found}; a row is an object of single values.", row=at)
        if row.keys() != self.names:
            self._check_names(row, at)
        values = row.values()
        if not SCALARS.issuperset(map(type, values)) or math.inf in values or -math.inf in values:
            self._refuse_cell(row, at)
        return self.with_times(row) if self.times else row

    def _check_names(self, row: JsonRow, at: int | None) -> None:
        """Refuse a row that lacks a column of the model, or has one that nobody knows."""
        for name in self.order:
            if name not in row:
                near = likely(name, tuple(set(row) - self.names))
                hint = near if "did you mean" in near else "; write null if its value is unknown."
                raise Problem(422, f"{_row_text(at)} has no column {name!r}{hint}", row=at, column=name)
        for name in row:
            if name not in self.names and name not in self.others:
                detail = (
                    f"{_row_text(at)} has a column {name!r}, which the model does not know{likely(name, self.order)}"
                )
                raise Problem(422, detail, row=at, column=name)

    def _refuse_cell(self, row: JsonRow, at: int | None) -> NoReturn:
        """Raise the problem of the first cell that is no single finite value."""
        for name, value in row.items():
            if type(value) not in SCALARS:
                detail = f"{_row_text(at)}, column {name!r} holds {NOUNS[type(value)]}; give a single value."
                raise Problem(422, detail, row=at, column=name)
            if value in (math.inf, -math.inf):
                detail = f"{_row_text(at)}, column {name!r} holds a number beyond 1e308; give a finite one, or null."
                raise Problem(422, detail, row=at, column=name)
        raise AssertionError("a cell was refused")

    def with_times(self, row: JsonRow) -> JsonRow:
        """Return the row with times for texts such as 2024-02-29T12:30:00; the library refuses what is none."""
        found = dict(row)
        for name in self.times:
            if isinstance(text := row[name], str):
                with suppress(ValueError):
                    found[name] = datetime.fromisoformat(text)
        return found


def _row_text(at: int | None) -> str:
    """Return the beginning of a sentence about a row."""
    return "The row" if at is None else f"Row {at}"


def label_place(labels: Mapping[Label, int], given: Json, column: str | None, at: int | None) -> int:
    """Return the place of a class; another is a problem that lists the classes."""
    try:
        if isinstance(given, bool) == any(isinstance(label, bool) for label in labels) and given in labels:
            return labels[given]
    except TypeError:
        pass  # a list or an object
    known = ", ".join(map(repr, list(labels)[:8])) + (", …" if len(labels) > 8 else "")
    text = json.dumps(given)[:100]
    raise Problem(422, f"{text} is not a class; the classes are {known}.", row=at, column=column, classes=list(labels))
