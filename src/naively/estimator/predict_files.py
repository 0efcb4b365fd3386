"""Answers to rows that come batch by batch, however many: labels, probabilities, costs and reasons; scores."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from .._types import Codes, Floats, Label, Places
from ..counting.files import Progress, ahead, in_file
from ..data.cell_format import arrow_choices, arrow_numbers
from ..data.schema import likely
from ..data.target import arrow_target
from ..data.values import ColumnValues
from ..errors import InvalidInput
from ..errors.message import RowNumber, Setting
from ..explain.evidence import Evidence, opponents
from ..files.file import File, FileBlock
from ..judge.decision import cost_and_choices, decide, expected_cost, most_probable
from ..judge.score_inputs import matching_label
from ..judge.scores import Scores
from ..stats.arithmetic import weights_of_column
from .answers import evidence_of, probabilities_of
from .fitted_classifier import FittedClassifier, costs_of_scores, numeric_classes
from .held_out import prediction_sets, probability_interval

Batch: TypeAlias = pa.Table | pa.RecordBatch
Columns: TypeAlias = dict[str, pa.Array]

BETWEEN = " | "  # between the classes of a set


def file_as_fitted(fitted: FittedClassifier, file: File) -> File:
    """Return the file read with the types that were fitted; columns that the model does not know stay as written."""
    return file.like(fitted.model.schema)


def row_of_file(fitted: FittedClassifier, file: File, row: int) -> pa.Table:
    """Return one row of a file as a table; the first is row 0."""
    begin = 0
    for table in file_as_fitted(fitted, file.but(limit=row + 1)).batches():
        if row < begin + table.num_rows:
            return known_columns(fitted, table).slice(row - begin, 1)
        begin += table.num_rows
    raise InvalidInput("There is no ", RowNumber(row), f": the file has {begin} rows.")


def _blocks_with_progress(file: File, progress: Progress | None = None) -> Iterator[FileBlock]:
    """Yield the rows of files, some at a time, the next read meanwhile; progress is told how far it is."""
    sizes = [file.bytes(index) for index in range(len(file.paths))]
    total = sum(sizes) if file.limit is None else min(sum(sizes), int(file.limit * file.row_bytes(0)))
    rows = 0
    file.keep_no_more()
    for block in ahead(file.blocks(range(len(sizes)), None)):
        yield block
        rows += block.table.num_rows
        if progress is not None:
            here = min(int(file.row_bytes(block.file) * (block.begin + block.table.num_rows)), sizes[block.file])
            progress(rows, sum(sizes[: block.file]) + here, total or None)
    if not rows:
        yield FileBlock(0, 0, pa.table({name: pa.nulls(0) for name in file.columns()}))


class Certainty(NamedTuple):
    """Which statements of uncertainty stand beside an answer."""

    set_level: float | None = None  # of a set of classes
    by_class: bool = False  # whether it holds for the rows of each class
    interval: float | str | None = None  # the level of an interval of the probability, or "venn-abers"

    @property
    def level(self) -> float | None:
        """The level of the interval; None for Venn–Abers."""
        return None if isinstance(self.interval, str) else self.interval


class AnswerColumns(NamedTuple):
    """Which columns answers have beside the label and its probability."""

    probabilities: bool = False  # a column for each class
    cost: bool = False  # what the answer is expected to cost
    why: int = 0  # how many of the strongest columns are named
    only: bool = False  # the answers without the columns of the rows
    prefix: str = ""  # put before the names of the columns that are added
    certainty: Certainty = Certainty()


def answered_blocks(
    fitted: FittedClassifier, file: File, wanted: AnswerColumns | None = None, progress: Progress | None = None
) -> Generator[pa.Table, None, None]:
    """Yield the rows of files with their answers, some at a time; the next are read and answered meanwhile."""

    def answers() -> Iterator[pa.Table]:
        for block in _blocks_with_progress(file_as_fitted(fitted, file), progress):
            with in_file(file, block.file, block.begin):
                yield from answered_batches(fitted, [block.table], wanted)

    return ahead(answers())


def answered_batches(
    fitted: FittedClassifier, batches: Iterable[Batch], wanted: AnswerColumns | None = None
) -> Iterator[pa.Table]:
    """Yield each batch of rows with its answers, as Arrow tables.

    >>> import naively as nv
    >>> nb = nv.NaiveBayes().fit({"sky": ["rain", "rain", "sunny"]}, ["in", "in", "out"])
    >>> rows = pa.table({"day": ["Monday"], "sky": ["rain"]})
    >>> next(answered_batches(nb.fitted_, [rows])).to_pylist()
    [{'day': 'Monday', 'sky': 'rain', 'answer': 'in', 'probability': 0.771...}]
    """
    wanted = wanted or AnswerColumns()
    for batch in batches:
        columns = {wanted.prefix + name: values for name, values in _columns_of(fitted, batch, wanted).items()}
        if wanted.only:
            yield pa.table(columns)
            continue
        names = batch.schema.names
        for name in columns:
            if name in names:
                raise InvalidInput(
                    f"The rows have a column {name!r} already. Give the columns that are added another name, such as ",
                    Setting("prefix", "new_"),
                    ", or leave out the others: ",
                    Setting("only_answers", True),
                    ".",
                    column=name,
                )
        yield pa.table([*batch.columns, *columns.values()], names=[*names, *columns])


def _columns_of(fitted: FittedClassifier, batch: Batch, wanted: AnswerColumns) -> Columns:
    """Return the columns that are added to one batch."""
    if not batch.num_rows:
        batch = pa.Table.from_pylist([{}], schema=batch.schema)  # a row without values has columns of their types
        return {name: values.slice(0, 0) for name, values in _columns_of(fitted, batch, wanted).items()}
    rows = known_columns(fitted, batch)
    probabilities = probabilities_of(fitted, rows)
    columns = decision_columns(fitted, probabilities, wanted.cost)
    if wanted.certainty.interval is not None:
        low, high = probability_interval(fitted, rows, wanted.certainty.level)
        columns |= _ends_of_answers(fitted, columns["answer"], low, high)
    if wanted.probabilities:
        columns |= {f"P({label})": arrow_numbers(probabilities[:, k]) for k, label in enumerate(fitted.classes)}
    if wanted.probabilities and wanted.certainty.interval is not None:
        for k, label in enumerate(fitted.classes):
            columns |= {f"low({label})": arrow_numbers(low[:, k]), f"high({label})": arrow_numbers(high[:, k])}
    if wanted.certainty.set_level is not None:
        sets = prediction_sets(fitted, rows, wanted.certainty.set_level, by_class=wanted.certainty.by_class)
        columns["set"] = pa.array([BETWEEN.join(map(str, fitted.classes[row])) for row in sets])
    if wanted.why:
        evidence, _ = evidence_of_decisions(fitted, evidence_of(fitted, rows))
        columns["why"] = pa.array(_reasons(evidence, wanted.why))
    return columns


def _ends_of_answers(fitted: FittedClassifier, answers: pa.Array, low: Floats, high: Floats) -> Columns:
    """Return the ends of the interval of each answer's probability; none where the answer is no class."""
    places = {label: k for k, label in enumerate(fitted.classes.tolist())}
    at = np.array([places.get(answer, -1) for answer in answers.to_pylist()], dtype=np.intp)
    rows = np.arange(len(at))
    return {name: arrow_numbers(end[rows, at], at < 0) for name, end in (("low", low), ("high", high))}


