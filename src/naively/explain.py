"""Why: each answer taken apart into what every column said, in numbers that add up."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import InvalidInput
from .families import shares
from .families.categorical import LogTables
from .families.family import scores_of
from .mixed import LABELS, TableModel
from .model import posterior
from .read.frame import Frame
from .read.values import Values, is_missing
from .report import frame, number_likelihood
from .schema import Column
from .statistics import Counts
from .statistics.axis import Floats

# Rows that are printed; of more than these only the first are.
SHOWN = 3
WIDEST_BAR = 20


@dataclass(frozen=True, eq=False)
class Evidence:
    """What each column said about each class, for some rows.

    `scores` is [row, column, class] and `prior` is [class]; summed over the columns, with the prior, they are the log
    joint whose softmax is `predict_proba`. One bar of the picture is the difference between the answer and `against`.
    """

    columns: tuple[str, ...]
    classes: tuple[Any, ...]
    prior: Floats
    scores: Floats
    source: Any  # the rows, to say what they hold
    answer: npt.NDArray[np.intp]
    against: npt.NDArray[np.intp]
    parts: tuple[Any, ...]  # how the columns of labels were estimated, for fractions; None for other columns
    codes: tuple[Any, ...]
    rows_of_classes: Floats
    prior_imagined: float | None

    def __len__(self) -> int:
        return len(self.scores)

    @cached_property
    def log_joint(self) -> Floats:
        """The sums: log P(row, class) as [row, class]."""
        return np.asarray(self.prior + self.scores.sum(axis=1))

    @cached_property
    def probabilities(self) -> Floats:
        """P(class | row) as [row, class]: what `predict_proba` gives."""
        return posterior(self.log_joint, self.prior)

    def bars(self, row: int) -> list[tuple[str, float]]:
        """Return what the prior and each column add to the answer over `against`, the strongest first."""
        k, other = self.answer[row], self.against[row]
        with np.errstate(invalid="ignore"):
            lead = np.nan_to_num(
                self.scores[row, :, k] - self.scores[row, :, other], nan=0.0, posinf=np.inf, neginf=-np.inf
            )
            first = np.nan_to_num(self.prior[k] - self.prior[other], nan=0.0, posinf=np.inf, neginf=-np.inf)
        order = np.argsort(-np.abs(lead), kind="stable")
        return [("(prior)", float(first)), *((self.columns[at], float(lead[at])) for at in order)]

    # -- as tables ----------------------------------------------------------------------------------------------

    def frame(self) -> Any:
        """Return a frame with a line for each row and column, and a column of scores for each class."""
        rows, columns = len(self), ("(prior)", *self.columns)
        table = np.concatenate([np.broadcast_to(self.prior, (rows, 1, len(self.classes))), self.scores], axis=1)
        flat = table.reshape(-1, len(self.classes))
        cells = [self._cells(name, 0, rows) for name in self.columns]
        values = [text for row in range(rows) for text in ("", *(column[row] for column in cells))]
        names = {f"score of {label}": flat[:, k] for k, label in enumerate(self.classes)}
        return frame(
            {"row": np.repeat(np.arange(rows), len(columns)), "column": list(columns) * rows, "value": values, **names}
        )

    def _cells(self, name: str, begin: int, end: int) -> list[str]:
        """Return what some rows hold in a column, as text."""
        if not isinstance(self.source, Frame):
            return [said(row.get(name)) for row in self.source[begin:end]]
        values = self.source.columns[name]
        if not isinstance(values, Values):
            return ["(vector)"] * (end - begin)
        labels, which = values.labels(begin, end)
        texts = [*map(said, labels), ""]
        return [texts[code] for code in which]

    def fractions(self, row: int = 0) -> str:
        """Return the arithmetic of the text book for one row: a line of unreduced fractions for each class."""
        lines = []
        for k in np.argsort(-self.log_joint[row], kind="stable"):
            factors = [
                self._prior_fraction(int(k)),
                *(self._fraction(at, row, int(k)) for at in range(len(self.columns))),
            ]
            lines.append(f"{self.classes[k]}  " + " · ".join(f for f in factors if f))
        return "\n".join(lines)

    def _prior_fraction(self, k: int) -> str:
        if self.prior_imagined is None:
            return f"{np.exp(self.prior[k]):.6g}"
        return fraction(self.rows_of_classes[k], self.rows_of_classes.sum(), self.prior_imagined, len(self.classes))

    def _fraction(self, at: int, row: int, k: int) -> str:
        table = self.parts[at]
        if table is None:  # a density, or a vector
            return f"{np.exp(self.scores[row, at, k]):.6g}"
        code, size = self.codes[at][row], len(table.values)
        if code < 0 or (code == size and table.settings.unseen != "smooth"):
            return ""  # it said nothing
        imagined = float(shares.IMAGINED[table.settings.estimate](table.settings.smoothing))
        if table.family.spread != "even":
            return f"{np.exp(self.scores[row, at, k]):.6g}"
        n = 0.0 if code == size else table.n[k, code]
        return fraction(n, table.n[k].sum(), imagined, size + (table.settings.unseen == "smooth"))

    # -- as pictures --------------------------------------------------------------------------------------------

    def _title(self, row: int) -> str:
        k, other = self.answer[row], self.against[row]
        p = self.probabilities[row]
        rest = f" against {self.classes[other]} ({p[other]:.3g})" if other != k else ""
        return f"{self.classes[k]} ({p[k]:.3g}){rest}"

    def _said(self, name: str, row: int) -> str:
        """Return the rows behind what a column said."""
        if name == "(prior)":
            n = self.rows_of_classes
            return f"{n[self.answer[row]]:g} of {n.sum():g} rows"
        at = self.columns.index(name)
        table, k = self.parts[at], int(self.answer[row])
        if table is None or self.codes[at][row] < 0:
            return "said nothing: missing" if not self.scores[row, at].any() else ""
        if self.codes[at][row] == len(table.values):
            return "said nothing: never met" if not self.scores[row, at].any() else "never met"
        return f"{table.n[k, self.codes[at][row]]:g} of {table.n[k].sum():g} rows of {self.classes[k]}"

    def _lines(self, row: int) -> list[tuple[str, str, float, str]]:
        """Return name, value, lead and what stands behind it, line by line."""
        values = {name: self._cells(name, row, row + 1)[0] for name in self.columns}
        return [(name, values.get(name, ""), lead, self._said(name, row)) for name, lead in self.bars(row)]

    def __str__(self) -> str:
        texts = [self._picture(row) for row in range(min(len(self), SHOWN))]
        if len(self) > SHOWN:
            texts.append(f"… {len(self) - SHOWN} more rows")
        return "\n\n".join(texts)

    __repr__ = __str__

    def _picture(self, row: int) -> str:
        lines = self._lines(row)
        widths = [max(wide(line[at]) for line in lines) for at in (0, 1)]
        longest = max((abs(lead) for *_, lead, _ in lines if np.isfinite(lead)), default=0.0)
        drawn = [
            f"{padded(name, widths[0])}  {padded(value, widths[1])}  {number(lead):>8}  {bar(lead, longest)}  {behind}".rstrip()
            for name, value, lead, behind in lines
        ]
        return "\n".join([self._title(row), *drawn])

    def _repr_html_(self) -> str:
        return "".join(self._html(row) for row in range(min(len(self), SHOWN))) + (
            f"<p>… {len(self) - SHOWN} more rows</p>" if len(self) > SHOWN else ""
        )

    def _html(self, row: int) -> str:
        lines = self._lines(row)
        longest = max((abs(lead) for *_, lead, _ in lines if np.isfinite(lead)), default=0.0)
        cells = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{html.escape(value)}</td><td style='text-align:right'>{number(lead)}</td>"
            f"<td style='text-align:left'>{html_bar(lead, longest)}</td><td>{html.escape(behind)}</td></tr>"
            for name, value, lead, behind in lines
        )
        return f"<table><caption style='text-align:left'>{html.escape(self._title(row))}</caption>{cells}</table>"


def explained(
    model: TableModel, counts: Counts, source: Any, columns: dict[str, Any], against: Any, imagined: float | None
) -> Evidence:
    """Return the evidence for rows that were read: a matrix of them for each part of the model."""
    said, parts, codes = [], [], []
    for column in model.schema:
        scores, table, code = of_column(model, column, columns)
        said.append(scores)
        parts.append(table)
        codes.append(code)
    rows = next(iter(columns.values())).shape[0]
    size = len(model.classes)
    scores = np.stack(said, axis=1) if said else np.zeros((rows, 0, size))
    joint = model.model.log_prior + scores.sum(axis=1)
    answer = np.asarray(joint.argmax(axis=1))
    return Evidence(
        tuple(model.schema.names), tuple(model.classes.labels), model.model.log_prior, scores, source, answer,
        opponents(joint, answer, model.classes.labels, against), tuple(parts), tuple(codes), counts.rows, imagined,
    )  # fmt: skip


def opponents(joint: Floats, answer: npt.NDArray[np.intp], labels: Sequence[Any], against: Any) -> npt.NDArray[np.intp]:
    """Return which class each answer is compared with: the one given, or the runner-up."""
    if against is not None:
        if against not in labels:
            raise InvalidInput(f"against={against!r} is no class; the classes are {list(labels)}.")
        return np.full(len(joint), list(labels).index(against))
    if joint.shape[1] == 1:
        return answer
    others = joint.copy()
    others[np.arange(len(joint)), answer] = -np.inf
    best = np.asarray(others.argmax(axis=1))
    return np.where(best == answer, (answer + 1) % joint.shape[1], best)  # where all others are ruled out, any of them


def of_column(model: TableModel, column: Column, columns: dict[str, Any]) -> tuple[Floats, Any, Any]:
    """Return what one column said about each class, [row, class]; and for labels, the table and the codes behind it."""
    if column.kind == "labels":
        at = next(at for at, one in enumerate(model.labels) if one.column.name == column.name)
        codes, table = columns[LABELS][:, at], model.labels[at].table
        return scores_of(LogTables(model.classes, (table,)), np.ascontiguousarray(codes[:, None])), table, codes
    if column.kind == "vectors":
        return scores_of(model.model.likelihoods[column.name], columns[column.name]), None, None
    likelihood, at = number_likelihood(model, column.name)
    key = next(key for key, (_, group) in model.numbers.items() if column in group)
    scores = scores_of(likelihood.column(at), np.ascontiguousarray(columns[key][:, at : at + 1]))
    for place, (number, table) in enumerate(model.gaps):  # whether it is there speaks beside the number itself
        if model.schema.of_kind("numbers")[number].name == column.name:
            gaps = np.ascontiguousarray(columns[LABELS][:, len(model.labels) + place][:, None])
            scores = scores + scores_of(LogTables(model.classes, (table,)), gaps)
    return scores, None, None


def fraction(n: float, total: float, imagined: float, size: int) -> str:
    """Return a share as the text book writes it, unreduced: 3/8, or (3+1)/(8+3) with what is imagined."""
    if imagined == 0:
        return f"{n:g}/{total:g}"
    return f"({n:g}{imagined:+g})/({total:g}{imagined * size:+g})"


def number(lead: float) -> str:
    """Return a lead in logarithms, with its sign."""
    return f"{lead:+.3f}" if np.isfinite(lead) else ("rules out" if lead > 0 else "ruled out")


def bar(lead: float, longest: float) -> str:
    """Return a bar of a length that fits; to the left of the line where it speaks against the answer."""
    length = (
        WIDEST_BAR // 2 if not np.isfinite(lead) else round(abs(lead) / longest * (WIDEST_BAR // 2)) if longest else 0
    )
    left, right = ("█" * length, "") if lead < 0 else ("", "█" * length)
    return f"{left:>{WIDEST_BAR // 2}}│{right:<{WIDEST_BAR // 2}}"


def html_bar(lead: float, longest: float) -> str:
    """Return the same for a page; colours that can be read on light and on dark."""
    share = 100.0 if not np.isfinite(lead) else abs(lead) / longest * 100 if longest else 0.0
    colour = "#2a9d8f" if lead >= 0 else "#e76f51"
    return f"<div style='background:{colour};height:0.8em;width:{share * 1.2:.0f}px'></div>"


def said(value: Any) -> str:
    """Return a value as people write it."""
    if is_missing(value):
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def wide(text: str) -> int:
    """Return how many places a text takes on a terminal: Chinese characters take two."""
    from unicodedata import east_asian_width

    return sum(2 if east_asian_width(c) in "WF" else 1 for c in text)


def padded(text: str, width: int) -> str:
    """Return a text filled up to so many places."""
    return text + " " * (width - wide(text))
