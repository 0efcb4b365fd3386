"""Installs Nox and runs sessions of the noxfile: `python3 chores.py` lists them. Needs nothing but Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tools import machine

ROOT = Path(__file__).resolve().parent
HOME = ROOT / ".venvs" / "nox"
PYTHON = HOME / ("Scripts" if os.name == "nt" else "bin") / "python"
NOX = "nox>=2025.2.9"


def main(arguments: list[str]) -> int:
    """Run what was asked for, or list what there is, and return the exit code."""
    lacking = machine.lacking("python", "venv", "headers", "compiler")
    if lacking:
        sys.exit(lacking)
    try:
        return install_nox() or run(PYTHON, "-m", "nox", *options(arguments))
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130


def options(arguments: list[str]) -> list[str]:
    """Return what Nox is to do: `test` alone is all that CI runs, with other arguments pytest alone with those."""
    match arguments:
        case ["test"]:
            return []
        case ["test", "--quick"]:
            return ["--session", "lint", "tests", "--", "--quick"]
        case ["test", *rest]:
            return ["--session", "tests", "--", *rest]
        case ["nightly"]:
            return ["--session", "nightly", "lowest"]
        case [name, *rest] if not name.startswith("-"):
            return ["--session", name, "--", *rest]
    return ["--list"]


def install_nox() -> int:
    """Put Nox into an environment of its own, unless it is there; return the exit code."""
    stamp, wanted = HOME / "requirements.stamp", f"{sys.version}\n{ROOT}\n{NOX}"
    if stamp.exists() and stamp.read_text() == wanted:
        return 0
    print(f"making {HOME.relative_to(ROOT)}", flush=True)
    failed = run(sys.executable, "-m", "venv", "--clear", HOME) or run(PYTHON, "-m", "pip", "install", "--quiet", NOX)
    if not failed:
        stamp.write_text(wanted)
    return failed


def run(*command: str | Path) -> int:
    """Run a program in the repository's root, where no other package is seen, and return its exit code."""
    variables = {key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "PYTHONHOME"}}
    return subprocess.run([str(part) for part in command], cwd=ROOT, env=variables, stdin=subprocess.DEVNULL).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