def known_columns(fitted: FittedClassifier, batch: Batch) -> Batch:
    """Return the columns that the model knows; others may hold what no model could."""
    names, needed = tuple(batch.schema.names), fitted.model.schema.names
    lacking = [name for name in needed if name not in names]
    if lacking and needed != tuple(f"x{index}" for index in range(len(needed))):  # else it was fitted without names
        more = f" ({len(lacking)} columns are missing in all)" if len(lacking) > 1 else ""
        raise InvalidInput(
            f"The table has no column {lacking[0]!r}{more}{likely(lacking[0], names)}", column=lacking[0]
        )
    return batch.select([name for name in names if name in fitted.schema])


def decision_columns(fitted: FittedClassifier, probabilities: Floats, costly: bool) -> Columns:
    """Return the answer to each row, how probable it is, and what it is expected to cost."""
    parameters, classes = fitted.parameters, fitted.classes
    if isinstance(parameters.cost, str):
        numbers = decide(probabilities, parameters.cost, parameters.reject, numeric_classes(classes))
        return {"answer": pa.array(numbers, from_pandas=True)}
    cost, choices = cost_and_choices(parameters.cost, classes)
    plain = cost is None and parameters.reject is None
    chosen = most_probable(probabilities) if plain else decide(probabilities, cost, parameters.reject)
    none = chosen < 0
    at = np.where(none, 0, chosen)
    answers = pa.DictionaryArray.from_arrays(arrow_numbers(chosen.astype(np.int32), none), arrow_choices(choices))
    columns = {"answer": answers if pa.types.is_string(answers.type.value_type) else answers.dictionary_decode()}
    places = {label: k for k, label in enumerate(classes.tolist())}
    class_of = np.array([places.get(label, -1) for label in choices.tolist()])[at]  # a choice need not be a class
    rows = np.arange(len(at))
    columns["probability"] = arrow_numbers(probabilities[rows, class_of], none | (class_of < 0))
    if costly:
        paid = np.where(none, parameters.reject or 0.0, expected_cost(probabilities, cost)[rows, at])
        columns["expected_cost"] = arrow_numbers(paid)
    return columns


def evidence_of_decisions(
    fitted: FittedClassifier, evidence: Evidence, against: Label | None = None
) -> tuple[Evidence, list[Label | None]]:
    """Return evidence about the answers that are given, and these; where costs decide, not the most probable classes.

    An answer that is no class, or none at all, leaves the evidence about the most probable class as it is.
    """
    parameters = fitted.parameters
    answers = decision_columns(fitted, evidence.probabilities, False)["answer"].to_pylist()
    if parameters.cost is None and parameters.reject is None:
        return evidence, [evidence.classes[at] for at in evidence.answer.tolist()]
    numeric = isinstance(parameters.cost, str)
    places = {} if numeric else {label: k for k, label in enumerate(fitted.classes.tolist())}
    own = [places.get(answer, at) for answer, at in zip(answers, evidence.answer.tolist(), strict=True)]
    answer = np.array(own, dtype=np.int64)
    others = opponents(evidence.log_joint, evidence.base, answer, evidence.classes, against)
    return replace(evidence, answer=answer, against=others), answers


