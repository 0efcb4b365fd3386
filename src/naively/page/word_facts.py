"""The words that a page lists: those that contribute most to each class, with the texts that hold them."""

from __future__ import annotations

import numpy as np

from .._types import JsonObject, Longs
from ..explain.text_evidence import TextEvidence, texts_behind, word_leads
from ..judge.metrics import as_row_count
from ..model.protocols import FittedModel

# Words that are listed of all classes together, and of each class at least.
LISTED_WORDS, LISTED_OF_A_CLASS = 400, 30


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
    term, most = texts.term, max(LISTED_WORDS // classes, LISTED_OF_A_CLASS)
    numbers = np.asarray(term.words.numbers, dtype=np.int32)
    met = texts.table.texts_of(numbers)
    weights = texts.scale * np.asarray(term.word_scores, dtype=np.float64)
    strongest: list[tuple[Longs, list[float]]] = []
    for k in range(classes):
        lead = word_leads(weights, met.sum(axis=1), k)
        order = np.argsort(-lead * met[k], kind="stable")[:most]
        order = order[(lead[order] > 0) & (met[k, order] > 0)]
        strongest.append((order, lead[order].tolist()))
    kept = np.unique(np.concatenate([order for order, _ in strongest]))
    if texts.table.numbered:
        words = [f"column {number}" for number in numbers[kept].tolist()]
    else:
        words = [str(word) for word in texts.table.lexicon.names(numbers[kept])]
    return {
        "name": name,
        "words": words,
        "counts": [[as_row_count(round(float(n), 3)) for n in line] for line in met[:, kept]],
        "strongest": [
            [[int(at), round(value, 4)] for at, value in zip(np.searchsorted(kept, order), leads, strict=True)]
            for order, leads in strongest
        ],
    }
