"""Rows that are kept beside the counts of a model, so that what was fitted on top of them can be fitted anew.

Up to 50,000 rows are kept, all of them while there are no more. Of more rows those are kept whose content has the
smallest hash, each content once with the number of its copies. So the kept rows of two models together follow from
those of both, whatever the order, and rows can be taken away again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._types import CellLike, Hashes, Longs, Places
from ..data.frame import Frame
from ..data.schema import Schema
from ..data.target import SoftLabels
from ..data.values import ColumnValues
from ..errors import RowNotCounted
from . import sample
from .counter import TableCounter
from .files import FileRows
from .owned_rows import (
    affordable_contents,
    joined_rows,
    joined_targets,
    owned_column,
    owned_rows,
    part_bytes,
    text_bytes_of,
    without_unused_classes,
)
from .rows import Rows
from .sample import LARGEST_HASH, places_of_contents, proportional_copies
from .sampled_rows import hashes_of_rows, rows_of_part

# Rows that came since are put to the others once they are so many, or came in so many calls.
WAITING, CALLS = 1_000, 200


@dataclass(frozen=True, eq=False)
class KeptRows:
    """Rows of smallest hash, of all that were counted; all of them while they are few."""

    schema: Schema  # of the columns; without bins
    held: Rows | None = None
    copies: Longs | None = None  # of each content; None: one
    hashes: Hashes | None = None  # of each row that is held, in order; None if they stand as they came
    limit: np.uint64 | None = None  # the largest hash of a row that is kept; None while all are
    waiting: tuple[Rows, ...] = ()  # rows that came since, as they came
    waiting_bytes: int = 0  # of their texts

    @classmethod
    def of(cls, rows: Rows, schema: Schema, threads: int = 1) -> KeptRows:
        """Return what is kept of rows that were counted."""
        bare = replace(schema, hints=())
        return cls(bare).plus(rows, threads).together(threads)

    @classmethod
    def of_file(cls, rows: FileRows, counter: TableCounter, threads: int = 1) -> KeptRows:
        """Return what is kept of the rows of files that were counted with a sample."""
        assert rows.sample is not None, "a sample was kept"
        part, limit = rows.sample.contents()
        held = rows_of_part(rows, part, counter)
        if limit is None:
            return cls.of(held, counter.schema, threads)
        bare = replace(counter.schema, hints=())
        kept = cls(bare, owned_rows(held, bare), part.copies, part.hashes, limit)
        return kept.shrunk(threads)

    # -- what there is ------------------------------------------------------------------------------------------

    @property
    def complete(self) -> bool:
        """Whether all rows that were counted are there."""
        return self.limit is None

    @property
    def total(self) -> int:
        """How many rows there are, copies included."""
        held = 0 if self.held is None else self.held.target.rows
        waiting = sum(part.target.rows for part in self.waiting)
        return waiting + (held if self.copies is None else int(self.copies.sum()))

    @property
    def nbytes(self) -> int:
        """How many bytes the cells take."""
        return sum(part_bytes(part) for part in ((self.held,) if self.held is not None else ()) + self.waiting)

    def rows(self) -> Rows:
        """Return the rows in the order of their hashes; of more than are kept, each content with its proportion."""
        whole = self.in_order()
        if whole.copies is None or self.complete:
            return whole.every_copy()
        return whole.every_copy(proportional_copies(whole.copies, sample.KEPT))

    def every_copy(self, copies: Longs | None = None) -> Rows:
        """Return the rows that are held, each as often as it was counted, or as often as this says."""
        assert self.held is not None, "there are rows"
        times = self.copies if copies is None else copies
        return self.held if times is None else self.held.take(np.repeat(np.arange(len(times)), times))

    # -- more and fewer rows ------------------------------------------------------------------------------------

    def plus(self, rows: Rows, threads: int = 1) -> KeptRows:
        """Return these rows and more."""
        rows = rows if rows.weights is None or rows.weights.all() else rows.take(np.flatnonzero(rows.weights > 0))
        if not rows.target.rows:
            return self
        if not isinstance(rows.source, Frame):
            names = self.schema.names
            cells = [{name: row.get(name) for name in names} for row in rows.source]
            own = replace(rows, source=cells, weights=rows.own_weights, own=None, by_class=None, hashes=None)
        else:
            own = owned_rows(rows, self.schema, smallest_rows(rows, self.schema, self.limit, threads))
        size = self.waiting_bytes + text_bytes_of(own, self.schema)
        kept = replace(self, waiting=(*self.waiting, own), waiting_bytes=size)
        many = sum(part.target.rows for part in kept.waiting) > WAITING or len(kept.waiting) > CALLS
        return kept.together(threads) if many or (self.complete and kept.may_be_too_many()) else kept

    def may_be_too_many(self) -> bool:
        """Tell whether these are more rows than can all be kept, or whether their texts are too long for that."""
        if self.total > sample.KEPT or not self.waiting_bytes:
            return self.total > sample.KEPT
        held = 0 if self.held is None else text_bytes_of(self.held, self.schema)
        return held + self.waiting_bytes > sample.BYTES and self.total > sample.FEWEST

    def __add__(self, other: KeptRows) -> KeptRows:
        if not isinstance(other, KeptRows):
            return NotImplemented
        a, b = self.together(), other.together()
        if a.held is None or b.held is None:
            return a if b.held is None else replace(b, schema=a.schema)
        b = b if a.schema.columns == b.schema.columns else b.read_as(a.schema)
        if a.limit is not None or b.limit is not None:
            a, b = a.by_hash(), b.by_hash()
        limits = [part.limit for part in (a, b) if part.limit is not None]
        return replace(with_contents(a, b), limit=min(limits, default=None)).shrunk()

    def __sub__(self, part: KeptRows) -> KeptRows:
        if not isinstance(part, KeptRows):
            return NotImplemented
        if part.held is None and not part.waiting:
            return self
        return self.without(part.in_order().every_copy())  # no copy of a row may stay

    def __mul__(self, weight: float) -> KeptRows:
        kept = self.together()
        if kept.held is None:
            return kept
        own = np.ones(kept.held.target.rows) if kept.held.weights is None else kept.held.weights
        # Of more rows than are kept, those stay that were chosen by their hashes, which are of the weights before.
        hashes = None if kept.complete else kept.hashes
        return replace(kept, held=replace(kept.held, weights=own * weight, hashes=None), hashes=hashes)

    __rmul__ = __mul__

    def without(self, rows: Rows, threads: int = 1) -> KeptRows:
        """Return these rows without some of them; a row that is not among them is refused if all are kept."""
        whole, gone = self.in_order(threads), hashes_of_rows(rows, self.schema, threads)
        if rows.weights is not None:
            gone = gone[rows.weights > 0]
        if whole.held is None or whole.hashes is None:
            raise RowNotCounted(0)
        left, unknown = remaining_copies(whole.hashes, whole.copies, gone)
        if len(unknown) if whole.complete else whole.is_faded(threads):
            return whole.lighter(rows, threads)
        return whole.at(np.flatnonzero(left > 0), left)

    def first_unknown(self, rows: Rows, threads: int = 1) -> int | None:
        """Return the first of some rows that cannot have been counted: it would be kept. None if none can be told."""
        whole, found = self.in_order(threads), hashes_of_rows(rows, self.schema, threads)
        if whole.is_faded(threads):
            return None
        limit = LARGEST_HASH if self.limit is None else self.limit
        known = np.zeros(0, dtype=np.uint64) if whole.hashes is None else whole.hashes
        heavy = True if rows.weights is None else rows.weights > 0
        unknown = np.flatnonzero(heavy & (found <= limit) & ~np.isin(found, known))
        return int(unknown[0]) if len(unknown) else None

    def is_faded(self, threads: int = 1) -> bool:
        """Tell whether rows were chosen by hashes of other weights than they have now."""
        if self.complete or self.held is None or self.held.weights is None or self.hashes is None:
            return False
        return not np.array_equal(self.hashes, hashes_of_rows(replace(self.held, hashes=None), self.schema, threads))

    def lighter(self, rows: Rows, threads: int) -> KeptRows:
        """Return these rows less the weights of some: a row may stand for several, of which some are taken away."""
        assert self.held is not None
        copies = np.ones(self.held.target.rows) if self.copies is None else self.copies
        own = copies * (1.0 if self.held.weights is None else self.held.weights)
        taken = np.ones(rows.target.rows) if rows.weights is None else rows.weights
        bare = (replace(part, weights=None, own=None, by_class=None, hashes=None) for part in (self.held, rows))
        known, gone = (hashes_of_rows(part, self.schema, threads) for part in bare)
        places: dict[int, list[int]] = {}
        for at, content in enumerate(known.tolist()):
            places.setdefault(content, []).append(at)
        for at in np.flatnonzero(taken > 0).tolist():
            weight = float(taken[at])
            for place in places.get(int(gone[at]), []):
                part = min(weight, float(own[place]))
                own[place] -= part
                weight -= part
            if weight > 1e-9 * taken[at] and self.complete:
                raise RowNotCounted(at)
        after = replace(self, held=replace(self.held, weights=own / copies, hashes=None))
        return (replace(after, hashes=None).in_order(threads) if self.complete else after).heavier_than_nothing()

    def heavier_than_nothing(self) -> KeptRows:
        """Return the same without rows of no weight."""
        assert self.held is not None
        weights = self.held.weights
        return self if weights is None else self.at(np.flatnonzero(weights > 1e-12 * weights.max(initial=0.0)))

    def labelled(self) -> KeptRows:
        """Return the same without rows that have no label."""
        kept = self.in_order()
        if kept.held is None or isinstance(kept.held.target, SoftLabels):
            return kept
        there = kept.held.target.codes >= 0
        return kept if there.all() else kept.at(np.flatnonzero(there))

    # -- how they lie -------------------------------------------------------------------------------------------

    def at(self, places: Places, copies: Longs | None = None) -> KeptRows:
        """Return some of the rows that are held, and nothing of the others."""
        assert self.held is not None
        assert self.hashes is not None
        held = self.held.take(places)
        held = replace(held, target=without_unused_classes(held.target))
        if isinstance(held.source, Frame) and held.source.matrix is None:
            columns = {name: without_unused(values) for name, values in held.source.columns.items()}
            held = replace(held, source=Frame(columns, held.source.rows, named=held.source.named))
        times = None if self.copies is None else (self.copies if copies is None else copies)[places]
        return replace(self, held=held, copies=times, hashes=self.hashes[places])

    def together(self, threads: int = 1) -> KeptRows:
        """Return the same, rows that came since put to the others."""
        if not self.waiting:
            return self
        new = joined_rows(owned_parts(self.waiting, self.schema), self.schema)
        if self.limit is None:
            held = new if self.held is None else joined_rows([self.held, new], self.schema)
            copies = None if self.copies is None else np.append(self.copies, np.ones(new.target.rows, dtype=np.int64))
            whole = replace(self, held=held, copies=copies, hashes=None, waiting=(), waiting_bytes=0)
            return whole.shrunk(threads)
        added = KeptRows(self.schema, new, limit=self.limit).by_hash(threads)
        both = added if self.held is None else with_contents(self, added)
        return replace(both, waiting=(), waiting_bytes=0).shrunk(threads)

    def read_as(self, schema: Schema) -> KeptRows:
        """Return the same rows as columns of another schema have them, such as other bins: so they are hashed anew."""
        if self.held is None or self.limit is not None:
            return self
        return replace(self, schema=schema, held=replace(self.held, hashes=None), hashes=None)

    def with_columns_of(self, schema: Schema, untyped: Collection[str]) -> KeptRows:
        """Return the same rows, all of them kept, as columns of another schema; some columns hold no value at all."""
        kept = self.together()
        if kept.held is None or not isinstance(kept.held.source, Frame):
            return replace(kept, schema=schema)
        held = replace(kept.held, source=kept.held.source.without_types(untyped))
        return replace(kept, held=held).read_as(schema)

    def in_order(self, threads: int = 1) -> KeptRows:
        """Return the same in the order of their hashes."""
        kept = self.together(threads)
        return kept if kept.held is None or kept.hashes is not None else kept._sorted(threads)

    def by_hash(self, threads: int = 1) -> KeptRows:
        """Return the same, each content once with its copies; only those up to the limit."""
        kept = self.in_order(threads)
        if kept.held is None or kept.hashes is None:
            return kept
        copies = np.ones(len(kept.hashes), dtype=np.int64) if kept.copies is None else kept.copies
        limit = LARGEST_HASH if kept.limit is None else kept.limit
        there = int(np.searchsorted(kept.hashes, limit, side="right"))
        first = np.flatnonzero(np.append(True, kept.hashes[1:] != kept.hashes[:-1])[: len(kept.hashes)])
        times = np.add.reduceat(copies, first) if len(first) else copies
        once = replace(kept, copies=copies, limit=limit).at(first[first < there])
        return replace(once.averaged(kept, first, times), copies=times[first < there])

    def averaged(self, several: KeptRows, first: Places, times: Longs) -> KeptRows:
        """Return the same; rows that stand for several have the mean of their weights, for some may have faded."""
        assert self.held is not None
        assert several.held is not None
        own, weights = self.held.weights, several.held.weights
        if own is None or weights is None or not len(own) or len(first) == len(weights):
            return self
        copies = np.ones(len(weights)) if several.copies is None else several.copies
        mean = (np.add.reduceat(copies * weights, first) / times)[: len(own)]
        same = np.abs(mean - own) <= 1e-12 * own
        return replace(self, held=replace(self.held, weights=np.where(same, own, mean)))

    def shrunk(self, threads: int = 1) -> KeptRows:
        """Return as many contents as are kept, if these are more."""
        if self.held is None or (self.limit is None and self._fits()):
            return self
        kept = self.by_hash(threads)
        assert kept.held is not None
        assert kept.hashes is not None
        most = affordable_contents(kept.held, kept.schema)
        if len(kept.hashes) <= most:
            return kept
        return replace(kept.at(np.arange(most)), limit=kept.hashes[most - 1])

    def _fits(self) -> bool:
        """Return whether all rows can be kept."""
        assert self.held is not None
        return self.total <= sample.KEPT and affordable_contents(self.held, self.schema) == self.held.target.rows

    def _sorted(self, threads: int) -> KeptRows:
        assert self.held is not None
        hashes = hashes_of_rows(self.held, self.schema, threads)
        order = np.argsort(hashes, kind="stable")
        copies = None if self.copies is None else self.copies[order]
        return replace(self, held=self.held.take(order), copies=copies, hashes=hashes[order])


def can_be_kept(rows: Rows) -> bool:
    """Tell whether Arrow can hold the cells of rows: of rows given as dicts, half a pair of surrogates it cannot."""
    if isinstance(rows.source, Frame):
        return True
    texts = (cell for row in rows.source for cell in row.values() if isinstance(cell, str) and not cell.isascii())
    return not any("\ud800" <= letter <= "\udfff" for text in texts for letter in text)


def owned_parts(parts: Sequence[Rows], schema: Schema) -> list[Rows]:
    """Return rows as frames; all that came as dicts are read at once."""
    frames, dicts = [part for part in parts if isinstance(part.source, Frame)], list[Mapping[str, CellLike]]()
    few = [part for part in parts if not isinstance(part.source, Frame)]
    for part in few:
        dicts += part.source  # type: ignore[arg-type]  # a list of dicts: it is no frame
    if not few:
        return frames
    weights = [np.ones(part.target.rows) if part.weights is None else part.weights for part in few]
    heavy = None if all(part.weights is None for part in few) else np.concatenate(weights)
    whole = replace(few[0], source=dicts, target=joined_targets([part.target for part in few]), weights=heavy)
    return [*frames, owned_rows(replace(whole, own=None, by_class=None, hashes=None), schema)]


def smallest_rows(rows: Rows, schema: Schema, limit: np.uint64 | None, threads: int) -> Places | None:
    """Return the places of rows that may be kept where there are many more; None for all of them."""
    n = rows.target.rows
    if n <= sample.KEPT and (limit is None or n <= WAITING):
        return None
    hashes = hashes_of_rows(rows, schema, threads)
    near = places_of_contents(hashes, sample.KEPT + 1)  # one more than are kept, which tells that not all are
    return np.sort(near if limit is None else near[hashes[near] <= limit])


def with_contents(a: KeptRows, b: KeptRows) -> KeptRows:
    """Return the first one with what both hold, in the order of their hashes if both are."""
    assert a.held is not None
    assert b.held is not None
    held = joined_rows([a.held, b.held], a.schema)
    if a.hashes is None or b.hashes is None:
        return replace(a, held=held, hashes=None, copies=None)
    hashes = np.concatenate([a.hashes, b.hashes])
    order = np.argsort(hashes, kind="stable")
    a = replace(a, held=held.take(order), hashes=hashes[order])
    if a.copies is None or b.copies is None:
        return replace(a, copies=None)
    return replace(a, copies=np.append(a.copies, b.copies)[order])


def remaining_copies(known: Hashes, copies: Longs | None, gone: Hashes) -> tuple[Longs, Hashes]:
    """Return how often each content, in the order of their hashes, is left; and which are not there so often."""
    if copies is None:  # rows of one content stand beside each other
        left, rank = np.ones(len(known), dtype=np.int64), np.arange(len(known)) - np.searchsorted(known, known)
        taken = np.searchsorted(np.sort(gone), known, side="right") - np.searchsorted(np.sort(gone), known)
        left[rank < taken] = 0
        there = np.searchsorted(known, gone, side="right") - np.searchsorted(known, gone)
    else:
        found, times = np.unique(gone, return_counts=True)
        taken = np.zeros(len(known), dtype=np.int64)
        same = np.isin(found, known)
        taken[np.searchsorted(known, found[same])] = times[same]
        left = copies - taken
        place = np.minimum(np.searchsorted(known, gone), max(len(known) - 1, 0))
        there = np.where(np.isin(gone, known), copies[place] if len(copies) else 0, 0)
    found, which, times = np.unique(gone, return_inverse=True, return_counts=True)
    return left, gone[there < times[which]]


def without_unused(values: object) -> object:
    """Return a column whose texts lie as codes without the texts that no row holds."""
    if not isinstance(values, ColumnValues) or not values.categorical or isinstance(values.data, np.ndarray):
        return values
    return owned_column(values.on(values.arrow().dictionary_decode()))
