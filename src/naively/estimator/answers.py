"""What is asked of a fitted model: answers, why, how good, what was learned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from .._threads import allowed
from .._types import AnyArray, Floats
from ..counting.files import FileRows, each_block
from ..counting.notes import about_target
from ..counting.rows import check_widths, labeled_rows, rows_of_file
from ..data.dict_rows import few_rows
from ..data.file_paths import paths_of
from ..data.files import File, file_of
from ..data.frame import Frame, frame_of
from ..data.schema import Schema
from ..errors import InvalidInput, InvalidSetting, UnreadableRows
from ..errors.message import Setting
from ..explain.contributions import explained
from ..explain.evidence import Evidence
from ..explain.interval import interval, prior_known, tail_of
from ..explain.report import importance, information, probabilities, summary
from ..explain.text_evidence import telling
from ..families.family import enumerated
from ..judge.decision import decide, expected_cost, labelled_cost
from ..judge.outcomes import fitting
from ..judge.scores import Scores, together
from ..model.em import Expected
from ..model.joint.model import TogetherModel
from ..model.leave_one_out import check_no_more, hard, left_out, of_weight, truth_of
from ..model.measured_information import Measured
from ..model.refined.model import RefinedModel
from ..model.scorer import Model
from ..model.table_model import TableModel
from ..model.tuning import Tuning
from ..stats import Counts
from ..stats.mutual_information import Information
from .settings import numbers_among, prior_imagined, prior_without, scored_by


class Answers:
    """What `NaiveBayes` answers; the counts and the settings are its own."""

    if TYPE_CHECKING:
        cost: Any
        prior_smoothing: float
        reject: float | None
        threads: int | None
        unlabelled: str
        _schema: Schema
        _expected: Expected | None

        @property
        def counts_(self) -> Counts: ...  # noqa: D102
        @property
        def _learned(self) -> Counts: ...
        @property
        def schema_(self) -> Schema: ...  # noqa: D102
        @property
        def classes_(self) -> AnyArray: ...  # noqa: D102
        @property
        def _table_model(self) -> TableModel: ...
        @property
        def _in_use(self) -> Tuning: ...
        @property
        def _measured(self) -> Measured | None: ...

        _row_weights: Any

        def _said_of_measure(self) -> list[str]: ...
        def _said_of_tuning(self) -> list[str]: ...
        def _weighed(self, rows: Any) -> Any: ...

    # -- answering ----------------------------------------------------------------------------------------------

    def _answer(self, ask: Any, X: Any, **how: Any) -> Any:
        return self._ask(lambda model, *rows: model.answer(ask, *rows, **how), X)

    def _ask(self, ask: Any, X: Any) -> Any:
        """Return what is asked of the model about rows; ask is given it, the rows and the threads they are worth."""
        model = self._table_model
        file = asked_file(X, model)
        if file is not None:
            return np.concatenate(each_block(file, model.schema, lambda t: self._ask(ask, t), self.threads))
        return ask(model, *self._source(X, model))

    def _source(self, X: Any, model: TableModel) -> tuple[Any, int]:
        """Return the rows, a few as dicts and more as a frame, and how many threads they are worth."""
        rows = few_rows(X, model.schema)
        if rows is not None and model.schema.single:
            return rows, 1
        frame = self._frame(X, model.schema)
        return frame, allowed(self.threads, frame.rows * len(model.schema) * len(model.classes))

    def _frame(self, X: Any, asked: Schema) -> Frame:
        frame = frame_of(X)
        frame = frame.on(asked if frame.named and "feature_names_in_" in vars(self) else self._schema)
        check_widths(frame, asked, self.counts_)
        if not frame.rows:
            raise InvalidInput("Found array with 0 sample(s) while a minimum of 1 is required by NaiveBayes.")
        return frame

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Return log P(row, class) up to a constant of the row, in the order of `classes_`."""
        joint: Floats = self._answer(Model.log_joint, X)
        return joint

    def predict_log_proba(self, X: Any) -> Floats:
        """Return log P(class | row) of each row and class, in the order of `classes_`."""
        logarithms: Floats = self._answer(Model.log_posterior, X)
        return logarithms

    def predict_proba(self, X: Any) -> Floats:
        """Return P(class | row) of each row and class, in the order of `classes_`."""
        posterior: Floats = self._answer(Model.posterior, X)
        return posterior

    def predict(self, X: Any) -> AnyArray:
        """Return the choice of least expected cost for each row: the most probable class, unless `cost` is set."""
        if self.cost is None and self.reject is None:
            return self.classes_[self._answer(Model.most_probable, X)]  # type: ignore[no-any-return]
        posterior = self.predict_proba(X)
        if isinstance(self.cost, str):
            return decide(posterior, self.cost, self.reject, numbers_among(self.classes_))
        cost, choices = labelled_cost(self.cost, self.classes_)
        chosen = decide(posterior, cost, self.reject)
        if self.reject is None:
            return np.asarray(choices[chosen])
        return np.asarray(np.array([*choices.tolist(), None], dtype=object)[chosen])

    def expected_cost(self, X: Any) -> Floats:
        """Return what each choice is expected to cost, as [row, choice]."""
        cost, _ = labelled_cost(self.cost, self.classes_)
        return expected_cost(self.predict_proba(X), cost)

    def predict_interval(self, X: Any, level: float = 0.9) -> tuple[Floats, Floats]:
        """Return where P(class | row) lies with this probability, given the counts: (low, high), each [row, class].

        Wide where few rows stand behind an answer. The shares, centres and rates of every column and, if it is
        "empirical", the class prior are known no better than their posterior with λ, whatever `estimate` says; the
        middle of what follows for P(class | row) is the interval. It holds the answer of `predict_proba`. It is about
        the text-book model: ``model="auto"`` and ``"refined"`` have none.
        """
        model = self._table_model
        if isinstance(model, (RefinedModel, TogetherModel)):
            does = "takes columns together" if isinstance(model, TogetherModel) else "adjusts what its values say"
            raise InvalidSetting(
                f"predict_interval is defined by the counts of single columns, and this model {does}; set ",
                Setting("model", "textbook"),
                " for the intervals of the textbook model.",
            )
        tail, (source, threads) = tail_of(level), self._source(X, model)
        prior = prior_known(
            model.model, self._learned.rows, None if prior_imagined(self) is None else self.prior_smoothing
        )
        return interval(model, source, threads, prior, tail)

    def score_samples(self, X: Any) -> Floats:
        """Return log P(row): how usual each row is, whatever its class. Calibration changes nothing here."""
        density: Floats = self._ask(TableModel.log_density, X)
        return density

    # -- why, and how good --------------------------------------------------------------------------------------

    def explain(self, X: Any, against: Any = None) -> Evidence:
        """Return what each column said about each class: scores that add up to the log joint behind `predict_proba`.

        The picture shows the lead of the most probable class over another: `against`, or the runner-up.
        """
        model = self._table_model
        file = asked_file(X, model)
        X = X if file is None else pa.concat_tables(each_block(file, model.schema, lambda t: t, self.threads))
        source, threads = self._source(X, model)
        return explained(model, self._learned.rows, source, threads, against, prior_imagined(self))

    def leave_one_out(self, X: Any, y: Any = None, sample_weight: Any = None, *, target: str | None = None) -> Scores:
        """Return how well each of the rows is answered from all others; they must be rows the model was fitted with.

        Nothing is fitted again: each row is taken out of the counts, in closed form. What each column is, and which
        values are rare (`max_categories`), stays as it is; so does a temperature. With ``model="auto"`` each row's part
        in the weights of the evidence is taken out, too, to first order; which pairs of columns have a weight was still
        chosen with it. So with few rows and many columns the scores are too good, and their `tuning` says "adjusted":
        `cross_validate` chooses everything anew for each fold.
        """
        if self._expected is not None:
            raise InvalidInput(
                "Leave-one-out is not defined after expectation-maximization: each row's own label took part in it. "
                "Hold some labelled rows out and use `predict_proba` on them, or fit with ",
                Setting("unlabelled", "skip"),
                ".",
            )
        file = file_of(X)
        if file is not None:
            return self._leave_one_out(rows_of_file(file, y, target, sample_weight))
        model, counts = self._table_model, self.counts_
        rows = of_weight(labeled_rows(X, y, target, sample_weight, self.unlabelled, self.schema_))
        if isinstance(rows.source, Frame):
            check_widths(rows.source, model.schema, counts)
        truth = truth_of(rows, counts)
        weighed = self._weighed(rows)
        posterior = left_out(model, counts, weighed, truth, prior_without(self), allowed(self.threads))
        check_no_more(counts, truth, weighed.weights)
        labels = counts.classes.labels
        adjusted = isinstance(model, TogetherModel) and model.adjusts
        tuning = ("adjusted" if adjusted else "fixed") if self._in_use.calibrated else None
        return Scores.of_places(posterior, truth, labels, rows.weights, *scored_by(self, labels), tuning)

    def _leave_one_out(self, rows: FileRows) -> Scores:
        """Return the same of rows in files, read a block at a time."""

        def ask(table: Any, weights: Any) -> Scores:
            return self.leave_one_out(table, target=rows.of_target, sample_weight=weights)

        return together(self._blocks_of(rows, ask))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, *, target: str | None = None) -> float:
        """Return the proportion of rows whose answer by `predict` is their true class, as scikit-learn means it.

        A row that is not answered (`reject`) is not answered rightly: the score is over all rows, so that answering
        less cannot raise it. `Scores` has the accuracy on answered rows and the coverage apart. With "squared" or
        "absolute" costs, where answers are numbers, it is the `skill`: 1 less the cost as a share of the best constant
        answer's, which is R² for squared costs. The rows may be files, whose classes are the column `target`.
        """
        file = file_of(X)
        if file is None:
            parts = [self._judged(X, y, sample_weight, target)]
        else:
            rows = rows_of_file(file, y, target, sample_weight)
            parts = self._blocks_of(rows, lambda table, weights: self._judged(table, None, weights, rows.of_target))
        labels, answers = (np.concatenate([np.asarray(part[at], dtype=object) for part in parts]) for at in (0, 1))
        weights = None if sample_weight is None else np.concatenate([part[2] for part in parts])
        if isinstance(self.cost, str):
            return Scores.from_labels(labels, answers, None, weights, self.cost, self.reject).skill
        return Scores.from_labels(labels, answers, None, weights)._mean_right

    def _judged(self, X: Any, y: Any, sample_weight: Any, target: str | None) -> tuple[list[Any], Any, Any]:
        """Return the true label of each row, the answer to it, and its weight."""
        rows = labeled_rows(X, y, target, sample_weight, self.unlabelled, self.schema_)
        known = hard(rows)
        own = self.classes_.tolist()
        labels = [fitting(label, own) for label in known.labels]
        return [labels[code] for code in known.codes.tolist()], self.predict(rows.source).tolist(), rows.weights

    def _blocks_of(self, rows: FileRows, ask: Any) -> list[Any]:
        """Return what is asked of the rows of files, read a block at a time, with their classes and weights."""

        def of_block(table: Any) -> Any:
            return ask(table, None if rows.weight is None else table[rows.weight].to_numpy())

        beside = [name for name in (rows.of_target, rows.weight) if name is not None]
        return each_block(rows.source, self.schema_, of_block, self.threads, beside)

    # -- reporting ----------------------------------------------------------------------------------------------

    def probabilities(self, column: str) -> Any:
        """Return P(value | class) of a column as a frame; for numbers, where each class lies and how wide it is."""
        known, model = self.schema_[column], self._table_model
        if column not in model.schema:
            raise InvalidInput(
                f"Column {column!r} is not used: the columns in use are {list(model.schema.names)}.", column=column
            )
        return probabilities(model, known)

    def words(self, label: Any, top: int = 20, column: str | None = None) -> Any:
        """Return the words that speak most for a class as a frame: how much, and in how many texts they were met."""
        return telling(self._table_model, label, top, column)

    def importance(self) -> Any:
        """Return the mutual information of each column and the class as a frame, the highest first.

        `bits` is by how much a column by itself makes the class of a row more certain on average, whatever the model:
        noise has about 0, and no column has more than the entropy of the class. It is measured on counts of values and
        of bins of numbers, each row asked what the others say (leave-one-out); `error` is its standard error, and
        `rows` are those behind it. Where the model counts no bins (``model="textbook"``), those of numbers are some
        of the rows of `fit`, at most 16,384. Vectors, texts and numbers that were counted elsewhere have no figure.
        """
        return importance(self._information())

    @property
    def feature_importances_(self) -> Floats:
        """The bits of `importance()` in the order of the columns, divided by their sum as those of trees are.

        For `RFE` and `SelectFromModel` of scikit-learn. A column that is not used (``columns=``) has 0.
        """
        told = self._information()
        unknown = [name for name, one in told.items() if one.bits != one.bits]
        if unknown:
            raise InvalidInput(
                f"There is no mutual information of {enumerated([*map(repr, unknown[:3])])}"
                f"{f' and {len(unknown) - 3} more columns' * (len(unknown) > 3)}: vectors and texts have none, and "
                "numbers have it after `fit`."
            )
        bits = np.array([told[name].bits if name in told else 0.0 for name in self.schema_.names])
        return bits / bits.sum() if bits.any() else bits

    def _information(self) -> dict[str, Information]:
        """Return the mutual information of each column and the class."""
        rows = float(self.counts_.rows.sum())
        each = [(self._row_weights or {}).get(label, 1.0) for label in self._learned.classes.labels]
        measured = self._measured.known(rows) if self._measured else {}
        return information(self._table_model, self._learned, measured, np.array(each))

    def summary(self) -> str:
        """Return what was learned, in words."""
        remarks = [f"Note: {remark}" for remark in about_target(self._learned.classes.labels)]
        remarks += [] if self._expected is None else [self._expected.say()]
        remarks += self._said_of_measure()
        said = summary(self._table_model, self._learned, self.schema_, self._information(), remarks)
        return "\n".join([said, *self._said_of_tuning()])


def asked_file(X: Any, model: TableModel) -> File | None:
    """Return what is given as a file, if it is one; of a model of texts, say what becomes of a text alone."""
    if type(X) is str and model.words:
        try:
            next(paths_of(X or "\0"))  # nothing is no folder, and no name holds this sign
        except (UnreadableRows, OSError, ValueError):
            raise InvalidInput(
                f"{X[:40]!r} is neither a file nor a table. If it is a text, put it into a list: predict([text])."
            ) from None
    return file_of(X)
