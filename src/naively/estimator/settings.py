"""The settings of NaiveBayes: their defaults, and which values are allowed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any, TypeAlias, TypeGuard

import numpy as np

from .._threads import allowed
from .._types import Floats, Label, TableLike
from ..data.column import family_of
from ..data.schema import Schema
from ..errors import InvalidSetting
from ..errors.message import Setting
from ..families import Bins, Family, Settings, Words
from ..families.family import Estimate, Missing, Unseen
from ..model.recipe import RECIPE, Recipe
from ..model.tuning import LARGEST_SCALE, LEAST_SCALE

# What users may give for a setting.
FamilyLike: TypeAlias = str | Family | type[Family]
FamiliesLike: TypeAlias = Mapping[str, FamilyLike] | Schema | None
PriorLike: TypeAlias = str | Mapping[Label, float] | Sequence[float] | Floats
CostLike: TypeAlias = str | Mapping[tuple[Label, Label], float] | TableLike | None
ClassesLike: TypeAlias = Iterable[Label] | None
ClassWeightLike: TypeAlias = str | Mapping[Label, float] | None
RandomStateLike: TypeAlias = int | np.random.RandomState | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Parameters:
    """The settings of a classifier; `NaiveBayes` documents each of them."""

    families: FamiliesLike = None
    model: str = "auto"
    estimate: Estimate = "bayes"
    smoothing: float | str = 1.0
    temperature: float | str | None = None
    prior: PriorLike = "empirical"
    prior_smoothing: float = 1.0
    classes: ClassesLike = None
    columns: Iterable[str] | None = None
    missing: Missing = "skip"
    unseen: Unseen = "skip"
    max_categories: int | None = None
    cost: CostLike = None
    reject: float | None = None
    unlabelled: str = "error"
    n_jobs: int | None = None
    random_state: RandomStateLike = 0
    class_weight: ClassWeightLike = None
    recipe: Recipe = RECIPE  # the constants of the method, which are no setting: a model file does not hold them

    def check(self) -> None:
        """Refuse invalid settings of counting and estimating."""
        check_class_weight(self.class_weight)
        check_choice("model", self.model, ("auto", "textbook"))
        check_choice("unlabelled", self.unlabelled, ("error", "skip", "em"))
        _check_unlabelled(self)
        if self.max_categories is not None and not (_is_whole(self.max_categories) and self.max_categories >= 1):
            raise InvalidSetting(
                Setting("max_categories", self.max_categories), " must be a whole number of 1 or more, or None."
            )
        if self.n_jobs is not None and not _is_whole(self.n_jobs):
            raise InvalidSetting(
                Setting("n_jobs", self.n_jobs), " must be a whole number, or None for as many as there may be."
            )
        if not (self.families is None or isinstance(self.families, (dict, Schema))):
            raise InvalidSetting(
                Setting("families", self.families), " must be a dict such as {'visits': 'poisson'}, or a Schema."
            )
        if not _is_list(self.classes):
            raise InvalidSetting(Setting("classes", self.classes), " must be a list, or None.")
        if not _is_list(self.columns):
            raise InvalidSetting(Setting("columns", self.columns), " must be a list, or None.")
        _check_smoothing("smoothing", self.smoothing_or(1.0))
        self.settings(self.smoothing_or(1.0))
        _check_smoothing("prior_smoothing", self.prior_smoothing)
        self.settings(self.prior_smoothing)
        _check_temperature(self.temperature)
        allowed(self.n_jobs)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings by name."""
        return {name: getattr(self, name) for name in NAMES}

    def snapshot(self) -> Parameters:
        """Return a copy that does not change if somebody changes a dict or an array that was given."""
        values = self.to_dict()
        for name, value in values.items():
            if not isinstance(value, (str, float, int, type(None), Schema)):
                values[name] = deepcopy(value)
        return Parameters(**values, recipe=self.recipe)

    def is_same(self, other: Parameters, names: Iterable[str]) -> bool:
        """Tell whether some settings have the same values in both."""
        pairs = ((getattr(self, name), getattr(other, name)) for name in names)
        return all(one is another or _are_equal(one, another) for one, another in pairs)

    def is_plain(self, names: Iterable[str]) -> bool:
        """Tell whether some settings are texts and numbers, which nobody can change in place."""
        return all(isinstance(getattr(self, name), (str, float, int, type(None))) for name in names)

    @property
    def chooses_smoothing(self) -> bool:
        """Whether the smoothing is to be chosen from the rows."""
        return isinstance(self.smoothing, str)

    @property
    def chooses_temperature(self) -> bool:
        """Whether `fit` is to fit the temperature."""
        return isinstance(self.temperature, str)

    @property
    def leaves_choices(self) -> bool:
        """Whether something is to be chosen from the rows: weights, smoothing or temperature."""
        return self.model != "textbook" or self.chooses_smoothing or self.chooses_temperature

    @property
    def has_empirical_prior(self) -> bool:
        """Whether the class prior is the proportions of the classes; if so, classes may get a bias, too."""
        return isinstance(self.prior, str) and self.prior == "empirical"

    @property
    def threads(self) -> int:
        """How many threads to use."""
        return allowed(self.n_jobs)

    def given_temperature(self) -> float | None:
        """Return the temperature that was set; None if it is fitted, or there is none."""
        return None if self.temperature is None or isinstance(self.temperature, str) else float(self.temperature)

    def smoothing_or(self, usual: float) -> float:
        """Return the smoothing that was set; the usual one where it is to be chosen."""
        if not isinstance(self.smoothing, str):
            return self.smoothing
        if self.smoothing != "auto":
            raise InvalidSetting(Setting("smoothing", self.smoothing), " must be one number, or 'auto'.")
        check_has_smoothing(self.estimate)
        return usual

    def settings(self, smoothing: float) -> Settings:
        """Return what every column is estimated with, under some smoothing."""
        return Settings(self.estimate, smoothing, self.missing, self.unseen)


