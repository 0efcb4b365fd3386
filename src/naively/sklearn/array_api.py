"""Arrays of other libraries (PyTorch, CuPy, …), where scikit-learn is configured to accept them.

Under ``sklearn.config_context(array_api_dispatch=True)`` they are brought to NumPy, counted and scored as ever, and the
answers go back to where the rows came from. Everywhere else, and for NumPy's own arrays, nothing happens here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator
from sklearn.utils._array_api import _convert_to_numpy, get_namespace, get_namespace_and_device

from .._types import AnyArray, TableLike
from ..errors import InvalidInput

Foreign: TypeAlias = Any  # an array of a library that is not imported here
Method = TypeVar("Method", bound=Callable[..., Any])  # of an estimator, about rows


def is_foreign(x: TableLike) -> bool:
    """Tell whether x is an array of another library that shall be answered in kind."""
    let_in = get_config()["array_api_dispatch"]
    return bool(let_in) and not isinstance(x, np.ndarray) and hasattr(x, "__dlpack__") and hasattr(x, "device")


def to_numpy(x: TableLike) -> TableLike:
    """Return a foreign array as NumPy's, anything else as it is."""
    return _convert_to_numpy(x, get_namespace(x)[0]) if is_foreign(x) else x


def empty_like_input(x: TableLike) -> Foreign | None:
    """Return an empty array at the same place (library, device, type), None if x is not foreign.

    A library is a module and cannot be pickled; an empty array of it can.
    """
    return x[:0, ...] if is_foreign(x) else None


def to_place_of(answer: AnyArray, place: Foreign | None) -> AnyArray | Foreign:
    """Return NumPy's array as one at the place; texts can live in NumPy alone."""
    if place is None or answer.dtype.kind not in "biuf":
        return answer
    with config_context(array_api_dispatch=True):
        library, _, device = get_namespace_and_device(place)
    return library.asarray(answer, device=device)


def answers_in_input_library(method: Method) -> Method:
    """Make a method that takes rows answer with an array like them; they must be like those it was fitted with."""

    @wraps(method)
    def answer(self: BaseEstimator, X: TableLike) -> AnyArray | Foreign:
        place, fitted = empty_like_input(X), self._place
        if get_config()["array_api_dispatch"] and get_namespace_and_device(place) != get_namespace_and_device(fitted):
            raise InvalidInput(
                f"Inputs passed to {type(self).__name__}.{method.__name__}() must use the same namespace and the same "
                f"device as those passed to fit(): found {type(X).__name__}, fitted with "
                f"{'NumPy' if fitted is None else type(fitted).__name__}."
            )
        return to_place_of(method(self, X), place)

    return cast(Method, answer)  # it takes and returns what the method does
