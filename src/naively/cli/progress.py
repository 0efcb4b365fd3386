"""A line that shows how far a long command has come: rows, bytes, rate and time left."""

from __future__ import annotations

import sys
import time
from typing import Any, Self

# Whoever waits less than this needs no bar, in seconds.
PATIENCE = 1.0


class Bar:
    """A progress bar on stderr, once a second has passed; silent where stderr is no terminal."""

    def __init__(self, title: str, quiet: bool = False) -> None:
        self.title = title
        self.silent = quiet or not sys.stderr.isatty()
        self.start, self.shown, self.task = time.monotonic(), None, None
        self.rows = 0

    shown: Any
    task: Any

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self.shown is not None:
            self.shown.stop()

    def __call__(self, rows: int, done: int = 0, total: int | None = None) -> None:
        """Show that so many rows are read, and so many bytes of all."""
        if self.silent or time.monotonic() - self.start < PATIENCE:
            return
        if self.shown is None:
            self._begin()
        per_second = rows / max(time.monotonic() - self.start, 1e-9)
        self.shown.update(
            self.task, completed=done, total=total, rows=f"{rows:,} rows", speed=f"{per_second:,.0f} rows/s"
        )

    def _begin(self) -> None:
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
        self.shown = Progress(*columns, console=Console(stderr=True), transient=True)
        self.task = self.shown.add_task(self.title, total=None, rows="", speed="")
        self.shown.start()
