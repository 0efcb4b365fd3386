"""The model as plain tables, for whoever scores rows without Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import InvalidSetting
from ..errors.message import Setting

if TYPE_CHECKING:
    from ..flat import FlatModel
    from .fitted_classifier import FittedClassifier


def flattened(fitted: FittedClassifier, words: int | None) -> FlatModel:
    """Return the model that answers, as plain tables."""
    from ..flat.flattening import flat_model

    if words is not None and (isinstance(words, bool) or not isinstance(words, int) or words < 0):
        raise InvalidSetting(Setting("words", words), " is no number of words; give 0 or more, or None for all.")
    return flat_model(fitted.model, words=words)
