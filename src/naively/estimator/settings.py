"""The settings of NaiveBayes: which values mean something, which are still what they were, how they lie in a file."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from .._threads import allowed
from .._types import AnyArray, Floats
from ..data.column import family_of
from ..data.schema import Schema
from ..errors import InvalidSetting
from ..errors.message import Setting
from ..families import Bins, Settings, Words
from ..families import proportions as shares
from ..judge.decision import Priced, labelled_cost
from ..model.calibration import LARGEST, SMALLEST
from ..model.estimate import empirical_prior, given_prior, uniform_prior
from ..model.leave_one_out import PriorWithout, empirical_without, given_without
from ..stats import Counts


def check_settings(nb: Any) -> None:
    """Refuse settings of counting and estimating that mean nothing."""
    check_class_weight(nb.class_weight)
    one_of("model", nb.model, ("auto", "refined", "textbook"))
    one_of("unlabelled", nb.unlabelled, ("error", "skip", "em"))
    check_unlabelled(nb)
    if nb.max_categories is not None and not (is_whole(nb.max_categories) and nb.max_categories >= 1):
        raise InvalidSetting(
            Setting("max_categories", nb.max_categories), " must be a whole number of 1 or more, or None."
        )
    if nb.threads is not None and not is_whole(nb.threads):
        raise InvalidSetting(
            Setting("threads", nb.threads), " must be a whole number, or None for as many as there may be."
        )
    if not (nb.families is None or isinstance(nb.families, (dict, Schema))):
        raise InvalidSetting(
            Setting("families", nb.families), " must be a dict such as {'visits': 'poisson'}, or a Schema."
        )
    for name in ("classes", "columns"):
        if not is_list(getattr(nb, name)) and not (name == "classes" and is_whole(nb.classes)):
            raise InvalidSetting(Setting(name, getattr(nb, name)), " must be a list, or None.")
    for name in ("smoothing", "prior_smoothing"):
        value = getattr(nb, name)
        if name == "smoothing" and isinstance(value, str) and value == "auto":
            check_choice(nb.estimate)
            value = 1.0
        check_smoothing(name, value)
        Settings(nb.estimate, value, nb.missing, nb.unseen)
    check_temperature(nb.temperature)
    allowed(nb.threads)


def held_families(nb: Any, schema: Schema) -> Any:
    """Return the families by which counts are read that were made elsewhere.

    Numbers not counted in bins have none, and texts stay taken apart as they were.
    """
    if not isinstance(nb.families, dict):
        return None
    plain = {column.name for column in schema.of_kind("numbers")}
    kept = {name: family for name, family in nb.families.items() if not (is_bins(family) and name in plain)}
    for name, said in kept.items():
        own, family = schema[name].family if name in schema else None, family_of(name, said)
        if isinstance(family, Words) and isinstance(own, Words) and schema[name].type == "text":
            kept[name] = family.counted_as(own)
    return kept


def is_bins(family: Any) -> bool:
    """Tell whether a family, given in whichever way, is that of bins."""
    return isinstance(family, Bins) or family is Bins or (isinstance(family, str) and family == Bins.name)


def check_from_file(nb: Any) -> None:
    """Refuse what cannot be learned from a file."""
    if nb.unlabelled == "em":
        raise InvalidSetting(
            Setting("unlabelled", "em"),
            " goes over all rows many times, so it takes a table in memory; read the file first, or set ",
            Setting("unlabelled", "skip"),
            ".",
        )


def check_unlabelled(nb: Any) -> None:
    """Refuse to learn without labels by an estimate that maximises nothing, and a number of classes elsewhere."""
    if nb.unlabelled == "em" and nb.estimate == "bayes":
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
    if is_whole(nb.classes) and not (nb.unlabelled == "em" and nb.classes is not True and nb.classes >= 1):
        raise InvalidSetting(
            Setting("classes", nb.classes),
            " must be a list, or None; a number of classes, 1 or more, is for rows without any label, with ",
            Setting("unlabelled", "em"),
            ".",
        )


def check_choice(estimate: Any) -> None:
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


def check_class_weight(value: Any) -> None:
    """Refuse weights of classes that are none."""
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


def check_temperature(value: Any) -> None:
    """Refuse a temperature that is none."""
    if value is None or (isinstance(value, str) and value == "auto"):
        return
    if isinstance(value, bool) or not isinstance(value, Real) or not 1 / LARGEST <= float(value) <= 1 / SMALLEST:
        raise InvalidSetting(
            Setting("temperature", value),
            f" must be a number from {1 / LARGEST:g} to {1 / SMALLEST:g}, 'auto' or None.",
        )


def check_smoothing(name: str, value: Any) -> None:
    """Refuse a λ that is none; what depends on the estimate is checked there."""
    if not np.isscalar(value) or isinstance(value, (str, bytes)):
        raise InvalidSetting(Setting(name, value), " must be one number; give a column its own by its family.")
    if not (np.isfinite(value) and float(value) >= 0):  # type: ignore[arg-type]
        raise InvalidSetting(Setting(name, value), " must be finite and not negative.")


def one_of(name: str, value: Any, known: tuple[str, ...]) -> None:
    """Refuse a value that is none of those known."""
    if not isinstance(value, str) or value not in known:
        raise InvalidSetting(Setting(name, value), f" is unknown; use {' or '.join(map(repr, known))}.")


def is_whole(value: Any) -> bool:
    """Tell whether a setting is a whole number."""
    return isinstance(value, Integral)


def is_list(value: Any) -> bool:
    """Tell whether a setting is a list of some kind, or left out."""
    return value is None or (hasattr(value, "__iter__") and not isinstance(value, (str, bytes)))


def settings_of(nb: Any, smoothing: float | None = None) -> Settings:
    """Return what every column is estimated with; the class prior has a smoothing of its own."""
    return Settings(nb.estimate, nb.smoothing if smoothing is None else smoothing, nb.missing, nb.unseen)


def log_prior(nb: Any, counts: Counts | None = None) -> Floats:
    """Return the logarithm of each class's probability, as the prior is set; from all that was learned by default."""
    counts = nb._learned if counts is None else counts
    labels = list(counts.classes.labels)
    if isinstance(nb.prior, str):
        if nb.prior == "empirical":
            return empirical_prior(counts.rows, settings_of(nb, nb.prior_smoothing))
        one_of("prior", nb.prior, ("empirical", "uniform"))
        return uniform_prior(len(labels))
    if isinstance(nb.prior, dict):
        if set(nb.prior) != set(labels):
            raise InvalidSetting(
                Setting("prior"),
                f" names the classes {sorted(map(str, nb.prior))}; give one for each of {labels}.",
                value=nb.prior,
                classes=list(labels),
            )
        return given_prior(numbers("prior", [nb.prior[label] for label in labels]), len(labels))
    return given_prior(numbers("prior", nb.prior), len(labels))


