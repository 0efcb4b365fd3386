"""The first look at numbers that are counted in bins: where to cut them, from some rows without their classes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..families import Bins, Gaussian
from ..read.frame import Frame
from ..schema import Column, Schema
from ..statistics.axis import Floats
from .sample import chosen


def uncut(schema: Schema) -> tuple[Column, ...]:
    """Return the columns that are counted in bins nobody has cut yet, as columns of numbers."""
    found = (column for column in schema if isinstance(column.family, Bins) and column.family.cuts is None)
    return tuple(replace(column, family=Gaussian()) for column in found)


def cut(schema: Schema, frame: Frame, weights: Floats | None) -> Schema:
    """Return the schema with all bins cut: about equally many of these rows fall into each."""
    names = [column.name for column in uncut(schema)]
    if not names:
        return schema
    at = chosen(frame.rows, weights)
    w = np.ones(len(at)) if weights is None else weights[at]
    families = {}
    for name in names:
        values = frame.columns[name]
        values.check(schema[name])
        families[name] = schema[name].family.cut(values.numbers(0, frame.rows)[at], w)  # type: ignore[attr-defined]
    return schema.with_families(families)
