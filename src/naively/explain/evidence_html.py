"""Evidence as HTML for a notebook: a bar for the prior, each column, each pair and each word, which add up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..markup.numbers import count_text, signed
from ..markup.style import notebook_view
from ..markup.svg import signed_bar
from ..markup.tags import Child, Html, joined, label, table, tag
from .bar_chart import FAINT, bar_length, equal_spans, strength_level
from .evidence_lines import EvidenceLine, EvidencePicture, compared_probabilities, evidence_picture

if TYPE_CHECKING:
    from .evidence import Evidence

# Characters of a text that are shown; a text may be a book.
SHOWN_TEXT = 4000
PAIRS = ("pair", "other pairs")


def evidence_html(evidence: Evidence, drawn: int) -> Html:
    """Return the first rows of evidence as HTML."""
    rows = [_row_html(evidence, row) for row in range(min(len(evidence), drawn))]
    more = len(evidence) - drawn
    rest = [tag("p", f"… and {count_text(more)} more rows", css="nv-m")] if more > 0 else []
    joint = evidence.behind.joint
    if joint and evidence.joint is not None and len(evidence):
        rest.append(tag("small", f"Joint terms: {joint}."))
    return notebook_view(*rows, *rest)


def _row_html(evidence: Evidence, row: int) -> Html:
    picture = evidence_picture(evidence, row)
    head = ("column and value", "log-odds", "for and against, with the rows behind it")
    body = table(head, list(_table_rows(evidence, row, picture)), "nv-rows", (1,))
    return joined(_heading(evidence, row), body, *_texts(evidence, row))


def _heading(evidence: Evidence, row: int) -> Html:
    """Return the answer and the class it is compared with, both with their probabilities."""
    k, other = int(evidence.answer[row]), int(evidence.against[row])
    own, rival = compared_probabilities(evidence, row)
    against = tag("span", " against ", label(evidence.classes[other]), f" {rival}", css="nv-m") if k != other else ""
    head = tag("p", label(evidence.classes[k]), f" {own}", against, css="nv-head")
    notes = ["Every class is ruled out, so only the prior is left."] if evidence.ruled_out[row] else []
    notes += [f"Calibrated: scores are multiplied by {evidence.scale:.3g}."] if evidence.scale != 1.0 else []
    return joined(head, [tag("p", note, css="nv-m") for note in notes])


def _table_rows(evidence: Evidence, row: int, picture: EvidencePicture) -> Iterator[Html]:
    lines, longest = picture.lines, picture.longest
    for at, line in enumerate(lines):
        if line.kind in PAIRS or line.kind in ("own", "joint"):
            continue
        note = _note_with_parts(lines[at : at + 3]) if line.kind == "column" else line.note
        yield _line_row(line, longest, note)
    pairs = [line for line in lines if line.kind in PAIRS]
    if pairs:
        both = sum(line.lead for line in pairs if line.lead == line.lead)
        yield _line_row(EvidenceLine("pair", "together", "", both, "pairs of columns, beyond both"), longest)
        for line in pairs:
            yield _line_row(line, longest, "", css="nv-in")
    total = tag("td", signed(sum(lead for _, lead in evidence.bars(row)), 3), css="nv-n")
    yield tag("tr", tag("td", "sum"), total, tag("td", _meaning_of_sum(evidence, row)), css="nv-sum")


def _meaning_of_sum(evidence: Evidence, row: int) -> Html:
    k, other = int(evidence.answer[row]), int(evidence.against[row])
    if k == other:
        return Html("")
    about = joined("log-odds of ", label(evidence.classes[k]), " against ", label(evidence.classes[other]))
    if evidence.floor is None or not evidence.floor.any():
        return about
    return joined(about, tag("small", "without the floor under probabilities"))


def _note_with_parts(lines: Sequence[EvidenceLine]) -> str:
    """Return the note of a column; where it has parts, which the next two lines hold, both with their leads."""
    column, *parts = lines
    if len(parts) < 2 or parts[0].kind != "own":
        return column.note
    own, joint = parts
    behind = f" ({own.note})" if own.note else ""
    return f"own values {signed(own.lead, 3)}{behind}, joint terms {signed(joint.lead, 3)}"


def _line_row(line: EvidenceLine, longest: float, note: str | None = None, css: str = "") -> Html:
    """Return a row of the table: name and value, log-odds, and a bar with the rows behind it below."""
    indented = css or ("nv-in" if line.kind in ("word", "more words") else "")
    value: list[Child] = [" = ", label(line.value)] if line.value else []
    bar = signed_bar(bar_length(line.lead, longest), 1.0) if line.kind != "more words" else Html("")
    below = line.note if note is None else note
    return tag(
        "tr",
        tag("td", label(line.name.strip()), *value, css=indented),
        tag("td", signed(line.lead, 3), css="nv-n"),
        tag("td", bar, tag("small", below) if below else "", css="nv-w"),
    )


def _texts(evidence: Evidence, row: int) -> list[Html]:
    """Return the texts of one row, their words colored."""
    pair = int(evidence.answer[row]), int(evidence.against[row])
    return [highlighted_html(*texts.strengths(row, *pair)) for texts in evidence.behind.texts.values()]


def highlighted_html(text: str, contributions: Sequence[float]) -> Html:
    """Return a text as HTML, colored by the contribution of each character to the log-odds; a long one is cut."""
    parts: list[str] = []
    for piece, strength in equal_spans(text[:SHOWN_TEXT], contributions[:SHOWN_TEXT]):
        css = f"nv-{'f' if strength > 0 else 'a'}{strength_level(strength)}"
        parts.append(tag("span", piece, css=css) if abs(strength) >= FAINT else piece)
    if len(text) > SHOWN_TEXT:
        rest = count_text(len(text) - SHOWN_TEXT)
        parts.append(tag("span", f"… {rest} more characters", css="nv-m"))
    return tag("p", parts, css="nv-text")
