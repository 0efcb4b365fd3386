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
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import sklearn

HERE = Path(__file__).resolve().parent
NAIVE_BAYES = "sklearn.tests.test_naive_bayes"
# Test files of scikit-learn and the settings they run under; the longest come first, so that no core is left with one.
LARGE = {
    "naive Bayes, 100 seeds": (NAIVE_BAYES, {"SKLEARN_TESTS_GLOBAL_RANDOM_SEED": "all"}),
    "calibration": ("sklearn.tests.test_calibration", {}),
}
PARTS = {
    "multiclass": ("sklearn.tests.test_multiclass", {}),
    "voting": ("sklearn.ensemble.tests.test_voting", {}),
    "naive Bayes": (NAIVE_BAYES, {}),
    "naive Bayes, float32": (NAIVE_BAYES, {"SKLEARN_RUN_FLOAT32_TESTS": "1"}),
    "naive Bayes, other arrays": (NAIVE_BAYES, {"SCIPY_ARRAY_API": "1"}),
}


def run(name: str, module: str, settings: dict[str, str], folder: Path) -> dict:
    """Run a part in an interpreter of its own and return what became of its tests."""
    report = folder / "report.json"
    (folder / "pytest.ini").write_text("[pytest]\n")  # empty, so that no other configuration is found on the way up
    options = ["-q", "--tb=short", "-c", folder / "pytest.ini", "-p", "no:cacheprovider", "-p", "naively_swap"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--pyargs", module],
        cwd=folder,
        env=environment(settings, report),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    found = Counter(passed=0, failed=0, fits=0) | json.loads(report.read_text("utf-8") if report.exists() else "{}")
    if done.returncode or not found["passed"] or not found["fits"]:
        found["failed"] = max(found["failed"], 1)
        print(f"--- {name}: exit code {done.returncode}\n{done.stdout}")
    return found


def environment(settings: dict[str, str], report: Path) -> dict[str, str]:
    """Return the variables to run with: no plugins but ours, and none of scikit-learn's switches but those given."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SKLEARN_", "PYTEST_", "SCIPY_"))}
    path = os.pathsep.join([str(HERE), *([kept["PYTHONPATH"]] if "PYTHONPATH" in kept else [])])
    ours = {"NAIVELY_SWAP_REPORT": str(report), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": path}
    return {**kept, **ours, **settings}


def main(everything: bool) -> int:
    """Run the parts, print what became of each and return the exit code."""
    parts, reasons, total = {**(LARGE if everything else {}), **PARTS}, Counter(), Counter()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        folders = [Path(folder, str(number)) for number in range(len(parts))]
        for own in folders:
            own.mkdir()
        outcomes = pool.map(run, parts, *zip(*parts.values(), strict=True), folders)
        print(f"scikit-learn {sklearn.__version__}'s own tests on Naively's classifiers\n")
        for name, found in zip(parts, outcomes, strict=True):
            counts = Counter({key: found[key] for key in ("passed", "failed", "fits")})
            counts += Counter({key: sum(found.get(key, {}).values()) for key in ("skipped", "deselected")})
            print(f"{name:26}" + "".join(f"{counts[key]:8,} {key}" for key in ("passed", "failed", "skipped", "fits")))
            total += counts
            for key in ("skipped", "deselected"):
                reasons.update({f"{key}: {why}": times for why, times in found.get(key, {}).items()})
    for reason, times in reasons.most_common():
        print(f"{times:6,}  {reason}")
    print(f"\n{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return 1 if total["failed"] or not total["passed"] else 0


if __name__ == "__main__":
    sys.exit(main("--all" in sys.argv[1:]))
