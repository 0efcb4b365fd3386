"""Texts word by word: what each word of a text said, and which words speak most for a class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from .._frames import frame
from .._types import Floats
from ..data.dict_rows import texts_of_rows
from ..data.frame import Frame
from ..errors import InvalidInput
from ..errors.message import Setting
from ..model.table_model import TableModel
from ..stats import WordTable
from ..text import TextRows


class Said(NamedTuple):
    """The words of one text: their names, what each said about each class, and in how many texts of each it was met."""

    names: list[str]
    numbers: Any
    scores: Floats  # [word, class]
    texts: Floats  # [word, class]

    def strongest(self, k: int, other: int, most: int) -> list[int]:
        """Return the places of the words with the largest lead of a class over another, either way."""
        with np.errstate(invalid="ignore"):
            lead = np.abs(self.scores[:, k] - self.scores[:, other])
        return [int(at) for at in np.argsort(-np.nan_to_num(lead, nan=np.inf), kind="stable")[:most]]


@dataclass(frozen=True)
class Texts:
    """A column of texts behind an answer: what scores its words, and what was counted of them."""

    likelihood: Any
    table: WordTable
    column: Any
    source: Any
    scale: float

    def text(self, row: int) -> str | None:
        """Return the text of one row, None if it is missing."""
        if isinstance(self.source, Frame):
            found = self.source.columns[self.column.name].prose(self.column, row, row + 1)
            value = found[0].as_py() if hasattr(found[0], "as_py") else found[0]
            return value if isinstance(value, str) else None
        return texts_of_rows(self.source[row : row + 1], self.column)[0]

    def said(self, row: int) -> Said:
        """Return what the words of one row said."""
        reader: Any = self.table.lexicon
        numbers, scores = self.likelihood.by_word(TextRows(reader, [self.text(row)]))
        names = [f"column {n}" for n in numbers.tolist()] if self.table.numbered else reader.names(numbers)
        return Said(names, numbers, self.scale * scores, self.table.texts[:, numbers].T)

    def strengths(self, row: int, k: int, other: int) -> tuple[str, list[float]]:
        """Return a text and, for each of its characters, how much it speaks for one class and against another."""
        text, reader = self.text(row) or "", self.table.lexicon
        strength = np.zeros(len(text))
        if not reader.tokens.calls:
            said = self.said(row)
            with np.errstate(invalid="ignore"):
                leads = np.nan_to_num(said.scores[:, k] - said.scores[:, other], posinf=50.0, neginf=-50.0)
            lead = dict(zip(said.numbers.tolist(), leads.tolist(), strict=True))
            for token in reader.spans(text):  # type: ignore[attr-defined]
                strength[token.begin : token.end] += lead.get(token.number, 0.0)
        return text, strength.tolist()


def texts_behind(model: TableModel, source: Any) -> dict[str, Texts]:
    """Return the columns of texts of a model whose words can be told apart."""
    found = {}
    for name, likelihood in model.by_word().items():
        laid = model.words[name].on(model.classes)
        found[name] = Texts(likelihood, laid, model.schema[name], source, model.model.scale)
    return found


def column_of(names: Sequence[str], column: str | None) -> str:
    """Return the column of texts that is meant: the one named, or the only one."""
    if column in names:
        return column  # type: ignore[return-value]
    if not names:
        raise InvalidInput(
            "No column of texts is counted by its words: ", Setting("families", {"body": "words"}), " would do that."
        )
    if column is None and len(names) == 1:
        return names[0]
    raise InvalidInput(Setting("column", column), f" is no column of texts; those are {list(names)}.")


def telling(model: TableModel, label: Any, top: int, column: str | None) -> Any:
    """Return the words that speak most for a class as a frame, the most telling first.

    A word leads by how much it raises the odds of the class against all others. Those come first that do so most in all
    texts of the class together, for a strong word that hardly any text holds decides little.
    """
    texts = texts_behind(model, [])
    name = column_of(list(texts), column)
    labels = list(model.classes.labels)
    if label not in labels:
        raise InvalidInput(f"{label!r} is no class; the classes are {labels}.", value=label, classes=list(labels))
    if not isinstance(top, (int, np.integer)) or top < 1:
        raise InvalidInput(Setting("top", top), " is no number of words; give 1 or more.")
    k, table, likelihood = labels.index(label), texts[name].table, texts[name].likelihood
    kept, weights = weights_of(likelihood)
    met = table.texts[:, kept]
    lead = leads(weights, met.sum(axis=1), k)
    order = np.lexsort((table.ranks[kept], -lead * met[k]))[:top]
    order = order[(lead[order] > 0) & (met[k, order] > 0)]
    words = order.tolist() if table.numbered else table.lexicon.names(np.asarray(kept[order], dtype=np.int32))
    others = met.sum(axis=0) - met[k]
    return frame({"word": words, "lead": lead[order], f"texts of {label}": met[k, order], "other texts": others[order]})


def weights_of(likelihood: Any) -> tuple[Any, Floats]:
    """Return the numbers of words, and what one of each says about each class, [word, class]."""
    if hasattr(likelihood, "inner"):
        return likelihood.words.numbers, likelihood.inner.each
    if hasattr(likelihood, "likelihood"):
        numbers, weights = weights_of(likelihood.likelihood)
        return numbers, likelihood.weight * weights
    return likelihood.words.numbers, likelihood.table


def leads(weights: Floats, mass: Floats, k: int) -> Floats:
    """Return by how much each word raises the odds of a class against all others, which count by their words."""
    if weights.shape[1] == 1:
        return np.zeros(len(weights))
    rest = np.arange(weights.shape[1]) != k
    share = np.log(np.maximum(mass[rest], 1e-300) / np.maximum(mass[rest].sum(), 1e-300))
    with np.errstate(invalid="ignore"):
        lead = weights[:, k] - logsumexp(weights[:, rest] + share, axis=1)
    return np.asarray(np.nan_to_num(lead, nan=0.0, posinf=50.0, neginf=-50.0))
