"""Workbooks of Excel and OpenOffice: one sheet, read as if it had been saved as CSV."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from .._types import CellLike
from ..data.schema import likely
from ..errors import UnreadableRows
from ..errors.message import ANY_VALUE, Message, Setting
from .delimited import Delimited

if TYPE_CHECKING:
    from python_calamine import CalamineSheet

    from .file import File

# Whole numbers up to this are written without a fraction: Excel keeps all numbers as floats.
WHOLE = 1e15


class Sheet(Delimited):
    """One sheet of a workbook. Its cells are written as CSV first, so its columns are what they would be there."""

    def __init__(self, path: Path, shown: str, how: File, folder: Callable[[], Path]) -> None:
        rows, self._others = sheet_rows(path, shown, how.table)
        how = replace(how, delimiter=",", encoding="utf-8", decimal=".", thousands=None, table=None)
        super().__init__(save_as_csv(rows, folder()), shown, how, folder)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is worth knowing of how the file was read."""
        if not self._others:
            return super().notes
        first, more = self._others[0], len(self._others) - 1
        return (
            *super().notes,
            Message(
                f"{self.shown}: of {more + 1} sheets the first, {first!r}, was read; others: ",
                Setting("table", ANY_VALUE),
                ".",
            ),
        )


def sheet_rows(path: Path, shown: str, table: str | None) -> tuple[Iterator[list[CellLike]], tuple[str, ...]]:
    """Return the rows of a sheet, and the names of all sheets if nobody said which is meant and there are several."""
    try:
        import python_calamine as calamine
    except ImportError:
        why = (
            'it is an Excel workbook; to read it: pip install "naively[excel]", or save the sheet as CSV and give that.'
        )
        raise UnreadableRows(shown, None, why) from None
    try:
        book = calamine.load_workbook(str(path))
        names = tuple(book.sheet_names)
        if table is not None and table not in names:
            why = f"the workbook has no sheet {table!r}{likely(table, names).replace('columns', 'sheets')}"
            raise UnreadableRows(shown, None, why)
        sheet = book.get_sheet_by_name(table or names[0])
        rows = sheet.to_python(skip_empty_area=True)
    except (calamine.CalamineError, OSError, IndexError) as error:
        why = f"the workbook cannot be read ({error}); if it has a password or is damaged, save the sheet as CSV."
        raise UnreadableRows(shown, None, why) from None
    if not rows:
        why = Message(f"the sheet {table or names[0]!r} is empty.")
        if len(names) > 1:
            others = f"the sheet {table or names[0]!r} is empty; the workbook has the sheets "
            why = Message(f"{others}{', '.join(map(repr, names))}: ", Setting("table", ANY_VALUE), ".")
        raise UnreadableRows(shown, None, why)
    return sheet_lines(sheet, rows), names if table is None and len(names) > 1 else ()


def sheet_lines(sheet: CalamineSheet, rows: list[list[CellLike]]) -> Iterator[list[CellLike]]:
    """Return the rows of a sheet; empty ones before the first are kept, so that a line has the number of its row."""
    yield from ([] for _ in range(sheet.start[0] if sheet.start else 0))
    yield from rows


def save_as_csv(rows: Iterator[list[CellLike]], folder: Path) -> Path:
    """Return a file of CSV in this folder with these rows."""
    with tempfile.NamedTemporaryFile(
        "w", dir=folder, suffix=".csv", delete=False, encoding="utf-8", errors="replace", newline=""
    ) as copy:
        writer = csv.writer(copy, lineterminator="\n")
        writer.writerows([sheet_cell_text(cell) for cell in row] for row in rows)
    return Path(copy.name)


def sheet_cell_text(cell: CellLike) -> str:
    """Return a cell as it is written in delimited text."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < WHOLE else repr(cell)
    if isinstance(cell, datetime):
        return cell.isoformat(sep=" ")
    if isinstance(cell, (date, time)):
        return cell.isoformat()
    if isinstance(cell, timedelta):
        return str(cell)
    return str(cell)
