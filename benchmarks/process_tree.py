"""CPU time of this process and all that it started, however deep, living or ended: from /proc, on Linux."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def tree_seconds() -> float:
    """Return the CPU seconds of the whole tree of processes so far, those of ended children included."""
    return sum(map(process_seconds, [os.getpid(), *descendants(os.getpid())]))


def process_seconds(process: int) -> float:
    """Return the CPU seconds of a process and of its children that have ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return sum(map(int, fields[11:15])) / TICKS


def descendants(parent: int) -> Iterator[int]:
    """Yield all processes below one."""
    for task in Path(f"/proc/{parent}/task").glob("*/children"):
        try:
            found = task.read_text().split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        for child in map(int, found):
            yield child
            yield from descendants(child)
