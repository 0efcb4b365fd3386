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

from threadpoolctl import LibController, ThreadpoolController


class OneThread:
    """How many callers want one thread now; the first one sets it, and the last one sets what was before."""

    def __init__(self) -> None:
        self.callers = 0
        self.before: list[tuple[LibController, int]] = []
        self.changing = Lock()

    def reset(self) -> None:
        """Forget callers: a process that was forked has none of them."""
        self.callers, self.changing = 0, Lock()

    def enter(self) -> None:
        """Use one thread from now on."""
        with self.changing:
            if not self.callers:
                self.before = [(one, one.num_threads) for one in libraries()]
                for one, threads in self.before:
                    if threads != 1:
                        one.set_num_threads(1)
            self.callers += 1

    def leave(self) -> None:
        """Use as many threads as before, if nobody else wants one."""
        with self.changing:
            self.callers -= 1
            if not self.callers:
                for one, threads in self.before:
                    if threads != 1:
                        one.set_num_threads(threads)


ONE_THREAD = OneThread()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=ONE_THREAD.reset)


@cache
def libraries() -> tuple[LibController, ...]:
    """Return the libraries of linear algebra that this process has loaded; to look for them takes milliseconds."""
    import numpy.linalg  # noqa: F401  # so that they are loaded
    import scipy.linalg  # noqa: F401

    return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Have products of matrices done by one thread within; callers in several threads may overlap."""
    ONE_THREAD.enter()
    try:
        yield
    finally:
        ONE_THREAD.leave()
