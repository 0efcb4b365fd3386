"""Output on a terminal: tables, bars, percentages; and as JSON for programs."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from .._types import Json, JsonObject, Label

# Width of the output if stdout is not a terminal.
WIDE = 120
# Length of the longest bar.
LONGEST = 12


def console() -> Console:
    """Return the console of reports: stdout, with colors if it is a terminal."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else WIDE
    return Console(file=sys.stdout, width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)


def print_json(data: JsonObject) -> None:
    """Print one JSON object; NaN and infinity become null."""
    click.echo(json.dumps(finite(data), ensure_ascii=False, indent=2, allow_nan=False, default=json_fallback))


def finite(data: Json) -> Json:
    """Return data with null in place of NaN and infinity."""
    if isinstance(data, dict):
        return {str(key): finite(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def json_fallback(value: object) -> Json:
    """Return a value that JSON cannot hold as one that it can: NumPy's numbers as Python's, others as text."""
    return finite(value.item()) if hasattr(value, "item") else str(value)


def empty_table(*columns: str, right: Sequence[int] = (), heads: bool = True) -> Table:
    """Return an empty table; the columns in `right` are aligned to the right."""
    from rich.table import Table

    made = Table(box=None, show_header=heads, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for at, name in enumerate(columns):
        made.add_column(name, justify="right" if at in right else "left", no_wrap=True, overflow="ellipsis")
    return made


def with_rows(made: Table, rows: Iterable[Sequence[str]]) -> Table:
    """Return a table with more rows; control characters in cells are replaced."""
    for row in rows:
        made.add_row(*map(printable, row))
    return made


def printable(text: Label) -> str:
    """Return a text with a dot in place of each control character, which could change the terminal."""
    return "".join(character if character.isprintable() else "·" for character in str(text))


def text_bar(length: float) -> str:
    """Return a bar, given its length as a proportion of the longest."""
    return "█" * max(round(length * LONGEST), int(length > 0.02))


def percent(proportion: float) -> str:
    """Return a proportion in percent, with at least one significant digit.

    >>> percent(0.442), percent(0.00002), percent(1.0)
    ('44.2 %', '0.002 %', '100.0 %')
    """
    if proportion >= 0.0005 or not proportion:
        return f"{proportion:.1%}".replace("%", " %")
    return f"{proportion * 100:.1g} %"


def row_count_text(n: float) -> str:
    """Return a number of rows with thousands separators; with weights it may be a fraction.

    >>> row_count_text(1234567.0), row_count_text(2.5)
    ('1,234,567', '2.5')
    """
    return f"{n:,.0f}" if n == int(n) else f"{n:,.2f}".rstrip("0").rstrip(".")


def size_text(n: int) -> str:
    """Return a number of bytes with its unit.

    >>> size_text(4096), size_text(2_500_000)
    ('4.1 KB', '2.5 MB')
    """
    value, unit = float(n), "B"
    for larger in ("KB", "MB", "GB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} B" if unit == "B" else f"{value:.1f} {unit}"


def short_list(names: Sequence[Label], most: int = 8) -> str:
    """Return the first names, and the number of the others.

    >>> short_list(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    shown = ", ".join(printable(name) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
