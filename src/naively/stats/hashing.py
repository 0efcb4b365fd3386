"""Numbers that look random and are always the same for the same: what picks rows without chance."""

from __future__ import annotations

import numpy as np

from .._types import Hashes

STEP, FIRST, SECOND = (np.uint64(by) for by in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def mix_hashes(x: Hashes) -> Hashes:
    """Return numbers with their bits mixed (splitmix64)."""
    with np.errstate(over="ignore"):
        x = x * STEP
        x = (x ^ (x >> np.uint64(30))) * FIRST
        x = (x ^ (x >> np.uint64(27))) * SECOND
        return np.asarray(x ^ (x >> np.uint64(31)))
