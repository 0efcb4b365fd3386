"""What a notebook shows of a fitted classifier: what was learned."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from scipy.special import logsumexp

from ..counting.notes import about_target
from ..data.column import NOUNS, family_text
from ..data.schema import Schema
from ..errors import InvalidInput
from ..explain.column_distributions import column_distribution
from ..explain.column_pictures import distribution_picture
from ..explain.model_html import MOST_COLUMNS, ColumnView, ModelView, model_html, unusable_html
from ..explain.report import strongest_first
from ..explain.text_evidence import strongest_word_names
from ..markup.palette import COLORS
from ..markup.tags import Html
from ..stats.arithmetic import commonest
from .fitted_classifier import FittedClassifier
from .reports import information_of_columns, summary_of_tuning
from .settings import NAMES, Parameters
from .state import FittedState

# Classes whose words are shown, and words of each.
WORD_CLASSES, SHOWN_WORDS = 8, 12
# Characters of all pictures of columns: many classes make large ones, and then the last columns have none.
PICTURE_CHARACTERS = 30_000


def classifier_html(current: Callable[[], FittedClassifier], title: str) -> Html:
    """Return a fitted classifier as HTML; where its settings cannot be used, what to do about them."""
    try:
        return fitted_html(current(), title)
    except InvalidInput as error:
        return unusable_html(title, str(error))


def fitted_html(fitted: FittedClassifier, title: str) -> Html:
    """Return a fitted classifier as HTML."""
    model, counts = fitted.model, fitted.all_counts
    prior = model.textbook.log_prior
    return model_html(
        ModelView(
            title,
            fitted.schema.target,
            kind_of_model(fitted),
            list(counts.classes.labels),
            counts.rows,
            np.exp(prior - logsumexp(prior)).tolist(),
            column_views(fitted),
            len(model.schema),
            {name: strongest_word_names(model, name, WORD_CLASSES, SHOWN_WORDS) for name in model.text_terms()},
            summary_of_tuning(fitted),
            changed_settings(fitted.parameters),
            [*about_target(counts.classes.labels), *map(str, fitted.schema.hints)],
        )
    )


def kind_of_model(fitted: FittedClassifier) -> str:
    """Return which model answers, and its held-out log loss where it is known."""
    state = fitted.state
    kind = "textbook naive Bayes"
    if fitted.weights is not None and fitted.has_weighted_columns:
        kind = "joint model"
    loss = _known_loss(state)
    return kind if loss is None else f"{kind}, {loss}"


def _known_loss(state: FittedState) -> str | None:
    tuning = state.tuning
    if tuning.learned is not None and tuning.loss_after is not None:
        return f"held-out log loss {tuning.loss_after:.3g}"
    return None


def column_views(fitted: FittedClassifier) -> list[ColumnView]:
    """Return the columns of most mutual information with the class; of wide tables the others are not drawn.

    Pictures show the most frequent classes, as many as there are colors.
    """
    told, model, counts = information_of_columns(fitted), fitted.model, fitted.all_counts
    drawn = set(commonest(counts.rows, COLORS).tolist())
    views, room = [], PICTURE_CHARACTERS
    for name in strongest_first(told)[:MOST_COLUMNS]:
        column = model.schema[name]
        picture = distribution_picture(column_distribution(model, counts, name), drawn) if room > 0 else Html("")
        room -= len(picture)
        said = model.parts[name].describe().removeprefix(f"{name}: ")
        views.append(ColumnView(name, f"{NOUNS[column.type]}, {family_text(column)}", told[name].bits, picture, said))
    return views


def changed_settings(parameters: Parameters) -> dict[str, str]:
    """Return the settings that differ from their defaults, as Python writes them."""
    usual = Parameters()
    changed = [name for name in NAMES if not parameters.is_same(usual, [name])]
    return {name: _setting_text(getattr(parameters, name)) for name in changed}


def _setting_text(value: object) -> str:
    if isinstance(value, Schema):
        return "Schema(…)"
    if isinstance(value, np.ndarray) and value.size > 20:
        return f"array of shape {value.shape}"
    if isinstance(value, (Mapping, Sequence)) and not isinstance(value, str) and len(value) > 20:
        return f"{type(value).__name__} of {len(value)}"
    return repr(value)


def shows_html() -> bool:
    """Tell whether scikit-learn, if it is imported, is set to show estimators as HTML."""
    if "sklearn" not in sys.modules:
        return True
    from sklearn import get_config

    return bool(get_config()["display"] == "diagram")
