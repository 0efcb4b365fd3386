"""``naively fit``: a file in, a model and a report on it out."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import options
from . import parse as inputs
from .exits import noted
from .messages import command_text
from .progress import Bar
from .render import amount, clean, console, listed, percent, print_json, size

if TYPE_CHECKING:
    from ..data.files import File
    from ..estimator.fit_files import FileFit
    from ..estimator.fitted_classifier import FittedClassifier
    from ..estimator.settings import Parameters
    from ..judge.scores import Scores

# Above so many rows, or bytes of a file with texts, cross-validation must be asked for: it takes a second pass, and a
# table of words for each fold.
FOLDS, MANY, LONG = 5, 50_000_000, 1 << 30
# Of more notes than this, only the first are shown.
MOST_NOTES = 6

TOO_SURE = "Its probabilities are too sure: the log loss is above that of the class frequencies alone."
EXAMPLE = """\b
Example:
  naively fit train.csv --target income -o income.parquet
  naively fit mails.csv --target label --text body -o spam.parquet
  naively fit 'logs/*.csv.gz' --target label --family visits=poisson --ignore id --cost bad,good=5 -o model.parquet
"""


@click.command("fit", epilog=EXAMPLE)
@options.FILES
@click.option(
    "--target", "-t", metavar="COLUMN", help="The column of the classes, by name or place (1 first, -1 last)."
)
@click.option("--out", "-o", type=click.Path(), metavar="FILE", help="Where to write the model, such as model.parquet.")
@click.option("--ignore", multiple=True, metavar="COLUMN", help="A column to ignore; may be repeated.")
@click.option(
    "--family",
    multiple=True,
    metavar="COLUMN=FAMILY",
    help="What a column is: categorical, ordinal, gaussian, bins, poisson, bernoulli, words. Levels that are texts are "
    "named lowest first: grade=ordinal:low,mid,high.",
)
@options.texts
@options.WEIGHT
@options.NORMALIZE
@options.CLASS_WEIGHT
@options.settings
@click.option(
    "--model",
    type=click.Choice(["auto", "textbook", "refined"]),
    default="auto",
    show_default=True,
    help="auto: columns alone and in pairs, with fitted weights, which reads a large file once more; textbook: each "
    "column by itself; refined: the textbook model with per-value offsets, which reads it up to 13 times more.",
)
@click.option(
    "--cv",
    type=click.IntRange(0),
    metavar="K",
    help=f"Folds of the cross-validation, each with its share of every class; above some 20,000 rows it reads the file "
    f"once more and holds K + 1 models in memory; 0 for none. By default {FOLDS}, but none above {MANY:,} rows, above "
    f"1 GB with --text, or with --keep-counts.",
)
@click.option(
    "--keep-counts",
    type=click.Path(),
    metavar="FOLDER",
    help="Keep the counts of each file; a next run reads only new ones.",
)
@click.option("--window", type=click.IntRange(1), metavar="N", help="Take only the newest N of the files kept.")
@click.option(
    "--unlabelled",
    type=click.Choice(["error", "skip"]),
    default="error",
    show_default=True,
    help="Whether a row without a class is an error, or skipped.",
)
@options.reading
@options.N_JOBS
@options.QUIET
@options.JSON
@options.DEBUG
def command(
    files: tuple[str, ...],
    target: str | None,
    out: str | None,
    ignore: tuple[str, ...],
    family: tuple[str, ...],
    texts: dict[str, Any],
    quiet: bool,
    as_json: bool,
    reading: dict[str, Any],
    settings: dict[str, Any],
    model: str,
    unlabelled: str,
    n_jobs: int | None,
    weight: str | None,
    class_weight: tuple[str, ...],
    **counting: Any,
) -> None:
    """Learn from files, and report what was learned.

    FILE is a CSV, TSV, Parquet, JSON (lines or a list of objects), Excel, Arrow or ORC file, packed or not (gzip, zstd,
    zip, bz2, xz), a glob, a folder, a DuckDB database, or - for what is piped in. Texts are taken as categories, unless
    --text names them, and numbers as numbers; the report says how to change that.
    """
    from ..estimator.load import save_model
    from ..estimator.settings import Parameters

    file = inputs.opened(files, reading)
    inputs.spare(out, file)
    name = inputs.target_of(file, target)
    told = inputs.changed(settings, labels := inputs.labels_in(file, name))
    told["class_weight"] = inputs.class_weight_of(class_weight, labels)
    families = inputs.families_of(file, family, texts)
    how = Parameters(families=families, model=model, unlabelled=unlabelled, n_jobs=n_jobs, **told)
    counting["ignore"] = [inputs.column_of(file, one, "--ignore") for one in ignore]
    counting["weight"] = None if weight is None else inputs.column_of(file, weight, "--weight")
    fitted, found = learned(how, file, name, quiet, **counting)
    if out is not None:
        save_model(fitted.with_parameters(n_jobs=None), out)  # how many threads this machine has is nothing to keep
    if as_json:
        print_json(facts(fitted, found, out))
    elif not quiet:
        report(fitted, found, files, out)
        if found.scores is None and counting["cv"] is None and counting["keep_counts"] is None:
            click.echo(f"So much is not scored unasked: --cv {FOLDS} does it in one more pass.")


def learned(
    parameters: Parameters, file: File, target: str, quiet: bool, **how: Any
) -> tuple[FittedClassifier, FileFit]:
    """Fit a model to the files, and return what was read."""
    from ..estimator.fit_files import fit_model_to_files

    if how["cv"] is None:
        too_much = rows_in(file) > MANY or (has_texts(parameters) and file.unpacked > LONG)
        how["cv"] = 0 if how["keep_counts"] is not None or too_much else FOLDS
    with noted(quiet), Bar("Counting", quiet) as bar:
        return fit_model_to_files(parameters, file, target, progress=bar, **how)


def has_texts(parameters: Parameters) -> bool:
    """Tell whether words of texts are counted."""
    from ..families import Words

    families = parameters.families if isinstance(parameters.families, dict) else {}
    return any(isinstance(family, Words) for family in families.values())


def rows_in(file: File) -> float:
    """Return about how many rows there are."""
    rows = sum(file.bytes(at) / max(file.row_bytes(at), 1e-9) for at in range(len(file.paths)))
    return rows if file.limit is None else min(rows, file.limit)


def report(fitted: FittedClassifier, found: FileFit, files: tuple[str, ...], out: str | None) -> None:
    """Print the report."""
    from ..counting.notes import about_target
    from . import views

    page, facts_of = console(), column_facts(fitted, found)
    rows, count = fitted.counts.rows.sum(), len(fitted.counts.classes)
    named = f"{count} class{'es' * (count != 1)} of {clean(str(fitted.schema.target))}"
    page.print(f"{amount(rows)} rows of {listed(files, 3)}, {named}\n", style="bold")
    for remark in about_target(fitted.counts.classes.labels):
        page.print(f"{clean(command_text(remark))}\n", style="bold", soft_wrap=True)
    page.print(views.classes(fitted.counts))
    page.print()
    page.print(views.columns(facts_of))
    page.print()
    for line in remarks(fitted, found, facts_of):
        page.print(line, soft_wrap=True)
    if found.scores is not None and count > 1:
        page.print()
        page.print(verdict(found.scores), style="bold", soft_wrap=True)
        page.print(views.scores(found.scores, found.textbook_scores))
        if is_worse(found.scores, found.scores.baseline):
            page.print(too_sure(fitted, found.scores, found.textbook_scores), soft_wrap=True)
    page.print()
    page.print(written(out), soft_wrap=True)


def column_facts(fitted: FittedClassifier, found: FileFit) -> list[dict[str, Any]]:
    """Return what is known of each column; cells are missing as often as there are such, whatever their rows weigh."""
    from . import views

    facts_of, gaps = views.column_facts(fitted), found.missing_by_column
    for fact in facts_of if gaps is not None else ():
        if fact["missing"] is not None:
            fact["missing"] = (gaps or {}).get(fact["name"], 0)
    return facts_of


def remarks(fitted: FittedClassifier, found: FileFit, facts_of: list[dict[str, Any]]) -> list[str]:
    """Return what else is worth knowing of the columns, and which option changes it."""
    from ..counting.cell_notes import READ_AS_MISSING
    from . import views

    lines = [missing_cells(fitted, found, found.rows * len(facts_of))]
    if found.skipped:
        many = "1 row was" if found.skipped == 1 else f"{found.skipped:,} rows were"
        lines.insert(0, f"{many} skipped for lack of a label in {clean(str(fitted.schema.target))}.")
    # Weights and what they bought are many words: `show` has them, and the scores below say what counts.
    lines += views.chosen(fitted)[: None if fitted.weights is None else 1]
    together = fitted.parameters.model == "refined" or any(
        column.kind != "vectors" for column in fitted.schema
    )  # texts are read once
    if fitted.weights is not None and together and found.passes > 1:
        lines.append(f"The rows were read {found.passes} times.")
    if unused := without_effect(fitted):
        said = f"{listed(unused)} change{'s' * (len(unused) == 1)} the textbook model alone, not this one"
        lines.append(f"Note: {said}; --model textbook uses {'them' if len(unused) > 1 else 'it'}.")
    hints = [hint for hint in fitted.schema.hints if not hint.startswith(READ_AS_MISSING)]  # the first line says it
    lines += [f"Note: {clean(command_text(hint))}" for hint in hints[:MOST_NOTES]]
    if len(hints) > MOST_NOTES:
        lines.append(f"… and {len(hints) - MOST_NOTES} more such notes: naively show")
    return [*lines, "To take a column as something else: --family COLUMN=categorical; to ignore it: --ignore COLUMN"]


def without_effect(fitted: FittedClassifier) -> list[str]:
    """Return the options that were given, but change nothing of the model in use: it fits weights of its own."""
    if fitted.weights is None:
        return []
    parameters = fitted.parameters
    idle = {"temperature": parameters.temperature == "auto"}
    if parameters.model == "auto":
        idle |= {"estimate": parameters.estimate != "bayes", "unseen": parameters.unseen == "smooth"}
        idle |= {"smoothing": parameters.smoothing != 1.0}
    return [f"--{name} {getattr(parameters, name)}" for name in idle if idle[name]]


def missing_cells(fitted: FittedClassifier, found: FileFit, cells: int) -> str:
    """Return how many cells are missing, how they are written, and what they say."""
    if not found.missing:
        return "Missing: no cell."
    role = "They say nothing" if fitted.parameters.missing == "skip" else "They are a value like others"
    texts = Counter[str]()
    for none in found.markers.values():
        texts.update(none)
    alone = texts.total() != found.missing  # of rows that are not counted, too: how often each occurs would mislead
    named = [(clean(text) or "empty", times) for text, times in texts.most_common(MOST_NOTES)]
    told = ", ".join(text if alone else f"{text} {times:,}" for text, times in named)
    more = ", …" if len(texts) > MOST_NOTES else ""
    columns = f"{len(found.markers)} {'column' if len(found.markers) == 1 else 'columns'}"
    share = percent(found.missing / max(cells, 1))
    return f"Missing: {found.missing:,} of {cells:,} cells ({share}), in {columns}: {told}{more}. {role}."


def verdict(scores: Scores) -> str:
    """Return in a sentence how good the answers to held-out rows are, beside the constant answer that costs least."""
    from ..judge.metrics import written as said
    from ..judge.score_table import always, is_decided

    def told(one: Scores, name: str) -> str:
        return said(name, getattr(one, name), math.nan if one is scores.baseline else scores.spread[name])

    where = "rows held out"
    if scores.reject is not None:
        where = f"the {percent(scores.coverage)} of held-out rows that are answered"
    accurate, priced = not math.isnan(scores.accuracy), is_decided(scores)
    parts = [f"accuracy {told(scores, 'accuracy')} on {where}"] if accurate else []
    parts += [f"mean cost {told(scores, 'mean_cost')}{'' if accurate else ' on rows held out'}"] if priced else []
    constant = scores.baseline
    beside = [] if math.isnan(constant.accuracy) or not accurate else [told(constant, "accuracy")]
    beside += [f"mean cost {told(constant, 'mean_cost')}"] if priced else []
    folds = f"({len(scores._of_folds)}-fold cross-validation)"
    line = f"{', '.join(parts)} {folds}; {clean(always(scores))}: {', '.join(beside)}"
    return line[0].upper() + line[1:]


def is_worse(one: Scores, other: Scores) -> bool:
    """Tell whether the log loss is above that of another by as much as is shown: what looks the same is no worse."""
    from ..judge.metrics import written as said

    figures = [said("log_loss", found.log_loss, one.spread["log_loss"]) for found in (one, other)]
    return one.log_loss > other.log_loss and figures[0] != figures[1]


def too_sure(fitted: FittedClassifier, scores: Scores, book: Scores | None) -> str:
    """Return what helps the model in use when its probabilities are worse than none."""
    if fitted.parameters.given_temperature() is not None:
        return f"{TOO_SURE}\nThe temperature was given: leave out --temperature."
    if book is not None and is_worse(scores, book):
        return f"{TOO_SURE}\nThe textbook model does better on these rows: --model textbook."
    if fitted.weights is None and fitted.parameters.temperature is None:
        return (
            f"{TOO_SURE}\nColumns that repeat each other are counted as often in the textbook model: soften it by "
            "--temperature auto, or leave some out by --ignore."
        )
    return (
        f"{TOO_SURE}\nThe columns may say nothing about the target, or there are too few rows to learn it from: more "
        "rows help, and so does --ignore for columns that cannot matter."
    )


def written(out: str | None) -> str:
    """Return where the model is, and what to do with it."""
    from .views import quoted

    if out is None:
        return "The model was not kept: add -o model.parquet to write it."
    place = quoted(out)
    return f"Wrote {out} ({size(Path(out).stat().st_size)}). Next: naively predict {place} new.csv -o answers.csv"


def facts(fitted: FittedClassifier, found: FileFit, out: str | None) -> dict[str, Any]:
    """Return the report as data."""
    from ..counting.notes import about_target
    from ..judge.metrics import whole
    from . import views

    counts = fitted.counts
    return {
        "rows": whole(counts.rows.sum()),
        "target": fitted.schema.target,
        "classes": views.class_facts(counts),
        "columns": column_facts(fitted, found),
        "missing": found.missing,
        "unlabelled": found.skipped,
        "missing_markers": found.markers,
        "set_aside": list(found.set_aside),
        "notes": [command_text(hint) for hint in (*about_target(counts.classes.labels), *fitted.schema.hints)],
        "read": list(found.read),
        "kept": list(found.cached),
        "seconds": found.seconds,
        "smoothing": fitted.smoothing,
        "temperature": fitted.temperature,
        "passes": found.passes,
        "scores": None if found.scores is None else found.scores.to_dict(),
        "textbook_scores": None if found.textbook_scores is None else found.textbook_scores.to_dict(),
        "model": out,
    }
