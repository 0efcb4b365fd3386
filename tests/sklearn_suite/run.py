"""Runs scikit-learn's own tests on Naively's classifiers: ``python tests/sklearn_suite/run.py [--all]``.

Nothing is copied: the installed scikit-learn's test files run as they are, with the module ``sklearn.naive_bayes``
exchanged for ``naively.sklearn`` (see naively_swap.py). The exit code is 1 if anything fails or nothing ran. The parts
that take longest, calibration and the hundred seeds, run with ``--all`` alone.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import sklearn

HERE = Path(__file__).resolve().parent


class Part(NamedTuple):
    """Some of scikit-learn's test files, under some settings."""

    name: str
    modules: tuple[str, ...]
    settings: dict[str, str]


class Outcome(NamedTuple):
    """What became of the tests of a part."""

    passed: int
    failed: int
    skipped: Counter[str]
    deselected: Counter[str]
    fits: int
    seconds: float


NAIVE_BAYES = ("sklearn.tests.test_naive_bayes",)
PARTS = [
    Part("naive Bayes", NAIVE_BAYES, {}),
    Part("naive Bayes, 100 seeds", NAIVE_BAYES, {"SKLEARN_TESTS_GLOBAL_RANDOM_SEED": "all"}),
    Part("naive Bayes, float32", NAIVE_BAYES, {"SKLEARN_RUN_FLOAT32_TESTS": "1"}),
    Part("naive Bayes, other arrays", NAIVE_BAYES, {"SCIPY_ARRAY_API": "1"}),
    Part("calibration", ("sklearn.tests.test_calibration",), {}),
    Part("multiclass", ("sklearn.tests.test_multiclass",), {}),
    Part("voting", ("sklearn.ensemble.tests.test_voting",), {}),
]
LARGE = {"calibration", "naive Bayes, 100 seeds"}
LONGEST_FIRST = sorted(PARTS, key=lambda part: part.name not in ("naive Bayes, 100 seeds", "calibration", "multiclass"))


def run(part: Part, folder: Path) -> Outcome:
    """Run a part in an interpreter of its own and return what became of it."""
    start = time.perf_counter()
    report, settings = folder / "report.json", folder / "pytest.ini"
    report.unlink(missing_ok=True)
    settings.write_text("[pytest]\n")  # an empty one, so that no other configuration is found on the way up
    options = ["-q", "--tb=short", "-c", settings, "-p", "no:cacheprovider", "-p", "naively_swap"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--pyargs", *part.modules],
        cwd=folder,
        env=environment(part.settings, report),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    found = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {}
    passed, failed, fits = (found.get(key, 0) for key in ("passed", "failed", "fits"))
    if done.returncode or not passed or not fits:
        failed = max(failed, 1)
        print(f"--- {part.name}: exit code {done.returncode}, {passed} passed, {fits} fits by Naively\n{done.stdout}")
    skipped, deselected = (Counter(found.get(key, {})) for key in ("skipped", "deselected"))
    return Outcome(passed, failed, skipped, deselected, fits, time.perf_counter() - start)


def environment(settings: dict[str, str], report: Path) -> dict[str, str]:
    """Return the variables to run with: no plugins but ours, and none of scikit-learn's switches but those given."""
    ours = {"NAIVELY_SWAP_REPORT": str(report), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(HERE)}
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SKLEARN_", "PYTEST_", "SCIPY_"))}
    if "PYTHONPATH" in kept:
        ours["PYTHONPATH"] += os.pathsep + kept.pop("PYTHONPATH")
    return {**kept, **ours, **settings}


def main(everything: bool) -> int:
    """Run the parts, print a table of them and return the exit code."""
    parts = [part for part in LONGEST_FIRST if everything or part.name not in LARGE]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        own = [Path(folder, str(at)) for at in range(len(parts))]
        for path in own:
            path.mkdir()
        # The longest come first, so that no core is left with one at the end.
        found = pool.map(run, parts, own)
        outcomes = {part.name: outcome for part, outcome in zip(parts, found, strict=True)}
    print(f"scikit-learn {sklearn.__version__}'s own tests on Naively's classifiers\n")
    print(f"{'part':26}{'passed':>8}{'failed':>8}{'skipped':>9}{'left out':>10}{'our fits':>10}{'seconds':>9}")
    for name, each in outcomes.items():
        print(
            f"{name:26}{each.passed:8,}{each.failed:8,}{each.skipped.total():9,}{each.deselected.total():10,}"
            f"{each.fits:10,}{each.seconds:9.1f}"
        )
    print_reasons("skipped", sum((each.skipped for each in outcomes.values()), Counter()))
    print_reasons("left out", sum((each.deselected for each in outcomes.values()), Counter()))
    passed, failed, skipped = (
        sum(counts)
        for counts in zip(
            *((each.passed, each.failed, each.skipped.total()) for each in outcomes.values()), strict=True
        )
    )
    print(f"\n{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


def print_reasons(what: str, reasons: Counter[str]) -> None:
    """Print how many tests were not run, by reason."""
    if reasons:
        print(f"\n{what}:")
    for reason, times in reasons.most_common():
        print(f"{times:6,}  {reason}")


if __name__ == "__main__":
    sys.exit(main("--all" in sys.argv[1:]))
