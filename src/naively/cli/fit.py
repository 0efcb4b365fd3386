"""``naively fit``: files in, a model and a report on it out."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .._progress import ProgressBar
from ..errors.message import ANY_VALUE, Message, Setting
from ..page.numbers import count_text
from . import arguments, options, render
from .arguments import OptionValues
from .exits import command_text, warnings_as_notes
from .options import COUNT, Common, Group, option
from .render import bold, percent, print_json, printable, short_list

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


@options.command(
    "fit",
    """Examples:
  naively fit train.csv --target income -o income.parquet
  naively fit mails.csv --target label --text body -o spam.parquet
  naively fit 'logs/*.csv.gz' --target label --family visits=poisson --ignore id --cost bad,good=5 -o model.parquet
""",
    options.FILES,
    option("--target -t COLUMN", "Column of the classes, by name or position (1 is the first, -1 the last)."),
    option("--out -o FILE", "File to write the model to: model.parquet.", type=click.Path()),
    option("--ignore COLUMN", "Column to ignore. Repeatable.", multiple=True),
    option(
        "--family COLUMN=FAMILY",
        "Family of a column: categorical, ordinal, gaussian, bins, poisson, bernoulli or words. Name levels that "
        "are texts, lowest first: grade=ordinal:low,mid,high. Repeatable.",
        multiple=True,
    ),
    Group(
        "texts",
        (
            option("--text COLUMN", "Column of texts, whose words are counted. Repeatable.", multiple=True),
            option(
                "--ngram-range MIN-MAX",
                "Lengths of the word n-grams to count, such as 1-2. Default: single words, and pairs unless there "
                "are too many texts.",
                type=options.ngram_range,
            ),
            option("--characters", "Count character n-grams instead of words.", is_flag=True, default=None),
            option("--complement", "Score a class by the words of all other classes.", is_flag=True, default=None),
            option("--min-df N", "Ignore words that occur in fewer than N texts.", type=COUNT),
            option(
                "--hash-width N",
                "Hash words into N features: bounds the memory, but loses the words themselves.",
                type=COUNT,
            ),
            option("--vocabulary FILE", "File of the words to count, one per line.", type=click.Path()),
        ),
    ),
    options.WEIGHT,
    option(
        "--normalize-weight",
        "Scale the weights so that they sum to the number of rows. Reads them once before the fit.",
        is_flag=True,
    ),
    Group(
        "settings",
        (
            option(
                "--class-weight balanced|CLASS=WEIGHT",
                "Weight of the rows of a class, such as spam=3 (repeatable); or balanced, which gives all classes "
                "the same total weight and reads the rows once before the fit.",
                multiple=True,
            ),
            *options.SETTINGS,
            option(
                "--model",
                "auto: the default model, with pairs of columns and fitted weights; textbook: textbook naive Bayes.",
                type=click.Choice(["auto", "textbook"]),
                default="auto",
                show_default=True,
            ),
            option(
                "--unlabelled",
                "Rows without a class are an error, or skipped.",
                type=click.Choice(["error", "skip"]),
                default="error",
                show_default=True,
            ),
        ),
    ),
    option(
        "--cv K",
        f"Number of stratified folds of the cross-validation; 0 for none. Above about 50,000 rows it reads the "
        f"file once more and holds K + 1 models in memory. By default {FOLDS}, but 0 above {MANY:,} rows, above 1 GB "
        f"with --text, or with --keep-counts.",
        type=click.IntRange(0),
    ),
    option(
        "--conformalize",
        "Also score rows by models without them, for the options --set and --interval of predict and explain.",
        is_flag=True,
    ),
    Group(
        "keeping",
        (
            option(
                "--keep-counts FOLDER",
                "Folder for the counts of each file; the next run reads only new files. Unless the model is "
                "textbook, it also holds up to 50,000 rows of each file, as they are; see --no-keep-rows.",
                type=click.Path(),
            ),
            option("--window N", "With --keep-counts: use only the newest N files.", type=COUNT),
            option(
                "--fade SHARE",
                "With --keep-counts: each file counts SHARE times the next newer one, such as 0.9.",
                type=click.FloatRange(0, 1, min_open=True),
            ),
        ),
    ),
    options.keep_rows(
        "--keep-rows writes up to 50,000 rows into the model file, as they are, so that merge and forget go on "
        "exactly; by default a model file holds no row. --no-keep-rows keeps rows out of the folder of --keep-counts, "
        "too."
    ),
    *options.READING_ROWS,
)
def fit_command(
    common: Common,
    out: str | None,
    ignore: tuple[str, ...],
    family: tuple[str, ...],
    texts: OptionValues,
    normalize_weight: bool,
    cv: int | None,
    conformalize: bool,
    keeping: OptionValues,
    keep_rows: bool | None,
) -> None:
    """Fit a model to files, and report on it.

    FILE is a CSV, TSV, Parquet, JSON (lines or a list of objects), Excel, Arrow or ORC file, compressed or not (gzip,
    zstd, zip, bz2, xz), a glob, a folder, a DuckDB database, or - for stdin. Columns of texts are categories unless
    --text names them, and columns of numbers are numbers; the report shows how to change that.
    """
    from ..estimator.fit_files import fit_files
    from ..estimator.held_out import with_scores_of_files
    from ..estimator.load import refuse_rows_of_textbook, save_model
    from ..estimator.naive_bayes import NaiveBayes

    file = common.file()
    arguments.refuse_overwriting(out, file)
    target = arguments.resolve_target(file, common.target)
    given = arguments.parse_settings(common.settings, arguments.labels_of_column(file, target))
    families = arguments.parse_families(file, family, texts)
    nb = NaiveBayes(families=families, n_jobs=common.n_jobs, **given)
    how = nb.parameters
    if keep_rows:
        if out is None:
            raise click.UsageError(
                "--keep-rows writes rows into the model file: add -o model.parquet, or leave it out."
            )
        refuse_rows_of_textbook(how)
    ignored = [arguments.resolve_column(file, name, "--ignore") for name in ignore]
    weight = common.weight_column(file)
    folds = default_folds(how, file, keeping) if cv is None else cv
    with warnings_as_notes(common.quiet), ProgressBar("Counting", common.quiet) as bar:
        keeping |= {"keep_rows": keep_rows is not False, "normalize_weight": normalize_weight, "progress": bar}
        fit = fit_files(nb, file, target, ignore=ignored, weight=weight, cv=folds, **keeping)
        fitted = nb.fitted_
    if conformalize:
        fitted = with_scores_of_files(fitted, file, target, weight)
    if out is not None:
        anywhere = fitted.with_parameters(n_jobs=None)  # the number of threads belongs to this machine
        save_model(anywhere, out, rows=bool(keep_rows))
    if common.as_json:
        kept = render.kept_rows_as_json(fitted, in_file=bool(keep_rows))
        print_json({**fit_as_json(fitted, fit), "model": out, **kept})
    elif not common.quiet:
        last = [output_line(fitted, out, rows=bool(keep_rows))]
        if cv is None and fit.scores is None and not fit.by_file:
            last.append(f"So many rows are not cross-validated by default: --cv {FOLDS} does it in one more pass.")
        print_fit(fitted, fit, common.files, last)


def output_line(fitted: FittedClassifier, out: str | None, *, rows: bool) -> str:
    """Return where the model was written, which rows the file holds, and the next command."""
    if out is None:
        return "The model was not saved: add -o model.parquet to save it."
    size, held = render.size_text(Path(out).stat().st_size), render.rows_in_file(fitted, in_file=rows)
    following = f"naively predict {shlex.quote(out)} new.csv -o answers.csv"
    return f"Wrote {out} ({size}), which holds {held}. Next: {following}"


def default_folds(parameters: Parameters, file: File, keeping: OptionValues) -> int:
    """Return the number of folds if none was given: 0 where cross-validation would take long."""
    from ..families import Words

    rows = sum(file.bytes(index) / max(file.row_bytes(index), 1e-9) for index in range(len(file.paths)))
    rows = rows if file.limit is None else min(rows, file.limit)
    families = parameters.families if isinstance(parameters.families, dict) else {}
    with_texts = any(isinstance(family, Words) for family in families.values())
    return 0 if keeping or rows > MANY or (with_texts and file.unpacked > LONG) else FOLDS


def print_fit(fitted: FittedClassifier, fit: FileFit, files: tuple[str, ...], last: list[str]) -> None:
    """Print the report, which ends with lines on the file that was written."""
    from ..counting.notes import about_target

    columns, scores = render.column_summaries(fitted, fit.missing_by_column), fit.scores
    rows, count = fitted.counts.rows.sum(), len(fitted.counts.classes)
    classes = f"{count} class{'es' * (count != 1)} of {printable(fitted.schema.target)}"
    held_out: list[Any] = []
    if scores is not None and count > 1:
        held_out = [bold(accuracy_line(scores)), render.score_table(scores, fit.textbook_scores)]
        if fit.by_file and len(scores.truth) < fit.rows:
            held_out.append(f"Scored: {len(scores.truth):,} of {fit.rows:,} rows, those that are kept.")
        if is_visibly_worse(scores, scores.baseline):
            held_out.append(overconfidence_advice(fitted, scores, fit.textbook_scores))
    render.print_blocks(
        [bold(f"{count_text(rows)} rows of {short_list(files, 3)}, {classes}")],
        *([bold(command_text(note))] for note in about_target(fitted.counts.classes.labels)),
        [render.class_table(fitted.counts)],
        [render.column_table(columns)],
        report_remarks(fitted, fit, len(columns)),
        *([held_out] if held_out else []),
        last,
    )


def report_remarks(fitted: FittedClassifier, fit: FileFit, columns: int) -> list[str]:
    """Return remarks on missing values, tuning and columns, with the options that change them."""
    lines = []
    if fit.skipped:
        rows = "1 row was" if fit.skipped == 1 else f"{fit.skipped:,} rows were"
        lines.append(f"{rows} skipped because {printable(fitted.schema.target)} is missing.")
    lines.append(missing_values_line(fitted, fit, fit.rows * columns))
    # All weights would fill many lines: `show` has them, and the scores below measure their effect.
    lines += render.tuning_lines(fitted)[: None if fitted.weights is None else 1]
    if fit.passes > 1:
        lines.append(f"The rows were read {fit.passes} times.")
    if unused := options_without_effect(fitted):
        have, them = ("has", "it") if len(unused) == 1 else ("have", "them")
        lines.append(f"Note: {short_list(unused)} {have} no effect on the default model; --model textbook uses {them}.")
    null = Setting("null", ANY_VALUE)  # notes about it list texts that the first line has
    notes = [note for note in fitted.schema.hints if not (isinstance(note, Message) and null in note.parts)]
    lines += [f"Note: {printable(command_text(note))}" for note in notes[:MOST_NOTES]]
    if len(notes) > MOST_NOTES:
        lines.append(f"… and {len(notes) - MOST_NOTES} more notes: naively show")
    return [*lines, "To change the family of a column: --family COLUMN=categorical; to ignore it: --ignore COLUMN"]


def options_without_effect(fitted: FittedClassifier) -> list[str]:
    """Return the options that were given but have no effect on a model that fits its own weights."""
    parameters = fitted.parameters
    idle = {"temperature": parameters.temperature == "auto"}
    if parameters.model == "auto":
        idle |= {"estimate": parameters.estimate != "bayes", "unseen": parameters.unseen == "smooth"}
        idle |= {"smoothing": parameters.smoothing != 1.0}
    return [f"--{name} {getattr(parameters, name)}" for name in idle if idle[name] and fitted.weights is not None]


def missing_values_line(fitted: FittedClassifier, fit: FileFit, cells: int) -> str:
    """Return the number of missing values, the texts that stand for them, and how the model treats them."""
    if not fit.missing:
        return "Missing values: none."
    role = "They are skipped" if fitted.parameters.missing == "skip" else "They are a category of their own"
    texts = sum(map(Counter, fit.markers.values()), Counter[str]())
    counted = texts.total() == fit.missing  # else markers of skipped rows are counted, too
    named = [(printable(text) or "empty", times) for text, times in texts.most_common(MOST_NOTES)]
    listed = ", ".join(f"{text} {times:,}" if counted else text for text, times in named)
    more = ", …" if len(texts) > MOST_NOTES else ""
    columns = f"{len(fit.markers)} {'column' if len(fit.markers) == 1 else 'columns'}"
    proportion = percent(fit.missing / max(cells, 1))
    return f"Missing values: {fit.missing:,} of {cells:,} cells ({proportion}), in {columns}: {listed}{more}. {role}."


def accuracy_line(scores: Scores) -> str:
    """Return the accuracy and the cost on held-out rows next to those of the baseline, as one sentence."""
    from ..judge.metrics import score_text
    from ..judge.scores import baseline_title, uses_costs

    def parts(one: Scores) -> list[str]:
        names = ["accuracy"] if not math.isnan(scores.accuracy) and not math.isnan(one.accuracy) else []
        names += ["mean_cost"] if uses_costs(scores) else []
        errors = {} if one is scores.baseline else scores.spread
        texts = [score_text(name, getattr(one, name), errors.get(name, math.nan)) for name in names]
        return [f"{name.replace('_', ' ')} {text}" for name, text in zip(names, texts, strict=True)]

    where = "on held-out rows"
    if scores.reject is not None and not math.isnan(scores.accuracy):
        where = f"on the {percent(scores.coverage)} of held-out rows that are answered"
    first, *others = parts(scores)
    folds = f"({len(scores._fold_scores)}-fold cross-validation)"
    baseline = f"{printable(baseline_title(scores))}: {', '.join(parts(scores.baseline)).replace('accuracy ', '')}"
    line = f"{', '.join([f'{first} {where}', *others])} {folds}; {baseline}"
    return line[0].upper() + line[1:]


def is_visibly_worse(one: Scores, other: Scores) -> bool:
    """Tell whether the log loss is higher than another, also as it is shown."""
    from ..judge.metrics import score_text

    shown = [score_text("log_loss", scores.log_loss, one.spread["log_loss"]) for scores in (one, other)]
    return one.log_loss > other.log_loss and shown[0] != shown[1]


def overconfidence_advice(fitted: FittedClassifier, scores: Scores, textbook: Scores | None) -> str:
    """Return advice for a model whose log loss is above that of the class frequencies."""
    advice = (
        "The columns may not depend on the target, or there are too few rows: use more rows, or ignore columns that "
        "cannot matter by --ignore."
    )
    if fitted.parameters.given_temperature() is not None:
        advice = "The temperature was set by --temperature: omit that option."
    elif textbook is not None and is_visibly_worse(scores, textbook):
        advice = "The textbook model has a lower log loss on these rows: --model textbook."
    elif fitted.weights is None and fitted.parameters.temperature is None:
        advice = (
            "The textbook model counts dependent columns several times: use --temperature auto, or ignore some of them "
            "by --ignore."
        )
    return f"{OVERCONFIDENT}\n{advice}"


def fit_as_json(fitted: FittedClassifier, fit: FileFit) -> JsonObject:
    """Return the report for JSON."""
    return render.model_facts(fitted, fit.missing_by_column) | {
        "missing": fit.missing,
        "unlabelled": fit.skipped,
        "missing_markers": fit.markers,
        "set_aside": list(fit.set_aside),
        "read": list(fit.read),
        "cached": list(fit.cached),
        "seconds": fit.seconds,
        "smoothing": fitted.smoothing,
        "temperature": fitted.temperature,
        "passes": fit.passes,
        "scores": None if fit.scores is None else fit.scores.to_dict(),
        "textbook_scores": None if fit.textbook_scores is None else fit.textbook_scores.to_dict(),
    }
