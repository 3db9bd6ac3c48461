"""The Python code of README.md runs, and prints what the comments there say.

The blocks run one after the other, as one program, in an empty folder. What a block
prints is compared with its comments `# ...` that stand alone below a line that prints;
spaces do not count, and `...` in a comment stands for anything.
"""

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest
import spacy
from spacy.cli._util import app
from typer.testing import CliRunner

from spacy_hosemi import cli  # noqa: F401 - spaCy finds the commands of installed packages
from spacy_hosemi.features.attributes import FLAGS, KNOWN
from spacy_hosemi.features.segment_features import UNIT_ATTRIBUTES

from .conftest import ROOT

README = ROOT / "README.md"


def python_blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)


def expected_output(block: str) -> list[str]:
    """Comments that follow a line with print, or another such comment."""
    found, is_output = [], False
    for line in block.splitlines():
        is_comment = line.lstrip().startswith("#")
        if is_comment and is_output:
            found.append(line.lstrip()[1:])
        else:
            is_output = "print(" in line
            if is_output and re.search(r"\)\s+# ", line):
                found.append(line.rpartition("# ")[2])
    return [" ".join(line.split()) for line in found if line.strip()]


def agrees(found: str, expected: str) -> bool:
    pattern = ".*".join(map(re.escape, expected.split("...")))
    return re.fullmatch(pattern, found) is not None


def test_readme(tmp_path, monkeypatch):
    blocks = python_blocks(README.read_text("utf8"))
    assert blocks, "README.md has no ```python block"
    monkeypatch.chdir(tmp_path)
    demo = [sys.executable, str(ROOT / "corpus" / "demo.py"), "--output", "demo"]
    subprocess.run(demo, check=True, capture_output=True)  # what `make demo` does
    namespace = {"__name__": "__main__"}
    for block in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block, str(README), "exec"), namespace)
        lines = [" ".join(line.split()) for line in printed.getvalue().splitlines()]
        found, expected = [line for line in lines if line], expected_output(block)
        assert len(found) == len(expected), f"{found}\n{expected}"
        for left, right in zip(found, expected, strict=True):
            assert agrees(left, right), f"{left!r} is not {right!r}"


def test_move_from_crfsuite(corpus, tmp_path, monkeypatch, capfd):
    """The file, the lines for the config and the command, as a reader copies them."""
    section = README.read_text("utf8").partition("## Move from CRFsuite")[2]
    code, lines, command = (
        re.search(rf"^```{kind}\n(.*?)^```", section, re.M | re.S)[1]
        for kind in ("python", "ini", "bash")
    )
    monkeypatch.chdir(tmp_path)
    config = (ROOT / "configs" / "batch.cfg").read_text("utf8")
    config = config[: config.index(lines.partition("\n")[0])]
    Path("crfsuite.cfg").write_text(config + lines, "utf8")
    Path("word_features.py").write_text(code, "utf8")
    for part in ("train", "dev"):
        command = command.replace(f" {part}.spacy", f" {corpus}/{part}.spacy")
    args = command.split()[3:] + ["--initialize.components.hosemi.fit.max_iter", "20"]
    result = CliRunner().invoke(app, args, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    command = "hosemi weights model/model-last --code word_features.py"
    result = CliRunner().invoke(app, command.split(), catch_exceptions=False)
    assert " inside:words=word.lower():" in result.output
    nlp = spacy.load("model/model-last")
    assert nlp.meta["performance"]["ents_f"] > 0.5
    names = nlp.get_pipe("hosemi").weights.names
    assert {"inside:words=word.lower():and", "inside:words=length"} <= set(names)
    roles = {name.partition("=")[0] for name in names}
    assert roles == {"inside:words", "start:words", "end:words"}


def test_all_attributes_are_listed():
    words = set(re.findall(r"[A-Z_0-9]{3,}", README.read_text("utf8")))
    ranges = {f"{side}{k}" for side in ("PREFIX", "SUFFIX") for k in (2, 3)}
    assert {*KNOWN, *UNIT_ATTRIBUTES} - {*FLAGS} - ranges <= words


@pytest.mark.parametrize(
    "block, expected",
    [
        ("x = 1  # one\n# two\nprint(x)\n# 1\n\n# three", ["1"]),
        ("for x in y:\n    print(x)\n# 1\n#  2\ny()", ["1", "2"]),
        ("print(x)  # 1\nprint(y)  # 2", ["1", "2"]),
    ],
)
def test_expected_output(block, expected):
    assert expected_output(block) == expected


def test_these_tests_can_fail():
    assert python_blocks("text\n```\nx\n```\n") == []
    assert python_blocks("```python\nx = 1\n```\n```python\ny\n```\n") == [
        "x = 1\n",
        "y\n",
    ]
    assert agrees("PER 0.93", "PER 0...")
    assert not agrees("PER 0.93", "PER 0.92")
