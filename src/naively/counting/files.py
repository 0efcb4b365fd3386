"""Counts files larger than memory: one thread reads the next rows while another counts these."""

from __future__ import annotations

import queue
import threading
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from .._threads import allowed
from .._types import Codes, DType, Floats, Hashes, Label, Mask
from ..data.column import Column, FamilySettings
from ..data.frame import Frame, frame_of
from ..data.schema import Schema
from ..data.target import Target, arrow_target, check_kinds
from ..errors import InvalidInput, InvalidSetting
from ..errors.message import Message, RowNumber, Setting
from ..files.columns import TextsReadAsMissing
from ..files.file import File, FileBlock
from ..stats.arithmetic import weights_of_column
from .counter import EncodedRows, TableCounter
from .notes import about_cells, hints_of
from .row_hash import RowHasher
from .rows import PAIRED, ByClass, Rows, cell_hashes, measured_rows, uncut_columns, with_cuts, with_word_pairs
from .sample import Sample

# More different texts than this name things rather than describe them: it is set aside, unless `families` names it.
MOST_LABELS = 1_000_000
Progress = Callable[[int, int, int | None], object]  # gets the rows and bytes done so far, and the bytes of all files

Answer = TypeVar("Answer")


class LabeledBlock(NamedTuple):
    """Some rows of a file: where they are, what is counted of them, the code of each class, the weight of each row."""

    file: int
    begin: int
    frame: Frame
    y: Codes
    weights: Floats | None
    own: Floats | None  # the weights without those of the classes
    unlabelled: int = 0  # rows among them that are skipped, for they have no label


class ClassTotals(NamedTuple):
    """The weight of the rows of each class, and the number of rows of weight."""

    weights: dict[Label, float]
    rows: int


