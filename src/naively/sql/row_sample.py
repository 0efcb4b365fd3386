"""A sample of rows out of a database: those whose content has a small hash, so that their order does not matter.

Rows of the same content are in the sample together, and come once with the number of their copies.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import add
from typing import NamedTuple
from zlib import crc32

import numpy as np
import pyarrow as pa

from .._types import Longs
from ..counting import sample
from ..counting.first_look import uncut_columns
from ..counting.rows import Rows, labeled_rows
from ..counting.sample import places_of_contents, proportional_copies
from ..counting.sampled_rows import hashes_of_rows
from ..errors import InvalidInput
from ..errors.message import Setting
from .database_rows import COUNT, DatabaseRows
from .engine import IbisTable, IbisValue, call_builtin, fetched, ibis_module

# Hashes are numbers below this prime: two of 31 bits multiply to less than 2**63.
HASHES = 2**31 - 1
# Columns that are hashed, at most, where each takes a call; and what the hash of the first is multiplied by.
HASHED, FACTOR = 32, 1_299_709
# The rows that are asked for, of those that may come: few more or fewer come by chance.
EXPECTED = 0.97
# Where many rows have the same content, so many times as large a part of them is asked for.
MORE = 8


class DrawnRows(NamedTuple):
    """Rows of a database in memory, each content once, and how many rows have it; whether they are all rows."""

    table: pa.Table
    copies: Longs
    complete: bool

    def rows(self, of: DatabaseRows, unlabelled: str) -> Rows:
        """Return the rows with their classes; of more rows than are kept, each content with its proportion."""
        found: Rows = labeled_rows(self.table, None, of.target, of.weight, unlabelled, of.schema)
        at = np.arange(len(self.copies))
        if len(at) > sample.KEPT and not self.complete:
            uncut = of.schema.with_families({column.name: column.family for column in uncut_columns(of.schema)})
            at = places_of_contents(hashes_of_rows(found, uncut, 1), sample.KEPT)
            found = replace(found, hashes=None)
        copies = self.copies[at] if self.complete else proportional_copies(self.copies[at], sample.KEPT)
        return found.take(np.repeat(at, copies))


def drawn_rows(rows: DatabaseRows, total: int) -> DrawnRows:
    """Return all rows if they are few, or else a sample of them; those without a label or a weight are not in it."""
    part = 1.0 if total <= sample.KEPT else EXPECTED * sample.KEPT / total
    while True:
        answer = fetched(_drawn(rows, part))
        if part == 1.0 or 2 * answer.num_rows > sample.KEPT:
            break
        part = min(1.0, MORE * part)
    cells = {name: rows.exact_answer(answer.column(f"v{at}"), name) for at, name in enumerate(needed_columns(rows))}
    copies = np.asarray(answer.column(COUNT).to_numpy(), dtype=np.int64)
    return DrawnRows(pa.table(cells), copies, total <= sample.KEPT)


def needed_columns(rows: DatabaseRows) -> list[str]:
    """Return the columns of a model, and those of the classes and the weights."""
    return [*rows.schema.names, rows.target, *([] if rows.weight is None else [rows.weight])]


def _drawn(rows: DatabaseRows, part: float) -> IbisTable:
    """Return the query for the contents of about such a part of the rows."""
    names = needed_columns(rows)
    cells = {f"v{at}": rows.exact_cell(rows.table[name]) for at, name in enumerate(names)}
    table = rows.selected(cells)
    if part < 1.0:
        table = table.filter(_row_hash(rows, [table[name] for name in cells]) < int(part * HASHES))
    return table.group_by(*cells).aggregate(**{COUNT: table.count()})


def _row_hash(rows: DatabaseRows, cells: list[IbisValue]) -> IbisValue:
    """Return a number from 0 to HASHES that follows from the cells of a row."""
    if rows.engine == "duckdb":
        return call_builtin("hash", cells, "uint64") % HASHES
    if rows.engine == "sqlite":
        texts = [cell.cast("string").fill_null("") for cell in cells]
        return _text_hash()(ibis_module().literal("\x1f").join(texts))
    found = []
    for at, cell in enumerate(cells[-HASHED:]):  # the class is among the last
        kind = cell.type()
        plain = kind.is_string() or kind.is_integer() or kind.is_floating()
        hashed = (cell if plain else cell.cast("string")).hash().fill_null(at)
        found.append((hashed & HASHES) * (FACTOR + 2 * at))
    return reduce(add, found) % HASHES


def _text_hash() -> IbisValue:
    """Return a function for SQLite, which has none of this kind."""

    def naively_hash(text: str) -> int:
        return crc32(text.encode()) % HASHES

    return ibis_module().udf.scalar.python(naively_hash, signature=(("string",), "int64"))


def check_hashable(rows: DatabaseRows) -> None:
    """Refuse a database that has no function to sample rows by."""
    ibis = ibis_module()
    try:
        ibis.to_sql(_drawn(rows, 0.5))
    except ibis.common.exceptions.IbisError as error:
        raise InvalidInput(
            f"Ibis knows no hash function of {rows.engine}, which a sample of rows is drawn by ({error}). Fit the "
            "textbook model, which needs no rows: ",
            Setting("model", "textbook"),
            "; or stream the rows: NaiveBayes().fit(table.to_pyarrow(), target=…).",
        ) from None
