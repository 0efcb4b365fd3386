"""One column of a table: the type of its values, its family, and the labels declared for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Literal

from .._types import Json, JsonObject, Label
from ..errors import IncompatibleCounts, InvalidSetting
from ..errors.message import MessagePart, PythonOnly, Setting
from ..families import FAMILIES, Bernoulli, Bins, Categorical, Family, Gaussian, Ordinal, Words
from ..families.ordinal import shown_levels
from ..stats import Moments, WordTable
from ..stats.counts import ColumnStatistic
from ..text.tokens import setting_from_json, setting_to_json
from .cell_format import CellFormat

# What a cell holds. Times are numbers: seconds since 1970 (UTC), or of a duration, or since midnight. No row had a
# value in an empty column, so that nobody knows its type: at prediction all its cells are read as missing, and rows
# with values that are added give it their type.
Type = Literal["text", "boolean", "whole", "number", "time", "vector", "empty"]


# How a column is counted: a label or a number a row, or a vector of them.
Kind = Literal["labels", "numbers", "vectors"]


# A family as users give it, and families by column.
FamilyLike = Family | type[Family] | str


FamilySettings = Mapping[str, FamilyLike]


@dataclass(frozen=True)
class Column:
    """One column: its name, the type of its values, its family, and its levels, if they are declared.

    Parameters
    ----------
    name : str
        The name of the column.
    type : {"text", "boolean", "whole", "number", "time", "vector", "empty"}
        The type of its values; "empty" if no row has one.
    family : Family, optional
        Its distribution within a class; by default the one that goes with the type.
    levels : tuple of labels, optional
        Its values, if they are declared, in their order.
    written : CellFormat, optional
        How cells that are texts are read.

    Examples
    --------
    >>> Column("colour", "text")
    Column(name='colour', type='text', family=Categorical(smoothing=None, spread='even'), levels=None)
    """

    name: str
    type: Type
    family: Family = None  # type: ignore[assignment]  # set below to the one that goes with the type
    levels: tuple[Label, ...] | None = None
    # How cells that are texts are read; None: where texts are what they are, and nothing else is written as text.
    written: CellFormat | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        usual = usual_family("text" if self.levels is not None else self.type)
        family = usual if self.family is None else family_of(self.name, self.family)
        object.__setattr__(self, "family", family)
        if self.measured and self.type in ("text", "boolean"):
            why = f"{NOUNS[self.type]}, but the family {family.name!r} counts numbers. Use "
            raise self._refused(why, Setting("families", {self.name: "categorical"}), ", or convert the column.")
        if family.name == "bernoulli" and self.type == "text":
            why = "text, but the family 'bernoulli' counts flags: booleans, or numbers above a threshold. Use "
            raise self._refused(why, Setting("families", {self.name: "categorical"}), ".")
        if family.name in NOT_VECTORS and self.type == "vector":
            raise self._refused(
                f"vectors, which are no {NOT_VECTORS[family.name]}. Use 'words', 'bernoulli', 'gaussian' or "
                "'poisson', or give each of its columns a name."
            )
        if isinstance(family, Words) and self.type not in ("text", "vector", "empty"):
            raise self._refused(
                f"{NOUNS[self.type]}; the family 'words' counts the words of texts, or vectors of counts such as "
                "CountVectorizer makes. Convert the column to text, or leave its family open."
            )
        if isinstance(family, Words) and self.type == "vector" and family.of_texts:
            raise self._refused(
                f"vectors, whose words are counted already: Words({family.of_texts[0]}=…) is for columns of text."
            )

    def _refused(self, *why: str | MessagePart) -> InvalidSetting:
        return InvalidSetting(f"Column {self.name!r} holds ", *why, column=self.name)

    @classmethod
    def of(
        cls,
        name: str,
        of_type: Type,
        family: FamilyLike | None = None,
        levels: tuple[Label, ...] | None = None,
        written: CellFormat | None = None,
    ) -> Column:
        """Return a column; its family may be given by its name, or be left to the type."""
        usual = usual_family("text" if levels is not None else of_type)
        return cls(name, of_type, usual if family is None else family_of(name, family), levels, written)

    @property
    def kind(self) -> Kind:
        """How the column is counted."""
        if self.type == "vector" or isinstance(self.family, Words):
            return "vectors"  # a text is a vector of its words
        return "labels" if isinstance(self.family, (Categorical, Ordinal, Bernoulli, Bins)) else "numbers"

    @property
    def measured(self) -> bool:
        """Whether a cell is a number that is measured, be it counted as such or by its bin."""
        return self.kind == "numbers" or isinstance(self.family, Bins)

    @property
    def of_texts(self) -> bool:
        """Whether the values were texts that are read as something else."""
        return self.written is not None and self.type not in ("text", "vector", "empty")


NOUNS = {
    "text": "text",
    "boolean": "booleans",
    "whole": "whole numbers",
    "number": "numbers",
    "time": "times",
    "vector": "vectors",
    "empty": "no values",
}


NOT_VECTORS = {"categorical": "categories", "ordinal": "single levels", "bins": "single numbers"}


def same_kind(a: Type, b: Type) -> bool:
    """Return whether values of two types can be counted together: all numbers can, with or without a point."""
    numbers = ("boolean", "whole", "number")
    return a == b or (a in numbers and b in numbers)


def usual_family(of_type: Type) -> Family:
    """Return the family of columns that nobody said anything about: it follows from the type alone."""
    if of_type == "vector":
        return Words()
    return Categorical() if of_type in ("text", "boolean", "empty") else Gaussian()


def family_of(column: str, family: FamilyLike) -> Family:
    """Return a family given as itself, as its class or by its name."""
    if isinstance(family, str) and family in FAMILIES:
        return FAMILIES[family]()
    if isinstance(family, type) and family in FAMILIES.values():
        return family()
    if not isinstance(family, (str, type)) and type(family) in FAMILIES.values():
        return family
    raise InvalidSetting(
        Setting("families", {column: family}),
        f" names no family; use one of {sorted(FAMILIES)}",
        PythonOnly(", or a value such as nv.Poisson()"),
        ".",
        column=column,
    )


def wants_text(family: Family) -> bool:
    """Return whether a family takes texts as they are written, even those that are numbers."""
    levels = isinstance(family, Ordinal) and any(isinstance(level, str) for level in family.levels or ())
    return levels or family.name in ("categorical", "words")


def with_family(column: Column, family: FamilyLike) -> Column:
    """Return a column with another family; bins that are cut already stay as they are, unless other cuts are given."""
    new, cuts = replace(column, family=family_of(column.name, family)), column_cuts(column)
    if isinstance(new.family, Bins) and new.family.cuts is None and cuts is not None:
        return replace(new, family=replace(new.family, cuts=cuts))
    if isinstance(new.family, Ordinal) and new.family.levels is None:
        return replace(new, family=replace(new.family, levels=known_order(column)))
    return new


def known_order(column: Column) -> tuple[Label, ...] | None:
    """Return the levels of a column if they stand in an order that somebody chose; the alphabet's is none."""
    if isinstance(column.family, Ordinal):
        return column.family.levels
    chosen = column.levels is not None and list(column.levels) != sorted(column.levels, key=str)
    return column.levels if chosen else None


