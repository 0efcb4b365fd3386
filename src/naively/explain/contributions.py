"""Why: the scores of each column apart, in numbers that add up to the log joint."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._types import Floats, Longs
from ..data.column import Column
from ..data.frame import Frame
from ..errors import InvalidInput
from ..errors.message import Setting
from ..families.categorical import LogTable, LogTables
from ..families.family import scores_of
from ..model.joint.model import TogetherModel
from ..model.refined.model import RefinedModel
from ..model.table_model import LABELS, TableModel
from .evidence import Behind, Evidence, Spread
from .text_evidence import texts_behind

# What stands behind joint terms of a column, in a line of the picture.
LINEAR = "linear term of all columns together"
OFFSETS = "offsets of its values, fitted with all columns together"


def explained(
    model: TableModel, rows: Floats, source: Any, threads: int, against: Any, imagined: float | None
) -> Evidence:
    """Return the evidence for some rows; rows are those of each class."""
    size, labels = (source.rows if isinstance(source, Frame) else len(source)), tuple(model.classes.labels)
    whole = isinstance(model, (RefinedModel, TogetherModel))
    pairs = model.pairs if whole else None  # type: ignore[attr-defined]
    scores = np.empty((size, len(model.schema) + len(pairs or ()), len(labels)))
    joint = np.empty(scores.shape) if whole else None
    codes, answer = np.empty((len(model.labels), size), dtype=np.int32), np.empty(size, dtype=np.int64)

    def take(at: slice, columns: dict[str, Any]) -> None:
        answer[at] = model.model.most_probable(columns, threads)
        if joint is not None:
            scores[at], joint[at] = model.said(columns, threads)  # type: ignore[attr-defined]
        else:
            for place, column in enumerate(model.schema):
                scores[at, place] = said_by(model, column, columns, threads)
        if model.labels:
            codes[:, at] = columns[LABELS][:, : len(model.labels)].T

    model.each_block(take, source, threads)
    of_labels = [label.column.name for label in model.labels]
    tables = {name: model.table_of(name) for name in of_labels}
    numbers = {column.name: spread_of(model, column.name) for column in model.schema.of_kind("numbers")}
    texts = texts_behind(model, source)
    of_joint = OFFSETS if isinstance(model, RefinedModel) else LINEAR
    behind = Behind(
        source, tables, dict(zip(of_labels, codes, strict=True)), numbers, rows, imagined, pairs, texts, of_joint
    )
    prior = model.model.temper(model.model.log_prior)
    scores *= model.model.scale
    joint = None if joint is None else joint * model.model.scale
    others = opponents(prior + scores.sum(axis=1), prior, answer, labels, against)
    tempering = (model.model.scale, model.model.bias)
    names = (*model.schema.names, *(pairs or ()))
    return Evidence(names, labels, prior, scores, answer, others, behind, *tempering, joint)


def spread_of(model: TableModel, name: str) -> Spread:
    """Return where the numbers of a column lie in each class."""
    key, at = model.part_of_number(name)
    likelihood: Any = model.book.likelihoods[key]
    return Spread(*(figure[at] for figure in likelihood.summary[:3]))


def said_by(model: TableModel, column: Column, columns: dict[str, Any], threads: int) -> Floats:
    """Return what one column says about each class, [row, class]."""
    if column.kind == "vectors":
        return scores_of(model.book.likelihoods[column.name], columns[column.name], threads)
    if column.kind == "labels":
        return said_by_codes(model, model.table_of(column.name), columns, model.place_of_labels(column.name), threads)
    key, at = model.part_of_number(column.name)
    likelihood: Any = model.book.likelihoods[key]
    scores = scores_of(likelihood.column(at), np.ascontiguousarray(columns[key][:, at : at + 1]), threads)
    if (gap := model.gap_of(column.name)) is not None:  # whether there is one speaks beside the number itself
        scores = scores + said_by_codes(model, gap[1], columns, gap[0], threads)
    return scores


def said_by_codes(model: TableModel, table: LogTable, columns: dict[str, Any], place: int, threads: int) -> Floats:
    """Return what one column of codes says about each class."""
    codes = np.ascontiguousarray(columns[LABELS][:, place : place + 1])
    return scores_of(LogTables(model.classes, (table,)), codes, threads)


def opponents(joint: Floats, prior: Floats, answer: Longs, labels: tuple[Any, ...], against: Any) -> Longs:
    """Return which class each answer is compared with: the one given or, where that is the answer, the runner-up."""
    if against is not None and against not in labels:
        raise InvalidInput(
            Setting("against", against), f" is no class; the classes are {list(labels)}.", classes=list(labels)
        )
    row = np.arange(len(joint))
    others = joint.copy()
    others[row, answer] = -np.inf
    others[np.isneginf(others).all(axis=1)] = prior  # all others are ruled out
    others[row, answer] = -np.inf
    best = others.argmax(axis=1)
    best = np.where((best == answer) & (joint.shape[1] > 1), (answer + 1) % joint.shape[1], best)
    return best if against is None else np.where(answer == labels.index(against), best, labels.index(against))
