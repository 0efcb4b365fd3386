"""An estimator and its model for pipelines of pyspark.ml, saved and loaded as Spark's own are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInput
from ..estimator.load import load
from ..estimator.naive_bayes import NaiveBayes
from .fitting import fit
from .prediction import predict
from .session import import_pyspark, without_pandas_notice

if TYPE_CHECKING:
    from pyspark.ml import Estimator, Model
    from pyspark.ml.param import Param, Params, TypeConverters
    from pyspark.ml.util import (
        DefaultParamsReader,
        DefaultParamsWriter,
        MLReadable,
        MLReader,
        MLWritable,
        MLWriter,
    )
    from pyspark.sql import DataFrame
else:
    with without_pandas_notice():
        ml, param, util = (import_pyspark(f"pyspark.ml{name}") for name in ("", ".param", ".util"))
    Estimator, Model = ml.Estimator, ml.Model
    Param, Params, TypeConverters = param.Param, param.Params, param.TypeConverters
    DefaultParamsReader, DefaultParamsWriter = util.DefaultParamsReader, util.DefaultParamsWriter
    MLReadable, MLReader, MLWritable, MLWriter = util.MLReadable, util.MLReader, util.MLWritable, util.MLWriter

# The folder of a saved model that holds the bytes of its file, as a DataFrame of one row.
DATA = "data"


class AnswerParams(Params):
    """Which columns answers have."""

    probabilities: Param[bool] = Param(
        Params._dummy(), "probabilities", "whether there is a column P(class) for each class", TypeConverters.toBoolean
    )
    contributions: Param[int] = Param(
        Params._dummy(), "contributions", "how many of the strongest contributions are told", TypeConverters.toInt
    )
    prefix: Param[str] = Param(
        Params._dummy(), "prefix", "put before the names of the columns that are added", TypeConverters.toString
    )

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(probabilities=False, contributions=0, prefix="")
