"""What the five share: counts → estimate → decide, in scikit-learn's clothes."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from copy import deepcopy
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import Interval
from sklearn.utils.multiclass import check_classification_targets, unique_labels

from .. import _kernels
from ..engines import memory
from ..errors import InvalidInput, NumberTooLarge, RowRefused
from ..estimate import estimate
from ..families import Family, Settings
from ..model import Model
from ..statistics import Axis, Counts, CountsAccumulator
from ..statistics.accumulators import in_line
from ..statistics.axis import Floats
from ..threads import allowed
from .arrays import brought, to_numpy
from .checks import check_labels, checked, checked_weights, is_plain, is_plain_target, plain_labels

COLUMN = "X"  # the whole matrix is one wide column
INT64 = np.dtype(np.int64)
UNCHANGEABLE = (type(None), bool, int, float, str)


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

    threads: int | None
    n_features_in_: int
    _counted: Learned
    _kinds = "fiub"  # of types that are taken as they are; s stands for sparse
    _place: Any = None  # of the rows it was fitted with, if they came from another library than NumPy

    _parameter_constraints: ClassVar[dict[str, Any]] = {"threads": [None, Interval(Integral, 1, None, closed="left")]}

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

    def _make_ready(self, accumulator: Any, X: Any, weights: Floats | None, *, thorough: bool = False) -> Any:
        """Return the accumulator prepared for what X holds; thoroughly, if it refused a row of X before."""
        return accumulator

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
        before = dict(vars(self))
        try:
            X, y = self._accepted(X, y, reset=True)
            if not is_plain_target(y):
                check_classification_targets(y)
            classes, codes = encoded(y)
            return self._learn(X, y, codes, classes, sample_weight, learned=None)
        except BaseException:
            restore(self, before)
            raise

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
        before = dict(vars(self))
        try:
            learned: Learned | None = before.get("_counted")
            if learned is None:
                self._validate_params()
            known = learned.classes if learned and classes is None else self._known_classes(classes)
            X, y = self._accepted(X, y, reset=learned is None)
            return self._learn(X, y, codes_among(known, y), known, sample_weight, learned)
        except BaseException:
            restore(self, before)
            raise

    def _accepted(self, X: Any, y: Any, reset: bool) -> tuple[Any, Any]:
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
        check_labels(y)
        return X, y

    def _knows_columns_of(self, X: Any) -> bool:
        """Tell whether a plain X has the columns learned before, and they have no names to compare."""
        return X.shape[1] == self.n_features_in_ and "feature_names_in_" not in vars(self)

    def _known_classes(self, classes: Any) -> npt.NDArray[Any]:
        known: npt.NDArray[Any] | None = self._counted.classes if hasattr(self, "_counted") else None
        if classes is None:
            raise InvalidInput("classes must be passed on the first call to partial_fit.")
        if np.ndim(to_numpy(classes)) != 1 or not len(classes):
            raise InvalidInput(f"`classes={classes!r}` must list all classes that will ever come, e.g. [0, 1].")
        classes = np.asarray(plain_labels(classes))
        check_labels(classes)
        declared = np.asarray(unique_labels(classes))
        if known is not None and (len(classes) != len(known) or not np.array_equal(known, declared)):
            raise InvalidInput(f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {known!r}")
        return declared

    def _learn(
        self, X: Any, y: Any, codes: Any, classes: npt.NDArray[Any], sample_weight: Any, learned: Learned | None
    ) -> Self:
        weights, threads = checked_weights(sample_weight, X.shape[0]), allowed(self.threads, cells(X))
        self._check_parameters(len(classes))
        if learned is None:
            axis = Axis.numbered(len(classes))
            counts = CountsAccumulator(axis, {COLUMN: self._start(axis, X)})
            learned = Learned(counts, classes, float_type(X.dtype))
        self._count(learned.accumulator, X, y, codes, weights, threads)
        # Copies: estimates are made when asked for, and a list or array of the user may have changed by then.
        learned.changed({name: unshared(getattr(self, name)) for name in self._parameter_constraints})
        self.classes_, self._counted = brought(learned.classes, self._place), learned
        return self

    def _count(self, counts: CountsAccumulator, X: Any, y: Any, codes: Any, weights: Any, threads: int) -> None:
        """Count the rows; if one is refused, everything stays as it was."""
        before = counts.columns[COLUMN]
        try:
            counts.columns[COLUMN] = self._make_ready(before, X, weights)
            try:
                memory.add(counts, {COLUMN: X}, codes, weights, threads)
            except RowRefused:
                counts.columns[COLUMN] = self._make_ready(before, X, weights, thorough=True)
                memory.add(counts, {COLUMN: X}, codes, weights, threads)
        except BaseException as error:
            counts.columns[COLUMN] = before
            if isinstance(error, (RowRefused, NumberTooLarge)):
                self._check_X_y(X, y, reset=False)  # says it in scikit-learn's words
            raise

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
        learned, (family, settings, log_prior, fallback) = self._learned, self._assumptions
        return learned.once(  # type: ignore[no-any-return]
            "model", lambda: estimate(learned.counts, {COLUMN: family}, settings, log_prior, fallback)
        )

    @property
    def _likelihood(self) -> Any:
        return self._model.likelihoods[COLUMN]

    @property
    def class_count_(self) -> Floats:
        """Rows of each class, by weight."""
        return self._learned.counts.rows.copy()

    # -- answering ----------------------------------------------------------------------------------------------

    def _answer(self, ask: Callable[..., Any], X: Any, **how: Any) -> Any:
        """Return what the model answers about these rows; ask is a method of Model."""
        model = self._model  # first, because what is not fitted yet cannot tell how many columns it expects
        plain = is_plain(X, self._kinds) and self._knows_columns_of(X)
        rows = X if plain else memory.native(self._check_X(X))
        threads = allowed(self.threads, cells(rows) * len(self._counted.classes))
        try:
            return ask(model, {COLUMN: rows}, threads, holes=False, **how)
        except RowRefused:
            self._check_X(X)  # says it in scikit-learn's words, unless the user told scikit-learn not to look
            return ask(model, {COLUMN: rows}, threads, **how)

    def _answer_type(self, X: Any) -> Any:
        """Return the type of the probabilities."""
        return np.float64

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Return log P(row, class) of each row and class, in the order of `classes_`."""
        joint: Floats = self._answer(Model.log_joint, X, dtype=self._answer_type(X))
        return joint

    def predict_log_proba(self, X: Any) -> Floats:
        """Return log P(class | row) of each row and class, in the order of `classes_`."""
        logarithms: Floats = self._answer(Model.log_posterior, X, dtype=self._answer_type(X))
        return logarithms

    def predict_proba(self, X: Any) -> Floats:
        """Return P(class | row) of each row and class, in the order of `classes_`."""
        probabilities: Floats = self._answer(Model.posterior, X, dtype=self._answer_type(X))
        return probabilities

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of each row."""
        classes = self._learned.classes
        if classes.dtype == INT64:
            return self._answer(Model.most_probable, X, labels=classes)  # type: ignore[no-any-return]
        return classes[self._answer(Model.most_probable, X)]  # type: ignore[no-any-return]


def restore(estimator: Any, before: dict[str, Any]) -> None:
    """Leave the estimator as it was before something went wrong."""
    vars(estimator).clear()
    vars(estimator).update(before)


def encoded(y: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the classes in order, and the code of each row's class."""
    if y.dtype.kind in "iub" and y.dtype in memory.READABLE and y.dtype.isnative:
        found: Any = _kernels.encode_labels(in_line(y))
        if found is not None:
            return found[0].astype(y.dtype), found[1]
    classes, codes = np.unique(y, return_inverse=True)
    return classes.astype(str) if classes.dtype.kind == "O" else classes, codes.reshape(-1)


