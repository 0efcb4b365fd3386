"""How many threads a call may use, and work that several of them share."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from numbers import Integral
from pathlib import Path
from typing import TypeVar

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


def in_threads(work: Callable[[Item], Found], items: Iterable[Item], threads: int) -> list[Found]:
    """Return what a function returns for each item, in their order; the threads end with the call.

    It pays where the work leaves Python's lock to others most of the time, as kernels and NumPy do with long arrays.
    The first item that fails, in their order, decides the error; Ctrl-C ends the work after the items in progress.
    """
    todo = list(items)
    if min(threads, len(todo)) < 2:
        return [work(item) for item in todo]
    with ThreadPoolExecutor(min(threads, len(todo)), "naively") as pool:
        # Each item in a copy of the context, so that settings such as NumPy's of warnings are those of the caller.
        waiting = [pool.submit(copy_context().run, work, item) for item in todo]
        try:
            return [future.result() for future in waiting]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
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
    found = (quota(place) for place in places if place == base or base in place.parents)
    return [limit for limit in found if limit is not None]


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
