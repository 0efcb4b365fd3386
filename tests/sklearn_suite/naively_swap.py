"""A pytest plugin that puts Naively's five classifiers in the place of scikit-learn's, and proves that they are there.

It is imported before any test file, so that ``from sklearn.naive_bayes import GaussianNB`` in there gives ours. What
happened goes as JSON into the file that ``NAIVELY_SWAP_REPORT`` names.
"""

import json
import os
import sys
from collections import Counter
from pathlib import Path

import pytest
import sklearn
from sklearn.utils.fixes import parse_version

import naively.sklearn
from naively.sklearn.base import BaseNB

sys.modules["sklearn.naive_bayes"] = sklearn.naive_bayes = naively.sklearn
NAMES = [name for name in naively.sklearn.__all__ if name.endswith("NB")]
# Tests of older versions of scikit-learn that a newer one has corrected.
OUTDATED = {f"test_predict_joint_proba[{name}NB]" for name in ("Bernoulli", "Complement", "Multinomial")}
CORRECTED_IN = "1.9"
WHY = "compares logarithms close to 0 with joint - logsumexp(joint), whose digits cancel; 1.9 allows 1e-12"
outcomes, skipped, deselected = Counter(), Counter(), Counter()
learn = BaseNB._learn


def learn_and_count(self, *arguments, **named):
    """Learn, and count the calls."""
    outcomes["fits"] += 1
    return learn(self, *arguments, **named)


BaseNB._learn = learn_and_count


def is_outdated(item):
    """Tell whether the test no longer holds; a seed may stand before the class in its name."""
    function, _, case = item.name.partition("[")
    name = f"{function}[{case.rpartition('-')[2]}" if case else function
    return name in OUTDATED and parse_version(sklearn.__version__) < parse_version(CORRECTED_IN)


def pytest_collection_modifyitems(config, items):
    """Leave out what is outdated."""
    out = [item for item in items if is_outdated(item)]
    deselected.update([WHY] * len(out))
    config.hook.pytest_deselected(items=out)
    items[:] = [item for item in items if item not in out]


def pytest_collection_finish(session):
    """Stop unless every test file that knows one of the five knows ours."""
    for module in {item.module for item in session.items}:
        for name in NAMES:
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
