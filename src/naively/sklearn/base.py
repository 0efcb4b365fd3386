"""What the five classifiers share: counting, estimating and predicting behind scikit-learn's interface."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_is_fitted

from .._threads import allowed
from .._types import AnyArray, Codes, ColumnLike, Floats, Matrix, TableLike
from ..counting import arrays
from ..errors import InvalidInput, NumberTooLarge, RowRefused
from ..model.scorer import AdditiveModel, NaiveModel
from ..stats import Axis, Counts, CountsAccumulator
from .input import (
    INT64,
    Foreign,
    check_class_labels,
    codes_among,
    encode_classes,
    is_plain,
    is_plain_target,
    python_labels,
    to_numpy,
    to_place_of,
    validated,
    validated_weights,
)

COLUMN = "X"  # the whole matrix is one wide column
# An accumulator of the kind that a classifier starts with, and which only it looks into.
AnyAccumulator: TypeAlias = Any
# What a classifier needs of its parameters to estimate, by name.
Parameters: TypeAlias = dict[str, Any]


@dataclass(eq=False)
class Fitted:
    """The counts of a fitted classifier, and what follows from them and its parameters, estimated on first use."""

    kind: type[BaseNB]
    accumulator: CountsAccumulator
    classes: AnyArray
    dtype: np.dtype[Any]  # of scores, from the rows that were learned first
    parameters: Parameters

    @cached_property
    def counts(self) -> Counts:
        """Everything counted so far."""
        return self.accumulator.value()

    @cached_property
    def model(self) -> NaiveModel:
        """The model of the counts."""
        return self.kind._estimate(self.counts, self.parameters)


class BaseNB(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """A naive Bayes classifier over one matrix."""

    n_jobs: int | None
    n_features_in_: int
    _counted: Fitted
    _kinds = "fiub"  # of types that the kernels read as they are; s stands for sparse
    _place: Foreign | None = None  # of the rows it was fitted with, if they came from another library than NumPy

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {"n_jobs": [None, Integral]}

    # -- what each classifier defines ----------------------------------------------------------------------------

    @abstractmethod
    def _start(self, classes: Axis, X: Matrix) -> AnyAccumulator:
        """Return an empty accumulator for matrices like X."""

    @abstractmethod
    def _settled(self, classes: int) -> Parameters:
        """Return copies of the parameters to estimate with, checked against the data."""

    @classmethod
    @abstractmethod
    def _estimate(cls, counts: Counts, parameters: Parameters) -> NaiveModel:
        """Return the model of these counts."""

    def _checked(self, X: TableLike, *y: ColumnLike, reset: bool = False) -> list[Any]:
        """Return X (and y) if they can be counted, or X alone if it can be scored."""
        return validated(self, X, *y, reset=reset)

    def _prepared(self, accumulator: AnyAccumulator, X: Matrix, weights: Floats | None) -> AnyAccumulator:
        """Return the accumulator with room for what X holds."""
        return accumulator

    # -- learning -----------------------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: TableLike, y: ColumnLike, sample_weight: ColumnLike = None) -> Self:
        """Fit the classifier to X and y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            Sample weights: 2 counts a sample twice, 0 leaves it out.

        Returns
        -------
        Self
            The fitted classifier.
        """
        with unchanged_by_errors(self):
            X, y = self._accepted(X, y, reset=True)
            if not is_plain_target(y):
                check_classification_targets(y)
            classes, codes = encode_classes(y)
            return self._learn(X, y, codes, classes, sample_weight, before=None)

    def partial_fit(
        self, X: TableLike, y: ColumnLike, classes: ColumnLike = None, sample_weight: ColumnLike = None
    ) -> Self:
        """Learn a batch of samples; the result equals one `fit` on all batches.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), optional
            All classes that y can hold in any call; required at the first call.
        sample_weight : array-like of shape (n_samples,), optional
            Sample weights.

        Returns
        -------
        Self
            The fitted classifier.
        """
        with unchanged_by_errors(self):
            before: Fitted | None = vars(self).get("_counted")
            if before is None:
                self._validate_params()
            declared = before.classes if before and classes is None else self._declared_classes(classes, before)
            X, y = self._accepted(X, y, reset=before is None)
            return self._learn(X, y, codes_among(declared, y), declared, sample_weight, before)

    def _accepted(self, X: TableLike, y: ColumnLike, reset: bool) -> tuple[Matrix, AnyArray]:
        """Return rows and classes that can be counted.

        Plain arrays are taken as they are: the kernels look at every cell anyway while they count.
        """
        if is_plain_target(y) and is_plain(X, self._kinds) and X.shape[0] == len(y):
            if reset:
                self.n_features_in_, self._place = X.shape[1], None
                self.__dict__.pop("feature_names_in_", None)
            if reset or self._has_features_of(X):
                return X, y
        X, y = self._checked(X, y, reset=reset)
        check_class_labels(y)
        return X, y

    def _has_features_of(self, X: Matrix) -> bool:
        """Tell whether a plain X has the features learned before, and these have no names to compare."""
        return X.shape[1] == self.n_features_in_ and "feature_names_in_" not in vars(self)

    def _declared_classes(self, classes: ColumnLike, before: Fitted | None) -> AnyArray:
        """Return the classes given to `partial_fit`, which must be those given before."""
        if classes is None:
            raise InvalidInput("classes must be passed on the first call to partial_fit.")
        if np.ndim(to_numpy(classes)) != 1 or not len(classes):
            raise InvalidInput(
                f"`classes={classes!r}` must list all classes that will ever come, e.g. [0, 1].", setting="classes"
            )
        classes = np.asarray(python_labels(classes))
        check_class_labels(classes)
        declared = np.asarray(unique_labels(classes))
        if before and (len(classes) != len(declared) or not np.array_equal(before.classes, declared)):
            raise InvalidInput(
                f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {before.classes!r}",
                setting="classes",
            )
        return declared

    def _learn(
        self,
        X: Matrix,
        y: AnyArray,
        codes: Codes,
        classes: AnyArray,
        sample_weight: ColumnLike,
        before: Fitted | None,
    ) -> Self:
        weights, threads = validated_weights(sample_weight, X.shape[0]), allowed(self.n_jobs, cell_count(X))
        parameters = self._settled(len(classes))
        if before is None:
            axis = Axis.numbered(len(classes))
            accumulator = CountsAccumulator(axis, {COLUMN: self._start(axis, X)})
            dtype = float_type(X.dtype)
        else:
            accumulator, dtype = before.accumulator, before.dtype
        column = accumulator.columns[COLUMN]
        try:
            accumulator.columns[COLUMN] = self._prepared(column, X, weights)
            arrays.add(accumulator, {COLUMN: X}, codes, weights, threads)
        except BaseException as error:
            accumulator.columns[COLUMN] = column
            if isinstance(error, (RowRefused, NumberTooLarge)):
                self._checked(X, y)  # raises scikit-learn's error
            raise
        self._counted = Fitted(type(self), accumulator, classes, dtype, parameters)
        self.classes_ = to_place_of(classes, self._place)
        return self

    # -- what was learned ---------------------------------------------------------------------------------------

    @property
    def _learned(self) -> Fitted:
        if "_counted" not in vars(self):
            check_is_fitted(self, "_counted")
        return self._counted

    @property
    def _likelihood(self) -> Any:  # of the family of the classifier, which knows its fields
        return self._learned.model.terms[COLUMN]

    @property
    def class_count_(self) -> Floats:
        """Number of samples of each class, by weight."""
        return self._learned.counts.rows.copy()

    # -- predicting ---------------------------------------------------------------------------------------------

    def _scored(self, score: Callable[..., AnyArray], X: TableLike, **how: npt.DTypeLike | AnyArray) -> AnyArray:
        """Return what a method of the model gives for these rows."""
        model = self._learned.model  # first, because what is not fitted yet cannot tell how many features it expects
        plain = is_plain(X, self._kinds) and self._has_features_of(X)
        rows = X if plain else arrays.kernel_matrix(self._checked(X)[0])
        threads = allowed(self.n_jobs, cell_count(rows) * len(self._counted.classes))
        try:
            return score(model, {COLUMN: rows}, threads, missing=False, **how)
        except RowRefused:
            self._checked(X)  # raises scikit-learn's error, unless the user told scikit-learn not to look
            return score(model, {COLUMN: rows}, threads, **how)

    def _dtype_of_scores(self, X: TableLike) -> npt.DTypeLike:
        return np.float64

    def predict_joint_log_proba(self, X: TableLike) -> Floats:
        """Return joint log probability estimates, log P(x, class).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Joint log probabilities, with classes in the order of `classes_`.
        """
        return self._scored(AdditiveModel.log_joint, X, dtype=self._dtype_of_scores(X))

    def predict_log_proba(self, X: TableLike) -> Floats:
        """Return log probability estimates, log P(class | x).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Log probabilities, with classes in the order of `classes_`.
        """
        return self._scored(AdditiveModel.log_posterior, X, dtype=self._dtype_of_scores(X))

    def predict_proba(self, X: TableLike) -> Floats:
        """Return probability estimates, P(class | x).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, with classes in the order of `classes_`.
        """
        return self._scored(AdditiveModel.posterior, X, dtype=self._dtype_of_scores(X))

    def predict(self, X: TableLike) -> AnyArray:
        """Return the most probable class of each sample.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            The predicted classes.
        """
        classes = self._learned.classes
        if classes.dtype == INT64:
            return self._scored(AdditiveModel.most_probable, X, labels=classes)
        predicted: AnyArray = classes[self._scored(AdditiveModel.most_probable, X)]
        return predicted


@contextmanager
def unchanged_by_errors(estimator: BaseEstimator) -> Iterator[None]:
    """Restore the estimator if something goes wrong."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def cell_count(X: Matrix) -> int:
    """Return how many cells of the matrix are stored."""
    return int(X.nnz if arrays.is_sparse(X) else X.size)


def float_type(dtype: np.dtype[Any]) -> np.dtype[Any]:  # of any array
    """Return the type of scores of rows of this type: their own if it is float32 or float64."""
    return dtype.newbyteorder("=") if dtype.kind == "f" and dtype.itemsize in (4, 8) else np.dtype(np.float64)
