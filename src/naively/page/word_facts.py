"""The words that a page lists: those that contribute most to each class, with the texts that hold them."""

from __future__ import annotations

import numpy as np

from .._types import Floats, JsonObject, Places
from ..explain.text_evidence import TextEvidence, texts_behind, word_leads
from ..judge.metrics import as_row_count
from ..model.protocols import FittedModel

# Words that are listed of all classes together, and of each class at least.
LISTED_WORDS, LISTED_OF_A_CLASS = 400, 30
# Of each class, so many words that most of its texts hold are compared; a word of few texts decides little.
COMPARED_WORDS = 20_000
# Counts that the page holds of frequent words, so that words of a text have theirs.
FREQUENT_COUNTS = 20_000


def word_facts(model: FittedModel) -> JsonObject | None:
    """Return the words that contribute most to each class of each column of texts.

    Parameters
    ----------
    model : FittedModel
        The model.

    Returns
    -------
    facts : dict or None
        Of each column its name, its words, the texts of each class that hold them, and of each class the places of its
        strongest words with what one occurrence adds to the log-odds against all other classes; None without texts.
    """
    found = [_column_words(name, texts, len(model.classes)) for name, texts in texts_behind(model, []).items()]
    return {"columns": found} if found else None


def _column_words(name: str, texts: TextEvidence, classes: int) -> JsonObject:
    """Return the words of one column."""
    term = texts.term
    numbers = np.asarray(term.words.numbers, dtype=np.int32)
    met = texts.table.texts_of(numbers)
    strongest = [_strongest_words(texts, met, k) for k in range(classes)]
    frequent = np.argsort(-met.sum(axis=0), kind="stable")[: FREQUENT_COUNTS // classes]
    kept = np.unique(np.concatenate([frequent, *(order for order, _ in strongest)]))
    if texts.table.numbered:
        words = [f"column {number}" for number in numbers[kept].tolist()]
    else:
        words = [str(word) for word in texts.table.lexicon.names(numbers[kept])]
    return {
        "name": name,
        "words": words,
        "counts": [[as_row_count(round(float(n), 3)) for n in line] for line in met[:, kept]],
        "strongest": [
            [[int(at), round(float(lead), 6)] for at, lead in zip(np.searchsorted(kept, order), leads, strict=True)]
            for order, leads in strongest
        ],
    }


def _strongest_words(texts: TextEvidence, met: Floats, k: int) -> tuple[Places, Floats]:
    """Return the places of the strongest words of a class with their leads, those first that raise its texts most."""
    most = max(LISTED_WORDS // len(met), LISTED_OF_A_CLASS)
    some = np.argsort(-met[k], kind="stable")[:COMPARED_WORDS]
    weights = texts.scale * np.asarray(texts.term.word_scores[some], dtype=np.float64)
    lead = word_leads(weights, met.sum(axis=1), k)
    ranks = texts.table.ranks[np.asarray(texts.term.words.numbers)[some]]
    order = np.lexsort((ranks, -lead * met[k, some]))[:most]
    order = order[(lead[order] > 0) & (met[k, some[order]] > 0)]
    return np.asarray(some[order], dtype=np.intp), lead[order]
