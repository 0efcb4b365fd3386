"""``naively fit``: a file in, a model and a report on it out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import inputs, options
from .progress import Bar
from .render import amount, console, listed, percent, print_json, size

if TYPE_CHECKING:
    from ..classifier import NaiveBayes
    from ..files import Found

# Above so many rows cross-validation must be asked for: it takes a second pass.
MANY = 50_000_000

EXAMPLE = """\b
Example:
  naively fit train.csv --target income -o income.parquet
  naively fit 'logs/*.csv.gz' --target label --family visits=poisson --ignore id --cost bad,good=5 -o model.parquet
"""


@click.command("fit", epilog=EXAMPLE)
@options.FILES
@click.option("--target", "-t", metavar="COLUMN", help="The column of the classes, by name or place (1 first, -1 last).")
@click.option("--out", "-o", type=click.Path(), metavar="FILE", help="Where to write the model, such as model.parquet.")
@click.option("--ignore", multiple=True, metavar="COLUMN", help="A column to leave out; may be repeated.")
@click.option(
    "--family", multiple=True, metavar="COLUMN=FAMILY", help="What a column is: categorical, gaussian, poisson, bernoulli."
)
@options.WEIGHT
@options.settings
@click.option("--model", default="textbook", show_default=True, metavar="KIND", help="Which model: textbook.")
@click.option(
    "--folds",
    type=click.IntRange(0),
    metavar="K",
    help=f"Folds of the cross-validation, which reads the file once more and holds K + 1 models in memory; 0 for none. "
    f"Left out: 5, but none above {MANY:,} rows.",
)
@click.option(
    "--keep-counts", type=click.Path(), metavar="FOLDER", help="Keep the counts of each file; a next run reads only new ones."
)
@click.option("--window", type=click.IntRange(1), metavar="N", help="Take only the newest N of the files kept.")
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
    quiet: bool,
    as_json: bool,
    reading: dict[str, Any],
    settings: dict[str, Any],
    model: str,
    threads: int | None,
    **counting: Any,
) -> None:
    """Learn from files, and report what was learned.

    FILE is a CSV, TSV, Parquet or JSON lines file, packed or not, a glob, a folder, a DuckDB database, or - for what is
    piped in. Texts are taken as categories and numbers as numbers; the report says how to change that.
    """
    from ..classifier import NaiveBayes

    file = inputs.opened(files, reading)
    name = inputs.target_of(file, target)
    told = inputs.changed(settings, inputs.labels_in(file, name))
    nb = NaiveBayes(families=inputs.families_of(family) or None, model=model, threads=threads, **told)
    found = learned(nb, file, name, [inputs.column_of(file, one, "--ignore") for one in ignore], quiet, **counting)
    if out is not None:
        nb.save(out)
    if as_json:
        print_json(facts(nb, found, out))
    elif not quiet:
        report(nb, found, files, out)


def learned(nb: NaiveBayes, file: Any, target: str, ignore: list[str], quiet: bool, **counting: Any) -> Found:
    """Count the files into the model, and return what was found on the way."""
    from .. import files

    weight, folds = counting.pop("weight"), counting.pop("folds")
    weight = None if weight is None else inputs.column_of(file, weight, "--weight")
    with Bar("Counting", quiet) as bar:
        return files.fit(
            nb, file, target, ignore, weight, 5 if folds is None else folds, progress=bar, **counting
        )


def report(nb: NaiveBayes, found: Found, files: tuple[str, ...], out: str | None) -> None:
    """Print the report."""
    from . import views

    page, facts_of = console(), views.column_facts(nb)
    rows, count = nb.counts_.rows.sum(), len(nb.counts_.classes)
    page.print(f"{amount(rows)} rows of {listed(files, 3)}, {count} classes of {nb.schema_.target}\n", style="bold")
    page.print(views.classes(nb.counts_))
    page.print()
    page.print(views.columns(facts_of))
    page.print()
    for line in remarks(nb, found, facts_of):
        page.print(line)
    if found.scores is not None:
        page.print()
        page.print(verdict(found), style="bold")
        page.print(views.scores(found.scores))
    page.print()
    page.print(written(out))


def remarks(nb: NaiveBayes, found: Found, facts_of: list[dict[str, Any]]) -> list[str]:
    """Return what else is worth knowing of the columns, and which option changes it."""
    from . import views

    holes = sum(fact["missing"] or 0.0 for fact in facts_of)
    cells = nb.counts_.rows.sum() * len(facts_of)
    lines = [f"Missing: {amount(holes)} of {amount(cells)} cells ({percent(holes / max(cells, 1))}). They say nothing."]
    lines += [f"Set aside: {views.quoted(str(name))}, {why}" for name, why in found.aside.items()]
    lines += [f"Note: {note}" for note in views.notes(nb.schema_.hints)]
    example = views.quoted(str(facts_of[0]["name"])) if facts_of else "COLUMN"
    return [*lines, f"To take a column as something else: --family {example}=categorical; to leave it out: --ignore {example}"]


def verdict(found: Found) -> str:
    """Return in a sentence how often the answers are right, beside those of always giving the most frequent."""
    scores = found.scores
    often = scores.classes[int(scores.baseline.answers[0])]
    return (
        f"Right in {percent(scores.accuracy)} of rows that it was not shown ({found.folds} folds); "
        f"always says {often}: {percent(scores.baseline.accuracy)}"
    )


def written(out: str | None) -> str:
    """Return where the model is, and what to do with it."""
    from .views import quoted

    if out is None:
        return "The model was not kept: add -o model.parquet to write it."
    place = quoted(out)
    return f"Wrote {out} ({size(Path(out).stat().st_size)}). Next: naively predict {place} new.csv -o answers.csv"


def facts(nb: NaiveBayes, found: Found, out: str | None) -> dict[str, Any]:
    """Return the report as data."""
    from . import views

    counts = nb.counts_
    return {
        "rows": float(counts.rows.sum()),
        "target": nb.schema_.target,
        "classes": [{"class": k, "rows": n} for k, n in zip(counts.classes.labels, counts.rows.tolist(), strict=True)],
        "columns": views.column_facts(nb),
        "set_aside": [{"name": name, "why": why} for name, why in found.aside.items()],
        "notes": views.notes(nb.schema_.hints),
        "folds": found.folds,
        "scores": None if found.scores is None else found.scores.to_dict(),
        "model": out,
    }
