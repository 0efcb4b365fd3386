"""Commands on rows: ``naively predict``, ``evaluate`` and ``explain``."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

import click

from .._progress import ProgressBar
from ..errors import InvalidInput
from ..page.numbers import count_text
from . import arguments, options, render
from .arguments import OptionValues
from .options import Common, option
from .render import bold, print_json, printable, short_list

if TYPE_CHECKING:
    import pyarrow as pa

    from .._types import JsonObject
    from ..estimator.fitted_classifier import FittedClassifier
    from ..estimator.predict_files import Certainty
    from ..explain.evidence import Evidence
    from ..files.writer import Form
    from ..judge.scores import Scores

# The codes that begin and end a color.
COLOR_CODE = r"(\x1b\[(?:30;48;5;\d+|0)m)"


def certainty_of(given: OptionValues) -> Certainty:
    """Return which sets and intervals were requested."""
    from ..estimator.predict_files import Certainty

    if given["by_class"] and "set_level" not in given:
        raise click.UsageError("--by-class is about sets; give their level by --set, such as --set 0.9.")
    return Certainty(**given)


@options.command(
    "predict",
    """Examples:
  naively predict income.parquet new.csv -o answers.csv
  naively predict income.parquet new.parquet -o answers.parquet --probabilities --why 3
  naively predict income.parquet new.csv -o answers.csv --set 0.9 --interval 0.9
  cat new.csv | naively predict income.parquet - | head
""",
    options.MODEL,
    options.FILES,
    option(
        "--out -o FILE",
        "File to write: .csv, .tsv, .parquet or .jsonl, with .gz to compress. Default: stdout, as CSV.",
        default="-",
        type=click.Path(),
    ),
    option(
        "--to",
        "Format to write; by default by the file extension.",
        type=click.Choice(["csv", "tsv", "parquet", "jsonl"]),
    ),
    option("--probabilities -p", "Add the probability of each class: P(yes), P(no), …", is_flag=True),
    option("--why N", "Add the N largest contributions, as text.", type=click.IntRange(0), default=0),
    options.CERTAINTY,
    option("--only-answers", "Write only the added columns.", name="only", is_flag=True),
    option("--prefix TEXT", "Prefix of the names of the added columns.", default=""),
    options.DECISIONS,
    *options.READING_ROWS,
)
def predict_command(
    common: Common,
    out: str,
    to: Form | None,
    certainty: OptionValues,
    probabilities: bool,
    why: int,
    only: bool,
    prefix: str,
) -> None:
    """Predict the classes of the rows of files.

    Adds the columns `answer` (empty for rows without an answer, see --reject) and `probability`; with costs
    `expected_cost`; with options `low` and `high`, `P(class)`, `low(class)` and `high(class)`, `set` (classes separated
    by |) and `why`. Columns are matched by name; others are copied. The output file appears only when it is complete.
    """
    from ..estimator.predict_files import AnswerColumns, answered_blocks
    from ..files.writer import write_table

    if out == "-" and to == "parquet" and sys.stdout.isatty():
        raise click.UsageError("Parquet cannot be shown on a terminal; write it to a file: -o answers.parquet.")
    if out == "-" and common.as_json:
        raise click.UsageError("--json and the answers cannot both go to stdout; write the answers to a file by -o.")
    wanted, file = certainty_of(certainty), common.file()
    arguments.refuse_overwriting(out, file, common.model)
    fitted = common.load()
    costly = fitted.parameters.cost is not None or fitted.parameters.reject is not None
    with ProgressBar("Predicting", common.quiet) as bar:
        columns = AnswerColumns(probabilities, costly, why, only, prefix, wanted)
        rows = write_table(answered_blocks(fitted, file, columns, bar), out, to)
    written = f"Wrote {count_text(rows)} rows with answers to {out}." if out != "-" else None
    common.finish({"rows": rows, "out": out}, written, err=True)


@options.command(
    "evaluate",
    """Examples:
  naively evaluate income.parquet test.csv
  naively evaluate credit.parquet test.csv --cost bad,good=5 --reject 0.4