@dataclass
class FileRows:
    """The rows of files, to be counted: which column is the class, which the weight, which are left out."""

    source: File
    of_target: str
    weight: str | None = None
    ignore: Sequence[str] = ()
    unlabelled: str = "error"
    progress: Progress | None = None
    asked: Collection[str] | Schema = ()  # columns that `families` names: they stay, however many values they have
    label_type: DType = field(default_factory=lambda: np.dtype(object))
    passes: tuple[int, int] = (0, 1)  # how many passes are done, and how many there will be
    rows: int = 0
    counted: int = 0  # those of them that have a label and weigh something
    skipped: int = 0  # those that have no label
    gaps: Counter[str] = field(default_factory=Counter)  # empty cells of rows that are counted, by column
    found: TextsReadAsMissing = field(default_factory=dict)  # which texts stood for none, and how often, by column
    set_aside: list[str] = field(default_factory=list)
    first: Frame | None = None  # the first rows that were counted, for remarks on them
    # Of which columns a sample of rows is kept: of all, to fit to; of numbers, to measure what they tell of the class.
    sampling: Literal["rows", "numbers", "nothing"] = "numbers"
    by_class: ByClass | None = None  # the weight of a row of each class, beside its own weight
    expected: Sequence[Label] = ()  # classes that must be there, for they have a weight
    scale: float = 1.0  # what all weights are multiplied by
    weighed: tuple[int, float] = (0, 0.0)  # rows of weight, and their sum
    heavy: Floats | None = None  # the weight of the heaviest row of each class, by its code, class weights included
    narrow: bool = False  # whether texts and vectors are not counted
    may_be_empty: bool = False  # whether there need be no row: these are some of many rows
    each_block: Callable[[LabeledBlock], None] | None = None  # called with every block that is counted
    sample: Sample | None = None
    named, cells = True, 1 << 30
    target = Target([], np.zeros(0, dtype=np.int32), np.dtype(object))  # the classes are known when the rows are

    def schema(self, families: FamilySettings | Schema | None, pairs: bool = True) -> Schema:
        """Return what the columns are; families may say otherwise, or be a whole schema; pairs of words if they may."""
        schema = self.schema_by_types(families)
        if pairs and not isinstance(families, Schema):
            schema = with_word_pairs(schema, lambda name: self.source.text_bytes(name, PAIRED))
        return self._cut(schema)

    def schema_by_types(self, families: FamilySettings | Schema | None) -> Schema:
        """Return what the columns are, as far as that does not follow from all rows: bins may have no cuts yet."""
        if isinstance(families, Schema):
            self.asked = families
            return replace(families, target=self.of_target, weight=self.weight)
        apart = [self.of_target, *([] if self.weight is None else [self.weight]), *self.ignore]
        schema = self.source.schema(families, apart)
        if not len(schema):
            path = self.source.paths[0]
            raise InvalidInput(f"{path} has no column to learn from beside {', '.join(apart)}.", path=path)
        self.asked = families or ()
        return replace(schema, target=self.of_target, weight=self.weight)

    def _cut(self, schema: Schema) -> Schema:
        """Return the schema with all bins cut; where there are some, the files are gone over once for that."""
        columns = uncut_columns(schema)
        if not columns:
            return schema
        self.passes = self.passes[0], self.passes[1] + 1
        counter, sample = TableCounter(Schema(columns)), Sample.of_files(Schema(columns))
        for part in self.labelled(counter, range(len(self.source.paths)), allowed(None)):
            sample = sample.plus(cells_of_block(part, columns))
            self.rows += part.frame.rows
            self.report_progress(part)
        read, self.passes, self.rows = self.rows, (self.passes[0] + 1, self.passes[1]), 0
        if not read:  # the counting says that there are no rows
            return with_cuts(schema, frame_of({column.name: np.zeros(0) for column in columns}), None)
        cells = sample.rows(ordered=False)
        return with_cuts(schema, cells.source, cells.weights)

    # -- reading ------------------------------------------------------------------------------------------------

    def labelled(
        self,
        counter: TableCounter,
        which: Sequence[int],
        threads: int,
        schema: Schema | None = None,
        found: TextsReadAsMissing | None = None,
    ) -> Iterator[LabeledBlock]:
        """Return the rows of some of the files, a block at a time, with the codes that the counter gives classes.

        Of its columns only some are read, if there is a schema of these. Texts that stand for no value are added to
        `found`.
        """
        schema = counter.schema if schema is None else schema
        beside = [self.of_target, *([] if self.weight is None else [self.weight])]
        for name in beside:
            self.source.check(name)
        for block in ahead(self.source.blocks(which, schema, beside, threads, number=self.weight, found=found)):
            names = [name for name in schema.names if name not in self.set_aside]
            yield self._labelled(counter, block, names)

    def _labelled(self, counter: TableCounter, block: FileBlock, names: list[str]) -> LabeledBlock:
        table, path = block.table, self.source.paths[block.file]
        labels, codes, dtype, _ = arrow_target(table.column(self.of_target))
        if labels:
            self.label_type = dtype
            check_kinds([*list(counter.classes.places)[:1], *labels])
        weights = None
        if self.weight is not None:
            column = frame_of(table.select([self.weight])).columns[self.weight]
            weights = weights_of_column(column.numbers(0, table.num_rows), self.weight, path, block.begin) * self.scale
        none = codes < 0
        if none.any():
            if self.unlabelled != "skip":
                raise InvalidInput(
                    RowNumber(block.begin + int(np.argmax(none)), path),
                    f" has no label: column {self.of_target!r} is empty there. Leave such rows out, or set ",
                    Setting("unlabelled", "skip"),
                    ".",
                    column=self.of_target,
                )
            weights = np.where(none, 0.0, 1.0 if weights is None else weights)
        places = np.append(counter.classes.codes(labels), np.int32(0))  # code -1, a row without a label, takes the last
        frame, y, own = frame_of(table.select(names)), places[codes].astype(np.int32), weights
        frame = frame.without_types([name for name in counter.schema.empty if name in frame.columns])
        if self.by_class is not None:
            factors = np.array([*(self.by_class.get(label, 1.0) for label in labels), 1.0])[codes]
            weights = factors if own is None else factors * own
        return LabeledBlock(block.file, block.begin, frame, y, weights, own, int(none.sum()))

    def survey(self) -> ClassTotals:
        """Read only the classes and the weights of all rows, and return their totals."""
        counter, sums, rows = TableCounter(Schema(())), np.zeros(0), 0
        self.passes = self.passes[0], self.passes[1] + 1
        for part in self.labelled(counter, range(len(self.source.paths)), allowed(None)):
            result = np.bincount(part.y, part.own, len(counter.classes)).astype(np.float64)
            sums = result + np.append(sums, np.zeros(len(result) - len(sums)))
            rows += len(part.y) if part.own is None else int(np.count_nonzero(part.own))
            self.rows += len(part.y)
            self.report_progress(part)
        self.passes, self.rows = (self.passes[0] + 1, self.passes[1]), 0
        if not rows:
            raise InvalidInput("No row has a label and a weight above 0: there is nothing to learn from.")
        return ClassTotals(dict(zip(counter.classes.places, sums.tolist(), strict=True)), rows)

    def once_more(self, counter: TableCounter, threads: int, schema: Schema | None = None) -> Iterator[LabeledBlock]:
        """Read all rows in one more pass, and report the progress."""
        self.passes = self.passes[0] + 1, max(self.passes[0] + 2, self.passes[1])
        self.rows = 0
        for part in self.labelled(counter, range(len(self.source.paths)), threads, schema):
            self.rows += part.frame.rows
            yield part
            self.report_progress(part)

    # -- counting -----------------------------------------------------------------------------------------------

    def count(self, counter: TableCounter, threads: int, which: Sequence[int] | None = None) -> None:
        """Count the rows of the files, or of some of them; an error leaves the counter as it was."""
        own = counter.empty_like() if counter.rows.any() else counter
        which = range(len(self.source.paths)) if which is None else which
        self.count_apart([own], threads, lambda part: None, which)
        if own is not counter:
            counter.absorb(own)

    def count_apart(
        self,
        counters: Sequence[TableCounter],
        threads: int,
        folds_of: Callable[[LabeledBlock], Codes | None],
        which: Sequence[int],
    ) -> None:
        """Count each row with one of the counters, which have the same codes: the one of its fold."""
        before, counter, hasher = self.rows, counters[0], RowHasher(counters[0])
        for part in self.labelled(counter, which, threads, found=self.found):
            folds = folds_of(part)
            with in_file(self.source, part.file, part.begin):
                block = counter.encoded(part.frame, 0, part.frame.rows, threads)
                counted = block._replace(vectors={}) if self.narrow else block
                counter.add_apart(counters, folds, counted, part.y, part.weights, threads)
            if self.each_block is not None:
                self.each_block(part)
            self.first = self.first or part.frame
            self._sample(hasher, part, block, folds, threads)
            if part.own is not None:
                rows, total = self.weighed
                self.weighed = rows + int(np.count_nonzero(part.own)), total + float(part.own.sum())
            if part.weights is not None and (self.by_class or (part.weights != np.floor(part.weights)).any()):
                known = np.zeros(0) if self.heavy is None else self.heavy
                self.heavy = np.pad(known, (0, len(counters[0].classes.places) - len(known)))
                np.maximum.at(self.heavy, part.y, part.weights)
            self.rows += part.frame.rows
            self._note(part)
            self._set_aside(counters)
            self.report_progress(part)
        if self.may_be_empty:
            return
        if self.rows == before:
            names = ", ".join(self.source.paths[at] for at in which)
            raise InvalidInput(f"{names}: there are no rows, only names of columns. There is nothing to learn from.")
        if not any(counter.rows.any() for counter in counters):
            raise InvalidInput("No row has a label and a weight above 0: there is nothing to learn from.")
        check_class_names(self.expected, counters[0].classes.places)

    def _sample(
        self, hasher: RowHasher, part: LabeledBlock, block: EncodedRows, folds: Codes | None, threads: int
    ) -> None:
        """Give the rows of a block to the sample; the encoded rows are hashed only if it needs that."""
        schema, numbers = hasher.counter.schema, [column.name for column in hasher.counter.of_numbers]
        if self.sampling == "nothing" or (self.sampling == "numbers" and not numbers):
            return
        heavy = np.arange(len(part.y)) if part.own is None else np.flatnonzero(part.own > 0)
        target = Target(list(hasher.counter.classes.places), part.y, self.label_type)
        rows = Rows(part.frame, target, None if self.weight is None else part.own, self.of_target, folds=folds)
        rows = rows if len(heavy) == len(part.y) else rows.take(heavy)

        def hashes() -> Hashes:
            return hasher.hashes(block, part.y, part.own, threads)[heavy]

        if self.sampling == "rows":
            sample = self.sample or Sample.of_files(schema)
            sample = sample if len(sample.schema) == len(schema) else sample.only(schema)  # a column was set aside
            self.sample = sample.plus(rows, threads, hashes)
        else:  # the hashes are of all columns
            empty = Sample(schema.only(numbers), most=(most := measured_rows(len(numbers))), whole=most)
            rows = replace(rows, source=rows.source.only(numbers), hashes=hashes())
            self.sample = (self.sample or empty).plus(rows, threads)

    def sampled(self, counter: TableCounter) -> Rows | None:
        """Return the sample of the rows as a table in memory, each row with its own weight; None if none was kept."""
        if self.sample is None:
            return None
        rows, held = self.sample.rows(ordered=False), self.sample.schema
        target = rows.target.without_unused_labels().on(list(counter.classes.places))
        schema = counter.schema.only(name for name in counter.schema.names if name in held)
        return replace(rows, source=rows.source.on(schema), target=target)

    def heaviest(self, counter: TableCounter) -> ByClass | None:
        """Return the weight of the heaviest row of each class; None if weights, if there are some, count copies."""
        return None if self.heavy is None else dict(zip(counter.classes.places, self.heavy.tolist(), strict=False))

    def retained(self, counter: TableCounter, threads: int) -> Sample:
        """Return what a model retains of the rows that were counted with a sample."""
        assert self.sample is not None, "a sample was kept"
        return self.sample.retained(counter.schema, threads)

    def hints(self, counter: TableCounter) -> tuple[str, ...]:
        """Return remarks on the files, and on columns that look odd or were set aside."""
        file, aside = self.source, map(set_aside_hint, self.set_aside)
        cells = about_cells(counter.schema, self.found, file.decimal, file.thousands)
        return (*file.notes(), *cells, *hints_of(counter, self.first), *aside)

    def _note(self, part: LabeledBlock) -> None:
        """Note how many rows are counted, how many have no label, and which cells are empty, whatever rows weigh."""
        light = None if part.own is None or part.own.all() else part.own == 0
        self.counted += part.frame.rows - (0 if light is None else int(light.sum()))
        self.skipped += part.unlabelled
        self.gaps.update(empty_cells(part.frame, light))

    def _set_aside(self, counters: Sequence[TableCounter]) -> None:
        for column, words in list(zip(counters[0].of_labels, counters[0].words, strict=True)):
            if len(words) > MOST_LABELS and self.may_go(column):
                self.set_aside.append(column.name)
                for counter in counters:
                    counter.set_aside(column.name)

    def may_go(self, column: Column) -> bool:
        """Return whether a column is set aside if it has too many values: texts that `families` does not name."""
        return column.type == "text" and column.name not in self.asked

    def finish(self) -> None:
        """Report the progress as complete, where fewer passes were needed than expected."""
        before, self.passes = self.passes[1], (self.passes[0], self.passes[0] + 1)
        if self.progress is not None and self.passes[1] < before:
            done = self.passes[1] * sum(self.source.bytes(index) for index in range(len(self.source.paths)))
            self.progress(self.rows, done, done or None)

    def report_progress(self, part: LabeledBlock) -> None:
        """Report the progress of reading, if there is a callback."""
        if self.progress is not None:
            sizes = [self.source.bytes(index) for index in range(len(self.source.paths))]
            here = min(int(self.source.row_bytes(part.file) * (part.begin + part.frame.rows)), sizes[part.file])
            before, passes = self.passes
            done = before * sum(sizes) + sum(sizes[: part.file]) + here
            self.progress(self.rows, done, passes * sum(sizes) or None)  # the size of a stream is not known


