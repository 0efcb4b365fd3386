"""CategoricalNB: codes."""

from __future__ import annotations

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_non_negative

from .._threads import allowed
from .._types import AnyArray, ColumnLike, Floats, Longs, Matrix, TableLike
from ..counting import arrays
from ..errors import InvalidInput, InvalidSetting
from ..families import Categorical
from ..stats import Axis, CodesAccumulator
from .discrete import DiscreteNB
from .fitted_counts import Parameters
from .validation import validated

# Counts of all codes of all columns, over all classes: 1 GiB. Beyond this the codes are surely no codes.
MOST_CELLS = 2**27
# So many rows are looked at for the highest codes.
SAMPLE = 1 << 16
ADVICE = "Codes must be 0, 1, 2, …: use sklearn.preprocessing.OrdinalEncoder to make them."


class CategoricalNB(DiscreteNB):
    """Categorical naive Bayes, as `sklearn.naive_bayes.CategoricalNB`; an unseen code is ignored.

    Parameters
    ----------
    alpha : float, default=1.0
        Additive (Laplace) smoothing: pseudo-counts of each code in each class.
    force_alpha : bool, default=True
        Whether an alpha below 1e-10 is kept; raised to it otherwise.
    fit_prior : bool, default=True
        Whether classes are as probable as they are frequent, or all alike.
    class_prior : array-like of shape (n_classes,), optional
        Probability of each class.
    min_categories : int or array-like of shape (n_features,), optional
        How many codes each column has at least.
    n_jobs : int, optional
        How many threads to use; by default `NAIVELY_THREADS`, or all CPUs that the process may use, as with -1.

    Attributes
    ----------
    category_count_, class_count_, class_log_prior_, feature_log_prob_, n_categories_, classes_, n_features_in_
        As in scikit-learn.

    Examples
    --------
    >>> from naively.sklearn import CategoricalNB
    >>> codes = [[0, 1], [0, 0], [1, 1], [2, 1]]
    >>> nb = CategoricalNB().fit(codes, ["no", "no", "yes", "yes"])
    >>> nb.predict_proba([[0, 1], [7, 1]]).round(3)  # 7 is unseen: only the second column counts
    array([[0.667, 0.333],
           [0.4  , 0.6  ]])
    """

    _kinds = "iub"

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        **DiscreteNB._parameter_constraints,
        "min_categories": [None, "array-like", Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: npt.ArrayLike | None = None,
        min_categories: int | npt.ArrayLike | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.n_jobs = n_jobs
        self.min_categories = min_categories

    def _check_X(self, X: TableLike) -> Matrix:
        X = whole_number_codes(self, X, reset=False)
        check_non_negative(X, "CategoricalNB (input X)")
        return X

    def _check_X_y(self, X: TableLike, y: ColumnLike, reset: bool) -> tuple[Matrix, AnyArray]:
        X, y = whole_number_codes(self, X, y, reset=reset)
        check_non_negative(X, "CategoricalNB (input X)")
        return X, y

    def _start(self, classes: Axis, X: TableLike) -> CodesAccumulator:
        return CodesAccumulator(
            classes, affordable_sizes(self._least_sizes(X.shape[1]), len(classes)), allow_missing=False
        )

    def _least_sizes(self, columns: int) -> Longs:
        if self.min_categories is None:
            return np.zeros(columns, dtype=np.int64)
        least = np.asarray(self.min_categories)
        if not np.issubdtype(least.dtype, np.signedinteger):
            raise InvalidSetting(f"'min_categories' should have integral type. Got {least.dtype} instead.")
        if least.ndim and least.shape != (columns,):
            raise InvalidSetting(
                f"'min_categories' should have shape ({columns},) when an array-like is provided. "
                f"Got {least.shape} instead."
            )
        return np.broadcast_to(np.maximum(least, 0).astype(np.int64), (columns,))

    def _make_ready(
        self, accumulator: CodesAccumulator, X: TableLike, weights: Floats | None, *, thorough: bool = False
    ) -> CodesAccumulator:
        """Return an accumulator with room for the codes of X.

        Of many rows only the first are looked at: these hold the highest codes as a rule, and if one is missed its row
        is refused, and all are looked at.
        """
        rows = slice(None if thorough else SAMPLE)
        X = X[rows] if weights is None else X[rows][weights[rows] > 0]  # a row of no weight was never there
        if not len(X):
            return accumulator
        least, largest = arrays.ranges(arrays.kernel_matrix(X), allowed(self.n_jobs))
        if least.min() < 0:
            raise InvalidInput("Negative values in data passed to CategoricalNB (input X)")
        return accumulator.grown(affordable_sizes(np.maximum(largest + 1, accumulator.sizes), len(accumulator.classes)))

    def _family(self, parameters: Parameters) -> Categorical:
        return Categorical()

    @property
    def feature_count_(self) -> Floats:
        """Codes have no `feature_count_` but a `category_count_`."""
        raise AttributeError("CategoricalNB has category_count_, one table for each column, and no feature_count_.")

    @property
    def category_count_(self) -> list[Floats]:
        """For each column, the rows of each class and code."""
        return [table.n.copy() for table in self._learned.counts.columns["X"].tables]

    @property
    def feature_log_prob_(self) -> list[Floats]:
        """For each column, the logarithm of each code's probability in each class."""
        return [table.log_p.copy() for table in self._likelihood.tables]

    @property
    def n_categories_(self) -> Longs:
        """How many codes each column has."""
        sizes: Longs = self._learned.accumulator.columns["X"].sizes
        return sizes

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.sparse = False
        tags.input_tags.positive_only = True
        return tags


def whole_number_codes(estimator: BaseEstimator, X: TableLike, *y: ColumnLike, reset: bool) -> Matrix:
    """Return X as whole numbers (and y), if it can be read so."""
    try:
        with np.errstate(invalid="raise"):  # a number too large for an integer would become any other
            return validated(estimator, X, *y, dtype="int", accept_sparse=False, ensure_all_finite=True, reset=reset)
    except FloatingPointError:
        raise InvalidInput(f"X holds numbers too large to be codes. {ADVICE}") from None
    except ValueError as error:
        if "invalid literal for int()" not in str(error):
            raise
        raise InvalidInput(f"X holds texts: {error}. {ADVICE}") from None


def affordable_sizes(sizes: AnyArray, classes: int) -> Longs:
    """Return how many codes each column has, if a table of them fits into memory."""
    if float(sizes.sum()) * classes > MOST_CELLS:
        column = int(np.argmax(sizes))
        raise InvalidInput(f"Column {column} has {sizes[column]:.0f} codes; a table that long would not fit. {ADVICE}")
    return sizes.astype(np.int64)
