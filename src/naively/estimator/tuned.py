"""What a `NaiveBayes` chooses beside its counts: its smoothing and how sure it is; and whether that is still fresh."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .._threads import allowed
from .._types import Codes, Floats
from ..counting.counter import TableCounter
from ..counting.rows import Rows, check_widths, labeled_rows
from ..counting.weights import are_copies, left_out_weights
from ..data.frame import Frame
from ..data.grid import Grid
from ..data.schema import Schema
from ..data.target import SoftLabels
from ..errors import InvalidInput, InvalidSetting
from ..errors.message import Setting
from ..families import Settings
from ..judge.scores import Scores
from ..model.calibration import Fit, Rated, fitted
from ..model.estimate import empirical_prior
from ..model.joint.fitting import FEWEST, alone, count_together, enough, looked_at, weights_of
from ..model.joint.learned import Learned
from ..model.joint.model import TogetherModel
from ..model.joint.other_columns import REST
from ..model.joint.screening import screened_of, unremarked
from ..model.leave_one_out import empirical_without, hard, left_out, of_weight, truth_of
from ..model.refined.fitting import Again, refine
from ..model.refined.model import RefinedModel
from ..model.refined.offsets import Refined
from ..model.scorer import Model
from ..model.table_model import TableModel
from ..model.tuning import (
    GRID,
    MOST_SCORES,
    PRICE,
    UNTUNED,
    Book,
    Smoothing,
    Task,
    Tuning,
    held_out,
    sample,
    smoothed,
    tuned,
)
from ..stats import Counts
from .freshness import ESTIMATING, WEIGHED, Fresh
from .settings import log_prior, prior_without, settings_of


class Tuned(Fresh):
    """How `NaiveBayes` is tuned; the counts and the settings are its own."""

    if TYPE_CHECKING:
        estimate: str
        smoothing: Any
        temperature: Any
        prior: Any
        columns: Any
        missing: str
        unseen: str
        max_categories: int | None
        prior_smoothing: float
        model: str
        threads: int | None
        unlabelled: str
        _schema: Schema
        _expected: Any
        _asked: dict[str, Any]

        @property
        def counts_(self) -> Counts: ...  # noqa: D102
        @property
        def _learned(self) -> Counts: ...
        @property
        def schema_(self) -> Schema: ...  # noqa: D102
        @property
        def _table_model(self) -> TableModel: ...
        def _check_fitted(self) -> None: ...
        def _live_counter(self) -> TableCounter: ...
        def _weighed(self, rows: Any) -> Any: ...

    def calibrate(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        target: str | None = None,
        held_out: bool = False,
    ) -> Self:
        """Make the probabilities as sure as they are right: one temperature for all rows, and biases where they pay.

        The log joint becomes bias + (log joint) / temperature, fitted by least log-loss on the rows that the model was
        learned from, each left out of the counts; a row that weighs w is left out whole. With ``smoothing="auto"`` the
        λ is chosen anew together with it. At most 20,000 rows are looked at, always the same ones. A bias for each
        class is added if it saves more than one nat for each, and if the prior is as frequent as the rows are. With
        ``model="auto"`` the evidence is weighed anew instead.

        Parameters
        ----------
        X, y, sample_weight, target
            The rows that the model was learned from.
        held_out : bool
            The rows were never counted: they are asked about as they are. For the text-book model alone.

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
        if not (self.temperature is None or self.temperature == "auto"):
            raise InvalidSetting(
                Setting("temperature", self.temperature),
                " is set by hand, so there is none to fit; set it to None or 'auto'.",
            )
        self._check_fitted()
        rows = of_weight(self._weighed(labeled_rows(X, y, target, sample_weight, self.unlabelled, self.schema_)))
        if isinstance(rows.source, Frame):
            check_widths(rows.source, self._table_model.schema, self.counts_)
        if held_out:
            self._check_held_out()
            self._keep(self._held_out(rows))
        else:
            together = self._takes_together(rows)
            self._keep(self._learn(rows) if together else self._tune(rows, calibrated=True))
            if together and self._tuning.declined is not None:
                self._keep(self._tune_declined(rows))
        return self

    def _tune(self, rows: Rows, *, calibrated: bool) -> Tuning:
        """Return what is best for these rows, each left out of the counts."""
        if self._expected is not None:
            raise InvalidInput(
                "Leave-one-out is not defined after expectation-maximization: each row's own label took part in it. "
                "Set smoothing and temperature by hand, or calibrate with held-out rows: "
                "calibrate(X, y, held_out=True).",
            )
        task = Task(
            self._with_smoothing,
            self.counts_,
            rows,
            prior_without(self),
            allowed(self.threads),
            [by for by in GRID if by >= 1 or self.estimate != "map"],
            self._fit if calibrated else self._as_set,
        )
        return tuned(task, None if self._auto_smoothing else float(self.smoothing), calibrated)

    def _fit(self, rated: Rated) -> Fit:
        return fitted(rated, self._biased)

    def _as_set(self, rated: Rated) -> Fit:
        scale = 1.0 if self.temperature in (None, "auto") else 1.0 / float(self.temperature)
        return Fit(scale, None, rated.loss(scale))

    @property
    def _biased(self) -> bool:
        """Whether classes may get a bias: a prior that was given says how frequent they shall be."""
        return isinstance(self.prior, str) and self.prior == "empirical"

    def _check_held_out(self) -> None:
        """Refuse to soften by rows held out what was weighed already on rows left out."""
        if self.model != "textbook" and (self._tuning.learned or self._tuning.refined) is not None:
            raise InvalidSetting(
                Setting("model", self.model),
                " weighs its evidence on the rows that were counted: calibrate(X, y) with those. To soften the "
                "textbook model with held-out rows, set ",
                Setting("model", "textbook"),
                ".",
            )

    def _held_out(self, rows: Rows) -> Tuning:
        """Return how sure to be about rows that were never counted; the smoothing stays."""
        most, threads = MOST_SCORES // len(self._learned.classes), allowed(self.threads)
        rows = sample(rows, most, self._schema, threads)
        model = self._with_smoothing(self.smoothing_)
        joint = model.answer(Model.log_joint, rows.source, threads)
        out = np.isneginf(joint).all(axis=1)
        joint[out] = model.model.log_prior
        found = held_out(model, joint, truth_of(rows, self._learned), rows.weights, self._biased)
        before = self._tuning
        return replace(found, smoothing=before.smoothing, declined=before.declined, book=before.book)

    @property
    def _leaves_open(self) -> bool:
        """Whether something is left to the rows to choose."""
        return self.model != "textbook" or self._auto_smoothing or isinstance(self.temperature, str)

    def _tune_if_asked(self, rows: Rows, blocks: Again | None = None, fewest: int = FEWEST) -> None:
        """Choose what the settings leave to the rows that were just counted; blocks are all, if these are a sample.

        Columns are taken together from so many rows on: a fold has fewer of them than the table it is of.
        """
        rows = rows if isinstance(rows.target, SoftLabels) else of_weight(rows)
        together = self._takes_together(rows, fewest)
        calibrated = isinstance(self.temperature, str) and not together
        if calibrated or self._auto_smoothing:
            self._keep(self._tune(rows, calibrated=calibrated) if rows.target.rows > 1 else UNTUNED)
        if together:
            self._keep(self._learn(rows, blocks))
            if self._tuning.declined is not None and isinstance(self.temperature, str):
                self._keep(self._tune_declined(rows))

    def _takes_together(self, rows: Rows, fewest: int = FEWEST) -> bool:
        """Tell whether these rows may teach how columns go together; what has no label cannot be left out."""
        numbers = self._numbers if self.model == "refined" else 0
        return self.model != "textbook" and self._expected is None and enough(rows, numbers, fewest)

    def _tune_declined(self, rows: Rows) -> Tuning:
        """Return how sure the textbook model is to be where the joint model was not better than it."""
        before = self._tuning
        return replace(self._tune(rows, calibrated=True), declined=before.declined, book=before.book)

    @property
    def _numbers(self) -> int:
        """How many columns of numbers there are."""
        return len(self._schema.of_kind("numbers"))

    def _learn(self, rows: Rows, blocks: Again | None = None) -> Tuning:
        """Return how strongly columns taken together are believed, and count them together if they were not."""
        if self.model == "refined":
            return self._refine(rows, blocks)
        threads, counter = allowed(self.threads), self._live_counter()
        copies = are_copies(rows.weights, hard(rows).codes)
        screened = screened_of(counter, rows, self.missing == "value", copies, threads)
        if counter.together is None:
            used = None if screened is None else screened.beside(self._schema, self.columns)
            remark = count_together(counter, rows, threads, None if blocks is None else blocks(), used)
            hints = tuple(dict.fromkeys([*self._schema.hints, *([] if remark is None else [remark])]))
            self._schema = replace(self._schema, grid=counter.schema.grid, hints=hints)
            self._asked = {}
        counts = self.counts_
        model = self._together(None)
        model.copies = copies
        part, y, weights, at = looked_at(model, counter, rows, truth_of(rows, counts), threads)
        found = weights_of(model, part, y, weights, threads, None if screened is None else screened.of(at))
        book, loss = self._by_the_book(part, y, weights, copies), list(found.loss.values())[-1]
        declined = bool(found.weights) and found.rows * (loss - book.log_loss) > PRICE
        hints = unremarked(self._schema.hints)
        if screened is not None and not declined:  # the textbook model uses all columns
            hints += screened.remarks(model.counted.grid, bool(found.weights.get(REST)))
        self._schema = replace(self._schema, hints=hints)
        # What was chosen before on top of other counts, or for another model, is over.
        usual = replace(UNTUNED, smoothing=self._tuning.smoothing, book=book, rows=float(found.rows))
        if declined:
            return replace(usual, declined=loss)
        usual = replace(usual, classes=tuple(counts.classes.labels), calibrated=True, learned=found)
        return replace(usual, loss_before=book.log_loss, loss_after=loss)

    def _by_the_book(self, rows: Rows, y: Codes, weights: Floats, copies: bool) -> Book:
        """Return how well the textbook model answers rows that were counted, each left out."""
        out = Rows(rows.source, rows.target, None if rows.weights is None else left_out_weights(weights, copies))
        model, counts = self._with_smoothing(self.smoothing_), self.counts_
        # The joint model is weighed under the shares of the classes, whatever prior is asked for: so is this one here.
        prior = empirical_without(settings_of(self, self.prior_smoothing))
        posterior = left_out(model, counts, out, y, prior, allowed(self.threads))
        scores = Scores.of_places(posterior, y, counts.classes.labels, weights)
        return Book(scores.log_loss, scores.accuracy)

    def _refine(self, rows: Rows, again: Again | None) -> Tuning:
        """Return how far single values are adjusted."""
        counts, threads = self.counts_, allowed(self.threads)
        place = counts.classes.places(list(self._live_counter().classes.places)).astype(np.int32)
        shown = rows.target.rows if rows.weights is None else rows.weights.sum()
        again = None if np.isclose(shown, counts.rows.sum()) else again  # a sample may hold all rows
        found = refine(self._refined, rows, truth_of(rows, counts), threads, again, place)
        losses: list[float | None] = [*found.loss.values()] or [None]
        usual = replace(UNTUNED, smoothing=self._tuning.smoothing, classes=tuple(counts.classes.labels))
        tuning = replace(usual, calibrated=True, refined=found, rows=float(found.rows))
        return replace(tuning, loss_before=losses[0], loss_after=losses[-1])

    def _keep(self, tuning: Tuning) -> None:
        self._tuning, self._warned = tuning, False
        self._tuned_with = [deepcopy(getattr(self, name)) for name in ESTIMATING]
        self._asked.pop("settings", None)

    # -- what is in effect ----------------------------------------------------------------------------------------

    @property
    def _auto_smoothing(self) -> bool:
        return isinstance(self.smoothing, str)

    @property
    def smoothing_(self) -> Smoothing:
        """The λ in effect: one for all columns, or a dict with one for each; 1 if there were no rows to choose it."""
        self._check_fitted()
        if not self._auto_smoothing:
            return float(self.smoothing)
        return 1.0 if self._tuning.smoothing is None else self._tuning.smoothing

    @property
    def temperature_(self) -> float:
        """The temperature in effect: log joints are divided by it."""
        self._check_fitted()
        return 1.0 / self._scale_and_bias()[0]

    def _scale_and_bias(self) -> tuple[float, Any]:
        if not (self.temperature is None or isinstance(self.temperature, str)):
            return 1.0 / float(self.temperature), None
        return self._in_use.scale, self._in_use.bias_of(self._learned.classes)

    def _estimated(self) -> TableModel:
        """Return the model under the settings as they are, and what was chosen."""
        if not len(self._learned.classes):
            raise InvalidInput("No rows are left to answer from: all were forgotten. Learn some first.")
        chosen = self._chosen
        if chosen is not None and self._known_together():
            return self._together(chosen) if isinstance(chosen, Learned) else self._refined(chosen.grid, chosen)
        return self._made(self.smoothing_, self.unseen, *self._scale_and_bias())

    def _known_together(self) -> bool:
        """Tell whether the columns and classes are those whose evidence was weighed."""
        counted = self.model != "auto" or self.counts_.joint is not None
        return self._since(WEIGHED) and counted and tuple(self.counts_.classes.labels) == self._tuning.classes

    def _together(self, learned: Learned | None) -> TogetherModel:
        """Return the model of columns taken together; weighed by what was learned, if there is that yet."""
        schema = self._schema if self.columns is None else self._schema.only(self.columns)
        settings = settings_of(self, 1.0 if isinstance(self.smoothing_, dict) else self.smoothing_)
        asked = self._as_asked(empirical_prior(self.counts_.rows, Settings()), learned)
        return TogetherModel(self.counts_, schema, settings, log_prior(self), self.max_categories, learned, *asked)

    def _refined(self, grid: Grid, refined: Refined | None = None) -> RefinedModel:
        """Return the model of adjusted values; without adjustments, what they are fitted to."""
        smoothing = self.smoothing_
        schema, one = smoothed(self._schema, smoothing), 1.0 if isinstance(smoothing, dict) else smoothing
        settings = settings_of(self, one)
        usual = empirical_prior(self.counts_.rows, settings_of(self, self.prior_smoothing))
        if refined is None:  # a value never met but in the row that is left out is no error
            settings = replace(settings, unseen="skip" if settings.unseen == "error" else settings.unseen)
        schema, asked = schema if self.columns is None else schema.only(self.columns), self._as_asked(usual, refined)
        return RefinedModel(self.counts_, schema, settings, usual, self.max_categories, grid, refined, *asked)

    def _as_asked(self, usual: Floats, fitted: Learned | Refined | None) -> tuple[Floats | None, float]:
        """Return how far the prior asked for lies from the usual one, if it does, and how sure to be."""
        scale = 1.0 if isinstance(self.temperature, str) or fitted is None else 1.0 / float(self.temperature or 1.0)
        return None if self._biased else log_prior(self) - usual, scale

    def _with_smoothing(self, smoothing: Smoothing) -> TableModel:
        """Return the model under some smoothing, as sure as the text book; a value never met is no error here."""
        return self._made(smoothing, "skip" if self.unseen == "error" else self.unseen)

    def _made(self, smoothing: Smoothing, unseen: Any, *tempering: Any) -> TableModel:
        """Return the model of what was learned under some smoothing."""
        schema, one = smoothed(self._schema, smoothing), 1.0 if isinstance(smoothing, dict) else smoothing
        settings = replace(settings_of(self, one), unseen=unseen, marginal=self._expected is not None)
        return self._model_of(self._learned, schema, settings, *tempering)

    def _model_of(self, counts: Counts, schema: Schema, settings: Settings, *tempering: Any) -> TableModel:
        """Return the model of some counts: every model is made here."""
        schema = schema if self.columns is None else schema.only(self.columns)
        return TableModel(counts, schema, settings, log_prior(self, counts), self.max_categories, *tempering)

    def _said_of_weights(self, learned: Learned | Refined) -> list[str]:
        """Say which kinds of evidence are believed, and what they bought."""
        if not self._known_together():
            return ["columns: each speaks for itself, for columns or classes have changed since they were weighed"]
        stale = [] if self.calibrated_ else ["rows or settings have changed since the evidence was weighed"]
        model = self._table_model
        said = learned.say(model.owners) if isinstance(learned, Learned) else learned.say()  # type: ignore[attr-defined]
        return [*self._tuning.say_smoothing(), *said, *self._tuning.say_book(self._biased), *stale]

    def _said_of_tuning(self) -> list[str]:
        """Say what was chosen, for the summary."""
        if self._chosen is not None:
            return self._said_of_weights(self._chosen)
        if self.model != "textbook":
            declined = self._in_use.say_declined(self._biased) if self.model == "auto" else []
            labels = "missing" if self._expected is not None else "soft" if self._soft else "given"
            return [*(declined or [alone(self.model, self.counts_.rows, self._numbers, labels)]), *self._in_use.say()]
        if self._auto_smoothing and self._in_use.smoothing is None:
            return ["smoothing: 1, for there were no rows to choose it with", *self._in_use.say()]
        if not self._in_use.calibrated and not self._auto_smoothing:
            return []
        return replace(self._in_use, fresh=self.calibrated_).say()
