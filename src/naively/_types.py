"""Types that the whole package shares."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

# Arrays, by what they hold.
Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Codes = npt.NDArray[np.int32]  # of values or classes: places on an axis, -1 for none
Places = npt.NDArray[np.intp]  # indices of rows, columns or cells
Longs = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Hashes = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]
Flags = npt.NDArray[np.uint8]
Objects = npt.NDArray[np.object_]
# Cells or labels as users hold them: the type of the elements is known at run time only.
AnyArray: TypeAlias = npt.NDArray[Any]

Numeric: TypeAlias = float | Floats  # one number, or an array of them

# A matrix of scipy.sparse, which has no static types.
SparseMatrix: TypeAlias = Any
# The cells of some rows, as one part of a model reads them: a dense or sparse matrix, or texts beside their reader
# (`text.TextRows`). What a part gets follows from the family of its columns; the kernels check it.
Matrix: TypeAlias = Any
Matrices: TypeAlias = dict[str, Matrix]  # by the name of the part
# What picks rows or entries of an array: a slice, a mask or places.
Index: TypeAlias = Any

# A class or a category: text, a number, a boolean, a date, or whatever else can be a key of a dict.
Label: TypeAlias = Hashable

# What users hand over: data frames of several libraries, arrays, sparse matrices, dicts, lists, paths. No static type
# describes all of these; `data.frame` and `data.target` check them at run time.
TableLike: TypeAlias = Any
ColumnLike: TypeAlias = Any

# One cell of such a table: text, a number, a boolean, a time, None, or a missing value of some library.
CellLike: TypeAlias = Any
# The type of the elements of an array, where it is known at run time only.
DType: TypeAlias = np.dtype[Any]

# A data frame that is returned: of pandas or Polars, whichever the user has loaded, else a table of Arrow.
FrameLike: TypeAlias = Any

# What json.loads returns. A recursive type would need a cast at each level; the readers check what they find.
Json: TypeAlias = Any
JsonObject: TypeAlias = dict[str, Any]
