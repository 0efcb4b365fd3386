"""Models from files: fitted in one pass, scored in a second, and fitted again from counts that were kept."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .classifier import Classifier, holding
from .counting import Rows, sampled
from .engines.again import add_together, add_up
from .engines.files import MOST_LABELS, FileRows, Labelled, Progress, set_aside_hint
from .engines.sample import place_hash
from .engines.tables import TableCounter
from .errors import InvalidInput, InvalidSetting
from .evaluate import Scores
from .hints import about_labels
from .kept import Kept, One, looks
from .learning import FEWEST, FEWEST_IN_FOLDS, enough, laid_out
from .mixed import TableModel
from .model import Model
from .read.files import File, file_of
from .refining import PASSES
from .resample import some
from .settings import check_from_file, check_settings, scored_by
from .statistics import Counts
from .threads import allowed

# Passes over the rows, at most, beside the one that counts single columns.
MORE = {"textbook": 0, "auto": 1, "refined": 1 + PASSES}
# Scores keep a probability for each row and class; of more cells than this, only some rows are scored.
SCORED = 1 << 24


@dataclass(frozen=True)
class Fitted:
    """What was done to fit a model from files."""

    rows: int  # that were counted
    missing: int  # empty cells among the columns of the model
    set_aside: tuple[str, ...]  # columns with too many values, as identifiers have
    scores: Scores | None  # by cross-validation, if folds were asked for
    book: Scores | None  # of the text-book model in the same folds, if another was fitted
    passes: int  # how often the rows were gone over
    read: tuple[str, ...]  # the files that were read
    kept: tuple[str, ...]  # the files whose counts were there already
    seconds: float


def fit(
    nb: Classifier,
    file: Any,
    target: str,
    *,
    ignore: Sequence[str] = (),
    weight: str | None = None,
    folds: int = 0,
    keep_counts: Any = None,
    window: int | None = None,
    progress: Progress | None = None,
) -> Fitted:
    r"""Fit a classifier to the rows of files, and say what was done.

    Parameters
    ----------
    nb : NaiveBayes
        Its settings are used, and it is fitted.
    file : File, str or Path
        The rows.
    target, weight : str
        The column of the classes; that of the weights, if there is one.
    ignore : sequence of str
        Columns to leave out.
    folds : int
        With 2 or more, scores by cross-validation, for one more pass over the files: the fold of a row follows from its
        place, the counts of each fold are taken out of the total, and folds + 1 models are held in memory. Of very many
        rows some are scored: as many as 2**24 probabilities allow. With ``model="auto"`` each fold weighs its evidence
        anew, all share the bins, which are laid out without looking at classes, and the text book is scored beside it.
    keep_counts : path, optional
        A folder to keep the counts of each file in; a file is read again only if it changed.
    window : int, optional
        With `keep_counts`: only the newest so many files, which are the last in the order of their names.
    progress : callable, optional
        Called with the rows and bytes done so far, and the bytes there are.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import naively as nv
    >>> from naively import files
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "mail.csv"
    >>> _ = path.write_text("words,label\n" + "12,ham\n80,spam\n9,ham\n95,spam\n" * 25)
    >>> nb = nv.NaiveBayes()
    >>> done = files.fit(nb, path, "label", folds=5)
    >>> done.rows, done.scores.accuracy, nb.predict({"words": 85})[0]
    (100, 1.0, 'spam')
    """
    start = time.perf_counter()
    check_settings(nb)
    check_from_file(nb)
    source = file_of(file)
    if source is None:
        raise InvalidInput(f"Give a path or nv.File(...); got {type(file).__name__}.")
    if window is not None and (keep_counts is None or window < 1):
        raise InvalidSetting(
            f"window={window!r} must be 1 or more, and needs keep_counts= to have counts to choose from."
        )
    if folds and (folds < 2 or keep_counts is not None):
        raise InvalidSetting(
            f"folds={folds!r}: give 2 or more, or 0 for no scores; with keep_counts= it must be 0, because scores need "
            "to read every file again."
        )
    rows = FileRows(source, target, weight, tuple(ignore), nb.unlabelled, progress)
    rows.sampling = nb._leaves_open
    if keep_counts is not None:
        return fit_kept(nb, rows, keep_counts, window, start)
    scores, book = None, None
    if folds:
        scores, book = fit_folds(nb, rows, folds)
    else:
        fit_once(nb, rows)
    seconds, passes = time.perf_counter() - start, rows.passes[0] + 1
    return Fitted(rows.rows, rows.missing, tuple(rows.set_aside), scores, book, passes, source.paths, (), seconds)


def fit_once(nb: Classifier, rows: FileRows) -> None:
    """Count all rows; if columns are taken together, once more."""
    rows.passes = 0, 1 + MORE[nb.model]
    counter = TableCounter(rows.schema(nb.families, nb.model != "textbook"), list(nb.classes or ()))
    rows.passes = rows.passes[0], rows.passes[1] - spared(nb, counter)
    rows.count(counter, allowed(nb.threads))
    nb._settle(counter, rows)


def spared(nb: Classifier, counter: TableCounter) -> int:
    """Return how many passes are not needed: where all columns are texts, none are taken together."""
    return int(nb.model == "auto" and not counter.of_labels and not counter.of_numbers)


# -- folds -------------------------------------------------------------------------------------------------------------


def fit_folds(nb: Classifier, rows: FileRows, folds: int) -> tuple[Scores, Scores | None]:
    """Count all rows, each fold apart; then answer each row from the others, and so by the text book."""
    threads, which = allowed(nb.threads), range(len(rows.source.paths))
    rows.passes = 0, 2 + MORE[nb.model]  # the last to score
    counter = TableCounter(rows.schema(nb.families, nb.model != "textbook"), list(nb.classes or ()))
    rows.passes = rows.passes[0], rows.passes[1] - spared(nb, counter)
    parts = [counter.fresh() for _ in range(folds)]
    rows.count_apart(parts, threads, lambda part: fold_of(part, folds), which)
    for name in rows.set_aside:
        counter.set_aside(name)
    for part in parts:
        counter.absorb(part)
    sample = sampled(rows, counter) if rows.sampling else None
    remark = together_apart(nb, rows, counter, parts, sample)
    nb._settle(counter, rows)
    nb._schema = nb._schema if remark is None else replace(nb._schema, hints=(*nb._schema.hints, remark))
    whole = nb.counts_
    others = samples_without(sample, rows, folds)
    many = sample is not None and enough(sample, len(counter.of_numbers))
    fewest = FEWEST_IN_FOLDS if many else FEWEST  # folds are fitted as all rows are
    kinds = [nb.model] if nb._tuning.learned is None else [nb.model, "textbook"]
    models = [
        [model_without(nb, whole, part.value(), other, kind, fewest) for kind in kinds]
        for part, other in zip(parts, others, strict=True)
    ]
    del parts
    found = answered(nb, rows, counter, models, whole)
    return found[0], found[1] if len(found) > 1 else None


def together_apart(
    nb: Classifier, rows: FileRows, counter: TableCounter, parts: Sequence[TableCounter], sample: Rows | None
) -> str | None:
    """Count columns together, each fold apart, if the model takes them so; return a remark if not all is affordable.

    Bins are laid out once for all folds, from rows without their classes.
    """
    if nb.model != "auto" or sample is None or not enough(sample, len(counter.of_numbers)):
        return None
    threads = allowed(nb.threads)
    grid, remark = laid_out(counter, sample, threads)
    add_together(parts, grid, rows.again(counter, threads, lambda part: fold_of(part, len(parts)), wide=False), threads)
    add_up(counter, parts)
    return remark


def fold_of(part: Labelled, folds: int) -> npt.NDArray[np.int32]:
    """Return the fold of each row: by a hash of its place."""
    return (place_hash(part.file, part.begin, part.frame.rows) % np.uint64(folds)).astype(np.int32)


def samples_without(sample: Rows | None, rows: FileRows, folds: int) -> list[Rows | None]:
    """Return the rows of a sample that are not in each fold; None if no sample was kept."""
    if sample is None:
        return [None] * folds
    dealt = np.concatenate([part.hashed for part in rows.sample.parts]) % np.uint64(folds)
    return [some(sample, np.flatnonzero(dealt != at)) for at in range(folds)]


def model_without(
    nb: Classifier, whole: Counts, part: Counts, sample: Rows | None, kind: str, fewest: int
) -> TableModel:
    """Return a model of such a kind of all rows but some; what is left open is chosen on a sample of the others."""
    rest = whole - part
    if not rest.rows.any():
        raise InvalidInput("A fold leaves no rows to learn from; set folds=0, or give more rows.")
    other = type(nb).from_counts(rest, nb.schema_, **{**nb.get_params(deep=False), "model": kind})
    if sample is not None:
        other._tune_if_asked(sample, fewest=fewest)
    return other._table_model


def answered(
    nb: Classifier, rows: FileRows, counter: TableCounter, models: Sequence[Sequence[TableModel]], whole: Counts
) -> list[Scores]:
    """Return the scores of the rows, each answered by the models that do not know it; for each kind of model."""
    met = whole.classes.places(list(counter.classes.places))
    share = min(1.0, SCORED / (max(rows.rows, 1) * len(met)))
    threads, found = allowed(nb.threads), []
    for part in rows.once_more(counter, threads):
        found += [piece for at in range(len(models)) if (piece := ask(part, at, models, whole, share, threads))]
    *posteriors, truth, weights = (np.concatenate(pieces) for pieces in zip(*found, strict=True))
    weighed, labels = weights if rows.weight is not None else None, whole.classes.labels
    return [Scores(posterior, met[truth], labels, weighed, *scored_by(nb, labels)) for posterior in posteriors]


def ask(
    part: Labelled, fold: int, models: Sequence[Sequence[TableModel]], whole: Counts, share: float, threads: int
) -> list[Any] | None:
    """Return the probabilities by each kind of model, the classes and the weights of the rows of a block in a fold."""
    hashed = place_hash(part.file, part.begin, part.frame.rows)
    weights = np.ones(part.frame.rows) if part.weights is None else part.weights
    chosen = (hashed >> np.uint64(11)).astype(np.float64) < share * 2.0**53
    at = np.flatnonzero((hashed % np.uint64(len(models)) == fold) & chosen & (weights > 0))
    if not len(at):
        return None
    asked, posteriors = part.frame.take(at), []
    for model in models[fold]:
        posterior = np.zeros((len(at), len(whole.classes)))
        posterior[:, whole.classes.places(model.classes.labels)] = model.answer(Model.posterior, asked, threads)
        posteriors.append(posterior)
    return [*posteriors, part.y[at], weights[at]]


# -- counts that are kept ----------------------------------------------------------------------------------------------


def fit_kept(nb: Classifier, rows: FileRows, folder: Any, window: int | None, start: float) -> Fitted:
    """Fit from the counts of each file, which are read from a folder or made and kept there."""
    kept = Kept(folder, rows, nb.families)
    source = rows.source
    order = sorted(range(len(source.paths)), key=lambda at: source.paths[at])[-(window or 0) :]
    parts, read = [], []
    for at in order:
        one = kept.find(source.paths[at])
        if one is None:
            one = count_one(nb, rows, kept, at)
            read.append(source.paths[at])
        parts.append(one)
    counts, aside = added_up(parts, rows, kept)
    schema = kept.schema.only(name for name in kept.schema.names if name not in aside)
    hints = about_labels(TableCounter.of(counts, schema), float(counts.rows.sum()))
    alone = ["Counts that are kept are those of single columns: the text book answers."] * (nb.model != "textbook")
    holding(nb, counts, replace(schema, hints=(*hints, *map(set_aside_hint, aside), *alone)))
    nb._label_type = np.dtype(parts[-1].noted["labels"])
    rows_, missing = (sum(one.noted[name] for one in parts) for name in ("rows", "missing"))
    there = tuple(source.paths[at] for at in order if source.paths[at] not in read)
    seconds = time.perf_counter() - start
    return Fitted(rows_, missing, aside, None, None, min(len(read), 1), tuple(read), there, seconds)


def count_one(nb: Classifier, rows: FileRows, kept: Kept, at: int) -> One:
    """Count one of the files, and keep its counts."""
    alone = replace(rows, set_aside=[], rows=0, missing=0, first=None)
    path = rows.source.paths[at]
    before = looks(path)
    counter = TableCounter(kept.schema, list(nb.classes or ()))
    alone.count(counter, allowed(nb.threads), [at])
    rows.rows += alone.rows
    noted = {"rows": alone.rows, "missing": alone.missing, "set_aside": alone.set_aside, "labels": alone.label_type.str}
    one = One(counter.value(), noted)
    kept.put(path, one, before)
    return one


def added_up(parts: Sequence[One], rows: FileRows, kept: Kept) -> tuple[Counts, tuple[str, ...]]:
    """Return the sum of counts, always in the same order, without the columns that have too many values."""
    aside = {name for one in parts for name in one.noted["set_aside"]}
    counts = sum(without(one.counts, aside) for one in parts)
    assert isinstance(counts, Counts)
    many = [c for c in kept.schema if rows.may_go(c) and c.name in counts.columns]
    aside |= {c.name for c in many if len(counts.columns[c.name].values) > MOST_LABELS}
    return without(counts, aside), tuple(name for name in kept.schema.names if name in aside)


def without(counts: Counts, names: set[str]) -> Counts:
    """Return counts without some columns."""
    columns = {name: statistic for name, statistic in counts.columns.items() if name not in names}
    return Counts(counts.classes, counts.rows, columns)


__all__ = ["File", "Fitted", "fit"]
