"""Evidence: the contribution of every column to an answer, as numbers, fractions and pictures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from scipy.special import logsumexp

from .._frames import frame, frame_of_arrow
from .._types import Codes, Floats, FrameLike, Label, Longs, Mask, TableLike
from ..families.categorical import LogTable
from ..families.family import fraction, rounded_number
from ..model.scorer import posterior
from .bar_chart import highlighted_text, text_bar_chart
from .cells import cell_texts
from .evidence_html import evidence_html
from .evidence_lines import PRIOR, evidence_picture
from .text_evidence import TextEvidence, text_column

# Rows that are drawn; of more than these only the first are.
DRAWN = 3


class Spread(NamedTuple):
    """How many numbers of a column each class has, where they lie and how wide, [class]."""

    n: Floats
    mean: Floats
    ssd: Floats

    def describe(self, k: int) -> str:
        """Return where the numbers of a class lie, in words."""
        return (
            f"{rounded_number(self.mean[k], 4)} ± {rounded_number(np.sqrt(self.ssd[k] / self.n[k]), 2)}"
            if self.n[k]
            else "none"
        )


class Behind(NamedTuple):
    """What stands behind the contributions: the rows themselves, and the counts they were estimated from."""

    source: TableLike
    tables: Mapping[str, LogTable]  # of the columns of labels
    codes: dict[str, Codes]  # which value of its table each row holds
    numbers: dict[str, Spread]  # of the columns of numbers
    rows: Floats  # how many there are of each class
    pseudo_counts: float | None  # of each class in the prior; None if it was given
    pairs: Mapping[str, tuple[str, str]] | None = (
        None  # of columns with a joint contribution, by name; None in textbook naive Bayes
    )
    texts: Mapping[str, TextEvidence] = {}  # of columns of texts, by name
    joint: str = ""  # what joint terms are, in words


@dataclass(frozen=True, eq=False, repr=False)
class Evidence:
    """The contribution of each column to the score of each class, for some rows.

    Summed over the columns, with the prior, contributions are the log joint whose softmax is `predict_proba`, up to
    the `floor` under probabilities of the default model. A bar of the picture is the lead of the most probable class,
    `answer`, over the one it is compared with, `against`. Costs change what is decided, not what is probable: they have
    no part in it.

    Parameters
    ----------
    columns : tuple of str
        The columns, and then the pairs of columns that have a contribution beyond both.
    classes : tuple
        The classes, in the order of the scores.
    prior : ndarray of shape (n_classes,)
        The log prior; in a calibrated model with the bias of each class.
    scores : ndarray of shape (n_samples, n_columns, n_classes)
        The contributions; in a calibrated model times `scale`.
    answer : ndarray of shape (n_samples,)
        The place of the most probable class of each row.
    against : ndarray of shape (n_samples,)
        The place of the class that it is compared with.
    behind : Behind
        The rows themselves, and the counts behind the contributions.
    scale : float, default=1.0
        The scale of a calibrated model.
    bias : ndarray of shape (n_classes,), optional
        The biases of a calibrated model.
    joint : ndarray of shape (n_samples, n_columns, n_classes), optional
        The part of `scores` that comes from joint terms: linear and quadratic terms of all columns, pairs, or
        coefficients fitted for all columns at once. The rest comes from the column's own values, and the counts that
        are shown stand behind that alone. None in textbook naive Bayes, which has no such terms.
    floor : ndarray of shape (n_classes,), optional
        The least probability of each class: probabilities are (1 - floor.sum()) · softmax + floor. None in textbook
        naive Bayes.

    Examples
    --------
    >>> import naively as nv
    >>> table = {"sky": ["sunny", "rain", "sunny", "rain"], "wind": ["calm", "storm", "storm", None]}
    >>> nb = nv.NaiveBayes(estimate="mle").fit(table, ["out", "in", "out", "out"])
    >>> evidence = nb.explain({"sky": "sunny", "wind": None})
    >>> print(evidence)
    out (100 %) against in (0 %)
    (prior)             +1.099            │██████████  3 of 4 rows are out, 1 in
    sky      sunny          +∞            │██████████  2 of 3 rows of out, 0 of 1 of in: rules out in
    wind     (missing)                    │            contributes nothing
    >>> print(evidence.fractions())
    out  3/4 · 2/3
    in  1/4 · 0/1
    """

    columns: tuple[str, ...]
    classes: tuple[Label, ...]
    prior: Floats
    scores: Floats
    answer: Longs
    against: Longs
    behind: Behind
    scale: float = 1.0
    bias: Floats | None = None
    joint: Floats | None = None
    floor: Floats | None = None

    def __len__(self) -> int:
        return len(self.scores)

    @cached_property
    def log_joint(self) -> Floats:
        """The log joint, log P(row, class), as [row, class], up to terms that all classes share."""
        return np.asarray(self.prior + self.scores.sum(axis=1))

    @cached_property
    def probabilities(self) -> Floats:
        """The probabilities, P(class | row), as [row, class]; the prior, if every class is ruled out."""
        return posterior(self.log_joint, np.asarray(self.prior - logsumexp(self.prior)), floor=self.floor)

    @cached_property
    def ruled_out(self) -> Mask:
        """Whether every class is ruled out, row by row."""
        return np.asarray(np.isneginf(self.log_joint).all(axis=1))

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: at for at, name in enumerate(self.columns)}

    @property
    def own(self) -> Floats:
        """The part of `scores` that comes from each column's own values, [row, column, class]."""
        return self.scores if self.joint is None else self.scores - self.joint

    def parts(self, row: int = 0) -> list[tuple[str, float, float]]:
        """Return the leads of the answer by own values and through joint terms.

        Parameters
        ----------
        row : int, default=0
            The row, counted from 0.

        Returns
        -------
        list of tuple
            Of each column its name, its lead by its own values and its lead through joint terms, in the order of
            `bars`.
        """
        k, other = self.answer[row], self.against[row]
        with np.errstate(invalid="ignore"):
            total = self.scores[row, :, k] - self.scores[row, :, other]
            joint = np.zeros(len(total)) if self.joint is None else self.joint[row, :, k] - self.joint[row, :, other]
            own = total - joint
        at = [self._places[name] for name, _ in self.bars(row)[1:]]
        return [(self.columns[place], float(own[place]), float(joint[place])) for place in at]

    def bars(self, row: int = 0) -> list[tuple[str, float]]:
        """Return the lead of the answer by the prior and by each column, the strongest first.

        Infinite where one of the two classes is ruled out; NaN where both are.

        Parameters
        ----------
        row : int, default=0
            The row, counted from 0.

        Returns
        -------
        list of tuple
            The name and the lead of the prior, and of each column.
        """
        k, other = self.answer[row], self.against[row]
        with np.errstate(invalid="ignore"):
            first = float(self.prior[k] - self.prior[other])
            leads = self.scores[row, :, k] - self.scores[row, :, other]
        order = np.argsort(-np.nan_to_num(np.abs(leads), nan=np.inf), kind="stable")
        return [(PRIOR, first), *((self.columns[at], float(leads[at])) for at in order)]

    # -- as tables ----------------------------------------------------------------------------------------------

    def frame(self) -> FrameLike:
        """Return all contributions as a data frame.

        `part` is "prior", "own" (by the column's own values), "joint" (through joint terms) or "pair" (of columns). The
        scores of all lines of a row add up to its log joint.

        Returns
        -------
        DataFrame
            A line for each row and part of a column, with the score of each class.
        """
        rows, kinds = len(self), self._kinds
        names, parts = [PRIOR, *(self.columns[at] for at, _ in kinds)], ["prior", *(part for _, part in kinds)]
        texts = [self._texts(name, 0, rows) for name in self.columns]
        cells = [pa.repeat("", rows), *(texts[at] for at, _ in kinds)]
        # Part by part they lie one after the other; a line takes one of each.
        lines = (np.arange(rows)[:, None] + rows * np.arange(len(names))).ravel()
        none = np.zeros(self.scores.shape) if self.joint is None else self.joint
        said = {"own": self.own, "joint": none, "pair": self.scores}
        each = np.empty((rows, len(names), len(self.classes)))
        each[:, 0] = self.prior
        for line, (at, part) in enumerate(kinds, 1):
            each[:, line] = said[part][:, at]
        scores = each.reshape(-1, len(self.classes))
        places = {
            "row": np.repeat(np.arange(rows), len(names)),
            "column": pa.array(names).take(pa.array(lines // max(rows, 1))),
            "part": pa.array(parts).take(pa.array(lines // max(rows, 1))),
            "value": pa.concat_arrays(cells).take(pa.array(lines)),
        }
        shown = {f"score of {label}": np.ascontiguousarray(scores[:, k]) for k, label in enumerate(self.classes)}
        return frame_of_arrow(pa.table(places | shown))

    @property
    def _kinds(self) -> list[tuple[int, str]]:
        """The lines of the frame: the place of a column, and which part of it."""
        pairs, both = self.behind.pairs or (), ("own",) if self.joint is None else ("own", "joint")
        return [(at, p) for at, name in enumerate(self.columns) for p in (("pair",) if name in pairs else both)]

    def fractions(self, row: int = 0) -> str:
        """Return the arithmetic of the textbook for one row: a line of unreduced fractions for each class.

        Labels are fractions, densities plain numbers, and a column that contributes nothing is left out. The most
        probable class comes first. A calibrated model has a last line on its scale and biases.

        Parameters
        ----------
        row : int, default=0
            The row, counted from 0.

        Returns
        -------
        str
            The lines.
        """
        lines = []
        for k in np.argsort(-self.log_joint[row], kind="stable"):
            factors = [self._prior_fraction(int(k)), *(self._fraction(name, row, int(k)) for name in self.columns)]
            lines.append(f"{self.classes[k]}  {' · '.join(one for one in factors if one)}")
        return "\n".join([*lines, *self._tempering()])

    def _tempering(self) -> list[str]:
        """Return what becomes of the products of a calibrated model, in a line."""
        if self.scale == 1.0 and self.bias is None:
            return []
        times: list[float] = [] if self.bias is None else np.exp(self.bias).tolist()
        each = ", ".join(f"{by:.4g} for {label}" for label, by in zip(self.classes, times, strict=False))
        return [f"calibrated: each to the power {self.scale:.4g}{f', then times {each}' if each else ''}"]

    def _prior_fraction(self, k: int) -> str:
        rows, pseudo = self.behind.rows, self.behind.pseudo_counts
        if pseudo is None or self.behind.pairs is not None:
            bias = 0.0 if self.bias is None else self.bias[k]
            return f"{np.exp((self.prior[k] - bias) / self.scale):.6g}"
        return fraction(rows[k], rows.sum(), pseudo, len(rows))

    def _fraction(self, name: str, row: int, k: int) -> str:
        if name in self.behind.tables and self.behind.pairs is None:
            return self.behind.tables[name].fraction(k, int(self.behind.codes[name][row]))
        scores = self.scores[row, self._places[name]]
        return factor_text(scores[k] / self.scale) if scores.any() else ""

    def words(self, row: int = 0, column: str | None = None) -> FrameLike:
        """Return the contribution of each word of a text as a data frame, the strongest first.

        The scores add up to that of the column, save for the contribution of absent words.

        Parameters
        ----------
        row : int, default=0
            The row, counted from 0.
        column : str, optional
            The column of texts; by default the only one.

        Returns
        -------
        DataFrame
            A line for each word: its score of each class, and the texts of each class that hold it.
        """
        texts = self.behind.texts[text_column(list(self.behind.texts), column)]
        k, other = int(self.answer[row]), int(self.against[row])
        said = texts.contributions(row)
        order = said.strongest(k, other, len(said.names))
        scores = {f"score of {label}": said.scores[order, at] for at, label in enumerate(self.classes)}
        met = {f"texts of {label}": said.texts[order, at] for at, label in enumerate(self.classes)}
        return frame({"word": [said.names[at] for at in order], **scores, **met})

    def message(self, row: int = 0, column: str | None = None) -> str:
        """Return a text for a terminal, its words colored: blue for the answer, orange against it.

        Parameters
        ----------
        row : int, default=0
            The row, counted from 0.
        column : str, optional
            The column of texts; by default the only one.

        Returns
        -------
        str
            The text with the escape codes of a terminal.
        """
        texts = self.behind.texts[text_column(list(self.behind.texts), column)]
        return highlighted_text(*texts.strengths(row, int(self.answer[row]), int(self.against[row])))

    # -- as pictures --------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        pictures = (evidence_picture(self, row) for row in range(min(len(self), DRAWN)))
        more = [f"… and {len(self) - DRAWN} more rows"] if len(self) > DRAWN else []
        return "\n\n".join([*map(text_bar_chart, pictures), *more])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return evidence_html(self, DRAWN)

    def texts(self, name: str) -> list[str]:
        """Return the cells of a column, as texts.

        Parameters
        ----------
        name : str
            The column, or a pair of columns.

        Returns
        -------
        list of str
            A text for each row.
        """
        texts: list[str] = self._texts(name, 0, len(self)).to_pylist()
        return texts

    def _texts(self, name: str, begin: int, end: int) -> pa.Array:
        """Return what some rows hold in a column, as an Arrow array of texts."""
        if name in (self.behind.pairs or ()):
            both = (self._texts(one, begin, end).to_pylist() for one in (self.behind.pairs or {})[name])
            return pa.array([" × ".join(cells) for cells in zip(*both, strict=True)], pa.string())
        return cell_texts(self.behind.source, name, begin, end)


def factor_text(score: float) -> str:
    """Return what a score multiplies by; as a power of e where the number itself would be too small or too large."""
    if abs(score) < 600 or np.isneginf(score):
        return f"{np.exp(score):.6g}"
    return f"exp({score:.6g})"
