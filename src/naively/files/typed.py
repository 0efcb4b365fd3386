"""Files that know the types of their columns: Parquet, JSON, DuckDB's own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from .._types import Json
from ..data.cell_format import USUAL, CellFormat
from ..data.cells import FEW, TEXT, TypeGuess, guess_type
from ..data.schema import likely
from ..data.values import is_text_type, plain_texts, type_of_arrow
from ..errors import InvalidInput, UnreadableRows
from ..errors.message import ANY_VALUE, Message, Setting
from . import duckdb_reader as duck
from .dialect import head_of, packing
from .file_part import TypedPart

if TYPE_CHECKING:
    import pyarrow.parquet as pq

    from .file import File

# What DuckDB calls the values of JSON, and what they are read as.
JSON = {"VARCHAR": "VARCHAR", "BOOLEAN": "BOOLEAN", "BIGINT": "BIGINT", "UBIGINT": "BIGINT", "DOUBLE": "DOUBLE"}
# Of each column of Parquet so many bytes are read ahead; otherwise Arrow would fetch the whole file and keep it.
BUFFER = 1 << 22
NAMED = '"a": 1, "b": "x"'  # what an object looks like, for sentences
ARROW = {"text": "VARCHAR", "boolean": "BOOLEAN", "whole": "BIGINT", "number": "DOUBLE", "time": "TIMESTAMP"}


def duckdb_types(name: str, kind: pa.DataType) -> set[str]:
    """Return what a column of an Arrow type is read as; itself, if it cannot be counted."""
    try:
        found = type_of_arrow(name, kind.value_type if pa.types.is_dictionary(kind) else kind)
    except InvalidInput:
        return {str(kind)}
    return set() if found is None else {ARROW[found]}


def looked_into(part: TypedPart, rows: int, missing: tuple[str, ...] | None) -> dict[str, TypeGuess]:
    """Return what each column can be read as: the type it has, but texts that are all numbers as those.

    Many rows are read only of columns whose first ones may be numbers.
    """
    found = {
        name: TypeGuess(frozenset(kinds), frozenset(kinds), USUAL) for name, kinds in part.first_types(rows).items()
    }
    own = [name for name in part.texts if name in found and found[name].kinds == TEXT]
    for most in (FEW, rows):
        texts = [name for name in own if most == FEW or "DOUBLE" in found[name].kinds]
        batches = list(part.batches(dict.fromkeys(texts, "VARCHAR"), most, most, 1)) if texts else []
        for name in texts if batches else ():  # the first batch may be small: all rows that are looked at count
            one = guess_type(pa.chunked_array([plain_texts(batch.column(name)) for batch in batches]), missing)
            numbers = "DOUBLE" in one.kinds
            found[name] = TypeGuess(
                one.kinds if numbers else TEXT, TEXT, one.written if numbers else CellFormat(missing)
            )
    return found


def as_asked(batch: pa.RecordBatch, types: Mapping[str, str]) -> pa.RecordBatch:
    """Return a batch of these columns; whatever is not text but shall be is written out."""
    arrays = []
    for name, wanted in types.items():
        column = batch.column(name)
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if wanted in ("VARCHAR", duck.PROSE) and not is_text_type(kind) and not pa.types.is_null(kind):
            column = pc.cast(column.dictionary_decode() if kind != column.type else column, pa.string())
        arrays.append(column)
    return pa.RecordBatch.from_arrays(arrays, names=list(types))


def up_to(batches: Iterable[pa.RecordBatch], types: Mapping[str, str], limit: int | None) -> Iterator[pa.RecordBatch]:
    """Return some columns of batches, and no more than so many rows."""
    left = limit
    for batch in batches:
        taken = batch if left is None else batch.slice(0, left)
        yield as_asked(taken, types)
        left = None if left is None else left - taken.num_rows
        if left == 0:
            return


class Typed:
    """A source whose columns have types of Arrow."""

    as_written, notes = False, ()
    _types: pa.Schema  # its Arrow schema

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._types.names)

    @property
    def types(self) -> dict[str, pa.DataType]:
        """The type of each column, to compare it with that in other files."""
        return {field.name: field.type for field in self._types}

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The columns of texts; those of a categorical type are none."""
        return tuple(field.name for field in self._types if is_text_type(field.type))

    def line_of(self, row: int) -> int | None:
        """Return None: the file has no lines."""
        return None

    def guess_types(self: TypedPart, rows: int, missing: tuple[str, ...] | None) -> dict[str, TypeGuess]:
        """Return the types that each column can be read as, by its first rows."""
        return looked_into(self, rows, missing)

    def first_types(self, rows: int) -> dict[str, set[str]]:
        """Return which types each column may have: the one it has."""
        return {field.name: duckdb_types(field.name, field.type) for field in self._types}


