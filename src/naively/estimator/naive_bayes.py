"""NaiveBayes: the classifier as an estimator of scikit-learn."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator, ClassifierMixin

from .classifier import Classifier


class NaiveBayes(Classifier, ClassifierMixin, BaseEstimator):
    """Naive Bayes for tables as they are: texts, numbers, booleans, dates, holes.

    Parameters
    ----------
    families : dict or Schema, optional
        The family of some columns by name, e.g. ``{"zip": "categorical", "visits": nv.Poisson()}``. By default texts,
        categories and booleans are categorical; types with an order are ordinal; numbers, dates and times are
        Gaussian; sparse matrices are words.
    model : "auto", "textbook" or "refined"
        "auto" takes columns together: bins of numbers, pairs of columns and all of them at once, each believed as
        strongly as rows left out show to be right; `fit` goes over the rows twice. "textbook": columns are independent
        within a class, each by its family. "refined" adjusts what single values say, such as words, as far as rows
        left out show that it pays. Fewer than 50 rows or more than 300 classes are left to the text book.
    estimate : "bayes", "map" or "mle"
        The posterior predictive (Laplace's rule), the mode of the posterior, or the plain frequencies.
    smoothing : float or "auto"
        The λ of the prior of every column. "auto" lets `fit` choose it by leaving each row out of the counts: one for
        all columns, or one for each where that answers better; `smoothing_` says which.
    temperature : None, "auto" or float
        How much softer than the text book's the probabilities are: log joints are divided by it. "auto" lets `fit` call
        `calibrate` with its rows; by default there is none until `calibrate` is called.
    prior : "empirical", "uniform", dict or array
        Probability of each class: as frequent as it is in the rows, all alike, or given, by label or in the order of
        `classes_`. Unlike ``class_weight`` it changes nothing of what was counted.
    prior_smoothing : float
        The λ of the class prior: (n + λ) / (N + K·λ).
    classes : list, optional
        Labels that stay known even where no row has them. With ``unlabelled="em"``, those that no row has are learned,
        too; where no row has any, a number says how many there are.
    columns : list of str, optional
        The columns that may speak; by default all.
    missing : "skip" or "value"
        Whether a missing cell says nothing, or is a value like any other.
    unseen : "skip", "smooth" or "error"
        Whether a category never met says nothing, has a reserved place in every class, or is an error.
    max_categories : int, optional
        At most so many categories of a column are told apart; the rarest are taken as one.
    cost : array, dict or "squared" or "absolute", optional
        ``cost[true, chosen]`` in the order of `classes_`, or a dict such as ``{("bad", "good"): 5}`` whose other
        mistakes cost 1. With numbers as labels, "squared" answers with their mean and "absolute" with their median.
    reject : float, optional
        The price of not answering; `predict` then gives None where every answer is expected to cost more.
    unlabelled : "error", "skip" or "em"
        Whether a row without a label is an error, skipped, or learned by expectation-maximisation: `fit` counts it for
        every class by how probable that class is, until nothing changes. Needs ``estimate="map"`` or ``"mle"``.
    threads : int, optional
        How many threads to use; by default `NAIVELY_THREADS`, or all CPUs that the process may use.
    random_state : int, RandomState or None
        How `cross_validate` splits rows into folds, and where classes without any label begin (``unlabelled="em"``);
        nothing else is random.
    class_weight : "balanced" or dict, optional
        What a row of each class weighs, multiplied by its own weight; a class that a dict does not name has 1.
        "balanced" lets all classes weigh the same in sum: N / (K n), as in scikit-learn. It acts on what is counted, so
        a change of it acts at the next `fit`; scores are not weighted by it. `partial_fit` and `forget` need a dict.

    Attributes
    ----------
    classes_ : array
        The labels, sorted, with their own type.
    counts_ : Counts
        Everything that was counted.
    expected_ : Expected or None
        What was learned from rows without a label: an estimate, and so kept beside the counts.
    schema_ : Schema
        What each column is.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import naively as nv
    >>> table = {"sky": ["sunny", "rain", None, "rain"], "wind": [3.0, 9.5, 4.0, 8.0]}
    >>> nb = nv.NaiveBayes().fit(table, ["out", "in", "out", "in"])
    >>> nb.predict([{"sky": "sunny", "wind": 5.0}, {"sky": "snow", "wind": None}])
    array(['out', 'in'], dtype='<U3')
    >>> nb.predict_proba({"sky": "rain", "wind": 9.0}).round(3)
    array([[0.998, 0.002]])
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        return tags
