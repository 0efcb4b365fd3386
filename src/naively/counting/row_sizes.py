"""How many bytes rows take, and how many of them are kept for that."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .._types import Longs
from ..data.frame import Frame
from ..data.schema import Schema
from ..data.values import ColumnValues
from . import sample
from .rows import Rows


def affordable_contents(rows: Rows, schema: Schema) -> int:
    """Return how many of the rows, in their order, are kept: fewer if their texts are long."""
    most = min(rows.target.rows, sample.KEPT)
    size = row_text_bytes(rows, schema)
    few = int(np.searchsorted(np.cumsum(size), sample.BYTES, side="right"))
    return min(most, max(few, sample.FEWEST))


def text_bytes_of(rows: Rows, schema: Schema) -> int:
    """Return the bytes of all texts whose words are counted."""
    if isinstance(rows.source, Frame):
        return int(row_text_bytes(rows, schema).sum())
    names = [column.name for column in schema.of_kind("vectors")]
    cells = (row.get(name) for row in rows.source for name in names)
    return sum(len(cell.encode("utf-8", "surrogatepass")) for cell in cells if isinstance(cell, str))


def row_text_bytes(rows: Rows, schema: Schema) -> Longs:
    """Return the bytes of the texts of each row whose words are counted."""
    assert isinstance(rows.source, Frame)
    found = np.zeros(rows.source.rows, dtype=np.int64)
    for column in schema.of_kind("vectors"):
        values = rows.source.columns[column.name]
        if not isinstance(values, ColumnValues):
            continue
        if isinstance(values.data, np.ndarray):
            found += np.array([len(text) if isinstance(text, str) else 0 for text in values.data], dtype=np.int64)
        else:
            array = values.arrow()
            array = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
            found += pc.fill_null(pc.binary_length(array), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def part_bytes(rows: Rows) -> int:
    """Return how many bytes the cells of some rows take."""
    if not isinstance(rows.source, Frame):
        return 64 * sum(map(len, rows.source))
    if rows.source.matrix is not None:
        return int(rows.source.matrix.nbytes)
    sizes = (c.data.nbytes if hasattr(getattr(c, "data", None), "nbytes") else 0 for c in rows.source.columns.values())
    return int(sum(sizes))
