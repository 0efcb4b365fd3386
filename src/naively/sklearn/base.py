"""What the five share: counts → estimate → decide, in scikit-learn's clothes."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ..decision import most_probable
from ..engines import memory
from ..errors import InvalidInput
from ..estimate import estimate
from ..families import Family, Settings
from ..model import Model, log_posterior, posterior
from ..statistics import Axis, Counts, CountsAccumulator
from ..statistics.axis import Floats
from ..threads import allowed

COLUMN = "X"  # the whole matrix is one wide column


class Assumptions(NamedTuple):
    """What a fitted classifier estimates with, as its parameters stood when it was last fitted."""

    family: Family
    settings: Settings
    log_prior: Floats
    fallback: Floats


class Learned:
    """The counts of a fitted classifier, and what was last estimated from them (made anew when they change)."""

    def __init__(self, counts: CountsAccumulator, dtype: Any) -> None:
        self.accumulator, self.dtype = counts, dtype
        self.parameters: dict[str, Any] = {}
        self._made: dict[str, Any] = {}

    def changed(self, parameters: dict[str, Any]) -> None:
        """Note that rows were added, and the parameters to estimate with from now on."""
        self.parameters, self._made = parameters, {}

    def once(self, name: str, make: Any) -> Any:
        """Return what make() gives, from memory if nothing changed since."""
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]

    @property
    def counts(self) -> Counts:
        """Everything counted so far."""
        return self.once("counts", self.accumulator.value)  # type: ignore[no-any-return]


class BaseNB(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """A naive Bayes classifier over one matrix."""

    _learned: Learned

    # -- what each of the five says for itself ------------------------------------------------------------------

    @abstractmethod
    def _start(self, classes: Axis, X: Any) -> Any:
        """Return an empty accumulator for matrices like X."""

    @abstractmethod
    def _assume(self, counts: Counts) -> Assumptions:
        """Return what to estimate with, from the parameters as they were at the last fit."""

    def _check_X(self, X: Any) -> Any:
        return validate_data(self, X, reset=False)

    def _check_X_y(self, X: Any, y: Any, reset: bool) -> tuple[Any, Any]:
        X, y = validate_data(self, X, y, reset=reset)
        return X, y

    def _check_parameters(self, classes: int) -> None:
        """Refuse parameters that do not go with the data, before anything is counted."""

    def _make_room(self, accumulator: Any, X: Any, weights: Floats | None) -> None:
        """Let the accumulator grow for what X holds."""

    # -- learning -----------------------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
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
        self
        """
        with all_or_nothing(self):
            X, y = self._check_X_y(X, y, reset=True)
            check_classification_targets(y)
            classes, codes = np.unique(y, return_inverse=True)
            return self._learn(X, codes, classes, sample_weight, learned=None)

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
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
        self
        """
        with all_or_nothing(self):
            learned: Learned | None = getattr(self, "_learned", None)
            known = self._known_classes(classes)
            X, y = self._check_X_y(X, y, reset=learned is None)
            codes = np.searchsorted(known, y).clip(max=len(known) - 1) if is_alike(known, y) else np.zeros(len(y), int)
            strangers = np.unique(np.asarray(y)[known[codes] != y])
            if len(strangers):
                raise InvalidInput(f"The target label(s) {strangers} in y do not exist in the initial classes {known}")
            return self._learn(X, codes, known, sample_weight, learned)

    def _known_classes(self, classes: Any) -> npt.NDArray[Any]:
        known: npt.NDArray[Any] | None = getattr(self, "classes_", None)
        if known is None and classes is None:
            raise InvalidInput("classes must be passed on the first call to partial_fit.")
        if known is None:
            return np.asarray(unique_labels(classes))
        if classes is not None and (len(classes) != len(known) or not np.array_equal(known, unique_labels(classes))):
            raise InvalidInput(f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {known!r}")
        return known

    def _learn(
        self, X: Any, codes: Any, classes: npt.NDArray[Any], sample_weight: Any, learned: Learned | None
    ) -> Self:
        weights = checked_weights(sample_weight, X)
        self._check_parameters(len(classes))
        if learned is None:
            axis = Axis.numbered(len(classes))
            dtype = X.dtype if X.dtype.kind == "f" and X.dtype.itemsize > 2 else np.dtype(np.float64)
            learned = Learned(CountsAccumulator(axis, {COLUMN: self._start(axis, X)}), dtype.newbyteorder("="))
        self._make_room(learned.accumulator.columns[COLUMN], X, weights)
        memory.add(learned.accumulator, {COLUMN: X}, codes.astype(np.int32), weights, allowed())
        learned.changed(self.get_params(deep=False))
        self.classes_, self._learned = classes, learned
        return self

    # -- what was learned ---------------------------------------------------------------------------------------

    @property
    def _assumptions(self) -> Assumptions:
        learned = self._learned
        return learned.once("assumptions", lambda: self._assume(learned.counts))  # type: ignore[no-any-return]

    @property
    def _model(self) -> Model:
        learned, (family, settings, log_prior, _) = self._learned, self._assumptions
        return learned.once(  # type: ignore[no-any-return]
            "model", lambda: estimate(learned.counts, {COLUMN: family}, settings, log_prior)
        )

    @property
    def _likelihood(self) -> Any:
        return self._model.likelihoods[COLUMN]

    @property
    def class_count_(self) -> Floats:
        """Rows of each class, by weight."""
        return self._learned.counts.rows.copy()

    # -- answering ----------------------------------------------------------------------------------------------

    def _log_joint(self, X: Any) -> Floats:
        check_is_fitted(self)
        X = memory.native(self._check_X(X))
        return self._model.log_joint({COLUMN: X}, allowed())

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Return log P(row, class) of each row and class, in the order of `classes_`."""
        return self._log_joint(X)

    def predict_log_proba(self, X: Any) -> Floats:
        """Return log P(class | row) of each row and class, in the order of `classes_`."""
        return log_posterior(self._log_joint(X), self._assumptions.fallback, allowed())

    def predict_proba(self, X: Any) -> Floats:
        """Return P(class | row) of each row and class, in the order of `classes_`."""
        return posterior(self._log_joint(X), self._assumptions.fallback, allowed())

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of each row."""
        joint = self._log_joint(X)
        joint[np.isneginf(joint).all(axis=1)] = self._assumptions.fallback
        return self.classes_[most_probable(joint)]


@contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """Leave the estimator as it was if anything goes wrong."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def is_alike(known: npt.NDArray[Any], y: npt.NDArray[Any]) -> bool:
    """Tell whether labels of the two can be compared: numbers with numbers, texts with texts."""
    number = "biuf"
    return (known.dtype.kind in number) == (np.asarray(y).dtype.kind in number)


def checked_weights(sample_weight: Any, X: Any) -> Floats | None:
    """Return what each row weighs as float64, if rows can weigh that."""
    if sample_weight is None:
        return None
    weights: Floats = np.ascontiguousarray(_check_sample_weight(sample_weight, X, dtype=np.float64))
    if np.any(weights < 0):
        row = int(np.argmax(weights < 0))
        raise InvalidInput(f"sample_weight[{row}] is {weights[row]:g}; a row cannot weigh less than nothing.")
    return weights
