"""Answers to rows that come batch by batch, however many: labels, probabilities, costs and reasons; scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from .._types import Floats
from ..counting.ahead import ahead
from ..counting.files import Progress, in_file
from ..data.files import File, FileBlock
from ..data.schema import likely
from ..data.target import target_of
from ..data.values import ColumnValues
from ..data.writers import Form, write_table
from ..errors import InvalidInput
from ..errors.message import RowNumber, Setting
from ..explain.contributions import opponents
from ..explain.evidence import Evidence
from ..judge.decision import decide, expected_cost, labelled_cost, most_probable
from ..judge.outcomes import fitting
from ..judge.scores import Scores
from .classifier import Classifier
from .settings import numbers_among, scored_by


def as_learned(nb: Classifier, file: File) -> File:
    """Return the file read with the types that the model learned; columns it does not know stay as they are written."""
    return file.like(nb._table_model.schema)


def one_row(nb: Classifier, file: File, row: int) -> Any:
    """Return one row of a file as a table; the first is row 0."""
    begin = 0
    for table in as_learned(nb, file.but(limit=row + 1)).batches():
        if row < begin + table.num_rows:
            return asked_of(nb, table).slice(row - begin, 1)
        begin += table.num_rows
    raise InvalidInput("There is no ", RowNumber(row), f": the file has {begin} rows.")


def watched(file: File, progress: Progress | None = None) -> Iterator[FileBlock]:
    """Return the rows of files, some at a time, the next read meanwhile; progress is told how far it is."""
    sizes = [file.bytes(at) for at in range(len(file.paths))]
    total = sum(sizes) if file.limit is None else min(sum(sizes), int(file.limit * file.row_bytes(0)))
    rows = 0
    for block in ahead(file.blocks(range(len(sizes)), None)):
        yield block
        rows += block.table.num_rows
        if progress is not None:
            here = min(int(file.row_bytes(block.file) * (block.begin + block.table.num_rows)), sizes[block.file])
            progress(rows, sum(sizes[: block.file]) + here, total)
    if not rows:
        yield FileBlock(0, 0, pa.table({name: pa.nulls(0) for name in file.columns()}))


class Wanted(NamedTuple):
    """What an answer shall hold beside the label and its probability."""

    probabilities: bool = False  # a column for each class
    cost: bool = False  # what the answer is expected to cost
    why: int = 0  # how many of the strongest columns are named
    only: bool = False  # the answers without the columns of the rows
    prefix: str = ""  # put before the names of the columns that are added


def write_answers(
    nb: Classifier,
    file: File,
    out: str,
    form: Form | None = None,
    wanted: Wanted | None = None,
    progress: Progress | None = None,
) -> int:
    """Write the rows of files with their answers to another file, or to stdout ("-"), and return how many there were.

    Threads of their own read the next rows and answer them, while these are written.
    """

    def answers() -> Iterator[Any]:
        for block in watched(as_learned(nb, file), progress):
            with in_file(file, block.file, block.begin):
                yield from answered(nb, [block.table], wanted)

    return write_table(ahead(answers()), out, form)


def answered(nb: Classifier, batches: Iterable[Any], wanted: Wanted | None = None) -> Iterator[Any]:
    """Return each batch of rows with its answers, as Arrow tables.

    >>> import naively as nv
    >>> nb = nv.NaiveBayes().fit({"sky": ["rain", "rain", "sunny"]}, ["in", "in", "out"])
    >>> rows = pa.table({"day": ["Monday"], "sky": ["rain"]})
    >>> next(answered(nb, [rows])).to_pylist()
    [{'day': 'Monday', 'sky': 'rain', 'answer': 'in', 'probability': 0.771...}]
    """
    wanted = wanted or Wanted()
    for batch in batches:
        columns = {wanted.prefix + name: values for name, values in answers_of(nb, batch, wanted).items()}
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


def answers_of(nb: Classifier, batch: Any, wanted: Wanted) -> dict[str, Any]:
    """Return the columns that are added to one batch."""
    if not batch.num_rows:
        batch = pa.Table.from_pylist([{}], schema=batch.schema)  # a row without values has columns of their types
        return {name: values.slice(0, 0) for name, values in answers_of(nb, batch, wanted).items()}
    rows = asked_of(nb, batch)
    posterior = nb.predict_proba(rows)
    columns = decisions(nb, posterior, wanted.cost)
    if wanted.probabilities:
        columns |= {f"P({label})": pa.array(posterior[:, k]) for k, label in enumerate(nb.classes_)}
    if wanted.why:
        columns["why"] = pa.array(reasons(decided(nb, nb.explain(rows))[0], wanted.why))
    return columns


def asked_of(nb: Classifier, batch: Any) -> Any:
    """Return the columns that the model knows; others may hold what no model could."""
    names, needed = tuple(batch.schema.names), nb._table_model.schema.names
    lacking = [name for name in needed if name not in names]
    if lacking and not nameless(needed):
        more = f" ({len(lacking)} columns are missing in all)" if len(lacking) > 1 else ""
        raise InvalidInput(
            f"The table has no column {lacking[0]!r}{more}{likely(lacking[0], names)}", column=lacking[0]
        )
    return batch.select([name for name in names if name in nb.schema_])


def nameless(names: tuple[str, ...]) -> bool:
    """Tell whether a model learned its columns by their places alone."""
    return names == tuple(f"x{at}" for at in range(len(names)))


def decisions(nb: Classifier, posterior: Floats, costly: bool) -> dict[str, Any]:
    """Return the answer to each row, how probable it is, and what it is expected to cost."""
    if isinstance(nb.cost, str):
        numbers = decide(posterior, nb.cost, nb.reject, numbers_among(nb.classes_))
        return {"answer": pa.array(numbers, from_pandas=True)}
    cost, choices = labelled_cost(nb.cost, nb.classes_)
    plain = cost is None and nb.reject is None
    chosen = most_probable(posterior) if plain else decide(posterior, cost, nb.reject)
    none = chosen < 0
    at = np.where(none, 0, chosen)
    answers = pa.DictionaryArray.from_arrays(pa.array(chosen, pa.int32(), mask=none), pa.array(choices.tolist()))
    columns = {"answer": answers if pa.types.is_string(answers.type.value_type) else answers.dictionary_decode()}
    places = {label: k for k, label in enumerate(nb.classes_.tolist())}
    classes = np.array([places.get(label, -1) for label in choices.tolist()])[at]  # a choice need not be a class
    rows = np.arange(len(at))
    columns["probability"] = pa.array(posterior[rows, classes], mask=none | (classes < 0))
    if costly:
        paid = np.where(none, nb.reject or 0.0, expected_cost(posterior, cost)[rows, at])
        columns["expected_cost"] = pa.array(paid)
    return columns


def decided(nb: Classifier, evidence: Evidence, against: Any = None) -> tuple[Evidence, list[Any]]:
    """Return evidence about the answers that are given, and these; where costs decide, not the most probable classes.

    An answer that is no class, or none at all, leaves the evidence about the most probable class as it is.
    """
    answers = decisions(nb, evidence.probabilities, False)["answer"].to_pylist()
    if nb.cost is None and nb.reject is None:
        return evidence, [evidence.classes[at] for at in evidence.answer.tolist()]
    places = {label: k for k, label in enumerate(nb.classes_.tolist())} if not isinstance(nb.cost, str) else {}
    own = [places.get(answer, at) for answer, at in zip(answers, evidence.answer.tolist(), strict=True)]
    answer = np.array(own, dtype=np.int64)
    others = opponents(evidence.log_joint, evidence.prior, answer, evidence.classes, against)
    return replace(evidence, answer=answer, against=others), answers


def reasons(evidence: Evidence, most: int) -> list[str]:
    """Return the strongest columns of each row in words: what it holds, and its share in the lead of the answer."""
    rows = np.arange(len(evidence))[:, None]
    with np.errstate(invalid="ignore"):
        leads = evidence.scores[rows[:, 0], :, evidence.answer] - evidence.scores[rows[:, 0], :, evidence.against]
    strength = np.nan_to_num(np.abs(leads), nan=0.0, posinf=np.inf)
    order = np.argsort(-strength, axis=1, kind="stable")[:, :most]
    cells = [evidence.texts(name) for name in evidence.columns]
    said = []
    for row, places in enumerate(order):
        parts = (
            f"{evidence.columns[at]} = {cells[at][row]} ({leads[row, at]:+.2f})" for at in places if strength[row, at]
        )
        said.append("; ".join(parts))
    return said


def scored(
    nb: Classifier, file: File, target: str, weight: str | None = None, progress: Progress | None = None
) -> Scores:
    """Return how good the answers to the rows of files are, whose classes are a column of theirs.

    A class that the model never met is one that it gives no probability to.
    """
    places = {label: k for k, label in enumerate(nb.classes_.tolist())}
    parts: list[tuple[Any, Any, Any]] = []
    for block in watched(as_learned(nb, file), progress):
        with in_file(file, block.file, block.begin):
            if block.table.num_rows:
                parts.append(known(nb, block.table, target, weight, places))
    if not parts:
        raise InvalidInput("There are no rows to score.")
    posterior, truth, weights = (np.concatenate(part) for part in zip(*parts, strict=True))
    posterior = np.pad(posterior, [(0, 0), (0, len(places) - posterior.shape[1])])
    classes, heavy = tuple(places), weights if weight else None
    return Scores.of_places(posterior, truth, classes, heavy, *scored_by(nb, classes, len(nb.classes_)))


def known(nb: Classifier, batch: Any, target: str, weight: str | None, places: dict[Any, int]) -> tuple[Any, Any, Any]:
    """Return the probabilities, the classes and the weights of some rows; a class never met gets the next place."""
    labels, codes, _ = target_of(column(batch, target))
    if (codes < 0).any():
        at = int(np.argmax(codes < 0))
        raise InvalidInput(
            RowNumber(at),
            f" has no class: its cell in column {target!r} is missing. Leave such rows out.",
            column=target,
        )
    truth = np.array([places.setdefault(fitting(label, places), len(places)) for label in labels])[codes]
    return nb.predict_proba(asked_of(nb, batch)), truth, weights_of(batch, weight)


def weights_of(batch: Any, name: str | None) -> Floats:
    """Return what each row weighs: as a column says, or nothing that is looked at."""
    return np.zeros(0) if name is None else ColumnValues(name, column(batch, name)).numbers(0, batch.num_rows)


def column(batch: Any, name: str) -> Any:
    """Return a column of a batch by its name."""
    if name not in batch.schema.names:
        raise InvalidInput(f"There is no column {name!r}{likely(name, tuple(batch.schema.names))}", column=name)
    return batch.column(batch.schema.names.index(name))
