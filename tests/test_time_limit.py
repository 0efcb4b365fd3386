"""Tests over three seconds need the mark `slow`, and neither a slow nor a busy machine makes a test fail."""

import itertools

import pytest

from . import conftest

TESTS = """
import pytest

def test_short(): pass

@pytest.mark.slow
def test_marked(): pass

def test_failing(): assert False
"""


class Outcomes:
    """Keeps which tests failed, and why."""

    def __init__(self):
        self.failed = {}

    def pytest_runtest_logreport(self, report):
        """Keep a failure by the name of its test."""
        if report.failed:
            self.failed[report.head_line] = str(report.longrepr)


def failed(folder, worked: float, passed: float, slower: float = 1, *more: str) -> dict[str, str]:
    """Return why tests fail that seem to take so long on a machine so much slower than that of the limit."""
    (folder / "test_it.py").write_text(TESTS)
    (folder / "none.ini").write_text("[pytest]\nmarkers = slow\n")
    options = [
        "-p",
        "no:cacheprovider",
        "-p",
        "no:unraisableexception",
        "--import-mode=importlib",
        "-c",
        str(folder / "none.ini"),
    ]
    calls, found = itertools.count(), Outcomes()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # reading those takes longer than the tests
        patch.setattr(conftest, "clocks", lambda: [(call := next(calls)) * worked, call * passed])
        patch.setattr(conftest, "yardstick", lambda: conftest.YARDSTICK * slower)
        pytest.main([str(folder), *options, *more], plugins=[conftest, found])
    return found.failed


@pytest.mark.parametrize(
    ("worked", "passed", "slower"),
    [(2.9, 9, 1), (9, 2.9, 1), (20, 20, 10)],
    ids=["waited", "many threads", "slow machine"],
)
def test_a_test_within_the_limit_passes(tmp_path, worked, passed, slower):
    assert list(failed(tmp_path, worked, passed, slower)) == ["test_failing"]


@pytest.mark.parametrize(
    ("seconds", "slower"), [(4, 1), (4, 0.1), (40, 10)], ids=["here", "on a fast machine", "on a slow machine"]
)
def test_a_test_over_the_limit_fails_unless_it_is_marked(tmp_path, seconds, slower):
    """A faster machine does not make the limit smaller; a test that fails by itself says its own reason."""
    found = failed(tmp_path, seconds, seconds, slower)
    assert list(found) == ["test_short", "test_failing"]
    assert found["test_short"] == "worked for 4.0 s: take less data, or mark the test `slow`"
    assert "assert False" in found["test_failing"]


def test_there_is_no_limit_under_sanitizers(tmp_path):
    assert list(failed(tmp_path, 40, 40, 1, "--unlimited")) == ["test_failing"]
