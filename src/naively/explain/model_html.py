"""A fitted model as HTML for a notebook: classes, columns by mutual information with pictures, words, notes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan

from .._types import Floats, Label
from ..markup.numbers import counted
from ..markup.style import notebook_view
from ..markup.svg import cell_picture
from ..markup.tags import Child, Html, details, joined, label, table, tag
from ..stats.counts_html import class_key, class_table

# Columns that are shown, those that are shown at once, and notes.
MOST_COLUMNS, FIRST_COLUMNS, MOST_NOTES = 24, 12, 6
# Characters of the sentence on a column.
LONGEST_SENTENCE = 240


@dataclass(frozen=True)
class ColumnView:
    """A column: its name, its type and family, its mutual information in bits (NaN: unknown), a picture, a sentence."""

    name: str
    family: str
    bits: float
    picture: Html
    sentence: str


@dataclass(frozen=True)
class ModelView:
    """What a notebook shows of a fitted model.

    Attributes
    ----------
    title : str
        The name of the class.
    target : str or None
        The column of the classes.
    kind : str
        Which model answers, in words.
    classes : sequence of labels
        The classes.
    rows : array of shape (n_classes,)
        The rows of each class.
    prior : sequence of float
        The prior of each class.
    columns : sequence of ColumnView
        The columns that are shown, by mutual information.
    width : int
        How many columns there are.
    words : mapping of str to mapping of label to list of str
        The strongest words of each column of texts, by class.
    fitted : sequence of str
        What was fitted, in words.
    settings : mapping of str to str
        The settings that differ from their defaults.
    notes : sequence of str
        What looks odd.
    """

    title: str
    target: str | None
    kind: str
    classes: Sequence[Label]
    rows: Floats
    prior: Sequence[float]
    columns: Sequence[ColumnView]
    width: int
    words: Mapping[str, Mapping[int, Sequence[str]]]
    fitted: Sequence[str]
    settings: Mapping[str, str]
    notes: Sequence[str]


def model_html(view: ModelView) -> Html:
    """Return a fitted model as HTML."""
    notes = [tag("li", note) for note in view.notes[:MOST_NOTES]]
    how = tag("ul", [tag("li", sentence(line)) for line in view.fitted])
    return notebook_view(
        _heading(view),
        class_table(view.classes, view.rows, view.prior, "prior"),
        *_columns(view),
        *_words(view),
        *([tag("p", "Notes", css="nv-cap"), tag("ul", notes)] if notes else []),
        *([details("How it was fitted", how)] if view.fitted else []),
        _settings(view.settings),
    )


def unusable_html(title: str, why: str) -> Html:
    """Return why a model cannot be shown, as HTML."""
    return notebook_view(tag("p", title, css="nv-head"), tag("p", why))


def _heading(view: ModelView) -> Html:
    target: list[Child] = [" for ", label(view.target)] if view.target else []
    size = ", ".join(
        [
            counted(float(view.rows.sum()), "row"),
            counted(len(view.classes), "class", "classes"),
            counted(view.width, "column"),
        ]
    )
    return joined(
        tag("p", view.title, *target, css="nv-head"),
        tag("p", tag("span", f"{size}: {view.kind}", css="nv-m")),
    )


def _columns(view: ModelView) -> Iterable[Html]:
    longest = max((column.bits for column in view.columns if not isnan(column.bits)), default=0.0) or 1.0
    rows = [_column_row(column, longest) for column in view.columns]
    if not rows:
        return
    head = ("column", Html("mutual infor&shy;mation with the class"), "distribution in each class")
    yield table(head, rows[:FIRST_COLUMNS], css="nv-rows")
    if len(rows) > FIRST_COLUMNS:
        yield details(
            counted(len(rows) - FIRST_COLUMNS, "more column"), table(head, rows[FIRST_COLUMNS:], css="nv-rows")
        )
    if view.width > len(rows):
        left = counted(view.width - len(rows), "more column")
        yield tag("p", f"… and {left}: ", tag("code", "importance()"), css="nv-m")


def _column_row(column: ColumnView, longest: float) -> Html:
    """Return the row of a column: its name and family, its bits with a bar, its picture with a sentence below."""
    known = not isnan(column.bits)
    size = 200 * max(column.bits, 0.0) / longest if known else 0.0
    bar = cell_picture(tag("rect", css="nv-bits", width=size, height=6), height=6) if known else ""
    return tag(
        "tr",
        tag("td", label(column.name), tag("small", column.family)),
        tag("td", f"{column.bits:.3f} bits" if known else "–", bar, css="nv-info"),
        tag("td", column.picture, tag("small", _cut(column.sentence)), css="nv-w"),
    )


def _words(view: ModelView) -> Iterable[Html]:
    """Return the strongest words of each class, for each column of texts."""
    for name, by_class in view.words.items():
        rows = [
            tag("tr", tag("td", class_key(k, view.classes[k])), tag("td", ", ".join(words) or "–"))
            for k, words in by_class.items()
        ]
        yield table(("class", joined("strongest words of ", label(name))), rows)
        if len(by_class) < len(view.classes):
            left = counted(len(view.classes) - len(by_class), "more class", "more classes")
            yield tag("p", f"… and {left}: ", tag("code", "words(label)"), css="nv-m")


def _settings(settings: Mapping[str, str]) -> Html:
    if not settings:
        return tag("p", "All settings are at their defaults.", css="nv-m")
    shown = joined(*([" ", tag("code", f"{name}={_cut(value)}")] for name, value in settings.items()))
    return tag("p", tag("span", "Settings:", css="nv-m"), shown)


def sentence(text: str) -> str:
    """Return a line of a summary as a sentence.

    >>> sentence("weights: none")
    'Weights: none.'
    """
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_SENTENCE else f"{text[: LONGEST_SENTENCE - 1]}…"
