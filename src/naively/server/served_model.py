"""A model as it is served: JSON of a request becomes its rows; snapshots that requests hold on to; its file."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, NoReturn

from .._types import CellLike, Json, JsonObject, Label
from ..data.schema import Schema, likely
from ..errors import InvalidInput
from ..estimator.fitted_classifier import FittedClassifier
from ..estimator.load import load_model
from .exchange import Problem
from .guard import ServerSettings

SCALARS = frozenset((str, float, int, bool, type(None)))
NOUNS: dict[type, str] = {dict: "an object", list: "a list"}

JsonRow = dict[str, CellLike]


# -- the JSON of a request ---------------------------------------------------------------------------------------------


def _members(pairs: list[tuple[str, Json]]) -> JsonObject:
    """Return an object of JSON; RFC 8259 leaves open what a repeated name means, so it is refused."""
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        name = next(name for name in names if names.count(name) > 1)
        raise Problem(400, f"The name {name!r} is there twice in one object.", column=name)
    return members


def _no_number(text: str) -> NoReturn:
    raise Problem(400, f"{text} is not JSON; write null where a value is missing.")


DECODER = json.JSONDecoder(object_pairs_hook=_members, parse_constant=_no_number)


def parsed_json(body: bytes) -> Json:
    """Return the value of a JSON text; anything else is a problem."""
    try:
        data = DECODER.decode(body.decode())
        if b"\\u" in body and b"\\ud" in body.lower():  # an escape may be half a character, which no text may hold
            json.dumps(data, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise Problem(400, f"The body is not JSON: {error.msg} ({where}).") from None
    except UnicodeDecodeError as error:
        raise Problem(400, f"The body is not UTF-8, at byte {error.start}.") from None
    except UnicodeEncodeError:
        raise Problem(400, "A text holds half a character: an escape such as \\ud800 needs its other half.") from None
    except ValueError:
        raise Problem(400, "The body holds a whole number of thousands of digits.") from None
    except RecursionError:
        raise Problem(400, "The body is nested too deeply; a row is one object of single values.") from None
    return data


class RequestRows(NamedTuple):
    """The rows of a request."""

    rows: list[JsonRow]
    alone: bool  # whether the request was one row, and not a list of rows
    more: JsonObject  # the options next to a list of rows


class RowReader:
    """Reads the rows of requests to a model that uses some of the columns that were counted.

    Parameters
    ----------
    used, counted : Schema
        The columns that every row has, and those that it may have: the target, the weights, and those not in use.
    """

    def __init__(self, used: Schema, counted: Schema) -> None:
        self.order, self.names = used.names, frozenset(used.names)
        self.others = {
            name for name in (*counted.names, counted.target, counted.weight) if name is not None
        } - self.names
        # Times that were not read from texts at fit; JSON has times as texts only.
        self.times = [column.name for column in used if column.type == "time" and not column.of_texts]

    def read(self, body: bytes, settings: ServerSettings, options: Mapping[str, type] = {}) -> RequestRows:
        """Return the rows of a request: one object, or ``{"rows": [...]}`` with some options next to it."""
        data = parsed_json(body)
        if type(data) is not dict:
            what = NOUNS.get(type(data), "a single value")
            raise Problem(422, f'The body is {what}; send one row as an object, or {{"rows": [...]}}.')
        if type(data.get("rows")) is not list:
            return RequestRows([self.checked_row(data, None)], True, {})
        rows = data.pop("rows")
        self._check_size(len(rows), settings)
        for name, value in data.items():
            if name not in options:
                raise Problem(422, f"There is no option {name!r}{likely(name, (*options, 'rows'), 'options')}")
            if not isinstance(value, options[name]):
                raise Problem(422, f"The option {name!r} is no {NOUNS.get(options[name], 'class').split()[-1]}.")
        return RequestRows([self.checked_row(row, index) for index, row in enumerate(rows)], False, data)

    def _check_size(self, rows: int, settings: ServerSettings) -> None:
        """Refuse no rows, and too many."""
        if not rows:
            raise Problem(422, "There are no rows; send at least one.")
        cells = rows * max(len(self.names), 1)
        for count, most, what in ((rows, settings.rows, "rows"), (cells, settings.cells, "cells")):
            if count > most:
                advice = "send fewer, or a file." if what == "rows" else "send fewer rows at once."
                raise Problem(413, f"There are {count:,} {what}, and one request may have {most:,}; {advice}")

    def checked_row(self, row: Json, index: int | None) -> JsonRow:
        """Return a row of single values in all columns of the model, and in no others."""
        if type(row) is not dict:
            what = NOUNS.get(type(row), "a single value")
            raise Problem(422, f"{_row_text(index)} is {what}; a row is an object of single values.", row=index)
        if row.keys() != self.names:
            self._check_names(row, index)
        values = row.values()
        if not SCALARS.issuperset(map(type, values)) or math.inf in values or -math.inf in values:
            _refuse_cell(row, index)
        return self.with_times(row)

    def _check_names(self, row: JsonRow, index: int | None) -> None:
        """Refuse a row that lacks a column of the model, or has an unknown one."""
        for name in self.order:
            if name not in row:
                near = likely(name, tuple(set(row) - self.names))
                hint = near if "did you mean" in near else "; write null if its value is unknown."
                raise Problem(422, f"{_row_text(index)} has no column {name!r}{hint}", row=index, column=name)
        for name in row:
            if name not in self.names and name not in self.others:
                detail = f"has a column {name!r}, which the model does not know{likely(name, self.order)}"
                raise Problem(422, f"{_row_text(index)} {detail}", row=index, column=name)

    def with_times(self, row: JsonRow) -> JsonRow:
        """Return the row with times for texts such as 2024-02-29T12:30:00; the library refuses other texts."""
        if not self.times:
            return row
        converted = dict(row)
        for name in self.times:
            if isinstance(text := row[name], str):
                with suppress(ValueError):
                    converted[name] = datetime.fromisoformat(text)
        return converted


def _refuse_cell(row: JsonRow, index: int | None) -> None:
    """Raise the problem of the first cell that is not a single finite value."""
    for name, value in row.items():
        if type(value) not in SCALARS:
            what = f"{NOUNS[type(value)]}; give a single value."
        elif value in (math.inf, -math.inf):
            what = "a number beyond 1e308; give a finite one, or null."
        else:
            continue
        raise Problem(422, f"{_row_text(index)}, column {name!r} holds {what}", row=index, column=name)


def _row_text(index: int | None) -> str:
    """Return the beginning of a sentence about a row."""
    return "The row" if index is None else f"Row {index}"


def label_index(
    labels: list[Label], indices: Mapping[Label, int], given: Json, column: str | None = None, row: int | None = None
) -> int:
    """Return the index of a class label; another value is a problem that lists the classes."""
    index = indices.get(given, -1) if type(given) in SCALARS else -1
    if index >= 0 and isinstance(given, bool) == isinstance(labels[index], bool):  # 1 == True
        return index
    listed = ", ".join(map(repr, labels[:8])) + (", …" if len(labels) > 8 else "")
    detail = f"{json.dumps(given)[:100]} is not a class; the classes are {listed}."
    raise Problem(422, detail, row=row, column=column, classes=labels)


# -- models ------------------------------------------------------------------------------------------------------------


class Snapshot:
    """A model that never changes; a request is answered by the one that was there when it came.

    All that requests need of it is made here, and not while the first of them waits.

    Parameters
    ----------
    name : str
        What the model is called in addresses.
    fitted : FittedClassifier
        The model.
    revision : int
        Counts up whenever another model takes its place.
    """

    def __init__(self, name: str, fitted: FittedClassifier, revision: int = 0) -> None:
        self.name, self.fitted, self.revision = name, fitted, revision
        self.schema = fitted.model.schema  # of the columns in use
        self.has_costs = fitted.parameters.cost is not None or fitted.parameters.reject is not None
        self.labels: list[Label] = fitted.classes.tolist()
        self.indices = {label: k for k, label in enumerate(self.labels)}
        self.json_labels = [json.dumps(label, default=str) for label in self.labels]
        self.json_names = [json.dumps(str(label)) for label in self.labels]
        self.reader = RowReader(self.schema, fitted.schema)
        self.texts: dict[str, bytes] = {}  # made when somebody requests them first, such as the page


class ServedModel:
    """A model that is served: its current snapshot, which is replaced when its file is.

    Parameters
    ----------
    path : Path
        Its file, whose name without the ending is that of the model in addresses.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, path.name.removesuffix(".parquet")
        self.stamp = self.stamp_now()
        self.now = self._loaded(0)

    def stamp_now(self) -> tuple[int, int, int] | None:
        """Return what tells that the file was replaced: its inode, size and time; None if there is no file."""
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns

    def _loaded(self, revision: int) -> Snapshot:
        fitted = load_model(self.path)
        for column in fitted.schema:
            if column.type == "vector":
                raise InvalidInput(
                    f"Column {column.name!r} of {str(self.path)!r} holds vectors, which a request cannot; serve a "
                    "model of single values and texts.",
                    path=str(self.path),
                    column=column.name,
                )
        return Snapshot(self.name, fitted, revision)

    def is_replaced(self) -> bool:
        """Tell whether the file is not the one that was loaded, or failed to load, last."""
        return self.stamp_now() not in (None, self.stamp)

    def reload(self, log: Callable[..., None]) -> None:
        """Load the file again; if that fails, the model stays as it was."""
        self.stamp = self.stamp_now()
        try:
            self.now = self._loaded(self.now.revision + 1)
        except (InvalidInput, OSError) as error:
            log("reload failed", model=self.name, reason=str(error))
            return
        log("reloaded", model=self.name, revision=self.now.revision)


def open_models(paths: list[Path]) -> dict[str, ServedModel]:
    """Return models by name, in their order; two of the same name are refused."""
    models: dict[str, ServedModel] = {}
    for path in paths:
        served = ServedModel(path)
        if served.name in models:
            first = str(models[served.name].path)
            raise InvalidInput(
                f"{first!r} and {str(path)!r} would both be called {served.name!r}; rename one of them.", path=str(path)
            )
        models[served.name] = served
    return models
