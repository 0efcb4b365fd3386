"""NaiveBayes: the classifier as an estimator of scikit-learn. Settings in, functions of the package called."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from .._types import AnyArray, ColumnLike, Floats, Label, Mask, Objects, TableLike
from ..counting.profile import Profile
from ..counting.reading import refuse_balanced
from ..data.dict_rows import is_labelled_row, is_one_row
from ..data.model_file import ModelPlace
from ..data.schema import Schema
from ..data.target import single
from ..explain.evidence import Evidence
from ..explain.words import words_for_class
from ..families.family import Estimate, Missing, Unseen
from ..files.file import file_of
from ..judge.decision import cost_and_choices, expected_cost
from ..judge.scores import Scores
from ..model.em import Expected
from ..model.recipe import RECIPE, Recipe
from ..model.scorer import AdditiveModel
from ..model.tuning import Smoothing, Tuning
from ..stats import Counts
from ..stats.axis import is_missing
from . import answers, reports, update
from .fit import fit_rows, state_of_profile, warn_of_target
from .fitted_classifier import FittedClassifier, KeptRowCount, kept_row_count, without_kept_rows
from .held_out import conformalized_state, prediction_sets, probability_interval, score_of, scores_by_leave_one_out
from .load import save_model
from .settings import (
    NAMES,
    ClassesLike,
    ClassWeightLike,
    CostLike,
    FamiliesLike,
    Parameters,
    PriorLike,
    RandomStateLike,
)
from .sklearn_protocol import SklearnProtocol
from .state import FittedState, state_of_counts
from .tuner import calibrated_state
from .update import current_model, rows_to_count, times_weight, up_to_date, with_types_of_rows, without_types

if TYPE_CHECKING:
    from ..flat import FlatModel
    from .html_report import Report


class NaiveBayes(SklearnProtocol):
    """Naive Bayes for tables as they are: texts, numbers, booleans, dates, missing values.

    Parameters
    ----------
    families : dict or Schema, optional
        The family of some columns by name, e.g. ``{"zip": "categorical", "visits": nv.Poisson()}``. By default texts,
        categories and booleans are categorical; types with an order are ordinal; numbers, dates and times are
        Gaussian; sparse matrices are counts of words.
    model : {"auto", "textbook"}, default="auto"
        "auto" is the default model: values of single columns, pairs of columns, and a linear and a quadratic term of
        all columns, with weights fitted to the log loss of held-out rows, and coefficients of values, pairs, triples
        and words if they lower it. "textbook": columns are independent within a class, each by its family. Fewer than
        50 rows or more than 300 classes get the textbook model.
    estimate : {"bayes", "map", "mle"}, default="bayes"
        The posterior predictive (Laplace's rule), the mode of the posterior, or the plain frequencies.
    smoothing : float or "auto", default=1.0
        The λ of the prior of every column, in pseudo-counts. "auto" lets `fit` choose it by leave-one-out log loss: one
        for all columns, or one for each where that is better; `smoothing_` says which.
    temperature : float, "auto" or None, default=None
        What log joints are divided by: above 1, probabilities are less extreme than the textbook model's. "auto" lets
        `fit` call `calibrate` with its rows; by default there is none until `calibrate` is called.
    prior : "empirical", "uniform", dict or array, default="empirical"
        Probability of each class: its proportion of the rows, the same for all, or given, by label or in the order of
        `classes_`. Unlike ``class_weight`` it changes nothing of what was counted.
    prior_smoothing : float, default=1.0
        The λ of the class prior: (n + λ) / (N + K·λ).
    classes : list, optional
        Labels that stay known even where no row has them.
    columns : list of str, optional
        The columns that are used; by default all.
    missing : {"skip", "value"}, default="skip"
        Whether a missing value contributes nothing, or is a value like any other.
    unseen : {"skip", "smooth", "error"}, default="skip"
        Whether a category that was never seen contributes nothing, has a reserved probability in every class, or is an
        error.
    max_categories : int, optional
        At most so many categories of a column are distinguished; the rarest are counted as one.
    cost : array, dict, "squared" or "absolute", optional
        ``cost[true, chosen]`` in the order of `classes_`, or a dict such as ``{("bad", "good"): 5}`` whose other
        mistakes cost 1. With numbers as labels, "squared" answers with their mean and "absolute" with their median.
    reject : float, optional
        The price of not answering; `predict` then gives None where every answer is expected to cost more.
    unlabelled : {"error", "skip", "em"}, default="error"
        Whether a row without a label is an error, skipped, or learned by expectation-maximization: `fit` counts it for
        every class by how probable that class is, until nothing changes. Needs ``estimate="map"`` or ``"mle"``. The
        default model counts it once, if held-out rows gain by it.
    n_jobs : int, optional
        How many threads to use; by default `NAIVELY_THREADS`, or all CPUs that the process may use. -1 stands for all
        CPUs, -2 for all but one.
    random_state : int, RandomState or None, default=0
        How `cross_validate` splits rows into folds; nothing else is random.
    class_weight : "balanced" or dict, optional
        The weight of a row of each class, multiplied by its own weight; a class that a dict does not name has 1.
        "balanced" makes the weights of all classes sum to the same: N / (K n), as in scikit-learn. It acts on what is
        counted, so a change of it acts at the next `fit`; scores are not weighted by it. `partial_fit` and `forget`
        need a dict.

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
    tuning_ : Tuning
        What was chosen on top of the counts.
    fitted_ : FittedClassifier
        Settings and fitted state as one value.
    kept_rows_ : KeptRowCount
        How many rows are kept beside the counts, to fit weights anew when rows come or go.
    n_features_in_ : int
        The number of columns, as in scikit-learn.
    feature_names_in_ : array
        The names of the columns, if they had names, as in scikit-learn.

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

    # Assigned once, at the very end of whatever changes it: what is raised before leaves the estimator as it was.
    _fitted: FittedClassifier | None = None
    # The constants of the method. A subclass may have others, for experiments; a model file does not hold them.
    _recipe: ClassVar[Recipe] = RECIPE

    def __init__(
        self,
        *,
        families: FamiliesLike = None,
        model: str = "auto",
        estimate: Estimate = "bayes",
        smoothing: float | str = 1.0,
        temperature: float | str | None = None,
        prior: PriorLike = "empirical",
        prior_smoothing: float = 1.0,
        classes: ClassesLike = None,
        columns: Iterable[str] | None = None,
        missing: Missing = "skip",
        unseen: Unseen = "skip",
        max_categories: int | None = None,
        cost: CostLike = None,
        reject: float | None = None,
        unlabelled: str = "error",
        n_jobs: int | None = None,
        random_state: RandomStateLike = 0,
        class_weight: ClassWeightLike = None,
    ) -> None:
        self.families = families
        self.model = model
        self.estimate = estimate
        self.smoothing = smoothing
        self.temperature = temperature
        self.prior = prior
        self.prior_smoothing = prior_smoothing
        self.classes = classes
        self.columns = columns
        self.missing = missing
        self.unseen = unseen
        self.max_categories = max_categories
        self.cost = cost
        self.reject = reject
        self.unlabelled = unlabelled
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.class_weight = class_weight

    # -- state ----------------------------------------------------------------------------------------------------

    @property
    def parameters(self) -> Parameters:
        """The settings as one value."""
        return Parameters(**{name: getattr(self, name) for name in NAMES}, recipe=self._recipe)

    @property
    def fitted_(self) -> FittedClassifier:
        """The settings as they are now and the fitted state as one value; rows that come later are added to it."""
        self._fitted = current = current_model(self._held())
        return current

    @fitted_.setter
    def fitted_(self, fitted: FittedClassifier) -> None:
        self._fitted = replace(fitted, parameters=self.parameters)

    def _held(self) -> FittedClassifier:
        """Return the settings as they are now and the fitted state, whether it is current or not."""
        held = self._fitted
        if held is None:
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before "
                "using this estimator."
            )
        now, then = vars(self), vars(held.parameters)
        for name in NAMES:
            if now[name] is not then[name]:
                held = self._fitted = replace(held, parameters=self.parameters)
                break
        return held

    def _to_add(self) -> FittedClassifier:
        """Return the fitted model to be added to others: where all rows are kept, these are enough, current or not."""
        held = self._held()
        kept = held.state.kept
        return held if kept is not None and kept.complete else self.fitted_

    def _assign(self, state: FittedState) -> FittedClassifier:
        """Go on with another state."""
        self._fitted = FittedClassifier(self.parameters, state)
        return self._fitted

    @classmethod
    def from_fitted(cls, fitted: FittedClassifier) -> Self:
        """Return the classifier of a fitted model, with its settings.

        Parameters
        ----------
        fitted : FittedClassifier
            The `fitted_` of another classifier.

        Returns
        -------
        NaiveBayes
            A fitted classifier.
        """
        nb = cls(**fitted.parameters.to_dict())
        parameters = replace(fitted.parameters, recipe=cls._recipe)
        nb._fitted = FittedClassifier(parameters, fitted.state.apart())  # rows are added to one of them alone
        return nb

    @classmethod
    def from_counts(
        cls, counts: Counts, schema: Schema | None = None, *, profile: Profile | None = None, **params: Any
    ) -> Self:
        """Return the classifier of these counts.

        Parameters
        ----------
        counts : Counts
            What was counted, e.g. by `nv.count`.
        schema : Schema, optional
            What the columns are; by default that of the counts, or what their statistics suggest.
        profile : Profile, optional
            The profile of the same rows, under whose schema they were counted. What the settings leave open is fitted
            to its sample of rows: the model is that of one `fit` of all rows. Without it, the textbook model answers.
        **params
            The settings of `NaiveBayes`.

        Returns
        -------
        NaiveBayes
            A fitted classifier.

        Examples
        --------
        >>> import naively as nv
        >>> counts = nv.count({"sky": ["rain", "sunny"]}, ["in", "out"])
        >>> nv.NaiveBayes.from_counts(counts).predict({"sky": "rain"})
        array(['in'], dtype='<U3')
        """
        nb = cls(**params)
        if profile is None:
            nb._assign(state_of_counts(nb.parameters, counts, schema or counts.schema))
        else:
            nb._assign(state_of_profile(nb.parameters, counts, profile))
        return nb

    # -- counting -------------------------------------------------------------------------------------------------

    def fit(
        self, X: TableLike, y: ColumnLike = None, *, sample_weight: ColumnLike = None, target: str | None = None
    ) -> Self:
        """Fit to these rows alone.

        Parameters
        ----------
        X : data frame, array, sparse matrix, dict of columns, list of dicts, path or File
            The rows. Rows of files are read a block at a time; they may be more than fit into memory.
        y : array of labels, or frame of probabilities by class, optional
            The class of each row; left out if `target` names a column.
        sample_weight : array or str, optional
            How many rows each row stands for, or the name of the column that says so.
        target : str, optional
            The column of X that holds the classes.

        Returns
        -------
        NaiveBayes
            The same object.

        Raises
        ------
        InvalidInput
            If the rows or the settings cannot be used. Then, and if `fit` is interrupted, the estimator is unchanged.

        Examples
        --------
        >>> import naively as nv
        >>> rows = [{"sky": "rain", "go": "in"}, {"sky": "sunny", "go": "out"}]
        >>> nv.NaiveBayes().fit(rows, target="go").classes_
        array(['in', 'out'], dtype=object)
        """
        parameters = self.parameters
        parameters.check()
        state = fit_rows(parameters, rows_to_count(parameters, X, y, target, sample_weight))
        counts = FittedClassifier(parameters, state).all_counts
        self._assign(state)
        warn_of_target(counts)
        return self

    def partial_fit(
        self,
        X: TableLike,
        y: ColumnLike = None,
        classes: Iterable[Label] | None = None,
        sample_weight: ColumnLike = None,
        *,
        target: str | None = None,
    ) -> Self:
        """Add rows to those that were counted. New classes and categories may come at any time.

        Every answer is that of a current model: what is fitted on top of the counts is fitted anew at the next
        question, once more than 5 % of the rows are new. Up to 50,000 rows, that is the model of one fit of all.

        Parameters
        ----------
        X : data frame, array, dict of columns, list of dicts, path or File
            The rows, as for `fit`; one row may be a dict of its values, with its label as `y`.
        y : array of labels, optional
            The class of each row; left out if `target` names a column.
        classes : list, optional
            Labels to declare beside those of the rows.
        sample_weight : array or str, optional
            How many rows each row stands for, or the name of the column that says so.
        target : str, optional
            The column of X that holds the classes.

        Returns
        -------
        NaiveBayes
            The same object.

        Examples
        --------
        >>> import naively as nv
        >>> nb = nv.NaiveBayes().partial_fit({"sky": "rain"}, "in").partial_fit({"sky": "sunny"}, "out")
        >>> nb.predict({"sky": "sunny"})
        array(['out'], dtype='<U3')
        """
        refuse_balanced(self.class_weight, "partial_fit")
        held = self._fitted
        if held is None:
            return self._fit_first(X, y, classes, sample_weight, target)
        before, counts = held.state, held.state.counts
        alone = classes is None and sample_weight is None and target is None and before.class_weights is None
        single_row = alone and is_one_row(X) and counts.counter.takes_row(label := single(y))
        single_row = single_row and all(is_missing(X.get(name)) for name in before.schema.empty)
        if single_row and before.kept is None and not held.parameters.leaves_choices:  # at once, row by row
            after = update.add_row(held, X, label)
            if after is not before:
                self._fitted = replace(held, state=after)
                update.warn_of_change(before, self._fitted)
            return self
        fitted, declared = self._held(), None if classes is None else list(classes)
        X = file_of(X) or X  # a stream begins but once
        typed = with_types_of_rows(fitted, X)
        rows = rows_to_count(fitted.parameters, X, y, target, sample_weight, typed.state)
        counts = typed.state.counts
        saved = counts.backup()
        try:
            after = update.add_rows_to_state(typed, rows, declared)
            self._fitted = replace(fitted, state=without_types(after, before.schema.empty))
        except BaseException as error:
            self._fitted = fitted
            counts.restore(saved, error)
            raise
        update.warn_of_change(before, self._fitted)
        return self

    def _fit_first(
        self,
        X: TableLike,
        y: ColumnLike,
        classes: Iterable[Label] | None,
        sample_weight: ColumnLike,
        target: str | None,
    ) -> Self:
        """Fit to the first rows, which others will follow."""
        X, y = (dict(X), [y]) if is_labelled_row(X, y) else (X, y)
        parameters = self.parameters if classes is None else replace(self.parameters, classes=list(classes))
        parameters.check()
        rows = rows_to_count(parameters, X, y, target, sample_weight)
        weights = self.class_weight
        self._assign(fit_rows(parameters, rows, list(weights) if isinstance(weights, dict) else ()))
        return self

    def forget(
        self, X: TableLike, y: ColumnLike = None, sample_weight: ColumnLike = None, *, target: str | None = None
    ) -> Self:
        """Subtract rows from the counts, which are then those of the remaining rows.

        Up to 50,000 rows, the model is then that of one fit of the remaining rows. With more rows, counts are exact,
        and weights are fitted anew on the remaining rows that are kept. No cell of a forgotten row stays in the model.
        If the model keeps no rows, its weights stay as they were, with a `StaleWarning`.

        Parameters
        ----------
        X : data frame, array, dict of columns, list of dicts, path or File
            Rows that were counted before, as for `fit`.
        y : array of labels, optional
            The class of each row; left out if `target` names a column.
        sample_weight : array or str, optional
            How many rows each row stands for, or the name of the column that says so.
        target : str, optional
            The column of X that holds the classes.

        Returns
        -------
        NaiveBayes
            The same object.

        Raises
        ------
        NotASubset
            If the rows cannot have been among those that were counted; nothing is changed then.

        Examples
        --------
        >>> import naively as nv
        >>> nb = nv.NaiveBayes().fit({"sky": ["rain", "rain", "sunny"]}, ["in", "in", "out"])
        >>> nb.forget({"sky": ["rain"]}, ["in"]).counts_
        Counts: 2 rows (in: 1, out: 1), 1 columns
        """
        fitted = self._held()
        before = fitted.state
        rows = rows_to_count(fitted.parameters, X, y, target, sample_weight, before)
        after = self._assign(update.forget_rows(fitted, rows))
        update.warn_of_change(before, after)
        return self

    def calibrate(
        self,
        X: TableLike,
        y: ColumnLike = None,
        sample_weight: ColumnLike = None,
        *,
        target: str | None = None,
        held_out: bool = False,
    ) -> Self:
        """Calibrate the probabilities: fit one temperature for all rows, and biases of the classes where they pay.

        The log joint becomes bias + (log joint) / temperature, fitted by least leave-one-out log loss on the rows that
        were counted; a row that weighs w is left out whole. With ``smoothing="auto"`` the λ is chosen anew together
        with it. At most 50,000 rows are used, always the same ones. A bias for each class is added if it saves more
        than one nat for each, and if the prior is "empirical". With ``model="auto"`` the weights are fitted again
        instead.

        Parameters
        ----------
        X : data frame, array, dict of columns, list of dicts
            The rows that the model was fitted to, in memory.
        y : array of labels, optional
            The class of each row; left out if `target` names a column.
        sample_weight : array or str, optional
            How many rows each row stands for, or the name of the column that says so.
        target : str, optional
            The column of X that holds the classes.
        held_out : bool, default=False
            Whether the rows were never counted, so that none has to be left out. For the textbook model alone.

        Returns
        -------
        NaiveBayes
            The same object.

        Examples
        --------
        >>> import naively as nv
        >>> twice = {"a": ["x", "x", "x", "y", "y", "y"] * 5, "again": ["x", "x", "x", "y", "y", "y"] * 5}
        >>> y = ["in", "in", "out", "out", "out", "in"] * 5
        >>> nb = nv.NaiveBayes().fit(twice, y)
        >>> nb.predict_proba({"a": "x", "again": "x"}).round(2)  # the same evidence, counted twice
        array([[0.77, 0.23]])
        >>> nb.calibrate(twice, y).predict_proba({"a": "x", "again": "x"}).round(2)
        array([[0.63, 0.37]])
        """
        fitted = self.fitted_
        self._assign(calibrated_state(fitted, X, y, sample_weight, target, held_out=held_out))
        return self

    # -- what was learned -----------------------------------------------------------------------------------------

    @property
    def counts_(self) -> Counts:
        """Everything that was counted."""
        return self.fitted_.counts

    @property
    def expected_(self) -> Expected | None:
        """What was learned from rows without a label, an estimate beside the counts; None if every row had one."""
        return self._held().state.expected

    @property
    def schema_(self) -> Schema:
        """What each column is, with remarks on what looks odd."""
        return self.fitted_.schema

    @property
    def classes_(self) -> AnyArray:
        """The labels, sorted."""
        return self._held().classes

    @property
    def n_features_in_(self) -> int:
        """The number of columns."""
        return len(self._held().schema)

    @property
    def feature_names_in_(self) -> Objects:
        """The names of the columns, if they had names."""
        state = self._held().state
        if not state.has_names:
            raise AttributeError("The columns had no names.")
        return np.array(state.schema.names, dtype=object)

    @property
    def tuning_(self) -> Tuning:
        """What was chosen on top of the counts, and by how much it lowered the log loss."""
        return self.fitted_.state.tuning

    @property
    def calibrated_(self) -> bool:
        """Whether the probabilities are calibrated, for the counts and the settings as they are now."""
        return self.fitted_.is_calibrated

    @property
    def smoothing_(self) -> Smoothing:
        """The λ in effect: one for all columns, or a dict with one for each; 1 if there were no rows to choose it."""
        return self.fitted_.smoothing

    @property
    def temperature_(self) -> float:
        """The temperature in effect: log joints are divided by it."""
        return self.fitted_.temperature

    # -- answers --------------------------------------------------------------------------------------------------

    def predict(self, X: TableLike) -> AnyArray:
        """Return the choice of least expected cost for each row: the most probable class, unless `cost` is set.

        Parameters
        ----------
        X : table, path or File
            The rows, with the columns of `fit` by name; one row may be a dict of its values.

        Returns
        -------
        array of shape (rows,)
            Labels; None where `reject` is set and every answer is expected to cost more.
        """
        return answers.decisions_of(self.fitted_, X)

    def predict_proba(self, X: TableLike) -> Floats:
        """Return P(class | row).

        Parameters
        ----------
        X : table, path or File
            The rows, as for `predict`.

        Returns
        -------
        array of shape (rows, classes)
            Probabilities in the order of `classes_`.
        """
        return answers.predict_rows(self.fitted_, X, AdditiveModel.posterior)

    def predict_log_proba(self, X: TableLike) -> Floats:
        """Return log P(class | row).

        Parameters
        ----------
        X : table, path or File
            The rows, as for `predict`.

        Returns
        -------
        array of shape (rows, classes)
            Logarithms of probabilities in the order of `classes_`, exact where the probability itself would be 0.
        """
        return answers.predict_rows(self.fitted_, X, AdditiveModel.log_posterior)

    def predict_joint_log_proba(self, X: TableLike) -> Floats:
        """Return log P(row, class) up to a constant of the row.

        Parameters
        ----------
        X : table, path or File
            The rows, as for `predict`.

        Returns
        -------
        array of shape (rows, classes)
            Log joints in the order of `classes_`.
        """
        return answers.predict_rows(self.fitted_, X, AdditiveModel.log_joint)

    def expected_cost(self, X: TableLike) -> Floats:
        """Return what each choice is expected to cost.

        Parameters
        ----------
        X : table, path or File
            The rows, as for `predict`.

        Returns
        -------
        array of shape (rows, choices)
            Expected costs; choices are the classes unless `cost` names others.
        """
        fitted = self.fitted_
        cost, _ = cost_and_choices(fitted.parameters.cost, fitted.classes)
        return expected_cost(answers.probabilities_of(fitted, X), cost)

    def predict_set(self, X: TableLike, level: float = 0.9, *, by_class: bool = False) -> Mask:
        """Return the classes that cannot be ruled out: a conformal prediction set for each row.

        A class is in the set unless its probability is among the lowest that true classes had in held-out rows: those
        of the ``1 - level`` part of the rows. The default model scores rows in five folds, each by a model fitted
        without it; the textbook model by leave-one-out. The most probable class is always in the set. The set of a new
        row contains its true class with a probability of about `level`, whatever the distribution; see the user guide
        for what is guaranteed. The scores are made at the first call; `conformalize` makes them of other rows.

        Parameters
        ----------
        X : table, path or File
            The rows, as for `predict`.
        level : float, default=0.9
            The probability that a set contains the true class.
        by_class : bool, default=False
            Whether the level holds for the rows of each class, and not only on average. Sets are larger then. A class
            with fewer than about ``1 / (1 - level)`` scored rows is in every set.

        Returns
        -------
        array of bool of shape (rows, classes)
            Whether each class, in the order of `classes_`, is in the set: ``nb.classes_[row]`` lists them.

        Examples
        --------
        >>> import naively as nv
        >>> X, y = {"sky": ["gray", "gray", "gray", "blue"] * 25}, ["rain", "rain", "dry", "dry"] * 25
        >>> nb = nv.NaiveBayes().fit(X, y)
        >>> [nb.classes_[row].tolist() for row in nb.predict_set({"sky": ["gray", "blue"]}, level=0.95)]
        [['dry', 'rain'], ['dry']]
        """
        return prediction_sets(self.fitted_, X, level, by_class=by_class)

    def predict_interval(self, X: TableLike, level: float | None = 0.9) -> tuple[Floats, Floats]:
        """Return an interval of P(class | row); it is wide where few rows are behind an answer.

        With the default model it is a confidence interval of how frequent the class is among rows with
        the same probability, by held-out scores as for `predict_set`. With the textbook model it is a credible
        interval: the parameters of every column and, if it is "empirical", the class prior have their posterior given
        the counts with λ, whatever `estimate` says. Both contain the answer of `predict_proba`.

        Without a level it is a Venn–Abers interval of any model: the calibrated probability of the class if the row
        were of another class, and if it were of this one. It has no confidence level, is much narrower, and need not
        contain the answer of `predict_proba`, which may not be calibrated.

        Parameters
        ----------
        X : table, path or File
            The rows, as for `predict`.
        level : float or None, default=0.9
            The probability of the interval; None for Venn–Abers.

        Returns
        -------
        low, high : array of shape (rows, classes)
            The ends of the intervals.
        """
        return probability_interval(self.fitted_, X, level)

    def conformalize(
        self,
        X: TableLike,
        y: ColumnLike = None,
        sample_weight: ColumnLike = None,
        *,
        target: str | None = None,
        held_out: bool = False,
    ) -> Self:
        """Score rows for `predict_set` and `predict_interval`.

        Without this call, a model that keeps rows scores them when a set or an interval is needed first. Scores are
        kept as a table of counts by class and probability, without the rows; `save` writes it once it was made, and
        `merge` adds it up. They are those of the model as it is: fitting again drops them.

        Parameters
        ----------
        X : data frame, array, dict of columns, list of dicts, path or File
            Rows that were counted, as for `fit`; each is scored by a model without it: by the default model in five
            folds, by the textbook model by leave-one-out.
        y : array of labels, or frame of probabilities by class, optional
            The class of each row; left out if `target` names a column.
        sample_weight : array or str, optional
            How many rows each row stands for, or the name of the column that says so.
        target : str, optional
            The column of X that holds the classes.
        held_out : bool, default=False
            Whether the rows were never counted, so that they are scored as they are. Sets then have their level by
            proof, not only in practice.

        Returns
        -------
        NaiveBayes
            The same object.

        Examples
        --------
        >>> import naively as nv
        >>> X, y = {"sky": ["gray", "gray", "gray", "blue"] * 25}, ["rain", "rain", "dry", "dry"] * 25
        >>> nb = nv.NaiveBayes(model="textbook").fit(X, y).conformalize(X, y)
        >>> nb.predict_set({"sky": "blue"})
        array([[ True, False]])
        """
        fitted = self.fitted_
        self._assign(conformalized_state(fitted, X, y, sample_weight, target, held_out=held_out))
        return self

    def score_samples(self, X: TableLike) -> Floats:
        """Return log P(row), the log marginal density. Calibration does not change it.

        Parameters
        ----------
        X : table, path or File
            The rows, as for `predict`.

        Returns
        -------
        array of shape (rows,)
            Log densities under the textbook model.
        """
        return answers.log_marginal_density(self.fitted_, X)

    def explain(self, X: TableLike, against: Label | None = None) -> Evidence:
        """Return the contribution of each column to each class; they add up to the log joint behind `predict_proba`.

        Parameters
        ----------
        X : table, path or File
            The rows, as for `predict`.
        against : label, optional
            The class that the picture compares the most probable class with; by default the runner-up.

        Returns
        -------
        Evidence
            Contributions by row, column and class, and pictures of them.
        """
        return answers.evidence_of(self.fitted_, X, against)

    # -- scores ---------------------------------------------------------------------------------------------------

    def leave_one_out(
        self, X: TableLike, y: ColumnLike = None, sample_weight: ColumnLike = None, *, target: str | None = None
    ) -> Scores:
        """Return scores of rows that the model was fitted to, each predicted by a model without it.

        With the textbook model each row is subtracted from the counts, in closed form. What each column is, and which
        values are rare (`max_categories`), stays as it is; so does a temperature. With the default model rows are held
        out in five folds by their content, and bins, weights and coefficients are fitted again without each fold:
        the `folds` of the scores tell which, and their `tuning` is "refit". If fewer rows are given than the weights
        were fitted on, the weights of all rows are kept ("fixed"), and the scores are slightly optimistic.

        Parameters
        ----------
        X : data frame, array, dict of columns, list of dicts, path or File
            Rows that were counted, as for `fit`.
        y : array of labels, optional
            The class of each row; left out if `target` names a column.
        sample_weight : array or str, optional
            How many rows each row stands for, or the name of the column that says so.
        target : str, optional
            The column of X that holds the classes.

        Returns
        -------
        Scores
            Of the rows, each predicted without it.

        Examples
        --------
        >>> import naively as nv
        >>> rows = {"sky": ["rain", "rain", "sunny", "sunny"] * 5}
        >>> nb = nv.NaiveBayes().fit(rows, ["in", "in", "out", "out"] * 5)
        >>> nb.leave_one_out(rows, ["in", "in", "out", "out"] * 5).accuracy
        1.0
        """
        return scores_by_leave_one_out(self.fitted_, X, y, sample_weight, target)

    def score(
        self, X: TableLike, y: ColumnLike = None, sample_weight: ColumnLike = None, *, target: str | None = None
    ) -> float:
        """Return the accuracy of `predict`, as in scikit-learn.

        A row that is not answered (`reject`) counts as a mistake, so that answering less cannot raise the score;
        `Scores` has the accuracy on answered rows, and the coverage. With "squared" or "absolute" costs, where answers
        are numbers, it is the `skill`: 1 less the cost relative to that of the best constant answer, which is R² for
        squared costs.

        Parameters
        ----------
        X : data frame, array, dict of columns, list of dicts, path or File
            The rows, as for `fit`.
        y : array of labels, optional
            The class of each row; left out if `target` names a column.
        sample_weight : array or str, optional
            How many rows each row stands for, or the name of the column that says so.
        target : str, optional
            The column of X that holds the classes.

        Returns
        -------
        float
            The accuracy, or the skill.

        Examples
        --------
        >>> import naively as nv
        >>> rows = {"sky": ["rain", "sunny"] * 5}
        >>> nv.NaiveBayes().fit(rows, ["in", "out"] * 5).score(rows, ["in", "out"] * 5)
        1.0
        """
        return score_of(self.fitted_, X, y, sample_weight, target)

    # -- reports --------------------------------------------------------------------------------------------------

    def probabilities(self, column: str) -> TableLike:
        """Return P(value | class) of a column; for numbers, the location and the width of each class.

        Parameters
        ----------
        column : str
            The name of a column in use.

        Returns
        -------
        data frame
            Of pandas or Polars if the program uses one of them, else of PyArrow.
        """
        return reports.column_probabilities(self.fitted_, column)

    def words(self, label: Label, top: int = 20, column: str | None = None) -> TableLike:
        """Return the words that contribute most to a class.

        Parameters
        ----------
        label : label
            The class.
        top : int, default=20
            How many words.
        column : str, optional
            The column of texts, if there are several.

        Returns
        -------
        data frame
            The words, their contributions, and in how many texts they were counted.
        """
        return words_for_class(self.fitted_.model, label, top, column)

    def importance(self) -> TableLike:
        """Return the mutual information of each column and the class, the highest first.

        `bits` is by how much a column by itself makes the class of a row more certain on average, whatever the model:
        noise has about 0, and no column has more than the entropy of the class. It is measured on counts of values and
        of bins of numbers, by leave-one-out; `error` is its standard error, and `rows` are those behind it. Where the
        model counts no bins (``model="textbook"``), those of numbers are some of the rows of `fit`, at most 16,384.
        Vectors, texts and numbers that were counted elsewhere have no figure.

        Returns
        -------
        data frame
            A line for each column.
        """
        return reports.importance_of_columns(self.fitted_)

    @property
    def feature_importances_(self) -> Floats:
        """The bits of `importance()` in the order of the columns, divided by their sum as those of trees are.

        For `RFE` and `SelectFromModel` of scikit-learn. A column that is not used (``columns=``) has 0.
        """
        return reports.feature_importances(self.fitted_)

    def summary(self) -> str:
        """Return what was learned, in words.

        Returns
        -------
        str
            Classes, columns and what was tuned, on several lines.
        """
        return reports.summary_of(self.fitted_)

    # -- files and copies -----------------------------------------------------------------------------------------

    def save(self, path: ModelPlace, *, rows: bool = False) -> None:
        """Write the model to one Parquet file: its counts, its schema, its settings, what was fitted.

        The model is brought up to date first: rows that came by `partial_fit` or went by `forget` are all taken in.

        Parameters
        ----------
        path : str, Path or file object
            The file; `nv.load` reads it. An existing file is replaced when the new one is complete. It may be a URL of
            another file system, such as ``"s3://bucket/model.parquet"`` (by fsspec), or a file open for writing bytes.
        rows : bool, default=False
            Whether the file also holds the rows that the model keeps, as they are: up to 50,000. The model that is
            loaded from it then learns, forgets and merges exactly as this one. By default a file holds no row.

        Raises
        ------
        UnwritableFile
            If the file cannot be written, or cannot hold the model.
        InvalidSetting
            If rows are to be written, and the model keeps none.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import naively as nv
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.parquet"
        >>> nb = nv.NaiveBayes().fit({"sky": ["rain", "sunny"]}, ["in", "out"])
        >>> nb.save(path, rows=True)
        >>> nv.load(path).kept_rows_.rows
        2
        >>> nb.save(path)
        >>> nv.load(path).kept_rows_.rows
        0
        """
        self._fitted = up_to_date(self._held())
        save_model(self._fitted, path, rows=rows)

    def flat(self, *, words: int | None = None) -> FlatModel:
        """Return the model as plain tables: all that is needed to score a row by looking values up, as JSON.

        Numbers in bins, values of labels, pairs of columns and words become tables of scores by class, whatever the
        model is. Such a file needs neither Naively nor Python.

        Parameters
        ----------
        words : int, optional
            How many words of each column of texts are kept, the most frequent; by default all. The result says how many
            are left out.

        Returns
        -------
        FlatModel
            The tables; `to_json()`, `json()` and `save(path)` write them.

        Raises
        ------
        InvalidInput
            If a column cannot be written as tables: vectors, hashed words, or words split by a function of Python.

        Examples
        --------
        >>> import naively as nv
        >>> nb = nv.NaiveBayes().fit({"sky": ["rain", "sun", "sun"]}, ["in", "out", "out"])
        >>> sorted(nb.flat().to_json())[:4]
        ['classes', 'columns', 'fallback', 'floor']
        """
        return reports.flattened(self.fitted_, words)

    def report(
        self,
        X: TableLike = None,
        y: ColumnLike = None,
        *,
        target: str | None = None,
        compare: NaiveBayes | None = None,
        rows: int = 200,
        words: int | None = None,
        title: str | None = None,
        language: str = "en",
    ) -> Report:
        """Return the model as one HTML page, which scores any row as `predict_proba` does and needs no network.

        The page shows what was learned, how good the model is on held-out rows, and the contribution of each column to
        the answer for a row whose cells can be changed.

        Parameters
        ----------
        X : data frame, array, dict of columns, path or File, optional
            Rows to look at. If the model was fitted on them, each is scored without itself.
        y : array of labels, optional
            The class of each row; left out if `target` names a column, or if the classes are not known.
        target : str, optional
            The column of X that holds the classes.
        compare : NaiveBayes, optional
            An earlier model of the same columns; the page then shows what has changed since.
        rows : int, default=200
            How many rows the page holds, at most; the most surprising ones come first.
        words : int, optional
            How many words of each column of texts the page holds, the most frequent; by default as many as 600,000
            divided by the number of classes. The page says how many are left out.
        title : str, optional
            The title of the page; by default it names the target.
        language : {"en", "zh"}, default="en"
            The language of the page.

        Returns
        -------
        Report
            The page; `save(path)` writes it, and a notebook shows it.

        Examples
        --------
        >>> import naively as nv
        >>> table = {"sky": ["sunny", "rain"] * 30, "wind": [3.0, 9.5, 4.0, 8.0] * 15}
        >>> report = nv.NaiveBayes().fit(table, ["out", "in"] * 30).report(table, ["out", "in"] * 30)
        >>> report.html[:15]
        '<!doctype html>'
        """
        from .html_report import ReportOptions, report_of, row_source

        other = None if compare is None else (compare.fitted_, "before", "after")
        source = row_source(self.fitted_, X, y, target)
        return report_of(self.fitted_, source, ReportOptions(rows, words, title, language), other)

    @property
    def kept_rows_(self) -> KeptRowCount:
        """How many rows the model keeps beside its counts, whether they are all, and how much memory they take."""
        return kept_row_count(self._held())

    def drop_rows(self) -> Self:
        """Drop the rows that the model keeps beside its counts; the model answers as before.

        Up to 50,000 rows are kept so that weights can be fitted anew when rows come or go. Without them, counts are
        still added and subtracted exactly; weights are averaged with those of new rows, and stay as they are when rows
        are forgotten. Pickles and copies hold the rows that are kept; after this they hold none.

        Returns
        -------
        NaiveBayes
            The same object.

        Examples
        --------
        >>> import naively as nv
        >>> nb = nv.NaiveBayes().fit({"sky": ["rain", "sunny"]}, ["in", "out"])
        >>> print(nb.kept_rows_)
        all 2 rows, as they are
        >>> print(nb.drop_rows().kept_rows_)
        no row
        """
        self._fitted = without_kept_rows(up_to_date(self._held()))
        return self

    def __mul__(self, weight: float) -> Self:
        """Return the model of the same rows, each weighing so many times as much: old rows can fade.

        Parameters
        ----------
        weight : float
            What every row is multiplied by, such as 0.9.

        Returns
        -------
        NaiveBayes
            A new classifier; this one stays as it is.

        Examples
        --------
        >>> import naively as nv
        >>> old = nv.NaiveBayes().fit({"sky": ["rain", "sunny"]}, ["in", "out"])
        >>> new = nv.NaiveBayes().fit({"sky": ["rain", "rain"]}, ["in", "out"])
        >>> nv.merge(0.5 * old, new).counts_
        Counts: 3 rows (in: 1.5, out: 1.5), 1 columns
        """
        return type(self).from_fitted(times_weight(self._to_add(), weight))

    __rmul__ = __mul__

    # -- in a notebook --------------------------------------------------------------------------------------------

    @property
    def _repr_html_(self) -> Callable[[], str]:
        """Shows what was learned; missing if scikit-learn is set to show estimators as texts."""
        from .html_report import classifier_html, shows_html  # notebooks alone need it

        if not shows_html():
            raise AttributeError("Estimators are shown as texts: display='text' is set in scikit-learn.")
        fitted = None if self._fitted is None else lambda: self.fitted_
        return lambda: classifier_html(fitted, self.parameters, type(self).__name__)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        shown = getattr(self, "_repr_html_", None)
        return {"text/plain": repr(self)} | ({} if shown is None else {"text/html": shown()})

    def __copy__(self) -> Self:
        other = type(self).__new__(type(self))
        other.__dict__.update(vars(self))
        if self._fitted is not None:
            other._fitted = FittedClassifier(self._fitted.parameters, self._fitted.state.apart())
        return other

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted is not None
