"""Options that several commands share; each group reaches a command as one dict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeAlias

import click

# Values of options by the names of settings. Click converts and checks each by its option's type.
OptionValues: TypeAlias = dict[str, Any]
Callback: TypeAlias = Callable[..., None]
Decorator: TypeAlias = Callable[[Callback], Callback]


# The level of a set or an interval.
LEVEL = click.FloatRange(0, 1, min_open=True, max_open=True)


def single_character(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Return one character, such as a comma, or a tab, given by its name or as an escape."""
    found = {"\\t": "\t", "tab": "\t"}.get(value or "", value)
    if found is not None and len(found) != 1:
        raise click.BadParameter(f"{value!r} is not one character; write \\t for a tab.")
    return found


def number_or_auto(ctx: click.Context, param: click.Parameter, value: str | None) -> float | str | None:
    """Return a number, or the word auto."""
    if value is None or value == "auto":
        return value
    try:
        return float(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither a number nor 'auto'.") from None


def level_or_venn_abers(ctx: click.Context, param: click.Parameter, value: str | None) -> float | str | None:
    """Return the level of an interval, or the name of intervals that have none."""
    if value is None or value == "venn-abers":
        return value
    level: float = LEVEL(value, param, ctx)
    return level


def option_group(name: str, options: Mapping[str, Decorator]) -> Decorator:
    """Return a decorator that adds options to a command, which gets those that were given as one dict."""

    def decorate(command: Callback) -> Callback:
        @wraps(command)
        def run(**given: object) -> None:
            values = {option: given.pop(option) for option in options}
            group = {option: value for option, value in values.items() if value not in (None, ())}
            return command(**given, **{name: group})

        decorated: Callback = run
        for option in reversed(list(options.values())):
            decorated = option(decorated)
        return decorated

    return decorate


def remember_debug(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    """Remember that a traceback is wanted, for the code that shows errors."""
    if value and isinstance(ctx.obj, dict):
        ctx.obj["debug"] = True


reading = option_group(
    "reading",
    {
        "format": click.option(
            "--format",
            type=click.Choice(["csv", "parquet", "json", "excel", "arrow", "orc", "duckdb"]),
            help="Format of the file, if it is not recognized; csv stands for any delimiter.",
        ),
        "table": click.option(
            "--table",
            metavar="NAME",
            help="Table of a DuckDB database, sheet of a workbook (default: the first), or file of a zip archive.",
        ),
        "query": click.option("--query", metavar="SQL", help="Query to read from a DuckDB database."),
        "null": click.option(
            "--null",
            multiple=True,
            metavar="TEXT",
            help="Text that stands for a missing value; no other text does then. Repeatable. Default: empty cells, NA, "
            "null, None, ? and the like; among numbers also -, unknown and others.",
        ),
        "also_null": click.option(
            "--also-null",
            multiple=True,
            metavar="TEXT",
            help="Text that stands for a missing value, in addition to the default ones. Repeatable.",
        ),
        "decimal": click.option(
            "--decimal",
            callback=single_character,
            metavar="CHAR",
            help="Decimal separator, such as a comma.",
        ),
        "thousands": click.option(
            "--thousands", callback=single_character, metavar="CHAR", help="Thousands separator, such as a comma."
        ),
        "delimiter": click.option(
            "--delimiter",
            callback=single_character,
            metavar="CHAR",
            help="Delimiter, if it is not recognized.",
        ),
        "encoding": click.option("--encoding", metavar="NAME", help="Encoding of texts, such as gb18030."),
        "limit": click.option("--limit", type=click.IntRange(1), metavar="N", help="Read only the first N rows."),
    },
)


def parse_ngram_range(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, int] | None:
    """Return the shortest and the longest n-grams; a single number is the longest."""
    if value is None:
        return None
    least, _, most = value.rpartition("-")
    if not most.isdecimal() or not (least or "1").isdecimal():
        raise click.BadParameter(f"{value!r} is neither a number of words nor a range of them, such as 1-2.")
    return int(least or 1), int(most)


texts = option_group(
    "texts",
    {
        "text": click.option(
            "--text", multiple=True, metavar="COLUMN", help="Column of texts, whose words are counted. Repeatable."
        ),
        "ngram_range": click.option(
            "--ngram-range",
            callback=parse_ngram_range,
            metavar="MIN-MAX",
            help="Lengths of the word n-grams to count, such as 1-2. Default: single words, and pairs unless there are "
            "too many texts.",
        ),
        "characters": click.option(
            "--characters", is_flag=True, default=None, help="Count character n-grams instead of words."
        ),
        "complement": click.option(
            "--complement", is_flag=True, default=None, help="Score a class by the words of all other classes."
        ),
        "min_df": click.option(
            "--min-df", type=click.IntRange(1), metavar="N", help="Ignore words that occur in fewer than N texts."
        ),
        "hash_width": click.option(
            "--hash-width",
            type=click.IntRange(1),
            metavar="N",
            help="Hash words into N features: bounds the memory, but loses the words themselves.",
        ),
        "vocabulary": click.option(
            "--vocabulary", type=click.Path(), metavar="FILE", help="File of the words to count, one per line."
        ),
    },
)

SETTINGS: dict[str, Decorator] = {
    "estimate": click.option(
        "--estimate",
        type=click.Choice(["bayes", "map", "mle"]),
        help="Estimate of probabilities: posterior mean, as in Laplace's rule (bayes), posterior mode (map), or "
        "relative frequency (mle).",
    ),
    "smoothing": click.option(
        "--smoothing",
        callback=number_or_auto,
        metavar="NUMBER|auto",
        help="Pseudo-count λ of every column; 1 is Laplace's rule. At fit, auto chooses it, or one for each column, by "
        "leave-one-out.",
    ),
    "temperature": click.option(
        "--temperature",
        callback=number_or_auto,
        metavar="NUMBER|auto",
        help="Divisor of the log-odds; above 1, probabilities are less extreme. At fit, auto fits it, and a bias of "
        "each class, by leave-one-out.",
    ),
    "prior": click.option(
        "--prior",
        multiple=True,
        metavar="KIND|CLASS=P",
        help="Prior of the classes: empirical, uniform, or a probability for each class, such as yes=0.1. Repeatable.",
    ),
    "cost": click.option(
        "--cost",
        multiple=True,
        metavar="TRUE,CHOSEN=COST|FILE",
        help="Cost of a mistake, such as bad,good=5 (repeatable), or a CSV file of costs with a line for each true "
        "class. Other mistakes cost 1. If classes are numbers: squared or absolute.",
    ),
    "reject": click.option(
        "--reject",
        type=click.FloatRange(0),
        metavar="COST",
        help="Cost of no answer; rows whose best answer has a higher expected cost get none.",
    ),
    "missing": click.option(
        "--missing",
        type=click.Choice(["skip", "value"]),
        help="Missing values are skipped (skip), or a category of their own (value).",
    ),
    "unseen": click.option(
        "--unseen",
        type=click.Choice(["skip", "smooth", "error"]),
        help="Categories that were not seen at fit are skipped (skip), get the smoothed probability (smooth), or are "
        "an error.",
    ),
}

settings = option_group("settings", SETTINGS)


keeping = option_group(
    "keeping",
    {
        "keep_counts": click.option(
            "--keep-counts",
            type=click.Path(),
            metavar="FOLDER",
            help="Folder for the counts of each file; the next run reads only new files. Unless the model is textbook, "
            "it also holds up to 50,000 rows of each file, as they are; see --no-keep-rows.",
        ),
        "window": click.option(
            "--window", type=click.IntRange(1), metavar="N", help="With --keep-counts: use only the newest N files."
        ),
        "fade": click.option(
            "--fade",
            type=click.FloatRange(0, 1, min_open=True),
            metavar="SHARE",
            help="With --keep-counts: each file counts SHARE times the next newer one, such as 0.9.",
        ),
    },
)


def keep_rows(text: str) -> Decorator:
    """Return the option that decides whether rows are written; by default the command decides."""
    return click.option("--keep-rows/--no-keep-rows", "keep_rows", default=None, help=text)


N_JOBS = click.option("--n-jobs", type=int, metavar="N", help="Number of threads; by default all CPUs, as with -1.")
DEBUG = click.option(
    "--debug",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=remember_debug,
    help="Show the traceback of an error.",
)
QUIET = click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")
JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
MODEL = click.argument("model", type=click.Path(), metavar="MODEL")
FILES = click.argument("files", nargs=-1, required=True, metavar="FILE...")
OUT = click.option("--out", "-o", type=click.Path(), required=True, metavar="FILE", help="File to write the model to.")
TARGET = click.option(
    "--target", "-t", metavar="COLUMN", help="Column of the classes; by default the one that the model was fitted with."
)
WEIGHT = click.option("--weight", metavar="COLUMN", help="Column of row weights: how many rows each row stands for.")
NORMALIZE = click.option(
    "--normalize-weight",
    is_flag=True,
    help="Scale the weights so that they sum to the number of rows. Reads them once before the fit.",
)
SET = click.option(
    "--set",
    "set_level",
    type=LEVEL,
    metavar="LEVEL",
    help="Add the set of classes that cannot be ruled out: it contains the true class with this probability, such as "
    "0.9.",
)
BY_CLASS = click.option(
    "--by-class", is_flag=True, help="With --set: let the level hold for the rows of each class, not only on average."
)
INTERVAL = click.option(
    "--interval",
    callback=level_or_venn_abers,
    metavar="LEVEL|venn-abers",
    help="Add an interval of the probability, such as 0.9; venn-abers is narrower and has no level.",
)
CLASS_WEIGHT = click.option(
    "--class-weight",
    multiple=True,
    metavar="balanced|CLASS=WEIGHT",
    help="Weight of the rows of a class, such as spam=3 (repeatable); or balanced, which gives all classes the same "
    "total weight and reads the rows once before the fit.",
)
