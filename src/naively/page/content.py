"""What a page shows, as plain values, and the texts of its languages; scripts and static parts read the same."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from .._types import JsonObject, Label
from ..errors import InvalidSetting
from ..errors.message import Setting
from .pictures import CalibrationPoint
from .style import ASSETS
from .tags import Child

LANGUAGES = ("en", "zh")


@cache
def page_texts(language: str) -> dict[str, str]:
    """Return the texts of a language by their keys."""
    if language not in LANGUAGES:
        raise InvalidSetting(
            Setting("language", language), f" is no language of the page; those are {list(LANGUAGES)}."
        )
    files = [json.loads(path.read_text("utf-8")) for path in sorted((ASSETS / "strings").glob("*.json"))]
    return {key: versions[language] for texts in files for key, versions in texts.items()}


class ContributionLine(NamedTuple):
    """A line of contributions: what it is, its name and value, its log-odds, and what is behind it.

    The log-odds are NaN if the line contributes nothing, or if both classes are ruled out. The names of lines that
    detail the line above them begin with spaces.
    """

    kind: str
    name: str
    value: str
    lead: float
    note: str = ""


class RowView(NamedTuple):
    """One row and its prediction: the class, the class it is compared with, and the contributions that add up."""

    predicted: int
    against: int
    probabilities: Sequence[float]
    lines: Sequence[ContributionLine]
    notes: Sequence[str] = ()
    texts: Sequence[Child] = ()  # their words colored
    digits: int = 2
    undefined: str = ""  # what stands for log-odds that are NaN


class QualityView(NamedTuple):
    """What the tab Quality shows of one class where scripts do not run, decided at a probability of one half."""

    label: int
    hit: float
    missed: float
    false_alarm: float
    left_alone: float
    points: Sequence[CalibrationPoint]
    largest: tuple[float, CalibrationPoint]  # the group of the most rows, and how many these are


@dataclass(frozen=True)
class PageData:
    """Everything that a page shows.

    Parameters
    ----------
    classes : sequence of labels
        The classes, in the order of the model.
    class_rows : sequence of float
        The number of rows of each class that were counted.
    columns : sequence of dict
        Each column: name, kind, bits, error, sentence, distribution.
    target : str, optional
        The column of the classes.
    priors : sequence of float, optional
        The probability of each class before any column is looked at; without it, the proportion of its rows.
    fitting : sequence of str
        How the model was fitted, in sentences.
    words : dict, optional
        The words that contribute most to each class, where the model has texts.
    quality : dict, optional
        Scores of held-out rows or of the rows given.
    quality_view : QualityView, optional
        The class of `quality` that is shown where scripts do not run.
    compare : dict, optional
        A comparison with another model.
    rows : dict, optional
        The rows that the page holds: the names of their `columns`, the `cells` of each column (None where one is
        missing), the index of each row's true class as `truth` (-1 where it is not known), the `numbers` of the rows in
        their table (the first is 1), how many rows the table has as `total`, the name of its `source`, whether the
        model was `fitted_on` them (None if that is not known), and the `posterior` of each row as the quality was
        measured: by a model without the row, if it was fitted on these rows.
    first : dict, optional
        The cells of the row that is shown first, by column.
    first_view : RowView, optional
        The same row, explained where scripts do not run.
    flat : dict
        The flat model, as JSON; a notebook view needs none.
    server : dict, optional
        What the server that serves this page offers; None for a file.
    title : str
        The title of the page, such as the name of the model file.
    version : str
        The version of Naively that makes the page.
    language : str, default="en"
        The language of the page: "en" or "zh".
    """

    classes: Sequence[Label]
    class_rows: Sequence[float]
    columns: Sequence[JsonObject]
    target: str | None = None
    priors: Sequence[float] | None = None
    fitting: Sequence[str] = ()
    words: JsonObject | None = None
    quality: JsonObject | None = None
    quality_view: QualityView | None = None
    compare: JsonObject | None = None
    rows: JsonObject | None = None
    first: JsonObject | None = None
    first_view: RowView | None = None
    flat: JsonObject | None = None
    server: JsonObject | None = None
    title: str = ""
    version: str = ""
    language: str = "en"

    def say(self, key: str, **values: object) -> str:
        """Return a text of the page's language, each ``{name}`` of which is replaced by the value of that name."""
        first, *parts = page_texts(self.language)[key].split("{")
        pieces = (part.split("}", 1) for part in parts)
        return first + "".join(f"{values[name]}{rest}" for name, rest in pieces)

    def to_json(self) -> JsonObject:
        """Return the object that the scripts of the page read."""
        names = ("flat", "language", "title", "server", "columns", "class_rows", "quality", "rows", "first", "words")
        content = {name: getattr(self, name) for name in names}
        return content | {"made": {"naively": self.version}, "compare": self.compare}
