"""Names of terms, and what every kind of term provides: its scores by counts, and its tables."""

from __future__ import annotations

from typing import NamedTuple

from ..._types import Floats, Singles


class Term(NamedTuple):
    """The name of a term: its kind, its resolution or its column of words, and its columns by place on the grid."""

    kind: str
    level: str | int | None = None
    columns: tuple[int, ...] = ()

    @property
    def block(self) -> Term:
        """The terms that share a weight at first: those of the same kind and resolution."""
        return Term(self.kind, self.level)


TermValues = Singles | Floats  # the values of a term for some rows, [class, row]
Terms = dict[Term, TermValues]
