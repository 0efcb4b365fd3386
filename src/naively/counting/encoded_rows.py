"""Some rows as the kernels read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._types import AnyArray, Codes, Places
from ..data.column import Column
from ..data.encoding import block_numbers
from ..data.frame import Frame
from .arrays import kernel_matrix
from .wide import WideCells


class EncodedRows(NamedTuple):
    """Some rows as the kernels read them: codes of labels, numbers, vectors."""

    codes: Codes | None
    numbers: AnyArray | None
    vectors: dict[str, WideCells]

    @property
    def rows(self) -> int:
        """How many rows these are."""
        parts = (self.codes, self.numbers, *self.vectors.values())
        return next((int(part.shape[0]) for part in parts if part is not None), 0)

    def take(self, rows: Places) -> EncodedRows:
        """Return some of the rows."""
        codes, numbers = (None if part is None else _columnwise(part, rows) for part in (self.codes, self.numbers))
        return EncodedRows(codes, numbers, {name: matrix[rows] for name, matrix in self.vectors.items()})


def _columnwise(matrix: AnyArray, rows: Places) -> AnyArray:
    """Return some rows of a matrix, which lies column by column as before."""
    return np.asfortranarray(matrix[rows]) if matrix.flags.c_contiguous else matrix.T[:, rows].T


def encoded_numbers(frame: Frame, columns: Sequence[Column], begin: int, end: int, threads: int) -> AnyArray | None:
    """Return some rows of columns of numbers as the kernels read them; None if there are no such columns."""
    return kernel_matrix(block_numbers(frame, columns, begin, end, threads)) if columns else None
