"""What each column is: the type of its values, its family, the values declared beforehand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from typing import Any, Literal

from ..errors import DoesNotFit, InvalidInput, InvalidSetting
from ..errors.message import Message, PythonOnly, Setting
from ..families import FAMILIES, Bernoulli, Bins, Categorical, Family, Gaussian, Ordinal, Words
from ..families.ordinal import shown_few
from ..stats import Moments, WordTable
from ..text.tokens import UnsavedFunction, setting_from_json, setting_to_json
from .cell_format import CellFormat
from .grid import Grid

# What a cell holds. Times are numbers: seconds since 1970 (UTC), or of a duration, or since midnight.
Type = Literal["text", "boolean", "whole", "number", "time", "vector"]
# How a column is counted: a label or a number a row, or a vector of them.
Kind = Literal["labels", "numbers", "vectors"]


@dataclass(frozen=True)
class Column:
    """One column: its name, the type of its values, its family, and its levels, if they are declared.

    >>> Column("colour", "text")
    Column(name='colour', type='text', family=Categorical(smoothing=None, spread='even'), levels=None)
    """

    name: str
    type: Type
    family: Family = None  # type: ignore[assignment]  # set below to the one that goes with the type
    levels: tuple[Any, ...] | None = None
    # How cells that are texts are read; None: where texts are what they are, and nothing else is written as text.
    written: CellFormat | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        usual = usual_family("text" if self.levels is not None else self.type)
        family = usual if self.family is None else family_of(self.name, self.family)
        object.__setattr__(self, "family", family)
        if self.measured and self.type in ("text", "boolean"):
            raise InvalidSetting(
                f"Column {self.name!r} holds {NOUNS[self.type]}, but the family {family.name!r} counts numbers. Use ",
                Setting("families", {self.name: "categorical"}),
                ", or convert the column.",
                column=self.name,
            )
        if family.name == "bernoulli" and self.type == "text":
            raise InvalidSetting(
                f"Column {self.name!r} holds text, but the family 'bernoulli' counts flags: booleans, or numbers "
                "above a threshold. Use ",
                Setting("families", {self.name: "categorical"}),
                ".",
                column=self.name,
            )
        if family.name in NOT_VECTORS and self.type == "vector":
            raise InvalidSetting(
                f"Column {self.name!r} holds vectors, which are no {NOT_VECTORS[family.name]}. Use 'words', "
                "'bernoulli', 'gaussian' or 'poisson', or give each of its columns a name.",
                column=self.name,
            )
        if isinstance(family, Words):
            check_words_family(self.name, self.type, family)

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
        return self.written is not None and self.type not in ("text", "vector")


NOUNS = {
    "text": "text",
    "boolean": "booleans",
    "whole": "whole numbers",
    "number": "numbers",
    "time": "times",
    "vector": "vectors",
}


NOT_VECTORS = {"categorical": "categories", "ordinal": "single levels", "bins": "single numbers"}


def check_words_family(name: str, of_type: Type, family: Words) -> None:
    """Refuse words of what is no text and no vector of counts."""
    if of_type not in ("text", "vector"):
        raise InvalidSetting(
            f"Column {name!r} holds {NOUNS[of_type]}; the family 'words' counts the words of texts, or vectors "
            "of counts such as CountVectorizer makes. Convert the column to text, or leave its family open.",
            column=name,
        )
    if of_type == "vector" and family.of_texts:
        raise InvalidSetting(
            f"Column {name!r} holds vectors, whose words are counted already: Words({family.of_texts[0]}=…) is "
            "for columns of text.",
            column=name,
        )


def same_kind(a: Type, b: Type) -> bool:
    """Tell whether values of two types can be counted together: all numbers can, with or without a point."""
    numbers = ("boolean", "whole", "number")
    return a == b or (a in numbers and b in numbers)


def usual_family(of_type: Type) -> Family:
    """Return the family of columns that nobody said anything about: it follows from the type alone."""
    if of_type == "vector":
        return Words()
    return Categorical() if of_type in ("text", "boolean") else Gaussian()


def family_of(column: str, family: Any) -> Family:
    """Return a family given as itself, as its class or by its name."""
    if isinstance(family, str) and family in FAMILIES:
        return FAMILIES[family]()
    if isinstance(family, type) and family in FAMILIES.values():
        return family()  # type: ignore[no-any-return]
    if type(family) in FAMILIES.values():
        return family  # type: ignore[no-any-return]
    raise InvalidSetting(
        Setting("families", {column: family}),
        f" names no family; use one of {sorted(FAMILIES)}",
        PythonOnly(", or a value such as nv.Poisson()"),
        ".",
        column=column,
    )


def wants_text(family: Family) -> bool:
    """Tell whether a family takes texts as they are written, even those that are numbers."""
    levels = isinstance(family, Ordinal) and any(isinstance(level, str) for level in family.levels or ())
    return levels or family.name in ("categorical", "words")


@dataclass(frozen=True)
class Schema:
    """The columns of a table, in their order. It can be printed, edited, saved and used again.

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
    grid: Grid | None = None  # how columns are laid out to be counted together, if they are
    weight: str | None = field(default=None, compare=False)  # the column of the weights of rows, where they have some

    def __post_init__(self) -> None:
        object.__setattr__(self, "_places", {column.name: at for at, column in enumerate(self.columns)})
        kinds: dict[Kind, list[Column]] = {"labels": [], "numbers": [], "vectors": []}
        for column in self.columns:
            kinds[column.kind].append(column)
        object.__setattr__(self, "_kinds", {kind: tuple(columns) for kind, columns in kinds.items()})

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._places)  # type: ignore[attr-defined]

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self._places  # type: ignore[attr-defined]

    def __getitem__(self, name: str) -> Column:
        if name not in self:
            raise InvalidInput(f"There is no column {name!r}{likely(name, self.names)}", column=name)
        return self.columns[self._places[name]]  # type: ignore[attr-defined]

    @property
    def single(self) -> bool:
        """Whether every cell is a single value, so that a row can be a dict: there are no vectors but texts."""
        return all(column.type != "vector" for column in self.of_kind("vectors"))

    def of_kind(self, kind: Kind) -> tuple[Column, ...]:
        """Return the columns that are counted in this way."""
        return self._kinds[kind]  # type: ignore[attr-defined, no-any-return]

    def with_families(self, families: Mapping[str, Any] | None) -> Schema:
        """Return the same columns, some with another family."""
        for name in families or {}:
            self[name]  # says which columns there are, if this is none
        changed = (with_family(c, families[c.name]) if families and c.name in families else c for c in self.columns)
        return replace(self, columns=tuple(changed))

    def with_functions(self, functions: Mapping[str, Any]) -> Schema:
        """Return the same columns, functions that take texts apart given again after a file could not hold them."""
        out = []
        for column in self.columns:
            missing = {
                n: given
                for n, given in functions.items()
                if isinstance(getattr(column.family, n, None), UnsavedFunction) and given is not None
            }
            out.append(replace(column, family=replace(column.family, **missing)) if missing else column)  # type: ignore[type-var]
        return replace(self, columns=tuple(out))

    def beside(self, other: Schema) -> Schema:
        """Return the schema of counts under both, if they are of the same columns; this one's families stay."""
        for column in self.columns:
            if column.name in other and not same_kind(other[column.name].type, column.type):
                found = f"{NOUNS[column.type]} and {NOUNS[other[column.name].type]}"
                raise DoesNotFit(
                    f"Column {column.name!r} holds {found}; convert one of them before counting.", column=column.name
                )
            if column.name in other and column_cuts(column) != column_cuts(other[column.name]):
                raise DoesNotFit(
                    f"Column {column.name!r} is cut into other bins on each side; give both the same schema, such as "
                    "NaiveBayes(families=first.schema_), or the same nv.Bins(cuts=[...]).",
                    column=column.name,
                )
            if column.name in other:
                check_levels(column, other[column.name])
        return self

    @classmethod
    def of_counts(cls, counts: Any) -> Schema:
        """Return what the columns of counts are, as far as the statistics tell."""
        return cls(tuple(column_of_statistic(name, statistic) for name, statistic in counts.columns.items()))

    def only(self, names: Any) -> Schema:
        """Return the schema of some columns, in the order of this one."""
        wanted = {self[name].name for name in names}
        return replace(self, columns=tuple(column for column in self.columns if column.name in wanted))

    def unusual(self) -> dict[str, Family]:
        """Return the families that do not follow from the types, by column; the order of levels may be put aside."""
        usual = {c.name: Column(c.name, c.type, levels=c.levels).family for c in self.columns}
        return {c.name: c.family for c in self.columns if c.family != usual[c.name] or c.levels is not None}

    def to_json(self) -> dict[str, Any]:
        """Return the schema as plain data."""
        columns = [column_to_json(column) for column in self.columns]
        data = {"columns": columns, "hints": [Message(hint).to_json() for hint in self.hints], "target": self.target}
        if self.weight is not None:
            data["weight"] = self.weight
        return data if self.grid is None else data | {"grid": self.grid.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Schema:
        """Return the schema that to_json described."""
        columns = tuple(column_from_json(column) for column in data["columns"])
        grid = Grid.from_json(data["grid"]) if "grid" in data else None
        return cls(
            columns, tuple(map(Message.from_json, data.get("hints", ()))), data.get("target"), grid, data.get("weight")
        )

    def __str__(self) -> str:
        rows = [(str(c.name), NOUNS[c.type], family_text(c)) for c in self.columns]
        widths = [max((len(row[at]) for row in rows), default=0) for at in (0, 1)]
        lines = [f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c}" for a, b, c in rows]
        return "\n".join([*lines, *(f"- {hint}" for hint in self.hints)])


def with_family(column: Column, family: Any) -> Column:
    """Return a column with another family; bins that are cut already stay as they are, unless other cuts are given."""
    new, cuts = replace(column, family=family), column_cuts(column)
    if isinstance(new.family, Bins) and new.family.cuts is None and cuts is not None:
        return replace(new, family=replace(new.family, cuts=cuts))
    if isinstance(new.family, Ordinal) and new.family.levels is None:
        return replace(new, family=replace(new.family, levels=known_order(column)))
    return new


def known_order(column: Column) -> tuple[Any, ...] | None:
    """Return the levels of a column if they stand in an order that somebody chose; the alphabet's is none."""
    if isinstance(column.family, Ordinal):
        return column.family.levels
    chosen = column.levels is not None and list(column.levels) != sorted(column.levels, key=str)
    return column.levels if chosen else None


def check_levels(a: Column, b: Column) -> None:
    """Refuse levels that stand in another order, or that only the second column has."""
    ours, theirs = (c.family.levels if isinstance(c.family, Ordinal) else None for c in (a, b))
    if ours and theirs and [level for level in ours if level in theirs] != list(theirs):
        raise DoesNotFit(
            f"Column {a.name!r} has the levels {list(ours)} in one and {list(theirs)} in the other; give both "
            "the same: nv.Ordinal(levels=[…]).",
            column=a.name,
        )


def column_cuts(column: Column) -> tuple[float, ...] | None:
    """Return where the numbers of a column are cut into bins, if they are."""
    return column.family.cuts if isinstance(column.family, Bins) else None


def family_text(column: Column) -> str:
    """Return the family of a column in words, with what differs from its defaults."""
    own = family_settings(column.family)
    if isinstance(column.family, Bins) and own.pop("cuts", None) is not None:
        own["bins"] = len(column.family.values)  # the cuts themselves would fill the line
    if isinstance(column.family, Ordinal) and own.pop("levels", None) is not None:
        more = f" ({', '.join(f'{k}={v!r}' for k, v in own.items())})" if own else ""
        return f"ordinal{more}, {shown_few(column.family.levels or ())}"
    family = column.family.name + (f" ({', '.join(f'{k}={v!r}' for k, v in own.items())})" if own else "")
    return family if column.levels is None else f"{family}, {len(column.levels)} levels declared"


def family_settings(family: Any) -> dict[str, Any]:
    """Return the settings of a family that are not the default."""
    given = {f.name: getattr(family, f.name) for f in fields(family)}
    usual = type(family)()
    return {name: value for name, value in given.items() if not same(value, getattr(usual, name))}


def same(a: Any, b: Any) -> bool:
    """Tell whether two settings are equal; arrays count as lists."""
    return bool(getattr(a, "tolist", lambda: a)() == getattr(b, "tolist", lambda: b)())


def column_of_statistic(name: str, statistic: Any) -> Column:
    """Return the column that a statistic suggests."""
    if isinstance(statistic, WordTable):
        tokens = {f.name: getattr(statistic.lexicon.tokens, f.name) for f in fields(statistic.lexicon.tokens)}
        declared = tuple(statistic.lexicon.names()) if statistic.lexicon.fixed else None
        return Column(name, "text", Words(**tokens, vocabulary=declared))
    if isinstance(statistic, Moments):
        return Column(name, "number" if len(statistic.columns) == 1 else "vector", Gaussian())
    if isinstance(statistic.values.labels, range):
        return Column(name, "vector")
    kinds = {type(label) for label in statistic.values.labels if label is not None}
    types: dict[Any, Type] = {bool: "boolean", int: "whole", float: "number"}
    found = {types.get(kind, "text") for kind in kinds}
    return Column(name, found.pop() if len(found) == 1 else "text" if not found else "number", Categorical())


def column_to_json(column: Column) -> dict[str, Any]:
    """Return a column as plain data."""
    settings = {name: in_plain(value) for name, value in family_settings(column.family).items()}
    if isinstance(column.family, Words) and column.type == "text":
        settings["rules"] = column.family.rules  # said in any case, since older files do not say it and mean "python"
    data = {"name": column.name, "type": column.type, "family": column.family.name, "settings": settings}
    if column.written is not None:
        data["written"] = column.written.to_json()
    return data if column.levels is None else data | {"levels": list(column.levels)}


def in_plain(value: Any) -> Any:
    """Return a setting as plain data: arrays and tuples as lists, functions by their names."""
    return setting_to_json(getattr(value, "tolist", lambda: value)())


def column_from_json(data: Mapping[str, Any]) -> Column:
    """Return the column that column_to_json described."""
    settings = data["settings"]
    if data["family"] == "words":
        settings = {n: value if n == "smoothing" else setting_from_json(n, value) for n, value in settings.items()}
        settings = {"rules": "python"} | settings if data["type"] == "text" else settings
    family: Any = FAMILIES[data["family"]](**settings)
    levels = data.get("levels")
    written = CellFormat.from_json(data["written"]) if "written" in data else None
    return Column(data["name"], data["type"], family, None if levels is None else tuple(levels), written)


def likely(name: Any, names: tuple[str, ...], what: str = "columns") -> str:
    """Return the end of a sentence about a name that is not there: the likely one, or all there are."""
    spelled = {"".join(str(known).split()).casefold(): str(known) for known in names}
    alike = spelled.get("".join(str(name).split()).casefold())  # but for blanks and capitals
    close = [alike] if alike is not None else get_close_matches(str(name), [str(known) for known in names], n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    shown = ", ".join(repr(known) for known in names[:8]) + (", …" if len(names) > 8 else "")
    return f"; the {what} are {shown}." if names else f"; there are no {what}."
