"""Products of matrices by one thread of the library behind NumPy: the threads that share our work do them side by side.

Where the library uses threads of its own, these wait for each other in a loop: beside other work on the machine that
takes many times longer. One thread also gives the same bits on any number of cores.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Protocol


class BlasLibrary(Protocol):
    """A library of linear algebra, as threadpoolctl reaches it."""

    def get_num_threads(self) -> int | None:
        """Return how many threads it uses."""

    def set_num_threads(self, num_threads: int) -> None:
        """Have it use so many threads."""


class OneThread:
    """Who wants one thread now; the first one sets it, and the last one sets what was before."""

    def __init__(self) -> None:
        self.callers: set[object] = set()
        self.before: list[tuple[BlasLibrary, int]] = []  # those that used several threads
        self.changing = Lock()

    def reset(self) -> None:
        """Forget callers: a process that was forked has none of them."""
        self.callers, self.changing = set(), Lock()

    def enter(self, caller: object) -> None:
        """Use one thread from now on."""
        with self.changing:
            if not self.callers:
                used = [(library, library.get_num_threads() or 1) for library in libraries()]
                self.before = [(library, threads) for library, threads in used if threads > 1]
                for library, _ in self.before:
                    set_threads(library, 1)
            self.callers.add(caller)

    def leave(self, caller: object) -> None:
        """Use as many threads as before, if nobody else wants one; a caller may have been interrupted on its way in."""
        with self.changing:
            self.callers.discard(caller)
            if not self.callers:
                for library, threads in self.before:
                    set_threads(library, threads)


ONE_THREAD = OneThread()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=ONE_THREAD.reset)


def set_threads(library: BlasLibrary, threads: int) -> None:
    """Have a library use so many threads, whichever thread asks for it.

    Newer versions of threadpoolctl listen to the first thread that asks, until it says that it is done: we take turns.
    """
    taking_turns = getattr(library, "clear_controlling_thread", None)
    if taking_turns is None:
        library.set_num_threads(threads)
        return
    taking_turns(force=True)
    library.set_num_threads(threads)
    taking_turns(force=True)


@cache
def libraries() -> tuple[BlasLibrary, ...]:
    """Return the libraries of linear algebra that this process has loaded; to look for them takes milliseconds."""
    import numpy.linalg  # noqa: F401  # so that they are loaded
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Have products of matrices done by one thread within; callers in several threads may overlap."""
    caller = object()
    try:
        ONE_THREAD.enter(caller)
        yield
    finally:
        ONE_THREAD.leave(caller)