class Parquet(Typed):
    """One Parquet file, read by Arrow: texts come as codes with a dictionary, unless they are tokenized."""

    def __init__(self, path: Path, shown: str, how: File, folder: Callable[[], Path]) -> None:
        self.path, self.shown = path, shown

    def _open(self, texts: Sequence[str] | None = None) -> pq.ParquetFile:
        import pyarrow.parquet as pq

        try:
            return pq.ParquetFile(self.path, read_dictionary=texts, pre_buffer=False, buffer_size=BUFFER)
        except (pa.ArrowException, OSError) as error:
            raise UnreadableRows(self.shown, None, f"it is no whole Parquet file ({error}).") from None

    @cached_property
    def _types(self) -> pa.Schema:
        return self._open().schema_arrow

    @cached_property
    def row_bytes(self) -> float:
        """About how many bytes of the file a row takes."""
        return float(self.path.stat().st_size / max(self._open().metadata.num_rows, 1))

    def batches(
        self, types: Mapping[str, str], rows: int, limit: int | None, threads: int | None
    ) -> Iterator[pa.RecordBatch]:
        """Return the rows of some columns."""
        labels = (name for name, kind in types.items() if kind != duck.PROSE)
        texts = [name for name in labels if is_text_type(self._types.field(name).type)]
        try:
            batches = self._open(texts).iter_batches(rows, columns=list(types), use_threads=threads != 1)
            yield from up_to(batches, types, limit)
        except (pa.ArrowException, OSError) as error:
            raise UnreadableRows(self.shown, None, f"it is damaged ({error}).") from None


