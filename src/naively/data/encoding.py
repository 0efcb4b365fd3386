"""Cells of tables as the kernels read them: labels as codes, numbers as floats, vectors as matrices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice

import numpy as np
import pyarrow as pa

from .. import _kernels
from .._threads import WORTHWHILE, in_threads
from .._types import AnyArray, Codes, Label
from ..errors import InvalidInput, RowRefused, infinite_cell
from ..errors.message import RowNumber, Setting
from ..families import Bernoulli, Bins, Ordinal, Poisson
from ..families.poisson import NEVER_NEGATIVE
from ..text.column import arrow_buffers
from .cell_format import exact_names, is_one_of, tally
from .column import Column
from .frame import Frame
from .values import ColumnLabels, ColumnValues, plain_texts


class Coder:
    """Gives the labels of one column the codes that a dict says; missing cells have a code of their own.

    A label that is not in the dict gets the code of unseen ones or, if there is none, the next free one: those are
    returned, for the dict to take in before the next block is read.
    """

    def __init__(
        self, column: Column, places: dict[Label, int], missing: int, unseen: int | None = None, *, refuse: bool = False
    ) -> None:
        self.column, self.places, self.missing, self.unseen, self.refuse = column, places, missing, unseen, refuse
        self.none = exact_names(column.written)  # texts that stand for no value
        self.found: Counter[str] = Counter()  # how often each of them was seen
        self._learn_none()

    def _learn_none(self) -> None:
        """Start the compiled dictionary; texts that stand for no value have the code of missing cells."""
        self._texts, self._known = _kernels.TextCodes(), 0
        self._texts.add(list(self.none), [self.missing] * len(self.none))

    def texts(self, values: ColumnValues, begin: int, end: int) -> pa.Array | None:
        """Return some rows as an Arrow array of texts, None if they have to be read another way."""
        values.check(self.column)
        return None if self._by_value(values) else values.texts(begin, end)

    def _by_value(self, values: ColumnValues) -> bool:
        """Tell whether numbers are distinguished by their size: the bin of each, or whether it is above a threshold."""
        family = self.column.family
        return isinstance(family, Bins) or (isinstance(family, Bernoulli) and values.type not in ("boolean", None))

    def text_task(self, texts: pa.Array, out: Codes) -> _kernels.TextTask:
        """Return texts as the kernels encode them, which fill in their codes; `take_texts` is to be called then."""
        self.learn()
        unseen = _kernels.NEW_CODE if self.unseen is None else self.unseen
        return text_task(self._texts, texts, self.missing, unseen, out)

    def take_texts(self, texts: pa.Array, seen: list[int], named_missing: int) -> list[Label]:
        """Return the texts that are new, given the rows in which they occur first.

        If some rows hold a text that stands for no value, it is noted which.
        """
        new: list[Label] = [texts[row].as_py() for row in seen]
        self._known += len(new)
        if self.none and self.unseen is None and named_missing:
            there = plain_texts(texts).drop_null()
            self.found += tally(there, is_one_of(there, self.none))
        return new

    def fill(self, values: ColumnValues, begin: int, end: int, out: Codes) -> list[Label]:
        """Fill in the codes of some rows that are no texts, and return the labels that are new."""
        read = self._distinguished if self._by_value(values) else ColumnValues.labels
        labels, which = read(values, begin, end)
        codes, new = [], list[Label]()
        for label in labels:
            code = self.missing if label != label or label in self.none else self.places.get(label, self.unseen)
            if code is None:
                new.append(label)
                code = len(self.places) + len(new) - 1
            codes.append(code)
        out[:] = np.array([*codes, self.missing], dtype=np.int32)[
            which
        ]  # a row without a label looks at the last place
        return new

    def check(self, values: ColumnValues, begin: int, out: Codes, new: list[Label]) -> None:
        """Refuse new labels that are no levels, and labels that were not seen in training where that is an error."""
        if new and isinstance(self.column.family, Ordinal):
            try:
                self.column.family.check(self.column.name, (*self.places, *new))
            except InvalidInput:
                self._learn_none()  # the compiled dictionary forgets them, too
                raise
        if self.refuse and (out == self.unseen).any():
            row = begin + int(np.argmax(out == self.unseen))
            if label := values.labels(row, row + 1).labels:
                raise unseen_error(self.column.name, label[0], row)

    def _distinguished(self, values: ColumnValues, begin: int, end: int) -> ColumnLabels:
        """Return the labels of numbers: the bin of each, or the flag whether it lies above a threshold."""
        numbers, family = values.numbers(begin, end), self.column.family
        if isinstance(family, Bins):
            if np.isinf(numbers).any():
                raise infinite_cell(begin + int(np.argmax(np.isinf(numbers))), self.column.name)
            return ColumnLabels(list(family.values), family.codes(numbers))
        which = (numbers > (getattr(family, "threshold", None) or 0.0)).astype(np.int32)
        which[np.isnan(numbers)] = -1
        return ColumnLabels([False, True], which)

    def learn(self) -> None:
        """Take labels that the dict got since into the compiled dictionary; then several threads may look them up."""
        if self._known == len(self.places):
            return
        if self._known > len(self.places):  # of texts that were encoded, some were not taken in: an error came between
            self._learn_none()
        rest = islice(self.places.items(), self._known, None)
        # Texts that Arrow can hold: no half of a pair of surrogates.
        texts = ((text, code) for text, code in rest if isinstance(text, str))
        since = {t: code for t, code in texts if t.isascii() or t.encode(errors="ignore").decode() == t}
        self._texts.add(list(since), list(since.values()))
        self._known = self._texts.next = len(self.places)

    def __getstate__(self) -> dict[str, object]:
        compiled = ("_texts", "_known")  # made anew
        return {name: value for name, value in vars(self).items() if name not in compiled}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._learn_none()


def unseen_error(column: str, label: Label, row: int | None = None) -> InvalidInput:
    """Return the error about a label that was not seen in training, where that is an error."""
    place = (f"Column {column!r}",) if row is None else (RowNumber(row), f", column {column!r}")
    return InvalidInput(
        *place,
        f" holds {label!r}, which was not seen in training. Set ",
        Setting("unseen", "skip"),
        " to ignore such values, or ",
        Setting("unseen", "smooth"),
        " to smooth them.",
        column=column,
        value=label,
    )


def text_task(codes: _kernels.TextCodes, texts: pa.Array, missing: int, unseen: int, out: Codes) -> _kernels.TextTask:
    """Return an Arrow array of texts as the kernels encode it, from its buffers."""
    encode = _kernels.viewed_texts if pa.types.is_string_view(texts.type) else _kernels.plain_texts
    return encode(codes, *arrow_buffers(texts), missing, unseen, out)


# Rows that are read at once: enough to keep threads busy, few enough to stay small beside the data.
ROWS = 1 << 17


def block_codes(
    frame: Frame, coders: Sequence[Coder], begin: int, end: int, threads: int
) -> tuple[Codes, list[list[Label]]]:
    """Return the codes of some rows, [row, column], and the labels of each column that are new."""
    codes = np.empty((end - begin, len(coders)), dtype=np.int32, order="F")  # a column is filled in one go
    columns = [frame.columns[coder.column.name] for coder in coders]
    texts = [coder.texts(values, begin, end) for coder, values in zip(coders, columns, strict=True)]
    tasks = {at: coders[at].text_task(array, codes[:, at]) for at, array in enumerate(texts) if array is not None}
    # All columns of texts in one call: new ones get their codes in the order in which they come.
    encoded = dict(zip(tasks, _kernels.encode_texts(list(tasks.values()), threads), strict=True))
    others = [at for at in range(len(coders)) if at not in tasks]
    worthwhile = threads if len(codes) * len(others) >= WORTHWHILE else 1
    filled = in_threads(lambda at: coders[at].fill(columns[at], begin, end, codes[:, at]), others, worthwhile)
    new = dict(zip(others, filled, strict=True))
    new |= {at: coders[at].take_texts(texts[at], *result) for at, result in encoded.items()}
    for at, coder in enumerate(coders):
        coder.check(columns[at], begin, codes[:, at], new[at])
    return codes, [new[at] for at in range(len(coders))]


def block_numbers(frame: Frame, columns: Sequence[Column], begin: int, end: int, threads: int = 1) -> AnyArray:
    """Return some rows of numbers, [row, column]; NaN where there is none. A matrix is taken as it lies."""
    if frame.matrix is not None and len(columns) == len(frame.columns):
        numbers = frame.matrix[begin:end]
    else:
        laid = np.empty((len(columns), end - begin))  # a column is filled in one go
        values = [frame.columns[column.name] for column in columns]
        for column, of_column in zip(columns, values, strict=True):
            of_column.check(column)
        parts = [of_column.number_buffers(begin, end) for of_column in values]
        data, bits = [part[0] for part in parts], [part[1] for part in parts]
        _kernels.gather_numbers(data, bits, [part[2] for part in parts], laid, threads)
        numbers = laid.T
    for index, column in enumerate(columns):
        below = numbers[:, index] < 0 if isinstance(column.family, Poisson) else np.zeros(0, dtype=np.bool_)
        if below.any():
            row = int(np.argmax(below))
            raise RowRefused(begin + row, column.name, f"{numbers[row, index]:g}", NEVER_NEGATIVE)
    return numbers
