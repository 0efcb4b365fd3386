"""What every format of files can do: name its columns, guess their types, and give its rows in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from ..data.cells import TypeGuess

if TYPE_CHECKING:
    from .file import File


class FilePart(Protocol):
    """One of the files that a `File` names."""

    @property
    def path(self) -> Path | None:
        """Where it is read: itself, or a copy that was unpacked; None of a stream."""

    @property
    def shown(self) -> str:
        """What it is called in messages."""

    @property
    def as_written(self) -> bool:
        """Whether its cells are texts, whose types are guessed."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns of texts whose type the file declares."""

    @property
    def types(self) -> Mapping[str, pa.DataType]:
        """The declared type of each column, to compare it with that in other files."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What is worth knowing of how the file was read."""

    @property
    def row_bytes(self) -> float:
        """About how many bytes of the file a row takes."""

    def guess_types(self, rows: int, missing: tuple[str, ...] | None) -> dict[str, TypeGuess]:
        """Return the types that each column can be read as, by its first rows."""

    def batches(
        self, types: Mapping[str, str], rows: int, limit: int | None, threads: int | None
    ) -> Iterator[pa.RecordBatch]:
        """Return the rows of some columns, so many at a time."""

    def line_of(self, row: int) -> int | None:
        """Return the line of the file in which a row stands, if it has lines."""


class TypedPart(FilePart, Protocol):
    """A file that declares types."""

    def first_types(self, rows: int) -> dict[str, set[str]]:
        """Return the types that each column has in its first rows."""


# Opens a file, given its path, its name in messages, the settings, and what makes a folder for copies.
OpenPart = Callable[[Path, str, "File", Callable[[], Path]], FilePart]