NAMES = tuple(field.name for field in fields(Parameters) if field.name != "recipe")


# -- checks ------------------------------------------------------------------------------------------------------------


def check_no_em(parameters: Parameters) -> None:
    """Refuse expectation-maximization on the rows of a file."""
    if parameters.unlabelled == "em":
        raise InvalidSetting(
            Setting("unlabelled", "em"),
            " goes over all rows many times, so it takes a table in memory; read the file first, or set ",
            Setting("unlabelled", "skip"),
            ".",
        )


def check_has_smoothing(estimate: str) -> None:
    """Refuse to choose a λ where none is used."""
    if isinstance(estimate, str) and estimate == "mle":
        raise InvalidSetting(
            Setting("estimate", "mle"),
            " smooths nothing, so ",
            Setting("smoothing", "auto"),
            " has nothing to choose; use ",
            Setting("estimate", "bayes"),
            ".",
        )


def check_class_weight(value: ClassWeightLike) -> None:
    """Refuse invalid class weights."""
    if value is None or (isinstance(value, str) and value == "balanced"):
        return
    if not isinstance(value, Mapping):
        raise InvalidSetting(
            Setting("class_weight", value),
            " must be 'balanced', a dict of weights by class such as {'spam': 3.0}, or None.",
        )
    for label, weight in value.items():
        if isinstance(weight, bool) or not isinstance(weight, Real) or not 0 <= float(weight) < np.inf:
            raise InvalidSetting(
                Setting("class_weight"),
                f" gives the class {label!r} the weight {weight!r}; give a finite number of 0 or more.",
                value=weight,
            )


def check_choice(name: str, value: str, known: tuple[str, ...]) -> None:
    """Refuse a value that is none of those known."""
    if not isinstance(value, str) or value not in known:
        raise InvalidSetting(Setting(name, value), f" is unknown; use {' or '.join(map(repr, known))}.")


def _check_unlabelled(parameters: Parameters) -> None:
    """Refuse expectation-maximization with ``bayes``, which maximizes nothing."""
    if parameters.unlabelled == "em" and parameters.estimate == "bayes":
        raise InvalidSetting(
            Setting("unlabelled", "em"),
            " looks for the parameters of the highest likelihood (expectation-maximization), and ",
            Setting("estimate", "bayes"),
            " has none: it averages over them. Set ",
            Setting("estimate", "map"),
            " or ",
            Setting("estimate", "mle"),
            ".",
        )


def _check_temperature(value: float | str | None) -> None:
    """Refuse an invalid temperature."""
    if value is None or (isinstance(value, str) and value == "auto"):
        return
    least, largest = 1 / LARGEST_SCALE, 1 / LEAST_SCALE
    if isinstance(value, bool) or not isinstance(value, Real) or not least <= float(value) <= largest:
        raise InvalidSetting(
            Setting("temperature", value), f" must be a number from {least:g} to {largest:g}, 'auto' or None."
        )


def _check_smoothing(name: str, value: float) -> None:
    """Refuse an invalid λ; what depends on the estimate is checked by the estimate."""
    if not np.isscalar(value) or isinstance(value, (str, bytes)):
        raise InvalidSetting(Setting(name, value), " must be one number; give a column its own by its family.")
    if not (np.isfinite(value) and float(value) >= 0):
        raise InvalidSetting(Setting(name, value), " must be finite and not negative.")


def _is_whole(value: object) -> TypeGuard[int]:
    """Tell whether a setting is a whole number."""
    return isinstance(value, Integral)


def _is_list(value: object) -> bool:
    """Tell whether a setting is a list of some kind, or left out."""
    return value is None or (hasattr(value, "__iter__") and not isinstance(value, (str, bytes)))


def _are_equal(one: object, another: object) -> bool:
    """Tell whether two values of a setting are equal; arrays are, if all of their numbers are."""
    try:
        return type(one) is type(another) and bool(np.all(np.asarray(one == another)))
    except (TypeError, ValueError):
        return False


# -- families ----------------------------------------------------------------------------------------------------------


def families_of_counts(families: FamiliesLike, schema: Schema) -> dict[str, FamilyLike] | None:
    """Return the families under which counts are estimated that were made elsewhere.

    Numbers that were not counted in bins have none, and texts stay split into words as they were counted.
    """
    if not isinstance(families, dict):
        return None
    numbers = {column.name for column in schema.of_kind("numbers")}
    kept = {name: family for name, family in families.items() if not (_is_bins(family) and name in numbers)}
    for name, given in kept.items():
        own, family = schema[name].family if name in schema else None, family_of(name, given)
        if isinstance(family, Words) and isinstance(own, Words) and schema[name].type == "text":
            kept[name] = family.counted_as(own)
    return kept


def _is_bins(family: FamilyLike) -> bool:
    """Tell whether a family, given in whichever way, is that of bins."""
    return isinstance(family, Bins) or family is Bins or (isinstance(family, str) and family == Bins.name)
