"""What can be found of cells in a model: in all objects that it reaches, in its pickle, in its file."""

from __future__ import annotations

import gc
import pickle
import types
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

# What belongs to the program and not to the model.
PROGRAM = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType, pa.DataType)


def reached(start: object) -> Iterator[tuple[str, object]]:
    """Yield all objects that can be reached from one, each with the way to it."""
    seen: dict[int, object] = {}
    todo = [("", start)]
    while todo:
        path, thing = todo.pop()
        if id(thing) in seen or isinstance(thing, PROGRAM):
            continue
        seen[id(thing)] = thing  # held, so that no other object gets its number
        yield path, thing
        todo += [(f"{path}/{name}", part) for name, part in parts_of(thing)]


def parts_of(thing: object) -> Iterator[tuple[str, object]]:
    """Yield what an object refers to; NumPy and Arrow do not tell the garbage collector."""
    if isinstance(thing, np.ndarray):
        yield "base", thing.base
        if thing.dtype.kind == "O":
            yield from ((str(at), cell) for at, cell in enumerate(thing.ravel().tolist()))
    elif isinstance(thing, pa.ChunkedArray):
        yield from (("chunk", chunk) for chunk in thing.chunks)
    elif isinstance(thing, pa.Array):
        yield from (("buffer", buffer) for buffer in thing.buffers())
        if pa.types.is_dictionary(thing.type):
            yield "dictionary", thing.dictionary
    elif isinstance(thing, (pa.Table, pa.RecordBatch)):
        yield from ((name, thing.column(name)) for name in thing.column_names)
    elif isinstance(thing, dict):
        for key, value in thing.items():
            yield "key", key
            yield f"{key!r:.40}", value
    else:
        if hasattr(thing, "__getstate__") and type(thing).__module__.startswith("naively"):
            yield "state", thing.__getstate__()  # compiled objects lie behind some of ours
        yield from ((type(thing).__name__, part) for part in gc.get_referents(thing))


def raw(thing: object) -> bytes:
    """Return the bytes that an object holds itself."""
    if isinstance(thing, np.ndarray):
        return b"" if thing.dtype.kind == "O" else thing.tobytes()
    if isinstance(thing, pa.Buffer):
        return thing.to_pybytes()
    if isinstance(thing, str):
        return thing.encode("utf-8", "surrogatepass")
    if isinstance(thing, (bytes, bytearray, memoryview)):
        return bytes(thing)
    if isinstance(thing, (float, int, np.generic)):
        number = np.float64(thing).tobytes() if isinstance(thing, (float, int)) and abs(thing) < 2**62 else b""
        return number + repr(thing).encode()
    return b""


def needles(cell: float | str) -> list[bytes]:
    """Return how a cell may be written: a text as UTF-8; a number in two widths, either order of bytes, as text."""
    if isinstance(cell, str):
        return [cell.encode()]
    wide, narrow = np.float64(cell), np.float32(cell)
    written = {repr(float(cell)), repr(int(cell))} if float(cell).is_integer() else {repr(float(cell))}
    whole = [np.int64(cell).tobytes()] if float(cell).is_integer() else []
    found = [wide.tobytes(), wide.byteswap().tobytes(), narrow.tobytes(), *whole]
    return [*found, *(text.encode() for text in written)]


def traces(nb: object, cells: Sequence[float | str]) -> list[str]:
    """Return where cells are found in the objects of a model, and in its pickle."""
    wanted = [(cell, needle) for cell in cells for needle in needles(cell)]
    found = [
        f"{cell!r} at {path}"
        for path, thing in reached(nb)
        if (held := raw(thing))
        for cell, needle in wanted
        if needle in held
    ]
    pickled = pickle.dumps(nb)
    return found + [f"{cell!r} in the pickle" for cell, needle in wanted if needle in pickled]


def traces_in_file(path: Path, cells: Sequence[float | str]) -> list[str]:
    """Return where cells are found in a model file: in its bytes, and in all columns once they are unpacked."""
    wanted = [(cell, needle) for cell in cells for needle in needles(cell)]
    parts = {"bytes": path.read_bytes()}
    parts |= {key.decode(): value for key, value in (pq.read_metadata(path).metadata or {}).items()}
    found = [f"{cell!r} in {name}" for name, held in parts.items() for cell, needle in wanted if needle in held]
    table = pq.read_table(path)
    for name in table.column_names:
        for where, thing in reached(table.column(name)):
            held = raw(thing)
            found += [f"{cell!r} in column {name}{where}" for cell, needle in wanted if needle in held]
    return found