def check_levels(a: Column, b: Column) -> None:
    """Refuse levels that stand in another order, or that only the second column has."""
    ours, theirs = (c.family.levels if isinstance(c.family, Ordinal) else None for c in (a, b))
    if ours and theirs and [level for level in ours if level in theirs] != list(theirs):
        raise IncompatibleCounts(
            f"Column {a.name!r} has the levels {list(ours)} in one and {list(theirs)} in the other; give both "
            "the same: nv.Ordinal(levels=[…]).",
            column=a.name,
        )


def column_cuts(column: Column) -> tuple[float, ...] | None:
    """Return where the numbers of a column are cut into bins, if they are."""
    return column.family.cuts if isinstance(column.family, Bins) else None


def family_text(column: Column) -> str:
    """Return the family of a column in words, with what differs from its defaults."""
    own, family = family_settings(column.family), column.family
    levels = "" if column.levels is None else f", {len(column.levels)} levels declared"
    if isinstance(family, Bins) and own.pop("cuts", None) is not None:
        own["bins"] = len(family.values)  # the cuts themselves would fill the line
    if isinstance(family, Ordinal) and own.pop("levels", None) is not None:
        levels = f", {shown_levels(family.levels or ())}"
    return family.name + (f" ({', '.join(f'{k}={v!r}' for k, v in own.items())})" if own else "") + levels


def family_settings(family: Family) -> JsonObject:
    """Return the settings of a family that are not the default; arrays count as lists."""
    given = {f.name: (getattr(family, f.name), getattr(type(family)(), f.name)) for f in fields(family)}
    return {name: own for name, (own, usual) in given.items() if not bool(as_list(own) == as_list(usual))}


def as_list(value: Json) -> Json:
    """Return an array as a list, anything else as it is."""
    return value.tolist() if hasattr(value, "tolist") else value


def column_of_statistic(name: str, statistic: ColumnStatistic) -> Column:
    """Return the column that a statistic suggests."""
    if isinstance(statistic, WordTable) and not statistic.of_matrix:
        tokens = {f.name: getattr(statistic.lexicon.tokens, f.name) for f in fields(statistic.lexicon.tokens)}
        declared = tuple(statistic.lexicon.names()) if statistic.lexicon.fixed else None
        return Column(name, "text", Words(**tokens, vocabulary=declared))
    if isinstance(statistic, Moments):
        return Column(name, "number" if len(statistic.columns) == 1 else "vector", Gaussian())
    if isinstance(statistic.values.labels, range):
        return Column(name, "vector")
    kinds = {type(label) for label in statistic.values.labels if label is not None}
    types: dict[type, Type] = {bool: "boolean", int: "whole", float: "number"}
    result = {types.get(kind, "text") for kind in kinds}
    return Column(name, result.pop() if len(result) == 1 else "text" if not result else "number", Categorical())


def column_to_json(column: Column) -> JsonObject:
    """Return a column as plain data."""
    settings = {name: setting_to_json(as_list(value)) for name, value in family_settings(column.family).items()}
    if isinstance(column.family, Words) and column.type == "text":
        settings["rules"] = column.family.rules  # said in any case, since older files do not say it and mean "python"
    data = {"name": column.name, "type": column.type, "family": column.family.name, "settings": settings}
    if column.written is not None:
        data["written"] = column.written.to_json()
    return data if column.levels is None else data | {"levels": list(column.levels)}


def column_from_json(data: Mapping[str, Json]) -> Column:
    """Return the column that column_to_json described."""
    settings = data["settings"]
    if data["family"] == "words":
        settings = {n: value if n == "smoothing" else setting_from_json(n, value) for n, value in settings.items()}
        settings = {"rules": "python"} | settings if data["type"] == "text" else settings
    family = FAMILIES[data["family"]](**settings)
    levels = data.get("levels")
    written = CellFormat.from_json(data["written"]) if "written" in data else None
    return Column(data["name"], data["type"], family, None if levels is None else tuple(levels), written)
