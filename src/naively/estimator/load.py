"""Models in files: what a file holds beside the counts, and back from a file to a classifier."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from .._types import Json, JsonObject, Label
from ..counting.rows import Rows, check_widths
from ..counting.sample import Sample
from ..data import model_file
from ..data.column import Column
from ..data.model_file import ModelPlace, StoredRows, rows_of_bytes
from ..data.schema import Schema
from ..data.values import ColumnValues
from ..errors import InvalidSetting, UnreadableFile
from ..errors.message import Setting
from ..families import Words
from ..judge.held_out_scores import HeldOutScores
from ..judge.histograms import QualityCounts
from ..model.default.coefficients import Coefficients
from ..model.default.fit import FitParts
from ..model.default.joint_counts import JointCounts
from ..model.default.words import WordCoefficients
from ..model.em import Expected
from ..model.tuning import Tuning
from ..stats import Counts, Statistic, WordTable
from .fitted_classifier import FittedClassifier, estimated_model
from .held_out import quality_at_hand, scores_at_hand
from .reports import measured_information
from .settings import Parameters, check_class_weight
from .state import FittedState, MeasuredInformation, NumberInformation, StaleNotice, state_of_counts
from .update import up_to_date

if TYPE_CHECKING:
    from .naive_bayes import NaiveBayes


def load(
    path: ModelPlace,
    *,
    tokenizer: Callable[[str], Iterator[str]] | None = None,
    preprocessor: Callable[[str], str] | None = None,
) -> NaiveBayes:
    """Return the classifier that `NaiveBayes.save` wrote.

    Parameters
    ----------
    path : str, Path or file object
        The model file: a path, a URL of another file system such as ``"s3://bucket/model.parquet"`` (by fsspec), or a
        file that is open for reading bytes.
    tokenizer, preprocessor : callable, optional
        The functions that texts were split with, if the model had such: a file cannot hold them.

    Returns
    -------
    NaiveBayes
        The fitted classifier, with its settings.

    Raises
    ------
    UnreadableFile
        If the file is missing, damaged, newer than this version, or no model file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import naively as nv
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.parquet"
    >>> nv.NaiveBayes().fit({"sky": ["rain", "sunny"]}, ["in", "out"]).save(path)
    >>> nv.load(path).predict({"sky": "rain"})
    array(['in'], dtype='<U3')
    """
    from .naive_bayes import NaiveBayes

    return NaiveBayes.from_fitted(load_model(path, {"tokenizer": tokenizer, "preprocessor": preprocessor}))


def load_model(
    path: ModelPlace, functions: Mapping[str, Callable[..., object] | None] | None = None
) -> FittedClassifier:
    """Return the fitted model that a file holds."""
    return model_of_file(model_file.place_name(path), model_file.read_model(path), functions)


def model_of_file(
    path: str | PathLike[str],
    stored: model_file.StoredModel,
    functions: Mapping[str, Callable[..., object] | None] | None = None,
) -> FittedClassifier:
    """Return the fitted model of what was read from a file."""
    try:
        return _fitted_model_of(stored, functions or {})
    except (ArithmeticError, AttributeError, LookupError, OSError, RuntimeError, TypeError, ValueError) as error:
        result = f"it holds counts, but what else it says makes no classifier ({error!r})"
        raise UnreadableFile(path, f"{result}; if another version of Naively wrote it, fit the model again") from None


def save_model(
    fitted: FittedClassifier, path: ModelPlace, *, rows: bool = False, beside: JsonObject | None = None
) -> None:
    """Write a fitted model to one Parquet file, with the rows that it keeps if they are asked for.

    It is brought up to date first. The caller may put more beside it, under names that are not used here.
    """
    if rows:
        refuse_without_rows(fitted)
    fitted = up_to_date(fitted)
    state, counts = fitted.state, fitted.counts
    settings = {name: _setting_to_json(name, value) for name, value in sorted(fitted.parameters.to_dict().items())}
    settings.pop("families")  # the schema says it
    about: JsonObject = {"schema": state.schema.to_json(), "settings": settings, "named": state.has_names}
    about |= {"labels": state.label_type.str, "tuning": _tuning_to_json(fitted)}
    for name, weights in (("by_class", state.class_weights), ("row_weights", state.row_weights)):
        if weights is not None:
            about[name] = [float(weights.get(label, 1.0)) for label in counts.classes.labels]
    about |= {"soft": True} if state.has_soft_labels else {}
    about |= beside or {}
    kept = rows_for_file(state.kept) if rows and state.kept is not None else None
    if (scores := scores_at_hand(fitted)) is not None:
        about["held_out"] = scores.of_classes(fitted.all_counts.classes.labels).to_json()
    if (quality := quality_at_hand(fitted)) is not None:
        about["quality"] = quality.to_json()
    if (measured := measured_information(fitted)) is not None:
        about["measured"] = measured.to_json()
    expected, learned, parts = state.expected, state.tuning.learned, dict[str, bytes]()
    if learned is not None and fitted.has_weighted_columns:
        parts["joint"] = learned.joint.to_bytes()
        if learned.coefficients is not None:
            parts["coefficients"] = learned.coefficients.to_bytes()
        parts |= {f"words of {name}": words.to_bytes() for name, words in learned.words.items()}
    if kept is not None:
        parts["rows"] = model_file.rows_to_bytes(kept)
    about |= {} if expected is None else {"expected": expected.about()}
    model_file.write_model(path, counts, about, None if expected is None else expected.counts, parts)


def _tuning_to_json(fitted: FittedClassifier) -> JsonObject | None:
    """Return what was tuned as plain data; None if nothing was."""
    tuning = fitted.state.tuning
    if tuning.smoothing is None and not tuning.calibrated:
        return None
    fresh = fitted.is_calibrated if tuning.calibrated else tuning.fresh
    if not fitted.has_weighted_columns:  # weights are of no use to other columns or classes
        tuning = replace(tuning, learned=None)
    return replace(tuning, fresh=fresh).to_json(fitted.counts.classes)


def _fitted_model_of(
    stored: model_file.StoredModel, functions: Mapping[str, Callable[..., object] | None]
) -> FittedClassifier:
    """Return the fitted model of what a file holds."""
    counts, about, expected, parts = stored
    settings = {name: _setting_from_json(value) for name, value in about["settings"].items()}
    schema = Schema.from_json(about["schema"])
    for column in schema:
        _check_words(column, counts.columns[column.name])
    schema = schema.with_functions(functions)
    for column in schema.of_kind("vectors"):
        if isinstance(column.family, Words) and column.family.tokens.calls and column.type == "text":
            for part in (counts, *([] if expected is None else [expected])):
                part.columns[column.name].lexicon.tokens = column.family.tokens
    parameters = Parameters(families=schema.unusual() or None, **settings)
    state = _with_weights(state_of_counts(parameters, counts, schema, about["named"]), counts, about)
    measured = about.get("measured")
    state = replace(
        state,
        label_type=np.dtype(about["labels"]),
        expected=None if expected is None else Expected.of(expected, about["expected"]),
        has_soft_labels=bool(about.get("soft", False)),
        information=None if measured is None else NumberInformation(measured=MeasuredInformation.from_json(measured)),
        kept=rows_of_part(parts["rows"], schema, counts, state.class_weights) if "rows" in parts else None,
        fitted_rows=float(counts.rows.sum()),
    )
    if about.get("tuning") is None:
        # Nothing was fitted to the rows of one file of several, whose models are merged: it is fitted when asked for.
        many = state.kept is not None and state.fitted_rows >= parameters.recipe.fewest_rows
        return _with_scores(FittedClassifier(parameters, replace(state, changed=np.inf if many else 0.0)), about)
    state = state.tuned(_stored_tuning(about["tuning"], counts, parts), parameters)
    state = replace(state, notice=StaleNotice(not state.tuning.fresh))  # the warning was given before it was saved
    fitted = FittedClassifier(parameters, state)
    if fitted.weights is not None:
        estimated_model(fitted)  # refuses weights of columns that are not there
    return _with_scores(fitted, about)


def _stored_tuning(data: JsonObject, counts: Counts, parts: Mapping[str, bytes]) -> Tuning:
    """Return what was tuned, with the joint counts and the coefficients that stand in parts of their own."""

    def words(name: str) -> WordCoefficients:
        return WordCoefficients.of_bytes(parts[f"words of {name}"], counts.columns[name].lexicon, len(counts.classes))

    classes = counts.classes
    if "joint" not in parts:
        return Tuning.from_json(data, classes, None)
    cells = Coefficients.of_bytes(parts["coefficients"], len(classes)) if "coefficients" in parts else None
    return Tuning.from_json(data, classes, FitParts(JointCounts.of_bytes(parts["joint"], classes), cells, words))


def _with_scores(fitted: FittedClassifier, about: JsonObject) -> FittedClassifier:
    """Return the model with the held-out scores and the quality that a file holds."""
    if "held_out" in about:
        scores = HeldOutScores.from_json(about["held_out"], fitted.all_counts.classes)
        fitted.state.held_out.keep(scores, fitted.parameters)
    if "quality" in about:
        quality = QualityCounts.from_json(about["quality"], tuple(fitted.all_counts.classes.labels))
        if quality is not None:
            fitted.state.held_out.keep_quality(quality, fitted.parameters, float(fitted.counts.rows.sum()))
    return fitted


def _with_weights(state: FittedState, counts: Counts, about: JsonObject) -> FittedState:
    """Return the state with the weights of classes and rows that a file holds."""

    def weights(name: str) -> dict[Label, float] | None:
        if about.get(name) is None:
            return None
        result = dict(zip(counts.classes.labels, about[name], strict=True))
        check_class_weight(result)
        return result

    given = state.class_weights
    by_class = weights("by_class") if given is None else given
    return replace(state, class_weights=by_class, row_weights=weights("row_weights"))


def _check_words(column: Column, statistic: Statistic) -> None:
    """Refuse words that are read otherwise than they were counted."""
    family = column.family if column.type == "text" and isinstance(column.family, Words) else None
    of_matrix = column.type == "vector" and isinstance(statistic, WordTable) and statistic.of_matrix
    if family is None and (not isinstance(statistic, WordTable) or (of_matrix and column.family.name == "words")):
        return
    if family is None or not isinstance(statistic, WordTable) or family.tokens != statistic.lexicon.tokens:
        raise TypeError(f"column {column.name!r} was counted otherwise than it is read")
    declared = set(statistic.lexicon.names()) if statistic.lexicon.fixed else None
    if declared != (None if family.vocabulary is None else set(family.vocabulary)):
        raise TypeError(f"column {column.name!r} was counted by another vocabulary")


def _setting_to_json(name: str, value: object) -> Json:
    """Return a setting as plain data that JSON can hold; a dict may have pairs as keys."""
    if name == "families":
        return None
    if isinstance(value, dict):
        return {"dict": [[list(k) if isinstance(k, tuple) else _setting_to_json(name, k), v] for k, v in value.items()]}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [v.item() if isinstance(v, np.generic) else v for v in value]
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise InvalidSetting(
        Setting(name, value), " cannot be written to a file; set it to a number, a text, a list or a dict."
    )


def _setting_from_json(value: Json) -> Json:
    """Return a setting that a file holds."""
    if isinstance(value, dict):
        return {tuple(k) if isinstance(k, list) else k: v for k, v in value["dict"]}
    return value


# -- the rows that a model retains ------------------------------------------------------------------------------------


def refuse_without_rows(fitted: FittedClassifier) -> None:
    """Refuse to write rows of a model that keeps none."""
    refuse_rows_of_textbook(fitted.parameters)
    if fitted.state.kept is None:
        raise InvalidSetting(
            Setting("rows", True),
            ": the model keeps no row, or some of its rows were not kept. It was read from a file without rows, made "
            "of counts, or its rows were dropped; leave it out, or fit the model anew to all rows.",
        )


def refuse_rows_of_textbook(parameters: Parameters) -> None:
    """Refuse to write rows of a model that needs none."""
    if not parameters.leaves_choices:
        raise InvalidSetting(
            Setting("rows", True),
            ": the textbook model needs no row, because its counts alone merge and forget exactly; leave it out.",
        )


def rows_for_file(kept: Sample) -> StoredRows | None:
    """Return what is kept as a file holds it; None if nothing is."""
    kept = kept.together()
    held = kept.held
    if held is None:
        return None
    hashes = held.hashes if kept.ordered else None
    if hashes is not None and np.array_equal(hashes, replace(held, hashes=None).hashed(kept.schema, 1)):
        hashes = None  # they follow from the rows
    return StoredRows(held.source, held.target, held.weights, held.called, kept.copies, hashes, kept.limit)


def rows_of_part(data: bytes, schema: Schema, counts: Counts, class_weights: Mapping[Label, float] | None) -> Sample:
    """Return the rows that a file holds, if they can be rows of these counts."""
    stored = rows_of_bytes(data)
    bare = replace(schema, hints=())
    if stored.frame.names != bare.names:
        raise ValueError("rows have other columns than were counted")
    frame = stored.frame.on(bare)
    for column in bare:
        if isinstance(values := frame.columns[column.name], ColumnValues):
            values.check(column)
    check_widths(frame, bare, counts)
    held = Rows(frame, stored.target, stored.weights, stored.called, hashes=stored.hashes)
    _check_totals(stored, counts, class_weights)
    kept = Sample(bare, held, stored.copies, stored.limit, ordered=stored.hashes is not None)
    if stored.limit is None and stored.hashes is None:
        return kept
    kept = kept.in_order()
    assert kept.held is not None
    hashes = kept.held.hashed(bare, 1)
    if kept.limit is not None and len(hashes) and hashes[-1] > kept.limit:
        raise ValueError("a row is kept that was to be dropped")
    falls, stands = hashes[1:] < hashes[:-1], hashes[1:] == hashes[:-1]
    if falls.any() or (kept.limit is not None and (kept.copies is None or stands.any())):
        raise ValueError("rows that are kept stand twice, or not in their order")
    return kept


def _check_totals(stored: StoredRows, counts: Counts, class_weights: Mapping[Label, float] | None) -> None:
    """Refuse rows that are more than were counted, or, if all are kept, fewer."""
    target, labels = stored.target, stored.target.labels
    weights = np.ones(stored.frame.rows) if stored.weights is None else stored.weights
    weights = weights if stored.copies is None else weights * stored.copies
    totals = target.totals(weights)
    if class_weights is not None:
        totals = totals * np.array([class_weights.get(label, 1.0) for label in labels])
    counted = dict(zip(counts.classes.labels, counts.rows.tolist(), strict=True))
    known = np.array([counted.get(label, 0.0) for label in labels])
    near = 1e-6 * np.maximum(known, 1.0)
    if (totals > known + near).any() or (stored.limit is None and abs(totals.sum() - counts.rows.sum()) > near.sum()):
        raise ValueError("rows are not those that were counted")
