"""Models of the same columns, added up: what was counted in several places becomes one model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from .classifier import Classifier, holding
from .errors import DoesNotFit, InvalidInput

Merged = TypeVar("Merged", bound=Classifier)


def merge(models: Sequence[Merged], names: Sequence[Any] | None = None) -> Merged:
    """Return the model of the rows of all models; columns and settings are those of the first.

    What was fitted on top of the counts is taken from the model of the most rows until `calibrate` fits it anew. Models
    that take columns together have to share their bins: fit the others with ``families=first.schema_``.

    `names` are what an error calls the models, such as the files they came from.

    >>> import naively as nv
    >>> monday = nv.NaiveBayes().fit({"sky": ["rain", "sunny"]}, ["in", "out"])
    >>> tuesday = nv.NaiveBayes().fit({"sky": ["rain", "rain"]}, ["in", "out"])
    >>> nv.merge([monday, tuesday]).counts_
    Counts: 4 rows (in: 2, out: 2), 1 columns
    """
    if not models:
        raise InvalidInput("There is no model to merge; give one or more.")
    first, called = models[0], list(names or range(len(models)))
    counts = first.counts_
    for other, name in zip(models[1:], called[1:], strict=True):
        try:
            check_targets(first, other)
            first.schema_.beside(other.schema_)
            counts = counts + other.counts_
        except DoesNotFit as error:
            raise DoesNotFit(f"{called[0]} and {name} do not fit together. {error}") from None
    settings = {key: value for key, value in first.get_params(deep=False).items() if key != "families"}
    nb = holding(type(first)(families=first.schema_.unusual() or None, **settings), counts, first.schema_)
    nb._label_type = first._label_type if counts.classes == first.counts_.classes else nb._label_type
    nb._go_on_with(max(models, key=lambda model: float(model.counts_.rows.sum())))
    return nb


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
