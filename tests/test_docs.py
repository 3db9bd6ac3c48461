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
from .doc_blocks import Page, read_blocks
from .helpers import run_spacy

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
OTHERS = [
    ROOT / "CONTRIBUTING.md",
    *ROOT.glob("corpus/*.md"),
    *ROOT.glob("examples/*/*.md"),
]
# Fewer would mean that blocks are no longer found.
MIN_BLOCKS = 75

pytestmark = pytest.mark.usefixtures("tokenizer_exceptions")


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> Path:
    """The folder that `make demo` leaves, made by its script in this process."""
    folder = tmp_path_factory.mktemp("demo") / "demo"
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "corpus"))
        patch.chdir(folder.parent)
        # It notes where it is, seen from the folder where it is imported.
        patch.delitem(sys.modules, "demo", raising=False)
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
        run_spacy(*args)


# FastAPI's test client says so while httpx is what others install beside it.
@pytest.mark.filterwarnings("ignore:Using .httpx.")
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_page(path, demo, tmp_path, monkeypatch, capfd):
    monkeypatch.syspath_prepend(str(ROOT / "corpus"))
    monkeypatch.chdir(tmp_path)
    with example_on_path("service"):
        Page(path, demo).run()


def test_nearly_all_blocks_run():
    blocks = [block for page in PAGES for block in read_blocks(page.read_text("utf8"))]
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


def test_no_page_is_stopped_by_what_another_has_written():
    writers = {}
    for page in PAGES:
        blocks = read_blocks(page.read_text("utf8"))
        texts = [x.text for x in blocks if x.kind == "bash" and x.key != "not run"]
        for line in "".join(texts).replace("\\\n", "").splitlines():
            if "spacy hosemi" in line and " -f" not in line:
                output = r"(?:init|convert \S+|-o|--output) (\S+)"
                for path in re.findall(output, line):
                    writers.setdefault(path, set()).add(page.name)
    assert {k: v for k, v in writers.items() if len(v) > 1} == {}


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
    assert LEVEL_DECODINGS.keys() <= DECODINGS.keys()


@pytest.mark.parametrize("name", ["make_reference", "draw"])
def test_pages_are_as_their_scripts_make_them(name, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(DOCS))
    monkeypatch.setattr(sys, "argv", [name, "--check"])
    assert import_module(name).main() == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    "block, message",
    [
        ("python\nprint(1)\n# 2\n", "'1' is not '2'"),
        ("python\nprint(1)  # 2\n", "'1' is not '2'"),
        ("python\nfor x in '12':\n    print(x)\n# 1\n# 3\n", "'2' is not '3'"),
        ("python\nprint(1)\n", r"\['1'\] is printed, too"),
        ("python\nprint(1)\n# 1\n# 2\n", "'2' is missing"),
        ("python\nprint('a\\nb\\nc')\n# a\n# ...\n# d\n", "'d' is missing"),
        ("python\nprint(0.93)  # 0.91\n", "'0.93' is not '0.91'"),
        ("python\nprint('PER 13')  # PER 12\n", "'PER 13' is not"),
        ("python\nprint('LOC 0.93')  # PER 0.93\n", "'LOC 0.93' is not"),
        ("python\nprint(1)\n```\n\n```text\n2\n", "'1' is not '2'"),
        ("ini\n[components.hosemi]\nmax_ordr = 2\n", "max_ordr"),
        ("ini\n[components.hosemi.model.tables.x]\n", "lacks the parents"),
        ('ini\n[nlp]\nlang = "en" # English\n', "a comment within"),
        ("bash\nrm -r model\n", "no command"),
        ("bash\nmake nothing\n", "nothing"),
        ('bash\npip install "spacy_hosemi[nothing]"\n', "nothing"),
        ("rust\nx\n", "line 1: 'rust'"),
    ],
)
def test_a_page_can_fail(block, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text(f"```{block}```\n", "utf8")
    with pytest.raises(AssertionError, match=message):
        Page(page, tmp_path).run()


GOOD = """
    no block

```python
for x in (0.93, "a b", 1, 2):
    print(x)
# 0.92
# a...
# ...
# 2
```

<!-- file: a.py -->
```python
not Python
```
"""


def test_what_may_differ(tmp_path, monkeypatch):
    """The last digit of decimals, what `...` stands for, and comments elsewhere."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "page.md").write_text(GOOD, "utf8")
    Page(tmp_path / "page.md", tmp_path).run()
    assert (tmp_path / "a.py").read_text("utf8") == "not Python\n"
