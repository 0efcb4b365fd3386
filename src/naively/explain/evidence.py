"""Evidence: the contribution of every column to an answer, as numbers, fractions and pictures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from scipy.special import logsumexp

from .._frames import frame, frame_of_arrow
from .._types import CellLike, Codes, Floats, FrameLike, JsonObject, Label, Longs, Mask, Matrices, TableLike
from ..data.frame import Frame
from ..errors import InvalidInput
from ..errors.message import Setting
from ..families.categorical import LogTable
from ..families.family import fraction
from ..model.scorer import posterior
from ..model.table_model import TableModel
from .evidence_lines import AVERAGE, PRIOR, cell_texts, evidence_html, highlighted_text, text_picture
from .words import TextEvidence, text_column, texts_behind

# Rows that are drawn; of more than these only the first are.
DRAWN = 3


class Provenance(NamedTuple):
    """Where contributions come from: the rows themselves, and the counts that they were estimated from."""

    source: TableLike
    tables: Mapping[str, LogTable]  # of the columns of labels
    codes: dict[str, Codes]  # which value of its table each row holds
    numbers: Mapping[str, tuple[Floats, Floats, Floats]]  # how many, their mean and sum of squared deviations, [class]
    rows: Floats  # how many there are of each class
    pseudo_counts: float | None  # of each class in the prior; None if it was given
    # Of columns with a joint contribution, by name; None in textbook naive Bayes.
    pairs: Mapping[str, tuple[str, ...]] | None = None
    texts: Mapping[str, TextEvidence] = {}  # of columns of texts, by name
    joint: str = ""  # what joint terms are, in words


@dataclass(frozen=True, eq=False, repr=False)
class Evidence:
    """The contribution of each column to the score of each class, for some rows.

    Summed over the columns, with the base, contributions are the log joint whose softmax is `predict_proba`, up to
    the `floor` under probabilities of the default model. A bar of the picture is the lead of the most probable class,
    `answer`, over the one it is compared with, `against`. Costs change what is decided, not what is probable: they have
    no part in it.

    Parameters
    ----------
    columns : tuple of str
        The columns, and then the pairs of columns that have a contribution beyond both.
    classes : tuple
        The classes, in the order of the scores.
    base : ndarray of shape (n_classes,)
        What contributions are added to: the log prior in textbook naive Bayes, with the bias of each class if it is
        calibrated; in the default model the scores of an average row.
    scores : ndarray of shape (n_samples, n_columns, n_classes)
        The contributions; in a calibrated model times `scale`.
    answer : ndarray of shape (n_samples,)
        The place of the most probable class of each row.
    against : ndarray of shape (n_samples,)
        The place of the class that it is compared with.
    provenance : Provenance
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
    base: Floats
    scores: Floats
    answer: Longs
    against: Longs
    provenance: Provenance
    scale: float = 1.0
    bias: Floats | None = None
    joint: Floats | None = None
    floor: Floats | None = None

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def base_name(self) -> str:
        """What the base is called: "(prior)", or "(average row)" in the default model."""
        return PRIOR if self.provenance.pairs is None else AVERAGE

    @cached_property
    def log_joint(self) -> Floats:
        """The log joint, log P(row, class), as [row, class], up to terms that all classes share."""
        return np.asarray(self.base + self.scores.sum(axis=1))

    @cached_property
    def probabilities(self) -> Floats:
        """The probabilities, P(class | row), as [row, class]; the base, if every class is ruled out."""
        return posterior(self.log_joint, np.asarray(self.base - logsumexp(self.base)), floor=self.floor)

    @cached_property
    def ruled_out(self) -> Mask:
        """Whether every class is ruled out, row by row."""
        return np.asarray(np.isneginf(self.log_joint).all(axis=1))

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.columns)}

    @property
    def own(self) -> Floats:
        """The part of `scores` that comes from each column's own values, [row, column, class]."""
        return self.scores if self.joint is None else self.scores - self.joint

    def _lead(self, row: int, scores: Floats) -> Floats:
        """Return by how much scores [..., class] are higher for the predicted class than for the other one."""
        with np.errstate(invalid="ignore"):  # both may be ruled out
            return np.asarray(scores[..., self.answer[row]] - scores[..., self.against[row]])

    def parts(self, row: int = 0) -> list[tuple[str, float, float]]:
        """Return the contribution of each column to the log-odds by its own values and through joint terms.

        Parameters
        ----------
        row : int, default=0
            The row, counted from 0.

        Returns
        -------
        list of tuple
            Of each column its name, the log-odds by its own values and those through joint terms, in the order of
            `bars`.
        """
        total = self._lead(row, self.scores[row])
        joint = np.zeros(len(total)) if self.joint is None else self._lead(row, self.joint[row])
        with np.errstate(invalid="ignore"):
            own = total - joint
        places = ((name, self._places[name]) for name, _ in self.bars(row)[1:])
        return [(name, float(own[place]), float(joint[place])) for name, place in places]

    def bars(self, row: int = 0) -> list[tuple[str, float]]:
        """Return the contribution of the prior and of each column to the log-odds, the strongest first.

        Infinite where one of the two classes is ruled out; NaN where both are.

        Parameters
        ----------
        row : int, default=0
            The row, counted from 0.

        Returns
        -------
        list of tuple
            The name and the log-odds of the prior, and of each column.
        """
        leads = self._lead(row, self.scores[row])
        order = np.argsort(-np.nan_to_num(np.abs(leads), nan=np.inf), kind="stable")
        base = float(self._lead(row, self.base))
        return [(self.base_name, base), *((self.columns[place], float(leads[place])) for place in order)]

    # -- as tables ----------------------------------------------------------------------------------------------

    def frame(self) -> FrameLike:
        """Return all contributions as a data frame.

        `part` is "base", "own" (by the column's own values), "joint" (through joint terms) or "pair" (of columns). The
        scores of all lines of a row add up to its log joint.

        Returns
        -------
        DataFrame
            A line for each row and part of a column, with the score of each class.
        """
        rows, pairs = len(self), self.provenance.pairs or ()
        both = [("own", self.own)] if self.joint is None else [("own", self.own), ("joint", self.joint)]
        names, parts, texts, scores = [self.base_name], ["base"], [pa.repeat("", rows)], [np.tile(self.base, (rows, 1))]
        for place, name in enumerate(self.columns):
            text = self._texts(name, 0, rows)
            for part, contributions in [("pair", self.scores)] if name in pairs else both:
                names.append(name)
                parts.append(part)
                texts.append(text)
                scores.append(contributions[:, place])
        # Part by part they lie one after the other; the lines of the frame go row by row.
        part_of_line = pa.array(np.tile(np.arange(len(names)), rows))
        cells = pa.concat_arrays(texts).take(pa.array(np.arange(rows * len(names)).reshape(len(names), rows).T.ravel()))
        by_class = np.stack(scores, axis=1).reshape(-1, len(self.classes))
        columns = {
            "row": np.repeat(np.arange(rows), len(names)),
            "column": pa.array(names).take(part_of_line),
            "part": pa.array(parts).take(part_of_line),
            "value": cells,
        }
        for k, label in enumerate(self.classes):
            columns[f"score of {label}"] = np.ascontiguousarray(by_class[:, k])
        return frame_of_arrow(pa.table(columns))

    def fractions(self, row: int = 0) -> str:
        """Return the arithmetic of the textbook for one row: a line of unreduced fractions for each class.

        Labels are fractions, densities plain numbers, and a column that contributes nothing is omitted. The most
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
        for k in np.argsort(-self.log_joint[row], kind="stable").tolist():
            factors = [self._prior_fraction(k), *(self._fraction(name, row, k) for name in self.columns)]
            lines.append(f"{self.classes[k]}  {' · '.join(filter(None, factors))}")
        if self.scale != 1.0 or self.bias is not None:
            factors = [] if self.bias is None else np.exp(self.bias).tolist()
            listed = ", ".join(
                f"{factor:.4g} for {label}" for factor, label in zip(factors, self.classes, strict=False)
            )
            lines.append(f"calibrated: each to the power {self.scale:.4g}{f', then times {listed}' if listed else ''}")
        return "\n".join(lines)

    def _prior_fraction(self, k: int) -> str:
        rows, pseudo = self.provenance.rows, self.provenance.pseudo_counts
        if pseudo is None or self.provenance.pairs is not None:
            bias = 0.0 if self.bias is None else self.bias[k]
            return f"{np.exp((self.base[k] - bias) / self.scale):.6g}"
        return fraction(rows[k], rows.sum(), pseudo, len(rows))

    def _fraction(self, name: str, row: int, k: int) -> str:
        """Return what a column multiplies by; as a power of e where the number is too small or too large."""
        if name in self.provenance.tables and self.provenance.pairs is None:
            return self.provenance.tables[name].fraction(k, int(self.provenance.codes[name][row]))
        scores = self.scores[row, self._places[name]]
        if not scores.any():
            return ""
        score = scores[k] / self.scale
        return f"{np.exp(score):.6g}" if abs(score) < 600 or np.isneginf(score) else f"exp({score:.6g})"

    def words(self, row: int = 0, column: str | None = None) -> FrameLike:
        """Return the contribution of each word of a text as a data frame, the strongest first.

        The scores add up to that of the column, except for the contribution of absent words.

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
        words = self._text(column).contributions(row)
        order = words.strongest(int(self.answer[row]), int(self.against[row]), len(words.names))
        scores = {f"score of {label}": words.scores[order, k] for k, label in enumerate(self.classes)}
        texts = {f"texts of {label}": words.texts[order, k] for k, label in enumerate(self.classes)}
        return frame({"word": [words.names[place] for place in order], **scores, **texts})

    def message(self, row: int = 0, column: str | None = None) -> str:
        """Return a text for a terminal, its words colored: blue for the predicted class, orange against it.

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
        return highlighted_text(*self._text(column).strengths(row, int(self.answer[row]), int(self.against[row])))

    def _text(self, column: str | None) -> TextEvidence:
        texts = self.provenance.texts
        return texts[text_column(list(texts), column)]

    # -- as pictures --------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        pictures = [text_picture(self, row) for row in range(min(len(self), DRAWN))]
        more = [f"… and {len(self) - DRAWN} more rows"] if len(self) > DRAWN else []
        return "\n\n".join([*pictures, *more])

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
        pairs = self.provenance.pairs or {}
        if name in pairs:
            both = (self._texts(column, begin, end).to_pylist() for column in pairs[name])
            return pa.array([" × ".join(cells) for cells in zip(*both, strict=True)], pa.string())
        return cell_texts(self.provenance.source, name, begin, end)


def explained(
    model: TableModel, rows: Floats, source: TableLike, threads: int, against: Label, pseudo_counts: float | None
) -> Evidence:
    """Return the evidence for some rows; rows are those of each class."""
    size, labels = (source.rows if isinstance(source, Frame) else len(source)), tuple(model.classes.labels)
    tables, pairs = model.label_tables, model.pairs
    scores = np.empty((size, len(model.schema) + len(pairs or ()), len(labels)))
    joint = None if pairs is None else np.empty(scores.shape)
    codes, answer = np.empty((len(tables), size), dtype=np.int32), np.empty(size, dtype=np.int64)

    def explain_block(block: slice, columns: Matrices) -> None:
        answer[block] = model.scorer.most_probable(columns, threads)
        scores[block], of_joint_terms = model.contributions(columns, threads)
        if joint is not None:
            joint[block] = of_joint_terms
        if tables:
            codes[:, block] = model.label_codes(columns).T

    model.each_block(explain_block, source, threads)
    codes_of = dict(zip(tables, codes, strict=True))
    about = rows, pseudo_counts, pairs, texts_behind(model, source), model.joint_terms
    provenance = Provenance(source, tables, codes_of, model.number_summaries, *about)
    base = model.scorer.temper(model.base)
    scores *= model.scorer.scale
    joint = None if joint is None else joint * model.scorer.scale
    others = opponents(base + scores.sum(axis=1), base, answer, labels, against)
    tempering = (model.scorer.scale, model.scorer.bias)
    names = (*model.schema.names, *(pairs or ()))
    return Evidence(names, labels, base, scores, answer, others, provenance, *tempering, joint, model.scorer.floor)


def opponents(joint: Floats, base: Floats, answer: Longs, labels: tuple[Label, ...], against: Label) -> Longs:
    """Return which class each answer is compared with: the one given or, where that is the answer, the runner-up."""
    if against is not None and against not in labels:
        raise InvalidInput(
            Setting("against", against), f" is no class; the classes are {list(labels)}.", classes=list(labels)
        )
    row = np.arange(len(joint))
    others = joint.copy()
    others[row, answer] = -np.inf
    others[np.isneginf(others).all(axis=1)] = base  # all others are ruled out
    others[row, answer] = -np.inf
    best = others.argmax(axis=1)
    best = np.where((best == answer) & (joint.shape[1] > 1), (answer + 1) % joint.shape[1], best)
    return best if against is None else np.where(answer == labels.index(against), best, labels.index(against))


def evidence_json(evidence: Evidence, row: int, cells: Mapping[str, CellLike]) -> JsonObject:
    """Return the contributions for one row: `base` and the `scores` of all `columns` add up to `log_joint`."""
    pairs = evidence.provenance.pairs or {}
    columns = []
    for place, name in enumerate(evidence.columns):
        about: JsonObject = {"columns": list(pairs[name])} if name in pairs else {"value": cells.get(name)}
        columns.append({"name": name, **about, "scores": by_class(evidence, evidence.scores[row, place])})
    return {
        "against": evidence.classes[int(evidence.against[row])],
        "probabilities": by_class(evidence, evidence.probabilities[row]),
        "log_joint": by_class(evidence, evidence.log_joint[row]),
        "base": by_class(evidence, np.asarray(evidence.base)),
        "columns": columns,
        "floor": None if evidence.floor is None else by_class(evidence, np.asarray(evidence.floor)),
    }


def by_class(evidence: Evidence, numbers: Floats) -> JsonObject:
    """Return the number of each class; null for those that are not finite."""
    return dict(zip(map(str, evidence.classes), finite(numbers.tolist()), strict=True))


def finite(data: Any) -> Any:
    """Return data with null in place of NaN and infinity, which JSON does not have."""
    if isinstance(data, dict):
        return {str(name): finite(value) for name, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data
