"""A column of texts, in whatever it comes → pieces that the kernels read where they lie."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from .. import _kernels
from .._types import AnyArray, ColumnLike, Objects
from ..errors import InvalidInput
from ..errors.message import RowNumber

# So few strings are read as they are; more are laid out by Arrow first.
FEW = 16
# About so many characters are laid out at a time, in no fewer rows than these and no more.
CHARACTERS, FEWEST, MOST = 1 << 25, 64, 1 << 16
OBJECTS = np.dtype(object)
# Strings are read where they lie if so many of them are ASCII; of others Python would keep their UTF-8, too.
ASCII = 0.75
# The methods by which data frames of all libraries are known.
TABLES = ("columns", "__dataframe__", "__narwhals_dataframe__")


def kernel_texts(X: ColumnLike, *, allow_missing: bool = False, first: int = 0) -> Iterator[_kernels.TextColumn]:
    """Yield the texts of a column, some rows at a time. A missing text is refused unless that is allowed.

    Errors count rows from the first on.
    """
    few = isinstance(X, list) and len(X) <= FEW
    if few and all(type(text) is str or (allow_missing and text is None) for text in X):
        yield _kernels.TextColumn.strings(X, first)
        return
    if isinstance(X, (list, np.ndarray)) and getattr(X, "dtype", OBJECTS) == OBJECTS and np.ndim(X) == 1:
        yield from kernel_texts_of_strings(X, allow_missing, first)
        return
    for array, row, surrogates in arrow_text_arrays(X, first, allow_missing):
        yield kernel_texts_of_arrow(array, row, surrogates)


def kernel_texts_of_strings(X: list[str] | Objects, allow_missing: bool, first: int) -> Iterator[_kernels.TextColumn]:
    """Yield strings of Python: where they lie if nearly all are plain ASCII, and laid out by Arrow otherwise."""
    for begin in range(0, len(X), MOST):
        batch = X[begin : begin + MOST]
        batch = batch if isinstance(batch, list) else batch.tolist()
        if set(map(type, batch)) == {str} and sum(map(str.isascii, batch)) >= ASCII * len(batch):
            yield _kernels.TextColumn.strings(batch, first + begin)
            continue
        for array, row, surrogates in arrays_of_strings(batch, first + begin, allow_missing):
            yield kernel_texts_of_arrow(array, row, surrogates)


def strings_of(X: ColumnLike, *, allow_missing: bool = False, first: int = 0) -> Iterator[list[str]]:
    """Yield the texts of a column as strings of Python, some rows at a time; missing ones are empty if allowed."""
    for array, begin, surrogates in arrow_text_arrays(X, first, allow_missing):
        views = pa.types.is_string_view(array.type)  # older versions of Arrow cannot cast them
        texts = array.to_pylist() if views else array.cast(pa.large_binary()).to_pylist()
        errors = "surrogatepass" if surrogates else "strict"
        yield [decode_text(text, errors, row) for row, text in enumerate(texts, begin)]


def decode_text(text: bytes | str | None, errors: str, row: int) -> str:
    """Return the string that bytes stand for."""
    try:
        return "" if text is None else text if isinstance(text, str) else text.decode("utf-8", errors)
    except UnicodeDecodeError as error:
        raise InvalidInput(
            RowNumber(row),
            f" is no valid UTF-8: byte {error.start} cannot be read. Decode the texts by the encoding that "
            "they are in, e.g. bytes.decode('latin-1').",
        ) from None


# Texts as Arrow has them, the number of the first row, and whether they may hold halves of surrogate pairs.
TextArrays = Iterator[tuple[pa.Array, int, bool]]


def arrow_text_arrays(X: ColumnLike, first: int, allow_missing: bool) -> TextArrays:
    """Yield a column as Arrow arrays of texts; refuse what is no column of texts."""
    if isinstance(X, (str, bytes)):
        raise InvalidInput(
            "Iterable over raw text documents expected, string object received: this is one text. Put it into a list."
        )
    if isinstance(X, Mapping) or any(hasattr(type(X), name) for name in TABLES):
        raise InvalidInput(f"Expected one column of texts, got a {type(X).__name__}. Give the column: X['text'].")
    if not isinstance(X, Iterable):
        raise InvalidInput(f"Expected a list or a column of texts, got {type(X).__name__}.")
    if not isinstance(X, (pa.Array, pa.ChunkedArray)) and (hasattr(X, "__array__") or hasattr(X, "__arrow_c_stream__")):
        X = arrow_or_numpy(X)
    if not isinstance(X, (pa.Array, pa.ChunkedArray)):
        yield from arrays_of_strings(X, first, allow_missing)
        return
    for chunk in X.chunks if isinstance(X, pa.ChunkedArray) else [X]:
        array = arrow_texts(chunk)
        refuse_missing(array, first, allow_missing)
        yield array, first, False
        first += len(array)


def refuse_missing(array: pa.Array, first: int, allow_missing: bool) -> None:
    """Refuse an array in which texts are missing, unless that is allowed."""
    if array.null_count and not allow_missing:
        row = first + int(np.argmax(array.is_null().to_numpy(zero_copy_only=False)))
        raise InvalidInput(
            RowNumber(row), " holds no text: it is missing. Give it a text, such as '', or leave the row out."
        )


def arrow_or_numpy(X: ColumnLike) -> pa.Array | pa.ChunkedArray | AnyArray:
    """Return a series, or an array, as Arrow's or as an array of objects."""
    if hasattr(X, "__arrow_c_stream__") and not isinstance(getattr(X, "dtype", None), np.dtype):
        return pa.chunked_array(X)
    if hasattr(X, "__arrow_array__"):
        return pa.array(X)
    X = np.asarray(X)
    if X.ndim != 1:
        raise InvalidInput(f"Expected one column of texts, got an array of shape {X.shape}. Give one column: X[:, 0].")
    if X.dtype.kind in "UT":
        return X.astype(object)
    if X.dtype.kind not in "OS":
        raise InvalidInput(f"Expected texts, got an array of {X.dtype}. Convert the numbers: X.astype(str).")
    return X


