"""Delimited text files (CSV, TSV and the like): what their columns hold, by a sample, and their rows as batches."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from . import duck
from .dialect import NATIVE, Dialect, dialect_of, rewritten

# How cells of each type are written. A number with a zero before it, such as 00123, is a text: it names something.
WRITTEN = {
    "BIGINT": r"-?(0|[1-9]\d{0,17})",
    "DOUBLE": r"[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?(?i:inf(inity)?)",
    "BOOLEAN": r"true|false|True|False|TRUE|FALSE",
    "DATE": r"\d{4}-\d{2}-\d{2}",
    "TIMESTAMP": r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?)?",
    "TIMESTAMPTZ": r"\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}(:?\d{2})?)",
}
CALENDAR = ("DATE", "TIMESTAMP", "TIMESTAMPTZ")  # what looks like a day may be none: 2023-02-29
# Rows that are looked at take about so many bytes at most, but are as many as this in any case.
LOOKED_AT_BYTES, FEWEST = 1 << 26, 1_000
# Cells of a column that show at once what it cannot be.
FEW = 100


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
        if dialect.encoding in NATIVE and not dialect.odd:
            return self.path, NATIVE[dialect.encoding], dialect.packed
        replaced = dialect.skipped if dialect.odd else 0
        return rewritten(self.path, self.shown, dialect.encoding, self._folder(), replaced), "utf-8", None

    @property
    def notes(self) -> tuple[str, ...]:
        """What is worth knowing of how the file was read, if it was."""
        skipped = self.dialect.skipped if "dialect" in vars(self) else 0
        lines = f"{skipped} lines" if skipped > 1 else "1 line"
        return (f"{self.shown}: skipped {lines} before the header (empty, or no row of the table).",) if skipped else ()

    def _source(self, types: Mapping[str, str]) -> str:
        path, encoding, packed = self._plain
        null = ", ".join(duck.quoted(text) for text in self.how.null)
        options = {
            "auto_detect": "false",
            "header": "true",
            "skip": str(self.dialect.skipped),
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
        query = f"select {columns} from {self._source(duck.as_text(types))}{end}"
        batches = duck.streamed(duck.connected(threads=threads), query, self.shown, rows)
        yield from duck.with_whole(batches, types, self.shown)

    def sample(self, rows: int) -> dict[str, set[str]]:
        """Return which types each column may have, by its first rows; none if they are all missing."""
        rows = min(rows, max(int(LOOKED_AT_BYTES / max(self.row_bytes, 1.0)), FEWEST))
        con, query = duck.connected(), f"from {self._source({})} limit {rows}"
        texts = list(duck.streamed(con, query, self.shown, rows))
        return fitting(con, pa.Table.from_batches(texts), self.how.decimal) if texts else {n: set() for n in self.names}


def fitting(con: Any, table: Any, decimal: str) -> dict[str, set[str]]:
    """Return the types that all cells of each column can be read as."""
    found = {name: by_few(column.drop_null().slice(0, FEW), decimal) for name, column in columns_of(table)}
    asked = [(name, kind) for name, kinds in found.items() for kind in kinds & WRITTEN.keys()]
    tests = []
    for name, kind in asked:
        cell = duck.name(name)
        point = pointed(cell, decimal) if kind == "DOUBLE" else cell
        test = f"regexp_full_match({point}, {duck.quoted(WRITTEN[kind])})"
        tests.append(f"{test} and try_cast({cell} as {kind}) is not null" if kind in CALENDAR else test)
    if tests:
        con.register("looked_at", table)
        answers = ", ".join(
            f"bool_and({test}) filter ({duck.name(n)} is not null)" for (n, _), test in zip(asked, tests, strict=True)
        )
        (fits,) = con.execute(f"select {answers} from looked_at").fetchall()
        con.unregister("looked_at")
        for (name, kind), fit in zip(asked, fits, strict=True):
            if not fit:
                found[name].discard(kind)
    return found


def columns_of(table: Any) -> Iterator[tuple[str, Any]]:
    """Return the names and the columns of a table."""
    return zip(table.column_names, table.columns, strict=True)


def by_few(cells: Any, decimal: str) -> set[str]:
    """Return the types that some cells look like, quickly; none if there are no cells."""
    texts = cells.to_pylist()
    if not texts:
        return set()
    plain = {"DOUBLE": [text.replace(".", "_").replace(decimal, ".") if decimal != "." else text for text in texts]}
    kinds = {k for k, form in WRITTEN.items() if all(re.fullmatch(form, text) for text in plain.get(k, texts))}
    return kinds | {"VARCHAR"}


def pointed(cell: str, decimal: str) -> str:
    """Return the SQL of a number with a point before its fraction."""
    return cell if decimal == "." else f"replace(replace({cell}, '.', '_'), {duck.quoted(decimal)}, '.')"


def likeliest(kinds: set[str]) -> str:
    """Return the narrowest of the types that fit; text, if nothing is known."""
    order = [*WRITTEN, "VARCHAR", *sorted(kinds)]
    return next((kind for kind in order if kind in kinds), "VARCHAR")
