"""Columns of texts: how a text becomes words, and what each word contributes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._types import Floats, Json, JsonObject, Places
from ..data.cell_format import exact_names
from ..errors import InvalidInput
from ..families.bernoulli import FlagLikelihood
from ..families.family import TextTerm
from ..families.wide import Split, WideLikelihood
from ..model.default.weighted_terms import WeightedTextTerm
from ..model.default.words import WordScores
from ..model.table_model import TableModel
from .terms import FlatColumn, contributes, relative
from .token_patterns import token_rules


def text_column(model: TableModel, name: str, scale: float, most: int | None) -> FlatColumn:
    """Return a column of texts with its terms, and its most frequent words."""
    column, term = model.schema[name], model.text_terms()[name]
    # A word that no text holds contributes nothing to word scores, and does not count for the length of a text either.
    known = np.flatnonzero(term.known) if isinstance(term, WordScores) else np.arange(len(term.words))
    kept = most_frequent(known, model.words[name].documents[term.words.numbers], most)
    words = term.words.lexicon.names(term.words.numbers[kept])
    fields: JsonObject = {
        "name": name,
        "kind": "text",
        "type": "text",
        "words": words,
        "left_out": len(known) - len(kept),
    }
    fields |= token_rules(model.readers[name].tokens)
    if names := exact_names(column.written):
        fields["no_value"] = list(names)
    found = FlatColumn(fields, np.zeros((0, len(model.classes))))
    WordTerms(found, kept).add(term, scale)
    return found


def most_frequent(words: Places, documents: Floats, most: int | None) -> Places:
    """Return so many of the words, those that are in most texts, in their order; all by default."""
    if most is None or most >= len(words):
        return words
    return np.sort(words[np.argsort(-documents[words], kind="stable")[:most]])


@dataclass(frozen=True)
class WordTerms:
    """What adds the terms of words to a column of texts."""

    column: FlatColumn
    kept: Places  # the words that are kept

    def add(self, term: TextTerm, by: float) -> None:
        """Add a term of words, times a factor."""
        if isinstance(term, WordScores):
            self._add_table("length", by * term.word_scores.astype(np.float64), times="once")
        elif isinstance(term, WeightedTextTerm):
            self.add(term.term, by * term.weight)
        elif isinstance(term, WideLikelihood):
            self._add_likelihood(term, by)
        else:
            name = self.column.fields["name"]
            raise InvalidInput(f"Column {name!r} has a term of words that a flat model cannot hold.", column=name)

    def _add_table(self, scaling: str, table: Floats, **more: Json) -> None:
        if len(self.kept) and (contributes(table) or "constant" in more):
            self.column.add("words", scaling=scaling, **more, table=relative(table[self.kept]))

    def _add_likelihood(self, term: WideLikelihood, by: float) -> None:
        """Add the log-likelihood of words, of each as often as it counts."""
        if not isinstance(term, FlagLikelihood):
            table = term.each if term.idf is None else term.each * term.idf[:, None]
            self._add_table("none", by * table, times=term.times)
            return
        present, absent = Split.of(term.log_there), Split.of(term.log_absent)
        change = by * (present.finite - absent.finite).T
        self._add_table("none", change, times=term.times, constant=by * absent.finite.sum(axis=1))
        if present.ruled_out.any() or absent.ruled_out.any():
            # How often log 0 is added to a class: for each word that is absent, which those that are there take back.
            zeros = (present.ruled_out - absent.ruled_out).T[self.kept]
            constant = absent.ruled_out.sum(axis=1)
            self.column.add("ruled out", scaling="none", times="once", constant=constant, table=zeros)
