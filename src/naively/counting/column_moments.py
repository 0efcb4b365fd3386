"""Moments of single columns and of several columns counted as one matrix."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..stats import Axis, Moments


def moments_of_column(moments: Moments, at: int, name: str) -> Moments:
    """Return the moments of one of the columns, under its name."""
    parts = (part[:, at : at + 1] for part in (moments.n, moments.shift, moments.total, moments.squares))
    return Moments(moments.classes, Axis.declared([name]), *parts)


def joined_moments(columns: Sequence[Moments], classes: Axis) -> Moments:
    """Return the moments of several columns as those of a matrix."""
    laid = [column.on(classes) for column in columns]
    parts = zip(*((m.n, m.shift, m.total, m.squares) for m in laid), strict=True)
    return Moments(classes, Axis.numbered(len(columns)), *(np.concatenate(part, axis=1) for part in parts))
