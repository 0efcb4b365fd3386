"""What the five share: counts → estimate → decide, in scikit-learn's clothes."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.exceptions import NotFittedError
from sklearn.utils.multiclass import check_classification_targets, unique_labels

from ..decision import most_probable
from ..engines import memory
from ..errors import InvalidInput
from ..estimate import estimate
from ..families import Family, Settings
from ..model import Model, log_posterior, posterior
from ..statistics import Axis, Counts, CountsAccumulator
from ..statistics.axis import Floats
from ..threads import allowed
from .arrays import brought, to_numpy
from .checks import check_labels, checked, checked_weights, plain_labels

COLUMN = "X"  # the whole matrix is one wide column


class Assumptions(NamedTuple):
    """What a fitted classifier estimates with, as its parameters stood when it was last fitted."""

    family: Family
    settings: Settings
    log_prior: Floats
    fallback: Floats


class Learned:
    """The counts of a fitted classifier, and what was last estimated from them (made anew when they change)."""

    def __init__(self, counts: CountsAccumulator, classes: npt.NDArray[Any], dtype: Any) -> None:
        self.accumulator, self.classes, self.dtype = counts, classes, dtype
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

    _counted: Learned
    _place: Any = None  # of the rows it was fitted with, if they came from another library than NumPy

    # -- what each of the five says for itself ------------------------------------------------------------------

    @abstractmethod
    def _start(self, classes: Axis, X: Any) -> Any:
        """Return an empty accumulator for matrices like X."""

    @abstractmethod
    def _assume(self, counts: Counts) -> Assumptions:
        """Return what to estimate with, from the parameters as they were at the last fit."""

    def _check_X(self, X: Any) -> Any:
        return checked(self, X, reset=False)

    def _check_X_y(self, X: Any, y: Any, reset: bool) -> tuple[Any, Any]:
        X, y = checked(self, X, y, reset=reset)
        return X, y

    def _check_parameters(self, classes: int) -> None:
        """Refuse parameters that do not go with the data, before anything is counted."""

    def _make_ready(self, accumulator: Any, X: Any, weights: Floats | None) -> None:
        """Prepare the accumulator for what X holds."""

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
            check_labels(y)
            check_classification_targets(y)
            classes, codes = np.unique(y, return_inverse=True)
            texts = classes.dtype.kind == "O"
            return self._learn(X, codes, classes.astype(str) if texts else classes, sample_weight, learned=None)

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
            check_labels(y)
            codes = np.searchsorted(known, y).clip(max=len(known) - 1) if is_alike(known, y) else np.zeros(len(y), int)
            strangers = np.unique(np.asarray(y)[known[codes] != y])
            if len(strangers):
                raise InvalidInput(f"The target label(s) {strangers} in y do not exist in the initial classes {known}")
            return self._learn(X, codes, known, sample_weight, learned)

    def _known_classes(self, classes: Any) -> npt.NDArray[Any]:
        known: npt.NDArray[Any] | None = self._counted.classes if hasattr(self, "_counted") else None
        if known is None and classes is None:
            raise InvalidInput("classes must be passed on the first call to partial_fit.")
        if classes is None:
            return known  # type: ignore[return-value]
        if np.ndim(to_numpy(classes)) != 1 or not len(classes):
            raise InvalidInput(f"`classes={classes!r}` must list all classes that will ever come, e.g. [0, 1].")
        classes = np.asarray(plain_labels(classes))
        check_labels(classes)
        declared = np.asarray(unique_labels(classes))
        if known is not None and (len(classes) != len(known) or not np.array_equal(known, declared)):
            raise InvalidInput(f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {known!r}")
        return declared

    def _learn(
        self, X: Any, codes: Any, classes: npt.NDArray[Any], sample_weight: Any, learned: Learned | None
    ) -> Self:
        weights, threads = checked_weights(sample_weight, X.shape[0]), allowed()
        self._check_parameters(len(classes))
        if learned is None:
            axis = Axis.numbered(len(classes))
            dtype = X.dtype if X.dtype.kind == "f" and X.dtype.itemsize > 2 else np.dtype(np.float64)
            counts = CountsAccumulator(axis, {COLUMN: self._start(axis, X)})
            learned = Learned(counts, classes, dtype.newbyteorder("="))
        self._make_ready(learned.accumulator.columns[COLUMN], X, weights)
        memory.add(learned.accumulator, {COLUMN: X}, codes.astype(np.int32), weights, threads)
        # A copy: estimates are made when asked for, and a list or array of the user may have changed by then.
        learned.changed(deepcopy(self.get_params(deep=False)))
        self.classes_, self._counted = brought(learned.classes, self._place), learned
        return self

    # -- what was learned ---------------------------------------------------------------------------------------

    @property
    def _learned(self) -> Learned:
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
        model = self._model  # first, because what is not fitted yet cannot tell how many columns it expects
        return model.log_joint({COLUMN: memory.native(self._check_X(X))}, allowed())

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
        return self._learned.classes[most_probable(joint)]


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
