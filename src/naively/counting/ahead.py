"""Reads the next blocks of rows while these are counted."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterable
from typing import TypeVar

# Blocks that are read ahead of the counting.
AHEAD = 2

Item = TypeVar("Item")


def ahead(items: Iterable[Item], depth: int = AHEAD) -> Generator[Item, None, None]:
    """Return the same items; a thread of its own makes the next ones meanwhile."""
    waiting: queue.Queue[tuple[Item] | BaseException | None] = queue.Queue(depth)  # an item, an error, or the end
    stopped = threading.Event()

    def put(entry: tuple[Item] | BaseException | None) -> None:
        while not stopped.is_set():
            try:
                waiting.put(entry, timeout=0.1)
                return
            except queue.Full:
                continue

    def work() -> None:
        try:
            for item in items:
                put((item,))
                if stopped.is_set():
                    return
            put(None)
        except BaseException as error:  # handed to whoever waits for the next item
            put(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while (got := waiting.get()) is not None:
            if isinstance(got, BaseException):
                raise got
            yield got[0]
    finally:
        stopped.set()
        thread.join()
