"""BernoulliNB: flags."""

from __future__ import annotations

from numbers import Real
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils._param_validation import Interval

from .._types import AnyArray, ColumnLike, Floats, Matrix, TableLike
from ..errors import InvalidInput
from ..errors.message import Setting
from ..families import Bernoulli
from ..stats import Axis, TableAccumulator
from .discrete import DiscreteNB
from .fitted_counts import Parameters


class BernoulliNB(DiscreteNB):
    """Bernoulli naive Bayes, as `sklearn.naive_bayes.BernoulliNB`.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Additive (Laplace) smoothing: pseudo-counts of rows with and without each flag in each class.
    force_alpha : bool, default=True
        Whether an alpha below 1e-10 is kept; raised to it otherwise.
    binarize : float or None, default=0.0
        A cell above it is there. None: cells lie between 0 and 1 already.
    fit_prior : bool, default=True
        Whether classes are as probable as they are frequent, or all alike.
    class_prior : array-like of shape (n_classes,), optional
        Probability of each class.
    n_jobs : int, optional
        How many threads to use; by default `NAIVELY_THREADS`, or all CPUs that the process may use, as with -1.

    Attributes
    ----------
    class_count_, class_log_prior_, feature_count_, feature_log_prob_, classes_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from naively.sklearn import BernoulliNB
    >>> has = [[1, 0], [1, 0], [0, 1], [1, 1]]  # offer, greeting
    >>> BernoulliNB().fit(has, ["spam", "spam", "ham", "ham"]).predict_proba([[1, 0]]).round(3)
    array([[0.182, 0.818]])
    """

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        **DiscreteNB._parameter_constraints,
        "binarize": [None, Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        alpha: float | npt.ArrayLike = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: npt.ArrayLike | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.binarize = binarize
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.n_jobs = n_jobs

    @property
    def _kinds(self) -> str:  # type: ignore[override]  # it depends on a parameter
        return "" if self.binarize is None else "fiubs"  # without a threshold, cells must be looked at first

    def _check_X(self, X: TableLike) -> Matrix:
        return self._check_flags(super()._check_X(X), self._learned.parameters["binarize"])

    def _check_X_y(self, X: TableLike, y: ColumnLike, reset: bool) -> tuple[Matrix, AnyArray]:
        X, y = super()._check_X_y(X, y, reset)
        return self._check_flags(X, self.binarize), y

    def _check_flags(self, X: TableLike, binarize: float | None) -> Matrix:
        cells = X.data if sparse.issparse(X) else X
        if binarize is None and (np.any(cells < 0) or np.any(cells > 1)):
            raise InvalidInput(
                Setting("binarize", None, of="BernoulliNB()"),
                f" needs cells between 0 and 1; found {cells.min():g} to {cells.max():g}. Set binarize to the "
                "number above which a flag is there, e.g. 0.0.",
            )
        return X

    def _start(self, classes: Axis, X: TableLike) -> TableAccumulator:
        return TableAccumulator(classes, Axis.numbered(X.shape[1]), self.binarize)

    def _make_ready(
        self, accumulator: TableAccumulator, X: TableLike, weights: Floats | None, *, thorough: bool = False
    ) -> TableAccumulator:
        accumulator.threshold = self.binarize  # it may have been set anew between two batches
        return accumulator

    def _family(self, parameters: Parameters) -> Bernoulli:
        return Bernoulli(threshold=parameters["binarize"])

    @property
    def feature_log_prob_(self) -> Floats:
        """Logarithm of the probability that each flag is there."""
        log_there: Floats = self._likelihood.log_there
        return log_there.copy()
