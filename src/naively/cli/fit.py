"""``naively fit``: files in, a model and a report on it out."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .._progress import ProgressBar
from ..errors.message import ANY_VALUE, Message, Setting
from . import arguments, options, views
from .exits import warnings_as_notes
from .messages import command_text
from .render import console, percent, print_json, printable, row_count_text, short_list, size_text

if TYPE_CHECKING:
    from .._types import JsonObject
    from ..estimator.fit_files import FileFit
    from ..estimator.fitted_classifier import FittedClassifier
    from ..estimator.settings import Parameters
    from ..files.file import File
    from ..judge.scores import Scores

# Above so many rows, or bytes of a file with texts, cross-validation is off by default: it reads the file a second
# time, and holds a table of words for each fold.
FOLDS, MANY, LONG = 5, 50_000_000, 1 << 30
# Of more notes than this, only the first are shown.
MOST_NOTES = 6

OVERCONFIDENT = "The probabilities are overconfident: the log loss is above that of the class frequencies alone."
EXAMPLE = """\b
Examples:
  naively fit train.csv --target income -o income.parquet
  naively fit mails.csv --target label --text body -o spam.parquet
  naively fit 'logs/*.csv.gz' --target label --family visits=poisson --ignore id --cost bad,good=5 -o model.parquet
