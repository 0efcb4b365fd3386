"""A model as one HTML file: what it learned, how good it is, and any row scored as Python scores it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np
from scipy.special import logsumexp

from .. import __version__
from .._types import ColumnLike, JsonObject, Places, TableLike
from ..counting.files import Progress
from ..data.frame import frame_of
from ..errors import InvalidInput, InvalidSetting, UnwritableFile
from ..errors.message import Setting
from ..files.file import File, file_of
from ..page.column_facts import column_facts
from ..page.page import report_page
from ..page.page_data import PageData, RowExplanation
from ..page.page_strings import LANGUAGES
from ..page.quality import quality_data, quality_of
from ..page.report_rows import DEFAULT_ROWS, ReportRows, places_of_report_rows
from ..page.row_explanation import row_explanation, typical_row
from ..page.word_facts import word_facts
from .answers import evidence_of
from .fitted_classifier import FittedClassifier
from .flattened import flattened
from .reports import information_of_columns, summary_of_tuning
from .scored_rows import RowSource, ScoredRows, cells_of_rows, json_cell, scored_rows, time_of_json
from .uncertainty import held_out_quality

# Words times classes that a page holds of each column of texts unless a number is given: about 3 MB. Browsers gave up
# on a page of 45 MB.
WORD_SCORES = 600_000


@dataclass(frozen=True, repr=False)
class Report:
    """A model as one HTML page, which needs neither network nor server.

    In a notebook the page itself is shown.

    Parameters
    ----------
    html : str
        The page.

    Examples
    --------
    >>> import naively as nv
    >>> table = {"sky": ["sunny", "rain", "sunny", "rain"] * 20, "wind": [3.0, 9.5, 4.0, 8.0] * 20}
    >>> nb = nv.NaiveBayes().fit(table, ["out", "in", "out", "in"] * 20)
    >>> report = nb.report(title="outdoors")
    >>> "<title>outdoors" in report.html
    True
    """

    html: str

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, which appears only when it is complete.

        Parameters
        ----------
        path : str or path-like
            The file, such as "report.html".

        Returns
        -------
        path : Path
            The file.

        Raises
        ------
        UnwritableFile
            If the file cannot be written.
        """
        target = Path(path)
        made = target.with_name(f"{target.name}.part{os.getpid()}")
        try:
            made.write_text(self.html, encoding="utf-8")
            made.replace(target)
        except OSError as error:
            raise UnwritableFile(path, f"{error.strerror or error}.") from None
        finally:
            made.unlink(missing_ok=True)
        return target

    def __repr__(self) -> str:
        return f"Report({len(self.html.encode()) / 1024:.0f} KB; save it by .save('report.html'))"

    def _repr_html_(self) -> str:
        """Return the page in a frame of its own; its scripts can reach nothing outside of it."""
        frame = '<iframe title="naively report" sandbox="allow-scripts" width="100%" height="720" srcdoc="'
        return f'{frame}{escape(self.html, quote=True)}"></iframe>'


@dataclass(frozen=True)
class ReportOptions:
    """What a report holds.

    Parameters
    ----------
    rows : int
        How many rows, at most.
    words : int, optional
        How many words of each column of texts, the commonest first; by default so many that a browser can bear them.
    title : str, optional
        The title of the page.
    language : {"en", "zh"}
        The language of the page.
    """

    rows: int = DEFAULT_ROWS
    words: int | None = None
    title: str | None = None
    language: str = "en"

    def check(self) -> None:
        """Refuse what is no number of rows and no language of the page."""
        if isinstance(self.rows, bool) or not isinstance(self.rows, int) or self.rows < 0:
            raise InvalidSetting(Setting("rows", self.rows), " is no number of rows; give 0 or more.")
        if self.language not in LANGUAGES:
            known = ", ".join(map(repr, LANGUAGES))
            raise InvalidSetting(Setting("language", self.language), f" is no language of the page; it has {known}.")


def report_of(
    fitted: FittedClassifier,
    source: RowSource | None = None,
    options: ReportOptions | None = None,
    other: tuple[FittedClassifier, str, str] | None = None,
    progress: Progress | None = None,
) -> Report:
    """Return the report of a model: with rows, those it holds and their quality; with another model, a comparison.

    `other` is an earlier model, what it is called and what this one is called.
    """
    return Report(report_page(page_data_of(fitted, source, options, other, progress)))


