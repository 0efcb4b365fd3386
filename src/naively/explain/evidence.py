"""Evidence: the contribution of every column to an answer, as numbers, fractions and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from scipy.special import logsumexp

from .._frames import frame, frame_of_arrow
from .._types import Codes, Floats, FrameLike, Label, Longs, Mask, TableLike
from ..families import proportions
from ..families.categorical import LogTable
from ..families.family import rounded_number
from ..judge.text_table import truncated_line
from ..model.scorer import posterior, softened
from .bar_chart import (
    ChartLine,
    bar_length,
    highlighted_html,
    highlighted_text,
    html_bar_chart,
    signed_log_odds,
    text_bar_chart,
)
from .cells import cell_texts
from .text_evidence import TextEvidence, text_column

# Rows that are drawn; of more than these only the first are.
DRAWN = 3
# Columns, and pairs of them, that have a line of their own; there may be thousands.
DRAWN_COLUMNS, DRAWN_PAIRS = 30, 5
# Words of a text that have a line of their own, and places that are left for the text itself.
DRAWN_WORDS, DRAWN_TEXT = 8, 40
PRIOR = "(prior)"
# The parts of a contribution, as lines of the picture: by the column's own values, and through joint terms.
OWN, JOINT = "  own values", "  joint terms"


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
        The part of `scores` that comes from joint terms: a linear score of all columns, pairs, or offsets fitted for
        all columns at once. The rest comes from the column's own values, and the counts that are shown stand behind
        that alone. None in textbook naive Bayes, which has no such terms.
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
    out (1) against in (0)
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
        return proportions.fraction(rows[k], rows.sum(), pseudo, len(rows))

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
        return "\n\n".join([*(text_bar_chart(*self._picture(row)) for row in self._drawn), *self._more])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        more = "".join(f"<p>{text}</p>" for text in self._more)
        return "".join(html_bar_chart(*self._picture(row)) + self._html_texts(row) for row in self._drawn) + more

    def _html_texts(self, row: int) -> str:
        """Return the texts of one row, their words colored."""
        pair = int(self.answer[row]), int(self.against[row])
        return "".join(highlighted_html(*texts.strengths(row, *pair)) for texts in self.behind.texts.values())

    @property
    def _drawn(self) -> range:
        return range(min(len(self), DRAWN))

    @property
    def _more(self) -> list[str]:
        return [f"… and {len(self) - DRAWN} more rows"] if len(self) > DRAWN else []

    def _picture(self, row: int) -> tuple[str, list[ChartLine]]:
        """Return the title and the lines of one row."""
        bars, longest = self.bars(row), self._longest(row)
        known = self.behind.pairs or {}
        pairs = [name for name, _ in bars if name in known]
        columns = [name for name, _ in bars[1:] if name not in known]
        hidden = {"columns": set(columns[DRAWN_COLUMNS:]), "pairs": set(pairs[DRAWN_PAIRS:])}
        parts = {name: both for name, *both in self.parts(row)}
        lines = []
        for name, lead in bars:
            if not any(name in some for some in hidden.values()):
                lines += self._lines(row, name, lead, parts.get(name, [lead, 0.0]), longest)
        for what, some in hidden.items():
            if some:
                rest = float(sum(lead for name, lead in bars if name in some))
                title = f"({len(some):,} other {what})"
                lines.append(ChartLine(title, "", signed_log_odds(rest), bar_length(rest, longest), ""))
        return self._title(row), lines

    def _longest(self, row: int) -> float:
        """Return the longest finite bar of a row."""
        return max((abs(lead) for lead in self._leads(row) if np.isfinite(lead)), default=0.0)

    def _leads(self, row: int) -> list[float]:
        """Return the leads of all bars, those of parts and single words too."""
        k, other, leads = int(self.answer[row]), int(self.against[row]), [lead for _, lead in self.bars(row)]
        leads += [lead for _, *both in self.parts(row) for lead in both]
        for texts in self.behind.texts.values():
            said = texts.contributions(row)
            with np.errstate(invalid="ignore"):
                leads += (said.scores[:, k] - said.scores[:, other]).tolist()
        return leads

    def _title(self, row: int) -> str:
        k, other = int(self.answer[row]), int(self.against[row])
        p = self.probabilities[row]
        title = f"{self.classes[k]} ({p[k]:.3g})" + (f" against {self.classes[other]} ({p[other]:.3g})" * (k != other))
        title += f", {softened(self.scale)}" if self.scale != 1.0 else ""
        return f"Every class is ruled out, so only the prior is left: {title}" if self.ruled_out[row] else title

    def _lines(self, row: int, name: str, lead: float, parts: Sequence[float], longest: float) -> list[ChartLine]:
        """Return the lines of a column: its contribution, and where it has both, its parts; then its words."""
        if name == PRIOR:
            return [ChartLine(name, "", signed_log_odds(lead), bar_length(lead, longest), self._note_on_prior(row))]
        at, joint = self._places[name], self.joint
        value = self._texts(name, row, row + 1)[0].as_py()
        value = truncated_line(value, DRAWN_TEXT) if name in self.behind.texts else value
        if not self.scores[row, at].any() and not self._was_seen(name, row):
            return [ChartLine(name, value, "", 0.0, f"contributes nothing{self._why_nothing(name, row)}")]
        line, note = ChartLine(name, value, signed_log_odds(lead), bar_length(lead, longest), ""), self._note(name, row)
        words = self._lines_of_words(row, name, longest)
        if joint is None or not joint[row, at].any() or name in (self.behind.pairs or ()):
            return [line._replace(note=note), *words]
        if not (self.scores[row, at] - joint[row, at]).any():
            return [line._replace(note=f"joint terms alone: {self.behind.joint}"), *words]
        notes = zip((OWN, JOINT), parts, (note, self.behind.joint), strict=True)
        both = [ChartLine(part, "", signed_log_odds(by), bar_length(by, longest), why) for part, by, why in notes]
        return [line, *both, *words]

    def _lines_of_words(self, row: int, name: str, longest: float) -> list[ChartLine]:
        """Return a line for each of the strongest words of a text."""
        if name not in self.behind.texts:
            return []
        k, other, lines = int(self.answer[row]), int(self.against[row]), []
        said = self.behind.texts[name].contributions(row)
        for at in said.strongest(k, other, DRAWN_WORDS):
            lead, met = float(said.scores[at, k] - said.scores[at, other]), said.texts[at]
            first, second = (str(self.classes[by]) for by in (k, other))
            note = f"in {met[k]:.10g} text{'s' * int(met[k] != 1)} of {first}, {met[other]:.10g} of {second}"
            lines.append(ChartLine(f"  {said.names[at]}", "", signed_log_odds(lead), bar_length(lead, longest), note))
        rest = len(said.names) - len(lines)
        return [*lines, *([ChartLine(f"  … {rest} more word{'s' * (rest > 1)}", "", "", 0.0, "")] if rest > 0 else [])]

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

    def _was_seen(self, name: str, row: int) -> bool:
        """Tell whether a row holds a label that was seen, in a column of labels."""
        table = self.behind.tables.get(name)
        return table is not None and 0 <= self.behind.codes[name][row] < len(table.values)

    def _why_nothing(self, name: str, row: int) -> str:
        return ": never seen" if name in self.behind.tables and self.behind.codes[name][row] >= 0 else ""

    def _note_on_prior(self, row: int) -> str:
        k, other, n = int(self.answer[row]), int(self.against[row]), self.behind.rows
        if self.behind.pseudo_counts is None:
            return "as set"
        rest = f", {n[other]:.10g} {self.classes[other]}" if k != other else ""
        return f"{n[k]:.10g} of {n.sum():.10g} rows are {self.classes[k]}{rest}"

    def _note(self, name: str, row: int) -> str:
        """Return the rows behind the contribution of a column, and which classes it rules out."""
        at, pair = self._places[name], [*dict.fromkeys((int(self.answer[row]), int(self.against[row])))]
        names = [str(self.classes[k]) for k in pair]
        behind = self.behind
        if self._was_seen(name, row):
            n, code = behind.tables[name].n, int(behind.codes[name][row])
            told = [f"{n[k, code]:.10g} of {n[k].sum():.10g}" for k in pair]
            where = behind.tables[name].where(code)
            notes = [f"{told[0]} rows of {names[0]}{where}", *map("{} of {}".format, told[1:], names[1:])]
        elif name in behind.numbers:
            notes = [f"{behind.numbers[name].describe(k)} for {label}" for k, label in zip(pair, names, strict=True)]
        else:
            notes = (
                ["never seen"] if name in behind.tables else ["beyond both columns"] * (name in (behind.pairs or ()))
            )
        out = [label for k, label in zip(pair, names, strict=True) if np.isneginf(self.scores[row, at, k])]
        ends = [f"rules out {' and '.join(out)}"] if out else []
        return ": ".join([*([", ".join(notes)] if notes else []), *ends])


def factor_text(score: float) -> str:
    """Return what a score multiplies by; as a power of e where the number itself would be too small or too large."""
    if abs(score) < 600 or np.isneginf(score):
        return f"{np.exp(score):.6g}"
    return f"exp({score:.6g})"
