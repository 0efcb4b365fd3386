"""The contributions to one row as lines with the rows behind them: for a terminal, a notebook and the page."""

from __future__ import annotations

from collections.abc import Sequence
from math import copysign, inf, isfinite, isnan
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from .._types import Json, JsonObject, TableLike
from ..data.frame import Frame
from ..data.values import ColumnValues
from ..families.family import rounded_number, shown_label
from ..judge.metrics import aligned_lines, truncated_line
from ..model.scorer import softened
from ..page.content import ContributionLine, PageData, RowView
from ..page.numbers import count_text, number_text, probability_texts, signed
from ..page.style import notebook_view
from ..page.tags import Child, tag
from ..stats.axis import is_missing

if TYPE_CHECKING:
    from .evidence import Evidence

# Columns, pairs of them and words that have a line of their own; there may be thousands.
DRAWN_COLUMNS, DRAWN_PAIRS, DRAWN_WORDS = 30, 5, 8
# Characters of a text in a line, and of a text that is shown whole; a text may be a book.
DRAWN_TEXT, SHOWN_TEXT = 40, 4000
PRIOR, AVERAGE = "(prior)", "(average row)"
LOST = "Every class is ruled out, so only the prior is left"
# The parts of a contribution: by the column's own values, and through joint terms.
OWN, JOINT = "  own values", "  joint terms"
# Length of the longest bar, in terminal cells.
LONGEST = 10
# Background colors of text for and against the predicted class, as terminal colors, the strongest last.
FOR, AGAINST = (195, 153, 111), (230, 223, 215)
# Characters whose contribution is below this proportion of the largest are not colored.
FAINT = 0.05
# On the page: columns and pairs that have a line, and the classes whose counts are listed behind a bar; of more
# classes, the two that are compared.
PAGE_COLUMNS, PAGE_PAIRS, COUNTED_CLASSES = 40, 2, 4


class EvidencePicture(NamedTuple):
    """The picture of one row: the prediction and its probability, the lines, and the longest finite bar."""

    title: str
    lines: list[ContributionLine]
    longest: float


def evidence_picture(evidence: Evidence, row: int) -> EvidencePicture:
    """Return the picture of one row."""
    bars, pairs = evidence.bars(row), evidence.provenance.pairs or {}
    parts = {name: both for name, *both in evidence.parts(row)}
    columns, joint = ([name for name, _ in bars[1:] if (name in pairs) == is_pair] for is_pair in (False, True))
    hidden = {"other columns": columns[DRAWN_COLUMNS:], "other pairs": joint[DRAWN_PAIRS:]}
    lines = [ContributionLine("base", bars[0][0], "", bars[0][1], _note_on_base(evidence, row))]
    leads = [lead for _, lead in bars] + [lead for both in parts.values() for lead in both]
    for name, lead in bars[1:]:
        if not any(name in names for names in hidden.values()):
            lines += _column_lines(evidence, row, name, lead, parts[name])
    for kind, names in hidden.items():
        if names:
            rest = float(sum(lead for name, lead in bars if name in names))
            lines.append(ContributionLine(kind, f"({len(names):,} {kind})", "", rest, ""))
    for text in evidence.provenance.texts.values():
        leads += evidence._lead(row, text.contributions(row).scores).tolist()
    longest = max((abs(lead) for lead in leads if isfinite(lead)), default=0.0)
    k, other = int(evidence.answer[row]), int(evidence.against[row])
    texts = probability_texts(evidence.probabilities[row].tolist())
    title = f"{LOST}: " if evidence.ruled_out[row] else ""
    title += f"{evidence.classes[k]} ({texts[k]})"
    title += f" against {evidence.classes[other]} ({texts[other]})" if k != other else ""
    title += f", {softened(evidence.scale)}" if evidence.scale != 1.0 else ""
    return EvidencePicture(title, lines, longest)


# -- the lines of a column, and the rows behind them -------------------------------------------------------------------


