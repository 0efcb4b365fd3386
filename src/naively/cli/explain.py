"""``naively explain``: the contribution of each column to a prediction."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from ..errors import InvalidInput
from . import arguments, options
from .render import print_json, printable

if TYPE_CHECKING:
    import pyarrow as pa

    from .._types import Floats, Json, JsonObject, Label
    from ..estimator.fitted_classifier import FittedClassifier
    from ..estimator.predict_files import Certainty
    from ..explain.evidence import Evidence

# The codes that begin and end a color.
COLOR_CODE = r"(\x1b\[(?:30;48;5;\d+|0)m)"
EXAMPLE = """\b
Examples:
  naively explain income.parquet new.csv --row 3
  naively explain income.parquet new.csv --row 3 --against '>50K' --fractions
"""


@click.command("explain", epilog=EXAMPLE)
@options.MODEL
@options.FILES
@click.option(
    "--row",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Row to explain; 1 is the first.",
)
@click.option(
    "--against", metavar="CLASS", help="Class to compare the answer with; by default the most probable other class."
)
@click.option(
    "--fractions/--no-fractions",
    default=True,
    show_default=True,
    help="Show the probabilities of the textbook model as fractions of counts.",
)
@options.SET
@options.BY_CLASS
@options.INTERVAL
@options.settings
@options.reading
@options.JSON
@options.DEBUG
def explain_command(
    model: str,
    files: tuple[str, ...],
    row: int,
    against: str | None,
    fractions: bool,
    set_level: float | None,
    by_class: bool,
    interval: float | str | None,
    settings: options.OptionValues,
    reading: options.OptionValues,
    as_json: bool,
) -> None:
    """Explain the prediction of a row.

    Shows the contribution of each column to the log-odds of the answer against another class: bars to the right are for
    the answer, bars to the left against it, and their lengths sum to the log-odds. Below, the textbook model shows
    probabilities as fractions of counts, and densities of numbers.
    """
    from ..estimator import predict_files
    from ..estimator.answers import evidence_of

    if by_class and set_level is None:
        raise click.UsageError("--by-class is about sets; give their level by --set, such as --set 0.9.")
    certainty = predict_files.Certainty(set_level, by_class, interval)
    fitted = arguments.load_with_settings(model, settings)
    rival = None if against is None else arguments.LabelParser(fitted.classes.tolist()).parse(against, "--against")
    table = predict_files.row_of_file(fitted, arguments.open_files(files, reading), row - 1)
    try:
        of_most_probable = evidence_of(fitted, table, rival)
    except InvalidInput as error:
        raise error.with_place(row - 1) from None  # the table is this row alone
    evidence, (answer,) = predict_files.evidence_of_decisions(fitted, of_most_probable, rival)
    likeliest = of_most_probable.classes[int(of_most_probable.answer[0])]
    if rival is not None and evidence.classes[int(evidence.answer[0])] == rival:
        other = evidence.classes[int(evidence.against[0])]
        note = f"{printable(rival)} is the answer itself; it is compared with {printable(other)}."
        click.echo(f"Note: {note}", err=True)
    if as_json:
        own = {"row": row, "answer": answer, "most_probable": likeliest}
        print_json(own | evidence_as_json(evidence, table.to_pylist()[0]) | certainty_as_json(fitted, table, certainty))
        return
    if fitted.parameters.cost is not None or fitted.parameters.reject is not None:
        click.echo(printable(decision_line(fitted, answer, likeliest, float(of_most_probable.probabilities[0].max()))))
    click.echo("\n".join(map(printable, str(evidence).splitlines())))
    for line in certainty_lines(certainty_as_json(fitted, table, certainty), evidence, certainty):
        click.echo(printable(line))
    for name in evidence.provenance.texts:
        click.echo()
        click.echo("\n".join(printable_colors(line) for line in evidence.message(0, name).splitlines()))
    if fractions and fitted.weights is None:  # weighted contributions are not fractions of counts
        click.echo()
        click.echo("\n".join(map(printable, evidence.fractions().splitlines())))


def decision_line(fitted: FittedClassifier, answer: Label, likeliest: Label, probability: float) -> str:
    """Return the decision under costs and the most probable class, as one line."""
    beside = f"most probable: {likeliest}, {probability:.3f}"
    if answer is None:
        return f"No answer: the expected cost of each is above --reject {fitted.parameters.reject:g} ({beside})"
    return f"Answer: {answer} (least expected cost; {beside})"


def certainty_as_json(fitted: FittedClassifier, table: pa.Table, certainty: Certainty) -> JsonObject:
    """Return the set of classes and the intervals of one row that are wanted."""
    from ..estimator.uncertainty import prediction_sets, probability_interval

    found: JsonObject = {}
    if certainty.set_level is not None:
        (chosen,) = prediction_sets(fitted, table, certainty.set_level, by_class=certainty.by_class)
        found["set"] = fitted.classes[chosen].tolist()
    if certainty.interval is not None:
        (low,), (high,) = probability_interval(fitted, table, certainty.level)
        ends = zip(map(str, fitted.classes), low.tolist(), high.tolist(), strict=True)
        found["intervals"] = {label: [one, other] for label, one, other in ends}
    return found


def certainty_lines(found: JsonObject, evidence: Evidence, certainty: Certainty) -> list[str]:
    """Return the interval of the answer's probability and the set of classes, as lines."""
    lines = []
    if "intervals" in found:
        answer = str(evidence.classes[int(evidence.answer[0])])
        low, high = found["intervals"][answer]
        kind = "Venn–Abers" if certainty.level is None else f"{certainty.level:.4g} interval"
        lines.append(f"P({answer}) between {low:.3f} and {high:.3f} ({kind})")
    if "set" in found:
        listed = ", ".join(map(str, found["set"]))
        lines.append(f"Classes that cannot be ruled out at level {certainty.set_level:.4g}: {listed}")
    return lines


