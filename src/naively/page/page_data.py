"""What a page shows, as plain values, and the JSON object that its scripts read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._types import JsonObject
from .report_rows import ReportRows


@dataclass(frozen=True)
class RowExplanation:
    """One row and what stands behind its answer: shown where scripts do not run.

    Parameters
    ----------
    cells : dict of str to object
        The cells of the row by column, as JSON; None where a cell is missing.
    prior : sequence of float
        The log prior of each class.
    columns : sequence of (str, sequence of float)
        Each column with its contribution to the score of each class, without pairwise terms.
    pairs : sequence of (str, str, sequence of float)
        Each pair of columns with its contribution to the score of each class.
    probabilities : sequence of float
        The probability of each class.
    """

    cells: JsonObject
    prior: Sequence[float]
    columns: Sequence[tuple[str, Sequence[float]]]
    pairs: Sequence[tuple[str, str, Sequence[float]]]
    probabilities: Sequence[float]


@dataclass(frozen=True)
class PageData:
    """Everything that a page shows.

    Parameters
    ----------
    flat : dict
        The flat model, as JSON.
    columns : sequence of dict
        What is known about each column: name, kind, bits, error, sentence, distribution.
    class_rows : sequence of float
        The number of rows of each class that were counted.
    title : str
        The title of the page, such as the name of the model file.
    version : str
        The version of Naively that makes the page.
    language : str, default="en"
        The language of the page: "en" or "zh".
    quality : dict, optional
        Scores of held-out rows or of the rows given.
    rows : ReportRows, optional
        The rows that the page holds.
    first : RowExplanation, optional
        The row that is explained where scripts do not run.
    words : dict, optional
        The words that contribute most to each class, where the model has texts.
    compare : dict, optional
        A comparison with another model.
    priors : sequence of float, optional
        The probability of each class before any column is looked at; without it, the proportion of its rows.
    fitting : sequence of str
        How the model was fitted, in sentences.
    server : dict, optional
        What the server that serves this page offers; None for a file.
    """

    flat: JsonObject
    columns: Sequence[JsonObject]
    class_rows: Sequence[float]
    title: str
    version: str
    language: str = "en"
    quality: JsonObject | None = None
    rows: ReportRows | None = None
    first: RowExplanation | None = None
    words: JsonObject | None = None
    compare: JsonObject | None = None
    priors: Sequence[float] | None = None
    fitting: Sequence[str] = ()
    server: JsonObject | None = None

    @property
    def classes(self) -> list[object]:
        """The labels of the classes, in the order of the model."""
        return list(self.flat["classes"])

    def column_facts(self, name: str) -> JsonObject | None:
        """Return what is known about a column, None if nothing is."""
        return next((one for one in self.columns if one["name"] == name), None)

    def to_json(self) -> JsonObject:
        """Return the object that the scripts of the page read."""
        return {
            "flat": self.flat,
            "language": self.language,
            "title": self.title,
            "made": {"naively": self.version},
            "server": self.server,
            "columns": list(self.columns),
            "class_rows": list(self.class_rows),
            "quality": self.quality,
            "rows": self.rows.to_json() if self.rows else None,
            "first": None if self.first is None else self.first.cells,
            "words": self.words,
            "compare": self.compare,
        }
