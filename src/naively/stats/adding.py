"""Sums of many parts at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, Self, TypeVar

from ..errors import InvalidInput


class Summable(Protocol):
    """Counts of rows, or a look at rows: what adds up over parts."""

    @classmethod
    def sum_of(cls, parts: Sequence[Self]) -> Self:
        """Return the sum of all parts."""


Part = TypeVar("Part", bound=Summable)


def add(parts: Iterable[Part]) -> Part:
    """Return the sum of many parts: counts, or looks.

    The result is that of ``sum(parts)``. Words of texts are put together once, which takes about as long as one
    addition, however many parts there are.

    Parameters
    ----------
    parts : iterable of Counts, or of Look
        What was counted, or seen, of the rows of each part.

    Returns
    -------
    Counts or Look
        What was counted, or seen, of all rows.

    Raises
    ------
    InvalidInput
        If there is no part, or if parts are of different kinds.
    DoesNotFit
        If the parts are not of the same columns.

    Examples
    --------
    >>> import naively as nv
    >>> days = [{"sky": ["rain", "sunny"]}, {"sky": ["rain", "rain"]}]
    >>> nv.add(nv.count(day, ["in", "out"]) for day in days)
    Counts: 4 rows (in: 2, out: 2), 1 columns
    """
    given = list(parts)
    if not given:
        raise InvalidInput("There is nothing to add up; give one part or more.")
    kinds = list(dict.fromkeys(type(part) for part in given))
    if len(kinds) > 1 or not hasattr(kinds[0], "sum_of"):
        names = " and ".join(kind.__name__ for kind in kinds)
        raise InvalidInput(
            f"nv.add takes counts, or looks, and no other or both; got {names}. Models are added up by nv.merge."
        )
    return kinds[0].sum_of(given)
