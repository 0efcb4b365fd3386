"""Which columns share a query: a database groups rows by several columns in one pass, if they have few values."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np

from .._types import Mask

Key = TypeVar("Key", bound=Hashable)


def grouped_columns(sizes: Mapping[Key, int], most: int) -> list[list[Key]]:
    """Return columns in groups whose numbers of values multiply to at most so many; larger columns stand alone.

    >>> grouped_columns({"a": 10, "b": 3, "c": 200, "d": 4}, 100)
    [['b', 'd'], ['a'], ['c']]
    """
    groups: list[list[Key]] = []
    product = most + 1
    for key in sorted(sizes, key=lambda key: sizes[key]):
        product *= sizes[key]
        if product > most:
            groups.append([])
            product = sizes[key]
        groups[-1].append(key)
    return groups


def covering_blocks(uncounted: Mask, sizes: Sequence[int], most: int) -> Iterator[list[int]]:
    """Yield blocks of columns until every pair that is not counted was in one; whoever takes a block marks its pairs.

    The numbers of values of a block multiply to at most so many, if it has more than two columns.
    """
    while uncounted.any():
        pair = int(np.argmax(uncounted))
        block = [pair // len(sizes), pair % len(sizes)]
        product = sizes[block[0]] * sizes[block[1]]
        while True:
            gains = uncounted[block].sum(axis=0) + uncounted[:, block].sum(axis=1)
            gains[block] = 0
            gains[product * np.asarray(sizes) > most] = 0
            best = int(np.argmax(gains))
            if 2 * gains[best] < len(block):
                break
            block.append(best)
            product *= sizes[best]
        yield sorted(block)
