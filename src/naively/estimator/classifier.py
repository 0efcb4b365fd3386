"""A table in, probabilities and decisions out. A thin shell over counting, estimating and deciding."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from .._threads import allowed
from .._types import AnyArray
from ..counting.counter import TableCounter
from ..counting.files import FileRows
from ..counting.notes import about_target, is_doubtful
from ..counting.rows import (
    Rows,
    check_new_classes,
    check_widths,
    checked_classes,
    count_rows,
    labeled_rows,
    weightless,
    with_hints,
)
from ..counting.sampled_rows import numbers_to_measure, sampled_file
from ..counting.weights import (
    check_scale,
    check_scale_of_file,
    class_weights_of,
    refuse_balanced,
    row_weights_of,
    set_file_weights,
    with_class_weights,
)
from ..data.dict_rows import is_labelled_row, is_one_row
from ..data.frame import Frame
from ..data.schema import Schema
from ..data.target import SoftLabels, check_kinds, single, typed
from ..errors import TargetWarning, levels_to_caller
from ..model.em import Estimator, Expected, learned
from ..model.table_model import TableModel
from ..model.tuning import UNTUNED
from ..stats import Counts
from .answers import Answers
from .freshness import ESTIMATING
from .settings import (
    alike,
    check_from_file,
    check_settings,
    held_families,
    plain,
    prior_imagined,
    settings_of,
)
from .tuned import Tuned


class Classifier(Answers, Tuned):
    """What `NaiveBayes` is beside an estimator of scikit-learn: its settings, its counts, and what is made of them."""

    _counter: TableCounter | None
    _by_class: Any = None  # what a row of each class weighed when it was counted
    _row_weights: Any = None  # what the heaviest row of each class weighed; None if no row had a weight
    _expected: Expected | None = None  # what rows without a label taught
    if TYPE_CHECKING:

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...  # noqa: D102
        def set_params(self, **params: Any) -> Self: ...  # noqa: D102

    _asked: dict[str, Any]  # what was asked for since rows came: the counts, and the model with its settings

    def __init__(
        self,
        *,
        families: Any = None,
        model: str = "auto",
        estimate: str = "bayes",
        smoothing: float | str = 1.0,
        temperature: float | str | None = None,
        prior: Any = "empirical",
        prior_smoothing: float = 1.0,
        classes: Any = None,
        columns: Any = None,
        missing: str = "skip",
        unseen: str = "skip",
        max_categories: int | None = None,
        cost: Any = None,
        reject: float | None = None,
        unlabelled: str = "error",
        threads: int | None = None,
        random_state: Any = 0,
        class_weight: Any = None,
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
        self.threads = threads
        self.random_state = random_state
        self.class_weight = class_weight

    # -- counting -----------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None, target: str | None = None) -> Self:
        """Learn from these rows alone; the target and the weights may be columns of the table, by name."""
        check_settings(self)
        rows = labeled_rows(X, y, target, sample_weight, "keep" if self.unlabelled == "em" else self.unlabelled)
        self._fit_rows(rows)
        if isinstance(rows, FileRows):
            check_scale_of_file(rows)
        labels = self._learned.classes.labels
        if is_doubtful(labels):
            warnings.warn(about_target(labels)[0], TargetWarning, stacklevel=levels_to_caller())
        return self

    def _fit_rows(self, rows: Any, to_come: Sequence[Any] = ()) -> None:
        """Learn from these rows, which may be a first part; classes that are to come may have weights already."""
        declared = checked_classes(self.classes, rows)
        if isinstance(rows, FileRows):
            check_from_file(self)
            rows.sampling = self._leaves_open
            set_file_weights(rows, self.class_weight, [*declared, *to_come])
        else:
            check_scale(rows.weights)
            rows = with_class_weights(rows, class_weights_of(self.class_weight, rows, [*declared, *to_come]))
        counter = TableCounter(rows.schema(self.families, self.model != "textbook"), declared)
        labelled = rows if isinstance(rows, FileRows) else weightless(rows, declared)
        count_rows(counter, labelled, allowed(self.threads), sampling=True)
        expected = self._expect(rows, counter.value(), declared) if self.unlabelled == "em" else None
        self._settle(counter, labelled, expected)

    def _settle(self, counter: TableCounter, rows: Rows | FileRows, expected: Expected | None = None) -> None:
        """Go on from what a new fit has counted, and choose what the settings leave to its rows; or change nothing."""
        before = dict(vars(self))
        self._take(counter, rows)
        self._expected = expected
        try:
            if isinstance(rows, FileRows):
                if rows.sampling:
                    wide, threads = self.model == "refined", allowed(self.threads)
                    complete = rows.sample is not None and rows.sample.complete
                    again = None if complete else lambda: rows.again(counter, threads, wide=wide)
                    self._tune_if_asked(with_class_weights(sampled_file(rows, counter), rows.by_class), again)
            else:
                self._tune_if_asked(rows)
            self._figures = numbers_to_measure(counter, rows, allowed(self.threads))
        except Exception:
            self.__dict__ = before
            raise
        self._first = self._begin_with(rows)

    def _expect(self, rows: Rows, counts: Counts, declared: list[Any]) -> Expected | None:
        """Return what the rows without a label teach."""
        settings = replace(settings_of(self, 1.0 if isinstance(self.smoothing, str) else None), marginal=True)

        def model_of(counts: Counts) -> TableModel:
            return self._model_of(counts, counts.schema, settings)

        imagined, in_order = prior_imagined(self) or 0.0, isinstance(self.prior, str)
        how = Estimator(model_of, imagined, in_order, self.random_state, allowed(self.threads))
        return learned(rows, counts, declared, how)

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None, *, target: str | None = None
    ) -> Self:
        """Learn from these rows too. New classes and categories may come at any time; `classes` may declare some."""
        refuse_balanced(self.class_weight, "partial_fit")
        if not self.__sklearn_is_fitted__():
            X, y = (dict(X), [y]) if is_labelled_row(X, y) else (X, y)
            found = self if classes is None else deepcopy(self).set_params(classes=list(classes))
            check_settings(found)
            rows = labeled_rows(X, y, target, sample_weight, "keep" if self.unlabelled == "em" else self.unlabelled)
            found._fit_rows(rows, list(self.class_weight or ()))
            self.__dict__.update(vars(found) | {"classes": self.classes})
            return self
        counter = self._live_counter()
        alone = (
            is_one_row(X) and classes is None and sample_weight is None and target is None and self._by_class is None
        )
        if alone and counter.takes_row(label := single(y)):
            counter.add_row(X, label)  # at once, for those who learn row by row
            self._asked = {}
            self._outdate()
            self._recount()
            if self._first is not None:
                self._go_on(labeled_rows(X, [label], None, None, self.unlabelled, counter.schema))
            return self
        rows = self._weighed(labeled_rows(X, y, target, sample_weight, self.unlabelled, counter.schema))
        if classes is not None:
            check_new_classes(counter, [*classes, *rows.target.labels])
        count_rows(counter, rows, allowed(self.threads, rows.cells))
        if classes is not None:
            counter.classes.codes(classes)
            counter.declared = tuple(dict.fromkeys([*counter.declared, *classes]))
        self._take(counter)
        self._outdate()
        self._recount()
        self._go_on(rows)
        return self

    def forget(self, X: Any, y: Any = None, sample_weight: Any = None, *, target: str | None = None) -> Self:
        """Unlearn rows that were learned before: the model is then as if they had never been shown."""
        self._check_fitted()
        refuse_balanced(self.class_weight, "forget")
        rows = self._weighed(labeled_rows(X, y, target, sample_weight, self.unlabelled, self.schema_))
        if isinstance(rows.source, Frame):
            check_widths(rows.source, self.schema_, self.counts_)
        part = TableCounter(self.schema_)
        count_rows(part, rows, allowed(self.threads))
        self._hold(self.counts_ - part.value())
        self._measured  # noqa: B018 - no row is kept once it may be one to forget
        self._outdate()
        self._recount()
        self._go_back(rows)
        return self

    def _weighed(self, rows: Any) -> Any:
        """Return rows that come or go, weighed by class as those that were counted."""
        if isinstance(rows, FileRows):
            rows.by_class = self._by_class
            return rows
        return with_class_weights(rows, self._by_class)

    def _outdate(self) -> None:
        """Say once that what rows without a label taught does not know of rows that came or went since."""
        if self._expected is not None and not self._expected.stale:
            self._expected = replace(self._expected, stale=True)
            warnings.warn(
                "What was learned from rows without a label stays as it was; `fit` all rows again to learn it anew.",
                stacklevel=3,
            )

    def _take(self, counter: TableCounter, rows: Rows | FileRows | None = None) -> None:
        """Go on from what this counter has counted; the rows of a new fit say what the columns and labels are."""
        self._counter = counter
        self._asked = {}
        if rows is not None:
            self._tuning, self._by_class = UNTUNED, rows.by_class
            self._figures, self._soft = None, isinstance(rows.target, SoftLabels)
            self._row_weights = row_weights_of(counter, rows)
            self.n_features_in_ = len(counter.schema)
            self.__dict__.pop("feature_names_in_", None)
            if rows.named:
                self.feature_names_in_ = np.array(counter.schema.names, dtype=object)
            self._schema, self._label_type = with_hints(counter, rows), rows.label_type

    def _hold(self, counts: Counts) -> None:
        """Go on from these counts; a counter is made of them when rows are added."""
        self._counter, self._asked = None, {"counts": counts}

    def _live_counter(self) -> TableCounter:
        if self._counter is None:
            self._counter = TableCounter.of(self.counts_, self._schema)
        return self._counter

    @classmethod
    def from_counts(cls, counts: Counts, schema: Schema | None = None, **params: Any) -> Self:
        """Return the classifier of these counts; without a schema, columns are what their statistics suggest."""
        return holding(cls(**params), counts, schema or getattr(counts, "schema", None))

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before "
                "using this estimator."
            )

    @property
    def counts_(self) -> Counts:
        """Everything that was counted."""
        self._check_fitted()
        if "counts" not in self._asked:
            self._asked["counts"] = self._live_counter().value()
        counts: Counts = self._asked["counts"]
        return counts

    @property
    def expected_(self) -> Expected | None:
        """What was learned from rows without a label, an estimate beside the counts; None if every row had one."""
        self._check_fitted()
        return self._expected

    @property
    def _learned(self) -> Counts:
        """What the model is estimated from: what was counted, and what is expected of rows without a label."""
        if self._expected is None:
            return self.counts_
        if "learned" not in self._asked:
            self._asked["learned"] = self.counts_ + self._expected.counts
        learned: Counts = self._asked["learned"]
        return learned

    @property
    def schema_(self) -> Schema:
        """What each column is, with remarks on what looks odd."""
        self._check_fitted()
        return self._schema

    @property
    def classes_(self) -> AnyArray:
        """The labels, sorted."""
        return typed(list(self._learned.classes.labels), self._label_type)

    # -- estimating ---------------------------------------------------------------------------------------------

    @property
    def _table_model(self) -> TableModel:
        """The model under the settings as they are now."""
        self._check_fitted()
        now = [getattr(self, name) for name in (*ESTIMATING, "temperature", "model")]
        then: list[Any] | None = self._asked.get("settings")
        if then is None or not all(a is b or alike(a, b) for a, b in zip(then, now, strict=True)):
            check_settings(self)
            self._check_fresh()
            self._asked["model"] = self._estimated()
            self._asked["settings"] = [s if isinstance(s, (str, float, int)) else deepcopy(s) for s in now]
        model: TableModel = self._asked["model"]
        return model

    # -- keeping ------------------------------------------------------------------------------------------------

    def save(self, path: Any) -> None:
        """Write the model to one Parquet file: its counts, its schema, its settings."""
        settings = {n: plain(n, value) for n, value in self.get_params(deep=False).items() if n != "families"}
        about = {"schema": self.schema_.to_json(), "settings": settings, "named": "feature_names_in_" in vars(self)}
        about |= {"labels": self._label_type.str, "tuning": self._tuning_to_json()}
        for name, by in (("by_class", self._by_class), ("row_weights", self._row_weights)):
            if by is not None:
                about[name] = [float(by.get(label, 1.0)) for label in self.counts_.classes.labels]
        about |= {"soft": True} if self._soft else {}
        if self._measured is not None:
            about["measured"] = self._measured.to_json()
        from ..data import model_file as store

        if (expected := self._expected) is None:
            store.write_model(path, self.counts_, about, None, self._moved())
        else:
            store.write_model(path, self.counts_, about | {"expected": expected.about()}, expected.counts)

    def __getstate__(self) -> dict[str, Any]:
        self._measured  # noqa: B018 - the figures are kept, and not the rows they are measured on
        state: dict[str, Any] = dict(super().__getstate__())  # type: ignore[call-overload]
        if "_asked" in state:  # models are estimated anew
            state = state | {"_asked": {k: value for k, value in state["_asked"].items() if k == "counts"}}
        return state

    def __copy__(self) -> Self:
        other = type(self).__new__(type(self))
        other.__dict__.update(vars(self))
        if self.__sklearn_is_fitted__():
            other._hold(self.counts_)  # a counter of its own, when rows come
            other._figures = self._measured
        return other

    def __sklearn_is_fitted__(self) -> bool:
        return "_schema" in vars(self)


Held = TypeVar("Held", bound=Classifier)


def holding(nb: Held, counts: Counts, schema: Schema | None, named: bool = True) -> Held:
    """Give a classifier counts that were made elsewhere."""
    schema = schema or Schema.of_counts(counts)
    for name in ("_tuning", "_tuned_with", "_expected", "_first", "_figures", "_soft", "_row_weights", "_warned"):
        vars(nb).pop(name, None)  # of a model that was fitted before
    check_settings(nb)
    check_kinds(list(counts.classes.labels))
    nb._schema = schema.with_families(held_families(nb, schema))
    nb.n_features_in_ = len(schema)
    nb._by_class = dict(nb.class_weight) if isinstance(nb.class_weight, Mapping) else None
    nb._hold(counts)
    labels = np.array(counts.classes.labels)
    nb._label_type = labels.dtype if labels.dtype.kind in "biufU" else np.dtype(object)
    if named:
        nb.feature_names_in_ = np.array(schema.names, dtype=object)
    return nb
