"""A pytest plugin that puts Naively's five classifiers in the place of scikit-learn's, and proves that they are there.

It is imported before any test file, so that ``from sklearn.naive_bayes import GaussianNB`` in there gives ours. What
happened goes as JSON into the file that ``NAIVELY_SWAP_REPORT`` names.
"""

import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
import sklearn
from sklearn.utils.fixes import parse_version

import naively.sklearn
from naively.sklearn.base import BaseNB

sys.modules["sklearn.naive_bayes"] = sklearn.naive_bayes = naively.sklearn


class Outdated(NamedTuple):
    """A test of older versions of scikit-learn that a newer one has corrected."""

    tests: tuple[str, ...]
    corrected_in: str
    reason: str


OUTDATED = [
    Outdated(
        tests=tuple(f"test_predict_joint_proba[{name}NB]" for name in ("Bernoulli", "Complement", "Multinomial")),
        corrected_in="1.9",
        reason="compares logarithms close to 0 with joint - logsumexp(joint), whose digits cancel; 1.9 allows 1e-12",
    )
]

outcomes: Counter[str] = Counter()
skipped: Counter[str] = Counter()
deselected: Counter[str] = Counter()


def counted(learn):
    """Return the method that learns, counting its calls."""

    def learn_and_count(self, *arguments, **named):
        outcomes["fits"] += 1
        return learn(self, *arguments, **named)

    return learn_and_count


BaseNB._learn = counted(BaseNB._learn)


def why_outdated(item):
    """Return why the test no longer holds, or nothing; a seed may stand before the class in its name."""
    function, _, case = item.name.partition("[")
    name = f"{function}[{case.rpartition('-')[2]}" if case else function
    for entry in OUTDATED:
        if name in entry.tests and parse_version(sklearn.__version__) < parse_version(entry.corrected_in):
            return f"{function}: {entry.reason}"
    return None


def pytest_collection_modifyitems(config, items):
    """Leave out what is outdated."""
    reasons = {item: why_outdated(item) for item in items}
    out = [item for item in items if reasons[item]]
    deselected.update(reasons[item] for item in out)
    config.hook.pytest_deselected(items=out)
    items[:] = [item for item in items if not reasons[item]]


def pytest_collection_finish(session):
    """Stop unless every test file that knows one of the five knows ours."""
    for module in {item.module for item in session.items}:
        for name in (name for name in naively.sklearn.__all__ if name.endswith("NB")):
            ours = getattr(naively.sklearn, name)
            if getattr(module, name, ours) is not ours or getattr(sklearn.naive_bayes, name) is not ours:
                raise pytest.UsageError(f"{module.__name__}.{name} is not Naively's: the swap came too late.")


def pytest_collectreport(report):
    """Count a file that cannot be read as a failure."""
    outcomes["failed"] += report.failed


def pytest_runtest_logreport(report):
    """Count what became of a test."""
    if report.failed:
        outcomes["failed"] += 1
    elif report.skipped:
        reason = getattr(report, "wasxfail", None) or report.longrepr[2]
        skipped[reason.removeprefix("Skipped: ")] += 1
    elif report.when == "call":
        outcomes["passed"] += 1


def pytest_sessionfinish():
    """Write the report."""
    report = {**outcomes, "skipped": skipped, "deselected": deselected}
    Path(os.environ["NAIVELY_SWAP_REPORT"]).write_text(json.dumps(report), encoding="utf-8")
