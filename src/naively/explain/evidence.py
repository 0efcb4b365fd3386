"""Evidence: an answer taken apart into what every column said, as numbers, fractions and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.special import logsumexp

from .._frames import frame, frame_of_arrow
from .._types import Codes, Floats, Longs
from ..families import proportions as shares
from ..families.categorical import LogTable
from ..families.family import rounded_number
from ..judge.drawing import Line, amount, html_painted, html_picture, painted, share, shortened, text_picture
from ..model.scorer import posterior, softened
from .cells import texts_of
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

    def say(self, k: int) -> str:
        """Say where the numbers of a class lie."""
        return (
            f"{rounded_number(self.mean[k], 4)} ± {rounded_number(np.sqrt(self.ssd[k] / self.n[k]), 2)}"
            if self.n[k]
            else "none"
        )


class Behind(NamedTuple):
    """What stands behind the scores: the rows themselves, and the counts they were estimated from."""

    source: Any
    tables: Mapping[str, LogTable]  # of the columns of labels
    codes: dict[str, Codes]  # which value of its table each row holds
    numbers: dict[str, Spread]  # of the columns of numbers
    rows: Floats  # how many there are of each class
    imagined: float | None  # how many more of each class the prior imagines; None if it was given
    pairs: Mapping[str, tuple[str, str]] | None = None  # of columns taken together, by name; None in the text book
    texts: Mapping[str, TextEvidence] = {}  # of columns of texts, by name
    joint: str = ""  # what joint terms are, in words


@dataclass(frozen=True, eq=False, repr=False)
class Evidence:
    """What each column said about each class, for some rows.

    `scores` is [row, column, class] and `prior` is [class]; summed over the columns, with the prior, they are the log
    joint whose softmax is `predict_proba`. In a calibrated model they are its own: all scores times `scale`, and the
    prior with the `bias` of each class. A bar of the picture is the lead of the most probable class, `answer`, over
    the one it is compared with, `against`. Costs change what is decided, not what is probable: they have no part in it.

    In a model of columns together, `joint` is the part of `scores` that comes from joint terms: a linear score of all
    columns, pairs, or offsets fitted for all columns at once. The rest comes from the column's own values, and the
    counts that are shown stand behind that alone. In the textbook model `joint` is None: there are no such terms.

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
    answer: Longs
    against: Longs
    behind: Behind
    scale: float = 1.0
    bias: Floats | None = None
    joint: Floats | None = None

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

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: at for at, name in enumerate(self.columns)}

    @property
    def own(self) -> Floats:
        """The part of `scores` that comes from each column's own values, [row, column, class]."""
        return self.scores if self.joint is None else self.scores - self.joint

    def parts(self, row: int = 0) -> list[tuple[str, float, float]]:
        """Return each column with its lead by its own values, and that through joint terms; in the order of `bars`."""
        k, other = self.answer[row], self.against[row]
        with np.errstate(invalid="ignore"):
            total = self.scores[row, :, k] - self.scores[row, :, other]
            joint = np.zeros(len(total)) if self.joint is None else self.joint[row, :, k] - self.joint[row, :, other]
            own = total - joint
        at = [self._places[name] for name, _ in self.bars(row)[1:]]
        return [(self.columns[place], float(own[place]), float(joint[place])) for place in at]

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
        """Return a frame with a line for each row and part of a column, and the scores of each class.

        `part` is "prior", "own" (by the column's own values), "joint" (through joint terms) or "pair" (of columns). The
        scores of all lines of a row add up to its log joint.
        """
        rows, kinds = len(self), self._kinds
        names, parts = [PRIOR, *(self.columns[at] for at, _ in kinds)], ["prior", *(part for _, part in kinds)]
        texts = [self._texts(name, 0, rows) for name in self.columns]
        cells = [pa.repeat("", rows), *(texts[at] for at, _ in kinds)]
        # Part by part they lie one after the other; a line takes one of each.
        lines = (np.arange(rows)[:, None] + rows * np.arange(len(names))).ravel()
        said = {"own": self.own, "joint": self.joint, "pair": self.scores}
        each = np.empty((rows, len(names), len(self.classes)))
        each[:, 0] = self.prior
        for line, (at, part) in enumerate(kinds, 1):
            each[:, line] = said[part][:, at]  # type: ignore[index]
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
        scores = self.scores[row, self._places[name]]
        return factor(scores[k] / self.scale) if scores.any() else ""

    def words(self, row: int = 0, column: str | None = None) -> Any:
        """Return a frame with a line for each word of a text: its score of each class, and the texts it was met in.

        The strongest come first. The scores add up to that of the column, save for what absent words say.
        """
        texts = self.behind.texts[text_column(list(self.behind.texts), column)]
        k, other = int(self.answer[row]), int(self.against[row])
        said = texts.contributions(row)
        order = said.strongest(k, other, len(said.names))
        scores = {f"score of {label}": said.scores[order, at] for at, label in enumerate(self.classes)}
        met = {f"texts of {label}": said.texts[order, at] for at, label in enumerate(self.classes)}
        return frame({"word": [said.names[at] for at in order], **scores, **met})

    def message(self, row: int = 0, column: str | None = None) -> str:
        """Return a text for a terminal, its words coloured: blue for the answer, orange against it."""
        texts = self.behind.texts[text_column(list(self.behind.texts), column)]
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
                lines.append(Line(f"({len(some):,} other {what})", "", amount(rest), share(rest, longest), ""))
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
        return f"Every class is ruled out, so the prior speaks alone: {title}" if self.ruled_out[row] else title

    def _lines(self, row: int, name: str, lead: float, parts: Sequence[float], longest: float) -> list[Line]:
        """Return the lines of a column: its contribution, and where it has both, its parts; then its words."""
        if name == PRIOR:
            return [Line(name, "", amount(lead), share(lead, longest), self._note_on_prior(row))]
        at, joint = self._places[name], self.joint
        value = self._texts(name, row, row + 1)[0].as_py()
        value = shortened(value, DRAWN_TEXT) if name in self.behind.texts else value
        if not self.scores[row, at].any() and not self._met(name, row):
            return [Line(name, value, "", 0.0, f"says nothing{self._why_silent(name, row)}")]
        line, note = Line(name, value, amount(lead), share(lead, longest), ""), self._note(name, row)
        words = self._lines_of_words(row, name, longest)
        if joint is None or not joint[row, at].any() or name in (self.behind.pairs or ()):
            return [line._replace(note=note), *words]
        if not (self.scores[row, at] - joint[row, at]).any():
            return [line._replace(note=f"joint terms alone: {self.behind.joint}"), *words]
        notes = zip((OWN, JOINT), parts, (note, self.behind.joint), strict=True)
        both = [Line(part, "", amount(by), share(by, longest), why) for part, by, why in notes]
        return [line, *both, *words]

    def _lines_of_words(self, row: int, name: str, longest: float) -> list[Line]:
        """Return a line for each of the strongest words of a text."""
        if name not in self.behind.texts:
            return []
        k, other, lines = int(self.answer[row]), int(self.against[row]), []
        said = self.behind.texts[name].contributions(row)
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
        if name in (self.behind.pairs or ()):
            both = (self._texts(one, begin, end).to_pylist() for one in (self.behind.pairs or {})[name])
            return pa.array([" × ".join(cells) for cells in zip(*both, strict=True)], pa.string())
        return texts_of(self.behind.source, name, begin, end)

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
        at, pair = self._places[name], [*dict.fromkeys((int(self.answer[row]), int(self.against[row])))]
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
            notes = ["never met"] if name in behind.tables else ["beyond both columns"] * (name in (behind.pairs or ()))
        out = [label for k, label in zip(pair, names, strict=True) if np.isneginf(self.scores[row, at, k])]
        ends = [f"rules out {' and '.join(out)}"] if out else []
        return ": ".join([*([", ".join(notes)] if notes else []), *ends])


def factor(score: float) -> str:
    """Return what a score multiplies by; as a power of e where the number itself would be too small or too large."""
    if abs(score) < 600 or np.isneginf(score):
        return f"{np.exp(score):.6g}"
    return f"exp({score:.6g})"
