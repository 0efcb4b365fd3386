"""Runs the tests of the kernels with a sanitizer: ``python tools/sanitize.py address,undefined PACKAGE``.

PACKAGE is a folder with the package, compiled with that sanitizer; ``nox -s sanitize`` makes it. The exit code is 0 if
the tests passed and the sanitizer reported nothing.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

from machine import runtime

KERNELS = ["tests/test_kernels.py", "tests/test_kernel_paths.py"]
OTHERS = ["counting", "statistics", "text_codes", "tokens"]
TESTS = {
    "address,undefined": [*KERNELS, *(f"tests/test_{name}.py" for name in OTHERS)],
    "thread": [*KERNELS, "tests/test_tokens.py", "-k", "threads"],
}
LIBRARIES = {"address,undefined": "libasan.so", "thread": "libtsan.so"}
REPORT = r"[^\n]*(?:runtime error:|(?:ERROR|WARNING): \w+Sanitizer:|Sanitizer: CHECK failed)"


def main(sanitizers: str, package: str) -> int:
    """Run the tests and return the exit code."""
    # Without capture, because pytest would keep the reports of tests that pass to itself.
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "--unlimited", *TESTS[sanitizers]]
    done = subprocess.run(
        command,
        env=os.environ | variables(sanitizers, package),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )
    reports = re.findall(REPORT, done.stdout)
    failed = bool(reports or done.returncode)
    print(done.stdout if failed else done.stdout.rstrip().rpartition("\n")[2])
    print(f"{len(reports)} reports of {sanitizers}")
    return int(failed)


def variables(sanitizers: str, package: str) -> dict[str, str]:
    """Return the environment variables under which a sanitizer sees what the kernels do."""
    return {
        # The interpreter knows nothing of sanitizers, nor of C++: what they need must be there before it starts.
        "LD_PRELOAD": f"{runtime(LIBRARIES[sanitizers])} {runtime('libstdc++.so')}",
        "PYTHONPATH": package,
        "PYTHONMALLOC": "malloc",  # Python's own allocator would hide where an array ends
        "ASAN_OPTIONS": "detect_leaks=0",  # Python keeps memory to the end, and that is no leak of ours
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
