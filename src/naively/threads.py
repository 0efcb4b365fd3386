"""How many threads a call may use."""

from __future__ import annotations

import os

from .errors import InvalidSetting


def allowed(threads: int | None = None) -> int:
    """Return the number of threads: what is asked for, else ``NAIVELY_THREADS``, else the CPUs this process may use."""
    if threads is None:
        threads = from_environment()
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if threads < 1:
        raise InvalidSetting(f"threads={threads!r} is not a number of threads; give 1 or more, or None for all CPUs.")
    return threads


def from_environment() -> int | None:
    """Return the number in ``NAIVELY_THREADS``, if it is set."""
    text = os.environ.get("NAIVELY_THREADS", "").strip()
    if not text:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise InvalidSetting(f"NAIVELY_THREADS={text!r} is not a number of threads; set it to 1 or more, or unset it.")
    return int(text)
