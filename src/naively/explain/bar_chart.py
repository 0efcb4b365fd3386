"""Bar charts and highlighted texts for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from math import copysign, isfinite, isnan

from ..judge.metrics import aligned_lines
from ..markup.numbers import signed
from .evidence_lines import EvidencePicture

# Length of the longest bar, in terminal cells.
LONGEST = 10
# Background colors of text for and against the answer, as terminal colors, the strongest last.
FOR, AGAINST = (195, 153, 111), (230, 223, 215)
# Characters whose contribution is below this proportion of the largest are not colored.
FAINT = 0.05


def bar_length(lead: float, longest: float) -> float:
    """Return the length of the bar of a lead as a proportion of the longest: between -1 and 1, given the largest."""
    if isfinite(lead):
        return lead / longest if longest else 0.0
    return 0.0 if isnan(lead) else copysign(1.0, lead)


def text_bar_chart(picture: EvidencePicture) -> str:
    """Return a bar chart as text: bars to the right are for the answer, bars to the left against it."""
    rows = [
        (line.name, line.value, signed(line.lead, 3), _text_bar(bar_length(line.lead, picture.longest)), line.note)
        for line in picture.lines
    ]
    return "\n".join([picture.title, *aligned_lines(rows, right=(2,))])


def highlighted_text(text: str, contributions: Sequence[float]) -> str:
    """Return a text for a terminal, colored by the contribution of each character to the log-odds."""
    parts = []
    for piece, strength in equal_spans(text, contributions):
        color = (FOR if strength > 0 else AGAINST)[strength_level(strength) - 1]
        parts.append(f"\x1b[30;48;5;{color}m{piece}\x1b[0m" if abs(strength) >= FAINT else piece)
    return "".join(parts)


def strength_level(strength: float) -> int:
    """Return which of three colors a piece of text has, 1 to 3, by its contribution as a proportion of the largest."""
    return min(int(abs(strength) * 3), 2) + 1


def equal_spans(text: str, contributions: Sequence[float]) -> list[tuple[str, float]]:
    """Return the longest pieces of equal contribution, each with its contribution as a proportion of the largest."""
    longest = max((abs(contribution) for contribution in contributions), default=0.0) or 1.0
    spans: list[tuple[str, float]] = []
    for character, contribution in zip(text, contributions, strict=True):
        strength = round(contribution / longest, 3)
        if spans and spans[-1][1] == strength:
            spans[-1] = (spans[-1][0] + character, strength)
        else:
            spans.append((character, strength))
    return spans


def _text_bar(length: float) -> str:
    cells = round(abs(length) * LONGEST)
    left, right = ("█" * cells, "") if length < 0 else ("", "█" * cells)
    return f"{left:>{LONGEST}}│{right:<{LONGEST}}"