def _column_lines(
    evidence: Evidence, row: int, name: str, lead: float, parts: Sequence[float]
) -> list[ContributionLine]:
    """Return the lines of a column: its contribution, its parts if it has both, and its words."""
    provenance, place = evidence.provenance, evidence._places[name]
    kind = "pair" if name in (provenance.pairs or ()) else "column"
    value = evidence._texts(name, row, row + 1)[0].as_py()
    value = truncated_line(value, DRAWN_TEXT) if name in provenance.texts else value
    codes = provenance.codes[name] if name in provenance.tables else None
    was_seen = codes is not None and 0 <= codes[row] < len(provenance.tables[name].values)
    if not evidence.scores[row, place].any() and not was_seen:
        why = ": never seen" if codes is not None and codes[row] >= 0 else ""
        return [ContributionLine(kind, name, value, float("nan"), f"contributes nothing{why}")]
    note = _note_on_column(evidence, row, name, was_seen)
    line, words = ContributionLine(kind, name, value, lead, note), _word_lines(evidence, row, name)
    if evidence.joint is None or not evidence.joint[row, place].any() or kind == "pair":
        return [line, *words]
    if not evidence.own[row, place].any():
        return [line._replace(note=f"joint terms alone: {provenance.joint}"), *words]
    own = ContributionLine("part", OWN, "", parts[0], note)
    return [line._replace(note=""), own, ContributionLine("part", JOINT, "", parts[1], provenance.joint), *words]


def _word_lines(evidence: Evidence, row: int, name: str) -> list[ContributionLine]:
    """Return a line for each of the strongest words of a text."""
    if name not in evidence.provenance.texts:
        return []
    k, other = int(evidence.answer[row]), int(evidence.against[row])
    words, lines = evidence.provenance.texts[name].contributions(row), []
    leads = evidence._lead(row, words.scores)
    for place in words.strongest(k, other, DRAWN_WORDS):
        n, m = words.texts[place, [k, other]]
        note = f"in {n:.10g} text{'s' * int(n != 1)} of {evidence.classes[k]}, {m:.10g} of {evidence.classes[other]}"
        lines.append(ContributionLine("word", f"  {words.names[place]}", "", float(leads[place]), note))
    if (rest := len(words.names) - len(lines)) > 0:
        lines.append(ContributionLine("more words", f"  … {rest} more word{'s' * (rest > 1)}", "", float("nan"), ""))
    return lines


def _note_on_base(evidence: Evidence, row: int) -> str:
    """Return how many rows are of the two classes; next to an average row, the log-odds of that."""
    k, other, n = int(evidence.answer[row]), int(evidence.against[row]), evidence.provenance.rows
    if evidence.provenance.pseudo_counts is None:
        return "as set"
    rest = f", {n[other]:.10g} {evidence.classes[other]}" if k != other else ""
    rows = f"{n[k]:.10g} of {n.sum():.10g} rows are {evidence.classes[k]}{rest}"
    if evidence.base_name == PRIOR or k == other or not (n[k] > 0 and n[other] > 0):
        return rows
    return f"{rows}: prior log-odds {signed(float(np.log(n[k] / n[other])), 3)}"


def _note_on_column(evidence: Evidence, row: int, name: str, was_seen: bool) -> str:
    """Return the rows behind the contribution of a column, and which classes it rules out."""
    provenance = evidence.provenance
    classes = {k: str(evidence.classes[k]) for k in (int(evidence.answer[row]), int(evidence.against[row]))}
    notes: list[str] = []
    if was_seen:
        table, code = provenance.tables[name], int(provenance.codes[name][row])
        for k, label in classes.items():
            shares = f"{table.n[k, code]:.10g} of {table.n[k].sum():.10g}"
            notes.append(f"{shares} of {label}" if notes else f"{shares} rows of {label}{table.where(code)}")
    elif name in provenance.numbers:
        for k, label in classes.items():
            n, mean, ssd = (float(part[k]) for part in provenance.numbers[name])
            where = f"{rounded_number(mean, 4)} ± {rounded_number(np.sqrt(ssd / n), 2)}" if n else "none"
            notes.append(f"{where} for {label}")
    elif name in provenance.tables:
        notes = ["missing" if provenance.codes[name][row] < 0 else "never seen"]
    elif provenance.pairs and name in provenance.pairs:
        notes = [f"beyond {'both' if len(provenance.pairs[name]) == 2 else 'all three'} columns"]
    scores = evidence.scores[row, evidence._places[name]]
    out = [label for k, label in classes.items() if np.isneginf(scores[k])]
    return ": ".join(filter(None, [", ".join(notes), f"rules out {' and '.join(out)}" if out else ""]))


# -- for a terminal ----------------------------------------------------------------------------------------------------


def bar_length(lead: float, longest: float) -> float:
    """Return the length of the bar of a lead as a proportion of the longest: between -1 and 1, given the largest."""
    if isfinite(lead):
        return lead / longest if longest else 0.0
    return 0.0 if isnan(lead) else copysign(1.0, lead)


