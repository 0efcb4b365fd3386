"""The values that have offsets, as features of rows: labels, bins and levels of numbers, words, flags."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ..._types import Codes, Floats, Hashes, Label, Longs, Mask, Matrix, Places, SparseMatrix
from ...stats.hashing import mix_hashes

LEVEL = "level"


class OffsetColumn(NamedTuple):
    """A column whose values have offsets: their names and their counts; no counts if every row has them."""

    name: str
    values: Sequence[Label]
    met: Floats | None
    levels: Mask  # whether each value is the level of a number
    places: Callable[[Sequence[Label]], Places]  # where some of the values stand among them, -1 for those that do not

    def __len__(self) -> int:
        return len(self.values)


def value_places(values: Sequence[Label]) -> Callable[[Sequence[Label]], Places]:
    """Return what finds the places of labels among values."""
    if isinstance(values, range):  # columns of a matrix, which are their own places
        return lambda labels: np.array(list(labels), dtype=np.intp)
    place = {value: at for at, value in enumerate(values)}
    return lambda labels: np.array([place.get(label, -1) for label in labels], dtype=np.intp)


def scaled_words(x: Matrix) -> SparseMatrix:
    """Return counts of words as they are scored: log(1 + x), every row brought to length 1.

    A word that occurs twice counts less than twice as much, and a long text is no surer for its length alone.
    """
    x = sparse.csr_array(x)
    data = np.log1p(x.data.astype(np.float64))
    row = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
    length = np.sqrt(np.bincount(row, data * data, x.shape[0]))
    data /= np.where(length > 0, length, 1.0)[row]
    return sparse.csr_array((data, x.indices, x.indptr), shape=x.shape)


def flags_of(codes: Codes, sizes: Sequence[int], levels: Floats | None = None) -> SparseMatrix:
    """Return codes as flags, one column of codes after the other; the level of a number comes after its bins.

    A code that is none of its column has no flag.
    """
    n, wide = len(codes), codes.shape[1]
    room = np.array(sizes, dtype=np.int64) + (levels is not None)
    offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(room)])
    there = (codes >= 0) & (codes < np.array(sizes, dtype=np.int64))
    at, data = codes + offsets[:-1], np.ones((n, wide))
    if levels is not None:
        at = np.stack([at, np.broadcast_to(offsets[1:] - 1, codes.shape)], axis=2).reshape(n, -1)
        data = np.stack([data, levels], axis=2).reshape(n, -1)
        there = np.stack([there, levels != 0], axis=2).reshape(n, -1)
    indptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(there.sum(axis=1))])
    return sparse.csr_array((data[there], at[there].astype(np.int64), indptr), shape=(n, int(offsets[-1])))


def values_with_offsets(columns: Sequence[OffsetColumn], most: int) -> Longs:
    """Return which of all values have offsets: those in two rows or more, and of too many the most frequent.

    What a single row holds predicts nothing about others.
    """
    met = [np.full(len(column), np.inf) if column.met is None else column.met for column in columns]
    often = np.concatenate([*met, np.zeros(0)])
    kept = np.flatnonzero(often >= 2)
    if len(kept) > most:
        kept = np.sort(kept[np.argsort(-often[kept], kind="stable")[:most]])
    return kept


def row_hashes(parts: Sequence[Matrix]) -> Hashes:
    """Return a hash of the content of each row."""
    out = np.zeros(parts[0].shape[0], dtype=np.uint64)
    for part in parts:
        if sparse.issparse(part):
            row = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
            cells = mix_hashes(part.indices.astype(np.uint64))
            cells ^= part.data.astype(np.float64).view(np.uint64)
            np.add.at(out, row, mix_hashes(cells))
        else:
            for at in range(part.shape[1]):
                column = np.ascontiguousarray(part[:, at], dtype=np.float64) + 0.0  # -0 and 0 are alike
                out ^= column.view(np.uint64)
                out = mix_hashes(out)
    return mix_hashes(out)
