"""Texts of Arrow as they lie in memory, for the kernels that read them there."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from .._types import AnyArray

if TYPE_CHECKING:
    import pyarrow as pa


class ArrowBuffers(NamedTuple):
    """The buffers of an array of texts: bits of those that are there, how many are skipped, and the texts."""

    bits: npt.NDArray[np.uint8] | None
    skipped: int
    views: tuple[npt.NDArray[np.uint8], list[npt.NDArray[np.uint8]]] | None  # views and the parts that they look at
    plain: tuple[AnyArray, npt.NDArray[np.uint8]] | None  # where each text begins, and all texts


def arrow_buffers_of(array: pa.Array) -> ArrowBuffers:
    """Return where the texts of an Arrow array lie; either as views, or one after the other."""
    import pyarrow as pa

    valid, *buffers = array.buffers()
    bits = None if valid is None or not array.null_count else np.frombuffer(valid, np.uint8)
    skipped, size = array.offset, len(array)
    if pa.types.is_string_view(array.type):
        views = np.frombuffer(buffers[0], np.uint8)[16 * skipped : 16 * (skipped + size)]
        return ArrowBuffers(bits, skipped, (views, [np.frombuffer(buffer, np.uint8) for buffer in buffers[1:]]), None)
    narrow = pa.types.is_string(array.type) or pa.types.is_binary(array.type)
    kind: type[np.int32] | type[np.int64] = np.int32 if narrow else np.int64
    empty = buffers[0] is None or not size
    starts = np.zeros(size + 1, kind) if empty else np.frombuffer(buffers[0], kind)[skipped : skipped + size + 1]
    data = np.frombuffer(buffers[1], np.uint8) if buffers[1] else np.zeros(0, np.uint8)
    return ArrowBuffers(bits, skipped, None, (starts, data))
