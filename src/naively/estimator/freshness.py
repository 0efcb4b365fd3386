"""Whether what a `NaiveBayes` chose beside its counts is still fresh: rows and settings may have changed since."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..counting.counter import TableCounter
from ..counting.first_rows import MOST, FirstRows
from ..counting.rows import Rows, labeled_rows
from ..counting.sampled_rows import NumberSample
from ..data.schema import Schema
from ..errors import StaleWarning, levels_to_caller
from ..model.joint.binning import most_features
from ..model.joint.fitting import FEWEST
from ..model.joint.learned import Learned
from ..model.measured_information import Measured, measured
from ..model.refined.offsets import Refined
from ..model.tuning import UNTUNED, Tuning
from ..stats import Counts
from .settings import alike

# What a model is estimated with; changes act at once, without the data.
ESTIMATING = ("estimate", "smoothing", "prior", "prior_smoothing", "columns", "missing", "unseen", "max_categories")
# Those of them by which evidence of columns taken together is read; the others do not touch it.
WEIGHED = ("columns", "missing", "max_categories")


class Fresh:
    """What a `NaiveBayes` knows of the time when it chose."""

    _tuning: Tuning = UNTUNED
    _tuned_with: list[Any] | None = None  # the settings of estimating at that time
    _figures: Measured | NumberSample | None = (
        None  # what numbers tell, or some rows to measure it on when it is asked for
    )
    _warned = False
    _soft = False  # whether rows belonged to several classes by shares
    _first: FirstRows | None = None  # while they are kept, weights are fitted anew as rows come

    if TYPE_CHECKING:
        model: str
        _schema: Schema
        _expected: Any
        _asked: dict[str, Any]

        @property
        def counts_(self) -> Counts: ...  # noqa: D102
        @property
        def _numbers(self) -> int: ...
        def _check_fitted(self) -> None: ...
        def _live_counter(self) -> TableCounter: ...
        def _takes_together(self, rows: Rows) -> bool: ...
        def _tune_if_asked(self, rows: Rows) -> None: ...
        def _known_together(self) -> bool: ...

    @property
    def tuning_(self) -> Tuning:
        """What was chosen on top of the counts, and what that was worth."""
        self._check_fitted()
        return self._tuning

    @property
    def calibrated_(self) -> bool:
        """Whether the probabilities are calibrated, for the counts and the settings as they are now."""
        self._check_fitted()
        return self._in_use.calibrated and self._tuning.fresh and self._as_tuned

    @property
    def _in_use(self) -> Tuning:
        """What of it the model as it is set goes by: evidence weighed for one model says nothing of another."""
        chosen = self._tuning
        of_another = self._chosen is None and not (chosen.learned is None and chosen.refined is None)
        return replace(UNTUNED, smoothing=chosen.smoothing) if of_another else chosen

    @property
    def _goes_by_rows(self) -> bool:
        """Whether the model as it is set goes by what rows showed: it is calibrated, or the textbook model was kept."""
        return self._in_use.calibrated or (self.model == "auto" and self._in_use.declined is not None)

    @property
    def _as_tuned(self) -> bool:
        """Whether the settings are those under which it was chosen, as far as they matter to it."""
        return self._since(ESTIMATING if self._tuning.learned is None else WEIGHED)

    def _since(self, names: Sequence[str]) -> bool:
        """Tell whether some settings are still what they were when something was chosen."""
        then = dict(zip(ESTIMATING, self._tuned_with or (), strict=False))
        return bool(then) and all(alike(then[name], getattr(self, name)) for name in names)

    @property
    def _measured(self) -> Measured | None:
        """What columns of numbers tell of the class, measured on some rows of the last fit; none if there were none."""
        if isinstance(self._figures, NumberSample):
            self._figures = measured(self._figures)
        return self._figures

    def _said_of_measure(self) -> list[str]:
        """Say that rows came or went since the mutual information of numbers was measured."""
        if self._measured is None or self._measured.fresh or self.counts_.joint is not None:
            return []
        return ["The mutual information of numbers is that of the last `fit`; rows came or went since."]

    def _recount(self) -> None:
        """Note that rows came or went."""
        if isinstance(self._figures, NumberSample):
            self._figures = self._figures._replace(stale=True)
        elif self._figures is not None and self._figures.fresh:
            self._figures = self._figures.stale
        if self._tuning.fresh and (self._tuning.calibrated or self._tuning.declined is not None):
            self._tuning = replace(self._tuning, fresh=False)
            if self._goes_by_rows and self._first is None:
                self._warn("The rows that were counted")

    def _go_on_with(self, other: Fresh) -> None:
        """Take over what another model chose, for rows that are not just its own."""
        self._figures = None if other._measured is None else other._measured.stale
        chosen = other._tuning
        known = chosen.refined is None and (chosen.learned is None or self.counts_.joint is not None)
        if chosen.calibrated and known:
            self._tuning, self._tuned_with = replace(chosen, fresh=True), other._tuned_with
            self._recount()

    def _check_fresh(self) -> None:
        """Warn if rows or settings have changed since the model was calibrated, and nobody was told."""
        if self._goes_by_rows and not self._in_use.fresh and self._first is None:
            self._warn("The rows that were counted")
        elif self._in_use.calibrated and not self._as_tuned:
            self._warn("Settings of estimating")

    def _warn(self, what: str) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"{what} have changed since the model was {self._done}. {self._old} still used; call "
                "calibrate(X, y) with the rows that are counted now to fit it anew.",
                StaleWarning,
                stacklevel=levels_to_caller(),
            )

    def _tuning_to_json(self) -> dict[str, Any] | None:
        """Return what was chosen as plain data; None if nothing was."""
        if self._tuning.smoothing is None and not self._tuning.calibrated and self._tuning.declined is None:
            return None
        fresh = self.calibrated_ if self._tuning.calibrated else self._tuning.fresh
        # Weights are of no use to other columns or classes than those they were learned with.
        known = self._known_together()
        learned, refined = (self._tuning.learned, self._tuning.refined) if known else (None, None)
        return replace(self._tuning, fresh=fresh, learned=learned, refined=refined).to_json(self.counts_.classes)

    def _moved(self) -> dict[str, Any] | None:
        """Return how far values were moved, if that is of use to the columns and classes as they are."""
        refined = self._tuning.refined
        return None if refined is None or not self._known_together() else dict(refined.moved)

    @property
    def _done(self) -> str:
        return "calibrated" if self._in_use.calibrated else "compared with the joint model"

    @property
    def _old(self) -> str:
        """What a stale model goes on with."""
        if self._chosen is None and not self._in_use.calibrated:
            return "The textbook model, which the joint model was not better than, is"
        if self._chosen is None:
            return "The old temperature is"
        if not self._known_together():
            return "The text-book model is"
        return "The old weights of its evidence are" if self.model == "auto" else "The old adjustments are"

    @property
    def _chosen(self) -> Learned | Refined | None:
        """What was fitted on top of the counts for the model as it is set."""
        return {"auto": self._tuning.learned, "refined": self._tuning.refined}.get(self.model)

    # -- rows that come bit by bit --------------------------------------------------------------------------------

    def _begin_with(self, rows: Any) -> FirstRows | None:
        """Return the first rows of a model, to be kept if they are too few to fit weights, and only so."""
        few = isinstance(rows, Rows) and rows.target.rows < FEWEST and self._expected is None
        affordable = self.model == "auto" or (self.model == "refined" and self._numbers < most_features(2))
        return FirstRows((), FEWEST).more(rows, self._schema) if few and affordable else None

    def _go_on(self, rows: Any) -> None:
        """Keep more of the first rows; as soon as they are enough, and each time they have doubled, learn from all."""
        if self._first is not None:
            self._first = self._first.more(rows, self._schema) if isinstance(rows, Rows) else None
        if self._first is not None and len(self._first.rows) >= self._first.due:
            self._learn_first(self._first)

    def _go_back(self, rows: Any) -> None:
        """Drop rows that were forgotten from the first ones, and learn from those that are left."""
        if self._first is None:
            return
        self._first = self._first.less(rows, self._schema) if isinstance(rows, Rows) else None
        if self._first is None:
            self._check_fresh()
        elif len(self._first.rows) >= FEWEST:
            self._learn_first(self._first)
        else:
            self._tuning, self._first = UNTUNED, self._first._replace(due=FEWEST)
            self._asked.pop("settings", None)

    def _learn_first(self, first: FirstRows) -> None:
        """Learn the default model from the rows that are kept."""
        table, labels, weights = first.columns(self._schema)
        every = labeled_rows(table, labels, None, weights, schema=self._schema)
        if self._takes_together(every):
            self._live_counter().together = None  # bins are laid out anew
            self._tune_if_asked(every)
            self._first = None if first.full else first._replace(due=min(2 * len(first.rows), MOST))
