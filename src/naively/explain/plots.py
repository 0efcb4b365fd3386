"""Charts of Altair: calibration of probabilities, contributions of columns, mutual information of columns.

Needs the extra ``plots``: ``pip install "naively[plots]"``. Every function returns a chart, to change, to show in a
notebook, or to write: ``chart.save("calibration.svg")``.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, Protocol, TypeAlias

import narwhals.stable.v1 as nw
import numpy as np
from scipy.special import betaincinv

from .._types import Floats, FrameLike, JsonObject
from ..errors import InvalidInput, NotInstalled
from ..errors.message import Setting
from ..judge.evaluated_rows import RELIABILITY_BINS
from ..judge.scores import Scores
from .evidence import JOINT, OWN, Evidence

# The colors of several models, also for readers who see no red or green (Okabe and Ito).
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
FOR, AGAINST = COLOURS[0], COLOURS[1]
SIZE = 300

# A chart of Altair, which is imported only when one is drawn.
Chart: TypeAlias = Any


class HasImportance(Protocol):
    """A fitted `NaiveBayes`."""

    def importance(self) -> FrameLike:
        """Return the mutual information of each column and the class."""


def calibration(scores: Scores | Mapping[str, Scores], level: float = 0.9, least: float = 1.0) -> Chart:
    """Return a reliability diagram: the accuracy of answers of similar confidence.

    Parameters
    ----------
    scores : Scores or dict of str to Scores
        The scores of one model, or of several to compare.
    level : float, default=0.9
        The level of the interval of each point (Jeffreys').
    least : float, default=1.0
        The least number of rows of a point. Those of fewer are left out of the diagram, but not below it.

    Returns
    -------
    altair.VConcatChart
        The diagram, and below it how many rows there are of each confidence.

    Examples
    --------
    >>> import naively as nv
    >>> scores = nv.Scores([[0.9, 0.1], [0.3, 0.7], [0.6, 0.4]], [0, 1, 1], ("no", "yes"))
    >>> chart = nv.plots.calibration({"a": scores, "b": scores.baseline})
    >>> len(chart.to_dict()["vconcat"])  # the diagram, and how many rows there are of each confidence
    2
    """
    if not 0 < level < 1:
        raise InvalidInput(Setting("level", level), " must lie between 0 and 1, such as 0.9.")
    named = {"model": scores} if isinstance(scores, Scores) else scores
    if not isinstance(named, Mapping) or not named or not all(isinstance(one, Scores) for one in named.values()):
        raise InvalidInput("Give Scores, or a dict such as {'textbook': scores, 'auto': others}.")
    alt = import_altair()
    points = [
        p for at, (name, one) in enumerate(named.items()) for p in reliability_points(name, one, level, at / len(named))
    ]
    width = 1 / RELIABILITY_BINS / len(named)
    whole = alt.Chart(alt.InlineData(values=points)).encode(color=model_colors(alt, list(named)))
    base = whole.transform_filter(f"datum.rows >= {float(least)}")
    sure = alt.X("confidence:Q", title="probability of the answer", scale=alt.Scale(domain=[0, 1]))
    accuracy = alt.Y("accuracy:Q", title="accuracy", scale=alt.Scale(domain=[0, 1]))
    ends = alt.InlineData(values=[{"confidence": 0, "accuracy": 0}, {"confidence": 1, "accuracy": 1}])
    layers = [
        alt.Chart(ends).mark_line(color="grey", strokeDash=[4, 4]).encode(x=sure, y=accuracy),
        base.mark_rule(opacity=0.5).encode(x=sure, y="low:Q", y2="high:Q"),
        base.mark_line(opacity=0.3).encode(x=sure, y=accuracy),
        base.mark_point(filled=True, opacity=1).encode(
            x=sure, y=accuracy, size=alt.Size("share:Q", legend=None, scale=alt.Scale(domain=[0, 1], range=[20, 120])),
            tooltip=["model:N", "rows:Q", "confidence:Q", "accuracy:Q"],
        ),
    ]  # fmt: skip
    bars = (
        whole.transform_calculate(to=f"datum.from + {width}")
        .mark_rect()
        .encode(
            x=alt.X("from:Q", title=None, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(labels=False)),
            x2="to:Q",
            y=alt.Y("rows:Q", scale=alt.Scale(type="symlog"), axis=alt.Axis(values=[1, 10, 100, 1000, 10**4, 10**6])),
            y2=alt.datum(0),
        )
    )
    return alt.vconcat(
        alt.layer(*layers).properties(width=SIZE, height=SIZE), bars.properties(width=SIZE, height=SIZE / 5)
    )


def evidence(evidence: Evidence, row: int = 0) -> Chart:
    """Return the picture of one row of evidence: the lead of the answer by the prior and by each column.

    Parameters
    ----------
    evidence : Evidence
        What `NaiveBayes.explain` returns.
    row : int, default=0
        The row, counted from 0.

    Returns
    -------
    altair.LayerChart
        A bar for each contribution.

    Examples
    --------
    >>> import naively as nv
    >>> nb = nv.NaiveBayes().fit({"sky": ["sunny", "rain", "sunny"]}, ["out", "in", "out"])
    >>> chart = nv.plots.evidence(nb.explain({"sky": "rain"}))
    """
    if not 0 <= row < len(evidence):
        raise InvalidInput(Setting("row", row), f" is none of the {len(evidence)} rows that were explained.")
    alt, (title, lines) = import_altair(), evidence._picture(row)
    longest, bars, above = evidence._longest(row) or 1.0, [], ""
    for line in lines:
        part = line.name in (OWN, JOINT)  # every column has these: bars are distinguished by their names
        above = above if part else f"{line.name}  {line.value}".strip()
        name = f"{above}: {line.name.strip()}" if part else above
        bars.append({"column": name, "lead": line.length * longest, "said": line.contribution, "why": line.note})
    base = alt.Chart(alt.InlineData(values=bars)).encode(
        x=alt.X("lead:Q", title="log-odds for the answer", scale=alt.Scale(padding=40)),  # room for the numbers
        y=alt.Y("column:N", title=None, sort=None),
        tooltip=["column:N", "said:N", "why:N"],
    )
    drawn = base.mark_bar().encode(color=alt.condition("datum.lead < 0", alt.value(AGAINST), alt.value(FOR)))
    right, left = (
        base.transform_filter(f"datum.lead {sign} 0").mark_text(align=align, dx=dx).encode(text="said:N")
        for sign, align, dx in ((">=", "left", 3), ("<", "right", -3))
    )
    return alt.layer(drawn, right, left).properties(title=title, width=SIZE)


def importance(nb: HasImportance) -> Chart:
    """Return a chart of the mutual information of each column and the class, in bits, the highest first.

    Parameters
    ----------
    nb : NaiveBayes
        A fitted classifier.

    Returns
    -------
    altair.Chart
        A bar for each column.

    Examples
    --------
    >>> import naively as nv
    >>> nb = nv.NaiveBayes().fit({"sky": ["sunny", "rain", "sunny"]}, ["out", "in", "out"])
    >>> chart = nv.plots.importance(nb)
    """
    alt, told = import_altair(), nw.from_native(nb.importance(), eager_only=True)
    pairs = zip(told["column"].to_list(), told["bits"].to_list(), strict=True)
    bars = [{"column": str(column), "bits": bits} for column, bits in pairs if bits == bits]
    base = alt.Chart(alt.InlineData(values=bars)).encode(
        x=alt.X("bits:Q", title="mutual information with the class (bits)"), y=alt.Y("column:N", title=None, sort=None)
    )
    return base.mark_bar(color=FOR).properties(width=SIZE)


def import_altair() -> ModuleType:
    """Return the library that draws, if it is there."""
    try:
        return import_module("altair")
    except ImportError:
        raise NotInstalled("Charts are drawn by Altair", "plots") from None


def model_colors(alt: ModuleType, names: list[str]) -> Chart:
    """Return a colour for each model, and no legend for one alone."""
    scale = alt.Scale(domain=names, range=[COLOURS[at % len(COLOURS)] for at in range(len(names))])
    return alt.Color("model:N", title=None, scale=scale, **({} if len(names) > 1 else {"legend": None}))


def reliability_points(name: str, scores: Scores, level: float, beside: float) -> list[JsonObject]:
    """Return a point for each bin of the reliability table that has rows, with the interval of its share.

    The bars of several models stand beside each other, each from its own share of the bin on.
    """
    rows, confidence, correct = scores._bins
    low, high = jeffreys_interval(rows, correct, level)
    return [
        {
            "model": name, "rows": float(rows[at]), "share": float(rows[at] / scores.rows),
            "from": (at + beside) / RELIABILITY_BINS,
            "confidence": float(confidence[at] / rows[at]), "accuracy": float(correct[at] / rows[at]),
            "low": float(low[at]), "high": float(high[at]),
        }
        for at in np.flatnonzero(rows > 0).tolist()
    ]  # fmt: skip


def jeffreys_interval(rows: Floats, right: Floats, level: float) -> tuple[Floats, Floats]:
    """Return where a share lies, given how many of how many rows were right, by Jeffreys' prior.

    >>> [end.round(2).tolist() for end in jeffreys_interval(np.array([10.0, 10.0]), np.array([5.0, 10.0]), 0.9)]
    [[0.26, 0.83], [0.74, 1.0]]
    """
    wrong, tail = np.maximum(rows - right, 0.0), (1 - level) / 2
    low, high = (betaincinv(right + 0.5, wrong + 0.5, end) for end in (tail, 1 - tail))
    return np.where(right > 0, low, 0.0), np.where(wrong > 1e-9 * rows, high, 1.0)
