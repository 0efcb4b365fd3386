"""MultinomialNB and ComplementNB: counts of words."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import Tags

from .._kernels import LARGEST_COUNT
from .._threads import allowed
from .._types import AnyArray, ColumnLike, Floats, Matrix, TableLike
from ..counting import arrays
from ..errors import InvalidInput
from ..families import Words
from ..stats import Counts
from .discrete import DiscreteNB
from .fitted_counts import Assumptions, Parameters


class WordsNB(DiscreteNB):
    """A classifier of word counts."""

    def _check_X(self, X: TableLike) -> Matrix:
        X = super()._check_X(X)
        self._range_of(X)
        return X

    def _check_X_y(self, X: TableLike, y: ColumnLike, reset: bool) -> tuple[Matrix, AnyArray]:
        X, y = super()._check_X_y(X, y, reset)
        if self._range_of(X)[0] < 0:
            raise InvalidInput(f"Negative values in data passed to {type(self).__name__} (input X).")
        return X, y

    def _range_of(self, X: TableLike) -> tuple[float, float]:
        """Return the least and the largest cell, if none is too large to be summed."""
        if sparse.issparse(X):
            least, largest = float(X.data.min(initial=0)), float(X.data.max(initial=0))
        else:
            lows, highs = arrays.ranges(arrays.kernel_matrix(X), allowed())
            least, largest = float(lows.min()), float(highs.max())
        if largest > LARGEST_COUNT:
            raise InvalidInput(f"X holds {largest:g}; counts beyond {LARGEST_COUNT:g} cannot be summed.")
        return least, largest

    @property
    def feature_log_prob_(self) -> Floats:
        """What one occurrence of each word adds to the score of each class."""
        weights: Floats = self._likelihood.weights
        return weights.copy()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


class MultinomialNB(WordsNB):
    """Multinomial naive Bayes, as `sklearn.naive_bayes.MultinomialNB`.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Additive (Laplace) smoothing: pseudo-counts of each word in each class.
    force_alpha : bool, default=True
        Whether an alpha below 1e-10 is kept; raised to it otherwise.
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
    >>> from naively.sklearn import MultinomialNB
    >>> words = [[2, 0, 1], [1, 0, 0], [0, 3, 1], [0, 1, 1]]  # cheap, meeting, today
    >>> MultinomialNB().fit(words, ["spam", "spam", "ham", "ham"]).predict_proba([[1, 0, 1]]).round(3)
    array([[0.185, 0.815]])
    """

    def __init__(
        self,
        *,
        alpha: float | npt.ArrayLike = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: npt.ArrayLike | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.n_jobs = n_jobs

    def _family(self, parameters: Parameters) -> Words:
        return Words()


class ComplementNB(WordsNB):
    """Complement naive Bayes, as `sklearn.naive_bayes.ComplementNB`; a `class_prior` is honoured.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Additive (Laplace) smoothing: pseudo-counts of each word in each class.
    force_alpha : bool, default=True
        Whether an alpha below 1e-10 is kept; raised to it otherwise.
    fit_prior : bool, default=True
        Only used where there is a single class.
    class_prior : array-like of shape (n_classes,), optional
        Probability of each class; its logarithm is added to the scores.
    norm : bool, default=False
        Whether the weights of each class are divided by their sum.
    n_jobs : int, optional
        How many threads to use; by default `NAIVELY_THREADS`, or all CPUs that the process may use, as with -1.

    Attributes
    ----------
    class_count_, class_log_prior_, feature_all_, feature_count_, feature_log_prob_, classes_, n_features_in_
        As in scikit-learn.

    Examples
    --------
    >>> from naively.sklearn import ComplementNB
    >>> words = [[2, 0, 1], [1, 0, 0], [0, 3, 1], [0, 1, 1]]  # cheap, meeting, today
    >>> ComplementNB().fit(words, ["spam", "spam", "ham", "ham"]).predict([[1, 0, 1]])
    array(['spam'], dtype='<U4')
    """

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        **DiscreteNB._parameter_constraints,
        "norm": ["boolean"],
    }

    def __init__(
        self,
        *,
        alpha: float | npt.ArrayLike = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: npt.ArrayLike | None = None,
        norm: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.n_jobs = n_jobs
        self.norm = norm

    def _family(self, parameters: Parameters) -> Words:
        return Words(complement=True, norm=parameters["norm"])

    def _assume(self, counts: Counts) -> Assumptions:
        family, settings, log_prior, _ = super()._assume(counts)
        asked_for = self._learned.parameters["class_prior"] is not None or len(counts.classes) == 1
        return Assumptions(family, settings, log_prior if asked_for else np.zeros(len(log_prior)), log_prior)

    @property
    def feature_all_(self) -> Floats:
        """What was counted of each word, in all classes together."""
        return np.asarray(self.feature_count_.sum(axis=0))
