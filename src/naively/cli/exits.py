"""How a command ends: exit codes 0, 1 (bad data), 2 (bad usage) and 130 (Ctrl-C), errors in a line or two."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NoReturn

import click

from ..errors import InvalidSetting, LeftOutWarning, NaivelyError, StaleWarning, WeightWarning
from .messages import command_text

GOOD, BAD_DATA, BAD_USAGE, STOPPED = 0, 1, 2, 130
# What a warning means here; None: it says so itself.
NOTES: dict[type[Warning], str | None] = {
    WeightWarning: None,
    StaleWarning: "The evidence is weighed as it was before. To weigh it anew, fit all rows again.",
    LeftOutWarning: None,
}


class Program(click.Group):
    """All commands, in the order in which they are used. Without one, the help is shown."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in the order in which they were added."""
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Show the way from a file to an answer, if nothing was asked."""
        return super().parse_args(ctx, args or ["--help"])

    def main(
        self, args: Any = None, prog_name: Any = None, *more: Any, standalone_mode: bool = True, **extra: Any
    ) -> Any:
        """Run a command and leave the process with its exit code."""
        run = partial(super().main, args, prog_name, *more, standalone_mode=False, **extra)
        if not standalone_mode:
            return run()
        prepare()
        asked: dict[str, Any] = {}
        return leave(ended(lambda: run(obj=asked), asked))

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; that nobody reads its output any more, as `head` does, is no error."""
        try:
            answer = super().invoke(ctx)
            sys.stdout.flush()
            return answer
        except BrokenPipeError:
            silence()
            return GOOD


def leave(code: int) -> NoReturn:
    """End the process; after Ctrl-C at once: threads of other libraries, still at work, would abort it."""
    if code == STOPPED and sys.stdout is sys.__stdout__:
        atexit._run_exitfuncs()  # what clears up at the end, as ever
        with suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def prepare() -> None:
    """Let a terminal that lacks a sign show another, and let a request to end clean up as Ctrl-C does."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    with suppress(ValueError):  # only the main thread may say what a signal does
        signal.signal(signal.SIGTERM, signal.default_int_handler)


def ended(run: Callable[[], Any], asked: dict[str, Any]) -> int:
    """Return the exit code of a command, and say on stderr what went wrong."""
    try:
        code = run()
        return code if isinstance(code, int) else GOOD
    except (KeyboardInterrupt, click.Abort):
        click.echo("Stopped. Nothing was written.", err=True)
        return STOPPED
    except Exception as error:
        if asked.get("debug"):
            traceback.print_exc()
        text, code = told(error)
        click.echo(f"Error: {text}", err=True)
        return code


def told(error: Exception) -> tuple[str, int]:
    """Return an error in words, and the exit code that goes with it."""
    if isinstance(error, click.UsageError):
        path = error.ctx.command_path if error.ctx else "naively"
        return f"{error.format_message()}\nHelp: {path} --help", error.exit_code
    if isinstance(error, click.ClickException):
        return error.format_message(), error.exit_code
    if isinstance(error, NaivelyError):
        return command_text(error.message), BAD_USAGE if isinstance(error, InvalidSetting) else BAD_DATA
    if isinstance(error, MemoryError):
        return "The memory is full. A sample may do: --limit 1000000; or ignore columns: --ignore.", BAD_DATA
    if isinstance(error, OSError):
        return f"{error.strerror or error}{f': {error.filename!r}' if error.filename else ''}", BAD_DATA
    kind = type(error).__name__
    return f"{kind}: {error}\nThis should not have happened; --debug shows where it did. Please report it.", BAD_DATA


@contextmanager
def noted(quiet: bool) -> Iterator[None]:
    """Say in a line what was warned of: weights of before, no pairs of columns, weights of rows that are too small."""
    with warnings.catch_warnings(record=True) as found:
        for kind in NOTES:
            warnings.simplefilter("always", kind)
        yield
    for category, message in {warning.category: message_of(warning) for warning in found}.items():
        if not quiet and category in NOTES:
            click.echo(f"Note: {NOTES[category] or command_text(message)}", err=True)


def message_of(warning: warnings.WarningMessage) -> str:
    """Return what a warning says, with its parts if it has some."""
    return next((said for said in getattr(warning.message, "args", ()) if isinstance(said, str)), str(warning.message))


def silence() -> None:
    """Send what is still to be printed nowhere: nobody reads it."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
