"""How many threads a call may use, and work that several of them share."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from functools import cache
from numbers import Integral
from pathlib import Path
from typing import TypeVar

from . import _kernels
from .errors import InvalidSetting
from .errors.message import Setting

# Below this many cells a second thread costs more than it brings: the kernels then use one anyway.
WORTHWHILE = 1 << 16
# More threads than any machine has; a larger number is taken for this.
MOST = 1 << 15

Item = TypeVar("Item")
Found = TypeVar("Found")


def allowed(n_jobs: int | None = None, cells: int = WORTHWHILE) -> int:
    """Return the number of threads: what is set, else ``NAIVELY_THREADS``, else the CPUs this process may use.

    Those are the CPUs it is bound to, and no more than its control group grants: in a container with two CPUs' worth of
    time, sixteen threads would only get in each other's way. Negative numbers count from all CPUs down, as in joblib:
    -1 stands for all of them, -2 for all but one.
    """
    if n_jobs is None:
        n_jobs = from_environment()
        if n_jobs is None:
            return usable_cpus() if cells >= WORTHWHILE else 1
    if not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise InvalidSetting(
            Setting("n_jobs", n_jobs), " is not a number of threads; give 1 or more, or -1 for all CPUs."
        )
    return min(n_jobs, MOST) if n_jobs > 0 else max(1, usable_cpus() + 1 + n_jobs)


@dataclass(frozen=True)
class SharedThreads:
    """Threads that are there for the work of one call, such as a fit: their number, and the pool that they wait in.

    A thread of a pool has no pool itself: if it waited for others of its own pool, it could wait forever.
    """

    number: int
    pool: ThreadPoolExecutor | None


_SHARED: ContextVar[SharedThreads | None] = ContextVar("naively threads", default=None)


@contextmanager
def shared_threads(threads: int) -> Iterator[None]:
    """Let `in_threads` and kernels within share this many threads, which start once and end with the block."""
    if threads < 2 or _SHARED.get() is not None:
        yield
        return
    with _kernels.HeldThreads(threads), ThreadPoolExecutor(threads, "naively") as pool:
        before = _SHARED.set(SharedThreads(threads, pool))
        try:
            yield
        finally:
            _SHARED.reset(before)


def threads_here() -> int:
    """Return how many threads may share the work at this place: one, unless `shared_threads` says otherwise."""
    shared = _SHARED.get()
    return 1 if shared is None else shared.number


def in_threads(work: Callable[[Item], Found], items: Iterable[Item], threads: int | None = None) -> list[Found]:
    """Return what a function returns for each item, in their order; threads of its own end with the call.

    It pays where the work leaves Python's lock to others most of the time, as kernels and NumPy do with long arrays.
    The first item that fails, in their order, decides the error; Ctrl-C ends the work after the items in progress.
    Without a number of threads, those of `shared_threads` do the work.
    """
    todo, shared = list(items), _SHARED.get()
    useful = min(threads_here() if threads is None else threads, len(todo))
    if useful < 2 or (shared is not None and shared.pool is None):
        return [work(item) for item in todo]
    if shared is not None and shared.pool is not None:
        return _results(shared.pool, work, todo)
    with ThreadPoolExecutor(useful, "naively") as pool:
        return _results(pool, work, todo)


def _results(pool: ThreadPoolExecutor, work: Callable[[Item], Found], items: list[Item]) -> list[Found]:
    """Return what a function returns for each item, called by the threads of a pool."""

    def call(item: Item) -> Found:
        _SHARED.set(SharedThreads(1, None))
        return work(item)

    # Each item in a copy of the context, so that settings such as NumPy's of warnings are those of the caller.
    waiting = [pool.submit(copy_context().run, call, item) for item in items]
    try:
        return [future.result() for future in waiting]
    except BaseException:
        for future in waiting:
            future.cancel()
        wait(waiting)  # what is in progress may write where the caller reads
        raise


def usable_cpus() -> int:
    """Return how many CPUs this process may use at once."""
    return max(1, min(bound_to(), granted()))


def from_environment() -> int | None:
    """Return the number in ``NAIVELY_THREADS``, if it is set."""
    text = os.environ.get("NAIVELY_THREADS", "").strip()
    if not text:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise InvalidSetting(
            f"NAIVELY_THREADS={text!r} is not a number of threads; set it to 1 or more, or unset it.",
            setting="NAIVELY_THREADS",
            value=text,
        )
    return int(text)


def bound_to() -> int:
    """Return how many CPUs the process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def granted(root: str = "/sys/fs/cgroup", of_process: str = "/proc/self/cgroup") -> int:
    """Return how many CPUs' worth of time the control group grants, rounded up; any number if it sets no limit."""
    try:
        lines = Path(of_process).read_text().splitlines()
    except OSError:
        return 1 << 16  # not on Linux
    limits = [quota for line in lines for quota in quotas(Path(root), line.split(":", 2))]
    return math.ceil(min(limits, default=1 << 16))


def quotas(root: Path, group: list[str]) -> list[float]:
    """Return the limits of a control group and of those around it, in CPUs; of either version of the interface."""
    _, controllers, path = group
    if controllers and "cpu" not in controllers.split(","):
        return []
    base = root if not controllers else root / "cpu"
    places = [base / path.strip("/"), *(base / path.strip("/")).parents]
    result = (quota(place) for place in places if place == base or base in place.parents)
    return [limit for limit in result if limit is not None]


def quota(place: Path) -> float | None:
    """Return how many CPUs' worth of time one group may use, None if it says nothing."""
    try:
        if (place / "cpu.max").exists():
            most, period = (place / "cpu.max").read_text().split()
        else:
            most = (place / "cpu.cfs_quota_us").read_text().strip()
            period = (place / "cpu.cfs_period_us").read_text().strip()
        return float(most) / float(period) if most.isdecimal() and float(period) > 0 else None
    except (OSError, ValueError):
        return None
