"""What all formats share: the flat model of whatever is exported, and files that appear when they are complete."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Protocol

from .._types import JsonObject
from ..data.model_file.file import replace_file
from ..errors import InvalidInput, UnwritableFile
from ..flat import FlatModel


class Flattens(Protocol):
    """A fitted `NaiveBayes`."""

    def flat(self) -> FlatModel:
        """Return the model as plain tables."""
        ...


HasFlat = Flattens | FlatModel


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
        save_file(path, text.encode("utf-8"))
    return text


def save_file(path: str | PathLike[str], data: bytes) -> None:
    """Put data in a file, which has its name only when it is complete."""
    try:
        replace_file(Path(path), data)
    except InvalidInput as error:
        raise UnwritableFile(path, str(error)) from None
    except OSError as error:
        raise UnwritableFile(path, f"{error.strerror or error}.") from None
