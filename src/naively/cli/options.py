"""Options that several commands share, and what is made of their values: files, columns, class labels, costs.

A group of options reaches a command as one dict of those that were given.
"""

from __future__ import annotations

import csv
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import click

from .render import print_json

if TYPE_CHECKING:
    from .._types import JsonObject, Label
    from ..estimator.fitted_classifier import FittedClassifier
    from ..estimator.settings import FamilyLike
    from ..files.file import File

# Values of options by the names of settings. Click converts and checks each by its option's type.
OptionValues: TypeAlias = dict[str, Any]
# The class label that an argument stands for, given the name of its option.
LabelParser: TypeAlias = "Callable[[str, str], Label]"

LEVEL = click.FloatRange(0, 1, min_open=True, max_open=True)  # of a set or an interval
COUNT = click.IntRange(1)


def open_files(files: Sequence[str], reading: OptionValues) -> File:
    """Return the files as one `File` with the options of reading."""
    from ..files.file import File

    given = dict(reading)
    if also := given.pop("also_null", ()):
        given["null"] = (*given.get("null", (...,)), *also)
    return File(files[0] if len(files) == 1 else list(files), **given)


def load_with_settings(model: str, settings: OptionValues | None = None, n_jobs: int | None = None) -> FittedClassifier:
    """Return the model in a file with other settings of estimation and decision."""
    from ..estimator.load import load_model

    fitted = load_model(model)
    return fitted.with_parameters(n_jobs=n_jobs, **parse_settings(settings or {}, labels_of_model(fitted)))


def refuse_overwriting(out: str | None, file: File | None, *models: str) -> None:
    """Refuse to overwrite an input: a file of rows, or a model that is used."""
    inputs = [(path, "the rows are read from it") for path in ([] if file is None else file.paths)]
    for path, why in [*inputs, *((model, "it is the model in use") for model in models)]:
        there = out is not None and "-" not in (out, path) and Path(out).exists() and Path(path).exists()
        if there and Path(path).samefile(str(out)):
            raise click.BadParameter(f"{out} would be overwritten: {why}. Name another file.", param_hint="--out")


def resolve_column(file: File, given: str, option: str = "--target") -> str:
    """Return the name of a column that is given by its name or its position: 1 is the first, -1 the last."""
    names = list(file.columns())
    if given in names:
        return given
    if given.lstrip("-").isdecimal() and 1 <= abs(int(given)) <= len(names):
        return names[int(given) - (int(given) > 0)]
    from ..data.schema import likely

    raise click.BadParameter(f"there is no column {given!r}{likely(given, tuple(names))}", param_hint=option)


def resolve_target(file: File, given: str | None) -> str:
    """Return the name of the column of the classes; raise an error that lists the columns if none was given."""
    if given is not None:
        return resolve_column(file, given)
    names = [str(name) for name in file.columns()]
    shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    raise click.UsageError(f"Name the column of the classes by --target; the columns are {shown}.")


def resolve_known_target(fitted: FittedClassifier, file: File, given: str | None) -> str:
    """Return the column of the classes: the given one, or the one that the model was fitted with."""
    if given is not None:
        return resolve_column(file, given)
    name = fitted.schema.target
    if name is None:
        raise click.UsageError("The model file does not name the column of the classes; name it by --target.")
    if name not in list(file.columns()):
        raise click.UsageError(f"The file has no column {name!r}, the target of the model; name another by --target.")
    return name


def parse_families(file: File, pairs: Sequence[str], texts: OptionValues) -> dict[str, FamilyLike] | None:
    """Return the families of pairs such as visits=poisson, and those of columns of texts."""
    from ..families import Ordinal, Words

    families: dict[str, FamilyLike] = {}
    for pair in pairs:
        name, equals, family = pair.rpartition("=")
        if not equals or not name:
            raise click.BadParameter(f"{pair!r} is not a pair such as visits=poisson.", param_hint="--family")
        kind, colon, listed = family.partition(":")
        column = resolve_column(file, name, "--family")
        families[column] = family
        if kind == "ordinal" and colon:
            levels = [level.strip() for level in listed.split(",")]
            if len(levels) < 2 or not all(levels):
                raise click.BadParameter(
                    f"{family!r} must name its levels, lowest first, such as ordinal:low,mid,high.",
                    param_hint="--family",
                )
            families[column] = Ordinal(levels=tuple(levels))
    how = dict(texts)
    columns = [resolve_column(file, name, "--text") for name in how.pop("text", ())]
    columns += [name for name, family in families.items() if family == "words" and name not in columns]
    if how and not columns:
        option = next(iter(how)).replace("_", "-")
        raise click.UsageError(f"--{option} is an option for texts; name their column by --text.")
    if columns:
        if how.pop("characters", False):
            how["unit"] = "characters"
        if "vocabulary" in how:
            how["vocabulary"] = read_vocabulary(how["vocabulary"])
        families |= dict.fromkeys(columns, Words(**how))
    return families or None


