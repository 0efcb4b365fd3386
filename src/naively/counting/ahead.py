"""Reads the next blocks of rows while these are counted."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import Any

# Blocks that are read ahead of the counting.
AHEAD = 2


def ahead(items: Iterable[Any], depth: int = AHEAD) -> Iterator[Any]:
    """Return the same items; a thread of its own makes the next ones meanwhile."""
    waiting: queue.Queue[tuple[Any, BaseException | None]] = queue.Queue(depth)
    stopped, end = threading.Event(), object()

    def put(item: Any, error: BaseException | None = None) -> None:
        while not stopped.is_set():
            try:
                waiting.put((item, error), timeout=0.1)
                return
            except queue.Full:
                continue

    def work() -> None:
        try:
            for item in items:
                put(item)
                if stopped.is_set():
                    return
            put(end)
        except BaseException as error:  # handed to whoever waits for the next item
            put(end, error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while (got := waiting.get())[0] is not end:
            yield got[0]
        if got[1] is not None:
            raise got[1]
    finally:
        stopped.set()
        thread.join()
