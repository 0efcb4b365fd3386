"""What each column is: the type of its values, its family, the values declared beforehand."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property

import pyarrow as pa

from .._types import Json, JsonObject, Label
from ..errors import IncompatibleCounts, InvalidInput, InvalidSetting
from ..errors.message import Message, Setting
from ..families import Bins, Family, Ordinal, Words
from ..stats import Counts
from ..text.tokens import UnsavedFunction
from .cell_format import USUAL
from .column import (
    NOUNS,
    Column,
    FamilyLike,
    FamilySettings,
    Kind,
    check_levels,
    column_cuts,
    column_from_json,
    column_of_statistic,
    column_to_json,
    family_of,
    family_text,
    same_kind,
    wants_text,
    with_family,
)
from .values import is_text_type, type_of_arrow


@dataclass(frozen=True)
class Schema:
    """The columns of a table, in their order. It can be printed, edited, saved and used again.

    Parameters
    ----------
    columns : tuple of Column
        The columns.
    hints : tuple of str, optional
        Remarks on columns that look as if something else was meant.
    target : str, optional
        The column of the classes, where it has a name.
    weight : str, optional
        The column of the weights of rows, where they have some.

    Examples
    --------
    >>> schema = Schema((Column("colour", "text"), Column("visits", "whole")))
    >>> print(schema.with_families({"visits": "poisson"}))
    colour  text           categorical
    visits  whole numbers  poisson
    >>> Schema.from_json(schema.to_json()) == schema
    True
    """

    columns: tuple[Column, ...]
    hints: tuple[str, ...] = field(default=(), compare=False)
    target: str | None = field(default=None, compare=False)  # the column of the classes, where it has a name
    weight: str | None = field(default=None, compare=False)  # the column of the weights of rows, where they have some

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    @cached_property
    def _kinds(self) -> dict[Kind, tuple[Column, ...]]:
        kinds: tuple[Kind, ...] = ("labels", "numbers", "vectors")
        return {kind: tuple(column for column in self.columns if column.kind == kind) for kind in kinds}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._by_name)

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __getitem__(self, name: str) -> Column:
        if name not in self:
            raise InvalidInput(f"There is no column {name!r}{likely(name, self.names)}", column=name)
        return self._by_name[name]

    @property
    def single(self) -> bool:
        """Whether every cell is a single value, so that a row can be a dict: there are no vectors but texts."""
        return all(column.type != "vector" for column in self.of_kind("vectors"))

    def of_kind(self, kind: Kind) -> tuple[Column, ...]:
        """Return the columns that are counted in this way."""
        return self._kinds[kind]

    def with_families(self, families: FamilySettings | None) -> Schema:
        """Return the same columns, some with another family.

        Parameters
        ----------
        families : dict of str to Family or str
            The new families by column.

        Returns
        -------
        Schema
            The new schema.
        """
        for name in families or {}:
            self[name]  # says which columns there are, if this is none
        changed = (with_family(c, families[c.name]) if families and c.name in families else c for c in self.columns)
        return replace(self, columns=tuple(changed))

    def with_functions(self, functions: Mapping[str, Callable[..., object] | None]) -> Schema:
        """Return the same columns, functions that tokenize texts given again after a file could not hold them."""
        given, columns = {name: own for name, own in functions.items() if own is not None}, []
        for column in self.columns:
            of_column = column.family
            missing = {n: own for n, own in given.items() if isinstance(getattr(of_column, n, None), UnsavedFunction)}
            columns.append(replace(column, family=replace(of_column, **missing)))
        return replace(self, columns=tuple(columns))

    def typed_as(self, other: Schema, names: Collection[str]) -> Schema:
        """Return the same columns, some of them as another schema has them."""
        columns = (other[c.name] if c.name in names and c.name in other else c for c in self.columns)
        return replace(self, columns=tuple(columns))

    @property
    def empty(self) -> tuple[str, ...]:
        """The columns of which no row had a value."""
        return tuple(column.name for column in self.columns if column.type == "empty")

    def without_types(self, names: Collection[str]) -> Schema:
        """Return the same columns, some of which are empty."""
        columns = (replace(c, type="empty") if c.name in names else c for c in self.columns)
        return replace(self, columns=tuple(columns)) if names else self

    def beside(self, other: Schema) -> Schema:
        """Return the schema of counts under both, if they are of the same columns; this one's families stay.

        A column that is empty here is what it is in the other.
        """
        self, other = self.typed_as(other, self.empty), other.typed_as(self, other.empty)
        for column in self.columns:
            if column.name not in other:
                continue
            theirs = other[column.name]
            if not same_kind(theirs.type, column.type):
                result = f"{NOUNS[column.type]} and {NOUNS[theirs.type]}"
                raise IncompatibleCounts(
                    f"Column {column.name!r} holds {result}; convert one of them before counting.", column=column.name
                )
            if column_cuts(column) != column_cuts(theirs):
                raise IncompatibleCounts(
                    f"Column {column.name!r} is cut into other bins on each side; give both the same schema, such as "
                    "NaiveBayes(families=first.schema_), or the same nv.Bins(cuts=[...]).",
                    column=column.name,
                )
            check_levels(column, theirs)
        return self

    @classmethod
    def of(
        cls,
        types: pa.Schema,
        families: FamilySettings | None = None,
        *,
        target: str | None = None,
        weight: str | None = None,
        ignore: Collection[str] = (),
    ) -> Schema:
        """Return the schema of columns by their Arrow types alone, without a row.

        Texts are categories, numbers are numbers and times are times, unless `families` says otherwise. What only rows
        can decide is refused: the cuts of bins, and whether pairs of words are counted; `nv.profile` decides it.

        Parameters
        ----------
        types : pyarrow.Schema
            The names and types of the columns.
        families : dict of str to Family or str, optional
            Families that do not follow from the types, by column.
        target, weight : str, optional
            The columns of the classes and of the row weights, which are not counted.
        ignore : collection of str, default=()
            More columns that are not counted.

        Returns
        -------
        Schema
            The schema, the same wherever it is made.

        Raises
        ------
        InvalidInput
            If a column cannot be counted, or its type does not say how.

        Examples
        --------
        >>> import pyarrow as pa
        >>> types = pa.schema({"colour": pa.string(), "visits": pa.int64(), "label": pa.string()})
        >>> print(Schema.of(types, {"visits": "poisson"}, target="label"))
        colour  text           categorical
        visits  whole numbers  poisson
        """
        schema = schema_of_types(types, families, target=target, weight=weight, ignore=ignore)
        check_decided(schema)
        return schema

    @classmethod
    def of_counts(cls, counts: Counts) -> Schema:
        """Return what the columns of counts are, as far as the statistics tell."""
        return cls(tuple(column_of_statistic(name, statistic) for name, statistic in counts.columns.items()))

    def only(self, names: Iterable[str]) -> Schema:
        """Return the schema of some columns, in the order of this one.

        Parameters
        ----------
        names : iterable of str
            The columns to keep.

        Returns
        -------
        Schema
            The new schema.
        """
        wanted = {self[name].name for name in names}
        return replace(self, columns=tuple(column for column in self.columns if column.name in wanted))

    def unusual(self) -> dict[str, Family]:
        """Return the families that do not follow from the types, by column; the order of levels may be put aside."""
        usual = {c.name: Column(c.name, c.type, levels=c.levels).family for c in self.columns}
        return {c.name: c.family for c in self.columns if c.family != usual[c.name] or c.levels is not None}

    def to_json(self) -> JsonObject:
        """Return the schema as plain data.

        Returns
        -------
        dict
            What `from_json` reads.
        """
        columns = [column_to_json(column) for column in self.columns]
        data = {"columns": columns, "hints": [Message(hint).to_json() for hint in self.hints], "target": self.target}
        return data if self.weight is None else data | {"weight": self.weight}

    @classmethod
    def from_json(cls, data: Mapping[str, Json]) -> Schema:
        """Return the schema that `to_json` described.

        Parameters
        ----------
        data : dict
            What `to_json` returned.

        Returns
        -------
        Schema
            The schema.
        """
        columns, hints = map(column_from_json, data["columns"]), map(Message.from_json, data.get("hints", ()))
        return cls(tuple(columns), tuple(hints), data.get("target"), data.get("weight"))

    def __str__(self) -> str:
        rows = [(str(c.name), NOUNS[c.type], family_text(c)) for c in self.columns]
        widths = [max((len(row[at]) for row in rows), default=0) for at in (0, 1)]
        lines = [f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c}" for a, b, c in rows]
        return "\n".join([*lines, *(f"- {hint}" for hint in self.hints)])


def likely(name: Label, names: tuple[str, ...], what: str = "columns") -> str:
    """Return the end of a sentence about a name that is not there: the likely one, or all there are."""
    known = list(map(str, names))
    alike = [one for one in known if "".join(one.split()).casefold() == "".join(str(name).split()).casefold()]
    if close := alike[-1:] or get_close_matches(str(name), known, n=1):  # alike but for blanks and capitals
        return f"; did you mean {close[0]!r}?"
    shown = ", ".join(map(repr, names[:8])) + (", …" if len(names) > 8 else "")
    return f"; the {what} are {shown}." if names else f"; there are no {what}."


def schema_of_types(
    types: pa.Schema,
    families: FamilySettings | None = None,
    *,
    target: str | None = None,
    weight: str | None = None,
    ignore: Collection[str] = (),
) -> Schema:
    """Return what columns of these types are; bins may have no cuts, and pairs of words may be undecided."""
    given = dict(families or {})
    apart = [name for name in (target, weight, *ignore) if name is not None]
    for name in (*apart, *given):
        if name not in types.names:
            raise InvalidInput(f"There is no column {name!r}{likely(name, tuple(types.names))}", column=name)
    columns = tuple(column_of_type(field, given.get(field.name)) for field in types if field.name not in apart)
    return Schema(columns, target=target, weight=weight)


def column_of_type(field: pa.Field, family: FamilyLike | None) -> Column:
    """Return what a column is by its type, and by the family it shall have."""
    coded = pa.types.is_dictionary(field.type)
    kind = field.type.value_type if coded else field.type
    asked = None if family is None else family_of(field.name, family)
    result = type_of_arrow(field.name, kind)
    if result is None and asked is None:
        raise InvalidInput(
            f"Column {field.name!r} has no type: all its cells are missing. Give it a family: ",
            Setting("families", {field.name: "gaussian"}),
            " for numbers, 'categorical' for texts; or leave it out: ",
            Setting("ignore", [field.name]),
            ".",
            column=field.name,
        )
    if coded and field.type.ordered and not (isinstance(asked, Ordinal) and asked.levels):
        raise InvalidInput(
            f"Column {field.name!r} has levels in an order, which its type does not name. Give them: ",
            Setting("families", {field.name: Ordinal(levels=("low", "high"))}),
            ", or profile rows: nv.profile(rows, target=…).schema.",
            column=field.name,
        )
    result = result or ("number" if asked is not None and not wants_text(asked) else "text")
    written = USUAL if is_text_type(kind) and not coded and not isinstance(asked, Words) else None
    return Column.of(field.name, result, asked, written=written)


def check_decided(schema: Schema) -> None:
    """Refuse what only rows can decide, and say how to decide it."""
    for column in schema:
        family, name = column.family, column.name
        given: Family
        if isinstance(family, Bins) and family.cuts is None:
            why = f"Where column {name!r} is cut into bins follows from its numbers, not from its type. Give the cuts: "
            given, other = replace(family, cuts=(10.0, 20.0)), "; "
        elif isinstance(family, Words) and family.may_pair:
            why = f"Whether pairs of words of column {name!r} are counted follows from how long its texts are. Decide: "
            given, other = Words(pairs=True), " or pairs=False; "
        else:
            continue
        rows = f"{other}or profile rows: nv.profile(rows, target=…).schema."
        raise InvalidSetting(why, Setting("families", {name: given}), rows, column=name)
