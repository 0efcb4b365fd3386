"""Counts in a file: one tidy Parquet table that DuckDB, pandas, Polars and Spark read too.

========  =============================================================================================
column    the name of the column; null for the rows of the class itself
value     the value that was seen, null where a cell was missing; of moments, the label of the numbers
column2   columns counted together only: the other column of the pair
value2    the same: its value
class     the class
n         how often the value was seen, or how many numbers there were
shift     moments only: what ``sum`` and ``squares`` are measured from
sum       moments: the sum of x - shift; words of texts: in how many texts the word was seen (columns of a
          matrix of counts: in how many rows they were above 0)
squares   moments only: the sum of (x - shift)²
========  =============================================================================================

Cells of zero are left out. The rows of the classes come first, then the columns by name, and in each of them values and
classes in the order of their axes: the same counts make the same table. Each column begins a row group of its own.

What is expected of rows without a label, if there is any, comes behind all that was counted. Its rows have the mark
``(expected)`` before the name of the column, and alone for the rows of the classes. Such a file is of version 2 of the
format. What is expected of columns together has the mark ``(expected together)`` and comes behind what was counted.

Columns counted together, if they were, come last, with the mark ``(together)`` before the names of both columns; such
a file is of version 3. A row says how often two values were seen together, each pair once. The value is a label, the
number of a bin, or ``level`` for the number itself, brought to one scale: then ``n`` is a sum of products. The mark
alone stands for 1, so that its products are the sums of single values. Rows without a second column are the fine bins
of numbers.

Offsets of words, if there are any, come after all of that, with the mark ``(offsets)`` before the name of
the column; ``n`` is then what is added to the score of the class, and may lie below 0. Such a file is of version 4.
One with the words of texts is of version 5, or 6 if they were found by ``rules="unicode"``, and one with none of these
of version 1.

Rows that a model keeps, if the caller gives them, are the last, with the mark ``(rows)``; the module ``rows`` says how
they lie. Such a file is of version 7.

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

from .file import StoredModel, counts_of_bytes, counts_to_bytes, read_counts, read_model, write_model
from .offsets import StoredOffsets
from .pairs import EXPECTED_MARK, joint_counts
from .places import ModelPlace, place_name, replace_file
from .rows import StoredRows

__all__ = [
    "EXPECTED_MARK",
    "ModelPlace",
    "StoredModel",
    "StoredOffsets",
    "StoredRows",
    "counts_of_bytes",
    "counts_to_bytes",
    "joint_counts",
    "place_name",
    "read_counts",
    "read_model",
    "replace_file",
    "write_model",
]
