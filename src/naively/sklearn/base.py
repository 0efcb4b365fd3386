"""What the five classifiers share: checking of input, counting and predicting behind scikit-learn's interface."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial, wraps
from numbers import Integral, Real
from typing import Any, ClassVar, Self, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils._array_api import _convert_to_numpy, get_namespace, get_namespace_and_device
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from .. import _kernels
from .._threads import allowed
from .._types import AnyArray, Codes, ColumnLike, Floats, Matrix, TableLike
from ..counting import arrays
from ..counting.arrays import READABLE, is_aligned
from ..errors import InvalidInput, NumberTooLarge, RowRefused
from ..model.scorer import AdditiveModel, NaiveModel
from ..stats import Axis, Counts, CountsAccumulator
from ..stats.accumulators import contiguous
from ..stats.arithmetic import checked_row_weights

INT64 = np.dtype(np.int64)

Foreign: TypeAlias = Any  # an array of a library that is not imported here
Method = TypeVar("Method", bound=Callable[..., Any])  # of an estimator, about rows
COLUMN = "X"  # the whole matrix is one wide column
# An accumulator of the kind that a classifier starts with, and which only it looks into.
AnyAccumulator: TypeAlias = Any


# -- rows -------------------------------------------------------------------------------------------------------------


def validated(estimator: BaseEstimator, X: TableLike, *y: ColumnLike, **options: object) -> list[Any]:
    """Return X (and y) as scikit-learn's `validate_data` does; refuse what it lets through and cannot be right."""
    if X is None:
        raise InvalidInput("Expected 2D array, got None instead.")
    X = to_numpy(X)
    refuse_hidden("X", X)
    dtypes = getattr(X, "dtypes", [getattr(X, "dtype", None)])  # of the columns of a frame, or of an array
    kinds = {getattr(dtype, "kind", ""): dtype for dtype in dtypes}
    for kind in kinds.keys() & {"m", "M"}:  # scikit-learn would take them for numbers of days or nanoseconds
        raise InvalidInput(f"X holds dates or times ({kinds[kind]}). Make numbers of them first, e.g. the weekday.")
    if sparse.issparse(X):
        check_indices(X)
    if "O" in kinds and hasattr(X, "dtypes"):
        options = {"dtype": np.float64, **options}  # else some versions leave a frame's categories and texts as objects
    checked = validate_data(estimator, X, *map(python_labels, y), **options)
    return list(checked) if y else [checked]


def refuse_hidden(name: str, array: ColumnLike) -> None:
    """Refuse masked cells: NumPy would use what lies behind the mask."""
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        raise InvalidInput(f"{name} is a masked array with hidden cells. Fill them, or drop their rows.")


def check_indices(X: TableLike) -> None:
    """Refuse a sparse matrix whose indices point outside its shape: converting it could end the process."""
    try:
        if X.format == "coo":
            sparse.coo_array((X.data, (X.row, X.col)), X.shape)
        elif X.format in ("csr", "csc", "bsr"):  # of a copy, because the check may change arrays of the matrix
            type(X)((X.data, X.indices, X.indptr), X.shape).check_format()
    except ValueError as error:
        raise InvalidInput(f"The sparse matrix X has indices outside its shape: {error}.") from None


def is_plain(X: TableLike, kinds: str) -> bool:
    """Tell whether the kernels can read X as it is: a matrix, dense or sparse and in order, of these kinds of type."""
    if type(X) is np.ndarray:
        dtype = X.dtype
        readable = dtype.kind in kinds and dtype in READABLE and dtype.isnative and X.flags.aligned
        return X.ndim == 2 and X.size > 0 and readable
    if "s" not in kinds or type(X) not in (sparse.csr_matrix, sparse.csr_array) or min(X.shape) == 0:
        return False
    alike = X.indices.dtype == X.indptr.dtype and len(X.indptr) == X.shape[0] + 1 and len(X.indices) == len(X.data)
    readable = X.data.dtype in READABLE and X.data.dtype.isnative and is_aligned(X)
    return alike and readable and bool(X.has_canonical_format)


# -- weights ----------------------------------------------------------------------------------------------------------


