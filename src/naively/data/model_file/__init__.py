"""Counts in a file: one tidy Parquet table that DuckDB, pandas, Polars and Spark read too.

========  =============================================================================================
column    the name of the column; null for the rows of the class itself
value     the value that was seen, null where a cell was missing; of moments, the label of the numbers
class     the class
n         how often the value was seen, or how many numbers there were
shift     moments only: what ``sum`` and ``squares`` are measured from
sum       moments: the sum of x - shift; words of texts: in how many texts the word was seen (columns of a
          matrix of counts: in how many rows they were above 0)
squares   moments only: the sum of (x - shift)²
data      named parts only: their bytes
========  =============================================================================================

Cells of zero are left out. The rows of the classes come first, then the columns by name, and in each of them values and
classes in the order of their axes: the same counts make the same table. Each column begins a row group of its own.

What is expected of rows without a label, if there is any, comes behind all that was counted. Its rows have the mark
``(expected)`` before the name of the column, and alone for the rows of the classes.

Named parts come last, each a row of its own with the mark ``(part)`` before its name: what is no table of counts, as a
stream of Arrow. A model has the parts ``joint`` (what the default model counts of several columns at once),
``coefficients``, ``words of`` each column of texts (their coefficients) and ``rows`` (the rows that it retains).

The footer's key ``naively`` is JSON: what the table cannot say (types of labels, labels without rows, those declared,
the order of the columns), whatever the caller adds (``about``), and last the SHA-256 of all other bytes of the file.
This seal is found and checked before anything is read, so no damaged byte reaches Arrow's reader. It stays where
it is in every version of the format, so that a newer file can be told from a damaged one.

>>> import tempfile
>>> from naively import Counts, Table
>>> counts = Counts(["ham", "spam"], [5, 4], {"word": Table(["ham", "spam"], ["cheap", "hello"], [[1, 4], [3, 0]])})
>>> with tempfile.TemporaryDirectory() as folder:
...     write_model(f"{folder}/words.parquet", counts, {"trained by": "me"})
...     read_counts(f"{folder}/words.parquet")
(Counts: 9 rows (ham: 5, spam: 4), 1 columns, {'trained by': 'me'})
"""

from .file import (
    ModelPlace,
    StoredModel,
    counts_of_bytes,
    counts_to_bytes,
    place_name,
    read_counts,
    read_model,
    replace_file,
    write_model,
)
from .parts import StoredRows, arrays_of_bytes, arrays_to_bytes, rows_of_bytes, rows_to_bytes

__all__ = [
    "ModelPlace",
    "StoredModel",
    "StoredRows",
    "arrays_of_bytes",
    "arrays_to_bytes",
    "counts_of_bytes",
    "counts_to_bytes",
    "place_name",
    "read_counts",
    "read_model",
    "replace_file",
    "rows_of_bytes",
    "rows_to_bytes",
    "write_model",
]
