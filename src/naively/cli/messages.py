"""Messages of the library as the command line writes them: options for settings, rows counted from 1.

Only the parts of a message are written anew; the text between them, which may quote users' data, stays as it is.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping

from ..errors.message import (
    ANY_VALUE,
    OPEN_LEVELS,
    IgnoredColumns,
    Message,
    MessagePart,
    MissingTexts,
    PythonOnly,
    RowNumber,
    Setting,
)

# The option of each setting; a setting without an option is written as in Python.
OPTIONS: Mapping[str, str] = {
    "families": "--family",
    "rows": "--keep-rows",
    **{
        name: f"--{name.replace('_', '-')}"
        for name in (
            *("characters", "complement", "hash_width", "min_df", "ngram_range", "text", "vocabulary"),
            *("class_weight", "cost", "estimate", "missing", "model", "prior", "reject", "smoothing", "temperature"),
            *("decimal", "delimiter", "encoding", "format", "limit", "null", "query", "table", "thousands"),
            *("cv", "ignore", "keep_counts", "normalize_weight", "target", "n_jobs", "unlabelled", "unseen"),
            *("dialect", "fade", "keep", "keep_rows", "only_answers", "prefix", "to", "weight", "window"),
        )
    },
}
# Options that are switched off by another one.
SWITCHED_OFF: Mapping[str, str] = {"keep_rows": "--no-keep-rows", "rows": "--no-keep-rows"}


def command_text(message: str) -> str:
    """Return a message of the library as the command line writes it.

    >>> from naively.errors import InvalidInput
    >>> error = InvalidInput(RowNumber(3), " holds 'row 5 limit=3'; set ", Setting("unseen", "skip"), ".")
    >>> command_text(error.message)
    "Row 4 holds 'row 5 limit=3'; set --unseen skip."
    """
    parts = message.parts if isinstance(message, Message) else (message,)
    text = "".join(part if isinstance(part, str) else _part_text(part) for part in parts)
    return text[0].upper() + text[1:] if isinstance(parts[0], RowNumber) and parts[0].path is None else text


def _part_text(part: MessagePart) -> str:
    """Return one part as the command line writes it."""
    match part:
        case RowNumber(row, path):
            return f"row {row + 1}" if path is None else f"{path}, row {row + 1}"
        case Setting(name) if name in OPTIONS:
            return " ".join([*_options(part), *(["…"] if part.more else [])])
        case IgnoredColumns(names, more):
            return _repeated("--ignore", names, more)
        case MissingTexts(texts, more):
            return _repeated("--also-null", texts, more)
        case PythonOnly():
            return ""
    return str(part)


def _options(setting: Setting) -> Iterator[str]:
    """Return a setting as options."""
    option, value = OPTIONS[setting.name], setting.value
    if value is ... or value == ANY_VALUE:
        yield option
    elif value is None or value is False:
        yield SWITCHED_OFF.get(setting.name, f"no {option}")
    elif value is True:
        yield option
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield _family_option(str(key), one) if setting.name == "families" else f"{option} {_pair(key, one)}"
    elif isinstance(value, list):
        yield _repeated(option, map(str, value))
    else:
        yield f"{option} {shlex.quote(f'{value:g}' if isinstance(value, float) else str(value))}"


def _family_option(column: str, family: object) -> str:
    """Return the option that sets the family of a column."""
    if family == "words":
        return f"--text {shlex.quote(column)}"
    return f"--family {shlex.quote(column)}={'ordinal:LOWEST,…,HIGHEST' if family == OPEN_LEVELS else family}"


def _pair(key: object, value: object) -> str:
    """Return CLASS=NUMBER, or TRUE,CHOSEN=COST, quoted for a shell."""
    name = ",".join(map(str, key)) if isinstance(key, tuple) else str(key)
    return shlex.quote(f"{name}={value:g}" if isinstance(value, (int, float)) else f"{name}={value}")


def _repeated(option: str, values: Iterable[str], more: bool = False) -> str:
    """Return an option for each of some texts, and … where there are more."""
    return " ".join([*(f"{option} {shlex.quote(value)}" for value in values), *(["…"] if more else [])])
