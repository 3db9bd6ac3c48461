"""Named pipes, such as a shell makes of <(command): read once, as standard input is."""

import os
import threading
from contextlib import contextmanager

import pytest
import srsly

from ..helpers import make_trained
from .test_streams import invoke

TEXT = "Ada Lovelace wrote to Mary in Paris."

pytestmark = pytest.mark.skipif(
    not hasattr(os, "mkfifo"), reason="named pipes of POSIX"
)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    make_trained().to_disk(folder)
    return folder


@contextmanager
def pipe_with(path, text):
    """A named pipe that has a text for who opens it first."""
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_text(text), daemon=True)
    writer.start()
    yield path
    writer.join(10)
    assert not writer.is_alive()


def test_explain(model, tmp_path):
    with pipe_with(tmp_path / "pipe", f"\n{TEXT}\n") as path:
        result = invoke("explain", model, path, "--json")
    assert result.exit_code == 0, result.output
    (doc,) = srsly.json_loads(result.stdout)["documents"]
    assert (doc["text"], doc["line"]) == (TEXT, 2)


def test_parse(model, tmp_path):
    file = tmp_path / "lines.txt"
    file.write_text("Mary wrote.\n")
    with pipe_with(tmp_path / "pipe", f"{TEXT}\nNobody.\n") as path:
        result = invoke("parse", model, path, file, "-F", "jsonl")
    assert result.exit_code == 0, result.output
    records = [srsly.json_loads(x) for x in result.stdout.splitlines()]
    texts = [TEXT, "Nobody.", "Mary wrote."]
    assert [(x["text"], x["line"]) for x in records] == [*zip(texts, (1, 2, 3))]
