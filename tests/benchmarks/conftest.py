"""What tests of the benchmarks share."""

import pytest

from ..conftest import ROOT


@pytest.fixture(scope="module")
def on_path():
    """Import the scripts as one that runs would."""
    with pytest.MonkeyPatch.context() as patch:
        for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            patch.setenv(variable, "1")  # a script that is imported changes them
        for folder in ("corpus", "benchmarks"):
            patch.syspath_prepend(str(ROOT / folder))
        yield
