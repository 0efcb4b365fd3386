"""The log: one JSON object a line, of each request and of other events. No cell is ever in it."""

from __future__ import annotations

import json
import sys
from collections import deque
from contextlib import suppress
from datetime import UTC, datetime
from typing import IO

from .settings import ServerSettings

LONGEST_PATH = 200


class AccessLog:
    """Writes lines to stderr or to a file.

    Parameters
    ----------
    settings : ServerSettings
        The settings of the server: the file, and whether requests that succeeded are left out.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._sink: IO[str] = sys.stderr if settings.log is None else settings.log.open("a", encoding="utf-8")
        self._lines: deque[str] = deque()  # threads may add to it
        self.quiet = settings.quiet

    def request(self, method: str, path: str, status: int, seconds: float, rows: int | None) -> None:
        """Note a request; its line is written with others, within a fraction of a second."""
        if status >= 400 or not self.quiet:
            facts: dict[str, object] = {"method": method[:20], "path": path[:LONGEST_PATH], "status": status}
            facts["ms"] = round(seconds * 1e3, 2)
            self._add(facts if rows is None else {**facts, "rows": rows})

    def event(self, what: str, **facts: object) -> None:
        """Write an event at once."""
        self._add({"event": what, **facts})
        self.flush()

    def _add(self, facts: dict[str, object]) -> None:
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._lines.append(json.dumps({"time": now, **facts}, default=str) + "\n")

    def flush(self) -> None:
        """Write the lines so far."""
        lines: list[str] = []
        with suppress(IndexError):
            while True:
                lines.append(self._lines.popleft())
        with suppress(OSError, ValueError):  # a full disk, or nobody who reads stderr, ends no server
            self._sink.write("".join(lines))
            self._sink.flush()

    def close(self) -> None:
        """Write the lines so far, and close the file."""
        self.flush()
        if self._sink is not sys.stderr:
            self._sink.close()
