"""What several files of tests use."""

import os

if "PYTEST_XDIST_WORKER" in os.environ:  # each worker has a core: threads of BLAS within would fight for them
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")

import pytest

from naively import _kernels as kernels


@pytest.fixture(scope="module", params=kernels.levels())
def level(request):
    """Run on one instruction level after the other, and leave the best behind."""
    kernels.use_level(request.param)
    yield request.param
    kernels.use_level(kernels.levels()[0])