"""


@click.command("fit", epilog=EXAMPLE)
@options.FILES
@click.option(
    "--target", "-t", metavar="COLUMN", help="Column of the classes, by name or position (1 is the first, -1 the last)."
)
@click.option("--out", "-o", type=click.Path(), metavar="FILE", help="File to write the model to: model.parquet.")
@click.option("--ignore", multiple=True, metavar="COLUMN", help="Column to ignore. Repeatable.")
@click.option(
    "--family",
    multiple=True,
    metavar="COLUMN=FAMILY",
    help="Family of a column: categorical, ordinal, gaussian, bins, poisson, bernoulli or words. Name levels that are "
    "texts, lowest first: grade=ordinal:low,mid,high. Repeatable.",
)
@options.texts
@options.WEIGHT
@options.NORMALIZE
@options.CLASS_WEIGHT
@options.settings
@click.option(
    "--model",
    type=click.Choice(["auto", "textbook"]),
    default="auto",
    show_default=True,
    help="auto: the joint model, with pairwise terms and fitted weights, which reads a large file a second time; "
    "textbook: textbook naive Bayes.",
)
@click.option(
    "--cv",
    type=click.IntRange(0),
    metavar="K",
    help=f"Number of stratified folds of the cross-validation; 0 for none. Above about 50,000 rows it reads the file "
    f"once more and holds K + 1 models in memory. By default {FOLDS}, but 0 above {MANY:,} rows, above 1 GB with "
    f"--text, or with --keep-counts.",
)
@click.option(
    "--conformalize",
    is_flag=True,
    help="Also score rows by models without them, for the options --set and --interval of predict and explain.",
)
@options.keeping
@options.keep_rows(
    "--keep-rows writes up to 50,000 rows into the model file, as they are, so that merge and forget go on exactly; by "
    "default a model file holds no row. --no-keep-rows keeps rows out of the folder of --keep-counts, too."
)
@click.option(
    "--unlabelled",
    type=click.Choice(["error", "skip"]),
    default="error",
    show_default=True,
    help="Rows without a class are an error, or skipped.",
)
@options.reading
@options.N_JOBS
@options.QUIET
@options.JSON
@options.DEBUG
def fit_command(
    files: tuple[str, ...],
    target: str | None,
    out: str | None,
    ignore: tuple[str, ...],
    family: tuple[str, ...],
    texts: options.OptionValues,
    quiet: bool,
    as_json: bool,
    reading: options.OptionValues,
    settings: options.OptionValues,
    model: str,
    unlabelled: str,
    n_jobs: int | None,
    weight: str | None,
    class_weight: tuple[str, ...],
    cv: int | None,
    conformalize: bool,
    keeping: options.OptionValues,
    keep_rows: bool | None,
    normalize_weight: bool,
) -> None:
    """Fit a model to files, and report on it.

    FILE is a CSV, TSV, Parquet, JSON (lines or a list of objects), Excel, Arrow or ORC file, compressed or not (gzip,
    zstd, zip, bz2, xz), a glob, a folder, a DuckDB database, or - for stdin. Columns of texts are categories unless
    --text names them, and columns of numbers are numbers; the report shows how to change that.
    """
    from ..estimator.fit_files import fit_model_to_files
    from ..estimator.load import save_model
    from ..estimator.settings import Parameters
    from ..estimator.uncertainty import with_scores_of_files

    file = arguments.open_files(files, reading)
    arguments.refuse_overwriting(out, file)
    name = arguments.resolve_target(file, target)
    given = arguments.parse_settings(settings, labels := arguments.label_parser_of_column(file, name))
    given["class_weight"] = arguments.parse_class_weight(class_weight, labels)
    families = arguments.parse_families(file, family, texts)
    how = Parameters(families=families, model=model, unlabelled=unlabelled, n_jobs=n_jobs, **given)
    if keep_rows:
        refuse_useless_rows(how, out)
    ignored = [arguments.resolve_column(file, one, "--ignore") for one in ignore]
    weight = None if weight is None else arguments.resolve_column(file, weight, "--weight")
    folds = default_folds(how, file, keeping) if cv is None else cv
    with warnings_as_notes(quiet), ProgressBar("Counting", quiet) as bar:
        fitted, found = fit_model_to_files(
            how,
            file,
            name,
            ignore=ignored,
            weight=weight,
            cv=folds,
            **keeping,
            keep_rows=keep_rows is not False,
            progress=bar,
            normalize_weight=normalize_weight,
        )
    if conformalize:
        fitted = with_scores_of_files(fitted, file, name, weight)
    if out is not None:
        anywhere = fitted.with_parameters(n_jobs=None)  # the number of threads belongs to this machine
        save_model(anywhere, out, rows=bool(keep_rows))
    if as_json:
        print_json(fit_as_json(fitted, found, out) | views.kept_rows_as_json(fitted, in_file=bool(keep_rows)))
    elif not quiet:
        print_fit(fitted, found, files, output_lines(fitted, found, out, rows=bool(keep_rows), many=cv is None))


def refuse_useless_rows(parameters: Parameters, out: str | None) -> None:
    """Refuse to write rows where there is no file to write them to, or a model that needs none."""
    from ..estimator.rows_in_files import refuse_rows_of_textbook

    if out is None:
        raise click.UsageError("--keep-rows writes rows into the model file: add -o model.parquet, or leave it out.")
    refuse_rows_of_textbook(parameters)


def default_folds(parameters: Parameters, file: File, keeping: options.OptionValues) -> int:
    """Return the number of folds if none was given: 0 where cross-validation would take long."""
    long = estimated_rows(file) > MANY or (has_texts(parameters) and file.unpacked > LONG)
    return 0 if keeping or long else FOLDS


def has_texts(parameters: Parameters) -> bool:
    """Tell whether words of texts are counted."""
    from ..families import Words

    families = parameters.families if isinstance(parameters.families, dict) else {}
    return any(isinstance(family, Words) for family in families.values())


def estimated_rows(file: File) -> float:
    """Return the approximate number of rows."""
    rows = sum(file.bytes(at) / max(file.row_bytes(at), 1e-9) for at in range(len(file.paths)))
    return rows if file.limit is None else min(rows, file.limit)


def print_fit(fitted: FittedClassifier, found: FileFit, files: tuple[str, ...], last: list[str]) -> None:
    """Print the report, which ends with lines on the file that was written."""
    from ..counting.notes import about_target

    page, columns = console(), fitted_column_summaries(fitted, found)
    rows, count = fitted.counts.rows.sum(), len(fitted.counts.classes)
    classes = f"{count} class{'es' * (count != 1)} of {printable(fitted.schema.target)}"
    page.print(f"{row_count_text(rows)} rows of {short_list(files, 3)}, {classes}\n", style="bold")
    for note in about_target(fitted.counts.classes.labels):
        page.print(f"{printable(command_text(note))}\n", style="bold", soft_wrap=True)
    page.print(views.class_table(fitted.counts))
    page.print()
    page.print(views.column_table(columns))
    page.print()
    for line in report_remarks(fitted, found, len(columns)):
        page.print(line, soft_wrap=True)
    if found.scores is not None and count > 1:
        page.print()
        page.print(accuracy_line(found.scores), style="bold", soft_wrap=True)
        page.print(views.score_table(found.scores, found.textbook_scores))
        if found.by_file and len(found.scores.truth) < found.rows:
            page.print(f"Scored: {len(found.scores.truth):,} of {found.rows:,} rows, those that are kept.")
        if is_visibly_worse(found.scores, found.scores.baseline):
            page.print(overconfidence_advice(fitted, found.scores, found.textbook_scores), soft_wrap=True)
    page.print()
    for line in last:
        page.print(line, soft_wrap=True)


def fitted_column_summaries(fitted: FittedClassifier, found: FileFit) -> list[JsonObject]:
    """Return the summaries of the columns with unweighted numbers of missing values, where these are known."""
    summaries, missing = views.column_summaries(fitted), found.missing_by_column
    if missing is not None:
        for summary in summaries:
            if summary["missing"] is not None:
                summary["missing"] = missing.get(summary["name"], 0)
    return summaries


def report_remarks(fitted: FittedClassifier, found: FileFit, columns: int) -> list[str]:
    """Return remarks on missing values, tuning and columns, with the options that change them."""
    lines = [missing_values_line(fitted, found, found.rows * columns)]
    if found.skipped:
        rows = "1 row was" if found.skipped == 1 else f"{found.skipped:,} rows were"
        lines.insert(0, f"{rows} skipped because {printable(fitted.schema.target)} is missing.")
    # All weights would fill many lines: `show` has them, and the scores below measure their effect.
    lines += views.tuning_lines(fitted)[: None if fitted.weights is None else 1]
    if found.passes > 1:
        lines.append(f"The rows were read {found.passes} times.")
    if unused := options_without_effect(fitted):
        one = len(unused) == 1
        verb, pronoun = ("has", "it") if one else ("have", "them")
        lines.append(
            f"Note: {short_list(unused)} {verb} no effect on the joint model; --model textbook uses {pronoun}."
        )
    notes = [note for note in fitted.schema.hints if not is_about_missing_texts(note)]  # the first line names the texts
    lines += [f"Note: {printable(command_text(note))}" for note in notes[:MOST_NOTES]]
    if len(notes) > MOST_NOTES:
        lines.append(f"… and {len(notes) - MOST_NOTES} more notes: naively show")
    return [*lines, "To change the family of a column: --family COLUMN=categorical; to ignore it: --ignore COLUMN"]


def is_about_missing_texts(note: str) -> bool:
    """Tell whether a note lists the texts that were read as missing values: it alone names the setting `null`."""
    return isinstance(note, Message) and Setting("null", ANY_VALUE) in note.parts


def options_without_effect(fitted: FittedClassifier) -> list[str]:
    """Return the options that were given but have no effect on a model that fits its own weights."""
    if fitted.weights is None:
        return []
    parameters = fitted.parameters
    idle = {"temperature": parameters.temperature == "auto"}
    if parameters.model == "auto":
        idle |= {"estimate": parameters.estimate != "bayes", "unseen": parameters.unseen == "smooth"}
        idle |= {"smoothing": parameters.smoothing != 1.0}
    return [f"--{name} {getattr(parameters, name)}" for name in idle if idle[name]]


def missing_values_line(fitted: FittedClassifier, found: FileFit, cells: int) -> str:
    """Return the number of missing values, the texts that stand for them, and how the model treats them."""
    if not found.missing:
        return "Missing values: none."
    role = "They are skipped" if fitted.parameters.missing == "skip" else "They are a category of their own"
    texts = Counter[str]()
    for markers in found.markers.values():
        texts.update(markers)
    without_counts = texts.total() != found.missing  # markers of skipped rows are counted, too
    named = [(printable(text) or "empty", times) for text, times in texts.most_common(MOST_NOTES)]
    listed = ", ".join(text if without_counts else f"{text} {times:,}" for text, times in named)
    more = ", …" if len(texts) > MOST_NOTES else ""
    columns = f"{len(found.markers)} {'column' if len(found.markers) == 1 else 'columns'}"
    proportion = percent(found.missing / max(cells, 1))
    return f"Missing values: {found.missing:,} of {cells:,} cells ({proportion}), in {columns}: {listed}{more}. {role}."


def accuracy_line(scores: Scores) -> str:
    """Return the accuracy and the cost on held-out rows beside those of the baseline, as one sentence."""
    from ..judge.metrics import score_text
    from ..judge.score_report import baseline_title, uses_costs

    def text(one: Scores, name: str) -> str:
        return score_text(name, getattr(one, name), math.nan if one is scores.baseline else scores.spread[name])

    where = "held-out rows"
    if scores.reject is not None:
        where = f"the {percent(scores.coverage)} of held-out rows that are answered"
    accurate, priced = not math.isnan(scores.accuracy), uses_costs(scores)
    parts = [f"accuracy {text(scores, 'accuracy')} on {where}"] if accurate else []
    parts += [f"mean cost {text(scores, 'mean_cost')}{'' if accurate else ' on held-out rows'}"] if priced else []
    constant = scores.baseline
    beside = [] if math.isnan(constant.accuracy) or not accurate else [text(constant, "accuracy")]
    beside += [f"mean cost {text(constant, 'mean_cost')}"] if priced else []
    folds = f"({len(scores._fold_scores)}-fold cross-validation)"
    line = f"{', '.join(parts)} {folds}; {printable(baseline_title(scores))}: {', '.join(beside)}"
    return line[0].upper() + line[1:]


def is_visibly_worse(one: Scores, other: Scores) -> bool:
    """Tell whether the log loss is higher than another, also as it is shown."""
    from ..judge.metrics import score_text

    shown = [score_text("log_loss", found.log_loss, one.spread["log_loss"]) for found in (one, other)]
    return one.log_loss > other.log_loss and shown[0] != shown[1]


def overconfidence_advice(fitted: FittedClassifier, scores: Scores, textbook: Scores | None) -> str:
    """Return advice for a model whose log loss is above that of the class frequencies."""
    if fitted.parameters.given_temperature() is not None:
        return f"{OVERCONFIDENT}\nThe temperature was set by --temperature: omit that option."
    if textbook is not None and is_visibly_worse(scores, textbook):
        return f"{OVERCONFIDENT}\nThe textbook model has a lower log loss on these rows: --model textbook."
    if fitted.weights is None and fitted.parameters.temperature is None:
        return (
            f"{OVERCONFIDENT}\nThe textbook model counts dependent columns several times: use --temperature auto, or "
            "ignore some of them by --ignore."
        )
    return (
        f"{OVERCONFIDENT}\nThe columns may not depend on the target, or there are too few rows: use more rows, or "
        "ignore columns that cannot matter by --ignore."
    )


def output_lines(fitted: FittedClassifier, found: FileFit, out: str | None, *, rows: bool, many: bool) -> list[str]:
    """Return where the model was written, what the file holds of the rows, and the next command.

    If there are too many rows to cross-validate them by default, a line says so.
    """
    lines = ["The model was not saved: add -o model.parquet to save it."]
    if out is not None:
        size, held = size_text(Path(out).stat().st_size), views.rows_in_file(fitted, in_file=rows)
        next_command = f"naively predict {shlex.quote(out)} new.csv -o answers.csv"
        lines = [f"Wrote {out} ({size}), which holds {held}. Next: {next_command}"]
    if many and found.scores is None and not found.by_file:
        lines.append(f"So many rows are not cross-validated by default: --cv {FOLDS} does it in one more pass.")
    return lines


def fit_as_json(fitted: FittedClassifier, found: FileFit, out: str | None) -> JsonObject:
    """Return the report for JSON."""
    from ..counting.notes import about_target
    from ..judge.metrics import as_row_count

    counts = fitted.counts
    return {
        "rows": as_row_count(counts.rows.sum()),
        "target": fitted.schema.target,
        "classes": views.class_summaries(counts),
        "columns": fitted_column_summaries(fitted, found),
        "missing": found.missing,
        "unlabelled": found.skipped,
        "missing_markers": found.markers,
        "set_aside": list(found.set_aside),
        "notes": [command_text(note) for note in (*about_target(counts.classes.labels), *fitted.schema.hints)],
        "read": list(found.read),
        "cached": list(found.cached),
        "seconds": found.seconds,
        "smoothing": fitted.smoothing,
        "temperature": fitted.temperature,
        "passes": found.passes,
        "scores": None if found.scores is None else found.scores.to_dict(),
        "textbook_scores": None if found.textbook_scores is None else found.textbook_scores.to_dict(),
        "model": out,
    }
