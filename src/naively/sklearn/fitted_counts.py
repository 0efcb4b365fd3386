"""What a fitted drop-in classifier holds: its counts, its parameters, and what was estimated from them."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from .._types import AnyArray, Floats
from ..families import Family, Settings
from ..model.scorer import NaiveModel
from ..stats import Counts, CountsAccumulator

# The parameters of a classifier by name, each of its own type.
Parameters: TypeAlias = dict[str, Any]

T = TypeVar("T")

IMMUTABLE = (type(None), bool, int, float, str)


class Assumptions(NamedTuple):
    """What a fitted classifier estimates with, as its parameters stood when it was last fitted."""

    family: Family
    settings: Settings
    log_prior: Floats
    fallback: Floats


class FittedCounts:
    """The counts of a fitted classifier, and what was last estimated from them (made anew when they change)."""

    def __init__(self, counts: CountsAccumulator, classes: AnyArray, dtype: npt.DTypeLike) -> None:
        self.accumulator, self.classes, self.dtype = counts, classes, dtype
        self.changed({})

    def changed(self, parameters: Parameters) -> None:
        """Note that rows were added, and the parameters to estimate with from now on."""
        self.parameters = parameters
        self.assumptions: Assumptions | None = None
        self.model: NaiveModel | None = None
        self._counts: Counts | None = None

    @property
    def counts(self) -> Counts:
        """Everything counted so far."""
        if self._counts is None:
            self._counts = self.accumulator.value()
        return self._counts


def unshared(parameter: T) -> T:
    """Return a parameter that nobody else can change."""
    return parameter if type(parameter) in IMMUTABLE else deepcopy(parameter)


def float_type(dtype: np.dtype[Any]) -> np.dtype[Any]:  # of any array
    """Return the type of answers to numbers of this type: their own if it is float32 or float64."""
    return dtype.newbyteorder("=") if dtype.kind == "f" and dtype.itemsize in (4, 8) else np.dtype(np.float64)
