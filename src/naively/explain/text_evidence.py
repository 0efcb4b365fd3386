"""Texts word by word: the contribution of each word of a text, and the words that count most for a class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from .._frames import frame
from .._types import Codes, Floats, FrameLike, Label, Places, TableLike
from ..data.column import Column
from ..data.dict_rows import texts_of_rows
from ..data.frame import Frame
from ..errors import InvalidInput
from ..errors.message import Setting
from ..families.family import TextTerm
from ..model.protocols import FittedModel
from ..stats import WordTable
from ..stats.arithmetic import commonest
from ..text import TextReader, TextRows


class WordContributions(NamedTuple):
    """The words of one text: their names, the contribution of each, and the texts of each class that hold it."""

    names: list[str]
    numbers: Codes
    scores: Floats  # [word, class]
    texts: Floats  # [word, class]

    def strongest(self, k: int, other: int, most: int) -> list[int]:
        """Return the places of the words with the largest lead of a class over another, either way."""
        with np.errstate(invalid="ignore"):
            lead = np.abs(self.scores[:, k] - self.scores[:, other])
        return [int(at) for at in np.argsort(-np.nan_to_num(lead, nan=np.inf), kind="stable")[:most]]


@dataclass(frozen=True)
class TextEvidence:
    """A column of texts behind an answer: the term of its words, and their counts."""

    term: TextTerm
    table: WordTable
    reader: TextReader
    column: Column
    source: TableLike
    scale: float

    def text(self, row: int) -> str | None:
        """Return the text of one row, None if it is missing."""
        if isinstance(self.source, Frame):
            found = self.source.columns[self.column.name].prose(self.column, row, row + 1)
            value = found[0].as_py() if hasattr(found[0], "as_py") else found[0]
            return value if isinstance(value, str) else None
        return texts_of_rows(self.source[row : row + 1], self.column)[0]

    def contributions(self, row: int) -> WordContributions:
        """Return the contribution of each word of one row."""
        numbers, scores = self.term.by_word(TextRows(self.reader, [self.text(row)]))
        names = [f"column {n}" for n in numbers.tolist()] if self.table.numbered else self.reader.names(numbers)
        return WordContributions(names, numbers, self.scale * scores, self.table.texts_of(numbers).T)

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


def texts_behind(model: FittedModel, source: TableLike) -> dict[str, TextEvidence]:
    """Return the columns of texts whose contribution is a sum over words."""
    found = {}
    for name, term in model.text_terms().items():
        counts = model.words[name].on(model.classes)
        column = model.schema[name]
        found[name] = TextEvidence(term, counts, model.readers[name], column, source, model.scorer.scale)
    return found


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


def words_for_class(model: FittedModel, label: Label, top: int, column: str | None) -> FrameLike:
    """Return the words that count most for a class as a frame, the first counting most.

    The lead of a word is how much it raises the log-odds of the class against all others. Those come first that do so
    most in all texts of the class together, for a strong word that hardly any text holds decides little.
    """
    texts = texts_behind(model, [])
    name = text_column(list(texts), column)
    labels = list(model.classes.labels)
    if label not in labels:
        raise InvalidInput(f"{label!r} is no class; the classes are {labels}.", value=label, classes=list(labels))
    if not isinstance(top, (int, np.integer)) or top < 1:
        raise InvalidInput(f"top={top!r} is no number of words; give 1 or more.")
    k, table, term = labels.index(label), texts[name].table, texts[name].term
    kept = term.words.numbers
    met = table.texts_of(kept)
    order, lead = strongest_places(texts[name], met, k, top)
    words = order.tolist() if table.numbered else table.lexicon.names(np.asarray(kept[order], dtype=np.int32))
    others = met.sum(axis=0) - met[k]
    return frame({"word": words, "lead": lead[order], f"texts of {label}": met[k, order], "other texts": others[order]})


def strongest_places(texts: TextEvidence, met: Floats, k: int, top: int) -> tuple[Places, Floats]:
    """Return the places of the words that count most for a class, the first counting most, and the leads of all."""
    term, table = texts.term, texts.table
    lead = word_leads(np.asarray(term.word_scores, dtype=np.float64), met.sum(axis=1), k)
    order = np.lexsort((table.ranks[term.words.numbers], -lead * met[k]))[:top]
    return order[(lead[order] > 0) & (met[k, order] > 0)], lead


def strongest_word_names(model: FittedModel, name: str, classes: int, top: int) -> dict[int, list[str]]:
    """Return the words that count most for each of the most frequent classes, by the place of the class."""
    texts = texts_behind(model, [])[name]
    kept, found = texts.term.words.numbers, {}
    met = texts.table.texts_of(kept)
    for k in sorted(commonest(met.sum(axis=1), classes).tolist()):
        numbers = np.asarray(kept[strongest_places(texts, met, k, top)[0]], dtype=np.int32)
        found[k] = (
            [f"column {n}" for n in numbers.tolist()] if texts.table.numbered else texts.table.lexicon.names(numbers)
        )
    return found


def word_leads(weights: Floats, mass: Floats, k: int) -> Floats:
    """Return by how much each word raises the log-odds of a class against all others, in proportion to their words."""
    if weights.shape[1] == 1:
        return np.zeros(len(weights))
    rest = np.arange(weights.shape[1]) != k
    share = np.log(np.maximum(mass[rest], 1e-300) / np.maximum(mass[rest].sum(), 1e-300))
    with np.errstate(invalid="ignore"):
        lead = weights[:, k] - logsumexp(weights[:, rest] + share, axis=1)
    return np.asarray(np.nan_to_num(lead, nan=0.0, posinf=50.0, neginf=-50.0))
