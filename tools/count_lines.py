"""Counts lines of code by package, without blanks, comments and docstrings: ``python tools/count_lines.py``."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Print the lines of each file and folder of the package, of the C++ and of the tests."""
    places = [*sorted((ROOT / "src" / "naively").iterdir()), ROOT / "native", ROOT / "tests"]
    counts = {place: code_lines(place) for place in places}
    for place, count in counts.items():
        if count:
            print(f"{count:7,}  {place.relative_to(ROOT)}")
    print(f"{sum(counts.values()):7,}  in all")


def code_lines(place: Path) -> int:
    """Return the lines of code in a file or folder of Python and C++."""
    counters = {".py": python_lines, ".cpp": native_lines, ".hpp": native_lines}
    files = [path for path in [place, *place.rglob("*")] if path.is_file() and path.suffix in counters]
    return sum(counters[path.suffix](path.read_text(encoding="utf-8")) for path in files)


def python_lines(text: str) -> int:
    """Return the lines of Python that are left without blanks, comments and strings that stand alone."""
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Expr)]
    strings = [node for node in nodes if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)]
    prose = {line for node in strings for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    code = {n for n, line in enumerate(text.splitlines(), 1) if line.strip() and not line.lstrip().startswith("#")}
    return len(code - prose)


def native_lines(text: str) -> int:
    """Return the lines of C++ that are left without blanks and comments."""
    bare = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)
    return sum(bool(line.strip()) for line in bare.splitlines())


if __name__ == "__main__":
    main()
