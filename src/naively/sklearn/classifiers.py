"""The five classifiers: counts of words, binary features, codes of categories, numbers."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import naive_bayes as theirs
from sklearn.utils import Tags
from sklearn.utils.validation import check_non_negative

from .._kernels import LARGEST_COUNT
from .._threads import allowed
from .._types import AnyArray, ColumnLike, Floats, Longs, Matrix, TableLike
from ..counting import arrays
from ..errors import InvalidInput, InvalidSetting
from ..errors.message import Setting
from ..families import Bernoulli, Categorical, Family, Gaussian, Settings, Words
from ..model.column_parts import empirical_prior, estimate, given_prior, uniform_prior
from ..model.scorer import NaiveModel
from ..stats import Axis, CodesAccumulator, Counts, Moments, MomentsAccumulator, TableAccumulator
from .base import (
    COLUMN,
    AnyAccumulator,
    BaseNB,
    Foreign,
    empty_like_input,
    float_type,
    in_input_library,
    to_numpy,
    to_place_of,
    validated,
)

MAXIMUM_LIKELIHOOD = Settings(estimate="mle")
# Unless told otherwise, a smaller alpha is raised to this.
LEAST_ALPHA = 1e-10

# Counts of all codes of all features, over all classes: 1 GiB. With more, the features are surely not codes.
MOST_COUNTS = 2**27
ADVICE = "Codes must be 0, 1, 2, …: use sklearn.preprocessing.OrdinalEncoder to make them."
# Beyond this, a weight and the square of a number that is allowed by itself may overflow together.
HEAVY = 1e6


# -- counts of words, and binary features ------------------------------------------------------------------------------


def discrete_model(
    family: Family, settings: Settings, log_prior: Floats | None, uses_prior: bool, counts: Counts
) -> NaiveModel:
    """Return the model of some counts; the prior is estimated unless it is given."""
    fallback = empirical_prior(counts.rows, MAXIMUM_LIKELIHOOD) if log_prior is None else log_prior
    return estimate(counts, {COLUMN: family}, settings, fallback if uses_prior else np.zeros(len(fallback)), fallback)


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

    @abstractmethod
    def _family(self) -> Family:
        """Return the family that the parameters describe."""

    def _estimator(self, classes: int, uses_prior: bool = True) -> partial[NaiveModel]:
        smoothing, log_prior = self._check_alpha(), None
        if self.class_prior is not None:
            log_prior = given_prior(self.class_prior, classes)
        elif not self.fit_prior:
            log_prior = uniform_prior(classes)
        return partial(discrete_model, self._family(), Settings(smoothing=smoothing), log_prior, uses_prior)

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

    def _family(self) -> Words:
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

    def _family(self) -> Words:
        return Words(complement=True, norm=self.norm)

    def _estimator(self, classes: int, uses_prior: bool = True) -> partial[NaiveModel]:
        return super()._estimator(classes, self.class_prior is not None or classes == 1)

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
        threshold = self.binarize if y else self._likelihood.family.threshold
        if threshold is None and (X.min() < 0 or X.max() > 1):
            raise InvalidInput(
                Setting("binarize", None, of="BernoulliNB()"),
                f" needs cells between 0 and 1; found {X.min():g} to {X.max():g}. Set binarize to the number above "
                "which a feature is 1, e.g. 0.0.",
            )
        return [X, *labels]

    def _prepared(self, accumulator: TableAccumulator, X: Matrix, weights: Floats | None) -> TableAccumulator:
        accumulator.threshold = self.binarize
        return accumulator

    def _family(self) -> Bernoulli:
        return Bernoulli(threshold=self.binarize)

    @property
    def feature_log_prob_(self) -> Floats:
        """Logarithm of the probability that each feature is 1, per class."""
        return np.array(self._likelihood.log_there)


# -- codes of categories -----------------------------------------------------------------------------------------------


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

    def _family(self) -> Categorical:
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


# -- numbers -----------------------------------------------------------------------------------------------------------


def gaussian_model(counts: Counts, *, prior: AnyArray | None, var_smoothing: float) -> NaiveModel:
    """Return the model of some counts; the prior is estimated unless it is given."""
    rows = counts.rows
    log_prior = empirical_prior(rows, MAXIMUM_LIKELIHOOD) if prior is None else given_prior(prior, len(rows))
    # From all rows together: the portion would change with the size of the last batch otherwise.
    epsilon = var_smoothing * float(counts.columns[COLUMN].overall().variance.max(initial=0.0))
    return estimate(counts, {COLUMN: Gaussian(epsilon=epsilon)}, MAXIMUM_LIKELIHOOD, log_prior)


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

    def _estimator(self, classes: int) -> partial[NaiveModel]:
        if self.priors is not None:
            given_prior(self.priors, classes)  # refuses what is none
        prior = None if self.priors is None else np.array(self.priors)
        return partial(gaussian_model, prior=prior, var_smoothing=self.var_smoothing)

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
        prior, rows = self._learned.estimate.keywords["prior"], self._learned.counts.rows
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
