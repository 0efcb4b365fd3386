"""From words on the command line to values of the library: files, the target, labels, priors and costs."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..data.files import File
    from ..estimator.fitted_classifier import FittedClassifier


def opened(files: Sequence[str], reading: dict[str, Any]) -> File:
    """Return the files as one, read as the options say."""
    from ..data.files import File

    given = dict(reading)
    if also := given.pop("also_null", ()):
        given["null"] = (*given.get("null", (...,)), *also)
    return File(files[0] if len(files) == 1 else list(files), **given)


def loaded(model: str, settings: dict[str, Any] | None = None, n_jobs: int | None = None) -> FittedClassifier:
    """Return the model in a file, with settings changed: those of estimating and deciding need no data."""
    from ..estimator.load import load_model

    fitted = load_model(model)
    return fitted.with_parameters(n_jobs=n_jobs, **changed(settings or {}, Labels(fitted.classes.tolist())))


def spare(out: str | None, file: File, model: str | None = None) -> None:
    """Refuse to write over what is read: a file of rows, or the model that answers."""
    if out in (None, "-") or not Path(str(out)).exists():
        return
    read = [path for path in file.paths if path != "-"]
    for path, what in [
        *((path, "the rows are read from it") for path in read),
        (model, "it is the model that is used"),
    ]:
        if path is not None and Path(path).exists() and Path(path).samefile(str(out)):
            raise click.BadParameter(f"{out} would be lost: {what}. Name another file.", param_hint="--out")


def column_of(file: File, said: str, option: str = "--target") -> str:
    """Return the name of a column that is given by its name, or by its place: 1 is the first, -1 the last."""
    names = list(file.columns())
    if said in names:
        return said
    if said.lstrip("-").isdecimal() and 1 <= abs(int(said)) <= len(names):
        return names[int(said) - (int(said) > 0)]
    from ..data.schema import likely

    raise click.BadParameter(f"there is no column {said!r}{likely(said, tuple(names))}", param_hint=option)


def target_of(file: File, said: str | None) -> str:
    """Return the name of the column of the classes; without it, say which columns there are."""
    if said is not None:
        return column_of(file, said)
    names = [str(name) for name in file.columns()]
    shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    raise click.UsageError(f"Which column holds the classes? Say so by --target; the columns are {shown}.")


def known_target(fitted: FittedClassifier, file: File, said: str | None) -> str:
    """Return the column of the classes: as said, or as the model was fitted with."""
    if said is not None:
        return column_of(file, said)
    name = fitted.schema.target
    if name is None:
        raise click.UsageError("The model does not know which column holds the classes; say so by --target.")
    if name not in list(file.columns()):
        raise click.UsageError(f"The file has no column {name!r}, where the classes were; name another by --target.")
    return name


def families_of(file: File, pairs: Sequence[str], texts: dict[str, Any] | None = None) -> dict[str, Any] | None:
    """Return the families that pairs such as visits=poisson name, and those of columns of texts."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, sign, family = pair.rpartition("=")
        if not sign or not name:
            raise click.BadParameter(f"{pair!r} is no pair such as visits=poisson.", param_hint="--family")
        found[column_of(file, name, "--family")] = with_levels(family)
    said = dict(texts or {})
    columns = [column_of(file, name, "--text") for name in said.pop("text", ())]
    columns += [name for name, family in found.items() if family == "words" and name not in columns]
    if said and not columns:
        raise click.UsageError(f"--{next(iter(said)).replace('_', '-')} is about texts; name their column by --text.")
    return (found | dict.fromkeys(columns, words_of(said))) or None


def with_levels(family: str) -> Any:
    """Return a family by its name; ordinal:low,mid,high names its levels, too."""
    kind, sign, levels = family.partition(":")
    if kind != "ordinal" or not sign:
        return family
    from ..families import Ordinal

    named = [level.strip() for level in levels.split(",")]
    if len(named) < 2 or not all(named):
        raise click.BadParameter(
            f"{family!r} must name its levels, lowest first, such as ordinal:low,mid,high.", param_hint="--family"
        )
    return Ordinal(levels=tuple(named))


def words_of(said: dict[str, Any]) -> Any:
    """Return what is counted of texts, as the options say."""
    from ..families import Words

    given = {name: value for name, value in said.items() if name not in ("characters", "vocabulary")}
    if said.get("characters"):
        given["unit"] = "characters"
    if "vocabulary" in said:
        given["vocabulary"] = lines_of(said["vocabulary"], "--vocabulary")
    return Words(**given)


