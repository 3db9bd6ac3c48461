"""The code blocks of README.md and docs/ run, and print what the pages say."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

from spacy_hosemi import cli  # noqa: F401 - spaCy finds the commands of installed packages
from spacy_hosemi.features.attributes import FLAGS, KNOWN
from spacy_hosemi.features.segment_attributes import SEGMENT_ATTRIBUTES
from spacy_hosemi.formats.writers import WRITERS
from spacy_hosemi.hierarchy.level_decodings import LEVEL_DECODINGS
from spacy_hosemi.prediction.decodings import DECODINGS

from .conftest import ROOT, example_on_path
from .doc_blocks import (
    BESIDE,
    Block,
    Page,
    agrees,
    clean,
    commented,
    compare,
    read_blocks,
    run_spacy,
)

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
OTHERS = [
    ROOT / "CONTRIBUTING.md",
    *ROOT.glob("corpus/*.md"),
    *ROOT.glob("examples/*/*.md"),
]
# Fewer would mean that blocks are no longer found.
MIN_BLOCKS = 75


def all_blocks() -> list[Block]:
    return [block for page in PAGES for block in read_blocks(page.read_text("utf8"))]


pytestmark = pytest.mark.usefixtures("tokenizer_exceptions")


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> Path:
    """The folder that `make demo` leaves, made by its script in this process."""
    folder = tmp_path_factory.mktemp("demo") / "demo"
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "corpus"))
        patch.chdir(folder.parent)
        script = import_module("demo")
        patch.setattr(script, "run", run_training)
        patch.setattr(sys, "argv", ["demo.py", "--output", "demo"])
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            assert script.main() == 0
    assert re.search(r"(1\.000|0\.99\d)  2004", printed.getvalue())
    return folder


def run_training(*args: str | Path) -> None:
    """The scores on test, which the demo prints, are those of the tutorial."""
    if args[0] in ("hosemi", "train"):
        run_spacy([str(x) for x in args])


# FastAPI's test client says so while httpx is what others install beside it.
@pytest.mark.filterwarnings("ignore:Using .httpx.")
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_page(path, demo, tmp_path, monkeypatch, capfd):
    monkeypatch.syspath_prepend(str(ROOT / "corpus"))
    monkeypatch.chdir(tmp_path)
    with example_on_path("service"):
        Page(path, demo).run()


def test_nearly_all_blocks_run():
    blocks = all_blocks()
    left_out = [block for block in blocks if block.key == "not run"]
    assert len(blocks) >= MIN_BLOCKS
    assert len(left_out) <= 0.05 * len(blocks)
    assert all(len(block.value) > 10 for block in left_out)


def test_links_lead_somewhere():
    for page in [*PAGES, *OTHERS]:
        for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page)):
            if target.startswith("https://"):
                continue
            name, _, anchor = target.partition("#")
            path = page.parent / name if name else page
            assert path.exists(), f"{page.name}: {target}"
            assert not anchor or anchor in anchors(path), f"{page.name}: {target}"


def without_code(page: Path) -> str:
    return re.sub(r"^ *```.*?^ *```$", "", page.read_text("utf8"), flags=re.M | re.S)


def anchors(page: Path) -> set[str]:
    """As GitHub and MyST make them of headings."""
    headings = re.findall(r"^#+ (.*)", without_code(page), re.M)
    words = (re.sub(r"[^\w\s-]", "", heading.lower()) for heading in headings)
    return {word.strip().replace(" ", "-") for word in words}


def test_code_fits_the_page():
    """A line of 90 characters is shown whole at the width of docs/site.css."""
    for page in PAGES:
        for block in read_blocks(page.read_text("utf8")):
            assert max(map(len, block.text.splitlines())) <= 90, (page.name, block.line)


def test_readme_is_one_screen():
    assert len((ROOT / "README.md").read_text("utf8").splitlines()) <= 90


def test_all_attributes_are_listed():
    page = (DOCS / "features.md").read_text("utf8")
    words = set(re.findall(r"[A-Z_0-9]{3,}", page))
    ranges = {f"{side}{k}" for side in ("PREFIX", "SUFFIX") for k in (2, 3)}
    assert {*KNOWN, *SEGMENT_ATTRIBUTES} - {*FLAGS} - ranges <= words


def test_all_formats_and_decodings_are_described():
    page = (DOCS / "parse.md").read_text("utf8")
    assert {*WRITERS} <= set(re.findall(r"^\| `(.*?)` \|", page, re.M))
    assert LEVEL_DECODINGS.keys() == DECODINGS.keys()


@pytest.mark.parametrize("name", ["make_reference", "draw"])
def test_pages_are_as_their_scripts_make_them(name, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(DOCS))
    monkeypatch.setattr(sys, "argv", [name, "--check"])
    assert import_module(name).main() == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    "block, expected",
    [
        ("x = 1  # one\n# two\nprint(x)\n# 1\n\n# three", ["1"]),
        ("for x in y:\n    print(x)\n# 1\n#  2\ny()", ["1", "2"]),
        ("print(x)  # 1\nprint(y)  # 2", ["1", "2"]),
    ],
)
def test_comments_below_a_print(block, expected):
    assert clean("\n".join(commented(block))) == expected


def test_blocks_are_found():
    assert read_blocks("text\n\n    x\n") == []
    page = "```python\nx = 1\n```\n\n<!-- file: a.py -->\n```python\ny\n```\n"
    first = Block("python", "x = 1\n", 1)
    assert read_blocks(page) == [first, Block("python", "y\n", 6, "file", "a.py")]
    with pytest.raises(AssertionError, match="line 1: 'rust'"):
        read_blocks("```rust\nx\n```\n")


@pytest.mark.parametrize(
    "found, expected, is_same",
    [
        ("PER 0.93", "PER 0.93", True),
        ("PER 0.93", "PER 0.92", True),
        ("PER 0.93", "PER 0.91", False),
        ("PER 0.9312", "PER 0.9...", True),
        ("PER 0.93 x", "PER ... x", True),
        ("PER 13", "PER 12", False),
        ("LOC 0.93", "PER 0.93", False),
    ],
)
def test_lines_agree(found, expected, is_same):
    assert agrees(found, expected) == is_same


def test_outputs_are_compared():
    compare(["a", "b", "c"], ["a", "...", "c"], "here")
    for expected in (["a", "b"], ["a", "b", "c", "d"], ["a", "c", "b"], []):
        with pytest.raises(AssertionError, match="here"):
            compare(["a", "b", "c"], expected, "here")


def test_a_page_can_fail(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    for text, message in (
        ("```python\nprint(1)\n# 2\n```\n", "'1' is not '2'"),
        ("```ini\n[components.hosemi]\nmax_ordr = 2\n```\n", "max_ordr"),
        ('```ini\n[nlp]\nlang = "en" # English\n```\n', "a comment within"),
        ("```bash\nrm -r model\n```\n", "no command"),
        ("```bash\nmake nothing\n```\n", "nothing"),
        ('```bash\npip install "spacy_hosemi[nothing]"\n```\n', "nothing"),
    ):
        page.write_text(text, "utf8")
        for name in BESIDE:
            (tmp_path / name).unlink(missing_ok=True)
        with pytest.raises(AssertionError, match=message):
            Page(page, tmp_path).run()
