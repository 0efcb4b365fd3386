"""A model of adjusted values, over the same rows and the same reading as the text book's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ..._types import Codes, Floats
from ...data.column import Column
from ...data.frame import Frame
from ...data.grid import Cells, Grid
from ...data.schema import Schema
from ...families import Bernoulli, Settings, Words
from ...families.categorical import LogTable
from ...families.family import scores_of
from ...families.texts import Kept, TextWeights
from ...families.wide import there, total
from ...stats import Axis, Counts
from ..joint.lookup import Lookups, Slopes
from ..joint.model import Scores, Weighed
from ..joint.words import Wording, wordings
from ..table_model import INSIDE, LABELS, RARE, TableModel
from .features import LEVEL, Adjustable, flags_of, kept_values, scaled_words
from .offsets import Moved, Refined
from .optimize import Block
from .wide_features import Both, Scaled, Wide, words_without

BINS, LEVELS, NUMBERS = INSIDE + "bins", INSIDE + "levels", "numbers"
# What no row of a class holds rules it out in the text book; here it speaks as strongly as this, in logarithms.
STRONGEST = 30.0
# Adjustments that are fitted: a number for each value and class.
PARAMETERS = 1 << 21


class RefinedModel(TableModel):
    """P(class | row) by naive Bayes with the evidence of single values adjusted."""

    def __init__(
        self,
        counts: Counts,
        schema: Schema,
        settings: Settings,
        log_prior: Floats,
        max_categories: int | None,
        grid: Grid,
        refined: Refined | None = None,
        prior_shift: Floats | None = None,
        scale: float = 1.0,
    ) -> None:
        super().__init__(counts, schema, settings, log_prior, max_categories)
        names = {column.name for column in schema.of_kind("numbers")}
        self.grid = Grid(tuple(bins for bins in grid.numbers if bins.name in names), ())
        self.counts, self.refined, self.shift = counts, refined, prior_shift
        if refined is not None:
            self.model = self._scores(refined, scale)

    # -- what is adjusted -----------------------------------------------------------------------------------------

    @property
    def _label_tables(self) -> list[tuple[str, LogTable]]:
        numbers = self.schema.of_kind("numbers")
        return [
            *((label.column.name, label.table) for label in self.labels),
            *((f"{numbers[at].name} (missing)", table) for at, table in self.gaps),
        ]

    @cached_property
    def adjustable(self) -> list[Adjustable]:
        """The columns whose values may be adjusted, as their features stand side by side."""
        out = [
            Adjustable(name, "labels", table.values.labels, np.where(rare(table), 0.0, table.n.sum(axis=0)))
            for name, table in self._label_tables
        ]
        out += [
            Adjustable(bins.name, "numbers", [*map(str, range(bins.size)), LEVEL], None) for bins in self.grid.numbers
        ]
        for column in self._wide:
            table, values = self.counts.columns[column.name], self._values_of(column)
            texts = isinstance(values, Kept)  # words are numbered there as they were met
            met = table.texts[:, values.numbers] if texts else table.n  # type: ignore[attr-defined]
            out.append(Adjustable(column.name, "vectors", values, met.sum(axis=0)))
        return out

    def _values_of(self, column: Column) -> Sequence[Any]:
        """Return the values of a wide column that speak: columns of vectors, or words."""
        if column.name in self.wording:
            return self.wording[column.name].kept
        said: Any = self.book.likelihoods[column.name]
        return said.words if isinstance(said, TextWeights) else self.counts.columns[column.name].values.labels

    @cached_property
    def wording(self) -> dict[str, Wording]:
        """What is counted of the words of texts."""
        return wordings(self.schema, self.counts, self.classes)

    @property
    def _wide(self) -> list[Column]:
        """The columns of words and flags."""
        return [c for c in self.schema.of_kind("vectors") if isinstance(c.family, (Words, Bernoulli))]

    @cached_property
    def kinds(self) -> list[str]:
        """The kinds of columns for which naive Bayes counts more or less: labels, numbers, each column of vectors.

        The words of a text speak in several ways.
        """
        kinds = ["labels"] * (LABELS in self.book.likelihoods) + [NUMBERS] * bool(self.numbers)
        for name in (column.name for column in self.schema.of_kind("vectors")):
            kinds += [f"{way} of {name}" for way in self.wording[name].ways] if name in self.wording else [name]
        return kinds

    @cached_property
    def kept(self) -> Any:
        """Which of all values are adjusted."""
        return kept_values(self.adjustable, max(PARAMETERS // max(len(self.classes), 1), 1))

    @cached_property
    def levels(self) -> Any:
        """Whether each of the values kept is the level of a number."""
        of = ([v == LEVEL for v in c.values] if c.kind == "numbers" else [False] * len(c) for c in self.adjustable)
        return np.array([level for column in of for level in column], dtype=bool)[self.kept]

    def moved(self, by: Floats) -> dict[str, Moved]:
        """Return how far the values of each column moved, given [value kept, class]."""
        found, begin = {}, 0
        for column in self.adjustable:
            at = np.flatnonzero((self.kept >= begin) & (self.kept < begin + len(column)))
            at = at[by[at].any(axis=1)]
            own = [column.values[place - begin] for place in self.kept[at].tolist()]
            if own:
                axis = Axis.declared(own)
                # Half the digits are plenty, and take half the room in a file.
                table = by[at].astype(np.float32).astype(np.float64)
                order = axis.places(own)
                laid = np.zeros((len(self.classes), len(own)))
                laid[:, order] = table.T
                found[column.name] = Moved(axis, laid)
            begin += len(column)
        return found

    # -- rows -----------------------------------------------------------------------------------------------------

    def read(self, frame: Frame, begin: int, end: int, threads: int) -> dict[str, Any]:
        """Return some rows of a frame, a matrix for each part of both models."""
        return self._laid(super().read(frame, begin, end, threads), end - begin, threads)

    def read_rows(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return rows given as dicts, a matrix for each part of both models."""
        return self._laid(super().read_rows(rows), len(rows), 1)

    def _laid(self, columns: dict[str, Any], rows: int, threads: int) -> dict[str, Any]:
        cells = self._cells(columns, rows, threads)
        plain = (c for c in self._wide if isinstance(c.family, Words) and c.name not in self.wording)
        words = {said_of(c): scaled_words(self._bag(c, columns)) for c in plain}
        return {**columns, BINS: cells.codes, LEVELS: cells.level, **words}

    def _bag(self, column: Column, columns: dict[str, Any]) -> Any:
        """Return the words of rows as a matrix."""
        said: Any = self.book.likelihoods[column.name]
        return said.matrix(columns[column.name]) if isinstance(said, TextWeights) else columns[column.name]

    def _cells(self, columns: dict[str, Any], rows: int, threads: int) -> Cells:
        """Return the bins and levels of numbers."""
        out = np.empty((rows, len(self.grid.numbers)), order="F")
        for at, bins in enumerate(self.grid.numbers):
            key, place = self.part_of_number(bins.name)
            out[:, at] = columns[key][:, place]
        return self.grid.encode(out, np.empty((rows, 0), dtype=np.int32), threads)

    def features(self, columns: dict[str, Any]) -> Any:
        """Return the values of rows that are adjusted, [row, value kept]."""
        codes = columns.get(LABELS, np.empty((len(columns[BINS]), 0), dtype=np.int32))
        parts = [flags_of(codes, [len(table.values) for _, table in self._label_tables])]
        parts.append(flags_of(columns[BINS], [bins.size for bins in self.grid.numbers], columns[LEVELS]))
        for column in self._wide:
            if column.name in self.wording:
                parts.append(self.wording[column.name].flags(columns[column.name]))
            elif isinstance(column.family, Words):
                parts.append(columns[said_of(column)])
            else:
                parts.append(sparse.csr_array(there(columns[column.name], threshold_of(column)), dtype=np.float64))
        whole = sparse.csr_array(sparse.hstack([part for part in parts if part.shape[1]] or parts[:1], format="csr"))
        return whole if len(self.kept) == whole.shape[1] else whole[:, self.kept]

    def block(self, columns: dict[str, Any], y: Codes, weights: Floats, threads: int) -> Block:
        """Return rows that were counted as they are left out."""
        book = [centred(said) for said in self.without(columns, y, np.minimum(weights, 1.0), threads)]
        stacked = np.stack(book) if book else np.zeros((0, len(y), len(self.classes)))
        return Block(self.features(columns), stacked, y, weights)

    def without(self, columns: dict[str, Any], y: Codes, w: Floats, threads: int) -> list[Floats]:
        """Return what naive Bayes says of rows, each left out, by kind of column, [row, class]."""
        out, books = [], self.book.likelihoods
        if LABELS in books:
            out.append(books[LABELS].leave_one_out(columns[LABELS], y, w, threads))
        if self.numbers:
            out.append(sum(books[key].leave_one_out(columns[key], y, w, threads) for key in self.numbers))  # type: ignore[arg-type]
        for column in self.schema.of_kind("vectors"):
            said: Any = books[column.name]
            if column.name in self.wording:
                left = self.wording[column.name].left(columns[column.name], y, w)
                out += [part.T.astype(np.float64) for part in left.values()]
            elif plain_words(column):
                bag, scaled = self._bag(column, columns), columns[said_of(column)]
                out.append(words_without(of_bag(said), bag, scaled, y, w, threads))
            else:
                out.append(said.leave_one_out(columns[column.name], y, w, threads))
        return out

    # -- answers --------------------------------------------------------------------------------------------------

    def _scores(self, refined: Refined, scale: float) -> Scores:
        said: dict[str, Any] = {}
        if LABELS in self.book.likelihoods:
            said[LABELS] = Lookups(self.classes, tuple(self._label_lookups(refined)))
        for key in self.numbers:
            said[key] = Weighed(self.book.likelihoods[key], refined.book[NUMBERS])
        by_number = [self._moved_on(refined, a.name, a.values) for a in self.adjustable if a.kind == NUMBERS]
        said[BINS] = Lookups(self.classes, tuple(table[:-1] for table in by_number))
        said[LEVELS] = Slopes(self.classes, np.array([table[-1] for table in by_number]).reshape(-1, len(self.classes)))
        for column in self.schema.of_kind("vectors"):
            said |= self._wide_scores(refined, column)
        prior = refined.bias if self.shift is None else refined.bias + self.shift
        return Scores(self.classes, prior, said, scale=scale, book=self.book)

    def _label_lookups(self, refined: Refined) -> list[Floats]:
        """Return what each label says: naive Bayes as much as it counts, and its adjustment; values never met last."""
        times, out = refined.book["labels"], []
        for name, table in self._label_tables:
            logs = np.vstack([table.log_p.T, table.log_unseen])
            moved = self._moved_on(refined, name, table.values.labels)
            out.append(times * held_back(logs) + np.vstack([moved, np.zeros((1, len(self.classes)))]))
        return out

    def _wide_scores(self, refined: Refined, column: Column) -> dict[str, Any]:
        likelihood: Any = self.book.likelihoods[column.name]
        if column.name in self.wording:
            words = self.wording[column.name]
            mix = {way: refined.book[f"{way} of {column.name}"] for way in words.ways}
            return {column.name: words.weighed(mix, moved=self._moved_on(refined, column.name, words.kept))}
        times = refined.book[column.name]
        if column not in self._wide:
            return {column.name: Weighed(likelihood, times)}
        moved = self._moved_on(refined, column.name, self._values_of(column))
        if plain_words(column):
            table = times * held_back(of_bag(likelihood).log_p.T) + moved
            return {said_of(column): Wide(self.classes, table)}
        if isinstance(column.family, Words):
            return {column.name: Weighed(likelihood, times), said_of(column): Wide(self.classes, moved)}
        wide = Wide(self.classes, moved, threshold_of(column))
        return {column.name: Both(Weighed(likelihood, times), wide)}

    def _moved_on(self, refined: Refined, name: str, values: Sequence[Any]) -> Floats:
        """Return how far each of these values moved, [value, class]."""
        out = np.zeros((len(values), len(self.classes)))
        if name in refined.moved:
            moved = refined.moved[name]
            if isinstance(values, Kept):
                columns = values.places(moved.values.labels)
                out[columns[columns >= 0]] = moved.table.T[columns >= 0]
                return out
            if isinstance(values, range):
                out[np.array(list(moved.values.labels), dtype=np.int64)] = moved.table.T
                return out
            place = {value: at for at, value in enumerate(values)}
            known = [(place[v], at) for at, v in enumerate(moved.values.labels) if v in place]
            for to, at in known:
                out[to] = moved.table[:, at]
        return out

    # -- why, and how good ----------------------------------------------------------------------------------------

    def left(self, columns: dict[str, Any], y: Codes, weights: Floats) -> Floats:
        """Return the scores of rows that were counted, each left out; the adjustments stay as they are."""
        assert self.refined is not None
        book = self.without(columns, y, np.minimum(weights, 1.0), 1)
        scores = sum(
            (self.refined.book[kind] * centred(said) for kind, said in zip(self.kinds, book, strict=True)), 0.0
        )
        tables = [self._moved_on(self.refined, a.name, a.values) for a in self.adjustable]
        moved = np.vstack([*tables, np.zeros((0, len(self.classes)))])[self.kept]
        return np.asarray(self.model.log_prior + scores + total(self.features(columns), moved))

    def said(self, columns: dict[str, Any], threads: int) -> tuple[Floats, Floats]:
        """Return the contribution of each column to each class, [row, column, class].

        The second is the part of the first that comes from adjustments of labels and numbers, which were fitted for all
        columns at once; those of words stand beside each word.
        """
        assert self.refined is not None
        out, joint = (np.zeros((len(columns[BINS]), len(self.schema), len(self.classes))) for _ in range(2))
        place = {name: at for at, name in enumerate(self.schema.names)}
        numbers, parts = self.schema.of_kind("numbers"), self.model.likelihoods
        owners = [*(label.column.name for label in self.labels), *(numbers[at].name for at, _ in self.gaps)]
        moved = [self._moved_on(self.refined, name, table.values.labels) for name, table in self._label_tables]
        for at, name in enumerate(owners):
            table = parts[LABELS].tables[at]  # type: ignore[attr-defined]
            codes = columns[LABELS][:, at]
            known = np.flatnonzero((codes >= 0) & (codes < len(table)))
            out[known, place[name]] += table[codes[known]]
            known = known[codes[known] < len(moved[at])]
            joint[known, place[name]] += moved[at][codes[known]]
        for at, bins in enumerate(self.grid.numbers):
            own = np.ascontiguousarray(columns[BINS][:, at : at + 1])
            by = scores_of(Lookups(self.classes, (parts[BINS].tables[at],)), own, threads)  # type: ignore[attr-defined, arg-type]
            by = by + columns[LEVELS][:, at : at + 1] * parts[LEVELS].table[at]  # type: ignore[attr-defined]
            out[:, place[bins.name]] += by
            joint[:, place[bins.name]] += by
        for key, (_, group) in self.numbers.items():
            for at, column in enumerate(group):
                book = Weighed(self.book.likelihoods[key].column(at), self.refined.book[NUMBERS])  # type: ignore[attr-defined]
                own = np.ascontiguousarray(columns[key][:, at : at + 1])
                out[:, place[column.name]] += scores_of(book, own, threads)  # type: ignore[arg-type]
        for column in self.schema.of_kind("vectors"):
            for key in (column.name, said_of(column)):
                if key in parts:
                    out[:, place[column.name]] += scores_of(parts[key], columns[key], threads)
        return out, joint

    def by_word(self) -> dict[str, Any]:
        """Return what scores the words of texts one by one, by column."""
        found, said = super().by_word(), self.model.likelihoods
        for column in (column for column in self._wide if said_of(column) in said and column.name in self.words):
            bag: Any = self.book.likelihoods[column.name]
            found[column.name] = Scaled(bag, said[said_of(column)], found.get(column.name))  # type: ignore[arg-type]
        return found

    @property
    def pairs(self) -> dict[str, tuple[str, str]]:
        """The pairs of columns that say something beyond both: none."""
        return {}


