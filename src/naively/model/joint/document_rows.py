"""Rows of a matrix of counts as texts: a row holds the words whose columns are above 0."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..._types import AnyArray, Codes, Floats, Hashes, Longs, Matrix, Singles, SparseMatrix
from ...stats.arithmetic import mix_hashes


@dataclass(frozen=True)
class DocumentRows:
    """Which words each row holds; to terms of words it is what rows of texts are."""

    words: SparseMatrix  # 1 for each word that a row holds
    threads: int

    @classmethod
    def of(cls, x: Matrix, threads: int) -> DocumentRows:
        """Return the words of the rows of a matrix, sparse or dense."""
        x = sparse.csr_array(x)
        x = x if (x.data > 0).all() else sparse.csr_array(x > 0)
        return cls(sparse.csr_array((np.ones(x.nnz, dtype=np.float32), x.indices, x.indptr), shape=x.shape), threads)

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and words there are."""
        rows, words = self.words.shape
        return rows, words

    def __len__(self) -> int:
        return int(self.words.shape[0])

    def __getitem__(self, rows: slice | AnyArray) -> DocumentRows:
        """Return some of the rows."""
        return DocumentRows(self.words[rows], self.threads)

    def cells(self, columns: Codes, times: str) -> tuple[Longs, Codes, Singles]:
        """Return starts of rows, columns and values; all columns of a matrix are words of its model."""
        return self.words.indptr.astype(np.int64), columns[self.words.indices], self.words.data

    def measured(self, table: Singles, lengths: Floats, times: str) -> tuple[Floats, Floats]:
        """Return the sums of a table [word, class] and of lengths [word] over the words of each row."""
        return np.asarray(self.words @ table, dtype=np.float64), np.asarray(self.words @ lengths)

    def hashes(self) -> Hashes:
        """Return a number for each row that follows from its words."""
        sums = np.concatenate(
            [np.zeros(1, dtype=np.uint64), np.cumsum(mix_hashes(self.words.indices.astype(np.uint64)))]
        )
        return mix_hashes(sums[self.words.indptr[1:]] - sums[self.words.indptr[:-1]])
