"""How columns taken together are learned: a first look, a second count, and weights from rows left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..._types import Codes, Floats, Places
from ...counting.counter import TableCounter
from ...counting.row_order import content_order
from ...counting.rows import Rows
from ...counting.sampled_rows import sample_places
from ...counting.second_pass import Blocks, count_jointly
from ...data.block import block_numbers
from ...data.column import Column
from ...data.frame import frame_of
from ...data.grid import Grid
from ...data.target import SoftLabels
from ...errors import InvalidInput
from ...errors.message import Setting
from ..leave_one_out import some
from .binning import look, most_features
from .learned import OWN_PAIRS, ROWS, Learned, Rated, fitting, imagined_of, learn
from .linear import ROWS as RIDGE_ROWS
from .model import TogetherModel
from .other_columns import CLEAR, REST
from .screening import Screened
from .terms import OF_NUMBERS, OF_PAIRS, Sample, pairs_of

# Fewer rows show too little of how columns go together, and weighing the evidence for more classes takes too long: the
# text book speaks alone.
FEWEST, MOST_CLASSES = 50, 300
# A fold of a table that has enough rows is fitted like the table, so that what is scored is what is kept. Half of the
# fewest rows are 25, and folds of a splitter may leave less; with fewer than this there is nothing to fit.
FEWEST_IN_FOLDS = 10
# What the evidence of the sample may take together, in numbers of 4 bytes; but some rows are looked at in any case.
CELLS, SOME = 1 << 25, 250
# Probabilities that are worked out again and again: of many classes fewer rows are looked at.
ANSWERS = 1 << 19


def enough(rows: Rows, numbers: int = 0, fewest: int = FEWEST) -> bool:
    """Tell whether rows show how columns go together: many, of several classes, each with one label.

    Numbers that are all used must be affordable at once; labels can be left out of it.
    """
    if isinstance(rows.target, SoftLabels) or rows.target.rows < fewest:
        return False
    classes = len(np.unique(rows.target.codes))
    return 1 < classes <= MOST_CLASSES and numbers < most_features(classes)


def alone(model: str, rows: Floats, numbers: int, labels: str) -> str:
    """Say that the textbook model answers, and why what was asked for was not fitted.

    Rows are those of each class; labels says whether they are given, soft or missing.
    """
    what = "joint terms were" if model == "auto" else "adjustments of values were"
    why = why_alone(rows, numbers if model == "refined" else 0, labels)
    return f"columns: each contributes by itself, as in the textbook model; {what} not fitted: {why}"


def why_alone(rows: Floats, numbers: int, labels: str) -> str:
    """Say what stood in the way of fitting joint terms, or adjustments of values."""
    classes, total = int((rows > 0).sum()), float(rows.sum())
    if labels == "missing":
        return "rows without a label were learned, too"
    if labels == "soft":
        return "labels are soft; they need one label for each row"
    if classes < 2:
        return "all rows are of one class"
    if classes > MOST_CLASSES:
        return f"there are {classes:,} classes, and at most {MOST_CLASSES} can be"
    if numbers >= (most := most_features(classes)):
        return f"there are {numbers:,} columns of numbers, and fewer than {most:,} can be taken together"
    if total < FEWEST:
        return f"there are {total:.10g} rows; fit, or calibrate with, at least {FEWEST}"
    return "rows were counted column by column; calibrate(X, y) with all of them fits it"


def count_together(
    counter: TableCounter,
    rows: Rows,
    threads: int,
    blocks: Blocks | None = None,
    used: Sequence[str] | None = None,
) -> str | None:
    """Count columns together, after they were counted one by one; return a remark if not all could be afforded.

    The rows are all that were counted, or a sample of them; then blocks give all of them again. Used are the columns
    that are counted so, if not all are.
    """
    if blocks is None:
        codes = counter.classes.codes(rows.target.labels)[rows.target.codes]  # type: ignore[union-attr]
        check_all(counter, codes, rows.weights)
    grid, remark = laid_out(counter, rows, threads, used)
    if blocks is None:
        blocks = [(frame_of(rows.source), codes, rows.weights, None)]
    count_jointly([counter], grid, blocks, threads)
    return remark


def check_all(counter: TableCounter, codes: Codes, weights: Floats | None) -> None:
    """Refuse rows that are not all that were counted one by one: counts of pairs would not fit the others."""
    size = len(counter.rows)
    if not np.allclose(np.bincount(codes, weights, size), counter.rows):
        raise InvalidInput(
            f"{len(codes)} rows were given, but {counter.rows.sum():.10g} were counted, and the joint "
            "model needs all of them. Give all rows that the model was fitted with, or set ",
            Setting("model", "textbook"),
            ".",
        )


def laid_out(
    counter: TableCounter, rows: Rows, threads: int, used: Sequence[str] | None = None
) -> tuple[Grid, str | None]:
    """Return how columns are laid out to be counted together, and a remark if not all can be afforded."""
    frame, wanted = frame_of(rows.source), None if used is None else set(used)
    weights = np.ones(frame.rows) if rows.weights is None else rows.weights
    at = sample_places(rows, ROWS, counter.schema, threads)
    seen = frame if len(at) == frame.rows else frame.take(at)
    of_numbers = [column for column in counter.of_numbers if wanted is None or column.name in wanted]
    numbers = np.asarray(block_numbers(seen, of_numbers, 0, seen.rows), dtype=np.float64)
    labels = [at for at, column in enumerate(counter.of_labels) if wanted is None or column.name in wanted]
    # Bins are as fine as the rows are many, however light they are.
    return first_look(counter, of_numbers, numbers, fitting(weights[at]), labels)


def first_look(
    counter: TableCounter, of_numbers: Sequence[Column], numbers: Floats, weights: Floats, of_labels: Sequence[int]
) -> tuple[Grid, str | None]:
    """Return how columns are laid out, from some of the rows; of labels, from all that were counted."""
    labels = []
    for at in of_labels:
        column, words = counter.of_labels[at], counter.words[at]
        met = counter.labels.part(at, len(words), len(counter.classes)).sum(axis=1)
        known = {label: n for label, n in zip(words.places, met.tolist(), strict=True) if label is not None}
        order = sorted(known, key=lambda label: (-known[label], str(label)))  # as often as it is met, then by name
        labels.append((column.name, order, np.array([known[label] for label in order])))
    names = [column.name for column in of_numbers]
    return look(names, numbers, weights, labels, len(counter.classes))


def looked_at(
    model: TogetherModel, counter: TableCounter, rows: Rows, y: Codes, threads: int
) -> tuple[Rows, Codes, Floats, Places]:
    """Return the rows that weights are fitted on, their classes, what they weigh, and which they are."""
    frame, most = frame_of(rows.source), affordable(model)
    at = sample_places(rows, most, counter.schema, threads)
    if frame.rows > min(most, RIDGE_ROWS):
        # The ridge of the joint evidence is chosen on the first rows, whatever the order of the table.
        at = at[content_order(counter, frame if len(at) == frame.rows else frame.take(at), y[at], threads)]
        rows, y = some(rows, at), y[at]
    return rows, y, np.ones(len(y)) if rows.weights is None else rows.weights, at


def weights_of(
    model: TogetherModel, rows: Rows, y: Codes, weights: Floats, threads: int, screened: Screened | None = None
) -> Learned:
    """Return how strongly each piece of evidence is believed, from rows that were counted, each left out.

    Where columns were chosen on these rows, a column counts as missing in those without which it was not chosen.
    """
    columns = model.read(frame_of(rows.source).on(model.schema), 0, len(y), threads)
    some = slice(0, min(RIDGE_ROWS, max(ANSWERS // (4 * len(model.classes)), SOME)))
    for name, words in model.wording.items():
        told = (columns[name][some], y[some], weights[some], model.counted.prior, model.copies)
        model.imagined[name] = imagined_of(words, *told)
    sample = model.sample(columns, y, weights)
    if screened is not None:
        sample = without_noise(sample, model.counted.prior).shown(screened.mask(model.counted.grid))
    return learn(model.counted, sample)


def without_noise(sample: Sample, prior: Floats) -> Sample:
    """Return rows without what the columns say that have no weight of their own, where that shows no clear gain."""
    said = sample.wide.get(REST)
    if said is None:
        return sample
    p = np.repeat(np.exp(prior)[:, None], len(sample.y), axis=1).astype(np.float32)
    clear = Rated(p, sample.y, fitting(sample.weights, sample.copies)).gain(said.astype(np.float32)) > CLEAR
    return sample if clear else replace(sample, wide={piece: by for piece, by in sample.wide.items() if piece != REST})


def affordable(model: TogetherModel) -> int:
    """Return of how many rows the evidence can be afforded."""
    grid, classes = model.counted.grid, len(model.classes)
    pieces = (
        (len(OF_NUMBERS) + 1) * len(grid.numbers)
        + len(grid.labels)
        + min(len(pairs_of(grid, OF_PAIRS[0])), OWN_PAIRS) * len(OF_PAIRS)
        + 8
    )
    return int(np.clip(min(CELLS // pieces, ANSWERS) // classes, SOME, ROWS))
