"""MultinomialNB, ComplementNB and BernoulliNB: counts of words, and binary features."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import naive_bayes as theirs
from sklearn.utils import Tags
from sklearn.utils.validation import check_non_negative

from .._kernels import LARGEST_COUNT
from .._types import ColumnLike, Floats, Matrix, TableLike
from ..counting import arrays
from ..errors import InvalidInput, InvalidSetting
from ..errors.message import Setting
from ..families import Bernoulli, Family, Settings, Words
from ..model.column_parts import empirical_prior, estimate, given_prior, uniform_prior
from ..model.scorer import NaiveModel
from ..stats import Axis, Counts, TableAccumulator
from .base import COLUMN, AnyAccumulator, BaseNB, Parameters
from .input import validated

# Unless told otherwise, a smaller alpha is raised to this.
LEAST_ALPHA = 1e-10


class DiscreteNB(BaseNB):
    """What the four classifiers of counts share: alpha and the prior."""

    _kinds = "fiubs"

    _parameter_constraints = theirs.MultinomialNB._parameter_constraints | BaseNB._parameter_constraints

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

    @staticmethod
    @abstractmethod
    def _family(parameters: Parameters) -> Family:
        """Return the family that the parameters describe."""

    def _settled(self, classes: int) -> Parameters:
        smoothing, log_prior = self._check_alpha(), None
        if self.class_prior is not None:
            log_prior = given_prior(self.class_prior, classes)
        elif not self.fit_prior:
            log_prior = uniform_prior(classes)
        return {"smoothing": smoothing, "log_prior": log_prior}

    def _check_alpha(self) -> float | Floats:
        """Return alpha as it is used, for all features or one for each (scikit-learn's tests call this)."""
        alpha = float(self.alpha) if isinstance(self.alpha, Real) else np.array(self.alpha, dtype=np.float64)
        if isinstance(alpha, np.ndarray) and alpha.shape != (self.n_features_in_,):
            raise InvalidSetting(
                "When alpha is an array, it should contains `n_features`. "
                f"Got shape {alpha.shape} instead of {(self.n_features_in_,)}."
            )
        if not np.all(alpha >= 0):  # also where it is NaN
            raise InvalidSetting("All values in alpha must be greater than 0.")
        if not np.all(np.isfinite(alpha)):
            raise InvalidSetting(Setting("alpha", self.alpha), " must be finite.")
        if np.min(alpha) < LEAST_ALPHA and not self.force_alpha:
            warnings.warn(
                f"alpha too small will result in numeric errors, setting alpha = {LEAST_ALPHA:.1e}. "
                "Use `force_alpha=True` to keep alpha unchanged.",
                stacklevel=2,
            )
            return np.maximum(alpha, LEAST_ALPHA)
        return alpha

    def _start(self, classes: Axis, X: Matrix) -> AnyAccumulator:
        return TableAccumulator(classes, Axis.numbered(X.shape[1]))

    def _checked(self, X: TableLike, *y: ColumnLike, reset: bool = False) -> list[Any]:
        X, *labels = validated(self, X, *y, accept_sparse="csr", reset=reset)
        return [arrays.distinct_cells(X), *labels]

    @classmethod
    def _estimate(cls, counts: Counts, parameters: Parameters) -> NaiveModel:
        fallback, settings = parameters["log_prior"], Settings(smoothing=parameters["smoothing"])
        if fallback is None:
            fallback = empirical_prior(counts.rows, Settings(estimate="mle"))
        log_prior = fallback if parameters.get("uses_prior", True) else np.zeros(len(fallback))
        return estimate(counts, {COLUMN: cls._family(parameters)}, settings, log_prior, fallback)

    @property
    def class_log_prior_(self) -> Floats:
        """Logarithm of the probability of each class."""
        return np.array(self._learned.model.fallback)

    @property
    def feature_count_(self) -> Floats:
        """Sum of each feature per class."""
        return np.array(self._learned.counts.columns[COLUMN].n)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = True
        return tags


class WordsNB(DiscreteNB):
    """What the two classifiers of word counts share."""

    def _checked(self, X: TableLike, *y: ColumnLike, reset: bool = False) -> list[Any]:
        X, *labels = super()._checked(X, *y, reset=reset)
        if float(X.max()) > LARGEST_COUNT:
            raise InvalidInput(f"X holds {X.max():g}; counts beyond {LARGEST_COUNT:g} cannot be summed.")
        if y:
            check_non_negative(X, f"{type(self).__name__} (input X)")
        return [X, *labels]

    @property
    def feature_log_prob_(self) -> Floats:
        """What one occurrence of each word adds to the score of each class."""
        return np.array(self._likelihood.weights)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


class MultinomialNB(WordsNB):
    """Multinomial naive Bayes, as `sklearn.naive_bayes.MultinomialNB`.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Additive (Laplace or Lidstone) smoothing parameter, for all features or one per feature; 0 is no smoothing.
    force_alpha : bool, default=True
        Whether to use an alpha below 1e-10 as it is; if False, it is raised to 1e-10 with a warning.
    fit_prior : bool, default=True
        Whether to estimate class priors from the data; if False, a uniform prior is used.
    class_prior : array-like of shape (n_classes,), optional
        Prior probabilities of the classes, used instead of estimated ones.
    n_jobs : int, optional
        Number of threads. None means `NAIVELY_THREADS`, or all CPUs that the process may use, like -1.

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

    @staticmethod
    def _family(parameters: Parameters) -> Words:
        return Words()


class ComplementNB(WordsNB):
    """Complement naive Bayes, as `sklearn.naive_bayes.ComplementNB`; a `class_prior` is used.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Additive (Laplace or Lidstone) smoothing parameter, for all features or one per feature; 0 is no smoothing.
    force_alpha : bool, default=True
        Whether to use an alpha below 1e-10 as it is; if False, it is raised to 1e-10 with a warning.
    fit_prior : bool, default=True
        Only used if there is a single class.
    class_prior : array-like of shape (n_classes,), optional
        Prior probabilities of the classes; their logarithms are added to the scores.
    norm : bool, default=False
        Whether to normalize the weights once more: those of each class are divided by their sum.
    n_jobs : int, optional
        Number of threads. None means `NAIVELY_THREADS`, or all CPUs that the process may use, like -1.

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

    _parameter_constraints = theirs.ComplementNB._parameter_constraints | BaseNB._parameter_constraints

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
        super().__init__(
            alpha=alpha, force_alpha=force_alpha, fit_prior=fit_prior, class_prior=class_prior, n_jobs=n_jobs
        )
        self.norm = norm

    @staticmethod
    def _family(parameters: Parameters) -> Words:
        return Words(complement=True, norm=parameters["norm"])

    def _settled(self, classes: int) -> Parameters:
        uses_prior = self.class_prior is not None or classes == 1
        return {**super()._settled(classes), "norm": self.norm, "uses_prior": uses_prior}

    @property
    def feature_all_(self) -> Floats:
        """Sum of each feature over all classes."""
        return np.asarray(self.feature_count_.sum(axis=0))


class BernoulliNB(DiscreteNB):
    """Bernoulli naive Bayes, as `sklearn.naive_bayes.BernoulliNB`.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Additive (Laplace or Lidstone) smoothing parameter, for all features or one per feature; 0 is no smoothing.
    force_alpha : bool, default=True
        Whether to use an alpha below 1e-10 as it is; if False, it is raised to 1e-10 with a warning.
    binarize : float or None, default=0.0
        Threshold for binarizing: values above it become 1, others 0. None means that X is binary already.
    fit_prior : bool, default=True
        Whether to estimate class priors from the data; if False, a uniform prior is used.
    class_prior : array-like of shape (n_classes,), optional
        Prior probabilities of the classes, used instead of estimated ones.
    n_jobs : int, optional
        Number of threads. None means `NAIVELY_THREADS`, or all CPUs that the process may use, like -1.

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

    _parameter_constraints = theirs.BernoulliNB._parameter_constraints | BaseNB._parameter_constraints

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
        super().__init__(
            alpha=alpha, force_alpha=force_alpha, fit_prior=fit_prior, class_prior=class_prior, n_jobs=n_jobs
        )
        self.binarize = binarize

    @property
    def _kinds(self) -> str:  # type: ignore[override]  # it depends on a parameter
        return "" if self.binarize is None else "fiubs"  # without a threshold, cells must be looked at first

    def _checked(self, X: TableLike, *y: ColumnLike, reset: bool = False) -> list[Any]:
        X, *labels = super()._checked(X, *y, reset=reset)
        threshold = self.binarize if y else self._learned.parameters["binarize"]
        if threshold is None and (X.min() < 0 or X.max() > 1):
            raise InvalidInput(
                Setting("binarize", None, of="BernoulliNB()"),
                f" needs cells between 0 and 1; found {X.min():g} to {X.max():g}. Set binarize to the number above "
                "which a feature is 1, e.g. 0.0.",
            )
        return [X, *labels]

    def _start(self, classes: Axis, X: Matrix) -> TableAccumulator:
        return TableAccumulator(classes, Axis.numbered(X.shape[1]), self.binarize)

    def _prepared(self, accumulator: TableAccumulator, X: Matrix, weights: Floats | None) -> TableAccumulator:
        accumulator.threshold = self.binarize  # it may have been set between two batches
        return accumulator

    @staticmethod
    def _family(parameters: Parameters) -> Bernoulli:
        return Bernoulli(threshold=parameters["binarize"])

    def _settled(self, classes: int) -> Parameters:
        return {**super()._settled(classes), "binarize": self.binarize}

    @property
    def feature_log_prob_(self) -> Floats:
        """Logarithm of the probability that each feature is 1, per class."""
        return np.array(self._likelihood.log_there)