def cells_of_block(part: LabeledBlock, columns: Sequence[Column]) -> Rows:
    """Return columns of numbers of some rows, to place cuts by; their hashes do not follow from their classes."""
    target = Target([], np.full(part.frame.rows, -1, dtype=np.int32), np.dtype(object))
    frame = part.frame.only([column.name for column in columns])
    weights = np.ones(frame.rows) if part.weights is None else part.weights
    return Rows(frame, target, weights, hashes=cell_hashes(frame, columns, weights))


def check_class_names(labels: Iterable[Label], known: Iterable[Label]) -> None:
    """Refuse weights of classes that no row has."""
    there = list(known)
    unknown = [label for label in labels if label not in set(there)]
    if unknown:
        raise InvalidSetting(
            Setting("class_weight"),
            f" names the class {unknown[0]!r}, which no row has; the classes are {there[:8]}.",
            value=unknown[0],
            classes=there,
        )


def set_aside_hint(name: str) -> Message:
    """Return the note on a column that was ignored for its many values."""
    return Message(
        f"{name!r} has more than {MOST_LABELS:,} different values, as names and record numbers have, and was ignored; "
        "to count the words of texts: ",
        Setting("families", {name: "words"}),
        ", or whole values all the same: ",
        Setting("families", {name: "categorical"}),
        ".",
    )


