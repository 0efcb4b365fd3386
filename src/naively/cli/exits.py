"""Exit codes and error output: 0, 1 (bad data), 2 (bad usage) or 130 (Ctrl-C), and an error in a line or two."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NoReturn

import click

from ..errors import (
    CombinedWeightsWarning,
    InvalidSetting,
    NaivelyError,
    StaleWarning,
    TextbookFallbackWarning,
    WeightWarning,
)
from .messages import command_text

GOOD, BAD_DATA, BAD_USAGE, STOPPED = 0, 1, 2, 130
# The note that a command prints for a warning; None: the text of the warning.
NOTES: dict[type[Warning], str | None] = {
    WeightWarning: None,
    StaleWarning: "The model keeps its weights and its temperature. A file without rows has none to fit them again: "
    "fit all rows, or write files with rows from the start by --keep-rows.",
    TextbookFallbackWarning: None,
    CombinedWeightsWarning: None,
}


class Program(click.Group):
    """All commands, in the order in which they are used. Without a command, the help is shown."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in the order in which they were added."""
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Show the help if no command was given."""
        return super().parse_args(ctx, args or ["--help"])

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command and end the process with its exit code."""
        run = partial(super().main, args, prog_name, complete_var, False, windows_expand_args, **extra)
        if not standalone_mode:
            return run()
        prepare_process()
        flags: dict[str, bool] = {}
        return exit_process(exit_code_of(lambda: run(obj=flags), flags))

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; a reader that closes the pipe early, as `head` does, is no error."""
        try:
            answer = super().invoke(ctx)
            sys.stdout.flush()
            return answer
        except BrokenPipeError:
            discard_output()
            return GOOD


def exit_process(code: int) -> NoReturn:
    """End the process; after Ctrl-C at once, because running threads of other libraries would abort it."""
    if code == STOPPED and sys.stdout is sys.__stdout__:
        atexit._run_exitfuncs()  # os._exit would skip them
        with suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def prepare_process() -> None:
    """Replace characters that a terminal cannot show, and let SIGTERM clean up as Ctrl-C does."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    with suppress(ValueError):  # only the main thread may set a handler
        signal.signal(signal.SIGTERM, signal.default_int_handler)


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
    if isinstance(error, click.UsageError):
        path = error.ctx.command_path if error.ctx else "naively"
        return f"{error.format_message()}\nHelp: {path} --help", error.exit_code
    if isinstance(error, click.ClickException):
        return error.format_message(), error.exit_code
    if isinstance(error, NaivelyError):
        return command_text(error.message), BAD_USAGE if isinstance(error, InvalidSetting) else BAD_DATA
    if isinstance(error, MemoryError):
        return "Out of memory. Fit fewer rows, such as --limit 1000000, or ignore columns by --ignore.", BAD_DATA
    if isinstance(error, OSError):
        return f"{error.strerror or error}{f': {error.filename!r}' if error.filename else ''}", BAD_DATA
    kind = type(error).__name__
    return (
        f"{kind}: {error}\nThis is a bug. Please report it with the traceback that --debug shows.",
        BAD_DATA,
    )


@contextmanager
def warnings_as_notes(quiet: bool) -> Iterator[None]:
    """Print each kind of warning of the package as a note of one line."""
    with warnings.catch_warnings(record=True) as found:
        for kind in NOTES:
            warnings.simplefilter("always", kind)
        yield
    for category, message in {warning.category: warning_text(warning) for warning in found}.items():
        if not quiet and category in NOTES:
            click.echo(f"Note: {NOTES[category] or command_text(message)}", err=True)


def warning_text(warning: warnings.WarningMessage) -> str:
    """Return the text of a warning, as a message with parts if it is one."""
    texts = (text for text in getattr(warning.message, "args", ()) if isinstance(text, str))
    return next(texts, str(warning.message))


def discard_output() -> None:
    """Discard the rest of the output: its reader has closed the pipe."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
