"""Why: the contribution of each column to the score, in numbers that add up to the log joint."""

from __future__ import annotations

import numpy as np

from .._types import Floats, Label, Longs, Matrices, TableLike
from ..data.frame import Frame
from ..errors import InvalidInput
from ..errors.message import Setting
from ..model.table_model import TableModel
from .evidence import Evidence, Provenance
from .words import texts_behind


def explained(
    model: TableModel, rows: Floats, source: TableLike, threads: int, against: Label, pseudo_counts: float | None
) -> Evidence:
    """Return the evidence for some rows; rows are those of each class."""
    size, labels = (source.rows if isinstance(source, Frame) else len(source)), tuple(model.classes.labels)
    tables, pairs = model.label_tables, model.pairs
    scores = np.empty((size, len(model.schema) + len(pairs or ()), len(labels)))
    joint = None if pairs is None else np.empty(scores.shape)
    codes, answer = np.empty((len(tables), size), dtype=np.int32), np.empty(size, dtype=np.int64)

    def explain_block(block: slice, columns: Matrices) -> None:
        answer[block] = model.scorer.most_probable(columns, threads)
        scores[block], of_joint_terms = model.contributions(columns, threads)
        if joint is not None:
            joint[block] = of_joint_terms
        if tables:
            codes[:, block] = model.label_codes(columns).T

    model.each_block(explain_block, source, threads)
    codes_of = dict(zip(tables, codes, strict=True))
    about = rows, pseudo_counts, pairs, texts_behind(model, source), model.joint_terms
    provenance = Provenance(source, tables, codes_of, model.number_summaries, *about)
    base = model.scorer.temper(model.base)
    scores *= model.scorer.scale
    joint = None if joint is None else joint * model.scorer.scale
    others = opponents(base + scores.sum(axis=1), base, answer, labels, against)
    tempering = (model.scorer.scale, model.scorer.bias)
    names = (*model.schema.names, *(pairs or ()))
    return Evidence(names, labels, base, scores, answer, others, provenance, *tempering, joint, model.scorer.floor)


def opponents(joint: Floats, base: Floats, answer: Longs, labels: tuple[Label, ...], against: Label) -> Longs:
    """Return which class each answer is compared with: the one given or, where that is the answer, the runner-up."""
    if against is not None and against not in labels:
        raise InvalidInput(
            Setting("against", against), f" is no class; the classes are {list(labels)}.", classes=list(labels)
        )
    row = np.arange(len(joint))
    others = joint.copy()
    others[row, answer] = -np.inf
    others[np.isneginf(others).all(axis=1)] = base  # all others are ruled out
    others[row, answer] = -np.inf
    best = others.argmax(axis=1)
    best = np.where((best == answer) & (joint.shape[1] > 1), (answer + 1) % joint.shape[1], best)
    return best if against is None else np.where(answer == labels.index(against), best, labels.index(against))
