"""From a file back to a classifier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..data import model_file as store
from ..data.column import Column
from ..data.schema import Schema
from ..errors import InvalidSetting, UnreadableFile
from ..families import Words
from ..model.em import Expected
from ..model.measured_information import Measured
from ..model.refined.offsets import Moved
from ..model.tuning import Tuning
from ..stats import Counts, WordTable
from .classifier import Classifier, holding
from .settings import check_class_weight, revived

if TYPE_CHECKING:
    from .naive_bayes import NaiveBayes

Kind = TypeVar("Kind", bound=Classifier)


def load(path: Any, *, tokenize: Any = None, preprocess: Any = None) -> NaiveBayes:
    """Return the classifier that `save` wrote; functions that take texts apart, which no file holds, are given anew."""
    from .naive_bayes import NaiveBayes

    return loaded(path, NaiveBayes, {"tokenize": tokenize, "preprocess": preprocess})


def loaded(path: Any, kind: type[Kind], functions: Mapping[str, Any] | None = None) -> Kind:
    """Return the classifier that a file holds, as one of this kind."""
    kept = store.read_model(path)
    try:
        return classifier_of(kept, kind, functions or {})
    except (LookupError, TypeError, AttributeError, InvalidSetting) as error:
        raise UnreadableFile(path, f"it holds counts, but what else it says makes no classifier ({error!r})") from None


def classifier_of(kept: store.StoredModel, kind: type[Kind], functions: Mapping[str, Any]) -> Kind:
    """Return the classifier of what a file holds."""
    counts, about, expected, together, moved = kept
    settings = {name: revived(name, value) for name, value in about["settings"].items()}
    schema = Schema.from_json(about["schema"])
    for column in schema:
        check_words(column, counts.columns[column.name])
    schema = schema.with_functions(functions)
    for column in schema.of_kind("vectors"):
        if isinstance(column.family, Words) and column.family.tokens.calls and column.type == "text":
            for part in (counts, *([] if expected is None else [expected])):
                part.columns[column.name].lexicon.tokens = column.family.tokens
    if together is not None:
        joint = store.joint_counts(together, counts.classes, schema.grid)
        counts = Counts(counts.classes, counts.rows, counts.columns, schema, joint)
    nb = holding(kind(families=schema.unusual() or None, **settings), counts, schema, about["named"])
    nb._label_type = np.dtype(about["labels"])
    for name in ("by_class", "row_weights"):
        if about.get(name) is not None and not (name == "by_class" and nb._by_class is not None):
            setattr(nb, f"_{name}", dict(zip(counts.classes.labels, about[name], strict=True)))
            check_class_weight(getattr(nb, f"_{name}"))
    nb._expected = None if expected is None else Expected.of(expected, about["expected"])
    nb._soft = bool(about.get("soft", False))
    nb._figures = None if "measured" not in about else Measured.from_json(about["measured"])
    if about.get("tuning") is not None:
        adjusted = {name: Moved(*found) for name, found in (moved or {}).items()}
        nb._keep(Tuning.from_json(about["tuning"], counts.classes, adjusted))
        nb._warned = not nb._tuning.fresh  # whoever saved it was told
        if nb._chosen is not None:
            nb._estimated()  # refuses weights of columns that are not there
    return nb


def check_words(column: Column, statistic: Any) -> None:
    """Refuse words that are read otherwise than they were counted."""
    family = column.family if column.type == "text" and isinstance(column.family, Words) else None
    if not isinstance(statistic, WordTable) and family is None:
        return
    if family is None or not isinstance(statistic, WordTable) or family.tokens != statistic.lexicon.tokens:
        raise TypeError(f"column {column.name!r} was counted otherwise than it is read")
    declared = set(statistic.lexicon.names()) if statistic.lexicon.fixed else None
    if declared != (None if family.vocabulary is None else set(family.vocabulary)):
        raise TypeError(f"column {column.name!r} was counted by another vocabulary")
