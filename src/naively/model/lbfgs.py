"""Minimizes smooth functions of many numbers (L-BFGS), the same way whatever the threads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._types import Floats


def minimize_lbfgs(
    value: Callable[[Floats], tuple[float, Floats]],
    v: Floats,
    steps: Floats,
    passes: int,
    enough: float,
    memory: int,
) -> tuple[Floats, int]:
    """Return where a function is least (L-BFGS), by so many evaluations at most, and how many were taken.

    It ends when a step gains less than a proportion of what is left.
    """
    (loss, slope), looks = value(v), 1
    past: list[tuple[Floats, Floats, float]] = []
    while looks < passes:
        move = lbfgs_direction(slope, steps, past)
        fall, length = dot(slope, move), 1.0
        while True:
            tried = v + length * move
            found, there = value(tried)
            looks += 1
            if found <= loss + 1e-4 * length * fall or looks >= passes:
                break
            length *= 0.4
        if not found < loss:
            break
        change, bend = tried - v, there - slope
        if (along := dot(change, bend)) > 1e-12 * dot(bend, bend) ** 0.5:
            past = [*past, (change, bend, along)][-memory:]
        gain, v, loss, slope = loss - found, tried, found, there
        if gain <= enough * abs(loss):
            break
    return v, looks


def lbfgs_direction(slope: Floats, steps: Floats, past: list[tuple[Floats, Floats, float]]) -> Floats:
    """Return where to go from here, by the slope and the last steps."""
    move, back, room = -slope, [], np.empty_like(slope)
    for change, bend, along in reversed(past):
        back.append(dot(change, move) / along)
        move -= np.multiply(bend, back[-1], out=room)
    move *= steps
    if past:
        _, bend, along = past[-1]
        move *= along / dot(bend, np.multiply(steps, bend, out=room))
    for (change, bend, along), by in zip(past, reversed(back), strict=True):
        move += np.multiply(change, by - dot(bend, move) / along, out=room)
    return move


def dot(a: Floats, b: Floats) -> float:
    """Return the sum of products: always in the same order, whatever the threads."""
    return float(np.einsum("i,i->", a, b))
