"""CategoricalNB: categorical features as codes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import naive_bayes as theirs
from sklearn.utils import Tags
from sklearn.utils.validation import check_non_negative

from .._threads import allowed
from .._types import AnyArray, ColumnLike, Floats, Longs, Matrix, TableLike
from ..counting import arrays
from ..errors import InvalidInput, InvalidSetting
from ..families import Categorical
from ..stats import Axis, CodesAccumulator
from .base import COLUMN, BaseNB, Parameters
from .discrete import DiscreteNB
from .input import validated

# Counts of all codes of all features, over all classes: 1 GiB. With more, the features are surely not codes.
MOST_COUNTS = 2**27
ADVICE = "Codes must be 0, 1, 2, …: use sklearn.preprocessing.OrdinalEncoder to make them."


class CategoricalNB(DiscreteNB):
    """Categorical naive Bayes, as `sklearn.naive_bayes.CategoricalNB`; an unseen category is ignored.

    Parameters
    ----------
    alpha : float, default=1.0
        Additive (Laplace or Lidstone) smoothing parameter; 0 is no smoothing.
    force_alpha : bool, default=True
        Whether to use an alpha below 1e-10 as it is; if False, it is raised to 1e-10 with a warning.
    fit_prior : bool, default=True
        Whether to estimate class priors from the data; if False, a uniform prior is used.
    class_prior : array-like of shape (n_classes,), optional
        Prior probabilities of the classes, used instead of estimated ones.
    min_categories : int or array-like of shape (n_features,), optional
        Minimum number of categories, for all features or one per feature. By default it follows from the data.
    n_jobs : int, optional
        Number of threads. None means `NAIVELY_THREADS`, or all CPUs that the process may use, like -1.

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

    _parameter_constraints = theirs.CategoricalNB._parameter_constraints | BaseNB._parameter_constraints

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
        super().__init__(
            alpha=alpha, force_alpha=force_alpha, fit_prior=fit_prior, class_prior=class_prior, n_jobs=n_jobs
        )
        self.min_categories = min_categories

    @staticmethod
    def _family(parameters: Parameters) -> Categorical:
        return Categorical()

    def _checked(self, X: TableLike, *y: ColumnLike, reset: bool = False) -> list[Any]:
        """Return X as whole numbers (and y), if it can be read so."""
        try:
            with np.errstate(invalid="raise"):  # a number too large for an integer would become any other
                checked = validated(self, X, *y, dtype="int", ensure_all_finite=True, reset=reset)
        except FloatingPointError:
            raise InvalidInput(f"X holds numbers too large to be codes. {ADVICE}") from None
        except ValueError as error:
            if "invalid literal for int()" not in str(error):
                raise
            raise InvalidInput(f"X holds texts: {error}. {ADVICE}") from None
        check_non_negative(checked[0], "CategoricalNB (input X)")
        return checked

    def _start(self, classes: Axis, X: Matrix) -> CodesAccumulator:
        least = np.asarray(0 if self.min_categories is None else self.min_categories)
        if not np.issubdtype(least.dtype, np.signedinteger):
            raise InvalidSetting(f"'min_categories' should have integral type. Got {least.dtype} instead.")
        if least.ndim and least.shape != (X.shape[1],):
            raise InvalidSetting(
                f"'min_categories' should have shape ({X.shape[1]},) when an array-like is provided. "
                f"Got {least.shape} instead."
            )
        sizes = np.broadcast_to(np.maximum(least, 0).astype(np.int64), X.shape[1:])
        return CodesAccumulator(classes, affordable_sizes(sizes, len(classes)), allow_missing=False)

    def _prepared(self, accumulator: CodesAccumulator, X: Matrix, weights: Floats | None) -> CodesAccumulator:
        if weights is not None and not weights.all():
            X = X[weights > 0]  # a row of weight 0 does not exist
        least, largest = arrays.ranges(arrays.kernel_matrix(X), allowed(self.n_jobs))
        if least.min() < 0:
            raise InvalidInput("Negative values in data passed to CategoricalNB (input X)")
        return accumulator.grown(affordable_sizes(np.maximum(largest + 1, accumulator.sizes), len(accumulator.classes)))

    @property
    def feature_count_(self) -> Floats:
        """Codes have a `category_count_` instead."""
        raise AttributeError("CategoricalNB has category_count_, one table for each column, and no feature_count_.")

    @property
    def category_count_(self) -> list[Floats]:
        """For each feature, the number of samples of each class and category."""
        return [table.n.copy() for table in self._learned.counts.columns[COLUMN].tables]

    @property
    def feature_log_prob_(self) -> list[Floats]:
        """For each feature, the logarithm of the probability of each category per class."""
        return [table.log_p.copy() for table in self._likelihood.tables]

    @property
    def n_categories_(self) -> Longs:
        """Number of categories of each feature."""
        sizes: Longs = self._learned.accumulator.columns[COLUMN].sizes
        return sizes

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.sparse = False
        tags.input_tags.positive_only = True
        return tags


def affordable_sizes(sizes: AnyArray, classes: int) -> Longs:
    """Return how many codes each feature has, if tables of them fit into memory."""
    if float(sizes.sum()) * classes > MOST_COUNTS:
        column = int(np.argmax(sizes))
        raise InvalidInput(f"Column {column} has {sizes[column]:.0f} codes; a table that long would not fit. {ADVICE}")
    return sizes.astype(np.int64)