def said_of(column: Column) -> str:
    """Return the name of the words of a column as they are weighed."""
    return f"{column.name} (words)"


def plain_words(column: Column) -> bool:
    """Tell whether a column holds words that speak for their own class, and only by being there."""
    return isinstance(column.family, Words) and not (column.family.complement or column.family.bernoulli)


def of_bag(likelihood: Any) -> Any:
    """Return the likelihood of a bag of words, which that of texts holds."""
    return likelihood.inner if isinstance(likelihood, TextWeights) else likelihood


def threshold_of(column: Column) -> float | None:
    """Return above what a cell of a column of flags is there."""
    return column.family.threshold if isinstance(column.family, Bernoulli) else None


def rare(table: LogTable) -> Any:
    """Tell which values of a table stand for several."""
    return np.array([value is RARE for value in table.values.labels], dtype=bool)


def held_back(logs: Floats) -> Floats:
    """Return logarithms [value, class] none of which rules out a class."""
    best = np.where(np.isneginf(logs).all(axis=1), 0.0, logs.max(axis=1, initial=-np.inf))
    return np.asarray(np.maximum(logs, best[:, None] - STRONGEST))


def centred(said: Floats) -> Floats:
    """Return what is said of rows [row, class] without what all classes share."""
    said = held_back(said) if np.isneginf(said).any() else said
    return np.asarray(said - said.mean(axis=1, keepdims=True))
