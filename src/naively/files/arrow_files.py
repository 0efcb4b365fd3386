"""Arrow files and streams (Feather), and ORC: types and rows as Arrow has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from ..errors import UnreadableRows
from .typed import Typed, up_to

if TYPE_CHECKING:
    from .file import File


class ArrowFile(Typed):
    """One file of Arrow batches, mapped into memory and not copied, or a stream of them."""

    noun = "Arrow"

    def __init__(self, path: Path, shown: str, how: File, folder: Callable[[], Path]) -> None:
        self.path, self.shown = path, shown

    def _each(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the schema, then all batches; of these only some columns, if that spares work."""
        with pa.memory_map(str(self.path)) as source:
            if source.read(6) == b"ARROW1":
                file = pa.ipc.open_file(source)
                yield file.schema
                yield from (file.get_batch(at) for at in range(file.num_record_batches))
                return
            source.seek(0)
            stream = pa.ipc.open_stream(source)
            yield stream.schema
            yield from stream

    def _whole(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the same, and say of which file an error is."""
        try:
            yield from self._each(columns)
        except (pa.ArrowException, OSError, ImportError) as error:
            raise UnreadableRows(self.shown, None, f"it is no whole {self.noun} file ({error}).") from None

    @cached_property
    def _types(self) -> pa.Schema:
        return next(self._whole())

    @cached_property
    def row_bytes(self) -> float:
        """About how many bytes of the file a row takes."""
        batches = self._whole()
        next(batches)
        return float(self.path.stat().st_size / max(sum(batch.num_rows for batch in batches), 1))

    def batches(
        self, types: Mapping[str, str], rows: int, limit: int | None, threads: int | None
    ) -> Iterator[pa.RecordBatch]:
        """Return the rows of some columns."""
        found = self._whole(list(types))
        next(found)  # the schema comes first
        yield from up_to(found, types, limit)


class Orc(ArrowFile):
    """One ORC file, a stripe at a time."""

    noun = "ORC"

    def _each(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        from pyarrow import orc

        file = orc.ORCFile(str(self.path))
        yield file.schema
        yield from (file.read_stripe(at, columns=columns) for at in range(file.nstripes))

    @cached_property
    def row_bytes(self) -> float:
        """About how many bytes of the file a row takes."""
        from pyarrow import orc

        return float(self.path.stat().st_size / max(orc.ORCFile(str(self.path)).nrows, 1))
