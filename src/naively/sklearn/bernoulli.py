"""BernoulliNB: flags."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils._param_validation import Interval

from .._types import Floats
from ..errors import InvalidInput
from ..families import Bernoulli
from ..stats import Axis, TableAccumulator
from .discrete import DiscreteNB


class BernoulliNB(DiscreteNB):
    """Bernoulli naive Bayes, as `sklearn.naive_bayes.BernoulliNB`.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Smoothing: how many rows with and without every flag are imagined in every class.
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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **DiscreteNB._parameter_constraints,
        "binarize": [None, Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.binarize = binarize
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.n_jobs = n_jobs

    @property
    def _kinds(self) -> str:  # type: ignore[override]
        return "" if self.binarize is None else "fiubs"  # without a threshold, cells must be looked at first

    def _check_X(self, X: Any) -> Any:
        return self._check_flags(super()._check_X(X), self._learned.parameters["binarize"])

    def _check_X_y(self, X: Any, y: Any, reset: bool) -> tuple[Any, Any]:
        X, y = super()._check_X_y(X, y, reset)
        return self._check_flags(X, self.binarize), y

    def _check_flags(self, X: Any, binarize: float | None) -> Any:
        cells = X.data if sparse.issparse(X) else X
        if binarize is None and (np.any(cells < 0) or np.any(cells > 1)):
            raise InvalidInput(
                f"BernoulliNB(binarize=None) needs cells between 0 and 1; found {cells.min():g} to "
                f"{cells.max():g}. Set binarize to the number above which a flag is there, e.g. 0.0."
            )
        return X

    def _start(self, classes: Axis, X: Any) -> TableAccumulator:
        return TableAccumulator(classes, Axis.numbered(X.shape[1]), self.binarize)

    def _make_ready(
        self, accumulator: TableAccumulator, X: Any, weights: Floats | None, *, thorough: bool = False
    ) -> TableAccumulator:
        accumulator.threshold = self.binarize  # it may have been set anew between two batches
        return accumulator

    def _family(self, parameters: dict[str, Any]) -> Bernoulli:
        return Bernoulli(threshold=parameters["binarize"])

    @property
    def feature_log_prob_(self) -> Floats:
        """Logarithm of the probability that each flag is there."""
        return self._likelihood.log_there.copy()  # type: ignore[no-any-return]