def strongest_contributions(evidence: Evidence, most: int) -> list[list[tuple[str, str, float]]]:
    """Return the strongest contributions to each answer: column, value and log-odds, the strongest first."""
    rows = np.arange(len(evidence))[:, None]
    with np.errstate(invalid="ignore"):
        leads = evidence.scores[rows[:, 0], :, evidence.answer] - evidence.scores[rows[:, 0], :, evidence.against]
    strength = np.nan_to_num(np.abs(leads), nan=0.0, posinf=np.inf)
    order = np.argsort(-strength, axis=1, kind="stable")[:, :most]
    cells = [evidence.texts(name) for name in evidence.columns]
    return [
        [(evidence.columns[at], cells[at][row], float(leads[row, at])) for at in places if strength[row, at]]
        for row, places in enumerate(order)
    ]


def _reasons(evidence: Evidence, most: int) -> list[str]:
    """Return the columns of the strongest contributions to each answer in words: value and log-odds."""
    rows = strongest_contributions(evidence, most)
    return ["; ".join(f"{name} = {cell} ({lead:+.2f})" for name, cell, lead in row) for row in rows]


def scores_of_files(
    fitted: FittedClassifier, file: File, target: str, weight: str | None = None, progress: Progress | None = None
) -> Scores:
    """Return how good the answers to the rows of files are, whose classes are a column of theirs.

    A class that the model never saw has no probability.
    """
    places: dict[Label, int] = {label: k for k, label in enumerate(fitted.classes.tolist())}
    parts = []
    for block in _blocks_with_progress(file_as_fitted(fitted, file), progress):
        with in_file(file, block.file, block.begin):
            if block.table.num_rows:
                parts.append(_known_rows(fitted, block.table, target, weight, places))
    if not parts:
        raise InvalidInput("There are no rows to score.")
    return _scores_of_parts(fitted, parts, places, weighted=weight is not None)


def scores_of_rows(fitted: FittedClassifier, batch: Batch, target: str, weight: str | None = None) -> Scores:
    """Return how good the answers to some rows are; classes that the model never saw come behind its own."""
    places: dict[Label, int] = {label: k for k, label in enumerate(fitted.classes.tolist())}
    parts = [_known_rows(fitted, batch, target, weight, places)]
    return _scores_of_parts(fitted, parts, places, weighted=weight is not None)


def _scores_of_parts(
    fitted: FittedClassifier,
    parts: Sequence[tuple[Floats, Places, Floats]],
    places: dict[Label, int],
    *,
    weighted: bool,
) -> Scores:
    """Return the scores of rows with their probabilities, classes and weights."""
    probabilities, truth, weights = (np.concatenate(part) for part in zip(*parts, strict=True))
    probabilities = np.pad(probabilities, [(0, 0), (0, len(places) - probabilities.shape[1])])
    classes, heavy = tuple(places), weights if weighted else None
    costs = costs_of_scores(fitted.parameters, classes, len(fitted.classes))
    return Scores.from_indices(probabilities, truth, classes, heavy, *costs)


def _known_rows(
    fitted: FittedClassifier, batch: Batch, target: str, weight: str | None, places: dict[Label, int]
) -> tuple[Floats, Places, Floats]:
    """Return the probabilities, the classes and the weights of some rows; a class never seen gets the next place."""
    labels, codes, *_ = arrow_target(_column_of(batch, target))
    _check_labelled(codes, target)
    truth = np.array([places.setdefault(matching_label(label, places), len(places)) for label in labels])[codes]
    return probabilities_of(fitted, known_columns(fitted, batch)), truth, _weights_of(batch, weight)


def _check_labelled(codes: Codes, target: str) -> None:
    """Refuse rows without a label."""
    if (codes < 0).any():
        at = int(np.argmax(codes < 0))
        raise InvalidInput(
            RowNumber(at),
            f" has no class: its cell in column {target!r} is missing. Leave such rows out.",
            column=target,
        )


def _weights_of(batch: Batch, name: str | None) -> Floats:
    """Return the row weights in a column; none at all without a column."""
    if name is None:
        return np.zeros(0)
    try:
        result = ColumnValues(name, _column_of(batch, name)).numbers(0, batch.num_rows)
    except pa.ArrowInvalid:
        raise InvalidInput(
            f"Column {name!r} holds text, and weights must be numbers; name a column of numbers.", column=name
        ) from None
    return weights_of_column(result, name)


def _column_of(batch: Batch, name: str) -> pa.ChunkedArray:
    """Return a column of a batch by its name."""
    if name not in batch.schema.names:
        raise InvalidInput(f"There is no column {name!r}{likely(name, tuple(batch.schema.names))}", column=name)
    return batch.column(batch.schema.names.index(name))
