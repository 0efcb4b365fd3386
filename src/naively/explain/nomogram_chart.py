"""A nomogram of one row as a chart of Altair."""

from __future__ import annotations

from types import ModuleType

from .._types import JsonObject
from ..judge.metrics import display_width, truncated_line
from ..markup.palette import Theme
from .chart_theme import SIZE, Chart, name_axis
from .nomogram import NomogramAxes, NomogramMark

# The width of the chart, the height of an axis, and the pixels of a character of a mark's label.
WIDTH, STEP, CHARACTER = 1.6 * SIZE, 40, 5.5
LONGEST_MARK = 18
# Probabilities that have a mark where there are two classes.
PROBABILITIES = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)
PROBABILITY = "probability"


def nomogram_chart(alt: ModuleType, axes: NomogramAxes, theme: Theme) -> Chart:
    """Return the axes below each other, a rule at the row's own log-odds, and its own values filled."""
    marks = labelled_marks(axes)
    order = list(dict.fromkeys(str(mark["column"]) for mark in marks))
    base = alt.Chart(alt.InlineData(values=marks)).encode(
        x=alt.X("odds:Q", title=f"log-odds of {axes.label} against {axes.against}, all other cells held"),
        y=alt.Y("column:N", axis=name_axis(alt), sort=order),
        tooltip=["column:N", "value:N", "odds:Q"],
    )
    line = base.mark_line(color=theme.muted, strokeWidth=1).encode(detail="column:N", order="odds:Q")
    ticks = base.transform_filter("!datum.own").mark_tick(color=theme.ink, thickness=1, height=8)
    own = base.transform_filter("datum.own").mark_point(color=theme.positive, filled=True, opacity=1, size=60)
    here = alt.Chart(alt.InlineData(values=[{"odds": axes.log_odds}]))
    rule = here.mark_rule(color=theme.positive, strokeDash=[4, 4], opacity=0.4).encode(x="odds:Q")
    labels = (
        base.transform_filter(f"datum.place == {place} && datum.own == {str(mine).lower()}")
        .mark_text(dy=dy, fontSize=9, color=theme.ink, fontWeight="bold" if mine else "normal")
        .encode(text="shown:N")
        for place, dy in ((0, -11), (1, 12))
        for mine in (False, True)
    )
    return alt.layer(rule, line, ticks, own, *labels).properties(width=WIDTH, height=STEP * max(len(order), 1))


def labelled_marks(axes: NomogramAxes) -> list[JsonObject]:
    """Return the marks, each with its label above or below its axis; one that would lie on another has none."""
    marks = [*axes.marks, *probability_marks(axes)]
    odds = [mark.log_odds for mark in marks]
    per_pixel = (max(odds, default=1.0) - min(odds, default=0.0)) / WIDTH or 1.0
    found: list[JsonObject] = []
    for column in dict.fromkeys(mark.column for mark in marks):
        taken: dict[int, list[tuple[float, float]]] = {0: [], 1: []}
        # The row's own value first, so that no other mark takes the place of its label.
        for mark in sorted((one for one in marks if one.column == column), key=lambda one: (not one.own, one.log_odds)):
            shown = truncated_line(mark.value, LONGEST_MARK)
            half = (display_width(shown) + 1) * CHARACTER * per_pixel / 2
            begin, end = mark.log_odds - half, mark.log_odds + half
            free = (at for at, spans in taken.items() if all(end < left or right < begin for left, right in spans))
            place = next(free, -1)
            if place >= 0:
                taken[place].append((begin, end))
            about = {"column": column, "value": mark.value, "odds": mark.log_odds, "own": mark.own}
            found.append(about | {"shown": shown, "place": place})
    return found


def probability_marks(axes: NomogramAxes) -> list[NomogramMark]:
    """Return marks of probabilities, within what the axes reach, where there are two classes."""
    odds = [mark.log_odds for mark in axes.marks]
    if axes.classes != 2 or not odds:
        return []
    logits = {p: axes.log_odds_of(p) for p in PROBABILITIES}
    return [
        NomogramMark(PROBABILITY, f"{100 * p:g} %", logit, False)
        for p, logit in logits.items()
        if min(odds) <= logit <= max(odds)
    ]
