"""Counts the instructions of each kernel under valgrind and compares them with the last record.

``python tools/count_instructions.py PACKAGE [--update]``, where PACKAGE is a folder with the package, compiled with
names of functions; ``nox -s instructions`` makes it. The workload is benchmarks/instructions.py, the record
benchmarks/instructions.json; ``--update`` writes a new record. The exit code is 1 if a kernel grew by more than 10 %.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TypedDict

from machine import compiler

ROOT = Path(__file__).resolve().parents[1]
WORKLOAD = ROOT / "benchmarks" / "instructions.py"
RECORD = ROOT / "benchmarks" / "instructions.json"
ALLOWANCE = 0.1


class Record(TypedDict):
    """The instructions of each kernel, with what they depend on."""

    compiler: str
    level: str
    kernels: dict[str, int]


def main(package: str, *options: str) -> int:
    """Count, then write the record or compare with it, and return the exit code."""
    counted = count(Path(package))
    if "--update" in options:
        RECORD.write_text(json.dumps(counted, indent=2) + "\n", encoding="utf-8")
        print(f"wrote {RECORD.relative_to(ROOT)}")
        return 0
    return compare(json.loads(RECORD.read_text(encoding="utf-8")), counted)


def count(package: Path) -> Record:
    """Return the instructions of each kernel in the workload."""
    profile = package.parent / "callgrind.out"
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", sys.executable, str(WORKLOAD)]
    output = run(*command, PYTHONPATH=str(package))
    level = next(line for line in output.splitlines() if not line.startswith("=="))
    listing = run("callgrind_annotate", "--inclusive=yes", "--threshold=100", str(profile))
    return {
        "compiler": run(compiler(), "--version").splitlines()[0],
        "level": level,
        "kernels": {name: instructions_of(f"naively::{level}::", name, listing) for name in kernel_names()},
    }


def kernel_names() -> list[str]:
    """Return the names in the table of kernels."""
    return re.findall(r"\(\*(\w+)\)\(\w", (ROOT / "native" / "kernels.hpp").read_text(encoding="utf-8"))


def instructions_of(space: str, name: str, listing: str) -> int:
    """Return the instructions of one function, with all that it calls, in what callgrind_annotate lists."""
    pattern = rf"^ *([\d,]+) [^\n]*:{re.escape(space)}(?:\(anonymous namespace\)::)?{name}\([^\n{{<]*$"
    found = [int(number.replace(",", "")) for number in re.findall(pattern, listing, re.MULTILINE)]
    if not found:
        sys.exit(f"{space}{name} was not run; add it to {WORKLOAD.relative_to(ROOT)}.")
    return max(found)


def compare(before: Record, now: Record) -> int:
    """Print the kernels side by side, and return 1 if one grew by more than the allowance, else 0."""
    grown = []
    print(f"{'kernel':16}{'before':>14}{'now':>14}  change")
    for name, instructions in now["kernels"].items():
        then = before["kernels"].get(name)
        change = instructions / then - 1 if then else 0.0
        print(f"{name:16}{then or '–':>14}{instructions:>14}  {change:+.1%}")
        grown += [name] * (change > ALLOWANCE)
    if (before["compiler"], before["level"]) != (now["compiler"], now["level"]):
        print(f"The record is of {before['compiler']}, {before['level']}; this is {now['compiler']}, {now['level']}.")
        print("So this only informs.")
        return 0
    if grown:
        print(f"More than {ALLOWANCE:.0%} longer: {', '.join(grown)}. Where that is meant, run this with --update.")
    return int(bool(grown))


def run(*command: str, **variables: str) -> str:
    """Return all that a program writes; end with it where the program fails."""
    done = subprocess.run(
        command,
        env=os.environ | variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )
    if done.returncode:
        sys.exit(f"{done.stdout}\nThis command failed: {' '.join(command)}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
