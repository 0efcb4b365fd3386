"""Texts word by word: the contribution of each word of a text, and the words that contribute most to a class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from .._frames import frame
from .._types import Codes, Floats, FrameLike, JsonObject, Label, Places, TableLike
from ..data.column import Column
from ..data.dict_rows import texts_of_rows
from ..data.frame import Frame
from ..errors import InvalidInput
from ..errors.message import Setting
from ..families.family import TextTerm
from ..judge.metrics import as_row_count
from ..model.table_model import TableModel
from ..stats import WordTable
from ..text import TextReader, TextRows

# Words that a page lists of all classes together, and of each class at least.
LISTED_WORDS, LISTED_OF_A_CLASS = 400, 30
# Words of a class that are compared, the most frequent ones; a word of few texts decides little.
COMPARED_WORDS = 20_000
# Counts that the page holds of frequent words, so that words of a text have theirs.
FREQUENT_COUNTS = 20_000


class WordContributions(NamedTuple):
    """The words of one text: their names, the contribution of each, and the texts of each class that hold it."""

    names: list[str]
    numbers: Codes
    scores: Floats  # [word, class]
    texts: Floats  # [word, class]

    def strongest(self, k: int, other: int, most: int) -> list[int]:
        """Return the indices of the words with the largest lead of a class over another, either way."""
        with np.errstate(invalid="ignore"):
            lead = np.abs(self.scores[:, k] - self.scores[:, other])
        order: list[int] = np.argsort(-np.nan_to_num(lead, nan=np.inf), kind="stable")[:most].tolist()
        return order


@dataclass(frozen=True)
class TextEvidence:
    """A column of texts behind a prediction: the term of its words, and their counts."""

    term: TextTerm
    table: WordTable
    reader: TextReader
    column: Column
    source: TableLike
    scale: float

    def text(self, row: int) -> str | None:
        """Return the text of one row, None if it is missing."""
        if isinstance(self.source, Frame):
            cell = self.source.columns[self.column.name].prose(self.column, row, row + 1)[0]
            value = cell.as_py() if hasattr(cell, "as_py") else cell
            return value if isinstance(value, str) else None
        return texts_of_rows(self.source[row : row + 1], self.column)[0]

    def names(self, numbers: Codes) -> list[str]:
        """Return the names of words by their numbers."""
        if self.table.numbered:
            return [f"column {n}" for n in numbers.tolist()]
        return self.reader.names(numbers)

    def contributions(self, row: int) -> WordContributions:
        """Return the contribution of each word of one row."""
        numbers, scores = self.term.by_word(TextRows(self.reader, [self.text(row)]))
        return WordContributions(self.names(numbers), numbers, self.scale * scores, self.table.texts_of(numbers).T)

    def strengths(self, row: int, k: int, other: int) -> tuple[str, list[float]]:
        """Return a text and, for each of its characters, its lead of one class over another."""
        text = self.text(row) or ""
        strength = np.zeros(len(text))
        if not self.reader.tokens.calls:
            words = self.contributions(row)
            with np.errstate(invalid="ignore"):
                leads = np.nan_to_num(words.scores[:, k] - words.scores[:, other], posinf=50.0, neginf=-50.0)
            lead = dict(zip(words.numbers.tolist(), leads.tolist(), strict=True))
            for token in self.reader.spans(text):
                strength[token.begin : token.end] += lead.get(token.number, 0.0)
        return text, strength.tolist()


def texts_behind(model: TableModel, source: TableLike) -> dict[str, TextEvidence]:
    """Return the columns of texts whose contribution is a sum over words."""
    texts = {}
    for name, term in model.text_terms().items():
        counts, column = model.words[name].on(model.classes), model.schema[name]
        texts[name] = TextEvidence(term, counts, model.readers[name], column, source, model.scorer.scale)
    return texts


def text_column(names: Sequence[str], column: str | None) -> str:
    """Return the column of texts that is meant: the one named, or the only one."""
    if column is not None and column in names:
        return column
    if not names:
        raise InvalidInput(
            "No column of texts is counted by its words: ", Setting("families", {"body": "words"}), " would do that."
        )
    if column is None and len(names) == 1:
        return names[0]
    raise InvalidInput(Setting("column", column), f" is no column of texts; those are {list(names)}.")


# -- the words of a class ----------------------------------------------------------------------------------------------


def words_for_class(model: TableModel, label: Label, top: int, column: str | None) -> FrameLike:
    """Return the words that contribute most to a class as a frame, the strongest first.

    The lead of a word is how much it raises the log-odds of the class against all others. Those come first that do so
    most in all texts of the class together, for a strong word that hardly any text holds decides little.
    """
    texts = texts_behind(model, [])
    text = texts[text_column(list(texts), column)]
    labels = list(model.classes.labels)
    if label not in labels:
        raise InvalidInput(f"{label!r} is no class; the classes are {labels}.", value=label, classes=list(labels))
    if not isinstance(top, (int, np.integer)) or top < 1:
        raise InvalidInput(f"top={top!r} is no number of words; give 1 or more.")
    k, numbers = labels.index(label), text.term.words.numbers
    n = text.table.texts_of(numbers)
    order, lead = _strongest_words(text, n, k, top, np.arange(n.shape[1]))
    words = order.tolist() if text.table.numbered else text.names(numbers[order])
    others = n.sum(axis=0) - n[k]
    return frame({"word": words, "lead": lead, f"texts of {label}": n[k, order], "other texts": others[order]})


def word_facts(model: TableModel) -> JsonObject | None:
    """Return the words that contribute most to each class of each column of texts, as the tab Words shows them.

    Parameters
    ----------
    model : TableModel
        The model.

    Returns
    -------
    facts : dict or None
        Of each column its name, its words, the texts of each class that hold them, and of each class the places of its
        strongest words with what one occurrence adds to the log-odds against all other classes; None without texts.
    """
    columns, classes = [], len(model.classes)
    most = max(LISTED_WORDS // classes, LISTED_OF_A_CLASS)
    for name, text in texts_behind(model, []).items():
        numbers = np.asarray(text.term.words.numbers, dtype=np.int32)
        n = text.table.texts_of(numbers)
        strongest = []
        for k in range(classes):
            frequent = np.argsort(-n[k], kind="stable")[:COMPARED_WORDS]
            strongest.append(_strongest_words(text, n, k, most, frequent, text.scale))
        frequent = np.argsort(-n.sum(axis=0), kind="stable")[: FREQUENT_COUNTS // classes]
        kept = np.unique(np.concatenate([frequent, *(order for order, _ in strongest)]))
        facts: JsonObject = {"name": name, "words": text.names(numbers[kept])}
        facts["counts"] = [[as_row_count(round(float(cell), 3)) for cell in line] for line in n[:, kept]]
        facts["strongest"] = [
            [
                [int(place), round(float(gain), 6)]
                for place, gain in zip(np.searchsorted(kept, order), lead, strict=True)
            ]
            for order, lead in strongest
        ]
        columns.append(facts)
    return {"columns": columns} if columns else None


def _strongest_words(
    text: TextEvidence, n: Floats, k: int, most: int, among: Places, scale: float = 1.0
) -> tuple[Places, Floats]:
    """Return the indices of the strongest words of a class among some, given texts [class, word], and their leads."""
    weights, mass = scale * np.asarray(text.term.word_scores[among], dtype=np.float64), n.sum(axis=1)
    lead, rest = np.zeros(len(weights)), np.arange(len(mass)) != k
    if rest.any():  # against all other classes in proportion to their words
        share = np.log(np.maximum(mass[rest], 1e-300) / np.maximum(mass[rest].sum(), 1e-300))
        with np.errstate(invalid="ignore"):
            lead = weights[:, k] - logsumexp(weights[:, rest] + share, axis=1)
        lead = np.nan_to_num(lead, nan=0.0, posinf=50.0, neginf=-50.0)
    ranks = text.table.ranks[np.asarray(text.term.words.numbers)[among]]
    order = np.lexsort((ranks, -lead * n[k, among]))[:most]
    order = order[(lead[order] > 0) & (n[k, among[order]] > 0)]
    return np.asarray(among[order], dtype=np.intp), lead[order]
