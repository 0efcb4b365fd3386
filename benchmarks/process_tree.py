"""CPU time of this process and all that it started, those that ended included: from /proc, on Linux."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

TICKS = os.sysconf("SC_CLK_TCK")


class Process(NamedTuple):
    """A process: who started it, when, and its own CPU seconds."""

    parent: int
    began: int
    seconds: float


class TreeClock(threading.Thread):
    """Adds up the CPU seconds of this process and all it started; Spark ends workers that nobody waits for."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._seen: dict[tuple[int, int], float] = {}
        self.start()

    def run(self) -> None:
        """Look at all processes several times a second."""
        while True:
            self.seconds()
            time.sleep(0.2)

    def seconds(self) -> float:
        """Return the CPU seconds so far, those of ended processes included."""
        known = processes()
        for pid in (os.getpid(), *descendants(known, os.getpid())):
            self._seen[pid, known[pid].began] = known[pid].seconds
        return sum(self._seen.copy().values())


def processes() -> dict[int, Process]:
    """Return what the system knows of each process."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        own = (int(fields[11]) + int(fields[12])) / TICKS
        found[int(path.parent.name)] = Process(int(fields[1]), int(fields[19]), own)
    return found


def descendants(known: dict[int, Process], parent: int) -> Iterator[int]:
    """Yield the processes that a process started, and those that they did."""
    for pid, process in known.items():
        if process.parent == parent:
            yield pid
            yield from descendants(known, pid)
