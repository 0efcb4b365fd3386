"""Errors and notes as the command line writes them, and exit codes: 0, 1 (bad data), 2 (bad usage) or 130 (Ctrl-C).

Of a message of the library only the parts are written again: options for settings, rows counted from 1. The text
between them, which may quote users' data, stays as it is.
"""

from __future__ import annotations

import atexit
import os
import shlex
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import click

from ..errors import (
    InvalidSetting,
    LargestFitWarning,
    NaivelyError,
    StaleWarning,
    TextbookFallbackWarning,
    WeightWarning,
)
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

GOOD, BAD_DATA, BAD_USAGE, STOPPED = 0, 1, 2, 130
# Warnings that a command prints as notes, and the text of that of a model whose rows are not at hand.
NOTED: tuple[type[Warning], ...] = (WeightWarning, StaleWarning, TextbookFallbackWarning, LargestFitWarning)
STALE = (
    "The model keeps its weights and its temperature. A file without rows has none to fit them again: fit all rows, or "
    "write files with rows from the start by --keep-rows."
)


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


# -- exit codes --------------------------------------------------------------------------------------------------------


class Program(click.Group):
    """All commands, in the order in which they are used. Without a command, the help is shown."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in the order in which they were added."""
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Show the help if no command was given."""
        return super().parse_args(ctx, args or ["--help"])

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run a command and end the process with its exit code."""
        run: Any = super().main
        if not standalone_mode:
            return run(*args, standalone_mode=False, **extra)
        for stream in (sys.stdout, sys.stderr):  # replace characters that a terminal cannot show
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")
        with suppress(ValueError):  # only the main thread may set a handler
            signal.signal(signal.SIGTERM, signal.default_int_handler)  # clean up as after Ctrl-C
        flags: dict[str, bool] = {}
        code = exit_code_of(lambda: run(*args, **{**extra, "standalone_mode": False, "obj": flags}), flags)
        if code == STOPPED and sys.stdout is sys.__stdout__:  # running threads of other libraries would abort sys.exit
            atexit._run_exitfuncs()  # os._exit would skip them
            with suppress(OSError, ValueError):
                sys.stderr.flush()
            os._exit(code)
        sys.exit(code)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; a reader that closes the pipe early, as `head` does, is no error."""
        try:
            answer = super().invoke(ctx)
            sys.stdout.flush()
            return answer
        except BrokenPipeError:
            with suppress(OSError, ValueError):  # discard the rest of the output
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return GOOD


def exit_code_of(run: Callable[[], object], flags: dict[str, bool]) -> int:
    """Run a command, print its error on stderr, if any, and return its exit code."""
    try:
        code = run()
        return code if isinstance(code, int) else GOOD
    except (KeyboardInterrupt, click.Abort):
        click.echo("Stopped. Nothing was written.", err=True)
        return STOPPED
    except Exception as error:
        if flags.get("debug"):
            traceback.print_exc()
        text, code = error_text(error)
        click.echo(f"Error: {text}", err=True)
        return code


def error_text(error: Exception) -> tuple[str, int]:
    """Return the text of an error and its exit code."""
    if isinstance(error, click.ClickException):
        path = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "naively"
        advice = f"\nHelp: {path} --help" if isinstance(error, click.UsageError) else ""
        return error.format_message() + advice, error.exit_code
    if isinstance(error, NaivelyError):
        return command_text(error.message), BAD_USAGE if isinstance(error, InvalidSetting) else BAD_DATA
    if isinstance(error, MemoryError):
        return "Out of memory. Fit fewer rows, such as --limit 1000000, or ignore columns by --ignore.", BAD_DATA
    if isinstance(error, OSError):
        return f"{error.strerror or error}{f': {error.filename!r}' if error.filename else ''}", BAD_DATA
    bug = "This is a bug. Please report it with the traceback that --debug shows."
    return f"{type(error).__name__}: {error}\n{bug}", BAD_DATA


@contextmanager
def warnings_as_notes(quiet: bool) -> Iterator[None]:
    """Print each kind of warning of the package as a note of one line."""
    with warnings.catch_warnings(record=True) as caught:
        for kind in NOTED:
            warnings.simplefilter("always", kind)
        yield
    for kind, warning in {one.category: one.message for one in caught}.items():
        if kind in NOTED and not quiet:
            texts = (text for text in getattr(warning, "args", ()) if isinstance(text, str))
            text = STALE if kind is StaleWarning else command_text(next(texts, str(warning)))
            click.echo(f"Note: {text}", err=True)
