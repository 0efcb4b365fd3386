"""What a fitted model offers to those who use it: one protocol for every kind of model.

`TableModel` (textbook naive Bayes) and `JointModel` have it. A new kind of model is a class of its own
with the same methods; no code depends on the class of a model. The protocol of a term of the score is `ScoreTerm`, in
`families.family`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

from .._types import AnyArray, Codes, Floats, Matrices, Places, TableLike
from ..data.schema import Schema
from ..families.categorical import LogTable
from ..families.family import ScoreTerm, TextTerm, row_weights
from ..stats import Axis, WordTable
from ..text import TextReader
from .column_parts import ColumnPart
from .default.grid import NumberBins
from .scorer import AdditiveModel, NaiveModel

T = TypeVar("T")


class Contributions(NamedTuple):
    """The contribution of each column, and then of each pair, to the score of each row, [row, column, class].

    `joint` is the part of them that comes from joint terms: a linear score of all columns, pairs, or offsets that were
    fitted for all columns at once. None where there are no such terms.
    """

    scores: Floats
    joint: Floats | None


@dataclass(frozen=True)
class CountedRows:
    """A block of rows that were counted, to be left out one at a time."""

    columns: Matrices
    y: Codes  # the class of each row
    weights: Floats | None
    begin: int  # the number of the first row
    # Gives the log priors without each row, and which of them is that of each row: equal rows leave the same one.
    priors: Callable[[], tuple[Floats, Places]]
    threads: int

    @property
    def row_weights(self) -> Floats:
        """The weight of each row; 1 unless weights are given."""
        return row_weights(self.weights, len(self.y))


class FittedModel(Protocol):
    """P(class | row) for rows of a table."""

    @property
    def schema(self) -> Schema:
        """The columns in use."""

    @property
    def classes(self) -> Axis:
        """The classes, in the order of the scores."""

    @property
    def scorer(self) -> AdditiveModel[ScoreTerm]:
        """The log prior and the terms that scores are the sum of."""

    @property
    def textbook(self) -> NaiveModel:
        """Textbook naive Bayes from the same counts."""

    @property
    def parts(self) -> Mapping[str, ColumnPart]:
        """Each column by itself, as textbook naive Bayes sees it."""

    @property
    def words(self) -> Mapping[str, WordTable]:
        """The counts of the words of each column of texts."""

    @property
    def readers(self) -> Mapping[str, TextReader]:
        """What splits the texts of each column of texts into words."""

    @property
    def label_tables(self) -> Mapping[str, LogTable]:
        """The likelihood of each column of labels."""

    @property
    def number_summaries(self) -> Mapping[str, tuple[Floats, Floats, Floats]]:
        """Of each column of numbers: how many each class has, their means and sums of squared deviations, [class]."""

    @property
    def base(self) -> Floats:
        """The scores that contributions are added to: the log prior, or those of an average row."""

    # -- rows and answers ---------------------------------------------------------------------------------------

    def each_block(self, ask: Callable[[slice, Matrices], T], source: TableLike, threads: int) -> list[T]:
        """Return what a function returns for each block of rows; it gets which rows they are, and their matrices."""

    def answer(self, ask: Callable[..., AnyArray], source: TableLike, threads: int, **how: object) -> AnyArray:
        """Return the answers about all rows; `ask` is a method of `AdditiveModel`."""

    def log_density(self, source: TableLike, threads: int) -> Floats:
        """Return the log marginal density of each row under textbook naive Bayes."""

    # -- why, and how good --------------------------------------------------------------------------------------

    def contributions(self, columns: Matrices, threads: int) -> Contributions:
        """Return the contribution of each column and pair to the score of each row."""

    def leave_one_out(self, rows: CountedRows) -> Floats:
        """Return the log joint [row, class] of rows that were counted, each left out."""

    def text_terms(self) -> Mapping[str, TextTerm]:
        """Return the terms that are sums over words, by column of texts."""

    def label_codes(self, columns: Matrices) -> Codes:
        """Return the codes of the columns of labels, [row, column], in the order of `label_tables`."""

    @property
    def fine_bins(self) -> Mapping[str, tuple[NumberBins, Floats]]:
        """The bins of each number that is counted in such, and the rows of each class in them."""

    @property
    def pairs(self) -> Mapping[str, tuple[str, ...]] | None:
        """The pairs of columns with a contribution beyond both, by the name under which they are shown.

        None in textbook naive Bayes, which has no joint terms at all.
        """

    @property
    def joint_terms(self) -> str:
        """What the joint terms of a column are, in words; "" if there are none."""

    @property
    def has_credible_interval(self) -> bool:
        """Whether probabilities have a credible interval, which follows from the counts of single columns."""

    def summary_lines(self) -> list[str]:
        """Return what was fitted beside the counts, in words."""
