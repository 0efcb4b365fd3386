"""What the four discrete classifiers share: alpha and the prior."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from numbers import Real
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval

from .._types import AnyArray, ColumnLike, Floats, Matrix, TableLike
from ..errors import InvalidSetting
from ..errors.message import Setting
from ..families import Family, Settings
from ..model.estimate import empirical_prior, given_prior, uniform_prior
from ..stats import Axis, Counts, Table, TableAccumulator
from .base import AnyAccumulator, BaseNB
from .fitted_counts import Assumptions, Parameters
from .validation import validated

# Below this, and unless told otherwise, alpha is raised to this.
LEAST_ALPHA = 1e-10


class DiscreteNB(BaseNB):
    """A classifier of counts, with scikit-learn's parameters."""

    alpha: float | npt.ArrayLike
    force_alpha: bool
    fit_prior: bool
    class_prior: npt.ArrayLike | None
    _kinds = "fiubs"

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        **BaseNB._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        "fit_prior": ["boolean"],
        "class_prior": ["array-like", None],
        "force_alpha": ["boolean"],
    }

    def _check_X(self, X: TableLike) -> Matrix:
        return canonical(validated(self, X, accept_sparse="csr", reset=False))

    def _check_X_y(self, X: TableLike, y: ColumnLike, reset: bool) -> tuple[Matrix, AnyArray]:
        X, y = validated(self, X, y, accept_sparse="csr", reset=reset)
        return canonical(X), y

    def _check_parameters(self, classes: int) -> None:
        self._smoothing = self._check_alpha()
        if self.class_prior is not None:
            given_prior(self.class_prior, classes)

    def _check_alpha(self) -> float | Floats:
        """Return alpha as it is used: one number, or one for each feature."""
        alpha = float(self.alpha) if isinstance(self.alpha, Real) else np.array(self.alpha, dtype=np.float64)
        if isinstance(alpha, np.ndarray):
            if alpha.shape != (self.n_features_in_,):
                raise InvalidSetting(
                    "When alpha is an array, it should contains `n_features`. "
                    f"Got shape {alpha.shape} instead of {(self.n_features_in_,)}."
                )
            if not np.all(alpha >= 0):  # also where it is NaN
                raise InvalidSetting("All values in alpha must be greater than 0.")
        least = np.min(alpha)
        if not np.all(np.isfinite(alpha)):
            raise InvalidSetting(Setting("alpha", self.alpha), " must be finite.")
        if least < LEAST_ALPHA and not self.force_alpha:
            warnings.warn(
                f"alpha too small will result in numeric errors, setting alpha = {LEAST_ALPHA:.1e}. "
                "Use `force_alpha=True` to keep alpha unchanged.",
                stacklevel=2,
            )
            return np.maximum(alpha, LEAST_ALPHA)
        return alpha

    def _start(self, classes: Axis, X: Matrix) -> AnyAccumulator:
        return TableAccumulator(classes, Axis.numbered(X.shape[1]))

    @abstractmethod
    def _family(self, parameters: Parameters) -> Family:
        """Return the family that these parameters describe."""

    def _assume(self, counts: Counts) -> Assumptions:
        parameters = self._learned.parameters
        log_prior = discrete_log_prior(parameters, counts)
        return Assumptions(self._family(parameters), Settings(smoothing=self._smoothing), log_prior, log_prior)

    @property
    def class_log_prior_(self) -> Floats:
        """Logarithm of each class's probability."""
        return self._assumptions.fallback.copy()

    @property
    def feature_count_(self) -> Floats:
        """What was counted of each class and feature."""
        table: Table = self._learned.counts.columns["X"]
        return table.n.copy()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = True
        return tags


def discrete_log_prior(parameters: Parameters, counts: Counts) -> Floats:
    """Return the log prior that these parameters ask for."""
    classes = len(counts.classes)
    if parameters["class_prior"] is not None:
        return given_prior(parameters["class_prior"], classes)
    return empirical_prior(counts.rows, Settings(estimate="mle")) if parameters["fit_prior"] else uniform_prior(classes)


def canonical(X: Matrix) -> Matrix:
    """Return a sparse matrix with each cell once, as a copy if it must change."""
    if hasattr(X, "has_canonical_format") and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X