def arrow_texts(array: pa.Array) -> pa.Array:
    """Return an Arrow array as one of texts or bytes."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        # Of views Arrow could not take single ones, and older versions cannot cast them; the values are few.
        words = pa.array(arrow_texts(array.dictionary).to_pylist(), pa.large_binary())
        return pa.DictionaryArray.from_arrays(array.indices, words).dictionary_decode()
    if pa.types.is_null(kind):
        return array.cast(pa.string())
    if pa.types.is_fixed_size_binary(kind) or pa.types.is_binary_view(kind):
        return array.cast(pa.large_binary())
    text = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_binary)
    if not any(is_one(kind) for is_one in (*text, pa.types.is_large_binary)):
        raise InvalidInput(f"Expected texts, got a column of {kind}. Convert it to text first.")
    return array


def arrays_of_strings(texts: Iterable[object], first: int, allow_missing: bool) -> TextArrays:
    """Lay out strings one batch after the other; as many rows at a time as make a good piece of work."""
    rest, rows = iter(texts), 1 << 10
    while batch := list(islice(rest, rows)):
        array, surrogates = arrow_of_strings(batch, first)
        refuse_missing(array, first, allow_missing)
        yield array, first, surrogates
        first += len(batch)
        rows = min(MOST, max(FEWEST, CHARACTERS * len(batch) // max(array.nbytes, 1)))


def arrow_of_strings(batch: Sequence[object], first: int = 0) -> tuple[pa.Array, bool]:
    """Return strings as an Arrow array, and whether they hold halves of surrogate pairs."""
    try:
        return pa.array(batch, pa.large_string(), from_pandas=True), False
    except UnicodeEncodeError:
        whole = [t.encode("utf-8", "surrogatepass") if isinstance(t, str) else t for t in batch]
        return pa.array(whole, pa.large_binary(), from_pandas=True), True
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError):
        if all(text is None or isinstance(text, (str, bytes)) for text in batch):
            bytes_too = pa.array(batch, pa.large_binary(), from_pandas=True)
            return bytes_too, False  # the reader refuses them with the reason
        kept = [None if text is None or text != text else text for text in batch]
        row = next(index for index, text in enumerate(kept) if not isinstance(text, (str, bytes, type(None))))
        raise InvalidInput(
            RowNumber(first + row),
            f" holds {batch[row]!r} of type {type(batch[row]).__name__}, which is no text. Convert it, e.g. by str().",
        ) from None


def kernel_texts_of_arrow(array: pa.Array, first: int = 0, surrogates: bool = False) -> _kernels.TextColumn:
    """Return an Arrow array of texts as the kernels read it."""
    buffers = arrow_buffers(array)
    if pa.types.is_string_view(array.type):
        return _kernels.TextColumn.views(*buffers, first)
    return _kernels.TextColumn.buffer(*buffers, first, surrogates)


def arrow_buffers(array: pa.Array) -> tuple[AnyArray, Any, AnyArray | None, int]:
    """Return where the texts of an Arrow array lie, so that the kernels read them there.

    Either views and the buffers that they look at, or where each text begins and all texts; then the bits of those that
    are there, if some are missing, and how many of these are skipped.
    """
    valid, *buffers = array.buffers()
    bits = None if valid is None or not array.null_count else np.frombuffer(valid, np.uint8)
    skipped, size = array.offset, len(array)
    if pa.types.is_string_view(array.type):
        views = np.frombuffer(buffers[0], np.uint8)[16 * skipped : 16 * (skipped + size)]
        return views, [np.frombuffer(buffer, np.uint8) for buffer in buffers[1:]], bits, skipped
    kind = np.int32 if pa.types.is_string(array.type) or pa.types.is_binary(array.type) else np.int64
    empty = buffers[0] is None or not size
    starts = np.zeros(size + 1, kind) if empty else np.frombuffer(buffers[0], kind)[skipped : skipped + size + 1]
    return starts, np.frombuffer(buffers[1] or b"", np.uint8), bits, skipped
