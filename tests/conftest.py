"""What several files of tests use."""

import os

if "PYTEST_XDIST_WORKER" in os.environ:  # for speed alone: threads of BLAS in scikit-learn would fight for cores
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")

import pytest
from hypothesis import settings

import naively as nv
from naively import _kernels as kernels

from .browser import launched
from .tables import penguins

# Fixtures that start a browser, a server, Spark, a database or Java.
PROGRAMS = {"chromium", "server", "session", "db", "engine", "jpmml"}
settings.register_profile("naively", deadline=None)  # a busy machine is no defect
settings.load_profile("naively")


def pytest_addoption(parser):
    """Add --quick."""
    parser.addoption("--quick", action="store_true", help="each test function once, without other programs")


def pytest_collection_modifyitems(config, items):
    """With --quick, keep the first item of each function that needs no other program."""
    if config.getoption("quick"):
        first = {item.nodeid.partition("[")[0]: item for item in reversed(items)}
        kept = {id(item) for item in first.values() if not PROGRAMS & set(item.fixturenames)}
        config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept])
        items[:] = [item for item in items if id(item) in kept]


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