def text_picture(evidence: Evidence, row: int) -> str:
    """Return a bar chart as text: bars to the right are for the predicted class, bars to the left against it."""
    title, lines, longest = evidence_picture(evidence, row)
    cells = []
    for line in lines:
        length = bar_length(line.lead, longest)
        bar = "█" * round(abs(length) * LONGEST)
        left, right = (bar, "") if length < 0 else ("", bar)
        drawn = f"{left:>{LONGEST}}│{right:<{LONGEST}}"
        cells.append((line.name, line.value, signed(line.lead, 3), drawn, line.note))
    return "\n".join([title, *aligned_lines(cells, right=(2,))])


def highlighted_text(text: str, contributions: Sequence[float]) -> str:
    """Return a text for a terminal, colored by the contribution of each character to the log-odds."""
    pieces = []
    for piece, level in _colored_pieces(text, contributions):
        color = (FOR if level > 0 else AGAINST)[abs(level) - 1]
        pieces.append(f"\x1b[30;48;5;{color}m{piece}\x1b[0m" if level else piece)
    return "".join(pieces)


def _colored_pieces(text: str, contributions: Sequence[float]) -> list[tuple[str, int]]:
    """Return the longest pieces of equal contribution, each with its strength: 1 to 3 for, -1 to -3 against, or 0."""
    longest = max(map(abs, contributions), default=0.0) or 1.0
    pieces: list[tuple[str, float]] = []
    for character, contribution in zip(text, contributions, strict=True):
        share = round(contribution / longest, 3)
        if pieces and pieces[-1][1] == share:
            pieces[-1] = (pieces[-1][0] + character, share)
        else:
            pieces.append((character, share))
    levels = (0 if abs(share) < FAINT else int(copysign(min(int(abs(share) * 3), 2) + 1, share)) for _, share in pieces)
    return [(piece, level) for (piece, _), level in zip(pieces, levels, strict=True)]


def cell_texts(source: TableLike, name: str, begin: int, end: int) -> pa.Array:
    """Return the cells of a column in some rows of a frame, or some dicts, as an Arrow array of texts."""
    if not isinstance(source, Frame):
        named = ({str(key): cell for key, cell in row.items()} for row in source[begin:end])  # a number is a name, too
        return pa.array([_cell_text(row.get(name)) for row in named], pa.string())
    values = source.columns[name]
    if not isinstance(values, ColumnValues):
        return pa.repeat("(vector)", end - begin)
    if values.floating:
        numbers = values.numbers(begin, end)
        texts = ("%.6g\n" * len(numbers) % tuple(numbers.tolist())).split("\n")[:-1]  # all in one go
        for row in np.flatnonzero(np.isnan(numbers)):
            texts[row] = shown_label(None)
        return pa.array(texts, pa.string())
    labels, codes = values.labels(begin, end)
    label_texts = pa.array([*map(_cell_text, labels), shown_label(None)], pa.string())
    return label_texts.take(pa.array(np.where(codes < 0, len(labels), codes)))


def _cell_text(value: object) -> str:
    """Return a value as people write it."""
    if is_missing(value):
        return shown_label(None)
    return f"{value:.6g}" if isinstance(value, float) else str(value)


# -- for a notebook ----------------------------------------------------------------------------------------------------


def evidence_html(evidence: Evidence, drawn: int) -> str:
    """Return the first rows of evidence as HTML: each a section of the page, with the rows behind each contribution."""
    from ..page.sections import row_view  # notebooks alone need it

    data = PageData(evidence.classes, evidence.provenance.rows.tolist(), [])
    rows = [row_view(data, _notebook_row(evidence, row)) for row in range(min(len(evidence), drawn))]
    more = len(evidence) - drawn
    return notebook_view(rows, tag("p", f"… and {count_text(more)} more rows", css="muted") if more > 0 else "")


def _notebook_row(evidence: Evidence, row: int) -> RowView:
    """Return the lines of the picture, pairs below their sum and after them the sum of all; and the texts."""
    k, other = int(evidence.answer[row]), int(evidence.against[row])
    leads, lines, pairs = dict(evidence.bars(row)), list[ContributionLine](), list[ContributionLine]()
    for line in evidence_picture(evidence, row).lines:
        if line.kind in ("pair", "other pairs"):
            pairs.append(line._replace(name=f"  {line.name}", note=""))
        elif line.kind == "part":  # in the note of its column
            part = f"{line.name.strip()} {signed(line.lead, 3)}"
            part += f" ({line.note})" if line.name == OWN and line.note else ""
            lines[-1] = lines[-1]._replace(note=", ".join(filter(None, [lines[-1].note, part])))
        else:
            lines.append(line)
    if pairs:
        both = sum(leads[name] for name in evidence.provenance.pairs or () if leads[name] == leads[name])
        lines += [ContributionLine("pair", "together", "", both, "pairs of columns, beyond both"), *pairs]
    if k != other:
        floored = evidence.floor is not None and evidence.floor.any()
        meaning = f"log-odds of {evidence.classes[k]} against {evidence.classes[other]}"
        meaning += ", without the floor under probabilities" if floored else ""
        lines.append(ContributionLine("sum", "sum", "", sum(leads.values()), meaning))
    notes = [f"{LOST}."] if evidence.ruled_out[row] else []
    notes += [f"Calibrated: scores are multiplied by {evidence.scale:.3g}."] if evidence.scale != 1.0 else []
    notes += [f"Joint terms: {evidence.provenance.joint}."] if evidence.joint is not None else []
    texts = [_marked_text(*text.strengths(row, k, other)) for text in evidence.provenance.texts.values()]
    return RowView(k, other, evidence.probabilities[row].tolist(), lines, notes, texts, digits=3)


