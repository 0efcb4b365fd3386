"""GaussianNB: numeric features."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import naive_bayes as theirs
from sklearn.utils import Tags

from .._threads import allowed
from .._types import AnyArray, ColumnLike, Floats, Matrix, TableLike
from ..counting import arrays
from ..errors import InvalidInput
from ..families import Gaussian, Settings
from ..model.column_parts import empirical_prior, estimate, given_prior
from ..model.scorer import NaiveModel
from ..stats import Axis, Counts, Moments, MomentsAccumulator
from .base import COLUMN, BaseNB, Parameters, float_type
from .input import Foreign, empty_like_input, in_input_library, to_numpy, to_place_of

MAXIMUM_LIKELIHOOD = Settings(estimate="mle")
# Beyond this, a weight and the square of a number that is allowed by itself may overflow together.
HEAVY = 1e6


class GaussianNB(BaseNB):
    """Gaussian naive Bayes, as `sklearn.naive_bayes.GaussianNB`.

    Parameters
    ----------
    priors : array-like of shape (n_classes,), optional
        Prior probabilities of the classes. By default they are estimated from the class frequencies.
    var_smoothing : float, default=1e-9
        Portion of the largest variance of all features that is added to each variance, for stability.
    n_jobs : int, optional
        Number of threads. None means `NAIVELY_THREADS`, or all CPUs that the process may use, like -1.

    Attributes
    ----------
    class_count_, class_prior_, theta_, var_, epsilon_, classes_, n_features_in_, feature_names_in_
        As in scikit-learn. They are estimated from the counts on first use, so that `partial_fit` in any number of
        batches gives what one `fit` gives.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from naively.sklearn import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> GaussianNB().fit(X, y).score(X, y)
    0.96
    """

    _parameter_constraints = theirs.GaussianNB._parameter_constraints | BaseNB._parameter_constraints

    def __init__(
        self, *, priors: npt.ArrayLike | None = None, var_smoothing: float = 1e-9, n_jobs: int | None = None
    ) -> None:
        self.priors = priors
        self.var_smoothing = var_smoothing
        self.n_jobs = n_jobs

    def _start(self, classes: Axis, X: Matrix) -> MomentsAccumulator:
        return MomentsAccumulator(classes, Axis.numbered(X.shape[1]), allow_missing=False)

    def _settled(self, classes: int) -> Parameters:
        if self.priors is None:
            return {"var_smoothing": self.var_smoothing, "prior": None}
        log_prior = given_prior(self.priors, classes)
        return {"var_smoothing": self.var_smoothing, "prior": np.array(self.priors), "log_prior": log_prior}

    def _checked(self, X: TableLike, *y: ColumnLike, reset: bool = False) -> list[Any]:
        if reset:
            self._place = empty_like_input(X)
        return super()._checked(X, *y, reset=reset)

    def _prepared(self, accumulator: MomentsAccumulator, X: Matrix, weights: Floats | None) -> MomentsAccumulator:
        if weights is None or weights.max() <= HEAVY:
            return accumulator  # numbers alone are checked while they are counted
        farthest = np.maximum(*map(np.abs, arrays.ranges(arrays.kernel_matrix(X), allowed(self.n_jobs))))
        if np.log10(weights.max()) + 2 * np.log10(np.maximum(farthest.max(), 1.0)) > 300:
            raise InvalidInput(
                f"Column {int(farthest.argmax())} holds {farthest.max():g} in rows that weigh up to {weights.max():g}; "
                "the weighted squares cannot be summed. Rescale the column or the weights."
            )
        return accumulator

    @classmethod
    def _estimate(cls, counts: Counts, parameters: Parameters) -> NaiveModel:
        if parameters["prior"] is None:
            log_prior = empirical_prior(counts.rows, MAXIMUM_LIKELIHOOD)
        else:
            log_prior = parameters["log_prior"]
        # From all rows together: the portion would change with the size of the last batch otherwise.
        epsilon = parameters["var_smoothing"] * float(counts.columns[COLUMN].overall().variance.max(initial=0.0))
        return estimate(counts, {COLUMN: Gaussian(epsilon=epsilon)}, MAXIMUM_LIKELIHOOD, log_prior)

    @property
    def epsilon_(self) -> float:
        """What is added to every variance."""
        return float(self._likelihood.family.epsilon)

    @property
    def class_count_(self) -> AnyArray | Foreign:
        """Number of samples of each class, by weight; float64 in NumPy: float32 would stop counting at 16,777,216."""
        rows = super().class_count_
        return rows if self._place is None else self._like_X(rows)

    @property
    def class_prior_(self) -> AnyArray | Foreign:
        """Probability of each class."""
        prior, rows = self._learned.parameters["prior"], self._learned.counts.rows
        return self._like_X(rows / rows.sum() if prior is None else prior)

    @property
    def theta_(self) -> AnyArray | Foreign:
        """Mean of each feature per class."""
        return self._like_X(self._moments.mean)

    @property
    def var_(self) -> AnyArray | Foreign:
        """Variance of each feature per class, with `epsilon_` added."""
        return self._like_X(self._moments.variance + self.epsilon_)

    def _like_X(self, array: Floats) -> AnyArray | Foreign:
        """Return an attribute in the type, library and device of the rows that were learned first."""
        return to_place_of(array.astype(self._learned.dtype), self._place)

    @property
    def _moments(self) -> Moments:
        moments: Moments = self._learned.counts.columns[COLUMN]
        return moments

    def _dtype_of_scores(self, X: TableLike) -> npt.DTypeLike:
        place = empty_like_input(X)
        dtype = getattr(X if place is None else to_numpy(place), "dtype", None)
        return np.result_type(float_type(dtype) if isinstance(dtype, np.dtype) else np.float64, self._learned.dtype)

    predict_joint_log_proba = in_input_library(BaseNB.predict_joint_log_proba)
    predict_log_proba = in_input_library(BaseNB.predict_log_proba)
    predict_proba = in_input_library(BaseNB.predict_proba)
    predict = in_input_library(BaseNB.predict)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        return tags

    # scikit-learn's tests call this.
    _update_mean_variance = staticmethod(theirs.GaussianNB._update_mean_variance)
