"""The progress bar of a long call or command: rows, bytes, rate and time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self, TypeAlias

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

# Seconds before the bar appears: shorter commands need none.
PATIENCE = 1.0

ReportProgress: TypeAlias = Callable[[int, int, int | None], object]  # rows and bytes so far, and all bytes


@contextmanager
def progress_shown(progress: ReportProgress | bool | None, title: str) -> Iterator[ReportProgress | None]:
    """Return whom to tell the progress: who was given, a bar on stderr for True, or nobody."""
    if not isinstance(progress, bool):
        yield progress
    elif not progress:
        yield None
    else:
        with ProgressBar(title) as bar:
            yield bar


class ProgressBar:
    """A progress bar on stderr that appears after a second; none if stderr is not a terminal."""

    def __init__(self, title: str, quiet: bool = False) -> None:
        self.title = title
        self.silent = quiet or not sys.stderr.isatty()
        self.start = time.monotonic()
        self.shown: tuple[Progress, TaskID] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self.shown is not None:
            self.shown[0].stop()

    def __call__(self, rows: int, done: int = 0, total: int | None = None) -> None:
        """Show how many rows, and how many bytes of the total, have been read."""
        if self.silent or time.monotonic() - self.start < PATIENCE:
            return
        if self.shown is None:
            self.shown = self._started()
        per_second = rows / max(time.monotonic() - self.start, 1e-9)
        progress, task = self.shown
        progress.update(task, completed=done, total=total, rows=f"{rows:,} rows", speed=f"{per_second:,.0f} rows/s")

    def _started(self) -> tuple[Progress, TaskID]:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn(self.title),
            BarColumn(),
            TextColumn("{task.fields[rows]}"),
            DownloadColumn(),
            TextColumn("{task.fields[speed]}"),
            TimeRemainingColumn(),
        )
        progress = Progress(*columns, console=Console(stderr=True), transient=True)
        task = progress.add_task(self.title, total=None, rows="", speed="")
        progress.start()
        return progress, task
