"""Files that know the types of their columns: Parquet, Arrow, ORC, JSON, DuckDB's own; and what all files have."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from .._types import Json
from ..data.cell_format import USUAL, CellFormat
from ..data.cells import BOOLEAN, FEW, NUMBER, ONLY_TEXT, PROSE, READ_AS, TEXT, WHOLE, TypeGuess, guess_type
from ..data.schema import likely
from ..data.values import is_text_type, plain_texts, type_of_arrow
from ..errors import InvalidInput, UnreadableRows
from ..errors.message import ANY_VALUE, Message, Setting
from . import duckdb_reader as duck
from .dialect import head_of, packing

if TYPE_CHECKING:
    from .file import File

# What DuckDB calls the values of JSON.
JSON = {"VARCHAR": TEXT, "BOOLEAN": BOOLEAN, "BIGINT": WHOLE, "UBIGINT": WHOLE, "DOUBLE": NUMBER}
UNCOUNTABLE = {pa.list_(pa.null()): "ARRAY", pa.struct([]): "OBJECT"}
JSON |= {name: kind for kind, name in UNCOUNTABLE.items()}
# Of each column of Parquet so many bytes are read ahead; otherwise Arrow would fetch the whole file and keep it.
BUFFER = 1 << 22
# What Arrow raises about a file that is cut off or damaged, or of a format that this build of it does not have.
UNREADABLE = (pa.ArrowException, OSError, ImportError)
NAMED = '"a": 1, "b": "x"'  # what an object looks like, for sentences

Kinds = Mapping[str, pa.DataType]
Batches = Iterator[pa.RecordBatch]


class Part:
    """One of the files that a `File` names, or a stream: it names its columns and gives its rows in batches."""

    shown: str  # what it is called in messages
    as_written = False  # whether cells are texts, whose types are guessed
    path: Path  # where it is read: itself, or a copy that was unpacked; a stream has none

    def __init__(self, path: Path, shown: str, how: File, folder: Callable[[], Path]) -> None:
        self.path, self.shown, self.how, self._folder = path, shown, how, folder

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        raise NotImplementedError

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns of texts whose type the file declares."""
        return ()

    @property
    def types(self) -> Kinds:
        """The declared type of each column, to compare it with that in other files."""
        return {}

    @property
    def notes(self) -> tuple[str, ...]:
        """What is worth knowing of how the file was read."""
        return ()

    @property
    def row_bytes(self) -> float:
        """About how many bytes of the file a row takes; 0 if that is not known."""
        return 0.0

    def guess_types(self, rows: int, missing: tuple[str, ...] | None) -> dict[str, TypeGuess]:
        """Return the types that each column can be read as, by its first rows."""
        raise NotImplementedError

    def batches(self, types: Kinds, rows: int, limit: int | None, threads: int | None) -> Batches:
        """Return the rows of some columns, so many at a time."""
        raise NotImplementedError

    def line_of(self, row: int) -> int | None:
        """Return the line of the file in which a row stands, if it has lines."""
        return None


