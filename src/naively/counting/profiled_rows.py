"""What a profile keeps of rows: counts of single columns, a sample of the rows, and how long texts are.

The parts of one table may be looked at in different processes; what they saw adds up, and can be sent as bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np
import pyarrow as pa

from .._types import Codes, DType, Floats, Hashes, Label
from ..data.column import Column
from ..data.frame import Frame, frame_of
from ..data.model_file.labels import from_json, labels_in_json
from ..data.schema import Schema
from ..errors import UnreadableFile
from ..families import Gaussian
from ..files.file import File
from ..files.streams import StreamPart
from ..stats import Counts
from .counter import TableCounter
from .files import FileRows
from .first_look import cells_hasher, uncut_columns
from .row_hash import RowHasher, frame_hashes
from .sample import Hasher, RowSample, sample_of_bytes, sample_to_bytes

FORMAT, VERSION = "naively profile", 1


@dataclass(frozen=True, eq=False)
class ProfiledRows:
    """What was seen of some rows."""

    types: Schema  # what the columns are by their types; bins may have no cuts, and pairs of words may be undecided
    counts: Counts  # of labels and numbers; bins without cuts count as numbers
    labels: tuple[Label, ...]  # the classes, by their codes in the samples
    label_type: DType
    sample: RowSample | None = None  # None if there is no row
    cells: RowSample | None = None  # of columns whose bins have no cuts yet
    text_bytes: Mapping[str, float] = field(default_factory=dict)  # of columns of words, how long they are
    rows: int = 0  # those that have a label and a weight above 0
    skipped: int = 0  # those without a label
    weighed: tuple[int, float] = (0, 0.0)  # rows of weight, and their sum
    heaviest: Mapping[Label, float] | None = None  # the weight of the heaviest row of each class
    named: frozenset[str] = frozenset()  # columns that the user named: they stay, however many values they have

    @classmethod
    def of(
        cls,
        rows: FileRows,
        types: Schema,
        counter: TableCounter,
        cells: RowSample | None,
        text_bytes: Mapping[str, float],
    ) -> ProfiledRows:
        """Return what was seen of rows that were just counted."""
        labels = tuple(counter.classes.places)
        heaviest = None if rows.heaviest is None else dict(zip(labels, rows.heaviest.tolist(), strict=False))
        return cls(
            types,
            narrow_counts(counter),
            labels,
            rows.label_type,
            rows.sample,
            cells,
            dict(text_bytes),
            rows.counted,
            rows.skipped,
            rows.weighed,
            heaviest,
            frozenset(str(name) for name in rows.asked),
        )

    @classmethod
    def of_nothing(cls, schema: Schema, target: str, weight: str | None) -> ProfiledRows:
        """Return what is seen of no rows."""
        types = replace(schema, target=target, weight=weight)
        counter = TableCounter(planned(types))
        return cls(types, narrow_counts(counter), (), np.dtype(object), named=frozenset(schema.unusual()))

    def counted_names(self, most: int) -> list[str]:
        """Return the columns that are counted: those with more labels than so many are set aside, unless named."""
        found = []
        for column in self.types:
            table = self.counts.columns.get(column.name)
            many = column.kind == "labels" and table is not None and len(getattr(table, "values", ())) > most
            if column.name in self.named or not many or column.type != "text":
                found.append(column.name)
        return found

    def hashing_counter(self) -> TableCounter:
        """Return a counter that reads rows of the sample, with the codes that their classes have there."""
        return TableCounter(planned(self.types), self.labels)

    def file_rows(self) -> FileRows:
        """Return the rows that were seen as those of a file that was counted: the sample is what is left of them."""
        target = self.types.target
        assert target is not None, "rows have classes"
        nothing = File.of_stream(StreamPart(lambda: (), "<rows>"))
        rows = FileRows(nothing, target, self.types.weight, sampling=True)
        rows.sample, rows.label_type, rows.weighed = self.sample, self.label_type, self.weighed
        rows.counted, rows.skipped, rows.rows = self.rows, self.skipped, self.rows + self.skipped
        if self.sample is not None:
            rows.first = frame_of(self.sample.rows().table)
        if self.heaviest is not None:
            rows.heaviest = np.array([self.heaviest.get(label, 0.0) for label in self.counts.classes.labels])
        return rows

    def typed_as(self, types: Schema) -> ProfiledRows:
        """Return the same, columns without any value being what they are in the rows of other parts."""
        names = [name for name in self.types.empty if types[name].type != "empty"]
        if not names or self.sample is None:
            return self
        return replace(self, types=self.types.typed_as(types, names), sample=self.sample.without_values(names))

    def recoded(self, labels: Sequence[Label]) -> ProfiledRows:
        """Return the same, the classes of the samples coded by these labels."""
        places = np.array([*(labels.index(label) for label in self.labels), -1], dtype=np.int32)
        again = replace(self, labels=tuple(labels))
        hashing = hasher_of(again.hashing_counter())
        sample = None if self.sample is None else self.sample.recoded(places, hashing)
        cells = None if self.cells is None else self.cells.recoded(places, self.cells.hasher)
        return replace(again, sample=sample, cells=cells)


def planned(types: Schema) -> Schema:
    """Return the columns as they are counted in a profile: bins without cuts as numbers."""
    uncut = {column.name for column in uncut_columns(types)}
    columns = (replace(c, family=Gaussian()) if c.name in uncut else c for c in types)
    return replace(types, columns=tuple(columns))


def narrow_counts(counter: TableCounter) -> Counts:
    """Return what was counted of labels and numbers, without texts."""
    counts = counter.value()
    columns: list[Column] = [*counter.of_labels, *counter.of_numbers]
    names = {column.name for column in columns}
    found = {name: statistic for name, statistic in counts.columns.items() if name in names}
    return Counts(counts.classes, counts.rows, found, counter.schema.only(names))


def hasher_of(counter: TableCounter) -> Hasher:
    """Return what hashes rows as a counter reads them."""
    hasher = RowHasher(counter)

    def hashes(frame: Frame, y: Codes, weights: Floats) -> Hashes:
        return frame_hashes(hasher, frame, y, weights, 1)

    return hashes


# -- several parts -----------------------------------------------------------------------------------------------------


def joined_profiles(parts: Sequence[ProfiledRows]) -> ProfiledRows:
    """Return what was seen of the rows of all parts."""
    types = reduce(Schema.beside, (part.types for part in parts))
    parts = [part.typed_as(types) for part in parts]
    first = parts[0]
    counts = Counts.sum_of([part.counts for part in parts])
    labels = list(dict.fromkeys(label for part in parts for label in part.labels))
    parts = [part.recoded(labels) for part in parts]
    lengths = [part.text_bytes for part in parts]
    heaviest: dict[Label, float] = {}
    for part in parts:
        for label, weight in (part.heaviest or {}).items():
            heaviest[label] = max(weight, heaviest.get(label, 0.0))
    return ProfiledRows(
        types,
        counts,
        tuple(labels),
        next((part.label_type for part in parts if part.labels), first.label_type),
        joined_samples([part.sample for part in parts]),
        joined_samples([part.cells for part in parts]),
        {name: sum(one.get(name, 0.0) for one in lengths) for one in lengths for name in one},
        sum(part.rows for part in parts),
        sum(part.skipped for part in parts),
        (sum(part.weighed[0] for part in parts), sum(part.weighed[1] for part in parts)),
        heaviest or None,
        frozenset().union(*(part.named for part in parts)),
    )


def joined_samples(samples: Sequence[RowSample | None]) -> RowSample | None:
    """Return the sample of the rows of several samples."""
    found: RowSample | None = None
    for sample in samples:
        if found is None:
            found = None if sample is None else sample.apart()
        elif sample is not None:
            found.absorb(sample)
    return found


# -- bytes -------------------------------------------------------------------------------------------------------------


def profile_to_bytes(seen: ProfiledRows) -> bytes:
    """Return what was seen as one row of an Arrow stream: counts and samples as bytes, the rest as JSON."""
    said = {
        "format": FORMAT,
        "version": VERSION,
        "types": seen.types.to_json(),
        "labels": labels_in_json(list(seen.labels)),
        "label_type": seen.label_type.str,
        "text_bytes": dict(seen.text_bytes),
        "rows": seen.rows,
        "skipped": seen.skipped,
        "weighed": list(seen.weighed),
        "heaviest": None if seen.heaviest is None else [seen.heaviest.get(label, 0.0) for label in seen.labels],
        "named": sorted(seen.named),
    }
    samples = (None if sample is None else sample_to_bytes(sample) for sample in (seen.sample, seen.cells))
    cells = [json.dumps(said).encode(), seen.counts.to_bytes(), *samples]
    sink = pa.BufferOutputStream()
    batch = pa.record_batch(
        [pa.array([cell], pa.large_binary()) for cell in cells], ["about", "counts", "sample", "cells"]
    )
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def profile_of_bytes(data: bytes) -> ProfiledRows:
    """Return what `profile_to_bytes` wrote."""
    try:
        about, counts, sample, cells = (column[0].as_py() for column in pa.ipc.open_stream(data).read_all().columns)
        said = json.loads(about)
        if said["format"] != FORMAT or said["version"] > VERSION:
            raise ValueError(f"format {said['format']!r}, version {said['version']}")
    except (pa.ArrowException, ValueError, LookupError, TypeError) as error:
        why = f"they are not what Profile.to_bytes of this version writes ({error}); profile the rows again."
        raise UnreadableFile("the bytes of a profile", why) from None
    types, labels = Schema.from_json(said["types"]), tuple(map(from_json, said["labels"]))
    weights = said["heaviest"]
    seen = ProfiledRows(
        types,
        Counts.from_bytes(counts),
        labels,
        np.dtype(said["label_type"]),
        text_bytes=said["text_bytes"],
        rows=said["rows"],
        skipped=said["skipped"],
        weighed=(said["weighed"][0], said["weighed"][1]),
        heaviest=None if weights is None else dict(zip(labels, weights, strict=True)),
        named=frozenset(said["named"]),
    )
    counter, same = seen.hashing_counter(), np.append(np.arange(len(labels)), -1)
    of_rows = None if sample is None else sample_of_bytes(sample, hasher_of(counter), tuple(counter.readers), same)
    hashing = cells_hasher(uncut_columns(types))
    return replace(seen, sample=of_rows, cells=None if cells is None else sample_of_bytes(cells, hashing, (), same))
