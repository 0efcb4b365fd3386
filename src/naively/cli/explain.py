"""``naively explain``: why a model answers a row as it does."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from . import options
from . import parse as inputs
from .render import clean, print_json

if TYPE_CHECKING:
    from ..estimator.fitted_classifier import FittedClassifier

# What sets a colour, and ends it.
COLOURED = r"(\x1b\[(?:30;48;5;\d+|0)m)"
EXAMPLE = """\b
Example:
  naively explain income.parquet new.csv --row 3
  naively explain income.parquet new.csv --row 3 --against '>50K' --fractions
"""


@click.command("explain", epilog=EXAMPLE)
@options.MODEL
@options.FILES
@click.option(
    "--row", type=click.IntRange(1), default=1, show_default=True, metavar="N", help="Which row; 1 is the first."
)
@click.option("--against", metavar="CLASS", help="The class to compare the answer with; by default the runner-up.")
@click.option(
    "--fractions/--no-fractions", default=True, show_default=True, help="Show the arithmetic of the text book."
)
@options.settings
@options.reading
@options.JSON
@options.DEBUG
def command(
    model: str,
    files: tuple[str, ...],
    row: int,
    against: str | None,
    fractions: bool,
    settings: dict[str, Any],
    reading: dict[str, Any],
    as_json: bool,
) -> None:
    """Show why a row is answered as it is.

    Each column of the row speaks for the answer or against it. Bars to the right speak for the answer, bars to the
    left against it; their lengths add up to the logarithm of the odds. Below stand the probabilities as fractions
    of counts, and densities of numbers.
    """
    from ..estimator import predict_files as streaming
    from ..estimator.answers import evidence_of

    fitted = inputs.loaded(model, settings)
    rival = None if against is None else inputs.Labels(fitted.classes.tolist()).of(against, "--against")
    asked = streaming.row_of_file(fitted, inputs.opened(files, reading), row - 1)
    plain = evidence_of(fitted, asked, rival)
    evidence, (answer,) = streaming.evidence_of_decisions(fitted, plain, rival)
    likeliest = plain.classes[int(plain.answer[0])]
    if rival is not None and evidence.classes[int(evidence.answer[0])] == rival:
        other = evidence.classes[int(evidence.against[0])]
        click.echo(
            f"Note: {clean(against or '')} is the answer itself; it is compared with {clean(str(other))}.", err=True
        )
    if as_json:
        own = {"row": row, "answer": answer, "most_probable": likeliest}
        print_json(own | facts(evidence, asked.to_pylist()[0]))
        return
    if fitted.parameters.cost is not None or fitted.parameters.reject is not None:
        click.echo(clean(decision(fitted, answer, likeliest, float(plain.probabilities[0].max()))))
    click.echo("\n".join(map(clean, str(evidence).splitlines())))
    for name in evidence.behind.texts:
        click.echo()
        click.echo("\n".join(paint(line) for line in evidence.message(0, name).splitlines()))
    if fractions and fitted.weights is None:  # evidence that was weighed is no fraction of counts
        click.echo()
        click.echo("\n".join(map(clean, evidence.fractions().splitlines())))


def decision(fitted: FittedClassifier, answer: Any, likeliest: Any, probability: float) -> str:
    """Return in a line what is answered where costs decide, beside the most probable class."""
    beside = f"most probable: {likeliest}, {probability:.3f}"
    if answer is None:
        return f"No answer: each is expected to cost more than --reject {fitted.parameters.reject:g} ({beside})"
    return f"Answer: {answer} (least expected cost; {beside})"


def paint(line: str) -> str:
    """Return a line of a coloured text; signs that would do something to the terminal are shown instead."""
    return "".join(part if at % 2 else clean(part) for at, part in enumerate(re.split(COLOURED, line)))


def facts(evidence: Any, cells: dict[str, Any]) -> dict[str, Any]:
    """Return the evidence of one row as data; its numbers are numbers, and a missing value is null."""
    against = evidence.classes[int(evidence.against[0])]
    columns = [
        {
            "name": name,
            "value": evidence.texts(name)[0] if is_text(cells.get(name, "")) else cells[name],
            "scores": by_class(evidence, evidence.scores[0, at]),
            **parts_of(evidence, name, at),
            **words_in(evidence, name),
        }
        for at, name in enumerate(evidence.columns)
    ]
    return {
        "against": against,
        "probabilities": by_class(evidence, evidence.probabilities[0]),
        "prior": by_class(evidence, evidence.prior),
        "columns": columns,
        "leads": dict(evidence.bars()),
    }


def is_text(value: Any) -> bool:
    """Tell whether JSON holds a value as text: dates as well, but neither numbers nor booleans nor nothing."""
    return not isinstance(value, (bool, int, float, type(None)))


def by_class(evidence: Any, numbers: Any) -> dict[str, float]:
    """Return a number for each class."""
    return dict(zip(map(str, evidence.classes), numbers.tolist(), strict=True))


def parts_of(evidence: Any, name: str, at: int) -> dict[str, Any]:
    """Return the contribution of a column's own values, and that through joint terms, if the model has such."""
    if evidence.joint is None or name in (evidence.behind.pairs or ()):
        return {}
    return {"own": by_class(evidence, evidence.own[0, at]), "joint": by_class(evidence, evidence.joint[0, at])}


def words_in(evidence: Any, name: str) -> dict[str, Any]:
    """Return what each word of a text said, the strongest first."""
    if name not in evidence.behind.texts:
        return {}
    said = evidence.behind.texts[name].said(0)
    order = said.strongest(int(evidence.answer[0]), int(evidence.against[0]), len(said.names))
    names = list(map(str, evidence.classes))
    scores = [dict(zip(names, said.scores[at].tolist(), strict=True)) for at in order]
    return {"words": [{"word": said.names[at], "scores": by} for at, by in zip(order, scores, strict=True)]}