""",
    options.MODEL,
    options.FILES,
    options.TARGET,
    options.WEIGHT,
    options.DECISIONS,
    *options.READING_ROWS,
)
def evaluate_command(common: Common) -> None:
    """Score a model on rows of known classes.

    Accuracy, confusion matrix and mean cost are of the answers that `naively predict` gives with the same --cost and
    --reject; log loss, Brier score, calibration error, AUC and reliability are of the probabilities. The last column
    has the scores of the constant answer of least cost; ± is the standard error over rows. Use rows that the model was
    not fitted with; `naively fit` reports cross-validated scores of those that it was. The probabilities of all rows
    are held in memory, 8 bytes for each row and class.
    """
    from ..estimator.predict_files import scores_of_files
    from ..judge.metrics import as_row_count

    fitted, file = common.load(), common.file()
    target = arguments.resolve_known_target(fitted, file, common.target)
    weight = common.weight_column(file)
    with ProgressBar("Predicting", common.quiet) as bar:
        scores = scores_of_files(fitted, file, target, weight, bar)
    if common.as_json:
        bins = zip(*(values.tolist() for values in scores._bins), strict=True)
        reliability = [
            {"rows": as_row_count(n), "confidence": sure / n, "accuracy": right / n} for n, sure, right in bins if n
        ]
        print_json({**scores.to_dict(), "reliability": reliability})
    elif not common.quiet:
        print_evaluation(fitted, scores, common.files)


def print_evaluation(fitted: FittedClassifier, scores: Scores, files: tuple[str, ...]) -> None:
    """Print the scores, the confusion matrix and the reliability table."""
    title = bold(f"{count_text(scores.rows)} rows of {short_list(files, 3)}")
    if len(scores.classes) == 1:
        render.print_blocks([title], list(map(bold, scores.notes)))
        return
    blocks: list[list[Any]] = [[title], [*map(bold, scores.notes), render.score_table(scores)]]
    unknown = [label for label in scores.classes if label not in fitted.classes.tolist()]
    if unknown:
        blocks.append([f"Classes that the model was not fitted with, and never predicts: {short_list(unknown)}"])
    if scores.confusion.size:
        blocks.append([bold("Confusion matrix"), render.confusion_table(scores)])
    heading = "Reliability: confidence and accuracy of the most probable class"
    render.print_blocks(*blocks, [bold(heading), render.reliability_table(scores)])


@options.command(
    "explain",
    """Examples:
  naively explain income.parquet new.csv --row 3
  naively explain income.parquet new.csv --row 3 --against '>50K'
