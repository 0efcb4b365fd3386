"""A profile of rows, part by part: what their columns are, and a sample of the rows.

Nothing is weighed. Profiles of different rows add up to the profile of all of them, in any order and any parts, so that
a cluster can profile a table before it counts it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from .._progress import progress_shown
from .._threads import allowed
from .._types import TableLike
from ..counting.counter import TableCounter
from ..counting.files import MOST_LABELS, FileRows, LabeledBlock, Progress
from ..counting.first_look import cells_hasher, uncut_columns, with_cuts, with_word_pairs
from ..counting.profiled_rows import ProfiledRows, joined_profiles, profile_of_bytes, profile_to_bytes
from ..counting.sample import RowSample
from ..counting.weights import weighted_counts
from ..data.column import FamilySettings
from ..data.frame import frame_of
from ..data.schema import Schema
from ..errors import IncompatibleCounts
from ..files.file import File, file_of
from ..files.streams import stream_of_table
from ..stats import Counts
from .fit import counted_state
from .settings import Parameters, check_no_em
from .state import FittedState


@dataclass(frozen=True, eq=False, repr=False)
class Profile:
    """What a profile of rows holds, before anything is counted for a model; `nv.profile` returns it.

    Profiles add: ``nv.profile(monday) + nv.profile(tuesday)`` is the profile of the rows of both days, and
    ``nv.add(profiles)`` that of many parts. Rows are then counted under its schema, part by part, and
    `NaiveBayes.from_counts` fits the model.

    Parameters
    ----------
    seen : ProfiledRows
        What was seen: counts of single columns, and a sample of the rows.

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

    seen: ProfiledRows

    def __repr__(self) -> str:
        kept = "all of them kept" if self.complete else "a sample of them kept"
        return f"Profile: {self.rows:,} rows, {kept}; {len(self.seen.types)} columns"

    @property
    def rows(self) -> int:
        """How many rows were seen that have a label and a weight above 0."""
        return self.seen.rows

    @property
    def skipped(self) -> int:
        """How many rows were skipped because they have no label."""
        return self.seen.skipped

    @property
    def complete(self) -> bool:
        """Whether all rows are kept, and not a sample: so it is of up to 100,000 rows."""
        return self.seen.sample is None or self.seen.sample.complete

    @cached_property
    def schema(self) -> Schema:
        """The columns to count under: bins have cuts, and whether pairs of words are counted is decided."""
        return self.schema_for(Parameters())

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
        seen, schema = self.seen, self.seen.types.only(self.seen.counted_names(MOST_LABELS))
        if parameters.model != "textbook":
            schema = with_word_pairs(schema, lambda name: seen.text_bytes.get(name, 0.0))
        if seen.cells is None:
            return schema
        found = seen.cells.rows()
        return with_cuts(schema, frame_of(found.table), found.weights)

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
        return cls(joined_profiles([part.seen for part in parts]))

    def to_bytes(self) -> bytes:
        """Return the profile as bytes, to be sent to another process; they hold the rows that are kept.

        Returns
        -------
        bytes
            What `from_bytes` reads.
        """
        return profile_to_bytes(self.seen)

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
        return cls(profile_of_bytes(data))


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
    file = file_of(source) or File.of_stream(stream_of_table(source))
    rows = FileRows(file, target, sample_weight, tuple(ignore), unlabelled)
    rows.sampling = rows.narrow = True
    rows.may_be_empty = isinstance(schema, Schema)
    if file.is_empty and isinstance(schema, Schema):
        return Profile(ProfiledRows.of_nothing(schema, target, sample_weight))
    types = rows.schema_by_types(schema)
    rows.asked = tuple(types.unusual()) if isinstance(schema, Schema) else tuple(schema or ())
    uncut = uncut_columns(types)
    numbers = {column.name: column for column in uncut}
    counter = TableCounter(replace(types, columns=tuple(numbers.get(c.name, c) for c in types)))
    cells = RowSample(cells_hasher(uncut)) if uncut else None
    text_bytes = dict.fromkeys(counter.readers, 0.0)

    def look_at(block: LabeledBlock) -> None:
        if cells is not None:
            cells.keep(block.frame, block.y, block.weights)
        for name in text_bytes:
            text_bytes[name] += block.frame.text_bytes(name)

    rows.each_block = look_at
    file.keep_no_more()
    with progress_shown(progress, "profiling") as rows.progress:
        rows.count(counter, allowed(n_jobs))
    counter.drop_types(types if isinstance(schema, Schema) else rows.asked)
    types = types.without_types(counter.schema.empty)
    return Profile(
        ProfiledRows.of(rows, types, counter, None if cells is None or cells.is_empty else cells, text_bytes)
    )


# -- from counts to a model --------------------------------------------------------------------------------------------


def state_of_profile(parameters: Parameters, counts: Counts, profile: Profile) -> FittedState:
    """Return the state of rows that were profiled and counted; what the settings leave open the sample decides."""
    parameters.check()
    check_no_em(parameters)
    check_same_rows(counts, profile)
    schema = replace(counts.schema or profile.schema_for(parameters), hints=())
    weighted, by_class = weighted_counts(counts, parameters.class_weight)
    counter = TableCounter.of(Counts(weighted.classes, weighted.rows, weighted.columns, schema), schema)
    counter.drop_types(parameters.families or ())
    rows = profile.seen.recoded(list(counter.classes.places)).file_rows()
    rows.by_class, rows.sampling = by_class, parameters.leaves_choices
    return counted_state(parameters, counter, rows)


def check_same_rows(counts: Counts, profile: Profile) -> None:
    """Refuse counts of other rows than were profiled."""
    counted = dict(zip(counts.classes.labels, counts.rows.tolist(), strict=True))
    seen = dict(zip(profile.seen.counts.classes.labels, profile.seen.counts.rows.tolist(), strict=True))
    for label in {**counted, **seen}:
        a, b = counted.get(label, 0.0), seen.get(label, 0.0)
        if abs(a - b) > 1e-9 * max(a, b):
            raise IncompatibleCounts(
                f"{a:.10g} rows of class {label!r} were counted, and {b:.10g} were profiled. Profile all rows that "
                "are counted, and at no others."
            )