class JsonLines:
    """One file of JSON, an object a line, or a list of objects."""

    as_written, notes = False, ()
    types: Mapping[str, pa.DataType] = {}  # each value has its own, and is read as asked

    def __init__(self, path: Path, shown: str, how: File, folder: Callable[[], Path]) -> None:
        self.path, self.shown = path, shown

    @cached_property
    def _where(self) -> str:
        shape = shape_of(head_of(self.path, shown=self.shown), self.shown)
        packed = packing(self.path) or "uncompressed"
        if shape == "array" and packed == "uncompressed":
            check_closed(self.path, self.shown)
        return f"{duck.sql_literal(str(self.path))}, format='{shape}', compression={duck.sql_literal(packed)}"

    @cached_property
    def _found(self) -> dict[str, set[str]]:
        return self.first_types(1000)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns: the keys of the first objects."""
        return tuple(self._found)

    @cached_property
    def row_bytes(self) -> float:
        """About how many bytes of the file a row takes."""
        head, mark = head_of(self.path), b"\n" if "newline_delimited" in self._where else b"}"
        share = min(self.path.stat().st_size / max(len(head), 1), 1.0) if packing(self.path) else 1.0
        return share * len(head) / max(head.count(mark), 1)

    @property
    def texts(self) -> tuple[str, ...]:
        """The keys of texts."""
        return tuple(name for name, kinds in self._found.items() if kinds == {"VARCHAR"})

    def line_of(self, row: int) -> int | None:
        """Return None: an object may take several lines."""
        return None

    def guess_types(self, rows: int, missing: tuple[str, ...] | None) -> dict[str, TypeGuess]:
        """Return the types that each key can be read as, by the first objects."""
        return looked_into(self, rows, missing)

    def first_types(self, rows: int) -> dict[str, set[str]]:
        """Return which types each key has in the first objects."""
        query = (
            f"with objects as (select json from read_json_objects({self._where}) limit {rows}), "
            "keyed as (select json, unnest(json_keys(json)) as key from objects) "
            "select key, json_type(json, '/' || replace(replace(key, '~', '~0'), '/', '~1')) as kind from keyed"
        )
        found: dict[str, set[str]] = {}
        for batch in duck.streamed(duck.connect(threads=1), query, self.shown, rows):
            pairs = pa.table([batch.column(0), batch.column(1)], ["key", "kind"]).group_by(
                ["key", "kind"], use_threads=False
            )
            for row in pairs.aggregate([]).to_pylist():
                kinds = found.setdefault(row["key"], set())
                if row["kind"] != "NULL":
                    kinds.add(JSON.get(row["kind"], row["kind"]))
        return {name: common_json_types(kinds) for name, kinds in found.items()}

    def batches(
        self, types: Mapping[str, str], rows: int, limit: int | None, threads: int | None
    ) -> Iterator[pa.RecordBatch]:
        """Return the rows of some keys, each read as a type of DuckDB."""
        end = "" if limit is None else f" limit {limit}"
        columns = ", ".join(duck.sql_name(name) for name in types)
        query = f"select {columns} from read_json({self._where}, columns={duck.sql_struct(duck.as_text(types))}){end}"
        batches = duck.streamed(duck.connect(threads=threads), query, self.shown, rows)
        yield from duck.with_whole(batches, types, self.shown)


def shape_of(head: bytes, shown: str) -> str:
    """Return how the objects of a file of JSON lie in it, as DuckDB calls it; refuse what is no list of objects."""
    text = head.decode("utf-8", "ignore").lstrip("\ufeff \t\r\n")
    if text.startswith("["):
        if not re.match(r"\[\s*\{", text):
            found = "is empty" if re.match(r"\[\s*\]", text) else "holds no objects"
            raise UnreadableRows(shown, None, f"the list of JSON {found}; a row is an object such as {{{NAMED}}}.")
        return "array"
    try:
        first, end = json.JSONDecoder().raw_decode(text)
    except ValueError:  # broken, or longer than what is looked at
        key = re.search(r'"([^"]*)"\s*:\s*[\[{]', text)
        if key and re.match(r"\{[ \t]*\r?\n", text):
            raise one_object(shown, key[1]) from None
        return "newline_delimited"
    inner = None if text[end:].strip() else rows_inside(first)
    if inner is not None:
        raise one_object(shown, inner)
    return "unstructured" if "\n" in text[:end] else "newline_delimited"


def check_closed(path: Path, shown: str) -> None:
    """Refuse a list that is not closed: where it is cut between two objects, DuckDB would not notice."""
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - 1024, 0))
        if not file.read().rstrip().endswith(b"]"):
            raise UnreadableRows(shown, None, "the list of JSON is cut off: no ] ends it; get the file again.")


def rows_inside(value: Json) -> str | None:
    """Return the key of an object that holds rows: lists or objects of more of them, or whole columns if all do."""
    inner = {k: v if isinstance(v, list) else list(v.values()) for k, v in value.items() if isinstance(v, (list, dict))}
    deep = [key for key, items in inner.items() if items and all(isinstance(item, (list, dict)) for item in items)]
    columns = [key for key, items in inner.items() if len(items) > 1] if len(inner) == len(value) else []
    return next(iter([*deep, *columns]), None)


def one_object(shown: str, key: str) -> UnreadableRows:
    """Return the error about a file that is one object with the rows inside it."""
    return UnreadableRows(
        shown,
        None,
        f"it is one JSON object, and its rows seem to lie under {key!r}; save that part alone as a list of objects, "
        f"[{{{NAMED}}}, …], or an object a line, or give the table in Python.",
    )


def common_json_types(kinds: set[str]) -> set[str]:
    """Return the one type that values of these types can be read as; texts, if there is no other."""
    if len(kinds) > 1 and kinds <= set(JSON.values()):
        return {"DOUBLE"} if kinds == {"BIGINT", "DOUBLE"} else {"VARCHAR"}
    return kinds


class Database(Typed):
    """A table of a DuckDB database, or the answer to a query."""

    def __init__(self, path: Path, shown: str, how: File, folder: Callable[[], Path]) -> None:
        self.path, self.shown, self.how = path, shown, how

    @cached_property
    def _query(self) -> str:
        """What is read: a query as it is, or all of a table."""
        if self.how.query is not None:
            return f"({self.how.query})"
        con = duck.connect(str(self.path))
        tables = [row[0] for row in con.execute("select table_name from information_schema.tables").fetchall()]
        con.close()
        table = self.how.table
        if table is None:
            if len(tables) != 1:
                names = f"it has the tables {', '.join(map(repr, tables))}; say which: "
                which = Message(names, Setting("table", ANY_VALUE), " or ", Setting("query", ANY_VALUE), ".")
                raise UnreadableRows(self.shown, None, which if tables else "it has no table.")
            table = tables[0]
        if table not in tables:
            raise UnreadableRows(self.shown, None, f"it has no table {table!r}{likely(table, tuple(tables), 'tables')}")
        return duck.sql_name(table)

    @cached_property
    def _types(self) -> pa.Schema:
        return duck.types_of(duck.connect(str(self.path)), f"from {self._query} limit 0", self.shown)

    @property
    def row_bytes(self) -> float:
        """About how many bytes a row takes: that is not known."""
        return 0.0

    def batches(
        self, types: Mapping[str, str], rows: int, limit: int | None, threads: int | None
    ) -> Iterator[pa.RecordBatch]:
        """Return the rows of some columns."""
        con, end = duck.connect(str(self.path), threads), "" if limit is None else f" limit {limit}"
        query = f"select {', '.join(duck.sql_name(name) for name in types)} from {self._query}{end}"
        for batch in duck.streamed(con, query, self.shown, rows):
            yield as_asked(batch, types)
        con.close()
