"""Models from files and the scores of their folds: few rows as if they were in memory, many in one more pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._threads import allowed
from .._types import Codes, Mask, Places
from ..counting.counter import TableCounter
from ..counting.files import FileRows, LabeledBlock
from ..counting.row_hash import RowHasher, frame_hashes
from ..counting.rows import Rows
from ..counting.sample import in_proportion
from ..counting.sampled_rows import sampled_file
from ..counting.second_pass import add_joint_counts, count_jointly
from ..counting.weights import are_copies, class_weights, with_class_weights
from ..errors import InvalidInput
from ..errors.message import Setting
from ..judge.fold_assignment import Dealer, seed_of
from ..judge.scores import Scores
from ..model.joint.fitting import enough, laid_out
from ..model.joint.screening import Used, anew, narrow, narrowed, screened_of, union_of
from ..model.leave_one_out import dealt_rows, hard, some
from ..model.refined.fitting import PASSES
from ..model.scorer import Model
from ..model.table_model import TableModel
from ..model.tuning import Tuning
from ..stats import Counts
from ..stats.class_weights import times_class_weights
from .classifier import Classifier
from .folds import scores_of_folds
from .settings import scored_by

# Passes over the rows, at most, beside the one that counts single columns.
MORE = {"textbook": 0, "auto": 1, "refined": 1 + PASSES}
# Scores keep a probability for each row and class; of more cells than this, only some rows are scored.
SCORED = 1 << 24


def spared(nb: Classifier, counter: TableCounter) -> int:
    """Return how many passes are not needed: where all columns are texts, none are taken together."""
    return int(nb.model == "auto" and not counter.of_labels and not counter.of_numbers)


def fit_folds(nb: Classifier, rows: FileRows, folds: int, tuning: str = "refit") -> tuple[Scores, Scores | None]:
    """Count all rows, each fold apart; then answer each row from the others, and so by the textbook model.

    Where all rows were kept while they were counted, they are answered as the same table in memory would be.
    """
    threads, which, seed = allowed(nb.threads), range(len(rows.source.paths)), seed_of(nb.random_state)
    rows.passes = rows.passes[0], rows.passes[0] + 2 + MORE[nb.model]  # the last to score
    rows.gathering = True
    counter = TableCounter(rows.schema(nb.families, nb.model != "textbook"), list(nb.classes or ()))
    rows.passes = rows.passes[0], rows.passes[1] - spared(nb, counter)
    parts = [counter.fresh() for _ in range(folds)]
    rows.count_apart(parts, threads, dealing(counter, folds, seed), which)
    for name in rows.set_aside:
        counter.set_aside(name)
    for part in parts:
        counter.absorb(part)
    if rows.sample is not None and rows.sample.complete:
        return fit_few(nb, rows, counter, dealt_rows(sampled_file(rows, counter), folds, seed), tuning)
    return fit_many(nb, rows, counter, parts, seed, tuning)


def fit_few(
    nb: Classifier, rows: FileRows, counter: TableCounter, tests: Sequence[Places], tuning: str
) -> tuple[Scores, Scores | None]:
    """Fit to rows that are all in memory, and score their folds as `cross_validate` does."""
    sample, schema = sampled_file(rows, counter), anew(counter.schema)
    nb._settle(counter, rows)
    rows.finish()
    held = nb.tuning_ if tuning == "fixed" and nb._leaves_open else None
    splits = [(None, test) for test in tests]
    scores = scores_of_folds(nb, sample, schema if held is None else nb.schema_, splits, held)
    if nb._tuning.learned is None:
        return scores, None
    book = type(nb)(**{**nb.get_params(deep=False), "model": "textbook"})
    return scores, scores_of_folds(book, sample, schema, splits)


def fit_many(
    nb: Classifier, rows: FileRows, counter: TableCounter, parts: list[TableCounter], seed: int, tuning: str
) -> tuple[Scores, Scores | None]:
    """Fit to rows of which some were kept, and score folds in one more pass; all folds share the bins of numbers."""
    folds = len(parts)
    sample = sampled_file(rows, counter) if rows.sampling else None
    others = samples_without(sample, rows, folds)
    used = choices(nb, rows, counter, sample, others)
    remark = together_apart(nb, rows, counter, parts, sample, seed, used)
    union = None if used[0] is None else narrow(counter, used[0])
    nb._settle(counter, rows)
    whole, held = nb.counts_ if union is None else union, nb.tuning_ if tuning == "fixed" else None
    nb._schema = nb._schema if remark is None else replace(nb._schema, hints=(*nb._schema.hints, remark))
    kinds = [nb.model] if nb._tuning.learned is None else [nb.model, "textbook"]
    models = [
        [model_without(nb, *weighed_anew(nb, rows, whole - part.value(), other), kind, held, names) for kind in kinds]
        for part, other, names in zip(parts, others, used[1:], strict=True)
    ]
    parts.clear()
    found = answered(nb, rows, counter, models, whole, dealing(counter, folds, seed), tuning)
    return found[0], found[1] if len(found) > 1 else None


def choices(
    nb: Classifier, rows: FileRows, counter: TableCounter, sample: Rows | None, others: Sequence[Rows | None]
) -> list[Used]:
    """Return the columns of a wide table that are counted together: by all rows, and by those outside each fold.

    What is chosen by classes must not have seen the rows that it is scored on. None stands for all columns.
    """
    parts = (sample, *others)
    if nb.model != "auto" or sample is None or not enough(sample):
        return [None] * len(parts)
    threads, heavy = (
        allowed(nb.threads),
        [with_class_weights(part, rows.by_class) for part in parts if part is not None],
    )
    copies = are_copies(heavy[0].weights, hard(sample).codes)
    found = [screened_of(counter, part, nb.missing == "value", copies, threads) for part in heavy]
    return [None if one is None else one.names for one in found]


def together_apart(
    nb: Classifier,
    rows: FileRows,
    counter: TableCounter,
    parts: Sequence[TableCounter],
    sample: Rows | None,
    seed: int,
    used: Sequence[Used],
) -> str | None:
    """Count columns together, each fold apart, if the model takes them so; return a remark if not all is affordable.

    Bins are laid out once for all folds, from rows without their classes, for every column that one of them uses.
    """
    if nb.model != "auto" or sample is None or not enough(sample):
        return None
    threads = allowed(nb.threads)
    grid, remark = laid_out(
        counter, with_class_weights(sample, rows.by_class), threads, union_of(used, len(counter.classes))
    )
    share = dealing(counter, len(parts), seed)
    count_jointly(parts, grid, rows.again(counter, threads, share, wide=False), threads)
    add_joint_counts(counter, parts)
    return remark


def dealing(counter: TableCounter, folds: int, seed: int) -> Callable[[LabeledBlock], Codes]:
    """Return what splits the rows of one pass into folds, block by block, always the same way."""
    dealer = Dealer(folds, seed)
    return lambda part: dealer.deal(list(counter.classes.places), part.y, part.own)


def samples_without(sample: Rows | None, rows: FileRows, folds: int) -> list[Rows | None]:
    """Return the rows of a sample that are not in each fold; None if no sample was kept."""
    if sample is None:
        return [None] * folds
    assert rows.sample is not None, "a sample was kept"
    dealt = rows.sample.rows().folds
    return [some(sample, np.flatnonzero(dealt != at)) for at in range(folds)]


def weighed_anew(nb: Classifier, rows: FileRows, rest: Counts, sample: Rows | None) -> tuple[Counts, Rows | None]:
    """Return what is left without a fold, and a sample of it, weighed by class as these rows alone would be."""
    if rows.by_class is None:
        return rest, sample
    now = np.array([rows.by_class.get(label, 1.0) for label in rest.classes.labels])
    weights: Any = rows.by_class
    if isinstance(nb.class_weight, str):
        weights = class_weights(nb.class_weight, rest.classes.labels, rest.rows / now)
        rest = times_class_weights(rest, np.array(list(weights.values())) / now)
    return rest, None if sample is None else with_class_weights(sample, weights)


def model_without(
    nb: Classifier, rest: Counts, sample: Rows | None, kind: str, held: Tuning | None, used: Used
) -> TableModel:
    """Return a model of such a kind of all rows but some; what is left open is chosen on a sample of the others."""
    rest = narrowed(rest, used)
    if not rest.rows.any():
        raise InvalidInput("A fold leaves no rows to learn from; set ", Setting("folds", 0), ", or give more rows.")
    schema = replace(nb.schema_, grid=None if rest.joint is None else rest.joint.grid)
    other = type(nb).from_counts(rest, schema, **{**nb.get_params(deep=False), "model": kind})
    if held is not None and kind == nb.model:
        other._keep(held)
    elif sample is not None:
        other._tune_if_asked(sample)
    return other._table_model


def answered(
    nb: Classifier,
    rows: FileRows,
    counter: TableCounter,
    models: Sequence[Sequence[TableModel]],
    whole: Counts,
    dealt: Callable[[LabeledBlock], Codes],
    tuning: str,
) -> list[Scores]:
    """Return the scores of the rows in their order, each answered by the models that do not know it; for each kind."""
    met = whole.classes.places(list(counter.classes.places))
    share = min(1.0, SCORED / (max(rows.rows, 1) * len(met)))
    threads, hasher = allowed(nb.threads), RowHasher(counter)
    found = [
        ask(part, scored_rows(hasher, part, share, threads), dealt(part), models, whole, threads)
        for part in rows.once_more(counter, threads)
    ]
    *posteriors, truth, weights, fold = (np.concatenate(pieces) for pieces in zip(*found, strict=True))
    heavy, labels = weights if rows.weight is not None else None, whole.classes.labels
    chosen = tuning if nb._leaves_open else None
    how = (met[truth], labels, heavy, *scored_by(nb, labels), chosen, fold)
    return [Scores.of_places(posterior, *how) for posterior in posteriors]


def scored_rows(hasher: RowHasher, part: LabeledBlock, proportion: float, threads: int) -> Mask:
    """Return which rows of a block are scored: such a proportion of them, by their content."""
    if proportion >= 1:
        return np.ones(part.frame.rows, dtype=np.bool_)
    return in_proportion(frame_hashes(hasher, part.frame, part.y, part.own, threads), proportion)


def ask(
    part: LabeledBlock, scored: Mask, fold: Codes, models: Sequence[Sequence[TableModel]], whole: Counts, threads: int
) -> list[Any]:
    """Return the probabilities by each kind of model, the classes, the weights and the folds of a block's rows."""
    chosen = np.flatnonzero(scored & (fold >= 0))
    posteriors = [np.zeros((len(chosen), len(whole.classes))) for _ in models[0]]
    for at, kinds in enumerate(models):
        here = np.flatnonzero(fold[chosen] == at)
        asked = part.frame.take(chosen[here])
        for posterior, model in zip(posteriors, kinds, strict=True):
            if len(here):
                columns = whole.classes.places(model.classes.labels)
                posterior[np.ix_(here, columns)] = model.answer(Model.posterior, asked, threads)
    weights = np.ones(part.frame.rows) if part.own is None else part.own
    return [*posteriors, part.y[chosen], weights[chosen], fold[chosen]]