class Typed(Part):
    """A source whose columns have types of Arrow."""

    _types: pa.Schema  # its Arrow schema

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._types.names)

    @property
    def types(self) -> Kinds:
        """The type of each column, to compare it with that in other files."""
        return {field.name: field.type for field in self._types}

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The columns of texts; those of a categorical type are none."""
        return tuple(field.name for field in self._types if is_text_type(field.type))

    def first_types(self, rows: int) -> Mapping[str, set[pa.DataType]]:
        """Return which types each column may have, as what they are read: the one it has, or none."""
        result: dict[str, set[pa.DataType]] = {}
        for field in self._types:
            kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
            try:
                held = type_of_arrow(field.name, kind)
            except InvalidInput:  # it cannot be counted
                result[field.name] = {kind}
            else:
                result[field.name] = set() if held is None else {READ_AS[held]}
        return result

    def guess_types(self, rows: int, missing: tuple[str, ...] | None) -> dict[str, TypeGuess]:
        """Return what each column can be read as: the type it has, but texts that are all numbers as those.

        Many rows are read only of columns whose first ones may be numbers.
        """
        first = self.first_types(rows)
        result = {name: TypeGuess(frozenset(kinds), frozenset(kinds), USUAL) for name, kinds in first.items()}
        own = [name for name in self.texts if name in result and result[name].kinds == ONLY_TEXT]
        for most in (FEW, rows):
            texts = [name for name in own if most == FEW or NUMBER in result[name].kinds]
            batches = list(self.batches(dict.fromkeys(texts, TEXT), most, most, 1)) if texts else []
            for name in texts if batches else ():  # the first batch may be small: all rows that are looked at count
                one = guess_type(pa.chunked_array([plain_texts(batch.column(name)) for batch in batches]), missing)
                numbers = NUMBER in one.kinds
                kinds, written = (one.kinds, one.written) if numbers else (ONLY_TEXT, CellFormat(missing))
                result[name] = TypeGuess(kinds, ONLY_TEXT, written)
        return result


def some_rows(batches: Iterable[pa.RecordBatch], types: Kinds, limit: int | None) -> Batches:
    """Return these columns of batches, and no more rows than that; what is not text but shall be is written out."""
    left = limit
    for batch in batches:
        arrays = []
        for name, wanted in types.items():
            column = batch.column(name)
            kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
            if wanted in (TEXT, PROSE) and not is_text_type(kind) and not pa.types.is_null(kind):
                column = pc.cast(column.dictionary_decode() if kind != column.type else column, TEXT)
            arrays.append(column if left is None else column.slice(0, left))
        taken = pa.RecordBatch.from_arrays(arrays, names=list(types))
        yield taken
        left = None if left is None else left - taken.num_rows
        if left == 0:
            return


class ArrowFile(Typed):
    """One file of Arrow batches, mapped into memory and not copied, or a stream of them."""

    noun = "Arrow"

    def _open(self, columns: Kinds, rows: int, threads: int | None) -> tuple[pa.Schema, Iterable[pa.RecordBatch]]:
        """Return the types of all columns, and the rows of some; of others, too, if that takes no work."""
        source = pa.memory_map(str(self.path))
        if source.read(6) == b"ARROW1":
            file = pa.ipc.open_file(source)
            return file.schema, map(file.get_batch, range(file.num_record_batches))
        source.seek(0)
        stream = pa.ipc.open_stream(source)
        return stream.schema, stream

    def _rows(self) -> int:
        """Return how many rows there are."""
        return sum(batch.num_rows for batch in self._open({}, 0, 1)[1])

    def _damaged(self, error: Exception) -> UnreadableRows:
        return UnreadableRows(self.shown, None, f"it is no whole {self.noun} file ({error}).")

    @cached_property
    def _types(self) -> pa.Schema:
        try:
            return self._open({}, 0, 1)[0]
        except UNREADABLE as error:
            raise self._damaged(error) from None

    @cached_property
    def row_bytes(self) -> float:
        """About how many bytes of the file a row takes."""
        return float(self.path.stat().st_size / max(self._rows(), 1))

    def batches(self, types: Kinds, rows: int, limit: int | None, threads: int | None) -> Batches:
        """Return the rows of some columns."""
        try:
            yield from some_rows(self._open(types, rows, threads)[1], types, limit)
        except UNREADABLE as error:
            raise self._damaged(error) from None


class Orc(ArrowFile):
    """One ORC file, a stripe at a time."""

    noun = "ORC"

    def _open(self, columns: Kinds, rows: int, threads: int | None) -> tuple[pa.Schema, Iterable[pa.RecordBatch]]:
        from pyarrow import orc

        file = orc.ORCFile(str(self.path))
        return file.schema, (file.read_stripe(index, columns=list(columns)) for index in range(file.nstripes))

    def _rows(self) -> int:
        from pyarrow import orc

        return int(orc.ORCFile(str(self.path)).nrows)


class Parquet(ArrowFile):
    """One Parquet file, read by Arrow: texts come as codes with a dictionary, unless they are tokenized."""

    noun = "Parquet"

    def _open(self, columns: Kinds, rows: int, threads: int | None) -> tuple[pa.Schema, Iterable[pa.RecordBatch]]:
        import pyarrow.parquet as pq

        texts = [name for name, kind in columns.items() if kind != PROSE and is_text_type(self._types.field(name).type)]
        file = pq.ParquetFile(self.path, read_dictionary=texts, pre_buffer=False, buffer_size=BUFFER)
        return file.schema_arrow, file.iter_batches(max(rows, 1), columns=list(columns), use_threads=threads != 1)

    def _rows(self) -> int:
        import pyarrow.parquet as pq

        return int(pq.read_metadata(self.path).num_rows)


class JsonLines(Typed):
    """One file of JSON, an object a line, or a list of objects."""

    @cached_property
    def _where(self) -> str:
        shape = shape_of(head_of(self.path, shown=self.shown), self.shown)
        packed = packing(self.path) or "uncompressed"
        if shape == "array" and packed == "uncompressed":
            check_closed(self.path, self.shown)
        return f"{duck.sql_literal(str(self.path))}, format='{shape}', compression={duck.sql_literal(packed)}"

    @cached_property
    def _found(self) -> Mapping[str, set[pa.DataType]]:
        return self.first_types(1000)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns: the keys of the first objects."""
        return tuple(self._found)

    @property
    def types(self) -> Kinds:
        """No types: each value has its own, and is read as asked."""
        return {}

    @property
    def texts(self) -> tuple[str, ...]:
        """The keys of texts."""
        return tuple(name for name, kinds in self._found.items() if kinds == ONLY_TEXT)

    @cached_property
    def row_bytes(self) -> float:
        """About how many bytes of the file a row takes."""
        head, mark = head_of(self.path), b"\n" if "newline_delimited" in self._where else b"}"
        share = min(self.path.stat().st_size / max(len(head), 1), 1.0) if packing(self.path) else 1.0
        return share * len(head) / max(head.count(mark), 1)

    def first_types(self, rows: int) -> Mapping[str, set[pa.DataType]]:
        """Return which types each key has in the first objects."""
        query = (
            f"with objects as (select json from read_json_objects({self._where}) limit {rows}), "
            "keyed as (select json, unnest(json_keys(json)) as key from objects) "
            "select key, json_type(json, '/' || replace(replace(key, '~', '~0'), '/', '~1')) as kind from keyed"
        )
        result: dict[str, set[pa.DataType]] = {}
        for batch in duck.streamed(duck.connect(threads=1), query, self.shown, rows):
            pairs = pa.Table.from_batches([batch]).group_by(["key", "kind"], use_threads=False)
            for row in pairs.aggregate([]).to_pylist():
                kinds = result.setdefault(row["key"], set())
                if row["kind"] != "NULL":
                    kinds.add(JSON[row["kind"]])
        return {name: common_json_types(kinds) for name, kinds in result.items()}

    def batches(self, types: Kinds, rows: int, limit: int | None, threads: int | None) -> Batches:
        """Return the rows of some keys; whole numbers as texts, so that none is rounded."""
        kinds = {name: {BOOLEAN: "BOOLEAN", NUMBER: "DOUBLE"}.get(kind, "VARCHAR") for name, kind in types.items()}
        query = f"read_json({self._where}, columns={duck.sql_struct(kinds)})"
        yield from duck.rows_of(query, types, self.shown, rows, limit, duck.connect(threads=threads))


