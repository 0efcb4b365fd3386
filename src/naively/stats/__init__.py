"""Sufficient statistics: blocks of codes and numbers come in, values that add up go out.

A statistic has a zero, ``+``, a guarded ``-``, ``*`` by a weight and labelled axes: rows counted apart and added are
the rows counted at once. Imports errors, shared types and the kernels; `counts_html` also imports markup.
"""

from .accumulators import CodesAccumulator, CountsAccumulator, MomentsAccumulator, TableAccumulator
from .arithmetic import Statistic
from .axis import Axis
from .counts import Counts
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
