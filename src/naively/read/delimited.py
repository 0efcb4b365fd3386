"""Delimited text files (CSV, TSV and the like): what their columns hold, by a sample, and their rows as batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from ..errors import UnreadableRows
from . import duck
from .dialect import NATIVE, Dialect, dialect_of, rewritten

# How cells of each type are written. A number with a zero before it, such as 00123, is a text: it names something.
WRITTEN = {
    "BIGINT": r"[+-]?(0|[1-9]\d{0,17})",
    "DOUBLE": r"[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?(?i:inf(inity)?)",
    "BOOLEAN": r"true|false|True|False|TRUE|FALSE",
    "DATE": r"\d{4}-\d{2}-\d{2}",
    "TIMESTAMP": r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?)?",
    "TIMESTAMPTZ": r"\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}(:?\d{2})?)",
}


class Delimited:
    """One text file whose first line names the columns."""

    as_written = True  # cells are texts; what they mean is decided by a sample

    def __init__(self, path: Path, shown: str, how: Any, folder: Any) -> None:
        self.path, self.shown, self.how, self._folder = path, shown, how, folder

    @cached_property
    def dialect(self) -> Dialect:
        """How the file is written."""
        return dialect_of(self.path, self.shown, self.how.delimiter, self.how.encoding)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.dialect.names

    @property
    def row_bytes(self) -> float:
        """About how many bytes of the file a row takes."""
        return self.dialect.line_bytes

    @cached_property
    def _plain(self) -> tuple[Path, str, str | None]:
        """The file in an encoding that DuckDB reads, which, and how it is packed."""
        dialect = self.dialect
        if dialect.encoding in NATIVE:
            return self.path, NATIVE[dialect.encoding], dialect.packed
        return rewritten(self.path, self.shown, dialect.encoding, self._folder()), "utf-8", None

    def _source(self, types: Mapping[str, str]) -> str:
        path, encoding, packed = self._plain
        null = ", ".join(duck.quoted(text) for text in self.how.null)
        options = {
            "auto_detect": "false",
            "header": "true",
            "delim": duck.quoted(self.dialect.delimiter),
            "quote": "'\"'",
            "escape": "'\"'",
            "columns": duck.struct({name: types.get(name, "VARCHAR") for name in self.names}),
            "nullstr": f"[{null}]",
            "decimal_separator": duck.quoted(self.how.decimal),
            "encoding": duck.quoted(encoding),
            "compression": duck.quoted(packed or "none"),
        }
        return f"read_csv({duck.quoted(str(path))}, {', '.join(f'{k}={v}' for k, v in options.items())})"

    def batches(self, types: Mapping[str, str], rows: int, limit: int | None, threads: int | None) -> Iterator[Any]:
        """Return the rows of some columns, each read as a type of DuckDB."""
        columns = ", ".join(duck.name(name) for name in types)
        end = "" if limit is None else f" limit {limit}"
        query = f"select {columns} from {self._source(types)}{end}"
        yield from duck.streamed(duck.connected(threads=threads), query, self.shown, rows)

    def sample(self, rows: int) -> dict[str, set[str]]:
        """Return which types each column may have, by its first rows; none if they are all missing."""
        con, query = duck.connected(), f"from {self._source({})} limit {rows}"
        found: dict[str, set[str] | None] = dict.fromkeys(self.names)
        for batch in list(duck.streamed(con, query, self.shown, rows)):
            for name, cells in zip(batch.schema.names, batch.columns, strict=True):
                if cells.null_count < len(cells):
                    fits = fitting(con, cells, self.how.decimal)
                    found[name] = fits if found[name] is None else found[name] & fits  # type: ignore[operator]
        return {name: set() if kinds is None else kinds | {"VARCHAR"} for name, kinds in found.items()}


def fitting(con: Any, cells: Any, decimal: str) -> set[str]:
    """Return the types that all of these cells can be read as."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pa.table({"cell": pc.unique(cells.drop_null())})
    point = "cell" if decimal == "." else f"replace(replace(cell, '.', '_'), {duck.quoted(decimal)}, '.')"
    tests = [
        f"bool_and(regexp_full_match({point if kind == 'DOUBLE' else 'cell'}, {duck.quoted(form)})"
        + (f" and try_cast(cell as {kind}) is not null)" if kind.startswith(("DATE", "TIME")) else ")")
        for kind, form in WRITTEN.items()
    ]
    con.register("cells", texts)
    (answer,) = con.execute(f"select {', '.join(tests)} from cells").fetchall()
    con.unregister("cells")
    return {kind for kind, fits in zip(WRITTEN, answer, strict=True) if fits}


def likeliest(kinds: set[str], shown: str, column: str) -> str:
    """Return the narrowest of the types that fit."""
    for kind in WRITTEN:
        if kind in kinds:
            return kind
    if not kinds or "VARCHAR" in kinds:
        return "VARCHAR"
    raise UnreadableRows(shown, None, f"column {column!r} holds {', '.join(sorted(kinds))}, which cannot be counted.")
