"""What all formats share: the flat model of whatever is exported, and files that appear when they are complete."""

from __future__ import annotations

from os import PathLike
from typing import Protocol, TypeAlias

from .._types import JsonObject
from ..errors import InvalidInput
from ..flat import FlatModel
from ..flat.flat_model import save_text


class Flattens(Protocol):
    """A fitted `NaiveBayes`."""

    def flat(self) -> FlatModel:
        """Return the model as plain tables."""
        ...


HasFlat: TypeAlias = Flattens | FlatModel


def flat_of(model: HasFlat) -> FlatModel:
    """Return a model as plain tables."""
    if isinstance(model, FlatModel):
        return model
    if not hasattr(model, "flat"):
        kind = type(model).__name__
        raise InvalidInput(f"Expected a fitted NaiveBayes or a FlatModel to export, and found {kind}: {model!r:.60}.")
    return model.flat()


def refuse_texts(content: JsonObject, can: str) -> None:
    """Refuse a column of texts; `can` says what can be exported."""
    for column in content["columns"]:
        if column["kind"] == "text":
            name = column["name"]
            raise InvalidInput(f"Column {name!r} holds texts, whose words are counted. {can}.", column=name)


def written(text: str, path: str | PathLike[str] | None) -> str:
    """Write a text to a file, if there is a path, and return it."""
    if path is not None:
        save_text(path, text)
    return text
