"""The log: one JSON object a line, of each request and of what else happens. No cell is ever in it."""

from __future__ import annotations

import json
import sys
import time
from collections import deque
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

LONGEST_PATH = 200


class AccessLog:
    """Writes lines to stderr or to a file.

    Parameters
    ----------
    path : Path, optional
        The file, which lines are added to; by default stderr.
    quiet : bool
        Whether requests that were answered well are left out.
    """

    def __init__(self, path: Path | None = None, quiet: bool = False) -> None:
        self._sink: IO[str] = sys.stderr if path is None else path.open("a", encoding="utf-8")
        self._lines: deque[str] = deque()  # threads may add to it
        self.quiet, self._second, self._text = quiet, -1, ""

    def request(self, method: str, path: str, status: int, seconds: float, rows: int | None) -> None:
        """Note a request; the line is written with others, within a part of a second."""
        if self.quiet and status < 400:
            return
        where = json.dumps(path[:LONGEST_PATH])
        text = f'"method": {json.dumps(method[:20])}, "path": {where}, "status": {status}, "ms": {seconds * 1e3:.2f}'
        count = "" if rows is None else f', "rows": {rows}'
        self._lines.append(f'{{"time": "{self._now()}", {text}{count}}}\n')

    def event(self, what: str, **facts: object) -> None:
        """Write at once what happened beside requests."""
        self._lines.append(json.dumps({"time": self._now(), "event": what, **facts}, default=str) + "\n")
        self.flush()

    def flush(self) -> None:
        """Write what waits."""
        lines = []
        while self._lines:
            lines.append(self._lines.popleft())
        if lines:
            with suppress(OSError, ValueError):  # a full disk, or nobody who reads stderr, ends no server
                self._sink.write("".join(lines))
                self._sink.flush()

    def close(self) -> None:
        """Write what waits, and close the file."""
        self.flush()
        if self._sink is not sys.stderr:
            self._sink.close()

    def _now(self) -> str:
        """Return the time, such as 2024-02-29T12:30:00.125Z."""
        now = time.time()
        second = int(now)
        if second != self._second:
            self._second = second
            self._text = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        return f"{self._text}.{int((now - second) * 1000):03d}Z"
