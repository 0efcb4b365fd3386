"""What several files of tests use."""

import pytest

from naively import _kernels as kernels


@pytest.fixture(scope="module", params=kernels.levels())
def level(request):
    """Run on one instruction level after the other, and leave the best behind."""
    kernels.use_level(request.param)
    yield request.param
    kernels.use_level(kernels.levels()[0])