def lines_of(path: str, option: str) -> tuple[str, ...]:
    """Return the lines of a file that are not empty, each once."""
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise click.BadParameter(f"{path} cannot be read ({error}).", param_hint=option) from None
    found = tuple(dict.fromkeys(line.strip() for line in lines if line.strip()))
    if not found:
        raise click.BadParameter(f"{path} holds no words; write one on each line.", param_hint=option)
    return found


# -- labels ---------------------------------------------------------------------------------------------------------


class Labels:
    """The labels that words on the command line stand for: of a model, or of the type of a column yet to be counted."""

    def __init__(self, known: Sequence[Any] | None = None, kind: type = str) -> None:
        self.known = None if known is None else {str(label): label for label in known}
        self.kind = kind

    def of(self, said: str, option: str) -> Any:
        """Return the label that a word stands for."""
        if self.known is None:
            try:
                return {"true": True, "false": False}[said.lower()] if self.kind is bool else self.kind(said)
            except (KeyError, ValueError):
                raise click.BadParameter(
                    f"{said!r} is no class: the target holds numbers.", param_hint=option
                ) from None
        if said not in self.known:
            classes = ", ".join(list(self.known)[:8])
            raise click.BadParameter(f"there is no class {said!r}; the classes are {classes}.", param_hint=option)
        return self.known[said]


def labels_in(file: File, target: str) -> Labels:
    """Return the labels that words stand for, by the type of a column that was not counted yet."""
    kinds = {"whole": int, "number": float, "boolean": bool}
    return Labels(kind=kinds.get(str(file.of_classes(target)), str))


def changed(settings: dict[str, Any], labels: Labels) -> dict[str, Any]:
    """Return the settings of a classifier that options stand for."""
    found = dict(settings)
    if "prior" in found:
        found["prior"] = prior_of(found["prior"], labels)
    if "cost" in found:
        found["cost"] = cost_of(found["cost"], labels)
    return found


def prior_of(said: Sequence[str], labels: Labels) -> Any:
    """Return how frequent the classes are: a word, or a probability for each class."""
    if list(said) in (["empirical"], ["uniform"]):
        return said[0]
    return {labels.of(name, "--prior"): share for name, share in (priced(part, "--prior") for part in said)}


def class_weight_of(said: Sequence[str], labels: Labels) -> Any:
    """Return what rows weigh by their class: a word, or a weight for some classes; None if nothing was said."""
    if list(said) == ["balanced"]:
        return said[0]
    pairs = (priced(part, "--class-weight") for part in said)
    return {labels.of(name, "--class-weight"): weight for name, weight in pairs} or None


def cost_of(said: Sequence[str], labels: Labels) -> Any:
    """Return costs by pairs (true, chosen), from pairs or from files; or the name of a cost of numbers."""
    if list(said) in (["squared"], ["absolute"]):
        return said[0]
    found: dict[tuple[Any, Any], float] = {}
    for part in said:
        if "=" not in part or Path(part).exists():
            found |= costs_of_file(part, labels)
            continue
        pair, price = priced(part, "--cost")
        true, sign, chosen = pair.partition(",")
        if not sign:
            raise click.BadParameter(f"{part!r} is no price such as bad,good=5 (true, chosen).", param_hint="--cost")
        found[labels.of(true, "--cost"), labels.of(chosen, "--cost")] = price
    return found


def costs_of_file(path: str, labels: Labels) -> dict[tuple[Any, Any], float]:
    """Return the costs in a CSV: a line for each true class, a column for each choice, both by name."""
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as file:
            lines = [line for line in csv.reader(file) if line]
    except OSError as error:
        raise click.BadParameter(
            f"{path!r} is neither a price such as bad,good=5 nor a file ({error.strerror}).", param_hint="--cost"
        ) from None
    found = {}
    for line in lines[1:]:
        for chosen, price in zip(lines[0][1:], line[1:], strict=False):
            pair = labels.of(line[0].strip(), "--cost"), labels.of(chosen.strip(), "--cost")
            found[pair] = number(price, f"{path}: the cost of {chosen!r} where {line[0]!r} is true", "--cost")
    if not found:
        raise click.BadParameter(
            f"{path!r} holds no costs; write the choices into its first line and a true class before each other line.",
            param_hint="--cost",
        )
    return found


def priced(part: str, option: str) -> tuple[str, float]:
    """Return the two sides of NAME=NUMBER."""
    name, sign, price = part.rpartition("=")
    if not sign:
        raise click.BadParameter(f"{part!r} is no pair NAME=NUMBER.", param_hint=option)
    return name, number(price, part, option)


def number(text: str, where: str, option: str) -> float:
    """Return a number, if it is one."""
    try:
        return float(text)
    except ValueError:
        raise click.BadParameter(f"{where} is {text.strip()!r}, which is no number.", param_hint=option) from None