def page_data_of(
    fitted: FittedClassifier,
    source: RowSource | None = None,
    options: ReportOptions | None = None,
    other: tuple[FittedClassifier, str, str] | None = None,
    progress: Progress | None = None,
    server: JsonObject | None = None,
) -> PageData:
    """Return everything that the page of a model shows."""
    options = ReportOptions() if options is None else options
    options.check()
    scored = None if source is None else scored_rows(fitted, source, progress)
    rows = None if source is None or scored is None else _rows(fitted, source, scored, options.rows)
    facts, target = column_facts(fitted.model, fitted.all_counts, information_of_columns(fitted)), fitted.schema.target
    # In single precision a probability is off by less than one in a million.
    flat = flattened(fitted, _most_words(fitted, options.words)).to_json(single=True)
    log_prior = fitted.model.textbook.log_prior
    return PageData(
        flat=flat,
        columns=facts,
        class_rows=[float(n) for n in fitted.all_counts.rows],
        title=options.title or (f"Model of {target}" if target else "Model"),
        version=__version__,
        language=options.language,
        quality=_quality(fitted, scored),
        rows=rows,
        words=word_facts(fitted.model),
        first=_first_row(fitted, rows, facts, flat),
        compare=None if other is None else _comparison(fitted, *other),
        priors=np.exp(log_prior - logsumexp(log_prior)).tolist(),
        fitting=summary_of_tuning(fitted),
        server=server,
    )


def _most_words(fitted: FittedClassifier, words: int | None) -> int | None:
    """Return how many words a page holds of each column of texts: all, unless a browser could not bear them."""
    most = WORD_SCORES // len(fitted.classes)
    return most if words is None and any(len(table.values) > most for table in fitted.model.words.values()) else words


def _quality(fitted: FittedClassifier, scored: ScoredRows | None) -> JsonObject | None:
    """Return the quality of the rows of classes that the model knows, or of those that were held out at fit."""
    if scored is None or scored.scores is None:
        counts = held_out_quality(fitted)
        return None if counts is None else quality_data(counts)
    some, weights = np.flatnonzero(scored.truth >= 0), scored.scores.weights
    labels, heavy = fitted.all_counts.classes.labels, None if weights is None else weights[some]
    return quality_of(scored.posterior[some], scored.truth[some], labels, heavy, scored.how)


def _rows(fitted: FittedClassifier, source: RowSource, scored: ScoredRows, most: int) -> ReportRows:
    """Return the rows that the page holds."""
    places: Places = places_of_report_rows(scored.posterior, scored.truth, most)
    return ReportRows(
        cells={name: [*map(json_cell, cells)] for name, cells in cells_of_rows(fitted, source, places).items()},
        truth=scored.truth[places].tolist(),
        numbers=(places + 1).tolist(),
        total=len(scored.truth),
        source=source.name,
        fitted_on=True if scored.how.kind != "given" else None,
        posterior=scored.posterior[places].tolist(),
    )


def _first_row(
    fitted: FittedClassifier, rows: ReportRows | None, facts: Sequence[JsonObject], flat: JsonObject
) -> RowExplanation:
    """Return the explanation of the first row that the page holds, or of the middle of each column."""
    cells = rows.row(0) if rows is not None and len(rows) else typical_row(facts, flat)
    times = {column.name for column in fitted.schema if column.type == "time"}
    read = {name: time_of_json(cell) if name in times else cell for name, cell in cells.items()}
    return row_explanation(cells, evidence_of(fitted, [read], None))


def _comparison(fitted: FittedClassifier, other: FittedClassifier, before: str, after: str) -> JsonObject:
    """Return what changed from another model to this one."""
    from ..page.comparison import comparison_of

    told = information_of_columns(other), information_of_columns(fitted)
    return comparison_of(other.all_counts, fitted.all_counts, (before, after), told)


def row_source(
    fitted: FittedClassifier, X: TableLike, y: ColumnLike = None, target: str | None = None, weight: str | None = None
) -> RowSource | None:
    """Return rows to look at; if they have the column that the model was fitted to predict, it holds their classes."""
    if X is None:
        if y is not None or target is not None:
            raise InvalidInput("The classes of rows are given, but no rows; give them as X.")
        return None
    file, known = file_of(X), fitted.schema.target
    if y is None and target is None and known is not None:
        names = list(frame_of(X).columns) if file is None else list(file.columns())
        target = known if known in names else None
    return RowSource(X if file is None else file, y, target, weight, file_names(file))


def file_names(file: File | None) -> str:
    """Return the names of files, without their folders; "" for tables in memory."""
    names = [] if file is None else [Path(str(path)).name for path in file.paths]
    return ", ".join(names[:3]) + (" …" if len(names) > 3 else "")
