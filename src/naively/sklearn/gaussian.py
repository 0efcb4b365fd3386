"""GaussianNB: numbers."""

from __future__ import annotations

from numbers import Real
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval

from .._threads import allowed
from .._types import AnyArray, ColumnLike, Floats, Matrix, TableLike
from ..counting import arrays
from ..errors import InvalidInput
from ..families import Gaussian, Settings
from ..model.estimate import empirical_prior, given_prior
from ..stats import Axis, Counts, Moments, MomentsAccumulator
from . import array_api
from .array_api import Foreign
from .base import COLUMN, BaseNB
from .fitted_counts import Assumptions, float_type

MAXIMUM_LIKELIHOOD = Settings(estimate="mle")
# Beyond this, a weight and the square of a number that is allowed by itself may overflow together.
HEAVY = 1e6


class GaussianNB(BaseNB):
    """Gaussian naive Bayes, as `sklearn.naive_bayes.GaussianNB`.

    Parameters
    ----------
    priors : array-like of shape (n_classes,), optional
        Probability of each class; by default its proportion of the rows.
    var_smoothing : float, default=1e-9
        Fraction of the largest variance of all columns that is added to every variance.
    n_jobs : int, optional
        How many threads to use; by default `NAIVELY_THREADS`, or all CPUs that the process may use, as with -1.

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

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        **BaseNB._parameter_constraints,
        "priors": ["array-like", None],
        "var_smoothing": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self, *, priors: npt.ArrayLike | None = None, var_smoothing: float = 1e-9, n_jobs: int | None = None
    ) -> None:
        self.priors = priors
        self.var_smoothing = var_smoothing
        self.n_jobs = n_jobs

    def _check_parameters(self, classes: int) -> None:
        if self.priors is not None:
            given_prior(self.priors, classes)

    def _start(self, classes: Axis, X: TableLike) -> MomentsAccumulator:
        return MomentsAccumulator(classes, Axis.numbered(X.shape[1]), allow_missing=False)

    def _check_X_y(self, X: TableLike, y: ColumnLike, reset: bool) -> tuple[Matrix, AnyArray]:
        if reset:
            self._place = array_api.empty_like_input(X)
        return super()._check_X_y(X, y, reset)

    def _make_ready(
        self, accumulator: MomentsAccumulator, X: TableLike, weights: Floats | None, *, thorough: bool = False
    ) -> MomentsAccumulator:
        if weights is None or weights.max() <= HEAVY:
            return accumulator  # numbers alone are checked while they are counted
        farthest = np.maximum(*map(np.abs, arrays.ranges(arrays.kernel_matrix(X), allowed(self.n_jobs))))
        if np.log10(weights.max()) + 2 * np.log10(np.maximum(farthest.max(), 1.0)) > 300:
            raise InvalidInput(
                f"Column {int(farthest.argmax())} holds {farthest.max():g} in rows that weigh up to {weights.max():g}; "
                "the weighted squares cannot be summed. Rescale the column or the weights."
            )
        return accumulator

    def _assume(self, counts: Counts) -> Assumptions:
        parameters = self._learned.parameters
        if parameters["priors"] is None:
            log_prior = empirical_prior(counts.rows, MAXIMUM_LIKELIHOOD)
        else:
            log_prior = given_prior(parameters["priors"], len(counts.classes))
        # From all rows together: the share would change with the size of the last batch otherwise.
        epsilon = parameters["var_smoothing"] * float(counts.columns[COLUMN].overall().variance.max(initial=0.0))
        return Assumptions(Gaussian(epsilon=epsilon), MAXIMUM_LIKELIHOOD, log_prior, log_prior)

    @property
    def epsilon_(self) -> float:
        """What is added to every variance."""
        family = self._assumptions.family
        return family.epsilon if isinstance(family, Gaussian) else 0.0

    @property
    def class_count_(self) -> AnyArray | Foreign:
        """Rows of each class, by weight; float64 in NumPy, where float32 would stop counting at 16,777,216."""
        rows = super().class_count_
        return rows if self._place is None else self._like_X(rows)

    @property
    def class_prior_(self) -> AnyArray | Foreign:
        """Probability of each class."""
        given, rows = self._learned.parameters["priors"], self._learned.counts.rows
        return self._like_X(rows / rows.sum() if given is None else np.array(given, dtype=np.float64))

    @property
    def theta_(self) -> AnyArray | Foreign:
        """Mean of each class and column."""
        return self._like_X(self._moments.mean)

    @property
    def var_(self) -> AnyArray | Foreign:
        """Variance of each class and column, with `epsilon_` added."""
        return self._like_X(self._moments.variance + self.epsilon_)

    def _like_X(self, array: Floats) -> AnyArray | Foreign:
        """Return an attribute in the type, library and device of the rows that were learned first."""
        return array_api.to_place_of(array.astype(self._learned.dtype), self._place)

    @property
    def _moments(self) -> Moments:
        moments: Moments = self._learned.counts.columns[COLUMN]
        return moments

    def _answer_type(self, X: TableLike) -> npt.DTypeLike:
        place = array_api.empty_like_input(X)
        dtype = getattr(X if place is None else array_api.to_numpy(place), "dtype", None)
        return np.result_type(float_type(dtype) if isinstance(dtype, np.dtype) else np.float64, self._learned.dtype)

    predict_joint_log_proba = array_api.answers_in_input_library(BaseNB.predict_joint_log_proba)
    predict_log_proba = array_api.answers_in_input_library(BaseNB.predict_log_proba)
    predict_proba = array_api.answers_in_input_library(BaseNB.predict_proba)
    predict = array_api.answers_in_input_library(BaseNB.predict)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        return tags

    @staticmethod
    def _update_mean_variance(
        n_past: float, mu: Floats, var: Floats, X: Matrix, sample_weight: ColumnLike = None
    ) -> tuple[Floats, Floats]:
        """Return mean and variance of all rows, given those of the rows so far (scikit-learn's tests call this)."""
        if X.shape[0] == 0 or (sample_weight is not None and np.isclose(np.sum(sample_weight), 0.0)):
            return mu, var
        one, columns = Axis.numbered(1), Axis.numbered(X.shape[1])
        new = MomentsAccumulator(one, columns)
        arrays.add_column(new, arrays.kernel_matrix(X), np.zeros(len(X), np.int32), sample_weight, 1)
        shape = (1, X.shape[1])
        past = Moments.of(
            one,
            columns,
            n=np.full(shape, float(n_past)),
            mean=np.broadcast_to(mu, shape),
            variance=np.broadcast_to(var, shape),
        )
        both = past + new.value()
        return both.mean[0], both.variance[0]
