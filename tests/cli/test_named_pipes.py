"""Named pipes, such as a shell makes of <(command): read once, as standard input is."""

import os
import threading
from contextlib import contextmanager

import pytest
import srsly

from ..helpers import as_json, hosemi

TEXT = "Ada Lovelace wrote to Mary in Paris."

pytestmark = pytest.mark.skipif(
    not hasattr(os, "mkfifo"), reason="named pipes of POSIX"
)


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
        (doc,) = as_json("explain", model, path)["documents"]
    assert (doc["text"], doc["line"]) == (TEXT, 2)


def test_parse(model, tmp_path):
    file = tmp_path / "lines.txt"
    file.write_text("Mary wrote.\n")
    with pipe_with(tmp_path / "pipe", f"{TEXT}\nNobody.\n") as path:
        printed = hosemi("parse", model, path, file, "-F", "jsonl").stdout
    records = [*map(srsly.json_loads, printed.splitlines())]
    texts = [TEXT, "Nobody.", "Mary wrote."]
    assert [(x["text"], x["line"]) for x in records] == [*zip(texts, (1, 2, 3))]
