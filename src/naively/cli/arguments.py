"""Arguments of the command line as values of the library: files, the target, class labels, priors and costs."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

if TYPE_CHECKING:
    from .._types import Label
    from ..estimator.fitted_classifier import FittedClassifier
    from ..estimator.settings import FamilyLike
    from ..files.file import File

# Values of options by the names of settings. Click converts and checks each by its option's type.
OptionValues: TypeAlias = dict[str, Any]
# The class label that an argument stands for, given the name of its option.
LabelParser: TypeAlias = "Callable[[str, str], Label]"


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