def codes_among(known: npt.NDArray[Any], y: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the code of each row's class among the known ones."""
    if known.dtype == INT64 and y.dtype == INT64:
        places: Any = _kernels.find_labels(known, in_line(y))
        if places is not None:
            return places  # type: ignore[no-any-return]
    number = "biuf"
    alike = (known.dtype.kind in number) == (y.dtype.kind in number)  # numbers and texts cannot be compared
    codes = known.searchsorted(y) if alike else np.zeros(len(y), dtype=np.intp)
    codes[codes == len(known)] = 0
    strange = known[codes] != y if alike else np.ones(len(y), dtype=bool)
    if strange.any():
        strangers = np.unique(y[strange])
        raise InvalidInput(f"The target label(s) {strangers} in y do not exist in the initial classes {known}")
    return codes


def unshared(parameter: Any) -> Any:
    """Return a parameter that nobody else can change."""
    return parameter if type(parameter) in UNCHANGEABLE else deepcopy(parameter)


def cells(X: Any) -> int:
    """Return how many cells of the matrix are looked at."""
    return int(X.nnz if memory.is_sparse(X) else X.size)


def float_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type of answers to numbers of this type: their own if it is float32 or float64."""
    return dtype.newbyteorder("=") if dtype.kind == "f" and dtype.itemsize in (4, 8) else np.dtype(np.float64)
