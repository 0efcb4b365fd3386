"""Options that several commands share, each group of them handed over as one dict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import click

Run = Callable[..., Any]


def sign(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Return one sign, such as a comma; a tab has a name."""
    found = {"\\t": "\t", "tab": "\t"}.get(value or "", value)
    if found is not None and len(found) != 1:
        raise click.BadParameter(f"{value!r} is not one sign; a tab is written \\t.")
    return found


def amount(ctx: click.Context, param: click.Parameter, value: str | None) -> float | str | None:
    """Return a number, or the word auto."""
    if value is None or value == "auto":
        return value
    try:
        return float(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither a number nor 'auto'.") from None


def gathered(into: str, options: Mapping[str, Run]) -> Callable[[Run], Run]:
    """Put options on a command; what was given reaches it together, as a dict, without those left out."""

    def on(command: Run) -> Run:
        @wraps(command)
        def run(**given: Any) -> Any:
            values = {name: given.pop(name) for name in options}
            kept = {name: value for name, value in values.items() if value not in (None, ())}
            return command(**given, **{into: kept})

        for option in reversed(list(options.values())):
            run = option(run)
        return run

    return on


def remember_debug(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    """Note that a traceback is wanted, for whoever sees the error in the end."""
    if value and isinstance(ctx.obj, dict):
        ctx.obj["debug"] = True


reading = gathered(
    "reading",
    {
        "format": click.option(
            "--format",
            type=click.Choice(["csv", "parquet", "json", "excel", "arrow", "orc", "duckdb"]),
            help="What the file is, if that is not seen; any delimiter is csv.",
        ),
        "table": click.option(
            "--table",
            metavar="NAME",
            help="The table of a DuckDB database, the sheet of a workbook (left out: the first), or the "
            "file of a zip archive to read.",
        ),
        "query": click.option("--query", metavar="SQL", help="What to read from a DuckDB database instead of a table."),
        "null": click.option(
            "--null",
            multiple=True,
            metavar="TEXT",
            help="What stands for a missing cell, and nothing else; may be repeated. Left out: an empty cell, NA, "
            "null, None, ? and the like, and among numbers also -, unknown and others.",
        ),
        "also_null": click.option(
            "--also-null",
            multiple=True,
            metavar="TEXT",
            help="What stands for a missing cell as well as the usual texts do; may be repeated.",
        ),
        "decimal": click.option(
            "--decimal", callback=sign, metavar="SIGN", help="The decimal sign of numbers, such as a comma."
        ),
        "thousands": click.option(
            "--thousands", callback=sign, metavar="SIGN", help="What groups the digits of numbers, such as a comma."
        ),
        "delimiter": click.option(
            "--delimiter", callback=sign, metavar="SIGN", help="What separates the cells, if it is not found."
        ),
        "encoding": click.option("--encoding", metavar="NAME", help="The encoding of texts, such as gb18030."),
        "limit": click.option("--limit", type=click.IntRange(1), metavar="ROWS", help="Read no more than these rows."),
    },
)


def ngram_range(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, int] | None:
    """Return the fewest and the most words in a row; a single number is the most."""
    if value is None:
        return None
    least, _, most = value.rpartition("-")
    if not most.isdecimal() or not (least or "1").isdecimal():
        raise click.BadParameter(f"{value!r} is neither a number of words nor a range of them, such as 1-2.")
    return int(least or 1), int(most)


texts = gathered(
    "texts",
    {
        "text": click.option(
            "--text", multiple=True, metavar="COLUMN", help="A column of texts, whose words are counted; repeatable."
        ),
        "ngram_range": click.option(
            "--ngram-range",
            callback=ngram_range,
            metavar="LEAST-MOST",
            help="How many words in a row make one, such as 1-2. Left out: single words, and pairs if there are not "
            "too many texts.",
        ),
        "characters": click.option(
            "--characters", is_flag=True, default=None, help="Count characters in a row instead of words."
        ),
        "complement": click.option(
            "--complement", is_flag=True, default=None, help="Score a class by the words of all others."
        ),
        "min_df": click.option(
            "--min-df", type=click.IntRange(1), metavar="N", help="Words in fewer texts than this say nothing."
        ),
        "hash_width": click.option(
            "--hash-width",
            type=click.IntRange(1),
            metavar="N",
            help="So many columns, one of which each word gets by its hash: a bound on memory, but no names of words.",
        ),
        "vocabulary": click.option(
            "--vocabulary", type=click.Path(), metavar="FILE", help="The only words to count, one on each line."
        ),
    },
)

SETTINGS = {
    "estimate": click.option(
        "--estimate",
        type=click.Choice(["bayes", "map", "mle"]),
        help="From counts to probabilities: Laplace's rule (bayes), the mode, or plain frequencies.",
    ),
    "smoothing": click.option(
        "--smoothing",
        callback=amount,
        metavar="NUMBER|auto",
        help="The λ of every column; 1 is Laplace's rule. At fit auto "
        "chooses it, or one for each column, by leave-one-out.",
    ),
    "temperature": click.option(
        "--temperature",
        callback=amount,
        metavar="NUMBER|auto",
        help="How much softer the probabilities are made. At fit auto chooses it, and biases of the classes, by "
        "leave-one-out.",
    ),
    "prior": click.option(
        "--prior",
        multiple=True,
        metavar="KIND|CLASS=P",
        help="How frequent the classes are: empirical, uniform, or a probability for each: yes=0.1 (repeated).",
    ),
    "cost": click.option(
        "--cost",
        multiple=True,
        metavar="TRUE,CHOSEN=PRICE|FILE",
        help="What a mistake costs, such as bad,good=5 (repeated); or a CSV of costs, a line for each true class. "
        "Mistakes without a price cost 1. Amounts as classes: squared or absolute.",
    ),
    "reject": click.option(
        "--reject",
        type=click.FloatRange(0),
        metavar="PRICE",
        help="What no answer costs; rows whose best answer is expected to cost more get none.",
    ),
    "missing": click.option(
        "--missing",
        type=click.Choice(["skip", "value"]),
        help="Whether a missing cell says nothing (skip) or is a value like others.",
    ),
    "unseen": click.option(
        "--unseen",
        type=click.Choice(["skip", "smooth", "error"]),
        help="Whether a category never met says nothing, has a place in every class, or is an error.",
    ),
}

settings = gathered("settings", SETTINGS)

N_JOBS = click.option(
    "--n-jobs", type=int, metavar="N", help="How many threads to use; by default all CPUs, as with -1."
)
DEBUG = click.option(
    "--debug",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=remember_debug,
    help="Show where an error came from.",
)
QUIET = click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object for programs.")
MODEL = click.argument("model", type=click.Path(), metavar="MODEL")
FILES = click.argument("files", nargs=-1, required=True, metavar="FILE...")
OUT = click.option(
    "--out", "-o", type=click.Path(), required=True, metavar="FILE", help="Where to write the new model."
)
TARGET = click.option(
    "--target", "-t", metavar="COLUMN", help="The column of the classes; by default the one the model was fitted with."
)
WEIGHT = click.option("--weight", metavar="COLUMN", help="A column that says how many rows each row stands for.")
NORMALIZE = click.option(
    "--normalize-weight",
    is_flag=True,
    help="Let the weights sum to the number of rows, where they only compare rows; reads them once before.",
)
CLASS_WEIGHT = click.option(
    "--class-weight",
    multiple=True,
    metavar="balanced|CLASS=WEIGHT",
    help="How many rows each row of a class stands for: spam=3 (repeated), or balanced, which makes all classes weigh "
    "the same and reads them once before.",
)
