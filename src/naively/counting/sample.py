"""Samples of rows, which add and subtract as counts do: what a model retains, and what is kept of files.

So what was fitted on top of counts can be fitted again. The sample of two models together follows from those of both,
whatever the order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from copy import copy
from dataclasses import dataclass, field, replace

import numpy as np

from .._types import Hashes, Longs, Places
from ..data.dict_rows import FewRows
from ..data.encoding import block_numbers
from ..data.frame import Frame, frame_of
from ..data.joining import owned_frame, text_bytes, without_unused_texts
from ..data.schema import Schema
from ..errors import RowNotCounted
from . import row_hash
from .counter import TableCounter
from .row_hash import number_contents, places_of_contents, proportional_copies, smallest_places
from .rows import Rows, measured_rows

# If texts are longer than so many bytes together, there are fewer rows, but some in any case.
BYTES, FEWEST = 1 << 26, 500
# Rows that came since join the others once they are more than this and more than these, or came in so many calls.
WAITING, CALLS = 1_000, 200

LARGEST_HASH = np.uint64(2**64 - 1)


def sample_places(rows: Rows, most: int, schema: Schema, threads: int) -> Places:
    """Return the places of a sample of rows, in the order of their hashes; of all rows, as they are, if they are few.

    It is a sample of the largest sample that is retained of files, so that it does not matter which of both is at hand.
    """
    if rows.target.rows <= most:
        return np.arange(rows.target.rows)
    hashes = rows.hashed(schema, threads)
    at = smallest_places(hashes, max(row_hash.KEPT, most), rows.own_weights)
    return at if len(at) <= most else at[smallest_places(hashes[at], most)]


def numbers_to_measure(counter: TableCounter, rows: Rows | None, binned: Collection[str], threads: int) -> Rows | None:
    """Return numbers in a sample of rows, to measure what they tell of the class; None if all are in bins."""
    columns = counter.of_numbers
    if rows is None or all(column.name in binned for column in columns):
        return None
    names, most = [column.name for column in columns], measured_rows(len(columns))
    if rows.target.rows > most:
        at = smallest_places(rows.hashed(counter.schema, threads), most, rows.weights)
        rows = replace(rows, source=rows.source.only(names)).take(np.sort(at))  # quicker in their order
    numbers = np.array(block_numbers(rows.source, columns, 0, rows.source.rows), dtype=np.float64)
    return Rows(frame_of(dict(zip(names, numbers.T, strict=True))), rows.target, rows.weights)


@dataclass(frozen=True, eq=False)
class Sample:
    """The rows of smallest hash of all that came; while they are few, all of them.

    Samples add, and rows can be taken out of them again. Of more rows than are retained each content is there once,
    with the number of its copies (in each fold, if rows are split). Rows of no weight are not in it.
    """

    schema: Schema  # of the columns, by which rows are hashed
    held: Rows | None = None
    copies: Longs | None = None  # of each row that is held; None: one
    limit: np.uint64 | None = None  # the largest hash of a row that is retained; None while all are
    ordered: bool = False  # whether the rows that are held lie in the order of their hashes; else as they came
    waiting: tuple[Rows, ...] = ()  # rows that came since, as they came
    waiting_bytes: int = 0  # of their texts
    most: int = field(default_factory=lambda: row_hash.KEPT)  # how many contents are retained
    whole: int = field(default_factory=lambda: row_hash.KEPT)  # of up to so many rows, all are

    @classmethod
    def of(cls, rows: Rows, schema: Schema, threads: int = 1) -> Sample:
        """Return the sample of rows that were counted."""
        return cls(replace(schema, hints=())).plus(rows, threads).together(threads)

    @classmethod
    def of_files(cls, schema: Schema) -> Sample:
        """Return the sample of no row of files yet: all are retained of up to twice as many as a model retains."""
        return cls(replace(schema, hints=()), whole=2 * row_hash.KEPT)

    # -- what there is ------------------------------------------------------------------------------------------

    @property
    def complete(self) -> bool:
        """Whether all rows that came, and weigh something, are there."""
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
        return sum(part.source.nbytes for part in (self.held, *self.waiting) if part is not None)

    def rows(self, *, ordered: bool = True) -> Rows:
        """Return the rows in the order of their hashes; while all are there, they may be wanted as they came.

        Of more rows than are retained, each content has its proportion of them.
        """
        sample = self.in_order() if ordered or not self.complete else self.together()
        held = sample._held
        if sample.copies is None:
            return replace(held, source=copy(held.source))  # what is noted of rows that are counted is not retained
        times = sample.copies if sample.complete else proportional_copies(sample.copies, self.most)
        return held.take(np.repeat(np.arange(len(times)), times))

    @property
    def _held(self) -> Rows:
        assert self.held is not None, "there are rows"
        return self.held

    @property
    def hashes(self) -> Hashes:
        """The hashes of the rows that are held, by which they lie in order."""
        hashes = self._held.hashes
        assert hashes is not None, "rows in their order were hashed"
        return hashes

    # -- more and fewer rows ------------------------------------------------------------------------------------

    def plus(self, rows: Rows, threads: int = 1, hashes: Callable[[], Hashes] | None = None) -> Sample:
        """Return these rows and more; `hashes` makes their hashes, and is called where they are needed."""
        if hashes is not None and not self._fits(rows.target.rows, int(text_bytes(rows.source, self.schema).sum())):
            rows.hashes = hashes()
        rows = rows if rows.weights is None or rows.weights.all() else rows.take(np.flatnonzero(rows.weights > 0))
        if not rows.target.rows:
            return self
        own = rows.owned(self.schema, self._places(rows, threads))
        size = self.waiting_bytes + int(text_bytes(own.source, self.schema).sum())
        sample = replace(self, waiting=(*self.waiting, own), waiting_bytes=size)
        return sample.together(threads) if sample._is_due() else sample

    def _places(self, rows: Rows, threads: int) -> Places | None:
        """Return the places of rows that may be retained where there are many more; None for all of them."""
        n = rows.target.rows
        if n <= self.whole and (self.complete or n <= WAITING):
            return None
        hashes = rows.hashed(self.schema, threads)
        if self.limit is None:  # one more than can all be retained, which tells that they are too many
            return np.sort(places_of_contents(hashes, self.whole + 1))
        near = np.flatnonzero(hashes <= self.limit)
        return near if len(near) <= self.most else near[np.sort(places_of_contents(hashes[near], self.most))]

    def _fits(self, rows: int = 0, size: int = 0) -> bool:
        """Return whether all rows can be retained if so many more come, with texts of so many bytes."""
        if not self.complete or self.total + rows > self.whole:
            return False
        size += self.waiting_bytes
        if self.held is not None and self.schema.of_kind("vectors"):
            size += int(text_bytes(self.held.source, self.schema).sum())
        return size <= BYTES or self.total + rows <= FEWEST

    def _is_due(self) -> bool:
        """Return whether rows that wait are so many that they shall join the others."""
        rows, held = sum(part.target.rows for part in self.waiting), 0 if self.held is None else self.held.target.rows
        dicts = any(isinstance(part.source, FewRows) for part in self.waiting)
        many = rows > (WAITING if dicts else max(WAITING, held))
        return many or len(self.waiting) > CALLS or (self.complete and not self._fits())

    def __add__(self, other: Sample) -> Sample:
        if not isinstance(other, Sample):
            return NotImplemented
        a, b = self.together(), other.together()
        if a.held is None or b.held is None:
            return a if b.held is None else replace(b, schema=a.schema)
        b = b if a.schema.columns == b.schema.columns else b.read_as(a.schema)
        if a.limit is not None or b.limit is not None:
            a, b = a.by_hash(), b.by_hash()
        limits = [part.limit for part in (a, b) if part.limit is not None]
        return replace(a._with(b), limit=min(limits, default=None)).shrunk()

    def __sub__(self, part: Sample) -> Sample:
        if not isinstance(part, Sample):
            return NotImplemented
        if part.held is None and not part.waiting:
            return self
        return self.without(replace(part.together(), limit=None).rows())  # no copy of a row may stay

    def __mul__(self, weight: float) -> Sample:
        sample = self.together()
        if sample.held is None:
            return sample
        held, complete = sample.held, sample.complete
        own = np.ones(held.target.rows) if held.weights is None else held.weights
        # Of more rows than are retained, those stay that were chosen by their hashes, which are of the weights before.
        held = replace(held, weights=own * weight, hashes=None if complete else held.hashes)
        return replace(sample, held=held, ordered=sample.ordered and not complete)

    __rmul__ = __mul__

    def without(self, rows: Rows, threads: int = 1) -> Sample:
        """Return these rows without some of them; a row that is not among them is refused if all are retained."""
        whole, gone = self.in_order(threads), rows.hashed(self.schema, threads)
        if rows.weights is not None:
            gone = gone[rows.weights > 0]
        if whole.held is None:
            raise RowNotCounted(0)
        left, unknown = remaining_copies(whole.hashes, whole.copies, gone)
        if len(unknown) if whole.complete else whole._has_faded(threads):
            return whole._lighter(rows, threads)
        return whole._at(np.flatnonzero(left > 0), left)

    def first_unknown(self, rows: Rows, threads: int = 1) -> int | None:
        """Return the first of some rows that cannot have been counted: it would be here. None if none can be told."""
        whole, hashes = self.in_order(threads), rows.hashed(self.schema, threads)
        if whole._has_faded(threads):
            return None
        limit = LARGEST_HASH if self.limit is None else self.limit
        known = np.zeros(0, dtype=np.uint64) if whole.held is None else whole.hashes
        heavy = True if rows.weights is None else rows.weights > 0
        unknown = np.flatnonzero(heavy & (hashes <= limit) & ~np.isin(hashes, known))
        return int(unknown[0]) if len(unknown) else None

    def _has_faded(self, threads: int) -> bool:
        """Tell whether rows were chosen by hashes of other weights than they have now."""
        if self.complete or self.held is None or self.held.weights is None or not self.ordered:
            return False
        return not np.array_equal(self.hashes, replace(self.held, hashes=None).hashed(self.schema, threads))

    def _lighter(self, rows: Rows, threads: int) -> Sample:
        """Return these rows less the weights of some: a row may stand for several, of which some are taken away."""
        held = self._held
        copies = np.ones(held.target.rows) if self.copies is None else self.copies
        own = copies * (1.0 if held.weights is None else held.weights)
        taken = np.ones(rows.target.rows) if rows.weights is None else rows.weights
        bare = (replace(part, weights=None, own=None, by_class=None, hashes=None) for part in (held, rows))
        known, gone = (part.hashed(self.schema, threads) for part in bare)
        places: dict[int, list[int]] = {}
        for index, content in enumerate(known.tolist()):
            places.setdefault(content, []).append(index)
        for row in np.flatnonzero(taken > 0).tolist():
            weight = float(taken[row])
            for index in places.get(int(gone[row]), []):
                part = min(weight, float(own[index]))
                own[index] -= part
                weight -= part
            if weight > 1e-9 * taken[row] and self.complete:
                raise RowNotCounted(row)
        lighter, left = own / copies, np.flatnonzero(own / copies > 1e-12 * (own / copies).max(initial=0.0))
        after = replace(self, held=replace(held, weights=lighter))._at(left)
        if not self.complete:
            return after
        return replace(after, held=replace(after._held, hashes=None), ordered=False).in_order(threads)

    def labeled(self) -> Sample:
        """Return the same without rows that have no label."""
        sample = self.in_order()
        if sample.held is None:
            return sample
        there = sample.held.target.codes >= 0
        return sample if there.all() else sample._at(np.flatnonzero(there))

    # -- how they lie -------------------------------------------------------------------------------------------

    def _at(self, places: Places, copies: Longs | None = None) -> Sample:
        """Return some of the rows that are held, and nothing of the others."""
        held = self._held.take(places)
        held = replace(held, source=without_unused_texts(held.source), target=held.target.without_unused_labels())
        times = None if self.copies is None else (self.copies if copies is None else copies)[places]
        return replace(self, held=held, copies=times)

    def _with(self, other: Sample) -> Sample:
        """Return this one with what both hold, in the order of their hashes if both are."""
        held = Rows.joined([self._held, other._held], self.schema)
        if not (self.ordered and other.ordered):
            return replace(self, held=held, copies=None, ordered=False)
        order = np.argsort(held.hashes, kind="stable")  # type: ignore[arg-type]  # both were hashed
        both = self.copies is not None and other.copies is not None
        copies = np.append(self.copies, other.copies)[order] if both else None  # type: ignore[arg-type]
        return replace(self, held=held.take(order), copies=copies)

    def together(self, threads: int = 1) -> Sample:
        """Return the same, rows that came since put to the others."""
        if not self.waiting:
            return self
        parts = frames_of_dicts(self.waiting, self.schema)
        if self.limit is not None or any(part.hashes is not None for part in (self.held, *parts) if part is not None):
            for part in parts if self.held is None else [self.held, *parts]:
                part.hashed(self.schema, threads)
        new, rest = Rows.joined(parts, self.schema), replace(self, waiting=(), waiting_bytes=0)
        if self.limit is not None:
            added = replace(rest, held=new, copies=None, ordered=False).by_hash(threads)
            return (added if self.held is None else rest._with(added)).shrunk(threads)
        held = new if self.held is None else Rows.joined([self.held, new], self.schema)
        copies = None if self.copies is None else np.append(self.copies, np.ones(new.target.rows, dtype=np.int64))
        return replace(rest, held=held, copies=copies, ordered=False).shrunk(threads)

    def read_as(self, schema: Schema, untyped: Collection[str] = ()) -> Sample:
        """Return the same rows, if all are retained, as another schema has their columns: so they are hashed again.

        Some columns may have no type any more, for they hold no value at all.
        """
        sample = self.together()
        if sample.held is None or not sample.complete:
            return sample
        source = sample.held.source.without_types(untyped) if untyped else sample.held.source
        return replace(sample, schema=schema, held=replace(sample.held, source=source, hashes=None), ordered=False)

    def without_values(self, names: Collection[str], schema: Schema) -> Sample:
        """Return the same rows, whose cells in some columns are all missing: these have no type. Hashes stay."""
        sample = replace(self.together(), schema=schema)
        if sample.held is None or not names:
            return sample
        return replace(sample, held=replace(sample.held, source=sample.held.source.without_types(names)))

    def only(self, schema: Schema) -> Sample:
        """Return the same rows without columns that a schema lacks."""
        sample = replace(self.together(), schema=replace(schema, hints=()))
        if sample.held is None:
            return sample
        return replace(sample, held=replace(sample.held, source=sample.held.source.only(schema.names)))

    def retained(self, schema: Schema, threads: int) -> Sample:
        """Return what a model retains of the rows of files, of fewer than are looked at: as a schema has them."""
        sample = replace(
            self.together(threads), schema=replace(schema, hints=()), most=row_hash.KEPT, whole=row_hash.KEPT
        )
        if sample.held is None:
            return sample
        held = replace(sample.held, source=sample.held.source.on(schema), folds=None)
        return replace(sample, held=held).shrunk(threads)

    def in_order(self, threads: int = 1) -> Sample:
        """Return the same in the order of their hashes."""
        sample = self.together(threads)
        if sample.held is None or sample.ordered:
            return sample
        order = np.argsort(sample.held.hashed(self.schema, threads), kind="stable")
        copies = None if sample.copies is None else sample.copies[order]
        return replace(sample, held=sample.held.take(order), copies=copies, ordered=True)

    def by_hash(self, threads: int = 1) -> Sample:
        """Return the same, each content once with its copies, or once in each fold; only those up to the limit."""
        sample = self.in_order(threads)
        if sample.held is None:
            return sample
        held, hashes, folds = sample.held, sample.hashes, sample.held.folds
        copies = np.ones(len(hashes), dtype=np.int64) if sample.copies is None else sample.copies
        if folds is not None:
            order = np.lexsort((folds, hashes))
            held, hashes, folds, copies = held.take(order), hashes[order], folds[order], copies[order]
        new = np.append(True, hashes[1:] != hashes[:-1])[: len(hashes)]
        if folds is not None:
            new[1:] |= folds[1:] != folds[:-1]
        limit, first = LARGEST_HASH if sample.limit is None else sample.limit, np.flatnonzero(new)
        times = np.add.reduceat(copies, first) if len(first) else copies
        there = hashes[first] <= limit
        weights = held.weights
        if weights is not None and len(first) < len(weights):  # copies of which some have faded: the mean of them
            mean = np.add.reduceat(copies * weights, first) / times
            same = np.abs(mean - weights[first]) <= 1e-12 * weights[first]
            weights = weights.copy()
            weights[first] = np.where(same, weights[first], mean)
            held = replace(held, weights=weights)
        held = held if len(held.target.codes) == np.count_nonzero(there) else held.take(first[there])
        return replace(sample, held=held, copies=times[there], limit=limit)

    def shrunk(self, threads: int = 1) -> Sample:
        """Return as many contents as are retained, if these are more."""
        if self.held is None or self._fits():
            return self
        sample = self.by_hash(threads)
        rank, size = number_contents(sample.hashes), text_bytes(sample._held.source, sample.schema)
        first = np.append(True, rank[1:] > rank[:-1])[: len(rank)]
        fits = (np.cumsum(np.where(first, size, 0)) <= BYTES) | (rank <= FEWEST)
        count = int(np.count_nonzero((rank <= self.most) & fits))
        if count == len(rank):
            return sample
        return replace(sample._at(np.arange(count)), limit=sample.hashes[count - 1])


def frames_of_dicts(parts: Sequence[Rows], schema: Schema) -> list[Rows]:
    """Return rows as frames; all that came as dicts are read at once."""
    few = [part for part in parts if isinstance(part.source, FewRows)]
    if not few:
        return list(parts)
    joined = Rows.joined(few, schema)
    read = replace(joined, source=owned_frame(Frame(joined.source.columns, joined.source.rows)))
    return [*(part for part in parts if not isinstance(part.source, FewRows)), read]


def remaining_copies(known: Hashes, copies: Longs | None, gone: Hashes) -> tuple[Longs, Hashes]:
    """Return how often each content, in the order of their hashes, is left; and which are not there so often."""
    if copies is None:  # rows of one content stand beside each other
        left, rank = np.ones(len(known), dtype=np.int64), np.arange(len(known)) - np.searchsorted(known, known)
        taken = np.searchsorted(np.sort(gone), known, side="right") - np.searchsorted(np.sort(gone), known)
        left[rank < taken] = 0
        there = np.searchsorted(known, gone, side="right") - np.searchsorted(known, gone)
    else:
        result, times = np.unique(gone, return_counts=True)
        taken = np.zeros(len(known), dtype=np.int64)
        same = np.isin(result, known)
        taken[np.searchsorted(known, result[same])] = times[same]
        left = copies - taken
        place = np.minimum(np.searchsorted(known, gone), max(len(known) - 1, 0))
        there = np.where(np.isin(gone, known), copies[place] if len(copies) else 0, 0)
    result, which, times = np.unique(gone, return_inverse=True, return_counts=True)
    return left, gone[there < times[which]]
