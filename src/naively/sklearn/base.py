"""What the five classifiers share: counting, estimating and predicting behind scikit-learn's interface."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.exceptions import NotFittedError
from sklearn.utils.multiclass import check_classification_targets, unique_labels

from .._threads import allowed
from .._types import AnyArray, Codes, ColumnLike, Floats, Matrix, TableLike
from ..counting import arrays
from ..errors import InvalidInput, NumberTooLarge, RowRefused
from ..model.estimate import estimate
from ..model.scorer import AdditiveModel, NaiveModel
from ..stats import Axis, Counts, CountsAccumulator
from .array_api import Foreign, to_numpy, to_place_of
from .class_codes import codes_among, encode_classes
from .fitted_counts import Assumptions, FittedCounts, Parameters, float_type, unshared
from .validation import check_class_labels, is_plain, is_plain_target, python_labels, validated, validated_weights

COLUMN = "X"  # the whole matrix is one wide column
INT64 = np.dtype(np.int64)
# An accumulator of the kind that a classifier starts with, and which only it looks into.
AnyAccumulator: TypeAlias = Any


class BaseNB(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """A naive Bayes classifier over one matrix."""

    n_jobs: int | None
    n_features_in_: int
    _counted: FittedCounts
    _kinds = "fiub"  # of types that are taken as they are; s stands for sparse
    _place: Foreign | None = None  # of the rows it was fitted with, if they came from another library than NumPy

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {"n_jobs": [None, Integral]}

    # -- what each classifier defines ----------------------------------------------------------------------------

    @abstractmethod
    def _start(self, classes: Axis, X: Matrix) -> AnyAccumulator:
        """Return an empty accumulator for matrices like X."""

    @abstractmethod
    def _assume(self, counts: Counts) -> Assumptions:
        """Return what to estimate with, from the parameters as they were at the last fit."""

    def _check_X(self, X: TableLike) -> Matrix:
        return validated(self, X, reset=False)

    def _check_X_y(self, X: TableLike, y: ColumnLike, reset: bool) -> tuple[Matrix, AnyArray]:
        X, y = validated(self, X, y, reset=reset)
        return X, y

    def _check_parameters(self, classes: int) -> None:
        """Refuse parameters that do not go with the data, before anything is counted."""

    def _make_ready(
        self, accumulator: AnyAccumulator, X: Matrix, weights: Floats | None, *, thorough: bool = False
    ) -> AnyAccumulator:
        """Return the accumulator prepared for what X holds; thoroughly, if it refused a row of X before."""
        return accumulator

    # -- learning -----------------------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: TableLike, y: ColumnLike, sample_weight: ColumnLike = None) -> Self:
        """Learn from these rows alone.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The class of each row.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row weighs: 2 is two rows, 0 is none.

        Returns
        -------
        Self
            The fitted classifier.
        """
        before = dict(vars(self))
        try:
            X, y = self._accepted(X, y, reset=True)
            if not is_plain_target(y):
                check_classification_targets(y)
            classes, codes = encode_classes(y)
            return self._learn(X, y, codes, classes, sample_weight, learned=None)
        except BaseException:
            restore(self, before)
            raise

    def partial_fit(
        self, X: TableLike, y: ColumnLike, classes: ColumnLike = None, sample_weight: ColumnLike = None
    ) -> Self:
        """Learn from these rows too: the result is that of one `fit` on all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The class of each row.
        classes : array-like, optional
            All classes that will ever come; needed at the first call.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row weighs.

        Returns
        -------
        Self
            The fitted classifier.
        """
        before = dict(vars(self))
        try:
            learned: FittedCounts | None = before.get("_counted")
            if learned is None:
                self._validate_params()
            known = learned.classes if learned and classes is None else self._known_classes(classes)
            X, y = self._accepted(X, y, reset=learned is None)
            return self._learn(X, y, codes_among(known, y), known, sample_weight, learned)
        except BaseException:
            restore(self, before)
            raise

    def _accepted(self, X: TableLike, y: ColumnLike, reset: bool) -> tuple[Matrix, AnyArray]:
        """Return rows and classes that can be counted.

        Plain arrays are taken as they are: the kernels look at every cell anyway while they count.
        """
        if is_plain_target(y) and is_plain(X, self._kinds) and X.shape[0] == len(y):
            if reset:
                self.n_features_in_, self._place = X.shape[1], None
                self.__dict__.pop("feature_names_in_", None)
                return X, y
            if self._knows_columns_of(X):
                return X, y
        X, y = self._check_X_y(X, y, reset=reset)
        check_class_labels(y)
        return X, y

    def _knows_columns_of(self, X: TableLike) -> bool:
        """Tell whether a plain X has the columns learned before, and they have no names to compare."""
        return X.shape[1] == self.n_features_in_ and "feature_names_in_" not in vars(self)

    def _known_classes(self, classes: ColumnLike) -> AnyArray:
        known: AnyArray | None = self._counted.classes if hasattr(self, "_counted") else None
        if classes is None:
            raise InvalidInput("classes must be passed on the first call to partial_fit.")
        if np.ndim(to_numpy(classes)) != 1 or not len(classes):
            raise InvalidInput(
                f"`classes={classes!r}` must list all classes that will ever come, e.g. [0, 1].", setting="classes"
            )
        classes = np.asarray(python_labels(classes))
        check_class_labels(classes)
        declared = np.asarray(unique_labels(classes))
        if known is not None and (len(classes) != len(known) or not np.array_equal(known, declared)):
            raise InvalidInput(
                f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {known!r}",
                setting="classes",
            )
        return declared

    def _learn(
        self,
        X: TableLike,
        y: ColumnLike,
        codes: Codes,
        classes: AnyArray,
        sample_weight: ColumnLike,
        learned: FittedCounts | None,
    ) -> Self:
        weights, threads = validated_weights(sample_weight, X.shape[0]), allowed(self.n_jobs, cell_count(X))
        self._check_parameters(len(classes))
        if learned is None:
            axis = Axis.numbered(len(classes))
            counts = CountsAccumulator(axis, {COLUMN: self._start(axis, X)})
            learned = FittedCounts(counts, classes, float_type(X.dtype))
        self._count(learned.accumulator, X, y, codes, weights, threads)
        # Copies: estimates are made on first use, and a list or array of the user may have changed by then.
        learned.changed({name: unshared(getattr(self, name)) for name in self._parameter_constraints})
        self.classes_, self._counted = to_place_of(learned.classes, self._place), learned
        return self

    def _count(
        self, counts: CountsAccumulator, X: TableLike, y: ColumnLike, codes: Codes, weights: Floats | None, threads: int
    ) -> None:
        """Count the rows; if one is refused, everything stays as it was."""
        before = counts.columns[COLUMN]
        try:
            counts.columns[COLUMN] = self._make_ready(before, X, weights)
            try:
                arrays.add(counts, {COLUMN: X}, codes, weights, threads)
            except RowRefused:
                counts.columns[COLUMN] = self._make_ready(before, X, weights, thorough=True)
                arrays.add(counts, {COLUMN: X}, codes, weights, threads)
        except BaseException as error:
            counts.columns[COLUMN] = before
            if isinstance(error, (RowRefused, NumberTooLarge)):
                self._check_X_y(X, y, reset=False)  # raises scikit-learn's error
            raise

    # -- what was learned ---------------------------------------------------------------------------------------

    @property
    def _learned(self) -> FittedCounts:
        try:
            return self._counted
        except AttributeError:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before "
                "using this estimator."
            ) from None

    @property
    def _assumptions(self) -> Assumptions:
        learned = self._learned
        if learned.assumptions is None:
            learned.assumptions = self._assume(learned.counts)
        return learned.assumptions

    @property
    def _model(self) -> NaiveModel:
        learned = self._learned
        if learned.model is None:
            family, settings, log_prior, fallback = self._assumptions
            learned.model = estimate(learned.counts, {COLUMN: family}, settings, log_prior, fallback)
        return learned.model

    @property
    def _likelihood(self) -> Any:  # of the family of the classifier, which knows its fields
        return self._model.likelihoods[COLUMN]

    @property
    def class_count_(self) -> Floats:
        """Rows of each class, by weight."""
        return self._learned.counts.rows.copy()

    # -- answering ----------------------------------------------------------------------------------------------

    def _answer(self, ask: Callable[..., AnyArray], X: TableLike, **how: npt.DTypeLike | AnyArray) -> AnyArray:
        """Return what the model answers about these rows; ask is a method of Model."""
        model = self._model  # first, because what is not fitted yet cannot tell how many columns it expects
        plain = is_plain(X, self._kinds) and self._knows_columns_of(X)
        rows = X if plain else arrays.kernel_matrix(self._check_X(X))
        threads = allowed(self.n_jobs, cell_count(rows) * len(self._counted.classes))
        try:
            return ask(model, {COLUMN: rows}, threads, missing=False, **how)
        except RowRefused:
            self._check_X(X)  # raises scikit-learn's error, unless the user told scikit-learn not to look
            return ask(model, {COLUMN: rows}, threads, **how)

    def _answer_type(self, X: TableLike) -> npt.DTypeLike:
        """Return the type of the probabilities."""
        return np.float64

    def predict_joint_log_proba(self, X: TableLike) -> Floats:
        """Return joint log probabilities, log P(row, class).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Unnormalized log probabilities, classes in the order of `classes_`.
        """
        return self._answer(AdditiveModel.log_joint, X, dtype=self._answer_type(X))

    def predict_log_proba(self, X: TableLike) -> Floats:
        """Return log probabilities, log P(class | row).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Log probabilities, classes in the order of `classes_`.
        """
        return self._answer(AdditiveModel.log_posterior, X, dtype=self._answer_type(X))

    def predict_proba(self, X: TableLike) -> Floats:
        """Return probabilities, P(class | row).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, classes in the order of `classes_`.
        """
        return self._answer(AdditiveModel.posterior, X, dtype=self._answer_type(X))

    def predict(self, X: TableLike) -> AnyArray:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The class of each row, as it was written in `y`.
        """
        classes = self._learned.classes
        if classes.dtype == INT64:
            return self._answer(AdditiveModel.most_probable, X, labels=classes)
        found: AnyArray = classes[self._answer(AdditiveModel.most_probable, X)]
        return found


def restore(estimator: BaseEstimator, before: Parameters) -> None:
    """Leave the estimator as it was before something went wrong."""
    vars(estimator).clear()
    vars(estimator).update(before)


def cell_count(X: TableLike) -> int:
    """Return how many cells of the matrix are looked at."""
    return int(X.nnz if arrays.is_sparse(X) else X.size)
