"""The contributions to one row as a waterfall of Altair."""

from __future__ import annotations

from math import copysign, inf, isfinite, isnan
from types import ModuleType

from .._types import JsonObject
from ..markup.numbers import counted, signed
from ..markup.palette import Theme
from .chart_theme import SIZE, Chart, name_axis
from .evidence import Evidence
from .evidence_lines import EvidenceLine, evidence_picture

SUM = "sum"


def waterfall_chart(alt: ModuleType, evidence: Evidence, row: int, theme: Theme) -> Chart:
    """Return the steps of one row, and a bar for their sum."""
    steps = waterfall_steps(evidence, row)
    base = alt.Chart(alt.InlineData(values=steps)).encode(y=alt.Y("column:N", axis=name_axis(alt), sort=None))
    colors = alt.Scale(domain=["for", "against", SUM], range=[theme.positive, theme.negative, theme.muted])
    bars = base.mark_bar().encode(
        x=alt.X("start:Q", title="log-odds for the answer", scale=alt.Scale(padding=50)),
        x2="end:Q",
        color=alt.Color("side:N", scale=colors, legend=None),
        tooltip=["column:N", "said:N", "why:N"],
    )
    right, left = (
        base.transform_filter(f"datum.end {sign} datum.start")
        .mark_text(align=align, dx=dx, color=theme.ink)
        .encode(x="end:Q", text="said:N")
        for sign, align, dx in ((">=", "left", 3), ("<", "right", -3))
    )
    zero = alt.Chart(alt.InlineData(values=[{"start": 0}])).mark_rule(color=theme.muted).encode(x="start:Q")
    title = evidence_picture(evidence, row).title
    return alt.layer(zero, bars, right, left).properties(title=title, width=1.4 * SIZE)


def waterfall_steps(evidence: Evidence, row: int) -> list[JsonObject]:
    """Return a step for the prior, each column and all pairs together: where it begins and where it ends.

    A step without an end, where a class is ruled out, goes as far as the others together, and the rest stays there.
    """
    lines = [
        _step_line(line)
        for line in evidence_picture(evidence, row).lines
        if line.kind in ("prior", "column", "other columns")
    ]
    pairs = [lead for name, lead in evidence.bars(row) if name in (evidence.behind.pairs or {})]
    if pairs:
        lines.append((f"together ({counted(len(pairs), 'pair')})", float(sum(pairs)), "pairs of columns, beyond both"))
    far = sum(abs(lead) for _, lead, _ in lines if isfinite(lead)) or 1.0
    steps, total, drawn = [], 0.0, 0.0
    for name, lead, why in lines:
        total += 0.0 if isnan(lead) else lead
        end = drawn + (0.0 if isnan(lead) else lead if isfinite(lead) else copysign(far, lead))
        side = "against" if lead < 0 else "for"
        steps.append({"column": name, "start": drawn, "end": end, "said": signed(lead, 3), "why": why, "side": side})
        drawn = end
    said = signed(total, 3) if abs(total) < inf or not isnan(total) else ""
    return [*steps, {"column": SUM, "start": 0.0, "end": drawn, "said": said, "why": "", "side": SUM}]


def _step_line(line: EvidenceLine) -> tuple[str, float, str]:
    return f"{line.name}  {line.value}".strip(), line.lead, line.note
