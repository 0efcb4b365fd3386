"""A profile of rows, part by part: what their columns are, counts of single columns, and a sample of the rows.

Nothing is weighed. Profiles of different rows add up to the profile of all of them, in any order and any parts, so that
a cluster can profile a table before it counts it; they can be sent as bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import add
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from .._progress import progress_shown
from .._threads import allowed
from .._types import DType, Label, TableLike
from ..data.column import Column, FamilySettings
from ..data.model_file import StoredRows, rows_of_bytes, rows_to_bytes
from ..data.model_file.parts import table_of_bytes, table_to_bytes
from ..data.model_file.statistics import from_json, labels_in_json
from ..data.schema import Schema
from ..errors import UnreadableFile
from ..families import Gaussian
from ..files.file import File, file_of
from ..files.streams import StreamPart
from ..stats import Counts
from .counter import TableCounter
from .files import MOST_LABELS, FileRows, LabeledBlock, Progress, cells_of_block
from .rows import Rows, uncut_columns, with_cuts, with_word_pairs
from .sample import Sample

if TYPE_CHECKING:
    from ..estimator.settings import Parameters

FORMAT, VERSION = "naively profile", 1


@dataclass(frozen=True, eq=False, repr=False)
class Profile:
    """What a profile of rows holds, before anything is counted for a model; `nv.profile` returns it.

    Profiles add: ``nv.profile(monday) + nv.profile(tuesday)`` is the profile of the rows of both days, and
    ``nv.add(profiles)`` that of many parts. Rows are then counted under its schema, part by part, and
    `NaiveBayes.from_counts` fits the model.

    Parameters
    ----------
    types : Schema
        What the columns are by their types; bins may have no cuts, and pairs of words may be undecided.
    counts : Counts
        Of categories and numbers; bins without cuts count as numbers.
    label_type : dtype
        The type of the class labels.
    sample : Sample, optional
        The rows that are kept; None if there are none.
    cells : Sample, optional
        Columns whose bins have no cuts yet, of some rows.
    text_bytes : dict of str to float, optional
        How long the texts of columns of words are together.
    rows : int, default=0
        Rows that have a label and a weight above 0.
    skipped : int, default=0
        Rows without a label.
    weighed : pair of int and float, default=(0, 0.0)
        Rows of weight, and the sum of their weights.
    heaviest : dict of label to float, optional
        The weight of the heaviest row of each class.
    named : frozenset of str, optional
        Columns that the user named: they stay, however many values they have.

    Examples
    --------
    >>> import naively as nv
    >>> rows = nv.File("examples/penguins.csv")
    >>> profile = nv.profile(rows, target="species")
    >>> profile
    Profile: 344 rows, all of them kept; 7 columns
    >>> counts = nv.count(rows, target="species", schema=profile.schema)
    >>> nb = nv.NaiveBayes.from_counts(counts, profile=profile)
    >>> bool((nb.predict(rows) == nv.NaiveBayes().fit(rows, target="species").predict(rows)).all())
    True
    """

    types: Schema
    counts: Counts
    label_type: DType
    sample: Sample | None = None
    cells: Sample | None = None
    text_bytes: Mapping[str, float] = field(default_factory=dict)
    rows: int = 0
    skipped: int = 0
    weighed: tuple[int, float] = (0, 0.0)
    heaviest: Mapping[Label, float] | None = None
    named: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        kept = "all of them kept" if self.complete else "a sample of them kept"
        return f"Profile: {self.rows:,} rows, {kept}; {len(self.types)} columns"

    @property
    def complete(self) -> bool:
        """Whether all rows are kept, and not a sample: so it is of up to 100,000 rows."""
        return self.sample is None or self.sample.complete

    @cached_property
    def schema(self) -> Schema:
        """The columns to count under: bins have cuts, and whether pairs of words are counted is decided."""
        return self._decided(pairs=True)

    def schema_for(self, parameters: Parameters) -> Schema:
        """Return the columns to count under for a model of some settings.

        Parameters
        ----------
        parameters : Parameters
            The settings of the model: ``nv.NaiveBayes(...).parameters``.

        Returns
        -------
        Schema
            The schema to count under.
        """
        return self._decided(pairs=parameters.model != "textbook")

    def _decided(self, *, pairs: bool) -> Schema:
        columns = (column.name for column in self.types if column.name in self.named or not self._is_too_varied(column))
        schema = self.types.only(columns)
        if pairs:
            schema = with_word_pairs(schema, lambda name: self.text_bytes.get(name, 0.0))
        if self.cells is None:
            return schema
        cells = self.cells.rows(ordered=False)
        return with_cuts(schema, cells.source, cells.weights)

    def _is_too_varied(self, column: Column) -> bool:
        """Tell whether a column of texts has too many labels to be counted."""
        table = self.counts.columns.get(column.name)
        many = column.kind == "labels" and table is not None and len(getattr(table, "values", ())) > MOST_LABELS
        return many and column.type == "text"

    def file_rows(self, classes: Sequence[Label]) -> FileRows:
        """Return the rows that were seen as those of a file that was counted: the sample is what is left of them.

        Parameters
        ----------
        classes : sequence of labels
            The classes, by the codes of a counter.

        Returns
        -------
        FileRows
            The rows.
        """
        target = self.types.target
        assert target is not None, "rows have classes"
        nothing = File.of_stream(StreamPart(lambda: (), "<rows>"))
        rows = FileRows(nothing, target, self.types.weight, sampling="rows")
        rows.sample, rows.label_type, rows.weighed = self.sample, self.label_type, self.weighed
        rows.counted, rows.skipped, rows.rows = self.rows, self.skipped, self.rows + self.skipped
        if self.sample is not None:
            rows.first = self.sample.rows(ordered=False).source
        if self.heaviest is not None:
            rows.heavy = np.array([self.heaviest.get(label, 0.0) for label in classes])
        return rows

    # -- profiles add up -------------------------------------------------------------------------------------------

    def __add__(self, other: Profile) -> Profile:
        if not isinstance(other, Profile):
            return NotImplemented
        return Profile.sum_of([self, other])

    def __radd__(self, other: object) -> Profile:
        return self if other == 0 else NotImplemented  # so that sum() works

    @classmethod
    def sum_of(cls, parts: Sequence[Profile]) -> Profile:
        """Return the profile of the rows of all parts; `nv.add` calls it.

        Parameters
        ----------
        parts : sequence of Profile
            The profiles.

        Returns
        -------
        Profile
            Their sum.
        """
        types = reduce(Schema.beside, (part.types for part in parts))
        parts = [part._typed_as(types) for part in parts]
        lengths, heaviest = [part.text_bytes for part in parts], dict[Label, float]()
        for part in parts:
            for label, weight in (part.heaviest or {}).items():
                heaviest[label] = max(weight, heaviest.get(label, 0.0))
        samples = [part.sample for part in parts if part.sample is not None]
        cells = [part.cells for part in parts if part.cells is not None]
        return cls(
            types,
            Counts.sum_of([part.counts for part in parts]),
            next((part.label_type for part in parts if len(part.counts.classes)), parts[0].label_type),
            reduce(add, samples) if samples else None,
            reduce(add, cells) if cells else None,
            {name: sum(one.get(name, 0.0) for one in lengths) for one in lengths for name in one},
            sum(part.rows for part in parts),
            sum(part.skipped for part in parts),
            (sum(part.weighed[0] for part in parts), sum(part.weighed[1] for part in parts)),
            heaviest or None,
            frozenset().union(*(part.named for part in parts)),
        )

    def _typed_as(self, types: Schema) -> Profile:
        """Return the same, columns without any value being what they are in the rows of other parts."""
        names = [name for name in self.types.empty if types[name].type != "empty"]
        own = self.types.typed_as(types, names)
        sample = None if self.sample is None else self.sample.without_values(names, planned(own))
        return replace(self, types=own, sample=sample)

    def to_bytes(self) -> bytes:
        """Return the profile as bytes, to be sent to another process; they hold the rows that are kept.

        Returns
        -------
        bytes
            What `from_bytes` reads.
        """
        said = {
            "format": FORMAT,
            "version": VERSION,
            "types": self.types.to_json(),
            "label_type": self.label_type.str,
            "text_bytes": dict(self.text_bytes),
            "rows": self.rows,
            "skipped": self.skipped,
            "weighed": list(self.weighed),
            "classes": labels_in_json(list(self.heaviest or ())),
            "heaviest": None if self.heaviest is None else list(self.heaviest.values()),
            "named": sorted(self.named),
        }
        samples = (None if sample is None else sample_to_bytes(sample) for sample in (self.sample, self.cells))
        cells = dict(zip(("counts", "sample", "cells"), (self.counts.to_bytes(), *samples), strict=True))
        return table_to_bytes(pa.table({name: pa.array([one], pa.large_binary()) for name, one in cells.items()}), said)

    @classmethod
    def from_bytes(cls, data: bytes) -> Profile:
        """Return the profile that `to_bytes` wrote; nothing in the bytes is executed.

        Parameters
        ----------
        data : bytes
            What `to_bytes` returned.

        Returns
        -------
        Profile
            The profile.
        """
        try:
            table, said = table_of_bytes(data)
            counts, sample, cells = (table.column(name)[0].as_py() for name in ("counts", "sample", "cells"))
            if said["format"] != FORMAT or said["version"] > VERSION:
                raise ValueError(f"format {said['format']!r}, version {said['version']}")
        except (pa.ArrowException, ValueError, LookupError, TypeError) as error:
            why = f"they are not what Profile.to_bytes of this version writes ({error}); profile the rows again."
            raise UnreadableFile("the bytes of a profile", why) from None
        types, weights, heaviest = Schema.from_json(said["types"]), said["heaviest"], None
        if weights is not None:
            heaviest = dict(zip(map(from_json, said["classes"]), weights, strict=True))
        return cls(
            types,
            Counts.from_bytes(counts),
            np.dtype(said["label_type"]),
            None if sample is None else sample_of_bytes(sample, planned(types)),
            None if cells is None else sample_of_bytes(cells, Schema(uncut_columns(types))),
            said["text_bytes"],
            said["rows"],
            said["skipped"],
            (said["weighed"][0], said["weighed"][1]),
            heaviest,
            frozenset(said["named"]),
        )


def profile(
    source: TableLike,
    *,
    target: str,
    schema: FamilySettings | Schema | None = None,
    sample_weight: str | None = None,
    ignore: Sequence[str] = (),
    unlabelled: str = "error",
    progress: Progress | bool | None = None,
    n_jobs: int | None = None,
) -> Profile:
    """Profile rows before they are counted: what their columns are, and a sample of them to fit a model to.

    One pass over the rows; nothing is weighed. Profiles of parts add up, see `Profile`. A file or table that is fitted
    as a whole needs no profile: `NaiveBayes.fit` makes one by itself.

    Parameters
    ----------
    source : data frame, dict of columns, Arrow stream, path or File
        The rows.
    target : str
        The column of the classes.
    schema : Schema or dict, optional
        The columns, or the families of some columns by name. By default they follow from the types. Parts of one table
        need the same schema, such as ``nv.Schema.of(types)``, unless their types are the same.
    sample_weight : str, optional
        The column of the row weights.
    ignore : sequence of str, default=()
        Columns that are not used.
    unlabelled : {"error", "skip"}, default="error"
        What to do with rows without a label: refuse them, or skip them.
    progress : callable or bool, optional
        Called with the rows and bytes read so far, and the bytes of all files; True shows a bar on stderr.
    n_jobs : int, optional
        How many threads count. By default as many as there are processors.

    Returns
    -------
    Profile
        The schema, counts of single columns, and a sample of rows.

    Examples
    --------
    >>> import naively as nv
    >>> monday = nv.profile({"sky": ["rain", "sunny"], "go": ["in", "out"]}, target="go")
    >>> tuesday = nv.profile({"sky": ["rain", "rain"], "go": ["in", "out"]}, target="go")
    >>> monday + tuesday
    Profile: 4 rows, all of them kept; 1 columns
    """
    file = file_of(source) or File.of_stream(StreamPart(lambda: (source,), f"<{type(source).__name__}>"))
    rows = FileRows(file, target, sample_weight, tuple(ignore), unlabelled)
    rows.sampling, rows.narrow = "rows", True
    rows.may_be_empty = isinstance(schema, Schema)
    if file.is_empty and isinstance(schema, Schema):
        types = replace(schema, target=target, weight=sample_weight)
        counts = narrow_counts(TableCounter(planned(types)))
        return Profile(types, counts, np.dtype(object), named=frozenset(schema.unusual()))
    types = rows.schema_by_types(schema)
    rows.asked = tuple(types.unusual()) if isinstance(schema, Schema) else tuple(schema or ())
    uncut, counter = uncut_columns(types), TableCounter(planned(types))
    cells = Sample.of_files(Schema(uncut))
    text_bytes = dict.fromkeys(counter.readers, 0.0)

    def look_at(block: LabeledBlock) -> None:
        nonlocal cells
        cells = cells.plus(cells_of_block(block, uncut)) if uncut else cells
        text_bytes.update({name: size + block.frame.text_bytes(name) for name, size in text_bytes.items()})

    rows.each_block = look_at
    file.keep_no_more()
    with progress_shown(progress, "profiling") as rows.progress:
        rows.count(counter, allowed(n_jobs))
    counter.drop_types(types if isinstance(schema, Schema) else rows.asked)
    types = types.without_types(counter.schema.empty)
    return Profile(
        types,
        narrow_counts(counter),
        rows.label_type,
        None if rows.sample is None else replace(rows.sample, schema=planned(types)),
        cells if cells.total else None,
        text_bytes,
        rows.counted,
        rows.skipped,
        rows.weighed,
        rows.heaviest(counter),
        frozenset(str(name) for name in rows.asked),
    )


# -- what is counted, and samples as bytes -----------------------------------------------------------------------------


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
    result = {name: statistic for name, statistic in counts.columns.items() if name in names}
    return Counts(counts.classes, counts.rows, result, counter.schema.only(names))


def sample_to_bytes(sample: Sample) -> bytes:
    """Return a sample as bytes of Arrow, in the form in which a model file holds rows."""
    sample = sample.together()
    held = sample.held
    assert held is not None, "there are rows"
    columns = held.source, held.target, held.weights, held.called
    return rows_to_bytes(StoredRows(*columns, sample.copies, held.hashes, sample.limit))


def sample_of_bytes(data: bytes, schema: Schema) -> Sample:
    """Return the sample of rows of files in such bytes."""
    stored = rows_of_bytes(data)
    held = Rows(stored.frame.on(schema), stored.target, stored.weights, stored.called, hashes=stored.hashes)
    limit = stored.limit
    return replace(Sample.of_files(schema), held=held, copies=stored.copies, limit=limit, ordered=limit is not None)
