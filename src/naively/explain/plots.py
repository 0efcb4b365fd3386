"""Charts of Altair: calibration, ROC and precision–recall, contributions of columns, distributions, nomograms.

Needs the extra ``plots``: ``pip install "naively[plots]"``. Every function returns a chart, to change, to show in a
notebook, or to write: ``chart.save("calibration.svg")`` or ``.png``. ``theme="dark"`` draws it for dark pages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING

import narwhals.stable.v1 as nw

from .._types import Floats, JsonObject, Label, TableLike
from ..errors import InvalidInput
from ..errors.message import Setting
from ..judge.curves import ClassCurve, class_curve, reliability_of_bins
from ..judge.metrics import RELIABILITY_BINS
from ..judge.scores import Scores
from ..page.style import Theme
from .charts import (
    SIZE,
    Chart,
    ThemeName,
    colors_of,
    column_chart,
    contribution_chart,
    distinct_names,
    evidence_steps,
    import_altair,
    name_axis,
    nomogram_axes,
    nomogram_chart,
    theme_called,
    waterfall_steps,
    with_theme,
)
from .distributions import column_distributions
from .evidence import Evidence
from .evidence_lines import evidence_picture

if TYPE_CHECKING:
    from ..estimator.naive_bayes import NaiveBayes

__all__ = [
    "calibration",
    "columns",
    "evidence",
    "importance",
    "nomogram",
    "precision_recall",
    "roc",
    "waterfall",
]

# Columns that are drawn unless they are named.
DRAWN_COLUMNS = 12


# -- scores ------------------------------------------------------------------------------------------------------------


def calibration(
    scores: Scores | Mapping[str, Scores], level: float = 0.9, least: float = 1.0, theme: ThemeName = "light"
) -> Chart:
    """Return a reliability diagram: the accuracy of predictions of similar confidence.

    Parameters
    ----------
    scores : Scores or dict of str to Scores
        The scores of one model, or of several to compare.
    level : float, default=0.9
        The level of the interval of each point (Jeffreys').
    least : float, default=1.0
        The least number of rows of a point. The diagram omits points of fewer rows; the bars below it do not.
    theme : {"light", "dark"}, default="light"
        The colors.

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
    named, look, alt = _named_scores(scores), theme_called(theme), import_altair()
    width, points = 1 / RELIABILITY_BINS / len(named), list[JsonObject]()
    for index, (name, of_model) in enumerate(named.items()):
        points += reliability_points(name, of_model, level, index * width)
    whole = alt.Chart(alt.InlineData(values=points)).encode(color=colors_of(alt, "model", list(named), look))
    base = whole.transform_filter(f"datum.rows >= {float(least)}")
    sure = alt.X("confidence:Q", title="probability of the predicted class", scale=alt.Scale(domain=[0, 1]))
    accuracy = alt.Y("accuracy:Q", title="accuracy", scale=alt.Scale(domain=[0, 1]))
    layers = [
        _diagonal(alt, "confidence", "accuracy", look),
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
    diagram = alt.layer(*layers).properties(width=SIZE, height=SIZE)
    return with_theme(alt.vconcat(diagram, bars.properties(width=SIZE, height=SIZE / 5)), look)


def roc(scores: Scores | Mapping[str, Scores], label: Label = None, theme: ThemeName = "light") -> Chart:
    """Return ROC curves: the rows of a class that are found, against the others that are taken for it.

    Parameters
    ----------
    scores : Scores or dict of str to Scores
        The scores of one model, or of several to compare.
    label : label, optional
        The class to be found. By default the second of two; of more, one model has a curve for each class.
    theme : {"light", "dark"}, default="light"
        The colors.

    Returns
    -------
    altair.LayerChart
        A curve for each model or class, named with the area under it.

    Examples
    --------
    >>> import naively as nv
    >>> scores = nv.Scores([[0.9, 0.1], [0.3, 0.7], [0.6, 0.4]], ["no", "yes", "yes"], ("no", "yes"))
    >>> chart = nv.plots.roc(scores)
    """
    curves, look, alt = _named_curves(scores, label), theme_called(theme), import_altair()
    points = {f"{name} (AUC {curve.area:.3f})": (curve.fall_out, curve.recall) for name, curve in curves.items()}
    of = _found_class(curves)
    lines = _rate_lines(alt, points, ("fall_out", "false positive rate"), ("recall", f"true positive rate{of}"), look)
    chart = alt.layer(_diagonal(alt, "fall_out", "recall", look), lines)
    return with_theme(chart.properties(width=SIZE, height=SIZE), look)


def precision_recall(scores: Scores | Mapping[str, Scores], label: Label = None, theme: ThemeName = "light") -> Chart:
    """Return precision–recall curves: how many of the rows taken for a class are of it, against how many are found.

    Parameters
    ----------
    scores : Scores or dict of str to Scores
        The scores of one model, or of several to compare.
    label : label, optional
        The class to be found. By default the second of two; of more, one model has a curve for each class.
    theme : {"light", "dark"}, default="light"
        The colors.

    Returns
    -------
    altair.LayerChart
        A curve for each model or class, and a dashed line where rows are taken at random.

    Examples
    --------
    >>> import naively as nv
    >>> scores = nv.Scores([[0.9, 0.1], [0.3, 0.7], [0.6, 0.4]], ["no", "yes", "yes"], ("no", "yes"))
    >>> chart = nv.plots.precision_recall(scores)
    """
    curves, look, alt = _named_curves(scores, label), theme_called(theme), import_altair()
    points = {name: (curve.recall[1:], curve.precision[1:]) for name, curve in curves.items()}
    rates = sorted({round(curve.base_rate, 6) for curve in curves.values()})
    chance = alt.Chart(alt.InlineData(values=[{"precision": rate} for rate in rates]))
    random = chance.mark_rule(strokeDash=[4, 4], color=look.muted).encode(y="precision:Q")
    of = _found_class(curves)
    lines = _rate_lines(alt, points, ("recall", f"recall{of}"), ("precision", f"precision{of}"), look)
    return with_theme(alt.layer(random, lines).properties(width=SIZE, height=SIZE), look)


# -- one row -----------------------------------------------------------------------------------------------------------


def evidence(evidence: Evidence, row: int = 0, theme: ThemeName = "light") -> Chart:
    """Return the picture of one row of evidence: the contributions of the prior and of each column to the log-odds.

    Parameters
    ----------
    evidence : Evidence
        What `NaiveBayes.explain` returns.
    row : int, default=0
        The row, counted from 0.
    theme : {"light", "dark"}, default="light"
        The colors.

    Returns
    -------
    altair.LayerChart
        A bar for each contribution, and for the parts of one that has several.

    Examples
    --------
    >>> import naively as nv
    >>> nb = nv.NaiveBayes().fit({"sky": ["sunny", "rain", "sunny"]}, ["out", "in", "out"])
    >>> chart = nv.plots.evidence(nb.explain({"sky": "rain"}))
    """
    _check_row(evidence, row)
    alt, look, title = import_altair(), theme_called(theme), evidence_picture(evidence, row).title
    return with_theme(contribution_chart(alt, evidence_steps(evidence, row), title, look, SIZE), look)


def waterfall(evidence: Evidence, row: int = 0, theme: ThemeName = "light") -> Chart:
    """Return the contributions to one row as a waterfall: each bar begins where the one above it ended.

    Parameters
    ----------
    evidence : Evidence
        What `NaiveBayes.explain` returns.
    row : int, default=0
        The row, counted from 0.
    theme : {"light", "dark"}, default="light"
        The colors.

    Returns
    -------
    altair.LayerChart
        A step for the prior, for each column and for all pairs of columns together, and a bar for their sum: the
        log-odds of the predicted class.

    Examples
    --------
    >>> import naively as nv
    >>> nb = nv.NaiveBayes().fit({"sky": ["sunny", "rain", "sunny"]}, ["out", "in", "out"])
    >>> chart = nv.plots.waterfall(nb.explain({"sky": "rain"}))
    """
    _check_row(evidence, row)
    alt, look, title = import_altair(), theme_called(theme), evidence_picture(evidence, row).title
    return with_theme(contribution_chart(alt, waterfall_steps(evidence, row), title, look, 1.4 * SIZE), look)


def nomogram(
    nb: NaiveBayes, row: TableLike, label: Label = None, against: Label = None, theme: ThemeName = "light"
) -> Chart:
    """Return a nomogram of one row: the log-odds of two classes if one cell were another, all others held.

    Every mark is a prediction of the model, pairs of columns and all. So the picture holds for this row; for another
    one the marks lie elsewhere, unless columns are independent as in the textbook model.

    Parameters
    ----------
    nb : NaiveBayes
        A fitted classifier.
    row : dict
        The cells of the row, by column.
    label : label, optional
        The class whose log-odds are shown; by default the most probable one.
    against : label, optional
        The class that it is compared with; by default the most probable other one.
    theme : {"light", "dark"}, default="light"
        The colors.

    Returns
    -------
    altair.LayerChart
        An axis for each column, the one that could change most first; the row's own values are filled.

    Examples
    --------
    >>> import naively as nv
    >>> nb = nv.NaiveBayes().fit({"sky": ["sunny", "rain", "sunny"]}, ["out", "in", "out"])
    >>> chart = nv.plots.nomogram(nb, {"sky": "rain"})
    """
    alt, look = import_altair(), theme_called(theme)
    return with_theme(nomogram_chart(alt, nomogram_axes(nb, row, label, against), look), look)


# -- the model ---------------------------------------------------------------------------------------------------------


def columns(nb: NaiveBayes, names: Sequence[str] | None = None, theme: ThemeName = "light") -> Chart:
    """Return the distribution of columns within each class: histograms of numbers, proportions of labels.

    Parameters
    ----------
    nb : NaiveBayes
        A fitted classifier.
    names : list of str, optional
        The columns; by default up to twelve, those of the highest mutual information with the class.
    theme : {"light", "dark"}, default="light"
        The colors.

    Returns
    -------
    altair.VConcatChart
        A chart for each column. Numbers of the default model are drawn by the bins that they were counted in, those of
        others by normal densities.

    Examples
    --------
    >>> import naively as nv
    >>> nb = nv.NaiveBayes().fit({"sky": ["sunny", "rain", "sunny"]}, ["out", "in", "out"])
    >>> chart = nv.plots.columns(nb)
    """
    model, counts = nb.fitted_.model, nb.fitted_.all_counts
    in_use = list(model.schema.names)
    unknown = [name for name in names or () if name not in in_use]
    if unknown:
        raise InvalidInput(f"Column {unknown[0]!r} is not used: the columns in use are {in_use}.", column=unknown[0])
    alt, look = import_altair(), theme_called(theme)
    wanted = [name for name, _ in _strongest_columns(nb)] if names is None else list(names)
    shown = {
        name: distribution
        for name, distribution in column_distributions(model, counts, wanted).items()
        if distribution is not None and distribution["kind"] != "words"
    }
    if not shown:
        raise InvalidInput("There is no column of labels or numbers to draw: vectors and texts have no distribution.")
    charts = [
        column_chart(alt, name, shown[name], counts.classes.labels, counts.rows, look)
        for name in list(shown)[: DRAWN_COLUMNS if names is None else None]
    ]
    return with_theme(alt.vconcat(*charts).resolve_scale(color="shared"), look)


def importance(nb: NaiveBayes, theme: ThemeName = "light") -> Chart:
    """Return a chart of the mutual information of each column and the class, in bits, the highest first.

    Parameters
    ----------
    nb : NaiveBayes
        A fitted classifier.
    theme : {"light", "dark"}, default="light"
        The colors.

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
    alt, look = import_altair(), theme_called(theme)
    bars = [{"column": column, "bits": bits} for column, bits in _strongest_columns(nb) if bits == bits]
    base = alt.Chart(alt.InlineData(values=bars)).encode(
        x=alt.X("bits:Q", title="mutual information with the class (bits)"),
        y=alt.Y("column:N", axis=name_axis(alt), sort=None),
    )
    return with_theme(base.mark_bar(color=look.positive).properties(width=SIZE), look)


# -- what they are made of ---------------------------------------------------------------------------------------------


def _check_row(evidence: Evidence, row: int) -> None:
    """Refuse a row that was not explained."""
    if not 0 <= row < len(evidence):
        raise InvalidInput(Setting("row", row), f" is none of the {len(evidence)} rows that were explained.")


def _named_scores(scores: Scores | Mapping[str, Scores]) -> Mapping[str, Scores]:
    """Return scores by the names of their models."""
    named = {"model": scores} if isinstance(scores, Scores) else scores
    if not isinstance(named, Mapping) or not named or not all(isinstance(part, Scores) for part in named.values()):
        raise InvalidInput("Give Scores, or a dict such as {'textbook': scores, 'auto': others}.")
    return named


def _named_curves(scores: Scores | Mapping[str, Scores], label: Label) -> dict[str, ClassCurve]:
    """Return the curve of each model; or of each class, where one model has more than two and none is named."""
    named = _named_scores(scores)
    first = next(iter(named.values()))
    if label is None and len(first.classes) == 2:
        label = first.classes[1]
    if label is not None:
        single = len(named) == 1
        return {str(label) if single else name: class_curve(of_model, label) for name, of_model in named.items()}
    if len(named) > 1:
        raise InvalidInput(
            Setting("label", None), f" leaves open which class is to be found; give one of {list(first.classes)}."
        )
    there = [of_class for k, of_class in enumerate(first.classes) if (first.truth == k).any()]
    return dict(zip(distinct_names(there), (class_curve(first, of_class) for of_class in there), strict=True))


def _found_class(curves: Mapping[str, ClassCurve]) -> str:
    """Return the class that all curves are about, for titles of axes; nothing if they are about several."""
    labels = {curve.label for curve in curves.values()}
    return f" of {labels.pop()}" if len(labels) == 1 else ""


def _rate_lines(
    alt: ModuleType,
    curves: Mapping[str, tuple[Floats, Floats]],
    across: tuple[str, str],
    up: tuple[str, str],
    theme: Theme,
) -> Chart:
    """Return curves of rates between 0 and 1; axes are given as field and title."""
    (x, x_title), (y, y_title) = across, up
    points = [
        {"curve": name, x: a, y: b, "at": index}
        for name, (xs, ys) in curves.items()
        for index, (a, b) in enumerate(zip(xs.tolist(), ys.tolist(), strict=True))
    ]
    return (
        alt.Chart(alt.InlineData(values=points))
        .mark_line(interpolate="linear")
        .encode(
            x=alt.X(f"{x}:Q", title=x_title, scale=alt.Scale(domain=[0, 1])),
            y=alt.Y(f"{y}:Q", title=y_title, scale=alt.Scale(domain=[0, 1])),
            order="at:Q",
            color=colors_of(alt, "curve", list(curves), theme),
        )
    )


def _diagonal(alt: ModuleType, x: str, y: str, theme: Theme) -> Chart:
    """Return a dashed line from corner to corner."""
    ends = alt.InlineData(values=[{x: 0, y: 0}, {x: 1, y: 1}])
    return alt.Chart(ends).mark_line(color=theme.muted, strokeDash=[4, 4]).encode(x=f"{x}:Q", y=f"{y}:Q")


def reliability_points(name: str, scores: Scores, level: float, offset: float) -> list[JsonObject]:
    """Return a point for each bin of the reliability table that has rows, with the interval of its share.

    The bars of several models stand next to each other, each at its own offset within the bin.
    """
    points = reliability_of_bins(scores, level)
    return [
        {"model": name, "share": point.rows / scores.rows, "from": point.start + offset, **point._asdict()}
        for point in points
    ]


def _strongest_columns(nb: NaiveBayes) -> list[tuple[str, float]]:
    """Return the columns with their mutual information in bits, the highest first."""
    table = nw.from_native(nb.importance(), eager_only=True)
    return [(str(name), bits) for name, bits in zip(table["column"].to_list(), table["bits"].to_list(), strict=True)]
