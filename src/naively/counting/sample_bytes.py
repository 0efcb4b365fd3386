"""Samples of rows as bytes of Arrow, to be sent to another process and merged there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from .._types import Places
from .sample import Hasher, RowSample, SamplePart

# What stands beside the cells of a row, in this order, behind the columns of the table.
BESIDE = tuple(SamplePart._fields[1:])


def sample_to_bytes(sample: RowSample) -> bytes:
    """Return a sample as an Arrow stream; the largest hash that is kept stands in its metadata."""
    part, limit = sample.contents()
    names = [*part.table.column_names, *("" for _ in BESIDE)]
    arrays = [*part.table.columns, *(pa.array(getattr(part, name)) for name in BESIDE)]
    said = {"limit": "" if limit is None else str(limit)}
    table = pa.Table.from_arrays(arrays, names=names).replace_schema_metadata(said)
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd" if pa.Codec.is_available("zstd") else None)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def sample_of_bytes(data: bytes, hasher: Hasher | None, texts: Sequence[str], classes: Places) -> RowSample:
    """Return the sample in such bytes; the classes of its rows get other codes, given by those they have there."""
    table = pa.ipc.open_stream(data).read_all()
    limit = (table.schema.metadata or {}).get(b"limit", b"").decode()
    own = table.num_columns - len(BESIDE)
    beside = [table.column(own + at).to_numpy() for at in range(len(BESIDE))]
    beside[0] = classes[beside[0]].astype(np.int32)
    cells = table.select(list(range(own))).replace_schema_metadata(None).combine_chunks()
    part = SamplePart(cells, *beside)
    return RowSample.of_part(part, np.uint64(limit) if limit else None, hasher, texts)