""",
    options.MODEL,
    options.FILES,
    option("--row N", "Row to explain; 1 is the first.", type=options.COUNT, default=1, show_default=True),
    option("--against CLASS", "Class to compare the answer with; by default the most probable other class."),
    options.CERTAINTY,
    options.DECISIONS,
    options.READING,
    options.JSON,
)
def explain_command(common: Common, row: int, against: str | None, certainty: OptionValues) -> None:
    """Explain the prediction of a row.

    Shows the contribution of each column to the log-odds of the answer against another class: bars to the right are for
    the answer, bars to the left against it, and their lengths sum to the log-odds. Below, the textbook model shows
    probabilities as fractions of counts, and densities of numbers.
    """
    from ..estimator.answers import evidence_of
    from ..estimator.predict_files import evidence_of_decisions, row_of_file

    wanted, fitted = certainty_of(certainty), common.load()
    rival = None if against is None else arguments.labels_of_model(fitted)(against, "--against")
    table = row_of_file(fitted, common.file(), row - 1)
    try:
        of_most_probable = evidence_of(fitted, table, rival)
    except InvalidInput as error:
        raise error.with_place(row - 1) from None  # the table is this row alone
    sets = certainty_json(fitted, table, wanted)
    evidence, (answer,) = evidence_of_decisions(fitted, of_most_probable, rival)
    most_probable = of_most_probable.classes[int(of_most_probable.answer[0])]
    label, other = evidence.classes[int(evidence.answer[0])], evidence.classes[int(evidence.against[0])]
    if rival is not None and label == rival:
        note = f"{printable(rival)} is the answer itself; it is compared with {printable(other)}."
        click.echo(f"Note: {note}", err=True)
    if common.as_json:
        about = {"row": row, "answer": answer, "most_probable": most_probable}
        print_json(about | explanation_json(evidence, table.to_pylist()[0]) | sets)
        return
    lines = []
    if fitted.parameters.cost is not None or fitted.parameters.reject is not None:
        why = f"most probable: {most_probable}, {of_most_probable.probabilities[0].max():.3f}"
        none = f"No answer: the expected cost of each is above --reject {fitted.parameters.reject or 0:g} ({why})"
        lines.append(none if answer is None else f"Answer: {answer} (least expected cost; {why})")
    lines += [*str(evidence).splitlines(), *certainty_lines(sets, str(label), wanted)]
    lines = [printable(line) for line in lines]
    for name in evidence.provenance.texts:
        for line in ["", *evidence.message(0, name).splitlines()]:
            parts = enumerate(re.split(COLOR_CODE, line))  # colors are the odd ones
            lines.append("".join(part if k % 2 else printable(part) for k, part in parts))
    if fitted.weights is None:  # weighted contributions are not fractions of counts
        lines += ["", *map(printable, evidence.fractions().splitlines())]
    click.echo("\n".join(lines))


def certainty_lines(sets: JsonObject, label: str, wanted: Certainty) -> list[str]:
    """Return the interval of the answer's probability and the set of classes, as lines."""
    lines = []
    if "intervals" in sets:
        low, high = sets["intervals"][label]
        kind = "Venn–Abers" if wanted.level is None else f"{wanted.level:.4g} interval"
        lines.append(f"P({label}) between {low:.3f} and {high:.3f} ({kind})")
    if "set" in sets:
        listed = ", ".join(map(str, sets["set"]))
        lines.append(f"Classes that cannot be ruled out at level {wanted.set_level:.4g}: {listed}")
    return lines


def certainty_json(fitted: FittedClassifier, table: pa.Table, wanted: Certainty) -> JsonObject:
    """Return the set of classes and the intervals of one row that were requested."""
    from ..estimator.held_out import prediction_sets, probability_interval

    result: JsonObject = {}
    if wanted.set_level is not None:
        (chosen,) = prediction_sets(fitted, table, wanted.set_level, by_class=wanted.by_class)
        result["set"] = fitted.classes[chosen].tolist()
    if wanted.interval is not None:
        (low,), (high,) = probability_interval(fitted, table, wanted.level)
        result["intervals"] = {str(label): [low[k], high[k]] for k, label in enumerate(fitted.classes)}
    return result


def explanation_json(evidence: Evidence, cells: JsonObject) -> JsonObject:
    """Return the evidence of one row with own and joint scores of columns, scores of words, and contributions."""
    from ..explain.evidence import by_class, evidence_json

    texts = {name: evidence.texts(name)[0] for name in evidence.columns}
    values = {
        name: cells[name] if isinstance(cells.get(name, ""), bool | int | float | None) else texts[name]
        for name in texts
    }
    result = evidence_json(evidence, 0, values)
    for place, column in enumerate(result["columns"]):
        name = column["name"]
        column["value"] = values[name]
        if evidence.joint is not None and name not in (evidence.provenance.pairs or ()):
            column["own"] = by_class(evidence, evidence.own[0, place])
            column["joint"] = by_class(evidence, evidence.joint[0, place])
        if name in evidence.provenance.texts:
            words = evidence.provenance.texts[name].contributions(0)
            order = words.strongest(int(evidence.answer[0]), int(evidence.against[0]), len(words.names))
            column["words"] = [{"word": words.names[k], "scores": by_class(evidence, words.scores[k])} for k in order]
    return {**result, "contributions": dict(evidence.bars())}
