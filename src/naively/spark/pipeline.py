"""An estimator and its model for pipelines of pyspark.ml, saved and loaded like Spark's own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pyspark.ml import Estimator, Model
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsReader, DefaultParamsWritable, DefaultParamsWriter

from ..errors import InvalidInput
from ..estimator.naive_bayes import NaiveBayes
from .fitting import fit
from .prediction import SentModel, predict, sent_model, stored_classifier

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# The folder of a saved model that holds the bytes of its file, as a table of one row.
DATA = "data"


def parameter(name: str, meaning: str, convert: Any) -> Any:
    """Return a parameter of Spark."""
    return Param(Params._dummy(), name, meaning, convert)


class PredictionParams(Params):
    """Which columns are added to rows, as parameters of Spark; see `naively.spark.predict`."""

    probabilities = parameter("probabilities", "whether to add a probability for each class", TypeConverters.toBoolean)
    contributions = parameter("contributions", "number of the strongest contributions to add", TypeConverters.toInt)
    prefix = parameter("prefix", "what is put before the names of columns that are added", TypeConverters.toString)

    def set_prediction(self, probabilities: bool, contributions: int, prefix: str) -> None:
        """Set which columns are added."""
        self._setDefault(probabilities=False, contributions=0, prefix="")
        self._set(probabilities=probabilities, contributions=contributions, prefix=prefix)

    def prediction_settings(self) -> dict[str, Any]:
        """Return which columns are added, as `predict` takes it."""
        return {name: self.getOrDefault(name) for name in ("probabilities", "contributions", "prefix")}


class SparkClassifier(Estimator, PredictionParams, DefaultParamsReadable, DefaultParamsWritable):
    """Naive Bayes as an estimator of pyspark.ml: it takes the columns as they are, without indexers or assemblers.

    Parameters
    ----------
    target : str
        The column of the classes.
    weight : str, optional
        The column of the row weights.
    ignore : list of str, optional
        Columns that are not used, such as record numbers.
    probabilities : bool, default=False
        Whether the model adds a column for each class with its probability.
    contributions : int, default=0
        How many of the strongest contributions the model adds.
    prefix : str, default=""
        What is put before the names of the columns that the model adds.
    **settings
        The settings of `NaiveBayes`; texts, numbers, lists and dicts of them.

    Examples
    --------
    ``Pipeline(stages=[SparkClassifier(target="species")]).fit(frame)`` is a `PipelineModel`.
    """

    target = parameter("target", "the column of the classes", TypeConverters.toString)
    weight = parameter("weight", "the column of the row weights; empty for none", TypeConverters.toString)
    ignore = parameter("ignore", "columns that are not used", TypeConverters.toListString)
    settings = parameter("settings", "the settings of NaiveBayes, as JSON", TypeConverters.toString)

    def __init__(
        self,
        target: str = "label",
        *,
        weight: str | None = None,
        ignore: list[str] | None = None,
        probabilities: bool = False,
        contributions: int = 0,
        prefix: str = "",
        **settings: Any,
    ) -> None:
        super().__init__()
        NaiveBayes(**settings).parameters.check()
        try:
            stored = json.dumps(settings)
        except TypeError:
            raise InvalidInput(
                "Settings of a stage must be texts, numbers, lists or dicts, so that a pipeline can be saved; name "
                "families by texts, such as {'visits': 'poisson'}, or use naively.spark.fit."
            ) from None
        self.set_prediction(probabilities, contributions, prefix)
        self._setDefault(target="label", weight="", ignore=[], settings="{}")
        self._set(target=target, weight=weight or "", ignore=list(ignore or ()), settings=stored)

    def _fit(self, dataset: DataFrame) -> SparkClassifierModel:
        """Return the model of a DataFrame; `fit` of pyspark.ml calls it."""
        nb = fit(
            dataset,
            target=self.getOrDefault("target"),
            weight=self.getOrDefault("weight") or None,
            ignore=[name for name in self.getOrDefault("ignore") if name in dataset.columns],
            **json.loads(self.getOrDefault("settings")),
        )
        return SparkClassifierModel(nb, **self.prediction_settings())


class SparkClassifierModel(Model, PredictionParams, DefaultParamsReadable, DefaultParamsWritable):
    """A fitted `NaiveBayes` as a model of pyspark.ml: `transform` adds its predictions to a DataFrame.

    Parameters
    ----------
    classifier : NaiveBayes, optional
        The fitted classifier.
    probabilities : bool, default=False
        Whether a column for each class has its probability.
    contributions : int, default=0
        How many of the strongest contributions are added.
    prefix : str, default=""
        What is put before the names of the columns that are added.

    Examples
    --------
    ``SparkClassifierModel(nb).transform(frame)`` is ``naively.spark.predict(nb, frame)``.
    """

    def __init__(
        self,
        classifier: NaiveBayes | None = None,
        *,
        probabilities: bool = False,
        contributions: int = 0,
        prefix: str = "",
    ) -> None:
        super().__init__()
        self._classifier = classifier
        self.set_prediction(probabilities, contributions, prefix)

    @property
    def classifier(self) -> NaiveBayes:
        """The fitted classifier: to explain, evaluate and update it."""
        if self._classifier is None:
            raise InvalidInput("This model is empty; fit a SparkClassifier, or load a model that was saved.")
        return self._classifier

    def _transform(self, dataset: DataFrame) -> DataFrame:
        """Return the rows with their predictions; `transform` of pyspark.ml calls it."""
        return predict(self.classifier, dataset, **self.prediction_settings())

    def write(self) -> ModelWriter:
        """Return what saves the model.

        Returns
        -------
        MLWriter
            As every model of pyspark.ml has it.
        """
        return ModelWriter(self)

    @classmethod
    def read(cls) -> ModelReader:
        """Return what loads a model.

        Returns
        -------
        MLReader
            As every model of pyspark.ml has it.
        """
        return ModelReader(cls)


class ModelWriter(DefaultParamsWriter):
    """Saves a model: its parameters as JSON, and the bytes of the model file as a table of one row."""

    def saveImpl(self, path: str) -> None:
        """Write the model into a folder of any file system that Spark knows."""
        sent = sent_model(self.instance.classifier)
        if sent.functions:
            raise InvalidInput("Texts are split by functions of Python, which cannot be saved. Use tokens by name.")
        super().saveImpl(path)
        table = self.sparkSession.createDataFrame([(bytearray(sent.data),)], "model binary")
        table.coalesce(1).write.parquet(f"{path}/{DATA}")


class ModelReader(DefaultParamsReader):
    """Loads a model that `ModelWriter` saved."""

    def load(self, path: str) -> SparkClassifierModel:
        """Return the model in a folder."""
        model: SparkClassifierModel = super().load(path)
        row = self.sparkSession.read.parquet(f"{path}/{DATA}").first()
        model._classifier = NaiveBayes.from_fitted(stored_classifier(SentModel(bytes(row["model"]))))
        return model
