"""What several files of tests use."""

import os
from collections import defaultdict
from dataclasses import fields, is_dataclass
from functools import partial
from itertools import combinations
from pathlib import Path

from naively import _kernels as kernels

if "PYTEST_XDIST_WORKER" in os.environ:  # for speed alone: threads of BLAS in scikit-learn would fight for cores
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naively as nv
from naively.counting import row_hash

from .browser import launched
from .tables import penguins

# Fixtures and names by which a test starts a browser, a server, Spark, a database, Java or another Python.
PROGRAMS = {"chromium", "server", "session", "db", "engine", "jpmml", "Server", "subprocess", "fresh", "printed_by"}
settings.register_profile("naively", deadline=None)  # a busy machine is no defect
settings.load_profile("naively")
LIMIT = 3.0  # seconds that a test without the mark `slow` may work
YARDSTICK = 0.1  # seconds that `yardstick` worked on the machine where tests keep the limit


def pytest_addoption(parser):
    """Add --quick and --unlimited."""
    parser.addoption("--quick", action="store_true", help="each test function once, without other programs")
    parser.addoption("--unlimited", action="store_true", help="tests may take any time, as under sanitizers")


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out what is slow
def pytest_collection_modifyitems(config, items):
    """Mark items of `pairwise` tests as slow; with --quick, keep the first of each function without other programs."""
    marked = defaultdict(list)
    for item in items:
        if item.get_closest_marker("pairwise") and hasattr(item, "callspec"):
            marked[item.nodeid.partition("[")[0]].append(item)
    for own in marked.values():
        for item in beyond_pairs(own):
            item.add_marker(pytest.mark.slow)
    if config.getoption("quick"):
        first = {item.nodeid.partition("[")[0]: item for item in reversed(items)}
        kept = {id(item) for item in first.values() if not PROGRAMS & used_by(item)}
        kept -= {id(item) for item in items if item.get_closest_marker("thorough")}
        config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept])
        items[:] = [item for item in items if id(item) in kept]


def used_by(item):
    """Return the names of the fixtures and, roughly, of the functions and modules that a test uses."""
    return {*item.fixturenames, *item.function.__code__.co_names}


def beyond_pairs(items):
    """Return the items of a function that are not needed for any two of its settings to meet; the first is needed."""
    pairs = [set(combinations(sorted(traits(item.callspec.params), key=str), 2)) for item in items]
    met, needed, least = set(), set(), max(map(len, pairs))
    while least:  # those with most new pairs first, so that few are needed
        for at, own in enumerate(pairs):
            if not at or len(own - met) >= least:
                needed.add(at)
                met |= own
        least //= 2
    return [item for at, item in enumerate(items) if at not in needed]


def traits(value, name=""):
    """Yield all settings that a parameter is made of, each with its name."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from traits(part, f"{name}.{key}")
    elif is_dataclass(value):
        yield name, type(value).__name__
        yield from traits({field.name: getattr(value, field.name) for field in fields(value)}, name)
    else:
        yield name, value if isinstance(value, str | int | float | None) else id(value)


@settings(max_examples=1, database=None)
@given(st.text())
def warm_up(_):
    """Let hypothesis read the constants in all modules, and its characters: seconds of work in a fresh clone."""


def pytest_runtest_setup(item):
    """Do that before a test of hypothesis, in whose time it would be."""
    if getattr(item.obj, "is_hypothesis_test", False):
        warm_up()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Fail a test that works for more than LIMIT seconds without the mark `slow`.

    No test may fail because a machine is slow or busy, so what counts is the time that this process and the programs
    it waited for had a CPU, or all that passed if that is less, as with many threads. A test over the limit is forgiven
    as many times of it as a fixed piece of work takes right after it of its usual time, the slowest of three runs.
    """
    before = clocks()
    result = yield
    worked = min(after - begin for after, begin in zip(clocks(), before, strict=True))
    if worked > LIMIT and not item.get_closest_marker("slow") and not item.config.getoption("unlimited"):
        slower = max(1, *(yardstick() / YARDSTICK for _ in range(3)))
        if worked > LIMIT * slower:
            pytest.fail(f"worked for {worked / slower:.1f} s: take less data, or mark the test `slow`", pytrace=False)
    return result


def clocks():
    """Return the seconds that this process and its ended children had a CPU, and those that passed."""
    *cpu, passed = os.times()
    return sum(cpu), passed


def yardstick():
    """Return the seconds of CPU that a fixed piece of work takes, of Python as of NumPy."""
    before, _ = clocks()
    places = {str(number): number for number in range(300_000)}
    numbers = np.sort(np.cos(np.arange(1_000_000.0)))
    assert len(places) < len(numbers)
    return clocks()[0] - before


@pytest.fixture(scope="module", params=kernels.levels())
def level(request):
    """Run on one instruction level after the other, and leave the best behind."""
    kernels.use_level(request.param)
    yield request.param
    kernels.use_level(kernels.levels()[0])


@pytest.fixture(scope="module")
def chromium():
    """Return a browser; tests are skipped where there is none. While it is open, no other event loop can run."""
    with launched() as browser:
        yield browser


@pytest.fixture
def keep(monkeypatch):
    """Return a function that sets how many rows models keep, so that few rows are too many."""
    return partial(monkeypatch.setattr, row_hash, "KEPT")


@pytest.fixture(scope="session")
def fitted():
    """Return a model that takes columns together, its rows and their classes."""
    X, y = penguins()
    return nv.NaiveBayes(model="auto").fit(X, y), X, y


@pytest.fixture(scope="session")
def in_a_file(tmp_path_factory):
    """Return a file of the same rows, with their classes."""
    path = tmp_path_factory.mktemp("rows") / "penguins.csv"
    X, y = penguins()
    X.assign(species=y).to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def penguin_model(tmp_path_factory):
    """Return the file of a model of the penguins of the examples, to be served."""
    path = tmp_path_factory.mktemp("served") / "penguins.parquet"
    nv.NaiveBayes().fit(Path(__file__).resolve().parents[1] / "examples" / "penguins.csv", target="species").save(path)
    return path


@pytest.fixture
def inside(tmp_path, monkeypatch):
    """Run a test in a folder of its own, and return it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