def printable_colors(line: str) -> str:
    """Return a line of colored text; control characters other than colors are replaced."""
    return "".join(part if at % 2 else printable(part) for at, part in enumerate(re.split(COLOR_CODE, line)))


def evidence_as_json(evidence: Evidence, cells: JsonObject) -> JsonObject:
    """Return the evidence of one row for JSON; numbers stay numbers, and a missing value is null."""
    against = evidence.classes[int(evidence.against[0])]
    columns = [
        {
            "name": name,
            "value": evidence.texts(name)[0] if is_json_text(cells.get(name, "")) else cells[name],
            "scores": numbers_by_class(evidence, evidence.scores[0, at]),
            **own_and_joint_scores(evidence, name, at),
            **words_as_json(evidence, name),
        }
        for at, name in enumerate(evidence.columns)
    ]
    return {
        "against": against,
        "probabilities": numbers_by_class(evidence, evidence.probabilities[0]),
        "base": numbers_by_class(evidence, evidence.base),
        "columns": columns,
        "contributions": dict(evidence.bars()),
    }


def is_json_text(value: Json) -> bool:
    """Tell whether JSON holds a value as text: texts and dates, but no numbers, booleans or null."""
    return not isinstance(value, (bool, int, float, type(None)))


def numbers_by_class(evidence: Evidence, numbers: Floats) -> dict[str, float]:
    """Return the number of each class."""
    return dict(zip(map(str, evidence.classes), numbers.tolist(), strict=True))


def own_and_joint_scores(evidence: Evidence, name: str, at: int) -> JsonObject:
    """Return the scores of a column's own values and of its joint terms, if the model has such terms."""
    if evidence.joint is None or name in (evidence.provenance.pairs or ()):
        return {}
    own, joint = evidence.own[0, at], evidence.joint[0, at]
    return {"own": numbers_by_class(evidence, own), "joint": numbers_by_class(evidence, joint)}


def words_as_json(evidence: Evidence, name: str) -> JsonObject:
    """Return the scores of each word of a text, the largest contribution first."""
    if name not in evidence.provenance.texts:
        return {}
    words = evidence.provenance.texts[name].contributions(0)
    order = words.strongest(int(evidence.answer[0]), int(evidence.against[0]), len(words.names))
    names = list(map(str, evidence.classes))
    scores = [dict(zip(names, words.scores[at].tolist(), strict=True)) for at in order]
    return {"words": [{"word": words.names[at], "scores": by} for at, by in zip(order, scores, strict=True)]}