def validated_weights(sample_weight: ColumnLike, rows: int) -> Floats | None:
    """Return the weight of each row as float64, if rows can have such weights."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Real):
        sample_weight = np.full(rows, sample_weight)
    refuse_hidden("sample_weight", sample_weight)
    weights: Floats = check_array(
        to_numpy(sample_weight), ensure_2d=False, dtype=np.float64, order="C", input_name="sample_weight"
    )
    return checked_row_weights(weights, rows)


# -- class labels -----------------------------------------------------------------------------------------------------


def is_plain_target(y: ColumnLike) -> bool:
    """Tell whether y is a vector of whole numbers or texts: classes beyond doubt."""
    return type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "iubU"


def python_labels(y: ColumnLike) -> ColumnLike:
    """Return labels as NumPy has long known them; refuse a list of texts and numbers, which would all become texts."""
    y = to_numpy(y)
    refuse_hidden("y", y)
    if isinstance(y, (list, tuple)):
        refuse_mixture(y, any(isinstance(label, str) for label in y))
    return np.array(y.tolist(), dtype=str) if getattr(getattr(y, "dtype", None), "kind", "") == "T" else y


def check_class_labels(y: ColumnLike) -> None:
    """Refuse labels that are not numbers or texts, and objects that are not all texts: they cannot be sorted."""
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise InvalidInput("The labels contain NaN or infinity, which is not a class.")
    if y.dtype.kind == "S":
        raise InvalidInput("Labels represented as bytes are not supported. Convert them to texts or whole numbers.")
    refuse_mixture(y, y.dtype.kind == "O")


def refuse_mixture(y: ColumnLike, texts: bool) -> None:
    """Refuse anything but texts among labels that should be texts."""
    if texts and not all(isinstance(label, str) for label in y):
        kinds = ", ".join(sorted({type(label).__name__ for label in y}))
        raise InvalidInput(
            f"Unknown label type: labels must be all numbers or all texts; found objects of type {kinds}."
        )


def encode_classes(y: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Return the classes in order, and the code of each row's class: 0 … K - 1."""
    if y.dtype.kind in "iub" and y.dtype in READABLE and y.dtype.isnative:
        encoded: Any = _kernels.encode_labels(contiguous(y))  # two arrays, or None; the stub says object
        if encoded is not None:
            return encoded[0].astype(y.dtype), encoded[1]
    classes, codes = np.unique(y, return_inverse=True)
    return classes.astype(str) if classes.dtype.kind == "O" else classes, codes.reshape(-1)


def codes_among(classes: AnyArray, y: AnyArray) -> AnyArray:
    """Return the code of each row's class among the given ones."""
    if classes.dtype == INT64 and y.dtype == INT64:
        codes: AnyArray | None = _kernels.find_labels(classes, contiguous(y))  # type: ignore[assignment]  # the stub says object
        if codes is not None:
            return codes
    alike = (classes.dtype.kind in "biuf") == (y.dtype.kind in "biuf")  # numbers and texts cannot be compared
    codes = classes.searchsorted(y) if alike else np.zeros(len(y), dtype=np.intp)
    codes[codes == len(classes)] = 0
    strange = classes[codes] != y if alike else np.ones(len(y), dtype=bool)
    if strange.any():
        labels = np.unique(y[strange])
        raise InvalidInput(f"The target label(s) {labels} in y do not exist in the initial classes {classes}")
    return codes


# -- arrays of other libraries (PyTorch, CuPy, …) ----------------------------------------------------------------------
# Under ``sklearn.config_context(array_api_dispatch=True)`` they are converted to NumPy, counted and scored as any
# others, and results are converted back. Everywhere else, and for NumPy's own arrays, nothing happens here.


def is_foreign(x: TableLike) -> bool:
    """Tell whether x is an array of another library, whose results are to be arrays of that library."""
    enabled = get_config()["array_api_dispatch"]
    return bool(enabled) and not isinstance(x, np.ndarray) and hasattr(x, "__dlpack__") and hasattr(x, "device")


def to_numpy(x: TableLike) -> TableLike:
    """Return a foreign array as NumPy's, anything else as it is."""
    return _convert_to_numpy(x, get_namespace(x)[0]) if is_foreign(x) else x


def empty_like_input(x: TableLike) -> Foreign | None:
    """Return an empty array of the same library, device and type, None if x is not foreign.

    A library is a module and cannot be pickled; an empty array of it can.
    """
    return x[:0, ...] if is_foreign(x) else None


def to_place_of(values: AnyArray, place: Foreign | None) -> AnyArray | Foreign:
    """Return NumPy's array as one of the library and device of another one; texts can live in NumPy alone."""
    if place is None or values.dtype.kind not in "biuf":
        return values
    with config_context(array_api_dispatch=True):
        library, _, device = get_namespace_and_device(place)
    return library.asarray(values, device=device)


def in_input_library(method: Method) -> Method:
    """Let a method return arrays like the rows it is given, which must be like those the estimator was fitted with."""

    @wraps(method)
    def converted(self: BaseEstimator, X: TableLike) -> AnyArray | Foreign:
        place, fitted = empty_like_input(X), self._place
        if get_config()["array_api_dispatch"] and get_namespace_and_device(place) != get_namespace_and_device(fitted):
            raise InvalidInput(
                f"Inputs passed to {type(self).__name__}.{method.__name__}() must use the same namespace and the same "
                f"device as those passed to fit(): found {type(X).__name__}, fitted with "
                f"{'NumPy' if fitted is None else type(fitted).__name__}."
            )
        return to_place_of(method(self, X), place)

    return cast(Method, converted)  # it takes and returns what the method does


# -- the classifiers ---------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Fitted:
    """The counts of a fitted classifier, and what follows from them and its parameters, estimated on first use."""

    accumulator: CountsAccumulator
    classes: AnyArray
    dtype: np.dtype[Any]  # of scores, from the rows that were learned first
    estimate: partial[NaiveModel]  # from counts, by the parameters at the last fit

    @cached_property
    def counts(self) -> Counts:
        """Everything counted so far."""
        return self.accumulator.value()

    @cached_property
    def model(self) -> NaiveModel:
        """The model of the counts."""
        return self.estimate(self.counts)


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
    def _estimator(self, classes: int) -> partial[NaiveModel]:
        """Return what makes a model of counts, by copies of the parameters, which are checked against the data."""

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
        estimate = self._estimator(len(classes))
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
        self._counted = Fitted(accumulator, classes, dtype, estimate)
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
