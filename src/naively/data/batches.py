"""Batches of rows as a file holds them → batches of what its columns hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

import pyarrow as pa

from .cells import CellType, NotRead, convert_cells
from .values import is_text_type, plain_texts

TextsReadAsMissing = dict[str, Counter[str]]  # of each column, the texts that stood for no value; '' is an empty cell
TEXTS = ("VARCHAR", "TEXT")


def read_batches(
    batches: Iterable[pa.RecordBatch],
    cells: Mapping[str, CellType],
    found: TextsReadAsMissing | None,
    refused: Callable[[int, str, str, str], Exception],
) -> Iterator[pa.RecordBatch]:
    """Return batches whose texts are what each column holds; how often which text stood for no value is noted.

    `refused` makes the error about a cell of a row and a column that is not what that holds.
    """
    begin = 0
    for batch in batches:
        arrays = []
        for name, cell in cells.items():
            try:
                array, none = read_column(batch.column(name), cell)
            except NotRead as error:
                raise refused(begin + error.row, name, error.text, cell.kind) from None
            if found is not None and none:
                found.setdefault(name, Counter()).update(none)
            arrays.append(array)
        begin += batch.num_rows
        yield pa.RecordBatch.from_arrays(arrays, names=list(cells))


def read_column(array: pa.Array, cell: CellType) -> tuple[pa.Array, Counter[str]]:
    """Return a column as what it holds, and which texts stood for no value."""
    kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    if not is_text_type(kind):
        return array, Counter({"": array.null_count}) if array.null_count else Counter()
    if pa.types.is_dictionary(array.type) and cell.kind in TEXTS:
        _, none = convert_cells(plain_texts(array.dictionary), cell)
        if not none:
            return array, Counter({"": array.null_count}) if array.null_count else Counter()
        values, none = convert_cells(plain_texts(array), cell)
        return values.dictionary_encode().cast(array.type), none  # of one type in all batches
    return convert_cells(plain_texts(array), cell)
