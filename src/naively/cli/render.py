"""How things look on a terminal: tables, bars, shares; and as JSON for programs."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

# Where nobody looks at the width, lines may be this long.
WIDE = 120
LONGEST = 12


def console() -> Console:
    """Return where a report goes: stdout, in colours if it is a terminal."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else WIDE
    return Console(file=sys.stdout, width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)


def print_json(data: Any) -> None:
    """Print one JSON object; a number that is none becomes null."""
    click.echo(json.dumps(finite(data), ensure_ascii=False, indent=2, allow_nan=False, default=plain))


def finite(data: Any) -> Any:
    """Return data with null in the place of NaN and infinity."""
    if isinstance(data, dict):
        return {str(key): finite(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def plain(value: Any) -> Any:
    """Return what JSON cannot hold as something it can: NumPy's numbers as Python's, all else as text."""
    return finite(value.item()) if hasattr(value, "item") else str(value)


def table(*columns: str, right: Sequence[int] = (), heads: bool = True) -> Table:
    """Return an empty table; some of its columns stand to the right."""
    from rich.table import Table

    made = Table(box=None, show_header=heads, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for at, name in enumerate(columns):
        made.add_column(name, justify="right" if at in right else "left", no_wrap=True, overflow="ellipsis")
    return made


def filled(made: Table, rows: Iterable[Sequence[str]]) -> Table:
    """Return a table with these rows; cells of data that a terminal would obey are shown instead."""
    for row in rows:
        made.add_row(*map(clean, row))
    return made


def clean(text: str) -> str:
    """Return a text that a terminal only shows: what would move its cursor becomes a dot."""
    return "".join(sign if sign.isprintable() else "·" for sign in str(text))


def bar(share: float) -> str:
    """Return a bar for a share of the longest."""
    return "█" * max(round(share * LONGEST), int(share > 0.02))


def percent(share: float) -> str:
    """Return a share in percent; the smallest do not become nothing.

    >>> percent(0.442), percent(0.00002), percent(1.0)
    ('44.2 %', '0.002 %', '100.0 %')
    """
    return f"{share:.1%}".replace("%", " %") if share >= 0.0005 or not share else f"{share * 100:.1g} %"


def amount(n: float) -> str:
    """Return a number of rows with its thousands apart; weights may make it a fraction.

    >>> amount(1234567.0), amount(2.5)
    ('1,234,567', '2.5')
    """
    return f"{n:,.0f}" if n == int(n) else f"{n:,.2f}".rstrip("0").rstrip(".")


def size(n: int) -> str:
    """Return a number of bytes in words.

    >>> size(4096), size(2_500_000)
    ('4.1 KB', '2.5 MB')
    """
    value, unit = float(n), "B"
    for larger in ("KB", "MB", "GB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} B" if unit == "B" else f"{value:.1f} {unit}"


def listed(names: Sequence[Any], most: int = 8) -> str:
    """Return names one after the other, not too many.

    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    shown = ", ".join(clean(name) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
