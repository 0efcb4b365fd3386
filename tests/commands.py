"""The commands in this process, and files for them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from naively.cli import main

ROOT = Path(__file__).resolve().parents[1]
PENGUINS = ROOT / "examples" / "penguins.csv"


def run(*arguments: Any, **options: Any) -> Result:
    """Run a command."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments], **options)


def good(*arguments: Any, **options: Any) -> str:
    """Return what a command prints, which must end well."""
    done = run(*arguments, **options)
    assert done.exit_code == 0, done.output
    return done.stdout


def told(*arguments: Any) -> Any:
    """Return what a command prints as JSON, which must be strict: no number is NaN or infinite."""

    def refuse(token: str) -> None:
        raise AssertionError(f"{token} is no JSON")

    return json.loads(good(*arguments, "--json"), parse_constant=refuse)


def bad(code: int, *arguments: Any, **options: Any) -> str:
    """Return what a command says on stderr when it fails: a line or two, and no traceback."""
    done = run(*arguments, **options)
    assert done.exit_code == code, done.output
    assert "Traceback" not in done.stderr
    assert "This is a bug" not in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2, done.stderr
    assert done.stderr.startswith("Error: ")
    return done.stderr


def table(path: str | Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    with Path(path).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def penguins() -> list[dict[str, str]]:
    """Return the rows of the penguins."""
    return table(PENGUINS)


def write(path: str | Path, rows: list[dict[str, Any]]) -> Path:
    """Write rows as CSV."""
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return Path(path)


def write_lines(path: str | Path, head: str, rows: list[str]) -> Path:
    """Write lines of CSV as they are."""
    Path(path).write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return Path(path)