def _marked_text(text: str, contributions: Sequence[float]) -> Child:
    """Return a text with its words in color; a long text is cut."""
    pieces = _colored_pieces(text[:SHOWN_TEXT], contributions[:SHOWN_TEXT])
    marked = [
        tag("mark", piece, css=f"nv-{'f' if level > 0 else 'a'}{abs(level)}") if level else piece
        for piece, level in pieces
    ]
    left = len(text) - SHOWN_TEXT
    return [*marked, tag("span", f"… {count_text(left)} more characters", css="muted")] if left > 0 else marked


# -- for the page ------------------------------------------------------------------------------------------------------


def page_row(evidence: Evidence, cells: JsonObject, data: PageData) -> RowView:
    """Return the first row of evidence as the page shows it where scripts do not run, with counts by bin and value."""
    k, other = int(evidence.answer[0]), int(evidence.against[0])
    size, leads, pairs = len(evidence.classes), dict(evidence.bars()), evidence.provenance.pairs or {}
    counted = range(size) if size <= COUNTED_CLASSES else (k, other)
    distributions = {facts["name"]: facts["distribution"] for facts in data.columns}

    def strength(name: str) -> float:
        return inf if isnan(leads[name]) else abs(leads[name])

    columns = [name for name in evidence.columns if name not in pairs]
    shown = set(sorted(columns, key=strength, reverse=True)[:PAGE_COLUMNS])
    name = "row.prior" if evidence.base_name == PRIOR else "row.base"
    lines = [ContributionLine("base", data.say(name), "", leads[evidence.base_name])]
    for name in columns:
        if name in shown:
            cell, distribution = cells.get(name), distributions.get(name)
            counts = [] if cell is None or distribution is None else _counts_of_cell(data, distribution, cell)
            value = number_text(cell, 6) if isinstance(cell, float) else str(cell)
            value = data.say("row.missing") if cell is None else value
            note = " · ".join(counts[k] for k in counted if counts)
            lines.append(ContributionLine("column", name, value, leads[name], note))
    order = sorted(pairs, key=strength, reverse=True)
    lines += [ContributionLine("pair", " × ".join(pairs[name]), "", leads[name]) for name in order[:PAGE_PAIRS]]
    if rest := order[PAGE_PAIRS:]:
        title = data.say("row.together", n=count_text(len(rest)))
        lines.append(ContributionLine("other pairs", title, "", sum(leads[name] for name in rest)))
    lines.append(ContributionLine("sum", data.say("row.sum.total"), "", sum(leads.values())))
    return RowView(k, other, evidence.probabilities[0].tolist(), lines, undefined=data.say("row.both_out"))


def _counts_of_cell(data: PageData, distribution: JsonObject, cell: Json) -> list[str]:
    """Return the counts behind a cell in each class: of the value, of the bin, or mean and deviation of numbers."""
    names = [str(label) for label in data.classes]
    if distribution["kind"] == "normal":
        parts = zip(distribution["n"], distribution["mean"], distribution["sd"], names, strict=True)
        return [
            data.say("row.counts.normal", mean=number_text(mean), sd=number_text(sd, 2), label=name)
            if n
            else data.say("row.counts.none", label=name)
            for n, mean, sd, name in parts
        ]
    counts: list[float] = []  # none where the cell was never counted
    if distribution["kind"] == "bins" and isinstance(cell, (int, float)):
        place = int(np.searchsorted(distribution["cuts"], cell))
        counts = [line[place] for line in distribution["counts"]]
    elif distribution["kind"] == "labels":
        for part in (distribution["rest"], distribution):
            if str(cell) in part["values"]:
                counts = [line[part["values"].index(str(cell))] for line in part["counts"]]
    return [
        data.say("row.counts.of", n=count_text(n), total=count_text(rows), label=name)
        for n, rows, name in zip(counts, data.class_rows, names, strict=False)
    ]
