"""One model as it is served: a snapshot that requests hold on to, and the file that it came from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from .._types import Label
from ..data.schema import Schema
from ..errors import InvalidInput
from ..estimator.fitted_classifier import FittedClassifier
from ..estimator.load import load_model
from .answer_writer import AnswerWriter
from .request_rows import RowReader

# What tells that a file was replaced: its place on the disk, its size and when it was written.
FileStamp = tuple[int, int, int]


def stamp_of(path: Path) -> FileStamp | None:
    """Return what tells that a file was replaced; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A model that never changes; a request is answered by the one that was there when it came.

    Parameters
    ----------
    name : str
        What the model is called in addresses.
    fitted : FittedClassifier
        The model.
    revision : int
        Counts up whenever another model answers.
    """

    name: str
    fitted: FittedClassifier
    revision: int = 0

    @property
    def schema(self) -> Schema:
        """The columns in use, with the name of the target."""
        return self.fitted.model.schema

    @cached_property
    def labels(self) -> list[Label]:
        """The classes as JSON holds them."""
        return list(self.fitted.classes.tolist())

    @cached_property
    def reader(self) -> RowReader:
        """What reads rows of requests."""
        return RowReader.of_schema(self.schema, self.fitted.schema)

    @cached_property
    def writer(self) -> AnswerWriter:
        """What writes answers."""
        return AnswerWriter(self.fitted, self.labels, self.revision)

    @cached_property
    def texts(self) -> dict[str, bytes]:
        """Texts that are made of the model when somebody asks for them first, such as its description."""
        return {}


def servable(path: Path, name: str, revision: int = 0) -> Snapshot:
    """Return the model of a file, ready to answer."""
    fitted = load_model(path)
    for column in fitted.schema:
        if column.type == "vector":
            raise InvalidInput(
                f"Column {column.name!r} of {str(path)!r} holds vectors, which a request cannot; serve a model of "
                "single values and texts.",
                path=str(path),
                column=column.name,
            )
    return ready_snapshot(name, fitted, revision)


def ready_snapshot(name: str, fitted: FittedClassifier, revision: int) -> Snapshot:
    """Return a model that answers at once: its tables are made now, and not while the first request waits."""
    snapshot = Snapshot(name, fitted, revision)
    made = snapshot.reader, snapshot.writer
    assert all(made)
    return snapshot


@dataclass(eq=False)
class ServedModel:
    """A model that is served: its current snapshot, which is replaced when its file is.

    Parameters
    ----------
    name : str
        What the model is called in addresses.
    path : Path
        Its file.
    """

    name: str
    path: Path
    now: Snapshot = field(init=False)
    stamp: FileStamp | None = field(init=False)

    def __post_init__(self) -> None:
        self.stamp = stamp_of(self.path)
        self.now = servable(self.path, self.name)

    def is_replaced(self) -> bool:
        """Tell whether the file is another one than was loaded, or tried to load, last."""
        found = stamp_of(self.path)
        return found is not None and found != self.stamp

    def reload(self, log: Callable[..., None]) -> None:
        """Load the file anew; if it cannot be, the model as it was goes on answering."""
        self.stamp = stamp_of(self.path)
        try:
            self.now = servable(self.path, self.name, self.now.revision + 1)
        except (InvalidInput, OSError) as error:
            log("reload failed", model=self.name, reason=str(error))
            return
        log("reloaded", model=self.name, revision=self.now.revision)


def model_name(path: Path) -> str:
    """Return what a model is called in addresses: the name of its file, without its ending."""
    return path.name.removesuffix(".parquet")


def open_models(paths: list[Path]) -> dict[str, ServedModel]:
    """Return models by name, in their order; two of one name are refused."""
    found: dict[str, ServedModel] = {}
    for path in paths:
        name = model_name(path)
        if name in found:
            raise InvalidInput(
                f"{str(found[name].path)!r} and {str(path)!r} would both be called {name!r}; rename one of them.",
                path=str(path),
            )
        found[name] = ServedModel(name, path)
    return found
