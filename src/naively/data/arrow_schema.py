"""What columns are by their Arrow types alone, without a row."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pyarrow as pa

from ..errors import InvalidInput, InvalidSetting
from ..errors.message import Setting
from ..families import Bins, Ordinal, Words
from .cell_format import USUAL
from .column import Column, FamilyLike, FamilySettings, family_of, wants_text
from .schema import Schema, likely
from .values import is_text_type, type_of_arrow


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
    for name in (*([] if target is None else [target]), *([] if weight is None else [weight]), *ignore, *given):
        if name not in types.names:
            raise InvalidInput(f"There is no column {name!r}{likely(name, tuple(types.names))}", column=name)
    apart = {target, weight, *ignore}
    columns = tuple(column_of_type(field, given.get(field.name)) for field in types if field.name not in apart)
    return Schema(columns, target=target, weight=weight)


def column_of_type(field: pa.Field, family: FamilyLike | None) -> Column:
    """Return what a column is by its type, and by the family it shall have."""
    coded = pa.types.is_dictionary(field.type)
    kind = field.type.value_type if coded else field.type
    asked = None if family is None else family_of(field.name, family)
    found = type_of_arrow(field.name, kind)
    if found is None and asked is None:
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
            ", or look at rows: nv.look(rows, target=…).schema.",
            column=field.name,
        )
    found = found or ("number" if asked is not None and not wants_text(asked) else "text")
    written = USUAL if is_text_type(kind) and not coded and not isinstance(asked, Words) else None
    return Column.of(field.name, found, asked, written=written)


def check_decided(schema: Schema) -> None:
    """Refuse what only rows can decide, and say how to decide it."""
    for column in schema:
        if isinstance(column.family, Bins) and column.family.cuts is None:
            raise InvalidSetting(
                f"Where column {column.name!r} is cut into bins follows from its numbers, not from its type. Give the "
                "cuts: ",
                Setting("families", {column.name: replace(column.family, cuts=(10.0, 20.0))}),
                "; or look at rows: nv.look(rows, target=…).schema.",
                column=column.name,
            )
        if isinstance(column.family, Words) and column.family.may_pair:
            raise InvalidSetting(
                f"Whether pairs of words of column {column.name!r} are counted follows from how long its texts are. "
                "Decide it: ",
                Setting("families", {column.name: Words(pairs=True)}),
                " or pairs=False; or look at rows: nv.look(rows, target=…).schema.",
                column=column.name,
            )
