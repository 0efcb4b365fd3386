"""The one way to choose rows: those whose content has the smallest hash.

The sample of a table follows from its rows alone, neither from their order nor from where they are read. It can be
merged: the sample of two tables together follows from the samples of both. Rows with the same content have the same
hash, so that all copies of a row are in the sample, or none is; a row counts with all its copies. Where there are more
copies than the sample may have rows, every content keeps its proportion of them: the copies stand in the order of their
hashes, and one of every so many is taken.
"""

from __future__ import annotations

import numpy as np

from .._types import Floats, Hashes, Longs, Mask, Places
from ..stats.arithmetic import mix_hashes

# The rows of a sample, at most.
KEPT = 50_000


def smallest_places(hashes: Hashes, most: int, weights: Floats | None = None) -> Places:
    """Return the places of the sample of some rows, in the order of their hashes; rows of no weight are not in it.

    >>> smallest_places(np.array([5, 9, 1, 5, 5, 1], dtype=np.uint64), 3).tolist()  # of 3 contents every second row
    [2, 0, 4]
    """
    there = None if weights is None or weights.all() else np.flatnonzero(weights > 0)
    result = hashes if there is None else hashes[there]
    near = places_of_contents(result, most)
    near = near[proportional_copies(np.ones(len(near), dtype=np.int64), most) > 0]
    return near if there is None else there[near]


def places_of_contents(hashes: Hashes, most: int) -> Places:
    """Return the places of all rows of so many contents of smallest hash, in the order of their hashes."""
    wanted = float(most)
    while wanted + 6 * wanted**0.5 < len(hashes):  # hashes are spread evenly: so many are below this, unless by chance
        near = np.flatnonzero(hashes <= np.uint64((wanted + 6 * wanted**0.5) / len(hashes) * 2.0**64))
        near = near[np.argsort(hashes[near], kind="stable")]
        if number_contents(hashes[near])[-1:].sum() > most:
            break
        wanted *= 8  # there are copies
    else:
        near = np.argsort(hashes, kind="stable")
    return near[number_contents(hashes[near]) <= most]


def number_contents(ordered: Hashes) -> Longs:
    """Return the number of each row's content, 1 for the first, given their hashes in order."""
    return np.cumsum(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])


def proportional_copies(copies: Longs, most: int) -> Longs:
    """Return how many copies of each content are taken if there are too many: in proportion, and so many in sum.

    >>> proportional_copies(np.array([1, 1, 10, 4]), 8).tolist(), proportional_copies(np.array([1, 2]), 8).tolist()
    ([1, 0, 5, 2], [1, 2])
    """
    total = int(copies.sum())
    if total <= most:
        return copies
    upto = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(copies)])
    return np.diff((upto * most + total // 2) // total)


def in_proportion(hashes: Hashes, proportion: float) -> Mask:
    """Return which rows of a block are in a sample of about such a proportion of all rows, by their content.

    It is for samples too large to be kept. Copies of a row are numbered within the block, and each is in the sample or
    not by its number, so that few contents with many copies keep their proportions.
    """
    order = np.argsort(hashes, kind="stable")
    ordered, number = hashes[order], np.empty(len(hashes), dtype=np.uint64)
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])
    number[order] = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
    return (mix_hashes(hashes + number) >> np.uint64(11)).astype(np.float64) < proportion * 2.0**53