def read_vocabulary(path: str) -> tuple[str, ...]:
    """Return the distinct lines of a file that are not empty."""
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise click.BadParameter(f"{path} cannot be read ({error}).", param_hint="--vocabulary") from None
    words = tuple(dict.fromkeys(line.strip() for line in lines if line.strip()))
    if not words:
        raise click.BadParameter(f"{path} holds no words; write one word per line.", param_hint="--vocabulary")
    return words


# -- class labels, priors and costs ------------------------------------------------------------------------------------


def labels_of_model(fitted: FittedClassifier) -> LabelParser:
    """Return what finds class labels among those of a model."""
    labels: dict[str, Label] = {str(label): label for label in fitted.classes.tolist()}

    def parse(text: str, option: str) -> Label:
        if text not in labels:
            listed = ", ".join(list(labels)[:8])
            raise click.BadParameter(f"there is no class {text!r}; the classes are {listed}.", param_hint=option)
        return labels[text]

    return parse


def labels_of_column(file: File, target: str) -> LabelParser:
    """Return what converts texts to class labels of a column that was not counted yet, by its type."""
    converters: dict[str, Callable[[str], Label]] = {
        "whole": int,
        "number": float,
        "boolean": lambda text: {"true": True, "false": False}[text.lower()],
    }
    convert = converters.get(str(file.of_classes(target)), str)

    def parse(text: str, option: str) -> Label:
        try:
            return convert(text)
        except (KeyError, ValueError):
            raise click.BadParameter(f"{text!r} is not a class: the target holds numbers.", param_hint=option) from None

    return parse


def parse_settings(settings: OptionValues, labels: LabelParser) -> OptionValues:
    """Return the settings of a classifier; priors and weights of classes, and costs, are parsed."""
    parsed = dict(settings)
    for name, words in (("prior", ("empirical", "uniform")), ("class_weight", ("balanced",)), ("cost", ())):
        option, texts = f"--{name.replace('_', '-')}", settings.get(name, ())
        if name == "cost" and texts:
            parsed[name] = parse_cost(texts, labels)
        elif texts:
            pairs = (parse_assignment(text, option) for text in texts)
            word = texts[0] if len(texts) == 1 and texts[0] in words else None
            parsed[name] = word or {labels(label, option): number for label, number in pairs}
    return parsed


def parse_cost(given: Sequence[str], labels: LabelParser) -> str | dict[tuple[Label, Label], float]:
    """Return costs by pairs (true, chosen), from pairs or from files; or the name of a cost of numbers."""
    if list(given) in (["squared"], ["absolute"]):
        return given[0]
    costs: dict[tuple[Label, Label], float] = {}
    for text in given:
        if "=" not in text or Path(text).exists():
            costs |= read_cost_file(text, labels)
            continue
        pair, cost = parse_assignment(text, "--cost")
        true, comma, chosen = pair.partition(",")
        if not comma:
            raise click.BadParameter(
                f"{text!r} is not a cost such as bad,good=5 (true class, chosen class).", param_hint="--cost"
            )
        costs[labels(true, "--cost"), labels(chosen, "--cost")] = cost
    return costs


def read_cost_file(path: str, labels: LabelParser) -> dict[tuple[Label, Label], float]:
    """Return the costs in a CSV file: a line for each true class, a column for each choice, both by name."""
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as file:
            lines = [line for line in csv.reader(file) if line]
    except OSError as error:
        raise click.BadParameter(
            f"{path!r} is neither a cost such as bad,good=5 nor a file ({error.strerror}).", param_hint="--cost"
        ) from None
    costs = {}
    for line in lines[1:]:
        for chosen, cost in zip(lines[0][1:], line[1:], strict=False):
            pair = labels(line[0].strip(), "--cost"), labels(chosen.strip(), "--cost")
            costs[pair] = parse_number(cost, f"{path}: the cost of {chosen!r} where {line[0]!r} is true", "--cost")
    if not costs:
        raise click.BadParameter(
            f"{path!r} holds no costs; write the choices into the first line, and each other line as a true class and "
            "the cost of each choice.",
            param_hint="--cost",
        )
    return costs


def parse_assignment(text: str, option: str) -> tuple[str, float]:
    """Return the two sides of NAME=NUMBER."""
    name, equals, value = text.rpartition("=")
    if not equals:
        raise click.BadParameter(f"{text!r} is not a pair NAME=NUMBER.", param_hint=option)
    return name, parse_number(value, text, option)


def parse_number(text: str, where: str, option: str) -> float:
    """Return a number; raise an error if the text is none."""
    try:
        return float(text)
    except ValueError:
        raise click.BadParameter(f"{where} is {text.strip()!r}, which is not a number.", param_hint=option) from None


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
        return load_with_settings(self.model, self.settings, self.n_jobs)

    def file(self) -> File:
        """Return the files as one."""
        return open_files(self.files, self.reading)

    def weight_column(self, file: File) -> str | None:
        """Return the name of the column of row weights."""
        return None if self.weight is None else resolve_column(file, self.weight, "--weight")

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
