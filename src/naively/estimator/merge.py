"""Models of the same columns, added up: what was counted in several places becomes one model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, overload

from ..errors import DoesNotFit, InvalidInput
from ..stats import Counts
from .classifier import Classifier, holding

Merged = TypeVar("Merged", bound=Classifier)


@overload
def merge(models: Iterable[Merged], /, *, names: Sequence[Any] | None = None) -> Merged: ...
@overload
def merge(*models: Merged, names: Sequence[Any] | None = None) -> Merged: ...
def merge(*models: Any, names: Sequence[Any] | None = None) -> Any:
    """Return the model of the rows of all models, given one by one or as a list; the first gives columns and settings.

    What was fitted on top of the counts is taken from the model of the most rows until `calibrate` fits it anew. Models
    that take columns together have to share their bins: fit the others with ``families=first.schema_``.

    `names` are what an error calls the models, such as the files they came from.

    >>> import naively as nv
    >>> monday = nv.NaiveBayes().fit({"sky": ["rain", "sunny"]}, ["in", "out"])
    >>> tuesday = nv.NaiveBayes().fit({"sky": ["rain", "rain"]}, ["in", "out"])
    >>> nv.merge(monday, tuesday).counts_ == nv.merge([monday, tuesday]).counts_
    True
    >>> nv.merge(monday, tuesday).counts_
    Counts: 4 rows (in: 2, out: 2), 1 columns
    """
    given = listed(models)
    first, called = given[0], list(names or range(len(given)))
    counts = first.counts_
    for other, name in zip(given[1:], called[1:], strict=True):
        try:
            check_targets(first, other)
            first.schema_.beside(other.schema_)
            counts = counts + other.counts_
        except DoesNotFit as error:
            raise DoesNotFit(
                f"{called[0]} and {name} do not fit together. ", error.message, column=error.column
            ) from None
    settings = {key: value for key, value in first.get_params(deep=False).items() if key != "families"}
    nb = holding(type(first)(families=first.schema_.unusual() or None, **settings), counts, first.schema_)
    nb._label_type = first._label_type if counts.classes == first.counts_.classes else nb._label_type
    nb._soft = any(model._soft for model in given)
    nb._go_on_with(max(given, key=lambda model: float(model.counts_.rows.sum())))
    return nb


def listed(models: Sequence[Any]) -> list[Any]:
    """Return models as a list, whether they were given one by one or as one; an error names what is no model."""
    alone = models[0] if len(models) == 1 and not isinstance(models[0], Classifier) else models
    given = list(alone) if isinstance(alone, Iterable) and not isinstance(alone, (str, bytes, Mapping)) else [alone]
    if not given:
        raise InvalidInput("There is no model to merge; give one or more.")
    for at, model in enumerate(given):
        if not isinstance(model, Classifier):
            file = " Load a model from its file first: nv.load(…)." if isinstance(model, (str, Path)) else ""
            raise InvalidInput(
                f"merge adds up models of nv.NaiveBayes, but number {at + 1} of those given is {model!r:.60} of type "
                f"{type(model).__name__}.{file}{' Counts add up by +.' if isinstance(model, Counts) else ''}"
            )
    return given


def check_targets(a: Classifier, b: Classifier) -> None:
    """Refuse classes of different columns, and of different kinds."""
    names = {nb.schema_.target for nb in (a, b)} - {None}
    if len(names) > 1:
        raise DoesNotFit(f"Their classes are those of the columns {' and '.join(sorted(map(repr, names)))}.")
    kinds = [{isinstance(label, str) for label in nb.classes_.tolist()} for nb in (a, b)]
    if all(kinds) and kinds[0] != kinds[1]:
        raise DoesNotFit(
            f"Their classes are texts in one and numbers in the other: {a.classes_.tolist()[:3]} and "
            f"{b.classes_.tolist()[:3]}."
        )
