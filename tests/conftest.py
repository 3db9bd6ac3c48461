import csv
import gc
import os
import sys
import warnings
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import catalogue
import pytest
import spacy
from hypothesis import HealthCheck, settings
from spacy.lang.en import English
from spacy.tokens import DocBin

from spacy_hosemi.formats import read_docs

from .strategies import IS_THOROUGH

ROOT = Path(__file__).parent.parent
# What `hosemi init` writes, without its head.
BASE_CONFIG = ROOT / "spacy_hosemi" / "configs" / "base.cfg"

# An English pipeline takes 60 ms to make, 50 of them for the 1,300 exceptions of its
# tokenizer, which few tests need: see `tokenizer_exceptions`.
EXCEPTIONS = English.Defaults.tokenizer_exceptions
English.Defaults.tokenizer_exceptions = {}


# Workers of Spark are this Python, not the first one in PATH.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


class Selected:
    """Entry points of packages, which spaCy looks up 100,000 times in a run of the
    tests: each time it would go through all of them, in 0.2 ms."""

    def __init__(self, entry_points):
        self.select = cache(entry_points.select)


catalogue.AVAILABLE_ENTRY_POINTS = Selected(catalogue.AVAILABLE_ENTRY_POINTS)

# Slow machines and the checked build must not fail for their speed. All see the same
# examples; HOSEMI_THOROUGH=1 draws many more, others in each run.
settings.register_profile(
    "spacy_hosemi",
    max_examples=100 if IS_THOROUGH else 25,
    derandomize=not IS_THOROUGH,
    database=None,  # of examples that failed before
    print_blob=True,
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


def pytest_collection_finish():
    """Collections of garbage, which some tests ask for, do not go through all that
    was imported."""
    gc.collect()
    gc.freeze()


@contextmanager
def all_exceptions():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(English.Defaults, "tokenizer_exceptions", EXCEPTIONS)
        yield


@pytest.fixture(autouse=True)
def limit_of_csv():
    """The limit is one for the whole process: nothing of ours may leave another."""
    before = csv.field_size_limit()
    yield
    assert csv.field_size_limit() == before


@pytest.fixture(scope="module")
def tokenizer_exceptions():
    """English pipelines that the tests of a module make have all exceptions."""
    with all_exceptions():
        yield


@pytest.fixture(scope="session")
def corpus(tmp_path_factory) -> Path:
    """A folder with train.spacy and dev.spacy, a part of the corpus."""
    folder = tmp_path_factory.mktemp("corpus")
    with all_exceptions():
        nlp = spacy.blank("en")
    docs = iter(read_docs(ROOT / "corpus" / "train.jsonl", nlp))
    for name, size in (("train", 40), ("dev", 10)):
        DocBin(docs=islice(docs, size)).to_disk(folder / f"{name}.spacy")
    return folder


@contextmanager
def scripts_on_path():
    """Scripts can be imported as if they ran."""
    with pytest.MonkeyPatch.context() as patch:
        for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            patch.setenv(variable, "1")  # a script that is imported changes them
        for folder in ("corpus", "benchmarks", "benchmarks/papers"):
            patch.syspath_prepend(str(ROOT / folder))
        yield


@pytest.fixture(scope="module")
def script():
    """RETURNS (Callable): Imports a script of benchmarks/papers as if it ran."""
    with scripts_on_path():
        yield import_module


@contextmanager
def example_on_path(name):
    """The modules of a folder of examples can be imported, until the end."""
    folder = ROOT / "examples" / name
    names = {path.stem for path in folder.glob("*.py")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(folder), *sys.path])
        for module in names:  # another module may have this name
            patch.delitem(sys.modules, module, raising=False)
        yield
        for module in names:
            sys.modules.pop(module, None)


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    """A session of Spark in this machine; tests ask first whether there is Java."""
    from pyspark.sql import SparkSession

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("spark")))
            # Workers may get functions of the tests.
            .config("spark.executorEnv.PYTHONPATH", str(ROOT))
            .getOrCreate()
        )
    yield session
    session.stop()
