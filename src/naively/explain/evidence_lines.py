"""The lines of the picture of one row: prior, columns with their parts, pairs, words, and the rows behind each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from ..judge.metrics import truncated_line
from ..markup.numbers import probability_texts
from ..model.scorer import softened

if TYPE_CHECKING:
    from .evidence import Evidence

# Columns, and pairs of them, that have a line of their own; there may be thousands.
DRAWN_COLUMNS, DRAWN_PAIRS = 30, 5
# Words of a text that have a line of their own, and places that are left for the text itself.
DRAWN_WORDS, DRAWN_TEXT = 8, 40
PRIOR = "(prior)"
# The parts of a contribution, as lines of the picture: by the column's own values, and through joint terms.
OWN, JOINT = "  own values", "  joint terms"

LineKind: TypeAlias = Literal[
    "prior", "column", "own", "joint", "pair", "word", "more words", "other columns", "other pairs"
]


class EvidenceLine(NamedTuple):
    """A line of the picture: what it is, its name and value, its lead for the answer, and the rows behind it.

    The lead is a difference of log joints; NaN if the line contributes nothing, or if both classes are ruled out. The
    names of lines that detail the line above them begin with spaces.
    """

    kind: LineKind
    name: str
    value: str
    lead: float
    note: str


class EvidencePicture(NamedTuple):
    """The picture of one row: the answer and its probability, the lines, and the longest finite bar."""

    title: str
    lines: list[EvidenceLine]
    longest: float


def evidence_picture(evidence: Evidence, row: int) -> EvidencePicture:
    """Return the picture of one row."""
    bars = evidence.bars(row)
    known = evidence.behind.pairs or {}
    pairs = [name for name, _ in bars if name in known]
    columns = [name for name, _ in bars[1:] if name not in known]
    hidden: dict[LineKind, set[str]] = {
        "other columns": set(columns[DRAWN_COLUMNS:]),
        "other pairs": set(pairs[DRAWN_PAIRS:]),
    }
    parts = {name: both for name, *both in evidence.parts(row)}
    lines = []
    for name, lead in bars:
        if not any(name in some for some in hidden.values()):
            lines += column_lines(evidence, row, name, lead, parts.get(name, [lead, 0.0]))
    for kind, some in hidden.items():
        if some:
            rest = float(sum(lead for name, lead in bars if name in some))
            lines.append(EvidenceLine(kind, f"({len(some):,} {kind})", "", rest, ""))
    return EvidencePicture(evidence_title(evidence, row), lines, longest_bar(evidence, row))


def longest_bar(evidence: Evidence, row: int) -> float:
    """Return the longest finite bar of a row, among those of parts and single words too."""
    k, other = int(evidence.answer[row]), int(evidence.against[row])
    leads = [lead for _, lead in evidence.bars(row)]
    leads += [lead for _, *both in evidence.parts(row) for lead in both]
    for texts in evidence.behind.texts.values():
        said = texts.contributions(row)
        with np.errstate(invalid="ignore"):
            leads += (said.scores[:, k] - said.scores[:, other]).tolist()
    return max((abs(lead) for lead in leads if np.isfinite(lead)), default=0.0)


def compared_probabilities(evidence: Evidence, row: int) -> tuple[str, str]:
    """Return the probabilities of the answer and of the class it is compared with, as texts."""
    texts = probability_texts(evidence.probabilities[row].tolist())
    return texts[int(evidence.answer[row])], texts[int(evidence.against[row])]


def evidence_title(evidence: Evidence, row: int) -> str:
    """Return the answer and the class it is compared with, both with their probabilities."""
    k, other = int(evidence.answer[row]), int(evidence.against[row])
    own, rival = compared_probabilities(evidence, row)
    title = f"{evidence.classes[k]} ({own})" + f" against {evidence.classes[other]} ({rival})" * (k != other)
    title += f", {softened(evidence.scale)}" if evidence.scale != 1.0 else ""
    return f"Every class is ruled out, so only the prior is left: {title}" if evidence.ruled_out[row] else title


# -- the lines of a column ---------------------------------------------------------------------------------------------


def column_lines(evidence: Evidence, row: int, name: str, lead: float, parts: Sequence[float]) -> list[EvidenceLine]:
    """Return the lines of a column: its contribution, and where it has both, its parts; then its words."""
    if name == PRIOR:
        return [EvidenceLine("prior", name, "", lead, note_on_prior(evidence, row))]
    at, joint, behind = evidence._places[name], evidence.joint, evidence.behind
    kind: LineKind = "pair" if name in (behind.pairs or ()) else "column"
    value = evidence._texts(name, row, row + 1)[0].as_py()
    value = truncated_line(value, DRAWN_TEXT) if name in behind.texts else value
    if not evidence.scores[row, at].any() and not was_seen(evidence, name, row):
        nothing = f"contributes nothing{why_nothing(evidence, name, row)}"
        return [EvidenceLine(kind, name, value, float("nan"), nothing)]
    line, note = EvidenceLine(kind, name, value, lead, ""), note_on_column(evidence, name, row)
    words = word_lines(evidence, row, name)
    if joint is None or not joint[row, at].any() or kind == "pair":
        return [line._replace(note=note), *words]
    if not (evidence.scores[row, at] - joint[row, at]).any():
        return [line._replace(note=f"joint terms alone: {behind.joint}"), *words]
    own, together = parts
    return [
        line,
        EvidenceLine("own", OWN, "", own, note),
        EvidenceLine("joint", JOINT, "", together, behind.joint),
        *words,
    ]


def word_lines(evidence: Evidence, row: int, name: str) -> list[EvidenceLine]:
    """Return a line for each of the strongest words of a text."""
    if name not in evidence.behind.texts:
        return []
    k, other = int(evidence.answer[row]), int(evidence.against[row])
    said, lines = evidence.behind.texts[name].contributions(row), []
    first, second = (str(evidence.classes[by]) for by in (k, other))
    for at in said.strongest(k, other, DRAWN_WORDS):
        lead, met = float(said.scores[at, k] - said.scores[at, other]), said.texts[at]
        note = f"in {met[k]:.10g} text{'s' * int(met[k] != 1)} of {first}, {met[other]:.10g} of {second}"
        lines.append(EvidenceLine("word", f"  {said.names[at]}", "", lead, note))
    rest = len(said.names) - len(lines)
    if rest > 0:
        lines.append(EvidenceLine("more words", f"  … {rest} more word{'s' * (rest > 1)}", "", float("nan"), ""))
    return lines


# -- the rows behind it ------------------------------------------------------------------------------------------------


def was_seen(evidence: Evidence, name: str, row: int) -> bool:
    """Tell whether a row holds a label that was seen, in a column of labels."""
    table = evidence.behind.tables.get(name)
    return table is not None and 0 <= evidence.behind.codes[name][row] < len(table.values)


def why_nothing(evidence: Evidence, name: str, row: int) -> str:
    """Return why a column contributes nothing, where it is not missing."""
    return ": never seen" if name in evidence.behind.tables and evidence.behind.codes[name][row] >= 0 else ""


def note_on_prior(evidence: Evidence, row: int) -> str:
    """Return how many rows are of the two classes."""
    k, other, n = int(evidence.answer[row]), int(evidence.against[row]), evidence.behind.rows
    if evidence.behind.pseudo_counts is None:
        return "as set"
    rest = f", {n[other]:.10g} {evidence.classes[other]}" if k != other else ""
    return f"{n[k]:.10g} of {n.sum():.10g} rows are {evidence.classes[k]}{rest}"


def note_on_column(evidence: Evidence, name: str, row: int) -> str:
    """Return the rows behind the contribution of a column, and which classes it rules out."""
    at, pair = evidence._places[name], [*dict.fromkeys((int(evidence.answer[row]), int(evidence.against[row])))]
    names = [str(evidence.classes[k]) for k in pair]
    behind = evidence.behind
    if was_seen(evidence, name, row):
        n, code = behind.tables[name].n, int(behind.codes[name][row])
        told = [f"{n[k, code]:.10g} of {n[k].sum():.10g}" for k in pair]
        where = behind.tables[name].where(code)
        notes = [f"{told[0]} rows of {names[0]}{where}", *map("{} of {}".format, told[1:], names[1:])]
    elif name in behind.numbers:
        notes = [f"{behind.numbers[name].describe(k)} for {label}" for k, label in zip(pair, names, strict=True)]
    else:
        notes = ["never seen"] if name in behind.tables else ["beyond both columns"] * (name in (behind.pairs or ()))
    out = [label for k, label in zip(pair, names, strict=True) if np.isneginf(evidence.scores[row, at, k])]
    ends = [f"rules out {' and '.join(out)}"] if out else []
    return ": ".join([*([", ".join(notes)] if notes else []), *ends])
