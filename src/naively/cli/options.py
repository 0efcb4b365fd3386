"""Options that several commands share, and how values reach a command.

A group of options reaches a command as one dict of those that were given.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from . import arguments
from .arguments import OptionValues
from .render import print_json

if TYPE_CHECKING:
    from .._types import JsonObject
    from ..estimator.fitted_classifier import FittedClassifier
    from ..files.file import File


LEVEL = click.FloatRange(0, 1, min_open=True, max_open=True)  # of a set or an interval
COUNT = click.IntRange(1)


@dataclass
class Common:
    """The values of options that most commands share; those that a command does not have are empty."""

    model: str = ""
    files: tuple[str, ...] = ()
    target: str | None = None
    weight: str | None = None
    settings: OptionValues = field(default_factory=dict)
    reading: OptionValues = field(default_factory=dict)
    n_jobs: int | None = None
    quiet: bool = False
    as_json: bool = False

    def load(self) -> FittedClassifier:
        """Return the model, with other settings of estimation and decision."""
        return arguments.load_with_settings(self.model, self.settings, self.n_jobs)

    def file(self) -> File:
        """Return the files as one."""
        return arguments.open_files(self.files, self.reading)

    def weight_column(self, file: File) -> str | None:
        """Return the name of the column of row weights."""
        return None if self.weight is None else arguments.resolve_column(file, self.weight, "--weight")

    def finish(self, data: JsonObject, text: str | None, *, err: bool = False) -> None:
        """Print the result as JSON, or as a line unless --quiet was given."""
        if self.as_json:
            print_json(data)
        elif text is not None and not self.quiet:
            click.echo(text, err=err)


class Group(NamedTuple):
    """Options that reach a command as one dict."""

    name: str
    options: tuple[click.Option, ...]


def option(declaration: str, text: str, name: str | None = None, **more: Any) -> click.Option:
    """Return an option, declared as the help shows it: its spellings, and a word for its value."""
    words = declaration.split()
    spellings = [word for word in words if word.startswith("-")]
    metavar = None if words[-1] in spellings else words[-1]
    return click.Option([*spellings, *([name] if name else [])], metavar=metavar, help=text, **more)


def command(
    name: str, examples: str, *parameters: click.Parameter | Group
) -> Callable[[Callable[..., None]], click.Command]:
    """Return a decorator that makes a command of a function, which gets a `Common` and its own options."""
    single = [one for given in parameters for one in (given.options if isinstance(given, Group) else [given])]

    def decorate(function: Callable[..., None]) -> click.Command:
        def run(**values: Any) -> None:
            for group in parameters:
                if isinstance(group, Group):
                    given = {str(one.name): values.pop(str(one.name)) for one in group.options}
                    values[group.name] = {key: value for key, value in given.items() if value not in (None, ())}
            shared = {each.name: values.pop(each.name) for each in fields(Common) if each.name in values}
            function(Common(**shared), **values)

        text = inspect.cleandoc(function.__doc__ or "")
        return click.Command(name, callback=run, params=[*single, DEBUG], help=text, epilog=f"\b\n{examples}")

    return decorate


# -- values ------------------------------------------------------------------------------------------------------------


def character(value: str) -> str:
    """Return one character, such as a comma, or a tab, given by its name or as an escape."""
    read = {"\\t": "\t", "tab": "\t"}.get(value, value)
    if len(read) != 1:
        raise click.BadParameter(f"{value!r} is not one character; write \\t for a tab.")
    return read


def number_or_auto(value: str) -> float | str:
    """Return a number, or the word auto."""
    try:
        return value if value == "auto" else float(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither a number nor 'auto'.") from None


def level_or_venn_abers(value: str) -> float | str:
    """Return the level of an interval, or the name of intervals that have none."""
    return value if value == "venn-abers" else float(LEVEL(value))


def ngram_range(value: str) -> tuple[int, int]:
    """Return the shortest and the longest n-grams; a single number is the longest."""
    least, _, most = value.rpartition("-")
    if not most.isdecimal() or not (least or "1").isdecimal():
        raise click.BadParameter(f"{value!r} is neither a number of words nor a range of them, such as 1-2.")
    return int(least or 1), int(most)


def remember_debug(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    """Remember that a traceback is wanted, for the code that shows errors."""
    if value and isinstance(ctx.obj, dict):
        ctx.obj["debug"] = True


# -- groups of options -------------------------------------------------------------------------------------------------

READING = Group(
    "reading",
    (
        option(
            "--format",
            "Format of the file, if it is not recognized; csv stands for any delimiter.",
            type=click.Choice(["csv", "parquet", "json", "excel", "arrow", "orc", "duckdb"]),
        ),
        option(
            "--table NAME",
            "Table of a DuckDB database, sheet of a workbook (default: the first), or file of a zip archive.",
        ),
        option("--query SQL", "Query to read from a DuckDB database."),
        option(
            "--null TEXT",
            "Text that stands for a missing value; no other text does then. Repeatable. Default: empty cells, NA, "
            "null, None, ? and the like; among numbers also -, unknown and others.",
            multiple=True,
        ),
        option(
            "--also-null TEXT",
            "Text that stands for a missing value, in addition to the default ones. Repeatable.",
            multiple=True,
        ),
        option("--decimal CHAR", "Decimal separator, such as a comma.", type=character),
        option("--thousands CHAR", "Thousands separator, such as a comma.", type=character),
        option("--delimiter CHAR", "Delimiter, if it is not recognized.", type=character),
        option("--encoding NAME", "Encoding of texts, such as gb18030."),
        option("--limit N", "Read only the first N rows.", type=COUNT),
    ),
)
SETTINGS = (
    option(
        "--estimate",
        "Estimate of probabilities: posterior mean, as in Laplace's rule (bayes), posterior mode (map), or "
        "relative frequency (mle).",
        type=click.Choice(["bayes", "map", "mle"]),
    ),
    option(
        "--smoothing NUMBER|auto",
        "Pseudo-count λ of every column; 1 is Laplace's rule. At fit, auto chooses it, or one for each column, by "
        "leave-one-out.",
        type=number_or_auto,
    ),
    option(
        "--temperature NUMBER|auto",
        "Divisor of the log-odds; above 1, probabilities are less extreme. At fit, auto fits it, and a bias of "
        "each class, by leave-one-out.",
        type=number_or_auto,
    ),
    option(
        "--prior KIND|CLASS=P",
        "Prior of the classes: empirical, uniform, or a probability for each class, such as yes=0.1. Repeatable.",
        multiple=True,
    ),
    option(
        "--cost TRUE,CHOSEN=COST|FILE",
        "Cost of a mistake, such as bad,good=5 (repeatable), or a CSV file of costs with a line for each true "
        "class. Other mistakes cost 1. If classes are numbers: squared or absolute.",
        multiple=True,
    ),
    option(
        "--reject COST",
        "Cost of no answer; rows whose best answer has a higher expected cost get none.",
        type=click.FloatRange(0),
    ),
    option(
        "--missing",
        "Missing values are skipped (skip), or a category of their own (value).",
        type=click.Choice(["skip", "value"]),
    ),
    option(
        "--unseen",
        "Categories that were not seen at fit are skipped (skip), get the smoothed probability (smooth), or are "
        "an error.",
        type=click.Choice(["skip", "smooth", "error"]),
    ),
)
DECISIONS = Group("settings", SETTINGS)

# -- single options ----------------------------------------------------------------------------------------------------

N_JOBS = option("--n-jobs N", "Number of threads; by default all CPUs, as with -1.", type=int)
DEBUG = option(
    "--debug",
    "Show the traceback of an error.",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=remember_debug,
)
QUIET = option("--quiet -q", "Print nothing but errors.", is_flag=True)
JSON = option("--json", "Print the result as one JSON object.", name="as_json", is_flag=True)
# What ends the list of most commands that read rows.
READING_ROWS = (READING, N_JOBS, QUIET, JSON)
MODEL = click.Argument(["model"], type=click.Path(), metavar="MODEL")
MODELS = click.Argument(["models"], nargs=-1, required=True, type=click.Path(), metavar="MODEL...")
FILES = click.Argument(["files"], nargs=-1, required=True, metavar="FILE...")
OUT = option("--out -o FILE", "File to write the model to.", type=click.Path(), required=True)
TARGET = option("--target -t COLUMN", "Column of the classes; by default the one that the model was fitted with.")
WEIGHT = option("--weight COLUMN", "Column of row weights: how many rows each row stands for.")
CERTAINTY = Group(
    "certainty",
    (
        option(
            "--set LEVEL",
            "Add the set of classes that cannot be ruled out: it contains the true class with this probability, "
            "such as 0.9.",
            name="set_level",
            type=LEVEL,
        ),
        option(
            "--by-class",
            "With --set: let the level hold for the rows of each class, not only on average.",
            is_flag=True,
        ),
        option(
            "--interval LEVEL|venn-abers",
            "Add an interval of the probability, such as 0.9; venn-abers is narrower and has no level.",
            type=level_or_venn_abers,
        ),
    ),
)


def keep_rows(text: str) -> click.Option:
    """Return the option that decides whether rows are written; by default the command decides."""
    return option("--keep-rows/--no-keep-rows", text, name="keep_rows", default=None)
