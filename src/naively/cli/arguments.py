"""Arguments of the command line as values of the library: files, the target, labels, priors and costs."""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .options import OptionValues

if TYPE_CHECKING:
    from .._types import Label
    from ..estimator.fitted_classifier import FittedClassifier
    from ..estimator.settings import FamilyLike
    from ..families import Words
    from ..files.file import File


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
    return fitted.with_parameters(n_jobs=n_jobs, **parse_settings(settings or {}, LabelParser(fitted.classes.tolist())))


def refuse_overwriting(out: str | None, file: File, model: str | None = None) -> None:
    """Refuse to overwrite an input: a file of rows, or the model that predicts."""
    if out is None or out == "-" or not Path(out).exists():
        return
    inputs = [(path, "the rows are read from it") for path in file.paths if path != "-"]
    inputs += [] if model is None else [(model, "it is the model in use")]
    for path, why in inputs:
        if Path(path).exists() and Path(path).samefile(out):
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


def parse_families(file: File, pairs: Sequence[str], texts: OptionValues | None = None) -> dict[str, FamilyLike] | None:
    """Return the families of pairs such as visits=poisson, and those of columns of texts."""
    found: dict[str, FamilyLike] = {}
    for pair in pairs:
        name, equals, family = pair.rpartition("=")
        if not equals or not name:
            raise click.BadParameter(f"{pair!r} is not a pair such as visits=poisson.", param_hint="--family")
        found[resolve_column(file, name, "--family")] = parse_family(family)
    how = dict(texts or {})
    columns = [resolve_column(file, name, "--text") for name in how.pop("text", ())]
    columns += [name for name, family in found.items() if family == "words" and name not in columns]
    if how and not columns:
        option = next(iter(how)).replace("_", "-")
        raise click.UsageError(f"--{option} is an option for texts; name their column by --text.")
    for name in columns:
        found[name] = word_options(how)
    return found or None


def parse_family(family: str) -> FamilyLike:
    """Return a family by its name; ordinal:low,mid,high names its levels, too."""
    kind, colon, levels = family.partition(":")
    if kind != "ordinal" or not colon:
        return family
    from ..families import Ordinal

    named = [level.strip() for level in levels.split(",")]
    if len(named) < 2 or not all(named):
        raise click.BadParameter(
            f"{family!r} must name its levels, lowest first, such as ordinal:low,mid,high.", param_hint="--family"
        )
    return Ordinal(levels=tuple(named))


def word_options(texts: OptionValues) -> Words:
    """Return the family of texts with the options of counting words."""
    from ..families import Words

    given = {name: value for name, value in texts.items() if name not in ("characters", "vocabulary")}
    if texts.get("characters"):
        given["unit"] = "characters"
    if "vocabulary" in texts:
        given["vocabulary"] = read_vocabulary(texts["vocabulary"], "--vocabulary")
    return Words(**given)


def read_vocabulary(path: str, option: str) -> tuple[str, ...]:
    """Return the distinct lines of a file that are not empty."""
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise click.BadParameter(f"{path} cannot be read ({error}).", param_hint=option) from None
    found = tuple(dict.fromkeys(line.strip() for line in lines if line.strip()))
    if not found:
        raise click.BadParameter(f"{path} holds no words; write one word per line.", param_hint=option)
    return found


# -- labels ---------------------------------------------------------------------------------------------------------


class LabelParser:
    """Converts arguments to labels: those of a model, or of the type of a column that was not counted yet."""

    def __init__(self, known: Collection[Label] | None = None, convert: Callable[[str], Label] = str) -> None:
        self.known = None if known is None else {str(label): label for label in known}
        self.convert = convert

    def parse(self, text: str, option: str) -> Label:
        """Return the label that an argument stands for."""
        if self.known is None:
            try:
                return self.convert(text)
            except (KeyError, ValueError):
                raise click.BadParameter(
                    f"{text!r} is not a class: the target holds numbers.", param_hint=option
                ) from None
        if text not in self.known:
            classes = ", ".join(list(self.known)[:8])
            raise click.BadParameter(f"there is no class {text!r}; the classes are {classes}.", param_hint=option)
        return self.known[text]


def label_parser_of_column(file: File, target: str) -> LabelParser:
    """Return the parser of labels for a column that was not counted yet, by its type."""
    converters: dict[str, Callable[[str], Label]] = {"whole": int, "number": float, "boolean": _parse_boolean}
    return LabelParser(convert=converters.get(str(file.of_classes(target)), str))


def _parse_boolean(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]


def parse_settings(settings: OptionValues, labels: LabelParser) -> OptionValues:
    """Return the settings of a classifier; options of the prior and the costs are parsed."""
    found = dict(settings)
    if "prior" in found:
        found["prior"] = parse_prior(found["prior"], labels)
    if "cost" in found:
        found["cost"] = parse_cost(found["cost"], labels)
    return found


def parse_prior(given: Sequence[str], labels: LabelParser) -> str | dict[Label, float]:
    """Return the prior: a name, or a probability for each class."""
    if list(given) in (["empirical"], ["uniform"]):
        return given[0]
    pairs = (parse_assignment(text, "--prior") for text in given)
    return {labels.parse(name, "--prior"): probability for name, probability in pairs}


def parse_class_weight(given: Sequence[str], labels: LabelParser) -> str | dict[Label, float] | None:
    """Return the class weights: a name, or a weight for some classes; None if no option was given."""
    if list(given) == ["balanced"]:
        return given[0]
    pairs = (parse_assignment(text, "--class-weight") for text in given)
    return {labels.parse(name, "--class-weight"): weight for name, weight in pairs} or None


def parse_cost(given: Sequence[str], labels: LabelParser) -> str | dict[tuple[Label, Label], float]:
    """Return costs by pairs (true, chosen), from pairs or from files; or the name of a cost of numbers."""
    if list(given) in (["squared"], ["absolute"]):
        return given[0]
    found: dict[tuple[Label, Label], float] = {}
    for text in given:
        if "=" not in text or Path(text).exists():
            found |= read_cost_file(text, labels)
            continue
        pair, cost = parse_assignment(text, "--cost")
        true, comma, chosen = pair.partition(",")
        if not comma:
            raise click.BadParameter(
                f"{text!r} is not a cost such as bad,good=5 (true class, chosen class).", param_hint="--cost"
            )
        found[labels.parse(true, "--cost"), labels.parse(chosen, "--cost")] = cost
    return found


def read_cost_file(path: str, labels: LabelParser) -> dict[tuple[Label, Label], float]:
    """Return the costs in a CSV file: a line for each true class, a column for each choice, both by name."""
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as file:
            lines = [line for line in csv.reader(file) if line]
    except OSError as error:
        raise click.BadParameter(
            f"{path!r} is neither a cost such as bad,good=5 nor a file ({error.strerror}).", param_hint="--cost"
        ) from None
    found = {}
    for line in lines[1:]:
        for chosen, cost in zip(lines[0][1:], line[1:], strict=False):
            pair = labels.parse(line[0].strip(), "--cost"), labels.parse(chosen.strip(), "--cost")
            found[pair] = parse_number(cost, f"{path}: the cost of {chosen!r} where {line[0]!r} is true", "--cost")
    if not found:
        raise click.BadParameter(
            f"{path!r} holds no costs; write the choices into the first line, and each other line as a true class and "
            "the cost of each choice.",
            param_hint="--cost",
        )
    return found


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
