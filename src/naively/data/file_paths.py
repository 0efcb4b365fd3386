"""The files that a path means: itself, those of a folder, or those that a pattern matches."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from pathlib import Path

from ..errors import UnreadableRows


def paths_of(path: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Return the files that a path means, sorted, and what the names of folders say about their rows."""
    if path == "-" or Path(path).is_file():
        yield path, {}
        return
    if Path(path).is_dir():
        base, found = path, [str(p) for p in Path(path).rglob("*") if p.is_file() and not hidden(p.relative_to(path))]
    else:
        base, found = "", [p for p in glob.glob(path, recursive=True) if Path(p).is_file()]  # noqa: PTH207
    if not found:
        raise UnreadableRows(path, None, "there is no such file. Check the path; a glob needs at least one that fits.")
    for one in sorted(found):
        folders = Path(os.path.relpath(one, base) if base else one).parts[:-1]
        yield one, dict(folder.split("=", 1) for folder in folders if "=" in folder)


def hidden(path: Path) -> bool:
    """Return whether a file is not meant as data: it, or a folder it is in, begins with a point or an underscore."""
    return any(part.startswith((".", "_")) for part in path.parts)
