"""What commands read; no test changes it."""

from pathlib import Path

import pytest
from spacy.tokens import DocBin

from ..helpers import TRAIN, make_nlp, make_trained, references


def save(path, marked=TRAIN, lang="en") -> Path:
    """Returns a .spacy file with marked texts."""
    DocBin(docs=references(marked, lang), store_user_data=True).to_disk(path)
    return path


@pytest.fixture
def train(tmp_path) -> Path:
    return save(tmp_path / "train.spacy")


@pytest.fixture(scope="session")
def model(tmp_path_factory) -> Path:
    """A folder with a trained pipeline."""
    folder = tmp_path_factory.mktemp("model")
    make_trained().to_disk(folder)
    return folder


@pytest.fixture(scope="session")
def untrained(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("untrained")
    make_nlp().to_disk(folder)
    return folder


@pytest.fixture(scope="session")
def dev(tmp_path_factory) -> Path:
    """A .spacy file with the documents that the pipeline was trained on."""
    return save(tmp_path_factory.mktemp("dev") / "dev.spacy")