def each_block(
    file: File,
    schema: Schema,
    ask: Callable[[pa.Table], Answer],
    threads: int | None = None,
    beside: Sequence[str] = (),
) -> list[Answer]:
    """Return what a function returns for each block of rows of files; the next block is read meanwhile."""
    answers = []
    file.keep_no_more()
    for block in ahead(file.blocks(range(len(file.paths)), schema, beside, threads)):
        with in_file(file, block.file, block.begin):
            answers.append(ask(block.table))
    if not answers:
        raise InvalidInput(f"{', '.join(file.paths)}: there are no rows, only names of columns.")
    return answers


def empty_cells(frame: Frame, light: Mask | None = None) -> dict[str, int]:
    """Return how many cells of each Arrow column of a frame are empty, but for rows that weigh nothing."""
    empty = {name: values.data.null_count for name, values in frame.columns.items()}
    if light is not None:
        rows = pa.array(light)
        apart = {name: frame.columns[name].data.filter(rows).null_count for name, none in empty.items() if none}
        empty |= {name: empty[name] - none for name, none in apart.items()}
    return {name: none for name, none in empty.items() if none}


@contextmanager
def in_file(source: File, at: int, begin: int) -> Iterator[None]:
    """Let errors about a row of a block say which row of which file it is."""
    try:
        yield
    except InvalidInput as error:
        placed = error.with_place(begin, source.paths[at])
        if placed.line is None and placed.row is not None:
            placed.line = source.line_of(at, placed.row)
        raise placed from None


# -- the next blocks, read meanwhile -----------------------------------------------------------------------------------


# Blocks that are read ahead of the counting.
AHEAD = 2

Item = TypeVar("Item")


def ahead(items: Iterable[Item], depth: int = AHEAD) -> Generator[Item, None, None]:
    """Return the same items; a thread of its own makes the next ones meanwhile."""
    waiting: queue.Queue[tuple[Item] | BaseException | None] = queue.Queue(depth)  # an item, an error, or the end
    stopped = threading.Event()

    def put(entry: tuple[Item] | BaseException | None) -> None:
        while not stopped.is_set():
            try:
                waiting.put(entry, timeout=0.1)
                return
            except queue.Full:
                continue

    def work() -> None:
        try:
            for item in items:
                put((item,))
                if stopped.is_set():
                    return
            put(None)
        except BaseException as error:  # handed to whoever waits for the next item
            put(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while (got := waiting.get()) is not None:
            if isinstance(got, BaseException):
                raise got
            yield got[0]
    finally:
        stopped.set()
        thread.join()
