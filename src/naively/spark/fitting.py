"""Counts and models of rows of Spark: look, count, weigh.

Tasks look at their rows: single columns are counted, and the rows of smallest hash kept. The driver lays out bins by
the sample that follows from all of them, tasks count pairs of columns on that grid, and the driver fits the weights on
the sample. The sample is the same rows however the data are partitioned, and so is the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from ..counting.rows import count as count_rows
from ..data.schema import Schema
from ..errors import InvalidInput, InvalidSetting
from ..errors.message import Setting
from ..estimator.add import add
from ..estimator.look import Look
from ..estimator.look import look as look_at_rows
from ..estimator.naive_bayes import NaiveBayes
from ..estimator.settings import FamiliesLike, Parameters, check_no_em
from ..stats import Counts
from .arrow_tasks import ArrowBatches, regrouped
from .rows import SparkRows, SparkSource, spark_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
