"""The static part of the tab Words."""

from __future__ import annotations

from ..markup.tags import Html
from .page_data import PageData
from .page_strings import PageStrings


def words_section(data: PageData, strings: PageStrings) -> Html | None:
    """Return the static part of the tab Words; None where the model has no texts."""
    return None
