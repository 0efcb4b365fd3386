"""One model as it is served: a snapshot that requests hold on to, and the file that it came from."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .._types import Label
from ..data.schema import Schema
from ..errors import InvalidInput
from ..estimator.fitted_classifier import FittedClassifier
from ..estimator.load import load_model
from .request_rows import RowReader


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
        Counts up whenever another model takes its place.
    """

    name: str
    fitted: FittedClassifier
    revision: int = 0

    @cached_property
    def schema(self) -> Schema:
        """The columns in use, with the name of the target."""
        return self.fitted.model.schema

    @cached_property
    def has_costs(self) -> bool:
        """Whether costs decide, and not the probabilities alone."""
        return self.fitted.parameters.cost is not None or self.fitted.parameters.reject is not None

    @cached_property
    def labels(self) -> list[Label]:
        """The class labels, as values of Python."""
        return list(self.fitted.classes.tolist())

    @cached_property
    def indices(self) -> dict[Label, int]:
        """The index of each class label."""
        return {label: k for k, label in enumerate(self.labels)}

    @cached_property
    def json_labels(self) -> list[str]:
        """The class labels as JSON."""
        return [json.dumps(label, default=str) for label in self.labels]

    @cached_property
    def json_names(self) -> list[str]:
        """The class labels as names of members of a JSON object."""
        return [json.dumps(str(label)) for label in self.labels]

    @cached_property
    def reader(self) -> RowReader:
        """The reader of the rows of requests."""
        return RowReader(self.schema, self.fitted.schema)

    @cached_property
    def texts(self) -> dict[str, bytes]:
        """Texts that are made when somebody requests them first, such as the description of the model."""
        return {}


def ready_snapshot(name: str, fitted: FittedClassifier, revision: int) -> Snapshot:
    """Return a model whose tables are made now, and not while the first request waits."""
    snapshot = Snapshot(name, fitted, revision)
    assert snapshot.reader is not None
    return snapshot


class ServedModel:
    """A model that is served: its current snapshot, which is replaced when its file is.

    Parameters
    ----------
    path : Path
        Its file, whose name without the ending is that of the model in addresses.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, path.name.removesuffix(".parquet")
        self.stamp = self.stamp_now()
        self.now = self._loaded(0)

    def stamp_now(self) -> tuple[int, int, int] | None:
        """Return what tells that the file was replaced: its inode, size and time; None if there is no file."""
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns

    def _loaded(self, revision: int) -> Snapshot:
        fitted = load_model(self.path)
        for column in fitted.schema:
            if column.type == "vector":
                raise InvalidInput(
                    f"Column {column.name!r} of {str(self.path)!r} holds vectors, which a request cannot; serve a "
                    "model of single values and texts.",
                    path=str(self.path),
                    column=column.name,
                )
        return ready_snapshot(self.name, fitted, revision)

    def is_replaced(self) -> bool:
        """Tell whether the file is not the one that was loaded, or failed to load, last."""
        return self.stamp_now() not in (None, self.stamp)

    def reload(self, log: Callable[..., None]) -> None:
        """Load the file again; if that fails, the model stays as it was."""
        self.stamp = self.stamp_now()
        try:
            self.now = self._loaded(self.now.revision + 1)
        except (InvalidInput, OSError) as error:
            log("reload failed", model=self.name, reason=str(error))
            return
        log("reloaded", model=self.name, revision=self.now.revision)


def open_models(paths: list[Path]) -> dict[str, ServedModel]:
    """Return models by name, in their order; two of the same name are refused."""
    models: dict[str, ServedModel] = {}
    for path in paths:
        served = ServedModel(path)
        if served.name in models:
            first = str(models[served.name].path)
            raise InvalidInput(
                f"{first!r} and {str(path)!r} would both be called {served.name!r}; rename one of them.", path=str(path)
            )
        models[served.name] = served
    return models