def prior_imagined(nb: Any) -> float | None:
    """Return how many rows of each class are imagined beside those counted; None if the prior was given."""
    if not isinstance(nb.prior, str) or nb.prior != "empirical":
        return None
    return float(shares.IMAGINED[nb.estimate](nb.prior_smoothing))


def prior_without(nb: Any) -> PriorWithout:
    """Return what gives the log prior of the classes of each row without that row."""
    if isinstance(nb.prior, str) and nb.prior == "empirical":
        return empirical_without(settings_of(nb, nb.prior_smoothing))
    return given_without(log_prior(nb))


def scored_by(nb: Any, classes: Any, known: int | None = None) -> tuple[Any, float | None]:
    """Return the costs of the choices in the order of the classes, and the price of not answering.

    Classes beyond the first so many known ones are none of the model's: it cannot choose them. By a dict of costs
    every mistake about them costs 1; of a matrix of costs, which has no line for them, the price is unknown.
    """
    if isinstance(nb.cost, str):
        numbers_among(np.array(classes))
        return nb.cost, nb.reject
    labels = np.empty(len(classes), dtype=object)
    labels[:] = classes
    matrix, choices = labelled_cost(nb.cost, labels[:known])
    if matrix is None:
        return None, nb.reject
    more = np.full((len(labels) - len(matrix), matrix.shape[1]), 1.0 if isinstance(nb.cost, dict) else np.nan)
    return Priced(np.vstack([matrix, more]), tuple(choices.tolist())), nb.reject


def alike(a: Any, b: Any) -> bool:
    """Tell whether a setting is still what it was."""
    try:
        return type(a) is type(b) and bool(np.all(np.asarray(a == b)))
    except (TypeError, ValueError):
        return False


def numbers(name: str, values: Any) -> npt.NDArray[np.float64]:
    """Return a setting as numbers, if it holds such."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidSetting(Setting(name, values), " must hold numbers.") from None


def numbers_among(classes: AnyArray) -> AnyArray:
    """Return the labels as numbers, if they are."""
    if classes.dtype.kind not in "biuf":
        raise InvalidSetting(
            Setting("cost", "squared"),
            " and ",
            Setting("cost", "absolute"),
            f" need numbers as labels; found {list(classes[:3])}.",
            classes=list(classes),
        )
    return classes


def plain(name: str, value: Any) -> Any:
    """Return a setting as plain data that JSON can hold."""
    if isinstance(value, dict):
        return {"dict": [[list(k) if isinstance(k, tuple) else plain(name, k), v] for k, v in value.items()]}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [v.item() if isinstance(v, np.generic) else v for v in value]
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise InvalidSetting(
        Setting(name, value), " cannot be written to a file; set it to a number, a text, a list or a dict."
    )


def revived(name: str, value: Any) -> Any:
    """Return a setting that plain made plain."""
    if isinstance(value, dict):
        return {tuple(k) if isinstance(k, list) else k: v for k, v in value["dict"]}
    return value
