"""Sufficient statistics: what is counted of rows, as values that add up.

A statistic is a value with a zero, ``+``, a guarded ``-``, ``*`` by a weight and labelled axes. Rows counted apart and
added are the rows counted at once; rows subtracted were never counted.
"""

from .accumulators import CodesAccumulator, CountsAccumulator, MomentsAccumulator, TableAccumulator
from .axis import Axis
from .counts import Counts, Statistic
from .moments import Moments
from .table import Table, Tables
from .word_table import WordTable

__all__ = [
    "Axis",
    "CodesAccumulator",
    "Counts",
    "CountsAccumulator",
    "Moments",
    "MomentsAccumulator",
    "Statistic",
    "Table",
    "TableAccumulator",
    "Tables",
    "WordTable",
]
