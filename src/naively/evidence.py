"""Evidence: an answer taken apart into what every column said, as numbers, fractions and pictures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.special import logsumexp

from .bywords import Texts, column_of
from .drawing import Line, html_painted, html_picture, painted, shortened, text_picture
from .families import shares
from .families.categorical import LogTable
from .families.family import Codes, rounded, shown
from .frames import frame, frame_of_arrow
from .model import posterior, softened
from .read.frame import Frame
from .read.values import Values, is_missing
from .statistics.axis import Floats

# Rows that are drawn; of more than these only the first are.
DRAWN = 3
# Pairs of columns that have a line of their own; there may be hundreds.
DRAWN_PAIRS = 5
# Words of a text that have a line of their own, and places that are left for the text itself.
DRAWN_WORDS, DRAWN_TEXT = 8, 40
PRIOR = "(prior)"

Places = npt.NDArray[np.int64]


class Spread(NamedTuple):
    """How many numbers of a column each class has, where they lie and how wide, [class]."""

    n: Floats
    mean: Floats
    ssd: Floats

    def say(self, k: int) -> str:
        """Say where the numbers of a class lie."""
        return f"{rounded(self.mean[k], 4)} ± {rounded(np.sqrt(self.ssd[k] / self.n[k]), 2)}" if self.n[k] else "none"


class Behind(NamedTuple):
    """What stands behind the scores: the rows themselves, and the counts they were estimated from."""

    source: Any
    tables: dict[str, LogTable]  # of the columns of labels
    codes: dict[str, Codes]  # which value of its table each row holds
    numbers: dict[str, Spread]  # of the columns of numbers
    rows: Floats  # how many there are of each class
    imagined: float | None  # how many more of each class the prior imagines; None if it was given
    pairs: Mapping[str, tuple[str, str]] | None = None  # of columns taken together, by name; None in the text book
    texts: Mapping[str, Texts] = {}  # of columns of texts, by name


@dataclass(frozen=True, eq=False, repr=False)
class Evidence:
    """What each column said about each class, for some rows.

    `scores` is [row, column, class] and `prior` is [class]; summed over the columns, with the prior, they are the log
    joint whose softmax is `predict_proba`. In a calibrated model they are its own: all scores times `scale`, and the
    prior with the `bias` of each class. A bar of the picture is the lead of the most probable class, `answer`, over
    the one it is compared with, `against`. Costs change what is decided, not what is probable: they have no part in it.

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
    wind     (missing)                    │            says nothing
    >>> print(evidence.fractions())
    out  3/4 · 2/3
    in  1/4 · 0/1
    """

    columns: tuple[str, ...]
    classes: tuple[Any, ...]
    prior: Floats
    scores: Floats
    answer: Places
    against: Places
    behind: Behind
    scale: float = 1.0
    bias: Floats | None = None

    def __len__(self) -> int:
        return len(self.scores)

    @cached_property
    def log_joint(self) -> Floats:
        """The sums: log P(row, class) as [row, class], up to terms that all classes share."""
        return np.asarray(self.prior + self.scores.sum(axis=1))

    @cached_property
    def probabilities(self) -> Floats:
        """P(class | row) as [row, class]: what `predict_proba` gives. The prior, if every class is ruled out."""
        return posterior(self.log_joint, np.asarray(self.prior - logsumexp(self.prior)))

    @cached_property
    def ruled_out(self) -> npt.NDArray[np.bool_]:
        """Whether every class is ruled out, row by row."""
        return np.asarray(np.isneginf(self.log_joint).all(axis=1))

    def bars(self, row: int = 0) -> list[tuple[str, float]]:
        """Return what the prior and each column add to the lead of the answer, the strongest first.

        Infinite where one of the two classes is ruled out; NaN where both are.
        """
        k, other = self.answer[row], self.against[row]
        with np.errstate(invalid="ignore"):
            first = float(self.prior[k] - self.prior[other])
            leads = self.scores[row, :, k] - self.scores[row, :, other]
        order = np.argsort(-np.nan_to_num(np.abs(leads), nan=np.inf), kind="stable")
        return [(PRIOR, first), *((self.columns[at], float(leads[at])) for at in order)]

    # -- as tables ----------------------------------------------------------------------------------------------

    def frame(self) -> Any:
        """Return a frame with a line for each row and column, and the scores of each class."""
        rows, names = len(self), (PRIOR, *self.columns)
        cells = [pa.repeat("", rows), *(self._texts(name, 0, rows) for name in self.columns)]
        # Column by column they lie one after the other; a line takes one of each.
        lines = (np.arange(rows)[:, None] + rows * np.arange(len(names))).ravel()
        prior = np.broadcast_to(self.prior, (rows, 1, len(self.classes)))
        scores = np.concatenate([prior, self.scores], axis=1).reshape(-1, len(self.classes))
        places = {
            "row": np.repeat(np.arange(rows), len(names)),
            "column": pa.array(names).take(pa.array(lines // max(rows, 1))),
            "value": pa.concat_arrays(cells).take(pa.array(lines)),
        }
        shown = {f"score of {label}": np.ascontiguousarray(scores[:, k]) for k, label in enumerate(self.classes)}
        return frame_of_arrow(pa.table(places | shown))

    def fractions(self, row: int = 0) -> str:
        """Return the arithmetic of the text book for one row: a line of unreduced fractions for each class.

        Labels are fractions, densities plain numbers, and a column that says nothing is left out. The most
        probable class comes first. A calibrated model has a last line on what becomes of the products.
        """
        lines = []
        for k in np.argsort(-self.log_joint[row], kind="stable"):
            factors = [self._prior_fraction(int(k)), *(self._fraction(name, row, int(k)) for name in self.columns)]
            lines.append(f"{self.classes[k]}  {' · '.join(factor for factor in factors if factor)}")
        return "\n".join([*lines, *self._tempering()])

    def _tempering(self) -> list[str]:
        """Return what becomes of the products of a calibrated model, in a line."""
        if self.scale == 1.0 and self.bias is None:
            return []
        times: list[float] = [] if self.bias is None else np.exp(self.bias).tolist()
        each = ", ".join(f"{by:.4g} for {label}" for label, by in zip(self.classes, times, strict=False))
        return [f"calibrated: each to the power {self.scale:.4g}{f', then times {each}' if each else ''}"]

    def _prior_fraction(self, k: int) -> str:
        rows, imagined = self.behind.rows, self.behind.imagined
        if imagined is None or self.behind.pairs is not None:
            bias = 0.0 if self.bias is None else self.bias[k]
            return f"{np.exp((self.prior[k] - bias) / self.scale):.6g}"
        return shares.fraction(rows[k], rows.sum(), imagined, len(rows))

    def _fraction(self, name: str, row: int, k: int) -> str:
        if name in self.behind.tables and self.behind.pairs is None:
            return self.behind.tables[name].fraction(k, int(self.behind.codes[name][row]))
        scores = self.scores[row, self.columns.index(name)]
        return factor(scores[k] / self.scale) if scores.any() else ""

    def words(self, row: int = 0, column: str | None = None) -> Any:
        """Return a frame with a line for each word of a text: its score of each class, and the texts it was met in.

        The strongest come first. The scores add up to that of the column, save for what absent words say.
        """
        texts = self.behind.texts[column_of(list(self.behind.texts), column)]
        k, other = int(self.answer[row]), int(self.against[row])
        said = texts.said(row)
        order = said.strongest(k, other, len(said.names))
        scores = {f"score of {label}": said.scores[order, at] for at, label in enumerate(self.classes)}
        met = {f"texts of {label}": said.texts[order, at] for at, label in enumerate(self.classes)}
        return frame({"word": [said.names[at] for at in order], **scores, **met})

    def message(self, row: int = 0, column: str | None = None) -> str:
        """Return a text for a terminal, its words coloured: blue for the answer, orange against it."""
        texts = self.behind.texts[column_of(list(self.behind.texts), column)]
        return painted(*texts.strengths(row, int(self.answer[row]), int(self.against[row])))

    # -- as pictures --------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        return "\n\n".join([*(text_picture(*self._picture(row)) for row in self._drawn), *self._more])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        more = "".join(f"<p>{text}</p>" for text in self._more)
        return "".join(html_picture(*self._picture(row)) + self._html_texts(row) for row in self._drawn) + more

    def _html_texts(self, row: int) -> str:
        """Return the texts of one row, their words coloured."""
        pair = int(self.answer[row]), int(self.against[row])
        return "".join(html_painted(*texts.strengths(row, *pair)) for texts in self.behind.texts.values())

    @property
    def _drawn(self) -> range:
        return range(min(len(self), DRAWN))

    @property
    def _more(self) -> list[str]:
        return [f"… and {len(self) - DRAWN} more rows"] if len(self) > DRAWN else []

    def _picture(self, row: int) -> tuple[str, list[Line]]:
        """Return the title and the lines of one row."""
        bars = self.bars(row)
        longest = max((abs(lead) for lead in self._leads(row, bars) if np.isfinite(lead)), default=0.0)
        pairs = [name for name, _ in bars if name in (self.behind.pairs or ())]
        shown = [bar for bar in bars if bar[0] not in pairs[DRAWN_PAIRS:]]
        lines = []
        for name, lead in shown:
            lines += [self._line(row, name, lead, longest), *self._lines_of_words(row, name, longest)]
        if len(pairs) > DRAWN_PAIRS:
            rest = float(sum(lead for name, lead in bars if name in pairs[DRAWN_PAIRS:]))
            lines.append(Line(f"({len(pairs) - DRAWN_PAIRS} other pairs)", "", amount(rest), share(rest, longest), ""))
        return self._title(row), lines

    def _leads(self, row: int, bars: list[tuple[str, float]]) -> list[float]:
        """Return the leads of all bars, those of single words too."""
        k, other, leads = int(self.answer[row]), int(self.against[row]), [lead for _, lead in bars]
        for texts in self.behind.texts.values():
            said = texts.said(row)
            with np.errstate(invalid="ignore"):
                leads += (said.scores[:, k] - said.scores[:, other]).tolist()
        return leads

    def _title(self, row: int) -> str:
        k, other = int(self.answer[row]), int(self.against[row])
        p = self.probabilities[row]
        title = f"{self.classes[k]} ({p[k]:.3g})" + (f" against {self.classes[other]} ({p[other]:.3g})" * (k != other))
        title += f", {softened(self.scale)}" if self.scale != 1.0 else ""
        return f"Every class is ruled out, so the prior speaks alone: {title}" if self.ruled_out[row] else title

    def _line(self, row: int, name: str, lead: float, longest: float) -> Line:
        if name == PRIOR:
            return Line(name, "", amount(lead), share(lead, longest), self._note_on_prior(row))
        value = self._texts(name, row, row + 1)[0].as_py()
        value = shortened(value, DRAWN_TEXT) if name in self.behind.texts else value
        if not self.scores[row, self.columns.index(name)].any() and not self._met(name, row):
            return Line(name, value, "", 0.0, f"says nothing{self._why_silent(name, row)}")
        return Line(name, value, amount(lead), share(lead, longest), self._note(name, row))

    def _lines_of_words(self, row: int, name: str, longest: float) -> list[Line]:
        """Return a line for each of the strongest words of a text."""
        if name not in self.behind.texts:
            return []
        k, other, lines = int(self.answer[row]), int(self.against[row]), []
        said = self.behind.texts[name].said(row)
        for at in said.strongest(k, other, DRAWN_WORDS):
            lead, met = float(said.scores[at, k] - said.scores[at, other]), said.texts[at]
            first, second = (str(self.classes[by]) for by in (k, other))
            note = f"in {met[k]:.10g} text{'s' * int(met[k] != 1)} of {first}, {met[other]:.10g} of {second}"
            lines.append(Line(f"  {said.names[at]}", "", amount(lead), share(lead, longest), note))
        rest = len(said.names) - len(lines)
        return [*lines, *([Line(f"  … {rest} more word{'s' * (rest > 1)}", "", "", 0.0, "")] if rest > 0 else [])]

    def texts(self, name: str) -> list[str]:
        """Return what each row holds in a column, as text."""
        texts: list[str] = self._texts(name, 0, len(self)).to_pylist()
        return texts

    def _texts(self, name: str, begin: int, end: int) -> Any:
        """Return what some rows hold in a column, as an Arrow array of texts."""
        source = self.behind.source
        if name in (self.behind.pairs or ()):
            both = (self._texts(one, begin, end).to_pylist() for one in (self.behind.pairs or {})[name])
            return pa.array([" × ".join(cells) for cells in zip(*both, strict=True)], pa.string())
        if not isinstance(source, Frame):
            return pa.array([written(cell(row, name)) for row in source[begin:end]], pa.string())
        values = source.columns[name]
        if not isinstance(values, Values):
            return pa.repeat("(vector)", end - begin)
        if values.floating:
            return pa.array(written_numbers(values.numbers(begin, end)), pa.string())
        labels, which = values.labels(begin, end)
        texts = pa.array([*map(written, labels), shown(None)], pa.string())
        return texts.take(pa.array(np.where(which < 0, len(labels), which)))

    def _met(self, name: str, row: int) -> bool:
        """Tell whether a row holds a label that was met, in a column of labels."""
        table = self.behind.tables.get(name)
        return table is not None and 0 <= self.behind.codes[name][row] < len(table.values)

    def _why_silent(self, name: str, row: int) -> str:
        return ": never met" if name in self.behind.tables and self.behind.codes[name][row] >= 0 else ""

    def _note_on_prior(self, row: int) -> str:
        k, other, n = int(self.answer[row]), int(self.against[row]), self.behind.rows
        if self.behind.imagined is None:
            return "as set"
        rest = f", {n[other]:.10g} {self.classes[other]}" if k != other else ""
        return f"{n[k]:.10g} of {n.sum():.10g} rows are {self.classes[k]}{rest}"

    def _note(self, name: str, row: int) -> str:
        """Return the rows behind what a column said, and which classes it rules out."""
        at, pair = self.columns.index(name), [*dict.fromkeys((int(self.answer[row]), int(self.against[row])))]
        names = [str(self.classes[k]) for k in pair]
        behind = self.behind
        if self._met(name, row):
            n, code = behind.tables[name].n, int(behind.codes[name][row])
            told = [f"{n[k, code]:.10g} of {n[k].sum():.10g}" for k in pair]
            where = behind.tables[name].where(code)
            notes = [f"{told[0]} rows of {names[0]}{where}", *map("{} of {}".format, told[1:], names[1:])]
        elif name in behind.numbers:
            notes = [f"{behind.numbers[name].say(k)} for {label}" for k, label in zip(pair, names, strict=True)]
        else:
            notes = ["never met"] if name in behind.tables else []
        out = [label for k, label in zip(pair, names, strict=True) if np.isneginf(self.scores[row, at, k])]
        ends = [f"rules out {' and '.join(out)}"] if out else []
        return ": ".join([*([", ".join(notes)] if notes else []), *ends])


def share(lead: float, longest: float) -> float:
    """Return a lead as a share of the longest that is finite."""
    if np.isfinite(lead):
        return lead / longest if longest else 0.0
    return 0.0 if np.isnan(lead) else float(np.sign(lead))


def amount(lead: float) -> str:
    """Return a lead in logarithms, with its sign; nothing where both classes are ruled out."""
    if np.isfinite(lead):
        return f"{lead:+.3f}"
    return "" if np.isnan(lead) else "+∞" if lead > 0 else "-∞"


def factor(score: float) -> str:
    """Return what a score multiplies by; as a power of e where the number itself would be too small or too large."""
    if abs(score) < 600 or np.isneginf(score):
        return f"{np.exp(score):.6g}"
    return f"exp({score:.6g})"


def cell(row: Any, name: str) -> Any:
    """Return what a dict holds in a column; a number is a name, too."""
    return row[name] if name in row else next((value for key, value in row.items() if str(key) == name), None)


def written(value: Any) -> str:
    """Return a value as people write it."""
    if is_missing(value):
        return shown(None)
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def written_numbers(numbers: Floats) -> list[str]:
    """Return numbers as people write them, all in one go."""
    texts = ("%.6g\n" * len(numbers) % tuple(numbers.tolist())).split("\n")[:-1]
    for row in np.flatnonzero(np.isnan(numbers)):
        texts[row] = shown(None)
    return texts
