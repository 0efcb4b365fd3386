"""Labels as text and as JSON, so that each comes back with the type it had: 1, 1.0, True and "1" are four labels.

Where all labels of a column have one type, their texts are plain: ``1``, ``1.0``, ``true``, ``2026-02-28``. Where types
are mixed, each text is the label's JSON: ``1``, ``true``, ``"1"``. The missing label, ``None``, is null.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from importlib import import_module
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..._frames import is_of_pandas
from ..._types import CellLike, Json, Label
from ...errors import InvalidInput
from ...stats.axis import sort_key
from ..arrow_arrays import arrow_strings

MIXED = "mixed"
NUMPY_KINDS = "biufU"  # scalars of NumPy that count as Python's own: booleans, whole numbers, numbers, texts


class Kind(NamedTuple):
    """A type of labels: its name in files, how Python writes one as text, and what Arrow reads the texts as."""

    name: str
    text: Callable[[CellLike], str]
    arrow: pa.DataType


KINDS = {
    str: Kind("text", str, pa.large_string()),
    int: Kind("int", str, pa.int64()),
    float: Kind("float", repr, pa.float64()),
    bool: Kind("bool", lambda label: "true" if label else "false", pa.bool_()),
    date: Kind("date", date.isoformat, pa.date32()),
    datetime: Kind("datetime", datetime.isoformat, pa.timestamp("us")),
}
BY_NAME = {kind.name: kind for kind in KINDS.values()}


def python_labels_of(labels: Iterable[Label]) -> list[Label]:
    """Return the labels as values of Python's own types, if a file can hold them."""
    found = list(labels)
    return found if set(map(type, found)) == {str} else [plain_label(label) for label in found]


def plain_label(label: Label) -> Label:
    """Return one label as a value of Python's own types."""
    if isinstance(label, np.generic) and label.dtype.kind in NUMPY_KINDS:
        label = label.item()
    # A time zone has rules that a file cannot hold; a number that is none equals no label, not even itself.
    in_zone = isinstance(label, datetime) and label.tzinfo is not None
    if pandas_kind(label) and label == label:
        return label
    if label is not None and (type(label) not in KINDS or in_zone or label != label):
        raise InvalidInput(
            f"a file cannot hold the label {label!r} ({type(label).__name__}); "
            "labels may be text, numbers, True and False, dates, times without a zone, and pandas' periods and "
            "intervals of numbers."
        )
    return label


def pandas_kind(label: CellLike) -> str | None:
    """Return whether a label is an interval of numbers or a period of pandas, which JSON describes; None if neither."""
    if is_of_pandas(label, "Interval") and isinstance(label.left, (int, float, np.integer, np.floating)):
        return "interval"
    return "period" if is_of_pandas(label, "Period") else None


def encode_labels(labels: Iterable[Label]) -> tuple[str, pa.Array]:
    """Return the name of the type that all labels have, and their texts as an Arrow array."""
    values = python_labels_of(labels)
    types = {type(label) for label in values if label is not None}
    kind = KINDS.get(types.pop() if types else str) if len(types) < 2 else None
    if kind is KINDS[int] and not all(-(2**63) <= label < 2**63 for label in values if isinstance(label, int)):
        kind = None  # Arrow has no room for them; JSON has
    text = json_text if kind is None else kind.text
    try:
        texts = arrow_strings([None if label is None else text(label) for label in values])
    except UnicodeEncodeError as error:
        raise InvalidInput(f"a file cannot hold the text {error.object!r}: it is no valid Unicode.") from None
    return (MIXED if kind is None else kind.name), texts


def decode_labels(name: str, texts: pa.Array) -> Sequence[Label] | pa.Array:
    """Return the labels of these texts, an Arrow array or a tuple; they must be in order, so that each stands once."""
    if name == MIXED:
        labels = tuple(None if text is None else from_json(json.loads(text)) for text in texts.to_pylist())
        in_order = all(sort_key(a) < sort_key(b) for a, b in pairwise(labels))
    else:
        labels = texts.cast(BY_NAME[name].arrow)
        known = labels[: len(labels) - labels.null_count]
        in_order = known.null_count == 0 and labels.null_count < 2  # the missing one is the last
        in_order = in_order and pc.all(pc.less(known[:-1], known[1:])).as_py() is not False
        in_order = in_order and not (name == "float" and pc.any(pc.is_nan(known)).as_py())
    if not in_order:
        raise ValueError("labels are not in order")
    return labels


def to_json(label: CellLike) -> Json:
    """Return a label as JSON: itself, but for dates, times, intervals and periods, which name their type."""
    if pandas_kind(label) == "interval":
        return {"interval": [plain_label(label.left), plain_label(label.right), label.closed]}
    if pandas_kind(label) == "period":
        return {"period": [str(label), label.freqstr]}
    kind = KINDS.get(type(label))
    return {kind.name: kind.text(label)} if kind and isinstance(label, date) else label


def from_json(value: Json) -> Label:
    """Return the label that was written as this JSON."""
    if isinstance(value, dict):
        ((name, text),) = value.items()
        if name in ("interval", "period"):
            pandas = import_module("pandas")
            label: Label = pandas.Interval(*text) if name == "interval" else pandas.Period(*text)
            return label
        return {"date": date, "datetime": datetime}[name].fromisoformat(text)
    return plain_label(value)


def json_text(label: Label) -> str:
    """Return a label as the text of its JSON."""
    return json.dumps(to_json(label), ensure_ascii=False)


def labels_in_json(labels: Iterable[Label]) -> list[Json]:
    """Return labels as a list for JSON."""
    return [to_json(label) for label in python_labels_of(labels)]
