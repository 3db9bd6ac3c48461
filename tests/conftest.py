from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parent.parent

# Slow machines and the checked build must not fail for their speed.
settings.register_profile(
    "spacy_hosemi",
    settings(),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("spacy_hosemi")


def pytest_configure():
    """Where a package lies beside the tests, another one must not pass for it."""
    spec = find_spec("spacy_hosemi")
    if spec is None or spec.origin is None:
        raise pytest.UsageError("spacy_hosemi is not installed: run `make test`")
    beside, found = ROOT / "spacy_hosemi", Path(spec.origin).parent
    if beside.is_dir() and not beside.samefile(found):
        raise pytest.UsageError(f"the tests of {beside} would run on {found}")