def shape_of(head: bytes, shown: str) -> str:
    """Return how the objects of a file of JSON lie in it, as DuckDB calls it; refuse what is no list of objects."""
    text = head.decode("utf-8", "ignore").lstrip("\ufeff \t\r\n")
    if text.startswith("["):
        if not re.match(r"\[\s*\{", text):
            result = "is empty" if re.match(r"\[\s*\]", text) else "holds no objects"
            raise UnreadableRows(shown, None, f"the list of JSON {result}; a row is an object such as {{{NAMED}}}.")
        return "array"
    try:
        first, end = json.JSONDecoder().raw_decode(text)
    except ValueError:  # broken, or longer than what is looked at
        key = re.search(r'"([^"]*)"\s*:\s*[\[{]', text)
        inner = key[1] if key and re.match(r"\{[ \t]*\r?\n", text) else None
        shape = "newline_delimited"
    else:
        inner = None if text[end:].strip() else rows_inside(first)
        shape = "unstructured" if "\n" in text[:end] else "newline_delimited"
    if inner is not None:
        raise UnreadableRows(
            shown,
            None,
            f"it is one JSON object, and its rows seem to lie under {inner!r}; save that part alone as a list of "
            f"objects, [{{{NAMED}}}, …], or an object a line, or give the table in Python.",
        )
    return shape


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


def common_json_types(kinds: set[pa.DataType]) -> set[pa.DataType]:
    """Return the one type that values of these types can be read as; texts, if there is no other."""
    if len(kinds) > 1 and kinds <= {TEXT, BOOLEAN, WHOLE, NUMBER}:
        return {NUMBER} if kinds == {WHOLE, NUMBER} else {TEXT}
    return kinds


class Database(Typed):
    """A table of a DuckDB database, or the answer to a query."""

    @cached_property
    def _query(self) -> str:
        """What is read: a query as it is, or all of a table."""
        if self.how.query is not None:
            return f"({self.how.query})"
        con = duck.connect(str(self.path))
        tables = tuple(row[0] for row in con.execute("select table_name from information_schema.tables").fetchall())
        con.close()
        table = self.how.table or (tables[0] if len(tables) == 1 else None)
        if table is None:
            names = f"it has the tables {', '.join(map(repr, tables))}; say which: "
            which = Message(names, Setting("table", ANY_VALUE), " or ", Setting("query", ANY_VALUE), ".")
            raise UnreadableRows(self.shown, None, which if tables else "it has no table.")
        if table not in tables:
            raise UnreadableRows(self.shown, None, f"it has no table {table!r}{likely(table, tables, 'tables')}")
        return duck.sql_name(table)

    @cached_property
    def _types(self) -> pa.Schema:
        with duck.reworded(self.shown):
            return duck.arrow_reader(duck.connect(str(self.path)).sql(f"from {self._query} limit 0")).schema

    def batches(self, types: Kinds, rows: int, limit: int | None, threads: int | None) -> Batches:
        """Return the rows of some columns."""
        con = duck.connect(str(self.path), threads)
        yield from some_rows(duck.rows_of(self._query, types, self.shown, rows, limit, con), types, None)
        con.close()
