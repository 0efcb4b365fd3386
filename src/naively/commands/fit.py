"""``naively fit``: a file in, a model and a report on it out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import inputs, options
from .progress import Bar
from .render import amount, clean, console, listed, percent, print_json, size
from .words import spoken

if TYPE_CHECKING:
    from ..classifier import Classifier
    from ..evaluate import Scores
    from ..files import Fitted
    from ..read.files import File

# Above so many rows, or bytes of a file with texts, cross-validation must be asked for: it takes a second pass, and a
# table of words for each fold.
FOLDS, MANY, LONG = 5, 50_000_000, 1 << 30
# Of more notes than this, only the first are shown.
MOST_NOTES = 6
# More numbers than this, as a target, are rather amounts than classes.
MANY_NUMBERS = 20

AGAIN = {
    "auto": "columns taken together are counted once more",
    "refined": "values are adjusted a little in each pass",
}
TOO_SURE = (
    "Its probabilities are too sure: the log loss is above that of always saying how frequent the classes are.\n"
    "Columns that tell the same twice do that: soften them by --temperature auto, or leave some out by --ignore."
)
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
@click.option("--ignore", multiple=True, metavar="COLUMN", help="A column to leave out; may be repeated.")
@click.option(
    "--family",
    multiple=True,
    metavar="COLUMN=FAMILY",
    help="What a column is: categorical, gaussian, bins, poisson, bernoulli, words.",
)
@options.texts
@options.WEIGHT
@options.settings
@click.option(
    "--model",
    type=click.Choice(["auto", "textbook", "refined"]),
    default="auto",
    show_default=True,
    help="Whether columns are taken together, which reads the file once more; speak one by one as in the text book; or "
    "do so with their values adjusted, which reads it up to 13 times more.",
)
@click.option(
    "--folds",
    type=click.IntRange(0),
    metavar="K",
    help=f"Folds of the cross-validation, which reads the file once more and holds K + 1 models in memory; 0 for none. "
    f"Left out: {FOLDS}, but none above {MANY:,} rows, above 1 GB with --text, or with --keep-counts.",
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
    help="Whether a row without a class is an error, or left out.",
)
@options.reading
@options.THREADS
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
    threads: int | None,
    weight: str | None,
    **counting: Any,
) -> None:
    """Learn from files, and report what was learned.

    FILE is a CSV, TSV, Parquet, JSON (lines or a list of objects), Excel, Arrow or ORC file, packed or not (gzip, zstd,
    zip, bz2, xz), a glob, a folder, a DuckDB database, or - for what is piped in. Texts are taken as categories, unless
    --text names them, and numbers as numbers; the report says how to change that.
    """
    from ..plain import PlainClassifier

    file = inputs.opened(files, reading)
    name = inputs.target_of(file, target)
    told = inputs.changed(settings, inputs.labels_in(file, name))
    families = inputs.families_of(file, family, texts)
    nb = PlainClassifier(families=families, model=model, unlabelled=unlabelled, threads=threads, **told)
    counting["ignore"] = [inputs.column_of(file, one, "--ignore") for one in ignore]
    counting["weight"] = None if weight is None else inputs.column_of(file, weight, "--weight")
    found = learned(nb, file, name, quiet, **counting)
    if out is not None:
        nb.set_params(threads=None).save(out)  # how many threads this machine has is nothing to remember
    if as_json:
        print_json(facts(nb, found, out))
    elif not quiet:
        report(nb, found, files, out)
        if found.scores is None and counting["folds"] is None and counting["keep_counts"] is None:
            click.echo(f"So much is not scored unasked: --folds {FOLDS} does it in one more pass.")


def learned(nb: Classifier, file: File, target: str, quiet: bool, **how: Any) -> Fitted:
    """Count the files into the model, and return what was found on the way."""
    from .. import files

    if how["folds"] is None:
        too_much = rows_in(file) > MANY or (has_texts(nb) and file.unpacked > LONG)
        how["folds"] = 0 if how["keep_counts"] is not None or too_much else FOLDS
    with Bar("Counting", quiet) as bar:
        return files.fit(nb, file, target, progress=bar, **how)


def has_texts(nb: Classifier) -> bool:
    """Tell whether words of texts are counted."""
    from ..families import Words

    return any(isinstance(family, Words) for family in (nb.families or {}).values())


def rows_in(file: File) -> float:
    """Return about how many rows there are."""
    rows = sum(file.bytes(at) / max(file.row_bytes(at), 1e-9) for at in range(len(file.paths)))
    return rows if file.limit is None else min(rows, file.limit)


def report(nb: Classifier, found: Fitted, files: tuple[str, ...], out: str | None) -> None:
    """Print the report."""
    from . import views

    page, facts_of = console(), views.column_facts(nb)
    rows, count = nb.counts_.rows.sum(), len(nb.counts_.classes)
    page.print(
        f"{amount(rows)} rows of {listed(files, 3)}, {count} classes of {clean(str(nb.schema_.target))}\n", style="bold"
    )
    page.print(views.classes(nb.counts_))
    page.print()
    page.print(views.columns(facts_of))
    page.print()
    for line in remarks(nb, found, facts_of):
        page.print(line, soft_wrap=True)
    if found.scores is not None:
        page.print()
        page.print(verdict(found.scores), style="bold")
        page.print(views.scores(found.scores, found.book))
        if found.scores.log_loss > found.scores.baseline.log_loss:
            page.print(TOO_SURE, soft_wrap=True)
    page.print()
    page.print(written(out), soft_wrap=True)


def remarks(nb: Classifier, found: Fitted, facts_of: list[dict[str, Any]]) -> list[str]:
    """Return what else is worth knowing of the columns, and which option changes it."""
    from . import views

    cells = found.rows * len(facts_of)
    role = "They say nothing" if nb.missing == "skip" else "They are a value like others"
    share = percent(found.missing / max(cells, 1))
    lines = [
        f"Missing: {found.missing:,} of {cells:,} cells ({share}). {role}." if found.missing else "Missing: no cell."
    ]
    if len(nb.counts_.classes) > MANY_NUMBERS and not isinstance(nb.counts_.classes.labels[0], str):
        lines.append(
            f"Note: the target holds {len(nb.counts_.classes)} different numbers, and each of them is a class. If they "
            "are amounts, --cost squared answers with their mean and --cost absolute with their median."
        )
    # Weights and what they bought are many words: `show` has them, and the scores below say what counts.
    lines += views.chosen(nb)[: None if nb._chosen is None else 1]
    together = nb.model == "refined" or any(column.kind != "vectors" for column in nb.schema_)  # texts are read once
    if nb._chosen is not None and together:
        lines.append(f"The rows were read {found.passes} times: {AGAIN[nb.model]}.")
    lines += [f"Note: {clean(spoken(hint))}" for hint in nb.schema_.hints[:MOST_NOTES]]
    if len(nb.schema_.hints) > MOST_NOTES:
        lines.append(f"… and {len(nb.schema_.hints) - MOST_NOTES} more such notes: naively show")
    return [*lines, "To take a column as something else: --family COLUMN=categorical; to leave it out: --ignore COLUMN"]


def verdict(scores: Scores) -> str:
    """Return in a sentence how often the answers are right, beside those of always giving the most frequent."""
    often = scores.classes[int(scores.baseline.answers[0])]
    paid = (
        "" if scores.cost is None else f"; mean cost {scores.mean_cost:.3f} instead of {scores.baseline.mean_cost:.3f}"
    )
    return (
        f"Right in {percent(scores.accuracy)} of rows that it was not shown (cross-validation); "
        f"always says {clean(str(often))}: {percent(scores.baseline.accuracy)}{paid}"
    )


def written(out: str | None) -> str:
    """Return where the model is, and what to do with it."""
    from .views import quoted

    if out is None:
        return "The model was not kept: add -o model.parquet to write it."
    place = quoted(out)
    return f"Wrote {out} ({size(Path(out).stat().st_size)}). Next: naively predict {place} new.csv -o answers.csv"


def facts(nb: Classifier, found: Fitted, out: str | None) -> dict[str, Any]:
    """Return the report as data."""
    from . import views

    counts = nb.counts_
    return {
        "rows": float(counts.rows.sum()),
        "target": nb.schema_.target,
        "classes": [{"class": k, "rows": n} for k, n in zip(counts.classes.labels, counts.rows.tolist(), strict=True)],
        "columns": views.column_facts(nb),
        "missing": found.missing,
        "set_aside": list(found.set_aside),
        "notes": [spoken(hint) for hint in nb.schema_.hints],
        "read": list(found.read),
        "kept": list(found.kept),
        "seconds": found.seconds,
        "smoothing": nb.smoothing_,
        "temperature": nb.temperature_,
        "passes": found.passes,
        "scores": None if found.scores is None else found.scores.to_dict(),
        "textbook_scores": None if found.book is None else found.book.to_dict(),
        "model": out,
    }
